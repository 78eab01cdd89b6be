#include "raster/update.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/array_crs.h"
#include "geo/bands.h"
#include "geo/cf.h"
#include "geo/conventions.h"
#include "geo/crs.h"
#include "geo/meaning_parts.h"
#include "geo/place.h"
#include "geo/variables.h"
#include "raster/overviews_private.h"

/* ---- The array and its relatives ---- */

/* An array that is to be changed with another. */
struct relative {
    const struct zs_node *node;
    struct zs_axes axes;
    struct zs_place_style style;
    char *mapping;            /* a name that is not the style's; NULL: that */
    OGRSpatialReferenceH srs; /* that it had, NULL: none */
    bool keeps_srs;           /* it follows in all but that */
};
struct relatives {
    struct relative *list;
    size_t count;
};

static const struct relative *find_relative(const struct relatives *r, const struct zs_node *node)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].node == node)
            return &r->list[i];
    return NULL;
}

static enum zs_status add_relative(struct relatives *r, struct relative relative, struct zs_error *err)
{
    if (find_relative(r, relative.node) != NULL)
        return ZS_OK;
    struct relative *grown = realloc(r->list, (r->count + 1) * sizeof *grown);
    if (grown == NULL)
        return zs_no_memory(err);
    r->list = grown;
    r->list[r->count++] = relative;
    if (relative.srs != NULL)
        OSRReference(relative.srs);
    return ZS_OK;
}

static void relatives_clear(struct relatives *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->list[i].mapping);
        if (r->list[i].srs != NULL)
            OSRRelease(r->list[i].srs);
    }
    free(r->list);
}

/* Adds an array and its overviews. With `style` those that use no convention of their own follow it. */
static enum zs_status add_family(struct zs_hierarchy *h, struct relatives *r, struct relative base,
                                 const struct zs_place_style *style, struct zs_error *err)
{
    char **paths;
    size_t count;
    if (style != NULL)
        base.style = *style;
    ZS_TRY(add_relative(r, base, err));
    ZS_TRY(zs_overviews_find_all(h, base.node, base.axes, &paths, &count, err));
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < count && status == ZS_OK; i++) {
        struct relative level = base;
        if (zs_hierarchy_node(h, paths[i], &level.node, NULL) != ZS_OK)
            continue;
        if (style != NULL) {
            zs_place_style_find(h, level.node, level.axes, &level.style);
            if (level.style.is_default)
                level.style = *style;
            level.style.drops_coordinates = style->drops_coordinates;
        }
        status = add_relative(r, level, err);
    }
    zs_paths_free(paths, count);
    return status;
}

/* The dimension of `node` with this name and size, -1 when it has none. */
static int same_dimension(const struct zs_node *node, const char *name, uint64_t size)
{
    for (int d = 0; d < node->array->ndim && name != NULL; d++) {
        const char *theirs = zs_dimension_name(node, d);
        if (theirs != NULL && strcmp(theirs, name) == 0)
            return node->array->shape[d] == size ? d : -1;
    }
    return -1;
}

/* Adds an array with the same X and Y as another. */
static enum zs_status add_sibling(struct zs_hierarchy *h, struct relatives *r, struct relative sibling,
                                  const struct relative *of, struct zs_error *err)
{
    struct zs_place_style style;
    struct zs_georef now;
    zs_place_style_find(h, sibling.node, sibling.axes, &style);
    style.drops_coordinates = of->style.drops_coordinates;
    if (style.is_default || find_relative(r, sibling.node) != NULL)
        return ZS_OK;
    ZS_TRY(zs_georef_read(h, sibling.node, sibling.axes, &now, err));
    sibling.srs = now.srs;
    sibling.keeps_srs = !zs_crs_is_same(now.srs, of->srs);
    const enum zs_status status = add_family(h, r, sibling, &style, err);
    zs_georef_clear(&now);
    return status;
}

/* Adds the arrays of the same group that have the same X and Y: they share the coordinate variables. */
static enum zs_status add_siblings(struct zs_hierarchy *h, struct relatives *r, const struct relative *of,
                                   struct zs_error *err)
{
    const struct zs_node **nodes = NULL, *node = of->node;
    size_t count = 0;
    const char *x = zs_dimension_name(node, of->axes.x), *y = zs_dimension_name(node, of->axes.y);
    char *group = x != NULL && y != NULL ? zs_path_parent(node->path) : NULL;
    if (group == NULL)
        return ZS_OK;
    enum zs_status status = ZS_OK;
    if (zs_hierarchy_list(h, &nodes, &count, NULL) != ZS_OK) /* what cannot be listed shares nothing we know of */
        count = 0;
    for (size_t i = 0; i < count && status == ZS_OK; i++) {
        const struct zs_node *other = nodes[i];
        const char *below = zs_path_below(group, other->path);
        if (other == node || below == NULL || strchr(below, '/') != NULL || other->array == NULL ||
            other->array->ndim < 2)
            continue;
        const struct relative sibling = {.node = other,
                                         .axes = {same_dimension(other, x, node->array->shape[of->axes.x]),
                                                  same_dimension(other, y, node->array->shape[of->axes.y])}};
        if (sibling.axes.x >= 0 && sibling.axes.y >= 0)
            status = add_sibling(h, r, sibling, of, err);
    }
    free(nodes);
    free(group);
    return status;
}

/* ---- Groups ---- */

/* What a group says of the arrays in it, as far as it says it. */
static enum zs_status write_group(struct zs_hierarchy *h, const struct zs_node *group, const struct zs_georef_out *geo,
                                  struct zs_error *err)
{
    zs_json *attributes;
    for (const struct zs_convention *const *c = zs_conventions; *c != NULL; c++) {
        if ((*c)->concerns == NULL || !(*c)->concerns(group->attributes, geo))
            continue;
        ZS_TRY(zs_hierarchy_edit(h, group, &attributes, err));
        ZS_TRY((*c)->change(attributes, ZS_PLACE_GROUP, geo, err));
    }
    return ZS_OK;
}

/* The entries of a group's multiscales that list the array. */
static enum zs_status write_entries(struct zs_hierarchy *h, const struct zs_node *group, const struct zs_node *node,
                                    struct zs_axes axes, const struct zs_georef_out *geo, struct zs_error *err)
{
    struct zs_layout layout;
    const char *below = zs_path_below(group->path, node->path);
    zs_json *attributes;
    if (below == NULL || !zs_layout_first(group->attributes, &layout) || layout.is_foreign ||
        zs_layout_find(&layout, below) < 0)
        return ZS_OK;
    ZS_TRY(zs_hierarchy_edit(h, group, &attributes, err));
    for (int i = 0; i < layout.count; i++) {
        uint64_t width, height;
        struct zs_georef_out at = *geo;
        if (zs_level_size(h, group, &layout.level[i], node, axes, &width, &height))
            at = zs_georef_at_size(geo, width, height);
        else
            at.has_transform = false;
        /* Part of the attributes that are being edited. */
        zs_json *entry = (zs_json *)(uintptr_t)layout.level[i].entry;
        for (const struct zs_convention *const *c = zs_conventions; *c != NULL; c++)
            if ((*c)->change != NULL)
                ZS_TRY((*c)->change(entry, ZS_PLACE_ENTRY, &at, err));
    }
    return ZS_OK;
}

/* Whether there are arrays in a group that do not follow: what it says is said of them, too. */
static bool has_others(struct zs_hierarchy *h, const struct relatives *r, const struct zs_node *group)
{
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    bool has = false;
    if (zs_hierarchy_list(h, &nodes, &count, NULL) != ZS_OK)
        count = 0;
    for (size_t i = 0; i < count && !has; i++)
        has = nodes[i]->array != NULL && nodes[i]->array->ndim >= 2 && zs_path_below(group->path, nodes[i]->path) &&
              find_relative(r, nodes[i]) == NULL;
    free(nodes);
    return has;
}

/* `alone`: those that are changed, where nothing else follows; else NULL. */
static enum zs_status write_groups(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                   const struct zs_georef_out *geo, const struct relatives *alone, struct zs_error *err)
{
    struct zs_scope scope;
    zs_scope_find(h, node, &scope);
    for (int i = 0; i < scope.places; i++) {
        const struct zs_place *place = &scope.place[i];
        if (place->kind == ZS_PLACE_GROUP && (!place->has_layout || place->is_base) &&
            (alone == NULL || !has_others(h, alone, place->group)))
            ZS_TRY(write_group(h, place->group, geo, err));
    }
    for (int g = 0; g < scope.groups; g++)
        ZS_TRY(write_entries(h, scope.group[g], node, axes, geo, err));
    return ZS_OK;
}

/* ---- Georeferencing ---- */

/* Adds an array and its overviews, each with the style that it is to have. */
static enum zs_status add_array(struct zs_hierarchy *h, struct relatives *r, const struct zs_node *node,
                                struct zs_axes axes, const struct zs_georef_update *update, struct zs_error *err)
{
    struct zs_georef now;
    struct zs_place_style style;
    if (node->array == NULL || axes.x < 0 || axes.y < 0)
        return zs_fail(err, ZS_ARGUMENT, "%s/%s: expected an array of two dimensions and more",
                       zs_hierarchy_store(h)->root, node->path);
    ZS_TRY(zs_georef_read(h, node, axes, &now, err));
    zs_place_style_find(h, node, axes, &style);
    /* CF tells a rotation to few: only the convention that GDAL 3.13 reads it from will do. */
    if (update->has_transform && (update->transform[2] != 0 || update->transform[4] != 0))
        style.spatial_proj = true;
    style.drops_coordinates = now.has_transform && !update->has_transform;
    const enum zs_status status =
        add_family(h, r, (struct relative){.node = node, .axes = axes, .srs = now.srs}, &style, err);
    zs_georef_clear(&now);
    return status;
}

/* Whether an array beside it, one that does not follow, has the grid mapping, too. */
static enum zs_status is_shared(struct zs_hierarchy *h, const struct relatives *r, const struct relative *one,
                                bool *shared, struct zs_error *err)
{
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    char *group = zs_path_parent(one->node->path);
    *shared = false;
    if (group == NULL)
        return zs_no_memory(err);
    if (zs_hierarchy_list(h, &nodes, &count, NULL) != ZS_OK)
        count = 0;
    for (size_t i = 0; i < count && !*shared; i++) {
        const char *below = zs_path_below(group, nodes[i]->path), *named = zs_grid_mapping_name(nodes[i]->attributes);
        const struct relative *other = find_relative(r, nodes[i]);
        *shared = nodes[i] != one->node && below != NULL && strchr(below, '/') == NULL && named != NULL &&
                  strcmp(named, one->style.mapping_name) == 0 && (other == NULL || other->keeps_srs != one->keeps_srs);
    }
    free(nodes);
    free(group);
    return ZS_OK;
}

/* A grid mapping of its own, or of whoever has that CRS, where its own is that of arrays that do not follow. */
static enum zs_status choose_mapping(struct zs_hierarchy *h, const struct relatives *r, struct relative *one,
                                     OGRSpatialReferenceH srs, struct zs_error *err)
{
    bool shared = false;
    const struct zs_node *own = zs_sibling(h, one->node, one->style.mapping_name);
    if (one->style.cf && own != NULL && !zs_mapping_has_crs(own, srs))
        ZS_TRY(is_shared(h, r, one, &shared, err));
    if (!shared)
        return ZS_OK;
    ZS_TRY(zs_array_mapping_find(h, one->node, srs, &one->mapping, err));
    one->style.mapping_name = one->mapping;
    return ZS_OK;
}

enum zs_status zs_update_georefs(struct zs_hierarchy *h, const struct zs_node *const *nodes, const struct zs_axes *axes,
                                 size_t count, const struct zs_georef_update *update, struct zs_error *err)
{
    /* All is found out before anything is changed; what is asked for goes before what follows it. */
    struct relatives r = {0};
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < count && status == ZS_OK; i++)
        status = add_array(h, &r, nodes[i], axes[i], update, err);
    for (size_t i = 0; i < count && status == ZS_OK && !update->is_alone; i++) {
        const struct relative of = *find_relative(&r, nodes[i]); /* the list moves when it grows */
        status = add_siblings(h, &r, &of, err);
    }

    struct zs_georef wanted = {
        .has_transform = update->has_transform, .pixel_is_point = update->pixel_is_point, .srs = update->srs};
    memcpy(wanted.transform, update->transform, sizeof wanted.transform);
    struct zs_georef_out geo = {0};
    if (status == ZS_OK)
        geo = zs_place_out(nodes[0], axes[0], &wanted);
    for (size_t i = 0; i < r.count && status == ZS_OK; i++) {
        struct relative *one = &r.list[i];
        struct zs_georef_out at =
            zs_georef_at_size(&geo, one->node->array->shape[one->axes.x], one->node->array->shape[one->axes.y]);
        if (one->keeps_srs)
            at.srs = one->srs;
        zs_place_name_dimensions(&at, one->node, one->axes);
        status = choose_mapping(h, &r, one, at.srs, err);
        if (status == ZS_OK)
            status = zs_place_write(h, one->node, one->axes, &one->style, &at, err);
        if (status == ZS_OK && !one->keeps_srs)
            status = write_groups(h, one->node, one->axes, &at, update->is_alone ? &r : NULL, err);
    }
    relatives_clear(&r);
    return status;
}

enum zs_status zs_update_georef(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                const struct zs_georef_update *update, struct zs_error *err)
{
    return zs_update_georefs(h, &node, &axes, 1, update, err);
}

/* ---- Meaning ---- */

/* Nodata of bands that differed, which the array's now goes before. */
static void remove_band_nodata(zs_json *attributes)
{
    zs_json *bands = zs_json_get_mutable(attributes, ZS_BANDS_ATTRIBUTE);
    for (const zs_json *e = zs_json_first(bands); e != NULL; e = zs_json_next(e))
        if (zs_json_is_object(e))
            zs_json_remove((zs_json *)(uintptr_t)e, "nodata"); /* part of the attributes that are being edited */
}

enum zs_status zs_update_fill_value(struct zs_hierarchy *h, const struct zs_node *node, const void *value,
                                    const struct zs_node **replacement, struct zs_error *err)
{
    const struct zs_dtype *dtype = &node->array->dtype;
    zs_json *document = zs_json_copy(node->document);
    zs_json *attributes = document != NULL ? zs_document_attributes(document) : NULL;
    if (document != NULL)
        zs_json_remove(document, "fill_value");
    enum zs_status status = ZS_OK;
    if (attributes == NULL || zs_fill_value_add(document, "fill_value", dtype, value) == NULL)
        status = zs_no_memory(err);
    if (status == ZS_OK)
        status = zs_write_nodata(attributes, dtype, value, err);
    if (status != ZS_OK) {
        zs_json_free(document);
        return status;
    }
    struct zs_node *fresh;
    ZS_TRY(zs_node_create(node->path, document, true, &fresh, err));
    ZS_TRY(zs_hierarchy_add(h, fresh, err));
    *replacement = fresh;
    return zs_hierarchy_flush(h, err);
}

/* What is written into the attributes of each array of a family; `wanted` is the caller's. */
typedef enum zs_status (*write_fn)(zs_json *attributes, const struct zs_dtype *dtype, const void *wanted,
                                   struct zs_error *err);

/* Changes the array and its overviews alike. */
static enum zs_status update_family(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                    write_fn write, const void *wanted, struct zs_error *err)
{
    struct relatives r = {0};
    if (node->array == NULL)
        return zs_fail(err, ZS_ARGUMENT, "%s/%s: expected an array", zs_hierarchy_store(h)->root, node->path);
    enum zs_status status = add_family(h, &r, (struct relative){.node = node, .axes = axes}, NULL, err);
    for (size_t i = 0; i < r.count && status == ZS_OK; i++) {
        zs_json *attributes;
        status = zs_hierarchy_edit(h, r.list[i].node, &attributes, err);
        if (status == ZS_OK)
            status = write(attributes, &r.list[i].node->array->dtype, wanted, err);
    }
    relatives_clear(&r);
    return status;
}

static enum zs_status write_nodata(zs_json *attributes, const struct zs_dtype *dtype, const void *value,
                                   struct zs_error *err)
{
    remove_band_nodata(attributes);
    return zs_write_nodata(attributes, dtype, value, err);
}

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

enum zs_status zs_update_nodata(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                const void *value, struct zs_error *err)
{
    return update_family(h, node, axes, write_nodata, value, err);
}

struct meanings {
    const struct zs_meaning *bands;
    size_t count;
};

static enum zs_status write_meanings(zs_json *attributes, const struct zs_dtype *dtype, const void *wanted,
                                     struct zs_error *err)
{
    const struct meanings *m = wanted;
    return zs_write_band_meanings(attributes, dtype, m->bands, m->count, err);
}

enum zs_status zs_update_bands(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                               const struct zs_meaning *bands, size_t count, struct zs_error *err)
{
    return update_family(h, node, axes, write_meanings, &(struct meanings){bands, count}, err);
}

enum zs_status zs_update_drop_statistics(struct zs_hierarchy *h, const struct zs_node *node, struct zs_error *err)
{
    zs_json *attributes;
    if (!zs_has_statistics(node->attributes))
        return ZS_OK;
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    zs_remove_statistics(attributes);
    return ZS_OK;
}

/* ---- Metadata ---- */

/* Whether an attribute is one that zs_update_metadata() may take away. */
static bool is_plain(const char *name)
{
    return name != NULL && name[0] != '\0' && !zs_is_convention_attribute(name) && strcmp(name, "long_name") != 0 &&
           strcmp(name, "standard_name") != 0;
}

static bool is_in_list(const char *const *metadata, const char *item)
{
    for (; metadata != NULL && *metadata != NULL; metadata++)
        if (strcmp(*metadata, item) == 0)
            return true;
    return false;
}

/* Removes the plain attributes that are not in the list as they are. */
static enum zs_status remove_others(zs_json *attributes, const char *const *metadata, struct zs_error *err)
{
    const zs_json *next;
    for (const zs_json *a = zs_json_first(attributes); a != NULL; a = next) {
        next = zs_json_next(a);
        if (!is_plain(zs_json_name(a)))
            continue;
        char *item = zs_metadata_item(zs_json_name(a), a);
        if (item == NULL)
            return zs_no_memory(err);
        const bool is_kept = is_in_list(metadata, item);
        free(item);
        if (!is_kept)
            zs_json_remove(attributes, zs_json_name(a));
    }
    return ZS_OK;
}

enum zs_status zs_update_metadata(struct zs_hierarchy *h, const struct zs_node *node, const char *const *metadata,
                                  struct zs_error *err)
{
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    ZS_TRY(remove_others(attributes, metadata, err));
    for (; metadata != NULL && *metadata != NULL; metadata++) {
        const char *equals = strchr(*metadata, '=');
        if (equals == NULL || equals == *metadata)
            continue;
        char *name = zs_strndup(*metadata, (size_t)(equals - *metadata));
        bool ok = name != NULL;
        if (ok && is_plain(name) && zs_json_get(attributes, name) == NULL)
            ok = zs_json_add_string(attributes, name, equals + 1) != NULL;
        free(name);
        if (!ok)
            return zs_no_memory(err);
    }
    return ZS_OK;
}

enum zs_status zs_update_domains(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_domains *domains,
                                 struct zs_error *err)
{
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(h, node, &attributes, err));
    return zs_domains_write(attributes, ZS_DOMAINS_ATTRIBUTE, domains) ? ZS_OK : zs_no_memory(err);
}

/* ---- The flush ---- */

enum zs_status zs_update_flush(struct zs_hierarchy *h, struct zs_error *err)
{
    return zs_hierarchy_flush(h, err);
}
