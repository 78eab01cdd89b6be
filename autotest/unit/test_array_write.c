/* Writing windows: whatever is written in whatever order is what is read, before and after it is in the store. */
#include "array_store.h"
#include "base/cache.h"
#include "oracle_store.h"
#include "shard/writer.h"

#define SHARDS(shape, codecs, more) \
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':" shape ",'codecs':" codecs more "}}"
#define START ",'index_location':'start'"

struct layout {
    int ndim;
    uint64_t shape[4];
    const char *chunk, *codecs;
};

static const struct layout layouts[] = {
    {2, {13, 17}, "[8,8]", SHARDS("[4,4]", "['bytes','gzip']", "") "]"},
    {2, {13, 17}, "[8,4]", SHARDS("[2,4]", "['bytes','crc32c']", START) "]"},
    {2, {9, 20}, "[4,6]", "['bytes','gzip']"},
    {2, {16, 16}, "[16,16]", "['bytes']"},
    {2, {13, 17}, "[8,8]", SHARDS("[4,4]", SHARDS("[2,2]", "['bytes','gzip']", "") "]", START) "]"},
    {2, {13, 17}, "[8,8]", SHARDS("[4,4]", "['bytes']", "") ",'gzip']"},
    {2, {13, 17}, "[8,8]", SHARDS("[4,4]", "['bytes','gzip']", START) ",'crc32c','gzip']"},
    {2,
     {13, 17},
     "[8,12]",
     "[{'name':'transpose','configuration':{'order':[1,0]}}," /* the shard sees 12 x 8 */
     "{'name':'sharding_indexed','configuration':{'chunk_shape':[3,4],'codecs':[{'name':'bytes','configuration':{'end"
     "ian':'big'}}]}}]"},
    {3,
     {5, 7, 11},
     "[2,4,8]",
     SHARDS("[1,2,4]", "[{'name':'transpose','configuration':{'order':[2,0,1]}},'bytes']", "") "]"},
    {3,
     {5, 7, 11},
     "[4,4,8]",
     SHARDS("[2,4,4]",
            SHARDS("[2,2,1]",
                   "[{'name':'transpose','configuration':{'order':[1,2,0]}},{'name':'bytes','configuration':{'endian'"
                   ":'big'}}]",
                   "") "]",
            "") "]"},
    {4, {3, 3, 3, 3}, "[2,2,2,2]", SHARDS("[1,1,1,2]", "['bytes']", "") "]"},
    {1, {200}, "[16]", SHARDS("[4]", "['bytes']", "") "]"},
    {0, {0}, "[]", SHARDS("[]", "['bytes']", "") "]"},
    {0, {0}, "[]", "['bytes']"},
};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0], FILL = 5 };

static struct zs_node *node_of(const struct layout *l)
{
    char *shape = oracle_list(l->ndim, l->shape);
    struct zs_node *node = array_node(shape, l->chunk, "uint16", "5", l->codecs);
    free(shape);
    return node;
}

static void narrow(void *ctx, const void *src, void *dst, ptrdiff_t dst_stride, size_t n)
{
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        uint32_t v;
        memcpy(&v, (const char *)src + 4 * i, 4);
        const uint16_t half = (uint16_t)v;
        memcpy((char *)dst + (ptrdiff_t)i * dst_stride, &half, 2);
    }
}

static void write_randomly(const struct layout *l, struct zs_array *a, uint16_t *model, uint64_t *rng)
{
    struct zs_error err = {""};
    struct zs_window windows[2];
    void *memory[2];
    const bool converted = rng_below(rng, 3) == 0, is_fill = rng_below(rng, 4) == 0;
    const size_t item = converted ? 4 : 2, count = 1 + (size_t)rng_below(rng, 2);
    for (size_t k = 0; k < count; k++) { /* the second over the first, where they meet */
        struct zs_window *w = &windows[k];
        random_window(rng, l->ndim, l->shape, w->start, w->count);
        const uint64_t n = product(w->count, l->ndim);
        memory[k] = malloc((size_t)n * item);
        random_layout(rng, l->ndim, w, memory[k], item);
        for (uint64_t i = 0; i < n; i++) {
            const uint16_t value = is_fill ? FILL : (uint16_t)rng_below(rng, 40);
            const uint32_t wide = 0x77770000u | value;
            memcpy(in_window(w, l->ndim, i), converted ? (const void *)&wide : (const void *)&value, item);
            model[element_of(i, l->ndim, l->shape, w->start, w->count)] = value;
        }
    }
    CHECK_OK(zs_array_write_windows(a, windows, count, item, converted ? narrow : NULL, NULL, &err), &err);
    for (size_t k = 0; k < count; k++)
        free(memory[k]);
}

static void compare(const struct layout *l, struct zs_array *a, const uint16_t *model, const uint64_t *start,
                    const uint64_t *count)
{
    struct zs_error err = {""};
    const uint64_t n = product(count, l->ndim);
    uint16_t *out = malloc((size_t)n * 2);
    CHECK_OK(zs_array_read(a, start, count, out, &err), &err);
    for (uint64_t i = 0; i < n; i++)
        if (!CHECK_EQ_U64(out[i], model[element_of(i, l->ndim, l->shape, start, count)]))
            break;
    free(out);
}

/* Opened as by someone who knows nothing of what was written. */
static void compare_anew(const struct layout *l, struct zs_store *store, const struct zs_node *node,
                         const uint16_t *model)
{
    static const uint64_t zeros[4];
    struct zs_array *a = open_node(store, node, 2, 0);
    compare(l, a, model, zeros, l->shape);
    zs_array_close(a);
}

static void random_operations(const struct layout *l, uint64_t seed)
{
    struct zs_error err = {""};
    uint64_t rng = seed;
    const uint64_t n = product(l->shape, l->ndim), budget = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 200 : 0;
    uint16_t *model = malloc((size_t)n * 2);
    for (uint64_t i = 0; i < n; i++)
        model[i] = FILL;
    struct zs_store *store = memory_store();
    struct zs_node *node = node_of(l);
    struct zs_array *a = open_node(store, node, 2, budget);
    if (seed % 2 == 0)
        zs_array_set_new(a, (int)(seed / 2 % 3));
    const int failures = check_failures;
    for (int i = 0; i < 60 && check_failures == failures; i++) {
        const uint64_t what = rng_below(&rng, 10);
        uint64_t start[4], count[4];
        if (what < 6) {
            write_randomly(l, a, model, &rng);
        } else if (what < 8) {
            random_window(&rng, l->ndim, l->shape, start, count);
            compare(l, a, model, start, count);
        } else if (what == 8) {
            CHECK(zs_array_flush(a, &err) == ZS_OK);
            compare_anew(l, store, node, model);
        } else {
            CHECK(zs_array_flush(a, &err) == ZS_OK);
            zs_array_close(a);
            a = open_node(store, node, 2, budget);
        }
    }
    CHECK(zs_array_flush(a, &err) == ZS_OK);
    compare_anew(l, store, node, model);
    for (uint64_t i = 0; i < n; i++)
        model[i] = FILL;
    struct zs_window all = {.data = model};
    ptrdiff_t stride = 2;
    for (int d = l->ndim - 1; d >= 0; d--) {
        all.count[d] = l->shape[d];
        all.stride[d] = stride;
        stride *= (ptrdiff_t)l->shape[d];
    }
    CHECK(zs_array_write_windows(a, &all, 1, 2, NULL, NULL, &err) == ZS_OK);
    CHECK(zs_array_flush(a, &err) == ZS_OK);
    char **names;
    must(zs_store_list(store, "", &names, &err), &err);
    CHECK(names[0] == NULL); /* nothing but fill value is nothing at all */
    zs_names_free(names);
    if (check_failures != failures)
        fprintf(stderr, "... with seed %d and %s\n", (int)seed, l->codecs);
    zs_array_close(a);
    zs_node_free(node);
    zs_store_free(store);
    free(model);
}

TEST(test_random_writes_are_what_is_read)
{
    for (int l = 0; l < LAYOUTS; l++)
        for (uint64_t seed = 1; seed <= 12; seed++)
            random_operations(&layouts[l], seed);
}

/* ---- One behaviour at a time, in 1 dimension: 64 uint8 in shards of 16 and chunks of 4 ---- */

struct small {
    struct zs_store *store;
    struct zs_node *node;
    struct zs_array *array;
};

static struct small small_of(const char *codecs, uint64_t cache_bytes)
{
    struct small s = {.store = memory_store(), .node = array_node("[62]", "[16]", "uint8", "46", codecs)}; /* '.' */
    s.array = open_node(s.store, s.node, 2, cache_bytes);
    return s;
}

static void small_free(struct small *s)
{
    zs_array_close(s->array);
    zs_node_free(s->node);
    zs_store_free(s->store);
}

static enum zs_status write_at(struct zs_array *a, uint64_t start, const char *text, struct zs_error *err)
{
    char copy[64];
    memcpy(copy, text, strlen(text));
    const struct zs_window w = {.start = {start}, .count = {strlen(text)}, .data = copy, .stride = {1}};
    return zs_array_write_windows(a, &w, 1, 1, NULL, NULL, err);
}

static void put(struct small *s, uint64_t start, const char *text)
{
    struct zs_error err;
    must(write_at(s->array, start, text, &err), &err);
}

static void flush(struct small *s)
{
    struct zs_error err;
    must(zs_array_flush(s->array, &err), &err);
}

#define PLAIN SHARDS("[4]", "['bytes']", "") "]"

TEST(test_a_shard_appears_when_all_its_chunks_came_and_others_at_flush)
{
    struct small s = small_of(PLAIN, 0);
    put(&s, 0, "aaaabbbbccccdddd");
    CHECK(has_object(s.store, "a/c/0"));
    put(&s, 16, "aaaabbbbcccc");
    put(&s, 28, "dd"); /* half a chunk */
    CHECK(!has_object(s.store, "a/c/1"));
    put(&s, 48, "aaaabbbbccccdd"); /* all that lies in the array */
    CHECK(has_object(s.store, "a/c/3"));
    flush(&s);
    CHECK(has_object(s.store, "a/c/1"));
    CHECK(!has_object(s.store, "a/c/2"));
    small_free(&s);
}

static void expect_object(struct small *s, const char *key, const char *body, uint64_t a, uint64_t b, uint64_t c,
                          uint64_t d)
{
    struct zs_buffer found = get_object(s->store, key);
    const uint64_t entries[4] = {a, b, c, d};
    unsigned char index[64];
    for (int i = 0; i < 4; i++) {
        oracle_put64(index + 16 * i, entries[i], false);
        oracle_put64(index + 16 * i + 8, entries[i] == UINT64_MAX ? UINT64_MAX : 4, false);
    }
    if (CHECK(found.size == strlen(body) + 68)) {
        CHECK_EQ_MEM(found.data, body, strlen(body));
        CHECK_EQ_MEM(found.data + strlen(body), index, 64);
    }
    zs_buffer_free(&found);
}

TEST(test_chunks_of_nothing_but_fill_are_not_stored)
{
    struct small s = small_of(PLAIN, 0);
    put(&s, 0, "aaaa....ccccdddd");
    expect_object(&s, "a/c/0", "aaaaccccdddd", 0, UINT64_MAX, 4, 8);
    put(&s, 16, "................");
    CHECK(!has_object(s.store, "a/c/1"));
    put(&s, 0, "................");
    CHECK(!has_object(s.store, "a/c/0"));
    put(&s, 60, "zz"); /* beyond the edge: fill */
    flush(&s);
    expect_object(&s, "a/c/3", "zz..", UINT64_MAX, UINT64_MAX, UINT64_MAX, 0);
    put(&s, 60, "..");
    flush(&s);
    CHECK(!has_object(s.store, "a/c/3"));
    small_free(&s);
}

TEST(test_published_chunks_of_a_new_array_are_kept)
{
    struct small s = small_of(PLAIN, 0);
    zs_array_set_new(s.array, ZS_ORDER_ROW_MAJOR);
    put(&s, 0, "aaaabbbbccccdddd");
    CHECK(has_object(s.store, "a/c/0"));
    put(&s, 4, "BBBB");
    put(&s, 13, "D");
    flush(&s);
    expect_object(&s, "a/c/0", "aaaaBBBBccccdDdd", 0, 4, 8, 12);
    put(&s, 0, "AAAA");
    flush(&s);
    expect_object(&s, "a/c/0", "AAAABBBBccccdDdd", 0, 4, 8, 12);
    small_free(&s);
}

/* Of chunks that are objects, in a remote store. */
TEST(test_chunks_of_a_new_array_are_read_before_its_document_is_there)
{
    struct zs_error err;
    char out[33] = "";
    struct small s = small_of("['bytes']", 0);
    s.store->is_remote = true;
    zs_array_set_new(s.array, ZS_ORDER_ROW_MAJOR);
    put(&s, 0, "aaaabbbbccccddddeeeeffffgggghhhh"); /* two of them */
    must(zs_array_read(s.array, (uint64_t[]){0}, (uint64_t[]){32}, out, &err), &err);
    CHECK_EQ_STR(out, "aaaabbbbccccddddeeeeffffgggghhhh");
    small_free(&s);
}

TEST(test_neighbours_of_a_changed_chunk_stay_byte_for_byte)
{
    /* Members that our gzip would not write; the second is not even gzip, and nobody looks. */
    static const char foreign[] = "gzip of another!not gzip at all!";
    struct small s = small_of(SHARDS("[4]", "['bytes','gzip']", "") "]", 0);
    struct zs_buffer b = {0};
    unsigned char index[64];
    memset(index, 0xFF, 64);
    oracle_put64(index, 0, false), oracle_put64(index + 8, 16, false);
    oracle_put64(index + 48, 16, false), oracle_put64(index + 56, 16, false);
    oracle_append(&b, foreign, 32);
    oracle_append(&b, index, 64);
    oracle_add_checksums(&b, 32, 1);
    put_object(s.store, "a/c/0", b.data, b.size);
    zs_buffer_free(&b);
    put(&s, 4, "new!");
    flush(&s);
    b = get_object(s.store, "a/c/0");
    if (CHECK(b.size > 32 + 68)) {
        const unsigned char *entries = b.data + b.size - 68;
        CHECK_EQ_MEM(b.data + entries[0], foreign, 16);
        CHECK_EQ_U64(entries[8], 16);
        CHECK_EQ_MEM(b.data + entries[48], foreign + 16, 16);
        CHECK_EQ_U64(entries[56], 16);
    }
    zs_buffer_free(&b);
    small_free(&s);
}

TEST(test_more_shards_than_may_be_open_are_all_written)
{
    enum { SHARD_COUNT = 600 };
    struct zs_error err;
    for (int is_new = 0; is_new < 2; is_new++) {
        struct zs_store *store = memory_store();
        struct zs_node *node = array_node("[2400]", "[4]", "uint8", "0", SHARDS("[2]", "['bytes']", "") "]");
        struct zs_array *a = open_node(store, node, 2, 0);
        if (is_new)
            zs_array_set_new(a, ZS_ORDER_ROW_MAJOR);
        for (uint64_t half = 0; half < 2; half++)
            for (uint64_t i = 0; i < SHARD_COUNT; i++)
                must(write_at(a, 4 * i + 2 * half, half == 0 ? "ab" : "cd", &err), &err);
        must(zs_array_flush(a, &err), &err);
        zs_array_close(a);
        a = open_node(store, node, 2, 0);
        char out[4 * SHARD_COUNT];
        must(zs_array_read(a, (uint64_t[]){0}, (uint64_t[]){sizeof out}, out, &err), &err);
        for (size_t i = 0; i < SHARD_COUNT; i++)
            CHECK_EQ_MEM(out + 4 * i, "abcd", 4);
        zs_array_close(a);
        zs_node_free(node);
        zs_store_free(store);
    }
}

TEST(test_wrong_requests_are_refused)
{
    struct zs_error err = {""};
    struct small s = small_of(PLAIN, 0);
    CHECK(write_at(s.array, 61, "xx", &err) == ZS_ARGUMENT);
    CHECK_CONTAINS(err.message, "dimension 0");
    CHECK(write_at(s.array, UINT64_MAX, "x", &err) == ZS_ARGUMENT);
    CHECK(write_at(s.array, 62, "", &err) == ZS_OK);
    uint64_t wide = 0;
    const struct zs_window w = {.count = {1}, .data = &wide, .stride = {8}};
    CHECK(zs_array_write_windows(s.array, &w, 1, 8, NULL, NULL, &err) == ZS_ARGUMENT); /* not the array's element */
    CHECK_CONTAINS(err.message, "item_size");
    small_free(&s);
}

/* ---- Several writers of one store ---- */

/* Two or more handles write random elements, each its own (element i belongs to writer i % writers), in turns, with
 * budgets that evict and flushes between: whatever the interleaving, nothing of anyone is lost. */
static void random_writers(const struct layout *l, uint64_t seed)
{
    enum { WRITERS = 3 };
    struct zs_error err = {""};
    uint64_t rng = seed * 977;
    const uint64_t n = product(l->shape, l->ndim);
    uint16_t *model = malloc((size_t)n * 2);
    for (uint64_t i = 0; i < n; i++)
        model[i] = FILL;
    struct zs_store *store = memory_store();
    struct zs_node *node = node_of(l);
    struct zs_array *writers[WRITERS];
    for (int k = 0; k < WRITERS; k++)
        writers[k] = open_node(store, node, 1, seed % 3 == 0 ? 1 : seed % 3 == 1 ? 200 : 0);
    for (int i = 0; i < 150; i++) {
        const uint64_t element = rng_below(&rng, n), k = element % WRITERS;
        uint16_t value = (uint16_t)rng_below(&rng, 1000);
        struct zs_window w = {.data = &value};
        position_of(element, l->ndim, l->shape, w.start);
        for (int d = 0; d < l->ndim; d++)
            w.count[d] = 1;
        must(zs_array_write_windows(writers[k], &w, 1, 2, NULL, NULL, &err), &err);
        model[element] = value;
        if (rng_below(&rng, 6) == 0)
            must(zs_array_flush(writers[rng_below(&rng, WRITERS)], &err), &err);
    }
    for (int k = 0; k < WRITERS; k++) {
        must(zs_array_flush(writers[k], &err), &err);
        zs_array_close(writers[k]);
    }
    const int failures = check_failures;
    compare_anew(l, store, node, model);
    if (check_failures != failures)
        fprintf(stderr, "... with seed %d and %s\n", (int)seed, l->codecs);
    zs_node_free(node);
    zs_store_free(store);
    free(model);
}

TEST(test_several_writers_of_one_chunk_lose_no_element)
{
    for (int l = 0; l < LAYOUTS; l++)
        for (uint64_t seed = 1; seed <= 30; seed++)
            random_writers(&layouts[l], seed);
}

TEST(test_a_chunk_that_was_put_whole_wins_and_its_neighbours_stay)
{
    struct zs_error err;
    struct small s = small_of(PLAIN, 0);
    put(&s, 0, "aaaabbbbccccdddd");
    struct zs_array *other = open_node(s.store, s.node, 2, 0);
    put(&s, 4, "BB");    /* read before the other publishes */
    put(&s, 8, "CCCC");  /* whole */
    must(write_at(other, 7, "xyz", &err), &err); /* one element of the chunk of BB, two of CCCC */
    must(write_at(other, 12, "D", &err), &err);
    must(zs_array_flush(other, &err), &err);
    zs_array_close(other);
    flush(&s);
    expect_object(&s, "a/c/0", "aaaaBBbxCCCCDddd", 0, 4, 8, 12);
    small_free(&s);
}

TEST(test_shard_removed_or_created_by_another_writer_is_merged)
{
    struct zs_error err;
    struct small s = small_of(PLAIN, 0);
    put(&s, 0, "aaaabbbbccccdddd");
    put(&s, 5, "X");
    struct zs_array *other = open_node(s.store, s.node, 2, 0);
    must(write_at(other, 0, "................", &err), &err);
    CHECK(!has_object(s.store, "a/c/0"));
    flush(&s);
    expect_object(&s, "a/c/0", ".X..", UINT64_MAX, 0, UINT64_MAX, UINT64_MAX);
    put(&s, 17, "Y"); /* there is none */
    must(write_at(other, 18, "Z", &err), &err);
    must(zs_array_flush(other, &err), &err);
    flush(&s);
    expect_object(&s, "a/c/1", ".YZ.", 0, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    zs_array_close(other);
    small_free(&s);
}

/* ---- Nested shards ---- */

#define NESTED SHARDS("[8]", SHARDS("[4]", "['bytes']", "") "]", "") "]"

/* An inner shard that nobody could decode: it is copied, not looked into. */
TEST(test_unchanged_inner_shard_is_not_read)
{
    struct zs_error err;
    struct small s = small_of(NESTED, 0);
    unsigned char object[7 + 36];
    memcpy(object, "garbage", 7);
    oracle_put64(object + 7, 0, false), oracle_put64(object + 15, 7, false);
    memset(object + 23, 0xFF, 16);
    const uint32_t sum = slow_crc32c(object + 7, 32);
    for (int i = 0; i < 4; i++)
        object[39 + i] = (unsigned char)(sum >> (8 * i));
    put_object(s.store, "a/c/0", object, sizeof object);
    put(&s, 9, "X");
    flush(&s);
    struct zs_buffer after = get_object(s.store, "a/c/0");
    CHECK(after.size > 7 && memcmp(after.data, "garbage", 7) == 0);
    zs_buffer_free(&after);
    put(&s, 1, "Y"); /* into that one */
    CHECK(zs_array_flush(s.array, &err) != ZS_OK);
    CHECK_CONTAINS(err.message, "a/c/0");
    small_free(&s);
}

/* An outer shard of 64 GiB decoded, of which nothing is stored: what is held is the chunk. */
TEST(test_a_pixel_in_a_huge_nested_shard_needs_no_memory_for_the_rest)
{
    static const char *const codecs[] = {
        SHARDS("[4096,4096]", SHARDS("[256,256]", "['bytes','gzip']", "") "]", "") "]",
        SHARDS("[4096,4096]", SHARDS("[256,256]", "['bytes']", "") ",'gzip']", "") "]",
        SHARDS("[256,256]", "['bytes','gzip']", "") ",'gzip','crc32c']",
    };
    for (int c = 0; c < 3; c++) {
        struct zs_error err;
        struct zs_store *store = memory_store();
        struct zs_node *node =
            array_node("[262144,262144]", c < 2 ? "[262144,262144]" : "[65536,65536]", "uint8", "0", codecs[c]);
        struct zs_array *a = open_node(store, node, 1, (uint64_t)1 << 20);
        unsigned char pixel = 7, out = 0;
        for (int round = 0; round < 2; round++) { /* over nothing, and over what the first made */
            const uint64_t at = round == 0 ? 200000 : 200300;
            struct zs_window w = {.start = {at, at}, .count = {1, 1}, .data = &pixel, .stride = {1, 1}};
            must(zs_array_write_windows(a, &w, 1, 1, NULL, NULL, &err), &err);
            CHECK(zs_budget_used() < (uint64_t)4 << 20);
            must(zs_array_flush(a, &err), &err);
            must(zs_array_read(a, w.start, w.count, &out, &err), &err);
            CHECK_EQ_U64(out, 7);
        }
        zs_array_close(a);
        zs_node_free(node);
        zs_store_free(store);
    }
}

/* ---- The budget of the process ---- */

/* 1 x 256 chunks of 1 KiB, changed in part: all of them are dirty, as far as there is room. */
static struct zs_array *with_dirty_chunks(struct zs_store *store, const struct zs_node *node, uint64_t n)
{
    struct zs_error err;
    struct zs_array *a = open_node(store, node, 1, 0);
    static const unsigned char one = 1;
    for (uint64_t i = 0; i < n; i++) {
        const struct zs_window w = {.start = {i * 1024}, .count = {1}, .data = (void *)(uintptr_t)&one, .stride = {1}};
        must(zs_array_write_windows(a, &w, 1, 1, NULL, NULL, &err), &err);
    }
    return a;
}

TEST(test_pending_chunks_of_all_arrays_count_in_the_process_budget)
{
    struct zs_error err;
    struct zs_store *store = memory_store();
    struct zs_node *node = array_node("[262144]", "[262144]", "uint8", "0",
                                      "[{'name':'sharding_indexed','configuration':{'chunk_shape':[1024],'codecs':['b"
                                      "ytes']}}]");
    const uint64_t before = zs_budget_used();
    zs_budget_set((uint64_t)128 << 10);
    struct zs_array *a = with_dirty_chunks(store, node, 80);
    const uint64_t of_a = zs_budget_used() - before;
    CHECK(of_a >= 80 << 10);
    struct zs_array *b = with_dirty_chunks(store, node, 256), *c = with_dirty_chunks(store, node, 256);
    /* an eighth, one chunk, and the masks of those that are encoded */
    CHECK(zs_budget_used() - before <= of_a + 2 * (((uint64_t)18 + 256 / 8) << 10));
    must(zs_array_flush(a, &err), &err);
    zs_array_close(a);
    zs_array_close(b); /* drops what it has */
    zs_array_close(c);
    CHECK_EQ_U64(zs_budget_used(), before);
    zs_budget_set((uint64_t)64 << 20);
    zs_node_free(node);
    zs_store_free(store);
}
