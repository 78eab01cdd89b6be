/* array/array.h: an opened N-dimensional array. What the public header (shardedzarr.h) does not have: opening from a
 * hierarchy, and what the rooms above need. */
#pragma once

#include "zarr/document.h"
#include "zarr/hierarchy.h"

/* Opens the array of `node`, whose hierarchy (and store) must outlive it. Reads nothing but metadata already at hand.
 * Fails with the node's array_status where the array cannot be read. */
enum zs_status zs_array_open_node(struct zs_hierarchy *h, const struct zs_node *node,
                                  const struct zs_array_options *options, struct zs_array **array,
                                  struct zs_error *err);

/* Like zs_array_open_node(), in a store that need not have the node yet: for arrays that are being created. */
enum zs_status zs_array_open_in(struct zs_store *store, const struct zs_node *node,
                                const struct zs_array_options *options, struct zs_array **array, struct zs_error *err);

/* Declares that this process creates the array, so that writing need not look for older shards, and sets the physical
 * order of chunks in its shards (enum zs_chunk_order of shard/writer.h). Called before other threads have the array:
 * this one and the next take no lock. */
void zs_array_set_new(struct zs_array *array, int chunk_order);

/* Sets the order alone, for shards that are new from now on. */
void zs_array_set_order(struct zs_array *array, int chunk_order);
int zs_array_chunk_order(const struct zs_array *array);

/* Number of threads that decode. */
int zs_array_threads(const struct zs_array *array);

/* Whether an element (native order) is read back as it was written: not by BITROUND, say. */
bool zs_array_keeps_element(const struct zs_array *array, const void *element);

/* Takes elements: count[d] of them from start[d] on in each dimension of the array, at src + sum i[d] * stride[d]
 * (bytes; 0 repeats a fill value). `data` is that of the window which wants them. Called from many threads; again for
 * what is read again because others replaced it. */
typedef void (*zs_take_fn)(void *ctx, void *data, const uint64_t *start, const uint64_t *count, const void *src,
                           const ptrdiff_t *stride);

/* Like zs_array_read_windows(), for callers that place elements themselves: the strides of the windows are not used. */
enum zs_status zs_array_take_windows(struct zs_array *array, const struct zs_window *windows, size_t n, zs_take_fn take,
                                     void *ctx, struct zs_error *err);

/* ---- Windows with steps ---- */

/* Elements of an array, `step` apart in each dimension, and their places in the caller's memory: i[d] < count[d] is
 * element start[d] + i[d] * step[d], at data + sum of i[d] * stride[d] (bytes). */
struct zs_stepped_window {
    int ndim;
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM], step[ZS_MAX_NDIM];
    ptrdiff_t stride[ZS_MAX_NDIM];
    char *data; /* may be NULL, where it is of no use to what the windows are for */
};

/* Most windows of one call: 800 bytes each. */
#define ZS_MOST_WINDOWS ((uint64_t)8192)

typedef enum zs_status (*zs_windows_fn)(void *ctx, const struct zs_window *windows, size_t n, struct zs_error *err);

/* Calls `run` with the windows that a window with steps is made of, ZS_MOST_WINDOWS at a time. Along dimensions that
 * are apart, each element is a window of its own; along others a window goes from the first element to the last,
 * whatever lies between, and stride[d] is that of neighbours in the array. Stops at the first error. */
enum zs_status zs_stepped_windows(const struct zs_stepped_window *stepped, const bool *is_apart, zs_windows_fn run,
                                  void *ctx, struct zs_error *err);

/* ---- What is stored ---- */

/* Finds which windows have stored chunks: is_stored[n]. False: all of the window is fill value. True: it still may be,
 * as in an array that is not sharded. Reads at most the indexes of the shards; data and strides of the windows are
 * ignored. */
enum zs_status zs_array_find_stored(struct zs_array *array, const struct zs_window *windows, size_t n, bool *is_stored,
                                    struct zs_error *err);

/* ---- strings.c: arrays of text ----
 *
 * They name what others hold (bands, stations ...): no rasters, and refused by zs_array_open_node(). Data types
 * `fixed_length_utf32`, `null_terminated_bytes`, and `string` (codec vlen-utf8); then any bytes codecs, with
 * transposes, in shards or not. Each call opens an array of pointers to texts (codec/codec.h), and reads or writes
 * windows of it as others do. Source: zarr-extensions, data-types/string, codecs/vlen-utf8; zarr-python for the fixed
 * ones. */

/* Names are short: more than this, decoded, is not made of one chunk or of all elements together. */
#define ZS_STRINGS_MAX_BYTES ((size_t)16 << 20)

/* For callers that read arrays of text as such: chunks may be as large as those of numbers. */
#define ZS_STRINGS_MAX_CHUNK ((size_t)512 << 20)

/* Takes the element that is number[d] of the request in each dimension: n bytes of UTF-8, without a NUL, and none
 * follows. Called by one thread at a time, in any order; again for what is read again because others replaced it. */
typedef enum zs_status (*zs_text_take_fn)(void *ctx, const uint64_t *number, const char *text, size_t n,
                                          struct zs_error *err);

/* Gives all elements of a request, whose data and strides do not count, to `take`; absent chunks give the fill value.
 * *is_blank, which may be NULL: all chunks are absent. ZS_ARGUMENT: not an array of text, or elements outside of it.
 * ZS_CORRUPT: what is stored is not Unicode, has a NUL in it, or is not laid out as its codecs say. Decodes one chunk
 * at a time; those that decode to more than max_chunk bytes (0: ZS_STRINGS_MAX_BYTES) are refused. */
enum zs_status zs_texts_read(struct zs_hierarchy *h, const struct zs_node *node, size_t max_chunk,
                             const struct zs_stepped_window *request, zs_text_take_fn take, void *ctx, bool *is_blank,
                             struct zs_error *err);

/* The shape of an array of text. ZS_INVALID where it has none. */
enum zs_status zs_strings_shape(const struct zs_node *node, int *ndim, uint64_t *shape, struct zs_error *err);

/* Reads elements [first, first + count) of an array of one dimension. *values is a NULL-terminated list, freed with
 * zs_names_free(); nothing is to be freed on failure. ZS_UNSUPPORTED: more than ZS_STRINGS_MAX_BYTES. Else as above. */
enum zs_status zs_strings_read(struct zs_hierarchy *h, const struct zs_node *node, uint64_t first, uint64_t count,
                               char ***values, bool *is_blank, struct zs_error *err);

/* Gives the element that is number[d] of the request in each dimension: a text that is valid until the next call; NULL
 * is "". */
typedef enum zs_status (*zs_text_give_fn)(void *ctx, const uint64_t *number, const char **text, struct zs_error *err);

/* Writes all elements of a request, and publishes them (zs_array_flush()). Other elements of a chunk stay. ZS_ARGUMENT
 * for elements outside of the array, text that is not UTF-8 or too long, and chunks too large to be read;
 * ZS_UNSUPPORTED for an array of the draft. */
enum zs_status zs_texts_write(struct zs_hierarchy *h, const struct zs_node *node, size_t max_chunk,
                              const struct zs_stepped_window *request, zs_text_give_fn give, void *ctx,
                              struct zs_error *err);
