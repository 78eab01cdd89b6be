/* geo/band_list.h: the attribute `gdal:bands` of a group: its arrays in the order of bands, each an object with a
 * `name`, or that name alone. (What it is of an array: bands.h.) */
#ifndef ZS_GEO_BAND_LIST_H
#define ZS_GEO_BAND_LIST_H

#include "zarr/json.h"

/* The place of a name in the list; SIZE_MAX where it is not in it, or there is none. */
size_t zs_band_list_place(const zs_json *attributes, const char *name);

/* ZS_NO_MEMORY only. */
enum zs_status zs_band_list_write(zs_json *attributes, const char *const *names, size_t n,
                                  struct zs_error *err) ZS_MUST_CHECK;

#endif
