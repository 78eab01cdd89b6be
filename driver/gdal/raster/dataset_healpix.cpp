/* A dataset whose pixels are HEALPix cells: what it needs beside its arrays. */
#include "dataset.h"
#include "gdal/guard.h"
#include "healpix_map.h"
#include "healpix_target.h"

extern "C"
{
#include "raster/healpix.h"
#include "raster/pixels.h"
}

enum zs_status ShardedZarrDataset::PrepareCells(struct zs_error *err)
{
    const auto nodata = [this](size_t source) -> const struct zs_meaning &
    { return IsUpdate() ? Band(m_view.Before(source) + 1).Meaning() : m_view.Meaning(source); };
    return m_view.PrepareCells(IsUpdate(), nodata, err);
}

/* ---- Masks ---- */

namespace
{
/* Which pixels are cells, for arrays that have no value which is none. */
class CellMask final : public GDALRasterBand
{
    ShardedZarrDataset &m_dataset;
    const int m_number;

  protected:
    CPLErr IReadBlock(int column, int row, void *data) override
    {
        return zsGuard(
            [&]
            {
                const int x = column * nBlockXSize, y = row * nBlockYSize;
                return m_dataset.ReadMask(m_number, x, y, std::min(nBlockXSize, nRasterXSize - x),
                                          std::min(nBlockYSize, nRasterYSize - y), static_cast<unsigned char *>(data),
                                          nBlockXSize);
            });
    }

  public:
    CellMask(ShardedZarrDataset &dataset, GDALRasterBand &band, int number) : m_dataset(dataset), m_number(number)
    {
        // As masks of all drivers, it is of no dataset.
        nRasterXSize = band.GetXSize();
        nRasterYSize = band.GetYSize();
        eDataType = GDT_Byte;
        band.GetBlockSize(&nBlockXSize, &nBlockYSize);
    }
    bool IsMaskBand() const override
    {
        return true;
    }
};
} // namespace

CPLErr ShardedZarrDataset::ReadMask(int band, int x, int y, int width, int height, unsigned char *mask, int lineSpace)
{
    struct zs_error err;
    const struct zs_pixel_box box = {static_cast<uint64_t>(x), static_cast<uint64_t>(y), static_cast<uint64_t>(width),
                                     static_cast<uint64_t>(height)};
    const struct zs_healpix_map &map = m_view.Map(m_view.SourceOf(band));
    if (PrepareCells(&err) == ZS_OK && zs_healpix_mask(&map, &box, mask, lineSpace, &err) == ZS_OK)
        return CE_None;
    zsReport(err);
    return CE_Failure;
}

bool ShardedZarrRasterBand::HasCellMask()
{
    int isElsewhere = FALSE; // in a side-car file
    if (!Dataset().m_view.IsHealpix() || Meaning().has_nodata)
        return false;
    GDALPamRasterBand::GetNoDataValue(&isElsewhere);
    return !isElsewhere;
}

GDALRasterBand *ShardedZarrRasterBand::CellMaskBand()
{
    if (m_cellMask == nullptr)
        m_cellMask = std::make_unique<CellMask>(Dataset(), *this, nBand);
    return m_cellMask.get();
}

/* ---- Statistics: of each cell once, though face 6 is shown twice ---- */

ShardedZarrDataset *ShardedZarrDataset::Column(int band)
{
    if (!m_view.IsHealpix() || m_view.sources[0].shown != ZS_HEALPIX_SPHERE)
        return nullptr;
    static_cast<void>(Band(band).SettleBlocks()); // it does not see them; what fails was said
    if (m_column == nullptr)
    {
        ZSBandSources sources = m_view.sources;
        for (auto &source : sources)
            source.shown = ZS_HEALPIX_COLUMN;
        struct zs_error err;
        m_column = Over(m_view.store, sources, m_view.group, m_view.options, GA_ReadOnly, &err);
        if (m_column == nullptr)
            return nullptr;
        m_column->nPamFlags |= GPF_NOSAVE;
        for (int b = 1; b <= nBands && IsUpdate(); b++)
            m_column->Band(b).TakeMeaning(Band(b)); // it may not be in the store yet
    }
    return m_column.get();
}

CPLErr ShardedZarrRasterBand::ComputeStatistics(int approximate, double *min, double *max, double *mean,
                                                double *deviation, GDALProgressFunc progress, void *progressData)
{
    ShardedZarrDataset *column = Dataset().Column(nBand);
    if (column == nullptr)
        return GDALPamRasterBand::ComputeStatistics(approximate, min, max, mean, deviation, progress, progressData);
    double found[4] = {};
    const CPLErr result = column->GetRasterBand(nBand)->ComputeStatistics(
        approximate, &found[0], &found[1], &found[2], &found[3], progress, progressData);
    if (result != CE_None)
        return result;
    double *const wanted[] = {min, max, mean, deviation};
    for (size_t i = 0; i < 4; i++)
    {
        if (wanted[i] != nullptr)
            *wanted[i] = found[i];
    }
    return SetStatistics(found[0], found[1], found[2], found[3]);
}

CPLErr ShardedZarrRasterBand::GetHistogram(double min, double max, int buckets, GUIntBig *histogram,
                                           int includeOutOfRange, int approximate, GDALProgressFunc progress,
                                           void *progressData)
{
    ShardedZarrDataset *column = Dataset().Column(nBand);
    if (column == nullptr && KeepsHistogram()) // not in a side-car file, which writing makes untrue
        return GDALRasterBand::GetHistogram(min, max, buckets, histogram, includeOutOfRange, approximate, progress,
                                            progressData);
    if (column == nullptr)
        return GDALPamRasterBand::GetHistogram(min, max, buckets, histogram, includeOutOfRange, approximate, progress,
                                               progressData);
    return column->GetRasterBand(nBand)->GetHistogram(min, max, buckets, histogram, includeOutOfRange, approximate,
                                                      progress, progressData);
}
