/* raster/references.h: what names a node elsewhere in its store: attributes of arrays beside it, and the pyramids of
 * the groups above. */
#ifndef ZS_RASTER_REFERENCES_H
#define ZS_RASTER_REFERENCES_H

#include "zarr/hierarchy.h"

/* Updates references to the node at path `from` when it is renamed to `to` (in the same group) or, with `to` NULL,
 * removed: in attributes of the arrays of its group (`ancillary_variables`, `coordinates`, `bounds`, `grid_mapping`,
 * `cell_measures`, `formula_terms`), and in the `multiscales` of the groups above. Changes are pending until a flush;
 * no other thread may use the hierarchy meanwhile. */
enum zs_status zs_references_change(struct zs_hierarchy *h, const char *from, const char *to,
                                    struct zs_error *err) ZS_MUST_CHECK;

#endif
