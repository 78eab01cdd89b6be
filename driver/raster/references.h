/* raster/references.h: what names a node elsewhere in its store: attributes of arrays beside it, and the pyramids of
 * the groups above. */
#ifndef ZS_RASTER_REFERENCES_H
#define ZS_RASTER_REFERENCES_H

#include "zarr/hierarchy.h"

/* Gives what names the node at path `from` the name that it has at `to`, in the same group; with `to` NULL takes the
 * name away: in attributes of the arrays of its group (`ancillary_variables`, `coordinates`, `bounds`,
 * `grid_mapping`, `cell_measures`, `formula_terms`), and in the `multiscales` of the groups above. In memory, to be
 * flushed; nobody else may use the hierarchy meanwhile. */
enum zs_status zs_references_change(struct zs_hierarchy *h, const char *from, const char *to,
                                    struct zs_error *err) ZS_MUST_CHECK;

#endif
