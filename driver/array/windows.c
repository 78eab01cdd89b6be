/* Windows that become others: those too large for one plan are halved, those with steps are taken apart. */
#include <stdlib.h>

#include "array/plan.h"

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

/* Number of innermost chunks that elements [start, start + count), which are some, lie in. */
static uint64_t chunks_of(const struct zs_array *array, const uint64_t *start, const uint64_t *count)
{
    const int innermost = array->chain.count - 1;
    uint64_t n = 1;
    for (int d = 0; d < array->meta->ndim; d++) /* some of the array's chunks, whose number fits */
        n *= zs_grid_find(&array->grid, innermost, d, start[d] + count[d] - 1) + 1 -
             zs_grid_find(&array->grid, innermost, d, start[d]);
    return n;
}

/* Number of overlaps of windows with innermost chunks within the bounds. */
static uint64_t count_overlaps(const struct cut *cut, const struct bounds *bounds)
{
    uint64_t total = 0;
    struct zs_window part;
    for (size_t i = 0; i < cut->n; i++)
        if (clip(cut->array, &cut->windows[i], bounds, &part) &&
            !zs_add_u64(total, chunks_of(cut->array, part.start, part.count), &total))
            return UINT64_MAX;
    return total;
}

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
    struct zs_window *parts = zs_calloc(cut->n, sizeof *parts);
    ZS_TRY_MEMORY(parts, err);
    size_t n = 0;
    for (size_t i = 0; i < cut->n; i++)
        n += clip(cut->array, &cut->windows[i], bounds, &parts[n]);
    const enum zs_status status = cut->run(cut->ctx, parts, n, err);
    free(parts);
    return status;
}

static enum zs_status cut_bounds(const struct cut *cut, const struct bounds *bounds, struct zs_error *err)
{
    const uint64_t overlaps = count_overlaps(cut, bounds);
    struct bounds low, high;
    if (overlaps == 0)
        return ZS_OK;
    if (overlaps <= cut->array->plan_overlaps || !halve(cut->array, bounds, &low, &high))
        return run_bounds(cut, bounds, err);
    ZS_TRY(cut_bounds(cut, &low, err));
    return cut_bounds(cut, &high, err);
}

enum zs_status zs_cut(struct zs_array *array, const struct zs_window *windows, size_t n, zs_windows_fn run, void *ctx,
                      struct zs_error *err)
{
    const struct cut cut = {array, windows, n, run, ctx};
    const struct bounds bounds = bounds_of(&cut);
    return count_overlaps(&cut, &bounds) <= array->plan_overlaps ? run(ctx, windows, n, err)
                                                                 : cut_bounds(&cut, &bounds, err);
}

uint64_t zs_count_chunks(struct zs_array *array, const struct zs_window *windows, size_t n)
{
    const struct cut cut = {.array = array, .windows = windows, .n = n};
    const struct bounds bounds = bounds_of(&cut);
    uint64_t count[ZS_MAX_NDIM];
    for (int d = 0; d < array->meta->ndim; d++)
        count[d] = bounds.end[d] - bounds.start[d];
    const uint64_t overlaps = count_overlaps(&cut, &bounds);
    return overlaps > 1 ? zs_min_u64(overlaps, chunks_of(array, bounds.start, count)) : overlaps;
}

/* ---- Windows with steps ---- */

/* The window at position `at`, which counts the elements of dimensions that are apart. */
static void set_window(const struct zs_stepped_window *stepped, const bool *is_apart, const uint64_t *at,
                       struct zs_window *window)
{
    ptrdiff_t offset = 0;
    for (int d = 0; d < stepped->ndim; d++) {
        window->start[d] = stepped->start[d] + at[d] * stepped->step[d];
        window->count[d] = is_apart[d] ? 1 : (stepped->count[d] - 1) * stepped->step[d] + 1;
        window->stride[d] = stepped->stride[d];
        offset += (ptrdiff_t)at[d] * stepped->stride[d];
    }
    window->data = stepped->data != NULL ? stepped->data + offset : NULL;
}

enum zs_status zs_stepped_windows(const struct zs_stepped_window *stepped, const bool *is_apart, zs_windows_fn run,
                                  void *ctx, struct zs_error *err)
{
    uint64_t at[ZS_MAX_NDIM] = {0}, low[ZS_MAX_NDIM] = {0}, high[ZS_MAX_NDIM], most = 1;
    for (int d = 0; d < stepped->ndim; d++) {
        high[d] = is_apart[d] ? stepped->count[d] : 1;
        most = zs_min_u64(ZS_MOST_WINDOWS, most * zs_min_u64(ZS_MOST_WINDOWS, high[d]));
    }
    struct zs_window *windows = zs_calloc(most, sizeof *windows);
    ZS_TRY_MEMORY(windows, err);
    enum zs_status status = ZS_OK;
    size_t n = 0;
    for (bool more = true; more && status == ZS_OK;) {
        set_window(stepped, is_apart, at, &windows[n++]);
        more = zs_next_position(stepped->ndim, at, low, high);
        if (n == most || !more) {
            status = run(ctx, windows, n, err);
            n = 0;
        }
    }
    free(windows);
    return status;
}
