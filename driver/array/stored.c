/* Finding stored chunks, for work on large arrays that are mostly empty; and locating the bytes of one chunk, for
 * callers that read them by themselves. */
#include <stdlib.h>
#include <string.h>

#include "array/indexes.h"
#include "array/pending.h"
#include "array/plan.h"
#include "base/checked.h"
#include "base/memory.h"
#include "base/parallel.h"

struct search {
    struct zs_array *array;
    const struct zs_window *windows;
    bool *is_stored;
};

/* ---- Searching ---- */

/* The chunks of level `level` that an extent overlaps: from low to before high. */
static void find_chunks(const struct zs_array *array, int level, const uint64_t *start, const uint64_t *count,
                        uint64_t *low, uint64_t *high)
{
    for (int d = 0; d < array->meta->ndim; d++) {
        low[d] = zs_grid_find(&array->grid, level, d, start[d]);
        high[d] = zs_grid_find(&array->grid, level, d, start[d] + count[d] - 1) + 1;
    }
}

/* Searches the index of one shard for chunks of a window. */
static enum zs_status search_shard(struct zs_array *array, const struct zs_window *window, uint64_t shard,
                                   bool *is_stored, struct zs_error *err)
{
    const int n = array->meta->ndim, innermost = array->chain.count - 1;
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM], low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], at[ZS_MAX_NDIM];
    size_t chunks = 1, i = 0; /* no more than the shard has: its index fits memory */
    struct zs_pins pins = {0};
    *is_stored = false;
    zs_chunk_overlap(array, 0, shard, window, start, count);
    find_chunks(array, innermost, start, count, low, high);
    for (int d = 0; d < n; d++) {
        at[d] = low[d];
        chunks *= (size_t)(high[d] - low[d]);
    }
    struct zs_location *locations = zs_calloc(chunks, sizeof *locations), **list = zs_calloc(chunks, sizeof *list);
    enum zs_status status = locations != NULL && list != NULL ? ZS_OK : zs_fail_memory(err);
    do {
        if (status == ZS_OK) {
            locations[i] = (struct zs_location){.chunk = zs_grid_number(&array->grid, innermost, at), .shard = shard};
            list[i] = &locations[i];
            i++;
        }
    } while (status == ZS_OK && zs_next_position(n, at, low, high));
    if (status == ZS_OK)
        status = zs_locate_by_index(array, list, chunks, &pins, err);
    for (i = 0; status == ZS_OK && i < chunks && !*is_stored; i++)
        *is_stored = locations[i].kind != ZS_LOCATION_EMPTY;
    zs_pins_release(array, &pins);
    free(list);
    free(locations);
    return status;
}

/* Searches one shard, unless it is known to be absent. *is_missed: a look-up found that it is. */
static enum zs_status look_up(struct zs_array *array, const struct zs_window *window, uint64_t shard, bool *is_stored,
                              bool *is_missed, struct zs_error *err)
{
    *is_missed = false;
    if (zs_is_known_empty(array, 0, shard))
        return ZS_OK;
    ZS_TRY(search_shard(array, window, shard, is_stored, err));
    *is_missed = !*is_stored && zs_is_known_empty(array, 0, shard);
    return ZS_OK;
}

/* Searches the listed shards of one window, from position `low` to before `high`, until one holds something. */
static enum zs_status search_listed(struct zs_array *array, const struct zs_shard_list *list,
                                    const struct zs_window *window, const uint64_t *low, const uint64_t *high,
                                    bool *is_stored, struct zs_error *err)
{
    const int ndim = array->meta->ndim;
    uint64_t last[ZS_MAX_NDIM], at[ZS_MAX_NDIM];
    for (int d = 0; d < ndim; d++)
        last[d] = high[d] - 1;
    const uint64_t end = zs_grid_number(&array->grid, 0, last), first = zs_grid_number(&array->grid, 0, low);
    const uint64_t *numbers = list->numbers;
    for (size_t i = zs_find_u64(numbers, list->count, first); i < list->count && numbers[i] <= end && !*is_stored;
         i++) {
        bool is_inside = true;
        zs_grid_position(&array->grid, 0, numbers[i], at);
        for (int d = 0; d < ndim; d++)
            is_inside = is_inside && at[d] >= low[d] && at[d] < high[d];
        if (is_inside)
            ZS_TRY(search_shard(array, window, numbers[i], is_stored, err));
    }
    return ZS_OK;
}

/* Searches the shards of one window until one holds something. */
static enum zs_status search_window(void *ctx, size_t item, struct zs_error *err)
{
    struct search *search = ctx;
    struct zs_array *array = search->array;
    const struct zs_window *window = &search->windows[item];
    uint64_t low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], at[ZS_MAX_NDIM];
    bool *is_stored = &search->is_stored[item];
    *is_stored = false;
    if (zs_is_empty_window(array, window))
        return ZS_OK;
    find_chunks(array, 0, window->start, window->count, low, high);
    memcpy(at, low, sizeof at);
    struct zs_cache_entry *entry = NULL;
    const struct zs_shard_list *list = zs_shard_list_get(array, &entry);
    enum zs_status status = ZS_OK;
    bool is_last = false;
    while (list == NULL && status == ZS_OK && !*is_stored && !is_last) {
        bool is_missed;
        const uint64_t shard = zs_grid_number(&array->grid, 0, at);
        status = look_up(array, window, shard, is_stored, &is_missed, err);
        is_last = !zs_next_position(array->meta->ndim, at, low, high);
        if (status == ZS_OK && is_missed)
            list = zs_shard_list_missed(array, &entry);
    }
    if (list != NULL && status == ZS_OK)
        status = search_listed(array, list, window, low, high, is_stored, err);
    if (entry != NULL)
        zs_cache_release(array->indexes, entry);
    return status;
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
    enum zs_status status = zs_locate_by_index(array, &location, 1, &pins, err);
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
