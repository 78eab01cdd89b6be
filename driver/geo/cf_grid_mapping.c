/* CF grid mapping variables: found, read as a CRS, written (CF 5.6, appendix F). */
#include "geo/conventions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>
#include <cpl_string.h>

#include "base/memory.h"
#include "geo/bands.h"
#include "geo/variables.h"

#define GEOTRANSFORM "GeoTransform"

/* ---- Finding ---- */

/* Whether attributes are those of a grid mapping variable. */
static bool is_grid_mapping(const zs_json *attributes)
{
    return zs_json_get(attributes, "crs_wkt") != NULL || zs_json_get(attributes, "grid_mapping_name") != NULL ||
           zs_json_get(attributes, "spatial_ref") != NULL;
}

const char *zs_grid_mapping_name(const zs_json *attributes)
{
    return zs_json_text(attributes, "grid_mapping", NULL);
}

const struct zs_node *zs_grid_mapping_find(struct zs_hierarchy *hierarchy, const struct zs_scope *scope)
{
    const char *list;
    char word[256];
    const struct zs_node *found = NULL;
    /* "crs", or in the extended form "crs: x y crs2: lat lon": the first word names the variable. A group's
     * attribute holds for its arrays (EOPF writes it there). */
    int s = 0;
    while (s < scope->sources && zs_json_get(scope->source[s].members, "grid_mapping") == NULL)
        s++;
    if (s < scope->sources && zs_json_one_text(zs_json_get(scope->source[s].members, "grid_mapping"), &list) &&
        zs_next_word(list, word, sizeof word) != NULL) {
        const size_t n = strlen(word);
        if (n > 0 && word[n - 1] == ':')
            word[n - 1] = '\0';
        found = zs_scope_array(hierarchy, scope, scope->source[s].group, word);
        if (found != NULL)
            return found;
    }
    /* Writers that use xarray's set_coords() leave it in the list of coordinates only. */
    if (zs_json_one_text(zs_json_get(scope->node->attributes, "coordinates"), &list))
        while ((list = zs_next_word(list, word, sizeof word)) != NULL) {
            found = zs_scope_array(hierarchy, scope, NULL, word);
            if (found != NULL && is_grid_mapping(found->attributes))
                return found;
        }
    return NULL;
}

const struct zs_node *zs_default_mapping_find(struct zs_hierarchy *hierarchy, const struct zs_node *node)
{
    if (zs_hierarchy_store(hierarchy)->is_remote && !zs_hierarchy_is_consolidated(hierarchy))
        return NULL; /* a request that is for nothing nearly always */
    const struct zs_node *found = zs_sibling(hierarchy, node, ZS_GRID_MAPPING), *other, **nodes = NULL;
    size_t count, at = 0;
    if (found == NULL || !is_grid_mapping(found->attributes))
        return NULL;
    char *group = zs_path_parent(node->path);
    if (group == NULL || zs_hierarchy_list(hierarchy, &nodes, &count, NULL) != ZS_OK)
        found = NULL;
    while (found != NULL && (other = zs_nodes_child(nodes, count, group, &at)) != NULL)
        if (zs_grid_mapping_name(other->attributes) != NULL ||
            zs_has_word(zs_json_text(other->attributes, "coordinates", NULL), ZS_GRID_MAPPING, true))
            found = NULL;
    free(nodes);
    free(group);
    return found;
}

bool zs_is_implied_mapping(struct zs_hierarchy *hierarchy, const struct zs_node *node)
{
    bool has_none = zs_default_mapping_find(hierarchy, node) != NULL;
    for (const zs_json *a = zs_json_first(node->attributes); a != NULL && has_none; a = zs_json_next(a))
        has_none = !zs_is_georef_attribute(zs_json_name(a));
    return has_none;
}

/* ---- As a CRS ---- */

/* A PROJ string that grows; too long a one ends as an import that fails. */
struct proj_text {
    char text[1024];
    size_t size;
    const char *lacks; /* what CF demands: 0 in its place would be a projection elsewhere on the Earth */
};

static void add_text(struct proj_text *p, const char *text)
{
    if (p->size >= sizeof p->text)
        return;
    const int n = snprintf(p->text + p->size, sizeof p->text - p->size, " %s", text);
    p->size += n > 0 ? (size_t)n : 0;
}

static void add(struct proj_text *p, const char *name, double value)
{
    char text[64]; /* always with a dot: CPLsnprintf ignores the locale, as PROJ does when it reads */
    CPLsnprintf(text, sizeof text, "+%s=%.17g", name, value);
    add_text(p, text);
}

/* Adds a parameter, where it is absent as `otherwise`: NAN of one that CF demands. */
static void add_parameter(struct proj_text *p, const zs_json *a, const char *proj_name, const char *cf_name,
                          double otherwise)
{
    double value = otherwise;
    if (zs_number_at(a, cf_name, 0, &value) || !isnan(otherwise))
        add(p, proj_name, value);
    else
        p->lacks = cf_name;
}

/* Ellipsoid and prime meridian. Without either a CF grid mapping leaves the figure of the Earth open: WGS 84 is meant
 * more often than anything else. */
static void add_figure(struct proj_text *p, const zs_json *a)
{
    double radius, semi_minor, inverse_flattening, meridian;
    if (zs_number_at(a, "semi_major_axis", 0, &radius) && radius > 0) {
        if (zs_number_at(a, "inverse_flattening", 0, &inverse_flattening) && inverse_flattening > 0) {
            add(p, "a", radius);
            add(p, "rf", inverse_flattening);
        } else if (zs_number_at(a, "semi_minor_axis", 0, &semi_minor) && semi_minor > 0 && semi_minor != radius) {
            add(p, "a", radius);
            add(p, "b", semi_minor);
        } else {
            add(p, "R", radius);
        }
    } else if (zs_number_at(a, "earth_radius", 0, &radius) && radius > 0) {
        add(p, "R", radius);
    } else {
        add_text(p, "+datum=WGS84");
    }
    if (zs_number_at(a, "longitude_of_prime_meridian", 0, &meridian) && meridian != 0)
        add(p, "pm", meridian);
}

/* The angle about which a satellite scans: sweep_angle_axis, or the other one of the draft, which CF 1.9 allows. */
static void add_sweep(struct proj_text *p, const zs_json *a)
{
    const bool is_y_fixed = zs_equals_ignoring_case(zs_json_text(a, "fixed_angle_axis", "x"), "y");
    const char *sweep = zs_json_text(a, "sweep_angle_axis", is_y_fixed ? "x" : "y");
    if (zs_equals_ignoring_case(sweep, "x"))
        add_text(p, "+sweep=x");
}

/* What a projection takes beside its meridian. */
enum {
    ORIGIN = 1,     /* the latitude of its origin */
    POLE = 2,       /* the same, or the pole of the half of the Earth where its standard parallel is */
    PARALLELS = 4,  /* two, or one of a cone that touches */
    PARALLEL = 8,   /* one along which the scale is true, or the factor at the origin */
    FACTOR = 16,    /* that alone, which is 1 where it is absent */
    HEIGHT = 32,    /* of the eye */
    AZIMUTH = 64    /* of the line that takes the place of the equator */
};

/* Projections of CF's appendix F as PROJ has them. An oblique Mercator is not turned back, as pyproj has it: CF has no
 * parameter for that. */
static const struct projection {
    const char *name, *text, *meridian;
    unsigned takes;
} projections[] = {
    {"lambert_conformal_conic", "+proj=lcc", "longitude_of_central_meridian", ORIGIN | PARALLELS},
    {"albers_conical_equal_area", "+proj=aea", "longitude_of_central_meridian", ORIGIN | PARALLELS},
    {"transverse_mercator", "+proj=tmerc", "longitude_of_central_meridian", ORIGIN | FACTOR},
    {"polar_stereographic", "+proj=stere", "straight_vertical_longitude_from_pole", POLE | PARALLEL | FACTOR},
    {"stereographic", "+proj=stere", "longitude_of_projection_origin", ORIGIN | PARALLEL | FACTOR},
    {"mercator", "+proj=merc", "longitude_of_projection_origin", PARALLEL | FACTOR},
    {"lambert_cylindrical_equal_area", "+proj=cea", "longitude_of_central_meridian", PARALLEL},
    {"sinusoidal", "+proj=sinu", "longitude_of_projection_origin", 0},
    {"lambert_azimuthal_equal_area", "+proj=laea", "longitude_of_projection_origin", ORIGIN},
    {"azimuthal_equidistant", "+proj=aeqd", "longitude_of_projection_origin", ORIGIN},
    {"orthographic", "+proj=ortho", "longitude_of_projection_origin", ORIGIN},
    {"geostationary", "+proj=geos", "longitude_of_projection_origin", HEIGHT},
    {"vertical_perspective", "+proj=nsper", "longitude_of_projection_origin", ORIGIN | HEIGHT},
    {"oblique_mercator", "+proj=omerc +gamma=0", "longitude_of_projection_origin", ORIGIN | AZIMUTH | FACTOR},
    /* RegCM wrote this before CF had the former */
    {"rotated_mercator", "+proj=omerc +gamma=0", "longitude_of_projection_origin", ORIGIN | AZIMUTH | FACTOR}};

/* The meridian, which writers give by any of its names. */
static void add_meridian(struct proj_text *p, const zs_json *a, const char *proj_name, const char *cf_name)
{
    static const char *const others[] = {"longitude_of_central_meridian", "longitude_of_projection_origin",
                                         "straight_vertical_longitude_from_pole"};
    double value;
    for (int i = 0; i < 3 && !zs_number_at(a, cf_name, 0, &value); i++)
        if (zs_number_at(a, others[i], 0, &value))
            cf_name = others[i];
    add_parameter(p, a, proj_name, cf_name, NAN);
}

static void add_projection(struct proj_text *p, const zs_json *a, const struct projection *projection)
{
    const unsigned takes = projection->takes;
    double factor, parallel = 0;
    const bool has_parallel = zs_number_at(a, "standard_parallel", 0, &parallel);
    add_text(p, projection->text);
    if ((takes & POLE) != 0 && has_parallel)
        add_parameter(p, a, "lat_0", "latitude_of_projection_origin", copysign(90, parallel));
    else if ((takes & (ORIGIN | POLE)) != 0)
        add_parameter(p, a, "lat_0", "latitude_of_projection_origin", NAN);
    add_meridian(p, a, (takes & AZIMUTH) != 0 ? "lonc" : "lon_0", projection->meridian);
    if ((takes & AZIMUTH) != 0)
        add_parameter(p, a, "alpha", "azimuth_of_central_line", NAN);
    if ((takes & HEIGHT) != 0) {
        add_parameter(p, a, "h", "perspective_point_height", NAN);
        add_sweep(p, a);
    }
    if ((takes & PARALLELS) != 0) {
        add_parameter(p, a, "lat_1", "standard_parallel", NAN);
        add(p, "lat_2", zs_number_at(a, "standard_parallel", 1, &factor) ? factor : parallel);
    }
    if ((takes & PARALLEL) != 0 && has_parallel)
        add(p, "lat_ts", parallel);
    else if ((takes & (PARALLEL | FACTOR)) != 0 && (zs_number_at(a, "scale_factor_at_central_meridian", 0, &factor) ||
                                                    zs_number_at(a, "scale_factor_at_projection_origin", 0, &factor)))
        add(p, "k_0", factor);
    else if ((takes & FACTOR) != 0)
        add(p, "k_0", 1);
    else if ((takes & PARALLEL) != 0)
        p->lacks = "standard_parallel";
    add_parameter(p, a, "x_0", "false_easting", 0);
    add_parameter(p, a, "y_0", "false_northing", 0);
}

static OGRSpatialReferenceH from_parameters(const zs_json *a, const char *name, const char *xy_units,
                                            const char **lacks)
{
    struct proj_text p = {.size = 0};
    if (strcmp(name, "latitude_longitude") == 0) {
        add_text(&p, "+proj=longlat");
    } else if (strcmp(name, "rotated_latitude_longitude") == 0) {
        double pole = 0;
        if (!zs_number_at(a, "grid_north_pole_longitude", 0, &pole))
            p.lacks = "grid_north_pole_longitude";
        add_text(&p, "+proj=ob_tran +o_proj=longlat");
        add_parameter(&p, a, "o_lon_p", "north_pole_grid_longitude", 0);
        add_parameter(&p, a, "o_lat_p", "grid_north_pole_latitude", NAN);
        add(&p, "lon_0", 180 + pole);
    } else {
        const size_t n = sizeof projections / sizeof projections[0];
        size_t i = 0;
        while (i < n && strcmp(name, projections[i].name) != 0)
            i++;
        if (i == n)
            return NULL;
        add_projection(&p, a, &projections[i]);
        if (xy_units != NULL && (strcmp(xy_units, "km") == 0 || strncmp(xy_units, "kilomet", 7) == 0))
            add_text(&p, "+units=km");
        else
            add_text(&p, "+units=m");
    }
    add_figure(&p, a);
    add_text(&p, "+no_defs");
    if (lacks != NULL)
        *lacks = p.lacks;
    if (p.size >= sizeof p.text || p.lacks != NULL)
        return NULL;
    if (strcmp(p.text, " +proj=longlat +datum=WGS84 +no_defs") == 0)
        return zs_crs_from_epsg(4326); /* the same, with its name and code */
    return zs_crs_from_proj_string(p.text);
}

OGRSpatialReferenceH zs_crs_from_grid_mapping(const zs_json *attributes, const char *xy_units, const char **lacks)
{
    /* Texts and codes go before parameters, of which writers leave out some (ITS_LIVE, WRF-Hydro). */
    static const struct {
        const char *name;
        OGRSpatialReferenceH (*read)(const char *text);
        bool is_epsg; /* a number is a code of EPSG */
    } known[] = {{"crs_wkt", zs_crs_from_wkt, false},        {"spatial_ref", zs_crs_from_wkt, false},
                 {"spatial_ref", zs_crs_from_code, false},   {"epsg_code", zs_crs_from_code, true},
                 {"spatial_epsg", zs_crs_from_code, true},   {"esri_pe_string", zs_crs_from_wkt, false},
                 {"proj4", zs_crs_from_proj_string, false},  {"proj4text", zs_crs_from_proj_string, false}};
    OGRSpatialReferenceH srs = NULL;
    const char *text;
    double code;
    for (size_t i = 0; i < sizeof known / sizeof known[0] && srs == NULL; i++) {
        if (known[i].is_epsg && zs_number_at(attributes, known[i].name, 0, &code) && code >= 1 && code <= 1e6)
            srs = zs_crs_from_epsg((int64_t)code);
        else if ((text = zs_json_text(attributes, known[i].name, NULL)) != NULL)
            srs = known[i].read(text);
    }
    if (srs == NULL && (text = zs_json_text(attributes, "grid_mapping_name", NULL)) != NULL)
        srs = from_parameters(attributes, text, xy_units, lacks);
    return srs;
}

/* ---- As a transform ---- */

bool zs_parse_geotransform(const zs_json *grid_mapping, double transform[6])
{
    const zs_json *member = zs_json_get(grid_mapping, GEOTRANSFORM);
    const char *text;
    if (zs_json_doubles(member, transform, 6))
        return true;
    if (!zs_json_string(member, &text))
        return false;
    for (int i = 0; i < 6; i++) {
        char *end;
        transform[i] = CPLStrtod(text, &end);
        if (end == text)
            return false;
        text = end + strspn(end, " ,\t");
    }
    return *text == '\0';
}

/* ---- Writing ---- */

/* CF names of projections whose parameters map one to one (CF appendix F). */
static bool add_cf_parameters(zs_json *attributes, OGRSpatialReferenceH srs)
{
    static const struct {
        const char *wkt, *cf, *latitude, *meridian; /* the latter two as WKT has them, as CF: */
        const char *cf_meridian, *factor;
    } known[] = {{"Transverse_Mercator", "transverse_mercator", "latitude_of_origin", "central_meridian",
                  "longitude_of_central_meridian", "scale_factor_at_central_meridian"},
                 {"Lambert_Azimuthal_Equal_Area", "lambert_azimuthal_equal_area", "latitude_of_center",
                  "longitude_of_center", "longitude_of_projection_origin", NULL},
                 {"Mercator_1SP", "mercator", NULL, "central_meridian", "longitude_of_projection_origin",
                  "scale_factor_at_projection_origin"}};
    bool ok = true;
    if (OSRIsGeographic(srs) && !OSRIsDerivedGeographic(srs)) /* not of a rotated pole */
        ok = zs_json_set_string(attributes, "grid_mapping_name", "latitude_longitude");
    const char *projection = OSRIsProjected(srs) ? OSRGetAttrValue(srs, "PROJECTION", 0) : NULL;
    for (size_t i = 0; projection != NULL && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(projection, known[i].wkt) != 0)
            continue;
        ok = zs_json_set_string(attributes, "grid_mapping_name", known[i].cf);
        if (known[i].latitude != NULL)
            ok = ok && zs_json_set_double(attributes, "latitude_of_projection_origin",
                                          OSRGetNormProjParm(srs, known[i].latitude, 0, NULL));
        ok = ok && zs_json_set_double(attributes, known[i].cf_meridian,
                                      OSRGetNormProjParm(srs, known[i].meridian, 0, NULL));
        if (known[i].factor != NULL)
            ok = ok && zs_json_set_double(attributes, known[i].factor,
                                          OSRGetNormProjParm(srs, "scale_factor", 0, NULL));
        ok = ok && zs_json_set_double(attributes, "false_easting", OSRGetProjParm(srs, "false_easting", 0, NULL)) &&
             zs_json_set_double(attributes, "false_northing", OSRGetProjParm(srs, "false_northing", 0, NULL));
    }
    OGRErr result = OGRERR_NONE;
    const double a = OSRGetSemiMajor(srs, &result);
    if (ok && result == OGRERR_NONE && (OSRIsGeographic(srs) || OSRIsProjected(srs)))
        ok = zs_json_set_double(attributes, "semi_major_axis", a) &&
             zs_json_set_double(attributes, "inverse_flattening", OSRGetInvFlattening(srs, NULL));
    return ok;
}

/* The texts of the CRS. crs_wkt may be of either version (CF 5.6.1), and where it has the CRS's code the shorter one is
 * complete. */
static bool add_wkt(zs_json *attributes, OGRSpatialReferenceH srs)
{
    char *code = zs_crs_to_code(srs);
    char *old = zs_crs_to_wkt(srs, "FORMAT=WKT1_GDAL");
    OGRSpatialReferenceH again = code != NULL && old != NULL ? zs_crs_from_wkt(old) : NULL;
    const bool is_enough = again != NULL && zs_crs_is_same(srs, again);
    char *wkt = is_enough ? NULL : zs_crs_to_wkt(srs, "FORMAT=WKT2_2019");
    bool ok = true;
    if (is_enough || wkt != NULL)
        ok = zs_json_set_string(attributes, "crs_wkt", is_enough ? old : wkt);
    /* spatial_ref is GDAL's, whose older versions read WKT 1 best. */
    if (ok && !is_enough && (old != NULL || wkt != NULL))
        ok = zs_json_set_string(attributes, "spatial_ref", old != NULL ? old : wkt);
    if (again != NULL)
        OSRRelease(again);
    CPLFree(wkt);
    CPLFree(old);
    free(code);
    return ok;
}

/* Writes crs_wkt, CF's parameters that are common and simple, and GeoTransform; in brief the CRS's code where it has
 * one. */
static enum zs_status write_attributes(zs_json *attributes, const struct zs_georef_out *geo, struct zs_error *err)
{
    char *code = geo->is_brief && geo->srs != NULL ? zs_crs_to_code(geo->srs) : NULL;
    bool ok = true;
    if (code != NULL) {
        ok = zs_json_set_string(attributes, "spatial_ref", code);
        free(code);
        return ok ? ZS_OK : zs_fail_memory(err);
    }
    if (geo->srs != NULL) {
        ok = add_wkt(attributes, geo->srs);
        struct zs_quiet quiet;
        zs_quiet_begin(&quiet);
        ok = ok && add_cf_parameters(attributes, geo->srs);
        zs_quiet_end(&quiet);
    }
    if (ok && geo->has_transform && !geo->keeps_transform) {
        const double *t = geo->transform;
        char text[256];
        CPLsnprintf(text, sizeof text, "%.17g %.17g %.17g %.17g %.17g %.17g", t[0], t[1], t[2], t[3], t[4], t[5]);
        ok = zs_json_set_string(attributes, GEOTRANSFORM, text);
    }
    return ok ? ZS_OK : zs_fail_memory(err);
}

/* `coordinates` without two words, either of which may be NULL, and with another, or none. */
static bool change_coordinates(zs_json *attributes, const char *without, const char *nor, const char *with)
{
    struct zs_buffer text = {0};
    const char *list = zs_json_text(attributes, "coordinates", "");
    char word[1024];
    bool ok = true;
    while (ok && (list = zs_next_word(list, word, sizeof word)) != NULL)
        if ((without == NULL || strcmp(word, without) != 0) && (nor == NULL || strcmp(word, nor) != 0))
            ok = zs_buffer_append(&text, word, strlen(word), NULL) == ZS_OK &&
                 zs_buffer_append(&text, " ", 1, NULL) == ZS_OK;
    ok = ok && zs_buffer_append(&text, with != NULL ? with : "", with != NULL ? strlen(with) : 0, NULL) == ZS_OK;
    if (ok && with == NULL && text.size > 0)
        text.size--; /* the last space */
    ok = ok && zs_buffer_append(&text, "", 1, NULL) == ZS_OK;
    zs_json_remove(attributes, "coordinates");
    if (ok && text.size > 1)
        ok = zs_json_add_string(attributes, "coordinates", (const char *)text.data) != NULL;
    zs_buffer_free(&text);
    return ok;
}

enum zs_status zs_write_grid_mapping_name(zs_json *attributes, const char *name, enum zs_mapping how,
                                          struct zs_error *err)
{
    const char *with = how != ZS_MAPPING_NONE ? name : NULL;
    bool ok = change_coordinates(attributes, zs_grid_mapping_name(attributes), name, with);
    zs_json_remove(attributes, "grid_mapping");
    if (ok && how == ZS_MAPPING_NAMED)
        ok = zs_json_add_string(attributes, "grid_mapping", name) != NULL;
    return ok ? ZS_OK : zs_fail_memory(err);
}

/* Members of a grid mapping variable that declare a CRS: those of CF (appendix F) and common ones of other writers. */
static const char *const crs_members[] = {
    "azimuth_of_central_line", "crs_wkt", "earth_radius", "epsg_code", "esri_pe_string", "false_easting",
    "false_northing", "fixed_angle_axis", "geographic_crs_name", "geoid_name", "geopotential_datum_name",
    "grid_mapping_name", "grid_north_pole_latitude", "grid_north_pole_longitude", "horizontal_datum_name",
    "inverse_flattening", "latitude_of_projection_origin", "longitude_of_central_meridian",
    "longitude_of_prime_meridian", "longitude_of_projection_origin", "north_pole_grid_longitude",
    "perspective_point_height", "prime_meridian_name", "proj4", "proj4_params", "proj4text", "projected_crs_name",
    "reference_ellipsoid_name", "scale_factor_at_central_meridian", "scale_factor_at_projection_origin",
    "semi_major_axis", "semi_minor_axis", "spatial_epsg", "spatial_proj4", "spatial_ref", "standard_parallel",
    "straight_vertical_longitude_from_pole", "sweep_angle_axis", "towgs84"};

/* A grid mapping variable holds attributes and no data to speak of. */
static bool is_mapping(const struct zs_node *found, const char *name)
{
    (void)name;
    bool is_single = found->array != NULL;
    for (int d = 0; is_single && d < found->array->ndim; d++)
        is_single = found->array->shape[d] <= 1;
    return is_single || ((found->array == NULL || found->array->ndim < 2) && is_grid_mapping(found->attributes));
}

/* Whether a grid mapping is what write_attributes() writes in brief: "EPSG:32633" as spatial_ref, and of CRS and
 * transform nothing else. */
static bool is_brief(const zs_json *attributes)
{
    const char *code = zs_json_text(attributes, "spatial_ref", "");
    size_t n = zs_json_get(attributes, GEOTRANSFORM) != NULL;
    for (size_t i = 0; i < sizeof crs_members / sizeof crs_members[0]; i++)
        n += zs_json_get(attributes, crs_members[i]) != NULL;
    return n == 1 && strchr(code, ':') != NULL && strpbrk(code, "[{+ ") == NULL;
}

enum zs_status zs_grid_mapping_write(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name,
                                     const struct zs_georef_out *geo, bool *is_current, struct zs_error *err)
{
    struct zs_slot slot;
    zs_json *attributes;
    struct zs_georef_out written = *geo;
    *is_current = true;
    if (zs_sibling(hierarchy, node, name) == NULL && geo->srs == NULL && !geo->has_transform)
        return ZS_OK;
    ZS_TRY(zs_slot_find(hierarchy, node, name, is_mapping, &slot, err));
    *is_current = slot.is_usable;
    enum zs_status status = ZS_OK;
    if (slot.is_usable && slot.own == NULL) {
        written.keeps_transform = written.keeps_srs = false;
        zs_json *document = zs_small_array_document(name, ZS_INT64, 0, slot.has_checksum, false);
        status = zs_add_document(hierarchy, slot.path, document, &slot.own, err);
    }
    free(slot.path);
    if (status != ZS_OK || !slot.is_usable || (written.keeps_transform && written.keeps_srs))
        return status;
    ZS_TRY(zs_hierarchy_edit(hierarchy, slot.own, &attributes, err));
    if (geo->srs != NULL && is_brief(attributes))
        written.keeps_srs = false; /* a level in brief becomes one in full, which `grid_mapping` may name */
    if (!written.keeps_transform)
        zs_json_remove(attributes, GEOTRANSFORM);
    for (size_t i = 0; i < sizeof crs_members / sizeof crs_members[0] && !written.keeps_srs; i++)
        zs_json_remove(attributes, crs_members[i]);
    if (written.keeps_srs)
        written.srs = NULL;
    return write_attributes(attributes, &written, err);
}
