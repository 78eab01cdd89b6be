/* zarr/hive.h: stores in zagg's layout morton-hive: a Zarr store ("leaf") for each parent cell that has data, in a tree
 * of decimal digits, and coarser orders in stores all.pyramid.zarr at its nodes. Shown as zagg's flat layout is: a
 * group for each order, whose arrays are of all HEALPix cells in nested order; a shard of them, or more, lies in a
 * leaf. Where that is follows from its number: a leaf is asked for when a window needs it, and one that is absent, or
 * lacks the stamp of a finished one, reads as fill value; one whose array is not as that of the first leaf is an
 * error. Read only.
 * Source: mortie, docs/specification.md, 2 (decimal strings) and 6 (layout); zagg, zagg-pyramid/2 of the manifest. */
#ifndef ZS_ZARR_HIVE_H
#define ZS_ZARR_HIVE_H

#include "store/store.h"
#include "zarr/json.h"

#define ZS_HIVE_MANIFEST "morton_hive.json"

/* Puts a store that shows it so in the place of *store, which that takes over. ZS_NOT_FOUND: there is no manifest at
 * the root. ZS_UNSUPPORTED: leaves of time windows, and where directories cannot be listed: which arrays there are is
 * told by a leaf, and the first is looked for. On failure *store stays what it is. */
enum zs_status zs_hive_open(struct zs_store **store, struct zs_error *err) ZS_MUST_CHECK;

/* ---- The tree (hive_tree.c) ---- */

#define ZS_HIVE_MAX_ORDER 24

/* Cells of an order, and of which order their leaves are. */
struct zs_hive_level {
    int cells, node;
    bool is_overview;
};

#define ZS_HIVE_FACES 12

struct zs_hive {
    int version;  /* of the grammar of names, 1 to 3 */
    int grouping; /* digits of a component of a path */
    struct zs_hive_level levels[ZS_HIVE_MAX_ORDER + 1]; /* the finest first; each order of cells once */
    int count;
};

enum zs_status zs_hive_parse(const zs_json *manifest, struct zs_hive *hive, struct zs_error *err) ZS_MUST_CHECK;
/* The leaf of the cell `number` (nested) of a level's nodes: "1/1/2/1/3/11213.zarr". NULL without memory, freed with
 * free(). */
char *zs_hive_leaf(const struct zs_hive *hive, const struct zs_hive_level *level, uint64_t number);
/* Reads a component of a path below a node of an order: the order of the child is *child_order, its cell *child. False
 * for names of other things. The root has order -1. */
bool zs_hive_step(const struct zs_hive *hive, int most_order, int order, uint64_t number, const char *name,
                  int *child_order, uint64_t *child);

#endif
