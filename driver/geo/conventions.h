/* geo/conventions.h: the conventions by which stores georeference arrays, each in a file of its own.
 * A new one is one file, its functions at the end of this one, its attributes in conventions.c, and where it has a
 * transform or a CRS an entry of the lists in georef.c. Internal to the core. */
#pragma once

#include <cpl_error.h>

#include "geo/georef.h"

struct zs_healpix;

/* ---- Where members that speak of an array may stand: on itself, its groups, and the multiscales entries that name it
 * (conventions.c). Sources: zarr-conventions-spec (registration), proj, spatial, multiscales (FORMATS 4.1-4.4) ---- */

/* ASCII only: attribute values of conventions are ASCII, and tolower() depends on the locale. */
bool zs_equals_ignoring_case(const char *a, const char *b);

/* Walks a list of names separated by white space: copies the next one (cut at capacity) and returns the rest, or NULL
 * at its end. */
const char *zs_next_word(const char *list, char *word, size_t capacity);
/* Whether a list of words (NULL: none) has a name; with_keys: also as a key of CF's long form, "crs: x y". */
bool zs_has_word(const char *list, const char *name, bool with_keys);

/* Groups looked at above an array: its own, and as many above as a pyramid's nested assets need; then the root, where
 * some writers declare the conventions of the whole store. More would cost requests. */
#define ZS_MAX_GROUPS 4

struct zs_scope_source {
    const zs_json *members;
    const struct zs_node *group; /* NULL: these are the array's own attributes */
    bool is_entry;               /* they are the entry in the group's multiscales that names the array or its group */
    bool has_layout;             /* the group's attributes: they hold for the base level of its pyramid ... */
    bool is_base;                /* ... and the array is of that level */
};

/* Where the members of the conventions about one array may stand, the most specific first. */
struct zs_scope {
    const struct zs_node *node;
    struct zs_scope_source source[1 + 2 * ZS_MAX_GROUPS];
    int sources;
    const struct zs_node *group[ZS_MAX_GROUPS]; /* nearest first */
    int groups;
};
void zs_scope_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_scope *scope);

/* Member `name` of source number `source`, or of those less specific: a multiscales entry leaves to its group what is
 * common to all, and speaks of its own members alone. */
const zs_json *zs_scope_inherited(const struct zs_scope *scope, int source, const char *name);

/* How many groups up a path leads (CF 2.7: "name", "./name", "../name"), -1: to the root. *path becomes the rest. */
int zs_groups_up(const char **path);
/* A named variable in the nearest of the scope's groups that has it, or the one at a path (CF 2.7) from `from`, the
 * group whose attribute has the name (NULL: the array's own group); NULL when there is none. */
const struct zs_node *zs_scope_array(struct zs_hierarchy *hierarchy, const struct zs_scope *scope,
                                     const struct zs_node *from, const char *name);

/* ---- Coordinate reference systems from texts and numbers, through OSR (crs.c). Nothing here prints, and GDAL's last
 * error is as it was before: metadata with an unknown CRS are no error ---- */

/* Keeps GDAL quiet between begin and end, and puts back its last error. */
struct zs_quiet {
    CPLErr type;
    CPLErrorNum number;
    char *message;
};
void zs_quiet_begin(struct zs_quiet *quiet);
void zs_quiet_end(struct zs_quiet *quiet);

/* Each returns a CRS that the caller releases with OSRRelease(), in traditional GIS axis order, or NULL. */
OGRSpatialReferenceH zs_crs_from_code(const char *code);          /* "EPSG:32633", "IAU_2015:30100" */
OGRSpatialReferenceH zs_crs_from_epsg(int64_t code);
OGRSpatialReferenceH zs_crs_from_wkt(const char *wkt);            /* WKT 1 or 2 */
OGRSpatialReferenceH zs_crs_from_proj_string(const char *text);   /* "+proj=utm +zone=33" */

/* A member in whatever form it has: code, WKT, PROJJSON or its text, OGC URL or URN; nothing is fetched. */
OGRSpatialReferenceH zs_crs_from_json(const zs_json *member);

/* NULL, no CRS, is the same as NULL alone. */
bool zs_crs_is_same(OGRSpatialReferenceH a, OGRSpatialReferenceH b);
/* "AUTHORITY:CODE" of the CRS when that alone gives the same CRS back; freed with free(), NULL otherwise. */
char *zs_crs_to_code(OGRSpatialReferenceH srs);
/* WKT of the CRS in the given form ("FORMAT=WKT2_2019"), freed with CPLFree(); NULL where it has none. */
char *zs_crs_to_wkt(OGRSpatialReferenceH srs, const char *format);

/* ---- Levels of a pyramid as a group's attributes list them (multiscales.c): the multiscales convention (FORMATS 4.4),
 * the tile matrices of the GeoZarr 0.4 draft, and what other conventions list (OME-NGFF) ---- */

/* Published pyramids have a dozen levels; a longer list is cut. */
#define ZS_MAX_LAYOUT_LEVELS 64

struct zs_layout_level {
    const char *asset;        /* path below the group, of a group or an array; "" is the group itself */
    const char *derived_from; /* NULL where not declared */
    const zs_json *entry;     /* the object that declares the level */
};
struct zs_layout {
    struct zs_layout_level level[ZS_MAX_LAYOUT_LEVELS];
    int count;
    bool is_ome;     /* assets are arrays, entries have coordinateTransformations */
    bool is_foreign; /* not the list of the multiscales convention, which is the one that this driver changes */
    const zs_json *transforms; /* OME: those of the whole image, applied after the level's; else NULL */
    /* Where zs_layout_next() goes on: */
    const zs_json *attributes;
    const zs_json *image; /* the object that was read last */
};

/* Reads the first pyramid of a group's attributes (that of the multiscales convention, then come images of OME and
 * ndpyramid), and the one after it, in its place. False when there is no such one. Strings are borrowed. */
bool zs_layout_first(const zs_json *attributes, struct zs_layout *layout);
bool zs_layout_next(struct zs_layout *layout);

/* For conventions: adds the levels that a list of objects names by their member `asset_name`. False when there are
 * none. */
bool zs_layout_add_levels(struct zs_layout *layout, const zs_json *entries, const char *asset_name);

/* The level that is the array at `path`, or the group that holds it; -1 when none is. `path` is relative to the
 * group. */
int zs_layout_find(const struct zs_layout *layout, const char *path);

/* Whether level `a` is derived from level `b`, directly or through others. */
bool zs_layout_is_derived(const struct zs_layout *layout, int a, int b);

/* The counterpart of the array `like` at a level: the asset itself, or the array of the same name in it; NULL when
 * there is none of as many dimensions. */
const struct zs_node *zs_level_array(struct zs_hierarchy *hierarchy, const struct zs_node *group,
                                     const struct zs_layout_level *level, const struct zs_node *like);

/* Size of a level: that of its array; where that is not there, that in its entry; else by the factor in its name
 * (ovr_<N>x) from the size of `like`, of the base. False when it is not known. */
bool zs_level_size(struct zs_hierarchy *hierarchy, const struct zs_node *group, const struct zs_layout_level *level,
                   const struct zs_node *like, struct zs_axes axes, uint64_t *width, uint64_t *height);

/* Whether a group's name is ovr_<N>x, as GDAL 3.13 and this driver name overviews, or ovr_<N>x_<K>, where that name
 * was taken; *factor is N. */
bool zs_is_overview_group(const char *name, int *factor);

/* ---- The table ---- */

/* An array whose georeferencing is looked for. */
struct zs_search {
    struct zs_hierarchy *hierarchy;
    const struct zs_node *node;
    struct zs_axes axes; /* y is -1 where only the CRS is looked for */
    uint64_t width, height;
    struct zs_scope scope;
    struct zs_georef *out;
};

/* Takes a transform (GDAL's order, pixel corners) as the array's. False when it is none that can be inverted. */
bool zs_search_take(struct zs_search *search, const double *transform);

/* Functions of conventions that read are listed by what they find, in the order of their priority: a transform and a
 * CRS in georef.c, X and Y in axes.c, cells in healpix.c, pyramids in multiscales.c. They leave alone what is absent,
 * malformed, or contradicts the array's shape. */

/* The entry in `zarr_conventions` of a convention that this driver writes. */
struct zs_convention {
    const char *uuid, *name;
};

/* Makes zarr_conventions name the convention once, or not at all, leaving the others: by what readers go by, its UUID
 * (GDAL) and name (rioxarray). The object of the first draft becomes the array that readers of today look for. False
 * without memory. */
bool zs_convention_declare(const struct zs_convention *convention, zs_json *attributes, bool is_wanted);

/* Whether an attribute of this name georeferences its array. */
bool zs_is_georef_attribute(const char *name);

/* Sets a member to a list of numbers; false without memory. */
bool zs_set_doubles(zs_json *object, const char *name, const double *values, size_t n);

/* ---- Conventions, each in the file of its name, and what others use of them ---- */

/* dggs (zarr-conventions/dggs; FORMATS 7.2): what of a sphere's cells an array holds. Of its grids HEALPix is read, by
 * the names "healpix" and "morton" (zagg). */
bool zs_dggs_find_healpix(struct zs_hierarchy *hierarchy, const struct zs_node *node, const struct zs_scope *scope,
                          struct zs_healpix *found);

/* Members of GDAL's own Zarr driver in attributes of the array (FORMATS 4.8): `_CRS`, and `gdal:geotransform` where
 * that is rotated, or of an array that names no dimensions. And `crs`, a WKT that writers of xarray leave on the array
 * or its groups. */
void zs_gdal_find_transform(struct zs_search *search);
void zs_gdal_find_crs(struct zs_search *search);
/* Writes those that an array has: CRS and transform; and the transform of one that names no dimensions, for which other
 * conventions ask. */
enum zs_status zs_gdal_members_write(zs_json *attributes, const struct zs_georef_out *geo, struct zs_error *err);

/* OME-NGFF 0.5 (and 0.4, without `ome`): images as pyramids, coordinate transformations. */
void zs_ome_find_transform(struct zs_search *search);
/* Takes the image after `before` (NULL: the first) of layout->attributes as a pyramid. False: there is none. */
bool zs_ome_take_image(struct zs_layout *layout, const zs_json *before);

/* `proj:` (zarr-conventions; FORMATS 4.2): the CRS. */
void zs_proj_find_crs(struct zs_search *search);
/* The `proj:epsg` of drafts, which EOPF still writes. */
void zs_proj_find_epsg(struct zs_search *search);
/* The CRS that they declare, released with OSRRelease(); NULL: none that can be read. */
OGRSpatialReferenceH zs_proj_crs(const zs_json *members);
/* Whether a member of this name is of the convention, or of its drafts; whether there are such members; removes
 * them. */
bool zs_proj_is_member(const char *name);
bool zs_proj_is_declared(const zs_json *members);
void zs_proj_remove(zs_json *members);
/* Replaces all members of the convention and its drafts by those of a CRS (NULL: none), and declares it where it has
 * any. False without memory. */
bool zs_proj_write(zs_json *attributes, OGRSpatialReferenceH srs);

/* `spatial:` (zarr-conventions; FORMATS 4.3): dimensions, affine transform, bounding box, size. X and Y of an array,
 * false where it does not declare them. */
bool zs_spatial_find_axes(const struct zs_node *node, const struct zs_scope *scope, struct zs_axes *axes);
void zs_spatial_find_transform(struct zs_search *search);
void zs_spatial_find_bbox(struct zs_search *search);
/* Whether a member of this name is of the convention. */
bool zs_spatial_is_member(const char *name);
/* The member that lists the dimensions of an array. */
extern const char zs_spatial_dimensions[];
/* {rows, columns} of the level that members speak of; false where it is undeclared. */
bool zs_spatial_size(const zs_json *members, double size[2]);
/* Whether members declare a transform or bounding box. */
bool zs_spatial_is_declared(const zs_json *members);
/* Whether members declare a transform, a bounding box or a CRS (zs_proj): these go together. A size alone, which every
 * multiscales entry of ours has, georeferences nothing. */
bool zs_spatial_proj_is_declared(const zs_json *members);
/* Gives a multiscales entry its size, and the transform where there is one; the registration where that or the
 * attributes of its group have "node". False without memory. */
bool zs_spatial_write_level(zs_json *entry, const struct zs_georef_out *level, const zs_json *group);

/* Rectilinear products of zagg (FORMATS 7.1): `crs`, `resolution` and `bounds` of the group that holds the arrays. */
bool zs_zagg_find_axes(const struct zs_node *node, const struct zs_scope *scope, struct zs_axes *axes);
void zs_zagg_find_transform(struct zs_search *search);
void zs_zagg_find_crs(struct zs_search *search);
/* Whether attributes of a group are those of a product: a grid, and a CRS. */
bool zs_zagg_is_product(const zs_json *attributes);

/* ---- CF (CF 4, 5; FORMATS 4.5): a grid mapping variable, coordinate variables of X and Y (geo/axes.h),
 * two-dimensional coordinates (cf.c) ---- */

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
