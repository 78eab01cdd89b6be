/* gdal/raster/healpix_target.h: HEALPix cells of all the sphere as what is written: the grid that a raster must
 * have, and the command that makes it. */
#pragma once

#include <string>

#include "gdal/compat.h"

extern "C"
{
#include "geo/healpix.h"
}

/* All cells of an order in their nested order, on the ellipsoid of `srs`; with nullptr on WGS 84. *isPlane: whether
 * that is the plane of HEALPix as this driver shows it. */
struct zs_healpix zsHealpixTarget(int order, const OGRSpatialReference *srs, bool *isPlane);

/* Whether a transform is that of the cells' plane, to a thousandth of a pixel. */
bool zsIsHealpixTransform(const struct zs_healpix &healpix, const double *transform);

/* Arguments of gdalwarp that make its pixels cells: "-te ... -ts ...". */
std::string zsHealpixArguments(const struct zs_healpix &healpix);

/* The command of gdalwarp that makes a map of an order, for messages. */
std::string zsHealpixAdvice(int order);

/* Whether a source's pixels are the cells of an order, which `healpix` becomes; else false with CPLError emitted. */
bool zsCheckHealpixPlane(GDALDataset &source, int order, struct zs_healpix &healpix);
