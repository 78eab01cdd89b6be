/* Making a band of an overview of a larger one: of all its pixels, or only of those that are stored. */
#include <algorithm>
#include <cmath>
#include <optional>
#include <unistd.h>

#include "dataset.h"
#include "window_dataset.h"
#include "gdal/guard.h"

extern "C"
{
#include "raster/means.h"
#include "raster/pixels.h"
}

using Window = ZSPixelWindow;

/* ---- Cells of a level ---- */

/* Pixels of a level in each direction that are made together: those of which nothing is stored are left out. */
constexpr int CELL = 1024;
/* Pixels of a level that GDAL's resampling kernels read beyond a window. */
constexpr int KERNEL = 8;
/* Cells of a run, and runs that the store is asked for together: memory does not grow with the level. */
constexpr int RUN = 64;
constexpr int64_t RUNS_AT_ONCE = 256;
/* Pixels in each direction that are summed up together. */
constexpr uint64_t SUMMED = 2 * CELL;
/* A raster with more pixels along a side is read through parts, each of which is a raster of its own. */
constexpr int LARGE = 1 << 30;

/* ---- Where anything is stored ---- */

/* The part of [at - margin, at + size + margin) within [0, most). */
static void widen(int &at, int &size, int margin, int most)
{
    const int first = std::max(0, at - margin), end = std::min(most, at + size + margin);
    at = first;
    size = end - first;
}

/* The pixels of a raster that is as wide as `from` that some of one as wide as `to` are made of. */
static void enlarge(int at, int size, int to, int from, uint64_t &first, uint64_t &count)
{
    const auto most = static_cast<uint64_t>(from), all = static_cast<uint64_t>(to);
    const uint64_t begin = static_cast<uint64_t>(at), end = begin + static_cast<uint64_t>(size);
    first = begin * most / all;
    count = (end * most + all - 1) / all - first;
}

static struct zs_pixel_box boxOf(const Window &box, GDALDataset &level, GDALDataset &of)
{
    struct zs_pixel_box result;
    enlarge(box.x, box.width, level.GetRasterXSize(), of.GetRasterXSize(), result.x, result.width);
    enlarge(box.y, box.height, level.GetRasterYSize(), of.GetRasterYSize(), result.y, result.height);
    return result;
}

/* `size` pixels and less along a level, in rows of cells: part `number` of it. */
static Window partAt(int64_t number, int size, int width, int height)
{
    const int64_t across = (static_cast<int64_t>(width) + size - 1) / size;
    const int x = static_cast<int>(number % across * size), y = static_cast<int>(number / across * CELL);
    return {x, y, std::min(size, width - x), std::min(CELL, height - y)};
}

static int64_t partCount(int size, int width, int height)
{
    return ((static_cast<int64_t>(width) + size - 1) / size) * ((static_cast<int64_t>(height) + CELL - 1) / CELL);
}

static void addCell(std::vector<Window> &parts, const Window &cell)
{
    if (!parts.empty() && parts.back().y == cell.y && parts.back().x + parts.back().width == cell.x)
        parts.back().width += cell.width;
    else
        parts.push_back(cell);
}

/* Finds the parts of this level that have stored pixels in `from` (their number is added to `stored`), or in the level
 * as it is now. */
static bool findStored(ShardedZarrDataset &from, ShardedZarrDataset &level, int band, const std::vector<Window> &parts,
                       int64_t &stored, std::vector<Window> &found)
{
    const struct zs_bands bands = level.View().Bands(), source = from.View().Bands();
    std::vector<struct zs_pixel_box> here, there;
    for (const Window &part : parts)
    {
        Window wider = part;
        widen(wider.x, wider.width, KERNEL, level.GetRasterXSize());
        widen(wider.y, wider.height, KERNEL, level.GetRasterYSize());
        here.push_back(boxOf(part, level, level));
        there.push_back(boxOf(wider, level, from));
    }
    struct zs_error err; // reading reports the error
    const size_t n = parts.size();
    const std::unique_ptr<bool[]> isThere(new bool[n]), isHere(new bool[n]);
    if (zs_pixels_find_stored(&source, band, there.data(), n, isThere.get(), &err) != ZS_OK ||
        zs_pixels_find_stored(&bands, band, here.data(), n, isHere.get(), &err) != ZS_OK)
        return false;
    stored += std::count(isThere.get(), isThere.get() + n, true);
    for (size_t i = 0; i < n; i++)
    {
        if (isThere[i] || isHere[i])
            found.push_back(parts[i]);
    }
    return true;
}

/* Finds runs of adjacent cells of the level that have stored pixels. None when most cells have. Large groups of cells
 * are looked at first. */
static bool findParts(ShardedZarrDataset &from, ShardedZarrDataset &level, int band, std::vector<Window> &parts)
{
    const int width = level.GetRasterXSize(), height = level.GetRasterYSize();
    const int flags = from.GetRasterBand(band)->GetMaskFlags();
    const bool isUsual = flags == GMF_ALL_VALID || flags == GMF_NODATA || (flags & GMF_ALPHA) != 0;
    if (level.View().Array(0).axes.y < 0 || !isUsual)
        return false;
    const int64_t all = partCount(CELL, width, height), many = partCount(RUN * CELL, width, height);
    int64_t stored = 0, ignored = 0;
    for (int64_t first = 0; first < many; first += RUNS_AT_ONCE)
    {
        std::vector<Window> runs, stays, cells, found;
        for (int64_t i = first; i < std::min(first + RUNS_AT_ONCE, many); i++)
            runs.push_back(partAt(i, RUN * CELL, width, height));
        if (!findStored(from, level, band, runs, ignored, stays))
            return false;
        for (const Window &run : stays)
        {
            for (int64_t i = 0, n = partCount(CELL, run.width, run.height); i < n; i++)
            {
                const Window cell = partAt(i, CELL, run.width, run.height);
                cells.push_back({run.x + cell.x, run.y, cell.width, cell.height});
            }
        }
        if (!findStored(from, level, band, cells, stored, found) || 2 * stored > all)
            return false;
        for (const Window &cell : found)
            addCell(parts, cell);
    }
    return true;
}

/* ---- How pixels are made ---- */

namespace
{
/* BY_GDAL: GDAL makes overviews of the cell as of a whole raster. IN_WINDOWS: windows of the raster are read with
 * resampling. That gives the same pixels more slowly, and uses the ratio of the whole raster when it is no whole
 * number. */
enum class Kernel
{
    BY_GDAL,
    IN_WINDOWS,
    NEAREST,
    MEAN
};

/* The source pixels that GDAL reads for some pixels of a level, in one direction: pixels [at, at + size) of the level,
 * from `length` pixels at `offset` in the part of the larger raster that begins at `origin` and has `most` pixels. */
struct Side
{
    int at, size, origin, most;
    double offset, length;

    Side(int first, int count, int to, int from)
        : at(first), size(count), origin(0), most(from), offset(0), length(from)
    {
        const double ratio = static_cast<double>(from) / to;
        widen(at, size, KERNEL, to);
        // GDAL calculates the ratio again, from the window.
        while (size < to && size * ratio / size != ratio)
            size++;
        at = std::min(at, to - size);
        if (size == to)
            return;
        offset = at * ratio;
        length = size * ratio;
        // GDAL adds a window's size to where it is, which beyond 2^31 overflows.
        origin = from > LARGE ? static_cast<int>(offset) : 0;
        most -= origin;
        offset -= origin;
    }
    int First() const
    {
        return static_cast<int>(offset);
    }
    int Count() const
    {
        return static_cast<int>(std::min<double>(std::ceil(offset + length), most)) - First();
    }
};
} // namespace

/* GRIORA_NearestNeighbour where windows are not read that way. */
static GDALRIOResampleAlg algorithmOf(const char *resampling)
{
    static const struct
    {
        const char *name;
        GDALRIOResampleAlg algorithm;
    } known[] = {{"AVERAGE", GRIORA_Average},         {"RMS", GRIORA_RMS},         {"BILINEAR", GRIORA_Bilinear},
                 {"CUBIC", GRIORA_Cubic},             {"GAUSS", GRIORA_Gauss},     {"MODE", GRIORA_Mode},
                 {"CUBICSPLINE", GRIORA_CubicSpline}, {"LANCZOS", GRIORA_Lanczos}};
    for (const auto &row : known)
    {
        if (EQUAL(resampling, row.name))
            return row.algorithm;
    }
    return GRIORA_NearestNeighbour;
}

/* Whether numbers of this band do not survive GDAL's way, which is by doubles, or floats: 64 bits, or a nodata that a
 * float does not hold. */
static bool needsIntegers(GDALRasterBand &band)
{
    const GDALDataType type = band.GetRasterDataType();
    if (type == GDT_Int64 || type == GDT_UInt64)
        return true;
    int hasNodata = FALSE;
    const double nodata = band.GetNoDataValue(&hasNodata);
    return (type == GDT_Int32 || type == GDT_UInt32) && hasNodata && static_cast<float>(nodata) != nodata;
}

/* The nodata of a band of integers, as bits of 64. */
static bool nodataOf(GDALRasterBand &band, uint64_t &nodata)
{
    const ZSNodata known(band);
    nodata = std::visit([](auto exact) { return static_cast<uint64_t>(static_cast<int64_t>(exact)); }, known.value);
    return known.isThere;
}

static CPLErr writeCell(GDALRasterBand &target, const Window &cell, void *pixels, GDALDataType type, GSpacing line)
{
    return target.RasterIO(GF_Write, cell.x, cell.y, cell.width, cell.height, pixels, cell.width, cell.height, type,
                           GDALGetDataTypeSizeBytes(type), line, nullptr);
}

static CPLErr makeInWindow(GDALDataset &from, GDALRasterBand &target, const Window &cell, const char *resampling)
{
    const Side x(cell.x, cell.width, target.GetXSize(), from.GetRasterXSize()),
        y(cell.y, cell.height, target.GetYSize(), from.GetRasterYSize());
    const Window box = {x.origin, y.origin, x.most, y.most};
    ZSWindowDataset part(from, box, box); // without overviews, which GDAL would read windows of
    GDALRasterBand &source = *part.GetRasterBand(target.GetBand());
    const GDALDataType type = source.GetRasterDataType();
    const GSpacing item = GDALGetDataTypeSizeBytes(type), line = item * x.size;
    std::vector<unsigned char> pixels(static_cast<size_t>(line) * static_cast<size_t>(y.size));
    GDALRasterIOExtraArg extra;
    INIT_RASTERIO_EXTRA_ARG(extra);
    extra.eResampleAlg = algorithmOf(resampling);
    extra.bFloatingPointWindowValidity = TRUE;
    extra.dfXOff = x.offset;
    extra.dfYOff = y.offset;
    extra.dfXSize = x.length;
    extra.dfYSize = y.length;
    if (source.RasterIO(GF_Read, x.First(), y.First(), x.Count(), y.Count(), pixels.data(), x.size, y.size,
                        type, item, line, &extra) != CE_None)
        return CE_Failure;
    return writeCell(target, cell, pixels.data() + (cell.y - y.at) * line + (cell.x - x.at) * item, type, line);
}

/* Whether nothing is stored of a row: such rows are alike. */
static bool isEmptyRow(GDALRasterBand &band, int x, int y, int width)
{
    return band.GetDataCoverageStatus(x, y, width, 1, GDAL_DATA_COVERAGE_STATUS_DATA, nullptr) ==
           GDAL_DATA_COVERAGE_STATUS_EMPTY;
}

/* Nearest neighbour as in GDAL's overviews: each pixel is a pixel of the source, unchanged. A row of a cell may cross
 * thousands of shards, so that an empty one is read once. */
static CPLErr makeNearest(GDALRasterBand &source, GDALRasterBand &target, const Window &cell)
{
    const GDALDataType type = source.GetRasterDataType();
    const auto item = static_cast<size_t>(GDALGetDataTypeSizeBytes(type));
    const double across = static_cast<double>(source.GetXSize()) / target.GetXSize(),
                 down = static_cast<double>(source.GetYSize()) / target.GetYSize();
    const auto nearestOf = [](int at, double ratio, int most)
    { return std::min(static_cast<int>(0.5 + at * ratio), most - 1); };
    const int first = nearestOf(cell.x, across, source.GetXSize()),
              last = nearestOf(cell.x + cell.width - 1, across, source.GetXSize());
    std::vector<unsigned char> row(item * static_cast<size_t>(last - first + 1)),
        pixels(item * static_cast<size_t>(cell.width) * static_cast<size_t>(cell.height));
    unsigned char *to = pixels.data();
    bool wasEmpty = false;
    for (int y = cell.y; y < cell.y + cell.height; y++)
    {
        const int from = nearestOf(y, down, source.GetYSize()), width = last - first + 1;
        const bool isEmpty = isEmptyRow(source, first, from, width), isRead = isEmpty && wasEmpty;
        if (!isRead && source.RasterIO(GF_Read, first, from, width, 1, row.data(), width, 1, type, 0, 0, nullptr) !=
                           CE_None)
            return CE_Failure;
        wasEmpty = isEmpty;
        for (int x = cell.x; x < cell.x + cell.width; x++, to += item)
            memcpy(to, row.data() + item * static_cast<size_t>(nearestOf(x, across, source.GetXSize()) - first), item);
    }
    return writeCell(target, cell, pixels.data(), type, static_cast<GSpacing>(item) * cell.width);
}

/* Adds what a cell is made of, window by window. */
static CPLErr sumUp(GDALRasterBand &source, GDALDataType type, struct zs_means &means)
{
    const bool isMasked = (source.GetMaskFlags() & GMF_ALL_VALID) == 0;
    std::vector<uint64_t> values(SUMMED * SUMMED);
    std::vector<unsigned char> valid(isMasked ? SUMMED * SUMMED : 0);
    uint64_t of[4];
    zs_means_source(&means, of);
    for (uint64_t y = of[1]; y < of[1] + of[3]; y += SUMMED)
    {
        for (uint64_t x = of[0]; x < of[0] + of[2]; x += SUMMED)
        {
            const uint64_t columns = std::min(SUMMED, of[0] + of[2] - x), rows = std::min(SUMMED, of[1] + of[3] - y);
            const auto read = [&](GDALRasterBand &band, void *pixels, GDALDataType as)
            {
                const int width = static_cast<int>(columns), height = static_cast<int>(rows);
                return band.RasterIO(GF_Read, static_cast<int>(x), static_cast<int>(y), width, height, pixels, width,
                                     height, as, 0, 0, nullptr) == CE_None;
            };
            struct zs_error err;
            if (!read(source, values.data(), type) ||
                (isMasked && !read(*source.GetMaskBand(), valid.data(), GDT_Byte)))
                return CE_Failure;
            if (zs_means_add(&means, x, y, columns, rows, values.data(), isMasked ? valid.data() : nullptr, &err) !=
                ZS_OK)
                return zsReport(err);
        }
    }
    return CE_None;
}

static CPLErr makeMean(GDALRasterBand &source, GDALRasterBand &target, const Window &cell, int threads)
{
    const GDALDataType type = source.GetRasterDataType() == GDT_UInt64 ? GDT_UInt64 : GDT_Int64;
    const auto number = [](int value) { return static_cast<uint64_t>(value); };
    const struct zs_means_grid grid = {number(source.GetXSize()), number(source.GetYSize()),
                                       number(target.GetXSize()), number(target.GetYSize())};
    struct zs_means *raw = nullptr;
    struct zs_error err;
    enum zs_status status = zs_means_create(&grid, number(cell.x), number(cell.y), number(cell.width),
                                            number(cell.height), type == GDT_Int64, threads, &raw, &err);
    const ZSOwned<struct zs_means> means(raw, zs_means_free);
    if (status == ZS_OK && sumUp(source, type, *means) != CE_None)
        return CE_Failure;
    uint64_t nodata;
    const bool hasNodata = nodataOf(source, nodata);
    std::vector<uint64_t> pixels(number(cell.width) * number(cell.height));
    if (status == ZS_OK)
        status = zs_means_take(means.get(), hasNodata ? &nodata : nullptr, pixels.data(), &err);
    if (status != ZS_OK)
        return zsReport(err);
    return writeCell(target, cell, pixels.data(), type, static_cast<GSpacing>(sizeof(uint64_t)) * cell.width);
}

/* ---- A band ---- */

static bool isMultiple(GDALDataset &level, GDALDataset &from)
{
    return from.GetRasterXSize() % level.GetRasterXSize() == 0 && from.GetRasterYSize() % level.GetRasterYSize() == 0;
}

/* From this factor on, the rows of the source that no pixel is taken from are most of it. GDAL reads them. */
constexpr int FEW_ROWS = 16;

/* Whether the nearest pixels are those of the raster where GDAL takes them. Before 3.10 it takes them as floats. */
static bool isTakenAsItIs(GDALDataType type)
{
#if !ZS_GDAL_AT_LEAST(10)
    if (type == GDT_Int32 || type == GDT_UInt32 || type == GDT_Float64)
        return false;
#endif
    return !GDALDataTypeIsComplex(type);
}

static Kernel kernelOf(GDALRasterBand &source, GDALRasterBand &target, const char *resampling, bool isSparse,
                       bool isWhole)
{
    const bool isNearest = STARTS_WITH_CI(resampling, "NEAR");
    const bool isKnown = algorithmOf(resampling) != GRIORA_NearestNeighbour;
    if (needsIntegers(source) && (isNearest || STARTS_WITH_CI(resampling, "AVER")))
        return isNearest ? Kernel::NEAREST : Kernel::MEAN;
    if (isNearest && !isTakenAsItIs(source.GetRasterDataType()))
        return Kernel::NEAREST;
    if (isNearest && source.GetYSize() / target.GetYSize() >= FEW_ROWS)
        return Kernel::NEAREST;
    if (!isSparse || isWhole)
        return Kernel::BY_GDAL;
    if (isNearest)
        return Kernel::NEAREST;
    return isKnown && !GDALDataTypeIsComplex(source.GetRasterDataType()) && source.GetColorTable() == nullptr
               ? Kernel::IN_WINDOWS
               : Kernel::BY_GDAL;
}

bool zsIsHalvedByCells(GDALRasterBand &band, const char *resampling)
{
    const bool isNearest = STARTS_WITH_CI(resampling, "NEAR");
    const int flags = band.GetMaskFlags();
    return (isNearest || EQUAL(resampling, "AVERAGE")) && (flags == GMF_ALL_VALID || flags == GMF_NODATA) &&
           !GDALDataTypeIsComplex(band.GetRasterDataType()) && !needsIntegers(band) &&
           (isNearest || band.GetColorTable() == nullptr);
}

/* The cells of one part of a level. */
static CPLErr makeCells(GDALDataset &from, GDALRasterBand &target, const Window &part, Kernel kernel,
                        const char *resampling, int threads)
{
    GDALRasterBand &source = *from.GetRasterBand(target.GetBand());
    CPLErr result = CE_None;
    for (int done = 0; done < part.width && result == CE_None; done += std::min(CELL, part.width - done))
    {
        const Window cell = {part.x + done, part.y, std::min(CELL, part.width - done), part.height};
        result = kernel == Kernel::NEAREST ? makeNearest(source, target, cell)
                 : kernel == Kernel::MEAN  ? makeMean(source, target, cell, threads)
                                           : makeInWindow(from, target, cell, resampling);
    }
    return result;
}

/* Whether a nodata value of integers is a float, by which GDAL makes overviews. */
static bool survives(const ZSNodata &nodata)
{
    const float held = std::visit([](auto exact) { return static_cast<float>(exact); }, nodata.value);
    const auto back = [held](auto exact)
    { return std::fabs(held) < 1e18F && static_cast<decltype(exact)>(held) == exact; };
    return !nodata.isThere || std::visit(back, nodata.value);
}

bool zsMayResample(const std::string &name, GDALDataType type, const ZSNodata &nodata, const std::string &resampling)
{
    const bool isComplex = GDALDataTypeIsComplex(type) != FALSE;
    const bool isSimple = resampling.empty() || STARTS_WITH_CI(resampling.c_str(), "NEAR") ||
                          STARTS_WITH_CI(resampling.c_str(), "AVER") || EQUAL(resampling.c_str(), "NONE");
    const bool isLarge = GDALDataTypeIsInteger(type) != FALSE && GDALGetDataTypeSizeBytes(type) >= 4;
    if (isSimple || (isComplex ? EQUAL(resampling.c_str(), "RMS") : !isLarge || survives(nodata)))
        return true;
    return zsRefuse(CPLE_NotSupported, "%s: overviews of %s, found %s", zsShown(name).c_str(),
                    isComplex ? "complex numbers: expected NEAREST, AVERAGE or RMS"
                              : "integers whose nodata a float does not hold: expected NEAREST or AVERAGE",
                    resampling.c_str());
}

/* The process that loaded the plugin. */
static const pid_t s_loader = getpid();

CPLErr zsMakeLevelBand(ShardedZarrDataset &from, ShardedZarrDataset &level, int band, const char *resampling,
                       GDALProgressFunc progress, void *progressData, CSLConstList options)
{
    // What GDAL says in threads of its own the caller's handlers, and exceptions, do not hear.
    const auto told = [before = CPLGetErrorCounter(), &level, resampling](CPLErr result)
    {
        if (result != CE_None && CPLGetErrorCounter() == before)
            CPLError(CE_Failure, CPLE_AppDefined, "%s: overviews by %s could not be made",
                     zsShown(level.View().store->name).c_str(), resampling);
        return result;
    };
    const auto regenerate = [&](GDALRasterBand *source, GDALRasterBand *target, GDALProgressFunc callback, void *data)
    {
        // GDAL keeps the threads that resample for it, which a forked process does not have: with several it would wait
        // for them for ever.
        std::optional<CPLConfigOptionSetter> one;
        if (getpid() != s_loader)
            one.emplace("GDAL_NUM_THREADS", "1", false);
        GDALRasterBand **targets = &target;
        // The other way reads only the real part of complex numbers.
        if (GDALDataTypeIsComplex(source->GetRasterDataType()))
        {
            GDALRasterBandH handle = target;
            return told(GDALRegenerateOverviews(source, 1, &handle, resampling, callback, data));
        }
        return told(GDALRegenerateOverviewsMultiBand(1, &source, 1, &targets, resampling, callback, data, options));
    };
    GDALRasterBand &source = *from.GetRasterBand(band), &target = *level.GetRasterBand(band);
    ZSWindowDataset once(from, band);
    GDALRasterBand &read = source.GetMaskFlags() == GMF_NODATA ? *once.GetRasterBand(band) : source;
    const int width = level.GetRasterXSize(), height = level.GetRasterYSize();
    std::vector<Window> parts;
    const bool isSparse = findParts(from, level, band, parts), isWhole = isMultiple(level, from);
    const Kernel kernel = kernelOf(source, target, resampling, isSparse, isWhole);
    if (kernel == Kernel::BY_GDAL && (!isSparse || !isWhole))
        return regenerate(&read, &target, progress, progressData);
    if (!isSparse)
    {
        parts.clear();
        for (int y = 0; y < height; y += std::min(CELL, height - y))
            parts.push_back({0, y, width, std::min(CELL, height - y)});
    }
    CPLErr result = progress(0, "", progressData) ? CE_None : CE_Failure;
    for (size_t i = 0; i < parts.size() && result == CE_None; i++)
    {
        const auto n = static_cast<double>(parts.size());
        const ZSScaledProgress scaled(static_cast<double>(i) / n, static_cast<double>(i + 1) / n, progress,
                                      progressData);
        if (kernel != Kernel::BY_GDAL)
        {
            result = makeCells(from, target, parts[i], kernel, resampling, level.View().options.threads);
            if (result == CE_None && !GDALScaledProgress(1, "", scaled.Part()))
                result = CE_Failure;
            continue;
        }
        Window box = parts[i];
        widen(box.x, box.width, KERNEL, width);
        widen(box.y, box.height, KERNEL, height);
        const struct zs_pixel_box whole = boxOf(box, level, from);
        const Window of = {static_cast<int>(whole.x), static_cast<int>(whole.y), static_cast<int>(whole.width),
                          static_cast<int>(whole.height)};
        ZSWindowDataset larger(from, of, of), smaller(level, box, parts[i]);
        result = regenerate(larger.GetRasterBand(band), smaller.GetRasterBand(band), GDALScaledProgress, scaled.Part());
    }
    return result;
}
