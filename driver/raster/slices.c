#include "raster/slices.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/memory.h"

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

/* Bands that are one window of an array. */
struct box {
    size_t array;
    uint64_t slice, count;
    size_t at; /* in the list of bands */
};
struct boxes {
    struct box *list;
    size_t count, room;
    bool is_sorted;
};

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

static enum zs_status add_box(struct boxes *b, struct box box, struct zs_error *err)
{
    ZS_TRY_GROW(b->list, b->count, &b->room, err);
    b->is_sorted = b->is_sorted && (b->count == 0 || b->list[b->count - 1].array <= box.array);
    b->list[b->count++] = box;
    return ZS_OK;
}

static enum zs_status find_boxes(const struct zs_bands *bands, const struct zs_band_window *w, struct boxes *boxes,
                                 struct zs_error *err)
{
    for (size_t i = 0; i < w->band_count;) {
        size_t array;
        uint64_t position[ZS_MAX_NDIM], count[ZS_MAX_NDIM], slice, run = 1;
        if (!zs_band_find(bands, w->bands[i], &array, &slice))
            return zs_fail(err, ZS_ARGUMENT, "there is no band %d", w->bands[i]);
        const struct zs_band_array *a = &bands->arrays[array];
        while (run < a->slices.count - slice && run < w->band_count - i &&
               (uint64_t)w->bands[i + run] == (uint64_t)w->bands[i] + run)
            run++;
        run = find_box(&a->slices, slice, run, position, count);
        ZS_TRY(add_box(boxes, (struct box){array, slice, run, i}, err));
        i += (size_t)run;
    }
    return ZS_OK;
}

static int compare_boxes(const void *a, const void *b)
{
    const struct box *x = a, *y = b;
    if (x->array != y->array)
        return x->array < y->array ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static void set_dimension(struct zs_window *out, int dim, uint64_t start, uint64_t count, ptrdiff_t stride)
{
    out->start[dim] = start;
    out->count[dim] = count;
    out->stride[dim] = stride;
}

static void fill_window(const struct zs_slices *s, const struct box *box, const struct zs_band_window *w,
                        struct zs_window *out)
{
    uint64_t position[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
    ptrdiff_t step = w->band_space;
    for (int d = 0; d < s->ndim; d++)
        set_dimension(out, d, s->first[d], 1, 0);
    (void)find_box(s, box->slice, box->count, position, count);
    for (int i = s->dim_count - 1; i >= 0; i--) {
        set_dimension(out, s->dims[i], s->first[s->dims[i]] + position[i], count[i], step);
        step *= (ptrdiff_t)count[i];
    }
    set_dimension(out, s->axes.x, w->x, w->width, w->pixel_space);
    if (s->axes.y >= 0)
        set_dimension(out, s->axes.y, w->y, w->height, w->line_space);
    out->data = w->data != NULL ? (char *)w->data + (ptrdiff_t)box->at * w->band_space : NULL;
}

enum zs_status zs_band_plan_make(const struct zs_bands *bands, const struct zs_band_window *w,
                                 struct zs_band_plan *plan, struct zs_error *err)
{
    struct boxes boxes = {.is_sorted = true};
    struct zs_band_plan p = {0};
    enum zs_status status = find_boxes(bands, w, &boxes, err);
    if (status == ZS_OK) {
        p.windows = zs_calloc(boxes.count, sizeof *p.windows);
        p.parts = zs_calloc(boxes.count, sizeof *p.parts);
        if (p.windows == NULL || p.parts == NULL)
            status = zs_fail_memory(err);
    }
    if (status != ZS_OK) {
        free(boxes.list);
        zs_band_plan_clear(&p);
        return status;
    }
    if (!boxes.is_sorted)
        qsort(boxes.list, boxes.count, sizeof *boxes.list, compare_boxes);
    for (size_t i = 0; i < boxes.count; i++) {
        const struct box *box = &boxes.list[i];
        if (i == 0 || box->array != box[-1].array)
            p.parts[p.count++] = (struct zs_band_plan_part){.array = box->array, .windows = &p.windows[i]};
        p.parts[p.count - 1].count++;
        fill_window(&bands->arrays[box->array].slices, box, w, &p.windows[i]);
    }
    free(boxes.list);
    *plan = p;
    return ZS_OK;
}

void zs_band_plan_clear(struct zs_band_plan *plan)
{
    free(plan->parts);
    free(plan->windows);
    *plan = (struct zs_band_plan){0};
}
