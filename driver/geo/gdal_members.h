/* geo/gdal_members.h: what GDAL's own Zarr driver says of a place, in attributes of the array (FORMATS 4.8): `_CRS`,
 * and `gdal:geotransform` where that is rotated. Internal to the core. */
#ifndef ZS_GEO_GDAL_MEMBERS_H
#define ZS_GEO_GDAL_MEMBERS_H

#include "geo/conventions.h"

extern const struct zs_convention zs_gdal_members;

#endif
