#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/conventions.h"

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

/* From the image of a group above that lists the array as a dataset, where it has scales and translations alone. */
void zs_ome_find_transform(struct zs_search *search)
{
    const struct zs_node *node = search->node;
    const int dims[2] = {search->axes.x, search->axes.y};
    for (int g = 0; g < search->scope.groups; g++) {
        const struct zs_node *group = search->scope.group[g];
        const char *below = zs_path_below(group->path, node->path);
        struct zs_layout layout;
        bool is_there = below != NULL && zs_layout_first(group->attributes, &layout);
        for (; is_there; is_there = zs_layout_next(&layout)) {
            const int level = layout.is_ome ? zs_layout_find(&layout, below) : -1;
            if (level < 0)
                continue;
            double s[2] = {1, 1}, t[2] = {0, 0};
            const zs_json *own = zs_json_get(layout.level[level].entry, "coordinateTransformations");
            if (zs_json_size(own) == 0 || !apply(own, node->array->ndim, dims, s, t, 0) ||
                !apply(layout.transforms, node->array->ndim, dims, s, t, 0))
                return;
            double transform[6] = {t[0], s[0], 0, t[1], 0, s[1]};
            zs_transform_shift(transform, -0.5, -0.5); /* OME's are of pixel centres */
            (void)!zs_search_take(search, transform);
            return;
        }
    }
}

/* Images are a list under `ome`; before 0.5 the list was the member `multiscales` itself. ndpyramid took the list over,
 * for levels that are groups of arrays, without OME's transformations. */
bool zs_ome_take_image(struct zs_layout *layout, const zs_json *before)
{
    const zs_json *datasets;
    const zs_json *images = zs_json_get(zs_json_get(layout->attributes, "ome"), "multiscales");
    if (images == NULL)
        images = zs_json_get(layout->attributes, "multiscales");
    if (!zs_json_is_array(images))
        return false;
    layout->image = before != NULL ? zs_json_next(before) : zs_json_first(images);
    layout->is_foreign = true;
    layout->transforms = zs_json_get(layout->image, "coordinateTransformations");
    datasets = zs_json_get(layout->image, "datasets");
    layout->is_ome = zs_json_get(layout->attributes, "ome") != NULL || zs_json_get(layout->image, "axes") != NULL ||
                     zs_json_get(zs_json_first(datasets), "coordinateTransformations") != NULL;
    return zs_json_is_array(datasets) && zs_layout_add_levels(layout, datasets, "path");
}

/* ---- Channels ---- */

/* The channels along a dimension, one object for each; NULL where it has others. */
static const zs_json *channels_along(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim)
{
    struct zs_scope scope;
    if (hierarchy == NULL)
        return NULL;
    zs_scope_find(hierarchy, node, &scope);
    for (int g = 0; g < scope.groups; g++) {
        const zs_json *attributes = scope.group[g]->attributes, *ome = zs_json_get(attributes, "ome");
        const char *below = zs_path_below(scope.group[g]->path, node->path);
        const zs_json *axes = below != NULL ? zs_image_axes(attributes, below, node->array->ndim) : NULL;
        if (axes == NULL)
            continue;
        const zs_json *channels = zs_json_get(zs_json_get(ome != NULL ? ome : attributes, "omero"), "channels");
        const bool is_along = zs_json_equals(zs_json_get(zs_json_at(axes, (size_t)dim), "type"), "channel") &&
                              zs_json_is_array(channels) && zs_json_size(channels) == node->array->shape[dim];
        return is_along ? channels : NULL;
    }
    return NULL;
}

enum zs_status zs_channel_names(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, uint64_t first,
                                uint64_t count, char ***names, struct zs_error *err)
{
    const zs_json *c = zs_json_first(channels_along(hierarchy, node, dim));
    struct zs_names list = {0};
    enum zs_status status = ZS_OK;
    bool has_label = false;
    *names = NULL;
    for (uint64_t i = 0; c != NULL && i < first + count && status == ZS_OK; c = zs_json_next(c), i++) {
        const char *label = zs_json_text(c, "label", "");
        has_label = has_label || label[0] != '\0';
        if (i >= first)
            status = zs_names_add(
                &list, label[0] != '\0' ? zs_strdup(label) : zs_format("%llu", (unsigned long long)i), err);
    }
    if (status == ZS_OK && has_label)
        *names = list.list;
    else
        zs_names_free(list.list);
    return status;
}

const char *zs_channel_colour(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim, uint64_t index)
{
    const char *colour = zs_json_text(zs_json_at(channels_along(hierarchy, node, dim), (size_t)index), "color", "");
    return strlen(colour) == 6 && strspn(colour, "0123456789abcdefABCDEF") == 6 ? colour : NULL;
}
