#include "geo/healpix.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cpl_conv.h>
#include <cpl_string.h>

#include "geo/conventions.h"
#include "geo/variables.h"

#define DEFAULT_RADIUS 6370997.0 /* dggs: without an ellipsoid */
#define WGS84_SEMI_MAJOR 6378137.0
#define WGS84_INVERSE_FLATTENING 298.257223563

void zs_healpix_set_default_sphere(struct zs_healpix *healpix)
{
    (void)zs_healpix_set_ellipsoid(healpix, NULL, DEFAULT_RADIUS, 0);
}

bool zs_healpix_set_ellipsoid(struct zs_healpix *healpix, const char *name, double semi_major,
                              double inverse_flattening)
{
    if (name != NULL && (zs_equals_ignoring_case(name, "WGS84") || zs_equals_ignoring_case(name, "WGS 84")) &&
        semi_major == 0) {
        semi_major = WGS84_SEMI_MAJOR;
        inverse_flattening = WGS84_INVERSE_FLATTENING;
    }
    /* Writers give as many digits of the flattening as they like. */
    healpix->is_wgs84 = semi_major == WGS84_SEMI_MAJOR && fabs(inverse_flattening - WGS84_INVERSE_FLATTENING) < 1e-6;
    healpix->semi_major = semi_major;
    healpix->inverse_flattening = isfinite(inverse_flattening) ? inverse_flattening : 0;
    return semi_major >= 1 && semi_major < 1e9 &&
           (healpix->inverse_flattening == 0 || healpix->inverse_flattening > 1);
}

bool zs_healpix_take_ellipsoid(struct zs_healpix *healpix, const zs_json *members, const char *name)
{
    /* Both spellings of each occur. */
    static const char *const majors[] = {"semi_major_axis", "semimajor_axis", "earth_radius", "radius"};
    static const char *const minors[] = {"semi_minor_axis", "semiminor_axis"};
    static const char *const flattenings[] = {"inverse_flattening", "inverseflattening"};
    double major = 0, minor = 0, flattening = 0;
    for (int i = 0; i < 4 && major == 0; i++)
        zs_json_double(zs_json_get(members, majors[i]), &major);
    for (int i = 0; i < 2; i++) {
        zs_json_double(zs_json_get(members, minors[i]), &minor);
        zs_json_double(zs_json_get(members, flattenings[i]), &flattening);
    }
    if (flattening == 0 && minor > 0 && minor < major)
        flattening = major / (major - minor);
    return zs_healpix_set_ellipsoid(healpix, name, major, flattening);
}

/* The order of so many cells along the side of a face, -1 where that is no power of two. */
static int order_of(uint64_t side)
{
    int order = 0;
    while (order <= ZS_HEALPIX_MAX_ORDER && side > (uint64_t)1 << order)
        order++;
    return order <= ZS_HEALPIX_MAX_ORDER && side == (uint64_t)1 << order ? order : -1;
}

static bool holds_together(const struct zs_node *node, const struct zs_healpix *found)
{
    const struct zs_array_meta *meta = node->array;
    if (found->order < 0 || found->order > ZS_HEALPIX_MAX_ORDER || found->dim < 0 || found->dim >= meta->ndim ||
        meta->shape[found->dim] == 0)
        return false;
    const uint64_t cells = zs_healpix_cells_of(found->order), length = meta->shape[found->dim];
    const struct zs_node *c = found->coordinate;
    if (c == NULL)
        return length == cells;
    if (found->words == ZS_HEALPIX_RANGES)
        return length <= cells && c->array != NULL && c->array->ndim == 2 && c->array->shape[1] == 2;
    if (length > cells || c == node || c->array == NULL || c->array->ndim != 1)
        return false;
    return found->words == ZS_HEALPIX_COMPACTED ? c->array->shape[0] <= length : c->array->shape[0] == length;
}

bool zs_healpix_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_healpix *found)
{
    struct zs_scope scope;
    struct zs_healpix none = {.order = -1, .dim = -1};
    if (node->array == NULL || node->array->ndim == 0)
        return false;
    zs_scope_find(hierarchy, node, &scope);
    zs_healpix_set_default_sphere(&none);
    *found = none;
    if (zs_dggs_find_healpix(hierarchy, node, &scope, found))
        return holds_together(node, found);
    *found = none;
    return zs_cf_find_healpix(hierarchy, node, &scope, found) && holds_together(node, found);
}

bool zs_healpix_is_same(const struct zs_healpix *a, const struct zs_healpix *b)
{
    return a->order == b->order && a->semi_major == b->semi_major && a->inverse_flattening == b->inverse_flattening;
}

OGRSpatialReferenceH zs_healpix_crs(const struct zs_healpix *healpix, double central_meridian)
{
    char text[256], figure[128];
    if (healpix->is_wgs84)
        snprintf(figure, sizeof figure, "+datum=WGS84");
    else if (healpix->inverse_flattening > 0)
        CPLsnprintf(figure, sizeof figure, "+a=%.17g +rf=%.17g", healpix->semi_major, healpix->inverse_flattening);
    else
        CPLsnprintf(figure, sizeof figure, "+R=%.17g", healpix->semi_major);
    CPLsnprintf(text, sizeof text, "+proj=healpix +lon_0=%.17g +rot_xy=45 %s +units=m +no_defs", central_meridian,
                figure);
    return zs_crs_from_proj_string(text);
}

/* ---- Grid mappings: as in CF 1.13 (cf-conventions #605), and as in the stores of easy.gems ---- */

/* A scalar beside the arrays; not all stores name it in `grid_mapping`. */
#define USUAL_NAME "crs"

static const struct zs_node *mapping_of(struct zs_hierarchy *hierarchy, const struct zs_scope *scope)
{
    const struct zs_node *mapping = zs_grid_mapping_find(hierarchy, scope);
    if (mapping == NULL && zs_grid_mapping_name(scope->node->attributes) == NULL && scope->groups > 0 &&
        zs_hierarchy_node_at(hierarchy, scope->group[0]->path, USUAL_NAME, &mapping, NULL) != ZS_OK)
        return NULL;
    return mapping != NULL && zs_json_equals(zs_json_get(mapping->attributes, "grid_mapping_name"), "healpix") ? mapping
                                                                                                            : NULL;
}

/* Whether it is worth looking at a mapping, which may cost a request: the last dimension is no X, and where nothing
 * names the mapping it is called as those of cells are. */
static bool may_be_cells(const struct zs_node *node)
{
    static const char *const names[] = {"cell", "cells", "healpix_index", "value", "values", NULL};
    const char *last = zs_dimension_name(node, node->array->ndim - 1);
    const bool is_named = zs_grid_mapping_name(node->attributes) != NULL ||
                          zs_json_get(node->attributes, "coordinates") != NULL;
    if (!is_named)
        return last != NULL && zs_is_one_of(last, names);
    return node->array->ndim == 1 || zs_name_axis(last) == 0;
}

static bool take_scheme(const zs_json *attributes, struct zs_healpix *found)
{
    const char *scheme = "nested";
    if (!zs_json_string(zs_json_get(attributes, "indexing_scheme"), &scheme))
        zs_json_string(zs_json_get(attributes, "healpix_order"), &scheme);
    found->is_ring = strcmp(scheme, "ring") == 0;
    return found->is_ring || strcmp(scheme, "nest") == 0 || strcmp(scheme, "nested") == 0;
}

static bool take_order(const zs_json *attributes, struct zs_healpix *found)
{
    uint64_t number;
    if (zs_json_uint64(zs_json_get(attributes, "refinement_level"), &number))
        found->order = number <= ZS_HEALPIX_MAX_ORDER ? (int)number : -1;
    else if (zs_json_uint64(zs_json_get(attributes, "healpix_nside"), &number))
        found->order = order_of(number);
    return found->order >= 0;
}

/* A name that is not known is none: then the sphere is the default. */
static bool take_ellipsoid(const zs_json *attributes, struct zs_healpix *found)
{
    const bool has_size = zs_json_get(attributes, "semi_major_axis") != NULL ||
                          zs_json_get(attributes, "earth_radius") != NULL;
    const char *name = zs_json_text(attributes, "reference_ellipsoid_name", NULL);
    const bool is_one = (has_size || name != NULL) && zs_healpix_take_ellipsoid(found, attributes, name);
    if (!is_one && !has_size)
        zs_healpix_set_default_sphere(found);
    return is_one || !has_size;
}

/* A variable of cell numbers that `coordinates` names; by its standard name. */
static const struct zs_node *named_coordinate(struct zs_hierarchy *hierarchy, const struct zs_scope *scope)
{
    char word[256];
    const char *list = zs_json_text(scope->node->attributes, "coordinates", NULL);
    while ((list = zs_next_word(list, word, sizeof word)) != NULL) {
        const struct zs_node *node = zs_scope_array(hierarchy, scope, NULL, word);
        if (node != NULL && zs_json_equals(zs_json_get(node->attributes, "standard_name"), "healpix_index"))
            return node;
    }
    return NULL;
}

bool zs_cf_find_healpix(struct zs_hierarchy *hierarchy, const struct zs_node *node, const struct zs_scope *scope,
                        struct zs_healpix *found)
{
    const struct zs_node *mapping = may_be_cells(node) ? mapping_of(hierarchy, scope) : NULL;
    if (mapping == NULL || !take_scheme(mapping->attributes, found) || !take_order(mapping->attributes, found) ||
        !take_ellipsoid(mapping->attributes, found))
        return false;
    found->dim = node->array->ndim - 1;
    found->coordinate = named_coordinate(hierarchy, scope);
    if (found->coordinate == NULL)
        found->coordinate = zs_coordinate_find(hierarchy, node, found->dim);
    return found->coordinate != node;
}
