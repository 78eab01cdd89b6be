/* zarr/make.h: creates nodes, in memory at once, in the store at the next flush. */
#pragma once

#include "zarr/document.h"
#include "zarr/hierarchy.h"

/* Adds the node of a document (taken over) at a path; fails for an array that could not be read. */
enum zs_status zs_add_document(struct zs_hierarchy *hierarchy, const char *path, zs_json *document,
                               const struct zs_node **node, struct zs_error *err);

/* Creates the root group of a store that zs_hierarchy_create() began. *node is borrowed from the hierarchy, here and
 * below. */
enum zs_status zs_root_make(struct zs_hierarchy *hierarchy, const struct zs_node **node, struct zs_error *err);

/* Creates a group, or an array by its spec, directly in the group at `parent` ("" is the root). ZS_ARGUMENT when the
 * name is not valid for a node (name.h), is not portable (names of files on other systems and GDAL's names of arrays
 * exclude : and \ and a leading .z), or is taken. Removes chunks that a killed process left there. */
enum zs_status zs_group_make(struct zs_hierarchy *hierarchy, const char *parent, const char *name,
                             const struct zs_node **node, struct zs_error *err);
enum zs_status zs_array_make(struct zs_hierarchy *hierarchy, const char *parent, const char *name,
                             const struct zs_array_spec *spec, const struct zs_node **node, struct zs_error *err);

/* Whether a new node may have this name; else ZS_ARGUMENT. */
enum zs_status zs_node_check_name(const char *name, struct zs_error *err);

/* Like zs_array_make(), from a document, which is taken over. */
enum zs_status zs_node_make(struct zs_hierarchy *hierarchy, const char *parent, const char *name, zs_json *document,
                            const struct zs_node **node, struct zs_error *err);

/* Sets the fill value (one element, native order) of a new array without chunks by replacing its node. Reopen arrays
 * that were opened from the old node. */
enum zs_status zs_array_set_fill_value(struct zs_hierarchy *hierarchy, const struct zs_node *node, const void *value,
                                       const struct zs_node **replacement, struct zs_error *err);

/* Changes the shape of an array, the names of its dimensions or its attributes (copied) by replacing the node at its
 * path. NULL arguments keep the state of `node`, which may itself be a replaced node; names[d] NULL removes a name.
 * Flush arrays opened from the old node before, and reopen them after; the caller deals with chunks outside the new
 * shape. ZS_UNSUPPORTED when the document lists chunk lengths along a dimension that changes, ZS_INVALID for a shape
 * that is not valid. */
enum zs_status zs_array_update_document(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                        const uint64_t *shape, const char *const *names, const zs_json *attributes,
                                        const struct zs_node **replacement, struct zs_error *err);

/* Renames a node within its group, with all nodes below it, in the store at once; pending changes are flushed before.
 * Reopen its arrays after. ZS_ARGUMENT for an invalid or taken name, ZS_UNSUPPORTED when the store has no directories.
 * A process that is killed meanwhile leaves the node at its old or its new path, at worst in a store without
 * consolidated metadata. */
enum zs_status zs_node_rename(struct zs_hierarchy *hierarchy, const char *path, const char *name, struct zs_error *err);
/* Checks that zs_node_rename() would accept the name. */
enum zs_status zs_node_check_rename(struct zs_hierarchy *hierarchy, const char *path, const char *name,
                                    struct zs_error *err);

/* Adds consolidated metadata of all known nodes to the root of a new store, before its first flush. Later flushes keep
 * them up to date. */
enum zs_status zs_root_consolidate(struct zs_hierarchy *hierarchy, struct zs_error *err);
