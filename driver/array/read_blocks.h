/* array/read_blocks.h: chunks of which little is wanted, and whose codecs can give a part: read block by block. */
#ifndef ZS_ARRAY_READ_BLOCKS_H
#define ZS_ARRAY_READ_BLOCKS_H

#include "array/plan.h"

/* After zs_plan_locations(): the chunks that are read in parts get their tables, and an item for each block that is
 * wanted; those that were decoded before are pinned. A chunk that is an object of its own gets its range. */
enum zs_status zs_plan_blocks(struct zs_plan *p, struct zs_error *err) ZS_MUST_CHECK;

/* Decodes a block, its encoded bytes at src, to where it is wanted, and keeps it. */
enum zs_status zs_block_deliver(struct zs_plan *p, const struct zs_item *item, struct zs_scratch *scratch,
                                const void *src, struct zs_error *err) ZS_MUST_CHECK;
/* Places a block that was decoded before. */
void zs_block_scatter(const struct zs_plan *p, const struct zs_item *item);

#endif
