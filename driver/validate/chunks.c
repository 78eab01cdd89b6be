/* The objects of an array, side by side: their indexes, entry by entry, and their chunks, each decoded, at every level
 * of nesting. */
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/parallel.h"
#include "shard/shard.h"
#include "validate/validate_private.h"

#define WHERE_SIZE 1024
/* Requests under way at once to a remote store, as array/array.c has them. */
#define REMOTE_THREADS 32
/* Objects asked for one by one where they cannot be listed: an hour at the pace of a near server. */
#define MAX_PROBES ((uint64_t)1 << 24)

/* A run over the objects of an array. */
struct run {
    struct zs_check *c;
    const struct zs_checked_array *array;
    uint64_t memory; /* for the encoded bytes of one */
    int threads;     /* over the chunks of a shard: 1 where several objects are checked at once */
};

/* One stored object. */
struct object {
    const struct run *run;
    struct zs_check *c;
    const struct zs_level *levels; /* of this object */
    char *key;
};

/* A chunk of some level. */
struct chunk {
    int level;
    struct zs_source bytes;       /* encoded */
    uint64_t origin[ZS_MAX_NDIM]; /* its first element, from that of the stored object */
};

/* A shard whose index was read. */
struct shard {
    const struct object *object;
    const struct chunk *chunk;
    struct zs_source bytes;
    struct zs_range *ranges; /* of the inner chunks that are stored, sorted; tag: number in the index */
    size_t count;
};

/* "red/c/0/1, inner chunk [2,3]"; of a level between: "inner shard". Level 0 is the object itself. */
static const char *describe(const struct object *object, const struct chunk *chunk, char where[WHERE_SIZE])
{
    const struct zs_level *level = &object->levels[chunk->level];
    int n = snprintf(where, WHERE_SIZE, "%s", object->key);
    for (int d = 0; chunk->level > 0 && d < level->ndim && n > 0 && n < WHERE_SIZE; d++)
        n += snprintf(where + n, WHERE_SIZE - (size_t)n, "%s%llu%s",
                      d > 0             ? ","
                      : level->is_shard ? ", inner shard ["
                                        : ", inner chunk [",
                      (unsigned long long)(chunk->origin[d] / level->shape[d]), d == level->ndim - 1 ? "]" : "");
    return where;
}

static enum zs_status report(const struct object *object, const struct chunk *chunk, enum zs_status status,
                             struct zs_error *err)
{
    char where[WHERE_SIZE];
    return zs_report_failure(object->c, describe(object, chunk, where), status, err);
}

/* ---- Indexes ---- */

static int by_offset(const void *a, const void *b)
{
    const struct zs_range *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->size != y->size ? x->size < y->size ? -1 : 1 : (x->tag > y->tag) - (x->tag < y->tag);
}

static bool is_same(const struct zs_range *a, const struct zs_range *b)
{
    return a->offset == b->offset && a->size == b->size;
}

/* Reports entries that overlap without being the same, and counts the bytes that no entry names: what a writer appended
 * to, or aligned. The same bytes for two chunks are allowed. */
static void check_ranges(const struct shard *shard)
{
    const struct object *object = shard->object;
    const struct zs_range *widest = shard->ranges; /* of the ranges so far, the one that ends last */
    uint64_t end = 0, dead = shard->bytes.size - object->levels[shard->chunk->level].index_size;
    char where[WHERE_SIZE], what[128], expected[128], found[128];
    (void)describe(object, shard->chunk, where);
    for (size_t i = 0; i < shard->count; i++) {
        const struct zs_range *r = &shard->ranges[i];
        const uint64_t to = r->offset + r->size, from = zs_max_u64(end, r->offset);
        if (r->offset < end && !is_same(widest, r)) {
            snprintf(what, sizeof what, "shard index entry %zu overlaps another", r->tag);
            snprintf(expected, sizeof expected, "bytes of its own or the very same as entry %zu, %llu to %llu",
                     widest->tag, (unsigned long long)widest->offset, (unsigned long long)end);
            snprintf(found, sizeof found, "%llu to %llu", (unsigned long long)r->offset, (unsigned long long)to);
            zs_report(object->c, ZS_SEVERITY_ERROR, where, what, expected, found);
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
    (void)pthread_mutex_lock(&object->c->lock);
    object->c->dead_bytes += dead;
    (void)pthread_mutex_unlock(&object->c->lock);
    snprintf(what, sizeof what, "%llu of %llu bytes are dead: no entry of the shard index names them",
             (unsigned long long)dead, (unsigned long long)shard->bytes.size);
    zs_report(object->c, ZS_SEVERITY_NOTE, where, what, NULL, NULL);
}

/* Turns the index into ranges; entries that are wrong are reported and left out. */
static enum zs_status take_entries(struct shard *shard, const struct zs_shard_index *index, struct zs_error *err)
{
    const struct zs_level *level = &shard->object->levels[shard->chunk->level];
    const size_t most = zs_level_bound(&level[1]);
    shard->ranges = zs_calloc(index->count, sizeof *shard->ranges);
    ZS_TRY_MEMORY(shard->ranges, err);
    for (uint64_t i = 0; i < index->count; i++) {
        bool is_empty;
        struct zs_range r = {.tag = (size_t)i};
        enum zs_status status = zs_shard_index_entry(level, index, i, &is_empty, &r.offset, &r.size, err);
        if (status == ZS_OK && !is_empty && r.size > most)
            status = zs_fail(err, ZS_CORRUPT, "shard index entry %llu: expected at most %zu encoded bytes, found %llu",
                             (unsigned long long)i, most, (unsigned long long)r.size);
        if (status != ZS_OK)
            ZS_TRY(report(shard->object, shard->chunk, status, err));
        else if (!is_empty)
            shard->ranges[shard->count++] = r;
    }
    qsort(shard->ranges, shard->count, sizeof *shard->ranges, by_offset);
    check_ranges(shard);
    return ZS_OK;
}

/* ---- Chunks ---- */

static enum zs_status check_chunk(const struct object *object, const struct chunk *chunk, struct zs_error *err);

/* Inner chunk `item` of a shard, by its range. */
static enum zs_status check_inner(void *ctx, size_t item, struct zs_error *err)
{
    const struct shard *shard = ctx;
    const struct zs_level *level = &shard->object->levels[shard->chunk->level];
    const struct zs_range *r = &shard->ranges[item];
    uint64_t number = r->tag;
    if (item > 0 && is_same(r - 1, r))
        return ZS_OK; /* the same bytes for several chunks: once is enough */
    struct chunk inner = {.level = shard->chunk->level + 1,
                          .bytes = zs_source_range(&shard->bytes, r->offset, r->size)};
    for (int j = level->ndim - 1; j >= 0; j--) {
        const int d = level->axis[j];
        inner.origin[d] = shard->chunk->origin[d] + number % level->grid[d] * level[1].shape[d];
        number /= level->grid[d];
    }
    return check_chunk(shard->object, &inner, err);
}

/* A shard whose bytes codecs are undone. Small ones are fetched whole, others chunk by chunk. */
static enum zs_status check_shard(const struct object *object, const struct chunk *chunk,
                                  const struct zs_source *bytes, struct zs_error *err)
{
    struct shard shard = {.object = object, .chunk = chunk, .bytes = *bytes};
    struct zs_shard_index *index = NULL;
    struct zs_buffer whole = {0};
    enum zs_status status = ZS_OK;
    if (bytes->memory == NULL && bytes->size <= object->run->memory)
        status = zs_source_fetch(bytes, SIZE_MAX, &whole, &shard.bytes.memory, err);
    if (status == ZS_OK)
        status = zs_source_index(&object->levels[chunk->level], &shard.bytes, &index, err);
    if (status == ZS_OK)
        status = take_entries(&shard, index, err);
    else
        status = report(object, chunk, status, err);
    if (status == ZS_OK)
        status = zs_parallel_for(object->run->threads, shard.count, check_inner, &shard, err);
    free(index);
    free(shard.ranges);
    zs_buffer_free(&whole);
    return status;
}

/* Undoes the codecs of an innermost chunk, or of a shard that has such around it. */
static enum zs_status decode(const struct object *object, const struct chunk *chunk, struct zs_scratch *scratch,
                             struct zs_buffer *decoded, struct zs_error *err)
{
    const struct zs_level *level = &object->levels[chunk->level];
    const size_t most = zs_level_bound(level);
    const unsigned char *bytes;
    if (chunk->bytes.size > most)
        return zs_fail(err, ZS_CORRUPT, "expected at most %zu encoded bytes, found %llu", most,
                       (unsigned long long)chunk->bytes.size);
    if (chunk->bytes.size > object->c->memory)
        return zs_fail(err, ZS_UNSUPPORTED, "a chunk of %llu encoded bytes is more than the budget of %llu",
                       (unsigned long long)chunk->bytes.size, (unsigned long long)object->c->memory);
    if (level->is_shard)
        return zs_source_decode(level, &chunk->bytes, (size_t)zs_min_u64(most, object->c->memory), decoded, err);
    ZS_TRY(zs_source_fetch(&chunk->bytes, SIZE_MAX, zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED), &bytes, err));
    struct zs_buffer *out = zs_scratch_buffer(scratch, ZS_SCRATCH_DECODED);
    ZS_TRY(zs_buffer_reset(out, (size_t)level->decoded_size, err));
    return zs_chunk_decode(level, scratch, bytes, (size_t)chunk->bytes.size, out->data, err);
}

/* A chunk of any level. */
static enum zs_status check_chunk(const struct object *object, const struct chunk *chunk, struct zs_error *err)
{
    const struct zs_level *level = &object->levels[chunk->level];
    struct zs_buffer decoded = {0};
    if (level->is_shard && level->bytes_codec_count == 0)
        return check_shard(object, chunk, &chunk->bytes, err);
    struct zs_scratch *scratch = zs_scratch_acquire();
    ZS_TRY_MEMORY(scratch, err);
    enum zs_status status = decode(object, chunk, scratch, &decoded, err);
    zs_scratch_release(scratch);
    if (status != ZS_OK)
        status = report(object, chunk, status, err);
    else if (level->is_shard)
        status = check_shard(object, chunk, &(struct zs_source){.memory = decoded.data, .size = decoded.size}, err);
    else
        zs_check_count(object->c, 0, 1, level->decoded_size);
    zs_buffer_free(&decoded);
    return status;
}

/* ---- Objects ---- */

static enum zs_status check_object(void *ctx, size_t item, struct zs_error *err)
{
    const struct run *run = ctx;
    const struct zs_checked_array *array = run->array;
    struct zs_check *check = run->c;
    struct object object = {.run = run, .c = check};
    struct zs_level *own = NULL;
    struct zs_object *opened = NULL;
    uint64_t position[ZS_MAX_NDIM];
    const uint64_t number = array->is_listed ? array->objects[item] : item;
    zs_grid_position(&array->grid, 0, number, position);
    object.levels = zs_grid_levels(&array->grid, number, &own);
    object.key = zs_chunk_key(array->node->array, array->node->path, position);
    enum zs_status status = object.key != NULL && object.levels != NULL
                                ? zs_object_open(check->store, object.key, &opened, err)
                                : zs_fail_memory(err);
    if (status == ZS_OK) {
        zs_check_count(check, 1, 0, 0);
        const struct chunk whole = {.bytes = zs_source_of(opened)};
        status = check_chunk(&object, &whole, err);
    } else if (status == ZS_NOT_FOUND && !array->is_listed) {
        status = ZS_OK; /* no listing has it */
    } else if (status != ZS_NO_MEMORY) {
        status = zs_report_failure(check, object.key, status, err);
    }
    zs_object_close(opened);
    free(own);
    free(object.key);
    return status;
}

enum zs_status zs_check_objects(struct zs_check *check, const struct zs_checked_array *array, struct zs_error *err)
{
    const struct zs_level *level = &array->chain.levels[array->chain.count - 1];
    const uint64_t count = array->is_listed ? array->object_count : array->grid_count;
    if (level->decoded_size > check->memory) {
        zs_report_numbers(check, ZS_SEVERITY_UNCHECKED, array->node->path,
                          "its chunks are larger than the memory that may be used, in bytes", check->memory,
                          level->decoded_size);
        return ZS_OK;
    }
    if (!array->is_listed && count > MAX_PROBES) {
        zs_report_numbers(check, ZS_SEVERITY_UNCHECKED, array->node->path,
                          "the store cannot be listed, and there are more objects than are asked for one by one",
                          MAX_PROBES, count);
        return ZS_OK;
    }
    /* As many threads as have room for an encoded chunk and a decoded one each, over objects or over their chunks. */
    const uint64_t each = level->decoded_size + zs_level_bound(level), room = zs_max_u64(1, check->memory / each);
    const int cpus = zs_cpu_count(), wanted = check->store->is_remote && cpus < REMOTE_THREADS ? REMOTE_THREADS : cpus,
              threads = (int)zs_min_u64((uint64_t)wanted, room);
    const bool has_many = count >= (uint64_t)threads;
    struct run run = {check, array, check->memory / (has_many ? (uint64_t)threads : 1), has_many ? 1 : threads};
    return zs_parallel_for(has_many ? threads : 1, (size_t)count, check_object, &run, err);
}
