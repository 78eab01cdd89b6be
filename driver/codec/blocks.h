/* codec/blocks.h: the blocks of an encoded chunk, which can be decoded one by one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that a codec keeps of the beginning of a chunk. */
#define ZS_BLOCKS_HEAD 16

struct zs_blocks {
    uint64_t tag;        /* the caller's: which bytes this was read from */
    uint64_t size;       /* bytes that all of them decode to, in order */
    uint64_t block_size; /* of each but the last, which has the rest */
    size_t count;        /* 0: the chunk has no blocks, and is decoded as a whole */
    bool is_plain;       /* block i is not encoded, at plain_at + i * block_size */
    uint64_t plain_at;
    unsigned char head[ZS_BLOCKS_HEAD]; /* the codec's */
    struct zs_block {
        uint32_t offset, size; /* of the chunk's encoded bytes, all within them; not always in order */
    } at[];                    /* none where is_plain */
};

/* Bytes that block `index` decodes to. */
static inline uint64_t zs_block_decoded(const struct zs_blocks *blocks, size_t index)
{
    const uint64_t left = blocks->size - (uint64_t)index * blocks->block_size;
    return left < blocks->block_size ? left : blocks->block_size;
}

/* Where block `index` is in the encoded bytes. */
static inline void zs_block_range(const struct zs_blocks *blocks, size_t index, uint64_t *offset, uint64_t *size)
{
    *offset = blocks->is_plain ? blocks->plain_at + (uint64_t)index * blocks->block_size : blocks->at[index].offset;
    *size = blocks->is_plain ? zs_block_decoded(blocks, index) : blocks->at[index].size;
}

/* Allocates a table of `count` blocks, zeroed, with `at` unless is_plain. NULL without memory; freed with free(). */
struct zs_blocks *zs_blocks_alloc(size_t count, bool is_plain);
/* Divides `size` bytes from plain_at on, which are not encoded, into blocks of block_size > 0. */
struct zs_blocks *zs_blocks_plain(uint64_t size, uint64_t plain_at, uint64_t block_size);
/* Bytes of memory of a table. */
size_t zs_blocks_memory(const struct zs_blocks *blocks);

/* Sets the sizes of blocks whose offsets are set, of n encoded bytes: each ends where another begins, and has `most`
 * bytes at most. False without memory. */
bool zs_blocks_measure(struct zs_blocks *blocks, uint64_t n, uint64_t most);
