#include "geo/conventions.h"

#include <stdlib.h>

#include <cpl_conv.h>

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

void zs_proj_find_crs(struct zs_search *search)
{
    for (int p = 0; p < search->scope.sources && search->out->srs == NULL; p++)
        search->out->srs = zs_proj_crs(search->scope.source[p].members);
}

void zs_proj_find_epsg(struct zs_search *search)
{
    int64_t code;
    for (int p = 0; p < search->scope.sources && search->out->srs == NULL; p++)
        if (zs_json_int64(zs_json_get(search->scope.source[p].members, "proj:epsg"), &code))
            search->out->srs = zs_crs_from_epsg(code);
}

/* ---- Writing ---- */

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
    const bool ok = zs_json_add_string(members, "proj:wkt2", wkt) != NULL;
    CPLFree(wkt);
    return ok;
}

bool zs_proj_write(zs_json *attributes, OGRSpatialReferenceH srs)
{
    bool has_any = false;
    zs_convention_remove_members(&zs_proj, attributes);
    return (srs == NULL || add_crs(attributes, srs, &has_any)) &&
           zs_convention_declare(&zs_proj, attributes, has_any);
}

/* The name is that of v1, which GDAL and most stores have, and what rioxarray (0.23) looks for. */
const struct zs_convention zs_proj = {
    .uuid = "f17cb550-5864-4468-aeb7-f3180cfb622f",
    .name = "proj:",
    .prefix = "proj:",
};
