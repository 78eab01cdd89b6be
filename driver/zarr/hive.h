/* zarr/hive.h: stores in zagg's layout morton-hive: a Zarr store ("leaf") for each parent cell that has data, in a tree
 * of decimal digits, and coarser orders in stores all.pyramid.zarr at its nodes. Read only.
 *
 * Shows a hive as zagg's flat layout: a group for each order, whose arrays have all HEALPix cells in nested order. A
 * leaf holds one shard of them, or more, and its path follows from the number of its cell: reading a window requests
 * the leaves that it needs. Cells read as fill value where a leaf is absent or lacks the stamp of a finished one. A
 * leaf whose array differs from the first leaf's is an error.
 * Source: mortie, docs/specification.md, 2 (decimal strings) and 6 (layout); zagg, zagg-pyramid/2 of the manifest. */
#pragma once

#include "store/store.h"
#include "zarr/json.h"

#define ZS_HIVE_MANIFEST "morton_hive.json"

/* Replaces *store, which the new one takes over, by the store in the flat layout. ZS_NOT_FOUND: there is no manifest at
 * the root. ZS_UNSUPPORTED: leaves are of time windows, or directories cannot be listed: listing finds the first leaf,
 * whose arrays are those of the store. On failure *store stays as it is. */
enum zs_status zs_hive_open(struct zs_store **store, struct zs_error *err);

/* ---- The tree (hive_tree.c) ---- */

#define ZS_HIVE_MAX_ORDER 24

struct zs_hive_level {
    int cells, node; /* orders of the cells, and of their leaves */
    bool is_overview;
};

#define ZS_HIVE_FACES 12

struct zs_hive {
    int version;  /* of the grammar of names, 1 to 3 */
    int grouping; /* digits in a component of a path */
    struct zs_hive_level levels[ZS_HIVE_MAX_ORDER + 1]; /* the finest first; each order of cells once */
    int count;
};

/* Parses morton_hive.json. ZS_INVALID names the member that is wrong,
 * ZS_UNSUPPORTED another version, or windows of time. */
enum zs_status zs_hive_parse(const zs_json *manifest, struct zs_hive *hive, struct zs_error *err);
/* Makes the path of a level's leaf by its number (nested): "1/1/2/1/3/11213.zarr". NULL without memory, freed with
 * free(). */
char *zs_hive_leaf(const struct zs_hive *hive, const struct zs_hive_level *level, uint64_t number);
/* Parses a component of a path below the node `number` of an order (-1: the root), into the order and the number of the
 * child. False when the component is none of a hive. */
bool zs_hive_step(const struct zs_hive *hive, int most_order, int order, uint64_t number, const char *name,
                  int *child_order, uint64_t *child);
