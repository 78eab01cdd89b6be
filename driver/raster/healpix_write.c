/* Windows of rasters whose pixels are HEALPix cells, written: the inverse of healpix_read.c, for nested cells of all
 * the sphere. Squares of pixels are gathered into runs of cells, which the array takes as it takes any. */
#include <stdlib.h>

#include "array/array.h"
#include "base/checked.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/strided.h"
#include "raster/healpix_parts.h"

/* A square of cells that is written: 2^level a side, 2^TILE at most. */
struct square {
    const struct zs_healpix_part *part;
    uint32_t ix, iy;
    int level;
    uint64_t before; /* cells of the batch before it */
};
struct cell_runs {
    const struct reading *reading;
    struct square *squares;
    size_t count, room;
    struct zs_runs runs;
    uint64_t cells;
    unsigned char *scratch; /* all cells of the first slice, then those of the next */
};

/* ---- Which cells ---- */

/* Which cells are taken from an end of the plane. Face 6 is shown at both ends; a cell is taken from the end on its
 * side of 180 degrees, where a projected source has its pixels. Cells on 180 degrees are taken from the west end. */
enum half { BOTH_HALVES, EAST_HALF, WEST_HALF };

static enum half half_of(const struct reading *reading, const struct zs_healpix_part *part)
{
    if (part->face != ZS_HEALPIX_SPLIT_FACE || reading->map->shown != ZS_HEALPIX_SPHERE)
        return BOTH_HALVES;
    /* The north-west corner of the plane shows longitudes just above -180: the south-east half of the face. */
    return reading->window->x + part->column < (uint64_t)1 << reading->map->order ? EAST_HALF : WEST_HALF;
}

static bool is_wanted(enum half half, uint32_t ix, uint32_t iy)
{
    return half == BOTH_HALVES || (half == EAST_HALF ? ix >= iy : ix < iy);
}

static enum zs_status add_square(struct cell_runs *g, const struct square *s, uint64_t number, struct zs_error *err)
{
    const uint64_t cells = (uint64_t)1 << (2 * s->level);
    ZS_TRY_GROW(g->squares, g->count, &g->room, err);
    g->squares[g->count] = *s;
    g->squares[g->count++].before = g->cells;
    g->cells += cells;
    return zs_runs_add(&g->runs, number, cells, err);
}

/* Adds what is wanted of a square of the face, in the order of the cells. */
static enum zs_status find_squares(struct cell_runs *g, enum half half, struct square s, struct zs_error *err)
{
    const struct zs_healpix_part *p = s.part;
    const uint64_t size = (uint64_t)1 << s.level, right = s.ix + size, top = s.iy + size;
    const uint64_t part_right = (uint64_t)p->ix + p->width, part_top = (uint64_t)p->iy + p->height;
    if (s.ix >= part_right || s.iy >= part_top || right <= p->ix || top <= p->iy)
        return ZS_OK;
    const bool is_mixed = half != BOTH_HALVES && s.ix == s.iy && s.level > 0; /* astride 180 degrees */
    if (!is_mixed && !is_wanted(half, s.ix, s.iy))
        return ZS_OK;
    if (!is_mixed && s.level <= TILE && s.ix >= p->ix && s.iy >= p->iy && right <= part_right && top <= part_top)
        return add_square(g, &s,
                          ((uint64_t)p->face << (2 * g->reading->map->order)) + zs_healpix_interleave(s.ix, s.iy), err);
    const uint32_t middle = (uint32_t)(size / 2);
    for (uint32_t quarter = 0; quarter < 4; quarter++) {
        const struct square q = {p, s.ix + (quarter & 1) * middle, s.iy + (quarter >> 1) * middle, s.level - 1, 0};
        ZS_TRY(find_squares(g, half, q, err));
    }
    return ZS_OK;
}

/* ---- Their values ---- */

static enum zs_status gather_square(void *ctx, size_t item, struct zs_error *err)
{
    const struct cell_runs *g = ctx;
    const struct reading *r = g->reading;
    const struct square *s = &g->squares[item];
    const size_t size = r->info.item_size;
    const uint64_t side = (uint64_t)1 << s->level;
    const ptrdiff_t dense = (ptrdiff_t)size;
    _Alignas(ZS_MAX_ITEM_SIZE) unsigned char row[(1 << TILE) * ZS_MAX_ITEM_SIZE];
    (void)err;
    for (uint64_t k = 0; k < r->slices; k++)
        for (uint32_t y = 0; y < side; y++) {
            const char *pixels = zs_healpix_pixel(r, s->part, s->ix, s->iy + y) + r->slice_offsets[k];
            unsigned char *cells = g->scratch + (k * g->cells + s->before + 2 * (size_t)zs_even_bits[y]) * size;
            zs_copy_strided(1, &side, pixels, &r->window->pixel_space, row, &dense, r->outer_size,
                            r->conversion->convert, r->conversion->ctx);
            zs_healpix_scatter_row(row, cells, (uint32_t)side, size);
        }
    return ZS_OK;
}

static enum zs_status write_runs(const struct cell_runs *g, struct zs_error *err)
{
    const struct reading *r = g->reading;
    struct zs_window *windows = NULL;
    enum zs_status status = zs_healpix_windows(r, g->runs.list, g->runs.count, g->cells, g->scratch, &windows, err);
    if (status == ZS_OK)
        status = zs_array_write_windows(r->array, windows, g->runs.count, r->info.item_size, NULL, NULL, err);
    free(windows);
    return status;
}

static enum zs_status write_batch(struct reading *reading, const struct zs_healpix_batch *batch, int floor,
                                  struct zs_error *err)
{
    struct cell_runs g = {.reading = reading};
    enum zs_status status = ZS_OK;
    uint64_t bytes = 0;
    (void)floor;
    for (size_t i = 0; i < batch->count && status == ZS_OK; i++) {
        g.runs.closed = g.runs.count;
        status = find_squares(&g, half_of(reading, &batch->parts[i]),
                              (struct square){&batch->parts[i], 0, 0, reading->map->order, 0}, err);
    }
    const bool is_bounded = zs_mul_u64(g.cells, reading->slices, &bytes) &&
                            zs_mul_u64(bytes, reading->info.item_size, &bytes) && bytes <= SIZE_MAX / 2;
    g.scratch = status == ZS_OK && is_bounded ? malloc((size_t)zs_max_u64(bytes, 1)) : NULL;
    if (status == ZS_OK && g.scratch == NULL)
        status = zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_parallel_for(reading->threads, g.count, gather_square, &g, err);
    if (status == ZS_OK && g.runs.count > 0)
        status = write_runs(&g, err);
    free(g.scratch);
    free(g.squares);
    zs_runs_clear(&g.runs);
    return status;
}

/* ---- Windows ---- */

/* Whole chunks are encoded at once, others decoded first: as many bands as a window has of a chunk of the usual size
 * are held. */
#define MOST_CHUNK (4 * ZS_HEALPIX_SCRATCH)

static uint64_t cells_at_once(const struct reading *reading)
{
    const uint64_t bytes = reading->info.item_size * reading->slices, chunk = reading->info.chunk_shape[reading->dim];
    const uint64_t most = zs_max_u64(1, zs_min_u64(MOST_ENTRIES, ZS_HEALPIX_SCRATCH / bytes));
    return chunk <= MOST_CHUNK / bytes ? zs_max_u64(most, chunk) : most;
}

enum zs_status zs_healpix_write(const struct zs_band_array *a, const struct zs_band_window *window,
                                const struct zs_window *boxes, size_t n, size_t item_size,
                                const struct zs_conversion *conversion, struct zs_error *err)
{
    struct reading r = zs_healpix_reading(a, window, conversion);
    r.outer_size = item_size;
    if (a->cells->is_ring || a->cells->cells != NULL)
        return zs_fail(err, ZS_UNSUPPORTED, "only nested cells of all the sphere are written as a map");
    if (conversion->convert == NULL && item_size != r.info.item_size)
        return zs_fail(err, ZS_ARGUMENT, "item_size: expected the array's %zu bytes, found %zu", r.info.item_size,
                       item_size);
    for (size_t i = 0; i < n; i++) {
        ZS_TRY(zs_healpix_take_box(&r, &boxes[i], err));
        const enum zs_status status = zs_healpix_in_batches(&r, cells_at_once(&r), 0, write_batch, err);
        free(r.slice_offsets);
        ZS_TRY(status);
    }
    return ZS_OK;
}
