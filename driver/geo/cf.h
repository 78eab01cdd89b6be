/* geo/cf.h: georeferencing by the CF conventions (CF 4, 5; FORMATS 4.5): a grid mapping variable, coordinate variables
 * of X and Y (geo/axes.h), two-dimensional coordinates. Internal to the core. */
#pragma once

#include "geo/conventions.h"

enum zs_status zs_cf_find_transform(struct zs_search *search, struct zs_error *err);
/* The CRS of the grid mapping variable; an empty one counts as none. */
void zs_cf_find_crs(struct zs_search *search);
/* That of a variable that has this driver's name and is named by no array; else WGS 84 of plain degrees. */
void zs_cf_find_implied_crs(struct zs_search *search);

/* Attributes whose words name variables that serve the array and are no pictures; NULL-terminated. */
extern const char *const zs_cf_references[];

/* ---- Grid mappings (cf_grid_mapping.c) ---- */

/* This driver's name for the grid mapping variable, as rioxarray's. */
#define ZS_GRID_MAPPING "spatial_ref"

/* The name of the grid mapping that attributes of an array have, as it stands there; NULL where they have none. */
const char *zs_grid_mapping_name(const zs_json *attributes);

/* The grid mapping variable of the array, or NULL. */
const struct zs_node *zs_grid_mapping_find(struct zs_hierarchy *hierarchy, const struct zs_scope *scope);

/* The variable of this driver's name beside the array, which is the grid mapping of all arrays of a group in which none
 * names any (rioxarray finds it, too); NULL where there is none. */
const struct zs_node *zs_default_mapping_find(struct zs_hierarchy *hierarchy, const struct zs_node *node);

/* Whether that is the array's by itself: no other attribute of the array georeferences it. */
bool zs_is_implied_mapping(struct zs_hierarchy *hierarchy, const struct zs_node *node);

/* CRS of a grid mapping variable: texts and codes, else its grid_mapping_name and parameters (CF appendix F).
 * `xy_units` are the units of the X coordinate variable (NULL: metre). Released with OSRRelease(). NULL where it is
 * none, or where a parameter is absent that CF demands: *lacks is its name then (untouched otherwise; may be NULL). */
OGRSpatialReferenceH zs_crs_from_grid_mapping(const zs_json *attributes, const char *xy_units, const char **lacks);

/* GeoTransform of a grid mapping variable: a text of six numbers, or a list. False where it has none. */
bool zs_parse_geotransform(const zs_json *grid_mapping, double transform[6]);

/* Writes the variable `name` beside the array, and makes it where there is none. *is_current is false when the name
 * belongs to another variable, which stays. */
enum zs_status zs_grid_mapping_write(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name,
                                     const struct zs_georef_out *geo, bool *is_current, struct zs_error *err);

/* Cells of HEALPix as a grid mapping declares them (healpix.c). */
bool zs_cf_find_healpix(struct zs_hierarchy *hierarchy, const struct zs_node *node, const struct zs_scope *scope,
                        struct zs_healpix *found);

/* ---- Both (cf.c) ---- */

/* Whether the array has a grid mapping, or coordinate variables of X and Y; *mapping_name is the name of that which
 * it has or would get, borrowed. */
bool zs_cf_is_declared(struct zs_hierarchy *hierarchy, const struct zs_scope *scope, struct zs_axes axes,
                       const char **mapping_name);

/* Two-dimensional coordinates that `coordinates` names, as the raster's geolocation arrays. */
void zs_cf_find_geolocation(struct zs_search *search);

/* Writes coordinate variables and the grid mapping `mapping_name` beside the array. Without a transform, or with a
 * rotated one, coordinates are removed, unless the transform is kept. Sets has_all and has_mapping. */
enum zs_status zs_cf_write(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                           const char *mapping_name, const struct zs_georef_out *geo, struct zs_georef_shared *written,
                           struct zs_error *err);
