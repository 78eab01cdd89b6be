#include "geo/conventions.h"

#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>

#include "geo/crs.h"

/* ---- Reading ---- */

/* Code, WKT, PROJJSON, in this order; any may be null. */
OGRSpatialReferenceH zs_proj_crs(const zs_json *members)
{
    static const char *const names[] = {"proj:code", "proj:wkt2", "proj:projjson"};
    OGRSpatialReferenceH srs = NULL;
    for (int i = 0; i < 3 && srs == NULL; i++)
        srs = zs_crs_from_json(zs_json_get(members, names[i]));
    return srs;
}

static void find_crs(struct zs_search *search, enum zs_priority priority)
{
    int64_t code;
    for (int p = 0; p < search->scope.sources && search->out->srs == NULL; p++) {
        const zs_json *members = search->scope.source[p].members;
        if (priority == ZS_DECLARED || priority == ZS_STATED)
            search->out->srs = zs_proj_crs(members);
        else if (priority == ZS_PARTIAL && zs_json_int64(zs_json_get(members, "proj:epsg"), &code))
            search->out->srs = zs_crs_from_epsg(code);
    }
}

/* Drafts before the spatial convention kept a transform on each array as `proj:transform` (six or nine numbers).
 * Copies of it have wandered to arrays of other sizes, so it counts only with a `proj:shape` that is the array's. */
static enum zs_status find_transform(struct zs_search *search, enum zs_priority priority, struct zs_error *err)
{
    (void)err;
    const zs_json *members = search->node->attributes;
    double a[9], shape[2];
    const zs_json *transform = zs_json_get(members, "proj:transform");
    if (priority != ZS_PARTIAL)
        return ZS_OK;
    if (!zs_json_doubles(transform, a, 9) && !zs_json_doubles(transform, a, 6))
        return ZS_OK;
    if (!zs_json_doubles(zs_json_get(members, "proj:shape"), shape, 2) || shape[0] != (double)search->height ||
        shape[1] != (double)search->width)
        return ZS_OK;
    const double t[6] = {a[2], a[0], a[1], a[5], a[3], a[4]};
    (void)!zs_search_take(search, t);
    return ZS_OK;
}

/* ---- Writing ---- */

static bool add_projjson(zs_json *attributes, OGRSpatialReferenceH srs)
{
    char *text = NULL;
    zs_json *json = NULL;
    struct zs_quiet quiet;
    zs_quiet_begin(&quiet);
    if (OSRExportToPROJJSON(srs, &text, NULL) != OGRERR_NONE) {
        CPLFree(text);
        text = NULL;
    }
    zs_quiet_end(&quiet);
    if (text != NULL && zs_json_parse(text, strlen(text), &json, NULL) != ZS_OK)
        json = NULL;
    CPLFree(text);
    /* A CRS without PROJJSON (a local one, for instance) still has its WKT. */
    return json == NULL || zs_json_add(attributes, "proj:projjson", json) != NULL;
}

/* Sets *has_any where the convention has a form for the CRS. */
static bool add_crs(zs_json *members, OGRSpatialReferenceH srs, bool *has_any)
{
    *has_any = true;
    char *code = zs_crs_to_code(srs);
    if (code != NULL) {
        const bool ok = zs_json_add_string(members, "proj:code", code) != NULL;
        free(code);
        return ok;
    }
    char *wkt = zs_crs_to_wkt(srs, "FORMAT=WKT2_2019");
    if (wkt == NULL) {
        *has_any = false;
        return true;
    }
    bool ok = zs_json_add_string(members, "proj:wkt2", wkt) != NULL;
    CPLFree(wkt);
    return ok && add_projjson(members, srs);
}

bool zs_proj_write(zs_json *attributes, OGRSpatialReferenceH srs, bool is_group)
{
    bool has_any = false;
    zs_convention_remove_members(&zs_proj, attributes);
    return (srs == NULL || add_crs(attributes, srs, &has_any)) &&
           zs_convention_declare(&zs_proj, attributes, has_any, !is_group);
}

static const char *const repositories[] = {"proj", "geo-proj", NULL};

/* Names and addresses are those of v1, which GDAL and most stores have, and what rioxarray (0.23) looks for. */
const struct zs_convention zs_proj = {
    .uuid = "f17cb550-5864-4468-aeb7-f3180cfb622f",
    .name = "proj:",
    .schema_url = "https://raw.githubusercontent.com/zarr-conventions/geo-proj/refs/tags/v1/schema.json",
    .spec_url = "https://github.com/zarr-conventions/geo-proj/blob/v1/README.md",
    .repositories = repositories,
    .description = "Coordinate reference system information for geospatial data",
    .prefix = "proj:",
    .find_transform = find_transform,
    .find_crs = find_crs,
};
