#include "new_arrays.h"

#include <algorithm>
#include <cstring>

#include "gdal/raster/dataset.h"
#include "creation_options.h"
#include "gdal/types.h"

extern "C"
{
#include "base/checked.h"
#include "geo/cf.h"
}

bool zsIsDimension(const struct zs_raster_spec &spec, const std::string &name)
{
    const auto isNamed = [&](const struct zs_extra_axis &axis) { return name == axis.name; };
    return name == spec.dim_x || (spec.dim_y != nullptr && name == spec.dim_y) ||
           (spec.healpix != nullptr && name == ZS_CELL_COORDINATE) ||
           std::any_of(spec.axes, spec.axes + spec.axis_count, isNamed);
}

/* Colours until others are set, as of GTiff's Create(): three bands of bytes are a picture, and a fourth is its alpha;
 * else the first is grey. gdalbuildvrt leaves out a raster whose colours differ from those of the others. More than
 * four bands are no picture, but steps of time, say. */
static struct zs_band_properties propertiesOfNew(int band, int bands, const struct zs_dtype &dtype)
{
    struct zs_band_properties m = {};
    GDALColorInterp colour = GCI_Undefined;
    if (dtype.type == ZS_UINT8 && (bands == 3 || bands == 4))
        colour = static_cast<GDALColorInterp>(GCI_RedBand + band); // alpha follows blue
    else if (band == 0 && bands <= 4)
        colour = GCI_GrayIndex;
    if (colour != GCI_Undefined)
        m.colour_name = zs_strdup(GDALGetColorInterpretationName(colour));
    return m;
}

/* Where bands of a source declare colours, those that declare none have none: a name (green) would tell one. */
static void declareOthers(std::vector<struct zs_band_properties> &bands)
{
    const auto has = [](const struct zs_band_properties &m)
    { return m.colour_name != nullptr || m.colour_table != nullptr; };
    const bool isAny = std::any_of(bands.begin(), bands.end(), has);
    for (auto &m : bands)
    {
        if (isAny && !has(m) && zs_colour_of_name(m.description) != nullptr)
            zsDeclareNoColor(m);
    }
}

ZSNewArrays::~ZSNewArrays()
{
    for (auto &m : m_bands)
        zs_band_properties_clear(&m);
}

std::vector<struct zs_band_properties> &ZSNewArrays::Read(GDALDataset *source, int bands, const struct zs_dtype &dtype)
{
    for (int b = 0; b < bands; b++)
        m_bands.push_back(source != nullptr ? zsPropertiesOf(*source->GetRasterBand(b + 1))
                                            : propertiesOfNew(b, bands, dtype));
    declareOthers(m_bands);
    return m_bands;
}

void ZSNewArrays::Set(bool single, const std::string &name, const struct zs_raster_spec &spec)
{
    for (size_t b = 0; b < m_bands.size(); b++)
    {
        const char *description = m_bands[b].description;
        const bool usable = description != nullptr && zsIsArrayName(description) && !zsIsDimension(spec, description) &&
                            std::find(m_names.begin(), m_names.end(), description) == m_names.end();
        m_names.push_back(usable ? description : name + "_" + std::to_string(b + 1));
    }
    if (single)
        m_specs.push_back({(m_names[0] = name).c_str(), m_bands.data(), m_bands.size()});
    for (size_t b = 0; !single && b < m_bands.size(); b++)
        m_specs.push_back({m_names[b].c_str(), &m_bands[b], 1});
}

void ZSNewArrays::Apply(struct zs_raster_spec &spec) const
{
    spec.arrays = m_specs.data();
    spec.array_count = m_specs.size();
}

std::string ZSNewArrays::MaskName(const struct zs_raster_spec &spec) const
{
    const auto isTaken = [&](const std::string &name)
    {
        return zsIsDimension(spec, name) || name == ZS_GRID_MAPPING ||
               std::any_of(m_specs.begin(), m_specs.end(),
                           [&](const struct zs_raster_array_spec &array) { return name == array.name; });
    };
    std::string name = "mask";
    for (int i = 2; isTaken(name); i++)
        name = "mask_" + std::to_string(i);
    return name;
}

/* ---- The filter of blosc ---- */

constexpr uint64_t MOST_COLUMNS = 512;

void zsChooseFilter(GDALDataset &source, GDALDataType type, ZSCreationOptions &options, struct zs_raster_spec &spec)
{
    if (!options.guesses_shuffle || spec.encoding.compression != ZS_COMPRESS_BLOSC ||
        static_cast<size_t>(GDALGetDataTypeSizeBytes(type)) != spec.dtype.size)
        return;
    struct zs_array_spec array = {};
    array.ndim = zs_raster_ndim(&spec);
    array.dtype = spec.dtype;
    array.encoding = spec.encoding;
    memcpy(array.chunk_shape, spec.chunk, sizeof array.chunk_shape);
    memcpy(array.fill_value, spec.nodata, sizeof array.fill_value);

    int blockWidth, blockHeight;
    source.GetRasterBand(1)->GetBlockSize(&blockWidth, &blockHeight);
    ZSSampling sampling;
    sampling.shape = {static_cast<uint64_t>(source.GetRasterCount()), static_cast<uint64_t>(source.GetRasterYSize()),
                      static_cast<uint64_t>(source.GetRasterXSize())};
    sampling.block = {1, static_cast<uint64_t>(blockHeight), static_cast<uint64_t>(blockWidth)};
    const uint64_t rowsOfAMap[] = {1, sampling.shape[1], MOST_COLUMNS};
    sampling.SetWindow(rowsOfAMap, spec.dtype.size);
    const auto rows = static_cast<int>(sampling.window[1]), columns = static_cast<int>(sampling.window[2]);
    const auto read = [&](const uint64_t *start, void *pixels)
    {
        const auto x = static_cast<int>(start[2]), y = static_cast<int>(start[1]);
        GDALRasterBand *band = source.GetRasterBand(1 + static_cast<int>(start[0]));
        return band->RasterIO(GF_Read, x, y, columns, rows, pixels, columns, rows, type, 0, 0, nullptr) == CE_None;
    };
    const char *filter = zsFilterOfSamples(array, spec.arrays[0].name, sampling, read);
    if (filter == nullptr)
        return;
    options.blosc_shuffle = filter;
    spec.encoding.blosc_shuffle = options.blosc_shuffle.c_str();
}

/* Blocks of blosc of fewer bytes compress otherwise: zstd matches longer strings in them. */
constexpr uint64_t LEAST_SAMPLED = 128 << 10;

void ZSFilterOfFirst::Start(const ZSCreationOptions &options, const struct zs_raster_spec &spec)
{
    m_isOpen = options.guesses_shuffle && spec.encoding.compression == ZS_COMPRESS_BLOSC;
    m_encoding = spec.encoding;
    std::copy_n(spec.chunk, zs_raster_ndim(&spec), m_chunk.begin());
    m_cname = spec.encoding.blosc_cname;
    m_guess = spec.encoding.blosc_shuffle;
}

/* Copies rows of a window of one band into dense elements as the array has them. */
static void storeRows(const struct zs_band_window &window, const uint64_t *start, GDALDataType type, ZSStoring &storing,
                      size_t rows, size_t columns, unsigned char *elements)
{
    const auto item = static_cast<ptrdiff_t>(storing.to_size);
    const size_t run = window.pixel_space == GDALGetDataTypeSizeBytes(type) ? columns : 1;
    const auto at = [](uint64_t n, ptrdiff_t space) { return static_cast<ptrdiff_t>(n) * space; };
    for (size_t y = 0; y < rows; y++)
    {
        const char *row = static_cast<const char *>(window.data) + at(start[0], window.band_space) +
                          at(start[1] + y, window.line_space) + at(start[2], window.pixel_space);
        for (size_t x = 0; x < columns; x += run)
            zsStore(&storing, row + at(x, window.pixel_space), elements + at(y * columns + x, item), item, run);
    }
}

const struct zs_blosc_settings *ZSFilterOfFirst::Choose(const struct zs_node *node, const struct zs_band_window &window,
                                                        GDALDataType type)
{
    const struct zs_array_meta &meta = *node->array;
    const bool isOpen = m_isOpen;
    m_isOpen = false;
    if (!isOpen || window.width * window.height * meta.dtype.size < LEAST_SAMPLED)
        return nullptr;
    struct zs_array_spec array = {};
    array.ndim = meta.ndim;
    array.dtype = meta.dtype;
    array.encoding = m_encoding;
    array.encoding.blosc_cname = m_cname.c_str();
    array.encoding.blosc_shuffle = m_guess.c_str();
    std::copy_n(m_chunk.begin(), meta.ndim, array.chunk_shape);
    memcpy(array.fill_value, meta.fill_value, sizeof array.fill_value);

    ZSSampling sampling;
    sampling.shape = {window.band_count, window.height, window.width};
    sampling.block = {1, 1, 1};
    const uint64_t columns = std::max(MOST_COLUMNS, zs_ceil_div_u64(LEAST_SAMPLED, meta.dtype.size * window.height));
    const uint64_t rowsOfAMap[] = {1, window.height, columns};
    sampling.SetWindow(rowsOfAMap, meta.dtype.size);
    ZSStoring storing{type, meta.dtype.type, meta.dtype.size};
    const auto read = [&](const uint64_t *start, void *pixels)
    {
        storeRows(window, start, type, storing, static_cast<size_t>(sampling.window[1]),
                  static_cast<size_t>(sampling.window[2]), static_cast<unsigned char *>(pixels));
        return true;
    };
    const char *filter = zsFilterOfSamples(array, node->path, sampling, read);
    if (filter == nullptr || m_guess == filter)
        return nullptr;
    array.encoding.blosc_shuffle = filter;
    m_chosen = zs_blosc_settings_of(&array);
    return &m_chosen;
}
