#include "geo/georef.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/axes.h"
#include "geo/bands.h"
#include "geo/cf.h"
#include "geo/conventions.h"
#include "geo/variables.h"

void zs_georef_conventions_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                struct zs_georef_conventions *conventions)
{
    struct zs_scope scope;
    memset(conventions, 0, sizeof *conventions);
    zs_scope_find(hierarchy, node, &scope);
    for (int i = 0; i < scope.sources; i++)
        conventions->spatial_proj = conventions->spatial_proj || zs_spatial_proj_is_declared(scope.source[i].members);
    conventions->cf = zs_cf_is_declared(hierarchy, &scope, axes, &conventions->mapping_name);
    if (!conventions->spatial_proj && !conventions->cf)
        conventions->spatial_proj = conventions->cf = conventions->is_default = true;
}

bool zs_georef_has_registration(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                bool has_transform)
{
    struct zs_georef_conventions conventions;
    zs_georef_conventions_find(hierarchy, node, axes, &conventions);
    struct zs_georef_out out;
    zs_georef_out_name_dimensions(&out, node, axes);
    return has_transform && conventions.spatial_proj && out.dim_x != NULL;
}

void zs_georef_out_name_dimensions(struct zs_georef_out *geo, const struct zs_node *node, struct zs_axes axes)
{
    const bool is_named = node->array == NULL || !node->array->names_are_implied; /* others look in its document */
    const char *x = is_named ? zs_dimension_name(node, axes.x) : NULL, *y = zs_dimension_name(node, axes.y);
    geo->dim_x = y != NULL ? x : NULL;
    geo->dim_y = x != NULL ? y : NULL;
}

struct zs_georef_out zs_georef_out_make(const struct zs_node *node, struct zs_axes axes, const struct zs_georef *georef)
{
    struct zs_georef_out out = {.has_transform = georef->has_transform,
                                .pixel_is_point = georef->pixel_is_point,
                                .srs = georef->srs,
                                .width = node->array->shape[axes.x],
                                .height = node->array->shape[axes.y]};
    memcpy(out.transform, georef->transform, sizeof out.transform);
    zs_georef_out_name_dimensions(&out, node, axes);
    return out;
}

/* Writes the attributes of the array alone. */
static enum zs_status write_attributes(zs_json *attributes, const struct zs_georef_conventions *conventions,
                                       const struct zs_georef_out *geo, const struct zs_georef_shared *shared,
                                       struct zs_error *err)
{
    struct zs_georef_out declared = *geo;
    const bool is_cf_alone = !conventions->spatial_proj && shared->has_all;
    declared.has_transform = geo->has_transform && !is_cf_alone && !(geo->is_brief && shared->has_all);
    declared.srs = is_cf_alone ? NULL : geo->srs;
    ZS_TRY(zs_write_spatial_proj(attributes, &declared, err));
    ZS_TRY(zs_gdal_members_write(attributes, geo, err));
    if (geo->srs == NULL && !geo->keeps_srs && !geo->has_transform)
        return zs_write_grid_mapping_name(attributes, conventions->mapping_name, ZS_MAPPING_NONE, err);
    if (!shared->is_written || !shared->has_mapping)
        return ZS_OK;
    return zs_write_grid_mapping_name(attributes, conventions->mapping_name,
                                      geo->is_brief ? ZS_MAPPING_COORDINATE : ZS_MAPPING_NAMED, err);
}

enum zs_status zs_georef_write(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                               const struct zs_georef_conventions *conventions, const struct zs_georef_out *geo,
                               struct zs_georef_shared *shared, struct zs_error *err)
{
    const bool has_group = node->path[0] != '\0';
    struct zs_georef_shared own = {.is_written = conventions->cf && has_group, .has_all = has_group};
    struct zs_georef_out written = *geo;
    zs_json *attributes;
    char *code = geo->is_brief && geo->srs != NULL ? zs_crs_to_code(geo->srs) : NULL;
    written.is_brief = code != NULL; /* else the mapping has the whole CRS, or none, and is named for readers of CF */
    free(code);
    if (own.is_written && shared != NULL && shared->is_written)
        own = *shared;
    else if (own.is_written)
        ZS_TRY(zs_cf_write(hierarchy, node, axes, conventions->mapping_name, &written, &own, err));
    if (shared != NULL)
        *shared = own;
    ZS_TRY(zs_hierarchy_edit(hierarchy, node, &attributes, err));
    return write_attributes(attributes, conventions, &written, &own, err);
}

/* ---- Comparing ---- */

char *zs_georef_text(const zs_json *attributes)
{
    struct zs_names items = {0};
    enum zs_status status = ZS_OK;
    for (const zs_json *m = zs_json_first(attributes); m != NULL && status == ZS_OK; m = zs_json_next(m))
        if (zs_is_georef_attribute(zs_json_name(m)))
            status = zs_names_add(&items, zs_metadata_item(zs_json_name(m), m), NULL);
    char *text = status == ZS_OK ? zs_strdup("") : NULL;
    if (items.count > 1)
        zs_names_sort(items.list);
    for (size_t i = 0; i < items.count && text != NULL; i++) {
        char *longer = zs_format("%s%s\n", text, items.list[i]);
        free(text);
        text = longer;
    }
    zs_names_free(items.list);
    return text;
}

/* Attributes that do not go to a new coordinate variable: of how another was stored, and of variables beside it. */
static bool is_left_out(const char *name)
{
    static const char *const names[] = {ZS_AXIS_TYPE,   "missing_value", "bounds",    "climatology",
                                        "coordinates",  "valid_min",     "valid_max", "valid_range",
                                        "actual_range", "NAME",          "CLASS",     NULL};
    return zs_is_one_of(name, names) || name[0] == '_' || name[0] == '\0';
}

enum zs_status zs_write_extra_axis(zs_json *attributes, const struct zs_extra_axis *axis, struct zs_error *err)
{
    for (char *const *item = axis->attributes; item != NULL && *item != NULL; item++) {
        char *name;
        const char *value;
        bool ok = zs_item_split(*item, &name, &value);
        if (name != NULL && !is_left_out(name) && zs_json_get(attributes, name) == NULL)
            ok = zs_json_add_string(attributes, name, value) != NULL;
        free(name);
        if (!ok)
            return zs_fail_memory(err);
    }
    return ZS_OK;
}
