/* raster/means.h: exact means of integers of 64 bits, for overviews: doubles hold no more than 53 of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Sizes below 2^31 of a raster and of a smaller one of the same extent, whose pixels need not be whole numbers of the
 * larger one's. */
struct zs_means_grid {
    uint64_t from_width, from_height, to_width, to_height;
};

/* Pixels of the smaller raster that are being made: a window of it. */
struct zs_means;

/* Begins the window [x, x + width) x [y, y + height) of the smaller raster, by `threads` threads. `is_signed`: pixels
 * are signed integers, else unsigned. ZS_NO_MEMORY only. */
enum zs_status zs_means_create(const struct zs_means_grid *grid, uint64_t x, uint64_t y, uint64_t width,
                               uint64_t height, bool is_signed, int threads, struct zs_means **means,
                               struct zs_error *err);
void zs_means_free(struct zs_means *means); /* NULL is allowed */

/* The window of the larger raster that those pixels are made of: {x, y, width, height}. */
void zs_means_source(const struct zs_means *means, uint64_t *window);

/* Adds a window of the larger raster, row by row: what counts is where `valid` is not 0 (NULL: everywhere), in as much
 * as it overlaps each pixel. Each pixel of zs_means_source() is added once. Signed values are given as their bits. */
enum zs_status zs_means_add(struct zs_means *means, uint64_t x, uint64_t y, uint64_t width, uint64_t height,
                            const uint64_t *values, const unsigned char *valid, struct zs_error *err);

/* The means, row by row, halves rounded away from zero. Pixels without a valid one are `nodata`, and no other is: a
 * mean that is equal to it becomes the next larger number (smaller at the end). `nodata` may be NULL: 0 then, and no
 * mean is changed. */
enum zs_status zs_means_take(const struct zs_means *means, const uint64_t *nodata, uint64_t *values,
                             struct zs_error *err);
