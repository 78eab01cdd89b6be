#include "geo/variables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "codec/chain.h"
#include "zarr/name.h"

zs_json *zs_small_array_document(const char *name, enum zs_data_type type, uint64_t count, bool has_checksum,
                                 bool has_dotted_keys)
{
    struct zs_array_spec spec = {
        .ndim = count > 0 ? 1 : 0, .shape = {count}, .chunk_shape = {count}, .dtype = zs_dtype_of(type)};
    spec.dimension_names[0] = name;
    spec.encoding.chunk_checksum = has_checksum;
    spec.encoding.has_dotted_keys = has_dotted_keys;
    const double nan_value = NAN; /* a coordinate of 0 is a value like any other */
    const float nan_single = NAN;
    if (type == ZS_FLOAT64)
        memcpy(spec.fill_value, &nan_value, sizeof nan_value);
    else if (type == ZS_FLOAT32)
        memcpy(spec.fill_value, &nan_single, sizeof nan_single);
    return zs_array_document(&spec);
}

enum zs_status zs_write_small_array(struct zs_store *store, const struct zs_node *node, bool is_new, const void *values,
                                    struct zs_error *err)
{
    struct zs_array *array = NULL;
    const struct zs_array_options options = {.threads = 1};
    ZS_TRY(zs_array_open_in(store, node, &options, &array, err));
    if (is_new)
        zs_array_set_new(array, 0);
    const size_t size = node->array->dtype.size;
    struct zs_window w = {
        .count = {node->array->shape[0]}, .data = (void *)(uintptr_t)values, .stride = {(ptrdiff_t)size}};
    enum zs_status status = zs_array_write_windows(array, &w, 1, size, NULL, NULL, err);
    if (status == ZS_OK)
        status = zs_array_flush(array, err);
    zs_array_close(array);
    return status;
}

bool zs_has_axes(const struct zs_georef_out *geo)
{
    return geo->has_transform && geo->transform[2] == 0 && geo->transform[4] == 0;
}

struct zs_georef_out zs_georef_at_size(const struct zs_georef_out *geo, uint64_t width, uint64_t height)
{
    struct zs_georef_out at = *geo;
    const double sx = (double)geo->width / (double)width, sy = (double)geo->height / (double)height;
    const double scale[6] = {1, sx, sy, 1, sx, sy};
    for (int k = 0; k < 6; k++)
        at.transform[k] *= scale[k];
    at.width = width;
    at.height = height;
    return at;
}

/* ---- Beside an array ---- */

const struct zs_node *zs_nearest_array(struct zs_hierarchy *hierarchy, const char *group, const char *end,
                                       const char *name)
{
    const struct zs_node *found = NULL;
    char *const path = zs_strdup(group);
    for (char *at = path; at != NULL && found == NULL && (end == NULL || strcmp(at, end) != 0); at = zs_path_up(at))
        if (zs_hierarchy_node_at(hierarchy, at, name, &found, NULL) != ZS_OK || found->type != ZS_NODE_ARRAY)
            found = NULL;
    free(path);
    return found;
}

const struct zs_node *zs_array_beside(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name,
                                      bool or_above)
{
    char *group = zs_is_inside_name(name) ? zs_path_parent(node->path) : NULL;
    char *end = group != NULL && !or_above ? zs_path_parent(group) : NULL;
    const struct zs_node *found = group != NULL ? zs_nearest_array(hierarchy, group, end, name) : NULL;
    free(end);
    free(group);
    return found;
}

const struct zs_node *zs_sibling(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name)
{
    const struct zs_node *found = zs_array_beside(hierarchy, node, name, false);
    return found != node ? found : NULL;
}

enum zs_status zs_slot_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, const char *name,
                            bool (*is_kind)(const struct zs_node *found, const char *name), struct zs_slot *slot,
                            struct zs_error *err)
{
    *slot = (struct zs_slot){.has_checksum = node->array != NULL && zs_has_chunk_checksum(node->array)};
    if (!zs_is_inside_name(name))
        return ZS_OK;
    char *group = zs_path_parent(node->path);
    char *path = group != NULL ? zs_path_join(group, name) : NULL;
    free(group);
    ZS_TRY_MEMORY(path, err);
    const enum zs_status status = zs_hierarchy_occupant(hierarchy, path, &slot->own, err);
    const bool is_other = status == ZS_INVALID || status == ZS_UNSUPPORTED; /* a zarr.json, but none that we know */
    slot->is_usable =
        status == ZS_OK && (slot->own == NULL || (is_kind != NULL && slot->own != node &&
                                                  slot->own->type == ZS_NODE_ARRAY && is_kind(slot->own, name)));
    if (slot->is_usable) {
        slot->path = path;
        return ZS_OK;
    }
    free(path);
    slot->own = NULL;
    return is_other ? ZS_OK : status;
}
