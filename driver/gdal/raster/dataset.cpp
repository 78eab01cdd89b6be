#include "dataset.h"

#include "gdal/connection.h"
#include "gdal/guard.h"

/* ---- Opening ---- */

std::unique_ptr<ShardedZarrDataset> ShardedZarrDataset::Over(const std::shared_ptr<ZSStore> &store,
                                                             const ZSBandSources &sources, const struct zs_node *group,
                                                             const ZSOpenOptions &options, GDALAccess access,
                                                             struct zs_error *err, const struct zs_validity *validity)
{
    std::unique_ptr<ShardedZarrDataset> ds = std::make_unique<ShardedZarrDataset>();
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
    ds->m_isMask = validity != nullptr;
    if (validity != nullptr)
        ds->m_validity = *validity;
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
    auto level = Over(m_view.store, sources, group, m_view.options, access, err, m_isMask ? &m_validity : nullptr);
    if (level == nullptr)
        return nullptr;
    level->m_base = this;
    level->nPamFlags |= GPF_NOSAVE;
    return level;
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

void ShardedZarrDataset::StartNew(int chunkOrder, enum zs_georef_style style)
{
    m_style = style;
    for (const auto &source : m_view.sources)
        zs_array_set_new(source.array->array, chunkOrder);
}

void ShardedZarrDataset::Abandon()
{
    m_isClosed = true;
    for (const auto &level : m_begun)
        level.dataset->Abandon();
    for (const auto &mask : m_masks)
    {
        if (mask.dataset != nullptr)
            mask.dataset->Abandon();
    }
}

void ShardedZarrDataset::StartBlank(std::unique_ptr<ZSNewStore> made, bool hasStatistics,
                                    const std::vector<int> &factors, const std::string &resampling)
{
    m_isBlank = true;
    m_laterFactors = factors;
    m_laterResampling = resampling;
    m_hasLaterStatistics = hasStatistics;
    m_newStore = std::move(made);
}

#if ZS_GDAL_AT_LEAST(10)
std::unique_ptr<GDALDataset> ShardedZarrDataset::Clone(int scope, bool canShareState) const
{
    return zsGuard([&]() -> std::unique_ptr<GDALDataset> {
        if (IsUpdate() || !canShareState)
            return GDALPamDataset::Clone(scope, canShareState);
        // Other threads may be at work on this dataset: only what is set when it is opened may be looked at.
        struct zs_error err;
        auto ds = Over(m_view.store, m_view.sources, m_view.group, m_view.options, GA_ReadOnly, &err);
        if (ds == nullptr)
            return zsReport(err);
        ds->poDriver = poDriver;
        ds->nOpenFlags = scope;
        ds->papszOpenOptions = CSLDuplicate(papszOpenOptions);
        ds->AttachPam(GetDescription());
        if (!m_beside.empty())
            ds->LookBeside(m_beside);
        return ds;
    });
}
#endif

/* ---- Flushing and closing ---- */

/* Puts a new store in its place at the first flush, unless pixels were lost. */
CPLErr ShardedZarrDataset::Publish(bool hasLost)
{
    const ZSStore &store = *m_view.store;
    if (m_newStore == nullptr)
        return CE_None;
    if (hasLost)
        return zsRefuse(CPLE_FileIO,
                        "%s: not all of it could be written: it is not made, and what was there stays",
                        zsShown(store.name).c_str());
    if (!m_newStore->Publish())
        return CE_Failure;
    m_newStore.reset();
    if (!store.store->is_remote)
        SetPhysicalFilename(store.Entry().c_str());
    return CE_None;
}

/* Puts what was set into the store's pending documents, in this order: all of it or nothing. */
enum zs_status ShardedZarrDataset::PutDocuments(struct zs_error *err)
{
    ZSWholeEdit edit(m_view.store->hierarchy);
    ZS_TRY(FlushGeoref(err));
    ZS_TRY(FlushItems(err));
    ZS_TRY(FlushBands(err));
    edit.Keep();
    return ZS_OK;
}

/* Publishes all pending changes of documents together. After an error none is published any more. */
CPLErr ShardedZarrDataset::FlushDocuments()
{
    if (m_hasFailed)
        return zsRefuse(CPLE_AppDefined, "%s: what was set could not be stored before: open it again",
                        zsShown(GetDescription()).c_str());
    if (m_georefChanged == 0 && !m_areItemsChanged && !m_areBandsChanged && !m_isMaskAdded)
        return CE_None;
    m_hasFailed = true;
    const CPLErr isUpdated = m_areBandsChanged ? UpdateBlank() : CE_None;
    m_isBlank = m_isBlank && !m_areBandsChanged; // its properties are published from now on
    if (isUpdated != CE_None)
        return CE_Failure;
    ZSOverlap overlap;
    overlap.Begin(*m_view.store);
    struct zs_error err;
    if (PutDocuments(&err) != ZS_OK || zs_hierarchy_flush(m_view.store->hierarchy, &err) != ZS_OK)
        return zsReport(err);
    m_isMaskAdded = false;
    m_hasFailed = !overlap.End();
    return m_hasFailed ? CE_Failure : CE_None;
}

CPLErr ShardedZarrDataset::FlushPixels(bool atClosing)
{
    CPLErr result = FlushMasks(atClosing);
    struct zs_error err;
    for (const auto &source : m_view.sources)
    {
        if (zs_array_flush(source.array->array, &err) == ZS_OK)
            continue;
        zsReport(err);
        result = CE_Failure;
    }
    return result;
}

CPLErr ShardedZarrDataset::AddStatistics(GDALProgressFunc progress, void *progressData)
{
    // Threads of GDAL 3.13 open the dataset again, by a name that does not open before it is published.
    const CPLConfigOptionSetter oneThread("GDAL_NUM_THREADS", "1", false);
    for (int b = 1; b <= nBands; b++)
    {
        const ZSScaledProgress ofBand((b - 1.0) / nBands, static_cast<double>(b) / nBands, progress, progressData);
        const ZSQuiet quiet; // to GDAL a band of nodata alone is an error
        if (GetRasterBand(b)->ComputeStatistics(false, nullptr, nullptr, nullptr, nullptr, GDALScaledProgress,
                                                ofBand.Part()) != CE_None &&
            CPLGetLastErrorNo() == CPLE_UserInterrupt)
            return CE_Failure;
    }
    return CE_None;
}

CPLErr ShardedZarrDataset::FlushChanges(bool atClosing)
{
    CPLErr result = FlushPixels(atClosing);
    if (result == CE_None && atClosing && m_hasLaterStatistics && m_isWritten && !bSuppressOnClose)
        result = AddStatistics(m_progress, m_progressData);
    if (!IsOverview() && (result == CE_None || !m_isMaskAdded) && FlushDocuments() != CE_None)
        result = CE_Failure;
    if (result != CE_None && !atClosing)
        return result;
    // What fails at the close is lost, but for overviews: without them the raster is whole.
    const bool hasLost = m_hasLost || result != CE_None;
    if (atClosing && !hasLost)
        result = MakeLaterOverviews();
    if (!(atClosing && bSuppressOnClose) && Publish(hasLost) != CE_None)
        result = CE_Failure;
    if (atClosing && result == CE_None)
        WarnOfOldOverviews();
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
    if (!IsUpdate() || m_isClosed)
        return result;
    if (FlushLevels(atClosing) != CE_None)
        result = CE_Failure;
    if (FlushChanges(atClosing) != CE_None)
        result = CE_Failure;
    return result;
}

ZSFlushResult ShardedZarrDataset::FlushCache(bool atClosing)
{
    const CPLErr result = zsGuard([&] { return FlushAll(atClosing); });
    ZS_FLUSH_RETURN(result);
}

CPLErr ShardedZarrDataset::CloseAll()
{
    // In update mode: else only the side-car file is to be written; FlushCache() walks up to 65,536 bands for that.
    CPLErr result = IsUpdate() ? FlushAll(true) : CE_None;
    // ~GDALPamDataset() would remove a file without items of this array: see SerializeToXML().
    if ((nPamFlags & GPF_DIRTY) != 0 && TrySaveXML() != CE_None)
        result = CE_Failure;
    m_isClosed = true;
    m_levels.clear();
    m_masks.clear();
    return result;
}

#if ZS_GDAL_AT_LEAST(7)
CPLErr ShardedZarrDataset::Close(ZS_CLOSE_PARAMETERS)
{
    if (m_isClosed)
        return CE_None;
#if ZS_GDAL_AT_LEAST(13)
    m_progress = progress != nullptr ? progress : GDALDummyProgress;
    m_progressData = progressData;
#endif
    const CPLErr result = zsGuard([this] { return CloseAll(); });
    return GDALPamDataset::Close(ZS_CLOSE_ARGUMENTS) == CE_None ? result : CE_Failure;
}
#endif

ShardedZarrDataset::~ShardedZarrDataset()
{
#if ZS_GDAL_AT_LEAST(7)
    static_cast<void>(ShardedZarrDataset::Close());
#else
    static_cast<void>(zsGuard([this] { return CloseAll(); }));
#endif
    zs_georef_clear(&m_georef);
}

char **ShardedZarrDataset::GetFileList()
{
    return zsGuard([&]() -> char ** {
        if (m_view.store->store->is_snapshot)
            return nullptr; // GDAL deletes and moves listed files where it has no callback, and a ref is the history
        CPLStringList files;
        files.AddString(m_view.store->Entry().c_str());
        if (m_view.store->store->is_remote)
            return files.StealList();
        // GDAL adds the store once more, under the name by which it was opened, and a side-car file.
        const CPLStringList others(GDALPamDataset::GetFileList());
        for (int i = 0; i < others.size(); i++)
        {
            if (zsEndsWith(others[i], ".aux.xml") || zsEndsWith(others[i], ".ovr"))
                files.AddString(others[i]);
        }
        return files.StealList();
    });
}

/* ---- The side-car file ---- */

/* Never null: GDAL would remove the side-car file, which may be of other arrays, too. */
CPLXMLNode *ShardedZarrDataset::SerializeToXML(const char *path)
{
    CPLXMLNode *tree = GDALPamDataset::SerializeToXML(path);
    return tree != nullptr ? tree : CPLCreateXMLNode(nullptr, CXT_Element, "PAMDataset");
}
