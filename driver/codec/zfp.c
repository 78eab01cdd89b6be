/* The codecs zfp (zarr-extensions codecs/zfp) and numcodecs.zfpy, by libzfp: blocks of 4 elements in each dimension,
 * transformed, the highest bits first. zfpy writes a header with type, shape and mode; zfp has the mode in its
 * configuration. Chunks of both are only read.
 *
 * libzfp reads without knowing where the stream ends. How much it reads at most follows from the mode: so many bits a
 * block, whatever they are. It gets a copy with as many zeros behind it, and what it has read is compared with what
 * there was. */
#include "codec/codec.h"

#ifdef ZS_HAVE_ZFP
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <zfp.h>

#include "base/checked.h"

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
    int64_t mode, precision, minbits, maxbits, maxprec, minexp;
    double rate, tolerance;
    bool has_header;
    zfp_type type;
    size_t size;    /* of an element */
    unsigned shift; /* smaller integers: their highest bit becomes the last but one */
    bool is_unsigned;
};

/* ---- Configuration ---- */

static const char *const modes[] = {"expert", "fixed_rate", "fixed_precision", "fixed_accuracy", "reversible", NULL};
#define PARAMETERS                                                                                                     \
    {"rate", ZS_MEMBER_NUMBER, offsetof(struct zfp, rate), .standard = -1},                                            \
        {"precision", ZS_MEMBER_INTEGER, offsetof(struct zfp, precision), -1, UINT_MAX, .standard = -1},               \
        {"tolerance", ZS_MEMBER_NUMBER, offsetof(struct zfp, tolerance), .standard = -1}
#define EXPERT(name, least, most) {#name, ZS_MEMBER_INTEGER, offsetof(struct zfp, name), .low = least, .high = most}

static const struct zs_member members[] = {
    {"mode", ZS_MEMBER_CHOICE, offsetof(struct zfp, mode), .choices = modes, .is_required = true},
    PARAMETERS,
    EXPERT(minbits, 0, UINT_MAX),
    EXPERT(maxbits, 0, UINT_MAX),
    EXPERT(maxprec, 0, UINT_MAX),
    EXPERT(minexp, INT_MIN, INT_MAX),
    {0}};
/* The mode is libzfp's number for it; the last member is numcodecs' own copy of the one before it that counts. */
static const struct zs_member zfpy_members[] = {
    {"mode", ZS_MEMBER_INTEGER, offsetof(struct zfp, mode), zfp_mode_fixed_rate, zfp_mode_reversible,
     zfp_mode_fixed_accuracy, NULL, false},
    PARAMETERS,
    {.name = "compression_kwargs"},
    {0}};

static enum zs_status set_type(struct zs_stage *stage, struct zs_error *err)
{
    const struct zs_dtype *in = &stage->in;
    struct zfp *z = stage->state;
    const bool is_float = (in->type == ZS_FLOAT32 && !in->is_bfloat16) || in->type == ZS_FLOAT64;
    if (!is_float && !zs_is_integer(in->type) && in->type != ZS_DATETIME64 && in->type != ZS_TIMEDELTA64)
        return zs_fail(err, ZS_UNSUPPORTED, "data type %s is not supported", in->name);
    if (in->size == 8)
        z->type = is_float ? zfp_type_double : zfp_type_int64;
    else
        z->type = is_float ? zfp_type_float : zfp_type_int32;
    z->size = in->size;
    z->shift = in->size < 4 ? 31 - 8 * (unsigned)in->size : 0;
    z->is_unsigned = in->name[0] == 'u'; /* uint8 ... */
    stage->out = zs_dtype_of(ZS_UINT8);
    return ZS_OK;
}

static enum zs_status configure(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    const struct zfp *z = stage->state;
    ZS_TRY(set_type(stage, err));
    if (z->mode == MODE_RATE && (!(z->rate > 0) || z->rate > MAX_RATE))
        return zs_fail(err, ZS_INVALID, "rate: expected a number above 0, at most %g", MAX_RATE);
    if ((z->mode == MODE_PRECISION && z->precision < 0) || (z->mode == MODE_ACCURACY && z->tolerance < 0))
        return zs_fail(err, ZS_INVALID, "%s: expected a number from 0",
                       z->mode == MODE_PRECISION ? "precision" : "tolerance");
    return ZS_OK;
}

/* numcodecs: a negative parameter is none: then the mode is reversible. */
static enum zs_status configure_zfpy(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    struct zfp *z = stage->state;
    z->has_header = true;
    z->mode += (int64_t)MODE_RATE - zfp_mode_fixed_rate;
    if ((z->mode == MODE_RATE && z->rate < 0) || (z->mode == MODE_PRECISION && z->precision < 0) ||
        (z->mode == MODE_ACCURACY && z->tolerance < 0))
        z->mode = MODE_REVERSIBLE;
    return configure(configuration, stage, err);
}

static unsigned dims_of(const struct zs_stored_shape *chunk)
{
    return chunk->ndim == 0 ? 1 : (unsigned)chunk->ndim;
}

static bool set_mode(zfp_stream *stream, const struct zfp *z, unsigned rate_dims)
{
    switch ((enum mode)z->mode) {
    case MODE_EXPERT:
        return zfp_stream_set_params(stream, (unsigned)z->minbits, (unsigned)z->maxbits, (unsigned)z->maxprec,
                                     (int)z->minexp);
    case MODE_RATE:
        (void)zfp_stream_set_rate(stream, z->rate, z->type, rate_dims, 0);
        break;
    case MODE_PRECISION:
        (void)zfp_stream_set_precision(stream, (unsigned)z->precision);
        break;
    case MODE_ACCURACY:
        (void)zfp_stream_set_accuracy(stream, z->tolerance);
        break;
    case MODE_REVERSIBLE:
        zfp_stream_set_reversible(stream);
    }
    return true;
}

static zfp_field field_of(const struct zfp *z, const struct zs_stored_shape *chunk)
{
    zfp_field field = {.type = z->type, .nx = 1};
    size_t *const sizes[] = {&field.nx, &field.ny, &field.nz, &field.nw}; /* the fastest first */
    for (int d = 0; d < chunk->ndim; d++)
        *sizes[chunk->ndim - 1 - d] = (size_t)chunk->shape[d]; /* of a chunk, which fits memory */
    return field;
}

static uint64_t blocks_of(const struct zs_stored_shape *chunk)
{
    uint64_t blocks = 1; /* no more than elements */
    for (int d = 0; d < chunk->ndim; d++)
        blocks *= zs_ceil_div_u64(chunk->shape[d], 4);
    return blocks;
}

static bool is_wide(zfp_type type)
{
    return type == zfp_type_int64 || type == zfp_type_double;
}

/* Bits that libzfp reads before the planes of a block, whatever maxbits is. */
static unsigned start_bits(zfp_type type, bool is_reversible)
{
    const bool is_float = type == zfp_type_float || type == zfp_type_double;
    return (is_float ? 1 + (is_wide(type) ? 11u : 8u) : 0) +
           (is_reversible ? (is_wide(type) ? 6u : 5u) + is_float : 0);
}

/* Bytes of a stream, a header and a word included, whose blocks have `least` bits or more and at most `most`, if they
 * need them. Each plane has a bit for each value that is known to matter, and up to two, once, for one that becomes
 * known. False where it does not fit 64 bits. */
static bool stream_bytes(zfp_type type, const struct zs_stored_shape *chunk, uint64_t least, uint64_t most,
                         uint64_t *bytes)
{
    const uint64_t values = (uint64_t)1 << 2 * dims_of(chunk), planes = is_wide(type) ? 64 : 32;
    uint64_t bits = zs_min_u64(BLOCK_START_BITS + (planes + 2) * values + planes, most);
    if (!zs_mul_u64(zs_max_u64(bits, least), blocks_of(chunk), &bits) || !zs_add_u64(bits, ZFP_HEADER_MAX_BITS, &bits))
        return false;
    *bytes = (bits / 64 + 2) * WORD_BYTES;
    return true;
}

/* What libzfp may read of a stream in its mode. */
static enum zs_status stream_bound(const struct zs_stage *stage, zfp_stream *stream,
                                   const struct zs_stored_shape *chunk, uint64_t *bound, struct zs_error *err)
{
    const zfp_type type = ((const struct zfp *)stage->state)->type;
    unsigned minbits, maxbits;
    int minexp;
    zfp_stream_params(stream, &minbits, &maxbits, NULL, &minexp);
    const unsigned start = start_bits(type, minexp < ZFP_MIN_EXP);
    if (maxbits < start)
        return zs_fail(err, ZS_CORRUPT, "codec \"%s\": maxbits: expected at least %u, found %u", stage->codec->name,
                       start, maxbits);
    if (!stream_bytes(type, chunk, minbits, maxbits, bound))
        return zs_fail(err, ZS_CORRUPT, "codec \"%s\": the size of a chunk does not fit 64 bits", stage->codec->name);
    return ZS_OK;
}

/* Of any mode, as a header may have another. */
static enum zs_status packed_bound(const struct zs_stage *stage, const struct zs_stored_shape *chunk, uint64_t *bound,
                                   struct zs_error *err)
{
    const struct zfp *z = stage->state;
    if (chunk->ndim > 4)
        return zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\": expected chunks of at most 4 dimensions, found %d",
                       stage->codec->name, chunk->ndim);
    const unsigned dims = dims_of(chunk) > ZARRS_RATE_DIMS ? dims_of(chunk) : ZARRS_RATE_DIMS;
    const uint64_t rate_bits = z->mode == MODE_RATE ? (uint64_t)(z->rate * (1 << 2 * dims)) + 8 * WORD_BYTES : 0;
    if (!stream_bytes(z->type, chunk, zs_max_u64(rate_bits, (uint64_t)z->minbits), UINT64_MAX, bound))
        return zs_fail(err, ZS_INVALID, "codec \"%s\": the size of a chunk does not fit 64 bits", stage->codec->name);
    return ZS_OK;
}

/* ---- Smaller and unsigned integers ---- */

static void narrow(const struct zfp *z, size_t n, const int32_t *wide, unsigned char *dst)
{
    const int32_t range = 1 << 8 * z->size, half = z->is_unsigned ? range / 2 : 0, one = 1 << z->shift;
    for (size_t i = 0; i < n; i++) {
        int32_t v = wide[i] / one - (wide[i] % one < 0);
        v = v < -range / 2 ? -range / 2 : v >= range / 2 ? range / 2 - 1 : v;
        zs_bits_store(z->size, (uint64_t)(v + half), dst + i * z->size);
    }
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

static enum zs_status read_header(const struct zs_stage *stage, const zfp_field *expected, zfp_stream *stream,
                                  struct zs_error *err)
{
    zfp_field *const found = zfp_field_alloc();
    ZS_TRY_MEMORY(found, err);
    enum zs_status status = ZS_OK;
    if (zfp_read_header(stream, found, ZFP_HEADER_FULL) == 0)
        status = zs_fail(err, ZS_CORRUPT, "%s: expected a header of zfp, found none", stage->codec->name);
    else if (zfp_field_metadata(found) != zfp_field_metadata(expected))
        status = zs_fail(err, ZS_CORRUPT,
                         "%s: the header has another type or shape than the chunk: expected type %d and %zu elements, "
                         "found type %d and %zu in %u dimensions",
                         stage->codec->name, (int)expected->type, zfp_field_size(expected, NULL),
                         (int)zfp_field_type(found), zfp_field_size(found, NULL), zfp_field_dimensionality(found));
    zfp_field_free(found);
    return status;
}

/* Decompresses a stream of n bytes, which lies in `packed`. */
static enum zs_status decompress(const struct zs_stage *stage, const struct zs_stored_shape *chunk, zfp_stream *stream,
                                 struct zs_buffer *packed, void *dst, struct zs_error *err)
{
    const struct zfp *z = stage->state;
    zfp_field field = field_of(z, chunk);
    const size_t n = packed->size;
    uint64_t room = zs_min_u64(n + ZFP_HEADER_MAX_BITS / 8 + WORD_BYTES, packed->capacity);
    if (!set_mode(stream, z, dims_of(chunk)))
        return zs_fail(err, ZS_INVALID, "codec \"%s\": minbits, maxbits, maxprec: libzfp does not take these",
                       stage->codec->name);
    if (z->mode == MODE_RATE && !ends_at(n, rate_size(stream, chunk), WORD_BYTES))
        (void)set_mode(stream, z, ZARRS_RATE_DIMS);
    memset(packed->data + n, 0, (size_t)room - n);
    zfp_stream_rewind(stream);
    if (z->has_header)
        ZS_TRY(read_header(stage, &field, stream, err));
    ZS_TRY(stream_bound(stage, stream, chunk, &room, err));
    if (room > packed->capacity)
        return zs_fail(err, ZS_CORRUPT, "%s: the header has another mode than the configuration, of larger chunks",
                       stage->codec->name);
    if (n < room)
        memset(packed->data + n, 0, (size_t)room - n);
    field.data = dst;
    const size_t end = zfp_decompress(stream, &field);
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
    bitstream *const bits = stream_open(packed->data, packed->capacity);
    zfp_stream *const stream = zfp_stream_open(bits);
    const enum zs_status status =
        bits != NULL && stream != NULL
            ? decompress(stage, chunk, stream, packed, z->shift != 0 ? promoted->data : dst, err)
            : zs_fail_memory(err);
    if (stream != NULL)
        zfp_stream_close(stream);
    if (bits != NULL)
        stream_close(bits);
    if (status == ZS_OK && z->shift != 0)
        narrow(z, n, (const int32_t *)(void *)promoted->data, dst);
    else if (status == ZS_OK && z->is_unsigned)
        cut_negative(z, n, dst);
    return status;
}

#define ZFP(variable, text, known, own)                                                                                \
    const struct zs_codec variable = {.name = text,                                                                    \
                                      .kind = ZS_ARRAY_TO_BYTES,                                                       \
                                      .members = known,                                                                \
                                      .state_size = sizeof(struct zfp),                                                \
                                      .configure = own,                                                                \
                                      .packed_bound = packed_bound,                                                    \
                                      .unpack = unpack}
ZFP(zs_codec_zfp, "zfp", members, configure);
ZFP(zs_codec_numcodecs_zfpy, "numcodecs.zfpy", zfpy_members, configure_zfpy);
#else
const struct zs_codec zs_codec_zfp = {.name = "zfp", .lacks = "libzfp"};
const struct zs_codec zs_codec_numcodecs_zfpy = {.name = "numcodecs.zfpy", .lacks = "libzfp"};
#endif
