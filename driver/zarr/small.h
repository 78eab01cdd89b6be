/* zarr/small.h: data types of fewer bits than C's (zarr-extensions data-types): int2, uint4, bfloat16, float8_e4m3 ...
 * Stored they take those bits; in memory they are the smallest type of enum zs_data_type that holds all their values,
 * so that all but `bytes` and `packbits` see that. */
#pragma once

#include <stdbool.h>

#include "shardedzarr.h"

enum zs_small_special {
    ZS_SMALL_INTEGER, /* two's complement where its type in memory is signed */
    ZS_SMALL_IEEE,    /* infinities and NaN in the largest exponent */
    ZS_SMALL_FN,      /* neither */
    ZS_SMALL_FN_NAN,  /* no infinity; all ones but the sign are NaN */
    ZS_SMALL_FNUZ,    /* no infinity; the negative zero is NaN */
    ZS_SMALL_FNU      /* no sign, no zero, no infinity, no fraction; all ones are NaN */
};

struct zs_small_type {
    const char *name;
    enum zs_data_type type; /* in memory */
    int bits;               /* stored; by `bytes` in so many bytes as are needed */
    enum zs_small_special special;
    int fraction, bias; /* of floats: digits behind the point; what is added to the exponent */
};

/* The type of that name, or NULL. */
const struct zs_small_type *zs_small_type_of(const char *name);

/* The element in memory that the lowest type->bits of `stored` are; its size is that of type->type. Exact. */
void zs_small_decode(const struct zs_small_type *type, uint32_t stored, void *element);

/* The bits for an element, floats rounded half to even; integers with their sign in all bits above. False when the type
 * has none: an integer out of its range, a finite number beyond its largest, infinity, NaN or zero where there is
 * none. */
bool zs_small_encode(const struct zs_small_type *type, const void *element, uint32_t *stored);

/* Like zs_small_decode() and zs_small_encode(), with the element as a number. */
double zs_small_to_double(const struct zs_small_type *type, uint32_t stored);
bool zs_small_from_double(const struct zs_small_type *type, double value, uint32_t *stored);
