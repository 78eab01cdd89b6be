/* Building one shard. What was built is taken apart by hand. */
#include "array_store.h"
#include "fault_store.h"
#include "shard/writer.h"

#define CHUNKS 16

/* A shard, and the leaf chunks in it. */
struct levels {
    struct zs_level of[2];
};

static struct levels levels_of(bool index_at_start)
{
    return (struct levels){{{.ndim = 2,
                             .is_shard = true,
                             .grid = {4, 4},
                             .axis = {0, 1},
                             .inner_count = CHUNKS,
                             .index_at_start = index_at_start,
                             .index_checksums = 1,
                             .index_size = 16 * CHUNKS + 4},
                            {.ndim = 2, .item_size = 1, .decoded_size = 64}}};
}

/* What a chunk is to be: text, or NULL for empty. */
typedef const char *model[CHUNKS];

static uint64_t le64(const unsigned char *p)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

/* The object at "s" holds the model, its chunks without gaps in this order, and nothing else. */
static void check_shard(struct zs_store *store, const struct zs_level *level, enum zs_chunk_order order,
                        const model chunks)
{
    struct zs_error err;
    struct zs_buffer b = get_object(store, "s");
    const size_t index_size = (size_t)level->index_size;
    if (!CHECK(b.size >= index_size))
        return;
    const unsigned char *index = level->index_at_start ? b.data : b.data + b.size - index_size;
    const uint32_t sum = slow_crc32c(index, index_size - 4);
    for (int i = 0; i < 4; i++)
        CHECK_EQ_U64(index[16 * CHUNKS + i], sum >> (8 * i) & 0xFF);
    uint64_t numbers[CHUNKS], at = level->index_at_start ? index_size : 0;
    must(zs_chunk_order_list(level, order, numbers, &err), &err);
    for (int i = 0; i < CHUNKS; i++) {
        const uint64_t number = numbers[i], offset = le64(index + 16 * number), size = le64(index + 16 * number + 8);
        if (chunks[number] == NULL) {
            CHECK_EQ_U64(offset, UINT64_MAX);
            CHECK_EQ_U64(size, UINT64_MAX);
            continue;
        }
        CHECK_EQ_U64(offset, at);
        if (CHECK(size == strlen(chunks[number]) && offset + size <= b.size))
            CHECK_EQ_MEM(b.data + offset, chunks[number], (size_t)size);
        at += size;
    }
    CHECK_EQ_U64(at + (level->index_at_start ? 0 : index_size), b.size);
    zs_buffer_free(&b);
}

/* A writer over what is at "s" now. */
static struct zs_shard_writer *writer_of(struct zs_store *store, const struct zs_level *level,
                                         enum zs_chunk_order order)
{
    struct zs_error err;
    struct zs_object *object = NULL;
    struct zs_shard_index *base = NULL;
    struct zs_shard_writer *w = NULL;
    if (has_object(store, "s")) {
        must(zs_object_open(store, "s", &object, &err), &err);
        base = zs_shard_index_alloc(level);
        base->shard_size = zs_object_size(object);
        uint64_t offset;
        must(zs_shard_index_offset(level, base->shard_size, &offset, &err), &err);
        must(zs_object_read(object, offset, (size_t)level->index_size, base->entries, &err), &err);
        must(zs_shard_index_decode(level, base, &err), &err);
    }
    must(zs_shard_writer_create(store, "s", level, order, &w, &err), &err);
    must(zs_shard_writer_base(w, order, base, object, &err), &err);
    return w;
}

static void put(struct zs_shard_writer *w, uint64_t number, const char *text)
{
    struct zs_error err;
    must(zs_shard_writer_put(w, number, text, text != NULL ? strlen(text) : 0, &err), &err);
}

static void finish(struct zs_shard_writer *w)
{
    struct zs_error err;
    bool is_lost;
    must(zs_shard_writer_publish(w, ZS_UPDATE_REWRITE, false, &is_lost, &err), &err);
    zs_shard_writer_free(w);
}

static const char *text_of(uint64_t number)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    return letters + number; /* each of its own length */
}

TEST(test_chunks_in_any_order_become_a_shard_in_the_wanted_one)
{
    for (int variant = 0; variant < 2 * 3 * 3; variant++) {
        const struct levels levels = levels_of(variant % 2);
        const struct zs_level *level = levels.of;
        const enum zs_chunk_order order = (enum zs_chunk_order)(variant / 2 % 3);
        struct zs_store *store = memory_store();
        struct zs_shard_writer *w = writer_of(store, level, order);
        model chunks = {NULL};
        for (uint64_t i = 0; i < CHUNKS; i++) {
            const uint64_t number = variant / 6 == 0 ? i : variant / 6 == 1 ? CHUNKS - 1 - i : i * 5 % CHUNKS;
            chunks[number] = number % 5 == 2 ? NULL : text_of(number);
            put(w, number, chunks[number]);
            CHECK_EQ_U64(zs_shard_writer_put_count(w), i + 1);
            CHECK(zs_shard_writer_has(w, number));
        }
        CHECK(!has_object(store, "s"));
        finish(w);
        check_shard(store, level, order, chunks);
        zs_store_free(store);
    }
}

TEST(test_a_chunk_replaced_before_the_end_leaves_no_trace)
{
    for (int at_start = 0; at_start < 2; at_start++) {
        const struct levels levels = levels_of(at_start);
        const struct zs_level *level = levels.of;
        struct zs_store *store = memory_store();
        struct zs_shard_writer *w = writer_of(store, level, ZS_ORDER_ROW_MAJOR);
        model chunks = {NULL};
        put(w, 1, "first thought");
        put(w, 2, "kept");
        put(w, 3, "soon empty");
        put(w, 4, NULL);
        put(w, 1, "second thought");
        put(w, 3, NULL);
        put(w, 4, "no more empty");
        CHECK_EQ_U64(zs_shard_writer_put_count(w), 4);
        CHECK(!zs_shard_writer_has(w, 0));
        chunks[1] = "second thought", chunks[2] = "kept", chunks[4] = "no more empty";
        finish(w);
        check_shard(store, level, ZS_ORDER_ROW_MAJOR, chunks);
        zs_store_free(store);
    }
}

static void check_get(struct zs_shard_writer *w, uint64_t number, const char *text)
{
    struct zs_error err;
    struct zs_buffer out = {0};
    bool is_empty = false;
    CHECK(zs_shard_writer_get(w, number, &is_empty, &out, &err) == ZS_OK);
    CHECK(is_empty == (text == NULL));
    if (text != NULL && CHECK(out.size == strlen(text)))
        CHECK_EQ_MEM(out.data, text, out.size);
    zs_buffer_free(&out);
}

TEST(test_chunks_that_were_not_put_stay_byte_for_byte)
{
    uint64_t rng = 31;
    for (int at_start = 0; at_start < 2; at_start++) {
        const struct levels levels = levels_of(at_start);
        const struct zs_level *level = levels.of;
        struct zs_store *store = memory_store();
        model chunks = {NULL};
        for (int round = 0; round < 60; round++) {
            struct zs_shard_writer *w = writer_of(store, level, ZS_ORDER_MORTON);
            for (uint64_t n = rng_below(&rng, 6); n > 0; n--) {
                const uint64_t number = rng_below(&rng, CHUNKS);
                chunks[number] = rng_below(&rng, 3) == 0 ? NULL : text_of(rng_below(&rng, 20));
                put(w, number, chunks[number]);
            }
            for (uint64_t i = 0; i < CHUNKS; i++)
                check_get(w, i, chunks[i]);
            finish(w);
            bool any = false;
            for (int i = 0; i < CHUNKS; i++)
                any = any || chunks[i] != NULL;
            CHECK(has_object(store, "s") == any);
            if (any)
                check_shard(store, level, ZS_ORDER_MORTON, chunks);
        }
        zs_store_free(store);
    }
}

/* A write that failed may have left some of its bytes: nothing that stands behind them may become a shard. What was put
 * without a failure is still there, and can be published when the store works again. */
TEST(test_after_a_failed_write_only_earlier_chunks_are_published)
{
    for (int variant = 0; variant < 4; variant++)
        for (long fail_at = 1; fail_at < 12; fail_at++) {
            struct zs_error err;
            const struct levels levels = levels_of(variant & 1);
            struct zs_store *store = memory_store();
            struct fault_store faults;
            fault_store_init(&faults, store);
            struct zs_shard_writer *w = writer_of(&faults.base, levels.of, ZS_ORDER_ROW_MAJOR);
            faults.calls = 0;
            faults.fail_at = fail_at;
            faults.half_written = true;
            model chunks = {NULL};
            bool any = false;
            for (uint64_t i = 0; i < 4; i++) {
                const uint64_t number = variant & 2 ? 3 - i : i; /* in order: temp becomes the shard */
                if (zs_shard_writer_put(w, number, text_of(i), strlen(text_of(i)), &err) == ZS_OK)
                    chunks[number] = text_of(i);
                else
                    CHECK_CONTAINS(err.message, "fault");
                any = any || chunks[number] != NULL;
            }
            bool is_lost = false;
            enum zs_status status = zs_shard_writer_publish(w, ZS_UPDATE_REWRITE, false, &is_lost, &err);
            CHECK(has_object(store, "s") == (status == ZS_OK && any));
            if (status != ZS_OK && !is_lost)
                status = zs_shard_writer_publish(w, ZS_UPDATE_REWRITE, false, &is_lost, &err); /* the store works again */
            CHECK((status == ZS_OK) != is_lost);
            CHECK(has_object(store, "s") == (status == ZS_OK && any));
            if (status == ZS_OK && any)
                check_shard(store, levels.of, ZS_ORDER_ROW_MAJOR, chunks);
            zs_shard_writer_free(w);
            zs_store_free(store);
        }
}

TEST(test_any_changed_bit_is_found_by_the_checksum)
{
    struct zs_error err;
    const struct zs_level level = {.ndim = 1, .is_shard = true, .inner_count = 3, .index_checksums = 2, .index_size = 56};
    unsigned char bytes[16 * 3 + 8];
    struct zs_shard_index *index = zs_shard_index_alloc(&level);
    for (uint64_t i = 0; i < 6; i++)
        index->entries[i] = i * 100;
    zs_shard_index_encode(&level, index, bytes);
    free(index);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        index = zs_shard_index_alloc(&level);
        memcpy(index->entries, bytes, sizeof bytes);
        CHECK(zs_shard_index_decode(&level, index, &err) == ZS_CORRUPT);
        CHECK_CONTAINS(err.message, "shard index");
        CHECK_CONTAINS(err.message, "0x");
        free(index);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    index = zs_shard_index_alloc(&level);
    memcpy(index->entries, bytes, sizeof bytes);
    CHECK(zs_shard_index_decode(&level, index, &err) == ZS_OK);
    free(index);
}
