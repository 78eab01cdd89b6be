/* Writing windows: which units they cover or touch, encoded side by side, handed to their shards in order. */
#include <stdlib.h>
#include <string.h>

#include "array/edits.h"
#include "base/parallel.h"
#include "base/strided.h"

/* Decoded bytes that are encoded between two rounds of appending: bounds the memory of one call. */
#define BATCH_BYTES ((uint64_t)64 << 20)
/* Shards being built at once, each an open file. One more publishes the one that was longest idle, which costs a copy of it
 * should more of its chunks come. */
#define MAX_OPEN_SHARDS 256

/* One unit to be encoded. */
struct unit {
    uint64_t number;
    const struct zs_window *window; /* covers it; NULL: it is dirty */
    struct zs_dirty *dirty;
    struct zs_buffer encoded;
    bool is_empty;
};

struct batch {
    struct zs_array *a;
    size_t item_size; /* of the window's elements in the caller's memory */
    zs_convert_fn convert;
    void *ctx;
    struct unit *units;
    size_t count;
};

static const struct zs_level *unit_level(const struct zs_array *a)
{
    return &a->chain.levels[a->edits->level];
}

/* Strides of a decoded unit: as stored for a leaf, plain C order for a whole shard. */
static void unit_strides(const struct zs_array *a, ptrdiff_t *stride)
{
    const struct zs_level *level = unit_level(a);
    if (!level->is_shard) {
        zs_leaf_strides(level, stride);
        return;
    }
    ptrdiff_t s = (ptrdiff_t)level->item_size;
    for (int d = level->ndim - 1; d >= 0; d--) {
        stride[d] = s;
        s *= (ptrdiff_t)level->shape[d];
    }
}

static void fill_unit(const struct zs_array *a, unsigned char *data)
{
    const struct zs_level *level = unit_level(a);
    const uint64_t n = level->decoded_size / level->item_size;
    const ptrdiff_t from = 0, to = (ptrdiff_t)level->item_size;
    zs_copy_strided(1, &n, a->meta->fill_value, &from, data, &to, level->item_size, NULL, NULL);
}

/* The part of a unit inside the window: first element and count per dimension; whether it is all that lies in the array. */
static bool unit_box(const struct zs_array *a, uint64_t number, const struct zs_window *w, uint64_t *start, uint64_t *count)
{
    const struct zs_level *level = unit_level(a);
    uint64_t position[ZS_MAX_NDIM];
    bool whole = true;
    zs_chunk_position(a, a->edits->level, number, position);
    for (int d = 0; d < a->meta->ndim; d++) {
        const uint64_t low = position[d] * level->shape[d];
        const uint64_t high = zs_min_u64(low + level->shape[d], a->meta->shape[d]);
        start[d] = zs_max_u64(low, w->start[d]);
        const uint64_t end = zs_min_u64(high, w->start[d] + w->count[d]);
        count[d] = end - start[d];
        whole = whole && start[d] == low && end == high;
    }
    return whole;
}

/* Copies the window's part of a unit into its decoded form. */
static void gather(const struct batch *b, uint64_t number, const struct zs_window *w, unsigned char *data)
{
    const struct zs_array *a = b->a;
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
    ptrdiff_t stride[ZS_MAX_NDIM];
    (void)unit_box(a, number, w, start, count);
    unit_strides(a, stride);
    const char *src = w->data;
    unsigned char *dst = data;
    for (int d = 0; d < a->meta->ndim; d++) {
        src += (ptrdiff_t)(start[d] - w->start[d]) * w->stride[d];
        dst += (ptrdiff_t)(start[d] % unit_level(a)->shape[d]) * stride[d];
    }
    zs_copy_strided(a->meta->ndim, count, src, w->stride, dst, stride, b->item_size, b->convert, b->ctx);
}

/* ---- Encoding ---- */

static enum zs_status encode_unit(void *ctx, size_t item, struct zs_error *err)
{
    struct batch *b = ctx;
    const struct zs_array *a = b->a;
    const struct zs_level *level = unit_level(a);
    struct unit *u = &b->units[item];
    const size_t size = (size_t)level->decoded_size;
    struct zs_scratch *scratch = zs_scratch_acquire();
    if (scratch == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a scratch");
    struct zs_buffer *decoded = zs_scratch_buffer(scratch, ZS_SCRATCH_DECODED);
    unsigned char *data = NULL;
    enum zs_status status = zs_buffer_reset(decoded, size, err);
    if (status == ZS_OK && u->window != NULL) {
        uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
        data = decoded->data;
        (void)unit_box(a, u->number, u->window, start, count);
        for (int d = 0; d < a->meta->ndim; d++)
            if (count[d] != level->shape[d]) { /* reaches beyond the array's edge */
                fill_unit(a, data);
                break;
            }
        gather(b, u->number, u->window, data);
    } else if (status == ZS_OK) {
        data = u->dirty->blob->data;
    }
    if (status == ZS_OK && level->is_shard) {
        ptrdiff_t stride[ZS_MAX_NDIM];
        unit_strides(a, stride);
        status = zs_encode_whole(a, a->edits->level, data, stride, &u->is_empty, &u->encoded, err);
    } else if (status == ZS_OK) {
        u->is_empty = zs_is_fill(a->meta, data, size);
        if (!u->is_empty) {
            const void *encoded;
            size_t n;
            if (u->dirty != NULL) { /* encoding may swap bytes in place; the blob stays as it is until the put succeeded */
                memcpy(decoded->data, data, size);
                data = decoded->data;
            }
            status = zs_leaf_encode(level, scratch, data, &encoded, &n, err);
            if (status == ZS_OK)
                status = zs_buffer_append(&u->encoded, encoded, n, err);
        }
    }
    zs_scratch_release(scratch);
    return status;
}

/* ---- Handing to shards ---- */

static enum zs_status open_shard(struct zs_array *a, uint64_t shard, struct zs_open_shard **out, struct zs_error *err)
{
    struct zs_edits *e = a->edits;
    struct zs_open_shard *s = zs_map_get(&e->shards, shard);
    if (s == NULL) {
        char *key = zs_shard_key(a, shard);
        struct zs_shard_index *base = NULL;
        struct zs_object *object = NULL;
        s = zs_calloc(1, sizeof *s);
        enum zs_status status = key != NULL && s != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot open a shard");
        /* A handle and an index of our own: both must be of the same version of the object. */
        if (status == ZS_OK && (!a->is_new || zs_map_get(&e->published, shard) != NULL))
            status = zs_shard_read_index(a, key, &object, &base, err);
        if (status == ZS_NOT_FOUND)
            status = ZS_OK;
        if (status == ZS_OK) {
            s->shard = shard;
            status = zs_shard_writer_create(a->store, key, &a->chain.levels[0], e->order, base, object, &s->writer, err);
        }
        free(key);
        if (status == ZS_OK && !zs_map_set(&e->shards, shard, s)) {
            zs_shard_writer_abort(s->writer);
            status = zs_fail(err, ZS_NO_MEMORY, "cannot open a shard");
        }
        if (status != ZS_OK) {
            free(s);
            return status;
        }
    }
    s->stamp = ++e->stamp;
    *out = s;
    return ZS_OK;
}

/* Publishes a shard, or drops it when `status` tells that one of its chunks could not be put. */
static enum zs_status end_shard(struct zs_array *a, struct zs_open_shard *s, enum zs_status status, struct zs_error *err)
{
    (void)zs_map_remove(&a->edits->shards, s->shard);
    if (status == ZS_OK)
        status = zs_shard_writer_finish(s->writer, err);
    else
        zs_shard_writer_abort(s->writer);
    zs_shard_forget(a, s->shard);
    if (status != ZS_OK)
        zs_cache_clear(a->chunks); /* some were decoded from what is lost now */
    else if (a->is_new && !zs_map_set(&a->edits->published, s->shard, a))
        a->is_new = false; /* look for every shard from now on */
    free(s);
    return status;
}

static enum zs_status finish_shard(struct zs_array *a, struct zs_open_shard *s, struct zs_error *err)
{
    return end_shard(a, s, ZS_OK, err);
}

static enum zs_status close_idle_shards(struct zs_array *a, struct zs_error *err)
{
    struct zs_edits *e = a->edits;
    while (e->shards.count > MAX_OPEN_SHARDS) {
        struct zs_open_shard *oldest = NULL;
        size_t at = 0;
        uint64_t key;
        for (struct zs_open_shard *s; (s = zs_map_next(&e->shards, &at, &key)) != NULL;)
            if (oldest == NULL || s->stamp < oldest->stamp)
                oldest = s;
        ZS_TRY(finish_shard(a, oldest, err));
    }
    return ZS_OK;
}

/* Chunks of a shard that lie in the array, at least in part. */
static uint64_t chunks_in_array(const struct zs_array *a, uint64_t shard)
{
    uint64_t position[ZS_MAX_NDIM], n = 1;
    zs_chunk_position(a, 0, shard, position);
    for (int d = 0; d < a->meta->ndim; d++) {
        const uint64_t outer = a->chain.levels[0].shape[d], low = position[d] * outer;
        n *= zs_ceil_div_u64(zs_min_u64(outer, a->meta->shape[d] - low), a->leaf->shape[d]);
    }
    return n;
}

/* Stores one encoded unit: into its shard's writer, or as an object of its own. */
static enum zs_status put_unit(struct zs_array *a, const struct unit *u, struct zs_error *err)
{
    const void *data = u->is_empty ? NULL : u->encoded.data;
    if (!a->edits->is_chunkwise) {
        char *key = zs_shard_key(a, u->number);
        if (key == NULL)
            return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key");
        const enum zs_status status =
            data != NULL ? zs_store_put(a->store, key, data, u->encoded.size, err) : zs_store_remove(a->store, key, err);
        free(key);
        zs_shard_forget(a, u->number);
        zs_cache_remove(a->chunks, (struct zs_cache_key){0, u->number});
        return status;
    }
    struct zs_open_shard *s;
    const uint64_t shard = zs_leaf_shard(a, u->number);
    ZS_TRY(open_shard(a, shard, &s, err));
    const enum zs_status status =
        zs_shard_writer_put(s->writer, zs_leaf_number_in_shard(a, u->number), data, u->encoded.size, err);
    if (status != ZS_OK)
        return end_shard(a, s, status, err);
    zs_cache_remove(a->chunks, (struct zs_cache_key){0, u->number});
    if (zs_shard_writer_put_count(s->writer) == chunks_in_array(a, shard))
        return finish_shard(a, s, err);
    return close_idle_shards(a, err);
}

static enum zs_status run_batch(struct batch *b, struct zs_error *err)
{
    enum zs_status status = zs_parallel_for(b->a->threads, b->count, encode_unit, b, err);
    for (size_t i = 0; i < b->count; i++) {
        struct unit *u = &b->units[i];
        if (status == ZS_OK)
            status = put_unit(b->a, u, err);
        zs_buffer_free(&u->encoded);
        if (status == ZS_OK && u->dirty != NULL) {
            struct zs_edits *e = b->a->edits;
            (void)zs_map_remove(&e->dirty, u->number);
            e->dirty_bytes -= u->dirty->blob->size;
            zs_blob_free(u->dirty->blob);
            free(u->dirty);
        }
    }
    b->count = 0;
    return status;
}

/* ---- Dirty units ---- */

static int by_stamp(const void *x, const void *y)
{
    const struct unit *p = x, *q = y;
    return (p->dirty->stamp > q->dirty->stamp) - (p->dirty->stamp < q->dirty->stamp);
}

static int by_number(const void *x, const void *y)
{
    const struct unit *p = x, *q = y;
    return (p->number > q->number) - (p->number < q->number);
}

/* Encodes the oldest dirty units until at most `keep` bytes are left. */
static enum zs_status clean(struct zs_array *a, uint64_t keep, struct zs_error *err)
{
    struct zs_edits *e = a->edits;
    if (e->dirty_bytes <= keep)
        return ZS_OK;
    struct batch b = {.a = a};
    struct unit *units = zs_calloc(e->dirty.count, sizeof *units);
    if (units == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot list %zu chunks", e->dirty.count);
    size_t n = 0, at = 0;
    for (uint64_t key; (units[n].dirty = zs_map_next(&e->dirty, &at, &key)) != NULL;) {
        units[n].number = key;
        if (++n == e->dirty.count)
            break;
    }
    qsort(units, n, sizeof *units, by_stamp);
    uint64_t left = e->dirty_bytes;
    size_t chosen = 0;
    while (chosen < n && left > keep)
        left -= units[chosen++].dirty->blob->size;
    qsort(units, chosen, sizeof *units, by_number); /* neighbours in their order: the shard need not be reordered */
    const uint64_t per_batch = zs_max_u64(1, BATCH_BYTES / unit_level(a)->decoded_size);
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < chosen && status == ZS_OK; i += b.count) {
        b.units = units + i;
        b.count = chosen - i < per_batch ? chosen - i : (size_t)per_batch;
        const size_t done = b.count;
        status = run_batch(&b, err);
        b.count = done;
    }
    free(units);
    return status;
}

/* Makes a unit dirty: its present content, decoded. */
static enum zs_status load(struct zs_array *a, uint64_t number, struct zs_dirty **out, struct zs_error *err)
{
    struct zs_edits *e = a->edits;
    struct zs_dirty *d = zs_map_get(&e->dirty, number);
    if (d == NULL) {
        const struct zs_level *level = unit_level(a);
        const size_t size = (size_t)level->decoded_size;
        d = zs_calloc(1, sizeof *d);
        struct zs_blob *blob = zs_blob_alloc(NULL, size);
        if (d == NULL || blob == NULL) {
            free(d);
            zs_blob_free(blob);
            return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk of %zu bytes", size);
        }
        *d = (struct zs_dirty){.unit = number, .blob = blob};
        fill_unit(a, blob->data); /* what lies beyond the edge */
        struct zs_window w = {.data = blob->data};
        uint64_t position[ZS_MAX_NDIM];
        zs_chunk_position(a, e->level, number, position);
        for (int k = 0; k < a->meta->ndim; k++) {
            w.start[k] = position[k] * level->shape[k];
            w.count[k] = zs_min_u64(level->shape[k], a->meta->shape[k] - w.start[k]);
        }
        unit_strides(a, w.stride);
        enum zs_status status = zs_read_windows_locked(a, &w, 1, NULL, NULL, err);
        if (status == ZS_OK && !zs_map_set(&e->dirty, number, d))
            status = zs_fail(err, ZS_NO_MEMORY, "cannot keep a chunk");
        if (status != ZS_OK) {
            zs_blob_free(blob);
            free(d);
            return status;
        }
        e->dirty_bytes += size;
        zs_cache_remove(a->chunks, (struct zs_cache_key){0, number});
    }
    d->stamp = ++e->stamp;
    *out = d;
    return ZS_OK;
}

/* A write over a whole unit that is dirty: its old content does not matter any more. */
static void forget_dirty(struct zs_array *a, uint64_t number)
{
    struct zs_dirty *d = zs_map_remove(&a->edits->dirty, number);
    if (d == NULL)
        return;
    a->edits->dirty_bytes -= d->blob->size;
    zs_blob_free(d->blob);
    free(d);
}

/* ---- Windows ---- */

static enum zs_status write_window(struct zs_array *a, const struct zs_window *w, size_t item_size, zs_convert_fn convert,
                                   void *ctx, struct zs_error *err)
{
    const struct zs_edits *e = a->edits;
    const struct zs_level *level = unit_level(a);
    const int n = a->meta->ndim;
    uint64_t low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], at[ZS_MAX_NDIM], touched = 1;
    for (int d = 0; d < n; d++) {
        const uint64_t size = a->meta->shape[d];
        if (w->start[d] > size || w->count[d] > size - w->start[d])
            return zs_fail(err, ZS_ARGUMENT, "window: expected elements within 0 to %llu of dimension %d, found %llu + %llu",
                           (unsigned long long)size, d, (unsigned long long)w->start[d], (unsigned long long)w->count[d]);
        if (w->count[d] == 0)
            return ZS_OK;
        at[d] = low[d] = w->start[d] / level->shape[d];
        high[d] = (w->start[d] + w->count[d] - 1) / level->shape[d] + 1;
        touched *= high[d] - low[d]; /* some of the array's chunks, whose number fits */
    }
    const size_t per_batch = (size_t)zs_min_u64(touched, zs_max_u64(1, BATCH_BYTES / level->decoded_size));
    struct batch b = {.a = a, .item_size = item_size, .convert = convert, .ctx = ctx};
    b.units = zs_calloc(per_batch, sizeof *b.units);
    if (b.units == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu chunks", per_batch);
    enum zs_status status = ZS_OK;
    for (bool more = true; more && status == ZS_OK;) {
        const uint64_t number = zs_chunk_number(a, e->level, at);
        uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
        if (unit_box(a, number, w, start, count)) {
            forget_dirty(a, number);
            b.units[b.count++] = (struct unit){.number = number, .window = w};
            if (b.count == per_batch)
                status = run_batch(&b, err);
        } else {
            struct zs_dirty *dirty = NULL;
            status = load(a, number, &dirty, err);
            if (status == ZS_OK) {
                gather(&b, number, w, dirty->blob->data);
                if (e->dirty_bytes > e->budget)
                    status = clean(a, e->budget / 2, err);
            }
        }
        more = false;
        for (int d = n - 1; d >= 0 && !more; d--) {
            more = ++at[d] < high[d];
            if (!more)
                at[d] = low[d];
        }
    }
    if (status == ZS_OK)
        status = run_batch(&b, err);
    free(b.units);
    return status;
}

enum zs_status zs_array_write_windows(struct zs_array *a, const struct zs_window *windows, size_t n, size_t item_size,
                                      zs_convert_fn convert, void *ctx, struct zs_error *err)
{
    if (convert == NULL && item_size != a->meta->dtype.size)
        return zs_fail(err, ZS_ARGUMENT, "item_size: expected the array's %zu bytes, found %zu", a->meta->dtype.size, item_size);
    struct zs_edits *e;
    zs_array_lock(a, false);
    enum zs_status status = zs_edits_get(a, &e, err);
    for (size_t i = 0; i < n && status == ZS_OK; i++)
        status = write_window(a, &windows[i], item_size, convert, ctx, err);
    (void)pthread_rwlock_unlock(&a->lock);
    return status;
}

enum zs_status zs_edits_flush(struct zs_array *a, struct zs_error *err)
{
    struct zs_edits *e = a->edits;
    ZS_TRY(clean(a, 0, err));
    for (;;) {
        size_t at = 0;
        uint64_t key;
        struct zs_open_shard *s = zs_map_next(&e->shards, &at, &key);
        if (s == NULL)
            return ZS_OK;
        ZS_TRY(finish_shard(a, s, err));
    }
}

enum zs_status zs_array_flush(struct zs_array *a, struct zs_error *err)
{
    zs_array_lock(a, false);
    const enum zs_status status = a->edits != NULL ? zs_edits_flush(a, err) : ZS_OK;
    (void)pthread_rwlock_unlock(&a->lock);
    return status;
}
