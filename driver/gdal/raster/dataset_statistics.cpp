#include "dataset_statistics.h"

#include <cmath>

#include "dataset.h"
#include "gdal/guard.h"
#include "sparse_cells.h"

extern "C"
{
#include "raster/update.h"
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
            const CPLErrorStateBackuper kept;
            const CPLErrorHandlerPusher quiet(CPLQuietErrorHandler);
            const size_t reports = zsReportCount();
            result = m_dataset.GetRasterBand(b)->ComputeStatistics(false, nullptr, nullptr, nullptr, nullptr,
                                                                   GDALScaledProgress, ofStatistics.Part());
            if (result == CE_None)
                result = m_dataset.Band(b).AddHistogram(GDALScaledProgress, ofHistogram.Part());
            message = CPLGetLastErrorMsg();
            // GDAL tells a band without valid pixels by an error of this number. So do pixels that could not be read,
            // which zsReport() counts; lack of memory and cancelling have numbers of their own.
            isWithoutPixels = zsReportCount() == reports && CPLGetLastErrorNo() == CPLE_AppDefined;
        }
        if (result == CE_None || isWithoutPixels)
            continue;
        CPLError(CE_Failure, CPLE_AppDefined, "%s: statistics of band %d: %s",
                 zsShown(m_dataset.GetDescription()).c_str(), b, message.c_str());
        return CE_Failure;
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
    static_cast<void>(m_dataset.Band(band).SettleBlocks()); // m_cells does not see them; errors were emitted
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
    CPLError(CE_Failure, CPLE_NotSupported, "%s: band %d: no histogram of infinite values",
             zsShown(Dataset().GetDescription()).c_str(), nBand);
    return CE_Failure;
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
    }
    std::vector<GUIntBig> counts(BUCKETS);
    const CPLErr result = GetHistogram(min, max, BUCKETS, counts.data(), TRUE, FALSE, progress, progressData);
    return result == CE_None ? SetDefaultHistogram(min, max, BUCKETS, counts.data()) : result;
}
