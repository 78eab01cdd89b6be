/* Handing encoded chunks to their shards, and publishing those: over what the store has by then, which others may have
 * changed. */
#include <stdlib.h>
#include <string.h>

#include "array/edits.h"
#include "base/parallel.h"
#include "shard/order.h"

/* Shards being built at once, each an open file. One more publishes the one that was longest idle, which costs a copy
 * of it should more of its chunks come. */
#define MAX_OPEN_SHARDS 256

/* Shards that go to a remote store side by side: beyond some ten, links gain nothing more. */
#define MOST_AT_ONCE 16
/* GDAL holds no more than so much of an object in memory while it is sent (vsi.c). */
#define SENT_BYTES ((uint64_t)128 << 20)

/* Shards that are opened to learn the order of their chunks, spread over the array: the first may be empty. */
#define MOST_LOOKS 16

/* How many times a shard that was replaced or changed while it was read or published is read or published anew. */
#define STALE_RETRIES 3

/* ---- Leaf chunks ---- */

static enum zs_status decode(const struct zs_array *a, const struct zs_level *leaf, struct zs_scratch *scratch,
                             bool is_empty, const struct zs_buffer *encoded, void *data, struct zs_error *err)
{
    if (!is_empty)
        return zs_leaf_decode_for_update(leaf, scratch, encoded->data, encoded->size, data, err);
    zs_fill_leaf(a, leaf, data);
    return ZS_OK;
}

/* The encoded bytes that the store has of a leaf chunk; `s` is its open shard, NULL where chunks are objects. */
static enum zs_status read_present(struct zs_array *a, struct zs_open_shard *s, uint64_t leaf, bool *is_empty,
                                   struct zs_buffer *out, struct zs_error *err)
{
    if (s != NULL)
        return zs_shard_writer_get_present(s->writer, zs_grid_number_in_shard(&a->grid, leaf), is_empty, out, err);
    char *key = zs_shard_key(a, leaf);
    if (key == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key");
    zs_store_forget(a->store, key);
    enum zs_status status = zs_store_get(a->store, key, zs_level_bound(a->leaf), out, err);
    free(key);
    *is_empty = status == ZS_NOT_FOUND;
    return *is_empty ? ZS_OK : status;
}

static uint64_t content_of(bool is_empty, const struct zs_buffer *encoded)
{
    return zs_content_of(is_empty ? NULL : encoded->data, encoded->size);
}

/* What a chunk is made of when others changed it. */
struct merged {
    struct zs_level room;
    const struct zs_level *leaf;
    struct zs_scratch *scratch;
    struct zs_buffer ours, theirs; /* decoded */
    const void *encoded;           /* NULL: it is empty */
    size_t n;
};

/* Puts our elements over theirs: `ours` is filled in, and so are the bytes that the store has now. */
static enum zs_status merge(struct zs_array *a, const struct zs_touched *touched, bool is_empty,
                            const struct zs_buffer *present, struct merged *m, struct zs_error *err)
{
    const size_t size = (size_t)m->leaf->decoded_size;
    ZS_TRY(zs_buffer_reset(&m->theirs, size, err));
    ZS_TRY(decode(a, m->leaf, m->scratch, is_empty, present, m->theirs.data, err));
    zs_touched_apply(touched, m->leaf, m->ours.data, m->theirs.data);
    m->encoded = NULL;
    m->n = 0;
    return zs_is_fill(a->meta, m->theirs.data, size)
               ? ZS_OK
               : zs_leaf_encode(m->leaf, m->scratch, m->theirs.data, &m->encoded, &m->n, err);
}

static enum zs_status merged_begin(struct zs_array *a, uint64_t leaf, struct merged *m, struct zs_error *err)
{
    *m = (struct merged){.scratch = zs_scratch_acquire()};
    m->leaf = zs_grid_level(&a->grid, a->chain.count - 1, leaf, &m->room);
    if (m->scratch == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a scratch");
    return zs_buffer_reset(&m->ours, (size_t)m->leaf->decoded_size, err);
}

static void merged_end(struct merged *m)
{
    zs_buffer_free(&m->ours);
    zs_buffer_free(&m->theirs);
    zs_scratch_release(m->scratch);
}

/* ---- Open shards ---- */

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
static bool is_unpublished(const struct zs_array *a, uint64_t shard)
{
    return a->is_new && zs_map_get(&a->edits->published, shard) == NULL;
}

static enum zs_status open_shard(struct zs_array *a, uint64_t shard, struct zs_open_shard **out, struct zs_error *err)
{
    struct zs_edits *e = a->edits;
    struct zs_open_shard *s = zs_map_get(&e->shards, shard);
    if (s == NULL) {
        char *key = zs_shard_key(a, shard);
        /* A handle and an index of our own: both must be of the same version of the object. */
        struct zs_object *object = NULL;
        struct zs_shard_index *index = NULL;
        s = zs_calloc(1, sizeof *s);
        const struct zs_level *levels = s != NULL ? zs_grid_levels(&a->grid, shard, &s->levels) : NULL;
        enum zs_status status =
            key != NULL && levels != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot open a shard");
        if (status == ZS_OK && !is_unpublished(a, shard))
            status = open_object(a, levels, key, &object, &index, err);
        const enum zs_chunk_order order = index != NULL ? zs_chunk_order_of(levels, index, e->order) : e->order;
        if (!e->knows_order)
            e->order = order; /* new ones as their neighbours are; but one that is changed keeps its own */
        if (status == ZS_OK)
            status = zs_shard_writer_create(a->store, key, levels, order, index, object, &s->writer, err);
        free(key);
        if (status == ZS_OK && !zs_map_set(&e->shards, shard, s)) {
            zs_shard_writer_free(s->writer);
            status = zs_fail(err, ZS_NO_MEMORY, "cannot open a shard");
        }
        if (status != ZS_OK) {
            if (s != NULL)
                free(s->levels);
            free(s);
            return status;
        }
        s->shard = shard;
    }
    s->stamp = ++e->stamp;
    *out = s;
    return ZS_OK;
}

void zs_edits_find_order(struct zs_array *a)
{
    uint64_t count = 1; /* it was looked at for overflow when the array was opened */
    for (int d = 0; d < a->meta->ndim; d++)
        count *= a->grid.count[0][d];
    const uint64_t looks = zs_min_u64(count, MOST_LOOKS);
    bool is_found = a->edits->knows_order || !a->edits->has_shards;
    a->edits->knows_order = true;
    for (uint64_t i = 0; i < looks && !is_found; i++) {
        struct zs_error ignored;
        struct zs_object *object;
        struct zs_shard_index *index;
        struct zs_level room;
        const struct zs_level *level = zs_grid_level(&a->grid, 0, i * (count / looks), &room);
        char *key = zs_shard_key(a, i * (count / looks));
        if (key == NULL || open_object(a, level, key, &object, &index, &ignored) != ZS_OK) {
            free(key);
            return; /* whoever reads the pixels will say what is wrong */
        }
        is_found = index != NULL;
        if (index != NULL)
            a->edits->order = zs_chunk_order_of(level, index, a->edits->order);
        free(index);
        zs_object_close(object);
        free(key);
    }
}

/* Makes the writer build on the object that is there now. */
static enum zs_status reopen(struct zs_array *a, struct zs_open_shard *s, const char *key, struct zs_error *err)
{
    struct zs_object *object;
    struct zs_shard_index *index;
    ZS_TRY(open_object(a, s->levels != NULL ? s->levels : a->chain.levels, key, &object, &index, err));
    return zs_shard_writer_rebase(s->writer, index, object, err);
}

/* Counts the memory that a shard holds. */
static void account(struct zs_edits *e, struct zs_open_shard *s, bool is_open)
{
    uint64_t held = is_open ? zs_shard_writer_memory(s->writer) : 0, key;
    size_t at = 0;
    if (is_open && s->touched.count > 0)
        held += s->touched.count * ((const struct zs_touched *)zs_map_next(&s->touched, &at, &key))->size;
    e->held_bytes = e->held_bytes - s->held + held;
    s->held = held;
    zs_edits_count(e);
}

static void forget_shard(struct zs_array *a, struct zs_open_shard *s)
{
    (void)zs_map_remove(&a->edits->shards, s->shard);
    account(a->edits, s, false);
    zs_open_shard_free(s);
}

static bool is_complete(const struct zs_array *a, const struct zs_open_shard *s)
{
    return zs_shard_writer_put_count(s->writer) == zs_grid_leaves(&a->grid, s->shard);
}

/* ---- Publishing ---- */

/* The version of the object that the writer builds on, as in zs_touched. */
static uint64_t version_of(const struct zs_open_shard *s)
{
    const struct zs_object *object = s != NULL ? zs_shard_writer_object(s->writer) : NULL;
    return object != NULL && object->is_versioned ? object->version : 0;
}

/* Whether publishing finds out by itself if others changed the shard: each look at it costs a round trip. */
static bool finds_out(const struct zs_array *a, const struct zs_open_shard *s)
{
    const uint64_t version = version_of(s);
    size_t at = 0;
    uint64_t leaf;
    if (!a->store->is_remote || version == 0 || !zs_shard_writer_will_read(s->writer))
        return false;
    for (const struct zs_touched *t; (t = zs_map_next(&s->touched, &at, &leaf)) != NULL;)
        if (t->version != version)
            return false;
    return true;
}

/* Whether the object under the key is surely the one that the writer builds on. */
static enum zs_status is_unchanged(struct zs_array *a, const struct zs_open_shard *s, const char *key, bool *unchanged,
                                   struct zs_error *err)
{
    const struct zs_object *before = zs_shard_writer_object(s->writer);
    struct zs_object *now = NULL;
    zs_store_forget(a->store, key);
    const enum zs_status status = zs_object_open(a->store, key, &now, err);
    if (status == ZS_NOT_FOUND) {
        *unchanged = before == NULL;
        return ZS_OK;
    }
    ZS_TRY(status);
    /* Of one that was being appended to the version may be that of a moment before the end. */
    *unchanged = before != NULL && !zs_shard_writer_is_recovered(s->writer) && before->is_versioned &&
                 now->is_versioned && before->version == now->version;
    zs_object_close(now);
    return ZS_OK;
}

/* A chunk of which a part was written: over what it is by now. */
static enum zs_status catch_up_chunk(struct zs_array *a, struct zs_open_shard *s, uint64_t leaf,
                                     struct zs_touched *touched, struct zs_error *err)
{
    const uint64_t number = zs_grid_number_in_shard(&a->grid, leaf);
    struct zs_buffer present = {0}, pending = {0};
    bool is_empty, is_empty_here;
    enum zs_status status = read_present(a, s, leaf, &is_empty, &present, err);
    const uint64_t content = status == ZS_OK ? content_of(is_empty, &present) : 0;
    if (status == ZS_OK && content != touched->content) {
        struct merged m;
        status = merged_begin(a, leaf, &m, err);
        if (status == ZS_OK)
            status = zs_shard_writer_get(s->writer, number, &is_empty_here, &pending, err);
        if (status == ZS_OK)
            status = decode(a, m.leaf, m.scratch, is_empty_here, &pending, m.ours.data, err);
        if (status == ZS_OK)
            status = merge(a, touched, is_empty, &present, &m, err);
        if (status == ZS_OK)
            status = zs_shard_writer_put(s->writer, number, m.encoded, m.n, err);
        if (status == ZS_OK)
            touched->content = content;
        merged_end(&m);
    }
    if (status == ZS_OK)
        touched->version = version_of(s);
    zs_buffer_free(&present);
    zs_buffer_free(&pending);
    return status == ZS_OK ? ZS_OK : zs_fail_in_chunk(a, leaf, status, err);
}

/* Makes the writer build on the object that is there now, and puts what was touched over it. */
static enum zs_status catch_up(struct zs_array *a, struct zs_open_shard *s, const char *key, struct zs_error *err)
{
    if (is_complete(a, s) && s->touched.count == 0)
        return ZS_OK;
    bool unchanged;
    ZS_TRY(is_unchanged(a, s, key, &unchanged, err));
    if (!unchanged) {
        ZS_TRY(reopen(a, s, key, err));
        zs_cache_clear(a->chunks); /* some were decoded from what was there before */
    }
    size_t at = 0;
    uint64_t leaf;
    for (struct zs_touched *t; (t = zs_map_next(&s->touched, &at, &leaf)) != NULL;)
        ZS_TRY(catch_up_chunk(a, s, leaf, t, err));
    return ZS_OK;
}

/* Publishes over what the shard is by now. */
static enum zs_status publish_over(struct zs_array *a, struct zs_open_shard *s, const char *key, bool *is_lost,
                                   struct zs_error *err)
{
    if (!finds_out(a, s))
        ZS_TRY(catch_up(a, s, key, err));
    enum zs_status status = zs_shard_writer_publish(s->writer, a->update, is_lost, err);
    for (int i = 0; i < STALE_RETRIES && status != ZS_OK && !*is_lost; i++) {
        const struct zs_object *object = zs_shard_writer_object(s->writer);
        if (object == NULL || !zs_object_is_stale(object))
            break;
        ZS_TRY(catch_up(a, s, key, err));
        status = zs_shard_writer_publish(s->writer, a->update, is_lost, err);
    }
    return status;
}

/* A shard on its way to the store. */
struct going {
    struct zs_array *a;
    struct zs_open_shard *s;
    bool is_lost;
    enum zs_status status;
    struct zs_error err;
};

/* Sends one; in any thread, and of other shards in others. What that means for the array is for settle(). */
static enum zs_status send(struct going *g, struct zs_error *err)
{
    struct zs_array *a = g->a;
    if (zs_shard_writer_put_count(g->s->writer) == 0)
        return ZS_OK;
    char *key = zs_shard_key(a, g->s->shard);
    if (key == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key");
    struct zs_lock *lock = NULL;
    const bool is_alone = is_unpublished(a, g->s->shard);
    enum zs_status status = is_alone ? ZS_OK : zs_store_lock(a->store, key, &lock, err);
    if (status == ZS_OK)
        status = is_alone ? zs_shard_writer_publish(g->s->writer, a->update, &g->is_lost, err)
                          : publish_over(a, g->s, key, &g->is_lost, err);
    zs_store_unlock(a->store, lock);
    free(key);
    zs_shard_forget(a, g->s->shard);
    return status;
}

static enum zs_status send_item(void *ctx, size_t item, struct zs_error *unused)
{
    struct going *g = (struct going *)ctx + item;
    (void)unused;
    g->status = send(g, &g->err);
    return ZS_OK; /* the others go on */
}

/* A shard that was sent is forgotten. If that failed it stays, unless that is impossible. */
static enum zs_status settle(struct going *g, struct zs_error *err)
{
    struct zs_array *a = g->a;
    const enum zs_status status = g->status;
    if (status == ZS_OK && zs_shard_writer_put_count(g->s->writer) > 0 && a->is_new &&
        !zs_map_set(&a->edits->published, g->s->shard, a))
        a->is_new = false; /* look for every shard from now on */
    if (g->is_lost)
        zs_cache_clear(a->chunks); /* some were decoded from what is lost now */
    if (status == ZS_OK || g->is_lost) {
        forget_shard(a, g->s);
    } else {
        g->s->stamp = ++a->edits->stamp; /* others are tried first when there are too many */
        g->s->has_failed = true;
    }
    return status == ZS_OK ? ZS_OK : zs_fail(err, status, "%s", g->err.message);
}

/* Whether shards wait for others to go with: each upload is a wait for a network. Not where they are sent beside our
 * work. */
static bool goes_side_by_side(const struct zs_array *a)
{
    return a->store->is_remote && a->store->uploads == NULL;
}

/* How many of these may be sent at once, whose bytes GDAL holds meanwhile. */
static size_t places_for(const struct zs_array *a, struct zs_open_shard *const *list, size_t n)
{
    uint64_t largest = 1;
    for (size_t i = 0; i < n; i++)
        largest = zs_max_u64(largest, zs_shard_writer_most_bytes(list[i]->writer));
    const uint64_t places = zs_budget() / zs_min_u64(largest, SENT_BYTES);
    return goes_side_by_side(a) ? (size_t)zs_max_u64(1, zs_min_u64(places, MOST_AT_ONCE)) : 1;
}

/* Publishes n shards, all that can be, to a remote store side by side. The first failure is returned. */
static enum zs_status publish(struct zs_array *a, struct zs_open_shard *const *list, size_t n, struct zs_error *err)
{
    enum zs_status first = ZS_OK;
    const size_t places = places_for(a, list, n);
    for (size_t i = 0, count; i < n; i += count) {
        struct going going[MOST_AT_ONCE];
        struct zs_error ignored;
        count = n - i < places ? n - i : places;
        for (size_t k = 0; k < count; k++)
            going[k] = (struct going){.a = a, .s = list[i + k]};
        const enum zs_status none = zs_parallel_for((int)count, count, send_item, going, &ignored);
        (void)none;
        for (size_t k = 0; k < count; k++) {
            const enum zs_status status = settle(&going[k], first == ZS_OK ? err : &ignored);
            first = first == ZS_OK ? status : first;
        }
    }
    return first;
}

/* The open shards, in an order; NULL without memory. */
static struct zs_open_shard **list_shards(const struct zs_edits *e, int (*compare)(const void *, const void *),
                                          struct zs_error *err)
{
    struct zs_open_shard **list = zs_calloc(e->shards.count, sizeof *list);
    if (list == NULL)
        zs_error_set(err, "cannot list %zu shards", e->shards.count);
    size_t n = 0, at = 0;
    uint64_t key;
    for (struct zs_open_shard *s; list != NULL && (s = zs_map_next(&e->shards, &at, &key)) != NULL;)
        list[n++] = s;
    if (list != NULL)
        qsort(list, n, sizeof *list, compare);
    return list;
}

static int by_age(const void *x, const void *y)
{
    const struct zs_open_shard *p = *(struct zs_open_shard *const *)x, *q = *(struct zs_open_shard *const *)y;
    return (p->stamp > q->stamp) - (p->stamp < q->stamp);
}

static enum zs_status close_idle_shards(struct zs_array *a, struct zs_error *err)
{
    struct zs_edits *e = a->edits;
    while (e->shards.count > MAX_OPEN_SHARDS || (e->shards.count > 1 && e->held_bytes > e->budget / 2)) {
        struct zs_open_shard **list = list_shards(e, by_age, err);
        if (list == NULL)
            return ZS_NO_MEMORY;
        const size_t others = e->shards.count - 1, places = places_for(a, list, others); /* the youngest is in use */
        const enum zs_status status = publish(a, list, others < places ? others : places, err);
        free(list);
        ZS_TRY(status);
    }
    return ZS_OK;
}

/* Publishes a shard that is complete: with others that are, where that spares waiting. */
static enum zs_status publish_complete(struct zs_array *a, struct zs_open_shard *s, struct zs_error *err)
{
    if (!goes_side_by_side(a))
        return publish(a, &s, 1, err);
    struct zs_open_shard *list[MOST_AT_ONCE];
    size_t n = 0, at = 0;
    uint64_t key;
    for (struct zs_open_shard *t; n < MOST_AT_ONCE && (t = zs_map_next(&a->edits->shards, &at, &key)) != NULL;)
        if (is_complete(a, t) && !t->has_failed)
            list[n++] = t;
    return n < places_for(a, list, n) ? close_idle_shards(a, err) : publish(a, list, n, err);
}

/* Those that cannot be written to any more come first: the disk may be full, and they free what they have. */
static int by_urgency(const void *x, const void *y)
{
    const struct zs_open_shard *p = *(struct zs_open_shard *const *)x, *q = *(struct zs_open_shard *const *)y;
    const bool p_is_broken = zs_shard_writer_is_broken(p->writer), q_is_broken = zs_shard_writer_is_broken(q->writer);
    return p_is_broken != q_is_broken ? (p_is_broken ? -1 : 1) : by_age(x, y);
}

/* One by one. With is_last, what fails is dropped, or the newest for it: then it is tried again in the room that this
 * took. */
static enum zs_status publish_each(struct zs_array *a, struct zs_open_shard **list, bool is_last, struct zs_error *err)
{
    struct zs_edits *e = a->edits;
    enum zs_status first = ZS_OK;
    for (size_t i = 0, n = e->shards.count; i < n;) {
        struct zs_error ignored;
        const uint64_t shard = list[i]->shard;
        const enum zs_status status = publish(a, &list[i], 1, first == ZS_OK ? err : &ignored);
        first = first == ZS_OK ? status : first;
        const bool is_gone = zs_map_get(&e->shards, shard) == NULL;
        if (is_last && !is_gone && zs_shard_writer_is_broken(list[i]->writer))
            forget_shard(a, list[i++]);
        else if (is_last && !is_gone)
            forget_shard(a, list[--n]);
        else
            i++;
    }
    return first;
}

enum zs_status zs_edits_publish(struct zs_array *a, bool is_last, struct zs_error *err)
{
    struct zs_edits *e = a->edits;
    struct zs_open_shard **list = list_shards(e, by_urgency, err);
    if (list == NULL)
        return ZS_NO_MEMORY;
    const bool is_together = goes_side_by_side(a);
    enum zs_status status = is_together ? publish(a, list, e->shards.count, err) : publish_each(a, list, is_last, err);
    free(list);
    if (!is_together || !is_last || e->shards.count == 0)
        return status;
    list = list_shards(e, by_urgency, err); /* what failed, which may have taken the room of each other */
    if (list == NULL)
        return ZS_NO_MEMORY;
    status = publish_each(a, list, true, err);
    free(list);
    return status;
}

/* ---- Loading and putting ---- */

/* The encoded bytes of a leaf chunk, as they were put or else as the store has them, decoded into `data` too. Somebody
 * may be overwriting them at this moment: broken ones are read again then. */
static enum zs_status load(struct zs_array *a, struct zs_open_shard *s, uint64_t leaf, bool is_pending,
                           struct zs_scratch *scratch, bool *is_empty, struct zs_buffer *encoded, void *data,
                           struct zs_error *err)
{
    struct zs_level room;
    const struct zs_level *leaf_level = zs_grid_level(&a->grid, a->chain.count - 1, leaf, &room);
    for (int attempt = 0;; attempt++) {
        enum zs_status status =
            is_pending ? zs_shard_writer_get(s->writer, zs_grid_number_in_shard(&a->grid, leaf), is_empty, encoded, err)
                       : read_present(a, s, leaf, is_empty, encoded, err);
        if (status == ZS_OK)
            status = decode(a, leaf_level, scratch, *is_empty, encoded, data, err);
        const struct zs_object *object = s != NULL && !is_pending ? zs_shard_writer_object(s->writer) : NULL;
        if (status != ZS_CORRUPT || attempt == STALE_RETRIES || object == NULL || !zs_object_is_changed(object, true))
            return status;
        char *key = zs_shard_key(a, s->shard);
        status = key != NULL ? reopen(a, s, key, err) : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key");
        free(key);
        ZS_TRY(status);
    }
}

enum zs_status zs_edits_load(struct zs_array *a, uint64_t leaf, void *data, struct zs_touched **touched,
                             struct zs_error *err)
{
    struct zs_open_shard *s = NULL;
    if (a->edits->has_shards)
        ZS_TRY(open_shard(a, zs_grid_shard(&a->grid, leaf), &s, err));
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&a->grid, a->chain.count - 1, leaf, &room);
    struct zs_scratch *scratch = zs_scratch_acquire();
    if (scratch == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a scratch");
    struct zs_buffer *encoded = zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED);
    const uint64_t number = zs_grid_number_in_shard(&a->grid, leaf);
    const bool is_pending = s != NULL && zs_shard_writer_has(s->writer, number);
    const struct zs_touched *before = is_pending ? zs_map_get(&s->touched, leaf) : NULL;
    bool is_empty;
    enum zs_status status = load(a, s, leaf, is_pending, scratch, &is_empty, encoded, data, err);
    if (status == ZS_OK && (before != NULL || !is_pending)) {
        *touched = is_pending ? zs_touched_copy(before)
                              : zs_touched_create(level, zs_grid_elements(&a->grid, a->chain.count - 1, leaf),
                                                  content_of(is_empty, encoded));
        if (*touched == NULL)
            status = zs_fail(err, ZS_NO_MEMORY, "cannot keep a chunk");
        else if (!is_pending)
            (*touched)->version = version_of(s);
    } else {
        *touched = NULL;
    }
    zs_scratch_release(scratch);
    if (status != ZS_OK)
        return zs_fail_in_chunk(a, leaf, status, err);
    if (s == NULL)
        return ZS_OK;
    account(a->edits, s, true);
    status = close_idle_shards(a, err);
    if (status != ZS_OK)
        free(*touched);
    return status;
}

/* A chunk that is an object of its own. */
static enum zs_status put_object(struct zs_array *a, uint64_t leaf, const void *data, size_t n,
                                 const struct zs_touched *touched, struct zs_error *err)
{
    struct merged m = {0};
    struct zs_buffer present = {0};
    struct zs_lock *lock = NULL;
    bool is_empty = true;
    char *key = zs_shard_key(a, leaf);
    if (key == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key");
    enum zs_status status = a->is_new ? ZS_OK : zs_store_lock(a->store, key, &lock, err);
    if (status == ZS_OK && touched != NULL && !a->is_new)
        status = read_present(a, NULL, leaf, &is_empty, &present, err);
    if (status == ZS_OK && touched != NULL && !a->is_new && content_of(is_empty, &present) != touched->content) {
        const struct zs_buffer ours = {.data = (unsigned char *)data, .size = n};
        status = merged_begin(a, leaf, &m, err);
        if (status == ZS_OK)
            status = decode(a, m.leaf, m.scratch, data == NULL, &ours, m.ours.data, err);
        if (status == ZS_OK)
            status = merge(a, touched, is_empty, &present, &m, err);
        data = m.encoded;
        n = m.n;
    }
    if (status == ZS_OK)
        status = data != NULL ? zs_store_put(a->store, key, data, n, err) : zs_store_remove(a->store, key, err);
    zs_store_unlock(a->store, lock);
    merged_end(&m);
    zs_buffer_free(&present);
    free(key);
    zs_shard_forget(a, leaf);
    return status;
}

/* Keeps what is touched of a chunk beside its bytes; `before` is what was kept, and is not freed. */
static enum zs_status put_in_shard(struct zs_array *a, struct zs_open_shard *s, uint64_t leaf, const void *data,
                                   size_t n, struct zs_touched *touched, struct zs_touched *before,
                                   struct zs_error *err)
{
    if (touched != NULL && !zs_map_set(&s->touched, leaf, touched))
        return zs_fail(err, ZS_NO_MEMORY, "cannot keep a chunk");
    const enum zs_status status = zs_shard_writer_put(s->writer, zs_grid_number_in_shard(&a->grid, leaf), data, n, err);
    struct zs_touched *const kept = status == ZS_OK ? touched : before;
    if (kept == NULL)
        (void)zs_map_remove(&s->touched, leaf);
    else
        (void)zs_map_set(&s->touched, leaf, kept); /* it is there: nothing to allocate */
    return status;
}

enum zs_status zs_edits_put(struct zs_array *a, uint64_t leaf, const void *data, size_t n, struct zs_touched *touched,
                            enum zs_status *later, struct zs_error *err)
{
    *later = ZS_OK;
    if (!a->edits->has_shards) {
        ZS_TRY(put_object(a, leaf, data, n, touched, err));
        zs_cache_remove(a->chunks, (struct zs_cache_key){0, leaf});
        free(touched);
        return ZS_OK;
    }
    struct zs_open_shard *s;
    const uint64_t shard = zs_grid_shard(&a->grid, leaf);
    ZS_TRY(open_shard(a, shard, &s, err));
    if (zs_shard_writer_is_broken(s->writer)) { /* what it has goes first */
        ZS_TRY(publish(a, &s, 1, err));
        ZS_TRY(open_shard(a, shard, &s, err));
    }
    struct zs_touched *before = zs_map_get(&s->touched, leaf);
    ZS_TRY(put_in_shard(a, s, leaf, data, n, touched, before, err));
    free(before);
    zs_cache_remove(a->chunks, (struct zs_cache_key){0, leaf});
    account(a->edits, s, true);
    *later = is_complete(a, s) ? publish_complete(a, s, err) : close_idle_shards(a, err);
    return ZS_OK;
}
