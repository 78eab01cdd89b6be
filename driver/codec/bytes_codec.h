/* codec/bytes_codec.h: codecs that turn bytes into bytes (compression, checksums): one file per library, found through one
 * table. */
#ifndef ZS_CODEC_BYTES_CODEC_H
#define ZS_CODEC_BYTES_CODEC_H

#include "base/memory.h"
#include "codec/scratch.h"
#include "zarr/json.h"

struct zs_bytes_codec_type;

/* One codec of a chain with its configuration. What only encoders need is kept too: updating a store writes as it was. */
struct zs_bytes_codec {
    const struct zs_bytes_codec_type *type;
    int level;          /* gzip, zstd, blosc */
    bool checksum;      /* zstd */
    char compressor[8]; /* blosc: cname */
    int shuffle;        /* blosc: 0 none, 1 bytes, 2 bits */
    int typesize;       /* blosc */
    int blocksize;      /* blosc */
};

struct zs_bytes_codec_type {
    const char *name;
    /* Reads the configuration (NULL when absent; defaults are the library's). Decoding never depends on it. */
    enum zs_status (*parse)(const zs_json *configuration, struct zs_bytes_codec *codec, struct zs_error *err);
    /* Decodes src into dst, at most `capacity` bytes; *produced is how many. More than that, or anything malformed, is
     * ZS_CORRUPT. */
    enum zs_status (*decode)(struct zs_scratch *scratch, const void *src, size_t n, void *dst, size_t capacity,
                             size_t *produced, struct zs_error *err);
    /* Instead of decode, where the decoded bytes are the beginning of the encoded ones: checks, and lowers *n. */
    enum zs_status (*strip)(const unsigned char *data, size_t *n, struct zs_error *err);
    /* Encodes into `out`, which is reset first. */
    enum zs_status (*encode)(const struct zs_bytes_codec *codec, struct zs_scratch *scratch, const void *src, size_t n,
                             struct zs_buffer *out, struct zs_error *err);
};

/* The type of that name. ZS_UNSUPPORTED when it is unknown, or when its library was absent at build time; the message
 * tells which. */
enum zs_status zs_bytes_codec_find(const char *name, const struct zs_bytes_codec_type **type, struct zs_error *err) ZS_MUST_CHECK;

/* Decodes with the codecs in reverse order into dst. The last step must give exactly n_dst bytes: else ZS_CORRUPT, with
 * expected and found. dst must not overlap src. */
enum zs_status zs_bytes_decode(const struct zs_bytes_codec *codecs, int count, struct zs_scratch *scratch, const void *src,
                               size_t n, void *dst, size_t n_dst, struct zs_error *err) ZS_MUST_CHECK;

/* The same when the decoded size is not known, only that it is at most `limit`: into `out`, which is reset first. */
enum zs_status zs_bytes_decode_up_to(const struct zs_bytes_codec *codecs, int count, struct zs_scratch *scratch,
                                     const void *src, size_t n, size_t limit, struct zs_buffer *out,
                                     struct zs_error *err) ZS_MUST_CHECK;

/* Encodes with the codecs in order. *encoded is either src itself (no codec) or memory of the scratch that is valid until
 * its next use. */
enum zs_status zs_bytes_encode(const struct zs_bytes_codec *codecs, int count, struct zs_scratch *scratch, const void *src,
                               size_t n, const void **encoded, size_t *n_encoded, struct zs_error *err) ZS_MUST_CHECK;

/* Most bytes that `n` bytes may become in a chain of known codecs: none of them expands by more. Bounds what an
 * intermediate result may claim. */
size_t zs_bytes_bound(size_t n);

#endif
