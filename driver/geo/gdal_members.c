#include "geo/conventions.h"

#include <string.h>

#include <cpl_conv.h>

#include "geo/band_properties.h"
#include "geo/crs.h"

#define GEOTRANSFORM "gdal:geotransform"

static void find_crs(struct zs_search *search, enum zs_priority priority)
{
    const zs_json *crs = zs_json_get(search->node->attributes, "_CRS");
    const char *text;
    /* Writers of xarray leave it on the array or the data set. */
    if (priority == ZS_PARTIAL && zs_json_one_text(zs_scope_inherited(&search->scope, 0, "crs"), &text))
        search->out->srs = zs_crs_from_wkt(text);
    if (priority != ZS_STATED)
        return;
    if (zs_json_one_text(crs, &text))
        search->out->srs = zs_crs_from_wkt(text);
    if (search->out->srs == NULL && zs_json_string(zs_json_get(crs, "url"), &text))
        search->out->srs = zs_crs_from_url(text);
    if (search->out->srs == NULL && zs_json_string(zs_json_get(crs, "wkt"), &text))
        search->out->srs = zs_crs_from_wkt(text);
    if (search->out->srs == NULL)
        search->out->srs = zs_crs_from_projjson(zs_json_get(crs, "projjson"));
}

static enum zs_status find_transform(struct zs_search *search, enum zs_priority priority, struct zs_error *err)
{
    double t[6];
    (void)err;
    if (priority == ZS_STATED && zs_json_doubles(zs_json_get(search->node->attributes, GEOTRANSFORM), t, 6))
        (void)!zs_search_take(search, t);
    return ZS_OK;
}

static bool add_transform(zs_json *members, const double *transform)
{
    zs_json_remove(members, GEOTRANSFORM);
    zs_json *list = zs_json_add_array(members, GEOTRANSFORM);
    bool ok = list != NULL;
    for (int i = 0; i < 6 && ok; i++)
        ok = zs_json_add_double(list, NULL, transform[i]) != NULL;
    return ok;
}

enum zs_status zs_gdal_transform_write(zs_json *attributes, const double *transform, struct zs_error *err)
{
    return add_transform(attributes, transform) ? ZS_OK : zs_fail_memory(err);
}

/* Updates these members of an array where they exist; they come from stores older than other conventions. */
static enum zs_status change(zs_json *members, enum zs_source_kind kind, const struct zs_georef_out *geo,
                             struct zs_error *err)
{
    bool ok = true;
    if (kind != ZS_SOURCE_ARRAY)
        return ZS_OK;
    if (zs_json_get(members, GEOTRANSFORM) != NULL && !geo->keeps_transform) {
        if (geo->has_transform)
            ok = add_transform(members, geo->transform);
        else
            zs_json_remove(members, GEOTRANSFORM);
    }
    if (zs_json_get(members, "_CRS") != NULL && !geo->keeps_srs) {
        char *wkt = geo->srs != NULL ? zs_crs_to_wkt(geo->srs, "FORMAT=WKT2_2019") : NULL;
        zs_json_remove(members, "_CRS");
        ok = ok && (wkt == NULL || zs_json_add_string(zs_json_add_object(members, "_CRS"), "wkt", wkt) != NULL);
        CPLFree(wkt);
    }
    if (!geo->keeps_srs && geo->srs == NULL && strchr(zs_json_text(members, "crs", ""), '[') != NULL)
        zs_json_remove(members, "crs");
    return ok ? ZS_OK : zs_fail_memory(err);
}

static enum zs_status visit(struct zs_search *search, const struct zs_georef_visitor *visitor, struct zs_error *err)
{
    const zs_json *crs = zs_json_get(search->node->attributes, "_CRS"), *projjson = zs_json_get(crs, "projjson");
    const char *path = search->node->path, *text;
    double t[6];
    if (zs_json_string(zs_json_get(crs, "wkt"), &text))
        ZS_TRY(visitor->crs(visitor->context, path, "wkt", zs_crs_from_wkt(text), false, err));
    if (zs_json_typeof(projjson) != ZS_JSON_NULL)
        ZS_TRY(visitor->crs(visitor->context, path, "projjson", zs_crs_from_projjson(projjson), false, err));
    if (zs_json_string(zs_json_get(crs, "url"), &text))
        ZS_TRY(visitor->crs(visitor->context, path, "url", zs_crs_from_url(text), false, err));
    if (zs_json_doubles(zs_json_get(search->node->attributes, GEOTRANSFORM), t, 6))
        ZS_TRY(visitor->transform(visitor->context, path, GEOTRANSFORM, t, err));
    return ZS_OK;
}

static const char *const owned[] = {"_CRS",
                                    GEOTRANSFORM,
                                    "gdal:categories",
                                    "gdal:bands",
                                    "gdal:metadata_domains",
                                    ZS_GCPS_ATTRIBUTE,
                                    ZS_ITEMS_ATTRIBUTE,
                                    "gdal:color_table",
                                    "color_interpretation",
                                    "COLOR_INTERPRETATION",
                                    ZS_NO_NODATA_ATTRIBUTE,
                                    NULL};
static const char *const georef_members[] = {"_CRS", GEOTRANSFORM, NULL};
static const char *const spell_checked[] = {"gdal:bands", "gdal:color_table", NULL};

const struct zs_convention zs_gdal_members = {
    .name = "GDAL",
    .owned = owned,
    .georef_members = georef_members,
    .spell_checked = spell_checked,
    .find_transform = find_transform,
    .find_crs = find_crs,
    .change = change,
    .visit = visit,
};
