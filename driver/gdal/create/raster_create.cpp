/* New rasters: Create() and CreateCopy() describe one, without a source or of one, and the same steps make it. */
#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

#include "copy.h"
#include "creation_options.h"
#include "gdal/connection.h"
#include "gdal/driver.h"
#include "gdal/guard.h"
#include "gdal/raster/copied_levels.h"
#include "gdal/raster/dataset.h"
#include "gdal/raster/items.h"
#include "target.h"

extern "C"
{
#include "geo/conventions.h"
#include "raster/healpix.h"
}

namespace
{
/* A step that returns false has emitted CPLError. What is not put in place goes with this object. */
class NewRaster
{
  public:
    /* `source` may be null; it is what is copied. */
    NewRaster(const char *name, GDALDataset *source, bool isStrict)
        : m_name(name), m_source(source), m_isStrict(isStrict)
    {
    }
    CPL_DISALLOW_COPY_ASSIGN(NewRaster)
    ~NewRaster();

    bool Parse(CSLConstList list);
    /* What Create() cannot make. */
    bool CheckBlank(int width, int height, int bands, CSLConstList options) const;
    /* What cannot be copied, or is lost. */
    bool CheckSource();
    /* Decides all of the metadata. */
    bool Describe(int width, int height, int bands, GDALDataType type);
    /* Makes the arrays; all documents stay pending until the store is published. */
    bool Make();
    void RenameDimensions(const std::set<std::string> &taken);
    /* Then either: copies all of the source, and opens what is published; or the dataset of a store that appears when
     * that is flushed or closed. */
    std::unique_ptr<GDALDataset> Copy(GDALProgressFunc progress, void *progressData);
    std::unique_ptr<GDALDataset> Blank();

  private:
    const char *const m_name;
    GDALDataset *const m_source;
    const bool m_isStrict;
    bool m_hasSideCar = false; /* GDAL keeps what a store does not */
    bool m_hasMask = false;    /* one of all bands is copied */
    ZSCreationOptions m_options;
    ZSConnection m_connection;
    GDALDataType m_type = GDT_Unknown;

    struct zs_raster_spec m_spec = {}; /* borrows from these: */
    struct zs_healpix m_healpix = {};
    ZSSourceAxes m_axes;
    std::vector<ZSProperties> m_bands;
    ZSProperties m_whole;
    std::vector<std::string> m_names;
    std::vector<struct zs_raster_array_spec> m_arrays;
    CPLStringList m_metadata;
    std::unique_ptr<OGRSpatialReference> m_srs;
    std::unique_ptr<ZSGcps> m_gcps;

    std::vector<int> m_factors; /* of overviews */
    std::string m_resampling;
    std::unique_ptr<ZSNewStore> m_new = std::make_unique<ZSNewStore>();
    std::string m_group; /* that it is appended as, of its own, so that coordinates do not collide; else the root, "" */
    std::unique_ptr<ShardedZarrDataset> m_raster;
    ZSCopiedLevels m_levels; /* of it */

    bool IsCells() const
    {
        return m_options.healpix_order >= 0;
    }
    bool CheckCells(int width, int height);
    bool DescribePixels(int width, int height, int bands, GDALDataType type);
    void DescribeArrays(int bands);
    void DescribeGeoreferencing();
    std::string ArrayName() const;
    bool OpenArrays();
    std::unique_ptr<ShardedZarrDataset> Finish();
    bool StartLevels();
    bool WritePixels(GDALProgressFunc progress, void *progressData);
    bool AddComputed(GDALProgressFunc progress, void *progressData);
};
} // namespace

NewRaster::~NewRaster()
{
    if (m_raster != nullptr)
        m_raster->Abandon();
    m_raster.reset();
}

bool NewRaster::Parse(CSLConstList list)
{
    if (!m_options.Parse(list) || !zsParseName(m_name, m_connection))
        return false;
    if (m_connection.array.empty())
        return zsIsNoRepository(m_connection);
    return zsRefuse(CPLE_AppDefined,
                    "%s: a new array is named by options: the target %s, with APPEND_SUBDATASET=YES and ARRAY_NAME=%s",
                    zsShown(m_name).c_str(), zsShown(m_connection.store).c_str(), zsShown(m_connection.array).c_str());
}

/* ---- What is made ---- */

/* Checks that pixels are HEALPix cells of all the sphere where the options ask for that. */
bool NewRaster::CheckCells(int width, int height)
{
    const int order = m_options.healpix_order, side = IsCells() ? ZS_HEALPIX_SIDE << order : 0;
    bool isPlane;
    if (!IsCells())
        return true;
    if (m_source != nullptr)
        return zsCheckHealpixPlane(*m_source, order, m_healpix);
    m_healpix = zsHealpixTarget(order, nullptr, &isPlane);
    if (width == side && height == side) // gdalwarp chooses another size without -te and -ts
        return true;
    return zsRefuse(CPLE_AppDefined,
                    "%s: HEALPIX=%d: expected the %d x %d pixels of the whole plane, found %d x %d. %s", m_name, order,
                    side, side, width, height, zsHealpixAdvice(order).c_str());
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

/* Size, dimensions, data type, encoding and nodata value: all that the options decide. */
bool NewRaster::DescribePixels(int width, int height, int bands, GDALDataType type)
{
    enum zs_data_type zarrType;
    std::string x, y;
    if (!zsZarrType(type, &zarrType))
        return zsRefuse(CPLE_NotSupported, "Zarr has no data type for %s; CFloat32 or CFloat64 would hold it",
                        GDALGetDataTypeName(type));
    m_type = type;
    if (m_options.single_array)
        m_axes.Find(m_source, bands, m_options.dim_names);
    if (m_source != nullptr && zsPlaneNames(*m_source, x, y) && zsArePlaneNames(x, y) && !m_axes.HasName(x) &&
        !m_axes.HasName(y))
    {
        m_options.name_of_x = x;
        m_options.name_of_y = y;
    }
    m_spec.healpix = IsCells() ? &m_healpix : nullptr;
    m_spec.width = static_cast<uint64_t>(width);
    m_spec.height = static_cast<uint64_t>(height);
    m_axes.Apply(m_spec);
    m_spec.dtype = zs_dtype_of(zarrType);
    if (!m_options.Apply(m_spec))
        return false;
    m_spec.has_nodata = m_source != nullptr && nodataOf(*m_source->GetRasterBand(1), m_spec.dtype, m_spec.nodata);
    m_spec.nodata_is_implied = m_spec.has_nodata && zsImpliesNodata(*m_source->GetRasterBand(1), m_spec);
    return m_options.CheckRounding(m_spec);
}

/* Colours until others are set, as of GTiff's Create(): three bands of bytes are a picture, and a fourth is its alpha;
 * else the first is grey. gdalbuildvrt leaves out a raster whose colours differ from those of the others. */
static ZSProperties propertiesOfNew(int band, int bands, const struct zs_dtype &dtype)
{
    ZSProperties m;
    GDALColorInterp colour = GCI_Undefined;
    if (dtype.type == ZS_UINT8 && (bands == 3 || bands == 4))
        colour = static_cast<GDALColorInterp>(GCI_RedBand + band); // alpha follows blue
    else if (band == 0)
        colour = GCI_GrayIndex;
    if (colour != GCI_Undefined)
        m.SetText("color_interpretation", GDALGetColorInterpretationName(colour));
    return m;
}

/* Where bands of a source declare colours, those that declare none have none: a name (green) would tell one. */
static void declareOthers(std::vector<ZSProperties> &bands)
{
    const auto has = [](const ZSProperties &m)
    { return zs_band_member(&m, "color_interpretation") != nullptr || zs_band_member(&m, "color_table") != nullptr; };
    const bool isAny = std::any_of(bands.begin(), bands.end(), has);
    for (auto &m : bands)
    {
        if (isAny && !has(m) && zs_colour_of_name(zs_band_text(&m, "description")) != nullptr)
            m.SetText("color_interpretation", "Undefined");
    }
}

/* Of the items of netCDF's variables, the scales of those that are bands whose pixels are unscaled. */
static void dropScales(const std::vector<ZSProperties> &bands, CPLStringList &metadata)
{
    std::string last;
    for (const auto &m : bands)
    {
        const char *variable = zsItemValue(m.metadata, "NETCDF_VARNAME");
        if (zs_band_member(&m, "scale") != nullptr || variable == nullptr || variable == last)
            continue;
        last = variable;
        zsDropScaleItems(metadata, last + "#", false);
    }
}

/* Default name of an array: that of a file or store, without its ending. */
static std::string defaultArrayName(const std::string &file, const struct zs_raster_spec &spec)
{
    const std::string name = zsUtf8(CPLGetBasename(file.c_str()));
    return zsIsArrayName(name) && !zsIsDimension(spec, name) ? name : "data";
}

/* Name of the array: from the options; else that of the store, or, where it is appended to a store, that of the source,
 * with a number behind it where that name is taken. */
std::string NewRaster::ArrayName() const
{
    const std::string &store = m_connection.store;
    if (!m_options.array_name.empty() || !m_options.append)
        return !m_options.array_name.empty() ? m_options.array_name : defaultArrayName(store, m_spec);
    const std::string name = defaultArrayName(m_source != nullptr ? m_source->GetDescription() : store, m_spec);
    std::string free = name;
    for (int n = 2; zsExists(store + "/" + free); n++)
        free = name + "_" + std::to_string(n);
    return free;
}

/* One array of all bands, or one per band, named by the band's description; properties of the bands. */
void NewRaster::DescribeArrays(int bands)
{
    m_bands.reserve(static_cast<size_t>(bands));
    for (int b = 0; b < bands; b++)
        m_bands.push_back(m_source != nullptr ? zsPropertiesOf(*m_source->GetRasterBand(b + 1))
                                              : propertiesOfNew(b, bands, m_spec.dtype));
    declareOthers(m_bands);
    if (m_source != nullptr)
        m_metadata = zsUtf8List(m_source->GetMetadata());
    dropScales(m_bands, m_metadata);
    m_axes.Spend(m_metadata, m_bands);

    const auto isTaken = [this](const std::string &name)
    { return zsIsDimension(m_spec, name) || std::find(m_names.begin(), m_names.end(), name) != m_names.end(); };
    const std::string name = ArrayName();
    const bool isOne = m_options.single_array || m_source == nullptr;
    for (size_t b = 0; b < m_bands.size() && !isOne; b++)
    {
        const char *description = zs_band_text(&m_bands[b], "description");
        const bool isUsable = description != nullptr && zsIsArrayName(description) && !isTaken(description);
        m_names.push_back(isUsable ? description : name + "_" + std::to_string(b + 1));
    }
    if (isOne)
        m_names.push_back(name);
    for (size_t k = 0; k < m_names.size(); k++)
        m_arrays.push_back({m_names[k].c_str(), &m_bands[k], isOne ? m_bands.size() : 1});
    m_spec.arrays = m_arrays.data();
    m_spec.array_count = m_arrays.size();
    m_hasMask = m_source != nullptr && !IsCells() && zsHasOneMask(*m_source);
}

/* Transform, CRS, ground control points, and the metadata that are left. */
void NewRaster::DescribeGeoreferencing()
{
    struct zs_georef &georef = m_spec.georef;
    georef.has_transform = !IsCells() && zsReadTransform(*m_source, georef.transform);
    const char *registration = zsItemValueInAnyCase(m_metadata.List(), GDALMD_AREA_OR_POINT);
    georef.pixel_is_point = !IsCells() && registration != nullptr && EQUAL(registration, GDALMD_AOP_POINT);
    if (!georef.pixel_is_point || (georef.has_transform && m_options.style != ZS_GEOREF_CF))
        zsSetItem(m_metadata, GDALMD_AREA_OR_POINT, nullptr); // by spatial:registration
    m_whole.SetItems(m_metadata.List());
    zsTakeDomains(m_whole, *m_source);
    m_spec.whole = m_whole;
    if (IsCells())
        return;
    m_gcps = std::make_unique<ZSGcps>(m_source->GetGCPCount(), m_source->GetGCPs(), m_source->GetGCPSpatialRef());
    m_spec.gcps = m_gcps->Get();
    m_srs = zsStoredSrs(m_source->GetSpatialRef(), nullptr);
    georef.srs = m_srs != nullptr ? OGRSpatialReference::ToHandle(m_srs.get()) : nullptr;
}

bool NewRaster::Describe(int width, int height, int bands, GDALDataType type)
{
    if (static_cast<uint64_t>(bands) > ZS_MOST_BANDS)
        return zsRefuse(CPLE_NotSupported,
                        "%s: expected at most %d bands, as many as GDAL opens, found %d; the multidimensional API "
                        "makes longer arrays", zsShown(m_name).c_str(), static_cast<int>(ZS_MOST_BANDS), bands);
    if (!CheckCells(width, height) || !DescribePixels(width, height, bands, type))
        return false;
    DescribeArrays(bands);
    m_factors = m_options.OverviewFactors(m_spec);
    m_resampling = m_options.resampling;
    ZSNodata nodata;
    if (m_source != nullptr)
    {
        DescribeGeoreferencing();
        zsChooseFilter(*m_source, m_type, m_options, m_spec);
        m_resampling = zsOverviewResampling(m_options.resampling, *m_source);
        nodata = m_spec.has_nodata ? ZSNodata(*m_source->GetRasterBand(1)) : nodata;
    }
    return m_factors.empty() || zsMayResample(m_name, m_type, nodata, m_resampling);
}

/* ---- Making it ---- */

/* Names of the dimensions of all arrays in the root; none of a store that cannot be listed. */
static std::set<std::string> dimensionsOfRoot(struct zs_hierarchy *hierarchy)
{
    std::set<std::string> names;
    const struct zs_node **nodes = nullptr;
    size_t count = 0;
    if (zs_hierarchy_list(hierarchy, &nodes, &count, nullptr) != ZS_OK)
        return names;
    const std::unique_ptr<const struct zs_node *, decltype(&free)> freed(nodes, free);
    for (size_t i = 0; i < count; i++)
    {
        const bool isInRoot = nodes[i]->array != nullptr && strchr(nodes[i]->path, '/') == nullptr;
        for (int d = 0; isInRoot && d < nodes[i]->array->ndim; d++)
            names.insert(zsDimensionName(nodes[i], d));
    }
    return names;
}

/* Gives dimensions of a raster that is appended names with `_<array>` at the end, where arrays of the root have theirs:
 * else xarray's DataTree refuses the store, or takes coordinates of the root for those of the raster. Y and X both get
 * one, or neither. */
void NewRaster::RenameDimensions(const std::set<std::string> &taken)
{
    const struct zs_axes at = zs_raster_axes(&m_spec);
    const bool isPlaneTaken = taken.count(m_spec.dim_x) > 0 || (at.y >= 0 && taken.count(m_spec.dim_y) > 0);
    std::vector<std::string> &names = m_options.dim_names;
    for (int d = 0; d < zs_raster_ndim(&m_spec); d++)
    {
        const bool isPlane = d == at.x || d == at.y;
        const std::string name = d == at.x ? m_spec.dim_x : d == at.y ? m_spec.dim_y : m_spec.axes[d].name;
        names.push_back((isPlane ? isPlaneTaken : taken.count(name) > 0) ? name + "_" + m_spec.arrays[0].name : name);
    }
    if (at.y >= 0)
        m_spec.dim_y = names[static_cast<size_t>(at.y)].c_str();
    m_spec.dim_x = names[static_cast<size_t>(at.x)].c_str();
    m_axes.Rename(names);
}

bool NewRaster::Make()
{
    struct zs_error err;
    const ZSStore &store = *m_new->store;
    m_group = m_options.append ? m_names[0] : "";
    if (!(m_options.append ? m_new->OpenExisting(m_connection.store, m_options.fsync)
                           : m_new->Open(m_connection.store, m_options.overwrite, m_options.fsync)))
        return false;
    if (m_options.append && m_options.dim_names.empty())
        RenameDimensions(dimensionsOfRoot(store.hierarchy));
    zs_hierarchy_defer(store.hierarchy, true);
    zs_store_overlap(store.store);
    return zs_raster_create(store.hierarchy, m_group.c_str(), &m_spec, &err) == ZS_OK ? OpenArrays() : zsReport(err);
}

/* Opens the arrays that the hierarchy has, for writing as the options ask for, and adds the mask. */
bool NewRaster::OpenArrays()
{
    struct zs_hierarchy *hierarchy = m_new->store->hierarchy;
    ZSOpenOptions options;
    struct zs_error err;
    const struct zs_node *node = nullptr, *group = nullptr;
    ZSBandSources sources;
    if (!options.Parse(nullptr))
        return false;
    options.threads = m_options.threads;
    options.fsync = m_options.fsync;
    for (const auto &array : m_arrays)
    {
        if (zs_hierarchy_node_at(hierarchy, m_group.c_str(), array.name, &node, &err) != ZS_OK)
            return zsReport(err);
        sources.push_back({ZSArray::Open(*m_new->store, node, options, &err), {}});
        if (sources.back().array == nullptr)
            return zsReport(err);
    }
    if (m_arrays.size() > 1 && zs_hierarchy_node(hierarchy, m_group.c_str(), &group, &err) != ZS_OK)
        return zsReport(err);
    m_raster = ShardedZarrDataset::Over(m_new->store, sources, group, options, GA_Update, &err);
    if (m_raster == nullptr)
        return zsReport(err);
    m_raster->StartNew(m_options.chunk_order, m_options.style);
    return !m_hasMask || m_raster->AddMask(&m_spec.encoding) == CE_None;
}

/* The raster as its maker has it from now on. Null with CPLError emitted. */
std::unique_ptr<ShardedZarrDataset> NewRaster::Finish()
{
    struct zs_error err;
    // Commits to an object store wait again, one by one: what is written is read back, too.
    if (zs_store_overlap_end(m_new->store->store, &err) != ZS_OK)
        return zsReport(err);
    m_new->store->NoteOpen();
    m_raster->AttachPam(m_name);
    return std::move(m_raster);
}

std::unique_ptr<GDALDataset> NewRaster::Blank()
{
    auto made = Finish();
    if (made != nullptr)
        made->StartBlank(std::move(m_new), m_options.statistics, m_factors, m_resampling);
    return made;
}

/* ---- Copying ---- */

/* Sets up overviews that are made of the pixels while these are copied, where the raster suits that. */
bool NewRaster::StartLevels()
{
    if (m_options.statistics || m_hasMask || !ZSCopiedLevels::Suits(m_spec, m_resampling, m_factors))
        return true;
    return m_levels.Start(*m_raster, m_resampling, m_factors, m_options.threads) == CE_None;
}

/* Writes the pixels and the mask. */
bool NewRaster::WritePixels(GDALProgressFunc progress, void *progressData)
{
    GDALRasterBand &first = *m_source->GetRasterBand(1);
    return zsCopyPixels(*m_source, m_type, m_raster->View().Bands(), m_spec, m_options.threads, m_new->Path(),
                        m_levels.IsStarted() ? &m_levels : nullptr, progress, progressData) &&
           (!m_hasMask ||
            GDALRasterBandCopyWholeRaster(first.GetMaskBand(), m_raster->GetRasterBand(1)->GetMaskBand(), nullptr,
                                          GDALDummyProgress, nullptr) == CE_None) &&
           m_raster->FlushAll(false) == CE_None;
}

/* Adds what is computed from the pixels: statistics, and overviews but for those that were made in copying. */
bool NewRaster::AddComputed(GDALProgressFunc progress, void *progressData)
{
    const double half = m_factors.empty() ? 1 : m_options.statistics ? 0.5 : 0;
    const ZSScaledProgress ofStatistics(0, half, progress, progressData), ofOverviews(half, 1, progress, progressData);
    const CPLConfigOptionSetter threads("GDAL_NUM_THREADS", std::to_string(m_options.threads).c_str(), false);
    if (!m_options.statistics && m_factors.empty())
        return true;
    m_levels.Finish();
    if (m_options.statistics && m_raster->AddStatistics(GDALScaledProgress, ofStatistics.Part()) != CE_None)
        return false;
    if (!m_factors.empty() && m_raster->BuildOverviews(m_resampling.c_str(), static_cast<int>(m_factors.size()),
                                                       m_factors.data(), 0, nullptr, GDALScaledProgress,
                                                       ofOverviews.Part(), nullptr) != CE_None)
        return false;
    return m_raster->FlushAll(false) == CE_None;
}

std::unique_ptr<GDALDataset> NewRaster::Copy(GDALProgressFunc progress, void *progressData)
{
    // Overviews read and write again: about as much as a third of the pixels. Statistics read.
    const double share = 1 / (1 + (m_factors.empty() ? 0 : 1 / 3.) + (m_options.statistics ? 0.25 : 0));
    const ZSScaledProgress ofPixels(0, share, progress, progressData), ofRest(share, 1, progress, progressData);
    if (!StartLevels() || !WritePixels(GDALScaledProgress, ofPixels.Part()) ||
        !AddComputed(GDALScaledProgress, ofRest.Part()) || !m_new->Publish())
        return nullptr;
    auto made = Finish();
    if (made != nullptr && m_hasSideCar)
        zsCopyTables(*m_source, *made);
    return made;
}

bool NewRaster::CheckSource()
{
    const bool isList = m_source->GetMetadata("SUBDATASETS") != nullptr;
    if (m_source->GetRasterCount() == 0)
        return zsRefuse(CPLE_NotSupported, "%s: a source without bands cannot be copied%s", zsShown(m_name).c_str(),
                        isList ? "; gdalinfo lists its subdatasets, each of which can, and gdalmdimtranslate copies "
                                 "arrays" : "");
    m_hasSideCar = !zsIsRemote(m_connection.store) && m_options.single_array &&
                   CPLTestBool(CPLGetConfigOption("GDAL_PAM_ENABLED", "YES"));
    return zsCheckLosses(m_name, *m_source, m_hasSideCar, IsCells(), m_isStrict);
}

GDALDataset *zsRasterCopy(const char *name, GDALDataset *source, bool strict, CSLConstList options,
                          GDALProgressFunc progress, void *progressData)
{
    NewRaster raster(name, source, strict);
    const ZSOneWarning ofTexts;
    if (!raster.Parse(options) || !raster.CheckSource() ||
        !raster.Describe(source->GetRasterXSize(), source->GetRasterYSize(), source->GetRasterCount(),
                         zsTypeOfBands(*source)) ||
        !raster.Make())
        return nullptr;
    return raster.Copy(progress != nullptr ? progress : GDALDummyProgress, progressData).release();
}

/* ---- Create ---- */

bool NewRaster::CheckBlank(int width, int height, int bands, CSLConstList options) const
{
    const std::string name = zsShown(m_connection.store);
    if (bands == 0 || width == 0 || height == 0)
        return zsRefuse(CPLE_NotSupported, "%s: expected at least one band, column and row", name.c_str());
    // GDAL before 3.7 has no type for them, and rasterio hears no warning of an option that is not known.
    const char *pixelType = CSLFetchNameValue(options, "PIXELTYPE");
    if (pixelType != nullptr && EQUAL(pixelType, "SIGNEDBYTE"))
        return zsRefuse(CPLE_NotSupported,
                        "%s: PIXELTYPE=SIGNEDBYTE: signed bytes are for GDAL 3.7 and later; use Int16", name.c_str());
    if (bands > 1 && !m_options.single_array)
        return zsRefuse(CPLE_NotSupported,
                        "%s: SINGLE_ARRAY=NO: what Create() makes of %d bands is one array; a copy has one for each",
                        name.c_str(), bands);
    return true;
}

GDALDataset *zsRasterCreate(const char *name, int width, int height, int bands, GDALDataType type,
                            ZSCreateOptions options)
{
    NewRaster raster(name, nullptr, false);
    if (!raster.Parse(options) || !raster.CheckBlank(width, height, bands, options) ||
        !raster.Describe(width, height, bands, type) || !raster.Make())
        return nullptr;
    return raster.Blank().release();
}
