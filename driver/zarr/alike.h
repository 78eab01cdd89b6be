/* zarr/alike.h: compares documents of an array by their meaning. Texts differ where one writer spells out a default and
 * another one leaves it out. zarr-python spells defaults out in consolidated metadata, also of documents of other
 * writers. */
#ifndef ZS_ZARR_ALIKE_H
#define ZS_ZARR_ALIKE_H

#include "zarr/node.h"

/* Whether two values of a member of an array's document (NULL: it is absent) store and decode the same chunks. How
 * chunks are encoded may differ: the level of a compressor, the filter of blosc.
 *   meta  the array, for values of its data type; NULL: not known, and then these are compared as texts */
bool zs_is_alike(const struct zs_array_meta *meta, const char *member, const zs_json *a, const zs_json *b);

#endif
