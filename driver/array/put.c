/* Innermost chunks that are written: loaded to be changed in part, and handed, encoded, to their shards. */
#include <stdlib.h>

#include "array/indexes.h"
#include "array/open_shards.h"

/* The encoded bytes of an innermost chunk, as they were put or else as the store has them, decoded into `data` too.
 * Somebody may be overwriting them at this moment: broken ones are read again then. */
static enum zs_status load(struct zs_array *a, struct zs_open_shard *s, uint64_t chunk, bool is_pending,
                           struct zs_scratch *scratch, bool *is_empty, struct zs_buffer *encoded, void *data,
                           struct zs_error *err)
{
    struct zs_level room;
    const struct zs_level *innermost = zs_grid_level(&a->grid, a->chain.count - 1, chunk, &room);
    for (int attempt = 0;; attempt++) {
        enum zs_status status = is_pending ? zs_shard_writer_get(s->writer, zs_grid_number_in_shard(&a->grid, chunk),
                                                                 is_empty, encoded, err)
                                           : zs_chunk_read_present(a, s, chunk, is_empty, encoded, err);
        if (status == ZS_OK)
            status = zs_chunk_decode_present(a, innermost, scratch, *is_empty, encoded, data, err);
        const struct zs_object *object = s != NULL && !is_pending ? zs_shard_writer_object(s->writer) : NULL;
        const bool is_old = object != NULL && (zs_object_is_stale(object) ||
                                               (status == ZS_CORRUPT && zs_object_is_changed(object, true)));
        if (status == ZS_OK || attempt == ZS_STALE_RETRIES || !is_old)
            return status;
        char *key = zs_shard_key(a, s->shard);
        status = key != NULL ? zs_open_shard_reopen(a, s, key, err)
                             : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key");
        free(key);
        ZS_TRY(status);
    }
}

enum zs_status zs_pending_load(struct zs_array *a, uint64_t chunk, void *data, struct zs_written **written,
                               struct zs_error *err)
{
    struct zs_open_shard *s = NULL;
    if (a->pending->has_shards)
        ZS_TRY(zs_open_shard_get(a, zs_grid_shard(&a->grid, chunk), &s, err));
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&a->grid, a->chain.count - 1, chunk, &room);
    struct zs_scratch *scratch = zs_scratch_acquire();
    if (scratch == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a scratch");
    struct zs_buffer *encoded = zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED);
    const uint64_t number = zs_grid_number_in_shard(&a->grid, chunk);
    const bool is_pending = s != NULL && zs_shard_writer_has(s->writer, number);
    const struct zs_written *before = is_pending ? zs_map_get(&s->written, chunk) : NULL;
    bool is_empty;
    enum zs_status status = load(a, s, chunk, is_pending, scratch, &is_empty, encoded, data, err);
    if (status == ZS_OK && (before != NULL || !is_pending)) {
        *written = is_pending ? zs_written_copy(before)
                              : zs_written_create(level, zs_grid_elements(&a->grid, a->chain.count - 1, chunk),
                                                  zs_chunk_content(is_empty, encoded));
        if (*written == NULL)
            status = zs_fail(err, ZS_NO_MEMORY, "cannot keep a chunk");
        else if (!is_pending)
            (*written)->version = zs_open_shard_version(s);
    } else {
        *written = NULL;
    }
    zs_scratch_release(scratch);
    if (status != ZS_OK)
        return zs_fail_in_chunk(a, chunk, status, err);
    if (s == NULL)
        return ZS_OK;
    zs_open_shard_account(a->pending, s, true);
    status = zs_open_shards_close_idle(a, err);
    if (status != ZS_OK)
        free(*written);
    return status;
}

/* A chunk that is an object of its own. */
static enum zs_status put_object(struct zs_array *a, uint64_t chunk, const void *data, size_t n,
                                 const struct zs_written *written, struct zs_error *err)
{
    struct zs_merged m = {0};
    struct zs_buffer present = {0};
    struct zs_lock *lock = NULL;
    bool is_empty = true;
    char *key = zs_shard_key(a, chunk);
    if (key == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key");
    enum zs_status status = a->is_new ? ZS_OK : zs_store_lock(a->store, key, &lock, err);
    if (status == ZS_OK)
        status = zs_array_check_document(a, err);
    if (status == ZS_OK && written != NULL && !a->is_new)
        status = zs_chunk_read_present(a, NULL, chunk, &is_empty, &present, err);
    if (status == ZS_OK && written != NULL && !a->is_new && zs_chunk_content(is_empty, &present) != written->content) {
        const struct zs_buffer ours = {.data = (unsigned char *)data, .size = n};
        status = zs_merged_begin(a, chunk, &m, err);
        if (status == ZS_OK)
            status = zs_chunk_decode_present(a, m.level, m.scratch, data == NULL, &ours, m.ours.data, err);
        if (status == ZS_OK)
            status = zs_chunk_merge(a, written, is_empty, &present, &m, err);
        data = m.encoded;
        n = m.n;
    }
    if (status == ZS_OK)
        status = data != NULL ? zs_store_put(a->store, key, data, n, err) : zs_store_remove(a->store, key, err);
    zs_store_unlock(a->store, lock);
    zs_merged_end(&m);
    zs_buffer_free(&present);
    free(key);
    zs_shard_forget(a, chunk);
    return status;
}

/* Keeps what is touched of a chunk beside its bytes; `before` is what was kept, and is not freed. */
static enum zs_status put_in_shard(struct zs_array *a, struct zs_open_shard *s, uint64_t chunk, const void *data,
                                   size_t n, struct zs_written *written, struct zs_written *before,
                                   struct zs_error *err)
{
    if (written != NULL && !zs_map_set(&s->written, chunk, written))
        return zs_fail(err, ZS_NO_MEMORY, "cannot keep a chunk");
    const enum zs_status status =
        zs_shard_writer_put(s->writer, zs_grid_number_in_shard(&a->grid, chunk), data, n, err);
    struct zs_written *const kept = status == ZS_OK ? written : before;
    if (kept == NULL)
        (void)zs_map_remove(&s->written, chunk);
    else
        (void)zs_map_set(&s->written, chunk, kept); /* it is there: nothing to allocate */
    return status;
}

enum zs_status zs_pending_put(struct zs_array *a, uint64_t chunk, const void *data, size_t n,
                              struct zs_written *written, enum zs_status *later, struct zs_error *err)
{
    *later = ZS_OK;
    if (!a->pending->has_shards) {
        ZS_TRY(put_object(a, chunk, data, n, written, err));
        zs_cache_remove(a->chunks, (struct zs_cache_key){0, chunk});
        free(written);
        return ZS_OK;
    }
    struct zs_open_shard *s;
    const uint64_t shard = zs_grid_shard(&a->grid, chunk);
    ZS_TRY(zs_open_shard_get(a, shard, &s, err));
    if (zs_shard_writer_is_broken(s->writer)) { /* what it has goes first */
        ZS_TRY(zs_open_shards_publish(a, &s, 1, err));
        ZS_TRY(zs_open_shard_get(a, shard, &s, err));
    }
    struct zs_written *before = zs_map_get(&s->written, chunk);
    ZS_TRY(put_in_shard(a, s, chunk, data, n, written, before, err));
    free(before);
    zs_cache_remove(a->chunks, (struct zs_cache_key){0, chunk});
    zs_open_shard_account(a->pending, s, true);
    *later =
        zs_open_shard_is_complete(a, s) ? zs_open_shard_publish_complete(a, s, err) : zs_open_shards_close_idle(a, err);
    return ZS_OK;
}
