#include "raster/sharing.h"

#include <stdlib.h>
#include <string.h>

#include "geo/cf.h"
#include "geo/coordinates.h"
#include "geo/crs.h"
#include "geo/variables.h"

/* Whether an array takes a variable from a group at or above its own: by its name, unless a nearer one has that, as
 * xarray and this driver look for coordinates, and CF for grid mappings. */
static bool inherits(struct zs_hierarchy *h, const struct zs_node *array, const char *group, const char *name)
{
    char *own = zs_path_parent(array->path);
    const bool is_nearest = own == NULL || zs_nearest_array(h, own, group, name) == NULL;
    free(own);
    return is_nearest;
}

/* ---- Grid mappings ---- */

bool zs_names_mapping(const zs_json *attributes, const char *name)
{
    const char *coordinates = NULL;
    zs_json_string(zs_json_get(attributes, "coordinates"), &coordinates);
    return zs_has_word(zs_grid_mapping_name(attributes), name, true) || zs_has_word(coordinates, name, true);
}

enum zs_status zs_sharing_has_mapping(struct zs_hierarchy *h, const struct zs_edits *r, const struct zs_edited *one,
                                      bool *shared, struct zs_error *err)
{
    const char *mapping = one->style.mapping_name;
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    char *group = zs_path_parent(one->node->path);
    *shared = false;
    if (group == NULL)
        return zs_fail_memory(err);
    const enum zs_status status = zs_edited_list_nodes(h, &nodes, &count, err);
    for (size_t i = 0; i < count && !*shared; i++) {
        const struct zs_edited *other = zs_edited_find(r, nodes[i]);
        *shared = nodes[i] != one->node && zs_path_below(group, nodes[i]->path) != NULL &&
                  zs_names_mapping(nodes[i]->attributes, mapping) &&
                  (other == NULL || other->keeps_srs != one->keeps_srs) && inherits(h, nodes[i], group, mapping);
    }
    free(nodes);
    free(group);
    return status;
}

/* Whether an array has nothing but the GeoTransform of its grid mapping to tell where it lies. */
static bool needs_text(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_node *mapping)
{
    struct zs_axes axes = {-1, -1};
    double t[6];
    if (mapping == NULL || !zs_parse_geotransform(mapping->attributes, t) ||
        zs_axes_find(h, node, NULL, NULL, &axes, NULL) != ZS_OK || axes.x < 0 || axes.y < 0)
        return false;
    return t[2] != 0 || t[4] != 0 || zs_coordinate_find(h, node, axes.x) == NULL ||
           zs_coordinate_find(h, node, axes.y) == NULL;
}

enum zs_status zs_sharing_find_text(struct zs_hierarchy *h, const struct zs_edits *r, struct zs_edited *one,
                                    struct zs_error *err)
{
    const struct zs_node **nodes = NULL, *node = one->node;
    const struct zs_node *mapping = zs_sibling(h, node, one->style.mapping_name);
    struct zs_georef_out *at = &one->at;
    size_t count = 0;
    if (one->keeps_transform || !one->style.cf || node->path[0] == '\0')
        return ZS_OK;
    ZS_TRY(zs_edited_list_nodes(h, &nodes, &count, err));
    for (size_t i = 0; i < count; i++) {
        const struct zs_edited *other = zs_edited_find(r, nodes[i]);
        if (nodes[i] == node || nodes[i]->array == NULL || nodes[i]->array->ndim < 2 ||
            !zs_edited_is_in_one_group(nodes[i], node) || (other != NULL && zs_edited_is_on_one_grid(other, one)) ||
            !zs_names_mapping(nodes[i]->attributes, one->style.mapping_name))
            continue;
        at->is_text_shared = true;
        at->is_text_needed = at->is_text_needed || needs_text(h, nodes[i], mapping);
    }
    free(nodes);
    if (at->is_text_needed && !at->has_transform)
        return zs_fail(err, ZS_UNSUPPORTED,
                       "/%s: its transform is the GeoTransform of /%s, which other arrays have too", node->path,
                       mapping->path);
    one->style.spatial_proj = one->style.spatial_proj || at->is_text_needed ||
                              (at->is_text_shared && at->has_transform && (at->width == 1 || at->height == 1));
    return ZS_OK;
}

/* ---- Coordinates ---- */

/* Whether another array does not change with `one`: it is not edited, or keeps the CRS where that alone is set. */
static bool is_left(const struct zs_edited *one, const struct zs_edited *other)
{
    return other == NULL || (one->keeps_transform && other->has_other_srs != one->has_other_srs);
}

/* Whether an array has a dimension of a name, in the size, whose coordinates are those of a group above. */
static bool has_coordinate_of(struct zs_hierarchy *h, const struct zs_node *other, const char *group, const char *name)
{
    bool has = false;
    for (int d = 0; d < other->array->ndim && !has; d++)
        has = zs_is_same_text(zs_dimension_name(other, d), name);
    return has && strcmp(zs_path_name(other->path), name) != 0 && inherits(h, other, group, name);
}

/* Whether an array that has one of two coordinates, of that name, lies on a grid of that and another one: moved along
 * one axis, it would lie elsewhere. Where the coordinate itself `is_above`, the other one may be, too, where this
 * driver does not look for it without consolidated metadata: then its name counts. */
static bool has_other_axis(struct zs_hierarchy *h, const struct zs_node *other, const char *name, uint64_t size,
                           bool is_above)
{
    struct zs_axes axes = {-1, -1};
    const int shared = zs_same_dimension(other, name, size);
    if (other->array->ndim < 2 || shared < 0 || zs_axes_find(h, other, NULL, NULL, &axes, NULL) != ZS_OK)
        return false;
    const int own = axes.x == shared ? axes.y : axes.y == shared ? axes.x : -1;
    const struct zs_node *c = own >= 0 ? zs_coordinate_find(h, other, own) : NULL;
    const char *own_name = zs_dimension_name(other, own);
    const bool has_name = own_name != NULL && zs_name_axis(own_name) != 0;
    return c != NULL ? has_name || zs_cf_axis(c->attributes, NULL) != 0 : has_name && is_above;
}

/* Whether an array that has both coordinates may be moved with them: it has the CRS that their array gets, or none
 * beside one that stays. New values in another CRS would put it where nothing ever lay. */
static enum zs_status may_move(struct zs_hierarchy *h, const struct zs_edited *one, const struct zs_node *other,
                               struct zs_axes axes, const struct zs_georef_out *at, bool *may, struct zs_error *err)
{
    struct zs_georef now;
    ZS_TRY(zs_georef_read(h, other, axes, &now, err));
    *may = (now.srs == NULL && one->keeps_srs) || zs_crs_is_same(now.srs, at->srs);
    zs_georef_clear(&now);
    return ZS_OK;
}

enum zs_status zs_sharing_find_coordinates(struct zs_hierarchy *h, const struct zs_edits *r,
                                           const struct zs_edited *one, struct zs_georef_out *at, struct zs_error *err)
{
    const struct zs_node **nodes = NULL, *node = one->node;
    const char *names[2] = {zs_dimension_name(node, one->axes.y), zs_dimension_name(node, one->axes.x)};
    const uint64_t sizes[2] = {node->array->shape[one->axes.y], node->array->shape[one->axes.x]};
    size_t count = 0;
    if (node->path[0] == '\0') /* the root is alone */
        return ZS_OK;
    char *group = zs_path_parent(node->path);
    enum zs_status status = group != NULL ? zs_edited_list_nodes(h, &nodes, &count, err) : zs_fail_memory(err);
    for (size_t k = 0; k < count && status == ZS_OK; k++) {
        const struct zs_node *other = nodes[k];
        bool has[2] = {false, false};
        if (other->array == NULL || zs_path_below(group, other->path) == NULL ||
            !is_left(one, zs_edited_find(r, other)))
            continue;
        for (int i = 0; i < 2; i++)
            has[i] = names[i] != NULL && has_coordinate_of(h, other, group, names[i]);
        for (int i = 0; i < 2; i++) {
            at->is_shared[i] = at->is_shared[i] || has[i];
            if (has[i] && !has[1 - i])
                at->is_fixed[i] = at->is_fixed[i] || has_other_axis(h, other, names[i], sizes[i],
                                                                    zs_sibling(h, node, names[i]) == NULL);
        }
        const struct zs_axes axes = {zs_same_dimension(other, names[1], sizes[1]),
                                     zs_same_dimension(other, names[0], sizes[0])};
        bool may = true;
        if (!has[0] || !has[1] || axes.x < 0 || axes.y < 0)
            continue;
        at->is_grid_shared = true;
        if (!one->keeps_transform && !(at->is_fixed[0] && at->is_fixed[1]))
            status = may_move(h, one, other, axes, at, &may, err);
        at->is_fixed[0] = at->is_fixed[0] || !may;
        at->is_fixed[1] = at->is_fixed[1] || !may;
    }
    free(nodes);
    free(group);
    return status;
}
