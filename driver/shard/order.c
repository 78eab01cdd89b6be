#include "shard/writer.h"

#include <stdlib.h>

struct keyed {
    uint64_t key; /* as much of the position on the curve as fits */
    uint64_t number;
};

/* A curve through the dimensions of a level that have more than one chunk. */
struct curve {
    const struct zs_level *level;
    bool is_hilbert;
    int n, dims[ZS_MAX_NDIM]; /* stored dimensions */
    int bits;                 /* of a coordinate */
};

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Turns coordinates into the transposed Hilbert index, in place (Skilling 2004). */
static void axes_to_hilbert(uint64_t *x, int n, int bits)
{
    const uint64_t top = (uint64_t)1 << (bits - 1);
    for (uint64_t q = top; q > 1; q >>= 1) {
        const uint64_t p = q - 1;
        for (int i = 0; i < n; i++) {
            if (x[i] & q) {
                x[0] ^= p;
            } else {
                const uint64_t t = (x[0] ^ x[i]) & p;
                x[0] ^= t;
                x[i] ^= t;
            }
        }
    }
    for (int i = 1; i < n; i++)
        x[i] ^= x[i - 1];
    uint64_t t = 0;
    for (uint64_t q = top; q > 1; q >>= 1)
        if (x[n - 1] & q)
            t ^= q - 1;
    for (int i = 0; i < n; i++)
        x[i] ^= t;
}

/* A chunk's position on the curve, by its bit planes, the most significant first: a plane holds one bit per dimension.
 * As many planes as fit. */
static uint64_t key_of(const struct curve *curve, uint64_t number)
{
    uint64_t at[ZS_MAX_NDIM], x[ZS_MAX_NDIM], key = 0;
    for (int j = curve->level->ndim - 1; j >= 0; j--) {
        const uint64_t size = curve->level->grid[curve->level->axis[j]];
        at[j] = number % size;
        number /= size;
    }
    for (int k = 0; k < curve->n; k++)
        x[k] = at[curve->dims[k]];
    if (curve->is_hilbert)
        axes_to_hilbert(x, curve->n, curve->bits);
    for (int p = 0; p < curve->bits && p < 64 / curve->n; p++)
        for (int k = 0; k < curve->n; k++)
            key = key << 1 | (x[k] >> (curve->bits - 1 - p) & 1);
    return key;
}

enum zs_status zs_chunk_order_list(const struct zs_level *level, enum zs_chunk_order order, uint64_t *numbers,
                                   struct zs_error *err)
{
    const size_t count = (size_t)level->inner_count;
    struct curve curve = {.level = level, .is_hilbert = order == ZS_ORDER_HILBERT, .bits = 1};
    for (int j = 0; j < level->ndim; j++)
        if (level->grid[level->axis[j]] > 1)
            curve.dims[curve.n++] = j;
    for (int k = 0; k < curve.n; k++)
        while (curve.bits < 63 && level->grid[level->axis[curve.dims[k]]] - 1 >= (uint64_t)1 << curve.bits)
            curve.bits++;
    const bool is_curve = order != ZS_ORDER_ROW_MAJOR && curve.n > 0;
    struct keyed *list = is_curve ? zs_calloc(count, sizeof *list) : NULL;
    if (is_curve && list == NULL)
        return zs_fail_memory(err);
    for (size_t i = 0; i < count && is_curve; i++)
        list[i] = (struct keyed){key_of(&curve, i), i};
    if (is_curve)
        qsort(list, count, sizeof *list, by_key);
    for (size_t i = 0; i < count; i++)
        numbers[i] = is_curve ? list[i].number : i;
    free(list);
    return ZS_OK;
}

bool zs_chunks_lie_in(const uint64_t *entries, const uint64_t *numbers, uint64_t count)
{
    uint64_t last = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t offset = entries[2 * numbers[i]];
        if (offset == ZS_INDEX_EMPTY)
            continue;
        if (offset < last)
            return false;
        last = offset;
    }
    return true;
}
