/* geo/array_crs.h: the CRS of an array of which nothing else is said of where it lies. Coordinate variables do that. */
#ifndef ZS_GEO_ARRAY_CRS_H
#define ZS_GEO_ARRAY_CRS_H

#include <ogr_srs_api.h>

#include "zarr/hierarchy.h"

/* Makes the array name a grid mapping of that CRS (NULL: none): the one that it names if that has it, else one beside
 * it that has, else a new one. Others may name what is there, so that it is not changed. */
enum zs_status zs_array_crs_write(struct zs_hierarchy *h, const struct zs_node *node, OGRSpatialReferenceH srs,
                                  struct zs_error *err) ZS_MUST_CHECK;

#endif
