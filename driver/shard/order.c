#include "shard/order.h"

#include <stdlib.h>
#include <string.h>

struct keyed {
    /* bit planes of the curve, most significant first: plane p holds one bit per dimension */
    uint64_t key[ZS_MAX_NDIM];
    uint64_t number;
};

static _Thread_local int planes; /* qsort() has no context argument in C11 */

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    for (int p = 0; p < planes; p++)
        if (x->key[p] != y->key[p])
            return x->key[p] < y->key[p] ? -1 : 1;
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

enum zs_status zs_chunk_order_list(const struct zs_level *level, enum zs_chunk_order order, uint64_t *numbers,
                                   struct zs_error *err)
{
    const size_t count = (size_t)level->inner_count;
    for (size_t i = 0; i < count; i++)
        numbers[i] = i;
    if (order == ZS_ORDER_ROW_MAJOR)
        return ZS_OK;
    int dims[ZS_MAX_NDIM], n = 0, bits = 1;
    for (int j = 0; j < level->ndim; j++)
        if (level->grid[level->axis[j]] > 1)
            dims[n++] = j;
    for (int i = 0; i < n; i++)
        while (bits < 63 && level->grid[level->axis[dims[i]]] - 1 >= (uint64_t)1 << bits)
            bits++;
    /* One key word per bit plane: there are as many planes as bits, at most 32 for any index that fits memory. */
    if (n == 0 || bits > ZS_MAX_NDIM)
        return ZS_OK;
    struct keyed *list = zs_calloc(count, sizeof *list);
    if (list == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot order %zu chunks", count);
    for (size_t i = 0; i < count; i++) {
        uint64_t x[ZS_MAX_NDIM], rest = i, at[ZS_MAX_NDIM];
        for (int j = level->ndim - 1; j >= 0; j--) {
            at[j] = rest % level->grid[level->axis[j]];
            rest /= level->grid[level->axis[j]];
        }
        for (int k = 0; k < n; k++)
            x[k] = at[dims[k]];
        if (order == ZS_ORDER_HILBERT)
            axes_to_hilbert(x, n, bits);
        for (int p = 0; p < bits; p++)
            for (int k = 0; k < n; k++)
                list[i].key[p] = list[i].key[p] << 1 | (x[k] >> (bits - 1 - p) & 1);
        list[i].number = i;
    }
    planes = bits;
    qsort(list, count, sizeof *list, by_key);
    for (size_t i = 0; i < count; i++)
        numbers[i] = list[i].number;
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

enum zs_chunk_order zs_chunk_order_of(const struct zs_level *level, const struct zs_shard_index *index,
                                      enum zs_chunk_order likely)
{
    const enum zs_chunk_order orders[] = {likely, ZS_ORDER_ROW_MAJOR, ZS_ORDER_MORTON, ZS_ORDER_HILBERT};
    if (index->is_absent)
        return likely;
    enum zs_chunk_order found = ZS_ORDER_ROW_MAJOR;
    uint64_t *numbers = zs_calloc((size_t)level->inner_count, sizeof *numbers);
    for (size_t i = 0; numbers != NULL && i < sizeof orders / sizeof orders[0]; i++) {
        struct zs_error ignored;
        if (i > 0 && orders[i] == likely)
            continue; /* it was the first */
        if (zs_chunk_order_list(level, orders[i], numbers, &ignored) == ZS_OK &&
            zs_chunks_lie_in(index->entries, numbers, index->count)) {
            found = orders[i];
            break;
        }
    }
    free(numbers);
    return found;
}
