/* zarr/contents.h: which files below a store's root are the store's own and are deleted with it.
 *
 * Own are documents (each zarr.json that is a Zarr v3 node), chunks by the keys that their array's metadata give them
 * (of the default encoding with either separator: a replaced array has the other one), side-cars of the documents
 * (.aux.xml, .ovr), and unfinished files of this driver. Where a killed writer left an array without a document, keys
 * of the default encoding ("x/c/0/1", not "c/0/1" of a root) are chunks. Everything else is foreign. Symbolic links are
 * not followed: a link is own when it stands for a node or for chunks, its target never is. */
#pragma once

#include "store/store.h"
#include "zarr/node.h"

struct zs_contents {
    struct zs_names own;         /* keys; the root's zarr.json first, and each node's before its chunks */
    struct zs_names directories; /* below the root, each before the directories in it */
    size_t foreign_count;
    char *foreign; /* key of the first foreign file, NULL when there is none */
    bool is_marked; /* the mark of who makes the store (store/staging.h) is there: neither own nor foreign */
};

/* Searches a store, or the remains of one. ZS_UNSUPPORTED where listing is impossible. Release with
 * zs_contents_clear(), also on failure. */
enum zs_status zs_contents_find(struct zs_store *store, struct zs_contents *contents, struct zs_error *err);
void zs_contents_clear(struct zs_contents *contents);

/* Removes the store's own files, then empty directories, except the root. The root's zarr.json goes first: a
 * half-removed store does not open. */
enum zs_status zs_contents_remove(struct zs_store *store, const struct zs_contents *contents, struct zs_error *err);

/* Finds and removes what is at `path` and below it (not ""). With is_left no node is stored there, only chunks that
 * killed writers left: ZS_ARGUMENT, and nothing is removed, where one is. */
enum zs_status zs_contents_remove_below(struct zs_store *store, const char *path, bool is_left, struct zs_error *err);
