/* Making a band of an overview out of a larger one, where anything is stored. */
#include <algorithm>
#include <cmath>
#include <optional>
#include <unistd.h>
#include <vector>

#include "copied_levels.h"
#include "dataset.h"
#include "gdal/guard.h"

extern "C"
{
#include "raster/pixels.h"
}

using Window = ZSPixelWindow;

/* Pixels of a level in each direction that are made together, or a half, a quarter ... of these, so that what they are
 * made of is no more than so many bytes. Those of which nothing is stored are left out. */
constexpr int MOST_CELL = 1024;
constexpr int64_t SOURCE_BYTES = 32 << 20;

/* ---- What can be made ---- */

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

/* ---- Cells ---- */

namespace
{
/* A band of a level that is made of one of a larger raster. */
class LevelBand
{
  public:
    LevelBand(ShardedZarrDataset &from, ShardedZarrDataset &level, int band)
        : m_from(from), m_level(level), m_source(from.Band(band)), m_target(level.Band(band)), m_band(band)
    {
        m_shrinking.fromWidth = from.GetRasterXSize();
        m_shrinking.fromHeight = from.GetRasterYSize();
        m_shrinking.toWidth = level.GetRasterXSize();
        m_shrinking.toHeight = level.GetRasterYSize();
    }
    bool Start(const char *resampling)
    {
        const int flags = m_source.GetMaskFlags();
        m_mask = (flags & (GMF_ALL_VALID | GMF_NODATA)) == 0 ? m_source.GetMaskBand() : nullptr;
        if (!m_shrinking.Start(m_source, resampling))
            return false;
        while (m_cell > 1 && SourceBytes(m_cell) > SOURCE_BYTES)
            m_cell /= 2;
        return true;
    }
    CPLErr Make(GDALProgressFunc progress, void *progressData);

  private:
    ShardedZarrDataset &m_from, &m_level;
    ShardedZarrRasterBand &m_source, &m_target;
    const int m_band;
    GDALRasterBand *m_mask = nullptr; /* null: a nodata value tells what is valid, or all is */
    ZSShrinking m_shrinking;
    int m_cell = MOST_CELL;
    std::vector<unsigned char> m_read, m_valid, m_made; /* of one cell after the other: touched once */

    int64_t SourceBytes(int cell) const
    {
        const Window of = m_shrinking.SourceOf(
            {0, 0, std::min(cell, m_shrinking.toWidth), std::min(cell, m_shrinking.toHeight)});
        return static_cast<int64_t>(GDALGetDataTypeSizeBytes(m_shrinking.type)) * of.width * of.height;
    }
    bool IsStored(const Window &pixels) const;
    void FindCells(const Window &pixels, std::vector<Window> &cells) const;
    CPLErr MakeCell(const Window &cell);
};
} // namespace

static struct zs_pixel_box boxOf(const Window &w)
{
    return {static_cast<uint64_t>(w.x), static_cast<uint64_t>(w.y), static_cast<uint64_t>(w.width),
            static_cast<uint64_t>(w.height)};
}

/* Whether a chunk is stored under these pixels of the level, or under the larger raster's that they are made of. */
bool LevelBand::IsStored(const Window &pixels) const
{
    const struct zs_bands larger = m_from.View().Bands(), own = m_level.View().Bands();
    const struct zs_pixel_box there = boxOf(m_shrinking.SourceOf(pixels)), here = boxOf(pixels);
    struct zs_error err; // reading reports the error
    bool isStored = true;
    if (zs_pixels_find_stored(&larger, m_band, &there, 1, &isStored, &err) != ZS_OK || isStored)
        return true;
    return zs_pixels_find_stored(&own, m_band, &here, 1, &isStored, &err) != ZS_OK || isStored;
}

/* Adds the cells of which anything is stored: those of quarters of a window, of quarters of these, and so on. */
void LevelBand::FindCells(const Window &w, std::vector<Window> &cells) const
{
    if (!IsStored(w))
        return;
    int side = m_cell;
    while (2 * side < std::max(w.width, w.height))
        side *= 2;
    if (w.width <= m_cell && w.height <= m_cell)
    {
        cells.push_back(w);
        return;
    }
    for (int y = 0; y < w.height; y += side)
    {
        for (int x = 0; x < w.width; x += side)
            FindCells({w.x + x, w.y + y, std::min(side, w.width - x), std::min(side, w.height - y)}, cells);
    }
}

CPLErr LevelBand::MakeCell(const Window &cell)
{
    const Window of = m_shrinking.SourceOf(cell);
    const GSpacing item = GDALGetDataTypeSizeBytes(m_shrinking.type), line = item * of.width;
    m_made.resize(static_cast<size_t>(item * cell.width) * static_cast<size_t>(cell.height));
    m_read.resize(static_cast<size_t>(line) * static_cast<size_t>(of.height));
    if (m_source.RasterIO(GF_Read, of.x, of.y, of.width, of.height, m_read.data(), of.width, of.height,
                          m_shrinking.type, item, line, nullptr) != CE_None)
        return CE_Failure;
    m_valid.resize(m_mask != nullptr ? m_read.size() / static_cast<size_t>(item) : 0);
    if (m_mask != nullptr && m_mask->RasterIO(GF_Read, of.x, of.y, of.width, of.height, m_valid.data(), of.width,
                                              of.height, GDT_Byte, 1, of.width, nullptr) != CE_None)
        return CE_Failure;
    m_shrinking.Make(cell, m_read.data(), static_cast<ptrdiff_t>(line), m_mask != nullptr ? m_valid.data() : nullptr,
                     m_made.data(), static_cast<ptrdiff_t>(item) * cell.width, m_level.View().options.threads);
    return m_target.RasterIO(GF_Write, cell.x, cell.y, cell.width, cell.height, m_made.data(), cell.width, cell.height,
                             m_shrinking.type, item, item * cell.width, nullptr);
}

CPLErr LevelBand::Make(GDALProgressFunc progress, void *progressData)
{
    std::vector<Window> cells;
    FindCells({0, 0, m_shrinking.toWidth, m_shrinking.toHeight}, cells);
    for (size_t i = 0; i < cells.size(); i++)
    {
        if (MakeCell(cells[i]) != CE_None)
            return CE_Failure;
        if (!progress(static_cast<double>(i + 1) / static_cast<double>(cells.size()), "", progressData))
            return zsRefuse(CPLE_UserInterrupt, "User terminated");
    }
    return CE_None;
}

/* ---- A band ---- */

/* The process that loaded the plugin. */
static const pid_t s_loader = getpid();

/* Other resamplings, complex numbers and palettes are GDAL's. */
static CPLErr makeByGdal(GDALRasterBand *source, GDALRasterBand *target, const char *resampling,
                         GDALProgressFunc progress, void *progressData, CSLConstList options)
{
    // GDAL keeps the threads that resample for it, which a forked process does not have: it would wait for them.
    std::optional<CPLConfigOptionSetter> one;
    if (getpid() != s_loader)
        one.emplace("GDAL_NUM_THREADS", "1", false);
    if (GDALDataTypeIsComplex(source->GetRasterDataType())) // the other function reads only the real part
    {
        GDALRasterBandH handle = target;
        return GDALRegenerateOverviews(source, 1, &handle, resampling, progress, progressData);
    }
    GDALRasterBand **targets = &target;
    return GDALRegenerateOverviewsMultiBand(1, &source, 1, &targets, resampling, progress, progressData, options);
}

CPLErr zsMakeLevelBand(ShardedZarrDataset &from, ShardedZarrDataset &level, int band, const char *resampling,
                       GDALProgressFunc progress, void *progressData, CSLConstList options)
{
    LevelBand own(from, level, band);
    if (own.Start(resampling))
        return own.Make(progress, progressData);
    const auto before = CPLGetErrorCounter();
    const CPLErr result =
        makeByGdal(&from.Band(band), &level.Band(band), resampling, progress, progressData, options);
    if (result != CE_None && CPLGetErrorCounter() == before) // said in a thread of GDAL's, which no handler hears
        CPLError(CE_Failure, CPLE_AppDefined, "%s: overviews by %s could not be made",
                 zsShown(level.View().store->name).c_str(), resampling);
    return result;
}
