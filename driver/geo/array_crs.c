#include "geo/dimensions.h"

#include <stdlib.h>

#include "geo/cf.h"
#include "geo/crs.h"
#include "geo/variables.h"

/* An array of a group has one CRS, or a few. */
#define MOST_MAPPINGS 1000

bool zs_mapping_has_crs(const struct zs_node *mapping, OGRSpatialReferenceH srs)
{
    OGRSpatialReferenceH own = zs_crs_from_grid_mapping(mapping->attributes, NULL, NULL);
    const bool is_same = zs_crs_is_same(own, srs);
    if (own != NULL)
        OSRRelease(own);
    return is_same;
}

/* Whether a group above the array's own has an array of that name: one beside the array would hide it from others. */
static bool is_above(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name)
{
    char *own = zs_path_parent(node->path), *above = own != NULL ? zs_path_parent(own) : NULL;
    const bool is_found = above != NULL && zs_nearest_array(hierarchy, above, NULL, name) != NULL;
    free(above);
    free(own);
    return is_found;
}

/* Whether a mapping of that name beside the array is of that CRS, or can be made, as far as `choice` allows it. */
static enum zs_status try_name(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name,
                               OGRSpatialReferenceH srs, const struct zs_mapping_choice *choice, bool *is_usable,
                               struct zs_error *err)
{
    struct zs_slot slot = {.is_usable = false};
    const struct zs_node *own = zs_sibling(hierarchy, node, name);
    if (own == NULL && !is_above(hierarchy, node, name))
        ZS_TRY(zs_slot_find(hierarchy, node, name, NULL, &slot, err));
    *is_usable = own != NULL ? zs_mapping_has_crs(own, srs) : slot.is_usable;
    *is_usable = *is_usable && (choice == NULL || choice->may_use(choice->context, name, own));
    free(slot.path);
    return ZS_OK;
}

enum zs_status zs_array_mapping_find(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                     OGRSpatialReferenceH srs, const struct zs_mapping_choice *choice, char **name,
                                     struct zs_error *err)
{
    for (int i = 1; i <= MOST_MAPPINGS; i++) {
        bool is_usable = false;
        char *tried = i == 1 ? zs_strdup(ZS_GRID_MAPPING) : zs_format(ZS_GRID_MAPPING "_%d", i);
        const enum zs_status status =
            tried != NULL ? try_name(hierarchy, node, tried, srs, choice, &is_usable, err) : zs_fail_memory(err);
        if (status == ZS_OK && is_usable) {
            *name = tried;
            return ZS_OK;
        }
        free(tried);
        ZS_TRY(status);
    }
    return zs_fail(err, ZS_UNSUPPORTED, "/%s: its group has too many grid mappings", node->path);
}

OGRSpatialReferenceH zs_array_crs_read(struct zs_hierarchy *hierarchy, const struct zs_node *node)
{
    const char *named = zs_grid_mapping_name(node->attributes);
    const struct zs_node *mapping = named != NULL ? zs_sibling(hierarchy, node, named) : NULL;
    return mapping != NULL ? zs_crs_from_grid_mapping(mapping->attributes, NULL, NULL) : NULL;
}

/* Makes the array name a mapping, unless it does. */
static enum zs_status name_mapping(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name,
                                   enum zs_mapping how, struct zs_error *err)
{
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(hierarchy, node, &attributes, err));
    return zs_write_grid_mapping_name(attributes, name, how, err);
}

enum zs_status zs_array_crs_write(struct zs_hierarchy *hierarchy, const struct zs_node *node, OGRSpatialReferenceH srs,
                                  struct zs_error *err)
{
    const char *named = zs_grid_mapping_name(node->attributes);
    const struct zs_node *own = named != NULL ? zs_sibling(hierarchy, node, named) : NULL;
    const struct zs_georef_out geo = {.srs = srs};
    bool is_current = true;
    char *name;
    if (srs == NULL && named != NULL)
        ZS_TRY(name_mapping(hierarchy, node, named, ZS_MAPPING_NONE, err));
    if (srs == NULL)
        return named != NULL ? zs_default_mapping_clear(hierarchy, node, err) : ZS_OK;
    if (own != NULL && zs_mapping_has_crs(own, srs))
        return ZS_OK;
    ZS_TRY(zs_default_mapping_name(hierarchy, node, err));
    ZS_TRY(zs_array_mapping_find(hierarchy, node, srs, NULL, &name, err));
    enum zs_status status = ZS_OK;
    if (zs_sibling(hierarchy, node, name) == NULL)
        status = zs_grid_mapping_write(hierarchy, node, name, &geo, &is_current, err);
    if (status == ZS_OK)
        status = name_mapping(hierarchy, node, name, ZS_MAPPING_NAMED, err);
    free(name);
    return status;
}
