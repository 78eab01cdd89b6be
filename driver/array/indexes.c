#include "array/array_private.h"

#include <stdlib.h>

#include "shard/shard.h"

/* A shard without a valid index is opened so many times: it may be being appended to. */
#define MAX_ATTEMPTS 8

/* ---- Objects ---- */

enum zs_status zs_shard_keep_object(struct zs_array *array, uint64_t shard, struct zs_object *object,
                                    struct zs_cache_entry **entry, struct zs_error *err)
{
    *entry = zs_cache_put(&array->objects, (struct zs_cache_key){0, shard}, object, 1);
    return *entry != NULL ? ZS_OK : zs_fail_memory(err);
}

static enum zs_status object_of(struct zs_array *array, uint64_t shard, struct zs_cache_entry **entry,
                                struct zs_error *err)
{
    *entry = zs_cache_get(&array->objects, (struct zs_cache_key){0, shard});
    if (*entry != NULL)
        return ZS_OK;
    char *key;
    ZS_TRY(zs_shard_key(array, shard, &key, err));
    struct zs_object *object;
    enum zs_status status = zs_object_open(array->store, key, &object, err);
    free(key);
    return status != ZS_OK ? status : zs_shard_keep_object(array, shard, object, entry, err);
}

enum zs_status zs_shard_object_of(struct zs_array *array, uint64_t shard, uint64_t version,
                                  struct zs_cache_entry **entry, bool *is_stale, struct zs_error *err)
{
    const enum zs_status status = object_of(array, shard, entry, err);
    if (status == ZS_OK && ((const struct zs_object *)zs_cache_value(*entry))->version == version)
        return ZS_OK;
    if (status != ZS_OK && status != ZS_NOT_FOUND)
        return status;
    zs_cache_release(*entry);
    *entry = NULL;
    *is_stale = true;
    return zs_fail(err, ZS_IO, "the shard was replaced while it was read");
}

bool zs_shard_is_overtaken(struct zs_array *array, uint64_t shard)
{
    struct zs_cache_entry *entry = zs_cache_get(&array->objects, (struct zs_cache_key){0, shard});
    if (entry == NULL)
        return false;
    const struct zs_object *object = zs_cache_value(entry);
    const bool is = zs_object_is_stale(object) || zs_object_is_changed(object, true);
    zs_cache_release(entry);
    return is;
}

bool zs_shard_is_other(struct zs_array *array, uint64_t shard, const struct zs_object *object)
{
    struct zs_cache_entry *entry = zs_cache_get(&array->objects, (struct zs_cache_key){0, shard});
    if (entry == NULL)
        return false;
    const struct zs_object *before = zs_cache_value(entry);
    const bool is_other = object == NULL || !object->is_versioned || object->version != before->version;
    zs_cache_release(entry);
    return is_other;
}

void zs_shard_refresh(struct zs_array *array, uint64_t shard)
{
    char *key;
    zs_cache_remove(&array->objects, (struct zs_cache_key){0, shard});
    zs_cache_remove(&array->indexes, (struct zs_cache_key){0, shard});
    if (zs_shard_key(array, shard, &key, NULL) != ZS_OK)
        return; /* a read finds out again */
    zs_store_forget(array->store, key);
    free(key);
}

void zs_shard_forget(struct zs_array *array, uint64_t shard)
{
    zs_shard_refresh(array, shard);
    zs_cache_remove(&array->chunks, (struct zs_cache_key){1, shard}); /* the shard, if it was fetched as a whole */
    if (array->chain.count > 2 || (array->chain.count == 2 && array->chain.levels[0].bytes_codec_count > 0)) {
        /* Keys of chunks and indexes inside this shard do not name the shard: the caches are emptied. Such arrays are
         * rarely written. */
        zs_cache_clear(&array->indexes);
        zs_cache_clear(&array->chunks);
    }
}

/* ---- Indexes ---- */

/* Opens a shard on a local disk. ZS_CORRUPT also where its index may be younger than its size. */
static enum zs_status open_local(struct zs_array *array, const struct zs_level *level, const char *key,
                                 struct zs_object **object, struct zs_shard_index **index, struct zs_error *err)
{
    ZS_TRY(zs_object_open(array->store, key, object, err));
    const struct zs_source source = zs_source_of(*object);
    const enum zs_status status = zs_source_index(level, &source, index, err);
    if (status == ZS_IO && zs_object_is_stale(*object))
        return ZS_CORRUPT;
    ZS_TRY(status);
    return !level->index_at_start || !zs_object_is_changed(*object, false)
               ? ZS_OK
               : zs_fail(err, ZS_CORRUPT, "the shard was changed while it was opened");
}

/* Opens a remote shard: the index comes in the same request. */
static enum zs_status open_remote(struct zs_array *array, const struct zs_level *level, const char *key,
                                  struct zs_object **object, struct zs_shard_index **index, struct zs_error *err)
{
    uint64_t at;
    *index = zs_shard_index_alloc(level);
    ZS_TRY_MEMORY(*index, err);
    ZS_TRY(zs_object_open_end(array->store, key, !level->index_at_start, (size_t)level->index_size, (*index)->entries,
                              object, err));
    (*index)->shard_size = (*object)->size;
    (*index)->version = (*object)->version;
    (*index)->is_remembered = (*object)->is_remembered;
    ZS_TRY(zs_shard_index_offset(level, (*index)->shard_size, &at, err)); /* there are bytes enough for an index */
    return zs_shard_index_decode(level, *index, err);
}

/* Opens a level-0 shard, whose own level is `level`, and reads its index. Both are NULL after a failure. */
static enum zs_status open_once(struct zs_array *array, const struct zs_level *level, const char *key,
                                struct zs_object **object, struct zs_shard_index **index, struct zs_error *err)
{
    *object = NULL;
    *index = NULL;
    const enum zs_status status =
        (array->store->is_remote ? open_remote : open_local)(array, level, key, object, index, err);
    if (status != ZS_OK) {
        zs_object_close(*object);
        free(*index);
        *object = NULL;
        *index = NULL;
    }
    return status;
}

/* Like open_once(), by the journal beside a shard that has no valid index. */
static enum zs_status open_by_journal(struct zs_array *array, const struct zs_level *level, const char *key,
                                      struct zs_object **object, struct zs_shard_index **index, struct zs_error *err)
{
    zs_store_forget(array->store, key);
    ZS_TRY(zs_object_open(array->store, key, object, err));
    const enum zs_status status = zs_journal_read(array->store, key, level, *object, index, err);
    if (status != ZS_OK) {
        zs_object_close(*object);
        *object = NULL;
    }
    return status;
}

/* Like open_once(), also for a shard with an unfinished append, running or killed (shard/writer_private.h). */
static enum zs_status open_with_index(struct zs_array *array, const struct zs_level *level, const char *key,
                                      struct zs_object **object, struct zs_shard_index **index, struct zs_error *err)
{
    enum zs_status status = open_once(array, level, key, object, index, err);
    for (int i = 0; i < MAX_ATTEMPTS && status == ZS_CORRUPT && level->index_checksums > 0; i++) {
        if (open_by_journal(array, level, key, object, index, NULL) == ZS_OK)
            return ZS_OK;
        if (array->store->is_remote)
            break; /* each attempt is a request */
        status = open_once(array, level, key, object, index, err);
    }
    return status;
}

enum zs_status zs_shard_read_index(struct zs_array *array, const struct zs_level *level, const char *key,
                                   struct zs_object **object, struct zs_shard_index **index, struct zs_error *err)
{
    zs_store_forget(array->store, key);
    const enum zs_status status = open_with_index(array, level, key, object, index, err);
    return status == ZS_OK || status == ZS_NOT_FOUND ? status
                                                     : zs_fail_in(err, status, "%s/%s", array->store->root, key);
}

static enum zs_status index_read_with_object(struct zs_array *array, const struct zs_level *level, uint64_t shard,
                                             struct zs_shard_index **index, struct zs_error *err)
{
    struct zs_cache_entry *entry = zs_cache_get(&array->objects, (struct zs_cache_key){0, shard});
    struct zs_object *object;
    enum zs_status status;
    char *key;
    if (entry != NULL && !zs_object_is_changed(zs_cache_value(entry), false)) {
        const struct zs_source source = zs_source_of(zs_cache_value(entry));
        status = zs_source_index(level, &source, index, err);
        zs_cache_release(entry);
        return status;
    }
    zs_cache_release(entry);
    ZS_TRY(zs_shard_key(array, shard, &key, err));
    status = open_with_index(array, level, key, &object, index, err);
    free(key);
    ZS_TRY(status);
    status = zs_shard_keep_object(array, shard, object, &entry, err);
    zs_cache_release(entry);
    if (status != ZS_OK)
        free(*index);
    return status;
}

enum zs_status zs_index_get(struct zs_array *array, int depth, uint64_t number, const struct zs_source *source,
                            struct zs_cache_entry **entry, struct zs_error *err)
{
    /* An index that came with its shard as a whole and one that was read by ranges are of different versions. */
    const struct zs_cache_key key = {depth == 0 && source != NULL ? ZS_MAX_LEVELS : (uint64_t)depth, number};
    while ((*entry = zs_cache_get_or_load(&array->indexes, key)) != NULL) {
        const struct zs_shard_index *found = zs_cache_value(*entry);
        if (source == NULL || found->version == source->version)
            return ZS_OK;
        /* The index belongs to another version of the bytes: its offsets may lie outside of them. */
        zs_cache_release(*entry);
        zs_cache_remove(&array->indexes, key);
    }
    struct zs_shard_index *index = NULL;
    struct zs_level room;
    const struct zs_level *level = zs_grid_level(&array->grid, depth, number, &room);
    enum zs_status status = source != NULL ? zs_source_index(level, source, &index, err)
                                           : index_read_with_object(array, level, number, &index, err);
    if (status == ZS_NOT_FOUND && source == NULL) {
        index = zs_shard_index_absent();
        status = index != NULL ? ZS_OK : zs_fail_memory(err);
    }
    if (status == ZS_OK) {
        *entry = zs_cache_put(&array->indexes, key, index, ZS_CACHE_ENTRY_BYTES + sizeof *index + 16 * index->count);
        status = *entry != NULL ? ZS_OK : zs_fail_memory(err);
    }
    if (status != ZS_OK)
        zs_cache_remove(&array->indexes, key);
    return status;
}
