#include "geo/array_crs.h"

#include <stdlib.h>

#include "geo/cf.h"
#include "geo/crs.h"
#include "geo/variables.h"

/* An array of a group has one CRS, or a few. */
#define MOST_MAPPINGS 1000

static bool has_crs(const struct zs_node *mapping, OGRSpatialReferenceH srs)
{
    OGRSpatialReferenceH own = mapping != NULL ? zs_crs_from_grid_mapping(mapping->attributes, NULL) : NULL;
    const bool is_same = own != NULL && zs_crs_is_same(own, srs);
    if (own != NULL)
        OSRRelease(own);
    return is_same;
}

/* Makes the array name a mapping, unless it does. */
static enum zs_status name_mapping(struct zs_hierarchy *h, const struct zs_node *node, const char *name,
                                   enum zs_mapping how, struct zs_error *err)
{
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    return zs_write_grid_mapping_name(attributes, name, how, err);
}

/* Finds or makes a mapping of that name beside the array: *is_said, unless it is of another CRS. */
static enum zs_status try_name(struct zs_hierarchy *h, const struct zs_node *node, const char *name,
                               OGRSpatialReferenceH srs, bool *is_said, struct zs_error *err)
{
    const struct zs_node *own = zs_sibling(h, node, name);
    const struct zs_georef_out geo = {.srs = srs};
    *is_said = has_crs(own, srs);
    return *is_said || own != NULL ? ZS_OK : zs_grid_mapping_write(h, node, name, &geo, is_said, err);
}

enum zs_status zs_array_crs_write(struct zs_hierarchy *h, const struct zs_node *node, OGRSpatialReferenceH srs,
                                  struct zs_error *err)
{
    const char *named = zs_grid_mapping_name(node->attributes);
    bool is_said = false;
    if (srs == NULL)
        return named != NULL ? name_mapping(h, node, named, ZS_MAPPING_NONE, err) : ZS_OK;
    if (named != NULL && has_crs(zs_sibling(h, node, named), srs))
        return ZS_OK;
    for (int i = 1; i <= MOST_MAPPINGS && !is_said; i++) {
        char *name = i == 1 ? zs_strdup(ZS_GRID_MAPPING) : zs_format(ZS_GRID_MAPPING "_%d", i);
        enum zs_status status = name != NULL ? try_name(h, node, name, srs, &is_said, err) : zs_no_memory(err);
        if (status == ZS_OK && is_said)
            status = name_mapping(h, node, name, ZS_MAPPING_NAMED, err);
        free(name);
        ZS_TRY(status);
    }
    return is_said ? ZS_OK : zs_fail(err, ZS_UNSUPPORTED, "/%s: its group has too many grid mappings", node->path);
}
