#include "raster/listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/cf.h"
#include "geo/healpix.h"
#include "raster/masks.h"
#include "raster/overviews.h"

/* ---- What there is ---- */

/* Asks for the arrays that a group's own attributes name. */
static void ask_for_bases(struct zs_hierarchy *hierarchy, const struct zs_node *group)
{
    struct zs_layout layout;
    const struct zs_node *ignored;
    bool is_there = zs_layout_first(group->attributes, &layout);
    for (int i = 0; is_there && i < ZS_MAX_LAYOUT_LEVELS; i++, is_there = zs_layout_next(&layout))
        (void)!zs_hierarchy_node_at(hierarchy, group->path, layout.level[0].asset, &ignored, NULL);
}

static enum zs_status list_nodes(struct zs_hierarchy *hierarchy, const struct zs_node *group,
                                 const struct zs_node ***nodes, size_t *count, struct zs_error *err)
{
    if (!zs_hierarchy_store(hierarchy)->is_remote || zs_hierarchy_is_consolidated(hierarchy))
        return zs_hierarchy_list(hierarchy, nodes, count, err);
    ask_for_bases(hierarchy, group);
    return zs_hierarchy_list_known(hierarchy, nodes, count, err);
}

/* ---- Arrays that serve others ---- */

/* Marks the arrays beside nodes[index] that an attribute of it names. */
static enum zs_status mark_named(const struct zs_node *const *nodes, size_t count, size_t index, const char *attribute,
                                 bool *marks, struct zs_error *err)
{
    const char *list;
    char word[256];
    if (!zs_json_string(zs_json_get(nodes[index]->attributes, attribute), &list))
        return ZS_OK;
    char *group = zs_path_parent(nodes[index]->path);
    if (group == NULL)
        return nodes[index]->path[0] == '\0' ? ZS_OK : zs_fail_memory(err);
    enum zs_status status = ZS_OK;
    while (status == ZS_OK && (list = zs_next_word(list, word, sizeof word)) != NULL) {
        const size_t n = strlen(word);
        if (word[n - 1] == ':')
            word[n - 1] = '\0';
        size_t found = count;
        if (strchr(word, '/') == NULL && word[0] != '\0')
            status = zs_nodes_find(nodes, count, group, word, &found, err);
        if (found < count && found != index)
            marks[found] = true;
    }
    free(group);
    return status;
}

enum zs_status zs_auxiliary_mark(const struct zs_node *const *nodes, size_t count, bool *marks, struct zs_error *err)
{
    for (size_t i = 0; i < count; i++)
        for (const char *const *name = zs_cf_references; *name != NULL && nodes[i]->type == ZS_NODE_ARRAY; name++)
            ZS_TRY(mark_named(nodes, count, i, *name, marks, err));
    return ZS_OK;
}

/* ---- The choice ---- */

enum kind { KIND_OTHER, KIND_RASTER, KIND_PROFILE, KIND_UNREADABLE, KIND_TEXT, KINDS };

static enum kind kind_of(struct zs_hierarchy *hierarchy, const struct zs_node *node, const struct zs_node *group,
                         bool is_marked)
{
    struct zs_healpix healpix;
    if (node->type != ZS_NODE_ARRAY || zs_path_below(group->path, node->path) == NULL)
        return KIND_OTHER;
    if (node->array == NULL)
        return node->is_text ? KIND_TEXT : KIND_UNREADABLE;
    if (node->array->ndim >= 2)
        return is_marked ? KIND_OTHER : KIND_RASTER;
    /* The coordinate of a dimension is named as it. */
    const char *dimension = zs_dimension_name(node, 0);
    const bool is_coordinate = dimension != NULL && zs_equals_ignoring_case(dimension, zs_path_name(node->path));
    if (node->array->ndim != 1 || is_coordinate)
        return KIND_OTHER;
    if (zs_healpix_find(hierarchy, node, &healpix)) /* a map all the same */
        return is_marked ? KIND_OTHER : KIND_RASTER;
    return KIND_PROFILE;
}

/* Whether an array that cannot be read would be shown, by the dimensions in its document. */
static bool is_missed(const struct zs_node *node, bool is_marked)
{
    const zs_json *shape = zs_json_get(node->document, "shape");
    const zs_json *names = zs_json_get(node->document, "dimension_names");
    const char *dimension = NULL;
    if (is_marked || !zs_json_is_array(shape) || zs_json_size(shape) == 0)
        return false;
    (void)(zs_json_size(shape) == 1 && zs_json_is_array(names) && zs_json_string(zs_json_at(names, 0), &dimension));
    return dimension == NULL || !zs_equals_ignoring_case(dimension, zs_path_name(node->path));
}

/* Puts the nodes that are shown into `chosen`, which has room for `count`, and returns their number; behind them,
 * *missed nodes that would be shown if they could be read. *unreadable is the first node that cannot be read, or NULL.
 * Marked nodes are left out. */
static size_t choose(const struct zs_node *const *nodes, size_t count, const enum kind *kinds, const bool *marks,
                     const struct zs_node **chosen, size_t *missed, const struct zs_node **unreadable)
{
    const struct zs_node *first[KINDS] = {NULL};
    for (size_t i = count; i-- > 0;)
        first[kinds[i]] = nodes[i];
    *unreadable = first[KIND_UNREADABLE] != NULL ? first[KIND_UNREADABLE] : first[KIND_TEXT];
    const enum kind shown = first[KIND_RASTER] != NULL ? KIND_RASTER : KIND_PROFILE;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kinds[i] == shown)
            chosen[kept++] = nodes[i];
    *missed = 0;
    for (size_t i = 0; i < count; i++)
        if (kinds[i] == KIND_UNREADABLE && is_missed(nodes[i], marks[i]))
            chosen[kept + (*missed)++] = nodes[i];
    return kept;
}

static enum zs_status explain(const struct zs_hierarchy *hierarchy, const struct zs_node *unreadable,
                              struct zs_error *err)
{
    const struct zs_store *store = zs_hierarchy_store(hierarchy);
    if (unreadable != NULL)
        return zs_fail(err, ZS_UNSUPPORTED, "%s/%s", store->root, unreadable->array_error->message);
    if (store->is_remote && !zs_hierarchy_is_consolidated(hierarchy))
        return zs_fail(err, ZS_NOT_FOUND,
                       "%s: a remote store without consolidated metadata is not searched for arrays; name one: "
                       "SHARDEDZARR:\"...\":/array",
                       store->root);
    return zs_fail(err, ZS_NOT_FOUND, "%s: there is no array in it that can be a raster", store->root);
}

enum zs_status zs_rasters_find(struct zs_hierarchy *hierarchy, const struct zs_node *group,
                               const struct zs_node ***rasters, size_t *count, size_t *unreadable, struct zs_error *err)
{
    const struct zs_node **nodes = NULL, *first_unreadable = NULL;
    size_t n = 0, missed = 0;
    const size_t failures = zs_hierarchy_failures(hierarchy);
    ZS_TRY(list_nodes(hierarchy, group, &nodes, &n, err));
    bool *marks = zs_calloc(n, sizeof *marks);
    enum kind *kinds = zs_calloc(n, sizeof *kinds);
    const struct zs_node **chosen = zs_calloc(n, sizeof *chosen);
    enum zs_status status = marks != NULL && chosen != NULL && kinds != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_overviews_mark(hierarchy, nodes, n, marks, err);
    if (status == ZS_OK)
        status = zs_auxiliary_mark(nodes, n, marks, err);
    if (status == ZS_OK)
        status = zs_masks_mark(hierarchy, nodes, n, marks, err);
    for (size_t i = 0; i < n && status == ZS_OK; i++)
        kinds[i] = kind_of(hierarchy, nodes[i], group, marks[i]);
    if (status == ZS_OK)
        status = zs_hierarchy_check_since(hierarchy, failures, err);
    const size_t kept =
        status == ZS_OK ? choose(nodes, n, kinds, marks, chosen, &missed, &first_unreadable) : 0;
    if (status == ZS_OK && kept == 0)
        status = explain(hierarchy, first_unreadable, err);
    free(marks);
    free(kinds);
    free(nodes);
    if (status != ZS_OK) {
        free(chosen);
        return status;
    }
    *rasters = chosen;
    *count = kept;
    if (unreadable != NULL)
        *unreadable = missed;
    return ZS_OK;
}
