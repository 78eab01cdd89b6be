#include "geo/domains.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/band_properties_json.h"

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

/* ---- In JSON ---- */

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

/* Whether a domain that is there has these items, in their order. False without memory, too. */
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

/* Keeps the members of an existing domain that are no items, and so were never shown. */
static bool keep_others(zs_json *parent, const zs_json *domain)
{
    const char *name = zs_json_name(domain);
    if (!zs_json_is_object(domain))
        return zs_json_is_array(domain) || zs_json_add(parent, name, zs_json_copy(domain)) != NULL;
    bool ok = true;
    zs_json *kept = NULL;
    for (const zs_json *m = zs_json_first(domain); m != NULL && ok; m = zs_json_next(m)) {
        if (is_item(m))
            continue;
        kept = kept != NULL ? kept : zs_json_add_object(parent, name);
        ok = kept != NULL && zs_json_add(kept, zs_json_name(m), zs_json_copy(m)) != NULL;
    }
    return ok;
}

/* Adds a domain's items as members; sets *is_plain when each item is a member. */
static bool add_members(zs_json *parent, const struct zs_domain *domain, bool *is_plain)
{
    zs_json *object = zs_json_get_mutable(parent, domain->name);
    if (!zs_json_is_object(object)) {
        zs_json_remove(parent, domain->name);
        object = zs_json_add_object(parent, domain->name);
    }
    bool ok = object != NULL;
    *is_plain = strncmp(domain->name, "xml:", 4) != 0 && strncmp(domain->name, "json:", 5) != 0;
    for (char **item = domain->items; *item != NULL && ok && *is_plain; item++) {
        char *name;
        const char *value;
        ok = zs_item_split(*item, &name, &value);
        if (name != NULL && zs_json_get(object, name) != NULL && !is_item(zs_json_get(object, name)))
            zs_json_remove(object, name);
        *is_plain = name != NULL && zs_json_get(object, name) == NULL;
        if (*is_plain)
            ok = zs_json_add_string(object, name, value) != NULL;
        free(name);
    }
    return ok;
}

/* Adds a domain as it is now; one that is there with the same items keeps its JSON. */
static bool add_domain(zs_json *all, const zs_json *before, const struct zs_domain *domain)
{
    bool is_plain;
    if (before != NULL && has_items(before, domain->items))
        return zs_json_set(all, domain->name, zs_json_copy(before)) != NULL;
    bool ok = add_members(all, domain, &is_plain);
    if (!ok || is_plain)
        return ok;
    zs_json_remove(all, domain->name);
    zs_json *list = zs_json_add_array(all, domain->name);
    for (char **item = domain->items; *item != NULL && ok; item++)
        ok = zs_json_add_string(list, NULL, *item) != NULL;
    return ok;
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
