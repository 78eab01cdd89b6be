/* The sharding_indexed codec (ZEP 2): the layout of a shard. Its inner chunks are the next level of the chain. */
#include <string.h>

#include "base/checked.h"
#include "codec/codec.h"
#include "codec/chain.h"

static enum zs_status parse_index_codecs(const zs_json *codecs, struct zs_level *level, struct zs_error *err)
{
    level->index_big_endian = false;
    level->index_checksums = 0;
    if (codecs == NULL) {
        level->index_checksums = 1; /* zarr-python's default for a missing member */
    } else {
        bool have_bytes = false;
        for (const zs_json *c = zs_json_first(codecs); c != NULL; c = zs_json_next(c)) {
            const zs_json *configuration;
            const char *name = zs_extension_name(c, &configuration);
            if (name != NULL && !have_bytes && (strcmp(name, "bytes") == 0 || strcmp(name, "endian") == 0)) {
                ZS_TRY(zs_endian_parse(configuration, &level->index_big_endian, err));
                have_bytes = true;
            } else if (name != NULL && have_bytes && strcmp(name, "crc32c") == 0) {
                level->index_checksums++;
            } else {
                return zs_fail(err, ZS_UNSUPPORTED,
                               "codec \"sharding_indexed\": index_codecs: expected bytes and crc32c, found %s",
                               name != NULL ? name : "something that is not a codec");
            }
            const struct zs_codec *codec;
            ZS_TRY(zs_codec_find(name, &codec, err));
            ZS_TRY(zs_codec_check_members(codec, configuration, err));
        }
        if (!have_bytes)
            return zs_fail(err, ZS_INVALID,
                           "codec \"sharding_indexed\": index_codecs: expected a bytes codec, found none");
    }
    if (!zs_mul_u64(level->inner_count, 16, &level->index_size) ||
        !zs_add_u64(level->index_size, 4 * (uint64_t)level->index_checksums, &level->index_size))
        return zs_fail(err, ZS_INVALID, "codec \"sharding_indexed\": an index of %llu entries is too large",
                       (unsigned long long)level->inner_count);
    return ZS_OK;
}

static enum zs_status arrange(const zs_json *configuration, struct zs_level *level, struct zs_error *err)
{
    struct zs_level *inner = level + 1;
    const int n = level->ndim;
    const zs_json *shape = zs_json_get(configuration, "chunk_shape");
    if (!zs_json_is_array(shape) || zs_json_size(shape) != (size_t)n)
        return zs_fail_found(err, ZS_INVALID, shape,
                             "codec \"sharding_indexed\": chunk_shape: expected a list of %d integers", n);
    level->is_shard = true;
    inner->ndim = n;
    for (int j = 0; j < n; j++) {
        const int d = level->axis[j]; /* chunk_shape is in the dimensions that the codec receives */
        uint64_t size;
        if (!zs_json_uint64(zs_json_at(shape, (size_t)j), &size) || size == 0)
            return zs_fail_found(err, ZS_INVALID, zs_json_at(shape, (size_t)j),
                                 "codec \"sharding_indexed\": chunk_shape[%d]: expected a positive integer", j);
        if (level->shape[d] % size != 0)
            return zs_fail(err, ZS_INVALID,
                           "codec \"sharding_indexed\": chunk_shape[%d]: expected a divisor of the shard's %llu, "
                           "found %llu", j,
                           (unsigned long long)level->shape[d], (unsigned long long)size);
        inner->shape[d] = size;
        inner->axis[j] = d;
        level->grid[d] = level->shape[d] / size;
    }
    if (!zs_product_u64(level->grid, n, &level->inner_count))
        return zs_fail(err, ZS_INVALID, "codec \"sharding_indexed\": the number of inner chunks does not fit 64 bits");
    const char *found;
    const zs_json *location = zs_json_get(configuration, "index_location");
    if (location == NULL || zs_json_equals(location, "end"))
        level->index_at_start = false;
    else if (zs_json_equals(location, "start"))
        level->index_at_start = true;
    else
        return zs_fail(err, ZS_INVALID,
                       "codec \"sharding_indexed\": index_location: expected \"start\" or \"end\", found %s",
                       zs_json_string(location, &found) ? found : "something that is not a string");
    return parse_index_codecs(zs_json_get(configuration, "index_codecs"), level, err);
}

static const char *const members[] = {"chunk_shape", "codecs", "index_codecs", "index_location", NULL};
const struct zs_codec zs_codec_sharding = {
    .name = "sharding_indexed", .kind = ZS_ARRAY_TO_BYTES, .members = members, .arrange = arrange};
