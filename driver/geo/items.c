/* Items of metadata ("NAME=VALUE"): attributes of an array or group that no convention owns, and those put aside in
 * ZS_ITEMS_ATTRIBUTE; and domains of them. */
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

/* ---- Domains ---- */

/* Takes over `items`, also on failure. */
static bool add(struct zs_domains *d, const char *name, char **items)
{
    if (items == NULL || name == NULL || name[0] == '\0' || items[0] == NULL) {
        zs_names_free(items);
        return items != NULL;
    }
    struct zs_domain *grown = zs_grow(d->list, d->count, &d->capacity, sizeof *grown);
    char *copy = grown != NULL ? zs_strdup(name) : NULL;
    d->list = grown != NULL ? grown : d->list;
    if (copy == NULL) {
        zs_names_free(items);
        return false;
    }
    d->list[d->count++] = (struct zs_domain){copy, items};
    return true;
}

bool zs_domains_add(struct zs_domains *d, const char *name, const char *const *items)
{
    char **copy;
    return zs_names_copy(items, &copy) && (copy == NULL || add(d, name, copy));
}

bool zs_domains_copy(const struct zs_domains *d, struct zs_domains *copy)
{
    bool ok = true;
    *copy = (struct zs_domains){0};
    for (size_t i = 0; i < d->count && ok; i++)
        ok = zs_domains_add(copy, d->list[i].name, (const char *const *)d->list[i].items);
    return ok;
}

void zs_domains_clear(struct zs_domains *d)
{
    for (size_t i = 0; i < d->count; i++) {
        free(d->list[i].name);
        zs_names_free(d->list[i].items);
    }
    free(d->list);
    *d = (struct zs_domains){0};
}

/* Whether a member of a domain that is an object is an item: a text by a name that "NAME=VALUE" can carry. */
static bool is_item(const zs_json *member)
{
    return zs_json_typeof(member) == ZS_JSON_STRING && zs_is_item_name(zs_json_name(member));
}

/* The items of one domain, none where it is odd; NULL without memory. */
static char **read_items(const zs_json *domain)
{
    const bool is_object = zs_json_is_object(domain);
    struct zs_names items = {0};
    char **list = NULL;
    enum zs_status status = ZS_OK;
    for (const zs_json *e = zs_json_first(domain); e != NULL && status == ZS_OK; e = zs_json_next(e)) {
        const char *text;
        if (zs_json_string(e, &text) && (!is_object || is_item(e)))
            status = zs_names_add(&items, is_object ? zs_metadata_item(zs_json_name(e), e) : zs_strdup(text), NULL);
    }
    return zs_names_finish(&items, status, &list, NULL) == ZS_OK ? list : NULL;
}

bool zs_domains_read(const zs_json *object, struct zs_domains *d)
{
    bool ok = true;
    for (const zs_json *m = zs_json_is_object(object) ? zs_json_first(object) : NULL; m != NULL && ok;
         m = zs_json_next(m)) {
        char **items = read_items(m);
        ok = items != NULL && add(d, zs_json_name(m), items);
    }
    return ok;
}

/* Whether a domain has these items, in their order. False without memory, too. */
static bool has_items(const zs_json *domain, char *const *items)
{
    char **there = read_items(domain);
    size_t i = 0;
    while (there != NULL && there[i] != NULL && items[i] != NULL && strcmp(there[i], items[i]) == 0)
        i++;
    const bool is = there != NULL && there[i] == NULL && items[i] == NULL;
    zs_names_free(there);
    return is;
}

/* The members of a domain that are no items, and so were never shown: an object, which may be empty. */
static zs_json *others_of(const zs_json *domain)
{
    zs_json *object = zs_json_new_object();
    for (const zs_json *m = zs_json_is_object(domain) ? zs_json_first(domain) : NULL; m != NULL; m = zs_json_next(m))
        if (!is_item(m) && zs_json_add(object, zs_json_name(m), zs_json_copy(m)) == NULL)
            break;
    return object;
}

/* The items of a domain as members of an object, beside the other members that it has. NULL where they cannot be, and
 * without memory. */
static zs_json *members_of(const zs_json *before, const struct zs_domain *domain)
{
    zs_json *object = others_of(before);
    bool is_plain = strncmp(domain->name, "xml:", 4) != 0 && strncmp(domain->name, "json:", 5) != 0;
    for (char **item = domain->items; *item != NULL && is_plain; item++) {
        char *name;
        const char *value;
        is_plain = zs_item_split(*item, &name, &value) && name != NULL &&
                   (zs_json_get(object, name) == NULL || !is_item(zs_json_get(object, name))) &&
                   zs_json_set_string(object, name, value);
        free(name);
    }
    if (is_plain)
        return object;
    zs_json_free(object);
    return NULL;
}

/* Adds a domain as it is now; one that is there with the same items keeps its JSON. */
static bool add_domain(zs_json *all, const zs_json *before, const struct zs_domain *domain)
{
    if (before != NULL && has_items(before, domain->items))
        return zs_json_set(all, domain->name, zs_json_copy(before)) != NULL;
    zs_json *value = members_of(before, domain);
    if (value != NULL)
        return zs_json_set(all, domain->name, value) != NULL;
    zs_json *list = zs_json_set(all, domain->name, zs_json_new_array());
    bool ok = list != NULL;
    for (char **item = domain->items; *item != NULL && ok; item++)
        ok = zs_json_add_string(list, NULL, *item) != NULL;
    return ok;
}

/* Keeps what was never shown of a domain that is there. */
static bool keep_others(zs_json *all, const zs_json *domain)
{
    zs_json *others = zs_json_is_object(domain) ? others_of(domain) : zs_json_copy(domain);
    if (!zs_json_is_array(domain) && (zs_json_size(others) > 0 || !zs_json_is_object(domain)))
        return zs_json_add(all, zs_json_name(domain), others) != NULL;
    zs_json_free(others);
    return true;
}

bool zs_domains_write(zs_json *parent, const char *name, const struct zs_domains *d)
{
    const zs_json *before = zs_json_get(parent, name);
    zs_json *all = zs_json_new_object();
    bool ok = all != NULL;
    for (const zs_json *m = zs_json_is_object(before) ? zs_json_first(before) : NULL; m != NULL && ok;
         m = zs_json_next(m))
        ok = keep_others(all, m);
    for (size_t i = 0; i < d->count && ok; i++)
        ok = add_domain(all, zs_json_get(before, d->list[i].name), &d->list[i]);
    if (ok && zs_json_size(all) > 0)
        return zs_json_set(parent, name, all) != NULL;
    zs_json_free(all);
    if (ok)
        zs_json_remove(parent, name);
    return ok;
}
