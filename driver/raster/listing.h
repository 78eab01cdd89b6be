/* raster/listing.h: which arrays of a store are shown as rasters. */
#ifndef ZS_RASTER_LISTING_H
#define ZS_RASTER_LISTING_H

#include "geo/axes.h"

/* Whether GDAL's own Zarr driver cannot read the array (readable here or not): it is sharded, or its chunks have
 * different lengths. */
bool zs_needs_this_driver(const struct zs_node *array);
/* Whether consolidated metadata list such an array below `group`. False without consolidated metadata. */
bool zs_lists_arrays_for_this_driver(struct zs_hierarchy *h, const struct zs_node *group);

/* Finds the arrays below `group` that are shown as rasters, sorted by path: arrays of two dimensions and more, and of
 * HEALPix cells (geo/healpix.h), that are neither overviews nor masks (raster/masks.h) of another array, and that no
 * array of their group names in `coordinates`, `grid_mapping` or `bounds`. If there are none, arrays of one dimension
 * that are no coordinate variables. *rasters is an array of *count (at least 1) borrowed nodes, freed with free().
 * Searches the whole store; of a remote store without consolidated metadata, where each node costs a request, only what
 * the pyramids in the group's attributes name first. ZS_NOT_FOUND where there is no such array, ZS_UNSUPPORTED where
 * one cannot be read, each with the reason. With `unreadable`, that many nodes follow behind the *count which cannot be
 * read (node->array_error says why): arrays of numbers or of anything but text, no coordinate variables, that no other
 * array names. */
enum zs_status zs_rasters_find(struct zs_hierarchy *h, const struct zs_node *group, const struct zs_node ***rasters,
                               size_t *count, size_t *unreadable, struct zs_error *err) ZS_MUST_CHECK;

/* Marks the arrays that another one beside them names in `coordinates`, `grid_mapping` or `bounds`. The nodes are all
 * of a store, in order. */
enum zs_status zs_auxiliary_mark(const struct zs_node *const *nodes, size_t count, bool *marks,
                                 struct zs_error *err) ZS_MUST_CHECK;

#endif
