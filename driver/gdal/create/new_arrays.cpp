#include "new_arrays.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

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

/* ---- SCALE_OFFSET ---- */

/* ---- What is stored ---- */

static void limitsOf(enum zs_data_type type, double &low, double &high)
{
    const size_t bits = 8 * zs_dtype_of(type).size;
    const bool isSigned = type == ZS_INT8 || type == ZS_INT16 || type == ZS_INT32;
    low = isSigned ? -std::ldexp(1.0, static_cast<int>(bits) - 1) : 0;
    high = std::ldexp(1.0, static_cast<int>(bits) - (isSigned ? 1 : 0)) - 1;
}

static bool holds(enum zs_data_type type, double value)
{
    double low, high;
    limitsOf(type, low, high);
    return value >= low && value <= high && value == std::floor(value);
}

/* The smallest float type, not smaller than `least`, in which each of the integers survives decoding and encoding:
 * three results are rounded on the way, and together they must stay below half a step. GDT_Unknown when there is
 * none. */
static GDALDataType floatFor(const struct zs_encoding &e, GDALDataType least)
{
    double low, high;
    limitsOf(e.packed_type, low, high);
    const double most = std::max(-low, high) + 2 * std::fabs(e.offset * e.factor);
    if (least != GDT_Float64 && most < std::ldexp(1.0, 21))
        return GDT_Float32;
    return most < std::ldexp(1.0, 50) ? GDT_Float64 : GDT_Unknown;
}

static bool fail(const std::string &message)
{
    return zsRefuse(CPLE_IllegalArg, "SCALE_OFFSET: %s", message.c_str());
}

/* The scale and offset of all bands of the source, or of the options. */
static bool findScale(const ZSCreationOptions &options, GDALDataset *source, double &scale, double &offset)
{
    scale = options.has_scale ? options.scale : 1;
    offset = options.has_offset ? options.offset : 0;
    for (int b = 1; source != nullptr && b <= source->GetRasterCount(); b++)
    {
        GDALRasterBand &band = *source->GetRasterBand(b);
        int hasScale = FALSE, hasOffset = FALSE;
        const double s = band.GetScale(&hasScale), o = band.GetOffset(&hasOffset);
        const double bandScale = options.has_scale ? options.scale : hasScale ? s : 1,
        bandOffset = options.has_offset ? options.offset : hasOffset ? o : 0;
        if (b > 1 && (bandScale != scale || bandOffset != offset))
            return fail("expected one scale and offset for all bands, found others in band " + std::to_string(b));
        scale = bandScale;
        offset = bandOffset;
    }
    // VRT and side-car files have a scale of 1 where there is none, and 1 would round all values.
    if (!options.has_scale && !options.has_offset && scale == 1 && offset == 0)
        return fail(std::string(source != nullptr ? "the source" : "a new raster") +
                    " has neither scale nor offset; give them by the options SCALE and OFFSET");
    if (!std::isfinite(scale) || scale == 0 || !std::isfinite(1 / scale) || !std::isfinite(offset))
        return fail("expected a finite scale other than 0 and a finite offset");
    return true;
}

static bool checkPackable(GDALDataType type, bool hasSource)
{
    const bool isInteger = GDALDataTypeIsInteger(type) != FALSE;
    if (GDALDataTypeIsComplex(type) || (isInteger && (!hasSource || GDALGetDataTypeSizeBytes(type) > 4)))
        return fail(std::string("expected ") +
                    (hasSource ? "integers of at most 32 bits, or floats"
                               : "Float32 or Float64, the type of the values") +
                    ", found " + GDALGetDataTypeName(type));
    return true;
}

/* Chooses the type of the stored integers (e.packed_type), and `of`, the type of the decoded values. */
static bool chooseTypes(const ZSCreationOptions &options, bool hasSource, GDALDataType type, struct zs_encoding &e,
                        GDALDataType &of)
{
    const bool isInteger = GDALDataTypeIsInteger(type) != FALSE;
    e.packed_type = ZS_UINT16;
    if (options.has_packed_type)
        e.packed_type = options.packed_type;
    else if (isInteger && !zsZarrType(type, &e.packed_type))
        return fail(std::string("Zarr has no data type for ") + GDALGetDataTypeName(type));
    of = floatFor(e, isInteger ? GDT_Float32 : type);
    if (of == GDT_Unknown || (!hasSource && of != type && type == GDT_Float32))
        return fail(std::string(zs_dtype_of(e.packed_type).name) + " with this offset has more digits than " +
                    (of == GDT_Unknown ? "Float64" : "Float32"));
    return true;
}

/* Chooses the integer that stands for nodata. Integers keep the nodata value of the source where they can hold it; else
 * an end of the range is taken, where values are rare. */
void ZSPacking::ChooseMissing(GDALDataset *source, GDALDataType type, struct zs_encoding &e)
{
    int has = FALSE;
    const bool isInteger = GDALDataTypeIsInteger(type) != FALSE;
    enum zs_data_type sourceType = e.packed_type;
    m_nodata = source != nullptr ? source->GetRasterBand(1)->GetNoDataValue(&has) : 0;
    m_hasNodata = has != FALSE;
    if (isInteger && m_hasNodata && zsZarrType(type, &sourceType) && !holds(sourceType, m_nodata))
    {
        CPLError(CE_Warning, CPLE_AppDefined, "nodata value %.17g cannot be a %s and is left out", m_nodata,
                 zs_dtype_of(sourceType).name);
        m_hasNodata = false;
    }
    double low, high;
    limitsOf(e.packed_type, low, high);
    const bool isKept = isInteger && m_hasNodata && holds(e.packed_type, m_nodata);
    e.has_missing = !isInteger || m_hasNodata;
    e.missing = static_cast<int64_t>(isKept ? m_nodata : low < 0 ? low : high);
    if (isInteger && m_hasNodata && !isKept)
        m_taken = static_cast<double>(e.missing);
}

bool ZSPacking::Start(ZSCreationOptions &options, GDALDataset *source, GDALDataType &type)
{
    struct zs_encoding &e = options.encoding;
    double scale, offset;
    GDALDataType of = type;
    if (!options.scale_offset)
        return !(options.has_scale || options.has_offset) || fail("SCALE and OFFSET are for SCALE_OFFSET=YES");
    if (!checkPackable(type, source != nullptr) || !findScale(options, source, scale, offset))
        return false;
    e.is_packed = true;
    e.factor = 1 / scale;
    e.offset = offset;
    if (!chooseTypes(options, source != nullptr, type, e, of))
        return false;
    ChooseMissing(source, type, e);
    m_isUsed = true;
    m_type = e.packed_type;
    m_unpacks = GDALDataTypeIsInteger(type) != FALSE;
    m_factor64 = e.factor;
    m_offset64 = e.offset;
    m_factor = static_cast<float>(m_factor64);
    m_offset = static_cast<float>(m_offset64);
    type = of;
    return true;
}

void ZSPacking::Finish(struct zs_raster_spec &spec, std::vector<struct zs_band_properties> &bands) const
{
    if (!m_isUsed)
        return;
    const double fill = spec.encoding.has_missing ? std::numeric_limits<double>::quiet_NaN() : m_offset64;
    ZSStoring storing{GDT_Float64, spec.dtype.type, spec.dtype.size};
    zsStore(&storing, &fill, spec.nodata, static_cast<ptrdiff_t>(spec.dtype.size), 1);
    spec.has_nodata = spec.encoding.has_missing;
    for (auto &m : bands)
    {
        m.has_scale = m.has_offset = m.has_nodata = false;
        if (!m_unpacks || m.metadata == nullptr)
            continue;
        char **kept = m.metadata;
        for (char **item = m.metadata; *item != nullptr; item++)
        {
            if (STARTS_WITH(*item, "STATISTICS_") || zsIsItemOfStored(*item))
                free(*item);
            else
                *kept++ = *item;
        }
        *kept = nullptr;
    }
}

/* ---- Pixels ---- */

/* Decodes as the codec scale_offset does, step by step in the arithmetic of the type. False when a value is the integer
 * that stands for nodata. */
template <class T>
static bool unpack(T *p, size_t n, bool unpacks, T factor, T offset, bool hasNodata, double nodata, double taken)
{
    constexpr T none = std::numeric_limits<T>::quiet_NaN();
    const T key = static_cast<T>(nodata), other = static_cast<T>(taken);
    bool isTaken = false;
    for (size_t i = 0; i < n; i++)
    {
        const bool isNone = hasNodata && p[i] == key;
        isTaken = isTaken || p[i] == other;
        p[i] = isNone ? none : unpacks ? p[i] / factor + offset : p[i];
    }
    return !isTaken;
}

bool ZSPacking::Unpack(void *pixels, GDALDataType type, size_t n) const
{
    if (!m_isUsed)
        return true;
    const bool isFree = type == GDT_Float32 ? unpack(static_cast<float *>(pixels), n, m_unpacks, m_factor, m_offset,
                                                     m_hasNodata, m_nodata, m_taken)
                                            : unpack(static_cast<double *>(pixels), n, m_unpacks, m_factor64,
                                                     m_offset64, m_hasNodata, m_nodata, m_taken);
    if (!isFree)
        return fail(CPLSPrintf("expected no pixel of %.0f, which stands for nodata in %s; choose a wider type", m_taken,
                               zs_dtype_of(m_type).name));
    return true;
}

/* ---- The filter of blosc ---- */

constexpr uint64_t MOST_COLUMNS = 512;

void zsChooseFilter(GDALDataset &source, GDALDataType type, const ZSPacking &packing, ZSCreationOptions &options,
                    struct zs_raster_spec &spec)
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
        if (band->RasterIO(GF_Read, x, y, columns, rows, pixels, columns, rows, type, 0, 0, nullptr) != CE_None)
            return false;
        packing.Unpack(pixels, type, static_cast<size_t>(rows) * static_cast<size_t>(columns));
        return true;
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
                                                        GDALDataType type, double missing)
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
    ZSStoring storing{type, meta.dtype.type, meta.dtype.size, missing};
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
