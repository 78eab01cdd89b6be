/* geo/dggs.h: the dggs convention (zarr-conventions/dggs; FORMATS 7.2): what of a sphere's cells an array holds. Of
 * its grids HEALPix is read, by the names "healpix" and "morton" (zagg). Internal to the room. */
#ifndef ZS_GEO_DGGS_H
#define ZS_GEO_DGGS_H

#include "geo/conventions.h"

extern const struct zs_convention zs_dggs;

#endif
