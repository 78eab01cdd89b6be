/* The codecs that set the layout of a chunk: transpose (core specification), its dimensions in another order, and
 * sharding_indexed (ZEP 2), whose inner chunks are the next level of the chain. */
#include <string.h>

#include "base/checked.h"
#include "codec/codec.h"
#include "codec/chain.h"

extern const struct zs_codec zs_codec_bytes, zs_codec_crc32c;

static enum zs_status arrange_transpose(const zs_json *configuration, struct zs_level *level, struct zs_error *err)
{
    const zs_json *order = zs_json_get(configuration, "order");
    const int n = level->ndim;
    const bool is_c = zs_json_equals(order, "C"), is_f = zs_json_equals(order, "F"); /* of drafts */
    int composed[ZS_MAX_NDIM];
    bool used[ZS_MAX_NDIM] = {false};
    if (!is_c && !is_f && (!zs_json_is_array(order) || zs_json_size(order) != (size_t)n))
        return zs_fail_found(err, ZS_INVALID, order, "order: expected a list of %d integers", n);
    for (int j = 0; j < n; j++) {
        int64_t k = is_f ? n - 1 - j : j;
        if (!is_c && !is_f && !zs_json_int64(zs_json_at(order, (size_t)j), &k))
            k = -1;
        if (k < 0 || k >= n || used[k])
            return zs_fail_found(err, ZS_INVALID, order, "order: expected a permutation of 0 to %d", n - 1);
        used[k] = true;
        composed[j] = level->axis[k]; /* stored dimension j is input dimension order[j] */
    }
    memcpy(level->axis, composed, sizeof composed[0] * (size_t)n);
    return ZS_OK;
}

static const struct zs_member transpose_members[] = {{.name = "order"}, {0}};
const struct zs_codec zs_codec_transpose = {
    .name = "transpose", .kind = ZS_ARRAY_TO_ARRAY, .members = transpose_members, .arrange = arrange_transpose};

/* One codec of an index: `bytes` first, then checksums. */
static enum zs_status parse_index_codec(const zs_json *given, bool is_first, struct zs_level *level,
                                        struct zs_error *err)
{
    const zs_json *configuration;
    const struct zs_codec *codec = NULL;
    struct zs_form form = {.dtype = zs_dtype_of(ZS_UINT64)};
    struct zs_stage stage;
    const char *name = zs_extension_name(given, &configuration);
    if (name == NULL || zs_codec_find(name, &codec, NULL) != ZS_OK ||
        codec != (is_first ? &zs_codec_bytes : &zs_codec_crc32c))
        return zs_fail(err, ZS_UNSUPPORTED, "index_codecs: expected bytes and crc32c, found %s",
                       name != NULL ? name : "something that is not a codec");
    ZS_TRY(zs_stage_parse(codec, configuration, &form, &stage, err));
    if (is_first)
        level->index_big_endian = *(const int64_t *)stage.state != 0;
    else
        level->index_checksums++;
    zs_stage_clear(&stage);
    return ZS_OK;
}

static enum zs_status parse_index_codecs(const zs_json *codecs, struct zs_level *level, struct zs_error *err)
{
    level->index_big_endian = false;
    level->index_checksums = codecs == NULL ? 1 : 0; /* zarr-python's default for a missing member */
    for (const zs_json *c = zs_json_first(codecs); c != NULL; c = zs_json_next(c))
        ZS_TRY(parse_index_codec(c, c == zs_json_first(codecs), level, err));
    if (codecs != NULL && zs_json_first(codecs) == NULL)
        return zs_fail(err, ZS_INVALID, "index_codecs: expected a bytes codec, found none");
    if (!zs_mul_u64(level->inner_count, 16, &level->index_size) ||
        !zs_add_u64(level->index_size, 4 * (uint64_t)level->index_checksums, &level->index_size))
        return zs_fail(err, ZS_INVALID, "an index of %llu entries is too large",
                       (unsigned long long)level->inner_count);
    return ZS_OK;
}

static enum zs_status arrange(const zs_json *configuration, struct zs_level *level, struct zs_error *err)
{
    struct zs_level *inner = level + 1;
    const int n = level->ndim;
    const zs_json *shape = zs_json_get(configuration, "chunk_shape");
    if (!zs_json_is_array(shape) || zs_json_size(shape) != (size_t)n)
        return zs_fail_found(err, ZS_INVALID, shape, "chunk_shape: expected a list of %d integers", n);
    level->is_shard = true;
    inner->ndim = n;
    for (int j = 0; j < n; j++) {
        const int d = level->axis[j]; /* chunk_shape is in the dimensions that the codec receives */
        uint64_t size;
        if (!zs_json_uint64(zs_json_at(shape, (size_t)j), &size) || size == 0)
            return zs_fail_found(err, ZS_INVALID, zs_json_at(shape, (size_t)j),
                                 "chunk_shape[%d]: expected a positive integer", j);
        if (level->shape[d] % size != 0)
            return zs_fail(err, ZS_INVALID, "chunk_shape[%d]: expected a divisor of the shard's %llu, found %llu", j,
                           (unsigned long long)level->shape[d], (unsigned long long)size);
        inner->shape[d] = size;
        inner->axis[j] = d;
        level->grid[d] = level->shape[d] / size;
    }
    if (!zs_product_u64(level->grid, n, &level->inner_count))
        return zs_fail(err, ZS_INVALID, "the number of inner chunks does not fit 64 bits");
    const char *found;
    const zs_json *location = zs_json_get(configuration, "index_location");
    if (location == NULL || zs_json_equals(location, "end"))
        level->index_at_start = false;
    else if (zs_json_equals(location, "start"))
        level->index_at_start = true;
    else
        return zs_fail(err, ZS_INVALID, "index_location: expected \"start\" or \"end\", found %s",
                       zs_json_string(location, &found) ? found : "something that is not a string");
    return parse_index_codecs(zs_json_get(configuration, "index_codecs"), level, err);
}

static const struct zs_member members[] = {
    {.name = "chunk_shape"}, {.name = "codecs"}, {.name = "index_codecs"}, {.name = "index_location"}, {0}};
const struct zs_codec zs_codec_sharding = {
    .name = "sharding_indexed", .kind = ZS_ARRAY_TO_BYTES, .members = members, .arrange = arrange};
