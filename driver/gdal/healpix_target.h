/* gdal/healpix_target.h: HEALPix cells of all the sphere as what is written: the grid that a raster must have, and the
 * way there for one that has not. */
#ifndef ZS_GDAL_HEALPIX_TARGET_H
#define ZS_GDAL_HEALPIX_TARGET_H

#include <memory>
#include <string>
#include <vector>

#include "compat.h"

extern "C"
{
#include "geo/healpix.h"
}

/* All cells of an order in their nested order, on the ellipsoid of `srs` where that is the plane of HEALPix as this
 * driver shows it; else, or with nullptr, on WGS 84. *isPlane tells which. */
struct zs_healpix zsHealpixTarget(int order, const OGRSpatialReference *srs, bool *isPlane);

/* Whether a transform is that of the cells' plane, to a thousandth of a pixel. */
bool zsIsHealpixTransform(const struct zs_healpix &healpix, const double *transform);

/* What gdalwarp is to be told for its pixels to be cells: "-te ... -ts ...". */
std::string zsHealpixArguments(const struct zs_healpix &healpix);

/* While it lives, PROJ is quiet about places that are not in the plane: a warp asks for some beyond every edge. Other
 * messages come when it ends. */
class ZSQuietPlaces
{
    struct Message
    {
        CPLErr type;
        CPLErrorNum number;
        std::string text;
    };
    std::vector<Message> m_others;
    static void CPL_STDCALL Take(CPLErr type, CPLErrorNum number, const char *message);

  public:
    ZSQuietPlaces();
    ~ZSQuietPlaces();
    ZSQuietPlaces(const ZSQuietPlaces &) = delete;
    ZSQuietPlaces &operator=(const ZSQuietPlaces &) = delete;
};

/* `source` itself where it is the plane of cells, else a warped dataset in `warped`, which refers to it. Null with
 * CPLError emitted. */
GDALDataset *zsToHealpix(GDALDataset &source, int order, const std::string &resampling, struct zs_healpix &healpix,
                         std::unique_ptr<GDALDataset> &warped);

#endif
