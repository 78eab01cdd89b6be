#include "geo/conventions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>


/* What a group declares: the size of a pixel, and the requested box. The arrays begin at the upper left corner of the
 * box and end with whole shards. */
struct grid {
    double resolution[2]; /* x, y; both positive */
    double bounds[4];     /* xmin, ymin, xmax, ymax */
};

/* Part of a pixel by which a box may be off. */
#define ROUNDING 1e-6

static bool grid_of(const zs_json *members, struct grid *g)
{
    if (!zs_json_doubles(zs_json_get(members, "resolution"), g->resolution, 2) ||
        !zs_json_doubles(zs_json_get(members, "bounds"), g->bounds, 4) || zs_json_get(members, "crs") == NULL)
        return false;
    const double across = g->bounds[2] - g->bounds[0], down = g->bounds[3] - g->bounds[1];
    return g->resolution[0] > 0 && g->resolution[1] > 0 && across > 0 && down > 0 &&
           isfinite(across / g->resolution[0]) && isfinite(down / g->resolution[1]);
}

bool zs_zagg_is_product(const zs_json *attributes)
{
    struct grid g;
    return grid_of(attributes, &g);
}

/* The group that holds the array, where it declares a grid. */
static const struct zs_node *grid_above(const struct zs_scope *scope, struct grid *g)
{
    const struct zs_node *group = scope->groups > 0 ? scope->group[0] : NULL;
    const char *below = group != NULL ? zs_path_below(group->path, scope->node->path) : NULL;
    return below != NULL && strchr(below, '/') == NULL && grid_of(group->attributes, g) ? group : NULL;
}

static bool holds_box(const struct grid *g, uint64_t width, uint64_t height)
{
    return (g->bounds[2] - g->bounds[0]) / g->resolution[0] <= (double)width + ROUNDING &&
           (g->bounds[3] - g->bounds[1]) / g->resolution[1] <= (double)height + ROUNDING;
}

/* ---- Companions: one value for each chunk ---- */

bool zs_zagg_find_axes(const struct zs_node *node, const struct zs_scope *scope, struct zs_axes *axes)
{
    struct grid g;
    const struct zs_axes found = {zs_dimension_find(node, "chunk_x"), zs_dimension_find(node, "chunk_y")};
    if (found.x < 0 || found.y < 0 || grid_above(scope, &g) == NULL)
        return false;
    *axes = found;
    return true;
}

/* How many pixels a value of a companion is of, along X or Y: by the length of the group's coordinate variable. 0
 * where it is not known. */
static uint64_t pixels_of_value(const struct zs_search *search, const struct zs_node *group, const char *name,
                                uint64_t values)
{
    const struct zs_node *c;
    if (zs_hierarchy_node_at(search->hierarchy, group->path, name, &c, NULL) != ZS_OK || c->array == NULL ||
        c->array->ndim != 1 || values == 0 || c->array->shape[0] % values != 0)
        return 0;
    return c->array->shape[0] / values;
}

/* ---- Reading ---- */

void zs_zagg_find_transform(struct zs_search *search)
{
    struct grid g;
    const struct zs_node *group = grid_above(&search->scope, &g);
    uint64_t across = 1, down = 1;
    if (group == NULL || search->axes.y < 0)
        return;
    if (search->axes.x == zs_dimension_find(search->node, "chunk_x") &&
        search->axes.y == zs_dimension_find(search->node, "chunk_y")) {
        across = pixels_of_value(search, group, "x", search->width);
        down = pixels_of_value(search, group, "y", search->height);
    }
    g.resolution[0] *= (double)across;
    g.resolution[1] *= (double)down;
    const double found[6] = {g.bounds[0], g.resolution[0], 0, g.bounds[3], 0, -g.resolution[1]};
    if (across > 0 && down > 0 && holds_box(&g, search->width, search->height))
        (void)!zs_search_take(search, found);
}

void zs_zagg_find_crs(struct zs_search *search)
{
    struct grid g;
    const struct zs_node *group = grid_above(&search->scope, &g);
    if (group != NULL)
        search->out->srs = zs_crs_from_json(zs_json_get(group->attributes, "crs"));
}
