/* array/strings.h: arrays of text of one dimension, which name the elements of others (bands, stations ...). Not
 * rasters, not large, not opened: read once, here. Data types `fixed_length_utf32` and `null_terminated_bytes` (with
 * every codec that arrays of numbers have) and `string` (codec vlen-utf8: the number of elements, then of each its
 * length and bytes, all as little-endian uint32; then any bytes codecs; in shards or not). Source: zarr-extensions,
 * data-types/string, codecs/vlen-utf8; zarr-python for the fixed one. */
#ifndef ZS_ARRAY_STRINGS_H
#define ZS_ARRAY_STRINGS_H

#include "zarr/hierarchy.h"

/* More than this, decoded or encoded, is not read from one chunk, nor made of all elements together: names are
 * short. */
#define ZS_STRINGS_MAX_BYTES ((size_t)16 << 20)

/* Whether the node is an array of text of one dimension; *length is then its number of elements. */
bool zs_strings_length(const struct zs_node *node, uint64_t *length);

/* Reads elements [first, first + count) as UTF-8. *values is an array of `count` texts, freed with zs_strings_free();
 * missing chunks give the fill value. *is_blank: no chunk of them is there. On failure nothing needs to be freed.
 * ZS_ARGUMENT: not such an array, or elements outside of it. ZS_CORRUPT: what is stored is not Unicode, has a NUL in
 * it, or is not laid out as above. ZS_UNSUPPORTED: more than ZS_STRINGS_MAX_BYTES, text in shards in shards. */
enum zs_status zs_strings_read(struct zs_hierarchy *h, const struct zs_node *node, uint64_t first, uint64_t count,
                               char ***values, bool *is_blank, struct zs_error *err) ZS_MUST_CHECK;
void zs_strings_free(char **values, size_t count);

/* The document of an array of `count` texts of any length along a dimension (NULL: without a name), in one chunk; NULL
 * without memory. */
zs_json *zs_strings_document(const char *dimension, uint64_t count);
/* Writes all texts of an array of such a document; NULL is "". ZS_ARGUMENT for what is not UTF-8, and for more than
 * ZS_STRINGS_MAX_BYTES, which would not be read. */
enum zs_status zs_strings_write(struct zs_store *store, const struct zs_node *node, const char *const *values,
                                uint64_t count, struct zs_error *err) ZS_MUST_CHECK;

#endif
