#include "geo/place.h"

#include <string.h>

#include "geo/cf.h"
#include "geo/spatial.h"

void zs_place_style_find(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes, struct zs_place_style *style)
{
    struct zs_scope scope;
    memset(style, 0, sizeof *style);
    zs_scope_find(h, node, &scope);
    for (int i = 0; i < scope.places; i++)
        style->spatial_proj = style->spatial_proj || zs_spatial_proj_is_said(scope.place[i].members);
    style->cf = zs_cf_is_said(h, &scope, axes, &style->mapping_name);
    if (!style->spatial_proj && !style->cf)
        style->spatial_proj = style->cf = style->is_default = true;
}

void zs_place_name_dimensions(struct zs_georef_out *geo, const struct zs_node *node, struct zs_axes axes)
{
    const char *x = zs_dimension_name(node, axes.x), *y = zs_dimension_name(node, axes.y);
    geo->dim_x = x != NULL ? x : "x";
    geo->dim_y = y != NULL ? y : "y";
}

struct zs_georef_out zs_place_out(const struct zs_node *node, struct zs_axes axes, const struct zs_georef *georef)
{
    struct zs_georef_out out = {.has_transform = georef->has_transform,
                                .pixel_is_point = georef->pixel_is_point,
                                .srs = georef->srs,
                                .width = node->array->shape[axes.x],
                                .height = node->array->shape[axes.y]};
    memcpy(out.transform, georef->transform, sizeof out.transform);
    zs_place_name_dimensions(&out, node, axes);
    return out;
}

enum zs_status zs_place_write(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                              const struct zs_place_style *style, const struct zs_georef_out *geo, struct zs_error *err)
{
    static const struct zs_georef_out nothing = {0};
    const bool has_group = node->path[0] != '\0', is_known = geo->srs != NULL || geo->has_transform;
    const bool writes_cf = style->cf && has_group;
    bool says_all = has_group, says_mapping = true;
    if (writes_cf)
        ZS_TRY(zs_cf_write(h, node, axes, style->mapping_name, style->drops_coordinates, geo, &says_all, &says_mapping,
                           err));
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    ZS_TRY(zs_write_spatial_proj(attributes, style->spatial_proj || !says_all ? geo : &nothing, err));
    for (const struct zs_convention *const *c = zs_conventions; *c != NULL; c++)
        if ((*c)->change != NULL)
            ZS_TRY((*c)->change(attributes, ZS_PLACE_ARRAY, geo, err));
    if (writes_cf && is_known && says_mapping)
        return zs_write_grid_mapping_name(attributes, style->mapping_name, err);
    return is_known ? ZS_OK : zs_write_grid_mapping_name(attributes, NULL, err);
}
