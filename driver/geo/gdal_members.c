#include "geo/conventions.h"

#include <cpl_conv.h>

#include "geo/bands.h"

#define GEOTRANSFORM "gdal:geotransform"

static OGRSpatialReferenceH crs_of_wkt(const zs_json *attribute)
{
    const char *text;
    return zs_json_one_text(attribute, &text) ? zs_crs_from_wkt(text) : NULL;
}

void zs_gdal_find_crs(struct zs_search *search)
{
    static const char *const members[] = {"url", "wkt", "projjson"};
    const zs_json *crs = zs_json_get(search->node->attributes, "_CRS");
    search->out->srs = crs_of_wkt(crs);
    for (int i = 0; i < 3 && search->out->srs == NULL; i++)
        search->out->srs = zs_crs_from_json(zs_json_get(crs, members[i]));
    if (search->out->srs == NULL)
        search->out->srs = crs_of_wkt(zs_scope_inherited(&search->scope, 0, "crs"));
}

void zs_gdal_find_transform(struct zs_search *search)
{
    double t[6];
    if (zs_json_doubles(zs_json_get(search->node->attributes, GEOTRANSFORM), t, 6))
        (void)!zs_search_take(search, t);
}

enum zs_status zs_gdal_members_write(zs_json *attributes, const struct zs_georef_out *geo, struct zs_error *err)
{
    const bool had_transform = zs_json_get(attributes, GEOTRANSFORM) != NULL;
    bool ok = true;
    if (!geo->keeps_transform)
        zs_json_remove(attributes, GEOTRANSFORM);
    if (!geo->keeps_transform && geo->has_transform && (had_transform || geo->dim_x == NULL))
        ok = zs_set_doubles(attributes, GEOTRANSFORM, geo->transform, 6);
    if (zs_json_get(attributes, "_CRS") != NULL && !geo->keeps_srs) {
        char *wkt = geo->srs != NULL ? zs_crs_to_wkt(geo->srs, "FORMAT=WKT2_2019") : NULL;
        zs_json_remove(attributes, "_CRS");
        ok = ok && (wkt == NULL || zs_json_add_string(zs_json_add_object(attributes, "_CRS"), "wkt", wkt) != NULL);
        CPLFree(wkt);
    }
    const bool is_unset = !geo->keeps_srs && geo->srs == NULL;
    OGRSpatialReferenceH other = is_unset ? crs_of_wkt(zs_json_get(attributes, "crs")) : NULL;
    if (other != NULL) { /* it would count now */
        zs_json_remove(attributes, "crs");
        OSRRelease(other);
    }
    return ok ? ZS_OK : zs_fail_memory(err);
}
