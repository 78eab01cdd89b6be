/* Pyramids as groups list them (geo/multiscales.h): every level is there, and is a smaller version of what it is
 * derived from. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "geo/conventions.h"
#include "validate/validate_private.h"

struct pyramid {
    struct zs_check *c;
    const struct zs_node *group;
    char *key;
    struct zs_layout layout;
};

static void report(const struct pyramid *p, enum zs_severity severity, int level, const char *what,
                   const char *expected, const char *found)
{
    char text[256];
    snprintf(text, sizeof text, "multiscales: level \"%.80s\"%s%s", p->layout.level[level].asset,
             what[0] != '\0' ? ": " : "", what);
    zs_report(p->c, severity, p->key, text, expected, found);
}

static void report_sizes(const struct pyramid *p, int level, const char *what, double expected, uint64_t found)
{
    char texts[2][48];
    snprintf(texts[0], sizeof texts[0], "%.12g", expected);
    snprintf(texts[1], sizeof texts[1], "%llu", (unsigned long long)found);
    report(p, ZS_SEVERITY_ERROR, level, what, texts[0], texts[1]);
}

/* ---- One array and its smaller version ---- */

/* The factor of dimension `dim` in transform.scale, which has one number per dimension, or two for Y and X; NaN where
 * undeclared. */
static double scale_of(const zs_json *entry, const struct zs_node *array, struct zs_axes axes, int dim)
{
    const zs_json *scale = zs_json_get(zs_json_get(entry, "transform"), "scale");
    const size_t n = zs_json_size(scale);
    size_t at = SIZE_MAX;
    if (n == (size_t)array->array->ndim)
        at = (size_t)dim;
    else if (n == 2)
        at = (dim == axes.x) == (axes.x > axes.y); /* in the order of the dimensions */
    double factor = NAN;
    if (at != SIZE_MAX)
        zs_json_double(zs_json_at(scale, at), &factor);
    return factor;
}

/* Compares the size in the list with the array's. */
static void check_shape(const struct pyramid *p, int level, const struct zs_node *array, struct zs_axes axes)
{
    double shape[2];
    if (!zs_spatial_size(p->layout.level[level].entry, shape))
        return;
    if (shape[0] != (double)array->array->shape[axes.y])
        report_sizes(p, level, ZS_SPATIAL_SHAPE " against the array's rows", shape[0], array->array->shape[axes.y]);
    if (shape[1] != (double)array->array->shape[axes.x])
        report_sizes(p, level, ZS_SPATIAL_SHAPE " against the array's columns", shape[1], array->array->shape[axes.x]);
}

static void check_sizes(const struct pyramid *p, int level, const struct zs_node *base, const struct zs_node *small,
                        struct zs_axes axes)
{
    const zs_json *entry = p->layout.level[level].entry;
    check_shape(p, level, small, axes);
    for (int d = 0; d < base->array->ndim; d++) {
        const double factor = scale_of(entry, base, axes, d);
        const bool is_spatial = d == axes.x || d == axes.y;
        const double expected = (double)base->array->shape[d] / (is_spatial && factor > 0 ? factor : 1);
        char what[64];
        snprintf(what, sizeof what, "size of dimension %d against its base's", d);
        if (!is_spatial && small->array->shape[d] != base->array->shape[d])
            report_sizes(p, level, what, expected, small->array->shape[d]);
        else if (is_spatial && factor > 0 && !(fabs((double)small->array->shape[d] - expected) <= 1))
            report_sizes(p, level, what, expected, small->array->shape[d]);
    }
}

/* Both over the same ground: corners within a pixel of the level, the first one exactly. */
static enum zs_status check_ground(const struct pyramid *p, int level, const struct zs_node *base,
                                   const struct zs_node *small, struct zs_axes axes, struct zs_error *err)
{
    struct zs_georef a, b;
    ZS_TRY(zs_report_unread(p->c, base->path, zs_georef_read(p->c->hierarchy, base, axes, &a, err), err));
    enum zs_status status = zs_georef_read(p->c->hierarchy, small, axes, &b, err);
    if (status == ZS_OK && a.has_transform && b.has_transform) {
        double worst = 0, first = 0;
        const double pixel = fabs(b.transform[1]) + fabs(b.transform[2]) + fabs(b.transform[4]) + fabs(b.transform[5]);
        for (int corner = 0; corner < 4; corner++)
            for (int i = 0; i < 6; i += 3) {
                const double *s = a.transform + i, *t = b.transform + i;
                const double x = corner & 1, y = corner & 2 ? 1 : 0;
                const double from = s[0] + x * (double)base->array->shape[axes.x] * s[1] +
                                    y * (double)base->array->shape[axes.y] * s[2];
                const double to = t[0] + x * (double)small->array->shape[axes.x] * t[1] +
                                  y * (double)small->array->shape[axes.y] * t[2];
                worst = fmax(worst, fabs(to - from) / pixel);
                first = corner == 0 ? fmax(first, fabs(to - from) / pixel) : first;
            }
        char found[64];
        snprintf(found, sizeof found, "one that is %.3g of its pixels off", worst > 1 ? worst : first);
        if (!(worst <= 1.01))
            report(p, ZS_SEVERITY_ERROR, level, "transform", "the same ground as its base", found);
        else if (!(first <= 0.01))
            report(p, ZS_SEVERITY_WARNING, level, "transform", "the same first corner as its base", found);
    }
    if (status == ZS_OK)
        zs_georef_clear(&b);
    zs_georef_clear(&a);
    return zs_report_unread(p->c, small->path, status, err);
}

/* By AVERAGE and NEAREST a pixel comes from those below it and no others. */
static struct zs_shrink shrink_of(const struct pyramid *p, int level, const struct zs_node *base,
                                  const struct zs_node *small, struct zs_axes axes)
{
    const zs_json *entry = p->layout.level[level].entry, *how = zs_json_get(entry, "resampling_method");
    if (how == NULL)
        how = zs_json_get(zs_json_get(p->group->attributes, "multiscales"), "resampling_method");
    struct zs_shrink shrink = {.is_exact = zs_json_equals(how, "average") || zs_json_equals(how, "nearest")};
    for (int d = 0; d < base->array->ndim; d++) {
        shrink.factor[d] = scale_of(entry, base, axes, d);
        if (!(shrink.factor[d] >= 1)) {
            shrink.factor[d] = (double)base->array->shape[d] / (double)small->array->shape[d];
            shrink.is_exact = false;
        }
    }
    return shrink;
}

static enum zs_status check_pair(const struct pyramid *p, int level, const struct zs_node *base,
                                 const struct zs_node *small, struct zs_error *err)
{
    struct zs_axes axes;
    if (base->array == NULL || small->array == NULL || base->array->ndim < 2)
        return ZS_OK; /* reported with their documents, or coordinates */
    if (strcmp(base->array->dtype.name, small->array->dtype.name) != 0)
        report(p, ZS_SEVERITY_ERROR, level, "data_type against its base's", base->array->dtype.name,
               small->array->dtype.name);
    if (base->array->ndim != small->array->ndim) {
        report_sizes(p, level, "number of dimensions against its base's", base->array->ndim,
                     (uint64_t)small->array->ndim);
        return ZS_OK;
    }
    if (zs_axes_find(p->c->hierarchy, base, NULL, NULL, &axes, err) != ZS_OK || axes.y < 0)
        return ZS_OK;
    check_sizes(p, level, base, small, axes);
    const struct zs_shrink shrink = shrink_of(p, level, base, small, axes);
    if (strcmp(base->array->dtype.name, small->array->dtype.name) == 0)
        ZS_TRY(zs_check_holes(p->c, base, small, axes, &shrink, err));
    return check_ground(p, level, base, small, axes, err);
}

/* ---- One level ---- */

static const struct zs_node *node_of(const struct pyramid *p, int level)
{
    const struct zs_node *node;
    const char *asset = p->layout.level[level].asset;
    if (asset[0] == '\0')
        return p->group;
    return zs_hierarchy_node_at(p->c->hierarchy, p->group->path, asset, &node, NULL) == ZS_OK ? node : NULL;
}

/* The level that a level is derived from: the declared one, else the first. */
static int base_of(const struct pyramid *p, int level)
{
    const char *from = p->layout.level[level].derived_from;
    for (int i = 0; from != NULL && i < p->layout.count; i++)
        if (strcmp(p->layout.level[i].asset, from) == 0)
            return i;
    if (from != NULL)
        report(p, ZS_SEVERITY_ERROR, level, "derived_from", "the asset of a level", from);
    return 0;
}

/* The raster `base` against the one of the same name in the level, or the level itself where that is an array. */
static enum zs_status check_raster(const struct pyramid *p, int level, const struct zs_node *base,
                                   const struct zs_node *small, struct zs_error *err)
{
    const struct zs_node *other = small;
    if (small->type == ZS_NODE_GROUP &&
        zs_hierarchy_node_at(p->c->hierarchy, small->path, zs_path_name(base->path), &other, NULL) != ZS_OK)
        return ZS_OK; /* a level may have fewer rasters (bands of Sentinel-2) */
    return check_pair(p, level, base, other, err);
}

/* Each raster of a level that is a group. */
static enum zs_status check_group(const struct pyramid *p, int level, const struct zs_node *base,
                                  const struct zs_node *small, struct zs_error *err)
{
    for (size_t i = 0; i < p->c->node_count; i++) {
        const struct zs_node *node = p->c->nodes[i];
        const char *name = zs_path_below(base->path, node->path);
        if (node->array == NULL || name == NULL || strchr(name, '/') != NULL || node->array->ndim < 2)
            continue;
        if (small->type == ZS_NODE_GROUP || strcmp(zs_path_name(small->path), name) == 0)
            ZS_TRY(check_raster(p, level, node, small, err));
    }
    return ZS_OK;
}

static enum zs_status check_level(const struct pyramid *p, int level, struct zs_error *err)
{
    const struct zs_node *small = node_of(p, level);
    if (small == NULL || small->is_implicit) {
        report(p, ZS_SEVERITY_ERROR, level, "", "a node that is there", "none");
        return ZS_OK;
    }
    const int from = base_of(p, level);
    const struct zs_node *base = from != level ? node_of(p, from) : NULL;
    struct zs_axes axes;
    if (base == NULL || base == small) {
        if (small->array != NULL && zs_axes_find(p->c->hierarchy, small, NULL, NULL, &axes, NULL) == ZS_OK &&
            axes.y >= 0)
            check_shape(p, level, small, axes);
        return ZS_OK;
    }
    return base->type == ZS_NODE_ARRAY ? check_raster(p, level, base, small, err)
                                       : check_group(p, level, base, small, err);
}

enum zs_status zs_check_pyramids(struct zs_check *check, const struct zs_node *group, struct zs_error *err)
{
    struct pyramid p = {.c = check, .group = group, .key = zs_strdup(group->key)};
    ZS_TRY_MEMORY(p.key, err);
    enum zs_status status = ZS_OK;
    bool is_there = zs_layout_first(group->attributes, &p.layout);
    for (; is_there && status == ZS_OK; is_there = zs_layout_next(&p.layout))
        for (int level = 0; level < p.layout.count && status == ZS_OK; level++)
            status = check_level(&p, level, err);
    free(p.key);
    return status;
}
