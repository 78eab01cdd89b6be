/* A reader beside a writer that is another process's, in all but name: each has a store and an array of its own.
 * Whatever the timing, each chunk is read as it was at some time: never of two writings, never of another chunk, never
 * an error, and for who opens anew never older than before. */
#include <cpl_vsi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "array_store.h"

#define SIDE 16
#define CHUNK 4
#define GRID (SIDE / CHUNK)
#define ROUNDS 150
#define MOST_ROUNDS 650 /* 100 times a round is a uint16 */
#define READERS 3

#define SHARD(codecs, more) \
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[4,4],'codecs':[" codecs "]" more "}}]"

static const char *const layouts[] = {
    SHARD("'bytes','gzip'", ""),
    SHARD("'bytes'", ",'index_location':'start','index_codecs':['bytes']"),
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[8,8],'codecs':" SHARD("'bytes'", "") "}}]",
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[4,4],'codecs':['bytes','gzip']}},'gzip']",
};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };

/* Every way to change a shard. Of a chunk that is overwritten in place a reader can tell by its checksum alone that it
 * got half of it. */
static const struct way {
    enum zs_update update;
    const char *codecs;
} ways[] = {
    {ZS_UPDATE_APPEND, SHARD("'bytes','gzip'", "")},
    {ZS_UPDATE_APPEND, SHARD("'bytes'", ",'index_location':'start'")},
    {ZS_UPDATE_APPEND,
     "[{'name':'sharding_indexed','configuration':{'chunk_shape':[8,8],'codecs':" SHARD("'bytes'", "") "}}]"},
    {ZS_UPDATE_IN_PLACE, SHARD("'bytes','crc32c'", "")},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

struct scene {
    char root[200];
    enum zs_update update;
    const struct zs_node *node;
    atomic_bool done;
    atomic_int reads;
};

static struct zs_store *open_store(const struct scene *s)
{
    struct zs_error err;
    struct zs_store *store = NULL;
    must(zs_store_open(s->root, &store, &err), &err);
    zs_store_set_sync(store, ZS_SYNC_NO); /* none of them waits for the disk: they meet more often */
    return store;
}

static struct zs_array *open_to_write(struct zs_store *store, const struct scene *s)
{
    struct zs_error err;
    const struct zs_array_options options = {.threads = 1, .update = s->update};
    struct zs_array *a = NULL;
    must(zs_array_open_in(store, s->node, &options, &a, &err), &err);
    return a;
}

/* All of chunk `number` becomes 100 * round + number: nothing else looks like it. */
static void write_chunk(struct zs_array *a, int number, int round)
{
    uint16_t values[CHUNK * CHUNK];
    struct zs_error err = {""};
    for (int i = 0; i < CHUNK * CHUNK; i++)
        values[i] = (uint16_t)(100 * round + number);
    const struct zs_window w = {.start = {(uint64_t)(number / GRID) * CHUNK, (uint64_t)(number % GRID) * CHUNK},
                                .count = {CHUNK, CHUNK},
                                .data = values,
                                .stride = {CHUNK * 2, 2}};
    must(zs_array_write_windows(a, &w, 1, 2, NULL, NULL, &err), &err);
}

static void *write_all(void *ctx)
{
    struct scene *s = ctx;
    struct zs_store *store = open_store(s);
    uint64_t rng = 5;
    /* On a busy machine all rounds may be over before a reader had its turn: then there are more. */
    for (int round = 2; round < ROUNDS || (s->reads == 0 && round < MOST_ROUNDS); round++) {
        struct zs_error err = {""};
        struct zs_array *a = open_to_write(store, s);
        for (int n = 0; n < 1 + (int)rng_below(&rng, 4); n++)
            write_chunk(a, (int)rng_below(&rng, GRID * GRID), round);
        must(zs_array_flush(a, &err), &err);
        zs_array_close(a);
    }
    s->done = true;
    zs_store_free(store);
    return NULL;
}

/* Reads all, and looks at each chunk. False when something is wrong. */
static bool look(struct zs_array *a, int *last)
{
    static const uint64_t start[2], count[2] = {SIDE, SIDE};
    uint16_t out[SIDE * SIDE];
    struct zs_error err = {""};
    if (!CHECK(zs_array_read(a, start, count, out, &err) == ZS_OK)) {
        fprintf(stderr, "%s\n", err.message);
        return false;
    }
    for (int number = 0; number < GRID * GRID; number++) {
        const uint16_t *chunk = out + number / GRID * CHUNK * SIDE + number % GRID * CHUNK;
        for (int i = 0; i < CHUNK * CHUNK; i++)
            if (!CHECK_EQ_U64(chunk[i / CHUNK * SIDE + i % CHUNK], chunk[0]))
                return false;
        if (!CHECK_EQ_U64(chunk[0] % 100, number) || (last != NULL && !CHECK(chunk[0] >= last[number])))
            return false;
        if (last != NULL)
            last[number] = chunk[0];
    }
    return true;
}

static void *read_anew(void *ctx)
{
    struct scene *s = ctx;
    int last[GRID * GRID] = {0};
    for (bool ok = true; ok && !s->done;) {
        struct zs_store *store = open_store(s);
        struct zs_array *a = open_node(store, s->node, 2, 0);
        ok = look(a, last);
        zs_array_close(a);
        zs_store_free(store);
        s->reads++;
    }
    return NULL;
}

/* Keeps its array, and so what it knows of shards; caches almost nothing. */
static void *read_on(void *ctx)
{
    struct scene *s = ctx;
    struct zs_store *store = open_store(s);
    struct zs_array *a = open_node(store, s->node, 2, 1);
    for (bool ok = true; ok && !s->done;)
        ok = look(a, NULL);
    zs_array_close(a);
    zs_store_free(store);
    return NULL;
}

static void run_scene(const char *root, int number_of_scene, const char *codecs, enum zs_update update)
{
    struct scene s = {.update = update, .done = false};
    struct zs_error err = {""};
    (void)snprintf(s.root, sizeof s.root, "%s_%d", root, number_of_scene);
    struct zs_node *node = array_node("[16,16]", "[16,8]", "uint16", "0", codecs);
    s.node = node;
    struct zs_store *store = open_store(&s);
    struct zs_array *a = open_to_write(store, &s);
    for (int number = 0; number < GRID * GRID; number++)
        write_chunk(a, number, 1);
    must(zs_array_flush(a, &err), &err);
    zs_array_close(a);
    pthread_t writer, readers[READERS];
    for (int i = 0; i < READERS; i++)
        CHECK(pthread_create(&readers[i], NULL, i == 0 ? read_on : read_anew, &s) == 0);
    CHECK(pthread_create(&writer, NULL, write_all, &s) == 0);
    (void)pthread_join(writer, NULL);
    for (int i = 0; i < READERS; i++)
        (void)pthread_join(readers[i], NULL);
    CHECK(s.reads > 0);
    zs_store_free(store);
    zs_node_free(node);
    CHECK(VSIRmdirRecursive(s.root) == 0);
}

TEST(test_reader_beside_a_writer_gets_old_or_new_chunks_on_disk)
{
    char root[100];
    (void)snprintf(root, sizeof root, "/tmp/shardedzarr_beside_%ld", (long)getpid());
    for (int layout = 0; layout < LAYOUTS; layout++)
        run_scene(root, layout, layouts[layout], ZS_UPDATE_REWRITE);
}

TEST(test_reader_beside_append_or_in_place_writer_gets_old_or_new_chunks)
{
    char root[100];
    (void)snprintf(root, sizeof root, "/tmp/shardedzarr_beside_%ld", (long)getpid());
    for (int i = 0; i < WAYS; i++)
        run_scene(root, i, ways[i].codecs, ways[i].update);
}
