/* zarr/hierarchy.h: finds the nodes of a store by path, keeps each one after its first read, and changes their
 * documents. */
#pragma once

#include "zarr/document.h"
#include "zarr/name.h"

struct zs_hierarchy;

/* In the URL that zarr_format is in a store of the 2022 draft. */
#define ZS_DRAFT_FORMAT "purl.org/zarr/spec/protocol/core/3.0"

/* Opens a store by its root zarr.json, which may also be that of the 2022 draft (draft.c). With use_consolidated,
 * inline consolidated metadata of the root, unless null or empty, answer for the whole store without a request: a path
 * that they do not list, and that lies above no listed path, does not exist. Entries whose keys are not valid paths are
 * ignored; an entry that is not a valid node returns its error when it is looked up. ZS_NOT_FOUND when the store has no
 * zarr.json at its root. Borrows the store. */
enum zs_status zs_hierarchy_open(struct zs_store *store, bool use_consolidated, struct zs_hierarchy **hierarchy,
                                 struct zs_error *err);
/* Like zs_hierarchy_open(), for a caller that has read the root zarr.json: `text` is its content. Messages do not name
 * its location. */
enum zs_status zs_hierarchy_open_text(struct zs_store *store, const char *text, size_t size, bool use_consolidated,
                                      struct zs_hierarchy **hierarchy, struct zs_error *err);
/* Creates the hierarchy of a new store. It has only the nodes that are added to it, first of all the root; the store is
 * never read. */
enum zs_status zs_hierarchy_create(struct zs_store *store, struct zs_hierarchy **hierarchy, struct zs_error *err);
void zs_hierarchy_free(struct zs_hierarchy *hierarchy);

struct zs_store *zs_hierarchy_store(const struct zs_hierarchy *hierarchy);

/* Returns whether the consolidated metadata of the root are in use. */
bool zs_hierarchy_is_consolidated(const struct zs_hierarchy *hierarchy);

/* Looks up the node at `path` ("" is the root; leading and trailing slashes are ignored). *node is borrowed until the
 * hierarchy is freed. ZS_NOT_FOUND when there is no node, ZS_INVALID when no store has such a path (name.h),
 * ZS_NO_MEMORY when it is NULL. Costs at most one request (two in the draft) for each path, and the result is kept;
 * only a failure (no answer, or ZS_CORRUPT: a damaged document) is asked for again. In stores where listing is cheap
 * (not remote), a directory without zarr.json that holds directories is an implicit group. */
enum zs_status zs_hierarchy_node(struct zs_hierarchy *hierarchy, const char *path, const struct zs_node **node,
                                 struct zs_error *err);

/* Returns how many look-ups and listings have failed so far (the store gave no answer, or a document is damaged).
 * Functions that read metadata treat what they do not find as absent; compare this count before and after calling them,
 * so that a failure never counts as absence. */
size_t zs_hierarchy_failures(struct zs_hierarchy *hierarchy);
/* Returns ZS_OK when no look-up failed since the count was `failures`, else the status and the message of the last
 * failure. */
enum zs_status zs_hierarchy_check_since(struct zs_hierarchy *hierarchy, size_t failures, struct zs_error *err);

/* Like zs_hierarchy_node(), for the path `name` relative to the group `base` ("" is the root). ZS_INVALID when the name
 * begins with "/". */
enum zs_status zs_hierarchy_node_at(struct zs_hierarchy *hierarchy, const char *base, const char *name,
                                    const struct zs_node **node, struct zs_error *err);

/* Returns whether the store is of the 2022 draft. */
bool zs_hierarchy_is_draft(const struct zs_hierarchy *hierarchy);
/* Returns ZS_UNSUPPORTED for a store that this library only reads: one of the draft, or one with a layout (store.h).
 * Every function below that changes a node calls it. */
enum zs_status zs_hierarchy_check_writable(const struct zs_hierarchy *hierarchy, struct zs_error *err);

/* Lists all nodes, the root first, then sorted by path, each group before its members: from consolidated metadata, else
 * by walking through the store once. A store that cannot be listed gives the nodes that are known so far (the root, and
 * those that were looked up). *nodes is an array of borrowed nodes, freed with free(). It includes arrays that cannot
 * be read, and excludes zarr.json files that are not Zarr v3 nodes. ZS_UNSUPPORTED when the store exceeds a limit
 * below. */
enum zs_status zs_hierarchy_list(struct zs_hierarchy *hierarchy, const struct zs_node ***nodes, size_t *count,
                                 struct zs_error *err);

/* Like zs_hierarchy_list(), for the nodes that are known so far: does not read the store. */
enum zs_status zs_hierarchy_list_known(struct zs_hierarchy *hierarchy, const struct zs_node ***nodes, size_t *count,
                                       struct zs_error *err);
/* Returns the first name that the list leaves out since no path may have it (name.h), borrowed; NULL: none. */
const char *zs_hierarchy_left_out(struct zs_hierarchy *hierarchy);

/* Finds the node at `name` relative to the group `base` ("" is the root) in such a list: *at is its position, or
 * `count` when the list lacks it. Fails with ZS_NO_MEMORY only. */
enum zs_status zs_nodes_find(const struct zs_node *const *nodes, size_t count, const char *base, const char *name,
                             size_t *at, struct zs_error *err);

/* Returns the next node directly in `group` in such a list, and moves *at, which is 0 at first, behind it. NULL when
 * there are no more. */
const struct zs_node *zs_nodes_child(const struct zs_node *const *nodes, size_t count, const char *group, size_t *at);

/* ---- Changing documents (hierarchy_edit.c): in memory first, in the store at the flush. No other thread may use the
 * hierarchy during these calls. Nodes that were handed out stay valid until the hierarchy is freed, even after they are
 * removed or replaced.
 *
 * An error of a flush ends the hierarchy: it refuses all further changes and flushes with the first message. ---- */

/* Looks up the node that is stored at a clean path, even if consolidated metadata, which may be older, do not list it:
 * for callers that are about to write there. *node is NULL when no node is known at the path. Flushes where the removal
 * of one is pending: what is created must not share its keys. Does not read a store that is being created. ZS_INVALID
 * or ZS_UNSUPPORTED when a zarr.json there is no node, ZS_INVALID when the path is not valid inside a store. */
enum zs_status zs_hierarchy_occupant(struct zs_hierarchy *hierarchy, const char *path, const struct zs_node **node,
                                     struct zs_error *err);

/* Returns the attributes of a node, added when it has none, for changing in place. Changes show in node->attributes at
 * once. The next flush merges them into the node's own zarr.json, attribute by attribute: other attributes, which may
 * be newer there than in the copy that was read or consolidated, stay. An implicit group becomes an explicit one. */
enum zs_status zs_hierarchy_edit(struct zs_hierarchy *hierarchy, const struct zs_node *node, zs_json **attributes,
                                 struct zs_error *err);

/* Adds a node that owns its document; takes over both, also on failure. Where a node is at the path the next flush puts
 * the members that differ over those of its own zarr.json, and the chunks stay, unless the keys of an array of one
 * dimension are other ones: the former chunks go then. ZS_INVALID there when another writer made the array longer than
 * the shape that is put. ZS_INVALID when the path is not valid inside a store (name.h), and where the removal of a node
 * there is pending in a store that is not new. */
enum zs_status zs_hierarchy_add(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err);

/* Removes the node at `path` and all nodes below it. The flush removes their objects (zarr/contents.h; files of others
 * stay) when no document lists them any more. ZS_ARGUMENT for the root, ZS_INVALID when the path is not valid inside a
 * store. */
enum zs_status zs_hierarchy_remove(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err);

/* Returns how many changes were made so far. */
size_t zs_hierarchy_edits(const struct zs_hierarchy *hierarchy);
/* Ends the hierarchy if changes were made since the count was `edits`: an edit of several documents failed half way,
 * and nothing of it is to be published. */
void zs_hierarchy_abandon(struct zs_hierarchy *hierarchy, size_t edits);

/* Returns the status of an edit of several documents; an error ends the hierarchy. */
enum zs_status zs_hierarchy_keep(struct zs_hierarchy *hierarchy, enum zs_status status);

/* Returns whether the store is being created: it holds only the nodes that were added through this hierarchy. */
bool zs_hierarchy_is_new(const struct zs_hierarchy *hierarchy);

/* While flushes are deferred, zs_hierarchy_flush() succeeds and leaves the changes pending: several steps appear at
 * once. */
void zs_hierarchy_defer(struct zs_hierarchy *hierarchy, bool is_deferred);

/* Returns whether the node was added through this hierarchy, and its document is not written yet. */
bool zs_hierarchy_is_unpublished(struct zs_hierarchy *hierarchy, const struct zs_node *node);

/* Returns whether chunks that are written beside those of an array (NULL: there is none) have keys "c.0", else "c/0":
 * no stored document has these. */
bool zs_hierarchy_takes_dots(const struct zs_hierarchy *hierarchy, const struct zs_node *node);

/* Checks that the store still has the array that `node` describes, for callers that are about to write chunks. ZS_OK
 * when the members of its zarr.json that matter to chunks are unchanged (attributes and names may differ), or when the
 * document is still pending; on a local disk, no other writer must have stored one. ZS_INVALID when the array is gone
 * or another array has taken its place. *version caches the version of the zarr.json that was last found unchanged (0
 * at first): the same version is not read again. */
enum zs_status zs_hierarchy_check_array(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                        uint64_t *version, struct zs_error *err);

/* Writes the pending changes, all of them or none (flush.c). Puts the names that were touched over each zarr.json as it
 * is then; updates inline consolidated metadata of any group above, where present. ZS_INVALID, naming the node, when an
 * edited node is gone or is of another type, or when another writer has added a node at the same path; ZS_ARGUMENT for
 * a document that would be too large to read: nothing is written then. After another failure the next writer finishes
 * it. */
enum zs_status zs_hierarchy_flush(struct zs_hierarchy *hierarchy, struct zs_error *err);

/* Finishes the changes that a killed writer began (flush.c), in a store that is not remote: there the next flush does.
 * Call it before zs_hierarchy_open() of a store that is to be changed. */
enum zs_status zs_hierarchy_recover(struct zs_store *store, struct zs_error *err);

/* ---- Making nodes: in memory at once, in the store at the next flush ---- */

/* Adds the node of a document (taken over; NULL: ZS_NO_MEMORY) at a path. In a store that zs_hierarchy_create() began,
 * add the root ("") first. Fails for an array that could not be read. *node is borrowed from the hierarchy, here and
 * below. */
enum zs_status zs_add_document(struct zs_hierarchy *hierarchy, const char *path, zs_json *document,
                               const struct zs_node **node, struct zs_error *err);

/* Creates the node of a document (taken over; NULL: ZS_NO_MEMORY) directly in the group at `parent` ("" is the root).
 * ZS_ARGUMENT when the name is not valid for a node (name.h), is not portable (names of files on other systems and
 * GDAL's names of arrays exclude : and \ and a leading .z), or is taken. Removes chunks that a killed process left
 * there. */
enum zs_status zs_node_make(struct zs_hierarchy *hierarchy, const char *parent, const char *name, zs_json *document,
                            const struct zs_node **node, struct zs_error *err);

/* Whether a new node may have this name; else ZS_ARGUMENT. */
enum zs_status zs_node_check_name(const char *name, struct zs_error *err);

/* Changes the shape of an array, the names of its dimensions or, of a new array without chunks, the fill value (one
 * element, native order) by replacing the node at its path. NULL arguments keep the state of `node`, which may itself
 * be a replaced node; names[d] NULL removes a name. Flush arrays opened from the old node before, and reopen them
 * after; the caller deals with chunks outside the new shape. ZS_INVALID for a shape that is not valid. */
enum zs_status zs_array_update_document(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                        const uint64_t *shape, const char *const *names, const void *fill_value,
                                        const struct zs_node **replacement, struct zs_error *err);

/* Renames a node within its group, with all nodes below it, in the store at once; pending changes are flushed before.
 * Reopen its arrays after. ZS_ARGUMENT for an invalid or taken name, ZS_UNSUPPORTED when the store has no directories.
 * All nodes are looked up anew. Consolidated metadata are taken out meanwhile; those of the root are made again by a
 * walk. A process that is killed meanwhile leaves the node at its old or its new path, at worst in a store without. */
enum zs_status zs_node_rename(struct zs_hierarchy *hierarchy, const char *path, const char *name, struct zs_error *err);

/* Adds consolidated metadata of all known nodes to the root of a new store, before its first flush. Later flushes keep
 * them up to date. */
enum zs_status zs_root_consolidate(struct zs_hierarchy *hierarchy, struct zs_error *err);

/* Limits of the walk by listing: the metadata come from strangers, and every directory costs requests. Beyond these
 * limits zs_hierarchy_list() fails with a message that says so; keys of consolidated metadata are ignored. */
#define ZS_HIERARCHY_MAX_DEPTH 32
#define ZS_HIERARCHY_MAX_NODES 20000 /* directories listed; implicit groups of consolidated metadata */
#define ZS_HIERARCHY_MAX_PATH 1024   /* bytes of a key of consolidated metadata */
