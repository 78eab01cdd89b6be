/* zarr/hierarchy_private.h: the table of nodes, shared by the files of the hierarchy. */
#pragma once

#include <pthread.h>

#include "zarr/draft.h"
#include "zarr/editing.h"
#include "zarr/name.h"

/* The result of looking up one path: its node, or the reason why there is none. */
struct zs_hierarchy_entry {
    char *path;
    struct zs_node *node;  /* NULL: */
    enum zs_status status; /* ... ZS_NOT_FOUND, ZS_INVALID or ZS_UNSUPPORTED */
    char *message;         /* ... and the error message */
    bool is_empty;         /* ZS_NOT_FOUND, and nothing is stored below either: see zs_hierarchy_note_empty() */
    bool is_added;         /* the node was new, and added through this hierarchy */
    uint64_t noted_in;     /* period of the savepoints (below) in which the path was last noted */
};

struct zs_hierarchy {
    struct zs_store *store;
    bool is_consolidated; /* set before the hierarchy is returned */
    bool has_beyond;      /* set likewise: consolidated metadata list nodes beyond the limits of zs_hierarchy_list() */
    bool is_draft;        /* set likewise: `draft` has the keys of nodes, and the store is read only */
    struct zs_draft draft;
    bool is_new;                        /* the store is being created: it holds only nodes that were added here */
    pthread_mutex_t lock;               /* for all members below; never held during a request */
    struct zs_hierarchy_entry *entries; /* sorted by zs_path_compare: hostile names cannot slow it down, unlike a
                                           hash table */
    size_t count, capacity;
    const struct zs_node **listing; /* the result of zs_hierarchy_list(), NULL before the first call */
    size_t listing_count;
    size_t failures;        /* look-ups that failed */
    enum zs_status failure; /* ... the last one's status */
    char *failure_message;  /* ... and message; NULL without memory for it */

    /* Used by one thread at a time, like all functions that change documents. */
    struct zs_pending_changes pending;
    struct zs_names marks;    /* of arrays that are not published: keys (make.c) */
    bool is_deferred;         /* see zs_hierarchy_defer() */
    struct zs_undo_log undo;  /* of open savepoints */
    struct zs_node **retired; /* no longer in the table, but callers may hold pointers to them */
    size_t retired_count, retired_capacity;
};

/* Inserts an entry and takes over its contents; the lock is held. An existing entry stays, unless it has no node.
 * Returns the entry of the path; NULL without memory, when the entry still belongs to the caller. */
const struct zs_hierarchy_entry *zs_hierarchy_insert(struct zs_hierarchy *hierarchy, struct zs_hierarchy_entry entry);

/* Names the dimensions of an array that names none as its group or the one above does, before it gets into the table:
 * nodes in it do not change. False without memory. */
bool zs_hierarchy_name_dimensions(struct zs_hierarchy *hierarchy, struct zs_node *node);

/* Like zs_hierarchy_node(), for a clean path. Unless `guess_groups`, a directory without zarr.json that is not known to
 * be a group is ZS_NOT_FOUND. */
enum zs_status zs_hierarchy_find(struct zs_hierarchy *hierarchy, const char *path, bool guess_groups,
                                 const struct zs_node **node, struct zs_error *err);

/* Lists the names directly below a path, as zs_store_list(): a name of a possible node ends in "/". */
enum zs_status zs_hierarchy_children(struct zs_hierarchy *hierarchy, const char *path, char ***names,
                                     struct zs_error *err);

/* Adds the nodes of the root's consolidated metadata, if any, to the table, whose only entry is the root. */
enum zs_status zs_hierarchy_consolidate(struct zs_hierarchy *hierarchy, struct zs_error *err);

/* Counts a look-up or a listing that failed. */
void zs_hierarchy_note_failure(struct zs_hierarchy *hierarchy, enum zs_status status, const char *message);

void zs_hierarchy_entry_free(struct zs_hierarchy_entry *entry);

/* Returns the node at a clean path if the table has it, else NULL. Neither reads the store nor takes the lock. */
const struct zs_node *zs_hierarchy_known(const struct zs_hierarchy *hierarchy, const char *path);

/* Returns the entry of a clean path; NULL when the table has none. */
struct zs_hierarchy_entry *zs_hierarchy_entry_at(const struct zs_hierarchy *hierarchy, const char *path);
/* Finds the entries at and below a clean path: from *first to before *end. */
void zs_hierarchy_within(const struct zs_hierarchy *hierarchy, const char *path, size_t *first, size_t *end);
