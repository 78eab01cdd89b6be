/* Overviews of an array that is there: made and removed. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "codec/chain.h"
#include "geo/bands.h"
#include "geo/conventions.h"
#include "geo/coordinates.h"
#include "geo/layout.h"
#include "geo/overviews.h"
#include "geo/place.h"

struct made_level {
    int factor;
    bool is_new;
    const struct zs_node *node; /* the hierarchy's, or until it is published: */
    struct zs_node *own;        /* ... this one, owned */
    struct zs_array *array;
};

struct zs_overviews {
    struct zs_hierarchy *h;
    const struct zs_node *base;
    struct zs_axes axes;
    char *group; /* that holds the base */
    char *resampling;
    int chunk_order;
    struct made_level *levels;
    size_t count;
};

static enum zs_status no_memory(struct zs_error *err)
{
    return zs_fail(err, ZS_NO_MEMORY, "no memory for overviews");
}

static uint64_t level_size(const struct zs_overviews *o, int dim, int factor)
{
    return zs_ceil_div_u64(o->base->array->shape[dim], (uint64_t)factor);
}

/* ---- Documents ---- */

static bool set_sizes(zs_json *object, const char *name, const uint64_t *sizes, int n)
{
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL;
    for (int d = 0; d < n && ok; d++)
        ok = zs_json_add_uint64(list, NULL, sizes[d]) != NULL;
    if (!ok) {
        zs_json_free(list);
        return false;
    }
    return zs_json_set(object, name, list) != NULL;
}

/* Chunks that a shard is made of (of nested shards the outermost), in the order of the array's dimensions. False when the array
 * is not sharded. */
static bool inner_chunks(const struct zs_array_meta *meta, uint64_t *chunk)
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

/* Attributes that say where the base lies: a level's are its own (geo/place.h). */
static void remove_place(zs_json *attributes)
{
    const zs_json *next;
    for (const zs_json *m = zs_json_first(attributes); m != NULL; m = next) {
        const char *name = zs_json_name(m);
        next = zs_json_next(m);
        if (strncmp(name, "spatial:", 8) == 0 || strncmp(name, "proj:", 5) == 0)
            zs_json_remove(attributes, name);
    }
}

/* The document of a level: the base's, smaller. NULL without memory. */
static zs_json *level_document(const struct zs_overviews *o, int factor)
{
    const struct zs_array_meta *meta = o->base->array;
    uint64_t shape[ZS_MAX_NDIM], shard[ZS_MAX_NDIM], chunk[ZS_MAX_NDIM];
    const bool is_cut = inner_chunks(meta, chunk);
    for (int d = 0; d < meta->ndim; d++) {
        const bool is_xy = d == o->axes.x || d == o->axes.y;
        shape[d] = is_xy ? level_size(o, d, factor) : meta->shape[d];
        shard[d] = is_cut && is_xy ? zs_fitting_shard(meta->chunk_shape[d], chunk[d], shape[d]) : meta->chunk_shape[d];
    }
    zs_json *document = zs_json_copy(o->base->document);
    zs_json *grid = zs_json_get_mutable(zs_json_get_mutable(document, "chunk_grid"), "configuration");
    zs_json *attributes = document != NULL ? zs_document_attributes(document) : NULL;
    if (attributes == NULL || !set_sizes(document, "shape", shape, meta->ndim) ||
        !set_sizes(grid, "chunk_shape", shard, meta->ndim)) {
        zs_json_free(document);
        return NULL;
    }
    remove_place(attributes);
    return document;
}

/* ---- Setting up ---- */

/* An overview of exactly this size, or NULL. */
static const struct zs_node *existing_level(const struct zs_overviews *o, int factor, char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct zs_node *node;
        if (zs_hierarchy_node(o->h, paths[i], &node, NULL) == ZS_OK &&
            node->array->shape[o->axes.x] == level_size(o, o->axes.x, factor) &&
            node->array->shape[o->axes.y] == level_size(o, o->axes.y, factor))
            return node;
    }
    return NULL;
}

/* Whether an array can be a level of the base that was made before, when the base had another size. */
static bool may_be_level(const struct zs_overviews *o, const struct zs_node *node)
{
    const struct zs_array_meta *base = o->base->array, *meta = node->array;
    bool may = meta != NULL && meta->ndim == base->ndim && strcmp(meta->dtype.name, base->dtype.name) == 0;
    for (int d = 0; may && d < base->ndim; d++) {
        const char *ours = zs_dimension_name(o->base, d), *theirs = zs_dimension_name(node, d);
        may = (ours == NULL) == (theirs == NULL) && (ours == NULL || strcmp(ours, theirs) == 0);
    }
    return may;
}

/* Refuses to make a level where something else is: an array called as the group, or anything in the group that is no level. */
static enum zs_status check_place(const struct zs_overviews *o, int factor, struct zs_error *err)
{
    char *group = zs_format("%s%sovr_%dx", o->group, o->group[0] != '\0' ? "/" : "", factor);
    char *path = group != NULL ? zs_path_join(group, zs_path_name(o->base->path)) : NULL;
    const struct zs_node *above = NULL, *there = NULL;
    enum zs_status status = path != NULL ? zs_hierarchy_occupant(o->h, group, &above, err) : no_memory(err);
    if (status == ZS_OK && above != NULL && above->type == ZS_NODE_ARRAY)
        status = zs_fail(err, ZS_ARGUMENT, "%s/%s: expected a group of overviews, or nothing, found an array", zs_hierarchy_store(o->h)->root, group);
    if (status == ZS_OK)
        status = zs_hierarchy_occupant(o->h, path, &there, err);
    if (status == ZS_OK && there != NULL && !may_be_level(o, there))
        status = zs_fail(err, ZS_ARGUMENT, "%s/%s: expected an overview of %s, or nothing, found %s", zs_hierarchy_store(o->h)->root, path,
                         o->base->path, there->type == ZS_NODE_ARRAY ? "another array" : "a group");
    free(group);
    free(path);
    return status;
}

static enum zs_status set_up_level(struct zs_overviews *o, struct made_level *level, char *const *paths, size_t path_count,
                                   const struct zs_array_options *options, struct zs_error *err)
{
    level->node = existing_level(o, level->factor, paths, path_count);
    if (level->node != NULL)
        return zs_array_open_node(o->h, level->node, options, &level->array, err);
    struct zs_store *store = zs_hierarchy_store(o->h);
    ZS_TRY(check_place(o, level->factor, err));
    char *path = zs_format("%s%sovr_%dx/%s", o->group, o->group[0] != '\0' ? "/" : "", level->factor, zs_path_name(o->base->path));
    zs_json *document = path != NULL ? level_document(o, level->factor) : NULL;
    enum zs_status status = document != NULL ? ZS_OK : no_memory(err);
    /* Chunks that somebody left there, a process that was killed say, would show through where there is only fill value. */
    if (status == ZS_OK && (status = zs_store_remove_tree(store, path, err)) == ZS_UNSUPPORTED)
        status = ZS_OK;
    if (status == ZS_OK) {
        level->is_new = true;
        status = zs_node_create(path, document, true, &level->own, err);
        document = NULL;
        level->node = level->own;
    }
    if (status == ZS_OK)
        status = zs_array_open_in(store, level->node, options, &level->array, err);
    if (status == ZS_OK)
        zs_array_set_new(level->array, o->chunk_order);
    zs_json_free(document);
    free(path);
    return status;
}

static enum zs_status set_up(struct zs_overviews *o, const int *factors, const char *resampling,
                             const struct zs_array_options *options, struct zs_error *err)
{
    o->group = zs_path_parent(o->base->path);
    o->resampling = resampling != NULL ? zs_strdup(resampling) : NULL;
    o->levels = zs_calloc(o->count, sizeof *o->levels);
    if (o->group == NULL || o->levels == NULL || (resampling != NULL && o->resampling == NULL)) {
        o->count = 0;
        return no_memory(err);
    }
    char **paths;
    size_t path_count;
    ZS_TRY(zs_overviews_find(o->h, o->base, o->axes, &paths, &path_count, err));
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < o->count && status == ZS_OK; i++) {
        o->levels[i].factor = factors[i];
        status = set_up_level(o, &o->levels[i], paths, path_count, options, err);
    }
    zs_paths_free(paths, path_count);
    return status;
}

enum zs_status zs_overviews_create(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                   const int *factors, size_t count, const char *resampling, int chunk_order,
                                   const struct zs_array_options *options, struct zs_overviews **overviews,
                                   struct zs_error *err)
{
    if (node->array == NULL || axes.y < 0 || axes.x < 0)
        return zs_fail(err, ZS_ARGUMENT, "%s/%s: expected an array of two dimensions and more, to have overviews", zs_hierarchy_store(h)->root,
                       node->path);
    if (node->path[0] == '\0')
        return zs_fail(err, ZS_ARGUMENT,
                       "%s: overviews of an array are kept in the group it is in, and this one is the root of its store, in none; "
                       "a copy of it (gdal_translate -of ShardedZarr) is in a group, and gets overviews",
                       zs_hierarchy_store(h)->root);
    for (size_t i = 0; i < count; i++) {
        bool is_double = false;
        for (size_t k = 0; k < i; k++)
            is_double = is_double || factors[k] == factors[i];
        if (factors[i] < 2 || is_double)
            return zs_fail(err, ZS_ARGUMENT, "overview factors: expected each once, and 2 or more; found %d", factors[i]);
    }
    struct zs_overviews *o = zs_calloc(1, sizeof *o);
    if (o == NULL)
        return no_memory(err);
    o->h = h;
    o->base = node;
    o->axes = axes;
    o->count = count;
    o->chunk_order = chunk_order;
    const enum zs_status status = set_up(o, factors, resampling, options, err);
    if (status != ZS_OK) {
        zs_overviews_free(o);
        return status;
    }
    *overviews = o;
    return ZS_OK;
}

struct zs_array *zs_overviews_array(const struct zs_overviews *o, size_t i)
{
    return o->levels[i].array;
}

const struct zs_node *zs_overviews_node(const struct zs_overviews *o, size_t i)
{
    return o->levels[i].node;
}

/* ---- Publishing ---- */

/* The group of a level, made when there is none. */
static enum zs_status add_group(struct zs_overviews *o, const struct zs_node *level, struct zs_error *err)
{
    char *path = zs_path_parent(level->path);
    const struct zs_node *group = NULL;
    if (path == NULL)
        return no_memory(err);
    enum zs_status status = zs_hierarchy_occupant(o->h, path, &group, err);
    if (status == ZS_OK && (group == NULL || group->is_implicit))
        status = zs_add_document(o->h, path, zs_group_document(), &group, err);
    free(path);
    return status;
}

/* A copy of a coordinate variable beside a level, unless something is there. */
static enum zs_status copy_coordinate(struct zs_overviews *o, const struct zs_node *level, const struct zs_node *from, const char *name,
                                      struct zs_error *err)
{
    struct zs_slot slot;
    void *values;
    bool is_blank;
    ZS_TRY(zs_slot_find(o->h, level, name, NULL, &slot, err));
    if (!slot.is_usable)
        return ZS_OK;
    enum zs_status status = zs_coordinate_elements(o->h, from, 0, from->array->shape[0], &values, &is_blank, err);
    if (status == ZS_OK && values != NULL) {
        const struct zs_node *copy = NULL;
        status = zs_add_document(o->h, slot.path, zs_json_copy(from->document), &copy, err);
        if (status == ZS_OK && !is_blank)
            status = zs_write_small_array(zs_hierarchy_store(o->h), copy, true, values, err);
        free(values);
    }
    free(slot.path);
    return status;
}

/* Copies of the coordinate variables of the other dimensions, so that a level is a data set of its own for xarray. */
static enum zs_status copy_coordinates(struct zs_overviews *o, const struct zs_node *level, struct zs_error *err)
{
    for (int d = 0; d < o->base->array->ndim; d++) {
        const struct zs_node *from = d != o->axes.x && d != o->axes.y ? zs_coordinate_find(o->h, o->base, d) : NULL;
        if (from != NULL)
            ZS_TRY(copy_coordinate(o, level, from, zs_dimension_name(o->base, d), err));
    }
    return ZS_OK;
}

static enum zs_status publish_level(struct zs_overviews *o, struct made_level *level, const struct zs_place_style *style,
                                    const struct zs_georef_out *geo, struct zs_error *err)
{
    ZS_TRY(add_group(o, level->node, err));
    struct zs_node *own = level->own;
    level->own = NULL; /* the hierarchy's now, whatever comes */
    ZS_TRY(zs_hierarchy_add(o->h, own, err));
    const struct zs_georef_out at =
        zs_georef_at_size(geo, own->array->shape[o->axes.x], own->array->shape[o->axes.y]);
    ZS_TRY(zs_place_write(o->h, own, o->axes, style, &at, err));
    return copy_coordinates(o, own, err);
}

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
static enum zs_status add_entry(struct entries *e, const char *asset, uint64_t width, uint64_t height, struct zs_error *err)
{
    size_t at = e->count;
    for (size_t i = 0; i < e->count; i++)
        if (strcmp(e->list[i].asset, asset) == 0)
            return ZS_OK;
    if (e->count == ZS_MAX_LAYOUT_LEVELS)
        return zs_fail(err, ZS_UNSUPPORTED, "expected at most %d levels in a pyramid", ZS_MAX_LAYOUT_LEVELS);
    char *copy = zs_strdup(asset);
    if (copy == NULL)
        return no_memory(err);
    while (at > 0 && (double)e->list[at - 1].width * (double)e->list[at - 1].height < (double)width * (double)height) {
        e->list[at] = e->list[at - 1];
        at--;
    }
    e->list[at] = (struct entry){copy, width, height};
    e->count++;
    return ZS_OK;
}

/* The group whose multiscales list the base, or shall: one that lists it, else its own. */
static const struct zs_node *pyramid_group(struct zs_hierarchy *h, const struct zs_node *base, struct zs_layout *layout)
{
    struct zs_scope scope;
    zs_scope_find(h, base, &scope);
    for (int g = 0; g < scope.groups; g++) {
        const char *below = zs_path_below(scope.group[g]->path, base->path);
        if (below != NULL && zs_layout_first(scope.group[g]->attributes, layout) && !layout->is_ome &&
            zs_layout_find(layout, below) >= 0)
            return scope.group[g];
    }
    memset(layout, 0, sizeof *layout);
    if (scope.groups == 0)
        return NULL;
    /* One that lists another array of the group is this one's, too. */
    if (zs_layout_first(scope.group[0]->attributes, layout) && layout->is_ome)
        memset(layout, 0, sizeof *layout);
    return scope.group[0];
}

/* Whether there are other pictures than the base directly in its group. */
static bool has_other_rasters(struct zs_hierarchy *h, const struct zs_node *base, const char *group)
{
    const struct zs_node **nodes;
    size_t count;
    bool any = false;
    if (zs_hierarchy_list(h, &nodes, &count, NULL) != ZS_OK)
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *below = zs_path_below(group, nodes[i]->path);
        any = any || (nodes[i] != base && below != NULL && below[0] != '\0' && strchr(below, '/') == NULL &&
                      nodes[i]->array != NULL && nodes[i]->array->ndim >= 2);
    }
    free(nodes);
    return any;
}

/* Size of a level that was listed before: of its array, as its entry says, or by the factor in its name. */
static bool listed_size(struct zs_hierarchy *h, const struct zs_node *group, const struct zs_layout_level *level,
                        const struct zs_node *base, struct zs_axes axes, uint64_t *width, uint64_t *height)
{
    const struct zs_node *node = NULL;
    double shape[2];
    int factor;
    if (zs_hierarchy_node_at(h, group->path, level->asset, &node, NULL) == ZS_OK && node->type == ZS_NODE_GROUP &&
        zs_hierarchy_node_at(h, node->path, zs_path_name(base->path), &node, NULL) != ZS_OK)
        node = NULL;
    if (node != NULL && node->array != NULL && node->array->ndim == base->array->ndim) {
        *width = node->array->shape[axes.x];
        *height = node->array->shape[axes.y];
        return true;
    }
    if (zs_json_doubles(zs_json_get(level->entry, "spatial:shape"), shape, 2) && shape[0] >= 1 && shape[1] >= 1 &&
        shape[0] < 9007199254740992.0 && shape[1] < 9007199254740992.0) {
        *height = (uint64_t)shape[0];
        *width = (uint64_t)shape[1];
        return true;
    }
    if (!zs_is_overview_group(zs_path_name(level->asset), &factor))
        return false;
    *width = zs_ceil_div_u64(base->array->shape[axes.x], (uint64_t)factor);
    *height = zs_ceil_div_u64(base->array->shape[axes.y], (uint64_t)factor);
    return true;
}

/* Asset of the array at `path`: its group where the level is one of groups with arrays of the base's name. */
static char *asset_of(const struct zs_node *group, const struct zs_node *base, const char *path)
{
    const char *below = zs_path_below(group->path, path);
    char *asset = below != NULL ? zs_strdup(below) : NULL;
    char *slash = asset != NULL ? strrchr(asset, '/') : NULL;
    if (slash != NULL && strcmp(slash + 1, zs_path_name(base->path)) == 0)
        *slash = '\0';
    return asset;
}

static enum zs_status add_path(struct entries *e, const struct zs_node *group, const struct zs_node *base, struct zs_axes axes,
                               const struct zs_node *level, struct zs_error *err)
{
    char *asset = asset_of(group, base, level->path);
    if (asset == NULL)
        return no_memory(err);
    const enum zs_status status = add_entry(e, asset, level->array->shape[axes.x], level->array->shape[axes.y], err);
    free(asset);
    return status;
}

/* What the list is to hold: the base, what it held before, and the overviews there are now. Levels whose asset is no longer
 * there are left out with `only_present`. */
static enum zs_status collect_entries(struct zs_hierarchy *h, const struct zs_node *base, struct zs_axes axes,
                                      const struct zs_node *group, const struct zs_layout *layout, bool only_present,
                                      struct entries *e, struct zs_error *err)
{
    const uint64_t width = base->array->shape[axes.x], height = base->array->shape[axes.y];
    const char *below = zs_path_below(group->path, base->path);
    const bool is_direct = strchr(below, '/') == NULL;
    if (is_direct) /* with several arrays in the group the base is the group itself */
        ZS_TRY(add_entry(e, has_other_rasters(h, base, group->path) ? "." : below, width, height, err));
    for (int i = 0; i < layout->count; i++) {
        const struct zs_layout_level *l = &layout->level[i];
        const struct zs_node *node;
        uint64_t w, v;
        if (is_direct && (l->asset[0] == '\0' || (strchr(l->asset, '/') == NULL &&
                                                  zs_hierarchy_node_at(h, group->path, l->asset, &node, NULL) == ZS_OK &&
                                                  node->type == ZS_NODE_ARRAY && node->array != NULL &&
                                                  node->array->shape[axes.x] == width && node->array->shape[axes.y] == height)))
            continue; /* the base, as it was called when it was alone */
        if (only_present && zs_hierarchy_node_at(h, group->path, l->asset, &node, NULL) == ZS_NOT_FOUND)
            continue;
        if (listed_size(h, group, l, base, axes, &w, &v))
            ZS_TRY(add_entry(e, l->asset, w, v, err));
    }
    if (!is_direct)
        ZS_TRY(add_path(e, group, base, axes, base, err));
    return ZS_OK;
}

/* Writes the list to the group, leaving members of multiscales that are not ours. */
static enum zs_status write_entries(struct zs_hierarchy *h, const struct zs_node *group, const struct zs_georef_out *geo,
                                    const struct entries *e, const char *resampling, struct zs_error *err)
{
    const char *assets[ZS_MAX_LAYOUT_LEVELS];
    uint64_t widths[ZS_MAX_LAYOUT_LEVELS], heights[ZS_MAX_LAYOUT_LEVELS];
    zs_json *attributes;
    for (size_t i = 0; i < e->count; i++) {
        assets[i] = e->list[i].asset[0] != '\0' ? e->list[i].asset : ".";
        widths[i] = e->list[i].width;
        heights[i] = e->list[i].height;
    }
    ZS_TRY(zs_hierarchy_edit(h, group, &attributes, err));
    const zs_json *old = zs_json_get(attributes, "multiscales");
    zs_json *kept = zs_json_is_object(old) ? zs_json_copy(old) : NULL;
    const struct zs_georef_out at = e->count > 0 && geo->has_transform ? zs_georef_at_size(geo, widths[0], heights[0]) : *geo;
    enum zs_status status = zs_write_multiscales(attributes, &at, e->count > 1 ? e->count : 0, assets, widths, heights, resampling, err);
    zs_json *now = zs_json_get_mutable(attributes, "multiscales");
    for (const zs_json *m = zs_json_first(kept); m != NULL && status == ZS_OK && now != NULL; m = zs_json_next(m)) {
        const bool is_ours = strcmp(zs_json_name(m), "layout") == 0 || strcmp(zs_json_name(m), "resampling_method") == 0;
        if (!is_ours && zs_json_add(now, zs_json_name(m), zs_json_copy(m)) == NULL)
            status = no_memory(err);
    }
    zs_json_free(kept);
    return status;
}

/* Brings the multiscales of the pyramid's group up to date: with the levels made, or (made NULL) without those removed. */
static enum zs_status write_pyramid(struct zs_hierarchy *h, const struct zs_node *base, struct zs_axes axes,
                                    const struct zs_georef_out *geo, const struct zs_overviews *made, const char *resampling,
                                    struct zs_error *err)
{
    struct zs_layout layout;
    struct entries e = {.count = 0};
    char **paths = NULL;
    size_t count = 0;
    const struct zs_node *group = pyramid_group(h, base, &layout);
    if (group == NULL || (made == NULL && layout.count == 0))
        return ZS_OK;
    enum zs_status status = collect_entries(h, base, axes, group, &layout, made == NULL, &e, err);
    if (status == ZS_OK)
        status = zs_overviews_find(h, base, axes, &paths, &count, err);
    for (size_t i = 0; i < count && status == ZS_OK; i++) {
        const struct zs_node *level;
        if (zs_hierarchy_node(h, paths[i], &level, NULL) == ZS_OK && zs_path_below(group->path, paths[i]) != NULL)
            status = add_path(&e, group, base, axes, level, err);
    }
    for (size_t i = 0; made != NULL && i < made->count && status == ZS_OK; i++)
        if (zs_path_below(group->path, made->levels[i].node->path) != NULL)
            status = add_path(&e, group, base, axes, made->levels[i].node, err);
    if (status == ZS_OK) {
        struct zs_georef_out place = *geo;
        place.ndim = base->array->ndim;
        place.x = axes.x;
        place.y = axes.y;
        status = write_entries(h, group, &place, &e, resampling, err);
    }
    zs_paths_free(paths, count);
    entries_clear(&e);
    return status;
}

enum zs_status zs_overviews_publish(struct zs_overviews *o, struct zs_error *err)
{
    for (size_t i = 0; i < o->count; i++)
        ZS_TRY(zs_array_flush(o->levels[i].array, err));
    struct zs_georef georef;
    ZS_TRY(zs_georef_read(o->h, o->base, o->axes, &georef, err));
    struct zs_place_style style;
    zs_place_style_find(o->h, o->base, o->axes, &style);
    struct zs_georef_out geo = zs_place_out(o->base, o->axes, &georef);
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < o->count && status == ZS_OK; i++)
        if (o->levels[i].own != NULL)
            status = publish_level(o, &o->levels[i], &style, &geo, err);
    geo.has_transform = geo.has_transform && style.spatial_proj;
    if (status == ZS_OK)
        status = write_pyramid(o->h, o->base, o->axes, &geo, o, o->resampling, err);
    zs_georef_clear(&georef);
    if (status == ZS_OK)
        status = zs_hierarchy_flush(o->h, err);
    for (size_t i = 0; i < o->count && status == ZS_OK; i++)
        o->levels[i].is_new = false; /* published: nothing to take back */
    return status;
}

void zs_overviews_free(struct zs_overviews *o)
{
    if (o == NULL)
        return;
    for (size_t i = 0; i < o->count; i++) {
        struct made_level *level = &o->levels[i];
        zs_array_close(level->array);
        if (level->is_new && level->own != NULL) {
            /* What cannot be removed is chunks without a document, which nobody reads. */
            const enum zs_status ignored = zs_store_remove_tree(zs_hierarchy_store(o->h), level->own->path, NULL);
            (void)ignored;
        }
        zs_node_free(level->own);
    }
    free(o->levels);
    free(o->group);
    free(o->resampling);
    free(o);
}

/* ---- Removing ---- */

/* Whether the level is one of ours: <group of the base>/ovr_<N>x/<name of the base>. */
static bool is_ours(const struct zs_node *base, const char *path)
{
    char *group = zs_path_parent(path), *above = group != NULL ? zs_path_parent(group) : NULL;
    char *own = zs_path_parent(base->path);
    int factor;
    const bool result = above != NULL && own != NULL && strcmp(above, own) == 0 &&
                        zs_is_overview_group(zs_path_name(group), &factor) &&
                        strcmp(zs_path_name(path), zs_path_name(base->path)) == 0;
    free(group);
    free(above);
    free(own);
    return result;
}

static enum zs_status remove_level(struct zs_hierarchy *h, const char *path, struct zs_error *err)
{
    const struct zs_node *level;
    char *group = zs_path_parent(path);
    if (group == NULL)
        return no_memory(err);
    enum zs_status status = zs_hierarchy_node(h, path, &level, err);
    if (status == ZS_OK)
        status = zs_hierarchy_remove(h, has_other_rasters(h, level, group) ? path : group, err);
    free(group);
    return status;
}

enum zs_status zs_overviews_remove(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes, size_t *removed,
                                   struct zs_error *err)
{
    char **paths;
    size_t count, n = 0;
    if (removed != NULL)
        *removed = 0;
    if (node->array == NULL || axes.y < 0)
        return ZS_OK;
    struct zs_georef georef;
    ZS_TRY(zs_georef_read(h, node, axes, &georef, err));
    struct zs_place_style style;
    zs_place_style_find(h, node, axes, &style);
    enum zs_status status = zs_overviews_find(h, node, axes, &paths, &count, err);
    for (size_t i = 0; i < count && status == ZS_OK; i++)
        if (is_ours(node, paths[i])) {
            status = remove_level(h, paths[i], err);
            n++;
        }
    struct zs_georef_out geo = zs_place_out(node, axes, &georef);
    geo.has_transform = geo.has_transform && style.spatial_proj;
    if (status == ZS_OK && n > 0)
        status = write_pyramid(h, node, axes, &geo, NULL, NULL, err);
    zs_paths_free(paths, count);
    zs_georef_clear(&georef);
    if (status == ZS_OK && n > 0)
        status = zs_hierarchy_flush(h, err);
    if (removed != NULL && status == ZS_OK)
        *removed = n;
    return status;
}
