/* Making overviews of an array that is there. Levels are filled by the caller, and published together: until then
 * nothing lists them, and a mark (store/mark.h) keeps others from making the same ones. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "codec/chain.h"
#include "geo/bands.h"
#include "geo/conventions.h"
#include "geo/coordinates.h"
#include "geo/write.h"
#include "geo/variables.h"
#include "raster/overviews_private.h"
#include "store/mark.h"
#include "zarr/contents.h"

/* Groups ovr_<N>x, ovr_<N>x_2 ... of one factor: more than two are there only when writers were killed again and
 * again. */
#define MAX_GROUPS_OF_FACTOR 9

struct made_level {
    int factor;
    bool is_new;
    bool has_group; /* the group that it is to be in is there */
    bool is_left;   /* a killed writer left a document of it that nothing lists */
    const struct zs_node *node; /* the hierarchy's, or until it is published: */
    struct zs_node *own;        /* ... this one, owned */
    struct zs_array *array;
    char *mark; /* what keeps others from making it, too; NULL: none */
    char *older[MAX_GROUPS_OF_FACTOR]; /* levels of this factor and of other sizes, which go when this one is there */
    int older_count;
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
    struct zs_names before; /* levels that were there: those of another shape than the base's go */
};

static uint64_t level_size(const struct zs_overviews *made, int dim, int factor)
{
    return zs_ceil_div_u64(made->base->array->shape[dim], (uint64_t)factor);
}

/* ---- Documents ---- */

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

/* Chunks that a shard is made of (of nested shards the outermost), in the order of the array's dimensions. False when
 * the array is not sharded. */
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

/* Cuts a shard that is larger than a small overview to the whole chunks that are needed. */
static uint64_t fitting_shard(uint64_t shard, uint64_t chunk, uint64_t size)
{
    const uint64_t needed = zs_ceil_div_u64(size, chunk) * chunk;
    return shard < needed ? shard : needed;
}

/* The document of a level: the base's, smaller. NULL without memory. */
static zs_json *level_document(const struct zs_overviews *made, int factor)
{
    const struct zs_array_meta *meta = made->base->array;
    uint64_t shape[ZS_MAX_NDIM], shard[ZS_MAX_NDIM], chunk[ZS_MAX_NDIM];
    const bool is_cut = inner_chunks(meta, chunk);
    for (int d = 0; d < meta->ndim; d++) {
        const bool is_xy = d == made->axes.x || d == made->axes.y;
        shape[d] = is_xy ? level_size(made, d, factor) : meta->shape[d];
        shard[d] = is_cut && is_xy ? fitting_shard(meta->chunk_shape[d], chunk[d], shape[d]) : meta->chunk_shape[d];
    }
    zs_json *document = zs_json_copy(made->base->document);
    zs_json *attributes = document != NULL ? zs_document_attributes(document) : NULL;
    if (attributes == NULL || zs_json_set(document, "shape", zs_shape_list(shape, meta->ndim)) == NULL ||
        zs_json_set(document, "chunk_grid", zs_chunk_grid_document(shard, meta->ndim)) == NULL ||
        !set_names(made, document, "dimension_names", factor) ||
        !set_names(made, attributes, ZS_ARRAY_DIMENSIONS, factor)) {
        zs_json_free(document);
        return NULL;
    }
    zs_georef_remove(attributes); /* a level's is its own (geo/write.h) */
    zs_json_remove(attributes, ZS_GCPS_ATTRIBUTE); /* of the base's pixels */
    zs_remove_statistics(attributes); /* of other pixels */
    return document;
}

/* ---- Setting up ---- */

/* An overview of exactly this size, or NULL. */
static const struct zs_node *existing_level(const struct zs_overviews *made, int factor, const struct zs_names *there)
{
    for (size_t i = 0; i < there->count; i++) {
        const struct zs_node *node;
        if (zs_hierarchy_node(made->hierarchy, there->list[i], &node, NULL) == ZS_OK &&
            node->array->shape[made->axes.x] == level_size(made, made->axes.x, factor) &&
            node->array->shape[made->axes.y] == level_size(made, made->axes.y, factor))
            return node;
    }
    return NULL;
}

/* Whether a level may be made in `group`, as the array `path`. An error when something else than a level of the base is
 * there. A level that the metadata list is an older one, which stays until the new one is there; a level that they do
 * not list was left by a killed writer. */
static enum zs_status try_path(struct zs_overviews *made, struct made_level *level, const char *group,
                               const char *path, bool *is_free, struct zs_error *err)
{
    const struct zs_node *above, *node;
    const char *root = zs_hierarchy_store(made->hierarchy)->root;
    const bool is_listed = zs_hierarchy_node(made->hierarchy, path, &node, NULL) == ZS_OK;
    ZS_TRY(zs_hierarchy_occupant(made->hierarchy, group, &above, err));
    level->has_group = above != NULL;
    if (above != NULL && above->type == ZS_NODE_ARRAY)
        return zs_fail(err, ZS_ARGUMENT, "%s/%s: expected a group of overviews, or nothing, found an array", root,
                       group);
    ZS_TRY(zs_hierarchy_occupant(made->hierarchy, path, &node, err));
    if (node != NULL && !zs_overviews_is_level(made->base, node))
        return zs_fail(err, ZS_ARGUMENT, "%s/%s: expected an overview of %s, or nothing, found %s", root, path,
                       made->base->path, node->type == ZS_NODE_ARRAY ? "another array" : "a group");
    *is_free = node == NULL || !is_listed;
    level->is_left = node != NULL && !is_listed;
    if (*is_free)
        return ZS_OK;
    level->older[level->older_count] = zs_strdup(path);
    return level->older[level->older_count++] != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Path for a level that is not there yet, freed with free(). */
static enum zs_status find_path(struct zs_overviews *made, struct made_level *level, char **found, struct zs_error *err)
{
    const char *slash = made->group[0] != '\0' ? "/" : "";
    for (int k = 1; k <= MAX_GROUPS_OF_FACTOR; k++) {
        char *group = k == 1 ? zs_format("%s%sovr_%dx", made->group, slash, level->factor)
                             : zs_format("%s%sovr_%dx_%d", made->group, slash, level->factor, k);
        char *path = group != NULL ? zs_path_join(group, zs_path_name(made->base->path)) : NULL;
        bool is_free = false;
        const enum zs_status status =
            path != NULL ? try_path(made, level, group, path, &is_free, err) : zs_fail_memory(err);
        free(group);
        if (status == ZS_OK && is_free) {
            *found = path;
            return ZS_OK;
        }
        free(path);
        ZS_TRY(status);
    }
    return zs_fail(err, ZS_ARGUMENT, "%s: expected fewer older overviews of factor %d; remove them (gdaladdo -clean)",
                   made->base->path, level->factor);
}

/* Whether nothing is where the group of a level is to be, in a remote store: then the hierarchy looks for nothing
 * there. A writer that failed may have left documents and chunks, without the group's document. */
static enum zs_status look_into_group(struct zs_overviews *made, const char *path, bool *is_empty, struct zs_error *err)
{
    char **names, *group = zs_path_parent(path);
    ZS_TRY_MEMORY(group, err);
    const enum zs_status listed = zs_store_list(zs_hierarchy_store(made->hierarchy), group, &names, err);
    *is_empty = listed == ZS_NOT_FOUND || (listed == ZS_OK && names[0] == NULL);
    if (listed == ZS_OK)
        zs_names_free(names);
    enum zs_status status = listed == ZS_NOT_FOUND || listed == ZS_UNSUPPORTED ? ZS_OK : listed;
    if (status == ZS_OK && *is_empty)
        status = zs_hierarchy_note_empty(made->hierarchy, group, err);
    free(group);
    return status;
}

/* Puts a mark where a level is to be: another one that makes it would write over its chunks, and remove them where it
 * fails. Removes what a killed process left of a level: chunks would show through where only fill values are. */
static enum zs_status claim_path(struct zs_overviews *made, struct made_level *level, struct zs_error *err)
{
    struct zs_store *store = zs_hierarchy_store(made->hierarchy);
    bool is_empty = false;
    if (zs_hierarchy_is_new(made->hierarchy))
        return ZS_OK;
    if (store->is_remote && !level->has_group)
        ZS_TRY(look_into_group(made, level->own->path, &is_empty, err));
    char *mark = zs_path_join(level->own->path, ZS_MARK_NAME);
    const enum zs_status status = mark != NULL ? zs_mark_put(store, mark, false, err) : zs_fail_memory(err);
    if (status != ZS_OK) {
        free(mark);
        return status;
    }
    level->mark = mark;
    if (level->is_left)
        ZS_TRY(zs_store_remove(store, level->own->key, err));
    return is_empty ? ZS_OK : zs_contents_remove_left(store, level->own, err);
}

/* Removes the marks of all levels: they are published, or never will be. */
static enum zs_status remove_marks(struct zs_overviews *made, struct zs_error *err)
{
    enum zs_status first = ZS_OK;
    for (size_t i = 0; i < made->count; i++) {
        struct made_level *level = &made->levels[i];
        struct zs_error ignored;
        if (level->mark == NULL)
            continue;
        const enum zs_status status =
            zs_mark_remove(zs_hierarchy_store(made->hierarchy), level->mark, first == ZS_OK ? err : &ignored);
        first = first == ZS_OK ? status : first;
        free(level->mark);
        level->mark = NULL;
    }
    return first;
}

static enum zs_status set_up_level(struct zs_overviews *made, struct made_level *level, const struct zs_names *there,
                                   const struct zs_array_options *options, struct zs_error *err)
{
    level->node = existing_level(made, level->factor, there);
    if (level->node != NULL)
        return zs_array_open_node(made->hierarchy, level->node, options, &level->array, err);
    struct zs_store *store = zs_hierarchy_store(made->hierarchy);
    char *path = NULL;
    ZS_TRY(find_path(made, level, &path, err));
    zs_json *document = level_document(made, level->factor);
    enum zs_status status =
        document != NULL ? zs_node_create(path, document, true, &level->own, err) : zs_fail_memory(err);
    level->node = level->own;
    if (status == ZS_OK)
        status = claim_path(made, level, err);
    if (status == ZS_OK) {
        level->is_new = true;
        status = zs_array_open_in(store, level->node, options, &level->array, err);
    }
    if (status == ZS_OK)
        zs_array_set_new(level->array, made->chunk_order);
    free(path);
    return status;
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
    struct zs_names there;
    ZS_TRY(zs_overviews_own(made->hierarchy, made->base, made->axes, &made->before, err));
    ZS_TRY(zs_overviews_find(made->hierarchy, made->base, made->axes, &there, err));
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < made->count && status == ZS_OK; i++) {
        made->levels[i].factor = factors[i];
        status = set_up_level(made, &made->levels[i], &there, options, err);
    }
    zs_names_free(there.list);
    return status;
}

/* Checks that the base is still the array that was opened: before the marks were put another writer may have replaced
 * the store, which no mark keeps him from until then. */
static enum zs_status check_base(const struct zs_overviews *made, struct zs_error *err)
{
    uint64_t version = 0;
    return zs_hierarchy_is_new(made->hierarchy) ? ZS_OK
                                                : zs_hierarchy_check_array(made->hierarchy, made->base, &version, err);
}

static enum zs_status check_factors(const int *factors, size_t count, struct zs_error *err)
{
    for (size_t i = 0; i < count; i++) {
        bool is_double = false;
        for (size_t k = 0; k < i; k++)
            is_double = is_double || factors[k] == factors[i];
        if (factors[i] < 2 || is_double)
            return zs_fail(err, ZS_ARGUMENT, "overview factors: expected each once, and 2 or more; found %d",
                           factors[i]);
    }
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
    ZS_TRY(check_factors(factors, count, err));
    struct zs_overviews *made = zs_calloc(1, sizeof *made);
    ZS_TRY_MEMORY(made, err);
    made->hierarchy = hierarchy;
    made->base = node;
    made->axes = axes;
    made->count = count;
    made->chunk_order = chunk_order;
    enum zs_status status = set_up(made, factors, resampling, options, err);
    if (status == ZS_OK)
        status = check_base(made, err);
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

static bool is_named(const struct zs_node *found, const char *name)
{
    const char *dimension = zs_dimension_name(found, 0);
    return found->array != NULL && found->array->ndim == 1 && dimension != NULL && strcmp(dimension, name) == 0;
}

/* A copy of a coordinate variable beside a level, unless something is there. */
static enum zs_status copy_coordinate(struct zs_overviews *made, const struct zs_node *level,
                                      const struct zs_node *from, const char *name, struct zs_error *err)
{
    struct zs_slot slot;
    void *values;
    bool is_blank;
    ZS_TRY(zs_slot_find(made->hierarchy, level, name, is_named, &slot, err));
    if (!slot.is_usable)
        return ZS_OK;
    /* of a level before this one, which consolidated metadata may not list: from now on they do */
    if (slot.own != NULL) {
        zs_json *ignored;
        free(slot.path);
        return slot.own->array->shape[0] == from->array->shape[0]
                   ? zs_hierarchy_edit(made->hierarchy, slot.own, &ignored, err)
                   : ZS_OK;
    }
    enum zs_status status =
        zs_coordinate_elements(made->hierarchy, from, 0, from->array->shape[0], &values, &is_blank, err);
    if (status == ZS_OK && values != NULL) {
        const struct zs_node *copy = NULL;
        status = zs_add_document(made->hierarchy, slot.path, zs_json_copy(from->document), &copy, err);
        if (status == ZS_OK && !is_blank)
            status = zs_write_small_array(zs_hierarchy_store(made->hierarchy), copy, true, values, err);
        free(values);
    }
    free(slot.path);
    return status;
}

/* Copies the coordinate variables of the other dimensions, so that xarray can open a level as a data set of its own. */
static enum zs_status copy_coordinates(struct zs_overviews *made, const struct zs_node *level, struct zs_error *err)
{
    for (int d = 0; d < made->base->array->ndim; d++) {
        const bool is_xy = d == made->axes.x || d == made->axes.y;
        const struct zs_node *from = is_xy ? NULL : zs_coordinate_find(made->hierarchy, made->base, d);
        if (from != NULL)
            ZS_TRY(copy_coordinate(made, level, from, zs_dimension_name(made->base, d), err));
    }
    return ZS_OK;
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
    struct zs_georef_conventions brief = *style;
    brief.is_brief = style->spatial_proj && style->cf;
    ZS_TRY(zs_georef_write(made->hierarchy, own, made->axes, &brief, &at, NULL, err));
    return copy_coordinates(made, own, err);
}

/* Removes levels of a shape that the base had; those that are as it is now stay. */
static enum zs_status remove_outdated(struct zs_overviews *made, bool *any, struct zs_error *err)
{
    struct zs_names current;
    ZS_TRY(zs_overviews_find(made->hierarchy, made->base, made->axes, &current, err));
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < made->before.count && status == ZS_OK; i++) {
        const struct zs_node *node;
        const char *path = made->before.list[i];
        if (zs_is_one_of(path, (const char *const *)current.list) ||
            zs_hierarchy_node(made->hierarchy, path, &node, NULL) != ZS_OK)
            continue; /* or it was removed for the level of its factor */
        *any = true;
        status = zs_overviews_remove_level(made->hierarchy, path, err);
    }
    zs_names_free(current.list);
    return status;
}

static enum zs_status list_levels(struct zs_overviews *made, const struct zs_georef_out *geo, bool only_present,
                                  struct zs_error *err)
{
    const struct zs_node **nodes = zs_calloc(made->count, sizeof *nodes);
    ZS_TRY_MEMORY(nodes, err);
    for (size_t i = 0; i < made->count; i++)
        nodes[i] = made->levels[i].node;
    const enum zs_status status = zs_overviews_list(made->hierarchy, made->base, made->axes, geo, nodes, made->count,
                                                    only_present, made->resampling, err);
    free(nodes);
    return status;
}

enum zs_status zs_overviews_publish(struct zs_overviews *made, struct zs_error *err)
{
    for (size_t i = 0; i < made->count; i++)
        ZS_TRY(zs_array_flush(made->levels[i].array, err));
    ZS_TRY(zs_store_wait_commits(zs_hierarchy_store(made->hierarchy), err)); /* while a level can be taken back */
    struct zs_georef georef;
    ZS_TRY(zs_georef_read(made->hierarchy, made->base, made->axes, &georef, err));
    struct zs_georef_conventions style;
    zs_georef_conventions_find(made->hierarchy, made->base, made->axes, &style);
    struct zs_georef_out geo = zs_georef_out_make(made->base, made->axes, &georef);
    enum zs_status status = ZS_OK;
    bool has_older = false;
    for (size_t i = 0; i < made->count && status == ZS_OK; i++) {
        if (made->levels[i].own != NULL)
            status = publish_level(made, &made->levels[i], &style, &geo, err);
        for (int k = 0; k < made->levels[i].older_count && status == ZS_OK; k++)
            status = zs_overviews_remove_level(made->hierarchy, made->levels[i].older[k], err);
        has_older = has_older || made->levels[i].older_count > 0;
    }
    if (status == ZS_OK)
        status = remove_outdated(made, &has_older, err);
    geo.has_transform = geo.has_transform && style.spatial_proj;
    if (status == ZS_OK)
        status = list_levels(made, &geo, has_older, err);
    zs_georef_clear(&georef);
    if (status == ZS_OK)
        status = zs_hierarchy_flush(made->hierarchy, err);
    for (size_t i = 0; i < made->count && status == ZS_OK; i++)
        made->levels[i].is_new = false; /* published: nothing to take back */
    return status == ZS_OK ? remove_marks(made, err) : status;
}

/* Removes the directories of a level that was not made, if nothing else is in them. */
static void remove_directories(const struct zs_overviews *made, const char *path)
{
    char *group = zs_path_parent(path);
    zs_store_remove_directory(zs_hierarchy_store(made->hierarchy), path);
    if (group != NULL)
        zs_store_remove_directory(zs_hierarchy_store(made->hierarchy), group);
    free(group);
}

void zs_overviews_free(struct zs_overviews *made)
{
    if (made == NULL)
        return;
    for (size_t i = 0; i < made->count; i++) {
        struct made_level *level = &made->levels[i];
        zs_array_close(level->array);
        if (level->is_new && level->own != NULL) {
            /* Only chunks without a document can stay behind, and no reader finds these. */
            (void)zs_contents_remove_left(zs_hierarchy_store(made->hierarchy), level->own, NULL);
        }
    }
    const enum zs_status unmarked = remove_marks(made, NULL); /* else the next maker sees that this one has failed */
    (void)unmarked;
    for (size_t i = 0; i < made->count; i++) {
        struct made_level *level = &made->levels[i];
        if (level->is_new && level->own != NULL)
            remove_directories(made, level->own->path);
        zs_node_free(level->own);
        while (level->older_count > 0)
            free(level->older[--level->older_count]);
    }
    zs_names_free(made->before.list);
    free(made->levels);
    free(made->group);
    free(made->resampling);
    free(made);
}
