/* The scale_offset codec (zarr-extensions): (x - offset) * scale is stored, in the arithmetic of the array's data
 * type. */
#include <math.h>
#include <string.h>

#include "codec/codec.h"

struct scale_offset {
    _Alignas(8) unsigned char scale[8], offset[8]; /* as elements of the array */
};

static enum zs_status parse_member(const zs_json *value, const char *name, const struct zs_dtype *dtype,
                                   double standard, unsigned char *out, struct zs_error *err)
{
    unsigned char element[ZS_MAX_ITEM_SIZE];
    const double one = standard;
    bool is_null = false;
    if (value == NULL) {
        const struct zs_cast cast = {.from = ZS_FLOAT64, .to = dtype->type};
        return zs_cast_elements(&cast, 1, &one, out, err);
    }
    const enum zs_status status = zs_fill_value_parse(dtype, value, element, &is_null, err);
    if (status == ZS_OK && (is_null || !isfinite(zs_dtype_to_double(dtype, element))))
        return zs_fail_found(err, ZS_INVALID, value, "%s: expected a finite number", name);
    memcpy(out, element, 8);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s", name);
}

static enum zs_status configure(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    struct scale_offset *s = stage->state;
    if (!zs_is_number(stage->in.type))
        return zs_fail(err, ZS_INVALID, "expected an array of integers or floats, found %s", stage->in.name);
    ZS_TRY(parse_member(zs_json_get(configuration, "scale"), "scale", &stage->in, 1, s->scale, err));
    ZS_TRY(parse_member(zs_json_get(configuration, "offset"), "offset", &stage->in, 0, s->offset, err));
    if (zs_dtype_to_double(&stage->in, s->scale) == 0)
        return zs_fail(err, ZS_INVALID, "scale: expected another number than 0");
    return ZS_OK;
}

/* Floats: what does not fit becomes infinite, as everywhere in that arithmetic. */
#define FLOATS(T)                                                                                                      \
    do {                                                                                                               \
        const T *s = src;                                                                                              \
        T *d = dst;                                                                                                    \
        T scale, offset;                                                                                               \
        memcpy(&scale, state->scale, sizeof scale);                                                                    \
        memcpy(&offset, state->offset, sizeof offset);                                                                 \
        if (is_encode)                                                                                                 \
            for (size_t i = 0; i < n; i++)                                                                             \
                d[i] = (s[i] - offset) * scale;                                                                        \
        else                                                                                                           \
            for (size_t i = 0; i < n; i++)                                                                             \
                d[i] = s[i] / scale + offset;                                                                          \
        return n;                                                                                                      \
    } while (0)

/* Integers: what does not fit, or is no multiple of scale when it is decoded, is an error. The -1 apart, since the
 * smallest integer has no negative. */
#define INTEGERS(T)                                                                                                    \
    do {                                                                                                               \
        const T *s = src;                                                                                              \
        T *d = dst;                                                                                                    \
        T scale, offset, t, result;                                                                                    \
        memcpy(&scale, state->scale, sizeof scale);                                                                    \
        memcpy(&offset, state->offset, sizeof offset);                                                                 \
        for (size_t i = 0; i < n; i++) {                                                                               \
            if (is_encode) {                                                                                           \
                if (__builtin_sub_overflow(s[i], offset, &t) || __builtin_mul_overflow(t, scale, &result))             \
                    return i;                                                                                          \
                d[i] = result;                                                                                         \
                continue;                                                                                              \
            }                                                                                                          \
            if (scale == (T)-1 && (T)-1 < 1) {                                                                         \
                if (__builtin_sub_overflow((T)0, s[i], &t))                                                            \
                    return i;                                                                                          \
            } else {                                                                                                   \
                t = (T)(s[i] / scale);                                                                                 \
                if (s[i] % scale != 0)                                                                                 \
                    return i;                                                                                          \
            }                                                                                                          \
            if (__builtin_add_overflow(t, offset, &result))                                                            \
                return i;                                                                                              \
            d[i] = result;                                                                                             \
        }                                                                                                              \
        return n;                                                                                                      \
    } while (0)

/* float16: each step in float32 and rounded, which is exact for these four operations. */
static size_t halves(const struct scale_offset *state, bool is_encode, size_t n, const uint16_t *src, uint16_t *dst)
{
    uint16_t scale_bits, offset_bits;
    memcpy(&scale_bits, state->scale, 2);
    memcpy(&offset_bits, state->offset, 2);
    const double scale = zs_half_to_double(scale_bits), offset = zs_half_to_double(offset_bits);
    for (size_t i = 0; i < n; i++) {
        const double x = zs_half_to_double(src[i]);
        const double step = zs_half_to_double(zs_half_from_double(is_encode ? x - offset : x / scale));
        dst[i] = zs_half_from_double(is_encode ? step * scale : step + offset);
    }
    return n;
}

/* Number of elements before the first that cannot be encoded. */
static size_t run(const struct zs_stage *stage, bool is_encode, size_t n, const void *src, void *dst)
{
    const struct scale_offset *state = stage->state;
    switch (stage->in.type) {
#define OF(type, ARITHMETIC, T)                                                                                        \
    case type:                                                                                                         \
        ARITHMETIC(T);
        OF(ZS_INT8, INTEGERS, int8_t)
        OF(ZS_UINT8, INTEGERS, uint8_t)
        OF(ZS_INT16, INTEGERS, int16_t)
        OF(ZS_UINT16, INTEGERS, uint16_t)
        OF(ZS_INT32, INTEGERS, int32_t)
        OF(ZS_UINT32, INTEGERS, uint32_t)
        OF(ZS_INT64, INTEGERS, int64_t)
        OF(ZS_UINT64, INTEGERS, uint64_t)
        OF(ZS_FLOAT32, FLOATS, float)
        OF(ZS_FLOAT64, FLOATS, double)
    default:
        return halves(state, is_encode, n, src, dst);
    }
}

static enum zs_status encode_array(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    const size_t done = run(stage, true, n, src, dst);
    if (done == n)
        return ZS_OK;
    return zs_fail(err, ZS_INVALID, "codec \"scale_offset\": %.17g is out of the range of %s when it is encoded",
                   zs_dtype_to_double(&stage->in, (const char *)src + done * stage->in.size), stage->in.name);
}

static enum zs_status decode_array(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    const size_t done = run(stage, false, n, src, dst);
    if (done == n)
        return ZS_OK;
    return zs_fail(err, ZS_CORRUPT, "codec \"scale_offset\": the stored %.17g gives no %s",
                   zs_dtype_to_double(&stage->in, (const char *)src + done * stage->in.size), stage->in.name);
}

static const struct zs_member members[] = {{.name = "offset"}, {.name = "scale"}, {0}};
const struct zs_codec zs_codec_scale_offset = {.name = "scale_offset",
                                               .kind = ZS_ARRAY_TO_ARRAY,
                                               .members = members,
                                               .state_size = sizeof(struct scale_offset),
                                               .configure = configure,
                                               .is_elementwise = true,
                                               .encodes_fill = true,
                                               .encode_array = encode_array,
                                               .decode_array = decode_array};
