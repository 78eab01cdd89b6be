/* codec/lookup.h: what elementwise stages make of stored elements of one or two bytes, in a table. There are 65,536 of
 * these at most, and one look is cheaper than a cast, a division and a comparison. The stages fill the table
 * themselves, so it says what they say. */
#ifndef ZS_CODEC_LOOKUP_H
#define ZS_CODEC_LOOKUP_H

#include "codec/codec.h"

struct zs_lookup;

/* An empty table for these stages, which are handed to zs_lookup_decode() later. NULL where none would serve (larger
 * elements, stages that are not elementwise or only swap bytes) or without memory: the stages do the work then. */
struct zs_lookup *zs_lookup_create(const struct zs_stage *stages, int count);
void zs_lookup_free(struct zs_lookup *lookup); /* NULL is allowed */

/* Whether the table is there for n elements more. It is filled, by the one thread that comes first, when more elements
 * were asked for than it has; never where the stages refuse one of its values. Thread-safe. */
bool zs_lookup_is_ready(struct zs_lookup *lookup, const struct zs_stage *stages, int count, size_t n);

/* Bytes of a stored element. */
size_t zs_lookup_stored_size(const struct zs_lookup *lookup);

/* A zs_convert_fn whose ctx is a table that is ready: decodes n stored elements as zs_stages_decode() would, to where
 * they are wanted. Neither src nor dst need be aligned; src may be dst where zs_stages_keep_size(). */
void zs_lookup_convert(void *lookup, const void *src, void *dst, ptrdiff_t dst_stride, size_t n);

#endif
