/* Finding stored chunks, for work on large arrays that are mostly empty; and locating the bytes of one chunk, for
 * callers that read them by themselves. */
#include <stdlib.h>
#include <string.h>

#include "array/array_private.h"
#include "array/pending.h"
#include "array/plan.h"
#include "base/checked.h"
#include "base/memory.h"
#include "base/parallel.h"

/* ---- Searching ---- */

struct search {
    struct zs_array *array;
    const struct zs_window *windows;
    bool *is_stored;
};

/* Searches the shards of a plan, one after another until one holds something. */
static enum zs_status search_plan(struct zs_plan *plan, bool *is_stored, struct zs_error *err)
{
    ZS_TRY(zs_plan_chunks(plan, err));
    struct zs_location **list = zs_calloc(plan->chunk_count, sizeof(struct zs_location *));
    ZS_TRY_MEMORY(list, err);
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < plan->chunk_count && status == ZS_OK && !*is_stored;) {
        struct zs_pins pins = {0};
        const uint64_t shard = plan->chunks[i].where.shard;
        size_t n = 0;
        for (; i < plan->chunk_count && plan->chunks[i].where.shard == shard; i++)
            list[n++] = &plan->chunks[i].where;
        status = zs_locate(plan->array, list, n, true, &pins, err);
        for (size_t k = 0; k < n && status == ZS_OK && !*is_stored; k++)
            *is_stored = list[k]->kind != ZS_LOCATION_EMPTY;
        zs_pins_release(plan->array, &pins);
    }
    free(list);
    return status;
}

/* Searches windows, which are parts of one, unless something was found before. */
static enum zs_status search_part(void *ctx, const struct zs_window *windows, size_t n, struct zs_error *err)
{
    const struct search *search = ctx;
    if (*search->is_stored)
        return ZS_OK;
    struct zs_plan plan = {.array = search->array, .windows = windows, .window_count = n};
    zs_plan_init(&plan);
    const enum zs_status status = search_plan(&plan, search->is_stored, err);
    zs_plan_clear(&plan);
    return status;
}

static enum zs_status search_window(void *ctx, size_t item, struct zs_error *err)
{
    const struct search *all = ctx;
    struct search search = {.array = all->array, .is_stored = &all->is_stored[item]};
    *search.is_stored = false;
    return zs_cut(search.array, &all->windows[item], 1, search_part, &search, err);
}

enum zs_status zs_array_find_stored(struct zs_array *array, const struct zs_window *windows, size_t n, bool *is_stored,
                                    struct zs_error *err)
{
    ZS_TRY(zs_windows_check(array, windows, n, err));
    zs_array_lock(array, true);
    enum zs_status status = ZS_OK;
    struct search search = {.array = array, .windows = windows, .is_stored = is_stored};
    if (array->chain.count > 1 && zs_pending_is_empty(array))
        status = zs_parallel_for(array->fetch_threads, n, search_window, &search, err);
    else
        for (size_t i = 0; i < n; i++)
            is_stored[i] = true;
    (void)pthread_rwlock_unlock(&array->lock);
    return status;
}

/* ---- One chunk ---- */

void zs_chunk_bytes_clear(struct zs_chunk_bytes *found)
{
    free(found->key);
    free(found->data);
    *found = (struct zs_chunk_bytes){0};
}

/* Finds a chunk that is an object; asks the store, since what this process remembers may be out of date. */
static enum zs_status find_object(struct zs_array *array, uint64_t chunk, struct zs_chunk_bytes *found,
                                  struct zs_error *err)
{
    struct zs_object *object;
    char *key;
    ZS_TRY(zs_shard_key(array, chunk, &key, err));
    zs_store_forget(array->store, key);
    const enum zs_status status = zs_object_open(array->store, key, &object, err);
    if (status == ZS_OK) {
        found->key = key;
        found->size = zs_object_size(object);
        zs_object_close(object);
        return ZS_OK;
    }
    free(key);
    return status == ZS_NOT_FOUND ? ZS_OK : status;
}

/* Copies a location, whose bytes are pinned, to the result. */
static enum zs_status take_location(struct zs_array *array, const struct zs_location *where,
                                    struct zs_chunk_bytes *found, struct zs_error *err)
{
    if (where->kind == ZS_LOCATION_EMPTY)
        return ZS_OK;
    found->size = where->bytes.size;
    if (where->kind == ZS_LOCATION_MEMORY) {
        found->data = malloc((size_t)where->bytes.size + 1);
        ZS_TRY_MEMORY(found->data, err);
        memcpy(found->data, where->bytes.memory, (size_t)where->bytes.size);
        return ZS_OK;
    }
    found->offset = where->bytes.offset;
    return zs_shard_key(array, where->shard, &found->key, err);
}

static enum zs_status find_in_shard(struct zs_array *array, uint64_t chunk, struct zs_chunk_bytes *found,
                                    struct zs_error *err)
{
    struct zs_location where = {.chunk = chunk, .shard = zs_grid_shard(&array->grid, chunk)}, *location = &where;
    struct zs_pins pins = {0};
    enum zs_status status = zs_locate(array, &location, 1, true, &pins, err);
    if (status == ZS_OK)
        status = take_location(array, &where, found, err);
    zs_pins_release(array, &pins);
    return status;
}

static enum zs_status find_chunk(struct zs_array *array, const uint64_t *position, struct zs_chunk_bytes *found,
                                 struct zs_error *err)
{
    const int innermost = array->chain.count - 1;
    for (int d = 0; d < array->meta->ndim; d++) {
        const uint64_t size = array->meta->shape[d];
        const uint64_t count = size > 0 ? zs_grid_find(&array->grid, innermost, d, size - 1) + 1 : 0;
        if (position[d] >= count)
            return zs_fail(err, ZS_ARGUMENT, "array /%s: dimension %d: expected a chunk below %llu, found %llu",
                           array->node->path, d, (unsigned long long)count, (unsigned long long)position[d]);
    }
    if (!zs_pending_is_empty(array))
        return zs_fail(err, ZS_ARGUMENT, "array /%s: flush it first: pending writes will move its chunks",
                       array->node->path);
    const uint64_t chunk = zs_grid_number(&array->grid, innermost, position);
    if (innermost == 0)
        return find_object(array, chunk, found, err);
    return find_in_shard(array, chunk, found, err);
}

enum zs_status zs_array_find_chunk(struct zs_array *array, const uint64_t *position, struct zs_chunk_bytes *found,
                                   struct zs_error *err)
{
    *found = (struct zs_chunk_bytes){0};
    zs_array_lock(array, true);
    const enum zs_status status = find_chunk(array, position, found, err);
    (void)pthread_rwlock_unlock(&array->lock);
    if (status != ZS_OK)
        zs_chunk_bytes_clear(found);
    return status;
}

void zs_array_stored_order(const struct zs_array *array, int *axis)
{
    memcpy(axis, array->innermost->axis, (size_t)array->meta->ndim * sizeof *axis);
}
