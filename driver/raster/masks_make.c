/* The mask of a raster is made. */
#include <stdlib.h>
#include <string.h>

#include "geo/conventions.h"
#include "geo/variables.h"
#include "raster/masks.h"
#include "zarr/document.h"
#include "zarr/make.h"

/* mask, mask_2 ... mask_99: more than so many must be a mistake. */
#define MAX_NAMES 99
/* Chunk and shard where the raster's are of different lengths. */
#define USUAL_CHUNK 512
#define USUAL_SHARD 4096

/* ---- Encoding ---- */

static const zs_json *codec_called(const zs_json *codecs, const char *name)
{
    for (const zs_json *c = zs_json_first(codecs); c != NULL; c = zs_json_next(c))
        if (zs_json_equals(zs_json_get(c, "name"), name) || zs_json_equals(c, name))
            return c;
    return NULL;
}

static void take_level(const zs_json *codec, const char *member, struct zs_encoding *encoding)
{
    int64_t level;
    if (zs_json_int64(zs_json_get(zs_json_get(codec, "configuration"), member), &level) && level >= -131072 &&
        level <= 22)
        encoding->level = (int)level;
}

/* The raster's compression, where it is one of the usual ways. */
static struct zs_encoding encoding_like(const zs_json *codecs)
{
    struct zs_encoding e = {.compression = ZS_COMPRESS_ZSTD, .level = 3, .blosc_cname = "zstd",
                            .blosc_shuffle = "noshuffle"};
    const zs_json *blosc = codec_called(codecs, "blosc"), *zstd = codec_called(codecs, "zstd"),
                  *gzip = codec_called(codecs, "gzip");
    if (blosc != NULL) {
        const char *name = NULL;
        e.compression = ZS_COMPRESS_BLOSC;
        take_level(blosc, "clevel", &e);
        if (zs_json_string(zs_json_get(zs_json_get(blosc, "configuration"), "cname"), &name))
            e.blosc_cname = name;
    } else if (zstd != NULL) {
        take_level(zstd, "level", &e);
    } else if (gzip != NULL) {
        e.compression = ZS_COMPRESS_GZIP;
        take_level(gzip, "level", &e);
    } else if (zs_json_size(codecs) == 1) {
        e.compression = ZS_COMPRESS_NONE;
    }
    e.chunk_checksum = codec_called(codecs, "crc32c") != NULL;
    return e;
}

/* Chunk and shard along one dimension of the raster. */
static void shape_like(const struct zs_array_meta *meta, const zs_json *inner, int dim, uint64_t *chunk,
                       uint64_t *shard)
{
    uint64_t own;
    *chunk = *shard = meta->chunk_shape[dim];
    if (meta->edges[dim] != NULL) {
        *chunk = USUAL_CHUNK;
        *shard = USUAL_SHARD;
    } else if (inner != NULL && zs_json_uint64(zs_json_at(inner, (size_t)dim), &own) && own > 0 && *shard % own == 0) {
        *chunk = own;
    }
}

/* ---- The document ---- */

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

enum zs_status zs_mask_document(const struct zs_node *base, struct zs_axes axes, zs_json **document,
                                struct zs_error *err)
{
    const struct zs_array_meta *meta = base->array;
    const int dims[2] = {axes.y, axes.x};
    const zs_json *codecs = meta->codecs, *sharding = codec_called(codecs, "sharding_indexed"),
                  *configuration = zs_json_get(sharding, "configuration");
    struct zs_array_spec spec = {.ndim = 2, .is_sharded = sharding != NULL, .dtype = zs_dtype_of(ZS_UINT8)};
    spec.encoding = encoding_like(sharding != NULL ? zs_json_get(configuration, "codecs") : codecs);
    spec.encoding.index_at_start = zs_json_equals(zs_json_get(configuration, "index_location"), "start");
    for (int d = 0; d < 2; d++) {
        spec.shape[d] = meta->shape[dims[d]];
        spec.dimension_names[d] = zs_dimension_name(base, dims[d]);
        shape_like(meta, zs_json_get(configuration, "chunk_shape"), dims[d], &spec.chunk_shape[d],
                   &spec.shard_shape[d]);
    }
    zs_json *made = zs_array_document(&spec), *attributes = made != NULL ? zs_document_attributes(made) : NULL;
    if (attributes == NULL || !add_georef_attributes(attributes, base->attributes) || !add_flags(attributes)) {
        zs_json_free(made);
        return zs_fail_memory(err);
    }
    *document = made;
    return ZS_OK;
}

bool zs_mask_name(zs_json *attributes, const char *name)
{
    const char *list = zs_json_text(attributes, "ancillary_variables", NULL);
    char *longer = list != NULL && list[0] != '\0' ? zs_format("%s %s", name, list) : zs_strdup(name);
    const bool ok = longer != NULL && zs_json_set_string(attributes, "ancillary_variables", longer);
    free(longer);
    return ok;
}

/* ---- In a store that is there ---- */

/* A path where nothing is, freed with free(). */
static enum zs_status find_name(struct zs_hierarchy *hierarchy, const struct zs_node *base, char **path,
                                struct zs_error *err)
{
    char name[24] = "mask";
    for (int i = 1; i <= MAX_NAMES; i++) {
        struct zs_slot slot;
        if (i > 1)
            (void)snprintf(name, sizeof name, "mask_%d", i);
        ZS_TRY(zs_slot_find(hierarchy, base, name, NULL, &slot, err));
        if (slot.is_usable) {
            *path = slot.path;
            return ZS_OK;
        }
    }
    return zs_fail(err, ZS_ARGUMENT, "%s: expected a free name for a mask, found mask to %s taken", base->path, name);
}

static enum zs_status add(struct zs_hierarchy *hierarchy, const char *path, const struct zs_node *const *nodes,
                          const struct zs_axes *axes, size_t count, const struct zs_node **node, struct zs_error *err)
{
    zs_json *document = NULL, *attributes;
    char *group = zs_path_parent(path);
    enum zs_status status = group != NULL ? zs_mask_document(nodes[0], axes[0], &document, err) : zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_node_make(hierarchy, group, zs_path_name(path), document, node, err);
    free(group);
    ZS_TRY(status);
    for (size_t i = 0; i < count; i++) {
        ZS_TRY(zs_hierarchy_edit(hierarchy, nodes[i], &attributes, err));
        if (!zs_mask_name(attributes, zs_path_name(path)))
            return zs_fail_memory(err);
    }
    return ZS_OK;
}

enum zs_status zs_mask_create(struct zs_hierarchy *hierarchy, const struct zs_node *const *nodes,
                              const struct zs_axes *axes, size_t count, int chunk_order,
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
    ZS_TRY(find_name(hierarchy, nodes[0], &path, err));
    enum zs_status status = add(hierarchy, path, nodes, axes, count, &node, err);
    free(path);
    ZS_TRY(status);
    ZS_TRY(zs_array_open_in(zs_hierarchy_store(hierarchy), node, options, array, err));
    zs_array_set_new(*array, chunk_order);
    *mask = (struct zs_mask){.node = node, .axes = {.x = 1, .y = 0}, .is_named = true};
    mask->dims[0] = axes[0].y;
    mask->dims[1] = axes[0].x;
    return zs_validity_read(node, &mask->validity) ? ZS_OK : zs_fail_memory(err);
}
