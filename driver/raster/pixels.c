#include "raster/pixels.h"

#include <stdlib.h>

#include "array/array.h"
#include "base/checked.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "raster/healpix_read.h"

/* Arrays that are read at once: round trips are waited for together, but each array decodes up to its own limit of
 * memory. */
#define ARRAYS_AT_ONCE 16

/* ---- Slices of one array ---- */

/* Turns a selection of a dimension of `size` elements into its first index and their number. */
static enum zs_status check_selection(struct zs_selection selection, int dim, uint64_t size, uint64_t *first,
                                      uint64_t *count, struct zs_error *err)
{
    *first = selection.kind == ZS_SELECT_ALL ? 0 : selection.first;
    *count = selection.kind == ZS_SELECT_ALL ? size : selection.kind == ZS_SELECT_ONE ? 1 : selection.count;
    if (*first > size || *count > size - *first)
        return zs_fail(err, ZS_ARGUMENT, "index %llu is out of range: dimension %d has %llu elements",
                       (unsigned long long)(*first >= size ? *first : *first + *count - 1), dim,
                       (unsigned long long)size);
    return *count > 0 ? ZS_OK : zs_fail(err, ZS_ARGUMENT, "a dimension of no elements gives no band");
}

enum zs_status zs_slices_find(int ndim, const uint64_t *shape, struct zs_axes axes,
                              const struct zs_selection *selections, size_t n, struct zs_slices *slices,
                              struct zs_error *err)
{
    struct zs_slices s = {.axes = axes, .ndim = ndim, .count = 1};
    const int extra = ndim - (axes.y >= 0 ? 2 : 1);
    size_t k = 0;
    if (n > (size_t)extra)
        return zs_fail(err, ZS_ARGUMENT, "expected at most %d indices, found %zu", extra, n);
    for (int d = 0; d < ndim; d++) {
        uint64_t count;
        if (d == axes.x || d == axes.y)
            continue;
        const struct zs_selection selection = k < n ? selections[k] : (struct zs_selection){ZS_SELECT_ALL, 0, 0};
        k++;
        ZS_TRY(check_selection(selection, d, shape[d], &s.first[d], &count, err));
        if (selection.kind == ZS_SELECT_ONE)
            continue;
        s.dims[s.dim_count] = d;
        s.sizes[s.dim_count++] = count;
        if (!zs_mul_u64(s.count, count, &s.count))
            s.count = UINT64_MAX; /* and so it stays */
    }
    *slices = s;
    return ZS_OK;
}

void zs_slice_position(const struct zs_slices *s, uint64_t slice, uint64_t *position)
{
    for (int i = s->dim_count - 1; i >= 0; i--) {
        position[i] = slice % s->sizes[i];
        slice /= s->sizes[i];
    }
}

/* The most slices from `slice` on, but no more than `most` (1 at least), that are a box of the array: all along fast
 * dimensions, some along one, one along those that are slower. */
static uint64_t find_box(const struct zs_slices *s, uint64_t slice, uint64_t most, uint64_t *position, uint64_t *count)
{
    uint64_t n = 1;
    zs_slice_position(s, slice, position);
    for (int i = 0; i < s->dim_count; i++)
        count[i] = 1;
    for (int i = s->dim_count - 1; i >= 0; i--) {
        count[i] = zs_min_u64(s->sizes[i] - position[i], most / n);
        n *= count[i];
        if (count[i] < s->sizes[i])
            break;
    }
    return n;
}

/* ---- Windows of bands ---- */

bool zs_band_find(const struct zs_bands *bands, int band, size_t *array, uint64_t *slice)
{
    if (band < 1 || bands->count == 0)
        return false;
    const uint64_t at = (uint64_t)band - 1;
    size_t low = 0, high = bands->count; /* the last array that begins at the band or before */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (bands->arrays[middle].first <= at)
            low = middle;
        else
            high = middle;
    }
    *array = low;
    *slice = at - bands->arrays[low].first;
    return *slice < bands->arrays[low].slices.count;
}

/* Bands that are one window of an array. */
struct box {
    size_t array;
    uint64_t slice, count;
    size_t at; /* in the list of bands */
};

static int compare_boxes(const void *a, const void *b)
{
    const struct box *x = a, *y = b;
    if (x->array != y->array)
        return x->array < y->array ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

/* Finds the boxes of a window, as few as the order of the bands allows, sorted by arrays. *boxes is freed with free(),
 * also after a failure. */
static enum zs_status find_boxes(const struct zs_bands *bands, const struct zs_band_window *w, struct box **boxes,
                                 size_t *count, struct zs_error *err)
{
    size_t room = 0;
    for (size_t i = 0; i < w->band_count;) {
        size_t array;
        uint64_t position[ZS_MAX_NDIM], counts[ZS_MAX_NDIM], slice, run = 1;
        if (!zs_band_find(bands, w->bands[i], &array, &slice))
            return zs_fail(err, ZS_ARGUMENT, "there is no band %d", w->bands[i]);
        const struct zs_band_array *a = &bands->arrays[array];
        while (run < a->slices.count - slice && run < w->band_count - i &&
               (uint64_t)w->bands[i + run] == (uint64_t)w->bands[i] + run)
            run++;
        run = find_box(&a->slices, slice, run, position, counts);
        ZS_TRY_GROW(*boxes, *count, &room, err);
        (*boxes)[(*count)++] = (struct box){array, slice, run, i};
        i += (size_t)run;
    }
    if (*count > 1)
        qsort(*boxes, *count, sizeof **boxes, compare_boxes);
    return ZS_OK;
}

static void set_dimension(struct zs_window *out, int dim, uint64_t start, uint64_t count, ptrdiff_t stride)
{
    out->start[dim] = start;
    out->count[dim] = count;
    out->stride[dim] = stride;
}

/* Makes the window of an array that a box is; of cells only the slices: healpix_read.h finds the cells. */
static void fill_window(const struct zs_band_array *a, const struct box *box, const struct zs_band_window *w,
                        struct zs_window *out)
{
    const struct zs_slices *s = &a->slices;
    uint64_t position[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
    ptrdiff_t step = w->band_space;
    for (int d = 0; d < s->ndim; d++)
        set_dimension(out, d, s->first[d], 1, 0);
    (void)find_box(s, box->slice, box->count, position, count);
    for (int i = s->dim_count - 1; i >= 0; i--) {
        set_dimension(out, s->dims[i], s->first[s->dims[i]] + position[i], count[i], step);
        step *= (ptrdiff_t)count[i];
    }
    set_dimension(out, s->axes.x, a->cells != NULL ? 0 : w->x, a->cells != NULL ? 1 : w->width, w->pixel_space);
    if (s->axes.y >= 0)
        set_dimension(out, s->axes.y, w->y, w->height, w->line_space);
    out->data = w->data != NULL ? (char *)w->data + (ptrdiff_t)box->at * w->band_space : NULL;
}

/* A window of bands as windows of the arrays. */
struct plan {
    const struct zs_bands *bands;
    const struct zs_band_window *window;
    const struct zs_conversion *conversions; /* NULL: none */
    size_t item_size;                        /* of what is written */
    struct part {
        size_t array; /* each once, in order */
        const struct zs_window *windows;
        size_t count;
    } *parts;
    size_t count;
    struct zs_window *windows; /* of all parts */
};

static enum zs_status make_plan(struct plan *plan, struct zs_error *err)
{
    struct box *boxes = NULL;
    size_t count = 0;
    enum zs_status status = find_boxes(plan->bands, plan->window, &boxes, &count, err);
    if (status == ZS_OK) {
        plan->windows = zs_calloc(count, sizeof *plan->windows);
        plan->parts = zs_calloc(count, sizeof *plan->parts);
        if (plan->windows == NULL || plan->parts == NULL)
            status = zs_fail_memory(err);
    }
    for (size_t i = 0; i < count && status == ZS_OK; i++) {
        if (i == 0 || boxes[i].array != boxes[i - 1].array)
            plan->parts[plan->count++] = (struct part){.array = boxes[i].array, .windows = &plan->windows[i]};
        plan->parts[plan->count - 1].count++;
        fill_window(&plan->bands->arrays[boxes[i].array], &boxes[i], plan->window, &plan->windows[i]);
    }
    free(boxes);
    return status;
}

/* Makes the plan, and runs a function on its parts, so many at once. */
static enum zs_status run_plan(struct plan *plan, int at_once, zs_parallel_fn run, struct zs_error *err)
{
    enum zs_status status = make_plan(plan, err);
    if (status == ZS_OK)
        status = zs_parallel_for(at_once, plan->count, run, plan, err);
    free(plan->parts);
    free(plan->windows);
    return status;
}

static const struct zs_conversion *conversion_of(const struct plan *plan, const struct part *part)
{
    static const struct zs_conversion as_they_are = {0};
    return plan->conversions != NULL ? &plan->conversions[part->array] : &as_they_are;
}

static enum zs_status read_part(void *ctx, size_t item, struct zs_error *err)
{
    const struct plan *plan = ctx;
    const struct part *part = &plan->parts[item];
    const struct zs_band_array *a = &plan->bands->arrays[part->array];
    const struct zs_conversion *c = conversion_of(plan, part);
    return a->cells != NULL ? zs_healpix_read(a, plan->window, part->windows, part->count, c, err)
                            : zs_array_read_windows(a->array, part->windows, part->count, c->convert, c->ctx, err);
}

static enum zs_status prefetch_part(void *ctx, size_t item, struct zs_error *err)
{
    const struct plan *plan = ctx;
    const struct part *part = &plan->parts[item];
    return zs_array_prefetch(plan->bands->arrays[part->array].array, part->windows, part->count, err);
}

static enum zs_status write_part(void *ctx, size_t item, struct zs_error *err)
{
    const struct plan *plan = ctx;
    const struct part *part = &plan->parts[item];
    const struct zs_band_array *a = &plan->bands->arrays[part->array];
    const struct zs_conversion *c = conversion_of(plan, part);
    return a->cells != NULL ? zs_healpix_write(a, plan->window, part->windows, part->count, plan->item_size, c, err)
                            : zs_array_write_windows(a->array, part->windows, part->count, plan->item_size, c->convert,
                                                     c->ctx, err);
}

enum zs_status zs_pixels_read(const struct zs_bands *bands, const struct zs_band_window *window,
                              const struct zs_conversion *conversions, struct zs_error *err)
{
    struct plan plan = {.bands = bands, .window = window, .conversions = conversions};
    return run_plan(&plan, ARRAYS_AT_ONCE, read_part, err);
}

enum zs_status zs_pixels_prefetch(const struct zs_bands *bands, const struct zs_band_window *window,
                                  struct zs_error *err)
{
    struct plan plan = {.bands = bands, .window = window};
    const bool are_cells = bands->count > 0 && bands->arrays[0].cells != NULL;
    return are_cells ? ZS_OK : run_plan(&plan, ARRAYS_AT_ONCE, prefetch_part, err);
}

enum zs_status zs_pixels_write(const struct zs_bands *bands, const struct zs_band_window *window, size_t item_size,
                               const struct zs_conversion *conversions, struct zs_error *err)
{
    struct plan plan = {.bands = bands, .window = window, .conversions = conversions, .item_size = item_size};
    return run_plan(&plan, 1, write_part, err);
}

enum zs_status zs_pixels_find_stored(const struct zs_bands *bands, int band, const struct zs_pixel_box *boxes, size_t n,
                                     bool *is_stored, struct zs_error *err)
{
    struct box slice = {.count = 1};
    if (!zs_band_find(bands, band, &slice.array, &slice.slice))
        return zs_fail(err, ZS_ARGUMENT, "there is no band %d", band);
    const struct zs_band_array *a = &bands->arrays[slice.array];
    for (size_t i = 0; i < n && a->cells != NULL; i++)
        is_stored[i] = true;
    if (n == 0 || a->cells != NULL)
        return ZS_OK;
    struct zs_window *windows = zs_calloc(n, sizeof *windows);
    ZS_TRY_MEMORY(windows, err);
    for (size_t i = 0; i < n; i++) {
        const struct zs_band_window asked = {
            .x = boxes[i].x, .y = boxes[i].y, .width = boxes[i].width, .height = boxes[i].height};
        fill_window(a, &slice, &asked, &windows[i]);
    }
    const enum zs_status status = zs_array_find_stored(a->array, windows, n, is_stored, err);
    free(windows);
    return status;
}
