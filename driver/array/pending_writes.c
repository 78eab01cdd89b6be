/* The state of pending writes, and the shards that are being built. */
#include <stdlib.h>
#include <string.h>

#include "array/indexes.h"
#include "array/pending_private.h"
#include "base/strided.h"

/* Limit of the shards that are opened to find the order of their chunks. They are spread over the array, since the
 * first ones may be empty. */
#define MAX_SAMPLES 16

/* ---- Its state ---- */

enum zs_status zs_pending_get(struct zs_array *array, struct zs_pending_writes **pending, struct zs_error *err)
{
    if (array->pending == NULL) {
        array->pending = zs_calloc(1, sizeof *array->pending);
        ZS_TRY_MEMORY(array->pending, err);
        array->pending->has_shards = array->chain.count > 1;
        array->pending->budget = zs_cache_budget(array->chunks);
    }
    *pending = array->pending;
    return ZS_OK;
}

void zs_pending_account(struct zs_pending_writes *pending)
{
    const uint64_t now = pending->dirty_bytes + pending->shard_bytes;
    if (now > pending->counted)
        pending->is_over = !zs_budget_take(now - pending->counted);
    else
        zs_budget_give(pending->counted - now);
    pending->counted = now;
}

void zs_dirty_free(struct zs_dirty *dirty)
{
    zs_blob_free(dirty->blob);
    free(dirty->written);
    free(dirty);
}

static void shard_free(struct zs_open_shard *shard)
{
    size_t at = 0;
    uint64_t key;
    for (void *written; (written = zs_map_next(&shard->written, &at, &key)) != NULL;)
        free(written);
    zs_map_free(&shard->written);
    zs_shard_writer_free(shard->writer);
    free(shard->levels);
    free(shard);
}

void zs_pending_free(struct zs_array *array)
{
    struct zs_pending_writes *pending = array->pending;
    if (pending == NULL)
        return;
    size_t at = 0;
    uint64_t key;
    for (struct zs_dirty *dirty; (dirty = zs_map_next(&pending->dirty, &at, &key)) != NULL;)
        zs_dirty_free(dirty);
    at = 0;
    for (struct zs_open_shard *shard; (shard = zs_map_next(&pending->shards, &at, &key)) != NULL;)
        shard_free(shard);
    zs_map_free(&pending->dirty);
    zs_map_free(&pending->shards);
    zs_map_free(&pending->published);
    zs_budget_give(pending->counted);
    free(pending);
    array->pending = NULL;
}

bool zs_pending_is_empty(const struct zs_array *array)
{
    return array->pending == NULL || array->pending->dirty.count + array->pending->shards.count == 0;
}

const struct zs_blob *zs_pending_decoded(const struct zs_array *array, uint64_t chunk)
{
    if (array->pending == NULL)
        return NULL;
    const struct zs_dirty *dirty = zs_map_get(&array->pending->dirty, chunk);
    return dirty != NULL ? dirty->blob : NULL;
}

struct zs_shard_writer *zs_pending_writer(const struct zs_array *array, uint64_t chunk, uint64_t *number)
{
    if (array->pending == NULL || !array->pending->has_shards)
        return NULL;
    const struct zs_open_shard *shard = zs_map_get(&array->pending->shards, zs_grid_shard(&array->grid, chunk));
    if (shard == NULL)
        return NULL;
    *number = zs_grid_number_in_shard(&array->grid, chunk);
    return zs_shard_writer_has(shard->writer, *number) ? shard->writer : NULL;
}

bool zs_is_fill(const struct zs_array_meta *meta, const void *data, size_t n)
{
    const size_t item = meta->dtype.size;
    return n >= item && memcmp(data, meta->fill_value, item) == 0 &&
           memcmp(data, (const char *)data + item, n - item) == 0;
}

void zs_chunk_fill(const struct zs_array *array, const struct zs_level *level, void *data)
{
    const uint64_t n = level->decoded_size / level->item_size;
    const ptrdiff_t from = 0, to = (ptrdiff_t)level->item_size;
    zs_copy_strided(1, &n, array->meta->fill_value, &from, data, &to, level->item_size, NULL, NULL);
}

/* ---- Shards that are being built ---- */

/* Opens the stored object of a shard, and reads its index unless the shard is encoded as a whole. Both are NULL when
 * there is none. */
static enum zs_status open_object(struct zs_array *array, const struct zs_level *level, const char *key,
                                  struct zs_object **object, struct zs_shard_index **index, struct zs_error *err)
{
    *object = NULL;
    *index = NULL;
    enum zs_status status;
    if (level->bytes_codec_count == 0) {
        status = zs_shard_read_index(array, level, key, object, index, err);
    } else {
        zs_store_forget(array->store, key);
        status = zs_object_open(array->store, key, object, err);
    }
    return status == ZS_NOT_FOUND ? ZS_OK : status;
}

bool zs_array_is_unpublished(const struct zs_array *array)
{
    return array->is_new && (array->hierarchy == NULL || zs_hierarchy_is_unpublished(array->hierarchy, array->node));
}

bool zs_shard_is_unpublished(const struct zs_array *array, uint64_t shard)
{
    return zs_array_is_unpublished(array) && zs_map_get(&array->pending->published, shard) == NULL;
}

/* Creates an open shard without chunks, not yet based on a stored object. */
static enum zs_status create_shard(struct zs_array *array, uint64_t number, struct zs_open_shard **out,
                                   struct zs_error *err)
{
    const enum zs_chunk_order order = array->pending->order;
    char *key;
    ZS_TRY(zs_shard_key(array, number, &key, err));
    struct zs_open_shard *shard = zs_calloc(1, sizeof *shard);
    const struct zs_level *levels = shard != NULL ? zs_grid_levels(&array->grid, number, &shard->levels) : NULL;
    enum zs_status status = levels != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_shard_writer_create(array->store, key, levels, order, NULL, NULL, &shard->writer, err);
    free(key);
    if (status == ZS_OK) {
        shard->number = number;
        shard->order = order;
        *out = shard;
    } else if (shard != NULL) {
        shard_free(shard);
    }
    return status;
}

void zs_pending_find_order(struct zs_array *array)
{
    uint64_t count = 1; /* checked for overflow when the array was opened */
    for (int d = 0; d < array->meta->ndim; d++)
        count *= array->grid.count[0][d];
    const uint64_t samples = zs_min_u64(count, MAX_SAMPLES);
    bool is_found = array->pending->knows_order || !array->pending->has_shards;
    array->pending->knows_order = true;
    for (uint64_t i = 0; i < samples && !is_found; i++) {
        struct zs_error ignored;
        struct zs_object *object;
        struct zs_shard_index *index;
        struct zs_level room;
        const struct zs_level *level = zs_grid_level(&array->grid, 0, i * (count / samples), &room);
        char *key;
        if (zs_shard_key(array, i * (count / samples), &key, &ignored) != ZS_OK)
            return;
        if (open_object(array, level, key, &object, &index, &ignored) != ZS_OK) {
            free(key);
            return; /* reading the pixels reports the error */
        }
        is_found = index != NULL;
        if (index != NULL)
            array->pending->order = zs_chunk_order_of(level, index, array->pending->order);
        free(index);
        zs_object_close(object);
        free(key);
    }
}

enum zs_status zs_open_shard_reopen(struct zs_array *array, struct zs_open_shard *shard, const char *key,
                                    struct zs_error *err)
{
    struct zs_object *object;
    struct zs_shard_index *index;
    const enum zs_chunk_order likely = array->pending->order;
    const struct zs_level *levels = shard->levels != NULL ? shard->levels : array->chain.levels;
    ZS_TRY(open_object(array, levels, key, &object, &index, err));
    shard->order = index != NULL ? zs_chunk_order_of(levels, index, likely) : likely;
    const enum zs_status status = zs_shard_writer_rebase(shard->writer, shard->order, index, object, err);
    shard->is_opened = status == ZS_OK;
    return status;
}

enum zs_status zs_open_shard_ensure_base(struct zs_array *array, struct zs_open_shard *shard, struct zs_error *err)
{
    if (shard->is_opened)
        return ZS_OK;
    char *key;
    ZS_TRY(zs_shard_key(array, shard->number, &key, err));
    const enum zs_status status = zs_open_shard_reopen(array, shard, key, err);
    free(key);
    return status;
}

enum zs_status zs_open_shard_get(struct zs_array *array, uint64_t number, struct zs_open_shard **out,
                                 struct zs_error *err)
{
    struct zs_pending_writes *pending = array->pending;
    struct zs_open_shard *shard = zs_map_get(&pending->shards, number);
    if (shard == NULL) {
        ZS_TRY(create_shard(array, number, &shard, err));
        shard->is_opened = zs_shard_is_unpublished(array, number);
        enum zs_status status = zs_open_shard_ensure_base(array, shard, err);
        if (status == ZS_CORRUPT)
            status = ZS_OK; /* zs_open_shard_ensure_base() reports the error to callers that need the stored object */
        if (status == ZS_OK && !zs_map_set(&pending->shards, number, shard))
            status = zs_fail_memory(err);
        if (status != ZS_OK) {
            shard_free(shard);
            return status;
        }
        if (!pending->knows_order)
            pending->order = shard->order; /* new shards get the order of their neighbours */
    }
    shard->stamp = ++pending->stamp;
    *out = shard;
    return ZS_OK;
}

void zs_open_shard_account(struct zs_pending_writes *pending, struct zs_open_shard *shard, bool is_open)
{
    uint64_t memory = is_open ? zs_shard_writer_memory(shard->writer) : 0, key;
    size_t at = 0;
    if (is_open && shard->written.count > 0)
        memory += shard->written.count * ((const struct zs_written *)zs_map_next(&shard->written, &at, &key))->size;
    pending->shard_bytes = pending->shard_bytes - shard->memory + memory;
    shard->memory = memory;
    zs_pending_account(pending);
}

void zs_open_shard_drop(struct zs_array *array, struct zs_open_shard *shard)
{
    (void)zs_map_remove(&array->pending->shards, shard->number);
    zs_open_shard_account(array->pending, shard, false);
    shard_free(shard);
}

bool zs_open_shard_is_complete(const struct zs_array *array, const struct zs_open_shard *shard)
{
    return zs_shard_writer_put_count(shard->writer) == zs_grid_chunks_in_shard(&array->grid, shard->number);
}

uint64_t zs_open_shard_version(const struct zs_open_shard *shard)
{
    const struct zs_object *object = shard != NULL ? zs_shard_writer_object(shard->writer) : NULL;
    return object != NULL && object->is_versioned ? object->version : 0;
}

/* ---- Elements that were written ---- */

struct zs_written *zs_written_create(const struct zs_level *level, uint64_t inside, uint64_t content)
{
    const size_t size = (size_t)(level->decoded_size / level->item_size + 7) / 8;
    struct zs_written *written = zs_calloc(1, sizeof *written + size);
    if (written != NULL)
        *written = (struct zs_written){.content = content, .left = inside, .size = size};
    return written;
}

struct zs_written *zs_written_copy(const struct zs_written *written)
{
    struct zs_written *copy = malloc(sizeof *written + written->size);
    if (copy != NULL)
        memcpy(copy, written, sizeof *written + written->size);
    return copy;
}

/* Elements [first, first + n) as stored. */
static void add_run(struct zs_written *written, uint64_t first, uint64_t n)
{
    while (n > 0) {
        const unsigned bit = (unsigned)(first & 7), k = n < 8 - bit ? (unsigned)n : 8 - bit;
        const unsigned char bits = (unsigned char)(((1u << k) - 1) << bit);
        unsigned char *at = &written->mask[first >> 3];
        written->left -= (uint64_t)__builtin_popcount((unsigned)(bits & ~*at));
        *at |= bits;
        first += k;
        n -= k;
    }
}

void zs_written_add(struct zs_written *written, const struct zs_level *level, const uint64_t *start,
                    const uint64_t *count)
{
    const int last = level->ndim > 0 ? level->axis[level->ndim - 1] : 0;
    const uint64_t run = level->ndim > 0 ? count[last] : 1;
    uint64_t at[ZS_MAX_NDIM] = {0};
    for (bool more = true; more;) {
        uint64_t first = 0;
        for (int j = 0; j < level->ndim; j++)
            first = first * level->shape[level->axis[j]] + start[level->axis[j]] + at[level->axis[j]];
        add_run(written, first, run);
        more = false;
        for (int j = level->ndim - 2; j >= 0 && !more; j--) {
            const int d = level->axis[j];
            more = ++at[d] < count[d];
            if (!more)
                at[d] = 0;
        }
    }
}

void zs_written_apply(const struct zs_written *written, const struct zs_level *level, const void *from, void *to)
{
    const size_t item = level->item_size;
    for (size_t i = 0; i < written->size; i++)
        for (unsigned bits = written->mask[i]; bits != 0; bits &= bits - 1) {
            const size_t at = (8 * i + (size_t)__builtin_ctz(bits)) * item;
            memcpy((char *)to + at, (const char *)from + at, item);
        }
}

/* Not a CRC: that is the same for all bytes that end with their own CRC, as some chunks do. */
uint64_t zs_content_of(const void *encoded, size_t n)
{
    const unsigned char *p = encoded;
    uint64_t h = n;
    if (encoded == NULL)
        return UINT64_MAX;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t v = 0;
        memcpy(&v, p + i, n - i < 8 ? n - i : 8);
        h = (h ^ v) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    return h;
}
