/* zarr/icechunk.h: Icechunk repositories as the stores that their snapshots are: documents and chunks of one commit
 * under the keys that Zarr gives them. Read only.
 * Source: earth-mover/icechunk, spec-v1.md, spec-v2.md and spec-v2-1.md, and the schemas *.fbs. */
#ifndef ZS_ZARR_ICECHUNK_H
#define ZS_ZARR_ICECHUNK_H

#include "store/store.h"

/* The object that a repository of version 2 has at its root. */
#define ZS_ICECHUNK_REPOSITORY "repo"
/* ... and one of version 1. */
#define ZS_ICECHUNK_MAIN "refs/branch.main/ref.json"

/* Which commit: each may be NULL. One of branch, tag and snapshot; as_of goes with the first, which is usually
 * "main". */
struct zs_icechunk_wish {
    const char *branch, *tag, *snapshot;
    const char *as_of; /* the last commit at or before that time: 2026-09-01, 2026-09-01T06:00:00Z, ...+02:00 */
};

/* Decodes a frame of zstd of n bytes into `out` (from its start), `limit` bytes at most, with a dictionary or NULL.
 * libzstd is known to codec/ alone, which lies above. */
typedef enum zs_status (*zs_icechunk_decode_fn)(const void *dictionary, size_t dictionary_size, const void *src,
                                                size_t n, size_t limit, struct zs_buffer *out, struct zs_error *err);

/* Puts a store that shows the commit in the place of *store, which that takes over. ZS_NOT_FOUND: there is no
 * repository at the root. ZS_ARGUMENT: it has no such branch, tag, snapshot or time; the message lists what there is.
 * On failure *store stays what it is. */
enum zs_status zs_icechunk_open(struct zs_store **store, const struct zs_icechunk_wish *wish,
                                zs_icechunk_decode_fn decode, struct zs_error *err) ZS_MUST_CHECK;

/* Whether n bytes are those that each of its metadata files begins with. */
#define ZS_ICECHUNK_MAGIC_BYTES 12
bool zs_icechunk_is_file(const void *bytes, size_t n);

#endif
