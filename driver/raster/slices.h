/* raster/slices.h: a band is a slice of an array, wherever that is; and a window of some bands is windows of the arrays
 * they lie in. Pure: nothing is read here, and no array is looked into. */
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

/* A window of bands as windows of the arrays. */
struct zs_band_plan {
    struct zs_band_plan_part {
        size_t array; /* of zs_bands; each once, in order */
        const struct zs_window *windows;
        size_t count;
    } *parts;
    size_t count;
    struct zs_window *windows; /* of all parts */
};

/* Makes the windows as few and as large as the order of the bands allows: bands that follow each other and are a box of
 * their array become one window, so that whole chunks of several bands are recognised. ZS_ARGUMENT when there is no
 * such band; readers check that a window lies within its array. Release with zs_band_plan_clear(); on failure nothing
 * is held. */
enum zs_status zs_band_plan_make(const struct zs_bands *bands, const struct zs_band_window *window,
                                 struct zs_band_plan *plan, struct zs_error *err);
void zs_band_plan_clear(struct zs_band_plan *plan);
