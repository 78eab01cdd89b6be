/* Rare compressors, by GDAL's registry of them: numcodecs.lzma and numcodecs.lz4. */
#include <cpl_compressor.h>
#include <cpl_error.h>
#include <stddef.h>

#include "base/checked.h"
#include "codec/codec.h"

struct registered {
    int64_t format; /* of lzma: 1 is xz, the only one here */
    const CPLCompressor *encoder, *decoder;
};

extern const struct zs_codec zs_codec_numcodecs_lz4;

static enum zs_status configure(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    struct registered *state = stage->state;
    const char *id = stage->codec == &zs_codec_numcodecs_lz4 ? "lz4" : "lzma";
    state->encoder = CPLGetCompressor(id);
    state->decoder = CPLGetDecompressor(id);
    if (state->encoder == NULL || state->decoder == NULL)
        return zs_fail(err, ZS_UNSUPPORTED, "it needs a GDAL with the compressor %s, which this one does not have", id);
    if (zs_json_typeof(zs_json_get(configuration, "filters")) != ZS_JSON_NULL)
        return zs_fail(err, ZS_UNSUPPORTED, "filters are not supported");
    return ZS_OK;
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
    ZS_TRY(zs_buffer_reset(out, zs_bytes_bound(n), err));
    size_t size = out->capacity;
    if (n > INT32_MAX / 2 || !call(((const struct registered *)stage->state)->encoder, src, n, out->data, &size))
        return zs_fail(err, ZS_UNSUPPORTED, "%s: compressing %zu bytes failed", stage->codec->name, n);
    out->size = size;
    return ZS_OK;
}

static const struct zs_member lz4_members[] = {{.name = "acceleration"}, {0}};
/* The last member is GDAL's: the stream has it. */
static const struct zs_member lzma_members[] = {
    {"format", ZS_MEMBER_INTEGER, offsetof(struct registered, format), .low = 1, .high = 1, .standard = 1},
    {.name = "check"}, {.name = "preset"}, {.name = "filters"}, {.name = "delta"}, {0}};
#define REGISTERED(variable, text, known, decoder)                                                                     \
    const struct zs_codec variable = {.name = text,                                                                    \
                                      .kind = ZS_BYTES_TO_BYTES,                                                       \
                                      .members = known,                                                                \
                                      .state_size = sizeof(struct registered),                                         \
                                      .configure = configure,                                                          \
                                      .decode = decoder,                                                               \
                                      .encode = encode}
REGISTERED(zs_codec_numcodecs_lz4, "numcodecs.lz4", lz4_members, decode_lz4);
REGISTERED(zs_codec_numcodecs_lzma, "numcodecs.lzma", lzma_members, decode);
