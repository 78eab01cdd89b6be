/* icechunk/icechunk.h: Icechunk repositories as the stores that their snapshots are: documents and chunks of one commit
 * under the keys that Zarr gives them. Read only. It lies above zarr/ and codec/: which chunk a key names is in the
 * documents of a snapshot, and its files are frames of zstd.
 * Source: earth-mover/icechunk, spec-v1.md, spec-v2.md and spec-v2-1.md, and the schemas *.fbs. */
#pragma once

#include "store/store.h"

/* The object that a repository of version 2 has at its root. */
#define ZS_ICECHUNK_REPOSITORY "repo"
/* ... and one of version 1. */
#define ZS_ICECHUNK_MAIN "refs/branch.main/ref.json"
/* The message for attempts to write. */
#define ZS_ICECHUNK_READ_ONLY                                                                                          \
    "is an Icechunk repository, which is only read: write with Icechunk's own library, or into a plain store that "    \
    "gdalmdimtranslate copies it to"

/* Splits a name into the root of a repository and the commit that is asked for behind it: ?branch=x, ?tag=x,
 * ?snapshot=ID, ?as_of=TIME or ?branch=x&as_of=TIME. The last two are the last commit of the branch at or before the
 * time: 2026-09-01, 2026-09-01T06:00:00Z or 2026-09-01T08:00:00+02:00. %XX in a value is a byte. *commit is
 * "branch=x&as_of=TIME", or "" for the newest commit of the branch main; a file that is called like the whole name is
 * the root, and a query that begins with another word is of its URL. Both are freed with free(). */
enum zs_status zs_icechunk_split(const char *name, char **root, char **commit, struct zs_error *err);

/* Replaces *store, which the new one takes over, by the store of a commit (see above). ZS_NOT_FOUND: there is no
 * repository at the root. ZS_ARGUMENT: it has no such branch, tag, snapshot or time; the message lists those that it
 * has. On failure *store stays as it is. */
enum zs_status zs_icechunk_open(struct zs_store **store, const char *commit, struct zs_error *err);

/* Describes the commit of such a store, which owns the NULL-terminated list of NAME=VALUE: SNAPSHOT, TIME (as
 * 2026-09-01T00:00:00.000000Z), MESSAGE, BRANCH or TAG. */
char **zs_icechunk_items(const struct zs_store *store);

/* Forgets what this process remembers of snapshots and manifests. */
void zs_icechunk_forget_all(void);

#define ZS_ICECHUNK_MAGIC_BYTES 12
/* Whether n bytes begin as each metadata file of Icechunk does. */
bool zs_icechunk_is_file(const void *bytes, size_t n);
