#include "geo/conventions.h"

#include <string.h>

#include "base/memory.h"
#include "geo/cf.h"

const struct zs_convention *const zs_conventions[] = {
    &zs_dggs, &zs_cf, &zs_gdal_members, &zs_proj, &zs_spatial, &zs_multiscales, &zs_ome, &zs_zagg, NULL,
};

/* ---- Registration (zarr-conventions-spec) ---- */

#define DECLARATIONS "zarr_conventions"

/* Whether an entry of zarr_conventions, named `key` where they are an object, is of the convention. */
static bool is_entry_of(const zs_json *entry, const char *key, const struct zs_convention *convention)
{
    const char *uuid = zs_json_text(entry, "uuid", key);
    return uuid != NULL && strcmp(uuid, convention->uuid) == 0;
}

bool zs_convention_declare(const struct zs_convention *convention, zs_json *attributes, bool is_wanted)
{
    const zs_json *old = zs_json_get(attributes, DECLARATIONS);
    const bool was_object = zs_json_is_object(old);
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL;
    for (const zs_json *e = zs_json_first(old); e != NULL && ok; e = zs_json_next(e)) {
        const char *key = was_object ? zs_json_name(e) : NULL;
        if (is_entry_of(e, key, convention))
            continue;
        zs_json *copy = zs_json_add(list, NULL, zs_json_copy(e));
        ok = copy != NULL;
        if (ok && key != NULL && zs_json_is_object(copy) && zs_json_get(copy, "uuid") == NULL)
            ok = zs_json_add_string(copy, "uuid", key) != NULL;
    }
    if (ok && is_wanted) {
        zs_json *e = zs_json_add_object(list, NULL);
        zs_json_add_string(e, "uuid", convention->uuid);
        ok = zs_json_add_string(e, "name", convention->name) != NULL;
    }
    if (!ok || zs_json_size(list) == 0) {
        zs_json_free(list);
        zs_json_remove(attributes, DECLARATIONS);
        return ok;
    }
    return zs_json_set(attributes, DECLARATIONS, list) != NULL;
}

/* ---- Members ---- */

static bool is_prefixed(const char *name, const struct zs_convention *convention)
{
    return name != NULL && convention->prefix != NULL &&
           strncmp(name, convention->prefix, strlen(convention->prefix)) == 0;
}

bool zs_convention_has_members(const struct zs_convention *convention, const zs_json *members)
{
    for (const zs_json *m = zs_json_first(members); m != NULL; m = zs_json_next(m))
        if (is_prefixed(zs_json_name(m), convention))
            return true;
    return false;
}

void zs_convention_remove_members(const struct zs_convention *convention, zs_json *members)
{
    const zs_json *next;
    for (const zs_json *m = zs_json_first(members); m != NULL; m = next) {
        next = zs_json_next(m);
        if (is_prefixed(zs_json_name(m), convention))
            zs_json_remove(members, zs_json_name(m));
    }
}

bool zs_set_doubles(zs_json *object, const char *name, const double *values, size_t n)
{
    zs_json *list = zs_json_set(object, name, zs_json_new_array());
    bool ok = list != NULL;
    for (size_t i = 0; i < n && ok; i++)
        ok = zs_json_add_double(list, NULL, values[i]) != NULL;
    return ok;
}

void zs_georef_remove(zs_json *attributes)
{
    for (const struct zs_convention *const *c = zs_conventions; *c != NULL; c++)
        zs_convention_remove_members(*c, attributes);
}

bool zs_is_convention_attribute(const char *name)
{
    for (const struct zs_convention *const *c = zs_conventions; *c != NULL; c++)
        if (zs_is_one_of(name, (*c)->owned) || is_prefixed(name, *c))
            return true;
    return strcmp(name, DECLARATIONS) == 0 || strcmp(name, ZS_ARRAY_DIMENSIONS) == 0;
}

bool zs_is_georef_attribute(const char *name)
{
    for (const struct zs_convention *const *c = zs_conventions; *c != NULL; c++)
        if (zs_is_one_of(name, (*c)->georef_members) || is_prefixed(name, *c))
            return true;
    return false;
}

/* ---- Reading ---- */

bool zs_search_take(struct zs_search *search, const double *transform)
{
    if (!zs_transform_is_valid(transform))
        return false;
    memcpy(search->out->transform, transform, 6 * sizeof *transform);
    search->out->has_transform = true;
    return true;
}
