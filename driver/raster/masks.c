#include "raster/masks.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/conventions.h"
#include "geo/variables.h"
#include "raster/overviews.h"

/* Long lists of other arrays cost a request each. */
#define MAX_NAMED 16

/* ---- Shape ---- */

/* The raster's dimension that dimension `dim` of the other array is; -1: none. Without names they are its last ones. */
static int dimension_of(const struct zs_node *node, const struct zs_node *other, int dim)
{
    const char *name = zs_dimension_name(other, dim);
    for (int e = 0; e < node->array->ndim; e++) {
        const char *own = zs_dimension_name(node, e);
        const bool is_at_same = other->array->ndim - dim == node->array->ndim - e;
        const bool is_same = name != NULL && own != NULL ? strcmp(name, own) == 0
                                                         : name == NULL && own == NULL && is_at_same;
        if (is_same && other->array->shape[dim] == node->array->shape[e])
            return e;
    }
    return -1;
}

static bool fits(const struct zs_node *node, struct zs_axes axes, const struct zs_node *other, struct zs_mask *mask)
{
    mask->axes = (struct zs_axes){-1, -1};
    for (int d = 0; d < other->array->ndim; d++) {
        const int e = dimension_of(node, other, d);
        if (e < 0)
            return false;
        for (int k = 0; k < d; k++)
            if (mask->dims[k] == e)
                return false;
        mask->dims[d] = e;
        if (e == axes.x)
            mask->axes.x = d;
        if (e == axes.y)
            mask->axes.y = d;
    }
    return mask->axes.x >= 0 && mask->axes.y >= 0;
}

/* ---- Kinds ---- */

static bool is_called_valid(const struct zs_node *node)
{
    static const char *const names[] = {"valid", "is_valid", "validity", "valid_mask", "validity_mask", NULL};
    return zs_is_one_of(zs_path_name(node->path), names);
}

/* How the elements of a named array mark valid pixels; false for an array of another kind. */
static bool find_validity(const struct zs_node *node, struct zs_validity *validity)
{
    if (zs_validity_read(node, validity))
        return true;
    if (node->array->dtype.type != ZS_BOOL || !is_called_valid(node) ||
        zs_json_get(node->attributes, "flag_meanings") != NULL)
        return false;
    *validity = (struct zs_validity){.kind = ZS_VALID_TRUE};
    return true;
}

static bool is_embedding(const struct zs_node *node)
{
    const char *name = zs_path_name(node->path);
    return node->array->dtype.type == ZS_INT8 &&
           (strcmp(name, "embeddings") == 0 || strncmp(name, "embeddings_", 11) == 0);
}

/* The name that the mask has in products of a known kind; NULL for other arrays. `group` is the group of the array, and
 * may be NULL. */
static const char *known_name(const struct zs_node *group, const struct zs_node *node)
{
    if (group != NULL && zs_zagg_is_product(group->attributes))
        return "aoi_mask";
    return is_embedding(node) ? "scales" : NULL;
}

static bool find_known_validity(const struct zs_node *node, struct zs_validity *validity)
{
    const enum zs_data_type type = node->array->dtype.type;
    const bool is_area = strcmp(zs_path_name(node->path), "aoi_mask") == 0;
    if (type != (is_area ? ZS_BOOL : ZS_FLOAT32))
        return false;
    *validity = (struct zs_validity){.kind = is_area ? ZS_VALID_TRUE : ZS_VALID_FINITE};
    return true;
}

/* Whether the other array is the mask of this one; fills in the mask. */
static bool take(const struct zs_node *node, struct zs_axes axes, const struct zs_node *other, bool is_named,
                 struct zs_mask *mask)
{
    if (other == node || other->array == NULL || !fits(node, axes, other, mask) ||
        !(is_named ? find_validity(other, &mask->validity) : find_known_validity(other, &mask->validity)))
        return false;
    mask->is_named = is_named;
    mask->node = other;
    return true;
}

/* ---- Finding ---- */

/* The next name of an array beside this one in `ancillary_variables`. */
static const char *next_named(const char *list, char *word, size_t capacity)
{
    while (list != NULL && (list = zs_next_word(list, word, capacity)) != NULL)
        if (strchr(word, '/') == NULL)
            return list;
    return NULL;
}

/* *node is NULL where there is none. */
static enum zs_status look_up(struct zs_hierarchy *hierarchy, const char *group, const char *name,
                              const struct zs_node **node, struct zs_error *err)
{
    const enum zs_status status = zs_hierarchy_node_at(hierarchy, group, name, node, err);
    if (status != ZS_OK)
        *node = NULL;
    return zs_is_no_node(status) ? ZS_OK : status;
}

/* Finds the mask of an array in the group `group_path`; without `axes` its X and Y, where something may be one. */
static enum zs_status find(struct zs_hierarchy *hierarchy, const char *group_path, const struct zs_node *node,
                           const struct zs_axes *axes, struct zs_mask *mask, struct zs_error *err)
{
    const struct zs_node *other, *group;
    struct zs_axes found;
    struct zs_error ignored;
    char word[256];
    const char *list = zs_json_text(node->attributes, "ancillary_variables", NULL);
    if (look_up(hierarchy, group_path, "", &group, &ignored) != ZS_OK)
        group = NULL;
    const char *name = known_name(group, node);
    if (list == NULL && name == NULL)
        return ZS_OK;
    if (axes == NULL) {
        const enum zs_status status = zs_axes_find(hierarchy, node, NULL, NULL, &found, err);
        if (status != ZS_OK)
            return status == ZS_NO_MEMORY ? status : ZS_OK;
        axes = &found;
    }
    for (int i = 0; i < MAX_NAMED && (list = next_named(list, word, sizeof word)) != NULL; i++) {
        ZS_TRY(look_up(hierarchy, group_path, word, &other, err));
        if (other != NULL && take(node, *axes, other, true, mask))
            return ZS_OK;
    }
    if (name != NULL) {
        ZS_TRY(look_up(hierarchy, group_path, name, &other, err));
        (void)(other != NULL && take(node, *axes, other, false, mask));
    }
    return ZS_OK;
}

static enum zs_status find_in_group(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                    const struct zs_axes *axes, struct zs_mask *mask, struct zs_error *err)
{
    *mask = (struct zs_mask){0};
    if (node->array == NULL || node->array->ndim < 2 || node->path[0] == '\0')
        return ZS_OK;
    char *group = zs_path_parent(node->path);
    ZS_TRY_MEMORY(group, err);
    const enum zs_status status = find(hierarchy, group, node, axes, mask, err);
    free(group);
    return status;
}

enum zs_status zs_mask_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                            struct zs_mask *mask, struct zs_error *err)
{
    *mask = (struct zs_mask){0};
    return axes.y >= 0 ? find_in_group(hierarchy, node, &axes, mask, err) : ZS_OK;
}

enum zs_status zs_masks_mark(struct zs_hierarchy *hierarchy, const struct zs_node *const *nodes, size_t count,
                             bool *marks, struct zs_error *err)
{
    struct zs_mask mask;
    size_t at;
    for (size_t i = 0; i < count; i++) {
        ZS_TRY(find_in_group(hierarchy, nodes[i], NULL, &mask, err));
        if (mask.node == NULL)
            continue;
        ZS_TRY(zs_nodes_find(nodes, count, "", mask.node->path, &at, err));
        if (at < count)
            marks[at] = true;
    }
    return ZS_OK;
}

/* ---- Making ---- */

/* mask, mask_2 ... mask_99: more than so many must be a mistake. */
#define MAX_NAMES 99
/* Chunk and shard where the raster's are of different lengths. */
#define USUAL_CHUNK 512
#define USUAL_SHARD 4096

static bool add_flags(zs_json *attributes)
{
    zs_json *values = zs_json_add_array(attributes, "flag_values");
    return zs_json_add_int64(values, NULL, 0) != NULL && zs_json_add_int64(values, NULL, 255) != NULL &&
           zs_json_add_string(attributes, "flag_meanings", "invalid valid") != NULL &&
           zs_json_add_string(attributes, "standard_name", "quality_flag") != NULL &&
           zs_json_add_string(attributes, "long_name", "validity of pixels") != NULL &&
           zs_json_add_bool(attributes, ZS_NO_NODATA_ATTRIBUTE, true) != NULL;
}

/* Copies the raster's georeferencing attributes. */
static bool add_georef_attributes(zs_json *attributes, const zs_json *from)
{
    bool ok = true;
    for (const zs_json *a = zs_json_first(from); a != NULL && ok; a = zs_json_next(a)) {
        const char *name = zs_json_name(a);
        if (name != NULL &&
            (zs_is_georef_attribute(name) || strcmp(name, "zarr_conventions") == 0 || strcmp(name, "coordinates") == 0))
            ok = zs_json_add(attributes, name, zs_json_copy(a)) != NULL;
    }
    return ok;
}

/* Adds a name to `ancillary_variables`. False without memory. */
static bool add_name(zs_json *attributes, const char *name)
{
    const char *list = zs_json_text(attributes, "ancillary_variables", NULL);
    char *longer = list != NULL && list[0] != '\0' ? zs_format("%s %s", name, list) : zs_strdup(name);
    const bool ok = longer != NULL && zs_json_set_string(attributes, "ancillary_variables", longer);
    free(longer);
    return ok;
}

static bool is_dimension(const struct zs_node *const *nodes, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (zs_dimension_find(nodes[i], name) >= 0)
            return true;
    return false;
}

/* A path where nothing is, freed with free(); not one that says it is the coordinates of a dimension. */
static enum zs_status find_name(struct zs_hierarchy *hierarchy, const struct zs_node *const *nodes, size_t count,
                                char **path, struct zs_error *err)
{
    char name[24] = "mask";
    for (int i = 1; i <= MAX_NAMES; i++) {
        struct zs_slot slot;
        if (i > 1)
            (void)snprintf(name, sizeof name, "mask_%d", i);
        if (is_dimension(nodes, count, name))
            continue;
        ZS_TRY(zs_slot_find(hierarchy, nodes[0], name, NULL, &slot, err));
        if (slot.is_usable) {
            *path = slot.path;
            return ZS_OK;
        }
    }
    return zs_fail(err, ZS_ARGUMENT, "%s: expected a free name for a mask, found mask to %s taken", nodes[0]->path,
                   name);
}

/* The document of a mask of an array. NULL without memory. */
static zs_json *mask_document(const struct zs_node *node, struct zs_axes axes, const struct zs_encoding *encoding)
{
    const struct zs_array_meta *meta = node->array;
    const int dims[2] = {axes.y, axes.x};
    uint64_t chunk[ZS_MAX_NDIM];
    struct zs_array_spec spec = {.ndim = 2, .dtype = zs_dtype_of(ZS_UINT8),
                                 .encoding = {.compression = ZS_COMPRESS_ZSTD, .level = 3}};
    spec.is_sharded = zs_inner_chunks(meta, chunk);
    if (encoding != NULL)
        spec.encoding = *encoding;
    spec.encoding.blosc_shuffle = "noshuffle";
    spec.encoding.keepbits = 0;
    for (int i = 0; i < 2; i++) {
        const int d = dims[i];
        const bool has_edges = meta->edges[d] != NULL;
        spec.shape[i] = meta->shape[d];
        spec.dimension_names[i] = zs_dimension_name(node, d);
        spec.shard_shape[i] = has_edges ? USUAL_SHARD : meta->chunk_shape[d];
        spec.chunk_shape[i] = has_edges ? USUAL_CHUNK : spec.is_sharded ? chunk[d] : meta->chunk_shape[d];
    }
    zs_json *made = zs_array_document(&spec), *own = zs_json_get_mutable(made, "attributes");
    if (own != NULL && add_georef_attributes(own, node->attributes) && add_flags(own))
        return made;
    zs_json_free(made);
    return NULL;
}

static enum zs_status add(struct zs_hierarchy *hierarchy, const char *path, zs_json *document,
                          const struct zs_node *const *nodes, size_t count, const struct zs_node **node,
                          struct zs_error *err)
{
    zs_json *attributes;
    char *group = zs_path_parent(path);
    enum zs_status status = document != NULL && group != NULL
                                ? zs_node_make(hierarchy, group, zs_path_name(path), document, node, err)
                                : zs_fail_memory(err);
    free(group);
    ZS_TRY(status);
    for (size_t i = 0; i < count; i++) {
        ZS_TRY(zs_hierarchy_edit(hierarchy, nodes[i], &attributes, err));
        if (!add_name(attributes, zs_path_name(path)))
            return zs_fail_memory(err);
    }
    return ZS_OK;
}

enum zs_status zs_mask_create(struct zs_hierarchy *hierarchy, const struct zs_node *const *nodes,
                              const struct zs_axes *axes, size_t count, const struct zs_encoding *encoding,
                              const struct zs_array_options *options, struct zs_mask *mask, struct zs_array **array,
                              struct zs_error *err)
{
    char *path = NULL;
    const struct zs_node *node = NULL;
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    if (nodes[0]->path[0] == '\0' || axes[0].y < 0)
        return zs_fail(err, ZS_ARGUMENT,
                       "%s: expected an array of two dimensions in a group, beside which a mask can be; a copy of it "
                       "(gdal_translate -of ShardedZarr) is in one",
                       zs_hierarchy_store(hierarchy)->root);
    ZS_TRY(find_name(hierarchy, nodes, count, &path, err));
    const enum zs_status status =
        add(hierarchy, path, mask_document(nodes[0], axes[0], encoding), nodes, count, &node, err);
    free(path);
    ZS_TRY(status);
    ZS_TRY(zs_array_open_in(zs_hierarchy_store(hierarchy), node, options, array, err));
    *mask = (struct zs_mask){.node = node, .axes = {.x = 1, .y = 0}, .is_named = true};
    mask->dims[0] = axes[0].y;
    mask->dims[1] = axes[0].x;
    return zs_validity_read(node, &mask->validity) ? ZS_OK : zs_fail_memory(err);
}
