/* shard/writer.h: building one shard: encoded chunks in, one object out, whole or not at all.
 *
 * Encoded chunks are appended to a file under a temporary name as they come, so memory does not depend on the shard.
 * When all came in the wanted order, that file becomes the shard; else it is copied once in that order. Over an
 * existing shard, chunks that were not replaced are copied as the bytes they are. In nested shards an inner shard of
 * which nothing was replaced is copied so too, and one with changes is built like its outer one, in memory, as a shard
 * with bytes codecs of its own is. */
#pragma once

#include "shard/shard.h"
#include "store/store.h"

/* Physical order of the chunks in a shard; readers do not care, but neighbours are read in one request. */
enum zs_chunk_order { ZS_ORDER_ROW_MAJOR, ZS_ORDER_MORTON, ZS_ORDER_HILBERT };

struct zs_shard_writer;

/* Creates a writer for the shard `key`, whose levels follow each other from `level` (a shard) to the innermost; they
 * are borrowed. Nothing is stored of it, until zs_shard_writer_base() says otherwise. */
enum zs_status zs_shard_writer_create(struct zs_store *store, const char *key, const struct zs_level *level,
                                      enum zs_chunk_order order, struct zs_shard_writer **writer, struct zs_error *err);
void zs_shard_writer_free(struct zs_shard_writer *writer); /* drops what was not published; NULL is allowed */

/* The number of an innermost chunk: that of the outermost inner chunk around it (zs_shard_index_number()) times the
 * number of innermost chunks in one, plus the number within it. */

/* Sets chunk `number` to n encoded bytes, or to empty with data NULL. A put that fails has no effect. */
enum zs_status zs_shard_writer_put(struct zs_shard_writer *writer, uint64_t number, const void *data, size_t n,
                                   struct zs_error *err);

/* How many different chunks were put, and whether this one was. */
uint64_t zs_shard_writer_put_count(const struct zs_shard_writer *writer);
bool zs_shard_writer_has(const struct zs_shard_writer *writer, uint64_t number);

/* Most bytes that the shard will have, besides its index and what its own bytes codecs add. */
uint64_t zs_shard_writer_most_bytes(const struct zs_shard_writer *writer);

/* Reads the encoded bytes of a chunk into `out`, as the shard would now hold it, or as the stored object does;
 * *is_empty when there are none. */
enum zs_status zs_shard_writer_get(struct zs_shard_writer *writer, uint64_t number, bool *is_empty,
                                   struct zs_buffer *out, struct zs_error *err);
enum zs_status zs_shard_writer_get_stored(struct zs_shard_writer *writer, uint64_t number, bool *is_empty,
                                          struct zs_buffer *out, struct zs_error *err);

/* Bases the writer on the stored object (NULL: there is none): chunks that were not put are taken from there. With
 * `index` NULL that is read: ZS_CONFLICT where the object was replaced meanwhile. The writer takes over both, also on
 * failure; then there is no stored object. What was put stays. */
enum zs_status zs_shard_writer_base(struct zs_shard_writer *writer, struct zs_shard_index *index,
                                    struct zs_object *object, struct zs_error *err);
/* That object. Where it is replaced while publishing reads it, that fails, and the object is stale. */
const struct zs_object *zs_shard_writer_object(const struct zs_shard_writer *writer);

/* Publishes the shard, or removes the object when all chunks are empty; the writer can only be freed then. The lock of
 * the object must be held. A stored object is changed by the method `update`, where it can be (writer_private.h), else
 * replaced. With `expects` it replaces the stored object or none: ZS_CONFLICT where there is another now, in a store
 * that zs_store_has_conditions(). After a failure everything that was put is kept for another try, unless *is_lost is
 * set. */
enum zs_status zs_shard_writer_publish(struct zs_shard_writer *writer, enum zs_update update, bool expects,
                                       bool *is_lost, struct zs_error *err);

/* ---- order.c: space-filling orders of the chunks of a shard ---- */

/* Fills numbers[level->inner_count] with the chunk numbers in the wanted physical order. Dimensions of one chunk take
 * no part in the curve. Morton: bits interleaved, last stored dimension lowest. Hilbert: Skilling's transform (AIP
 * Conf. Proc. 707, 2004) on the smallest cube that holds the grid. ZS_NO_MEMORY only. */
enum zs_status zs_chunk_order_list(const struct zs_level *level, enum zs_chunk_order order, uint64_t *numbers,
                                   struct zs_error *err);

/* Whether the chunks of a shard lie in the order of numbers[count], by their offsets entries[2 * number]
 * (shard/shard.h); empty chunks do not count. */
bool zs_chunks_lie_in(const uint64_t *entries, const uint64_t *numbers, uint64_t count);
