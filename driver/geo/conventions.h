/* geo/conventions.h: the conventions by which stores georeference arrays, each in a file of its own, behind one table.
 * A new one is one file, a line at the end of this one, and a row of zs_conventions[]. Internal to the core: georef.h,
 * band_properties.h and the rooms above go over the table. */
#pragma once

#include "geo/georef.h"
#include "geo/multiscales.h"
#include "geo/scope.h"
#include "geo/write.h"

struct zs_healpix;

/* How much the metadata of a convention count. All conventions are asked for what has the first priority, then all for
 * the second, and so on. Within one priority the order of the table counts. georef.h lists the result. */
enum zs_priority {
    ZS_DECLARED, /* by a convention that `zarr_conventions` declares, by UUID, on the array or above */
    ZS_STATED,   /* in full, for this array, or for the level of a pyramid that it is of */
    ZS_PARTIAL,  /* less than a transform or a CRS; or by drafts; or for a whole group */
    ZS_IMPLIED,  /* by no member, as longitudes and latitudes imply a CRS */
    ZS_PRIORITIES
};

/* An array whose georeferencing is looked for. */
struct zs_search {
    struct zs_hierarchy *hierarchy;
    const struct zs_node *node;
    struct zs_axes axes; /* y is -1 where only the CRS is looked for */
    uint64_t width, height;
    struct zs_scope scope;
    struct zs_georef *out;
};

/* False for what is no array with these axes. */
bool zs_search_begin(struct zs_search *search, struct zs_hierarchy *hierarchy, const struct zs_node *node,
                     struct zs_axes axes, struct zs_georef *out);

/* Takes a transform (GDAL's order, pixel corners) as the array's. False when it is none that can be inverted. */
bool zs_search_take(struct zs_search *search, const double *transform);

/* One convention. What it has not is NULL. */
struct zs_convention {
    /* Its entry in `zarr_conventions`: readers go by the UUID, names and addresses drift. The latter only of what
     * this driver writes. */
    const char *uuid, *name, *schema_url, *spec_url, *description;
    const char *const *repositories; /* of its addresses, which count where an entry has no UUID; NULL-terminated */
    const char *prefix;        /* that all its members begin with */
    const char *const *owned;  /* attributes without a prefix, no plain metadata; NULL-terminated */
    const char *const *georef_members; /* those of `owned` that georeference an array, as all with the prefix do */

    /* ---- Reading. What is absent, malformed, or contradicts the array's shape is left alone; only what cannot be
     * read fails. ---- */

    /* X and Y of an array, false where it does not declare them. */
    bool (*find_axes)(const struct zs_node *node, const struct zs_scope *scope, struct zs_axes *axes);
    /* Set the transform, and the CRS, of s->out, as far as the convention has them at this priority. */
    enum zs_status (*find_transform)(struct zs_search *search, enum zs_priority priority, struct zs_error *err);
    void (*find_crs)(struct zs_search *search, enum zs_priority priority);
    /* Which cells of a sphere the elements are (healpix.h), into *found, which has a sphere set; false where it
     * declares no cells. */
    bool (*find_healpix)(struct zs_hierarchy *hierarchy, const struct zs_node *node, const struct zs_scope *scope,
                         struct zs_healpix *found);
    /* The pyramid of layout->attributes after layout->image (NULL: the first); see zs_layout_next(). */
    bool (*next_layout)(struct zs_layout *layout);
};

/* All conventions. Within one priority the first of them counts. Ends with NULL. */
extern const struct zs_convention *const zs_conventions[];

/* Whether attributes declare the convention: `zarr_conventions` as an array of objects with a uuid, or without one with
 * an address, or as the object keyed by uuid of the first draft. */
bool zs_convention_is_declared(const struct zs_convention *convention, const zs_json *attributes);
/* Whether the array of the scope or any of the groups does. */
bool zs_scope_declares(const struct zs_scope *scope, const struct zs_convention *convention);

/* Makes zarr_conventions name the convention once, or not at all, leaving the others: by all that it is published with,
 * or in_short by what readers go by, its UUID (GDAL) and name (rioxarray). The object of the first draft becomes the
 * array that readers of today look for. False without memory. */
bool zs_convention_declare(const struct zs_convention *convention, zs_json *attributes, bool is_wanted, bool in_short);

/* Whether there are members with the convention's prefix. */
bool zs_convention_has_members(const struct zs_convention *convention, const zs_json *members);

/* Removes these members. */
void zs_convention_remove_members(const struct zs_convention *convention, zs_json *members);

/* Removes the georeferencing of the array that has these attributes. */
void zs_georef_remove(zs_json *attributes);

/* Whether an attribute of this name georeferences its array. */
bool zs_is_georef_attribute(const char *name);

/* ---- Conventions, each in the file of its name, and what others use of them ---- */

/* dggs (zarr-conventions/dggs; FORMATS 7.2): what of a sphere's cells an array holds. Of its grids HEALPix is read, by
 * the names "healpix" and "morton" (zagg). */
extern const struct zs_convention zs_dggs;

/* Members of GDAL's own Zarr driver in attributes of the array (FORMATS 4.8): `_CRS`, and `gdal:geotransform` where
 * that is rotated, or of an array that names no dimensions. */
extern const struct zs_convention zs_gdal_members;
/* Writes those that an array has: CRS and transform; and the transform of one that names no dimensions, for which other
 * conventions ask. */
enum zs_status zs_gdal_members_write(zs_json *attributes, const struct zs_georef_out *geo, struct zs_error *err);

/* OME-NGFF 0.5 (and 0.4, without `ome`): images as pyramids, coordinate transformations. */
extern const struct zs_convention zs_ome;

/* `proj:` (zarr-conventions; FORMATS 4.2): the CRS. */
extern const struct zs_convention zs_proj;
/* The CRS that they declare, released with OSRRelease(); NULL: none that can be read. */
OGRSpatialReferenceH zs_proj_crs(const zs_json *members);
/* Replaces all members of the convention and its drafts by those of a CRS (NULL: none), and declares it where it has
 * any. False without memory. */
bool zs_proj_write(zs_json *attributes, OGRSpatialReferenceH srs, bool is_group);

/* `spatial:` (zarr-conventions; FORMATS 4.3): dimensions, affine transform, bounding box, size. */
extern const struct zs_convention zs_spatial;
#define ZS_SPATIAL_SHAPE "spatial:shape"
#define ZS_SPATIAL_DIMENSIONS "spatial:dimensions"
/* {rows, columns} of the level that members speak of; false where it is undeclared. */
bool zs_spatial_size(const zs_json *members, double size[2]);
/* Whether members declare a transform or bounding box. */
bool zs_spatial_is_declared(const zs_json *members);
/* Whether members declare a transform, a bounding box or a CRS (zs_proj): these go together. A size alone, which every
 * multiscales entry of ours has, georeferences nothing. */
bool zs_spatial_proj_is_declared(const zs_json *members);
/* Gives a multiscales entry its size, and the transform where there is one. False without memory. */
bool zs_spatial_write_level(zs_json *entry, const struct zs_georef_out *level);

/* Rectilinear products of zagg (FORMATS 7.1): `crs`, `resolution` and `bounds` of the group that holds the arrays. */
extern const struct zs_convention zs_zagg;
/* Whether attributes of a group are those of a product: a grid, and a CRS. */
bool zs_zagg_is_product(const zs_json *attributes);
