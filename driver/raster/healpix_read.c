#include "raster/healpix_read.h"

#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "base/checked.h"
#include "base/memory.h"
#include "raster/healpix_parts.h"

/* ---- Nested cells of the whole sphere: squares are runs ---- */

/* Reading of a batch: the runs of its parts. Elements go straight from their chunks to their pixels: each run is a
 * window of the array, and window->data points to the record of the run. */
struct squares {
    const struct reading *reading;
    const struct zs_healpix_batch *batch;
    struct zs_runs runs;
    struct run_of {
        const struct squares *squares;
        const struct zs_healpix_part *part;
    } *runs_of;
};

/* The side of the squares that are put at once, as a power of two: its rows fill cache lines, and its elements fit the
 * second cache of a processor. */
#define WIDE 7
/* Elements that lie apart, as those of several bands in one chunk, are gathered so many at a time. */
#define GATHERED 1024

/* Two by two: an element in an even column and its neighbour to the east follow each other. */
#define GATHER(pair)                                              \
    for (; i + 1 < n; i += 2) {                                   \
        pair v;                                                   \
        memcpy(&v, src + sizeof v / 2 * zs_even_bits[i], sizeof v);  \
        memcpy(dst + sizeof v / 2 * i, &v, sizeof v);             \
    }

/* Collects the elements of a square's row, from west to east. */
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

/* Puts the columns from `west` to before `east` of a square's row: straight into the caller's memory where elements
 * need no conversion and lie densely. */
static void put_row(const struct reading *reading, const unsigned char *cells, uint32_t y, uint32_t west, uint32_t east,
                    char *pixels)
{
    const size_t item = reading->info.item_size;
    const bool is_direct = reading->conversion->convert == NULL && reading->window->pixel_space == (ptrdiff_t)item;
    _Alignas(ZS_MAX_ITEM_SIZE) unsigned char row[(1 << TILE) * ZS_MAX_ITEM_SIZE];
    for (uint32_t x = west & ~(uint32_t)((1 << TILE) - 1); x < east; x += 1 << TILE) {
        const unsigned char *from = cells + zs_healpix_interleave(x, y) * item;
        const uint32_t first = x < west ? west - x : 0, end = (uint32_t)zs_min_u64(east - x, 1 << TILE);
        char *to = pixels + (ptrdiff_t)(x + first - west) * reading->window->pixel_space;
        if (is_direct && first == 0) {
            gather_row(from, (unsigned char *)to, end, item);
            continue;
        }
        gather_row(from, row, end, item);
        zs_healpix_put(reading, row + first * item, to, reading->window->pixel_space, end - first);
    }
}

/* Puts a square's cells, which come in the order of their numbers, to its pixels that lie in the part. */
static void put_square(const struct reading *reading, const struct zs_healpix_part *part, ptrdiff_t slice,
                       uint64_t cell, int level, const unsigned char *cells)
{
    const uint64_t side = (uint64_t)1 << level, right = (uint64_t)part->ix + part->width,
                   top = (uint64_t)part->iy + part->height;
    uint32_t ix, iy;
    zs_healpix_separate(cell, &ix, &iy);
    if (ix >= right || iy >= top || ix + side <= part->ix || iy + side <= part->iy)
        return;
    const uint32_t west = ix > part->ix ? 0 : part->ix - ix, south = iy > part->iy ? 0 : part->iy - iy;
    const uint32_t east = (uint32_t)zs_min_u64(side, right - ix), north = (uint32_t)zs_min_u64(side, top - iy);
    for (uint32_t y = south; y < north; y++)
        put_row(reading, cells, y, west, east, zs_healpix_pixel(reading, part, ix + west, iy + y) + slice);
}

/* Puts n cells of one slice, from number `cell` of their face on, as the largest squares that begin there. */
static void put_cells(const struct reading *reading, const struct zs_healpix_part *part, ptrdiff_t slice, uint64_t cell,
                      const unsigned char *src, uint64_t n)
{
    while (n > 0) {
        int level = 0;
        while (level < WIDE && (cell >> (2 * level) & 3) == 0 && (uint64_t)4 << (2 * level) <= n)
            level++;
        const uint64_t count = (uint64_t)1 << (2 * level);
        put_square(reading, part, slice, cell, level, src);
        src += count * reading->info.item_size;
        cell += count;
        n -= count;
    }
}

/* Like put_cells(), for elements that are `stride` bytes apart. */
static void put_apart(const struct reading *reading, const struct zs_healpix_part *part, ptrdiff_t slice, uint64_t cell,
                      const unsigned char *src, ptrdiff_t stride, uint64_t n)
{
    const size_t item = reading->info.item_size;
    _Alignas(ZS_MAX_ITEM_SIZE) unsigned char dense[GATHERED * ZS_MAX_ITEM_SIZE];
    if (stride == (ptrdiff_t)item) {
        put_cells(reading, part, slice, cell, src, n);
        return;
    }
    for (uint64_t i = 0; i < GATHERED && stride == 0; i++) /* the fill value, all along */
        memcpy(dense + i * item, src, item);
    for (uint64_t at = 0, count; at < n; at += count) {
        count = zs_min_u64(GATHERED - (cell + at) % GATHERED, n - at);
        for (uint64_t i = 0; i < count && stride != 0; i++)
            memcpy(dense + i * item, src + (ptrdiff_t)(at + i) * stride, item);
        put_cells(reading, part, slice, cell + at, dense, count);
    }
}

/* Puts a box of a run's elements to the pixels of all its slices. */
static void take_box(void *ctx, void *data, const uint64_t *start, const uint64_t *count, const void *src,
                     const ptrdiff_t *stride)
{
    const struct run_of *run = data;
    const struct reading *r = run->squares->reading;
    const uint64_t cell = start[r->dim] & (((uint64_t)1 << (2 * r->map->order)) - 1);
    uint64_t slices = 1;
    (void)ctx;
    for (int d = 0; d < r->info.ndim; d++)
        slices *= d != r->dim ? count[d] : 1;
    for (uint64_t k = 0; k < slices; k++) {
        const unsigned char *from = src;
        ptrdiff_t slice = 0; /* in the caller's memory */
        uint64_t rest = k;
        for (int d = r->info.ndim - 1; d >= 0; d--)
            if (d != r->dim) {
                const uint64_t i = rest % count[d];
                from += (ptrdiff_t)i * stride[d];
                slice += (ptrdiff_t)(start[d] + i - r->box->start[d]) * r->box->stride[d];
                rest /= count[d];
            }
        put_apart(r, run->part, slice, cell, from, stride[r->dim], count[r->dim]);
    }
}

static enum zs_status find_runs(struct squares *s, int floor, struct zs_error *err)
{
    const struct zs_healpix_batch *batch = s->batch;
    size_t *ends = zs_calloc(batch->count, sizeof *ends);
    enum zs_status status = ends != NULL ? ZS_OK : zs_fail_memory(err);
    for (size_t i = 0; i < batch->count && status == ZS_OK; i++) {
        s->runs.closed = s->runs.count;
        status = zs_healpix_nested_runs(s->reading->map->order, &batch->parts[i], floor, &s->runs, err);
        ends[i] = s->runs.count;
    }
    s->runs_of = zs_calloc(s->runs.count, sizeof *s->runs_of);
    if (status == ZS_OK && s->runs_of == NULL)
        status = zs_fail_memory(err);
    for (size_t i = 0, part = 0; i < s->runs.count && status == ZS_OK; i++) {
        while (i >= ends[part])
            part++;
        s->runs_of[i] = (struct run_of){s, &batch->parts[part]};
    }
    free(ends);
    return status;
}

/* Each element is of one pixel of one part: no two threads write to the same. */
static enum zs_status read_squares(struct reading *reading, const struct zs_healpix_batch *batch, int floor,
                                   struct zs_error *err)
{
    struct squares s = {.reading = reading, .batch = batch};
    enum zs_status status = find_runs(&s, floor, err);
    struct zs_window *windows = status == ZS_OK ? zs_calloc(s.runs.count, sizeof *windows) : NULL;
    if (status == ZS_OK && windows == NULL)
        status = zs_fail_memory(err);
    for (size_t i = 0; i < s.runs.count && status == ZS_OK; i++) {
        struct zs_window *w = &windows[i];
        *w = *reading->box;
        memset(w->stride, 0, sizeof w->stride);
        w->start[reading->dim] = s.runs.list[i].first;
        w->count[reading->dim] = s.runs.list[i].count;
        w->data = &s.runs_of[i];
    }
    if (status == ZS_OK)
        status = zs_array_take_windows(reading->array, windows, s.runs.count, take_box, NULL, err);
    free(windows);
    free(s.runs_of);
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

static enum zs_status read_box(struct reading *reading, struct zs_error *err)
{
    const uint64_t bytes = reading->info.item_size * reading->slices;
    const uint64_t most = zs_min_u64(MOST_ENTRIES, zs_max_u64(1, ZS_HEALPIX_SCRATCH / bytes));
    const enum zs_status status =
        is_in_order(reading->map)
            ? zs_healpix_in_batches(reading, CELLS_AT_ONCE, floor_of(reading->map, reading->window), read_squares, err)
            : zs_healpix_in_batches(reading, most, 0, zs_healpix_scatter, err);
    free(reading->slice_offsets);
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

/* Along a side of a window there are at most 2^MOST_SQUARES squares. */
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
    ZS_TRY_MEMORY(*windows, err);
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

/* Whether anything is stored of boxes from `first` on, whose runs end at ends[i]. */
static enum zs_status find_stored_in(const struct zs_band_array *a, const struct zs_window *slice,
                                     const struct zs_runs *runs, const size_t *ends, size_t first, size_t end,
                                     bool *is_stored, struct zs_error *err)
{
    struct zs_window *windows = NULL;
    bool *each = zs_calloc(runs->count, sizeof *each);
    enum zs_status status = each != NULL ? windows_of(a, slice, runs, &windows, err) : zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_array_find_stored(a->array, windows, runs->count, each, err);
    for (size_t i = first, run = 0; i < end && status == ZS_OK; i++)
        for (; run < ends[i]; run++)
            is_stored[i] = is_stored[i] || each[run];
    free(windows);
    free(each);
    return status;
}

/* Runs that are looked for together, about: each is a window. */
#define RUNS_AT_ONCE ((size_t)16384)

enum zs_status zs_healpix_find_stored(const struct zs_band_array *a, const struct zs_window *slice,
                                      const struct zs_pixel_box *boxes, size_t n, bool *is_stored, struct zs_error *err)
{
    struct zs_runs runs = {0};
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < n; i++)
        is_stored[i] = !is_in_order(a->cells);
    size_t *ends = is_in_order(a->cells) ? zs_calloc(n, sizeof *ends) : NULL;
    if (ends == NULL)
        return is_in_order(a->cells) ? zs_fail_memory(err) : ZS_OK;
    for (size_t i = 0, first = 0; i < n && status == ZS_OK; i++) {
        runs.closed = runs.count;
        status = find_rough_runs(a, boxes[i].x, boxes[i].y, boxes[i].width, boxes[i].height, &runs, err);
        ends[i] = runs.count;
        if (status != ZS_OK || (i + 1 < n && runs.count < RUNS_AT_ONCE))
            continue;
        if (runs.count > 0)
            status = find_stored_in(a, slice, &runs, ends, first, i + 1, is_stored, err);
        runs.count = 0;
        first = i + 1;
    }
    free(ends);
    zs_runs_clear(&runs);
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

static enum zs_status mark(void *context, uint64_t index, uint32_t ix, uint32_t iy, struct zs_error *err)
{
    const struct masking *m = context;
    (void)index;
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
