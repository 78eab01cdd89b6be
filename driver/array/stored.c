/* Finding stored chunks, for work on large arrays that are mostly empty. */
#include <stdlib.h>
#include <string.h>

#include "array/array_private.h"
#include "array/pending.h"
#include "array/plan.h"
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
