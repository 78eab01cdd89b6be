/* raster/healpix_levels.h: the same cells at coarser orders: half as many pixels along each side, so overviews. */
#ifndef ZS_RASTER_HEALPIX_LEVELS_H
#define ZS_RASTER_HEALPIX_LEVELS_H

#include "geo/healpix.h"

/* Arrays of coarser orders of what `node` holds, finest first, at most one for each order: of its name in groups beside
 * its own that are called by their order (zagg), as far as there is one after the other, and in the levels of a
 * `multiscales` convention. They have the data type and the other dimensions of the array, and lie on the same sphere.
 * Returns their number; the nodes are borrowed. */
size_t zs_healpix_levels_find(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_healpix *healpix,
                              const struct zs_node *levels[ZS_HEALPIX_MAX_ORDER]);

/* Sets marks[i] of each of nodes[count] (all known nodes of a store) that is such a level of another. Nodes that are
 * marked as overviews already are skipped: their levels are those of their base. ZS_NO_MEMORY only. */
enum zs_status zs_healpix_levels_mark(struct zs_hierarchy *h, const struct zs_node *const *nodes, size_t count,
                                      bool *marks, struct zs_error *err) ZS_MUST_CHECK;

#endif
