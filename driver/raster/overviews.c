/* Finding overviews. (They are made and removed in overviews_make.c.) */
#include "raster/overviews.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "geo/conventions.h"
#include "geo/healpix.h"

/* The pyramid that a base array belongs to. */
struct family {
    struct zs_hierarchy *hierarchy;
    const struct zs_node *const *nodes; /* all known nodes; NULL: levels are looked up in the hierarchy */
    size_t node_count;
    bool has_no_memory; /* some levels are missing, which is an error */
    const struct zs_node *base;
    struct zs_axes axes; /* of the base; unless has_axes they are not known yet: finding them may cost requests */
    bool has_axes;
    bool is_healpix; /* its elements are these cells */
    struct zs_healpix healpix;
    struct level {
        const struct zs_node *node;
        bool is_outdated; /* the pyramid declares that it was made of a base of another shape */
    } found[ZS_MOST_LEVELS];
    int count;
};

/* ---- Which arrays are levels ---- */

/* Whether an array has the same cells at a coarser order, which becomes *order. */
static bool is_coarser(const struct family *f, const struct zs_node *node, int *order)
{
    struct zs_healpix level;
    if (!zs_healpix_find(f->hierarchy, node, &level) || level.dim != f->healpix.dim ||
        level.order >= f->healpix.order)
        return false;
    for (int d = 0; d < node->array->ndim; d++)
        if (d != level.dim && node->array->shape[d] != f->base->array->shape[d])
            return false;
    *order = level.order;
    level.order = f->healpix.order;
    return zs_healpix_is_same(&level, &f->healpix);
}

/* N of the group ovr_<N>x that an array is in, 0 in another. */
static int factor_of(const struct zs_node *node)
{
    char group[32];
    int factor;
    const char *end = zs_path_name(node->path), *start = end != node->path ? end - 1 : end;
    while (start != node->path && start[-1] != '/')
        start--;
    snprintf(group, sizeof group, "%.*s", (int)(end != start ? end - start - 1 : 0), start);
    return zs_is_overview_group(group, &factor) ? factor : 0;
}

/* Whether `small` is a smaller version of `large`: X and Y not larger, one of them smaller. The other dimensions are
 * equal, or in a group ovr_<N>x as they were before the base was given another shape. */
static bool is_version(const struct zs_node *small, const struct zs_node *large, struct zs_axes axes)
{
    const uint64_t *s = small->array->shape, *l = large->array->shape;
    const int x = axes.x, y = axes.y;
    for (int i = 0; i < small->array->ndim && factor_of(small) == 0; i++)
        if (i != x && i != y && s[i] != l[i])
            return false;
    return s[x] > 0 && s[y] > 0 && s[x] <= l[x] && s[y] <= l[y] && (s[x] < l[x] || s[y] < l[y]);
}

/* Whether one factor makes `small` of `large`, in X as in Y: that of the level's group, rounded up; any, rounded up or
 * down, where the base is a level too or the level's group tells none. */
static bool is_by_one_factor(const struct zs_node *small, const struct zs_node *large, struct zs_axes axes)
{
    const uint64_t *s = small->array->shape, *l = large->array->shape;
    const int dims[2] = {axes.x, axes.y}, factor = factor_of(large) == 0 ? factor_of(small) : 0;
    double low = 0, high = HUGE_VAL;
    for (int i = 0; i < 2; i++) {
        const double size = (double)s[dims[i]], base = (double)l[dims[i]];
        if (factor > 0 && s[dims[i]] != zs_ceil_div_u64(l[dims[i]], (uint64_t)factor))
            return false;
        low = fmax(low, base / (size + 1));
        high = fmin(high, size > 1 ? base / (size - 1) : HUGE_VAL);
    }
    return factor > 0 || low < high;
}

/* Whether such a version is of the shape that the base has now. */
static bool is_current(const struct zs_node *small, const struct zs_node *large, struct zs_axes axes)
{
    for (int i = 0; i < small->array->ndim; i++)
        if (i != axes.x && i != axes.y && small->array->shape[i] != large->array->shape[i])
            return false;
    return is_by_one_factor(small, large, axes);
}

static bool find_axes(struct family *f)
{
    struct zs_error ignored;
    if (!f->has_axes) {
        const enum zs_status status = zs_axes_find(f->hierarchy, f->base, NULL, NULL, &f->axes, &ignored);
        f->has_no_memory |= status == ZS_NO_MEMORY;
        f->axes.y = status == ZS_OK ? f->axes.y : -1;
        f->has_axes = true;
    }
    return f->axes.y >= 0;
}

/* Adds an array (NULL: none) that is a level of the base. */
static bool add_level(struct family *f, const struct zs_node *node, bool is_outdated)
{
    int order = 0, other = 0;
    if (node == NULL || node == f->base || node->array == NULL || node->array->ndim != f->base->array->ndim ||
        strcmp(node->array->dtype.name, f->base->array->dtype.name) != 0 || f->count == ZS_MOST_LEVELS)
        return false;
    if (f->is_healpix ? !is_coarser(f, node, &order) : !find_axes(f) || !is_version(node, f->base, f->axes))
        return false;
    for (int i = 0; i < f->count; i++)
        if (f->found[i].node == node ||
            (f->is_healpix && is_coarser(f, f->found[i].node, &other) && other == order))
            return true;
    f->found[f->count++] = (struct level){node, is_outdated};
    return true;
}

/* ---- Where they are ---- */

static const struct zs_node *node_at(struct family *f, const char *group, const char *name)
{
    const struct zs_node *node = NULL;
    if (f->nodes == NULL)
        return zs_hierarchy_node_at(f->hierarchy, group, name, &node, NULL) == ZS_OK ? node : NULL;
    size_t at;
    f->has_no_memory |= zs_nodes_find(f->nodes, f->node_count, group, name, &at, NULL) != ZS_OK;
    return at < f->node_count ? f->nodes[at] : NULL;
}

/* Whether the size in an entry is the array's; true without a size. X and Y are unknown here: any two dimensions, in
 * order, may have the size. */
static bool shape_agrees(const zs_json *entry, const struct zs_array_meta *meta)
{
    double shape[2];
    if (!zs_spatial_size(entry, shape))
        return true;
    for (int i = 0; i < meta->ndim; i++)
        for (int j = 0; j < meta->ndim; j++)
            if (i != j && (double)meta->shape[i] == shape[0] && (double)meta->shape[j] == shape[1])
                return true;
    return false;
}

/* The array at another level of a pyramid: of the base's name, where levels are groups. */
static const struct zs_node *counterpart(struct family *f, const struct zs_node *level, bool is_ome)
{
    if (level == NULL || level->type == ZS_NODE_ARRAY || is_ome)
        return level;
    return node_at(f, level->path, zs_path_name(f->base->path));
}

/* Adds the levels of one layout that has the base; not those that it is itself derived from, however small. */
static void add_layout(struct family *f, const struct zs_node *group, const struct zs_layout *layout)
{
    const char *below = zs_path_below(group->path, f->base->path);
    const int own = below != NULL ? zs_layout_find(layout, below) : -1;
    if (own < 0)
        return;
    const bool is_outdated = !shape_agrees(layout->level[own].entry, f->base->array);
    for (int i = 0; i < layout->count; i++) {
        const struct zs_layout_level *entry = &layout->level[i];
        const struct zs_node *level =
            i != own ? counterpart(f, node_at(f, group->path, entry->asset), layout->is_ome) : NULL;
        if (level != NULL && level->array != NULL && shape_agrees(entry->entry, level->array) &&
            !zs_layout_is_derived(layout, own, i))
            (void)add_level(f, level, is_outdated);
    }
}

static void add_layouts(struct family *f)
{
    struct zs_scope scope;
    struct zs_layout layout;
    zs_scope_find(f->hierarchy, f->base, &scope);
    for (int g = 0; g < scope.groups; g++) {
        bool is_there = zs_layout_first(scope.group[g]->attributes, &layout);
        for (; is_there; is_there = zs_layout_next(&layout))
            add_layout(f, scope.group[g], &layout);
    }
}

/* Adds <order>/<name> beside <order>/<name> of HEALPix cells. */
static void add_orders(struct family *f)
{
    char own[8], path[300];
    char *group = zs_path_parent(f->base->path), *above = group != NULL ? zs_path_parent(group) : NULL;
    const char *name = zs_path_name(f->base->path);
    snprintf(own, sizeof own, "%d", f->healpix.order);
    bool is_there = above != NULL && strcmp(zs_path_name(group), own) == 0 && strlen(name) < sizeof path - sizeof own;
    for (int order = f->healpix.order - 1; order >= 0 && is_there; order--) { /* each more would be a request */
        snprintf(path, sizeof path, "%d/%s", order, name);
        is_there = add_level(f, node_at(f, above, path), false);
    }
    free(above);
    free(group);
}

static void find_family(struct family *f)
{
    if (f->is_healpix)
        add_orders(f);
    add_layouts(f);
}

/* ---- Overviews of one array ---- */

static double pixels(const struct zs_node *node)
{
    double n = 1;
    for (int i = 0; i < node->array->ndim; i++)
        n *= (double)node->array->shape[i];
    return n;
}

static int by_falling_size(const void *a, const void *b)
{
    const double x = pixels(((const struct level *)a)->node), y = pixels(((const struct level *)b)->node);
    return (x < y) - (x > y);
}

/* Whether a level is in a group ovr_<N>x beside the base, under its name. */
static bool is_ours(const struct zs_node *base, const struct zs_node *level)
{
    char *own = zs_path_parent(base->path);
    const char *below = own != NULL ? zs_path_below(own, level->path) : NULL;
    const char *slash = below != NULL ? strchr(below, '/') : NULL;
    free(own);
    return slash != NULL && factor_of(level) > 0 && strcmp(slash + 1, zs_path_name(base->path)) == 0;
}

/* Finds the overviews, or of our own levels outdated ones, too. */
static enum zs_status find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                           bool are_own, struct zs_levels *levels, struct zs_error *err)
{
    struct family f = {.hierarchy = hierarchy, .base = node, .axes = axes, .has_axes = true};
    levels->count = 0;
    if (node->array == NULL || node->path[0] == '\0')
        return ZS_OK;
    f.is_healpix = axes.y < 0 && zs_healpix_find(hierarchy, node, &f.healpix);
    if (axes.y < 0 && !f.is_healpix)
        return ZS_OK;
    const size_t failures = zs_hierarchy_failures(hierarchy);
    find_family(&f);
    ZS_TRY(zs_hierarchy_check_since(hierarchy, failures, err));
    qsort(f.found, (size_t)f.count, sizeof f.found[0], by_falling_size);
    for (int i = 0; i < f.count; i++) {
        const struct zs_node *level = f.found[i].node;
        if (are_own ? is_ours(node, level)
                    : f.is_healpix || (!f.found[i].is_outdated && is_current(level, node, axes)))
            levels->list[levels->count++] = level;
    }
    return ZS_OK;
}

enum zs_status zs_overviews_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                 struct zs_levels *levels, struct zs_error *err)
{
    return find(hierarchy, node, axes, false, levels, err);
}

enum zs_status zs_overviews_own(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                struct zs_levels *levels, struct zs_error *err)
{
    return find(hierarchy, node, axes, true, levels, err);
}

/* ---- All overviews of a store ---- */

/* Makes another array the base, which has no levels yet. */
static void set_base(struct family *f, const struct zs_node *base)
{
    f->base = base;
    f->has_axes = f->is_healpix = false;
    f->count = 0;
}

static enum zs_status mark(struct family *f, const struct zs_node *node, bool *marks, struct zs_error *err)
{
    size_t at;
    set_base(f, node);
    f->is_healpix = zs_healpix_find(f->hierarchy, node, &f->healpix);
    find_family(f);
    for (int i = 0; i < f->count; i++) {
        ZS_TRY(zs_nodes_find(f->nodes, f->node_count, "", f->found[i].node->path, &at, err));
        marks[at] = true;
    }
    return ZS_OK;
}

/* Marks an array in a group ovr_<N>x, whether or not a pyramid lists it, where a larger one is beside the group. */
static void mark_in_group(struct family *f, size_t i, bool *marks)
{
    char *group = factor_of(f->nodes[i]) > 0 ? zs_path_parent(f->nodes[i]->path) : NULL;
    char *above = group != NULL ? zs_path_parent(group) : NULL;
    set_base(f, above != NULL ? node_at(f, above, zs_path_name(f->nodes[i]->path)) : NULL);
    marks[i] = f->base != NULL && f->base->array != NULL && add_level(f, f->nodes[i], false);
    free(above);
    free(group);
}

enum zs_status zs_overviews_mark(struct zs_hierarchy *hierarchy, const struct zs_node *const *nodes, size_t count,
                                 bool *marks, struct zs_error *err)
{
    struct family f = {.hierarchy = hierarchy, .nodes = nodes, .node_count = count};
    for (size_t i = 0; i < count; i++)
        if (nodes[i]->array != NULL && nodes[i]->path[0] != '\0')
            ZS_TRY(mark(&f, nodes[i], marks, err));
    for (size_t i = 0; i < count; i++)
        if (!marks[i] && nodes[i]->array != NULL)
            mark_in_group(&f, i, marks);
    return f.has_no_memory ? zs_fail_memory(err) : ZS_OK;
}
