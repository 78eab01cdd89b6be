/* Publishing shards: over what the store has by then, which others may have changed. */
#include <stdlib.h>

#include "array/indexes.h"
#include "array/open_shards.h"
#include "base/files.h"
#include "base/limits.h"
#include "base/parallel.h"

/* Shards being built at once, each an open file. One more publishes the one that was longest idle, which costs a copy
 * of it should more of its chunks come; so it is where the process has too many files. */
#define MAX_OPEN_SHARDS 256

/* GDAL holds no more than so much of an object in memory while it is sent (vsi.c). */
#define SENT_BYTES ((uint64_t)128 << 20)

/* A request more for each flush would be a fourth of all that a short task makes of a remote store, which has no locks
 * that would make the answer a sure one: what was opened, or asked, a moment ago is believed. */
#define BELIEVED_SECONDS 10

enum zs_status zs_array_check_document(struct zs_array *a, struct zs_error *err)
{
    const time_t now = time(NULL);
    if (a->hierarchy == NULL || (a->store->is_remote && now >= a->asked && now - a->asked < BELIEVED_SECONDS))
        return ZS_OK;
    ZS_TRY(zs_hierarchy_check_array(a->hierarchy, a->node, &a->document, err));
    a->asked = now;
    return ZS_OK;
}

/* Whether publishing finds out by itself if others changed the shard: each look at it costs a round trip. */
static bool finds_out(const struct zs_array *a, const struct zs_open_shard *s)
{
    const uint64_t version = zs_open_shard_version(s);
    size_t at = 0;
    uint64_t chunk;
    if (!a->store->is_remote || version == 0 || !zs_shard_writer_will_read(s->writer))
        return false;
    for (const struct zs_written *t; (t = zs_map_next(&s->written, &at, &chunk)) != NULL;)
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
static enum zs_status catch_up_chunk(struct zs_array *a, struct zs_open_shard *s, uint64_t chunk,
                                     struct zs_written *written, struct zs_error *err)
{
    const uint64_t number = zs_grid_number_in_shard(&a->grid, chunk);
    struct zs_buffer present = {0}, pending = {0};
    bool is_empty, is_empty_here;
    enum zs_status status = zs_chunk_read_present(a, s, chunk, &is_empty, &present, err);
    const uint64_t content = status == ZS_OK ? zs_chunk_content(is_empty, &present) : 0;
    if (status == ZS_OK && content != written->content) {
        struct zs_merged m;
        status = zs_merged_begin(a, chunk, &m, err);
        if (status == ZS_OK)
            status = zs_shard_writer_get(s->writer, number, &is_empty_here, &pending, err);
        if (status == ZS_OK)
            status = zs_chunk_decode_present(a, m.level, m.scratch, is_empty_here, &pending, m.ours.data, err);
        if (status == ZS_OK)
            status = zs_chunk_merge(a, written, is_empty, &present, &m, err);
        if (status == ZS_OK)
            status = zs_shard_writer_put(s->writer, number, m.encoded, m.n, err);
        if (status == ZS_OK)
            written->content = content;
        zs_merged_end(&m);
    }
    if (status == ZS_OK)
        written->version = zs_open_shard_version(s);
    zs_buffer_free(&present);
    zs_buffer_free(&pending);
    return status == ZS_OK ? ZS_OK : zs_fail_in_chunk(a, chunk, status, err);
}

/* Whether nothing of what is there is needed. */
static bool is_ours(const struct zs_array *a, const struct zs_open_shard *s)
{
    return s->written.count == 0 && zs_open_shard_is_complete(a, s);
}

/* Makes the writer build on the object that is there now, and puts what was touched over it. */
static enum zs_status catch_up(struct zs_array *a, struct zs_open_shard *s, const char *key, struct zs_error *err)
{
    if (is_ours(a, s))
        return ZS_OK;
    bool unchanged = false;
    if (s->is_opened)
        ZS_TRY(is_unchanged(a, s, key, &unchanged, err));
    if (!unchanged) {
        ZS_TRY(zs_open_shard_reopen(a, s, key, err));
        zs_cache_clear(a->chunks); /* some were decoded from what was there before */
    }
    size_t at = 0;
    uint64_t chunk;
    for (struct zs_written *t; (t = zs_map_next(&s->written, &at, &chunk)) != NULL;)
        ZS_TRY(catch_up_chunk(a, s, chunk, t, err));
    return ZS_OK;
}

/* Publishes over what the shard is by now. */
static enum zs_status publish_over(struct zs_array *a, struct zs_open_shard *s, const char *key, bool *is_lost,
                                   struct zs_error *err)
{
    if (!finds_out(a, s))
        ZS_TRY(catch_up(a, s, key, err));
    enum zs_status status = zs_shard_writer_publish(s->writer, a->update, is_lost, err);
    for (int i = 0; i < ZS_STALE_RETRIES && status != ZS_OK && !*is_lost; i++) {
        const struct zs_object *object = zs_shard_writer_object(s->writer);
        if (object == NULL || !zs_object_is_stale(object))
            break;
        ZS_TRY(catch_up(a, s, key, err));
        status = zs_shard_writer_publish(s->writer, a->update, is_lost, err);
    }
    if (status != ZS_CORRUPT || *is_lost || !is_ours(a, s))
        return status;
    /* What is beyond the edges of the array cannot be kept. */
    zs_shard_writer_forget_present(s->writer);
    return zs_shard_writer_publish(s->writer, a->update, is_lost, err);
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
    const bool is_alone = zs_shard_is_unpublished(a, g->s->shard);
    enum zs_status status = is_alone ? ZS_OK : zs_store_lock(a->store, key, &lock, err);
    if (status == ZS_OK && !a->store->is_remote) /* else it was asked for all */
        status = zs_array_check_document(a, err);
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
static enum zs_status finish(struct going *g, struct zs_error *err)
{
    struct zs_array *a = g->a;
    const enum zs_status status = g->status;
    if (status == ZS_OK && zs_shard_writer_put_count(g->s->writer) > 0 && a->is_new &&
        !zs_map_set(&a->pending->published, g->s->shard, a))
        a->is_new = false; /* look for every shard from now on */
    if (g->is_lost)
        zs_cache_clear(a->chunks); /* some were decoded from what is lost now */
    if (status == ZS_OK || g->is_lost) {
        zs_open_shard_forget(a, g->s);
    } else {
        g->s->stamp = ++a->pending->stamp; /* others are tried first when there are too many */
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
static size_t uploads_at_once(const struct zs_array *a, struct zs_open_shard *const *list, size_t n)
{
    uint64_t largest = 1;
    for (size_t i = 0; i < n; i++)
        largest = zs_max_u64(largest, zs_shard_writer_most_bytes(list[i]->writer));
    const uint64_t places = zs_budget() / zs_min_u64(largest, SENT_BYTES);
    return goes_side_by_side(a) ? (size_t)zs_max_u64(1, zs_min_u64(places, ZS_MOST_UPLOADS)) : 1;
}

/* Publishes n shards, all that can be, to a remote store side by side. The first failure is returned. */
enum zs_status zs_open_shards_publish(struct zs_array *a, struct zs_open_shard *const *list, size_t n,
                                      struct zs_error *err)
{
    enum zs_status first = ZS_OK;
    const size_t places = uploads_at_once(a, list, n);
    if (a->store->is_remote)
        ZS_TRY(zs_array_check_document(a, err));
    for (size_t i = 0, count; i < n; i += count) {
        struct going going[ZS_MOST_UPLOADS];
        struct zs_error ignored;
        count = n - i < places ? n - i : places;
        for (size_t k = 0; k < count; k++)
            going[k] = (struct going){.a = a, .s = list[i + k]};
        const enum zs_status none = zs_parallel_for((int)count, count, send_item, going, &ignored);
        (void)none;
        for (size_t k = 0; k < count; k++) {
            const enum zs_status status = finish(&going[k], first == ZS_OK ? err : &ignored);
            first = first == ZS_OK ? status : first;
        }
    }
    return first;
}

/* The open shards, in an order; NULL without memory. */
static struct zs_open_shard **list_shards(const struct zs_pending_writes *e, int (*compare)(const void *, const void *),
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

enum zs_status zs_open_shards_close_idle(struct zs_array *a, struct zs_error *err)
{
    struct zs_pending_writes *e = a->pending;
    while (e->shards.count > MAX_OPEN_SHARDS ||
           (e->shards.count > 1 && (e->held_bytes > e->budget / 2 || zs_files_are_scarce()))) {
        struct zs_open_shard **list = list_shards(e, by_age, err);
        if (list == NULL)
            return ZS_NO_MEMORY;
        const size_t others = e->shards.count - 1,
                     places = uploads_at_once(a, list, others); /* the youngest is in use */
        const enum zs_status status = zs_open_shards_publish(a, list, others < places ? others : places, err);
        free(list);
        ZS_TRY(status);
    }
    return ZS_OK;
}

/* Publishes a shard that is complete: with others that are, where that spares waiting. */
enum zs_status zs_open_shard_publish_complete(struct zs_array *a, struct zs_open_shard *s, struct zs_error *err)
{
    if (!goes_side_by_side(a))
        return zs_open_shards_publish(a, &s, 1, err);
    struct zs_open_shard *list[ZS_MOST_UPLOADS];
    size_t n = 0, at = 0;
    uint64_t key;
    for (struct zs_open_shard *t; n < ZS_MOST_UPLOADS && (t = zs_map_next(&a->pending->shards, &at, &key)) != NULL;)
        if (zs_open_shard_is_complete(a, t) && !t->has_failed)
            list[n++] = t;
    return n < uploads_at_once(a, list, n) ? zs_open_shards_close_idle(a, err)
                                           : zs_open_shards_publish(a, list, n, err);
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
    struct zs_pending_writes *e = a->pending;
    enum zs_status first = ZS_OK;
    for (size_t i = 0, n = e->shards.count; i < n;) {
        struct zs_error ignored;
        const uint64_t shard = list[i]->shard;
        const enum zs_status status = zs_open_shards_publish(a, &list[i], 1, first == ZS_OK ? err : &ignored);
        first = first == ZS_OK ? status : first;
        const bool is_gone = zs_map_get(&e->shards, shard) == NULL;
        if (is_last && !is_gone && zs_shard_writer_is_broken(list[i]->writer))
            zs_open_shard_forget(a, list[i++]);
        else if (is_last && !is_gone)
            zs_open_shard_forget(a, list[--n]);
        else
            i++;
    }
    return first;
}

enum zs_status zs_pending_publish(struct zs_array *a, bool is_last, struct zs_error *err)
{
    struct zs_pending_writes *e = a->pending;
    struct zs_open_shard **list = list_shards(e, by_urgency, err);
    if (list == NULL)
        return ZS_NO_MEMORY;
    const bool is_together = goes_side_by_side(a);
    enum zs_status status =
        is_together ? zs_open_shards_publish(a, list, e->shards.count, err) : publish_each(a, list, is_last, err);
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
