/* Reading windows as one plan: which chunks, where their bytes are, fetched and decoded side by side, each to its place. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "array/edits.h"
#include "base/parallel.h"
#include "base/strided.h"
#include "shard/range_plan.h"

/* How many times a read starts anew because a shard was replaced between its index and its data. */
#define STALE_RETRIES 3
/* Copies from the cache smaller than this are not worth waking a thread for. */
#define INLINE_BYTES ((uint64_t)1 << 20)

/* Locally a request costs microseconds: merging pays for small neighbours only, and groups stay small so that threads share
 * the work evenly. A remote request costs milliseconds, in which some hundred kilobytes would have come. */
static const struct zs_range_policy local_policy = {.max_gap = 4096, .max_size = (uint64_t)512 << 10};
static const struct zs_range_policy remote_policy = {.max_gap = (uint64_t)128 << 10, .max_size = (uint64_t)8 << 20};

/* A leaf chunk that some windows touch. */
struct planned {
    struct zs_location where; /* first: zs_locate() sees it */
    struct zs_cache_entry *cached;
    const struct zs_blob *dirty; /* written and not encoded yet */
    size_t first_piece, piece_count; /* of plan.pieces */
};

/* One window's share of a chunk. */
struct piece {
    uint64_t leaf;
    size_t window;
};

/* What one item of the parallel loop does. */
struct task {
    size_t shard_first, shard_count; /* locating: chunks[shard_first ...] of one shard */
    size_t first, count;             /* reading: ranges[first ...] of one group, or one chunk (count 0) */
    uint64_t offset, size;
};

struct plan {
    struct zs_array *a;
    const struct zs_window *windows;
    size_t window_count;
    zs_convert_fn convert;
    void *ctx;
    bool is_prefetch; /* decode into the cache, place nothing */

    struct piece *pieces;
    size_t piece_count;
    struct planned *chunks; /* in order of their shard, then number */
    size_t chunk_count;

    struct task *shards; /* of chunks that are not cached */
    size_t shard_count;
    struct zs_cache_entry ***pins; /* per shard: blobs that locations point into */
    size_t *pin_counts;

    struct zs_range *ranges;
    struct zs_range_group *groups;
    struct task *tasks;
    size_t task_count;
    pthread_mutex_t pending_lock; /* shard writers serve one at a time */
    /* More threads wait for bytes than decode: those that have theirs wait for one of a->threads places. */
    pthread_mutex_t decode_lock;
    pthread_cond_t decode_done;
    int decoding;
    atomic_bool stale;            /* a shard was replaced under us */
};

/* ---- Which chunks ---- */

static enum zs_status check_windows(const struct zs_array *a, const struct zs_window *windows, size_t n, struct zs_error *err)
{
    for (size_t i = 0; i < n; i++)
        for (int d = 0; d < a->meta->ndim; d++) {
            const uint64_t size = a->meta->shape[d], start = windows[i].start[d], count = windows[i].count[d];
            if (start > size || count > size - start)
                return zs_fail(err, ZS_ARGUMENT, "window: expected elements within 0 to %llu of dimension %d, found %llu + %llu",
                               (unsigned long long)size, d, (unsigned long long)start, (unsigned long long)count);
        }
    return ZS_OK;
}

static bool is_empty_window(const struct zs_array *a, const struct zs_window *w)
{
    for (int d = 0; d < a->meta->ndim; d++)
        if (w->count[d] == 0)
            return true;
    return false;
}

/* Advances `at` within [low, high) of n dimensions, last fastest; false when it came round. */
static bool next_position(int n, uint64_t *at, const uint64_t *low, const uint64_t *high)
{
    for (int d = n - 1; d >= 0; d--) {
        if (++at[d] < high[d])
            return true;
        at[d] = low[d];
    }
    return false;
}

static enum zs_status add_pieces(struct plan *p, size_t window, struct zs_error *err)
{
    const struct zs_array *a = p->a;
    const struct zs_window *w = &p->windows[window];
    const int n = a->meta->ndim, leaf_level = a->chain.count - 1;
    const uint64_t *outer = a->chain.levels[0].shape, *leaf = a->leaf->shape;
    uint64_t outer_low[ZS_MAX_NDIM], outer_high[ZS_MAX_NDIM], low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], total = 1;
    for (int d = 0; d < n; d++) {
        const uint64_t end = w->start[d] + w->count[d];
        outer_low[d] = w->start[d] / outer[d];
        outer_high[d] = (end - 1) / outer[d] + 1;
        if (!zs_mul_u64(total, (end - 1) / leaf[d] + 1 - w->start[d] / leaf[d], &total))
            return zs_fail(err, ZS_ARGUMENT, "window: touches more chunks than 64 bits can count");
    }
    if (total > SIZE_MAX / sizeof *p->pieces / 2 - p->piece_count)
        return zs_fail(err, ZS_NO_MEMORY, "window: touches %llu chunks", (unsigned long long)total);
    struct piece *pieces = realloc(p->pieces, (p->piece_count + (size_t)total) * sizeof *pieces);
    if (pieces == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %llu chunks", (unsigned long long)total);
    p->pieces = pieces;

    uint64_t shard[ZS_MAX_NDIM], at[ZS_MAX_NDIM];
    memcpy(shard, outer_low, sizeof shard[0] * (size_t)n);
    do {
        for (int d = 0; d < n; d++) {
            const uint64_t from = zs_max_u64(w->start[d], shard[d] * outer[d]);
            const uint64_t to = zs_min_u64(w->start[d] + w->count[d], (shard[d] + 1) * outer[d]);
            low[d] = from / leaf[d];
            high[d] = (to - 1) / leaf[d] + 1;
        }
        memcpy(at, low, sizeof at[0] * (size_t)n);
        do {
            p->pieces[p->piece_count++] = (struct piece){zs_chunk_number(a, leaf_level, at), window};
        } while (next_position(n, at, low, high));
    } while (next_position(n, shard, outer_low, outer_high));
    return ZS_OK;
}

static _Thread_local const struct zs_array *sorting; /* qsort() has no context argument in C11 */

static int by_shard_and_leaf(const void *x, const void *y)
{
    const struct piece *p = x, *q = y;
    if (p->leaf != q->leaf) {
        const uint64_t a = zs_leaf_shard(sorting, p->leaf), b = zs_leaf_shard(sorting, q->leaf);
        if (a != b)
            return a < b ? -1 : 1;
        return p->leaf < q->leaf ? -1 : 1;
    }
    return (p->window > q->window) - (p->window < q->window);
}

static enum zs_status plan_chunks(struct plan *p, struct zs_error *err)
{
    for (size_t i = 0; i < p->window_count; i++)
        if (!is_empty_window(p->a, &p->windows[i]))
            ZS_TRY(add_pieces(p, i, err));
    if (p->window_count > 1) { /* one window gave them in order */
        sorting = p->a;
        qsort(p->pieces, p->piece_count, sizeof *p->pieces, by_shard_and_leaf);
    }
    p->chunks = zs_calloc(p->piece_count, sizeof *p->chunks);
    if (p->chunks == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu chunks", p->piece_count);
    for (size_t i = 0; i < p->piece_count; i++) {
        if (i == 0 || p->pieces[i].leaf != p->pieces[i - 1].leaf) {
            struct planned *c = &p->chunks[p->chunk_count++];
            c->where.leaf = p->pieces[i].leaf;
            c->where.shard = zs_leaf_shard(p->a, c->where.leaf);
            c->first_piece = i;
            c->dirty = zs_edits_dirty_leaf(p->a, c->where.leaf);
            if (c->dirty == NULL)
                c->cached = zs_cache_get(p->a->chunks, (struct zs_cache_key){0, c->where.leaf});
        }
        p->chunks[p->chunk_count - 1].piece_count++;
    }
    return ZS_OK;
}

/* ---- Where their bytes are ---- */

static bool is_at_hand(const struct planned *c)
{
    return c->cached != NULL || c->dirty != NULL;
}

static enum zs_status locate_shard(void *ctx, size_t item, struct zs_error *err)
{
    struct plan *p = ctx;
    const struct task *t = &p->shards[item];
    struct zs_location **locations = zs_calloc(t->shard_count, sizeof(struct zs_location *));
    if (locations == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu chunks", t->shard_count);
    size_t n = 0;
    for (size_t i = 0; i < t->shard_count; i++) {
        struct planned *c = &p->chunks[t->shard_first + i];
        uint64_t number;
        if (is_at_hand(c))
            continue;
        if (zs_edits_pending_leaf(p->a, c->where.leaf, &number) != NULL)
            c->where.kind = ZS_LOCATION_PENDING;
        else
            locations[n++] = &c->where;
    }
    bool is_stale = false;
    const enum zs_status status =
        n > 0 ? zs_locate(p->a, locations, n, &p->pins[item], &p->pin_counts[item], &is_stale, err) : ZS_OK;
    if (is_stale)
        p->stale = true;
    free(locations);
    return status;
}

static enum zs_status plan_locations(struct plan *p, struct zs_error *err)
{
    p->shards = zs_calloc(p->chunk_count, sizeof *p->shards);
    if (p->shards == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu chunks", p->chunk_count);
    for (size_t i = 0, run; i < p->chunk_count; i += run) {
        bool missing = false;
        for (run = 0; i + run < p->chunk_count && p->chunks[i + run].where.shard == p->chunks[i].where.shard; run++)
            missing = missing || !is_at_hand(&p->chunks[i + run]);
        if (missing)
            p->shards[p->shard_count++] = (struct task){.shard_first = i, .shard_count = run};
    }
    p->pins = zs_calloc(p->shard_count, sizeof *p->pins);
    p->pin_counts = zs_calloc(p->shard_count, sizeof *p->pin_counts);
    if (p->pins == NULL || p->pin_counts == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu shards", p->shard_count);
    return zs_parallel_for(p->a->fetch_threads, p->shard_count, locate_shard, p, err);
}

/* ---- What to do ---- */

static enum zs_status plan_tasks(struct plan *p, struct zs_error *err)
{
    p->tasks = zs_calloc(p->chunk_count, sizeof *p->tasks);
    p->ranges = zs_calloc(p->chunk_count, sizeof *p->ranges);
    p->groups = zs_calloc(p->chunk_count, sizeof *p->groups);
    if (p->tasks == NULL || p->ranges == NULL || p->groups == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu chunks", p->chunk_count);
    const struct zs_range_policy policy = p->a->store->is_remote ? remote_policy : local_policy;
    size_t range_count = 0;
    for (size_t i = 0, run; i < p->chunk_count; i += run) {
        const size_t first_range = range_count;
        for (run = 0; i + run < p->chunk_count && p->chunks[i + run].where.shard == p->chunks[i].where.shard; run++) {
            const struct planned *c = &p->chunks[i + run];
            if (!is_at_hand(c) && c->where.kind == ZS_LOCATION_RANGE)
                p->ranges[range_count++] = (struct zs_range){c->where.offset, c->where.size, i + run};
            else
                p->tasks[p->task_count++] = (struct task){.first = i + run};
        }
        const size_t groups = zs_range_plan(p->ranges + first_range, range_count - first_range, policy, p->groups);
        for (size_t g = 0; g < groups; g++)
            p->tasks[p->task_count++] = (struct task){.first = first_range + p->groups[g].first,
                                                      .count = p->groups[g].count,
                                                      .offset = p->groups[g].offset,
                                                      .size = p->groups[g].size};
    }
    return ZS_OK;
}

/* ---- Placing pixels ---- */

/* The part of a chunk that a window wants: start and count in elements of the array. */
static void piece_box(const struct plan *p, const struct planned *c, const struct zs_window *w, uint64_t *start,
                      uint64_t *count)
{
    const struct zs_array *a = p->a;
    uint64_t position[ZS_MAX_NDIM];
    zs_chunk_position(a, a->chain.count - 1, c->where.leaf, position);
    for (int d = 0; d < a->meta->ndim; d++) {
        const uint64_t low = position[d] * a->leaf->shape[d];
        const uint64_t from = zs_max_u64(low, w->start[d]);
        const uint64_t to = zs_min_u64(low + a->leaf->shape[d], w->start[d] + w->count[d]);
        start[d] = from;
        count[d] = to - from;
    }
}

static char *place_in_window(int ndim, const struct zs_window *w, const uint64_t *start)
{
    char *dst = w->data;
    for (int d = 0; d < ndim; d++)
        dst += (ptrdiff_t)(start[d] - w->start[d]) * w->stride[d];
    return dst;
}

/* Copies a decoded chunk (NULL: the fill value) to all windows that want some of it. */
static void place(const struct plan *p, const struct planned *c, const unsigned char *decoded)
{
    const struct zs_array *a = p->a;
    const int n = a->meta->ndim;
    ptrdiff_t stride[ZS_MAX_NDIM] = {0};
    if (decoded != NULL)
        zs_leaf_strides(a->leaf, stride);
    for (size_t i = 0; i < c->piece_count; i++) {
        const struct zs_window *w = &p->windows[p->pieces[c->first_piece + i].window];
        uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
        if (p->is_prefetch)
            continue;
        piece_box(p, c, w, start, count);
        const unsigned char *src = a->meta->fill_value;
        if (decoded != NULL) {
            src = decoded;
            for (int d = 0; d < n; d++)
                src += (ptrdiff_t)(start[d] % a->leaf->shape[d]) * stride[d];
        }
        zs_copy_strided(n, count, src, stride, place_in_window(n, w, start), w->stride, a->meta->dtype.size, p->convert,
                        p->ctx);
    }
}

/* Whether the windows take all elements of the chunk that lie in the array. */
static bool is_wholly_used(const struct plan *p, const struct planned *c)
{
    const struct zs_array *a = p->a;
    uint64_t used = 0, inside = 1, position[ZS_MAX_NDIM];
    zs_chunk_position(a, a->chain.count - 1, c->where.leaf, position);
    for (int d = 0; d < a->meta->ndim; d++)
        inside *= zs_min_u64(a->leaf->shape[d], a->meta->shape[d] - position[d] * a->leaf->shape[d]);
    for (size_t i = 0; i < c->piece_count; i++) {
        uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM], size = 1;
        piece_box(p, c, &p->windows[p->pieces[c->first_piece + i].window], start, count);
        for (int d = 0; d < a->meta->ndim; d++)
            size *= count[d];
        used += size;
    }
    return used >= inside;
}

/* Where the chunk can be decoded in place: one window takes the whole chunk, unconverted, in the layout it is stored in.
 * Else NULL. */
static void *direct_destination(const struct plan *p, const struct planned *c)
{
    const struct zs_array *a = p->a;
    if (c->piece_count != 1 || p->convert != NULL || p->is_prefetch)
        return NULL;
    const struct zs_window *w = &p->windows[p->pieces[c->first_piece].window];
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
    ptrdiff_t stride[ZS_MAX_NDIM];
    piece_box(p, c, w, start, count);
    zs_leaf_strides(a->leaf, stride);
    for (int d = 0; d < a->meta->ndim; d++)
        if (count[d] != a->leaf->shape[d] || (count[d] > 1 && stride[d] != w->stride[d]))
            return NULL;
    return place_in_window(a->meta->ndim, w, start);
}

/* ---- Doing it ---- */

static enum zs_status describe_failure(const struct plan *p, const struct planned *c, enum zs_status status,
                                       struct zs_error *err)
{
    char where[512];
    return zs_fail_in(err, status, "%s", zs_chunk_describe(p->a, c->where.leaf, where, sizeof where));
}

/* Decodes the n encoded bytes of a chunk to where they are wanted. */
static enum zs_status deliver(struct plan *p, struct planned *c, struct zs_scratch *scratch, const void *encoded, size_t n,
                              struct zs_error *err)
{
    struct zs_array *a = p->a;
    const size_t size = (size_t)a->leaf->decoded_size;
    void *direct = direct_destination(p, c);
    if (direct != NULL)
        return zs_leaf_decode(a->leaf, scratch, encoded, n, direct, err);
    if (!p->is_prefetch && is_wholly_used(p, c)) {
        struct zs_buffer *out = zs_scratch_buffer(scratch, ZS_SCRATCH_DECODED);
        ZS_TRY(zs_buffer_reset(out, size, err));
        ZS_TRY(zs_leaf_decode(a->leaf, scratch, encoded, n, out->data, err));
        place(p, c, out->data);
        return ZS_OK;
    }
    /* The rest of the chunk is likely to be asked for next. */
    struct zs_blob *blob = malloc(sizeof *blob + size);
    if (blob == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk of %zu bytes", size);
    blob->size = size;
    const enum zs_status status = zs_leaf_decode(a->leaf, scratch, encoded, n, blob->data, err);
    if (status != ZS_OK) {
        free(blob);
        return status;
    }
    place(p, c, blob->data);
    struct zs_cache_entry *entry =
        zs_cache_put(a->chunks, (struct zs_cache_key){0, c->where.leaf}, blob, sizeof *blob + size);
    if (entry != NULL)
        zs_cache_release(a->chunks, entry);
    else
        free(blob); /* only the cache is the poorer */
    return ZS_OK;
}

static void decode_begin(struct plan *p)
{
    pthread_mutex_lock(&p->decode_lock);
    while (p->decoding >= p->a->threads)
        pthread_cond_wait(&p->decode_done, &p->decode_lock);
    p->decoding++;
    pthread_mutex_unlock(&p->decode_lock);
}

static void decode_end(struct plan *p)
{
    pthread_mutex_lock(&p->decode_lock);
    p->decoding--;
    pthread_cond_signal(&p->decode_done);
    pthread_mutex_unlock(&p->decode_lock);
}

/* A group of ranges of one shard: one read, then its chunks. */
static enum zs_status run_group(struct plan *p, const struct task *t, struct zs_scratch *scratch, struct zs_error *err)
{
    struct zs_array *a = p->a;
    struct planned *first = &p->chunks[p->ranges[t->first].tag];
    struct zs_cache_entry *entry;
    enum zs_status status = zs_shard_object(a, first->where.shard, &entry, err);
    if (status != ZS_OK) {
        if (status == ZS_NOT_FOUND) /* it was there when its index was read */
            p->stale = true;
        return describe_failure(p, first, status == ZS_NOT_FOUND ? ZS_IO : status, err);
    }
    struct zs_object *object = zs_cache_value(entry);
    struct zs_buffer *fetched = zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED);
    if (object->version != first->where.version) {
        p->stale = true;
        status = zs_fail(err, ZS_IO, "the shard was replaced while it was read");
    }
    if (status == ZS_OK)
        status = zs_buffer_reset(fetched, (size_t)t->size, err);
    if (status == ZS_OK)
        status = zs_object_read(object, t->offset, (size_t)t->size, fetched->data, err);
    if (status != ZS_OK && zs_object_is_stale(object))
        p->stale = true;
    zs_cache_release(a->objects, entry);
    if (status != ZS_OK)
        return describe_failure(p, first, status, err);
    decode_begin(p);
    for (size_t i = 0; i < t->count && status == ZS_OK; i++) {
        const struct zs_range *r = &p->ranges[t->first + i];
        struct planned *c = &p->chunks[r->tag];
        status = deliver(p, c, scratch, fetched->data + (r->offset - t->offset), (size_t)r->size, err);
        if (status != ZS_OK)
            status = describe_failure(p, c, status, err);
    }
    decode_end(p);
    return status;
}

/* A chunk that is an object of its own. */
static enum zs_status run_object(struct plan *p, struct planned *c, struct zs_scratch *scratch, struct zs_error *err)
{
    struct zs_array *a = p->a;
    char *key = zs_shard_key(a, c->where.shard);
    if (key == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key");
    struct zs_buffer *fetched = zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED);
    enum zs_status status = zs_store_get(a->store, key, zs_bytes_bound((size_t)a->leaf->decoded_size), fetched, err);
    free(key);
    if (status == ZS_NOT_FOUND) {
        place(p, c, NULL);
        return ZS_OK;
    }
    if (status == ZS_OK)
        status = deliver(p, c, scratch, fetched->data, fetched->size, err);
    return status == ZS_OK ? ZS_OK : describe_failure(p, c, status, err);
}

/* A chunk whose newest bytes wait in the writer of its shard. */
static enum zs_status run_pending(struct plan *p, struct planned *c, struct zs_scratch *scratch, struct zs_error *err)
{
    uint64_t number;
    struct zs_shard_writer *writer = zs_edits_pending_leaf(p->a, c->where.leaf, &number);
    struct zs_buffer *fetched = zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED);
    bool is_empty = true;
    pthread_mutex_lock(&p->pending_lock);
    enum zs_status status = zs_shard_writer_get(writer, number, &is_empty, fetched, err);
    pthread_mutex_unlock(&p->pending_lock);
    if (status == ZS_OK && is_empty)
        place(p, c, NULL);
    else if (status == ZS_OK)
        status = deliver(p, c, scratch, fetched->data, fetched->size, err);
    return status == ZS_OK ? ZS_OK : describe_failure(p, c, status, err);
}

static enum zs_status run_task(void *ctx, size_t item, struct zs_error *err)
{
    struct plan *p = ctx;
    const struct task *t = &p->tasks[item];
    if (t->count == 0) {
        struct planned *c = &p->chunks[t->first];
        if (is_at_hand(c)) {
            const struct zs_blob *blob = c->dirty != NULL ? c->dirty : zs_cache_value(c->cached);
            place(p, c, blob->data);
            return ZS_OK;
        }
        if (c->where.kind == ZS_LOCATION_EMPTY) {
            place(p, c, NULL);
            return ZS_OK;
        }
    }
    struct zs_scratch *scratch = zs_scratch_acquire();
    if (scratch == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a scratch");
    enum zs_status status;
    if (t->count > 0) {
        status = run_group(p, t, scratch, err);
    } else {
        struct planned *c = &p->chunks[t->first];
        if (c->where.kind == ZS_LOCATION_OBJECT) {
            status = run_object(p, c, scratch, err);
        } else if (c->where.kind == ZS_LOCATION_PENDING) {
            status = run_pending(p, c, scratch, err);
        } else {
            status = deliver(p, c, scratch, c->where.memory, (size_t)c->where.size, err);
            if (status != ZS_OK)
                status = describe_failure(p, c, status, err);
        }
    }
    zs_scratch_release(scratch);
    return status;
}

static uint64_t window_bytes(const struct plan *p)
{
    uint64_t total = 0;
    for (size_t i = 0; i < p->window_count; i++) {
        uint64_t n = p->a->meta->dtype.size;
        for (int d = 0; d < p->a->meta->ndim; d++)
            n *= p->windows[i].count[d];
        total += n;
    }
    return total;
}

static enum zs_status run_planned(struct plan *p, struct zs_error *err)
{
    ZS_TRY(plan_locations(p, err));
    ZS_TRY(plan_tasks(p, err));
    const bool only_copies = p->shard_count == 0 && window_bytes(p) < INLINE_BYTES;
    return zs_parallel_for(only_copies ? 1 : p->a->fetch_threads, p->task_count, run_task, p, err);
}

static enum zs_status run_plan(struct plan *p, struct zs_error *err)
{
    ZS_TRY(plan_chunks(p, err));
    return run_planned(p, err);
}

static void plan_clear(struct plan *p)
{
    for (size_t i = 0; i < p->chunk_count; i++)
        if (p->chunks[i].cached != NULL)
            zs_cache_release(p->a->chunks, p->chunks[i].cached);
    for (size_t i = 0; i < p->shard_count && p->pins != NULL && p->pin_counts != NULL; i++) {
        for (size_t k = 0; k < p->pin_counts[i]; k++)
            zs_cache_release(p->a->chunks, p->pins[i][k]);
        free(p->pins[i]);
    }
    free(p->pins);
    free(p->pin_counts);
    free(p->pieces);
    free(p->chunks);
    free(p->shards);
    free(p->ranges);
    free(p->groups);
    free(p->tasks);
    pthread_mutex_destroy(&p->pending_lock);
    pthread_mutex_destroy(&p->decode_lock);
    pthread_cond_destroy(&p->decode_done);
}

static void plan_init(struct plan *p)
{
    pthread_mutex_init(&p->pending_lock, NULL);
    pthread_mutex_init(&p->decode_lock, NULL);
    pthread_cond_init(&p->decode_done, NULL);
}

enum zs_status zs_read_windows_locked(struct zs_array *a, const struct zs_window *windows, size_t n, zs_convert_fn convert,
                                      void *ctx, struct zs_error *err)
{
    ZS_TRY(check_windows(a, windows, n, err));
    enum zs_status status;
    for (int attempt = 0;; attempt++) {
        struct plan p = {.a = a, .windows = windows, .window_count = n, .convert = convert, .ctx = ctx};
        plan_init(&p);
        status = run_plan(&p, err);
        const bool again = status != ZS_OK && p.stale && attempt < STALE_RETRIES;
        plan_clear(&p);
        if (!again)
            return status;
        zs_cache_clear(a->indexes);
        zs_cache_clear(a->objects);
    }
}

enum zs_status zs_array_prefetch(struct zs_array *a, const struct zs_window *windows, size_t n, struct zs_error *err)
{
    ZS_TRY(check_windows(a, windows, n, err));
    if (a->edits != NULL)
        return ZS_OK; /* what was written is looked up one by one anyway */
    struct plan p = {.a = a, .windows = windows, .window_count = n, .is_prefetch = true};
    plan_init(&p);
    enum zs_status status = plan_chunks(&p, err);
    /* More than half of what the cache holds would push itself out before it is used. */
    if (status == ZS_OK && p.chunk_count > 1 && p.chunk_count <= zs_cache_budget(a->chunks) / 2 / a->leaf->decoded_size)
        status = run_planned(&p, err);
    plan_clear(&p);
    return status;
}

enum zs_status zs_array_read_windows(struct zs_array *a, const struct zs_window *windows, size_t n, zs_convert_fn convert,
                                     void *ctx, struct zs_error *err)
{
    zs_array_lock(a, true);
    const bool has_edits = a->edits != NULL;
    if (!has_edits) {
        const enum zs_status status = zs_read_windows_locked(a, windows, n, convert, ctx, err);
        (void)pthread_rwlock_unlock(&a->lock);
        return status;
    }
    (void)pthread_rwlock_unlock(&a->lock);
    zs_array_lock(a, false); /* edits stay until the array is closed */
    /* Whole shards that are dirty have no chunks to look into. */
    enum zs_status status = a->edits->level == a->chain.count - 1 ? ZS_OK : zs_edits_flush(a, err);
    if (status == ZS_OK)
        status = zs_read_windows_locked(a, windows, n, convert, ctx, err);
    (void)pthread_rwlock_unlock(&a->lock);
    return status;
}

enum zs_status zs_array_read(struct zs_array *a, const uint64_t *start, const uint64_t *count, void *out,
                             struct zs_error *err)
{
    struct zs_window w = {.data = out};
    ptrdiff_t stride = (ptrdiff_t)a->meta->dtype.size;
    for (int d = a->meta->ndim - 1; d >= 0; d--) {
        w.start[d] = start[d];
        w.count[d] = count[d];
        w.stride[d] = stride;
        stride *= (ptrdiff_t)count[d];
    }
    return zs_array_read_windows(a, &w, 1, NULL, NULL, err);
}
