#include <algorithm>
#include <vector>

#include "dataset.h"

extern "C"
{
#include "raster/pixels.h"
}

ShardedZarrRasterBand::ShardedZarrRasterBand(ShardedZarrDataset *dataset, int band, GDALDataType type, int blockWidth,
                                             int blockHeight)
{
    poDS = dataset;
    nBand = band;
    eAccess = dataset->GetAccess();
    eDataType = type;
    nBlockXSize = blockWidth;
    nBlockYSize = blockHeight;
}

ShardedZarrDataset &ShardedZarrRasterBand::Dataset() const
{
    return *static_cast<ShardedZarrDataset *>(poDS);
}

ZSView &ShardedZarrRasterBand::View() const
{
    return Dataset().m_view;
}

/* ---- Pixels ---- */

struct zs_band_window ShardedZarrRasterBand::BlockWindow(int column, int row, void *data) const
{
    const int x = column * nBlockXSize, y = row * nBlockYSize, size = GDALGetDataTypeSizeBytes(eDataType);
    return zsBandWindow(x, y, std::min(nBlockXSize, nRasterXSize - x), std::min(nBlockYSize, nRasterYSize - y), data,
                        &nBand, 1, size, static_cast<GSpacing>(size) * nBlockXSize, 0);
}

CPLErr ShardedZarrRasterBand::IReadBlock(int column, int row, void *data)
{
    return Dataset().pixels.Read(BlockWindow(column, row, data), eDataType);
}

CPLErr ShardedZarrRasterBand::IWriteBlock(int column, int row, void *data)
{
    DropStatistics(true);
    return Dataset().pixels.Write(BlockWindow(column, row, data), eDataType);
}

CPLErr ShardedZarrRasterBand::EmptyBlockCache()
{
    return eAccess == GA_Update ? GDALRasterBand::FlushCache(false) : CE_None;
}

CPLErr ShardedZarrRasterBand::IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth,
                                        int bufHeight, GDALDataType type, GSpacing pixelSpace, GSpacing lineSpace,
                                        GDALRasterIOExtraArg *extra)
{
    if (flag == GF_Write && eAccess == GA_Update)
        DropStatistics(false);
    ZSPixels &pixels = Dataset().pixels;
    const auto window = zsBandWindow(x, y, width, height, data, &nBand, 1, pixelSpace, lineSpace, 0);
    if (width == bufWidth && height == bufHeight)
    {
        if (EmptyBlockCache() != CE_None)
            return CE_Failure;
        return pixels.Move(flag, window, type, extra);
    }
    CPLErr result = CE_None;
    if (flag == GF_Read && pixels.ReadResampled(window, bufWidth, bufHeight, type, extra, result))
        return result;
    return GDALPamRasterBand::IRasterIO(flag, x, y, width, height, data, bufWidth, bufHeight, type, pixelSpace,
                                        lineSpace, extra);
}

/* ---- Overviews ---- */

int ShardedZarrRasterBand::GetOverviewCount()
{
    auto &ds = Dataset();
    return ds.AreOverviewsEnabled() ? ds.overviews.Count() : 0; // OVERVIEW_LEVEL=NONE
}

GDALRasterBand *ShardedZarrRasterBand::GetOverview(int i)
{
    return Dataset().overviews.Get(nBand, i);
}

/* ---- Where there are pixels: gdalwarp, VRTs and copies leave out what is empty ---- */

/* At most so many boxes are looked up together; each costs microseconds once the indexes are cached. When more boxes
 * hold data, they are not divided further. */
constexpr size_t MOST_BOXES = 4096;

using Boxes = std::vector<struct zs_pixel_box>;

bool ShardedZarrRasterBand::FillIsEmpty()
{
    const struct zs_array_info info = View().Info(Source());
    if (Dataset().m_role.isMask)
        return !zs_validity_of(&Dataset().m_role.validity,
                               zsElementToDouble(info.data_type, info.item_size, info.fill_value));
    const auto &m = Properties();
    int isElsewhere = FALSE; // in a side-car file
    if (!m.has_nodata)
        GDALPamRasterBand::GetNoDataValue(&isElsewhere);
    const std::vector<unsigned char> zero(info.item_size);
    const void *empty = m.has_nodata ? static_cast<const void *>(m.nodata) : zero.data();
    return !isElsewhere && memcmp(info.fill_value, empty, info.item_size) == 0;
}

/* Cuts the box along multiples of columns and rows. */
static void cut(const struct zs_pixel_box &box, uint64_t columns, uint64_t rows, Boxes &parts)
{
    const uint64_t right = box.x + box.width, bottom = box.y + box.height;
    for (uint64_t y = box.y, nextY; y < bottom; y = nextY)
    {
        nextY = std::min((y / rows + 1) * rows, bottom);
        for (uint64_t x = box.x, nextX; x < right; x = nextX)
        {
            nextX = std::min((x / columns + 1) * columns, right);
            parts.push_back({x, y, nextX - x, nextY - y});
        }
    }
}

/* Cuts boxes likewise. */
static Boxes cutAll(const Boxes &boxes, uint64_t columns, uint64_t rows)
{
    Boxes parts;
    for (const auto &box : boxes)
        cut(box, columns, rows, parts);
    return parts;
}

/* The boxes that hold data, looked up MOST_BOXES at once. */
enum zs_status ShardedZarrRasterBand::FindStored(const Boxes &boxes, Boxes &stored, struct zs_error *err) const
{
    const struct zs_bands bands = View().Bands();
    const std::unique_ptr<bool[]> isStored(new bool[MOST_BOXES]);
    stored.clear();
    for (size_t first = 0; first < boxes.size(); first += MOST_BOXES)
    {
        const size_t count = std::min(MOST_BOXES, boxes.size() - first);
        ZS_TRY(zs_pixels_find_stored(&bands, nBand, &boxes[first], count, isStored.get(), err));
        for (size_t i = 0; i < count; i++)
        {
            if (isStored[i])
                stored.push_back(boxes[first + i]);
        }
    }
    return ZS_OK;
}

/* Blocks along a side of a box of 2^n x 2^n blocks that is as large as a window. */
uint64_t ShardedZarrRasterBand::BlocksAlong(uint64_t width, uint64_t height) const
{
    uint64_t blocks = 1;
    while (static_cast<uint64_t>(nBlockXSize) * blocks < width || static_cast<uint64_t>(nBlockYSize) * blocks < height)
        blocks *= 2;
    return blocks;
}

bool ShardedZarrRasterBand::FindStoredBlocks(size_t most, Boxes &found)
{
    struct zs_error reason;
    if (EmptyBlockCache() != CE_None || Dataset().pixels.PrepareCells(&reason) != ZS_OK)
        return false;
    const auto columns = static_cast<uint64_t>(nBlockXSize), rows = static_cast<uint64_t>(nBlockYSize);
    const struct zs_pixel_box all = {0, 0, static_cast<uint64_t>(nRasterXSize), static_cast<uint64_t>(nRasterYSize)};
    Boxes stored(1, all);
    for (uint64_t blocks = BlocksAlong(all.width, all.height); blocks > 0 && stored.size() <= most; blocks /= 2)
    {
        const Boxes boxes = cutAll(stored, columns * blocks, rows * blocks);
        if (FindStored(boxes, stored, &reason) != ZS_OK)
            return false;
    }
    found.insert(found.end(), stored.begin(), stored.end());
    return stored.size() <= most;
}

/* Looks at the window, then at the quarters of each box that holds data, down to single blocks. */
int ShardedZarrRasterBand::IGetDataCoverageStatus(int x, int y, int width, int height, int stopFlags, double *percent)
{
    constexpr int unknown = GDAL_DATA_COVERAGE_STATUS_UNIMPLEMENTED | GDAL_DATA_COVERAGE_STATUS_DATA;
    if (percent != nullptr)
        *percent = 100;
    struct zs_error reason;
    if (!FillIsEmpty() || EmptyBlockCache() != CE_None || Dataset().pixels.PrepareCells(&reason) != ZS_OK)
        return unknown; // reading reports the error
    const auto columns = static_cast<uint64_t>(nBlockXSize), rows = static_cast<uint64_t>(nBlockYSize);
    const struct zs_pixel_box window = {static_cast<uint64_t>(x), static_cast<uint64_t>(y),
                                        static_cast<uint64_t>(width), static_cast<uint64_t>(height)};
    Boxes stored(1, window);
    int status = 0;
    for (uint64_t blocks = BlocksAlong(window.width, window.height); !stored.empty(); blocks /= 2)
    {
        const Boxes boxes = cutAll(stored, columns * blocks, rows * blocks);
        if (FindStored(boxes, stored, &reason) != ZS_OK)
            return unknown; // reading reports the error
        status |= stored.empty() ? 0 : GDAL_DATA_COVERAGE_STATUS_DATA;
        status |= stored.size() == boxes.size() ? 0 : GDAL_DATA_COVERAGE_STATUS_EMPTY;
        if (blocks == 1 || stored.size() > MOST_BOXES / 4 || (status & stopFlags) != 0)
            break;
    }
    double pixels = 0;
    for (const auto &box : stored)
        pixels += static_cast<double>(box.width) * static_cast<double>(box.height);
    if (percent != nullptr)
        *percent = 100 * pixels / (static_cast<double>(width) * height);
    return status;
}
