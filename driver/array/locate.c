/* From the numbers of leaf chunks to the bytes that hold them: through the shard's index, the indexes of shards inside
 * it, and the codecs that some stores put around a whole shard. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "array/unsaved.h"
#include "shard/journal.h"

/* Largest remote shard, decoded, that is fetched whole when all of it is wanted: larger ones come faster in pieces side
 * by side. */
#define WHOLE_SHARD_BYTES ((uint64_t)4 << 20)

/* How many times a shard without a valid index is looked at, which may be being appended to. */
#define LOOKS 8

/* Where the bytes of one shard (of any level) are. */
struct source {
    struct zs_object *object;    /* an open object ... */
    const unsigned char *memory; /* ... or decoded bytes */
    uint64_t offset;             /* of the shard's first byte within the object */
    uint64_t size;
    uint64_t version;
};

struct locator {
    struct zs_array *a;
    struct zs_cache_entry ***pins;
    size_t *pin_count;
    bool *is_stale;
};

/* ---- Objects ---- */

static enum zs_status keep_object(struct zs_array *a, uint64_t shard, struct zs_object *object,
                                  struct zs_cache_entry **entry, struct zs_error *err)
{
    *entry = zs_cache_put(a->objects, (struct zs_cache_key){0, shard}, object, 1);
    if (*entry != NULL)
        return ZS_OK;
    zs_object_close(object);
    return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a cache entry");
}

enum zs_status zs_shard_object(struct zs_array *a, uint64_t shard, struct zs_cache_entry **entry, struct zs_error *err)
{
    *entry = zs_cache_get(a->objects, (struct zs_cache_key){0, shard});
    if (*entry != NULL)
        return ZS_OK;
    char *key = zs_shard_key(a, shard);
    if (key == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key");
    struct zs_object *object;
    enum zs_status status = zs_object_open(a->store, key, &object, err);
    free(key);
    return status != ZS_OK ? status : keep_object(a, shard, object, entry, err);
}

/* Whether a read found that the opened object of a level-0 chunk was replaced. */
static bool object_is_stale(struct zs_array *a, uint64_t shard)
{
    struct zs_cache_entry *entry = zs_cache_get(a->objects, (struct zs_cache_key){0, shard});
    if (entry == NULL)
        return false;
    const bool is_stale = zs_object_is_stale(zs_cache_value(entry));
    zs_cache_release(a->objects, entry);
    return is_stale;
}

bool zs_shard_is_changing(struct zs_array *a, uint64_t shard)
{
    struct zs_cache_entry *entry = zs_cache_get(a->objects, (struct zs_cache_key){0, shard});
    if (entry == NULL)
        return false;
    const bool is_changing = zs_object_is_changed(zs_cache_value(entry), true);
    zs_cache_release(a->objects, entry);
    return is_changing;
}

void zs_shard_forget(struct zs_array *a, uint64_t shard)
{
    zs_cache_remove(a->objects, (struct zs_cache_key){0, shard});
    zs_cache_remove(a->indexes, (struct zs_cache_key){0, shard});
    zs_cache_remove(a->chunks, (struct zs_cache_key){1, shard}); /* the whole shard, if it was fetched so */
    if (a->chain.count > 2 || (a->chain.count == 2 && a->chain.levels[0].bytes_codec_count > 0)) {
        /* What was read through this shard is not found by its number; such arrays are rarely written. */
        zs_cache_clear(a->indexes);
        zs_cache_clear(a->chunks);
    }
}

/* ---- Indexes ---- */

/* Reads the index of a shard whose bytes are at hand. */
static enum zs_status index_read(const struct zs_level *level, const struct source *src, struct zs_shard_index **index,
                                 struct zs_error *err)
{
    uint64_t at;
    ZS_TRY(zs_shard_index_offset(level, src->size, &at, err)); /* before allocating for an index that cannot be there */
    struct zs_shard_index *x = zs_shard_index_alloc(level);
    if (x == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a shard index of %llu bytes",
                       (unsigned long long)level->index_size);
    x->shard_size = src->size;
    x->version = src->version;
    enum zs_status status = ZS_OK;
    if (src->memory != NULL)
        memcpy(x->entries, src->memory + at, (size_t)level->index_size);
    else
        status = zs_object_read(src->object, src->offset + at, (size_t)level->index_size, x->entries, err);
    if (status == ZS_OK)
        status = zs_shard_index_decode(level, x, err);
    if (status != ZS_OK) {
        free(x);
        return status;
    }
    *index = x;
    return ZS_OK;
}

/* Opens a level-0 shard, whose own level is `level`, and reads its index: in one request where a request costs, else
 * after a look at the size. */
static enum zs_status open_once(struct zs_array *a, const struct zs_level *level, const char *key,
                                struct zs_object **object, struct zs_shard_index **index, struct zs_error *err)
{
    struct zs_object *o = NULL;
    struct zs_shard_index *x = NULL;
    enum zs_status status;
    if (a->distrusts_memory)
        zs_store_forget(a->store, key);
    if (!a->store->is_remote) {
        status = zs_object_open(a->store, key, &o, err);
        if (status == ZS_OK) {
            const struct source src = {.object = o, .size = zs_object_size(o), .version = o->version};
            status = index_read(level, &src, &x, err);
            /* An index at the start may be younger than the size. */
            if (status == ZS_OK && level->index_at_start && zs_object_is_changed(o, false))
                status = zs_fail(err, ZS_CORRUPT, "the shard was changed while it was opened");
            else if (status == ZS_IO && zs_object_is_stale(o))
                status = ZS_CORRUPT;
        }
    } else {
        x = zs_shard_index_alloc(level);
        status = x == NULL ? zs_fail(err, ZS_NO_MEMORY, "cannot allocate a shard index of %llu bytes",
                                     (unsigned long long)level->index_size)
                           : (level->index_at_start ? zs_object_open_head : zs_object_open_tail)(
                                 a->store, key, (size_t)level->index_size, x->entries, &o, err);
        uint64_t at;
        if (status == ZS_OK) {
            x->shard_size = zs_object_size(o);
            x->version = o->version;
            x->is_remembered = zs_object_is_remembered(o);
            /* whether there are bytes enough for an index */
            status = zs_shard_index_offset(level, x->shard_size, &at, err);
        }
        if (status == ZS_OK)
            status = zs_shard_index_decode(level, x, err);
        if (status != ZS_OK) {
            free(x);
            x = NULL;
        }
    }
    if (status != ZS_OK) {
        zs_object_close(o);
        free(x);
        o = NULL;
        x = NULL;
    }
    *object = o;
    *index = x;
    return status;
}

/* The same by the journal beside a shard that has no valid index. */
static enum zs_status open_by_journal(struct zs_array *a, const struct zs_level *level, const char *key,
                                      struct zs_object **object, struct zs_shard_index **index, struct zs_error *err)
{
    zs_store_forget(a->store, key);
    ZS_TRY(zs_object_open(a->store, key, object, err));
    const enum zs_status status = zs_journal_read(a->store, key, level, *object, index, err);
    if (status != ZS_OK) {
        zs_object_close(*object);
        *object = NULL;
    }
    return status;
}

/* The same of a shard that may be being appended to at this moment, or was when its writer was killed
 * (shard/ways.h). */
static enum zs_status open_with_index(struct zs_array *a, const struct zs_level *level, const char *key,
                                      struct zs_object **object, struct zs_shard_index **index, struct zs_error *err)
{
    enum zs_status status = open_once(a, level, key, object, index, err);
    if (level->index_checksums == 0)
        return status;
    for (int i = 0; i < LOOKS && status == ZS_CORRUPT; i++) {
        struct zs_error ignored;
        if (open_by_journal(a, level, key, object, index, &ignored) == ZS_OK)
            return ZS_OK;
        if (a->store->is_remote)
            break; /* each look is a request */
        status = open_once(a, level, key, object, index, err);
    }
    return status;
}

enum zs_status zs_shard_read_index(struct zs_array *a, const struct zs_level *level, const char *key,
                                   struct zs_object **object, struct zs_shard_index **index, struct zs_error *err)
{
    zs_store_forget(a->store, key);
    const enum zs_status status = open_with_index(a, level, key, object, index, err);
    return status == ZS_OK || status == ZS_NOT_FOUND ? status : zs_fail_in(err, status, "%s/%s", a->store->root, key);
}

static enum zs_status index_read_with_object(struct zs_array *a, const struct zs_level *level, uint64_t shard,
                                             struct zs_shard_index **index, struct zs_error *err)
{
    struct zs_cache_entry *entry = zs_cache_get(a->objects, (struct zs_cache_key){0, shard});
    enum zs_status status;
    if (entry != NULL && zs_object_is_changed(zs_cache_value(entry), false)) {
        zs_cache_release(a->objects, entry);
        zs_cache_remove(a->objects, (struct zs_cache_key){0, shard});
        entry = NULL;
    }
    if (entry != NULL) {
        struct zs_object *object = zs_cache_value(entry);
        const struct source src = {
            .object = object, .size = zs_object_size(object), .version = object->version};
        status = index_read(level, &src, index, err);
    } else {
        struct zs_object *object = NULL;
        char *key = zs_shard_key(a, shard);
        status = key == NULL ? zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key")
                             : open_with_index(a, level, key, &object, index, err);
        free(key);
        if (status == ZS_OK) {
            status = keep_object(a, shard, object, &entry, err);
            if (status != ZS_OK)
                free(*index);
        }
    }
    if (entry != NULL)
        zs_cache_release(a->objects, entry);
    return status;
}

/* The index of level-k shard `number`, pinned. For level 0 without `src` the object is opened as needed, and an object
 * that is absent gives an absent index. */
static enum zs_status index_get(struct zs_array *a, int k, uint64_t number, const struct source *src,
                                struct zs_cache_entry **entry, struct zs_error *err)
{
    /* An index that came with its whole shard is of no use to those who read that by ranges, and the other way
     * round. */
    const struct zs_cache_key key = {k == 0 && src != NULL ? ZS_MAX_LEVELS : (uint64_t)k, number};
    bool must_load;
    while ((*entry = zs_cache_get_or_load(a->indexes, key, &must_load)) != NULL) {
        const struct zs_shard_index *found = zs_cache_value(*entry);
        if (src == NULL || found->version == src->version)
            return ZS_OK;
        /* Of other bytes than those at hand: its offsets may lie outside of them. */
        zs_cache_release(a->indexes, *entry);
        zs_cache_remove(a->indexes, key);
    }
    struct zs_shard_index *index = NULL;
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&a->grid, k, number, &room);
    enum zs_status status =
        src != NULL ? index_read(level, src, &index, err) : index_read_with_object(a, level, number, &index, err);
    if (status == ZS_NOT_FOUND && src == NULL) {
        index = zs_shard_index_absent();
        status = index != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a shard index");
    }
    if (status == ZS_OK) {
        *entry = zs_cache_put(a->indexes, key, index, ZS_CACHE_ENTRY_BYTES + sizeof *index + 16 * index->count);
        if (*entry != NULL)
            return ZS_OK;
        free(index);
        status = zs_fail(err, ZS_NO_MEMORY, "cannot allocate a cache entry");
    }
    zs_cache_abandon(a->indexes, key);
    return status;
}

/* ---- Shards that are encoded as a whole ---- */

/* The decoded bytes, `limit` at most, of a level-k shard whose encoded bytes are `src` (level 0: NULL, the whole
 * object), pinned. */
static enum zs_status blob_get(struct locator *l, int k, uint64_t number, const struct source *src, size_t limit,
                               struct source *decoded, struct zs_error *err)
{
    struct zs_array *a = l->a;
    const struct zs_level *level = &a->chain.levels[k]; /* of any size: for its codecs */
    const struct zs_cache_key key = {1 + (uint64_t)k, number};
    struct zs_cache_entry **pins = realloc(*l->pins, (*l->pin_count + 1) * sizeof(struct zs_cache_entry *));
    if (pins == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a list");
    *l->pins = pins;

    bool must_load;
    struct zs_cache_entry *entry = zs_cache_get_or_load(a->chunks, key, &must_load);
    if (must_load) {
        struct zs_scratch *scratch = zs_scratch_acquire();
        struct zs_buffer fetched = {0}, out = {0};
        enum zs_status status = scratch != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a scratch");
        const void *bytes = NULL;
        size_t n = 0;
        if (status == ZS_OK && src == NULL) {
            char *object_key = zs_shard_key(a, number);
            status = object_key == NULL ? zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key")
                                        : zs_store_get(a->store, object_key, limit, &fetched, err);
            free(object_key);
            bytes = fetched.data;
            n = fetched.size;
        } else if (status == ZS_OK && src->memory != NULL) {
            bytes = src->memory;
            n = (size_t)src->size;
        } else if (status == ZS_OK) {
            n = (size_t)src->size;
            status = n > limit ? zs_fail(err, ZS_CORRUPT, "expected at most %zu encoded bytes, found %zu", limit, n)
                               : zs_buffer_reset(&fetched, n, err);
            if (status == ZS_OK)
                status = zs_object_read(src->object, src->offset, n, fetched.data, err);
            bytes = fetched.data;
        }
        if (status == ZS_OK)
            status = zs_bytes_decode_up_to(level->bytes_codecs, level->bytes_codec_count, scratch, bytes, n, limit,
                                           &out, err);
        zs_scratch_release(scratch); /* with large buffers: the bytes are held twice at most */
        zs_buffer_free(&fetched);
        struct zs_blob *blob = NULL;
        if (status == ZS_OK) {
            blob = zs_blob_alloc(NULL, out.size);
            if (blob == NULL)
                status = zs_fail(err, ZS_NO_MEMORY, "cannot allocate %zu bytes", out.size);
        }
        if (status == ZS_OK) {
            static atomic_uint_least64_t versions;
            blob->version = atomic_fetch_add(&versions, 1);
            memcpy(blob->data, out.data, out.size);
            entry = zs_cache_put(a->chunks, key, blob, ZS_CACHE_ENTRY_BYTES + sizeof *blob + blob->size);
            if (entry == NULL) {
                zs_blob_free(blob);
                status = zs_fail(err, ZS_NO_MEMORY, "cannot allocate a cache entry");
            }
        }
        zs_buffer_free(&out);
        if (status != ZS_OK) {
            zs_cache_abandon(a->chunks, key);
            return status;
        }
    }
    (*l->pins)[(*l->pin_count)++] = entry;
    const struct zs_blob *blob = zs_cache_value(entry);
    *decoded = (struct source){.memory = blob->data, .size = blob->size, .version = blob->version};
    return ZS_OK;
}

/* ---- The walk down ---- */

/* Position of the level-k chunk around a leaf chunk. */
static void position_at_level(const struct zs_array *a, int k, uint64_t leaf, uint64_t *position)
{
    zs_grid_position(&a->grid, a->chain.count - 1, leaf, position);
    zs_grid_around(&a->grid, a->chain.count - 1, position, k, position);
}

static uint64_t number_at_level(const struct zs_array *a, int k, uint64_t leaf)
{
    uint64_t position[ZS_MAX_NDIM];
    position_at_level(a, k, leaf, position);
    return zs_grid_number(&a->grid, k, position);
}

/* Entry of the level-(k+1) chunk around `leaf` in the index of its level-k shard, whose own level is `level`. */
static enum zs_status entry_of(const struct zs_array *a, int k, const struct zs_level *level,
                               const struct zs_shard_index *index, uint64_t leaf, bool *is_empty, uint64_t *offset,
                               uint64_t *size, struct zs_error *err)
{
    uint64_t position[ZS_MAX_NDIM];
    position_at_level(a, k + 1, leaf, position);
    zs_grid_inside(&a->grid, k, position, position);
    enum zs_status status =
        zs_shard_index_entry(level, index, zs_shard_index_number(level, position), is_empty, offset, size, err);
    /* No codec makes a chunk much larger: a size beyond that is an index gone wrong, not something to allocate. */
    const size_t most = zs_level_bound(&a->chain.levels[k + 1]);
    if (status == ZS_OK && !*is_empty && *size > most)
        status =
            zs_fail(err, ZS_CORRUPT, "expected at most %zu encoded bytes, found %llu", most, (unsigned long long)*size);
    return status == ZS_OK ? ZS_OK : zs_fail_in_chunk(a, leaf, status, err);
}

/* So that an absent shard is not asked for again. */
static void keep_absent(struct zs_array *a, uint64_t shard)
{
    struct zs_shard_index *absent = zs_shard_index_absent();
    struct zs_cache_entry *entry = absent != NULL ? zs_cache_put(a->indexes, (struct zs_cache_key){0, shard}, absent,
                                                                 ZS_CACHE_ENTRY_BYTES + sizeof *absent)
                                                  : NULL;
    if (entry != NULL)
        zs_cache_release(a->indexes, entry);
    else
        free(absent); /* only a request is lost */
}

/* Whether so much of a remote level-0 shard is wanted that it comes in one request, index and all; then *limit is what
 * it may have. */
static bool is_wanted_whole(struct zs_array *a, const struct zs_level *level, uint64_t shard, size_t wanted,
                            size_t *limit)
{
    if (!a->store->is_remote || a->unsaved != NULL || a->chain.count != 2)
        return false;
    struct zs_cache_entry *index = zs_cache_get(a->indexes, (struct zs_cache_key){0, shard});
    if (index != NULL) {
        zs_cache_release(a->indexes, index);
        return false;
    }
    const uint64_t chunks = zs_grid_leaves(&a->grid, shard);
    const uint64_t each = a->leaf->stored_size;
    if (chunks > WHOLE_SHARD_BYTES / each || (chunks - wanted) * each > a->ranges.max_gap)
        return false;
    *limit = zs_bytes_bound((size_t)(chunks * each)) + (size_t)level->index_size;
    return true;
}

/* Whether the index of a level-0 shard is a remembered one and has none of some of the chunks. That they were added
 * since is what no reading of others would find out. */
static bool must_ask_again(const struct zs_array *a, const struct zs_level *level, const struct zs_shard_index *index,
                           struct zs_location **loc, size_t n)
{
    for (size_t i = 0; i < n && index->is_remembered; i++) {
        bool is_empty;
        uint64_t offset, size;
        if (entry_of(a, 0, level, index, loc[i]->leaf, &is_empty, &offset, &size, NULL) != ZS_OK || is_empty)
            return true;
    }
    return false;
}

static enum zs_status ask_again(struct zs_array *a, uint64_t shard, struct zs_cache_entry **entry, struct zs_error *err)
{
    char *key = zs_shard_key(a, shard);
    if (key == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key");
    zs_store_forget(a->store, key);
    free(key);
    zs_cache_remove(a->indexes, (struct zs_cache_key){0, shard});
    zs_cache_remove(a->objects, (struct zs_cache_key){0, shard});
    return index_get(a, 0, shard, NULL, entry, err);
}

bool zs_is_known_empty(struct zs_array *a, int k, uint64_t number)
{
    const struct zs_unsaved *e = a->unsaved;
    uint64_t position[ZS_MAX_NDIM], at[ZS_MAX_NDIM], version = 0;
    struct zs_level room;
    zs_grid_position(&a->grid, k, number, position);
    for (int j = 0; j == 0 || j < k; j++) {
        zs_grid_around(&a->grid, k, position, j, at);
        const uint64_t shard = zs_grid_number(&a->grid, j, at);
        if (j == 0 && e != NULL && (e->dirty.count > 0 || zs_map_get(&e->shards, shard) != NULL))
            return false;
        struct zs_cache_entry *entry = zs_cache_get(a->indexes, (struct zs_cache_key){(uint64_t)j, shard});
        if (entry == NULL)
            return false;
        const struct zs_shard_index *index = zs_cache_value(entry);
        bool is_empty = index->is_absent;
        bool is_told = !index->is_remembered && (j == 0 || index->version == version);
        if (is_told && !is_empty && j < k) {
            uint64_t offset, size;
            zs_grid_around(&a->grid, k, position, j + 1, at);
            zs_grid_inside(&a->grid, j, at, at);
            const struct zs_level *level = zs_grid_level(&a->grid, j, shard, &room);
            is_told = zs_shard_index_entry(level, index, zs_shard_index_number(level, at), &is_empty, &offset, &size,
                                           NULL) == ZS_OK;
        }
        version = index->version;
        zs_cache_release(a->indexes, entry);
        if (!is_told || is_empty)
            return is_told;
    }
    return false;
}

static void mark(struct zs_location **loc, size_t n, enum zs_location_kind kind)
{
    for (size_t i = 0; i < n; i++)
        loc[i]->kind = kind;
}

/* The index of a level-0 shard whose bytes are at hand. One that came without a valid index may be being appended to
 * (shard/ways.h): *src is NULL then, and it is read by ranges, those of its journal. */
static enum zs_status index_of_bytes(struct zs_array *a, const struct zs_level *level, uint64_t number,
                                     const struct source **src, struct zs_cache_entry **entry, struct zs_error *err)
{
    const enum zs_status status = index_get(a, 0, number, *src, entry, err);
    if (status != ZS_CORRUPT || level->index_checksums == 0 || level->bytes_codec_count > 0)
        return status;
    zs_cache_remove(a->chunks, (struct zs_cache_key){1, number});
    *src = NULL;
    return index_get(a, 0, number, NULL, entry, err);
}

/* Locates n > 0 leaf chunks, all in one level-k shard. `src` are the shard's encoded bytes; NULL at level 0. */
static enum zs_status locate_in_shard(struct locator *l, int k, const struct source *src, struct zs_location **loc,
                                      size_t n, struct zs_error *err)
{
    struct zs_array *a = l->a;
    const uint64_t number = number_at_level(a, k, loc[0]->leaf);
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&a->grid, k, number, &room);
    struct source decoded;
    size_t limit;
    if (level->bytes_codec_count > 0) {
        limit = zs_level_bound(level);
        enum zs_status status =
            blob_get(l, k, number, src, limit < a->max_chunk ? limit : (size_t)a->max_chunk, &decoded, err);
        if (status == ZS_CORRUPT && limit > a->max_chunk)
            status = zs_fail_in(err, status,
                                "shard encoded as a whole, of which the open option MAX_CHUNK_SIZE allows %llu bytes",
                                (unsigned long long)a->max_chunk);
        if (status == ZS_NOT_FOUND && k == 0) {
            keep_absent(a, number);
            mark(loc, n, ZS_LOCATION_EMPTY);
            return ZS_OK;
        }
        if (status != ZS_OK)
            return zs_fail_in_chunk(a, loc[0]->leaf, status, err);
        src = &decoded;
    } else if (k == 0 && is_wanted_whole(a, level, number, n, &limit)) {
        const enum zs_status status = blob_get(l, 0, number, NULL, limit, &decoded, err);
        if (status == ZS_NOT_FOUND) {
            keep_absent(a, number);
            mark(loc, n, ZS_LOCATION_EMPTY);
            return ZS_OK;
        }
        if (status == ZS_OK)
            src = &decoded;
        else if (status != ZS_INVALID) /* that is: it has more in it than there should be, and is read by ranges */
            return zs_fail_in_chunk(a, loc[0]->leaf, status, err);
    }
    struct zs_cache_entry *entry;
    enum zs_status status = k == 0 && src != NULL ? index_of_bytes(a, level, number, &src, &entry, err)
                                                  : index_get(a, k, number, src, &entry, err);
    if (status == ZS_OK && must_ask_again(a, level, zs_cache_value(entry), loc, n)) {
        zs_cache_release(a->indexes, entry);
        status = ask_again(a, number, &entry, err);
    }
    if (status != ZS_OK)
        return zs_fail_in_chunk(a, loc[0]->leaf, status, err);
    const struct zs_shard_index *index = zs_cache_value(entry);
    const bool is_last = k + 2 == a->chain.count;
    struct zs_cache_entry *object_entry = NULL; /* opened when an inner shard's index must be read */

    for (size_t i = 0, run; i < n && status == ZS_OK; i += run) {
        bool is_empty;
        uint64_t offset, size;
        /* Chunks of one inner shard follow each other: see zs_locate(). */
        run = 1;
        if (!is_last) {
            const uint64_t inner = number_at_level(a, k + 1, loc[i]->leaf);
            while (i + run < n && number_at_level(a, k + 1, loc[i + run]->leaf) == inner)
                run++;
        }
        status = entry_of(a, k, level, index, loc[i]->leaf, &is_empty, &offset, &size, err);
        if (status != ZS_OK)
            break;
        if (is_empty) {
            mark(loc + i, run, ZS_LOCATION_EMPTY);
            continue;
        }
        const uint64_t base = src != NULL ? src->offset : 0;
        if (is_last) {
            loc[i]->kind = src != NULL && src->memory != NULL ? ZS_LOCATION_MEMORY : ZS_LOCATION_RANGE;
            loc[i]->offset = base + offset;
            loc[i]->size = size;
            loc[i]->version = index->version;
            if (loc[i]->kind == ZS_LOCATION_MEMORY)
                loc[i]->memory = src->memory + offset;
            continue;
        }
        struct source inner_src = {.offset = base + offset, .size = size, .version = index->version};
        if (src != NULL && src->memory != NULL) {
            inner_src.memory = src->memory + offset;
            inner_src.offset = 0;
        } else if (src != NULL) {
            inner_src.object = src->object;
        } else {
            if (object_entry == NULL)
                status = zs_shard_object(a, number, &object_entry, err);
            if (status == ZS_NOT_FOUND) { /* it was there when its index was read */
                *l->is_stale = true;
                status = ZS_IO;
            }
            if (status == ZS_OK &&
                ((const struct zs_object *)zs_cache_value(object_entry))->version != index->version) {
                *l->is_stale = true;
                status = zs_fail(err, ZS_IO, "the shard was replaced while it was read");
            }
            if (status != ZS_OK) {
                status = zs_fail_in_chunk(a, loc[i]->leaf, status, err);
                break;
            }
            inner_src.object = zs_cache_value(object_entry);
        }
        status = locate_in_shard(l, k + 1, &inner_src, loc + i, run, err);
    }
    if (object_entry != NULL)
        zs_cache_release(a->objects, object_entry);
    zs_cache_release(a->indexes, entry);
    return status;
}

/* Leaf chunks in the order of the shards that hold them, outermost first, so that each inner shard is one run. */
static _Thread_local const struct zs_array *sorting; /* qsort() has no context argument in C11 */

static int by_shards(const void *x, const void *y)
{
    const uint64_t p = (*(struct zs_location *const *)x)->leaf, q = (*(struct zs_location *const *)y)->leaf;
    for (int k = 1; k < sorting->chain.count - 1; k++) {
        const uint64_t a = number_at_level(sorting, k, p), b = number_at_level(sorting, k, q);
        if (a != b)
            return a < b ? -1 : 1;
    }
    return (p > q) - (p < q);
}

enum zs_status zs_locate(struct zs_array *a, struct zs_location **locations, size_t n, struct zs_cache_entry ***pins,
                         size_t *pin_count, bool *is_stale, struct zs_error *err)
{
    if (a->chain.count == 1) {
        mark(locations, n, ZS_LOCATION_OBJECT);
        return ZS_OK;
    }
    if (a->chain.count > 2) {
        sorting = a;
        qsort(locations, n, sizeof *locations, by_shards);
    }
    struct locator l = {a, pins, pin_count, is_stale};
    const enum zs_status status = locate_in_shard(&l, 0, NULL, locations, n, err);
    if (status != ZS_OK && object_is_stale(a, locations[0]->shard))
        *is_stale = true;
    return status;
}

enum zs_status zs_shard_look(struct zs_array *a, uint64_t leaf, struct zs_hold *hold, struct zs_error *err)
{
    struct zs_level room;
    const uint64_t shard = zs_grid_shard(&a->grid, leaf);
    const struct zs_level *level = zs_grid_level(&a->grid, 0, shard, &room);
    size_t limit;
    if (hold == NULL &&
        (level->bytes_codec_count > 0 || is_wanted_whole(a, level, shard, (size_t)level->inner_count, &limit)))
        return ZS_OK; /* its index comes with all of it */
    struct zs_location where = {.leaf = leaf, .shard = shard}, *location = &where;
    struct zs_hold own = {0};
    bool is_stale = false; /* whoever reads it next finds that out too */
    const enum zs_status status = zs_locate(a, &location, 1, &own.blobs, &own.blob_count, &is_stale, err);
    own.index = zs_cache_get(a->indexes, (struct zs_cache_key){0, shard});
    if (hold != NULL)
        *hold = own;
    else
        zs_hold_release(a, &own);
    return is_stale ? ZS_OK : status;
}

void zs_hold_release(struct zs_array *a, struct zs_hold *hold)
{
    for (size_t i = 0; i < hold->blob_count; i++)
        zs_cache_release(a->chunks, hold->blobs[i]);
    free(hold->blobs);
    if (hold->index != NULL)
        zs_cache_release(a->indexes, hold->index);
    *hold = (struct zs_hold){0};
}
