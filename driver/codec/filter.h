/* codec/filter.h: which filter of the blosc codec ("shuffle") makes the chunks of an array smallest. */
#ifndef ZS_CODEC_FILTER_H
#define ZS_CODEC_FILTER_H

#include "zarr/document.h"

/* Encodes samples of an array's elements with each filter, and gives the one that makes them smallest in all:
 * "noshuffle", "shuffle" or "bitshuffle". spec->encoding.blosc_shuffle, the guess by data type, stays where no other
 * saves more than a fiftieth. Only sizes count, no times: the same samples give the same filter wherever blosc is the
 * same.
 *   spec     dtype, fill value and encoding (blosc) of the array; chunk_shape is the shape of a sample, not sharded
 *   samples  count of them, each of dense elements in native byte order */
enum zs_status zs_filter_choose(const struct zs_array_spec *spec, const void *const *samples, size_t count,
                                const char **filter, struct zs_error *err) ZS_MUST_CHECK;

#endif
