/* zarr/hierarchy_private.h: the table of nodes, shared by the files of the hierarchy. */
#ifndef ZS_ZARR_HIERARCHY_PRIVATE_H
#define ZS_ZARR_HIERARCHY_PRIVATE_H

#include <pthread.h>

#include "zarr/draft.h"
#include "zarr/hierarchy.h"
#include "zarr/name.h"
#include "zarr/pending_changes.h"

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
    size_t savepoints;        /* number of open savepoints (savepoint.c): */
    uint64_t period;          /* ... a new one at each beginning, end and flush: a path is noted once per period */
    struct zs_undo *undo;     /* ... the state before each change since the first savepoint, in order */
    size_t undo_count, undo_capacity;
    size_t published;         /* ... how many of these changes a flush has published: they are forgotten */
    struct zs_node **retired; /* no longer in the table, but callers may hold pointers to them */
    size_t retired_count, retired_capacity;
};

/* Inserts an entry and takes over its contents; the lock is held. An existing entry stays, unless it has no node.
 * Returns the entry of the path; NULL without memory, when the entry still belongs to the caller. */
const struct zs_hierarchy_entry *zs_hierarchy_insert(struct zs_hierarchy *h, struct zs_hierarchy_entry entry);

/* Like zs_hierarchy_node(), for a clean path. Unless `guess_groups`, a directory without zarr.json that is not known to
 * be a group is ZS_NOT_FOUND. */
enum zs_status zs_hierarchy_find(struct zs_hierarchy *h, const char *path, bool guess_groups,
                                 const struct zs_node **node, struct zs_error *err) ZS_MUST_CHECK;

/* Lists the names directly below a path, as zs_store_list(): a name of a possible node ends in "/". */
enum zs_status zs_hierarchy_children(struct zs_hierarchy *h, const char *path, char ***names,
                                     struct zs_error *err) ZS_MUST_CHECK;

/* Adds the nodes of the root's consolidated metadata, if any, to the table, whose only entry is the root. */
enum zs_status zs_hierarchy_consolidate(struct zs_hierarchy *h, struct zs_error *err) ZS_MUST_CHECK;

/* Counts a look-up or a listing that failed. */
void zs_hierarchy_note_failure(struct zs_hierarchy *h, enum zs_status status, const char *message);

void zs_hierarchy_entry_free(struct zs_hierarchy_entry *entry);

/* Returns the node at a clean path if the table has it, else NULL. Neither reads the store nor takes the lock. */
const struct zs_node *zs_hierarchy_known(const struct zs_hierarchy *h, const char *path);

/* Finds the entries at and below a clean path: from *first to before *end. */
void zs_hierarchy_within(const struct zs_hierarchy *h, const char *path, size_t *first, size_t *end);

/* ---- hierarchy_edit.c ---- */

/* Returns a copy of a document without its consolidated metadata, which belong to other nodes; NULL without memory. */
zs_json *zs_document_own(const zs_json *document);
/* Replaces a stored document, whose content was `before`, by that of `node`; takes over both. The next flush merges the
 * differences into the stored document and lists the node in consolidated metadata. */
enum zs_status zs_hierarchy_relist(struct zs_hierarchy *h, struct zs_node *node, zs_json *before,
                                   struct zs_error *err) ZS_MUST_CHECK;

void zs_hierarchy_forget_listing(struct zs_hierarchy *h);

/* ---- savepoint.c ---- */

/* Remembers the state of a path (or of all paths at and below it) before a change. Does nothing when no savepoint is
 * open. */
enum zs_status zs_savepoint_note(struct zs_hierarchy *h, const char *path, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_savepoint_note_within(struct zs_hierarchy *h, const char *path, struct zs_error *err) ZS_MUST_CHECK;
/* Forgets the remembered states: the changes so far are published and cannot be undone. */
void zs_savepoint_forget(struct zs_hierarchy *h);
/* Forgets those at and below a path, whose removal is published. */
void zs_savepoint_forget_within(struct zs_hierarchy *h, const char *path);

/* ---- hierarchy_flush.c ---- */

/* Returns whether the root of the store is new and its document not written yet. */
bool zs_hierarchy_root_is_pending(const struct zs_hierarchy *h);
/* Reads the document at `path`; *document is NULL when the store has none. */
enum zs_status zs_document_load(struct zs_store *store, const char *path, zs_json **document,
                                struct zs_error *err) ZS_MUST_CHECK;
/* Like zs_hierarchy_flush(), for a caller that holds the lock of the root's document, or for a store without locks. */
enum zs_status zs_hierarchy_flush_locked(struct zs_hierarchy *h, struct zs_error *err) ZS_MUST_CHECK;
/* Removes the chunks of an array of one dimension, and leaves its document. */
enum zs_status zs_hierarchy_remove_chunks(const struct zs_hierarchy *h, const struct zs_node *node,
                                          struct zs_error *err) ZS_MUST_CHECK;
/* Publishes the pending removal of the node at `path`, if there is one, with all nodes below it: objects that are
 * created there before the next flush must not share the keys of the removed ones. */
enum zs_status zs_hierarchy_flush_removal(struct zs_hierarchy *h, const char *path, struct zs_error *err) ZS_MUST_CHECK;

/* ---- make.c ---- */

/* Removes the marks of arrays that were made here: they are published, or never will be. */
void zs_hierarchy_remove_marks(struct zs_hierarchy *h);

/* ---- recover.c: the caller holds the lock of the root's document ---- */

/* Writes a journal of the stored documents that are about to change in more than attributes, of new documents that
 * others refer to, and of documents that are to be removed. *is_put is false when there are none. */
enum zs_status zs_recovery_note_changes(const struct zs_hierarchy *h, bool *is_put, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_recovery_note_rename(struct zs_store *store, const char *from, const char *to,
                                       struct zs_error *err) ZS_MUST_CHECK;
/* Removes the journal. */
enum zs_status zs_recovery_done(struct zs_store *store, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_hierarchy_recover_locked(struct zs_store *store, struct zs_error *err) ZS_MUST_CHECK;

#endif
