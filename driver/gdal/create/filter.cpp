#include "filter.h"

#include <algorithm>
#include <cstring>

#include "gdal/guard.h"
#include "gdal/types.h"

extern "C"
{
#include "base/checked.h"
#include "codec/chain.h"
}

/* ---- A sample ---- */

ZSSample::ZSSample(const std::vector<uint64_t> &shape, const std::vector<uint64_t> &block, const uint64_t *chunk,
                   size_t item)
    : start(shape.size()), size(shape.size())
{
    // A small block of blosc and a little more: zstd takes blocks of more than 256 KiB otherwise, as it does the large
    // ones (zarr/document.c).
    uint64_t room = (264 << 10) / item;
    for (size_t d = shape.size(); d-- > 0;)
    {
        size[d] = std::max<uint64_t>(1, std::min({shape[d], chunk[d], room}));
        room /= size[d];
        const uint64_t last = shape[d] > size[d] ? shape[d] - size[d] : 0;
        start[d] = last / 2 / block[d] * block[d];
    }
}

const char *zsFilterOfSample(const struct zs_array_spec &spec, const char *name, const ZSSample &sample,
                             const std::function<bool(void *elements)> &read)
{
    const ZSQuiet quiet;
    const size_t item = spec.dtype.size;
    size_t bytes = item;
    for (const uint64_t length : sample.size)
        bytes *= static_cast<size_t>(length);
    std::vector<unsigned char> elements(bytes);
    // From elements of one value nothing can be learnt.
    if (!read(elements.data()) || memcmp(elements.data(), elements.data() + item, bytes - item) == 0)
        return nullptr;
    const struct zs_sample window = {elements.data(), static_cast<int>(sample.size.size()), sample.size.data()};
    struct zs_error err;
    const char *filter = nullptr;
    if (zs_filter_choose(&spec, &window, &filter, &err) != ZS_OK)
        return nullptr;
    CPLDebug("ShardedZarr", "%s: BLOSC_SHUFFLE: %s", name, filter);
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

/* A sample of (bands, rows, columns), of at most so many columns of a band. */
static ZSSample sampleOf(const std::vector<uint64_t> &shape, const std::vector<uint64_t> &block, uint64_t columns,
                         size_t item)
{
    const uint64_t rowsOfAMap[] = {1, shape[1], columns};
    return ZSSample(shape, block, rowsOfAMap, item);
}

void zsChooseFilter(GDALDataset &source, GDALDataType type, const ZSCreationOptions &options,
                    struct zs_raster_spec &spec)
{
    if (!options.LeavesFilter() || static_cast<size_t>(GDALGetDataTypeSizeBytes(type)) != spec.dtype.size)
        return;
    int blockWidth, blockHeight;
    source.GetRasterBand(1)->GetBlockSize(&blockWidth, &blockHeight);
    const auto sample = sampleOf({static_cast<uint64_t>(source.GetRasterCount()), spec.height, spec.width},
                                 {1, static_cast<uint64_t>(blockHeight), static_cast<uint64_t>(blockWidth)},
                                 MOST_COLUMNS, spec.dtype.size);
    const auto at = [&sample](size_t d) { return static_cast<int>(sample.start[d]); };
    const auto rows = static_cast<int>(sample.size[1]), columns = static_cast<int>(sample.size[2]);
    const auto read = [&](void *pixels)
    {
        return source.GetRasterBand(1 + at(0))->RasterIO(GF_Read, at(2), at(1), columns, rows, pixels, columns, rows,
                                                         type, 0, 0, nullptr) == CE_None;
    };
    const char *filter = zsFilterOfSample(arrayOf(spec), spec.arrays[0].name, sample, read);
    if (filter != nullptr)
        spec.encoding.blosc_shuffle = filter;
}

void ZSFilterOfFirst::Start(const ZSCreationOptions &options, const struct zs_raster_spec &spec)
{
    m_isOpen = options.LeavesFilter();
    m_array = arrayOf(spec);
}

/* Copies a sample of one band of a window into dense elements as the array has them. */
static void storeSample(const struct zs_band_window &window, const ZSSample &sample, ZSConversion &storing,
                        unsigned char *elements)
{
    const auto item = static_cast<ptrdiff_t>(storing.size);
    const uint64_t columns = sample.size[2];
    const uint64_t run = window.pixel_space == GDALGetDataTypeSizeBytes(storing.buffer) ? columns : 1;
    const auto at = [](uint64_t n, ptrdiff_t space) { return static_cast<ptrdiff_t>(n) * space; };
    for (uint64_t y = 0; y < sample.size[1]; y++)
    {
        const char *row = static_cast<const char *>(window.data) + at(sample.start[0], window.band_space) +
                          at(sample.start[1] + y, window.line_space) + at(sample.start[2], window.pixel_space);
        for (uint64_t x = 0; x < columns; x += run)
            zsStore(&storing, row + at(x, window.pixel_space), elements + at(y * columns + x, item), item,
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
    const uint64_t columns = std::max(MOST_COLUMNS, zs_ceil_div_u64(LEAST_SAMPLED, meta.dtype.size * window.height));
    const auto sample =
        sampleOf({window.band_count, window.height, window.width}, {1, 1, 1}, columns, meta.dtype.size);
    ZSConversion storing{meta.dtype.type, meta.dtype.size, type};
    const auto read = [&](void *pixels)
    {
        storeSample(window, sample, storing, static_cast<unsigned char *>(pixels));
        return true;
    };
    const char *filter = zsFilterOfSample(m_array, node->path, sample, read);
    if (filter == nullptr || EQUAL(filter, m_array.encoding.blosc_shuffle))
        return nullptr;
    m_array.encoding.blosc_shuffle = filter;
    m_chosen = zs_blosc_settings_of(&m_array);
    return &m_chosen;
}
