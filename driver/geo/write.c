#include "geo/write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>
#include <cpl_string.h>

#include "base/memory.h"
#include "geo/conventions.h"
#include "geo/crs.h"
#include "geo/meaning_parts.h"

/* ---- zarr_conventions ---- */

struct convention {
    const char *uuid, *name, *schema_url, *spec_url, *description;
};
/* Names and addresses drift, and a reader should go by the UUID; those of v1 are what GDAL and most stores have, and what rioxarray
 * (0.23) looks for. */
static const struct convention proj = {
    ZS_UUID_PROJ, "proj:", "https://raw.githubusercontent.com/zarr-conventions/geo-proj/refs/tags/v1/schema.json",
    "https://github.com/zarr-conventions/geo-proj/blob/v1/README.md",
    "Coordinate reference system information for geospatial data"};
static const struct convention spatial = {
    ZS_UUID_SPATIAL, "spatial:", "https://raw.githubusercontent.com/zarr-conventions/spatial/refs/tags/v1/schema.json",
    "https://github.com/zarr-conventions/spatial/blob/v1/README.md", "Spatial coordinate information"};
static const struct convention multiscales = {
    ZS_UUID_MULTISCALES, "multiscales",
    "https://raw.githubusercontent.com/zarr-conventions/multiscales/refs/tags/v1/schema.json",
    "https://github.com/zarr-conventions/multiscales/blob/v1/README.md", "Multiscale layout of zarr datasets"};

/* Whether an entry of zarr_conventions, named `key` where they are an object, is of the convention. */
static bool is_entry_of(const zs_json *entry, const char *key, const struct convention *convention)
{
    const char *uuid = key;
    zs_json_string(zs_json_get(entry, "uuid"), &uuid);
    return uuid != NULL && strcmp(uuid, convention->uuid) == 0;
}

/* Makes zarr_conventions name the convention once, or not at all, leaving the others. The object of the first draft
 * becomes the array that readers of today look for. */
static bool declare(zs_json *attributes, const struct convention *convention, bool is_wanted)
{
    const zs_json *old = zs_json_get(attributes, "zarr_conventions");
    const bool was_object = zs_json_is_object(old);
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL;
    for (const zs_json *e = zs_json_first(old); e != NULL && ok; e = zs_json_next(e)) {
        const char *key = was_object ? zs_json_name(e) : NULL;
        if (is_entry_of(e, key, convention))
            continue;
        zs_json *copy = zs_json_add(list, NULL, zs_json_copy(e));
        ok = copy != NULL;
        if (ok && key != NULL && zs_json_is_object(copy) && zs_json_get(copy, "uuid") == NULL)
            ok = zs_json_add_string(copy, "uuid", key) != NULL;
    }
    if (ok && is_wanted) {
        zs_json *e = zs_json_add_object(list, NULL);
        zs_json_add_string(e, "schema_url", convention->schema_url);
        zs_json_add_string(e, "spec_url", convention->spec_url);
        zs_json_add_string(e, "uuid", convention->uuid);
        zs_json_add_string(e, "name", convention->name);
        ok = zs_json_add_string(e, "description", convention->description) != NULL;
    }
    if (!ok || zs_json_size(list) == 0) {
        zs_json_free(list);
        zs_json_remove(attributes, "zarr_conventions");
        return ok;
    }
    return zs_json_set(attributes, "zarr_conventions", list) != NULL;
}

/* ---- spatial: ---- */

/* Origin that the convention wants: the corner, or with node registration the centre of the first pixel. */
static void convention_transform(const struct zs_georef_out *geo, double *t)
{
    memcpy(t, geo->transform, 6 * sizeof *t);
    if (geo->pixel_is_point) {
        t[0] += (t[1] + t[2]) / 2;
        t[3] += (t[4] + t[5]) / 2;
    }
}

static bool add_transform(zs_json *object, const double *t)
{
    zs_json *a = zs_json_add_array(object, "spatial:transform");
    const double order[6] = {t[1], t[2], t[0], t[4], t[5], t[3]};
    bool ok = true;
    for (int i = 0; i < 6; i++)
        ok &= zs_json_add_double(a, NULL, order[i]) != NULL;
    return ok;
}

static bool add_shape(zs_json *object, uint64_t height, uint64_t width)
{
    zs_json *a = zs_json_add_array(object, "spatial:shape");
    zs_json_add_uint64(a, NULL, height);
    return zs_json_add_uint64(a, NULL, width) != NULL;
}

static bool add_bbox(zs_json *object, const struct zs_georef_out *geo, const double *t)
{
    /* To the outer centres with node registration, else to the outer corners. */
    const double less = geo->pixel_is_point ? 1 : 0;
    const double cols = (double)geo->width - less, rows = (double)geo->height - less;
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int corner = 0; corner < 4; corner++) {
        const double col = corner & 1 ? cols : 0, row = corner & 2 ? rows : 0;
        const double at[2] = {t[0] + col * t[1] + row * t[2], t[3] + col * t[4] + row * t[5]};
        for (int i = 0; i < 2; i++) {
            low[i] = fmin(low[i], at[i]);
            high[i] = fmax(high[i], at[i]);
        }
    }
    zs_json *a = zs_json_add_array(object, "spatial:bbox");
    zs_json_add_double(a, NULL, low[0]);
    zs_json_add_double(a, NULL, low[1]);
    zs_json_add_double(a, NULL, high[0]);
    return zs_json_add_double(a, NULL, high[1]) != NULL;
}

static bool add_dimensions(zs_json *object, const struct zs_georef_out *geo)
{
    zs_json *a = zs_json_add_array(object, "spatial:dimensions");
    zs_json_add_string(a, NULL, geo->dim_y);
    return zs_json_add_string(a, NULL, geo->dim_x) != NULL;
}

static void remove_spatial_proj(zs_json *attributes)
{
    static const char *const names[] = {"spatial:dimensions", "spatial:transform", "spatial:transform_type", "spatial:shape",
                                        "spatial:bbox",       "spatial:registration", "proj:code", "proj:wkt2",
                                        "proj:projjson",      "proj:epsg", "proj:transform", "proj:bbox",
                                        "proj:shape"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        zs_json_remove(attributes, names[i]);
}

/* ---- proj: ---- */

/* "AUTHORITY:CODE" of the CRS when that alone gives the same CRS back; freed with free(), NULL otherwise. */
static char *exact_code(OGRSpatialReferenceH srs)
{
    const char *authority = OSRGetAuthorityName(srs, NULL), *code = OSRGetAuthorityCode(srs, NULL);
    if (authority == NULL || code == NULL)
        return NULL;
    char *text = zs_format("%s:%s", authority, code);
    OGRSpatialReferenceH again = text != NULL ? zs_crs_from_code(text) : NULL;
    /* The order of axes in data is our own business: both CRS are read in traditional order. */
    const char *const options[] = {"IGNORE_DATA_AXIS_TO_SRS_AXIS_MAPPING=YES", NULL};
    struct zs_quiet quiet;
    zs_quiet_begin(&quiet);
    const bool is_same = again != NULL && OSRIsSameEx(srs, again, options);
    zs_quiet_end(&quiet);
    if (again != NULL)
        OSRRelease(again);
    if (!is_same) {
        free(text);
        return NULL;
    }
    return text;
}

/* WKT of the CRS in the given form, freed with CPLFree(); NULL where it has none. */
static char *wkt_of(OGRSpatialReferenceH srs, const char *format)
{
    const char *const options[] = {format, NULL};
    char *wkt = NULL;
    struct zs_quiet quiet;
    zs_quiet_begin(&quiet);
    if (OSRExportToWktEx(srs, &wkt, options) != OGRERR_NONE || (wkt != NULL && wkt[0] == '\0')) {
        CPLFree(wkt);
        wkt = NULL;
    }
    zs_quiet_end(&quiet);
    return wkt;
}

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
    /* A CRS without PROJJSON (a local one, say) still has its WKT. */
    return json == NULL || zs_json_add(attributes, "proj:projjson", json) != NULL;
}

static bool add_proj(zs_json *attributes, OGRSpatialReferenceH srs, bool *is_declared)
{
    *is_declared = true;
    char *code = exact_code(srs);
    if (code != NULL) {
        const bool ok = zs_json_add_string(attributes, "proj:code", code) != NULL;
        free(code);
        return ok;
    }
    char *wkt = wkt_of(srs, "FORMAT=WKT2_2019");
    if (wkt == NULL) {
        *is_declared = false;
        return true;
    }
    bool ok = zs_json_add_string(attributes, "proj:wkt2", wkt) != NULL;
    CPLFree(wkt);
    return ok && add_projjson(attributes, srs);
}

enum zs_status zs_write_spatial_proj(zs_json *attributes, const struct zs_georef_out *geo, struct zs_error *err)
{
    remove_spatial_proj(attributes);
    bool ok = true, declares_proj = false;
    if (geo->has_transform) {
        double t[6];
        convention_transform(geo, t);
        ok = add_dimensions(attributes, geo) && add_transform(attributes, t) &&
             zs_json_add_string(attributes, "spatial:transform_type", "affine") != NULL &&
             add_shape(attributes, geo->height, geo->width) && add_bbox(attributes, geo, t) &&
             zs_json_add_string(attributes, "spatial:registration", geo->pixel_is_point ? "node" : "pixel") != NULL;
    }
    if (ok && geo->srs != NULL)
        ok = add_proj(attributes, geo->srs, &declares_proj);
    ok = ok && declare(attributes, &spatial, geo->has_transform) && declare(attributes, &proj, declares_proj);
    return ok ? ZS_OK : zs_no_memory(err);
}

/* ---- multiscales ---- */

enum zs_status zs_write_level_place(zs_json *entry, const struct zs_georef_out *geo, struct zs_error *err)
{
    static const char *const crs[] = {"proj:code", "proj:wkt2", "proj:projjson", "proj:epsg"};
    bool ok = true, had_crs = false, ignored;
    for (size_t i = 0; i < sizeof crs / sizeof crs[0]; i++) {
        had_crs = had_crs || zs_json_get(entry, crs[i]) != NULL;
        zs_json_remove(entry, crs[i]);
    }
    if (had_crs && geo->srs != NULL)
        ok = add_proj(entry, geo->srs, &ignored);
    const bool had_bbox = zs_json_get(entry, "spatial:bbox") != NULL;
    const bool had_transform = zs_json_get(entry, "spatial:transform") != NULL;
    if (!had_bbox && !had_transform)
        return ok ? ZS_OK : zs_no_memory(err);
    static const char *const place[] = {"spatial:transform", "spatial:bbox", "spatial:registration", "spatial:transform_type"};
    for (size_t i = 0; i < sizeof place / sizeof place[0]; i++)
        zs_json_remove(entry, place[i]);
    if (ok && geo->has_transform) {
        double t[6];
        convention_transform(geo, t);
        ok = (!had_transform || add_transform(entry, t)) && (!had_bbox || add_bbox(entry, geo, t)) &&
             zs_json_add_string(entry, "spatial:registration", geo->pixel_is_point ? "node" : "pixel") != NULL;
    }
    return ok ? ZS_OK : zs_no_memory(err);
}

static bool add_level(zs_json *layout, const struct zs_georef_out *geo, size_t i, const char *const *paths,
                      const uint64_t *widths, const uint64_t *heights, const char *resampling)
{
    zs_json *e = zs_json_add_object(layout, NULL);
    zs_json_add_string(e, "asset", paths[i]);
    if (i > 0)
        zs_json_add_string(e, "derived_from", paths[i - 1]);
    zs_json *transform = zs_json_add_object(e, "transform");
    /* One number per dimension: GDAL 3.13 and xarray's pyramids have it so for arrays of more than two. */
    const int ndim = geo->ndim > 0 ? geo->ndim : 2, x = geo->ndim > 0 ? geo->x : 1, y = geo->ndim > 0 ? geo->y : 0;
    zs_json *scale = zs_json_add_array(transform, "scale");
    for (int d = 0; d < ndim; d++)
        zs_json_add_double(scale, NULL,
                           i == 0   ? 1.0
                           : d == y ? (double)heights[i - 1] / (double)heights[i]
                           : d == x ? (double)widths[i - 1] / (double)widths[i]
                                    : 1.0);
    zs_json *translation = zs_json_add_array(transform, "translation");
    bool ok = translation != NULL;
    for (int d = 0; d < ndim && ok; d++)
        ok = zs_json_add_double(translation, NULL, 0.0) != NULL;
    if (i > 0 && resampling != NULL)
        ok = ok && zs_json_add_string(e, "resampling_method", resampling) != NULL;
    if (geo->dim_x != NULL) {
        ok = ok && add_shape(e, heights[i], widths[i]);
        if (ok && geo->has_transform) {
            struct zs_georef_out level = *geo;
            double t[6];
            level.transform[1] *= (double)widths[0] / (double)widths[i];
            level.transform[4] *= (double)widths[0] / (double)widths[i];
            level.transform[2] *= (double)heights[0] / (double)heights[i];
            level.transform[5] *= (double)heights[0] / (double)heights[i];
            convention_transform(&level, t);
            ok = add_transform(e, t);
            if (ok && geo->pixel_is_point)
                ok = zs_json_add_string(e, "spatial:registration", "node") != NULL;
        }
    }
    return ok;
}

enum zs_status zs_write_multiscales(zs_json *group_attributes, const struct zs_georef_out *geo, size_t levels,
                                    const char *const *paths, const uint64_t *widths, const uint64_t *heights,
                                    const char *resampling, struct zs_error *err)
{
    zs_json_remove(group_attributes, "multiscales");
    bool ok = true;
    if (levels > 0) {
        zs_json *m = zs_json_add_object(group_attributes, "multiscales");
        zs_json *layout = zs_json_add_array(m, "layout");
        ok = layout != NULL;
        for (size_t i = 0; i < levels && ok; i++)
            ok = add_level(layout, geo, i, paths, widths, heights, resampling);
        if (ok && resampling != NULL)
            ok = zs_json_add_string(m, "resampling_method", resampling) != NULL;
    }
    ok = ok && declare(group_attributes, &multiscales, levels > 0);
    return ok ? ZS_OK : zs_no_memory(err);
}

/* ---- CF ---- */

static bool set(zs_json *object, const char *name, zs_json *value)
{
    return value != NULL && zs_json_set(object, name, value) != NULL;
}

static bool set_string(zs_json *object, const char *name, const char *value)
{
    zs_json_remove(object, name);
    return zs_json_add_string(object, name, value) != NULL;
}

static bool set_double(zs_json *object, const char *name, double value)
{
    zs_json_remove(object, name);
    return zs_json_add_double(object, name, value) != NULL;
}

/* CF names of projections whose parameters map one to one (CF appendix F). */
static bool add_cf_parameters(zs_json *attributes, OGRSpatialReferenceH srs)
{
    static const struct {
        const char *wkt, *cf;
        const char *parameters[5][2]; /* WKT, CF */
    } known[] = {
        {"Transverse_Mercator", "transverse_mercator",
         {{"latitude_of_origin", "latitude_of_projection_origin"}, {"central_meridian", "longitude_of_central_meridian"},
          {"scale_factor", "scale_factor_at_central_meridian"}}},
        {"Lambert_Azimuthal_Equal_Area", "lambert_azimuthal_equal_area",
         {{"latitude_of_center", "latitude_of_projection_origin"}, {"longitude_of_center", "longitude_of_projection_origin"}}},
        {"Mercator_1SP", "mercator",
         {{"central_meridian", "longitude_of_projection_origin"}, {"scale_factor", "scale_factor_at_projection_origin"}}},
    };
    bool ok = true;
    if (OSRIsGeographic(srs))
        ok = set_string(attributes, "grid_mapping_name", "latitude_longitude");
    const char *projection = OSRIsProjected(srs) ? OSRGetAttrValue(srs, "PROJECTION", 0) : NULL;
    for (size_t i = 0; projection != NULL && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(projection, known[i].wkt) != 0)
            continue;
        ok = set_string(attributes, "grid_mapping_name", known[i].cf);
        for (int p = 0; p < 5 && known[i].parameters[p][0] != NULL; p++)
            ok = ok && set_double(attributes, known[i].parameters[p][1],
                                  OSRGetNormProjParm(srs, known[i].parameters[p][0], 0, NULL));
        ok = ok && set_double(attributes, "false_easting", OSRGetProjParm(srs, "false_easting", 0, NULL)) &&
             set_double(attributes, "false_northing", OSRGetProjParm(srs, "false_northing", 0, NULL));
    }
    OGRErr result = OGRERR_NONE;
    const double a = OSRGetSemiMajor(srs, &result);
    if (ok && result == OGRERR_NONE && (OSRIsGeographic(srs) || OSRIsProjected(srs)))
        ok = set_double(attributes, "semi_major_axis", a) &&
             set_double(attributes, "inverse_flattening", OSRGetInvFlattening(srs, NULL));
    return ok;
}

enum zs_status zs_write_grid_mapping(zs_json *attributes, const struct zs_georef_out *geo, struct zs_error *err)
{
    bool ok = true;
    if (geo->srs != NULL) {
        char *wkt = wkt_of(geo->srs, "FORMAT=WKT2_2019");
        /* crs_wkt may be either (CF 5.6.1); spatial_ref is GDAL's, whose older versions read WKT 1 best. */
        char *old = wkt_of(geo->srs, "FORMAT=WKT1_GDAL");
        ok = wkt == NULL || set_string(attributes, "crs_wkt", wkt);
        if (ok && (old != NULL || wkt != NULL))
            ok = set_string(attributes, "spatial_ref", old != NULL ? old : wkt);
        CPLFree(wkt);
        CPLFree(old);
        struct zs_quiet quiet;
        zs_quiet_begin(&quiet);
        ok = ok && add_cf_parameters(attributes, geo->srs);
        zs_quiet_end(&quiet);
    }
    if (ok && geo->has_transform) {
        const double *t = geo->transform;
        char text[256];
        CPLsnprintf(text, sizeof text, "%.17g %.17g %.17g %.17g %.17g %.17g", t[0], t[1], t[2], t[3], t[4], t[5]);
        ok = set_string(attributes, "GeoTransform", text);
    }
    return ok ? ZS_OK : zs_no_memory(err);
}

static bool is_word(const char *text, size_t n, const char *word)
{
    return word != NULL && strlen(word) == n && memcmp(text, word, n) == 0;
}

/* A list (taken over) with one more word. */
static char *longer_list(char *list, const char *word, size_t n)
{
    char *longer = zs_format("%s%s%.*s", list, list[0] != '\0' ? " " : "", (int)n, word);
    free(list);
    return longer;
}

/* `coordinates` without one word and with another; either may be NULL. */
static bool change_coordinates(zs_json *attributes, const char *without, const char *with)
{
    const char *word = "";
    char *text = zs_strdup("");
    zs_json_string(zs_json_get(attributes, "coordinates"), &word);
    for (size_t n; *word != '\0' && text != NULL; word += n) {
        word += strspn(word, " ");
        n = strcspn(word, " ");
        if (n > 0 && !is_word(word, n, without) && !is_word(word, n, with))
            text = longer_list(text, word, n);
    }
    if (text != NULL && with != NULL)
        text = longer_list(text, with, strlen(with));
    bool ok = text != NULL;
    zs_json_remove(attributes, "coordinates");
    if (ok && text[0] != '\0')
        ok = zs_json_add_string(attributes, "coordinates", text) != NULL;
    free(text);
    return ok;
}

enum zs_status zs_write_grid_mapping_name(zs_json *attributes, const char *name, struct zs_error *err)
{
    const char *old = NULL;
    zs_json_string(zs_json_get(attributes, "grid_mapping"), &old);
    bool ok = change_coordinates(attributes, old, name);
    zs_json_remove(attributes, "grid_mapping");
    if (ok && name != NULL)
        ok = zs_json_add_string(attributes, "grid_mapping", name) != NULL;
    return ok ? ZS_OK : zs_no_memory(err);
}

enum zs_status zs_write_coordinate(zs_json *attributes, const struct zs_georef_out *geo, bool is_x, struct zs_error *err)
{
    const bool is_geographic = geo->srs != NULL && OSRIsGeographic(geo->srs);
    const bool is_projected = geo->srs != NULL && OSRIsProjected(geo->srs);
    bool ok = set_string(attributes, "axis", is_x ? "X" : "Y");
    if (ok && is_geographic) {
        ok = set_string(attributes, "standard_name", is_x ? "longitude" : "latitude") &&
             set_string(attributes, "long_name", is_x ? "longitude" : "latitude") &&
             set_string(attributes, "units", is_x ? "degrees_east" : "degrees_north");
    } else if (ok && is_projected) {
        char *unit = NULL; /* borrowed from the CRS */
        const double metres = OSRGetLinearUnits(geo->srs, &unit);
        ok = set_string(attributes, "standard_name", is_x ? "projection_x_coordinate" : "projection_y_coordinate") &&
             set_string(attributes, "long_name", is_x ? "x coordinate of projection" : "y coordinate of projection") &&
             set_string(attributes, "units", metres == 1 ? "m" : metres == 1000 ? "km" : unit != NULL ? unit : "m");
    }
    return ok ? ZS_OK : zs_no_memory(err);
}

/* ---- What the values mean ---- */

/* Base64 of the eight bytes of a double, little-endian; 12 characters and a zero. */
static void base64_of_double(double value, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint64_t bits;
    unsigned char b[9] = {0};
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; i++)
        b[i] = (unsigned char)(bits >> (8 * i));
    for (int i = 0; i < 3; i++) {
        const unsigned v = (unsigned)b[3 * i] << 16 | (unsigned)b[3 * i + 1] << 8 | b[3 * i + 2];
        for (int j = 0; j < 4; j++)
            out[4 * i + j] = digits[v >> (18 - 6 * j) & 63];
    }
    out[11] = '='; /* the ninth byte is not there */
    out[12] = '\0';
}

enum zs_status zs_write_nodata(zs_json *attributes, const struct zs_dtype *dtype, const void *value, struct zs_error *err)
{
    zs_json_remove(attributes, "_FillValue");
    zs_json_remove(attributes, "missing_value");
    zs_json_remove(attributes, ZS_NO_NODATA_ATTRIBUTE);
    if (value == NULL)
        return zs_json_add_bool(attributes, ZS_NO_NODATA_ATTRIBUTE, true) != NULL ? ZS_OK : zs_no_memory(err);
    char text[13];
    const bool is_complex = dtype->type == ZS_COMPLEX64 || dtype->type == ZS_COMPLEX128;
    bool ok;
    if (is_complex) {
        const struct zs_dtype part = zs_dtype_of(dtype->type == ZS_COMPLEX64 ? ZS_FLOAT32 : ZS_FLOAT64);
        zs_json *pair = zs_json_add_array(attributes, "_FillValue");
        ok = pair != NULL;
        for (size_t i = 0; i < 2 && ok; i++) {
            base64_of_double(zs_dtype_to_double(&part, (const unsigned char *)value + i * part.size), text);
            ok = zs_json_add_string(pair, NULL, text) != NULL;
        }
    } else if (dtype->type == ZS_FLOAT16 || dtype->type == ZS_FLOAT32 || dtype->type == ZS_FLOAT64) {
        base64_of_double(zs_dtype_to_double(dtype, value), text);
        ok = zs_json_add_string(attributes, "_FillValue", text) != NULL;
    } else {
        ok = zs_fill_value_add(attributes, "_FillValue", dtype, value) != NULL;
    }
    return ok ? ZS_OK : zs_no_memory(err);
}

/* A name as one of CF's words, which have no spaces; *changed when it is not the same any more. */
static char *cf_word(const char *name, bool *changed)
{
    char *word = zs_strdup(name);
    for (char *p = word; p != NULL && *p != '\0'; p++)
        if (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') {
            *p = '_';
            *changed = true;
        }
    return word;
}

static bool write_categories(zs_json *attributes, char *const *categories)
{
    zs_json *values = zs_json_new_array(), *names = zs_json_new_array();
    struct zs_buffer words = {0};
    bool ok = values != NULL && names != NULL, changed = false;
    for (size_t i = 0; ok && categories[i] != NULL; i++) {
        ok = zs_json_add_string(names, NULL, categories[i]) != NULL;
        if (categories[i][0] == '\0')
            continue;
        char *word = cf_word(categories[i], &changed);
        ok = ok && word != NULL && zs_json_add_uint64(values, NULL, i) != NULL &&
             (words.size == 0 || zs_buffer_append(&words, " ", 1, NULL) == ZS_OK) &&
             zs_buffer_append(&words, word, strlen(word), NULL) == ZS_OK;
        free(word);
    }
    ok = ok && zs_buffer_append(&words, "", 1, NULL) == ZS_OK;
    /* Unnamed values at the end have no flag, and the list keeps them, too. */
    const size_t n = zs_json_size(names);
    changed = changed || (n > 0 && zs_json_equals(zs_json_at(names, n - 1), ""));
    if (ok && zs_json_size(values) > 0) {
        ok = set_string(attributes, "flag_meanings", (const char *)words.data) && set(attributes, "flag_values", values);
        values = NULL;
    }
    if (ok && changed) {
        ok = set(attributes, "gdal:categories", names);
        names = NULL;
    }
    zs_json_free(values);
    zs_json_free(names);
    zs_buffer_free(&words);
    return ok;
}

static bool write_metadata(zs_json *attributes, char *const *metadata)
{
    for (; *metadata != NULL; metadata++) {
        const char *equals = strchr(*metadata, '=');
        if (equals == NULL || equals == *metadata)
            continue;
        char *name = zs_strndup(*metadata, (size_t)(equals - *metadata));
        bool ok = name != NULL;
        /* What the conventions own, and what was written just before, is not replaced. */
        if (ok && !zs_is_convention_attribute(name) && zs_json_get(attributes, name) == NULL)
            ok = zs_json_add_string(attributes, name, equals + 1) != NULL;
        free(name);
        if (!ok)
            return false;
    }
    return true;
}

const char *zs_meaning_colour_name(const struct zs_meaning *meaning)
{
    return meaning->colour_name != NULL ? meaning->colour_name : zs_colour_name(meaning->colour);
}

bool zs_colour_table_write(zs_json *object, const char *name, const struct zs_colour_entry *table, size_t count)
{
    zs_json_remove(object, name);
    if (count == 0 || count > ZS_MAX_COLOURS)
        return true;
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL;
    for (size_t i = 0; i < count && ok; i++) {
        zs_json *e = zs_json_add_array(list, NULL);
        zs_json_add_int64(e, NULL, table[i].r);
        zs_json_add_int64(e, NULL, table[i].g);
        zs_json_add_int64(e, NULL, table[i].b);
        ok = zs_json_add_int64(e, NULL, table[i].a) != NULL;
    }
    if (!ok) {
        zs_json_free(list);
        return false;
    }
    return zs_json_add(object, name, list) != NULL;
}

enum zs_status zs_write_meaning(zs_json *attributes, const struct zs_meaning *meaning, struct zs_error *err)
{
    bool ok = true;
    if (meaning->has_scale)
        ok = ok && set_double(attributes, "scale_factor", meaning->scale);
    if (meaning->has_offset)
        ok = ok && set_double(attributes, "add_offset", meaning->offset);
    if (meaning->unit != NULL)
        ok = ok && set_string(attributes, "units", meaning->unit);
    if (meaning->description != NULL)
        ok = ok && set_string(attributes, "long_name", meaning->description);
    if (zs_meaning_colour_name(meaning) != NULL)
        ok = ok && set_string(attributes, "COLOR_INTERPRETATION", zs_meaning_colour_name(meaning));
    if (meaning->colour_table != NULL)
        ok = ok && zs_colour_table_write(attributes, "gdal:color_table", meaning->colour_table, meaning->colour_count);
    if (meaning->categories != NULL)
        ok = ok && write_categories(attributes, meaning->categories);
    if (meaning->metadata != NULL)
        ok = ok && write_metadata(attributes, meaning->metadata);
    return ok ? ZS_OK : zs_no_memory(err);
}
