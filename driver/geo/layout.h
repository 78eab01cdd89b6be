/* geo/layout.h: the parts of a raster's layout (raster.h) that are the same whether it is made, changed or given overviews.
 * Internal to the room. */
#ifndef ZS_GEO_LAYOUT_H
#define ZS_GEO_LAYOUT_H

#include "geo/write.h"
#include "zarr/document.h"

/* "a/b", or just one of them when the other is empty. NULL without memory; freed with free(). */
char *zs_path_join(const char *a, const char *b);

/* The document of a small array, one chunk and not compressed: a coordinate variable of `count` elements along the dimension
 * `name`, or with count 0 one that is 0-d and holds its fill value. NULL without memory. */
zs_json *zs_small_array_document(const char *name, enum zs_data_type type, uint64_t count);

/* Writes all values (elements of its type) of a one-dimensional array; `is_new`: there are no chunks of it yet. */
enum zs_status zs_write_small_array(struct zs_store *store, const struct zs_node *node, bool is_new, const void *values,
                                    struct zs_error *err) ZS_MUST_CHECK;

/* Whether X and Y each follow one dimension, so that coordinate variables can say where the pixels are. */
bool zs_has_axes(const struct zs_georef_out *geo);

/* Coordinates of the pixel centres along X or Y; freed with free(), NULL without memory. */
double *zs_axis_values(const struct zs_georef_out *geo, bool is_x);

/* The same place at another resolution: of as many pixels as `width` and `height` say. */
struct zs_georef_out zs_georef_at_size(const struct zs_georef_out *geo, uint64_t width, uint64_t height);

/* A shard larger than a small overview is cut to what is needed of it: whole chunks. */
uint64_t zs_fitting_shard(uint64_t shard, uint64_t chunk, uint64_t size);

#endif
