#include "geo/variables.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "base/checked.h"
#include "base/memory.h"
#include "geo/bands.h"
#include "geo/conventions.h"
#include "zarr/name.h"

/* Whether an array of numbers or of text has that one dimension. */
static bool is_along(const struct zs_node *found, uint64_t size)
{
    uint64_t shape[ZS_MAX_NDIM];
    int ndim;
    if (found->array != NULL)
        return found->array->ndim == 1 && found->array->shape[0] == size;
    return found->is_text && zs_strings_shape(found, &ndim, shape, NULL) == ZS_OK && ndim == 1 && shape[0] == size;
}

const struct zs_node *zs_dimension_variable(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                            const char *name, uint64_t size)
{
    char *group = zs_path_parent(node->path);
    int factor;
    /* The groups of overviews have no copies of the coordinates above. */
    const bool is_level = group != NULL && zs_is_overview_group(zs_path_name(group), &factor);
    const struct zs_node *found =
        zs_array_beside(hierarchy, node, name, is_level || zs_hierarchy_is_consolidated(hierarchy));
    free(group);
    return found != NULL && is_along(found, size) ? found : NULL;
}

const struct zs_node *zs_coordinate_variable(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim)
{
    const char *name = node->array != NULL ? zs_dimension_name(node, dim) : NULL;
    const struct zs_node *found =
        name != NULL ? zs_dimension_variable(hierarchy, node, name, node->array->shape[dim]) : NULL;
    return found != node ? found : NULL;
}

const struct zs_node *zs_coordinate_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim)
{
    const struct zs_node *found = zs_coordinate_variable(hierarchy, node, dim);
    return found != NULL && found->array != NULL ? found : NULL;
}

/* ---- Values ---- */

static enum zs_status read_packing(const struct zs_node *variable, struct zs_coordinates *out, struct zs_error *err)
{
    struct zs_band_properties properties;
    ZS_TRY(zs_band_properties_read(variable, &properties, err));
    out->scale = 1;
    const bool has_scale = zs_json_double(zs_band_member(&properties, "scale"), &out->scale);
    out->is_packed = zs_json_double(zs_band_member(&properties, "offset"), &out->offset) || has_scale;
    /* Only an explicit _FillValue marks a coordinate as missing: 0 is a coordinate like any other. */
    out->has_missing = properties.has_nodata && zs_json_get(variable->attributes, "_FillValue") != NULL;
    memcpy(out->missing, properties.nodata, sizeof out->missing);
    zs_band_properties_clear(&properties);
    return ZS_OK;
}

static enum zs_status read_numbers(struct zs_hierarchy *hierarchy, const struct zs_node *variable,
                                   const uint64_t *start, const uint64_t *count, struct zs_coordinates *out,
                                   struct zs_error *err)
{
    /* A coordinate is a chunk or two, and each is decoded once. */
    const struct zs_array_options options = {
        .threads = 1, .cache_bytes = (size_t)1 << 20, .max_chunk_bytes = ZS_COORDINATE_MAX_CHUNK};
    const struct zs_array_meta *meta = variable->array;
    const size_t size = meta->dtype.size;
    struct zs_array *array;
    out->dtype = &meta->dtype;
    if (!zs_product_u64(count, meta->ndim, &out->count) || out->count > ZS_COORDINATE_MAX || out->count == 0)
        return ZS_OK;
    ZS_TRY(read_packing(variable, out, err));
    ZS_TRY(zs_array_open_node(hierarchy, variable, &options, &array, err));
    out->elements = zs_calloc((size_t)out->count, size);
    const enum zs_status status =
        out->elements != NULL ? zs_array_read(array, start, count, out->elements, err) : zs_fail_memory(err);
    zs_array_close(array);
    out->is_blank = status == ZS_OK;
    for (uint64_t i = 0; i < out->count && out->is_blank; i++)
        out->is_blank = memcmp(out->elements + i * size, meta->fill_value, size) == 0;
    return status;
}

enum zs_status zs_coordinates_read(struct zs_hierarchy *hierarchy, const struct zs_node *variable,
                                   const uint64_t *start, const uint64_t *count, struct zs_coordinates *out,
                                   struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    *out = (struct zs_coordinates){.is_blank = true};
    if (variable->array != NULL && variable->array->dtype.type != ZS_RAW)
        status = read_numbers(hierarchy, variable, start, count, out, err);
    else if (variable->is_text && count[0] > 0)
        status = zs_strings_read(hierarchy, variable, start[0], count[0], &out->texts, &out->is_blank, err);
    if (status != ZS_OK || (out->texts != NULL && out->is_blank))
        zs_coordinates_clear(out);
    /* That values cannot be had is never the same as "has none". A variable of another kind than is read is none. */
    return status == ZS_IO || status == ZS_NO_SPACE || status == ZS_CORRUPT || status == ZS_NO_MEMORY ? status : ZS_OK;
}

double zs_coordinate_at(const struct zs_coordinates *c, uint64_t index)
{
    const unsigned char *e = c->elements + index * c->dtype->size;
    const bool is_time = c->dtype->type == ZS_DATETIME64 || c->dtype->type == ZS_TIMEDELTA64;
    const bool is_missing = (c->has_missing && memcmp(e, c->missing, c->dtype->size) == 0) ||
                            (is_time && (int64_t)zs_bits_load(c->dtype->size, e) == INT64_MIN); /* NaT */
    return is_missing ? NAN : zs_dtype_to_double(c->dtype, e) * c->scale + c->offset;
}

void zs_coordinates_clear(struct zs_coordinates *c)
{
    free(c->elements);
    zs_names_free(c->texts);
    c->elements = NULL;
    c->texts = NULL;
}

/* ---- Regular axes ---- */

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
static bool find_line(struct zs_regular_axis *axis, const double *values)
{
    const uint64_t n = axis->size;
    const double last = values[n - 1];
    axis->first = values[0];
    axis->step = n > 1 ? (last - axis->first) / (double)(n - 1) : 0;
    const double tolerance = ZS_AXIS_TOLERANCE * fabs(axis->step) +
                             rounding_noise(&axis->coordinate->array->dtype, axis->first, last);
    bool is_line = isfinite(axis->first) && isfinite(axis->step) && (n == 1 || axis->step != 0);
    for (uint64_t i = 0; i < n && is_line; i++)
        is_line = fabs(values[i] - (axis->first + (double)i * axis->step)) <= tolerance; /* NaN is off the line */
    return is_line;
}

enum zs_status zs_regular_axis_read(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim,
                                    struct zs_regular_axis *axis, struct zs_error *err)
{
    const struct zs_node *c = zs_coordinate_find(hierarchy, node, dim);
    struct zs_coordinates read;
    memset(axis, 0, sizeof *axis);
    if (c == NULL)
        return ZS_OK;
    axis->coordinate = c;
    axis->size = node->array->shape[dim];
    ZS_TRY(zs_coordinates_read(hierarchy, c, &(uint64_t){0}, &axis->size, &read, err));
    if (read.elements == NULL)
        return ZS_OK;
    double *values = zs_calloc((size_t)read.count, sizeof *values);
    for (uint64_t i = 0; i < read.count && values != NULL; i++)
        values[i] = zs_coordinate_at(&read, i);
    zs_coordinates_clear(&read);
    ZS_TRY_MEMORY(values, err);
    if (is_longitude(c))
        unwrap(values, axis->size);
    axis->found = !(read.is_blank && axis->size == 1) && find_line(axis, values);
    free(values);
    return ZS_OK;
}

/* ---- Which axis ---- */

char zs_cf_axis(const zs_json *attributes, bool *is_degrees)
{
    /* CF 4.1 and 4.2 list these spellings. */
    static const char *const east[] = {"degrees_east", "degree_east", "degree_E", "degrees_E",
                                       "degreeE",      "degreesE",    NULL};
    static const char *const north[] = {"degrees_north", "degree_north", "degree_N", "degrees_N", "degreeN", "degreesN",
                                        NULL};
    static const char *const x_names[] = {"longitude", "projection_x_coordinate", "grid_longitude",
                                          "projection_x_angular_coordinate", NULL};
    static const char *const y_names[] = {"latitude", "projection_y_coordinate", "grid_latitude",
                                          "projection_y_angular_coordinate", NULL};
    const char *axis = zs_json_text(attributes, "axis", "");
    const char *standard_name = zs_json_text(attributes, "standard_name", "");
    const char *units = zs_json_text(attributes, "units", "");
    const bool is_east = zs_is_one_of(units, east), is_north = zs_is_one_of(units, north);
    if (is_degrees != NULL)
        *is_degrees = is_east || is_north;
    if (strcmp(axis, "X") == 0 || strcmp(axis, "x") == 0)
        return 'X';
    if (strcmp(axis, "Y") == 0 || strcmp(axis, "y") == 0)
        return 'Y';
    if (zs_is_one_of(standard_name, x_names))
        return 'X';
    if (zs_is_one_of(standard_name, y_names))
        return 'Y';
    return is_east ? 'X' : is_north ? 'Y' : 0;
}

char zs_name_axis(const char *name)
{
    static const char *const x_names[] = {"x", "lon", "longitude", "long", "easting", "eastings", "col", "cols",
                                          "column", "columns", "rlon", "xc", "x_coordinate", "width",
                                          "projection_x_coordinate", "pixel", "pixels", NULL};
    static const char *const y_names[] = {"y", "lat", "latitude", "northing", "northings", "row", "rows", "line",
                                          "lines", "rlat", "yc", "y_coordinate", "height", "projection_y_coordinate",
                                          NULL};
    char lower[32];
    const size_t n = name != NULL ? zs_dimension_stem(name) : 0;
    if (n == 0 || n >= sizeof lower)
        return 0;
    size_t i = 0;
    for (; i < n; i++)
        lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
    lower[i] = '\0';
    return zs_is_one_of(lower, x_names) ? 'X' : zs_is_one_of(lower, y_names) ? 'Y' : 0;
}

/* ---- Units ---- */

/* Reads spellings of udunits, lengths as metres or angles as radians. */
static bool find_unit(const char *name, bool is_angle, double *size)
{
    static const struct {
        const char *name;
        bool is_angle;
        double size;
    } units[] = {{"m", false, 1},          {"metre", false, 1},        {"meter", false, 1},
                 {"km", false, 1000},      {"kilometre", false, 1000}, {"kilometer", false, 1000},
                 {"rad", true, 1},         {"radian", true, 1},        {"urad", true, 1e-6},
                 {"microrad", true, 1e-6}, {"microradian", true, 1e-6}};
    char singular[32];
    const size_t n = strlen(name);
    if (n == 0 || n >= sizeof singular)
        return false;
    strcpy(singular, name);
    if (n > 5 && name[n - 1] == 's')
        singular[n - 1] = '\0';
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (units[i].is_angle == is_angle && zs_equals_ignoring_case(singular, units[i].name)) {
            *size = units[i].size;
            return true;
        }
    return false;
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

/* CF 1.9: such coordinates are angles, in radians by default. */
static bool is_angular(const zs_json *attributes)
{
    const zs_json *name = zs_json_get(attributes, "standard_name");
    return zs_json_equals(name, "projection_x_angular_coordinate") ||
           zs_json_equals(name, "projection_y_angular_coordinate");
}

double zs_coordinate_factor(const struct zs_node *coordinate, OGRSpatialReferenceH srs)
{
    double size = 1, height, metres = 1, factor = 1;
    const char *units = zs_json_text(coordinate->attributes, "units", NULL);
    if (srs == NULL || (units == NULL && !is_angular(coordinate->attributes)))
        return 1;
    struct zs_quiet quiet;
    zs_quiet_begin(&quiet);
    if (OSRIsProjected(srs))
        metres = OSRGetLinearUnits(srs, NULL);
    if (OSRIsProjected(srs) && (units == NULL || find_unit(units, true, &size)) && find_height(srs, &height))
        factor = size * height / metres;
    else if (OSRIsProjected(srs) && units != NULL && find_unit(units, false, &size) && (metres == 1 || metres == 1000))
        factor = size / metres;
    zs_quiet_end(&quiet);
    return factor;
}
