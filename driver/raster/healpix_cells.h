/* raster/healpix_cells.h: which cells an array has that are not all of the sphere: its cell coordinate, read once. */
#ifndef ZS_RASTER_HEALPIX_CELLS_H
#define ZS_RASTER_HEALPIX_CELLS_H

#include "geo/healpix.h"

/* Longest cell coordinate that is held: 8 bytes a cell, 16 where it is not sorted. One of all cells in order is not. */
#define ZS_HEALPIX_MOST_CELLS ((uint64_t)64 << 20)

/* Numbers of cells in the order of the array (nested or ring), growing. */
struct zs_healpix_cells {
    uint64_t count;
    uint64_t *numbers; /* NULL where is_all */
    uint64_t *places; /* in the array of each; NULL where that is the place in `numbers` */
    bool is_all;      /* each number is its place: all of the sphere in order */
};

/* Reads the coordinate of `healpix`, for an array of `length` cells, in whatever order it is. A packed word 0 is
 * none. ZS_UNSUPPORTED: it is too long; ZS_INVALID: a number that there is not, or one that is there twice; or as
 * reading an array fails. Released with zs_healpix_cells_clear(). */
enum zs_status zs_healpix_cells_read(struct zs_hierarchy *h, const struct zs_healpix *healpix, uint64_t length,
                                     struct zs_healpix_cells *cells, struct zs_error *err) ZS_MUST_CHECK;
void zs_healpix_cells_clear(struct zs_healpix_cells *cells);

/* The place of the first of the numbers that is not less than `number`; count where there is none. */
uint64_t zs_healpix_cells_find(const struct zs_healpix_cells *cells, uint64_t number);

#endif
