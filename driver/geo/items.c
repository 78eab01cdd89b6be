/* Items of metadata ("NAME=VALUE"): attributes of an array or group that no convention owns, and those put aside in
 * ZS_ITEMS_ATTRIBUTE. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/bands.h"

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

static enum zs_status add_items(const zs_json *members, struct zs_names *items, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    for (const zs_json *e = zs_json_first(members); e != NULL && status == ZS_OK; e = zs_json_next(e)) {
        const char *name = zs_json_name(e), *text;
        if (zs_is_item_name(name))
            status = zs_names_add(items, zs_metadata_item(name, e), err);
        else if (name == NULL && zs_json_string(e, &text))
            status = zs_names_add(items, zs_strdup(text), err);
    }
    return status;
}

enum zs_status zs_items_of(const zs_json *members, char ***list, struct zs_error *err)
{
    struct zs_names items = {0};
    const enum zs_status status = add_items(members, &items, err);
    if (status != ZS_OK)
        zs_names_free(items.list);
    *list = status == ZS_OK ? items.list : NULL;
    return status;
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
    for (const zs_json *a = zs_json_first(node->attributes); a != NULL && status == ZS_OK; a = zs_json_next(a))
        if (is_shown(node, a, aside, keeps_flags))
            status = zs_names_add(&items, zs_metadata_item(zs_json_name(a), a), err);
    if (status == ZS_OK)
        status = add_items(aside, &items, err);
    if (status != ZS_OK)
        zs_names_free(items.list);
    *metadata = status == ZS_OK ? items.list : NULL;
    return status;
}

/* ---- Writing ---- */

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

/* Whether the attribute of that name is the item. */
static bool is_item_of(const zs_json *attributes, const char *name, const char *item)
{
    const zs_json *attribute = zs_json_get(attributes, name);
    char *printed = attribute != NULL ? zs_metadata_item(name, attribute) : NULL;
    const bool is = printed != NULL && strcmp(printed, item) == 0;
    free(printed);
    return is;
}

bool zs_items_set(zs_json *parent, const char *name, char *const *items)
{
    const zs_json *old = zs_json_get(parent, name);
    zs_json *object = zs_json_new_object();
    bool ok = object != NULL;
    for (; ok && items != NULL && *items != NULL; items++) {
        char *own;
        const char *value;
        ok = zs_item_split(*items, &own, &value);
        if (ok && own != NULL) /* a member that is the item stays: a number is one */
            ok = is_item_of(old, own, *items)
                     ? zs_json_set(object, own, zs_json_copy(zs_json_get(old, own))) != NULL
                     : zs_json_set_string(object, own, value);
        free(own);
    }
    if (ok && zs_json_size(object) > 0)
        return zs_json_set(parent, name, object) != NULL;
    if (ok)
        zs_json_remove(parent, name);
    zs_json_free(object);
    return ok;
}

/* The value that a list of items gives an attribute, where both are numbers; else NULL. */
static zs_json *new_number(const zs_json *attribute, char *const *items)
{
    const char *name = zs_json_name(attribute), *text = NULL;
    const size_t n = strlen(name);
    zs_json *value = NULL;
    double number;
    if (zs_json_typeof(attribute) != ZS_JSON_NUMBER)
        return NULL;
    for (; items != NULL && *items != NULL; items++)
        if (strncmp(*items, name, n) == 0 && (*items)[n] == '=')
            text = *items + n + 1;
    if (text != NULL && zs_number_double(text, &number) && isfinite(number))
        (void)zs_json_parse(text, strlen(text), &value, NULL);
    return value;
}

/* Removes attributes that are items and not in the list as they are; a number becomes another one. long_name and
 * standard_name are never removed. */
static bool remove_others(zs_json *attributes, char *const *items)
{
    static const char *const names[] = {"long_name", "standard_name", NULL};
    const zs_json *next;
    for (const zs_json *a = zs_json_first(attributes); a != NULL; a = next) {
        next = zs_json_next(a);
        const char *name = zs_json_name(a);
        if (!zs_is_item_name(name) || zs_is_convention_attribute(name) || zs_is_one_of(name, names))
            continue;
        char *item = zs_metadata_item(name, a);
        if (item == NULL)
            return false;
        const bool is_there = zs_is_one_of(item, (const char *const *)items);
        free(item);
        if (is_there)
            continue;
        zs_json *number = new_number(a, items);
        if (number == NULL)
            zs_json_remove(attributes, name);
        else if (zs_json_set(attributes, name, number) == NULL)
            return false;
    }
    return true;
}

/* Writes an item as an attribute, where its name is free; *is_aside: where it is not, or was not. */
static bool write_item(zs_json *attributes, const char *item, bool replaces, bool *is_aside)
{
    const zs_json *aside = zs_json_get(attributes, ZS_ITEMS_ATTRIBUTE);
    char *name;
    const char *value;
    bool ok = zs_item_split(item, &name, &value);
    *is_aside = false;
    if (name != NULL && !is_item_of(attributes, name, item)) {
        const zs_json *old = zs_json_get(attributes, name);
        *is_aside = zs_is_convention_attribute(name) || zs_json_get(aside, name) != NULL ||
                    (old != NULL && !(replaces && zs_json_typeof(old) == ZS_JSON_STRING));
        ok = *is_aside || zs_json_set_string(attributes, name, value);
    }
    free(name);
    return ok;
}

bool zs_items_write(zs_json *attributes, char *const *items, bool replaces)
{
    struct zs_names aside = {0};
    bool ok = !replaces || remove_others(attributes, items), is_aside;
    for (; ok && items != NULL && *items != NULL; items++)
        ok = write_item(attributes, *items, replaces, &is_aside) &&
             (!is_aside || zs_names_add(&aside, zs_strdup(*items), NULL) == ZS_OK);
    ok = ok && ((aside.count == 0 && !replaces) || zs_items_set(attributes, ZS_ITEMS_ATTRIBUTE, aside.list));
    zs_names_free(aside.list);
    return ok;
}

bool zs_add_names(zs_json *parent, const char *name, char *const *names)
{
    zs_json *list = names != NULL && *names != NULL ? zs_json_add_array(parent, name) : NULL;
    bool ok = names == NULL || *names == NULL || list != NULL;
    for (; ok && names != NULL && *names != NULL; names++)
        ok = zs_json_add_string(list, NULL, *names) != NULL;
    return ok;
}
