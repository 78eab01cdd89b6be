#include "array/grid.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "shard/index.h"

enum zs_status zs_grid_init(struct zs_grid *g, const struct zs_array_meta *meta, const struct zs_chain *chain,
                            struct zs_error *err)
{
    *g = (struct zs_grid){.ndim = meta->ndim, .meta = meta, .chain = chain};
    for (int k = 0; k < chain->count; k++) {
        uint64_t total, end;
        for (int d = 0; d < g->ndim; d++) {
            if (!zs_add_u64(meta->shape[d], chain->levels[k].shape[d], &end))
                return zs_fail(err, ZS_INVALID,
                               "shape and chunk_shape: the end of the last chunk does not fit 64 bits");
            g->count[k][d] = meta->shape[d] > 0 ? zs_grid_find(g, k, d, meta->shape[d] - 1) + 1 : 0;
        }
        if (!zs_product_u64(g->count[k], g->ndim, &total))
            return zs_fail(err, ZS_INVALID, "shape and chunk_shape: the number of chunks does not fit 64 bits");
    }
    return ZS_OK;
}

uint64_t zs_grid_number(const struct zs_grid *g, int k, const uint64_t *position)
{
    uint64_t number = 0;
    for (int d = 0; d < g->ndim; d++)
        number = number * g->count[k][d] + position[d];
    return number;
}

void zs_grid_position(const struct zs_grid *g, int k, uint64_t number, uint64_t *position)
{
    for (int d = g->ndim - 1; d >= 0; d--) {
        position[d] = number % g->count[k][d];
        number /= g->count[k][d];
    }
}

void zs_grid_extent(const struct zs_grid *g, int k, uint64_t number, uint64_t *start, uint64_t *length)
{
    uint64_t position[ZS_MAX_NDIM];
    zs_grid_position(g, k, number, position);
    for (int d = 0; d < g->ndim; d++) {
        const struct zs_span s = zs_grid_span(g, k, d, position[d]);
        start[d] = s.start;
        length[d] = s.length;
    }
}

uint64_t zs_grid_elements(const struct zs_grid *g, int k, uint64_t number)
{
    uint64_t start[ZS_MAX_NDIM], length[ZS_MAX_NDIM], n = 1;
    zs_grid_extent(g, k, number, start, length);
    for (int d = 0; d < g->ndim; d++)
        n *= zs_min_u64(length[d], g->meta->shape[d] - start[d]);
    return n;
}

uint64_t zs_grid_leaves(const struct zs_grid *g, uint64_t shard)
{
    const int innermost = g->chain->count - 1;
    uint64_t start[ZS_MAX_NDIM], length[ZS_MAX_NDIM], n = 1;
    zs_grid_extent(g, 0, shard, start, length);
    for (int d = 0; d < g->ndim; d++) {
        const uint64_t end = start[d] + zs_min_u64(length[d], g->meta->shape[d] - start[d]);
        n *= zs_grid_find(g, innermost, d, end - 1) + 1 - zs_grid_find(g, innermost, d, start[d]);
    }
    return n;
}

void zs_grid_around(const struct zs_grid *g, int from, const uint64_t *position, int k, uint64_t *around)
{
    for (int d = 0; d < g->ndim; d++)
        around[d] = k == from ? position[d] : zs_grid_find(g, k, d, zs_grid_span(g, from, d, position[d]).start);
}

void zs_grid_inside(const struct zs_grid *g, int k, const uint64_t *position, uint64_t *inside)
{
    for (int d = 0; d < g->ndim; d++)
        if (zs_grid_edges(g, k, d) == NULL) {
            inside[d] = position[d] % g->chain->levels[k].grid[d];
        } else {
            const uint64_t edge = g->chain->levels[k + 1].shape[d], start = position[d] * edge;
            inside[d] = (start - zs_grid_span(g, k, d, zs_grid_find(g, k, d, start)).start) / edge;
        }
}

const struct zs_level *zs_grid_level(const struct zs_grid *g, int k, uint64_t number, struct zs_level *room)
{
    const struct zs_level *level = &g->chain->levels[k];
    if (k > 0 || !g->meta->has_edges)
        return level;
    uint64_t start[ZS_MAX_NDIM], length[ZS_MAX_NDIM];
    zs_grid_extent(g, k, number, start, length);
    zs_level_resize(level, length, room);
    return room;
}

const struct zs_level *zs_grid_levels(const struct zs_grid *g, uint64_t number, struct zs_level **own)
{
    *own = NULL;
    if (!g->meta->has_edges)
        return g->chain->levels;
    *own = zs_calloc((size_t)g->chain->count, sizeof **own);
    if (*own == NULL)
        return NULL;
    memcpy(*own, g->chain->levels, (size_t)g->chain->count * sizeof **own);
    (void)zs_grid_level(g, 0, number, *own);
    return *own;
}

uint64_t zs_grid_shard(const struct zs_grid *g, uint64_t chunk)
{
    uint64_t position[ZS_MAX_NDIM];
    if (g->chain->count == 1)
        return chunk;
    zs_grid_position(g, g->chain->count - 1, chunk, position);
    zs_grid_around(g, g->chain->count - 1, position, 0, position);
    return zs_grid_number(g, 0, position);
}

uint64_t zs_grid_number_in_shard(const struct zs_grid *g, uint64_t chunk)
{
    uint64_t position[ZS_MAX_NDIM], at[ZS_MAX_NDIM], number = 0;
    zs_grid_position(g, g->chain->count - 1, chunk, position);
    struct zs_level room;
    for (int k = 0; k + 1 < g->chain->count; k++) {
        const struct zs_level *level =
            zs_grid_level(g, k, k == 0 && g->meta->has_edges ? zs_grid_shard(g, chunk) : 0, &room);
        zs_grid_around(g, g->chain->count - 1, position, k + 1, at);
        zs_grid_inside(g, k, at, at);
        number = number * level->inner_count + zs_shard_index_number(level, at);
    }
    return number;
}
