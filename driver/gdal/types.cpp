#include "types.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

extern "C"
{
#include "zarr/dtype.h"
}

/* Of those of one GDAL type the first is written for it: before 3.7 and 3.11 GDAL has wider types for int8 and
 * float16. */
static const struct
{
    enum zs_data_type zarr;
    GDALDataType gdal;
} TYPES[] = {
    {ZS_UINT8, GDT_Byte},         {ZS_UINT16, GDT_UInt16},       {ZS_INT16, GDT_Int16},
    {ZS_UINT32, GDT_UInt32},      {ZS_INT32, GDT_Int32},         {ZS_UINT64, GDT_UInt64},
    {ZS_INT64, GDT_Int64},        {ZS_FLOAT32, GDT_Float32},     {ZS_FLOAT64, GDT_Float64},
    {ZS_COMPLEX64, GDT_CFloat32}, {ZS_COMPLEX128, GDT_CFloat64}, {ZS_INT8, ZS_GDT_INT8},
    {ZS_FLOAT16, ZS_GDT_FLOAT16}, {ZS_BOOL, GDT_Byte},           {ZS_DATETIME64, GDT_Int64},
    {ZS_TIMEDELTA64, GDT_Int64},  {ZS_RAW, GDT_Byte},
};

GDALDataType zsGDALType(enum zs_data_type type)
{
    return std::find_if(std::begin(TYPES), std::end(TYPES), [&](const auto &row) { return row.zarr == type; })->gdal;
}

bool zsZarrType(GDALDataType type, enum zs_data_type *out)
{
    const auto row = std::find_if(std::begin(TYPES), std::end(TYPES), [&](const auto &r) { return r.gdal == type; });
    if (row != std::end(TYPES))
        *out = row->zarr;
    return row != std::end(TYPES);
}

GDALDataType zsTypeOfBands(GDALDataset &dataset)
{
    GDALDataType type = dataset.GetRasterBand(1)->GetRasterDataType();
    for (int b = 2; b <= dataset.GetRasterCount(); b++)
    {
        const GDALDataType other = dataset.GetRasterBand(b)->GetRasterDataType();
        // GDAL 3.13's union of Float16 with itself is Float32
        type = other == type ? type : GDALDataTypeUnion(type, other);
    }
    return type;
}

/* The two types that old GDALs lack are widened, and narrowed, element by element. */
static bool needsWidening(enum zs_data_type type)
{
    return (type == ZS_INT8 && GDALGetDataTypeSizeBytes(ZS_GDT_INT8) != 1) ||
           (type == ZS_FLOAT16 && GDALGetDataTypeSizeBytes(ZS_GDT_FLOAT16) != 2);
}

/* Elements that are converted in one go, through a buffer on the stack. */
constexpr size_t PIECE = 1024;

bool ZSConversion::IsReadAsIs() const
{
    return buffer == zsGDALType(type) && !needsWidening(type) && validity == nullptr;
}

bool ZSConversion::IsStoredAsIs() const
{
    // A bool is 0 or 1, whatever byte stands for true.
    return IsReadAsIs() && type != ZS_BOOL;
}

/* Between these types GDAL converts element by element. Each value of one is a value of the other: where both lie
 * densely a plain loop does the same, and the compiler vectorises it. The checksum of a 30000 x 30000 UInt16 raster
 * (read as Int32) takes a sixth less. */
using Widen = void (*)(const void *src, void *dst, size_t n);

template <class From, class To> static void widen(const void *src, void *dst, size_t n)
{
    const auto from = static_cast<const From *>(src);
    const auto to = static_cast<To *>(dst);
    for (size_t i = 0; i < n; i++)
        to[i] = static_cast<To>(from[i]);
}

static const struct
{
    GDALDataType from, to;
    Widen widen;
} WIDENINGS[] = {
    {GDT_UInt16, GDT_Int32, widen<GUInt16, GInt32>},   {GDT_Int16, GDT_Int32, widen<GInt16, GInt32>},
    {GDT_Int16, GDT_Float32, widen<GInt16, float>},    {GDT_Int16, GDT_Float64, widen<GInt16, double>},
    {GDT_UInt32, GDT_Float64, widen<GUInt32, double>}, {GDT_Int32, GDT_Float64, widen<GInt32, double>},
    {GDT_Float32, GDT_Float64, widen<float, double>},
};

/* GDAL takes strides as int: between bands, or lines of a window in the order of its columns, there may be more than 2
 * GB. */
static void copyWords(const void *src, GDALDataType from, size_t fromSize, void *dst, GDALDataType to, ptrdiff_t stride,
                      size_t n)
{
    if (stride >= INT_MIN && stride <= INT_MAX)
    {
        GDALCopyWords64(src, from, static_cast<int>(fromSize), dst, to, static_cast<int>(stride),
                        static_cast<GPtrDiff_t>(n));
        return;
    }
    for (size_t i = 0; i < n; i++)
        GDALCopyWords64(static_cast<const char *>(src) + i * fromSize, from, 0,
                        static_cast<char *>(dst) + static_cast<ptrdiff_t>(i) * stride, to, 0, 1);
}

/* Calls f with the first element and the number of elements of each piece. */
template <class F> static void inPieces(size_t n, F &&f)
{
    for (size_t done = 0; done < n; done += PIECE)
        f(done, std::min(PIECE, n - done));
}

/* Numbers of the two types that old GDALs lack, as floats, which hold them. */
static void convertWidened(const ZSConversion &c, const void *src, char *dst, ptrdiff_t dst_stride, size_t n)
{
    float wide[PIECE];
    inPieces(n,
             [&](size_t done, size_t part)
             {
                 for (size_t i = 0; i < part; i++)
                     wide[i] = static_cast<float>(
                         c.type == ZS_INT8 ? static_cast<const signed char *>(src)[done + i]
                                           : zs_half_to_double(static_cast<const uint16_t *>(src)[done + i]));
                 copyWords(wide, GDT_Float32, sizeof(float), dst + dst_stride * static_cast<ptrdiff_t>(done), c.buffer,
                           dst_stride, part);
             });
}

static bool isAligned(const void *p, size_t size)
{
    return reinterpret_cast<uintptr_t>(p) % size == 0;
}

static void convertNumbers(const ZSConversion &c, const void *src, void *dst, ptrdiff_t dst_stride, size_t n)
{
    if (needsWidening(c.type))
        return convertWidened(c, src, static_cast<char *>(dst), dst_stride, n);
    const GDALDataType native = zsGDALType(c.type);
    const auto size = static_cast<size_t>(GDALGetDataTypeSizeBytes(c.buffer));
    const auto row = std::find_if(std::begin(WIDENINGS), std::end(WIDENINGS),
                                  [&](const auto &r) { return r.from == native && r.to == c.buffer; });
    if (row != std::end(WIDENINGS) && dst_stride == static_cast<ptrdiff_t>(size) && isAligned(src, c.size) &&
        isAligned(dst, size))
        return row->widen(src, dst, n);
    copyWords(src, native, c.size, dst, c.buffer, dst_stride, n);
}

static void convertMask(const ZSConversion &c, const void *src, void *dst, ptrdiff_t dst_stride, size_t n)
{
    const ZSConversion toDouble{c.type, c.size, GDT_Float64};
    double elements[PIECE];
    GByte values[PIECE];
    inPieces(n,
             [&](size_t done, size_t part)
             {
                 convertNumbers(toDouble, static_cast<const char *>(src) + done * c.size, elements, sizeof(double),
                                part);
                 for (size_t i = 0; i < part; i++)
                     values[i] = zs_validity_of(c.validity, elements[i]) ? 255 : 0;
                 copyWords(values, GDT_Byte, 1, static_cast<char *>(dst) + dst_stride * static_cast<ptrdiff_t>(done),
                           c.buffer, dst_stride, part);
             });
}

void zsConvert(void *conversion, const void *src, void *dst, ptrdiff_t dst_stride, size_t n)
{
    const auto &c = *static_cast<const ZSConversion *>(conversion);
    (c.validity != nullptr ? convertMask : convertNumbers)(c, src, dst, dst_stride, n);
}

/* Stores a value of a mask, or of a type that GDAL does not have. */
static void storeOne(const ZSConversion &c, double value, char *out)
{
    if (c.validity != nullptr)
        *reinterpret_cast<unsigned char *>(out) = value != 0 ? 255 : 0;
    else if (c.type == ZS_BOOL)
        *out = value != 0;
    else if (c.type == ZS_INT8) // as GDAL converts: rounded, the nearest number that the type has, 0 for NaN
        *reinterpret_cast<signed char *>(out) =
            std::isnan(value) ? 0 : static_cast<signed char>(std::round(std::clamp(value, -128.0, 127.0)));
    else
    {
        const uint16_t half = zs_half_from_double(value);
        memcpy(out, &half, sizeof half);
    }
}

void zsStore(void *conversion, const void *src, void *dst, ptrdiff_t dst_stride, size_t n)
{
    const auto &c = *static_cast<const ZSConversion *>(conversion);
    auto out = static_cast<char *>(dst);
    if (!needsWidening(c.type) && c.type != ZS_BOOL && c.validity == nullptr)
        return copyWords(src, c.buffer, static_cast<size_t>(GDALGetDataTypeSizeBytes(c.buffer)), dst,
                         zsGDALType(c.type), dst_stride, n);
    const auto size = static_cast<size_t>(GDALGetDataTypeSizeBytes(c.buffer));
    double wide[PIECE];
    inPieces(n,
             [&](size_t done, size_t part)
             {
                 copyWords(static_cast<const char *>(src) + done * size, c.buffer, size, wide, GDT_Float64,
                           sizeof(double), part);
                 for (size_t i = 0; i < part; i++, out += dst_stride)
                     storeOne(c, wide[i], out);
             });
}

double zsElementToDouble(enum zs_data_type type, size_t item_size, const void *element)
{
    ZSConversion c{type, item_size, GDT_Float64};
    alignas(16) unsigned char aligned[ZS_MAX_ITEM_SIZE]; // where it stands it may be at any address
    memcpy(aligned, element, item_size);
    double value = 0;
    zsConvert(&c, aligned, &value, sizeof value, 1);
    return value;
}

static bool elementOf(double value, enum zs_data_type type, size_t item_size, unsigned char *element)
{
    ZSConversion storing{type, item_size, GDT_Float64};
    zsStore(&storing, &value, element, static_cast<ptrdiff_t>(item_size), 1);
    const double back = zsElementToDouble(type, item_size, element);
    const bool isReal = !GDALDataTypeIsInteger(zsGDALType(type));
    if (isReal)
        return std::isfinite(value) ? std::isfinite(back) : std::isnan(value) == std::isnan(back);
    // The largest integers of 64 bits are no doubles: what comes back is the next power of two.
    return back == value && value < (type == ZS_UINT64 ? 18446744073709551616.0 : 9223372036854775808.0);
}

template <class Integer>
static bool elementOf(Integer value, enum zs_data_type type, size_t item_size, unsigned char *element)
{
    const bool isNegative = std::is_signed_v<Integer> && static_cast<int64_t>(value) < 0;
    if (type != ZS_UINT64 && type != ZS_INT64)
        return elementOf(static_cast<double>(value), type, item_size, element);
    memcpy(element, &value, sizeof value);
    return isNegative ? type == ZS_INT64 : type == ZS_UINT64 || static_cast<uint64_t>(value) <= INT64_MAX;
}

ZSNodata::ZSNodata(GDALRasterBand &band) : isThere(false)
{
    int has = FALSE;
    if (band.GetRasterDataType() == GDT_Int64)
        value = band.GetNoDataValueAsInt64(&has);
    else if (band.GetRasterDataType() == GDT_UInt64)
        value = band.GetNoDataValueAsUInt64(&has);
    else
        value = band.GetNoDataValue(&has);
    isThere = has != FALSE;
}

std::string ZSNodata::Text() const
{
    const double *real = std::get_if<double>(&value);
    if (!isThere)
        return "";
    if (real != nullptr)
        return CPLSPrintf("%.17g", *real);
    return std::holds_alternative<int64_t>(value) ? std::to_string(std::get<int64_t>(value))
                                                  : std::to_string(std::get<uint64_t>(value));
}

bool ZSNodata::ToElement(enum zs_data_type type, size_t item_size, unsigned char *element) const
{
    return std::visit([&](auto exact) { return elementOf(exact, type, item_size, element); }, value);
}
