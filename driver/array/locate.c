/* From the numbers of innermost chunks to their bytes: the walk of shard/shard.h with everything cached on the way. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "array/array_private.h"
#include "array/pending.h"

/* Decoded size of the largest remote shard that is fetched as a whole when all of it is wanted: larger ones come faster
 * in several requests side by side. */
#define WHOLE_SHARD_BYTES ((uint64_t)4 << 20)

/* The context of a search for chunks. */
struct locator {
    struct zs_array *array;
    struct zs_pins *pins;
    bool is_by_index; /* no shard is fetched as a whole */
    bool is_stale;    /* the shard was replaced since its index was read */
};

/* A shard, and the chunks that are looked for in it. */
struct shard {
    struct zs_location **wanted;
    size_t count;
    int depth; /* its level: 0 is an object */
    uint64_t number;
    const struct zs_level *level; /* of this shard, maybe in `room` */
    struct zs_level room;
    const struct zs_source *source; /* its bytes; NULL at level 0: ranges of its object are read */
    struct zs_source whole;         /* ... that were decoded, or fetched, as a whole */
    struct zs_cache_entry *index;   /* pinned */
    struct zs_cache_entry *object;  /* pinned; opened when the index of an inner shard must be read */
};

/* ---- Shards whose bytes are taken as a whole ---- */

/* Fetches the shard, unless its bytes are at hand, and undoes its bytes codecs: into a blob, at most `limit` bytes. */
static enum zs_status load_whole(const struct zs_array *array, const struct shard *shard, size_t limit,
                                 struct zs_blob **blob, struct zs_error *err)
{
    static atomic_uint_least64_t versions;
    struct zs_buffer fetched = {0}, decoded = {0};
    struct zs_source encoded = {0};
    enum zs_status status = ZS_OK;
    if (shard->source != NULL) {
        encoded = *shard->source;
    } else {
        char *key;
        ZS_TRY(zs_shard_key(array, shard->number, &key, err));
        status = zs_store_get(array->store, key, limit, &fetched, err);
        free(key);
        encoded = (struct zs_source){.memory = fetched.data, .size = fetched.size};
    }
    if (status == ZS_OK)
        status = zs_source_decode(shard->level, &encoded, limit, &decoded, err);
    zs_buffer_free(&fetched);
    if (status == ZS_OK && (*blob = zs_blob_alloc(NULL, decoded.size)) == NULL)
        status = zs_fail_memory(err);
    if (status == ZS_OK) {
        (*blob)->version = atomic_fetch_add(&versions, 1);
        memcpy((*blob)->data, decoded.data, decoded.size);
    }
    zs_buffer_free(&decoded);
    return status;
}

/* Pins the decoded bytes of a shard, at most `limit`, in the cache, or loads them into it. */
static enum zs_status get_whole(struct zs_array *array, const struct shard *shard, size_t limit,
                                struct zs_cache_entry **entry, struct zs_error *err)
{
    const struct zs_cache_key key = {1 + (uint64_t)shard->depth, shard->number};
    struct zs_blob *blob = NULL;
    *entry = zs_cache_get_or_load(&array->chunks, key);
    if (*entry != NULL)
        return ZS_OK;
    enum zs_status status = load_whole(array, shard, limit, &blob, err);
    if (status == ZS_OK) {
        *entry = zs_cache_put(&array->chunks, key, blob, ZS_CACHE_ENTRY_BYTES + sizeof *blob + blob->size);
        status = *entry != NULL ? ZS_OK : zs_fail_memory(err);
    }
    if (status != ZS_OK)
        zs_cache_remove(&array->chunks, key);
    return status;
}

/* Sets the shard's source to its decoded bytes, at most `limit`; they are pinned. */
static enum zs_status take_whole(struct locator *locator, struct shard *shard, size_t limit, struct zs_error *err)
{
    struct zs_pins *pins = locator->pins;
    struct zs_cache_entry *entry;
    ZS_TRY_GROW(pins->blobs, pins->count, &pins->capacity, err);
    ZS_TRY(get_whole(locator->array, shard, limit, &entry, err));
    pins->blobs[pins->count++] = entry;
    const struct zs_blob *blob = zs_cache_value(entry);
    shard->whole = (struct zs_source){.memory = blob->data, .size = blob->size, .version = blob->version};
    shard->source = &shard->whole;
    return ZS_OK;
}

/* ---- The walk down ---- */

/* Position of the level-k chunk around an innermost chunk. */
static void position_at_level(const struct zs_array *array, int level, uint64_t chunk, uint64_t *position)
{
    zs_grid_position(&array->grid, array->chain.count - 1, chunk, position);
    zs_grid_around(&array->grid, array->chain.count - 1, position, level, position);
}

static uint64_t number_at_level(const struct zs_array *array, int level, uint64_t chunk)
{
    uint64_t position[ZS_MAX_NDIM];
    position_at_level(array, level, chunk, position);
    return zs_grid_number(&array->grid, level, position);
}

/* The bytes of the level-(k+1) chunk around `chunk`, by the index of its level-k shard. Without a source of the shard
 * they are a range of its object. */
static enum zs_status find_bytes(const struct zs_array *array, const struct shard *shard,
                                 const struct zs_shard_index *index, uint64_t chunk, bool *is_empty,
                                 struct zs_source *bytes, struct zs_error *err)
{
    static const struct zs_source by_ranges;
    uint64_t position[ZS_MAX_NDIM];
    position_at_level(array, shard->depth + 1, chunk, position);
    zs_grid_inside(&array->grid, shard->depth, position, position);
    const struct zs_source *source = shard->source != NULL ? shard->source : &by_ranges;
    const uint64_t number = zs_shard_index_number(shard->level, position);
    const enum zs_status status =
        zs_source_chunk(shard->level, source, index, number, zs_level_bound(&array->chain.levels[shard->depth + 1]),
                        is_empty, bytes, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in_chunk(array, chunk, status, err);
}

/* Remembers that a shard is absent, to not ask for it again. */
static void keep_absent(struct zs_array *array, uint64_t shard)
{
    struct zs_shard_index *absent = zs_shard_index_absent();
    if (absent != NULL) /* else it costs one more request */
        zs_cache_release(zs_cache_put(&array->indexes, (struct zs_cache_key){0, shard}, absent,
                                      ZS_CACHE_ENTRY_BYTES + sizeof *absent));
}

/* Whether so much of a remote level-0 shard is wanted that it is fetched in one request, with its index; *limit: most
 * bytes that it may have. */
static bool is_wanted_whole(struct zs_array *array, const struct zs_level *level, uint64_t shard, size_t wanted,
                            size_t *limit)
{
    if (!array->store->is_remote || !zs_pending_is_empty(array) || array->chain.count != 2)
        return false;
    struct zs_cache_entry *index = zs_cache_get(&array->indexes, (struct zs_cache_key){0, shard});
    if (index != NULL) {
        zs_cache_release(index);
        return false;
    }
    const uint64_t chunks = zs_grid_chunks_in_shard(&array->grid, shard);
    const uint64_t each = array->innermost->stored_size;
    if (chunks > WHOLE_SHARD_BYTES / each || (chunks - wanted) * each > array->ranges.max_gap)
        return false;
    *limit = zs_bytes_bound((size_t)(chunks * each)) + (size_t)level->index_size;
    return true;
}

/* Whether the process remembers this index from before, and it lacks some of the chunks: they may have been added
 * since, which no other reading would find out. */
static bool must_ask_again(const struct zs_array *array, const struct shard *shard, const struct zs_shard_index *index)
{
    for (size_t i = 0; i < shard->count && index->is_remembered; i++) {
        bool is_empty;
        struct zs_source bytes;
        if (find_bytes(array, shard, index, shard->wanted[i]->chunk, &is_empty, &bytes, NULL) != ZS_OK || is_empty)
            return true;
    }
    return false;
}

bool zs_is_known_empty(struct zs_array *array, uint64_t shard)
{
    const struct zs_pending *pending = array->pending;
    if (pending != NULL && zs_map_get(&pending->shards, shard) != NULL)
        return false;
    if (pending != NULL && zs_shard_is_unpublished(array, shard)) /* only shards that it published are there */
        return true;
    struct zs_cache_entry *entry = zs_cache_get(&array->indexes, (struct zs_cache_key){0, shard});
    if (entry == NULL)
        return false;
    const struct zs_shard_index *index = zs_cache_value(entry);
    const bool is_empty = index->is_absent && !index->is_remembered;
    zs_cache_release(entry);
    return is_empty;
}

static void mark(struct zs_location **locations, size_t n, enum zs_location_kind kind)
{
    for (size_t i = 0; i < n; i++)
        locations[i]->kind = kind;
}

/* ---- The walk ---- */

static enum zs_status locate_in_shard(struct locator *locator, int depth, const struct zs_source *source,
                                      struct zs_location **wanted, size_t count, struct zs_error *err);

/* Takes a shard whole that is encoded as a whole, or a remote one of which all is wanted, with its index. ZS_NOT_FOUND
 * where it is absent. */
static enum zs_status try_whole(struct locator *locator, struct shard *shard, struct zs_error *err)
{
    const uint64_t allowed = locator->array->max_chunk;
    size_t limit = zs_level_bound(shard->level);
    if (shard->level->bytes_codec_count > 0) {
        const enum zs_status status = take_whole(locator, shard, limit < allowed ? limit : (size_t)allowed, err);
        return status != ZS_CORRUPT || limit <= allowed
                   ? status
                   : zs_fail_in(err, status,
                                "shard encoded as a whole, of which the open option MAX_CHUNK_SIZE allows %llu bytes",
                                (unsigned long long)allowed);
    }
    if (shard->depth > 0 || shard->source != NULL || locator->is_by_index ||
        !is_wanted_whole(locator->array, shard->level, shard->number, shard->count, &limit))
        return ZS_OK;
    const enum zs_status status = take_whole(locator, shard, limit, err);
    return status == ZS_INVALID ? ZS_OK : status; /* it has more in it than its chunks: it is read by ranges */
}

/* Locates chunks of the innermost level. */
static enum zs_status locate_innermost(const struct zs_array *array, const struct shard *shard, struct zs_error *err)
{
    const struct zs_shard_index *index = zs_cache_value(shard->index);
    for (size_t i = 0; i < shard->count; i++) {
        struct zs_location *where = shard->wanted[i];
        bool is_empty;
        ZS_TRY(find_bytes(array, shard, index, where->chunk, &is_empty, &where->bytes, err));
        where->kind = is_empty                      ? ZS_LOCATION_EMPTY
                      : where->bytes.memory != NULL ? ZS_LOCATION_MEMORY
                                                    : ZS_LOCATION_RANGE;
        where->bytes.object = NULL; /* it may be closed before they are read */
    }
    return ZS_OK;
}

/* Pins the shard's index. Bytes that came as a whole without a valid index may be of a shard that is being appended to
 * (shard/append.c): then it is read by ranges, with the index in its journal. */
static enum zs_status get_index(struct zs_array *array, struct shard *shard, struct zs_error *err)
{
    enum zs_status status = zs_index_get(array, shard->depth, shard->number, shard->source, &shard->index, err);
    if (status == ZS_CORRUPT && shard->depth == 0 && shard->source != NULL && shard->level->index_checksums > 0 &&
        shard->level->bytes_codec_count == 0) {
        zs_cache_remove(&array->chunks, (struct zs_cache_key){1, shard->number});
        shard->source = NULL;
        status = zs_index_get(array, 0, shard->number, NULL, &shard->index, err);
    }
    if (status == ZS_OK && must_ask_again(array, shard, zs_cache_value(shard->index))) {
        zs_cache_release(shard->index);
        shard->index = NULL;
        zs_shard_refresh(array, shard->number);
        status = zs_index_get(array, 0, shard->number, NULL, &shard->index, err);
    }
    return status;
}

/* The opened object of a level-0 shard, if it is still the one that the index was read from, which has this version. */
static enum zs_status get_object(struct locator *locator, struct shard *shard, uint64_t version,
                                 struct zs_object **object, struct zs_error *err)
{
    if (shard->object == NULL)
        ZS_TRY(zs_shard_object_of(locator->array, shard->number, version, &shard->object, &locator->is_stale, err));
    *object = zs_cache_value(shard->object);
    return ZS_OK;
}

/* Locates chunks in the inner shards that hold them. Those of one inner shard follow each other: see zs_locate(). */
static enum zs_status locate_in_inner_shards(struct locator *locator, struct shard *shard, struct zs_error *err)
{
    const struct zs_array *array = locator->array;
    const int depth = shard->depth + 1;
    for (size_t i = 0, count; i < shard->count; i += count) {
        struct zs_location **wanted = shard->wanted + i;
        const uint64_t chunk = wanted[0]->chunk, inner = number_at_level(array, depth, chunk);
        struct zs_source bytes;
        bool is_empty;
        for (count = 1; i + count < shard->count && number_at_level(array, depth, wanted[count]->chunk) == inner;)
            count++;
        ZS_TRY(find_bytes(array, shard, zs_cache_value(shard->index), chunk, &is_empty, &bytes, err));
        if (is_empty) {
            mark(wanted, count, ZS_LOCATION_EMPTY);
            continue;
        }
        const enum zs_status status =
            shard->source != NULL ? ZS_OK : get_object(locator, shard, bytes.version, &bytes.object, err);
        if (status != ZS_OK)
            return zs_fail_in_chunk(array, chunk, status, err);
        ZS_TRY(locate_in_shard(locator, depth, &bytes, wanted, count, err));
    }
    return ZS_OK;
}

/* Locates count > 0 innermost chunks, all in one shard of this level. `source` are the shard's encoded bytes; NULL at
 * level 0. */
static enum zs_status locate_in_shard(struct locator *locator, int depth, const struct zs_source *source,
                                      struct zs_location **wanted, size_t count, struct zs_error *err)
{
    struct zs_array *array = locator->array;
    struct shard shard = {.wanted = wanted, .count = count, .depth = depth, .source = source};
    shard.number = number_at_level(array, depth, wanted[0]->chunk);
    shard.level = zs_grid_level(&array->grid, depth, shard.number, &shard.room);
    enum zs_status status = try_whole(locator, &shard, err);
    if (status == ZS_NOT_FOUND && depth == 0) {
        keep_absent(array, shard.number);
        mark(wanted, count, ZS_LOCATION_EMPTY);
        return ZS_OK;
    }
    if (status == ZS_OK)
        status = get_index(array, &shard, err);
    if (status != ZS_OK)
        return zs_fail_in_chunk(array, wanted[0]->chunk, status, err);
    status = depth + 2 == array->chain.count ? locate_innermost(array, &shard, err)
                                             : locate_in_inner_shards(locator, &shard, err);
    zs_cache_release(shard.object);
    zs_cache_release(shard.index);
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

enum zs_status zs_locate(struct zs_array *array, struct zs_location **locations, size_t n, bool is_by_index,
                         struct zs_pins *pins, struct zs_error *err)
{
    struct locator locator = {.array = array, .pins = pins, .is_by_index = is_by_index};
    const uint64_t shard = locations[0]->shard;
    if (zs_is_known_empty(array, shard)) {
        mark(locations, n, ZS_LOCATION_EMPTY);
        return ZS_OK;
    }
    if (array->chain.count == 1) {
        mark(locations, n, ZS_LOCATION_OBJECT);
        return ZS_OK;
    }
    if (array->chain.count > 2) {
        sorting = array;
        qsort(locations, n, sizeof *locations, by_shards);
    }
    enum zs_status status = locate_in_shard(&locator, 0, NULL, locations, n, err);
    for (int i = 0; i < ZS_STALE_RETRIES && status != ZS_OK; i++) {
        if (!locator.is_stale && !zs_shard_is_overtaken(array, shard))
            break;
        zs_shard_refresh(array, shard);
        locator.is_stale = false;
        status = locate_in_shard(&locator, 0, NULL, locations, n, err);
    }
    return status;
}

void zs_pins_release(struct zs_array *array, struct zs_pins *pins)
{
    for (size_t i = 0; i < pins->count; i++)
        zs_cache_release(pins->blobs[i]);
    free(pins->blobs);
    *pins = (struct zs_pins){0};
}
