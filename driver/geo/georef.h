/* geo/georef.h: where the pixels of an array lie: affine transform, coordinate reference system, geolocation arrays.
 *
 * Sources by their priority (the order is in georef.c):
 *   1. the `spatial:` and `proj:` conventions (FORMATS 4.1-4.4), which `zarr_conventions` need not name: on the array,
 *      on its group, or on the multiscales entry of its group or of the group above that names its group or itself;
 *   2. CF: grid_mapping with one-dimensional coordinate variables or GeoTransform;
 *   3. GDAL's `_CRS` (with coordinate variables, or `gdal:geotransform`), and a WKT in `crs`;
 *   4. leftovers of older proj drafts: `proj:epsg`;
 *   5. a `spatial:bbox` where there is no `spatial:transform`: north up, over the array's own shape;
 *   6. OME-NGFF scale and translation (no CRS);
 *   7. zagg's `crs`, `resolution` and `bounds` of the group that holds the array;
 *   8. WGS 84 where CF coordinates are longitude and latitude in degrees and nothing else declares a CRS;
 *   9. for a coarser level of a multiscales, what is known of the finest level, by the ratio of their sizes.
 * Transform and CRS are searched for apart: a `proj:code` goes well with CF coordinates (EOPF).
 * A transform beside a `spatial:shape` that is not the array's shape is left out, and so is a bbox without area. */
#pragma once

#include <ogr_srs_api.h>

#include "geo/bands.h"

#define ZS_REGISTRATION_ATTRIBUTE "AREA_OR_POINT" /* "Point" or "Area" */

struct zs_georef {
    bool has_transform;
    double transform[6]; /* GDAL's order: x = t0 + col t1 + row t2, y = t3 + col t4 + row t5; of pixel corners */
    /* The file says that pixels are points (spatial:registration, or GDAL's attribute); `transform` is of corners all
     * the same. */
    bool pixel_is_point;
    bool is_area_declared; /* spatial:registration is "pixel"; else areas are what is usual */
    OGRSpatialReferenceH srs; /* owned; NULL when unknown; traditional GIS axis order is set */
    const char *transform_by, *crs_by; /* with these: the convention that counts, to be shown */
    /* Two-dimensional coordinate arrays (longitude or x, latitude or y), borrowed, or NULL; set together, and only
     * without a transform. Their shape is (rows, columns) of the raster. */
    const struct zs_node *geolocation_x, *geolocation_y;
    char *no_crs; /* owned, a sentence to warn of: why what is there could not be used as a CRS; or NULL */
};

/* Reads what is known of the array `node`; what is absent, malformed, or contradicts the array's shape, is left out
 * without an error. Fails only when a coordinate variable exists and reading it failed (ZS_IO, ZS_CORRUPT,
 * ZS_NO_MEMORY). With axes.y < 0 only the CRS is looked for. */
enum zs_status zs_georef_read(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                              struct zs_georef *georef, struct zs_error *err);
void zs_georef_clear(struct zs_georef *georef);

/* Moves a transform by so many pixels along X and along Y: by -0.5 each makes one of pixel centres one of corners. */
void zs_transform_shift(double *transform, double columns, double rows);

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
 * ZS_NO_MEMORY). */
enum zs_status zs_gcps_read(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_gcps *gcps,
                            struct zs_error *err);

/* Makes them those that the attributes of an array declare; with count 0 they declare none. */
enum zs_status zs_gcps_write(zs_json *attributes, const struct zs_gcps *gcps, struct zs_error *err);

/* ---- Writing: `spatial:` and `proj:` for web clients and GDAL 3.13, CF grid_mapping and coordinate variables for
 * xarray and rioxarray, `multiscales` for overviews (FORMATS 4.1-4.5). Each is in the file of its convention.
 *
 * All functions add to attributes that the caller owns, replacing members of the same name, and fail only without
 * memory. A layout that GDAL 3.13, xarray and this driver all understand: the array (`band`, for instance) with the
 * attributes of zs_write_spatial_proj(), zs_write_nodata() and "grid_mapping": "spatial_ref"; beside it `x`, `y` (pixel
 * centres; not when rotated) and the 0-d `spatial_ref`; overviews in groups ovr_2x/band ... ; on the group
 * zs_write_multiscales() with the paths "band", "ovr_2x", "ovr_4x". ---- */

/* The georeferencing of a raster, as it is written. */
struct zs_georef_out {
    bool has_transform;
    double transform[6]; /* GDAL's order, pixel corners */
    bool pixel_is_point;
    OGRSpatialReferenceH srs; /* NULL when unknown; borrowed */
    uint64_t width, height;
    const char *dim_x, *dim_y; /* dimension names; NULL where the array does not name both */
    /* of the array, for multiscales: all dimensions and which are X and Y; ndim 0 is (Y, X) */
    int ndim, x, y;
    /* Of an overview with coordinate variables, whose multiscales entry has the transform: the array has no spatial:,
     * and the grid mapping is the CRS's code alone. GDAL finds all metadata of a raster in the 16 KB that it has read.
     * Not where CF alone would not do for GDAL 3.13, which reads neither a transform from one pixel nor a rotation. */
    bool is_brief;
    bool keeps_transform, keeps_srs; /* it is the one that is there: of it nothing is written */
};

/* Adds spatial:dimensions, spatial:transform, spatial:shape, spatial:bbox, spatial:registration, proj:code (when the
 * CRS has an authority code that stands for it exactly) or proj:wkt2, and the zarr_conventions
 * entries, to the attributes of an array or group. Members of that kind already there are replaced or removed. With
 * pixel_is_point, spatial:registration is "node" and transform and bbox are those of pixel centres, as the convention
 * has it. Members of spatial: stay as they are with keeps_transform, those of proj: with keeps_srs; the former are not
 * written without names of dimensions, which the convention wants. */
enum zs_status zs_write_spatial_proj(zs_json *attributes, const struct zs_georef_out *geo, struct zs_error *err);

struct zs_pyramid_level {
    char *asset; /* below the group */
    uint64_t width, height;
};

/* Adds the `multiscales` convention to a group: levels[0] is the base, with the georeferencing `geo`, from which each
 * level's spatial:transform follows, and each level is derived from the one before. `resampling` may be NULL. With
 * geo->dim_x NULL only the plain multiscales members are written. count 0 removes the convention. */
enum zs_status zs_write_multiscales(zs_json *group_attributes, const struct zs_georef_out *geo,
                                    const struct zs_pyramid_level *levels, size_t count, const char *resampling,
                                    struct zs_error *err);

/* Makes the grid mapping variable `name` the array's: `grid_mapping`, and a word of `coordinates`, without which xarray
 * does not take it for a coordinate by default (decode_coords="all" does), and rioxarray finds no CRS. Or only the
 * latter: of one that is the code of a CRS, from which GDAL 3.13 would make none. Or neither. */
enum zs_mapping { ZS_MAPPING_NONE, ZS_MAPPING_COORDINATE, ZS_MAPPING_NAMED };
enum zs_status zs_write_grid_mapping_name(zs_json *attributes, const char *name, enum zs_mapping how,
                                          struct zs_error *err);

/* Makes a group's arrays along `dimension` HEALPix cells, by the dggs convention: those that the array `coordinate`
 * lists, or where that is NULL all of them. */
struct zs_healpix;
enum zs_status zs_write_dggs(zs_json *attributes, const struct zs_healpix *healpix, const char *dimension,
                             const char *coordinate, struct zs_error *err);

/* ---- The georeferencing of one array in the conventions that its store uses, for raster/ ---- */

/* Which conventions a new raster gets. */
enum zs_georef_style { ZS_GEOREF_ALL, ZS_GEOREF_SPATIAL_PROJ, ZS_GEOREF_CF };

/* The conventions that georeference an array. */
struct zs_georef_conventions {
    bool spatial_proj;       /* members of spatial: and proj: on the array, its groups or multiscales entries */
    bool cf;                 /* a grid mapping, or coordinate variables of X and Y */
    bool is_default;         /* the store uses none, so those of a style */
    const char *mapping_name; /* of the grid mapping variable; borrowed */
};

struct zs_georef_conventions zs_georef_conventions_of(enum zs_georef_style style);

/* Finds what the array's store uses; where it uses nothing, those of the style. `mapping_name` is borrowed from a
 * node. */
void zs_georef_conventions_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                enum zs_georef_style style, struct zs_georef_conventions *conventions);

/* The georeferencing of the array, to be written. Borrows from the arguments. */
struct zs_georef_out zs_georef_out_make(const struct zs_node *node, struct zs_axes axes,
                                        const struct zs_georef *georef);

/* Calls X and Y as the array does, where it names both: georeferencing for another level of a pyramid does not have
 * that level's dimensions yet. */
void zs_georef_out_name_dimensions(struct zs_georef_out *geo, const struct zs_node *node, struct zs_axes axes);

/* Whether spatial: declares the array's registration (AREA_OR_POINT), with a transform or without; else it is a plain
 * attribute (ZS_REGISTRATION_ATTRIBUTE). */
bool zs_georef_has_registration(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                enum zs_georef_style style, bool has_transform);

/* Returns the attributes that georeference an array as a text, to compare arrays by: equal whatever their order, empty
 * when there are none. Leaves out coordinate variables. NULL without memory, freed with free(). */
char *zs_georef_text(const zs_json *attributes);

/* Coordinates and the grid mapping beside an array: written once for all arrays that share them. */
struct zs_georef_shared {
    bool is_written; /* in CF; else nothing is */
    bool has_all, has_mapping; /* they hold what they should: a name may be taken by a variable of another kind */
};

/* Writes it: attributes of the array, and the grid mapping and coordinate variables in its group, made where they are
 * missing, unless *shared has them (NULL: it has not). Where one cannot be made, because its name is invalid or taken,
 * the present node stays and spatial: and proj: declare the georeferencing. Documents change in memory
 * (zs_hierarchy_flush()), values of coordinates in the store. */
enum zs_status zs_georef_write(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                               const struct zs_georef_conventions *conventions, const struct zs_georef_out *geo,
                               struct zs_georef_shared *shared, struct zs_error *err);
