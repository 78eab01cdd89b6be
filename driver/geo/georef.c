#include "geo/georef.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "geo/cf.h"
#include "geo/conventions.h"

void zs_transform_shift(double *transform, double columns, double rows)
{
    transform[0] += columns * transform[1] + rows * transform[2];
    transform[3] += columns * transform[4] + rows * transform[5];
}

bool zs_transform_is_valid(const double *transform)
{
    const double determinant = transform[1] * transform[5] - transform[2] * transform[4];
    for (int i = 0; i < 6; i++)
        if (!isfinite(transform[i]))
            return false;
    return determinant != 0 && isfinite(determinant);
}

bool zs_transform_is_same(const double *a, const double *b, uint64_t width, uint64_t height)
{
    const double tolerance = 0.01 * (fabs(a[1]) + fabs(a[2]) + fabs(a[4]) + fabs(a[5]));
    for (int corner = 0; corner < 4; corner++) {
        const double col = corner & 1 ? (double)width : 0, row = corner & 2 ? (double)height : 0;
        const double dx = a[0] - b[0] + col * (a[1] - b[1]) + row * (a[2] - b[2]);
        const double dy = a[3] - b[3] + col * (a[4] - b[4]) + row * (a[5] - b[5]);
        if (!(fabs(dx) <= tolerance && fabs(dy) <= tolerance))
            return false;
    }
    return true;
}

/* ---- All conventions in turn ---- */

/* False for what is no array with these axes. */
static bool begin_search(struct zs_search *search, struct zs_hierarchy *hierarchy, const struct zs_node *node,
                         struct zs_axes axes, struct zs_georef *out)
{
    *search = (struct zs_search){.hierarchy = hierarchy, .node = node, .axes = axes, .out = out};
    if (node->array == NULL || axes.x < 0 || axes.x >= node->array->ndim || axes.y >= node->array->ndim)
        return false;
    search->width = node->array->shape[axes.x];
    search->height = axes.y >= 0 ? node->array->shape[axes.y] : 1;
    zs_scope_find(hierarchy, node, &search->scope);
    return true;
}

typedef void (*find_fn)(struct zs_search *search);

static enum zs_status find_transform(struct zs_search *search, struct zs_error *err)
{
    static const find_fn others[] = {zs_gdal_find_transform, zs_spatial_find_bbox, zs_ome_find_transform,
                                     zs_zagg_find_transform};
    zs_spatial_find_transform(search);
    if (!search->out->has_transform)
        ZS_TRY(zs_cf_find_transform(search, err));
    for (size_t i = 0; i < sizeof others / sizeof others[0] && !search->out->has_transform; i++)
        others[i](search);
    return ZS_OK;
}

static void find_crs(struct zs_search *search)
{
    static const find_fn all[] = {zs_proj_find_crs,  zs_cf_find_crs,   zs_gdal_find_crs,
                                  zs_proj_find_epsg, zs_zagg_find_crs, zs_cf_find_implied_crs};
    for (size_t i = 0; i < sizeof all / sizeof all[0] && search->out->srs == NULL; i++)
        all[i](search);
}

static enum zs_status read_georef(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                  bool may_inherit, struct zs_georef *georef, struct zs_error *err);

/* Takes what is still unknown from a finer level of the array's pyramid: GDAL 3.13 describes the base array only. */
static enum zs_status inherit_from_base(struct zs_search *search, struct zs_error *err)
{
    const struct zs_node *base = NULL;
    for (int g = 0; g < search->scope.groups && base == NULL; g++) {
        const struct zs_node *group = search->scope.group[g];
        const char *below = zs_path_below(group->path, search->node->path);
        struct zs_layout layout;
        if (below == NULL || !zs_layout_first(group->attributes, &layout) || layout.is_ome)
            continue;
        const int own = zs_layout_find(&layout, below);
        for (int i = 0; i < own && base == NULL; i++)
            base = zs_level_array(search->hierarchy, group, &layout.level[i], search->node);
    }
    if (base == NULL || base == search->node)
        return ZS_OK;
    struct zs_georef from;
    ZS_TRY(read_georef(search->hierarchy, base, search->axes, false, &from, err));
    if (search->out->srs == NULL) {
        search->out->srs = from.srs;
        from.srs = NULL;
    }
    if (!search->out->has_transform && from.has_transform && search->axes.y >= 0 && search->width > 0 &&
        search->height > 0) {
        const double x = (double)base->array->shape[search->axes.x] / (double)search->width;
        const double y = (double)base->array->shape[search->axes.y] / (double)search->height;
        const double *f = from.transform, t[6] = {f[0], f[1] * x, f[2] * y, f[3], f[4] * x, f[5] * y};
        if (zs_search_take(search, t)) {
            search->out->pixel_is_point = from.pixel_is_point;
            search->out->is_area_declared = from.is_area_declared;
        }
    }
    zs_georef_clear(&from);
    return ZS_OK;
}

static enum zs_status read_georef(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                  bool may_inherit, struct zs_georef *georef, struct zs_error *err)
{
    struct zs_search s;
    memset(georef, 0, sizeof *georef);
    if (!begin_search(&s, hierarchy, node, axes, georef))
        return ZS_OK;
    find_crs(&s);
    enum zs_status status = ZS_OK;
    if (axes.y >= 0 && s.width > 0 && s.height > 0)
        status = find_transform(&s, err);
    if (status == ZS_OK && may_inherit && (georef->srs == NULL || !georef->has_transform))
        status = inherit_from_base(&s, err);
    if (status == ZS_OK && axes.y >= 0 && !georef->has_transform)
        zs_cf_find_geolocation(&s);
    georef->pixel_is_point = georef->pixel_is_point ||
                             zs_json_equals(zs_json_get(node->attributes, ZS_REGISTRATION_ATTRIBUTE), "Point");
    georef->is_area_declared = georef->is_area_declared && !georef->pixel_is_point;
    if (georef->srs != NULL) {
        free(georef->no_crs);
        georef->no_crs = NULL;
    }
    if (status != ZS_OK)
        zs_georef_clear(georef);
    return status;
}

enum zs_status zs_georef_read(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                              struct zs_georef *georef, struct zs_error *err)
{
    const size_t failures = zs_hierarchy_failures(hierarchy);
    ZS_TRY(read_georef(hierarchy, node, axes, true, georef, err));
    const enum zs_status status = zs_hierarchy_check_since(hierarchy, failures, err);
    if (status != ZS_OK)
        zs_georef_clear(georef);
    return status;
}

void zs_georef_clear(struct zs_georef *georef)
{
    if (georef->srs != NULL)
        OSRRelease(georef->srs);
    free(georef->no_crs);
    memset(georef, 0, sizeof *georef);
}
