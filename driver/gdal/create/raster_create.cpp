/* New rasters: what Create() and CreateCopy() make. */
#include <memory>

#include "gdal/raster/copied_levels.h"
#include "copy.h"
#include "gdal/raster/dataset.h"
#include "gdal/connection.h"
#include "creation_options.h"
#include "gdal/driver.h"
#include "files.h"
#include "gdal/guard.h"
#include "gdal/raster/healpix_target.h"
#include "gdal/raster/items.h"
#include "new_arrays.h"
#include "new_store.h"

extern "C"
{
#include "raster/healpix.h"
}

/* ---- What is written ---- */

/* Default name of the array: that of the file or store, without its ending. */
static std::string defaultArrayName(const std::string &file, const struct zs_raster_spec *spec)
{
    std::string name = zsUtf8(CPLGetBasename(file.c_str()));
    if (name.size() > 5 && EQUAL(name.c_str() + name.size() - 5, ".zarr")) // of a .zarr.zip
        name.resize(name.size() - 5);
    const bool taken = spec != nullptr ? zsIsDimension(*spec, name) : name == "x" || name == "y" || name == "band";
    return zsIsArrayName(name) && !taken ? name : "data";
}

static bool nodataOf(GDALRasterBand &band, const struct zs_dtype &dtype, unsigned char *out)
{
    const ZSNodata nodata(band);
    if (nodata.isThere && nodata.ToElement(dtype.type, dtype.size, out))
        return true;
    if (nodata.isThere)
        CPLError(CE_Warning, CPLE_AppDefined, "nodata value %s cannot be a %s and is left out", nodata.Text().c_str(),
                 dtype.name);
    memset(out, 0, dtype.size); // then nodata is the fill value
    return false;
}

namespace
{
/* A new raster while it is made, with the steps that Create() and CreateCopy() share. A step that returns false has
 * emitted CPLError. What is not put in place goes with this object. */
class NewRaster
{
  public:
    explicit NewRaster(const char *name) : m_name(name)
    {
    }
    NewRaster(const NewRaster &) = delete;
    NewRaster &operator=(const NewRaster &) = delete;

    bool Parse(CSLConstList list);
    const std::string &StorePath() const
    {
        return m_connection.store;
    }

  protected:
    const char *const m_name;
    ZSCreationOptions m_options;
    ZSConnection m_connection;
    ZSSourceAxes m_axes;
    ZSNewArrays m_arrays;
    struct zs_healpix m_healpix = {};
    struct zs_raster_spec m_spec = {}; /* borrows from those above */
    std::unique_ptr<ZSNewStore> m_new = std::make_unique<ZSNewStore>();
    ZSOwned<struct zs_raster> m_raster{nullptr, zs_raster_free};

    bool IsCells() const
    {
        return m_options.healpix_order >= 0;
    }
    /* Where the store is while it is written: in its place where it is appended to. */
    const std::string &WritePath() const
    {
        return m_options.append ? m_connection.store : m_new->target->Path();
    }
    bool Refuse(CPLErrorNum number, const std::string &reason) const;
    bool CheckBands(int bands) const;
    bool StartSpec(int width, int height, GDALDataType type);
    std::string ArrayName(GDALDataset *source) const;
    bool OpenTarget();
    bool CreateArrays();
    std::unique_ptr<ShardedZarrDataset> OpenArray(size_t number) const;

  private:
    enum zs_status Claim(struct zs_error *err);
};
} // namespace

bool NewRaster::Refuse(CPLErrorNum number, const std::string &reason) const
{
    return zsRefuse(number, "%s: %s", zsShown(m_name).c_str(), reason.c_str());
}

bool NewRaster::Parse(CSLConstList list)
{
    std::string reason;
    if (!m_options.Parse(list))
        return false;
    if (!zsParseConnection(m_name, m_connection, reason))
        return Refuse(CPLE_AppDefined, zsShown(reason));
    if (m_connection.array.empty())
        return zsIsNoRepository(m_connection);
    return Refuse(CPLE_AppDefined, "a new array is named by options: the target " + zsShown(m_connection.store) +
                                       ", with APPEND_SUBDATASET=YES and ARRAY_NAME=" + zsShown(m_connection.array));
}

/* Refuses more bands than GDAL opens. */
bool NewRaster::CheckBands(int bands) const
{
    if (static_cast<uint64_t>(bands) <= ZS_MOST_BANDS)
        return true;
    return zsRefuse(CPLE_NotSupported,
                    "%s: expected at most %d bands, as many as GDAL opens, found %d; the multidimensional API makes "
                    "longer arrays", zsShown(m_name).c_str(), static_cast<int>(ZS_MOST_BANDS), bands);
}

/* Size, type and dimensions of the spec, and all that the options decide. */
bool NewRaster::StartSpec(int width, int height, GDALDataType type)
{
    enum zs_data_type zarrType;
    if (!zsZarrType(type, &zarrType))
        return zsRefuse(CPLE_NotSupported, "Zarr has no data type for %s; CFloat32 or CFloat64 would hold it",
                        GDALGetDataTypeName(type));
    m_spec.healpix = IsCells() ? &m_healpix : nullptr;
    m_spec.width = static_cast<uint64_t>(width);
    m_spec.height = static_cast<uint64_t>(height);
    m_axes.Apply(m_spec);
    m_spec.dtype = zs_dtype_of(zarrType);
    return m_options.Apply(m_spec);
}

/* Name of the array: from the options; else that of the store, or, where it is appended to a store, that of the source,
 * with a number behind it where that name is taken. */
std::string NewRaster::ArrayName(GDALDataset *source) const
{
    const std::string &store = m_connection.store;
    if (!m_options.array_name.empty() || !m_options.append)
        return !m_options.array_name.empty() ? m_options.array_name : defaultArrayName(store, &m_spec);
    const std::string name = defaultArrayName(source != nullptr ? source->GetDescription() : store, &m_spec);
    std::string free = name;
    for (int n = 2; zsExists(store + "/" + free); n++)
        free = name + "_" + std::to_string(n);
    return free;
}

/* Opens where the raster is written: an existing store that is appended to, or a target of its own. */
bool NewRaster::OpenTarget()
{
    if (!m_options.append)
        return m_new->target->Open(m_connection.store, m_options.overwrite, m_options.fsync);
    m_new->group = m_arrays.Name(0); // of its own, so that its coordinates do not collide with others
    const std::string group = m_connection.store + "/" + m_new->group;
    return zsHasRoot(m_connection.store, "there is no Zarr store to append to") &&
           (!zsExists(group) || zsIsAllOwn(group));
}

/* Opens a store that is appended to, and claims the group there, of which there must be nothing. */
enum zs_status NewRaster::Claim(struct zs_error *err)
{
    ZSStore &store = *m_new->store;
    const char *group = m_new->group.c_str();
    ZS_TRY(zs_hierarchy_recover(store.store, err));
    ZS_TRY(zs_hierarchy_open(store.store, true, &store.hierarchy, err));
    ZS_TRY(zs_raster_claim(store.hierarchy, group, err));
    m_new->isClaimed = true;
    bool taken[ZS_MAX_NDIM] = {};
    const enum zs_status status = zs_raster_dimensions_taken(store.hierarchy, group, &m_spec, taken, err);
    if (m_options.RenameDimensions(m_spec, taken))
        m_axes.Rename(m_options.dim_names);
    return status;
}

/* Sets up the store and the arrays of the raster. Their metadata stay pending until the store is published. */
bool NewRaster::CreateArrays()
{
    struct zs_error err;
    struct zs_raster *raster = nullptr;
    ZSStore &store = *m_new->store;
    const struct zs_array_options arrayOptions = zsArrayOptions(m_options.threads);
    store.name = m_connection.store;
    enum zs_status status = zs_store_open(WritePath().c_str(), &store.store, &err);
    if (status == ZS_OK && (!m_options.fsync || !m_options.append))
        zs_store_set_sync(store.store, m_options.fsync ? ZS_SYNC_LATER : ZS_SYNC_NO); // later, before publishing
    if (status == ZS_OK)
        status = m_options.append ? Claim(&err) : zs_hierarchy_create(store.store, &store.hierarchy, &err);
    if (status == ZS_OK)
    {
        zs_hierarchy_defer(store.hierarchy, true);
        zs_store_overlap(store.store); // not before the claim is there for others to see
        status = zs_raster_create(store.store, m_new->group.c_str(), &m_spec, &arrayOptions, &raster, &err);
    }
    m_raster.reset(raster);
    return status == ZS_OK || zsReport(err);
}

/* Opens an array of the raster that the hierarchy has, for writing as the options ask for. Null with CPLError
 * emitted. */
std::unique_ptr<ShardedZarrDataset> NewRaster::OpenArray(size_t number) const
{
    ZSOpenOptions options;
    struct zs_error err;
    const struct zs_node *node = nullptr;
    std::unique_ptr<ShardedZarrDataset> ds;
    if (!options.Parse(nullptr))
        return nullptr;
    options.threads = m_options.threads;
    options.fsync = m_options.fsync;
    options.update = m_options.update;
    if (zs_hierarchy_node_at(m_new->store->hierarchy, m_new->group.c_str(), m_arrays.Name(number), &node, &err) ==
        ZS_OK)
        ds = ShardedZarrDataset::OpenArray(m_new->store, node, options, GA_Update, &err);
    if (ds == nullptr)
        zsReport(err);
    else
        ds->View().SetChunkOrder(m_options.chunk_order);
    return ds;
}

/* ---- CreateCopy ---- */

namespace
{
class RasterCopy final : public NewRaster
{
  public:
    RasterCopy(const char *name, GDALDataset &source, bool isStrict)
        : NewRaster(name), m_source(source), m_isStrict(isStrict)
    {
    }
    ~RasterCopy()
    {
        zs_domains_clear(&m_spec.domains);
    }

    GDALDataset *Make(GDALProgressFunc progress, void *progressData);

  private:
    GDALDataset &m_source;
    const bool m_isStrict;
    GDALDataType m_type = GDT_Unknown;
    std::vector<int> m_factors; /* of overviews */
    std::string m_resampling;
    ZSCopiedLevels m_levels;

    CPLStringList m_metadata;
    std::string m_mask;
    double m_transform[6];
    std::unique_ptr<OGRSpatialReference> m_srs;
    std::unique_ptr<ZSGcps> m_gcps;

    bool CheckCells();
    bool DescribePixels();
    void DescribeArrays();
    void DescribeGeoreferencing();
    bool Write(GDALProgressFunc progress, void *progressData);
    bool StartLevels();
    bool CopyPixels(GDALProgressFunc progress, void *progressData);
    bool PublishArrays();
    bool AddComputed(GDALProgressFunc progress, void *progressData);
    std::unique_ptr<GDALDataset> OpenPublished(const std::string &store) const;
};
} // namespace

/* Checks that the pixels of the source are HEALPix cells where the options ask for that. */
bool RasterCopy::CheckCells()
{
    if (!IsCells())
        return true;
    if (zsHasOneMask(m_source) && !zsHasAllCells(m_source))
    {
        CPLError(m_isStrict ? CE_Failure : CE_Warning, CPLE_NotSupported, "%s: HEALPIX: the mask is not kept",
                 zsShown(m_name).c_str());
        if (m_isStrict)
            return false;
    }
    return zsCheckHealpixPlane(m_source, m_options.healpix_order, m_healpix);
}

/* Size, dimensions, data type, encoding and nodata value. */
bool RasterCopy::DescribePixels()
{
    m_type = zsTypeOfBands(m_source);
    if (m_options.single_array)
        m_axes.Find(&m_source, m_source.GetRasterCount(), m_options.dim_names);
    std::string x, y;
    if (zsPlaneNames(m_source, x, y) && zsArePlaneNames(x, y) && !m_axes.HasName(x) && !m_axes.HasName(y))
    {
        m_options.name_of_x = x;
        m_options.name_of_y = y;
    }
    if (!StartSpec(m_source.GetRasterXSize(), m_source.GetRasterYSize(), m_type))
        return false;
    m_spec.has_nodata = nodataOf(*m_source.GetRasterBand(1), m_spec.dtype, m_spec.nodata);
    m_spec.nodata_is_implied = m_spec.has_nodata && zsImpliesNodata(*m_source.GetRasterBand(1), m_spec);
    return m_options.CheckRounding(m_spec);
}

/* Of the items of netCDF's variables, the scales of those that are bands whose pixels are unscaled. */
static void dropScales(const std::vector<struct zs_band_properties> &bands, CPLStringList &metadata)
{
    std::string last;
    for (const auto &m : bands)
    {
        const char *variable = zsItemValue(m.metadata, "NETCDF_VARNAME");
        if (m.has_scale || variable == nullptr || variable == last)
            continue;
        last = variable;
        zsDropScaleItems(metadata, last + "#", false);
    }
}

/* Arrays, properties of their bands, and the mask. */
void RasterCopy::DescribeArrays()
{
    m_metadata = zsUtf8List(m_source.GetMetadata());
    auto &properties = m_arrays.Read(&m_source, m_source.GetRasterCount(), m_spec.dtype);
    dropScales(properties, m_metadata);
    m_axes.Spend(m_metadata, properties);
    m_arrays.Set(m_options.single_array, ArrayName(&m_source), m_spec);
    m_arrays.Apply(m_spec);
    m_mask = !IsCells() && zsHasOneMask(m_source) ? m_arrays.MaskName(m_spec) : "";
    m_spec.mask = m_mask.empty() ? nullptr : m_mask.c_str();
}

/* Transform, CRS, and the metadata that are left. */
void RasterCopy::DescribeGeoreferencing()
{
    if (!IsCells() && zsReadTransform(m_source, m_transform))
        m_spec.transform = m_transform;
    const char *registration = zsItemValueInAnyCase(m_metadata.List(), GDALMD_AREA_OR_POINT);
    m_spec.pixel_is_point = !IsCells() && registration != nullptr && EQUAL(registration, GDALMD_AOP_POINT);
    const bool isRegistered = m_spec.transform != nullptr && m_options.style != ZS_GEOREF_CF;
    if (isRegistered || !m_spec.pixel_is_point)
        zsSetItem(m_metadata, GDALMD_AREA_OR_POINT, nullptr); // by spatial:registration
    m_spec.metadata = m_metadata.size() > 0 ? m_metadata.List() : nullptr;
    m_spec.domains = zsDomainsOf(m_source);
    if (!IsCells())
    {
        m_gcps = std::make_unique<ZSGcps>(m_source.GetGCPCount(), m_source.GetGCPs(), m_source.GetGCPSpatialRef());
        m_spec.gcps = m_gcps->Get();
    }
    m_srs = zsStoredSrs(m_source.GetSpatialRef(), nullptr);
    m_spec.srs = !IsCells() && m_srs != nullptr ? OGRSpatialReference::ToHandle(m_srs.get()) : nullptr;
}

/* Sets up overviews that are made of the pixels while these are copied, where the raster suits that: its metadata are
 * in the hierarchy then, pending, before its pixels are written. */
bool RasterCopy::StartLevels()
{
    const bool isSuited = !m_options.statistics && zs_hierarchy_is_consolidated(m_new->store->hierarchy) &&
                          ZSCopiedLevels::Suits(m_spec, m_resampling, m_factors);
    if (!isSuited)
        return true;
    struct zs_error err;
    if (zs_raster_publish(m_raster.get(), m_new->store->hierarchy, &err) != ZS_OK)
        return zsReport(err);
    auto base = OpenArray(0);
    return base != nullptr &&
           m_levels.Start(std::move(base), m_resampling, m_factors, m_options.threads) == CE_None;
}

/* Writes the pixels and the mask. */
bool RasterCopy::CopyPixels(GDALProgressFunc progress, void *progressData)
{
    return zsCopyPixels(m_source, m_type, *m_raster, m_spec, m_options.threads, WritePath(),
                        m_levels.IsStarted() ? &m_levels : nullptr, progress, progressData) &&
           (m_spec.mask == nullptr || zsCopyMask(m_source, *m_raster, m_spec));
}

/* Publishes the arrays: their metadata wait for what is computed from their pixels. */
bool RasterCopy::PublishArrays()
{
    struct zs_error err;
    const enum zs_status status = m_levels.IsStarted()
                                      ? zs_raster_flush(m_raster.get(), &err)
                                      : zs_raster_publish(m_raster.get(), m_new->store->hierarchy, &err);
    return status == ZS_OK || zsReport(err);
}

/* Adds to each array of the raster what is computed from its pixels: statistics and overviews, but for those that were
 * made in copying. */
bool RasterCopy::AddComputed(GDALProgressFunc progress, void *progressData)
{
    if (!m_options.statistics && m_factors.empty())
        return true;
    const CPLConfigOptionSetter threads("GDAL_NUM_THREADS", std::to_string(m_options.threads).c_str(), false);
    const double parts = (m_options.statistics ? 1 : 0) + (m_factors.empty() ? 0 : 1);
    const double n = parts * static_cast<double>(m_spec.array_count);
    for (size_t k = 0; k < m_spec.array_count; k++)
    {
        auto ds = m_levels.IsStarted() ? m_levels.Finish() : OpenArray(k);
        if (ds == nullptr)
            return false;
        if (k > 0)
            ds->masks.KeepLevels(); // made with the first
        const double first = parts * static_cast<double>(k), end = first + parts;
        const ZSScaledProgress ofStatistics(first / n, (first + 1) / n, progress, progressData);
        const ZSScaledProgress ofOverviews((end - 1) / n, end / n, progress, progressData);
        const auto factors = static_cast<int>(m_factors.size());
        if ((m_options.statistics && ds->AddStatistics(GDALScaledProgress, ofStatistics.Part()) != CE_None) ||
            (factors > 0 && ds->BuildOverviews(m_resampling.c_str(), factors, m_factors.data(), 0, nullptr,
                                               GDALScaledProgress, ofOverviews.Part(), nullptr) != CE_None) ||
            ds->FlushAll(false) != CE_None)
        {
            const ZSQuiet isTold; // at its close it fails again
            ds.reset();
            return false;
        }
    }
    return true;
}

/* Writes all of the raster, its metadata last. */
bool RasterCopy::Write(GDALProgressFunc progress, void *progressData)
{
    // Overviews read and write again: about as much as a third of the pixels. Statistics read.
    const double pixelsShare = 1 / (1 + (m_factors.empty() ? 0 : 1 / 3.) + (m_options.statistics ? 0.25 : 0));
    const ZSScaledProgress ofPixels(0, pixelsShare, progress, progressData);
    const ZSScaledProgress ofRest(pixelsShare, 1, progress, progressData);
    bool ok = StartLevels() && CopyPixels(GDALScaledProgress, ofPixels.Part()) && PublishArrays();
    m_raster.reset();
    ok = ok && AddComputed(GDALScaledProgress, ofRest.Part());
    {
        const ZSQuiet isTold;
        m_levels.Finish(); // closes what a failed copy leaves
    }
    return ok && m_new->Publish();
}

/* Opens the store that was copied to, or its one array, for writing as its options ask for. */
std::unique_ptr<GDALDataset> RasterCopy::OpenPublished(const std::string &store) const
{
    ZSConnection connection;
    connection.store = store;
    std::string path = m_new->group;
    if (m_options.single_array)
        path += (path.empty() ? "" : "/") + std::string(m_arrays.Name(0));
    const std::string full = path.empty() ? "SHARDEDZARR:\"" + store + "\"" : connection.SubdatasetName(path);
    GDALOpenInfo info(full.c_str(), GA_Update);
    CPLStringList openOptions;
    openOptions.SetNameValue("NUM_THREADS", std::to_string(m_options.threads).c_str());
    openOptions.SetNameValue("FSYNC", m_options.fsync ? "YES" : "NO");
    openOptions.SetNameValue("UPDATE", zsUpdateName(m_options.update));
    info.papszOpenOptions = openOptions.List();
    std::unique_ptr<GDALDataset> ds(zsOpen(&info));
    info.papszOpenOptions = nullptr;
    if (ds != nullptr)
        ds->SetDescription(m_name);
    auto raster = dynamic_cast<ShardedZarrDataset *>(ds.get()); // else a list of several
    if (raster != nullptr)
        raster->View().SetChunkOrder(m_options.chunk_order);
    return ds;
}

GDALDataset *RasterCopy::Make(GDALProgressFunc progress, void *progressData)
{
    const int bands = m_source.GetRasterCount();
    if (bands == 0)
        Refuse(CPLE_NotSupported,
               m_source.GetMetadata("SUBDATASETS") == nullptr
                   ? "a source without bands cannot be copied"
                   : "a source without bands cannot be copied; gdalinfo lists its subdatasets, each of which can, and "
                     "gdalmdimtranslate copies arrays");
    if (bands == 0 || !CheckBands(bands) || !CheckCells() || !DescribePixels())
        return nullptr;
    DescribeArrays();
    DescribeGeoreferencing();
    zsChooseFilter(m_source, m_type, m_options, m_spec);
    m_factors = m_options.OverviewFactors(m_spec);
    m_resampling = zsOverviewResampling(m_options.resampling, m_source);
    const ZSNodata nodata(*m_source.GetRasterBand(1));
    if (!m_factors.empty() && !zsMayResample(m_name, m_type, m_spec.has_nodata ? nodata : ZSNodata(), m_resampling))
        return nullptr;
    if (!OpenTarget())
        return nullptr;
    // The user's name of it, unless that is the working directory, which the store replaces.
    const std::string root = m_connection.store == "." ? m_new->target->Root() : m_connection.store;
    if (!CreateArrays() || !Write(progress, progressData))
        return nullptr;
    return OpenPublished(root.empty() ? m_connection.store : root).release();
}

static GDALDataset *createCopy(const char *name, GDALDataset &source, bool isStrict, CSLConstList options,
                               GDALProgressFunc progress, void *progressData);

/* Makes a store as files and then packs it into an archive, beside the archive that it replaces. */
static GDALDataset *createArchive(const char *name, const std::string &archive, GDALDataset &source, bool isStrict,
                                  CSLConstList options, GDALProgressFunc progress, void *progressData)
{
    if (CPLFetchBool(options, "APPEND_SUBDATASET", false))
    {
        CPLError(CE_Failure, CPLE_NotSupported, "%s: nothing is added to an archive; add to a store and pack that",
                 zsShown(name).c_str());
        return nullptr;
    }
    if (!zsMayReplaceArchive(archive))
        return nullptr;
    CPLStringList list(CSLDuplicate(options));
    if (list.FetchNameValue("ARRAY_NAME") == nullptr)
        list.SetNameValue("ARRAY_NAME", defaultArrayName(archive, nullptr).c_str());
    const std::string temp = std::string(CPLGenerateTempFilename("shardedzarr")) + ".zarr";
    std::unique_ptr<GDALDataset> made(createCopy(temp.c_str(), source, isStrict, list.List(), progress, progressData));
    bool ok = made != nullptr;
    made.reset();
    ok = ok && zsPack(temp, archive);
    zsRemoveSilently(temp);
    if (!ok)
        return nullptr;
    GDALOpenInfo info(("SHARDEDZARR:\"" + archive + "\"").c_str(), GA_ReadOnly);
    GDALDataset *ds = zsOpen(&info);
    if (ds != nullptr)
        ds->SetDescription(name);
    return ds;
}

static GDALDataset *createCopy(const char *name, GDALDataset &source, bool isStrict, CSLConstList options,
                               GDALProgressFunc progress, void *progressData)
{
    progress = progress != nullptr ? progress : GDALDummyProgress;
    const ZSOneWarning ofTexts;
    RasterCopy copy(name, source, isStrict);
    if (!copy.Parse(options))
        return nullptr;
    return zsIsArchive(copy.StorePath())
               ? createArchive(name, copy.StorePath(), source, isStrict, options, progress, progressData)
               : copy.Make(progress, progressData);
}

GDALDataset *zsRasterCopy(const char *name, GDALDataset *source, bool strict, CSLConstList options,
                          GDALProgressFunc progress, void *progressData)
{
    ZSConnection connection;
    std::string reason;
    const bool hasSideCar = zsParseConnection(name, connection, reason) && !zsIsRemote(connection.store) &&
                            !zsIsArchive(connection.store) && CPLFetchBool(options, "SINGLE_ARRAY", true) &&
                            CPLTestBool(CPLGetConfigOption("GDAL_PAM_ENABLED", "YES"));
    if (!zsCheckLosses(name, *source, hasSideCar, strict))
        return nullptr;
    GDALDataset *made = createCopy(name, *source, strict, options, progress, progressData);
    if (made != nullptr && hasSideCar)
        zsCopyTables(*source, *made);
    return made;
}

/* ---- Create ---- */

namespace
{
class BlankRaster final : public NewRaster
{
  public:
    using NewRaster::NewRaster;

    bool Check(int width, int height, int bands, CSLConstList list) const;
    bool Describe(int width, int height, int bands, GDALDataType type);
    GDALDataset *Make();

  private:
    bool CheckCells(int width, int height);
    bool Start();
};
} // namespace

bool BlankRaster::Check(int width, int height, int bands, CSLConstList list) const
{
    if (bands == 0 || width == 0 || height == 0)
        return Refuse(CPLE_NotSupported, "expected at least one band, column and row");
    if (!CheckBands(bands))
        return false;
    // GDAL before 3.7 has no type for them, and rasterio hears no warning of an option that is not known.
    const char *pixelType = CSLFetchNameValue(list, "PIXELTYPE");
    if (pixelType != nullptr && EQUAL(pixelType, "SIGNEDBYTE"))
        return Refuse(CPLE_NotSupported, "PIXELTYPE=SIGNEDBYTE: signed bytes are for GDAL 3.7 and later; use Int16");
    if (!m_options.single_array && bands > 1)
        return Refuse(CPLE_NotSupported, "SINGLE_ARRAY=NO: what Create() makes of " + std::to_string(bands) +
                                             " bands is one array; a copy has one for each");
    if (zsIsArchive(m_connection.store))
        return Refuse(CPLE_NotSupported,
                      "what is in an archive is written once; copy a finished raster into it");
    return true;
}

/* Checks that the raster has the size of the whole sphere's cells; gdalwarp chooses another one without -te and -ts. */
bool BlankRaster::CheckCells(int width, int height)
{
    bool isPlane;
    const int order = m_options.healpix_order;
    if (!IsCells())
        return true;
    m_healpix = zsHealpixTarget(order, nullptr, &isPlane);
    const int side = ZS_HEALPIX_SIDE << order;
    if (width == side && height == side)
        return true;
    return zsRefuse(CPLE_AppDefined,
                    "%s: HEALPIX=%d: expected the %d x %d pixels of the whole plane, found %d x %d. %s", m_name,
                    order, side, side, width, height, zsHealpixAdvice(order).c_str());
}

bool BlankRaster::Describe(int width, int height, int bands, GDALDataType type)
{
    if (!CheckCells(width, height))
        return false;
    if (m_options.single_array)
        m_axes.Find(nullptr, bands, m_options.dim_names);
    if (!StartSpec(width, height, type) || !m_options.CheckRounding(m_spec) ||
        (!m_options.OverviewFactors(m_spec).empty() &&
         !zsMayResample(m_name, type, ZSNodata(), m_options.resampling)))
        return false;
    m_arrays.Read(nullptr, bands, m_spec.dtype);
    m_arrays.Set(true, ArrayName(nullptr), m_spec);
    m_arrays.Apply(m_spec);
    return true;
}

/* Sets up the arrays; then commits to an object store wait again, one by one: what is written is read back, too. */
bool BlankRaster::Start()
{
    struct zs_error err;
    if (!OpenTarget() || !CreateArrays())
        return false;
    enum zs_status status = zs_raster_publish(m_raster.get(), m_new->store->hierarchy, &err);
    m_raster.reset();
    if (status == ZS_OK)
        status = zs_store_overlap_end(m_new->store->store, &err);
    return status == ZS_OK || zsReport(err);
}

/* The dataset of a new store, which appears when that is flushed or closed, and what is done then. */
GDALDataset *BlankRaster::Make()
{
    auto ds = Start() ? OpenArray(0) : nullptr;
    if (ds == nullptr)
        return nullptr;
    m_new->store->NoteOpen();
    ds->AttachPam(m_name);
    ds->pixels.SetBlank();
    ds->pixels.FirstFilter().Start(m_options, m_spec);
    ds->closing.SetOverviews(m_options.OverviewFactors(m_spec), m_options.resampling);
    if (m_options.statistics)
        ds->closing.SetStatistics();
    ds->closing.SetNew(std::move(m_new));
    return ds.release();
}

GDALDataset *zsRasterCreate(const char *name, int width, int height, int bands, GDALDataType type,
                            CSLConstList options)
{
    BlankRaster raster(name);
    return raster.Parse(options) && raster.Check(width, height, bands, options) &&
                   raster.Describe(width, height, bands, type)
               ? raster.Make()
               : nullptr;
}
