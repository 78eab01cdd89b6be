#include "healpix_target.h"

#include <algorithm>
#include <cmath>

#include <gdal_utils.h>
#include <ogr_spatialref.h>

#include "dataset.h"
#include "healpix.h"

extern "C"
{
#include "raster/healpix.h"
}

/* ---- The plane ---- */

/* Whether a word of a PROJ string says no more than that it is the plane: its figure is asked for otherwise. */
static bool isOfPlane(const std::string &word)
{
    static const char *const plain[] = {"+proj=healpix", "+rot_xy=45", "+lon_0=0", "+x_0=0", "+y_0=0",
                                        "+units=m",      "+no_defs",   "+type=crs", "+wktext"};
    static const char *const figures[] = {"+datum=", "+ellps=", "+a=", "+b=", "+rf=", "+f=", "+R=", "+towgs84="};
    const auto begins = [&word](const char *figure) { return word.compare(0, strlen(figure), figure) == 0; };
    return std::find(std::begin(plain), std::end(plain), word) != std::end(plain) ||
           std::any_of(std::begin(figures), std::end(figures), begins);
}

static bool isPlaneOfCells(const OGRSpatialReference &srs)
{
    char *text = nullptr;
    const CPLErrorStateBackuper kept;
    const CPLErrorHandlerPusher quiet(CPLQuietErrorHandler);
    const bool isKnown = srs.exportToProj4(&text) == OGRERR_NONE && text != nullptr;
    const CPLStringList words(CSLTokenizeString(isKnown ? text : ""));
    CPLFree(text);
    bool isPlane = words.FindString("+proj=healpix") >= 0 && words.FindString("+rot_xy=45") >= 0;
    for (int i = 0; i < words.size(); i++)
        isPlane = isPlane && isOfPlane(words[i]);
    return isPlane;
}

struct zs_healpix zsHealpixTarget(int order, const OGRSpatialReference *srs, bool *isPlane)
{
    struct zs_healpix healpix = {};
    healpix.order = order;
    (void)zs_healpix_set_ellipsoid(&healpix, "WGS84", 0, 0);
    struct zs_healpix other = healpix;
    *isPlane = srs != nullptr && isPlaneOfCells(*srs) &&
               zs_healpix_set_ellipsoid(&other, nullptr, srs->GetSemiMajor(), srs->GetInvFlattening());
    return *isPlane ? other : healpix;
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

/* ---- On the way there ---- */

static bool isOfPlaces(const char *message)
{
    return STARTS_WITH(message, "PROJ: ") || strstr(message, "eprojection failed") != nullptr;
}

void CPL_STDCALL ZSQuietPlaces::Take(CPLErr type, CPLErrorNum number, const char *message)
{
    auto &others = static_cast<ZSQuietPlaces *>(CPLGetErrorHandlerUserData())->m_others;
    if (type == CE_Debug)
        CPLDefaultErrorHandler(type, number, message);
    else if (!isOfPlaces(message))
        others.push_back({type, number, message});
}

ZSQuietPlaces::ZSQuietPlaces()
{
    CPLPushErrorHandlerEx(Take, this);
}

ZSQuietPlaces::~ZSQuietPlaces()
{
    CPLPopErrorHandler();
    if (isOfPlaces(CPLGetLastErrorMsg()))
        CPLErrorReset();
    for (const auto &other : m_others)
        CPLError(other.type, other.number, "%s", other.text.c_str());
}

static std::unique_ptr<GDALDataset> warp(GDALDataset &source, const struct zs_healpix &healpix,
                                         const std::string &resampling)
{
    const OGRSpatialReferenceH srs = zs_healpix_crs(&healpix, 0);
    char *wkt = nullptr;
    if (srs != nullptr)
    {
        static const char *const format[] = {"FORMAT=WKT2_2019", nullptr};
        OGRSpatialReference::FromHandle(srs)->exportToWkt(&wkt, format);
        OSRRelease(srs);
    }
    // Each cell has the value of its own place, not of one nearby.
    CPLStringList arguments(CSLTokenizeString("-of VRT -et 0"));
    arguments.AddString("-t_srs");
    arguments.AddString(wkt != nullptr ? wkt : "");
    CPLFree(wkt);
    const CPLStringList grid(CSLTokenizeString(zsHealpixArguments(healpix).c_str()));
    for (int i = 0; i < grid.size(); i++)
        arguments.AddString(grid[i]);
    arguments.AddString("-r");
    arguments.AddString(resampling.empty() || EQUAL(resampling.c_str(), "NEAREST") ? "near" : resampling.c_str());
    GDALRasterBand &band = *source.GetRasterBand(1);
    int hasNodata = FALSE;
    band.GetNoDataValue(&hasNodata);
    if (!hasNodata && GDALDataTypeIsFloating(band.GetRasterDataType()))
    {
        arguments.AddString("-dstnodata");
        arguments.AddString("nan");
    }
    const ZSQuietPlaces quiet;
    GDALWarpAppOptions *options = GDALWarpAppOptionsNew(arguments.List(), nullptr);
    GDALDatasetH sources[] = {GDALDataset::ToHandle(&source)};
    std::unique_ptr<GDALDataset> warped(
        options != nullptr ? GDALDataset::FromHandle(GDALWarp("", nullptr, 1, sources, options, nullptr)) : nullptr);
    GDALWarpAppOptionsFree(options);
    return warped;
}

GDALDataset *zsToHealpix(GDALDataset &source, int order, const std::string &resampling, struct zs_healpix &healpix,
                         std::unique_ptr<GDALDataset> &warped)
{
    bool isPlane;
    healpix = zsHealpixTarget(order, source.GetSpatialRef(), &isPlane);
    if (isPlane && liesOnGrid(source, healpix))
        return &source;
    CPLDebug("ShardedZarr", "HEALPIX=%d: %s is warped", order, source.GetDescription());
    warped = warp(source, healpix, resampling);
    if (warped == nullptr && CPLGetLastErrorType() != CE_Failure)
        CPLError(CE_Failure, CPLE_AppDefined, "HEALPIX=%d: %s cannot be warped", order, source.GetDescription());
    return warped.get();
}
