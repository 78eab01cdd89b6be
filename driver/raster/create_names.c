/* Names for the dimensions of a raster that is appended to a store. */
#include <stdlib.h>
#include <string.h>

#include "geo/conventions.h"
#include "geo/coordinates.h"
#include "geo/variables.h"
#include "raster/create.h"

/* A dimension of the new raster. */
struct dimension {
    const char *name;
    uint64_t size;
    double *values; /* its coordinates; NULL where it has none */
    const struct zs_extra_axis *axis; /* NULL for Y and X */
};

static double *values_of_axis(const struct zs_extra_axis *axis)
{
    const struct zs_dtype dtype = zs_dtype_of(axis->type);
    double *values = zs_calloc((size_t)axis->size, sizeof *values);
    for (uint64_t i = 0; values != NULL && i < axis->size; i++)
        values[i] = zs_dtype_to_double(&dtype, (const unsigned char *)axis->elements + i * dtype.size);
    return values;
}

/* In the array's order. */
static bool find_dimensions(const struct zs_raster_spec *spec, struct dimension *dims)
{
    const struct zs_georef_out geo = zs_raster_georef(spec);
    const bool has_axes = zs_has_axes(&geo) && spec->style != ZS_GEOREF_SPATIAL_PROJ;
    const struct zs_axes axes = zs_raster_axes(spec);
    bool ok = true;
    for (int d = 0; d < spec->axis_count; d++) {
        const struct zs_extra_axis *axis = &spec->axes[d];
        dims[d] =
            (struct dimension){axis->name, axis->size, axis->elements != NULL ? values_of_axis(axis) : NULL, axis};
        ok = ok && (axis->elements == NULL || dims[d].values != NULL);
    }
    if (axes.y < 0) {
        dims[axes.x] = (struct dimension){spec->dim_x, zs_healpix_cells_of(spec->healpix->order), NULL, NULL};
        return ok;
    }
    dims[axes.y] = (struct dimension){spec->dim_y, spec->height, has_axes ? zs_axis_values(&geo, false) : NULL, NULL};
    dims[axes.x] = (struct dimension){spec->dim_x, spec->width, has_axes ? zs_axis_values(&geo, true) : NULL, NULL};
    return ok && (!has_axes || (dims[axes.y].values != NULL && dims[axes.x].values != NULL));
}

/* Whether a variable counts as the axis does: "hours since ..." */
static bool has_units_of(const struct zs_node *variable, const struct zs_extra_axis *axis)
{
    static const char *const names[] = {"units", "calendar"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *ours = zs_extra_axis_attribute(axis->attributes, names[i]);
        const char *theirs = zs_json_text(variable->attributes, names[i], NULL);
        if ((theirs == NULL) != (ours == NULL) || (ours != NULL && strcmp(theirs, ours) != 0))
            return false;
    }
    return true;
}

/* Whether dimension `dim` of an array is the same as ours, to the bit: in size, and in coordinates where it has any. */
static enum zs_status is_same(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim,
                              const struct dimension *ours, bool *same, struct zs_error *err)
{
    const struct zs_node *c = zs_coordinate_find(hierarchy, node, dim);
    double *values = NULL;
    bool is_blank;
    *same = node->array->shape[dim] == ours->size && (c == NULL || ours->values != NULL);
    if (!*same || c == NULL || ours->size == 0)
        return ZS_OK;
    ZS_TRY(zs_coordinate_values(hierarchy, c, 0, ours->size, &values, &is_blank, err));
    *same = values != NULL && memcmp(values, ours->values, (size_t)ours->size * sizeof *values) == 0 &&
            (ours->axis == NULL || has_units_of(c, ours->axis));
    free(values);
    return ZS_OK;
}

/* Looks at the dimensions of one array of a group above. */
static enum zs_status compare(struct zs_hierarchy *hierarchy, const struct zs_node *node, const struct dimension *dims,
                              int ndim, bool *taken, struct zs_error *err)
{
    for (int d = 0; d < node->array->ndim; d++) {
        const char *name = zs_dimension_name(node, d);
        for (int k = 0; k < ndim && name != NULL; k++) {
            bool same = true;
            if (!taken[k] && strcmp(name, dims[k].name) == 0)
                ZS_TRY(is_same(hierarchy, node, d, &dims[k], &same, err));
            taken[k] = taken[k] || !same;
        }
    }
    return ZS_OK;
}

enum zs_status zs_raster_dimensions_taken(struct zs_hierarchy *hierarchy, const char *group,
                                          const struct zs_raster_spec *spec, bool *taken, struct zs_error *err)
{
    struct dimension dims[ZS_MAX_NDIM] = {{0}};
    const int ndim = zs_raster_ndim(spec);
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    memset(taken, 0, (size_t)ndim * sizeof *taken);
    enum zs_status status = find_dimensions(spec, dims) ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK && zs_hierarchy_list(hierarchy, &nodes, &count, NULL) != ZS_OK)
        count = 0; /* names in a group that cannot be listed are not known */
    for (size_t i = 0; i < count && status == ZS_OK; i++) {
        char *above = nodes[i]->array != NULL ? zs_path_parent(nodes[i]->path) : NULL;
        if (above != NULL && zs_path_below(above, group) != NULL)
            status = compare(hierarchy, nodes[i], dims, ndim, taken, err);
        free(above);
    }
    free(nodes);
    const struct zs_axes axes = zs_raster_axes(spec);
    if (axes.y >= 0) /* X and Y of a grid come from one group */
        taken[axes.x] = taken[axes.y] = taken[axes.x] || taken[axes.y];
    for (int k = 0; k < ndim; k++)
        free(dims[k].values);
    return status;
}
