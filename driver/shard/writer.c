#include "shard/writer_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- Parts ---- */

static void close_present(struct zs_shard_writer *w, struct part *p)
{
    w->memory -= p->present.decoded.capacity;
    zs_present_clear(&p->present);
    p->is_opened = false;
}

static void part_free(struct zs_shard_writer *w, struct part *p)
{
    if (p == NULL)
        return;
    for (uint64_t i = 0; p->inner != NULL && i < p->level->inner_count; i++)
        part_free(w, p->inner[i]);
    close_present(w, p);
    free(p->inner);
    free(p->fresh);
    free(p->was_put);
    free(p);
}

static struct part *part_create(const struct zs_level *level, struct part *outer, uint64_t number)
{
    struct part *p = zs_calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    *p = (struct part){.level = level, .outer = outer, .number = number};
    if (level[1].is_shard) {
        p->inner = zs_calloc((size_t)level->inner_count, sizeof *p->inner);
    } else {
        p->fresh = zs_shard_index_alloc(level);
        p->was_put = zs_calloc((size_t)level->inner_count, 1);
    }
    if (level[1].is_shard ? p->inner == NULL : p->fresh == NULL || p->was_put == NULL) {
        free(p->inner);
        free(p->fresh);
        free(p->was_put);
        free(p);
        return NULL;
    }
    for (uint64_t i = 0; p->fresh != NULL && i < 2 * p->fresh->count; i++)
        p->fresh->entries[i] = ZS_INDEX_EMPTY;
    return p;
}

enum zs_status zs_fail_in_shard(const struct zs_shard_writer *w, enum zs_status status, struct zs_error *err)
{
    return zs_fail_in(err, status, "%s/%s", w->store->root, w->key);
}

enum zs_status zs_part_open(struct zs_shard_writer *w, struct part *p, struct zs_error *err)
{
    if (p->is_opened)
        return ZS_OK;
    struct zs_bytes bytes = {.object = w->object, .size = w->object != NULL ? zs_object_size(w->object) : 0};
    bool is_empty = w->object == NULL;
    if (p->outer != NULL) {
        ZS_TRY(zs_part_open(w, p->outer, err));
        const enum zs_status status =
            zs_present_chunk(p->outer->level, &p->outer->present, p->number, &is_empty, &bytes, err);
        if (status != ZS_OK)
            return zs_fail_in_shard(w, status, err);
    }
    const enum zs_status status = is_empty ? ZS_OK : zs_present_open(p->level, &bytes, &p->present, err);
    if (status != ZS_OK)
        return zs_fail_in_shard(w, status, err);
    w->memory += p->present.decoded.capacity;
    p->is_opened = true;
    return ZS_OK;
}

bool zs_part_is_changed(const struct part *p, uint64_t number)
{
    return p->inner != NULL ? p->inner[number] != NULL && p->inner[number]->put_count > 0 : p->was_put[number] != 0;
}

/* Innermost chunks in one chunk of the level inside of this one. */
static uint64_t leaves_per_chunk(const struct zs_level *level)
{
    uint64_t n = 1; /* the innermost chunks of a shard have numbers that fit 64 bits: all its elements have */
    for (level++; level->is_shard; level++)
        n *= level->inner_count;
    return n;
}

bool zs_part_is_put(const struct part *p)
{
    return p->put_count == p->level->inner_count * leaves_per_chunk(p->level);
}

/* The innermost shard of innermost chunk `number`, which becomes its number in there. With make false: NULL where it
 * was not touched. */
static struct part *find_part(const struct zs_shard_writer *w, uint64_t *number, bool make)
{
    struct part *p = w->root;
    while (p != NULL && p->inner != NULL) {
        const uint64_t leaves = leaves_per_chunk(p->level), i = *number / leaves;
        if (p->inner[i] == NULL && make)
            p->inner[i] = part_create(p->level + 1, p, i);
        p = p->inner[i];
        *number %= leaves;
    }
    return p;
}

static enum zs_status touch_part(const struct zs_shard_writer *w, uint64_t *number, struct part **part,
                                 struct zs_error *err)
{
    *part = find_part(w, number, true);
    return *part != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a shard");
}

enum zs_status zs_shard_writer_create(struct zs_store *store, const char *key, const struct zs_level *level,
                                      enum zs_chunk_order order, struct zs_shard_index *base, struct zs_object *object,
                                      struct zs_shard_writer **writer, struct zs_error *err)
{
    struct zs_shard_writer *w = zs_calloc(1, sizeof *w);
    if (w != NULL) {
        w->store = store;
        w->key = zs_strdup(key);
        w->root = part_create(level, NULL, 0);
    }
    if (w == NULL || w->key == NULL || w->root == NULL) {
        zs_shard_writer_free(w);
        free(base);
        zs_object_close(object);
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a shard of %llu chunks",
                       (unsigned long long)level->inner_count);
    }
    const enum zs_status status = zs_shard_writer_rebase(w, order, base, object, err);
    if (status != ZS_OK)
        zs_shard_writer_free(w);
    else
        *writer = w;
    return status;
}

void zs_shard_writer_free(struct zs_shard_writer *w)
{
    if (w == NULL)
        return;
    zs_writer_abort(w->temp);
    zs_ahead_clear(&w->ahead);
    part_free(w, w->root);
    zs_object_close(w->object);
    free(w->key);
    free(w);
}

static void close_all(struct zs_shard_writer *w, struct part *p)
{
    close_present(w, p);
    for (uint64_t i = 0; p->inner != NULL && i < p->level->inner_count; i++)
        if (p->inner[i] != NULL)
            close_all(w, p->inner[i]);
}

void zs_shard_writer_forget_present(struct zs_shard_writer *w)
{
    close_all(w, w->root);
    zs_object_close(w->object);
    w->object = NULL;
}

enum zs_status zs_shard_writer_rebase(struct zs_shard_writer *w, enum zs_chunk_order order, struct zs_shard_index *base,
                                      struct zs_object *object, struct zs_error *err)
{
    zs_shard_writer_forget_present(w);
    w->object = object;
    w->order = order;
    if (base == NULL) {
        const enum zs_status status = zs_part_open(w, w->root, err);
        if (status != ZS_OK)
            zs_shard_writer_forget_present(w);
        return status;
    }
    w->root->present.index = base;
    if (object != NULL)
        w->root->present.bytes = (struct zs_bytes){.object = object, .size = zs_object_size(object)};
    w->root->is_opened = true;
    return ZS_OK;
}

const struct zs_object *zs_shard_writer_object(const struct zs_shard_writer *w)
{
    return w->object;
}

bool zs_shard_writer_is_recovered(const struct zs_shard_writer *w)
{
    return w->root->present.index != NULL && w->root->present.index->is_recovered;
}

enum zs_status zs_shard_writer_file(const struct zs_shard_writer *w, struct zs_file **file, struct zs_error *err)
{
    *file = NULL;
    const enum zs_status status = zs_file_open(w->store, w->key, file, err);
    if (status != ZS_OK)
        return status == ZS_UNSUPPORTED || status == ZS_NOT_FOUND ? ZS_OK : status;
    if ((*file)->version == w->object->version)
        return ZS_OK;
    zs_file_close(*file);
    *file = NULL;
    return ZS_OK;
}

bool zs_shard_writer_will_read(const struct zs_shard_writer *w)
{
    const struct zs_shard_index *index = w->root->present.index;
    if (index == NULL || index->is_absent || w->root->level->bytes_codec_count > 0)
        return false;
    for (uint64_t i = 0; i < index->count; i++)
        if (!zs_part_is_changed(w->root, i) && index->entries[2 * i] != ZS_INDEX_EMPTY)
            return true;
    return false;
}

bool zs_shard_writer_is_broken(const struct zs_shard_writer *w)
{
    return w->is_broken;
}

uint64_t zs_shard_writer_memory(const struct zs_shard_writer *w)
{
    return w->memory;
}

uint64_t zs_shard_writer_most_bytes(const struct zs_shard_writer *w)
{
    return w->temp_size + (w->object != NULL ? zs_object_size(w->object) : 0);
}
/* ---- Putting and getting ---- */

static enum zs_status prepare_temp(struct zs_shard_writer *w, struct zs_error *err)
{
    if (w->is_broken || w->is_lost)
        return zs_fail(err, ZS_IO, "%s/%s: an earlier write to it failed", w->store->root, w->key);
    if (w->temp != NULL)
        return ZS_OK;
    const struct zs_level *level = w->root->level;
    ZS_TRY(zs_store_create(w->store, w->key, &w->temp, err));
    if (level->index_at_start && w->root->inner == NULL && level->bytes_codec_count == 0) {
        struct sink s = {.out = w->temp};
        const enum zs_status status = zs_sink_reserve_index(&s, level, err);
        if (status != ZS_OK) {
            zs_writer_abort(w->temp);
            w->temp = NULL;
            return status;
        }
        w->temp_size = level->index_size;
    }
    return ZS_OK;
}

enum zs_status zs_shard_writer_put(struct zs_shard_writer *w, uint64_t number, const void *data, size_t n,
                                   struct zs_error *err)
{
    struct part *p;
    ZS_TRY(touch_part(w, &number, &p, err));
    if (data != NULL) {
        ZS_TRY(prepare_temp(w, err));
        const enum zs_status status = zs_writer_write(w->temp, data, n, err);
        w->is_broken = status != ZS_OK;
        ZS_TRY(status);
    }
    uint64_t *entry = &p->fresh->entries[2 * number];
    if (entry[0] != ZS_INDEX_EMPTY)
        w->replaced++;
    entry[0] = data != NULL ? w->temp_size : ZS_INDEX_EMPTY;
    entry[1] = data != NULL ? n : ZS_INDEX_EMPTY;
    if (data != NULL)
        w->temp_size += n;
    for (struct part *q = p; q != NULL && !p->was_put[number]; q = q->outer)
        q->put_count++;
    p->was_put[number] = 1;
    return ZS_OK;
}

uint64_t zs_shard_writer_put_count(const struct zs_shard_writer *w)
{
    return w->root->put_count;
}

bool zs_shard_writer_has(const struct zs_shard_writer *w, uint64_t number)
{
    const struct part *p = find_part(w, &number, false);
    return p != NULL && p->was_put[number] != 0;
}

enum zs_status zs_shard_writer_get_present(struct zs_shard_writer *w, uint64_t number, bool *is_empty,
                                           struct zs_buffer *out, struct zs_error *err)
{
    struct part *p;
    struct zs_bytes bytes;
    ZS_TRY(touch_part(w, &number, &p, err));
    ZS_TRY(zs_part_open(w, p, err));
    enum zs_status status = zs_present_chunk(p->level, &p->present, number, is_empty, &bytes, err);
    if (status == ZS_OK && bytes.size > zs_level_bound(&p->level[1]) && !*is_empty)
        status = zs_fail(err, ZS_CORRUPT, "expected at most %zu encoded bytes, found %llu",
                         zs_level_bound(&p->level[1]), (unsigned long long)bytes.size);
    if (status == ZS_OK && !*is_empty)
        status = zs_buffer_reset(out, (size_t)bytes.size, err);
    if (status == ZS_OK && !*is_empty)
        status = zs_bytes_read(&bytes, 0, (size_t)bytes.size, out->data, err);
    if (status != ZS_OK)
        return zs_fail_in_shard(w, status, err);
    out->size = *is_empty ? 0 : (size_t)bytes.size;
    return ZS_OK;
}

enum zs_status zs_shard_writer_get(struct zs_shard_writer *w, uint64_t number, bool *is_empty, struct zs_buffer *out,
                                   struct zs_error *err)
{
    uint64_t inside = number;
    const struct part *p = find_part(w, &inside, false);
    if (p == NULL || !p->was_put[inside])
        return zs_shard_writer_get_present(w, number, is_empty, out, err);
    const uint64_t *entry = &p->fresh->entries[2 * inside];
    out->size = 0;
    *is_empty = entry[0] == ZS_INDEX_EMPTY;
    if (*is_empty)
        return ZS_OK;
    if (w->is_lost)
        return zs_fail(err, ZS_IO, "%s/%s: an earlier write to it failed", w->store->root, w->key);
    ZS_TRY(zs_buffer_reset(out, (size_t)entry[1], err));
    ZS_TRY(zs_writer_read(w->temp, entry[0], (size_t)entry[1], out->data, err));
    out->size = (size_t)entry[1];
    return ZS_OK;
}
