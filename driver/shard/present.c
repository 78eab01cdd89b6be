#include "shard/present.h"

#include <stdlib.h>
#include <string.h>

enum zs_status zs_bytes_read(const struct zs_bytes *b, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    if (b->memory == NULL)
        return zs_object_read(b->object, b->offset + offset, n, data, err);
    memcpy(data, b->memory + offset, n);
    return ZS_OK;
}

/* Undoes the bytes codecs of a whole shard. */
static enum zs_status decode(const struct zs_level *level, const struct zs_bytes *encoded, struct zs_buffer *out,
                             struct zs_error *err)
{
    const size_t limit = zs_level_bound(level);
    if (encoded->size > limit)
        return zs_fail(err, ZS_CORRUPT, "expected at most %zu encoded bytes, found %llu", limit,
                       (unsigned long long)encoded->size);
    struct zs_scratch *scratch = zs_scratch_acquire();
    if (scratch == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a scratch");
    struct zs_buffer *fetched = zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED);
    enum zs_status status = zs_buffer_reset(fetched, (size_t)encoded->size, err);
    if (status == ZS_OK)
        status = zs_bytes_read(encoded, 0, (size_t)encoded->size, fetched->data, err);
    if (status == ZS_OK)
        status = zs_bytes_decode_up_to(level->bytes_codecs, level->bytes_codec_count, scratch, fetched->data,
                                       (size_t)encoded->size, limit, out, err);
    zs_scratch_release(scratch);
    return status;
}

static enum zs_status read_index(const struct zs_level *level, const struct zs_bytes *bytes,
                                 struct zs_shard_index **index, struct zs_error *err)
{
    uint64_t at;
    /* before allocating for an index that cannot be there */
    ZS_TRY(zs_shard_index_offset(level, bytes->size, &at, err));
    struct zs_shard_index *x = zs_shard_index_alloc(level);
    if (x == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a shard index of %llu bytes",
                       (unsigned long long)level->index_size);
    x->shard_size = bytes->size;
    enum zs_status status = zs_bytes_read(bytes, at, (size_t)level->index_size, x->entries, err);
    if (status == ZS_OK)
        status = zs_shard_index_decode(level, x, err);
    if (status == ZS_OK)
        *index = x;
    else
        free(x);
    return status;
}

enum zs_status zs_present_open(const struct zs_level *level, const struct zs_bytes *encoded, struct zs_present *p,
                               struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    p->bytes = *encoded;
    if (level->bytes_codec_count > 0) {
        status = decode(level, encoded, &p->decoded, err);
        p->bytes = (struct zs_bytes){.memory = p->decoded.data, .size = p->decoded.size};
    }
    if (status == ZS_OK)
        status = read_index(level, &p->bytes, &p->index, err);
    if (status != ZS_OK)
        zs_present_clear(p);
    return status;
}

void zs_present_clear(struct zs_present *p)
{
    zs_buffer_free(&p->decoded);
    free(p->index);
    *p = (struct zs_present){0};
}

enum zs_status zs_present_chunk(const struct zs_level *level, const struct zs_present *p, uint64_t number,
                                bool *is_empty, struct zs_bytes *chunk, struct zs_error *err)
{
    uint64_t offset = 0;
    *is_empty = true;
    *chunk = p->bytes;
    if (p->index == NULL)
        return ZS_OK;
    ZS_TRY(zs_shard_index_entry(level, p->index, number, is_empty, &offset, &chunk->size, err));
    if (chunk->memory != NULL)
        chunk->memory += offset;
    else
        chunk->offset += offset;
    return ZS_OK;
}
