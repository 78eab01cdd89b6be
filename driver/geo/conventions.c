#include "geo/conventions.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define DECLARATIONS "zarr_conventions"

/* ---- Attributes of conventions ---- */

static const char *const georef_attributes[] = {"dggs", "grid_mapping", "_CRS", "gdal:geotransform", NULL};
static const char *const other_attributes[] = {
    DECLARATIONS, "multiscales", "ome", "omero", ZS_ARRAY_DIMENSIONS,
    /* CF */
    "coordinates", "ancillary_variables", "_FillValue", "missing_value", "scale_factor", "add_offset", "units",
    "flag_values", "flag_meanings", ZS_UNSIGNED_ATTRIBUTE,
    /* GDAL */
    "gdal:categories", ZS_BANDS_ATTRIBUTE, ZS_DOMAINS_ATTRIBUTE, ZS_GCPS_ATTRIBUTE, ZS_ITEMS_ATTRIBUTE,
    "gdal:color_table", "color_interpretation", "COLOR_INTERPRETATION", ZS_NO_NODATA_ATTRIBUTE, NULL};

bool zs_is_georef_attribute(const char *name)
{
    return zs_spatial_is_member(name) || zs_proj_is_member(name) || zs_is_one_of(name, georef_attributes);
}

bool zs_is_convention_attribute(const char *name)
{
    return zs_is_georef_attribute(name) || zs_is_one_of(name, other_attributes);
}

/* ---- Registration (zarr-conventions-spec) ---- */

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

bool zs_set_doubles(zs_json *object, const char *name, const double *values, size_t n)
{
    zs_json *list = zs_json_set(object, name, zs_json_new_array());
    bool ok = list != NULL;
    for (size_t i = 0; i < n && ok; i++)
        ok = zs_json_add_double(list, NULL, values[i]) != NULL;
    return ok;
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

/* ---- Words, and where members may stand ---- */

bool zs_equals_ignoring_case(const char *a, const char *b)
{
    for (;; a++, b++) {
        const char x = *a >= 'A' && *a <= 'Z' ? (char)(*a + 32) : *a;
        const char y = *b >= 'A' && *b <= 'Z' ? (char)(*b + 32) : *b;
        if (x != y)
            return false;
        if (x == '\0')
            return true;
    }
}

const char *zs_next_word(const char *list, char *word, size_t capacity)
{
    static const char space[] = " \t\r\n";
    if (list == NULL)
        return NULL;
    list += strspn(list, space);
    const size_t n = strcspn(list, space);
    if (n == 0)
        return NULL;
    const size_t kept = n < capacity ? n : capacity - 1;
    memcpy(word, list, kept);
    word[kept] = '\0';
    return list + n;
}

bool zs_has_word(const char *list, const char *name, bool with_keys)
{
    const size_t length = strlen(name);
    char word[256];
    while ((list = zs_next_word(list, word, sizeof word)) != NULL)
        if (strncmp(word, name, length) == 0 &&
            (word[length] == '\0' || (with_keys && strcmp(word + length, ":") == 0)))
            return true;
    return false;
}

static void add_source(struct zs_scope *scope, struct zs_scope_source source)
{
    if (source.members != NULL && scope->sources < (int)(sizeof scope->source / sizeof scope->source[0]))
        scope->source[scope->sources++] = source;
}

/* Adds what group number `above` of the array's groups declares of it. */
static void add_group_sources(struct zs_scope *scope, const struct zs_node *node, int above)
{
    const struct zs_node *group = scope->group[above];
    const char *below = zs_path_below(group->path, node->path);
    struct zs_layout layout;
    int level = -1;
    if (below != NULL && zs_layout_first(group->attributes, &layout) && !layout.is_ome)
        level = zs_layout_find(&layout, below);
    if (level >= 0)
        add_source(scope, (struct zs_scope_source){layout.level[level].entry, group, true, false, false});
    /* Group members hold for the arrays directly in it, and for the levels it lays out: nothing else inherits. */
    const bool is_direct = below != NULL && strchr(below, '/') == NULL;
    if (level >= 0 || is_direct)
        add_source(scope, (struct zs_scope_source){group->attributes, group, false, level >= 0, level == 0});
}

void zs_scope_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_scope *scope)
{
    memset(scope, 0, sizeof *scope);
    scope->node = node;
    add_source(scope, (struct zs_scope_source){.members = node->attributes});
    char *const path = zs_path_parent(node->path), *at = path; /* NULL without memory, which the look-up counts */
    bool is_root = node->path[0] == '\0';
    for (; !is_root && scope->groups < ZS_MAX_GROUPS; at = zs_path_up(at)) {
        const struct zs_node *group; /* the last seat is the root's */
        is_root = at == NULL || at[0] == '\0';
        if ((is_root || scope->groups < ZS_MAX_GROUPS - 1) &&
            zs_hierarchy_node(hierarchy, at, &group, NULL) == ZS_OK && group->type == ZS_NODE_GROUP)
            scope->group[scope->groups++] = group;
    }
    free(path);
    for (int i = 0; i < scope->groups; i++)
        add_group_sources(scope, node, i);
}

const zs_json *zs_scope_inherited(const struct zs_scope *scope, int source, const char *name)
{
    for (int i = source; i < scope->sources; i++) {
        const bool is_of_others = i > source && scope->source[i].is_entry;
        const zs_json *member = zs_json_get(scope->source[i].members, name);
        if (member != NULL && !is_of_others)
            return member;
    }
    return NULL;
}

static const struct zs_node *array_at(struct zs_hierarchy *hierarchy, const char *group, const char *name)
{
    const struct zs_node *node;
    const bool is_there = zs_hierarchy_node_at(hierarchy, group, name, &node, NULL) == ZS_OK;
    return is_there && node->type == ZS_NODE_ARRAY ? node : NULL;
}

int zs_groups_up(const char **path)
{
    int up = **path == '/' ? -1 : 0;
    *path += up < 0 ? 1 : strncmp(*path, "./", 2) == 0 ? 2 : 0;
    for (; up >= 0 && strncmp(*path, "../", 3) == 0; *path += 3)
        up++;
    return up;
}

const struct zs_node *zs_scope_array(struct zs_hierarchy *hierarchy, const struct zs_scope *scope,
                                     const struct zs_node *from, const char *name)
{
    const bool is_path = strchr(name, '/') != NULL;
    const struct zs_node *found = NULL;
    const int up = zs_groups_up(&name);
    int i = 0;
    if (up < 0)
        return array_at(hierarchy, "", name);
    while (is_path && from != NULL && i < scope->groups && scope->group[i] != from)
        i++;
    if (is_path)
        return i + up < scope->groups ? array_at(hierarchy, scope->group[i + up]->path, name) : NULL;
    for (; i < scope->groups && found == NULL; i++)
        found = array_at(hierarchy, scope->group[i]->path, name); /* a name alone is looked for above, too */
    return found;
}
