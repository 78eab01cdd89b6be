#include "array/edits.h"

#include <stdlib.h>

#include "base/parallel.h"

enum zs_status zs_edits_get(struct zs_array *a, struct zs_edits **edits, struct zs_error *err)
{
    if (a->edits == NULL) {
        struct zs_edits *e = zs_calloc(1, sizeof *e);
        if (e == NULL)
            return zs_fail(err, ZS_NO_MEMORY, "cannot allocate an array's edits");
        e->is_chunkwise = a->chain.count == 2 && a->chain.levels[0].bytes_codec_count == 0;
        e->level = e->is_chunkwise ? 1 : 0;
        e->budget = zs_cache_budget(a->chunks);
        a->edits = e;
    }
    *edits = a->edits;
    return ZS_OK;
}

void zs_edits_free(struct zs_array *a)
{
    struct zs_edits *e = a->edits;
    if (e == NULL)
        return;
    size_t at = 0;
    uint64_t key;
    for (struct zs_dirty *d; (d = zs_map_next(&e->dirty, &at, &key)) != NULL; free(d))
        zs_blob_free(d->blob);
    at = 0;
    for (struct zs_open_shard *s; (s = zs_map_next(&e->shards, &at, &key)) != NULL; free(s))
        zs_shard_writer_abort(s->writer);
    zs_map_free(&e->dirty);
    zs_map_free(&e->shards);
    zs_map_free(&e->published);
    free(e);
    a->edits = NULL;
}

uint64_t zs_leaf_shard(const struct zs_array *a, uint64_t leaf)
{
    uint64_t position[ZS_MAX_NDIM];
    zs_chunk_position(a, a->chain.count - 1, leaf, position);
    for (int d = 0; d < a->meta->ndim; d++)
        position[d] = position[d] * a->leaf->shape[d] / a->chain.levels[0].shape[d];
    return zs_chunk_number(a, 0, position);
}

uint64_t zs_leaf_number_in_shard(const struct zs_array *a, uint64_t leaf)
{
    uint64_t position[ZS_MAX_NDIM];
    zs_chunk_position(a, 1, leaf, position);
    for (int d = 0; d < a->meta->ndim; d++)
        position[d] %= a->chain.levels[0].grid[d];
    return zs_shard_index_number(&a->chain.levels[0], position);
}

const struct zs_blob *zs_edits_dirty_leaf(const struct zs_array *a, uint64_t leaf)
{
    if (a->edits == NULL || a->edits->level != a->chain.count - 1)
        return NULL;
    const struct zs_dirty *d = zs_map_get(&a->edits->dirty, leaf);
    return d != NULL ? d->blob : NULL;
}

struct zs_shard_writer *zs_edits_pending_leaf(const struct zs_array *a, uint64_t leaf, uint64_t *number)
{
    if (a->edits == NULL || !a->edits->is_chunkwise)
        return NULL;
    const struct zs_open_shard *s = zs_map_get(&a->edits->shards, zs_leaf_shard(a, leaf));
    if (s == NULL)
        return NULL;
    *number = zs_leaf_number_in_shard(a, leaf);
    return zs_shard_writer_has(s->writer, *number) ? s->writer : NULL;
}
