/* Writing windows: the chunks that they cover are encoded side by side and handed to their shards in order; chunks that
 * they cover in part are changed. */
#include <stdlib.h>
#include <string.h>

#include "array/pending.h"
#include "array/plan.h"
#include "base/descriptors.h"
#include "base/parallel.h"
#include "base/strided.h"

/* At most so many decoded bytes are encoded before the encoded chunks are handed on: this bounds the memory of one
 * call. */
#define BATCH_BYTES ((uint64_t)64 << 20)

/* An array may keep one part in OWN_SHARE of the process's budget, even when other arrays use all of it. */
#define OWN_SHARE 8

/* So many chunks per thread that were written one by one wait to be encoded side by side. */
#define WAITING_PER_THREAD 4

/* One chunk to be encoded. */
struct chunk {
    uint64_t number;
    const struct zs_window *window; /* that covers it; NULL: it is dirty */
    const struct zs_dirty *dirty;   /* written whole */
    struct zs_buffer encoded;
    bool is_done, is_encoded, is_empty;
};

/* Chunks that are encoded side by side. They are stored in order, each as soon as all before it are, by one thread at a
 * time; the buffer of a stored one serves a later one. */
struct batch {
    struct zs_array *array;
    size_t item_size; /* of the window's elements in the caller's memory */
    zs_convert_fn convert;
    void *ctx;
    struct chunk *chunks;
    size_t count, capacity;
    pthread_mutex_t lock;  /* of what follows, and of is_done */
    bool is_storing;       /* a thread stores chunks */
    size_t stored;         /* chunks from the first on that were stored, or failed */
    size_t reused;         /* ... whose buffers were given to later ones */
    enum zs_status status; /* of storing: the first failure */
    struct zs_error err;
};

/* The overlap of a chunk with the window: first element and count per dimension. True when that is all of the chunk
 * that lies in the array. */
static bool chunk_overlap(const struct zs_array *array, uint64_t number, const struct zs_window *window,
                          uint64_t *start, uint64_t *count)
{
    uint64_t elements = 1;
    zs_chunk_overlap(array, array->chain.count - 1, number, window, start, count);
    for (int d = 0; d < array->meta->ndim; d++)
        elements *= count[d];
    return elements == zs_grid_elements(&array->grid, array->chain.count - 1, number);
}

/* Copies the elements of a window into a decoded chunk, and notes them in `written` (may be NULL). */
static void gather(const struct batch *batch, uint64_t number, const struct zs_window *window, unsigned char *data,
                   struct zs_written *written)
{
    const struct zs_array *array = batch->array;
    struct zs_level room;
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM], low[ZS_MAX_NDIM], length[ZS_MAX_NDIM];
    ptrdiff_t stride[ZS_MAX_NDIM];
    (void)chunk_overlap(array, number, window, start, count);
    zs_grid_extent(&array->grid, array->chain.count - 1, number, low, length);
    zs_dense_strides(array->innermost, length, stride);
    const char *src = window->data;
    unsigned char *dst = data;
    for (int d = 0; d < array->meta->ndim; d++) {
        src += (ptrdiff_t)(start[d] - window->start[d]) * window->stride[d];
        start[d] -= low[d];
        dst += (ptrdiff_t)start[d] * stride[d];
    }
    zs_copy_strided(array->meta->ndim, count, src, window->stride, dst, stride, batch->item_size, batch->convert,
                    batch->ctx);
    if (written != NULL)
        zs_written_add(written, zs_grid_level(&array->grid, array->chain.count - 1, number, &room), start, count);
}

/* ---- Encoding ---- */

/* Fills a chunk that reaches beyond the array's edge, and is to be written whole, with fill values. */
static void fill_beyond_edge(const struct zs_array *array, const struct zs_level *level, uint64_t number, void *data)
{
    if (zs_grid_elements(&array->grid, array->chain.count - 1, number) < level->decoded_size / level->item_size)
        zs_chunk_fill(array, level, data);
}

/* Sets `decoded` to the chunk's decoded bytes: a copy, which encoding may change. */
static enum zs_status decode_chunk(const struct batch *batch, const struct zs_level *level, const struct chunk *chunk,
                                   struct zs_buffer *decoded, struct zs_error *err)
{
    const struct zs_array *array = batch->array;
    const size_t size = (size_t)level->decoded_size;
    ZS_TRY(zs_buffer_reset(decoded, size, err));
    if (chunk->window == NULL) {
        memcpy(decoded->data, chunk->dirty->blob->data, size); /* the blob stays as it is until the put succeeded */
        return ZS_OK;
    }
    fill_beyond_edge(array, level, chunk->number, decoded->data);
    gather(batch, chunk->number, chunk->window, decoded->data, NULL);
    return ZS_OK;
}

static enum zs_status encode(const struct batch *batch, struct chunk *chunk, struct zs_error *err)
{
    const struct zs_array *array = batch->array;
    struct zs_scratch *scratch = zs_scratch_acquire();
    ZS_TRY_MEMORY(scratch, err);
    struct zs_buffer *decoded = zs_scratch_buffer(scratch, ZS_SCRATCH_DECODED);
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&array->grid, array->chain.count - 1, chunk->number, &room);
    enum zs_status status = decode_chunk(batch, level, chunk, decoded, err);
    if (status == ZS_OK)
        chunk->is_empty = zs_is_fill(array->meta, decoded->data, (size_t)level->decoded_size);
    if (status == ZS_OK && !chunk->is_empty) {
        const void *encoded;
        size_t n;
        status = zs_chunk_encode(level, scratch, decoded->data, &encoded, &n, err);
        if (status == ZS_OK)
            status = zs_buffer_append(&chunk->encoded, encoded, n, err);
    }
    chunk->is_encoded = status == ZS_OK;
    zs_scratch_release(scratch);
    return status;
}

/* ---- Storing, in order ---- */

/* Puts a chunk that was encoded. */
static enum zs_status put_chunk(struct zs_array *array, const struct chunk *chunk, struct zs_error *err)
{
    ZS_TRY(zs_pending_put(array, chunk->number, chunk->is_empty ? NULL : chunk->encoded.data, chunk->encoded.size,
                          err));
    zs_dirty_drop(array, chunk->number);
    ZS_TRY(zs_pending_publish_whole(array, chunk->number, err));
    return zs_pending_limit(array, false, err); /* dirty chunks are being encoded */
}

static void store_chunk(struct batch *batch, const struct chunk *chunk)
{
    struct zs_error *err = batch->status == ZS_OK ? &batch->err : NULL;
    const enum zs_status status = put_chunk(batch->array, chunk, err);
    if (batch->status == ZS_OK)
        batch->status = status;
}

/* Stores the finished chunks up to the first unfinished one, unless another thread is doing so. */
static void store_done(struct batch *batch, struct chunk *done)
{
    (void)pthread_mutex_lock(&batch->lock);
    done->is_done = true;
    const bool is_ours = !batch->is_storing;
    while (is_ours && batch->stored < batch->count && batch->chunks[batch->stored].is_done) {
        const struct chunk *chunk = &batch->chunks[batch->stored];
        batch->is_storing = true;
        (void)pthread_mutex_unlock(&batch->lock);
        if (chunk->is_encoded)
            store_chunk(batch, chunk);
        (void)pthread_mutex_lock(&batch->lock);
        batch->stored++;
        batch->is_storing = false;
    }
    (void)pthread_mutex_unlock(&batch->lock);
}

/* Gives a chunk the buffer of one that is stored, whose memory has been touched already. */
static void take_buffer(struct batch *batch, struct chunk *chunk)
{
    (void)pthread_mutex_lock(&batch->lock);
    if (batch->reused < batch->stored) {
        struct chunk *from = &batch->chunks[batch->reused++];
        chunk->encoded = from->encoded;
        chunk->encoded.size = 0;
        from->encoded = (struct zs_buffer){0};
    }
    (void)pthread_mutex_unlock(&batch->lock);
}

static enum zs_status encode_and_store(void *ctx, size_t item, struct zs_error *err)
{
    struct batch *batch = ctx;
    take_buffer(batch, &batch->chunks[item]);
    const enum zs_status status = encode(batch, &batch->chunks[item], err);
    store_done(batch, &batch->chunks[item]);
    return status;
}

/* Encodes chunks and stores them. After a failure finishes those that were begun, and returns the first failure; dirty
 * chunks that failed stay dirty. */
static enum zs_status run_batch(struct batch *batch, struct zs_error *err)
{
    batch->stored = batch->reused = 0;
    batch->status = ZS_OK;
    (void)pthread_mutex_init(&batch->lock, NULL);
    enum zs_status status = zs_parallel_for(batch->array->threads, batch->count, encode_and_store, batch, err);
    (void)pthread_mutex_destroy(&batch->lock);
    for (size_t i = 0; i < batch->count; i++)
        zs_buffer_free(&batch->chunks[i].encoded);
    batch->count = 0;
    if (status == ZS_OK && batch->status != ZS_OK)
        status = zs_fail(err, batch->status, "%s", batch->err.message);
    return status;
}

/* ---- Dirty chunks ---- */

/* Most chunks of a batch, of `chunks` that are to be encoded. */
static size_t batch_capacity(const struct zs_array *array, uint64_t chunks)
{
    return (size_t)zs_min_u64(chunks, zs_max_u64(1, BATCH_BYTES / array->innermost->decoded_size));
}

static int by_number(const void *x, const void *y)
{
    const struct chunk *p = x, *q = y;
    return (p->number > q->number) - (p->number < q->number);
}

/* Lists the dirty chunks that were written whole. NULL without memory. */
static struct chunk *list_whole(const struct zs_pending *pending, size_t *n, struct zs_error *err)
{
    size_t most = 0, at = 0;
    for (const struct zs_open_shard *shard; (shard = zs_map_next(&pending->shards, &at)) != NULL;)
        most += shard->dirty.count;
    struct chunk *chunks = zs_calloc(most, sizeof *chunks);
    *n = at = 0;
    if (chunks == NULL)
        (void)zs_fail_memory(err);
    for (struct zs_open_shard *shard; chunks != NULL && (shard = zs_map_next(&pending->shards, &at)) != NULL;) {
        size_t in_shard = 0;
        for (const struct zs_dirty *dirty; (dirty = zs_map_next(&shard->dirty, &in_shard)) != NULL;)
            if (dirty->written == NULL)
                chunks[(*n)++] = (struct chunk){.number = dirty->chunk, .dirty = dirty};
    }
    return chunks;
}

/* Encodes chunks, in the order of their shard: it need not be reordered. */
static enum zs_status encode_dirty(struct zs_array *array, struct chunk *chunks, size_t count, struct zs_error *err)
{
    struct batch batch = {.array = array, .capacity = batch_capacity(array, count)};
    enum zs_status first = ZS_OK;
    qsort(chunks, count, sizeof *chunks, by_number);
    for (size_t i = 0; i < count; i += batch.capacity) {
        batch.chunks = chunks + i;
        batch.count = count - i < batch.capacity ? count - i : batch.capacity;
        const enum zs_status status = run_batch(&batch, first == ZS_OK ? err : NULL);
        first = first == ZS_OK ? status : first;
    }
    return first;
}

/* Encodes the dirty chunks that were written whole; those that fail stay. Returns the first failure. */
static enum zs_status encode_whole(struct zs_array *array, struct zs_error *err)
{
    size_t n;
    array->pending->waiting = 0;
    struct chunk *chunks = list_whole(array->pending, &n, err);
    if (chunks == NULL)
        return ZS_NO_MEMORY;
    const enum zs_status status = encode_dirty(array, chunks, n, err);
    free(chunks);
    return status == ZS_OK ? zs_pending_limit(array, true, err) : status;
}

/* If encoding the chunks that were written whole frees one part in FREED_SHARE, the others stay dirty. */
#define FREED_SHARE 8

/* Makes room for one more dirty chunk of `size` bytes: encodes those that were written whole. Where that frees too
 * little, publishes shards until half of the budget is free. */
static enum zs_status make_room(struct zs_array *array, uint64_t size, struct zs_error *err)
{
    const struct zs_pending *pending = array->pending;
    const bool is_over = pending->is_over && pending->bytes > pending->budget / OWN_SHARE;
    if (pending->bytes == 0 || (pending->bytes + size <= pending->budget && !is_over))
        return ZS_OK;
    const uint64_t most = is_over ? pending->bytes : pending->budget;
    ZS_TRY(encode_whole(array, err));
    return pending->bytes + size <= most - most / FREED_SHARE
               ? ZS_OK
               : zs_pending_publish_down_to(array, most / 2 > size ? most / 2 - size : 1, err);
}

/* Decodes a chunk that was put into the writer of its shard into a new blob. */
static enum zs_status decode_put(struct zs_array *array, struct zs_shard_writer *writer, uint64_t number,
                                 uint64_t chunk, struct zs_blob **blob, struct zs_error *err)
{
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&array->grid, array->chain.count - 1, chunk, &room);
    if (level->is_text) /* its texts would not outlive the scratch; no request writes a chunk twice */
        return zs_fail(err, ZS_UNSUPPORTED, "a chunk of texts is written once before it is flushed");
    struct zs_scratch *scratch = zs_scratch_acquire();
    ZS_TRY_MEMORY(scratch, err);
    struct zs_buffer *encoded = zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED);
    bool is_empty;
    *blob = zs_blob_alloc(NULL, (size_t)level->decoded_size);
    enum zs_status status = *blob != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_shard_writer_get(writer, number, &is_empty, encoded, err);
    if (status == ZS_OK && is_empty)
        zs_chunk_fill(array, level, (*blob)->data);
    else if (status == ZS_OK)
        status = zs_chunk_decode_for_update(level, scratch, encoded->data, encoded->size, (*blob)->data, err);
    zs_scratch_release(scratch);
    if (status == ZS_OK)
        return ZS_OK;
    zs_blob_free(*blob);
    return zs_fail_in_chunk(array, chunk, status, err);
}

/* Finds a dirty chunk, or makes it dirty, to be written in part. One that was encoded is decoded. */
static enum zs_status get_dirty(struct zs_array *array, uint64_t chunk, struct zs_dirty **out, struct zs_error *err)
{
    struct zs_shard_writer *writer;
    struct zs_level room;
    uint64_t number;
    struct zs_blob *blob = NULL;
    *out = zs_dirty_find(array, chunk);
    if (*out != NULL) {
        zs_open_shard_find(array, chunk)->stamp = ++array->pending->stamp;
        return ZS_OK;
    }
    ZS_TRY(make_room(array, zs_grid_level(&array->grid, array->chain.count - 1, chunk, &room)->decoded_size, err));
    const bool is_put = zs_pending_has(array, chunk, &writer, &number);
    if (is_put)
        ZS_TRY(decode_put(array, writer, number, chunk, &blob, err));
    const enum zs_status status = zs_dirty_create(array, chunk, is_put, out, err);
    if (status == ZS_OK && blob != NULL)
        zs_dirty_set_blob(array, *out, blob);
    else
        zs_blob_free(blob);
    return status;
}

/* Writes a part of a chunk. */
static enum zs_status write_part(const struct batch *batch, uint64_t number, const struct zs_window *window,
                                 struct zs_error *err)
{
    struct zs_dirty *dirty;
    ZS_TRY(get_dirty(batch->array, number, &dirty, err));
    gather(batch, number, window, dirty->blob->data, dirty->written);
    if (dirty->written != NULL && dirty->written->left == 0)
        zs_dirty_set_written(batch->array, dirty, NULL);
    return ZS_OK;
}

/* Whether a chunk that a window covers may wait for others, so that as many are encoded side by side as there are
 * threads. */
static bool may_wait(const struct zs_array *array)
{
    const struct zs_pending *pending = array->pending;
    const uint64_t size = array->innermost->decoded_size, most = (uint64_t)array->threads * WAITING_PER_THREAD;
    return array->threads > 1 && !pending->is_over && size <= BATCH_BYTES / most &&
           pending->bytes + size <= pending->budget;
}

/* Keeps a chunk that the window covers as a dirty one; encodes all that were written whole when they are enough for all
 * threads. */
static enum zs_status keep_waiting(const struct batch *batch, uint64_t number, const struct zs_window *window,
                                   struct zs_error *err)
{
    struct zs_array *array = batch->array;
    struct zs_pending *pending = array->pending;
    struct zs_dirty *dirty = zs_dirty_find(array, number);
    if (dirty == NULL)
        ZS_TRY(zs_dirty_create(array, number, true, &dirty, err));
    zs_dirty_set_written(array, dirty, NULL);
    gather(batch, number, window, dirty->blob->data, NULL);
    const bool is_enough = ++pending->waiting >= (size_t)array->threads * WAITING_PER_THREAD;
    return is_enough ? encode_whole(array, err) : ZS_OK;
}

/* ---- Windows ---- */

/* Writes what a window has of a chunk. A chunk that it covers is encoded with others: those of the batch, or, where it
 * is the only one of its window, those of the next windows. */
static enum zs_status write_chunk(struct batch *batch, const struct zs_window *window, uint64_t number, bool is_only,
                                  struct zs_error *err)
{
    struct zs_array *array = batch->array;
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
    if (!chunk_overlap(array, number, window, start, count))
        return write_part(batch, number, window, err);
    if (is_only && may_wait(array))
        return keep_waiting(batch, number, window, err);
    batch->chunks[batch->count++] = (struct chunk){.number = number, .window = window};
    return batch->count == batch->capacity ? run_batch(batch, err) : ZS_OK;
}

static enum zs_status write_window(struct zs_array *array, const struct zs_window *window, size_t item_size,
                                   zs_convert_fn convert, void *ctx, struct zs_error *err)
{
    const int ndim = array->meta->ndim, innermost = array->chain.count - 1;
    uint64_t low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], at[ZS_MAX_NDIM], chunks = 1;
    ZS_TRY(zs_windows_check(array, window, 1, err));
    if (zs_is_empty_window(array, window))
        return ZS_OK;
    for (int d = 0; d < ndim; d++) {
        at[d] = low[d] = zs_grid_find(&array->grid, innermost, d, window->start[d]);
        high[d] = zs_grid_find(&array->grid, innermost, d, window->start[d] + window->count[d] - 1) + 1;
        chunks *= high[d] - low[d]; /* some of the array's chunks, whose number fits */
    }
    struct batch batch = {.array = array, .item_size = item_size, .convert = convert, .ctx = ctx};
    batch.capacity = batch_capacity(array, chunks);
    batch.chunks = zs_calloc(batch.capacity, sizeof *batch.chunks);
    ZS_TRY_MEMORY(batch.chunks, err);
    enum zs_status status = ZS_OK;
    for (bool more = true; more && status == ZS_OK;) {
        status = write_chunk(&batch, window, zs_grid_number(&array->grid, innermost, at), chunks == 1, err);
        more = zs_next_position(ndim, at, low, high);
    }
    if (status == ZS_OK)
        status = run_batch(&batch, err);
    free(batch.chunks);
    return status;
}

enum zs_status zs_array_write_windows(struct zs_array *array, const struct zs_window *windows, size_t n,
                                      size_t item_size, zs_convert_fn convert, void *ctx, struct zs_error *err)
{
    if (convert == NULL && item_size != array->meta->dtype.size)
        return zs_fail(err, ZS_ARGUMENT, "item_size: expected the array's %zu bytes, found %zu",
                       array->meta->dtype.size, item_size);
    struct zs_pending *pending;
    zs_array_lock(array, false);
    enum zs_status status = zs_pending_get(array, &pending, err);
    for (size_t i = 0; i < n && status == ZS_OK; i++)
        status = write_window(array, &windows[i], item_size, convert, ctx, err);
    if (status == ZS_OK && zs_files_are_scarce()) /* too many files are open: this array keeps none */
        status = zs_pending_publish_down_to(array, 0, err);
    (void)pthread_rwlock_unlock(&array->lock);
    return status;
}

/* Encodes and publishes all that is pending, as long as some of it can be: that frees space and memory for the rest. */
static enum zs_status flush(struct zs_array *array, struct zs_error *err)
{
    enum zs_status first = ZS_OK;
    size_t before;
    do {
        before = array->pending->shards.count;
        enum zs_status status = encode_whole(array, first == ZS_OK ? err : NULL);
        first = first == ZS_OK ? status : first;
        status = zs_pending_publish_down_to(array, 0, first == ZS_OK ? err : NULL);
        first = first == ZS_OK ? status : first;
    } while (array->pending->shards.count > 0 && array->pending->shards.count < before);
    return first;
}

enum zs_status zs_array_flush(struct zs_array *array, struct zs_error *err)
{
    zs_array_lock(array, false);
    const enum zs_status status = array->pending != NULL ? flush(array, err) : ZS_OK;
    (void)pthread_rwlock_unlock(&array->lock);
    return status;
}

bool zs_array_keeps_element(const struct zs_array *array, const void *element)
{
    return zs_level_keeps_element(array->innermost, element);
}
