/* What was written and is not in the store: chunks that are being changed, and shards that are being built; put over
 * what the store has by then, which others may have changed. */
#include "array/pending_writes.h"

#include <stdlib.h>
#include <string.h>

#include "array/indexes.h"
#include "base/descriptors.h"
#include "base/limits.h"
#include "base/parallel.h"
#include "base/strided.h"
#include "shard/writer.h"

/* At most so many shards are opened to learn the order of their chunks. They are spread over the array, since the first
 * may be empty. */
#define MAX_SAMPLES 16

/* At most so many shards are built at once, each an open file. Beyond that, and where the process has too many files,
 * the one that is idle longest is published; it is copied should more of its chunks come. */
#define MAX_OPEN_SHARDS 256

/* GDAL holds at most so many bytes of an object in memory while it uploads it (vsi.c). */
#define SENT_BYTES ((uint64_t)128 << 20)

/* A remote array whose document was read less than this ago is not checked again: one more request for each flush would
 * be a fourth of all that a short task makes, and without locks its answer would not be certain either. */
#define TRUSTED_SECONDS 10

/* ---- Its state ---- */

enum zs_status zs_pending_get(struct zs_array *array, struct zs_pending_writes **pending, struct zs_error *err)
{
    if (array->pending == NULL) {
        struct zs_pending_writes *e = zs_calloc(1, sizeof *e);
        if (e == NULL)
            return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a list of pending writes");
        e->has_shards = array->chain.count > 1;
        e->budget = zs_cache_budget(array->chunks);
        array->pending = e;
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

void zs_dirty_free(struct zs_dirty *d)
{
    zs_blob_free(d->blob);
    free(d->written);
    free(d);
}

static void shard_free(struct zs_open_shard *s)
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

void zs_pending_free(struct zs_array *array)
{
    struct zs_pending_writes *pending = array->pending;
    if (pending == NULL)
        return;
    size_t at = 0;
    uint64_t key;
    for (struct zs_dirty *d; (d = zs_map_next(&pending->dirty, &at, &key)) != NULL;)
        zs_dirty_free(d);
    at = 0;
    for (struct zs_open_shard *s; (s = zs_map_next(&pending->shards, &at, &key)) != NULL;)
        shard_free(s);
    zs_map_free(&pending->dirty);
    zs_map_free(&pending->shards);
    zs_map_free(&pending->published);
    zs_budget_give(pending->counted);
    free(pending);
    array->pending = NULL;
}

const struct zs_blob *zs_pending_decoded(const struct zs_array *array, uint64_t chunk)
{
    if (array->pending == NULL)
        return NULL;
    const struct zs_dirty *d = zs_map_get(&array->pending->dirty, chunk);
    return d != NULL ? d->blob : NULL;
}

struct zs_shard_writer *zs_pending_writer(const struct zs_array *array, uint64_t chunk, uint64_t *number)
{
    if (array->pending == NULL || !array->pending->has_shards)
        return NULL;
    const struct zs_open_shard *s = zs_map_get(&array->pending->shards, zs_grid_shard(&array->grid, chunk));
    if (s == NULL)
        return NULL;
    *number = zs_grid_number_in_shard(&array->grid, chunk);
    return zs_shard_writer_has(s->writer, *number) ? s->writer : NULL;
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

/* Opens the object of a shard as it is now, and reads its index unless the shard is encoded as a whole. Both are NULL
 * when there is none. */
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

bool zs_shard_is_unpublished(const struct zs_array *array, uint64_t shard)
{
    return array->is_new && zs_map_get(&array->pending->published, shard) == NULL;
}

/* Creates an open shard without chunks, not yet based on a stored object. */
static enum zs_status create_shard(struct zs_array *array, uint64_t shard, struct zs_open_shard **out,
                                   struct zs_error *err)
{
    char *key;
    ZS_TRY(zs_shard_key(array, shard, &key, err));
    struct zs_open_shard *s = zs_calloc(1, sizeof *s);
    const struct zs_level *levels = s != NULL ? zs_grid_levels(&array->grid, shard, &s->levels) : NULL;
    enum zs_status status = levels != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot open a shard");
    if (status == ZS_OK)
        status = zs_shard_writer_create(array->store, key, levels, array->pending->order, NULL, NULL, &s->writer, err);
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

void zs_pending_find_order(struct zs_array *array)
{
    uint64_t count = 1; /* it was looked at for overflow when the array was opened */
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
            return; /* reading the pixels reports what is wrong */
        }
        is_found = index != NULL;
        if (index != NULL)
            array->pending->order = zs_chunk_order_of(level, index, array->pending->order);
        free(index);
        zs_object_close(object);
        free(key);
    }
}

/* Bases the writer on the object that is stored now. */
static enum zs_status shard_reopen(struct zs_array *array, struct zs_open_shard *s, const char *key,
                                   struct zs_error *err)
{
    struct zs_object *object;
    struct zs_shard_index *index;
    struct zs_pending_writes *pending = array->pending;
    const struct zs_level *levels = s->levels != NULL ? s->levels : array->chain.levels;
    ZS_TRY(open_object(array, levels, key, &object, &index, err));
    const enum zs_chunk_order order = index != NULL ? zs_chunk_order_of(levels, index, pending->order) : pending->order;
    if (!pending->knows_order)
        pending->order = order; /* new ones as their neighbours are; but one that is changed keeps its own */
    const enum zs_status status = zs_shard_writer_rebase(s->writer, order, index, object, err);
    s->is_opened = status == ZS_OK;
    return status;
}

/* Bases the writer on the stored object unless it is already: before something of that is read. */
static enum zs_status shard_need(struct zs_array *array, struct zs_open_shard *s, struct zs_error *err)
{
    if (s->is_opened)
        return ZS_OK;
    char *key;
    ZS_TRY(zs_shard_key(array, s->shard, &key, err));
    const enum zs_status status = shard_reopen(array, s, key, err);
    free(key);
    return status;
}

/* The open shard of that number. It is based on the stored object, unless that is torn: a writer of all its chunks does
 * not need it. */
static enum zs_status shard_get(struct zs_array *array, uint64_t shard, struct zs_open_shard **out,
                                struct zs_error *err)
{
    struct zs_pending_writes *pending = array->pending;
    struct zs_open_shard *s = zs_map_get(&pending->shards, shard);
    if (s == NULL) {
        ZS_TRY(create_shard(array, shard, &s, err));
        s->is_opened = zs_shard_is_unpublished(array, shard);
        enum zs_status status = shard_need(array, s, err);
        if (status == ZS_CORRUPT)
            status = ZS_OK; /* who needs what is there will hear it */
        if (status == ZS_OK && !zs_map_set(&pending->shards, shard, s))
            status = zs_fail(err, ZS_NO_MEMORY, "cannot open a shard");
        if (status != ZS_OK) {
            shard_free(s);
            return status;
        }
    }
    s->stamp = ++pending->stamp;
    *out = s;
    return ZS_OK;
}

/* Updates the count of memory that a shard holds. */
static void shard_account(struct zs_pending_writes *pending, struct zs_open_shard *s, bool is_open)
{
    uint64_t memory = is_open ? zs_shard_writer_memory(s->writer) : 0, key;
    size_t at = 0;
    if (is_open && s->written.count > 0)
        memory += s->written.count * ((const struct zs_written *)zs_map_next(&s->written, &at, &key))->size;
    pending->shard_bytes = pending->shard_bytes - s->memory + memory;
    s->memory = memory;
    zs_pending_account(pending);
}

static void shard_forget(struct zs_array *array, struct zs_open_shard *s)
{
    (void)zs_map_remove(&array->pending->shards, s->shard);
    shard_account(array->pending, s, false);
    shard_free(s);
}

/* Whether all chunks of a shard were put. */
static bool is_complete(const struct zs_array *array, const struct zs_open_shard *s)
{
    return zs_shard_writer_put_count(s->writer) == zs_grid_leaves(&array->grid, s->shard);
}

/* The version of the object that the writer builds on, as in struct zs_written; `s` may be NULL. */
static uint64_t version_of(const struct zs_open_shard *s)
{
    const struct zs_object *object = s != NULL ? zs_shard_writer_object(s->writer) : NULL;
    return object != NULL && object->is_versioned ? object->version : 0;
}

/* ---- Merging: our elements of a chunk over what the store has of it by now ---- */

/* Decodes an innermost chunk to be changed; an empty one is fill values. */
static enum zs_status decode_present(const struct zs_array *array, const struct zs_level *level,
                                     struct zs_scratch *scratch, bool is_empty, const struct zs_buffer *encoded,
                                     void *data, struct zs_error *err)
{
    if (!is_empty)
        return zs_chunk_decode_for_update(level, scratch, encoded->data, encoded->size, data, err);
    zs_chunk_fill(array, level, data);
    return ZS_OK;
}

/* Reads a chunk that is an object of its own, past all caches. With `etag` a later commit can expect it. */
static enum zs_status read_object(struct zs_array *array, const char *key, bool *is_empty, struct zs_buffer *out,
                                  char **etag, struct zs_error *err)
{
    zs_store_forget(array->store, key);
    const enum zs_status status =
        zs_store_get_tagged(array->store, key, zs_level_bound(array->innermost), out, etag, err);
    *is_empty = status == ZS_NOT_FOUND;
    return *is_empty ? ZS_OK : status;
}

/* Reads the encoded bytes that the store has of an innermost chunk; `s` is its open shard, NULL where chunks are
 * objects. */
static enum zs_status read_present(struct zs_array *array, struct zs_open_shard *s, uint64_t chunk, bool *is_empty,
                                   struct zs_buffer *out, struct zs_error *err)
{
    if (s != NULL)
        ZS_TRY(shard_need(array, s, err));
    if (s != NULL)
        return zs_shard_writer_get_stored(s->writer, zs_grid_number_in_shard(&array->grid, chunk), is_empty, out, err);
    char *key;
    ZS_TRY(zs_shard_key(array, chunk, &key, err));
    const enum zs_status status = read_object(array, key, is_empty, out, NULL, err);
    free(key);
    return status;
}

/* Tells whether the stored bytes are still the same: zs_content_of(). */
static uint64_t content_of(bool is_empty, const struct zs_buffer *encoded)
{
    return zs_content_of(is_empty ? NULL : encoded->data, encoded->size);
}

/* A chunk that was written in part and that others changed meanwhile. */
struct merge {
    struct zs_level room;
    const struct zs_level *level;
    struct zs_scratch *scratch;
    struct zs_buffer ours, theirs; /* decoded */
    const void *encoded;           /* the result; NULL: it is empty */
    size_t n;
};

/* Puts our elements over theirs, which `present` encodes: the caller has filled in m->ours. */
static enum zs_status merge(struct zs_array *array, const struct zs_written *written, bool is_empty,
                            const struct zs_buffer *present, struct merge *m, struct zs_error *err)
{
    const size_t size = (size_t)m->level->decoded_size;
    ZS_TRY(zs_buffer_reset(&m->theirs, size, err));
    ZS_TRY(decode_present(array, m->level, m->scratch, is_empty, present, m->theirs.data, err));
    zs_written_apply(written, m->level, m->ours.data, m->theirs.data);
    m->encoded = NULL;
    m->n = 0;
    return zs_is_fill(array->meta, m->theirs.data, size)
               ? ZS_OK
               : zs_chunk_encode(m->level, m->scratch, m->theirs.data, &m->encoded, &m->n, err);
}

/* Allocates m->ours, for the caller to fill in. Released with merge_end(), also on failure. */
static enum zs_status merge_begin(struct zs_array *array, uint64_t chunk, struct merge *m, struct zs_error *err)
{
    *m = (struct merge){.scratch = zs_scratch_acquire()};
    m->level = zs_grid_level(&array->grid, array->chain.count - 1, chunk, &m->room);
    if (m->scratch == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a scratch");
    return zs_buffer_reset(&m->ours, (size_t)m->level->decoded_size, err);
}

static void merge_end(struct merge *m)
{
    zs_buffer_free(&m->ours);
    zs_buffer_free(&m->theirs);
    zs_scratch_release(m->scratch);
}

/* ---- Publishing ---- */

/* Fails when the store does not have this array any more. */
static enum zs_status check_document(struct zs_array *array, struct zs_error *err)
{
    const time_t now = time(NULL);
    if (array->hierarchy == NULL ||
        (array->store->is_remote && now >= array->asked && now - array->asked < TRUSTED_SECONDS))
        return ZS_OK;
    ZS_TRY(zs_hierarchy_check_array(array->hierarchy, array->node, &array->document, err));
    array->asked = now;
    return ZS_OK;
}

/* Whether publishing itself detects that others changed the shard, so that no request is needed to check it. */
static bool detects_conflict(const struct zs_array *array, const struct zs_open_shard *s, bool expects)
{
    const struct zs_object *object = zs_shard_writer_object(s->writer);
    const uint64_t version = version_of(s);
    size_t at = 0;
    uint64_t chunk;
    if (!array->store->is_remote || !s->is_opened)
        return false;
    if (expects ? object != NULL && zs_object_etag(object) == NULL
                : version == 0 || !zs_shard_writer_will_read(s->writer))
        return false;
    for (const struct zs_written *written; (written = zs_map_next(&s->written, &at, &chunk)) != NULL;)
        if (written->version != version)
            return false;
    return true;
}

/* Whether the object under the key is certainly the one that the writer builds on. */
static enum zs_status is_unchanged(struct zs_array *array, const struct zs_open_shard *s, const char *key,
                                   bool *unchanged, struct zs_error *err)
{
    const struct zs_object *before = zs_shard_writer_object(s->writer);
    struct zs_object *now = NULL;
    zs_store_forget(array->store, key);
    const enum zs_status status = zs_object_open(array->store, key, &now, err);
    if (status == ZS_NOT_FOUND) {
        *unchanged = before == NULL;
        return ZS_OK;
    }
    ZS_TRY(status);
    /* A shard that was being appended to may have been opened before the append ended: same version, other bytes. */
    *unchanged = before != NULL && !zs_shard_writer_is_recovered(s->writer) && before->is_versioned &&
                 now->is_versioned && before->version == now->version;
    zs_object_close(now);
    return ZS_OK;
}

/* Merges a chunk that was written in part with what the store has of it now. */
static enum zs_status catch_up_chunk(struct zs_array *array, struct zs_open_shard *s, uint64_t chunk,
                                     struct zs_written *written, struct zs_error *err)
{
    const uint64_t number = zs_grid_number_in_shard(&array->grid, chunk);
    struct zs_buffer present = {0}, pending = {0};
    bool is_empty, is_empty_here;
    enum zs_status status = read_present(array, s, chunk, &is_empty, &present, err);
    const uint64_t content = status == ZS_OK ? content_of(is_empty, &present) : 0;
    if (status == ZS_OK && content != written->content) {
        struct merge m;
        status = merge_begin(array, chunk, &m, err);
        if (status == ZS_OK)
            status = zs_shard_writer_get(s->writer, number, &is_empty_here, &pending, err);
        if (status == ZS_OK)
            status = decode_present(array, m.level, m.scratch, is_empty_here, &pending, m.ours.data, err);
        if (status == ZS_OK)
            status = merge(array, written, is_empty, &present, &m, err);
        if (status == ZS_OK)
            status = zs_shard_writer_put(s->writer, number, m.encoded, m.n, err);
        if (status == ZS_OK)
            written->content = content;
        merge_end(&m);
    }
    if (status == ZS_OK)
        written->version = version_of(s);
    zs_buffer_free(&present);
    zs_buffer_free(&pending);
    return status == ZS_OK ? ZS_OK : zs_fail_in_chunk(array, chunk, status, err);
}

/* Whether every element of the shard was written, so that nothing of the stored one is needed. */
static bool is_written_whole(const struct zs_array *array, const struct zs_open_shard *s)
{
    return s->written.count == 0 && is_complete(array, s);
}

/* Bases the writer on the object that is stored now, and merges the chunks that were written in part. */
static enum zs_status catch_up(struct zs_array *array, struct zs_open_shard *s, const char *key, struct zs_error *err)
{
    if (is_written_whole(array, s))
        return ZS_OK;
    bool unchanged = false;
    if (s->is_opened)
        ZS_TRY(is_unchanged(array, s, key, &unchanged, err));
    if (!unchanged) {
        ZS_TRY(shard_reopen(array, s, key, err));
        zs_cache_clear(array->chunks); /* some were decoded from what was there before */
    }
    size_t at = 0;
    uint64_t chunk;
    for (struct zs_written *written; (written = zs_map_next(&s->written, &at, &chunk)) != NULL;)
        ZS_TRY(catch_up_chunk(array, s, chunk, written, err));
    return ZS_OK;
}

/* One try to publish over what the shard is by now. */
static enum zs_status try_publish(struct zs_array *array, struct zs_open_shard *s, const char *key, bool expects,
                                  bool is_up_to_date, bool *is_lost, struct zs_error *err)
{
    if (!is_up_to_date)
        ZS_TRY(catch_up(array, s, key, err));
    return zs_shard_writer_publish(s->writer, array->update, expects, is_lost, err);
}

/* Whether a try failed because another writer replaced what it was based on. */
static bool is_overtaken(const struct zs_open_shard *s, enum zs_status status)
{
    const struct zs_object *object = zs_shard_writer_object(s->writer);
    return status == ZS_CONFLICT || (status != ZS_OK && object != NULL && zs_object_is_stale(object));
}

/* Publishes over what the shard is by now, again where another writer was quicker. */
static enum zs_status publish_over(struct zs_array *array, struct zs_open_shard *s, const char *key, bool *is_lost,
                                   struct zs_error *err)
{
    const bool expects = !is_written_whole(array, s) && zs_store_has_conditions(array->store);
    int tries = 0;
    enum zs_status status = try_publish(array, s, key, expects, detects_conflict(array, s, expects), is_lost, err);
    while (is_overtaken(s, status) && !*is_lost && (expects ? zs_conflict_again(&tries) : tries++ < ZS_STALE_RETRIES))
        status = try_publish(array, s, key, expects, false, is_lost, err);
    if (status == ZS_CONFLICT)
        return zs_fail_in(err, status, "tried %d times beside other writers of this shard, each time", tries);
    if (status != ZS_CORRUPT || *is_lost || !is_written_whole(array, s))
        return status;
    /* What is beyond the edges of the array cannot be kept. */
    zs_shard_writer_forget_stored(s->writer);
    return zs_shard_writer_publish(s->writer, array->update, false, is_lost, err);
}

/* A shard on its way to the store. */
struct going {
    struct zs_array *array;
    struct zs_open_shard *s;
    bool is_lost;
    enum zs_status status;
    struct zs_error err;
};

/* Sends one; in any thread, and of other shards in others. What that means for the array is for settle(). */
static enum zs_status send(struct going *g, struct zs_error *err)
{
    struct zs_array *array = g->array;
    if (zs_shard_writer_put_count(g->s->writer) == 0)
        return ZS_OK;
    char *key;
    ZS_TRY(zs_shard_key(array, g->s->shard, &key, err));
    struct zs_lock *lock = NULL;
    const bool is_alone = zs_shard_is_unpublished(array, g->s->shard);
    enum zs_status status = is_alone ? ZS_OK : zs_store_lock(array->store, key, &lock, err);
    if (status == ZS_OK && !array->store->is_remote) /* else it was asked for all */
        status = check_document(array, err);
    if (status == ZS_OK)
        status = is_alone ? zs_shard_writer_publish(g->s->writer, array->update, false, &g->is_lost, err)
                          : publish_over(array, g->s, key, &g->is_lost, err);
    zs_store_unlock(array->store, lock);
    free(key);
    zs_shard_forget(array, g->s->shard);
    return status;
}

static enum zs_status send_item(void *ctx, size_t item, struct zs_error *unused)
{
    struct going *g = (struct going *)ctx + item;
    (void)unused;
    g->status = send(g, &g->err);
    return ZS_OK; /* the others go on */
}

/* Forgets a shard that was sent. One that failed stays for another try, unless its bytes are lost. */
static enum zs_status finish(struct going *g, struct zs_error *err)
{
    struct zs_array *array = g->array;
    const enum zs_status status = g->status;
    if (status == ZS_OK && zs_shard_writer_put_count(g->s->writer) > 0 && array->is_new &&
        !zs_map_set(&array->pending->published, g->s->shard, array))
        array->is_new = false; /* look for every shard from now on */
    if (g->is_lost)
        zs_cache_clear(array->chunks); /* some were decoded from what is lost now */
    if (status == ZS_OK || g->is_lost) {
        shard_forget(array, g->s);
    } else {
        g->s->stamp = ++array->pending->stamp; /* others are tried first when there are too many */
        g->s->has_failed = true;
    }
    return status == ZS_OK ? ZS_OK : zs_fail(err, status, "%s", g->err.message);
}

/* Whether shards wait for others, to be sent side by side: each upload waits for the network. Uploads in the background
 * (zs_store_overlaps()) wait for nobody. */
static bool goes_side_by_side(const struct zs_array *array)
{
    return array->store->is_remote && !zs_store_overlaps(array->store);
}

/* How many of these shards may be sent at once: GDAL holds their bytes in memory meanwhile. */
static size_t uploads_at_once(const struct zs_array *array, struct zs_open_shard *const *list, size_t n)
{
    uint64_t largest = 1;
    for (size_t i = 0; i < n; i++)
        largest = zs_max_u64(largest, zs_shard_writer_most_bytes(list[i]->writer));
    const uint64_t slots = zs_budget() / zs_min_u64(largest, SENT_BYTES);
    return goes_side_by_side(array) ? (size_t)zs_max_u64(1, zs_min_u64(slots, ZS_MOST_UPLOADS)) : 1;
}

/* Publishes n shards, to a remote store side by side. Goes on after a failure, and returns the first. */
static enum zs_status publish_shards(struct zs_array *array, struct zs_open_shard *const *list, size_t n,
                                     struct zs_error *err)
{
    enum zs_status first = ZS_OK;
    const size_t slots = uploads_at_once(array, list, n);
    if (array->store->is_remote)
        ZS_TRY(check_document(array, err));
    for (size_t i = 0, count; i < n; i += count) {
        struct going going[ZS_MOST_UPLOADS];
        struct zs_error ignored;
        count = n - i < slots ? n - i : slots;
        for (size_t k = 0; k < count; k++)
            going[k] = (struct going){.array = array, .s = list[i + k]};
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
static struct zs_open_shard **list_shards(const struct zs_pending_writes *pending,
                                          int (*compare)(const void *, const void *), struct zs_error *err)
{
    struct zs_open_shard **list = zs_calloc(pending->shards.count, sizeof *list);
    if (list == NULL)
        zs_error_set(err, "cannot list %zu shards", pending->shards.count);
    size_t n = 0, at = 0;
    uint64_t key;
    for (struct zs_open_shard *s; list != NULL && (s = zs_map_next(&pending->shards, &at, &key)) != NULL;)
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

/* Publishes the shards that are idle longest, until the open ones are within their limits. */
static enum zs_status publish_idle(struct zs_array *array, struct zs_error *err)
{
    struct zs_pending_writes *pending = array->pending;
    while (pending->shards.count > MAX_OPEN_SHARDS ||
           (pending->shards.count > 1 && (pending->shard_bytes > pending->budget / 2 || zs_files_are_scarce()))) {
        struct zs_open_shard **list = list_shards(pending, by_age, err);
        if (list == NULL)
            return ZS_NO_MEMORY;
        const size_t others = pending->shards.count - 1,
                     slots = uploads_at_once(array, list, others); /* the youngest is in use */
        const enum zs_status status = publish_shards(array, list, others < slots ? others : slots, err);
        free(list);
        ZS_TRY(status);
    }
    return ZS_OK;
}

/* Publishes a complete shard; to a remote store together with others, once there are enough. */
static enum zs_status publish_complete(struct zs_array *array, struct zs_open_shard *s, struct zs_error *err)
{
    if (!goes_side_by_side(array))
        return publish_shards(array, &s, 1, err);
    struct zs_open_shard *list[ZS_MOST_UPLOADS];
    size_t n = 0, at = 0;
    uint64_t key;
    for (struct zs_open_shard *t; n < ZS_MOST_UPLOADS && (t = zs_map_next(&array->pending->shards, &at, &key)) != NULL;)
        if (is_complete(array, t) && !t->has_failed)
            list[n++] = t;
    return n < uploads_at_once(array, list, n) ? publish_idle(array, err) : publish_shards(array, list, n, err);
}

/* Broken writers come first: the disk may be full, and they free their space. */
static int by_urgency(const void *x, const void *y)
{
    const struct zs_open_shard *p = *(struct zs_open_shard *const *)x, *q = *(struct zs_open_shard *const *)y;
    const bool p_is_broken = zs_shard_writer_is_broken(p->writer), q_is_broken = zs_shard_writer_is_broken(q->writer);
    return p_is_broken != q_is_broken ? (p_is_broken ? -1 : 1) : by_age(x, y);
}

/* Publishes the shards one by one. With is_last, one that fails is dropped, or the newest instead, and it is tried
 * again in the space that this frees. */
static enum zs_status publish_each(struct zs_array *array, struct zs_open_shard **list, bool is_last,
                                   struct zs_error *err)
{
    struct zs_pending_writes *pending = array->pending;
    enum zs_status first = ZS_OK;
    for (size_t i = 0, n = pending->shards.count; i < n;) {
        struct zs_error ignored;
        const uint64_t shard = list[i]->shard;
        const enum zs_status status = publish_shards(array, &list[i], 1, first == ZS_OK ? err : &ignored);
        first = first == ZS_OK ? status : first;
        const bool is_gone = zs_map_get(&pending->shards, shard) == NULL;
        if (is_last && !is_gone && zs_shard_writer_is_broken(list[i]->writer))
            shard_forget(array, list[i++]);
        else if (is_last && !is_gone)
            shard_forget(array, list[--n]);
        else
            i++;
    }
    return first;
}

enum zs_status zs_pending_publish(struct zs_array *array, bool is_last, struct zs_error *err)
{
    struct zs_pending_writes *pending = array->pending;
    struct zs_open_shard **list = list_shards(pending, by_urgency, err);
    if (list == NULL)
        return ZS_NO_MEMORY;
    const bool is_together = goes_side_by_side(array);
    enum zs_status status =
        is_together ? publish_shards(array, list, pending->shards.count, err) : publish_each(array, list, is_last, err);
    free(list);
    if (!is_together || !is_last || pending->shards.count == 0)
        return status;
    list = list_shards(pending, by_urgency, err); /* what failed, which may have taken the room of each other */
    if (list == NULL)
        return ZS_NO_MEMORY;
    status = publish_each(array, list, true, err);
    free(list);
    return status;
}

/* ---- Chunks come in ---- */

/* The encoded bytes of an innermost chunk, as they were put or else as the store has them, decoded into `data` too.
 * Somebody may be overwriting them at this moment: broken ones are read again then. */
static enum zs_status load(struct zs_array *array, struct zs_open_shard *s, uint64_t chunk, bool is_pending,
                           struct zs_scratch *scratch, bool *is_empty, struct zs_buffer *encoded, void *data,
                           struct zs_error *err)
{
    struct zs_level room;
    const struct zs_level *innermost = zs_grid_level(&array->grid, array->chain.count - 1, chunk, &room);
    for (int attempt = 0;; attempt++) {
        enum zs_status status =
            is_pending
                ? zs_shard_writer_get(s->writer, zs_grid_number_in_shard(&array->grid, chunk), is_empty, encoded, err)
                : read_present(array, s, chunk, is_empty, encoded, err);
        if (status == ZS_OK)
            status = decode_present(array, innermost, scratch, *is_empty, encoded, data, err);
        const struct zs_object *object = s != NULL && !is_pending ? zs_shard_writer_object(s->writer) : NULL;
        const bool is_old = object != NULL && (zs_object_is_stale(object) ||
                                               (status == ZS_CORRUPT && zs_object_is_changed(object, true)));
        if (status == ZS_OK || attempt == ZS_STALE_RETRIES || !is_old)
            return status;
        char *key;
        ZS_TRY(zs_shard_key(array, s->shard, &key, err));
        status = shard_reopen(array, s, key, err);
        free(key);
        ZS_TRY(status);
    }
}

enum zs_status zs_pending_load(struct zs_array *array, uint64_t chunk, void *data, struct zs_written **written,
                               struct zs_error *err)
{
    struct zs_open_shard *s = NULL;
    if (array->pending->has_shards)
        ZS_TRY(shard_get(array, zs_grid_shard(&array->grid, chunk), &s, err));
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&array->grid, array->chain.count - 1, chunk, &room);
    struct zs_scratch *scratch = zs_scratch_acquire();
    if (scratch == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a scratch");
    struct zs_buffer *encoded = zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED);
    const uint64_t number = zs_grid_number_in_shard(&array->grid, chunk);
    const bool is_pending = s != NULL && zs_shard_writer_has(s->writer, number);
    const struct zs_written *before = is_pending ? zs_map_get(&s->written, chunk) : NULL;
    bool is_empty;
    enum zs_status status = load(array, s, chunk, is_pending, scratch, &is_empty, encoded, data, err);
    if (status == ZS_OK && (before != NULL || !is_pending)) {
        *written = is_pending ? zs_written_copy(before)
                              : zs_written_create(level, zs_grid_elements(&array->grid, array->chain.count - 1, chunk),
                                                  content_of(is_empty, encoded));
        if (*written == NULL)
            status = zs_fail(err, ZS_NO_MEMORY, "cannot keep a chunk");
        else if (!is_pending)
            (*written)->version = version_of(s);
    } else {
        *written = NULL;
    }
    zs_scratch_release(scratch);
    if (status != ZS_OK)
        return zs_fail_in_chunk(array, chunk, status, err);
    if (s == NULL)
        return ZS_OK;
    shard_account(array->pending, s, true);
    status = publish_idle(array, err);
    if (status != ZS_OK)
        free(*written);
    return status;
}

/* What is put of a chunk that is an object of its own: what came from the caller, or that over what others wrote. */
struct chunk_object {
    uint64_t chunk;
    const char *key;
    const void *data; /* encoded; NULL: it is empty */
    size_t n;
    const struct zs_written *written; /* NULL: all of it was written */
};

/* Encodes a chunk of fill values: a removal cannot expect anything. */
static enum zs_status encode_fill(struct zs_array *array, struct merge *m, struct zs_error *err)
{
    zs_chunk_fill(array, m->level, m->ours.data);
    return zs_chunk_encode(m->level, m->scratch, m->ours.data, &m->encoded, &m->n, err);
}

/* Puts a chunk of which a part was written over what the store has of it by now. */
static enum zs_status put_over(struct zs_array *array, const struct chunk_object *c, bool expects, struct zs_error *err)
{
    struct zs_buffer present = {0};
    struct merge m = {0};
    char *etag = NULL;
    bool is_empty = true;
    enum zs_status status = read_object(array, c->key, &is_empty, &present, &etag, err);
    const bool is_changed = status == ZS_OK && content_of(is_empty, &present) != c->written->content;
    if (is_changed || (status == ZS_OK && c->data == NULL)) /* else what was encoded is put as it is */
        status = merge_begin(array, c->chunk, &m, err);
    m.encoded = c->data;
    m.n = c->n;
    if (status == ZS_OK && is_changed) {
        const struct zs_buffer ours = {.data = (unsigned char *)c->data, .size = c->n};
        status = decode_present(array, m.level, m.scratch, c->data == NULL, &ours, m.ours.data, err);
        if (status == ZS_OK)
            status = merge(array, c->written, is_empty, &present, &m, err);
    }
    if (status == ZS_OK && m.encoded == NULL && expects && !is_empty)
        status = encode_fill(array, &m, err);
    if (status == ZS_OK && m.encoded != NULL)
        status = zs_store_put_over(array->store, c->key, !expects ? NULL : is_empty ? "" : etag, m.encoded, m.n, err);
    else if (status == ZS_OK)
        status = zs_store_remove(array->store, c->key, err);
    merge_end(&m);
    zs_buffer_free(&present);
    free(etag);
    return status;
}

/* The same, again where another writer was quicker. */
static enum zs_status put_over_others(struct zs_array *array, const struct chunk_object *c, struct zs_error *err)
{
    const bool expects = zs_store_has_conditions(array->store);
    enum zs_status status;
    int tries = 0;
    do
        status = put_over(array, c, expects, err);
    while (status == ZS_CONFLICT && zs_conflict_again(&tries));
    return status;
}

static enum zs_status put_object(struct zs_array *array, uint64_t chunk, const void *data, size_t n,
                                 const struct zs_written *written, struct zs_error *err)
{
    struct zs_lock *lock = NULL;
    char *key;
    ZS_TRY(zs_shard_key(array, chunk, &key, err));
    const struct chunk_object c = {chunk, key, data, n, written};
    enum zs_status status = array->is_new ? ZS_OK : zs_store_lock(array->store, key, &lock, err);
    if (status == ZS_OK)
        status = check_document(array, err);
    if (status == ZS_OK && written != NULL && !array->is_new)
        status = put_over_others(array, &c, err);
    else if (status == ZS_OK)
        status = data != NULL ? zs_store_put(array->store, key, data, n, err) : zs_store_remove(array->store, key, err);
    zs_store_unlock(array->store, lock);
    free(key);
    zs_shard_forget(array, chunk);
    return status;
}

/* Puts a chunk into its open shard, and keeps which elements of it were written. `before` is what was kept until now;
 * the caller frees it. */
static enum zs_status put_in_shard(struct zs_array *array, struct zs_open_shard *s, uint64_t chunk, const void *data,
                                   size_t n, struct zs_written *written, struct zs_written *before,
                                   struct zs_error *err)
{
    if (written != NULL && !zs_map_set(&s->written, chunk, written))
        return zs_fail(err, ZS_NO_MEMORY, "cannot keep a chunk");
    const enum zs_status status =
        zs_shard_writer_put(s->writer, zs_grid_number_in_shard(&array->grid, chunk), data, n, err);
    struct zs_written *const kept = status == ZS_OK ? written : before;
    if (kept == NULL)
        (void)zs_map_remove(&s->written, chunk);
    else
        (void)zs_map_set(&s->written, chunk, kept); /* it is there: nothing to allocate */
    return status;
}

enum zs_status zs_pending_put(struct zs_array *array, uint64_t chunk, const void *data, size_t n,
                              struct zs_written *written, enum zs_status *later, struct zs_error *err)
{
    *later = ZS_OK;
    if (!array->pending->has_shards) {
        ZS_TRY(put_object(array, chunk, data, n, written, err));
        zs_cache_remove(array->chunks, (struct zs_cache_key){0, chunk});
        free(written);
        return ZS_OK;
    }
    struct zs_open_shard *s;
    const uint64_t shard = zs_grid_shard(&array->grid, chunk);
    ZS_TRY(shard_get(array, shard, &s, err));
    if (zs_shard_writer_is_broken(s->writer)) { /* what it has goes first */
        ZS_TRY(publish_shards(array, &s, 1, err));
        ZS_TRY(shard_get(array, shard, &s, err));
    }
    struct zs_written *before = zs_map_get(&s->written, chunk);
    ZS_TRY(put_in_shard(array, s, chunk, data, n, written, before, err));
    free(before);
    zs_cache_remove(array->chunks, (struct zs_cache_key){0, chunk});
    shard_account(array->pending, s, true);
    *later = is_complete(array, s) ? publish_complete(array, s, err) : publish_idle(array, err);
    return ZS_OK;
}
