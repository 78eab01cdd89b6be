/* Histograms of a band: computed in update mode they live in the store, as metadata by the names that GDAL's driver for
 * Erdas Imagine has, and go with the statistics when pixels are written. */
#include <cmath>

#include "dataset.h"

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
    return ds.IsUpdate() && !ds.m_isOverview && !ds.m_isMask;
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
