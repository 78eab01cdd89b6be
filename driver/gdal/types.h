/* gdal/types.h: Zarr data types as GDAL sees them. */
#pragma once

#include <limits>
#include <string>
#include <variant>

#include "compat.h"
#include "shardedzarr.h"

extern "C"
{
#include "geo/flags.h"
}

/* The GDAL type for an array: its own, or the smallest this GDAL has that holds it. */
GDALDataType zsGDALType(enum zs_data_type type);

/* The Zarr type that CreateCopy and Create write for a GDAL type; false when Zarr has none (CInt16, CInt32). */
bool zsZarrType(GDALDataType type, enum zs_data_type *out);

/* The type that holds the pixels of all bands of a dataset. */
GDALDataType zsTypeOfBands(GDALDataset &dataset);

/* How elements of an array become those of a GDAL buffer, and these elements of it. */
struct ZSConversion
{
    enum zs_data_type type; /* of the array */
    size_t size;
    GDALDataType buffer;
    /* Which elements of a mask mean "valid", 255 in a buffer, of which 0 is invalid; null: they are numbers. */
    const struct zs_validity *validity = nullptr;

    /* Whether elements can be copied as they are. */
    bool IsReadAsIs() const;
    bool IsStoredAsIs() const;
};

/* zs_convert_fn with a ZSConversion as context, for reading and for writing. */
extern "C" void zsConvert(void *conversion, const void *src, void *dst, ptrdiff_t dst_stride, size_t n);
extern "C" void zsStore(void *conversion, const void *src, void *dst, ptrdiff_t dst_stride, size_t n);

/* A nodata value, as exactly as GDAL has it. */
struct ZSNodata
{
    using Value = std::variant<double, int64_t, uint64_t>;

    bool isThere;
    Value value;

    ZSNodata() : isThere(false), value(0.0)
    {
    }
    explicit ZSNodata(const Value &set) : isThere(true), value(set)
    {
    }
    /* That of a band of any driver. */
    explicit ZSNodata(GDALRasterBand &band);

    /* As people write it; "" where there is none. */
    std::string Text() const;
    /* Makes one element of it; false where the type does not hold it: it would mark no pixel, or others. Reals may be
     * rounded. */
    bool ToElement(enum zs_data_type type, size_t item_size, unsigned char *element) const;
};

/* One element as double. */
double zsElementToDouble(enum zs_data_type type, size_t item_size, const void *element);
