/* validate/chunks.h: what is in one stored object: indexes, inner chunks, at every level of nesting. Internal to the
 * room. */
#ifndef ZS_VALIDATE_CHUNKS_H
#define ZS_VALIDATE_CHUNKS_H

#include "shard/range_plan.h"
#include "shard/walk.h"
#include "validate/validate_private.h"

/* A chunk of some level. */
struct zs_checked_chunk {
    struct zs_source bytes;       /* encoded */
    uint64_t origin[ZS_MAX_NDIM]; /* its first element, from that of the stored object */
};

/* A shard whose index was read. */
struct zs_checked_shard {
    int level; /* in the array's chain */
    struct zs_checked_chunk chunk;
    /* of the inner chunks that are stored and lie in the shard, by offset; tag: number in the index */
    struct zs_range *ranges;
    size_t range_count;
    struct zs_range_group *groups; /* what is fetched together */
    size_t group_count;
};

/* One stored object, and what is known of it. */
struct zs_checked_object {
    struct zs_check *c;
    const struct zs_checked_array *array;
    const struct zs_level *levels; /* of this object */
    struct zs_level *own_levels;   /* freed with it; NULL where they are the array's */
    char *key;
    struct zs_object *object; /* NULL: absent, or not to be had */
    bool is_shard;            /* its groups are checked one by one: */
    struct zs_checked_shard shard;
};

/* Opens object `number` of the array, and reads its index where it is a shard whose chunks can be had one by one. What
 * is wrong with it is reported, not returned: ZS_NO_MEMORY and ZS_CANCELLED only, here and below. Released with
 * zs_checked_object_close(), also on failure. */
enum zs_status zs_checked_object_open(struct zs_check *c, const struct zs_checked_array *array, uint64_t number,
                                      struct zs_checked_object *o, struct zs_error *err) ZS_MUST_CHECK;
/* Pieces of work in it that may be done side by side: groups of a shard, or the object as a whole. */
size_t zs_checked_object_tasks(const struct zs_checked_object *o);
enum zs_status zs_checked_object_check(const struct zs_checked_object *o, size_t task,
                                       struct zs_error *err) ZS_MUST_CHECK;
void zs_checked_object_close(struct zs_checked_object *o);

#endif
