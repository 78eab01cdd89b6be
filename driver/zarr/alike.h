/* zarr/alike.h: whether two documents say the same of an array, though their texts differ. Other writers spell out what
 * this driver leaves to a default, and the reverse: zarr-python does in consolidated metadata, of documents that it
 * leaves as they are. */
#ifndef ZS_ZARR_ALIKE_H
#define ZS_ZARR_ALIKE_H

#include "zarr/node.h"

/* Whether two values of a member of an array's document (NULL: it is absent) store and decode the same chunks. How
 * chunks are encoded may differ: the level of a compressor, the filter of blosc.
 *   meta  the array, for values of its data type; NULL: not known, and then these are compared as texts */
bool zs_is_alike(const struct zs_array_meta *meta, const char *member, const zs_json *a, const zs_json *b);

#endif
