/* raster/listing.h: which arrays of a store are shown as rasters. */
#ifndef ZS_RASTER_LISTING_H
#define ZS_RASTER_LISTING_H

#include "geo/axes.h"

/* Whether GDAL's own Zarr driver cannot read the array (readable here or not): it is sharded, or its chunks have
 * different lengths. */
bool zs_needs_this_driver(const struct zs_node *array);
/* Whether consolidated metadata list such an array below `group`. False without consolidated metadata. */
bool zs_lists_arrays_for_this_driver(struct zs_hierarchy *h, const struct zs_node *group);

/* The arrays below `group` that are shown as rasters, sorted by path: those of two dimensions and more, and those of
 * HEALPix cells (geo/healpix.h), that are no overviews of another, nor the mask of another (raster/masks.h), and that
 * no other array of their group names in its `coordinates`, `grid_mapping` or `bounds`;
 * where there are none, those of one dimension that are no coordinate variables. *rasters is an array of *count (1 or
 * more) borrowed nodes, freed with free(). All that is in the store is looked at, but for a remote one without
 * consolidated metadata, where each node costs a request: there, only what the pyramids in the group's attributes name
 * first. ZS_NOT_FOUND where there is no such array, ZS_UNSUPPORTED where one cannot be read, each with the reason.
 * Behind the *count are, unless `unreadable` is NULL, so many that cannot be read (node->array_error says why): arrays
 * of numbers or of anything but text, no coordinate variables, that no other array names. */
enum zs_status zs_rasters_find(struct zs_hierarchy *h, const struct zs_node *group, const struct zs_node ***rasters,
                               size_t *count, size_t *unreadable, struct zs_error *err) ZS_MUST_CHECK;

#endif
