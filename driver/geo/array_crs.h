/* geo/array_crs.h: grid mappings of which a group has several; the CRS of an array of which nothing else is said of
 * where it lies. Coordinate variables do that. */
#ifndef ZS_GEO_ARRAY_CRS_H
#define ZS_GEO_ARRAY_CRS_H

#include <ogr_srs_api.h>

#include "zarr/hierarchy.h"

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
enum zs_status zs_array_mapping_find(struct zs_hierarchy *h, const struct zs_node *node, OGRSpatialReferenceH srs,
                                     const struct zs_mapping_choice *choice, char **name,
                                     struct zs_error *err) ZS_MUST_CHECK;

/* The CRS of the grid mapping that the array names; NULL: there is none. Released with OSRRelease(). */
OGRSpatialReferenceH zs_array_crs_read(struct zs_hierarchy *h, const struct zs_node *node);

/* Makes the array name a grid mapping of that CRS (NULL: none): the one that it names if that has it, else one beside
 * it that has, else a new one. Others may name what is there, so that it is not changed. */
enum zs_status zs_array_crs_write(struct zs_hierarchy *h, const struct zs_node *node, OGRSpatialReferenceH srs,
                                  struct zs_error *err) ZS_MUST_CHECK;

#endif
