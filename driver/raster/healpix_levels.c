#include "raster/healpix_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/multiscales.h"
#include "geo/scope.h"

struct search {
    struct zs_hierarchy *hierarchy;
    const struct zs_node *base;
    const struct zs_healpix *healpix;
    const struct zs_node *found[ZS_HEALPIX_MAX_ORDER]; /* by order */
};

static bool is_alike(const struct zs_node *a, int a_dim, const struct zs_node *b, int b_dim)
{
    if (b->array == NULL || a->array->ndim != b->array->ndim || a_dim != b_dim ||
        strcmp(a->array->dtype.name, b->array->dtype.name) != 0)
        return false;
    for (int d = 0; d < a->array->ndim; d++)
        if (d != a_dim && a->array->shape[d] != b->array->shape[d])
            return false;
    return true;
}

/* Puts a node among the levels, at its order; false when it is none. */
static bool take(struct search *s, const struct zs_node *node)
{
    struct zs_healpix level;
    if (node == NULL || node == s->base || !zs_healpix_find(s->hierarchy, node, &level) ||
        level.order >= s->healpix->order || !is_alike(s->base, s->healpix->dim, node, level.dim))
        return false;
    struct zs_healpix same = level;
    same.order = s->healpix->order;
    if (!zs_healpix_is_same(&same, s->healpix))
        return false;
    if (s->found[level.order] == NULL)
        s->found[level.order] = node;
    return true;
}

static const struct zs_node *node_at(struct zs_hierarchy *hierarchy, const char *group, const char *name)
{
    const struct zs_node *node;
    return zs_hierarchy_node_at(hierarchy, group, name, &node, NULL) == ZS_OK ? node : NULL;
}

/* <order>/<name> beside each other. */
static void find_order_groups(struct search *s)
{
    char own[8], path[300];
    char *group = zs_path_parent(s->base->path), *above = group != NULL ? zs_path_parent(group) : NULL;
    const char *name = zs_path_name(s->base->path);
    snprintf(own, sizeof own, "%d", s->healpix->order);
    if (above != NULL && strcmp(zs_path_name(group), own) == 0 && strlen(name) < sizeof path - sizeof own)
        for (int order = s->healpix->order - 1; order >= 0; order--) {
            snprintf(path, sizeof path, "%d/%s", order, name);
            if (!take(s, node_at(s->hierarchy, above, path)))
                break; /* each more would be a request */
        }
    free(above);
    free(group);
}

static void find_layouts(struct search *s)
{
    struct zs_scope scope;
    zs_scope_find(s->hierarchy, s->base, &scope);
    for (int g = 0; g < scope.groups; g++) {
        const struct zs_node *group = scope.group[g];
        const char *below = zs_path_below(group->path, s->base->path);
        struct zs_layout layout;
        bool is_there = below != NULL && zs_layout_first(group->attributes, &layout);
        for (; is_there; is_there = zs_layout_next(&layout)) {
            const int own = zs_layout_find(&layout, below);
            for (int i = 0; i < layout.count && own >= 0; i++) {
                const struct zs_node *level =
                    i != own ? node_at(s->hierarchy, group->path, layout.level[i].asset) : NULL;
                if (level != NULL && level->type == ZS_NODE_GROUP)
                    level = node_at(s->hierarchy, level->path, zs_path_name(s->base->path));
                (void)take(s, level);
            }
        }
    }
}

size_t zs_healpix_levels_find(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                              const struct zs_healpix *healpix, const struct zs_node *levels[ZS_HEALPIX_MAX_ORDER])
{
    struct search s = {.hierarchy = hierarchy, .base = node, .healpix = healpix};
    size_t count = 0;
    find_order_groups(&s);
    find_layouts(&s);
    for (int order = healpix->order - 1; order >= 0; order--)
        if (s.found[order] != NULL)
            levels[count++] = s.found[order];
    return count;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct zs_node *const *x = a, *const *y = b;
    return (*x > *y) - (*x < *y);
}

enum zs_status zs_healpix_levels_mark(struct zs_hierarchy *hierarchy, const struct zs_node *const *nodes, size_t count,
                                      bool *marks, struct zs_error *err)
{
    const struct zs_node **found = NULL;
    size_t n = 0, room = 0;
    for (size_t i = 0; i < count; i++) {
        struct zs_healpix healpix;
        const struct zs_node *levels[ZS_HEALPIX_MAX_ORDER];
        if (marks[i] || !zs_healpix_find(hierarchy, nodes[i], &healpix))
            continue;
        const size_t more = zs_healpix_levels_find(hierarchy, nodes[i], &healpix, levels);
        const struct zs_node **grown = zs_grow_by(found, n, more, &room, sizeof(const struct zs_node *));
        if (grown == NULL) {
            free(found);
            return zs_fail_memory(err);
        }
        found = grown;
        for (size_t k = 0; k < more; k++)
            found[n++] = levels[k];
    }
    if (n > 0)
        qsort(found, n, sizeof *found, compare_nodes);
    for (size_t i = 0; i < count && n > 0; i++)
        marks[i] = marks[i] || bsearch(&nodes[i], found, n, sizeof *found, compare_nodes) != NULL;
    free(found);
    return ZS_OK;
}
