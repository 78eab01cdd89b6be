/* Windows of rasters whose pixels are HEALPix cells, read and written.
 *
 * A window is cut into parts of faces, and so many of these are taken at once as their cells fit memory. The cells of a
 * part are squares in nested order. Where the array has all cells in that order, squares are runs of its elements; else
 * (rings, listed cells) the element of each cell is looked up. Runs are read into memory, and put to their pixels;
 * writing is the inverse. */
#include "raster/healpix_read.h"

#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "base/checked.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/strided.h"
#include "raster/healpix.h"

/* Side of the largest squares, as a power of two: 1024 cells, which a processor's first cache holds. */
#define TILE 5
/* Cells that are taken at once, in number (one that is looked up has a record) and in bytes. */
#define MOST_CELLS ((uint64_t)4 << 20)
#define MOST_BYTES ((uint64_t)64 << 20)
/* Whole chunks are taken at once, others would be decoded twice: as many bands as a window has of a chunk of the usual
 * size are held. */
#define MOST_CHUNK (4 * MOST_BYTES)
/* Elements that are looked up and put at once by a thread. */
#define ENTRIES_AT_ONCE 16384
/* At most so many unwanted elements between two wanted ones are read with them: the record of another window is as
 * large as they are. But all that are read are not many times the wanted ones. */
#define GAP 64
#define MOST_UNWANTED 4

/* A square of cells, 2^level a side, of part number `part`, and how many cells taken are before it. */
struct square {
    size_t part;
    uint32_t ix, iy;
    int level;
    uint64_t before;
};

/* A cell that was looked up: its element (of the array; then of the elements that are read), and its pixel. */
struct entry {
    uint64_t index;
    char *pixel;
};

/* Elements of the array that follow each other. */
struct run {
    uint64_t first, count;
};

/* One window of slices, and what of it is taken at once. */
struct job {
    const struct zs_healpix_map *map;
    struct zs_array *array;
    struct zs_array_info info;
    int dim; /* of the array, along which cells lie */
    const struct zs_band_window *window;
    const struct zs_window *box; /* its slices */
    const struct zs_conversion *conversion;
    size_t outer_size; /* of an element in the caller's memory, where that is written; 0: it is read into */
    uint64_t slices;
    ptrdiff_t *offsets; /* of each slice, in the caller's memory */
    int floor;          /* the smallest squares */

    struct zs_healpix_part *parts;
    struct square *squares;
    struct entry *entries;
    struct run *runs;
    size_t part_count, part_room, square_count, square_room, entry_count, entry_room, run_count, run_room;
    struct zs_window *windows; /* of the runs */
    uint64_t cells;            /* of the squares, or of the runs where cells are looked up */
    struct zs_buffer scratch;  /* all these cells of the first slice, then those of the next */
};

static bool is_in_order(const struct zs_healpix_map *map)
{
    return !map->is_ring && map->cells == NULL;
}

/* ---- The caller's memory ---- */

/* Address of a cell's pixel, of the first slice. */
static char *pixel_of(const struct job *j, const struct zs_healpix_part *part, uint32_t ix, uint32_t iy)
{
    const uint64_t column = part->column + (ix - part->ix), row = part->row + (part->iy + part->height - 1 - iy);
    return (char *)j->box->data + (ptrdiff_t)column * j->window->pixel_space + (ptrdiff_t)row * j->window->line_space;
}

/* Puts n elements to pixels. */
static void put(const struct job *j, const void *src, char *dst, ptrdiff_t stride, size_t n)
{
    const size_t item = j->info.item_size;
    const char *from = src;
    if (j->conversion->convert != NULL)
        j->conversion->convert(j->conversion->ctx, src, dst, stride, n);
    else if (stride == (ptrdiff_t)item)
        memcpy(dst, src, n * item);
    else
        for (size_t i = 0; i < n; i++, dst += stride, from += item)
            memcpy(dst, from, item);
}

/* Fills all pixels of a part with the empty element. */
static void put_empty(const struct job *j, const struct zs_healpix_part *part)
{
    enum { AT_ONCE = 256 };
    const size_t item = j->info.item_size;
    _Alignas(ZS_MAX_ITEM_SIZE) unsigned char src[AT_ONCE * ZS_MAX_ITEM_SIZE];
    for (size_t i = 0; i < AT_ONCE; i++)
        memcpy(src + i * item, j->map->empty, item);
    for (uint64_t s = 0; s < j->slices; s++)
        for (uint32_t y = 0; y < part->height; y++) {
            char *row = pixel_of(j, part, part->ix, part->iy + y) + j->offsets[s];
            for (uint32_t x = 0; x < part->width; x += AT_ONCE)
                put(j, src, row + (ptrdiff_t)x * j->window->pixel_space, j->window->pixel_space,
                    (size_t)zs_min_u64(AT_ONCE, part->width - x));
        }
}

/* ---- Squares: between cells and pixels ---- */

/* Bits of 0 to 31 in the even positions. */
static const uint16_t even_bits[1 << TILE] = {
    0x000, 0x001, 0x004, 0x005, 0x010, 0x011, 0x014, 0x015, 0x040, 0x041, 0x044, 0x045, 0x050, 0x051, 0x054, 0x055,
    0x100, 0x101, 0x104, 0x105, 0x110, 0x111, 0x114, 0x115, 0x140, 0x141, 0x144, 0x145, 0x150, 0x151, 0x154, 0x155};

/* Two by two: a cell in an even column and its neighbour to the east follow each other. */
#define TAKE(pair)                                                           \
    for (; i + 1 < east; i += 2) {                                           \
        pair v;                                                              \
        memcpy(&v, cells + sizeof v / 2 * even_bits[i], sizeof v);           \
        memcpy(row + sizeof v / 2 * (i - west), &v, sizeof v);               \
    }

/* Copies the cells of a square's row, from column `west` to before `east`. */
static void take_row(const unsigned char *cells, unsigned char *row, uint32_t west, uint32_t east, size_t item)
{
    struct pair {
        uint64_t a, b;
    };
    uint32_t i = west;
    for (; i % 2 == 1 && i < east; i++)
        memcpy(row + item * (i - west), cells + item * even_bits[i], item);
    switch (item) {
    case 1: TAKE(uint16_t) break;
    case 2: TAKE(uint32_t) break;
    case 4: TAKE(uint64_t) break;
    case 8: TAKE(struct pair) break;
    }
    for (; i < east; i++)
        memcpy(row + item * (i - west), cells + item * even_bits[i], item);
}

/* Moves the cells of a square that lie in its part: between the scratch and the pixels of all slices. */
static enum zs_status move_square(void *ctx, size_t item, struct zs_error *err)
{
    const struct job *j = ctx;
    const struct square *s = &j->squares[item];
    const struct zs_healpix_part *p = &j->parts[s->part];
    const size_t size = j->info.item_size;
    const ptrdiff_t dense = (ptrdiff_t)size, space = j->window->pixel_space;
    const uint64_t side = (uint64_t)1 << s->level;
    const uint32_t west = s->ix > p->ix ? 0 : p->ix - s->ix, south = s->iy > p->iy ? 0 : p->iy - s->iy;
    const uint32_t east = (uint32_t)zs_min_u64(side, (uint64_t)p->ix + p->width - s->ix),
                   north = (uint32_t)zs_min_u64(side, (uint64_t)p->iy + p->height - s->iy);
    const uint64_t count = east - west;
    const bool is_direct = j->outer_size == 0 && j->conversion->convert == NULL && space == dense;
    _Alignas(ZS_MAX_ITEM_SIZE) unsigned char row[(1 << TILE) * ZS_MAX_ITEM_SIZE];
    (void)err;
    for (uint64_t k = 0; k < j->slices; k++)
        for (uint32_t y = south; y < north; y++) {
            char *pixels = pixel_of(j, p, s->ix + west, s->iy + y) + j->offsets[k];
            unsigned char *cells = j->scratch.data + (k * j->cells + s->before + 2 * (size_t)even_bits[y]) * size;
            if (j->outer_size > 0) {
                zs_copy_strided(1, &count, pixels, &space, row, &dense, j->outer_size, j->conversion->convert,
                                j->conversion->ctx);
                for (uint32_t x = west; x < east; x++)
                    memcpy(cells + size * even_bits[x], row + size * (x - west), size);
                continue;
            }
            take_row(cells, is_direct ? (unsigned char *)pixels : row, west, east, size);
            if (!is_direct)
                put(j, row, pixels, space, (size_t)count);
        }
    return ZS_OK;
}

/* ---- Cells that are looked up ---- */

/* The element of a cell; false where the array has none. `*at` is where the last one was found in the list: mostly the
 * next one is there, or one behind. */
static bool find_element(const struct zs_healpix_map *map, int face, uint32_t ix, uint32_t iy, uint64_t *at,
                         uint64_t *index)
{
    const struct zs_healpix_cells *cells = map->cells;
    const uint64_t number = map->is_ring ? zs_healpix_ring(map->order, face, ix, iy)
                                         : ((uint64_t)face << (2 * map->order)) + zs_healpix_interleave(ix, iy);
    *index = number;
    if (cells == NULL)
        return true;
    if (*at < cells->count && cells->numbers[*at] < number)
        ++*at;
    if ((*at > 0 && cells->numbers[*at - 1] >= number) || (*at < cells->count && cells->numbers[*at] < number))
        *at = zs_find_u64(cells->numbers, (size_t)cells->count, number);
    if (*at == cells->count || cells->numbers[*at] != number)
        return false;
    *index = cells->indices != NULL ? cells->indices[*at] : *at;
    return true;
}

/* Looks up the cells of a square. */
static enum zs_status add_entries(struct job *j, const struct square *s, struct zs_error *err)
{
    const struct zs_healpix_part *part = &j->parts[s->part];
    uint64_t at = 0, index;
    for (uint64_t cell = 0; cell < (uint64_t)1 << (2 * s->level); cell++) {
        uint32_t x, y;
        zs_healpix_separate(cell, &x, &y);
        if (!find_element(j->map, part->face, s->ix + x, s->iy + y, &at, &index))
            continue;
        ZS_TRY_GROW(j->entries, j->entry_count, &j->entry_room, err);
        j->entries[j->entry_count++] = (struct entry){index, pixel_of(j, part, s->ix + x, s->iy + y)};
    }
    return ZS_OK;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* Adds a run, to the last one where it follows that. */
static enum zs_status add_run(struct job *j, uint64_t first, uint64_t count, struct zs_error *err)
{
    struct run *last = j->run_count > 0 ? &j->runs[j->run_count - 1] : NULL;
    if (last != NULL && last->first + last->count == first) {
        last->count += count;
        return ZS_OK;
    }
    ZS_TRY_GROW(j->runs, j->run_count, &j->run_room, err);
    j->runs[j->run_count++] = (struct run){first, count};
    return ZS_OK;
}

/* Finds runs of the array that hold all entries, and makes the entries' indices count from the first element that is
 * read. */
static enum zs_status make_runs(struct job *j, struct zs_error *err)
{
    uint64_t spare = MOST_UNWANTED * (uint64_t)j->entry_count;
    if (j->entry_count > 0)
        qsort(j->entries, j->entry_count, sizeof *j->entries, compare_entries);
    j->cells = 0;
    for (size_t i = 0; i < j->entry_count; i++) {
        const uint64_t index = j->entries[i].index;
        const struct run *last = j->run_count > 0 ? &j->runs[j->run_count - 1] : NULL;
        const uint64_t end = last != NULL ? last->first + last->count : 0;
        const uint64_t gap = last != NULL && index >= end ? index - end : 0;
        if (last != NULL && index < end) { /* the same cell again: face 6 stands twice in the plane */
            j->entries[i].index = j->cells - (end - index);
            continue;
        }
        if (last != NULL && gap > 0 && gap <= GAP && gap <= spare) {
            ZS_TRY(add_run(j, end, gap, err));
            j->cells += gap;
            spare -= gap;
        }
        ZS_TRY(add_run(j, index, 1, err));
        j->entries[i].index = j->cells++;
    }
    return ZS_OK;
}

static enum zs_status put_entries(void *ctx, size_t item, struct zs_error *err)
{
    const struct job *j = ctx;
    const size_t size = j->info.item_size, first = item * ENTRIES_AT_ONCE;
    const size_t end = (size_t)zs_min_u64(first + ENTRIES_AT_ONCE, j->entry_count);
    (void)err;
    for (uint64_t k = 0; k < j->slices; k++) {
        const unsigned char *from = j->scratch.data + k * j->cells * size;
        for (size_t i = first; i < end; i++)
            put(j, from + j->entries[i].index * size, j->entries[i].pixel + j->offsets[k], (ptrdiff_t)size, 1);
    }
    return ZS_OK;
}

/* ---- What is taken at once ---- */

/* Adds a square of cells of the last part. */
static enum zs_status add_square(struct job *j, uint32_t ix, uint32_t iy, int level, struct zs_error *err)
{
    const struct square s = {j->part_count - 1, ix, iy, level, j->cells};
    const uint64_t cells = (uint64_t)1 << (2 * level);
    const uint64_t face = (uint64_t)j->parts[s.part].face << (2 * j->map->order);
    if (!is_in_order(j->map))
        return add_entries(j, &s, err);
    ZS_TRY_GROW(j->squares, j->square_count, &j->square_room, err);
    j->squares[j->square_count++] = s;
    j->cells += cells;
    return add_run(j, face + zs_healpix_interleave(ix, iy), cells, err);
}

static bool is_wanted(enum zs_healpix_half half, uint32_t ix, uint32_t iy)
{
    return half == ZS_HEALPIX_WHOLE || (half == ZS_HEALPIX_EAST_HALF ? ix >= iy : ix < iy);
}

/* Adds what the last part has of a square of its face, in the order of nested numbers: squares as large as they can be
 * within it. The smallest ones at its edge reach beyond it. */
static enum zs_status add_squares(struct job *j, uint32_t ix, uint32_t iy, int level, struct zs_error *err)
{
    const struct zs_healpix_part *part = &j->parts[j->part_count - 1];
    const uint64_t size = (uint64_t)1 << level, right = ix + size, top = iy + size;
    const uint64_t part_right = (uint64_t)part->ix + part->width, part_top = (uint64_t)part->iy + part->height;
    const bool is_mixed = part->half != ZS_HEALPIX_WHOLE && ix == iy && level > 0; /* astride 180 degrees */
    if (ix >= part_right || iy >= part_top || right <= part->ix || top <= part->iy ||
        (!is_mixed && !is_wanted(part->half, ix, iy)))
        return ZS_OK;
    const bool is_inside = ix >= part->ix && iy >= part->iy && right <= part_right && top <= part_top;
    if (level <= j->floor || (is_inside && !is_mixed && level <= TILE))
        return add_square(j, ix, iy, level, err);
    const uint32_t half = (uint32_t)(size / 2);
    for (uint32_t quarter = 0; quarter < 4; quarter++)
        ZS_TRY(add_squares(j, ix + (quarter & 1) * half, iy + (quarter >> 1) * half, level - 1, err));
    return ZS_OK;
}

/* Gets memory for the runs of all slices, and their windows in it. */
static enum zs_status make_windows(struct job *j, struct zs_error *err)
{
    const size_t item = j->info.item_size;
    uint64_t bytes, before = 0;
    if (!zs_mul_u64(j->cells, j->slices, &bytes) || !zs_mul_u64(bytes, item, &bytes) || bytes > SIZE_MAX / 2)
        return zs_fail_memory(err);
    ZS_TRY(zs_buffer_reset(&j->scratch, (size_t)bytes, err));
    free(j->windows);
    j->windows = zs_calloc(j->run_count, sizeof *j->windows);
    ZS_TRY_MEMORY(j->windows, err);
    for (size_t i = 0; i < j->run_count; i++) {
        struct zs_window *w = &j->windows[i];
        ptrdiff_t step = (ptrdiff_t)(j->cells * item);
        *w = *j->box;
        w->start[j->dim] = j->runs[i].first;
        w->count[j->dim] = j->runs[i].count;
        for (int d = j->info.ndim - 1; d >= 0; d--) {
            w->stride[d] = d != j->dim ? step : (ptrdiff_t)item;
            if (d != j->dim)
                step *= (ptrdiff_t)w->count[d];
        }
        w->data = j->scratch.data + before * item;
        before += w->count[j->dim];
    }
    return ZS_OK;
}

static enum zs_status move_cells(struct job *j, struct zs_error *err)
{
    const int threads = zs_array_threads(j->array);
    const size_t entry_items = (j->entry_count + ENTRIES_AT_ONCE - 1) / ENTRIES_AT_ONCE;
    if (!is_in_order(j->map))
        ZS_TRY(make_runs(j, err));
    if (j->run_count == 0)
        return ZS_OK;
    ZS_TRY(make_windows(j, err));
    if (j->outer_size > 0) {
        ZS_TRY(zs_parallel_for(threads, j->square_count, move_square, j, err));
        return zs_array_write_windows(j->array, j->windows, j->run_count, j->info.item_size, NULL, NULL, err);
    }
    ZS_TRY(zs_array_read_windows(j->array, j->windows, j->run_count, NULL, NULL, err));
    return is_in_order(j->map) ? zs_parallel_for(threads, j->square_count, move_square, j, err)
                               : zs_parallel_for(threads, entry_items, put_entries, j, err);
}

/* Moves the cells of the parts that were added, and forgets these. */
static enum zs_status flush(struct job *j, struct zs_error *err)
{
    const enum zs_status status = move_cells(j, err);
    j->part_count = j->square_count = j->entry_count = j->run_count = 0;
    j->cells = 0;
    return status;
}

/* Which cells are taken from an end of the plane when it is written. Face 6 is shown at both ends; a cell is taken from
 * the end on its side of 180 degrees, where a projected source has its pixels. */
static enum zs_healpix_half half_of(const struct job *j, const struct zs_healpix_part *part)
{
    if (j->outer_size == 0 || part->face != ZS_HEALPIX_SPLIT_FACE || j->map->shown != ZS_HEALPIX_SPHERE)
        return ZS_HEALPIX_WHOLE;
    /* The north-west corner of the plane shows longitudes just above -180: the south-east half of the face. */
    return j->window->x + part->column < (uint64_t)1 << j->map->order ? ZS_HEALPIX_EAST_HALF : ZS_HEALPIX_WEST_HALF;
}

/* Cells of squares of 2^floor that a stretch of cells touches. */
static uint64_t touched(uint32_t first, uint32_t count, int floor)
{
    return ((((uint64_t)first + count - 1) >> floor) - (first >> floor) + 1) << floor;
}

/* Cells that are taken at once, unless one square of 2^floor has more. */
static uint64_t cells_at_once(const struct job *j)
{
    const uint64_t bytes = j->info.item_size * j->slices, chunk = j->info.chunk_shape[j->dim];
    const uint64_t most = zs_max_u64(1, zs_min_u64(MOST_CELLS, MOST_BYTES / bytes));
    return is_in_order(j->map) && chunk <= MOST_CHUNK / bytes ? zs_max_u64(most, chunk) : most;
}

/* Moves the parts of a window, which take no more than so many cells together: parts that are no face become empty
 * where it is read, as do pixels of cells that the array may not have. */
static enum zs_status move_parts(struct job *j, struct zs_error *err)
{
    const struct zs_band_window *w = j->window;
    const uint64_t most = cells_at_once(j);
    struct zs_healpix_cut cut = {j->map->order, j->map->shown, j->floor, w->x, w->y, w->x + w->width, w->y + w->height,
                                 w->x, w->y};
    struct zs_healpix_part part;
    while (cut.level < j->map->order && (uint64_t)4 << (2 * cut.level) <= most)
        cut.level++;
    for (uint64_t taken = 0; zs_healpix_next_part(&cut, &part);) {
        if (j->outer_size == 0 && (part.face < 0 || j->map->cells != NULL))
            put_empty(j, &part);
        if (part.face < 0)
            continue;
        const uint64_t cells = touched(part.ix, part.width, j->floor) * touched(part.iy, part.height, j->floor);
        if (taken > 0 && taken + cells > most) {
            ZS_TRY(flush(j, err));
            taken = 0;
        }
        part.half = half_of(j, &part);
        ZS_TRY_GROW(j->parts, j->part_count, &j->part_room, err);
        j->parts[j->part_count++] = part;
        ZS_TRY(add_squares(j, 0, 0, j->map->order, err));
        taken += cells;
    }
    return flush(j, err);
}

/* ---- Windows ---- */

/* The smallest squares that a window is read in: a single pixel asks for one cell. Cells that are written, or looked
 * up, are those of the window alone. */
static int floor_of(const struct job *j)
{
    int floor = 0;
    while (j->outer_size == 0 && is_in_order(j->map) && floor < TILE && floor < j->map->order &&
           (uint64_t)1 << floor < zs_max_u64(j->window->width, j->window->height))
        floor++;
    return floor;
}

/* Sets the slices of a box of the array, and their offsets in the caller's memory. */
static enum zs_status take_box(struct job *j, const struct zs_window *box, struct zs_error *err)
{
    j->box = box;
    j->slices = 1;
    for (int d = 0; d < j->info.ndim; d++)
        j->slices *= d != j->dim ? box->count[d] : 1; /* bands, of which there are few */
    free(j->offsets);
    j->offsets = zs_calloc(j->slices, sizeof *j->offsets);
    ZS_TRY_MEMORY(j->offsets, err);
    for (uint64_t k = 0; k < j->slices; k++) {
        uint64_t rest = k;
        for (int d = j->info.ndim - 1; d >= 0; d--)
            if (d != j->dim) {
                j->offsets[k] += (ptrdiff_t)(rest % box->count[d]) * box->stride[d];
                rest /= box->count[d];
            }
    }
    return ZS_OK;
}

/* Moves a window of slices; item_size is 0 where it is read. */
static enum zs_status move_window(const struct zs_band_array *a, const struct zs_band_window *window,
                                  const struct zs_window *boxes, size_t n, size_t item_size,
                                  const struct zs_conversion *conversion, struct zs_error *err)
{
    struct job j = {.map = a->cells,
                    .array = a->array,
                    .info = zs_array_get_info(a->array),
                    .dim = a->slices.axes.x,
                    .window = window,
                    .conversion = conversion,
                    .outer_size = item_size};
    enum zs_status status = ZS_OK;
    j.floor = floor_of(&j);
    for (size_t i = 0; i < n && status == ZS_OK; i++) {
        status = take_box(&j, &boxes[i], err);
        if (status == ZS_OK)
            status = move_parts(&j, err);
    }
    free(j.offsets);
    free(j.parts);
    free(j.squares);
    free(j.entries);
    free(j.windows);
    free(j.runs);
    zs_buffer_free(&j.scratch);
    return status;
}

enum zs_status zs_healpix_read(const struct zs_band_array *a, const struct zs_band_window *window,
                               const struct zs_window *boxes, size_t n, const struct zs_conversion *conversion,
                               struct zs_error *err)
{
    return move_window(a, window, boxes, n, 0, conversion, err);
}

enum zs_status zs_healpix_write(const struct zs_band_array *a, const struct zs_band_window *window,
                                const struct zs_window *boxes, size_t n, size_t item_size,
                                const struct zs_conversion *conversion, struct zs_error *err)
{
    const size_t own = zs_array_get_info(a->array).item_size;
    if (!is_in_order(a->cells))
        return zs_fail(err, ZS_UNSUPPORTED, "only nested cells of all the sphere are written as a map");
    if (conversion->convert == NULL && item_size != own)
        return zs_fail(err, ZS_ARGUMENT, "item_size: expected the array's %zu bytes, found %zu", own, item_size);
    return move_window(a, window, boxes, n, item_size, conversion, err);
}

/* ---- What is asked of the list of cells alone ---- */

void zs_healpix_mask(const struct zs_healpix_map *map, const struct zs_pixel_box *box, unsigned char *mask,
                     ptrdiff_t line_space)
{
    struct zs_healpix_cut cut = {map->order, map->shown, map->order, box->x, box->y, box->x + box->width,
                                 box->y + box->height, box->x, box->y};
    struct zs_healpix_part p;
    while (zs_healpix_next_part(&cut, &p)) {
        uint64_t at = 0, index;
        for (uint32_t y = 0; y < p.height; y++) {
            unsigned char *row = mask + (ptrdiff_t)(p.row + p.height - 1 - y) * line_space + p.column;
            for (uint32_t x = 0; x < p.width; x++)
                row[x] = p.face >= 0 && find_element(map, p.face, p.ix + x, p.iy + y, &at, &index) ? 255 : 0;
        }
    }
}
