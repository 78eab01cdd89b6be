/* Reading windows: every layout that the specification allows, against an oracle; and what is wrong with a store. */
#include "array/array_private.h"
#include "oracle_store.h"

/* ---- Right stores ---- */

static void complement(void *ctx, const void *src, void *dst, ptrdiff_t dst_stride, size_t n)
{
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        uint16_t v;
        memcpy(&v, (const char *)src + 2 * i, 2);
        const uint32_t wide = 0xABCD0000u | (uint16_t)~v; /* to a type of another size */
        memcpy((char *)dst + (ptrdiff_t)i * dst_stride, &wide, 4);
    }
}

static void check_window(const struct oracle *o, const struct zs_window *w, bool converted)
{
    for (uint64_t i = 0, n = product(w->count, o->ndim); i < n; i++) {
        const uint16_t expected = o->model[element_of(i, o->ndim, o->shape, w->start, w->count)];
        const char *found = in_window(w, o->ndim, i);
        uint32_t wide = 0;
        memcpy(&wide, found, converted ? 4 : 2);
        if (!CHECK_EQ_U64(converted ? (uint16_t)~wide : wide, expected))
            return;
    }
}

static void read_windows(const struct oracle *o, struct zs_array *a, uint64_t *rng)
{
    struct zs_error err = {""};
    struct zs_window windows[4];
    void *memory[4];
    const size_t n = 1 + (size_t)rng_below(rng, 4);
    const bool converted = rng_below(rng, 3) == 0;
    for (size_t i = 0; i < n; i++) {
        random_window(rng, o->ndim, o->shape, windows[i].start, windows[i].count);
        memory[i] = malloc((size_t)product(windows[i].count, o->ndim) * (converted ? 4 : 2));
        random_layout(rng, o->ndim, &windows[i], memory[i], converted ? 4 : 2);
    }
    if (CHECK(zs_array_read_windows(a, windows, n, converted ? complement : NULL, NULL, &err) == ZS_OK))
        for (size_t i = 0; i < n; i++)
            check_window(o, &windows[i], converted);
    else
        fprintf(stderr, "%s\n", err.message);
    for (size_t i = 0; i < n; i++)
        free(memory[i]);
}

static void read_dense(const struct oracle *o, struct zs_array *a, uint64_t *rng)
{
    struct zs_error err = {""};
    uint64_t start[ORACLE_DIMS] = {0}, count[ORACLE_DIMS] = {0};
    random_window(rng, o->ndim, o->shape, start, count);
    const uint64_t n = product(count, o->ndim);
    uint16_t *out = malloc((size_t)n * 2);
    if (CHECK(zs_array_read(a, start, count, out, &err) == ZS_OK))
        for (uint64_t i = 0; i < n; i++)
            if (!CHECK_EQ_U64(out[i], o->model[element_of(i, o->ndim, o->shape, start, count)]))
                break;
    free(out);
}

TEST(test_random_arrays_read_as_the_oracle_wrote_them)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct oracle o;
        oracle_random(&o, seed);
        struct zs_node *node = oracle_node(&o);
        struct zs_store *store = memory_store();
        store->is_remote = seed % 5 == 0; /* the other ways of opening and merging */
        oracle_store(&o, store);
        struct zs_array *a = open_node(store, node, seed % 3 == 0 ? 1 : 3, seed % 2 == 0 ? 1 : 0);
        if (seed % 4 != 0)
            a->plan_overlaps = 1 + seed % 11; /* cut in all ways that there are */
        const int failures = check_failures;
        for (int i = 0; i < 8; i++) {
            read_dense(&o, a, &o.seed);
            read_windows(&o, a, &o.seed);
        }
        if (check_failures != failures)
            fprintf(stderr, "... with seed %d\n", (int)seed);
        zs_array_close(a);
        zs_store_free(store);
        zs_node_free(node);
        oracle_free(&o);
    }
}

/* Chunks of 1920 bytes in a random order of dimensions, 75 of them. */
static void oracle_of_larger_chunks(struct oracle *o, uint64_t seed)
{
    static const uint64_t chunk[3] = {4, 12, 20}, shape[3] = {10, 50, 90};
    do {
        oracle_random(o, seed++);
        if (o->ndim != 3 || o->levels != 2)
            oracle_free(o);
    } while (o->ndim != 3 || o->levels != 2);
    for (int d = 0; d < 3; d++) {
        o->shape[d] = shape[d];
        o->level[1].chunk[d] = chunk[d];
        o->level[0].chunk[d] = 2 * chunk[d];
    }
    const uint64_t n = product(o->shape, 3);
    o->model = realloc(o->model, (size_t)n * sizeof *o->model);
    for (uint64_t i = 0; i < n; i++)
        o->model[i] = (uint16_t)rng_next(&o->seed);
}

TEST(test_parts_of_chunks_beyond_the_cache_read_as_the_oracle_wrote_them)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct oracle o;
        oracle_of_larger_chunks(&o, 1000 * seed);
        struct zs_node *node = oracle_node(&o);
        struct zs_store *store = memory_store();
        oracle_store(&o, store);
        struct zs_array *a = open_node(store, node, 2, 2000 * (1 + seed % 30));
        for (int i = 0; i < 12; i++) {
            read_dense(&o, a, &o.seed);
            read_windows(&o, a, &o.seed);
        }
        zs_array_close(a);
        zs_store_free(store);
        zs_node_free(node);
        oracle_free(&o);
    }
}

#define SHARDED                                                                                                       \
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[2,2],'codecs':['bytes'%s],'index_codecs':['bytes','" \
    "crc32c']}}%s]"

/* 6 x 6 uint8 in shards of 4 x 4 with chunks of 2 x 2; shard 0/0 as its bytes, all others absent. */
struct small {
    struct zs_store *store;
    struct zs_node *node;
    struct zs_array *array;
};

static struct small small_of(const void *shard, size_t n, const char *inner_codecs, const char *outer_codecs)
{
    struct small s = {.store = memory_store()};
    char *codecs = zs_format(SHARDED, inner_codecs, outer_codecs);
    s.node = array_node("[6,6]", "[4,4]", "uint8", "9", codecs);
    free(codecs);
    if (shard != NULL)
        put_object(s.store, "a/c/0/0", shard, n);
    s.array = open_node(s.store, s.node, 2, 0);
    return s;
}

static void small_free(struct small *s)
{
    zs_array_close(s->array);
    zs_node_free(s->node);
    zs_store_free(s->store);
}

/* Four chunks of four bytes (or as the entries say), then the index. */
static struct zs_buffer shard_of(const uint64_t *entries, const char *body)
{
    struct zs_buffer b = {0};
    unsigned char index[64];
    for (int i = 0; i < 8; i++)
        oracle_put64(index + 8 * i, entries[i], false);
    oracle_append(&b, body, strlen(body));
    oracle_append(&b, index, 64);
    oracle_add_checksums(&b, strlen(body), 1);
    return b;
}

static enum zs_status read_all(struct zs_array *a, unsigned char *out, struct zs_error *err)
{
    const uint64_t start[2] = {0, 0}, count[2] = {6, 6};
    err->message[0] = '\0';
    return zs_array_read(a, start, count, out, err);
}

TEST(test_empty_chunks_and_absent_shards_read_as_the_fill_value)
{
    struct zs_error err;
    unsigned char out[36];
    struct zs_buffer b = shard_of((uint64_t[]){0, 4, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 4, 4}, "abcdwxyz");
    struct small s = small_of(b.data, b.size, "", "");
    CHECK(read_all(s.array, out, &err) == ZS_OK);
    static const char expected[] = "ab\t\t\t\tcd\t\t\t\t\t\twx\t\t\t\tyz\t\t\t\t\t\t\t\t\t\t\t\t\t\t";
    CHECK_EQ_MEM(out, expected, 36);
    small_free(&s);
    zs_buffer_free(&b);
}

TEST(test_windows_outside_are_refused_and_empty_windows_read_nothing)
{
    struct zs_error err;
    unsigned char out[36];
    struct small s = small_of(NULL, 0, "", "");
    CHECK(zs_array_read(s.array, (uint64_t[]){0, 5}, (uint64_t[]){1, 2}, out, &err) == ZS_ARGUMENT);
    CHECK_CONTAINS(err.message, "dimension 1");
    CHECK(zs_array_read(s.array, (uint64_t[]){7, 0}, (uint64_t[]){0, 1}, out, &err) == ZS_ARGUMENT);
    CHECK(zs_array_read(s.array, (uint64_t[]){1, 0}, (uint64_t[]){UINT64_MAX, 1}, out, &err) == ZS_ARGUMENT);
    CHECK(zs_array_read(s.array, (uint64_t[]){0, 0}, (uint64_t[]){2, UINT64_MAX / 2}, out, &err) == ZS_ARGUMENT);
    CHECK(zs_array_read(s.array, (uint64_t[]){6, 0}, (uint64_t[]){0, 6}, out, &err) == ZS_OK);
    CHECK(zs_array_read_windows(s.array, NULL, 0, NULL, NULL, &err) == ZS_OK);
    small_free(&s);
}

/* ---- Wrong stores ---- */

struct wrong {
    uint64_t entries[8];
    const char *body, *inner, *outer;
    const char *words[3];
};

TEST(test_errors_in_a_shard_name_object_and_chunk)
{
    static const struct wrong cases[] = {
        {{0, 4, 4, 4, 8, 4, 12, 5}, "abcdefghijklmnop", "", "", {"[1,1]", "entry 3", "offset 12 and size 5"}},
        {{0, 4, 4, 4, 8, 4, 20, 4}, "abcdefghijklmnop", "", "", {"[1,1]", "entry 3", "offset 20"}},
        {{0, 4, UINT64_MAX, 4, 8, 4, 12, 4}, "abcdefghijklmnop", "", "", {"[0,1]", "entry 1", "2^64-1"}},
        {{0, 4, 4, 4, 8, 4, 8, UINT64_MAX}, "abcdefghijklmnop", "", "", {"[1,1]", "entry 3", "2^64-1"}},
        {{0, 4, 4, 3, 8, 4, 12, 4}, "abcdefghijklmnop", "", "", {"[0,1]", "expected 4 bytes", "found 3"}},
        {{0, 4, 4, 4, 8, 0, 12, 4}, "abcdefghijklmnop", "", "", {"[1,0]", "expected 4 bytes", "found 0"}},
        {{0, 8, UINT64_MAX, UINT64_MAX, 0, 8, 8, 8},
         "abcdefghijklmnop",
         ",'crc32c'",
         "",
         {"inner chunk", "crc32c checksum", "found 0x"}},
        {{0, 4, 4, 4, 8, 4, 12, 4}, "abcdefghijklmnop", ",'gzip'", "", {"inner chunk", "gzip", "not a valid"}},
        {{0, 4, 4, 4, 8, 4, 12, 4}, "abcdefghijklmnop", "", ",'crc32c'", {"inner chunk", "crc32c", "checksum"}},
        {{0, 4, 4, 4, 8, 4, 12, 4}, "abcdefghijklmnop", "", ",'gzip'", {"inner chunk", "gzip", "not a valid"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct zs_error err;
        unsigned char out[36];
        struct zs_buffer b = shard_of(cases[i].entries, cases[i].body);
        struct small s = small_of(b.data, b.size, cases[i].inner, cases[i].outer);
        for (int again = 0; again < 2; again++) { /* and nothing of it is remembered as good */
            if (!CHECK(read_all(s.array, out, &err) == ZS_CORRUPT))
                fprintf(stderr, "case %zu: %s\n", i, err.message);
            CHECK_CONTAINS(err.message, "memory/a/c/0/0");
            for (int w = 0; w < 3; w++)
                CHECK_CONTAINS(err.message, cases[i].words[w]);
        }
        small_free(&s);
        zs_buffer_free(&b);
    }
}

TEST(test_a_shard_cut_anywhere_is_an_error)
{
    struct zs_buffer b = shard_of((uint64_t[]){0, 4, 4, 4, 8, 4, 12, 4}, "abcdefghijklmnop");
    for (int remote = 0; remote < 2; remote++)
        for (size_t n = 0; n < b.size; n++) {
            struct zs_error err;
            unsigned char out[36];
            struct small s = small_of(b.data, n, "", "");
            s.store->is_remote = remote;
            CHECK(read_all(s.array, out, &err) == ZS_CORRUPT);
            CHECK_CONTAINS(err.message, "memory/a/c/0/0");
            CHECK_CONTAINS(err.message, n < 68 ? "found" : "checksum");
            small_free(&s);
        }
    zs_buffer_free(&b);
}

TEST(test_any_changed_bit_of_an_index_is_found_by_its_checksum)
{
    struct zs_buffer b = shard_of((uint64_t[]){0, 4, 4, 4, 8, 4, 12, 4}, "abcdefghijklmnop");
    for (size_t bit = 8 * 16; bit < 8 * b.size; bit++) {
        struct zs_error err;
        unsigned char out[36];
        b.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        struct small s = small_of(b.data, b.size, "", "");
        CHECK(read_all(s.array, out, &err) == ZS_CORRUPT);
        CHECK_CONTAINS(err.message, "memory/a/c/0/0");
        CHECK_CONTAINS(err.message, "0x");
        small_free(&s);
        b.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    zs_buffer_free(&b);
}

TEST(test_an_unsharded_object_of_the_wrong_size_is_an_error)
{
    struct zs_error err;
    unsigned char out[36];
    struct zs_store *store = memory_store();
    struct zs_node *node = array_node("[6,6]", "[6,6]", "uint8", "0", "['bytes']");
    struct zs_array *a = open_node(store, node, 1, 0);
    put_object(store, "a/c/0/0", "short", 5);
    CHECK(read_all(a, out, &err) == ZS_CORRUPT);
    CHECK_CONTAINS(err.message, "memory/a/c/0/0");
    CHECK_CONTAINS(err.message, "expected 36 bytes");
    void *large = zs_calloc(1 << 20, 1); /* far more than a chunk can be */
    put_object(store, "a/c/0/0", large, 1 << 20);
    CHECK(read_all(a, out, &err) != ZS_OK);
    CHECK_CONTAINS(err.message, "memory/a/c/0/0");
    free(large);
    zs_array_close(a);
    zs_node_free(node);
    zs_store_free(store);
}
