/* The gzip codec (core specification) and numcodecs.zlib, the same in another wrapping: by libdeflate, the fastest. */
#include <libdeflate.h>
#include <stddef.h>

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

static void free_encoder(void *encoder)
{
    libdeflate_free_compressor(encoder);
}

extern const struct zs_codec zs_codec_numcodecs_zlib;

static bool is_zlib(const struct zs_stage *stage)
{
    return stage->codec == &zs_codec_numcodecs_zlib;
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
            return zs_fail(err, ZS_CORRUPT, "%s: decodes to more than the expected %zu bytes", stage->codec->name,
                           capacity);
        if (r != LIBDEFLATE_SUCCESS)
            return zs_fail(err, ZS_CORRUPT, "%s: the %zu bytes at offset %zu are not a valid stream",
                           stage->codec->name, n - read, read);
        read += member_in;
        written += member_out;
    } while (read < n);
    *produced = written;
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
                                      .encode = encode}
DEFLATE(zs_codec_gzip, "gzip");
DEFLATE(zs_codec_numcodecs_zlib, "numcodecs.zlib");
