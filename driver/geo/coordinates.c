#include "geo/variables.h"

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
