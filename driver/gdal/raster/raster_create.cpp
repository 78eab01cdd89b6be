/* New rasters: what Create() and CreateCopy() make. */
#include <memory>

#include "copy.h"
#include "dataset.h"
#include "gdal/connection.h"
#include "gdal/creation_options.h"
#include "gdal/driver.h"
#include "gdal/guard.h"
#include "gdal/target.h"
#include "healpix_target.h"
#include "items.h"
#include "new_arrays.h"

extern "C"
{
#include "raster/healpix.h"
}

/* ---- What is written ---- */

/* Default name of the array: that of the file or store, without its ending. */
static std::string defaultArrayName(const std::string &file, const struct zs_raster_spec *spec)
{
    std::string name = CPLGetBasename(file.c_str());
    if (name.size() > 5 && EQUAL(name.c_str() + name.size() - 5, ".zarr")) // of a .zarr.zip
        name.resize(name.size() - 5);
    const bool taken = spec != nullptr ? zsIsDimension(*spec, name) : name == "x" || name == "y" || name == "band";
    return zsIsArrayName(name) && !taken ? name : "data";
}

/* Name of the array: from the options; else that of the store, or, where it is appended to a store, that of the source,
 * with a number behind it where that name is taken. */
static std::string arrayName(const ZSCreationOptions &options, const std::string &store, GDALDataset *source,
                             const struct zs_raster_spec &spec)
{
    if (!options.array_name.empty() || !options.append)
        return !options.array_name.empty() ? options.array_name : defaultArrayName(store, &spec);
    const std::string name = defaultArrayName(source != nullptr ? source->GetDescription() : store, &spec);
    std::string free = name;
    for (int n = 2; zsExists(store + "/" + free); n++)
        free = name + "_" + std::to_string(n);
    return free;
}

static bool nodataOf(GDALRasterBand &band, const struct zs_dtype &dtype, unsigned char *out)
{
    int has = FALSE;
    bool isHeld;
    std::string text;
    if (band.GetRasterDataType() == GDT_Int64)
    {
        const int64_t v = band.GetNoDataValueAsInt64(&has);
        isHeld = zsElementOfInt64(v, dtype.type, dtype.size, out);
        text = std::to_string(v);
    }
    else if (band.GetRasterDataType() == GDT_UInt64)
    {
        const uint64_t v = band.GetNoDataValueAsUInt64(&has);
        isHeld = zsElementOfUInt64(v, dtype.type, dtype.size, out);
        text = std::to_string(v);
    }
    else
    {
        const double v = band.GetNoDataValue(&has);
        isHeld = zsElementOfDouble(v, dtype.type, dtype.size, out);
        text = CPLSPrintf("%.17g", v);
    }
    if (has && !isHeld)
        CPLError(CE_Warning, CPLE_AppDefined, "nodata value %s cannot be a %s and is left out", text.c_str(),
                 dtype.name);
    if (!has || !isHeld)
        memset(out, 0, dtype.size); // then nodata is the fill value
    return has && isHeld;
}

/* Size, type and dimensions of the spec, and all that the options decide. */
static bool startSpec(struct zs_raster_spec &spec, ZSCreationOptions &options, int width, int height,
                      const ZSSourceAxes &axes, GDALDataType type)
{
    enum zs_data_type zarrType;
    if (!zsZarrType(type, &zarrType))
    {
        CPLError(CE_Failure, CPLE_NotSupported, "Zarr has no data type for %s; CFloat32 or CFloat64 would hold it",
                 GDALGetDataTypeName(type));
        return false;
    }
    spec.width = static_cast<uint64_t>(width);
    spec.height = static_cast<uint64_t>(height);
    axes.Apply(spec);
    spec.dtype = zs_dtype_of(zarrType);
    return options.Apply(spec);
}

/* Group of a raster in its store. A raster that is appended has a group of its own, so that its coordinates do not
 * collide with others. */
static std::string groupOf(const ZSCreationOptions &options, const char *array)
{
    return options.append ? array : "";
}

/* Opens where a creation writes: an existing store that is appended to, or a target of its own. */
static bool openTarget(const ZSConnection &connection, const ZSCreationOptions &options, const char *array,
                       GDALDataset *source, ZSTarget &target)
{
    if (!options.append)
        return target.Open(connection.store, source, options.overwrite, options.fsync);
    const std::string group = connection.store + "/" + groupOf(options, array);
    return zsHasRoot(connection.store, "there is no Zarr store to append to") &&
           (!zsExists(group) || zsIsAllOwn(group));
}

/* Sets up the store at `path` and its arrays. In a store that is appended to, there must be nothing of that name. */
static ZSOwned<struct zs_raster> createRaster(const ZSConnection &connection, const std::string &path,
                                              ZSCreationOptions &options, struct zs_raster_spec &spec,
                                              ZSSourceAxes &axes, ZSStore &store)
{
    struct zs_error err;
    struct zs_raster *raster = nullptr;
    bool isClaimed = false;
    const std::string group = groupOf(options, spec.arrays[0].name);
    const struct zs_array_options arrayOptions = zsArrayOptions(options.threads);
    store.name = path;
    enum zs_status status = zs_store_open(path.c_str(), &store.store, &err);
    if (status == ZS_OK && (!options.fsync || path != connection.store))
        zs_store_set_sync(store.store, options.fsync ? ZS_SYNC_LATER : ZS_SYNC_NO); // later, before publishing
    if (status == ZS_OK && !options.append)
        status = zs_hierarchy_create(store.store, &store.hierarchy, &err);
    else if (status == ZS_OK)
    {
        status = zs_hierarchy_recover(store.store, &err);
        if (status == ZS_OK)
            status = zs_hierarchy_open(store.store, true, &store.hierarchy, &err);
        if (status == ZS_OK)
            status = zs_raster_claim(store.hierarchy, group.c_str(), &err);
        isClaimed = status == ZS_OK;
        bool taken[ZS_MAX_NDIM] = {};
        if (status == ZS_OK)
            status = zs_raster_dimensions_taken(store.hierarchy, group.c_str(), &spec, taken, &err);
        if (options.RenameDimensions(spec, taken))
            axes.Rename(options.dim_names);
    }
    if (status == ZS_OK)
    {
        zs_store_overlap(store.store); // not before the claim is there for others to see
        status = zs_raster_create(store.store, group.c_str(), &spec, &arrayOptions, &raster, &err);
    }
    if (status == ZS_OK)
        return {raster, zs_raster_free};
    zsReport(err);
    if (isClaimed && zs_raster_finish(store.store, group.c_str(), &err) != ZS_OK)
        CPLDebug("ShardedZarr", "%s", err.message);
    return {nullptr, zs_raster_free};
}

static void waitForUploads(const ZSStore &store)
{
    struct zs_error err;
    if (zs_store_wait_commits(store.store, &err) != ZS_OK)
        CPLDebug("ShardedZarr", "%s", err.message);
}

/* Removes the group that a failed creation was about to append, which the metadata above may mention already: only then
 * they are written, which a full disk may refuse. */
static void removeAppended(const std::string &path, const std::string &group)
{
    ZSStore store;
    struct zs_error err;
    const struct zs_node *node = nullptr;
    enum zs_status status = zs_store_open(path.c_str(), &store.store, &err);
    if (status == ZS_OK)
        status = zs_hierarchy_open(store.store, true, &store.hierarchy, &err);
    if (status == ZS_OK && (!zs_hierarchy_is_consolidated(store.hierarchy) ||
                            zs_hierarchy_node(store.hierarchy, group.c_str(), &node, &err) != ZS_NOT_FOUND))
    {
        status = zs_hierarchy_remove(store.hierarchy, group.c_str(), &err);
        if (status == ZS_OK)
            status = zs_hierarchy_flush(store.hierarchy, &err);
    }
    if (status == ZS_OK)
        zsRemoveSilently(path + "/" + group);
    else // arrays that the metadata list must not lose their chunks
        CPLDebug("ShardedZarr", "/%s is not removed from the metadata: %s", group.c_str(), err.message);
}

/* Whether no other program took over the group that is appended, while this one slept. Else CPLError is emitted, unless
 * something else failed (`ok`). */
static bool isClaimed(const ZSStore &store, const std::string &group, bool ok)
{
    struct zs_error err;
    if (zs_raster_check_claim(store.store, group.c_str(), &err) == ZS_OK)
        return true;
    if (ok)
        zsReport(err);
    return false;
}

/* Path of the store by now: as the user named it, unless that is the working directory, which the store replaced. */
static std::string pathOf(const ZSConnection &connection, const ZSTarget &target)
{
    return connection.store == "." && !target.Root().empty() ? target.Root() : connection.store;
}

/* Opens a store that was just created, or one array of it, for writing as its options ask for. */
static std::unique_ptr<GDALDataset> openCreated(const std::string &store, const std::string &group, const char *array,
                                                const char *name, const ZSCreationOptions &options)
{
    ZSConnection connection;
    connection.store = store;
    const std::string path = group + (group.empty() || array == nullptr ? "" : "/") + (array != nullptr ? array : "");
    const std::string full = path.empty() ? "SHARDEDZARR:\"" + store + "\"" : connection.SubdatasetName(path);
    GDALOpenInfo info(full.c_str(), GA_Update);
    CPLStringList openOptions;
    openOptions.SetNameValue("NUM_THREADS", std::to_string(options.threads).c_str());
    openOptions.SetNameValue("FSYNC", options.fsync ? "YES" : "NO");
    openOptions.SetNameValue("UPDATE", zsUpdateName(options.update));
    info.papszOpenOptions = openOptions.List();
    std::unique_ptr<GDALDataset> ds(zsOpen(&info));
    info.papszOpenOptions = nullptr;
    if (ds != nullptr)
        ds->SetDescription(name);
    auto raster = dynamic_cast<ShardedZarrDataset *>(ds.get()); // else a list of several
    if (raster != nullptr)
        raster->View().SetChunkOrder(options.chunk_order);
    return ds;
}

static bool parse(const char *name, CSLConstList list, ZSCreationOptions &options, ZSConnection &connection)
{
    std::string reason;
    if (!options.Parse(list))
        return false;
    const bool isParsed = zsParseConnection(name, connection, reason);
    if (isParsed && connection.array.empty())
        return zsIsNoRepository(connection);
    if (isParsed)
        CPLError(CE_Failure, CPLE_AppDefined,
                 "%s: a new array is named by options: the target %s, with APPEND_SUBDATASET=YES and ARRAY_NAME=%s",
                 zsShown(name).c_str(), zsShown(connection.store).c_str(),
                 zsShown(connection.array).c_str());
    else
        CPLError(CE_Failure, CPLE_AppDefined, "%s: %s", zsShown(name).c_str(), zsShown(reason).c_str());
    return false;
}

/* Refuses more bands than GDAL opens. */
static bool mayHaveBands(const char *name, int bands)
{
    if (static_cast<uint64_t>(bands) <= ZS_MOST_BANDS)
        return true;
    CPLError(CE_Failure, CPLE_NotSupported,
             "%s: expected at most %d bands, as many as GDAL opens, found %d; the multidimensional API makes longer "
             "arrays", name, static_cast<int>(ZS_MOST_BANDS), bands);
    return false;
}

/* ---- CreateCopy ---- */

/* Adds to each array of the raster, of which the hierarchy knows, what is computed from its pixels: statistics and
 * overviews. */
static bool addComputed(const std::shared_ptr<ZSStore> &store, const std::string &group, const ZSNewArrays &arrays,
                        const struct zs_raster_spec &spec, const ZSCreationOptions &asked,
                        const std::string &resampling, std::vector<int> factors, GDALProgressFunc progress,
                        void *progressData)
{
    const CPLConfigOptionSetter threads("GDAL_NUM_THREADS", std::to_string(asked.threads).c_str(), false);
    const double parts = (asked.statistics ? 1 : 0) + (factors.empty() ? 0 : 1);
    const double n = parts * static_cast<double>(spec.array_count);
    ZSOpenOptions options;
    if (!options.Parse(nullptr))
        return false;
    for (size_t k = 0; k < spec.array_count; k++)
    {
        struct zs_error err;
        const struct zs_node *node = nullptr;
        std::unique_ptr<ShardedZarrDataset> ds;
        if (zs_hierarchy_node_at(store->hierarchy, group.c_str(), arrays.Name(k), &node, &err) == ZS_OK)
            ds = ShardedZarrDataset::OpenArray(store, node, options, GA_Update, &err);
        if (ds == nullptr)
        {
            zsReport(err);
            return false;
        }
        ds->View().SetChunkOrder(asked.chunk_order);
        if (k > 0)
            ds->masks.KeepLevels(); // made with the first
        const double first = parts * static_cast<double>(k), end = first + parts;
        const ZSScaledProgress ofStatistics(first / n, (first + 1) / n, progress, progressData);
        const ZSScaledProgress ofOverviews((end - 1) / n, end / n, progress, progressData);
        if (asked.statistics && ds->statistics.Add(GDALScaledProgress, ofStatistics.Part()) != CE_None)
            return false;
        if (!factors.empty() && ds->BuildOverviews(resampling.c_str(), static_cast<int>(factors.size()), factors.data(),
                                                   0, nullptr, GDALScaledProgress, ofOverviews.Part(),
                                                   nullptr) != CE_None)
            return false;
        if (ds->FlushAll(false) != CE_None)
            return false;
    }
    return true;
}

static GDALDataset *createCopy(const char *name, GDALDataset *source, bool strict, CSLConstList optionList,
                               GDALProgressFunc progress, void *progressData);

/* Makes a store as files and then packs it into an archive, beside the archive that it replaces. */
static GDALDataset *createArchive(const char *name, const ZSConnection &connection, GDALDataset *source, bool strict,
                                  CSLConstList optionList, GDALProgressFunc progress, void *progressData)
{
    if (CPLFetchBool(optionList, "APPEND_SUBDATASET", false))
    {
        CPLError(CE_Failure, CPLE_NotSupported, "%s: nothing is added to an archive; add to a store and pack that",
                 zsShown(name).c_str());
        return nullptr;
    }
    if (!zsMayReplaceArchive(connection.store, *source))
        return nullptr;
    CPLStringList list(CSLDuplicate(optionList));
    if (list.FetchNameValue("ARRAY_NAME") == nullptr)
        list.SetNameValue("ARRAY_NAME", defaultArrayName(connection.store, nullptr).c_str());
    const std::string temp = std::string(CPLGenerateTempFilename("shardedzarr")) + ".zarr";
    std::unique_ptr<GDALDataset> made(createCopy(temp.c_str(), source, strict, list.List(), progress, progressData));
    bool ok = made != nullptr;
    made.reset();
    ok = ok && zsPack(temp, connection.store);
    zsRemoveSilently(temp);
    if (!ok)
        return nullptr;
    GDALOpenInfo info(("SHARDEDZARR:\"" + connection.store + "\"").c_str(), GA_ReadOnly);
    GDALDataset *ds = zsOpen(&info);
    if (ds != nullptr)
        ds->SetDescription(name);
    return ds;
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

/* HEALPix cells have no mask: warns, or refuses a strict copy, where the source has one. */
static bool checkCellMask(const char *name, GDALDataset &source, bool isStrict)
{
    if (!zsHasOneMask(source) || zsHasAllCells(source))
        return true;
    CPLError(isStrict ? CE_Failure : CE_Warning, CPLE_NotSupported, "%s: HEALPIX: the mask is not kept",
             zsShown(name).c_str());
    return !isStrict;
}

static bool isNearest(const std::string &resampling)
{
    return resampling.empty() || STARTS_WITH_CI(resampling.c_str(), "NEAR");
}

static GDALDataset *createCopy(const char *name, GDALDataset *source, bool strict, CSLConstList optionList,
                               GDALProgressFunc progress, void *progressData)
{
    ZSCreationOptions options;
    ZSConnection connection;
    if (progress == nullptr)
        progress = GDALDummyProgress;
    if (!parse(name, optionList, options, connection))
        return nullptr;
    if (zsIsArchive(connection.store))
        return createArchive(name, connection, source, strict, optionList, progress, progressData);
    const int bands = source->GetRasterCount();
    if (bands == 0)
    {
        CPLError(CE_Failure, CPLE_NotSupported, "%s: a source without bands cannot be copied", zsShown(name).c_str());
        return nullptr;
    }
    if (!mayHaveBands(name, bands))
        return nullptr;
    struct zs_healpix healpix = {};
    const bool isCells = options.healpix_order >= 0;
    std::unique_ptr<ZSWarpedCells> warped;
    GDALDataset &unwarped = *source;
    GDALRasterBand &first = *source->GetRasterBand(1); // the nodata of one that is warped may be a double
    if (isCells && !checkCellMask(name, *source, strict))
        return nullptr;
    if (isCells)
        source = zsToHealpix(*source, options.healpix_order, options.warp_resampling, strict, healpix, warped);
    if (source == nullptr)
        return nullptr;
    GDALDataType type = zsTypeOfBands(*source);

    ZSPacking packing;
    if (!packing.Start(options, source, type))
        return nullptr;
    struct zs_raster_spec spec = {};
    spec.healpix = isCells ? &healpix : nullptr;
    ZSSourceAxes axes;
    if (options.single_array)
        axes.Find(source, bands, options.dim_names);
    if (!startSpec(spec, options, source->GetRasterXSize(), source->GetRasterYSize(), axes, type))
        return nullptr;
    if (!packing.IsUsed())
        spec.has_nodata = nodataOf(first, spec.dtype, spec.nodata) ||
                          (warped != nullptr && nodataOf(*source->GetRasterBand(1), spec.dtype, spec.nodata));
    if (!options.CheckRounding(spec))
        return nullptr;
    CPLStringList metadata(CSLDuplicate(source->GetMetadata()));
    ZSNewArrays arrays;
    auto &properties = arrays.Read(source, bands, spec.dtype);
    packing.Finish(spec, properties);
    dropScales(properties, metadata);
    axes.Spend(metadata, properties);
    arrays.Set(options.single_array, arrayName(options, connection.store, source, spec), spec);
    arrays.Apply(spec);
    const std::string mask = !isCells && zsHasOneMask(*source) ? arrays.MaskName(spec) : "";
    spec.mask = mask.empty() ? nullptr : mask.c_str();

    double transform[6];
    if (!isCells && zsReadTransform(*source, transform))
        spec.transform = transform;
    const char *registration = zsItemValueInAnyCase(metadata.List(), GDALMD_AREA_OR_POINT);
    spec.pixel_is_point = !isCells && registration != nullptr && EQUAL(registration, GDALMD_AOP_POINT);
    const bool isRegistered = spec.transform != nullptr && options.style != ZS_GEOREF_CF;
    if (isRegistered || !spec.pixel_is_point)
        zsSetItem(metadata, GDALMD_AREA_OR_POINT, nullptr); // by spatial:registration
    spec.metadata = metadata.size() > 0 ? metadata.List() : nullptr;
    spec.domains = zsDomainsOf(*source);
    const std::unique_ptr<struct zs_domains, decltype(&zs_domains_clear)> domainsCleared(&spec.domains,
                                                                                         zs_domains_clear);
    std::unique_ptr<OGRSpatialReference> srs(source->GetSpatialRef() != nullptr ? source->GetSpatialRef()->Clone()
                                                                                : nullptr);
    spec.srs = !isCells && srs != nullptr ? OGRSpatialReference::ToHandle(srs.get()) : nullptr;

    // Cells are pixels of the source where the nearest counts; means of them would want another filter.
    if (!isCells || warped == nullptr || isNearest(options.warp_resampling))
        zsChooseFilter(unwarped, type, packing, options, spec);
    const std::string group = groupOf(options, arrays.Name(0));
    const auto factors = options.OverviewFactors(spec);
    // Overviews read and write again: about as much as a third of the pixels. Statistics read.
    const double pixelsShare = 1 / (1 + (factors.empty() ? 0 : 1 / 3.) + (options.statistics ? 0.25 : 0));
    const auto store = std::make_shared<ZSStore>();
    ZSTarget target;
    if (!openTarget(connection, options, arrays.Name(0), source, target))
        return nullptr;
    auto raster =
        createRaster(connection, options.append ? connection.store : target.Path(), options, spec, axes, *store);
    if (raster == nullptr || (!options.append && !target.Hold(store->store)))
        return nullptr;
    const ZSScaledProgress ofPixels(0, pixelsShare, progress, progressData);
    const ZSScaledProgress ofRest(pixelsShare, 1, progress, progressData);
    const auto copyPixels = [&]
    {
        return zsCopyPixels(*source, warped.get(), *raster, spec, type, packing, options.threads,
                            options.append ? connection.store : target.Path(), GDALScaledProgress, ofPixels.Part()) &&
               (spec.mask == nullptr || zsCopyMask(*source, *raster, spec));
    };
    bool ok = warped != nullptr ? zsRunWarp(zsShown(name) + ": the source cannot be warped", copyPixels) : copyPixels();
    struct zs_error err;
    zs_hierarchy_defer(store->hierarchy, true); // until the overviews are there: a store that opens is complete
    if (ok && zs_raster_publish(raster.get(), store->hierarchy, &err) != ZS_OK)
    {
        zsReport(err);
        ok = false;
    }
    raster.reset();
    if (ok && (options.statistics || !factors.empty()))
    {
        ok = addComputed(store, group, arrays, spec, options, zsOverviewResampling(options.resampling, *source),
                         factors, GDALScaledProgress, ofRest.Part());
    }
    zs_hierarchy_defer(store->hierarchy, false);
    const bool isOurs =
        options.append ? isClaimed(*store, group, ok) : !ok || target.IsOurs(); // a target looks before it removes
    ok = ok && isOurs;
    if (ok && zs_hierarchy_flush(store->hierarchy, &err) != ZS_OK)
    {
        zsReport(err);
        ok = false;
    }
    if (ok && zs_raster_finish(store->store, group.c_str(), &err) != ZS_OK)
        CPLError(CE_Warning, CPLE_FileIO, "%s; the raster is whole, and this mark can be deleted by hand", err.message);
    if (ok && zs_store_sync(store->store, &err) != ZS_OK)
    {
        zsReport(err);
        ok = false;
    }
    if (!ok)
        waitForUploads(*store); // an upload that is under way would end after the removal
    if (!ok && options.append && isOurs)
        removeAppended(connection.store, group);
    if (!ok || (!options.append && !target.Commit()))
        return nullptr;
    return openCreated(pathOf(connection, target), group, options.single_array ? arrays.Name(0) : nullptr, name,
                       options)
        .release();
}

GDALDataset *zsRasterCopy(const char *name, GDALDataset *source, bool strict, CSLConstList options,
                          GDALProgressFunc progress, void *progressData)
{
    return zsCheckLosses(name, *source, strict) ? createCopy(name, source, strict, options, progress, progressData)
                                                : nullptr;
}

/* ---- Create ---- */

/* Checks that the raster has the size of the whole sphere's cells; gdalwarp chooses another unless it is told. */
static bool checkCells(const char *name, const ZSCreationOptions &options, int width, int height,
                       struct zs_healpix &healpix)
{
    bool isPlane;
    if (options.healpix_order < 0)
        return true;
    healpix = zsHealpixTarget(options.healpix_order, nullptr, &isPlane);
    const int side = ZS_HEALPIX_SIDE << options.healpix_order;
    if (width == side && height == side)
        return true;
    CPLError(CE_Failure, CPLE_AppDefined,
             "%s: HEALPIX=%d: expected the %d x %d pixels of the whole plane, found %d x %d. gdal_translate finds them "
             "by itself; gdalwarp -t_srs '+proj=healpix +rot_xy=45 +ellps=WGS84' takes %s",
             name, options.healpix_order, side, side, width, height, zsHealpixArguments(healpix).c_str());
    return false;
}

GDALDataset *zsRasterCreate(const char *name, int width, int height, int bands, GDALDataType type,
                            CSLConstList optionList)
{
    ZSCreationOptions options;
    ZSConnection connection;
    if (!parse(name, optionList, options, connection))
        return nullptr;
    if (bands == 0 || width == 0 || height == 0)
    {
        CPLError(CE_Failure, CPLE_NotSupported, "%s: expected at least one band, column and row",
                 zsShown(name).c_str());
        return nullptr;
    }
    if (!mayHaveBands(name, bands))
        return nullptr;
    // GDAL before 3.7 has no type for them, and rasterio hears no warning of an option that is not known.
    const char *pixelType = CSLFetchNameValue(optionList, "PIXELTYPE");
    if (pixelType != nullptr && EQUAL(pixelType, "SIGNEDBYTE"))
    {
        CPLError(CE_Failure, CPLE_NotSupported,
                 "%s: PIXELTYPE=SIGNEDBYTE: signed bytes are for GDAL 3.7 and later; use Int16", zsShown(name).c_str());
        return nullptr;
    }
    if (!options.single_array && bands > 1)
    {
        CPLError(CE_Failure, CPLE_NotSupported,
                 "%s: SINGLE_ARRAY=NO: what Create() makes of %d bands is one array; a copy has one for each",
                 zsShown(name).c_str(),
                 bands);
        return nullptr;
    }
    if (zsIsArchive(connection.store))
    {
        CPLError(CE_Failure, CPLE_NotSupported,
                 "%s: what is in an archive is written once; copy a finished raster into it",
                 zsShown(name).c_str());
        return nullptr;
    }
    struct zs_healpix healpix = {};
    if (!checkCells(name, options, width, height, healpix))
        return nullptr;
    ZSPacking packing;
    if (!packing.Start(options, nullptr, type))
        return nullptr;
    struct zs_raster_spec spec = {};
    spec.healpix = options.healpix_order >= 0 ? &healpix : nullptr;
    ZSSourceAxes axes;
    if (options.single_array)
        axes.Find(nullptr, bands, options.dim_names);
    if (!startSpec(spec, options, width, height, axes, type) || !options.CheckRounding(spec))
        return nullptr;
    ZSNewArrays arrays;
    packing.Finish(spec, arrays.Read(nullptr, bands, spec.dtype));
    arrays.Set(true, arrayName(options, connection.store, nullptr, spec), spec);
    arrays.Apply(spec);
    auto target = std::make_unique<ZSTarget>();
    if (!openTarget(connection, options, arrays.Name(0), nullptr, *target))
        return nullptr;
    const std::string path = options.append ? connection.store : target->Path();
    ZSStore store;
    auto raster = createRaster(connection, path, options, spec, axes, store);
    if (raster == nullptr)
        return nullptr;
    // An empty store reads as its fill value: complete from the start.
    struct zs_error err;
    const std::string group = groupOf(options, arrays.Name(0));
    const bool ok = zs_raster_publish(raster.get(), store.hierarchy, &err) == ZS_OK &&
                    zs_raster_finish(store.store, group.c_str(), &err) == ZS_OK &&
                    zs_store_sync(store.store, &err) == ZS_OK;
    raster.reset();
    if (!ok)
    {
        zsReport(err);
        waitForUploads(store);
        if (options.append)
            removeAppended(path, group);
        return nullptr;
    }
    // What replaces another takes its place when it is flushed.
    const bool waits = !options.append && target->Replaces();
    if (!options.append && !waits && !target->Commit())
        return nullptr;
    auto ds = openCreated(waits ? path : pathOf(connection, *target), group, arrays.Name(0), name, options);
    auto made = dynamic_cast<ShardedZarrDataset *>(ds.get());
    if (ds != nullptr && made == nullptr)
        CPLError(CE_Failure, CPLE_AppDefined, "%s: what was made does not open as one raster",
                 zsShown(name).c_str());
    if (made == nullptr)
        return nullptr;
    made->pixels.SetBlank(packing.IsUsed());
    made->pixels.FirstFilter().Start(options, spec);
    made->closing.SetOverviews(options.OverviewFactors(spec), options.resampling);
    if (options.statistics)
        made->closing.SetStatistics();
    if (waits)
        made->closing.SetTarget(std::move(target));
    else if (!made->closing.HoldMark(target->TakeMark()))
        return nullptr;
    return ds.release();
}
