/* array/scatter.h: from decoded chunks, and parts of them, to the windows of a plan. */
#ifndef ZS_ARRAY_SCATTER_H
#define ZS_ARRAY_SCATTER_H

#include "array/plan.h"

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
