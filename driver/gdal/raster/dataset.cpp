#include "dataset.h"

#include "gdal/connection.h"
#include "gdal/create/creation_options.h"
#include "gdal/create/files.h"
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
    ds->m_role.isMask = validity != nullptr;
    if (validity != nullptr)
        ds->m_role.validity = *validity;
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
    level->nPamFlags |= GPF_NOSAVE;
    return level;
}

void ShardedZarrDataset::SetMaskOf(ShardedZarrDataset &dataset)
{
    m_role.masked = &dataset;
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

/* ---- Overviews ---- */

/* Those of the one raster of a local store may be beside it, in NAME.zarr.ovr, as GDAL keeps them. */
void ShardedZarrDataset::LookBeside(const std::string &store)
{
    const std::string name = CPLGetFilename(store.c_str());
    if (m_view.store->store->is_remote || m_view.store->store->is_snapshot || zsIsArchive(store) || name.empty() ||
        name == "." || name == "..")
        return;
    m_beside = store;
    oOvManager.Initialize(this, m_beside.c_str());
}

CPLErr ShardedZarrDataset::IBuildOverviews(const char *resampling, int count, const int *factors, int bandCount,
                                           const int *bandList, GDALProgressFunc progress, void *progressData,
                                           CSLConstList options)
{
    return zsGuard([&]() -> CPLErr {
        if (!IsUpdate() && !m_beside.empty() && overviews.Count() == 0)
            return GDALPamDataset::IBuildOverviews(resampling, count, factors, bandCount, bandList, progress,
                                                   progressData, options);
        struct zs_error err;
        if (!IsUpdate() && zs_store_check_access(m_view.store->store, "", &err) != ZS_OK)
            return zsReport(err); // gdaladdo has tried the update mode before, in silence
        if (!IsUpdate())
            return zsRefuse(CPLE_NotSupported, "%s: open it for update: it has overviews already, or is not one raster",
                            zsShown(GetDescription()).c_str());
        if (m_view.IsHealpix())
            return zsRefuse(CPLE_NotSupported, "%s: overviews of HEALPix cells go beside the store: gdaladdo -ro",
                            zsShown(GetDescription()).c_str());
        if (m_view.IsSelection() || bandCount != nBands)
            return zsRefuse(CPLE_NotSupported, "%s: overviews are built for all bands of %s together",
                            zsShown(GetDescription()).c_str(), m_view.IsGroup() ? "a group" : "an array");
        closing.factors.clear(); // from now on it is the caller who decides
        if (FlushAll(false) != CE_None)
            return CE_Failure;
        if (count == 0)
            return RemoveOverviews();
        if (nRasterXSize == 1 && nRasterYSize == 1)
            return CE_None; // no level would be smaller
        return MakeOverviews(resampling, std::vector<int>(factors, factors + count),
                             progress != nullptr ? progress : GDALDummyProgress, progressData, options);
    });
}

bool ShardedZarrDataset::WillMakeOverviews() const
{
    return !closing.factors.empty() && pixels.isWritten && !bSuppressOnClose;
}

CPLErr ShardedZarrDataset::MakeLaterOverviews()
{
    if (!WillMakeOverviews())
        return CE_None;
    const std::vector<int> factors = std::exchange(closing.factors, {}); // once, even after a failure
    const std::string resampling = zsOverviewResampling(closing.resampling, *this);
    CPLDebug("ShardedZarr", "%s: %d overviews are made (%s)", GetDescription(), static_cast<int>(factors.size()),
             resampling.c_str());
    const CPLConfigOptionSetter threads("GDAL_NUM_THREADS", std::to_string(m_view.options.threads).c_str(), false);
    return MakeOverviews(resampling.c_str(), factors, closing.progress, closing.progressData, nullptr);
}

CPLErr ShardedZarrDataset::MakeOverviews(const char *resampling, const std::vector<int> &factors,
                                         GDALProgressFunc progress, void *progressData, CSLConstList options)
{
    for (int b = 1; b <= nBands; b++)
    {
        if (!zsMayResample(GetDescription(), Band(b).GetRasterDataType(), ZSNodata(Band(b)), resampling))
            return CE_Failure;
    }
    const bool wereOld = pixels.areLevelsOld;
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
    if (result != CE_None || !overlap.End())
        return CE_Failure;
    pixels.areLevelsOld = wereOld && overviews.Count() > static_cast<int>(factors.size()); // others stay as they are
    return CE_None;
}

/* Warns of overviews that are older than the pixels: a copy makes them unasked, so its later writer may not know. */
void ShardedZarrDataset::WarnOfOldOverviews()
{
    if (pixels.areLevelsOld && !m_role.isMask && !m_role.IsOverview() && overviews.Count() > 0)
        CPLError(CE_Warning, CPLE_AppDefined,
                 "%s: pixels were written, and its overviews are as they were before: gdaladdo makes them anew",
                 zsShown(GetDescription()).c_str());
}

CPLErr ShardedZarrDataset::RemoveOverviews()
{
    CPLErr result = overviews.Remove();
    if (result == CE_None && oOvManager.IsInitialized() && oOvManager.GetOverviewCount(1) > 0)
        result = oOvManager.CleanOverviews();
    for (ShardedZarrDataset *mask : masks.Datasets())
        result = result == CE_None ? mask->overviews.Remove() : result;
    return result;
}

/* ---- Flushing and closing ---- */

/* Puts a new store in its place at the first flush, unless pixels were lost. */
CPLErr ShardedZarrDataset::Publish(bool hasLost)
{
    const ZSStore &store = *m_view.store;
    if (closing.made == nullptr)
        return CE_None;
    if (hasLost)
        return zsRefuse(CPLE_FileIO,
                        "%s: not all of it could be written: it is not made, and what was there stays",
                        zsShown(store.name).c_str());
    if (!closing.made->Publish())
        return CE_Failure;
    closing.made.reset();
    if (!store.store->is_remote)
        SetPhysicalFilename(store.Entry().c_str());
    return CE_None;
}

/* Puts what was set into the store's pending documents, in this order: all of it or nothing. */
enum zs_status ShardedZarrDataset::PutDocuments(struct zs_error *err)
{
    ZSWholeEdit edit(m_view.store->hierarchy);
    ZS_TRY(georef.Flush(err));
    ZS_TRY(items.Flush(err));
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
    if (!georef.IsPending() && !items.IsPending() && !m_areBandsChanged && !masks.IsAdded())
        return CE_None;
    m_hasFailed = true;
    if (m_areBandsChanged && pixels.SettleProperties() != CE_None)
        return CE_Failure;
    ZSOverlap overlap;
    overlap.Begin(*m_view.store);
    struct zs_error err;
    if (PutDocuments(&err) != ZS_OK || zs_hierarchy_flush(m_view.store->hierarchy, &err) != ZS_OK)
        return zsReport(err);
    masks.SetPublished();
    m_hasFailed = !overlap.End();
    return m_hasFailed ? CE_Failure : CE_None;
}

CPLErr ShardedZarrDataset::FlushPixels(bool atClosing)
{
    CPLErr result = masks.FlushPixels(atClosing);
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
    if (result == CE_None && atClosing && closing.hasStatistics && pixels.isWritten && !bSuppressOnClose)
        result = AddStatistics(closing.progress, closing.progressData);
    if (!m_role.IsOverview() && (result == CE_None || !masks.IsAdded()) && FlushDocuments() != CE_None)
        result = CE_Failure;
    if (result != CE_None && !atClosing)
        return result;
    // What fails at the close is lost, but for overviews: without them the raster is whole.
    const bool hasLost = pixels.hasLost || result != CE_None;
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
    if (!IsUpdate() || closing.isDone)
        return result;
    if (overviews.FlushPixels(atClosing) != CE_None)
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

CPLErr ShardedZarrDataset::CloseParts()
{
    // In update mode: else only the side-car file is to be written; FlushCache() walks up to 65,536 bands for that.
    CPLErr result = IsUpdate() ? FlushAll(true) : CE_None;
    // ~GDALPamDataset() would remove a file without items of this array: see SerializeToXML().
    if ((nPamFlags & GPF_DIRTY) != 0 && TrySaveXML() != CE_None)
        result = CE_Failure;
    closing.isDone = true;
    overviews.Close();
    masks.Close();
    return result;
}

#if ZS_GDAL_AT_LEAST(7)
CPLErr ShardedZarrDataset::Close(ZS_CLOSE_PARAMETERS)
{
    if (closing.isDone)
        return CE_None;
#if ZS_GDAL_AT_LEAST(13)
    closing.progress = progress != nullptr ? progress : GDALDummyProgress;
    closing.progressData = progressData;
#endif
    const CPLErr result = zsGuard([this] { return CloseParts(); });
    return GDALPamDataset::Close(ZS_CLOSE_ARGUMENTS) == CE_None ? result : CE_Failure;
}
#endif

ShardedZarrDataset::~ShardedZarrDataset()
{
#if ZS_GDAL_AT_LEAST(7)
    static_cast<void>(ShardedZarrDataset::Close());
#else
    static_cast<void>(zsGuard([this] { return CloseParts(); }));
#endif
}

/* ---- Georeferencing: of a side-car file first, then of the store ---- */

const OGRSpatialReference *ShardedZarrDataset::GetSpatialRef() const
{
    return zsGuard([&] {
        const struct zs_georef &stored = georef.Get();
        const OGRSpatialReference *beside = GDALPamDataset::GetSpatialRef();
        return beside != nullptr ? beside : OGRSpatialReference::FromHandle(stored.srs);
    });
}

bool ShardedZarrDataset::MayKeepBeside()
{
    PamInitialize();
    if (!IsUpdate() || (nPamFlags & (GPF_DISABLED | GPF_NOSAVE)) == 0) // of what is only read, GDAL keeps it for now
        return true;
    return zsRefuse(CPLE_NotSupported, "%s: this georeferencing goes into a side-car file, and there can be none here",
                    zsShown(GetDescription()).c_str());
}

CPLErr ShardedZarrDataset::SetSpatialRef(const OGRSpatialReference *srs)
{
    return zsGuard([&] {
        if (IsKeptBeside())
            return MayKeepBeside() ? GDALPamDataset::SetSpatialRef(srs) : CE_Failure;
        if (GDALPamDataset::GetSpatialRef() != nullptr)
            GDALPamDataset::SetSpatialRef(nullptr);
        return georef.SetSrs(zsStoredSrs(srs, GetDescription()).get());
    });
}

CPLErr ShardedZarrDataset::GetGeoTransform(ZS_GET_GEOTRANSFORM_ARG transform) ZS_GEOTRANSFORM_CONST
{
    return zsGuard([&]() -> CPLErr {
        if (GDALPamDataset::GetGeoTransform(transform) == CE_None)
            return CE_None;
        const struct zs_georef &stored = georef.Get();
        // Regular times of rows and ranges of columns give a transform, too, but no georeferencing: control points do.
        if (!stored.has_transform || (!georef.IsPending() && HasGCPs() && georef.HasGCPsOfProduct()))
            return GDALPamDataset::GetGeoTransform(transform);
        for (int i = 0; i < 6; i++)
            transform[i] = stored.transform[i];
        return CE_None;
    });
}

CPLErr ShardedZarrDataset::SetGeoTransform(ZS_SET_GEOTRANSFORM_ARG transform)
{
    return zsGuard([&] {
        if (IsKeptBeside())
            return MayKeepBeside() ? GDALPamDataset::SetGeoTransform(transform) : CE_Failure;
        DeleteGeoTransform();
        double numbers[6];
        for (int i = 0; i < 6; i++)
            numbers[i] = transform[i];
        return georef.SetTransform(numbers);
    });
}

bool ShardedZarrDataset::HasGCPs() const
{
    return !m_role.IsOverview() && !m_role.isMask && !georef.GCPs().empty();
}

int ShardedZarrDataset::GetGCPCount()
{
    return zsGuard([&] {
        const int beside = GDALPamDataset::GetGCPCount();
        return beside > 0 || !HasGCPs() ? beside : static_cast<int>(georef.GCPs().size());
    });
}

const OGRSpatialReference *ShardedZarrDataset::GetGCPSpatialRef() const
{
    return zsGuard([&] {
        const bool isBeside = const_cast<ShardedZarrDataset *>(this)->GDALPamDataset::GetGCPCount() > 0;
        return isBeside || !HasGCPs() ? GDALPamDataset::GetGCPSpatialRef() : georef.GCPSrs();
    });
}

const GDAL_GCP *ShardedZarrDataset::GetGCPs()
{
    return zsGuard([&] {
        return GDALPamDataset::GetGCPCount() > 0 || !HasGCPs() ? GDALPamDataset::GetGCPs() : georef.GCPs().data();
    });
}

CPLErr ShardedZarrDataset::SetGCPs(int count, const GDAL_GCP *list, const OGRSpatialReference *srs)
{
    return zsGuard([&] {
        if (IsKeptBeside() || m_view.IsHealpix() || m_role.IsOverview() || m_role.isMask)
            return MayKeepBeside() ? GDALPamDataset::SetGCPs(count, list, srs) : CE_Failure;
        if (GDALPamDataset::GetGCPCount() > 0)
            GDALPamDataset::SetGCPs(0, nullptr, static_cast<const OGRSpatialReference *>(nullptr));
        return georef.SetGCPs(count, list, srs);
    });
}

/* ---- Metadata, likewise ---- */

char **ShardedZarrDataset::GetMetadataDomainList()
{
    return zsGuard([&] {
        for (const char *domain : {"", "IMAGE_STRUCTURE", "GEOLOCATION", "any that the store has"})
            items.Read(domain, nullptr);
        return items.shown.Names(GDALPamDataset::GetMetadataDomainList());
    });
}

ZSMetadata ShardedZarrDataset::GetMetadata(const char *domain)
{
    return zsGuard([&] {
        return items.Read(domain, nullptr) ? items.shown.Get(domain) : GDALPamDataset::GetMetadata(domain);
    });
}

const char *ShardedZarrDataset::GetMetadataItem(const char *name, const char *domain)
{
    return zsGuard([&] {
        return name != nullptr && items.Read(domain, name) ? items.shown.Item(name, domain)
                                                           : GDALPamDataset::GetMetadataItem(name, domain);
    });
}

CPLErr ShardedZarrDataset::SetRegistration(const char *value)
{
    const bool isPoint = EQUAL(value, GDALMD_AOP_POINT);
    if (!isPoint && !EQUAL(value, GDALMD_AOP_AREA))
        return zsRefuse(CPLE_IllegalArg, "%s: AREA_OR_POINT: expected Area or Point, found \"%.100s\"",
                        zsShown(m_view.store->name).c_str(), value);
    georef.SetPixelIsPoint(isPoint);
    return CE_None;
}

CPLErr ShardedZarrDataset::SetMetadata(ZSMetadataArg metadata, const char *domain)
{
    return zsGuard([&]() -> CPLErr {
        const CPLStringList given(CSLDuplicate(const_cast<char **>(metadata))); // it may be what is shown
        CPLStringList list(given);
        const bool isShown = items.Read(domain, "");
        const char *registration =
            zsIsDefaultDomain(domain) ? zsItemValueInAnyCase(list.List(), GDALMD_AREA_OR_POINT) : nullptr;
        const char *now = items.shown.Item(GDALMD_AREA_OR_POINT);
        const bool isNew = registration != nullptr && (now == nullptr || strcmp(now, registration) != 0);
        if (IsUpdate() && isNew && SetRegistration(registration) != CE_None)
            return CE_Failure;
        // A list without AREA_OR_POINT keeps it, as in GTiff.
        if (zsIsDefaultDomain(domain) && registration == nullptr && zsRegistrationOf(georef.Get()) != nullptr)
            zsSetItem(list, GDALMD_AREA_OR_POINT, zsRegistrationOf(georef.Get()));
        const bool isStored = items.WillChange(domain);
        if (isShown)
            items.shown.Set(list.List(), domain);
        return isStored ? CE_None : GDALPamDataset::SetMetadata(const_cast<char **>(given.List()), domain);
    });
}

CPLErr ShardedZarrDataset::SetMetadataItem(const char *name, const char *given, const char *domain)
{
    return zsGuard([&]() -> CPLErr {
        const std::string copy = given != nullptr ? given : ""; // it may be what is shown
        const char *value = given != nullptr ? copy.c_str() : nullptr;
        const bool isShown = items.Read(domain, "");
        if (IsUpdate() && zsIsDefaultDomain(domain) && EQUAL(name, GDALMD_AREA_OR_POINT) &&
            SetRegistration(value != nullptr ? value : GDALMD_AOP_AREA) != CE_None)
            return CE_Failure;
        const bool isStored = items.WillChange(domain);
        if (isShown)
            items.shown.SetItem(name, value, domain);
        return isStored ? CE_None : GDALPamDataset::SetMetadataItem(name, value, domain);
    });
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
