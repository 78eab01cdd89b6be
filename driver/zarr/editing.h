/* zarr/editing.h: how metadata are edited. This is the manual; each part below names its file.
 *
 * An edit changes nodes in memory, and notes for each path one change (struct zs_change). A flush writes the changes.
 *
 *   what is pending     edit       add        remove     savepoint undone   flush      flush that failed
 *   nothing             EDIT       NEW        REMOVED    -                  -          -
 *   EDIT                EDIT       EDIT       REMOVED    as it was          nothing    EDIT, `tried`
 *   NEW                 NEW        NEW        REMOVED    as it was          nothing    NEW, `is_sent`, `tried`
 *   REMOVED             -          NEW        REMOVED    as it was          nothing    REMOVED
 *
 * Removing drops what is pending below. A NEW at the path of a REMOVED keeps `was_removed`: the flush first takes all
 * that is listed there out of consolidated metadata. UNLISTED is a REMOVED whose objects stay, for a rename.
 *
 * A flush takes these steps (hierarchy_flush.c). Stores with locks (local disks) have a journal (edit_journal.h): the
 * next writer who takes the lock finds it, knows by the lock that its writer is dead, and finishes or undoes the flush
 * (recover.c). Object stores have neither: there, what a kill leaves stays until the node is edited again.
 *
 *   step                                         a kill after it leaves        and the next writer
 *   1 the lock of the root's document is taken   the store as it was
 *   2 the journal of a dead writer is finished   the store as it was
 *   3 the journal is put                         the store as it was, and      does all edits and removals; but
 *                                                the journal                   with new nodes, only those edits
 *                                                                              that do not need them
 *   4 all documents are built in memory          as 3                          as 3
 *   5 documents of removed nodes go, where       nodes without a document      does all
 *     they go first (removes_first())
 *   6 new documents are put, before those that   some new documents            as 3, and removes them again; does
 *     refer to them                                                            all once all of them are there
 *   7 edited documents are put, groups behind    some edits                    does all
 *     their members, the root's last
 *   8 objects of removed nodes, and chunks of    objects that no document      removes them
 *     replaced arrays, go                        names
 *   9 the journal goes, then lock and marks      the store as it shall be
 *
 * Finished are only documents that are as the dead writer left them. What another writer changed since stays, and is
 * what consolidated metadata list. A flush that fails before it has removed or edited a document removes its journal:
 * it returned the error, and no writer finishes it later. A flush that fails after that leaves the journal. After both,
 * everything stays pending, and the next flush of this hierarchy writes all again.
 *
 * One rule merges a change into the document that is stored by then (change_merge.c): what changed since it was read is
 * put over what is there now; what is not there any more is not brought back. So a second writer loses nothing, locks
 * or not. Where the store holds a PUT to the version that was read, a conflict builds the document again. */
#pragma once

#include "zarr/hierarchy.h"

/* ---- Pending changes (pending_changes.c) ---- */

enum zs_change_kind {
    ZS_CHANGE_EDIT,    /* of a stored document */
    ZS_CHANGE_NEW,     /* a new document */
    ZS_CHANGE_REMOVED, /* a node and all nodes below it go */
    ZS_CHANGE_UNLISTED /* ... from consolidated metadata only: the objects stay */
};

/* The change of a path. Documents are owned, and without consolidated metadata but for `written`. */
struct zs_change {
    char *path;
    enum zs_change_kind kind;
    bool was_removed; /* stored nodes at and below the path are removed, even if a node is added there again */
    size_t number;    /* ZS_CHANGE_REMOVED: counts removals, in their order */
    bool is_fresh;    /* ZS_CHANGE_NEW: the store held nothing at or below the path */
    bool may_be_gone; /* ZS_CHANGE_EDIT: the stored document may be absent (replaced node, or implicit group) */
    int rank;         /* order among documents of one depth: see zs_hierarchy_put_last() */
    const struct zs_node *replaced; /* the array whose chunks, under other keys, the flush removes; NULL: none;
                                       borrowed from the hierarchy */

    /* Documents from which the change is merged; the node has the present one. */
    zs_json *before; /* ZS_CHANGE_EDIT: as it was read */
    bool is_copy;    /* ... from consolidated metadata, which may be older than the zarr.json: */
    zs_json *own;    /* ... the zarr.json itself; NULL while only attributes change */
    zs_json *tried;  /* as a flush that failed tried to store it; NULL: none did */

    /* What flushes did. */
    bool is_sent;     /* a flush has sent the document: it may be stored, even if that flush failed */
    bool is_stored;   /* ... and it was stored */
    bool is_put;      /* ... by the flush that runs */
    zs_json *loaded;  /* the document as that flush read it; NULL: there was none */
    zs_json *written; /* ... and as it writes it, for consolidated metadata above */
};

/* Changes by path, one each, sorted by zs_path_compare(). */
struct zs_pending_changes {
    struct zs_change **list;
    size_t count, capacity;
    size_t removals; /* counter of removals */
};

/* Returns the change of a path; NULL when there is none. */
struct zs_change *zs_changes_find(const struct zs_pending_changes *changes, const char *path);
/* Returns the change of a path, adding an empty edit when there is none; NULL without memory. */
struct zs_change *zs_changes_note(struct zs_pending_changes *changes, const char *path);
/* Finds the changes at and below a path: from *first to before *end. */
void zs_changes_within(const struct zs_pending_changes *changes, const char *path, size_t *first, size_t *end);
/* Drops the changes at and below a path, or all changes. */
void zs_changes_forget(struct zs_pending_changes *changes, const char *path);
void zs_changes_clear(struct zs_pending_changes *changes);
/* Replaces the change of a path by `change`, which is taken over; NULL removes it. */
void zs_changes_put(struct zs_pending_changes *changes, const char *path, struct zs_change *change);

/* Returns a copy of a change, without the results of a flush; NULL without memory. Released with zs_change_free(). */
struct zs_change *zs_change_copy(const struct zs_change *change);
void zs_change_free(struct zs_change *change); /* NULL is allowed */

bool zs_change_is_removal(const struct zs_change *change);
/* Returns whether chunks of the node, which replaced another array, have other keys than those of that array. */
bool zs_change_has_new_keys(const struct zs_change *change, const struct zs_node *node);
/* Returns the pending removal (ZS_CHANGE_REMOVED) of a path or of a group above it; NULL when there is none, or without
 * memory. */
const struct zs_change *zs_changes_removal_of(const struct zs_pending_changes *changes, const char *path);
/* Returns whether pending changes hide all that the store has at `path`: a removal is pending, or a group above is new
 * and nothing was stored there. */
bool zs_changes_hide(const struct zs_pending_changes *changes, const char *path);
/* Returns whether the root of the store is new and its document not written yet. */
bool zs_hierarchy_root_is_pending(const struct zs_hierarchy *hierarchy);

/* ---- The one rule (change_merge.c) ---- */

/* Merges the difference between `before` and the node's present document into *theirs, the stored document (NULL:
 * none). ZS_INVALID, naming the node, when the stored document is gone, was added meanwhile, or has another value of a
 * changed member. *is_changed: *theirs must be written. */
enum zs_status zs_change_merge(zs_json **theirs, const struct zs_node *node, const struct zs_change *change,
                               bool *is_changed, struct zs_error *err);
/* Returns whether an edit changes more than attributes. */
bool zs_change_is_structural(const struct zs_change *change, const struct zs_node *node);
/* Returns whether another writer changed an attribute of a stored document that an edit (before, after) changes: it is
 * as neither of them. */
bool zs_edit_is_outdated(const zs_json *stored, const zs_json *before, const zs_json *after);

/* ---- Editing (hierarchy_edit.c) ---- */

/* Replaces a stored document by that of `node`, which is taken over, also on failure. `before` is what it was, for the
 * rule, and `own` as in struct zs_change (NULL: `before` is the zarr.json itself); both are copied. The next flush
 * merges the differences into the stored document and lists the node in consolidated metadata. */
enum zs_status zs_hierarchy_relist(struct zs_hierarchy *hierarchy, struct zs_node *node, const zs_json *before,
                                   const zs_json *own, struct zs_error *err);
void zs_hierarchy_forget_listing(struct zs_hierarchy *hierarchy);

/* Removes the marks of arrays that were made here: they are published, or never will be (make.c). */
void zs_hierarchy_remove_marks(struct zs_hierarchy *hierarchy);

/* ---- Savepoints (savepoint.c) ---- */

/* The state of each path before it was changed, in the order of the changes. */
struct zs_undo_log {
    struct zs_undo *list;
    size_t count, capacity;
    size_t published;  /* how many states are forgotten, because a flush has published the changes */
    size_t savepoints; /* how many are open: without any, nothing is noted */
    uint64_t period;   /* a new one at each beginning, end and flush: a path is noted once per period */
};

/* Remembers the state of a path (or of all paths at and below it) before a change. Does nothing when no savepoint is
 * open. */
enum zs_status zs_savepoint_note(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err);
enum zs_status zs_savepoint_note_within(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err);
/* Forgets the remembered states: the changes so far are published and cannot be undone. */
void zs_savepoint_forget(struct zs_hierarchy *hierarchy);
/* Forgets those at and below a path, whose removal is published. */
void zs_savepoint_forget_within(struct zs_hierarchy *hierarchy, const char *path);

/* ---- Flushing (hierarchy_flush.c) ---- */

/* Like zs_hierarchy_flush() from step 4 to 8, without a journal: for a caller that holds the lock of the root's
 * document, or for a store without locks. */
enum zs_status zs_hierarchy_flush_locked(struct zs_hierarchy *hierarchy, struct zs_error *err);
/* Publishes the pending removal of the node at `path`, if there is one, with all nodes below it: objects that are
 * created there before the next flush must not share the keys of the removed ones. */
enum zs_status zs_hierarchy_flush_removal(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err);
/* Removes the chunks of an array of one dimension, and leaves its document. */
enum zs_status zs_hierarchy_remove_chunks(const struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                          struct zs_error *err);

/* Updates the inline consolidated metadata in the document of the group at `path` with the changes below it
 * (consolidated.c). Empty metadata count as unused, and stay empty unless they were used until now: a first entry would
 * hide all nodes that they do not list. *is_changed: the document must be written. *needs_update: update it again when
 * all documents below are written. */
enum zs_status zs_consolidated_update(const struct zs_hierarchy *hierarchy, const char *path, zs_json *document,
                                      bool *is_changed, bool *needs_update, struct zs_error *err);

/* ---- Recovery (recover.c) ---- */

/* Like zs_hierarchy_recover(), for a caller that holds the lock of the root's document. A journal that cannot be
 * finished now (no answer, no memory) stays for the next writer. */
enum zs_status zs_hierarchy_recover_locked(struct zs_store *store, struct zs_error *err);
