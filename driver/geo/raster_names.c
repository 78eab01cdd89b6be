/* Names for the dimensions of a raster that is appended to a store. */
#include <stdlib.h>
#include <string.h>

#include "geo/conventions.h"
#include "geo/coordinates.h"
#include "geo/layout.h"
#include "geo/raster.h"

/* A dimension of the new raster. */
struct dimension {
    const char *name;
    uint64_t size;
    double *values; /* its coordinates; NULL where it has none */
};

/* Band numbers, as raster.c writes them. */
static double *band_values(uint64_t bands)
{
    double *values = zs_calloc((size_t)bands, sizeof *values);
    for (uint64_t b = 0; values != NULL && b < bands; b++)
        values[b] = (double)b + 1;
    return values;
}

static bool find_dimensions(const struct zs_raster_spec *spec, struct dimension dims[3])
{
    const struct zs_georef_out geo = zs_raster_georef(spec);
    const bool has_axes = zs_has_axes(&geo) && spec->style != ZS_GEOREF_SPATIAL_PROJ;
    dims[0] = (struct dimension){spec->has_band_dimension ? spec->dim_band : "", spec->bands, band_values(spec->bands)};
    dims[1] = (struct dimension){spec->dim_y, spec->height, has_axes ? zs_axis_values(&geo, false) : NULL};
    dims[2] = (struct dimension){spec->dim_x, spec->width, has_axes ? zs_axis_values(&geo, true) : NULL};
    return dims[0].values != NULL && (!has_axes || (dims[1].values != NULL && dims[2].values != NULL));
}

/* Whether dimension d of an array is the same as ours, to the bit: in size, and in coordinates where it has any. */
static enum zs_status is_same(struct zs_hierarchy *h, const struct zs_node *node, int d, const struct dimension *ours, bool *same,
                              struct zs_error *err)
{
    const struct zs_node *c = zs_coordinate_find(h, node, d);
    double *values = NULL;
    bool is_blank;
    *same = node->array->shape[d] == ours->size && (c == NULL || ours->values != NULL);
    if (!*same || c == NULL || ours->size == 0)
        return ZS_OK;
    ZS_TRY(zs_coordinate_values(h, c, 0, ours->size, &values, &is_blank, err));
    *same = values != NULL && memcmp(values, ours->values, (size_t)ours->size * sizeof *values) == 0;
    free(values);
    return ZS_OK;
}

/* Looks at the dimensions of one array of a group above. */
static enum zs_status compare(struct zs_hierarchy *h, const struct zs_node *node, const struct dimension dims[3], bool taken[3],
                              struct zs_error *err)
{
    for (int d = 0; d < node->array->ndim; d++) {
        const char *name = zs_dimension_name(node, d);
        for (int k = 0; k < 3 && name != NULL; k++) {
            bool same = true;
            if (!taken[k] && strcmp(name, dims[k].name) == 0)
                ZS_TRY(is_same(h, node, d, &dims[k], &same, err));
            taken[k] = taken[k] || !same;
        }
    }
    return ZS_OK;
}

enum zs_status zs_raster_dimensions_taken(struct zs_hierarchy *h, const char *group, const struct zs_raster_spec *spec, bool taken[3],
                                          struct zs_error *err)
{
    struct dimension dims[3];
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    memset(taken, 0, 3 * sizeof *taken);
    enum zs_status status = find_dimensions(spec, dims) ? ZS_OK : zs_no_memory(err);
    if (status == ZS_OK && zs_hierarchy_list(h, &nodes, &count, NULL) != ZS_OK)
        count = 0; /* what cannot be listed has no names that we know of */
    for (size_t i = 0; i < count && status == ZS_OK; i++) {
        char *above = nodes[i]->array != NULL ? zs_path_parent(nodes[i]->path) : NULL;
        if (above != NULL && zs_path_below(above, group) != NULL)
            status = compare(h, nodes[i], dims, taken, err);
        free(above);
    }
    free(nodes);
    for (int k = 0; k < 3; k++)
        free(dims[k].values);
    return status;
}
