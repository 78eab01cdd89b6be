#include "geo/axes.h"

#include <stdlib.h>
#include <string.h>

#include "geo/conventions.h"
#include "geo/variables.h"

const char *zs_dimension_name(const struct zs_node *node, int dim)
{
    const struct zs_array_meta *meta = node->array;
    const int ndim = meta != NULL ? meta->ndim : (int)zs_json_size(zs_json_get(node->document, "shape"));
    if (dim < 0 || dim >= ndim)
        return NULL;
    if (meta != NULL && meta->dimension_names[dim] != NULL)
        return meta->dimension_names[dim];
    const zs_json *lists[] = {meta == NULL ? zs_json_get(node->document, "dimension_names") : NULL,
                              zs_json_get(node->attributes, ZS_ARRAY_DIMENSIONS)};
    const char *name = NULL;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && name == NULL; i++)
        if (zs_json_is_array(lists[i]) && zs_json_size(lists[i]) == (size_t)ndim)
            zs_json_string(zs_json_at(lists[i], (size_t)dim), &name);
    return name;
}

int zs_dimension_find(const struct zs_node *node, const char *name)
{
    for (int d = 0; node->array != NULL && d < node->array->ndim; d++) {
        const char *own = zs_dimension_name(node, d);
        if (own != NULL && strcmp(own, name) == 0)
            return d;
    }
    return -1;
}

size_t zs_dimension_stem(const char *name)
{
    static const char digits[] = "0123456789";
    const char *end = strrchr(name, '_');
    const size_t n = end != NULL ? strspn(end + 1, digits) : 0;
    return n > 0 && end != name && strcmp(end + 1 + n, "x") == 0 ? (size_t)(end - name) : strlen(name);
}

bool zs_dimension_is_of(const char *name, const char *base)
{
    const size_t n = strlen(base);
    return strncmp(name, base, n) == 0 && (name[n] == '\0' || zs_dimension_stem(name) == n);
}

/* Dimension that `text` names: by name, else by index. */
static enum zs_status dimension_of(const struct zs_node *node, const char *option, const char *text, int *dim,
                                   struct zs_error *err)
{
    const int ndim = node->array->ndim;
    char *end;
    *dim = zs_dimension_find(node, text);
    if (*dim >= 0)
        return ZS_OK;
    const long index = strtol(text, &end, 10);
    if (end != text && *end == '\0' && index >= 0 && index < ndim) {
        *dim = (int)index;
        return ZS_OK;
    }
    return zs_fail(err, ZS_ARGUMENT, "%s=%s is no dimension of %s, neither by name nor by index 0 to %d", option, text,
                   node->path[0] != '\0' ? node->path : "the root array", ndim - 1);
}

/* X and Y as a convention names them. */
static bool from_conventions(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes *found)
{
    struct zs_scope scope;
    zs_scope_find(hierarchy, node, &scope);
    return zs_spatial_find_axes(node, &scope, found) || zs_zagg_find_axes(node, &scope, found);
}

/* The only dimension whose kind is `axis`, -1 when there is none or more than one, or it is the other axis. */
static int only_one(const char *kinds, int ndim, char axis, int other)
{
    int found = -1;
    for (int i = 0; i < ndim; i++)
        if (kinds[i] == axis) {
            if (found >= 0)
                return -1;
            found = i;
        }
    return found != other ? found : -1;
}

/* Fills what is still unknown (-1) of X and Y from a kind per dimension. */
static void from_kinds(struct zs_axes *axes, const char *kinds, int ndim)
{
    if (axes->x < 0)
        axes->x = only_one(kinds, ndim, 'X', axes->y);
    if (axes->y < 0)
        axes->y = only_one(kinds, ndim, 'Y', axes->x);
}

/* The axis that is before the first "_" of a name, or behind the last, and what else is in the name. 0: none. */
static char part_axis(const char *name, bool is_behind, const char **rest, size_t *length)
{
    char part[32];
    const char *at = name == NULL ? NULL : is_behind ? strrchr(name, '_') : strchr(name, '_');
    const size_t n = at == NULL ? 0 : is_behind ? strlen(at + 1) : (size_t)(at - name);
    if (n == 0 || n >= sizeof part)
        return 0;
    *rest = is_behind ? name : at;
    *length = is_behind ? (size_t)(at - name) : strlen(at);
    memcpy(part, is_behind ? at + 1 : name, n);
    part[n] = '\0';
    return zs_name_axis(part);
}

/* X and Y by names that differ in that alone (y_osgb, x_osgb; grid_lat, grid_lon), where one pair does. */
static void from_parts(const struct zs_node *node, struct zs_axes *axes)
{
    const int ndim = node->array->ndim;
    const char *a, *b;
    size_t n, m;
    int pairs = 0;
    struct zs_axes found = *axes;
    for (int i = 0; i < 2 * ndim * ndim; i++) {
        const int x = i / 2 / ndim, y = i / 2 % ndim;
        if (part_axis(zs_dimension_name(node, x), i % 2, &a, &n) == 'X' &&
            part_axis(zs_dimension_name(node, y), i % 2, &b, &m) == 'Y' && n == m && memcmp(a, b, n) == 0) {
            found = (struct zs_axes){x, y};
            pairs++;
        }
    }
    if (pairs == 1)
        *axes = found;
}

enum zs_status zs_axes_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *dim_x,
                            const char *dim_y, struct zs_axes *axes, struct zs_error *err)
{
    struct zs_axes a = {-1, -1}, declared;
    const int ndim = node->array != NULL ? node->array->ndim : 0;
    if (ndim == 0)
        return zs_fail(err, ZS_ARGUMENT, "%s has no dimension to be X", node->path);
    if (dim_x != NULL)
        ZS_TRY(dimension_of(node, "DIM_X", dim_x, &a.x, err));
    if (dim_y != NULL)
        ZS_TRY(dimension_of(node, "DIM_Y", dim_y, &a.y, err));
    if (a.x >= 0 && a.x == a.y)
        return zs_fail(err, ZS_ARGUMENT, "DIM_X=%s and DIM_Y=%s are the same dimension of %s", dim_x, dim_y,
                       node->path);
    if (ndim == 1) {
        *axes = (struct zs_axes){0, -1};
        return ZS_OK;
    }
    if ((a.x < 0 || a.y < 0) && from_conventions(hierarchy, node, &declared)) {
        if (a.x < 0 && declared.x != a.y)
            a.x = declared.x;
        if (a.y < 0 && declared.y != a.x)
            a.y = declared.y;
    }
    char kinds[ZS_MAX_NDIM];
    if (a.x < 0 || a.y < 0) {
        for (int i = 0; i < ndim; i++)
            kinds[i] = zs_name_axis(zs_dimension_name(node, i));
        /* Names count when they settle both; one alone ("x" beside "lon") is left to CF. */
        struct zs_axes named = a;
        from_kinds(&named, kinds, ndim);
        if (named.x >= 0 && named.y >= 0)
            a = named;
        else if (a.x < 0 && a.y < 0)
            from_parts(node, &a);
    }
    if (a.x < 0 || a.y < 0) {
        char cf[ZS_MAX_NDIM];
        for (int i = 0; i < ndim; i++) {
            const struct zs_node *c = zs_coordinate_find(hierarchy, node, i);
            cf[i] = c != NULL ? zs_cf_axis(c->attributes, NULL) : 0;
        }
        from_kinds(&a, cf, ndim);
        from_kinds(&a, kinds, ndim);
    }
    /* The last dimensions that are left. */
    for (int i = ndim - 1; i >= 0 && a.x < 0; i--)
        if (i != a.y)
            a.x = i;
    for (int i = ndim - 1; i >= 0 && a.y < 0; i--)
        if (i != a.x)
            a.y = i;
    *axes = a;
    return ZS_OK;
}
