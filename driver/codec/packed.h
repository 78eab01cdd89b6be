/* codec/packed.h: innermost chunks whose last stage gives bytes of no fixed size (codec.h: pack, unpack). */
#ifndef ZS_CODEC_PACKED_H
#define ZS_CODEC_PACKED_H

#include "codec/chain.h"

bool zs_chunk_is_packed(const struct zs_level *level);

/* Most bytes that its last stage may give. */
enum zs_status zs_packed_bound(const struct zs_level *level, uint64_t *bound, struct zs_error *err) ZS_MUST_CHECK;

/* zs_chunk_decode() and zs_chunk_encode() of such an innermost chunk. */
enum zs_status zs_packed_decode(const struct zs_level *level, struct zs_scratch *scratch, const void *src, size_t n,
                                void *dst, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_packed_encode(const struct zs_level *level, struct zs_scratch *scratch, void *src,
                                const void **encoded, size_t *n, struct zs_error *err) ZS_MUST_CHECK;

#endif
