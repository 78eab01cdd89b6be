#include "guarded.h"

#include "gdal/connection.h"
#include "gdal/create/creation_options.h"
#include "gdal/create/files.h"
#include "gdal/guard.h"

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
        return zsReport(err);
    ds->poDriver = poDriver;
    ds->nOpenFlags = scope;
    ds->papszOpenOptions = CSLDuplicate(papszOpenOptions);
    ds->AttachPam(GetDescription());
    if (!m_beside.empty())
        ds->LookBeside(m_beside);
    return ds;
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

CPLErr ShardedZarrDataset::BuildBeside(const char *resampling, int count, const int *factors, int bandCount,
                                       const int *bandList, GDALProgressFunc progress, void *progressData,
                                       CSLConstList options)
{
    struct zs_error err;
    const bool isInStore = overviews.Count() > 0;
    if (!m_beside.empty() && !isInStore)
        return GDALPamDataset::IBuildOverviews(resampling, count, factors, bandCount, bandList, progress, progressData,
                                               options);
    // Who may not write to the store opens it without update mode: gdaladdo does so in silence.
    if (zs_store_check_access(m_view.store->store, "", &err) != ZS_OK)
        return zsReport(err);
    return zsRefuse(CPLE_NotSupported, "%s: %s: the store must be opened in update mode",
                    zsShown(GetDescription()).c_str(),
                    isInStore ? "there are overviews in the store already"
                              : "overviews beside a store are for the one raster of a local one");
}

CPLErr ShardedZarrDataset::IBuildOverviews(const char *resampling, int count, const int *factors, int bandCount,
                                           const int *bandList, GDALProgressFunc progress, void *progressData,
                                           CSLConstList options)
{
    if (!IsUpdate())
        return BuildBeside(resampling, count, factors, bandCount, bandList, progress, progressData, options);
    if (m_view.IsHealpix())
        return zsRefuse(CPLE_NotSupported,
                        "%s: overviews of HEALPix cells are not built in the store; gdaladdo -ro puts them beside it",
                        zsShown(GetDescription()).c_str());
    if (m_view.IsSelection() || bandCount != nBands)
        return zsRefuse(CPLE_NotSupported, "%s: overviews are built for all bands of %s together",
                        zsShown(GetDescription()).c_str(), m_view.IsGroup() ? "a group" : "an array");
    if (progress == nullptr)
        progress = GDALDummyProgress;
    closing.factors.clear(); // from now on it is the caller who decides
    if (FlushAll(false) != CE_None)
        return CE_Failure;
    if (count == 0)
        return RemoveOverviews();
    if (nRasterXSize == 1 && nRasterYSize == 1)
        return CE_None; // no level would be smaller
    return MakeOverviews(resampling, std::vector<int>(factors, factors + count), progress, progressData, options);
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
    ZSSavepoint edit(m_view.store->hierarchy); // of a new store, whose documents are still pending: all levels or none
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
    edit.Keep();
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

std::vector<ZSDatasetPart *> ShardedZarrDataset::FlushedParts()
{
    return {georef.get(), &items, &properties, &masks};
}

/* Publishes the pending changes of all parts together. An error of one part does not hide that of another. */
CPLErr ShardedZarrDataset::FlushDocuments()
{
    if (properties.IsPending() && pixels.SettleProperties() != CE_None)
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
    if (m_hasSideCar) // what the store has now goes from there
        MarkPamDirty();
    return CE_None;
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
    if (!m_role.IsOverview() && (!masks.IsWhole() || FlushDocuments() != CE_None))
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
    if (!closing.isDone)
    {
#if ZS_GDAL_AT_LEAST(13)
        closing.progress = progress != nullptr ? progress : GDALDummyProgress;
        closing.progressData = progressData;
#endif
        if (IsUpdate()) // else only the side-car file is to be written; FlushCache() walks up to 65,536 bands for that
            result = FlushCache(true);
        // FlushChanges() may have dropped statistics. ~GDALPamDataset() would write the file without what our
        // SerializeToXML() adds, and would remove one without items of this array.
        if ((nPamFlags & GPF_DIRTY) != 0 && TrySaveXML() != CE_None)
            result = CE_Failure;
        closing.isDone = true;
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
    closing.isDone = true;
    // Writes changes of the side-car file now: the destructor of the base would do it when this object is no
    // ShardedZarrDataset any more.
    zsGuard([this] { GDALPamDataset::FlushCache(true); });
    overviews.Close();
    masks.Close();
#endif
}

static const char IMAGE_STRUCTURE[] = "IMAGE_STRUCTURE";

/* ---- Georeferencing: of a side-car file first, then of the store ---- */

const OGRSpatialReference *ShardedZarrDataset::GetSpatialRef() const
{
    const struct zs_georef &stored = georef->Get();
    const OGRSpatialReference *beside = GDALPamDataset::GetSpatialRef();
    return beside != nullptr ? beside : OGRSpatialReference::FromHandle(stored.srs);
}

CPLErr ShardedZarrDataset::SetSpatialRef(const OGRSpatialReference *srs)
{
    if (!IsUpdate())
        return GDALPamDataset::SetSpatialRef(srs);
    if (GDALPamDataset::GetSpatialRef() != nullptr)
        GDALPamDataset::SetSpatialRef(nullptr);
    return georef->SetSrs(zsStoredSrs(srs, GetDescription()).get());
}

CPLErr ShardedZarrDataset::GetGeoTransform(ZS_GET_GEOTRANSFORM_ARG transform) ZS_GEOTRANSFORM_CONST
{
    if (GDALPamDataset::GetGeoTransform(transform) == CE_None)
        return CE_None;
    const struct zs_georef &stored = georef->Get();
    // Regular times of rows and ranges of columns give a transform, too, but no georeferencing: control points do.
    if (!stored.has_transform || (!georef->IsPending() && HasGCPs() && georef->HasGCPsOfProduct()))
        return GDALPamDataset::GetGeoTransform(transform);
    for (int i = 0; i < 6; i++)
        transform[i] = stored.transform[i];
    return CE_None;
}

CPLErr ShardedZarrDataset::SetGeoTransform(ZS_SET_GEOTRANSFORM_ARG transform)
{
    if (!IsUpdate())
        return GDALPamDataset::SetGeoTransform(transform);
    if (m_hasSideCar)
        DeleteGeoTransform();
    double numbers[6];
    for (int i = 0; i < 6; i++)
        numbers[i] = transform[i];
    return georef->SetTransform(numbers);
}

bool ShardedZarrDataset::HasGCPs() const
{
    return !m_role.IsOverview() && !m_role.isMask && !georef->GCPs().empty();
}

int ShardedZarrDataset::GetGCPCount()
{
    const int beside = GDALPamDataset::GetGCPCount();
    return beside > 0 || !HasGCPs() ? beside : static_cast<int>(georef->GCPs().size());
}

const OGRSpatialReference *ShardedZarrDataset::GetGCPSpatialRef() const
{
    const bool isBeside = const_cast<ShardedZarrDataset *>(this)->GDALPamDataset::GetGCPCount() > 0;
    return isBeside || !HasGCPs() ? GDALPamDataset::GetGCPSpatialRef() : georef->GCPSrs();
}

const GDAL_GCP *ShardedZarrDataset::GetGCPs()
{
    return GDALPamDataset::GetGCPCount() > 0 || !HasGCPs() ? GDALPamDataset::GetGCPs() : georef->GCPs().data();
}

CPLErr ShardedZarrDataset::SetGCPs(int count, const GDAL_GCP *list, const OGRSpatialReference *srs)
{
    if (!IsUpdate() || m_view.IsHealpix() || m_role.IsOverview() || m_role.isMask)
        return GDALPamDataset::SetGCPs(count, list, srs);
    if (GDALPamDataset::GetGCPCount() > 0)
        GDALPamDataset::SetGCPs(0, nullptr, static_cast<const OGRSpatialReference *>(nullptr));
    return georef->SetGCPs(count, list, srs);
}

/* ---- Metadata, likewise ---- */

static bool isStructure(const char *domain)
{
    return domain != nullptr && EQUAL(domain, IMAGE_STRUCTURE);
}

void ShardedZarrDataset::ReadDomain(const char *domain)
{
    if (zsIsDefaultDomain(domain))
        items.Read();
    else if (EQUAL(domain, "GEOLOCATION"))
        georef->AddGeolocation(*this);
    else
        items.ReadDomains(domain);
}

char **ShardedZarrDataset::GetMetadataDomainList()
{
    items.Read();
    items.ReadDomains(nullptr);
    georef->AddGeolocation(*this);
    CPLStringList list(GDALPamDataset::GetMetadataDomainList());
    if (list.FindString(IMAGE_STRUCTURE) < 0)
        list.AddString(IMAGE_STRUCTURE);
    return list.StealList();
}

ZSMetadata ShardedZarrDataset::GetMetadata(const char *domain)
{
    if (isStructure(domain))
        return items.Structure().List();
    ReadDomain(domain);
    if (zsIsDefaultDomain(domain))
        items.ReadAll();
    return GDALPamDataset::GetMetadata(domain);
}

const char *ShardedZarrDataset::GetMetadataItem(const char *name, const char *domain)
{
    if (isStructure(domain))
        return items.Structure().FetchNameValue(name);
    ReadDomain(domain);
    if (zsIsDefaultDomain(domain) && name != nullptr && STARTS_WITH_CI(name, "NETCDF_DIM_"))
        items.ReadAll();
    if (name == nullptr || (!zsIsDefaultDomain(domain) && !zsIsStoredDomain(domain)))
        return GDALPamDataset::GetMetadataItem(name, domain);
    return zsItemValueInAnyCase(GDALMajorObject::GetMetadata(domain), name);
}

bool ShardedZarrDataset::SetRegistration(const char *value)
{
    const char *now = zsItemValueInAnyCase(GDALMajorObject::GetMetadata(), GDALMD_AREA_OR_POINT);
    const bool isPoint = EQUAL(value, GDALMD_AOP_POINT);
    if (!isPoint && !EQUAL(value, GDALMD_AOP_AREA))
    {
        if (now != nullptr && strcmp(now, value) == 0)
            return true; // it is what is there
        return zsRefuse(CPLE_IllegalArg, "%s: AREA_OR_POINT: expected Area or Point, found \"%.100s\"",
                        zsShown(m_view.store->name).c_str(), value);
    }
    georef->SetPixelIsPoint(isPoint);
    return true;
}

CPLErr ShardedZarrDataset::SetMetadata(ZSMetadataArg metadata, const char *domain)
{
    items.ReadDomains(zsIsDefaultDomain(domain) ? nullptr : domain);
    items.ForgetStructure();
    if (!IsUpdate() || !(zsIsDefaultDomain(domain) || zsIsStoredDomain(domain)))
        return GDALPamDataset::SetMetadata(metadata, domain);
    items.Read();
    CPLStringList list(CSLDuplicate(const_cast<char **>(metadata)));
    const char *registration = zsItemValueInAnyCase(list.List(), GDALMD_AREA_OR_POINT);
    if (zsIsDefaultDomain(domain) && registration != nullptr && !SetRegistration(registration))
        return CE_Failure;
    items.SetChanged(domain);
    if (!zsIsDefaultDomain(domain))
        return GDALMajorObject::SetMetadata(metadata, domain);
    // A list without AREA_OR_POINT keeps it, as in GTiff.
    if (registration == nullptr && zsRegistrationOf(georef->Get()) != nullptr)
        zsSetItem(list, GDALMD_AREA_OR_POINT, zsRegistrationOf(georef->Get()));
    return GDALMajorObject::SetMetadata(list.List());
}

CPLErr ShardedZarrDataset::SetMetadataItem(const char *name, const char *value, const char *domain)
{
    items.ReadDomains(zsIsDefaultDomain(domain) ? nullptr : domain);
    items.Read();
    if (zsIsItemMistaken(*this, name, domain))
        return SetMetadata(zsItemsWith(*this, name, value, domain).List(), domain);
    items.ForgetStructure();
    if (!IsUpdate() || !(zsIsDefaultDomain(domain) || zsIsStoredDomain(domain)))
        return GDALPamDataset::SetMetadataItem(name, value, domain);
    if (zsIsDefaultDomain(domain) && EQUAL(name, GDALMD_AREA_OR_POINT))
    {
        if (!SetRegistration(value != nullptr ? value : GDALMD_AOP_AREA))
            return CE_Failure;
    }
    items.SetChanged(domain);
    return GDALMajorObject::SetMetadataItem(name, value, domain);
}

char **ShardedZarrDataset::GetFileList()
{
    if (m_view.store->store->is_snapshot)
        return nullptr; // GDAL deletes and moves listed files where a driver has no callback, and a ref is the history
    CPLStringList files;
    files.AddString(m_view.store->Entry().c_str());
    std::vector<const struct zs_node *> nodes;
    if (m_view.IsGroup())
        nodes.push_back(m_view.group);
    for (const auto &source : m_view.sources)
        nodes.push_back(source.array->node);
    const struct zs_hierarchy *h = m_view.store->hierarchy;
    for (const auto *node : nodes)
    {
        if (strcmp(node->key, "zarr.json") != 0 && !zs_hierarchy_is_consolidated(h) && !zs_hierarchy_is_draft(h))
            files.AddString((std::string(m_view.store->store->root) + "/" + node->key).c_str());
    }
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
}

/* ---- The side-car file ---- */

CPLErr ShardedZarrDataset::XMLInit(ZSPamTree tree, const char *path)
{
    const CPLErr result = GDALPamDataset::XMLInit(tree, path);
    m_hasSideCar = true;
    return result;
}

/* Writes no side-car file beside a store that was replaced: it would describe the wrong one. */
CPLErr ShardedZarrDataset::TrySaveXML()
{
    struct zs_error err;
    struct zs_object *root = nullptr;
    enum zs_status status = ZS_OK;
    if ((nPamFlags & GPF_DIRTY) != 0 && !m_view.store->store->is_remote)
        status = zs_object_open(m_view.store->store, "zarr.json", &root, &err);
    zs_object_close(root);
    if (status == ZS_OK || status == ZS_NOT_FOUND)
        return GDALPamDataset::TrySaveXML();
    nPamFlags &= ~GPF_DIRTY;
    CPLError(IsUpdate() ? CE_Failure : CE_Warning, CPLE_AppDefined, "%s: statistics and what else goes beside the "
             "store are not kept: %s", zsShown(GetDescription()).c_str(), err.message);
    return IsUpdate() ? CE_Failure : CE_None;
}

/* Never null: GDAL would remove the side-car file, which may be of other arrays, too. */
CPLXMLNode *ShardedZarrDataset::SerializeToXML(const char *path)
{
    CPLXMLNode *tree = GDALPamDataset::SerializeToXML(path);
    items.DropStored(tree);
    return tree != nullptr ? tree : CPLCreateXMLNode(nullptr, CXT_Element, "PAMDataset");
}
