/* codec/description.h: how chunks are encoded: as a word for people, and as terms of the metadata for programs that
 * decode chunks by themselves; and which filter of the blosc codec makes the chunks of an array smallest. */
#pragma once

#include "zarr/document.h"

/* The compressor of the innermost chunks, else that of whole shards, as GTiff spells it: "ZSTD", "DEFLATE". NULL where
 * nothing is compressed, and for others: rasterio fails on a name that it does not know, and makes of this one a
 * creation option. Only names are looked at: whether the codecs can be used is another question. */
const char *zs_compression_name(const struct zs_array_meta *meta);

/* The filter of the blosc codec that encodes the innermost chunks, as BLOSC_SHUFFLE names it: "NONE", "BYTE" or "BIT";
 * NULL without that codec. */
const char *zs_blosc_filter_name(const struct zs_array_meta *meta);

/* Sets the filter of that codec, and what goes with it, in the `codecs` of a document. False without that codec, or
 * memory. The header of each blosc frame names its filter: stored chunks are read as before. */
bool zs_blosc_set(zs_json *codecs, const struct zs_blosc_settings *settings);

/* Whether each innermost chunk has a crc32c, as CHUNK_CHECKSUM=YES makes it. */
bool zs_has_chunk_checksum(const struct zs_array_meta *meta);

struct zs_terms {
    const zs_json *compressor; /* the one codec from bytes to bytes, borrowed from the node; NULL: none, or several */
    bool has_endian;           /* elements are plain, of several bytes each, in this order: */
    bool is_big_endian;
    bool is_all; /* nothing else changes the bytes but an order of the dimensions */
};

/* Finds the terms of the innermost chunks of an array that can be opened. Codecs around a shard are left out: its index
 * refers to the bytes before them. */
void zs_terms_find(const struct zs_array_meta *meta, struct zs_terms *terms);

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
