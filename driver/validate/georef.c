/* Georeferencing that several conventions declare: each is compared with the one that readers use (geo/georef.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>

#include "base/checked.h"
#include "geo/conventions.h"
#include "geo/coordinates.h"
#include "geo/crs.h"
#include "validate/validate_private.h"

/* Longer axes are looked at in their first, middle and last elements. */
#define AXIS_SAMPLE ((uint64_t)1 << 16)

/* Part of a pixel up to which two points are the same. */
#define TOLERANCE 0.01

struct georef_check {
    struct zs_check *c;
    const struct zs_node *node;
    struct zs_axes axes;
    uint64_t width, height;
    struct zs_georef used;
};

/* Key of the document of the node that declares something; valid as long as the hierarchy is. */
static enum zs_status key_of(const struct georef_check *check, const char *path, const char **key, struct zs_error *err)
{
    const struct zs_node *node;
    ZS_TRY(zs_hierarchy_node(check->c->hierarchy, path, &node, err)); /* known: its document was read */
    *key = node->key;
    return ZS_OK;
}

/* ---- Transforms ---- */

static void show(const double *transform, char text[160])
{
    snprintf(text, 160, "[%.12g, %.12g, %.12g, %.12g, %.12g, %.12g]", transform[0], transform[1], transform[2],
             transform[3], transform[4], transform[5]);
}

static enum zs_status compare_transform(void *context, const char *path, const char *what, const double *transform,
                                        struct zs_error *err)
{
    const struct georef_check *check = context;
    char expected[160], found[160];
    const char *key;
    if (!check->used.has_transform ||
        zs_transform_is_same(check->used.transform, transform, check->width, check->height))
        return ZS_OK;
    ZS_TRY(key_of(check, path, &key, err));
    show(check->used.transform, expected);
    show(transform, found);
    zs_report(check->c, ZS_SEVERITY_ERROR, key, what, expected, found);
    return ZS_OK;
}

/* A box around the raster; with registration "node", around the centres of its pixels. */
static enum zs_status compare_box(void *context, const char *path, const char *what, const double *box,
                                  struct zs_error *err)
{
    const struct georef_check *check = context;
    const double *t = check->used.transform;
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    if (!check->used.has_transform)
        return ZS_OK;
    const double inset = check->used.pixel_is_point ? 0.5 : 0;
    for (int corner = 0; corner < 4; corner++) {
        const double col = corner & 1 ? (double)check->width - inset : inset,
                     row = corner & 2 ? (double)check->height - inset : inset;
        for (int i = 0; i < 2; i++) {
            const double v = t[3 * i] + col * t[3 * i + 1] + row * t[3 * i + 2];
            low[i] = fmin(low[i], v);
            high[i] = fmax(high[i], v);
        }
    }
    const double expected[4] = {low[0], low[1], high[0], high[1]};
    const double tolerance = TOLERANCE * (fabs(t[1]) + fabs(t[2]) + fabs(t[4]) + fabs(t[5]));
    bool is_same = true;
    for (int i = 0; i < 4; i++)
        is_same = is_same && fabs(box[i] - expected[i]) <= tolerance;
    if (is_same)
        return ZS_OK;
    char texts[2][120];
    const char *key;
    ZS_TRY(key_of(check, path, &key, err));
    snprintf(texts[0], sizeof texts[0], "[%.12g, %.12g, %.12g, %.12g]", expected[0], expected[1], expected[2],
             expected[3]);
    snprintf(texts[1], sizeof texts[1], "[%.12g, %.12g, %.12g, %.12g]", box[0], box[1], box[2], box[3]);
    zs_report(check->c, ZS_SEVERITY_ERROR, key, what, texts[0], texts[1]);
    return ZS_OK;
}

/* ---- Coordinates ---- */

/* Elements [first, first + n) of a coordinate variable, against origin + i step. *is_wrong: one differs, which is
 * reported. */
static enum zs_status compare_elements(const struct georef_check *check, const struct zs_node *coordinate,
                                       uint64_t first, uint64_t n, double origin, double step, bool *is_wrong,
                                       struct zs_error *err)
{
    double *v;
    bool is_blank;
    const double factor = zs_coordinate_factor(coordinate, check->used.srs);
    ZS_TRY(zs_coordinate_values(check->c->hierarchy, coordinate, first, n, &v, &is_blank, err));
    /* Blank is what a store without its chunks looks like; a raster of one column at 0 as well. */
    for (uint64_t i = 0; i < n && v != NULL && !is_blank && !*is_wrong; i++) {
        const double expected = origin + (double)(first + i) * step;
        v[i] *= factor;
        if (zs_is_longitude(coordinate))
            v[i] = zs_unwrap(v[i], expected);
        const double noise = coordinate->array->dtype.size < 8 ? 1e-6 * fabs(expected) : 1e-12 * fabs(expected);
        if (fabs(v[i] - expected) <= ZS_AXIS_TOLERANCE * fabs(step) + noise)
            continue;
        char what[160], texts[2][32];
        snprintf(what, sizeof what, "element %llu against the transform of %.80s", (unsigned long long)(first + i),
                 check->node->path);
        snprintf(texts[0], sizeof texts[0], "%.12g", expected);
        snprintf(texts[1], sizeof texts[1], "%.12g", v[i]);
        zs_report(check->c, ZS_SEVERITY_ERROR, coordinate->path, what, texts[0], texts[1]);
        *is_wrong = true;
    }
    free(v);
    return ZS_OK;
}

static enum zs_status compare_axis(const struct georef_check *check, int dim, double origin, double step,
                                   struct zs_error *err)
{
    const struct zs_node *coordinate = zs_coordinate_find(check->c->hierarchy, check->node, dim);
    if (coordinate == NULL)
        return ZS_OK;
    const uint64_t size = check->node->array->shape[dim], n = zs_min_u64(size, AXIS_SAMPLE);
    const uint64_t first[3] = {0, (size - n) / 2, size - n};
    bool is_wrong = false;
    enum zs_status status = ZS_OK;
    for (int k = 0; k < 3 && status == ZS_OK && !is_wrong; k++)
        if (k == 0 || first[k] != first[k - 1])
            status = compare_elements(check, coordinate, first[k], n, origin, step, &is_wrong, err);
    return zs_report_unread(check->c, coordinate->path, status, err);
}

static enum zs_status compare_coordinates(const struct georef_check *check, struct zs_error *err)
{
    const double *t = check->used.transform;
    if (!check->used.has_transform || t[2] != 0 || t[4] != 0)
        return ZS_OK;
    ZS_TRY(compare_axis(check, check->axes.x, t[0] + t[1] / 2, t[1], err));
    return compare_axis(check, check->axes.y, t[3] + t[5] / 2, t[5], err);
}

/* ---- CRS ---- */

/* Whether two CRS have one ellipsoid, as far as both declare it: unknown members of a datum make no difference. */
static bool is_same_ellipsoid(OGRSpatialReferenceH a, OGRSpatialReferenceH b)
{
    OGRErr errors[4] = {OGRERR_NONE};
    const double axes[2] = {OSRGetSemiMajor(a, &errors[0]), OSRGetSemiMajor(b, &errors[1])};
    const double flattenings[2] = {OSRGetInvFlattening(a, &errors[2]), OSRGetInvFlattening(b, &errors[3])};
    for (int i = 0; i < 4; i++)
        if (errors[i] != OGRERR_NONE)
            return false;
    return fabs(axes[0] - axes[1]) <= 1e-9 * axes[0] && fabs(flattenings[0] - flattenings[1]) <= 1e-6;
}

/* Whether the corners and the middle of the raster are where they are in another CRS, neither of which has a code.
 * PROJ compares parameters by their names, which WKT 1 does not have of every projection. */
static bool is_same_by_points(const struct georef_check *check, OGRSpatialReferenceH srs)
{
    static const double at[5][2] = {{0.5, 0.5}, {0.1, 0.1}, {0.9, 0.1}, {0.1, 0.9}, {0.9, 0.9}};
    const double *t = check->used.transform;
    const double tolerance = TOLERANCE * (fabs(t[1]) + fabs(t[2]) + fabs(t[4]) + fabs(t[5]));
    char *codes[2] = {zs_crs_to_code(check->used.srs), zs_crs_to_code(srs)};
    bool is_same =
        check->used.has_transform && codes[0] == NULL && codes[1] == NULL && is_same_ellipsoid(check->used.srs, srs);
    free(codes[0]);
    free(codes[1]);
    struct zs_quiet quiet;
    zs_quiet_begin(&quiet);
    OGRCoordinateTransformationH to = is_same ? OCTNewCoordinateTransformation(check->used.srs, srs) : NULL;
    int points = 0; /* that both have: some are beside the Earth's disk */
    for (int i = 0; i < 5 && to != NULL && is_same; i++) {
        const double col = at[i][0] * (double)check->width, row = at[i][1] * (double)check->height;
        const double from[2] = {t[0] + col * t[1] + row * t[2], t[3] + col * t[4] + row * t[5]};
        double x = from[0], y = from[1];
        if (!OCTTransform(to, 1, &x, &y, NULL))
            continue;
        points++;
        is_same = fabs(x - from[0]) <= tolerance && fabs(y - from[1]) <= tolerance;
    }
    if (to != NULL)
        OCTDestroyCoordinateTransformation(to);
    zs_quiet_end(&quiet);
    return is_same && points > 0;
}

/* The name of a CRS, or where the other one has the same its PROJ string; freed with CPLFree(). */
static char *shown(OGRSpatialReferenceH srs, OGRSpatialReferenceH other)
{
    const char *name = OSRGetName(srs), *others = OSRGetName(other);
    char *text = NULL;
    if (name != NULL && (others == NULL || strcmp(name, others) != 0))
        return CPLStrdup(name);
    struct zs_quiet quiet;
    zs_quiet_begin(&quiet);
    if (OSRExportToProj4(srs, &text) != OGRERR_NONE) {
        CPLFree(text);
        text = NULL;
    }
    zs_quiet_end(&quiet);
    return text != NULL ? text : CPLStrdup(name != NULL ? name : "a CRS without a name");
}

static void report_other_crs(const struct georef_check *check, const char *key, const char *member,
                             OGRSpatialReferenceH srs)
{
    char *expected = shown(check->used.srs, srs), *found = shown(srs, check->used.srs);
    zs_report(check->c, ZS_SEVERITY_ERROR, key, member, expected, found);
    CPLFree(expected);
    CPLFree(found);
}

/* One spelling of the CRS, which is released. */
static enum zs_status compare_crs(void *context, const char *path, const char *member, OGRSpatialReferenceH srs,
                                  bool is_code, struct zs_error *err)
{
    const struct georef_check *check = context;
    const char *key;
    const enum zs_status status = key_of(check, path, &key, err);
    if (status == ZS_OK && srs == NULL)
        zs_report(check->c, is_code ? ZS_SEVERITY_UNCHECKED : ZS_SEVERITY_ERROR, key, member, "a CRS that PROJ knows",
                  "one that it does not");
    else if (status == ZS_OK && check->used.srs != NULL && !zs_crs_is_same(check->used.srs, srs) &&
             !is_same_by_points(check, srs))
        report_other_crs(check, key, member, srs);
    if (srs != NULL)
        OSRRelease(srs);
    return status;
}

/* ---- All ---- */

/* Compares what each convention declares with the georeferencing that is used. */
static enum zs_status compare_all(struct georef_check *check, struct zs_error *err)
{
    const struct zs_georef_visitor visitor = {check, compare_transform, compare_box, compare_crs};
    struct zs_georef ignored = {0};
    struct zs_search s;
    enum zs_status status = ZS_OK;
    if (!zs_search_begin(&s, check->c->hierarchy, check->node, check->axes, &ignored))
        return ZS_OK;
    for (const struct zs_convention *const *c = zs_conventions; *c != NULL && status == ZS_OK; c++)
        if ((*c)->visit != NULL)
            status = (*c)->visit(&s, &visitor, err);
    return status == ZS_OK ? compare_coordinates(check, err) : status;
}

enum zs_status zs_check_georef(struct zs_check *c, const struct zs_node *node, struct zs_error *err)
{
    struct georef_check check = {.c = c, .node = node};
    if (node->array == NULL || node->array->ndim < 2 ||
        zs_axes_find(c->hierarchy, node, NULL, NULL, &check.axes, err) != ZS_OK || check.axes.y < 0)
        return ZS_OK;
    check.width = node->array->shape[check.axes.x];
    check.height = node->array->shape[check.axes.y];
    enum zs_status status =
        zs_report_unread(c, node->key, zs_georef_read(c->hierarchy, node, check.axes, &check.used, err), err);
    if (status == ZS_OK)
        status = compare_all(&check, err);
    zs_georef_clear(&check.used);
    return status;
}
