/* Overwriting chunks of fixed encoded size in place. */
#include <stdlib.h>

#include "codec/chain.h"
#include "shard/shard.h"
#include "shard/writer_private.h"

/* Whether all chunks have the same number of encoded bytes: no bytes codecs but checksums. */
static bool has_fixed_size(const struct zs_level *level)
{
    if (zs_chunk_is_packed(level))
        return false;
    for (int i = 0; i < level->bytes_codec_count; i++)
        if (level->bytes_codecs[i].codec->strip == NULL)
            return false;
    return true;
}

/* Whether no two chunks of a shard share bytes, as some writers let them: those cannot be overwritten one by one. */
static enum zs_status check_apart(const struct zs_shard_writer *writer, bool *are_apart, struct zs_error *err)
{
    const struct zs_shard_index *index = writer->stored.index;
    struct zs_range *ranges = zs_calloc((size_t)index->count, sizeof *ranges);
    size_t n = 0;
    ZS_TRY_MEMORY(ranges, err);
    enum zs_status status = ZS_OK;
    for (uint64_t i = 0; i < index->count && status == ZS_OK; i++) {
        bool is_empty;
        status = zs_shard_index_entry(writer->level, index, i, &is_empty, &ranges[n].offset, &ranges[n].size, err);
        n += status == ZS_OK && !is_empty && ranges[n].size > 0;
    }
    qsort(ranges, n, sizeof *ranges, zs_range_compare);
    *are_apart = true;
    for (size_t i = 1; i < n; i++)
        *are_apart = *are_apart && ranges[i].offset - ranges[i - 1].offset >= ranges[i - 1].size;
    free(ranges);
    return status;
}

/* Overwrites one chunk that was put. */
static enum zs_status overwrite_chunk(struct zs_shard_writer *writer, uint64_t number, struct zs_file *file, bool *fits,
                                      struct zs_error *err)
{
    const uint64_t *entry = &writer->entries[2 * number];
    struct zs_source source;
    bool is_empty;
    ZS_TRY(zs_stored_shard_chunk(writer->level, &writer->stored, number, &is_empty, &source, err));
    if (is_empty && entry[0] == ZS_INDEX_EMPTY)
        return ZS_OK;
    *fits = !is_empty && entry[0] != ZS_INDEX_EMPTY && entry[1] == source.size;
    if (!*fits || file == NULL)
        return ZS_OK;
    struct zs_sink sink = {.file = file, .size = source.offset};
    return zs_build_copy(writer, NULL, entry[0], entry[1], &sink, err);
}

/* Overwrites the chunks that were put; with `file` NULL only checks whether all fit. */
static enum zs_status overwrite(struct zs_shard_writer *writer, struct zs_file *file, bool *fits, struct zs_error *err)
{
    *fits = true;
    if (file == NULL)
        ZS_TRY(check_apart(writer, fits, err));
    for (uint64_t i = 0; i < writer->chunk_count && *fits; i++)
        if (zs_shard_writer_has(writer, i))
            ZS_TRY(overwrite_chunk(writer, i, file, fits, err));
    return ZS_OK;
}

enum zs_status zs_shard_overwrite(struct zs_shard_writer *writer, bool *done, struct zs_error *err)
{
    const struct zs_level *level = writer->level;
    struct zs_file *file;
    bool fits = false;
    *done = false;
    if (level[1].is_shard || !has_fixed_size(level + 1) || writer->stored.index->is_recovered)
        return ZS_OK;
    enum zs_status status = overwrite(writer, NULL, &fits, err);
    if (status != ZS_OK && status != ZS_CORRUPT)
        return zs_fail_in_shard(writer, status, err);
    if (status == ZS_CORRUPT || !fits) /* a rewrite may not need the damaged chunks */
        return ZS_OK;
    ZS_TRY(zs_shard_writer_file(writer, &file, err));
    if (file == NULL)
        return ZS_OK;
    *done = true;
    status = overwrite(writer, file, &fits, err);
    if (status == ZS_OK)
        status = zs_file_flush(file, err);
    zs_file_close(file);
    return status;
}
