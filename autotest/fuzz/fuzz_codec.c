/* Encoded bytes of anyone's: decoded to a known size, and up to a limit; frames of blosc block by block, too: no byte is
 * read or written beyond a block, and what the library makes of the whole is what it makes of the parts. Byte 0 is the
 * codecs, bytes 1 and 2 the size. */
#include <stdlib.h>

#include "codec/codec.h"
#include "fuzz.h"

static const char *const chains[][3] = {{"gzip"},
                                        {"zstd"},
                                        {"blosc"},
                                        {"gzip", "zstd"},
                                        {"blosc", "crc32c"},
                                        {"crc32c", "gzip"},
                                        {"numcodecs.zlib"},
                                        {"numcodecs.bz2"},
                                        {"numcodecs.lz4"},
                                        {"numcodecs.lzma"},
                                        {"numcodecs.shuffle", "numcodecs.adler32"},
                                        {"numcodecs.crc32", "numcodecs.fletcher32"},
                                        {"numcodecs.jenkins_lookup3", "numcodecs.lz4"}};
enum { CHAINS = sizeof chains / sizeof chains[0] };

static int chain_of(int number, struct zs_stage *chain)
{
    struct zs_error err;
    struct zs_form form = {.dtype = zs_dtype_of(ZS_UINT16)};
    const struct zs_codec *codec;
    int count = 0;
    for (; count < 3 && chains[number][count] != NULL; count++) {
        if (zs_codec_find(chains[number][count], &codec, &err) != ZS_OK ||
            zs_stage_parse(codec, NULL, &form, &chain[count], &err) != ZS_OK)
            break; /* not in this build: those before it */
    }
    return count;
}

static void *room(size_t n)
{
    void *p = malloc(n != 0 ? n : 1); /* of the exact size: the sanitizer watches both ends */
    if (p == NULL)
        abort();
    return p;
}

/* The table, as a reader finds it who has a few bytes at first. */
static struct zs_blocks *table_of(const struct zs_stage *s, const uint8_t *data, size_t size, size_t wanted)
{
    struct zs_error err;
    struct zs_blocks *blocks = NULL;
    for (size_t have = 0, need; blocks == NULL; have = need) {
        uint8_t *head = room(have);
        memcpy(head, data, have);
        if (s->codec->read_blocks(head, have, size, wanted, 4096, &need, &blocks, &err) != ZS_OK)
            abort();
        free(head);
        if (blocks == NULL && (need <= have || need > size))
            abort(); /* it would ask for ever, or beyond the end */
    }
    return blocks;
}

static void check_blocks(const struct zs_stage *s, const struct zs_blocks *b, const uint8_t *data, size_t size,
                  const uint8_t *whole, struct zs_scratch *scratch)
{
    struct zs_error err = {""};
    uint64_t sum = 0;
    for (size_t i = 0; i < b->count; i++) {
        uint64_t offset, n;
        const size_t decoded = (size_t)zs_block_decoded(b, i);
        zs_block_range(b, i, &offset, &n);
        if (offset > size || n > size - offset)
            abort();
        uint8_t *in = room((size_t)n), *out = room(decoded);
        memcpy(in, data + offset, (size_t)n);
        enum zs_status status = ZS_OK;
        if (b->is_plain)
            memcpy(out, in, decoded);
        else
            status = s->codec->decode_block(b, i, scratch, in, out, &err);
        if (status == ZS_OK && whole != NULL && memcmp(out, whole + sum, decoded) != 0)
            abort();
        if (status != ZS_OK && err.message[0] == '\0')
            abort(); /* every failure says why */
        sum += decoded;
        free(in);
        free(out);
    }
    if (b->count > 0 && sum != b->size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zs_error err = {""};
    struct zs_stage chain[3];
    if (size < 3)
        return 0;
    const int count = chain_of(data[0] % CHAINS, chain);
    if (count == 0)
        return 0; /* this build lacks a library */
    const size_t wanted = (size_t)data[1] | (size_t)data[2] << 8;
    struct zs_scratch *scratch = zs_scratch_acquire();
    uint8_t *out = room(wanted), *in = room(size - 3);
    if (scratch == NULL)
        abort();
    memcpy(in, data + 3, size - 3);
    memset(out, 0x55, wanted);
    const bool is_whole = zs_bytes_decode(chain, count, scratch, in, size - 3, out, wanted, &err) == ZS_OK;
    if (is_whole) {
        uint8_t *again = room(wanted);
        memset(again, 0xAA, wanted);
        if (zs_bytes_decode(chain, count, scratch, in, size - 3, again, wanted, &err) != ZS_OK ||
            memcmp(out, again, wanted) != 0)
            abort(); /* not every byte was written */
        free(again);
    } else if (err.message[0] == '\0') {
        abort();
    }
    struct zs_buffer buffer = {0};
    if (zs_bytes_decode_up_to(chain, count, scratch, in, size - 3, wanted, &buffer, &err) == ZS_OK &&
        buffer.size > wanted)
        abort();
    zs_buffer_free(&buffer);
    if (count == 1 && chain[0].codec->read_blocks != NULL) {
        struct zs_blocks *blocks = table_of(&chain[0], in, size - 3, wanted);
        check_blocks(&chain[0], blocks, in, size - 3, is_whole ? out : NULL, scratch);
        free(blocks);
    }
    for (int i = 0; i < count; i++)
        zs_stage_clear(&chain[i]);
    zs_scratch_release(scratch);
    free(out);
    free(in);
    return 0;
}
