/* Innermost chunks of which a part was written, over what the store has of them by then. */
#include <stdlib.h>

#include "array/open_shards.h"

enum zs_status zs_chunk_decode_present(const struct zs_array *a, const struct zs_level *level,
                                       struct zs_scratch *scratch, bool is_empty, const struct zs_buffer *encoded,
                                       void *data, struct zs_error *err)
{
    if (!is_empty)
        return zs_chunk_decode_for_update(level, scratch, encoded->data, encoded->size, data, err);
    zs_chunk_fill(a, level, data);
    return ZS_OK;
}

/* The encoded bytes that the store has of an innermost chunk; `s` is its open shard, NULL where chunks are objects. */
enum zs_status zs_chunk_read_present(struct zs_array *a, struct zs_open_shard *s, uint64_t chunk, bool *is_empty,
                                     struct zs_buffer *out, struct zs_error *err)
{
    if (s != NULL)
        ZS_TRY(zs_open_shard_need(a, s, err));
    if (s != NULL)
        return zs_shard_writer_get_present(s->writer, zs_grid_number_in_shard(&a->grid, chunk), is_empty, out, err);
    char *key = zs_shard_key(a, chunk);
    if (key == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key");
    zs_store_forget(a->store, key);
    enum zs_status status = zs_store_get(a->store, key, zs_level_bound(a->innermost), out, err);
    free(key);
    *is_empty = status == ZS_NOT_FOUND;
    return *is_empty ? ZS_OK : status;
}

uint64_t zs_chunk_content(bool is_empty, const struct zs_buffer *encoded)
{
    return zs_content_of(is_empty ? NULL : encoded->data, encoded->size);
}

/* Puts our elements over theirs: `ours` is filled in, and so are the bytes that the store has now. */
enum zs_status zs_chunk_merge(struct zs_array *a, const struct zs_written *written, bool is_empty,
                              const struct zs_buffer *present, struct zs_merged *m, struct zs_error *err)
{
    const size_t size = (size_t)m->level->decoded_size;
    ZS_TRY(zs_buffer_reset(&m->theirs, size, err));
    ZS_TRY(zs_chunk_decode_present(a, m->level, m->scratch, is_empty, present, m->theirs.data, err));
    zs_written_apply(written, m->level, m->ours.data, m->theirs.data);
    m->encoded = NULL;
    m->n = 0;
    return zs_is_fill(a->meta, m->theirs.data, size)
               ? ZS_OK
               : zs_chunk_encode(m->level, m->scratch, m->theirs.data, &m->encoded, &m->n, err);
}

enum zs_status zs_merged_begin(struct zs_array *a, uint64_t chunk, struct zs_merged *m, struct zs_error *err)
{
    *m = (struct zs_merged){.scratch = zs_scratch_acquire()};
    m->level = zs_grid_level(&a->grid, a->chain.count - 1, chunk, &m->room);
    if (m->scratch == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a scratch");
    return zs_buffer_reset(&m->ours, (size_t)m->level->decoded_size, err);
}

void zs_merged_end(struct zs_merged *m)
{
    zs_buffer_free(&m->ours);
    zs_buffer_free(&m->theirs);
    zs_scratch_release(m->scratch);
}
