/* geo/dimensions.h: the dimensions of an array as GDAL's multidimensional API speaks of them, what kind of axis each is
 * and which array has its coordinates; and its CRS. */
#pragma once

#include <ogr_srs_api.h>

#include "geo/axes.h"
#include "geo/cf_time.h"

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
