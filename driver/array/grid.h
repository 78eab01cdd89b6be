/* array/grid.h: which elements a chunk spans and which chunk an element lies in, at every level of an array's chain.
 * Nothing else knows how the chunks of an array lie side by side. */
#pragma once

#include "codec/chain.h"

struct zs_grid {
    int ndim;
    const struct zs_array_meta *meta; /* borrowed, as is: */
    const struct zs_chain *chain;
    uint64_t count[ZS_MAX_LEVELS][ZS_MAX_NDIM]; /* chunks of each level per dimension, over the whole array */
};

/* Elements of one dimension, of the array. */
struct zs_span {
    uint64_t start, length;
};

/* `meta` and `chain` stay where they are. ZS_INVALID where the end of the last chunk or the number of chunks does not
 * fit 64 bits: numbers are what caches and plans count in. */
enum zs_status zs_grid_init(struct zs_grid *grid, const struct zs_array_meta *meta, const struct zs_chain *chain,
                            struct zs_error *err);

/* Only level-0 chunks may differ in length; each consists of whole inner chunks, whose grid is regular. */
static inline const struct zs_edges *zs_grid_edges(const struct zs_grid *grid, int level, int dim)
{
    return level == 0 ? grid->meta->edges[dim] : NULL;
}

/* The elements of chunk `at` of `level` in dimension `dim`: its full length, even beyond the array. */
static inline struct zs_span zs_grid_span(const struct zs_grid *grid, int level, int dim, uint64_t at)
{
    if (zs_grid_edges(grid, level, dim) != NULL) {
        struct zs_span s;
        zs_edges_span(zs_grid_edges(grid, level, dim), at, &s.start, &s.length);
        return s;
    }
    const uint64_t length = grid->chain->levels[level].shape[dim];
    return (struct zs_span){at * length, length};
}

/* The chunk of `level` that element `index` of dimension `dim` lies in. */
static inline uint64_t zs_grid_find(const struct zs_grid *grid, int level, int dim, uint64_t index)
{
    if (zs_grid_edges(grid, level, dim) != NULL)
        return zs_edges_find(zs_grid_edges(grid, level, dim), index);
    return index / grid->chain->levels[level].shape[dim];
}

/* Number of a chunk of `level`, in C order of the array's dimensions, and back. */
uint64_t zs_grid_number(const struct zs_grid *grid, int level, const uint64_t *position);
void zs_grid_position(const struct zs_grid *grid, int level, uint64_t number, uint64_t *position);

/* First element and length of chunk `number` of `level` in each dimension. */
void zs_grid_extent(const struct zs_grid *grid, int level, uint64_t number, uint64_t *start, uint64_t *length);
/* Number of the chunk's elements that lie in the array. */
uint64_t zs_grid_elements(const struct zs_grid *grid, int level, uint64_t number);
/* Innermost chunks of a level-0 chunk that lie in the array, at least in part. */
uint64_t zs_grid_chunks_in_shard(const struct zs_grid *grid, uint64_t shard);

/* The level of chunk `number` of `level`, with its own shape and sizes: that of the chain, or set in *room where chunks
 * of that level differ. */
const struct zs_level *zs_grid_level(const struct zs_grid *grid, int level, uint64_t number, struct zs_level *room);
/* The levels of a level-0 chunk and of all in it: the chain's, or a copy that *own is set to, freed with free(). NULL
 * without memory. */
const struct zs_level *zs_grid_levels(const struct zs_grid *grid, uint64_t number, struct zs_level **own);

/* The chunk of `level` around the chunk at `position` of an inner level `from`. */
void zs_grid_around(const struct zs_grid *grid, int from, const uint64_t *position, int level, uint64_t *around);
/* Position of a chunk of the level below `level` within its shard. `inside` may be `position`. */
void zs_grid_inside(const struct zs_grid *grid, int level, const uint64_t *position, uint64_t *inside);

/* Number of the level-0 chunk around an innermost chunk, and the number of the innermost chunk within it, as in
 * shard/writer.h. */
uint64_t zs_grid_shard(const struct zs_grid *grid, uint64_t chunk);
uint64_t zs_grid_number_in_shard(const struct zs_grid *grid, uint64_t chunk);
