/* shard/writer.h: building one shard: encoded chunks in, one object out, whole or not at all.
 *
 * Encoded chunks are appended to a file under a temporary name as they come, so memory does not depend on the shard. When all
 * came in the wanted order, that file becomes the shard; else it is copied once in that order. Over an existing shard,
 * chunks that were not replaced are copied as the bytes they are.
 */
#ifndef ZS_SHARD_WRITER_H
#define ZS_SHARD_WRITER_H

#include "shard/index.h"
#include "store/store.h"

/* Physical order of the chunks in a shard; readers do not care, but neighbours are read in one request. */
enum zs_chunk_order { ZS_ORDER_ROW_MAJOR, ZS_ORDER_MORTON, ZS_ORDER_HILBERT };

struct zs_shard_writer;

/* A writer for the shard `key`. `base` is its present index and `object` its present object, both NULL when it is new or
 * absent; the writer takes over both. The level (kind: shard without bytes codecs of its own) is borrowed. */
enum zs_status zs_shard_writer_create(struct zs_store *store, const char *key, const struct zs_level *level,
                                      enum zs_chunk_order order, struct zs_shard_index *base, struct zs_object *object,
                                      struct zs_shard_writer **writer, struct zs_error *err) ZS_MUST_CHECK;

/* Sets chunk `number` (as zs_shard_index_number() gives it) to n encoded bytes, or to empty with data NULL. After a failure the
 * shard cannot be published any more. */
enum zs_status zs_shard_writer_put(struct zs_shard_writer *writer, uint64_t number, const void *data, size_t n,
                                   struct zs_error *err) ZS_MUST_CHECK;

/* How many different chunks were put, and whether this one was. */
uint64_t zs_shard_writer_put_count(const struct zs_shard_writer *writer);
bool zs_shard_writer_has(const struct zs_shard_writer *writer, uint64_t number);

/* Encoded bytes of a chunk as the shard would now hold it, into `out`; *is_empty when it would hold none. */
enum zs_status zs_shard_writer_get(struct zs_shard_writer *writer, uint64_t number, bool *is_empty, struct zs_buffer *out,
                                   struct zs_error *err) ZS_MUST_CHECK;

/* Publishes the shard, or removes the object when all chunks are empty. Releases the writer, also on failure. */
enum zs_status zs_shard_writer_finish(struct zs_shard_writer *writer, struct zs_error *err) ZS_MUST_CHECK;
void zs_shard_writer_abort(struct zs_shard_writer *writer); /* NULL is allowed */

#endif
