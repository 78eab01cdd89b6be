/* zarr/name.h: names and paths of nodes (core specification 3.1, "Node names"). Check every name that comes from a file
 * before a path is made of it: the path must stay inside the store. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Whether `name` names a member of a group on every file system and server: it is not empty, not only dots and not
 * "zarr.json" (the group's own document), and has no "/", no "\", no control character and no drive ("C:"), also not as
 * percent escapes, which a server decodes. False for NULL. Names that the specification only advises against, as
 * "__xarray_dataarray_variable__" and "a:b", are names. */
bool zs_is_inside_name(const char *name);

/* Whether `path` is names inside a group separated by "/": the one spelling of a path below the root. */
bool zs_path_is_clean(const char *path);

/* Removes slashes at both ends of `path`; *clean is freed with free(). ZS_INVALID unless the rest is "" or satisfies
 * zs_path_is_clean(). */
enum zs_status zs_path_clean(const char *path, char **clean, struct zs_error *err);

/* Replaces %XX by the bytes that they stand for, in place. */
void zs_unescape(char *text);

/* ---- Paths of nodes ("" is the root) ---- */

/* Makes a path that of the group that holds it, in place; NULL for the root, and for NULL. */
char *zs_path_up(char *path);
/* Returns the path of the group that holds `path`, freed with free(); NULL for the root, and without memory. */
char *zs_path_parent(const char *path);
/* Returns the number of names in a path. */
size_t zs_path_depth(const char *path);
/* Returns the last component of a path, borrowed. */
const char *zs_path_name(const char *path);
/* Returns `path` relative to `group`, borrowed; NULL when `path` is not below `group`. */
const char *zs_path_below(const char *group, const char *path);
/* Whether `path` is `ancestor` or lies below it. */
bool zs_path_is_within(const char *path, const char *ancestor);
/* Makes "a/b", or a copy of one when the other is empty, without a slash at the end of b, which listed folders have.
 * NULL without memory; freed with free(). */
char *zs_path_join(const char *a, const char *b);

/* Compares paths. Paths below a group follow it directly in this order. */
int zs_path_compare(const char *a, const char *b);
/* Returns the position of the first of `count` entries of `size` bytes, sorted in this order, whose path is not before
 * `path`. */
typedef const char *(*zs_path_of_fn)(const void *entry);
size_t zs_path_position(const void *list, size_t count, size_t size, zs_path_of_fn path_of, const char *path);
