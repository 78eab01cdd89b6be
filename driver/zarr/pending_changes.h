/* zarr/pending_changes.h: the changes that the next flush of a hierarchy writes: nodes whose documents were edited,
 * added or removed in memory, and the one rule that merges a change into the document that is stored by then. */
#ifndef ZS_ZARR_PENDING_CHANGES_H
#define ZS_ZARR_PENDING_CHANGES_H

#include "zarr/node.h"

/* Compares paths. Paths below a group follow it directly in this order. */
int zs_path_compare(const char *a, const char *b);
/* Returns the position of the first of `count` entries of `size` bytes, sorted in this order, whose path is not before
 * `path`. */
typedef const char *(*zs_path_of_fn)(const void *entry);
size_t zs_path_position(const void *list, size_t count, size_t size, zs_path_of_fn path_of, const char *path);

enum zs_change_kind {
    ZS_CHANGE_EDIT,    /* an edit of a stored document */
    ZS_CHANGE_NEW,     /* a new document */
    ZS_CHANGE_REMOVED, /* removal of a node and all nodes below it */
    ZS_CHANGE_UNLISTED     /* ... from consolidated metadata only; the objects stay */
};
struct zs_change {
    char *path;
    enum zs_change_kind kind;
    size_t number;    /* ZS_CHANGE_REMOVED: counts removals, in their order */
    bool was_removed; /* stored nodes at and below the path are removed, even if a node is added there again */
    bool is_fresh;    /* ZS_CHANGE_NEW: the store held nothing at or below the path */
    bool may_be_gone; /* ZS_CHANGE_EDIT: the stored document may be absent (replaced node, or implicit group) */
    const struct zs_node *replaced; /* the replaced array, whose chunks are removed; NULL: none; borrowed from the
                                       hierarchy */
    int rank;         /* order among documents of one depth: see zs_hierarchy_put_last() */
    bool is_sent;     /* a flush has sent the document: it may be stored, even if that flush failed */
    bool is_stored;   /* ... and it was stored */
    bool is_put;      /* ... by the flush that runs */
    zs_json *before;  /* ZS_CHANGE_EDIT: the document as read, without consolidated metadata; owned */
    bool is_copy;     /* ... `before` comes from consolidated metadata, which may be older than the zarr.json: */
    zs_json *own;     /* ... the zarr.json itself; NULL while only attributes change; owned */
    zs_json *tried;   /* the document as a flush that failed tried to store it; NULL: there was none; owned */
    zs_json *written; /* the document as this flush writes it, for consolidated metadata above; owned */
    zs_json *loaded;  /* ... and as this flush read it; NULL: there was none; owned */
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
/* Returns a copy of a change, without the results of a flush; NULL without memory. Released with zs_change_free(). */
struct zs_change *zs_change_copy(const struct zs_change *change);
void zs_change_free(struct zs_change *change); /* NULL is allowed */
/* Replaces the change of a path by `change`, which is taken over; NULL removes it. */
void zs_changes_put(struct zs_pending_changes *changes, const char *path, struct zs_change *change);
/* Returns whether pending changes hide all that the store has at `path`: a removal is pending, or a group above is new
 * and nothing was stored there. */
bool zs_changes_hide(const struct zs_pending_changes *changes, const char *path);
bool zs_change_is_removal(const struct zs_change *change);
/* Returns whether chunks of the node, which replaced another array, have other keys than those of that array. */
bool zs_change_has_new_keys(const struct zs_change *change, const struct zs_node *node);
/* Returns whether an edit changes more than attributes. */
bool zs_change_is_structural(const struct zs_change *change, const struct zs_node *node);

/* The one rule: merges the difference between `before` and the node's present document into *theirs, the stored
 * document (NULL: none). ZS_INVALID, naming the node, when the stored document is gone, was added meanwhile, or has
 * another value of a changed member. *is_changed: *theirs must be written. */
enum zs_status zs_change_merge(zs_json **theirs, const struct zs_node *node, const struct zs_change *change,
                               bool *is_changed, struct zs_error *err) ZS_MUST_CHECK;

#endif
