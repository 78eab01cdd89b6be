/* geo/attributes.h: what GDAL's multidimensional API shows of a node: its attributes, its dimensions, and its CRS. */
#pragma once

#include <ogr_srs_api.h>

#include "geo/bands.h"
#include "geo/cf_time.h"

enum zs_attribute_kind {
    ZS_ATTRIBUTE_TEXT,
    ZS_ATTRIBUTE_INT32,
    ZS_ATTRIBUTE_INT64,
    ZS_ATTRIBUTE_UINT64, /* whole numbers, of which one is above INT64_MAX and none below 0 */
    ZS_ATTRIBUTE_DOUBLE,
    ZS_ATTRIBUTE_JSON /* all else, as its JSON text: objects, lists of several kinds or of none, booleans, null */
};

/* The kind of an attribute: of its value, or that which holds all values of a list. */
enum zs_attribute_kind zs_attribute_kind_of(const zs_json *attribute, bool *is_list);
/* A number, or a text "NaN", "Infinity" or "-Infinity", for which JSON has no word. */
bool zs_attribute_double(const zs_json *value, double *number);
/* Whether GDAL shows the attribute in another way: as nodata, scale, offset or unit of these properties, as dimensions,
 * or with has_srs as the CRS. */
bool zs_attribute_is_elsewhere(const struct zs_node *node, const char *name,
                               const struct zs_band_properties *properties, bool has_srs);

/* ---- Changing: in memory, in the store at the flush of the hierarchy ---- */

/* Sets the attribute of that name to a copy of a value, in the position that it has. */
enum zs_status zs_attribute_write(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name,
                                  const zs_json *value, struct zs_error *err);
/* Removes one; that there is none is fine. */
enum zs_status zs_attribute_remove(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name,
                                   struct zs_error *err);
bool zs_attribute_exists(const struct zs_node *node, const char *name);

/* Makes properties `which` (ZS_BAND_...) those of an array for all its elements, as zs_write_band_properties() and
 * zs_write_nodata() do. */
enum zs_status zs_properties_write(struct zs_hierarchy *hierarchy, const struct zs_node *array,
                                   const struct zs_band_properties *properties, unsigned which, struct zs_error *err);

/* Whether attributes declare missing elements, rather than the fill value alone. */
bool zs_declares_nodata(const struct zs_node *node);

/* Whether attributes name a CRS, which zs_attribute_is_elsewhere() leaves out with has_srs. */
bool zs_names_srs(const struct zs_node *node);

/* The list of codecs of an array as JSON text; freed with free(), NULL without memory or where there is none. */
char *zs_codecs_text(const struct zs_node *node);

/* ---- Dimensions, what kind of axis each is and which array has its coordinates (dimensions.c) ---- */

struct zs_dimension {
    const char *name; /* borrowed from the node; NULL where it has none */
    uint64_t size;
    /* "HORIZONTAL_X", "HORIZONTAL_Y", "VERTICAL", "TEMPORAL"; "EAST", "NORTH", "UP", "DOWN", "FUTURE"; "" where it is
     * unknown */
    const char *type, *direction;
    /* The array of this dimension alone that is called as it is, of numbers or of text, readable or not; it may be the
     * node itself. In its group, and in consolidated stores (where looking costs nothing) in those above. NULL where
     * there is none. */
    const struct zs_node *variable;
};

/* The dimensions of an array that can be read, or of one of text: `dims` has room for ZS_MAX_NDIM. ZS_INVALID where its
 * document does not have them. Where metadata are not consolidated, one request for each dimension and
 * each group in which its variable may be. */
enum zs_status zs_dimensions_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_dimension *dims,
                                  int *count, struct zs_error *err);

/* Writes the type of a dimension as the CF `axis` of its variable, where name and attributes do not imply it. */
enum zs_status zs_dimension_describe(struct zs_hierarchy *hierarchy, const struct zs_node *variable, const char *type,
                                     struct zs_error *err);

/* Makes the attributes of an array that list its dimensions (_ARRAY_DIMENSIONS, spatial:dimensions) call one by another
 * name. */
enum zs_status zs_dimension_rename_attributes(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                              const char *from, const char *to, struct zs_error *err);

/* ---- The CRS of a new array, and of one without other georeferencing than coordinate variables ---- */

/* The CRS that the array itself declares, or the grid mapping that it names; NULL: there is none. Released with
 * OSRRelease(). */
OGRSpatialReferenceH zs_array_crs_read(struct zs_hierarchy *hierarchy, const struct zs_node *node);

/* Gives an array a CRS (NULL: none). One that is_new names the grid mapping `spatial_ref` beside it, which is made
 * where nothing is called so here or in a group above; where that is of another CRS, and of others, `proj:` declares
 * it. */
enum zs_status zs_array_crs_write(struct zs_hierarchy *hierarchy, const struct zs_node *node, OGRSpatialReferenceH srs,
                                  bool is_new, struct zs_error *err);
