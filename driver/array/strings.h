/* array/strings.h: arrays of text, which name what others hold (bands, stations ...): no rasters, and refused by
 * zs_array_open_node(). Data types `fixed_length_utf32`, `null_terminated_bytes`, and `string` (codec vlen-utf8); then
 * any bytes codecs, with transposes, in shards or not. Each call opens an array of pointers to texts (codec/codec.h),
 * and reads or writes windows of it as others do. Source: zarr-extensions, data-types/string, codecs/vlen-utf8;
 * zarr-python for the fixed ones. */
#pragma once

#include "zarr/document.h"
#include "zarr/hierarchy.h"

/* Names are short: more than this, decoded, is not made of one chunk or of all elements together. */
#define ZS_STRINGS_MAX_BYTES ((size_t)16 << 20)

/* For callers that read arrays of text as such: chunks may be as large as those of numbers. */
#define ZS_STRINGS_MAX_CHUNK ((size_t)512 << 20)

/* A window with steps. */
struct zs_text_request {
    int ndim;
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM], step[ZS_MAX_NDIM];
    size_t max_chunk; /* bytes: chunks that decode to more are refused; 0: ZS_STRINGS_MAX_BYTES */
};

/* ---- Reading ---- */

/* Takes the element that is number[d] of the request in each dimension: n bytes of UTF-8, without a NUL, and none
 * follows. Called by one thread at a time, in any order; again for what is read again because others replaced it. */
typedef enum zs_status (*zs_text_take_fn)(void *ctx, const uint64_t *number, const char *text, size_t n,
                                          struct zs_error *err);

/* Gives all elements of a request to `take`; absent chunks give the fill value. *is_blank, which may be NULL: all
 * chunks are absent. ZS_ARGUMENT: not an array of text, or elements outside of it. ZS_CORRUPT: what is stored is not
 * Unicode, has a NUL in it, or is not laid out as its codecs say. Decodes one chunk at a time. */
enum zs_status zs_texts_read(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_text_request *request,
                             zs_text_take_fn take, void *ctx, bool *is_blank, struct zs_error *err);

/* Whether the node is an array of text of one dimension; *length is then its number of elements. */
bool zs_strings_length(const struct zs_node *node, uint64_t *length);
/* The shape of an array of text. ZS_INVALID where it has none. */
enum zs_status zs_strings_shape(const struct zs_node *node, int *ndim, uint64_t *shape, struct zs_error *err);

/* The shapes of its chunks (where they differ, the largest) and of the objects that they are stored in, which are the
 * same where it is not sharded. */
enum zs_status zs_strings_chunks(struct zs_hierarchy *h, const struct zs_node *node, uint64_t *chunk, uint64_t *object,
                                 struct zs_error *err);

/* Reads elements [first, first + count) of an array of one dimension. *values is an array of `count` texts, freed with
 * zs_strings_free(). On failure nothing needs to be freed. ZS_UNSUPPORTED: more than ZS_STRINGS_MAX_BYTES. Else as
 * above. */
enum zs_status zs_strings_read(struct zs_hierarchy *h, const struct zs_node *node, uint64_t first, uint64_t count,
                               char ***values, bool *is_blank, struct zs_error *err);
void zs_strings_free(char **values, size_t count);

/* ---- Writing ---- */

/* Makes the document of an array of texts of any length, laid out as the spec (of dtype ZS_UINT8) says. NULL without
 * memory. */
zs_json *zs_strings_document(const struct zs_array_spec *spec);

/* Gives the element that is number[d] of the request in each dimension: a text that is valid until the next call; NULL
 * is "". */
typedef enum zs_status (*zs_text_give_fn)(void *ctx, const uint64_t *number, const char **text, struct zs_error *err);

/* Writes all elements of a request, and publishes them (zs_array_flush()). Other elements of a chunk stay. ZS_ARGUMENT
 * for elements outside of the array, text that is not UTF-8 or too long, and chunks too large to be read;
 * ZS_UNSUPPORTED for an array of the draft. */
enum zs_status zs_texts_write(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_text_request *request,
                              zs_text_give_fn give, void *ctx, struct zs_error *err);
