/* codec/filter.h: which filter of the blosc codec ("shuffle") makes the chunks of an array smallest. */
#pragma once

#include "zarr/document.h"

/* Windows of an array's elements: `count` of them, each of dense elements in native byte order. */
struct zs_samples {
    const void *const *elements;
    size_t count;
    int ndim;
    const uint64_t *shape; /* of each */
};

/* Encodes samples with each filter, and with the level and the blocks that the array has with it, and gives the one
 * that makes them smallest in all: "noshuffle", "shuffle" or "bitshuffle". spec->encoding.blosc_shuffle, the guess by
 * data type, stays where no other saves more than a fiftieth. Only sizes count, no times: the same samples give the
 * same filter wherever blosc is the same.
 *   spec  dtype, fill value, encoding (blosc) and chunk_shape of the array */
enum zs_status zs_filter_choose(const struct zs_array_spec *spec, const struct zs_samples *samples, const char **filter,
                                struct zs_error *err);
