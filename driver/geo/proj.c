#include "geo/conventions.h"

#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>

#define PREFIX "proj:"

/* ---- Reading ---- */

bool zs_proj_is_member(const char *name)
{
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0;
}

bool zs_proj_is_declared(const zs_json *members)
{
    const zs_json *m = zs_json_first(members);
    while (m != NULL && !zs_proj_is_member(zs_json_name(m)))
        m = zs_json_next(m);
    return m != NULL;
}

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

/* The name is that of v1, which GDAL and most stores have, and what rioxarray (0.23) looks for. */
static const struct zs_convention convention = {"f17cb550-5864-4468-aeb7-f3180cfb622f", PREFIX};

void zs_proj_remove(zs_json *members)
{
    const zs_json *next;
    for (const zs_json *m = zs_json_first(members); m != NULL; m = next) {
        next = zs_json_next(m);
        if (zs_proj_is_member(zs_json_name(m)))
            zs_json_remove(members, zs_json_name(m));
    }
}

/* By its code, else as WKT; a CRS that has neither is not declared. */
bool zs_proj_write(zs_json *attributes, OGRSpatialReferenceH srs)
{
    char *code = srs != NULL ? zs_crs_to_code(srs) : NULL;
    char *wkt = srs != NULL && code == NULL ? zs_crs_to_wkt(srs, "FORMAT=WKT2_2019") : NULL;
    zs_proj_remove(attributes);
    const bool ok = (code == NULL || zs_json_add_string(attributes, "proj:code", code) != NULL) &&
                    (wkt == NULL || zs_json_add_string(attributes, "proj:wkt2", wkt) != NULL) &&
                    zs_convention_declare(&convention, attributes, code != NULL || wkt != NULL);
    free(code);
    CPLFree(wkt);
    return ok;
}
