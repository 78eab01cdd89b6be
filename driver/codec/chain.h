/* codec/chain.h: the `codecs` of an array, compiled to levels of chunks (core specification, "Codecs"; sharding codec,
 * ZEP 2).
 *
 * Each level is one array -> bytes step. The outermost encodes a chunk of the array's grid; if it is sharding_indexed,
 * its inner chunks are encoded by the next level, and so on to the innermost, whose step is the `bytes` codec. All
 * transposes on the way to a level add up to one permutation, so every shape is kept in the order of the array's own
 * dimensions, and only `axis` has the order in which the level's bytes or index entries are laid out. Codecs that
 * change each element by itself work the same before a shard and in its chunks, so they all become stages of the
 * innermost level. */
#pragma once

#include "codec/codec.h"
#include "zarr/document.h"
#include "zarr/node.h"

/* Shards in shards in shards: deeper than anyone has written, and each level is a round trip. */
#define ZS_MAX_LEVELS 8

struct zs_level {
    int ndim;
    uint64_t shape[ZS_MAX_NDIM]; /* of one chunk of this level, in the array's dimension order */
    int axis[ZS_MAX_NDIM];       /* axis[j]: the array dimension that is dimension j as stored, slowest first */

    struct zs_stage *bytes_codecs; /* applied to the whole encoded chunk of this level */
    int bytes_codec_count;

    bool is_shard;
    /* A shard: */
    uint64_t grid[ZS_MAX_NDIM]; /* inner chunks per dimension, in the array's dimension order */
    uint64_t inner_count;       /* their product */
    bool index_at_start;
    bool index_big_endian;
    int index_checksums; /* crc32c codecs of the index: 0, 1 (usual) ... */
    uint64_t index_size; /* bytes of the encoded index */
    /* The innermost level: */
    /* from the array's elements to the bytes that bytes_codecs receive; those that change nothing are left out */
    struct zs_stage *stages;
    int stage_count;
    bool keeps_fill;          /* the stages give the fill value back as it was; else the array cannot be written */
    const char *only_read;    /* the codec among the stages that does not encode, or NULL */
    size_t item_size;
    bool is_text;             /* elements are texts (codec.h) */
    /* Both: */
    uint64_t decoded_size; /* bytes of a decoded chunk (of a shard: the sum of its innermost chunks) */
    uint64_t stored_size;  /* ... before the bytes_codecs of its innermost chunks */
};

struct zs_chain {
    int count; /* levels; levels[count - 1] is the innermost */
    struct zs_level levels[ZS_MAX_LEVELS];
};

/* Compiles meta->codecs, where chunks differ for the largest. ZS_UNSUPPORTED or ZS_INVALID with the codec's name and
 * member. */
enum zs_status zs_chain_compile(const struct zs_array_meta *meta, struct zs_chain *chain, struct zs_error *err);
void zs_chain_clear(struct zs_chain *chain);

/* Makes a level for smaller chunks; for a shard the shape must consist of whole inner chunks, those of level[1].
 * Everything but the sizes is borrowed from `level`. */
void zs_level_resize(const struct zs_level *level, const uint64_t *shape, struct zs_level *resized);

/* Whether an element (native order) is read back as it was written, by codecs that code each element by itself. */
bool zs_level_keeps_element(const struct zs_level *level, const void *element);

/* Most bytes that an encoded chunk of this level may have; for a shard its chunks at their worst, its index, and as
 * much again for gaps. A larger size in a file is wrong, and nothing is allocated for it. */
size_t zs_level_bound(const struct zs_level *level);

/* Decodes the n bytes of one innermost chunk into dst (decoded_size bytes): elements in native byte order, laid out as
 * stored (dimensions in the order of level->axis). Elements of text point into the scratch, until it decodes again. */
enum zs_status zs_chunk_decode(const struct zs_level *level, struct zs_scratch *scratch, const void *src, size_t n,
                               void *dst, struct zs_error *err);

/* Whether n encoded bytes at src are the elements, as zs_chunk_decode() would copy them, and where they can be read. */
bool zs_chunk_is_plain(const struct zs_level *level, const void *src, size_t n);

/* Like zs_chunk_decode(), for a chunk of which only some elements will be written. ZS_UNSUPPORTED where encoding the
 * others again would change them, as some roundings do. Elements of text can be encoded with the same scratch. */
enum zs_status zs_chunk_decode_for_update(const struct zs_level *level, struct zs_scratch *scratch, const void *src,
                                          size_t n, void *dst, struct zs_error *err);

/* Whether encoded innermost chunks may have blocks. */
bool zs_chunk_has_blocks(const struct zs_level *level);

/* Reads the blocks of an innermost chunk of n encoded bytes, as read_blocks() of its codec (codec.h); each has whole
 * elements. Without codecs it needs no bytes for that. */
enum zs_status zs_chunk_read_blocks(const struct zs_level *level, const void *head, size_t have, uint64_t n,
                                    uint64_t plain_size, size_t *need, struct zs_blocks **blocks, struct zs_error *err);

/* The elements that a block holds: first and count, in the order in which they are stored. */
void zs_chunk_block_elements(const struct zs_level *level, const struct zs_blocks *blocks, size_t index,
                             uint64_t *first, uint64_t *count);

/* Like zs_chunk_decode(), for one block, whose encoded bytes are at src. */
enum zs_status zs_chunk_decode_block(const struct zs_level *level, struct zs_scratch *scratch,
                                     const struct zs_blocks *blocks, size_t index, const void *src, void *dst,
                                     struct zs_error *err);

/* Encodes an innermost chunk: src holds decoded_size bytes laid out as stored, and is undefined afterwards. *encoded as
 * in zs_bytes_encode(). */
enum zs_status zs_chunk_encode(const struct zs_level *level, struct zs_scratch *scratch, void *src,
                               const void **encoded, size_t *n, struct zs_error *err);

/* Whether the last stage of innermost chunks of this level gives bytes that are no elements (codec.h: pack, unpack). */
bool zs_chunk_is_packed(const struct zs_level *level);

/* ---- description.c: how chunks are encoded, as a word for people, and as terms of the metadata for programs that
 * decode chunks by themselves; and which filter of the blosc codec makes the chunks of an array smallest ---- */

/* The compressor of the innermost chunks, else that of whole shards, as GTiff spells it: "ZSTD", "DEFLATE". NULL where
 * nothing is compressed, and for others: rasterio fails on a name that it does not know, and makes of this one a
 * creation option. Only names are looked at: whether the codecs can be used is another question. */
const char *zs_compression_name(const struct zs_array_meta *meta);

/* The filter of the blosc codec that encodes the innermost chunks, as BLOSC_SHUFFLE names it: "NONE", "BYTE" or "BIT";
 * NULL without that codec. */
const char *zs_blosc_filter_name(const struct zs_array_meta *meta);

/* Whether each innermost chunk has a crc32c, as CHUNK_CHECKSUM=YES makes it. */
bool zs_has_chunk_checksum(const struct zs_array_meta *meta);

/* A window of an array's elements, dense, in native byte order. */
struct zs_sample {
    const void *elements;
    int ndim;
    const uint64_t *shape;
};

/* Encodes a sample with each filter, and with the level and the blocks that the array has with it, and gives the one
 * that makes it smallest: "noshuffle", "shuffle" or "bitshuffle". spec->encoding.blosc_shuffle, the guess by
 * data type, stays where no other saves more than a fiftieth. Only sizes count, no times: the same sample gives the
 * same filter wherever blosc is the same.
 *   spec  dtype, fill value, encoding (blosc) and chunk_shape of the array */
enum zs_status zs_filter_choose(const struct zs_array_spec *spec, const struct zs_sample *sample, const char **filter,
                                struct zs_error *err);
