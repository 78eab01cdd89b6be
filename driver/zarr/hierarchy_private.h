/* zarr/hierarchy_private.h: the table of nodes, shared by the files of the hierarchy. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "zarr/hierarchy.h"
#include "zarr/name.h"

/* What the next flush does with the document of a path (flush.c). The node in the table has the new document. */
enum zs_change {
    ZS_CHANGE_NONE,
    ZS_CHANGE_EDIT,   /* what differs from `before` is put over the stored document; NULL: where none is */
    ZS_CHANGE_NEW,    /* the document is put where none is, and nothing was below it */
    ZS_CHANGE_REMOVED /* the node goes, with all below it, which have no changes */
};

/* The result of looking up one path: its node, or the reason why there is none. */
struct zs_hierarchy_entry {
    char *path;
    struct zs_node *node;  /* NULL: */
    enum zs_status status; /* ... ZS_NOT_FOUND, ZS_INVALID or ZS_UNSUPPORTED */
    char *message;         /* ... and the error message; NULL is allowed with ZS_NOT_FOUND */
    enum zs_change change; /* pending */
    zs_json *before;       /* EDIT: the document before the first change, without consolidated metadata; NULL: none */
};

struct zs_hierarchy {
    struct zs_store *store;
    bool is_consolidated; /* set before the hierarchy is returned */
    bool is_draft;        /* nodes are those of draft.c */
    bool is_new;                        /* the store is being created: it holds only nodes that were added here */
    pthread_mutex_t lock;               /* for all members below; never held during a request */
    _Atomic(char *) left_out;           /* the first listed path that is not used, for its name; NULL: none */
    struct zs_hierarchy_entry *entries; /* sorted by zs_path_compare: hostile names cannot slow it down, unlike a
                                           hash table */
    size_t count, capacity;
    atomic_bool is_walked;  /* the table has all nodes of the store */
    atomic_size_t failures; /* look-ups that failed */
    enum zs_status failure; /* ... the last one's status */
    struct zs_error reason; /* ... and message */

    /* Used by one thread at a time, like all functions that change documents. */
    bool is_deferred;         /* see zs_hierarchy_defer() */
    size_t edits;             /* changes so far */
    enum zs_status ended;     /* not ZS_OK: all that changes or flushes fails with this from now on */
    struct zs_error end_reason;
    struct zs_node *retired; /* no longer in the table, but callers may hold pointers to them */
};

/* Puts what is at a path into the table: a node (taken over, also on failure), or NULL and the status of there being
 * none, with its reason in *err where that is not ZS_NOT_FOUND. A node or a reason that is there already stays. Names
 * the dimensions of an array that names none as the groups above do. *kept is the node that is there, the return the
 * status why there is none; or ZS_NO_MEMORY. Takes the lock. */
enum zs_status zs_hierarchy_put(struct zs_hierarchy *hierarchy, const char *path, struct zs_node *node,
                                enum zs_status status, const struct zs_node **kept, struct zs_error *err);

/* Checks that a path is clean (name.h) or the root's, and within the limits of listing. */
enum zs_status zs_hierarchy_check_path(const char *path, struct zs_error *err);

/* Returns the entry of a clean path; NULL when the table has none. Neither reads the store nor takes the lock. */
struct zs_hierarchy_entry *zs_hierarchy_entry_at(const struct zs_hierarchy *hierarchy, const char *path);
/* The same, made where there is none; NULL without memory. */
struct zs_hierarchy_entry *zs_hierarchy_entry_make(struct zs_hierarchy *hierarchy, const char *path);

/* Whether entry number `i` of the table is a node that a list has: not a directory without nodes, which was guessed to
 * be a group as it was named. */
bool zs_hierarchy_is_listed(const struct zs_hierarchy *hierarchy, size_t i);

/* ---- Pending changes (hierarchy_edit.c) ---- */

/* Whether the removal of the node at a path, or of one above it, is pending: the store still has it. With `or_new` also
 * whether one there is new: its path was cleared. */
bool zs_hierarchy_hides(const struct zs_hierarchy *hierarchy, const char *path, bool or_new);

/* ---- Writing them (flush.c) ---- */

/* Takes the lock of the root's document, where there are locks, waits until no journal is there, and does one that
 * stays: after that the store is as its maker wanted it. */
enum zs_status zs_hierarchy_enter(struct zs_store *store, struct zs_lock **lock, struct zs_error *err);

/* ---- Stores of the 2022 draft (draft.c) ---- */

/* Whether a zarr.json is the entry point of a store of the draft. */
bool zs_draft_is_entry(const zs_json *document);
/* ZS_UNSUPPORTED for one whose nodes are not as draft.c reads them. */
enum zs_status zs_draft_check_entry(const zs_json *entry, struct zs_error *err);
/* Reads a node. ZS_NOT_FOUND; else a node that cannot be translated fails with the reason. */
enum zs_status zs_draft_get_node(struct zs_store *store, const char *path, struct zs_node **node,
                                 struct zs_error *err);
/* Lists possible nodes as zs_store_list() does: a group may have a document and a folder, and is listed twice then. */
enum zs_status zs_draft_list(struct zs_store *store, const char *path, char ***names, struct zs_error *err);
