/* shard/ahead.h: ranges of a remote object fetched ahead of being copied: a few large requests side by side, not one
 * round trip each. */
#ifndef ZS_SHARD_AHEAD_H
#define ZS_SHARD_AHEAD_H

#include "shard/range_plan.h"
#include "store/store.h"

/* Bytes fetched together: the sum of the ranges' sizes should not be more. Those between them may come too, as many
 * again at most. */
uint64_t zs_ahead_room(void);

/* Zero-initialise: then nothing was fetched. */
struct zs_ahead {
    struct zs_range_group *groups;
    unsigned char **bytes; /* of each group */
    size_t count;
};

/* Fetches n ranges, which get sorted, in place of what was fetched before. After a failure there is nothing. */
enum zs_status zs_ahead_fetch(struct zs_ahead *ahead, struct zs_object *object, struct zs_range *ranges, size_t n,
                              struct zs_error *err) ZS_MUST_CHECK;
void zs_ahead_clear(struct zs_ahead *ahead);

/* Bytes of the object that were fetched; NULL when not all of these were. */
const unsigned char *zs_ahead_find(const struct zs_ahead *ahead, uint64_t offset, uint64_t size);

#endif
