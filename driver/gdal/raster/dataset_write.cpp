/* Georeferencing and metadata of a dataset that were changed in update mode, written to the store. */
#include <functional>

#include "dataset.h"
#include "gdal/guard.h"

extern "C"
{
#include "raster/listing.h"
#include "raster/update.h"
}

/* Before the first pixel: what is not written shall read as the nodata value that was set, as in other drivers. */
CPLErr ShardedZarrDataset::SettleFillValue()
{
    m_isBlank = false;
    const struct zs_meaning &first = Band(1).Meaning();
    const ZSArray &blank = m_view.Array(0); // Create() makes one array
    const size_t size = m_view.Info(0).item_size;
    bool same = first.has_nodata && memcmp(first.nodata, m_view.Info(0).fill_value, size) != 0;
    for (int b = 2; b <= nBands && same; b++)
    {
        const struct zs_meaning &m = Band(b).Meaning();
        same = m.has_nodata && memcmp(m.nodata, first.nodata, size) == 0;
    }
    if (!same)
        return CE_None;
    struct zs_error err;
    struct zs_array *array = nullptr;
    const struct zs_array_options options = m_view.options.ForArrays();
    const struct zs_node *node = nullptr;
    if (zs_update_fill_value(m_view.store->hierarchy, blank.node, first.nodata, &node, &err) != ZS_OK ||
        zs_array_open_node(m_view.store->hierarchy, node, &options, &array, &err) != ZS_OK)
    {
        zsReport(err);
        return CE_Failure;
    }
    zs_array_set_order(array, zs_array_chunk_order(blank.array));
    const auto opened = std::make_shared<ZSArray>(node, array, blank.axes, true);
    opened->isHealpix = blank.isHealpix;
    opened->healpix = blank.healpix;
    m_view.ReplaceArray(0, opened);
    m_column.reset();
    return CE_None;
}

/* What was set of the bands of an array, among what is said of all its slices. */
enum zs_status ShardedZarrDataset::WriteBands(size_t source, struct zs_error *err)
{
    const ZSArray &array = m_view.Array(source);
    if (m_isMask) // its flags say which pixels are valid; what GDAL's users say of a mask is kept by no format
        return ZS_OK;
    const int before = m_view.Before(source), count = m_view.Count(source);
    unsigned which = 0;
    for (int b = 1; b <= count; b++)
        which |= Band(before + b).m_changed;
    if (which == 0)
        return ZS_OK;
    const auto isShown = [&](const char *item)
    {
        bool is = false;
        for (int b = 1; b <= count && !is; b++)
        {
            ShardedZarrRasterBand &band = Band(before + b);
            is = !band.m_metadataAdded || zsHasItem(band.GDALMajorObject::GetMetadata(), item);
        }
        return is;
    };
    if ((which & ZS_BAND_METADATA) != 0)
        ZS_TRY(m_items->WriteOwnItems(source, isShown, err));
    struct zs_meaning *all = nullptr;
    const uint64_t slices = m_view.SliceCount(source);
    ZS_TRY(zs_band_meanings_read(array.node, slices, &m_view.Meaning(source), &all, err));
    const std::unique_ptr<struct zs_meaning, std::function<void(struct zs_meaning *)>> freed(
        all, [slices](struct zs_meaning *list) { zs_band_meanings_free(list, slices); });
    for (int b = 1; b <= count; b++)
    {
        struct zs_meaning &to = all[m_view.SliceOf(before + b)];
        zs_meaning_clear(&to);
        ZS_TRY(zs_meaning_copy(&Band(before + b).CurrentMeaning(), &to, err));
    }
    return zs_update_bands(m_view.store->hierarchy, array.node, array.axes, all, static_cast<size_t>(slices), which,
                           err);
}

CPLErr ShardedZarrDataset::WriteMetadata()
{
    if (m_isBlank && m_bandsChanged && SettleFillValue() != CE_None)
        return CE_Failure;
    if (!m_georef->IsPending() && !m_items->IsPending() && !m_bandsChanged && !m_maskAdded && !m_partWritten)
        return CE_None;
    struct zs_error err;
    enum zs_status status = ZS_OK;
    ZSOverlap overlap;
    if (!overlap.Begin(*m_view.store))
        return CE_Failure;
    if (m_georef->IsPending())
    {
        FindMasks();
        for (const ShardedZarrDataset *mask : OwnMasks())
        {
            if (mask->m_validity.is_plain) // else somebody else's: it follows where it says a place
                m_georef->AlsoFor(mask->m_view);
        }
        status = m_georef->Flush(&err);
    }
    if (status == ZS_OK && m_items->IsPending())
        status = m_items->Flush(&err);
    for (size_t i = 0; i < m_view.sources.size() && status == ZS_OK && m_bandsChanged; i++)
        status = WriteBands(i, &err);
    for (size_t i = 0; i < m_view.sources.size() && status == ZS_OK && m_partWritten; i++)
        status = zs_update_drop_statistics(m_view.store->hierarchy, m_view.Array(i).node, false, &err);
    if (status == ZS_OK)
        status = zs_update_flush(m_view.store->hierarchy, &err);
    if (status != ZS_OK)
    {
        zsReport(err);
        return CE_Failure;
    }
    if (!overlap.End())
        return CE_Failure;
    // What is in the store now need not be in a side-car file; statistics there must not outlive those of the store.
    if (m_items->IsPending())
        m_items->SetPublished();
    if (m_hasSideCar)
        MarkPamDirty();
    for (int b = 1; b <= nBands && m_bandsChanged; b++)
    {
        Band(b).m_changed = 0;
        if (!Band(b).m_metadataAdded)
            continue;
        Band(b).m_fromStore = CSLDuplicate(Band(b).GDALMajorObject::GetMetadata());
        if (Band(b).m_sideCarHasStatistics)
            MarkPamDirty();
        Band(b).m_sideCarHasStatistics = false;
    }
    m_georef->SetPublished();
    m_bandsChanged = m_maskAdded = m_partWritten = false;
    return CE_None;
}

/* ---- Statistics ---- */

/* Those of rasters whose mask is written by its own name. */
void ShardedZarrDataset::DropStatisticsOfMasked()
{
    for (size_t i = 0; i < m_view.sources.size() && !m_isMaskSought; i++)
    {
        struct zs_error err;
        bool any = false;
        if (zs_update_drop_statistics_of_masked(m_view.store->hierarchy, m_view.Array(i).node, &any, &err) != ZS_OK)
            CPLDebug("ShardedZarr", "%s", err.message); // what cannot be listed names nothing that is known
        m_partWritten = m_partWritten || any;
    }
    m_isMaskSought = true;
}

CPLErr ShardedZarrDataset::AddStatistics(GDALProgressFunc progress, void *progressData)
{
    // With several threads GDAL 3.13 leaves pixels out where blocks are small, those of a GeoTIFF too.
    const CPLConfigOptionSetter oneThread("GDAL_NUM_THREADS", "1", false);
    for (int b = 1; b <= nBands; b++)
    {
        const ZSScaledProgress ofStatistics((b - 1.0) / nBands, (b - 0.5) / nBands, progress, progressData);
        const ZSScaledProgress ofHistogram((b - 0.5) / nBands, static_cast<double>(b) / nBands, progress,
                                           progressData);
        CPLErr result;
        std::string message;
        {
            const CPLErrorStateBackuper kept;
            const CPLErrorHandlerPusher quiet(CPLQuietErrorHandler);
            result = GetRasterBand(b)->ComputeStatistics(false, nullptr, nullptr, nullptr, nullptr, GDALScaledProgress,
                                                         ofStatistics.Part());
            if (result == CE_None)
                result = Band(b).AddHistogram(GDALScaledProgress, ofHistogram.Part());
            message = CPLGetLastErrorMsg();
        }
        if (result == CE_None || message.find("no valid pixels") != std::string::npos)
            continue;
        CPLError(CE_Failure, CPLE_AppDefined, "%s: statistics of band %d: %s",
                 zsShown(GetDescription()).c_str(), b, message.c_str());
        return CE_Failure;
    }
    return CE_None;
}
