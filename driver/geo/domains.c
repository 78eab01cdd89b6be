#include "geo/domains.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static void free_items(char **items)
{
    for (char **item = items; item != NULL && *item != NULL; item++)
        free(*item);
    free(items);
}

/* Takes over `items`, also on failure. */
static bool add(struct zs_domains *d, const char *name, char **items)
{
    if (items == NULL || name == NULL || name[0] == '\0' || items[0] == NULL) {
        free_items(items);
        return items != NULL;
    }
    struct zs_domain *grown = realloc(d->list, (d->count + 1) * sizeof *grown);
    char *copy = grown != NULL ? zs_strdup(name) : NULL;
    d->list = grown != NULL ? grown : d->list;
    if (copy == NULL) {
        free_items(items);
        return false;
    }
    d->list[d->count++] = (struct zs_domain){copy, items};
    return true;
}

bool zs_domains_add(struct zs_domains *d, const char *name, const char *const *items)
{
    size_t n = 0;
    while (items != NULL && items[n] != NULL)
        n++;
    char **copy = zs_calloc(n + 1, sizeof *copy);
    bool ok = copy != NULL;
    for (size_t i = 0; i < n && ok; i++)
        ok = (copy[i] = zs_strdup(items[i])) != NULL;
    if (ok)
        return add(d, name, copy);
    free_items(copy);
    return false;
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
        free_items(d->list[i].items);
    }
    free(d->list);
    *d = (struct zs_domains){0};
}

/* ---- In JSON ---- */

bool zs_domains_read(const zs_json *object, struct zs_domains *d)
{
    bool ok = true;
    for (const zs_json *m = zs_json_is_object(object) ? zs_json_first(object) : NULL; m != NULL && ok;
         m = zs_json_next(m)) {
        if (!zs_json_is_object(m) && !zs_json_is_array(m))
            continue;
        char **items = zs_calloc(zs_json_size(m) + 1, sizeof *items);
        size_t n = 0;
        ok = items != NULL;
        for (const zs_json *e = zs_json_first(m); e != NULL && ok; e = zs_json_next(e)) {
            const char *text, *name = zs_json_is_object(m) ? zs_json_name(e) : NULL;
            if (!zs_json_string(e, &text))
                continue;
            items[n] = name != NULL ? zs_format("%s=%s", name, text) : zs_strdup(text);
            ok = items[n++] != NULL;
        }
        if (ok)
            ok = add(d, zs_json_name(m), items);
        else
            free_items(items);
    }
    return ok;
}

/* Adds a domain's items as members; *is_plain tells whether all could be one. */
static bool add_members(zs_json *parent, const struct zs_domain *domain, bool *is_plain)
{
    zs_json *object = zs_json_add_object(parent, domain->name);
    bool ok = object != NULL;
    *is_plain = strncmp(domain->name, "xml:", 4) != 0 && strncmp(domain->name, "json:", 5) != 0;
    for (char **item = domain->items; *item != NULL && ok && *is_plain; item++) {
        const char *equals = strchr(*item, '=');
        char *name = equals != NULL ? zs_strndup(*item, (size_t)(equals - *item)) : NULL;
        *is_plain = equals != NULL && equals != *item && (name == NULL || zs_json_get(object, name) == NULL);
        if (*is_plain)
            ok = name != NULL && zs_json_add_string(object, name, equals + 1) != NULL;
        free(name);
    }
    return ok;
}

bool zs_domains_write(zs_json *parent, const char *name, const struct zs_domains *d)
{
    zs_json_remove(parent, name);
    zs_json *all = d->count > 0 ? zs_json_add_object(parent, name) : NULL;
    bool ok = all != NULL || d->count == 0;
    for (size_t i = 0; i < d->count && ok; i++) {
        bool is_plain;
        zs_json_remove(all, d->list[i].name);
        ok = add_members(all, &d->list[i], &is_plain);
        if (!ok || is_plain)
            continue;
        zs_json_remove(all, d->list[i].name);
        zs_json *list = zs_json_add_array(all, d->list[i].name);
        for (char **item = d->list[i].items; *item != NULL && ok; item++)
            ok = zs_json_add_string(list, NULL, *item) != NULL;
    }
    return ok;
}
