/* Items of metadata ("NAME=VALUE"): attributes of an array or group that no convention owns, and those put aside in
 * ZS_ITEMS_ATTRIBUTE. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/band_properties_json.h"

bool zs_is_item_name(const char *name)
{
    return name != NULL && name[0] != '\0' && strchr(name, '=') == NULL;
}

char *zs_metadata_item(const char *name, const zs_json *value)
{
    const char *text = NULL;
    char *printed = NULL;
    if (!zs_json_string(value, &text))
        text = printed = zs_json_print(value);
    char *item = text != NULL ? zs_format("%s=%s", name, text) : NULL;
    free(printed);
    return item;
}

/* Whether an attribute is shown as an item. */
static bool is_shown(const struct zs_node *node, const zs_json *attribute, const zs_json *aside, bool keeps_flags)
{
    const char *name = zs_json_name(attribute);
    if (!zs_is_item_name(name) || zs_json_get(aside, name) != NULL)
        return false;
    if (strcmp(name, "long_name") == 0 && zs_json_is_array(attribute) && node->type == ZS_NODE_ARRAY)
        return false; /* descriptions of bands */
    const bool is_flag = strcmp(name, "flag_values") == 0 || strcmp(name, "flag_meanings") == 0;
    return !zs_is_convention_attribute(name) || (is_flag && keeps_flags);
}

enum zs_status zs_items_read(const struct zs_node *node, bool keeps_flags, char ***metadata, struct zs_error *err)
{
    const zs_json *aside = zs_json_get(node->attributes, ZS_ITEMS_ATTRIBUTE);
    struct zs_names items = {0};
    enum zs_status status = ZS_OK;
    *metadata = NULL;
    for (const zs_json *a = zs_json_first(node->attributes); a != NULL && status == ZS_OK; a = zs_json_next(a))
        if (is_shown(node, a, aside, keeps_flags))
            status = zs_names_add(&items, zs_metadata_item(zs_json_name(a), a), err);
    for (const zs_json *a = zs_json_first(aside); a != NULL && status == ZS_OK; a = zs_json_next(a))
        if (zs_is_item_name(zs_json_name(a)))
            status = zs_names_add(&items, zs_metadata_item(zs_json_name(a), a), err);
    if (status != ZS_OK)
        zs_names_free(items.list);
    else
        *metadata = items.list;
    return status;
}

enum zs_status zs_group_metadata_read(const struct zs_node *group, char ***metadata, struct zs_error *err)
{
    return zs_items_read(group, false, metadata, err);
}

/* ---- Writing ---- */

bool zs_is_item_of(const zs_json *attributes, const char *name, const char *item)
{
    const zs_json *attribute = zs_json_get(attributes, name);
    char *printed = attribute != NULL ? zs_metadata_item(name, attribute) : NULL;
    const bool is = printed != NULL && strcmp(printed, item) == 0;
    free(printed);
    return is;
}

bool zs_items_remove_others(zs_json *object, bool (*may_go)(const char *name), const char *const *items)
{
    const zs_json *next;
    for (const zs_json *m = zs_json_first(object); m != NULL; m = next) {
        next = zs_json_next(m);
        if (!may_go(zs_json_name(m)))
            continue;
        char *item = zs_metadata_item(zs_json_name(m), m);
        if (item == NULL)
            return false;
        if (!zs_is_one_of(item, items))
            zs_json_remove(object, zs_json_name(m));
        free(item);
    }
    return true;
}

bool zs_item_put_aside(zs_json *attributes, const char *name, const char *value)
{
    zs_json *aside = zs_json_get_mutable(attributes, ZS_ITEMS_ATTRIBUTE);
    if (!zs_json_is_object(aside)) {
        zs_json_remove(attributes, ZS_ITEMS_ATTRIBUTE);
        aside = zs_json_add_object(attributes, ZS_ITEMS_ATTRIBUTE);
    }
    return aside != NULL && zs_json_set_string(aside, name, value);
}

bool zs_item_split(const char *item, char **name, const char **value)
{
    const char *equals = strchr(item, '=');
    *name = NULL;
    *value = NULL;
    if (equals == NULL || equals == item)
        return true;
    *name = zs_strndup(item, (size_t)(equals - item));
    *value = equals + 1;
    return *name != NULL;
}

bool zs_items_write(zs_json *attributes, char *const *metadata)
{
    for (; *metadata != NULL; metadata++) {
        char *name;
        const char *value;
        bool ok = zs_item_split(*metadata, &name, &value);
        /* Attributes of conventions, and attributes that were written just before, are not replaced. */
        if (name != NULL && !zs_is_convention_attribute(name) && zs_json_get(attributes, name) == NULL)
            ok = zs_json_add_string(attributes, name, value) != NULL;
        else if (name != NULL && !zs_is_item_of(attributes, name, *metadata))
            ok = zs_item_put_aside(attributes, name, value);
        free(name);
        if (!ok)
            return false;
    }
    return true;
}
