/* raster/sharing.h: which other arrays use the coordinate variables and the grid mapping of an array that an edit of
 * georeferencing writes. Of raster/update.c. The store is not changed. */
#ifndef ZS_RASTER_SHARING_H
#define ZS_RASTER_SHARING_H

#include "raster/edited.h"

/* Chooses the grid mapping that `one` gets, whose new CRS is in one->at: `own`, the variable that its style names
 * (NULL: none is there, one is made), or another, where with that another raster which does not follow would change:
 * one that names it, one that names none beside a variable of the default name, which rioxarray gives it, or one that
 * has its transform from the GeoTransform in it. */
enum zs_status zs_sharing_choose_mapping(struct zs_hierarchy *h, const struct zs_edits *r, struct zs_edited *one,
                                         const struct zs_node *own, struct zs_error *err) ZS_MUST_CHECK;

/* Sets is_text_shared and is_text_needed of one->at, and the style that `one` then needs. Where arrays of other grids
 * in its group use its grid mapping, a GeoTransform in that would move them, and a rotated one would override their
 * coordinates: `one` states its transform in spatial: instead, where coordinates do not. */
enum zs_status zs_sharing_find_text(struct zs_hierarchy *h, const struct zs_edits *r, struct zs_edited *one,
                                    struct zs_error *err) ZS_MUST_CHECK;

/* Sets is_shared, is_grid_shared and is_fixed of `at`, whose CRS is there: whether arrays in the group of `one` or
 * below, which do not change with it, use the coordinate variable of its Y, of its X, or both, and whether these must
 * keep their values. */
enum zs_status zs_sharing_find_coordinates(struct zs_hierarchy *h, const struct zs_edits *r,
                                           const struct zs_edited *one, struct zs_georef_out *at,
                                           struct zs_error *err) ZS_MUST_CHECK;

#endif
