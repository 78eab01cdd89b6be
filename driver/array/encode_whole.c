/* Encoding a chunk of any level in memory: for chains whose pieces cannot be changed one by one. */
#include <stdlib.h>
#include <string.h>

#include "array/edits.h"
#include "base/strided.h"

bool zs_is_fill(const struct zs_array_meta *meta, const void *data, size_t n)
{
    const size_t item = meta->dtype.size;
    return n >= item && memcmp(data, meta->fill_value, item) == 0 &&
           memcmp(data, (const char *)data + item, n - item) == 0;
}

/* Copies into `out` the bytes that the level's codecs make of n bytes. */
static enum zs_status apply_bytes_codecs(const struct zs_level *level, const void *data, size_t n, struct zs_buffer *out,
                                         struct zs_error *err)
{
    struct zs_scratch *scratch = zs_scratch_acquire();
    if (scratch == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a scratch");
    const void *encoded;
    enum zs_status status = zs_bytes_encode(level->bytes_codecs, level->bytes_codec_count, scratch, data, n, &encoded, &n, err);
    out->size = 0;
    if (status == ZS_OK)
        status = zs_buffer_append(out, encoded, n, err);
    zs_scratch_release(scratch);
    return status;
}

static enum zs_status encode_leaf(const struct zs_array *a, const struct zs_level *leaf, const unsigned char *data,
                                  const ptrdiff_t *stride, bool *is_empty, struct zs_buffer *out, struct zs_error *err)
{
    struct zs_buffer dense = {0};
    ZS_TRY(zs_buffer_reset(&dense, (size_t)leaf->decoded_size, err));
    ptrdiff_t stored[ZS_MAX_NDIM];
    zs_leaf_strides(leaf, stored);
    zs_copy_strided(leaf->ndim, leaf->shape, data, stride, dense.data, stored, leaf->item_size, NULL, NULL);
    *is_empty = zs_is_fill(a->meta, dense.data, (size_t)leaf->decoded_size);
    enum zs_status status = ZS_OK;
    if (!*is_empty) {
        struct zs_scratch *scratch = zs_scratch_acquire();
        const void *encoded;
        size_t n;
        status = scratch != NULL ? zs_leaf_encode(leaf, scratch, dense.data, &encoded, &n, err)
                                 : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a scratch");
        out->size = 0;
        if (status == ZS_OK)
            status = zs_buffer_append(out, encoded, n, err);
        zs_scratch_release(scratch);
    }
    zs_buffer_free(&dense);
    return status;
}

enum zs_status zs_encode_whole(const struct zs_array *a, int k, const unsigned char *data, const ptrdiff_t *stride,
                               bool *is_empty, struct zs_buffer *out, struct zs_error *err)
{
    const struct zs_level *level = &a->chain.levels[k];
    if (!level->is_shard)
        return encode_leaf(a, level, data, stride, is_empty, out, err);

    struct zs_shard_index *index = zs_shard_index_alloc(level);
    unsigned char *index_bytes = malloc((size_t)level->index_size);
    struct zs_buffer body = {0}, inner = {0};
    enum zs_status status = index == NULL || index_bytes == NULL ? zs_fail(err, ZS_NO_MEMORY, "cannot allocate a shard index") : ZS_OK;
    const uint64_t base = level->index_at_start ? level->index_size : 0;
    *is_empty = true;
    for (uint64_t i = 0; i < level->inner_count && status == ZS_OK; i++) {
        uint64_t rest = i;
        const unsigned char *src = data;
        for (int j = level->ndim - 1; j >= 0; j--) {
            const int d = level->axis[j];
            src += (ptrdiff_t)(rest % level->grid[d] * level[1].shape[d]) * stride[d];
            rest /= level->grid[d];
        }
        bool inner_is_empty = true;
        status = zs_encode_whole(a, k + 1, src, stride, &inner_is_empty, &inner, err);
        index->entries[2 * i] = inner_is_empty ? ZS_INDEX_EMPTY : base + body.size;
        index->entries[2 * i + 1] = inner_is_empty ? ZS_INDEX_EMPTY : inner.size;
        *is_empty = *is_empty && inner_is_empty;
        if (status == ZS_OK && !inner_is_empty)
            status = zs_buffer_append(&body, inner.data, inner.size, err);
    }
    if (status == ZS_OK && !*is_empty) {
        zs_shard_index_encode(level, index, index_bytes);
        inner.size = 0;
        if (level->index_at_start)
            status = zs_buffer_append(&inner, index_bytes, (size_t)level->index_size, err);
        if (status == ZS_OK)
            status = zs_buffer_append(&inner, body.data, body.size, err);
        if (status == ZS_OK && !level->index_at_start)
            status = zs_buffer_append(&inner, index_bytes, (size_t)level->index_size, err);
        if (status == ZS_OK)
            status = apply_bytes_codecs(level, inner.data, inner.size, out, err);
    }
    zs_buffer_free(&body);
    zs_buffer_free(&inner);
    free(index_bytes);
    free(index);
    return status;
}
