/* zarr/hierarchy_private.h: the table of nodes, which the files of the hierarchy share. */
#ifndef ZS_ZARR_HIERARCHY_PRIVATE_H
#define ZS_ZARR_HIERARCHY_PRIVATE_H

#include <pthread.h>

#include "zarr/draft.h"
#include "zarr/hierarchy.h"
#include "zarr/name.h"
#include "zarr/pending_changes.h"

/* What is known of one path: its node, or why there is none. */
struct zs_hierarchy_entry {
    char *path;
    struct zs_node *node;  /* NULL: */
    enum zs_status status; /* ... ZS_NOT_FOUND, ZS_INVALID or ZS_UNSUPPORTED */
    char *message;         /* ... and the error's words */
    bool is_empty;         /* ZS_NOT_FOUND, and nothing below it either: see zs_hierarchy_note_empty() */
    uint64_t noted_in;     /* period of the savepoints (below) in which it was last noted */
};

struct zs_hierarchy {
    struct zs_store *store;
    bool is_consolidated; /* set before the hierarchy is handed out */
    bool has_beyond;      /* set likewise: consolidated metadata list what zs_hierarchy_list() does not */
    bool is_draft;        /* set likewise: nodes are where `draft` has them, and nothing is written */
    struct zs_draft draft;
    bool is_new;                        /* of a store that is being made: all that is in it was added here */
    pthread_mutex_t lock;               /* for all below; never held during a request */
    struct zs_hierarchy_entry *entries; /* sorted by zs_path_compare: hostile names cannot make it slow, as a hash's */
    size_t count, capacity;
    const struct zs_node **listing; /* the answer of zs_hierarchy_list(), NULL before the first */
    size_t listing_count;
    size_t failures;        /* look-ups that failed */
    enum zs_status failure; /* ... the last one's status */
    char *failure_message;  /* ... and message; NULL without memory for it */

    /* Of one thread at a time, as all changing is. */
    struct zs_pending_changes pending;
    bool is_deferred;             /* see zs_hierarchy_defer() */
    size_t savepoints;        /* that are open (savepoint.c): */
    uint64_t period;          /* ... a new one with each beginning, end and flush: in one, a path is noted once */
    struct zs_undo *undo;     /* ... what was changed since the first one, in order */
    size_t undo_count, undo_capacity;
    size_t published;         /* ... how many of them a flush has made lasting: those are forgotten */
    struct zs_node **retired; /* no longer in the table, but pointers to them may be about */
    size_t retired_count, retired_capacity;
};

/* Inserts an entry and takes over what it points to; the lock is held. An entry that is known already stays, unless it
 * says that nothing is there. Returns the entry for the path; NULL without memory: then the entry still belongs to the
 * caller. */
const struct zs_hierarchy_entry *zs_hierarchy_insert(struct zs_hierarchy *h, struct zs_hierarchy_entry entry);

/* The node at a clean path; as zs_hierarchy_node(), but unless `guess_groups` a directory without zarr.json, not known
 * to be a group, is ZS_NOT_FOUND. */
enum zs_status zs_hierarchy_find(struct zs_hierarchy *h, const char *path, bool guess_groups,
                                 const struct zs_node **node, struct zs_error *err) ZS_MUST_CHECK;

/* Names of what may be nodes directly below a path, each with a "/" behind it, among others without; as
 * zs_store_list(). */
enum zs_status zs_hierarchy_children(struct zs_hierarchy *h, const char *path, char ***names,
                                     struct zs_error *err) ZS_MUST_CHECK;

/* Fills the table, whose only entry is the root, from the root's consolidated metadata, if there are any. */
enum zs_status zs_hierarchy_consolidate(struct zs_hierarchy *h, struct zs_error *err) ZS_MUST_CHECK;

/* Counts a look-up, or a listing, that failed. */
void zs_hierarchy_note_failure(struct zs_hierarchy *h, enum zs_status status, const char *message);

void zs_hierarchy_entry_free(struct zs_hierarchy_entry *entry);

/* The node at a clean path, if the table has it, else NULL. The store is not read, and the lock is not taken. */
const struct zs_node *zs_hierarchy_known(const struct zs_hierarchy *h, const char *path);

/* The entries at and below a clean path: *first to the one before *end. */
void zs_hierarchy_within(const struct zs_hierarchy *h, const char *path, size_t *first, size_t *end);

/* ---- hierarchy_edit.c ---- */

/* A copy of a document without consolidated metadata, which are not its own; NULL without memory. */
zs_json *zs_document_own(const zs_json *document);
/* Puts a node, which is taken over, in the place of a stored document, which was `before` (taken over): the next flush
 * writes what differs to the document, and the node to consolidated metadata. */
enum zs_status zs_hierarchy_relist(struct zs_hierarchy *h, struct zs_node *node, zs_json *before,
                                   struct zs_error *err) ZS_MUST_CHECK;

void zs_hierarchy_forget_listing(struct zs_hierarchy *h);

/* ---- savepoint.c ---- */

/* Remembers the state of a path, or of all at and below it, before it is changed; nothing where no savepoint is
 * open. */
enum zs_status zs_savepoint_note(struct zs_hierarchy *h, const char *path, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_savepoint_note_within(struct zs_hierarchy *h, const char *path, struct zs_error *err) ZS_MUST_CHECK;
/* What was changed so far is published: it is not taken back. */
void zs_savepoint_forget(struct zs_hierarchy *h);

/* ---- hierarchy_flush.c ---- */

/* Whether the root of the store is still to be written. */
bool zs_hierarchy_root_is_pending(const struct zs_hierarchy *h);
/* Reads the document at `path`; NULL when the store has none. */
enum zs_status zs_document_load(struct zs_store *store, const char *path, zs_json **document,
                                struct zs_error *err) ZS_MUST_CHECK;
/* Like zs_hierarchy_flush(), with the lock of the root's document held, or without locks. */
enum zs_status zs_hierarchy_flush_locked(struct zs_hierarchy *h, struct zs_error *err) ZS_MUST_CHECK;
/* Removes the node at `path` and all below it from the store now, if a removal is pending: what is created there before
 * the next flush must not share its keys. */
enum zs_status zs_hierarchy_flush_removal(struct zs_hierarchy *h, const char *path, struct zs_error *err) ZS_MUST_CHECK;

/* ---- recover.c, by who has the lock of the root's document ---- */

/* Writes a journal of the stored documents that are about to change in more than attributes, and of new ones that
 * consolidated metadata are to list; *is_put: there are some. */
enum zs_status zs_recovery_note_changes(const struct zs_hierarchy *h, bool *is_put, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_recovery_note_rename(struct zs_store *store, const char *from, const char *to,
                                       struct zs_error *err) ZS_MUST_CHECK;
/* Removes the journal. */
enum zs_status zs_recovery_done(struct zs_store *store, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_hierarchy_recover_locked(struct zs_store *store, struct zs_error *err) ZS_MUST_CHECK;

#endif
