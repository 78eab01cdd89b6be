#include "geo/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/cf.h"
#include "geo/conventions.h"
#include "geo/crs.h"
#include "geo/variables.h"

/* Whether the entry in the multiscales, and not the array, declares the georeferencing. */
static bool is_declared_by_entry(const struct zs_scope *scope)
{
    bool is_declared = false;
    for (int i = 0; i < scope->places && !is_declared; i++)
        is_declared = scope->place[i].kind == ZS_PLACE_ENTRY && zs_spatial_is_declared(scope->place[i].members);
    return is_declared && !zs_spatial_is_declared(scope->node->attributes);
}

void zs_place_style_find(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                         struct zs_place_style *style)
{
    struct zs_scope scope;
    memset(style, 0, sizeof *style);
    zs_scope_find(h, node, &scope);
    for (int i = 0; i < scope.places; i++)
        style->spatial_proj = style->spatial_proj || zs_spatial_proj_is_declared(scope.place[i].members);
    style->cf = zs_cf_is_declared(h, &scope, axes, &style->mapping_name);
    style->is_brief = style->cf && is_declared_by_entry(&scope);
    if (!style->spatial_proj && !style->cf)
        style->spatial_proj = style->cf = style->is_default = true;
}

bool zs_place_has_registration(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                               bool has_transform)
{
    struct zs_place_style style;
    zs_place_style_find(h, node, axes, &style);
    return has_transform && style.spatial_proj && zs_dimension_name(node, axes.x) != NULL &&
           zs_dimension_name(node, axes.y) != NULL;
}

void zs_place_name_dimensions(struct zs_georef_out *geo, const struct zs_node *node, struct zs_axes axes)
{
    const char *x = zs_dimension_name(node, axes.x), *y = zs_dimension_name(node, axes.y);
    geo->dim_x = y != NULL ? x : NULL;
    geo->dim_y = x != NULL ? y : NULL;
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

/* Whether CF is enough to see where an array lies, for all. */
static bool is_seen_in_cf(const struct zs_georef_out *geo)
{
    return !geo->has_transform || (zs_has_axes(geo) && geo->width > 1 && geo->height > 1);
}

/* Attributes of the array; says_all and says_mapping: what CF says beside it. */
static enum zs_status write_array(zs_json *attributes, const struct zs_place_style *style,
                                  const struct zs_georef_out *geo, bool says_all, bool says_mapping,
                                  struct zs_error *err)
{
    struct zs_georef_out stated = {0};
    if (geo->brief != NULL && says_all)
        stated.srs = geo->srs;
    else if (style->spatial_proj || !says_all)
        stated = *geo;
    stated.keeps_transform = geo->keeps_transform;
    stated.keeps_srs = geo->keeps_srs;
    ZS_TRY(zs_write_spatial_proj(attributes, &stated, false, err));
    if (stated.has_transform && !stated.keeps_transform && stated.dim_x == NULL)
        ZS_TRY(zs_gdal_transform_write(attributes, geo->transform, err));
    for (const struct zs_convention *const *c = zs_conventions; *c != NULL; c++)
        if ((*c)->change != NULL)
            ZS_TRY((*c)->change(attributes, ZS_PLACE_ARRAY, geo, err));
    if (geo->srs == NULL && !geo->has_transform)
        return zs_write_grid_mapping_name(attributes, style->mapping_name, ZS_MAPPING_NONE, err);
    if (!says_mapping || (geo->keeps_srs && zs_has_word(zs_grid_mapping_name(attributes), style->mapping_name, true)))
        return ZS_OK;
    return zs_write_grid_mapping_name(attributes, style->mapping_name,
                                      geo->brief != NULL ? ZS_MAPPING_COORDINATE : ZS_MAPPING_NAMED, err);
}

enum zs_status zs_place_write_beside(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                     const struct zs_place_style *style, const struct zs_georef_out *geo,
                                     struct zs_place_beside *beside, struct zs_error *err)
{
    const bool has_group = node->path[0] != '\0', writes_cf = style->cf && has_group;
    struct zs_georef_out stated = *geo;
    /* rioxarray looks for a variable of our name where nothing names one. */
    const bool is_brief = writes_cf && style->is_brief && is_seen_in_cf(geo) && geo->srs != NULL &&
                          strcmp(style->mapping_name, ZS_GRID_MAPPING) == 0;
    char *code = is_brief ? zs_crs_to_code(geo->srs) : NULL;
    stated.brief = code; /* NULL of a CRS without one, which is written in full */
    enum zs_status status = ZS_OK;
    if (!beside->is_written) {
        *beside = (struct zs_place_beside){.says_all = has_group, .says_mapping = true};
        if (writes_cf)
            status = zs_cf_write(h, node, axes, style->mapping_name, style->drops_coordinates, &stated,
                                 &beside->says_all, &beside->says_mapping, err);
        beside->is_written = status == ZS_OK;
    }
    zs_json *attributes;
    if (status == ZS_OK)
        status = zs_hierarchy_edit(h, node, &attributes, err);
    if (status == ZS_OK)
        status = write_array(attributes, style, &stated, beside->says_all, writes_cf && beside->says_mapping, err);
    free(code);
    return status;
}

enum zs_status zs_place_write(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                              const struct zs_place_style *style, const struct zs_georef_out *geo, struct zs_error *err)
{
    struct zs_place_beside beside = {.is_written = false};
    return zs_place_write_beside(h, node, axes, style, geo, &beside, err);
}

/* ---- Comparing ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(zs_json_name(*(const zs_json *const *)a), zs_json_name(*(const zs_json *const *)b));
}

/* "name=value" of each, a line. */
static char *print_members(const zs_json *const *members, size_t n)
{
    char *text = zs_strdup("");
    for (size_t i = 0; i < n && text != NULL; i++) {
        char *value = zs_json_print(members[i]);
        char *longer = value != NULL ? zs_format("%s%s=%s\n", text, zs_json_name(members[i]), value) : NULL;
        free(value);
        free(text);
        text = longer;
    }
    return text;
}

char *zs_place_text(const zs_json *attributes)
{
    size_t n = 0;
    const zs_json **members = zs_calloc(zs_json_size(attributes) + 1, sizeof *members);
    if (members == NULL)
        return NULL;
    for (const zs_json *m = zs_json_first(attributes); m != NULL; m = zs_json_next(m))
        if (zs_json_name(m) != NULL && zs_is_place_attribute(zs_json_name(m)))
            members[n++] = m;
    qsort(members, n, sizeof *members, by_name);
    char *text = print_members(members, n);
    free(members);
    return text;
}
