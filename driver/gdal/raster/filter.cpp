#include "filter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

extern "C"
{
#include "codec/filter.h"
}

namespace
{
constexpr uint64_t SAMPLE_BYTES = 256 << 10; /* about one block of blosc */
constexpr uint64_t MOST_SAMPLES = 8;
constexpr uint64_t ONE_OF = 150; /* pixels is read at most (each is encoded three times), at least one sample */
constexpr uint64_t MOST_COLUMNS = 512;

/* Which pixels are read: `count` windows of one size, each at the corner of one of the source's blocks. */
struct Sampling
{
    int columns, rows, blockWidth, blockHeight;
    uint64_t count;
};
} // namespace

static Sampling samplingOf(GDALDataset &source, uint64_t item)
{
    const auto width = static_cast<uint64_t>(source.GetRasterXSize()),
               height = static_cast<uint64_t>(source.GetRasterYSize()),
               bands = static_cast<uint64_t>(source.GetRasterCount());
    Sampling s = {};
    source.GetRasterBand(1)->GetBlockSize(&s.blockWidth, &s.blockHeight);
    const uint64_t columns = std::min(width, MOST_COLUMNS),
                   rows = std::min(height, std::max<uint64_t>(1, SAMPLE_BYTES / item / columns));
    const uint64_t block = static_cast<uint64_t>(s.blockWidth) * static_cast<uint64_t>(s.blockHeight);
    const uint64_t read = std::max(block, columns * rows), all = width * height * bands;
    s.columns = static_cast<int>(columns);
    s.rows = static_cast<int>(rows);
    s.count = std::min(std::max<uint64_t>(1, all / read / ONE_OF), MOST_SAMPLES);
    return s;
}

/* Where window `i` begins along a dimension: places of a sequence that spreads evenly, at the edge of a block. */
static int startOf(uint64_t i, double step, int size, int window, int block)
{
    const double fraction = std::fmod(0.5 + static_cast<double>(i) * step, 1.0);
    const int at = static_cast<int>(fraction * (size - window + 1));
    return std::min(at / block * block, size - window);
}

static bool isConstant(const std::vector<unsigned char> &pixels, size_t item)
{
    return memcmp(pixels.data(), pixels.data() + item, pixels.size() - item) == 0;
}

/* The windows that have different pixels: from windows of one value nothing can be learnt. */
static std::vector<std::vector<unsigned char>> readSamples(GDALDataset &source, GDALDataType type,
                                                           const ZSPacking &packing, const Sampling &s)
{
    const auto item = static_cast<size_t>(GDALGetDataTypeSizeBytes(type));
    const auto pixels = static_cast<size_t>(s.columns) * static_cast<size_t>(s.rows);
    const auto bands = static_cast<uint64_t>(source.GetRasterCount());
    std::vector<std::vector<unsigned char>> samples;
    for (uint64_t i = 0; i < s.count; i++)
    {
        std::vector<unsigned char> sample(item * pixels);
        const int x = startOf(i, 0.7548776662466927, source.GetRasterXSize(), s.columns, s.blockWidth);
        const int y = startOf(i, 0.5698402909980532, source.GetRasterYSize(), s.rows, s.blockHeight);
        GDALRasterBand *band = source.GetRasterBand(1 + static_cast<int>(i * bands / s.count));
        if (band->RasterIO(GF_Read, x, y, s.columns, s.rows, sample.data(), s.columns, s.rows, type, 0, 0, nullptr) !=
            CE_None)
            return {};
        packing.Unpack(sample.data(), type, pixels);
        if (!isConstant(sample, item))
            samples.push_back(std::move(sample));
    }
    return samples;
}

void zsChooseFilter(GDALDataset &source, GDALDataType type, const ZSPacking &packing, ZSCreationOptions &options,
                    struct zs_raster_spec &spec)
{
    if (!options.guesses_shuffle || spec.encoding.compression != ZS_COMPRESS_BLOSC)
        return;
    const Sampling sampling = samplingOf(source, spec.dtype.size);
    CPLPushErrorHandler(CPLQuietErrorHandler);
    const auto samples = readSamples(source, type, packing, sampling);
    CPLPopErrorHandler();
    CPLErrorReset();
    std::vector<const void *> pointers;
    for (const auto &sample : samples)
        pointers.push_back(sample.data());
    struct zs_array_spec array = {};
    array.ndim = 2;
    array.chunk_shape[0] = static_cast<uint64_t>(sampling.rows);
    array.chunk_shape[1] = static_cast<uint64_t>(sampling.columns);
    array.dtype = spec.dtype;
    array.encoding = spec.encoding;
    memcpy(array.fill_value, spec.nodata, sizeof array.fill_value);
    struct zs_error err;
    const char *filter = nullptr;
    if (pointers.empty() || zs_filter_choose(&array, pointers.data(), pointers.size(), &filter, &err) != ZS_OK)
        return;
    CPLDebug("ShardedZarr", "BLOSC_SHUFFLE: %s (samples: %d)", filter, static_cast<int>(samples.size()));
    options.blosc_shuffle = filter;
    spec.encoding.blosc_shuffle = options.blosc_shuffle.c_str();
}
