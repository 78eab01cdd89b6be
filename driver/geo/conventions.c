#include "geo/conventions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

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

bool zs_convention_declared(const zs_json *attributes, const char *uuid)
{
    const zs_json *declared = zs_json_get(attributes, "zarr_conventions");
    for (const zs_json *c = zs_json_first(declared); c != NULL; c = zs_json_next(c)) {
        const char *found = NULL;
        if (zs_json_is_object(declared))
            found = zs_json_name(c);
        else
            zs_json_string(zs_json_get(c, "uuid"), &found);
        if (found != NULL && zs_equals_ignoring_case(found, uuid))
            return true;
    }
    return false;
}

/* ---- Levels ---- */

/* "./a" is "a", and "." the group itself: "". */
static const char *without_dot(const char *asset)
{
    if (strncmp(asset, "./", 2) == 0)
        return asset + 2;
    return strcmp(asset, ".") == 0 ? "" : asset;
}

static void add_levels(struct zs_layout *layout, const zs_json *entries, const char *asset_name)
{
    const zs_json *entry = zs_json_first(entries);
    for (; entry != NULL && layout->count < ZS_MAX_LAYOUT_LEVELS; entry = zs_json_next(entry)) {
        const char *asset, *derived_from = NULL;
        if (!zs_json_string(zs_json_get(entry, asset_name), &asset))
            continue;
        zs_json_string(zs_json_get(entry, "derived_from"), &derived_from);
        layout->level[layout->count++] =
            (struct zs_layout_level){without_dot(asset), derived_from != NULL ? without_dot(derived_from) : NULL, entry};
    }
}

bool zs_layout_next(struct zs_layout *layout)
{
    const zs_json *image = layout->next, *datasets = zs_json_get(image, "datasets");
    if (!zs_json_is_array(datasets))
        return false;
    *layout = (struct zs_layout){.is_ome = true, .next = zs_json_next(image)};
    layout->transforms = zs_json_get(image, "coordinateTransformations");
    add_levels(layout, datasets, "path");
    return layout->count > 0;
}

bool zs_layout_first(const zs_json *attributes, struct zs_layout *layout)
{
    memset(layout, 0, sizeof *layout);
    const zs_json *multiscales = zs_json_get(attributes, "multiscales");
    /* OME-NGFF keeps a list of images under `ome`; before 0.5 the list was the member `multiscales` itself. */
    const zs_json *images = zs_json_get(zs_json_get(attributes, "ome"), "multiscales");
    if (images == NULL)
        images = multiscales;
    layout->next = zs_json_is_array(images) ? zs_json_first(images) : NULL;
    const zs_json *levels = zs_json_get(multiscales, "layout");
    const char *asset_name = "asset";
    if (levels == NULL) {
        levels = zs_json_get(zs_json_get(multiscales, "tile_matrix_set"), "tileMatrices");
        asset_name = "id";
    }
    if (!zs_json_is_array(levels))
        return zs_layout_next(layout);
    add_levels(layout, levels, asset_name);
    return layout->count > 0;
}

/* Length of a path without slashes at its end. */
static size_t path_length(const char *path)
{
    size_t n = strlen(path);
    while (n > 0 && path[n - 1] == '/')
        n--;
    return n;
}

static bool same_path(const char *a, const char *b)
{
    const size_t n = path_length(a);
    return n == path_length(b) && memcmp(a, b, n) == 0;
}

int zs_layout_find(const struct zs_layout *layout, const char *path)
{
    for (int i = 0; i < layout->count; i++)
        if (same_path(layout->level[i].asset, path))
            return i;
    const char *slash = strrchr(path, '/');
    if (layout->is_ome)
        return -1;
    const size_t n = slash != NULL ? (size_t)(slash - path) : 0;
    for (int i = 0; i < layout->count; i++)
        if (path_length(layout->level[i].asset) == n && memcmp(layout->level[i].asset, path, n) == 0)
            return i;
    return -1;
}

bool zs_layout_is_derived(const struct zs_layout *layout, int a, int b)
{
    /* Bounded by the number of levels: a file may name a circle. */
    for (int steps = 0; steps < layout->count; steps++) {
        const char *from = layout->level[a].derived_from;
        if (from == NULL)
            return false;
        int next = -1;
        for (int i = 0; i < layout->count && next < 0; i++)
            if (same_path(layout->level[i].asset, from))
                next = i;
        if (next < 0)
            return false;
        if (next == b)
            return true;
        a = next;
    }
    return false;
}

bool zs_is_overview_group(const char *name, int *factor)
{
    int n = 0, used = 0;
    if (sscanf(name, "ovr_%9d%n", &n, &used) != 1 || n < 1 || name[used] != 'x')
        return false;
    const char *rest = name + used + 1;
    if (rest[0] != '\0' && (rest[0] != '_' || rest[1] == '\0' || rest[1 + strspn(rest + 1, "0123456789")] != '\0'))
        return false;
    *factor = n;
    return true;
}

const char *zs_path_below(const char *group, const char *path)
{
    const size_t n = strlen(group);
    if (n == 0)
        return path;
    if (strncmp(group, path, n) != 0 || path[n] != '/')
        return NULL;
    return path + n + 1;
}

/* ---- Places ---- */

static void add_place(struct zs_scope *scope, struct zs_place place)
{
    if (place.members != NULL && scope->places < (int)(sizeof scope->place / sizeof scope->place[0]))
        scope->place[scope->places++] = place;
}

/* What group number i above the array says of it. */
static void add_group_places(struct zs_scope *scope, const struct zs_node *node, int i)
{
    const struct zs_node *group = scope->group[i];
    const char *below = zs_path_below(group->path, node->path);
    struct zs_layout layout;
    int level = -1;
    if (below != NULL && zs_layout_first(group->attributes, &layout) && !layout.is_ome)
        level = zs_layout_find(&layout, below);
    if (level >= 0)
        add_place(scope, (struct zs_place){ZS_PLACE_ENTRY, layout.level[level].entry, group, false, false});
    /* Group members hold for the arrays directly in it, and for the levels it lays out: nothing else inherits. */
    const bool is_direct = below != NULL && strchr(below, '/') == NULL;
    if (level >= 0 || is_direct)
        add_place(scope, (struct zs_place){ZS_PLACE_GROUP, group->attributes, group, level >= 0, level == 0});
}

void zs_scope_find(struct zs_hierarchy *h, const struct zs_node *node, struct zs_scope *scope)
{
    memset(scope, 0, sizeof *scope);
    add_place(scope, (struct zs_place){ZS_PLACE_ARRAY, node->attributes, NULL, false, false});
    char *path = zs_path_parent(node->path);
    while (path != NULL && scope->groups < ZS_MAX_GROUPS) {
        const bool is_root = path[0] == '\0';
        /* The last seat is the root's. */
        if (is_root || scope->groups < ZS_MAX_GROUPS - 1) {
            const struct zs_node *group;
            if (zs_hierarchy_node(h, path, &group, NULL) == ZS_OK && group->type == ZS_NODE_GROUP)
                scope->group[scope->groups++] = group;
        }
        char *next = zs_path_parent(path);
        free(path);
        path = next;
    }
    free(path);
    for (int i = 0; i < scope->groups; i++)
        add_group_places(scope, node, i);
    scope->declares_spatial = zs_convention_declared(node->attributes, ZS_UUID_SPATIAL);
    scope->declares_proj = zs_convention_declared(node->attributes, ZS_UUID_PROJ);
    for (int i = 0; i < scope->groups; i++) {
        scope->declares_spatial |= zs_convention_declared(scope->group[i]->attributes, ZS_UUID_SPATIAL);
        scope->declares_proj |= zs_convention_declared(scope->group[i]->attributes, ZS_UUID_PROJ);
    }
}

const struct zs_node *zs_scope_array(struct zs_hierarchy *h, const struct zs_scope *scope, const char *name,
                                     bool *in_own_group)
{
    for (int i = 0; i < scope->groups; i++) {
        const struct zs_node *found;
        if (zs_hierarchy_node_at(h, scope->group[i]->path, name, &found, NULL) == ZS_OK && found->type == ZS_NODE_ARRAY) {
            if (in_own_group != NULL)
                *in_own_group = i == 0;
            return found;
        }
    }
    return NULL;
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

/* ---- CF ---- */

bool zs_is_grid_mapping(const zs_json *attributes)
{
    return zs_json_get(attributes, "crs_wkt") != NULL || zs_json_get(attributes, "grid_mapping_name") != NULL ||
           zs_json_get(attributes, "spatial_ref") != NULL;
}

const struct zs_node *zs_grid_mapping_find(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_scope *scope,
                                           bool *in_own_group)
{
    const char *list;
    char word[256];
    const struct zs_node *found = NULL;
    const zs_json *member = NULL;
    for (int i = 0; i < scope->places && member == NULL; i++)
        member = zs_json_get(scope->place[i].members, "grid_mapping");
    *in_own_group = false;
    /* "crs", or in the extended form "crs: x y crs2: lat lon": the first word names the variable. A group's
     * attribute holds for its arrays (EOPF writes it there). */
    if (zs_json_string(member, &list) && zs_next_word(list, word, sizeof word) != NULL) {
        const size_t n = strlen(word);
        if (n > 0 && word[n - 1] == ':')
            word[n - 1] = '\0';
        found = zs_scope_array(h, scope, word, in_own_group);
        if (found != NULL)
            return found;
    }
    /* Writers that use xarray's set_coords() leave it in the list of coordinates only. */
    if (zs_json_string(zs_json_get(node->attributes, "coordinates"), &list))
        while ((list = zs_next_word(list, word, sizeof word)) != NULL) {
            found = zs_scope_array(h, scope, word, in_own_group);
            if (found != NULL && zs_is_grid_mapping(found->attributes))
                return found;
        }
    return NULL;
}
