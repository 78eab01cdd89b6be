#include "filter.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gdal/guard.h"
#include "gdal/types.h"

extern "C"
{
#include "base/checked.h"
#include "codec/chain.h"
}

/* ---- Samples ---- */

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
    // A small block of blosc and a little more: zstd takes blocks of more than 256 KiB otherwise, as it does the large
    // ones (zarr/document.c).
    uint64_t room = (264 << 10) / item;
    window.resize(shape.size());
    for (size_t d = shape.size(); d-- > 0;)
    {
        window[d] = std::max<uint64_t>(1, std::min({shape[d], chunk[d], room}));
        room /= window[d];
    }
}

uint64_t ZSSampling::Count() const
{
    constexpr uint64_t MOST = 8, ONE_OF = 150; // elements is read at most: each is encoded three times
    const uint64_t read = std::max(elementsOf(block), elementsOf(window));
    return std::clamp<uint64_t>(elementsOf(shape) / read / ONE_OF, 1, MOST);
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

/* The windows that have different elements: from windows of one value nothing can be learnt. None where one of them
 * cannot be read. */
static std::vector<std::vector<unsigned char>> readSamples(const ZSSampling &sampling, size_t item,
                                                           const ZSReadSample &read)
{
    const ZSQuiet quiet;
    const auto bytes = static_cast<size_t>(elementsOf(sampling.window)) * item;
    std::vector<uint64_t> start(sampling.shape.size());
    std::vector<std::vector<unsigned char>> samples;
    for (uint64_t i = 0; i < sampling.Count(); i++)
    {
        std::vector<unsigned char> sample(bytes);
        for (size_t d = 0; d < start.size(); d++)
            start[d] = sampling.Start(i, d);
        if (!read(start.data(), sample.data()))
            return {};
        if (memcmp(sample.data(), sample.data() + item, bytes - item) != 0)
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

/* ---- Of rasters ---- */

constexpr uint64_t MOST_COLUMNS = 512;

static struct zs_array_spec arrayOf(const struct zs_raster_spec &spec)
{
    struct zs_array_spec array = {};
    array.ndim = zs_raster_ndim(&spec);
    array.dtype = spec.dtype;
    array.encoding = spec.encoding;
    memcpy(array.chunk_shape, spec.chunk, sizeof array.chunk_shape);
    memcpy(array.fill_value, spec.nodata, sizeof array.fill_value);
    return array;
}

/* Samples of (bands, rows, columns), each of at most so many columns of a band. */
static ZSSampling samplingOf(const std::vector<uint64_t> &shape, const std::vector<uint64_t> &block, uint64_t columns,
                             size_t item)
{
    ZSSampling sampling;
    sampling.shape = shape;
    sampling.block = block;
    const uint64_t rowsOfAMap[] = {1, shape[1], columns};
    sampling.SetWindow(rowsOfAMap, item);
    return sampling;
}

static bool isLeftToUs(const ZSCreationOptions &options, const struct zs_raster_spec &spec)
{
    return options.guesses_shuffle && spec.encoding.compression == ZS_COMPRESS_BLOSC;
}

void zsChooseFilter(GDALDataset &source, GDALDataType type, ZSCreationOptions &options, struct zs_raster_spec &spec)
{
    if (!isLeftToUs(options, spec) || static_cast<size_t>(GDALGetDataTypeSizeBytes(type)) != spec.dtype.size)
        return;
    int blockWidth, blockHeight;
    source.GetRasterBand(1)->GetBlockSize(&blockWidth, &blockHeight);
    const auto sampling = samplingOf({static_cast<uint64_t>(source.GetRasterCount()), spec.height, spec.width},
                                     {1, static_cast<uint64_t>(blockHeight), static_cast<uint64_t>(blockWidth)},
                                     MOST_COLUMNS, spec.dtype.size);
    const auto rows = static_cast<int>(sampling.window[1]), columns = static_cast<int>(sampling.window[2]);
    const auto read = [&](const uint64_t *start, void *pixels)
    {
        GDALRasterBand *band = source.GetRasterBand(1 + static_cast<int>(start[0]));
        return band->RasterIO(GF_Read, static_cast<int>(start[2]), static_cast<int>(start[1]), columns, rows, pixels,
                              columns, rows, type, 0, 0, nullptr) == CE_None;
    };
    const char *filter = zsFilterOfSamples(arrayOf(spec), spec.arrays[0].name, sampling, read);
    if (filter == nullptr)
        return;
    options.blosc_shuffle = filter;
    spec.encoding.blosc_shuffle = options.blosc_shuffle.c_str();
}

void ZSFilterOfFirst::Start(const ZSCreationOptions &options, const struct zs_raster_spec &spec)
{
    m_isOpen = isLeftToUs(options, spec);
    m_array = arrayOf(spec);
    m_cname = spec.encoding.blosc_cname;
    m_guess = spec.encoding.blosc_shuffle;
    m_array.encoding.blosc_cname = m_cname.c_str();
}

/* Copies rows of a window of one band into dense elements as the array has them. */
static void storeRows(const struct zs_band_window &window, const uint64_t *start, ZSStoring &storing,
                      const std::vector<uint64_t> &size, unsigned char *elements)
{
    const auto item = static_cast<ptrdiff_t>(storing.to_size);
    const uint64_t run = window.pixel_space == GDALGetDataTypeSizeBytes(storing.from) ? size[2] : 1;
    const auto at = [](uint64_t n, ptrdiff_t space) { return static_cast<ptrdiff_t>(n) * space; };
    for (uint64_t y = 0; y < size[1]; y++)
    {
        const char *row = static_cast<const char *>(window.data) + at(start[0], window.band_space) +
                          at(start[1] + y, window.line_space) + at(start[2], window.pixel_space);
        for (uint64_t x = 0; x < size[2]; x += run)
            zsStore(&storing, row + at(x, window.pixel_space), elements + at(y * size[2] + x, item), item,
                    static_cast<size_t>(run));
    }
}

const struct zs_blosc_settings *ZSFilterOfFirst::Choose(const struct zs_node *node, const struct zs_band_window &window,
                                                        GDALDataType type)
{
    constexpr uint64_t LEAST_SAMPLED = 128 << 10; // in smaller blocks of blosc zstd matches longer strings
    const struct zs_array_meta &meta = *node->array;
    const bool isOpen = m_isOpen;
    m_isOpen = false;
    if (!isOpen || window.width * window.height * meta.dtype.size < LEAST_SAMPLED)
        return nullptr;
    memcpy(m_array.fill_value, meta.fill_value, sizeof m_array.fill_value);
    m_array.encoding.blosc_shuffle = m_guess.c_str();
    const uint64_t columns = std::max(MOST_COLUMNS, zs_ceil_div_u64(LEAST_SAMPLED, meta.dtype.size * window.height));
    const auto sampling =
        samplingOf({window.band_count, window.height, window.width}, {1, 1, 1}, columns, meta.dtype.size);
    ZSStoring storing{type, meta.dtype.type, meta.dtype.size};
    const auto read = [&](const uint64_t *start, void *pixels)
    {
        storeRows(window, start, storing, sampling.window, static_cast<unsigned char *>(pixels));
        return true;
    };
    const char *filter = zsFilterOfSamples(m_array, node->path, sampling, read);
    if (filter == nullptr || m_guess == filter)
        return nullptr;
    m_array.encoding.blosc_shuffle = filter;
    m_chosen = zs_blosc_settings_of(&m_array);
    return &m_chosen;
}
