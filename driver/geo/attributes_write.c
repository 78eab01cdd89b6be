/* Attributes as typed values, written. */
#include <string.h>

#include "base/utf8.h"
#include "geo/attributes.h"
#include "geo/write.h"

/* Adds the element at `index` to a list. */
static bool add_value(zs_json *list, const struct zs_attribute *a, size_t index)
{
    uint64_t bits;
    switch (a->kind) {
    case ZS_ATTRIBUTE_TEXT:
        return zs_json_add_string(list, NULL, a->texts[index]) != NULL;
    case ZS_ATTRIBUTE_INT64:
        return zs_json_add_int64(list, NULL, a->integers[index]) != NULL;
    case ZS_ATTRIBUTE_UINT64:
        memcpy(&bits, &a->integers[index], sizeof bits);
        return zs_json_add_uint64(list, NULL, bits) != NULL;
    case ZS_ATTRIBUTE_DOUBLE:
        return zs_json_add_double(list, NULL, a->doubles[index]) != NULL;
    case ZS_ATTRIBUTE_JSON:
        break;
    }
    return false;
}

static enum zs_status parse(const struct zs_attribute *a, size_t index, zs_json **value, struct zs_error *err)
{
    const enum zs_status status = zs_json_parse(a->texts[index], strlen(a->texts[index]), value, err);
    return status == ZS_INVALID ? zs_fail_in(err, ZS_ARGUMENT, "attribute %s", a->name) : status;
}

/* The values as a list of its own. */
static enum zs_status list_of(const struct zs_attribute *a, zs_json **value, struct zs_error *err)
{
    bool ok = (*value = zs_json_new_array()) != NULL;
    for (size_t i = 0; i < a->count && ok; i++) {
        zs_json *element = NULL;
        if (a->kind == ZS_ATTRIBUTE_JSON) {
            const enum zs_status status = parse(a, i, &element, err);
            if (status != ZS_OK) {
                zs_json_free(*value);
                return status;
            }
        }
        ok = a->kind == ZS_ATTRIBUTE_JSON ? zs_json_add(*value, NULL, element) != NULL : add_value(*value, a, i);
    }
    if (ok)
        return ZS_OK;
    zs_json_free(*value);
    return zs_fail_memory(err);
}

/* The value as a node of its own. */
static enum zs_status value_of(const struct zs_attribute *a, zs_json **value, struct zs_error *err)
{
    zs_json *list = NULL;
    if (a->kind == ZS_ATTRIBUTE_JSON && !a->is_list)
        return parse(a, 0, value, err);
    ZS_TRY(list_of(a, &list, err));
    *value = a->is_list ? list : zs_json_copy(zs_json_first(list));
    if (!a->is_list)
        zs_json_free(list);
    return *value != NULL ? ZS_OK : zs_fail_memory(err);
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
    if (zs_attribute_is_same(zs_json_get(attributes, a->name), a)) {
        zs_json_free(value);
        return ZS_OK;
    }
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
    if (which == ZS_BAND_UNIT && properties->unit != NULL)
        return zs_json_set_string(attributes, "units", properties->unit) ? ZS_OK : zs_fail_memory(err);
    return zs_write_band_properties(attributes, properties, which, err);
}
