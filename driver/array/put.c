/* Leaf chunks that are written: loaded to be changed in part, and handed, encoded, to their shards. */
#include <stdlib.h>

#include "array/indexes.h"
#include "array/open_shards.h"

/* The encoded bytes of a leaf chunk, as they were put or else as the store has them, decoded into `data` too. Somebody
 * may be overwriting them at this moment: broken ones are read again then. */
static enum zs_status load(struct zs_array *a, struct zs_open_shard *s, uint64_t leaf, bool is_pending,
                           struct zs_scratch *scratch, bool *is_empty, struct zs_buffer *encoded, void *data,
                           struct zs_error *err)
{
    struct zs_level room;
    const struct zs_level *leaf_level = zs_grid_level(&a->grid, a->chain.count - 1, leaf, &room);
    for (int attempt = 0;; attempt++) {
        enum zs_status status =
            is_pending ? zs_shard_writer_get(s->writer, zs_grid_number_in_shard(&a->grid, leaf), is_empty, encoded, err)
                       : zs_leaf_read_present(a, s, leaf, is_empty, encoded, err);
        if (status == ZS_OK)
            status = zs_leaf_decode_present(a, leaf_level, scratch, *is_empty, encoded, data, err);
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

enum zs_status zs_unsaved_load(struct zs_array *a, uint64_t leaf, void *data, struct zs_touched **touched,
                             struct zs_error *err)
{
    struct zs_open_shard *s = NULL;
    if (a->unsaved->has_shards)
        ZS_TRY(zs_open_shard_get(a, zs_grid_shard(&a->grid, leaf), &s, err));
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&a->grid, a->chain.count - 1, leaf, &room);
    struct zs_scratch *scratch = zs_scratch_acquire();
    if (scratch == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a scratch");
    struct zs_buffer *encoded = zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED);
    const uint64_t number = zs_grid_number_in_shard(&a->grid, leaf);
    const bool is_pending = s != NULL && zs_shard_writer_has(s->writer, number);
    const struct zs_touched *before = is_pending ? zs_map_get(&s->touched, leaf) : NULL;
    bool is_empty;
    enum zs_status status = load(a, s, leaf, is_pending, scratch, &is_empty, encoded, data, err);
    if (status == ZS_OK && (before != NULL || !is_pending)) {
        *touched = is_pending ? zs_touched_copy(before)
                              : zs_touched_create(level, zs_grid_elements(&a->grid, a->chain.count - 1, leaf),
                                                  zs_leaf_content(is_empty, encoded));
        if (*touched == NULL)
            status = zs_fail(err, ZS_NO_MEMORY, "cannot keep a chunk");
        else if (!is_pending)
            (*touched)->version = zs_open_shard_version(s);
    } else {
        *touched = NULL;
    }
    zs_scratch_release(scratch);
    if (status != ZS_OK)
        return zs_fail_in_chunk(a, leaf, status, err);
    if (s == NULL)
        return ZS_OK;
    zs_open_shard_account(a->unsaved, s, true);
    status = zs_open_shards_close_idle(a, err);
    if (status != ZS_OK)
        free(*touched);
    return status;
}

/* A chunk that is an object of its own. */
static enum zs_status put_object(struct zs_array *a, uint64_t leaf, const void *data, size_t n,
                                 const struct zs_touched *touched, struct zs_error *err)
{
    struct zs_merged m = {0};
    struct zs_buffer present = {0};
    struct zs_lock *lock = NULL;
    bool is_empty = true;
    char *key = zs_shard_key(a, leaf);
    if (key == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key");
    enum zs_status status = a->is_new ? ZS_OK : zs_store_lock(a->store, key, &lock, err);
    if (status == ZS_OK)
        status = zs_array_check_document(a, err);
    if (status == ZS_OK && touched != NULL && !a->is_new)
        status = zs_leaf_read_present(a, NULL, leaf, &is_empty, &present, err);
    if (status == ZS_OK && touched != NULL && !a->is_new && zs_leaf_content(is_empty, &present) != touched->content) {
        const struct zs_buffer ours = {.data = (unsigned char *)data, .size = n};
        status = zs_merged_begin(a, leaf, &m, err);
        if (status == ZS_OK)
            status = zs_leaf_decode_present(a, m.leaf, m.scratch, data == NULL, &ours, m.ours.data, err);
        if (status == ZS_OK)
            status = zs_leaf_merge(a, touched, is_empty, &present, &m, err);
        data = m.encoded;
        n = m.n;
    }
    if (status == ZS_OK)
        status = data != NULL ? zs_store_put(a->store, key, data, n, err) : zs_store_remove(a->store, key, err);
    zs_store_unlock(a->store, lock);
    zs_merged_end(&m);
    zs_buffer_free(&present);
    free(key);
    zs_shard_forget(a, leaf);
    return status;
}

/* Keeps what is touched of a chunk beside its bytes; `before` is what was kept, and is not freed. */
static enum zs_status put_in_shard(struct zs_array *a, struct zs_open_shard *s, uint64_t leaf, const void *data,
                                   size_t n, struct zs_touched *touched, struct zs_touched *before,
                                   struct zs_error *err)
{
    if (touched != NULL && !zs_map_set(&s->touched, leaf, touched))
        return zs_fail(err, ZS_NO_MEMORY, "cannot keep a chunk");
    const enum zs_status status = zs_shard_writer_put(s->writer, zs_grid_number_in_shard(&a->grid, leaf), data, n, err);
    struct zs_touched *const kept = status == ZS_OK ? touched : before;
    if (kept == NULL)
        (void)zs_map_remove(&s->touched, leaf);
    else
        (void)zs_map_set(&s->touched, leaf, kept); /* it is there: nothing to allocate */
    return status;
}

enum zs_status zs_unsaved_put(struct zs_array *a, uint64_t leaf, const void *data, size_t n, struct zs_touched *touched,
                            enum zs_status *later, struct zs_error *err)
{
    *later = ZS_OK;
    if (!a->unsaved->has_shards) {
        ZS_TRY(put_object(a, leaf, data, n, touched, err));
        zs_cache_remove(a->chunks, (struct zs_cache_key){0, leaf});
        free(touched);
        return ZS_OK;
    }
    struct zs_open_shard *s;
    const uint64_t shard = zs_grid_shard(&a->grid, leaf);
    ZS_TRY(zs_open_shard_get(a, shard, &s, err));
    if (zs_shard_writer_is_broken(s->writer)) { /* what it has goes first */
        ZS_TRY(zs_open_shards_publish(a, &s, 1, err));
        ZS_TRY(zs_open_shard_get(a, shard, &s, err));
    }
    struct zs_touched *before = zs_map_get(&s->touched, leaf);
    ZS_TRY(put_in_shard(a, s, leaf, data, n, touched, before, err));
    free(before);
    zs_cache_remove(a->chunks, (struct zs_cache_key){0, leaf});
    zs_open_shard_account(a->unsaved, s, true);
    *later =
        zs_open_shard_is_complete(a, s) ? zs_open_shard_publish_complete(a, s, err) : zs_open_shards_close_idle(a, err);
    return ZS_OK;
}
