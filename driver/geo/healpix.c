#include "geo/healpix.h"

#include <math.h>
#include <stdio.h>

#include <cpl_conv.h>
#include <cpl_string.h>

#include "geo/conventions.h"
#include "geo/crs.h"

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

int zs_healpix_order_of(uint64_t side)
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
    if (node->array == NULL || node->array->ndim == 0)
        return false;
    zs_scope_find(hierarchy, node, &scope);
    for (const struct zs_convention *const *c = zs_conventions; *c != NULL; c++) {
        *found = (struct zs_healpix){.order = -1, .dim = -1};
        zs_healpix_set_default_sphere(found);
        if ((*c)->find_healpix != NULL && (*c)->find_healpix(hierarchy, node, &scope, found))
            return holds_together(node, found);
    }
    return false;
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
