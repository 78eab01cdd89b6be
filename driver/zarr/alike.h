/* zarr/alike.h: compares documents by their meaning. Texts differ where one writer spells out a default and another one
 * leaves it out. zarr-python spells defaults out in consolidated metadata, also of documents of other writers. So what
 * is compared are copies in one spelling: defaults are spelled out, numbers and fill values are printed in one way, and
 * members that are empty or have no meaning are left out. */
#pragma once

#include "zarr/node.h"

/* Copies a document in that spelling, without consolidated metadata. NULL without memory; freed with zs_json_free().
 *   meta  the array, for values of its data type; NULL: a group, or not known, and then these stay as they are */
zs_json *zs_spelled(const struct zs_array_meta *meta, const zs_json *document);

/* Whether two values of a member of an array's document (NULL: it is absent) store and decode the same chunks. How
 * chunks are encoded may differ: the level of a compressor, the filter of blosc. False without memory.
 *   meta  as above */
bool zs_is_alike(const struct zs_array_meta *meta, const char *member, const zs_json *a, const zs_json *b);
