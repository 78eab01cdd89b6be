/* Reading windows: carries out a plan (plan.h). Byte ranges are fetched and decoded side by side, and each chunk is
 * copied to its windows. */
#include <stdlib.h>

#include "array/array_private.h"
#include "array/plan.h"
#include "base/parallel.h"
#include "base/strided.h"

/* Memory of a cached chunk, or an extent of one, besides its elements. */
#define WHOLE_BYTES (ZS_CACHE_ENTRY_BYTES + sizeof(struct zs_blob))
#define EXTENT_BYTES (WHOLE_BYTES + sizeof(struct zs_extent))
/* Copies from the cache smaller than this are not worth waking a thread for. */
#define INLINE_BYTES ((uint64_t)1 << 20)

/* ---- From encoded bytes to windows ---- */

/* Caches a decoded chunk, or an extent of one. Without memory it is decoded again when it is wanted. */
static void cache_blob(struct zs_array *array, uint64_t chunk, struct zs_blob *blob)
{
    const size_t bytes = (blob->extent != NULL ? EXTENT_BYTES : WHOLE_BYTES) + blob->size;
    zs_cache_release(zs_cache_put(&array->chunks, (struct zs_cache_key){0, chunk}, blob, bytes));
}

/* Grows an extent of a chunk forward, from the fastest dimension to the slowest, to n bytes at most; false when it has
 * more already. */
static bool grow_extent(const struct zs_array *array, const struct zs_extent *chunk, struct zs_extent *extent,
                        uint64_t n)
{
    uint64_t bytes = array->innermost->item_size;
    for (int d = 0; d < array->meta->ndim; d++)
        bytes *= extent->count[d];
    if (bytes > n)
        return false;
    for (int j = array->meta->ndim - 1; j >= 0; j--) {
        const int d = array->innermost->axis[j];
        const uint64_t end = zs_min_u64(chunk->start[d] + chunk->count[d], array->meta->shape[d]);
        bytes /= extent->count[d];
        extent->count[d] = zs_min_u64(end - extent->start[d], n / bytes);
        bytes *= extent->count[d];
    }
    return true;
}

/* Caches what was wanted of a decoded chunk, and as much of what follows as plan->keep allows. */
static void cache_extent(struct zs_plan *plan, const struct zs_planned *planned, const unsigned char *decoded)
{
    const struct zs_array *array = plan->array;
    struct zs_extent chunk, extent, *kept = NULL;
    size_t n = array->innermost->item_size;
    ptrdiff_t from[ZS_MAX_NDIM], to[ZS_MAX_NDIM];
    zs_whole_chunk(array, planned->where.chunk, &chunk);
    zs_wanted_extent(plan, planned, &extent);
    if (!grow_extent(array, &chunk, &extent, plan->keep))
        return;
    for (int d = 0; d < array->meta->ndim; d++)
        n *= (size_t)extent.count[d];
    struct zs_blob *blob = zs_blob_alloc(NULL, n);
    if (blob == NULL || (kept = malloc(sizeof *kept)) == NULL) {
        zs_blob_free(blob);
        return;
    }
    *kept = extent;
    blob->extent = kept;
    zs_dense_strides(array->innermost, extent.count, to);
    zs_dense_strides(array->innermost, chunk.count, from);
    decoded = zs_element_at(array->meta->ndim, decoded, &chunk, extent.start, from);
    zs_copy_strided(array->meta->ndim, extent.count, decoded, from, blob->data, to, array->innermost->item_size, NULL,
                    NULL);
    cache_blob(plan->array, planned->where.chunk, blob);
}

/* Decodes a chunk into a blob, copies it to the windows and caches it. */
static enum zs_status decode_and_cache(struct zs_plan *plan, const struct zs_planned *planned,
                                       const struct zs_level *level, struct zs_scratch *scratch, const void *encoded,
                                       size_t n, struct zs_error *err)
{
    struct zs_blob *blob = zs_blob_alloc(plan->array->blobs, (size_t)level->decoded_size);
    ZS_TRY_MEMORY(blob, err);
    const enum zs_status status = zs_chunk_decode(level, scratch, encoded, n, blob->data, err);
    if (status != ZS_OK) {
        zs_blob_free(blob);
        return status;
    }
    zs_scatter(plan, planned, blob->data, NULL);
    cache_blob(plan->array, planned->where.chunk, blob);
    return ZS_OK;
}

/* Delivers a chunk: decodes its n encoded bytes, and copies it to the windows. The rest of a chunk that is not used up
 * is likely to be asked for next: as much as the cache has room for is kept. */
static enum zs_status deliver(struct zs_plan *plan, struct zs_planned *planned, struct zs_scratch *scratch,
                              const void *encoded, size_t n, struct zs_error *err)
{
    struct zs_array *array = plan->array;
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&array->grid, array->chain.count - 1, planned->where.chunk, &room);
    ZS_TRY(zs_chunk_size_check(array, level, err));
    void *direct = zs_direct_destination(plan, planned);
    if (direct != NULL)
        return zs_chunk_decode(level, scratch, encoded, n, direct, err);
    const bool is_used_up = !plan->is_prefetch && zs_is_wholly_used(plan, planned);
    if (!is_used_up && plan->keep >= level->decoded_size)
        return decode_and_cache(plan, planned, level, scratch, encoded, n, err);
    if (is_used_up && zs_chunk_is_plain(level, encoded, n)) {
        zs_scatter(plan, planned, encoded, NULL);
        return ZS_OK;
    }
    struct zs_buffer *out = zs_scratch_buffer(scratch, ZS_SCRATCH_DECODED);
    ZS_TRY(zs_buffer_reset(out, (size_t)level->decoded_size, err));
    ZS_TRY(zs_chunk_decode(level, scratch, encoded, n, out->data, err));
    zs_scatter(plan, planned, out->data, NULL);
    if (!is_used_up)
        cache_extent(plan, planned, out->data);
    return ZS_OK;
}

/* Delivers a chunk or a block, whose n encoded bytes have come. */
static enum zs_status deliver_item(struct zs_plan *plan, const struct zs_item *item, struct zs_scratch *scratch,
                                   const void *encoded, size_t n, struct zs_error *err)
{
    struct zs_planned *planned = &plan->chunks[item->chunk];
    const enum zs_status status = item->block == ZS_WHOLE_CHUNK
                                      ? deliver(plan, planned, scratch, encoded, n, err)
                                      : zs_block_deliver(plan, item, scratch, encoded, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in_chunk(plan->array, planned->where.chunk, status, err);
}

/* ---- Requests ---- */

/* A plan is run again so often, because shards were replaced meanwhile: each time takes two round trips. */
#define MOST_TURNS 10

/* Notes that a shard was replaced while it was read, so that all windows are read again: ZS_OK; the last time `status`,
 * why it failed. */
static enum zs_status leave(struct zs_plan *plan, uint64_t shard, enum zs_status status)
{
    if (plan->is_last_turn)
        return status;
    zs_shard_refresh(plan->array, shard);
    atomic_store(&plan->is_overtaken, true);
    return ZS_OK;
}

/* Fetches the bytes of a request, of the object whose index has the chunk at `where`. *is_replaced: another object is
 * stored by now. */
static enum zs_status fetch(struct zs_array *array, const struct zs_range_group *request,
                            const struct zs_location *where, struct zs_buffer *fetched, bool *is_replaced,
                            struct zs_error *err)
{
    struct zs_cache_entry *entry = NULL;
    enum zs_status status = zs_shard_object_of(array, where->shard, where->bytes.version, &entry, is_replaced, err);
    if (status == ZS_OK)
        status = zs_buffer_reset(fetched, (size_t)request->size, err);
    if (entry != NULL) {
        struct zs_object *object = zs_cache_value(entry);
        if (status == ZS_OK)
            status = zs_object_read(object, request->offset, (size_t)request->size, fetched->data, err);
        *is_replaced = zs_object_is_overtaken(object, status);
        zs_cache_release(entry);
    }
    return status == ZS_OK ? ZS_OK : zs_fail_in_chunk(array, where->chunk, status, err);
}

/* Fetches the bytes of a request, then delivers what lies in them. */
static enum zs_status run_request(struct zs_plan *plan, const struct zs_range_group *request,
                                  struct zs_scratch *scratch, struct zs_error *err)
{
    const struct zs_range *ranges = &plan->ranges[request->first];
    const struct zs_location *where = &plan->chunks[plan->items[ranges[0].tag].chunk].where;
    struct zs_buffer *fetched = zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED);
    bool is_replaced = false;
    enum zs_status status = fetch(plan->array, request, where, fetched, &is_replaced, err);
    if (status != ZS_OK)
        return is_replaced ? leave(plan, where->shard, status) : status;
    for (size_t i = 0; i < request->count && status == ZS_OK; i++)
        status = deliver_item(plan, &plan->items[ranges[i].tag], scratch,
                              fetched->data + (ranges[i].offset - request->offset), (size_t)ranges[i].size, err);
    is_replaced = status == ZS_CORRUPT && zs_shard_is_overtaken(plan->array, where->shard);
    return is_replaced ? leave(plan, where->shard, status) : status;
}

/* ---- Items without a request ---- */

/* Reads a chunk that is an object of its own. */
static enum zs_status run_object(struct zs_plan *plan, const struct zs_item *item, struct zs_scratch *scratch,
                                 struct zs_error *err)
{
    struct zs_array *array = plan->array;
    const struct zs_planned *planned = &plan->chunks[item->chunk];
    char *key;
    ZS_TRY(zs_shard_key(array, planned->where.shard, &key, err));
    struct zs_buffer *fetched = zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED);
    const enum zs_status status = zs_store_get(array->store, key, zs_level_bound(array->innermost), fetched, err);
    free(key);
    if (status == ZS_NOT_FOUND) {
        zs_scatter(plan, planned, NULL, NULL);
        return ZS_OK;
    }
    return status == ZS_OK ? deliver_item(plan, item, scratch, fetched->data, fetched->size, err)
                           : zs_fail_in_chunk(array, planned->where.chunk, status, err);
}

/* Reads a chunk that is pending in the writer of its shard. */
static enum zs_status run_pending(struct zs_plan *plan, const struct zs_item *item, struct zs_scratch *scratch,
                                  struct zs_error *err)
{
    const struct zs_planned *planned = &plan->chunks[item->chunk];
    struct zs_buffer *fetched = zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED);
    struct zs_shard_writer *writer;
    uint64_t number;
    bool is_empty = true;
    if (!zs_pending_has(plan->array, planned->where.chunk, &writer, &number))
        return zs_fail(err, ZS_IO, "the chunk is pending no more"); /* which the array's lock prevents */
    (void)pthread_mutex_lock(&plan->array->pending->lock);
    const enum zs_status status = zs_shard_writer_get(writer, number, &is_empty, fetched, err);
    (void)pthread_mutex_unlock(&plan->array->pending->lock);
    if (status != ZS_OK)
        return zs_fail_in_chunk(plan->array, planned->where.chunk, status, err);
    if (!is_empty)
        return deliver_item(plan, item, scratch, fetched->data, fetched->size, err);
    zs_scatter(plan, planned, NULL, NULL);
    return ZS_OK;
}

/* Decodes a chunk, or a block of one, of a shard that is in memory as a whole. */
static enum zs_status run_memory(struct zs_plan *plan, const struct zs_item *item, struct zs_scratch *scratch,
                                 struct zs_error *err)
{
    const struct zs_planned *planned = &plan->chunks[item->chunk];
    uint64_t offset = 0, size = planned->where.bytes.size;
    if (item->block != ZS_WHOLE_CHUNK)
        zs_block_range(zs_cache_value(planned->table), item->block, &offset, &size);
    return deliver_item(plan, item, scratch, planned->where.bytes.memory + offset, (size_t)size, err);
}

/* Copies an item to the windows if it is decoded already, or empty; false if it is not. */
static bool scatter_at_hand(const struct zs_plan *plan, const struct zs_item *item)
{
    const struct zs_planned *planned = &plan->chunks[item->chunk];
    if (item->kept != NULL) {
        zs_block_scatter(plan, item);
    } else if (zs_is_at_hand(planned)) {
        const struct zs_blob *blob = planned->dirty != NULL ? planned->dirty : zs_cache_value(planned->cached);
        zs_scatter(plan, planned, blob->data, blob->extent);
    } else if (planned->where.kind == ZS_LOCATION_EMPTY) {
        zs_scatter(plan, planned, NULL, NULL);
    } else {
        return false;
    }
    return true;
}

static enum zs_status run_item(struct zs_plan *plan, const struct zs_item *item, struct zs_scratch *scratch,
                               struct zs_error *err)
{
    const enum zs_location_kind kind = plan->chunks[item->chunk].where.kind;
    return kind == ZS_LOCATION_OBJECT    ? run_object(plan, item, scratch, err)
           : kind == ZS_LOCATION_PENDING ? run_pending(plan, item, scratch, err)
                                         : run_memory(plan, item, scratch, err);
}

/* ---- Plans ---- */

static enum zs_status run_task(void *ctx, size_t number, struct zs_error *err)
{
    struct zs_plan *plan = ctx;
    const struct zs_task *task = &plan->tasks[number];
    const struct zs_item *item = task->request.count == 0 ? &plan->items[task->item] : NULL;
    if (item != NULL && scatter_at_hand(plan, item))
        return ZS_OK;
    struct zs_scratch *scratch = zs_scratch_acquire();
    ZS_TRY_MEMORY(scratch, err);
    const enum zs_status status = item != NULL ? run_item(plan, item, scratch, err)
                                               : run_request(plan, &task->request, scratch, err);
    zs_scratch_release(scratch);
    return status;
}

/* Bytes of the windows; UINT64_MAX when 64 bits cannot count them. */
static uint64_t window_bytes(const struct zs_array *array, const struct zs_window *windows, size_t n)
{
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes = array->meta->dtype.size;
        for (int d = 0; d < array->meta->ndim; d++)
            if (!zs_mul_u64(bytes, windows[i].count[d], &bytes))
                return UINT64_MAX;
        if (!zs_add_u64(total, bytes, &total))
            return UINT64_MAX;
    }
    return total;
}

static enum zs_status fill_gap(void *ctx, size_t item, struct zs_error *err)
{
    const struct zs_plan *plan = ctx;
    (void)err;
    zs_fill_gap(plan, &plan->gaps[item]);
    return ZS_OK;
}

/* Bytes to cache of each partly wanted chunk. If all such chunks fit the cache: all bytes. Else they would evict each
 * other before the next lines are read and be decoded again for every line; an extent of each serves several lines. */
static size_t bytes_to_keep(const struct zs_plan *plan)
{
    const uint64_t size = plan->array->innermost->decoded_size, room = zs_cache_budget(&plan->array->chunks) / 4 * 3;
    if (plan->array->innermost->is_text)
        return 0; /* elements point into the scratch */
    if (plan->is_prefetch || plan->chunk_count <= room / (size + WHOLE_BYTES))
        return (size_t)size;
    uint64_t partly_used = 0;
    for (size_t i = 0; i < plan->chunk_count; i++)
        partly_used += plan->chunks[i].table == NULL && !zs_is_wholly_used(plan, &plan->chunks[i]);
    const uint64_t share = partly_used > 0 ? room / partly_used : UINT64_MAX;
    return (size_t)(share < EXTENT_BYTES ? 0 : zs_min_u64(size, share - EXTENT_BYTES));
}

static bool fit_half_of_cache(const struct zs_array *array, uint64_t chunks)
{
    return chunks <= zs_cache_budget(&array->chunks) / 2 / (array->innermost->decoded_size + WHOLE_BYTES);
}

static enum zs_status run_planned(struct zs_plan *plan, struct zs_error *err)
{
    const bool is_small = window_bytes(plan->array, plan->windows, plan->window_count) < INLINE_BYTES;
    ZS_TRY(zs_plan_chunks(plan, err));
    if (!plan->is_prefetch)
        ZS_TRY(zs_parallel_for(is_small ? 1 : plan->array->threads, plan->gap_count, fill_gap, plan, err));
    if (plan->chunk_count == 0)
        return ZS_OK;
    ZS_TRY(zs_plan_locations(plan, err));
    ZS_TRY(zs_plan_blocks(plan, err));
    ZS_TRY(zs_plan_tasks(plan, err));
    if (plan->is_prefetch && plan->has_whole && !fit_half_of_cache(plan->array, plan->chunk_count))
        return ZS_OK; /* chunks that could have blocks, and have none */
    plan->keep = bytes_to_keep(plan);
    const int threads = is_small && plan->decode_count == 0 ? 1
                        : plan->has_whole                     ? plan->array->chunk_threads
                                                              : plan->array->fetch_threads;
    return zs_parallel_for(threads, plan->task_count, run_task, plan, err);
}

/* Reads windows as one plan; what they are for is in `asked`. */
static enum zs_status run_plan(void *ctx, const struct zs_window *windows, size_t n, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    bool is_again = true;
    for (int turn = 0; is_again; turn++) {
        struct zs_plan plan = *(const struct zs_plan *)ctx;
        plan.windows = windows;
        plan.window_count = n;
        plan.is_last_turn = turn == MOST_TURNS;
        status = run_planned(&plan, err);
        is_again = status == ZS_OK && atomic_load(&plan.is_overtaken);
        zs_plan_clear(&plan);
    }
    return status;
}

static enum zs_status read_windows_locked(struct zs_plan *plan, const struct zs_window *windows, size_t n,
                                          struct zs_error *err)
{
    ZS_TRY(zs_windows_check(plan->array, windows, n, err));
    return zs_cut(plan->array, windows, n, run_plan, plan, err);
}

enum zs_status zs_array_prefetch(struct zs_array *array, const struct zs_window *windows, size_t n,
                                 struct zs_error *err)
{
    struct zs_plan plan = {.array = array, .is_prefetch = true};
    ZS_TRY(zs_windows_check(array, windows, n, err));
    zs_array_lock(array, true);
    /* More than half of the cache would be evicted before it is used. Of large chunks that have blocks those that hold
     * the windows may be enough. */
    const uint64_t chunks = zs_count_chunks(array, windows, n);
    const bool have_blocks =
        zs_chunk_has_blocks(array->innermost) && array->innermost->decoded_size >= array->block_threshold;
    const bool fits = have_blocks ? window_bytes(array, windows, n) <= zs_cache_budget(&array->chunks) / 2
                                  : fit_half_of_cache(array, chunks);
    enum zs_status status = ZS_OK;
    if (zs_pending_is_empty(array) && /* pending chunks are looked up one by one anyway */
        fits && chunks > 1 && chunks <= array->plan_overlaps)
        status = run_plan(&plan, windows, n, err);
    (void)pthread_rwlock_unlock(&array->lock);
    return status;
}

static enum zs_status read_windows(struct zs_plan *plan, const struct zs_window *windows, size_t n,
                                   struct zs_error *err)
{
    struct zs_array *array = plan->array;
    zs_array_lock(array, true);
    if (!zs_pending_is_empty(array)) { /* the writers of shards serve one thread at a time */
        (void)pthread_rwlock_unlock(&array->lock);
        zs_array_lock(array, false);
    }
    const enum zs_status status = read_windows_locked(plan, windows, n, err);
    (void)pthread_rwlock_unlock(&array->lock);
    return status;
}

enum zs_status zs_array_read_stored(struct zs_array *array, const struct zs_window *window, struct zs_error *err)
{
    struct zs_plan plan = {.array = array, .ignores_pending = true};
    return run_plan(&plan, window, 1, err);
}

enum zs_status zs_array_read_windows(struct zs_array *array, const struct zs_window *windows, size_t n,
                                     zs_convert_fn convert, void *ctx, struct zs_error *err)
{
    struct zs_plan plan = {.array = array, .convert = convert, .ctx = ctx};
    return read_windows(&plan, windows, n, err);
}

enum zs_status zs_array_take_windows(struct zs_array *array, const struct zs_window *windows, size_t n, zs_take_fn take,
                                     void *ctx, struct zs_error *err)
{
    struct zs_plan plan = {.array = array, .take = take, .ctx = ctx};
    return read_windows(&plan, windows, n, err);
}

enum zs_status zs_array_read(struct zs_array *array, const uint64_t *start, const uint64_t *count, void *out,
                             struct zs_error *err)
{
    struct zs_window window = {.data = out};
    uint64_t stride = array->meta->dtype.size; /* may wrap round, of a window that is refused */
    for (int d = array->meta->ndim - 1; d >= 0; d--) {
        window.start[d] = start[d];
        window.count[d] = count[d];
        window.stride[d] = (ptrdiff_t)stride;
        stride *= count[d];
    }
    return zs_array_read_windows(array, &window, 1, NULL, NULL, err);
}
