/* The objects of an array, side by side: the indexes of shards, entry by entry, and every chunk, by the driver's own
 * reading. */
#include <stdio.h>
#include <stdlib.h>

#include "array/array_private.h"
#include "array/plan.h"
#include "base/parallel.h"
#include "shard/shard.h"
#include "validate/validate.h"

/* ---- Indexes ---- */

static int by_offset(const void *a, const void *b)
{
    const struct zs_range *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->size != y->size ? x->size < y->size ? -1 : 1 : (x->tag > y->tag) - (x->tag < y->tag);
}

/* Reports entries that overlap without being the same, and counts the bytes that no entry names: what a writer appended
 * to, or aligned. The same bytes for two chunks are allowed. */
static void check_ranges(struct zs_check *check, const char *key, uint64_t size, uint64_t index_size,
                         const struct zs_range *ranges, size_t count)
{
    const struct zs_range *widest = ranges; /* of the ranges so far, the one that ends last */
    uint64_t end = 0, dead = size - index_size;
    char what[128], expected[128], found[128];
    for (size_t i = 0; i < count; i++) {
        const struct zs_range *r = &ranges[i];
        const uint64_t to = r->offset + r->size, from = zs_max_u64(end, r->offset);
        if (r->offset < end && (widest->offset != r->offset || widest->size != r->size)) {
            snprintf(what, sizeof what, "shard index entry %zu overlaps another", r->tag);
            snprintf(expected, sizeof expected, "bytes of its own or the very same as entry %zu, %llu to %llu",
                     widest->tag, (unsigned long long)widest->offset, (unsigned long long)end);
            snprintf(found, sizeof found, "%llu to %llu", (unsigned long long)r->offset, (unsigned long long)to);
            zs_report(check, ZS_SEVERITY_ERROR, key, what, expected, found);
        }
        if (to > from)
            dead -= zs_min_u64(dead, to - from); /* a hostile entry may name the index */
        if (to >= end) {
            widest = r;
            end = to;
        }
    }
    if (dead == 0)
        return;
    (void)pthread_mutex_lock(&check->lock);
    check->dead_bytes += dead;
    (void)pthread_mutex_unlock(&check->lock);
    snprintf(what, sizeof what, "%llu of %llu bytes are dead: no entry of the shard index names them",
             (unsigned long long)dead, (unsigned long long)size);
    zs_report(check, ZS_SEVERITY_NOTE, key, what, NULL, NULL);
}

/* Reads the index of a stored shard, and checks how its entries lie. An entry that is wrong is left to reading its
 * chunk. */
static enum zs_status check_index(struct zs_check *check, const char *key, const struct zs_level *level,
                                  struct zs_object *object, struct zs_error *err)
{
    const struct zs_source bytes = zs_source_of(object);
    struct zs_shard_index *index = NULL;
    size_t count = 0;
    ZS_TRY(zs_source_index(level, &bytes, &index, err));
    struct zs_range *ranges = zs_calloc(index->count, sizeof *ranges);
    for (uint64_t i = 0; ranges != NULL && i < index->count; i++) {
        struct zs_range *r = &ranges[count];
        bool is_empty;
        r->tag = (size_t)i;
        count += zs_shard_index_entry(level, index, i, &is_empty, &r->offset, &r->size, NULL) == ZS_OK && !is_empty;
    }
    free(index);
    ZS_TRY_MEMORY(ranges, err);
    qsort(ranges, count, sizeof *ranges, by_offset);
    check_ranges(check, key, bytes.size, level->index_size, ranges, count);
    free(ranges);
    return ZS_OK;
}

/* ---- Chunks ---- */

/* What a read decoded. */
struct decoded {
    const struct zs_array *array;
    pthread_mutex_t lock; /* of what follows */
    uint64_t chunks, bytes;
};

/* Counts a chunk: a zs_take_fn. */
static void take(void *ctx, void *data, const uint64_t *start, const uint64_t *count, const void *src,
                 const ptrdiff_t *stride)
{
    struct decoded *decoded = ctx;
    uint64_t bytes = decoded->array->meta->dtype.size;
    (void)data, (void)start, (void)stride;
    if (src == decoded->array->meta->fill_value) /* the chunk is not stored */
        return;
    for (int d = 0; d < decoded->array->meta->ndim; d++)
        bytes *= count[d];
    (void)pthread_mutex_lock(&decoded->lock);
    decoded->chunks++;
    decoded->bytes += bytes;
    (void)pthread_mutex_unlock(&decoded->lock);
}

/* Decodes what a chunk of some level has in the array, and counts it. */
static enum zs_status read_chunk(struct zs_check *check, struct zs_array *array, int level, uint64_t number,
                                 struct zs_error *err)
{
    struct decoded decoded = {.array = array};
    struct zs_window window = {.data = NULL};
    zs_grid_extent(&array->grid, level, number, window.start, window.count);
    for (int d = 0; d < array->meta->ndim; d++)
        window.count[d] = zs_min_u64(window.count[d], array->meta->shape[d] - window.start[d]);
    (void)pthread_mutex_init(&decoded.lock, NULL);
    const enum zs_status status = zs_array_take_windows(array, &window, 1, take, &decoded, err);
    (void)pthread_mutex_destroy(&decoded.lock);
    if (status == ZS_OK)
        zs_check_count(check, 0, decoded.chunks, decoded.bytes);
    return status;
}

/* Decodes a stored object; where that fails chunk by chunk, which are as many findings. */
static enum zs_status read_object(struct zs_check *check, struct zs_array *array, uint64_t number, const char *key,
                                  struct zs_error *err)
{
    uint64_t start[ZS_MAX_NDIM], length[ZS_MAX_NDIM], low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], at[ZS_MAX_NDIM];
    const bool is_whole = array->chain.count == 1 || array->chain.levels[0].bytes_codec_count > 0;
    const enum zs_status status = read_chunk(check, array, 0, number, err);
    if (status == ZS_OK || is_whole)
        return zs_report_failure(check, key, status, err);
    zs_grid_extent(&array->grid, 0, number, start, length);
    for (int d = 0; d < array->meta->ndim; d++) {
        const uint64_t end = zs_min_u64(start[d] + length[d], array->meta->shape[d]);
        at[d] = low[d] = zs_grid_find(&array->grid, 1, d, start[d]);
        high[d] = zs_grid_find(&array->grid, 1, d, end - 1) + 1;
    }
    do {
        const enum zs_status one = read_chunk(check, array, 1, zs_grid_number(&array->grid, 1, at), err);
        ZS_TRY(zs_report_failure(check, key, one, err));
    } while (zs_next_position(array->meta->ndim, at, low, high));
    return ZS_OK;
}

/* ---- Objects ---- */

static enum zs_status check_object(void *ctx, size_t item, struct zs_error *err)
{
    const struct zs_checked_array *checked = ctx;
    struct zs_check *check = checked->check;
    struct zs_array *array = checked->array;
    const uint64_t number = checked->is_listed ? checked->objects[item] : item;
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&array->grid, 0, number, &room);
    struct zs_object *object = NULL;
    char *key;
    ZS_TRY(zs_shard_key(array, number, &key, err));
    enum zs_status status = zs_object_open(check->store, key, &object, err);
    const bool is_absent = status == ZS_NOT_FOUND && !checked->is_listed; /* no listing has it */
    if (status == ZS_OK) {
        zs_check_count(check, 1, 0, 0);
        const uint64_t size = zs_max_u64(object->size, level->decoded_size + level->index_size);
        if (level->is_shard && level->bytes_codec_count == 0)
            status = check_index(check, key, level, object, err);
        else if (level->is_shard && size > check->memory)
            status = zs_fail(err, ZS_UNSUPPORTED,
                             "a shard that is encoded as a whole: expected at most the %llu bytes that may be used, "
                             "found %llu", (unsigned long long)check->memory, (unsigned long long)size);
    }
    zs_object_close(object);
    if (status == ZS_OK)
        status = read_object(check, array, number, key, err);
    else
        status = is_absent ? ZS_OK : zs_report_failure(check, key, status, err);
    free(key);
    return status;
}

enum zs_status zs_check_objects(struct zs_checked_array *array, struct zs_error *err)
{
    struct zs_check *check = array->check;
    const struct zs_level *level = array->array->innermost;
    const uint64_t count = array->is_listed ? array->object_count : array->grid_count;
    if (level->decoded_size > check->memory) {
        zs_report_numbers(check, ZS_SEVERITY_UNCHECKED, array->node->path,
                          "its chunks are larger than the memory that may be used, in bytes", check->memory,
                          level->decoded_size);
        return ZS_OK;
    }
    /* As many threads as have room for an encoded chunk, or shard that is encoded as a whole, and a decoded one each,
     * over objects or over their chunks. */
    const bool is_whole = array->array->chain.levels[0].bytes_codec_count > 0;
    const struct zs_level *largest = is_whole ? &array->array->chain.levels[0] : level;
    const uint64_t each = largest->decoded_size + zs_level_bound(largest), room = zs_max_u64(1, check->memory / each);
    const int threads = (int)zs_min_u64((uint64_t)array->array->fetch_threads, room);
    const bool are_many = count >= (uint64_t)threads;
    struct zs_array *reader = array->array;
    reader->threads = reader->fetch_threads = reader->chunk_threads = are_many ? 1 : threads;
    reader->block_threshold = UINT64_MAX; /* all of each chunk is decoded */
    return zs_parallel_for(are_many ? threads : 1, (size_t)count, check_object, array, err);
}
