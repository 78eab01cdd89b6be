/* Cells that are read one by one: numbered by rings of latitude, or those that a coordinate lists; and masks. */
#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "base/checked.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "raster/healpix_parts.h"

/* ---- Finding ---- */

/* What is called for each cell of a part of which there is an element. */
struct finder {
    void *context;
    enum zs_status (*found)(void *context, uint64_t index, uint32_t ix, uint32_t iy, struct zs_error *err);
};

static enum zs_status found_listed(const struct zs_healpix_cells *cells, uint64_t at, uint32_t ix, uint32_t iy,
                                   const struct finder *to, struct zs_error *err)
{
    return to->found(to->context, cells->indices != NULL ? cells->indices[at] : at, ix, iy, err);
}

/* Moves *at to the first of the listed numbers that is not less than `number`: mostly it is there, or one before. */
static bool is_listed(const struct zs_healpix_cells *cells, uint64_t number, uint64_t *at)
{
    if (*at < cells->count && cells->numbers[*at] < number)
        ++*at;
    if ((*at > 0 && cells->numbers[*at - 1] >= number) || (*at < cells->count && cells->numbers[*at] < number))
        *at = zs_healpix_cells_find(cells, number);
    return *at < cells->count && cells->numbers[*at] == number;
}

/* Rings are the diagonals of a face, numbered eastwards, which is to the south-east in its square. */
static enum zs_status find_rings(const struct zs_healpix_map *map, const struct zs_healpix_part *part,
                                 const struct finder *to, struct zs_error *err)
{
    const uint32_t right = part->ix + (part->width - 1), top = part->iy + (part->height - 1);
    uint64_t at = 0;
    for (uint64_t sum = (uint64_t)part->ix + part->iy; sum <= (uint64_t)right + top; sum++) {
        const uint32_t last = sum - part->iy < right ? (uint32_t)(sum - part->iy) : right;
        for (uint32_t ix = sum - part->ix > top ? (uint32_t)(sum - top) : part->ix; ix <= last; ix++) {
            const uint32_t iy = (uint32_t)(sum - ix);
            const uint64_t number = zs_healpix_ring(map->order, part->face, ix, iy);
            if (map->cells == NULL)
                ZS_TRY(to->found(to->context, number, ix, iy, err));
            else if (is_listed(map->cells, number, &at))
                ZS_TRY(found_listed(map->cells, at, ix, iy, to, err));
        }
    }
    return ZS_OK;
}

/* Finds the listed cells in the squares of a part. */
static enum zs_status find_listed(const struct zs_healpix_map *map, const struct zs_healpix_part *part,
                                  const struct finder *to, struct zs_error *err)
{
    const struct zs_healpix_cells *cells = map->cells;
    const uint64_t mask = ((uint64_t)1 << (2 * map->order)) - 1;
    struct zs_runs runs = {0};
    enum zs_status status = zs_healpix_nested_runs(map->order, part, TILE, &runs, err);
    for (size_t i = 0; i < runs.count && status == ZS_OK; i++) {
        const uint64_t first = runs.list[i].first;
        for (uint64_t at = zs_healpix_cells_find(cells, first);
             at < cells->count && cells->numbers[at] - first < runs.list[i].count && status == ZS_OK; at++) {
            uint32_t ix, iy;
            zs_healpix_separate(cells->numbers[at] & mask, &ix, &iy);
            if (ix - part->ix < part->width && iy - part->iy < part->height) /* those before it wrap around */
                status = found_listed(cells, at, ix, iy, to, err);
        }
    }
    zs_runs_clear(&runs);
    return status;
}

static enum zs_status find_cells(const struct zs_healpix_map *map, const struct zs_healpix_part *part,
                                 const struct finder *to, struct zs_error *err)
{
    return map->is_ring ? find_rings(map, part, to, err) : find_listed(map, part, to, err);
}

/* ---- Reading ---- */

/* A cell: where its element lies in the array, and its pixel in the caller's memory. */
struct entry {
    uint64_t index;
    char *pixel;
};
struct entries {
    const struct reading *reading;
    const struct zs_healpix_part *part;
    struct entry *list;
    size_t count, room;
    bool is_sorted;
};

static enum zs_status add_entry(void *context, uint64_t index, uint32_t ix, uint32_t iy, struct zs_error *err)
{
    struct entries *e = context;
    ZS_TRY_GROW(e->list, e->count, &e->room, err);
    e->is_sorted = e->is_sorted && (e->count == 0 || e->list[e->count - 1].index <= index);
    e->list[e->count++] = (struct entry){index, zs_healpix_pixel(e->reading, e->part, ix, iy)};
    return ZS_OK;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* At most so many unwanted elements between two wanted ones are read with them: the record of another window is as
 * large as they are. */
#define GAP 64
/* ... as long as all elements that are read are not many times the wanted ones. */
#define MOST_UNWANTED 4

/* Finds runs of the array that hold all entries, and makes the entries' indices count from the first element that is
 * read. */
static enum zs_status make_runs(struct entries *e, struct zs_runs *runs, struct zs_error *err)
{
    uint64_t cells = 0, spare = MOST_UNWANTED * (uint64_t)e->count;
    for (size_t i = 0; i < e->count; i++) {
        const uint64_t index = e->list[i].index;
        const struct zs_run *last = runs->count > 0 ? &runs->list[runs->count - 1] : NULL;
        const uint64_t end = last != NULL ? last->first + last->count : 0;
        const uint64_t gap = last != NULL && index >= end ? index - end : 0;
        if (last != NULL && index < end) { /* the same cell again: face 6 stands twice in the plane */
            e->list[i].index = cells - (end - index);
            continue;
        }
        if (last != NULL && gap > 0 && gap <= GAP && gap <= spare) {
            ZS_TRY(zs_runs_add(runs, end, gap, err));
            cells += gap;
            spare -= gap;
        }
        ZS_TRY(zs_runs_add(runs, index, 1, err));
        e->list[i].index = cells++;
    }
    return ZS_OK;
}

struct scattering {
    const struct reading *reading;
    const struct entries *entries;
    const unsigned char *scratch;
    uint64_t cells;
};

#define ENTRIES_AT_ONCE 16384

static enum zs_status scatter(void *ctx, size_t item, struct zs_error *err)
{
    const struct scattering *s = ctx;
    const struct reading *r = s->reading;
    const size_t size = r->info.item_size, first = item * ENTRIES_AT_ONCE;
    const size_t end = (size_t)zs_min_u64(first + ENTRIES_AT_ONCE, s->entries->count);
    (void)err;
    for (uint64_t k = 0; k < r->slices; k++) {
        const unsigned char *from = s->scratch + k * s->cells * size;
        for (size_t i = first; i < end; i++)
            zs_healpix_put(r, from + s->entries->list[i].index * size, s->entries->list[i].pixel + r->slice_offsets[k],
                           (ptrdiff_t)size, 1);
    }
    return ZS_OK;
}

enum zs_status zs_healpix_scatter(struct reading *reading, const struct zs_healpix_batch *batch, int floor,
                                  struct zs_error *err)
{
    struct entries e = {.reading = reading, .is_sorted = true};
    struct scattering s = {.reading = reading, .entries = &e};
    struct zs_runs runs = {0};
    enum zs_status status = ZS_OK;
    unsigned char *scratch = NULL;
    struct zs_window *windows = NULL;
    (void)floor;
    for (size_t i = 0; i < batch->count && status == ZS_OK; i++) {
        if (reading->map->cells != NULL)
            zs_healpix_put_empty(reading, &batch->parts[i]);
        e.part = &batch->parts[i];
        status = find_cells(reading->map, e.part, &(struct finder){&e, add_entry}, err);
    }
    if (status == ZS_OK && !e.is_sorted)
        qsort(e.list, e.count, sizeof *e.list, compare_entries);
    if (status == ZS_OK)
        status = make_runs(&e, &runs, err);
    if (status == ZS_OK)
        status = zs_healpix_scratch(reading, &runs, &s.cells, &scratch, &windows, err);
    if (status == ZS_OK && runs.count > 0)
        status = zs_array_read_windows(reading->array, windows, runs.count, NULL, NULL, err);
    s.scratch = scratch;
    if (status == ZS_OK)
        status = zs_parallel_for(reading->threads, (e.count + ENTRIES_AT_ONCE - 1) / ENTRIES_AT_ONCE, scatter, &s, err);
    free(windows);
    free(scratch);
    free(e.list);
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
            ZS_TRY(find_cells(map, &parts[i], &(struct finder){&m, mark}, err));
    }
    return ZS_OK;
}
