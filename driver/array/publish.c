/* Publishes shards, and chunks that are objects of their own: under their locks, or on the condition that what they
 * replace stays, over what is stored by then. */
#include <stdlib.h>
#include <string.h>

#include "array/array_private.h"
#include "array/pending.h"
#include "base/descriptors.h"
#include "base/limits.h"
#include "base/parallel.h"

/* Limit of shards with a writer, each an open file. Beyond it, and when the process has too many files, the shard that
 * is idle longest is published; it is copied if more of its chunks are written later. */
#define MAX_OPEN_SHARDS 256

/* Limit of the bytes of an object that GDAL holds in memory while it uploads it (vsi_write.c). */
#define SENT_BYTES ((uint64_t)128 << 20)

/* Age below which the document of a remote array is not read again, unless chunks at its edge are published: one more
 * request for each flush would be a quarter of all requests of a short task, and without locks its answer would not be
 * certain either. */
#define TRUSTED_SECONDS 10

/* ---- The array's document ---- */

/* Returns whether a shard, or a chunk that is an object of its own, reaches beyond the array's edge. Other writers may
 * have made the array longer, and their elements there must not be lost to chunks that look whole here. */
static bool is_at_edge(const struct zs_array *array, uint64_t shard)
{
    uint64_t start[ZS_MAX_NDIM], length[ZS_MAX_NDIM];
    bool is_beyond = false;
    zs_grid_extent(&array->grid, 0, shard, start, length);
    for (int d = 0; d < array->meta->ndim; d++)
        is_beyond = is_beyond || length[d] > array->meta->shape[d] - start[d];
    return is_beyond;
}

/* Fails when the stored array is gone or has another shape. */
static enum zs_status check_document(struct zs_array *array, bool trusts, struct zs_error *err)
{
    const time_t now = time(NULL);
    if (array->hierarchy == NULL ||
        (trusts && array->store->is_remote && now >= array->asked && now - array->asked < TRUSTED_SECONDS))
        return ZS_OK;
    ZS_TRY(zs_hierarchy_check_array(array->hierarchy, array->node, &array->document, err));
    array->asked = now;
    return ZS_OK;
}

/* Checks the array after another writer was faster: it may have replaced or removed the array. */
static enum zs_status check_after_conflict(const struct zs_array *array, struct zs_error *err)
{
    uint64_t version = 0;
    return array->hierarchy == NULL ? ZS_OK
                                    : zs_hierarchy_check_array(array->hierarchy, array->node, &version, err);
}

/* ---- Dirty chunks over stored ones ---- */

/* Decodes a stored chunk (NULL: there is none), puts the written elements over it, and encodes that: into the scratch;
 * NULL where all is fill value, unless it must be stored. */
static enum zs_status merge(struct zs_array *array, const struct zs_dirty *dirty, const struct zs_buffer *stored,
                            bool must_store, struct zs_scratch *scratch, const void **encoded, size_t *n,
                            struct zs_error *err)
{
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&array->grid, array->chain.count - 1, dirty->chunk, &room);
    const size_t size = (size_t)level->decoded_size;
    struct zs_buffer *decoded = zs_scratch_buffer(scratch, ZS_SCRATCH_DECODED);
    ZS_TRY(zs_buffer_reset(decoded, size, err));
    if (stored == NULL)
        zs_chunk_fill(array, level, decoded->data);
    else if (dirty->written != NULL)
        ZS_TRY(zs_chunk_decode_for_update(level, scratch, stored->data, stored->size, decoded->data, err));
    if (dirty->written != NULL)
        zs_written_apply(dirty->written, level, dirty->blob->data, decoded->data);
    else
        memcpy(decoded->data, dirty->blob->data, size);
    *encoded = NULL;
    *n = 0;
    return !must_store && zs_is_fill(array->meta, decoded->data, size)
               ? ZS_OK
               : zs_chunk_encode(level, scratch, decoded->data, encoded, n, err);
}

/* The dirty chunks of a shard, which are put into its writer. */
struct merging {
    struct zs_array *array;
    const struct zs_open_shard *shard;
    struct zs_dirty **list;
    pthread_mutex_t lock; /* of the writer, which serves one thread at a time */
};

static enum zs_status put_merged(const struct merging *merging, const struct zs_dirty *dirty,
                                 struct zs_scratch *scratch, struct zs_error *err)
{
    struct zs_shard_writer *writer = merging->shard->writer;
    const uint64_t number = zs_grid_number_in_shard(&merging->array->grid, dirty->chunk);
    struct zs_buffer *stored = zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED);
    const void *encoded;
    bool is_empty = true;
    size_t n;
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&merging->lock;
    enum zs_status status = ZS_OK;
    if (dirty->written != NULL) {
        (void)pthread_mutex_lock(lock);
        status = zs_shard_writer_get_stored(writer, number, &is_empty, stored, err);
        (void)pthread_mutex_unlock(lock);
    }
    if (status == ZS_OK)
        status = merge(merging->array, dirty, is_empty ? NULL : stored, false, scratch, &encoded, &n, err);
    if (status == ZS_OK) {
        (void)pthread_mutex_lock(lock);
        status = zs_shard_writer_put(writer, number, encoded, n, err);
        (void)pthread_mutex_unlock(lock);
    }
    return status == ZS_OK ? ZS_OK : zs_fail_in_chunk(merging->array, dirty->chunk, status, err);
}

static enum zs_status put_merged_item(void *ctx, size_t item, struct zs_error *err)
{
    const struct merging *merging = ctx;
    struct zs_scratch *scratch = zs_scratch_acquire();
    ZS_TRY_MEMORY(scratch, err);
    const enum zs_status status = put_merged(merging, merging->list[item], scratch, err);
    zs_scratch_release(scratch);
    return status;
}

/* Puts the dirty chunks of a shard, over what its writer is based on. They stay dirty until the shard is published. */
static enum zs_status put_dirty(struct zs_array *array, const struct zs_open_shard *shard, struct zs_error *err)
{
    struct merging merging = {.array = array, .shard = shard};
    const size_t n = shard->dirty.count;
    size_t at = 0;
    merging.list = zs_calloc(n, sizeof(struct zs_dirty *));
    ZS_TRY_MEMORY(merging.list, err);
    for (size_t i = 0; i < n; i++)
        merging.list[i] = zs_map_next(&shard->dirty, &at);
    (void)pthread_mutex_init(&merging.lock, NULL);
    const enum zs_status status = zs_parallel_for(array->threads, n, put_merged_item, &merging, err);
    (void)pthread_mutex_destroy(&merging.lock);
    free(merging.list);
    return status;
}

/* ---- One shard ---- */

/* Bases the writer on the object that is stored now. */
static enum zs_status open_stored(struct zs_array *array, struct zs_open_shard *shard, const char *key,
                                  struct zs_error *err)
{
    const struct zs_level *level = shard->levels != NULL ? shard->levels : array->chain.levels;
    struct zs_object *object = NULL;
    struct zs_shard_index *index = NULL;
    enum zs_status status;
    if (level->bytes_codec_count == 0) {
        status = zs_shard_read_index(array, level, key, &object, &index, err);
    } else { /* it is read as a whole, when a chunk of it is needed */
        zs_store_forget(array->store, key);
        status = zs_object_open(array->store, key, &object, err);
    }
    if (status != ZS_OK && status != ZS_NOT_FOUND)
        return status;
    if (object == NULL && array->store->is_remote) /* the array may be gone, too */
        ZS_TRY(check_after_conflict(array, err));
    if (zs_shard_is_other(array, shard->number, object))
        zs_cache_clear(&array->chunks); /* some chunks may have been decoded from an older object */
    return zs_shard_writer_base(shard->writer, index, object, err);
}

/* Publishes over the shard that is stored now; tries again when another writer was faster. */
static enum zs_status publish_over(struct zs_array *array, struct zs_open_shard *shard, const char *key,
                                   struct zs_error *err)
{
    const bool expects = zs_store_has_conditions(array->store);
    int tries = 0;
    for (;;) {
        enum zs_status status = open_stored(array, shard, key, err);
        if (status == ZS_OK)
            status = put_dirty(array, shard, err);
        if (status == ZS_OK)
            status = zs_shard_writer_publish(shard->writer, array->update, expects, &shard->is_lost, err);
        const struct zs_object *object = zs_shard_writer_object(shard->writer);
        if (status == ZS_CORRUPT) /* for the codecs of this array */
            ZS_TRY(check_after_conflict(array, err));
        if (shard->is_lost || (status != ZS_CONFLICT && !zs_object_is_overtaken(object, status)))
            return status;
        if (!(expects ? zs_conflict_again(&tries) : tries++ < ZS_STALE_RETRIES))
            return zs_fail_in(err, status, "tried %d times beside other writers of this shard, each time", tries);
        ZS_TRY(check_after_conflict(array, err));
    }
}

static enum zs_status publish_shard(struct zs_array *array, struct zs_open_shard *shard, struct zs_error *err)
{
    const bool is_alone = zs_shard_is_unpublished(array, shard->number);
    struct zs_lock *lock = NULL;
    char *key;
    ZS_TRY(zs_open_shard_ensure_writer(array, shard, err));
    ZS_TRY(zs_shard_key(array, shard->number, &key, err));
    enum zs_status status = is_alone ? ZS_OK : zs_store_lock(array->store, key, &lock, err);
    const bool is_over = !is_alone && !zs_open_shard_is_whole(array, shard);
    if (status == ZS_OK && is_over) {
        status = publish_over(array, shard, key, err);
    } else if (status == ZS_OK) {
        status = put_dirty(array, shard, err);
        if (status == ZS_OK)
            status = zs_shard_writer_publish(shard->writer, array->update, false, &shard->is_lost, err);
    }
    zs_store_unlock(array->store, lock);
    free(key);
    return status;
}

/* ---- Chunks that are objects of their own ---- */

/* Stores a chunk that was written in part over the stored one. */
static enum zs_status put_over(struct zs_array *array, const char *key, const struct zs_dirty *dirty,
                               struct zs_scratch *scratch, struct zs_error *err)
{
    const bool expects = zs_store_has_conditions(array->store);
    struct zs_buffer *stored = zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED);
    const void *encoded = NULL;
    char *etag = NULL;
    size_t n = 0;
    zs_store_forget(array->store, key);
    enum zs_status status =
        zs_store_get_tagged(array->store, key, zs_level_bound(array->innermost), stored, &etag, err);
    const bool is_empty = status == ZS_NOT_FOUND;
    if (status == ZS_OK || is_empty)
        status = merge(array, dirty, is_empty ? NULL : stored, expects && !is_empty, scratch, &encoded, &n,
                       err); /* a removal cannot be conditional */
    if (status == ZS_OK && encoded != NULL)
        status = zs_store_put_over(array->store, key, expects ? etag : NULL, encoded, n, err);
    else if (status == ZS_OK && !is_empty) /* an absent chunk stays absent: another writer may be storing it */
        status = zs_store_remove(array->store, key, err);
    free(etag);
    return status == ZS_OK || status == ZS_CONFLICT ? status : zs_fail_in_chunk(array, dirty->chunk, status, err);
}

/* Like put_over(), again when another writer was faster. */
static enum zs_status put_dirty_chunk(struct zs_array *array, const char *key, const struct zs_dirty *dirty,
                                      struct zs_error *err)
{
    struct zs_scratch *scratch = zs_scratch_acquire();
    int tries = 0;
    ZS_TRY_MEMORY(scratch, err);
    enum zs_status status = put_over(array, key, dirty, scratch, err);
    while (status == ZS_CONFLICT && zs_conflict_again(&tries)) {
        status = check_after_conflict(array, err);
        if (status == ZS_OK)
            status = put_over(array, key, dirty, scratch, err);
    }
    zs_scratch_release(scratch);
    return status;
}

/* Stores a chunk that is an object of its own, with the lock held where others may write it: one that is dirty, or
 * (NULL) was written whole and encoded. Removes it when it is empty (data NULL). */
static enum zs_status publish_chunk(struct zs_array *array, uint64_t chunk, const struct zs_dirty *dirty,
                                    const void *data, size_t n, struct zs_error *err)
{
    struct zs_lock *lock = NULL;
    char *key;
    ZS_TRY(zs_shard_key(array, chunk, &key, err));
    enum zs_status status =
        zs_array_is_unpublished(array) ? ZS_OK : zs_store_lock(array->store, key, &lock, err);
    if (status == ZS_OK && dirty != NULL)
        status = put_dirty_chunk(array, key, dirty, err);
    else if (status == ZS_OK)
        status = data != NULL ? zs_store_put(array->store, key, data, n, err)
                              : zs_store_remove(array->store, key, err);
    zs_store_unlock(array->store, lock);
    free(key);
    zs_shard_forget(array, chunk);
    return status;
}

static enum zs_status publish_dirty_chunk(struct zs_array *array, struct zs_open_shard *shard, struct zs_error *err)
{
    const struct zs_dirty *dirty = zs_map_get(&shard->dirty, shard->number);
    return dirty != NULL ? publish_chunk(array, shard->number, dirty, NULL, 0, err) : ZS_OK;
}

/* ---- Several shards ---- */

struct publishing {
    struct zs_array *array;
    struct zs_open_shard *const *list;
    pthread_mutex_t lock; /* of what follows */
    enum zs_status status; /* the first failure */
    struct zs_error err;
};

/* Publishes one shard. May run in any thread, beside others. */
static enum zs_status publish_item(void *ctx, size_t item, struct zs_error *unused)
{
    struct publishing *publishing = ctx;
    struct zs_array *array = publishing->array;
    struct zs_open_shard *shard = publishing->list[item];
    struct zs_error err = {""};
    (void)unused;
    shard->status = (array->chain.count > 1 ? publish_shard : publish_dirty_chunk)(array, shard, &err);
    zs_shard_forget(array, shard->number);
    (void)pthread_mutex_lock(&publishing->lock);
    if (publishing->status == ZS_OK) {
        publishing->status = shard->status;
        publishing->err = err;
    }
    (void)pthread_mutex_unlock(&publishing->lock);
    return ZS_OK; /* the others go on */
}

/* Notes that a new array has a shard, or a chunk that is an object of its own. */
static void note_published(struct zs_array *array, uint64_t shard)
{
    if (array->is_new && !zs_map_set(&array->pending->published, shard, array))
        array->is_new = false; /* look for every shard from now on */
}

/* Drops a shard that was published, or lost. Another stays for another try. */
static void finish(struct zs_array *array, struct zs_open_shard *shard)
{
    struct zs_pending *pending = array->pending;
    if (shard->status == ZS_OK)
        note_published(array, shard->number);
    if (shard->is_lost)
        zs_cache_clear(&array->chunks); /* some chunks were decoded from bytes that are lost now */
    if (shard->status == ZS_OK || shard->is_lost)
        zs_open_shard_drop(array, shard);
    else
        shard->stamp = ++pending->stamp; /* when there are too many, others are tried first */
}

/* Returns whether shards wait to be sent side by side, because each upload waits for the network. Where uploads run in
 * the background (zs_store_overlaps()), no shard waits. */
static bool goes_side_by_side(const struct zs_array *array)
{
    return array->store->is_remote && !zs_store_overlaps(array->store);
}

/* Returns how many of these shards may be published at once: GDAL holds the bytes of uploads in memory. Chunks that are
 * objects are encoded meanwhile. */
static size_t most_at_once(const struct zs_array *array, struct zs_open_shard *const *list, size_t n)
{
    uint64_t largest = 1;
    if (!goes_side_by_side(array))
        return array->chain.count == 1 ? (size_t)array->threads : 1;
    for (size_t i = 0; i < n; i++)
        if (list[i]->writer != NULL)
            largest = zs_max_u64(largest, zs_shard_writer_most_bytes(list[i]->writer));
    const uint64_t slots = zs_budget() / zs_min_u64(largest, SENT_BYTES);
    return (size_t)zs_max_u64(1, zs_min_u64(slots, ZS_MOST_UPLOADS));
}

/* Publishes n shards side by side. Goes on after a failure, and returns the first. */
static enum zs_status publish_shards(struct zs_array *array, struct zs_open_shard *const *list, size_t n,
                                     struct zs_error *err)
{
    struct publishing publishing = {.array = array, .list = list, .status = ZS_OK};
    bool trusts = true;
    for (size_t i = 0; i < n; i++)
        trusts = trusts && !is_at_edge(array, list[i]->number);
    ZS_TRY(check_document(array, trusts, err));
    (void)pthread_mutex_init(&publishing.lock, NULL);
    const enum zs_status none =
        zs_parallel_for((int)most_at_once(array, list, n), n, publish_item, &publishing, err);
    (void)none;
    (void)pthread_mutex_destroy(&publishing.lock);
    for (size_t i = 0; i < n; i++)
        finish(array, list[i]);
    return publishing.status == ZS_OK ? ZS_OK : zs_fail(err, publishing.status, "%s", publishing.err.message);
}

static int by_age(const void *x, const void *y)
{
    const struct zs_open_shard *p = *(struct zs_open_shard *const *)x, *q = *(struct zs_open_shard *const *)y;
    return (p->stamp > q->stamp) - (p->stamp < q->stamp);
}

/* Lists shards, the oldest first: those that have a writer or not, and dirty chunks or not. NULL without memory. */
static struct zs_open_shard **list_shards(const struct zs_pending *pending, bool without_writer, bool with_dirty,
                                          size_t *n, struct zs_error *err)
{
    struct zs_open_shard **list = zs_calloc(pending->shards.count, sizeof *list);
    size_t at = 0;
    *n = 0;
    if (list == NULL)
        (void)zs_fail_memory(err);
    for (struct zs_open_shard *shard; list != NULL && (shard = zs_map_next(&pending->shards, &at)) != NULL;)
        if ((without_writer || shard->writer != NULL) && (with_dirty || shard->dirty.count == 0))
            list[(*n)++] = shard;
    if (list != NULL)
        qsort(list, *n, sizeof *list, by_age);
    return list;
}

/* Bytes of the dirty chunks of a shard. */
static uint64_t dirty_bytes(const struct zs_open_shard *shard)
{
    uint64_t bytes = 0;
    size_t at = 0;
    for (const struct zs_dirty *dirty; (dirty = zs_map_next(&shard->dirty, &at)) != NULL;)
        bytes += dirty->blob->size + (dirty->written != NULL ? dirty->written->size : 0);
    return bytes;
}

enum zs_status zs_pending_publish_down_to(struct zs_array *array, uint64_t keep, struct zs_error *err)
{
    size_t count, n = 0;
    uint64_t left = array->pending->bytes;
    struct zs_open_shard **list = list_shards(array->pending, true, true, &count, err);
    if (list == NULL)
        return ZS_NO_MEMORY;
    for (size_t i = 0; i < count && (left > keep || keep == 0); i++) {
        const uint64_t bytes = keep == 0 ? 0 : dirty_bytes(list[i]);
        if (bytes > 0 || keep == 0)
            list[n++] = list[i];
        left -= bytes;
    }
    const enum zs_status status = publish_shards(array, list, n, err);
    free(list);
    return status;
}

/* ---- Taking chunks ---- */

enum zs_status zs_pending_put(struct zs_array *array, uint64_t chunk, const void *data, size_t n, struct zs_error *err)
{
    struct zs_open_shard *shard;
    zs_cache_remove(&array->chunks, (struct zs_cache_key){0, chunk});
    if (array->chain.count == 1) {
        ZS_TRY(check_document(array, !is_at_edge(array, chunk), err));
        ZS_TRY(publish_chunk(array, chunk, NULL, data, n, err));
        note_published(array, chunk);
        return ZS_OK;
    }
    ZS_TRY(zs_open_shard_get(array, chunk, &shard, err));
    ZS_TRY(zs_open_shard_ensure_writer(array, shard, err));
    return zs_shard_writer_put(shard->writer, zs_grid_number_in_shard(&array->grid, chunk), data, n, err);
}

enum zs_status zs_pending_publish_whole(struct zs_array *array, uint64_t chunk, struct zs_error *err)
{
    struct zs_open_shard *shard = zs_open_shard_find(array, chunk), *list[ZS_MOST_UPLOADS];
    size_t n = 0, at = 0;
    if (shard == NULL || !zs_open_shard_is_whole(array, shard))
        return ZS_OK;
    if (!goes_side_by_side(array))
        return publish_shards(array, &shard, 1, err);
    while (n < ZS_MOST_UPLOADS && (shard = zs_map_next(&array->pending->shards, &at)) != NULL)
        if (zs_open_shard_is_whole(array, shard) && shard->status == ZS_OK)
            list[n++] = shard;
    return n < most_at_once(array, list, n) ? ZS_OK : publish_shards(array, list, n, err);
}

enum zs_status zs_pending_limit(struct zs_array *array, bool with_dirty, struct zs_error *err)
{
    const struct zs_pending *pending = array->pending;
    size_t n = 2;
    while (n > 1 && (pending->writer_count > MAX_OPEN_SHARDS || (pending->writer_count > 1 && zs_files_are_scarce()))) {
        struct zs_open_shard **list = list_shards(pending, false, with_dirty, &n, err);
        if (list == NULL)
            return ZS_NO_MEMORY;
        const size_t others = n > 0 ? n - 1 : 0, most = most_at_once(array, list, others); /* the youngest is in use */
        const enum zs_status status =
            others > 0 ? publish_shards(array, list, others < most ? others : most, err) : ZS_OK;
        free(list);
        ZS_TRY(status);
    }
    return ZS_OK;
}
