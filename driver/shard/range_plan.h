/* shard/range_plan.h: which bytes to fetch together. Pure: no I/O, no shards, just ranges. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zs_range {
    uint64_t offset, size;
    size_t tag; /* the caller's */
};

/* A run of ranges that one request fetches: ranges[first .. first + count) lie within [offset, offset + size). */
struct zs_range_group {
    size_t first, count;
    uint64_t offset, size;
};

struct zs_range_policy {
    uint64_t max_gap; /* fetched between two ranges to save a request */
    /* of a group, unless one range alone is larger: bounds memory, and leaves several requests to run side by side */
    uint64_t max_size;
};

/* Locally a request costs microseconds: merging pays for small neighbours only, and groups stay small so that threads
 * share the work evenly. A remote request costs milliseconds of a server and a connection, in which some hundred
 * kilobytes would have come; not a round trip, since requests are under way side by side. */
struct zs_range_policy zs_range_policy_of(bool is_remote);

/* Sorts the ranges by offset and groups them; ranges may overlap. Groups are written to groups[n] at most; returns how
 * many. */
size_t zs_range_plan(struct zs_range *ranges, size_t n, struct zs_range_policy policy, struct zs_range_group *groups);
