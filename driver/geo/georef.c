#include "geo/georef.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>

#include "base/memory.h"
#include "geo/conventions.h"
#include "geo/coordinates.h"
#include "geo/crs.h"
#include "geo/ome.h"

/* What is being found out, and where it is looked for. */
struct search {
    struct zs_hierarchy *h;
    const struct zs_node *node;
    struct zs_axes axes;
    uint64_t width, height;
    struct zs_scope scope;
    struct zs_georef *out;
};

static bool set_transform(struct search *s, const double *t)
{
    const double determinant = t[1] * t[5] - t[2] * t[4];
    for (int i = 0; i < 6; i++)
        if (!isfinite(t[i]))
            return false;
    if (determinant == 0 || !isfinite(determinant))
        return false;
    memcpy(s->out->transform, t, 6 * sizeof *t);
    s->out->has_transform = true;
    return true;
}

/* ---- spatial: ---- */

/* Whether the array's X and Y are the convention's dimensions; *is_swapped when its [y, x] are our [x, y]. Members
 * without dimensions, or an array without names, are taken as they come. */
static bool dimensions_agree(const struct search *s, const zs_json *dimensions, bool *is_swapped)
{
    const char *x = zs_dimension_name(s->node, s->axes.x), *y = zs_dimension_name(s->node, s->axes.y);
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

/* Member `name` at a place, or at those less specific: a multiscales entry leaves to its group what is common to all. */
static const zs_json *inherited(const struct search *s, int place, const char *name)
{
    for (int i = place; i < s->scope.places; i++) {
        const zs_json *member = zs_json_get(s->scope.place[i].members, name);
        if (member != NULL)
            return member;
    }
    return NULL;
}

/* The array of the same name (or the asset itself) at level `level` of a group's layout; NULL when there is none of as many
 * dimensions. */
static const struct zs_node *array_of_level(const struct search *s, const struct zs_node *group,
                                            const struct zs_layout *layout, int level)
{
    const struct zs_node *found;
    if (zs_hierarchy_node_at(s->h, group->path, layout->level[level].asset, &found, NULL) != ZS_OK)
        return NULL;
    if (found->type == ZS_NODE_GROUP &&
        zs_hierarchy_node_at(s->h, found->path, zs_path_name(s->node->path), &found, NULL) != ZS_OK)
        return NULL;
    return found->array != NULL && found->array->ndim == s->node->array->ndim ? found : NULL;
}

/* Size of the level that a group's own members speak of: its spatial:shape, the base level's, or the base array's. */
static bool base_size(const struct search *s, const struct zs_place *place, double *height, double *width)
{
    double shape[2];
    struct zs_layout layout;
    bool is_known = zs_json_doubles(zs_json_get(place->members, "spatial:shape"), shape, 2);
    if (!is_known && zs_layout_first(place->members, &layout)) {
        is_known = zs_json_doubles(zs_json_get(layout.level[0].entry, "spatial:shape"), shape, 2);
        const struct zs_node *base = is_known ? NULL : array_of_level(s, place->group, &layout, 0);
        if (base != NULL) {
            shape[0] = (double)base->array->shape[s->axes.y];
            shape[1] = (double)base->array->shape[s->axes.x];
            is_known = true;
        }
    }
    if (!is_known || !(shape[0] >= 1) || !(shape[1] >= 1))
        return false;
    *height = shape[0];
    *width = shape[1];
    return true;
}

/* What goes before any use of a place's members: that they are of this array's dimensions and of a kind that is known. */
static bool is_understood(const struct search *s, int p, bool *is_swapped)
{
    const char *text;
    if (zs_json_string(inherited(s, p, "spatial:transform_type"), &text) && strcmp(text, "affine") != 0)
        return false;
    return dimensions_agree(s, inherited(s, p, "spatial:dimensions"), is_swapped);
}

/* Takes a transform of the convention's columns and rows. */
static bool take_transform(struct search *s, double *t, bool is_swapped, bool is_node)
{
    if (is_swapped) {
        const double t1 = t[1], t4 = t[4];
        t[1] = t[2], t[2] = t1;
        t[4] = t[5], t[5] = t4;
    }
    if (!set_transform(s, t))
        return false;
    s->out->pixel_is_point = is_node;
    return true;
}

/* Takes the transform of place number `p`, in pixels of the array; only_scaled: those of another level, by the ratio of
 * sizes. */
static bool take_spatial(struct search *s, int p, bool only_scaled)
{
    const struct zs_place *place = &s->scope.place[p];
    double a[6], shape[2];
    bool is_swapped;
    if (!zs_json_doubles(zs_json_get(place->members, "spatial:transform"), a, 6) || !is_understood(s, p, &is_swapped))
        return false;
    const bool is_node = zs_json_equals(inherited(s, p, "spatial:registration"), "node");
    double t[6] = {a[2], a[0], a[1], a[5], a[3], a[4]};
    if (is_node) { /* to the corner of the pixel whose centre is given; in pixels of the level that is spoken of */
        t[0] -= (t[1] + t[2]) / 2;
        t[3] -= (t[4] + t[5]) / 2;
    }
    const double width = (double)(is_swapped ? s->height : s->width), height = (double)(is_swapped ? s->width : s->height);
    const bool has_shape = zs_json_doubles(zs_json_get(place->members, "spatial:shape"), shape, 2);
    const bool is_other_level =
        (has_shape && (shape[0] != height || shape[1] != width)) || (place->has_layout && !place->is_base && !has_shape);
    if (is_other_level) {
        double base_height, base_width;
        if (!only_scaled || !place->has_layout || is_swapped || !base_size(s, place, &base_height, &base_width))
            return false;
        t[1] *= base_width / width;
        t[4] *= base_width / width;
        t[2] *= base_height / height;
        t[5] *= base_height / height;
    } else if (only_scaled) {
        return false;
    }
    return take_transform(s, t, is_swapped, is_node);
}

/* Takes the bounding box of place number `p`: a raster whose north is up, all levels of a pyramid over the same ground. One
 * beside a transform adds nothing where that is believed, and is no better where it is not. */
static bool take_bbox(struct search *s, int p)
{
    const struct zs_place *place = &s->scope.place[p];
    double b[4], shape[2];
    bool is_swapped;
    if (!zs_json_doubles(zs_json_get(place->members, "spatial:bbox"), b, 4) || !is_understood(s, p, &is_swapped) ||
        zs_json_typeof(zs_json_get(place->members, "spatial:transform")) != ZS_JSON_NULL)
        return false;
    double east = b[2] - b[0], north = b[3] - b[1];
    if (!(east > 0) || !(north > 0) || !isfinite(east) || !isfinite(north))
        return false;
    const double width = (double)(is_swapped ? s->height : s->width), height = (double)(is_swapped ? s->width : s->height);
    double of_height = height, of_width = width; /* the size that the box is of */
    if (zs_json_doubles(zs_json_get(place->members, "spatial:shape"), shape, 2)) {
        if (!place->has_layout && (shape[0] != height || shape[1] != width))
            return false;
        of_height = shape[0];
        of_width = shape[1];
    } else if (place->has_layout && !place->is_base && !base_size(s, place, &of_height, &of_width)) {
        return false;
    }
    const bool is_node = zs_json_equals(inherited(s, p, "spatial:registration"), "node");
    if (is_node) { /* from the centres of the outermost pixels to their edges */
        if (!(of_width > 1) || !(of_height > 1))
            return false;
        const double dx = east / (of_width - 1), dy = north / (of_height - 1);
        b[0] -= dx / 2;
        b[3] += dy / 2;
        east += dx;
        north += dy;
    }
    double t[6] = {b[0], east / width, 0, b[3], 0, -north / height};
    return take_transform(s, t, is_swapped, is_node);
}

static bool find_bbox(struct search *s)
{
    for (int p = 0; p < s->scope.places; p++)
        if (take_bbox(s, p))
            return true;
    return false;
}

static bool find_spatial(struct search *s, bool only_scaled)
{
    for (int p = 0; p < s->scope.places; p++)
        if (take_spatial(s, p, only_scaled))
            return true;
    return false;
}

/* Drafts before the spatial convention kept a transform on each array as `proj:transform` (six or nine numbers). Copies of it
 * have wandered to arrays of other sizes, so it counts only with a `proj:shape` that is the array's. */
static bool find_draft_transform(struct search *s)
{
    const zs_json *members = s->node->attributes;
    double a[9], shape[2];
    const zs_json *transform = zs_json_get(members, "proj:transform");
    if (!zs_json_doubles(transform, a, 9) && !zs_json_doubles(transform, a, 6))
        return false;
    if (!zs_json_doubles(zs_json_get(members, "proj:shape"), shape, 2) || shape[0] != (double)s->height ||
        shape[1] != (double)s->width)
        return false;
    const double t[6] = {a[2], a[0], a[1], a[5], a[3], a[4]};
    return set_transform(s, t);
}

/* ---- proj: ---- */

static void find_proj(struct search *s)
{
    for (int p = 0; p < s->scope.places && s->out->srs == NULL; p++)
        s->out->srs = zs_crs_from_proj_members(s->scope.place[p].members);
}

static void find_draft_proj(struct search *s)
{
    for (int p = 0; p < s->scope.places && s->out->srs == NULL; p++) {
        int64_t code;
        if (zs_json_int64(zs_json_get(s->scope.place[p].members, "proj:epsg"), &code))
            s->out->srs = zs_crs_from_epsg(code);
    }
}

/* ---- CF ---- */

bool zs_parse_geotransform(const zs_json *grid_mapping, double t[6])
{
    const zs_json *member = zs_json_get(grid_mapping, "GeoTransform");
    const char *text;
    if (zs_json_doubles(member, t, 6))
        return true;
    if (!zs_json_string(member, &text))
        return false;
    for (int i = 0; i < 6; i++) {
        char *end;
        t[i] = CPLStrtod(text, &end);
        if (end == text)
            return false;
        text = end + strspn(end, " ,\t");
    }
    return *text == '\0';
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

/* Transform from two regular axes of pixel centres. An axis of one element takes the other's step. */
static bool transform_of_axes(const struct zs_regular_axis *x, const struct zs_regular_axis *y, double *t)
{
    if (!x->found || !y->found)
        return false;
    double dx = x->step, dy = y->step;
    if (dx == 0)
        dx = fabs(dy);
    if (dy == 0)
        dy = -fabs(dx);
    if (dx == 0)
        return false;
    t[0] = x->first - dx / 2, t[1] = dx, t[2] = 0;
    t[3] = y->first - dy / 2, t[4] = 0, t[5] = dy;
    return true;
}

/* Remembers a variable that was not looked at. */
static enum zs_status leave_out(struct search *s, const struct zs_node *coordinate, struct zs_error *err)
{
    free(s->out->left_out);
    s->out->left_out = zs_strdup(coordinate->path);
    return s->out->left_out != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
}

static enum zs_status find_cf_transform(struct search *s, const struct zs_node *mapping, bool in_own_group,
                                        struct zs_error *err)
{
    struct zs_regular_axis x, y;
    double centres[6], given[6];
    ZS_TRY(zs_regular_axis_read(s->h, s->node, s->axes.x, &x, err));
    y.found = y.is_too_large = false;
    if (x.coordinate != NULL)
        ZS_TRY(zs_regular_axis_read(s->h, s->node, s->axes.y, &y, err));
    if (x.is_too_large || y.is_too_large)
        ZS_TRY(leave_out(s, x.is_too_large ? x.coordinate : y.coordinate, err));
    /* A grid mapping taken from a group above speaks of that group's rasters. */
    const bool has_given = mapping != NULL && in_own_group && zs_parse_geotransform(mapping->attributes, given);
    const bool is_rotated = has_given && (given[2] != 0 || given[4] != 0);
    /* An axis of one element has no step of its own: the text knows it. */
    if (has_given && x.coordinate != NULL && x.found && x.step == 0)
        x.step = given[1];
    if (has_given && y.found && y.step == 0)
        y.step = given[5];
    const bool has_centres = x.coordinate != NULL && transform_of_axes(&x, &y, centres);
    /* Where both are there and agree the text is the exact one; where they do not, someone cut the raster and only the
     * coordinates followed. Coordinates cannot tell a rotation. */
    if (has_given && (is_rotated || !has_centres || zs_transform_is_same(given, centres, s->width, s->height)) && set_transform(s, given))
        return ZS_OK;
    if (has_centres)
        set_transform(s, centres);
    return ZS_OK;
}

/* Unit of the X coordinate variable, NULL when not said; *is_degrees when both X and Y are in degrees east and north. */
static const char *coordinate_units(const struct search *s, bool *is_degrees)
{
    const struct zs_node *x = zs_coordinate_find(s->h, s->node, s->axes.x);
    const struct zs_node *y = s->axes.y >= 0 ? zs_coordinate_find(s->h, s->node, s->axes.y) : NULL;
    const char *units = NULL;
    bool x_degrees = false, y_degrees = false;
    if (x != NULL) {
        zs_cf_axis(x->attributes, &x_degrees);
        zs_json_string(zs_json_get(x->attributes, "units"), &units);
    }
    if (y != NULL)
        zs_cf_axis(y->attributes, &y_degrees);
    *is_degrees = x_degrees && y_degrees;
    return units;
}

/* ---- _CRS ---- */

static void find_gdal_crs(struct search *s)
{
    const zs_json *crs = zs_json_get(s->node->attributes, "_CRS");
    const char *text;
    if (zs_json_string(zs_json_get(crs, "url"), &text))
        s->out->srs = zs_crs_from_url(text);
    if (s->out->srs == NULL && zs_json_string(zs_json_get(crs, "wkt"), &text))
        s->out->srs = zs_crs_from_wkt(text);
    if (s->out->srs == NULL)
        s->out->srs = zs_crs_from_projjson(zs_json_get(crs, "projjson"));
}

/* ---- Two-dimensional coordinates ---- */

/* Whether `c` has the raster's rows and columns as its two dimensions. */
static bool is_on_raster(const struct search *s, const struct zs_node *c)
{
    if (c == NULL || c == s->node || c->array == NULL || c->array->ndim != 2 || c->array->shape[0] != s->height ||
        c->array->shape[1] != s->width)
        return false;
    const int dims[2] = {s->axes.y, s->axes.x};
    for (int i = 0; i < 2; i++) {
        const char *theirs = zs_dimension_name(c, i), *ours = zs_dimension_name(s->node, dims[i]);
        if (theirs != NULL && ours != NULL && strcmp(theirs, ours) != 0)
            return false;
    }
    return true;
}

static enum zs_status find_geolocation(struct search *s, struct zs_error *err)
{
    const char *list;
    char word[256];
    const struct zs_node *x = NULL, *y = NULL;
    if (!zs_json_string(zs_json_get(s->node->attributes, "coordinates"), &list))
        return ZS_OK;
    while ((list = zs_next_word(list, word, sizeof word)) != NULL) {
        const struct zs_node *c = zs_scope_array(s->h, &s->scope, word, NULL);
        if (!is_on_raster(s, c))
            continue;
        char axis = zs_cf_axis(c->attributes, NULL);
        if (axis == 0)
            axis = zs_name_axis(zs_path_name(c->path));
        if (axis == 'X' && x == NULL)
            x = c;
        else if (axis == 'Y' && y == NULL)
            y = c;
    }
    if (x == NULL || y == NULL)
        return ZS_OK;
    bool x_blank, y_blank, x_too_large, y_too_large;
    ZS_TRY(zs_coordinate_rows_blank(s->h, x, &x_blank, &x_too_large, err));
    ZS_TRY(zs_coordinate_rows_blank(s->h, y, &y_blank, &y_too_large, err));
    if (x_too_large || y_too_large)
        ZS_TRY(leave_out(s, x_too_large ? x : y, err));
    if (x_blank || y_blank)
        return ZS_OK;
    s->out->geolocation_x = zs_strdup(x->path);
    s->out->geolocation_y = zs_strdup(y->path);
    if (s->out->geolocation_x == NULL || s->out->geolocation_y == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "%s: no memory for its geolocation arrays", s->node->path);
    return ZS_OK;
}

/* ---- All sources in turn ---- */

static enum zs_status find_transform(struct search *s, const struct zs_node *mapping, bool in_own_group,
                                     struct zs_error *err)
{
    if (s->scope.declares_spatial && find_spatial(s, false))
        return ZS_OK;
    ZS_TRY(find_cf_transform(s, mapping, in_own_group, err));
    if (s->out->has_transform)
        return ZS_OK;
    double t[6];
    if (zs_json_doubles(zs_json_get(s->node->attributes, "gdal:geotransform"), t, 6) && set_transform(s, t))
        return ZS_OK;
    if (find_spatial(s, false) || find_spatial(s, true) || find_draft_transform(s) || find_bbox(s))
        return ZS_OK;
    if (zs_ome_transform(s->node, &s->scope, s->axes, t))
        set_transform(s, t);
    return ZS_OK;
}

static void find_crs(struct search *s, const struct zs_node *mapping)
{
    bool is_degrees;
    if (s->scope.declares_proj)
        find_proj(s);
    const char *units = coordinate_units(s, &is_degrees);
    if (s->out->srs == NULL && mapping != NULL)
        s->out->srs = zs_crs_from_grid_mapping(mapping->attributes, units);
    if (s->out->srs == NULL)
        find_gdal_crs(s);
    if (s->out->srs == NULL)
        find_proj(s);
    if (s->out->srs == NULL)
        find_draft_proj(s);
    /* CF leaves the datum of plain longitudes and latitudes open. GDAL's netCDF driver takes WGS 84 then, and so does every
     * reader people compare with; only where nothing else was said, not where a grid mapping could not be read. */
    if (s->out->srs == NULL && mapping == NULL && is_degrees)
        s->out->srs = zs_crs_from_epsg(4326);
}

static enum zs_status read_georef(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                  bool may_inherit, struct zs_georef *georef, struct zs_error *err);

/* Takes what is still unknown from a finer level of the array's pyramid: GDAL 3.13 describes the base array only. */
static enum zs_status inherit_from_base(struct search *s, struct zs_error *err)
{
    const struct zs_node *base = NULL;
    for (int g = 0; g < s->scope.groups && base == NULL; g++) {
        const struct zs_node *group = s->scope.group[g];
        const char *below = zs_path_below(group->path, s->node->path);
        struct zs_layout layout;
        if (below == NULL || !zs_layout_first(group->attributes, &layout) || layout.is_ome)
            continue;
        const int own = zs_layout_find(&layout, below);
        for (int i = 0; i < own && base == NULL; i++)
            base = array_of_level(s, group, &layout, i);
    }
    if (base == NULL || base == s->node)
        return ZS_OK;
    struct zs_georef from;
    ZS_TRY(read_georef(s->h, base, s->axes, false, &from, err));
    if (s->out->srs == NULL) {
        s->out->srs = from.srs;
        from.srs = NULL;
    }
    if (!s->out->has_transform && from.has_transform && s->axes.y >= 0 && s->width > 0 && s->height > 0) {
        const double x = (double)base->array->shape[s->axes.x] / (double)s->width;
        const double y = (double)base->array->shape[s->axes.y] / (double)s->height;
        const double *f = from.transform, t[6] = {f[0], f[1] * x, f[2] * y, f[3], f[4] * x, f[5] * y};
        if (set_transform(s, t))
            s->out->pixel_is_point = from.pixel_is_point;
    }
    zs_georef_clear(&from);
    return ZS_OK;
}

static enum zs_status read_georef(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                  bool may_inherit, struct zs_georef *georef, struct zs_error *err)
{
    memset(georef, 0, sizeof *georef);
    struct search s = {.h = h, .node = node, .axes = axes, .out = georef};
    if (node->array == NULL || axes.x < 0 || axes.x >= node->array->ndim || axes.y >= node->array->ndim)
        return ZS_OK;
    s.width = node->array->shape[axes.x];
    s.height = axes.y >= 0 ? node->array->shape[axes.y] : 1;
    zs_scope_find(h, node, &s.scope);

    bool in_own_group;
    const struct zs_node *mapping = zs_grid_mapping_find(h, node, &s.scope, &in_own_group);
    find_crs(&s, mapping);
    enum zs_status status = ZS_OK;
    if (axes.y >= 0 && s.width > 0 && s.height > 0)
        status = find_transform(&s, mapping, in_own_group, err);
    if (status == ZS_OK && may_inherit && (georef->srs == NULL || !georef->has_transform))
        status = inherit_from_base(&s, err);
    if (status == ZS_OK && axes.y >= 0 && !georef->has_transform)
        status = find_geolocation(&s, err);
    if (georef->has_transform || georef->geolocation_x != NULL) {
        free(georef->left_out);
        georef->left_out = NULL;
    }
    if (status != ZS_OK)
        zs_georef_clear(georef);
    return status;
}

enum zs_status zs_georef_read(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                              struct zs_georef *georef, struct zs_error *err)
{
    return read_georef(h, node, axes, true, georef, err);
}

bool zs_georef_of_place(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes, const struct zs_scope *scope, int p,
                        double transform[6])
{
    struct zs_georef out = {0};
    struct search s = {.h = h, .node = node, .axes = axes, .scope = *scope, .out = &out};
    s.width = node->array->shape[axes.x];
    s.height = node->array->shape[axes.y];
    if (!take_spatial(&s, p, false))
        return false;
    memcpy(transform, out.transform, sizeof out.transform);
    return true;
}

void zs_georef_clear(struct zs_georef *georef)
{
    if (georef->srs != NULL)
        OSRRelease(georef->srs);
    free(georef->geolocation_x);
    free(georef->geolocation_y);
    free(georef->left_out);
    memset(georef, 0, sizeof *georef);
}
