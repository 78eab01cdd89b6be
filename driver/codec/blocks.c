#include "codec/codec.h"

#include <stdlib.h>

#include "base/memory.h"

struct zs_blocks *zs_blocks_alloc(size_t count, bool is_plain)
{
    struct zs_blocks *b = NULL;
    const size_t entries = is_plain ? 0 : count;
    if (entries > (SIZE_MAX - sizeof *b) / sizeof b->at[0])
        return NULL;
    b = zs_calloc(1, sizeof *b + entries * sizeof b->at[0]);
    if (b == NULL)
        return NULL;
    b->count = count;
    b->is_plain = is_plain;
    return b;
}

struct zs_blocks *zs_blocks_plain(uint64_t size, uint64_t plain_at, uint64_t block_size)
{
    struct zs_blocks *b = zs_blocks_alloc((size_t)((size + block_size - 1) / block_size), true);
    if (b == NULL)
        return NULL;
    b->size = size;
    b->block_size = block_size;
    b->plain_at = plain_at;
    return b;
}

size_t zs_blocks_memory(const struct zs_blocks *blocks)
{
    return sizeof *blocks + (blocks->is_plain ? 0 : blocks->count * sizeof blocks->at[0]);
}

static int by_value(const void *x, const void *y)
{
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

/* The first of n sorted offsets that is greater than `offset`, or `end`. */
static uint64_t next_offset(const uint32_t *sorted, size_t n, uint32_t offset, uint64_t end)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low < n ? sorted[low] : end;
}

bool zs_blocks_measure(struct zs_blocks *blocks, uint64_t n, uint64_t most)
{
    /* Several threads write blocks in the order in which they finish them. */
    uint32_t *sorted = zs_calloc(blocks->count, sizeof *sorted);
    if (sorted == NULL)
        return false;
    for (size_t i = 0; i < blocks->count; i++)
        sorted[i] = blocks->at[i].offset;
    qsort(sorted, blocks->count, sizeof *sorted, by_value);
    for (size_t i = 0; i < blocks->count; i++) {
        const uint32_t offset = blocks->at[i].offset;
        const uint64_t size = next_offset(sorted, blocks->count, offset, n) - offset;
        blocks->at[i].size = (uint32_t)(size < most ? size : most);
    }
    free(sorted);
    return true;
}
