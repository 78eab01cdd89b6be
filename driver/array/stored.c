/* Finding stored chunks, for work on large arrays that are mostly empty; and locating the bytes of one chunk, for
 * callers that read them by themselves. */
#include <stdlib.h>
#include <string.h>

#include "array/indexes.h"
#include "array/pending_writes.h"
#include "array/plan.h"
#include "base/checked.h"
#include "base/memory.h"
#include "base/parallel.h"

/* Numbers of the shards that the store lists, growing. */
struct listed {
    uint64_t *numbers;
    size_t count, room;
};

struct search {
    struct zs_array *array;
    const struct zs_window *windows;
    bool *is_stored;
    pthread_mutex_t lock; /* of what follows */
    struct listed listed; /* is made once, when a window asks for it */
    bool is_tried, is_listed;
};

/* ---- Listing ---- */

/* So many shards of a window are looked up one by one, in a remote store with a request each. Where all are absent, the
 * store is listed for the others: in fine HEALPix maps nearly all are. */
#define LOOKED_UP 1024
#define LOOKED_UP_REMOTE 32

static enum zs_status add_listed(const struct zs_array *array, const char *key, struct listed *listed,
                                 struct zs_error *err)
{
    uint64_t position[ZS_MAX_NDIM];
    if (!zs_chunk_key_parse(array->meta, key, position))
        return ZS_OK;
    for (int d = 0; d < array->meta->ndim; d++)
        if (position[d] >= array->grid.count[0][d])
            return ZS_OK;
    uint64_t *grown = zs_grow(listed->numbers, listed->count, &listed->room, sizeof *grown);
    if (grown == NULL)
        return zs_fail_memory(err);
    listed->numbers = grown;
    listed->numbers[listed->count++] = zs_grid_number(&array->grid, 0, position);
    return ZS_OK;
}

/* Lists what is below `key`, "" or with a "/" at its end, of the array's folder; keys have a level for each dimension
 * at most, and one for the `c` before them. */
static enum zs_status list_below(const struct zs_array *array, const char *folder, const char *key, int level,
                                 struct listed *listed, struct zs_error *err)
{
    char **names = NULL;
    char *prefix = zs_format("%s%s%s", folder, folder[0] != '\0' && key[0] != '\0' ? "/" : "", key);
    if (prefix == NULL)
        return zs_fail_memory(err);
    if (prefix[0] != '\0' && prefix[strlen(prefix) - 1] == '/')
        prefix[strlen(prefix) - 1] = '\0';
    enum zs_status status = zs_store_list(array->store, prefix, &names, err);
    free(prefix);
    ZS_TRY(status);
    for (char **name = names; *name != NULL && status == ZS_OK; name++) {
        const bool is_folder = (*name)[strlen(*name) - 1] == '/';
        char *below = zs_format("%s%s", key, *name);
        if (below == NULL)
            status = zs_fail_memory(err);
        else if (!is_folder)
            status = add_listed(array, below, listed, err);
        else if (level < array->meta->ndim && (level > 0 || (*name)[0] == 'c' || array->meta->key_is_v2))
            status = list_below(array, folder, below, level + 1, listed, err);
        free(below);
    }
    zs_names_free(names);
    return status;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Released by the caller, on failure too. */
static enum zs_status list_shards(const struct zs_array *array, struct listed *listed, struct zs_error *err)
{
    char *folder = zs_chunk_folder(array->meta, array->node->path);
    if (folder == NULL)
        return zs_fail_memory(err);
    const enum zs_status status = list_below(array, folder, "", 0, listed, err);
    free(folder);
    if (listed->count > 0)
        qsort(listed->numbers, listed->count, sizeof *listed->numbers, compare_numbers);
    return status;
}

/* Lists the shards, unless that was tried. False where each is to be looked up: a web server has no listings. */
static bool is_listed(struct search *search)
{
    struct zs_error reason;
    (void)pthread_mutex_lock(&search->lock);
    if (!search->is_tried)
        search->is_listed = list_shards(search->array, &search->listed, &reason) == ZS_OK;
    search->is_tried = true;
    const bool result = search->is_listed;
    (void)pthread_mutex_unlock(&search->lock);
    return result;
}

/* ---- Searching ---- */

/* The chunks of level `k` that an extent overlaps: from low to before high. */
static void find_chunks(const struct zs_array *array, int k, const uint64_t *start, const uint64_t *count,
                        uint64_t *low, uint64_t *high)
{
    for (int d = 0; d < array->meta->ndim; d++) {
        low[d] = zs_grid_find(&array->grid, k, d, start[d]);
        high[d] = zs_grid_find(&array->grid, k, d, start[d] + count[d] - 1) + 1;
    }
}

/* Searches the index of one shard for chunks of a window. */
static enum zs_status search_shard(struct zs_array *array, const struct zs_window *w, uint64_t shard, bool *is_stored,
                                   struct zs_error *err)
{
    const int n = array->meta->ndim, innermost = array->chain.count - 1;
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM], low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], at[ZS_MAX_NDIM];
    size_t chunks = 1, i = 0; /* no more than the shard has: its index fits memory */
    struct zs_pins pins = {0};
    *is_stored = false;
    if (array->pending != NULL && zs_shard_is_unpublished(array, shard)) /* a request says no more */
        return ZS_OK;
    zs_chunk_overlap(array, 0, shard, w, start, count);
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
    bool is_stale = false;
    if (status == ZS_OK)
        status = zs_locate(array, list, chunks, &pins, &is_stale, err);
    *is_stored = is_stale;
    for (i = 0; status == ZS_OK && i < chunks && !*is_stored; i++)
        *is_stored = locations[i].kind != ZS_LOCATION_EMPTY;
    zs_pins_release(array, &pins);
    free(list);
    free(locations);
    return is_stale ? ZS_OK : status;
}

/* Searches the listed shards of one window, from position `low` to before `high`, until one holds something. */
static enum zs_status search_listed(const struct search *search, const struct zs_window *w, const uint64_t *low,
                                    const uint64_t *high, bool *is_stored, struct zs_error *err)
{
    const int ndim = search->array->meta->ndim;
    uint64_t last[ZS_MAX_NDIM], at[ZS_MAX_NDIM];
    for (int d = 0; d < ndim; d++)
        last[d] = high[d] - 1;
    const uint64_t end = zs_grid_number(&search->array->grid, 0, last);
    const uint64_t first = zs_grid_number(&search->array->grid, 0, low), *numbers = search->listed.numbers;
    for (size_t i = zs_find_u64(numbers, search->listed.count, first);
         i < search->listed.count && numbers[i] <= end && !*is_stored; i++) {
        bool is_inside = true;
        zs_grid_position(&search->array->grid, 0, numbers[i], at);
        for (int d = 0; d < ndim; d++)
            is_inside = is_inside && at[d] >= low[d] && at[d] < high[d];
        if (is_inside)
            ZS_TRY(search_shard(search->array, w, numbers[i], is_stored, err));
    }
    return ZS_OK;
}

/* Searches the shards of one window until one holds something. */
static enum zs_status search_window(void *ctx, size_t item, struct zs_error *err)
{
    struct search *search = ctx;
    struct zs_array *array = search->array;
    const struct zs_window *w = &search->windows[item];
    const int most = array->store->is_remote ? LOOKED_UP_REMOTE : LOOKED_UP;
    int looked_up = 0;
    uint64_t low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], at[ZS_MAX_NDIM];
    bool *is_stored = &search->is_stored[item];
    *is_stored = false;
    if (zs_is_empty_window(array, w))
        return ZS_OK;
    find_chunks(array, 0, w->start, w->count, low, high);
    memcpy(at, low, sizeof at);
    do {
        if (looked_up++ == most && is_listed(search))
            return search_listed(search, w, low, high, is_stored, err);
        ZS_TRY(search_shard(array, w, zs_grid_number(&array->grid, 0, at), is_stored, err));
    } while (!*is_stored && zs_next_position(array->meta->ndim, at, low, high));
    return ZS_OK;
}

/* Whether no write is pending. */
static bool is_flushed(const struct zs_array *array)
{
    return array->pending == NULL || array->pending->dirty.count + array->pending->shards.count == 0;
}

static enum zs_status find_stored(struct zs_array *array, const struct zs_window *windows, size_t n, bool *is_stored,
                                  struct zs_error *err)
{
    struct search search = {.array = array, .windows = windows, .is_stored = is_stored};
    (void)pthread_mutex_init(&search.lock, NULL);
    const enum zs_status status = zs_parallel_for(array->fetch_threads, n, search_window, &search, err);
    (void)pthread_mutex_destroy(&search.lock);
    free(search.listed.numbers);
    return status;
}

enum zs_status zs_array_find_stored(struct zs_array *array, const struct zs_window *windows, size_t n, bool *is_stored,
                                    struct zs_error *err)
{
    ZS_TRY(zs_windows_check(array, windows, n, err));
    zs_array_lock(array, true);
    enum zs_status status = ZS_OK;
    if (array->chain.count > 1 && is_flushed(array))
        status = find_stored(array, windows, n, is_stored, err);
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
        if (found->data == NULL)
            return zs_fail_memory(err);
        memcpy(found->data, where->bytes.memory, (size_t)where->bytes.size);
        return ZS_OK;
    }
    found->offset = where->bytes.offset;
    return zs_shard_key(array, where->shard, &found->key, err);
}

static enum zs_status find_in_shard(struct zs_array *array, uint64_t chunk, bool *is_stale,
                                    struct zs_chunk_bytes *found, struct zs_error *err)
{
    struct zs_location where = {.chunk = chunk, .shard = zs_grid_shard(&array->grid, chunk)}, *location = &where;
    struct zs_pins pins = {0};
    enum zs_status status = ZS_OK;
    *is_stale = false;
    if (array->chain.levels[0].bytes_codec_count == 0) { /* while its index is cached, no shard is fetched whole */
        status = zs_index_get(array, 0, where.shard, NULL, &pins.index, err);
        if (status != ZS_OK)
            return zs_fail_in_chunk(array, chunk, status, err);
    }
    status = zs_locate(array, &location, 1, &pins, is_stale, err);
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
    if (!is_flushed(array))
        return zs_fail(err, ZS_ARGUMENT, "array /%s: flush it first: pending writes will move its chunks",
                       array->node->path);
    const uint64_t chunk = zs_grid_number(&array->grid, innermost, position);
    if (innermost == 0)
        return find_object(array, chunk, found, err);
    enum zs_status status = ZS_OK;
    bool is_stale = true;
    for (int i = 0; i <= ZS_STALE_RETRIES && is_stale; i++) {
        if (i > 0)
            zs_array_distrust(array);
        status = find_in_shard(array, chunk, &is_stale, found, err);
    }
    return status;
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
