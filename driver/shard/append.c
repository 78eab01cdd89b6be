/* Appending to a shard: new chunks and a new index behind what it has. */
#include <stdlib.h>
#include <string.h>

#include "shard/shard.h"
#include "shard/writer_private.h"

/* Checks the entries that stay: one that lies outside of the shard now could lie inside once it has grown. *is_worth_it
 * is false when more than half of the file would be unused bytes. */
static enum zs_status check_stored(const struct zs_shard_writer *writer, bool *is_worth_it, struct zs_error *err)
{
    const struct zs_changed_shard root = zs_shard_root(writer);
    const struct zs_shard_index *index = writer->stored.index;
    /* of two files, and an index that fits memory */
    const uint64_t total = index->shard_size + writer->temp_size + root.level->index_size;
    uint64_t alive = writer->temp_size + root.level->index_size, offset, size = 0;
    for (uint64_t i = 0; i < index->count; i++) {
        bool is_empty;
        if (zs_shard_put_count(writer, i * root.each, root.each) > 0)
            continue;
        const enum zs_status status = zs_shard_index_entry(root.level, index, i, &is_empty, &offset, &size, err);
        if (status != ZS_OK)
            return zs_fail_in_shard(writer, status, err);
        if (!is_empty && alive < total) /* chunks may share their bytes */
            alive += size;
    }
    *is_worth_it = alive >= total / 2;
    return ZS_OK;
}

/* Writes the changed chunks, and sets their entries in the index. */
static enum zs_status append_chunks(struct zs_shard_writer *writer, struct zs_sink *sink, struct zs_shard_index *index,
                                    struct zs_error *err)
{
    const struct zs_changed_shard root = zs_shard_root(writer);
    for (uint64_t i = 0; i < index->count; i++) {
        if (zs_shard_put_count(writer, i * root.each, root.each) == 0)
            continue;
        const uint64_t at = sink->size;
        bool is_empty = false;
        ZS_TRY(zs_build_chunk(writer, &root, i, &is_empty, sink, err));
        zs_shard_index_set(index, i, is_empty, at, sink->size - at);
    }
    return ZS_OK;
}

/* Steps 2 and 3. First removes what a killed writer appended. */
static enum zs_status append(struct zs_shard_writer *writer, struct zs_file *file, struct zs_shard_index *index,
                             struct zs_error *err)
{
    struct zs_sink sink = {.file = file, .size = index->shard_size};
    if (file->size > sink.size)
        ZS_TRY(zs_file_truncate(file, sink.size, err));
    ZS_TRY(append_chunks(writer, &sink, index, err));
    ZS_TRY(zs_file_flush(file, err));
    ZS_TRY(zs_sink_write_index(&sink, writer->level, index, err));
    return zs_file_flush(file, err);
}

/* Restores the shard as it was. If this fails too, the journal stays for the next writer. */
static enum zs_status undo(const struct zs_shard_writer *writer, struct zs_file *file)
{
    const struct zs_shard_index *index = writer->stored.index;
    struct zs_sink sink = {.file = file};
    if (writer->level->index_at_start)
        ZS_TRY(zs_sink_write_index(&sink, writer->level, index, NULL));
    ZS_TRY(zs_file_truncate(file, index->shard_size, NULL));
    return zs_file_flush(file, NULL);
}

static struct zs_shard_index *copy_index(const struct zs_level *level, const struct zs_shard_index *index)
{
    struct zs_shard_index *copy = zs_shard_index_alloc(level);
    if (copy == NULL)
        return NULL;
    *copy = *index;
    memcpy(copy->entries, index->entries, 16 * (size_t)index->count);
    return copy;
}

enum zs_status zs_shard_append(struct zs_shard_writer *writer, bool *done, struct zs_error *err)
{
    const struct zs_level *level = writer->level;
    struct zs_file *file;
    bool is_worth_it = false;
    *done = false;
    if (level->index_checksums == 0)
        return ZS_OK;
    ZS_TRY(check_stored(writer, &is_worth_it, err));
    if (!is_worth_it)
        return ZS_OK;
    ZS_TRY(zs_shard_writer_file(writer, &file, err));
    if (file == NULL)
        return ZS_OK;
    struct zs_shard_index *index = copy_index(level, writer->stored.index);
    enum zs_status status = index != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_journal_write(writer->store, writer->key, level, writer->stored.index, writer->object, err);
    if (status == ZS_OK) {
        status = append(writer, file, index, err);
        if (status == ZS_OK || undo(writer, file) == ZS_OK)
            (void)zs_journal_remove(writer->store, writer->key, NULL); /* if it stays, it does no harm */
    }
    zs_file_close(file);
    free(index);
    *done = true;
    return status;
}
