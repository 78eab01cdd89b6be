/* One array read by many threads beside one that writes: each chunk is of one value, written whole. */
#include <pthread.h>

#include "array_store.h"

struct shared {
    struct zs_array *array;
    pthread_barrier_t start;
    atomic_uint_least64_t seed;
    atomic_bool stop;
};

static void run_threads(struct shared *s, int n, void *(*fn)(void *))
{
    pthread_t threads[16];
    (void)pthread_barrier_init(&s->start, NULL, (unsigned)n);
    for (int i = 0; i < n; i++)
        CHECK(pthread_create(&threads[i], NULL, fn, s) == 0);
    for (int i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
    (void)pthread_barrier_destroy(&s->start);
}

#define SIDE 32
#define CHUNK 4

static enum zs_status write_chunk(struct zs_array *a, uint64_t y, uint64_t x, uint16_t value, struct zs_error *err)
{
    uint16_t data[CHUNK * CHUNK];
    for (size_t i = 0; i < CHUNK * CHUNK; i++)
        data[i] = value;
    const struct zs_window w = {
        .start = {y * CHUNK, x * CHUNK}, .count = {CHUNK, CHUNK}, .data = data, .stride = {2 * CHUNK, 2}};
    return zs_array_write_windows(a, &w, 1, 2, NULL, NULL, err);
}

static void *read_whole_chunks(struct shared *s, uint64_t rng)
{
    struct zs_error err = {""};
    uint16_t newest[SIDE / CHUNK][SIDE / CHUNK] = {{0}};
    while (!s->stop) {
        uint64_t start[2], count[2];
        uint16_t out[SIDE * SIDE];
        const uint64_t shape[2] = {SIDE, SIDE};
        random_window(&rng, 2, shape, start, count);
        if (!CHECK(zs_array_read(s->array, start, count, out, &err) == ZS_OK)) {
            fprintf(stderr, "%s\n", err.message);
            break;
        }
        for (uint64_t i = 0; i < count[0] * count[1]; i++) {
            uint64_t at[2];
            position_of(i, 2, count, at);
            const uint64_t y = (start[0] + at[0]) / CHUNK, x = (start[1] + at[1]) / CHUNK;
            uint16_t *known = &newest[y][x];
            /* All of a chunk in one window is of one write, and no chunk goes back to an older one. */
            const bool is_first =
                (at[0] == 0 || (start[0] + at[0]) % CHUNK == 0) && (at[1] == 0 || (start[1] + at[1]) % CHUNK == 0);
            if (is_first && !CHECK(out[i] >= *known))
                return NULL;
            if (is_first)
                *known = out[i];
            if (!CHECK_EQ_U64(out[i], *known))
                return NULL;
        }
    }
    return NULL;
}

static void *read_or_write(void *ctx)
{
    struct shared *s = ctx;
    uint64_t rng = atomic_fetch_add(&s->seed, 1);
    const bool writes = rng == 0;
    (void)pthread_barrier_wait(&s->start);
    if (!writes)
        return read_whole_chunks(s, rng);
    struct zs_error err = {""};
    for (uint16_t value = 1; value <= 300; value++) {
        CHECK(write_chunk(s->array, rng_below(&rng, SIDE / CHUNK), rng_below(&rng, SIDE / CHUNK), value, &err) ==
              ZS_OK);
        if (value % 40 == 0)
            CHECK(zs_array_flush(s->array, &err) == ZS_OK);
    }
    s->stop = true;
    return NULL;
}

static void read_while_writing(const char *codecs)
{
    struct zs_store *store = memory_store();
    struct zs_node *node = array_node("[32,32]", "[16,16]", "uint16", "0", codecs);
    struct shared s = {.array = open_node(store, node, 2, 0)};
    run_threads(&s, 5, read_or_write);
    zs_array_close(s.array);
    zs_node_free(node);
    zs_store_free(store);
}

TEST(test_readers_beside_a_writer_see_whole_writes_and_never_go_back)
{
    read_while_writing(
        "[{'name':'sharding_indexed','configuration':{'chunk_shape':[4,4],'codecs':['bytes','crc32c']}}]");
    read_while_writing(
        "[{'name':'sharding_indexed','configuration':{'chunk_shape':[4,4],'codecs':['bytes']}},'crc32c']");
}
