/* zarr/hierarchy_private.h: the table of nodes, shared by the files of the hierarchy. */
#pragma once

#include <pthread.h>

#include "zarr/draft.h"
#include "zarr/hierarchy.h"
#include "zarr/name.h"

/* What the next flush does with the document of a path (flush.c). The node in the table has the new document. */
struct zs_change {
    enum { ZS_CHANGE_EDIT, ZS_CHANGE_NEW, ZS_CHANGE_REMOVED } kind;
    zs_json *before;          /* the document before the first change, without consolidated metadata; NULL: none */
    bool may_be_gone;         /* EDIT: the stored document may be absent (replaced node, or implicit group) */
    bool was_removed;         /* REMOVED, and NEW at such a path: nodes that are stored at and below it go */
    bool is_sent;             /* a flush has begun to write it: it may be stored, even if that flush failed */
    const struct zs_node *replaced; /* the array whose chunks, under other keys, the flush removes; NULL: none;
                                       borrowed from the hierarchy */
};

/* The result of looking up one path: its node, or the reason why there is none. */
struct zs_hierarchy_entry {
    char *path;
    struct zs_node *node;  /* NULL: */
    enum zs_status status; /* ... ZS_NOT_FOUND, ZS_INVALID or ZS_UNSUPPORTED */
    char *message;         /* ... and the error message */
    struct zs_change *change; /* pending; NULL: none */
};

/* The state of a path before a change that was made while a savepoint was open (hierarchy_edit.c). */
struct zs_undo {
    char *path;
    bool was_known, was_implicit, had_change;
    struct zs_node *node;    /* NULL: there was none */
    zs_json *attributes;     /* a copy; NULL: the document had none */
    struct zs_change change; /* borrows `before` from the change itself */
};

struct zs_hierarchy {
    struct zs_store *store;
    bool is_consolidated; /* set before the hierarchy is returned */
    char *left_out;       /* the first name that no path may have (name.h), which is not listed; NULL: none */
    bool has_beyond;      /* set likewise: consolidated metadata list nodes beyond the limits of zs_hierarchy_list() */
    struct zs_store *draft; /* `store` before one of the draft, owned; NULL: it is another one */
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
    struct zs_names marks;    /* of arrays that are not published: keys (make.c) */
    bool is_deferred;         /* see zs_hierarchy_defer() */
    struct zs_undo *undo;     /* of open savepoints, in the order of the changes */
    size_t undo_count, undo_capacity;
    size_t published;         /* states that were forgotten since a flush wrote the changes */
    size_t savepoints;        /* how many are open: without any, nothing is noted */
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

/* ---- Pending changes (hierarchy_edit.c) ---- */

/* Returns the pending change of a path; NULL when there is none. */
struct zs_change *zs_change_at(const struct zs_hierarchy *hierarchy, const char *path);
/* Returns the pending change that hides what the store has at `path`: the removal of the node there or above, or a new
 * node, for which the path was cleared. NULL: there is none. */
const struct zs_change *zs_change_above(const struct zs_hierarchy *hierarchy, const char *path);
/* Whether the root of the store is new and its document not written yet. */
bool zs_hierarchy_root_is_pending(const struct zs_hierarchy *hierarchy);
/* Whether chunks of the node, which replaced another array, have other keys than those of that array. */
bool zs_change_has_new_keys(const struct zs_change *change, const struct zs_node *node);
/* Forgets the pending changes, and what savepoints could undo: they are published. */
void zs_changes_clear(struct zs_hierarchy *hierarchy);
/* Puts a node, which it takes over, into the table, and retires the node at the same path. Notes no change. */
enum zs_status zs_hierarchy_put_node(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err);
/* Removes the node from an entry, which then has status ZS_NOT_FOUND. */
enum zs_status zs_hierarchy_vacate(struct zs_hierarchy *hierarchy, struct zs_hierarchy_entry *entry,
                                   struct zs_error *err);
void zs_hierarchy_forget_listing(struct zs_hierarchy *hierarchy);
/* Removes the marks of arrays that were made here: they are published, or never will be (make.c). */
void zs_hierarchy_remove_marks(struct zs_hierarchy *hierarchy);

/* ---- Edits: pending changes as JSON (edits.c) ---- */

/* A document that may be written. */
struct zs_edit_item {
    char *path;
    const zs_json *edit; /* borrowed; NULL: only its consolidated metadata may change */
    size_t depth;        /* number of names in the path */
    zs_json *document;   /* as it is to be; NULL: there is none */
    char *text;          /* NULL: it is stored like this */
    char *etag;          /* of the document that was read, "" when there was none; NULL: unknown */
};

/* The documents of a list of edits. */
struct zs_edit_work {
    struct zs_store *store;
    const zs_json *edits;
    const struct zs_hierarchy *of; /* whose changes they are; NULL: of a journal, where an edit that is not possible any
                                      more is left out */
    bool is_new;                   /* the root is among the new documents: nothing is read */
    struct zs_edit_item *items; /* in the order of writing */
    size_t count, capacity;
    bool has_conflict; /* a document was built again: so are those above it */
};

/* Makes the list of all pending changes; of a tree that goes only the node at its top. NULL without memory. */
zs_json *zs_edits_make(const struct zs_hierarchy *hierarchy);
const char *zs_edit_path(const zs_json *edit);
/* Whether an edit is of a document that stays at its path. */
bool zs_edit_has_document(const zs_json *edit);
/* Builds all documents of work->edits in memory. ZS_INVALID, naming the node, where another writer made that
 * impossible. */
enum zs_status zs_edits_build(struct zs_edit_work *work, struct zs_error *err);
/* Puts what was built, each over the version that was read, else built again. */
enum zs_status zs_edits_put(struct zs_edit_work *work, struct zs_error *err);
void zs_edits_free(struct zs_edit_work *work);
/* Returns consolidated metadata in which a path, and all below it, has another name; NULL without memory. */
zs_json *zs_listing_renamed(const zs_json *consolidated, const char *from, const char *to);

/* ---- Writing them (flush.c) ---- */

/* Flushes if the removal of the node at `path` is pending: objects that are created there must not share the keys of
 * those of the removed one. */
enum zs_status zs_hierarchy_flush_removal(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err);
/* Does what a journal tells, if there is one, and removes it: after that the store is as its maker wanted it. */
enum zs_status zs_edits_redo(struct zs_store *store, struct zs_error *err);
/* Renames the node at `from`, with all below it, in a store whose root is stored. */
enum zs_status zs_edits_rename(struct zs_store *store, const char *from, const char *to, bool is_implicit,
                               struct zs_error *err);
