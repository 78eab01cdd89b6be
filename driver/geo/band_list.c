
#include <string.h>

#include "base/checked.h"
#include "geo/bands.h"
#include "geo/healpix.h"
#include "zarr/make.h"

/* ---- Of a group ---- */

size_t zs_band_list_position(const zs_json *attributes, const char *name)
{
    const zs_json *list = zs_json_get(attributes, ZS_BANDS_ATTRIBUTE);
    size_t index = 0;
    if (!zs_json_is_array(list))
        return SIZE_MAX;
    for (const zs_json *band = zs_json_first(list); band != NULL; band = zs_json_next(band), index++) {
        const char *found;
        if (zs_json_string(zs_json_is_object(band) ? zs_json_get(band, "name") : band, &found) &&
            strcmp(found, name) == 0)
            return index;
    }
    return SIZE_MAX;
}

enum zs_status zs_band_list_write(zs_json *attributes, const char *const *names, size_t n, struct zs_error *err)
{
    zs_json *list = zs_json_add_array(attributes, ZS_BANDS_ATTRIBUTE);
    for (size_t i = 0; i < n; i++)
        if (zs_json_add_string(zs_json_add_object(list, NULL), "name", names[i]) == NULL)
            return zs_fail_memory(err);
    return ZS_OK;
}

/* ---- Of an array that grows ---- */

/* Attributes that have an element for each band, and whether an empty one is an object, else it is a text. */
static const struct {
    const char *name;
    bool is_of_objects;
} lists[] = {{ZS_BANDS_ATTRIBUTE, true}, {"long_name", false}};

/* The dimensions other than X and Y, slowest first, as they were and will be. */
struct growth {
    int count;
    uint64_t from[ZS_MAX_NDIM], to[ZS_MAX_NDIM];
    uint64_t slices_before, slices_after; /* UINT64_MAX when 64 bits do not count them */
};

static struct growth find_growth(int ndim, struct zs_axes axes, const uint64_t *from, const uint64_t *to)
{
    struct growth g = {.slices_before = 1, .slices_after = 1};
    for (int d = 0; d < ndim; d++) {
        if (d == axes.x || d == axes.y)
            continue;
        g.from[g.count] = from[d];
        g.to[g.count++] = to[d];
        if (!zs_mul_u64(g.slices_before, from[d], &g.slices_before))
            g.slices_before = UINT64_MAX;
        if (!zs_mul_u64(g.slices_after, to[d], &g.slices_after))
            g.slices_after = UINT64_MAX;
    }
    return g;
}

/* Goes to the next slice of the grown array; *is_old: it was there before. */
static void next_slice(const struct growth *g, uint64_t *position, bool *is_old)
{
    int d = g->count - 1;
    while (d >= 0 && ++position[d] == g->to[d])
        position[d--] = 0;
    *is_old = true;
    for (d = 0; d < g->count; d++)
        *is_old = *is_old && position[d] < g->from[d];
}

/* The list of all slices. Those that were there before follow each other as they did: each takes the next element. */
static zs_json *grow_list(const zs_json *old, const struct growth *g, bool is_of_objects)
{
    uint64_t position[ZS_MAX_NDIM] = {0};
    bool is_old = true; /* the first slice is, where there are some */
    const zs_json *element = zs_json_first(old);
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL;
    for (uint64_t i = 0; i < g->slices_after && ok; i++) {
        if (is_old) {
            ok = zs_json_add(list, NULL, zs_json_copy(element)) != NULL;
            element = zs_json_next(element);
        } else {
            ok = (is_of_objects ? zs_json_add_object(list, NULL) : zs_json_add_string(list, NULL, "")) != NULL;
        }
        next_slice(g, position, &is_old);
    }
    if (ok)
        return list;
    zs_json_free(list);
    return NULL;
}

enum zs_status zs_band_lists_grow(const zs_json *attributes, int ndim, struct zs_axes axes, const uint64_t *from,
                                  const uint64_t *to, zs_json **grown, struct zs_error *err)
{
    const struct growth g = find_growth(ndim, axes, from, to);
    zs_json *copy = NULL;
    *grown = NULL;
    if (g.slices_before == 0 || g.slices_after == g.slices_before)
        return ZS_OK;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const zs_json *old = zs_list_of_bands(attributes, lists[i].name, g.slices_before);
        enum zs_status status = ZS_OK;
        if (old == NULL)
            continue;
        if (g.slices_after > ZS_MOST_LISTED_SLICES)
            status = zs_fail(err, ZS_UNSUPPORTED, "attribute %s has an element for each of %llu slices: expected at "
                             "most %llu, found %llu", lists[i].name, (unsigned long long)g.slices_before,
                             (unsigned long long)ZS_MOST_LISTED_SLICES, (unsigned long long)g.slices_after);
        else if ((copy == NULL && (copy = zs_json_copy(attributes)) == NULL) ||
                 zs_json_set(copy, lists[i].name, grow_list(old, &g, lists[i].is_of_objects)) == NULL)
            status = zs_fail_memory(err);
        if (status != ZS_OK) {
            zs_json_free(copy);
            return status;
        }
    }
    *grown = copy;
    return ZS_OK;
}

static bool has_lists(const struct zs_node *node)
{
    bool has = false;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && node->array != NULL && node->array->ndim > 0; i++)
        has = has || zs_json_is_array(zs_json_get(node->attributes, lists[i].name));
    return has;
}

enum zs_status zs_array_grow(struct zs_hierarchy *hierarchy, const struct zs_node *node, const uint64_t *shape,
                             struct zs_error *err)
{
    zs_json *attributes = NULL;
    const struct zs_node *fresh;
    if (has_lists(node)) {
        const struct zs_array_meta *meta = node->array;
        struct zs_healpix healpix;
        struct zs_axes axes;
        if (zs_healpix_find(hierarchy, node, &healpix))
            axes = (struct zs_axes){healpix.dim, -1};
        else
            ZS_TRY(zs_axes_find(hierarchy, node, NULL, NULL, &axes, err));
        ZS_TRY(zs_band_lists_grow(node->attributes, meta->ndim, axes, meta->shape, shape, &attributes, err));
    }
    const enum zs_status status = zs_array_update_document(hierarchy, node, shape, NULL, attributes, &fresh, err);
    zs_json_free(attributes);
    return status;
}
