/* raster/healpix_read.h: arrays of HEALPix cells: which cells they have, windows of their rasters, read and written as
 * runs of elements. */
#pragma once

#include "geo/healpix.h"
#include "raster/healpix.h"
#include "raster/pixels.h"

/* ---- Cells of an array that has not all of the sphere: its cell coordinate, read once (healpix_cells.c) ---- */

/* Longest cell coordinate that is held: 8 bytes a cell, 16 where it is not sorted. One of all cells in order is not. */
#define ZS_HEALPIX_MOST_CELLS ((uint64_t)64 << 20)

/* Numbers of cells in the order of the array (nested or ring), growing. */
struct zs_healpix_cells {
    uint64_t count;
    uint64_t *numbers; /* NULL where is_all */
    uint64_t *indices; /* in the array of each; NULL where that is the index in `numbers` */
    bool is_all;      /* each number is its index: all of the sphere in order */
};

/* Reads the coordinate of `healpix`, for an array of `length` cells, in whatever order it is. A packed word 0 is
 * none. ZS_UNSUPPORTED: it is too long; ZS_INVALID: a number that there is not, or one that is there twice; or as
 * reading an array fails. Released with zs_healpix_cells_clear(). */
enum zs_status zs_healpix_cells_read(struct zs_hierarchy *hierarchy, const struct zs_healpix *healpix, uint64_t length,
                                     struct zs_healpix_cells *cells, struct zs_error *err);
void zs_healpix_cells_clear(struct zs_healpix_cells *cells);

/* ---- Windows ---- */

/* How the cells of an array lie in a raster. */
struct zs_healpix_map {
    int order;
    int shown;    /* of the sphere: see healpix.h */
    bool is_ring; /* how cells are numbered */
    const struct zs_healpix_cells *cells; /* borrowed; NULL: all, each at its number */
    unsigned char empty[ZS_MAX_ITEM_SIZE]; /* the element that pixels without a cell of the array get */
};

/* Reads a window of some slices of an array: boxes[n] are windows of it of one cell, as pixels.c makes them,
 * each with the address of its slices in the caller's memory, which is that of the window's first pixel. */
enum zs_status zs_healpix_read(const struct zs_band_array *array, const struct zs_band_window *window,
                               const struct zs_window *boxes, size_t n, const struct zs_conversion *conversion,
                               struct zs_error *err);

/* Writes such a window, elements of `item_size` bytes in the caller's memory, as zs_array_write_windows(): of nested
 * cells of all the sphere, else ZS_UNSUPPORTED. What stands in squares without a face is dropped, and of face 6, which
 * stands twice, each cell comes from the end of the plane that is on its side of 180 degrees. */
enum zs_status zs_healpix_write(const struct zs_band_array *array, const struct zs_band_window *window,
                                const struct zs_window *boxes, size_t n, size_t item_size,
                                const struct zs_conversion *conversion, struct zs_error *err);

/* Which pixels of a box are cells of the array: 255, else 0, row by row into mask. */
void zs_healpix_mask(const struct zs_healpix_map *map, const struct zs_pixel_box *box, unsigned char *mask,
                     ptrdiff_t line_space);
