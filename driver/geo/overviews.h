/* geo/overviews.h: smaller versions of an array, by the conventions that link them. */
#ifndef ZS_GEO_OVERVIEWS_H
#define ZS_GEO_OVERVIEWS_H

#include "geo/axes.h"

/* Finds the overviews of the array `node`: `multiscales` convention (of its group or its group's group; levels that are
 * groups or arrays), groups named ovr_<N>x beside it as GDAL 3.13 writes them, OME-NGFF 0.5 datasets. A level counts when
 * it is a readable array of the same data type and number of dimensions, whose X and Y are both not larger (one is
 * smaller), whose other dimensions are equal, whose shape is that of its layout entry where that has one, and from
 * which the base is not itself derived (an upsampled level has no overviews of its own that way). Sorted from large to
 * small. *paths is an array of *count owned array paths, freed with zs_paths_free(), NULL when there are none. The base itself
 * may be any level; only smaller ones are its overviews. Nodes that cannot be had are no overviews; ZS_NO_MEMORY only. */
enum zs_status zs_overviews_find(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes, char ***paths,
                                 size_t *count, struct zs_error *err) ZS_MUST_CHECK;
void zs_paths_free(char **paths, size_t count);

/* Whether the array at `node` is itself an overview of another array of the store (and so not listed as a subdataset). */
bool zs_is_overview(struct zs_hierarchy *h, const struct zs_node *node);

#endif
