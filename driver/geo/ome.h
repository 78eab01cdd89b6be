/* geo/ome.h: OME-NGFF 0.5 (and 0.4, without `ome`): images as pyramids, coordinate transformations. Internal to the
 * core. */
#ifndef ZS_GEO_OME_H
#define ZS_GEO_OME_H

#include "geo/conventions.h"

extern const struct zs_convention zs_ome;

#endif
