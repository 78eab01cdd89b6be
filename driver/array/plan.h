/* array/plan.h: a read as one plan, made in steps, each of which looks at all windows:
 *
 *   zs_plan_chunks()     which chunks the windows overlap; those that are decoded already are pinned
 *   zs_plan_locations()  where the bytes of the others are, by the indexes of their shards
 *   zs_plan_blocks()     of which chunks a few blocks are enough
 *   zs_plan_tasks()      what is fetched together, and decoded
 *
 * Then read.c carries out the tasks side by side. */
#pragma once

#include <stdatomic.h>

#include "array/pending.h"

/* An innermost chunk that windows overlap. */
struct zs_planned {
    struct zs_location where; /* first: zs_locate() fills it in */
    struct zs_cache_entry *cached;
    const struct zs_blob *dirty;         /* of a dirty chunk */
    size_t first_overlap, overlap_count; /* of plan.overlaps */
    struct zs_cache_entry *table;        /* its blocks (struct zs_blocks); NULL: it is read whole */
    size_t first_item, item_count;       /* of plan.items: its blocks that are wanted, or the whole chunk */
};

/* A unit of decoding: a chunk, or one block of a chunk of which little is wanted. */
struct zs_item {
    size_t chunk;
    size_t block;                /* ZS_WHOLE_CHUNK, or a block of the chunk's table */
    struct zs_cache_entry *kept; /* a block that is decoded already */
};
#define ZS_WHOLE_CHUNK SIZE_MAX

/* A window and an innermost chunk that it overlaps. */
struct zs_overlap {
    uint64_t chunk;
    size_t window;
};

/* A window and a shard that it overlaps and that is known to be empty: nothing inside it is planned. */
struct zs_gap {
    size_t window;
    uint64_t shard;
};

/* Chunks of the plan that lie in one shard, and are not all at hand: chunks[first_chunk ...]. */
struct zs_planned_shard {
    size_t first_chunk, chunk_count;
    struct zs_pins pins; /* what their locations point into */
};

/* A step of reading: the bytes of a request are fetched, and the items in them delivered; or one item is, for which
 * nothing is fetched by range. */
struct zs_task {
    struct zs_range_group request; /* of plan.ranges; its count is 0 where there is none */
    size_t item;                   /* of plan.items, where there is no request */
};

struct zs_plan {
    struct zs_array *array;
    const struct zs_window *windows;
    size_t window_count;
    zs_convert_fn convert;
    zs_take_fn take;  /* not NULL: instead of copying and converting */
    void *ctx;        /* of `convert` or `take` */
    bool ignores_pending; /* read what is stored, whatever is pending */
    bool is_prefetch;     /* decode into the cache only */
    size_t keep;          /* bytes that are cached of a chunk of which not all is wanted */

    struct zs_overlap *overlaps;
    size_t overlap_count, overlap_room;
    struct zs_gap *gaps;
    size_t gap_count, gap_room;
    struct zs_planned *chunks; /* in order of their shard, then number */
    size_t chunk_count;
    struct zs_planned_shard *shards;
    size_t shard_count;

    struct zs_item *items; /* blocks first, then whole chunks */
    size_t item_count, item_room;
    size_t decode_count; /* of items that are decoded */
    bool has_whole;      /* whole chunks are among them */
    struct zs_range *ranges; /* their tags are items */
    struct zs_task *tasks;
    size_t task_count;

    bool is_last_turn;        /* a shard that was replaced while it was read is an error */
    atomic_bool is_overtaken; /* a shard was: all windows are read again */
};

/* The i-th of the overlap_count windows that want some of a chunk. */
static inline const struct zs_window *zs_planned_window(const struct zs_plan *plan, const struct zs_planned *planned,
                                                        size_t i)
{
    return &plan->windows[plan->overlaps[planned->first_overlap + i].window];
}

/* ZS_ARGUMENT when a window reaches beyond the array. */
enum zs_status zs_windows_check(const struct zs_array *array, const struct zs_window *windows, size_t n,
                                struct zs_error *err);

bool zs_is_empty_window(const struct zs_array *array, const struct zs_window *window);

/* The steps, once array, windows and conversion are set (zs_plan_blocks() is below). zs_plan_clear() releases the plan
 * after any of them. */
enum zs_status zs_plan_chunks(struct zs_plan *plan, struct zs_error *err);
enum zs_status zs_plan_locations(struct zs_plan *plan, struct zs_error *err);
enum zs_status zs_plan_tasks(struct zs_plan *plan, struct zs_error *err);
void zs_plan_clear(struct zs_plan *plan);

/* The part of level-k chunk `number` that lies in the window: start and count in elements of the array. */
void zs_chunk_overlap(const struct zs_array *array, int level, uint64_t number, const struct zs_window *window,
                      uint64_t *start, uint64_t *count);

/* The smallest extent that holds all wanted elements of the chunk. */
void zs_wanted_extent(const struct zs_plan *plan, const struct zs_planned *planned, struct zs_extent *extent);

/* Advances `at` within [low, high) of n dimensions, the last fastest; false when it is back at `low`. */
bool zs_next_position(int n, uint64_t *at, const uint64_t *low, const uint64_t *high);

/* Whether the chunk is decoded already. */
bool zs_is_at_hand(const struct zs_planned *planned);

/* ---- windows.c: reads that are too large for one plan ---- */

/* Splits the windows into parts with at most array->plan_overlaps overlaps (or in one chunk), and calls `run` with one
 * after another. Cuts go between shards, inside of a shard between its chunks. No chunk is in two parts. Stops at the
 * first error. */
enum zs_status zs_cut(struct zs_array *array, const struct zs_window *windows, size_t n, zs_windows_fn run, void *ctx,
                      struct zs_error *err);

/* At most so many innermost chunks overlap the windows; one that several windows overlap may be counted more than once.
 * UINT64_MAX when 64 bits cannot count them. */
uint64_t zs_count_chunks(struct zs_array *array, const struct zs_window *windows, size_t n);

/* ---- read_blocks.c: chunks of which little is wanted are read block by block, where their codecs can ---- */

/* After zs_plan_locations(): chunks that are read block by block get their tables, and an item for each block that is
 * wanted; cached blocks are pinned. A chunk that is an object of its own gets its range. */
enum zs_status zs_plan_blocks(struct zs_plan *plan, struct zs_error *err);

/* Decodes a block, its encoded bytes at src, copies it to the windows and caches it. */
enum zs_status zs_block_deliver(struct zs_plan *plan, const struct zs_item *item, struct zs_scratch *scratch,
                                const void *src, struct zs_error *err);
/* Copies a cached block to the windows. */
void zs_block_scatter(const struct zs_plan *plan, const struct zs_item *item);

/* ---- scatter.c: from decoded chunks and blocks to the windows of a plan ---- */

/* All of an innermost chunk. */
void zs_whole_chunk(const struct zs_array *array, uint64_t chunk, struct zs_extent *extent);

/* Address of element `at` of the array, in an extent that is decoded at `decoded`. */
const unsigned char *zs_element_at(int ndim, const unsigned char *decoded, const struct zs_extent *extent,
                                   const uint64_t *at, const ptrdiff_t *stride);

/* Copies a decoded extent of a chunk (NULL: all of it) to all windows that want some of it. With `decoded` NULL, the
 * fill value. */
void zs_scatter(const struct zs_plan *plan, const struct zs_planned *planned, const unsigned char *decoded,
                const struct zs_extent *extent);

/* Fills a gap with the fill value. */
void zs_fill_gap(const struct zs_plan *plan, const struct zs_gap *gap);

/* Like zs_scatter(), for `count` elements of the chunk from number `first` on, in the order in which they are
 * stored. */
void zs_scatter_run(const struct zs_plan *plan, const struct zs_planned *planned, uint64_t first, uint64_t count,
                    const unsigned char *data);

/* How many elements of the chunk the windows want; one that two windows want counts twice. */
uint64_t zs_elements_used(const struct zs_plan *plan, const struct zs_planned *planned);
/* Whether they want all elements of the chunk that lie in the array. */
bool zs_is_wholly_used(const struct zs_plan *plan, const struct zs_planned *planned);

/* Where the chunk can be decoded in place: one window wants the whole chunk, unconverted, in the layout it is stored
 * in. Else NULL. */
void *zs_direct_destination(const struct zs_plan *plan, const struct zs_planned *planned);
