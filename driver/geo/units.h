/* geo/units.h: units of coordinate variables against those of a CRS. Internal to the core. */
#ifndef ZS_GEO_UNITS_H
#define ZS_GEO_UNITS_H

#include <ogr_srs_api.h>

#include "zarr/node.h"

/* What values of a coordinate variable are to be multiplied by to be coordinates of the CRS: kilometres beside one in
 * metres, and the other way round; the angles of a geostationary view, as a satellite's instruments scan it, by the
 * satellite's height. 1 of all other units, and without a CRS. */
double zs_coordinate_factor(const struct zs_node *coordinate, OGRSpatialReferenceH srs);

#endif
