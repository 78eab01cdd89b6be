#include "geo/conventions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "geo/attributes.h"
#include "geo/variables.h"

static const char *const known[] = {"dimensions", "transform", "transform_type", "bbox", "shape", "registration", NULL};

bool zs_spatial_size(const zs_json *members, double size[2])
{
    return zs_json_doubles(zs_json_get(members, ZS_SPATIAL_SHAPE), size, 2);
}

/* ---- Dimensions ---- */

#define DIMENSIONS ZS_SPATIAL_DIMENSIONS

static int named_dimension(const struct zs_node *node, const char *name)
{
    for (int i = 0; i < node->array->ndim; i++) {
        const char *ours = zs_dimension_name(node, i);
        if (ours != NULL && zs_dimension_is_of(ours, name))
            return i;
    }
    return -1;
}

/* X and Y as the nearest dimensions that fit the array have them. */
static bool find_axes(const struct zs_node *node, const struct zs_scope *scope, struct zs_axes *found)
{
    for (int p = 0; p < scope->sources; p++) {
        const zs_json *dimensions = zs_json_get(scope->source[p].members, DIMENSIONS);
        const char *first, *second;
        if (zs_json_size(dimensions) != 2 || !zs_json_string(zs_json_at(dimensions, 0), &first) ||
            !zs_json_string(zs_json_at(dimensions, 1), &second))
            continue;
        int y = named_dimension(node, first), x = named_dimension(node, second);
        if (x < 0 || y < 0 || x == y)
            continue;
        if (zs_name_axis(first) == 'X' && zs_name_axis(second) == 'Y') { /* written the wrong way round */
            const int other = x;
            x = y;
            y = other;
        }
        *found = (struct zs_axes){x, y};
        return true;
    }
    return false;
}

/* Whether the array's X and Y are the convention's dimensions; *is_swapped when its [y, x] are our [x, y]. Members
 * without dimensions, or an array without names, are taken as they come. */
static bool dimensions_agree(const struct zs_search *search, const zs_json *dimensions, bool *is_swapped)
{
    const char *x = zs_dimension_name(search->node, search->axes.x),
               *y = zs_dimension_name(search->node, search->axes.y);
    const char *first, *second;
    *is_swapped = false;
    if (x == NULL || y == NULL || !zs_json_string(zs_json_at(dimensions, 0), &first) ||
        !zs_json_string(zs_json_at(dimensions, 1), &second))
        return true;
    /* The convention is [y, x]; one that is plainly written the other way round means the other way round. */
    if (zs_name_axis(first) == 'X' && zs_name_axis(second) == 'Y') {
        const char *other = first;
        first = second;
        second = other;
    }
    if (zs_dimension_is_of(y, first) && zs_dimension_is_of(x, second))
        return true;
    *is_swapped = zs_dimension_is_of(x, first) && zs_dimension_is_of(y, second);
    return *is_swapped;
}

/* ---- Transform ---- */

/* Size of the level that a group's own members speak of: theirs, or that of the base of its pyramid. */
static bool base_size(const struct zs_search *search, const struct zs_scope_source *source, double *height,
                      double *width)
{
    double size[2];
    struct zs_layout layout;
    uint64_t columns, rows;
    if (zs_spatial_size(source->members, size)) {
        *height = size[0];
        *width = size[1];
        return size[0] >= 1 && size[1] >= 1;
    }
    if (!zs_layout_first(source->members, &layout) ||
        !zs_level_size(search->hierarchy, source->group, &layout.level[0], search->node, search->axes, &columns, &rows))
        return false;
    *height = (double)rows;
    *width = (double)columns;
    return true;
}

/* Whether the members of a source can be used: they are of this array's dimensions and of a known kind. */
static bool is_understood(const struct zs_search *search, int source_index, bool *is_swapped)
{
    const char *text;
    if (zs_json_string(zs_scope_inherited(&search->scope, source_index, "spatial:transform_type"), &text) &&
        strcmp(text, "affine") != 0)
        return false;
    return dimensions_agree(search, zs_scope_inherited(&search->scope, source_index, DIMENSIONS), is_swapped);
}

static bool is_node(const zs_json *registration)
{
    return zs_json_equals(registration, "node");
}

/* Takes a transform of the convention's columns and rows. */
static bool take_transform(struct zs_search *search, double *transform, bool is_swapped, const zs_json *registration)
{
    if (is_swapped) {
        const double t1 = transform[1], t4 = transform[4];
        transform[1] = transform[2], transform[2] = t1;
        transform[4] = transform[5], transform[5] = t4;
    }
    if (!zs_search_take(search, transform))
        return false;
    search->out->pixel_is_point = is_node(registration);
    search->out->is_area_declared = zs_json_equals(registration, "pixel");
    return true;
}

/* Takes the transform of a source, in pixels of the array; only_scaled: those of another level, by the ratio
 * of sizes. */
static bool take_spatial(struct zs_search *search, int source_index, bool only_scaled)
{
    const struct zs_scope_source *source = &search->scope.source[source_index];
    double a[6], shape[2];
    bool is_swapped;
    if (!zs_json_doubles(zs_json_get(source->members, "spatial:transform"), a, 6) ||
        !is_understood(search, source_index, &is_swapped))
        return false;
    const zs_json *registration = zs_scope_inherited(&search->scope, source_index, "spatial:registration");
    double t[6] = {a[2], a[0], a[1], a[5], a[3], a[4]};
    if (is_node(registration)) { /* to the corner of the pixel whose centre is given; in pixels of that level */
        t[0] -= (t[1] + t[2]) / 2;
        t[3] -= (t[4] + t[5]) / 2;
    }
    const double width = (double)(is_swapped ? search->height : search->width),
                 height = (double)(is_swapped ? search->width : search->height);
    const bool has_shape = zs_spatial_size(source->members, shape);
    const bool is_other_level = (has_shape && (shape[0] != height || shape[1] != width)) ||
                                (source->has_layout && !source->is_base && !has_shape);
    if (is_other_level) {
        double base_height, base_width;
        if (!only_scaled || !source->has_layout || is_swapped || !base_size(search, source, &base_height, &base_width))
            return false;
        t[1] *= base_width / width;
        t[4] *= base_width / width;
        t[2] *= base_height / height;
        t[5] *= base_height / height;
    } else if (only_scaled) {
        return false;
    }
    return take_transform(search, t, is_swapped, registration);
}

/* Takes the bounding box of a source: a raster whose north is up, all levels of a pyramid over the same
 * ground. Beside a transform a bbox is not used: where that is valid it adds nothing, else it is no better. */
static bool take_bbox(struct zs_search *search, int source_index)
{
    const struct zs_scope_source *source = &search->scope.source[source_index];
    double b[4], shape[2];
    bool is_swapped;
    if (!zs_json_doubles(zs_json_get(source->members, "spatial:bbox"), b, 4) ||
        !is_understood(search, source_index, &is_swapped) ||
        zs_json_typeof(zs_json_get(source->members, "spatial:transform")) != ZS_JSON_NULL)
        return false;
    double east = b[2] - b[0], north = b[3] - b[1];
    if (!(east > 0) || !(north > 0) || !isfinite(east) || !isfinite(north))
        return false;
    const double width = (double)(is_swapped ? search->height : search->width),
                 height = (double)(is_swapped ? search->width : search->height);
    double of_height = height, of_width = width; /* the size that the box is of */
    if (zs_spatial_size(source->members, shape)) {
        if (!source->has_layout && (shape[0] != height || shape[1] != width))
            return false;
        of_height = shape[0];
        of_width = shape[1];
    } else if (source->has_layout && !source->is_base && !base_size(search, source, &of_height, &of_width)) {
        return false;
    }
    const zs_json *registration = zs_scope_inherited(&search->scope, source_index, "spatial:registration");
    if (is_node(registration)) { /* from the centres of the outermost pixels to their edges */
        if (!(of_width > 1) || !(of_height > 1))
            return false;
        const double dx = east / (of_width - 1), dy = north / (of_height - 1);
        b[0] -= dx / 2;
        b[3] += dy / 2;
        east += dx;
        north += dy;
    }
    double t[6] = {b[0], east / width, 0, b[3], 0, -north / height};
    return take_transform(search, t, is_swapped, registration);
}

/* Takes the transform of the first source that has a usable one. */
static bool take_first(struct zs_search *search, bool only_scaled)
{
    for (int p = 0; p < search->scope.sources; p++)
        if (take_spatial(search, p, only_scaled))
            return true;
    return false;
}

static enum zs_status find_transform(struct zs_search *search, enum zs_priority priority, struct zs_error *err)
{
    (void)err;
    if (priority == ZS_DECLARED || priority == ZS_STATED)
        (void)!take_first(search, false);
    if (priority == ZS_STATED && !search->out->has_transform)
        (void)!take_first(search, true);
    for (int p = 0; priority == ZS_PARTIAL && p < search->scope.sources && !search->out->has_transform; p++)
        (void)!take_bbox(search, p);
    return ZS_OK;
}

/* ---- Writing ---- */

/* Origin that the convention wants: the corner, or with node registration the centre of the first pixel. */
static void convention_transform(const struct zs_georef_out *geo, double *transform)
{
    memcpy(transform, geo->transform, 6 * sizeof *transform);
    if (geo->pixel_is_point) {
        transform[0] += (transform[1] + transform[2]) / 2;
        transform[3] += (transform[4] + transform[5]) / 2;
    }
}

static bool add_transform(zs_json *object, const double *transform)
{
    const double order[6] = {transform[1], transform[2], transform[0], transform[4], transform[5], transform[3]};
    return zs_set_doubles(object, "spatial:transform", order, 6);
}

static bool add_shape(zs_json *object, uint64_t height, uint64_t width)
{
    zs_json *a = zs_json_add_array(object, ZS_SPATIAL_SHAPE);
    zs_json_add_uint64(a, NULL, height);
    return zs_json_add_uint64(a, NULL, width) != NULL;
}

static bool add_bbox(zs_json *object, const struct zs_georef_out *geo, const double *transform)
{
    /* To the outer centres with node registration, else to the outer corners. */
    const double less = geo->pixel_is_point ? 1 : 0;
    const double cols = (double)geo->width - less, rows = (double)geo->height - less;
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int corner = 0; corner < 4; corner++) {
        const double col = corner & 1 ? cols : 0, row = corner & 2 ? rows : 0;
        const double at[2] = {transform[0] + col * transform[1] + row * transform[2],
                              transform[3] + col * transform[4] + row * transform[5]};
        for (int i = 0; i < 2; i++) {
            low[i] = fmin(low[i], at[i]);
            high[i] = fmax(high[i], at[i]);
        }
    }
    const double box[4] = {low[0], low[1], high[0], high[1]};
    return zs_set_doubles(object, "spatial:bbox", box, 4);
}

static bool add_dimensions(zs_json *object, const struct zs_georef_out *geo)
{
    zs_json *a = zs_json_add_array(object, DIMENSIONS);
    zs_json_add_string(a, NULL, geo->dim_y);
    return zs_json_add_string(a, NULL, geo->dim_x) != NULL;
}

/* "pixel", which is the default, or "node". */
static bool add_registration(zs_json *object, const struct zs_georef_out *geo)
{
    return zs_json_add_string(object, "spatial:registration", geo->pixel_is_point ? "node" : "pixel") != NULL;
}

/* Replaces all members of the convention by those of `geo`; without a transform, or names of dimensions, there are
 * none. A group names those of arrays that have no names itself. */
static bool write_members(zs_json *attributes, const struct zs_georef_out *geo, bool is_group)
{
    if (geo->keeps_transform)
        return true;
    const zs_json *names = is_group && geo->dim_x == NULL ? zs_json_get(attributes, DIMENSIONS) : NULL;
    const bool is_written = geo->has_transform && (geo->dim_x != NULL || names != NULL);
    for (const char *const *n = known; *n != NULL; n++) {
        char name[40];
        snprintf(name, sizeof name, "spatial:%s", *n);
        if (!is_written || names == NULL || strcmp(name, DIMENSIONS) != 0)
            zs_json_remove(attributes, name);
    }
    bool ok = true;
    if (is_written) {
        double t[6];
        convention_transform(geo, t);
        ok = (names != NULL || add_dimensions(attributes, geo)) && add_transform(attributes, t) &&
             zs_json_add_string(attributes, "spatial:transform_type", "affine") != NULL &&
             add_shape(attributes, geo->height, geo->width) && add_bbox(attributes, geo, t) &&
             add_registration(attributes, geo);
    }
    return ok && zs_convention_declare(&zs_spatial, attributes, is_written, !is_group);
}

enum zs_status zs_write_spatial_proj(zs_json *attributes, const struct zs_georef_out *geo, bool is_group,
                                     struct zs_error *err)
{
    const bool ok =
        write_members(attributes, geo, is_group) && (geo->keeps_srs || zs_proj_write(attributes, geo->srs, is_group));
    return ok ? ZS_OK : zs_fail_memory(err);
}

bool zs_spatial_write_level(zs_json *entry, const struct zs_georef_out *level)
{
    static const char *const names[] = {ZS_SPATIAL_SHAPE, "spatial:transform", "spatial:bbox", "spatial:registration"};
    double t[6];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        zs_json_remove(entry, names[i]);
    if (!add_shape(entry, level->height, level->width))
        return false;
    if (!level->has_transform)
        return true;
    convention_transform(level, t);
    return add_transform(entry, t) && (!level->pixel_is_point || add_registration(entry, level));
}

bool zs_spatial_is_declared(const zs_json *members)
{
    return zs_json_get(members, "spatial:transform") != NULL || zs_json_get(members, "spatial:bbox") != NULL;
}

bool zs_spatial_proj_is_declared(const zs_json *members)
{
    return zs_spatial_is_declared(members) || zs_convention_has_members(&zs_proj, members);
}

static const char *const repositories[] = {"spatial", NULL};

const struct zs_convention zs_spatial = {
    .uuid = "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4",
    .name = "spatial:",
    .schema_url = "https://raw.githubusercontent.com/zarr-conventions/spatial/refs/tags/v1/schema.json",
    .spec_url = "https://github.com/zarr-conventions/spatial/blob/v1/README.md",
    .repositories = repositories,
    .description = "Spatial coordinate information",
    .prefix = "spatial:",
    .find_axes = find_axes,
    .find_transform = find_transform,
};
