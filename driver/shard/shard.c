#include "shard/shard.h"

#include <stdlib.h>
#include <string.h>

/* ---- The index ---- */

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
    for (int k = 0; k < level->index_checksums; k++, n += 4)
        zs_store_le(bytes + n, zs_crc32c(bytes, n), 4);
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

/* ---- Bytes ---- */

struct zs_source zs_source_of(struct zs_object *object)
{
    return (struct zs_source){.object = object, .size = object->size, .version = object->version};
}

/* The bytes [offset, offset + size) of a source. */
static struct zs_source range_of(const struct zs_source *source, uint64_t offset, uint64_t size)
{
    struct zs_source range = *source;
    range.offset = source->offset + offset;
    range.size = size;
    if (source->memory != NULL)
        range.memory = source->memory + offset;
    return range;
}

enum zs_status zs_source_read(const struct zs_source *source, uint64_t offset, size_t n, void *data,
                              struct zs_error *err)
{
    if (source->memory == NULL)
        return zs_object_read(source->object, source->offset + offset, n, data, err);
    memcpy(data, source->memory + offset, n);
    return ZS_OK;
}

static enum zs_status check_size(const struct zs_source *source, uint64_t limit, struct zs_error *err)
{
    return source->size <= limit ? ZS_OK
                                 : zs_fail(err, ZS_CORRUPT, "expected at most %llu encoded bytes, found %llu",
                                           (unsigned long long)limit, (unsigned long long)source->size);
}

/* All bytes: *bytes points to them in memory, or into `buffer`, which they are read to. ZS_CORRUPT when they are more
 * than `limit`. */
static enum zs_status fetch(const struct zs_source *source, size_t limit, struct zs_buffer *buffer,
                            const unsigned char **bytes, struct zs_error *err)
{
    ZS_TRY(check_size(source, limit, err));
    *bytes = source->memory;
    if (source->memory != NULL)
        return ZS_OK;
    ZS_TRY(zs_buffer_reset(buffer, (size_t)source->size, err));
    ZS_TRY(zs_object_read(source->object, source->offset, (size_t)source->size, buffer->data, err));
    *bytes = buffer->data;
    return ZS_OK;
}

/* ---- A step down ---- */

enum zs_status zs_source_decode(const struct zs_level *level, const struct zs_source *encoded, size_t limit,
                                struct zs_buffer *decoded, struct zs_error *err)
{
    struct zs_buffer fetched = {0};
    const unsigned char *bytes;
    enum zs_status status = fetch(encoded, limit, &fetched, &bytes, err);
    struct zs_scratch *scratch = status == ZS_OK ? zs_scratch_acquire() : NULL;
    if (status == ZS_OK && scratch == NULL)
        status = zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_bytes_decode_up_to(level->bytes_codecs, level->bytes_codec_count, scratch, bytes,
                                       (size_t)encoded->size, limit, decoded, err);
    zs_scratch_release(scratch);
    zs_buffer_free(&fetched);
    return status;
}

enum zs_status zs_source_index(const struct zs_level *level, const struct zs_source *shard, struct zs_shard_index **out,
                               struct zs_error *err)
{
    uint64_t at;
    ZS_TRY(zs_shard_index_offset(level, shard->size, &at, err)); /* first: it may be too small for an index */
    struct zs_shard_index *index = zs_shard_index_alloc(level);
    ZS_TRY_MEMORY(index, err);
    index->shard_size = shard->size;
    index->version = shard->version;
    enum zs_status status = zs_source_read(shard, at, (size_t)level->index_size, index->entries, err);
    if (status == ZS_OK)
        status = zs_shard_index_decode(level, index, err);
    if (status == ZS_OK)
        *out = index;
    else
        free(index);
    return status;
}

enum zs_status zs_source_chunk(const struct zs_level *level, const struct zs_source *shard,
                               const struct zs_shard_index *index, uint64_t number, uint64_t limit, bool *is_empty,
                               struct zs_source *chunk, struct zs_error *err)
{
    uint64_t offset = 0, size = 0;
    ZS_TRY(zs_shard_index_entry(level, index, number, is_empty, &offset, &size, err));
    *chunk = range_of(shard, offset, size);
    chunk->version = index->version;
    return *is_empty ? ZS_OK : check_size(chunk, limit, err);
}

/* ---- A shard as it is stored ---- */

enum zs_status zs_stored_shard_open(const struct zs_level *level, const struct zs_source *encoded,
                                    struct zs_stored_shard *shard, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    shard->source = *encoded;
    if (level->bytes_codec_count > 0) {
        status = zs_source_decode(level, encoded, zs_level_bound(level), &shard->decoded, err);
        shard->source =
            (struct zs_source){.memory = shard->decoded.data, .size = shard->decoded.size, .version = encoded->version};
    }
    if (status == ZS_OK)
        status = zs_source_index(level, &shard->source, &shard->index, err);
    if (status != ZS_OK)
        zs_stored_shard_clear(shard);
    return status;
}

void zs_stored_shard_clear(struct zs_stored_shard *shard)
{
    zs_buffer_free(&shard->decoded);
    free(shard->index);
    *shard = (struct zs_stored_shard){0};
}

enum zs_status zs_stored_shard_chunk(const struct zs_level *level, const struct zs_stored_shard *shard, uint64_t number,
                                     bool *is_empty, struct zs_source *chunk, struct zs_error *err)
{
    if (shard->index != NULL)
        return zs_source_chunk(level, &shard->source, shard->index, number, UINT64_MAX, is_empty, chunk, err);
    *is_empty = true;
    *chunk = (struct zs_source){0};
    return ZS_OK;
}

/* ---- Which bytes to fetch together ---- */

int zs_range_compare(const void *a, const void *b)
{
    const struct zs_range *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

struct zs_range_policy zs_range_policy_of(bool is_remote)
{
    return is_remote ? (struct zs_range_policy){.max_gap = (uint64_t)128 << 10, .max_size = (uint64_t)4 << 20}
                     : (struct zs_range_policy){.max_gap = 4096, .max_size = (uint64_t)512 << 10};
}

size_t zs_range_plan(struct zs_range *ranges, size_t n, struct zs_range_policy policy, struct zs_range_group *groups)
{
    if (n > 1)
        qsort(ranges, n, sizeof *ranges, zs_range_compare);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct zs_range *range = &ranges[i];
        if (count > 0) {
            struct zs_range_group *group = &groups[count - 1];
            const uint64_t group_end = group->offset + group->size, end = range->offset + range->size;
            const uint64_t joined_end = end > group_end ? end : group_end;
            if ((range->offset <= group_end || range->offset - group_end <= policy.max_gap) &&
                (joined_end - group->offset <= policy.max_size || joined_end == group_end)) {
                group->size = joined_end - group->offset;
                group->count++;
                continue;
            }
        }
        groups[count++] = (struct zs_range_group){.first = i, .count = 1, .offset = range->offset, .size = range->size};
    }
    return count;
}
