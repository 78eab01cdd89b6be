#include "types.h"

#include <algorithm>

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

bool zsZarrType(GDALDataType type, enum zs_data_type *out)
{
    static const enum zs_data_type types[] = {ZS_UINT8, ZS_INT8, ZS_UINT16, ZS_INT16, ZS_UINT32, ZS_INT32, ZS_UINT64,
                                              ZS_INT64, ZS_FLOAT32, ZS_FLOAT64, ZS_COMPLEX64, ZS_COMPLEX128};
    for (const auto candidate : types)
    {
        if (zsGDALType(candidate, 0) == type)
        {
            // Before 3.7, Int16 stands for int8 too; it is written as what it says.
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

bool ZSConversion::IsIdentity() const
{
    return to == zsGDALType(from, from_size) && !needsWidening(from);
}

void zsConvert(void *conversion, const void *src, void *dst, ptrdiff_t dst_stride, size_t n)
{
    const auto &c = *static_cast<const ZSConversion *>(conversion);
    const GDALDataType native = zsGDALType(c.from, c.from_size);
    const auto stride = static_cast<int>(dst_stride);
    if (!needsWidening(c.from))
    {
        GDALCopyWords64(src, native, static_cast<int>(c.from_size), dst, c.to, stride, static_cast<GPtrDiff_t>(n));
        return;
    }
    // Piecewise through a small buffer of the wider type.
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
            if (c.from == ZS_INT8)
                wide.ints[i] = static_cast<const signed char *>(src)[done + i];
            else
                wide.floats[i] = static_cast<float>(zs_half_to_double(static_cast<const uint16_t *>(src)[done + i]));
        }
        GDALCopyWords64(&wide, native, GDALGetDataTypeSizeBytes(native), static_cast<char *>(dst) + dst_stride * static_cast<ptrdiff_t>(done),
                        c.to, stride, static_cast<GPtrDiff_t>(part));
        done += part;
    }
}

bool ZSStoring::IsIdentity() const
{
    // A bool is 0 or 1, whatever byte stands for true.
    return from == zsGDALType(to, to_size) && !needsWidening(to) && to != ZS_BOOL;
}

void zsStore(void *storing, const void *src, void *dst, ptrdiff_t dst_stride, size_t n)
{
    const auto &s = *static_cast<const ZSStoring *>(storing);
    const GDALDataType native = zsGDALType(s.to, s.to_size);
    const int fromSize = GDALGetDataTypeSizeBytes(s.from);
    auto out = static_cast<char *>(dst);
    if (!needsWidening(s.to) && s.to != ZS_BOOL)
    {
        GDALCopyWords64(src, s.from, fromSize, dst, native, static_cast<int>(dst_stride), static_cast<GPtrDiff_t>(n));
        return;
    }
    double wide[PIECE];
    for (size_t done = 0; done < n;)
    {
        const size_t part = std::min(PIECE, n - done);
        GDALCopyWords64(static_cast<const char *>(src) + done * static_cast<size_t>(fromSize), s.from, fromSize, wide, GDT_Float64,
                        sizeof(double), static_cast<GPtrDiff_t>(part));
        for (size_t i = 0; i < part; i++, out += dst_stride)
        {
            if (s.to == ZS_BOOL)
                *out = wide[i] != 0;
            else if (s.to == ZS_INT8)
                *reinterpret_cast<signed char *>(out) = static_cast<signed char>(std::max(-128.0, std::min(127.0, wide[i])));
            else
            {
                const uint16_t half = zs_half_from_double(wide[i]);
                memcpy(out, &half, sizeof half);
            }
        }
        done += part;
    }
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
