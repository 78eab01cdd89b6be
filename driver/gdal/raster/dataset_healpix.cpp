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

/* ---- Cells ---- */

/* Once for all clones. */
enum zs_status ZSArray::ReadCells(const ZSStore &store, struct zs_error *err)
{
    const std::lock_guard<std::mutex> guard(lock);
    if (healpix.coordinate == nullptr || cellsRead)
        return ZS_OK;
    ZS_TRY(zs_healpix_cells_read(store.hierarchy, &healpix, node->array->shape[healpix.dim], &cells, err));
    cellsRead = true;
    return ZS_OK;
}

bool ZSArray::MayWriteCells(const ZSStore &store, struct zs_error *err)
{
    if (!isHealpix)
        return true;
    const bool isWhole = node->array->shape[healpix.dim] == zs_healpix_cells_of(healpix.order);
    const bool isPlain = !healpix.is_ring && healpix.words == ZS_HEALPIX_NUMBERS;
    if (isPlain && isWhole && ReadCells(store, err) != ZS_OK)
        return false;
    if (isPlain && isWhole && (healpix.coordinate == nullptr || cells.is_all))
        return true;
    zs_fail(err, ZS_UNSUPPORTED,
            "array /%s: only nested HEALPix cells of all the sphere in order are written as a map; the open option "
            "HEALPIX=NO opens them as one row",
            node->path);
    return false;
}

/* What pixels get that are no cell: nodata, else the fill value, which a mask then leaves out. */
enum zs_status ShardedZarrDataset::PrepareCells(struct zs_error *err)
{
    if (!IsHealpix() || (m_cellsReady && !IsUpdate())) // a nodata value may have been set
        return ZS_OK;
    for (size_t i = 0; i < m_sources.size(); i++)
    {
        ZSArray &array = *m_sources[i].array;
        ZS_TRY(array.ReadCells(*m_store, err));
        struct zs_healpix_map &map = m_maps[i];
        const bool isListed = array.healpix.coordinate != nullptr && !array.cells.is_all;
        map.cells = isListed ? &array.cells : nullptr;
        const auto &meaning = IsUpdate() ? Band(static_cast<int>(m_slices[i].first) + 1).Meaning() : Meaning(i);
        memcpy(map.empty, meaning.has_nodata ? static_cast<const void *>(meaning.nodata) : Info(i).fill_value,
               Info(i).item_size);
    }
    m_cellsReady = true;
    return ZS_OK;
}

void ShardedZarrDataset::MakeMaps()
{
    m_maps.resize(m_sources.size());
    for (size_t i = 0; i < m_sources.size(); i++)
    {
        const auto &healpix = Array(i).healpix;
        m_maps[i].order = healpix.order;
        m_maps[i].shown = m_sources[i].shown;
        m_maps[i].is_ring = healpix.is_ring;
        m_slices[i].cells = &m_maps[i];
    }
}

/* NaN is no reading, whatever the store says, so that squares which are no face are none. */
void ShardedZarrDataset::AddNaN(struct zs_meaning &meaning, const struct zs_array_info &info)
{
    const uint16_t half = 0x7e00;
    const float single = std::numeric_limits<float>::quiet_NaN();
    const double whole = std::numeric_limits<double>::quiet_NaN();
    const void *nan = info.data_type == ZS_FLOAT16   ? static_cast<const void *>(&half)
                      : info.data_type == ZS_FLOAT32 ? static_cast<const void *>(&single)
                      : info.data_type == ZS_FLOAT64 ? static_cast<const void *>(&whole)
                                                     : nullptr;
    if (meaning.has_nodata || nan == nullptr)
        return;
    meaning.has_nodata = true;
    memcpy(meaning.nodata, nan, info.item_size);
}

/* ---- Place ---- */

/* What a map lies in is told by its cells: only the ellipsoid of an empty one may still become another. */
CPLErr ShardedZarrDataset::SetCellPlane(const OGRSpatialReference *srs)
{
    ZSArray &array = *m_sources[0].array;
    bool isPlane;
    struct zs_healpix wanted = zsHealpixTarget(array.healpix.order, srs, &isPlane);
    const bool isSame = wanted.is_wgs84 ? array.healpix.is_wgs84 : zs_healpix_is_same(&wanted, &array.healpix);
    if (isPlane && IsWholeSphere() && isSame)
        return CE_None;
    if (!isPlane || !IsWholeSphere() || !m_isBlank)
    {
        CPLError(CE_Failure, CPLE_NotSupported, "%s: HEALPix cells lie in %s", zsShown(GetDescription()).c_str(),
                 isPlane ? "the plane of the ellipsoid that they were made on"
                         : "+proj=healpix +rot_xy=45, and no other coordinate reference system");
        return CE_Failure;
    }
    array.healpix.semi_major = wanted.semi_major;
    array.healpix.inverse_flattening = wanted.inverse_flattening;
    array.healpix.is_wgs84 = wanted.is_wgs84;
    zs_georef_clear(&m_georef);
    m_georef = {};
    m_georefRead = false;
    m_georefChanged |= CELLS;
    return CE_None;
}

CPLErr ShardedZarrDataset::CheckCellTransform(const double *transform)
{
    const struct zs_healpix &healpix = Array(0).healpix;
    if (IsWholeSphere() && zsIsHealpixTransform(healpix, transform))
        return CE_None;
    CPLError(CE_Failure, CPLE_NotSupported,
             "%s: pixels that are HEALPix cells of order %d lie where gdalwarp %s has them",
             zsShown(GetDescription()).c_str(),
             healpix.order, zsHealpixArguments(healpix).c_str());
    return CE_Failure;
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
    if (PrepareCells(&err) == ZS_OK && zs_healpix_mask(&m_maps[SourceOf(band)], &box, mask, lineSpace, &err) == ZS_OK)
        return CE_None;
    zsReport(err);
    return CE_Failure;
}

bool ShardedZarrRasterBand::HasCellMask()
{
    int isElsewhere = FALSE; // in a side-car file
    if (!Dataset().IsHealpix() || Meaning().has_nodata)
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
    if (!IsHealpix() || m_sources[0].shown != ZS_HEALPIX_SPHERE)
        return nullptr;
    static_cast<void>(Band(band).SettleBlocks()); // it does not see them; what fails was said
    if (m_column == nullptr)
    {
        ZSBandSources sources = m_sources;
        for (auto &source : sources)
            source.shown = ZS_HEALPIX_COLUMN;
        struct zs_error err;
        m_column = Over(m_store, sources, m_group, m_options, GA_ReadOnly, &err);
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
