#include "geo/conventions.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "geo/variables.h"

/* ---- Reading ---- */

/* "./a" is "a", and "." the group itself: "". */
static const char *without_dot(const char *asset)
{
    if (strncmp(asset, "./", 2) == 0)
        return asset + 2;
    return strcmp(asset, ".") == 0 ? "" : asset;
}

bool zs_layout_add_levels(struct zs_layout *layout, const zs_json *entries, const char *asset_name)
{
    const zs_json *entry = zs_json_first(entries);
    for (; entry != NULL && layout->count < ZS_MAX_LAYOUT_LEVELS; entry = zs_json_next(entry)) {
        const char *asset;
        if (!zs_json_string(zs_json_get(entry, asset_name), &asset))
            continue;
        const char *derived_from = zs_json_text(entry, "derived_from", NULL);
        layout->level[layout->count++] = (struct zs_layout_level){
            without_dot(asset), derived_from != NULL ? without_dot(derived_from) : NULL, entry};
    }
    return layout->count > 0;
}

/* The one pyramid of the convention, or of the tile matrices that it took the name from. */
static bool take_pyramid(struct zs_layout *layout)
{
    const zs_json *multiscales = zs_json_get(layout->attributes, "multiscales");
    const zs_json *levels = zs_json_get(multiscales, "layout");
    const char *asset_name = "asset";
    layout->image = multiscales;
    if (levels == NULL) {
        levels = zs_json_get(zs_json_get(multiscales, "tile_matrix_set"), "tileMatrices");
        asset_name = "id";
    }
    return zs_json_is_array(levels) && zs_layout_add_levels(layout, levels, asset_name);
}

bool zs_layout_first(const zs_json *attributes, struct zs_layout *layout)
{
    *layout = (struct zs_layout){.attributes = attributes};
    return take_pyramid(layout) || zs_layout_next(layout);
}

bool zs_layout_next(struct zs_layout *layout)
{
    const zs_json *attributes = layout->attributes, *image = layout->image;
    *layout = (struct zs_layout){.attributes = attributes};
    return zs_ome_take_image(layout, image != zs_json_get(attributes, "multiscales") ? image : NULL);
}

/* Length of a path without slashes at its end. */
static size_t path_length(const char *path)
{
    size_t n = strlen(path);
    while (n > 0 && path[n - 1] == '/')
        n--;
    return n;
}

static bool same_path(const char *a, const char *b)
{
    const size_t n = path_length(a);
    return n == path_length(b) && memcmp(a, b, n) == 0;
}

int zs_layout_find(const struct zs_layout *layout, const char *path)
{
    for (int i = 0; i < layout->count; i++)
        if (same_path(layout->level[i].asset, path))
            return i;
    const char *slash = strrchr(path, '/');
    if (layout->is_ome)
        return -1;
    const size_t n = slash != NULL ? (size_t)(slash - path) : 0;
    for (int i = 0; i < layout->count; i++)
        if (path_length(layout->level[i].asset) == n && memcmp(layout->level[i].asset, path, n) == 0)
            return i;
    return -1;
}

bool zs_layout_is_derived(const struct zs_layout *layout, int a, int b)
{
    /* Bounded by the number of levels: a file may name a circle. */
    for (int steps = 0; steps < layout->count; steps++) {
        const char *from = layout->level[a].derived_from;
        if (from == NULL)
            return false;
        int next = -1;
        for (int i = 0; i < layout->count && next < 0; i++)
            if (same_path(layout->level[i].asset, from))
                next = i;
        if (next < 0)
            return false;
        if (next == b)
            return true;
        a = next;
    }
    return false;
}

bool zs_is_overview_group(const char *name, int *factor)
{
    int n = 0, used = 0;
    if (sscanf(name, "ovr_%9d%n", &n, &used) != 1 || n < 1 || name[used] != 'x')
        return false;
    const char *rest = name + used + 1;
    if (rest[0] != '\0' && (rest[0] != '_' || rest[1] == '\0' || rest[1 + strspn(rest + 1, "0123456789")] != '\0'))
        return false;
    *factor = n;
    return true;
}

/* ---- Levels as nodes ---- */

#define MAX_SIZE 9007199254740992.0 /* doubles count to here */

const struct zs_node *zs_level_array(struct zs_hierarchy *hierarchy, const struct zs_node *group,
                                     const struct zs_layout_level *level, const struct zs_node *like)
{
    const struct zs_node *found;
    if (zs_hierarchy_node_at(hierarchy, group->path, level->asset, &found, NULL) != ZS_OK)
        return NULL;
    if (found->type == ZS_NODE_GROUP &&
        zs_hierarchy_node_at(hierarchy, found->path, zs_path_name(like->path), &found, NULL) != ZS_OK)
        return NULL;
    return found->array != NULL && found->array->ndim == like->array->ndim ? found : NULL;
}

bool zs_level_size(struct zs_hierarchy *hierarchy, const struct zs_node *group, const struct zs_layout_level *level,
                   const struct zs_node *like, struct zs_axes axes, uint64_t *width, uint64_t *height)
{
    const struct zs_node *node = zs_level_array(hierarchy, group, level, like);
    double size[2];
    int factor;
    if (node != NULL) {
        *width = node->array->shape[axes.x];
        *height = node->array->shape[axes.y];
    } else if (zs_spatial_size(level->entry, size) && size[0] >= 1 && size[1] >= 1 &&
               fmax(size[0], size[1]) < MAX_SIZE) {
        *height = (uint64_t)size[0];
        *width = (uint64_t)size[1];
    } else if (zs_is_overview_group(zs_path_name(level->asset), &factor)) {
        *width = zs_ceil_div_u64(like->array->shape[axes.x], (uint64_t)factor);
        *height = zs_ceil_div_u64(like->array->shape[axes.y], (uint64_t)factor);
    } else {
        return false;
    }
    return *width > 0 && *height > 0;
}

/* ---- Writing ---- */

static const struct zs_convention convention = {"d35379db-88df-4056-af3a-620245f8e347", "multiscales"};

/* Adds a level, which is derived from the one before; NULL: it is the base. */
static bool add_level(zs_json *layout, const zs_json *group, const struct zs_georef_out *geo,
                      const struct zs_pyramid_level *level, const struct zs_pyramid_level *before)
{
    zs_json *e = zs_json_add_object(layout, NULL);
    zs_json_add_string(e, "asset", level->asset);
    if (before != NULL)
        zs_json_add_string(e, "derived_from", before->asset);
    zs_json *transform = zs_json_add_object(e, "transform");
    /* One number per dimension: GDAL 3.13 and xarray's pyramids have it so for arrays of more than two. */
    const int ndim = geo->ndim > 0 ? geo->ndim : 2, x = geo->ndim > 0 ? geo->x : 1, y = geo->ndim > 0 ? geo->y : 0;
    double scale[ZS_MAX_NDIM], translation[ZS_MAX_NDIM] = {0};
    for (int d = 0; d < ndim; d++)
        scale[d] = 1;
    if (before != NULL) {
        scale[y] = (double)before->height / (double)level->height;
        scale[x] = (double)before->width / (double)level->width;
    }
    if (!zs_set_doubles(transform, "scale", scale, (size_t)ndim) ||
        !zs_set_doubles(transform, "translation", translation, (size_t)ndim))
        return false;
    const struct zs_georef_out at = zs_georef_at_size(geo, level->width, level->height);
    return geo->dim_x == NULL || zs_spatial_write_level(e, &at, group);
}

enum zs_status zs_write_multiscales(zs_json *group_attributes, const struct zs_georef_out *geo,
                                    const struct zs_pyramid_level *levels, size_t count, const char *resampling,
                                    struct zs_error *err)
{
    zs_json *layout = count > 0 ? zs_json_new_array() : NULL; /* paths may be texts of the one that is there */
    bool ok = count == 0 || layout != NULL;
    for (size_t i = 0; i < count && ok; i++)
        ok = add_level(layout, group_attributes, geo, &levels[i], i > 0 ? &levels[i - 1] : NULL);
    if (!ok || count == 0) {
        zs_json_free(layout);
        zs_json_remove(group_attributes, "multiscales");
    } else { /* members of others stay */
        zs_json *m = zs_json_get_mutable(group_attributes, "multiscales");
        if (!zs_json_is_object(m))
            m = zs_json_set(group_attributes, "multiscales", zs_json_new_object());
        zs_json_remove(m, "resampling_method");
        ok = zs_json_set(m, "layout", layout) != NULL &&
             (resampling == NULL || zs_json_add_string(m, "resampling_method", resampling) != NULL);
    }
    ok = ok && zs_convention_declare(&convention, group_attributes, count > 0);
    return ok ? ZS_OK : zs_fail_memory(err);
}
