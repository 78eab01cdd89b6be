#include "raster/healpix_read.h"

#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "base/checked.h"
#include "base/memory.h"
#include "raster/healpix_parts.h"

/* ---- One window ---- */

struct reading zs_healpix_reading(const struct zs_band_array *a, const struct zs_band_window *window,
                                  const struct zs_conversion *conversion)
{
    return (struct reading){
        .map = a->cells,
        .array = a->array,
        .info = zs_array_get_info(a->array),
        .dim = a->slices.axes.x,
        .window = window,
        .conversion = conversion,
        .threads = zs_array_threads(a->array),
    };
}

enum zs_status zs_healpix_take_box(struct reading *reading, const struct zs_window *box, struct zs_error *err)
{
    reading->box = box;
    reading->slices = 1;
    for (int d = 0; d < reading->info.ndim; d++)
        reading->slices *= d != reading->dim ? box->count[d] : 1; /* bands, of which there are few */
    reading->slice_offsets = zs_calloc(reading->slices, sizeof *reading->slice_offsets);
    ZS_TRY_MEMORY(reading->slice_offsets, err);
    for (uint64_t k = 0; k < reading->slices; k++) {
        uint64_t rest = k;
        for (int d = reading->info.ndim - 1; d >= 0; d--)
            if (d != reading->dim) {
                reading->slice_offsets[k] += (ptrdiff_t)(rest % box->count[d]) * box->stride[d];
                rest /= box->count[d];
            }
    }
    return ZS_OK;
}

/* ---- Squares ---- */

const uint16_t zs_even_bits[1 << TILE] = {
    0x000, 0x001, 0x004, 0x005, 0x010, 0x011, 0x014, 0x015, 0x040, 0x041, 0x044, 0x045, 0x050, 0x051, 0x054, 0x055,
    0x100, 0x101, 0x104, 0x105, 0x110, 0x111, 0x114, 0x115, 0x140, 0x141, 0x144, 0x145, 0x150, 0x151, 0x154, 0x155};

/* ---- The caller's memory ---- */

void zs_healpix_put(const struct reading *reading, const void *src, char *dst, ptrdiff_t stride, size_t n)
{
    const size_t item = reading->info.item_size;
    const char *from = src;
    if (reading->conversion->convert != NULL)
        reading->conversion->convert(reading->conversion->ctx, src, dst, stride, n);
    else if (stride == (ptrdiff_t)item)
        memcpy(dst, src, n * item);
    else
        for (size_t i = 0; i < n; i++, dst += stride, from += item)
            memcpy(dst, from, item);
}

void zs_healpix_put_empty(const struct reading *reading, const struct zs_healpix_part *part)
{
    enum { AT_ONCE = 256 };
    const size_t item = reading->info.item_size;
    _Alignas(ZS_MAX_ITEM_SIZE) unsigned char src[AT_ONCE * ZS_MAX_ITEM_SIZE];
    for (size_t i = 0; i < AT_ONCE; i++)
        memcpy(src + i * item, reading->map->empty, item);
    for (uint64_t s = 0; s < reading->slices; s++)
        for (uint32_t y = 0; y < part->height; y++) {
            char *row = zs_healpix_pixel(reading, part, part->ix, part->iy + y) + reading->slice_offsets[s];
            for (uint32_t x = 0; x < part->width; x += AT_ONCE)
                zs_healpix_put(reading, src, row + (ptrdiff_t)x * reading->window->pixel_space,
                               reading->window->pixel_space, (size_t)zs_min_u64(AT_ONCE, part->width - x));
        }
}

/* ---- The array ---- */

/* The windows of runs of the array, where `box` is a window of one cell; their data are to be set. Released with
 * free(). NULL without memory. */
static struct zs_window *windows_of(const struct zs_window *box, int dim, const struct zs_runs *runs)
{
    struct zs_window *windows = zs_calloc(runs->count, sizeof *windows);
    for (size_t i = 0; i < runs->count && windows != NULL; i++) {
        windows[i] = *box;
        windows[i].start[dim] = runs->list[i].first;
        windows[i].count[dim] = runs->list[i].count;
    }
    return windows;
}

enum zs_status zs_healpix_scratch(const struct reading *reading, const struct zs_runs *runs, uint64_t *cells,
                                  unsigned char **scratch, struct zs_window **windows, struct zs_error *err)
{
    const size_t item = reading->info.item_size;
    uint64_t bytes, before = 0;
    *cells = 0;
    for (size_t i = 0; i < runs->count; i++)
        *cells += runs->list[i].count;
    const bool is_bounded = zs_mul_u64(*cells, reading->slices, &bytes) && zs_mul_u64(bytes, item, &bytes) &&
                            bytes <= SIZE_MAX / 2;
    *scratch = is_bounded ? malloc((size_t)zs_max_u64(bytes, 1)) : NULL;
    *windows = windows_of(reading->box, reading->dim, runs);
    if (*scratch == NULL || *windows == NULL)
        return zs_fail_memory(err);
    for (size_t i = 0; i < runs->count; i++) {
        struct zs_window *w = &(*windows)[i];
        ptrdiff_t step = (ptrdiff_t)(*cells * item);
        for (int d = reading->info.ndim - 1; d >= 0; d--) {
            w->stride[d] = d != reading->dim ? step : (ptrdiff_t)item;
            if (d != reading->dim)
                step *= (ptrdiff_t)w->count[d];
        }
        w->data = *scratch + before * item;
        before += w->count[reading->dim];
    }
    return ZS_OK;
}

/* ---- Batches ---- */

/* Cells of squares of 2^floor that a stretch of cells touches. */
static uint64_t touched(uint32_t first, uint32_t count, int floor)
{
    return ((((uint64_t)first + count - 1) >> floor) - (first >> floor) + 1) << floor;
}

/* What a part has of a square of 2^level cells a side, from (x, y) on. */
static struct zs_healpix_part clip(const struct zs_healpix_part *part, int level, uint64_t x, uint64_t y)
{
    struct zs_healpix_part c = *part;
    const uint64_t side = (uint64_t)1 << level, right = (uint64_t)part->ix + part->width,
                   top = (uint64_t)part->iy + part->height;
    c.ix = (uint32_t)zs_max_u64(x, part->ix);
    c.iy = (uint32_t)zs_max_u64(y, part->iy);
    c.width = (uint32_t)(zs_min_u64(x + side, right) - c.ix);
    c.height = (uint32_t)(zs_min_u64(y + side, top) - c.iy);
    c.column += c.ix - part->ix;
    c.row += top - c.iy - c.height; /* the last row is the southernmost */
    return c;
}

struct batching {
    struct reading *reading;
    struct zs_healpix_batch batch;
    uint64_t most;
    int floor;
    zs_healpix_read_fn read;
};

static enum zs_status flush(struct batching *b, struct zs_error *err)
{
    const enum zs_status status = b->batch.count > 0 ? b->read(b->reading, &b->batch, b->floor, err) : ZS_OK;
    b->batch.count = 0;
    b->batch.cells = 0;
    return status;
}

static enum zs_status add_part(struct batching *b, const struct zs_healpix_part *part, struct zs_error *err)
{
    int level = b->floor;
    while (level < b->reading->map->order && (uint64_t)4 << (2 * level) <= b->most)
        level++;
    const uint64_t side = (uint64_t)1 << level;
    for (uint64_t y = part->iy & ~(side - 1); y < (uint64_t)part->iy + part->height; y += side)
        for (uint64_t x = part->ix & ~(side - 1); x < (uint64_t)part->ix + part->width; x += side) {
            const struct zs_healpix_part one = clip(part, level, x, y);
            const uint64_t cells = touched(one.ix, one.width, b->floor) * touched(one.iy, one.height, b->floor);
            if (b->batch.cells + cells > b->most)
                ZS_TRY(flush(b, err));
            ZS_TRY_GROW(b->batch.parts, b->batch.count, &b->batch.room, err);
            b->batch.parts[b->batch.count++] = one;
            b->batch.cells += cells;
        }
    return ZS_OK;
}

enum zs_status zs_healpix_in_batches(struct reading *reading, uint64_t most, int floor, zs_healpix_read_fn read,
                                     struct zs_error *err)
{
    struct zs_healpix_part parts[ZS_HEALPIX_MOST_PARTS];
    struct batching b = {.reading = reading, .most = most, .floor = floor, .read = read};
    const int count = zs_healpix_cut(reading->map->order, reading->map->shown, reading->window->x, reading->window->y,
                                     reading->window->width, reading->window->height, parts);
    enum zs_status status = ZS_OK;
    for (int i = 0; i < count && status == ZS_OK; i++) {
        if (parts[i].face >= 0)
            status = add_part(&b, &parts[i], err);
        else if (reading->outer_size == 0)
            zs_healpix_put_empty(reading, &parts[i]);
    }
    if (status == ZS_OK)
        status = flush(&b, err);
    free(b.batch.parts);
    return status;
}

/* ---- Nested cells of the whole sphere: squares are runs ---- */

/* Elements go straight from their chunks to their pixels: each run is a window of the array, whose data are this. */
struct run_of {
    const struct reading *reading;
    const struct zs_healpix_part *part;
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
    const struct reading *r = run->reading;
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

/* Adds the runs of a part, and whose they are. */
static enum zs_status add_runs(const struct reading *reading, const struct zs_healpix_part *part, int floor,
                               struct zs_runs *runs, struct run_of **runs_of, size_t *room, struct zs_error *err)
{
    const size_t before = runs->count;
    runs->closed = before;
    ZS_TRY(zs_healpix_nested_runs(reading->map->order, part, floor, runs, err));
    struct run_of *grown = zs_grow_by(*runs_of, before, runs->count - before, room, sizeof *grown);
    ZS_TRY_MEMORY(grown, err);
    *runs_of = grown;
    for (size_t i = before; i < runs->count; i++)
        grown[i] = (struct run_of){reading, part};
    return ZS_OK;
}

/* Each element is of one pixel of one part: no two threads write to the same. */
static enum zs_status read_squares(struct reading *reading, const struct zs_healpix_batch *batch, int floor,
                                   struct zs_error *err)
{
    struct zs_runs runs = {0};
    struct run_of *runs_of = NULL;
    struct zs_window *windows = NULL;
    size_t room = 0;
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < batch->count && status == ZS_OK; i++)
        status = add_runs(reading, &batch->parts[i], floor, &runs, &runs_of, &room, err);
    if (status == ZS_OK && (windows = windows_of(reading->box, reading->dim, &runs)) == NULL)
        status = zs_fail_memory(err);
    for (size_t i = 0; i < runs.count && status == ZS_OK; i++) {
        memset(windows[i].stride, 0, sizeof windows[i].stride);
        windows[i].data = &runs_of[i];
    }
    if (status == ZS_OK)
        status = zs_array_take_windows(reading->array, windows, runs.count, take_box, NULL, err);
    free(windows);
    free(runs_of);
    zs_runs_clear(&runs);
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
static enum zs_status find_rough_runs(const struct zs_band_array *a, const struct zs_band_window *w,
                                      struct zs_runs *runs, struct zs_error *err)
{
    struct zs_healpix_part parts[ZS_HEALPIX_MOST_PARTS];
    const uint64_t chunk = zs_array_get_info(a->array).chunk_shape[a->slices.axes.x];
    int floor = 0;
    while (floor < a->cells->order && ((uint64_t)4 << (2 * floor) <= chunk ||
                                       zs_max_u64(w->width, w->height) >> floor > (uint64_t)1 << MOST_SQUARES))
        floor++;
    const int count = zs_healpix_cut(a->cells->order, a->cells->shown, w->x, w->y, w->width, w->height,
                                     parts);
    for (int i = 0; i < count; i++)
        if (parts[i].face >= 0)
            ZS_TRY(zs_healpix_nested_runs(a->cells->order, &parts[i], floor, runs, err));
    return ZS_OK;
}

enum zs_status zs_healpix_prefetch(const struct zs_band_array *a, const struct zs_band_window *w,
                                   const struct zs_window *boxes, size_t n, struct zs_error *err)
{
    if (!is_in_order(a->cells))
        return ZS_OK;
    struct zs_runs runs = {0};
    enum zs_status status = find_rough_runs(a, w, &runs, err);
    for (size_t i = 0; i < n && status == ZS_OK && runs.count > 0; i++) {
        struct zs_window *windows = windows_of(&boxes[i], a->slices.axes.x, &runs);
        status = windows != NULL ? zs_array_prefetch(a->array, windows, runs.count, err) : zs_fail_memory(err);
        free(windows);
    }
    zs_runs_clear(&runs);
    return status;
}
