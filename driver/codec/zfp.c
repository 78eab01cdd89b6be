/* The codecs zfp (zarr-extensions codecs/zfp) and numcodecs.zfpy, by libzfp: blocks of 4 elements in each dimension,
 * transformed, the highest bits first. zfpy writes a header with type, shape and mode; zfp has the mode in its
 * configuration. Only the reversible mode gives the elements back.
 *
 * libzfp reads without knowing where the stream ends. How much it reads at most follows from the mode: so many bits a
 * block, whatever they are. It gets a copy with as many zeros behind it, and what it has read is compared with what
 * there was. */
#ifdef ZS_HAVE_ZFP
#include <limits.h>
#include <math.h>
#include <string.h>
#include <zfp.h>

#include "base/checked.h"
#include "codec/codec.h"

enum mode { MODE_EXPERT, MODE_RATE, MODE_PRECISION, MODE_ACCURACY, MODE_REVERSIBLE };

/* Bits of an element, at most; more than the widest type has. */
#define MAX_RATE 1024.0
/* zarrs, which the codec zfp comes from, takes the rate for one of blocks of three dimensions, whatever those of the
 * chunk (0.23): blocks of one have sixteen times the bits that they would have by the manual of libzfp. */
#define ZARRS_RATE_DIMS 3
/* Bits that a block of floats begins with, at most: two flags, its exponent, its precision. */
#define BLOCK_START_BITS 32
/* A stream has whole words, by default of so many bytes; Debian's libzfp has them of one. */
#define WORD_BYTES 8

struct zfp {
    enum mode mode;
    bool has_header;
    zfp_type type;
    unsigned shift; /* smaller integers: their highest bit becomes the last but one */
    bool is_unsigned;
    double number; /* the rate or the tolerance */
    unsigned precision, minbits, maxbits, maxprec;
    int minexp;
};

/* ---- Configuration ---- */

static enum zs_status parse_type(struct zs_stage *stage, struct zfp *z, struct zs_error *err)
{
    static const struct {
        enum zs_data_type type;
        zfp_type as;
        unsigned shift;
        bool is_unsigned;
    } types[] = {{ZS_INT8, zfp_type_int32, 23, false},      {ZS_UINT8, zfp_type_int32, 23, true},
                 {ZS_INT16, zfp_type_int32, 15, false},     {ZS_UINT16, zfp_type_int32, 15, true},
                 {ZS_INT32, zfp_type_int32, 0, false},      {ZS_UINT32, zfp_type_int32, 0, true},
                 {ZS_INT64, zfp_type_int64, 0, false},      {ZS_UINT64, zfp_type_int64, 0, true},
                 {ZS_FLOAT32, zfp_type_float, 0, false},    {ZS_FLOAT64, zfp_type_double, 0, false},
                 {ZS_DATETIME64, zfp_type_int64, 0, false}, {ZS_TIMEDELTA64, zfp_type_int64, 0, false}};
    for (size_t i = 0; i < sizeof types / sizeof types[0] && !stage->in.is_bfloat16; i++) {
        if (types[i].type != stage->in.type)
            continue;
        z->type = types[i].as;
        z->shift = types[i].shift;
        z->is_unsigned = types[i].is_unsigned;
        return ZS_OK;
    }
    return zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\" with data type %s is not supported", stage->codec->name,
                   stage->in.name);
}

static enum zs_status parse_unsigned(const struct zs_stage *stage, const zs_json *configuration, const char *name,
                                     unsigned *out, struct zs_error *err)
{
    int64_t given;
    ZS_TRY(zs_stage_integer(stage, configuration, name, true, 0, UINT_MAX, &given, err));
    *out = (unsigned)given;
    return ZS_OK;
}

static enum zs_status parse_expert(const struct zs_stage *stage, const zs_json *configuration, struct zfp *z,
                                   struct zs_error *err)
{
    int64_t minexp;
    ZS_TRY(parse_unsigned(stage, configuration, "minbits", &z->minbits, err));
    ZS_TRY(parse_unsigned(stage, configuration, "maxbits", &z->maxbits, err));
    ZS_TRY(parse_unsigned(stage, configuration, "maxprec", &z->maxprec, err));
    ZS_TRY(zs_stage_integer(stage, configuration, "minexp", true, INT_MIN, INT_MAX, &minexp, err));
    z->minexp = (int)minexp;
    return ZS_OK;
}

/* The parameters of a mode. */
static enum zs_status parse_numbers(const struct zs_stage *stage, const zs_json *configuration, struct zfp *z,
                                    struct zs_error *err)
{
    switch (z->mode) {
    case MODE_EXPERT:
        return parse_expert(stage, configuration, z, err);
    case MODE_PRECISION:
        return parse_unsigned(stage, configuration, "precision", &z->precision, err);
    case MODE_RATE:
        if (!zs_json_double(zs_json_get(configuration, "rate"), &z->number) || !(z->number > 0) || z->number > MAX_RATE)
            return zs_fail_found(err, ZS_INVALID, zs_json_get(configuration, "rate"),
                                 "codec \"%s\": rate: expected a number above 0, at most %g", stage->codec->name,
                                 MAX_RATE);
        return ZS_OK;
    case MODE_ACCURACY:
        if (!zs_json_double(zs_json_get(configuration, "tolerance"), &z->number) || !isfinite(z->number) ||
            z->number < 0)
            return zs_fail_found(err, ZS_INVALID, zs_json_get(configuration, "tolerance"),
                                 "codec \"%s\": tolerance: expected a number from 0", stage->codec->name);
        return ZS_OK;
    default:
        return ZS_OK;
    }
}

static enum zs_status parse_state(struct zs_stage *stage, struct zfp **out, struct zs_error *err)
{
    struct zfp *z = zs_calloc(1, sizeof *z);
    ZS_TRY_MEMORY(z, err);
    stage->state = *out = z;
    stage->out = zs_dtype_of(ZS_UINT8);
    return parse_type(stage, z, err);
}

static enum zs_status parse(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    static const char *const modes[] = {"expert", "fixed_rate", "fixed_precision", "fixed_accuracy", "reversible"};
    const zs_json *mode = zs_json_get(configuration, "mode");
    struct zfp *z;
    ZS_TRY(parse_state(stage, &z, err));
    int i = 0;
    while (i < 5 && !zs_json_equals(mode, modes[i]))
        i++;
    if (i == 5)
        return zs_fail_found(err, ZS_INVALID, mode,
                             "codec \"zfp\": mode: expected \"reversible\", \"fixed_accuracy\", \"fixed_precision\", "
                             "\"fixed_rate\" or \"expert\"");
    z->mode = (enum mode)i;
    stage->is_lossy = z->mode != MODE_REVERSIBLE;
    return parse_numbers(stage, configuration, z, err);
}

/* numcodecs: the mode is libzfp's number for it, and a negative parameter is none: then it is reversible. */
static enum zs_status parse_zfpy(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    static const char *const parameters[] = {"rate", "precision", "tolerance"};
    const zs_json *given = zs_json_get(configuration, "mode");
    int64_t mode = zfp_mode_fixed_accuracy;
    double number = -1;
    struct zfp *z;
    ZS_TRY(parse_state(stage, &z, err));
    if (given != NULL)
        ZS_TRY(
            zs_stage_integer(stage, configuration, "mode", true, zfp_mode_fixed_rate, zfp_mode_reversible, &mode, err));
    z->has_header = true;
    z->mode = MODE_RATE + (enum mode)(mode - zfp_mode_fixed_rate);
    if (z->mode != MODE_REVERSIBLE) {
        given = zs_json_get(configuration, parameters[z->mode - MODE_RATE]);
        if (zs_json_typeof(given) == ZS_JSON_NULL || (zs_json_double(given, &number) && number < 0))
            z->mode = MODE_REVERSIBLE;
    }
    stage->is_lossy = z->mode != MODE_REVERSIBLE;
    return parse_numbers(stage, configuration, z, err);
}

/* ---- What libzfp works with ---- */

struct session {
    zfp_stream *stream;
    zfp_field *field;
    bitstream *bits;
};

static void session_close(struct session *s)
{
    if (s->bits != NULL)
        stream_close(s->bits);
    if (s->field != NULL)
        zfp_field_free(s->field);
    if (s->stream != NULL)
        zfp_stream_close(s->stream);
}

static zfp_field *make_field(zfp_type type, const struct zs_stored_shape *chunk)
{
    size_t n[4] = {0}; /* of a chunk, which fits memory */
    for (int d = 0; d < chunk->ndim; d++)
        n[d] = (size_t)chunk->shape[d];
    switch (chunk->ndim) {
    case 0:
        return zfp_field_1d(NULL, type, 1);
    case 1:
        return zfp_field_1d(NULL, type, n[0]);
    case 2:
        return zfp_field_2d(NULL, type, n[1], n[0]);
    case 3:
        return zfp_field_3d(NULL, type, n[2], n[1], n[0]);
    default:
        return zfp_field_4d(NULL, type, n[3], n[2], n[1], n[0]);
    }
}

static bool set_mode(zfp_stream *stream, const struct zfp *z, unsigned rate_dims)
{
    switch (z->mode) {
    case MODE_EXPERT:
        return zfp_stream_set_params(stream, z->minbits, z->maxbits, z->maxprec, z->minexp);
    case MODE_RATE:
        (void)zfp_stream_set_rate(stream, z->number, z->type, rate_dims, 0);
        return true;
    case MODE_PRECISION:
        (void)zfp_stream_set_precision(stream, z->precision);
        return true;
    case MODE_ACCURACY:
        (void)zfp_stream_set_accuracy(stream, z->number);
        return true;
    default:
        zfp_stream_set_reversible(stream);
        return true;
    }
}

/* A stream without bytes; on failure, too, session_close(). */
static enum zs_status session_open(const struct zs_stage *stage, const struct zs_stored_shape *chunk,
                                   unsigned rate_dims, struct session *s, struct zs_error *err)
{
    const struct zfp *z = stage->state;
    *s = (struct session){0};
    if (chunk->ndim > 4)
        return zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\": expected chunks of at most 4 dimensions, found %d",
                       stage->codec->name, chunk->ndim);
    s->stream = zfp_stream_open(NULL);
    s->field = make_field(z->type, chunk);
    if (s->stream == NULL || s->field == NULL)
        return zs_fail_memory(err);
    if (!set_mode(s->stream, z, rate_dims))
        return zs_fail(err, ZS_INVALID, "codec \"%s\": minbits, maxbits, maxprec: libzfp does not take these",
                       stage->codec->name);
    return ZS_OK;
}

static enum zs_status session_take(struct session *s, void *bytes, size_t n, struct zs_error *err)
{
    s->bits = stream_open(bytes, n);
    ZS_TRY_MEMORY(s->bits, err);
    zfp_stream_set_bit_stream(s->stream, s->bits);
    zfp_stream_rewind(s->stream);
    return ZS_OK;
}

static unsigned dims_of(const struct zs_stored_shape *chunk)
{
    return chunk->ndim == 0 ? 1 : (unsigned)chunk->ndim;
}

static uint64_t blocks_of(const struct zs_stored_shape *chunk)
{
    uint64_t blocks = 1; /* no more than elements */
    for (int d = 0; d < chunk->ndim; d++)
        blocks *= zs_ceil_div_u64(chunk->shape[d], 4);
    return blocks;
}

/* Bits that libzfp reads before the planes of a block, whatever maxbits is. */
static unsigned start_bits(zfp_type type, bool is_reversible)
{
    const bool is_float = type == zfp_type_float || type == zfp_type_double;
    const bool is_wide = type == zfp_type_int64 || type == zfp_type_double;
    return (is_float ? 1 + (is_wide ? 11u : 8u) : 0) + (is_reversible ? (is_wide ? 6u : 5u) + is_float : 0);
}

/* Bytes that the mode of a stream can take at most, a header and a word included. Each plane has a bit for each value
 * that is known to matter, and up to two, once, for one that becomes known. */
static enum zs_status stream_bound(const struct zs_stage *stage, zfp_stream *stream,
                                   const struct zs_stored_shape *chunk, enum zs_status failure, uint64_t *bound,
                                   struct zs_error *err)
{
    const zfp_type type = ((const struct zfp *)stage->state)->type;
    const uint64_t values = (uint64_t)1 << 2 * dims_of(chunk);
    const uint64_t planes = type == zfp_type_int32 || type == zfp_type_float ? 32 : 64;
    unsigned minbits, maxbits, maxprec;
    int minexp;
    zfp_stream_params(stream, &minbits, &maxbits, &maxprec, &minexp);
    const unsigned start = start_bits(type, minexp < ZFP_MIN_EXP);
    if (maxbits < start)
        return zs_fail(err, failure, "codec \"%s\": maxbits: expected at least %u, found %u", stage->codec->name, start,
                       maxbits);
    uint64_t bits = BLOCK_START_BITS + (planes + 2) * values + planes;
    bits = zs_max_u64(zs_min_u64(bits, maxbits), minbits);
    if (!zs_mul_u64(bits, blocks_of(chunk), &bits) || !zs_add_u64(bits, ZFP_HEADER_MAX_BITS, &bits))
        return zs_fail(err, failure, "codec \"%s\": the size of a chunk does not fit 64 bits", stage->codec->name);
    *bound = (bits / 64 + 2) * WORD_BYTES;
    return ZS_OK;
}

static enum zs_status mode_bound(const struct zs_stage *stage, const struct zs_stored_shape *chunk, unsigned rate_dims,
                                 uint64_t *bound, struct zs_error *err)
{
    struct session s;
    enum zs_status status = session_open(stage, chunk, rate_dims, &s, err);
    if (status == ZS_OK)
        status = stream_bound(stage, s.stream, chunk, ZS_INVALID, bound, err);
    if (status == ZS_OK && ((const struct zfp *)stage->state)->has_header) {
        uint64_t any; /* the header may have another mode */
        zfp_stream_set_reversible(s.stream);
        status = stream_bound(stage, s.stream, chunk, ZS_INVALID, &any, err);
        *bound = zs_max_u64(*bound, status == ZS_OK ? any : 0);
    }
    session_close(&s);
    return status;
}

static enum zs_status packed_bound(const struct zs_stage *stage, const struct zs_stored_shape *chunk, uint64_t *bound,
                                   struct zs_error *err)
{
    uint64_t by_zarrs;
    ZS_TRY(mode_bound(stage, chunk, dims_of(chunk), bound, err));
    ZS_TRY(mode_bound(stage, chunk, ZARRS_RATE_DIMS, &by_zarrs, err));
    *bound = zs_max_u64(*bound, by_zarrs);
    return ZS_OK;
}

/* ---- Smaller and unsigned integers ---- */

#define PROMOTE(type, half)                                                                                            \
    for (size_t i = 0; i < n; i++)                                                                                     \
    out[i] = (int32_t)((uint32_t)((int32_t)((const type *)src)[i] - (half)) << z->shift)
#define DEMOTE(type, half, low, high)                                                                                  \
    for (size_t i = 0; i < n; i++) {                                                                                   \
        const int32_t v = in[i] / (1 << z->shift) - (in[i] % (1 << z->shift) < 0) + (half);                            \
        ((type *)dst)[i] = (type)(v < (low) ? (low) : v > (high) ? (high) : v);                                        \
    }

static void promote(const struct zfp *z, size_t n, const void *src, int32_t *out)
{
    if (z->shift == 23 && z->is_unsigned)
        PROMOTE(uint8_t, 0x80);
    else if (z->shift == 23)
        PROMOTE(int8_t, 0);
    else if (z->is_unsigned)
        PROMOTE(uint16_t, 0x8000);
    else
        PROMOTE(int16_t, 0);
}

static void demote(const struct zfp *z, size_t n, const int32_t *in, void *dst)
{
    if (z->shift == 23 && z->is_unsigned)
        DEMOTE(uint8_t, 0x80, 0, UINT8_MAX)
    else if (z->shift == 23)
        DEMOTE(int8_t, 0, INT8_MIN, INT8_MAX)
    else if (z->is_unsigned)
        DEMOTE(uint16_t, 0x8000, 0, UINT16_MAX)
    else
        DEMOTE(int16_t, 0, INT16_MIN, INT16_MAX)
}

/* Wide unsigned integers are taken for signed ones, of which the negative ones are 0. */
static void cut_negative(const struct zfp *z, size_t n, void *dst)
{
    for (size_t i = 0; i < n; i++) {
        if (z->type == zfp_type_int32 && ((int32_t *)dst)[i] < 0)
            ((int32_t *)dst)[i] = 0;
        if (z->type == zfp_type_int64 && ((int64_t *)dst)[i] < 0)
            ((int64_t *)dst)[i] = 0;
    }
}

/* ---- Decoding ---- */

/* Bytes that a stream of fixed rate has. */
static uint64_t rate_size(zfp_stream *stream, const struct zs_stored_shape *chunk)
{
    unsigned bits;
    zfp_stream_params(stream, NULL, &bits, NULL, NULL);
    return zs_ceil_div_u64(blocks_of(chunk) * bits, 8 * WORD_BYTES) * WORD_BYTES;
}

/* Whether a stream of n bytes ends where libzfp, with words of so many bytes, has read up to; its writer's words may be
 * longer or shorter. */
static bool ends_at(size_t n, uint64_t end, size_t word)
{
    return n + word > end && n <= zs_ceil_div_u64(end, WORD_BYTES) * WORD_BYTES;
}

/* Sets the mode of the configuration; a rate follows from the size of the encoded chunk. */
static void choose_rate(const struct zfp *z, const struct zs_stored_shape *chunk, size_t n, zfp_stream *stream)
{
    if (z->mode != MODE_RATE || ends_at(n, rate_size(stream, chunk), WORD_BYTES))
        return;
    (void)set_mode(stream, z, ZARRS_RATE_DIMS);
}

static enum zs_status read_header(const struct zs_stage *stage, const struct zs_stored_shape *chunk, struct session *s,
                                  struct zs_error *err)
{
    zfp_field *const found = zfp_field_alloc();
    ZS_TRY_MEMORY(found, err);
    enum zs_status status = ZS_OK;
    if (zfp_read_header(s->stream, found, ZFP_HEADER_FULL) == 0)
        status = zs_fail(err, ZS_CORRUPT, "%s: expected a header of zfp, found none", stage->codec->name);
    else if (zfp_field_metadata(found) != zfp_field_metadata(s->field))
        status = zs_fail(err, ZS_CORRUPT,
                         "%s: the header has another type or shape than the chunk: expected type %d and %zu elements "
                         "in %d dimensions, found type %d and %zu in %u",
                         stage->codec->name, (int)zfp_field_type(s->field), zs_stored_count(chunk), chunk->ndim,
                         (int)zfp_field_type(found), zfp_field_size(found, NULL), zfp_field_dimensionality(found));
    zfp_field_free(found);
    return status;
}

static enum zs_status decompress(const struct zs_stage *stage, const struct zs_stored_shape *chunk, struct session *s,
                                 struct zs_buffer *packed, void *dst, struct zs_error *err)
{
    const struct zfp *z = stage->state;
    const size_t n = packed->size;
    uint64_t room;
    choose_rate(z, chunk, n, s->stream);
    if (n + ZFP_HEADER_MAX_BITS / 8 + WORD_BYTES < packed->capacity)
        memset(packed->data + n, 0, ZFP_HEADER_MAX_BITS / 8 + WORD_BYTES);
    else
        memset(packed->data + n, 0, packed->capacity - n);
    ZS_TRY(session_take(s, packed->data, packed->capacity, err));
    if (z->has_header)
        ZS_TRY(read_header(stage, chunk, s, err));
    ZS_TRY(stream_bound(stage, s->stream, chunk, ZS_CORRUPT, &room, err));
    if (room > packed->capacity)
        return zs_fail(err, ZS_CORRUPT, "%s: the header has another mode than the configuration, of larger chunks",
                       stage->codec->name);
    if (n < room)
        memset(packed->data + n, 0, (size_t)room - n);
    zfp_field_set_pointer(s->field, dst);
    const size_t end = zfp_decompress(s->stream, s->field);
    if (end == 0 || !ends_at(n, end, stream_word_bits / 8))
        return zs_fail(err, ZS_CORRUPT, "%s: expected a chunk of %zu bytes, found %zu", stage->codec->name, end, n);
    return ZS_OK;
}

static enum zs_status unpack(const struct zs_stage *stage, const struct zs_stored_shape *chunk,
                             struct zs_scratch *scratch, struct zs_buffer *packed, void *dst, struct zs_error *err)
{
    const struct zfp *z = stage->state;
    const size_t n = zs_stored_count(chunk);
    struct zs_buffer *promoted = zs_scratch_buffer(scratch, ZS_SCRATCH_PROMOTED);
    if (z->shift != 0)
        ZS_TRY(zs_buffer_reset(promoted, n * sizeof(int32_t), err));
    struct session s;
    enum zs_status status = session_open(stage, chunk, dims_of(chunk), &s, err);
    if (status == ZS_OK)
        status = decompress(stage, chunk, &s, packed, z->shift != 0 ? promoted->data : dst, err);
    session_close(&s);
    if (status == ZS_OK && z->shift != 0)
        demote(z, n, (const int32_t *)(const void *)promoted->data, dst);
    else if (status == ZS_OK && z->is_unsigned)
        cut_negative(z, n, dst);
    return status;
}

/* ---- Encoding ---- */

/* Whether libzfp can encode an element in this mode. */
static bool is_encodable(const struct zfp *z, bool is_lossy, const void *elements, size_t index)
{
    const int64_t limit = z->type == zfp_type_int32 ? (int64_t)1 << 30 : (int64_t)1 << 62;
    if (z->type == zfp_type_float)
        return !is_lossy || isfinite(((const float *)elements)[index]);
    if (z->type == zfp_type_double)
        return !is_lossy || isfinite(((const double *)elements)[index]);
    const int64_t v =
        z->type == zfp_type_int32 ? ((const int32_t *)elements)[index] : ((const int64_t *)elements)[index];
    return (!z->is_unsigned || z->shift != 0 || v >= 0) && (!is_lossy || (v >= -limit && v < limit));
}

static enum zs_status check_encodable(const struct zs_stage *stage, size_t n, const void *elements,
                                      struct zs_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!is_encodable(stage->state, stage->is_lossy, elements, i))
            return zs_fail(err, ZS_INVALID, "codec \"%s\": an element of %s cannot be encoded%s", stage->codec->name,
                           stage->in.name,
                           stage->is_lossy ? " in this mode: NaN, infinities and large integers take the reversible one"
                                           : ": expected the positive half of the type's range");
    return ZS_OK;
}

/* An element that is the fill value must stay it, or a pixel without a value would get one. */
static enum zs_status check_fill(const struct zs_stage *stage, const struct zs_stored_shape *chunk,
                                 struct zs_scratch *scratch, const void *src, struct zs_buffer *packed,
                                 struct zs_error *err)
{
    const size_t size = stage->in.size, n = zs_stored_count(chunk);
    struct zs_buffer *again = zs_scratch_buffer(scratch, ZS_SCRATCH_STORED);
    ZS_TRY(zs_buffer_reset(again, n * size, err));
    ZS_TRY(unpack(stage, chunk, scratch, packed, again->data, err));
    for (size_t i = 0; i < n; i++)
        if (memcmp((const unsigned char *)src + i * size, stage->fill, size) == 0 &&
            memcmp(again->data + i * size, stage->fill, size) != 0)
            return zs_fail(err, ZS_UNSUPPORTED,
                           "codec \"%s\": its mode is a lossy one, in which pixels without a value would get one",
                           stage->codec->name);
    return ZS_OK;
}

static enum zs_status compress(const struct zs_stage *stage, const struct zs_stored_shape *chunk, struct session *s,
                               const void *elements, struct zs_buffer *out, struct zs_error *err)
{
    uint64_t room;
    ZS_TRY(stream_bound(stage, s->stream, chunk, ZS_INVALID, &room, err));
    room = zs_max_u64(room, zfp_stream_maximum_size(s->stream, s->field) + WORD_BYTES);
    ZS_TRY(zs_buffer_reset(out, (size_t)room, err));
    ZS_TRY(session_take(s, out->data, (size_t)room, err));
    if (((const struct zfp *)stage->state)->has_header && zfp_write_header(s->stream, s->field, ZFP_HEADER_FULL) == 0)
        return zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\": a header does not hold this chunk's shape",
                       stage->codec->name);
    zfp_field_set_pointer(s->field, (void *)(uintptr_t)elements); /* is read only */
    out->size = zfp_compress(s->stream, s->field);
    if (out->size == 0)
        return zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\": compressing failed", stage->codec->name);
    while (out->size % WORD_BYTES != 0) /* for readers with longer words; there is room for whole ones */
        out->data[out->size++] = 0;
    return ZS_OK;
}

static enum zs_status pack(const struct zs_stage *stage, const struct zs_stored_shape *chunk,
                           struct zs_scratch *scratch, const void *src, struct zs_buffer *out, struct zs_error *err)
{
    const struct zfp *z = stage->state;
    const size_t n = zs_stored_count(chunk);
    struct zs_buffer *promoted = zs_scratch_buffer(scratch, ZS_SCRATCH_PROMOTED);
    const void *elements = src;
    if (z->mode == MODE_RATE && !z->has_header && dims_of(chunk) != ZARRS_RATE_DIMS)
        return zs_fail(err, ZS_UNSUPPORTED,
                       "codec \"zfp\": a fixed_rate in %u dimensions is not written: libzfp and zarrs disagree on it",
                       dims_of(chunk));
    if (z->shift != 0) {
        ZS_TRY(zs_buffer_reset(promoted, n * sizeof(int32_t), err));
        promote(z, n, src, (int32_t *)(void *)promoted->data);
        elements = promoted->data;
    }
    ZS_TRY(check_encodable(stage, n, elements, err));
    struct session s;
    enum zs_status status = session_open(stage, chunk, dims_of(chunk), &s, err);
    if (status == ZS_OK)
        status = compress(stage, chunk, &s, elements, out, err);
    session_close(&s);
    if (status == ZS_OK && stage->is_lossy)
        status = check_fill(stage, chunk, scratch, src, out, err);
    return status;
}

static const char *const members[] = {"mode",    "rate",    "precision", "tolerance", "minbits",
                                      "maxbits", "maxprec", "minexp",    NULL};
const struct zs_codec zs_codec_zfp = {.name = "zfp",
                                      .kind = ZS_ARRAY_TO_BYTES,
                                      .members = members,
                                      .parse = parse,
                                      .packed_bound = packed_bound,
                                      .pack = pack,
                                      .unpack = unpack};
/* The last is numcodecs' own copy of the one before it that counts. */
static const char *const zfpy_members[] = {"mode", "rate", "precision", "tolerance", "compression_kwargs", NULL};
const struct zs_codec zs_codec_numcodecs_zfpy = {.name = "numcodecs.zfpy",
                                                 .kind = ZS_ARRAY_TO_BYTES,
                                                 .members = zfpy_members,
                                                 .parse = parse_zfpy,
                                                 .packed_bound = packed_bound,
                                                 .pack = pack,
                                                 .unpack = unpack};
#else
typedef int zs_codec_zfp_is_absent; /* ISO C wants a declaration in every file */
#endif
