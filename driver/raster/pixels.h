/* raster/pixels.h: windows of bands, read and written: each array's share as one plan, those of several arrays side by
 * side. */
#pragma once

#include "raster/slices.h"

/* Conversion of elements between an array and the caller's memory; convert NULL: none. */
struct zs_conversion {
    zs_convert_fn convert;
    void *ctx;
};

/* Pixels of a raster. */
struct zs_pixel_box {
    uint64_t x, y, width, height;
};

/* Reads a window of bands. `conversions` has one for each array of `bands`; NULL converts nothing. Errors are those of
 * zs_band_plan_make() and zs_array_read_windows(); the caller's memory is then undefined. */
enum zs_status zs_pixels_read(const struct zs_bands *bands, const struct zs_band_window *window,
                              const struct zs_conversion *conversions, struct zs_error *err);

/* Gets the chunks of the window into the caches of their arrays, as zs_array_prefetch(); its data are not looked at. */
enum zs_status zs_pixels_prefetch(const struct zs_bands *bands, const struct zs_band_window *window,
                                  struct zs_error *err);

/* Whether anything is stored of boxes of one band: is_stored[n], see zs_array_find_stored(). Of cells all may be. */
enum zs_status zs_pixels_find_stored(const struct zs_bands *bands, int band, const struct zs_pixel_box *boxes, size_t n,
                                     bool *is_stored, struct zs_error *err);

/* Writes a window of bands, elements of `item_size` bytes, as zs_array_write_windows(): one array after the other,
 * since each keeps all threads busy and memory for what it encodes. What comes before an error is written. */
enum zs_status zs_pixels_write(const struct zs_bands *bands, const struct zs_band_window *window, size_t item_size,
                               const struct zs_conversion *conversions, struct zs_error *err);
