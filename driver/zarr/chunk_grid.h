/* zarr/chunk_grid.h: how an array is cut into chunks (core specification, "Chunk grids"; zarr-extensions,
 * "rectilinear"; ZEP 3). All grids cut each dimension by itself, so one is a list of edges for each. */
#pragma once

#include "base/status.h"
#include "zarr/json.h"

struct zs_array_meta;

/* Chunks of one length that follow each other. */
struct zs_edge_run {
    uint64_t start; /* first element of the first of them */
    uint64_t first; /* its number */
    uint64_t edge;
    uint64_t count; /* > 0 */
};

/* The chunks of one dimension, where they differ; runs that follow each other have different edges. */
struct zs_edges {
    size_t run_count; /* > 0 */
    struct zs_edge_run runs[];
};

/* Appends `count` chunks of `edge` elements to *edges, which is grown (NULL: made) and freed with free(). ZS_INVALID
 * where the elements do not fit 64 bits, ZS_NO_MEMORY. */
enum zs_status zs_edges_add(struct zs_edges **edges, uint64_t edge, uint64_t count, struct zs_error *err);

/* How many chunks there are, and how many elements these have together. */
uint64_t zs_edges_chunks(const struct zs_edges *edges);
uint64_t zs_edges_elements(const struct zs_edges *edges);
/* The chunk that holds element `index` < zs_edges_elements(). */
uint64_t zs_edges_find(const struct zs_edges *edges, uint64_t index);
/* First element and length of chunk `at` < zs_edges_chunks(). */
void zs_edges_span(const struct zs_edges *edges, uint64_t at, uint64_t *start, uint64_t *length);

/* Chunks of dimension `dim` that there may be, those that a grid has beyond the array too. */
uint64_t zs_chunk_count(const struct zs_array_meta *meta, int dim);

/* Fills in chunk_shape and edges of `meta`, whose shape is set. ZS_UNSUPPORTED for a grid that is not known, ZS_INVALID
 * with the member, what was expected and what was found. */
enum zs_status zs_chunk_grid_parse(const char *name, const zs_json *configuration, struct zs_array_meta *meta,
                                   struct zs_error *err);

/* The value of "chunk_grid", a regular one. NULL without memory. */
zs_json *zs_chunk_grid_document(const uint64_t *chunk_shape, int ndim);
