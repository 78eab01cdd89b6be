/* Shards that are being built: opened on what the store has of them, counted, forgotten. */
#include "array/open_shards.h"

#include <stdlib.h>

#include "array/indexes.h"
#include "shard/order.h"

/* Shards that are opened to learn the order of their chunks, spread over the array: the first may be empty. */
#define MAX_SAMPLES 16

/* The object of a shard as it is now, and its index where that is not in need of decoding; both NULL when there is
 * none. */
static enum zs_status open_object(struct zs_array *a, const struct zs_level *level, const char *key,
                                  struct zs_object **object, struct zs_shard_index **index, struct zs_error *err)
{
    *object = NULL;
    *index = NULL;
    enum zs_status status;
    if (level->bytes_codec_count == 0) {
        status = zs_shard_read_index(a, level, key, object, index, err);
    } else {
        zs_store_forget(a->store, key);
        status = zs_object_open(a->store, key, object, err);
    }
    return status == ZS_NOT_FOUND ? ZS_OK : status;
}

/* Whether nobody else can have made this shard. */
bool zs_shard_is_unpublished(const struct zs_array *a, uint64_t shard)
{
    return a->is_new && zs_map_get(&a->pending->published, shard) == NULL;
}

/* A shard of which nothing was put, on nothing that is there. */
static enum zs_status create_shard(struct zs_array *a, uint64_t shard, struct zs_open_shard **out, struct zs_error *err)
{
    char *key = zs_shard_key(a, shard);
    struct zs_open_shard *s = zs_calloc(1, sizeof *s);
    const struct zs_level *levels = s != NULL ? zs_grid_levels(&a->grid, shard, &s->levels) : NULL;
    enum zs_status status = key != NULL && levels != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot open a shard");
    if (status == ZS_OK)
        status = zs_shard_writer_create(a->store, key, levels, a->pending->order, NULL, NULL, &s->writer, err);
    free(key);
    if (status == ZS_OK) {
        s->shard = shard;
        *out = s;
        return ZS_OK;
    }
    if (s != NULL)
        free(s->levels);
    free(s);
    return status;
}

enum zs_status zs_open_shard_get(struct zs_array *a, uint64_t shard, struct zs_open_shard **out, struct zs_error *err)
{
    struct zs_pending_writes *e = a->pending;
    struct zs_open_shard *s = zs_map_get(&e->shards, shard);
    if (s == NULL) {
        ZS_TRY(create_shard(a, shard, &s, err));
        s->is_opened = zs_shard_is_unpublished(a, shard);
        enum zs_status status = zs_open_shard_need(a, s, err);
        if (status == ZS_CORRUPT)
            status = ZS_OK; /* who needs what is there will hear it */
        if (status == ZS_OK && !zs_map_set(&e->shards, shard, s))
            status = zs_fail(err, ZS_NO_MEMORY, "cannot open a shard");
        if (status != ZS_OK) {
            zs_open_shard_free(s);
            return status;
        }
    }
    s->stamp = ++e->stamp;
    *out = s;
    return ZS_OK;
}

void zs_pending_find_order(struct zs_array *a)
{
    uint64_t count = 1; /* it was looked at for overflow when the array was opened */
    for (int d = 0; d < a->meta->ndim; d++)
        count *= a->grid.count[0][d];
    const uint64_t samples = zs_min_u64(count, MAX_SAMPLES);
    bool is_found = a->pending->knows_order || !a->pending->has_shards;
    a->pending->knows_order = true;
    for (uint64_t i = 0; i < samples && !is_found; i++) {
        struct zs_error ignored;
        struct zs_object *object;
        struct zs_shard_index *index;
        struct zs_level room;
        const struct zs_level *level = zs_grid_level(&a->grid, 0, i * (count / samples), &room);
        char *key = zs_shard_key(a, i * (count / samples));
        if (key == NULL || open_object(a, level, key, &object, &index, &ignored) != ZS_OK) {
            free(key);
            return; /* whoever reads the pixels will say what is wrong */
        }
        is_found = index != NULL;
        if (index != NULL)
            a->pending->order = zs_chunk_order_of(level, index, a->pending->order);
        free(index);
        zs_object_close(object);
        free(key);
    }
}

enum zs_status zs_open_shard_reopen(struct zs_array *a, struct zs_open_shard *s, const char *key, struct zs_error *err)
{
    struct zs_object *object;
    struct zs_shard_index *index;
    struct zs_pending_writes *e = a->pending;
    const struct zs_level *levels = s->levels != NULL ? s->levels : a->chain.levels;
    ZS_TRY(open_object(a, levels, key, &object, &index, err));
    const enum zs_chunk_order order = index != NULL ? zs_chunk_order_of(levels, index, e->order) : e->order;
    if (!e->knows_order)
        e->order = order; /* new ones as their neighbours are; but one that is changed keeps its own */
    const enum zs_status status = zs_shard_writer_rebase(s->writer, order, index, object, err);
    s->is_opened = status == ZS_OK;
    return status;
}

enum zs_status zs_open_shard_need(struct zs_array *a, struct zs_open_shard *s, struct zs_error *err)
{
    if (s->is_opened)
        return ZS_OK;
    char *key = zs_shard_key(a, s->shard);
    const enum zs_status status =
        key != NULL ? zs_open_shard_reopen(a, s, key, err) : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key");
    free(key);
    return status;
}

/* Counts the memory that a shard holds. */
void zs_open_shard_account(struct zs_pending_writes *e, struct zs_open_shard *s, bool is_open)
{
    uint64_t held = is_open ? zs_shard_writer_memory(s->writer) : 0, key;
    size_t at = 0;
    if (is_open && s->written.count > 0)
        held += s->written.count * ((const struct zs_written *)zs_map_next(&s->written, &at, &key))->size;
    e->held_bytes = e->held_bytes - s->held + held;
    s->held = held;
    zs_pending_account(e);
}

void zs_open_shard_forget(struct zs_array *a, struct zs_open_shard *s)
{
    (void)zs_map_remove(&a->pending->shards, s->shard);
    zs_open_shard_account(a->pending, s, false);
    zs_open_shard_free(s);
}

bool zs_open_shard_is_complete(const struct zs_array *a, const struct zs_open_shard *s)
{
    return zs_shard_writer_put_count(s->writer) == zs_grid_leaves(&a->grid, s->shard);
}

/* The version of the object that the writer builds on, as in zs_written. */
uint64_t zs_open_shard_version(const struct zs_open_shard *s)
{
    const struct zs_object *object = s != NULL ? zs_shard_writer_object(s->writer) : NULL;
    return object != NULL && object->is_versioned ? object->version : 0;
}
