/* Takes chunks, and publishes built shards and chunks that are objects of their own, under their locks, over the
 * objects that are stored by then. */
#include <stdlib.h>

#include "array/indexes.h"
#include "array/pending_private.h"
#include "base/descriptors.h"
#include "base/limits.h"
#include "base/parallel.h"

/* Limit of open shards, each an open file. Beyond it, and when the process has too many files, the shard that is idle
 * longest is published; it is copied if more of its chunks are written later. */
#define MAX_OPEN_SHARDS 256

/* Limit of the bytes of an object that GDAL holds in memory while it uploads it (vsi.c). */
#define SENT_BYTES ((uint64_t)128 << 20)

/* Age below which the document of a remote array is not read again, unless chunks at its edge are published, or a shard
 * that is not there: one more request for each flush would be a quarter of all requests of a short task, and without
 * locks its answer would not be certain either. */
#define TRUSTED_SECONDS 10

/* ---- Shards ---- */

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

/* Returns whether publishing itself detects that others changed the shard, so that no request is needed to check it. */
static bool detects_conflict(const struct zs_array *array, const struct zs_open_shard *shard, bool expects)
{
    const struct zs_object *object = zs_shard_writer_object(shard->writer);
    const uint64_t version = zs_open_shard_version(shard);
    size_t at = 0;
    uint64_t chunk;
    if (!array->store->is_remote || !shard->is_opened)
        return false;
    if (expects ? object != NULL && zs_object_etag(object) == NULL
                : version == 0 || !zs_shard_writer_will_read(shard->writer))
        return false;
    for (const struct zs_written *written; (written = zs_map_next(&shard->written, &at, &chunk)) != NULL;)
        if (written->version != version)
            return false;
    return true;
}

/* Finds out whether the object under the key is certainly the one that the writer builds on. */
static enum zs_status is_unchanged(struct zs_array *array, const struct zs_open_shard *shard, const char *key,
                                   bool *unchanged, struct zs_error *err)
{
    const struct zs_object *before = zs_shard_writer_object(shard->writer);
    struct zs_object *now = NULL;
    zs_store_forget(array->store, key);
    const enum zs_status status = zs_object_open(array->store, key, &now, err);
    if (status == ZS_NOT_FOUND) {
        *unchanged = before == NULL;
        return ZS_OK;
    }
    ZS_TRY(status);
    /* A shard with an unfinished append may have been opened before the append ended: same version, other bytes. */
    *unchanged = before != NULL && !zs_shard_writer_is_recovered(shard->writer) && before->is_versioned &&
                 now->is_versioned && before->version == now->version;
    zs_object_close(now);
    return ZS_OK;
}

/* Returns whether every element of the shard was written, so that the stored one is not needed. */
static bool is_written_whole(const struct zs_array *array, const struct zs_open_shard *shard)
{
    return shard->written.count == 0 && zs_open_shard_is_complete(array, shard);
}

/* Bases the writer on the object that is stored now, and merges the chunks that were written in part. */
static enum zs_status catch_up(struct zs_array *array, struct zs_open_shard *shard, const char *key,
                               struct zs_error *err)
{
    if (is_written_whole(array, shard))
        return ZS_OK;
    bool unchanged = false;
    if (shard->is_opened)
        ZS_TRY(is_unchanged(array, shard, key, &unchanged, err));
    if (!unchanged) {
        ZS_TRY(zs_open_shard_reopen(array, shard, key, err));
        zs_cache_clear(array->chunks); /* some chunks were decoded from the older object */
    }
    size_t at = 0;
    uint64_t chunk;
    for (struct zs_written *written; (written = zs_map_next(&shard->written, &at, &chunk)) != NULL;)
        ZS_TRY(zs_merge_into_shard(array, shard, chunk, written, err));
    return ZS_OK;
}

/* Tries once to publish over the shard that is stored now. */
static enum zs_status try_publish(struct zs_array *array, struct zs_open_shard *shard, const char *key, bool expects,
                                  bool is_up_to_date, bool *is_lost, struct zs_error *err)
{
    if (!is_up_to_date)
        ZS_TRY(catch_up(array, shard, key, err));
    return zs_shard_writer_publish(shard->writer, array->update, expects, is_lost, err);
}

/* Returns whether a try failed because another writer replaced the object that it was based on. */
static bool is_overtaken(const struct zs_open_shard *shard, enum zs_status status)
{
    return status == ZS_CONFLICT || zs_object_is_overtaken(zs_shard_writer_object(shard->writer), status);
}

/* Publishes over the shard that is stored now; tries again when another writer was faster. */
static enum zs_status publish_over(struct zs_array *array, struct zs_open_shard *shard, const char *key, bool *is_lost,
                                   struct zs_error *err)
{
    const bool expects = !is_written_whole(array, shard) && zs_store_has_conditions(array->store);
    int tries = 0;
    const bool is_up_to_date = detects_conflict(array, shard, expects);
    enum zs_status status = try_publish(array, shard, key, expects, is_up_to_date, is_lost, err);
    while (is_overtaken(shard, status) && !*is_lost &&
           (expects ? zs_conflict_again(&tries) : tries++ < ZS_STALE_RETRIES)) {
        ZS_TRY(check_after_conflict(array, err));
        status = try_publish(array, shard, key, expects, false, is_lost, err);
    }
    if (status == ZS_CONFLICT)
        return zs_fail_in(err, status, "tried %d times beside other writers of this shard, each time", tries);
    if (status != ZS_CORRUPT || *is_lost || !is_written_whole(array, shard))
        return status;
    /* Stored elements beyond the edges of the array cannot be kept. */
    zs_shard_writer_forget_stored(shard->writer);
    return zs_shard_writer_publish(shard->writer, array->update, false, is_lost, err);
}

/* A shard that is being sent to the store. */
struct sending {
    struct zs_array *array;
    struct zs_open_shard *shard;
    bool is_lost;
    enum zs_status status;
    struct zs_error err;
};

/* Sends one shard. May run in any thread, beside those of other shards: finish() updates the array afterwards. */
static enum zs_status send(struct sending *sending, struct zs_error *err)
{
    struct zs_array *array = sending->array;
    if (zs_shard_writer_put_count(sending->shard->writer) == 0)
        return ZS_OK;
    char *key;
    ZS_TRY(zs_shard_key(array, sending->shard->number, &key, err));
    struct zs_lock *lock = NULL;
    struct zs_shard_writer *writer = sending->shard->writer;
    const bool is_alone = zs_shard_is_unpublished(array, sending->shard->number);
    enum zs_status status = is_alone ? ZS_OK : zs_store_lock(array->store, key, &lock, err);
    if (status == ZS_OK && !array->store->is_remote) /* for remote arrays, publish_shards() checked already */
        status = check_document(array, true, err);
    if (status == ZS_OK)
        status = is_alone ? zs_shard_writer_publish(writer, array->update, false, &sending->is_lost, err)
                          : publish_over(array, sending->shard, key, &sending->is_lost, err);
    zs_store_unlock(array->store, lock);
    free(key);
    zs_shard_forget(array, sending->shard->number);
    return status;
}

static enum zs_status send_item(void *ctx, size_t item, struct zs_error *unused)
{
    struct sending *sending = (struct sending *)ctx + item;
    (void)unused;
    sending->status = send(sending, &sending->err);
    return ZS_OK; /* the others go on */
}

/* Drops a shard that was sent. A failed one stays for another try, unless its bytes are lost. */
static enum zs_status finish(struct sending *sending, struct zs_error *err)
{
    struct zs_array *array = sending->array;
    const enum zs_status status = sending->status;
    if (status == ZS_OK && zs_shard_writer_put_count(sending->shard->writer) > 0 && array->is_new &&
        !zs_map_set(&array->pending->published, sending->shard->number, array))
        array->is_new = false; /* look for every shard from now on */
    if (sending->is_lost)
        zs_cache_clear(array->chunks); /* some chunks were decoded from bytes that are lost now */
    if (status == ZS_OK || sending->is_lost) {
        zs_open_shard_drop(array, sending->shard);
    } else {
        sending->shard->stamp = ++array->pending->stamp; /* when there are too many, others are tried first */
        sending->shard->failure = status;
    }
    return status == ZS_OK ? ZS_OK : zs_fail(err, status, "%s", sending->err.message);
}

/* Returns whether shards wait to be sent side by side, because each upload waits for the network. Where uploads run in
 * the background (zs_store_overlaps()), no shard waits. */
static bool goes_side_by_side(const struct zs_array *array)
{
    return array->store->is_remote && !zs_store_overlaps(array->store);
}

/* Returns how many of these shards may be sent at once: GDAL holds their bytes in memory meanwhile. */
static size_t uploads_at_once(const struct zs_array *array, struct zs_open_shard *const *list, size_t n)
{
    uint64_t largest = 1;
    for (size_t i = 0; i < n; i++)
        largest = zs_max_u64(largest, zs_shard_writer_most_bytes(list[i]->writer));
    const uint64_t slots = zs_budget() / zs_min_u64(largest, SENT_BYTES);
    return goes_side_by_side(array) ? (size_t)zs_max_u64(1, zs_min_u64(slots, ZS_MOST_UPLOADS)) : 1;
}

/* Returns whether a shard may be published without a look at the array's document: none of its elements can be beyond
 * an edge that others moved, and it is there, so that the array is, too. */
static bool may_trust(const struct zs_array *array, const struct zs_open_shard *shard)
{
    const bool is_absent =
        shard->is_opened && zs_shard_writer_object(shard->writer) == NULL &&
        !zs_shard_is_unpublished(array, shard->number);
    return !is_absent &&
           (zs_shard_writer_put_count(shard->writer) == shard->written.count || !is_at_edge(array, shard->number));
}

/* Publishes n shards, to a remote store side by side. Goes on after a failure, and returns the first. */
static enum zs_status publish_shards(struct zs_array *array, struct zs_open_shard *const *list, size_t n,
                                     struct zs_error *err)
{
    enum zs_status first = ZS_OK;
    const size_t slots = uploads_at_once(array, list, n);
    bool trusts = true;
    for (size_t i = 0; i < n && trusts; i++)
        trusts = may_trust(array, list[i]);
    if (array->store->is_remote)
        ZS_TRY(check_document(array, trusts, err));
    for (size_t i = 0, count; i < n; i += count) {
        struct sending sendings[ZS_MOST_UPLOADS];
        struct zs_error ignored;
        count = n - i < slots ? n - i : slots;
        for (size_t k = 0; k < count; k++)
            sendings[k] = (struct sending){.array = array, .shard = list[i + k]};
        const enum zs_status none = zs_parallel_for((int)count, count, send_item, sendings, &ignored);
        (void)none;
        for (size_t k = 0; k < count; k++) {
            const enum zs_status status = finish(&sendings[k], first == ZS_OK ? err : &ignored);
            first = first == ZS_OK ? status : first;
        }
    }
    return first;
}

/* Returns the open shards, sorted by `compare`; NULL without memory. */
static struct zs_open_shard **list_shards(const struct zs_pending_writes *pending,
                                          int (*compare)(const void *, const void *), struct zs_error *err)
{
    struct zs_open_shard **list = zs_calloc(pending->shards.count, sizeof *list);
    if (list == NULL)
        (void)zs_fail_memory(err);
    size_t n = 0, at = 0;
    uint64_t key;
    for (struct zs_open_shard *shard; list != NULL && (shard = zs_map_next(&pending->shards, &at, &key)) != NULL;)
        list[n++] = shard;
    if (list != NULL)
        qsort(list, n, sizeof *list, compare);
    return list;
}

static int by_age(const void *x, const void *y)
{
    const struct zs_open_shard *p = *(struct zs_open_shard *const *)x, *q = *(struct zs_open_shard *const *)y;
    return (p->stamp > q->stamp) - (p->stamp < q->stamp);
}

/* Publishes the shards that are idle longest, until the open ones are within their limits. */
static enum zs_status publish_idle(struct zs_array *array, struct zs_error *err)
{
    struct zs_pending_writes *pending = array->pending;
    while (pending->shards.count > MAX_OPEN_SHARDS ||
           (pending->shards.count > 1 && (pending->shard_bytes > pending->budget / 2 || zs_files_are_scarce()))) {
        struct zs_open_shard **list = list_shards(pending, by_age, err);
        if (list == NULL)
            return ZS_NO_MEMORY;
        const size_t others = pending->shards.count - 1,
                     slots = uploads_at_once(array, list, others); /* the youngest is in use */
        const enum zs_status status = publish_shards(array, list, others < slots ? others : slots, err);
        free(list);
        ZS_TRY(status);
    }
    return ZS_OK;
}

/* Publishes a complete shard; to a remote store together with others, once enough are complete. */
static enum zs_status publish_complete(struct zs_array *array, struct zs_open_shard *shard, struct zs_error *err)
{
    if (!goes_side_by_side(array))
        return publish_shards(array, &shard, 1, err);
    struct zs_open_shard *list[ZS_MOST_UPLOADS];
    size_t n = 0, at = 0;
    uint64_t key;
    for (struct zs_open_shard *other;
         n < ZS_MOST_UPLOADS && (other = zs_map_next(&array->pending->shards, &at, &key)) != NULL;)
        if (zs_open_shard_is_complete(array, other) && other->failure == ZS_OK)
            list[n++] = other;
    return n < uploads_at_once(array, list, n) ? publish_idle(array, err) : publish_shards(array, list, n, err);
}

/* Broken writers come first: the disk may be full, and they free their space. */
static int by_urgency(const void *x, const void *y)
{
    const struct zs_open_shard *p = *(struct zs_open_shard *const *)x, *q = *(struct zs_open_shard *const *)y;
    const bool p_is_broken = zs_shard_writer_is_broken(p->writer), q_is_broken = zs_shard_writer_is_broken(q->writer);
    return p_is_broken != q_is_broken ? (p_is_broken ? -1 : 1) : by_age(x, y);
}

/* Publishes all open shards, together or one by one. Goes on after a failure, and returns the first. */
static enum zs_status publish_all(struct zs_array *array, bool is_together, struct zs_error *err)
{
    const size_t n = array->pending->shards.count;
    struct zs_open_shard **list = list_shards(array->pending, by_urgency, err);
    if (list == NULL)
        return ZS_NO_MEMORY;
    enum zs_status first = is_together ? publish_shards(array, list, n, err) : ZS_OK;
    for (size_t i = is_together ? n : 0; i < n; i++) {
        struct zs_error ignored;
        const enum zs_status status = publish_shards(array, &list[i], 1, first == ZS_OK ? err : &ignored);
        first = first == ZS_OK ? status : first;
    }
    free(list);
    return first;
}

/* Drops shards that could not be published: those that no space would help. Where all lack space, one of them for the
 * room of the others: a broken one, or the newest. */
static enum zs_status drop_failed(struct zs_array *array, struct zs_error *err)
{
    const size_t n = array->pending->shards.count;
    struct zs_open_shard **list = list_shards(array->pending, by_urgency, err);
    if (list == NULL)
        return ZS_NO_MEMORY;
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        if (list[i]->failure == ZS_NO_SPACE)
            list[left++] = list[i];
        else
            zs_open_shard_drop(array, list[i]);
    }
    if (left == n)
        zs_open_shard_drop(array, list[zs_shard_writer_is_broken(list[0]->writer) ? 0 : n - 1]);
    free(list);
    return ZS_OK;
}

enum zs_status zs_pending_publish(struct zs_array *array, bool is_last, struct zs_error *err)
{
    const struct zs_pending_writes *pending = array->pending;
    const bool is_together = goes_side_by_side(array);
    enum zs_status status = publish_all(array, is_together, err);
    if (is_last && is_together && pending->shards.count > 0) /* failed ones may have taken each other's memory */
        status = publish_all(array, false, err);
    while (is_last && pending->shards.count > 0) {
        struct zs_error ignored; /* the first failure is told */
        ZS_TRY(drop_failed(array, err));
        const enum zs_status again = publish_all(array, false, &ignored);
        (void)again;
    }
    return status;
}

/* ---- Chunks that are objects of their own ---- */

/* Tries once to store a chunk, with the lock held where others may write it. */
static enum zs_status put_object(void *ctx, struct zs_error *err)
{
    struct zs_chunk_object *object = ctx;
    struct zs_array *array = object->array;
    const bool trusts = object->written != NULL || !is_at_edge(array, object->chunk);
    ZS_TRY(object->was_tried ? check_after_conflict(array, err) : check_document(array, trusts, err));
    object->was_tried = true;
    if (object->written != NULL && !zs_array_is_unpublished(array))
        return zs_merge_into_object(object, err);
    return object->data != NULL ? zs_store_put(array->store, object->key, object->data, object->n, err)
                                : zs_store_remove(array->store, object->key, err);
}

/* Stores a chunk that is an object of its own, or removes it when data is NULL; arguments as in struct
 * zs_chunk_object. */
static enum zs_status publish_chunk(struct zs_array *array, uint64_t chunk, const void *data, size_t n,
                                    const struct zs_written *written, struct zs_error *err)
{
    char *key;
    ZS_TRY(zs_shard_key(array, chunk, &key, err));
    struct zs_chunk_object object = {array, chunk, key, data, n, written, false};
    const enum zs_status status = zs_array_is_unpublished(array)
                                      ? put_object(&object, err)
                                      : zs_store_replace(array->store, key, put_object, &object, err);
    free(key);
    zs_shard_forget(array, chunk);
    return status;
}

/* ---- Taking chunks, and publishing complete shards ---- */

enum zs_status zs_pending_load(struct zs_array *array, uint64_t chunk, void *data, struct zs_written **written,
                               struct zs_error *err)
{
    struct zs_open_shard *shard = NULL;
    if (array->pending->has_shards)
        ZS_TRY(zs_open_shard_get(array, zs_grid_shard(&array->grid, chunk), &shard, err));
    ZS_TRY(zs_merge_load(array, shard, chunk, data, written, err));
    if (shard == NULL)
        return ZS_OK;
    zs_open_shard_account(array->pending, shard, true);
    const enum zs_status status = publish_idle(array, err);
    if (status != ZS_OK)
        free(*written);
    return status;
}

/* Puts a chunk into its open shard, and records which elements of it were written. `before` is the earlier record,
 * which the caller frees. */
static enum zs_status put_in_shard(struct zs_array *array, struct zs_open_shard *shard, uint64_t chunk,
                                   const void *data, size_t n, struct zs_written *written, struct zs_written *before,
                                   struct zs_error *err)
{
    if (written != NULL && !zs_map_set(&shard->written, chunk, written))
        return zs_fail_memory(err);
    const enum zs_status status =
        zs_shard_writer_put(shard->writer, zs_grid_number_in_shard(&array->grid, chunk), data, n, err);
    struct zs_written *const kept = status == ZS_OK ? written : before;
    if (kept == NULL)
        (void)zs_map_remove(&shard->written, chunk);
    else
        (void)zs_map_set(&shard->written, chunk, kept); /* it is there: nothing to allocate */
    return status;
}

enum zs_status zs_pending_put(struct zs_array *array, uint64_t chunk, const void *data, size_t n,
                              struct zs_written *written, enum zs_status *later, struct zs_error *err)
{
    *later = ZS_OK;
    if (!array->pending->has_shards) {
        ZS_TRY(publish_chunk(array, chunk, data, n, written, err));
        zs_cache_remove(array->chunks, (struct zs_cache_key){0, chunk});
        free(written);
        return ZS_OK;
    }
    struct zs_open_shard *shard;
    const uint64_t number = zs_grid_shard(&array->grid, chunk);
    ZS_TRY(zs_open_shard_get(array, number, &shard, err));
    if (zs_shard_writer_is_broken(shard->writer)) { /* what it has goes first */
        ZS_TRY(publish_shards(array, &shard, 1, err));
        ZS_TRY(zs_open_shard_get(array, number, &shard, err));
    }
    struct zs_written *before = zs_map_get(&shard->written, chunk);
    ZS_TRY(put_in_shard(array, shard, chunk, data, n, written, before, err));
    free(before);
    zs_cache_remove(array->chunks, (struct zs_cache_key){0, chunk});
    zs_open_shard_account(array->pending, shard, true);
    *later = zs_open_shard_is_complete(array, shard) ? publish_complete(array, shard, err) : publish_idle(array, err);
    return ZS_OK;
}
