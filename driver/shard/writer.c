#include "shard/writer_private.h"

#include <stdlib.h>

/* ---- Parts ---- */

static void close_stored(struct zs_changed_shard *shard)
{
    zs_stored_shard_clear(&shard->stored);
    shard->is_opened = false;
}

static void shard_free(struct zs_changed_shard *shard)
{
    if (shard == NULL)
        return;
    for (uint64_t i = 0; shard->inner != NULL && i < shard->level->inner_count; i++)
        shard_free(shard->inner[i]);
    close_stored(shard);
    free(shard->inner);
    free(shard->put.index);
    free(shard->put.is_put);
    free(shard);
}

/* NULL without memory. */
static struct zs_changed_shard *shard_create(const struct zs_level *level, struct zs_changed_shard *outer,
                                             uint64_t number)
{
    struct zs_changed_shard *shard = zs_calloc(1, sizeof *shard);
    if (shard == NULL)
        return NULL;
    *shard = (struct zs_changed_shard){.level = level, .outer = outer, .number = number};
    if (level[1].is_shard) {
        shard->inner = zs_calloc((size_t)level->inner_count, sizeof(struct zs_changed_shard *));
    } else {
        shard->put.index = zs_shard_index_alloc(level);
        shard->put.is_put = zs_calloc((size_t)level->inner_count, 1);
    }
    if (shard->inner == NULL && (shard->put.index == NULL || shard->put.is_put == NULL)) {
        shard_free(shard);
        return NULL;
    }
    for (uint64_t i = 0; shard->inner == NULL && i < 2 * shard->put.index->count; i++)
        shard->put.index->entries[i] = ZS_INDEX_EMPTY;
    return shard;
}

enum zs_status zs_fail_in_shard(const struct zs_shard_writer *writer, enum zs_status status, struct zs_error *err)
{
    return zs_fail_in(err, status, "%s/%s", writer->store->root, writer->key);
}

static enum zs_status fail_lost(const struct zs_shard_writer *writer, struct zs_error *err)
{
    return zs_fail(err, ZS_IO, "%s/%s: an earlier write to it failed", writer->store->root, writer->key);
}

enum zs_status zs_shard_stored_chunk(const struct zs_shard_writer *writer, const struct zs_changed_shard *shard,
                                     uint64_t number, bool *is_empty, struct zs_source *chunk, struct zs_error *err)
{
    const enum zs_status status =
        zs_stored_shard_chunk(shard->level, &shard->stored, number, is_empty, chunk, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in_shard(writer, status, err);
}

enum zs_status zs_shard_open_stored(struct zs_shard_writer *writer, struct zs_changed_shard *shard,
                                    struct zs_error *err)
{
    if (shard->is_opened)
        return ZS_OK;
    struct zs_source source = writer->object != NULL ? zs_source_of(writer->object) : (struct zs_source){0};
    bool is_empty = writer->object == NULL;
    if (shard->outer != NULL) {
        ZS_TRY(zs_shard_open_stored(writer, shard->outer, err));
        ZS_TRY(zs_shard_stored_chunk(writer, shard->outer, shard->number, &is_empty, &source, err));
    }
    const enum zs_status status = is_empty ? ZS_OK : zs_stored_shard_open(shard->level, &source, &shard->stored, err);
    if (status != ZS_OK)
        return zs_fail_in_shard(writer, status, err);
    shard->is_opened = true;
    return ZS_OK;
}

bool zs_shard_is_changed(const struct zs_changed_shard *shard, uint64_t number)
{
    return shard->inner != NULL ? shard->inner[number] != NULL && shard->inner[number]->put_count > 0
                                : shard->put.is_put[number] != 0;
}

/* Number of innermost chunks in one inner chunk of this level. */
static uint64_t innermost_per_chunk(const struct zs_level *level)
{
    uint64_t n = 1; /* fits 64 bits, since the number of elements does */
    for (level++; level->is_shard; level++)
        n *= level->inner_count;
    return n;
}

bool zs_shard_is_put(const struct zs_changed_shard *shard)
{
    return shard->put_count == shard->level->inner_count * innermost_per_chunk(shard->level);
}

/* The inner chunk of `shard` around its innermost chunk *number, which becomes the number within that. */
static uint64_t step_into(const struct zs_changed_shard *shard, uint64_t *number)
{
    const uint64_t innermost = innermost_per_chunk(shard->level), inner = *number / innermost;
    *number %= innermost;
    return inner;
}

/* The innermost shard around innermost chunk *number, which becomes the number within it. NULL where nothing in it was
 * put or asked for. */
static const struct zs_changed_shard *find_shard(const struct zs_shard_writer *writer, uint64_t *number)
{
    const struct zs_changed_shard *shard = writer->root;
    while (shard != NULL && shard->inner != NULL)
        shard = shard->inner[step_into(shard, number)];
    return shard;
}

/* Like find_shard(), but creates what is missing. */
static enum zs_status make_shard(struct zs_shard_writer *writer, uint64_t *number, struct zs_changed_shard **out,
                                 struct zs_error *err)
{
    struct zs_changed_shard *shard = writer->root;
    while (shard->inner != NULL) {
        const uint64_t inner = step_into(shard, number);
        if (shard->inner[inner] == NULL)
            shard->inner[inner] = shard_create(shard->level + 1, shard, inner);
        shard = shard->inner[inner];
        ZS_TRY_MEMORY(shard, err);
    }
    *out = shard;
    return ZS_OK;
}

enum zs_status zs_shard_writer_create(struct zs_store *store, const char *key, const struct zs_level *level,
                                      enum zs_chunk_order order, struct zs_shard_writer **out, struct zs_error *err)
{
    struct zs_shard_writer *writer = zs_calloc(1, sizeof *writer);
    if (writer != NULL) {
        writer->store = store;
        writer->order = order;
        writer->key = zs_strdup(key);
        writer->root = shard_create(level, NULL, 0);
    }
    if (writer == NULL || writer->key == NULL || writer->root == NULL) {
        zs_shard_writer_free(writer);
        return zs_fail_memory(err);
    }
    *out = writer;
    return ZS_OK;
}

void zs_shard_writer_free(struct zs_shard_writer *writer)
{
    if (writer == NULL)
        return;
    zs_writer_abort(writer->temp);
    zs_ahead_clear(&writer->ahead);
    shard_free(writer->root);
    zs_object_close(writer->object);
    free(writer->key);
    free(writer);
}

static void close_all(struct zs_changed_shard *shard)
{
    close_stored(shard);
    for (uint64_t i = 0; shard->inner != NULL && i < shard->level->inner_count; i++)
        if (shard->inner[i] != NULL)
            close_all(shard->inner[i]);
}

static void forget_stored(struct zs_shard_writer *writer)
{
    close_all(writer->root);
    zs_object_close(writer->object);
    writer->object = NULL;
}

enum zs_status zs_shard_writer_base(struct zs_shard_writer *writer, enum zs_chunk_order order,
                                    struct zs_shard_index *index, struct zs_object *object, struct zs_error *err)
{
    forget_stored(writer);
    writer->object = object;
    writer->order = order;
    if (index != NULL) {
        writer->root->stored = (struct zs_stored_shard){.source = zs_source_of(object), .index = index};
        writer->root->is_opened = true;
        return ZS_OK;
    }
    enum zs_status status = zs_shard_open_stored(writer, writer->root, err);
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
    return writer->temp_size + (writer->object != NULL ? zs_object_size(writer->object) : 0);
}

/* ---- Putting and getting ---- */

/* Copies the chunks of a shard that were put behind what `sink` has, with the entries that they get there. */
static enum zs_status copy_put(struct zs_shard_writer *writer, struct zs_changed_shard *shard, bool sets_entries,
                               struct zs_sink *sink, struct zs_error *err)
{
    for (uint64_t i = 0; i < shard->level->inner_count; i++) {
        if (shard->inner != NULL && shard->inner[i] != NULL)
            ZS_TRY(copy_put(writer, shard->inner[i], sets_entries, sink, err));
        if (shard->inner != NULL || zs_put_entry(shard, i)[0] == ZS_INDEX_EMPTY)
            continue;
        const uint64_t size = zs_put_entry(shard, i)[1];
        if (sets_entries)
            zs_shard_index_set(shard->put.index, i, false, sink->size, size);
        else
            ZS_TRY(zs_build_from_temp(writer, zs_put_entry(shard, i)[0], size, sink, err));
        sink->size += sets_entries ? size : 0;
    }
    return ZS_OK;
}

/* Creates the temporary file. After a failed write the end of the former one is unknown: what was put before is copied
 * from there. */
static enum zs_status create_temp(struct zs_shard_writer *writer, struct zs_error *err)
{
    const struct zs_level *level = writer->root->level;
    struct zs_sink sink = {0};
    ZS_TRY(zs_store_create(writer->store, writer->key, &sink.out, err));
    enum zs_status status = ZS_OK;
    if (level->index_at_start && writer->root->inner == NULL && level->bytes_codec_count == 0)
        status = zs_sink_reserve_index(&sink, level, err);
    struct zs_sink entries = {.size = sink.size};
    if (status == ZS_OK)
        status = copy_put(writer, writer->root, false, &sink, err);
    if (status == ZS_OK)
        status = copy_put(writer, writer->root, true, &entries, err);
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
    struct zs_changed_shard *shard;
    ZS_TRY(make_shard(writer, &number, &shard, err));
    if (data != NULL) {
        ZS_TRY(prepare_temp(writer, err));
        const enum zs_status status = zs_writer_write(writer->temp, data, n, err);
        writer->is_broken = status != ZS_OK;
        ZS_TRY(status);
    }
    if (zs_put_entry(shard, number)[0] != ZS_INDEX_EMPTY)
        writer->replaced++;
    zs_shard_index_set(shard->put.index, number, data == NULL, writer->temp_size, n);
    if (data != NULL)
        writer->temp_size += n;
    for (struct zs_changed_shard *around = shard; around != NULL && !shard->put.is_put[number]; around = around->outer)
        around->put_count++;
    shard->put.is_put[number] = 1;
    return ZS_OK;
}

uint64_t zs_shard_writer_put_count(const struct zs_shard_writer *writer)
{
    return writer->root->put_count;
}

bool zs_shard_writer_has(const struct zs_shard_writer *writer, uint64_t number)
{
    const struct zs_changed_shard *shard = find_shard(writer, &number);
    return shard != NULL && shard->put.is_put[number] != 0;
}

enum zs_status zs_shard_writer_get_stored(struct zs_shard_writer *writer, uint64_t number, bool *is_empty,
                                          struct zs_buffer *out, struct zs_error *err)
{
    struct zs_changed_shard *shard;
    struct zs_source source;
    ZS_TRY(make_shard(writer, &number, &shard, err));
    ZS_TRY(zs_shard_open_stored(writer, shard, err));
    enum zs_status status = zs_stored_shard_chunk(shard->level, &shard->stored, number, is_empty, &source, err);
    if (status == ZS_OK && source.size > zs_level_bound(&shard->level[1]) && !*is_empty)
        status = zs_fail(err, ZS_CORRUPT, "expected at most %zu encoded bytes, found %llu",
                         zs_level_bound(&shard->level[1]), (unsigned long long)source.size);
    if (status == ZS_OK && !*is_empty)
        status = zs_buffer_reset(out, (size_t)source.size, err);
    if (status == ZS_OK && !*is_empty)
        status = zs_source_read(&source, 0, (size_t)source.size, out->data, err);
    if (status != ZS_OK)
        return zs_fail_in_shard(writer, status, err);
    out->size = *is_empty ? 0 : (size_t)source.size;
    return ZS_OK;
}

enum zs_status zs_shard_writer_get(struct zs_shard_writer *writer, uint64_t number, bool *is_empty,
                                   struct zs_buffer *out, struct zs_error *err)
{
    uint64_t inside = number;
    const struct zs_changed_shard *shard = find_shard(writer, &inside);
    if (shard == NULL || !shard->put.is_put[inside])
        return zs_shard_writer_get_stored(writer, number, is_empty, out, err);
    const uint64_t *entry = zs_put_entry(shard, inside);
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
