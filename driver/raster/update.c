/* Changing where arrays of a store lie, their band properties and their metadata. */
#include "raster/update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/chain.h"
#include "geo/bands.h"
#include "geo/conventions.h"
#include "geo/georef.h"
#include "geo/variables.h"
#include "raster/listing.h"
#include "raster/masks.h"
#include "raster/overviews.h"
#include "zarr/document.h"

/* ---- The raster: its arrays, their mask, and the overviews of these ---- */

struct member {
    const struct zs_node *node;
    struct zs_axes axes;
    bool is_asked; /* one of the arrays that the caller names */
    /* What it has, or would get, as coordinate variables and grid mapping, and where: NULL of the root, which has
     * none. */
    char *group;
    const char *y, *x, *mapping;
    size_t first; /* the first of the members that share these */
    struct zs_georef_shared shared; /* of that one */
};

struct raster {
    struct member *list;
    size_t count, capacity;
    bool has_own;               /* no member has a variable elsewhere */
    const struct zs_node *mask; /* the last one that was added */
    enum zs_georef_style style; /* where none is declared */
};

static void clear_raster(struct raster *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->list[i].group);
    free(r->list);
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool is_shared(const struct member *a, const struct member *b)
{
    return is_same_text(a->group, b->group) && is_same_text(a->y, b->y) && is_same_text(a->x, b->x) &&
           is_same_text(a->mapping, b->mapping);
}

/* Whether a variable of an array lies in another group than that. */
static bool is_elsewhere(const struct zs_node *variable, const char *group)
{
    const char *below = variable != NULL ? zs_path_below(group, variable->path) : NULL;
    return variable != NULL && (below == NULL || strchr(below, '/') != NULL);
}

static enum zs_status add_member(struct zs_hierarchy *h, struct raster *r, const struct zs_node *node,
                                 struct zs_axes axes, bool is_asked, struct zs_error *err)
{
    struct zs_scope scope;
    zs_scope_find(h, node, &scope);
    const struct zs_node *mapping = zs_grid_mapping_find(h, &scope);
    struct member one = {.node = node,
                         .axes = axes,
                         .is_asked = is_asked,
                         .group = zs_path_parent(node->path),
                         .y = zs_dimension_name(node, axes.y),
                         .x = zs_dimension_name(node, axes.x),
                         .mapping = mapping != NULL ? zs_path_name(mapping->path) : ZS_GRID_MAPPING};
    if (one.group == NULL && node->path[0] != '\0')
        return zs_fail_memory(err);
    if (mapping == NULL && zs_sibling(h, node, ZS_GRID_MAPPING) != NULL && !zs_is_implied_mapping(h, node))
        r->has_own = false;
    if (one.group != NULL)
        r->has_own = r->has_own && !is_elsewhere(mapping, one.group) &&
                     !is_elsewhere(zs_coordinate_find(h, node, axes.y), one.group) &&
                     !is_elsewhere(zs_coordinate_find(h, node, axes.x), one.group);
    while (one.first < r->count && !is_shared(&r->list[one.first], &one))
        one.first++;
    struct member *grown = zs_grow(r->list, r->count, &r->capacity, sizeof *grown);
    if (grown == NULL) {
        free(one.group);
        return zs_fail_memory(err);
    }
    r->list = grown;
    r->list[r->count++] = one;
    return ZS_OK;
}

static enum zs_status add_with_overviews(struct zs_hierarchy *h, struct raster *r, const struct zs_node *node,
                                         struct zs_axes axes, bool is_asked, struct zs_error *err)
{
    struct zs_levels levels;
    ZS_TRY(add_member(h, r, node, axes, is_asked, err));
    ZS_TRY(zs_overviews_find(h, node, axes, &levels, err));
    for (size_t i = 0; i < levels.count; i++)
        ZS_TRY(add_member(h, r, levels.list[i], axes, false, err));
    return ZS_OK;
}

static enum zs_status find_raster(struct zs_hierarchy *h, const struct zs_node *const *nodes,
                                  const struct zs_axes *axes, size_t count, struct raster *r, struct zs_error *err)
{
    struct zs_mask mask;
    for (size_t i = 0; i < count; i++) {
        if (nodes[i]->array == NULL || axes[i].x < 0 || axes[i].y < 0)
            return zs_fail(err, ZS_ARGUMENT, "%s/%s: expected an array of two dimensions and more",
                           zs_hierarchy_store(h)->root, nodes[i]->path);
        ZS_TRY(add_with_overviews(h, r, nodes[i], axes[i], true, err));
        ZS_TRY(zs_mask_find(h, nodes[i], axes[i], &mask, err));
        if (mask.node != NULL && mask.node != r->mask)
            ZS_TRY(add_with_overviews(h, r, mask.node, mask.axes, false, err));
        r->mask = mask.node != NULL ? mask.node : r->mask;
    }
    return ZS_OK;
}

/* ---- Whether it has variables of its own ---- */

/* Whether an array below the group of a member has the variable `name` from there: no group between has one. */
static bool inherits(struct zs_hierarchy *h, const struct zs_node *other, const struct member *one, const char *name)
{
    char *own = zs_path_parent(other->path);
    const bool is_nearest = own == NULL || zs_nearest_array(h, own, one->group, name) == NULL;
    free(own);
    return is_nearest;
}

/* Whether an array that is no member would be read as lying elsewhere, were the variables of a member changed: it has
 * one of their dimensions, or names the grid mapping, or (a picture directly in the group) may have the group's. */
static bool uses(struct zs_hierarchy *h, const struct zs_node *other, bool is_auxiliary, const struct member *one)
{
    const char *below = zs_path_below(one->group, other->path);
    if (below == NULL || other->array == NULL)
        return false;
    if (!is_auxiliary && other->array->ndim >= 2 && strchr(below, '/') == NULL)
        return true;
    for (int d = 0; d < other->array->ndim; d++) {
        const char *name = zs_dimension_name(other, d);
        if (name != NULL && strcmp(below, name) != 0 && (is_same_text(name, one->y) || is_same_text(name, one->x)) &&
            inherits(h, other, one, name))
            return true;
    }
    return (zs_has_word(zs_grid_mapping_name(other->attributes), one->mapping, true) ||
            zs_has_word(zs_json_text(other->attributes, "coordinates", NULL), one->mapping, true)) &&
           inherits(h, other, one, one->mapping);
}

/* Has r->has_own false where an array that is no member uses a variable of a member. In a store that cannot be listed
 * one might. */
static enum zs_status find_users(struct zs_hierarchy *h, struct raster *r, struct zs_error *err)
{
    const struct zs_node **nodes = NULL;
    size_t count = 0, at;
    const enum zs_status listed = zs_hierarchy_list(h, &nodes, &count, err);
    if (listed != ZS_OK) {
        r->has_own = false;
        return listed == ZS_UNSUPPORTED ? ZS_OK : listed;
    }
    bool *is_auxiliary = zs_calloc(2 * ((uint64_t)count + 1), sizeof *is_auxiliary), *is_member = NULL;
    enum zs_status status = is_auxiliary != NULL ? zs_auxiliary_mark(nodes, count, is_auxiliary, err)
                                                 : zs_fail_memory(err);
    if (status == ZS_OK)
        is_member = is_auxiliary + count;
    for (size_t k = 0; k < r->count && status == ZS_OK; k++) {
        status = zs_nodes_find(nodes, count, "", r->list[k].node->path, &at, err);
        if (status == ZS_OK)
            is_member[at] = true; /* one that is not listed is behind the list */
    }
    for (size_t i = 0; i < count && status == ZS_OK; i++)
        for (size_t k = 0; k < r->count && !is_member[i] && r->has_own; k++)
            r->has_own = r->list[k].first != k || !uses(h, nodes[i], is_auxiliary[i], &r->list[k]);
    free(is_auxiliary);
    free(nodes);
    return status;
}

/* ---- Writing it ---- */

/* Writes the transforms of a pyramid, in the entries of a group's multiscales that have one. */
static enum zs_status write_entries(struct zs_hierarchy *h, const struct zs_node *group, const struct member *base,
                                    const struct zs_georef_out *geo, struct zs_error *err)
{
    struct zs_layout layout;
    const char *below = zs_path_below(group->path, base->node->path);
    zs_json *attributes;
    if (below == NULL || !zs_layout_first(group->attributes, &layout) || layout.is_foreign ||
        zs_layout_find(&layout, below) < 0)
        return ZS_OK;
    ZS_TRY(zs_hierarchy_edit(h, group, &attributes, err));
    for (int i = 0; i < layout.count; i++) {
        uint64_t width, height;
        zs_json *entry = (zs_json *)(uintptr_t)layout.level[i].entry; /* a part of the attributes that are edited */
        if (!geo->keeps_srs)
            zs_proj_remove(entry);
        if (geo->keeps_transform || !zs_spatial_is_declared(entry))
            continue;
        struct zs_georef_out at = *geo;
        if (zs_level_size(h, group, &layout.level[i], base->node, base->axes, &width, &height))
            at = zs_georef_at_size(geo, width, height);
        else
            at.has_transform = false;
        if (!zs_spatial_write_level(entry, &at, attributes))
            return zs_fail_memory(err);
    }
    return ZS_OK;
}

/* Writes what the groups of a base declare of it. */
static enum zs_status write_groups(struct zs_hierarchy *h, const struct member *base, const struct zs_georef_out *geo,
                                   struct zs_error *err)
{
    struct zs_scope scope;
    zs_json *attributes;
    zs_scope_find(h, base->node, &scope);
    for (int i = 0; i < scope.sources; i++) {
        const struct zs_scope_source *source = &scope.source[i];
        if (source->group == NULL || source->is_entry || (source->has_layout && !source->is_base) ||
            !zs_spatial_proj_is_declared(source->members))
            continue;
        struct zs_georef_out declared = *geo;
        declared.has_transform = geo->has_transform && zs_spatial_is_declared(source->members);
        ZS_TRY(zs_hierarchy_edit(h, source->group, &attributes, err));
        ZS_TRY(zs_write_spatial_proj(attributes, &declared, err));
    }
    for (int g = 0; g < scope.groups; g++)
        ZS_TRY(write_entries(h, scope.group[g], base, geo, err));
    return ZS_OK;
}

/* The georeferencing that a member gets: that of the base at its size, with the names of its dimensions. A transform
 * that is kept is its own, which need not be that of the base. */
static enum zs_status find_wanted(struct zs_hierarchy *h, const struct member *one, const struct zs_georef_out *base,
                                  struct zs_georef_out *at, struct zs_error *err)
{
    struct zs_georef now;
    *at = zs_georef_at_size(base, one->node->array->shape[one->axes.x], one->node->array->shape[one->axes.y]);
    zs_georef_out_name_dimensions(at, one->node, one->axes);
    if (!base->keeps_transform || one->is_asked)
        return ZS_OK;
    ZS_TRY(zs_georef_read(h, one->node, one->axes, &now, err));
    at->has_transform = now.has_transform;
    memcpy(at->transform, now.transform, sizeof at->transform);
    zs_georef_clear(&now);
    return ZS_OK;
}

/* On the arrays alone. */
static const struct zs_georef_conventions aside = {.spatial_proj = true, .mapping_name = ZS_GRID_MAPPING};

/* Writes all members: those with variables of their own in the conventions that they have (where the first has none,
 * in those of the style), others in spatial: and proj: on the arrays alone. */
static enum zs_status write_members(struct zs_hierarchy *h, struct raster *r, const struct zs_georef_out *geo,
                                    struct zs_error *err)
{
    struct zs_georef_conventions first, own;
    zs_georef_conventions_find(h, r->list[0].node, r->list[0].axes, r->style, &first);
    for (size_t i = 0; i < r->count; i++)
        r->list[i].shared.is_written = false;
    for (size_t i = 0; i < r->count; i++) {
        const struct member *one = &r->list[i];
        struct zs_georef_out at;
        ZS_TRY(find_wanted(h, one, geo, &at, err));
        zs_georef_conventions_find(h, one->node, one->axes, r->style, &own);
        ZS_TRY(zs_georef_write(h, one->node, one->axes,
                               !r->has_own                           ? &aside
                               : first.is_default || own.is_default ? &first
                                                                    : &own,
                               &at, &r->list[one->first].shared, err));
        if (i == 0 && r->has_own) /* the groups of the others declare the same */
            ZS_TRY(write_groups(h, one, &at, err));
    }
    return ZS_OK;
}

/* ---- The whole ---- */

/* Whether a transform is the one that is there; what was read twice may differ in the last digits. */
static bool is_same_transform(const struct zs_georef_out *wanted, const struct zs_georef *now)
{
    const double *a = wanted->transform, *b = now->transform;
    const double tolerance = 1e-9 * (fabs(b[1]) + fabs(b[2]) + fabs(b[4]) + fabs(b[5]));
    if (!now->has_transform || !wanted->has_transform)
        return now->has_transform == wanted->has_transform;
    bool is_same = now->pixel_is_point == wanted->pixel_is_point;
    for (int i = 0; i < 6 && is_same; i++)
        is_same = fabs(a[i] - b[i]) <= tolerance;
    return is_same;
}

/* Whether an array is read as wanted; is_last: a CRS that its texts tell not quite alike is one. */
static enum zs_status is_read_as(struct zs_hierarchy *h, const struct member *one, const struct zs_georef_out *wanted,
                                 bool is_last, bool *is_same, struct zs_error *err)
{
    struct zs_georef now;
    ZS_TRY(zs_georef_read(h, one->node, one->axes, &now, err));
    *is_same = is_same_transform(wanted, &now) &&
               (is_last ? (wanted->srs == NULL) == (now.srs == NULL) : zs_crs_is_same(wanted->srs, now.srs));
    zs_georef_clear(&now);
    return ZS_OK;
}

static enum zs_status write_raster(struct zs_hierarchy *h, struct raster *r, struct zs_georef_out *wanted,
                                   bool *is_aside, struct zs_error *err)
{
    const struct member *base = &r->list[0];
    bool is_done = false;
    struct zs_georef_conventions found;
    if (r->has_own && base->group != NULL) /* an array in the root's place is alone */
        ZS_TRY(find_users(h, r, err));
    zs_georef_conventions_find(h, base->node, base->axes, r->style, &found);
    *is_aside = !r->has_own && found.cf && !found.is_default;
    for (int i = 0; i < 2 && !is_done; i++) {
        if (i == 1) /* in units of the new CRS a transform that is kept may be another one */
            wanted->keeps_transform = wanted->keeps_srs = false;
        ZS_TRY(write_members(h, r, wanted, err));
        ZS_TRY(is_read_as(h, base, wanted, i == 1, &is_done, err));
    }
    return is_done ? ZS_OK
                   : zs_fail(err, ZS_UNSUPPORTED,
                             "%s/%s: this georeferencing cannot be set: variables or groups around it declare another",
                             zs_hierarchy_store(h)->root, base->node->path);
}

enum zs_status zs_update_georefs(struct zs_hierarchy *h, const struct zs_node *const *nodes, const struct zs_axes *axes,
                                 size_t count, const struct zs_georef *now, const struct zs_georef *georef,
                                 enum zs_georef_style style, bool *is_aside, struct zs_error *err)
{
    struct raster r = {.has_own = true, .style = style};
    struct zs_georef set = *georef;
    *is_aside = false;
    enum zs_status status = find_raster(h, nodes, axes, count, &r, err);
    if (status == ZS_OK) {
        if (!zs_georef_has_registration(h, nodes[0], axes[0], style, set.has_transform))
            set.pixel_is_point = now->pixel_is_point;
        struct zs_georef_out wanted = zs_georef_out_make(nodes[0], axes[0], &set);
        wanted.keeps_transform = is_same_transform(&wanted, now);
        wanted.keeps_srs = zs_crs_is_same(set.srs, now->srs);
        if (!wanted.keeps_transform || !wanted.keeps_srs)
            status = write_raster(h, &r, &wanted, is_aside, err);
    }
    if (status == ZS_OK && !zs_hierarchy_is_new(h)) /* uploads that fail are failures of this edit */
        status = zs_store_wait_commits(zs_hierarchy_store(h), err);
    clear_raster(&r);
    return status;
}

/* ---- Properties of bands ---- */

enum zs_status zs_update_empty_array(struct zs_hierarchy *h, const struct zs_node *node, const void *fill_value,
                                     const struct zs_node **replacement, struct zs_error *err)
{
    zs_json *attributes;
    ZS_TRY(zs_array_update_document(h, node, NULL, NULL, fill_value, replacement, err));
    ZS_TRY(zs_hierarchy_edit(h, *replacement, &attributes, err));
    ZS_TRY(zs_hierarchy_keep(h, zs_write_nodata(attributes, &node->array->dtype, fill_value, false, err)));
    return zs_hierarchy_flush(h, err);
}

enum zs_status zs_update_bands(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                               const struct zs_band_properties *bands, size_t count, unsigned which,
                               struct zs_error *err)
{
    struct zs_levels overviews;
    zs_json *attributes;
    ZS_TRY(zs_overviews_find(h, node, axes, &overviews, err));
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    ZS_TRY(zs_bands_write(attributes, node->array, bands, count, which, err));
    which &= ~(unsigned)ZS_BAND_METADATA; /* of pixels of the array, as its statistics are */
    for (size_t i = 0; i < overviews.count && which != 0; i++) {
        const struct zs_node *level = overviews.list[i];
        if (level->array->dtype.type != node->array->dtype.type) /* nodata would be another value */
            continue;
        ZS_TRY(zs_hierarchy_edit(h, level, &attributes, err));
        ZS_TRY(zs_bands_write(attributes, level->array, bands, count, which, err));
    }
    return ZS_OK;
}
