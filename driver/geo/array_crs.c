/* The CRS of an array in GDAL's multidimensional API, as far as it is not that of a raster. */
#include "geo/dimensions.h"

#include <stdlib.h>

#include "geo/cf.h"
#include "geo/crs.h"
#include "geo/variables.h"

static bool has_crs(const struct zs_node *mapping, OGRSpatialReferenceH srs)
{
    OGRSpatialReferenceH own = zs_crs_from_grid_mapping(mapping->attributes, NULL, NULL);
    const bool is_same = zs_crs_is_same(own, srs);
    if (own != NULL)
        OSRRelease(own);
    return is_same;
}

/* Whether a new array may name the grid mapping of this driver's name beside it: that has its CRS, or can be made and
 * hides none of a group above. One that arrays have without naming it stays theirs. */
static enum zs_status is_usable(struct zs_hierarchy *hierarchy, const struct zs_node *node, OGRSpatialReferenceH srs,
                                bool *usable, struct zs_error *err)
{
    struct zs_slot slot;
    const struct zs_node *own = zs_sibling(hierarchy, node, ZS_GRID_MAPPING);
    char *group = zs_path_parent(node->path), *above = group != NULL ? zs_path_parent(group) : NULL;
    const bool is_hidden = above != NULL && zs_nearest_array(hierarchy, above, NULL, ZS_GRID_MAPPING) != NULL;
    free(above);
    free(group);
    *usable = own != NULL && has_crs(own, srs) &&
              (zs_hierarchy_is_new(hierarchy) || zs_default_mapping_find(hierarchy, node) == NULL);
    if (own != NULL || is_hidden)
        return ZS_OK;
    ZS_TRY(zs_slot_find(hierarchy, node, ZS_GRID_MAPPING, NULL, &slot, err));
    *usable = slot.is_usable;
    free(slot.path);
    return ZS_OK;
}

OGRSpatialReferenceH zs_array_crs_read(struct zs_hierarchy *hierarchy, const struct zs_node *node)
{
    OGRSpatialReferenceH own = zs_proj_crs(node->attributes);
    const char *named = zs_grid_mapping_name(node->attributes);
    const struct zs_node *mapping = named != NULL && own == NULL ? zs_sibling(hierarchy, node, named) : NULL;
    return mapping != NULL ? zs_crs_from_grid_mapping(mapping->attributes, NULL, NULL) : own;
}

enum zs_status zs_array_crs_write(struct zs_hierarchy *hierarchy, const struct zs_node *node, OGRSpatialReferenceH srs,
                                  bool is_new, struct zs_error *err)
{
    const char *named = zs_grid_mapping_name(node->attributes);
    bool is_named = false, is_current = true;
    zs_json *attributes;
    if (!is_new && srs == NULL && named != NULL)
        return zs_fail(err, ZS_UNSUPPORTED, "array /%s: its CRS is that of the grid mapping %s, which stays",
                       node->path, named);
    if (is_new && srs != NULL)
        ZS_TRY(is_usable(hierarchy, node, srs, &is_named, err));
    if (is_named)
        ZS_TRY(zs_grid_mapping_write(hierarchy, node, ZS_GRID_MAPPING, &(struct zs_georef_out){.srs = srs}, &is_current,
                                     err));
    is_named = is_named && is_current;
    ZS_TRY(zs_hierarchy_edit(hierarchy, node, &attributes, err));
    if (!zs_proj_write(attributes, is_named ? NULL : srs, false))
        return zs_fail_memory(err);
    return is_named ? zs_write_grid_mapping_name(attributes, ZS_GRID_MAPPING, ZS_MAPPING_NAMED, err) : ZS_OK;
}
