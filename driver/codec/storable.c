#include "codec/chain.h"

#include <math.h>
#include <string.h>

#include "codec/cast.h"

/* Elements that are checked at a time. */
#define BLOCK 512

/* Integers at an end of the stored type that may stand for something else, such as missing pixels. */
#define MOST_TAKEN 4

/* ---- The range ---- */

static enum zs_status encode_one(const struct zs_stage *stages, int count, const void *element, struct zs_error *err)
{
    _Alignas(16) unsigned char in[ZS_MAX_ITEM_SIZE], out[ZS_MAX_ITEM_SIZE];
    memcpy(in, element, stages[0].in.size);
    return zs_stages_encode_elements(stages, count, 1, in, out, err);
}

/* Finds the outermost finite value that the stages decode from the stored type and encode again: from its least
 * integer upwards (by 1), or from its greatest downwards (by -1). */
static bool find_end(const struct zs_stage *stages, int count, int by, double *value)
{
    const enum zs_data_type type = stages[count - 1].out.type;
    const struct zs_cast to_type = {.from = ZS_INT64, .to = type, .out_of_range = ZS_RANGE_CLAMP},
                         from_type = {.from = type, .to = ZS_INT64, .out_of_range = ZS_RANGE_CLAMP};
    _Alignas(16) unsigned char stored[ZS_MAX_ITEM_SIZE], element[ZS_MAX_ITEM_SIZE];
    int64_t end = by > 0 ? INT64_MIN : INT64_MAX;
    if (zs_cast_elements(&to_type, 1, &end, stored, NULL) != ZS_OK ||
        zs_cast_elements(&from_type, 1, stored, &end, NULL) != ZS_OK)
        return false;
    for (int i = 0; i < MOST_TAKEN; i++, end += by) {
        if (zs_cast_elements(&to_type, 1, &end, stored, NULL) != ZS_OK ||
            zs_stages_decode_elements(stages, count, 1, stored, element, NULL) != ZS_OK)
            continue;
        *value = zs_dtype_to_double(&stages[0].in, element);
        if (isfinite(*value) && encode_one(stages, count, element, NULL) == ZS_OK)
            return true;
    }
    return false;
}

static bool is_float(const struct zs_dtype *dtype)
{
    return dtype->type == ZS_FLOAT32 || dtype->type == ZS_FLOAT64;
}

struct zs_storable zs_storable_of(const struct zs_stage *stages, int count)
{
    struct zs_storable s = {0};
    bool is_ordered = true;
    for (int i = 0; i < count; i++) {
        s.count = stages[i].refuses != ZS_REFUSES_NONE ? i + 1 : s.count;
        is_ordered = is_ordered && stages[i].refuses != ZS_REFUSES_SOME;
    }
    double a, b;
    if (s.count == 0 || !is_ordered || !is_float(&stages[0].in) || !zs_is_integer(stages[s.count - 1].out.type) ||
        !find_end(stages, s.count, 1, &a) || !find_end(stages, s.count, -1, &b))
        return s;
    const float nan32 = NAN;
    const double nan64 = NAN;
    s.has_range = true;
    s.low = a < b ? a : b; /* a negative scale turns them round */
    s.high = a < b ? b : a;
    const void *nan = stages[0].in.size == sizeof nan32 ? (const void *)&nan32 : &nan64;
    s.has_nan = encode_one(stages, s.count, nan, NULL) == ZS_OK;
    return s;
}

/* ---- Elements ---- */

/* Whether all are in the range. In a loop without a branch, which compilers vectorise. */
#define ALL_IN_RANGE(T, W)                                                                                             \
    do {                                                                                                               \
        const T *p = src;                                                                                              \
        const T low = (T)s->low, high = (T)s->high;                                                                    \
        W beyond = 0, none = 0;                                                                                        \
        for (size_t i = 0; i < n; i++) {                                                                               \
            beyond |= (W)(p[i] < low) | (W)(p[i] > high);                                                              \
            none |= (W)(p[i] != p[i]);                                                                                 \
        }                                                                                                              \
        return beyond == 0 && (none == 0 || s->has_nan);                                                               \
    } while (0)

static bool all_in_range(const struct zs_storable *s, size_t size, size_t n, const void *src)
{
    if (size == sizeof(float))
        ALL_IN_RANGE(float, uint32_t);
    ALL_IN_RANGE(double, uint64_t);
}

/* Checks one element. Where there is a range, the message names it rather than what the codecs made of the element. */
static enum zs_status check_one(const struct zs_storable *s, const struct zs_stage *stages, const void *element,
                                struct zs_error *err)
{
    const enum zs_status status = encode_one(stages, s->count, element, err);
    if (status == ZS_OK || !s->has_range)
        return status;
    const int digits = stages[0].in.size == sizeof(float) ? 7 : 15;
    return zs_fail(err, status, "expected values from %.*g to %.*g%s; found %.*g, which has no value in %s", digits,
                   s->low, digits, s->high, s->has_nan ? ", or nodata" : "", digits,
                   zs_dtype_to_double(&stages[0].in, element), stages[s->count - 1].out.name);
}

enum zs_status zs_storable_check(const struct zs_storable *storable, const struct zs_stage *stages, size_t n,
                                 const void *src, struct zs_error *err)
{
    if (storable->count == 0)
        return ZS_OK;
    _Alignas(64) unsigned char encoded[BLOCK * ZS_MAX_ITEM_SIZE];
    const size_t size = stages[0].in.size;
    for (size_t at = 0; at < n; at += BLOCK) {
        const size_t part = n - at < BLOCK ? n - at : BLOCK;
        const unsigned char *p = (const unsigned char *)src + at * size;
        if ((storable->has_range && all_in_range(storable, size, part, p)) ||
            zs_stages_encode_elements(stages, storable->count, part, p, encoded, NULL) == ZS_OK)
            continue;
        for (size_t i = 0; i < part; i++)
            ZS_TRY(check_one(storable, stages, p + i * size, err));
    }
    return ZS_OK;
}
