#include "raster/overviews.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "geo/conventions.h"
#include "raster/overviews_private.h"

/* GDAL 3.13's groups beside an array that has no multiscales: levels asked for by name where the store cannot be
 * listed. */
static const int probed_factors[] = {2, 3, 4, 5, 6, 8, 9, 10, 12, 16, 32, 64, 128, 256, 512, 1024};

#define MAX_FOUND (2 * ZS_MAX_LAYOUT_LEVELS)

/* Other levels of the pyramid that a base array belongs to. */
struct family {
    struct zs_hierarchy *hierarchy;
    const struct zs_node *base;
    const struct zs_node *found[MAX_FOUND];
    /* The base is derived from this one: it is not an overview of the base, however small. */
    bool is_ancestor[MAX_FOUND];
    bool is_outdated[MAX_FOUND]; /* the pyramid declares that it was made of a base of another shape */
    int count;
    bool has_layout;
};

static bool is_alike(const struct zs_node *base, const struct zs_node *node)
{
    return node != base && node->array != NULL && node->array->ndim == base->array->ndim &&
           strcmp(node->array->dtype.name, base->array->dtype.name) == 0;
}

bool zs_overviews_is_level(const struct zs_node *base, const struct zs_node *node)
{
    bool is = is_alike(base, node);
    for (int d = 0; is && d < base->array->ndim; d++) {
        const char *ours = zs_dimension_name(base, d), *theirs = zs_dimension_name(node, d);
        is = (ours == NULL) == (theirs == NULL) && (ours == NULL || zs_dimension_is_of(theirs, ours));
    }
    return is;
}

static void add_found(struct family *f, const struct zs_node *node, bool is_ancestor, bool is_outdated)
{
    if (!is_alike(f->base, node) || f->count == MAX_FOUND)
        return;
    for (int i = 0; i < f->count; i++)
        if (f->found[i] == node)
            return;
    f->found[f->count] = node;
    f->is_outdated[f->count] = is_outdated;
    f->is_ancestor[f->count++] = is_ancestor;
}

static const struct zs_node *node_at(const struct family *f, const char *group, const char *name)
{
    const struct zs_node *node;
    return zs_hierarchy_node_at(f->hierarchy, group, name, &node, NULL) == ZS_OK ? node : NULL;
}

/* The only array of two or more dimensions directly in a group, NULL when there are more or it is not known. Only where
 * the whole store is known already: listing costs requests. */
static const struct zs_node *only_raster(struct zs_hierarchy *hierarchy, const char *group)
{
    const struct zs_node **nodes, *only = NULL;
    size_t count;
    if (!zs_hierarchy_is_consolidated(hierarchy) || zs_hierarchy_list(hierarchy, &nodes, &count, NULL) != ZS_OK)
        return NULL;
    int rasters = 0;
    size_t at = 0;
    for (const struct zs_node *node; (node = zs_nodes_child(nodes, count, group, &at)) != NULL;)
        if (node->array != NULL && node->array->ndim >= 2) {
            only = node;
            rasters++;
        }
    free(nodes);
    return rasters == 1 ? only : NULL;
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

/* Adds the levels of one layout that has the base. */
static void add_layout(struct family *f, const struct zs_node *group, const struct zs_layout *layout)
{
    const char *below = zs_path_below(group->path, f->base->path);
    const int own = below != NULL ? zs_layout_find(layout, below) : -1;
    if (own < 0)
        return;
    f->has_layout = true;
    const bool is_outdated = !shape_agrees(layout->level[own].entry, f->base->array);
    const char *name = zs_path_name(f->base->path);
    for (int i = 0; i < layout->count; i++) {
        if (i == own)
            continue;
        const struct zs_node *level = node_at(f, group->path, layout->level[i].asset);
        if (level != NULL && level->type == ZS_NODE_GROUP && !layout->is_ome) {
            const char *path = level->path;
            level = node_at(f, path, name);
            if (level == NULL) {
                /* When names differ between levels, a level's only raster counts, if the base is the only raster of its
                 * level, too. */
                char *own_group = zs_path_parent(f->base->path);
                const bool is_alone = own_group != NULL && only_raster(f->hierarchy, own_group) == f->base;
                free(own_group);
                level = is_alone ? only_raster(f->hierarchy, path) : NULL;
            }
        }
        if (level != NULL && level->array != NULL && shape_agrees(layout->level[i].entry, level->array))
            add_found(f, level, zs_layout_is_derived(layout, own, i), is_outdated);
    }
}

/* Adds <group>/ovr_<N>x/<name> for each N that is there, and <group>/<name>. */
static void add_overview_groups(struct family *f, const char *group, const char *name)
{
    char path[300];
    const struct zs_node *base = node_at(f, group, name);
    if (base != NULL)
        add_found(f, base, false, false);
    if (strlen(name) > 200)
        return;
    if (zs_hierarchy_is_consolidated(f->hierarchy)) {
        const struct zs_node **nodes;
        size_t count;
        if (zs_hierarchy_list(f->hierarchy, &nodes, &count, NULL) != ZS_OK)
            return;
        for (size_t i = 0; i < count; i++) {
            const char *below = zs_path_below(group, nodes[i]->path);
            const char *slash = below != NULL ? strchr(below, '/') : NULL;
            int factor;
            if (slash == NULL || (size_t)(slash - below) >= sizeof path || strcmp(slash + 1, name) != 0)
                continue;
            memcpy(path, below, (size_t)(slash - below));
            path[slash - below] = '\0';
            if (zs_is_overview_group(path, &factor))
                add_found(f, nodes[i], false, false);
        }
        free(nodes);
        return;
    }
    /* Writers of such groups write a multiscales beside them; without one, requests would be in vain. */
    if (zs_hierarchy_store(f->hierarchy)->is_remote)
        return;
    for (size_t i = 0; i < sizeof probed_factors / sizeof probed_factors[0]; i++) {
        snprintf(path, sizeof path, "ovr_%dx/%s", probed_factors[i], name);
        const struct zs_node *level = node_at(f, group, path);
        if (level != NULL)
            add_found(f, level, false, false);
    }
}

static void find_family(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct family *f)
{
    memset(f, 0, sizeof *f);
    f->hierarchy = hierarchy;
    f->base = node;
    if (node->array == NULL || node->array->ndim < 2 || node->path[0] == '\0')
        return;
    struct zs_scope scope;
    zs_scope_find(hierarchy, node, &scope);
    for (int g = 0; g < scope.groups; g++) {
        struct zs_layout layout;
        bool is_there = zs_layout_first(scope.group[g]->attributes, &layout);
        for (; is_there; is_there = zs_layout_next(&layout))
            add_layout(f, scope.group[g], &layout);
    }
    if (f->has_layout)
        return;
    char *group = zs_path_parent(node->path);
    int factor;
    if (group != NULL && zs_is_overview_group(zs_path_name(group), &factor)) {
        char *above = zs_path_parent(group);
        free(group);
        group = above;
    }
    if (group != NULL)
        add_overview_groups(f, group, zs_path_name(node->path));
    free(group);
}

static double pixels(const struct zs_node *node)
{
    double n = 1;
    for (int i = 0; i < node->array->ndim; i++)
        n *= (double)node->array->shape[i];
    return n;
}

static int by_falling_size(const void *a, const void *b)
{
    const double x = pixels(*(const struct zs_node *const *)a), y = pixels(*(const struct zs_node *const *)b);
    return (x < y) - (x > y);
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

static enum zs_status find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                           bool with_outdated, struct zs_names *levels, struct zs_error *err)
{
    struct family f;
    const struct zs_node *found[MAX_FOUND];
    size_t n = 0;
    *levels = (struct zs_names){0};
    const size_t failures = zs_hierarchy_failures(hierarchy);
    find_family(hierarchy, node, &f);
    ZS_TRY(zs_hierarchy_check_since(hierarchy, failures, err));
    for (int i = 0; i < f.count; i++)
        if (!f.is_ancestor[i] && axes.y >= 0 && is_version(f.found[i], node, axes) &&
            (with_outdated || (!f.is_outdated[i] && is_current(f.found[i], node, axes))))
            found[n++] = f.found[i];
    qsort(found, n, sizeof found[0], by_falling_size);
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < n && status == ZS_OK; i++)
        status = zs_names_add(levels, zs_strdup(found[i]->path), err);
    if (status != ZS_OK) {
        zs_names_free(levels->list);
        *levels = (struct zs_names){0};
    }
    return status;
}

enum zs_status zs_overviews_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                 struct zs_names *levels, struct zs_error *err)
{
    return find(hierarchy, node, axes, false, levels, err);
}

static bool is_ours(const struct zs_node *base, const char *path)
{
    char *group = zs_path_parent(path), *above = group != NULL ? zs_path_parent(group) : NULL;
    char *own = zs_path_parent(base->path);
    int factor;
    const bool result = above != NULL && own != NULL && strcmp(above, own) == 0 &&
                        zs_is_overview_group(zs_path_name(group), &factor) &&
                        strcmp(zs_path_name(path), zs_path_name(base->path)) == 0;
    free(group);
    free(above);
    free(own);
    return result;
}

enum zs_status zs_overviews_own(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                struct zs_names *levels, struct zs_error *err)
{
    size_t n = 0;
    ZS_TRY(find(hierarchy, node, axes, true, levels, err));
    for (size_t i = 0; i < levels->count; i++) {
        if (is_ours(node, levels->list[i]))
            levels->list[n++] = levels->list[i];
        else
            free(levels->list[i]);
    }
    levels->count = n;
    if (levels->list != NULL)
        levels->list[n] = NULL;
    return ZS_OK;
}

/* ---- All overviews of a store ---- */

struct marking {
    struct zs_hierarchy *hierarchy;
    const struct zs_node *const *nodes;
    size_t count;
    bool *marks;
    bool *has_layout; /* some pyramid lists the array */
    bool has_no_memory; /* some marks are missing, which is an error */
};

/* Position of a node, m->count when it is not there. */
static size_t position_of(struct marking *m, const char *group, const char *name)
{
    size_t at;
    m->has_no_memory |= zs_nodes_find(m->nodes, m->count, group, name, &at, NULL) != ZS_OK;
    return at;
}

static const struct zs_node *find_node(struct marking *m, const char *group, const char *name)
{
    const size_t i = position_of(m, group, name);
    return i < m->count ? m->nodes[i] : NULL;
}

/* zs_path_parent() */
static char *parent_of(struct marking *m, const char *path)
{
    char *parent = zs_path_parent(path);
    m->has_no_memory |= parent == NULL && path[0] != '\0';
    return parent;
}

/* Whether `node` is an overview of `large`, current or outdated: in both cases it is no raster of its own. */
static bool is_marked_by(struct marking *m, const struct zs_node *node, const struct zs_node *large)
{
    struct zs_axes axes;
    if (large == node || large->array == NULL || large->array->ndim != node->array->ndim ||
        strcmp(large->array->dtype.name, node->array->dtype.name) != 0)
        return false;
    const enum zs_status status = zs_axes_find(m->hierarchy, node, NULL, NULL, &axes, NULL);
    m->has_no_memory |= status == ZS_NO_MEMORY;
    return status == ZS_OK && axes.y >= 0 && is_version(node, large, axes);
}

/* As only_raster(), by the list. */
static const struct zs_node *only_listed_raster(struct marking *m, const char *group)
{
    const struct zs_node *only = NULL;
    for (size_t i = position_of(m, group, ""); i < m->count; i++) {
        const struct zs_node *node = m->nodes[i];
        const char *below = strcmp(node->path, group) == 0 ? "/" : zs_path_below(group, node->path);
        if (below == NULL)
            break; /* what is below a group follows it */
        if (strchr(below, '/') != NULL || node->array == NULL || node->array->ndim < 2)
            continue;
        if (only != NULL)
            return NULL;
        only = node;
    }
    return only;
}

/* The array at another level of the pyramid that has `node`. */
static const struct zs_node *counterpart(struct marking *m, const struct zs_node *node, const struct zs_node *level,
                                         bool is_ome)
{
    if (level == NULL || level->type == ZS_NODE_ARRAY || is_ome)
        return level;
    const struct zs_node *same = find_node(m, level->path, zs_path_name(node->path));
    if (same != NULL || !zs_hierarchy_is_consolidated(m->hierarchy))
        return same;
    char *group = parent_of(m, node->path);
    const bool is_alone = group != NULL && only_listed_raster(m, group) == node;
    free(group);
    return is_alone ? only_listed_raster(m, level->path) : NULL;
}

/* Marks node i if it is level `own` of the pyramid and smaller than a level that is not derived from it. */
static void mark_level(struct marking *m, size_t i, const struct zs_node *group, const struct zs_layout *layout,
                       const struct zs_node *const *levels, int own)
{
    const struct zs_node *node = m->nodes[i];
    const char *below = zs_path_below(group->path, node->path);
    int depth = 0;
    for (const char *p = below; p != NULL && *p != '\0'; p++)
        depth += *p == '/';
    const bool is_in_scope = depth < ZS_MAX_GROUPS - 1 || group->path[0] == '\0'; /* see zs_scope_find() */
    if (below == NULL || !is_in_scope || zs_layout_find(layout, below) != own || node->array == NULL ||
        node->array->ndim < 2)
        return;
    m->has_layout[i] = true;
    for (int k = 0; k < layout->count && !m->marks[i]; k++) {
        const struct zs_node *large = k != own ? counterpart(m, node, levels[k], layout->is_ome) : NULL;
        m->marks[i] = large != NULL && large->array != NULL && shape_agrees(layout->level[own].entry, node->array) &&
                      is_marked_by(m, node, large) && !zs_layout_is_derived(layout, k, own);
    }
}

/* Marks the overviews in one pyramid of a group. */
static void mark_layout(struct marking *m, const struct zs_node *group, const struct zs_layout *layout)
{
    size_t at[ZS_MAX_LAYOUT_LEVELS];
    const struct zs_node *levels[ZS_MAX_LAYOUT_LEVELS];
    for (int k = 0; k < layout->count; k++) {
        at[k] = position_of(m, group->path, layout->level[k].asset);
        levels[k] = at[k] < m->count ? m->nodes[at[k]] : NULL;
    }
    for (int own = 0; own < layout->count; own++) {
        if (levels[own] == NULL || zs_layout_find(layout, layout->level[own].asset) != own)
            continue; /* not there, or listed twice */
        if (levels[own]->type == ZS_NODE_ARRAY)
            mark_level(m, at[own], group, layout, levels, own);
        else if (!layout->is_ome)
            for (size_t i = at[own] + 1; i < m->count && zs_path_below(levels[own]->path, m->nodes[i]->path) != NULL;
                 i++)
                mark_level(m, i, group, layout, levels, own);
    }
}

/* Marks arrays in groups ovr_<N>x that no pyramid lists, where they are beside a larger one. */
static void mark_overview_groups(struct marking *m)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct zs_node *node = m->nodes[i];
        if (node->array == NULL || node->array->ndim < 2 || m->has_layout[i])
            continue;
        int factor;
        char *group = parent_of(m, node->path);
        char *above = group != NULL && zs_is_overview_group(zs_path_name(group), &factor) ? parent_of(m, group) : NULL;
        const struct zs_node *base = above != NULL ? find_node(m, above, zs_path_name(node->path)) : NULL;
        m->marks[i] = m->marks[i] || (base != NULL && is_marked_by(m, node, base));
        free(above);
        free(group);
    }
}

enum zs_status zs_overviews_mark(struct zs_hierarchy *hierarchy, const struct zs_node *const *nodes, size_t count,
                                 bool *marks, struct zs_error *err)
{
    struct marking m = {hierarchy, nodes, count, marks, zs_calloc(count, sizeof(bool)), false};
    ZS_TRY_MEMORY(m.has_layout, err);
    for (size_t i = 0; i < count; i++) {
        struct zs_layout layout;
        bool is_there = nodes[i]->type == ZS_NODE_GROUP && zs_layout_first(nodes[i]->attributes, &layout);
        for (; is_there; is_there = zs_layout_next(&layout))
            mark_layout(&m, nodes[i], &layout);
    }
    mark_overview_groups(&m);
    free(m.has_layout);
    return m.has_no_memory ? zs_fail_memory(err) : ZS_OK;
}
