#include "geo/georef.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/bands.h"
#include "geo/conventions.h"
#include "geo/variables.h"

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

struct source {
    const char *convention;
    void (*find)(struct zs_search *search);
};

static enum zs_status find_transform(struct zs_search *search, struct zs_error *err)
{
    static const struct source others[] = {{"gdal:geotransform", zs_gdal_find_transform},
                                           {"spatial:bbox", zs_spatial_find_bbox},
                                           {"OME-NGFF", zs_ome_find_transform},
                                           {"zagg", zs_zagg_find_transform}};
    struct zs_georef *out = search->out;
    zs_spatial_find_transform(search);
    out->transform_by = "spatial:transform";
    if (!out->has_transform) {
        ZS_TRY(zs_cf_find_transform(search, err));
        out->transform_by = "CF";
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0] && !out->has_transform; i++) {
        others[i].find(search);
        out->transform_by = others[i].convention;
    }
    return ZS_OK;
}

static void find_crs(struct zs_search *search)
{
    static const struct source all[] = {{"proj:", zs_proj_find_crs},   {"CF", zs_cf_find_crs},
                                        {"GDAL", zs_gdal_find_crs},    {"proj:epsg", zs_proj_find_epsg},
                                        {"zagg", zs_zagg_find_crs},    {"CF", zs_cf_find_implied_crs}};
    for (size_t i = 0; i < sizeof all / sizeof all[0] && search->out->srs == NULL; i++) {
        all[i].find(search);
        search->out->crs_by = all[i].convention;
    }
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
        search->out->crs_by = from.crs_by;
        from.srs = NULL;
    }
    if (!search->out->has_transform && from.has_transform && search->axes.y >= 0 && search->width > 0 &&
        search->height > 0) {
        const double x = (double)base->array->shape[search->axes.x] / (double)search->width;
        const double y = (double)base->array->shape[search->axes.y] / (double)search->height;
        const double *f = from.transform, t[6] = {f[0], f[1] * x, f[2] * y, f[3], f[4] * x, f[5] * y};
        if (zs_search_take(search, t)) {
            search->out->transform_by = from.transform_by;
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

/* ---- Writing ---- */

struct zs_georef_conventions zs_georef_conventions_of(enum zs_georef_style style)
{
    return (struct zs_georef_conventions){.spatial_proj = style != ZS_GEOREF_CF,
                                          .cf = style != ZS_GEOREF_SPATIAL_PROJ,
                                          .is_default = true,
                                          .mapping_name = ZS_GRID_MAPPING};
}

void zs_georef_conventions_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                enum zs_georef_style style, struct zs_georef_conventions *conventions)
{
    struct zs_scope scope;
    memset(conventions, 0, sizeof *conventions);
    zs_scope_find(hierarchy, node, &scope);
    for (int i = 0; i < scope.sources; i++)
        conventions->spatial_proj = conventions->spatial_proj || zs_spatial_proj_is_declared(scope.source[i].members);
    conventions->cf = zs_cf_is_declared(hierarchy, &scope, axes, &conventions->mapping_name);
    if (!conventions->spatial_proj && !conventions->cf)
        *conventions = zs_georef_conventions_of(style);
}

bool zs_georef_has_registration(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                enum zs_georef_style style, bool has_transform)
{
    struct zs_georef_conventions conventions;
    zs_georef_conventions_find(hierarchy, node, axes, style, &conventions);
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
    if (shared->has_all && (geo->is_brief || !conventions->spatial_proj))
        declared.has_transform = false;
    if (shared->has_all && !conventions->spatial_proj)
        declared.srs = NULL;
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
    struct zs_georef_shared own = {.is_written = conventions->cf && node->path[0] != '\0'};
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
