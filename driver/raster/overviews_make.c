/* Making and removing overviews of an array that is there. Levels are filled by the caller, and published together:
 * chunks first, documents last. A kill or a failure leaves chunks without a document: readers do not see them, and the
 * next maker removes them. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "codec/chain.h"
#include "geo/bands.h"
#include "geo/conventions.h"
#include "geo/georef.h"
#include "geo/variables.h"
#include "raster/overviews.h"
#include "zarr/contents.h"

/* Levels that are made. */
struct made_level {
    int factor;
    const struct zs_node *node; /* the hierarchy's, or until it is published: */
    struct zs_node *own;        /* ... this one, owned; NULL for a level that was there */
    struct zs_array *array;
};

struct zs_overviews {
    struct zs_hierarchy *hierarchy;
    const struct zs_node *base;
    struct zs_axes axes;
    char *group; /* that holds the base */
    char *resampling;
    int chunk_order;
    struct made_level *levels;
    size_t count;
};

/* ---- The multiscales that list the levels ---- */

/* The list to be, from large to small. */
struct entries {
    struct zs_pyramid_level list[ZS_MAX_LAYOUT_LEVELS]; /* with owned assets */
    size_t count;
};

static void entries_clear(struct entries *e)
{
    for (size_t i = 0; i < e->count; i++)
        free(e->list[i].asset);
    e->count = 0;
}

/* Adds a level, unless its asset (taken over; NULL without memory) is listed. */
static enum zs_status add_entry(struct entries *e, char *asset, uint64_t width, uint64_t height, struct zs_error *err)
{
    size_t at = e->count;
    ZS_TRY_MEMORY(asset, err);
    for (size_t i = 0; i < e->count; i++)
        if (strcmp(e->list[i].asset, asset) == 0) {
            free(asset);
            return ZS_OK;
        }
    if (e->count == ZS_MAX_LAYOUT_LEVELS) {
        free(asset);
        return zs_fail(err, ZS_UNSUPPORTED, "expected at most %d levels in a pyramid", ZS_MAX_LAYOUT_LEVELS);
    }
    for (; at > 0 && (double)e->list[at - 1].width * (double)e->list[at - 1].height < (double)width * (double)height;
         at--)
        e->list[at] = e->list[at - 1];
    e->list[at] = (struct zs_pyramid_level){asset, width, height};
    e->count++;
    return ZS_OK;
}

/* The group that holds the base, whose multiscales list its levels; NULL where it is the root of its store. Another
 * list than the one that this driver changes is none. */
static const struct zs_node *pyramid_group(struct zs_hierarchy *hierarchy, const struct zs_node *base,
                                           struct zs_layout *layout)
{
    struct zs_scope scope;
    zs_scope_find(hierarchy, base, &scope);
    if (scope.groups == 0 || !zs_layout_first(scope.group[0]->attributes, layout) || layout->is_foreign)
        memset(layout, 0, sizeof *layout);
    return scope.groups > 0 ? scope.group[0] : NULL;
}

/* Whether there are pictures other than the base directly in a group. */
static enum zs_status has_other_rasters(struct zs_hierarchy *hierarchy, const struct zs_node *base, const char *group,
                                        bool *any, struct zs_error *err)
{
    const struct zs_node **nodes;
    size_t count, at = 0;
    *any = false;
    ZS_TRY(zs_hierarchy_list(hierarchy, &nodes, &count, err));
    for (const struct zs_node *node; !*any && (node = zs_nodes_child(nodes, count, group, &at)) != NULL;)
        *any = node != base && node->array != NULL && node->array->ndim >= 2;
    free(nodes);
    return ZS_OK;
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

/* Adds an entry of the list as it was, if there is still a picture at its asset, or in it. */
static enum zs_status keep_entry(struct entries *e, struct zs_hierarchy *hierarchy, const struct zs_node *group,
                                 const struct zs_node *base, struct zs_axes axes, const struct zs_layout_level *level,
                                 struct zs_error *err)
{
    const struct zs_node *node;
    uint64_t width, height;
    bool is_kept = false;
    if (zs_hierarchy_node_at(hierarchy, group->path, level->asset, &node, NULL) != ZS_OK)
        return ZS_OK;
    if (node->type == ZS_NODE_ARRAY)
        is_kept = node->array != NULL;
    else
        ZS_TRY(has_other_rasters(hierarchy, NULL, node->path, &is_kept, err));
    return is_kept && zs_level_size(hierarchy, group, level, base, axes, &width, &height)
               ? add_entry(e, zs_strdup(level->asset), width, height, err)
               : ZS_OK;
}

/* Whether an entry is of a base directly in the group, as the base was called when it was alone. */
static bool is_of_base(struct zs_hierarchy *hierarchy, const struct zs_node *group, const struct zs_node *base,
                       struct zs_axes axes, const struct zs_layout_level *level)
{
    const struct zs_node *node;
    return level->asset[0] == '\0' ||
           (strchr(level->asset, '/') == NULL &&
            zs_hierarchy_node_at(hierarchy, group->path, level->asset, &node, NULL) == ZS_OK && node->array != NULL &&
            node->array->shape[axes.x] == base->array->shape[axes.x] &&
            node->array->shape[axes.y] == base->array->shape[axes.y]);
}

/* Adds a level below the group. */
static enum zs_status add_level(struct entries *e, const struct zs_node *group, const struct zs_node *base,
                                struct zs_axes axes, const struct zs_node *level, struct zs_error *err)
{
    return zs_path_below(group->path, level->path) != NULL
               ? add_entry(e, asset_of(group, base, level->path), level->array->shape[axes.x],
                           level->array->shape[axes.y], err)
               : ZS_OK;
}

/* Collects the entries of the new list: the base, those of before, overviews that another list has, and those just
 * made; levels elsewhere are listed where they are. */
static enum zs_status collect_entries(struct zs_hierarchy *hierarchy, const struct zs_node *base, struct zs_axes axes,
                                      const struct zs_node *group, const struct zs_layout *layout,
                                      const struct zs_overviews *made, struct entries *e, struct zs_error *err)
{
    bool has_others; /* with several arrays in the group the base is the group itself */
    ZS_TRY(has_other_rasters(hierarchy, base, group->path, &has_others, err));
    ZS_TRY(add_entry(e, zs_strdup(has_others ? "." : zs_path_below(group->path, base->path)),
                     base->array->shape[axes.x], base->array->shape[axes.y], err));
    for (int i = 0; i < layout->count; i++)
        if (!is_of_base(hierarchy, group, base, axes, &layout->level[i]))
            ZS_TRY(keep_entry(e, hierarchy, group, base, axes, &layout->level[i], err));
    struct zs_levels levels;
    ZS_TRY(zs_overviews_find(hierarchy, base, axes, &levels, err));
    for (size_t i = 0; i < levels.count; i++)
        ZS_TRY(add_level(e, group, base, axes, levels.list[i], err));
    for (size_t i = 0; made != NULL && i < made->count; i++)
        ZS_TRY(add_level(e, group, base, axes, made->levels[i].node, err));
    return ZS_OK;
}

/* Brings the multiscales of the pyramid's group up to date in memory, after levels were removed, and adds the levels
 * that are made (NULL: none), which the hierarchy has. */
static enum zs_status list_levels(struct zs_hierarchy *hierarchy, const struct zs_node *base, struct zs_axes axes,
                                  const struct zs_georef_out *geo, const struct zs_overviews *made,
                                  struct zs_error *err)
{
    struct zs_layout layout;
    struct entries e = {.count = 0};
    zs_json *attributes;
    const size_t failures = zs_hierarchy_failures(hierarchy);
    const struct zs_node *group = pyramid_group(hierarchy, base, &layout);
    ZS_TRY(zs_hierarchy_check_since(hierarchy, failures, err));
    if (group == NULL || (made == NULL && layout.count == 0))
        return ZS_OK;
    enum zs_status status = collect_entries(hierarchy, base, axes, group, &layout, made, &e, err);
    if (status == ZS_OK)
        status = zs_hierarchy_check_since(hierarchy, failures, err);
    if (status == ZS_OK && (e.count > 1 || layout.count > 0)) { /* else all levels are elsewhere, and listed there */
        struct zs_georef_out at = zs_georef_at_size(geo, e.list[0].width, e.list[0].height);
        at.ndim = base->array->ndim;
        at.x = axes.x;
        at.y = axes.y;
        status = zs_hierarchy_edit(hierarchy, group, &attributes, err);
        if (status == ZS_OK)
            status = zs_write_multiscales(attributes, &at, e.list, e.count > 1 ? e.count : 0,
                                          made != NULL ? made->resampling : NULL, err);
    }
    entries_clear(&e);
    return status;
}

/* The georeferencing of the base, which levels get at their sizes, and its conventions. */
static enum zs_status read_georef(struct zs_hierarchy *hierarchy, const struct zs_node *base, struct zs_axes axes,
                                  struct zs_georef *georef, struct zs_georef_conventions *style,
                                  struct zs_georef_out *geo, struct zs_error *err)
{
    ZS_TRY(zs_georef_read(hierarchy, base, axes, georef, err));
    zs_georef_conventions_find(hierarchy, base, axes, ZS_GEOREF_ALL, style);
    style->mapping_name = ZS_GRID_MAPPING; /* which rioxarray finds where nothing names it */
    *geo = zs_georef_out_make(base, axes, georef);
    return ZS_OK;
}

/* ---- Removing ---- */

/* Whether a name in the group of a level is of that level: the array, its coordinate variables and grid mapping. */
static bool is_of_level(const struct zs_node *level, const char *name)
{
    const char *mapping = zs_grid_mapping_name(level->attributes);
    bool is_own = strcmp(name, zs_path_name(level->path)) == 0 || strcmp(name, "zarr.json") == 0 ||
                  strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
                  strcmp(name, mapping != NULL ? mapping : ZS_GRID_MAPPING) == 0;
    for (int d = 0; d < level->array->ndim && !is_own; d++)
        is_own = zs_dimension_name(level, d) != NULL && strcmp(name, zs_dimension_name(level, d)) == 0;
    return is_own;
}

/* Whether only a level is in its group. In a store that cannot be listed there may be anything. */
static enum zs_status is_alone(struct zs_hierarchy *hierarchy, const struct zs_node *level, const char *group,
                               bool *alone, struct zs_error *err)
{
    char **names;
    const enum zs_status status = zs_store_list(zs_hierarchy_store(hierarchy), group, &names, err);
    *alone = status != ZS_UNSUPPORTED;
    if (status != ZS_OK)
        return status == ZS_UNSUPPORTED || status == ZS_NOT_FOUND ? ZS_OK : status;
    for (char **name = names; *name != NULL && *alone; name++) {
        const size_t n = zs_prefix_length(*name);
        if (n > 0)
            (*name)[n] = '\0';
        *alone = is_of_level(level, *name);
    }
    zs_names_free(names);
    return ZS_OK;
}

/* Removes one level ovr_<N>x/<name> at the next flush: its group, where nothing else is in it; else the array alone. */
static enum zs_status remove_level(struct zs_hierarchy *hierarchy, const struct zs_node *level, struct zs_error *err)
{
    bool alone = false;
    char *group = zs_path_parent(level->path);
    enum zs_status status = group != NULL ? is_alone(hierarchy, level, group, &alone, err) : zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_hierarchy_remove(hierarchy, alone ? group : level->path, err);
    free(group);
    return status;
}

/* Removes levels at the next flush, and their mention in the multiscales. */
static enum zs_status remove_levels(struct zs_hierarchy *hierarchy, const struct zs_node *base, struct zs_axes axes,
                                    const struct zs_levels *levels, struct zs_error *err)
{
    struct zs_georef georef;
    struct zs_georef_conventions style;
    struct zs_georef_out geo;
    if (levels->count == 0)
        return ZS_OK;
    ZS_TRY(read_georef(hierarchy, base, axes, &georef, &style, &geo, err));
    geo.has_transform = geo.has_transform && style.spatial_proj;
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < levels->count && status == ZS_OK; i++)
        status = remove_level(hierarchy, levels->list[i], err);
    if (status == ZS_OK)
        status = list_levels(hierarchy, base, axes, &geo, NULL, err);
    zs_georef_clear(&georef);
    return zs_hierarchy_keep(hierarchy, status);
}

enum zs_status zs_overviews_take_out(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                     struct zs_error *err)
{
    struct zs_levels levels;
    ZS_TRY(zs_overviews_own(hierarchy, node, axes, &levels, err));
    return remove_levels(hierarchy, node, axes, &levels, err);
}

/* ---- Setting up new levels ---- */

static uint64_t level_size(const struct zs_overviews *made, int dim, int factor)
{
    return zs_ceil_div_u64(made->base->array->shape[dim], (uint64_t)factor);
}

/* Names for the dimensions of a level in the place of the base's, where a document has them (`names`), or the base's
 * group: no group names those of the level. */
static bool set_names(const struct zs_overviews *made, zs_json *object, const char *names, int factor)
{
    const bool is_implied = made->base->array->names_are_implied && strcmp(names, "dimension_names") == 0;
    if (zs_json_get(object, names) == NULL && !is_implied)
        return true;
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL;
    for (int d = 0; d < made->base->array->ndim && ok; d++) {
        const char *name = zs_dimension_name(made->base, d);
        const bool is_xy = d == made->axes.x || d == made->axes.y;
        char *own = name != NULL && is_xy ? zs_format("%s_%dx", name, factor) : name != NULL ? zs_strdup(name) : NULL;
        ok = name == NULL ? zs_json_add_null(list, NULL) != NULL
                          : own != NULL && zs_json_add_string(list, NULL, own) != NULL;
        free(own);
    }
    if (ok)
        return zs_json_set(object, names, list) != NULL;
    zs_json_free(list);
    return false;
}

bool zs_inner_chunks(const struct zs_array_meta *meta, uint64_t *chunk)
{
    struct zs_chain chain;
    if (zs_chain_compile(meta, &chain, NULL) != ZS_OK)
        return false;
    const bool is_sharded = chain.levels[0].is_shard;
    for (int d = 0; d < meta->ndim && is_sharded; d++)
        chunk[d] = chain.levels[1].shape[d];
    zs_chain_clear(&chain);
    return is_sharded;
}

/* The document of a level: the base's, smaller. NULL without memory. */
static zs_json *level_document(const struct zs_overviews *made, int factor)
{
    const struct zs_array_meta *meta = made->base->array;
    uint64_t shape[ZS_MAX_NDIM], shard[ZS_MAX_NDIM], chunk[ZS_MAX_NDIM];
    const bool is_cut = zs_inner_chunks(meta, chunk);
    for (int d = 0; d < meta->ndim; d++) {
        const bool is_xy = d == made->axes.x || d == made->axes.y;
        shape[d] = is_xy ? level_size(made, d, factor) : meta->shape[d];
        shard[d] = meta->chunk_shape[d];
        if (is_cut && is_xy) /* to the whole chunks that a small overview needs */
            shard[d] = zs_min_u64(shard[d], zs_ceil_div_u64(shape[d], chunk[d]) * chunk[d]);
    }
    zs_json *document = zs_json_copy(made->base->document);
    zs_json *attributes = zs_json_get_mutable(document, "attributes");
    if (attributes == NULL)
        attributes = zs_json_add_object(document, "attributes");
    if (attributes == NULL || !zs_document_use_default_keys(document) ||
        zs_json_set(document, "shape", zs_shape_list(shape, meta->ndim)) == NULL ||
        !zs_chunk_grid_set(document, shard, meta->ndim) ||
        !set_names(made, document, "dimension_names", factor) ||
        !set_names(made, attributes, ZS_ARRAY_DIMENSIONS, factor)) {
        zs_json_free(document);
        return NULL;
    }
    zs_json_remove(attributes, ZS_GCPS_ATTRIBUTE); /* of the base's pixels */
    zs_remove_statistics(attributes); /* of other pixels */
    return document;
}

/* An overview of exactly this size, or NULL. */
static const struct zs_node *existing_level(const struct zs_overviews *made, int factor, const struct zs_levels *there)
{
    for (size_t i = 0; i < there->count; i++) {
        const uint64_t *shape = there->list[i]->array->shape;
        if (shape[made->axes.x] == level_size(made, made->axes.x, factor) &&
            shape[made->axes.y] == level_size(made, made->axes.y, factor))
            return there->list[i];
    }
    return NULL;
}

static bool is_listed(const struct zs_levels *levels, const struct zs_node *node)
{
    for (size_t i = 0; i < levels->count; i++)
        if (levels->list[i] == node)
            return true;
    return false;
}

/* Whether an array is a level of the base, of whatever size: as many dimensions of the base's names, or of those that
 * they have at a level, and of the same data type. */
static bool is_level(const struct zs_node *base, const struct zs_node *node)
{
    bool is = node->array != NULL && node->array->ndim == base->array->ndim &&
              strcmp(node->array->dtype.name, base->array->dtype.name) == 0;
    for (int d = 0; is && d < base->array->ndim; d++) {
        const char *ours = zs_dimension_name(base, d), *theirs = zs_dimension_name(node, d);
        is = (ours == NULL) == (theirs == NULL) && (ours == NULL || zs_dimension_is_of(theirs, ours));
    }
    return is;
}

/* Checks that nothing but a level of the base is where another is to be, which is then added to `old`; else removes the
 * chunks that a killed maker left there, which would show through where only fill values are. */
static enum zs_status check_path(const struct zs_overviews *made, const struct zs_node *level, struct zs_levels *old,
                                 struct zs_error *err)
{
    const struct zs_node *above = NULL, *node = NULL;
    const char *path = level->path;
    const char *root = zs_hierarchy_store(made->hierarchy)->root;
    char *group = zs_path_parent(path);
    const enum zs_status status =
        group != NULL ? zs_hierarchy_occupant(made->hierarchy, group, &above, err) : zs_fail_memory(err);
    free(group);
    ZS_TRY(status);
    if (above != NULL && above->type == ZS_NODE_ARRAY)
        return zs_fail(err, ZS_ARGUMENT, "%s/%s: expected a group of overviews, or nothing, found an array", root,
                       above->path);
    ZS_TRY(zs_hierarchy_occupant(made->hierarchy, path, &node, err));
    if (node != NULL && !is_level(made->base, node))
        return zs_fail(err, ZS_ARGUMENT, "%s/%s: expected an overview of %s, or nothing, found %s", root, path,
                       made->base->path, node->type == ZS_NODE_ARRAY ? "another array" : "a group");
    if (node == NULL)
        return zs_hierarchy_is_new(made->hierarchy)
                   ? ZS_OK
                   : zs_contents_remove_below(zs_hierarchy_store(made->hierarchy), path, true, err);
    if (is_listed(old, node))
        return ZS_OK;
    if (old->count == ZS_MOST_LEVELS)
        return zs_fail(err, ZS_UNSUPPORTED, "expected at most %d overviews to be replaced", ZS_MOST_LEVELS);
    old->list[old->count++] = node;
    return ZS_OK;
}

/* Finds a level, or makes the node of a new one, in place of one that is there and goes first. */
static enum zs_status begin_level(struct zs_overviews *made, struct made_level *level, const struct zs_levels *current,
                                  struct zs_levels *old, struct zs_error *err)
{
    level->node = existing_level(made, level->factor, current);
    if (level->node != NULL)
        return ZS_OK;
    char *path = zs_format("%s%sovr_%dx/%s", made->group, made->group[0] != '\0' ? "/" : "", level->factor,
                           zs_path_name(made->base->path));
    ZS_TRY_MEMORY(path, err);
    zs_json *document = level_document(made, level->factor);
    const enum zs_status status =
        document != NULL ? zs_node_create(path, document, true, &level->own, err) : zs_fail_memory(err);
    free(path);
    ZS_TRY(status);
    level->node = level->own;
    return check_path(made, level->own, old, err);
}

/* Begins all levels, and removes the outdated ones and those at the paths of new ones. */
static enum zs_status begin_levels(struct zs_overviews *made, struct zs_error *err)
{
    struct zs_levels current, all, old = {.count = 0};
    ZS_TRY(zs_overviews_find(made->hierarchy, made->base, made->axes, &current, err));
    ZS_TRY(zs_overviews_own(made->hierarchy, made->base, made->axes, &all, err));
    for (size_t i = 0; i < all.count; i++)
        if (!is_listed(&current, all.list[i]))
            old.list[old.count++] = all.list[i];
    for (size_t i = 0; i < made->count; i++)
        ZS_TRY(begin_level(made, &made->levels[i], &current, &old, err));
    ZS_TRY(remove_levels(made->hierarchy, made->base, made->axes, &old, err));
    return old.count > 0 ? zs_hierarchy_flush(made->hierarchy, err) : ZS_OK;
}

static enum zs_status open_level(struct zs_overviews *made, struct made_level *level,
                                 const struct zs_array_options *options, struct zs_error *err)
{
    if (level->own == NULL)
        return zs_array_open_node(made->hierarchy, level->node, options, &level->array, err);
    ZS_TRY(zs_array_open_in(zs_hierarchy_store(made->hierarchy), level->own, options, &level->array, err));
    zs_array_set_new(level->array, made->chunk_order);
    return ZS_OK;
}

static enum zs_status set_up(struct zs_overviews *made, const int *factors, const char *resampling,
                             const struct zs_array_options *options, struct zs_error *err)
{
    made->group = zs_path_parent(made->base->path);
    made->resampling = resampling != NULL ? zs_strdup(resampling) : NULL;
    made->levels = zs_calloc(made->count, sizeof *made->levels);
    if (made->group == NULL || made->levels == NULL || (resampling != NULL && made->resampling == NULL)) {
        made->count = 0;
        return zs_fail_memory(err);
    }
    for (size_t i = 0; i < made->count; i++)
        made->levels[i].factor = factors[i];
    ZS_TRY(begin_levels(made, err));
    for (size_t i = 0; i < made->count; i++)
        ZS_TRY(open_level(made, &made->levels[i], options, err));
    return ZS_OK;
}

enum zs_status zs_overviews_create(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                   const int *factors, size_t count, const char *resampling, int chunk_order,
                                   const struct zs_array_options *options, struct zs_overviews **overviews,
                                   struct zs_error *err)
{
    if (node->array == NULL || axes.y < 0 || axes.x < 0)
        return zs_fail(err, ZS_ARGUMENT, "%s/%s: expected an array of two dimensions and more, to have overviews",
                       zs_hierarchy_store(hierarchy)->root, node->path);
    if (node->path[0] == '\0')
        return zs_fail(
            err, ZS_ARGUMENT,
            "%s: overviews of an array are kept in the group it is in, and this one is the root of its store, in "
            "none; a copy of it (gdal_translate -of ShardedZarr) is in a group, and gets overviews",
            zs_hierarchy_store(hierarchy)->root);
    for (size_t i = 0; i < count; i++)
        if (factors[i] < 2)
            return zs_fail(err, ZS_ARGUMENT, "overview factors: expected 2 or more, found %d", factors[i]);
    struct zs_overviews *made = zs_calloc(1, sizeof *made);
    ZS_TRY_MEMORY(made, err);
    made->hierarchy = hierarchy;
    made->base = node;
    made->axes = axes;
    made->count = count;
    made->chunk_order = chunk_order;
    enum zs_status status = set_up(made, factors, resampling, options, err);
    if (status != ZS_OK) {
        zs_overviews_free(made);
        return status;
    }
    *overviews = made;
    return ZS_OK;
}

struct zs_array *zs_overviews_array(const struct zs_overviews *made, size_t i)
{
    return made->levels[i].array;
}

const struct zs_node *zs_overviews_node(const struct zs_overviews *made, size_t i)
{
    return made->levels[i].node;
}

/* ---- Publishing ---- */

/* The group of a level, made when there is none. One that is there is listed from now on. */
static enum zs_status add_group(struct zs_overviews *made, const struct zs_node *level, struct zs_error *err)
{
    char *path = zs_path_parent(level->path);
    const struct zs_node *group = NULL;
    zs_json *attributes;
    ZS_TRY_MEMORY(path, err);
    enum zs_status status = zs_hierarchy_occupant(made->hierarchy, path, &group, err);
    if (status == ZS_OK && (group == NULL || group->is_implicit))
        status = zs_add_document(made->hierarchy, path, zs_group_document(), &group, err);
    else if (status == ZS_OK) /* consolidated metadata may not list it */
        status = zs_hierarchy_edit(made->hierarchy, group, &attributes, err);
    free(path);
    return status;
}

static enum zs_status publish_level(struct zs_overviews *made, struct made_level *level,
                                    const struct zs_georef_conventions *style, const struct zs_georef_out *geo,
                                    struct zs_error *err)
{
    ZS_TRY(add_group(made, level->node, err));
    struct zs_node *own = level->own;
    level->own = NULL; /* the hierarchy owns it now, also after a failure */
    ZS_TRY(zs_hierarchy_add(made->hierarchy, own, err));
    struct zs_georef_out at = zs_georef_at_size(geo, own->array->shape[made->axes.x], own->array->shape[made->axes.y]);
    zs_georef_out_name_dimensions(&at, own, made->axes);
    at.is_brief = style->spatial_proj && style->cf && zs_has_axes(&at) && at.width > 1 && at.height > 1;
    return zs_georef_write(made->hierarchy, own, made->axes, style, &at, NULL, err);
}

static enum zs_status publish_levels(struct zs_overviews *made, const struct zs_georef_conventions *style,
                                     struct zs_georef_out *geo, struct zs_error *err)
{
    for (size_t i = 0; i < made->count; i++)
        if (made->levels[i].own != NULL)
            ZS_TRY(publish_level(made, &made->levels[i], style, geo, err));
    geo->has_transform = geo->has_transform && style->spatial_proj;
    ZS_TRY(list_levels(made->hierarchy, made->base, made->axes, geo, made, err));
    return zs_hierarchy_flush(made->hierarchy, err);
}

enum zs_status zs_overviews_publish(struct zs_overviews *made, struct zs_error *err)
{
    struct zs_georef georef;
    struct zs_georef_conventions style;
    struct zs_georef_out geo;
    for (size_t i = 0; i < made->count; i++)
        ZS_TRY(zs_array_flush(made->levels[i].array, err));
    ZS_TRY(zs_store_wait_commits(zs_hierarchy_store(made->hierarchy), err)); /* before any document changes */
    ZS_TRY(read_georef(made->hierarchy, made->base, made->axes, &georef, &style, &geo, err));
    const enum zs_status status = publish_levels(made, &style, &geo, err);
    zs_georef_clear(&georef);
    return zs_hierarchy_keep(made->hierarchy, status);
}

void zs_overviews_free(struct zs_overviews *made)
{
    if (made == NULL)
        return;
    for (size_t i = 0; i < made->count; i++) {
        zs_array_close(made->levels[i].array);
        zs_node_free(made->levels[i].own);
    }
    free(made->levels);
    free(made->group);
    free(made->resampling);
    free(made);
}
