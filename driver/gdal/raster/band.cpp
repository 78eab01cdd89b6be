#include <algorithm>

#include "dataset.h"

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

/* ---- Pixels ---- */

struct zs_band_window ShardedZarrRasterBand::BlockWindow(int column, int row, void *data) const
{
    const int x = column * nBlockXSize, y = row * nBlockYSize, size = GDALGetDataTypeSizeBytes(eDataType);
    return zsBandWindow(x, y, std::min(nBlockXSize, nRasterXSize - x), std::min(nBlockYSize, nRasterYSize - y), data,
                        &nBand, 1, size, static_cast<GSpacing>(size) * nBlockXSize, 0);
}

CPLErr ShardedZarrRasterBand::IReadBlock(int column, int row, void *data)
{
    return Dataset().ReadWindow(BlockWindow(column, row, data), eDataType);
}

CPLErr ShardedZarrRasterBand::IWriteBlock(int column, int row, void *data)
{
    DropStatistics(true);
    return Dataset().WriteWindow(BlockWindow(column, row, data), eDataType);
}

CPLErr ShardedZarrRasterBand::SettleBlocks()
{
    return eAccess == GA_Update ? GDALRasterBand::FlushCache(false) : CE_None;
}

CPLErr ShardedZarrRasterBand::IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth,
                                        int bufHeight, GDALDataType type, GSpacing pixelSpace, GSpacing lineSpace,
                                        GDALRasterIOExtraArg *extra)
{
    if (flag == GF_Write && eAccess == GA_Update)
        DropStatistics(false);
    auto &ds = Dataset();
    const auto window = zsBandWindow(x, y, width, height, data, &nBand, 1, pixelSpace, lineSpace, 0);
    if (width == bufWidth && height == bufHeight)
    {
        if (SettleBlocks() != CE_None)
            return CE_Failure;
        return ds.MoveWindow(flag, window, type, extra);
    }
    if (flag == GF_Read && !ds.IsUpdate() && !ds.IsForOverview(x, y, width, height, bufWidth, bufHeight, extra))
    {
        CPLErr result = CE_None;
        if (ds.ReadNearest(window, bufWidth, bufHeight, type, extra, result))
            return result;
        if (ds.Prefetch(window) != CE_None)
            return CE_Failure;
    }
    return GDALPamRasterBand::IRasterIO(flag, x, y, width, height, data, bufWidth, bufHeight, type, pixelSpace,
                                        lineSpace, extra);
}

/* ---- Overviews ---- */

int ShardedZarrRasterBand::GetOverviewCount()
{
    auto &ds = Dataset();
    if (!ds.AreOverviewsEnabled()) // OVERVIEW_LEVEL=NONE
        return 0;
    ds.FindOverviews();
    return ds.m_overviews.empty() ? ds.ExternalCount() : static_cast<int>(ds.m_overviews.size());
}

GDALRasterBand *ShardedZarrRasterBand::GetOverview(int i)
{
    auto &ds = Dataset();
    ds.FindOverviews();
    if (ds.m_overviews.empty())
        return ds.m_external.GetOverview(nBand, i);
    if (i < 0 || i >= static_cast<int>(ds.m_overviews.size()))
        return nullptr;
    return ds.m_overviews[static_cast<size_t>(i)]->GetRasterBand(nBand);
}
