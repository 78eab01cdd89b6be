/* codec/zstd.h: frames of zstd outside of chunks. */
#ifndef ZS_CODEC_ZSTD_H
#define ZS_CODEC_ZSTD_H

#include "base/memory.h"

/* Decodes one frame of n bytes, whether or not it says its size, into `out` (from its start), which grows with what is
 * decoded and to `limit` bytes at most. With the dictionary it was made with, or NULL. ZS_UNSUPPORTED where this build
 * has no zstd. */
enum zs_status zs_zstd_decode(const void *dictionary, size_t dictionary_size, const void *src, size_t n, size_t limit,
                              struct zs_buffer *out, struct zs_error *err) ZS_MUST_CHECK;

#endif
