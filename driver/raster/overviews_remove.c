/* Removing overviews: their own nodes, and nothing else. */
#include <stdlib.h>
#include <string.h>

#include "geo/cf.h"
#include "geo/write.h"
#include "raster/overviews_private.h"

/* ---- One level ---- */

/* The nodes of a level: its array, and the coordinate variables and the grid mapping that were made for it alone. */
struct level_nodes {
    const struct zs_node *node[ZS_MAX_NDIM + 2];
    int count;
};

/* Adds the array `name` beside the level, if only the level uses it: a coordinate variable of its own name, or a
 * scalar. */
static enum zs_status add_level_node(struct zs_hierarchy *hierarchy, struct level_nodes *c, const struct zs_node *level,
                                     const char *name, int dim, struct zs_error *err)
{
    const struct zs_node *node = NULL;
    char *group = name != NULL && name[0] != '\0' && strchr(name, '/') == NULL ? zs_path_parent(level->path) : NULL;
    char *path = group != NULL ? zs_path_join(group, name) : NULL;
    enum zs_status status = path != NULL ? zs_hierarchy_stored_node(hierarchy, path, &node, err) : ZS_NOT_FOUND;
    free(group);
    free(path);
    if (status != ZS_OK)
        return zs_is_no_node(status) ? ZS_OK : status;
    const struct zs_array_meta *a = node->array;
    const char *own = a != NULL && a->ndim == 1 ? zs_dimension_name(node, 0) : NULL;
    const bool is_ours = a != NULL && (dim < 0 ? a->ndim == 0
                                               : a->ndim == 1 && a->shape[0] == level->array->shape[dim] &&
                                                     own != NULL && strcmp(own, name) == 0);
    if (is_ours)
        c->node[c->count++] = node;
    return ZS_OK;
}

static enum zs_status find_level_nodes(struct zs_hierarchy *hierarchy, const struct zs_node *level,
                                       struct level_nodes *c, struct zs_error *err)
{
    const char *named = zs_grid_mapping_name(level->attributes), *mapping = named != NULL ? named : ZS_GRID_MAPPING;
    *c = (struct level_nodes){.node = {level}, .count = 1};
    for (int d = 0; d < level->array->ndim; d++)
        ZS_TRY(add_level_node(hierarchy, c, level, zs_dimension_name(level, d), d, err));
    return add_level_node(hierarchy, c, level, mapping, -1, err);
}

/* Whether the group of a level holds other things: nodes, which may use its coordinates, and files. In a store that
 * cannot be listed there may be anything. */
static enum zs_status find_others(struct zs_hierarchy *hierarchy, const char *group, const struct level_nodes *c,
                                  bool *has_nodes, bool *has_files, struct zs_error *err)
{
    char **names;
    *has_nodes = *has_files = true;
    const enum zs_status status = zs_store_list(zs_hierarchy_store(hierarchy), group, &names, err);
    if (status == ZS_UNSUPPORTED)
        return ZS_OK;
    *has_nodes = *has_files = false;
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    for (char **name = names; *name != NULL; name++) {
        const size_t n = zs_prefix_length(*name);
        bool is_ours = strcmp(*name, "zarr.json") == 0 || strcmp(*name, "./") == 0 || strcmp(*name, "../") == 0;
        for (int i = 0; i < c->count; i++) {
            const char *own = zs_path_name(c->node[i]->path);
            is_ours = is_ours || (n > 0 && n == strlen(own) && strncmp(*name, own, n) == 0);
        }
        *has_nodes = *has_nodes || (!is_ours && n > 0);
        *has_files = *has_files || (!is_ours && n == 0);
    }
    zs_names_free(names);
    return ZS_OK;
}

/* Adds the paths that go with a level: of its group where nothing else is in it, else of its array and, unless other
 * nodes may use them, of its companions. */
static enum zs_status find_paths(struct zs_hierarchy *hierarchy, const char *path, struct zs_names *paths,
                                 struct zs_error *err)
{
    const struct zs_node *level;
    struct level_nodes c;
    bool has_nodes = true, has_files = true;
    ZS_TRY(zs_hierarchy_node(hierarchy, path, &level, err));
    char *group = zs_path_parent(path);
    enum zs_status status = group != NULL ? find_level_nodes(hierarchy, level, &c, err) : zs_fail_memory(err);
    if (status == ZS_OK)
        status = find_others(hierarchy, group, &c, &has_nodes, &has_files, err);
    if (status == ZS_OK && !has_nodes && !has_files)
        return zs_names_add(paths, group, err);
    for (int i = 0; i < (has_nodes ? 1 : c.count) && status == ZS_OK; i++)
        status = zs_names_add(paths, zs_strdup(c.node[i]->path), err);
    free(group);
    return status;
}

static enum zs_status remove_paths(struct zs_hierarchy *hierarchy, const struct zs_names *paths, struct zs_error *err)
{
    for (size_t i = 0; i < paths->count; i++)
        ZS_TRY(zs_hierarchy_remove(hierarchy, paths->list[i], err));
    return ZS_OK;
}

enum zs_status zs_overviews_remove_level(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    struct zs_names paths = {0};
    enum zs_status status = find_paths(hierarchy, path, &paths, err);
    if (status == ZS_OK)
        status = remove_paths(hierarchy, &paths, err);
    zs_names_free(paths.list);
    return status;
}

/* ---- All levels of an array ---- */

/* Adds levels that are in the store and that nothing lists, since a writer was killed: they would be found once nothing
 * lists any. */
static enum zs_status add_unlisted_levels(struct zs_hierarchy *hierarchy, const struct zs_node *base,
                                          struct zs_names *levels, struct zs_error *err)
{
    char **names;
    char *group = zs_path_parent(base->path);
    if (group == NULL)
        return base->path[0] == '\0' ? ZS_OK : zs_fail_memory(err);
    enum zs_status status = zs_store_list(zs_hierarchy_store(hierarchy), group, &names, err);
    if (status == ZS_OK) {
        for (char **name = names; *name != NULL && status == ZS_OK; name++) {
            const size_t n = zs_prefix_length(*name);
            const struct zs_node *node;
            int factor;
            if (n > 0)
                (*name)[n] = '\0';
            if (!zs_is_overview_group(*name, &factor))
                continue;
            char *path = zs_format("%s%s%s/%s", group, group[0] != '\0' ? "/" : "", *name, zs_path_name(base->path));
            status = path != NULL ? zs_hierarchy_stored_node(hierarchy, path, &node, err) : zs_fail_memory(err);
            const bool is_new = status == ZS_OK && zs_overviews_is_level(base, node) &&
                                !zs_is_one_of(path, (const char *const *)levels->list);
            if (zs_is_no_node(status))
                status = ZS_OK;
            if (is_new)
                status = zs_names_add(levels, path, err);
            else
                free(path);
        }
        zs_names_free(names);
    }
    free(group);
    return status == ZS_UNSUPPORTED || status == ZS_NOT_FOUND ? ZS_OK : status;
}

/* Finds the levels of an array, and what goes with them. Reads all that removing them needs: a failure comes while
 * nothing is changed. */
static enum zs_status find_levels(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                  size_t *count, struct zs_names *paths, struct zs_error *err)
{
    struct zs_names levels;
    const struct zs_node **nodes = NULL;
    size_t ignored;
    enum zs_status status = zs_overviews_own(hierarchy, node, axes, &levels, err);
    if (status == ZS_OK)
        status = add_unlisted_levels(hierarchy, node, &levels, err);
    for (size_t i = 0; i < levels.count && status == ZS_OK; i++)
        status = find_paths(hierarchy, levels.list[i], paths, err);
    if (status == ZS_OK && levels.count > 0) /* who lists pyramids and references looks into it */
        status = zs_hierarchy_list(hierarchy, &nodes, &ignored, err);
    free(nodes);
    *count = levels.count;
    zs_names_free(levels.list);
    return status;
}

enum zs_status zs_overviews_take_out(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                     size_t *removed, struct zs_error *err)
{
    struct zs_names paths = {0};
    *removed = 0;
    if (node->array == NULL || axes.y < 0)
        return ZS_OK;
    struct zs_georef georef;
    ZS_TRY(zs_georef_read(hierarchy, node, axes, &georef, err));
    struct zs_georef_conventions style;
    zs_georef_conventions_find(hierarchy, node, axes, &style);
    struct zs_georef_out geo = zs_georef_out_make(node, axes, &georef);
    geo.has_transform = geo.has_transform && style.spatial_proj;
    enum zs_status status = find_levels(hierarchy, node, axes, removed, &paths, err);
    if (status == ZS_OK)
        status = remove_paths(hierarchy, &paths, err);
    if (status == ZS_OK && *removed > 0)
        status = zs_overviews_list(hierarchy, node, axes, &geo, NULL, 0, true, NULL, err);
    zs_georef_clear(&georef);
    zs_names_free(paths.list);
    return status;
}

enum zs_status zs_overviews_remove(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                   size_t *removed, struct zs_error *err)
{
    size_t count = 0;
    enum zs_status status = zs_overviews_take_out(hierarchy, node, axes, &count, err);
    if (status == ZS_OK && count > 0)
        status = zs_hierarchy_flush(hierarchy, err);
    if (removed != NULL)
        *removed = status == ZS_OK ? count : 0;
    return status;
}
