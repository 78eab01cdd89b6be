#include "array/plan.h"

#include <stdlib.h>

#include "base/parallel.h"

void zs_plan_clear(struct zs_plan *plan)
{
    for (size_t i = 0; i < plan->chunk_count; i++) {
        zs_cache_release(plan->chunks[i].cached);
        zs_cache_release(plan->chunks[i].table);
    }
    for (size_t i = 0; i < plan->item_count; i++)
        zs_cache_release(plan->items[i].kept);
    for (size_t i = 0; i < plan->shard_count; i++)
        zs_pins_release(plan->array, &plan->shards[i].pins);
    free(plan->overlaps);
    free(plan->gaps);
    free(plan->chunks);
    free(plan->shards);
    free(plan->items);
    free(plan->ranges);
    free(plan->tasks);
}

/* ---- Which chunks ---- */

enum zs_status zs_windows_check(const struct zs_array *array, const struct zs_window *windows, size_t n,
                                struct zs_error *err)
{
    for (size_t i = 0; i < n; i++)
        for (int d = 0; d < array->meta->ndim; d++) {
            const uint64_t size = array->meta->shape[d], start = windows[i].start[d], count = windows[i].count[d];
            if (start > size || count > size - start)
                return zs_fail(err, ZS_ARGUMENT,
                               "window: expected elements within 0 to %llu of dimension %d, found %llu + %llu",
                               (unsigned long long)size, d, (unsigned long long)start, (unsigned long long)count);
        }
    return ZS_OK;
}

bool zs_is_empty_window(const struct zs_array *array, const struct zs_window *window)
{
    for (int d = 0; d < array->meta->ndim; d++)
        if (window->count[d] == 0)
            return true;
    return false;
}

bool zs_next_position(int n, uint64_t *at, const uint64_t *low, const uint64_t *high)
{
    for (int d = n - 1; d >= 0; d--) {
        if (++at[d] < high[d])
            return true;
        at[d] = low[d];
    }
    return false;
}

void zs_chunk_overlap(const struct zs_array *array, int level, uint64_t number, const struct zs_window *window,
                      uint64_t *start, uint64_t *count)
{
    uint64_t low[ZS_MAX_NDIM], length[ZS_MAX_NDIM];
    zs_grid_extent(&array->grid, level, number, low, length);
    for (int d = 0; d < array->meta->ndim; d++) {
        const uint64_t from = zs_max_u64(low[d], window->start[d]);
        const uint64_t to = zs_min_u64(low[d] + length[d], window->start[d] + window->count[d]);
        start[d] = from;
        count[d] = to - from;
    }
}

void zs_wanted_extent(const struct zs_plan *plan, const struct zs_planned *planned, struct zs_extent *extent)
{
    const struct zs_array *array = plan->array;
    for (size_t i = 0; i < planned->overlap_count; i++) {
        uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
        zs_chunk_overlap(array, array->chain.count - 1, planned->where.chunk, zs_planned_window(plan, planned, i),
                         start, count);
        for (int d = 0; d < array->meta->ndim; d++) {
            const uint64_t low = i == 0 ? start[d] : zs_min_u64(extent->start[d], start[d]);
            const uint64_t end =
                i == 0 ? start[d] + count[d] : zs_max_u64(extent->start[d] + extent->count[d], start[d] + count[d]);
            extent->start[d] = low;
            extent->count[d] = end - low;
        }
    }
}

/* Releases a cached extent of a chunk when it lacks something that is wanted. */
static void drop_other_extent(struct zs_plan *plan, struct zs_planned *planned)
{
    const struct zs_extent *cached = ((const struct zs_blob *)zs_cache_value(planned->cached))->extent;
    struct zs_extent wanted;
    bool has_all = true;
    if (cached == NULL)
        return;
    zs_wanted_extent(plan, planned, &wanted);
    for (int d = 0; d < plan->array->meta->ndim; d++)
        has_all = has_all && wanted.start[d] >= cached->start[d] &&
                  wanted.start[d] + wanted.count[d] <= cached->start[d] + cached->count[d];
    if (has_all)
        return;
    zs_cache_release(planned->cached);
    planned->cached = NULL;
}

static enum zs_status add_gap(struct zs_plan *plan, size_t window, uint64_t shard, struct zs_error *err)
{
    ZS_TRY_GROW(plan->gaps, plan->gap_count, &plan->gap_room, err);
    plan->gaps[plan->gap_count++] = (struct zs_gap){window, shard};
    return ZS_OK;
}

/* Plans the extent [start, start + count) of a window, level-k chunk by chunk, so that overlaps with one shard follow
 * each other. Skips empty chunks. */
static enum zs_status add_extent(struct zs_plan *plan, size_t window, int level, const uint64_t *start,
                                 const uint64_t *count, struct zs_error *err)
{
    struct zs_array *array = plan->array;
    const int n = array->meta->ndim;
    const int innermost = array->chain.count - 1;
    uint64_t low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], at[ZS_MAX_NDIM], chunks = 1;
    for (int d = 0; d < n; d++) {
        at[d] = low[d] = zs_grid_find(&array->grid, level, d, start[d]);
        high[d] = zs_grid_find(&array->grid, level, d, start[d] + count[d] - 1) + 1;
        chunks *= high[d] - low[d]; /* some of the array's chunks, whose number fits */
    }
    if (level == innermost) {
        ZS_TRY_GROW_BY(plan->overlaps, plan->overlap_count, chunks, &plan->overlap_room, err);
        do {
            plan->overlaps[plan->overlap_count++] =
                (struct zs_overlap){zs_grid_number(&array->grid, level, at), window};
        } while (zs_next_position(n, at, low, high));
        return ZS_OK;
    }
    do {
        const uint64_t number = zs_grid_number(&array->grid, level, at);
        uint64_t from[ZS_MAX_NDIM], extent[ZS_MAX_NDIM];
        from[0] = extent[0] = 0; /* of no dimensions too */
        bool is_single = true;   /* one innermost chunk: it is looked up like any other */
        for (int d = 0; d < n; d++) {
            const struct zs_span s = zs_grid_span(&array->grid, level, d, at[d]);
            from[d] = zs_max_u64(start[d], s.start);
            extent[d] = zs_min_u64(start[d] + count[d], s.start + s.length) - from[d];
            is_single = is_single && zs_grid_find(&array->grid, innermost, d, from[d]) ==
                                         zs_grid_find(&array->grid, innermost, d, from[d] + extent[d] - 1);
        }
        if (level == 0 && !is_single && zs_is_known_empty(array, number))
            ZS_TRY(add_gap(plan, window, number, err));
        else
            ZS_TRY(add_extent(plan, window, level + 1, from, extent, err));
    } while (zs_next_position(n, at, low, high));
    return ZS_OK;
}

static _Thread_local const struct zs_array *sorting; /* qsort() has no context argument in C11 */

static int by_shard_and_chunk(const void *x, const void *y)
{
    const struct zs_overlap *p = x, *q = y;
    if (p->chunk != q->chunk) {
        const uint64_t a = zs_grid_shard(&sorting->grid, p->chunk), b = zs_grid_shard(&sorting->grid, q->chunk);
        if (a != b)
            return a < b ? -1 : 1;
        return p->chunk < q->chunk ? -1 : 1;
    }
    return (p->window > q->window) - (p->window < q->window);
}

enum zs_status zs_plan_chunks(struct zs_plan *plan, struct zs_error *err)
{
    for (size_t i = 0; i < plan->window_count; i++)
        if (!zs_is_empty_window(plan->array, &plan->windows[i]))
            ZS_TRY(add_extent(plan, i, 0, plan->windows[i].start, plan->windows[i].count, err));
    if (plan->window_count > 1 && plan->overlap_count > 1) { /* one window gave them in order */
        sorting = plan->array;
        qsort(plan->overlaps, plan->overlap_count, sizeof *plan->overlaps, by_shard_and_chunk);
    }
    plan->chunks = zs_calloc(plan->overlap_count, sizeof *plan->chunks);
    ZS_TRY_MEMORY(plan->chunks, err);
    for (size_t i = 0; i < plan->overlap_count; i++) {
        if (i == 0 || plan->overlaps[i].chunk != plan->overlaps[i - 1].chunk) {
            struct zs_planned *planned = &plan->chunks[plan->chunk_count++];
            planned->where.chunk = plan->overlaps[i].chunk;
            planned->where.shard = zs_grid_shard(&plan->array->grid, planned->where.chunk);
            planned->first_overlap = i;
            struct zs_dirty *dirty = plan->ignores_pending ? NULL : zs_dirty_find(plan->array, planned->where.chunk);
            if (dirty != NULL)
                ZS_TRY(zs_dirty_complete(plan->array, dirty, err));
            planned->dirty = dirty != NULL ? dirty->blob : NULL;
            if (dirty == NULL)
                planned->cached = zs_cache_get(&plan->array->chunks, (struct zs_cache_key){0, planned->where.chunk});
        }
        plan->chunks[plan->chunk_count - 1].overlap_count++;
    }
    for (size_t i = 0; i < plan->chunk_count; i++)
        if (plan->chunks[i].cached != NULL)
            drop_other_extent(plan, &plan->chunks[i]);
    return ZS_OK;
}

/* ---- Where their bytes are ---- */

bool zs_is_at_hand(const struct zs_planned *planned)
{
    return planned->cached != NULL || planned->dirty != NULL;
}

/* How many chunks of the plan, from `first` on, lie in one shard. */
static size_t count_in_shard(const struct zs_plan *plan, size_t first)
{
    size_t end = first + 1;
    while (end < plan->chunk_count && plan->chunks[end].where.shard == plan->chunks[first].where.shard)
        end++;
    return end - first;
}

static enum zs_status locate_shard(void *ctx, size_t item, struct zs_error *err)
{
    struct zs_plan *plan = ctx;
    struct zs_planned_shard *shard = &plan->shards[item];
    struct zs_location **locations = zs_calloc(shard->chunk_count, sizeof(struct zs_location *));
    ZS_TRY_MEMORY(locations, err);
    size_t n = 0;
    for (size_t i = 0; i < shard->chunk_count; i++) {
        struct zs_planned *planned = &plan->chunks[shard->first_chunk + i];
        struct zs_shard_writer *writer;
        uint64_t number;
        if (zs_is_at_hand(planned))
            continue;
        if (!plan->ignores_pending && zs_pending_has(plan->array, planned->where.chunk, &writer, &number))
            planned->where.kind = ZS_LOCATION_PENDING;
        else
            locations[n++] = &planned->where;
    }
    const enum zs_status status = n > 0 ? zs_locate(plan->array, locations, n, false, &shard->pins, err) : ZS_OK;
    free(locations);
    return status;
}

enum zs_status zs_plan_locations(struct zs_plan *plan, struct zs_error *err)
{
    plan->shards = zs_calloc(plan->chunk_count, sizeof *plan->shards);
    ZS_TRY_MEMORY(plan->shards, err);
    for (size_t first = 0, count; first < plan->chunk_count; first += count) {
        bool is_missing = false;
        count = count_in_shard(plan, first);
        for (size_t i = first; i < first + count && !is_missing; i++)
            is_missing = !zs_is_at_hand(&plan->chunks[i]);
        if (is_missing)
            plan->shards[plan->shard_count++] = (struct zs_planned_shard){.first_chunk = first, .chunk_count = count};
    }
    return zs_parallel_for(plan->array->fetch_threads, plan->shard_count, locate_shard, plan, err);
}

/* ---- What to do ---- */

/* Adds the one item of a chunk that is read whole. */
static void add_whole(struct zs_plan *plan, size_t chunk)
{
    struct zs_planned *planned = &plan->chunks[chunk];
    planned->first_item = plan->item_count++;
    planned->item_count = 1;
    plan->items[planned->first_item] = (struct zs_item){.chunk = chunk, .block = ZS_WHOLE_CHUNK};
}

/* The bytes of an item within its object. */
static struct zs_range range_of(const struct zs_plan *plan, size_t number)
{
    const struct zs_item *item = &plan->items[number];
    const struct zs_planned *planned = &plan->chunks[item->chunk];
    struct zs_range range = {planned->where.bytes.offset, planned->where.bytes.size, number};
    if (item->block != ZS_WHOLE_CHUNK) {
        zs_block_range(zs_cache_value(planned->table), item->block, &range.offset, &range.size);
        range.offset += planned->where.bytes.offset;
    }
    return range;
}

/* Adds the items of a chunk: as ranges where bytes must be fetched, else as tasks. */
static void add_items(struct zs_plan *plan, const struct zs_planned *planned, size_t *range_count)
{
    for (size_t i = planned->first_item; i < planned->first_item + planned->item_count; i++) {
        const bool is_to_decode = plan->items[i].kept == NULL && !zs_is_at_hand(planned) &&
                                  planned->where.kind != ZS_LOCATION_EMPTY;
        plan->decode_count += is_to_decode;
        plan->has_whole = plan->has_whole || (is_to_decode && plan->items[i].block == ZS_WHOLE_CHUNK);
        if (is_to_decode && planned->where.kind == ZS_LOCATION_RANGE)
            plan->ranges[(*range_count)++] = range_of(plan, i);
        else
            plan->tasks[plan->task_count++] = (struct zs_task){.item = i};
    }
}

/* Adds a task for each request that `count` ranges of one shard, from `first` on, are grouped to in `groups`. */
static void add_requests(struct zs_plan *plan, size_t first, size_t count, struct zs_range_group *groups)
{
    const size_t group_count = zs_range_plan(plan->ranges + first, count, plan->array->ranges, groups);
    for (size_t i = 0; i < group_count; i++) {
        groups[i].first += first;
        plan->tasks[plan->task_count++] = (struct zs_task){.request = groups[i]};
    }
}

enum zs_status zs_plan_tasks(struct zs_plan *plan, struct zs_error *err)
{
    ZS_TRY_GROW_BY(plan->items, plan->item_count, plan->chunk_count, &plan->item_room, err);
    for (size_t i = 0; i < plan->chunk_count; i++)
        if (plan->chunks[i].table == NULL)
            add_whole(plan, i);
    struct zs_range_group *groups = zs_calloc(plan->item_count, sizeof *groups);
    plan->tasks = zs_calloc(plan->item_count, sizeof *plan->tasks);
    plan->ranges = zs_calloc(plan->item_count, sizeof *plan->ranges);
    if (plan->tasks == NULL || plan->ranges == NULL || groups == NULL) {
        free(groups);
        return zs_fail_memory(err);
    }
    size_t range_count = 0;
    for (size_t first = 0, count; first < plan->chunk_count; first += count) {
        const size_t first_range = range_count;
        count = count_in_shard(plan, first);
        for (size_t i = first; i < first + count; i++)
            add_items(plan, &plan->chunks[i], &range_count);
        add_requests(plan, first_range, range_count - first_range, groups);
    }
    free(groups);
    return ZS_OK;
}
