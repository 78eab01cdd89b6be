#include "geo/conventions.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/variables.h"
#include "zarr/name.h"

const char *const zs_cf_references[] = {"coordinates", "grid_mapping", "bounds", NULL};

/* ---- CRS ---- */

/* Unit of the X coordinate variable, NULL when undeclared; *is_degrees when both X and Y are in degrees east and
 * north. */
static const char *coordinate_units(const struct zs_search *search, bool *is_degrees)
{
    const struct zs_node *x = zs_coordinate_find(search->hierarchy, search->node, search->axes.x);
    const struct zs_node *y =
        search->axes.y >= 0 ? zs_coordinate_find(search->hierarchy, search->node, search->axes.y) : NULL;
    const char *units = NULL;
    bool x_degrees = false, y_degrees = false;
    if (x != NULL) {
        zs_cf_axis(x->attributes, &x_degrees);
        units = zs_json_text(x->attributes, "units", units);
    }
    if (y != NULL)
        zs_cf_axis(y->attributes, &y_degrees);
    *is_degrees = x_degrees && y_degrees;
    return units;
}

/* Takes the CRS of a grid mapping; where it has a name and none is read, that is remembered. */
static void take_crs(struct zs_search *search, const struct zs_node *mapping, const char *units)
{
    const char *lacks = NULL, *name = zs_json_text(mapping->attributes, "grid_mapping_name", NULL);
    search->out->srs = zs_crs_from_grid_mapping(mapping->attributes, units, &lacks);
    if (search->out->srs == NULL && name != NULL && strcmp(name, "healpix") != 0) /* no memory: no warning */
        search->out->no_crs =
            zs_format("/%s: its %s %s %s: no coordinate reference system is read from it", mapping->path, name,
                      lacks != NULL ? "has no" : "is no", lacks != NULL ? lacks : "projection of CF");
}

void zs_cf_find_crs(struct zs_search *search)
{
    bool is_degrees;
    const struct zs_node *mapping = zs_grid_mapping_find(search->hierarchy, &search->scope);
    if (mapping != NULL && zs_json_size(mapping->attributes) > 0)
        take_crs(search, mapping, coordinate_units(search, &is_degrees));
}

void zs_cf_find_implied_crs(struct zs_search *search)
{
    bool is_degrees;
    const struct zs_node *mapping = zs_grid_mapping_find(search->hierarchy, &search->scope);
    if (mapping != NULL && zs_json_size(mapping->attributes) > 0)
        return; /* one that could not be read is no reason to take another */
    const char *units = coordinate_units(search, &is_degrees);
    mapping = zs_default_mapping_find(search->hierarchy, search->node);
    if (mapping != NULL)
        take_crs(search, mapping, units);
    /* CF leaves the datum of plain longitudes and latitudes open. GDAL's netCDF driver takes WGS 84 then, and so does
     * every reader people compare with. */
    else if (is_degrees)
        search->out->srs = zs_crs_from_epsg(4326);
}

/* ---- Units of coordinates ---- */

/* Spellings of udunits, in metres or radians. */
static const struct unit {
    const char *name;
    bool is_angle;
    double size;
} units_of_axes[] = {{"m", false, 1},          {"metre", false, 1},        {"meter", false, 1},
                     {"km", false, 1000},      {"kilometre", false, 1000}, {"kilometer", false, 1000},
                     {"rad", true, 1},         {"radian", true, 1},        {"urad", true, 1e-6},
                     {"microrad", true, 1e-6}, {"microradian", true, 1e-6}};

static const struct unit *find_unit(const char *name)
{
    char singular[32];
    const size_t n = strlen(name);
    if (n >= sizeof singular)
        return NULL;
    strcpy(singular, name);
    if (n > 5 && name[n - 1] == 's')
        singular[n - 1] = '\0';
    for (size_t i = 0; i < sizeof units_of_axes / sizeof units_of_axes[0]; i++)
        if (zs_equals_ignoring_case(singular, units_of_axes[i].name))
            return &units_of_axes[i];
    return NULL;
}

/* Height of the satellite in metres, where the CRS is its view. */
static bool find_height(OGRSpatialReferenceH srs, double *height)
{
    OGRErr result = OGRERR_NONE;
    const char *projection = OSRGetAttrValue(srs, "PROJECTION", 0);
    if (projection == NULL || strcmp(projection, "Geostationary_Satellite") != 0)
        return false;
    *height = OSRGetNormProjParm(srs, "satellite_height", 0, &result);
    return result == OGRERR_NONE && *height > 0;
}

/* The factor from values of a coordinate variable to coordinates of the CRS: kilometres beside one in metres, and the
 * other way round; the angles of a geostationary view, as a satellite's instruments scan it, by the satellite's height.
 * 1 of all other units, and without a CRS. */
static double factor_of(const struct zs_node *coordinate, OGRSpatialReferenceH srs)
{
    const char *standard_name = zs_json_text(coordinate->attributes, "standard_name", "");
    const bool is_angular = strcmp(standard_name, "projection_x_angular_coordinate") == 0 ||
                            strcmp(standard_name, "projection_y_angular_coordinate") == 0; /* CF 1.9: radians */
    const struct unit *unit = find_unit(zs_json_text(coordinate->attributes, "units", is_angular ? "radian" : ""));
    double height, factor = 1;
    struct zs_quiet quiet;
    zs_quiet_begin(&quiet);
    if (unit != NULL && srs != NULL && OSRIsProjected(srs)) {
        const double metres = OSRGetLinearUnits(srs, NULL);
        if (unit->is_angle && find_height(srs, &height))
            factor = unit->size * height / metres;
        else if (!unit->is_angle && (metres == 1 || metres == 1000))
            factor = unit->size / metres;
    }
    zs_quiet_end(&quiet);
    return factor;
}

/* ---- Transform ---- */

/* Deviation from a straight line, as part of a step, up to which an axis is regular. Gaussian latitudes deviate by up
 * to 1.6 % near the poles: placing them is worth more than that; coordinates rounded to a few decimals deviate less. */
#define AXIS_TOLERANCE 0.025

/* A regular axis in units of the CRS: value i is first + i step, a longitude but for whole turns. */
struct axis {
    const struct zs_node *coordinate; /* NULL where there is none */
    bool found;                       /* false of one that is blank, not regular, or beyond the budget, too */
    double first, step;               /* step is 0 for an axis of one element */
};

/* Whether values of a coordinate variable are degrees east. */
static bool is_longitude(const struct zs_node *coordinate)
{
    bool is_degrees;
    const bool is_x = zs_cf_axis(coordinate->attributes, &is_degrees) == 'X';
    return is_x && (is_degrees || zs_json_equals(zs_json_get(coordinate->attributes, "standard_name"), "longitude"));
}

/* Turns each longitude, which goes from 180 to -180 degrees, so often that it is next to the one before: -179 is 181
 * behind 180. Half a turn, which is the step of a map of two columns, is none. Numbers that no longitudes are, metres
 * perhaps, stay as they are. */
static void unwrap(double *values, uint64_t n)
{
    if (!(fabs(values[0]) <= 1080) || !(fabs(values[n - 1]) <= 1080))
        return;
    for (uint64_t i = 1; i < n; i++) {
        const double turns = rint((values[i - 1] - values[i]) / 360);
        values[i] += isfinite(turns) ? 360 * turns : 0;
    }
}

/* Rounding noise of one coordinate: that of its type, and of the decimals float32 writers start from. */
static double rounding_noise(const struct zs_dtype *dtype, double a, double b)
{
    const double largest = fmax(fabs(a), fabs(b));
    if (dtype->type == ZS_FLOAT32)
        return 2 * (double)FLT_EPSILON * largest;
    return dtype->type == ZS_FLOAT16 ? 0x1p-10 * largest : 8 * DBL_EPSILON * largest;
}

/* Finds the line from end to end: single differences of float32 coordinates are mostly rounding noise. False where
 * there is none, or a value is off it. */
static bool find_line(struct axis *axis, const double *values, uint64_t n)
{
    const double last = values[n - 1];
    axis->first = values[0];
    axis->step = n > 1 ? (last - axis->first) / (double)(n - 1) : 0;
    const double tolerance = AXIS_TOLERANCE * fabs(axis->step) +
                             rounding_noise(&axis->coordinate->array->dtype, axis->first, last);
    bool is_line = isfinite(axis->first) && isfinite(axis->step) && (n == 1 || axis->step != 0);
    for (uint64_t i = 0; i < n && is_line; i++)
        is_line = fabs(values[i] - (axis->first + (double)i * axis->step)) <= tolerance; /* NaN is off the line */
    return is_line;
}

static enum zs_status read_axis(const struct zs_search *search, int dim, struct axis *axis, struct zs_error *err)
{
    const struct zs_node *c = zs_coordinate_find(search->hierarchy, search->node, dim);
    struct zs_coordinates read;
    *axis = (struct axis){.coordinate = c};
    if (c == NULL)
        return ZS_OK;
    ZS_TRY(zs_coordinates_read(search->hierarchy, c, &(uint64_t){0}, c->array->shape, &read, err));
    if (read.elements == NULL)
        return ZS_OK;
    double *values = zs_calloc((size_t)read.count, sizeof *values);
    for (uint64_t i = 0; i < read.count && values != NULL; i++)
        values[i] = zs_coordinate_at(&read, i);
    zs_coordinates_clear(&read);
    ZS_TRY_MEMORY(values, err);
    if (is_longitude(c))
        unwrap(values, read.count);
    axis->found = !(read.is_blank && read.count == 1) && find_line(axis, values, read.count);
    const double factor = factor_of(c, search->out->srs); /* which was found before */
    axis->first *= factor;
    axis->step *= factor;
    free(values);
    return ZS_OK;
}

/* Transform from two regular axes of pixel centres. An axis of one element takes the other's step. */
static bool transform_of_axes(const struct axis *x, const struct axis *y, double *transform)
{
    if (!x->found || !y->found)
        return false;
    double dx = x->step, dy = y->step;
    if (dx == 0)
        dx = fabs(dy);
    if (dy == 0)
        dy = -fabs(dx);
    if (dx == 0)
        return false;
    const double centres[6] = {x->first, dx, 0, y->first, 0, dy};
    memcpy(transform, centres, sizeof centres);
    zs_transform_shift(transform, -0.5, -0.5);
    return true;
}

enum zs_status zs_cf_find_transform(struct zs_search *search, struct zs_error *err)
{
    const struct zs_node *mapping = zs_grid_mapping_find(search->hierarchy, &search->scope);
    struct axis x, y = {.found = false};
    double centres[6], given[6];
    ZS_TRY(read_axis(search, search->axes.x, &x, err));
    if (x.coordinate != NULL)
        ZS_TRY(read_axis(search, search->axes.y, &y, err));
    /* A grid mapping taken from a group above speaks of that group's rasters. */
    const bool has_given = mapping != NULL && zs_parse_geotransform(mapping->attributes, given) &&
                           zs_sibling(search->hierarchy, search->node, zs_path_name(mapping->path)) == mapping;
    const bool is_rotated = has_given && (given[2] != 0 || given[4] != 0);
    /* An axis of one element has no step of its own: GeoTransform has it. */
    if (has_given && x.found && x.step == 0)
        x.step = given[1];
    if (has_given && y.found && y.step == 0)
        y.step = given[5];
    const bool has_centres = transform_of_axes(&x, &y, centres);
    /* Where both are there and agree the text is the exact one; where they do not, someone cut the raster and only the
     * coordinates followed. Coordinates cannot express a rotation. */
    if (has_given &&
        (is_rotated || !has_centres || zs_transform_is_same(given, centres, search->width, search->height)) &&
        zs_search_take(search, given))
        return ZS_OK;
    if (has_centres)
        zs_search_take(search, centres);
    return ZS_OK;
}

/* Whether `coordinate` has the raster's rows and columns as its two dimensions. */
static bool is_on_raster(const struct zs_search *search, const struct zs_node *coordinate)
{
    if (coordinate == NULL || coordinate == search->node || coordinate->array == NULL || coordinate->array->ndim != 2 ||
        coordinate->array->shape[0] != search->height || coordinate->array->shape[1] != search->width)
        return false;
    const int dims[2] = {search->axes.y, search->axes.x};
    for (int i = 0; i < 2; i++) {
        const char *theirs = zs_dimension_name(coordinate, i), *ours = zs_dimension_name(search->node, dims[i]);
        if (theirs != NULL && ours != NULL && strcmp(theirs, ours) != 0)
            return false;
    }
    return true;
}

void zs_cf_find_geolocation(struct zs_search *search)
{
    const char *list;
    char word[256];
    const struct zs_node *x = NULL, *y = NULL;
    if (!zs_json_one_text(zs_json_get(search->node->attributes, "coordinates"), &list))
        return;
    while ((list = zs_next_word(list, word, sizeof word)) != NULL) {
        const struct zs_node *c = zs_scope_array(search->hierarchy, &search->scope, NULL, word);
        if (!is_on_raster(search, c))
            continue;
        char axis = zs_cf_axis(c->attributes, NULL);
        if (axis == 0)
            axis = zs_name_axis(zs_path_name(c->path));
        if (axis == 'X' && x == NULL)
            x = c;
        else if (axis == 'Y' && y == NULL)
            y = c;
    }
    search->out->geolocation_x = y != NULL ? x : NULL;
    search->out->geolocation_y = x != NULL ? y : NULL;
}

/* ---- Writing ---- */

/* The document of a float64 variable instead of one that cannot hold the values, or of none; NULL without memory.
 * Attributes are kept but for how numbers were packed. */
static zs_json *new_axis_document(const struct zs_hierarchy *hierarchy, const struct zs_slot *slot, const char *name,
                                  uint64_t n)
{
    static const char *const packing[] = {"scale_factor", "add_offset",  "_FillValue", "missing_value",
                                          "valid_range",  ZS_UNSIGNED_ATTRIBUTE};
    const struct zs_node *old = slot->own;
    zs_json *document =
        zs_small_array_document(name, ZS_FLOAT64, n, slot->has_checksum, zs_hierarchy_takes_dots(hierarchy, old));
    if (document != NULL && old != NULL && old->attributes != NULL) {
        zs_json *attributes = zs_json_set(document, "attributes", zs_json_copy(old->attributes));
        for (size_t i = 0; i < sizeof packing / sizeof packing[0]; i++)
            zs_json_remove(attributes, packing[i]);
    }
    return document;
}

/* Whether units are of another kind than the CRS. */
static bool is_of_other_units(const struct zs_node *coordinate, const struct zs_georef_out *geo)
{
    bool is_degrees;
    zs_cf_axis(coordinate->attributes, &is_degrees);
    if (geo->srs == NULL)
        return is_degrees && !geo->keeps_srs;
    return !OSRIsDerivedGeographic(geo->srs) && (OSRIsGeographic(geo->srs) != 0) != is_degrees;
}

/* Axis, units and names as the CRS has them; those that are not known any more go. */
static enum zs_status describe_axis(struct zs_hierarchy *hierarchy, const struct zs_node *coordinate,
                                    const struct zs_georef_out *geo, bool is_x, struct zs_error *err)
{
    const char *standard_name = NULL, *long_name = NULL, *units = NULL;
    zs_json *attributes;
    bool is_degrees;
    ZS_TRY(zs_hierarchy_edit(hierarchy, coordinate, &attributes, err));
    zs_cf_axis(attributes, &is_degrees);
    if (geo->srs != NULL || is_degrees) {
        zs_json_remove(attributes, "units");
        zs_json_remove(attributes, "standard_name");
    }
    if (geo->srs != NULL && OSRIsGeographic(geo->srs)) {
        standard_name = long_name = is_x ? "longitude" : "latitude";
        units = is_x ? "degrees_east" : "degrees_north";
    } else if (geo->srs != NULL && OSRIsProjected(geo->srs)) {
        char *unit = NULL; /* borrowed from the CRS */
        const double metres = OSRGetLinearUnits(geo->srs, &unit);
        standard_name = is_x ? "projection_x_coordinate" : "projection_y_coordinate";
        long_name = is_x ? "x coordinate of projection" : "y coordinate of projection";
        units = metres == 1000 ? "km" : metres == 1 || unit == NULL ? "m" : unit;
    }
    bool ok = zs_json_set_string(attributes, "axis", is_x ? "X" : "Y");
    if (ok && units != NULL)
        ok = zs_json_set_string(attributes, "units", units) &&
             zs_json_set_string(attributes, "standard_name", standard_name) &&
             zs_json_set_string(attributes, "long_name", long_name);
    return ok ? ZS_OK : zs_fail_memory(err);
}

/* Whether an array is the coordinate variable of the dimension that is called as it is (CF 1.3). */
static bool is_coordinate(const struct zs_node *found, const char *name)
{
    const char *dimension = zs_dimension_name(found, 0);
    return found->array != NULL && found->array->ndim == 1 && dimension != NULL && strcmp(dimension, name) == 0;
}

/* Writes the values in units of the CRS, as a float64 variable. New chunks have other keys than the stored ones, which
 * stay until the new document is stored. So a writer that is killed, or cannot write all values, leaves coordinates
 * that agree with the metadata. */
static enum zs_status write_values(struct zs_hierarchy *hierarchy, const struct zs_slot *slot, const char *name,
                                   const struct zs_georef_out *geo, bool is_x, struct zs_error *err)
{
    struct zs_store *store = zs_hierarchy_store(hierarchy);
    struct zs_node *made = NULL;
    const uint64_t n = is_x ? geo->width : geo->height;
    const double origin = geo->transform[is_x ? 0 : 3], step = geo->transform[is_x ? 1 : 5];
    double *values = zs_calloc((size_t)n, sizeof *values);
    enum zs_status status = values != NULL ? ZS_OK : zs_fail_memory(err);
    for (uint64_t i = 0; values != NULL && i < n; i++)
        values[i] = origin + ((double)i + 0.5) * step; /* of pixel centres */
    zs_json *document = status == ZS_OK ? new_axis_document(hierarchy, slot, name, n) : NULL;
    if (status == ZS_OK)
        status = document != NULL ? zs_node_create(slot->path, document, true, &made, err) : zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_write_small_array(store, made, true, values, err);
    free(values);
    if (status == ZS_OK)
        status = zs_hierarchy_add(hierarchy, made, err);
    else
        zs_node_free(made);
    return status == ZS_OK ? describe_axis(hierarchy, made, geo, is_x, err) : status;
}

/* Sets *is_current when the coordinate variable holds what it should, before or after writing. */
static enum zs_status write_axis(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim,
                                 const struct zs_georef_out *geo, bool is_x, bool *is_current, struct zs_error *err)
{
    const char *name = zs_dimension_name(node, dim);
    const uint64_t n = is_x ? geo->width : geo->height;
    const bool is_wanted = zs_has_axes(geo) && n > 0 && !geo->keeps_transform;
    struct zs_slot slot;
    *is_current = !is_wanted;
    if (!zs_is_inside_name(name) || (!is_wanted && zs_sibling(hierarchy, node, name) == NULL))
        return ZS_OK;
    ZS_TRY(zs_slot_find(hierarchy, node, name, is_coordinate, &slot, err));
    if (!slot.is_usable || (slot.own != NULL && slot.own->array->shape[0] != n)) { /* of another length elsewhere */
        free(slot.path);
        return ZS_OK;
    }
    enum zs_status status = ZS_OK;
    *is_current = true;
    if (is_wanted)
        status = write_values(hierarchy, &slot, name, geo, is_x, err);
    else if (!geo->keeps_transform && slot.own != NULL)
        status = zs_hierarchy_remove(hierarchy, slot.path, err);
    else if (slot.own != NULL && is_of_other_units(slot.own, geo))
        status = describe_axis(hierarchy, slot.own, geo, is_x, err);
    free(slot.path);
    return status;
}

bool zs_cf_is_declared(struct zs_hierarchy *hierarchy, const struct zs_scope *scope, struct zs_axes axes,
                       const char **mapping_name)
{
    const struct zs_node *mapping = zs_grid_mapping_find(hierarchy, scope);
    *mapping_name = mapping != NULL ? zs_path_name(mapping->path) : ZS_GRID_MAPPING;
    return mapping != NULL || (axes.y >= 0 && zs_coordinate_find(hierarchy, scope->node, axes.x) != NULL &&
                               zs_coordinate_find(hierarchy, scope->node, axes.y) != NULL);
}

enum zs_status zs_cf_write(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                           const char *mapping_name, const struct zs_georef_out *geo, struct zs_georef_shared *written,
                           struct zs_error *err)
{
    bool y_is_current, x_is_current;
    ZS_TRY(write_axis(hierarchy, node, axes.y, geo, false, &y_is_current, err));
    ZS_TRY(write_axis(hierarchy, node, axes.x, geo, true, &x_is_current, err));
    ZS_TRY(zs_grid_mapping_write(hierarchy, node, mapping_name, geo, &written->has_mapping, err));
    written->has_all = y_is_current && x_is_current && written->has_mapping;
    return ZS_OK;
}
