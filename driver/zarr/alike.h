/* zarr/alike.h: compares members of documents by their meaning. Texts differ where one writer spells out a default and
 * another one leaves it out: zarr-python spells defaults out in consolidated metadata, also of documents of others. */
#pragma once

#include "zarr/node.h"

/* Whether two values of a member (NULL: it is absent) say the same.
 *   meta       the array, for values of its data type; NULL: a group, or not known
 *   is_stored  how chunks are encoded may differ, if they decode alike: the level of a compressor */
bool zs_is_alike(const struct zs_array_meta *meta, const char *member, const zs_json *a, const zs_json *b,
                 bool is_stored);
