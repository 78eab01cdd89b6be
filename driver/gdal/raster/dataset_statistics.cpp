#include "dataset.h"

#include <algorithm>
#include <cmath>

#include "gdal/guard.h"
#include "window_dataset.h"

extern "C"
{
#include "raster/healpix.h"
#include "raster/update.h"
}

/* ---- HEALPix maps of which little is stored ---- */

namespace
{
/* A band as its stored blocks, which are read, and the other cells, which are all alike and are counted. Each cell
 * counts once. Of a fine order nearly all blocks are absent, and reading them all would take years. */
class ZSSparseCells
{
  public:
    using Blocks = std::vector<struct zs_pixel_box>;

    /* Null where the band is to be read as it is: it has no cells, few blocks, or most of them are stored, or that is
     * not known. Borrows the band. */
    static std::unique_ptr<ZSSparseCells> Of(ShardedZarrRasterBand &band);

    /* found[4]: min, max, mean, deviation. CE_Failure with CPLError emitted, also where no cell is valid. Other
     * parameters, here and below, are those of GDALRasterBand. */
    CPLErr ComputeStatistics(bool isApproximate, double *found, GDALProgressFunc progress, void *progressData);
    CPLErr GetHistogram(double min, double max, int buckets, GUIntBig *histogram, int includeOutOfRange,
                        int isApproximate, GDALProgressFunc progress, void *progressData);

  private:
    ZSSparseCells() = default;
    bool ReadOther(GDALRasterBand &band, const struct zs_pixel_box &block);
    CPLErr CountValid(double &count) const;

    std::unique_ptr<GDALRasterBand> m_stored; // null: nothing is
    std::unique_ptr<GDALRasterBand> m_other;  // one block that is not stored
    double m_otherCount = 0, m_blockSize = 0; // cells
    double m_otherValue = 0;
    bool m_isOtherValid = false;
};

/* Blocks of a band below each other, with its nodata and its mask: GDAL computes of it what is of these blocks. */
class BlocksBand final : public ZSPartialBand
{
    const std::shared_ptr<const ZSSparseCells::Blocks> m_blocks; // all as large
    std::unique_ptr<GDALRasterBand> m_mask;

  public:
    BlocksBand(GDALRasterBand &of, const std::shared_ptr<const ZSSparseCells::Blocks> &blocks)
        : ZSPartialBand(of), m_blocks(blocks)
    {
        const struct zs_pixel_box &first = blocks->front();
        nRasterXSize = nBlockXSize = static_cast<int>(first.width);
        nBlockYSize = static_cast<int>(first.height);
        nRasterYSize = nBlockYSize * static_cast<int>(blocks->size());
    }
    int GetMaskFlags() override
    {
        return m_of.GetMaskFlags();
    }
    GDALRasterBand *GetMaskBand() override
    {
        if (m_mask == nullptr)
            m_mask = std::make_unique<BlocksBand>(*m_of.GetMaskBand(), m_blocks);
        return m_mask.get();
    }

  protected:
    CPLErr IReadBlock(int, int row, void *data) override
    {
        const struct zs_pixel_box &block = (*m_blocks)[static_cast<size_t>(row)];
        return m_of.RasterIO(GF_Read, static_cast<int>(block.x), static_cast<int>(block.y), nBlockXSize, nBlockYSize,
                             data, nBlockXSize, nBlockYSize, eDataType, 0, 0, nullptr);
    }
};
} // namespace

/* A band of fewer blocks is read as it is. */
constexpr uint64_t LEAST_BLOCKS = 1024;
/* So many are held at most. */
constexpr size_t MOST_BLOCKS = 1 << 21;

/* Whether a block shows cells that no other block shows: squares without a face do not, and face 6 is shown twice. */
static bool isCounted(const ZSView &view, uint64_t x, uint64_t y)
{
    const uint64_t side = static_cast<uint64_t>(1) << view.Array(0).healpix.order;
    const int face = zs_healpix_face_at(view.sources[0].shown, static_cast<int>(x / side), static_cast<int>(y / side));
    return face >= 0 && !(view.IsWholeSphere() && face == ZS_HEALPIX_SPLIT_FACE && x < side);
}

static bool isBefore(const struct zs_pixel_box &a, const struct zs_pixel_box &b)
{
    return a.y != b.y ? a.y < b.y : a.x < b.x;
}

/* The first block that is not among the stored ones, which are in the order of rows. There is one. */
static struct zs_pixel_box findOther(const ZSView &view, const ZSSparseCells::Blocks &stored,
                                     struct zs_pixel_box block)
{
    while (!isCounted(view, block.x, block.y) || std::binary_search(stored.begin(), stored.end(), block, isBefore))
    {
        block.x += block.width;
        if (block.x >= static_cast<uint64_t>(view.width))
        {
            block.x = 0;
            block.y += block.height;
        }
    }
    return block;
}

bool ZSSparseCells::ReadOther(GDALRasterBand &band, const struct zs_pixel_box &block)
{
    const int x = static_cast<int>(block.x), y = static_cast<int>(block.y);
    unsigned char mask = 0;
    if (band.RasterIO(GF_Read, x, y, 1, 1, &m_otherValue, 1, 1, GDT_Float64, 0, 0, nullptr) != CE_None ||
        band.GetMaskBand()->RasterIO(GF_Read, x, y, 1, 1, &mask, 1, 1, GDT_Byte, 0, 0, nullptr) != CE_None)
        return false;
    m_isOtherValid = mask != 0 && !std::isnan(m_otherValue);
    return true;
}

std::unique_ptr<ZSSparseCells> ZSSparseCells::Of(ShardedZarrRasterBand &band)
{
    auto &ds = *static_cast<ShardedZarrDataset *>(band.GetDataset());
    const ZSView &view = ds.View();
    if (!view.IsHealpix() || (band.GetMaskFlags() & GMF_ALPHA) != 0 || GDALDataTypeIsComplex(band.GetRasterDataType()))
        return nullptr;
    int width, height;
    band.GetBlockSize(&width, &height);
    const int side = 1 << std::min(view.Array(0).healpix.order, ZS_HEALPIX_MAX_ORDER);
    if (side % width != 0 || side % height != 0)
        return nullptr;
    const double faces = view.sources[0].shown >= 0 ? 1 : ZS_HEALPIX_FACES;
    const double all = faces * (side / width) * (side / height);
    auto blocks = std::make_shared<Blocks>();
    if (all < LEAST_BLOCKS || !band.FindStoredBlocks(MOST_BLOCKS, *blocks))
        return nullptr;
    blocks->erase(std::remove_if(blocks->begin(), blocks->end(),
                                 [&](const struct zs_pixel_box &b) { return !isCounted(view, b.x, b.y); }),
                  blocks->end());
    const double stored = static_cast<double>(blocks->size());
    if (2 * stored > all || stored * height > INT_MAX)
        return nullptr;
    std::sort(blocks->begin(), blocks->end(), isBefore);
    std::unique_ptr<ZSSparseCells> sparse(new ZSSparseCells);
    sparse->m_blockSize = static_cast<double>(width) * height;
    sparse->m_otherCount = (all - stored) * sparse->m_blockSize;
    const auto other = std::make_shared<Blocks>(
        1, findOther(view, *blocks, {0, 0, static_cast<uint64_t>(width), static_cast<uint64_t>(height)}));
    sparse->m_other = std::make_unique<BlocksBand>(band, other);
    if (!blocks->empty())
        sparse->m_stored = std::make_unique<BlocksBand>(band, blocks);
    return sparse->ReadOther(band, other->front()) ? std::move(sparse) : nullptr;
}

/* Of the stored cells. */
CPLErr ZSSparseCells::CountValid(double &count) const
{
    GUIntBig all = 0;
    count = 0;
    const CPLErr result =
        m_stored != nullptr ? m_stored->GetHistogram(0, 1, 1, &all, TRUE, FALSE, GDALDummyProgress, nullptr) : CE_None;
    count = static_cast<double>(all);
    return result;
}

CPLErr ZSSparseCells::ComputeStatistics(bool isApproximate, double *found, GDALProgressFunc progress,
                                        void *progressData)
{
    const double others = m_isOtherValid ? m_otherCount : 0;
    double valid = 0;
    if (CountValid(valid) != CE_None)
        return CE_Failure;
    if (valid + others == 0)
        return zsRefuse(CPLE_AppDefined, "Failed to compute statistics, no valid pixels found.");
    std::fill_n(found, 3, m_otherValue);
    found[3] = 0;
    if (valid == 0)
        return CE_None;
    double own[4];
    const CPLErr result = m_stored->ComputeStatistics(isApproximate, &own[0], &own[1], &own[2], &own[3], progress,
                                                      progressData ZS_NO_STATISTICS_OPTIONS);
    if (result != CE_None || others == 0)
    {
        std::copy_n(own, 4, found);
        return result;
    }
    const double share = valid / (valid + others), apart = own[2] - m_otherValue;
    found[0] = std::min(own[0], m_otherValue);
    found[1] = std::max(own[1], m_otherValue);
    found[2] = m_otherValue + share * apart;
    found[3] = std::sqrt(share * (own[3] * own[3] + (1 - share) * apart * apart));
    return CE_None;
}

CPLErr ZSSparseCells::GetHistogram(double min, double max, int buckets, GUIntBig *histogram, int includeOutOfRange,
                                   int isApproximate, GDALProgressFunc progress, void *progressData)
{
    std::fill_n(histogram, buckets, 0);
    if (m_stored != nullptr && m_stored->GetHistogram(min, max, buckets, histogram, includeOutOfRange, isApproximate,
                                                      progress, progressData) != CE_None)
        return CE_Failure;
    std::vector<GUIntBig> other(static_cast<size_t>(buckets));
    if (m_other->GetHistogram(min, max, buckets, other.data(), includeOutOfRange, FALSE, GDALDummyProgress, nullptr) !=
        CE_None)
        return CE_Failure;
    const auto blocks = static_cast<GUIntBig>(m_otherCount / m_blockSize);
    for (int i = 0; i < buckets; i++)
        histogram[i] += blocks * other[static_cast<size_t>(i)];
    return CE_None;
}

/* ---- Of the dataset ---- */

ZSStatistics::ZSStatistics(ShardedZarrDataset &dataset, ZSView &view) : m_dataset(dataset), m_view(view)
{
}

ZSStatistics::~ZSStatistics() = default;

CPLErr ZSStatistics::Add(GDALProgressFunc progress, void *progressData)
{
    // With several threads GDAL 3.13 leaves pixels out where blocks are small, those of a GeoTIFF too.
    const CPLConfigOptionSetter oneThread("GDAL_NUM_THREADS", "1", false);
    const int bands = m_dataset.GetRasterCount();
    for (int b = 1; b <= bands; b++)
    {
        const ZSScaledProgress ofStatistics((b - 1.0) / bands, (b - 0.5) / bands, progress, progressData);
        const ZSScaledProgress ofHistogram((b - 0.5) / bands, static_cast<double>(b) / bands, progress,
                                           progressData);
        CPLErr result;
        std::string message;
        bool isWithoutPixels;
        {
            const ZSQuiet quiet;
            const size_t reports = zsReportCount();
            result = m_dataset.GetRasterBand(b)->ComputeStatistics(false, nullptr, nullptr, nullptr, nullptr,
                                                                   GDALScaledProgress, ofStatistics.Part());
            if (result == CE_None)
                result = m_dataset.Band(b).AddHistogram(GDALScaledProgress, ofHistogram.Part());
            message = CPLGetLastErrorMsg();
            // GDAL emits an error of this number for a band without valid pixels. So do pixels that could not be read,
            // which zsReport() counts; lack of memory and cancelling have numbers of their own.
            isWithoutPixels = zsReportCount() == reports && CPLGetLastErrorNo() == CPLE_AppDefined;
        }
        if (result == CE_None || isWithoutPixels)
            continue;
        return zsRefuse(CPLE_AppDefined, "%s: statistics of band %d: %s", zsShown(m_dataset.GetDescription()).c_str(),
                        b, message.c_str());
    }
    return CE_None;
}

void ZSStatistics::SetOutdated()
{
    m_isPending = m_isPending || m_view.IsSelection();
    for (size_t i = 0; i < m_view.sources.size() && !m_isMaskSought; i++)
    {
        struct zs_error err;
        bool any = false;
        if (zs_update_drop_statistics_of_masked(m_view.store->hierarchy, m_view.Array(i).node, &any, &err) != ZS_OK)
            CPLDebug("ShardedZarr", "%s", err.message); // a store that cannot be listed has no known masked arrays
        m_isPending = m_isPending || any;
    }
    m_isMaskSought = true;
}

enum zs_status ZSStatistics::Flush(struct zs_error *err)
{
    for (const auto &source : m_view.sources)
        ZS_TRY(zs_update_drop_statistics(m_view.store->hierarchy, source.array->node, false, err));
    return ZS_OK;
}

void ZSStatistics::ForgetCells()
{
    m_cells.reset();
}

ShardedZarrDataset *ZSStatistics::CellsOf(int band)
{
    if (!m_view.IsWholeSphere())
        return nullptr;
    static_cast<void>(m_dataset.Band(band).EmptyBlockCache()); // m_cells does not see them; errors were emitted
    if (m_cells == nullptr)
    {
        ZSBandSources sources = m_view.sources;
        for (auto &source : sources)
            source.shown = ZS_HEALPIX_COLUMN;
        struct zs_error err;
        m_cells = ShardedZarrDataset::Over(m_view.store, sources, m_view.group, m_view.options, GA_ReadOnly, &err);
        if (m_cells == nullptr)
            return nullptr;
        m_cells->SetUnsaved();
        for (int b = 1; b <= m_dataset.GetRasterCount() && m_dataset.IsUpdate(); b++)
            m_cells->Band(b).CopyProperties(m_dataset.Band(b)); // it may not be in the store yet
    }
    return m_cells.get();
}

/* ---- Of a band ---- */

void ShardedZarrRasterBand::DropStatistics(bool isBlock)
{
    auto &ds = Dataset();
    for (int b = 1; ds.m_role.masked != nullptr && b <= ds.m_role.masked->nBands; b++)
        ds.m_role.masked->Band(b).DropStatistics(isBlock);
    ds.statistics.ForgetCells(); // it has blocks and histograms of its own
    if (ds.m_role.IsOverview() || ds.m_role.isMask || (isBlock && m_statisticsSet))
        return;
    ds.statistics.SetOutdated();
    if (psPam != nullptr && psPam->psSavedHistograms != nullptr)
    {
        CPLDestroyXMLNode(psPam->psSavedHistograms);
        psPam->psSavedHistograms = nullptr;
        ds.MarkPamDirty();
    }
    // Most bands have none; that is found out without reading coordinates.
    const bool ofArray = !zsStatisticsOf(ds.items->OwnItems(Source()).List()).empty();
    const bool known = m_metadataAdded ? false : ofArray || !zsStatisticsOf(Properties().metadata).empty();
    if (!known && zsStatisticsOf(GDALMajorObject::GetMetadata()).empty() && !m_sideCarHasStatistics)
        return;
    AddMetadata();
    CPLStringList all(CSLDuplicate(GDALMajorObject::GetMetadata()));
    GDALMajorObject::SetMetadata(zsItemsNotIn(all.List(), zsStatisticsOf(all.List()).List()).List());
    if (WillChange(ZS_BAND_METADATA) != CE_None)
        return;
    if (m_sideCarHasStatistics)
        ds.MarkPamDirty();
    m_sideCarHasStatistics = false;
    m_statisticsSet = false;
}

CPLErr ShardedZarrRasterBand::ComputeStatistics(int approximate, double *min, double *max, double *mean,
                                                double *deviation, GDALProgressFunc progress,
                                                void *progressData ZS_STATISTICS_OPTIONS)
{
    const auto sparse = ZSSparseCells::Of(*this);
    ShardedZarrDataset *cells = sparse == nullptr ? Dataset().statistics.CellsOf(nBand) : nullptr;
    if (cells == nullptr && sparse == nullptr)
        return GDALPamRasterBand::ComputeStatistics(approximate, min, max, mean, deviation, progress,
                                                    progressData ZS_STATISTICS_ARGUMENTS);
    double found[4] = {};
    const CPLErr result =
        sparse != nullptr
            ? sparse->ComputeStatistics(approximate != FALSE, found, progress, progressData)
            : cells->GetRasterBand(nBand)->ComputeStatistics(approximate, &found[0], &found[1], &found[2], &found[3],
                                                             progress, progressData ZS_STATISTICS_ARGUMENTS);
    if (result != CE_None)
        return result;
    double *const wanted[] = {min, max, mean, deviation};
    for (size_t i = 0; i < 4; i++)
    {
        if (wanted[i] != nullptr)
            *wanted[i] = found[i];
    }
    return ZS_SETS_STATISTICS ? SetStatistics(found[0], found[1], found[2], found[3]) : CE_None;
}

CPLErr ShardedZarrRasterBand::GetHistogram(double min, double max, int buckets, GUIntBig *histogram,
                                           int includeOutOfRange, int approximate, GDALProgressFunc progress,
                                           void *progressData)
{
    const auto sparse = ZSSparseCells::Of(*this);
    if (sparse != nullptr)
        return sparse->GetHistogram(min, max, buckets, histogram, includeOutOfRange, approximate, progress,
                                    progressData);
    ShardedZarrDataset *cells = Dataset().statistics.CellsOf(nBand);
    if (cells == nullptr && KeepsHistogram()) // not in a side-car file: writing would make it outdated
        return GDALRasterBand::GetHistogram(min, max, buckets, histogram, includeOutOfRange, approximate, progress,
                                            progressData);
    if (cells == nullptr)
        return GDALPamRasterBand::GetHistogram(min, max, buckets, histogram, includeOutOfRange, approximate, progress,
                                               progressData);
    return cells->GetRasterBand(nBand)->GetHistogram(min, max, buckets, histogram, includeOutOfRange, approximate,
                                                      progress, progressData);
}

/* ---- Histograms: computed in update mode they live in the store, as metadata by the names that GDAL's driver for
 * Erdas Imagine has, and go with the statistics when pixels are written ---- */

namespace
{
constexpr const char *COUNTS = "STATISTICS_HISTOBINVALUES"; /* "12|0|7|" */
constexpr const char *BINS = "STATISTICS_HISTONUMBINS";
constexpr const char *FIRST = "STATISTICS_HISTOMIN"; /* the middle of the first bin */
constexpr const char *LAST = "STATISTICS_HISTOMAX";
/* As GDAL's default has. */
constexpr int BUCKETS = 256;

struct Histogram
{
    double min, max; /* edges of the first and the last bucket */
    std::vector<GUIntBig> counts;
};
} // namespace

/* False where there is none, or an odd one. */
static bool read(CSLConstList items, Histogram &h)
{
    const char *counts = zsItemValue(items, COUNTS);
    const char *first = zsItemValue(items, FIRST), *last = zsItemValue(items, LAST);
    if (counts == nullptr || first == nullptr || last == nullptr)
        return false;
    h.counts.clear();
    const CPLStringList list(CSLTokenizeString2(counts, "|", 0));
    for (int i = 0; i < list.size(); i++)
    {
        if (CPLGetValueType(list[i]) != CPL_VALUE_INTEGER || list[i][0] == '-')
            return false;
        h.counts.push_back(CPLScanUIntBig(list[i], static_cast<int>(strlen(list[i]))));
    }
    h.min = CPLAtof(first);
    h.max = CPLAtof(last);
    if (h.counts.size() < 2 || !(h.min < h.max))
        return false;
    const double half = (h.max - h.min) / static_cast<double>(h.counts.size() - 1) / 2;
    h.min -= half;
    h.max += half;
    return true;
}

/* GDAL gives the caller an array of its own. */
static CPLErr give(const Histogram &h, double *min, double *max, int *buckets, GUIntBig **histogram)
{
    const size_t n = h.counts.size();
    *histogram = static_cast<GUIntBig *>(VSI_MALLOC2_VERBOSE(n, sizeof(GUIntBig)));
    if (*histogram == nullptr)
        return CE_Failure;
    memcpy(*histogram, h.counts.data(), n * sizeof(GUIntBig));
    *min = h.min;
    *max = h.max;
    *buckets = static_cast<int>(n);
    return CE_None;
}

CPLErr ShardedZarrRasterBand::GetDefaultHistogram(double *min, double *max, int *buckets, GUIntBig **histogram,
                                                  int force, GDALProgressFunc progress, void *progressData)
{
    Histogram h;
    if (read(GetMetadata(), h))
        return give(h, min, max, buckets, histogram);
    if (!force || !KeepsHistogram())
        return GDALPamRasterBand::GetDefaultHistogram(min, max, buckets, histogram, force, progress, progressData);
    const CPLErr result = AddHistogram(progress, progressData);
    if (result != CE_None)
        return result;
    if (read(GetMetadata(), h))
        return give(h, min, max, buckets, histogram);
    return zsRefuse(CPLE_NotSupported, "%s: band %d: no histogram of infinite values",
                    zsShown(Dataset().GetDescription()).c_str(), nBand);
}

CPLErr ShardedZarrRasterBand::SetDefaultHistogram(double min, double max, int buckets, GUIntBig *histogram)
{
    if (!KeepsHistogram() || buckets < 2)
        return GDALPamRasterBand::SetDefaultHistogram(min, max, buckets, histogram);
    std::string counts;
    for (int i = 0; i < buckets; i++)
        counts += std::to_string(histogram[i]) + "|";
    const double half = (max - min) / buckets / 2;
    CPLErr result = SetMetadataItem(COUNTS, counts.c_str());
    const std::pair<const char *, std::string> others[] = {{BINS, std::to_string(buckets)},
                                                           {FIRST, CPLSPrintf("%.17g", min + half)},
                                                           {LAST, CPLSPrintf("%.17g", max - half)}};
    for (const auto &[name, value] : others)
        result = result == CE_None ? SetMetadataItem(name, value.c_str()) : result;
    return result;
}

bool ShardedZarrRasterBand::KeepsHistogram()
{
    auto &ds = Dataset();
    return ds.IsUpdate() && !ds.m_role.IsOverview() && !ds.m_role.isMask;
}

/* Of all pixels, in the buckets that GDAL's default has. */
CPLErr ShardedZarrRasterBand::AddHistogram(GDALProgressFunc progress, void *progressData)
{
    double min = -0.5, max = 255.5;
    if (eDataType != GDT_Byte)
    {
        double mean, deviation;
        const CPLErr known = GetStatistics(FALSE, TRUE, &min, &max, &mean, &deviation);
        if (known != CE_None)
            return known;
        if (!std::isfinite(max - min))
            return CE_None; // there are no buckets for them
        const double half = max > min ? (max - min) / (2 * (BUCKETS - 1)) : 0.5;
        min -= half;
        max += half;
        if (!(max > min))
            return CE_None; // a constant of which a bucket is no wider than a double's last digit
    }
    std::vector<GUIntBig> counts(BUCKETS);
    const CPLErr result = GetHistogram(min, max, BUCKETS, counts.data(), TRUE, FALSE, progress, progressData);
    return result == CE_None ? SetDefaultHistogram(min, max, BUCKETS, counts.data()) : result;
}
