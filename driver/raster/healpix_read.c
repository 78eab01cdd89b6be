#include "raster/healpix_read.h"

#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "base/checked.h"
#include "base/memory.h"
#include "raster/healpix_parts.h"

/* ---- Nested cells of the whole sphere: squares are runs ---- */

/* What is read of a batch: the runs of its parts, and how many cells those before each have. Elements go straight from
 * their chunks to their pixels: what the array takes for a place in memory is an element's number among those of the
 * batch, those of the first slice, then those of the next, and the conversion puts it where it belongs. */
struct squares {
    const struct reading *reading;
    const struct zs_healpix_batch *batch;
    struct zs_runs runs;
    size_t *part_of_run;
    uint64_t *before;
    uint64_t cells;
};

/* By two: the first of a row and its neighbour to the east follow each other. */
#define GATHER(pair)                                              \
    for (; i + 1 < n; i += 2) {                                   \
        pair v;                                                   \
        memcpy(&v, src + sizeof v / 2 * zs_even_bits[i], sizeof v);  \
        memcpy(dst + sizeof v / 2 * i, &v, sizeof v);             \
    }

/* Elements of a row of a square, from its west end. */
static void gather_row(const unsigned char *src, unsigned char *dst, uint32_t n, size_t item)
{
    struct pair {
        uint64_t a, b;
    };
    uint32_t i = 0;
    switch (item) {
    case 1: GATHER(uint16_t) break;
    case 2: GATHER(uint32_t) break;
    case 4: GATHER(uint64_t) break;
    case 8: GATHER(struct pair) break;
    }
    for (; i < n; i++)
        memcpy(dst + item * i, src + item * zs_even_bits[i], item);
}

/* A square's cells, in the order of their numbers, to those of its pixels that are in the part. */
static void put_square(const struct squares *s, const struct zs_healpix_part *p, ptrdiff_t slice, uint64_t cell,
                       int level, const unsigned char *cells)
{
    const struct reading *r = s->reading;
    const size_t item = r->info.item_size;
    const uint64_t side = (uint64_t)1 << level, right = (uint64_t)p->ix + p->width, top = (uint64_t)p->iy + p->height;
    uint32_t ix, iy;
    zs_healpix_separate(cell, &ix, &iy);
    if (ix >= right || iy >= top || ix + side <= p->ix || iy + side <= p->iy)
        return;
    const uint32_t west = ix > p->ix ? 0 : p->ix - ix, south = iy > p->iy ? 0 : p->iy - iy;
    const uint32_t east = (uint32_t)zs_min_u64(side, right - ix), north = (uint32_t)zs_min_u64(side, top - iy);
    _Alignas(ZS_MAX_ITEM_SIZE) unsigned char row[(1 << TILE) * ZS_MAX_ITEM_SIZE];
    for (uint32_t y = south; y < north; y++) {
        gather_row(cells + 2 * (size_t)zs_even_bits[y] * item, row, east, item);
        zs_healpix_put(r, row + west * item, zs_healpix_pixel(r, p, ix + west, iy + y) + slice,
                       r->window->pixel_space, east - west);
    }
}

/* Cells of one run of one slice, as the largest squares that begin where they do. */
static void put_cells(const struct squares *s, size_t run, uint64_t slice, uint64_t at, const unsigned char *src,
                      uint64_t n)
{
    const struct reading *r = s->reading;
    uint64_t cell = (s->runs.list[run].first + at) & (((uint64_t)1 << (2 * r->map->order)) - 1);
    while (n > 0) {
        int level = 0;
        while (level < TILE && (cell >> (2 * level) & 3) == 0 && (uint64_t)4 << (2 * level) <= n)
            level++;
        const uint64_t count = (uint64_t)1 << (2 * level);
        put_square(s, &s->batch->parts[s->part_of_run[run]], r->slice_offsets[slice], cell, level, src);
        src += count * r->info.item_size;
        cell += count;
        n -= count;
    }
}

/* n elements from number `first` on, that may be of several runs and slices. */
static void put_numbered(const struct squares *s, uint64_t first, const unsigned char *src, uint64_t n)
{
    while (n > 0) {
        const uint64_t slice = first / s->cells, at = first % s->cells;
        size_t run = 0, high = s->runs.count;
        while (high - run > 1) {
            const size_t middle = run + (high - run) / 2;
            if (s->before[middle] <= at)
                run = middle;
            else
                high = middle;
        }
        const uint64_t in_run = at - s->before[run], count = zs_min_u64(n, s->runs.list[run].count - in_run);
        put_cells(s, run, slice, in_run, src, count);
        src += count * s->reading->info.item_size;
        first += count;
        n -= count;
    }
}

/* Numbers of elements as places in memory, of which none is NULL. */
static void *place_of(uint64_t number)
{
    return (void *)(uintptr_t)(number + 1);
}

static void put_elements(void *ctx, const void *src, void *dst, ptrdiff_t stride, size_t n)
{
    const struct squares *s = ctx;
    const uint64_t first = (uint64_t)(uintptr_t)dst - 1;
    if (stride == 1)
        put_numbered(s, first, src, n);
    else
        for (size_t i = 0; i < n; i++)
            put_numbered(s, first + i * (uint64_t)stride, (const unsigned char *)src + i * s->reading->info.item_size,
                         1);
}

static enum zs_status find_runs(struct squares *s, int floor, struct zs_error *err)
{
    const struct zs_healpix_batch *batch = s->batch;
    size_t *ends = zs_calloc(batch->count, sizeof *ends);
    enum zs_status status = ends != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot plan for cells");
    for (size_t i = 0; i < batch->count && status == ZS_OK; i++) {
        s->runs.closed = s->runs.count;
        status = zs_healpix_nested_runs(s->reading->map->order, &batch->parts[i], floor, &s->runs, err);
        ends[i] = s->runs.count;
    }
    s->part_of_run = zs_calloc(s->runs.count, sizeof *s->part_of_run);
    s->before = zs_calloc(s->runs.count, sizeof *s->before);
    if (status == ZS_OK && (s->part_of_run == NULL || s->before == NULL))
        status = zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu runs of cells", s->runs.count);
    uint64_t before = 0;
    for (size_t i = 0, part = 0; i < s->runs.count && status == ZS_OK; i++) {
        while (i >= ends[part])
            part++;
        s->part_of_run[i] = part;
        s->before[i] = before;
        before += s->runs.list[i].count;
    }
    s->cells = before;
    free(ends);
    return status;
}

/* Each element is of one pixel of one part: no two threads write to the same. */
static enum zs_status read_squares(struct reading *r, const struct zs_healpix_batch *batch, int floor,
                                   struct zs_error *err)
{
    struct squares s = {.reading = r, .batch = batch};
    enum zs_status status = find_runs(&s, floor, err);
    struct zs_window *windows = status == ZS_OK ? zs_calloc(s.runs.count, sizeof *windows) : NULL;
    if (status == ZS_OK && windows == NULL)
        status = zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu runs of cells", s.runs.count);
    for (size_t i = 0; i < s.runs.count && status == ZS_OK; i++) {
        struct zs_window *w = &windows[i];
        ptrdiff_t step = (ptrdiff_t)s.cells;
        *w = *r->box;
        for (int d = r->info.ndim - 1; d >= 0; d--) {
            w->stride[d] = step;
            if (d != r->dim)
                step *= (ptrdiff_t)w->count[d];
        }
        w->start[r->dim] = s.runs.list[i].first;
        w->count[r->dim] = s.runs.list[i].count;
        w->stride[r->dim] = 1;
        w->data = place_of(s.before[i]);
    }
    if (status == ZS_OK)
        status = zs_array_read_windows(r->array, windows, s.runs.count, put_elements, &s, err);
    free(windows);
    free(s.part_of_run);
    free(s.before);
    zs_runs_clear(&s.runs);
    return status;
}

/* ---- Windows ---- */

static bool is_in_order(const struct zs_healpix_map *map)
{
    return !map->is_ring && map->cells == NULL;
}

/* Cells that are read as one plan, which is a window of the array for each square of 2^TILE a side at most: some
 * megabytes. */
#define CELLS_AT_ONCE ((uint64_t)1 << 26)

/* The squares that a window is cut into: a single pixel asks for one cell. */
static int floor_of(const struct zs_healpix_map *map, const struct zs_band_window *w)
{
    int floor = 0;
    while (floor < TILE && floor < map->order && (uint64_t)1 << floor < zs_max_u64(w->width, w->height))
        floor++;
    return floor;
}

static enum zs_status read_box(struct reading *r, struct zs_error *err)
{
    const uint64_t bytes = r->info.item_size * r->slices;
    const uint64_t most = zs_min_u64(MOST_ENTRIES, zs_max_u64(1, ZS_HEALPIX_SCRATCH / bytes));
    const enum zs_status status =
        is_in_order(r->map)
            ? zs_healpix_in_batches(r, CELLS_AT_ONCE, floor_of(r->map, r->window), read_squares, err)
            : zs_healpix_in_batches(r, most, 0, zs_healpix_scatter, err);
    free(r->slice_offsets);
    return status;
}

enum zs_status zs_healpix_read(const struct zs_band_array *a, const struct zs_band_window *window,
                               const struct zs_window *boxes, size_t n, const struct zs_conversion *conversion,
                               struct zs_error *err)
{
    struct reading r = zs_healpix_reading(a, window, conversion);
    for (size_t i = 0; i < n; i++) {
        ZS_TRY(zs_healpix_take_box(&r, &boxes[i], err));
        ZS_TRY(read_box(&r, err));
    }
    return ZS_OK;
}

/* ---- What is asked of chunks alone ---- */

/* Squares along a window's side that it is cut into at its edge, no more. */
#define MOST_SQUARES 10

/* Runs that hold all of a window, in squares that are not much smaller than a chunk. */
static enum zs_status find_rough_runs(const struct zs_band_array *a, uint64_t x, uint64_t y, uint64_t width,
                                      uint64_t height, struct zs_runs *runs, struct zs_error *err)
{
    struct zs_healpix_part parts[ZS_HEALPIX_MOST_PARTS];
    const uint64_t chunk = zs_array_get_info(a->array).chunk_shape[a->slices.axes.x];
    int floor = 0;
    while (floor < a->cells->order && ((uint64_t)4 << (2 * floor) <= chunk ||
                                       zs_max_u64(width, height) >> floor > (uint64_t)1 << MOST_SQUARES))
        floor++;
    const int count = zs_healpix_cut(a->cells->order, a->cells->shown, x, y, width, height, parts);
    for (int i = 0; i < count; i++)
        if (parts[i].face >= 0)
            ZS_TRY(zs_healpix_nested_runs(a->cells->order, &parts[i], floor, runs, err));
    return ZS_OK;
}

static enum zs_status windows_of(const struct zs_band_array *a, const struct zs_window *box, const struct zs_runs *runs,
                                 struct zs_window **windows, struct zs_error *err)
{
    *windows = zs_calloc(runs->count, sizeof **windows);
    if (*windows == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu runs of cells", runs->count);
    for (size_t i = 0; i < runs->count; i++) {
        (*windows)[i] = *box;
        (*windows)[i].start[a->slices.axes.x] = runs->list[i].first;
        (*windows)[i].count[a->slices.axes.x] = runs->list[i].count;
    }
    return ZS_OK;
}

enum zs_status zs_healpix_prefetch(const struct zs_band_array *a, const struct zs_band_window *w,
                                   const struct zs_window *boxes, size_t n, struct zs_error *err)
{
    if (!is_in_order(a->cells))
        return ZS_OK;
    struct zs_runs runs = {0};
    enum zs_status status = find_rough_runs(a, w->x, w->y, w->width, w->height, &runs, err);
    for (size_t i = 0; i < n && status == ZS_OK && runs.count > 0; i++) {
        struct zs_window *windows = NULL;
        status = windows_of(a, &boxes[i], &runs, &windows, err);
        if (status == ZS_OK)
            status = zs_array_prefetch(a->array, windows, runs.count, err);
        free(windows);
    }
    zs_runs_clear(&runs);
    return status;
}

static enum zs_status find_stored_in(const struct zs_band_array *a, const struct zs_window *slice,
                                     const struct zs_runs *runs, bool *is_stored, struct zs_error *err)
{
    struct zs_window *windows = NULL;
    bool *each = zs_calloc(runs->count, sizeof *each);
    enum zs_status status = each != NULL ? windows_of(a, slice, runs, &windows, err)
                                         : zs_fail(err, ZS_NO_MEMORY, "cannot look at %zu runs", runs->count);
    if (status == ZS_OK)
        status = zs_array_find_stored(a->array, windows, runs->count, each, err);
    for (size_t i = 0; i < runs->count && status == ZS_OK; i++)
        *is_stored = *is_stored || each[i];
    free(windows);
    free(each);
    return status;
}

enum zs_status zs_healpix_find_stored(const struct zs_band_array *a, const struct zs_window *slice,
                                      const struct zs_pixel_box *boxes, size_t n, bool *is_stored, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < n && status == ZS_OK; i++) {
        struct zs_runs runs = {0};
        is_stored[i] = !is_in_order(a->cells);
        if (is_stored[i])
            continue;
        status = find_rough_runs(a, boxes[i].x, boxes[i].y, boxes[i].width, boxes[i].height, &runs, err);
        if (status == ZS_OK && runs.count > 0)
            status = find_stored_in(a, slice, &runs, &is_stored[i], err);
        zs_runs_clear(&runs);
    }
    return status;
}

/* ---- Masks ---- */

struct masking {
    const struct zs_healpix_part *part;
    unsigned char *mask;
    ptrdiff_t line_space;
};

static unsigned char *mask_row(const struct masking *m, uint32_t iy)
{
    const struct zs_healpix_part *p = m->part;
    return m->mask + (ptrdiff_t)(p->row + (p->iy + p->height - 1 - iy)) * m->line_space + p->column;
}

static enum zs_status mark(void *context, uint64_t place, uint32_t ix, uint32_t iy, struct zs_error *err)
{
    const struct masking *m = context;
    (void)place;
    (void)err;
    mask_row(m, iy)[ix - m->part->ix] = 255;
    return ZS_OK;
}

enum zs_status zs_healpix_mask(const struct zs_healpix_map *map, const struct zs_pixel_box *box, unsigned char *mask,
                               ptrdiff_t line_space, struct zs_error *err)
{
    struct zs_healpix_part parts[ZS_HEALPIX_MOST_PARTS];
    const int count = zs_healpix_cut(map->order, map->shown, box->x, box->y, box->width, box->height, parts);
    for (int i = 0; i < count; i++) {
        struct masking m = {&parts[i], mask, line_space};
        const bool is_whole = parts[i].face >= 0 && map->cells == NULL;
        for (uint32_t y = 0; y < parts[i].height; y++)
            memset(mask_row(&m, parts[i].iy + y), is_whole ? 255 : 0, parts[i].width);
        if (parts[i].face >= 0 && map->cells != NULL)
            ZS_TRY(zs_healpix_find_cells(map, &parts[i], &(struct zs_healpix_finder){&m, mark}, err));
    }
    return ZS_OK;
}
