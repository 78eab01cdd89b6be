#include "geo/coordinates.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "array/strings.h"
#include "base/memory.h"
#include "geo/conventions.h"
#include "geo/meaning.h"
#include "zarr/name.h"

/* Axes up to this many elements are read whole (8 MiB of doubles); of longer ones, both ends and the middle. */
#define AXIS_READ_WHOLE ((uint64_t)1 << 20)
#define AXIS_SAMPLE ((uint64_t)1024)

/* Deviation from a straight line, as part of a step, up to which an axis is regular. Gaussian latitudes deviate by up to
 * 1.6 % near the poles: placing them is worth more than that; coordinates rounded to a few decimals deviate less. */
#define AXIS_TOLERANCE 0.025

static bool is_lasting_failure(enum zs_status status)
{
    return status == ZS_IO || status == ZS_NO_MEMORY || status == ZS_CANCELLED;
}

/* The array named as the dimension, readable or not; NULL when there is none. */
static const struct zs_node *find_by_name(struct zs_hierarchy *h, const struct zs_node *node, int dim)
{
    const char *name = zs_dimension_name(node, dim);
    if (!zs_is_node_name(name) || node->array == NULL)
        return NULL;
    char *group = zs_path_parent(node->path);
    while (group != NULL) {
        const struct zs_node *found;
        if (zs_hierarchy_node_at(h, group, name, &found, NULL) == ZS_OK && found->type == ZS_NODE_ARRAY) {
            free(group);
            return found != node ? found : NULL;
        }
        char *above = zs_hierarchy_is_consolidated(h) ? zs_path_parent(group) : NULL;
        free(group);
        group = above;
    }
    return NULL;
}

const struct zs_node *zs_coordinate_find(struct zs_hierarchy *h, const struct zs_node *node, int dim)
{
    const struct zs_node *found = find_by_name(h, node, dim);
    return found != NULL && found->array != NULL && found->array->ndim == 1 && found->array->shape[0] == node->array->shape[dim]
               ? found
               : NULL;
}

enum zs_status zs_coordinate_texts(struct zs_hierarchy *h, const struct zs_node *node, int dim, uint64_t first, uint64_t count,
                                   char ***texts, struct zs_error *err)
{
    uint64_t length;
    bool is_blank;
    *texts = NULL;
    const struct zs_node *found = find_by_name(h, node, dim);
    if (found == NULL || count == 0 || !zs_strings_length(found, &length) || length != node->array->shape[dim])
        return ZS_OK;
    char **values;
    const enum zs_status status = zs_strings_read(h, found, first, count, &values, &is_blank, err);
    if (status != ZS_OK)
        return is_lasting_failure(status) ? status : ZS_OK;
    if (is_blank)
        zs_strings_free(values, (size_t)count);
    else
        *texts = values;
    return ZS_OK;
}

/* Reads n elements that make up the given window; *data is NULL when the reason why not lies in the array. */
static enum zs_status read_window(struct zs_hierarchy *h, const struct zs_node *node, const uint64_t *start,
                                  const uint64_t *count, uint64_t n, unsigned char **data, bool *is_blank,
                                  struct zs_error *err)
{
    const struct zs_array_meta *meta = node->array;
    const size_t size = meta->dtype.size;
    *data = NULL;
    *is_blank = true;
    if (n > SIZE_MAX / ZS_MAX_ITEM_SIZE)
        return ZS_OK;
    unsigned char *elements = zs_calloc((size_t)n, size);
    if (elements == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "%s: no memory for %llu coordinates", node->path, (unsigned long long)n);
    struct zs_array *array = NULL;
    /* One thread and no cache to speak of: a coordinate is a chunk or two. */
    const struct zs_array_options options = {.threads = 1, .cache_bytes = (uint64_t)1 << 20};
    enum zs_status status = zs_array_open_node(h, node, &options, &array, err);
    if (status == ZS_OK)
        status = zs_array_read(array, start, count, elements, err);
    zs_array_close(array);
    if (status != ZS_OK) {
        free(elements);
        return is_lasting_failure(status) ? status : ZS_OK;
    }
    for (uint64_t i = 0; i < n && *is_blank; i++)
        *is_blank = memcmp(elements + i * size, meta->fill_value, size) == 0;
    *data = elements;
    return ZS_OK;
}

enum zs_status zs_coordinate_elements(struct zs_hierarchy *h, const struct zs_node *coordinate, uint64_t first,
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
    unsigned char *data;
    ZS_TRY(read_window(h, coordinate, &first, &count, count, &data, is_blank, err));
    *elements = data;
    return ZS_OK;
}

enum zs_status zs_coordinate_rows_blank(struct zs_hierarchy *h, const struct zs_node *coordinate, bool *is_blank,
                                        struct zs_error *err)
{
    *is_blank = true;
    const struct zs_array_meta *meta = coordinate->array;
    if (meta == NULL || meta->ndim != 2 || meta->shape[0] == 0 || meta->shape[1] == 0)
        return ZS_OK;
    const uint64_t start[2] = {meta->shape[0] / 2, 0}, count[2] = {1, meta->shape[1]};
    unsigned char *data;
    ZS_TRY(read_window(h, coordinate, start, count, count[1], &data, is_blank, err));
    free(data);
    return ZS_OK;
}

enum zs_status zs_coordinate_values(struct zs_hierarchy *h, const struct zs_node *coordinate, uint64_t first,
                                    uint64_t count, double **values, bool *is_blank, struct zs_error *err)
{
    *values = NULL;
    void *elements;
    ZS_TRY(zs_coordinate_elements(h, coordinate, first, count, &elements, is_blank, err));
    if (elements == NULL)
        return ZS_OK;
    const struct zs_dtype *dtype = &coordinate->array->dtype;
    double *out = dtype->type == ZS_RAW ? NULL : zs_calloc((size_t)count, sizeof *out);
    if (out == NULL) {
        free(elements);
        return dtype->type == ZS_RAW ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "%s: no memory", coordinate->path);
    }
    struct zs_meaning meaning;
    const enum zs_status status = zs_meaning_read(coordinate, &meaning, err);
    if (status != ZS_OK) {
        free(elements);
        free(out);
        return status;
    }
    /* Only an explicit _FillValue marks a coordinate as missing: 0 is a place like any other. */
    const bool masks = meaning.has_nodata && zs_json_get(coordinate->attributes, "_FillValue") != NULL;
    for (uint64_t i = 0; i < count; i++) {
        const unsigned char *e = (const unsigned char *)elements + i * dtype->size;
        out[i] = zs_dtype_to_double(dtype, e) * (meaning.has_scale ? meaning.scale : 1) +
                 (meaning.has_offset ? meaning.offset : 0);
        if (masks && memcmp(e, meaning.nodata, dtype->size) == 0)
            out[i] = NAN;
    }
    zs_meaning_clear(&meaning);
    free(elements);
    *values = out;
    return ZS_OK;
}

/* Whether values[0..n), which are elements `first` and on of the axis, lie on its line. */
static bool is_on_line(const struct zs_regular_axis *axis, const double *values, uint64_t first, uint64_t n, double noise)
{
    const double tolerance = AXIS_TOLERANCE * fabs(axis->step) + noise;
    for (uint64_t i = 0; i < n; i++)
        /* Negated so that NaN is off the line. */
        if (!(fabs(values[i] - (axis->first + (double)(first + i) * axis->step)) <= tolerance))
            return false;
    return true;
}

static enum zs_status read_end(struct zs_hierarchy *h, const struct zs_node *c, uint64_t at, double *value,
                               struct zs_error *err)
{
    double *v;
    bool is_blank;
    *value = NAN;
    ZS_TRY(zs_coordinate_values(h, c, at, 1, &v, &is_blank, err));
    if (v != NULL)
        *value = v[0];
    free(v);
    return ZS_OK;
}

/* Rounding noise of one coordinate: that of its type, and of the decimals float32 writers start from. */
static double rounding_noise(const struct zs_dtype *dtype, double a, double b)
{
    const double largest = fmax(fabs(a), fabs(b));
    if (dtype->type == ZS_FLOAT32)
        return 2 * (double)FLT_EPSILON * largest;
    return dtype->type == ZS_FLOAT16 ? 0x1p-10 * largest : 8 * DBL_EPSILON * largest;
}

/* Checks a long axis, whose ends are known, at both ends and in the middle. */
static enum zs_status check_samples(struct zs_hierarchy *h, struct zs_regular_axis *axis, double noise, struct zs_error *err)
{
    const uint64_t n = axis->size, at[3] = {0, n / 2, n - AXIS_SAMPLE};
    bool is_regular = true;
    for (int k = 0; k < 3 && is_regular; k++) {
        double *v;
        bool is_blank;
        ZS_TRY(zs_coordinate_values(h, axis->coordinate, at[k], AXIS_SAMPLE, &v, &is_blank, err));
        is_regular = v != NULL && is_on_line(axis, v, at[k], AXIS_SAMPLE, noise);
        free(v);
    }
    axis->found = is_regular;
    return ZS_OK;
}

enum zs_status zs_regular_axis_read(struct zs_hierarchy *h, const struct zs_node *node, int dim,
                                    struct zs_regular_axis *axis, struct zs_error *err)
{
    memset(axis, 0, sizeof *axis);
    const struct zs_node *c = zs_coordinate_find(h, node, dim);
    if (c == NULL)
        return ZS_OK;
    const uint64_t n = node->array->shape[dim];
    axis->coordinate = c;
    axis->size = n;
    if (n == 0)
        return ZS_OK;

    double *v = NULL, last;
    bool is_blank = false;
    const bool is_whole = n <= AXIS_READ_WHOLE;
    if (is_whole) {
        ZS_TRY(zs_coordinate_values(h, c, 0, n, &v, &is_blank, err));
        if (v == NULL || is_blank) {
            free(v);
            return ZS_OK;
        }
        axis->first = v[0];
        last = v[n - 1];
    } else {
        ZS_TRY(read_end(h, c, 0, &axis->first, err));
        ZS_TRY(read_end(h, c, n - 1, &last, err));
    }
    /* From end to end: single differences of float32 coordinates are mostly rounding noise. */
    axis->step = n > 1 ? (last - axis->first) / (double)(n - 1) : 0;
    const double noise = rounding_noise(&c->array->dtype, axis->first, last);
    if (!isfinite(axis->first) || !isfinite(axis->step) || (n > 1 && axis->step == 0)) {
        free(v);
        return ZS_OK;
    }
    if (!is_whole)
        return check_samples(h, axis, noise, err);
    axis->found = is_on_line(axis, v, 0, n, noise);
    free(v);
    return ZS_OK;
}

static bool is_one_of(const char *s, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(s, *list) == 0)
            return true;
    return false;
}

char zs_cf_axis(const zs_json *attributes, bool *is_degrees)
{
    /* CF 4.1 and 4.2 list these spellings. */
    static const char *const east[] = {"degrees_east", "degree_east", "degree_E", "degrees_E", "degreeE", "degreesE", NULL};
    static const char *const north[] = {"degrees_north", "degree_north", "degree_N", "degrees_N", "degreeN", "degreesN",
                                        NULL};
    static const char *const x_names[] = {"longitude", "projection_x_coordinate", "grid_longitude",
                                          "projection_x_angular_coordinate", NULL};
    static const char *const y_names[] = {"latitude", "projection_y_coordinate", "grid_latitude",
                                          "projection_y_angular_coordinate", NULL};
    const char *axis = "", *standard_name = "", *units = "";
    zs_json_string(zs_json_get(attributes, "axis"), &axis);
    zs_json_string(zs_json_get(attributes, "standard_name"), &standard_name);
    zs_json_string(zs_json_get(attributes, "units"), &units);
    const bool is_east = is_one_of(units, east), is_north = is_one_of(units, north);
    if (is_degrees != NULL)
        *is_degrees = is_east || is_north;
    if (strcmp(axis, "X") == 0 || strcmp(axis, "x") == 0)
        return 'X';
    if (strcmp(axis, "Y") == 0 || strcmp(axis, "y") == 0)
        return 'Y';
    if (is_one_of(standard_name, x_names))
        return 'X';
    if (is_one_of(standard_name, y_names))
        return 'Y';
    return is_east ? 'X' : is_north ? 'Y' : 0;
}

char zs_name_axis(const char *name)
{
    static const char *const x_names[] = {"x", "lon", "longitude", "long", "easting", "eastings", "col", "cols", "column",
                                          "columns", "rlon", "xc", "x_coordinate", "width", "projection_x_coordinate",
                                          "pixel", "pixels", NULL};
    static const char *const y_names[] = {"y", "lat", "latitude", "northing", "northings", "row", "rows", "line", "lines",
                                          "rlat", "yc", "y_coordinate", "height", "projection_y_coordinate", NULL};
    char lower[32];
    size_t i = 0;
    if (name == NULL || strlen(name) >= sizeof lower)
        return 0;
    for (; name[i] != '\0'; i++)
        lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
    lower[i] = '\0';
    return is_one_of(lower, x_names) ? 'X' : is_one_of(lower, y_names) ? 'Y' : 0;
}
