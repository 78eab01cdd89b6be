#include "samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compat.h"

extern "C"
{
#include "base/checked.h"
#include "codec/filter.h"
}

/* A small block of blosc and a little more: zstd takes blocks of more than 256 KiB otherwise, as it does the large ones
 * (zarr/document.c). */
constexpr uint64_t SAMPLE_BYTES = 264 << 10;
constexpr uint64_t MOST_SAMPLES = 8;
constexpr uint64_t ONE_OF = 150; /* elements is read at most (each is encoded three times), at least one sample */

/* UINT64_MAX for more. */
static uint64_t elementsOf(const std::vector<uint64_t> &lengths)
{
    uint64_t n = 1;
    for (const uint64_t length : lengths)
    {
        if (!zs_mul_u64(n, length, &n))
            n = UINT64_MAX;
    }
    return n;
}

void ZSSampling::SetWindow(const uint64_t *chunk, size_t item)
{
    uint64_t room = SAMPLE_BYTES / item;
    window.resize(shape.size());
    for (size_t d = shape.size(); d-- > 0;)
    {
        window[d] = std::max<uint64_t>(1, std::min({shape[d], chunk[d], room}));
        room /= window[d];
    }
}

uint64_t ZSSampling::Count() const
{
    const uint64_t read = std::max(elementsOf(block), elementsOf(window));
    return std::min(std::max<uint64_t>(1, elementsOf(shape) / read / ONE_OF), MOST_SAMPLES);
}

uint64_t ZSSampling::Start(uint64_t i, size_t d) const
{
    // The last two dimensions: the sequence that covers a plane most evenly. Those before in equal steps.
    const size_t behind = shape.size() - 1 - d;
    const double n = static_cast<double>(i);
    const double fraction = behind == 0   ? std::fmod(0.5 + n * 0.7548776662466927, 1.0)
                            : behind == 1 ? std::fmod(0.5 + n * 0.5698402909980532, 1.0)
                                          : (n + 0.5) / static_cast<double>(Count());
    const uint64_t last = shape[d] - window[d];
    const auto at = static_cast<uint64_t>(fraction * static_cast<double>(last + 1));
    return std::min(at / block[d] * block[d], last);
}

static bool isConstant(const std::vector<unsigned char> &elements, size_t item)
{
    return memcmp(elements.data(), elements.data() + item, elements.size() - item) == 0;
}

/* The windows that have different elements: from windows of one value nothing can be learnt. None where one of them
 * cannot be read. */
static std::vector<std::vector<unsigned char>> readSamples(const ZSSampling &sampling, size_t item,
                                                           const ZSReadSample &read)
{
    const CPLErrorStateBackuper backup;
    const CPLErrorHandlerPusher quiet(CPLQuietErrorHandler);
    const auto bytes = static_cast<size_t>(elementsOf(sampling.window)) * item;
    const uint64_t count = sampling.Count();
    std::vector<uint64_t> start(sampling.shape.size());
    std::vector<std::vector<unsigned char>> samples;
    for (uint64_t i = 0; i < count; i++)
    {
        std::vector<unsigned char> sample(bytes);
        for (size_t d = 0; d < start.size(); d++)
            start[d] = sampling.Start(i, d);
        if (!read(start.data(), sample.data()))
            return {};
        if (!isConstant(sample, item))
            samples.push_back(std::move(sample));
    }
    return samples;
}

const char *zsFilterOfSamples(const struct zs_array_spec &spec, const char *name, const ZSSampling &sampling,
                              const ZSReadSample &read)
{
    if (elementsOf(sampling.shape) == 0)
        return nullptr;
    const auto samples = readSamples(sampling, spec.dtype.size, read);
    std::vector<const void *> pointers;
    for (const auto &sample : samples)
        pointers.push_back(sample.data());
    const struct zs_samples windows = {pointers.data(), pointers.size(), static_cast<int>(sampling.window.size()),
                                       sampling.window.data()};
    struct zs_error err;
    const char *filter = nullptr;
    if (pointers.empty() || zs_filter_choose(&spec, &windows, &filter, &err) != ZS_OK)
        return nullptr;
    CPLDebug("ShardedZarr", "%s: BLOSC_SHUFFLE: %s (samples: %d)", name, filter, static_cast<int>(samples.size()));
    return filter;
}
