#include "geo/conventions.h"

#include <math.h>
#include <string.h>

#include "geo/attributes.h"
#include "geo/variables.h"

#define PREFIX "spatial:"
#define SHAPE "spatial:shape"
#define REGISTRATION "spatial:registration"

const char zs_spatial_dimensions[] = "spatial:dimensions";

bool zs_spatial_is_member(const char *name)
{
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0;
}

bool zs_spatial_size(const zs_json *members, double size[2])
{
    return zs_json_doubles(zs_json_get(members, SHAPE), size, 2);
}

/* ---- Dimensions ---- */

static int named_dimension(const struct zs_node *node, const char *name)
{
    for (int i = 0; i < node->array->ndim; i++) {
        const char *ours = zs_dimension_name(node, i);
        if (ours != NULL && zs_dimension_is_of(ours, name))
            return i;
    }
    return -1;
}

/* The names that `spatial:dimensions` have for Y and X, whichever of them comes first; false without any. */
static bool read_dimensions(const zs_json *dimensions, const char **y, const char **x)
{
    if (zs_json_size(dimensions) != 2 || !zs_json_string(zs_json_at(dimensions, 0), y) ||
        !zs_json_string(zs_json_at(dimensions, 1), x))
        return false;
    if (zs_name_axis(*y) == 'X' && zs_name_axis(*x) == 'Y') { /* plainly written the wrong way round */
        const char *other = *x;
        *x = *y;
        *y = other;
    }
    return true;
}

/* X and Y as the nearest dimensions that fit the array have them. */
bool zs_spatial_find_axes(const struct zs_node *node, const struct zs_scope *scope, struct zs_axes *found)
{
    for (int p = 0; p < scope->sources; p++) {
        const char *y_name, *x_name;
        if (!read_dimensions(zs_json_get(scope->source[p].members, zs_spatial_dimensions), &y_name, &x_name))
            continue;
        const int y = named_dimension(node, y_name), x = named_dimension(node, x_name);
        if (x < 0 || y < 0 || x == y)
            continue;
        *found = (struct zs_axes){x, y};
        return true;
    }
    return false;
}

/* ---- Transform ---- */

/* Whether the members of a source can be used: they are of this array's X and Y and of a known kind. Members without
 * dimensions, or an array without names, are taken as they come. */
static bool is_understood(const struct zs_search *search, int source)
{
    const char *text, *first, *second;
    const char *x = zs_dimension_name(search->node, search->axes.x);
    const char *y = zs_dimension_name(search->node, search->axes.y);
    if (zs_json_string(zs_scope_inherited(&search->scope, source, "spatial:transform_type"), &text) &&
        strcmp(text, "affine") != 0)
        return false;
    return x == NULL || y == NULL ||
           !read_dimensions(zs_scope_inherited(&search->scope, source, zs_spatial_dimensions), &first, &second) ||
           (zs_dimension_is_of(y, first) && zs_dimension_is_of(x, second));
}

/* Whether the members of a source speak of pixels as the array has them: not of another level of its pyramid, whose
 * levels take theirs from the base (georef.c), and not of another size. */
static bool is_of_level(const struct zs_search *search, const struct zs_scope_source *source)
{
    double shape[2];
    if (zs_spatial_size(source->members, shape))
        return shape[0] == (double)search->height && shape[1] == (double)search->width;
    return !source->has_layout || source->is_base;
}

static bool take_transform(struct zs_search *search, const double *transform, const zs_json *registration)
{
    if (!zs_search_take(search, transform))
        return false;
    search->out->pixel_is_point = zs_json_equals(registration, "node");
    search->out->is_area_declared = zs_json_equals(registration, "pixel");
    return true;
}

void zs_spatial_find_transform(struct zs_search *search)
{
    double a[6];
    for (int p = 0; p < search->scope.sources && !search->out->has_transform; p++) {
        const struct zs_scope_source *source = &search->scope.source[p];
        if (!zs_json_doubles(zs_json_get(source->members, "spatial:transform"), a, 6) || !is_understood(search, p) ||
            !is_of_level(search, source))
            continue;
        const zs_json *registration = zs_scope_inherited(&search->scope, p, REGISTRATION);
        double t[6] = {a[2], a[0], a[1], a[5], a[3], a[4]};
        if (zs_json_equals(registration, "node")) /* pixel centres */
            zs_transform_shift(t, -0.5, -0.5);
        (void)!take_transform(search, t, registration);
    }
}

/* Takes the bounding box of a source: a raster whose north is up, all levels of a pyramid over the same ground. Beside
 * a transform a bbox is not used: where that is valid it adds nothing, else it is no better. */
static bool take_bbox(struct zs_search *search, int p)
{
    const struct zs_scope_source *source = &search->scope.source[p];
    const zs_json *registration = zs_scope_inherited(&search->scope, p, REGISTRATION);
    const bool is_node = zs_json_equals(registration, "node");
    double b[4];
    if (!zs_json_doubles(zs_json_get(source->members, "spatial:bbox"), b, 4) || !is_understood(search, p) ||
        zs_json_typeof(zs_json_get(source->members, "spatial:transform")) != ZS_JSON_NULL ||
        ((is_node || !source->has_layout) && !is_of_level(search, source)))
        return false;
    const double east = b[2] - b[0], north = b[3] - b[1], less = is_node ? 1 : 0; /* from centre to centre */
    if (!(east > 0) || !(north > 0))
        return false;
    const double dx = east / ((double)search->width - less), dy = north / ((double)search->height - less);
    double t[6] = {b[0], dx, 0, b[3], 0, -dy};
    zs_transform_shift(t, -less / 2, -less / 2);
    return take_transform(search, t, registration);
}

void zs_spatial_find_bbox(struct zs_search *search)
{
    for (int p = 0; p < search->scope.sources && !search->out->has_transform; p++)
        (void)!take_bbox(search, p);
}

/* ---- Writing ---- */

static const struct zs_convention convention = {"689b58e2-cf7b-45e0-9fff-9cfc0883d6b4", PREFIX};

/* Members that this driver writes: a multiscales entry has the first four of them. */
static const char *const known[] = {SHAPE,          "spatial:transform",   REGISTRATION,
                                    "spatial:bbox", zs_spatial_dimensions, "spatial:transform_type"};
enum { OF_LEVEL = 4, OF_ARRAY = 6 };

static void remove_known(zs_json *object, size_t count)
{
    for (size_t i = 0; i < count; i++)
        zs_json_remove(object, known[i]);
}

static bool add_shape(zs_json *object, const struct zs_georef_out *geo)
{
    zs_json *a = zs_json_add_array(object, SHAPE);
    zs_json_add_uint64(a, NULL, geo->height);
    return zs_json_add_uint64(a, NULL, geo->width) != NULL;
}

/* Adds the transform with the origin that the convention wants, and sets `t` to it: the corner, or with node
 * registration the centre of the first pixel. */
static bool add_transform(zs_json *object, const struct zs_georef_out *geo, double t[6])
{
    memcpy(t, geo->transform, 6 * sizeof *t);
    if (geo->pixel_is_point)
        zs_transform_shift(t, 0.5, 0.5);
    const double order[6] = {t[1], t[2], t[0], t[4], t[5], t[3]};
    return zs_set_doubles(object, "spatial:transform", order, 6);
}

/* "pixel", which is the default, or "node". */
static bool add_registration(zs_json *object, const struct zs_georef_out *geo)
{
    return zs_json_add_string(object, REGISTRATION, geo->pixel_is_point ? "node" : "pixel") != NULL;
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
    zs_json *a = zs_json_add_array(object, zs_spatial_dimensions);
    zs_json_add_string(a, NULL, geo->dim_y);
    return zs_json_add_string(a, NULL, geo->dim_x) != NULL;
}

/* Replaces the members that this driver knows by those of `geo`; without a transform, or names of dimensions, there are
 * none. */
static bool write_members(zs_json *attributes, const struct zs_georef_out *geo)
{
    double t[6];
    if (geo->keeps_transform)
        return true;
    bool ok = true, is_used = geo->has_transform && geo->dim_x != NULL;
    remove_known(attributes, OF_ARRAY);
    if (is_used)
        ok = add_dimensions(attributes, geo) && add_transform(attributes, geo, t) &&
             zs_json_add_string(attributes, "spatial:transform_type", "affine") != NULL &&
             add_shape(attributes, geo) && add_bbox(attributes, geo, t) && add_registration(attributes, geo);
    for (const zs_json *m = zs_json_first(attributes); m != NULL && !is_used; m = zs_json_next(m))
        is_used = zs_spatial_is_member(zs_json_name(m)); /* of others */
    return ok && zs_convention_declare(&convention, attributes, is_used);
}

enum zs_status zs_write_spatial_proj(zs_json *attributes, const struct zs_georef_out *geo, struct zs_error *err)
{
    const bool ok = write_members(attributes, geo) && (geo->keeps_srs || zs_proj_write(attributes, geo->srs));
    return ok ? ZS_OK : zs_fail_memory(err);
}

bool zs_spatial_write_level(zs_json *entry, const struct zs_georef_out *level, const zs_json *group)
{
    double t[6];
    const bool is_default = !level->pixel_is_point && !zs_json_equals(zs_json_get(group, REGISTRATION), "node");
    remove_known(entry, OF_LEVEL);
    return add_shape(entry, level) && (!level->has_transform || add_transform(entry, level, t)) &&
           (!level->has_transform || is_default || add_registration(entry, level));
}

bool zs_spatial_is_declared(const zs_json *members)
{
    return zs_json_get(members, "spatial:transform") != NULL || zs_json_get(members, "spatial:bbox") != NULL;
}

bool zs_spatial_proj_is_declared(const zs_json *members)
{
    return zs_spatial_is_declared(members) || zs_proj_is_declared(members);
}
