#include "shard/writer_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

enum zs_status zs_fail_in_shard(const struct zs_shard_writer *writer, enum zs_status status, struct zs_error *err)
{
    return zs_fail_in(err, status, "%s/%s", writer->store->root, writer->key);
}

static enum zs_status fail_lost(const struct zs_shard_writer *writer, struct zs_error *err)
{
    return zs_fail(err, ZS_IO, "%s/%s: an earlier write to it failed", writer->store->root, writer->key);
}

/* Number of innermost chunks in one inner chunk of this level; 0: more than 64 bits count. */
static uint64_t innermost_per_chunk(const struct zs_level *level)
{
    uint64_t n = 1;
    for (level++; level->is_shard; level++)
        n = zs_mul_u64(n, level->inner_count, &n) ? n : 0;
    return n;
}

struct zs_changed_shard zs_shard_root(const struct zs_shard_writer *writer)
{
    return (struct zs_changed_shard){writer->level, 0, innermost_per_chunk(writer->level), &writer->stored};
}

uint64_t zs_shard_put_count(const struct zs_shard_writer *writer, uint64_t first, uint64_t n)
{
    uint64_t count = 0;
    for (uint64_t i = first; i < first + n; i++)
        count += zs_shard_writer_has(writer, i);
    return count;
}

enum zs_status zs_shard_writer_create(struct zs_store *store, const char *key, const struct zs_level *level,
                                      enum zs_chunk_order order, struct zs_shard_writer **out, struct zs_error *err)
{
    struct zs_shard_writer *writer = zs_calloc(1, sizeof *writer);
    uint64_t count = innermost_per_chunk(level);
    if (writer != NULL && zs_mul_u64(count, level->inner_count, &count) && count > 0) {
        writer->store = store;
        writer->order = order;
        writer->key = zs_strdup(key);
        writer->level = level;
        writer->chunk_count = count;
        writer->entries = zs_calloc(count, 2 * sizeof *writer->entries);
    }
    if (writer == NULL || writer->key == NULL || writer->entries == NULL) {
        zs_shard_writer_free(writer);
        return zs_fail_memory(err);
    }
    memset(writer->entries, 0xff, 2 * sizeof *writer->entries * (size_t)count); /* ZS_INDEX_EMPTY */
    *out = writer;
    return ZS_OK;
}

void zs_shard_writer_free(struct zs_shard_writer *writer)
{
    if (writer == NULL)
        return;
    zs_writer_abort(writer->temp);
    zs_buffer_free(&writer->ahead);
    zs_stored_shard_clear(&writer->stored);
    zs_object_close(writer->object);
    free(writer->entries);
    free(writer->key);
    free(writer);
}

static void forget_stored(struct zs_shard_writer *writer)
{
    zs_stored_shard_clear(&writer->stored);
    zs_object_close(writer->object);
    writer->object = NULL;
}

enum zs_status zs_shard_writer_base(struct zs_shard_writer *writer, struct zs_shard_index *index,
                                    struct zs_object *object, struct zs_error *err)
{
    forget_stored(writer);
    writer->object = object;
    if (index != NULL) {
        writer->stored = (struct zs_stored_shard){.source = zs_source_of(object), .index = index};
        return ZS_OK;
    }
    if (object == NULL)
        return ZS_OK;
    const struct zs_source source = zs_source_of(object);
    enum zs_status status = zs_stored_shard_open(writer->level, &source, &writer->stored, err);
    if (status != ZS_OK)
        status = zs_fail_in_shard(writer, status, err);
    if (zs_object_is_overtaken(object, status))
        status = ZS_CONFLICT; /* opening it again gives the object of another writer */
    if (status != ZS_OK)
        forget_stored(writer);
    return status;
}

const struct zs_object *zs_shard_writer_object(const struct zs_shard_writer *writer)
{
    return writer->object;
}

enum zs_status zs_shard_writer_file(const struct zs_shard_writer *writer, struct zs_file **file, struct zs_error *err)
{
    *file = NULL;
    const enum zs_status status = zs_file_open(writer->store, writer->key, file, err);
    if (status != ZS_OK)
        return status == ZS_UNSUPPORTED || status == ZS_NOT_FOUND ? ZS_OK : status;
    if ((*file)->version == writer->object->version)
        return ZS_OK;
    zs_file_close(*file);
    *file = NULL;
    return ZS_OK;
}

uint64_t zs_shard_writer_most_bytes(const struct zs_shard_writer *writer)
{
    return writer->temp_size + (writer->object != NULL ? writer->object->size : 0);
}

/* ---- Putting and getting ---- */

/* Creates the temporary file. After a failed write the end of the former one is unknown: what was put before is copied
 * from there. */
static enum zs_status create_temp(struct zs_shard_writer *writer, struct zs_error *err)
{
    const struct zs_level *level = writer->level;
    struct zs_sink sink = {0};
    ZS_TRY(zs_store_create(writer->store, writer->key, &sink.out, err));
    enum zs_status status = ZS_OK;
    if (level->index_at_start && !level[1].is_shard && level->bytes_codec_count == 0)
        status = zs_sink_reserve_index(&sink, level, err);
    uint64_t at = sink.size;
    for (uint64_t i = 0; i < writer->chunk_count && status == ZS_OK; i++)
        if (writer->entries[2 * i] != ZS_INDEX_EMPTY)
            status = zs_build_copy(writer, NULL, writer->entries[2 * i], writer->entries[2 * i + 1], &sink, err);
    for (uint64_t i = 0; i < writer->chunk_count && status == ZS_OK; i++)
        if (writer->entries[2 * i] != ZS_INDEX_EMPTY) {
            writer->entries[2 * i] = at;
            at += writer->entries[2 * i + 1];
        }
    zs_writer_abort(status == ZS_OK ? writer->temp : sink.out);
    ZS_TRY(status);
    writer->temp = sink.out;
    writer->temp_size = sink.size;
    writer->is_broken = false;
    return ZS_OK;
}

static enum zs_status prepare_temp(struct zs_shard_writer *writer, struct zs_error *err)
{
    if (writer->is_lost)
        return fail_lost(writer, err);
    return writer->temp != NULL && !writer->is_broken ? ZS_OK : create_temp(writer, err);
}

enum zs_status zs_shard_writer_put(struct zs_shard_writer *writer, uint64_t number, const void *data, size_t n,
                                   struct zs_error *err)
{
    uint64_t *entry = &writer->entries[2 * number];
    if (data != NULL) {
        ZS_TRY(prepare_temp(writer, err));
        const enum zs_status status = zs_writer_write(writer->temp, data, n, err);
        writer->is_broken = status != ZS_OK;
        ZS_TRY(status);
    }
    writer->put_count += !zs_shard_writer_has(writer, number);
    writer->replaced += entry[0] != ZS_INDEX_EMPTY;
    entry[0] = data != NULL ? writer->temp_size : ZS_INDEX_EMPTY;
    entry[1] = data != NULL ? n : 0;
    writer->temp_size += entry[1];
    return ZS_OK;
}

uint64_t zs_shard_writer_put_count(const struct zs_shard_writer *writer)
{
    return writer->put_count;
}

bool zs_shard_writer_has(const struct zs_shard_writer *writer, uint64_t number)
{
    return writer->entries[2 * number + 1] != ZS_INDEX_EMPTY;
}

/* Reads the encoded bytes of an innermost chunk of a shard; `number` is that within it. */
static enum zs_status get_stored(const struct zs_changed_shard *shard, uint64_t number, bool *is_empty,
                                 struct zs_buffer *out, struct zs_error *err)
{
    const struct zs_level *level = shard->level;
    struct zs_source source;
    ZS_TRY(zs_stored_shard_chunk(level, shard->stored, number / shard->each, is_empty, &source, err));
    if (*is_empty)
        return ZS_OK;
    if (level[1].is_shard) {
        struct zs_stored_shard stored = {0};
        const struct zs_changed_shard inner = {level + 1, 0, shard->each / level[1].inner_count, &stored};
        enum zs_status status = zs_stored_shard_open(level + 1, &source, &stored, err);
        if (status == ZS_OK)
            status = get_stored(&inner, number % shard->each, is_empty, out, err);
        zs_stored_shard_clear(&stored);
        return status;
    }
    if (source.size > zs_level_bound(&level[1]))
        return zs_fail(err, ZS_CORRUPT, "expected at most %zu encoded bytes, found %llu", zs_level_bound(&level[1]),
                       (unsigned long long)source.size);
    ZS_TRY(zs_buffer_reset(out, (size_t)source.size, err));
    ZS_TRY(zs_source_read(&source, 0, (size_t)source.size, out->data, err));
    out->size = (size_t)source.size;
    return ZS_OK;
}

enum zs_status zs_shard_writer_get_stored(struct zs_shard_writer *writer, uint64_t number, bool *is_empty,
                                          struct zs_buffer *out, struct zs_error *err)
{
    const struct zs_changed_shard root = zs_shard_root(writer);
    out->size = 0;
    const enum zs_status status = get_stored(&root, number, is_empty, out, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in_shard(writer, status, err);
}

enum zs_status zs_shard_writer_get(struct zs_shard_writer *writer, uint64_t number, bool *is_empty,
                                   struct zs_buffer *out, struct zs_error *err)
{
    const uint64_t *entry = &writer->entries[2 * number];
    if (!zs_shard_writer_has(writer, number))
        return zs_shard_writer_get_stored(writer, number, is_empty, out, err);
    out->size = 0;
    *is_empty = entry[0] == ZS_INDEX_EMPTY;
    if (*is_empty)
        return ZS_OK;
    if (writer->is_lost)
        return fail_lost(writer, err);
    ZS_TRY(zs_buffer_reset(out, (size_t)entry[1], err));
    ZS_TRY(zs_writer_read(writer->temp, entry[0], (size_t)entry[1], out->data, err));
    out->size = (size_t)entry[1];
    return ZS_OK;
}
