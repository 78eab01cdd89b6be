/* The gzip codec (core specification) and numcodecs.zlib, the same in another wrapping: by libdeflate, the fastest, in
 * one shot; where the decoded size is not known, so that it would have to guess, by zlib, which goes on in more room.
 */
#include <libdeflate.h>
#include <stddef.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/checked.h"
#include "codec/codec.h"

/* ---- Checksums ---- */

uint32_t zs_crc32(const void *data, size_t n)
{
    return libdeflate_crc32(0, data, n);
}

uint32_t zs_adler32(const void *data, size_t n)
{
    return libdeflate_adler32(1, data, n);
}

/* ---- The codecs ---- */

struct gzip {
    int64_t level;
};

static const struct zs_member members[] = {
    {"level", ZS_MEMBER_INTEGER, offsetof(struct gzip, level), .high = 9, .standard = 6}, {0}};

static void free_decoder(void *decoder)
{
    libdeflate_free_decompressor(decoder);
}

static void free_stream(void *stream)
{
    (void)inflateEnd(stream);
    free(stream);
}

static void free_encoder(void *encoder)
{
    libdeflate_free_compressor(encoder);
}

extern const struct zs_codec zs_codec_numcodecs_zlib;

static bool is_zlib(const struct zs_stage *stage)
{
    return stage->codec == &zs_codec_numcodecs_zlib;
}

static enum zs_status fail_long(const struct zs_stage *stage, size_t most, struct zs_error *err)
{
    return zs_fail(err, ZS_CORRUPT, "%s: decodes to more than the expected %zu bytes", stage->codec->name, most);
}

static enum zs_status fail_stream(const struct zs_stage *stage, size_t n, size_t at, struct zs_error *err)
{
    return zs_fail(err, ZS_CORRUPT, "%s: the %zu bytes at offset %zu are not a valid stream", stage->codec->name,
                   n - at, at);
}

/* A gzip file may have several members one after another (RFC 1952, 2.2). Bytes behind a zlib stream do not count. */
static enum zs_status decode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             void *dst, size_t capacity, size_t *produced, struct zs_error *err)
{
    struct libdeflate_decompressor *d = zs_scratch_context(scratch, ZS_SCRATCH_DEFLATE_DECODER, 0);
    if (d == NULL && (d = libdeflate_alloc_decompressor()) != NULL)
        zs_scratch_set_context(scratch, ZS_SCRATCH_DEFLATE_DECODER, 0, d, free_decoder);
    ZS_TRY_MEMORY(d, err);
    size_t read = 0, written = 0;
    do {
        const char *from = (const char *)src + read;
        char *to = (char *)dst + written;
        size_t member_in = n, member_out = 0;
        const enum libdeflate_result r =
            is_zlib(stage) ? libdeflate_zlib_decompress(d, src, n, dst, capacity, &member_out)
                           : libdeflate_gzip_decompress_ex(d, from, n - read, to, capacity - written, &member_in,
                                                           &member_out);
        if (r == LIBDEFLATE_INSUFFICIENT_SPACE)
            return fail_long(stage, capacity, err);
        if (r != LIBDEFLATE_SUCCESS)
            return fail_stream(stage, n, read, err);
        read += member_in;
        written += member_out;
    } while (read < n);
    *produced = written;
    return ZS_OK;
}

/* The stream of the scratch, ready for the beginning of encoded bytes. */
static enum zs_status begin_stream(const struct zs_stage *stage, struct zs_scratch *scratch, z_stream **stream,
                                   struct zs_error *err)
{
    z_stream *z = zs_scratch_context(scratch, ZS_SCRATCH_INFLATE_STREAM, 0);
    if (z == NULL) {
        z = zs_calloc(1, sizeof *z);
        ZS_TRY_MEMORY(z, err);
        if (inflateInit(z) != Z_OK) {
            free(z);
            return zs_fail_memory(err);
        }
        zs_scratch_set_context(scratch, ZS_SCRATCH_INFLATE_STREAM, 0, z, free_stream);
    }
    (void)inflateReset2(z, is_zlib(stage) ? MAX_WBITS : 16 + MAX_WBITS); /* 16: gzip */
    *stream = z;
    return ZS_OK;
}

static enum zs_status decode_growing(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src,
                                     size_t n, size_t limit, struct zs_buffer *out, struct zs_error *err)
{
    z_stream *z;
    const size_t most = limit < SIZE_MAX ? limit + 1 : limit; /* a byte more, so that too many are seen */
    size_t room = (size_t)zs_min_u64(4 * (uint64_t)n + 4096, most), read = 0, member = 0; /* enough for most texts */
    ZS_TRY(begin_stream(stage, scratch, &z, err));
    ZS_TRY(zs_buffer_reset(out, room, err));
    for (int r = Z_OK; r != Z_STREAM_END || (read < n && !is_zlib(stage));) {
        if (r == Z_STREAM_END) {
            (void)inflateReset(z);
            member = read;
        }
        const uInt in = (uInt)zs_min_u64(n - read, UINT32_MAX), space = (uInt)zs_min_u64(room - out->size, UINT32_MAX);
        z->next_in = (Bytef *)(uintptr_t)src + read;
        z->avail_in = in;
        z->next_out = out->data + out->size;
        z->avail_out = space;
        r = inflate(z, Z_NO_FLUSH);
        read += in - z->avail_in;
        out->size += space - z->avail_out;
        if (out->size > limit)
            return fail_long(stage, limit, err);
        if (r == Z_MEM_ERROR)
            return zs_fail_memory(err);
        if (r != Z_OK && r != Z_STREAM_END)
            return fail_stream(stage, n, member, err);
        if (out->size == room) {
            room = room < most / 2 ? 2 * room : most;
            ZS_TRY(zs_buffer_reserve(out, room, err));
        }
    }
    return ZS_OK;
}

static enum zs_status encode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             struct zs_buffer *out, struct zs_error *err)
{
    const int level = (int)((const struct gzip *)stage->state)->level;
    struct libdeflate_compressor *c = zs_scratch_context(scratch, ZS_SCRATCH_DEFLATE_ENCODER, level);
    if (c == NULL && (c = libdeflate_alloc_compressor(level)) != NULL)
        zs_scratch_set_context(scratch, ZS_SCRATCH_DEFLATE_ENCODER, level, c, free_encoder);
    ZS_TRY_MEMORY(c, err);
    ZS_TRY(zs_buffer_reset(out, libdeflate_gzip_compress_bound(c, n), err)); /* of zlib less */
    out->size = (is_zlib(stage) ? libdeflate_zlib_compress : libdeflate_gzip_compress)(c, src, n, out->data,
                                                                                       out->capacity);
    return out->size != 0 ? ZS_OK : zs_fail_memory(err);
}

#define DEFLATE(variable, text)                                                                                        \
    const struct zs_codec variable = {.name = text,                                                                    \
                                      .kind = ZS_BYTES_TO_BYTES,                                                       \
                                      .members = members,                                                              \
                                      .state_size = sizeof(struct gzip),                                               \
                                      .decode = decode,                                                                \
                                      .decode_growing = decode_growing,                                                \
                                      .encode = encode}
DEFLATE(zs_codec_gzip, "gzip");
DEFLATE(zs_codec_numcodecs_zlib, "numcodecs.zlib");
