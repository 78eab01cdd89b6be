#include "geo/place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "geo/conventions.h"
#include "geo/coordinates.h"
#include "geo/variables.h"
#include "zarr/name.h"

/* A coordinate of a type that rounds may be off by this part of a step. */
#define ROUNDING 0.001

/* ---- What is there ---- */

static bool has_member(const zs_json *members, const char *prefix)
{
    for (const zs_json *m = zs_json_first(members); m != NULL; m = zs_json_next(m))
        if (zs_json_name(m) != NULL && strncmp(zs_json_name(m), prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

bool zs_has_spatial_members(const zs_json *members)
{
    return has_member(members, "spatial:");
}

bool zs_has_proj_members(const zs_json *members)
{
    return has_member(members, "proj:");
}

const struct zs_node *zs_sibling(struct zs_hierarchy *h, const struct zs_node *node, const char *name)
{
    char *group = name != NULL ? zs_path_parent(node->path) : NULL;
    const struct zs_node *found = NULL;
    if (group == NULL || zs_hierarchy_node_at(h, group, name, &found, NULL) != ZS_OK || found->type != ZS_NODE_ARRAY)
        found = NULL;
    free(group);
    return found != node ? found : NULL;
}

void zs_place_style_find(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes, struct zs_place_style *style)
{
    struct zs_scope scope;
    bool in_own_group;
    memset(style, 0, sizeof *style);
    zs_scope_find(h, node, &scope);
    for (int i = 0; i < scope.places; i++) {
        const zs_json *members = scope.place[i].members;
        /* A size alone, as every multiscales entry of ours has one, says nothing of a place. */
        style->spatial_proj = style->spatial_proj || zs_json_get(members, "spatial:transform") != NULL ||
                              zs_json_get(members, "spatial:bbox") != NULL || zs_has_proj_members(members);
    }
    const struct zs_node *mapping = zs_grid_mapping_find(h, node, &scope, &in_own_group);
    style->mapping_name = mapping != NULL ? zs_path_name(mapping->path) : "spatial_ref";
    style->cf = mapping != NULL || (axes.y >= 0 && zs_coordinate_find(h, node, axes.x) != NULL &&
                                    zs_coordinate_find(h, node, axes.y) != NULL);
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

enum zs_status zs_add_document(struct zs_hierarchy *h, const char *path, zs_json *document, const struct zs_node **node,
                               struct zs_error *err)
{
    struct zs_node *made;
    if (document == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot build the metadata of %s", path);
    ZS_TRY(zs_node_create(path, document, true, &made, err));
    ZS_TRY(zs_hierarchy_add(h, made, err));
    *node = made;
    return ZS_OK;
}

enum zs_status zs_slot_find(struct zs_hierarchy *h, const struct zs_node *node, const char *name,
                            bool (*is_kind)(const struct zs_node *found, const char *name), struct zs_slot *slot,
                            struct zs_error *err)
{
    *slot = (struct zs_slot){0};
    if (!zs_is_node_name(name))
        return ZS_OK;
    char *group = zs_path_parent(node->path);
    char *path = group != NULL ? zs_path_join(group, name) : NULL;
    free(group);
    if (path == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    enum zs_status status = zs_hierarchy_occupant(h, path, &slot->own, err);
    const bool is_other = status == ZS_INVALID || status == ZS_UNSUPPORTED; /* a zarr.json, but none that we know */
    slot->is_usable = status == ZS_OK && (slot->own == NULL || (is_kind != NULL && slot->own != node &&
                                                                slot->own->type == ZS_NODE_ARRAY && is_kind(slot->own, name)));
    if (slot->is_usable) {
        slot->path = path;
        return ZS_OK;
    }
    free(path);
    slot->own = NULL;
    return is_other ? ZS_OK : status;
}

/* ---- Grid mapping ---- */

/* Takes from a grid mapping variable all that CF puts there: everything but notes. */
static void clear_mapping(zs_json *attributes)
{
    static const char *const kept[] = {"_ARRAY_DIMENSIONS", "long_name", "comment", "description"};
    const zs_json *next;
    for (const zs_json *m = zs_json_first(attributes); m != NULL; m = next) {
        bool keep = false;
        next = zs_json_next(m);
        for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
            keep = keep || strcmp(zs_json_name(m), kept[i]) == 0;
        if (!keep)
            zs_json_remove(attributes, zs_json_name(m));
    }
}

/* A grid mapping variable holds attributes and no data to speak of. */
static bool is_mapping(const struct zs_node *found, const char *name)
{
    (void)name;
    uint64_t elements = 1;
    for (int d = 0; found->array != NULL && d < found->array->ndim; d++)
        elements = found->array->shape[d] > 1 ? 2 : elements;
    return (found->array != NULL && elements == 1) ||
           ((found->array == NULL || found->array->ndim < 2) && zs_is_grid_mapping(found->attributes));
}

/* *is_said: the variable is as it should be. */
static enum zs_status write_mapping(struct zs_hierarchy *h, const struct zs_node *node, const char *name,
                                    const struct zs_georef_out *geo, bool *is_said, struct zs_error *err)
{
    struct zs_slot slot;
    *is_said = true;
    if (zs_sibling(h, node, name) == NULL && geo->srs == NULL && !geo->has_transform)
        return ZS_OK;
    ZS_TRY(zs_slot_find(h, node, name, is_mapping, &slot, err));
    *is_said = slot.is_usable;
    enum zs_status status = ZS_OK;
    if (slot.is_usable && slot.own == NULL)
        status = zs_add_document(h, slot.path, zs_small_array_document(name, ZS_INT64, 0), &slot.own, err);
    free(slot.path);
    if (status != ZS_OK || !slot.is_usable)
        return status;
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(h, slot.own, &attributes, err));
    clear_mapping(attributes);
    return zs_write_grid_mapping(attributes, geo, err);
}

/* ---- Coordinate variables ---- */

/* Whether the coordinate variable can take the values as it is; float32 gets them in `narrow`. */
static bool can_hold(const struct zs_node *c, const double *values, uint64_t n, float **narrow)
{
    *narrow = NULL;
    if (c->array == NULL || zs_json_get(c->attributes, "scale_factor") != NULL || zs_json_get(c->attributes, "add_offset") != NULL)
        return false;
    if (c->array->dtype.type == ZS_FLOAT64)
        return true;
    if (c->array->dtype.type != ZS_FLOAT32)
        return false;
    float *f = zs_calloc((size_t)n, sizeof *f);
    const double step = n > 1 ? fabs(values[1] - values[0]) : fabs(values[0]);
    bool fits = f != NULL;
    for (uint64_t i = 0; i < n && fits; i++) {
        f[i] = (float)values[i];
        fits = fabs((double)f[i] - values[i]) <= ROUNDING * step;
    }
    if (!fits) {
        free(f);
        return false;
    }
    *narrow = f;
    return true;
}

/* A float64 variable in the place of one that cannot hold the values, or of none; attributes are kept but for how numbers
 * were packed. */
static enum zs_status replace_axis(struct zs_hierarchy *h, const char *path, const struct zs_node *old, const char *name,
                                   uint64_t n, const double *values, const struct zs_node **out, struct zs_error *err)
{
    static const char *const packing[] = {"scale_factor", "add_offset", "_FillValue", "missing_value", "valid_range"};
    zs_json *document = zs_small_array_document(name, ZS_FLOAT64, n);
    if (document != NULL && old != NULL && old->attributes != NULL) {
        zs_json *attributes = zs_json_set(document, "attributes", zs_json_copy(old->attributes));
        for (size_t i = 0; i < sizeof packing / sizeof packing[0]; i++)
            zs_json_remove(attributes, packing[i]);
    }
    /* Where no node was there may be chunks that a process left when it was killed. */
    char *left = zs_path_join(path, old == NULL ? "c" : "");
    enum zs_status status = left != NULL ? ZS_OK : zs_no_memory(err);
    if (status == ZS_OK && !(old == NULL && zs_hierarchy_is_new(h)))
        status = zs_store_remove_tree(zs_hierarchy_store(h), left, err);
    free(left);
    if (status != ZS_OK && status != ZS_UNSUPPORTED) {
        zs_json_free(document);
        return status;
    }
    ZS_TRY(zs_add_document(h, path, document, out, err));
    return zs_write_small_array(zs_hierarchy_store(h), *out, true, values, err);
}

static enum zs_status write_values(struct zs_hierarchy *h, const struct zs_slot *slot, const char *name, const double *values,
                                   uint64_t n, const struct zs_node **coordinate, struct zs_error *err)
{
    float *narrow = NULL;
    if (slot->own != NULL && can_hold(slot->own, values, n, &narrow)) {
        const void *elements = narrow != NULL ? (const void *)narrow : values;
        const enum zs_status status = zs_write_small_array(zs_hierarchy_store(h), slot->own, false, elements, err);
        free(narrow);
        *coordinate = slot->own;
        if (status == ZS_OK || status == ZS_IO || status == ZS_NO_MEMORY || status == ZS_CANCELLED)
            return status;
    }
    return replace_axis(h, slot->path, slot->own, name, n, values, coordinate, err);
}

/* Units and names as the CRS has them; those that are not known any more go. */
static enum zs_status describe_axis(struct zs_hierarchy *h, const struct zs_node *c, const struct zs_georef_out *geo, bool is_x,
                                    struct zs_error *err)
{
    zs_json *attributes;
    bool is_degrees;
    ZS_TRY(zs_hierarchy_edit(h, c, &attributes, err));
    zs_cf_axis(attributes, &is_degrees);
    if (geo->srs != NULL || is_degrees) {
        zs_json_remove(attributes, "units");
        zs_json_remove(attributes, "standard_name");
    }
    return zs_write_coordinate(attributes, geo, is_x, err);
}

/* Whether an array is the coordinate variable of the dimension that is called as it is (CF 1.3). */
static bool is_coordinate(const struct zs_node *found, const char *name)
{
    const char *dimension = zs_dimension_name(found, 0);
    return found->array != NULL && found->array->ndim == 1 && dimension != NULL && strcmp(dimension, name) == 0;
}

static enum zs_status write_slot(struct zs_hierarchy *h, const struct zs_slot *slot, const char *name, const struct zs_georef_out *geo,
                                 bool is_x, struct zs_error *err)
{
    const struct zs_node *c = NULL;
    double *values = zs_axis_values(geo, is_x);
    if (values == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate the coordinates of %s", slot->path);
    const enum zs_status status = write_values(h, slot, name, values, is_x ? geo->width : geo->height, &c, err);
    free(values);
    return status == ZS_OK ? describe_axis(h, c, geo, is_x, err) : status;
}

/* *is_said: the coordinate variable is as it should be. */
static enum zs_status write_axis(struct zs_hierarchy *h, const struct zs_node *node, int dim, const struct zs_georef_out *geo,
                                 bool is_x, bool drops, bool *is_said, struct zs_error *err)
{
    const char *name = zs_dimension_name(node, dim);
    const uint64_t n = is_x ? geo->width : geo->height;
    const bool wants = zs_has_axes(geo);
    struct zs_slot slot;
    *is_said = true;
    if (!wants && (!zs_is_node_name(name) || zs_sibling(h, node, name) == NULL))
        return ZS_OK;
    ZS_TRY(zs_slot_find(h, node, name, is_coordinate, &slot, err));
    if (slot.own != NULL && slot.own->array->shape[0] != n) /* of a dimension that has another length elsewhere */
        slot.is_usable = false;
    *is_said = slot.is_usable || !wants;
    enum zs_status status = ZS_OK;
    if (slot.is_usable && n > 0 && wants)
        status = write_slot(h, &slot, name, geo, is_x, err);
    else if (slot.is_usable && slot.own != NULL && (geo->has_transform || drops))
        status = zs_hierarchy_remove(h, slot.path, err);
    else if (slot.is_usable && slot.own != NULL)
        status = describe_axis(h, slot.own, geo, is_x, err);
    free(slot.path);
    return status;
}

/* ---- The array ---- */

/* GDAL's own attributes of before the conventions: kept in step where they are. */
static bool write_gdal_members(zs_json *attributes, const struct zs_georef_out *geo)
{
    bool ok = true;
    if (zs_json_get(attributes, "gdal:geotransform") != NULL) {
        zs_json_remove(attributes, "gdal:geotransform");
        zs_json *list = geo->has_transform ? zs_json_add_array(attributes, "gdal:geotransform") : NULL;
        for (int i = 0; i < 6 && geo->has_transform; i++)
            ok = ok && zs_json_add_double(list, NULL, geo->transform[i]) != NULL;
    }
    if (zs_json_get(attributes, "_CRS") != NULL) {
        zs_json_remove(attributes, "_CRS");
        zs_json *mapping = zs_json_new_object();
        struct zs_error ignored;
        struct zs_georef_out crs = *geo;
        crs.has_transform = false;
        if (geo->srs != NULL && mapping != NULL && zs_write_grid_mapping(mapping, &crs, &ignored) == ZS_OK &&
            zs_json_get(mapping, "crs_wkt") != NULL)
            ok = ok && zs_json_add(zs_json_add_object(attributes, "_CRS"), "wkt", zs_json_copy(zs_json_get(mapping, "crs_wkt"))) != NULL;
        zs_json_free(mapping);
    }
    return ok;
}

enum zs_status zs_place_write(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                              const struct zs_place_style *style, const struct zs_georef_out *geo, struct zs_error *err)
{
    static const struct zs_georef_out nothing = {0};
    const bool has_group = node->path[0] != '\0', is_known = geo->srs != NULL || geo->has_transform;
    const bool writes_cf = style->cf && has_group;
    bool says_y = true, says_x = true, says_mapping = true;
    if (writes_cf) {
        ZS_TRY(write_axis(h, node, axes.y, geo, false, style->drops_coordinates, &says_y, err));
        ZS_TRY(write_axis(h, node, axes.x, geo, true, style->drops_coordinates, &says_x, err));
        ZS_TRY(write_mapping(h, node, style->mapping_name, geo, &says_mapping, err));
    }
    const bool says_all = has_group && says_y && says_x && says_mapping;
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    ZS_TRY(zs_write_spatial_proj(attributes, style->spatial_proj || !says_all ? geo : &nothing, err));
    bool ok = write_gdal_members(attributes, geo);
    if (writes_cf && is_known && says_mapping) {
        ZS_TRY(zs_write_grid_mapping_name(attributes, style->mapping_name, err));
    } else if (!is_known) {
        ZS_TRY(zs_write_grid_mapping_name(attributes, NULL, err));
    }
    return ok ? ZS_OK : zs_no_memory(err);
}
