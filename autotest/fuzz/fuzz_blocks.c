/* Blosc frames of anyone's, read block by block: no byte is read or written beyond a block, and what the library makes of
 * the whole is what it makes of the parts. Bytes 0 and 1 are the size that is expected. */
#include <stdlib.h>

#include "codec/codec.h"
#include "fuzz.h"

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

static void check(const struct zs_stage *s, const struct zs_blocks *b, const uint8_t *data, size_t size,
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
    struct zs_error err;
    struct zs_form form = {.dtype = zs_dtype_of(ZS_UINT16)};
    struct zs_stage stage;
    const struct zs_codec *codec;
    if (size < 2 || zs_codec_find("blosc", &codec, &err) != ZS_OK ||
        zs_stage_parse(codec, NULL, &form, &stage, &err) != ZS_OK)
        return 0; /* not in this build */
    const size_t wanted = (size_t)data[0] | (size_t)data[1] << 8;
    struct zs_scratch *scratch = zs_scratch_acquire();
    uint8_t *whole = room(wanted);
    struct zs_blocks *blocks = table_of(&stage, data + 2, size - 2, wanted);
    size_t produced = 0;
    const bool is_whole =
        codec->decode(&stage, scratch, data + 2, size - 2, whole, wanted, &produced, &err) == ZS_OK &&
        produced == wanted;
    check(&stage, blocks, data + 2, size - 2, is_whole ? whole : NULL, scratch);
    free(blocks);
    free(whole);
    zs_scratch_release(scratch);
    zs_stage_clear(&stage);
    return 0;
}
