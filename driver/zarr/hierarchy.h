/* zarr/hierarchy.h: the nodes of a store, found by path; each is read once and kept. */
#ifndef ZS_ZARR_HIERARCHY_H
#define ZS_ZARR_HIERARCHY_H

#include "store/store.h"
#include "zarr/name.h"
#include "zarr/node.h"

struct zs_hierarchy;

/* Reads the root zarr.json of a store, also one of the draft (draft.h), whose nodes are then found as the draft has
 * them. With use_consolidated, inline consolidated metadata of the root, unless null or empty, answer for the whole
 * store without a request: what they do not list, and no listed path lies below, is not there. Entries whose keys are
 * no paths are ignored; an entry that is no node gives its error to whoever asks for it. ZS_NOT_FOUND when there is no
 * zarr.json at the root. The store is borrowed. */
enum zs_status zs_hierarchy_open(struct zs_store *store, bool use_consolidated, struct zs_hierarchy **h,
                                 struct zs_error *err) ZS_MUST_CHECK;
/* Like zs_hierarchy_open(), with the text of the root zarr.json at hand; messages do not name its location. */
enum zs_status zs_hierarchy_open_text(struct zs_store *store, const char *text, size_t size, bool use_consolidated,
                                      struct zs_hierarchy **h, struct zs_error *err) ZS_MUST_CHECK;
/* The hierarchy of a store that is being created: it has the nodes that are added to it, first of all its root. The
 * store is not read. */
enum zs_status zs_hierarchy_create(struct zs_store *store, struct zs_hierarchy **h, struct zs_error *err) ZS_MUST_CHECK;
void zs_hierarchy_free(struct zs_hierarchy *h);

struct zs_store *zs_hierarchy_store(const struct zs_hierarchy *h);

/* Whether consolidated metadata of the root are in use. */
bool zs_hierarchy_is_consolidated(const struct zs_hierarchy *h);

/* The node at `path` ("" is the root; leading and trailing slashes are ignored), borrowed until the hierarchy is freed.
 * ZS_NOT_FOUND when there is none. What is no path inside the store (name.h) is ZS_INVALID. One request at most (two of
 * the draft) for each path, whatever the answer; only what failed is asked again: no answer, or a damaged document
 * (ZS_CORRUPT). A directory without zarr.json that has directories is an implicit group, in stores where listing is
 * cheap (not remote). */
enum zs_status zs_hierarchy_node(struct zs_hierarchy *h, const char *path, const struct zs_node **node,
                                 struct zs_error *err) ZS_MUST_CHECK;

/* How many look-ups and listings failed so far: a store gave no answer, or a document is damaged. Functions that
 * read metadata take what they do not find as absent; who calls them compares this count, so that a failure is never
 * absence. */
size_t zs_hierarchy_failures(struct zs_hierarchy *h);
/* ZS_OK when no look-up failed since there were `failures`; else the status and the message of the last one. */
enum zs_status zs_hierarchy_check_since(struct zs_hierarchy *h, size_t failures, struct zs_error *err) ZS_MUST_CHECK;

/* The node at `name` relative to the group `base` ("" for root); same results. A name that begins with "/" is
 * ZS_INVALID. */
enum zs_status zs_hierarchy_node_at(struct zs_hierarchy *h, const char *base, const char *name,
                                    const struct zs_node **node, struct zs_error *err) ZS_MUST_CHECK;

/* Whether the store is one of the draft. */
bool zs_hierarchy_is_draft(const struct zs_hierarchy *h);
/* ZS_UNSUPPORTED for a store that is only read: of the draft, or of a layout (store.h). Every change below asks it. */
enum zs_status zs_hierarchy_check_writable(const struct zs_hierarchy *h, struct zs_error *err) ZS_MUST_CHECK;

/* All nodes, the root first, then sorted by path, each group before what is in it: from consolidated metadata, else by
 * listing the store, once. A store that cannot be listed gives what is known by now (the root, and what was asked for).
 * *nodes is an array of borrowed nodes, freed with free(). Arrays that cannot be read are in it, zarr.json files that
 * are no Zarr v3 nodes are not. ZS_UNSUPPORTED when a limit below is exceeded. */
enum zs_status zs_hierarchy_list(struct zs_hierarchy *h, const struct zs_node ***nodes, size_t *count,
                                 struct zs_error *err) ZS_MUST_CHECK;

/* Like zs_hierarchy_list(), of the nodes that are known by now: the store is not read. */
enum zs_status zs_hierarchy_list_known(struct zs_hierarchy *h, const struct zs_node ***nodes, size_t *count,
                                       struct zs_error *err) ZS_MUST_CHECK;
/* Position in such a list of the node at `name` relative to the group `base` ("" for the root); `count` when it is not
 * in it. ZS_NO_MEMORY only. */
enum zs_status zs_nodes_find(const struct zs_node *const *nodes, size_t count, const char *base, const char *name,
                             size_t *at, struct zs_error *err) ZS_MUST_CHECK;

/* The next node directly in `group` in such a list, from position *at on (0 at first). *at moves behind that node and
 * all below it. NULL when there is no more. */
const struct zs_node *zs_nodes_child(const struct zs_node *const *nodes, size_t count, const char *group, size_t *at);

/* ---- Changing documents (hierarchy_edit.c): in memory first, in the store at the flush. Nobody else may use the
 * hierarchy during these calls. Nodes handed out stay valid, also those removed or replaced, until the hierarchy is
 * freed. ---- */

/* The node that is stored at `path`, whether or not consolidated metadata, which may be older, list it: for callers
 * that are about to write there. A directory without zarr.json is no node. A store that is being created is not
 * read. */
enum zs_status zs_hierarchy_stored_node(struct zs_hierarchy *h, const char *path, const struct zs_node **node,
                                        struct zs_error *err) ZS_MUST_CHECK;

/* Like zs_hierarchy_stored_node(), for callers that are about to create a node there: *node is NULL where there is
 * nothing, or only chunks that a killed process left. In stores where listing is cheap, a directory without zarr.json
 * that has directories counts as a group. ZS_INVALID or ZS_UNSUPPORTED where a zarr.json is no node, and for what is no
 * path inside the store (name.h). */
enum zs_status zs_hierarchy_occupant(struct zs_hierarchy *h, const char *path, const struct zs_node **node,
                                     struct zs_error *err) ZS_MUST_CHECK;

/* Tells that the store has nothing at or below `path`, where there is no node, for callers that have listed or cleared
 * it: nothing is looked for below a node that is added there. In a remote store, whose documents alone are asked for,
 * that is not known otherwise: a writer that failed may have left some. */
enum zs_status zs_hierarchy_note_empty(struct zs_hierarchy *h, const char *path, struct zs_error *err) ZS_MUST_CHECK;

/* The attributes of a node, to be changed in place, made when it has none; they show in node->attributes at once. At
 * the next flush what differs then from what they are now is put into the node's own zarr.json, attribute by attribute:
 * others, which may be newer there than what was read or consolidated, stay. An implicit group becomes a group of its
 * own. */
enum zs_status zs_hierarchy_edit(struct zs_hierarchy *h, const struct zs_node *node, zs_json **attributes,
                                 struct zs_error *err) ZS_MUST_CHECK;

/* Makes the next flush write an edited document after those that are as deep or deeper and of a lower rank, and before
 * those of the groups above: it says that an edit of several is done. A new one comes before what refers to it. */
void zs_hierarchy_put_last(struct zs_hierarchy *h, const char *path, int rank);

/* Adds a node that owns its document, both taken over, also on failure. One that is at its path is replaced by it;
 * chunks of the older one are the caller's business. Nothing above it may be waiting for its removal. ZS_INVALID where
 * its path is none inside the store (name.h). */
enum zs_status zs_hierarchy_add(struct zs_hierarchy *h, struct zs_node *node, struct zs_error *err) ZS_MUST_CHECK;

/* Like zs_hierarchy_add(), of an array whose chunks are there. Those of an array that it replaces, which have other
 * keys, go when its document is written. */
enum zs_status zs_hierarchy_replace(struct zs_hierarchy *h, struct zs_node *node, struct zs_error *err) ZS_MUST_CHECK;

/* Puts a node, taken over also on failure, in the place of the one at its path, whose chunks it keeps. At the next
 * flush the members in which its document differs are put into the node's own zarr.json. Where that says something else
 * of them than it did, not what consolidated metadata said, somebody else changed them, and that is ZS_INVALID. */
enum zs_status zs_hierarchy_update_node(struct zs_hierarchy *h, struct zs_node *node,
                                        struct zs_error *err) ZS_MUST_CHECK;

/* Removes the node at `path` and all below it; its objects (zarr/contents.h; not what others put there) go at the
 * flush: when nothing lists it any more, and what was removed last first. Where they cannot be listed nothing changes.
 * ZS_ARGUMENT for the root, ZS_INVALID for what is no path inside the store. */
enum zs_status zs_hierarchy_remove(struct zs_hierarchy *h, const char *path, struct zs_error *err) ZS_MUST_CHECK;

/* Like zs_hierarchy_remove(), but the objects stay: the node is about to be renamed. */
enum zs_status zs_hierarchy_unlist(struct zs_hierarchy *h, const char *path, struct zs_error *err) ZS_MUST_CHECK;

/* A savepoint: what an edit of several documents changes after it is kept or taken back as a whole, so that an edit
 * that failed publishes nothing. Savepoints may be nested. Taking back leaves nodes where they are; what was published
 * meanwhile stays, and so do elements that were written. */
struct zs_savepoint {
    size_t count; /* of changes before it */
};
struct zs_savepoint zs_savepoint_begin(struct zs_hierarchy *h);
void zs_savepoint_end(struct zs_hierarchy *h, struct zs_savepoint savepoint, bool keeps);

/* Whether the store is being created: it has only what was added through this hierarchy. */
bool zs_hierarchy_is_new(const struct zs_hierarchy *h);
bool zs_hierarchy_is_changed(const struct zs_hierarchy *h);

/* While the hierarchy is held, a flush succeeds and leaves the changes in memory, so that several steps appear at once,
 * with the root's consolidated metadata. Without these it has no effect: each document is visible as soon as it is
 * written. */
void zs_hierarchy_defer(struct zs_hierarchy *h, bool is_deferred);

/* Whether a node was added here, and its document is yet to be written: no other process knows of it. */
bool zs_hierarchy_is_unpublished(const struct zs_hierarchy *h, const struct zs_node *node);

/* Whether the store still has the array that `node` is: for those who are about to put chunks there. ZS_OK where its
 * zarr.json says of them what the node says (attributes and names may be others), or is yet to be written by the flush;
 * else ZS_INVALID: it is gone, or another array is in its place. *version is of the zarr.json that was last found so, 0
 * before: one that is the same is not read again. */
enum zs_status zs_hierarchy_check_array(const struct zs_hierarchy *h, const struct zs_node *node, uint64_t *version,
                                        struct zs_error *err) ZS_MUST_CHECK;

/* Writes what was changed. Each zarr.json is read again and only what was changed is put into it; those of groups come
 * after what is in them, the root's last. Inline consolidated metadata of any group above then say of each changed node
 * what its own file says, where there are some. ZS_INVALID, which names the node, where one that was edited is gone or
 * is of another kind, or one that was added has come meanwhile; ZS_ARGUMENT for a document that would be too large to
 * be read: then nothing is written. On failure everything remains to be written. */
enum zs_status zs_hierarchy_flush(struct zs_hierarchy *h, struct zs_error *err) ZS_MUST_CHECK;

/* Finishes what a killed writer began, in stores with locks, which show that it is dead: before zs_hierarchy_open() of
 * a store that is to be changed. */
enum zs_status zs_hierarchy_recover(struct zs_store *store, struct zs_error *err) ZS_MUST_CHECK;

/* Limits of the walk by listing: a store is metadata written by strangers, and every directory costs requests. What
 * lies deeper, or has a longer path, cannot be listed: zs_hierarchy_list() says so. */
#define ZS_HIERARCHY_MAX_DEPTH 32
#define ZS_HIERARCHY_MAX_NODES 20000 /* directories looked into; implicit groups of consolidated metadata */
#define ZS_HIERARCHY_MAX_PATH 1024   /* bytes of a key of consolidated metadata */

#endif
