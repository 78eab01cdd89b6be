/* One stored object: its index, entry by entry, and its chunks, each decoded. */
#include "validate/validate_private.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"

#define WHERE_SIZE 1024

/* "red/c/0/1, inner chunk [2,3]"; of a level between: "inner shard". Level 0 is the object itself. */
static const char *describe(const struct zs_checked_object *object, int depth, const uint64_t *origin,
                            char where[WHERE_SIZE])
{
    const struct zs_level *level = &object->levels[depth];
    int n = snprintf(where, WHERE_SIZE, "%s", object->key);
    for (int d = 0; depth > 0 && d < level->ndim && n > 0 && n < WHERE_SIZE; d++)
        n += snprintf(where + n, WHERE_SIZE - (size_t)n, "%s%llu%s",
                      d > 0             ? ","
                      : level->is_shard ? ", inner shard ["
                                        : ", inner chunk [",
                      (unsigned long long)(origin[d] / level->shape[d]), d == level->ndim - 1 ? "]" : "");
    return where;
}

static enum zs_status report(const struct zs_checked_object *object, int depth, const uint64_t *origin,
                             enum zs_status status, struct zs_error *err)
{
    char where[WHERE_SIZE];
    return zs_report_failure(object->c, describe(object, depth, origin, where), status, err);
}

/* Origin of inner chunk `number` of a level-k shard. */
static void origin_of(const struct zs_level *level, const uint64_t *shard_origin, uint64_t number, uint64_t *origin)
{
    for (int j = level->ndim - 1; j >= 0; j--) {
        const int d = level->axis[j];
        origin[d] = shard_origin[d] + number % level->grid[d] * level[1].shape[d];
        number /= level->grid[d];
    }
}

/* ---- Indexes ---- */

/* Entries that overlap without being the same; `ranges` are sorted. The same bytes for two chunks are allowed. */
static void check_overlaps(const struct zs_checked_object *object, const struct zs_checked_shard *shard)
{
    size_t widest = 0; /* of the ranges so far, the one that ends last */
    for (size_t i = 1; i < shard->range_count; i++) {
        const struct zs_range *a = &shard->ranges[widest], *b = &shard->ranges[i];
        const uint64_t end = a->offset + a->size;
        if (b->offset < end && (a->offset != b->offset || a->size != b->size)) {
            char where[WHERE_SIZE], expected[128], found[128];
            snprintf(expected, sizeof expected, "bytes of its own or the very same as entry %zu, %llu to %llu", a->tag,
                     (unsigned long long)a->offset, (unsigned long long)end);
            snprintf(found, sizeof found, "%llu to %llu", (unsigned long long)b->offset,
                     (unsigned long long)(b->offset + b->size));
            char what[64];
            snprintf(what, sizeof what, "shard index entry %zu overlaps another", b->tag);
            zs_report(object->c, ZS_SEVERITY_ERROR, describe(object, shard->level, shard->chunk.origin, where), what,
                      expected, found);
        }
        if (b->offset + b->size >= end)
            widest = i;
    }
}

/* Bytes of the shard that no entry names, beside its index: what a writer appended to, or aligned. */
static void count_dead(const struct zs_checked_object *object, const struct zs_checked_shard *shard)
{
    uint64_t end = 0, dead = shard->chunk.bytes.size - object->levels[shard->level].index_size;
    for (size_t i = 0; i < shard->range_count; i++) { /* sorted, and inside the shard; what overlaps counts once */
        const uint64_t from = zs_max_u64(end, shard->ranges[i].offset),
                       to = shard->ranges[i].offset + shard->ranges[i].size;
        if (to > from) {
            dead -= zs_min_u64(dead, to - from); /* a hostile entry may name the index */
            end = to;
        }
    }
    if (dead == 0)
        return;
    pthread_mutex_lock(&object->c->lock);
    object->c->summary->dead_bytes += dead;
    pthread_mutex_unlock(&object->c->lock);
    char where[WHERE_SIZE], what[128];
    snprintf(what, sizeof what, "%llu of %llu bytes are dead: no entry of the shard index names them",
             (unsigned long long)dead, (unsigned long long)shard->chunk.bytes.size);
    zs_report(object->c, ZS_SEVERITY_NOTE, describe(object, shard->level, shard->chunk.origin, where), what, NULL,
              NULL);
}

/* Turns the index into ranges; entries that lie outside are reported and left out. */
static enum zs_status take_entries(const struct zs_checked_object *object, struct zs_checked_shard *shard,
                                   const struct zs_shard_index *index, struct zs_error *err)
{
    const struct zs_level *level = &object->levels[shard->level];
    for (uint64_t i = 0; i < index->count; i++) {
        bool is_empty;
        struct zs_range r = {.tag = (size_t)i};
        enum zs_status status = zs_shard_index_entry(level, index, i, &is_empty, &r.offset, &r.size, err);
        const size_t most = zs_level_bound(&level[1]);
        if (status == ZS_OK && !is_empty && r.size > most)
            status = zs_fail(err, ZS_CORRUPT, "shard index entry %llu: expected at most %zu encoded bytes, found %llu",
                             (unsigned long long)i, most, (unsigned long long)r.size);
        if (status != ZS_OK)
            ZS_TRY(report(object, shard->level, shard->chunk.origin, status, err));
        else if (!is_empty)
            shard->ranges[shard->range_count++] = r;
    }
    return ZS_OK;
}

/* Reads and checks the index of a level-k shard. One that cannot be read is reported, and has no ranges. */
static enum zs_status shard_open(const struct zs_checked_object *object, int depth,
                                 const struct zs_checked_chunk *chunk, struct zs_checked_shard *shard,
                                 struct zs_error *err)
{
    const struct zs_level *level = &object->levels[depth];
    *shard = (struct zs_checked_shard){.level = depth, .chunk = *chunk};
    struct zs_shard_index *index = NULL;
    enum zs_status status = zs_source_index(level, &chunk->bytes, &index, err);
    if (status != ZS_OK)
        return report(object, depth, chunk->origin, status, err);
    shard->ranges = zs_calloc((size_t)level->inner_count, sizeof *shard->ranges);
    shard->groups = zs_calloc((size_t)level->inner_count, sizeof *shard->groups);
    status =
        shard->ranges != NULL && shard->groups != NULL ? take_entries(object, shard, index, err) : zs_fail_memory(err);
    free(index);
    if (status != ZS_OK)
        return status;
    shard->group_count = zs_range_plan(shard->ranges, shard->range_count,
                                       zs_range_policy_of(object->c->store->is_remote), shard->groups);
    check_overlaps(object, shard);
    count_dead(object, shard);
    return ZS_OK;
}

static void shard_close(struct zs_checked_shard *shard)
{
    free(shard->ranges);
    free(shard->groups);
}

/* ---- Chunks ---- */

static enum zs_status check_chunk(const struct zs_checked_object *object, int depth,
                                  const struct zs_checked_chunk *chunk, struct zs_error *err);

static enum zs_status check_innermost(const struct zs_checked_object *object, const struct zs_checked_chunk *chunk,
                                      struct zs_scratch *scratch, struct zs_error *err)
{
    const int k = object->array->chain.count - 1;
    const struct zs_level *level = &object->levels[k];
    struct zs_buffer *decoded = zs_scratch_buffer(scratch, ZS_SCRATCH_DECODED);
    ZS_TRY(zs_buffer_reset(decoded, (size_t)level->decoded_size, err));
    const enum zs_status status =
        zs_chunk_decode(level, scratch, chunk->bytes.memory, (size_t)chunk->bytes.size, decoded->data, err);
    if (status != ZS_OK)
        return report(object, k, chunk->origin, status, err);
    return zs_check_advance(object->c, 0, 1, level->decoded_size, err);
}

/* Fetches what a group of innermost chunks spans, unless it is at hand, and decodes each. */
static enum zs_status check_innermost_group(const struct zs_checked_object *object,
                                            const struct zs_checked_shard *shard, const struct zs_range_group *g,
                                            struct zs_scratch *scratch, struct zs_error *err)
{
    const struct zs_level *level = &object->levels[shard->level];
    const struct zs_source range = zs_source_range(&shard->chunk.bytes, g->offset, g->size);
    const unsigned char *bytes;
    const enum zs_status status =
        zs_source_fetch(&range, SIZE_MAX, zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED), &bytes, err);
    if (status != ZS_OK)
        return report(object, shard->level, shard->chunk.origin, status, err);
    for (size_t i = g->first; i < g->first + g->count; i++) {
        const struct zs_range *r = &shard->ranges[i];
        if (i > g->first && r->offset == r[-1].offset && r->size == r[-1].size)
            continue; /* the same bytes for several chunks: once is enough */
        struct zs_checked_chunk chunk = {.bytes = {.memory = bytes + (r->offset - g->offset), .size = r->size}};
        origin_of(level, shard->chunk.origin, r->tag, chunk.origin);
        ZS_TRY(check_innermost(object, &chunk, scratch, err));
    }
    return ZS_OK;
}

static enum zs_status check_group(const struct zs_checked_object *object, const struct zs_checked_shard *shard,
                                  size_t number, struct zs_error *err)
{
    const struct zs_level *level = &object->levels[shard->level];
    const struct zs_range_group *g = &shard->groups[number];
    if (!level[1].is_shard) {
        struct zs_scratch *scratch = zs_scratch_acquire();
        const enum zs_status status =
            scratch != NULL ? check_innermost_group(object, shard, g, scratch, err) : zs_fail_memory(err);
        zs_scratch_release(scratch);
        return status;
    }
    for (size_t i = g->first; i < g->first + g->count; i++) {
        const struct zs_range *r = &shard->ranges[i];
        if (i > g->first && r->offset == r[-1].offset && r->size == r[-1].size)
            continue;
        struct zs_checked_chunk chunk = {.bytes = zs_source_range(&shard->chunk.bytes, r->offset, r->size)};
        origin_of(level, shard->chunk.origin, r->tag, chunk.origin);
        ZS_TRY(check_chunk(object, shard->level + 1, &chunk, err));
    }
    return ZS_OK;
}

static enum zs_status check_shard(const struct zs_checked_object *object, int depth,
                                  const struct zs_checked_chunk *chunk, struct zs_error *err)
{
    struct zs_checked_shard s;
    enum zs_status status = shard_open(object, depth, chunk, &s, err);
    for (size_t i = 0; i < s.group_count && status == ZS_OK; i++)
        status = check_group(object, &s, i, err);
    shard_close(&s);
    return status;
}

/* Whether the encoded bytes of a chunk are not too many to be taken whole. */
static enum zs_status check_size(const struct zs_checked_object *object, int depth, const struct zs_source *bytes,
                                 struct zs_error *err)
{
    const size_t most = zs_level_bound(&object->levels[depth]);
    if (bytes->size > most)
        return zs_fail(err, ZS_CORRUPT, "expected at most %zu encoded bytes, found %llu", most,
                       (unsigned long long)bytes->size);
    if (bytes->size > object->c->memory)
        return zs_fail(err, ZS_UNSUPPORTED, "a chunk of %llu encoded bytes is more than the budget of %llu",
                       (unsigned long long)bytes->size, (unsigned long long)object->c->memory);
    return ZS_OK;
}

/* A shard with codecs of its own, decoded whole. */
static enum zs_status check_encoded_shard(const struct zs_checked_object *object, int depth,
                                          const struct zs_checked_chunk *chunk, struct zs_error *err)
{
    const struct zs_level *level = &object->levels[depth];
    const uint64_t limit = zs_min_u64(zs_level_bound(level), object->c->memory);
    struct zs_buffer decoded = {0};
    enum zs_status status = zs_source_decode(level, &chunk->bytes, (size_t)limit, &decoded, err);
    if (status == ZS_OK) {
        struct zs_checked_chunk shard = *chunk;
        shard.bytes = (struct zs_source){.memory = decoded.data, .size = decoded.size};
        status = check_shard(object, depth, &shard, err);
    } else {
        status = report(object, depth, chunk->origin, status, err);
    }
    zs_buffer_free(&decoded);
    return status;
}

/* A chunk of the innermost level, fetched if it is not at hand. */
static enum zs_status fetch_and_check(const struct zs_checked_object *object, int depth,
                                      const struct zs_checked_chunk *chunk, struct zs_error *err)
{
    struct zs_scratch *scratch = zs_scratch_acquire();
    ZS_TRY_MEMORY(scratch, err);
    struct zs_checked_chunk fetched = *chunk;
    enum zs_status status = zs_source_fetch(&chunk->bytes, SIZE_MAX, zs_scratch_buffer(scratch, ZS_SCRATCH_FETCHED),
                                            &fetched.bytes.memory, err);
    status = status == ZS_OK ? check_innermost(object, &fetched, scratch, err)
                             : report(object, depth, chunk->origin, status, err);
    zs_scratch_release(scratch);
    return status;
}

/* A chunk of level `depth`, whatever it is. */
static enum zs_status check_chunk(const struct zs_checked_object *object, int depth,
                                  const struct zs_checked_chunk *chunk, struct zs_error *err)
{
    const struct zs_level *level = &object->levels[depth];
    if (level->is_shard && level->bytes_codec_count == 0)
        return check_shard(object, depth, chunk, err);
    const enum zs_status status = check_size(object, depth, &chunk->bytes, err);
    if (status != ZS_OK)
        return report(object, depth, chunk->origin, status, err);
    return (level->is_shard ? check_encoded_shard : fetch_and_check)(object, depth, chunk, err);
}

/* ---- Objects ---- */

enum zs_status zs_checked_object_open(struct zs_check *check, const struct zs_checked_array *array, uint64_t number,
                                      struct zs_checked_object *object, struct zs_error *err)
{
    *object = (struct zs_checked_object){.c = check, .array = array};
    uint64_t position[ZS_MAX_NDIM];
    zs_grid_position(&array->grid, 0, number, position);
    object->levels = zs_grid_levels(&array->grid, number, &object->own_levels);
    object->key = zs_chunk_key(array->node->array, array->node->path, position);
    if (object->key == NULL || object->levels == NULL)
        return zs_fail_memory(err);
    const enum zs_status status = zs_object_open(check->store, object->key, &object->object, err);
    if (status == ZS_NOT_FOUND && !array->is_listed)
        return ZS_OK; /* no listing has it */
    if (status != ZS_OK)
        return zs_report_failure(check, object->key, status, err);
    pthread_mutex_lock(&check->lock);
    check->summary->objects++;
    pthread_mutex_unlock(&check->lock);
    const struct zs_level *level = &object->levels[0];
    object->is_shard = level->is_shard && level->bytes_codec_count == 0;
    const struct zs_checked_chunk whole = {.bytes = zs_source_of(object->object)};
    return object->is_shard ? shard_open(object, 0, &whole, &object->shard, err) : ZS_OK;
}

size_t zs_checked_object_tasks(const struct zs_checked_object *object)
{
    return object->object == NULL ? 0 : object->is_shard ? object->shard.group_count : 1;
}

enum zs_status zs_checked_object_check(const struct zs_checked_object *object, size_t task, struct zs_error *err)
{
    if (object->is_shard)
        return check_group(object, &object->shard, task, err);
    const struct zs_checked_chunk whole = {.bytes = zs_source_of(object->object)};
    return check_chunk(object, 0, &whole, err);
}

void zs_checked_object_close(struct zs_checked_object *object)
{
    shard_close(&object->shard);
    zs_object_close(object->object);
    free(object->own_levels);
    free(object->key);
}
