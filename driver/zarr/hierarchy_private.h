/* zarr/hierarchy_private.h: the table of nodes, shared by the files of the hierarchy. */
#pragma once

#include <pthread.h>

#include "zarr/draft.h"
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
    char *left_out;       /* the first name that no path may have (name.h), which is not listed; NULL: none */
    struct zs_store *draft; /* `store` before one of the draft, owned; NULL: it is another one */
    bool is_new;                        /* the store is being created: it holds only nodes that were added here */
    pthread_mutex_t lock;               /* for all members below; never held during a request */
    struct zs_hierarchy_entry *entries; /* sorted by zs_path_compare: hostile names cannot slow it down, unlike a
                                           hash table */
    size_t count, capacity;
    bool is_walked;         /* the table has all nodes of the store */
    size_t failures;        /* look-ups that failed */
    enum zs_status failure; /* ... the last one's status */
    char *failure_message;  /* ... and message; NULL without memory for it */

    /* Used by one thread at a time, like all functions that change documents. */
    struct zs_names replaced; /* keys of chunks that no document refers to after the flush */
    bool is_deferred;         /* see zs_hierarchy_defer() */
    bool is_committed;        /* a flush has begun to write documents: if it fails, the next writer finishes it */
    size_t edits;             /* changes so far */
    enum zs_status ended;     /* not ZS_OK: why nothing is changed or flushed any more */
    char *end_message;        /* ... NULL without memory for it */
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

/* ZS_NOT_FOUND for a path. */
enum zs_status zs_hierarchy_fail_absent(const struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err);

void zs_hierarchy_entry_free(struct zs_hierarchy_entry *entry);

/* Returns the node at a clean path if the table has it, else NULL. Neither reads the store nor takes the lock. */
const struct zs_node *zs_hierarchy_known(const struct zs_hierarchy *hierarchy, const char *path);

/* Returns the entry of a clean path; NULL when the table has none. */
struct zs_hierarchy_entry *zs_hierarchy_entry_at(const struct zs_hierarchy *hierarchy, const char *path);
/* Finds the entries at and below a clean path: from *first to before *end. */
void zs_hierarchy_within(const struct zs_hierarchy *hierarchy, const char *path, size_t *first, size_t *end);

/* Whether entry number `i` of the table is a node that a list has: not a directory without nodes, which was guessed to
 * be a group as it was named. */
bool zs_hierarchy_is_listed(const struct zs_hierarchy *hierarchy, size_t i);

/* ---- Pending changes (hierarchy_edit.c) ---- */

/* Whether the removal of the node at a path, or of one above it, is pending: the store still has it. With `or_new` also
 * whether one there is new: its path was cleared. */
bool zs_hierarchy_hides(const struct zs_hierarchy *hierarchy, const char *path, bool or_new);
/* Whether the root of the store is new and its document not written yet. */
bool zs_hierarchy_root_is_pending(const struct zs_hierarchy *hierarchy);
/* Puts a node, which it takes over, into the table, and retires the node at the same path. Notes no change. */
enum zs_status zs_hierarchy_put_node(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err);
/* Removes the node from an entry, which then has status ZS_NOT_FOUND. */
enum zs_status zs_hierarchy_vacate(struct zs_hierarchy *hierarchy, struct zs_hierarchy_entry *entry,
                                   struct zs_error *err);
/* Ends the hierarchy: all that changes or flushes it fails with this from now on. */
void zs_hierarchy_end(struct zs_hierarchy *hierarchy, enum zs_status status, const char *message);
/* Checks that a new node may be at a path: ZS_ARGUMENT where one is (make.c). */
enum zs_status zs_hierarchy_check_free(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err);
/* ---- Edits: pending changes as JSON (edits.c) ---- */

/* A node that an edit changes or removes, or a group above one. */
struct zs_edit_item {
    char *path;
    zs_json *edit;     /* of the list; NULL: only its consolidated metadata may change */
    size_t depth;      /* number of names in the path */
    bool goes;         /* it is removed, and what is stored is what was to be */
    zs_json *document; /* as it is to be; NULL: there is none */
    char *text;        /* NULL: it is stored like this */
    char *etag;        /* of the document that was read, "" when there was none; NULL: unknown */
};

/* The documents of a list of edits. */
struct zs_edit_work {
    struct zs_store *store;
    zs_json *edits;                /* borrowed */
    const struct zs_hierarchy *of; /* whose changes they are; NULL: of a journal, where an edit that is not possible any
                                      more is left out */
    bool is_new;                   /* the root is among the new documents: nothing is read */
    struct zs_edit_item *items;    /* in the order of writing */
    size_t count, capacity;
    bool has_conflict; /* a document was built again: so are those above it */
};

/* Makes the list of all pending changes. NULL without memory. */
zs_json *zs_edits_make(const struct zs_hierarchy *hierarchy);
const char *zs_edit_path(const zs_json *edit);
/* Builds all documents of work->edits in memory, and notes in it the documents that go. ZS_INVALID, naming the node,
 * where another writer made that impossible. */
enum zs_status zs_edits_build(struct zs_edit_work *work, struct zs_error *err);
/* Puts what was built, each over the version that was read, else built again. */
enum zs_status zs_edits_put(struct zs_edit_work *work, struct zs_error *err);
void zs_edits_free(struct zs_edit_work *work);

/* ---- Writing them (flush.c) ---- */

/* Takes the lock of the root's document, where there are locks, and does what a journal tells: after that the store is
 * as its maker wanted it. */
enum zs_status zs_hierarchy_enter(struct zs_store *store, struct zs_lock **lock, struct zs_error *err);
