/* The zstd codec (zarr-extensions codecs/zstd), by libzstd. */
#include "codec/codec.h"

#ifdef ZS_HAVE_ZSTD
#include <stddef.h>
#include <zstd.h>

struct zstd {
    int64_t level, checksum;
};

static const struct zs_member members[] = {
    {"level", ZS_MEMBER_INTEGER, offsetof(struct zstd, level), .low = -131072, .high = 22},
    {"checksum", ZS_MEMBER_BOOL, .offset = offsetof(struct zstd, checksum)},
    {0}};

static void free_decoder(void *decoder)
{
    ZSTD_freeDCtx(decoder);
}

static void free_encoder(void *encoder)
{
    ZSTD_freeCCtx(encoder);
}

static enum zs_status decode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             void *dst, size_t capacity, size_t *produced, struct zs_error *err)
{
    ZSTD_DCtx *d = zs_scratch_context(scratch, ZS_SCRATCH_ZSTD_DECODER, 0);
    if (d == NULL) {
        d = ZSTD_createDCtx();
        ZS_TRY_MEMORY(d, err);
        zs_scratch_set_context(scratch, ZS_SCRATCH_ZSTD_DECODER, 0, d, free_decoder);
    }
    const size_t r = ZSTD_decompressDCtx(d, dst, capacity, src, n);
    if (ZSTD_isError(r))
        return zs_fail(err, ZS_CORRUPT, "zstd: %zu bytes do not decode to at most %zu: %s", n, capacity,
                       ZSTD_getErrorName(r));
    *produced = r;
    return ZS_OK;
}

static enum zs_status encode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             struct zs_buffer *out, struct zs_error *err)
{
    const struct zstd *state = stage->state;
    ZSTD_CCtx *c = zs_scratch_context(scratch, ZS_SCRATCH_ZSTD_ENCODER, 0);
    if (c == NULL) {
        c = ZSTD_createCCtx();
        ZS_TRY_MEMORY(c, err);
        zs_scratch_set_context(scratch, ZS_SCRATCH_ZSTD_ENCODER, 0, c, free_encoder);
    }
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, (int)state->level);
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, (int)state->checksum);
    ZS_TRY(zs_buffer_reset(out, ZSTD_compressBound(n), err));
    const size_t r = ZSTD_compress2(c, out->data, out->capacity, src, n);
    if (ZSTD_isError(r))
        return zs_fail_memory(err);
    out->size = r;
    return ZS_OK;
}

const struct zs_codec zs_codec_zstd = {.name = "zstd",
                                       .kind = ZS_BYTES_TO_BYTES,
                                       .members = members,
                                       .state_size = sizeof(struct zstd),
                                       .decode = decode,
                                       .encode = encode};

/* Room for what is first decoded of a frame, and what it grows to at once: frames of one byte may claim any size. */
#define FIRST_BYTES ((size_t)65536)
#define MOST_GROWTH 8

static enum zs_status decode_frame(ZSTD_DCtx *d, ZSTD_inBuffer *in, size_t limit, struct zs_buffer *out,
                                   struct zs_error *err)
{
    const unsigned long long claimed = ZSTD_getFrameContentSize(in->src, in->size);
    size_t room = in->size > limit / MOST_GROWTH ? limit : in->size * MOST_GROWTH + FIRST_BYTES, left = 1;
    if (claimed < room)
        room = (size_t)claimed + 1; /* so that another call has nothing left to report */
    while (left != 0) {
        if (room > limit)
            room = limit;
        if (out->size == room)
            return zs_fail(err, ZS_CORRUPT, "zstd: expected at most %zu bytes, found more", limit);
        ZS_TRY(zs_buffer_reserve(out, room, err));
        ZSTD_outBuffer to = {out->data, room, out->size};
        left = ZSTD_decompressStream(d, &to, in);
        if (ZSTD_isError(left))
            return zs_fail(err, ZS_CORRUPT, "zstd: %zu bytes do not decode: %s", in->size, ZSTD_getErrorName(left));
        if (left != 0 && in->pos == in->size && to.pos < to.size)
            return zs_fail(err, ZS_CORRUPT, "zstd: expected a whole frame, found %zu bytes of one", in->size);
        out->size = to.pos;
        room = room > SIZE_MAX / 2 ? limit : 2 * room;
    }
    return ZS_OK;
}

enum zs_status zs_zstd_decode(const void *src, size_t n, size_t limit, struct zs_buffer *out, struct zs_error *err)
{
    ZSTD_inBuffer in = {src, n, 0};
    ZSTD_DCtx *d = ZSTD_createDCtx();
    out->size = 0;
    ZS_TRY_MEMORY(d, err);
    const enum zs_status status = decode_frame(d, &in, limit, out, err);
    ZSTD_freeDCtx(d);
    return status;
}
#else

const struct zs_codec zs_codec_zstd = {.name = "zstd", .lacks = "libzstd"};

enum zs_status zs_zstd_decode(const void *src, size_t n, size_t limit, struct zs_buffer *out, struct zs_error *err)
{
    return zs_fail(err, ZS_UNSUPPORTED, "zstd: this build lacks it");
}
#endif
