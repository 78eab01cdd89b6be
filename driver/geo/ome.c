#include "geo/ome.h"

/* Element `index` of an array of numbers with one per dimension. */
static bool element(const zs_json *array, int ndim, int index, double *out)
{
    return zs_json_size(array) == (size_t)ndim && zs_json_double(zs_json_at(array, (size_t)index), out);
}

/* Applies a list of transformations to scale[2] and translation[2] (x, y): the last one is the outermost. */
static bool apply(const zs_json *list, int ndim, const int *dims, double *scale, double *translation, int depth)
{
    for (const zs_json *t = zs_json_first(list); t != NULL; t = zs_json_next(t)) {
        const zs_json *type = zs_json_get(t, "type");
        /* 0.6 wraps them in sequences; nothing needs more than a few. */
        if (zs_json_equals(type, "sequence") && depth < 4) {
            if (!apply(zs_json_get(t, "transformations"), ndim, dims, scale, translation, depth + 1))
                return false;
        } else if (zs_json_equals(type, "scale") || zs_json_equals(type, "translation")) {
            const bool is_scale = zs_json_equals(type, "scale");
            const zs_json *numbers = zs_json_get(t, is_scale ? "scale" : "translation");
            for (int i = 0; i < 2; i++) {
                double value;
                if (!element(numbers, ndim, dims[i], &value))
                    return false;
                if (is_scale) {
                    scale[i] *= value;
                    translation[i] *= value;
                } else {
                    translation[i] += value;
                }
            }
        } else if (!zs_json_equals(type, "identity")) {
            return false;
        }
    }
    return true;
}

bool zs_ome_transform(const struct zs_node *node, const struct zs_scope *scope, struct zs_axes axes, double *transform)
{
    const int dims[2] = {axes.x, axes.y};
    for (int g = 0; g < scope->groups; g++) {
        const char *below = zs_path_below(scope->group[g]->path, node->path);
        struct zs_layout layout;
        bool is_there = below != NULL && zs_layout_first(scope->group[g]->attributes, &layout);
        for (; is_there; is_there = zs_layout_next(&layout)) {
            const int level = layout.is_ome ? zs_layout_find(&layout, below) : -1;
            if (level < 0)
                continue;
            double scale[2] = {1, 1}, translation[2] = {0, 0};
            const zs_json *own = zs_json_get(layout.level[level].entry, "coordinateTransformations");
            if (zs_json_size(own) == 0 || !apply(own, node->array->ndim, dims, scale, translation, 0) ||
                !apply(layout.transforms, node->array->ndim, dims, scale, translation, 0))
                return false;
            transform[0] = translation[0] - scale[0] / 2;
            transform[1] = scale[0];
            transform[2] = 0;
            transform[3] = translation[1] - scale[1] / 2;
            transform[4] = 0;
            transform[5] = scale[1];
            return true;
        }
    }
    return false;
}
