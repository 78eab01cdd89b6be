#include "geo/attributes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/axes.h"
#include "geo/georef.h"
#include "zarr/json.h"

bool zs_declares_nodata(const struct zs_node *node)
{
    return zs_json_typeof(zs_json_get(node->attributes, "_FillValue")) != ZS_JSON_NULL ||
           zs_json_typeof(zs_json_get(node->attributes, "missing_value")) != ZS_JSON_NULL;
}

bool zs_names_srs(const struct zs_node *node)
{
    return zs_json_get(node->attributes, "grid_mapping") != NULL || zs_json_get(node->attributes, "_CRS") != NULL;
}

char *zs_codecs_text(const struct zs_node *node)
{
    const zs_json *codecs = zs_json_get(node->document, "codecs");
    return codecs != NULL ? zs_json_print(codecs) : NULL;
}

/* Whether `coordinates` has the grid mapping and nothing else (zs_write_grid_mapping_name() adds it, for xarray). */
static bool is_mapping_alone(const zs_json *attributes)
{
    return zs_json_is_same(zs_json_get(attributes, "coordinates"), zs_json_get(attributes, "grid_mapping"));
}

bool zs_attribute_is_elsewhere(const struct zs_node *node, const char *name,
                               const struct zs_band_properties *properties, bool has_srs)
{
    const bool is_unsigned = node->array != NULL && node->array->dtype.is_declared_signed;
    return strcmp(name, ZS_ARRAY_DIMENSIONS) == 0 || strcmp(name, ZS_NO_NODATA_ATTRIBUTE) == 0 ||
           (is_unsigned && strcmp(name, ZS_UNSIGNED_ATTRIBUTE) == 0) ||
           (strcmp(name, "_FillValue") == 0 && properties->has_nodata) ||
           (strcmp(name, "scale_factor") == 0 && zs_band_member(properties, "scale") != NULL) ||
           (strcmp(name, "add_offset") == 0 && zs_band_member(properties, "offset") != NULL) ||
           (strcmp(name, "units") == 0 && zs_band_text(properties, "unit") != NULL) ||
           (has_srs && (strcmp(name, "grid_mapping") == 0 || strcmp(name, "_CRS") == 0 ||
                        (strcmp(name, "coordinates") == 0 && is_mapping_alone(node->attributes))));
}

/* ---- Values ---- */

bool zs_attribute_double(const zs_json *value, double *number)
{
    const char *text;
    return zs_json_string(value, &text) ? zs_number_double(text, number) && !isfinite(*number)
                                        : zs_json_double(value, number);
}

static enum zs_attribute_kind kind_of(const zs_json *value)
{
    int64_t i;
    uint64_t u;
    double number;
    switch (zs_json_typeof(value)) {
    case ZS_JSON_STRING:
        return zs_attribute_double(value, &number) ? ZS_ATTRIBUTE_DOUBLE : ZS_ATTRIBUTE_TEXT;
    case ZS_JSON_NUMBER: {
        /* A writer of 1.0 meant a real number. */
        const char *token;
        if (!zs_json_double(value, &number))
            return ZS_ATTRIBUTE_JSON; /* 1e400: no double holds it */
        if (zs_json_number(value, &token) && strpbrk(token, ".eE") != NULL)
            return ZS_ATTRIBUTE_DOUBLE;
        if (zs_json_int64(value, &i))
            return i >= INT32_MIN && i <= INT32_MAX ? ZS_ATTRIBUTE_INT32 : ZS_ATTRIBUTE_INT64;
        return zs_json_uint64(value, &u) ? ZS_ATTRIBUTE_UINT64 : ZS_ATTRIBUTE_DOUBLE;
    }
    default:
        return ZS_ATTRIBUTE_JSON;
    }
}

/* The kind that holds all values. */
static enum zs_attribute_kind kind_of_list(const zs_json *list)
{
    bool has[ZS_ATTRIBUTE_JSON + 1] = {false}, are_strings = true, has_negative = false;
    for (const zs_json *e = zs_json_first(list); e != NULL; e = zs_json_next(e)) {
        int64_t i;
        has[kind_of(e)] = true;
        are_strings = are_strings && zs_json_typeof(e) == ZS_JSON_STRING;
        has_negative = has_negative || (zs_json_int64(e, &i) && i < 0);
    }
    if (zs_json_size(list) == 0 || has[ZS_ATTRIBUTE_JSON])
        return ZS_ATTRIBUTE_JSON;
    if (has[ZS_ATTRIBUTE_TEXT])
        return are_strings ? ZS_ATTRIBUTE_TEXT : ZS_ATTRIBUTE_JSON;
    if (has[ZS_ATTRIBUTE_DOUBLE] || (has[ZS_ATTRIBUTE_UINT64] && has_negative))
        return ZS_ATTRIBUTE_DOUBLE;
    return has[ZS_ATTRIBUTE_UINT64]  ? ZS_ATTRIBUTE_UINT64
           : has[ZS_ATTRIBUTE_INT64] ? ZS_ATTRIBUTE_INT64
                                     : ZS_ATTRIBUTE_INT32;
}

enum zs_attribute_kind zs_attribute_kind_of(const zs_json *attribute, bool *is_list)
{
    const bool is_array = zs_json_is_array(attribute);
    const enum zs_attribute_kind kind = is_array ? kind_of_list(attribute) : kind_of(attribute);
    *is_list = is_array && kind != ZS_ATTRIBUTE_JSON;
    return kind;
}

/* ---- Writing ---- */

enum zs_status zs_attribute_write(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name,
                                  const zs_json *value, struct zs_error *err)
{
    zs_json *attributes, *copy = zs_json_copy(value); /* it may be one of these */
    ZS_TRY_MEMORY(copy, err);
    const enum zs_status status = zs_hierarchy_edit(hierarchy, node, &attributes, err);
    if (status != ZS_OK) {
        zs_json_free(copy);
        return status;
    }
    if (strcmp(name, "_FillValue") == 0 || strcmp(name, "missing_value") == 0)
        zs_json_remove(attributes, ZS_NO_NODATA_ATTRIBUTE);
    return zs_json_set(attributes, name, copy) != NULL ? ZS_OK : zs_fail_memory(err);
}

enum zs_status zs_attribute_remove(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name,
                                   struct zs_error *err)
{
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(hierarchy, node, &attributes, err));
    zs_json_remove(attributes, name);
    return ZS_OK;
}

bool zs_attribute_exists(const struct zs_node *node, const char *name)
{
    return zs_json_get(node->attributes, name) != NULL;
}

enum zs_status zs_properties_write(struct zs_hierarchy *hierarchy, const struct zs_node *array,
                                   const struct zs_band_properties *properties, unsigned which, struct zs_error *err)
{
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(hierarchy, array, &attributes, err));
    if ((which & ZS_BAND_NODATA) != 0)
        ZS_TRY(zs_write_nodata(attributes, &array->array->dtype, properties->has_nodata ? properties->nodata : NULL,
                               properties->nodata_is_implied, err));
    /* A copy has its attributes before its unit: another one that is called `unit` stays. */
    const char *unit = zs_band_text(properties, "unit");
    if (which == ZS_BAND_UNIT && unit != NULL)
        return zs_json_set_string(attributes, "units", unit) ? ZS_OK : zs_fail_memory(err);
    return zs_write_band_properties(attributes, properties, which, err);
}
