#include "codec/chain.h"

#include <string.h>

#include "base/checked.h"

/* Decoded text is rarely larger than LIKELY_RATIO times its encoded bytes plus LIKELY_BYTES. */
#define LIKELY_RATIO 16
#define LIKELY_BYTES ((size_t)64 << 10)

size_t zs_stored_count(const struct zs_stored_shape *chunk)
{
    uint64_t n = 0;
    return zs_product_u64(chunk->shape, chunk->ndim, &n) ? (size_t)n : 0;
}

bool zs_chunk_is_packed(const struct zs_level *level)
{
    return level->stage_count > 0 && level->stages[level->stage_count - 1].codec->unpack != NULL;
}

static const struct zs_stage *packer_of(const struct zs_level *level)
{
    return &level->stages[level->stage_count - 1];
}

static struct zs_stored_shape extent_of(const struct zs_level *level)
{
    struct zs_stored_shape chunk = {.ndim = level->ndim};
    for (int j = 0; j < level->ndim; j++)
        chunk.shape[j] = level->shape[level->axis[j]];
    return chunk;
}

enum zs_status zs_packed_bound(const struct zs_level *level, uint64_t *bound, struct zs_error *err)
{
    const struct zs_stored_shape chunk = extent_of(level);
    return packer_of(level)->codec->packed_bound(packer_of(level), &chunk, bound, err);
}

/* Undoes the bytes codecs. Texts are rarely much longer than their encoded bytes: decoders get room for a likely size
 * first, and for the most only if that is too little. */
static enum zs_status unpack_bytes(const struct zs_level *level, struct zs_scratch *scratch, const void *src, size_t n,
                                   struct zs_buffer *packed, struct zs_error *err)
{
    const size_t room = (size_t)level->stored_size;
    const size_t likely = n < room / LIKELY_RATIO ? LIKELY_RATIO * n + LIKELY_BYTES : room;
    if (level->texts == NULL)
        ZS_TRY(zs_buffer_reset(packed, room, err));
    else if (likely < room && zs_bytes_decode_up_to(level->bytes_codecs, level->bytes_codec_count, scratch, src, n,
                                                    likely, packed, NULL) == ZS_OK)
        return ZS_OK;
    ZS_TRY(zs_bytes_decode_up_to(level->bytes_codecs, level->bytes_codec_count, scratch, src, n, room, packed, err));
    return level->texts == NULL ? zs_buffer_reserve(packed, room, err) : ZS_OK;
}

enum zs_status zs_packed_decode(const struct zs_level *level, struct zs_scratch *scratch, const void *src, size_t n,
                                void *dst, struct zs_error *err)
{
    const struct zs_stage *packer = packer_of(level);
    const struct zs_stored_shape chunk = extent_of(level);
    const size_t count = (size_t)level->decoded_size / level->item_size;
    struct zs_buffer *packed = zs_scratch_buffer(scratch, ZS_SCRATCH_PACKED);
    ZS_TRY(unpack_bytes(level, scratch, src, n, packed, err));

    const bool is_direct = level->stage_count == 1 && (uintptr_t)dst % packer->in.swap_unit == 0;
    struct zs_buffer *stored = zs_scratch_buffer(scratch, ZS_SCRATCH_STORED);
    if (!is_direct)
        ZS_TRY(zs_buffer_reset(stored, count * packer->in.size, err));
    ZS_TRY(packer->codec->unpack(packer, &chunk, scratch, packed, is_direct ? dst : stored->data, err));
    if (level->stage_count > 1)
        return zs_stages_decode(level->stages, level->stage_count - 1, count, scratch, stored->data, dst, err);
    if (!is_direct)
        memcpy(dst, stored->data, (size_t)level->decoded_size);
    return ZS_OK;
}

enum zs_status zs_packed_encode(const struct zs_level *level, struct zs_scratch *scratch, void *src,
                                const void **encoded, size_t *n, struct zs_error *err)
{
    const struct zs_stage *packer = packer_of(level);
    const struct zs_stored_shape chunk = extent_of(level);
    const size_t count = (size_t)level->decoded_size / level->item_size;
    const void *data;
    struct zs_buffer *packed = zs_scratch_buffer(scratch, ZS_SCRATCH_PACKED);
    ZS_TRY(zs_stages_encode(level->stages, level->stage_count - 1, count, scratch, src, &data, err));
    ZS_TRY(packer->codec->pack(packer, &chunk, scratch, data, packed, err));
    return zs_bytes_encode(level->bytes_codecs, level->bytes_codec_count, scratch, packed->data, packed->size, encoded,
                           n, err);
}
