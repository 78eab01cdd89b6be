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

static enum zs_status read(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
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

static enum zs_status configure(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    const enum zs_status status = read(configuration, stage, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "codec \"scale_offset\"");
}

/* An integer with room for the results of all steps. */
typedef __int128 wide;

static wide load_integer(const struct zs_dtype *dtype, const void *from)
{
    const uint64_t bits = zs_bits_load(dtype->size, from), sign = (uint64_t)1 << (8 * dtype->size - 1);
    return dtype->name[0] == 'u' ? (wide)bits : (wide)(int64_t)((bits ^ sign) - sign); /* uint8 ... */
}

static bool fits(const struct zs_dtype *dtype, wide value)
{
    const int bits = (int)(8 * dtype->size);
    return dtype->name[0] == 'u' ? value >= 0 && value >> bits == 0
                                 : value >> (bits - 1) == 0 || value >> (bits - 1) == -1;
}

/* Integers: what does not fit, or is no multiple of scale when it is decoded, is an error. */
static size_t run_integers(const struct zs_stage *stage, bool is_encode, size_t n, const char *src, char *dst)
{
    const struct scale_offset *state = stage->state;
    const size_t size = stage->in.size;
    const wide scale = load_integer(&stage->in, state->scale), offset = load_integer(&stage->in, state->offset);
    for (size_t i = 0; i < n; i++) {
        const wide x = load_integer(&stage->in, src + i * size), step = is_encode ? x - offset : x / scale;
        wide result = step + offset;
        if (!fits(&stage->in, step) || (is_encode && __builtin_mul_overflow(step, scale, &result)) ||
            (!is_encode && x % scale != 0) || !fits(&stage->in, result))
            return i;
        zs_bits_store(size, (uint64_t)result, dst + i * size);
    }
    return n;
}

/* Floats: what does not fit becomes infinite, as everywhere in that arithmetic. */
#define RUN_FLOATS(T)                                                                                                  \
    do {                                                                                                               \
        const T *s = src;                                                                                              \
        T *d = dst;                                                                                                    \
        T scale, offset;                                                                                               \
        memcpy(&scale, state->scale, sizeof scale);                                                                    \
        memcpy(&offset, state->offset, sizeof offset);                                                                 \
        for (size_t i = 0; i < n; i++)                                                                                 \
            d[i] = is_encode ? (s[i] - offset) * scale : s[i] / scale + offset;                                        \
    } while (0)

/* float16: each step in float32 and rounded, which is exact for these four operations. */
static void run_halves(const struct scale_offset *state, bool is_encode, size_t n, const uint16_t *src, uint16_t *dst)
{
    const double scale = zs_half_to_double((uint16_t)zs_bits_load(2, state->scale)),
                 offset = zs_half_to_double((uint16_t)zs_bits_load(2, state->offset));
    for (size_t i = 0; i < n; i++) {
        const double x = zs_half_to_double(src[i]);
        const double step = zs_half_to_double(zs_half_from_double(is_encode ? x - offset : x / scale));
        dst[i] = zs_half_from_double(is_encode ? step * scale : step + offset);
    }
}

/* Number of elements before the first that cannot be encoded. */
static size_t run(const struct zs_stage *stage, bool is_encode, size_t n, const void *src, void *dst)
{
    const struct scale_offset *state = stage->state;
    if (zs_is_integer(stage->in.type))
        return run_integers(stage, is_encode, n, src, dst);
    if (stage->in.type == ZS_FLOAT32)
        RUN_FLOATS(float);
    else if (stage->in.type == ZS_FLOAT64)
        RUN_FLOATS(double);
    else
        run_halves(state, is_encode, n, src, dst);
    return n;
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
