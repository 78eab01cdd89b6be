#include "shard/writer.h"

#include <stdlib.h>
#include <string.h>

#include "shard/order.h"

#define COPY_BYTES ((size_t)1 << 20)

struct zs_shard_writer {
    struct zs_store *store;
    char *key;
    const struct zs_level *level;
    enum zs_chunk_order order;

    struct zs_writer *temp; /* made at the first chunk with bytes; with the index at the start, its room is kept free */
    uint64_t temp_size;
    struct zs_shard_index *fresh; /* of what was put, offsets in temp */
    unsigned char *was_put;       /* per chunk */
    uint64_t put_count;
    uint64_t replaced; /* chunks put more than once with bytes: their first bytes are waste */
    bool is_broken;    /* a write failed: what temp holds since is not known */

    struct zs_shard_index *base;
    struct zs_object *object;
};

enum zs_status zs_shard_writer_create(struct zs_store *store, const char *key, const struct zs_level *level,
                                      enum zs_chunk_order order, struct zs_shard_index *base, struct zs_object *object,
                                      struct zs_shard_writer **writer, struct zs_error *err)
{
    struct zs_shard_writer *w = zs_calloc(1, sizeof *w);
    if (w != NULL) {
        w->base = base;
        w->object = object;
        w->store = store;
        w->level = level;
        w->order = order;
        w->key = zs_strdup(key);
        w->fresh = zs_shard_index_alloc(level);
        w->was_put = zs_calloc((size_t)level->inner_count, 1);
    }
    if (w == NULL || w->key == NULL || w->fresh == NULL || w->was_put == NULL) {
        if (w == NULL) {
            free(base);
            zs_object_close(object);
        }
        zs_shard_writer_abort(w);
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a shard of %llu chunks", (unsigned long long)level->inner_count);
    }
    for (uint64_t i = 0; i < 2 * w->fresh->count; i++)
        w->fresh->entries[i] = ZS_INDEX_EMPTY;
    *writer = w;
    return ZS_OK;
}

/* Room for an index in front, to be filled when it is known. */
static enum zs_status reserve_index(const struct zs_level *level, struct zs_writer *out, struct zs_error *err)
{
    unsigned char *zeros = zs_calloc((size_t)level->index_size, 1);
    if (zeros == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate an index of %llu bytes", (unsigned long long)level->index_size);
    const enum zs_status status = zs_writer_write(out, zeros, (size_t)level->index_size, err);
    free(zeros);
    return status;
}

static enum zs_status write_index(const struct zs_level *level, const struct zs_shard_index *index, struct zs_writer *out,
                                  struct zs_error *err)
{
    void *bytes = malloc((size_t)level->index_size);
    if (bytes == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate an index of %llu bytes", (unsigned long long)level->index_size);
    zs_shard_index_encode(level, index, bytes);
    const enum zs_status status = level->index_at_start ? zs_writer_patch(out, 0, bytes, (size_t)level->index_size, err)
                                                        : zs_writer_write(out, bytes, (size_t)level->index_size, err);
    free(bytes);
    return status;
}

/* Appends to temp, which is made at the first call. */
static enum zs_status append(struct zs_shard_writer *w, const void *data, size_t n, struct zs_error *err)
{
    if (w->temp == NULL) {
        ZS_TRY(zs_store_create(w->store, w->key, &w->temp, err));
        if (w->level->index_at_start) {
            ZS_TRY(reserve_index(w->level, w->temp, err));
            w->temp_size = w->level->index_size;
        }
    }
    return zs_writer_write(w->temp, data, n, err);
}

static enum zs_status check_not_broken(const struct zs_shard_writer *w, struct zs_error *err)
{
    return w->is_broken ? zs_fail(err, ZS_IO, "%s/%s: an earlier write to it failed", w->store->root, w->key) : ZS_OK;
}

enum zs_status zs_shard_writer_put(struct zs_shard_writer *w, uint64_t number, const void *data, size_t n,
                                   struct zs_error *err)
{
    ZS_TRY(check_not_broken(w, err));
    if (data != NULL) {
        const enum zs_status status = append(w, data, n, err);
        w->is_broken = status != ZS_OK;
        ZS_TRY(status);
    }
    uint64_t *entry = &w->fresh->entries[2 * number];
    if (entry[0] != ZS_INDEX_EMPTY)
        w->replaced++;
    entry[0] = data != NULL ? w->temp_size : ZS_INDEX_EMPTY;
    entry[1] = data != NULL ? n : ZS_INDEX_EMPTY;
    if (data != NULL)
        w->temp_size += n;
    w->put_count += !w->was_put[number];
    w->was_put[number] = 1;
    return ZS_OK;
}

uint64_t zs_shard_writer_put_count(const struct zs_shard_writer *w)
{
    return w->put_count;
}

bool zs_shard_writer_has(const struct zs_shard_writer *w, uint64_t number)
{
    return w->was_put[number] != 0;
}

/* Where a chunk's bytes are now: in temp, or in the present object. */
static enum zs_status find(const struct zs_shard_writer *w, uint64_t number, bool *is_empty, bool *in_temp, uint64_t *offset,
                           uint64_t *size, struct zs_error *err)
{
    *in_temp = w->was_put[number] != 0;
    if (!*in_temp) {
        *is_empty = true;
        if (w->base == NULL)
            return ZS_OK;
        const enum zs_status status = zs_shard_index_entry(w->level, w->base, number, is_empty, offset, size, err);
        return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s/%s", w->store->root, w->key);
    }
    *offset = w->fresh->entries[2 * number];
    *size = w->fresh->entries[2 * number + 1];
    *is_empty = *offset == ZS_INDEX_EMPTY;
    return ZS_OK;
}

static enum zs_status read_part(struct zs_shard_writer *w, bool in_temp, uint64_t offset, size_t n, void *data,
                                struct zs_error *err)
{
    return in_temp ? zs_writer_read(w->temp, offset, n, data, err) : zs_object_read(w->object, offset, n, data, err);
}

enum zs_status zs_shard_writer_get(struct zs_shard_writer *w, uint64_t number, bool *is_empty, struct zs_buffer *out,
                                   struct zs_error *err)
{
    bool in_temp;
    uint64_t offset, size;
    ZS_TRY(find(w, number, is_empty, &in_temp, &offset, &size, err));
    if (*is_empty)
        return ZS_OK;
    ZS_TRY(zs_buffer_reset(out, (size_t)size, err));
    ZS_TRY(read_part(w, in_temp, offset, (size_t)size, out->data, err));
    out->size = (size_t)size;
    return ZS_OK;
}

/* Whether temp, but for its index, is the shard: nothing to take from elsewhere, nothing wasted, all in the wanted order. */
static bool temp_is_final(const struct zs_shard_writer *w, const uint64_t *numbers)
{
    if (w->replaced != 0)
        return false;
    uint64_t last = 0;
    for (uint64_t i = 0; i < w->level->inner_count; i++) {
        const uint64_t number = numbers[i], *base = w->base != NULL ? &w->base->entries[2 * number] : NULL;
        if (!w->was_put[number] && base != NULL && !w->base->is_absent && (base[0] != ZS_INDEX_EMPTY || base[1] != ZS_INDEX_EMPTY))
            return false;
        const uint64_t offset = w->fresh->entries[2 * number];
        if (offset == ZS_INDEX_EMPTY)
            continue;
        if (offset < last)
            return false;
        last = offset;
    }
    return true;
}

static enum zs_status copy_bytes(struct zs_shard_writer *w, bool in_temp, uint64_t offset, uint64_t size,
                                 struct zs_writer *out, struct zs_buffer *buffer, struct zs_error *err)
{
    while (size > 0) {
        const size_t part = size < COPY_BYTES ? (size_t)size : COPY_BYTES;
        ZS_TRY(zs_buffer_reset(buffer, part, err));
        ZS_TRY(read_part(w, in_temp, offset, part, buffer->data, err));
        ZS_TRY(zs_writer_write(out, buffer->data, part, err));
        offset += part;
        size -= part;
    }
    return ZS_OK;
}

/* Writes all chunks in the wanted order to `out`, and their places to `index`. */
static enum zs_status copy_in_order(struct zs_shard_writer *w, const uint64_t *numbers, struct zs_writer *out,
                                    struct zs_shard_index *index, struct zs_error *err)
{
    struct zs_buffer buffer = {0};
    enum zs_status status = w->level->index_at_start ? reserve_index(w->level, out, err) : ZS_OK;
    uint64_t at = w->level->index_at_start ? w->level->index_size : 0;
    for (uint64_t i = 0; i < w->level->inner_count && status == ZS_OK; i++) {
        const uint64_t number = numbers[i];
        bool is_empty, in_temp;
        uint64_t offset = 0, size = 0;
        status = find(w, number, &is_empty, &in_temp, &offset, &size, err);
        index->entries[2 * number] = index->entries[2 * number + 1] = ZS_INDEX_EMPTY;
        if (status != ZS_OK || is_empty)
            continue;
        status = copy_bytes(w, in_temp, offset, size, out, &buffer, err);
        index->entries[2 * number] = at;
        index->entries[2 * number + 1] = size;
        at += size;
    }
    zs_buffer_free(&buffer);
    return status;
}

static enum zs_status is_all_empty(const struct zs_shard_writer *w, bool *all_empty, struct zs_error *err)
{
    *all_empty = true;
    for (uint64_t i = 0; i < w->level->inner_count && *all_empty; i++) {
        bool is_empty, in_temp;
        uint64_t offset, size;
        ZS_TRY(find(w, i, &is_empty, &in_temp, &offset, &size, err));
        *all_empty = is_empty;
    }
    return ZS_OK;
}

static enum zs_status publish(struct zs_shard_writer *w, uint64_t *numbers, struct zs_error *err)
{
    bool all_empty;
    ZS_TRY(check_not_broken(w, err));
    ZS_TRY(is_all_empty(w, &all_empty, err));
    if (all_empty)
        return zs_store_remove(w->store, w->key, err);
    ZS_TRY(zs_chunk_order_list(w->level, w->order, numbers, err));
    if (temp_is_final(w, numbers)) {
        ZS_TRY(write_index(w->level, w->fresh, w->temp, err));
        struct zs_writer *temp = w->temp;
        w->temp = NULL;
        return zs_writer_commit(temp, err);
    }
    struct zs_writer *out;
    struct zs_shard_index *index = zs_shard_index_alloc(w->level);
    if (index == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a shard index");
    enum zs_status status = zs_store_create(w->store, w->key, &out, err);
    if (status == ZS_OK) {
        status = copy_in_order(w, numbers, out, index, err);
        if (status == ZS_OK)
            status = write_index(w->level, index, out, err);
        if (status == ZS_OK)
            status = zs_writer_commit(out, err);
        else
            zs_writer_abort(out);
    }
    free(index);
    return status;
}

enum zs_status zs_shard_writer_finish(struct zs_shard_writer *w, struct zs_error *err)
{
    uint64_t *numbers = zs_calloc((size_t)w->level->inner_count, sizeof *numbers);
    enum zs_status status =
        numbers != NULL ? publish(w, numbers, err) : zs_fail(err, ZS_NO_MEMORY, "cannot order the chunks of a shard");
    free(numbers);
    zs_shard_writer_abort(w);
    return status;
}

void zs_shard_writer_abort(struct zs_shard_writer *w)
{
    if (w == NULL)
        return;
    zs_writer_abort(w->temp);
    zs_object_close(w->object);
    free(w->base);
    free(w->fresh);
    free(w->was_put);
    free(w->key);
    free(w);
}
