/* From the numbers of innermost chunks to the bytes that hold them: through the shard's index, the indexes of shards
 * inside it, and the codecs that some stores put around a whole shard. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "array/indexes.h"
#include "array/pending_writes.h"

/* Largest remote shard, decoded, that is fetched whole when all of it is wanted: larger ones come faster in pieces side
 * by side. */
#define WHOLE_SHARD_BYTES ((uint64_t)4 << 20)

struct locator {
    struct zs_array *a;
    struct zs_cache_entry ***pins;
    size_t *pin_count;
    bool *is_stale;
};

/* ---- Shards that are encoded as a whole ---- */

/* The decoded bytes, `limit` at most, of a level-k shard whose encoded bytes are `src` (level 0: NULL, the whole
 * object), pinned. */
static enum zs_status blob_get(struct locator *l, int k, uint64_t number, const struct zs_source *src, size_t limit,
                               struct zs_source *decoded, struct zs_error *err)
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
    *decoded = (struct zs_source){.memory = blob->data, .size = blob->size, .version = blob->version};
    return ZS_OK;
}

/* ---- The walk down ---- */

/* Position of the level-k chunk around an innermost chunk. */
static void position_at_level(const struct zs_array *a, int k, uint64_t chunk, uint64_t *position)
{
    zs_grid_position(&a->grid, a->chain.count - 1, chunk, position);
    zs_grid_around(&a->grid, a->chain.count - 1, position, k, position);
}

static uint64_t number_at_level(const struct zs_array *a, int k, uint64_t chunk)
{
    uint64_t position[ZS_MAX_NDIM];
    position_at_level(a, k, chunk, position);
    return zs_grid_number(&a->grid, k, position);
}

/* Entry of the level-(k+1) chunk around `chunk` in the index of its level-k shard, whose own level is
 * `level`. */
static enum zs_status entry_of(const struct zs_array *a, int k, const struct zs_level *level,
                               const struct zs_shard_index *index, uint64_t chunk, bool *is_empty, uint64_t *offset,
                               uint64_t *size, struct zs_error *err)
{
    uint64_t position[ZS_MAX_NDIM];
    position_at_level(a, k + 1, chunk, position);
    zs_grid_inside(&a->grid, k, position, position);
    enum zs_status status =
        zs_shard_index_entry(level, index, zs_shard_index_number(level, position), is_empty, offset, size, err);
    /* No codec makes a chunk much larger: a size beyond that is an index gone wrong, not something to allocate. */
    const size_t most = zs_level_bound(&a->chain.levels[k + 1]);
    if (status == ZS_OK && !*is_empty && *size > most)
        status =
            zs_fail(err, ZS_CORRUPT, "expected at most %zu encoded bytes, found %llu", most, (unsigned long long)*size);
    return status == ZS_OK ? ZS_OK : zs_fail_in_chunk(a, chunk, status, err);
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
    if (!a->store->is_remote || a->pending != NULL || a->chain.count != 2)
        return false;
    struct zs_cache_entry *index = zs_cache_get(a->indexes, (struct zs_cache_key){0, shard});
    if (index != NULL) {
        zs_cache_release(a->indexes, index);
        return false;
    }
    const uint64_t chunks = zs_grid_leaves(&a->grid, shard);
    const uint64_t each = a->innermost->stored_size;
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
        if (entry_of(a, 0, level, index, loc[i]->chunk, &is_empty, &offset, &size, NULL) != ZS_OK || is_empty)
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
    return zs_index_get(a, 0, shard, NULL, entry, err);
}

bool zs_is_known_empty(struct zs_array *a, int k, uint64_t number)
{
    const struct zs_pending_writes *e = a->pending;
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
        bool is_known = !index->is_remembered && (j == 0 || index->version == version);
        if (is_known && !is_empty && j < k) {
            uint64_t offset, size;
            zs_grid_around(&a->grid, k, position, j + 1, at);
            zs_grid_inside(&a->grid, j, at, at);
            const struct zs_level *level = zs_grid_level(&a->grid, j, shard, &room);
            is_known = zs_shard_index_entry(level, index, zs_shard_index_number(level, at), &is_empty, &offset, &size,
                                            NULL) == ZS_OK;
        }
        version = index->version;
        zs_cache_release(a->indexes, entry);
        if (!is_known || is_empty)
            return is_known;
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
                                     const struct zs_source **src, struct zs_cache_entry **entry, struct zs_error *err)
{
    const enum zs_status status = zs_index_get(a, 0, number, *src, entry, err);
    if (status != ZS_CORRUPT || level->index_checksums == 0 || level->bytes_codec_count > 0)
        return status;
    zs_cache_remove(a->chunks, (struct zs_cache_key){1, number});
    *src = NULL;
    return zs_index_get(a, 0, number, NULL, entry, err);
}

/* Locates n > 0 innermost chunks, all in one level-k shard. `src` are the shard's encoded bytes; NULL at level 0. */
static enum zs_status locate_in_shard(struct locator *l, int k, const struct zs_source *src, struct zs_location **loc,
                                      size_t n, struct zs_error *err)
{
    struct zs_array *a = l->a;
    const uint64_t number = number_at_level(a, k, loc[0]->chunk);
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&a->grid, k, number, &room);
    struct zs_source decoded;
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
            return zs_fail_in_chunk(a, loc[0]->chunk, status, err);
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
            return zs_fail_in_chunk(a, loc[0]->chunk, status, err);
    }
    struct zs_cache_entry *entry;
    enum zs_status status = k == 0 && src != NULL ? index_of_bytes(a, level, number, &src, &entry, err)
                                                  : zs_index_get(a, k, number, src, &entry, err);
    if (status == ZS_OK && must_ask_again(a, level, zs_cache_value(entry), loc, n)) {
        zs_cache_release(a->indexes, entry);
        status = ask_again(a, number, &entry, err);
    }
    if (status != ZS_OK)
        return zs_fail_in_chunk(a, loc[0]->chunk, status, err);
    const struct zs_shard_index *index = zs_cache_value(entry);
    const bool is_last = k + 2 == a->chain.count;
    struct zs_cache_entry *object_entry = NULL; /* opened when an inner shard's index must be read */

    for (size_t i = 0, run; i < n && status == ZS_OK; i += run) {
        bool is_empty;
        uint64_t offset, size;
        /* Chunks of one inner shard follow each other: see zs_locate(). */
        run = 1;
        if (!is_last) {
            const uint64_t inner = number_at_level(a, k + 1, loc[i]->chunk);
            while (i + run < n && number_at_level(a, k + 1, loc[i + run]->chunk) == inner)
                run++;
        }
        status = entry_of(a, k, level, index, loc[i]->chunk, &is_empty, &offset, &size, err);
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
        struct zs_source inner_src = {.offset = base + offset, .size = size, .version = index->version};
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
                status = zs_fail_in_chunk(a, loc[i]->chunk, status, err);
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

/* Innermost chunks in the order of the shards that hold them, outermost first, so that each inner shard is one run. */
static _Thread_local const struct zs_array *sorting; /* qsort() has no context argument in C11 */

static int by_shards(const void *x, const void *y)
{
    const uint64_t p = (*(struct zs_location *const *)x)->chunk, q = (*(struct zs_location *const *)y)->chunk;
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
    if (status != ZS_OK && zs_shard_is_stale(a, locations[0]->shard))
        *is_stale = true;
    return status;
}

enum zs_status zs_shard_load_index(struct zs_array *a, uint64_t chunk, struct zs_pins *hold, struct zs_error *err)
{
    struct zs_level room;
    const uint64_t shard = zs_grid_shard(&a->grid, chunk);
    const struct zs_level *level = zs_grid_level(&a->grid, 0, shard, &room);
    size_t limit;
    if (hold == NULL &&
        (level->bytes_codec_count > 0 || is_wanted_whole(a, level, shard, (size_t)level->inner_count, &limit)))
        return ZS_OK; /* its index comes with all of it */
    struct zs_location where = {.chunk = chunk, .shard = shard}, *location = &where;
    struct zs_pins own = {0};
    bool is_stale = false; /* whoever reads it next finds that out too */
    const enum zs_status status = zs_locate(a, &location, 1, &own.blobs, &own.blob_count, &is_stale, err);
    own.index = zs_cache_get(a->indexes, (struct zs_cache_key){0, shard});
    if (hold != NULL)
        *hold = own;
    else
        zs_pins_release(a, &own);
    return is_stale ? ZS_OK : status;
}

void zs_pins_release(struct zs_array *a, struct zs_pins *hold)
{
    for (size_t i = 0; i < hold->blob_count; i++)
        zs_cache_release(a->chunks, hold->blobs[i]);
    free(hold->blobs);
    if (hold->index != NULL)
        zs_cache_release(a->indexes, hold->index);
    *hold = (struct zs_pins){0};
}
