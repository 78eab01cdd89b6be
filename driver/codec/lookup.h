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

/* Decodes n elements, as zs_stages_decode() would; src may be dst where zs_stages_keep_size(). False, with nothing
 * done, while fewer elements were asked for than the table has, where the stages refuse one of its values, and where
 * src or dst is not aligned for its elements. Thread-safe. */
bool zs_lookup_decode(struct zs_lookup *lookup, const struct zs_stage *stages, int count, size_t n, const void *src,
                      void *dst);

#endif
