#include "raster/edited.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/crs.h"
#include "raster/overviews.h"

/* Index into edits->sorted where a node is, or would be. */
static size_t sorted_index(const struct zs_edits *edits, const struct zs_node *node)
{
    size_t low = 0, high = edits->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uintptr_t)edits->list[edits->sorted[middle]].node < (uintptr_t)node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct zs_edited *zs_edited_find(const struct zs_edits *edits, const struct zs_node *node)
{
    const size_t at = sorted_index(edits, node);
    return at < edits->count && edits->list[edits->sorted[at]].node == node ? &edits->list[edits->sorted[at]] : NULL;
}

static enum zs_status add_array_once(struct zs_edits *edits, struct zs_edited array, struct zs_error *err)
{
    if (zs_edited_find(edits, array.node) != NULL)
        return ZS_OK;
    ZS_TRY_GROW(edits->list, edits->count, &edits->capacity, err);
    ZS_TRY_GROW(edits->sorted, edits->count, &edits->sorted_capacity, err);
    const size_t at = sorted_index(edits, array.node);
    size_t *const here = edits->sorted + at;
    memmove(here + 1, here, (edits->count - at) * sizeof *here);
    *here = edits->count;
    edits->list[edits->count++] = array;
    if (array.srs != NULL)
        OSRReference(array.srs);
    return ZS_OK;
}

void zs_edited_clear(struct zs_edits *edits)
{
    for (size_t i = 0; i < edits->count; i++) {
        free(edits->list[i].mapping);
        if (edits->list[i].srs != NULL)
            OSRRelease(edits->list[i].srs);
    }
    free(edits->list);
    free(edits->sorted);
}

enum zs_status zs_edited_add(struct zs_hierarchy *hierarchy, struct zs_edits *edits, struct zs_edited base,
                             const struct zs_georef_conventions *conventions, struct zs_error *err)
{
    struct zs_names levels;
    if (conventions != NULL)
        base.conventions = *conventions;
    ZS_TRY(add_array_once(edits, base, err));
    ZS_TRY(zs_overviews_find(hierarchy, base.node, base.axes, &levels, err));
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < levels.count && status == ZS_OK; i++) {
        struct zs_edited level = base;
        level.is_level = true;
        if (zs_hierarchy_node(hierarchy, levels.list[i], &level.node, NULL) != ZS_OK)
            continue;
        if (conventions != NULL) {
            zs_georef_conventions_find(hierarchy, level.node, level.axes, &level.conventions);
            if (level.conventions.is_default)
                level.conventions = *conventions;
            level.conventions.drops_coordinates = conventions->drops_coordinates;
        }
        status = add_array_once(edits, level, err);
    }
    zs_names_free(levels.list);
    return status;
}

int zs_same_dimension(const struct zs_node *node, const char *name, uint64_t size)
{
    for (int d = 0; d < node->array->ndim && name != NULL; d++) {
        const char *theirs = zs_dimension_name(node, d);
        if (theirs != NULL && strcmp(theirs, name) == 0)
            return node->array->shape[d] == size ? d : -1;
    }
    return -1;
}

/* Adds an array with the same X and Y as another, unless it states nothing of where it lies. */
static enum zs_status add_sibling(struct zs_hierarchy *hierarchy, struct zs_edits *edits, struct zs_edited sibling,
                                  const struct zs_edited *of, struct zs_error *err)
{
    struct zs_georef_conventions conventions;
    struct zs_georef now;
    if (zs_edited_find(edits, sibling.node) != NULL)
        return ZS_OK;
    zs_georef_conventions_find(hierarchy, sibling.node, sibling.axes, &conventions);
    conventions.drops_coordinates = of->conventions.drops_coordinates;
    if (conventions.is_default)
        return ZS_OK;
    conventions.spatial_proj = conventions.spatial_proj || (of->needs_spatial_proj && !of->keeps_transform);
    sibling.needs_spatial_proj = of->needs_spatial_proj;
    ZS_TRY(zs_georef_read(hierarchy, sibling.node, sibling.axes, &now, err));
    sibling.srs = now.srs;
    sibling.is_sibling = true;
    sibling.pixel_is_point = now.pixel_is_point;
    sibling.keeps_transform = of->keeps_transform;
    sibling.has_other_srs = !zs_crs_is_same(now.srs, of->srs);
    sibling.keeps_srs = of->keeps_srs || sibling.has_other_srs;
    const enum zs_status status = zs_edited_add(hierarchy, edits, sibling, &conventions, err);
    zs_georef_clear(&now);
    return status;
}

bool zs_is_same_text(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

bool zs_edited_is_in_one_group(const struct zs_node *a, const struct zs_node *b)
{
    const size_t n = (size_t)(zs_path_name(a->path) - a->path);
    return (size_t)(zs_path_name(b->path) - b->path) == n && memcmp(a->path, b->path, n) == 0;
}

bool zs_edited_is_on_one_grid(const struct zs_edited *a, const struct zs_edited *b)
{
    const int dims[2][2] = {{a->axes.x, b->axes.x}, {a->axes.y, b->axes.y}};
    if (!zs_edited_is_in_one_group(a->node, b->node))
        return false;
    for (int i = 0; i < 2; i++)
        if (!zs_is_same_text(zs_dimension_name(a->node, dims[i][0]), zs_dimension_name(b->node, dims[i][1])) ||
            a->node->array->shape[dims[i][0]] != b->node->array->shape[dims[i][1]])
            return false;
    return true;
}

enum zs_status zs_edited_list_nodes(struct zs_hierarchy *hierarchy, const struct zs_node ***nodes, size_t *count,
                                    struct zs_error *err)
{
    const enum zs_status status = zs_hierarchy_list(hierarchy, nodes, count, err);
    if (status != ZS_UNSUPPORTED)
        return status;
    *nodes = NULL; /* what is not known shares nothing */
    *count = 0;
    return ZS_OK;
}

enum zs_status zs_edited_add_siblings(struct zs_hierarchy *hierarchy, struct zs_edits *edits,
                                      const struct zs_edited *of, struct zs_error *err)
{
    const struct zs_node **nodes = NULL, *node = of->node;
    size_t count = 0;
    const char *x = zs_dimension_name(node, of->axes.x), *y = zs_dimension_name(node, of->axes.y);
    char *group = x != NULL && y != NULL ? zs_path_parent(node->path) : NULL;
    if (group == NULL)
        return ZS_OK;
    enum zs_status status = zs_edited_list_nodes(hierarchy, &nodes, &count, err);
    size_t at = 0;
    for (const struct zs_node *other; status == ZS_OK && (other = zs_nodes_child(nodes, count, group, &at)) != NULL;) {
        if (other == node || other->array == NULL || other->array->ndim < 2)
            continue;
        const struct zs_edited sibling = {.node = other,
                                         .axes = {zs_same_dimension(other, x, node->array->shape[of->axes.x]),
                                                  zs_same_dimension(other, y, node->array->shape[of->axes.y])}};
        if (sibling.axes.x >= 0 && sibling.axes.y >= 0)
            status = add_sibling(hierarchy, edits, sibling, of, err);
    }
    free(nodes);
    free(group);
    return status;
}
