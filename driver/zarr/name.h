/* zarr/name.h: which names a store may have inside (core specification 3.1, "Node names"). Check every name from a file
 * here before building a path from it: the path must stay inside the store. */
#ifndef ZS_ZARR_NAME_H
#define ZS_ZARR_NAME_H

#include <stdbool.h>

#include "base/status.h"

/* Whether `name` leads from a group to something directly in it, on every file system and server: not empty, no "/" and
 * no "\", not only dots, no control character, no drive ("C:"), and none of these behind percent escapes, which a
 * server undoes; nor "zarr.json", which is the group's own document. NULL is none. */
bool zs_is_inside_name(const char *name);

/* Whether a node may be given this name: the above, and not the reserved prefix "__". There are such nodes all the same
 * (xarray writes "__xarray_dataarray_variable__"), which can be read by their names, but nothing is looked for or made
 * there because of a dimension or an attribute. NULL is none. */
bool zs_is_node_name(const char *name);

/* Whether it is names inside (above) separated by "/", so the path of something below the root in its one spelling. */
bool zs_path_is_clean(const char *path);

/* `path` without slashes at its ends, so in its one spelling; freed with free(). ZS_INVALID unless it is "" or names
 * inside (above) separated by "/". */
enum zs_status zs_path_clean(const char *path, char **clean, struct zs_error *err) ZS_MUST_CHECK;

/* ---- Paths of nodes ("" is the root) ---- */

/* Path of the group that holds `path`, freed with free(); NULL for the root itself or without memory. */
char *zs_path_parent(const char *path);
/* Last component of a path (borrowed). */
const char *zs_path_name(const char *path);
/* `path` relative to `group` ("" is the root), NULL when it is not below it. Borrowed. */
const char *zs_path_below(const char *group, const char *path);
/* Whether it is `ancestor` or a path below it. */
bool zs_path_is_within(const char *path, const char *ancestor);
/* "a/b", or just one of them when the other is empty. NULL without memory; freed with free(). */
char *zs_path_join(const char *a, const char *b);

#endif
