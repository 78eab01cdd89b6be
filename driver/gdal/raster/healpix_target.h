/* gdal/raster/healpix_target.h: HEALPix cells of all the sphere as what is written: the grid that a raster must
 * have, and the way there for one that has not. */
#ifndef ZS_GDAL_HEALPIX_TARGET_H
#define ZS_GDAL_HEALPIX_TARGET_H

#include <functional>
#include <memory>
#include <string>

#include "gdal/compat.h"
#include "healpix_warped.h"

extern "C"
{
#include "geo/healpix.h"
}

/* All cells of an order in their nested order, on the ellipsoid of `srs`; with nullptr on WGS 84. *isPlane: whether
 * that is the plane of HEALPix as this driver shows it. */
struct zs_healpix zsHealpixTarget(int order, const OGRSpatialReference *srs, bool *isPlane);

/* Whether a transform is that of the cells' plane, to a thousandth of a pixel. */
bool zsIsHealpixTransform(const struct zs_healpix &healpix, const double *transform);

/* What gdalwarp is to be told for its pixels to be cells: "-te ... -ts ...". */
std::string zsHealpixArguments(const struct zs_healpix &healpix);

/* Runs `run`, which warps, or reads what is warped. A warp transforms points outside of the plane, and GDAL reports
 * each as a failure, CPLE_AppDefined. These failures are dropped when the run succeeds; when it fails, the last one is
 * reported. Other messages are passed on when it ends. A failure without any message is reported as `what`. */
bool zsRunWarp(const std::string &what, const std::function<bool()> &run);

/* `source` itself where it is the plane of cells, else what is warped of it, which `warped` holds. Null with CPLError
 * emitted, also where no pixel finds a cell; with isStrict where numbers are rounded. */
GDALDataset *zsToHealpix(GDALDataset &source, int order, const std::string &resampling, bool isStrict,
                         struct zs_healpix &healpix, std::unique_ptr<ZSWarpedCells> &warped);

#endif
