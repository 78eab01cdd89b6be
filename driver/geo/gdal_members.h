/* geo/gdal_members.h: what GDAL's own Zarr driver says of a place, in attributes of the array (FORMATS 4.8): `_CRS`,
 * and `gdal:geotransform` where that is rotated, or of an array that names no dimensions. Internal to the core. */
#ifndef ZS_GEO_GDAL_MEMBERS_H
#define ZS_GEO_GDAL_MEMBERS_H

#include "geo/conventions.h"

extern const struct zs_convention zs_gdal_members;

/* Writes the transform (GDAL's order, pixel corners) of an array that names no dimensions: other conventions ask for
 * names. */
enum zs_status zs_gdal_transform_write(zs_json *attributes, const double *transform,
                                       struct zs_error *err) ZS_MUST_CHECK;

#endif
