#include "shard/shard.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "codec/codec.h"

#define MAGIC "ZSUNDO01"
#define MAGIC_BYTES 8
#define HEAD_BYTES (MAGIC_BYTES + 8 + 8 + 4)
/* Bytes of a shard that identify it. */
#define TAIL_BYTES ((uint64_t)64 << 10)

/* Number of bytes before `size` that appending does not change: all but an index at the start. */
static uint64_t tail_of(const struct zs_level *level, uint64_t size)
{
    return zs_min_u64(TAIL_BYTES, size - (level->index_at_start ? level->index_size : 0));
}

static enum zs_status tail_crc(struct zs_object *object, uint64_t size, uint64_t n, uint32_t *crc, struct zs_error *err)
{
    struct zs_buffer tail = {0};
    enum zs_status status = zs_buffer_reset(&tail, (size_t)n, err);
    if (status == ZS_OK)
        status = zs_object_read(object, size - n, (size_t)n, tail.data, err);
    if (status == ZS_OK)
        *crc = zs_crc32c(tail.data, (size_t)n);
    zs_buffer_free(&tail);
    return status;
}

static enum zs_status journal_key(const char *key, char **journal, struct zs_error *err)
{
    *journal = zs_journal_key(key);
    return *journal != NULL ? ZS_OK : zs_fail_memory(err);
}

enum zs_status zs_journal_write(struct zs_store *store, const char *key, const struct zs_level *level,
                                const struct zs_shard_index *index, struct zs_object *object, struct zs_error *err)
{
    const uint64_t size = index->shard_size, n = tail_of(level, size);
    const size_t all = HEAD_BYTES + (size_t)level->index_size + 4;
    uint32_t crc;
    char *journal;
    ZS_TRY(tail_crc(object, size, n, &crc, err));
    ZS_TRY(journal_key(key, &journal, err));
    unsigned char *bytes = malloc(all);
    enum zs_status status = bytes != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK) {
        memcpy(bytes, MAGIC, MAGIC_BYTES);
        zs_store_le(bytes + MAGIC_BYTES, size, 8);
        zs_store_le(bytes + MAGIC_BYTES + 8, n, 8);
        zs_store_le(bytes + MAGIC_BYTES + 16, crc, 4);
        zs_shard_index_encode(level, index, bytes + HEAD_BYTES);
        zs_store_le(bytes + all - 4, zs_crc32c(bytes, all - 4), 4);
        status = zs_store_put(store, journal, bytes, all, err);
    }
    free(bytes);
    free(journal);
    return status;
}

/* Checks that the bytes are a journal, of the shard `object`. */
static enum zs_status check(const struct zs_level *level, const struct zs_buffer *bytes, struct zs_object *object,
                            struct zs_error *err)
{
    const size_t all = HEAD_BYTES + (size_t)level->index_size + 4;
    uint32_t crc;
    if (bytes->size != all || memcmp(bytes->data, MAGIC, MAGIC_BYTES) != 0 ||
        zs_load_le32(bytes->data + all - 4) != zs_crc32c(bytes->data, all - 4))
        return zs_fail(err, ZS_NOT_FOUND, "expected a journal, found something else");
    const uint64_t size = zs_load_le64(bytes->data + MAGIC_BYTES), n = zs_load_le64(bytes->data + MAGIC_BYTES + 8);
    if (size < level->index_size || size > object->size || n != tail_of(level, size))
        return zs_fail(err, ZS_NOT_FOUND, "the journal is of another shard");
    ZS_TRY(tail_crc(object, size, n, &crc, err));
    return crc == zs_load_le32(bytes->data + MAGIC_BYTES + 16)
               ? ZS_OK
               : zs_fail(err, ZS_NOT_FOUND, "the journal is of another shard");
}

enum zs_status zs_journal_read(struct zs_store *store, const char *key, const struct zs_level *level,
                               struct zs_object *object, struct zs_shard_index **index, struct zs_error *err)
{
    const size_t all = HEAD_BYTES + (size_t)level->index_size + 4;
    struct zs_buffer bytes = {0};
    struct zs_shard_index *found = NULL;
    char *journal;
    ZS_TRY(journal_key(key, &journal, err));
    zs_store_forget(store, journal);
    enum zs_status status = zs_store_get(store, journal, all, &bytes, err);
    free(journal);
    if (status == ZS_OK)
        status = check(level, &bytes, object, err);
    if (status == ZS_OK && (found = zs_shard_index_alloc(level)) == NULL)
        status = zs_fail_memory(err);
    if (status == ZS_OK) {
        memcpy(found->entries, bytes.data + HEAD_BYTES, (size_t)level->index_size);
        found->shard_size = zs_load_le64(bytes.data + MAGIC_BYTES);
        found->version = object->version;
        found->is_recovered = true;
        status = zs_shard_index_decode(level, found, err);
    }
    zs_buffer_free(&bytes);
    if (status == ZS_OK)
        *index = found;
    else
        free(found);
    return status;
}

enum zs_status zs_journal_remove(struct zs_store *store, const char *key, struct zs_error *err)
{
    char *journal;
    ZS_TRY(journal_key(key, &journal, err));
    const enum zs_status status = zs_store_remove(store, journal, err);
    free(journal);
    return status;
}
