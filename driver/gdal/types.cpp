#include "types.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

extern "C"
{
#include "zarr/dtype.h"
}

GDALDataType zsGDALType(enum zs_data_type type, size_t item_size)
{
    switch (type)
    {
        case ZS_BOOL:
        case ZS_UINT8:
            return GDT_Byte;
        case ZS_INT8:
            return ZS_GDT_INT8;
        case ZS_INT16:
            return GDT_Int16;
        case ZS_UINT16:
            return GDT_UInt16;
        case ZS_INT32:
            return GDT_Int32;
        case ZS_UINT32:
            return GDT_UInt32;
        case ZS_INT64:
        case ZS_DATETIME64:
        case ZS_TIMEDELTA64:
            return GDT_Int64;
        case ZS_UINT64:
            return GDT_UInt64;
        case ZS_FLOAT16:
            return ZS_GDT_FLOAT16;
        case ZS_FLOAT32:
            return GDT_Float32;
        case ZS_FLOAT64:
            return GDT_Float64;
        case ZS_COMPLEX64:
            return GDT_CFloat32;
        case ZS_COMPLEX128:
            return GDT_CFloat64;
        case ZS_RAW:
            return item_size == 1 ? GDT_Byte : GDT_Unknown;
    }
    return GDT_Unknown;
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

bool zsZarrType(GDALDataType type, enum zs_data_type *out)
{
    static const enum zs_data_type types[] = {ZS_UINT8, ZS_INT8, ZS_UINT16, ZS_INT16, ZS_UINT32, ZS_INT32, ZS_UINT64,
                                              ZS_INT64, ZS_FLOAT32, ZS_FLOAT64, ZS_COMPLEX64, ZS_COMPLEX128};
    for (const auto candidate : types)
    {
        if (zsGDALType(candidate, 0) == type)
        {
            // Before 3.7, Int16 stands for int8 too; it is written as int16.
            *out = type == GDT_Int16 ? ZS_INT16 : candidate;
            return true;
        }
    }
    if (type == zsGDALType(ZS_FLOAT16, 2))
    {
        *out = ZS_FLOAT16;
        return true;
    }
    return false;
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
    return buffer == zsGDALType(type, size) && !needsWidening(type) && validity == nullptr;
}

bool ZSConversion::IsStoredAsIs() const
{
    // A bool is 0 or 1, whatever byte stands for true.
    return IsReadAsIs() && type != ZS_BOOL;
}

/* GDAL converts element by element, whatever the types. Where each value of one is a value of the other and both lie
 * densely, a plain loop does the same, and the compiler vectorises it: the checksum of a 30000 x 30000 UInt16 raster
 * (read as Int32) takes a sixth less. */
using Widen = void (*)(const void *src, void *dst, size_t n);

template <class From, class To> static void widen(const void *src, void *dst, size_t n)
{
    const auto from = static_cast<const From *>(src);
    const auto to = static_cast<To *>(dst);
    for (size_t i = 0; i < n; i++)
        to[i] = static_cast<To>(from[i]);
}

template <class From, class To> static constexpr Widen widenOrNull()
{
    using F = std::numeric_limits<From>;
    using T = std::numeric_limits<To>;
    if constexpr (F::digits <= T::digits && (T::is_signed || !F::is_signed) && (F::is_integer || !T::is_integer))
        return widen<From, To>;
    else
        return nullptr;
}

template <class From> static Widen widenTo(GDALDataType to)
{
    switch (to)
    {
        case GDT_UInt16:
            return widenOrNull<From, GUInt16>();
        case GDT_Int16:
            return widenOrNull<From, GInt16>();
        case GDT_UInt32:
            return widenOrNull<From, GUInt32>();
        case GDT_Int32:
            return widenOrNull<From, GInt32>();
        case GDT_Float32:
            return widenOrNull<From, float>();
        case GDT_Float64:
            return widenOrNull<From, double>();
        default:
            return nullptr;
    }
}

static Widen widenBetween(GDALDataType from, GDALDataType to)
{
    switch (from)
    {
        case GDT_Byte:
            return widenTo<GByte>(to);
        case GDT_UInt16:
            return widenTo<GUInt16>(to);
        case GDT_Int16:
            return widenTo<GInt16>(to);
        case GDT_UInt32:
            return widenTo<GUInt32>(to);
        case GDT_Int32:
            return widenTo<GInt32>(to);
        case GDT_Float32:
            return widenTo<float>(to);
        default:
            return nullptr;
    }
}

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

static bool isAligned(const void *p, size_t size)
{
    return reinterpret_cast<uintptr_t>(p) % size == 0;
}

/* Converts numbers piecewise through a small buffer of a wider type. */
static void convertWidened(const ZSConversion &c, const void *src, char *dst, ptrdiff_t dst_stride, size_t n)
{
    const GDALDataType native = zsGDALType(c.type, c.size);
    union
    {
        GInt16 ints[PIECE];
        float floats[PIECE];
    } wide;
    for (size_t done = 0; done < n;)
    {
        const size_t part = std::min(PIECE, n - done);
        for (size_t i = 0; i < part; i++)
        {
            if (c.type == ZS_INT8)
                wide.ints[i] = static_cast<const signed char *>(src)[done + i];
            else
                wide.floats[i] = static_cast<float>(zs_half_to_double(static_cast<const uint16_t *>(src)[done + i]));
        }
        copyWords(&wide, native, static_cast<size_t>(GDALGetDataTypeSizeBytes(native)),
                  dst + dst_stride * static_cast<ptrdiff_t>(done), c.buffer, dst_stride, part);
        done += part;
    }
}

static void convertNumbers(const ZSConversion &c, const void *src, void *dst, ptrdiff_t dst_stride, size_t n)
{
    if (needsWidening(c.type))
        return convertWidened(c, src, static_cast<char *>(dst), dst_stride, n);
    const GDALDataType native = zsGDALType(c.type, c.size);
    const auto size = static_cast<size_t>(GDALGetDataTypeSizeBytes(c.buffer));
    const Widen widening = dst_stride == static_cast<ptrdiff_t>(size) ? widenBetween(native, c.buffer) : nullptr;
    if (widening != nullptr && isAligned(src, c.size) && isAligned(dst, size))
        widening(src, dst, n);
    else
        copyWords(src, native, c.size, dst, c.buffer, dst_stride, n);
}

static void convertMask(const ZSConversion &c, const void *src, void *dst, ptrdiff_t dst_stride, size_t n)
{
    const ZSConversion toDouble{c.type, c.size, GDT_Float64};
    double elements[PIECE];
    GByte values[PIECE];
    for (size_t done = 0; done < n;)
    {
        const size_t part = std::min(PIECE, n - done);
        convertNumbers(toDouble, static_cast<const char *>(src) + done * c.size, elements, sizeof(double), part);
        for (size_t i = 0; i < part; i++)
            values[i] = zs_validity_of(c.validity, elements[i]) ? 255 : 0;
        copyWords(values, GDT_Byte, 1, static_cast<char *>(dst) + dst_stride * static_cast<ptrdiff_t>(done), c.buffer,
                  dst_stride, part);
        done += part;
    }
}

void zsConvert(void *conversion, const void *src, void *dst, ptrdiff_t dst_stride, size_t n)
{
    const auto &c = *static_cast<const ZSConversion *>(conversion);
    (c.validity != nullptr ? convertMask : convertNumbers)(c, src, dst, dst_stride, n);
}

/* Calls f with each element as a double. */
template <class F> static void eachAsDouble(const void *src, GDALDataType from, size_t n, F &&f)
{
    const int size = GDALGetDataTypeSizeBytes(from);
    double wide[PIECE];
    for (size_t done = 0; done < n;)
    {
        const size_t part = std::min(PIECE, n - done);
        GDALCopyWords64(static_cast<const char *>(src) + done * static_cast<size_t>(size), from, size, wide,
                        GDT_Float64, sizeof(double), static_cast<GPtrDiff_t>(part));
        for (size_t i = 0; i < part; i++)
            f(wide[i]);
        done += part;
    }
}

/* As GDAL converts: rounded, the nearest number that the type has, 0 for NaN. */
static signed char asInt8(double value)
{
    return std::isnan(value) ? 0 : static_cast<signed char>(std::round(std::max(-128.0, std::min(127.0, value))));
}

void zsStore(void *conversion, const void *src, void *dst, ptrdiff_t dst_stride, size_t n)
{
    const auto &c = *static_cast<const ZSConversion *>(conversion);
    auto out = static_cast<char *>(dst);
    if (!needsWidening(c.type) && c.type != ZS_BOOL && c.validity == nullptr)
        return copyWords(src, c.buffer, static_cast<size_t>(GDALGetDataTypeSizeBytes(c.buffer)), dst,
                         zsGDALType(c.type, c.size), dst_stride, n);
    eachAsDouble(src, c.buffer, n,
                 [&](double value)
                 {
                     if (c.validity != nullptr)
                         *reinterpret_cast<unsigned char *>(out) = value != 0 ? 255 : 0;
                     else if (c.type == ZS_BOOL)
                         *out = value != 0;
                     else if (c.type == ZS_INT8)
                         *reinterpret_cast<signed char *>(out) = asInt8(value);
                     else
                     {
                         const uint16_t half = zs_half_from_double(value);
                         memcpy(out, &half, sizeof half);
                     }
                     out += dst_stride;
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

static void store(GDALDataType from, const void *value, enum zs_data_type type, size_t item_size,
                  unsigned char *element)
{
    ZSConversion storing{type, item_size, from};
    zsStore(&storing, value, element, static_cast<ptrdiff_t>(item_size), 1);
}

static bool elementOf(double value, enum zs_data_type type, size_t item_size, unsigned char *element)
{
    store(GDT_Float64, &value, type, item_size, element);
    const double back = zsElementToDouble(type, item_size, element);
    const bool isReal = !GDALDataTypeIsInteger(zsGDALType(type, item_size));
    if (isReal)
        return std::isfinite(value) ? std::isfinite(back) : std::isnan(value) == std::isnan(back);
    // The largest integers of 64 bits are no doubles: what comes back is the next power of two.
    return back == value && value < (type == ZS_UINT64 ? 18446744073709551616.0 : 9223372036854775808.0);
}

static bool elementOf(uint64_t value, enum zs_data_type type, size_t item_size, unsigned char *element)
{
    if (type != ZS_UINT64 && type != ZS_INT64)
        return elementOf(static_cast<double>(value), type, item_size, element);
    memcpy(element, &value, sizeof value);
    return type == ZS_UINT64 || value <= static_cast<uint64_t>(INT64_MAX);
}

static bool elementOf(int64_t value, enum zs_data_type type, size_t item_size, unsigned char *element)
{
    if (value >= 0)
        return elementOf(static_cast<uint64_t>(value), type, item_size, element);
    if (type != ZS_INT64)
        return elementOf(static_cast<double>(value), type, item_size, element);
    memcpy(element, &value, sizeof value);
    return true;
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
