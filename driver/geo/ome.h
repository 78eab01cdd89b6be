/* geo/ome.h: OME-NGFF 0.5 coordinate transformations. Internal to the room. */
#ifndef ZS_GEO_OME_H
#define ZS_GEO_OME_H

#include "geo/conventions.h"

/* The transform of the array, in GDAL's order and of pixel corners (OME's are of centres), from the image of a group above
 * that lists it as a dataset. False when there is none, or it is not made of scales and translations. */
bool zs_ome_transform(const struct zs_node *node, const struct zs_scope *scope, struct zs_axes axes, double *transform);

#endif
