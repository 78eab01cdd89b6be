/* array_store.h: for the tests of driver/shard and driver/array: arrays in a store in memory, their metadata in a line,
 * random numbers with a seed. */
#ifndef ARRAY_STORE_H
#define ARRAY_STORE_H

#include <stdlib.h>

#include "array/array.h"
#include "check.h"
#include "memory_store.h"
#include "store/store.h"

/* The same sequence for the same seed, on every machine (splitmix64). */
static inline uint64_t rng_next(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline uint64_t rng_below(uint64_t *state, uint64_t n)
{
    return rng_next(state) % n;
}

/* CRC32C bit by bit. */
static inline uint32_t slow_crc32c(const void *data, size_t n)
{
    const unsigned char *p = data;
    uint32_t c = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            c = (c & 1) != 0 ? c >> 1 ^ 0x82F63B78u : c >> 1;
    }
    return ~c;
}

static inline void must(enum zs_status status, const struct zs_error *err)
{
    if (CHECK(status == ZS_OK))
        return;
    fprintf(stderr, "%s\n", err->message);
    exit(1); /* what follows makes no sense */
}

static inline struct zs_store *memory_store(void)
{
    struct zs_error err;
    struct zs_store *store = NULL;
    must(zs_store_open_memory(&store, &err), &err);
    return store;
}

static inline void put_object(struct zs_store *store, const char *key, const void *data, size_t n)
{
    struct zs_error err;
    must(zs_store_put(store, key, data, n, &err), &err);
}

static inline bool has_object(struct zs_store *store, const char *key)
{
    struct zs_error err;
    struct zs_object *object = NULL;
    const enum zs_status status = zs_object_open(store, key, &object, &err);
    CHECK(status == ZS_OK || status == ZS_NOT_FOUND);
    if (status == ZS_OK)
        zs_object_close(object);
    return status == ZS_OK;
}

static inline struct zs_buffer get_object(struct zs_store *store, const char *key)
{
    struct zs_error err;
    struct zs_buffer bytes = {0};
    must(zs_store_get(store, key, SIZE_MAX / 2, &bytes, &err), &err);
    return bytes;
}

static inline void expect_bytes(struct zs_store *store, const char *key, const char *bytes)
{
    struct zs_buffer b = get_object(store, key);
    if (CHECK_EQ_U64(b.size, strlen(bytes)))
        CHECK_EQ_MEM(b.data, bytes, strlen(bytes));
    zs_buffer_free(&b);
}

/* A store of a local folder, or of one of GDAL's virtual file systems. */
static inline struct zs_store *vsi_store(const char *root)
{
    struct zs_error err;
    struct zs_store *store = NULL;
    must(zs_store_open(root, &store, &err), &err);
    return store;
}

/* A new folder on the disk. Freed with free(). */
static inline char *new_directory(void)
{
    const char *tmp = getenv("TMPDIR");
    char *root = zs_format("%s/shardedzarr_test.XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (!CHECK(mkdtemp(root) != NULL))
        exit(1);
    return root;
}

/* JSON written with ' for ". Freed with zs_json_free(). */
static inline zs_json *json_of(const char *text)
{
    struct zs_error err;
    char *copy = zs_strdup(text);
    for (char *p = copy; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    zs_json *root = NULL;
    must(zs_json_parse(copy, strlen(copy), &root, &err), &err);
    free(copy);
    return root;
}

/* The node of an array at "a"; all arguments as in JSON, with ' for ". Freed with zs_node_free(). */
static inline struct zs_node *array_node(const char *shape, const char *chunk_shape, const char *type, const char *fill,
                                         const char *codecs)
{
    struct zs_error err;
    char *text = zs_format("{'zarr_format':3,'node_type':'array','shape':%s,'data_type':'%s','fill_value':%s,"
                           "'chunk_grid':{'name':'regular','configuration':{'chunk_shape':%s}},'chunk_key_encoding':'"
                           "default','codecs':%s}",
                           shape, type, fill, chunk_shape, codecs);
    struct zs_node *node = NULL;
    must(zs_node_create("a", json_of(text), true, &node, &err), &err);
    free(text);
    must(node->array_status, node->array_error);
    return node;
}

/* With a budget for the cache (0: the usual one). */
static inline struct zs_array *open_node(struct zs_store *store, const struct zs_node *node, int threads,
                                         uint64_t cache_bytes)
{
    struct zs_error err;
    const struct zs_array_options options = {.threads = threads, .cache_bytes = cache_bytes};
    struct zs_array *array = NULL;
    must(zs_array_open_in(store, node, &options, &array, &err), &err);
    return array;
}

static inline uint64_t product(const uint64_t *v, int n)
{
    uint64_t p = 1;
    for (int i = 0; i < n; i++)
        p *= v[i];
    return p;
}

/* A window of an array of this shape, not empty, and now and then all of it. */
static inline void random_window(uint64_t *rng, int ndim, const uint64_t *shape, uint64_t *start, uint64_t *count)
{
    const bool whole = rng_below(rng, 8) == 0;
    for (int d = 0; d < ndim; d++) {
        start[d] = whole ? 0 : rng_below(rng, shape[d]);
        count[d] = whole ? shape[d] : 1 + rng_below(rng, shape[d] - start[d]);
    }
}

/* Position of the i-th element of a box in C order. */
static inline void position_of(uint64_t i, int ndim, const uint64_t *count, uint64_t *at)
{
    for (int d = ndim - 1; d >= 0; d--) {
        at[d] = i % count[d];
        i /= count[d];
    }
}

static inline uint64_t index_of(int ndim, const uint64_t *shape, const uint64_t *at)
{
    uint64_t i = 0;
    for (int d = 0; d < ndim; d++)
        i = i * shape[d] + at[d];
    return i;
}

/* Number in an array of `shape` of the i-th element of the window. */
static inline uint64_t element_of(uint64_t i, int ndim, const uint64_t *shape, const uint64_t *start,
                                  const uint64_t *count)
{
    uint64_t at[ZS_MAX_NDIM];
    position_of(i, ndim, count, at);
    for (int d = 0; d < ndim; d++)
        at[d] += start[d];
    return index_of(ndim, shape, at);
}

/* A window with a layout of its own in memory: axes in any order, some backwards. `memory` has room for the window. */
static inline void random_layout(uint64_t *rng, int ndim, struct zs_window *w, void *memory, size_t item_size)
{
    bool used[ZS_MAX_NDIM] = {false};
    ptrdiff_t stride = (ptrdiff_t)item_size;
    char *data = memory;
    for (int left = ndim; left > 0; left--) {
        uint64_t skip = rng_below(rng, (uint64_t)left);
        int d = 0;
        while (used[d] || skip-- > 0)
            d++;
        used[d] = true;
        const bool backwards = rng_below(rng, 3) == 0;
        w->stride[d] = backwards ? -stride : stride;
        if (backwards)
            data += stride * (ptrdiff_t)(w->count[d] - 1);
        stride *= (ptrdiff_t)w->count[d];
    }
    w->data = data;
}

/* The i-th element of a window in memory. */
static inline char *in_window(const struct zs_window *w, int ndim, uint64_t i)
{
    uint64_t at[ZS_MAX_NDIM];
    char *p = w->data;
    position_of(i, ndim, w->count, at);
    for (int d = 0; d < ndim; d++)
        p += (ptrdiff_t)at[d] * w->stride[d];
    return p;
}

#endif
