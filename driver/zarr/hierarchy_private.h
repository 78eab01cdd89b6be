/* zarr/hierarchy_private.h: the table of nodes, shared by the files of the hierarchy. */
#ifndef ZS_ZARR_HIERARCHY_PRIVATE_H
#define ZS_ZARR_HIERARCHY_PRIVATE_H

#include <pthread.h>

#include "zarr/draft.h"
#include "zarr/hierarchy.h"
#include "zarr/name.h"

/* What is known about one path: its node, or why there is none. */
struct zs_hierarchy_entry {
    char *path;
    struct zs_node *node;  /* NULL: */
    enum zs_status status; /* ... ZS_NOT_FOUND, ZS_INVALID or ZS_UNSUPPORTED */
    char *message;         /* ... and the error's words */
};

/* What is to be written at the next flush (hierarchy_edit.c). */
enum zs_change_kind {
    ZS_CHANGE_ATTRIBUTES, /* of a node that is in the store */
    ZS_CHANGE_WHOLE,      /* a document that is new */
    ZS_CHANGE_REMOVED,    /* the node and all below it are to go */
    ZS_CHANGE_LEFT        /* ... from what lists them; the objects are not looked at */
};
struct zs_change {
    char *path;
    enum zs_change_kind kind;
    bool was_removed; /* what was at and below the path before is gone, even if something is there again */
    bool is_fresh;    /* ZS_CHANGE_WHOLE, where the store itself had nothing at or below the path */
    zs_json *before;  /* ZS_CHANGE_ATTRIBUTES: the attributes as they were before the first change; owned */
    zs_json *stated;  /* "shape" and "dimension_names" as they were before one of them changed, or NULL; owned */
    zs_json *written; /* the document as this flush wrote it, for the consolidated metadata above; owned */
};

struct zs_hierarchy {
    struct zs_store *store;
    bool is_consolidated; /* set before the hierarchy is handed out */
    bool is_draft;        /* set likewise: nodes are where `draft` has them, and nothing is written */
    struct zs_draft draft;
    bool is_new;          /* of a store that is being made: all that is in it was added here */
    pthread_mutex_t lock; /* for all below; never held during a request */
    struct zs_hierarchy_entry *entries; /* sorted by zs_path_compare: hostile names cannot make it slow, as a hash's */
    size_t count, capacity;
    const struct zs_node **listing; /* the answer of zs_hierarchy_list(), NULL before the first */
    size_t listing_count;

    /* Of one thread at a time, as all changing is. */
    struct zs_change *changes;
    size_t change_count;
    bool is_held; /* see zs_hierarchy_hold() */
    struct zs_node **retired; /* no longer in the table, but pointers to them may be about */
    size_t retired_count;
};

/* Order of paths in which what is below a group follows it directly. */
int zs_path_compare(const char *a, const char *b);

/* Puts an entry at its place and takes over what it points to; the lock is held. What is known already stays, unless it
 * is that nothing is there. Returns the entry for the path; NULL without memory, the entry then still the caller's. */
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

void zs_hierarchy_entry_free(struct zs_hierarchy_entry *entry);

/* What zs_hierarchy_restate() changes; ends with NULL. */
extern const char *const zs_stated_members[];

/* ---- hierarchy_edit.c ---- */

/* What is noted of a path; NULL where nothing is. */
struct zs_change *zs_change_find(const struct zs_hierarchy *h, const char *path);
bool zs_change_is_removal(enum zs_change_kind kind);

/* ---- hierarchy_flush.c ---- */

/* The document at `path` as the store has it now, NULL when it has none. */
enum zs_status zs_document_load(struct zs_store *store, const char *path, zs_json **document,
                                struct zs_error *err) ZS_MUST_CHECK;
void zs_change_clear(struct zs_change *change);
void zs_hierarchy_forget_changes(struct zs_hierarchy *h);

#endif
