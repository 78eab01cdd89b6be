/* Rare compressors, by GDAL's registry of them: numcodecs.lzma and numcodecs.lz4. */
#include <cpl_compressor.h>
#include <cpl_error.h>

#include "base/checked.h"
#include "codec/codec.h"

struct registered {
    const CPLCompressor *encoder, *decoder;
};

static enum zs_status parse_as(const char *id, struct zs_stage *stage, struct zs_error *err)
{
    struct registered *state = zs_calloc(1, sizeof *state);
    ZS_TRY_MEMORY(state, err);
    stage->state = state;
    state->encoder = CPLGetCompressor(id);
    state->decoder = CPLGetDecompressor(id);
    if (state->encoder == NULL || state->decoder == NULL)
        return zs_fail(err, ZS_UNSUPPORTED,
                       "codec \"%s\" needs a GDAL with the compressor %s, which this one does not have",
                       stage->codec->name, id);
    return ZS_OK;
}

static enum zs_status parse_lz4(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    (void)configuration;
    return parse_as("lz4", stage, err);
}

static enum zs_status parse_lzma(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    int64_t format = 1; /* xz */
    const zs_json *given = zs_json_get(configuration, "format");
    if (zs_json_typeof(given) != ZS_JSON_NULL && (!zs_json_int64(given, &format) || format != 1))
        return zs_fail_found(err, ZS_UNSUPPORTED, given, "codec \"%s\": format: expected 1 (xz)", stage->codec->name);
    if (zs_json_typeof(zs_json_get(configuration, "filters")) != ZS_JSON_NULL)
        return zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\": filters are not supported", stage->codec->name);
    return parse_as("lzma", stage, err);
}

/* Drops GDAL's message, which has less than ours. */
static bool call(const CPLCompressor *c, const void *src, size_t n, void *dst, size_t *size)
{
    char header[] = "HEADER=YES"; /* lz4: the decoded size in four bytes, little-endian, comes first */
    char *options[] = {header, NULL};
    CPLPushErrorHandler(CPLQuietErrorHandler);
    const bool ok = c->pfnFunc(src, n, &dst, size, options, c->user_data);
    CPLPopErrorHandler();
    return ok;
}

static enum zs_status decode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             void *dst, size_t capacity, size_t *produced, struct zs_error *err)
{
    unsigned char spare[1]; /* GDAL takes a capacity of 0 for none given */
    size_t size = capacity != 0 ? capacity : sizeof spare;
    (void)scratch;
    if (n < 4 || n > INT32_MAX ||
        !call(((const struct registered *)stage->state)->decoder, src, n, capacity != 0 ? dst : spare, &size) ||
        size > capacity)
        return zs_fail(err, ZS_CORRUPT, "%s: %zu bytes do not decode to at most %zu", stage->codec->name, n, capacity);
    *produced = size;
    return ZS_OK;
}

/* lz4: one block. GDAL would accept what was decoded before damage, or of a block shorter than declared. */
static enum zs_status decode_lz4(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                                 void *dst, size_t capacity, size_t *produced, struct zs_error *err)
{
    const uint32_t size = n >= 4 ? zs_load_le32(src) : 0;
    if (n >= 4 && size == 0) { /* one empty block */
        *produced = 0;
        return ZS_OK;
    }
    if (n < 4 || size > capacity)
        return zs_fail(err, ZS_CORRUPT, "%s: expected at most %zu bytes after decoding, found %u", stage->codec->name,
                       capacity, size);
    ZS_TRY(decode(stage, scratch, src, n, dst, capacity, produced, err));
    if (*produced != size)
        return zs_fail(err, ZS_CORRUPT, "%s: expected %u bytes after decoding, found %zu", stage->codec->name, size,
                       *produced);
    return ZS_OK;
}

static enum zs_status encode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             struct zs_buffer *out, struct zs_error *err)
{
    (void)scratch;
    ZS_TRY(zs_buffer_reset(out, zs_bytes_bound(n), err));
    size_t size = out->capacity;
    if (n > INT32_MAX / 2 || !call(((const struct registered *)stage->state)->encoder, src, n, out->data, &size))
        return zs_fail(err, ZS_UNSUPPORTED, "%s: compressing %zu bytes failed", stage->codec->name, n);
    out->size = size;
    return ZS_OK;
}

static const char *const lz4_members[] = {"acceleration", NULL};
/* The last member is GDAL's: the stream has it. */
static const char *const lzma_members[] = {"format", "check", "preset", "filters", "delta", NULL};
const struct zs_codec zs_codec_numcodecs_lz4 = {.name = "numcodecs.lz4",
                                                .kind = ZS_BYTES_TO_BYTES,
                                                .members = lz4_members,
                                                .parse = parse_lz4,
                                                .decode = decode_lz4,
                                                .encode = encode};
const struct zs_codec zs_codec_numcodecs_lzma = {.name = "numcodecs.lzma",
                                                 .kind = ZS_BYTES_TO_BYTES,
                                                 .members = lzma_members,
                                                 .parse = parse_lzma,
                                                 .decode = decode,
                                                 .encode = encode};
