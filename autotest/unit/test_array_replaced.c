/* Shards that others replace while an array is open: what is read is of one version, old or new, never a mixture. */
#include "array/array_private.h"
#include "array_store.h"
#include "fault_store.h"
#include "oracle_store.h"

struct open_array {
    struct zs_store *memory;
    struct fault_store faults;
    struct zs_node *node;
    struct zs_array *array;
};

/* 16 elements of uint8, one shard. */
static void open_with(struct open_array *o, const char *inner, const char *outer)
{
    char *codecs =
        zs_format("[{'name':'sharding_indexed','configuration':{'chunk_shape':[4],'codecs':%s}}%s]", inner, outer);
    o->memory = memory_store();
    fault_store_init(&o->faults, o->memory);
    o->node = array_node("[16]", "[16]", "uint8", "7", codecs);
    o->array = open_node(&o->faults.base, o->node, 1, 0);
    free(codecs);
}

static void close_array(struct open_array *o)
{
    zs_array_close(o->array);
    zs_node_free(o->node);
    zs_store_free(o->memory);
}

/* A shard of n chunks of `size` bytes, each of one letter, behind `gap` bytes of nothing; an entry per chunk. */
static struct zs_buffer shard_with(size_t n, size_t size, char first, size_t gap)
{
    struct zs_buffer b = {0}, index = {0};
    for (size_t i = 0; i < gap; i++)
        oracle_append(&b, "?", 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char entry[16];
        const char letter = (char)(first + (char)i);
        oracle_put64(entry, b.size, false);
        oracle_put64(entry + 8, size, false);
        oracle_append(&index, entry, 16);
        for (size_t k = 0; k < size; k++)
            oracle_append(&b, &letter, 1);
    }
    oracle_add_checksums(&index, 0, 1);
    oracle_append(&b, index.data, index.size);
    zs_buffer_free(&index);
    return b;
}

static void publish(struct open_array *o, struct zs_buffer *b)
{
    put_object(o->memory, "a/c/0", b->data, b->size);
    zs_buffer_free(b);
}

static enum zs_status read_at(struct open_array *o, uint64_t start, uint64_t count, char *out, struct zs_error *err)
{
    memset(out, 0, 17);
    return zs_array_read(o->array, &start, &count, out, err);
}

TEST(test_a_read_that_finds_the_shard_replaced_is_tried_again_a_few_times)
{
    for (int times = 0; times < 13; times++) {
        struct zs_error err = {""};
        struct open_array o;
        char out[17];
        open_with(&o, "['bytes']", "");
        struct zs_buffer b = shard_with(4, 4, 'a', 0);
        publish(&o, &b);
        o.faults.replaced_below = 16; /* chunks, but not the index */
        o.faults.replaced_times = times;
        const enum zs_status status = read_at(&o, 0, 4, out, &err);
        CHECK(status == (times <= 10 ? ZS_OK : ZS_IO)); /* MOST_TURNS of array/read.c */
        CHECK_EQ_STR(status == ZS_OK ? out : "aaaa", "aaaa");
        if (status != ZS_OK) {
            CHECK_CONTAINS(err.message, "replaced");
            CHECK_CONTAINS(err.message, "a/c/0");
        }
        o.faults.replaced_times = 0;
        CHECK(read_at(&o, 0, 4, out, &err) == ZS_OK);
        CHECK_EQ_STR(out, "aaaa");
        close_array(&o);
    }
}

/* A shard of two shards of two chunks of 4 elements each, encoded by hand. */
static struct zs_buffer nested(char first, size_t gap)
{
    struct zs_buffer b = {0}, index = {0};
    for (size_t i = 0; i < gap; i++)
        oracle_append(&b, "?", 1);
    for (size_t i = 0; i < 2; i++) {
        struct zs_buffer inner = shard_with(2, 4, (char)(first + (char)(2 * i)), gap);
        unsigned char entry[16];
        oracle_put64(entry, b.size, false);
        oracle_put64(entry + 8, inner.size, false);
        oracle_append(&index, entry, 16);
        oracle_append(&b, inner.data, inner.size);
        zs_buffer_free(&inner);
    }
    oracle_add_checksums(&index, 0, 1);
    oracle_append(&b, index.data, index.size);
    zs_buffer_free(&index);
    return b;
}

static void open_nested(struct open_array *o)
{
    o->memory = memory_store();
    fault_store_init(&o->faults, o->memory);
    o->node = array_node("[16]", "[16]", "uint8", "7",
                         "[{'name':'sharding_indexed','configuration':{'chunk_shape':[8],'codecs':[{'name':'sharding_"
                         "indexed','configuration':{'chunk_shape':[4],'codecs':['bytes']}}]}}]");
    o->array = open_node(&o->faults.base, o->node, 1, 0);
}

TEST(test_a_nested_shard_replaced_between_its_indexes_is_read_anew)
{
    for (int removed = 0; removed < 2; removed++) {
        struct zs_error err = {""};
        struct open_array o;
        char out[17];
        open_nested(&o);
        struct zs_buffer b = nested('a', 0);
        publish(&o, &b);
        CHECK(read_at(&o, 0, 2, out, &err) == ZS_OK); /* outer index and one inner index known */
        CHECK_EQ_STR(out, "aa");
        b = nested('A', 10);
        publish(&o, &b);
        if (removed)
            CHECK(zs_store_remove(o.memory, "a/c/0", &err) == ZS_OK);
        zs_cache_clear(&o.array->objects);
        if (CHECK(read_at(&o, 4, 12, out, &err) == ZS_OK))
            CHECK_EQ_STR(out, removed ? "\7\7\7\7\7\7\7\7\7\7\7\7" : "BBBBCCCCDDDD");
        else
            fprintf(stderr, "%s\n", err.message);
        close_array(&o);
    }
}

TEST(test_an_index_is_never_used_with_the_bytes_of_another_version)
{
    struct zs_error err = {""};
    struct open_array o;
    char out[17];
    open_with(&o, "['bytes']", ",'crc32c'");
    struct zs_buffer b = shard_with(4, 4, 'a', 5000);
    oracle_add_checksums(&b, 0, 1);
    publish(&o, &b);
    CHECK(read_at(&o, 0, 4, out, &err) == ZS_OK);
    b = shard_with(4, 4, 'A', 0); /* much smaller: the offsets that are known lie outside of it */
    oracle_add_checksums(&b, 0, 1);
    publish(&o, &b);
    zs_cache_clear(&o.array->chunks); /* the decoded shard, but not its index */
    CHECK(read_at(&o, 0, 16, out, &err) == ZS_OK);
    CHECK_EQ_STR(out, "AAAABBBBCCCCDDDD");
    close_array(&o);
}
