#include "array/pending_writes.h"

#include <stdlib.h>
#include <string.h>

#include "base/strided.h"

enum zs_status zs_pending_get(struct zs_array *a, struct zs_pending_writes **pending, struct zs_error *err)
{
    if (a->pending == NULL) {
        struct zs_pending_writes *e = zs_calloc(1, sizeof *e);
        if (e == NULL)
            return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a list of changes");
        e->has_shards = a->chain.count > 1;
        e->budget = zs_cache_budget(a->chunks);
        a->pending = e;
    }
    *pending = a->pending;
    return ZS_OK;
}

void zs_pending_account(struct zs_pending_writes *e)
{
    const uint64_t now = e->dirty_bytes + e->held_bytes;
    if (now > e->counted)
        e->is_over = !zs_budget_take(now - e->counted);
    else
        zs_budget_give(e->counted - now);
    e->counted = now;
}

void zs_dirty_free(struct zs_dirty *d)
{
    zs_blob_free(d->blob);
    free(d->written);
    free(d);
}

void zs_open_shard_free(struct zs_open_shard *s)
{
    size_t at = 0;
    uint64_t key;
    for (void *written; (written = zs_map_next(&s->written, &at, &key)) != NULL;)
        free(written);
    zs_map_free(&s->written);
    zs_shard_writer_free(s->writer);
    free(s->levels);
    free(s);
}

void zs_pending_free(struct zs_array *a)
{
    struct zs_pending_writes *e = a->pending;
    if (e == NULL)
        return;
    size_t at = 0;
    uint64_t key;
    for (struct zs_dirty *d; (d = zs_map_next(&e->dirty, &at, &key)) != NULL;)
        zs_dirty_free(d);
    at = 0;
    for (struct zs_open_shard *s; (s = zs_map_next(&e->shards, &at, &key)) != NULL;)
        zs_open_shard_free(s);
    zs_map_free(&e->dirty);
    zs_map_free(&e->shards);
    zs_map_free(&e->published);
    zs_budget_give(e->counted);
    free(e);
    a->pending = NULL;
}

const struct zs_blob *zs_pending_decoded(const struct zs_array *a, uint64_t chunk)
{
    if (a->pending == NULL)
        return NULL;
    const struct zs_dirty *d = zs_map_get(&a->pending->dirty, chunk);
    return d != NULL ? d->blob : NULL;
}

struct zs_shard_writer *zs_pending_writer(const struct zs_array *a, uint64_t chunk, uint64_t *number)
{
    if (a->pending == NULL || !a->pending->has_shards)
        return NULL;
    const struct zs_open_shard *s = zs_map_get(&a->pending->shards, zs_grid_shard(&a->grid, chunk));
    if (s == NULL)
        return NULL;
    *number = zs_grid_number_in_shard(&a->grid, chunk);
    return zs_shard_writer_has(s->writer, *number) ? s->writer : NULL;
}

bool zs_is_fill(const struct zs_array_meta *meta, const void *data, size_t n)
{
    const size_t item = meta->dtype.size;
    return n >= item && memcmp(data, meta->fill_value, item) == 0 &&
           memcmp(data, (const char *)data + item, n - item) == 0;
}

void zs_chunk_fill(const struct zs_array *a, const struct zs_level *level, void *data)
{
    const uint64_t n = level->decoded_size / level->item_size;
    const ptrdiff_t from = 0, to = (ptrdiff_t)level->item_size;
    zs_copy_strided(1, &n, a->meta->fill_value, &from, data, &to, level->item_size, NULL, NULL);
}
