/* The chunk grid "regular": all chunks are of one shape. */
#include <stdio.h>

#include "zarr/chunk_grid.h"
#include "zarr/node.h"

enum zs_status zs_grid_regular_parse(const zs_json *configuration, struct zs_array_meta *meta, struct zs_error *err)
{
    const zs_json *shape = zs_json_get(configuration, "chunk_shape");
    if (!zs_json_is_array(shape))
        return zs_fail_found(err, ZS_INVALID, shape, "expected an array of sizes as configuration.chunk_shape");
    if (zs_json_size(shape) != (size_t)meta->ndim)
        return zs_fail(err, ZS_INVALID, "chunk_shape: expected %d sizes, one per dimension of shape, found %zu",
                       meta->ndim, zs_json_size(shape));
    int d = 0;
    for (const zs_json *size = zs_json_first(shape); size != NULL; size = zs_json_next(size), d++) {
        char where[64];
        snprintf(where, sizeof where, "chunk_shape[%d]", d);
        ZS_TRY(zs_chunk_edge_parse(size, where, &meta->chunk_shape[d], err));
    }
    return ZS_OK;
}
