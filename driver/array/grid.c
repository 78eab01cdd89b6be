#include "array/grid.h"

#include <string.h>

#include "base/checked.h"
#include "shard/shard.h"

enum zs_status zs_grid_init(struct zs_grid *grid, const struct zs_array_meta *meta, const struct zs_chain *chain,
                            struct zs_error *err)
{
    *grid = (struct zs_grid){.ndim = meta->ndim, .meta = meta, .chain = chain};
    for (int k = 0; k < chain->count; k++) {
        uint64_t total, end;
        for (int d = 0; d < grid->ndim; d++) {
            if (!zs_add_u64(meta->shape[d], chain->levels[k].shape[d], &end))
                return zs_fail(err, ZS_INVALID,
                               "shape and chunk_shape: the end of the last chunk does not fit 64 bits");
            grid->count[k][d] = meta->shape[d] > 0 ? zs_grid_find(grid, k, d, meta->shape[d] - 1) + 1 : 0;
        }
        if (!zs_product_u64(grid->count[k], grid->ndim, &total))
            return zs_fail(err, ZS_INVALID, "shape and chunk_shape: the number of chunks does not fit 64 bits");
    }
    return ZS_OK;
}

uint64_t zs_grid_number(const struct zs_grid *grid, int level, const uint64_t *position)
{
    uint64_t number = 0;
    for (int d = 0; d < grid->ndim; d++)
        number = number * grid->count[level][d] + position[d];
    return number;
}

void zs_grid_position(const struct zs_grid *grid, int level, uint64_t number, uint64_t *position)
{
    for (int d = grid->ndim - 1; d >= 0; d--) {
        position[d] = number % grid->count[level][d];
        number /= grid->count[level][d];
    }
}

void zs_grid_extent(const struct zs_grid *grid, int level, uint64_t number, uint64_t *start, uint64_t *length)
{
    uint64_t position[ZS_MAX_NDIM];
    zs_grid_position(grid, level, number, position);
    for (int d = 0; d < grid->ndim; d++) {
        const struct zs_span s = zs_grid_span(grid, level, d, position[d]);
        start[d] = s.start;
        length[d] = s.length;
    }
}

uint64_t zs_grid_elements(const struct zs_grid *grid, int level, uint64_t number)
{
    uint64_t start[ZS_MAX_NDIM], length[ZS_MAX_NDIM], n = 1;
    zs_grid_extent(grid, level, number, start, length);
    for (int d = 0; d < grid->ndim; d++)
        n *= zs_min_u64(length[d], grid->meta->shape[d] - start[d]);
    return n;
}

uint64_t zs_grid_chunks_in_shard(const struct zs_grid *grid, uint64_t shard)
{
    const int innermost = grid->chain->count - 1;
    uint64_t start[ZS_MAX_NDIM], length[ZS_MAX_NDIM], n = 1;
    zs_grid_extent(grid, 0, shard, start, length);
    for (int d = 0; d < grid->ndim; d++) {
        const uint64_t end = start[d] + zs_min_u64(length[d], grid->meta->shape[d] - start[d]);
        n *= zs_grid_find(grid, innermost, d, end - 1) + 1 - zs_grid_find(grid, innermost, d, start[d]);
    }
    return n;
}

void zs_grid_around(const struct zs_grid *grid, int from, const uint64_t *position, int level, uint64_t *around)
{
    for (int d = 0; d < grid->ndim; d++)
        around[d] =
            level == from ? position[d] : zs_grid_find(grid, level, d, zs_grid_span(grid, from, d, position[d]).start);
}

void zs_grid_inside(const struct zs_grid *grid, int level, const uint64_t *position, uint64_t *inside)
{
    for (int d = 0; d < grid->ndim; d++)
        if (zs_grid_edges(grid, level, d) == NULL) {
            inside[d] = position[d] % grid->chain->levels[level].grid[d];
        } else {
            const uint64_t edge = grid->chain->levels[level + 1].shape[d], start = position[d] * edge;
            inside[d] = (start - zs_grid_span(grid, level, d, zs_grid_find(grid, level, d, start)).start) / edge;
        }
}

const struct zs_level *zs_grid_level(const struct zs_grid *grid, int depth, uint64_t number, struct zs_level *room)
{
    const struct zs_level *level = &grid->chain->levels[depth];
    if (depth > 0 || !grid->meta->has_edges)
        return level;
    uint64_t start[ZS_MAX_NDIM], length[ZS_MAX_NDIM];
    zs_grid_extent(grid, depth, number, start, length);
    zs_level_resize(level, length, room);
    return room;
}

const struct zs_level *zs_grid_levels(const struct zs_grid *grid, uint64_t number, struct zs_level **own)
{
    *own = NULL;
    if (!grid->meta->has_edges)
        return grid->chain->levels;
    *own = zs_calloc((size_t)grid->chain->count, sizeof **own);
    if (*own == NULL)
        return NULL;
    memcpy(*own, grid->chain->levels, (size_t)grid->chain->count * sizeof **own);
    (void)zs_grid_level(grid, 0, number, *own);
    return *own;
}

uint64_t zs_grid_shard(const struct zs_grid *grid, uint64_t chunk)
{
    uint64_t position[ZS_MAX_NDIM];
    if (grid->chain->count == 1)
        return chunk;
    zs_grid_position(grid, grid->chain->count - 1, chunk, position);
    zs_grid_around(grid, grid->chain->count - 1, position, 0, position);
    return zs_grid_number(grid, 0, position);
}

uint64_t zs_grid_number_in_shard(const struct zs_grid *grid, uint64_t chunk)
{
    uint64_t position[ZS_MAX_NDIM], at[ZS_MAX_NDIM], number = 0;
    zs_grid_position(grid, grid->chain->count - 1, chunk, position);
    struct zs_level room;
    for (int k = 0; k + 1 < grid->chain->count; k++) {
        const struct zs_level *level =
            zs_grid_level(grid, k, k == 0 && grid->meta->has_edges ? zs_grid_shard(grid, chunk) : 0, &room);
        zs_grid_around(grid, grid->chain->count - 1, position, k + 1, at);
        zs_grid_inside(grid, k, at, at);
        number = number * level->inner_count + zs_shard_index_number(level, at);
    }
    return number;
}
