/* array/cut.h: reads that are too large for one plan. */
#ifndef ZS_ARRAY_CUT_H
#define ZS_ARRAY_CUT_H

#include "array/array_private.h"

typedef enum zs_status (*zs_cut_fn)(void *ctx, const struct zs_window *windows, size_t n, struct zs_error *err);

/* Calls `run` with parts of the windows, one after another, that have at most a->plan_overlaps overlaps with chunks (or
 * lie in one chunk) and are all of them together. Cuts go along whole shards, inside of a shard along its chunks. No
 * chunk is in two parts, and shards that are found absent are not cut. Stops at the first error. */
enum zs_status zs_cut(struct zs_array *a, const struct zs_window *windows, size_t n, zs_cut_fn run, void *ctx,
                      struct zs_error *err) ZS_MUST_CHECK;

/* Innermost chunks that the windows touch, at most: those that several windows touch may be counted more than once.
 * UINT64_MAX when 64 bits cannot count them. */
uint64_t zs_count_chunks(struct zs_array *a, const struct zs_window *windows, size_t n);

#endif
