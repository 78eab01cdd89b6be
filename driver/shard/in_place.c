/* Chunks of fixed encoded size, overwritten where they are. */
#include "shard/ways.h"

#include <stdlib.h>

#include "codec/packed.h"
#include "shard/range_plan.h"
#include "shard/writer_private.h"

/* Whether a chunk has as many bytes whatever its pixels: nothing stands behind the array's stages but checksums. */
static bool has_fixed_size(const struct zs_level *level)
{
    if (zs_chunk_is_packed(level))
        return false;
    for (int i = 0; i < level->bytes_codec_count; i++)
        if (level->bytes_codecs[i].codec->strip == NULL)
            return false;
    return true;
}

static int by_offset(const void *x, const void *y)
{
    const struct zs_range *p = x, *q = y;
    return (p->offset > q->offset) - (p->offset < q->offset);
}

/* Whether each chunk of a shard has bytes of its own. Those that share theirs, as some writers have it, cannot be
 * overwritten alone. */
static enum zs_status check_apart(const struct part *p, bool *are_apart, struct zs_error *err)
{
    const struct zs_shard_index *index = p->present.index;
    struct zs_range *ranges = zs_calloc((size_t)index->count, sizeof *ranges);
    size_t n = 0;
    if (ranges == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot list the chunks of a shard");
    enum zs_status status = ZS_OK;
    for (uint64_t i = 0; i < index->count && status == ZS_OK; i++) {
        bool is_empty;
        status = zs_shard_index_entry(p->level, index, i, &is_empty, &ranges[n].offset, &ranges[n].size, err);
        n += status == ZS_OK && !is_empty && ranges[n].size > 0;
    }
    qsort(ranges, n, sizeof *ranges, by_offset);
    *are_apart = true;
    for (size_t i = 1; i < n; i++)
        *are_apart = *are_apart && ranges[i].offset - ranges[i - 1].offset >= ranges[i - 1].size;
    free(ranges);
    return status;
}

static enum zs_status overwrite(struct zs_shard_writer *w, struct part *p, struct zs_file *file, bool *fits,
                                struct zs_error *err);

/* One chunk of a part that was put. */
static enum zs_status overwrite_chunk(struct zs_shard_writer *w, struct part *p, uint64_t number, struct zs_file *file,
                                      bool *fits, struct zs_error *err)
{
    if (p->inner != NULL)
        return overwrite(w, p->inner[number], file, fits, err);
    const uint64_t *entry = &p->fresh->entries[2 * number];
    struct zs_bytes bytes;
    bool is_empty;
    ZS_TRY(zs_present_chunk(p->level, &p->present, number, &is_empty, &bytes, err));
    if (is_empty && entry[0] == ZS_INDEX_EMPTY)
        return ZS_OK;
    *fits = !is_empty && entry[1] == bytes.size;
    if (!*fits || file == NULL)
        return ZS_OK;
    struct sink s = {.file = file, .size = bytes.offset};
    return zs_build_from_temp(w, entry[0], entry[1], &s, err);
}

/* Overwrites what was put in a part and in those inside of it; with file NULL only looks whether all of it fits. */
static enum zs_status overwrite(struct zs_shard_writer *w, struct part *p, struct zs_file *file, bool *fits,
                                struct zs_error *err)
{
    ZS_TRY(zs_part_open(w, p, err));
    *fits = p->present.index != NULL && !p->present.index->is_absent && p->level->bytes_codec_count == 0;
    if (*fits && file == NULL)
        ZS_TRY(check_apart(p, fits, err));
    for (uint64_t i = 0; i < p->level->inner_count && *fits; i++)
        if (zs_part_is_changed(p, i))
            ZS_TRY(overwrite_chunk(w, p, i, file, fits, err));
    return ZS_OK;
}

enum zs_status zs_shard_overwrite(struct zs_shard_writer *w, bool *done, struct zs_error *err)
{
    const struct zs_level *innermost = w->root->level;
    struct zs_file *file;
    bool fits = false;
    *done = false;
    while (innermost->is_shard)
        innermost++;
    if (!has_fixed_size(innermost) || w->root->present.index->is_recovered)
        return ZS_OK;
    enum zs_status status = overwrite(w, w->root, NULL, &fits, err);
    if (status != ZS_OK && status != ZS_CORRUPT)
        return zs_fail_in_shard(w, status, err);
    if (status == ZS_CORRUPT || !fits) /* who rewrites it may not need what is torn */
        return ZS_OK;
    ZS_TRY(zs_shard_writer_file(w, &file, err));
    if (file == NULL)
        return ZS_OK;
    *done = true;
    status = overwrite(w, w->root, file, &fits, err);
    if (status == ZS_OK)
        status = zs_file_flush(file, err);
    zs_file_close(file);
    return status;
}
