/* Chunks of which little is wanted: read in parts, held equal to what was written, and what that asks of the store. */
#include "array/array_private.h"
#include "array_store.h"
#include "fault_store.h"

#define DEPTH 60
#define SIDE 96
#define SMALL 200000 /* bytes of a chunk that is read in parts, which larger ones are by themselves */

struct deep {
    struct zs_store *memory;
    struct fault_store store;
    struct zs_node *node;
    struct zs_array *array;
    uint16_t *model;
    atomic_uint_least64_t opens, reads;
};

static void count_call(struct fault_store *s, enum fault_call call, void *ctx)
{
    struct deep *d = ctx;
    (void)s;
    if (call == FAULT_OPEN)
        atomic_fetch_add(&d->opens, 1);
    if (call == FAULT_READ)
        atomic_fetch_add(&d->reads, 1);
}

/* 60 x 96 x 96 uint16 in chunks of all its depth (48 x 48 x 2 x 60: 276,480 bytes), where shards hold two by two. */
static void open_deep(struct deep *d, const char *chunks, const char *codecs, bool remote, bool noisy)
{
    struct zs_error err;
    uint64_t rng = 3;
    const size_t n = (size_t)DEPTH * SIDE * SIDE;
    *d = (struct deep){.memory = memory_store(), .model = malloc(2 * n)};
    d->node = array_node("[60,96,96]", chunks, "uint16", "5", codecs);
    for (size_t i = 0; i < n; i++)
        d->model[i] = (uint16_t)(noisy ? 10 + rng_next(&rng) % 60000 : 10 + (i % SIDE) * 31 + i / (SIDE * SIDE) * 7 + i % 5);
    struct zs_array *writer = open_node(d->memory, d->node, 2, 0);
    const struct zs_window w = {.count = {DEPTH, SIDE, SIDE}, .data = d->model, .stride = {2 * SIDE * SIDE, 2 * SIDE, 2}};
    must(zs_array_write_windows(writer, &w, 1, 2, NULL, NULL, &err), &err);
    must(zs_array_flush(writer, &err), &err);
    zs_array_close(writer);
    fault_store_init(&d->store, d->memory);
    d->store.base.is_remote = remote;
    d->store.before = count_call;
    d->store.ctx = d;
    d->array = open_node(&d->store.base, d->node, 2, 0);
    d->array->block_threshold = SMALL;
}

static void close_deep(struct deep *d)
{
    zs_array_close(d->array);
    zs_node_free(d->node);
    zs_store_free(d->memory);
    free(d->model);
}

/* Reads a window and holds it against the model. */
static bool read_window(struct deep *d, const uint64_t *start, const uint64_t *count)
{
    static const uint64_t shape[] = {DEPTH, SIDE, SIDE};
    struct zs_error err;
    const uint64_t n = product(count, 3);
    uint16_t *out = malloc((size_t)n * 2);
    bool same = zs_array_read(d->array, start, count, out, &err) == ZS_OK;
    if (!CHECK(same))
        fprintf(stderr, "%s\n", err.message);
    for (uint64_t i = 0; i < n && same; i++)
        same = CHECK_EQ_U64(out[i], d->model[element_of(i, 3, shape, start, count)]);
    free(out);
    return same;
}

#define SHARD(inner) \
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[60,48,48],'codecs':[" inner "]}}]"
#define LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"
#define BIG "{'name':'bytes','configuration':{'endian':'big'}}"
#define BLOSC(cname, shuffle, size) \
    "{'name':'blosc','configuration':{'cname':'" cname "','clevel':5,'shuffle':'" shuffle \
    "','typesize':2,'blocksize':" size "}}"
#define BLOCKS BLOSC("zstd", "shuffle", "16384")

static const struct {
    const char *chunks, *codecs;
} layouts[] = {
    {"[60,96,96]", SHARD(LITTLE)},
    {"[60,96,96]", SHARD(BIG)},
    {"[60,96,96]", SHARD(LITTLE "," BLOCKS)},
    {"[60,96,96]", SHARD(BIG "," BLOSC("lz4", "shuffle", "4096"))},
    {"[60,96,96]", SHARD(LITTLE "," BLOSC("blosclz", "bitshuffle", "8192"))},
    {"[60,96,96]", SHARD(LITTLE "," BLOSC("zlib", "noshuffle", "10000"))},
    {"[60,96,96]", SHARD(LITTLE "," BLOSC("lz4hc", "shuffle", "30000") ",'crc32c'")},
    {"[60,96,96]", SHARD("{'name':'transpose','configuration':{'order':[1,2,0]}}," LITTLE "," BLOCKS)},
    {"[60,96,96]", SHARD("{'name':'transpose','configuration':{'order':[2,0,1]}}," BIG)},
    {"[60,96,96]", SHARD("{'name':'scale_offset','configuration':{'offset':3,'scale':1}}," LITTLE "," BLOCKS)},
    {"[60,96,96]", SHARD("{'name':'cast_value','configuration':{'data_type':'float32'}}," LITTLE "," BLOCKS)},
    {"[60,96,96]", SHARD("{'name':'cast_value','configuration':{'data_type':'float64'}}," BIG)},
    {"[60,96,96]", SHARD(LITTLE ",'zstd'")},
    {"[60,80,80]", "[" LITTLE "," BLOCKS "]"},
    {"[60,80,80]", "[" LITTLE "]"},
    {"[60,96,96]", "[{'name':'sharding_indexed','configuration':{'chunk_shape':[60,96,96],'codecs':[{'name':'sharding_"
                   "indexed','configuration':{'chunk_shape':[60,48,48],'codecs':[" LITTLE "," BLOCKS "]}}]}}]"},
    {"[60,96,96]", "[{'name':'sharding_indexed','configuration':{'chunk_shape':[60,48,48],'codecs':[" LITTLE "," BLOCKS
                   "]}},'gzip']"}};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };

static bool is_here(const char *codecs)
{
    struct zs_error err;
    const struct zs_codec *codec;
    return (strstr(codecs, "blosc") == NULL || zs_codec_find("blosc", &codec, &err) == ZS_OK) &&
           (strstr(codecs, "'zstd'") == NULL || zs_codec_find("zstd", &codec, &err) == ZS_OK);
}

TEST(test_small_windows_of_any_layout_read_as_written)
{
    uint64_t rng = 1;
    for (size_t l = 0; l < 2 * LAYOUTS; l++) {
        struct deep d;
        if (!is_here(layouts[l / 2].codecs))
            continue;
        open_deep(&d, layouts[l / 2].chunks, layouts[l / 2].codecs, l % 2 == 1, rng_below(&rng, 2) == 0);
        for (int round = 0; round < 60; round++) {
            uint64_t start[3], count[3], shape[] = {DEPTH, SIDE, SIDE};
            const uint64_t most[] = {round % 3 == 0 ? DEPTH : 4, round % 3 == 1 ? SIDE : 6, round % 2 ? SIDE : 6};
            for (int i = 0; i < 3; i++) {
                start[i] = rng_below(&rng, shape[i]);
                count[i] = 1 + rng_below(&rng, zs_min_u64(most[i], shape[i] - start[i]));
            }
            if (!read_window(&d, start, count)) {
                fprintf(stderr, "layout %zu: %s\n", l / 2, layouts[l / 2].codecs);
                break;
            }
        }
        close_deep(&d);
    }
}

/* Reads a window, and checks what it cost: requests, and bytes at most. */
static void costs(struct deep *d, const uint64_t *start, const uint64_t *count, uint64_t reads, uint64_t bytes)
{
    d->reads = 0;
    d->store.bytes_read = 0;
    CHECK(read_window(d, start, count));
    CHECK_EQ_U64(d->reads, reads);
    if (!CHECK(d->store.bytes_read <= bytes))
        fprintf(stderr, "%llu bytes\n", (unsigned long long)d->store.bytes_read);
}

TEST(test_only_needed_pages_of_raw_chunks_are_read)
{
    struct deep d;
    open_deep(&d, "[60,96,96]", SHARD(LITTLE), false, true);
    const uint64_t map = 48 * 48 * 2, page = 4096, index = 68;
    costs(&d, (uint64_t[]){7, 0, 0}, (uint64_t[]){1, 48, 48}, 2, index + map + 2 * page);
    costs(&d, (uint64_t[]){7, 0, 0}, (uint64_t[]){1, 48, 48}, 0, 0); /* kept */
    costs(&d, (uint64_t[]){7, 0, 0}, (uint64_t[]){1, 96, 96}, 3, 3 * (map + 2 * page));
    costs(&d, (uint64_t[]){9, 3, 5}, (uint64_t[]){1, 1, 1}, 1, page);
    close_deep(&d);
}

TEST(test_blosc_block_table_is_read_once_and_only_needed_blocks)
{
    struct deep d;
    if (!is_here(SHARD(BLOCKS)))
        return;
    open_deep(&d, "[60,96,96]", SHARD(LITTLE "," BLOSC("zstd", "noshuffle", "16384")), false, false);
    const uint64_t head = 4096, block = 16384, index = 68; /* a map has 4608 bytes, before they are encoded */
    costs(&d, (uint64_t[]){0, 0, 0}, (uint64_t[]){1, 48, 48}, 3, index + head + block);
    costs(&d, (uint64_t[]){1, 0, 0}, (uint64_t[]){2, 48, 48}, 0, 0); /* in the block that is kept */
    costs(&d, (uint64_t[]){20, 0, 0}, (uint64_t[]){1, 48, 48}, 1, 2 * block);
    costs(&d, (uint64_t[]){0, 0, 0}, (uint64_t[]){60, 48, 48}, 1, 300000); /* the whole, as ever */
    close_deep(&d);
}

TEST(test_unsharded_chunk_is_read_in_parts)
{
    for (int remote = 0; remote < 2; remote++) {
        struct deep d;
        open_deep(&d, "[60,96,96]", "[" LITTLE "]", remote, true);
        if (remote)
            d.array->ranges.max_gap = 4096; /* else so small a chunk is quicker had whole */
        const uint64_t page = remote ? 8192 : 4096, map = 96 * 96 * 2;
        d.opens = 0;
        costs(&d, (uint64_t[]){7, 0, 0}, (uint64_t[]){1, 96, 96}, remote ? 2 : 1, map + 2 * page + 4096);
        CHECK_EQ_U64(d.opens, 1);
        costs(&d, (uint64_t[]){7, 0, 0}, (uint64_t[]){1, 96, 96}, 0, 0);
        CHECK_EQ_U64(d.opens, remote ? 1 : 2); /* a file may have been replaced */
        close_deep(&d);
    }
}

TEST(test_replaced_shard_is_read_by_its_own_block_table)
{
    struct deep d;
    struct zs_error err;
    if (!is_here(SHARD(BLOCKS)))
        return;
    open_deep(&d, "[60,96,96]", SHARD(LITTLE "," BLOCKS), false, true);
    CHECK(read_window(&d, (uint64_t[]){0, 0, 0}, (uint64_t[]){1, 96, 96}));
    struct zs_array *writer = open_node(d.memory, d.node, 2, 0);
    const struct zs_window w = {.count = {DEPTH, SIDE, SIDE}, .data = d.model, .stride = {2 * SIDE * SIDE, 2 * SIDE, 2}};
    for (size_t i = 0; i < (size_t)DEPTH * SIDE * SIDE; i++)
        d.model[i] = (uint16_t)(i / 1000 + 1);
    must(zs_array_write_windows(writer, &w, 1, 2, NULL, NULL, &err), &err);
    must(zs_array_flush(writer, &err), &err);
    zs_array_close(writer);
    d.store.replaced_below = UINT64_MAX; /* the next read finds out */
    d.store.replaced_times = 1;
    CHECK(read_window(&d, (uint64_t[]){30, 0, 0}, (uint64_t[]){1, 96, 96}));
    CHECK(read_window(&d, (uint64_t[]){0, 0, 0}, (uint64_t[]){1, 96, 96})); /* and no old block is taken for a new one */
    close_deep(&d);
}

TEST(test_any_failing_call_is_an_error_and_the_next_read_succeeds)
{
    for (size_t l = 0; l < LAYOUTS; l++) {
        struct deep d;
        struct zs_error err;
        static uint16_t out[96 * 96];
        if (!is_here(layouts[l].codecs))
            continue;
        open_deep(&d, layouts[l].chunks, layouts[l].codecs, l % 2 == 1, true);
        for (long call = 1;; call++) {
            zs_array_close(d.array); /* nothing is known */
            d.array = open_node(&d.store.base, d.node, 2, 0);
            d.array->block_threshold = SMALL;
            d.store.calls = 0;
            d.store.fail_at = call;
            const enum zs_status status =
                zs_array_read(d.array, (uint64_t[]){31, 0, 0}, (uint64_t[]){1, 96, 96}, out, &err);
            const bool was_reached = d.store.calls >= call;
            d.store.fail_at = 0;
            CHECK_EQ_U64(status, was_reached ? ZS_IO : ZS_OK);
            CHECK(read_window(&d, (uint64_t[]){31, 0, 0}, (uint64_t[]){1, 96, 96}));
            if (!was_reached)
                break;
        }
        close_deep(&d);
    }
}
