#include <algorithm>
#include <cmath>

#include <ogr_spatialref.h>

#include "dataset.h"

extern "C"
{
#include "raster/healpix.h"
}

/* ---- The plane ---- */

/* The ellipsoid is compared in another way. */
static bool isPlaneOfCells(const OGRSpatialReference &srs)
{
    char *text = nullptr;
    const ZSQuiet quiet;
    const bool isKnown = srs.exportToProj4(&text) == OGRERR_NONE && text != nullptr;
    const CPLStringList words(CSLTokenizeString(isKnown ? text : ""));
    CPLFree(text);
    const auto is = [&words](const char *name, const char *value, const char *usual)
    { return EQUAL(words.FetchNameValueDef(name, usual), value); };
    return is("+proj", "healpix", "") && is("+rot_xy", "45", "") && is("+lon_0", "0", "0") && is("+x_0", "0", "0") &&
           is("+y_0", "0", "0") && is("+units", "m", "m") && words.FetchNameValue("+pm") == nullptr;
}

struct zs_healpix zsHealpixTarget(int order, const OGRSpatialReference *srs, bool *isPlane)
{
    struct zs_healpix healpix = {};
    healpix.order = order;
    (void)zs_healpix_set_ellipsoid(&healpix, "WGS84", 0, 0);
    struct zs_healpix own = healpix;
    OGRErr isUnknown = OGRERR_NONE;
    const bool hasOwn =
        srs != nullptr && srs->GetSemiMajor(&isUnknown) > 0 && isUnknown == OGRERR_NONE &&
        zs_healpix_set_ellipsoid(&own, nullptr, srs->GetSemiMajor(), srs->GetInvFlattening());
    *isPlane = hasOwn && isPlaneOfCells(*srs);
    return hasOwn ? own : healpix;
}

/* ---- The grid ---- */

static bool findTransform(const struct zs_healpix &healpix, double *transform)
{
    struct zs_georef georef = {};
    zsHealpixGeoref(healpix, ZS_HEALPIX_SPHERE, georef);
    std::copy(georef.transform, georef.transform + 6, transform);
    const bool isKnown = georef.has_transform;
    zs_georef_clear(&georef);
    return isKnown;
}

static int sizeOf(int order)
{
    return ZS_HEALPIX_SIDE << order;
}

bool zsIsHealpixTransform(const struct zs_healpix &healpix, const double *transform)
{
    double own[6];
    if (!findTransform(healpix, own))
        return false;
    const double size = sizeOf(healpix.order), most = 1e-3 * own[1];
    bool isSame = true;
    for (int i = 0; i < 6; i++) // the corners of the last pixel, too
        isSame = isSame && std::fabs(transform[i] - own[i]) * (i % 3 == 0 ? 1 : size) <= most;
    return isSame;
}

std::string zsHealpixArguments(const struct zs_healpix &healpix)
{
    double t[6];
    const int size = sizeOf(healpix.order);
    if (!findTransform(healpix, t))
        return "-ts " + std::to_string(size) + " " + std::to_string(size);
    // Inwards by a micrometre: the cells astride 180 degrees are at the very edge of what PROJ takes.
    const double edge = std::floor(t[3] * 1e6 - 1) / 1e6;
    return CPLSPrintf("-te %.6f %.6f %.6f %.6f -ts %d %d", -edge, -edge, edge, edge, size, size);
}

static bool liesOnGrid(GDALDataset &source, const struct zs_healpix &healpix)
{
    double transform[6];
    return source.GetRasterXSize() == sizeOf(healpix.order) && source.GetRasterYSize() == sizeOf(healpix.order) &&
           zsReadTransform(source, transform) && zsIsHealpixTransform(healpix, transform);
}

std::string zsHealpixAdvice(int order)
{
    bool isPlane;
    return "gdalwarp -of ShardedZarr -co HEALPIX=" + std::to_string(order) +
           " -t_srs '+proj=healpix +rot_xy=45 +ellps=WGS84' -et 0 " +
           zsHealpixArguments(zsHealpixTarget(order, nullptr, &isPlane)) + " SOURCE TARGET makes it of any raster";
}

bool zsCheckHealpixPlane(GDALDataset &source, int order, struct zs_healpix &healpix)
{
    bool isPlane;
    const char *name = source.GetDescription();
    healpix = zsHealpixTarget(order, source.GetSpatialRef(), &isPlane);
    if (isPlane && liesOnGrid(source, healpix))
        return true;
    return zsRefuse(CPLE_AppDefined,
                    "HEALPIX=%d: %s: expected the %d x %d pixels of the plane of HEALPix cells, found %d x %d "
                    "pixels%s. %s", order, name[0] != '\0' ? zsShown(name).c_str() : "the source", sizeOf(order),
                    sizeOf(order), source.GetRasterXSize(), source.GetRasterYSize(), isPlane ? "" : " in another CRS",
                    zsHealpixAdvice(order).c_str());
}
