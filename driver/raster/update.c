#include "raster/update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "geo/conventions.h"
#include "geo/coordinates.h"
#include "geo/crs.h"
#include "geo/georef_write.h"
#include "geo/variables.h"
#include "raster/edited.h"

/* ---- Groups ---- */

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
                ZS_TRY((*c)->change(entry, ZS_SOURCE_ENTRY, &at, err));
    }
    return ZS_OK;
}

/* Whether a group's statements hold for an array below it: one directly in it, or of a level that it lays out. */
static bool holds_for(const struct zs_node *group, const struct zs_layout *layout, const struct zs_node *node)
{
    const char *below = zs_path_below(group->path, node->path);
    return below != NULL && (strchr(below, '/') == NULL || (layout != NULL && zs_layout_find(layout, below) >= 0));
}

/* Whether there are arrays that do not follow for which a group's statements hold. */
static enum zs_status has_others(struct zs_hierarchy *h, const struct zs_edits *edits, const struct zs_node *group,
                                 bool *has, struct zs_error *err)
{
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    struct zs_layout layout;
    const bool has_layout = zs_layout_first(group->attributes, &layout);
    *has = false;
    ZS_TRY(zs_edited_list_nodes(h, &nodes, &count, err));
    for (size_t i = 0; i < count && !*has; i++)
        *has = nodes[i]->array != NULL && nodes[i]->array->ndim >= 2 && zs_edited_find(edits, nodes[i]) == NULL &&
               holds_for(group, has_layout ? &layout : NULL, nodes[i]);
    free(nodes);
    return ZS_OK;
}

/* Brings what a group states of the arrays in it up to date. What is stated of arrays that do not follow, too, stays
 * where an array's own statement goes before it, and with `stays` in any case. */
static enum zs_status write_group(struct zs_hierarchy *h, const struct zs_edits *edits, const struct zs_node *group,
                                  const struct zs_georef_out *geo, bool stays, struct zs_error *err)
{
    zs_json *attributes;
    for (const struct zs_convention *const *c = zs_conventions; *c != NULL; c++) {
        bool has = false;
        if ((*c)->concerns == NULL || !(*c)->concerns(group->attributes, geo))
            continue;
        if (stays || (*c)->has_own_first)
            ZS_TRY(has_others(h, edits, group, &has, err));
        if (has)
            continue;
        ZS_TRY(zs_hierarchy_edit(h, group, &attributes, err));
        ZS_TRY((*c)->change(attributes, ZS_SOURCE_GROUP, geo, err));
    }
    return ZS_OK;
}

/* Writes what groups state of the array. `stays`: nothing that is stated of other arrays, too, is changed. */
static enum zs_status write_groups(struct zs_hierarchy *h, const struct zs_edits *edits, const struct zs_node *node,
                                   struct zs_axes axes, const struct zs_georef_out *geo, bool stays,
                                   struct zs_error *err)
{
    struct zs_scope scope;
    zs_scope_find(h, node, &scope);
    for (int i = 0; i < scope.sources; i++) {
        const struct zs_scope_source *source = &scope.source[i];
        if (source->kind == ZS_SOURCE_GROUP && (!source->has_layout || source->is_base))
            ZS_TRY(write_group(h, edits, source->group, geo, stays, err));
    }
    for (int g = 0; g < scope.groups; g++)
        ZS_TRY(write_entries(h, scope.group[g], node, axes, geo, err));
    return ZS_OK;
}

/* ---- What the store states already ---- */

/* Statements of an array's georeferencing, compared with what is set. */
struct comparison {
    const struct zs_georef_update *update;
    const struct zs_node *node;
    uint64_t width, height;
    bool ignores_groups; /* what groups state is of arrays that do not follow, too: it stays */
    bool has_other_transform, has_other_srs;
};

static bool is_compared(const struct comparison *comparison, const char *path)
{
    const char *own = comparison->node->path;
    return !comparison->ignores_groups || strcmp(path, own) == 0 || zs_path_below(path, own) == NULL;
}

static enum zs_status compare_transform(void *context, const char *path, const char *what, const double *t,
                                        struct zs_error *err)
{
    struct comparison *comparison = context;
    const struct zs_georef_update *update = comparison->update;
    (void)what;
    (void)err;
    if (is_compared(comparison, path) &&
        !(update->has_transform && zs_transform_is_same(update->transform, t, comparison->width, comparison->height)))
        comparison->has_other_transform = true;
    return ZS_OK;
}

/* A box is of corners or of centres: a pixel more or less is the same. */
static enum zs_status compare_box(void *context, const char *path, const char *what, const double *box,
                                  struct zs_error *err)
{
    struct comparison *comparison = context;
    const double *t = comparison->update->transform;
    const double width = (double)comparison->width, height = (double)comparison->height;
    (void)what;
    (void)err;
    for (int i = 0; i < 2 && is_compared(comparison, path); i++) {
        const double x = t[3 * i + 1], y = t[3 * i + 2], most = fabs(x) + fabs(y);
        const double low = t[3 * i] + fmin(x * width, 0) + fmin(y * height, 0);
        const double high = t[3 * i] + fmax(x * width, 0) + fmax(y * height, 0);
        if (!comparison->update->has_transform || !(fabs(box[i] - low) <= most) || !(fabs(box[i + 2] - high) <= most))
            comparison->has_other_transform = true;
    }
    return ZS_OK;
}

static enum zs_status compare_srs(void *context, const char *path, const char *what, OGRSpatialReferenceH srs,
                                  bool is_code, struct zs_error *err)
{
    struct comparison *comparison = context;
    (void)what;
    (void)is_code;
    (void)err;
    if (srs != NULL && is_compared(comparison, path) && !zs_crs_is_same(srs, comparison->update->srs))
        comparison->has_other_srs = true;
    if (srs != NULL)
        OSRRelease(srs);
    return ZS_OK;
}

/* Whether the coordinate variables of an array's X and Y are there: a sibling has the same ones. */
static bool has_coordinates(struct zs_hierarchy *h, const struct zs_edited *one)
{
    return zs_coordinate_find(h, one->node, one->axes.x) != NULL &&
           zs_coordinate_find(h, one->node, one->axes.y) != NULL;
}

/* Finds out whether a statement of an array is another than what is set, though the array is read as set: an edit that
 * was cut short leaves some. */
static enum zs_status compare_statements(struct zs_hierarchy *h, const struct zs_edits *edits, struct zs_edited *one,
                                         const struct zs_georef_update *update, struct zs_error *err)
{
    struct zs_georef found = {0};
    struct zs_search s;
    struct comparison comparison = {.update = update, .node = one->node};
    const struct zs_georef_visitor visitor = {&comparison, compare_transform, compare_box, compare_srs};
    const bool of_transform = one->keeps_transform && !update->keeps_transform;
    const bool of_srs = one->keeps_srs && !update->keeps_srs && !one->is_sibling;
    if ((!of_transform && !of_srs) || (one->is_sibling && !has_coordinates(h, one)) ||
        !zs_search_begin(&s, h, one->node, one->axes, &found))
        return ZS_OK;
    comparison.width = s.width;
    comparison.height = s.height;
    enum zs_status status = ZS_OK;
    for (int g = 0; g < s.scope.groups && status == ZS_OK && !comparison.ignores_groups; g++)
        if (zs_json_size(s.scope.group[g]->attributes) > 0)
            status = has_others(h, edits, s.scope.group[g], &comparison.ignores_groups, err);
    for (const struct zs_convention *const *k = zs_conventions; *k != NULL && status == ZS_OK; k++)
        if ((*k)->visit != NULL)
            status = (*k)->visit(&s, &visitor, err);
    zs_georef_clear(&found);
    one->keeps_transform = one->keeps_transform && !(of_transform && comparison.has_other_transform);
    one->keeps_srs = one->keeps_srs && !(of_srs && comparison.has_other_srs);
    if (!one->keeps_transform && one->needs_spatial_proj)
        one->conventions.spatial_proj = true;
    return status;
}

/* Compares the statements of all arrays that are asked for, or of their siblings. Overviews, which follow their base in
 * the list, keep what the base keeps. */
static enum zs_status compare_all(struct zs_hierarchy *h, const struct zs_edits *edits, bool of_siblings,
                                  const struct zs_georef_update *update, struct zs_error *err)
{
    const struct zs_edited *base = NULL;
    for (size_t i = 0; i < edits->count; i++) {
        struct zs_edited *one = &edits->list[i];
        if (one->is_sibling != of_siblings)
            continue;
        if (one->is_level) {
            one->keeps_transform = base != NULL ? base->keeps_transform : one->keeps_transform;
            one->keeps_srs = base != NULL ? base->keeps_srs : one->keeps_srs;
            continue;
        }
        ZS_TRY(compare_statements(h, edits, one, update, err));
        base = one;
    }
    return ZS_OK;
}

/* ---- Georeferencing ---- */

/* Whether the transform is the one that is there; what was read twice may differ in the last digits. */
static bool keeps_transform(const struct zs_georef_update *update, const struct zs_georef *now)
{
    const double *a = update->transform, *b = now->transform;
    const double tolerance = 1e-9 * (fabs(b[1]) + fabs(b[2]) + fabs(b[4]) + fabs(b[5]));
    if (update->keeps_transform || !update->has_transform)
        return update->keeps_transform || !now->has_transform;
    bool is_same = now->has_transform && update->pixel_is_point == now->pixel_is_point;
    for (int i = 0; i < 6 && is_same; i++)
        is_same = fabs(a[i] - b[i]) <= tolerance;
    return is_same;
}

/* Whether a rotated transform is set, which coordinate variables cannot express. */
static bool sets_rotation(const struct zs_georef_update *update)
{
    return !update->keeps_transform && update->has_transform &&
           (update->transform[2] != 0 || update->transform[4] != 0);
}

/* Reads the georeferencing that the store has now, which another session may have changed; that of an array which is
 * not stored yet from `h`. */
static enum zs_status read_stored(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                  struct zs_georef *georef, struct zs_error *err)
{
    struct zs_hierarchy *stored = NULL;
    const struct zs_node *there = NULL;
    enum zs_status status = ZS_NOT_FOUND;
    zs_store_forget(zs_hierarchy_store(h), node->key);
    if (!zs_hierarchy_is_new(h))
        status = zs_hierarchy_open(zs_hierarchy_store(h), false, &stored, err);
    if (status == ZS_OK)
        status = zs_hierarchy_stored_node(stored, node->path, &there, err);
    if (status == ZS_OK && there->array == NULL)
        status = zs_fail(err, ZS_INVALID, "%s/%s: expected an array, as when it was opened",
                         zs_hierarchy_store(h)->root, node->path);
    if (status == ZS_OK)
        status = zs_georef_read(stored, there, axes, georef, err);
    zs_hierarchy_free(stored);
    return status == ZS_NOT_FOUND ? zs_georef_read(h, node, axes, georef, err) : status;
}

/* Adds an array that is asked for, and its overviews, with what of them changes. */
static enum zs_status add_array(struct zs_hierarchy *h, struct zs_edits *edits, const struct zs_node *node,
                                struct zs_axes axes, const struct zs_georef_update *update, struct zs_error *err)
{
    struct zs_georef now;
    struct zs_georef_conventions conventions;
    if (node->array == NULL || axes.x < 0 || axes.y < 0)
        return zs_fail(err, ZS_ARGUMENT, "%s/%s: expected an array of two dimensions and more",
                       zs_hierarchy_store(h)->root, node->path);
    ZS_TRY(zs_georef_read(h, node, axes, &now, err));
    zs_georef_conventions_find(h, node, axes, &conventions);
    const bool keeps = keeps_transform(update, &now);
    const bool is_rotated = sets_rotation(update);
    conventions.spatial_proj = conventions.spatial_proj || (is_rotated && !keeps);
    conventions.drops_coordinates = !keeps && now.has_transform && !update->has_transform;
    const struct zs_edited one = {.node = node,
                                 .axes = axes,
                                 .srs = now.srs,
                                 .keeps_srs = update->keeps_srs || zs_crs_is_same(update->srs, now.srs),
                                 .keeps_transform = keeps,
                                 .needs_spatial_proj = is_rotated};
    const enum zs_status status = zs_edited_add(h, edits, one, &conventions, err);
    zs_georef_clear(&now);
    return status;
}

/* The path of a name beside a node that is not the root, freed with free(); NULL for what is no name of a node. */
static enum zs_status path_beside(const struct zs_node *node, const char *name, char **path, struct zs_error *err)
{
    *path = NULL;
    if (!zs_is_inside_name(name))
        return ZS_OK;
    char *group = zs_path_parent(node->path);
    *path = group != NULL ? zs_path_join(group, name) : NULL;
    free(group);
    return *path != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Finds the array of a name beside another as the store has it by now: another session may have made it. NULL where
 * there is none. */
static enum zs_status find_stored(struct zs_hierarchy *h, const struct zs_node *node, const char *name,
                                  const struct zs_node **found, struct zs_error *err)
{
    char *path;
    *found = NULL;
    ZS_TRY(path_beside(node, name, &path, err));
    if (path == NULL)
        return ZS_OK;
    const enum zs_status status = zs_hierarchy_stored_node(h, path, found, err);
    free(path);
    if (zs_is_no_node(status) || (status == ZS_OK && ((*found)->type != ZS_NODE_ARRAY || *found == node)))
        *found = NULL;
    return zs_is_no_node(status) ? ZS_OK : status;
}

/* Chooses another grid mapping, one of that CRS or a new one, where that of its name serves others. */
static enum zs_status choose_mapping(struct zs_hierarchy *h, const struct zs_edits *edits, struct zs_edited *one,
                                     struct zs_error *err)
{
    const struct zs_node *own = NULL;
    if (!one->conventions.cf || one->node->path[0] == '\0')
        return ZS_OK;
    ZS_TRY(find_stored(h, one->node, one->conventions.mapping_name, &own, err));
    return zs_sharing_choose_mapping(h, edits, one, own, err);
}

/* Whether two arrays have coordinates and grid mapping in common, which are written with the first. */
static bool is_alike(const struct zs_edited *a, const struct zs_edited *b)
{
    return zs_edited_is_on_one_grid(a, b) && a->keeps_srs == b->keeps_srs && a->keeps_transform == b->keeps_transform &&
           a->conventions.cf == b->conventions.cf && a->conventions.is_brief == b->conventions.is_brief &&
           a->conventions.drops_coordinates == b->conventions.drops_coordinates &&
           zs_is_same_text(a->former_mapping, b->former_mapping) && zs_crs_is_same(a->srs, b->srs);
}

/* Whether coordinates that an array alone has are beside a rotation, which they cannot express: an edit that was cut
 * short leaves them. Then all is written again, though the arrays are read as set. */
static enum zs_status find_leftovers(struct zs_hierarchy *h, struct zs_edits *edits,
                                     const struct zs_georef_update *update, struct zs_error *err)
{
    bool has_leftovers = false;
    if (!sets_rotation(update))
        return ZS_OK;
    for (size_t i = 0; i < edits->count && !has_leftovers; i++) {
        const struct zs_edited *one = &edits->list[i];
        struct zs_georef_out at = {.is_shared = {false, false}};
        const struct zs_node *own[2] = {zs_coordinate_find(h, one->node, one->axes.y),
                                        zs_coordinate_find(h, one->node, one->axes.x)};
        const bool has[2] = {own[0] != NULL && zs_edited_is_in_one_group(own[0], one->node),
                             own[1] != NULL && zs_edited_is_in_one_group(own[1], one->node)};
        if (!one->keeps_transform || !one->conventions.cf || (!has[0] && !has[1]))
            continue;
        ZS_TRY(zs_sharing_find_coordinates(h, edits, one, &at, err));
        has_leftovers = (has[0] && !at.is_shared[0]) || (has[1] && !at.is_shared[1]);
    }
    for (size_t i = 0; i < edits->count && has_leftovers; i++) {
        edits->list[i].keeps_transform = false;
        edits->list[i].conventions.spatial_proj = true;
    }
    return ZS_OK;
}

/* The georeferencing of the base at the size of an edited array, with the names of its dimensions. */
static struct zs_georef_out georef_of(const struct zs_edited *one, const struct zs_georef_out *base)
{
    struct zs_georef_out at =
        zs_georef_at_size(base, one->node->array->shape[one->axes.x], one->node->array->shape[one->axes.y]);
    zs_georef_out_name_dimensions(&at, one->node, one->axes);
    return at;
}

/* Finds the georeferencing that an array gets: what is set, and what it keeps. */
static enum zs_status find_wanted(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                  const struct zs_georef_update *update, struct zs_georef_out *out,
                                  struct zs_error *err)
{
    struct zs_georef now = {0}, wanted = {.srs = update->srs};
    if (update->keeps_transform)
        ZS_TRY(zs_georef_read(h, node, axes, &now, err));
    else if (update->keeps_registration)
        ZS_TRY(read_stored(h, node, axes, &now, err));
    wanted.has_transform = update->keeps_transform ? now.has_transform : update->has_transform;
    memcpy(wanted.transform, update->keeps_transform ? now.transform : update->transform, sizeof wanted.transform);
    wanted.pixel_is_point =
        update->keeps_transform || update->keeps_registration ? now.pixel_is_point : update->pixel_is_point;
    zs_georef_clear(&now);
    *out = zs_georef_out_make(node, axes, &wanted);
    return ZS_OK;
}

static bool is_changed(const struct zs_edited *one)
{
    return !one->keeps_srs || !one->keeps_transform;
}

/* Finds out what an array gets, and which other arrays use its coordinates. Changes nothing. */
static enum zs_status prepare(struct zs_hierarchy *h, const struct zs_edits *edits, size_t index,
                              const struct zs_georef_out *base, struct zs_error *err)
{
    struct zs_edited *one = &edits->list[index];
    one->at = georef_of(one, base);
    one->at.old_srs = one->srs;
    one->at.keeps_transform = one->keeps_transform;
    one->at.keeps_srs = one->keeps_srs;
    if (one->keeps_srs)
        one->at.srs = one->srs;
    if (one->is_sibling)
        one->at.pixel_is_point = one->pixel_is_point;
    one->former_mapping = one->conventions.mapping_name;
    one->is_alike = index > 0 && is_alike(&edits->list[index - 1], one);
    return one->is_alike || !is_changed(one) ? ZS_OK : zs_sharing_find_coordinates(h, edits, one, &one->at, err);
}

static enum zs_status write_one(struct zs_hierarchy *h, const struct zs_edits *edits, size_t index, bool stays,
                                struct zs_georef_shared *shared, struct zs_error *err)
{
    struct zs_edited *one = &edits->list[index];
    shared->is_written = shared->is_written && one->is_alike;
    if (shared->is_written)
        one->conventions.mapping_name = edits->list[index - 1].conventions.mapping_name;
    else
        ZS_TRY(choose_mapping(h, edits, one, err));
    ZS_TRY(zs_georef_write_shared(h, one->node, one->axes, &one->conventions, &one->at, shared, err));
    return one->has_other_srs ? ZS_OK : write_groups(h, edits, one->node, one->axes, &one->at, stays, err);
}

/* Has the documents of an array and of its grid mapping written after those that follow: as long as they are not, the
 * same edit does all again. */
static enum zs_status put_last(struct zs_hierarchy *h, const struct zs_edited *one, struct zs_error *err)
{
    char *mapping = NULL;
    if (one->node->path[0] != '\0')
        ZS_TRY(path_beside(one->node, one->conventions.mapping_name, &mapping, err));
    zs_hierarchy_put_last(h, one->node->path, 1);
    if (mapping != NULL)
        zs_hierarchy_put_last(h, mapping, 2);
    free(mapping);
    return ZS_OK;
}

/* Writes what lies in other groups, as overviews do, before what lies beside the array that is asked for: values of
 * coordinates are in the store at once, and as long as the array is not read as set, the same edit does all again.
 * `stays` as in write_groups(). */
static enum zs_status write_all(struct zs_hierarchy *h, const struct zs_edits *edits, const struct zs_node *asked,
                                bool stays, struct zs_error *err)
{
    for (int pass = 0; pass < 2; pass++) {
        struct zs_georef_shared shared = {.is_written = false};
        for (size_t i = 0; i < edits->count; i++)
            if (is_changed(&edits->list[i]) && zs_edited_is_in_one_group(edits->list[i].node, asked) == (pass == 1))
                ZS_TRY(write_one(h, edits, i, stays, &shared, err));
        if (!zs_hierarchy_is_new(h)) /* uploads that fail are failures of this edit */
            ZS_TRY(zs_store_wait_commits(zs_hierarchy_store(h), err));
    }
    return ZS_OK;
}

/* Adds the siblings of the arrays that are asked for. */
static enum zs_status add_siblings(struct zs_hierarchy *h, struct zs_edits *edits, const struct zs_node *const *nodes,
                                   size_t count, struct zs_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct zs_edited one = *zs_edited_find(edits, nodes[i]); /* a copy: the list moves when it grows */
        const struct zs_edited *before = i > 0 ? zs_edited_find(edits, nodes[i - 1]) : NULL;
        if (before == NULL || !zs_edited_is_on_one_grid(before, &one)) /* else its siblings are there */
            ZS_TRY(zs_edited_add_siblings(h, edits, &one, err));
    }
    return ZS_OK;
}

/* Lists the arrays that the edit writes, those that are asked for before others, with what of them changes. */
static enum zs_status list_edited(struct zs_hierarchy *h, struct zs_edits *edits, const struct zs_node *const *nodes,
                                  const struct zs_axes *axes, size_t count, const struct zs_georef_update *update,
                                  struct zs_error *err)
{
    for (size_t i = 0; i < count; i++)
        ZS_TRY(add_array(h, edits, nodes[i], axes[i], update, err));
    ZS_TRY(compare_all(h, edits, false, update, err));
    if (!update->keeps_transform) /* which siblings share; their CRS they keep */
        ZS_TRY(add_siblings(h, edits, nodes, count, err));
    ZS_TRY(compare_all(h, edits, true, update, err));
    return find_leftovers(h, edits, update, err);
}

/* Finds out what each array gets. Changes nothing. */
static enum zs_status prepare_all(struct zs_hierarchy *h, const struct zs_edits *edits, const struct zs_node *node,
                                  struct zs_axes axes, const struct zs_georef_update *update, struct zs_error *err)
{
    struct zs_georef_out wanted = {0};
    ZS_TRY(find_wanted(h, node, axes, update, &wanted, err));
    for (size_t i = 0; i < edits->count; i++)
        ZS_TRY(prepare(h, edits, i, &wanted, err));
    return ZS_OK;
}

enum zs_status zs_update_georefs(struct zs_hierarchy *h, const struct zs_node *const *nodes, const struct zs_axes *axes,
                                 size_t count, const struct zs_georef_update *update, struct zs_error *err)
{
    /* Everything is found out before anything is changed. */
    struct zs_edits edits = {0};
    enum zs_status status = list_edited(h, &edits, nodes, axes, count, update, err);
    if (status == ZS_OK)
        status = prepare_all(h, &edits, nodes[0], axes[0], update, err);
    if (status == ZS_OK)
        status = write_all(h, &edits, nodes[0], update->keeps_transform, err);
    for (size_t i = 0; i < count && status == ZS_OK; i++)
        status = put_last(h, zs_edited_find(&edits, nodes[i]), err);
    zs_edited_clear(&edits);
    return status;
}

enum zs_status zs_update_georef(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                const struct zs_georef_update *update, struct zs_error *err)
{
    return zs_update_georefs(h, &node, &axes, 1, update, err);
}

/* ---- Registration ---- */

/* Writes the registration of an array or an overview, as far as spatial: states it of that and of its groups. */
static enum zs_status write_registration(struct zs_hierarchy *h, const struct zs_edits *edits,
                                         const struct zs_edited *one, const struct zs_georef_out *geo,
                                         struct zs_error *err)
{
    const struct zs_georef_out at = georef_of(one, geo);
    zs_json *attributes;
    if (!one->conventions.is_brief) { /* else its entry in the multiscales has it */
        ZS_TRY(zs_hierarchy_edit(h, one->node, &attributes, err));
        ZS_TRY(zs_write_spatial_proj(attributes, &at, false, err));
    }
    return write_groups(h, edits, one->node, one->axes, &at, true, err);
}

static enum zs_status update_registration(struct zs_hierarchy *h, const struct zs_node *node, struct zs_axes axes,
                                          bool pixel_is_point, struct zs_error *err)
{
    struct zs_edits edits = {0};
    struct zs_edited one = {.node = node, .axes = axes};
    struct zs_georef now;
    ZS_TRY(read_stored(h, node, axes, &now, err));
    struct zs_georef_out geo = zs_georef_out_make(node, axes, &now);
    const bool has_registration = zs_georef_has_registration(h, node, axes, geo.has_transform);
    geo.srs = NULL; /* the CRS is not written */
    geo.keeps_srs = true;
    geo.pixel_is_point = pixel_is_point;
    zs_georef_conventions_find(h, node, axes, &one.conventions);
    enum zs_status status = ZS_OK;
    if (has_registration && now.pixel_is_point != pixel_is_point)
        status = zs_edited_add(h, &edits, one, &one.conventions, err);
    for (size_t i = 0; i < edits.count && status == ZS_OK; i++)
        status = write_registration(h, &edits, &edits.list[i], &geo, err);
    zs_edited_clear(&edits);
    zs_georef_clear(&now);
    return status;
}

enum zs_status zs_update_registrations(struct zs_hierarchy *h, const struct zs_node *const *nodes,
                                       const struct zs_axes *axes, size_t count, bool pixel_is_point,
                                       struct zs_error *err)
{
    for (size_t i = 0; i < count; i++)
        ZS_TRY(update_registration(h, nodes[i], axes[i], pixel_is_point, err));
    return ZS_OK;
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
