#include "healpix_target.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include <gdal_alg.h>
#include <gdal_utils.h>
#include <ogr_spatialref.h>

#include "dataset.h"

extern "C"
{
#include "raster/healpix.h"
}

/* ---- The plane ---- */

/* Whether a word of a PROJ string only says that this is the plane of HEALPix; the ellipsoid is compared in another
 * way. */
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

/* ---- Warping to the plane ---- */

namespace
{
struct Message
{
    CPLErr type;
    CPLErrorNum number;
    std::string text;
};

/* Messages during a warp. */
struct Messages
{
    std::vector<Message> others;
    Message last = {CE_None, CPLE_None, ""}; // failures that may come from points outside of the plane
    size_t before = 0; // other messages, which came before the last of those

    static void CPL_STDCALL Take(CPLErr type, CPLErrorNum number, const char *message);
    void Tell(const std::string &failure) const;
};
} // namespace

void CPL_STDCALL Messages::Take(CPLErr type, CPLErrorNum number, const char *message)
{
    auto &taken = *static_cast<Messages *>(CPLGetErrorHandlerUserData());
    if (type == CE_Debug)
        CPLDefaultErrorHandler(type, number, message);
    else if (type == CE_Failure && number == CPLE_AppDefined) // how GDAL reports a point outside of the projection
    {
        taken.last = {type, number, message};
        taken.before = taken.others.size();
    }
    else
        taken.others.push_back({type, number, message});
}

/* `failure`: the message for a run that failed without one; empty when it succeeded. */
void Messages::Tell(const std::string &failure) const
{
    const auto tell = [](const Message &told) { CPLError(told.type, told.number, "%s", told.text.c_str()); };
    bool isTold = failure.empty();
    for (size_t i = 0; i <= others.size(); i++)
    {
        if (!failure.empty() && last.type == CE_Failure && i == before)
            tell(last);
        if (i < others.size())
            tell(others[i]);
        isTold = isTold || (i < others.size() ? others[i].type : last.type) == CE_Failure;
    }
    if (!isTold)
        CPLError(CE_Failure, CPLE_AppDefined, "%s", failure.c_str());
}

bool zsRunWarp(const std::string &what, const std::function<bool()> &run)
{
    Messages messages;
    bool ok;
    {
        const CPLErrorStateBackuper kept;
        const CPLErrorHandlerPusher taking(Messages::Take, &messages);
        // Block by block: since GDAL 3.7 a larger window is warped at once, which fails where there is no face.
        const CPLConfigOptionSetter inBlocks("GDAL_VRT_WARP_USE_DATASET_RASTERIO", "NO", false);
        ok = run();
    }
    messages.Tell(ok ? "" : what);
    return ok;
}

/* ---- The source ---- */

/* Its name in messages. */
static std::string nameOf(GDALDataset &source)
{
    return source.GetDescription()[0] != '\0' ? zsShown(source.GetDescription()) : "the source";
}

constexpr const char *IN_DEGREES = "OGC:CRS84";

/* Whether the units of its dimensions say that a source without a CRS is in degrees. */
static bool isInDegrees(GDALDataset &source)
{
    bool isNorth = false, isEast = false;
    const CSLConstList items = source.GetMetadata();
    for (int i = 0; items != nullptr && items[i] != nullptr; i++)
    {
        const char *units = strstr(items[i], "#units=");
        isNorth = isNorth || (units != nullptr && EQUAL(units, "#units=degrees_north"));
        isEast = isEast || (units != nullptr && EQUAL(units, "#units=degrees_east"));
    }
    return isNorth && isEast;
}

static const OGRSpatialReference *crsOf(GDALDataset &source)
{
    return source.GetSpatialRef() != nullptr ? source.GetSpatialRef() : source.GetGCPSpatialRef();
}

static bool checkCrs(GDALDataset &source, int order)
{
    if (crsOf(source) != nullptr || isInDegrees(source) || source.GetMetadata("RPC") != nullptr ||
        source.GetMetadata("GEOLOCATION") != nullptr)
        return true;
    CPLError(CE_Failure, CPLE_AppDefined,
             "HEALPIX=%d: %s: expected a CRS, which tells the place of each pixel, found none; gdal_translate -a_srs "
             "sets one",
             order, nameOf(source).c_str());
    return false;
}

/* The first integer beyond which a double does not hold all. */
constexpr int64_t NOT_HELD = static_cast<int64_t>(1) << 53;

template <class T> static bool isHeld(T value)
{
    return value <= static_cast<T>(NOT_HELD) && (std::is_unsigned_v<T> || value >= static_cast<T>(-NOT_HELD));
}

/* The nodata of a band of 64-bit integers as an argument of gdalwarp; false where a double does not hold it. */
static bool findNodata(GDALRasterBand &band, std::string &text)
{
    int has = FALSE;
    bool isExact;
    if (band.GetRasterDataType() == GDT_Int64)
    {
        const int64_t nodata = band.GetNoDataValueAsInt64(&has);
        isExact = isHeld(nodata) || nodata == std::numeric_limits<int64_t>::min();
        text = std::to_string(nodata);
    }
    else
    {
        const uint64_t nodata = band.GetNoDataValueAsUInt64(&has);
        isExact = isHeld(nodata);
        text = std::to_string(nodata);
    }
    if (!has)
        text.clear();
    return !has || isExact;
}

template <class T> static bool areHeld(GDALRasterBand &band, GDALDataType type, const std::string &nodata)
{
    const int width = band.GetXSize();
    std::vector<T> row(static_cast<size_t>(width));
    for (int y = 0; y < band.GetYSize(); y++)
    {
        if (band.RasterIO(GF_Read, 0, y, width, 1, row.data(), width, 1, type, 0, 0, nullptr) != CE_None)
            return true; // the copy reports the error
        if (!std::all_of(row.begin(), row.end(),
                         [&](T value) { return isHeld(value) || std::to_string(value) == nodata; }))
            return false;
    }
    return true;
}

/* GDAL warps with doubles. */
static bool checkIntegers(GDALDataset &source, int order, bool isStrict)
{
    for (int b = 1; b <= source.GetRasterCount(); b++)
    {
        GDALRasterBand &band = *source.GetRasterBand(b);
        const GDALDataType type = band.GetRasterDataType();
        std::string nodata;
        if (type != GDT_Int64 && type != GDT_UInt64)
            continue;
        if (!findNodata(band, nodata))
        {
            CPLError(CE_Failure, CPLE_NotSupported,
                     "HEALPIX=%d: %s: band %d: expected a nodata that a double holds, with which pixels are warped, "
                     "found %s",
                     order, nameOf(source).c_str(), b, nodata.c_str());
            return false;
        }
        if (type == GDT_Int64 ? areHeld<int64_t>(band, type, nodata) : areHeld<uint64_t>(band, type, nodata))
            continue;
        CPLError(isStrict ? CE_Failure : CE_Warning, CPLE_NotSupported,
                 "HEALPIX=%d: %s: band %d: numbers beyond 2^53 are rounded: pixels are warped as doubles", order,
                 nameOf(source).c_str(), b);
        if (isStrict)
            return false;
    }
    return true;
}

/* ---- The warp ---- */

static CPLStringList argumentsOf(GDALDataset &source, const struct zs_healpix &healpix, const std::string &resampling)
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
    if (crsOf(source) == nullptr && isInDegrees(source))
    {
        arguments.AddString("-s_srs");
        arguments.AddString(IN_DEGREES);
    }
    if (source.GetMetadata("GEOLOCATION") != nullptr)
    {
        // Points beyond geolocation arrays have no place in the source: from those that GDAL looks at by itself, it
        // finds too few of the pixels of a block of 512 x 128. Four cells apart are near enough.
        for (const char *word : {"-wo", "SAMPLE_GRID=YES", "-wo", "SAMPLE_STEPS=128"})
            arguments.AddString(word);
    }
    const CPLStringList grid(CSLTokenizeString(zsHealpixArguments(healpix).c_str()));
    for (int i = 0; i < grid.size(); i++)
        arguments.AddString(grid[i]);
    arguments.AddString("-r");
    arguments.AddString(resampling.empty() || EQUAL(resampling.c_str(), "NEAREST") ? "near" : resampling.c_str());
    return arguments;
}

static std::unique_ptr<GDALDataset> warp(GDALDataset &source, const CPLStringList &arguments)
{
    std::unique_ptr<GDALDataset> warped;
    GDALWarpAppOptions *options = GDALWarpAppOptionsNew(const_cast<CPLStringList &>(arguments).List(), nullptr);
    GDALDatasetH sources[] = {GDALDataset::ToHandle(&source)};
    zsRunWarp(nameOf(source) + " cannot be warped to HEALPix cells",
              [&]
              {
                  if (options != nullptr)
                      warped.reset(GDALDataset::FromHandle(GDALWarp("", nullptr, 1, sources, options, nullptr)));
                  return warped != nullptr;
              });
    GDALWarpAppOptionsFree(options);
    return warped;
}

/* The nodata of a band as an argument of gdalwarp; "" where there is none. */
static std::string nodataOf(GDALRasterBand &band)
{
    std::string text;
    const GDALDataType type = band.GetRasterDataType();
    if (type == GDT_Int64 || type == GDT_UInt64)
        static_cast<void>(findNodata(band, text)); // which was checked
    else
    {
        int has = FALSE;
        const double nodata = band.GetNoDataValue(&has);
        text = has ? CPLSPrintf("%.17g", nodata) : "";
    }
    return text;
}

static bool isMasked(GDALRasterBand &band)
{
    return (band.GetMaskFlags() & (GMF_ALL_VALID | GMF_NODATA | GMF_ALPHA)) == 0;
}

/* What gdalwarp has to be told of the source's nodata; "" where it asks the bands itself. */
static std::string sourceNodata(GDALDataset &source)
{
    if (isMasked(*source.GetRasterBand(1)))
        return "None"; // since GDAL 3.7 a nodata value would go before the mask
    std::string ofAll;
    bool isWide = false, isAny = false;
    for (int b = 1; b <= source.GetRasterCount(); b++)
    {
        GDALRasterBand &band = *source.GetRasterBand(b);
        const std::string nodata = nodataOf(band);
        isAny = isAny || !nodata.empty();
        isWide = isWide || band.GetRasterDataType() == GDT_Int64 || band.GetRasterDataType() == GDT_UInt64;
        ofAll += (b > 1 ? " " : "") + (nodata.empty() ? "nan" : nodata); // NaN: no whole number
    }
    return isWide && isAny ? ofAll : ""; // gdalwarp asks bands for doubles alone
}

/* Cells without a valid pixel become nodata, in all bands that of the first, which the array has; NaN where there is
 * none. */
static std::unique_ptr<GDALDataset> warpPixels(GDALDataset &source, const struct zs_healpix &healpix,
                                               const std::string &resampling)
{
    CPLStringList arguments = argumentsOf(source, healpix, resampling);
    const auto add = [&arguments](const char *option, const std::string &value)
    {
        arguments.AddString(option);
        arguments.AddString(value.c_str());
    };
    const GDALDataType type = zsTypeOfBands(source);
    std::string nodata = nodataOf(*source.GetRasterBand(1));
    bool isOther = false; // another type or nodata than the first has
    for (int b = 1; b <= source.GetRasterCount(); b++)
    {
        GDALRasterBand &band = *source.GetRasterBand(b);
        isOther = isOther || nodataOf(band) != nodata || band.GetRasterDataType() != type;
    }
    if (!sourceNodata(source).empty())
        add("-srcnodata", sourceNodata(source));
    add("-wo", "UNIFIED_SRC_NODATA=NO"); // a pixel may be nodata in some bands alone
    if (nodata.empty() && GDALDataTypeIsFloating(type))
        nodata = "nan";
    if (!nodata.empty())
        add("-dstnodata", nodata);
    if (isOther) // each band holds the nodata of the first
        add("-ot", GDALGetDataTypeName(type));
    return warp(source, arguments);
}

using Transformer = std::unique_ptr<void, void (*)(void *)>;

/* From pixels of the source to those of the plane. Null where there is none. */
static Transformer transformerOf(GDALDataset &source, GDALDataset &plane)
{
    CPLStringList options;
    if (isInDegrees(source) && crsOf(source) == nullptr)
        options.SetNameValue("SRC_SRS", IN_DEGREES);
    return Transformer(
        GDALCreateGenImgProjTransformer2(GDALDataset::ToHandle(&source), GDALDataset::ToHandle(&plane), options.List()),
        GDALDestroyGenImgProjTransformer);
}

/* Where in the plane some pixels of the source lie, as columns and rows. */
static std::vector<std::pair<int, int>> placesOf(GDALDataset &source, GDALDataset &plane)
{
    constexpr int MANY = 8;
    std::vector<std::pair<int, int>> places;
    const Transformer transformer = transformerOf(source, plane);
    for (int i = 0; i < MANY * MANY && transformer != nullptr; i++)
    {
        double x = (i % MANY + 0.5) * source.GetRasterXSize() / MANY,
               y = (i / MANY + 0.5) * source.GetRasterYSize() / MANY, z = 0;
        int isThere = FALSE;
        if (GDALGenImgProjTransform(transformer.get(), FALSE, 1, &x, &y, &z, &isThere) && isThere && x >= 0 && y >= 0 &&
            x < plane.GetRasterXSize() && y < plane.GetRasterYSize())
            places.emplace_back(static_cast<int>(x), static_cast<int>(y));
    }
    return places;
}

/* Whether any pixel of a raster is not 0; cells near some pixels of the source are looked at first. False where it
 * cannot be read. */
static bool findCovered(GDALDataset &source, GDALDataset &warped, int order, bool *isCovered)
{
    GDALRasterBand &covered = *warped.GetRasterBand(warped.GetRasterCount());
    const int side = covered.GetXSize();
    constexpr int LEAST = 1024;
    std::vector<GByte> values;
    const auto look = [&](int x, int y, int width, int height)
    {
        values.resize(static_cast<size_t>(width) * static_cast<size_t>(height));
        const CPLErr error =
            covered.RasterIO(GF_Read, x, y, width, height, values.data(), width, height, GDT_Byte, 0, 0, nullptr);
        *isCovered =
            error == CE_None && std::any_of(values.begin(), values.end(), [](GByte value) { return value != 0; });
        return error == CE_None;
    };
    *isCovered = false;
    bool ok = true;
    for (const auto &place : placesOf(source, warped))
    {
        const int x = std::max(0, place.first - 1), y = std::max(0, place.second - 1);
        ok = ok && !*isCovered ? look(x, y, std::min(3, side - x), std::min(3, side - y)) : ok;
    }
    if (!ok || *isCovered)
        return ok;
    const ZSHealpixReach reach(source, transformerOf(source, warped).get(), order);
    static_cast<void>(reach.GoThrough(LEAST, false,
                                      [&](const ZSHealpixReach::Square &square, bool mayReach)
                                      {
                                          ok = !mayReach || look(square.x, square.y, square.side, square.side);
                                          return ok && !*isCovered;
                                      }));
    return ok;
}

/* The least order whose cells are smaller than the source; "" where its size is not known. */
static std::string fittingOrder(GDALDataset &source)
{
    constexpr double DEGREE = 111195, SIDE = 6519660; // metres; of a cell of order 0
    double transform[6];
    const OGRSpatialReference *srs = crsOf(source);
    if (srs == nullptr || !zsReadTransform(source, transform))
        return "";
    const double unit = srs->IsGeographic() ? DEGREE : srs->GetLinearUnits();
    const double width = std::hypot(transform[1], transform[4]) * source.GetRasterXSize(),
                 height = std::hypot(transform[2], transform[5]) * source.GetRasterYSize();
    const double order = std::ceil(std::log2(SIDE / (unit * std::min(width, height))));
    return order >= 0 && order < ZS_HEALPIX_MAX_ORDER
               ? CPLSPrintf("; cells of HEALPIX=%d are smaller than this raster", static_cast<int>(order))
               : "";
}

/* Whether any cell got a pixel, valid or not; else emits a CPLError. */
static bool reachesCells(GDALDataset &source, const struct zs_healpix &healpix, const std::string &resampling)
{
    CPLStringList arguments = argumentsOf(source, healpix, resampling);
    for (const char *word : {"-srcnodata", "None", "-dstalpha"})
        arguments.AddString(word);
    const std::unique_ptr<GDALDataset> warped = warp(source, arguments);
    bool isReached = false;
    if (warped == nullptr || !zsRunWarp(nameOf(source) + " cannot be read as HEALPix cells",
                                        [&] { return findCovered(source, *warped, healpix.order, &isReached); }))
        return false;
    if (!isReached)
        CPLError(CE_Failure, CPLE_AppDefined, "HEALPIX=%d: %s: no pixel lies at a cell, of which the middle counts%s",
                 healpix.order, nameOf(source).c_str(), fittingOrder(source).c_str());
    return isReached;
}

/* ---- What is warped ---- */

static bool isOneOf(const std::string &name, const std::initializer_list<const char *> &names)
{
    return std::any_of(names.begin(), names.end(), [&](const char *n) { return EQUAL(name.c_str(), n); });
}

ZSWarpedCells::ZSWarpedCells(GDALDataset &source, std::unique_ptr<GDALDataset> warped,
                             const struct zs_healpix &healpix, const std::string &resampling)
    : m_source(source), m_order(healpix.order), m_columns(source.GetRasterXSize()), m_rows(source.GetRasterYSize()),
      m_isOfAreas(isOneOf(resampling, {"AVERAGE", "RMS", "MODE"})), m_isOfSquares(EQUAL(resampling.c_str(), "RMS")),
      m_warped(std::move(warped)), m_transformer(transformerOf(source, *m_warped)),
      m_reach(source, m_transformer.get(), m_order)
{
    double transform[6];
    const OGRSpatialReference *srs = crsOf(source);
    const bool isGeographic = srs != nullptr ? srs->IsGeographic() != FALSE : isInDegrees(source);
    if (isGeographic && zsReadTransform(source, transform) && transform[2] == 0)
        m_isAround = std::fabs(std::fabs(transform[1]) * m_columns - 360) < 1e-6;
}

/* Whether some of `size` source pixels may be needed for the range from `least` to `most`. The range is widened by an
 * eighth: lines between transformed points are curved, and resampling reads neighbours. */
static bool mayCount(double least, double most, int size)
{
    const double beside = (most - least) / 8 + 1;
    return !(most + beside < 0 || least - beside > size);
}

/* The positions in the source of some points of a window of the plane. False when one has no position, or the window is
 * small. */
bool ZSWarpedCells::FindPlaces(int x, int y, int width, int height, std::vector<double> &xs,
                               std::vector<double> &ys) const
{
    constexpr int MANY = 21, LEAST = 64; // an eighth of LEAST is more than any resampling looks at
    if (m_transformer == nullptr || width < LEAST || height < LEAST)
        return false;
    xs.resize(MANY * MANY);
    ys.resize(xs.size());
    std::vector<double> zs(xs.size());
    std::vector<int> areThere(xs.size());
    for (int i = 0; i < MANY * MANY; i++)
    {
        xs[static_cast<size_t>(i)] = x + 0.5 + (width - 1.0) * (i % MANY) / (MANY - 1);
        ys[static_cast<size_t>(i)] = y + 0.5 + (height - 1.0) * (i / MANY) / (MANY - 1);
    }
    static_cast<void>(GDALGenImgProjTransform(m_transformer.get(), TRUE, MANY * MANY, xs.data(), ys.data(), zs.data(),
                                              areThere.data()));
    return std::find(areThere.begin(), areThere.end(), FALSE) == areThere.end();
}

/* Whether the source may have pixels in a window of the plane. */
bool ZSWarpedCells::Touches(int x, int y, int width, int height) const
{
    std::vector<double> xs, ys;
    if (!FindPlaces(x, y, width, height, xs, ys))
        return true;
    const auto columns = std::minmax_element(xs.begin(), xs.end()), rows = std::minmax_element(ys.begin(), ys.end());
    return mayCount(*columns.first, *columns.second, m_columns) && mayCount(*rows.first, *rows.second, m_rows);
}

/* Whether the meridian where a source of all longitudes begins and ends may be in a window. */
bool ZSWarpedCells::TouchesSeam(const Window &w) const
{
    std::vector<double> xs, ys;
    if (!m_isAround || !FindPlaces(w.x, w.y, w.width, w.height, xs, ys))
        return m_isAround;
    const auto columns = std::minmax_element(xs.begin(), xs.end());
    const double beside = (*columns.second - *columns.first) / 8 + 1;
    return *columns.first < beside || *columns.second > m_columns - beside;
}

/* The band that is 0 where pixels are not valid, as gdalwarp takes it: alpha of any type. */
static GDALRasterBand &maskOf(GDALDataset &source, GDALRasterBand &band)
{
    GDALRasterBand &last = *source.GetRasterBand(source.GetRasterCount());
    return last.GetColorInterpretation() == GCI_AlphaBand ? last : *band.GetMaskBand();
}

/* Takes one pixel of the source for a cell, in those bands in which the pixel is valid. */
bool ZSWarpedCells::TakePixel(const Window &w, int column, int row, int sourceX, int sourceY) const
{
    for (size_t b = 0; b < w.bands.size(); b++)
    {
        GDALRasterBand &band = *m_source.GetRasterBand(w.bands[b]);
        GByte *const to = w.pixels + column * w.item + row * w.line + static_cast<GSpacing>(b) * w.plane;
        double valid = 0;
        if (maskOf(m_source, band).RasterIO(GF_Read, sourceX, sourceY, 1, 1, &valid, 1, 1, GDT_Float64, 0, 0,
                                            nullptr) != CE_None)
            return false;
        if (valid == 0)
            continue;
        if (band.RasterIO(GF_Read, sourceX, sourceY, 1, 1, to, 1, 1, w.type, 0, 0, nullptr) != CE_None)
            return false;
        if (!m_isOfSquares || GDALDataTypeIsComplex(w.type))
            continue;
        double value = 0;
        GDALCopyWords64(to, w.type, 0, &value, GDT_Float64, 0, 1);
        value = std::fabs(value);
        GDALCopyWords64(&value, GDT_Float64, 0, to, w.type, 0, 1);
    }
    return true;
}

/* Fills cells that the warp leaves out although they lie in the source. Resampling by area leaves out cells with a
 * corner outside of the plane (at the edges of faces) or beyond the meridian where a source of all longitudes begins
 * and ends. Any resampling leaves out cells on that meridian that rounding puts behind the last column. These cells get
 * the pixel at their middle. */
bool ZSWarpedCells::FillGaps(const Window &w, const std::vector<GByte> &none) const
{
    constexpr double BEYOND = 1e-6; // pixels of the source
    const int side = 1 << m_order;
    const auto size = static_cast<size_t>(GDALGetDataTypeSizeBytes(w.type));
    const auto isEdge = [side](int place) { return place % side == 0 || place % side == side - 1; };
    const bool isAtSeam = TouchesSeam(w);
    if ((!m_isOfAreas && !isAtSeam) || m_transformer == nullptr)
        return true;
    std::vector<double> xs, ys;
    std::vector<std::pair<int, int>> cells;
    for (int row = 0; row < w.height; row++)
    {
        for (int column = 0; column < w.width; column++)
        {
            bool isNone = isAtSeam || (m_isOfAreas && (isEdge(w.x + column) || isEdge(w.y + row)));
            for (size_t b = 0; b < w.bands.size() && isNone; b++)
                isNone = memcmp(w.pixels + column * w.item + row * w.line + static_cast<GSpacing>(b) * w.plane,
                                none.data() + b * static_cast<size_t>(w.item), size) == 0;
            if (!isNone)
                continue;
            cells.emplace_back(column, row);
            xs.push_back(w.x + column + 0.5);
            ys.push_back(w.y + row + 0.5);
        }
    }
    std::vector<double> zs(cells.size());
    std::vector<int> areThere(cells.size());
    if (!cells.empty())
        static_cast<void>(GDALGenImgProjTransform(m_transformer.get(), TRUE, static_cast<int>(cells.size()), xs.data(),
                                                  ys.data(), zs.data(), areThere.data()));
    bool ok = true;
    for (size_t i = 0; i < cells.size() && ok; i++)
    {
        const bool isEdgeOfFace = isEdge(w.x + cells[i].first) || isEdge(w.y + cells[i].second);
        const bool isSeam = xs[i] < BEYOND || xs[i] > m_columns - BEYOND;
        if (areThere[i] == FALSE || xs[i] < -BEYOND || ys[i] < -BEYOND || xs[i] > m_columns + BEYOND ||
            ys[i] > m_rows + BEYOND || !((m_isOfAreas && (isEdgeOfFace || isAtSeam)) || isSeam))
            continue;
        ok = TakePixel(w, cells[i].first, cells[i].second, std::clamp(static_cast<int>(xs[i]), 0, m_columns - 1),
                       std::clamp(static_cast<int>(ys[i]), 0, m_rows - 1));
    }
    return ok;
}

bool ZSWarpedCells::ReadNone(void *pixels, GDALDataType type, std::vector<int> &bands, GSpacing item) const
{
    // The pixel in the north-east is on no face.
    return m_warped->RasterIO(GF_Read, m_warped->GetRasterXSize() - 1, 0, 1, 1, pixels, 1, 1, type,
                              static_cast<int>(bands.size()), bands.data(), item, item, item, nullptr) == CE_None;
}

bool ZSWarpedCells::Read(int x, int y, int width, int height, void *pixels, GDALDataType type, std::vector<int> &bands,
                         GSpacing item, GSpacing line, GSpacing plane) const
{
    constexpr int TILE = 1024;
    const auto count = static_cast<int>(bands.size());
    std::vector<GByte> none(bands.size() * static_cast<size_t>(item));
    if (!ReadNone(none.data(), type, bands, item))
        return false;
    struct zs_healpix_part parts[ZS_HEALPIX_MOST_PARTS];
    const int partCount =
        zs_healpix_cut(m_order, ZS_HEALPIX_SPHERE, static_cast<uint64_t>(x), static_cast<uint64_t>(y),
                       static_cast<uint64_t>(width), static_cast<uint64_t>(height), parts);
    const auto read = [&](bool isFace, int left, int top, int columns, int rows)
    {
        GByte *const to = static_cast<GByte *>(pixels) + left * item + top * line;
        if (isFace && Touches(x + left, y + top, columns, rows))
            return m_warped->RasterIO(GF_Read, x + left, y + top, columns, rows, to, columns, rows, type, count,
                                      bands.data(), item, line, plane, nullptr) == CE_None &&
                   FillGaps({x + left, y + top, columns, rows, to, type, bands, item, line, plane}, none);
        for (int b = 0; b < count; b++)
            for (int row = 0; row < rows; row++)
                GDALCopyWords64(none.data() + b * item, type, 0, to + b * plane + row * line, type,
                                static_cast<int>(item), columns);
        return true;
    };
    bool ok = true;
    for (const auto *part = parts; part < parts + partCount; part++)
    {
        const auto right = static_cast<int>(part->column + part->width),
                   bottom = static_cast<int>(part->row + part->height);
        for (auto top = static_cast<int>(part->row); top < bottom; top += TILE)
            for (auto left = static_cast<int>(part->column); left < right && ok; left += TILE)
                ok = read(part->face >= 0, left, top, std::min(TILE, right - left), std::min(TILE, bottom - top));
    }
    return ok;
}

/* ---- Masks ---- */

/* Cells have no mask: what is not valid needs a value that says so. */
static bool checkMasks(GDALDataset &source, int order)
{
    const std::string first = nodataOf(*source.GetRasterBand(1));
    const bool isMarked = !first.empty() || GDALDataTypeIsFloating(zsTypeOfBands(source));
    for (int b = 1; b <= source.GetRasterCount() && !zsHasAllCells(source); b++)
    {
        GDALRasterBand &band = *source.GetRasterBand(b);
        const bool hasMask = isMasked(band), isOfAll = (band.GetMaskFlags() & GMF_PER_DATASET) != 0;
        if (hasMask && !isOfAll) // of which gdalwarp knows nothing
            CPLError(CE_Failure, CPLE_NotSupported,
                     "HEALPIX=%d: %s: band %d: expected a mask for all bands, or nodata, found a mask of its own",
                     order, nameOf(source).c_str(), b);
        else if (!isMarked && (hasMask || !nodataOf(band).empty()))
            CPLError(CE_Failure, CPLE_NotSupported,
                     "HEALPIX=%d: %s: band 1: expected a nodata value, which cells get whose pixel is not valid, found "
                     "%s alone; gdal_translate -a_nodata sets one, and -mask none drops a mask",
                     order, nameOf(source).c_str(), hasMask ? "a mask" : "that of another band");
        else
            continue;
        return false;
    }
    return true;
}

GDALDataset *zsToHealpix(GDALDataset &source, int order, const std::string &resampling, bool isStrict,
                         struct zs_healpix &healpix, std::unique_ptr<ZSWarpedCells> &warped)
{
    bool isPlane;
    healpix = zsHealpixTarget(order, crsOf(source), &isPlane);
    if (!checkMasks(source, order))
        return nullptr;
    const bool isPlain = !isMasked(*source.GetRasterBand(1)) || zsHasAllCells(source);
    if (isPlane && isPlain && liesOnGrid(source, healpix))
        return &source;
    if (!checkCrs(source, order) || !checkIntegers(source, order, isStrict))
        return nullptr;
    CPLDebug("ShardedZarr", "HEALPIX=%d: %s is warped", order, nameOf(source).c_str());
    auto pixels = warpPixels(source, healpix, resampling);
    if (pixels == nullptr || !reachesCells(source, healpix, resampling))
        return nullptr;
    warped = std::make_unique<ZSWarpedCells>(source, std::move(pixels), healpix, resampling);
    return warped->Dataset();
}
