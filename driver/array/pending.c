/* The state of pending writes: dirty chunks, and the shards that they and encoded chunks belong to. */
#include "array/pending.h"

#include <stdlib.h>
#include <string.h>

#include "array/array_private.h"
#include "array/plan.h"
#include "base/strided.h"

/* ---- Its state ---- */

/* Counts what dirty chunks take: `more` bytes, and `less` no longer. */
static void count_bytes(struct zs_pending *pending, uint64_t more, uint64_t less)
{
    pending->bytes += more - less;
    if (more != less)
        pending->is_over = !zs_budget_count((int64_t)(more - less));
}

void zs_dirty_set_blob(struct zs_array *array, struct zs_dirty *dirty, struct zs_blob *blob)
{
    struct zs_blob *before = dirty->blob;
    dirty->blob = blob;
    dirty->has_stored = false;
    count_bytes(array->pending, blob != NULL ? blob->size : 0, before != NULL ? before->size : 0);
    zs_blob_free(before);
}

void zs_dirty_set_written(struct zs_array *array, struct zs_dirty *dirty, struct zs_written *written)
{
    struct zs_written *before = dirty->written;
    dirty->written = written;
    count_bytes(array->pending, written != NULL ? written->size : 0, before != NULL ? before->size : 0);
    free(before);
}

static void dirty_free(struct zs_array *array, struct zs_dirty *dirty)
{
    zs_dirty_set_blob(array, dirty, NULL);
    zs_dirty_set_written(array, dirty, NULL);
    free(dirty);
}

static void shard_free(struct zs_array *array, struct zs_open_shard *shard)
{
    size_t at = 0;
    for (struct zs_dirty *dirty; (dirty = zs_map_next(&shard->dirty, &at)) != NULL;)
        dirty_free(array, dirty);
    zs_map_free(&shard->dirty);
    array->pending->writer_count -= shard->writer != NULL;
    zs_shard_writer_free(shard->writer);
    free(shard->levels);
    free(shard);
}

enum zs_status zs_pending_get(struct zs_array *array, struct zs_pending **pending, struct zs_error *err)
{
    if (array->pending == NULL) {
        array->pending = zs_calloc(1, sizeof *array->pending);
        ZS_TRY_MEMORY(array->pending, err);
        (void)pthread_mutex_init(&array->pending->lock, NULL);
        array->pending->budget = zs_cache_budget(&array->chunks);
    }
    *pending = array->pending;
    return ZS_OK;
}

void zs_pending_free(struct zs_array *array)
{
    struct zs_pending *pending = array->pending;
    if (pending == NULL)
        return;
    size_t at = 0;
    for (struct zs_open_shard *shard; (shard = zs_map_next(&pending->shards, &at)) != NULL;)
        shard_free(array, shard);
    zs_map_free(&pending->shards);
    zs_map_free(&pending->published);
    (void)pthread_mutex_destroy(&pending->lock);
    free(pending);
    array->pending = NULL;
}

bool zs_pending_is_empty(const struct zs_array *array)
{
    return array->pending == NULL || array->pending->shards.count == 0;
}

bool zs_array_is_unpublished(const struct zs_array *array)
{
    return array->is_new && (array->hierarchy == NULL || zs_hierarchy_is_unpublished(array->hierarchy, array->node));
}

bool zs_shard_is_unpublished(const struct zs_array *array, uint64_t shard)
{
    return zs_array_is_unpublished(array) && zs_map_get(&array->pending->published, shard) == NULL;
}

/* ---- Shards ---- */

struct zs_open_shard *zs_open_shard_find(const struct zs_array *array, uint64_t chunk)
{
    return zs_pending_is_empty(array) ? NULL
                                      : zs_map_get(&array->pending->shards, zs_grid_shard(&array->grid, chunk));
}

enum zs_status zs_open_shard_get(struct zs_array *array, uint64_t chunk, struct zs_open_shard **out,
                                 struct zs_error *err)
{
    struct zs_pending *pending = array->pending;
    *out = zs_open_shard_find(array, chunk);
    if (*out == NULL) {
        *out = zs_calloc(1, sizeof **out);
        ZS_TRY_MEMORY(*out, err);
        (*out)->number = zs_grid_shard(&array->grid, chunk);
        if (!zs_map_set(&pending->shards, (*out)->number, *out)) {
            free(*out);
            return zs_fail_memory(err);
        }
    }
    (*out)->stamp = ++pending->stamp;
    return ZS_OK;
}

enum zs_status zs_open_shard_ensure_writer(struct zs_array *array, struct zs_open_shard *shard, struct zs_error *err)
{
    char *key;
    if (shard->writer != NULL)
        return ZS_OK;
    free(shard->levels);
    const struct zs_level *levels = zs_grid_levels(&array->grid, shard->number, &shard->levels);
    ZS_TRY_MEMORY(levels, err);
    ZS_TRY(zs_shard_key(array, shard->number, &key, err));
    const enum zs_status status =
        zs_shard_writer_create(array->store, key, levels, array->order, &shard->writer, err);
    array->pending->writer_count += status == ZS_OK;
    free(key);
    return status;
}

void zs_open_shard_drop(struct zs_array *array, struct zs_open_shard *shard)
{
    (void)zs_map_remove(&array->pending->shards, shard->number);
    shard_free(array, shard);
}

bool zs_open_shard_is_whole(const struct zs_array *array, const struct zs_open_shard *shard)
{
    return shard->dirty.count == 0 && shard->writer != NULL &&
           zs_shard_writer_put_count(shard->writer) == zs_grid_chunks_in_shard(&array->grid, shard->number);
}

/* ---- Dirty chunks ---- */

struct zs_dirty *zs_dirty_find(const struct zs_array *array, uint64_t chunk)
{
    const struct zs_open_shard *shard = zs_open_shard_find(array, chunk);
    return shard != NULL ? zs_map_get(&shard->dirty, chunk) : NULL;
}

/* The mask of a chunk of which nothing is written; NULL without memory. */
static struct zs_written *written_create(const struct zs_array *array, const struct zs_level *level, uint64_t chunk)
{
    const size_t size = (size_t)(level->decoded_size / level->item_size + 7) / 8;
    struct zs_written *written = zs_calloc(1, sizeof *written + size);
    if (written == NULL)
        return NULL;
    written->left = zs_grid_elements(&array->grid, array->chain.count - 1, chunk);
    written->size = size;
    return written;
}

enum zs_status zs_dirty_create(struct zs_array *array, uint64_t chunk, bool is_whole, struct zs_dirty **out,
                               struct zs_error *err)
{
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&array->grid, array->chain.count - 1, chunk, &room);
    struct zs_open_shard *shard;
    ZS_TRY(zs_open_shard_get(array, chunk, &shard, err));
    struct zs_dirty *dirty = zs_calloc(1, sizeof *dirty);
    struct zs_blob *blob = zs_blob_alloc(NULL, (size_t)level->decoded_size);
    struct zs_written *written = is_whole ? NULL : written_create(array, level, chunk);
    if (dirty == NULL || blob == NULL || (written == NULL && !is_whole) || !zs_map_set(&shard->dirty, chunk, dirty)) {
        free(dirty);
        zs_blob_free(blob);
        free(written);
        return zs_fail_memory(err);
    }
    /* Also beyond the edge of the array. */
    const uint64_t inside = zs_grid_elements(&array->grid, array->chain.count - 1, chunk);
    if (!is_whole || inside < level->decoded_size / level->item_size)
        zs_chunk_fill(array, level, blob->data);
    dirty->chunk = chunk;
    zs_dirty_set_blob(array, dirty, blob);
    zs_dirty_set_written(array, dirty, written);
    zs_cache_remove(&array->chunks, (struct zs_cache_key){0, chunk});
    *out = dirty;
    return ZS_OK;
}

void zs_dirty_drop(struct zs_array *array, uint64_t chunk)
{
    struct zs_open_shard *shard = zs_open_shard_find(array, chunk);
    struct zs_dirty *dirty = shard != NULL ? zs_map_remove(&shard->dirty, chunk) : NULL;
    if (dirty != NULL)
        dirty_free(array, dirty);
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
    const int last = level->ndim - 1;
    uint64_t low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], at[ZS_MAX_NDIM]; /* as stored */
    for (int j = 0; j < level->ndim; j++) {
        at[j] = low[j] = start[level->axis[j]];
        high[j] = low[j] + count[level->axis[j]];
    }
    do {
        uint64_t first = 0;
        for (int j = 0; j < level->ndim; j++)
            first = first * level->shape[level->axis[j]] + at[j];
        add_run(written, first, last >= 0 ? high[last] - low[last] : 1);
    } while (zs_next_position(last, at, low, high));
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

/* ---- Reading what is pending ---- */

bool zs_pending_has(const struct zs_array *array, uint64_t chunk, struct zs_shard_writer **writer, uint64_t *number)
{
    const struct zs_open_shard *shard = zs_open_shard_find(array, chunk);
    if (shard == NULL || shard->writer == NULL || zs_map_get(&shard->dirty, chunk) != NULL)
        return false;
    *writer = shard->writer;
    *number = zs_grid_number_in_shard(&array->grid, chunk);
    return zs_shard_writer_has(*writer, *number);
}

enum zs_status zs_dirty_complete(struct zs_array *array, struct zs_dirty *dirty, struct zs_error *err)
{
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&array->grid, array->chain.count - 1, dirty->chunk, &room);
    struct zs_window window;
    if (dirty->has_stored || dirty->written == NULL)
        return ZS_OK;
    struct zs_blob *blob = zs_blob_alloc(NULL, (size_t)level->decoded_size);
    ZS_TRY_MEMORY(blob, err);
    zs_grid_extent(&array->grid, array->chain.count - 1, dirty->chunk, window.start, window.count);
    zs_dense_strides(level, window.count, window.stride);
    for (int d = 0; d < array->meta->ndim; d++)
        window.count[d] = zs_min_u64(window.count[d], array->meta->shape[d] - window.start[d]);
    window.data = blob->data;
    zs_chunk_fill(array, level, blob->data); /* beyond the edge of the array */
    const enum zs_status status = zs_array_read_stored(array, &window, err);
    if (status != ZS_OK) {
        zs_blob_free(blob);
        return status;
    }
    zs_written_apply(dirty->written, level, dirty->blob->data, blob->data);
    zs_dirty_set_blob(array, dirty, blob);
    dirty->has_stored = true;
    return ZS_OK;
}
