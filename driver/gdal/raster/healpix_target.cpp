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

/* Whether a word of a PROJ string only names the plane of HEALPix; the ellipsoid is compared in another way. */
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
    const ZSQuiet quiet;
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
    void Report(const std::string &failure) const;
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
void Messages::Report(const std::string &failure) const
{
    const auto emit = [](const Message &error) { CPLError(error.type, error.number, "%s", error.text.c_str()); };
    bool isTold = failure.empty();
    for (size_t i = 0; i <= others.size(); i++)
    {
        if (!failure.empty() && last.type == CE_Failure && i == before)
            emit(last);
        if (i < others.size())
            emit(others[i]);
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
    messages.Report(ok ? "" : what);
    return ok;
}

/* ---- The source ---- */

/* Its name in messages. */
static std::string nameOf(GDALDataset &source)
{
    return source.GetDescription()[0] != '\0' ? zsShown(source.GetDescription()) : "the source";
}

constexpr const char *IN_DEGREES = "OGC:CRS84";

/* Whether a source without a CRS is in degrees by the units of its dimensions. */
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
    return zsRefuse(CPLE_AppDefined,
                    "HEALPIX=%d: %s: expected a CRS, by which pixels find their cells, found none; gdal_translate "
                    "-a_srs sets one", order, nameOf(source).c_str());
}

/* The first integer beyond which a double does not hold all. */
constexpr int64_t NOT_HELD = static_cast<int64_t>(1) << 53;

template <class T> static bool isHeld(T value)
{
    return value <= static_cast<T>(NOT_HELD) && (std::is_unsigned_v<T> || value >= static_cast<T>(-NOT_HELD));
}

/* Whether a double holds a nodata value, or its text at least: the least integer is that of 2^63. */
static bool isHeld(const ZSNodata &nodata)
{
    const auto *integer = std::get_if<int64_t>(&nodata.value);
    const auto *natural = std::get_if<uint64_t>(&nodata.value);
    if (integer != nullptr)
        return isHeld(*integer) || *integer == std::numeric_limits<int64_t>::min();
    return natural == nullptr || isHeld(*natural);
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
        if (type != GDT_Int64 && type != GDT_UInt64)
            continue;
        const ZSNodata known(band);
        const std::string nodata = known.Text();
        if (known.isThere && !isHeld(known))
            return zsRefuse(CPLE_NotSupported,
                            "HEALPIX=%d: %s: band %d: expected a nodata that a double holds, with which pixels are "
                            "warped, found %s", order, nameOf(source).c_str(), b, nodata.c_str());
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
    // Each cell has the value at its own centre, not of a point nearby.
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
        // Points beyond geolocation arrays have no position in the source: from those that GDAL looks at by itself, it
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

/* The source's nodata as an option of gdalwarp; "" where gdalwarp asks the bands itself. */
static std::string sourceNodata(GDALDataset &source)
{
    if (zsHasMask(*source.GetRasterBand(1)))
        return "None"; // since GDAL 3.7 a nodata value would go before the mask
    std::string ofAll;
    bool isWide = false, isAny = false;
    for (int b = 1; b <= source.GetRasterCount(); b++)
    {
        GDALRasterBand &band = *source.GetRasterBand(b);
        const std::string nodata = ZSNodata(band).Text();
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
    std::string nodata = ZSNodata(*source.GetRasterBand(1)).Text();
    bool isOther = false; // another type or nodata than the first has
    for (int b = 1; b <= source.GetRasterCount(); b++)
    {
        GDALRasterBand &band = *source.GetRasterBand(b);
        isOther = isOther || ZSNodata(band).Text() != nodata || band.GetRasterDataType() != type;
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

/* From pixels of the source to those of the plane. Null where there is none. */
static ZSTransformer transformerOf(GDALDataset &source, GDALDataset &plane)
{
    CPLStringList options;
    if (isInDegrees(source) && crsOf(source) == nullptr)
        options.SetNameValue("SRC_SRS", IN_DEGREES);
    return ZSTransformer(
        GDALCreateGenImgProjTransformer2(GDALDataset::ToHandle(&source), GDALDataset::ToHandle(&plane), options.List()),
        GDALDestroyGenImgProjTransformer);
}

/* Where in the plane some pixels of the source lie, as columns and rows. */
static std::vector<std::pair<int, int>> pixelsOf(GDALDataset &source, GDALDataset &plane)
{
    constexpr int MANY = 8;
    std::vector<std::pair<int, int>> pixels;
    const ZSTransformer transformer = transformerOf(source, plane);
    for (int i = 0; i < MANY * MANY && transformer != nullptr; i++)
    {
        double x = (i % MANY + 0.5) * source.GetRasterXSize() / MANY,
               y = (i / MANY + 0.5) * source.GetRasterYSize() / MANY, z = 0;
        int isThere = FALSE;
        if (GDALGenImgProjTransform(transformer.get(), FALSE, 1, &x, &y, &z, &isThere) && isThere && x >= 0 && y >= 0 &&
            x < plane.GetRasterXSize() && y < plane.GetRasterYSize())
            pixels.emplace_back(static_cast<int>(x), static_cast<int>(y));
    }
    return pixels;
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
    for (const auto &pixel : pixelsOf(source, warped))
    {
        const int x = std::max(0, pixel.first - 1), y = std::max(0, pixel.second - 1);
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

/* ---- Masks ---- */

/* Cells have no mask: invalid pixels need a nodata value. */
static bool checkMasks(GDALDataset &source, int order)
{
    const bool isMarked = ZSNodata(*source.GetRasterBand(1)).isThere || GDALDataTypeIsFloating(zsTypeOfBands(source));
    for (int b = 1; b <= source.GetRasterCount() && !zsHasAllCells(source); b++)
    {
        GDALRasterBand &band = *source.GetRasterBand(b);
        const bool hasMask = zsHasMask(band), isOfAll = (band.GetMaskFlags() & GMF_PER_DATASET) != 0;
        if (hasMask && !isOfAll) // gdalwarp does not see it
            CPLError(CE_Failure, CPLE_NotSupported,
                     "HEALPIX=%d: %s: band %d: expected a mask for all bands, or nodata, found a mask of its own",
                     order, nameOf(source).c_str(), b);
        else if (!isMarked && (hasMask || ZSNodata(band).isThere))
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
    const bool isPlain = !zsHasMask(*source.GetRasterBand(1)) || zsHasAllCells(source);
    if (isPlane && isPlain && liesOnGrid(source, healpix))
        return &source;
    if (!checkCrs(source, order) || !checkIntegers(source, order, isStrict))
        return nullptr;
    CPLDebug("ShardedZarr", "HEALPIX=%d: %s is warped", order, nameOf(source).c_str());
    auto pixels = warpPixels(source, healpix, resampling);
    if (pixels == nullptr || !reachesCells(source, healpix, resampling))
        return nullptr;
    const OGRSpatialReference *srs = crsOf(source);
    const bool isGeographic = srs != nullptr ? srs->IsGeographic() != FALSE : isInDegrees(source);
    auto transformer = transformerOf(source, *pixels);
    warped = std::make_unique<ZSWarpedCells>(source, std::move(pixels), std::move(transformer), order, resampling,
                                             isGeographic);
    return warped->Dataset();
}
