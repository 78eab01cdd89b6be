/* Array to array codecs of numcodecs: fixedscaleoffset, quantize and astype, which take each element by itself. Their
 * arithmetic is numpy's, step by step: each result is rounded to the type that numpy has it in. */
#include "codec/codec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codec/cast.h"

enum zs_status zs_numcodecs_dtype(const struct zs_codec *codec, const zs_json *configuration, const char *member,
                                  const struct zs_dtype *standard, struct zs_dtype *dtype, struct zs_error *err)
{
    static const enum zs_data_type numbers[] = {ZS_INT8,  ZS_UINT8,  ZS_INT16,   ZS_UINT16,  ZS_INT32,  ZS_UINT32,
                                                ZS_INT64, ZS_UINT64, ZS_FLOAT16, ZS_FLOAT32, ZS_FLOAT64};
    const zs_json *given = zs_json_get(configuration, member);
    const char *name = "";
    if (zs_json_typeof(given) == ZS_JSON_NULL && standard != NULL) {
        *dtype = *standard;
        return ZS_OK;
    }
    (void)zs_json_string(given, &name);
    const char *const plain = name[0] == '<' || name[0] == '|' || name[0] == '=' ? name + 1 : name;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const struct zs_dtype d = zs_dtype_of(numbers[i]);
        char code[8];
        (void)snprintf(code, sizeof code, "%c%zu", d.name[0], d.size); /* int, uint, float: i, u, f */
        if (strcmp(plain, code) == 0 || strcmp(name, d.name) == 0) {
            *dtype = d;
            return ZS_OK;
        }
    }
    return zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\": %s: \"%.40s\" is not supported", codec->name, member, name);
}

enum zs_status zs_numcodecs_check_input(const struct zs_stage *stage, const zs_json *configuration, const char *member,
                                        bool is_required, struct zs_error *err)
{
    struct zs_dtype given;
    ZS_TRY(zs_numcodecs_dtype(stage->codec, configuration, member, is_required ? NULL : &stage->in, &given, err));
    if (given.type == stage->in.type && zs_is_number(given.type))
        return ZS_OK;
    return zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\": %s: expected what it receives, %s, found %s", stage->codec->name,
                   member, stage->in.name, given.name);
}

/* ---- fixedscaleoffset, quantize ---- */

struct scaling {
    double scale, offset;
    /* The types that results of the steps are rounded to. */
    enum zs_data_type encoding, decoding;
    struct zs_cast to_stored, to_array; /* of the steps' results, in float64 */
};

static double rounded_to(enum zs_data_type type, double value)
{
    return type == ZS_FLOAT16   ? zs_half_to_double(zs_half_from_double(value))
           : type == ZS_FLOAT32 ? (double)(float)value
                                : value;
}

/* Integers are divided as float64 by numpy. */
static enum zs_data_type arithmetic_of(enum zs_data_type type)
{
    return zs_is_integer(type) ? ZS_FLOAT64 : type;
}

/* From float64 as numpy does where it is defined; else it is an error. */
static struct zs_cast from_steps(enum zs_data_type to)
{
    return (struct zs_cast){.from = ZS_FLOAT64,
                            .to = to,
                            .rounding = zs_is_integer(to) ? ZS_TOWARDS_ZERO : ZS_NEAREST_EVEN,
                            .out_of_range = zs_is_integer(to) ? ZS_RANGE_ERROR : ZS_RANGE_CLAMP};
}

static enum zs_status add_scaling(struct zs_stage *stage, double scale, double offset, struct zs_error *err)
{
    struct scaling *s = zs_calloc(1, sizeof *s);
    ZS_TRY_MEMORY(s, err);
    stage->state = s;
    stage->refuses = zs_is_integer(stage->out.type) ? ZS_REFUSES_ENDS : ZS_REFUSES_NONE;
    s->scale = scale;
    s->offset = offset;
    s->encoding = arithmetic_of(stage->in.type);
    s->decoding = arithmetic_of(stage->out.type);
    s->to_stored = from_steps(stage->out.type);
    s->to_array = from_steps(stage->in.type);
    return ZS_OK;
}

static enum zs_status parse_fixed(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    double scale = 0, offset = 0;
    ZS_TRY(zs_numcodecs_check_input(stage, configuration, "dtype", false, err));
    ZS_TRY(zs_numcodecs_dtype(stage->codec, configuration, "astype", &stage->in, &stage->out, err));
    if (!zs_json_double(zs_json_get(configuration, "scale"), &scale) || !isfinite(scale) || scale == 0)
        return zs_fail_found(err, ZS_INVALID, zs_json_get(configuration, "scale"),
                             "codec \"%s\": scale: expected a finite number other than 0", stage->codec->name);
    if (!zs_json_double(zs_json_get(configuration, "offset"), &offset) || !isfinite(offset))
        return zs_fail_found(err, ZS_INVALID, zs_json_get(configuration, "offset"),
                             "codec \"%s\": offset: expected a finite number", stage->codec->name);
    return add_scaling(stage, scale, offset, err);
}

static enum zs_status parse_quantize(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    int64_t digits;
    ZS_TRY(zs_numcodecs_check_input(stage, configuration, "dtype", false, err));
    ZS_TRY(zs_numcodecs_dtype(stage->codec, configuration, "astype", &stage->in, &stage->out, err));
    if (zs_is_integer(stage->in.type) || zs_is_integer(stage->out.type))
        return zs_fail(err, ZS_INVALID, "codec \"%s\": expected floats, found %s", stage->codec->name, stage->in.name);
    ZS_TRY(zs_stage_integer(stage, configuration, "digits", true, -300, 300, &digits, err));
    /* The power of two whose inverse is the next below a unit of the last digit that is kept. */
    return add_scaling(stage, exp2(ceil(log2(pow(10, (double)digits)))), 0, err);
}

static enum zs_status parse_astype(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    ZS_TRY(zs_numcodecs_check_input(stage, configuration, "decode_dtype", false, err));
    ZS_TRY(zs_numcodecs_dtype(stage->codec, configuration, "encode_dtype", NULL, &stage->out, err));
    if (zs_is_integer(stage->out.type) && !zs_is_integer(stage->in.type))
        stage->refuses = ZS_REFUSES_ENDS;
    return ZS_OK;
}

static enum zs_status named(const struct zs_stage *stage, enum zs_status status, enum zs_status as,
                            struct zs_error *err)
{
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, as, "codec \"%s\"", stage->codec->name);
}

/* An element as float64. */
static double element_at(const struct zs_dtype *dtype, const void *src, size_t index)
{
    return zs_dtype_to_double(dtype, (const unsigned char *)src + index * dtype->size);
}

static enum zs_status encode_fixed(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    const struct scaling *s = stage->state;
    const double scale = rounded_to(s->encoding, s->scale), offset = rounded_to(s->encoding, s->offset);
    for (size_t i = 0; i < n; i++) {
        const double x = rounded_to(s->encoding, element_at(&stage->in, src, i) - offset);
        const double v = nearbyint(rounded_to(s->encoding, x * scale));
        ZS_TRY(named(stage, zs_cast_elements(&s->to_stored, 1, &v, (unsigned char *)dst + i * stage->out.size, err),
                     ZS_INVALID, err));
    }
    return ZS_OK;
}

static enum zs_status decode_fixed(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    const struct scaling *s = stage->state;
    const double scale = rounded_to(s->decoding, s->scale), offset = rounded_to(s->decoding, s->offset);
    for (size_t i = 0; i < n; i++) {
        const double x = rounded_to(s->decoding, element_at(&stage->out, src, i) / scale);
        const double v = rounded_to(s->decoding, x + offset);
        ZS_TRY(named(stage, zs_cast_elements(&s->to_array, 1, &v, (unsigned char *)dst + i * stage->in.size, err),
                     ZS_CORRUPT, err));
    }
    return ZS_OK;
}

static enum zs_status encode_quantize(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                      struct zs_error *err)
{
    const struct scaling *s = stage->state;
    const double scale = rounded_to(s->encoding, s->scale);
    for (size_t i = 0; i < n; i++) {
        const double x = nearbyint(rounded_to(s->encoding, scale * element_at(&stage->in, src, i)));
        const double v = rounded_to(s->encoding, x / scale);
        ZS_TRY(named(stage, zs_cast_elements(&s->to_stored, 1, &v, (unsigned char *)dst + i * stage->out.size, err),
                     ZS_INVALID, err));
    }
    return ZS_OK;
}

/* Casts as numpy does where that is defined: integers wrap, floats are truncated to integers that hold them. */
static enum zs_status cast(const struct zs_stage *stage, const struct zs_dtype *from, const struct zs_dtype *to,
                           enum zs_status failure, size_t n, const void *src, void *dst, struct zs_error *err)
{
    const bool wraps = zs_is_integer(from->type) && zs_is_integer(to->type);
    const struct zs_cast c = {.from = from->type,
                              .to = to->type,
                              .rounding = zs_is_integer(to->type) ? ZS_TOWARDS_ZERO : ZS_NEAREST_EVEN,
                              .out_of_range = wraps                     ? ZS_RANGE_WRAP
                                              : zs_is_integer(to->type) ? ZS_RANGE_ERROR
                                                                        : ZS_RANGE_CLAMP};
    return named(stage, zs_cast_elements(&c, n, src, dst, err), failure, err);
}

static enum zs_status encode_cast(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                  struct zs_error *err)
{
    return cast(stage, &stage->in, &stage->out, ZS_INVALID, n, src, dst, err);
}

static enum zs_status decode_cast(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                  struct zs_error *err)
{
    return cast(stage, &stage->out, &stage->in, ZS_CORRUPT, n, src, dst, err);
}

static const char *const fixed_members[] = {"scale", "offset", "dtype", "astype", NULL};
static const char *const quantize_members[] = {"digits", "dtype", "astype", NULL};
static const char *const astype_members[] = {"encode_dtype", "decode_dtype", NULL};

#define ELEMENTWISE(variable, text, known, parser, encoder, decoder)                                                   \
    const struct zs_codec variable = {.name = "numcodecs." text,                                                       \
                                      .kind = ZS_ARRAY_TO_ARRAY,                                                       \
                                      .members = known,                                                                \
                                      .parse = parser,                                                                 \
                                      .is_elementwise = true,                                                          \
                                      .encode_array = encoder,                                                         \
                                      .decode_array = decoder}
ELEMENTWISE(zs_codec_numcodecs_fixedscaleoffset, "fixedscaleoffset", fixed_members, parse_fixed, encode_fixed,
            decode_fixed);
ELEMENTWISE(zs_codec_numcodecs_quantize, "quantize", quantize_members, parse_quantize, encode_quantize, decode_cast);
ELEMENTWISE(zs_codec_numcodecs_astype, "astype", astype_members, parse_astype, encode_cast, decode_cast);
