/* shard/order.h: space-filling orders of the chunks of a shard. */
#ifndef ZS_SHARD_ORDER_H
#define ZS_SHARD_ORDER_H

#include "shard/writer.h"

/* Fills numbers[level->inner_count] with the chunk numbers in the wanted physical order. Dimensions of one chunk take
 * no part in the curve. Morton: bits interleaved, last stored dimension lowest. Hilbert: Skilling's transform (AIP
 * Conf. Proc. 707, 2004) on the smallest cube that holds the grid. ZS_NO_MEMORY only. */
enum zs_status zs_chunk_order_list(const struct zs_level *level, enum zs_chunk_order order, uint64_t *numbers,
                                   struct zs_error *err) ZS_MUST_CHECK;

/* Whether the chunks of a shard, as entries[2 * number] are their offsets (shard/index.h), lie in the order of
 * numbers[count]; empty ones lie nowhere. */
bool zs_chunks_lie_in(const uint64_t *entries, const uint64_t *numbers, uint64_t count);

/* The order in which the chunks of a shard lie: `likely` where they lie so, which few chunks always do;
 * ZS_ORDER_ROW_MAJOR when they lie in none of these orders, or there is no memory to tell. */
enum zs_chunk_order zs_chunk_order_of(const struct zs_level *level, const struct zs_shard_index *index,
                                      enum zs_chunk_order likely);

#endif
