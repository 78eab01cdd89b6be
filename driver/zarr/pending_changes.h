/* zarr/pending_changes.h: what is to be written at the next flush of a hierarchy: the nodes whose documents were
 * changed, added or removed in memory, and the one rule by which a change is put over what the store has by then. */
#ifndef ZS_ZARR_PENDING_CHANGES_H
#define ZS_ZARR_PENDING_CHANGES_H

#include "zarr/node.h"

/* Order of paths in which what is below a group follows it directly. */
int zs_path_compare(const char *a, const char *b);
/* The first of `count` entries of `size` bytes, sorted so, whose path is not before `path`. */
typedef const char *(*zs_path_of_fn)(const void *entry);
size_t zs_path_position(const void *list, size_t count, size_t size, zs_path_of_fn path_of, const char *path);

enum zs_change_kind {
    ZS_CHANGE_EDIT,    /* of the document of a node that is in the store */
    ZS_CHANGE_NEW,     /* a document where nothing is */
    ZS_CHANGE_REMOVED, /* the node and all below it are to go */
    ZS_CHANGE_UNLISTED     /* ... from what lists them; the objects are not looked at */
};
struct zs_change {
    char *path;
    enum zs_change_kind kind;
    size_t number;    /* ZS_CHANGE_REMOVED: in the order in which nodes were removed */
    bool was_removed; /* what was at and below the path before goes, even if something is added there again */
    bool is_fresh;    /* ZS_CHANGE_NEW, where the store itself had nothing at or below the path */
    bool may_be_gone; /* ZS_CHANGE_EDIT: replaced by another document, or the group had no document */
    const struct zs_node *replaced; /* the array whose chunks are to go; NULL: none; borrowed from the hierarchy */
    int rank;         /* among documents as deep: see zs_hierarchy_put_last() */
    bool is_put;      /* written by a flush that failed later */
    zs_json *before;  /* ZS_CHANGE_EDIT: the document as it was read, but for consolidated metadata; owned */
    bool is_copy;     /* ... from consolidated metadata above, which may be older than the node's own zarr.json: */
    zs_json *own;     /* ... that one, NULL as long as nothing but attributes changes; owned */
    zs_json *written; /* the document as this flush writes it, for the consolidated metadata above; owned */
    zs_json *loaded;  /* ... and as it was read for that; NULL: it was not there; owned */
};

/* One for each path, sorted by zs_path_compare(): what is below a group follows it directly. */
struct zs_pending_changes {
    struct zs_change **list;
    size_t count, capacity;
    size_t removals; /* so far */
};

/* The change of a path; NULL where there is none. */
struct zs_change *zs_changes_find(const struct zs_pending_changes *changes, const char *path);
/* The change of a path, added as an empty edit where there is none; NULL without memory. */
struct zs_change *zs_changes_note(struct zs_pending_changes *changes, const char *path);
/* The changes at and below a path: *first to the one before *end. */
void zs_changes_within(const struct zs_pending_changes *changes, const char *path, size_t *first, size_t *end);
/* Forgets them. */
void zs_changes_forget(struct zs_pending_changes *changes, const char *path);
void zs_changes_clear(struct zs_pending_changes *changes);
/* A copy of a change, without what a flush made of it; NULL without memory. Released with zs_change_free(). */
struct zs_change *zs_change_copy(const struct zs_change *change);
void zs_change_free(struct zs_change *change); /* NULL is allowed */
/* Makes `change` (taken over) that of its path; NULL: there is none. */
void zs_changes_put(struct zs_pending_changes *changes, const char *path, struct zs_change *change);
/* Whether nothing that the store has at `path` counts: it is to be removed, or there was nothing when the group above
 * was added. */
bool zs_changes_hide(const struct zs_pending_changes *changes, const char *path);
bool zs_change_is_removal(const struct zs_change *change);
/* Whether a change is of more than attributes. */
bool zs_change_is_structural(const struct zs_change *change, const struct zs_node *node);

/* The one rule: what changed from `before` to `ours` is put over *theirs, what the store has now (NULL: nothing).
 * ZS_INVALID, which names the node, where that is not there any more, or came meanwhile, or says something else of a
 * member that changed. *is_changed: *theirs is to be written. */
enum zs_status zs_change_merge(zs_json **theirs, const struct zs_node *node, const struct zs_change *change,
                               bool *is_changed, struct zs_error *err) ZS_MUST_CHECK;

#endif
