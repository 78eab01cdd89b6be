/* Windows of rasters whose pixels are HEALPix cells, written: the inverse of healpix_read.c, for nested cells of all
 * the sphere. Squares of pixels are gathered into runs of cells, which the array takes as it takes any. */
#include <stdlib.h>
#include <string.h>

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
struct squares {
    const struct reading *reading;
    const struct zs_healpix_part *part; /* whose squares are added */
    struct square *list;
    size_t count, room;
    struct zs_runs runs;
    uint64_t cells;
    unsigned char *scratch; /* all cells of the first slice, then those of the next */
};

/* Which cells are taken from an end of the plane. Face 6 is shown at both ends; a cell is taken from the end on its
 * side of 180 degrees, where a projected source has its pixels. */
static enum zs_healpix_half half_of(const struct reading *reading, const struct zs_healpix_part *part)
{
    if (part->face != ZS_HEALPIX_SPLIT_FACE || reading->map->shown != ZS_HEALPIX_SPHERE)
        return ZS_HEALPIX_WHOLE;
    /* The north-west corner of the plane shows longitudes just above -180: the south-east half of the face. */
    return reading->window->x + part->column < (uint64_t)1 << reading->map->order ? ZS_HEALPIX_EAST_HALF
                                                                                  : ZS_HEALPIX_WEST_HALF;
}

static enum zs_status add_square(void *context, uint64_t number, uint32_t ix, uint32_t iy, int level,
                                 struct zs_error *err)
{
    struct squares *s = context;
    const uint64_t cells = (uint64_t)1 << (2 * level);
    ZS_TRY_GROW(s->list, s->count, &s->room, err);
    s->list[s->count++] = (struct square){s->part, ix, iy, level, s->cells};
    s->cells += cells;
    return zs_runs_add(&s->runs, number, cells, err);
}

/* ---- Their values ---- */

static enum zs_status gather_square(void *ctx, size_t item, struct zs_error *err)
{
    const struct squares *all = ctx;
    const struct reading *r = all->reading;
    const struct square *s = &all->list[item];
    const size_t size = r->info.item_size;
    const uint64_t side = (uint64_t)1 << s->level;
    const ptrdiff_t dense = (ptrdiff_t)size;
    _Alignas(ZS_MAX_ITEM_SIZE) unsigned char row[(1 << TILE) * ZS_MAX_ITEM_SIZE];
    (void)err;
    for (uint64_t k = 0; k < r->slices; k++)
        for (uint32_t y = 0; y < side; y++) {
            const char *pixels = zs_healpix_pixel(r, s->part, s->ix, s->iy + y) + r->slice_offsets[k];
            unsigned char *cells = all->scratch + (k * all->cells + s->before + 2 * (size_t)zs_even_bits[y]) * size;
            zs_copy_strided(1, &side, pixels, &r->window->pixel_space, row, &dense, r->outer_size,
                            r->conversion->convert, r->conversion->ctx);
            for (uint32_t x = 0; x < side; x++)
                memcpy(cells + size * zs_even_bits[x], row + size * x, size);
        }
    return ZS_OK;
}

static enum zs_status write_batch(struct reading *reading, const struct zs_healpix_batch *batch, int floor,
                                  struct zs_error *err)
{
    struct squares s = {.reading = reading};
    struct zs_window *windows = NULL;
    enum zs_status status = ZS_OK;
    uint64_t cells;
    for (size_t i = 0; i < batch->count && status == ZS_OK; i++) {
        struct zs_healpix_part part = batch->parts[i];
        part.half = half_of(reading, &part);
        s.part = &batch->parts[i];
        s.runs.closed = s.runs.count;
        status = zs_healpix_find_squares(reading->map->order, &part,
                                         &(struct zs_healpix_walk){floor, TILE, &s, add_square}, err);
    }
    if (status == ZS_OK)
        status = zs_healpix_scratch(reading, &s.runs, &cells, &s.scratch, &windows, err);
    if (status == ZS_OK)
        status = zs_parallel_for(reading->threads, s.count, gather_square, &s, err);
    if (status == ZS_OK && s.runs.count > 0)
        status = zs_array_write_windows(reading->array, windows, s.runs.count, reading->info.item_size, NULL, NULL,
                                        err);
    free(windows);
    free(s.scratch);
    free(s.list);
    zs_runs_clear(&s.runs);
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
