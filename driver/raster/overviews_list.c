/* The multiscales that list the overviews of an array. */
#include <stdlib.h>
#include <string.h>

#include "geo/conventions.h"
#include "geo/variables.h"
#include "raster/overviews_private.h"

/* One entry of the multiscales list to be. */
struct entry {
    char *asset;
    uint64_t width, height;
};
struct entries {
    struct entry list[ZS_MAX_LAYOUT_LEVELS];
    size_t count;
};

static void entries_clear(struct entries *e)
{
    for (size_t i = 0; i < e->count; i++)
        free(e->list[i].asset);
    e->count = 0;
}

/* Adds a level, unless its asset is listed; sizes fall along the list. */
static enum zs_status add_entry(struct entries *e, const char *asset, uint64_t width, uint64_t height,
                                struct zs_error *err)
{
    size_t at = e->count;
    for (size_t i = 0; i < e->count; i++)
        if (strcmp(e->list[i].asset, asset) == 0)
            return ZS_OK;
    if (e->count == ZS_MAX_LAYOUT_LEVELS)
        return zs_fail(err, ZS_UNSUPPORTED, "expected at most %d levels in a pyramid", ZS_MAX_LAYOUT_LEVELS);
    char *copy = zs_strdup(asset);
    ZS_TRY_MEMORY(copy, err);
    while (at > 0 && (double)e->list[at - 1].width * (double)e->list[at - 1].height < (double)width * (double)height) {
        e->list[at] = e->list[at - 1];
        at--;
    }
    e->list[at] = (struct entry){copy, width, height};
    e->count++;
    return ZS_OK;
}

/* The group whose multiscales list the base: the one that does now, else the base's own group. */
static const struct zs_node *pyramid_group(struct zs_hierarchy *hierarchy, const struct zs_node *base,
                                           struct zs_layout *layout)
{
    struct zs_scope scope;
    zs_scope_find(hierarchy, base, &scope);
    for (int g = 0; g < scope.groups; g++) {
        const char *below = zs_path_below(scope.group[g]->path, base->path);
        if (below != NULL && zs_layout_first(scope.group[g]->attributes, layout) && !layout->is_foreign &&
            zs_layout_find(layout, below) >= 0)
            return scope.group[g];
    }
    memset(layout, 0, sizeof *layout);
    if (scope.groups == 0)
        return NULL;
    /* A list that names another array of the group serves this one, too. */
    if (zs_layout_first(scope.group[0]->attributes, layout) && layout->is_foreign)
        memset(layout, 0, sizeof *layout);
    return scope.group[0];
}

/* Whether there are other pictures than the base directly in a group. */
static enum zs_status has_other_rasters(struct zs_hierarchy *hierarchy, const struct zs_node *base, const char *group,
                                        bool *any, struct zs_error *err)
{
    const struct zs_node **nodes;
    size_t count;
    *any = false;
    ZS_TRY(zs_hierarchy_list(hierarchy, &nodes, &count, err));
    for (size_t i = 0; i < count; i++) {
        const char *below = zs_path_below(group, nodes[i]->path);
        *any = *any || (nodes[i] != base && below != NULL && below[0] != '\0' && strchr(below, '/') == NULL &&
                        nodes[i]->array != NULL && nodes[i]->array->ndim >= 2);
    }
    free(nodes);
    return ZS_OK;
}

/* Whether there is a picture at an asset, or in it. */
static enum zs_status is_present(struct zs_hierarchy *hierarchy, const struct zs_node *group,
                                 const struct zs_node *base, const char *asset, bool *result, struct zs_error *err)
{
    const struct zs_node *node = NULL;
    char *path = zs_path_join(group->path, asset);
    enum zs_status status = path != NULL ? zs_hierarchy_stored_node(hierarchy, path, &node, err) : zs_fail_memory(err);
    *result = status == ZS_OK;
    if (status == ZS_NOT_FOUND || (status == ZS_OK && node->type == ZS_NODE_GROUP))
        status = has_other_rasters(hierarchy, base, path, result, err);
    free(path);
    return status;
}

/* The asset of the array at `path`: its group, when levels are groups with arrays of the base's name. */
static char *asset_of(const struct zs_node *group, const struct zs_node *base, const char *path)
{
    const char *below = zs_path_below(group->path, path);
    char *asset = below != NULL ? zs_strdup(below) : NULL;
    char *slash = asset != NULL ? strrchr(asset, '/') : NULL;
    if (slash != NULL && strcmp(slash + 1, zs_path_name(base->path)) == 0)
        *slash = '\0';
    return asset;
}

static enum zs_status add_path(struct entries *e, const struct zs_node *group, const struct zs_node *base,
                               struct zs_axes axes, const struct zs_node *level, struct zs_error *err)
{
    char *asset = asset_of(group, base, level->path);
    ZS_TRY_MEMORY(asset, err);
    const enum zs_status status = add_entry(e, asset, level->array->shape[axes.x], level->array->shape[axes.y], err);
    free(asset);
    return status;
}

/* Collects the entries of the new list: the base, those it had before, and the overviews there are now. `only_present`
 * leaves out levels that no longer exist. */
static enum zs_status collect_entries(struct zs_hierarchy *hierarchy, const struct zs_node *base, struct zs_axes axes,
                                      const struct zs_node *group, const struct zs_layout *layout, bool only_present,
                                      struct entries *e, struct zs_error *err)
{
    const uint64_t width = base->array->shape[axes.x], height = base->array->shape[axes.y];
    const char *below = zs_path_below(group->path, base->path);
    const bool is_direct = strchr(below, '/') == NULL;
    if (is_direct) { /* with several arrays in the group the base is the group itself */
        bool has_others;
        ZS_TRY(has_other_rasters(hierarchy, base, group->path, &has_others, err));
        ZS_TRY(add_entry(e, has_others ? "." : below, width, height, err));
    }
    for (int i = 0; i < layout->count; i++) {
        const struct zs_layout_level *l = &layout->level[i];
        const struct zs_node *node;
        uint64_t w, v;
        if (is_direct &&
            (l->asset[0] == '\0' || (strchr(l->asset, '/') == NULL &&
                                     zs_hierarchy_node_at(hierarchy, group->path, l->asset, &node, NULL) == ZS_OK &&
                                     node->type == ZS_NODE_ARRAY && node->array != NULL &&
                                     node->array->shape[axes.x] == width && node->array->shape[axes.y] == height)))
            continue; /* the base, as it was called when it was alone */
        bool is_kept = true;
        if (only_present)
            ZS_TRY(is_present(hierarchy, group, base, l->asset, &is_kept, err));
        if (is_kept && zs_level_size(hierarchy, group, l, base, axes, &w, &v))
            ZS_TRY(add_entry(e, l->asset, w, v, err));
    }
    if (!is_direct)
        ZS_TRY(add_path(e, group, base, axes, base, err));
    return ZS_OK;
}

/* Writes the list to the group. */
static enum zs_status write_entries(struct zs_hierarchy *hierarchy, const struct zs_node *group,
                                    const struct zs_georef_out *geo, const struct entries *e, const char *resampling,
                                    struct zs_error *err)
{
    const char *assets[ZS_MAX_LAYOUT_LEVELS];
    uint64_t widths[ZS_MAX_LAYOUT_LEVELS], heights[ZS_MAX_LAYOUT_LEVELS];
    zs_json *attributes;
    for (size_t i = 0; i < e->count; i++) {
        assets[i] = e->list[i].asset[0] != '\0' ? e->list[i].asset : ".";
        widths[i] = e->list[i].width;
        heights[i] = e->list[i].height;
    }
    ZS_TRY(zs_hierarchy_edit(hierarchy, group, &attributes, err));
    const struct zs_georef_out at =
        e->count > 0 && geo->has_transform ? zs_georef_at_size(geo, widths[0], heights[0]) : *geo;
    return zs_write_multiscales(attributes, &at, e->count > 1 ? e->count : 0, assets, widths, heights, resampling, err);
}

enum zs_status zs_overviews_list(struct zs_hierarchy *hierarchy, const struct zs_node *base, struct zs_axes axes,
                                 const struct zs_georef_out *geo, const struct zs_node *const *made, size_t made_count,
                                 bool only_present, const char *resampling, struct zs_error *err)
{
    struct zs_layout layout;
    struct entries e = {.count = 0};
    struct zs_names levels = {0};
    const struct zs_node *group = pyramid_group(hierarchy, base, &layout);
    if (group == NULL || (made_count == 0 && layout.count == 0))
        return ZS_OK;
    enum zs_status status = collect_entries(hierarchy, base, axes, group, &layout, only_present, &e, err);
    if (status == ZS_OK)
        status = zs_overviews_find(hierarchy, base, axes, &levels, err);
    for (size_t i = 0; i < levels.count && status == ZS_OK; i++) {
        const struct zs_node *level;
        if (zs_hierarchy_node(hierarchy, levels.list[i], &level, NULL) == ZS_OK &&
            zs_path_below(group->path, level->path) != NULL)
            status = add_path(&e, group, base, axes, level, err);
    }
    for (size_t i = 0; i < made_count && status == ZS_OK; i++)
        if (zs_path_below(group->path, made[i]->path) != NULL)
            status = add_path(&e, group, base, axes, made[i], err);
    if (status == ZS_OK) {
        struct zs_georef_out base_geo = *geo;
        base_geo.ndim = base->array->ndim;
        base_geo.x = axes.x;
        base_geo.y = axes.y;
        status = write_entries(hierarchy, group, &base_geo, &e, resampling, err);
    }
    zs_names_free(levels.list);
    entries_clear(&e);
    return status;
}
