/* Building a shard from what was put and what is there, and publishing it. */
#include <stdlib.h>
#include <string.h>

#include "shard/journal.h"
#include "shard/order.h"
#include "shard/ways.h"
#include "shard/writer_private.h"

#define COPY_BYTES ((size_t)1 << 20)
#define REMOTE_COPY_BYTES ((size_t)16 << 20) /* what is too large to be fetched ahead: a round trip each */

/* ---- Bytes going out ---- */

static enum zs_status sink_write(struct sink *s, const void *data, size_t n, struct zs_error *err)
{
    if (s->out != NULL)
        ZS_TRY(zs_writer_write(s->out, data, n, err));
    else if (s->file != NULL)
        ZS_TRY(zs_file_write(s->file, s->size, data, n, err));
    else
        ZS_TRY(zs_buffer_append(s->memory, data, n, err));
    s->size += n;
    return ZS_OK;
}

static enum zs_status sink_patch(struct sink *s, uint64_t offset, const void *data, size_t n, struct zs_error *err)
{
    if (s->out != NULL)
        return zs_writer_patch(s->out, offset, data, n, err);
    if (s->file != NULL)
        return zs_file_write(s->file, offset, data, n, err);
    memcpy(s->memory->data + offset, data, n);
    return ZS_OK;
}

enum zs_status zs_sink_reserve_index(struct sink *s, const struct zs_level *level, struct zs_error *err)
{
    unsigned char *zeros = zs_calloc((size_t)level->index_size, 1);
    if (zeros == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate an index of %llu bytes",
                       (unsigned long long)level->index_size);
    const enum zs_status status = sink_write(s, zeros, (size_t)level->index_size, err);
    free(zeros);
    return status;
}

enum zs_status zs_sink_write_index(struct sink *s, const struct zs_level *level, const struct zs_shard_index *index,
                                   uint64_t start, struct zs_error *err)
{
    void *bytes = malloc((size_t)level->index_size);
    if (bytes == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate an index of %llu bytes",
                       (unsigned long long)level->index_size);
    zs_shard_index_encode(level, index, bytes);
    const enum zs_status status = level->index_at_start ? sink_patch(s, start, bytes, (size_t)level->index_size, err)
                                                        : sink_write(s, bytes, (size_t)level->index_size, err);
    free(bytes);
    return status;
}

/* ---- Publishing ---- */

static enum zs_status is_all_empty(struct zs_shard_writer *w, struct part *p, bool *all_empty, struct zs_error *err)
{
    if (!zs_part_is_put(p))
        ZS_TRY(zs_part_open(w, p, err));
    *all_empty = true;
    for (uint64_t i = 0; i < p->level->inner_count && *all_empty; i++) {
        struct zs_bytes bytes;
        if (!zs_part_is_changed(p, i)) {
            const enum zs_status status = zs_present_chunk(p->level, &p->present, i, all_empty, &bytes, err);
            if (status != ZS_OK)
                return zs_fail_in_shard(w, status, err);
        } else if (p->inner != NULL) {
            ZS_TRY(is_all_empty(w, p->inner[i], all_empty, err));
        } else {
            *all_empty = p->fresh->entries[2 * i] == ZS_INDEX_EMPTY;
        }
    }
    return ZS_OK;
}

/* Whether temp, but for its index, is the shard: nothing to take from elsewhere, nothing wasted, all in the wanted
 * order. */
static bool temp_is_final(const struct zs_shard_writer *w, const uint64_t *numbers)
{
    const struct part *p = w->root;
    if (w->replaced != 0 || w->is_broken || p->inner != NULL || p->level->bytes_codec_count > 0)
        return false;
    const struct zs_shard_index *base = p->present.index;
    for (uint64_t i = 0; base != NULL && !base->is_absent && i < p->level->inner_count; i++) {
        const uint64_t *entry = &base->entries[2 * i];
        if (!p->was_put[i] && (entry[0] != ZS_INDEX_EMPTY || entry[1] != ZS_INDEX_EMPTY))
            return false;
    }
    return zs_chunks_lie_in(p->fresh->entries, numbers, p->level->inner_count);
}

/* Fetches the unchanged chunks from place `first` of a shard on, as many as there is room for. */
static enum zs_status fetch_ahead(struct zs_shard_writer *w, const struct part *p, const uint64_t *numbers,
                                  uint64_t first, struct zs_error *err)
{
    const uint64_t room = zs_ahead_room();
    struct zs_range *ranges = zs_calloc((size_t)(p->level->inner_count - first), sizeof *ranges);
    enum zs_status status =
        ranges != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot plan for the chunks of a shard");
    size_t n = 0;
    uint64_t total = 0;
    for (uint64_t i = first; i < p->level->inner_count && status == ZS_OK; i++) {
        struct zs_bytes bytes;
        bool is_empty = true;
        if (zs_part_is_changed(p, numbers[i]))
            continue;
        status = zs_present_chunk(p->level, &p->present, numbers[i], &is_empty, &bytes, err);
        if (is_empty)
            continue;
        if (bytes.size > room - total)
            break;
        total += bytes.size;
        ranges[n++] = (struct zs_range){.offset = bytes.offset, .size = bytes.size};
    }
    if (status == ZS_OK && n > 0)
        status = zs_ahead_fetch(&w->ahead, w->object, ranges, n, err);
    free(ranges);
    return status == ZS_OK ? ZS_OK : zs_fail_in_shard(w, status, err);
}

/* Copies `size` bytes from temp, or with `from` from there. */
static enum zs_status copy_bytes(struct zs_shard_writer *w, const struct zs_bytes *from, uint64_t offset, uint64_t size,
                                 struct sink *s, struct zs_error *err)
{
    const bool is_remote = from != NULL && from->memory == NULL && from->object->store->is_remote;
    const unsigned char *here = is_remote ? zs_ahead_find(&w->ahead, from->offset + offset, size) : NULL;
    if (here != NULL)
        return sink_write(s, here, (size_t)size, err);
    struct zs_buffer buffer = {0};
    enum zs_status status = ZS_OK;
    const size_t most = is_remote ? REMOTE_COPY_BYTES : COPY_BYTES;
    while (size > 0 && status == ZS_OK) {
        const size_t part = size < most ? (size_t)size : most;
        status = zs_buffer_reset(&buffer, part, err);
        if (status == ZS_OK)
            status = from != NULL ? zs_bytes_read(from, offset, part, buffer.data, err)
                                  : zs_writer_read(w->temp, offset, part, buffer.data, err);
        if (status == ZS_OK)
            status = sink_write(s, buffer.data, part, err);
        offset += part;
        size -= part;
    }
    zs_buffer_free(&buffer);
    return status;
}

enum zs_status zs_build_from_temp(struct zs_shard_writer *w, uint64_t offset, uint64_t size, struct sink *s,
                                  struct zs_error *err)
{
    return copy_bytes(w, NULL, offset, size, s, err);
}

static enum zs_status build(struct zs_shard_writer *w, struct part *p, struct sink *s, struct zs_error *err);

/* A shard that its bytes codecs encode as a whole. */
static enum zs_status build_encoded(struct zs_shard_writer *w, struct part *p, struct sink *s, struct zs_error *err)
{
    struct zs_buffer plain = {0};
    struct sink memory = {.memory = &plain};
    struct zs_scratch *scratch = zs_scratch_acquire();
    const void *encoded;
    size_t n;
    enum zs_status status =
        scratch != NULL ? build(w, p, &memory, err) : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a scratch");
    if (status == ZS_OK)
        status = zs_bytes_encode(p->level->bytes_codecs, p->level->bytes_codec_count, scratch, plain.data, plain.size,
                                 &encoded, &n, err);
    if (status == ZS_OK)
        status = sink_write(s, encoded, n, err);
    zs_scratch_release(scratch);
    zs_buffer_free(&plain);
    return status;
}

enum zs_status zs_build_chunk(struct zs_shard_writer *w, struct part *p, const uint64_t *numbers, uint64_t place,
                              bool *is_empty, struct sink *s, struct zs_error *err)
{
    const uint64_t number = numbers[place];
    struct zs_bytes bytes;
    if (!zs_part_is_changed(p, number)) {
        const enum zs_status status = zs_present_chunk(p->level, &p->present, number, is_empty, &bytes, err);
        if (status != ZS_OK)
            return zs_fail_in_shard(w, status, err);
        if (!*is_empty && bytes.memory == NULL && bytes.object->store->is_remote &&
            zs_ahead_find(&w->ahead, bytes.offset, bytes.size) == NULL)
            ZS_TRY(fetch_ahead(w, p, numbers, place, err));
        return *is_empty ? ZS_OK : copy_bytes(w, &bytes, 0, bytes.size, s, err);
    }
    if (p->inner == NULL) {
        const uint64_t *entry = &p->fresh->entries[2 * number];
        *is_empty = entry[0] == ZS_INDEX_EMPTY;
        return *is_empty ? ZS_OK : copy_bytes(w, NULL, entry[0], entry[1], s, err);
    }
    ZS_TRY(is_all_empty(w, p->inner[number], is_empty, err));
    if (*is_empty)
        return ZS_OK;
    return (p->inner[number]->level->bytes_codec_count > 0 ? build_encoded : build)(w, p->inner[number], s, err);
}

/* Writes a shard, its chunks in the wanted order, as it is before its own bytes codecs. */
static enum zs_status build(struct zs_shard_writer *w, struct part *p, struct sink *s, struct zs_error *err)
{
    const struct zs_level *level = p->level;
    const uint64_t start = s->size;
    uint64_t *numbers = zs_calloc((size_t)level->inner_count, sizeof *numbers);
    struct zs_shard_index *index = zs_shard_index_alloc(level);
    enum zs_status status =
        numbers != NULL && index != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot order the chunks of a shard");
    if (status == ZS_OK)
        status = zs_chunk_order_list(level, w->order, numbers, err);
    if (status == ZS_OK && !zs_part_is_put(p))
        status = zs_part_open(w, p, err);
    if (status == ZS_OK && level->index_at_start)
        status = zs_sink_reserve_index(s, level, err);
    for (uint64_t i = 0; i < level->inner_count && status == ZS_OK; i++) {
        const uint64_t at = s->size;
        uint64_t *entry = &index->entries[2 * numbers[i]];
        bool is_empty = false;
        status = zs_build_chunk(w, p, numbers, i, &is_empty, s, err);
        entry[0] = is_empty ? ZS_INDEX_EMPTY : at - start;
        entry[1] = is_empty ? ZS_INDEX_EMPTY : s->size - at;
    }
    if (status == ZS_OK)
        status = zs_sink_write_index(s, level, index, start, err);
    free(index);
    free(numbers);
    return status;
}

static enum zs_status publish_copy(struct zs_shard_writer *w, struct zs_error *err)
{
    struct sink s = {0};
    ZS_TRY(zs_store_create(w->store, w->key, &s.out, err));
    const enum zs_status status = (w->root->level->bytes_codec_count > 0 ? build_encoded : build)(w, w->root, &s, err);
    zs_ahead_clear(&w->ahead);
    if (status == ZS_OK)
        return zs_writer_commit(s.out, err);
    zs_writer_abort(s.out);
    return status;
}

static enum zs_status publish_temp(struct zs_shard_writer *w, struct zs_error *err)
{
    struct sink s = {.out = w->temp, .size = w->temp_size};
    const enum zs_status status = zs_sink_write_index(&s, w->root->level, w->root->fresh, 0, err);
    w->is_broken = true; /* behind the index no chunk can be put, if this fails */
    ZS_TRY(status);
    bool is_kept;
    const enum zs_status committed = zs_writer_try_commit(s.out, &is_kept, err);
    if (!is_kept)
        w->temp = NULL;
    w->is_lost = committed != ZS_OK && !is_kept; /* it was given away */
    return committed;
}

/* A new object in place of what is there. */
static enum zs_status publish_anew(struct zs_shard_writer *w, struct zs_error *err)
{
    bool all_empty;
    ZS_TRY(is_all_empty(w, w->root, &all_empty, err));
    if (all_empty)
        return zs_store_remove(w->store, w->key, err);
    const struct zs_level *level = w->root->level;
    uint64_t *numbers = zs_calloc((size_t)level->inner_count, sizeof *numbers);
    if (numbers == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot order the chunks of a shard");
    enum zs_status status = zs_chunk_order_list(level, w->order, numbers, err);
    if (status == ZS_OK)
        status = w->temp != NULL && temp_is_final(w, numbers) ? publish_temp(w, err) : publish_copy(w, err);
    free(numbers);
    return status;
}

void zs_shard_writer_forget_journal(const struct zs_shard_writer *w)
{
    struct zs_error ignored;
    const enum zs_status status = zs_journal_remove(w->store, w->key, &ignored);
    (void)status;
}

/* How an object that is there is changed; NULL: it is not, a new one takes its place. */
static enum zs_status (*const ways[])(struct zs_shard_writer *w, bool *done, struct zs_error *err) = {
    [ZS_UPDATE_REWRITE] = NULL,
    [ZS_UPDATE_APPEND] = zs_shard_append,
    [ZS_UPDATE_IN_PLACE] = zs_shard_overwrite,
};

enum zs_status zs_shard_writer_publish(struct zs_shard_writer *w, enum zs_update update, bool *is_lost,
                                       struct zs_error *err)
{
    bool done = false;
    *is_lost = w->is_lost;
    if (w->is_lost)
        return zs_fail(err, ZS_IO, "%s/%s: an earlier write to it failed", w->store->root, w->key);
    /* What keeps nothing of the old shard is best written anew. */
    if (ways[update] != NULL && zs_shard_writer_will_read(w)) {
        const enum zs_status status = ways[update](w, &done, err);
        if (status != ZS_OK || done)
            return status;
    }
    const bool has_journal = zs_shard_writer_is_recovered(w);
    if (!has_journal && w->object != NULL && w->store->ops->file_open != NULL)
        ZS_TRY(zs_journal_remove(w->store, w->key, err)); /* left beside a shard in order */
    const enum zs_status status = publish_anew(w, err);
    if (status == ZS_OK && has_journal)
        zs_shard_writer_forget_journal(w);
    *is_lost = w->is_lost;
    return status;
}
