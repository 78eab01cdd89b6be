#include "array/plan.h"

#include <stdlib.h>

#include "base/parallel.h"

/* A plan of more shards than this, each with few chunks, is split without a search for absent shards. */
#define MANY_SHARDS 256
/* Indexes of at most so many shards are read to find absent ones. */
#define MAX_ASKED_SHARDS 4096

struct cut {
    struct zs_array *array;
    const struct zs_window *windows;
    size_t n;
    zs_windows_fn run;
    void *ctx;
};

/* Elements of the array, from `start` to before `end` in each dimension. */
struct bounds {
    uint64_t start[ZS_MAX_NDIM], end[ZS_MAX_NDIM];
};

/* Sets *out to the part of a window within the bounds; false when there is none. */
static bool clip(const struct zs_array *array, const struct zs_window *window, const struct bounds *bounds,
                 struct zs_window *out)
{
    ptrdiff_t offset = 0;
    *out = *window;
    for (int d = 0; d < array->meta->ndim; d++) {
        const uint64_t from = zs_max_u64(window->start[d], bounds->start[d]),
                       to = zs_min_u64(window->start[d] + window->count[d], bounds->end[d]);
        if (from >= to)
            return false;
        out->start[d] = from;
        out->count[d] = to - from;
        offset += (ptrdiff_t)(from - window->start[d]) * window->stride[d];
    }
    if (offset != 0) /* where texts are read, `data` is NULL, and the strides are 0 */
        out->data = (char *)window->data + offset;
    return true;
}

/* Number of level-k chunks that a window overlaps; it is not empty. */
static uint64_t chunks_of(const struct zs_array *array, int level, const struct zs_window *window)
{
    uint64_t n = 1;
    for (int d = 0; d < array->meta->ndim; d++) {
        /* some of the array's chunks, whose number fits */
        n *= zs_grid_find(&array->grid, level, d, window->start[d] + window->count[d] - 1) + 1 -
             zs_grid_find(&array->grid, level, d, window->start[d]);
    }
    return n;
}

static uint64_t add_or_most(uint64_t x, uint64_t y)
{
    uint64_t sum;
    return zs_add_u64(x, y, &sum) ? sum : UINT64_MAX;
}

/* Number of level-k chunks that all windows overlap within the bounds. */
static uint64_t chunks_in(const struct cut *cut, int level, const struct bounds *bounds)
{
    uint64_t total = 0;
    struct zs_window window;
    for (size_t i = 0; i < cut->n; i++)
        if (clip(cut->array, &cut->windows[i], bounds, &window))
            total = add_or_most(total, chunks_of(cut->array, level, &window));
    return total;
}

/* Number of overlaps of windows with innermost chunks. */
static uint64_t overlaps_of(const struct cut *cut)
{
    uint64_t total = 0;
    for (size_t i = 0; i < cut->n; i++)
        if (!zs_is_empty_window(cut->array, &cut->windows[i]))
            total = add_or_most(total, chunks_of(cut->array, cut->array->chain.count - 1, &cut->windows[i]));
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

static void list_shards(const struct cut *cut, const struct bounds *bounds, struct shards *shards)
{
    struct zs_array *array = cut->array;
    const int n = array->meta->ndim;
    for (size_t i = 0; i < cut->n; i++) {
        struct zs_window window, part;
        uint64_t low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], at[ZS_MAX_NDIM], chunk[ZS_MAX_NDIM];
        if (!clip(array, &cut->windows[i], bounds, &window))
            continue;
        for (int d = 0; d < n; d++) {
            at[d] = low[d] = zs_grid_find(&array->grid, 0, d, window.start[d]);
            high[d] = zs_grid_find(&array->grid, 0, d, window.start[d] + window.count[d] - 1) + 1;
        }
        do {
            const uint64_t shard = zs_grid_number(&array->grid, 0, at);
            zs_chunk_overlap(array, 0, shard, &window, part.start, part.count);
            for (int d = 0; d < n; d++)
                chunk[d] = zs_grid_find(&array->grid, array->chain.count - 1, d, part.start[d]);
            if (shards->chunks != NULL)
                shards->chunks[shards->count++] = zs_grid_number(&array->grid, array->chain.count - 1, chunk);
            const bool is_empty = zs_is_known_empty(array, 0, shard);
            shards->overlaps =
                add_or_most(shards->overlaps, is_empty ? 1 : chunks_of(array, array->chain.count - 1, &part));
        } while (zs_next_position(n, at, low, high));
    }
}

static enum zs_status load_index(void *ctx, size_t item, struct zs_error *err)
{
    const struct shards *shards = ctx;
    return zs_shard_load_index(shards->array, shards->chunks[item], NULL, err);
}

/* Finds out side by side which shards are absent. */
static enum zs_status find_absent_shards(const struct cut *cut, const struct bounds *bounds, uint64_t count,
                                         struct zs_error *err)
{
    struct shards shards = {.array = cut->array, .chunks = calloc((size_t)count, sizeof *shards.chunks)};
    ZS_TRY_MEMORY(shards.chunks, err);
    list_shards(cut, bounds, &shards);
    const enum zs_status status = zs_parallel_for(cut->array->fetch_threads, shards.count, load_index, &shards, err);
    free(shards.chunks);
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

static enum zs_status run_bounds(const struct cut *cut, const struct bounds *bounds, struct zs_error *err)
{
    struct zs_window *parts = calloc(cut->n, sizeof *parts);
    ZS_TRY_MEMORY(parts, err);
    size_t n = 0;
    for (size_t i = 0; i < cut->n; i++)
        n += clip(cut->array, &cut->windows[i], bounds, &parts[n]);
    const enum zs_status status = cut->run(cut->ctx, parts, n, err);
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
    bool has_index;    /* the index of the one shard that they lie in is pinned */
};

static enum zs_status cut_bounds(const struct cut *cut, const struct bounds *bounds, struct known known,
                                 struct zs_error *err);

static enum zs_status cut_halves(const struct cut *cut, const struct bounds *low, const struct bounds *high,
                                 struct known known, struct zs_error *err)
{
    ZS_TRY(cut_bounds(cut, low, known, err));
    return cut_bounds(cut, high, known, err);
}

/* Cuts within one shard, whose index stays pinned: it may be larger than what the cache of indexes holds. */
static enum zs_status cut_shard(const struct cut *cut, const struct bounds *low, const struct bounds *high,
                                struct known known, struct zs_error *err)
{
    struct zs_array *array = cut->array;
    struct zs_pins pins = {0};
    uint64_t chunk[ZS_MAX_NDIM];
    for (int d = 0; d < array->meta->ndim; d++)
        chunk[d] = zs_grid_find(&array->grid, array->chain.count - 1, d, low->start[d]);
    known.has_index = true;
    enum zs_status status =
        zs_shard_load_index(array, zs_grid_number(&array->grid, array->chain.count - 1, chunk), &pins, err);
    if (status == ZS_OK)
        status = cut_halves(cut, low, high, known, err);
    zs_pins_release(array, &pins);
    return status;
}

static enum zs_status cut_bounds(const struct cut *cut, const struct bounds *bounds, struct known known,
                                 struct zs_error *err)
{
    const struct zs_array *array = cut->array;
    struct bounds low, high;
    struct shards shards = {.array = cut->array, .overlaps = chunks_in(cut, array->chain.count - 1, bounds)};
    if (shards.overlaps == 0)
        return ZS_OK;
    const uint64_t shard_count = chunks_in(cut, 0, bounds);
    if (shards.overlaps > array->plan_overlaps && array->chain.count > 1 && shard_count <= MAX_ASKED_SHARDS &&
        shards.overlaps / shard_count >= array->plan_overlaps / MANY_SHARDS) {
        if (!known.knows_absent)
            ZS_TRY(find_absent_shards(cut, bounds, shard_count, err));
        known.knows_absent = true;
        shards.overlaps = 0;
        list_shards(cut, bounds, &shards);
    }
    if (shards.overlaps <= array->plan_overlaps || !halve(array, bounds, &low, &high))
        return run_bounds(cut, bounds, err);
    return (!known.has_index && is_in_one_shard(array, bounds) ? cut_shard : cut_halves)(cut, &low, &high, known, err);
}

/* The smallest bounds of all windows that are not empty. */
static struct bounds bounds_of(const struct cut *cut)
{
    struct bounds bounds = {{0}, {0}};
    bool is_first = true;
    for (size_t i = 0; i < cut->n; i++) {
        const struct zs_window *window = &cut->windows[i];
        if (zs_is_empty_window(cut->array, window))
            continue;
        for (int d = 0; d < cut->array->meta->ndim; d++) {
            const uint64_t end = window->start[d] + window->count[d];
            bounds.start[d] = is_first ? window->start[d] : zs_min_u64(bounds.start[d], window->start[d]);
            bounds.end[d] = is_first ? end : zs_max_u64(bounds.end[d], end);
        }
        is_first = false;
    }
    return bounds;
}

enum zs_status zs_cut(struct zs_array *array, const struct zs_window *windows, size_t n, zs_windows_fn run, void *ctx,
                      struct zs_error *err)
{
    const struct cut cut = {array, windows, n, run, ctx};
    if (overlaps_of(&cut) <= array->plan_overlaps)
        return run(ctx, windows, n, err);
    const struct bounds bounds = bounds_of(&cut);
    return cut_bounds(&cut, &bounds, (struct known){false, false}, err);
}

enum zs_status zs_parts_in_shards(const struct zs_array *array, const struct zs_window *windows, size_t n,
                                  const uint64_t *shards, size_t shard_count, struct zs_window **parts,
                                  size_t *part_count, struct zs_error *err)
{
    *part_count = 0;
    *parts = n <= SIZE_MAX / shard_count ? zs_calloc(n * shard_count, sizeof **parts) : NULL;
    ZS_TRY_MEMORY(*parts, err);
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
    const struct cut cut = {.array = array, .windows = windows, .n = n};
    const struct bounds bounds = bounds_of(&cut);
    struct zs_window around = {{0}, {0}, NULL, {0}};
    for (int d = 0; d < array->meta->ndim; d++) {
        around.start[d] = bounds.start[d];
        around.count[d] = bounds.end[d] - bounds.start[d];
    }
    const uint64_t overlaps = overlaps_of(&cut);
    return overlaps > 1 ? zs_min_u64(overlaps, chunks_of(array, array->chain.count - 1, &around)) : overlaps;
}
