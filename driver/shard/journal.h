/* shard/journal.h: how the index of a shard is found while the shard is appended to (append.c), or when that was cut
 * off.
 *
 * Before anything of the shard changes, a small file beside it (zs_journal_key(): c/0/.shardedzarr-1.journal of c/0/1)
 * says what it was: its size, and its index. It is removed when the new index is there. Integers are little-endian:
 *
 *   "ZSUNDO01"
 *   u64   bytes of the shard as it was
 *   u64   n: of so many bytes before that size ...
 *   u32   ... the crc32c; appending changes none of them, which shows whether the file beside it is still that one
 *   the index as it was stored
 *   u32   crc32c of all above
 *
 * Only where the index of a shard is broken is its journal looked for: one that was left beside a shard in order does
 * nothing, and the next writer of that shard removes it. */
#pragma once

#include "shard/index.h"
#include "store/store.h"

/* Writes the journal of a shard that is stored as `object` with `index`; it is on the disk on return (zs_sync). */
enum zs_status zs_journal_write(struct zs_store *store, const char *key, const struct zs_level *level,
                                const struct zs_shard_index *index, struct zs_object *object, struct zs_error *err);

/* Reads the index that the shard `object` had from its journal, and sets is_recovered in it. ZS_NOT_FOUND when there is
 * no journal, or one of another object. */
enum zs_status zs_journal_read(struct zs_store *store, const char *key, const struct zs_level *level,
                               struct zs_object *object, struct zs_shard_index **index, struct zs_error *err);

/* Absent is fine. */
enum zs_status zs_journal_remove(struct zs_store *store, const char *key, struct zs_error *err);
