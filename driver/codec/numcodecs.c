/* Array to array codecs of numcodecs: fixedscaleoffset, quantize and astype, which take each element by itself, and
 * delta; and shuffle, which takes bytes. Their arithmetic is numpy's, step by step: each result is rounded to the type
 * that numpy has it in. */
#include "codec/codec.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Reads a data type as numpy or Zarr names it: "<i4", "|u1", "f8", "int32". Numbers only, not big-endian, which
 * numcodecs itself gets wrong. Where it is missing: `standard`, or ZS_UNSUPPORTED when that is NULL. */
static enum zs_status read_dtype(const zs_json *configuration, const char *member, const struct zs_dtype *standard,
                                 struct zs_dtype *dtype, struct zs_error *err)
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
    return zs_fail(err, ZS_UNSUPPORTED, "%s: \"%.40s\" is not supported", member, name);
}

/* Checks that the member `in` names the data type of the elements that the codec receives, and reads the data type of
 * those that it gives from the member `out`. */
static enum zs_status read_dtypes(struct zs_stage *stage, const zs_json *configuration, const char *in,
                                  const char *out, bool is_required, struct zs_error *err)
{
    struct zs_dtype given;
    ZS_TRY(read_dtype(configuration, in, is_required ? NULL : &stage->in, &given, err));
    if (given.type != stage->in.type || !zs_is_number(given.type))
        return zs_fail(err, ZS_UNSUPPORTED, "%s: expected what it receives, %s, found %s", in, stage->in.name,
                       given.name);
    return read_dtype(configuration, out, &stage->in, &stage->out, err);
}

/* What results of steps are rounded to. Integers are divided as float64 by numpy. */
static double rounded_to(enum zs_data_type type, double value)
{
    return type == ZS_FLOAT16   ? zs_half_to_double(zs_half_from_double(value))
           : type == ZS_FLOAT32 ? (double)(float)value
                                : value;
}

/* An element as float64. */
static double element_at(const struct zs_dtype *dtype, const void *src, size_t index)
{
    return zs_dtype_to_double(dtype, (const unsigned char *)src + index * dtype->size);
}

/* Casts as numpy does where that is defined, and else it is an error: floats are truncated to integers that hold them;
 * integers wrap. `failure`: ZS_INVALID while encoding, ZS_CORRUPT while decoding. */
static enum zs_status cast(const struct zs_stage *stage, enum zs_data_type from, enum zs_data_type to,
                           enum zs_status failure, size_t n, const void *src, void *dst, struct zs_error *err)
{
    const struct zs_cast c = {.from = from,
                              .to = to,
                              .rounding = zs_is_integer(to) ? ZS_TOWARDS_ZERO : ZS_NEAREST_EVEN,
                              .out_of_range = !zs_is_integer(to)    ? ZS_RANGE_CLAMP
                                              : zs_is_integer(from) ? ZS_RANGE_WRAP
                                                                    : ZS_RANGE_ERROR};
    const enum zs_status status = zs_cast_elements(&c, n, src, dst, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, failure, "codec \"%s\"", stage->codec->name);
}

/* A result of steps, in float64, as element `index` of dst. */
static enum zs_status put(const struct zs_stage *stage, const struct zs_dtype *to, enum zs_status failure,
                          double value, void *dst, size_t index, struct zs_error *err)
{
    return cast(stage, ZS_FLOAT64, to->type, failure, 1, &value, (unsigned char *)dst + index * to->size, err);
}

/* ---- fixedscaleoffset, quantize, astype ---- */

struct scaling {
    double scale, offset;
    int64_t digits;
};

static enum zs_status configure_fixed(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    const struct scaling *s = stage->state;
    ZS_TRY(read_dtypes(stage, configuration, "dtype", "astype", false, err));
    if (s->scale == 0)
        return zs_fail(err, ZS_INVALID, "scale: expected a finite number other than 0");
    return ZS_OK;
}

static enum zs_status configure_quantize(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    struct scaling *s = stage->state;
    ZS_TRY(read_dtypes(stage, configuration, "dtype", "astype", false, err));
    if (zs_is_integer(stage->in.type) || zs_is_integer(stage->out.type))
        return zs_fail(err, ZS_INVALID, "expected floats, found %s", stage->in.name);
    /* The power of two whose inverse is the next below a unit of the last digit that is kept. */
    s->scale = exp2(ceil(log2(pow(10, (double)s->digits))));
    return ZS_OK;
}

static enum zs_status configure_astype(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    return read_dtypes(stage, configuration, "decode_dtype", "encode_dtype", false, err);
}

static enum zs_status encode_fixed(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    const struct scaling *s = stage->state;
    const enum zs_data_type type = stage->in.type;
    const double scale = rounded_to(type, s->scale), offset = rounded_to(type, s->offset);
    for (size_t i = 0; i < n; i++) {
        const double x = rounded_to(type, element_at(&stage->in, src, i) - offset);
        const double v = nearbyint(rounded_to(type, x * scale));
        ZS_TRY(put(stage, &stage->out, ZS_INVALID, v, dst, i, err));
    }
    return ZS_OK;
}

static enum zs_status decode_fixed(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    const struct scaling *s = stage->state;
    const enum zs_data_type type = stage->out.type;
    const double scale = rounded_to(type, s->scale), offset = rounded_to(type, s->offset);
    for (size_t i = 0; i < n; i++) {
        const double v = rounded_to(type, rounded_to(type, element_at(&stage->out, src, i) / scale) + offset);
        ZS_TRY(put(stage, &stage->in, ZS_CORRUPT, v, dst, i, err));
    }
    return ZS_OK;
}

static enum zs_status encode_quantize(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                      struct zs_error *err)
{
    const enum zs_data_type type = stage->in.type;
    const double scale = rounded_to(type, ((const struct scaling *)stage->state)->scale);
    for (size_t i = 0; i < n; i++) {
        const double x = nearbyint(rounded_to(type, scale * element_at(&stage->in, src, i)));
        ZS_TRY(put(stage, &stage->out, ZS_INVALID, rounded_to(type, x / scale), dst, i, err));
    }
    return ZS_OK;
}

static enum zs_status encode_cast(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                  struct zs_error *err)
{
    return cast(stage, stage->in.type, stage->out.type, ZS_INVALID, n, src, dst, err);
}

static enum zs_status decode_cast(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                  struct zs_error *err)
{
    return cast(stage, stage->out.type, stage->in.type, ZS_CORRUPT, n, src, dst, err);
}

/* ---- delta: the first element, then differences to the one before, in the arithmetic of the type; only read ---- */

static enum zs_status configure_delta(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    ZS_TRY(read_dtypes(stage, configuration, "dtype", "astype", true, err));
    const bool are_integers = zs_is_integer(stage->in.type) && zs_is_integer(stage->out.type);
    if (!are_integers && stage->in.type != stage->out.type)
        return zs_fail(err, ZS_UNSUPPORTED, "from %s to %s is not supported", stage->in.name, stage->out.name);
    return ZS_OK;
}

/* An element, its sign extended. */
static uint64_t integer_at(const struct zs_dtype *dtype, const void *src, size_t index)
{
    const uint64_t bits = zs_bits_load(dtype->size, (const unsigned char *)src + index * dtype->size);
    const uint64_t sign = (uint64_t)1 << (8 * dtype->size - 1);
    return dtype->name[0] == 'u' ? bits : (bits ^ sign) - sign; /* uint8 ... */
}

static enum zs_status decode_delta(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err)
{
    const struct zs_dtype *in = &stage->in, *out = &stage->out;
    const bool are_integers = zs_is_integer(in->type);
    uint64_t sum = 0;
    double real = 0;
    for (size_t i = 0; i < n && are_integers; i++)
        zs_bits_store(in->size, sum += integer_at(out, src, i), (unsigned char *)dst + i * in->size);
    for (size_t i = 0; i < n && !are_integers; i++) {
        real = i == 0 ? element_at(out, src, 0) : rounded_to(in->type, real + element_at(out, src, i));
        ZS_TRY(put(stage, in, ZS_CORRUPT, real, dst, i, err));
    }
    return ZS_OK;
}

static const struct zs_member fixed_members[] = {
    {"scale", ZS_MEMBER_NUMBER, offsetof(struct scaling, scale), .is_required = true},
    {"offset", ZS_MEMBER_NUMBER, offsetof(struct scaling, offset), .is_required = true},
    {.name = "dtype"}, {.name = "astype"}, {0}};
static const struct zs_member quantize_members[] = {
    {"digits", ZS_MEMBER_INTEGER, offsetof(struct scaling, digits), .low = -300, .high = 300, .is_required = true},
    {.name = "dtype"}, {.name = "astype"}, {0}};
static const struct zs_member astype_members[] = {{.name = "encode_dtype"}, {.name = "decode_dtype"}, {0}};
static const struct zs_member delta_members[] = {{.name = "dtype"}, {.name = "astype"}, {0}};

#define FILTER(variable, text, known, size, own, encoder, decoder, elementwise)                                        \
    const struct zs_codec variable = {.name = "numcodecs." text,                                                       \
                                      .kind = ZS_ARRAY_TO_ARRAY,                                                       \
                                      .members = known,                                                                \
                                      .state_size = size,                                                              \
                                      .configure = own,                                                                \
                                      .is_elementwise = elementwise,                                                   \
                                      .encode_array = encoder,                                                         \
                                      .decode_array = decoder}
FILTER(zs_codec_numcodecs_fixedscaleoffset, "fixedscaleoffset", fixed_members, sizeof(struct scaling), configure_fixed,
       encode_fixed, decode_fixed, true);
FILTER(zs_codec_numcodecs_quantize, "quantize", quantize_members, sizeof(struct scaling), configure_quantize,
       encode_quantize, decode_cast, true);
FILTER(zs_codec_numcodecs_astype, "astype", astype_members, 0, configure_astype, encode_cast, decode_cast, true);
FILTER(zs_codec_numcodecs_delta, "delta", delta_members, 0, configure_delta, NULL, decode_delta, false);

/* ---- shuffle: all first bytes of the elements, then all second ones, and so on ---- */

struct shuffle {
    int64_t size;
};

static enum zs_status configure_shuffle(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    struct shuffle *state = stage->state;
    if (state->size == 0) /* zarr-python's default */
        state->size = (int64_t)stage->in.size;
    return ZS_OK;
}

/* Rows and columns change places. With few columns (decoding: few rows) a row at a time is what a cache takes. */
static void exchange(const unsigned char *src, unsigned char *dst, size_t rows, size_t columns)
{
    if (rows < columns) {
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < columns; c++)
                dst[c * rows + r] = src[r * columns + c];
    } else {
        for (size_t c = 0; c < columns; c++)
            for (size_t r = 0; r < rows; r++)
                dst[c * rows + r] = src[r * columns + c];
    }
}

static enum zs_status decode_shuffle(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src,
                                     size_t n, void *dst, size_t capacity, size_t *produced, struct zs_error *err)
{
    const size_t size = (size_t)((const struct shuffle *)stage->state)->size;
    if (n > capacity)
        return zs_fail(err, ZS_CORRUPT, "numcodecs.shuffle: expected at most %zu bytes, found %zu", capacity, n);
    if (n % size != 0)
        return zs_fail(err, ZS_CORRUPT, "numcodecs.shuffle: expected a multiple of %zu bytes, found %zu", size, n);
    exchange(src, dst, size, n / size);
    *produced = n;
    return ZS_OK;
}

static enum zs_status encode_shuffle(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src,
                                     size_t n, struct zs_buffer *out, struct zs_error *err)
{
    const size_t size = (size_t)((const struct shuffle *)stage->state)->size;
    if (n % size != 0)
        return zs_fail(err, ZS_ARGUMENT, "numcodecs.shuffle: expected a multiple of %zu bytes, found %zu", size, n);
    ZS_TRY(zs_buffer_reset(out, n, err));
    exchange(src, out->data, n / size, size);
    out->size = n;
    return ZS_OK;
}

static const struct zs_member shuffle_members[] = {
    {"elementsize", ZS_MEMBER_INTEGER, offsetof(struct shuffle, size), .low = 1, .high = INT32_MAX}, {0}};
const struct zs_codec zs_codec_numcodecs_shuffle = {.name = "numcodecs.shuffle",
                                                    .kind = ZS_BYTES_TO_BYTES,
                                                    .members = shuffle_members,
                                                    .state_size = sizeof(struct shuffle),
                                                    .configure = configure_shuffle,
                                                    .decode = decode_shuffle,
                                                    .encode = encode_shuffle};
