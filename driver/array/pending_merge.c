/* Merges the written elements of a chunk into the chunk that is stored by then, which others may have changed. */
#include <stdlib.h>

#include "array/indexes.h"
#include "array/pending_private.h"

/* ---- Reading the stored chunk ---- */

/* Decodes an innermost chunk for a change; an empty one becomes fill values. */
static enum zs_status decode_present(const struct zs_array *array, const struct zs_level *level,
                                     struct zs_scratch *scratch, bool is_empty, const struct zs_buffer *encoded,
                                     void *data, struct zs_error *err)
{
    if (!is_empty)
        return zs_chunk_decode_for_update(level, scratch, encoded->data, encoded->size, data, err);
    zs_chunk_fill(array, level, data);
    return ZS_OK;
}

/* Reads a chunk that is an object of its own, bypassing all caches. Returns its ETag in `etag`, unless that is NULL,
 * for a conditional commit. */
static enum zs_status read_object(struct zs_array *array, const char *key, bool *is_empty, struct zs_buffer *out,
                                  char **etag, struct zs_error *err)
{
    zs_store_forget(array->store, key);
    const enum zs_status status =
        zs_store_get_tagged(array->store, key, zs_level_bound(array->innermost), out, etag, err);
    *is_empty = status == ZS_NOT_FOUND;
    return *is_empty ? ZS_OK : status;
}

/* Reads the stored, encoded bytes of an innermost chunk; `shard` is its open shard, NULL where chunks are objects. */
static enum zs_status read_present(struct zs_array *array, struct zs_open_shard *shard, uint64_t chunk, bool *is_empty,
                                   struct zs_buffer *out, struct zs_error *err)
{
    if (shard != NULL) {
        const uint64_t number = zs_grid_number_in_shard(&array->grid, chunk);
        ZS_TRY(zs_open_shard_ensure_base(array, shard, err));
        return zs_shard_writer_get_stored(shard->writer, number, is_empty, out, err);
    }
    char *key;
    ZS_TRY(zs_shard_key(array, chunk, &key, err));
    const enum zs_status status = read_object(array, key, is_empty, out, NULL, err);
    free(key);
    return status;
}

/* Returns a number that identifies the stored bytes: zs_content_of(). */
static uint64_t content_of(bool is_empty, const struct zs_buffer *encoded)
{
    return zs_content_of(is_empty ? NULL : encoded->data, encoded->size);
}

/* ---- Before a chunk is written in part ---- */

/* Reads the encoded bytes of an innermost chunk, pending or stored, and decodes them into `data`. Another writer may be
 * overwriting them at this moment: damaged bytes are read again. */
static enum zs_status load(struct zs_array *array, struct zs_open_shard *shard, uint64_t chunk, bool is_pending,
                           struct zs_scratch *scratch, bool *is_empty, struct zs_buffer *encoded, void *data,
                           struct zs_error *err)
{
    struct zs_level room;
    const struct zs_level *innermost = zs_grid_level(&array->grid, array->chain.count - 1, chunk, &room);
    const uint64_t number = zs_grid_number_in_shard(&array->grid, chunk);
    for (int attempt = 0;; attempt++) {
        enum zs_status status = is_pending ? zs_shard_writer_get(shard->writer, number, is_empty, encoded, err)
                                           : read_present(array, shard, chunk, is_empty, encoded, err);
        if (status == ZS_OK)
            status = decode_present(array, innermost, scratch, *is_empty, encoded, data, err);
        const struct zs_object *object = shard != NULL && !is_pending ? zs_shard_writer_object(shard->writer) : NULL;
        const bool is_old = object != NULL && (zs_object_is_stale(object) ||
                                               (status == ZS_CORRUPT && zs_object_is_changed(object, true)));
        if (status == ZS_OK || attempt == ZS_STALE_RETRIES || !is_old)
            return status;
        char *key;
        ZS_TRY(zs_shard_key(array, shard->number, &key, err));
        status = zs_open_shard_reopen(array, shard, key, err);
        free(key);
        ZS_TRY(status);
    }
}

enum zs_status zs_merge_load(struct zs_array *array, struct zs_open_shard *shard, uint64_t chunk, void *data,
                             struct zs_written **written, struct zs_error *err)
{
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&array->grid, array->chain.count - 1, chunk, &room);
    struct zs_scratch *scratch = zs_scratch_acquire();
    ZS_TRY_MEMORY(scratch, err);
    struct zs_buffer *encoded = zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED);
    const uint64_t number = zs_grid_number_in_shard(&array->grid, chunk);
    const bool is_pending = shard != NULL && zs_shard_writer_has(shard->writer, number);
    const struct zs_written *before = is_pending ? zs_map_get(&shard->written, chunk) : NULL;
    bool is_empty;
    enum zs_status status = load(array, shard, chunk, is_pending, scratch, &is_empty, encoded, data, err);
    if (status == ZS_OK && (before != NULL || !is_pending)) {
        *written = is_pending ? zs_written_copy(before)
                              : zs_written_create(level, zs_grid_elements(&array->grid, array->chain.count - 1, chunk),
                                                  content_of(is_empty, encoded));
        if (*written == NULL)
            status = zs_fail_memory(err);
        else if (!is_pending)
            (*written)->version = zs_open_shard_version(shard);
    } else {
        *written = NULL;
    }
    zs_scratch_release(scratch);
    return status == ZS_OK ? ZS_OK : zs_fail_in_chunk(array, chunk, status, err);
}

/* ---- Merging written elements into the stored chunk ---- */

/* A chunk that was written in part and that others changed meanwhile. */
struct merge {
    struct zs_level room;
    const struct zs_level *level;
    struct zs_scratch *scratch;
    struct zs_buffer ours, theirs; /* decoded */
    const void *encoded;           /* the result; NULL: the chunk is empty */
    size_t n;
};

/* Merges our elements into theirs, which `present` encodes. The caller has filled merge->ours. */
static enum zs_status merge_elements(struct zs_array *array, const struct zs_written *written, bool is_empty,
                            const struct zs_buffer *present, struct merge *merge, struct zs_error *err)
{
    const size_t size = (size_t)merge->level->decoded_size;
    ZS_TRY(zs_buffer_reset(&merge->theirs, size, err));
    ZS_TRY(decode_present(array, merge->level, merge->scratch, is_empty, present, merge->theirs.data, err));
    zs_written_apply(written, merge->level, merge->ours.data, merge->theirs.data);
    merge->encoded = NULL;
    merge->n = 0;
    return zs_is_fill(array->meta, merge->theirs.data, size)
               ? ZS_OK
               : zs_chunk_encode(merge->level, merge->scratch, merge->theirs.data, &merge->encoded, &merge->n, err);
}

/* Allocates merge->ours, for the caller to fill. Released with merge_end(), also on failure. */
static enum zs_status merge_begin(struct zs_array *array, uint64_t chunk, struct merge *merge, struct zs_error *err)
{
    *merge = (struct merge){.scratch = zs_scratch_acquire()};
    merge->level = zs_grid_level(&array->grid, array->chain.count - 1, chunk, &merge->room);
    ZS_TRY_MEMORY(merge->scratch, err);
    return zs_buffer_reset(&merge->ours, (size_t)merge->level->decoded_size, err);
}

static void merge_end(struct merge *merge)
{
    zs_buffer_free(&merge->ours);
    zs_buffer_free(&merge->theirs);
    zs_scratch_release(merge->scratch);
}

enum zs_status zs_merge_into_shard(struct zs_array *array, struct zs_open_shard *shard, uint64_t chunk,
                                   struct zs_written *written, struct zs_error *err)
{
    const uint64_t number = zs_grid_number_in_shard(&array->grid, chunk);
    struct zs_buffer present = {0}, pending = {0};
    bool is_empty, is_empty_here;
    enum zs_status status = read_present(array, shard, chunk, &is_empty, &present, err);
    const uint64_t content = status == ZS_OK ? content_of(is_empty, &present) : 0;
    if (status == ZS_OK && content != written->content) {
        struct merge merge;
        status = merge_begin(array, chunk, &merge, err);
        if (status == ZS_OK)
            status = zs_shard_writer_get(shard->writer, number, &is_empty_here, &pending, err);
        if (status == ZS_OK)
            status = decode_present(array, merge.level, merge.scratch, is_empty_here, &pending, merge.ours.data, err);
        if (status == ZS_OK)
            status = merge_elements(array, written, is_empty, &present, &merge, err);
        if (status == ZS_OK)
            status = zs_shard_writer_put(shard->writer, number, merge.encoded, merge.n, err);
        if (status == ZS_OK)
            written->content = content;
        merge_end(&merge);
    }
    if (status == ZS_OK)
        written->version = zs_open_shard_version(shard);
    zs_buffer_free(&present);
    zs_buffer_free(&pending);
    return status == ZS_OK ? ZS_OK : zs_fail_in_chunk(array, chunk, status, err);
}

/* Encodes a chunk of fill values, because a removal cannot be conditional. */
static enum zs_status encode_fill(struct zs_array *array, struct merge *merge, struct zs_error *err)
{
    zs_chunk_fill(array, merge->level, merge->ours.data);
    return zs_chunk_encode(merge->level, merge->scratch, merge->ours.data, &merge->encoded, &merge->n, err);
}

enum zs_status zs_merge_into_object(const struct zs_chunk_object *object, struct zs_error *err)
{
    struct zs_array *array = object->array;
    const bool expects = zs_store_has_conditions(array->store);
    struct zs_buffer present = {0};
    struct merge merge = {0};
    char *etag = NULL;
    bool is_empty = true;
    enum zs_status status = read_object(array, object->key, &is_empty, &present, &etag, err);
    const bool is_changed = status == ZS_OK && content_of(is_empty, &present) != object->written->content;
    /* Otherwise the caller's bytes are stored as they are. */
    if (is_changed || (status == ZS_OK && object->data == NULL))
        status = merge_begin(array, object->chunk, &merge, err);
    merge.encoded = object->data;
    merge.n = object->n;
    if (status == ZS_OK && is_changed) {
        const struct zs_buffer ours = {.data = (unsigned char *)object->data, .size = object->n};
        status = decode_present(array, merge.level, merge.scratch, object->data == NULL, &ours, merge.ours.data, err);
        if (status == ZS_OK)
            status = merge_elements(array, object->written, is_empty, &present, &merge, err);
    }
    if (status == ZS_OK && merge.encoded == NULL && expects && !is_empty)
        status = encode_fill(array, &merge, err);
    if (status == ZS_OK && merge.encoded != NULL)
        status = zs_store_put_over(array->store, object->key, expects ? zs_store_expected(array->store, etag) : NULL,
                                   merge.encoded, merge.n, err);
    else if (status == ZS_OK && !is_empty) /* an absent chunk stays absent: another writer may be storing it */
        status = zs_store_remove(array->store, object->key, err);
    merge_end(&merge);
    zs_buffer_free(&present);
    free(etag);
    return status;
}
