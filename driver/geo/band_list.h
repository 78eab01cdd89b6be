/* geo/band_list.h: lists with an element for each band. The attribute `gdal:bands` of a group names its arrays in the
 * order of bands, each an object with a `name`, or that name alone. Of an array it has what differs between bands
 * (bands.h), and grows with the array. */
#ifndef ZS_GEO_BAND_LIST_H
#define ZS_GEO_BAND_LIST_H

#include "geo/axes.h"
#include "zarr/json.h"

/* Most slices with an element each in the two lists: together half of the values of a document (ZS_JSON_MAX_VALUES). */
#define ZS_MOST_LISTED_SLICES ((uint64_t)1 << 20)

/* Position of a name in the list; SIZE_MAX where the list lacks it or is absent. */
size_t zs_band_list_place(const zs_json *attributes, const char *name);

/* ZS_NO_MEMORY only. */
enum zs_status zs_band_list_write(zs_json *attributes, const char *const *names, size_t n,
                                  struct zs_error *err) ZS_MUST_CHECK;

/* Grows an array to `shape` (no size may shrink; zs_array_update_document()), and in the same change the lists in its
 * attributes with an element for each slice along X and Y (gdal:bands, a list as long_name): elements stay with their
 * slices, new slices get an empty one. Lists of another length stay. ZS_UNSUPPORTED where a list would exceed
 * ZS_MOST_LISTED_SLICES elements. On failure nothing is changed. */
enum zs_status zs_array_grow(struct zs_hierarchy *h, const struct zs_node *node, const uint64_t *shape,
                             struct zs_error *err) ZS_MUST_CHECK;
/* Makes a copy of attributes with the lists grown, freed with zs_json_free(); *grown is NULL where nothing changes.
 * Sizes `from` and `to` are of all ndim dimensions. */
enum zs_status zs_band_lists_grow(const zs_json *attributes, int ndim, struct zs_axes axes, const uint64_t *from,
                                  const uint64_t *to, zs_json **grown, struct zs_error *err) ZS_MUST_CHECK;

#endif
