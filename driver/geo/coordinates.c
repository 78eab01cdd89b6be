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
#include "geo/crs.h"
#include "zarr/name.h"

/* Coordinates are looked through so many at a time (8 MiB of doubles). */
#define BLOCK ((uint64_t)1 << 20)

/* Whether a coordinate variable is there and its values cannot be had, which is never the same as "has none". One whose
 * metadata are of another kind than is read here is none. */
static bool is_failure(enum zs_status status)
{
    return status == ZS_IO || status == ZS_NO_SPACE || status == ZS_CORRUPT || status == ZS_NO_MEMORY ||
           status == ZS_CANCELLED;
}

/* The array named as the dimension, readable or not. Looks above its group where that costs nothing, and for overviews,
 * whose groups have no copies of the coordinates above. */
static const struct zs_node *find_named(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim)
{
    const char *name = node->array != NULL ? zs_dimension_name(node, dim) : NULL;
    char *group = zs_path_parent(node->path);
    int factor;
    const bool is_level = group != NULL && zs_is_overview_group(zs_path_name(group), &factor);
    const struct zs_node *found =
        zs_array_beside(hierarchy, node, name, is_level || zs_hierarchy_is_consolidated(hierarchy));
    free(group);
    return found != node ? found : NULL;
}

static bool is_coordinate_of(const struct zs_node *found, const struct zs_node *node, int dim)
{
    return found != NULL && found->array != NULL && found->array->ndim == 1 &&
           found->array->shape[0] == node->array->shape[dim];
}

const struct zs_node *zs_coordinate_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim)
{
    const struct zs_node *found = find_named(hierarchy, node, dim);
    return is_coordinate_of(found, node, dim) ? found : NULL;
}

enum zs_status zs_coordinate_texts(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, uint64_t first,
                                   uint64_t count, char ***texts, struct zs_error *err)
{
    uint64_t length;
    bool is_blank;
    *texts = NULL;
    const size_t failures = zs_hierarchy_failures(hierarchy);
    const struct zs_node *found = find_named(hierarchy, node, dim);
    ZS_TRY(zs_hierarchy_check_since(hierarchy, failures, err));
    if (found == NULL || count == 0 || !zs_strings_length(found, &length) || length != node->array->shape[dim])
        return ZS_OK;
    char **values;
    const enum zs_status status = zs_strings_read(hierarchy, found, first, count, &values, &is_blank, err);
    if (status != ZS_OK)
        return is_failure(status) ? status : ZS_OK;
    if (is_blank)
        zs_strings_free(values, (size_t)count);
    else
        *texts = values;
    return ZS_OK;
}

/* Opens a variable to be read; *array is NULL for one of a kind that is not read. One thread and no cache to speak of:
 * a coordinate is a chunk or two. Who reads it piece by piece has each chunk decoded once. */
static enum zs_status open_variable(struct zs_hierarchy *hierarchy, const struct zs_node *node, bool by_pieces,
                                    struct zs_array **array, bool *is_too_large, struct zs_error *err)
{
    const struct zs_array_options options = {.threads = 1,
                                             .cache_bytes = by_pieces ? 2 * ZS_COORDINATE_MAX_CHUNK : BLOCK};
    *is_too_large = false;
    *array = NULL;
    const enum zs_status status = zs_array_open_node(hierarchy, node, &options, array, err);
    if (status != ZS_OK)
        return is_failure(status) ? status : ZS_OK;
    const struct zs_array_info info = zs_array_get_info(*array);
    uint64_t bytes;
    if (!zs_product_u64(info.chunk_shape, info.ndim, &bytes) || !zs_mul_u64(bytes, info.item_size, &bytes))
        bytes = UINT64_MAX;
    if (bytes > ZS_COORDINATE_MAX_CHUNK) {
        *is_too_large = true;
        zs_array_close(*array);
        *array = NULL;
    }
    return ZS_OK;
}

/* Reads n elements that make up the given window; *data is NULL for an array of a kind that is not read. */
static enum zs_status read_elements(struct zs_array *array, const struct zs_node *node, const uint64_t *start,
                                    const uint64_t *count, uint64_t n, unsigned char **data, bool *is_blank,
                                    struct zs_error *err)
{
    const struct zs_array_meta *meta = node->array;
    const size_t size = meta->dtype.size;
    *data = NULL;
    *is_blank = true;
    if (n > ZS_COORDINATE_MAX)
        return ZS_OK;
    unsigned char *elements = zs_calloc((size_t)n, size);
    ZS_TRY_MEMORY(elements, err);
    const enum zs_status status = zs_array_read(array, start, count, elements, err);
    if (status != ZS_OK) {
        free(elements);
        return is_failure(status) ? status : ZS_OK;
    }
    for (uint64_t i = 0; i < n && *is_blank; i++)
        *is_blank = memcmp(elements + i * size, meta->fill_value, size) == 0;
    *data = elements;
    return ZS_OK;
}

enum zs_status zs_coordinate_elements(struct zs_hierarchy *hierarchy, const struct zs_node *coordinate, uint64_t first,
                                      uint64_t count, void **elements, bool *is_blank, struct zs_error *err)
{
    *elements = NULL;
    *is_blank = true;
    const struct zs_array_meta *meta = coordinate->array;
    if (meta == NULL || meta->ndim != 1 || count == 0)
        return ZS_OK;
    if (first > meta->shape[0] || count > meta->shape[0] - first)
        return zs_fail(err, ZS_ARGUMENT, "%s has %llu elements, asked for %llu at %llu", coordinate->path,
                       (unsigned long long)meta->shape[0], (unsigned long long)count, (unsigned long long)first);
    unsigned char *data = NULL;
    struct zs_array *array;
    bool is_too_large;
    ZS_TRY(open_variable(hierarchy, coordinate, false, &array, &is_too_large, err));
    const enum zs_status status =
        array != NULL ? read_elements(array, coordinate, &first, &count, count, &data, is_blank, err) : ZS_OK;
    zs_array_close(array);
    *elements = data;
    return status;
}

enum zs_status zs_coordinate_rows_blank(struct zs_hierarchy *hierarchy, const struct zs_node *coordinate,
                                        bool *is_blank, bool *is_too_large, struct zs_error *err)
{
    const struct zs_array_meta *meta = coordinate->array;
    *is_blank = true;
    *is_too_large = meta != NULL && meta->ndim == 2 && meta->shape[1] > ZS_COORDINATE_MAX;
    if (meta == NULL || meta->ndim != 2 || meta->shape[0] == 0 || *is_too_large)
        return ZS_OK;
    struct zs_array *array;
    ZS_TRY(open_variable(hierarchy, coordinate, true, &array, is_too_large, err));
    enum zs_status status = ZS_OK;
    for (uint64_t at = 0; at < meta->shape[1] && array != NULL && *is_blank && status == ZS_OK; at += BLOCK) {
        const uint64_t n = meta->shape[1] - at < BLOCK ? meta->shape[1] - at : BLOCK;
        const uint64_t start[2] = {meta->shape[0] / 2, at}, count[2] = {1, n};
        unsigned char *data;
        status = read_elements(array, coordinate, start, count, n, &data, is_blank, err);
        free(data);
    }
    zs_array_close(array);
    return status;
}

/* Elements of a coordinate variable as its values; NULL for a type that has none. */
static enum zs_status values_of(const struct zs_node *coordinate, const unsigned char *elements, uint64_t count,
                                double **values, struct zs_error *err)
{
    const struct zs_dtype *dtype = &coordinate->array->dtype;
    *values = NULL;
    if (dtype->type == ZS_RAW)
        return ZS_OK;
    struct zs_band_properties properties;
    ZS_TRY(zs_band_properties_read(coordinate, &properties, err));
    double *out = zs_calloc((size_t)count, sizeof *out);
    /* Only an explicit _FillValue marks a coordinate as missing: 0 is a coordinate like any other. */
    const bool masks = properties.has_nodata && zs_json_get(coordinate->attributes, "_FillValue") != NULL;
    for (uint64_t i = 0; i < count && out != NULL; i++) {
        const unsigned char *e = elements + i * dtype->size;
        out[i] = zs_dtype_to_double(dtype, e) * (properties.has_scale ? properties.scale : 1) +
                 (properties.has_offset ? properties.offset : 0);
        if (masks && memcmp(e, properties.nodata, dtype->size) == 0)
            out[i] = NAN;
    }
    zs_band_properties_clear(&properties);
    *values = out;
    return out != NULL ? ZS_OK : zs_fail_memory(err);
}

enum zs_status zs_coordinate_values(struct zs_hierarchy *hierarchy, const struct zs_node *coordinate, uint64_t first,
                                    uint64_t count, double **values, bool *is_blank, struct zs_error *err)
{
    void *elements;
    *values = NULL;
    ZS_TRY(zs_coordinate_elements(hierarchy, coordinate, first, count, &elements, is_blank, err));
    const enum zs_status status = elements != NULL ? values_of(coordinate, elements, count, values, err) : ZS_OK;
    free(elements);
    return status;
}

enum zs_status zs_variable_values(struct zs_hierarchy *hierarchy, const struct zs_node *variable, uint64_t most,
                                  double **values, struct zs_error *err)
{
    static const uint64_t origin[ZS_MAX_NDIM];
    const struct zs_array_meta *meta = variable->array;
    unsigned char *elements = NULL;
    struct zs_array *array;
    bool is_too_large, is_blank;
    uint64_t n;
    *values = NULL;
    if (meta == NULL || !zs_product_u64(meta->shape, meta->ndim, &n) || n == 0 || n > most)
        return ZS_OK;
    ZS_TRY(open_variable(hierarchy, variable, false, &array, &is_too_large, err));
    enum zs_status status =
        array != NULL ? read_elements(array, variable, origin, meta->shape, n, &elements, &is_blank, err) : ZS_OK;
    zs_array_close(array);
    if (status == ZS_OK && elements != NULL && !is_blank)
        status = values_of(variable, elements, n, values, err);
    free(elements);
    return status;
}

/* Whether values of a coordinate variable are degrees east. */
static bool is_longitude(const struct zs_node *coordinate)
{
    bool is_degrees;
    const bool is_x = zs_cf_axis(coordinate->attributes, &is_degrees) == 'X';
    return is_x && (is_degrees || zs_json_equals(zs_json_get(coordinate->attributes, "standard_name"), "longitude"));
}

/* A longitude so many turns on or back that it is nearest to what is expected: -179 is 181. Values that no longitude
 * has stay as they are. */
static double nearest_turn(double longitude, double expected)
{
    /* Half a turn, which is the step of a map of two columns, is none. What no longitude can be are metres. */
    const double turns = rint((expected - longitude) / 360);
    return isfinite(turns) && fabs(longitude) <= 1080 ? longitude + 360 * turns : longitude;
}

/* Turns every longitude, which goes from 180 to -180 degrees, to lie next to the line. */
static void unwrap(const struct zs_regular_axis *axis, double *values, uint64_t first, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        values[i] = nearest_turn(values[i], axis->first + (double)(first + i) * axis->step);
}

/* Whether values[0..n), which are elements `first` and on of the axis, lie on its line. */
static bool is_on_line(const struct zs_regular_axis *axis, const double *values, uint64_t first, uint64_t n,
                       double noise)
{
    const double tolerance = ZS_AXIS_TOLERANCE * fabs(axis->step) + noise;
    for (uint64_t i = 0; i < n; i++)
        /* Negated so that NaN is off the line. */
        if (!(fabs(values[i] - (axis->first + (double)(first + i) * axis->step)) <= tolerance))
            return false;
    return true;
}

/* Rounding noise of one coordinate: that of its type, and of the decimals float32 writers start from. */
static double rounding_noise(const struct zs_dtype *dtype, double a, double b)
{
    const double largest = fmax(fabs(a), fabs(b));
    if (dtype->type == ZS_FLOAT32)
        return 2 * (double)FLT_EPSILON * largest;
    return dtype->type == ZS_FLOAT16 ? 0x1p-10 * largest : 8 * DBL_EPSILON * largest;
}

/* Values [first, first + n) of an opened coordinate variable; NULL when it is of a kind that has none. */
static enum zs_status read_values(struct zs_array *array, const struct zs_node *coordinate, uint64_t first, uint64_t n,
                                  double **values, bool *is_blank, struct zs_error *err)
{
    unsigned char *elements;
    *values = NULL;
    ZS_TRY(read_elements(array, coordinate, &first, &n, n, &elements, is_blank, err));
    const enum zs_status status = elements != NULL ? values_of(coordinate, elements, n, values, err) : ZS_OK;
    free(elements);
    return status;
}

/* The line from end to end: single differences of float32 coordinates are mostly rounding noise. False where there is
 * none. */
static bool find_line(struct zs_regular_axis *axis, double first, double last)
{
    axis->first = first;
    axis->step = axis->size > 1 ? (last - first) / (double)(axis->size - 1) : 0;
    return isfinite(first) && isfinite(axis->step) && (axis->size == 1 || axis->step != 0);
}

/* The last longitude as the first step lets expect it. */
static double unwrap_last(const struct zs_regular_axis *axis, const double *values, uint64_t n, double last)
{
    if (n < 2)
        return last;
    return nearest_turn(last, values[0] + (nearest_turn(values[1], values[0]) - values[0]) * (double)(axis->size - 1));
}

/* Checks an axis block by block: every value must lie on the line. */
static enum zs_status check_axis(struct zs_array *array, struct zs_regular_axis *axis, struct zs_error *err)
{
    const struct zs_node *c = axis->coordinate;
    const uint64_t size = axis->size;
    double *v, last = NAN;
    bool is_regular = true, is_blank;
    const bool wraps = is_longitude(c);
    if (size > BLOCK) {
        ZS_TRY(read_values(array, c, size - 1, 1, &v, &is_blank, err));
        last = v != NULL ? v[0] : NAN;
        free(v);
    }
    for (uint64_t at = 0; at < size && is_regular; at += BLOCK) {
        const uint64_t n = size - at < BLOCK ? size - at : BLOCK;
        ZS_TRY(read_values(array, c, at, n, &v, &is_blank, err));
        if (v != NULL && size <= BLOCK)
            last = v[n - 1];
        if (v != NULL && wraps && at == 0)
            last = unwrap_last(axis, v, n, last);
        is_regular = v != NULL && (at > 0 || find_line(axis, v[0], last)) && !(is_blank && size == 1);
        if (is_regular && wraps)
            unwrap(axis, v, at, n);
        is_regular = is_regular &&
                     is_on_line(axis, v, at, n, rounding_noise(&c->array->dtype, axis->first, last));
        free(v);
    }
    axis->found = is_regular;
    return ZS_OK;
}

enum zs_status zs_regular_axis_read(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim,
                                    struct zs_regular_axis *axis, struct zs_error *err)
{
    const struct zs_node *c = zs_coordinate_find(hierarchy, node, dim);
    memset(axis, 0, sizeof *axis);
    if (c == NULL)
        return ZS_OK;
    axis->coordinate = c;
    axis->size = node->array->shape[dim];
    axis->is_too_large = axis->size > ZS_COORDINATE_MAX;
    if (axis->size == 0 || axis->is_too_large)
        return ZS_OK;
    struct zs_array *array;
    ZS_TRY(open_variable(hierarchy, c, true, &array, &axis->is_too_large, err));
    const enum zs_status status = array != NULL ? check_axis(array, axis, err) : ZS_OK;
    zs_array_close(array);
    return status;
}

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

struct unit {
    const char *name;
    double size;
};

/* Spellings of udunits; also in the plural. The symbols are compared with case, as it does. */
static bool find_unit(const struct unit *units, const char *name, double *size)
{
    for (; units->name != NULL; units++) {
        const size_t n = strlen(units->name);
        char singular[32];
        if (strlen(name) >= sizeof singular)
            return false;
        strcpy(singular, name);
        if (n > 4 && strlen(name) == n + 1 && name[n] == 's')
            singular[n] = '\0';
        if (strcmp(singular, units->name) == 0 || (n > 4 && zs_equals_ignoring_case(singular, units->name))) {
            *size = units->size;
            return true;
        }
    }
    return false;
}

static bool find_length(const char *name, double *metres)
{
    static const struct unit units[] = {{"m", 1},     {"metre", 1},        {"meter", 1},
                                        {"km", 1000}, {"kilometre", 1000}, {"kilometer", 1000},
                                        {NULL, 0}};
    return find_unit(units, name, metres);
}

static bool find_angle(const char *name, double *radians)
{
    static const struct unit units[] = {
        {"rad", 1}, {"radian", 1}, {"urad", 1e-6}, {"microrad", 1e-6}, {"microradian", 1e-6}, {NULL, 0}};
    return find_unit(units, name, radians);
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
    if (OSRIsProjected(srs) && (units == NULL || find_angle(units, &size)) && find_height(srs, &height))
        factor = size * height / metres;
    else if (OSRIsProjected(srs) && units != NULL && find_length(units, &size) && (metres == 1 || metres == 1000))
        factor = size / metres;
    zs_quiet_end(&quiet);
    return factor;
}
