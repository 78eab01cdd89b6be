/* geo/dimensions.h: the dimensions of an array as GDAL's multidimensional API speaks of them, what kind of axis each is
 * and which array has its coordinates; and its CRS. */
#pragma once

#include <ogr_srs_api.h>

#include "geo/axes.h"

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
 * document does not have them. One request for each dimension at most, where metadata are not consolidated. */
enum zs_status zs_dimensions_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_dimension *dims,
                                  int *count, struct zs_error *err);

/* Writes type and direction of a dimension (either may be "") into the attributes of its variable, in CF's words, where
 * name and attributes do not imply them. Leaves out what CF has no word for. */
enum zs_status zs_dimension_describe(struct zs_hierarchy *hierarchy, const struct zs_node *variable, const char *type,
                                     const char *direction, struct zs_error *err);

/* Makes attributes of a node that call a dimension by its name (_ARRAY_DIMENSIONS, and those of conventions) call it by
 * another. */
enum zs_status zs_dimension_rename_attributes(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                              const char *from, const char *to, struct zs_error *err);

/* Like zs_dimension_rename_attributes(), in one attribute, a list of names; what is no list stays. False without
 * memory. */
bool zs_dimension_rename_in(zs_json *attributes, const char *list, const char *from, const char *to);

/* CF units of the elements of a type that counts time ("seconds since 1970-01-01" for datetime64, "seconds" for
 * timedelta64); NULL for all others, and where CF has none. */
const char *zs_time_units(const struct zs_dtype *dtype);

/* ---- Several grid mappings in one group; the CRS of an array without other georeferencing than coordinate variables
 * (array_crs.c) ---- */

/* Whether a grid mapping variable is of that CRS; NULL: of none. */
bool zs_mapping_has_crs(const struct zs_node *mapping, OGRSpatialReferenceH srs);

/* Which grid mappings beside an array may be its own: one of its CRS that is there, or (own NULL) a new one. Asked for
 * usable names in turn. */
struct zs_mapping_choice {
    bool (*may_use)(void *context, const char *name, const struct zs_node *own);
    void *context;
};

/* The name of the first grid mapping beside the array that has that CRS, or can be made and hides none of a group
 * above, of those that `choice` allows (NULL: all): *name is freed with free(). */
enum zs_status zs_array_mapping_find(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                     OGRSpatialReferenceH srs, const struct zs_mapping_choice *choice, char **name,
                                     struct zs_error *err);

/* The CRS of the grid mapping that the array names; NULL: there is none. Released with OSRRelease(). */
OGRSpatialReferenceH zs_array_crs_read(struct zs_hierarchy *hierarchy, const struct zs_node *node);

/* Makes the array name a grid mapping of that CRS (NULL: none): the one that it names if that has it, else one beside
 * it that has, else a new one. Others may name what is there, so that it is not changed. */
enum zs_status zs_array_crs_write(struct zs_hierarchy *hierarchy, const struct zs_node *node, OGRSpatialReferenceH srs,
                                  struct zs_error *err);
