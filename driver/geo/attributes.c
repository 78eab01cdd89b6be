#include "geo/attributes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
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

/* Whether GDAL shows the attribute in another way: as nodata, scale, offset, unit, CRS or dimensions. */
static bool is_shown_elsewhere(const struct zs_node *node, const char *name,
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

/* JSON has no word for these: so they are written (zs_attribute_write()), as fill values are. */
static bool read_special(const zs_json *value, double *number)
{
    const char *text;
    return zs_json_string(value, &text) && zs_number_double(text, number) && !isfinite(*number);
}

static enum zs_attribute_kind kind_of(const zs_json *value)
{
    int64_t i;
    uint64_t u;
    double number;
    switch (zs_json_typeof(value)) {
    case ZS_JSON_STRING:
        return read_special(value, &number) ? ZS_ATTRIBUTE_DOUBLE : ZS_ATTRIBUTE_TEXT;
    case ZS_JSON_NUMBER: {
        /* A writer of 1.0 meant a real number. */
        const char *token;
        if (!zs_json_double(value, &number))
            return ZS_ATTRIBUTE_JSON; /* 1e400: no double holds it */
        if (zs_json_number(value, &token) && strpbrk(token, ".eE") != NULL)
            return ZS_ATTRIBUTE_DOUBLE;
        return zs_json_int64(value, &i)    ? ZS_ATTRIBUTE_INT64
               : zs_json_uint64(value, &u) ? ZS_ATTRIBUTE_UINT64
                                           : ZS_ATTRIBUTE_DOUBLE;
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
    return has[ZS_ATTRIBUTE_UINT64] ? ZS_ATTRIBUTE_UINT64 : ZS_ATTRIBUTE_INT64;
}

static void take_value(struct zs_attribute *a, size_t at, const zs_json *value)
{
    switch (a->kind) {
    case ZS_ATTRIBUTE_TEXT:
        zs_json_string(value, &a->texts[at]);
        break;
    case ZS_ATTRIBUTE_INT64:
        zs_json_int64(value, &a->numbers[at].i);
        break;
    case ZS_ATTRIBUTE_UINT64:
        zs_json_uint64(value, &a->numbers[at].u);
        break;
    case ZS_ATTRIBUTE_DOUBLE:
        if (!read_special(value, &a->numbers[at].d))
            zs_json_double(value, &a->numbers[at].d);
        break;
    case ZS_ATTRIBUTE_JSON:
        break;
    }
}

static bool read_attribute(const zs_json *member, struct zs_attribute *a)
{
    const bool is_array = zs_json_is_array(member);
    *a = (struct zs_attribute){.name = zs_json_name(member)};
    a->kind = is_array ? kind_of_list(member) : kind_of(member);
    a->is_list = is_array && a->kind != ZS_ATTRIBUTE_JSON;
    a->count = a->is_list ? zs_json_size(member) : 1;
    const bool is_text = a->kind == ZS_ATTRIBUTE_TEXT || a->kind == ZS_ATTRIBUTE_JSON;
    if (is_text)
        a->texts = zs_calloc(a->count, sizeof *a->texts);
    else
        a->numbers = zs_calloc(a->count, sizeof *a->numbers);
    if (a->texts == NULL && a->numbers == NULL)
        return false;
    if (a->kind == ZS_ATTRIBUTE_JSON) {
        a->json = zs_json_print(member);
        a->texts[0] = a->json;
        return a->json != NULL;
    }
    size_t at = 0;
    for (const zs_json *e = a->is_list ? zs_json_first(member) : member; e != NULL && at < a->count;
         e = a->is_list ? zs_json_next(e) : NULL)
        take_value(a, at++, e);
    return true;
}

enum zs_status zs_attributes_read(const struct zs_node *node, const char *only,
                                  const struct zs_band_properties *properties, bool has_srs,
                                  struct zs_attribute **attributes, size_t *count, struct zs_error *err)
{
    struct zs_attribute *list = zs_calloc(zs_json_size(node->attributes), sizeof *list);
    size_t n = 0;
    bool ok = list != NULL;
    for (const zs_json *a = zs_json_first(node->attributes); a != NULL && ok; a = zs_json_next(a)) {
        const char *name = zs_json_name(a);
        if (only != NULL ? strcmp(name, only) != 0
                         : properties != NULL && is_shown_elsewhere(node, name, properties, has_srs))
            continue;
        ok = read_attribute(a, &list[n++]);
    }
    if (!ok) {
        zs_attributes_free(list, n);
        return zs_fail_memory(err);
    }
    *attributes = list;
    *count = n;
    return ZS_OK;
}

void zs_attributes_free(struct zs_attribute *attributes, size_t count)
{
    for (size_t i = 0; i < count && attributes != NULL; i++) {
        free(attributes[i].texts);
        free(attributes[i].json);
        free(attributes[i].numbers);
    }
    free(attributes);
}

/* ---- Writing ---- */

/* Adds the element at `index` to a list. */
static bool add_value(zs_json *list, const struct zs_attribute *a, size_t index)
{
    switch (a->kind) {
    case ZS_ATTRIBUTE_TEXT:
        return zs_json_add_string(list, NULL, a->texts[index]) != NULL;
    case ZS_ATTRIBUTE_INT64:
        return zs_json_add_int64(list, NULL, a->numbers[index].i) != NULL;
    case ZS_ATTRIBUTE_UINT64:
        return zs_json_add_uint64(list, NULL, a->numbers[index].u) != NULL;
    case ZS_ATTRIBUTE_DOUBLE:
        return zs_json_add_double(list, NULL, a->numbers[index].d) != NULL;
    case ZS_ATTRIBUTE_JSON:
        return zs_json_add_raw(list, NULL, a->texts[index]) != NULL;
    }
    return false;
}

/* The value as a node of its own. */
static enum zs_status value_of(const struct zs_attribute *a, zs_json **value, struct zs_error *err)
{
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL;
    for (size_t i = 0; i < a->count && ok; i++)
        if (!(ok = add_value(list, a, i)) && a->kind == ZS_ATTRIBUTE_JSON) {
            zs_json_free(list);
            return zs_fail(err, ZS_ARGUMENT, "attribute %s: expected JSON, found %.200s", a->name, a->texts[i]);
        }
    *value = ok && !a->is_list ? zs_json_copy(zs_json_first(list)) : list;
    if (!ok || !a->is_list)
        zs_json_free(list);
    return ok && *value != NULL ? ZS_OK : zs_fail_memory(err);
}

static enum zs_status check_texts(const struct zs_attribute *a, struct zs_error *err)
{
    bool is_text = a->name[0] != '\0' && zs_utf8_check(a->name, strlen(a->name), NULL);
    for (size_t i = 0; a->texts != NULL && i < a->count; i++)
        is_text = is_text && zs_utf8_check(a->texts[i], strlen(a->texts[i]), NULL);
    return is_text ? ZS_OK
                   : zs_fail(err, ZS_ARGUMENT, "attribute \"%.200s\": expected a name, and text in UTF-8", a->name);
}

enum zs_status zs_attribute_write(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                  const struct zs_attribute *a, struct zs_error *err)
{
    zs_json *attributes, *value = NULL;
    ZS_TRY(check_texts(a, err));
    ZS_TRY(value_of(a, &value, err));
    const enum zs_status status = zs_hierarchy_edit(hierarchy, node, &attributes, err);
    if (status != ZS_OK) {
        zs_json_free(value);
        return status;
    }
    if (strcmp(a->name, "_FillValue") == 0 || strcmp(a->name, "missing_value") == 0)
        zs_json_remove(attributes, ZS_NO_NODATA_ATTRIBUTE);
    return zs_json_set(attributes, a->name, value) != NULL ? ZS_OK : zs_fail_memory(err);
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
