#include "array/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"

/* A plan of more shards than this, each with few chunks, is split without a search for absent shards. */
#define MANY_SHARDS 256
/* Indexes of at most so many shards are read to find absent ones. */
#define MAX_ASKED_SHARDS 4096

struct cut {
    struct zs_array *array;
    const struct zs_window *windows;
    size_t n;
    zs_cut_fn run;
    void *ctx;
};

/* Elements of the array, from `start` to before `end` in each dimension. */
struct bounds {
    uint64_t start[ZS_MAX_NDIM], end[ZS_MAX_NDIM];
};

/* Sets *out to the part of a window within the bounds; false when there is none. */
static bool clip(const struct zs_array *array, const struct zs_window *w, const struct bounds *bounds,
                 struct zs_window *out)
{
    char *data = w->data;
    *out = *w;
    for (int d = 0; d < array->meta->ndim; d++) {
        const uint64_t from = zs_max_u64(w->start[d], bounds->start[d]),
                       to = zs_min_u64(w->start[d] + w->count[d], bounds->end[d]);
        if (from >= to)
            return false;
        out->start[d] = from;
        out->count[d] = to - from;
        data += (ptrdiff_t)(from - w->start[d]) * w->stride[d];
    }
    out->data = data;
    return true;
}

/* Number of level-k chunks that a window overlaps; it is not empty. */
static uint64_t chunks_of(const struct zs_array *array, int level, const struct zs_window *w)
{
    uint64_t n = 1;
    for (int d = 0; d < array->meta->ndim; d++) {
        /* some of the array's chunks, whose number fits */
        n *= zs_grid_find(&array->grid, level, d, w->start[d] + w->count[d] - 1) + 1 -
             zs_grid_find(&array->grid, level, d, w->start[d]);
    }
    return n;
}

static uint64_t add_or_most(uint64_t x, uint64_t y)
{
    uint64_t sum;
    return zs_add_u64(x, y, &sum) ? sum : UINT64_MAX;
}

/* Number of level-k chunks that all windows overlap within the bounds. */
static uint64_t chunks_in(const struct cut *c, int level, const struct bounds *bounds)
{
    uint64_t total = 0;
    struct zs_window w;
    for (size_t i = 0; i < c->n; i++)
        if (clip(c->array, &c->windows[i], bounds, &w))
            total = add_or_most(total, chunks_of(c->array, level, &w));
    return total;
}

/* Number of overlaps of windows with innermost chunks. */
static uint64_t overlaps_of(const struct cut *c)
{
    uint64_t total = 0;
    for (size_t i = 0; i < c->n; i++)
        if (!zs_is_empty_window(c->array, &c->windows[i]))
            total = add_or_most(total, chunks_of(c->array, c->array->chain.count - 1, &c->windows[i]));
    return total;
}

/* ---- Shards ---- */

/* The level-0 shards that windows overlap within some bounds. */
struct shards {
    struct zs_array *array;
    uint64_t *chunks; /* one innermost chunk in each; NULL: they are only counted */
    size_t count;
    uint64_t overlaps; /* with their innermost chunks; a shard that is known to be absent counts as one */
};

static void list_shards(const struct cut *c, const struct bounds *bounds, struct shards *s)
{
    struct zs_array *array = c->array;
    const int n = array->meta->ndim;
    for (size_t i = 0; i < c->n; i++) {
        struct zs_window w, part;
        uint64_t low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], at[ZS_MAX_NDIM], chunk[ZS_MAX_NDIM];
        if (!clip(array, &c->windows[i], bounds, &w))
            continue;
        for (int d = 0; d < n; d++) {
            at[d] = low[d] = zs_grid_find(&array->grid, 0, d, w.start[d]);
            high[d] = zs_grid_find(&array->grid, 0, d, w.start[d] + w.count[d] - 1) + 1;
        }
        do {
            const uint64_t shard = zs_grid_number(&array->grid, 0, at);
            zs_chunk_overlap(array, 0, shard, &w, part.start, part.count);
            for (int d = 0; d < n; d++)
                chunk[d] = zs_grid_find(&array->grid, array->chain.count - 1, d, part.start[d]);
            if (s->chunks != NULL)
                s->chunks[s->count++] = zs_grid_number(&array->grid, array->chain.count - 1, chunk);
            s->overlaps = add_or_most(
                s->overlaps, zs_is_known_empty(array, 0, shard) ? 1 : chunks_of(array, array->chain.count - 1, &part));
        } while (zs_next_position(n, at, low, high));
    }
}

static enum zs_status load_index(void *ctx, size_t item, struct zs_error *err)
{
    const struct shards *s = ctx;
    return zs_shard_load_index(s->array, s->chunks[item], NULL, err);
}

/* Finds out side by side which shards are absent. */
static enum zs_status find_absent_shards(const struct cut *c, const struct bounds *bounds, uint64_t count,
                                         struct zs_error *err)
{
    struct shards s = {.array = c->array, .chunks = calloc((size_t)count, sizeof *s.chunks)};
    if (s.chunks == NULL)
        return zs_fail_memory(err);
    list_shards(c, bounds, &s);
    const enum zs_status status = zs_parallel_for(c->array->fetch_threads, s.count, load_index, &s, err);
    free(s.chunks);
    return status;
}

/* ---- Cutting ---- */

/* Halves the bounds between two chunks of the outermost level that has a border in them; false when they lie in one
 * innermost chunk. */
static bool halve(const struct zs_array *array, const struct bounds *bounds, struct bounds *low, struct bounds *high)
{
    for (int k = 0; k < array->chain.count; k++)
        for (int d = 0; d < array->meta->ndim; d++) {
            const uint64_t first = zs_grid_find(&array->grid, k, d, bounds->start[d]),
                           last = zs_grid_find(&array->grid, k, d, bounds->end[d] - 1);
            if (first == last)
                continue;
            *low = *high = *bounds;
            low->end[d] = high->start[d] = zs_grid_span(&array->grid, k, d, first + (last - first + 1) / 2).start;
            return true;
        }
    return false;
}

static enum zs_status run_bounds(const struct cut *c, const struct bounds *bounds, struct zs_error *err)
{
    struct zs_window *parts = calloc(c->n, sizeof *parts);
    if (parts == NULL)
        return zs_fail_memory(err);
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += clip(c->array, &c->windows[i], bounds, &parts[n]);
    const enum zs_status status = c->run(c->ctx, parts, n, err);
    free(parts);
    return status;
}

static bool is_in_one_shard(const struct zs_array *array, const struct bounds *bounds)
{
    for (int d = 0; d < array->meta->ndim; d++)
        if (zs_grid_find(&array->grid, 0, d, bounds->start[d]) != zs_grid_find(&array->grid, 0, d, bounds->end[d] - 1))
            return false;
    return array->chain.count > 1;
}

/* State of the shards within bounds that are halved. */
struct known {
    bool knows_absent; /* whether those that are absent were found */
    bool is_held;      /* the index of the one shard that they lie in is pinned */
};

static enum zs_status cut_bounds(const struct cut *c, const struct bounds *bounds, struct known known,
                                 struct zs_error *err);

static enum zs_status cut_halves(const struct cut *c, const struct bounds *low, const struct bounds *high,
                                 struct known known, struct zs_error *err)
{
    ZS_TRY(cut_bounds(c, low, known, err));
    return cut_bounds(c, high, known, err);
}

/* Cuts within one shard, whose index stays pinned: it may be larger than what the cache of indexes holds. */
static enum zs_status cut_shard(const struct cut *c, const struct bounds *low, const struct bounds *high,
                                struct known known, struct zs_error *err)
{
    struct zs_array *array = c->array;
    struct zs_pins pins = {0};
    uint64_t chunk[ZS_MAX_NDIM];
    for (int d = 0; d < array->meta->ndim; d++)
        chunk[d] = zs_grid_find(&array->grid, array->chain.count - 1, d, low->start[d]);
    known.is_held = true;
    enum zs_status status =
        zs_shard_load_index(array, zs_grid_number(&array->grid, array->chain.count - 1, chunk), &pins, err);
    if (status == ZS_OK)
        status = cut_halves(c, low, high, known, err);
    zs_pins_release(array, &pins);
    return status;
}

static enum zs_status cut_bounds(const struct cut *c, const struct bounds *bounds, struct known known,
                                 struct zs_error *err)
{
    const struct zs_array *array = c->array;
    struct bounds low, high;
    struct shards s = {.array = c->array, .overlaps = chunks_in(c, array->chain.count - 1, bounds)};
    if (s.overlaps == 0)
        return ZS_OK;
    const uint64_t shards = chunks_in(c, 0, bounds);
    if (s.overlaps > array->plan_overlaps && array->chain.count > 1 && shards <= MAX_ASKED_SHARDS &&
        s.overlaps / shards >= array->plan_overlaps / MANY_SHARDS) {
        if (!known.knows_absent)
            ZS_TRY(find_absent_shards(c, bounds, shards, err));
        known.knows_absent = true;
        s.overlaps = 0;
        list_shards(c, bounds, &s);
    }
    if (s.overlaps <= array->plan_overlaps || !halve(array, bounds, &low, &high))
        return run_bounds(c, bounds, err);
    return (!known.is_held && is_in_one_shard(array, bounds) ? cut_shard : cut_halves)(c, &low, &high, known, err);
}

/* The smallest bounds of all windows that are not empty. */
static struct bounds bounds_of(const struct cut *c)
{
    struct bounds bounds = {{0}, {0}};
    bool is_first = true;
    for (size_t i = 0; i < c->n; i++) {
        const struct zs_window *w = &c->windows[i];
        if (zs_is_empty_window(c->array, w))
            continue;
        for (int d = 0; d < c->array->meta->ndim; d++) {
            const uint64_t end = w->start[d] + w->count[d];
            bounds.start[d] = is_first ? w->start[d] : zs_min_u64(bounds.start[d], w->start[d]);
            bounds.end[d] = is_first ? end : zs_max_u64(bounds.end[d], end);
        }
        is_first = false;
    }
    return bounds;
}

enum zs_status zs_cut(struct zs_array *array, const struct zs_window *windows, size_t n, zs_cut_fn run, void *ctx,
                      struct zs_error *err)
{
    const struct cut c = {array, windows, n, run, ctx};
    if (overlaps_of(&c) <= array->plan_overlaps)
        return run(ctx, windows, n, err);
    const struct bounds bounds = bounds_of(&c);
    return cut_bounds(&c, &bounds, (struct known){false, false}, err);
}

enum zs_status zs_parts_in_shards(const struct zs_array *array, const struct zs_window *windows, size_t n,
                                  const uint64_t *shards, size_t shard_count, struct zs_window **parts,
                                  size_t *part_count, struct zs_error *err)
{
    *part_count = 0;
    *parts = n <= SIZE_MAX / shard_count ? zs_calloc(n * shard_count, sizeof **parts) : NULL;
    if (*parts == NULL)
        return zs_fail_memory(err);
    for (size_t i = 0; i < shard_count; i++) {
        struct bounds bounds;
        uint64_t length[ZS_MAX_NDIM];
        zs_grid_extent(&array->grid, 0, shards[i], bounds.start, length);
        for (int d = 0; d < array->meta->ndim; d++)
            bounds.end[d] = bounds.start[d] + length[d];
        for (size_t k = 0; k < n; k++)
            *part_count += clip(array, &windows[k], &bounds, &(*parts)[*part_count]);
    }
    return ZS_OK;
}

uint64_t zs_count_chunks(struct zs_array *array, const struct zs_window *windows, size_t n)
{
    const struct cut c = {.array = array, .windows = windows, .n = n};
    const struct bounds bounds = bounds_of(&c);
    struct zs_window around = {{0}, {0}, NULL, {0}};
    for (int d = 0; d < array->meta->ndim; d++) {
        around.start[d] = bounds.start[d];
        around.count[d] = bounds.end[d] - bounds.start[d];
    }
    const uint64_t overlaps = overlaps_of(&c);
    return overlaps > 1 ? zs_min_u64(overlaps, chunks_of(array, array->chain.count - 1, &around)) : overlaps;
}
