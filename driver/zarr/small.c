#include "zarr/small.h"

#include <math.h>
#include <string.h>

#include "zarr/dtype.h"

static const struct zs_small_type types[] = {
    {"int2", ZS_INT8, 2, ZS_SMALL_INTEGER, 0, 0},
    {"uint2", ZS_UINT8, 2, ZS_SMALL_INTEGER, 0, 0},
    {"int4", ZS_INT8, 4, ZS_SMALL_INTEGER, 0, 0},
    {"uint4", ZS_UINT8, 4, ZS_SMALL_INTEGER, 0, 0},
    {"float4_e2m1fn", ZS_FLOAT16, 4, ZS_SMALL_FN, 1, 1},
    {"float6_e2m3fn", ZS_FLOAT16, 6, ZS_SMALL_FN, 3, 1},
    {"float6_e3m2fn", ZS_FLOAT16, 6, ZS_SMALL_FN, 2, 3},
    {"float8_e3m4", ZS_FLOAT16, 8, ZS_SMALL_IEEE, 4, 3},
    {"float8_e4m3", ZS_FLOAT16, 8, ZS_SMALL_IEEE, 3, 7},
    {"float8_e4m3fn", ZS_FLOAT16, 8, ZS_SMALL_FN_NAN, 3, 7}, /* not registered; tensorstore writes it */
    {"float8_e4m3b11fnuz", ZS_FLOAT16, 8, ZS_SMALL_FNUZ, 3, 11},
    {"float8_e4m3fnuz", ZS_FLOAT16, 8, ZS_SMALL_FNUZ, 3, 8},
    {"float8_e5m2", ZS_FLOAT16, 8, ZS_SMALL_IEEE, 2, 15},
    {"float8_e5m2fnuz", ZS_FLOAT16, 8, ZS_SMALL_FNUZ, 2, 16},
    {"float8_e8m0fnu", ZS_FLOAT32, 8, ZS_SMALL_FNU, 0, 127},
    {"bfloat16", ZS_FLOAT32, 16, ZS_SMALL_IEEE, 7, 127},
};

const struct zs_small_type *zs_small_type_of(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

/* ---- Floats ---- */

static bool has_sign(const struct zs_small_type *t)
{
    return t->special == ZS_SMALL_INTEGER ? t->type == ZS_INT8 : t->special != ZS_SMALL_FNU;
}

/* Bits without the sign, all ones. */
static uint32_t magnitude_mask(const struct zs_small_type *t)
{
    return ((uint32_t)1 << (t->bits - has_sign(t))) - 1;
}

/* The largest exponent with a fraction of zero. */
static uint32_t infinite(const struct zs_small_type *t)
{
    return magnitude_mask(t) >> t->fraction << t->fraction;
}

/* The magnitude of the largest finite number. */
static uint32_t largest(const struct zs_small_type *t)
{
    if (t->special == ZS_SMALL_IEEE)
        return infinite(t) - 1;
    return magnitude_mask(t) - (t->special == ZS_SMALL_FN_NAN || t->special == ZS_SMALL_FNU);
}

/* False when there is none. */
static bool nan_of(const struct zs_small_type *t, uint32_t *stored)
{
    switch (t->special) {
    case ZS_SMALL_IEEE:
        *stored = infinite(t) | (uint32_t)1 << (t->fraction - 1);
        return true;
    case ZS_SMALL_FN_NAN:
    case ZS_SMALL_FNU:
        *stored = magnitude_mask(t);
        return true;
    case ZS_SMALL_FNUZ:
        *stored = magnitude_mask(t) + 1;
        return true;
    default:
        return false;
    }
}

static double float_of(const struct zs_small_type *t, uint32_t stored)
{
    const uint32_t magnitude = stored & magnitude_mask(t), fraction = magnitude & (((uint32_t)1 << t->fraction) - 1);
    const bool is_negative = stored != magnitude;
    const int exponent = (int)(magnitude >> t->fraction);
    uint32_t nan_bits;
    if (magnitude > largest(t) && t->special == ZS_SMALL_IEEE && fraction == 0)
        return is_negative ? -(double)INFINITY : (double)INFINITY;
    if (magnitude > largest(t) || (t->special == ZS_SMALL_FNUZ && nan_of(t, &nan_bits) && stored == nan_bits))
        return (double)NAN;
    double v = ldexp((double)fraction, 1 - t->bias - t->fraction);
    if (exponent > 0 || t->special == ZS_SMALL_FNU)
        v = ldexp((double)(fraction + ((uint32_t)1 << t->fraction)), exponent - t->bias - t->fraction);
    return is_negative ? -v : v;
}

static bool float_to(const struct zs_small_type *t, double value, uint32_t *stored)
{
    const double magnitude = fabs(value);
    const uint32_t sign = has_sign(t) && signbit(value) ? magnitude_mask(t) + 1 : 0;
    if (isnan(value))
        return nan_of(t, stored);
    if (isinf(value)) {
        *stored = sign | infinite(t);
        return t->special == ZS_SMALL_IEEE;
    }
    if (!has_sign(t) && value <= 0)
        return false;
    /* The magnitude is in [2^(exponent - 1), 2^exponent), or 0. Below the smallest exponent the step stays. */
    const int least = t->special == ZS_SMALL_FNU ? 0 : 1;
    int exponent;
    (void)frexp(magnitude, &exponent);
    exponent += t->bias - 1;
    if (exponent < least || magnitude == 0)
        exponent = least;
    /* nearbyint rounds half to even; a carry goes into the exponent by itself. */
    const double steps = nearbyint(ldexp(magnitude, t->fraction + t->bias - exponent));
    const double bits = ldexp(exponent - 1.0, t->fraction) + steps;
    if (bits < 0 || bits > (double)largest(t))
        return false;
    *stored = (uint32_t)bits;
    if (*stored != 0 || t->special != ZS_SMALL_FNUZ)
        *stored |= sign;
    return true;
}

/* ---- All ---- */

double zs_small_to_double(const struct zs_small_type *type, uint32_t stored)
{
    stored &= (uint32_t)(((uint64_t)1 << type->bits) - 1);
    if (type->special != ZS_SMALL_INTEGER)
        return float_of(type, stored);
    const double v = (double)stored;
    return has_sign(type) && stored > magnitude_mask(type) ? v - ldexp(1, type->bits) : v;
}

bool zs_small_from_double(const struct zs_small_type *type, double value, uint32_t *stored)
{
    if (type->special != ZS_SMALL_INTEGER)
        return float_to(type, value, stored);
    const double high = (double)magnitude_mask(type), low = has_sign(type) ? -high - 1 : 0;
    if (!(value >= low && value <= high) || value != floor(value))
        return false;
    *stored = (uint32_t)(int32_t)value;
    return true;
}

void zs_small_decode(const struct zs_small_type *type, uint32_t stored, void *element)
{
    const double v = zs_small_to_double(type, stored);
    const uint16_t half = type->type == ZS_FLOAT16 ? zs_half_from_double(v) : 0;
    const float single = (float)v;
    if (type->special == ZS_SMALL_INTEGER)
        *(unsigned char *)element = (unsigned char)(int)v;
    else if (type->type == ZS_FLOAT16)
        memcpy(element, &half, sizeof half);
    else
        memcpy(element, &single, sizeof single);
}

bool zs_small_encode(const struct zs_small_type *type, const void *element, uint32_t *stored)
{
    uint16_t half;
    float single;
    switch (type->type) {
    case ZS_INT8:
        return zs_small_from_double(type, *(const signed char *)element, stored);
    case ZS_UINT8:
        return zs_small_from_double(type, *(const unsigned char *)element, stored);
    case ZS_FLOAT16:
        memcpy(&half, element, sizeof half);
        return float_to(type, zs_half_to_double(half), stored);
    default:
        memcpy(&single, element, sizeof single);
        return float_to(type, (double)single, stored);
    }
}
