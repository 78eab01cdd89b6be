/* raster/listing.h: which arrays of a store are pictures. */
#ifndef ZS_RASTER_LISTING_H
#define ZS_RASTER_LISTING_H

#include "geo/axes.h"

/* Whether an array, readable or not, is of a kind that this driver is for, since GDAL's own driver does not read it:
 * sharded, or with chunks of different lengths. */
bool zs_looks_ours(const struct zs_node *array);
/* Whether consolidated metadata list such an array below `group`. False where there are none. */
bool zs_lists_ours(struct zs_hierarchy *h, const struct zs_node *group);

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
