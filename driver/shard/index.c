#include "shard/index.h"

#include <stdlib.h>

#include "base/checked.h"
#include "codec/codec.h"

struct zs_shard_index *zs_shard_index_alloc(const struct zs_level *level)
{
    if (level->index_size > SIZE_MAX - sizeof(struct zs_shard_index))
        return NULL;
    struct zs_shard_index *index = malloc(sizeof *index + (size_t)level->index_size);
    if (index != NULL)
        *index = (struct zs_shard_index){.count = level->inner_count};
    return index;
}

struct zs_shard_index *zs_shard_index_absent(void)
{
    struct zs_shard_index *index = zs_calloc(1, sizeof *index);
    if (index != NULL)
        index->is_absent = true;
    return index;
}

static uint64_t load_u64(const unsigned char *bytes, bool big_endian)
{
    const uint64_t v = zs_load_le64(bytes);
    return big_endian ? __builtin_bswap64(v) : v;
}

static void store_u64(unsigned char *bytes, uint64_t value, bool big_endian)
{
    zs_store_le(bytes, big_endian ? __builtin_bswap64(value) : value, 8);
}

enum zs_status zs_shard_index_decode(const struct zs_level *level, struct zs_shard_index *index, struct zs_error *err)
{
    const unsigned char *bytes = (const unsigned char *)index->entries;
    size_t n = (size_t)level->index_size;
    for (int i = 0; i < level->index_checksums; i++) {
        n -= 4;
        const uint32_t expected = zs_load_le32(bytes + n);
        const uint32_t found = zs_crc32c(bytes, n);
        if (expected != found)
            return zs_fail(err, ZS_CORRUPT, "shard index: expected the crc32c checksum 0x%08x, found 0x%08x", expected,
                           found);
    }
    for (uint64_t i = 0; i < 2 * index->count; i++)
        index->entries[i] = load_u64(bytes + 8 * i, level->index_big_endian);
    return ZS_OK;
}

void zs_shard_index_encode(const struct zs_level *level, const struct zs_shard_index *index, void *out)
{
    unsigned char *bytes = out;
    size_t n = 16 * (size_t)index->count;
    for (uint64_t i = 0; i < 2 * index->count; i++)
        store_u64(bytes + 8 * i, index->entries[i], level->index_big_endian);
    for (int k = 0; k < level->index_checksums; k++, n += 4) {
        const uint32_t c = zs_crc32c(bytes, n);
        for (int i = 0; i < 4; i++)
            bytes[n + (size_t)i] = (unsigned char)(c >> (8 * i));
    }
}

enum zs_status zs_shard_index_offset(const struct zs_level *level, uint64_t shard_size, uint64_t *offset,
                                     struct zs_error *err)
{
    if (shard_size < level->index_size)
        return zs_fail(err, ZS_CORRUPT, "shard: expected at least the %llu bytes of its index, found %llu",
                       (unsigned long long)level->index_size, (unsigned long long)shard_size);
    *offset = level->index_at_start ? 0 : shard_size - level->index_size;
    return ZS_OK;
}

uint64_t zs_shard_index_number(const struct zs_level *level, const uint64_t *position)
{
    uint64_t number = 0;
    for (int j = 0; j < level->ndim; j++)
        number = number * level->grid[level->axis[j]] + position[level->axis[j]];
    return number;
}

void zs_shard_index_set(struct zs_shard_index *index, uint64_t number, bool is_empty, uint64_t offset, uint64_t size)
{
    index->entries[2 * number] = is_empty ? ZS_INDEX_EMPTY : offset;
    index->entries[2 * number + 1] = is_empty ? ZS_INDEX_EMPTY : size;
}

enum zs_status zs_shard_index_entry(const struct zs_level *level, const struct zs_shard_index *index, uint64_t number,
                                    bool *is_empty, uint64_t *offset, uint64_t *size, struct zs_error *err)
{
    *is_empty = true;
    if (index->is_absent)
        return ZS_OK;
    const uint64_t o = index->entries[2 * number], n = index->entries[2 * number + 1];
    if (o == ZS_INDEX_EMPTY && n == ZS_INDEX_EMPTY)
        return ZS_OK;
    /* Chunks lie beside the index. */
    const uint64_t low = level->index_at_start ? level->index_size : 0;
    const uint64_t high = level->index_at_start ? index->shard_size : index->shard_size - level->index_size;
    if (o == ZS_INDEX_EMPTY || n == ZS_INDEX_EMPTY)
        return zs_fail(err, ZS_CORRUPT,
                       "shard index entry %llu: expected offset and size both 2^64-1 or neither, found %llu and %llu",
                       (unsigned long long)number, (unsigned long long)o, (unsigned long long)n);
    if (o < low || o > high || n > high - o)
        return zs_fail(
            err, ZS_CORRUPT,
            "shard index entry %llu: expected bytes within %llu to %llu of the shard, found offset %llu and size %llu",
            (unsigned long long)number, (unsigned long long)low, (unsigned long long)high, (unsigned long long)o,
            (unsigned long long)n);
    *is_empty = false;
    *offset = o;
    *size = n;
    return ZS_OK;
}
