#include "zarr/chunk_grid.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "zarr/node.h"

static const struct {
    const char *name;
    zs_grid_parse_fn parse;
    const char *members[3]; /* of the configuration, NULL-terminated */
} grids[] = {
    {"regular", zs_grid_regular_parse, {"chunk_shape"}},                  /* core specification */
    {"rectilinear", zs_grid_rectilinear_parse, {"kind", "chunk_shapes"}}, /* zarr-extensions */
    {"rectangular", zs_grid_rectangular_parse, {"chunk_shape"}},          /* ZEP 3 */
};

/* ---- Edges ---- */

static const struct zs_edge_run *last_run(const struct zs_edges *edges)
{
    return &edges->runs[edges->run_count - 1];
}

uint64_t zs_edges_chunks(const struct zs_edges *edges)
{
    return last_run(edges)->first + last_run(edges)->count;
}

uint64_t zs_edges_elements(const struct zs_edges *edges)
{
    return last_run(edges)->start + last_run(edges)->edge * last_run(edges)->count;
}

enum zs_status zs_edges_add(struct zs_edges **edges, uint64_t edge, uint64_t count, struct zs_error *err)
{
    struct zs_edges *e = *edges;
    const size_t n = e != NULL ? e->run_count : 0;
    const uint64_t start = n > 0 ? zs_edges_elements(e) : 0;
    uint64_t length, end; /* there are no more chunks than elements */
    if (!zs_mul_u64(edge, count, &length) || !zs_add_u64(start, length, &end))
        return zs_fail(err, ZS_INVALID,
                       "expected chunks of fewer than 2^64 elements in all, found %llu of %llu behind %llu",
                       (unsigned long long)count, (unsigned long long)edge, (unsigned long long)start);
    if (n > 0 && e->runs[n - 1].edge == edge) {
        e->runs[n - 1].count += count;
        return ZS_OK;
    }
    if ((n & (n - 1)) == 0) { /* room for twice as many */
        e = realloc(e, sizeof *e + (n > 0 ? 2 * n : 1) * sizeof *e->runs);
        ZS_TRY_MEMORY(e, err);
        *edges = e;
    }
    e->runs[n] = (struct zs_edge_run){start, n > 0 ? e->runs[n - 1].first + e->runs[n - 1].count : 0, edge, count};
    e->run_count = n + 1;
    return ZS_OK;
}

uint64_t zs_edges_find(const struct zs_edges *edges, uint64_t index)
{
    size_t low = 0, high = edges->run_count; /* the run is in [low, high) */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (edges->runs[middle].start <= index)
            low = middle;
        else
            high = middle;
    }
    return edges->runs[low].first + (index - edges->runs[low].start) / edges->runs[low].edge;
}

void zs_edges_span(const struct zs_edges *edges, uint64_t at, uint64_t *start, uint64_t *length)
{
    size_t low = 0, high = edges->run_count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (edges->runs[middle].first <= at)
            low = middle;
        else
            high = middle;
    }
    *start = edges->runs[low].start + (at - edges->runs[low].first) * edges->runs[low].edge;
    *length = edges->runs[low].edge;
}

uint64_t zs_chunk_count(const struct zs_array_meta *meta, int dim)
{
    return meta->edges[dim] != NULL ? zs_edges_chunks(meta->edges[dim])
                                    : zs_ceil_div_u64(meta->shape[dim], meta->chunk_shape[dim]);
}

/* ---- Configurations ---- */

enum zs_status zs_chunk_edge_parse(const zs_json *value, const char *where, uint64_t *edge, struct zs_error *err)
{
    if (zs_json_uint64(value, edge) && *edge > 0)
        return ZS_OK;
    char *text = zs_json_print(value);
    (void)zs_fail(err, ZS_INVALID, "%s: expected an integer of 1 to 18446744073709551615, found %.60s", where,
                  text != NULL ? text : "?");
    free(text);
    return ZS_INVALID;
}

enum zs_status zs_chunk_grid_parse(const char *name, const zs_json *configuration, struct zs_array_meta *meta,
                                   struct zs_error *err)
{
    size_t i = 0;
    while (i < sizeof grids / sizeof grids[0] && strcmp(name, grids[i].name) != 0)
        i++;
    if (i == sizeof grids / sizeof grids[0])
        return zs_fail(err, ZS_UNSUPPORTED, "chunk_grid \"%.100s\" is not supported", name);
    enum zs_status status = grids[i].parse(configuration, meta, err);
    if (status == ZS_OK && (status = zs_members_check(configuration, grids[i].members, err)) != ZS_OK)
        return zs_fail_in(err, status, "chunk_grid \"%s\"", name);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "chunk_grid");
}

zs_json *zs_chunk_grid_document(const uint64_t *chunk_shape, int ndim)
{
    zs_json *grid = zs_json_new_object();
    bool ok = zs_json_add_string(grid, "name", "regular") != NULL;
    zs_json *shape = zs_json_add_array(zs_json_add_object(grid, "configuration"), "chunk_shape");
    for (int d = 0; d < ndim && ok; d++)
        ok = zs_json_add_uint64(shape, NULL, chunk_shape[d]) != NULL;
    if (ok && shape != NULL)
        return grid;
    zs_json_free(grid);
    return NULL;
}
