/* codec/compression.h: how chunks are compressed, for people, and whether they can be trusted. */
#ifndef ZS_CODEC_COMPRESSION_H
#define ZS_CODEC_COMPRESSION_H

#include "zarr/node.h"

/* The compressor of the innermost chunks, else that of whole shards, as GTiff spells it: "ZSTD", "DEFLATE". NULL where
 * nothing is compressed, and for others: rasterio fails on a name that it does not know, and makes of this one a
 * creation option. Only names are looked at: whether the codecs can be used is another question. */
const char *zs_compression_name(const struct zs_array_meta *meta);

/* Whether each innermost chunk has a crc32c, as CHUNK_CHECKSUM=YES makes it. */
bool zs_has_chunk_checksum(const struct zs_array_meta *meta);

#endif
