#include "codec/codec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- One number, any type: slow; the quick loops must give the same ---- */

static const struct format {
    enum zs_data_type type;
    bool is_float, is_signed;
    int size;
    int digits;   /* binary: of an integer without its sign; of a float, the hidden one counted */
    int smallest; /* of a float: exponent of its smallest step */
    double largest;
} formats[] = {
    {ZS_INT8, false, true, 1, 7, 0, 0},
    {ZS_UINT8, false, false, 1, 8, 0, 0},
    {ZS_INT16, false, true, 2, 15, 0, 0},
    {ZS_UINT16, false, false, 2, 16, 0, 0},
    {ZS_INT32, false, true, 4, 31, 0, 0},
    {ZS_UINT32, false, false, 4, 32, 0, 0},
    {ZS_INT64, false, true, 8, 63, 0, 0},
    {ZS_UINT64, false, false, 8, 64, 0, 0},
    {ZS_FLOAT16, true, true, 2, 11, -24, 65504},
    {ZS_FLOAT32, true, true, 4, 24, -149, 0x1.fffffep127},
    {ZS_FLOAT64, true, true, 8, 53, -1074, 0x1.fffffffffffffp1023},
};

static const struct format *format_of(enum zs_data_type type)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].type == type)
            return &formats[i];
    return NULL;
}

bool zs_is_number(enum zs_data_type type)
{
    return format_of(type) != NULL;
}

bool zs_is_integer(enum zs_data_type type)
{
    const struct format *f = format_of(type);
    return f != NULL && !f->is_float;
}

/* Holds a value of any type exactly: a float, or an integer as sign and magnitude. */
struct number {
    bool is_float, is_negative;
    double value;
    uint64_t magnitude;
};

static double load_float(int size, const void *p)
{
    float single;
    double wide;
    if (size == 2)
        return zs_half_to_double((uint16_t)zs_bits_load(2, p));
    if (size == 4)
        return (double)*(float *)memcpy(&single, p, sizeof single);
    return *(double *)memcpy(&wide, p, sizeof wide);
}

static struct number load(const struct format *f, const void *p)
{
    struct number x = {.is_float = f->is_float, .value = f->is_float ? load_float(f->size, p) : 0};
    uint64_t bits = zs_bits_load((size_t)f->size, p);
    x.is_negative = f->is_signed && bits >> f->digits != 0;
    if (x.is_negative && f->digits < 63)
        bits |= ~(uint64_t)0 << f->digits;
    x.magnitude = x.is_negative ? 0 - bits : bits;
    return x;
}

static double round_double(double value, enum zs_rounding rounding)
{
    switch (rounding) {
    case ZS_NEAREST_EVEN:
        return nearbyint(value);
    case ZS_TOWARDS_ZERO:
        return trunc(value);
    case ZS_TOWARDS_POSITIVE:
        return ceil(value);
    case ZS_TOWARDS_NEGATIVE:
        return floor(value);
    case ZS_NEAREST_AWAY:
        return round(value);
    }
    return value;
}

static bool to_integer(const struct zs_cast *cast, struct number number, const struct format *f, void *dst)
{
    bool is_huge = false;
    if (number.is_float) {
        if (!isfinite(number.value))
            return false;
        const double rounded = round_double(number.value, cast->rounding);
        number.is_negative = rounded < 0;
        is_huge = fabs(rounded) >= 0x1p64;
        number.magnitude = (uint64_t)(is_huge ? fmod(fabs(rounded), 0x1p64) : fabs(rounded));
    }
    const uint64_t largest = f->digits == 64 ? UINT64_MAX : ((uint64_t)1 << f->digits) - 1;
    const uint64_t limit = !number.is_negative ? largest : f->is_signed ? largest + 1 : 0;
    if (is_huge || number.magnitude > limit) {
        if (cast->out_of_range == ZS_RANGE_ERROR)
            return false;
        if (cast->out_of_range == ZS_RANGE_CLAMP)
            number.magnitude = limit;
    }
    const uint64_t bits = number.is_negative ? 0 - number.magnitude : number.magnitude;
    zs_bits_store((size_t)f->size, bits, dst);
    return true;
}

/* Rounds an integer to so many binary digits. */
static double round_magnitude(struct number number, int digits, enum zs_rounding rounding)
{
    int cut = 0;
    while (number.magnitude >> cut >> (digits - 1) > 1)
        cut++;
    uint64_t kept = number.magnitude >> cut;
    if (cut > 0) {
        const uint64_t rest = number.magnitude - (kept << cut), half = (uint64_t)1 << (cut - 1);
        const bool away = rounding == ZS_NEAREST_EVEN   ? rest > half || (rest == half && kept % 2 == 1)
                          : rounding == ZS_NEAREST_AWAY ? rest >= half
                          : rounding == ZS_TOWARDS_POSITIVE
                              ? rest > 0 && !number.is_negative
                              : rounding == ZS_TOWARDS_NEGATIVE && rest > 0 && number.is_negative;
        kept += away;
    }
    return ldexp(number.is_negative ? -(double)kept : (double)kept, cut);
}

static bool to_float(const struct zs_cast *cast, struct number number, const struct format *f, void *dst)
{
    double v = number.value;
    if (!number.is_float) {
        v = round_magnitude(number, f->digits, cast->rounding);
    } else if (isfinite(v) && v != 0 && f->size < 8) {
        int exponent;
        (void)frexp(v, &exponent);
        const int step = exponent - f->digits > f->smallest ? exponent - f->digits : f->smallest;
        v = copysign(ldexp(round_double(ldexp(v, -step), cast->rounding), step), v);
    }
    if (fabs(v) > f->largest && !(number.is_float && isinf(number.value))) {
        if (cast->out_of_range != ZS_RANGE_CLAMP)
            return false;
        v = copysign((double)INFINITY, v);
    }
    const uint16_t half = f->size == 2 ? zs_half_from_double(v) : 0;
    const float single = (float)v;
    memcpy(dst, f->size == 2 ? (const void *)&half : f->size == 4 ? (const void *)&single : &v, (size_t)f->size);
    return true;
}

/* Whether two elements are the same number: NaN is any NaN, and zero either zero. */
static bool is_same(const struct format *f, const void *a, const void *b)
{
    if (!f->is_float)
        return memcmp(a, b, (size_t)f->size) == 0;
    const double x = load_float(f->size, a), y = load_float(f->size, b);
    return x == y || (isnan(x) && isnan(y));
}

static enum zs_status cast_slowly(const struct zs_cast *cast, size_t n, const unsigned char *src, unsigned char *dst,
                                  struct zs_error *err)
{
    const struct format *from = format_of(cast->from), *to = format_of(cast->to);
    for (size_t i = 0; i < n; i++, src += from->size, dst += to->size) {
        size_t k = 0;
        while (k < cast->map_count && !is_same(from, src, cast->map[k].from))
            k++;
        if (k < cast->map_count) {
            memcpy(dst, cast->map[k].to, (size_t)to->size);
            continue;
        }
        const struct number x = load(from, src);
        if ((to->is_float ? to_float : to_integer)(cast, x, to, dst))
            continue;
        char text[40];
        if (x.is_float)
            (void)snprintf(text, sizeof text, "%.17g", x.value);
        else
            (void)snprintf(text, sizeof text, "%s%llu", x.is_negative ? "-" : "", (unsigned long long)x.magnitude);
        return zs_fail(err, ZS_INVALID, "%s has no value in %s", text, zs_dtype_of(cast->to).name);
    }
    return ZS_OK;
}

/* ---- Quick loops ---- */

/* Whether each value has its own in the other type. */
static bool is_exact(const struct format *from, const struct format *to)
{
    return from->digits <= to->digits && from->is_signed <= to->is_signed && from->is_float <= to->is_float;
}

/* As C converts, integers to floats to the nearest even. */
#define CONVERT(type, T)                                                                                               \
    case type:                                                                                                         \
        for (size_t i = 0; i < n; i++)                                                                                 \
            ((T *)dst)[i] = (T)s[i];                                                                                   \
        return true;
#define CONVERT_FROM(type, S)                                                                                          \
    case type: {                                                                                                       \
        const S *s = src;                                                                                              \
        switch (to) {                                                                                                  \
            CONVERT(ZS_INT16, int16_t)                                                                                 \
            CONVERT(ZS_UINT16, uint16_t)                                                                               \
            CONVERT(ZS_INT32, int32_t)                                                                                 \
            CONVERT(ZS_UINT32, uint32_t)                                                                               \
            CONVERT(ZS_INT64, int64_t)                                                                                 \
            CONVERT(ZS_FLOAT32, float)                                                                                 \
            CONVERT(ZS_FLOAT64, double)                                                                                \
        default:                                                                                                       \
            return false;                                                                                              \
        }                                                                                                              \
    }

static bool convert(enum zs_data_type from, enum zs_data_type to, size_t n, const void *src, void *dst)
{
    switch (from) {
        CONVERT_FROM(ZS_INT8, int8_t)
        CONVERT_FROM(ZS_UINT8, uint8_t)
        CONVERT_FROM(ZS_INT16, int16_t)
        CONVERT_FROM(ZS_UINT16, uint16_t)
        CONVERT_FROM(ZS_INT32, int32_t)
        CONVERT_FROM(ZS_UINT32, uint32_t)
        CONVERT_FROM(ZS_FLOAT32, float)
    default:
        return false;
    }
}

/* Replaces the elements that are mapped; the first that matches counts. */
#define PUT_MAPPED(S)                                                                                                  \
    do {                                                                                                               \
        S key;                                                                                                         \
        memcpy(&key, cast->map[k].from, sizeof key);                                                                   \
        for (size_t i = 0; i < n; i++)                                                                                 \
            if (((const S *)src)[i] == key)                                                                            \
                memcpy(dst + i * size, cast->map[k].to, size);                                                         \
    } while (0)

static void put_mapped(const struct zs_cast *cast, size_t n, const void *src, unsigned char *dst)
{
    const struct format *from = format_of(cast->from);
    const size_t size = (size_t)format_of(cast->to)->size;
    for (size_t k = cast->map_count; k-- > 0;) {
        if (!from->is_float && from->size == 1)
            PUT_MAPPED(uint8_t);
        else if (!from->is_float && from->size == 2)
            PUT_MAPPED(uint16_t);
        else
            for (size_t i = 0; i < n; i++)
                if (is_same(from, (const unsigned char *)src + i * (size_t)from->size, cast->map[k].from))
                    memcpy(dst + i * size, cast->map[k].to, size);
    }
}

/* False: not done. */
static bool cast_quickly(const struct zs_cast *cast, size_t n, const void *src, void *dst)
{
    const struct format *from = format_of(cast->from), *to = format_of(cast->to);
    if (cast->map_count > 0 && src == dst)
        return false; /* what is mapped would be overwritten before it is looked for */
    if (cast->from == cast->to)
        memmove(dst, src, n * (size_t)from->size);
    else if ((!is_exact(from, to) && (from->is_float || !to->is_float || cast->rounding != ZS_NEAREST_EVEN)) ||
             !convert(cast->from, cast->to, n, src, dst))
        return false;
    put_mapped(cast, n, src, dst);
    return true;
}

enum zs_status zs_cast_elements(const struct zs_cast *cast, size_t n, const void *src, void *dst, struct zs_error *err)
{
    return cast_quickly(cast, n, src, dst) ? ZS_OK : cast_slowly(cast, n, src, dst, err);
}
