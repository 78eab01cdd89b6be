/* codec/codec.h: codecs, each a row of one table (codec.c), and the stages that a chain of them is compiled to. Adding
 * a codec is one file, or a few lines in the file of its family, and one row. */
#pragma once

#include "base/checked.h"
#include "base/memory.h"
#include "zarr/dtype.h"
#include "zarr/json.h"

struct zs_codec;
struct zs_level;

/* ---- What one worker needs while it encodes or decodes (scratch.c): library contexts, which cost as much to make as a
 * small chunk to decode, and buffers, whose first touch costs more than decoding into them. Kept for the next worker.
 * ---- */

struct zs_scratch;

enum zs_scratch_buffer_use {
    ZS_SCRATCH_CODEC_A, /* of codec/codec.c */
    ZS_SCRATCH_CODEC_B,
    ZS_SCRATCH_STAGE_A, /* of codec/stages.c */
    ZS_SCRATCH_STAGE_B,
    ZS_SCRATCH_STORED,  /* what the bytes codecs of a chunk gave, for the stages before them */
    ZS_SCRATCH_PACKED,   /* of codec/chain.c */
    ZS_SCRATCH_PROMOTED, /* of codec/zfp.c */
    ZS_SCRATCH_FETCHED, /* encoded bytes as they came from the store */
    ZS_SCRATCH_DECODED, /* one decoded chunk */
    ZS_SCRATCH_BUFFERS
};

enum zs_scratch_context_use {
    ZS_SCRATCH_ZSTD_DECODER,
    ZS_SCRATCH_ZSTD_ENCODER,
    ZS_SCRATCH_DEFLATE_DECODER,
    ZS_SCRATCH_DEFLATE_ENCODER,
    ZS_SCRATCH_INFLATE_STREAM,
    ZS_SCRATCH_CONTEXTS
};

/* A scratch for this worker alone, new or used before. NULL without memory. */
struct zs_scratch *zs_scratch_acquire(void);
void zs_scratch_release(struct zs_scratch *scratch); /* NULL is allowed */

/* Frees all but the smallest buffers of scratches that are not in use. */
void zs_scratch_trim(void);

/* The buffer for one use, with whatever an earlier use left in it. It belongs to the scratch. */
struct zs_buffer *zs_scratch_buffer(struct zs_scratch *scratch, enum zs_scratch_buffer_use use);

/* A library context, NULL until set. The scratch releases it with destroy. `tag` tells contexts of different settings
 * apart (a compression level): a context of another tag is released and NULL returned. */
void *zs_scratch_context(struct zs_scratch *scratch, enum zs_scratch_context_use use, int tag);
void zs_scratch_set_context(struct zs_scratch *scratch, enum zs_scratch_context_use use, int tag, void *context,
                            void (*destroy)(void *));

/* ---- The blocks of an encoded chunk, which can be decoded one by one (codec.c) ---- */

/* Bytes that a codec keeps of the beginning of a chunk. */
#define ZS_BLOCKS_HEAD 16

struct zs_blocks {
    uint64_t tag;        /* the caller's: which bytes this was read from */
    uint64_t size;       /* bytes that all of them decode to, in order */
    uint64_t block_size; /* of each but the last, which has the rest */
    size_t count;        /* 0: the chunk has no blocks, and is decoded as a whole */
    bool is_plain;       /* block i is not encoded, at plain_at + i * block_size */
    uint64_t plain_at;
    unsigned char head[ZS_BLOCKS_HEAD]; /* the codec's */
    struct zs_block {
        uint32_t offset, size; /* of the chunk's encoded bytes, all within them; not always in order */
    } at[];                    /* none where is_plain */
};

/* Bytes that block `index` decodes to. */
static inline uint64_t zs_block_decoded(const struct zs_blocks *blocks, size_t index)
{
    const uint64_t left = blocks->size - (uint64_t)index * blocks->block_size;
    return left < blocks->block_size ? left : blocks->block_size;
}

/* Where block `index` is in the encoded bytes. */
static inline void zs_block_range(const struct zs_blocks *blocks, size_t index, uint64_t *offset, uint64_t *size)
{
    *offset = blocks->is_plain ? blocks->plain_at + (uint64_t)index * blocks->block_size : blocks->at[index].offset;
    *size = blocks->is_plain ? zs_block_decoded(blocks, index) : blocks->at[index].size;
}

/* Allocates a table of `count` blocks, zeroed, with `at` unless is_plain. NULL without memory; freed with free(). */
struct zs_blocks *zs_blocks_alloc(size_t count, bool is_plain);
/* Divides `size` bytes from plain_at on, which are not encoded, into blocks of block_size > 0. */
struct zs_blocks *zs_blocks_plain(uint64_t size, uint64_t plain_at, uint64_t block_size);
/* Bytes of memory of a table. */
size_t zs_blocks_memory(const struct zs_blocks *blocks);

/* Sets the sizes of blocks whose offsets are set, of n encoded bytes: each ends where another begins, and has `most`
 * bytes at most. False without memory. */
bool zs_blocks_measure(struct zs_blocks *blocks, uint64_t n, uint64_t most);

/* ---- Codecs and their stages ---- */

enum zs_codec_kind { ZS_ARRAY_TO_ARRAY, ZS_ARRAY_TO_BYTES, ZS_BYTES_TO_BYTES };

/* The array between two codecs. */
struct zs_form {
    struct zs_dtype dtype;
    /* the fill value as the codecs so far encode it, in native byte order; zero where one cannot */
    unsigned char fill[ZS_MAX_ITEM_SIZE];
};

/* How a member of a codec's configuration is read: into the state of the stage, as int64_t unless said otherwise. */
enum zs_member_kind {
    ZS_MEMBER_OTHER,   /* by configure() of the codec, or not at all: what an encoder or another reader needs */
    ZS_MEMBER_INTEGER, /* from low to high */
    ZS_MEMBER_CHOICE,  /* a string, as its index in `choices` */
    ZS_MEMBER_BOOL,    /* 0 or 1 */
    ZS_MEMBER_NUMBER   /* finite, as double */
};

/* One that is absent or null has the value `standard`, unless it is required. */
struct zs_member {
    const char *name;
    enum zs_member_kind kind;
    size_t offset; /* in the state */
    int64_t low, high, standard;
    const char *const *choices; /* NULL-terminated */
    bool is_required;
};

/* One codec of a chain, configured. */
struct zs_stage {
    const struct zs_codec *codec;
    void *state; /* the codec's own, of its state_size bytes or what configure() allocated instead; freed with free() */
    /* data types of the array before and after encoding; of bytes: of the array that they hold */
    struct zs_dtype in, out;
    bool is_void; /* it changes nothing for this array, and is left out of the chain */
    unsigned char fill[ZS_MAX_ITEM_SIZE]; /* of the array before it, as in struct zs_form */
};

/* The shape of a chunk as it is stored, slowest dimension first. */
struct zs_stored_shape {
    int ndim;
    uint64_t shape[ZS_MAX_NDIM];
};
/* Its elements; 0 where their number does not fit 64 bits, as of no chunk that was opened (chain.c). */
size_t zs_stored_count(const struct zs_stored_shape *chunk);

struct zs_codec {
    const char *name;
    const char *lacks; /* the library that was absent at build time; such a codec has a name and no more */
    enum zs_codec_kind kind;
    const struct zs_member *members; /* of the configuration, up to one without a name; NULL: it has none */
    size_t state_size;               /* 0: a stage has no state */

    /* Reads what the table of members does not say, and checks the rest, which is in the state. `stage` has its codec
     * and `in`; `out` is `in`. Messages get the codec's name, as those of arrange() do. May be NULL. */
    enum zs_status (*configure)(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err);
    /* Instead of all else, for codecs that set the layout of a chunk (transpose, sharding_indexed): sets it in `level`,
     * and for a shard the shape of its inner chunks in level + 1. */
    enum zs_status (*arrange)(const zs_json *configuration, struct zs_level *level, struct zs_error *err);

    /* -- Array to array or bytes. src and dst are aligned for their data types; they are the same when in.size ==
     * out.size and the codec is elementwise, and else do not overlap. */

    /* Its specification requires that it can encode the fill value. Other codecs need to only where chunks in shards
     * depend on it. */
    bool encodes_fill;
    /* Each element by itself: pushed below sharding, and given any number of elements. Others get whole chunks. */
    bool is_elementwise;
    /* Its output may be called an array of bytes, with a `bytes` codec behind it that does nothing. */
    bool gives_uint8;
    /* NULL: chunks of it are only read. Not of elementwise codecs, which encode the fill value. */
    enum zs_status (*encode_array)(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err);
    /* NULL: what was encoded is the decoded array. */
    enum zs_status (*decode_array)(const struct zs_stage *stage, size_t n, const void *src, void *dst,
                                   struct zs_error *err);

    /* -- Instead, array to bytes that are no elements: of whole chunks only, as the last stage of the innermost level
     * (chain.c). */

    /* Most bytes that a chunk may become. */
    enum zs_status (*packed_bound)(const struct zs_stage *stage, const struct zs_stored_shape *chunk, uint64_t *bound,
                                   struct zs_error *err);
    /* NULL: chunks of it are only read. */
    enum zs_status (*pack)(const struct zs_stage *stage, const struct zs_stored_shape *chunk,
                           struct zs_scratch *scratch, const void *src, struct zs_buffer *out, struct zs_error *err);
    /* `packed` has the capacity of packed_bound(), except of texts; the codec may overwrite bytes behind its size. */
    enum zs_status (*unpack)(const struct zs_stage *stage, const struct zs_stored_shape *chunk,
                             struct zs_scratch *scratch, struct zs_buffer *packed, void *dst, struct zs_error *err);

    /* -- Bytes to bytes. */

    /* Decodes src into dst, at most `capacity` bytes; *produced is how many. More than that, or anything malformed, is
     * ZS_CORRUPT. */
    enum zs_status (*decode)(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             void *dst, size_t capacity, size_t *produced, struct zs_error *err);
    /* The same where the decoded size is not known, but at most `limit`: into `out`, which grows as needed. NULL:
     * decode() gets room for all. */
    enum zs_status (*decode_growing)(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src,
                                     size_t n, size_t limit, struct zs_buffer *out, struct zs_error *err);
    /* Instead of decode, where the decoded bytes are contained in the encoded ones: checks them, and narrows *data and
     * *n to them. Strips at most ZS_STRIP_BYTES. Chunks may be overwritten in place by codecs with this alone: their
     * encoded size is fixed. */
    enum zs_status (*strip)(const struct zs_stage *stage, const unsigned char **data, size_t *n, struct zs_error *err);
    /* Encodes into `out`, which is reset first. */
    enum zs_status (*encode)(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             struct zs_buffer *out, struct zs_error *err);

    /* Both or none: codecs whose encoded bytes are cut into blocks that decode by themselves (struct zs_blocks). */

    /* Reads the table of blocks of n encoded bytes, which decode to `decoded` bytes, from the first `have` of them. If
     * it needs more, *blocks is NULL and *need their number. Returns an empty table for a chunk without blocks and for
     * an invalid one: decoding it whole reports the error. Bytes that are not encoded get blocks of plain_size. Freed
     * with free(). */
    enum zs_status (*read_blocks)(const unsigned char *head, size_t have, uint64_t n, uint64_t decoded,
                                  uint64_t plain_size, size_t *need, struct zs_blocks **blocks, struct zs_error *err);
    /* Decodes block i, whose encoded bytes are at src, to its zs_block_decoded() bytes. Not called for is_plain. */
    enum zs_status (*decode_block)(const struct zs_blocks *blocks, size_t i, struct zs_scratch *scratch,
                                   const void *src, void *dst, struct zs_error *err);
};

#define ZS_STRIP_BYTES 4

/* The codec of that name. ZS_UNSUPPORTED, with the reason in the message, when the codec is unknown or its library was
 * absent at build time. */
enum zs_status zs_codec_find(const char *name, const struct zs_codec **codec, struct zs_error *err);

/* Checks that a configuration (NULL when absent) has no members but those of the codec: others must not be ignored.
 * ZS_INVALID with the name of the first. */
enum zs_status zs_codec_check_members(const struct zs_codec *codec, const zs_json *configuration, struct zs_error *err);

/* Configures a stage for an array of `form`, which becomes what the codec gives: its data type, and the fill value that
 * an elementwise codec makes. Not for codecs with `arrange`. On failure nothing needs to be released; else
 * zs_stage_clear(). */
enum zs_status zs_stage_parse(const struct zs_codec *codec, const zs_json *configuration, struct zs_form *form,
                              struct zs_stage *stage, struct zs_error *err);
void zs_stage_clear(struct zs_stage *stage);

/* ---- Stages that take arrays (stages.c) ---- */

/* Undoes the stages, last first, for one chunk of n elements: src is what the last one gave, dst takes what the first
 * one received. src may be dst where zs_stages_keep_size(), and need not be aligned. */
enum zs_status zs_stages_decode(const struct zs_stage *stages, int count, size_t n, struct zs_scratch *scratch,
                                const void *src, void *dst, struct zs_error *err);
/* Applies the stages, all elementwise, in order to one chunk. *encoded is src, changed in place where
 * zs_stages_keep_size(), or memory of the scratch that is valid until its next use. */
enum zs_status zs_stages_encode(const struct zs_stage *stages, int count, size_t n, struct zs_scratch *scratch,
                                void *src, const void **encoded, struct zs_error *err);
/* Whether all of them are elementwise and leave the size of an element alone. */
bool zs_stages_keep_size(const struct zs_stage *stages, int count);

/* Whether an element comes out of the stages, all elementwise, as it went in (NaN as any NaN). */
bool zs_stages_keep_element(const struct zs_stage *stages, int count, const void *element);

/* ---- Stages that take bytes (codec.c) ---- */

/* Decodes with the codecs in reverse order into dst. The last step must give exactly n_dst bytes: else ZS_CORRUPT, with
 * expected and found. dst must not overlap src. */
enum zs_status zs_bytes_decode(const struct zs_stage *codecs, int count, struct zs_scratch *scratch, const void *src,
                               size_t n, void *dst, size_t n_dst, struct zs_error *err);

/* Like zs_bytes_decode(), when the decoded size is not known, but at most `limit`: into `out`, which is reset first. */
enum zs_status zs_bytes_decode_up_to(const struct zs_stage *codecs, int count, struct zs_scratch *scratch,
                                     const void *src, size_t n, size_t limit, struct zs_buffer *out,
                                     struct zs_error *err);
/* Encodes with the codecs in order. *encoded is either src itself (no codec) or memory of the scratch that is valid
 * until its next use. */
enum zs_status zs_bytes_encode(const struct zs_stage *codecs, int count, struct zs_scratch *scratch, const void *src,
                               size_t n, const void **encoded, size_t *n_encoded, struct zs_error *err);

/* Most bytes that `n` bytes may be encoded to by a chain of known codecs. Bounds intermediate results. */
size_t zs_bytes_bound(size_t n);

/* ---- What codecs share ---- */

/* The members of `bytes` (or `endian`, its name before 2023), in a state that is an int64_t: whether the order of bytes
 * is big-endian (bytes.c). */
extern const struct zs_member zs_endian_members[];

/* Copies n bytes, and reverses the bytes of each element of `size` bytes. `to` is `from`, or does not overlap it. */
void zs_swap_bytes(const void *from, void *to, size_t n, size_t size);

/* Numbers from one data type to another, by value (cast.c; zarr-extensions codecs/cast_value, "Procedure"). */

enum zs_rounding { ZS_NEAREST_EVEN, ZS_TOWARDS_ZERO, ZS_TOWARDS_POSITIVE, ZS_TOWARDS_NEGATIVE, ZS_NEAREST_AWAY };
enum zs_out_of_range { ZS_RANGE_ERROR, ZS_RANGE_CLAMP, ZS_RANGE_WRAP };

/* A value that is not cast but replaced. */
struct zs_mapped {
    unsigned char from[8], to[8]; /* native byte order */
};

struct zs_cast {
    enum zs_data_type from, to; /* int8 to uint64, float16 to float64 */
    enum zs_rounding rounding;  /* where `to` has not that many digits */
    enum zs_out_of_range out_of_range;
    /* Looked at first; the first that matches counts. NaN matches NaN, and zero either zero. */
    const struct zs_mapped *map;
    size_t map_count;
};

/* Whether zs_cast_elements() knows the type: a real number. */
bool zs_is_number(enum zs_data_type type);
bool zs_is_integer(enum zs_data_type type);

/* Casts n elements. src and dst are aligned, and may be the same where the sizes are. ZS_INVALID names a value that has
 * none in the other type. Infinite results of finite values are out of range; clamped they are infinite. */
enum zs_status zs_cast_elements(const struct zs_cast *cast, size_t n, const void *src, void *dst, struct zs_error *err);

/* Checksums (checksums.c): the Castagnoli CRC of RFC 3720, as the crc32c codec and shard indexes use it, and those that
 * come with libdeflate (gzip.c). */

/* CRC32C of n bytes (initial value and final inversion included): "123456789" gives 0xE3069283. */
uint32_t zs_crc32c(const void *data, size_t n);

/* Computes it without special instructions: the reference that tests compare with. */
uint32_t zs_crc32c_portable(const void *data, size_t n);

/* crc32 and adler32 of zlib, of n bytes: "123456789" gives 0xCBF43926 and 0x091E01DE. */
uint32_t zs_crc32(const void *data, size_t n);
uint32_t zs_adler32(const void *data, size_t n);

/* ---- Frames of zstd outside of chunks (zstd.c) ---- */

/* Decodes one frame of n bytes, whether or not it declares its size, into `out` (from its start), which grows as needed
 * up to `limit` bytes. ZS_UNSUPPORTED where this build has no zstd. */
enum zs_status zs_zstd_decode(const void *src, size_t n, size_t limit, struct zs_buffer *out, struct zs_error *err);

/* ---- Texts (texts.c): arrays of text are arrays of pointers. An element in memory is a `const unsigned char *` to
 * what is stored of a text: dtype.text_size bytes, code points of UTF-32 as little-endian uint32; or, of texts of any
 * length, a little-endian uint32 and as many bytes of UTF-8. So elements of any length are copied, merged and compared
 * with the fill value as others are; only these codecs, and who makes texts of them (array/strings.c), follow the
 * pointer. An element that equals the fill value is that pointer. ---- */

/* Bytes that are stored of a text. */
static inline size_t zs_text_stored_size(const struct zs_dtype *dtype, const unsigned char *stored)
{
    return dtype->text_size != 0 ? dtype->text_size : 4 + (size_t)zs_load_le32(stored);
}

/* Whether two texts of an array are stored alike. */
bool zs_text_equals(const struct zs_dtype *dtype, const unsigned char *a, const unsigned char *b);

/* Sets *codec to the one that encodes texts under the same name; transposes, shards and codecs of bytes stay.
 * ZS_UNSUPPORTED for codecs of numbers, ZS_INVALID for one that is not of this type of text. */
enum zs_status zs_codec_of_texts(const struct zs_dtype *dtype, const struct zs_codec **codec, struct zs_error *err);
