/* shard/ways.h: how a shard that is there is changed (enum zs_update of shardedzarr.h), by who holds its lock; after
 * what zs_shard_writer_publish() of writer.h promises. Each way says by *done whether it was taken: where it cannot be,
 * nothing was changed and the shard is rewritten.
 *
 * REWRITE (build.c). A new object takes the place of the old one: whole at any moment, for everyone, on every store.
 * All of the shard is written, whatever is changed of it.
 *
 * APPEND (append.c). New chunks are written behind the last byte of the file, and then the index: behind them, or where
 * it is at the start of the shard. Nothing that the old index speaks of is touched, so who has read that goes on with
 * it. In order:
 *   1. the journal (journal.h): the size and the index that the shard has; flushed, and its folder
 *   2. the chunks; flushed
 *   3. the index; flushed: from here on the new chunks are what is read
 *   4. the journal is removed
 * From 2 (index at the end) or 3 (at the start) to the end of 3 there is no valid index in the file, which its checksum
 * tells: without one (index_codecs) a shard is rewritten. In that time, or when the writer was killed or lost power in
 * it, this driver takes the index from the journal and reads all that was there before; other readers get an error,
 * never other pixels. The next writer of the shard cuts the file to its old size and goes on from there; what the
 * killed one was about to add is lost, as it is when a rewriting is killed. After the end of 3 the new chunks are on
 * the disk: the index is valid only when they are, whatever the order in which the disk writes. Who fails (the disk is
 * full) puts the shard back as it was. Bytes that no entry speaks of any more stay in the file. When they would be more
 * than half of it, it is rewritten without them.
 *
 * IN_PLACE (in_place.c). Chunks whose encoded size is fixed, by a chain without compressor, are overwritten where they
 * are; no other byte of the shard changes. All chunks of a flush must be in the shard already, with bytes of their own.
 * A kill or a power failure may leave chunks old, new, or half of each: what is torn is an error where the chunk has a
 * checksum, else wrong pixels that nobody can tell; and so it is for a moment for who reads beside the writer. Flushed
 * at the end.
 *
 * The last two need a file that can be changed: on a local disk, without hard links to it (a backup would change too),
 * and not through a symbolic link. Codecs around the shard leave nothing but to rewrite
 * it. */
#ifndef ZS_SHARD_WAYS_H
#define ZS_SHARD_WAYS_H

#include "shard/writer.h"

enum zs_status zs_shard_append(struct zs_shard_writer *w, bool *done, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_shard_overwrite(struct zs_shard_writer *w, bool *done, struct zs_error *err) ZS_MUST_CHECK;

#endif
