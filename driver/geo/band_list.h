/* geo/band_list.h: lists with an element for each band. The attribute `gdal:bands` of a group names its arrays in the
 * order of bands, each an object with a `name`, or that name alone. Of an array it has what differs between bands
 * (bands.h), and grows with the array. */
#ifndef ZS_GEO_BAND_LIST_H
#define ZS_GEO_BAND_LIST_H

#include "geo/axes.h"
#include "zarr/json.h"

/* Both lists of so many elements are half of what a document may hold (ZS_JSON_MAX_VALUES). */
#define ZS_MOST_LISTED_SLICES ((uint64_t)1 << 20)

/* The place of a name in the list; SIZE_MAX where it is not in it, or there is none. */
size_t zs_band_list_place(const zs_json *attributes, const char *name);

/* ZS_NO_MEMORY only. */
enum zs_status zs_band_list_write(zs_json *attributes, const char *const *names, size_t n,
                                  struct zs_error *err) ZS_MUST_CHECK;

/* Another shape for an array, none of whose sizes is less than it was (zs_array_restate()), and in the same change the
 * lists of its attributes that have an element for each slice along X and Y (gdal:bands, a list as long_name): elements
 * stay with their slices, new slices have an empty one. Lists of another length stay as they are. ZS_UNSUPPORTED where
 * a list would have more than ZS_MOST_LISTED_SLICES elements. On failure nothing is changed. */
enum zs_status zs_array_grow(struct zs_hierarchy *h, const struct zs_node *node, const uint64_t *shape,
                             struct zs_error *err) ZS_MUST_CHECK;
/* What that makes of attributes: a copy, freed with zs_json_free(), or NULL where they stay as they are. */
enum zs_status zs_band_lists_grow(const zs_json *attributes, int ndim, struct zs_axes axes, const uint64_t *from,
                                  const uint64_t *to, zs_json **grown, struct zs_error *err) ZS_MUST_CHECK;

#endif
