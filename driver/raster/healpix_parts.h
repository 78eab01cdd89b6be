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

/* Gets memory for elements of runs of all slices, and the windows of these in it: the *cells elements of the first
 * slice, one run after the other, then those of the next. Both are released with free(), on failure too. */
enum zs_status zs_healpix_scratch(const struct reading *reading, const struct zs_runs *runs, uint64_t *cells,
                                  unsigned char **scratch, struct zs_window **windows, struct zs_error *err);

/* Parts of a window that are read together. */
struct zs_healpix_batch {
    struct zs_healpix_part *parts; /* owned */
    size_t count, room;
    uint64_t cells; /* that they take, in squares of 2^floor */
};

/* Calls read() for batches of parts of faces, cut along squares of at most `most` cells, none of which takes more than
 * so many unless it is one square of 2^floor a side; parts that are no face become empty where the caller's memory is
 * read into. */
typedef enum zs_status (*zs_healpix_read_fn)(struct reading *reading, const struct zs_healpix_batch *batch, int floor,
                                             struct zs_error *err);
enum zs_status zs_healpix_in_batches(struct reading *reading, uint64_t most, int floor, zs_healpix_read_fn read,
                                     struct zs_error *err);

/* Reads parts whose cells lie in no such order: by rings, or listed (healpix_scatter.c). */
enum zs_status zs_healpix_scatter(struct reading *reading, const struct zs_healpix_batch *batch, int floor,
                                  struct zs_error *err);
