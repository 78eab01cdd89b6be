#include "array/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"

void zs_plan_init(struct zs_plan *p)
{
    pthread_mutex_init(&p->pending_lock, NULL);
    pthread_mutex_init(&p->decode_lock, NULL);
    pthread_cond_init(&p->decode_done, NULL);
}

void zs_plan_clear(struct zs_plan *p)
{
    for (size_t i = 0; i < p->chunk_count; i++) {
        if (p->chunks[i].cached != NULL)
            zs_cache_release(p->a->chunks, p->chunks[i].cached);
        if (p->chunks[i].table != NULL)
            zs_cache_release(p->a->indexes, p->chunks[i].table);
    }
    for (size_t i = 0; i < p->item_count; i++)
        if (p->items[i].kept != NULL)
            zs_cache_release(p->a->chunks, p->items[i].kept);
    for (size_t i = 0; i < p->shard_count && p->pins != NULL && p->pin_counts != NULL; i++) {
        for (size_t k = 0; k < p->pin_counts[i]; k++)
            zs_cache_release(p->a->chunks, p->pins[i][k]);
        free(p->pins[i]);
    }
    free(p->pins);
    free(p->pin_counts);
    free(p->overlaps);
    free(p->gaps);
    free(p->chunks);
    free(p->shards);
    free(p->items);
    free(p->ranges);
    free(p->groups);
    free(p->tasks);
    pthread_mutex_destroy(&p->pending_lock);
    pthread_mutex_destroy(&p->decode_lock);
    pthread_cond_destroy(&p->decode_done);
}

/* ---- Which chunks ---- */

enum zs_status zs_windows_check(const struct zs_array *a, const struct zs_window *windows, size_t n,
                                struct zs_error *err)
{
    for (size_t i = 0; i < n; i++)
        for (int d = 0; d < a->meta->ndim; d++) {
            const uint64_t size = a->meta->shape[d], start = windows[i].start[d], count = windows[i].count[d];
            if (start > size || count > size - start)
                return zs_fail(err, ZS_ARGUMENT,
                               "window: expected elements within 0 to %llu of dimension %d, found %llu + %llu",
                               (unsigned long long)size, d, (unsigned long long)start, (unsigned long long)count);
        }
    return ZS_OK;
}

bool zs_is_empty_window(const struct zs_array *a, const struct zs_window *w)
{
    for (int d = 0; d < a->meta->ndim; d++)
        if (w->count[d] == 0)
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

void zs_chunk_overlap(const struct zs_array *a, int k, uint64_t number, const struct zs_window *w, uint64_t *start,
                      uint64_t *count)
{
    uint64_t low[ZS_MAX_NDIM], length[ZS_MAX_NDIM];
    zs_grid_extent(&a->grid, k, number, low, length);
    for (int d = 0; d < a->meta->ndim; d++) {
        const uint64_t from = zs_max_u64(low[d], w->start[d]);
        const uint64_t to = zs_min_u64(low[d] + length[d], w->start[d] + w->count[d]);
        start[d] = from;
        count[d] = to - from;
    }
}

void zs_wanted_extent(const struct zs_plan *p, const struct zs_planned *c, struct zs_extent *extent)
{
    const struct zs_array *a = p->a;
    for (size_t i = 0; i < c->overlap_count; i++) {
        uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
        zs_chunk_overlap(a, a->chain.count - 1, c->where.chunk, &p->windows[p->overlaps[c->first_overlap + i].window],
                         start, count);
        for (int d = 0; d < a->meta->ndim; d++) {
            const uint64_t low = i == 0 ? start[d] : zs_min_u64(extent->start[d], start[d]);
            const uint64_t end =
                i == 0 ? start[d] + count[d] : zs_max_u64(extent->start[d] + extent->count[d], start[d] + count[d]);
            extent->start[d] = low;
            extent->count[d] = end - low;
        }
    }
}

/* Releases a cached extent of a chunk when it lacks something that is wanted. */
static void drop_other_extent(struct zs_plan *p, struct zs_planned *c)
{
    const struct zs_extent *cached = ((const struct zs_blob *)zs_cache_value(c->cached))->extent;
    struct zs_extent wanted;
    bool has_all = true;
    if (cached == NULL)
        return;
    zs_wanted_extent(p, c, &wanted);
    for (int d = 0; d < p->a->meta->ndim; d++)
        has_all = has_all && wanted.start[d] >= cached->start[d] &&
                  wanted.start[d] + wanted.count[d] <= cached->start[d] + cached->count[d];
    if (has_all)
        return;
    zs_cache_release(p->a->chunks, c->cached);
    c->cached = NULL;
}

bool zs_make_room(void **items, size_t *room, size_t count, uint64_t more, size_t item_size)
{
    if (more <= *room - count)
        return true;
    if (more > SIZE_MAX / item_size / 2 - count)
        return false;
    const size_t wanted = count + (size_t)more > *room + *room / 2 ? count + (size_t)more : *room + *room / 2;
    void *grown = realloc(*items, wanted * item_size);
    if (grown == NULL)
        return false;
    *items = grown;
    *room = wanted;
    return true;
}

static enum zs_status add_gap(struct zs_plan *p, size_t window, int k, uint64_t number, struct zs_error *err)
{
    void *gaps = p->gaps;
    if (!zs_make_room(&gaps, &p->gap_room, p->gap_count, 1, sizeof *p->gaps))
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu chunks", p->gap_count);
    p->gaps = gaps;
    p->gaps[p->gap_count++] = (struct zs_gap){window, k, number};
    return ZS_OK;
}

/* Plans the extent [start, start + count) of a window, but for what is empty, level-k chunk by chunk, so that overlaps
 * with one shard follow each other. */
static enum zs_status add_extent(struct zs_plan *p, size_t window, int k, const uint64_t *start, const uint64_t *count,
                                 struct zs_error *err)
{
    struct zs_array *a = p->a;
    const int n = a->meta->ndim;
    const int innermost = a->chain.count - 1;
    uint64_t low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], at[ZS_MAX_NDIM], chunks = 1;
    for (int d = 0; d < n; d++) {
        at[d] = low[d] = zs_grid_find(&a->grid, k, d, start[d]);
        high[d] = zs_grid_find(&a->grid, k, d, start[d] + count[d] - 1) + 1;
        chunks *= high[d] - low[d]; /* some of the array's chunks, whose number fits */
    }
    if (k == innermost) {
        void *overlaps = p->overlaps;
        if (!zs_make_room(&overlaps, &p->overlap_room, p->overlap_count, chunks, sizeof *p->overlaps))
            return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %llu chunks", (unsigned long long)chunks);
        p->overlaps = overlaps;
        do {
            p->overlaps[p->overlap_count++] = (struct zs_overlap){zs_grid_number(&a->grid, k, at), window};
        } while (zs_next_position(n, at, low, high));
        return ZS_OK;
    }
    do {
        const uint64_t number = zs_grid_number(&a->grid, k, at);
        uint64_t from[ZS_MAX_NDIM], extent[ZS_MAX_NDIM];
        from[0] = extent[0] = 0; /* of no dimensions too */
        bool is_single = true;   /* one innermost chunk: it is looked up like any other */
        for (int d = 0; d < n; d++) {
            const struct zs_span s = zs_grid_span(&a->grid, k, d, at[d]);
            from[d] = zs_max_u64(start[d], s.start);
            extent[d] = zs_min_u64(start[d] + count[d], s.start + s.length) - from[d];
            is_single = is_single && zs_grid_find(&a->grid, innermost, d, from[d]) ==
                                         zs_grid_find(&a->grid, innermost, d, from[d] + extent[d] - 1);
        }
        if (!is_single && zs_is_known_empty(a, k, number))
            ZS_TRY(add_gap(p, window, k, number, err));
        else
            ZS_TRY(add_extent(p, window, k + 1, from, extent, err));
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

enum zs_status zs_plan_chunks(struct zs_plan *p, struct zs_error *err)
{
    for (size_t i = 0; i < p->window_count; i++)
        if (!zs_is_empty_window(p->a, &p->windows[i]))
            ZS_TRY(add_extent(p, i, 0, p->windows[i].start, p->windows[i].count, err));
    if (p->window_count > 1 && p->overlap_count > 1) { /* one window gave them in order */
        sorting = p->a;
        qsort(p->overlaps, p->overlap_count, sizeof *p->overlaps, by_shard_and_chunk);
    }
    p->chunks = zs_calloc(p->overlap_count, sizeof *p->chunks);
    if (p->chunks == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu chunks", p->overlap_count);
    for (size_t i = 0; i < p->overlap_count; i++) {
        if (i == 0 || p->overlaps[i].chunk != p->overlaps[i - 1].chunk) {
            struct zs_planned *c = &p->chunks[p->chunk_count++];
            c->where.chunk = p->overlaps[i].chunk;
            c->where.shard = zs_grid_shard(&p->a->grid, c->where.chunk);
            c->first_overlap = i;
            c->dirty = zs_pending_decoded(p->a, c->where.chunk);
            if (c->dirty == NULL)
                c->cached = zs_cache_get(p->a->chunks, (struct zs_cache_key){0, c->where.chunk});
        }
        p->chunks[p->chunk_count - 1].overlap_count++;
    }
    for (size_t i = 0; i < p->chunk_count; i++)
        if (p->chunks[i].cached != NULL)
            drop_other_extent(p, &p->chunks[i]);
    return ZS_OK;
}

/* ---- Where their bytes are ---- */

bool zs_is_at_hand(const struct zs_planned *c)
{
    return c->cached != NULL || c->dirty != NULL;
}

static enum zs_status locate_shard(void *ctx, size_t item, struct zs_error *err)
{
    struct zs_plan *p = ctx;
    const struct zs_task *t = &p->shards[item];
    struct zs_location **locations = zs_calloc(t->shard_count, sizeof(struct zs_location *));
    if (locations == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu chunks", t->shard_count);
    size_t n = 0;
    for (size_t i = 0; i < t->shard_count; i++) {
        struct zs_planned *c = &p->chunks[t->shard_first + i];
        uint64_t number;
        if (zs_is_at_hand(c))
            continue;
        if (zs_pending_writer(p->a, c->where.chunk, &number) != NULL)
            c->where.kind = ZS_LOCATION_PENDING;
        else
            locations[n++] = &c->where;
    }
    bool is_stale = false;
    const enum zs_status status =
        n > 0 ? zs_locate(p->a, locations, n, &p->pins[item], &p->pin_counts[item], &is_stale, err) : ZS_OK;
    if (is_stale)
        p->stale = true;
    free(locations);
    return status;
}

enum zs_status zs_plan_locations(struct zs_plan *p, struct zs_error *err)
{
    p->shards = zs_calloc(p->chunk_count, sizeof *p->shards);
    if (p->shards == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu chunks", p->chunk_count);
    for (size_t i = 0, run; i < p->chunk_count; i += run) {
        bool missing = false;
        for (run = 0; i + run < p->chunk_count && p->chunks[i + run].where.shard == p->chunks[i].where.shard; run++)
            missing = missing || !zs_is_at_hand(&p->chunks[i + run]);
        if (missing)
            p->shards[p->shard_count++] = (struct zs_task){.shard_first = i, .shard_count = run};
    }
    p->pins = zs_calloc(p->shard_count, sizeof *p->pins);
    p->pin_counts = zs_calloc(p->shard_count, sizeof *p->pin_counts);
    if (p->pins == NULL || p->pin_counts == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu shards", p->shard_count);
    return zs_parallel_for(p->a->fetch_threads, p->shard_count, locate_shard, p, err);
}

/* ---- What to do ---- */

/* Adds the one item of a chunk that is read whole. */
static void add_whole(struct zs_plan *p, size_t chunk)
{
    struct zs_planned *c = &p->chunks[chunk];
    c->first_item = p->item_count++;
    c->item_count = 1;
    p->items[c->first_item] = (struct zs_item){.chunk = chunk, .block = ZS_WHOLE_CHUNK};
}

/* The bytes of an item within its object. */
static struct zs_range range_of(const struct zs_plan *p, size_t item)
{
    const struct zs_item *it = &p->items[item];
    const struct zs_planned *c = &p->chunks[it->chunk];
    struct zs_range r = {c->where.bytes.offset, c->where.bytes.size, item};
    if (it->block != ZS_WHOLE_CHUNK) {
        zs_block_range(zs_cache_value(c->table), it->block, &r.offset, &r.size);
        r.offset += c->where.bytes.offset;
    }
    return r;
}

/* Adds the items of a chunk: as ranges where bytes must be fetched, else as tasks. */
static void add_items(struct zs_plan *p, const struct zs_planned *c, size_t *range_count)
{
    const bool is_here = zs_is_at_hand(c) || c->where.kind == ZS_LOCATION_EMPTY;
    for (size_t i = c->first_item; i < c->first_item + c->item_count; i++) {
        p->decode_count += !is_here && p->items[i].kept == NULL;
        if (!is_here && p->items[i].kept == NULL && c->where.kind == ZS_LOCATION_RANGE)
            p->ranges[(*range_count)++] = range_of(p, i);
        else
            p->tasks[p->task_count++] = (struct zs_task){.first = i};
    }
}

enum zs_status zs_plan_tasks(struct zs_plan *p, struct zs_error *err)
{
    void *items = p->items;
    if (!zs_make_room(&items, &p->item_room, p->item_count, p->chunk_count, sizeof *p->items))
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu chunks", p->chunk_count);
    p->items = items;
    for (size_t i = 0; i < p->chunk_count; i++)
        if (p->chunks[i].table == NULL)
            add_whole(p, i);
    p->tasks = zs_calloc(p->item_count, sizeof *p->tasks);
    p->ranges = zs_calloc(p->item_count, sizeof *p->ranges);
    p->groups = zs_calloc(p->item_count, sizeof *p->groups);
    if (p->tasks == NULL || p->ranges == NULL || p->groups == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu chunks", p->chunk_count);
    size_t range_count = 0;
    for (size_t i = 0, run; i < p->chunk_count; i += run) {
        const size_t first_range = range_count;
        for (run = 0; i + run < p->chunk_count && p->chunks[i + run].where.shard == p->chunks[i].where.shard; run++)
            add_items(p, &p->chunks[i + run], &range_count);
        const size_t groups =
            zs_range_plan(p->ranges + first_range, range_count - first_range, p->a->ranges, p->groups);
        for (size_t g = 0; g < groups; g++)
            p->tasks[p->task_count++] = (struct zs_task){.first = first_range + p->groups[g].first,
                                                         .count = p->groups[g].count,
                                                         .offset = p->groups[g].offset,
                                                         .size = p->groups[g].size};
    }
    return ZS_OK;
}
