/* raster/healpix_parts.h: a window in pieces that fit the memory for cells on their way. Internal to healpix_read.c and
 * healpix_scatter.c. */
#pragma once

#include "raster/healpix_read.h"

/* Side of the squares whose bits are looked up in a table, as a power of two: 1024 cells, which a processor's first
 * cache holds. */
#define TILE 5

/* Cells that are read one by one hold this many at once: each has a record of its address. */
#define MOST_ENTRIES ((uint64_t)4 << 20)

/* One window of slices, and what reading it needs. */
struct reading {
    const struct zs_healpix_map *map;
    struct zs_array *array;
    struct zs_array_info info;
    int dim; /* of the array, along which cells lie */
    const struct zs_band_window *window;
    const struct zs_window *box; /* its slices */
    const struct zs_conversion *conversion;
    uint64_t slices;
    ptrdiff_t *slice_offsets; /* of each, in the caller's memory */
    int threads;
    size_t outer_size; /* of an element in the caller's memory, where that is written; 0: it is read into */
};

/* Makes the reading of a window. zs_healpix_take_box() sets its slices and slice_offsets, which the caller frees. */
struct reading zs_healpix_reading(const struct zs_band_array *array, const struct zs_band_window *window,
                                  const struct zs_conversion *conversion);
enum zs_status zs_healpix_take_box(struct reading *reading, const struct zs_window *box, struct zs_error *err);

/* Bits of 0 to 31 in the even positions. */
extern const uint16_t zs_even_bits[1 << TILE];
/* Elements of a row of a square, from its west end, to their indices among its cells. */
void zs_healpix_scatter_row(const unsigned char *row, unsigned char *cells, uint32_t n, size_t item);

/* Puts n elements into the caller's memory. */
void zs_healpix_put(const struct reading *reading, const void *src, char *dst, ptrdiff_t stride, size_t n);
/* Fills all pixels of a part with the empty element. */
void zs_healpix_put_empty(const struct reading *reading, const struct zs_healpix_part *part);

/* Address of a cell's pixel in the caller's memory, of the first slice. */
static inline char *zs_healpix_pixel(const struct reading *reading, const struct zs_healpix_part *part, uint32_t ix,
                                     uint32_t iy)
{
    const uint64_t column = part->column + (ix - part->ix), row = part->row + (part->iy + part->height - 1 - iy);
    return (char *)reading->box->data + (ptrdiff_t)column * reading->window->pixel_space +
           (ptrdiff_t)row * reading->window->line_space;
}

/* Windows of runs of all slices, whose elements lie densely in `scratch`: all runs of the first slice, `cells`
 * elements, then those of the next. Released with free(). */
enum zs_status zs_healpix_windows(const struct reading *reading, const struct zs_run *runs, size_t count,
                                  uint64_t cells, unsigned char *scratch, struct zs_window **windows,
                                  struct zs_error *err);

/* Reads runs of elements of all slices, densely one after the other; *scratch, freed with free(), holds *cells elements
 * of the first slice, then those of the next. */
enum zs_status zs_healpix_read_runs(const struct reading *reading, const struct zs_run *runs, size_t count,
                                    unsigned char **scratch, uint64_t *cells, struct zs_error *err);

/* Parts of a window that are read together. */
struct zs_healpix_batch {
    struct zs_healpix_part *parts; /* owned */
    size_t count, room;
    uint64_t cells; /* that they take, in squares of 2^floor */
};

/* Calls read() for batches of parts of a face, none of which takes more than `most` cells unless it is one square of
 * 2^floor a side; parts that are no face become empty where the caller's memory is read into. */
enum zs_status zs_healpix_in_batches(struct reading *reading, uint64_t most, int floor,
                                     enum zs_status (*read)(struct reading *reading,
                                     const struct zs_healpix_batch *batch, int floor, struct zs_error *err),
                                     struct zs_error *err);

/* Reads parts whose cells lie in no such order: by rings, or listed (healpix_scatter.c). */
enum zs_status zs_healpix_scatter(struct reading *reading, const struct zs_healpix_batch *batch, int floor,
                                  struct zs_error *err);

/* Calls found() for each cell of a part of which there is an element. */
struct zs_healpix_finder {
    void *context;
    enum zs_status (*found)(void *context, uint64_t index, uint32_t ix, uint32_t iy, struct zs_error *err);
};
enum zs_status zs_healpix_find_cells(const struct zs_healpix_map *map, const struct zs_healpix_part *part,
                                     const struct zs_healpix_finder *to, struct zs_error *err);
