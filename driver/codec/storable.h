/* codec/storable.h: which elements the elementwise stages of a chain can encode; casts to integers refuse some. */
#ifndef ZS_CODEC_STORABLE_H
#define ZS_CODEC_STORABLE_H

#include "codec/codec.h"

struct zs_storable {
    int count; /* of stages, up to the last that may refuse an element; 0: there is none */
    /* The stages are known to encode all floats from low to high: between what they make of the ends of the stored
     * type. Beyond, and without has_range, they are asked. */
    bool has_range, has_nan; /* has_nan: and NaN */
    double low, high;
};

/* Finds out what the first `count` stages, all elementwise, can encode. */
struct zs_storable zs_storable_of(const struct zs_stage *stages, int count);

/* Checks that they can encode n elements at src, which is aligned. ZS_INVALID with the range and what was found. */
enum zs_status zs_storable_check(const struct zs_storable *storable, const struct zs_stage *stages, size_t n,
                                 const void *src, struct zs_error *err) ZS_MUST_CHECK;

#endif
