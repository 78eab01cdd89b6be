/* geo/georef.h: where the pixels of an array lie: affine transform, coordinate reference system, geolocation arrays.
 *
 * Sources by their priority (conventions.h; among one priority the table in conventions.c):
 *   1. the `spatial:` and `proj:` conventions, by UUID (FORMATS 4.1-4.4): on the array, on its group, or on the
 * multiscales entry of its group or of the group above that names its group or itself;
 *   2. CF: grid_mapping with one-dimensional coordinate variables or GeoTransform;
 *   3. GDAL's `_CRS` (with coordinate variables, or `gdal:geotransform`);
 *   4. members named spatial: and proj: that nothing declares;
 *   5. leftovers of older proj drafts: `proj:epsg`, and `proj:transform` with a `proj:shape` that is the array's;
 *   6. a `spatial:bbox` where there is no `spatial:transform`: north up, over the array's own shape;
 *   7. OME-NGFF scale and translation (no CRS); WGS 84 where CF coordinates are longitude and latitude in degrees and
 *      nothing else declares a CRS;
 *   8. zagg's `crs`, `resolution` and `bounds` of the group that holds the array;
 *   9. for a coarser level of a multiscales, what is known of the finest level, by the ratio of their sizes.
 * Transform and CRS are searched for apart: a `proj:code` goes well with CF coordinates (EOPF).
 * A transform beside a `spatial:shape` that is not the array's shape is left out, and so is a bbox without area. */
#pragma once

#include <ogr_srs_api.h>

#include "geo/axes.h"
#include "zarr/hierarchy.h"

#define ZS_REGISTRATION_ATTRIBUTE "AREA_OR_POINT" /* "Point" or "Area" */

struct zs_georef {
    bool has_transform;
    double transform[6]; /* GDAL's order: x = t0 + col t1 + row t2, y = t3 + col t4 + row t5; of pixel corners */
    /* The source registered nodes: by spatial:registration, or by an attribute of the array as GDAL has it. */
    bool pixel_is_point;
    bool is_area_declared; /* spatial:registration is "pixel"; else areas are what is usual */
    OGRSpatialReferenceH srs; /* owned; NULL when unknown; traditional GIS axis order is set */
    /* owned paths of two-dimensional coordinate arrays (longitude or x, latitude or y), or NULL; */
    char *geolocation_x;
    /* set together, and only without a transform. Their shape is (rows, columns) of the raster */
    char *geolocation_y;
    /* owned, a sentence to warn of: why there is no CRS, and no transform nor geolocation, where what is there could
     * not be used; or NULL */
    char *no_crs, *no_transform;
};

/* Reads what is known of the array `node`; what is absent, malformed, or contradicts the array's shape, is left out
 * without an error. Fails only when a coordinate variable exists and reading it failed (ZS_IO, ZS_CORRUPT,
 * ZS_NO_MEMORY, ZS_CANCELLED). With axes.y < 0 only the CRS is looked for. */
enum zs_status zs_georef_read(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                              struct zs_georef *georef, struct zs_error *err);
void zs_georef_clear(struct zs_georef *georef);

/* Whether a transform is one that a store keeps: finite, and such that it can be inverted. */
bool zs_transform_is_valid(const double *transform);

/* Whether two transforms put every corner of the raster within a hundredth of a pixel of each other. */
bool zs_transform_is_same(const double *a, const double *b, uint64_t width, uint64_t height);

/* ---- Ground control points (gcps.c). Those that this driver writes are in the attribute `gdal:gcps` of an array:
 * `points`, a list of [pixel, line, x, y, z], and `crs`, a WKT, where there is one. Those of EOPF's Sentinel-1 GRD
 * products (FORMATS 5; the CPM's layout): of a raster in a group `measurements` they are beside that, in
 * `conditions/gcp`: `latitude` and `longitude` in degrees, `height` in metres, for each point; `line` and `pixel`, of
 * the raster, along some of the dimensions of these ---- */

/* More are no control points, but a geolocation. */
#define ZS_MOST_GCPS 65536
#define ZS_GCPS_ATTRIBUTE "gdal:gcps"

struct zs_gcp {
    double pixel, line; /* as the product counts: what GDAL's driver for SAFE takes over unchanged */
    double x, y, z;     /* of a product: degrees east and north on WGS 84, metres; 0 where there is no height */
};

struct zs_gcps {
    struct zs_gcp *list;
    size_t count;
    const char *crs;   /* WKT, X east or right first; NULL: unknown. Borrowed from the node */
    bool is_declared; /* in the array's own attribute; else of a product, whose transform is no georeferencing */
};

/* Reads those of a raster; points that are not finite are left out. None (count 0, no list) where nothing declares any,
 * or that is odd. gcps->list is freed with free(). Fails only where an array is there and reading it fails (ZS_IO,
 * ZS_NO_MEMORY, ZS_CANCELLED). */
enum zs_status zs_gcps_read(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_gcps *gcps,
                            struct zs_error *err);

/* Makes them those that the attributes of an array declare; with count 0 they declare none. */
enum zs_status zs_gcps_write(zs_json *attributes, const struct zs_gcps *gcps, struct zs_error *err);
