#include "shard/walk.h"

#include <stdlib.h>
#include <string.h>

/* ---- Bytes ---- */

struct zs_source zs_source_of(struct zs_object *object)
{
    return (struct zs_source){.object = object, .size = zs_object_size(object), .version = object->version};
}

struct zs_source zs_source_range(const struct zs_source *source, uint64_t offset, uint64_t size)
{
    struct zs_source range = *source;
    range.offset = source->offset + offset;
    range.size = size;
    if (source->memory != NULL)
        range.memory = source->memory + offset;
    return range;
}

enum zs_status zs_source_read(const struct zs_source *source, uint64_t offset, size_t n, void *data,
                              struct zs_error *err)
{
    if (source->memory == NULL)
        return zs_object_read(source->object, source->offset + offset, n, data, err);
    memcpy(data, source->memory + offset, n);
    return ZS_OK;
}

static enum zs_status check_size(const struct zs_source *source, uint64_t limit, struct zs_error *err)
{
    return source->size <= limit ? ZS_OK
                                 : zs_fail(err, ZS_CORRUPT, "expected at most %llu encoded bytes, found %llu",
                                           (unsigned long long)limit, (unsigned long long)source->size);
}

enum zs_status zs_source_fetch(const struct zs_source *source, size_t limit, struct zs_buffer *buffer,
                               const unsigned char **bytes, struct zs_error *err)
{
    ZS_TRY(check_size(source, limit, err));
    *bytes = source->memory;
    if (source->memory != NULL)
        return ZS_OK;
    ZS_TRY(zs_buffer_reset(buffer, (size_t)source->size, err));
    ZS_TRY(zs_object_read(source->object, source->offset, (size_t)source->size, buffer->data, err));
    *bytes = buffer->data;
    return ZS_OK;
}

/* ---- A step down ---- */

enum zs_status zs_source_decode(const struct zs_level *level, const struct zs_source *encoded, size_t limit,
                                struct zs_buffer *decoded, struct zs_error *err)
{
    struct zs_buffer fetched = {0};
    const unsigned char *bytes;
    enum zs_status status = zs_source_fetch(encoded, limit, &fetched, &bytes, err);
    struct zs_scratch *scratch = status == ZS_OK ? zs_scratch_acquire() : NULL;
    if (status == ZS_OK && scratch == NULL)
        status = zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_bytes_decode_up_to(level->bytes_codecs, level->bytes_codec_count, scratch, bytes,
                                       (size_t)encoded->size, limit, decoded, err);
    zs_scratch_release(scratch);
    zs_buffer_free(&fetched);
    return status;
}

enum zs_status zs_source_index(const struct zs_level *level, const struct zs_source *shard, struct zs_shard_index **out,
                               struct zs_error *err)
{
    uint64_t at;
    ZS_TRY(
        zs_shard_index_offset(level, shard->size, &at, err)); /* before allocating: it may be too small for an index */
    struct zs_shard_index *index = zs_shard_index_alloc(level);
    ZS_TRY_MEMORY(index, err);
    index->shard_size = shard->size;
    index->version = shard->version;
    enum zs_status status = zs_source_read(shard, at, (size_t)level->index_size, index->entries, err);
    if (status == ZS_OK)
        status = zs_shard_index_decode(level, index, err);
    if (status == ZS_OK)
        *out = index;
    else
        free(index);
    return status;
}

enum zs_status zs_source_chunk(const struct zs_level *level, const struct zs_source *shard,
                               const struct zs_shard_index *index, uint64_t number, uint64_t limit, bool *is_empty,
                               struct zs_source *chunk, struct zs_error *err)
{
    uint64_t offset = 0, size = 0;
    ZS_TRY(zs_shard_index_entry(level, index, number, is_empty, &offset, &size, err));
    *chunk = zs_source_range(shard, offset, size);
    chunk->version = index->version;
    return *is_empty ? ZS_OK : check_size(chunk, limit, err);
}

/* ---- A shard as it is stored ---- */

enum zs_status zs_stored_shard_open(const struct zs_level *level, const struct zs_source *encoded,
                                    struct zs_stored_shard *shard, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    shard->source = *encoded;
    if (level->bytes_codec_count > 0) {
        status = zs_source_decode(level, encoded, zs_level_bound(level), &shard->decoded, err);
        shard->source =
            (struct zs_source){.memory = shard->decoded.data, .size = shard->decoded.size, .version = encoded->version};
    }
    if (status == ZS_OK)
        status = zs_source_index(level, &shard->source, &shard->index, err);
    if (status != ZS_OK)
        zs_stored_shard_clear(shard);
    return status;
}

void zs_stored_shard_clear(struct zs_stored_shard *shard)
{
    zs_buffer_free(&shard->decoded);
    free(shard->index);
    *shard = (struct zs_stored_shard){0};
}

enum zs_status zs_stored_shard_chunk(const struct zs_level *level, const struct zs_stored_shard *shard, uint64_t number,
                                     bool *is_empty, struct zs_source *chunk, struct zs_error *err)
{
    if (shard->index != NULL)
        return zs_source_chunk(level, &shard->source, shard->index, number, UINT64_MAX, is_empty, chunk, err);
    *is_empty = true;
    *chunk = (struct zs_source){0};
    return ZS_OK;
}
