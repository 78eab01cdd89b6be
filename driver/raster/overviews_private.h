/* raster/overviews_private.h: what making and removing overviews share. */
#pragma once

#include "geo/write.h"
#include "raster/overviews.h"

/* Whether an array at the path of a level of the base, ovr_<N>x/<name>, is one, of whatever size: as many
 * dimensions of the base's names, or of those that they have at a level, and of the same data type. */
bool zs_overviews_is_level(const struct zs_node *base, const struct zs_node *node);

/* Brings the multiscales of the pyramid's group up to date in memory (overviews_list.c): adds the levels made[count],
 * which the hierarchy has; with `only_present` leaves out those that are gone. `resampling` may be NULL. */
enum zs_status zs_overviews_list(struct zs_hierarchy *hierarchy, const struct zs_node *base, struct zs_axes axes,
                                 const struct zs_georef_out *geo, const struct zs_node *const *made, size_t count,
                                 bool only_present, const char *resampling, struct zs_error *err);

/* Removes one level ovr_<N>x/<name> at the next flush (overviews_remove.c): its array; what was copied for it, where
 * nothing else may use that; the group, where nothing else is in it. */
enum zs_status zs_overviews_remove_level(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err);
