/* raster/pixels.h: a band is a slice of an array, wherever that is; windows of bands, read and written: each array's
 * share as one plan, those of several arrays side by side. */
#pragma once

#include "geo/axes.h"

/* The slices of one array along X and Y, counted in C order: each is an index into every other dimension. */
struct zs_slices {
    struct zs_axes axes;
    int ndim; /* of the array */
    uint64_t first[ZS_MAX_NDIM]; /* by dimension of the array: the index of all slices, or of the first in a range */
    int dims[ZS_MAX_NDIM]; /* dimensions in which slices differ or may, slowest first; not X and Y */
    uint64_t sizes[ZS_MAX_NDIM]; /* how many indices into each */
    int dim_count;
    uint64_t count; /* of slices; UINT64_MAX when 64 bits do not count them */
};

/* The slices of an array of that shape. `selections` are of the first of its dimensions but X and Y; of those beyond n,
 * all is taken. ZS_ARGUMENT when there are more selections than dimensions, one is out of range, or a dimension has no
 * elements. */
enum zs_status zs_slices_find(int ndim, const uint64_t *shape, struct zs_axes axes,
                              const struct zs_selection *selections, size_t n, struct zs_slices *slices,
                              struct zs_error *err);

/* The position of a slice in each of the dim_count dimensions, counted from the first index selected of it. */
void zs_slice_position(const struct zs_slices *slices, uint64_t slice, uint64_t *position);

/* An array whose slices are bands, one after the other. The slices are of as many columns and rows as those of its
 * raster, or they are cells along X, whose positions in the raster `cells` has (healpix_read.h). */
struct zs_healpix_map;
struct zs_band_array {
    struct zs_array *array; /* borrowed */
    struct zs_slices slices;
    uint64_t first; /* bands of the raster before its own */
    const struct zs_healpix_map *cells; /* borrowed; of all arrays of a raster or of none, where it is NULL */
};

/* The bands of a raster: those of the first array, then those of the next. Borrowed. */
struct zs_bands {
    const struct zs_band_array *arrays;
    size_t count;
};

/* Finds the array and the slice of a band (numbered from 1). False where there is no such band. */
bool zs_band_find(const struct zs_bands *bands, int band, size_t *array, uint64_t *slice);

/* A window of some bands, and its address in the caller's memory. Distances are in bytes and may be negative. */
struct zs_band_window {
    uint64_t x, y, width, height; /* pixels */
    const int *bands;             /* numbers from 1, in any order */
    size_t band_count;
    void *data; /* of pixel (x, y) of the first of them; NULL where only the window of the arrays matters */
    ptrdiff_t pixel_space, line_space, band_space;
};

/* Conversion of elements between an array and the caller's memory; convert NULL: none. */
struct zs_conversion {
    zs_convert_fn convert;
    void *ctx;
};

/* Pixels of a raster. */
struct zs_pixel_box {
    uint64_t x, y, width, height;
};

/* Reads a window of bands. `conversions` has one for each array of `bands`; NULL converts nothing. Bands that follow
 * each other and are a box of their array are read together, so that whole chunks of several bands are recognised.
 * ZS_ARGUMENT where there is no such band, else the errors of zs_array_read_windows(); the caller's memory is then
 * undefined. */
enum zs_status zs_pixels_read(const struct zs_bands *bands, const struct zs_band_window *window,
                              const struct zs_conversion *conversions, struct zs_error *err);

/* Gets the chunks of the window into the caches of their arrays, as zs_array_prefetch(); its data are not looked at.
 * Does nothing for cells. */
enum zs_status zs_pixels_prefetch(const struct zs_bands *bands, const struct zs_band_window *window,
                                  struct zs_error *err);

/* Whether anything is stored of boxes of one band: is_stored[n], see zs_array_find_stored(). Of cells all may be. */
enum zs_status zs_pixels_find_stored(const struct zs_bands *bands, int band, const struct zs_pixel_box *boxes, size_t n,
                                     bool *is_stored, struct zs_error *err);

/* Writes a window of bands, elements of `item_size` bytes, as zs_array_write_windows(): one array after the other,
 * since each keeps all threads busy and memory for what it encodes. What comes before an error is written. */
enum zs_status zs_pixels_write(const struct zs_bands *bands, const struct zs_band_window *window, size_t item_size,
                               const struct zs_conversion *conversions, struct zs_error *err);
