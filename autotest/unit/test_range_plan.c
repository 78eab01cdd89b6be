/* Which bytes are fetched together: properties of every plan, on random ranges. */
#include "array_store.h"
#include "shard/shard.h"

#define MOST 200

static void check_plan(struct zs_range *ranges, size_t n, struct zs_range_policy policy)
{
    struct zs_range before[MOST];
    struct zs_range_group groups[MOST + 1];
    memcpy(before, ranges, n * sizeof *ranges);
    groups[n].count = 12345; /* nothing is written behind groups[n - 1] */
    const size_t count = zs_range_plan(ranges, n, policy, groups);
    CHECK(count <= n);
    CHECK_EQ_U64(groups[n].count, 12345);

    bool seen[MOST] = {false};
    for (size_t i = 0; i < n; i++) {
        const size_t tag = ranges[i].tag;
        if (CHECK(tag < n && !seen[tag]))
            seen[tag] = true;
        CHECK(ranges[i].offset == before[tag].offset && ranges[i].size == before[tag].size);
        CHECK(i == 0 || ranges[i - 1].offset <= ranges[i].offset);
    }
    size_t next = 0;
    for (size_t g = 0; g < count; g++) {
        const struct zs_range_group *group = &groups[g];
        CHECK_EQ_U64(group->first, next);
        if (!CHECK(group->count > 0))
            return;
        next += group->count;
        uint64_t end = 0;
        for (size_t i = group->first; i < next; i++) {
            CHECK(ranges[i].offset >= group->offset);
            CHECK(ranges[i].offset + ranges[i].size <= group->offset + group->size);
            if (i > group->first && ranges[i].offset > end)
                CHECK(ranges[i].offset - end <= policy.max_gap);
            if (ranges[i].offset + ranges[i].size > end)
                end = ranges[i].offset + ranges[i].size;
        }
        CHECK_EQ_U64(group->offset, ranges[group->first].offset); /* not a byte too many at either end */
        CHECK_EQ_U64(group->offset + group->size, end);
        if (group->size > policy.max_size) /* one range alone is that large, and is the first */
            CHECK_EQ_U64(group->size, ranges[group->first].size > policy.max_size ? end - group->offset : 0);
        if (g > 0) { /* nothing was kept apart without a reason */
            const struct zs_range_group *last = &groups[g - 1];
            const uint64_t last_end = last->offset + last->size, joined = end > last_end ? end : last_end;
            const bool near = group->offset <= last_end || group->offset - last_end <= policy.max_gap;
            CHECK(!near || joined - last->offset > policy.max_size);
        }
    }
    CHECK_EQ_U64(next, n);
}

static void test_random_ranges_are_covered_and_gaps_and_sizes_obeyed(void)
{
    uint64_t rng = 11;
    for (int round = 0; round < 3000; round++) {
        struct zs_range ranges[MOST];
        const size_t n = (size_t)rng_below(&rng, round % 10 == 0 ? MOST : 12);
        const uint64_t spread = 1 + rng_below(&rng, 5000), longest = 1 + rng_below(&rng, 300);
        for (size_t i = 0; i < n; i++)
            ranges[i] = (struct zs_range){rng_below(&rng, spread), rng_below(&rng, longest), i};
        check_plan(ranges, n, (struct zs_range_policy){rng_below(&rng, 100), rng_below(&rng, 1000)});
    }
}

static void test_one_large_range_is_a_group_with_what_lies_in_it(void)
{
    struct zs_range ranges[] = {{0, 5000, 0}, {100, 10, 1}, {5000, 10, 2}};
    struct zs_range_group groups[3];
    CHECK_EQ_U64(zs_range_plan(ranges, 3, (struct zs_range_policy){100, 1000}, groups), 2);
    CHECK_EQ_U64(groups[0].size, 5000);
    CHECK_EQ_U64(groups[0].count, 2);
}

static void test_ranges_at_the_end_of_64_bits(void)
{
    struct zs_range ranges[] = {{UINT64_MAX - 10, 10, 0}, {UINT64_MAX - 30, 10, 1}, {0, 10, 2}};
    check_plan(ranges, 3, (struct zs_range_policy){100, UINT64_MAX});
    check_plan(ranges, 0, (struct zs_range_policy){0, 0});
}

int main(void)
{
    RUN(test_random_ranges_are_covered_and_gaps_and_sizes_obeyed);
    RUN(test_one_large_range_is_a_group_with_what_lies_in_it);
    RUN(test_ranges_at_the_end_of_64_bits);
    return check_result();
}
