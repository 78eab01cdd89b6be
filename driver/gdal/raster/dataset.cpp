#include "guarded.h"

#include "gdal/creation_options.h"
#include "gdal/guard.h"

extern "C"
{
#include "raster/update.h"
}

/* ---- Opening ---- */

std::unique_ptr<ShardedZarrDataset> ShardedZarrDataset::OpenArray(const std::shared_ptr<ZSStore> &store,
                                                                  const struct zs_node *node,
                                                                  const ZSOpenOptions &options, GDALAccess access,
                                                                  struct zs_error *err)
{
    const auto opened = ZSArray::Open(*store, node, options, err);
    if (opened == nullptr)
        return nullptr;
    const ZSBandSources sources(1, ZSBandSource{opened, {}});
    return Over(store, sources, nullptr, options, access, err);
}

std::unique_ptr<ShardedZarrDataset> ShardedZarrDataset::Over(const std::shared_ptr<ZSStore> &store,
                                                             const ZSBandSources &sources, const struct zs_node *group,
                                                             const ZSOpenOptions &options, GDALAccess access,
                                                             struct zs_error *err, const struct zs_validity *validity)
{
    std::unique_ptr<ShardedZarrDataset> ds = std::make_unique<ZSGuardedDataset>();
    ZSView &view = ds->m_view;
    view.store = store;
    view.sources = sources;
    view.group = group;
    view.options = options;
    for (const auto &source : sources)
    {
        if (access == GA_Update && !source.array->MayWriteCells(*store, err))
            return nullptr;
    }
    if (!view.Make(err))
        return nullptr;
    ds->m_role.isMask = validity != nullptr;
    if (validity != nullptr)
        ds->m_role.validity = *validity;
    ds->georef = ZSGeoreferencing::Of(view);
    const auto georef = [&part = *ds->georef]() -> const struct zs_georef & { return part.Get(); };
    ds->items = ZSItems::Of(*ds, view, georef);
    ds->nRasterXSize = view.width;
    ds->nRasterYSize = view.height;
    ds->eAccess = access;
    // Before there are bands: with bands, it would allocate a record for each of them.
    ds->PamInitialize();
    for (size_t i = sources.size(); i-- > 0;)
        ds->AddBands(i);
    return ds;
}

std::unique_ptr<ShardedZarrDataset> ShardedZarrDataset::OverLevel(const ZSBandSources &sources,
                                                                  const struct zs_node *group, GDALAccess access,
                                                                  struct zs_error *err)
{
    auto level = Over(m_view.store, sources, group, m_view.options, access, err,
                      m_role.isMask ? &m_role.validity : nullptr);
    if (level == nullptr)
        return nullptr;
    level->m_role.base = this;
    level->SetUnsaved();
    return level;
}

void ShardedZarrDataset::SetMaskOf(ShardedZarrDataset &dataset)
{
    m_role.masked = &dataset;
    SetUnsaved();
}

void ShardedZarrDataset::SetUnsaved()
{
    nPamFlags |= GPF_NOSAVE;
}

void ShardedZarrDataset::AttachPam(const char *description)
{
    SetDescription(description);
    if (m_view.store->store->is_remote || m_view.store->store->is_snapshot)
    {
        nPamFlags |= GPF_NOSAVE;
        return;
    }
    SetPhysicalFilename(m_view.store->Entry().c_str());
    // The bands of a selection have other numbers than those of the whole array.
    const std::string name = m_view.Name();
    if (!name.empty())
        SetSubdatasetName(name.c_str());
    TryLoadXML();
}

#if ZS_GDAL_AT_LEAST(10)
std::unique_ptr<GDALDataset> ShardedZarrDataset::Clone(int scope, bool canShareState) const
{
    if (IsUpdate() || !canShareState)
        return GDALPamDataset::Clone(scope, canShareState);
    // Other threads may be at work on this dataset: only what is set when it is opened may be looked at.
    struct zs_error err;
    auto ds = Over(m_view.store, m_view.sources, m_view.group, m_view.options, GA_ReadOnly, &err);
    if (ds == nullptr)
    {
        zsReport(err);
        return nullptr;
    }
    ds->poDriver = poDriver;
    ds->nOpenFlags = scope;
    ds->papszOpenOptions = CSLDuplicate(papszOpenOptions);
    ds->AttachPam(GetDescription());
    if (!overviews.Beside().empty())
        ds->overviews.KeepBeside(overviews.Beside());
    return ds;
}
#endif

/* ---- Overviews ---- */

CPLErr ShardedZarrDataset::IBuildOverviews(const char *resampling, int count, const int *factors, int bandCount,
                                           const int *bandList, GDALProgressFunc progress, void *progressData,
                                           CSLConstList options)
{
    if (!IsUpdate())
        return overviews.BuildBeside(resampling, count, factors, bandCount, bandList, progress, progressData, options);
    if (m_view.IsHealpix())
    {
        CPLError(CE_Failure, CPLE_NotSupported,
                 "%s: overviews of HEALPix cells are not built in the store; gdaladdo -ro puts them beside it",
                 zsShown(GetDescription()).c_str());
        return CE_Failure;
    }
    if (m_view.IsSelection() || bandCount != nBands)
    {
        CPLError(CE_Failure, CPLE_NotSupported, "%s: overviews are built for all bands of %s together",
                 zsShown(GetDescription()).c_str(), m_view.IsGroup() ? "a group" : "an array");
        return CE_Failure;
    }
    if (progress == nullptr)
        progress = GDALDummyProgress;
    closing.SetOverviews({}, ""); // from now on it is the caller who decides
    if (FlushAll(false) != CE_None)
        return CE_Failure;
    return count == 0
               ? RemoveOverviews()
               : MakeOverviews(resampling, std::vector<int>(factors, factors + count), progress, progressData, options);
}

bool ShardedZarrDataset::WillMakeOverviews() const
{
    return closing.HasOverviews() && pixels.IsWritten() && !bSuppressOnClose;
}

CPLErr ShardedZarrDataset::MakeLaterOverviews()
{
    if (!WillMakeOverviews())
        return CE_None;
    std::string wanted;
    const std::vector<int> factors = closing.TakeOverviews(wanted);
    const std::string resampling = zsOverviewResampling(wanted, *this);
    CPLDebug("ShardedZarr", "%s: %d overviews are made (%s)", GetDescription(), static_cast<int>(factors.size()),
             resampling.c_str());
    const CPLConfigOptionSetter threads("GDAL_NUM_THREADS", std::to_string(m_view.options.threads).c_str(), false);
    return MakeOverviews(resampling.c_str(), factors, closing.Progress(), closing.ProgressData(), nullptr);
}

CPLErr ShardedZarrDataset::MakeOverviews(const char *resampling, const std::vector<int> &factors,
                                         GDALProgressFunc progress, void *progressData, CSLConstList options)
{
    ZSOverlap overlap; // ends when the levels are closed
    overlap.Begin(*m_view.store);
    // The mask's overviews come first: overviews of pixels are made of valid pixels alone.
    CPLErr result = masks.MakeLevels(resampling, factors, options);
    if (result != CE_None)
        return result;
    if (m_view.IsGroup())
        result = overviews.MakeOfEach(resampling, factors, progress, progressData, options);
    else
        result = overviews.Make(resampling, factors, progress, progressData, options);
    return result != CE_None || overlap.End() ? result : CE_Failure;
}

CPLErr ShardedZarrDataset::RemoveOverviews()
{
    CPLErr result = overviews.Remove();
    for (ShardedZarrDataset *mask : masks.Datasets())
        result = result == CE_None ? mask->overviews.Remove() : result;
    return result;
}

/* ---- Flushing and closing ---- */

CPLErr ZSClosing::TakePlace(bool hasLost, std::string &entry)
{
    if (m_target == nullptr)
        return CE_None;
    const std::string root = m_target->Root();
    if (m_target->Replaces() && hasLost)
    {
        CPLError(CE_Failure, CPLE_FileIO, "%s: is not replaced: pixels of the new raster could not be written",
                 zsShown(root).c_str());
        return CE_Failure;
    }
    if (!zsTakePlace(m_target, m_view.store->store))
        return CE_Failure;
    if (!m_view.store->store->is_remote)
        entry = root + "/zarr.json";
    return CE_None;
}

std::vector<ZSDatasetPart *> ShardedZarrDataset::FlushedParts()
{
    return {georef.get(), items.get(), &properties, &masks, &statistics};
}

/* Our own masks get the georeferencing of the raster. Masks of others are siblings, which follow by themselves. */
void ShardedZarrDataset::AddMasksToGeoref()
{
    for (const ShardedZarrDataset *mask : masks.Datasets())
    {
        if (mask->m_role.validity.is_plain)
            georef->AlsoFor(mask->m_view);
    }
}

/* Publishes the pending changes of all parts together. An error of one part does not hide that of another. */
CPLErr ShardedZarrDataset::FlushDocuments()
{
    if (pixels.FlushFillValue(properties.IsPending()) != CE_None)
        return CE_Failure;
    std::vector<ZSDatasetPart *> pending;
    for (ZSDatasetPart *part : FlushedParts())
    {
        if (part->IsPending())
            pending.push_back(part);
    }
    ZSOverlap overlap;
    if (pending.empty())
        return CE_None;
    overlap.Begin(*m_view.store);
    if (georef->IsPending())
        AddMasksToGeoref();
    CPLErr result = CE_None;
    struct zs_error err;
    for (ZSDatasetPart *part : pending)
    {
        ZSSavepoint edit(m_view.store->hierarchy);
        if (part->Flush(&err) == ZS_OK)
        {
            edit.Keep();
            continue;
        }
        zsReport(err);
        result = CE_Failure;
    }
    if (result == CE_None && zs_hierarchy_flush(m_view.store->hierarchy, &err) != ZS_OK)
    {
        zsReport(err);
        result = CE_Failure;
    }
    if (result != CE_None || !overlap.End())
        return CE_Failure;
    for (ZSDatasetPart *part : pending)
        part->SetPublished();
    if (m_hasSideCar) // statistics there must not outlive those of the store
        MarkPamDirty();
    return CE_None;
}

CPLErr ShardedZarrDataset::FlushPixels(bool atClosing)
{
    CPLErr result = masks.FlushPixels(atClosing);
    struct zs_error err;
    for (const auto &source : m_view.sources)
    {
        if ((atClosing ? zs_array_flush_last : zs_array_flush)(source.array->array, &err) == ZS_OK)
            continue;
        zsReport(err);
        result = CE_Failure;
    }
    // Of other datasets that show them, too. (An overview's node is gone where it could not be published.)
    for (const auto &source : m_view.sources)
    {
        if (pixels.IsWritten() && !m_role.isMask && !m_role.IsOverview() && !m_view.store->store->is_remote)
            zsDropSideCarStatistics(m_view.store->Entry(), source.array->node->path);
    }
    return result;
}

CPLErr ShardedZarrDataset::FlushChanges(bool atClosing)
{
    CPLErr result = FlushPixels(atClosing);
    if (result == CE_None && atClosing && closing.HasStatistics() && pixels.IsWritten() && !bSuppressOnClose)
        result = statistics.Add(closing.Progress(), closing.ProgressData());
    if (!m_role.IsOverview() && (!masks.IsWhole() || FlushDocuments() != CE_None))
        result = CE_Failure;
    if (result != CE_None)
        return result;
    // The raster is whole: it is published even when making overviews fails.
    if (atClosing)
        result = MakeLaterOverviews();
    std::string entry;
    if (closing.TakePlace(pixels.HasLost(), entry) != CE_None)
        result = CE_Failure;
    if (!entry.empty())
        SetPhysicalFilename(entry.c_str());
    return result;
}

CPLErr ShardedZarrDataset::FlushAll(bool atClosing)
{
#if ZS_GDAL_AT_LEAST(7)
    CPLErr result = GDALPamDataset::FlushCache(atClosing);
#else
    const auto before = CPLGetErrorCounter(); // the base reports blocks that could not be written only in this way
    GDALPamDataset::FlushCache(atClosing);
    CPLErr result = CPLGetErrorCounter() != before && CPLGetLastErrorType() >= CE_Failure ? CE_Failure : CE_None;
#endif
    if (!IsUpdate() || closing.IsDone())
        return result;
    if (!atClosing && overviews.FlushPixels() != CE_None) // what is closed closes them
        result = CE_Failure;
    if (FlushChanges(atClosing) != CE_None)
        result = CE_Failure;
    return result;
}

ZSFlushResult ShardedZarrDataset::FlushCache(bool atClosing)
{
    const CPLErr result = FlushAll(atClosing);
    ZS_FLUSH_RETURN(result);
}

#if ZS_GDAL_AT_LEAST(7)
CPLErr ShardedZarrDataset::Close(ZS_CLOSE_PARAMETERS)
{
    CPLErr result = CE_None;
    if (!closing.IsDone())
    {
#if ZS_GDAL_AT_LEAST(13)
        closing.SetProgress(progress, progressData);
#endif
        if (IsUpdate()) // else only the side-car file is to be written; FlushCache() walks up to 65,536 bands for that
            result = FlushCache(true);
        // FlushChanges() may have dropped statistics. ~GDALPamDataset() would write the file without what our
        // SerializeToXML() adds, and would remove one without items of this array.
        if ((nPamFlags & GPF_DIRTY) != 0 && TrySaveXML() != CE_None)
            result = CE_Failure;
        closing.SetDone();
        if (overviews.Close() != CE_None)
            result = CE_Failure;
        masks.Close();
        if (GDALPamDataset::Close(ZS_CLOSE_ARGUMENTS) != CE_None)
            result = CE_Failure;
    }
    return result;
}
#endif

ShardedZarrDataset::~ShardedZarrDataset()
{
#if ZS_GDAL_AT_LEAST(7)
    static_cast<void>(zsGuard([this] { return ShardedZarrDataset::Close(); }));
#else
    if (IsUpdate())
        zsGuard([this] { static_cast<void>(FlushAll(true)); });
    closing.SetDone();
    // Writes changes of the side-car file now: the destructor of the base would do it when this object is no
    // ShardedZarrDataset any more.
    zsGuard([this] { GDALPamDataset::FlushCache(true); });
    overviews.Close();
    masks.Close();
#endif
}
