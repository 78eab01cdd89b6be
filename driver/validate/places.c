/* Where an array lies, said in several ways: all of them against the one that readers believe (geo/georef.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "geo/conventions.h"
#include "geo/coordinates.h"
#include "geo/crs.h"
#include "geo/georef.h"
#include "validate/validate_private.h"

/* Longer axes are looked at in their first, middle and last elements. */
#define AXIS_SAMPLE ((uint64_t)1 << 16)

/* Part of a pixel up to which two places are the same. */
#define TOLERANCE 0.01

struct place {
    struct zs_check *c;
    const struct zs_node *node;
    char *key;
    struct zs_axes axes;
    uint64_t width, height;
    struct zs_scope scope;
    struct zs_georef believed;
};

/* ---- Transforms ---- */

static void show(const double *t, char text[160])
{
    snprintf(text, 160, "[%.12g, %.12g, %.12g, %.12g, %.12g, %.12g]", t[0], t[1], t[2], t[3], t[4], t[5]);
}

static void compare_transform(const struct place *p, const char *key, const char *what, const double *t)
{
    char expected[160], found[160];
    if (zs_transform_is_same(p->believed.transform, t, p->width, p->height))
        return;
    show(p->believed.transform, expected);
    show(t, found);
    zs_report(p->c, ZS_SEVERITY_ERROR, key, what, expected, found);
}

/* A box around the raster; with registration "node", around the centres of its pixels. */
static void compare_bbox(const struct place *p, const char *key, const zs_json *bbox)
{
    const double *t = p->believed.transform;
    double box[4], low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    if (!zs_json_doubles(bbox, box, 4))
        return;
    const double inset = p->believed.pixel_is_point ? 0.5 : 0;
    for (int corner = 0; corner < 4; corner++) {
        const double col = corner & 1 ? (double)p->width - inset : inset, row = corner & 2 ? (double)p->height - inset : inset;
        for (int i = 0; i < 2; i++) {
            const double v = t[3 * i] + col * t[3 * i + 1] + row * t[3 * i + 2];
            low[i] = fmin(low[i], v);
            high[i] = fmax(high[i], v);
        }
    }
    const double expected[4] = {low[0], low[1], high[0], high[1]};
    const double tolerance = TOLERANCE * (fabs(t[1]) + fabs(t[2]) + fabs(t[4]) + fabs(t[5]));
    for (int i = 0; i < 4; i++)
        if (!(fabs(box[i] - expected[i]) <= tolerance)) {
            char texts[2][120];
            snprintf(texts[0], sizeof texts[0], "[%.12g, %.12g, %.12g, %.12g]", expected[0], expected[1], expected[2], expected[3]);
            snprintf(texts[1], sizeof texts[1], "[%.12g, %.12g, %.12g, %.12g]", box[0], box[1], box[2], box[3]);
            zs_report(p->c, ZS_SEVERITY_ERROR, key, "spatial:bbox against the transform", texts[0], texts[1]);
            return;
        }
}

/* What the conventions say on the array, its groups and its multiscales entries, as far as it is of this array's level. */
static enum zs_status compare_places(const struct place *p, struct zs_error *err)
{
    for (int i = 0; i < p->scope.places; i++) {
        const struct zs_place *place = &p->scope.place[i];
        char *key = place->group != NULL ? zs_document_key(place->group->path) : zs_strdup(p->key);
        if (key == NULL)
            return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
        double t[6];
        char what[200];
        snprintf(what, sizeof what, "spatial:transform against what else is said of %.100s", p->node->path);
        if (zs_georef_of_place(p->c->h, p->node, p->axes, &p->scope, i, t))
            compare_transform(p, key, what, t);
        if (place->kind != ZS_PLACE_GROUP || !place->has_layout || place->is_base)
            compare_bbox(p, key, zs_json_get(place->members, "spatial:bbox"));
        free(key);
    }
    double t[6];
    if (zs_json_doubles(zs_json_get(p->node->attributes, "gdal:geotransform"), t, 6))
        compare_transform(p, p->key, "gdal:geotransform", t);
    return ZS_OK;
}

/* ---- Coordinates ---- */

/* Elements [first, first + n) of a coordinate variable, against origin + i step. *is_wrong: one differs, which is reported. */
static enum zs_status compare_elements(const struct place *p, const struct zs_node *coordinate, uint64_t first, uint64_t n,
                                       double origin, double step, bool *is_wrong, struct zs_error *err)
{
    double *v;
    bool is_blank;
    ZS_TRY(zs_coordinate_values(p->c->h, coordinate, first, n, &v, &is_blank, err));
    /* Blank is what a store without its chunks looks like; a raster of one column at 0 as well. */
    for (uint64_t i = 0; i < n && v != NULL && !is_blank && !*is_wrong; i++) {
        const double expected = origin + (double)(first + i) * step;
        const double noise = coordinate->array->dtype.size < 8 ? 1e-6 * fabs(expected) : 1e-12 * fabs(expected);
        if (fabs(v[i] - expected) <= TOLERANCE * fabs(step) + noise)
            continue;
        char what[160], texts[2][32];
        snprintf(what, sizeof what, "element %llu against the transform of %.80s", (unsigned long long)(first + i), p->node->path);
        snprintf(texts[0], sizeof texts[0], "%.12g", expected);
        snprintf(texts[1], sizeof texts[1], "%.12g", v[i]);
        zs_report(p->c, ZS_SEVERITY_ERROR, coordinate->path, what, texts[0], texts[1]);
        *is_wrong = true;
    }
    free(v);
    return ZS_OK;
}

static enum zs_status compare_axis(const struct place *p, int dim, double origin, double step, struct zs_error *err)
{
    const struct zs_node *coordinate = zs_coordinate_find(p->c->h, p->node, dim);
    if (coordinate == NULL)
        return ZS_OK;
    const uint64_t size = p->node->array->shape[dim], n = zs_min_u64(size, AXIS_SAMPLE);
    const uint64_t first[3] = {0, (size - n) / 2, size - n};
    bool is_wrong = false;
    enum zs_status status = ZS_OK;
    for (int k = 0; k < 3 && status == ZS_OK && !is_wrong; k++)
        if (k == 0 || first[k] != first[k - 1])
            status = compare_elements(p, coordinate, first[k], n, origin, step, &is_wrong, err);
    return zs_report_failure(p->c, coordinate->path, status, err);
}

static enum zs_status compare_coordinates(const struct place *p, const struct zs_node *mapping, struct zs_error *err)
{
    double given[6];
    if (mapping != NULL && zs_parse_geotransform(mapping->attributes, given)) {
        char *key = zs_document_key(mapping->path);
        if (key == NULL)
            return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
        compare_transform(p, key, "GeoTransform", given);
        free(key);
    }
    const double *t = p->believed.transform;
    if (t[2] != 0 || t[4] != 0)
        return ZS_OK;
    ZS_TRY(compare_axis(p, p->axes.x, t[0] + t[1] / 2, t[1], err));
    return compare_axis(p, p->axes.y, t[3] + t[5] / 2, t[5], err);
}

/* ---- CRS ---- */

static bool is_same_crs(OGRSpatialReferenceH a, OGRSpatialReferenceH b)
{
    static const char *const options[] = {"IGNORE_DATA_AXIS_TO_SRS_AXIS_MAPPING=YES", "CRITERION=EQUIVALENT", NULL};
    struct zs_quiet quiet;
    zs_quiet_begin(&quiet);
    const bool is_same = OSRIsSameEx(a, b, options) != 0;
    zs_quiet_end(&quiet);
    return is_same;
}

static const char *name_of(OGRSpatialReferenceH srs)
{
    const char *name = OSRGetName(srs);
    return name != NULL ? name : "a CRS without a name";
}

/* One spelling of the CRS, which is released; `text` is what it was made of. */
static void compare_crs(const struct place *p, const char *key, const char *member, const zs_json *text, OGRSpatialReferenceH srs)
{
    if (zs_json_typeof(text) == ZS_JSON_NULL)
        return;
    const bool is_code = strcmp(member, "proj:code") == 0;
    if (srs == NULL)
        zs_report(p->c, is_code ? ZS_SEVERITY_UNCHECKED : ZS_SEVERITY_ERROR, key, member, "a CRS that PROJ knows", "one that it does not");
    else if (p->believed.srs != NULL && !is_same_crs(p->believed.srs, srs))
        zs_report(p->c, ZS_SEVERITY_ERROR, key, member, name_of(p->believed.srs), name_of(srs));
    if (srs != NULL)
        OSRRelease(srs);
}

static void compare_wkt(const struct place *p, const char *key, const zs_json *members, const char *member)
{
    const zs_json *text = zs_json_get(members, member);
    const char *wkt;
    if (zs_json_string(text, &wkt))
        compare_crs(p, key, member, text, zs_crs_from_wkt(wkt));
}

static enum zs_status compare_all_crs(const struct place *p, const struct zs_node *mapping, struct zs_error *err)
{
    const char *text;
    for (int i = 0; i < p->scope.places; i++) {
        const struct zs_place *place = &p->scope.place[i];
        /* A group's CRS is that of the arrays directly in it; further up it is not meant. */
        if (i > 0 && place->group != p->scope.group[0] && place->kind == ZS_PLACE_GROUP && !place->has_layout)
            continue;
        char *key = place->group != NULL ? zs_document_key(place->group->path) : zs_strdup(p->key);
        if (key == NULL)
            return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
        const zs_json *code = zs_json_get(place->members, "proj:code"), *projjson = zs_json_get(place->members, "proj:projjson");
        if (zs_json_string(code, &text))
            compare_crs(p, key, "proj:code", code, zs_crs_from_code(text));
        compare_wkt(p, key, place->members, "proj:wkt2");
        compare_crs(p, key, "proj:projjson", projjson, zs_crs_from_projjson(projjson));
        free(key);
    }
    const zs_json *crs = zs_json_get(p->node->attributes, "_CRS");
    compare_wkt(p, p->key, crs, "wkt");
    compare_crs(p, p->key, "projjson", zs_json_get(crs, "projjson"), zs_crs_from_projjson(zs_json_get(crs, "projjson")));
    if (zs_json_string(zs_json_get(crs, "url"), &text))
        compare_crs(p, p->key, "url", zs_json_get(crs, "url"), zs_crs_from_url(text));
    char *key = mapping != NULL ? zs_document_key(mapping->path) : NULL;
    if (mapping != NULL && key == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    if (mapping != NULL) {
        compare_wkt(p, key, mapping->attributes, "crs_wkt");
        compare_wkt(p, key, mapping->attributes, "spatial_ref");
    }
    free(key);
    return ZS_OK;
}

/* ---- All ---- */

static enum zs_status compare_all(struct place *p, struct zs_error *err)
{
    bool in_own_group;
    zs_scope_find(p->c->h, p->node, &p->scope);
    const struct zs_node *mapping = zs_grid_mapping_find(p->c->h, p->node, &p->scope, &in_own_group);
    ZS_TRY(zs_report_failure(p->c, p->key, zs_georef_read(p->c->h, p->node, p->axes, &p->believed, err), err));
    enum zs_status status = compare_all_crs(p, mapping, err);
    if (status == ZS_OK && p->believed.has_transform)
        status = compare_places(p, err);
    if (status == ZS_OK && p->believed.has_transform)
        status = compare_coordinates(p, in_own_group ? mapping : NULL, err);
    zs_georef_clear(&p->believed);
    return status;
}

enum zs_status zs_check_place(struct zs_check *c, const struct zs_node *node, struct zs_error *err)
{
    struct place p = {.c = c, .node = node};
    if (node->array == NULL || node->array->ndim < 2 || zs_axes_find(c->h, node, NULL, NULL, &p.axes, err) != ZS_OK || p.axes.y < 0)
        return ZS_OK;
    p.width = node->array->shape[p.axes.x];
    p.height = node->array->shape[p.axes.y];
    p.key = zs_document_key(node->path);
    const enum zs_status status = p.key != NULL ? compare_all(&p, err) : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    free(p.key);
    return status;
}
