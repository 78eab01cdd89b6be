#include "shard/range_plan.h"

#include <stdlib.h>

static int by_offset(const void *a, const void *b)
{
    const struct zs_range *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

struct zs_range_policy zs_range_policy_of(bool is_remote)
{
    return is_remote ? (struct zs_range_policy){.max_gap = (uint64_t)128 << 10, .max_size = (uint64_t)4 << 20}
                     : (struct zs_range_policy){.max_gap = 4096, .max_size = (uint64_t)512 << 10};
}

size_t zs_range_plan(struct zs_range *ranges, size_t n, struct zs_range_policy policy, struct zs_range_group *groups)
{
    if (n > 1)
        qsort(ranges, n, sizeof *ranges, by_offset);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct zs_range *range = &ranges[i];
        if (count > 0) {
            struct zs_range_group *group = &groups[count - 1];
            const uint64_t group_end = group->offset + group->size, end = range->offset + range->size;
            const uint64_t joined_end = end > group_end ? end : group_end;
            if ((range->offset <= group_end || range->offset - group_end <= policy.max_gap) &&
                (joined_end - group->offset <= policy.max_size || joined_end == group_end)) {
                group->size = joined_end - group->offset;
                group->count++;
                continue;
            }
        }
        groups[count++] = (struct zs_range_group){.first = i, .count = 1, .offset = range->offset, .size = range->size};
    }
    return count;
}
