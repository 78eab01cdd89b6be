/* The blosc codec (core specification), by c-blosc 1. Only the _ctx functions are safe in several threads, and with one
 * thread inside: the parallelism is over chunks. */
#include "codec/codec.h"

#ifdef ZS_HAVE_BLOSC
#include <blosc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

struct blosc {
    int64_t level, compressor, shuffle, typesize, blocksize;
};

/* Encoding needs them; the frame tells decoders. c-blosc may lack snappy. */
static const char *const compressors[] = {"zstd", "lz4", "lz4hc", "blosclz", "zlib", "snappy", NULL};
static const char *const shuffles[] = {"noshuffle", "shuffle", "bitshuffle", NULL}; /* BLOSC_NOSHUFFLE ... */

#define SHARED_MEMBERS(cname)                                                                                          \
    {"cname", ZS_MEMBER_CHOICE, offsetof(struct blosc, compressor), .choices = compressors, .standard = cname},        \
        {"clevel", ZS_MEMBER_INTEGER, offsetof(struct blosc, level), .high = 9, .standard = 5},                        \
        {"blocksize", ZS_MEMBER_INTEGER, offsetof(struct blosc, blocksize), .high = INT32_MAX}

static const struct zs_member members[] = {
    SHARED_MEMBERS(0),
    {"shuffle", ZS_MEMBER_CHOICE, offsetof(struct blosc, shuffle), .choices = shuffles},
    {"typesize", ZS_MEMBER_INTEGER, offsetof(struct blosc, typesize), .low = 1, .high = INT32_MAX, .standard = 1},
    {0}};

/* Shuffle is a number, where -1 chooses by the size of elements; that is the array's. */
static const struct zs_member numcodecs_members[] = {
    SHARED_MEMBERS(1),
    {"shuffle", ZS_MEMBER_INTEGER, offsetof(struct blosc, shuffle), .low = -1, .high = 2, .standard = 1},
    {.name = "typesize"},
    {0}};

static enum zs_status configure_numcodecs(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    struct blosc *codec = stage->state;
    codec->typesize = (int64_t)stage->in.size;
    if (codec->shuffle < 0)
        codec->shuffle = codec->typesize == 1 ? BLOSC_BITSHUFFLE : BLOSC_SHUFFLE;
    return ZS_OK;
}

static enum zs_status decode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             void *dst, size_t capacity, size_t *produced, struct zs_error *err)
{
    size_t size = 0;
    if (n < BLOSC_MIN_HEADER_LENGTH || blosc_cbuffer_validate(src, n, &size) != 0)
        return zs_fail(err, ZS_CORRUPT, "blosc: the %zu bytes are not a valid blosc buffer", n);
    if (size > capacity)
        return zs_fail(err, ZS_CORRUPT, "blosc: expected at most %zu bytes after decoding, found %zu", capacity, size);
    const int r = size == 0 ? 0 : blosc_decompress_ctx(src, dst, capacity, 1);
    if (r < 0 || (size_t)r != size) {
        const char *library = blosc_cbuffer_complib(src);
        return zs_fail(err, ZS_CORRUPT, "blosc: %zu bytes (%s) do not decode to %zu: error %d", n,
                       library != NULL ? library : "unknown compressor", size, r);
    }
    *produced = size;
    return ZS_OK;
}

static enum zs_status encode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             struct zs_buffer *out, struct zs_error *err)
{
    const struct blosc *codec = stage->state;
    if (n > BLOSC_MAX_BUFFERSIZE)
        return zs_fail(err, ZS_ARGUMENT, "blosc: expected chunks of at most %d bytes, found %zu", BLOSC_MAX_BUFFERSIZE,
                       n);
    /* Not the buffer's capacity: bytes that do not shrink are stored otherwise where there is more room. */
    const size_t room = n + BLOSC_MAX_OVERHEAD;
    ZS_TRY(zs_buffer_reset(out, room, err));
    /* A type size above 255 does not fit the header; blosc then shuffles nothing. */
    const char *compressor = compressors[codec->compressor];
    const int r = blosc_compress_ctx((int)codec->level, (int)codec->shuffle, (size_t)codec->typesize, n, src,
                                     out->data, room, compressor, (size_t)codec->blocksize, 1);
    if (r <= 0)
        return zs_fail(err, ZS_UNSUPPORTED, "blosc: compressing %zu bytes with %s failed: error %d", n,
                       compressor, r);
    out->size = (size_t)r;
    return ZS_OK;
}

/* ---- Blocks ----
 *
 * A frame: version, version of the compressor, flags, type size; then decoded bytes, bytes of a block, encoded bytes,
 * all little-endian; then an offset for each block; then the blocks. */

#define FRAME_HEAD 16
#define FLAG_PLAIN 0x02
#define FLAG_UNSPLIT 0x10
/* Chunks with more blocks than this have tables that are larger than a block: they are read whole. */
#define MAX_OFFSETS_BYTES ((uint64_t)1 << 20)

/* Returns no blocks when the frame's header is invalid. */
static struct zs_blocks *no_blocks(void)
{
    return zs_blocks_alloc(0, true);
}

static struct zs_blocks *table_of(const unsigned char *head, uint64_t n, uint64_t count)
{
    const uint64_t first = FRAME_HEAD + 4 * count;
    struct zs_blocks *b = zs_blocks_alloc((size_t)count, false);
    if (b == NULL)
        return NULL;
    b->size = zs_load_le32(head + 4);
    b->block_size = zs_load_le32(head + 8);
    memcpy(b->head, head, FRAME_HEAD);
    for (size_t i = 0; i < b->count; i++) {
        b->at[i].offset = zs_load_le32(head + FRAME_HEAD + 4 * i);
        if (b->at[i].offset < first || b->at[i].offset >= n) {
            free(b);
            return no_blocks();
        }
    }
    if (zs_blocks_measure(b, n, zs_bytes_bound((size_t)b->block_size)))
        return b;
    free(b);
    return NULL;
}

static enum zs_status read_blocks(const unsigned char *head, size_t have, uint64_t n, uint64_t decoded,
                                  uint64_t plain_size, size_t *need, struct zs_blocks **blocks, struct zs_error *err)
{
    *need = FRAME_HEAD;
    *blocks = NULL;
    if (have < FRAME_HEAD && n >= FRAME_HEAD)
        return ZS_OK;
    bool is_known = n >= FRAME_HEAD && n <= INT32_MAX && decoded <= BLOSC_MAX_BUFFERSIZE && decoded > 0;
    is_known = is_known && head[0] == BLOSC_VERSION_FORMAT && zs_load_le32(head + 4) == decoded &&
               zs_load_le32(head + 12) == n && head[3] > 0;
    const uint64_t block_size = is_known ? zs_load_le32(head + 8) : 0;
    const uint64_t count = block_size > 0 ? (decoded + block_size - 1) / block_size : 0;
    if (is_known && (head[2] & FLAG_PLAIN) != 0) {
        *blocks = n == FRAME_HEAD + decoded ? zs_blocks_plain(decoded, FRAME_HEAD, plain_size) : no_blocks();
    } else if (!is_known || block_size == 0 || block_size > decoded || 4 * count > MAX_OFFSETS_BYTES ||
               FRAME_HEAD + 4 * count > n) {
        *blocks = no_blocks();
    } else if (have < FRAME_HEAD + 4 * count) {
        *need = (size_t)(FRAME_HEAD + 4 * count);
        return ZS_OK;
    } else {
        *blocks = table_of(head, n, count);
    }
    return *blocks != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Made a frame of this one block: the library never sees bytes of others. */
static enum zs_status decode_block(const struct zs_blocks *blocks, size_t index, struct zs_scratch *scratch,
                                   const void *src, void *dst, struct zs_error *err)
{
    const size_t n = blocks->at[index].size, size = (size_t)zs_block_decoded(blocks, index), start = FRAME_HEAD + 4;
    struct zs_buffer *frame = zs_scratch_buffer(scratch, ZS_SCRATCH_CODEC_A);
    ZS_TRY(zs_buffer_reset(frame, start + n, err));
    memcpy(frame->data, blocks->head, FRAME_HEAD);
    if (size < blocks->block_size)
        frame->data[2] |= FLAG_UNSPLIT; /* a shorter last block is never split, whatever the flag of its frame */
    zs_store_le(frame->data + 4, (uint32_t)size, 4);
    zs_store_le(frame->data + 8, (uint32_t)size, 4);
    zs_store_le(frame->data + 12, (uint32_t)(start + n), 4);
    zs_store_le(frame->data + FRAME_HEAD, (uint32_t)start, 4);
    memcpy(frame->data + start, src, n);
    const int r = blosc_decompress_ctx(frame->data, dst, size, 1);
    if (r < 0 || (size_t)r != size)
        return zs_fail(err, ZS_CORRUPT, "blosc: block %zu of %zu bytes does not decode to %zu: error %d", index, n,
                       size, r);
    return ZS_OK;
}

#define BLOSC(variable, text, known, own)                                                                              \
    const struct zs_codec variable = {.name = text,                                                                    \
                                      .kind = ZS_BYTES_TO_BYTES,                                                       \
                                      .members = known,                                                                \
                                      .state_size = sizeof(struct blosc),                                              \
                                      .configure = own,                                                                \
                                      .decode = decode,                                                                \
                                      .encode = encode,                                                                \
                                      .read_blocks = read_blocks,                                                      \
                                      .decode_block = decode_block}
BLOSC(zs_codec_blosc, "blosc", members, NULL);
BLOSC(zs_codec_numcodecs_blosc, "numcodecs.blosc", numcodecs_members, configure_numcodecs);
#else
const struct zs_codec zs_codec_blosc = {.name = "blosc", .lacks = "c-blosc"};
const struct zs_codec zs_codec_numcodecs_blosc = {.name = "numcodecs.blosc", .lacks = "c-blosc"};
#endif
