/* How often the store is asked: round trips are what remote users wait for. */
#include "array/array_private.h"
#include "array_store.h"
#include "fault_store.h"
#include "shard/writer.h"

struct counted {
    struct zs_store *memory;
    struct fault_store store;
    struct zs_node *node;
    struct zs_array *array;
    atomic_int opens, reads;
};

static void count_call(struct fault_store *s, enum fault_call call, void *ctx)
{
    struct counted *c = ctx;
    (void)s;
    if (call == FAULT_OPEN)
        atomic_fetch_add(&c->opens, 1);
    if (call == FAULT_READ)
        atomic_fetch_add(&c->reads, 1);
}

/* 64 x 64 uint8, all of them 1, in shards of 32 x 32; opened anew, so that nothing is known of the store. */
static void open_counted(struct counted *c, const char *codecs, bool remote)
{
    struct zs_error err;
    static unsigned char ones[64 * 64];
    memset(ones, 1, sizeof ones);
    *c = (struct counted){.memory = memory_store(), .node = array_node("[64,64]", "[32,32]", "uint8", "0", codecs)};
    struct zs_array *writer = open_node(c->memory, c->node, 1, 0);
    const struct zs_window w = {.count = {64, 64}, .data = ones, .stride = {64, 1}};
    must(zs_array_write_windows(writer, &w, 1, 1, NULL, NULL, &err), &err);
    must(zs_array_flush(writer, &err), &err);
    zs_array_close(writer);
    fault_store_init(&c->store, c->memory);
    c->store.base.is_remote = remote;
    c->store.before = count_call;
    c->store.ctx = c;
    c->array = open_node(&c->store.base, c->node, 4, 0);
}

static void close_counted(struct counted *c)
{
    zs_array_close(c->array);
    zs_node_free(c->node);
    zs_store_free(c->memory);
}

#define CHUNKS_8 "[{'name':'sharding_indexed','configuration':{'chunk_shape':[8,8],'codecs':['bytes']}}]"

TEST(test_an_absent_shard_is_asked_for_once)
{
    struct zs_error err;
    struct counted c;
    open_counted(&c, CHUNKS_8, true);
    must(zs_store_remove(c.memory, "a/c/1/1", &err), &err);
    unsigned char out[100];
    for (int i = 0; i < 3; i++) {
        must(zs_array_read(c.array, (uint64_t[]){40, 40}, (uint64_t[]){10, 10}, out, &err), &err);
        CHECK_EQ_I64(c.opens, 1);
        CHECK_EQ_U64(out[99], 0);
    }
    CHECK_EQ_I64(c.reads, 0);
    close_counted(&c);
}

/* 6 x 64 x 512 uint16 in eight chunks of 49,152 bytes that do not fit the cache of 200 kB together, each a shard. */
#define DEEP "[{'name':'sharding_indexed','configuration':{'chunk_shape':[6,64,64],'codecs':['bytes']}}]"

static void read_lines_costs(struct counted *c, uint64_t first, uint64_t bands, int opens, int reads)
{
    struct zs_error err;
    c->opens = 0;
    c->reads = 0;
    for (uint64_t y = 0; y < 64; y++) {
        uint16_t out[6 * 512];
        must(zs_array_read(c->array, (uint64_t[]){first, y, 0}, (uint64_t[]){bands, 1, 512}, out, &err), &err);
        for (uint64_t i = 0; i < bands * 512; i++)
            if (!CHECK_EQ_U64(out[i], (uint16_t)((first + i / 512) * 10007 + y * 512 + i % 512)))
                return;
    }
    CHECK_EQ_I64(c->opens, opens);
    CHECK_EQ_I64(c->reads, reads);
}

TEST(test_lines_of_a_row_of_chunks_that_does_not_fit_the_cache_come_many_at_a_time)
{
    struct zs_error err;
    struct counted c = {.memory = memory_store(), .node = array_node("[6,64,512]", "[6,64,64]", "uint16", "0", DEEP)};
    uint16_t *pixels = calloc(6 * 64 * 512, sizeof *pixels);
    for (uint64_t i = 0; i < 6 * 64 * 512; i++)
        pixels[i] = (uint16_t)(i / 32768 * 10007 + i % 32768);
    c.array = open_node(c.memory, c.node, 1, 0);
    const struct zs_window w = {.count = {6, 64, 512}, .data = pixels, .stride = {65536, 1024, 2}};
    must(zs_array_write_windows(c.array, &w, 1, 2, NULL, NULL, &err), &err);
    must(zs_array_flush(c.array, &err), &err);
    zs_array_close(c.array);
    fault_store_init(&c.store, c.memory);
    c.store.before = count_call;
    c.store.ctx = &c;
    c.array = open_node(&c.store.base, c.node, 2, 200000);
    /* Of a chunk there is room for 18 kB: one band of it, and another; or 23 lines of all bands. */
    read_lines_costs(&c, 0, 1, 8, 16); /* index and chunk of each shard */
    read_lines_costs(&c, 1, 1, 0, 0);
    read_lines_costs(&c, 2, 1, 0, 8);
    read_lines_costs(&c, 0, 6, 0, 24);
    zs_array_close(c.array);
    free(pixels);
    zs_node_free(c.node);
    zs_store_free(c.memory);
}

#define MANY "[{'name':'sharding_indexed','configuration':{'chunk_shape':[1,1],'codecs':['bytes']}}]"

/* 16 shards of 2^18 chunks: too many for one plan. */
TEST(test_absent_shards_of_many_chunks_are_asked_for_once)
{
    struct zs_error err;
    struct counted c = {.memory = memory_store(), .node = array_node("[2048,2048]", "[512,512]", "uint8", "5", MANY)};
    fault_store_init(&c.store, c.memory);
    c.store.before = count_call;
    c.store.ctx = &c;
    for (int remote = 0; remote < 2; remote++) {
        unsigned char *out = calloc(2048, 2048);
        c.opens = 0;
        c.store.base.is_remote = remote;
        c.array = open_node(&c.store.base, c.node, 2, 0);
        for (int again = 0; again < 2; again++)
            must(zs_array_read(c.array, (uint64_t[]){0, 0}, (uint64_t[]){2048, 2048}, out, &err), &err);
        CHECK_EQ_I64(c.opens, 16);
        CHECK_EQ_I64(c.reads, 0);
        CHECK(out[0] == 5 && memcmp(out, out + 1, 2048 * 2048 - 1) == 0);
        zs_array_close(c.array);
        free(out);
    }
    zs_node_free(c.node);
    zs_store_free(c.memory);
}
