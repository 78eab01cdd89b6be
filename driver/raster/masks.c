#include "raster/masks.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/conventions.h"
#include "geo/scope.h"

/* Long lists of other arrays cost a request each. */
#define MAX_NAMED 16

/* ---- Shape ---- */

/* The raster's dimension that dimension `dim` of the other array is; -1: none. Without names they are its last ones. */
static int dimension_of(const struct zs_node *node, const struct zs_node *other, int dim)
{
    const char *name = zs_dimension_name(other, dim);
    for (int e = 0; e < node->array->ndim; e++) {
        const char *own = zs_dimension_name(node, e);
        const bool is_at_same = other->array->ndim - dim == node->array->ndim - e;
        const bool is_same = name != NULL && own != NULL ? strcmp(name, own) == 0
                                                         : name == NULL && own == NULL && is_at_same;
        if (is_same && other->array->shape[dim] == node->array->shape[e])
            return e;
    }
    return -1;
}

static bool fits(const struct zs_node *node, struct zs_axes axes, const struct zs_node *other, struct zs_mask *mask)
{
    mask->axes = (struct zs_axes){-1, -1};
    for (int d = 0; d < other->array->ndim; d++) {
        const int e = dimension_of(node, other, d);
        if (e < 0)
            return false;
        for (int k = 0; k < d; k++)
            if (mask->dims[k] == e)
                return false;
        mask->dims[d] = e;
        if (e == axes.x)
            mask->axes.x = d;
        if (e == axes.y)
            mask->axes.y = d;
    }
    return mask->axes.x >= 0 && mask->axes.y >= 0;
}

/* ---- Kinds ---- */

static bool is_called_valid(const struct zs_node *node)
{
    static const char *const names[] = {"valid", "is_valid", "validity", "valid_mask", "validity_mask", NULL};
    return zs_is_one_of(zs_path_name(node->path), names);
}

/* How the elements of a named array mark valid pixels; false for an array of another kind. */
static bool find_validity(const struct zs_node *node, struct zs_validity *validity)
{
    if (zs_validity_read(node, validity))
        return true;
    if (node->array->dtype.type != ZS_BOOL || !is_called_valid(node) ||
        zs_json_get(node->attributes, "flag_meanings") != NULL)
        return false;
    *validity = (struct zs_validity){.kind = ZS_VALID_TRUE, .is_writable = true, .valid = 1};
    return true;
}

static bool is_embedding(const struct zs_node *node)
{
    const char *name = zs_path_name(node->path);
    return node->array->dtype.type == ZS_INT8 &&
           (strcmp(name, "embeddings") == 0 || strncmp(name, "embeddings_", 11) == 0);
}

/* The name that the mask has in products of a known kind; NULL for other arrays. `group` is the group of the array, and
 * may be NULL. */
static const char *known_name(const struct zs_node *group, const struct zs_node *node)
{
    if (group != NULL && zs_zagg_is_product(group->attributes))
        return "aoi_mask";
    return is_embedding(node) ? "scales" : NULL;
}

static bool find_known_validity(const struct zs_node *node, struct zs_validity *validity)
{
    const enum zs_data_type type = node->array->dtype.type;
    const bool is_area = strcmp(zs_path_name(node->path), "aoi_mask") == 0;
    if (type != (is_area ? ZS_BOOL : ZS_FLOAT32))
        return false;
    *validity = (struct zs_validity){
        .kind = is_area ? ZS_VALID_TRUE : ZS_VALID_FINITE, .is_writable = is_area, .valid = is_area ? 1 : 0};
    return true;
}

/* Whether the other array is the mask of this one; fills in the mask. */
static bool take(const struct zs_node *node, struct zs_axes axes, const struct zs_node *other, bool is_named,
                 struct zs_mask *mask)
{
    if (other == node || other->array == NULL || !fits(node, axes, other, mask) ||
        !(is_named ? find_validity(other, &mask->validity) : find_known_validity(other, &mask->validity)))
        return false;
    mask->is_named = is_named;
    mask->node = other;
    return true;
}

/* ---- Finding ---- */

/* The next name of an array beside this one in `ancillary_variables`. */
static const char *next_named(const char *list, char *word, size_t capacity)
{
    while (list != NULL && (list = zs_next_word(list, word, capacity)) != NULL)
        if (strchr(word, '/') == NULL)
            return list;
    return NULL;
}

static enum zs_status find(struct zs_hierarchy *hierarchy, const char *group_path, const struct zs_node *node,
                           struct zs_axes axes, struct zs_mask *mask, struct zs_error *err)
{
    const struct zs_node *other = NULL, *group = NULL;
    char word[256];
    const char *list = zs_json_text(node->attributes, "ancillary_variables", NULL);
    for (int i = 0; i < MAX_NAMED && (list = next_named(list, word, sizeof word)) != NULL; i++) {
        const enum zs_status status = zs_hierarchy_node_at(hierarchy, group_path, word, &other, err);
        if (status == ZS_OK && take(node, axes, other, true, mask))
            return ZS_OK;
        if (status != ZS_OK && !zs_is_no_node(status))
            return status;
    }
    if (zs_hierarchy_node(hierarchy, group_path, &group, NULL) != ZS_OK)
        group = NULL;
    const char *name = known_name(group, node);
    if (name == NULL)
        return ZS_OK;
    const enum zs_status status = zs_hierarchy_node_at(hierarchy, group_path, name, &other, err);
    if (status == ZS_OK)
        (void)take(node, axes, other, false, mask);
    return zs_is_no_node(status) ? ZS_OK : status;
}

enum zs_status zs_mask_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                            struct zs_mask *mask, struct zs_error *err)
{
    struct zs_mask found = {0};
    *mask = found;
    if (node->array == NULL || axes.y < 0 || node->path[0] == '\0')
        return ZS_OK;
    char *group = zs_path_parent(node->path);
    ZS_TRY_MEMORY(group, err);
    const enum zs_status status = find(hierarchy, group, node, axes, &found, err);
    free(group);
    if (status == ZS_OK && found.node != NULL)
        *mask = found;
    return status;
}

/* ---- Listing ---- */

/* Marks the mask of nodes[i], if it has one. */
static enum zs_status mark_of(struct zs_hierarchy *hierarchy, const struct zs_node *const *nodes, size_t count,
                              const struct zs_node *node, const char *group_path, bool *marks, struct zs_error *err)
{
    size_t at;
    char word[256];
    struct zs_mask mask = {0};
    struct zs_axes axes;
    ZS_TRY(zs_nodes_find(nodes, count, group_path, "", &at, err));
    const char *name = known_name(at < count ? nodes[at] : NULL, node);
    const char *list = zs_json_text(node->attributes, "ancillary_variables", NULL);
    if (list == NULL && name == NULL)
        return ZS_OK;
    const enum zs_status status = zs_axes_find(hierarchy, node, NULL, NULL, &axes, err);
    if (status != ZS_OK)
        return status == ZS_NO_MEMORY ? status : ZS_OK;
    for (int i = 0; i < MAX_NAMED && (list = next_named(list, word, sizeof word)) != NULL; i++) {
        ZS_TRY(zs_nodes_find(nodes, count, group_path, word, &at, err));
        if (at < count && take(node, axes, nodes[at], true, &mask)) {
            marks[at] = true;
            return ZS_OK;
        }
    }
    at = count;
    if (name != NULL)
        ZS_TRY(zs_nodes_find(nodes, count, group_path, name, &at, err));
    if (at < count && take(node, axes, nodes[at], false, &mask))
        marks[at] = true;
    return ZS_OK;
}

enum zs_status zs_masks_mark(struct zs_hierarchy *hierarchy, const struct zs_node *const *nodes, size_t count,
                             bool *marks, struct zs_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (nodes[i]->array == NULL || nodes[i]->array->ndim < 2 || nodes[i]->path[0] == '\0')
            continue;
        char *group = zs_path_parent(nodes[i]->path);
        const enum zs_status status = group != NULL ? mark_of(hierarchy, nodes, count, nodes[i], group, marks, err)
                                                    : zs_fail_memory(err);
        free(group);
        ZS_TRY(status);
    }
    return ZS_OK;
}
