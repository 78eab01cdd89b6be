/* Reads and writes windows of a dataset's bands. */
#include "dataset.h"

#include <algorithm>
#include <numeric>

#include "gdal/guard.h"
#include "gdal/types.h"

extern "C"
{
#include "raster/pixels.h"
#include "raster/update.h"
}

// The longest side of a block when chunks have different shapes.
constexpr uint64_t MOST_BLOCK = 512;

/* The bands of one array. From the last: the first call makes room for all. */
void ShardedZarrDataset::AddBands(size_t source)
{
    const struct zs_array_info info = m_view.Info(source);
    const int x = m_view.Array(source).axes.x, y = m_view.Array(source).axes.y;
    // GDAL's blocks are of one size. Where chunks are not, they need not be chunks: the cache of these serves all that
    // touch one.
    const uint64_t mostBlock = info.has_edges && !info.is_sharded ? MOST_BLOCK : UINT64_MAX;
    const auto block = [&](int d) {
        return static_cast<int>(std::min({info.chunk_shape[d], info.shape[d], mostBlock}));
    };
    const bool isHealpix = m_view.Array(source).isHealpix;
    const int blockWidth = isHealpix ? zsHealpixBlock(m_view.Array(source)) : block(x);
    const int blockHeight = isHealpix ? blockWidth : y >= 0 ? block(y) : 1;
    const GDALDataType type = m_isMask ? GDT_Byte : zsGDALType(info.data_type);
    const int before = m_view.Before(source);
    for (int b = static_cast<int>(m_view.Slices(source).count); b >= 1; b--)
        SetBand(before + b, new ShardedZarrRasterBand(this, before + b, type, blockWidth, blockHeight));
}

enum zs_status ShardedZarrDataset::PrepareCells(struct zs_error *err)
{
    if (!m_view.IsHealpix() || (m_areCellsReady && !IsUpdate()))
        return ZS_OK;
    for (size_t i = 0; i < m_view.sources.size(); i++)
        ZS_TRY(m_view.PrepareCells(i, Band(m_view.Before(i) + 1).Properties(), err));
    m_areCellsReady = true;
    return ZS_OK;
}

CPLErr ShardedZarrDataset::ReadCellMask(int band, int x, int y, int width, int height, unsigned char *mask,
                                        int lineSpace)
{
    struct zs_error err;
    const struct zs_pixel_box box = {static_cast<uint64_t>(x), static_cast<uint64_t>(y), static_cast<uint64_t>(width),
                                     static_cast<uint64_t>(height)};
    if (PrepareCells(&err) != ZS_OK)
        return zsReport(err);
    zs_healpix_mask(&m_view.Map(m_view.SourceOf(band)), &box, mask, lineSpace);
    return CE_None;
}

bool ShardedZarrDataset::HasAllCells()
{
    struct zs_error err;
    return m_view.IsHealpix() && PrepareCells(&err) == ZS_OK && m_view.Map(0).cells == nullptr;
}

CPLErr ShardedZarrDataset::UpdateBlank()
{
    if (!m_isBlank)
        return CE_None;
    const ZSArray &blank = m_view.Array(0); // Create() makes one array
    const struct zs_array_info info = m_view.Info(0);
    const unsigned char *nodata = Band(1).Properties().nodata;
    bool isOne = true; // of all bands
    for (int b = 1; b <= GetRasterCount() && isOne; b++)
    {
        const struct zs_band_properties &m = Band(b).Properties();
        isOne = m.has_nodata && memcmp(m.nodata, nodata, info.item_size) == 0;
    }
    static const unsigned char zeros[ZS_MAX_ITEM_SIZE] = {}; // Create() gave it these
    const unsigned char *fill = isOne ? nodata : zeros;
    if (memcmp(fill, info.fill_value, info.item_size) == 0)
        return CE_None;
    struct zs_error err;
    const struct zs_node *node = nullptr;
    struct zs_array *array = nullptr;
    const struct zs_array_options options = m_view.options.ForArrays();
    if (zs_update_empty_array(m_view.store->hierarchy, blank.node, fill, &node, &err) != ZS_OK ||
        zs_array_open_node(m_view.store->hierarchy, node, &options, &array, &err) != ZS_OK)
        return zsReport(err);
    zs_array_set_order(array, zs_array_chunk_order(blank.array));
    const auto opened = std::make_shared<ZSArray>(node, array, blank.axes, true);
    opened->isHealpix = blank.isHealpix;
    opened->healpix = blank.healpix;
    m_view.ReplaceArray(0, opened);
    return CE_None;
}

/* ---- Windows ---- */

/* The conversion of elements for each array that a window has bands of; `steps` keeps what they are made of. */
std::vector<struct zs_conversion> ShardedZarrDataset::Conversions(GDALRWFlag flag, const struct zs_band_window &window,
                                                                  GDALDataType type,
                                                                  std::vector<ZSConversion> &steps) const
{
    const bool isMask = m_isMask && (flag == GF_Write || !m_validity.is_plain);
    std::vector<struct zs_conversion> list(m_view.sources.size());
    steps.resize(list.size());
    for (size_t i = 0; i < window.band_count; i++)
    {
        const size_t source = m_view.SourceOf(window.bands[i]);
        if (list[source].ctx != nullptr)
            continue;
        const struct zs_array_info info = m_view.Info(source);
        ZSConversion &step = steps[source];
        step = {info.data_type, info.item_size, type, isMask ? &m_validity : nullptr};
        const bool isAsIs = flag == GF_Read ? step.IsReadAsIs() : step.IsStoredAsIs();
        list[source] = {isAsIs ? nullptr : flag == GF_Read ? zsConvert : zsStore, &step};
    }
    return list;
}

CPLErr ShardedZarrDataset::ReadWindow(const struct zs_band_window &window, GDALDataType type)
{
    if (UpdateBlank() != CE_None)
        return CE_Failure;
    std::vector<ZSConversion> steps;
    const auto conversions = Conversions(GF_Read, window, type, steps);
    const struct zs_bands bands = m_view.Bands();
    struct zs_error err;
    if (PrepareCells(&err) == ZS_OK && zs_pixels_read(&bands, &window, conversions.data(), &err) == ZS_OK)
        return CE_None;
    return zsReport(err);
}

CPLErr ShardedZarrDataset::WriteWindow(const struct zs_band_window &window, GDALDataType type)
{
    if (!IsUpdate())
        return zsRefuse(CPLE_NoWriteAccess, "%s was not opened in update mode",
                        zsShown(GetDescription()).c_str());
    if (m_isMask && !m_validity.is_plain)
        return zsRefuse(CPLE_NotSupported,
                        "array /%s: expected a mask of 255 for valid and 0 for invalid: another one is only read",
                        m_view.Array(0).node->path);
    const bool hadLost = m_hasLost;
    m_hasLost = true; // until it is written: GDAL drops a block that could not be
    if (UpdateBlank() != CE_None)
        return CE_Failure;
    m_isBlank = false;
    m_isWritten = m_areLevelsOld = true;
    if (IsOverview())
        m_base->m_areLevelsOld = false;
    if (m_masked != nullptr)
        m_masked->m_isWritten = true;
    std::vector<ZSConversion> steps;
    const auto conversions = Conversions(GF_Write, window, type, steps);
    const struct zs_bands bands = m_view.Bands();
    struct zs_error err;
    if (zs_pixels_write(&bands, &window, static_cast<size_t>(GDALGetDataTypeSizeBytes(type)), conversions.data(),
                        &err) != ZS_OK)
        return zsReport(err);
    m_hasLost = hadLost;
    return CE_None;
}

CPLErr ShardedZarrDataset::MoveWhole(GDALRWFlag flag, const struct zs_band_window &window, GDALDataType type,
                                     const GDALRasterIOExtraArg *extra)
{
    const CPLErr result = flag == GF_Read ? ReadWindow(window, type) : WriteWindow(window, type);
    const bool isWatched = result == CE_None && extra != nullptr && extra->pfnProgress != nullptr;
    if (isWatched && !extra->pfnProgress(1, "", extra->pProgressData))
        return zsRefuse(CPLE_UserInterrupt, "User terminated");
    return result;
}

bool ShardedZarrDataset::MoveWindow(GDALRWFlag flag, const struct zs_band_window &window, int bufWidth, int bufHeight,
                                    GDALDataType type, GDALRasterIOExtraArg *extra, CPLErr &result)
{
    const bool isSameSize = window.width == static_cast<uint64_t>(bufWidth) &&
                            window.height == static_cast<uint64_t>(bufHeight);
    const bool hasFractions = extra != nullptr && extra->bFloatingPointWindowValidity &&
                              !(extra->dfXOff == static_cast<double>(window.x) &&
                                extra->dfYOff == static_cast<double>(window.y) &&
                                extra->dfXSize == static_cast<double>(window.width) &&
                                extra->dfYSize == static_cast<double>(window.height));
    if (flag == GF_Write && !isSameSize)
        return false;
    result = CE_None;
    for (size_t i = 0; i < window.band_count && result == CE_None; i++)
        result = Band(window.bands[i]).EmptyBlockCache();
    if (result != CE_None)
        return true;
    if (isSameSize && (flag == GF_Write || !hasFractions))
        result = MoveWhole(flag, window, type, extra);
    else if (!ReadNearest(window, bufWidth, bufHeight, type, extra, result))
    {
        result = IsUpdate() ? CE_None : Prefetch(window);
        return result != CE_None;
    }
    return true;
}

CPLErr ShardedZarrDataset::IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth,
                                     int bufHeight, GDALDataType type, int bandCount, BANDMAP_TYPE bands,
                                     GSpacing pixelSpace, GSpacing lineSpace, GSpacing bandSpace,
                                     GDALRasterIOExtraArg *extra)
{
    const auto window = zsBandWindow(x, y, width, height, data, bands, bandCount, pixelSpace, lineSpace, bandSpace);
    return zsGuard(
        [&]
        {
            CPLErr result = CE_None;
            int isOfLevel = FALSE;
            if (flag == GF_Read && (bufWidth < width || bufHeight < height))
                result = TryOverviewRasterIO(flag, x, y, width, height, data, bufWidth, bufHeight, type, bandCount,
                                             bands, pixelSpace, lineSpace, bandSpace, extra, &isOfLevel);
            if (isOfLevel || MoveWindow(flag, window, bufWidth, bufHeight, type, extra, result))
                return result;
            return GDALPamDataset::IRasterIO(flag, x, y, width, height, data, bufWidth, bufHeight, type, bandCount,
                                             bands, pixelSpace, lineSpace, bandSpace, extra);
        });
}

/* Windows up to this size are read whole and then thinned out. */
constexpr uint64_t NEAREST_BYTES = 64 << 20;

/* Source pixel of each buffer pixel, as GDALRasterBand::IRasterIO() computes it: within the raster, and for a window of
 * fractions at times beside the whole pixels that GDAL made of it. `first`, `count`: pixels from the first to the last.
 * Example: columns 86.5 to 87.5 as 2 pixels are columns 86 and 87; GDAL's window has column 87 alone. */
static std::vector<int> nearestPixels(double offset, double length, int bufSize, int rasterSize, uint64_t &first,
                                      uint64_t &count)
{
    constexpr double EPS = 1e-10;
    const double step = length / bufSize;
    std::vector<int> pixels(static_cast<size_t>(bufSize));
    double at = 0.5 * step + offset + EPS;
    for (auto &pixel : pixels)
    {
        pixel = static_cast<int>(std::max(0.0, std::min(rasterSize - 1.0, at)));
        at += step;
    }
    first = static_cast<uint64_t>(pixels.front());
    count = static_cast<uint64_t>(pixels.back()) - first + 1;
    return pixels;
}

bool ShardedZarrDataset::ReadNearest(const struct zs_band_window &window, int bufWidth, int bufHeight,
                                     GDALDataType type, GDALRasterIOExtraArg *extra, CPLErr &result)
{
    const auto item = static_cast<uint64_t>(GDALGetDataTypeSizeBytes(type));
    if (extra != nullptr && extra->eResampleAlg != GRIORA_NearestNeighbour)
        return false;
    const bool exact = extra != nullptr && extra->bFloatingPointWindowValidity;
    const auto asDouble = [](uint64_t n) { return static_cast<double>(n); };
    struct zs_band_window whole = window;
    const auto columns = nearestPixels(exact ? extra->dfXOff : asDouble(window.x),
                                       exact ? extra->dfXSize : asDouble(window.width), bufWidth,
                                       GetRasterXSize(), whole.x, whole.width);
    const auto rows = nearestPixels(exact ? extra->dfYOff : asDouble(window.y),
                                    exact ? extra->dfYSize : asDouble(window.height), bufHeight,
                                    GetRasterYSize(), whole.y, whole.height);
    if (whole.width == columns.size() && whole.height == rows.size()) // each pixel once
    {
        result = MoveWhole(GF_Read, whole, type, extra);
        return true;
    }
    if (whole.width > NEAREST_BYTES / window.band_count / item / whole.height)
        return false;
    const uint64_t plane = item * whole.width * whole.height;
    const std::unique_ptr<unsigned char[]> pixels(new unsigned char[static_cast<size_t>(plane) * window.band_count]);
    whole.data = pixels.get();
    whole.pixel_space = static_cast<ptrdiff_t>(item);
    whole.line_space = static_cast<ptrdiff_t>(item * whole.width);
    whole.band_space = static_cast<ptrdiff_t>(plane);
    result = MoveWhole(GF_Read, whole, type, extra);
    for (size_t b = 0; b < window.band_count && result == CE_None; b++)
    {
        for (int row = 0; row < bufHeight; row++)
        {
            const auto line = static_cast<size_t>(rows[static_cast<size_t>(row)]) - whole.y;
            const unsigned char *from = pixels.get() + b * plane + line * item * whole.width;
            auto to = static_cast<char *>(window.data) + window.band_space * static_cast<ptrdiff_t>(b) +
                      window.line_space * row;
            for (const int column : columns)
            {
                memcpy(to, from + (static_cast<size_t>(column) - whole.x) * item, item);
                to += window.pixel_space;
            }
        }
    }
    return true;
}

CPLErr ShardedZarrDataset::Prefetch(const struct zs_band_window &window)
{
    // A resampling kernel looks a little beyond the window.
    constexpr uint64_t MARGIN = 16;
    struct zs_band_window around = window;
    around.data = nullptr;
    around.x = window.x > MARGIN ? window.x - MARGIN : 0;
    around.y = window.y > MARGIN ? window.y - MARGIN : 0;
    const auto columns = static_cast<uint64_t>(GetRasterXSize());
    const auto rows = static_cast<uint64_t>(GetRasterYSize());
    around.width = std::min(columns, window.x + window.width + MARGIN) - around.x;
    around.height = std::min(rows, window.y + window.height + MARGIN) - around.y;
    const struct zs_bands bands = m_view.Bands();
    struct zs_error err;
    if (PrepareCells(&err) == ZS_OK && zs_pixels_prefetch(&bands, &around, &err) == ZS_OK)
        return CE_None;
    return zsReport(err);
}

CPLErr ShardedZarrDataset::AdviseRead(int x, int y, int width, int height, int bufWidth, int bufHeight, GDALDataType,
                                      int bandCount, int *bandList, ZSCreateOptions)
{
    return zsGuard([&]() -> CPLErr {
        std::vector<int> all(bandList == nullptr || bandCount <= 0 ? static_cast<size_t>(nBands) : 0);
        std::iota(all.begin(), all.end(), 1);
        if (IsUpdate() || bufWidth < width || bufHeight < height) // an overview may be read
            return CE_None;
        const auto window = all.empty() ? zsBandWindow(x, y, width, height, nullptr, bandList, bandCount, 0, 0, 0)
                                        : zsBandWindow(x, y, width, height, nullptr, all.data(), nBands, 0, 0, 0);
        return Prefetch(window);
    });
}
