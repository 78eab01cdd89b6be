/* oracle_store.h: arrays of uint16 with any nesting of shards, written element by element in the plainest way, after
 * the text of the specification and without any code of the driver's: what reading is held equal to. */
#ifndef ORACLE_STORE_H
#define ORACLE_STORE_H

#include "array_store.h"

#define ORACLE_LEVELS 3
#define ORACLE_DIMS 5

struct oracle_level {
    uint64_t chunk[ORACLE_DIMS]; /* in the array's dimensions */
    int order[ORACLE_DIMS];      /* of the transpose in front, when there is one */
    bool is_transposed;
    int axis[ORACLE_DIMS]; /* stored dimension -> the array's, after all transposes so far */
    int checksums;         /* crc32c behind the level's bytes */
    bool index_at_start, index_big_endian;
    int index_checksums;
};

struct oracle {
    int ndim;
    uint64_t shape[ORACLE_DIMS];
    int levels; /* 1: not sharded */
    struct oracle_level level[ORACLE_LEVELS];
    bool big_endian;
    uint16_t fill;
    bool is_dotted; /* chunk keys "c.0.1" */
    uint64_t seed;
    uint16_t *model; /* the values, dense */
};

/* Level k holds elements, not shards. (The first half tells compilers that recursion ends.) */
static inline bool oracle_is_leaf(const struct oracle *o, int k)
{
    return k + 1 >= ORACLE_LEVELS || k + 1 == o->levels;
}

/* The codecs of level k as JSON with ' for ". */
static inline char *oracle_codecs(const struct oracle *o, int k)
{
    const struct oracle_level *l = &o->level[k];
    char *order = zs_strdup(""), *shape = zs_strdup(""), *sums = zs_strdup(""), *index_sums = zs_strdup(""), *t, *step;
    for (int j = 0; j < o->ndim; j++) {
        t = zs_format("%s%s%d", order, j > 0 ? "," : "", l->order[j]);
        free(order), order = t;
        t = zs_format("%s%s%d", shape, j > 0 ? "," : "", !oracle_is_leaf(o, k) ? (int)l[1].chunk[l->axis[j]] : 0);
        free(shape), shape = t;
    }
    for (int i = 0; i < l->checksums; i++)
        t = zs_format("%s,'crc32c'", sums), free(sums), sums = t;
    for (int i = 0; i < l->index_checksums; i++)
        t = zs_format("%s,'crc32c'", index_sums), free(index_sums), index_sums = t;
    if (!oracle_is_leaf(o, k)) {
        char *inner = oracle_codecs(o, k + 1);
        step = zs_format(
            "{'name':'sharding_indexed','configuration':{'chunk_shape':[%s],'codecs':%s,'index_location':'%s','index_"
            "codecs':[{'name':'bytes','configuration':{'endian':'%s'}}%s]}}",
            shape, inner, l->index_at_start ? "start" : "end", l->index_big_endian ? "big" : "little", index_sums);
        free(inner);
    } else {
        step = zs_format("{'name':'bytes','configuration':{'endian':'%s'}}", o->big_endian ? "big" : "little");
    }
    t = l->is_transposed ? zs_format("[{'name':'transpose','configuration':{'order':[%s]}},%s%s]", order, step, sums)
                         : zs_format("[%s%s]", step, sums);
    free(order), free(shape), free(sums), free(index_sums), free(step);
    return t;
}

static inline void oracle_put64(unsigned char *p, uint64_t v, bool big_endian)
{
    for (int i = 0; i < 8; i++)
        p[big_endian ? 7 - i : i] = (unsigned char)(v >> 8 * i);
}

static inline void oracle_append(struct zs_buffer *b, const void *data, size_t n)
{
    struct zs_error err;
    must(zs_buffer_append(b, data, n, &err), &err);
}

static inline void oracle_add_checksums(struct zs_buffer *b, size_t from, int n)
{
    for (int i = 0; i < n; i++) {
        const uint32_t c = slow_crc32c(b->data + from, b->size - from);
        const unsigned char bytes[4] = {(unsigned char)c, (unsigned char)(c >> 8), (unsigned char)(c >> 16),
                                        (unsigned char)(c >> 24)};
        oracle_append(b, bytes, 4);
    }
}

/* Element of the model at a position, NULL beyond the edge. */
static inline uint16_t *oracle_at(const struct oracle *o, const uint64_t *at)
{
    for (int d = 0; d < o->ndim; d++)
        if (at[d] >= o->shape[d])
            return NULL;
    return &o->model[index_of(o->ndim, o->shape, at)];
}

/* Encodes the level-k chunk that begins at `origin` into `out`; false when it is left out, and then its part of the
 * model is the fill value. */
static inline bool oracle_encode(struct oracle *o, int k, const uint64_t *origin, struct zs_buffer *out)
{
    const struct oracle_level *l = &o->level[k];
    uint64_t at[ORACLE_DIMS], stored[ORACLE_DIMS], box[ORACLE_DIMS];
    if (rng_below(&o->seed, 5) == 0) {
        const uint64_t n = product(l->chunk, o->ndim);
        for (uint64_t i = 0; i < n; i++) {
            position_of(i, o->ndim, l->chunk, at);
            for (int d = 0; d < o->ndim; d++)
                at[d] += origin[d];
            if (oracle_at(o, at) != NULL)
                *oracle_at(o, at) = o->fill;
        }
        return false;
    }
    out->size = 0;
    if (oracle_is_leaf(o, k)) {
        for (int j = 0; j < o->ndim; j++)
            box[j] = l->chunk[l->axis[j]];
        for (uint64_t i = 0, n = product(box, o->ndim); i < n; i++) {
            position_of(i, o->ndim, box, stored);
            for (int j = 0; j < o->ndim; j++)
                at[l->axis[j]] = origin[l->axis[j]] + stored[j];
            const uint16_t v = oracle_at(o, at) != NULL ? *oracle_at(o, at) : 0xDEAD; /* nobody must see it */
            const unsigned char little[2] = {(unsigned char)v, (unsigned char)(v >> 8)},
                                big[2] = {little[1], little[0]};
            oracle_append(out, o->big_endian ? big : little, 2);
        }
    } else {
        for (int j = 0; j < o->ndim; j++)
            box[j] = l->chunk[l->axis[j]] / l[1].chunk[l->axis[j]];
        const uint64_t n = product(box, o->ndim), index_size = 16 * n + 4 * (uint64_t)l->index_checksums;
        struct zs_buffer index = {0}, inner = {0};
        static const unsigned char junk[7] = "unused";
        for (uint64_t i = 0; l->index_at_start && i < index_size; i++)
            oracle_append(out, junk, 1);
        for (uint64_t i = 0; i < n; i++)
            oracle_append(&index, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 16);
        const uint64_t first = rng_below(&o->seed, n); /* in an order that nobody expects, with gaps */
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t number = (first + (n % 2 == 0 ? n - i : i)) % n;
            position_of(number, o->ndim, box, stored);
            for (int j = 0; j < o->ndim; j++)
                at[l->axis[j]] = origin[l->axis[j]] + stored[j] * l[1].chunk[l->axis[j]];
            if (!oracle_encode(o, k + 1, at, &inner))
                continue;
            oracle_append(out, junk, (size_t)rng_below(&o->seed, 4));
            oracle_put64(index.data + 16 * number, out->size, l->index_big_endian);
            oracle_put64(index.data + 16 * number + 8, inner.size, l->index_big_endian);
            oracle_append(out, inner.data, inner.size);
        }
        oracle_add_checksums(&index, 0, l->index_checksums);
        if (l->index_at_start)
            memcpy(out->data, index.data, index.size);
        else
            oracle_append(out, index.data, index.size);
        zs_buffer_free(&index);
        zs_buffer_free(&inner);
    }
    oracle_add_checksums(out, 0, l->checksums);
    return true;
}

/* A random array: 0 to 5 dimensions, up to three levels, all freedoms that the specification gives. */
static inline void oracle_random(struct oracle *o, uint64_t seed)
{
    *o = (struct oracle){.seed = seed};
    uint64_t *rng = &o->seed;
    o->ndim = (int)rng_below(rng, ORACLE_DIMS + 1);
    o->levels = 1 + (int)rng_below(rng, ORACLE_LEVELS);
    o->big_endian = rng_below(rng, 2);
    o->is_dotted = rng_below(rng, 2);
    o->fill = (uint16_t)rng_below(rng, 3);
    for (int d = 0; d < o->ndim; d++) {
        const uint64_t most = o->ndim <= 2 ? 5 : o->ndim == 3 ? 3 : 2;
        uint64_t size = 1 + rng_below(rng, most);
        for (int k = o->levels - 1; k >= 0; k--) {
            o->level[k].chunk[d] = size;
            size *= 1 + rng_below(rng, most);
        }
        o->shape[d] = 1 + rng_below(rng, 3 * o->level[0].chunk[d]);
    }
    for (int k = 0; k < o->levels; k++) {
        struct oracle_level *l = &o->level[k];
        l->is_transposed = rng_below(rng, 3) == 0;
        l->checksums = k == 0 && o->levels > 1 && rng_below(rng, 3) != 0 ? 0 : (int)rng_below(rng, 2);
        l->index_at_start = rng_below(rng, 2);
        l->index_big_endian = rng_below(rng, 3) == 0;
        l->index_checksums = rng_below(rng, 4) == 0 ? (int)rng_below(rng, 3) : 1;
        for (int j = 0; j < o->ndim; j++)
            l->order[j] = j;
        for (int j = o->ndim - 1; j > 0 && l->is_transposed; j--) {
            const int i = (int)rng_below(rng, (uint64_t)j + 1), t = l->order[j];
            l->order[j] = l->order[i];
            l->order[i] = t;
        }
        for (int j = 0; j < o->ndim; j++)
            l->axis[j] = k == 0 ? l->order[j] : l[-1].axis[l->order[j]];
    }
    const uint64_t n = product(o->shape, o->ndim);
    o->model = malloc((size_t)n * sizeof *o->model);
    for (uint64_t i = 0; i < n; i++)
        o->model[i] = (uint16_t)rng_next(rng);
}

static inline char *oracle_list(int n, const uint64_t *v)
{
    char *text = zs_strdup("["), *t;
    for (int d = 0; d < n; d++)
        t = zs_format("%s%s%llu", text, d > 0 ? "," : "", (unsigned long long)v[d]), free(text), text = t;
    t = zs_format("%s]", text);
    free(text);
    return t;
}

static inline struct zs_node *oracle_node(const struct oracle *o)
{
    struct zs_error err;
    char *shape = oracle_list(o->ndim, o->shape), *chunk = oracle_list(o->ndim, o->level[0].chunk),
         *codecs = oracle_codecs(o, 0);
    char *text =
        zs_format("{'zarr_format':3,'node_type':'array','shape':%s,'data_type':'uint16','fill_value':%d,'chunk_grid':"
                  "{'name':'regular','configuration':{'chunk_shape':%s}},'chunk_key_encoding':{'name':'default','conf"
                  "iguration':{'separator':'%s'}},'codecs':%s}",
                  shape, o->fill, chunk, o->is_dotted ? "." : "/", codecs);
    struct zs_node *node = NULL;
    must(zs_node_create("a", json_of(text), true, &node, &err), &err);
    must(node->array_status, node->array_error);
    free(shape), free(chunk), free(codecs), free(text);
    return node;
}

/* Writes all objects, and settles what the model holds. */
static inline void oracle_store(struct oracle *o, struct zs_store *store)
{
    uint64_t grid[ORACLE_DIMS], at[ORACLE_DIMS];
    for (int d = 0; d < o->ndim; d++)
        grid[d] = (o->shape[d] + o->level[0].chunk[d] - 1) / o->level[0].chunk[d];
    struct zs_buffer bytes = {0};
    for (uint64_t i = 0, n = product(grid, o->ndim); i < n; i++) {
        char *key = zs_strdup("a/c"), *t;
        position_of(i, o->ndim, grid, at);
        for (int d = 0; d < o->ndim; d++) {
            t = zs_format("%s%c%llu", key, o->is_dotted ? '.' : '/', (unsigned long long)at[d]), free(key), key = t;
            at[d] *= o->level[0].chunk[d];
        }
        if (oracle_encode(o, 0, at, &bytes))
            put_object(store, key, bytes.data, bytes.size);
        free(key);
    }
    zs_buffer_free(&bytes);
}

static inline void oracle_free(struct oracle *o)
{
    free(o->model);
}

#endif
