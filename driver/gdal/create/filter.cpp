/* The default of BLOSC_SHUFFLE in a copy: what makes a sample of the source smallest (codec/description.c). */
#include "copy.h"

#include <algorithm>
#include <cstring>

#include "gdal/guard.h"

extern "C"
{
#include "codec/chain.h"
}

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

void zsChooseFilter(GDALDataset &source, GDALDataType type, const ZSCreationOptions &options,
                    struct zs_raster_spec &spec)
{
    constexpr uint64_t MOST_COLUMNS = 512;
    if (!options.LeavesFilter() || static_cast<size_t>(GDALGetDataTypeSizeBytes(type)) != spec.dtype.size)
        return;
    int blockWidth, blockHeight;
    source.GetRasterBand(1)->GetBlockSize(&blockWidth, &blockHeight);
    const uint64_t rowsOfAMap[] = {1, spec.height, MOST_COLUMNS};
    const ZSSample sample({static_cast<uint64_t>(source.GetRasterCount()), spec.height, spec.width},
                          {1, static_cast<uint64_t>(blockHeight), static_cast<uint64_t>(blockWidth)}, rowsOfAMap,
                          spec.dtype.size);
    const auto at = [&sample](size_t d) { return static_cast<int>(sample.start[d]); };
    const auto rows = static_cast<int>(sample.size[1]), columns = static_cast<int>(sample.size[2]);
    const auto read = [&](void *pixels)
    {
        return source.GetRasterBand(1 + at(0))->RasterIO(GF_Read, at(2), at(1), columns, rows, pixels, columns, rows,
                                                         type, 0, 0, nullptr) == CE_None;
    };
    struct zs_array_spec array = {};
    array.ndim = zs_raster_ndim(&spec);
    array.dtype = spec.dtype;
    array.encoding = spec.encoding;
    memcpy(array.chunk_shape, spec.chunk, sizeof array.chunk_shape);
    memcpy(array.fill_value, spec.nodata, sizeof array.fill_value);
    const char *filter = zsFilterOfSample(array, spec.arrays[0].name, sample, read);
    if (filter != nullptr)
        spec.encoding.blosc_shuffle = filter;
}
