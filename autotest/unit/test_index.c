/* The index of a shard. */
#include "array_store.h"
#include "shard/shard.h"

static struct zs_level level_of(uint64_t count, int checksums, bool big_endian, bool at_start)
{
    return (struct zs_level){.ndim = 1,
                             .is_shard = true,
                             .grid = {count},
                             .inner_count = count,
                             .index_at_start = at_start,
                             .index_big_endian = big_endian,
                             .index_checksums = checksums,
                             .index_size = 16 * count + 4 * (uint64_t)checksums};
}

static struct zs_shard_index *shard_index_of(const struct zs_level *level, const void *bytes)
{
    struct zs_shard_index *index = zs_shard_index_alloc(level);
    memcpy(index->entries, bytes, (size_t)level->index_size);
    index->shard_size = 1000;
    return index;
}

static void test_encoded_and_decoded_again_is_the_same(void)
{
    struct zs_error err;
    uint64_t rng = 1;
    for (int round = 0; round < 100; round++) {
        const struct zs_level level = level_of(1 + rng_below(&rng, 40), (int)rng_below(&rng, 4), round % 2 == 0, false);
        struct zs_shard_index *index = zs_shard_index_alloc(&level);
        CHECK_EQ_U64(index->count, level.inner_count);
        CHECK(!index->is_absent);
        for (uint64_t i = 0; i < 2 * index->count; i++)
            index->entries[i] = rng_below(&rng, 4) == 0 ? ZS_INDEX_EMPTY : rng_next(&rng);
        unsigned char bytes[40 * 16 + 16];
        memset(bytes, 0x5A, sizeof bytes);
        zs_shard_index_encode(&level, index, bytes);
        for (size_t i = (size_t)level.index_size; i < sizeof bytes; i++)
            CHECK_EQ_U64(bytes[i], 0x5A);
        struct zs_shard_index *again = shard_index_of(&level, bytes);
        CHECK(zs_shard_index_decode(&level, again, &err) == ZS_OK);
        CHECK_EQ_MEM(again->entries, index->entries, 16 * (size_t)index->count);
        free(index);
        free(again);
    }
}

static void test_bytes_are_those_of_the_specification(void)
{
    struct zs_level level = level_of(1, 1, false, false);
    struct zs_shard_index *index = zs_shard_index_alloc(&level);
    index->entries[0] = 0x0102030405060708u;
    index->entries[1] = 0x1112131415161718u;
    unsigned char bytes[20];
    static const unsigned char little[] = {8, 7, 6, 5, 4, 3, 2, 1, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11};
    zs_shard_index_encode(&level, index, bytes);
    CHECK_EQ_MEM(bytes, little, 16);
    const uint32_t sum = slow_crc32c(little, 16);
    for (int i = 0; i < 4; i++)
        CHECK_EQ_U64(bytes[16 + i], sum >> (8 * i) & 0xFF);
    level.index_big_endian = true;
    zs_shard_index_encode(&level, index, bytes);
    for (int i = 0; i < 8; i++) {
        CHECK_EQ_U64(bytes[i], little[7 - i]);
        CHECK_EQ_U64(bytes[8 + i], little[15 - i]);
    }
    free(index);
}

static void test_any_changed_bit_is_found_by_the_checksum(void)
{
    struct zs_error err;
    const struct zs_level level = level_of(3, 2, false, false);
    unsigned char bytes[16 * 3 + 8];
    struct zs_shard_index *index = zs_shard_index_alloc(&level);
    for (uint64_t i = 0; i < 6; i++)
        index->entries[i] = i * 100;
    zs_shard_index_encode(&level, index, bytes);
    free(index);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        index = shard_index_of(&level, bytes);
        CHECK(zs_shard_index_decode(&level, index, &err) == ZS_CORRUPT);
        CHECK_CONTAINS(err.message, "shard index");
        CHECK_CONTAINS(err.message, "0x");
        free(index);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    index = shard_index_of(&level, bytes);
    CHECK(zs_shard_index_decode(&level, index, &err) == ZS_OK);
    free(index);
}

static void test_index_offset_at_the_start_and_the_end(void)
{
    struct zs_error err;
    uint64_t offset = 99;
    const struct zs_level end = level_of(4, 1, false, false), start = level_of(4, 1, false, true);
    CHECK(zs_shard_index_offset(&end, 1000, &offset, &err) == ZS_OK && offset == 1000 - 68);
    CHECK(zs_shard_index_offset(&end, 68, &offset, &err) == ZS_OK && offset == 0);
    CHECK(zs_shard_index_offset(&start, 1000, &offset, &err) == ZS_OK && offset == 0);
    CHECK(zs_shard_index_offset(&end, 67, &offset, &err) == ZS_CORRUPT);
    CHECK_CONTAINS(err.message, "68");
    CHECK_CONTAINS(err.message, "67");
    CHECK(zs_shard_index_offset(&start, 0, &offset, &err) == ZS_CORRUPT);
}

struct entry_case {
    uint64_t offset, size;
    bool valid_at_end, valid_at_start;
};

static void test_an_absent_shard_has_only_empty_chunks(void)
{
    struct zs_error err;
    const struct zs_level level = level_of(1000000, 1, false, false);
    struct zs_shard_index *index = zs_shard_index_absent();
    bool is_empty = false;
    uint64_t offset, size;
    CHECK(index->is_absent);
    CHECK(zs_shard_index_entry(&level, index, 999999, &is_empty, &offset, &size, &err) == ZS_OK && is_empty);
    free(index);
}

static void test_numbers_follow_the_stored_dimensions(void)
{
    struct zs_level level = {.ndim = 3, .is_shard = true, .grid = {2, 3, 4}, .axis = {0, 1, 2}, .inner_count = 24};
    CHECK_EQ_U64(zs_shard_index_number(&level, (uint64_t[]){1, 2, 3}), 23);
    CHECK_EQ_U64(zs_shard_index_number(&level, (uint64_t[]){1, 0, 2}), 14);
    level.axis[0] = 2, level.axis[1] = 0, level.axis[2] = 1; /* stored as [4,2,3] */
    CHECK_EQ_U64(zs_shard_index_number(&level, (uint64_t[]){1, 2, 3}), 23);
    CHECK_EQ_U64(zs_shard_index_number(&level, (uint64_t[]){1, 0, 2}), 2 * 6 + 1 * 3 + 0);
    bool seen[24] = {false};
    for (uint64_t i = 0; i < 24; i++) {
        uint64_t at[3];
        position_of(i, 3, level.grid, at);
        const uint64_t number = zs_shard_index_number(&level, at);
        if (CHECK(number < 24 && !seen[number]))
            seen[number] = true;
    }
    const struct zs_level none = {.ndim = 0, .inner_count = 1};
    CHECK_EQ_U64(zs_shard_index_number(&none, NULL), 0);
}

int main(void)
{
    RUN(test_encoded_and_decoded_again_is_the_same);
    RUN(test_bytes_are_those_of_the_specification);
    RUN(test_any_changed_bit_is_found_by_the_checksum);
    RUN(test_index_offset_at_the_start_and_the_end);
    RUN(test_an_absent_shard_has_only_empty_chunks);
    RUN(test_numbers_follow_the_stored_dimensions);
    return check_result();
}
