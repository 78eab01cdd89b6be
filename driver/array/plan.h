/* array/plan.h: a read as one plan: which chunks the windows touch, where their bytes are, and what is to be done with
 * them. */
#ifndef ZS_ARRAY_PLAN_H
#define ZS_ARRAY_PLAN_H

#include <stdatomic.h>

#include "array/pending_writes.h"

/* An innermost chunk that some windows touch. */
struct zs_planned {
    struct zs_location where; /* first: zs_locate() sees it */
    struct zs_cache_entry *cached;
    const struct zs_blob *dirty;         /* written and not encoded yet */
    size_t first_overlap, overlap_count; /* of plan.overlaps */
    struct zs_cache_entry *table;        /* read in parts: how it is cut (struct zs_blocks); NULL: whole */
    size_t first_item, item_count;       /* of plan.items: those parts */
};

/* What is decoded at once: a chunk, or one block of a chunk of which little is wanted. */
struct zs_item {
    size_t chunk;
    size_t block;                /* ZS_WHOLE_CHUNK, or a block of the chunk's table */
    struct zs_cache_entry *kept; /* a block that is decoded already */
};
#define ZS_WHOLE_CHUNK SIZE_MAX

/* One window's share of a chunk. */
struct zs_overlap {
    uint64_t chunk;
    size_t window;
};

/* One window's share of a chunk of any level but the last that is known to be empty: its innermost chunks are not
 * looked at. */
struct zs_gap {
    size_t window;
    int level;
    uint64_t number;
};

/* What one item of the parallel loop does. */
struct zs_task {
    size_t shard_first, shard_count; /* locating: chunks[shard_first ...] of one shard */
    size_t first, count;             /* reading: ranges[first ...] of one group, or items[first] alone (count 0) */
    uint64_t offset, size;
};

struct zs_plan {
    struct zs_array *a;
    const struct zs_window *windows;
    size_t window_count;
    zs_convert_fn convert;
    zs_take_fn take;  /* in the place of copying and converting, where it is not NULL */
    void *ctx;        /* of the one or the other */
    bool is_prefetch; /* decode into the cache, place nothing */
    size_t keep;      /* bytes of a chunk used in part that are kept */

    struct zs_overlap *overlaps;
    size_t overlap_count, overlap_room;
    struct zs_gap *gaps;
    size_t gap_count, gap_room;
    struct zs_planned *chunks; /* in order of their shard, then number */
    size_t chunk_count;

    struct zs_task *shards; /* of chunks that are not cached */
    size_t shard_count;
    struct zs_cache_entry ***pins; /* per shard: blobs that locations point into */
    size_t *pin_counts;

    struct zs_item *items; /* of chunks that are read in parts, then of others */
    size_t item_count, item_room;
    struct zs_range *ranges; /* their tags are items */
    struct zs_range_group *groups;
    struct zs_task *tasks;
    size_t task_count;
    size_t decode_count;          /* of items that are not at hand */
    pthread_mutex_t pending_lock; /* shard writers serve one at a time */
    /* More threads wait for bytes than decode: those that have theirs wait for one of a->decode_slots. */
    pthread_mutex_t decode_lock;
    pthread_cond_t decode_done;
    int decoding, decode_slots; /* of the array, or more where blocks are all that is decoded */
    atomic_bool stale;          /* a shard was replaced under us */
};

/* ZS_ARGUMENT when a window reaches beyond the array. */
enum zs_status zs_windows_check(const struct zs_array *a, const struct zs_window *windows, size_t n,
                                struct zs_error *err) ZS_MUST_CHECK;

bool zs_is_empty_window(const struct zs_array *a, const struct zs_window *w);

/* A plan whose array, windows and conversion are set is made in three steps: which chunks (those in the cache are
 * pinned), where the bytes of the others are (indexes are read), what to do. zs_plan_clear() releases it after
 * whichever step. */
void zs_plan_init(struct zs_plan *p);
enum zs_status zs_plan_chunks(struct zs_plan *p, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_plan_locations(struct zs_plan *p, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_plan_tasks(struct zs_plan *p, struct zs_error *err) ZS_MUST_CHECK;
void zs_plan_clear(struct zs_plan *p);

/* Room for `more` items behind the first `count` of a list; false without memory. */
bool zs_make_room(void **items, size_t *room, size_t count, uint64_t more, size_t item_size);

/* The part of level-k chunk `number` that lies in the window: start and count in elements of the array. */
void zs_chunk_overlap(const struct zs_array *a, int k, uint64_t number, const struct zs_window *w, uint64_t *start,
                      uint64_t *count);

/* The smallest box of the chunk that holds all that the windows want of it. */
void zs_wanted_extent(const struct zs_plan *p, const struct zs_planned *c, struct zs_extent *extent);

/* Advances `at` within [low, high) of n dimensions, last fastest; false when it came round. */
bool zs_next_position(int n, uint64_t *at, const uint64_t *low, const uint64_t *high);

/* Whether the chunk is decoded already. */
bool zs_is_at_hand(const struct zs_planned *c);

/* ---- cut.c: reads that are too large for one plan ---- */

typedef enum zs_status (*zs_cut_fn)(void *ctx, const struct zs_window *windows, size_t n, struct zs_error *err);

/* Calls `run` with parts of the windows, one after another, that have at most a->plan_overlaps overlaps with chunks (or
 * lie in one chunk) and are all of them together. Cuts go along whole shards, inside of a shard along its chunks. No
 * chunk is in two parts, and shards that are found absent are not cut. Stops at the first error. */
enum zs_status zs_cut(struct zs_array *a, const struct zs_window *windows, size_t n, zs_cut_fn run, void *ctx,
                      struct zs_error *err) ZS_MUST_CHECK;

/* Innermost chunks that the windows touch, at most: those that several windows touch may be counted more than once.
 * UINT64_MAX when 64 bits cannot count them. */
uint64_t zs_count_chunks(struct zs_array *a, const struct zs_window *windows, size_t n);

/* ---- read_blocks.c: chunks of which little is wanted, and whose codecs can decode a part, are read block by block
 * ---- */

/* After zs_plan_locations(): the chunks that are read in parts get their tables, and an item for each block that is
 * wanted; those that were decoded before are pinned. A chunk that is an object of its own gets its range. */
enum zs_status zs_plan_blocks(struct zs_plan *p, struct zs_error *err) ZS_MUST_CHECK;

/* Decodes a block, its encoded bytes at src, to where it is wanted, and keeps it. */
enum zs_status zs_block_deliver(struct zs_plan *p, const struct zs_item *item, struct zs_scratch *scratch,
                                const void *src, struct zs_error *err) ZS_MUST_CHECK;
/* Places a block that was decoded before. */
void zs_block_scatter(const struct zs_plan *p, const struct zs_item *item);

/* ---- scatter.c: from decoded chunks and blocks to the windows of a plan ---- */

/* All of an innermost chunk. */
void zs_whole_chunk(const struct zs_array *a, uint64_t chunk, struct zs_extent *part);

/* Where an element of a decoded part of a chunk stands. */
const unsigned char *zs_element_at(int ndim, const unsigned char *decoded, const struct zs_extent *part,
                                   const uint64_t *at, const ptrdiff_t *stride);

/* Copies a decoded part of a chunk (NULL: all of it) to all windows that want some of it. NULL bytes: the fill
 * value. */
void zs_scatter(const struct zs_plan *p, const struct zs_planned *c, const unsigned char *decoded,
                const struct zs_extent *part);

/* zs_scatter() of a whole chunk of which zs_chunk_decode_stored() gave the stored elements: they are looked up on their
 * way, which takes the place of the plan's conversion. */
void zs_scatter_stored(const struct zs_plan *p, const struct zs_planned *c, const void *stored);

/* Fills a gap with the fill value. */
void zs_fill_gap(const struct zs_plan *p, const struct zs_gap *g);

/* zs_scatter() of a run: `count` elements of the chunk from number `first` on, in the order in which they are stored.
 */
void zs_scatter_run(const struct zs_plan *p, const struct zs_planned *c, uint64_t first, uint64_t count,
                    const unsigned char *data);

/* How many elements of the chunk the windows take, those of two windows twice. */
uint64_t zs_elements_used(const struct zs_plan *p, const struct zs_planned *c);
/* Whether they take all that lie in the array. */
bool zs_is_wholly_used(const struct zs_plan *p, const struct zs_planned *c);

/* Where the chunk can be decoded in place: one window takes the whole chunk, unconverted, in the layout it is stored
 * in. Else NULL. */
void *zs_direct_destination(const struct zs_plan *p, const struct zs_planned *c);

#endif
