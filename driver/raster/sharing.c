#include "raster/edited.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/cf.h"
#include "geo/coordinates.h"
#include "geo/crs.h"
#include "geo/dimensions.h"
#include "geo/variables.h"
#include "raster/listing.h"
#include "raster/masks.h"

/* Whether an array takes a variable from a group at or above its own: by its name, unless a nearer one has that, as
 * xarray and this driver look for coordinates, and CF for grid mappings. */
static bool inherits(struct zs_hierarchy *hierarchy, const struct zs_node *array, const char *group, const char *name)
{
    char *own = zs_path_parent(array->path);
    const bool is_nearest = own == NULL || zs_nearest_array(hierarchy, own, group, name) == NULL;
    free(own);
    return is_nearest;
}

/* ---- Grid mappings ---- */

/* Whether an array names a grid mapping: as grid_mapping, alone or in the long form "crs: x y", or among its
 * coordinates, as rioxarray does. */
static bool names_mapping(const zs_json *attributes, const char *name)
{
    const char *coordinates = zs_json_text(attributes, "coordinates", NULL);
    return zs_has_word(zs_grid_mapping_name(attributes), name, true) || zs_has_word(coordinates, name, true);
}

/* All nodes of a store, and which of them serve others: they are no rasters. */
struct listed {
    const struct zs_node **nodes;
    bool *serves;
    size_t count;
};

static void clear_listed(struct listed *l)
{
    free(l->nodes);
    free(l->serves);
}

static enum zs_status list_all(struct zs_hierarchy *hierarchy, struct listed *l, struct zs_error *err)
{
    *l = (struct listed){.nodes = NULL};
    ZS_TRY(zs_edited_list_nodes(hierarchy, &l->nodes, &l->count, err));
    l->serves = zs_calloc(l->count + 1, sizeof *l->serves);
    enum zs_status status = l->serves != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_auxiliary_mark(l->nodes, l->count, l->serves, err);
    if (status == ZS_OK)
        status = zs_masks_mark(hierarchy, l->nodes, l->count, l->serves, err);
    if (status != ZS_OK)
        clear_listed(l);
    return status;
}

/* Whether a raster beside `node` has a variable called as the default, since it names no grid mapping: xarray makes it
 * a coordinate of all arrays of the group, and rioxarray looks for it there. */
static bool takes_default(const struct listed *l, size_t index, const struct zs_node *node, const char *name)
{
    const struct zs_node *other = l->nodes[index];
    return strcmp(name, ZS_GRID_MAPPING) == 0 && other != node && other->array != NULL && other->array->ndim >= 2 &&
           !l->serves[index] && zs_edited_is_in_one_group(other, node) &&
           zs_grid_mapping_name(other->attributes) == NULL;
}

/* Whether another array gets the CRS of `one` with it, or has it and keeps it. */
static bool has_crs_of(const struct zs_edited *one, const struct zs_edited *other)
{
    return other != NULL && other->keeps_srs == one->keeps_srs &&
           (!one->keeps_srs || zs_crs_is_same(other->srs, one->srs));
}

/* Whether an array that does not follow uses the grid mapping `name` of `one`. */
static bool has_user(struct zs_hierarchy *hierarchy, const struct zs_edits *edits, const struct zs_edited *one,
                     const struct listed *l, const char *name)
{
    char *group = zs_path_parent(one->node->path);
    bool has = group == NULL;
    for (size_t i = 0; i < l->count && !has; i++) {
        const struct zs_node *other = l->nodes[i];
        const bool names = names_mapping(other->attributes, name) && inherits(hierarchy, other, group, name);
        has = other != one->node && zs_path_below(group, other->path) != NULL &&
              (names || takes_default(l, i, one->node, name)) && !has_crs_of(one, zs_edited_find(edits, other));
    }
    free(group);
    return has;
}

/* Whether an array has its transform, or a part of it, from the GeoTransform of its grid mapping. One that cannot be
 * read counts as one: the text stays. */
static bool needs_text(struct zs_hierarchy *hierarchy, const struct zs_node *node, const struct zs_node *mapping)
{
    struct zs_axes axes = {-1, -1};
    struct zs_georef now;
    double t[6];
    if (mapping == NULL || !zs_parse_geotransform(mapping->attributes, t) ||
        zs_axes_find(hierarchy, node, NULL, NULL, &axes, NULL) != ZS_OK || axes.x < 0 || axes.y < 0)
        return false;
    if (t[2] != 0 || t[4] != 0 || zs_coordinate_find(hierarchy, node, axes.x) == NULL ||
        zs_coordinate_find(hierarchy, node, axes.y) == NULL || node->array->shape[axes.x] == 1 ||
        node->array->shape[axes.y] == 1 || zs_georef_read(hierarchy, node, axes, &now, NULL) != ZS_OK)
        return true;
    const bool has_text = now.has_transform && memcmp(now.transform, t, sizeof t) == 0;
    zs_georef_clear(&now);
    return has_text;
}

/* Whether arrays of other grids beside `one` use the grid mapping `name`, and one needs the text of that. */
static void find_text(struct zs_hierarchy *hierarchy, const struct zs_edits *edits, const struct zs_edited *one,
                      const struct listed *l, const char *name, bool *is_shared, bool *is_needed)
{
    const struct zs_node *mapping = zs_sibling(hierarchy, one->node, name);
    *is_shared = *is_needed = false;
    for (size_t i = 0; i < l->count && !*is_needed; i++) {
        const struct zs_node *node = l->nodes[i];
        const struct zs_edited *other = zs_edited_find(edits, node);
        const bool names = names_mapping(node->attributes, name);
        if (node == one->node || node->array == NULL || node->array->ndim < 2 || l->serves[i] ||
            !zs_edited_is_in_one_group(node, one->node) ||
            (other != NULL && zs_edited_is_on_one_grid(other, one)) ||
            !(names || takes_default(l, i, one->node, name)))
            continue;
        *is_shared = true;
        *is_needed = names && needs_text(hierarchy, node, mapping);
    }
}

/* The arguments of zs_sharing_choose_mapping(). */
struct choice {
    struct zs_hierarchy *hierarchy;
    const struct zs_edits *r;
    const struct zs_edited *one;
    const struct listed *l;
};

/* Whether coordinates lack the transform, so that rioxarray and others find it in the GeoTransform alone. */
static bool is_stated_by_text(const struct zs_georef_out *at)
{
    return at->has_transform && (!zs_has_axes(at) || at->width == 1 || at->height == 1);
}

/* Whether the array may have a grid mapping that has its CRS, or a new one: nothing that another raster reads in it
 * changes, and its text may be in it where that is needed. */
static bool may_use(void *context, const char *name, const struct zs_node *own)
{
    const struct choice *c = context;
    bool is_shared, is_needed;
    if (own == NULL)
        return !has_user(c->hierarchy, c->r, c->one, c->l, name);
    if (c->one->keeps_transform)
        return true;
    find_text(c->hierarchy, c->r, c->one, c->l, name, &is_shared, &is_needed);
    return !is_needed && !(is_shared && is_stated_by_text(&c->one->at));
}

/* Chooses the name of the grid mapping; has_crs: `own` has the CRS. */
static enum zs_status choose_name(struct choice *context, struct zs_edited *one, const struct zs_node *own,
                                  bool has_crs, struct zs_error *err)
{
    const struct zs_mapping_choice choice = {may_use, context};
    const char *name = one->conventions.mapping_name;
    bool is_free = has_crs || own == NULL ? may_use(context, name, own)
                                          : !has_user(context->hierarchy, context->r, one, context->l, name);
    /* One with its CRS is its own though it does not name that: older versions named none of overviews. */
    if (own != NULL && !has_crs)
        is_free = is_free && (names_mapping(one->node->attributes, name) || zs_mapping_has_crs(own, one->srs));
    if (is_free)
        return ZS_OK;
    ZS_TRY(zs_array_mapping_find(context->hierarchy, one->node, one->at.srs, &choice, &one->mapping, err));
    one->conventions.mapping_name = one->mapping;
    return ZS_OK;
}

enum zs_status zs_sharing_choose_mapping(struct zs_hierarchy *hierarchy, const struct zs_edits *edits,
                                         struct zs_edited *one, const struct zs_node *own, struct zs_error *err)
{
    struct listed l;
    struct zs_georef_out *at = &one->at;
    const bool has_crs = own != NULL && zs_mapping_has_crs(own, at->srs);
    ZS_TRY(zs_default_mapping_name(hierarchy, one->node, err));
    if (has_crs && one->keeps_transform)
        return ZS_OK;
    ZS_TRY(list_all(hierarchy, &l, err));
    const enum zs_status status = choose_name(&(struct choice){hierarchy, edits, one, &l}, one, own, has_crs, err);
    if (status == ZS_OK && !one->keeps_transform) {
        find_text(hierarchy, edits, one, &l, one->conventions.mapping_name, &at->is_text_shared, &at->is_text_needed);
        one->conventions.spatial_proj =
            one->conventions.spatial_proj || at->is_text_needed || (at->is_text_shared && is_stated_by_text(at));
    }
    clear_listed(&l);
    return status;
}

/* ---- Coordinates ---- */

/* Whether another array does not change with `one`: it is not edited, or keeps the CRS where that alone is set. */
static bool is_left(const struct zs_edited *one, const struct zs_edited *other)
{
    return other == NULL || (one->keeps_transform && other->has_other_srs != one->has_other_srs);
}

/* Whether an array has a dimension of a name, in the size, whose coordinates are those of a group above. */
static bool has_coordinate_of(struct zs_hierarchy *hierarchy, const struct zs_node *other, const char *group,
                              const char *name)
{
    bool has = false;
    for (int d = 0; d < other->array->ndim && !has; d++)
        has = zs_is_same_text(zs_dimension_name(other, d), name);
    return has && strcmp(zs_path_name(other->path), name) != 0 && inherits(hierarchy, other, group, name);
}

/* Whether an array that has one of two coordinates, of that name, lies on a grid of that and another one: moved along
 * one axis, it would lie elsewhere. Where the coordinate itself `is_above`, the other one may be, too, where this
 * driver does not look for it without consolidated metadata: then its name counts. */
static bool has_other_axis(struct zs_hierarchy *hierarchy, const struct zs_node *other, const char *name, uint64_t size,
                           bool is_above)
{
    struct zs_axes axes = {-1, -1};
    const int shared = zs_same_dimension(other, name, size);
    if (other->array->ndim < 2 || shared < 0 || zs_axes_find(hierarchy, other, NULL, NULL, &axes, NULL) != ZS_OK)
        return false;
    const int own = axes.x == shared ? axes.y : axes.y == shared ? axes.x : -1;
    const struct zs_node *c = own >= 0 ? zs_coordinate_find(hierarchy, other, own) : NULL;
    const char *own_name = zs_dimension_name(other, own);
    const bool has_name = own_name != NULL && zs_name_axis(own_name) != 0;
    return c != NULL ? has_name || zs_cf_axis(c->attributes, NULL) != 0 : has_name && is_above;
}

/* Whether an array that has both coordinates may be moved with them: it has the CRS that their array gets, or none. New
 * values in another CRS would put it where nothing ever lay. */
static enum zs_status may_move(struct zs_hierarchy *hierarchy, const struct zs_node *other, struct zs_axes axes,
                               const struct zs_georef_out *at, bool *may, struct zs_error *err)
{
    struct zs_georef now;
    ZS_TRY(zs_georef_read(hierarchy, other, axes, &now, err));
    *may = now.srs == NULL || zs_crs_is_same(now.srs, at->srs);
    zs_georef_clear(&now);
    return ZS_OK;
}

enum zs_status zs_sharing_find_coordinates(struct zs_hierarchy *hierarchy, const struct zs_edits *edits,
                                           const struct zs_edited *one, struct zs_georef_out *at, struct zs_error *err)
{
    const struct zs_node **nodes = NULL, *node = one->node;
    const char *names[2] = {zs_dimension_name(node, one->axes.y), zs_dimension_name(node, one->axes.x)};
    const uint64_t sizes[2] = {node->array->shape[one->axes.y], node->array->shape[one->axes.x]};
    size_t count = 0;
    if (node->path[0] == '\0') /* the root is alone */
        return ZS_OK;
    char *group = zs_path_parent(node->path);
    enum zs_status status = group != NULL ? zs_edited_list_nodes(hierarchy, &nodes, &count, err) : zs_fail_memory(err);
    for (size_t k = 0; k < count && status == ZS_OK; k++) {
        const struct zs_node *other = nodes[k];
        bool has[2] = {false, false};
        if (other->array == NULL || zs_path_below(group, other->path) == NULL ||
            !is_left(one, zs_edited_find(edits, other)))
            continue;
        for (int i = 0; i < 2; i++)
            has[i] = names[i] != NULL && has_coordinate_of(hierarchy, other, group, names[i]);
        for (int i = 0; i < 2; i++) {
            at->is_shared[i] = at->is_shared[i] || has[i];
            if (has[i] && !has[1 - i])
                at->is_fixed[i] = at->is_fixed[i] || has_other_axis(hierarchy, other, names[i], sizes[i],
                                                                    zs_sibling(hierarchy, node, names[i]) == NULL);
        }
        const struct zs_axes axes = {zs_same_dimension(other, names[1], sizes[1]),
                                     zs_same_dimension(other, names[0], sizes[0])};
        bool may = true;
        if (!has[0] || !has[1] || axes.x < 0 || axes.y < 0)
            continue;
        at->is_grid_shared = true;
        if (!one->keeps_transform && !(at->is_fixed[0] && at->is_fixed[1]))
            status = may_move(hierarchy, other, axes, at, &may, err);
        at->is_fixed[0] = at->is_fixed[0] || !may;
        at->is_fixed[1] = at->is_fixed[1] || !may;
    }
    free(nodes);
    free(group);
    return status;
}
