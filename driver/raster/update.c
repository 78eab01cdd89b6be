/* Changing where arrays of a store lie, their band properties and their metadata. */
#include "raster/update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/chain.h"
#include "geo/bands.h"
#include "geo/cf.h"
#include "geo/conventions.h"
#include "geo/crs.h"
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
    size_t place;
};

/* Where members have their coordinate variables and grid mapping, and what these are called: one for each group. */
struct place {
    char *group; /* NULL: of the root, which has none */
    const char *y, *x, *mapping;
    struct zs_georef_shared shared;
};

struct raster {
    struct member *list;
    size_t count, capacity;
    struct place *places;
    size_t place_count, place_capacity;
    const struct zs_node **sorted; /* the nodes, by address */
    const struct zs_node *mask;    /* the last one that was added */
};

static void clear_raster(struct raster *r)
{
    for (size_t i = 0; i < r->place_count; i++)
        free(r->places[i].group);
    free(r->places);
    free(r->sorted);
    free(r->list);
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* The number of a place (whose group is taken over) in the list, to which it is added where it is new. */
static enum zs_status add_place(struct raster *r, struct place place, size_t *number, struct zs_error *err)
{
    size_t i = 0;
    while (i < r->place_count &&
           !(is_same_text(r->places[i].group, place.group) && is_same_text(r->places[i].y, place.y) &&
             is_same_text(r->places[i].x, place.x) && is_same_text(r->places[i].mapping, place.mapping)))
        i++;
    struct place *grown = zs_grow(r->places, r->place_count, &r->place_capacity, sizeof *grown);
    if (grown == NULL || i < r->place_count)
        free(place.group);
    ZS_TRY_MEMORY(grown, err);
    r->places = grown;
    if (i == r->place_count)
        r->places[r->place_count++] = place;
    *number = i;
    return ZS_OK;
}

static enum zs_status add_member(struct zs_hierarchy *h, struct raster *r, struct member one, struct zs_error *err)
{
    struct zs_scope scope;
    bool in_own_group;
    zs_scope_find(h, one.node, &scope);
    const struct zs_node *mapping = zs_grid_mapping_find(h, &scope, &in_own_group);
    const struct place place = {.group = zs_path_parent(one.node->path),
                                .y = zs_dimension_name(one.node, one.axes.y),
                                .x = zs_dimension_name(one.node, one.axes.x),
                                .mapping = mapping != NULL ? zs_path_name(mapping->path) : ZS_GRID_MAPPING};
    if (place.group == NULL && one.node->path[0] != '\0')
        return zs_fail_memory(err);
    ZS_TRY(add_place(r, place, &one.place, err));
    ZS_TRY_GROW(r->list, r->count, &r->capacity, err);
    r->list[r->count++] = one;
    return ZS_OK;
}

static enum zs_status add_with_overviews(struct zs_hierarchy *h, struct raster *r, struct member base,
                                         struct zs_error *err)
{
    struct zs_names levels;
    ZS_TRY(add_member(h, r, base, err));
    ZS_TRY(zs_overviews_find(h, base.node, base.axes, &levels, err));
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < levels.count && status == ZS_OK; i++) {
        struct member level = {.axes = base.axes};
        if (zs_hierarchy_node(h, levels.list[i], &level.node, NULL) == ZS_OK)
            status = add_member(h, r, level, err);
    }
    zs_names_free(levels.list);
    return status;
}

static int by_address(const void *a, const void *b)
{
    const struct zs_node *const *x = a, *const *y = b;
    return ((uintptr_t)*x > (uintptr_t)*y) - ((uintptr_t)*x < (uintptr_t)*y);
}

static enum zs_status find_raster(struct zs_hierarchy *h, const struct zs_node *const *nodes,
                                  const struct zs_axes *axes, size_t count, struct raster *r, struct zs_error *err)
{
    struct zs_mask mask;
    for (size_t i = 0; i < count; i++) {
        if (nodes[i]->array == NULL || axes[i].x < 0 || axes[i].y < 0)
            return zs_fail(err, ZS_ARGUMENT, "%s/%s: expected an array of two dimensions and more",
                           zs_hierarchy_store(h)->root, nodes[i]->path);
        ZS_TRY(add_with_overviews(h, r, (struct member){nodes[i], axes[i], true, 0}, err));
        ZS_TRY(zs_mask_find(h, nodes[i], axes[i], &mask, err));
        if (mask.node != NULL && mask.node != r->mask)
            ZS_TRY(add_with_overviews(h, r, (struct member){mask.node, mask.axes, false, 0}, err));
        r->mask = mask.node != NULL ? mask.node : r->mask;
    }
    r->sorted = zs_calloc(r->count, sizeof(struct zs_node *));
    ZS_TRY_MEMORY(r->sorted, err);
    for (size_t i = 0; i < r->count; i++)
        r->sorted[i] = r->list[i].node;
    qsort(r->sorted, r->count, sizeof *r->sorted, by_address);
    return ZS_OK;
}

/* ---- Whether it has variables of its own ---- */

/* Whether an array below the group of a place has the variable `name` from there: no group between has one. */
static bool inherits(struct zs_hierarchy *h, const struct zs_node *other, const struct place *place, const char *name)
{
    char *own = zs_path_parent(other->path);
    const bool is_nearest = own == NULL || zs_nearest_array(h, own, place->group, name) == NULL;
    free(own);
    return is_nearest;
}

/* Whether an array that is no member would be read as lying elsewhere, were the variables of a place changed: it has
 * one of their dimensions, or names the grid mapping, or (a picture directly in the group) may have the group's. */
static bool uses(struct zs_hierarchy *h, const struct zs_node *other, bool is_auxiliary, const struct place *place)
{
    const char *below = zs_path_below(place->group, other->path);
    if (below == NULL || other->array == NULL)
        return false;
    if (!is_auxiliary && other->array->ndim >= 2 && strchr(below, '/') == NULL)
        return true;
    for (int d = 0; d < other->array->ndim; d++) {
        const char *name = zs_dimension_name(other, d);
        if (name != NULL && strcmp(below, name) != 0 &&
            (is_same_text(name, place->y) || is_same_text(name, place->x)) && inherits(h, other, place, name))
            return true;
    }
    return (zs_has_word(zs_grid_mapping_name(other->attributes), place->mapping, true) ||
            zs_has_word(zs_json_text(other->attributes, "coordinates", NULL), place->mapping, true)) &&
           inherits(h, other, place, place->mapping);
}

/* Whether an array that is no member uses the variables of a place. In a store that cannot be listed one might. */
static enum zs_status has_user(struct zs_hierarchy *h, const struct raster *r, bool *has, struct zs_error *err)
{
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    enum zs_status status = zs_hierarchy_list(h, &nodes, &count, err);
    *has = status == ZS_UNSUPPORTED;
    if (status != ZS_OK)
        return *has ? ZS_OK : status;
    bool *is_auxiliary = zs_calloc(count + 1, sizeof *is_auxiliary);
    status = is_auxiliary != NULL ? zs_auxiliary_mark(nodes, count, is_auxiliary, err) : zs_fail_memory(err);
    for (size_t i = 0; i < count && status == ZS_OK && !*has; i++)
        for (size_t k = 0; k < r->place_count && !*has; k++)
            *has = uses(h, nodes[i], is_auxiliary[i], &r->places[k]) &&
                   bsearch(&nodes[i], r->sorted, r->count, sizeof *r->sorted, by_address) == NULL;
    free(is_auxiliary);
    free(nodes);
    return status;
}

/* Whether a variable of an array lies in another group than that. */
static bool is_elsewhere(const struct zs_node *variable, const char *group)
{
    const char *below = variable != NULL ? zs_path_below(group, variable->path) : NULL;
    return variable != NULL && (below == NULL || strchr(below, '/') != NULL);
}

/* Whether a member's coordinate variables and grid mapping are in its group, as far as it has some. */
static bool has_variables_beside(struct zs_hierarchy *h, const struct raster *r, const struct member *one)
{
    struct zs_scope scope;
    bool in_own_group;
    const char *group = r->places[one->place].group;
    zs_scope_find(h, one->node, &scope);
    const struct zs_node *mapping = zs_grid_mapping_find(h, &scope, &in_own_group);
    if (mapping == NULL && zs_sibling(h, one->node, ZS_GRID_MAPPING) != NULL)
        return false; /* of arrays that do not name it either */
    return group == NULL || (!is_elsewhere(mapping, group) &&
                             !is_elsewhere(zs_coordinate_find(h, one->node, one->axes.y), group) &&
                             !is_elsewhere(zs_coordinate_find(h, one->node, one->axes.x), group));
}

static enum zs_status has_own_variables(struct zs_hierarchy *h, const struct raster *r, bool *has_own,
                                        struct zs_error *err)
{
    bool is_used = false;
    *has_own = true;
    for (size_t i = 0; i < r->count && *has_own; i++)
        *has_own = has_variables_beside(h, r, &r->list[i]);
    if (*has_own && r->places[0].group != NULL) /* an array in the root's place is alone */
        ZS_TRY(has_user(h, r, &is_used, err));
    *has_own = *has_own && !is_used;
    return ZS_OK;
}

/* ---- Writing it anew ---- */

/* The georeferencing of the base at the size of a member, with the names of its dimensions. */
static struct zs_georef_out georef_of(const struct member *one, const struct zs_georef_out *base)
{
    struct zs_georef_out at =
        zs_georef_at_size(base, one->node->array->shape[one->axes.x], one->node->array->shape[one->axes.y]);
    zs_georef_out_name_dimensions(&at, one->node, one->axes);
    return at;
}

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
            zs_convention_remove_members(&zs_proj, entry);
        if (geo->keeps_transform || !zs_spatial_is_declared(entry))
            continue;
        struct zs_georef_out at = *geo;
        if (zs_level_size(h, group, &layout.level[i], base->node, base->axes, &width, &height))
            at = zs_georef_at_size(geo, width, height);
        else
            at.has_transform = false;
        if (!zs_spatial_write_level(entry, &at))
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
        if (source->kind != ZS_SOURCE_GROUP || (source->has_layout && !source->is_base) ||
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

/* The georeferencing that a member gets: a transform that is kept is its own, which need not be that of the base. */
static enum zs_status find_wanted(struct zs_hierarchy *h, const struct member *one, const struct zs_georef_out *base,
                                  struct zs_georef_out *at, struct zs_error *err)
{
    struct zs_georef now;
    *at = georef_of(one, base);
    if (!base->keeps_transform || one->is_asked)
        return ZS_OK;
    ZS_TRY(zs_georef_read(h, one->node, one->axes, &now, err));
    at->has_transform = now.has_transform;
    memcpy(at->transform, now.transform, sizeof at->transform);
    zs_georef_clear(&now);
    return ZS_OK;
}

/* Writes all members in the conventions that they have: where the first has none, in all. */
static enum zs_status write_anew(struct zs_hierarchy *h, struct raster *r, const struct zs_georef_out *geo,
                                 struct zs_error *err)
{
    struct zs_georef_conventions first, own;
    zs_georef_conventions_find(h, r->list[0].node, r->list[0].axes, &first);
    for (size_t i = 0; i < r->count; i++) {
        const struct member *one = &r->list[i];
        struct zs_georef_out at;
        ZS_TRY(find_wanted(h, one, geo, &at, err));
        zs_georef_conventions_find(h, one->node, one->axes, &own);
        ZS_TRY(zs_georef_write(h, one->node, one->axes, first.is_default || own.is_default ? &first : &own, &at,
                               &r->places[one->place].shared, err));
        if (i == 0) /* the groups of the others declare the same */
            ZS_TRY(write_groups(h, one, &at, err));
    }
    return ZS_OK;
}

/* ---- Writing it to its arrays alone ---- */

static enum zs_status write_aside(struct zs_hierarchy *h, const struct raster *r, const struct zs_georef_out *geo,
                                  struct zs_error *err)
{
    zs_json *attributes;
    for (size_t i = 0; i < r->count; i++) {
        const struct zs_georef_out at = georef_of(&r->list[i], geo);
        ZS_TRY(zs_hierarchy_edit(h, r->list[i].node, &attributes, err));
        ZS_TRY(zs_write_spatial_proj(attributes, &at, err));
        ZS_TRY(zs_gdal_members_write(attributes, &at, err));
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
    bool is_own, is_done = false;
    struct zs_georef_conventions found;
    ZS_TRY(has_own_variables(h, r, &is_own, err));
    zs_georef_conventions_find(h, r->list[0].node, r->list[0].axes, &found);
    *is_aside = !is_own && found.cf && !found.is_default;
    for (int i = 0; i < 2 && !is_done; i++) {
        if (i == 1) /* in units of the new CRS a transform that is kept may be another one */
            wanted->keeps_transform = wanted->keeps_srs = false;
        for (size_t k = 0; k < r->place_count; k++)
            r->places[k].shared.is_written = false;
        ZS_TRY(is_own ? write_anew(h, r, wanted, err) : write_aside(h, r, wanted, err));
        ZS_TRY(is_read_as(h, &r->list[0], wanted, i == 1, &is_done, err));
    }
    return is_done ? ZS_OK
                   : zs_fail(err, ZS_UNSUPPORTED,
                             "%s/%s: this georeferencing cannot be set: variables or groups around it declare another",
                             zs_hierarchy_store(h)->root, r->list[0].node->path);
}

enum zs_status zs_update_georefs(struct zs_hierarchy *h, const struct zs_node *const *nodes, const struct zs_axes *axes,
                                 size_t count, const struct zs_georef_update *update, bool *is_aside,
                                 struct zs_error *err)
{
    struct raster r = {0};
    struct zs_georef now = {0};
    *is_aside = false;
    enum zs_status status = find_raster(h, nodes, axes, count, &r, err);
    if (status == ZS_OK)
        status = zs_georef_read(h, nodes[0], axes[0], &now, err);
    if (status == ZS_OK) {
        struct zs_georef set = now;
        set.srs = update->keeps_srs ? now.srs : update->srs;
        if (!update->keeps_transform) {
            set.has_transform = update->has_transform;
            memcpy(set.transform, update->transform, sizeof set.transform);
        }
        if (!update->keeps_registration && zs_georef_has_registration(h, nodes[0], axes[0], set.has_transform))
            set.pixel_is_point = update->pixel_is_point;
        struct zs_georef_out wanted = zs_georef_out_make(nodes[0], axes[0], &set);
        wanted.keeps_transform = is_same_transform(&wanted, &now);
        wanted.keeps_srs = zs_crs_is_same(set.srs, now.srs);
        if (!wanted.keeps_transform || !wanted.keeps_srs)
            status = write_raster(h, &r, &wanted, is_aside, err);
    }
    if (status == ZS_OK && !zs_hierarchy_is_new(h)) /* uploads that fail are failures of this edit */
        status = zs_store_wait_commits(zs_hierarchy_store(h), err);
    zs_georef_clear(&now);
    clear_raster(&r);
    return status;
}

/* ---- HEALPix cells ---- */

enum zs_status zs_update_healpix(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_healpix *healpix,
                                 struct zs_error *err)
{
    const struct zs_node *group;
    zs_json *attributes;
    char *path = zs_path_parent(node->path);
    const char *dimension = zs_dimension_name(node, healpix->dim);
    const char *coordinate = healpix->coordinate != NULL ? zs_path_name(healpix->coordinate->path) : NULL;
    enum zs_status status = path != NULL && dimension != NULL ? zs_hierarchy_node(h, path, &group, err)
                                                              : zs_fail(err, ZS_ARGUMENT, "cells without a group");
    free(path);
    ZS_TRY(status);
    ZS_TRY(zs_hierarchy_edit(h, group, &attributes, err));
    return zs_write_dggs(attributes, healpix, dimension, coordinate, err);
}

/* ---- Properties of bands ---- */

/* Removes the nodata values of single bands: the array's is that of all. */
static void remove_band_nodata(zs_json *attributes)
{
    zs_json *bands = zs_json_get_mutable(attributes, ZS_BANDS_ATTRIBUTE);
    for (const zs_json *e = zs_json_first(bands); e != NULL; e = zs_json_next(e))
        if (zs_json_is_object(e))
            zs_json_remove((zs_json *)(uintptr_t)e, "nodata"); /* part of the attributes that are being edited */
}

static enum zs_status set_fill_value(zs_json *document, const struct zs_dtype *dtype, const void *value,
                                     struct zs_error *err)
{
    zs_json *attributes = zs_document_attributes(document);
    zs_json_remove(document, "fill_value");
    if (attributes == NULL || zs_fill_value_add(document, "fill_value", dtype, value) == NULL)
        return zs_fail_memory(err);
    return zs_write_nodata(attributes, dtype, value, false, err);
}

enum zs_status zs_update_empty_array(struct zs_hierarchy *h, const struct zs_node *node, const void *fill_value,
                                     const struct zs_blosc_settings *filter, const struct zs_node **replacement,
                                     struct zs_error *err)
{
    zs_json *document = zs_json_copy(node->document);
    ZS_TRY_MEMORY(document, err);
    enum zs_status status = ZS_OK;
    if (fill_value != NULL)
        status = set_fill_value(document, &node->array->dtype, fill_value, err);
    if (status == ZS_OK && filter != NULL && !zs_blosc_set(zs_json_get_mutable(document, "codecs"), filter))
        status = zs_fail(err, ZS_UNSUPPORTED, "array /%s: has no codec \"blosc\"", node->path);
    if (status != ZS_OK) {
        zs_json_free(document);
        return status;
    }
    struct zs_node *fresh;
    ZS_TRY(zs_node_create(node->path, document, true, &fresh, err));
    ZS_TRY(zs_hierarchy_update_node(h, fresh, err));
    *replacement = fresh;
    return zs_hierarchy_flush(h, err);
}

static bool has_one_nodata(const struct zs_band_properties *bands, size_t count, size_t size)
{
    bool is_same = true;
    for (size_t i = 1; i < count && is_same; i++)
        is_same = bands[i].has_nodata == bands[0].has_nodata &&
                  (!bands[0].has_nodata || memcmp(bands[i].nodata, bands[0].nodata, size) == 0);
    return is_same;
}

/* Writes the properties into the attributes of the array, or of an overview of it. */
static enum zs_status write_bands(struct zs_hierarchy *h, const struct zs_node *node, bool is_level,
                                  const struct zs_band_properties *bands, size_t count, unsigned which,
                                  struct zs_error *err)
{
    const struct zs_dtype *dtype = &node->array->dtype;
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    if ((which & ZS_BAND_NODATA) != 0 && has_one_nodata(bands, count, dtype->size)) { /* the array's, for all */
        remove_band_nodata(attributes);
        ZS_TRY(zs_write_nodata(attributes, dtype, bands[0].has_nodata ? bands[0].nodata : NULL, false, err));
        which &= ~(unsigned)ZS_BAND_NODATA;
    }
    if (which != 0)
        ZS_TRY(zs_bands_write(attributes, dtype, node->array, false, bands, count, which, err));
    if (is_level && (which & ZS_BAND_METADATA) != 0)
        zs_remove_statistics(attributes); /* of other pixels */
    return ZS_OK;
}

enum zs_status zs_update_bands(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                               const struct zs_band_properties *bands, size_t count, unsigned which,
                               struct zs_error *err)
{
    struct zs_names overviews;
    ZS_TRY(zs_overviews_find(h, node, axes, &overviews, err));
    enum zs_status status = write_bands(h, node, false, bands, count, which, err);
    for (size_t i = 0; i < overviews.count && status == ZS_OK; i++) {
        const struct zs_node *level;
        if (zs_hierarchy_node(h, overviews.list[i], &level, NULL) == ZS_OK)
            status = write_bands(h, level, true, bands, count, which, err);
    }
    zs_names_free(overviews.list);
    return status;
}

/* ---- Metadata ---- */

/* Whether an attribute is one that zs_update_metadata() may take away. */
static bool is_plain(const char *name)
{
    return zs_is_item_name(name) && !zs_is_convention_attribute(name) && strcmp(name, "long_name") != 0 &&
           strcmp(name, "standard_name") != 0;
}

/* Writes one item: as an attribute where its name has no other meaning, else aside; long_name and standard_name are
 * replaced where they are texts. */
static bool write_item(zs_json *attributes, const char *name, const char *item, const char *value)
{
    const zs_json *old = zs_json_get(attributes, name);
    if (zs_is_item_of(attributes, name, item))
        return true;
    if (is_plain(name))
        return zs_json_add_string(attributes, name, value) != NULL;
    if (zs_json_typeof(old) == ZS_JSON_STRING && !zs_is_convention_attribute(name)) {
        zs_json_remove(attributes, name);
        return zs_json_add_string(attributes, name, value) != NULL;
    }
    return zs_item_put_aside(attributes, name, value);
}

/* Removes the items that were put aside and are not in the list. */
static enum zs_status remove_others_aside(zs_json *attributes, const char *const *metadata, struct zs_error *err)
{
    zs_json *aside = zs_json_get_mutable(attributes, ZS_ITEMS_ATTRIBUTE);
    if (!zs_json_is_object(aside))
        return ZS_OK;
    if (!zs_items_remove_others(aside, zs_is_item_name, metadata))
        return zs_fail_memory(err);
    if (zs_json_size(aside) == 0)
        zs_json_remove(attributes, ZS_ITEMS_ATTRIBUTE);
    return ZS_OK;
}

enum zs_status zs_update_metadata(struct zs_hierarchy *h, const struct zs_node *node, const char *const *metadata,
                                  struct zs_error *err)
{
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    if (!zs_items_remove_others(attributes, is_plain, metadata))
        return zs_fail_memory(err);
    ZS_TRY(remove_others_aside(attributes, metadata, err));
    for (; metadata != NULL && *metadata != NULL; metadata++) {
        char *name;
        const char *value;
        bool ok = zs_item_split(*metadata, &name, &value);
        if (name != NULL && !zs_is_item_of(zs_json_get(attributes, ZS_ITEMS_ATTRIBUTE), name, *metadata))
            ok = write_item(attributes, name, *metadata, value);
        free(name);
        if (!ok)
            return zs_fail_memory(err);
    }
    return ZS_OK;
}

enum zs_status zs_update_domains(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_domains *domains,
                                 struct zs_error *err)
{
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    return zs_domains_write(attributes, ZS_DOMAINS_ATTRIBUTE, domains) ? ZS_OK : zs_fail_memory(err);
}

enum zs_status zs_update_gcps(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_gcps *gcps,
                              struct zs_error *err)
{
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    return zs_gcps_write(attributes, gcps, err);
}
