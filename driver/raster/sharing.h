/* raster/sharing.h: which other arrays use the coordinate variables and the grid mapping of an array that an edit of
 * georeferencing writes. Of raster/update.c. The store is not changed. */
#ifndef ZS_RASTER_SHARING_H
#define ZS_RASTER_SHARING_H

#include "raster/edited.h"

/* Whether an array names a grid mapping: as grid_mapping, alone or in the long form "crs: x y", or among its
 * coordinates, as rioxarray does. */
bool zs_names_mapping(const zs_json *attributes, const char *name);

/* Finds out whether an array that does not follow, beside `one` or in a group below, uses its grid mapping, too. */
enum zs_status zs_sharing_has_mapping(struct zs_hierarchy *h, const struct zs_edits *r, const struct zs_edited *one,
                                      bool *shared, struct zs_error *err) ZS_MUST_CHECK;

/* Sets is_text_shared and is_text_needed of one->at, and the style that `one` then needs. Where arrays of other grids
 * in its group name its grid mapping, a GeoTransform in that would move them, and a rotated one would override their
 * coordinates: `one` states its transform in spatial: instead, where coordinates do not. ZS_UNSUPPORTED where the
 * transform is to be removed and is the one of other arrays, too. */
enum zs_status zs_sharing_find_text(struct zs_hierarchy *h, const struct zs_edits *r, struct zs_edited *one,
                                    struct zs_error *err) ZS_MUST_CHECK;

/* Sets is_shared, is_grid_shared and is_fixed of `at`, whose CRS is there: whether arrays in the group of `one` or
 * below, which do not change with it, use the coordinate variable of its Y, of its X, or both, and whether these must
 * keep their values. */
enum zs_status zs_sharing_find_coordinates(struct zs_hierarchy *h, const struct zs_edits *r,
                                           const struct zs_edited *one, struct zs_georef_out *at,
                                           struct zs_error *err) ZS_MUST_CHECK;

#endif
