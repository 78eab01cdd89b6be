/* codec/terms.h: how a chunk is encoded, in the words of the metadata: for those who decode it by themselves. */
#ifndef ZS_CODEC_TERMS_H
#define ZS_CODEC_TERMS_H

#include "zarr/node.h"

struct zs_terms {
    const zs_json *compressor; /* the one codec from bytes to bytes, borrowed from the node; NULL: none, or several */
    bool has_endian;           /* elements are plain, of several bytes each, in this order: */
    bool is_big_endian;
    bool is_all; /* there is nothing else but an order of the dimensions */
};

/* Those of the innermost chunks of an array that can be opened: what is around a shard changes none of the bytes that
 * its index speaks of. */
void zs_terms_find(const struct zs_array_meta *meta, struct zs_terms *terms);

#endif
