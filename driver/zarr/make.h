/* zarr/make.h: creating nodes, in memory at once, in the store at the flush. */
#ifndef ZS_ZARR_MAKE_H
#define ZS_ZARR_MAKE_H

#include "zarr/document.h"
#include "zarr/hierarchy.h"

/* The root, a group, of a store that zs_hierarchy_create() began. *node is borrowed from the hierarchy, as below. */
enum zs_status zs_root_make(struct zs_hierarchy *h, const struct zs_node **node, struct zs_error *err) ZS_MUST_CHECK;

/* A group, or an array as the spec says, directly in the group at `parent` ("" is the root). ZS_ARGUMENT where the name
 * is none for a node (name.h), has what other systems' names of files and GDAL's of arrays have not (: and \, .z in
 * front), or something is there already; chunks that a killed process left there are removed. */
enum zs_status zs_group_make(struct zs_hierarchy *h, const char *parent, const char *name, const struct zs_node **node,
                             struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_array_make(struct zs_hierarchy *h, const char *parent, const char *name,
                             const struct zs_array_spec *spec, const struct zs_node **node,
                             struct zs_error *err) ZS_MUST_CHECK;

/* The array of a document, which is taken over; likewise. */
enum zs_status zs_node_make(struct zs_hierarchy *h, const char *parent, const char *name, zs_json *document,
                            const struct zs_node **node, struct zs_error *err) ZS_MUST_CHECK;

/* Changes the fill value (one element, native order) of a new array without chunks: replaces its node. Reopen arrays
 * that were opened from the old node. */
enum zs_status zs_array_set_fill_value(struct zs_hierarchy *h, const struct zs_node *node, const void *value,
                                       const struct zs_node **replacement, struct zs_error *err) ZS_MUST_CHECK;

/* Another shape for an array, other names of its dimensions, or other attributes, which are copied (each NULL: as it is
 * in `node`, which may be one that was replaced; names[d] NULL: none): the node at its path is replaced. Arrays that
 * were opened from the old one are to be flushed before and opened again; chunks that lie outside are the caller's
 * business. ZS_UNSUPPORTED where the document lists the lengths of chunks along a dimension that changes, ZS_INVALID
 * for a shape that no array can have. */
enum zs_status zs_array_update_document(struct zs_hierarchy *h, const struct zs_node *node, const uint64_t *shape,
                                        const char *const *names, const zs_json *attributes,
                                        const struct zs_node **replacement, struct zs_error *err) ZS_MUST_CHECK;

/* Renames a node within its group, with all below it, at once. Changes are to be flushed before, and its arrays opened
 * again. ZS_ARGUMENT for an invalid or taken name, ZS_UNSUPPORTED where the store has no directories. A process that is
 * killed meanwhile leaves the node at its old or new path, at worst not listed in consolidated metadata, but never
 * listed where it is not. */
enum zs_status zs_node_rename(struct zs_hierarchy *h, const char *path, const char *name,
                              struct zs_error *err) ZS_MUST_CHECK;
/* Whether the name is one that the node may have. */
enum zs_status zs_node_check_rename(struct zs_hierarchy *h, const char *path, const char *name,
                                    struct zs_error *err) ZS_MUST_CHECK;

/* Adds consolidated metadata of all known nodes to the root of a new store: call it before the first flush. Later
 * flushes keep them current. */
enum zs_status zs_root_consolidate(struct zs_hierarchy *h, struct zs_error *err) ZS_MUST_CHECK;

#endif
