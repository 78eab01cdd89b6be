/* geo/gcps.h: ground control points of EOPF's Sentinel-1 GRD products (FORMATS 5; the CPM's layout): of a raster in a
 * group `measurements` they are beside that, in `conditions/gcp`: `latitude` and `longitude` in degrees, `height` in
 * metres, for each point; `line` and `pixel`, of the raster, along some of the dimensions of these. */
#ifndef ZS_GEO_GCPS_H
#define ZS_GEO_GCPS_H

#include "zarr/hierarchy.h"

/* More are no control points, but a geolocation. */
#define ZS_MOST_GCPS 65536

struct zs_gcp {
    double pixel, line; /* as the product counts: what GDAL's driver for SAFE takes over unchanged */
    double x, y, z;     /* degrees east and north on WGS 84, metres; 0 where there is no height */
};

/* Reads those of a raster; points that are not finite are left out. None (*list is NULL) where there is no such group,
 * or it is odd. *list is freed with free(). Fails only where an array is there and reading it fails (ZS_IO,
 * ZS_NO_MEMORY, ZS_CANCELLED). */
enum zs_status zs_gcps_read(struct zs_hierarchy *h, const struct zs_node *node, struct zs_gcp **list, size_t *count,
                            struct zs_error *err) ZS_MUST_CHECK;

#endif
