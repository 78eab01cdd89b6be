#include "codec/chain.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

/* Largest decoded innermost chunk: it must fit in memory whole, and its size in what every codec library takes. */
#define MAX_LEAF_BYTES ((uint64_t)INT32_MAX)

static bool is_little_endian_machine(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* ---- Compiling ---- */

/* A string for a message. */
static const char *text_of(const zs_json *node)
{
    const char *text = "something that is not a string";
    (void)zs_json_string(node, &text);
    return text;
}

/* Reads {"endian": ...} of a `bytes` codec (or `endian`, its name before 2023). */
static enum zs_status parse_endian(const zs_json *configuration, size_t swap_unit, bool *big_endian, struct zs_error *err)
{
    const zs_json *endian = zs_json_get(configuration, "endian");
    if (zs_json_equals(endian, "big"))
        *big_endian = true;
    else if (zs_json_equals(endian, "little"))
        *big_endian = false;
    else if (zs_json_typeof(endian) == ZS_JSON_NULL && swap_unit == 1)
        *big_endian = false;
    else if (zs_json_typeof(endian) == ZS_JSON_NULL)
        /* Required by the specification; but writers that leave it out have all meant little. */
        *big_endian = false;
    else
        return zs_fail(err, ZS_INVALID, "codec \"bytes\": endian: expected \"little\" or \"big\", found %s", text_of(endian));
    return ZS_OK;
}

static enum zs_status parse_transpose(const zs_json *configuration, struct zs_level *level, struct zs_error *err)
{
    const zs_json *order = zs_json_get(configuration, "order");
    const int n = level->ndim;
    int composed[ZS_MAX_NDIM];
    bool used[ZS_MAX_NDIM] = {false};
    if (!zs_json_is_array(order) || zs_json_size(order) != (size_t)n)
        return zs_fail(err, ZS_INVALID, "codec \"transpose\": order: expected a list of %d integers", n);
    for (int j = 0; j < n; j++) {
        int64_t k;
        if (!zs_json_int64(zs_json_at(order, (size_t)j), &k) || k < 0 || k >= n || used[k])
            return zs_fail(err, ZS_INVALID, "codec \"transpose\": order: expected a permutation of 0 to %d", n - 1);
        used[k] = true;
        composed[j] = level->axis[k]; /* stored dimension j is input dimension order[j] */
    }
    memcpy(level->axis, composed, sizeof composed[0] * (size_t)n);
    return ZS_OK;
}

static enum zs_status parse_index_codecs(const zs_json *codecs, struct zs_level *level, struct zs_error *err)
{
    level->index_big_endian = false;
    level->index_checksums = 0;
    if (codecs == NULL) {
        level->index_checksums = 1; /* what zarr-python takes a missing member for */
    } else {
        bool have_bytes = false;
        for (const zs_json *c = zs_json_first(codecs); c != NULL; c = zs_json_next(c)) {
            const zs_json *configuration;
            const char *name = zs_extension_name(c, &configuration);
            if (name != NULL && !have_bytes && (strcmp(name, "bytes") == 0 || strcmp(name, "endian") == 0)) {
                ZS_TRY(parse_endian(configuration, 8, &level->index_big_endian, err));
                have_bytes = true;
            } else if (name != NULL && have_bytes && strcmp(name, "crc32c") == 0) {
                level->index_checksums++;
            } else {
                return zs_fail(err, ZS_UNSUPPORTED,
                               "codec \"sharding_indexed\": index_codecs: expected bytes and crc32c, found %s",
                               name != NULL ? name : "something that is not a codec");
            }
        }
        if (!have_bytes)
            return zs_fail(err, ZS_INVALID, "codec \"sharding_indexed\": index_codecs: expected a bytes codec, found none");
    }
    if (!zs_mul_u64(level->inner_count, 16, &level->index_size) ||
        !zs_add_u64(level->index_size, 4 * (uint64_t)level->index_checksums, &level->index_size))
        return zs_fail(err, ZS_INVALID, "codec \"sharding_indexed\": an index of %llu entries is too large",
                       (unsigned long long)level->inner_count);
    return ZS_OK;
}

/* Reads the configuration of sharding_indexed into `level` and the shape of its inner chunks into `inner`. */
static enum zs_status parse_sharding(const zs_json *configuration, struct zs_level *level, struct zs_level *inner,
                                     struct zs_error *err)
{
    const int n = level->ndim;
    const zs_json *shape = zs_json_get(configuration, "chunk_shape");
    if (!zs_json_is_array(shape) || zs_json_size(shape) != (size_t)n)
        return zs_fail(err, ZS_INVALID, "codec \"sharding_indexed\": chunk_shape: expected a list of %d integers", n);
    level->is_shard = true;
    inner->ndim = n;
    for (int j = 0; j < n; j++) {
        const int d = level->axis[j]; /* chunk_shape is in the dimensions that the codec receives */
        uint64_t size;
        if (!zs_json_uint64(zs_json_at(shape, (size_t)j), &size) || size == 0)
            return zs_fail(err, ZS_INVALID, "codec \"sharding_indexed\": chunk_shape[%d]: expected a positive integer", j);
        if (level->shape[d] % size != 0)
            return zs_fail(err, ZS_INVALID,
                           "codec \"sharding_indexed\": chunk_shape[%d]: expected a divisor of the shard's %llu, found %llu", j,
                           (unsigned long long)level->shape[d], (unsigned long long)size);
        inner->shape[d] = size;
        inner->axis[j] = d;
        level->grid[d] = level->shape[d] / size;
    }
    if (!zs_product_u64(level->grid, n, &level->inner_count))
        return zs_fail(err, ZS_INVALID, "codec \"sharding_indexed\": the number of inner chunks does not fit 64 bits");
    const zs_json *location = zs_json_get(configuration, "index_location");
    if (location == NULL || zs_json_equals(location, "end"))
        level->index_at_start = false;
    else if (zs_json_equals(location, "start"))
        level->index_at_start = true;
    else
        return zs_fail(err, ZS_INVALID, "codec \"sharding_indexed\": index_location: expected \"start\" or \"end\", found %s",
                       text_of(location));
    return parse_index_codecs(zs_json_get(configuration, "index_codecs"), level, err);
}

static enum zs_status add_bytes_codec(struct zs_level *level, const char *name, const zs_json *configuration,
                                      struct zs_error *err)
{
    struct zs_bytes_codec codec = {0};
    ZS_TRY(zs_bytes_codec_find(name, &codec.type, err));
    ZS_TRY(codec.type->parse(configuration, &codec, err));
    struct zs_bytes_codec *grown =
        realloc(level->bytes_codecs, sizeof *grown * ((size_t)level->bytes_codec_count + 1));
    if (grown == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a codec chain");
    grown[level->bytes_codec_count] = codec;
    level->bytes_codecs = grown;
    level->bytes_codec_count++;
    return ZS_OK;
}

/* Compiles one `codecs` list into chain->levels[chain->count], whose ndim, shape and axis are set, and recurses into shards. */
static enum zs_status compile_level(const zs_json *codecs, const struct zs_dtype *dtype, struct zs_chain *chain,
                                    struct zs_error *err)
{
    if (chain->count == ZS_MAX_LEVELS)
        return zs_fail(err, ZS_UNSUPPORTED, "codec \"sharding_indexed\": nested more than %d deep", ZS_MAX_LEVELS - 1);
    struct zs_level *level = &chain->levels[chain->count++];
    if (!zs_json_is_array(codecs) || zs_json_size(codecs) == 0)
        return zs_fail(err, ZS_INVALID, "codecs: expected a list of at least one codec");

    const zs_json *inner_codecs = NULL;
    bool have_array_to_bytes = false;
    for (const zs_json *c = zs_json_first(codecs); c != NULL; c = zs_json_next(c)) {
        const zs_json *configuration;
        const char *name = zs_extension_name(c, &configuration);
        if (name == NULL)
            return zs_fail(err, ZS_INVALID, "codecs: expected a name or an object with a name");
        const bool is_bytes = strcmp(name, "bytes") == 0 || strcmp(name, "endian") == 0;
        const bool is_sharding = strcmp(name, "sharding_indexed") == 0;
        const bool is_transpose = strcmp(name, "transpose") == 0;
        if ((is_bytes || is_sharding || is_transpose) && have_array_to_bytes)
            return zs_fail(err, ZS_INVALID, "codecs: \"%s\" takes an array, but stands behind a codec that gives bytes", name);
        if (is_transpose) {
            ZS_TRY(parse_transpose(configuration, level, err));
        } else if (is_bytes) {
            ZS_TRY(parse_endian(configuration, dtype->swap_unit, &level->big_endian, err));
            have_array_to_bytes = true;
        } else if (is_sharding) {
            if (chain->count == ZS_MAX_LEVELS)
                return zs_fail(err, ZS_UNSUPPORTED, "codec \"sharding_indexed\": nested more than %d deep", ZS_MAX_LEVELS - 1);
            ZS_TRY(parse_sharding(configuration, level, level + 1, err));
            inner_codecs = zs_json_get(configuration, "codecs");
            have_array_to_bytes = true;
        } else {
            const struct zs_bytes_codec_type *type;
            ZS_TRY(zs_bytes_codec_find(name, &type, err)); /* "not supported" before "not here" */
            if (!have_array_to_bytes)
                return zs_fail(err, ZS_INVALID, "codecs: \"%s\" takes bytes, but stands before a codec that gives bytes", name);
            ZS_TRY(add_bytes_codec(level, name, configuration, err));
        }
    }
    if (!have_array_to_bytes)
        return zs_fail(err, ZS_INVALID, "codecs: expected a codec that gives bytes (bytes or sharding_indexed), found none");

    level->item_size = dtype->size;
    level->swap_unit = dtype->swap_unit;
    if (!zs_product_u64(level->shape, level->ndim, &level->decoded_size) ||
        !zs_mul_u64(level->decoded_size, dtype->size, &level->decoded_size))
        return zs_fail(err, ZS_INVALID, "chunk_shape: the size of a chunk does not fit 64 bits");
    if (level->is_shard) {
        const enum zs_status status = compile_level(inner_codecs, dtype, chain, err);
        return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "codec \"sharding_indexed\"");
    }
    if (level->decoded_size > MAX_LEAF_BYTES)
        return zs_fail(err, ZS_UNSUPPORTED, "chunk_shape: expected chunks of at most %llu bytes, found %llu",
                       (unsigned long long)MAX_LEAF_BYTES, (unsigned long long)level->decoded_size);
    return ZS_OK;
}

enum zs_status zs_chain_compile(const struct zs_array_meta *meta, struct zs_chain *chain, struct zs_error *err)
{
    memset(chain, 0, sizeof *chain);
    struct zs_level *outer = &chain->levels[0];
    outer->ndim = meta->ndim;
    for (int d = 0; d < meta->ndim; d++) {
        outer->shape[d] = meta->chunk_shape[d];
        outer->axis[d] = d;
    }
    const enum zs_status status = compile_level(meta->codecs, &meta->dtype, chain, err);
    if (status != ZS_OK)
        zs_chain_clear(chain);
    return status;
}

void zs_chain_clear(struct zs_chain *chain)
{
    for (int i = 0; i < ZS_MAX_LEVELS; i++)
        free(chain->levels[i].bytes_codecs);
    memset(chain, 0, sizeof *chain);
}

size_t zs_level_bound(const struct zs_level *level)
{
    if (!level->is_shard)
        return zs_bytes_bound((size_t)level->decoded_size);
    uint64_t limit = zs_bytes_bound(level->decoded_size > SIZE_MAX / 4 ? SIZE_MAX / 4 : (size_t)level->decoded_size);
    if (!zs_add_u64(limit, 2 * level->index_size, &limit) || limit > SIZE_MAX / 4)
        return SIZE_MAX / 4;
    return zs_bytes_bound((size_t)limit);
}

/* ---- Leaf chunks ---- */

void zs_swap_bytes(void *data, size_t n, size_t unit)
{
    unsigned char *p = data;
    switch (unit) {
    case 1:
        break;
    case 2:
        for (size_t i = 0; i + 2 <= n; i += 2) {
            uint16_t v;
            memcpy(&v, p + i, 2);
            v = (uint16_t)(v << 8 | v >> 8);
            memcpy(p + i, &v, 2);
        }
        break;
    case 4:
        for (size_t i = 0; i + 4 <= n; i += 4) {
            uint32_t v;
            memcpy(&v, p + i, 4);
            v = v << 24 | (v & 0xFF00u) << 8 | (v >> 8 & 0xFF00u) | v >> 24;
            memcpy(p + i, &v, 4);
        }
        break;
    default:
        for (size_t i = 0; i + unit <= n; i += unit)
            for (size_t j = 0; j < unit / 2; j++) {
                const unsigned char t = p[i + j];
                p[i + j] = p[i + unit - 1 - j];
                p[i + unit - 1 - j] = t;
            }
    }
}

enum zs_status zs_leaf_decode(const struct zs_level *leaf, struct zs_scratch *scratch, const void *src, size_t n, void *dst,
                              struct zs_error *err)
{
    const size_t size = (size_t)leaf->decoded_size;
    ZS_TRY(zs_bytes_decode(leaf->bytes_codecs, leaf->bytes_codec_count, scratch, src, n, dst, size, err));
    if (leaf->big_endian == is_little_endian_machine())
        zs_swap_bytes(dst, size, leaf->swap_unit);
    return ZS_OK;
}

enum zs_status zs_leaf_encode(const struct zs_level *leaf, struct zs_scratch *scratch, void *src, const void **encoded,
                              size_t *n, struct zs_error *err)
{
    const size_t size = (size_t)leaf->decoded_size;
    if (leaf->big_endian == is_little_endian_machine())
        zs_swap_bytes(src, size, leaf->swap_unit);
    return zs_bytes_encode(leaf->bytes_codecs, leaf->bytes_codec_count, scratch, src, size, encoded, n, err);
}
