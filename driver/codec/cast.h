/* codec/cast.h: numbers from one data type to another, by value (zarr-extensions codecs/cast_value, "Procedure"). */
#pragma once

#include "zarr/dtype.h"

enum zs_rounding { ZS_NEAREST_EVEN, ZS_TOWARDS_ZERO, ZS_TOWARDS_POSITIVE, ZS_TOWARDS_NEGATIVE, ZS_NEAREST_AWAY };
enum zs_out_of_range { ZS_RANGE_ERROR, ZS_RANGE_CLAMP, ZS_RANGE_WRAP };

/* A value that is not cast but replaced. */
struct zs_mapped {
    unsigned char from[8], to[8]; /* native byte order */
};

struct zs_cast {
    enum zs_data_type from, to; /* int8 to uint64, float16 to float64 */
    enum zs_rounding rounding;  /* where `to` has not that many digits */
    enum zs_out_of_range out_of_range;
    /* Looked at first; the first that matches counts. NaN matches NaN, and zero either zero. */
    const struct zs_mapped *map;
    size_t map_count;
};

/* Whether zs_cast_elements() knows the type: a real number. */
bool zs_is_number(enum zs_data_type type);
bool zs_is_integer(enum zs_data_type type);

/* Casts n elements. src and dst are aligned, and may be the same where the sizes are. ZS_INVALID names a value that has
 * none in the other type. Infinite results of finite values are out of range; clamped they are infinite. */
enum zs_status zs_cast_elements(const struct zs_cast *cast, size_t n, const void *src, void *dst, struct zs_error *err);
