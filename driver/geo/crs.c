#include "geo/crs.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cpl_conv.h>
#include <cpl_string.h>

#include "base/memory.h"

void zs_quiet_begin(struct zs_quiet *quiet)
{
    quiet->type = CPLGetLastErrorType();
    quiet->number = CPLGetLastErrorNo();
    quiet->message = zs_strdup(CPLGetLastErrorMsg());
    CPLPushErrorHandler(CPLQuietErrorHandler);
}

void zs_quiet_end(struct zs_quiet *quiet)
{
    CPLPopErrorHandler();
    CPLErrorSetState(quiet->type, quiet->number, quiet->message != NULL ? quiet->message : "");
    free(quiet->message);
}

/* Hands out `srs` when the import went well, else releases it. */
static OGRSpatialReferenceH finish(OGRSpatialReferenceH srs, OGRErr result)
{
    if (srs != NULL && result != OGRERR_NONE) {
        OSRRelease(srs);
        return NULL;
    }
    if (srs != NULL)
        OSRSetAxisMappingStrategy(srs, OAMS_TRADITIONAL_GIS_ORDER);
    return srs;
}

typedef OGRErr (*import_fn)(OGRSpatialReferenceH srs, const char *text);

static OGRSpatialReferenceH import_text(const char *text, import_fn import)
{
    struct zs_quiet quiet;
    zs_quiet_begin(&quiet);
    OGRSpatialReferenceH srs = OSRNewSpatialReference(NULL);
    srs = finish(srs, srs != NULL ? import(srs, text) : OGRERR_NOT_ENOUGH_MEMORY);
    zs_quiet_end(&quiet);
    return srs;
}

OGRSpatialReferenceH zs_crs_from_code(const char *code)
{
    /* OSRSetFromUserInput() also opens files and URLs: only "AUTHORITY:CODE" of harmless characters may reach it. */
    const char *colon = code != NULL ? strchr(code, ':') : NULL;
    if (colon == NULL || colon == code || colon[1] == '\0' || strlen(code) > 64)
        return NULL;
    for (const char *p = code; *p != '\0'; p++)
        if (!((*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') || strchr("_-.", *p) ||
              p == colon))
            return NULL;
    return import_text(code, OSRSetFromUserInput);
}

OGRSpatialReferenceH zs_crs_from_epsg(int64_t code)
{
    char text[40];
    if (code <= 0)
        return NULL;
    snprintf(text, sizeof text, "EPSG:%lld", (long long)code);
    return zs_crs_from_code(text);
}

static OGRErr import_wkt(OGRSpatialReferenceH srs, const char *text)
{
    /* The function moves the pointer it is given, and does not write. */
    char *cursor = zs_strdup(text), *start = cursor;
    if (cursor == NULL)
        return OGRERR_NOT_ENOUGH_MEMORY;
    const OGRErr result = OSRImportFromWkt(srs, &cursor);
    free(start);
    return result;
}

OGRSpatialReferenceH zs_crs_from_wkt(const char *wkt)
{
    if (wkt == NULL || strchr(wkt, '[') == NULL)
        return NULL;
    return import_text(wkt, import_wkt);
}

OGRSpatialReferenceH zs_crs_from_projjson(const zs_json *object)
{
    const char *text = NULL;
    char *printed = NULL;
    if (zs_json_is_object(object))
        text = printed = zs_json_print(object);
    else
        zs_json_string(object, &text);
    OGRSpatialReferenceH srs = NULL;
    /* A text that begins so is read as PROJJSON, never as the name of a file. */
    if (text != NULL && text[0] == '{' && strstr(text, "\"type\"") != NULL)
        srs = import_text(text, OSRSetFromUserInput);
    free(printed);
    return srs;
}

OGRSpatialReferenceH zs_crs_from_url(const char *url)
{
    static const char *const prefixes[] = {"http://www.opengis.net/def/crs/", "https://www.opengis.net/def/crs/",
                                           "http://opengis.net/def/crs/", "urn:ogc:def:crs:"};
    if (url == NULL || strlen(url) > 512)
        return NULL;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        const size_t n = strlen(prefixes[i]);
        if (strncmp(url, prefixes[i], n) != 0)
            continue;
        if (url[0] == 'u')
            return import_text(url, OSRSetFromUserInput);
        /* AUTHORITY/VERSION/CODE: turned into a code, because OSRImportFromUrl() fetches what it does not know. */
        char authority[32], version[32], code[32], text[80];
        if (sscanf(url + n, "%31[^/]/%31[^/]/%31[^/]", authority, version, code) != 3)
            return NULL;
        snprintf(text, sizeof text, "%s:%s", authority, code);
        return zs_crs_from_code(text);
    }
    return NULL;
}

OGRSpatialReferenceH zs_crs_from_proj_members(const zs_json *members)
{
    const char *text;
    OGRSpatialReferenceH srs = NULL;
    if (zs_json_string(zs_json_get(members, "proj:code"), &text))
        srs = zs_crs_from_code(text);
    if (srs == NULL && zs_json_string(zs_json_get(members, "proj:wkt2"), &text))
        srs = zs_crs_from_wkt(text);
    if (srs == NULL)
        srs = zs_crs_from_projjson(zs_json_get(members, "proj:projjson"));
    return srs;
}

/* ---- CF grid mappings ---- */

/* A PROJ string that grows; too long a one ends as an import that fails. */
struct proj_text {
    char text[1024];
    size_t size;
};

static void add(struct proj_text *p, const char *name, double value)
{
    if (p->size >= sizeof p->text)
        return;
    /* Always with a dot: CPLsnprintf ignores the locale, as PROJ does when it reads. */
    const int n = CPLsnprintf(p->text + p->size, sizeof p->text - p->size, " +%s=%.17g", name, value);
    p->size += n > 0 ? (size_t)n : 0;
}

static void add_text(struct proj_text *p, const char *text)
{
    if (p->size >= sizeof p->text)
        return;
    const int n = snprintf(p->text + p->size, sizeof p->text - p->size, " %s", text);
    p->size += n > 0 ? (size_t)n : 0;
}

/* A parameter: a number, or a string with one; of a list, element `index`. */
static bool number(const zs_json *attributes, const char *name, size_t index, double *out)
{
    const zs_json *value = zs_json_get(attributes, name);
    if (zs_json_is_array(value))
        value = zs_json_at(value, index);
    else if (index > 0)
        return false;
    const char *text;
    if (zs_json_string(value, &text)) {
        char *end;
        *out = CPLStrtod(text, &end);
        return end != text && isfinite(*out);
    }
    return zs_json_double(value, out) && isfinite(*out);
}

static void add_parameter(struct proj_text *p, const zs_json *a, const char *proj_name, const char *cf_name, double fallback)
{
    double value = fallback;
    number(a, cf_name, 0, &value);
    if (isfinite(value))
        add(p, proj_name, value);
}

/* Ellipsoid and prime meridian. Without either a CF grid mapping leaves the figure of the Earth open: WGS 84 is meant
 * more often than anything else. */
static void add_figure(struct proj_text *p, const zs_json *a)
{
    double radius, semi_minor, inverse_flattening, meridian;
    if (number(a, "semi_major_axis", 0, &radius) && radius > 0) {
        if (number(a, "inverse_flattening", 0, &inverse_flattening) && inverse_flattening > 0) {
            add(p, "a", radius);
            add(p, "rf", inverse_flattening);
        } else if (number(a, "semi_minor_axis", 0, &semi_minor) && semi_minor > 0 && semi_minor != radius) {
            add(p, "a", radius);
            add(p, "b", semi_minor);
        } else {
            add(p, "R", radius);
        }
    } else if (number(a, "earth_radius", 0, &radius) && radius > 0) {
        add(p, "R", radius);
    } else {
        add_text(p, "+datum=WGS84");
    }
    if (number(a, "longitude_of_prime_meridian", 0, &meridian) && meridian != 0)
        add(p, "pm", meridian);
}

/* CF appendix F to PROJ: the projection's name and its own parameters. False for a name that is not known. */
static bool add_projection(struct proj_text *p, const zs_json *a, const char *name)
{
    const double none = NAN;
    double value;
    if (strcmp(name, "lambert_conformal_conic") == 0 || strcmp(name, "albers_conical_equal_area") == 0) {
        add_text(p, name[0] == 'l' ? "+proj=lcc" : "+proj=aea");
        add_parameter(p, a, "lat_0", "latitude_of_projection_origin", none);
        add_parameter(p, a, "lon_0", "longitude_of_central_meridian", 0);
        if (number(a, "standard_parallel", 0, &value)) {
            add(p, "lat_1", value);
            number(a, "standard_parallel", 1, &value); /* a cone that touches has one parallel */
            add(p, "lat_2", value);
        }
    } else if (strcmp(name, "transverse_mercator") == 0) {
        add_text(p, "+proj=tmerc");
        add_parameter(p, a, "lat_0", "latitude_of_projection_origin", 0);
        add_parameter(p, a, "lon_0", "longitude_of_central_meridian", 0);
        add_parameter(p, a, "k_0", "scale_factor_at_central_meridian", 1);
    } else if (strcmp(name, "polar_stereographic") == 0 || strcmp(name, "stereographic") == 0) {
        double origin = NAN;
        add_text(p, "+proj=stere");
        add_parameter(p, a, "lat_0", "latitude_of_projection_origin", none);
        if (number(a, "straight_vertical_longitude_from_pole", 0, &origin))
            add(p, "lon_0", origin);
        else
            add_parameter(p, a, "lon_0", "longitude_of_projection_origin", 0);
        if (number(a, "standard_parallel", 0, &value))
            add(p, "lat_ts", value);
        else
            add_parameter(p, a, "k_0", "scale_factor_at_projection_origin", 1);
    } else if (strcmp(name, "mercator") == 0) {
        add_text(p, "+proj=merc");
        add_parameter(p, a, "lon_0", "longitude_of_projection_origin", 0);
        if (number(a, "standard_parallel", 0, &value))
            add(p, "lat_ts", value);
        else
            add_parameter(p, a, "k_0", "scale_factor_at_projection_origin", 1);
    } else if (strcmp(name, "lambert_cylindrical_equal_area") == 0) {
        add_text(p, "+proj=cea");
        add_parameter(p, a, "lon_0", "longitude_of_central_meridian", 0);
        add_parameter(p, a, "lat_ts", "standard_parallel", 0);
    } else if (strcmp(name, "sinusoidal") == 0) {
        add_text(p, "+proj=sinu");
        add_parameter(p, a, "lon_0", "longitude_of_projection_origin", 0);
    } else if (strcmp(name, "lambert_azimuthal_equal_area") == 0 || strcmp(name, "azimuthal_equidistant") == 0 ||
               strcmp(name, "orthographic") == 0) {
        add_text(p, name[0] == 'l' ? "+proj=laea" : name[0] == 'a' ? "+proj=aeqd" : "+proj=ortho");
        add_parameter(p, a, "lat_0", "latitude_of_projection_origin", 0);
        add_parameter(p, a, "lon_0", "longitude_of_projection_origin", 0);
    } else {
        return false;
    }
    add_parameter(p, a, "x_0", "false_easting", 0);
    add_parameter(p, a, "y_0", "false_northing", 0);
    return true;
}

static OGRSpatialReferenceH from_parameters(const zs_json *a, const char *name, const char *xy_units)
{
    struct proj_text p = {.size = 0};
    if (strcmp(name, "latitude_longitude") == 0) {
        add_text(&p, "+proj=longlat");
    } else if (strcmp(name, "rotated_latitude_longitude") == 0) {
        double pole = 0;
        number(a, "grid_north_pole_longitude", 0, &pole);
        add_text(&p, "+proj=ob_tran +o_proj=longlat");
        add_parameter(&p, a, "o_lon_p", "north_pole_grid_longitude", 0);
        add_parameter(&p, a, "o_lat_p", "grid_north_pole_latitude", 90);
        add(&p, "lon_0", 180 + pole);
    } else {
        if (!add_projection(&p, a, name))
            return NULL;
        if (xy_units != NULL && (strcmp(xy_units, "km") == 0 || strncmp(xy_units, "kilomet", 7) == 0))
            add_text(&p, "+units=km");
        else
            add_text(&p, "+units=m");
    }
    add_figure(&p, a);
    add_text(&p, "+no_defs");
    if (p.size >= sizeof p.text)
        return NULL;
    if (strcmp(p.text, " +proj=longlat +datum=WGS84 +no_defs") == 0)
        return zs_crs_from_epsg(4326); /* the same, with its name and code */
    return import_text(p.text, OSRImportFromProj4);
}

OGRSpatialReferenceH zs_crs_from_grid_mapping(const zs_json *attributes, const char *xy_units)
{
    const char *text;
    OGRSpatialReferenceH srs = NULL;
    if (zs_json_string(zs_json_get(attributes, "crs_wkt"), &text))
        srs = zs_crs_from_wkt(text);
    if (srs == NULL && zs_json_string(zs_json_get(attributes, "spatial_ref"), &text)) {
        srs = zs_crs_from_wkt(text);
        if (srs == NULL)
            srs = zs_crs_from_code(text);
    }
    if (srs == NULL && zs_json_string(zs_json_get(attributes, "grid_mapping_name"), &text))
        srs = from_parameters(attributes, text, xy_units);
    return srs;
}
