/* Building a shard from the chunks that were put and those that are stored, and publishing it. */
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/checked.h"
#include "shard/shard.h"
#include "shard/writer_private.h"

/* A shard of 64 MiB, as AUTO makes them, is fetched in one request: requests cost money, and several at once gain
 * little. That is done where at least one part in COPIED_SHARE of it is copied: one changed chunk among many does not
 * cut it into many requests. */
#define ROOM_BYTES ((uint64_t)72 << 20)
#define COPIED_SHARE 8

#define COPY_BYTES ((size_t)1 << 20)
#define REMOTE_COPY_BYTES ((size_t)16 << 20) /* for bytes that are too large to be fetched ahead */

/* ---- Bytes going out ---- */

static enum zs_status sink_write(struct zs_sink *sink, const void *data, size_t n, struct zs_error *err)
{
    if (sink->out != NULL)
        ZS_TRY(zs_writer_write(sink->out, data, n, err));
    else if (sink->file != NULL)
        ZS_TRY(zs_file_write(sink->file, sink->size, data, n, err));
    else
        ZS_TRY(zs_buffer_append(sink->memory, data, n, err));
    sink->size += n;
    return ZS_OK;
}

static enum zs_status sink_patch(struct zs_sink *sink, uint64_t offset, const void *data, size_t n,
                                 struct zs_error *err)
{
    if (sink->out != NULL)
        return zs_writer_patch(sink->out, offset, data, n, err);
    if (sink->file != NULL)
        return zs_file_write(sink->file, offset, data, n, err);
    memcpy(sink->memory->data + offset, data, n);
    return ZS_OK;
}

enum zs_status zs_sink_reserve_index(struct zs_sink *sink, const struct zs_level *level, struct zs_error *err)
{
    unsigned char *zeros = zs_calloc((size_t)level->index_size, 1);
    ZS_TRY_MEMORY(zeros, err);
    const enum zs_status status = sink_write(sink, zeros, (size_t)level->index_size, err);
    free(zeros);
    return status;
}

enum zs_status zs_sink_write_index(struct zs_sink *sink, const struct zs_level *level,
                                   const struct zs_shard_index *index, struct zs_error *err)
{
    void *bytes = malloc((size_t)level->index_size);
    ZS_TRY_MEMORY(bytes, err);
    zs_shard_index_encode(level, index, bytes);
    const enum zs_status status = level->index_at_start ? sink_patch(sink, 0, bytes, (size_t)level->index_size, err)
                                                        : sink_write(sink, bytes, (size_t)level->index_size, err);
    free(bytes);
    return status;
}

/* ---- Publishing ---- */

/* The encoded bytes that are stored of an inner chunk. */
static enum zs_status find_stored(const struct zs_shard_writer *writer, const struct zs_changed_shard *shard,
                                  uint64_t number, bool *is_absent, struct zs_source *source, struct zs_error *err)
{
    const enum zs_status status =
        zs_stored_shard_chunk(shard->level, shard->stored, number, is_absent, source, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in_shard(writer, status, err);
}

/* Opens what is stored of an inner shard, into `stored`, which is zero before and to be cleared. */
static enum zs_status open_inner(const struct zs_shard_writer *writer, const struct zs_changed_shard *shard,
                                 uint64_t number, struct zs_stored_shard *stored, struct zs_changed_shard *inner,
                                 struct zs_error *err)
{
    struct zs_source source;
    bool is_absent;
    *inner = (struct zs_changed_shard){shard->level + 1, shard->first + number * shard->each,
                                       shard->each / shard->level[1].inner_count, stored};
    if (zs_shard_put_count(writer, inner->first, shard->each) == shard->each) /* nothing stored is needed */
        return ZS_OK;
    ZS_TRY(find_stored(writer, shard, number, &is_absent, &source, err));
    const enum zs_status status = is_absent ? ZS_OK : zs_stored_shard_open(inner->level, &source, stored, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in_shard(writer, status, err);
}

/* Bytes that are taken from the stored object, of its chunks that were not put; counts up to `most`, or beyond. */
static uint64_t kept_bytes(const struct zs_shard_writer *writer, uint64_t most)
{
    const struct zs_shard_index *index = writer->stored.index;
    const uint64_t each = zs_shard_root(writer).each;
    uint64_t bytes = 0;
    for (uint64_t i = 0; index != NULL && i < index->count && bytes < most; i++) {
        const uint64_t *entry = &index->entries[2 * i];
        const bool is_empty = entry[0] == ZS_INDEX_EMPTY && entry[1] == ZS_INDEX_EMPTY;
        if (!is_empty && zs_shard_put_count(writer, i * each, each) == 0)
            bytes += zs_max_u64(1, zs_min_u64(entry[1], most));
    }
    return bytes;
}

/* Finds whether temp is the shard but for its index: no chunk comes from elsewhere, no bytes are wasted, all are in the
 * wanted order. */
static enum zs_status check_temp(const struct zs_shard_writer *writer, bool *is_final, struct zs_error *err)
{
    const struct zs_level *level = writer->level;
    *is_final = false;
    if (writer->temp == NULL || writer->replaced != 0 || writer->is_broken || level[1].is_shard ||
        level->bytes_codec_count > 0 || kept_bytes(writer, 1) > 0)
        return ZS_OK;
    uint64_t *numbers = zs_calloc((size_t)level->inner_count, sizeof *numbers);
    ZS_TRY_MEMORY(numbers, err);
    const enum zs_status status = zs_chunk_order_list(level, writer->order, numbers, err);
    *is_final = status == ZS_OK && zs_chunks_lie_in(writer->entries, numbers, level->inner_count);
    free(numbers);
    return status;
}

/* Sets whether so much of a remote object is copied that it is fetched in large pieces. */
static void plan_ahead(struct zs_shard_writer *writer)
{
    const uint64_t size = writer->object != NULL ? writer->object->size : 0;
    writer->ahead.size = 0;
    writer->ahead_from = 0;
    writer->reads_ahead = size > 0 && writer->object->store->is_remote && writer->level->bytes_codec_count == 0 &&
                          kept_bytes(writer, size) >= size / COPIED_SHARE;
}

/* The bytes [at, at + size) of a remote object, fetched with what follows: all of an object that is not large. NULL
 * where they are read alone: they are too many, or come before what was fetched, as chunks in no order do. */
static enum zs_status read_ahead(struct zs_shard_writer *writer, uint64_t at, uint64_t size,
                                 const unsigned char **bytes, struct zs_error *err)
{
    const uint64_t all = writer->object->size, room = zs_min_u64(ROOM_BYTES, zs_budget() / 2);
    const uint64_t end = writer->ahead_from + writer->ahead.size;
    *bytes = NULL;
    if (at >= writer->ahead_from && at <= end && size <= end - at) {
        *bytes = writer->ahead.data + (at - writer->ahead_from);
        return ZS_OK;
    }
    if (!writer->reads_ahead || size > room || at < writer->ahead_from)
        return ZS_OK;
    const uint64_t from = all <= room ? 0 : at, n = zs_min_u64(room, all - from);
    writer->ahead.size = 0;
    ZS_TRY(zs_buffer_reset(&writer->ahead, (size_t)n, err));
    ZS_TRY(zs_object_read(writer->object, from, (size_t)n, writer->ahead.data, err));
    writer->ahead.size = (size_t)n;
    writer->ahead_from = from;
    *bytes = writer->ahead.data + (at - from);
    return ZS_OK;
}

enum zs_status zs_build_copy(struct zs_shard_writer *writer, const struct zs_source *from, uint64_t offset,
                             uint64_t size, struct zs_sink *sink, struct zs_error *err)
{
    const bool is_remote = from != NULL && from->memory == NULL && from->object->store->is_remote;
    const unsigned char *here = NULL;
    if (is_remote && size > 0)
        ZS_TRY(read_ahead(writer, from->offset + offset, size, &here, err));
    if (here != NULL)
        return sink_write(sink, here, (size_t)size, err);
    struct zs_buffer buffer = {0};
    enum zs_status status = ZS_OK;
    const size_t most = is_remote ? REMOTE_COPY_BYTES : COPY_BYTES;
    while (size > 0 && status == ZS_OK) {
        const size_t part = size < most ? (size_t)size : most;
        status = zs_buffer_reset(&buffer, part, err);
        if (status == ZS_OK)
            status = from != NULL ? zs_source_read(from, offset, part, buffer.data, err)
                                  : zs_writer_read(writer->temp, offset, part, buffer.data, err);
        if (status == ZS_OK)
            status = sink_write(sink, buffer.data, part, err);
        offset += part;
        size -= part;
    }
    zs_buffer_free(&buffer);
    return status;
}

static enum zs_status build(struct zs_shard_writer *writer, const struct zs_changed_shard *shard, struct zs_sink *sink,
                            bool *is_empty, struct zs_error *err);

/* Like build(), in memory: a shard in another one, or one that is encoded as a whole. Nothing is written of an empty
 * one, unless it must_exist. */
static enum zs_status build_in_memory(struct zs_shard_writer *writer, const struct zs_changed_shard *shard,
                                      bool must_exist, struct zs_sink *sink, bool *is_empty, struct zs_error *err)
{
    const struct zs_level *level = shard->level;
    struct zs_buffer plain = {0};
    struct zs_sink memory = {.memory = &plain};
    struct zs_scratch *scratch = zs_scratch_acquire();
    const void *encoded;
    size_t n;
    enum zs_status status = scratch != NULL ? build(writer, shard, &memory, is_empty, err) : zs_fail_memory(err);
    const bool is_written = status == ZS_OK && (must_exist || !*is_empty);
    if (is_written)
        status = zs_bytes_encode(level->bytes_codecs, level->bytes_codec_count, scratch, plain.data, plain.size,
                                 &encoded, &n, err);
    if (is_written && status == ZS_OK)
        status = sink_write(sink, encoded, n, err);
    zs_scratch_release(scratch);
    zs_buffer_free(&plain);
    return status;
}

enum zs_status zs_build_chunk(struct zs_shard_writer *writer, const struct zs_changed_shard *shard, uint64_t number,
                              bool *is_empty, struct zs_sink *sink, struct zs_error *err)
{
    const uint64_t first = shard->first + number * shard->each;
    struct zs_stored_shard stored = {0};
    struct zs_changed_shard inner;
    struct zs_source source;
    if (zs_shard_put_count(writer, first, shard->each) == 0) {
        ZS_TRY(find_stored(writer, shard, number, is_empty, &source, err));
        return *is_empty ? ZS_OK : zs_build_copy(writer, &source, 0, source.size, sink, err);
    }
    if (!shard->level[1].is_shard) {
        const uint64_t *entry = &writer->entries[2 * first];
        *is_empty = entry[0] == ZS_INDEX_EMPTY;
        return *is_empty ? ZS_OK : zs_build_copy(writer, NULL, entry[0], entry[1], sink, err);
    }
    enum zs_status status = open_inner(writer, shard, number, &stored, &inner, err);
    if (status == ZS_OK)
        status = build_in_memory(writer, &inner, false, sink, is_empty, err);
    zs_stored_shard_clear(&stored);
    return status;
}

/* Writes a shard, its chunks in the wanted order, before its own bytes codecs. *is_empty: none of them has bytes. */
static enum zs_status build(struct zs_shard_writer *writer, const struct zs_changed_shard *shard, struct zs_sink *sink,
                            bool *is_empty, struct zs_error *err)
{
    const struct zs_level *level = shard->level;
    uint64_t *numbers = zs_calloc((size_t)level->inner_count, sizeof *numbers);
    struct zs_shard_index *index = zs_shard_index_alloc(level);
    enum zs_status status = numbers != NULL && index != NULL ? ZS_OK : zs_fail_memory(err);
    *is_empty = true;
    if (status == ZS_OK)
        status = zs_chunk_order_list(level, writer->order, numbers, err);
    if (status == ZS_OK && level->index_at_start)
        status = zs_sink_reserve_index(sink, level, err);
    for (uint64_t i = 0; i < level->inner_count && status == ZS_OK; i++) {
        const uint64_t at = sink->size;
        bool is_chunk_empty = false;
        status = zs_build_chunk(writer, shard, numbers[i], &is_chunk_empty, sink, err);
        zs_shard_index_set(index, numbers[i], is_chunk_empty, at, sink->size - at);
        *is_empty = *is_empty && is_chunk_empty;
    }
    if (status == ZS_OK)
        status = zs_sink_write_index(sink, level, index, err);
    free(index);
    free(numbers);
    return status;
}

/* Makes the commit expect the stored object, where its version is known. */
static enum zs_status expect_stored(const struct zs_shard_writer *writer, struct zs_writer **out, struct zs_error *err)
{
    if (!writer->expects)
        return ZS_OK;
    const char *etag = writer->object != NULL ? writer->object->etag : "";
    return etag != NULL ? zs_writer_expect(*out, etag, err) : ZS_OK;
}

/* Replaces the object by one that is built from all chunks, or removes it when none of them has bytes. A removal cannot
 * expect anything: then a shard of empty chunks is put instead. */
static enum zs_status publish_copy(struct zs_shard_writer *writer, struct zs_error *err)
{
    const struct zs_changed_shard root = zs_shard_root(writer);
    const bool must_exist = writer->expects && writer->object != NULL;
    struct zs_sink sink = {0};
    bool is_empty;
    ZS_TRY(zs_store_create(writer->store, writer->key, &sink.out, err));
    plan_ahead(writer);
    enum zs_status status = root.level->bytes_codec_count > 0
                                ? build_in_memory(writer, &root, must_exist, &sink, &is_empty, err)
                                : build(writer, &root, &sink, &is_empty, err);
    zs_buffer_free(&writer->ahead);
    const bool is_put = status == ZS_OK && (must_exist || !is_empty);
    if (is_put)
        status = expect_stored(writer, &sink.out, err);
    if (is_put && status == ZS_OK)
        return zs_writer_commit(sink.out, err);
    zs_writer_abort(sink.out);
    return status != ZS_OK || writer->expects ? status : zs_store_remove(writer->store, writer->key, err);
}

static enum zs_status publish_temp(struct zs_shard_writer *writer, struct zs_error *err)
{
    struct zs_sink sink = {.out = writer->temp, .size = writer->temp_size};
    struct zs_shard_index *index = zs_shard_index_alloc(writer->level);
    ZS_TRY_MEMORY(index, err);
    for (uint64_t i = 0; i < index->count; i++)
        zs_shard_index_set(index, i, writer->entries[2 * i] == ZS_INDEX_EMPTY, writer->entries[2 * i],
                           writer->entries[2 * i + 1]);
    const enum zs_status status = zs_sink_write_index(&sink, writer->level, index, err);
    free(index);
    writer->is_broken = true; /* if this fails, no chunk can be put behind the index */
    ZS_TRY(status);
    ZS_TRY(expect_stored(writer, &writer->temp, err));
    bool is_kept;
    const enum zs_status committed = zs_writer_try_commit(writer->temp, &is_kept, err);
    if (!is_kept)
        writer->temp = NULL;
    if (committed == ZS_CONFLICT && is_kept) { /* more is put behind the index, whose bytes are waste then */
        writer->temp_size = sink.size;
        writer->replaced++;
        writer->is_broken = false;
    }
    writer->is_lost = committed != ZS_OK && !is_kept; /* it was given away */
    return committed;
}

/* Replaces the object by a new one. */
static enum zs_status publish_anew(struct zs_shard_writer *writer, struct zs_error *err)
{
    bool is_final;
    if (writer->temp == NULL && writer->object == NULL) /* no chunk has bytes */
        return writer->expects ? ZS_OK : zs_store_remove(writer->store, writer->key, err);
    ZS_TRY(check_temp(writer, &is_final, err));
    return (is_final ? publish_temp : publish_copy)(writer, err);
}

/* How a stored object is changed; NULL: it is replaced. */
static enum zs_status (*const ways[])(struct zs_shard_writer *writer, bool *done, struct zs_error *err) = {
    [ZS_UPDATE_REWRITE] = NULL,
    [ZS_UPDATE_APPEND] = zs_shard_append,
    [ZS_UPDATE_IN_PLACE] = zs_shard_overwrite,
};

enum zs_status zs_shard_writer_publish(struct zs_shard_writer *writer, enum zs_update update, bool expects,
                                       bool *is_lost, struct zs_error *err)
{
    bool done = false;
    writer->expects = expects;
    *is_lost = writer->is_lost;
    if (writer->is_lost)
        return zs_fail(err, ZS_IO, "%s/%s: an earlier write to it failed", writer->store->root, writer->key);
    /* A shard that keeps nothing of the stored one is written anew. */
    if (ways[update] != NULL && writer->level->bytes_codec_count == 0 && kept_bytes(writer, 1) > 0) {
        const enum zs_status status = ways[update](writer, &done, err);
        if (status != ZS_OK || done)
            return status;
    }
    const struct zs_shard_index *stored = writer->stored.index;
    const bool has_journal = stored != NULL && stored->is_recovered;
    if (!has_journal && writer->object != NULL && zs_store_has_files(writer->store))
        ZS_TRY(zs_journal_remove(writer->store, writer->key, err)); /* left beside a shard in order */
    const enum zs_status status = publish_anew(writer, err);
    if (status == ZS_OK && has_journal)
        (void)zs_journal_remove(writer->store, writer->key, NULL); /* it does no harm */
    *is_lost = writer->is_lost;
    return status;
}
