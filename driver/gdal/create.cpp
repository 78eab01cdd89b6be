#include "create.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "connection.h"
#include "copy.h"
#include "creation_options.h"
#include "dataset.h"
#include "open.h"

namespace
{
/* What a source's bands mean, in a form that outlives the source's own lists. */
class BandMeanings
{
    std::vector<struct zs_meaning> m_meanings;
    std::vector<struct zs_raster_band_set> m_sets;
    std::vector<std::string> m_names;

  public:
    ~BandMeanings()
    {
        for (auto &m : m_meanings)
            zs_meaning_clear(&m);
    }
    void Read(GDALDataset &source, bool single, const std::string &name);
    const std::vector<struct zs_raster_band_set> &Sets() const
    {
        return m_sets;
    }
};
} // namespace

/* A list of strings that free() releases, as the core owns them. */
static char **copyList(CSLConstList list)
{
    const int n = CSLCount(list);
    if (n == 0)
        return nullptr;
    auto copy = static_cast<char **>(zs_calloc(static_cast<size_t>(n) + 1, sizeof(char *)));
    for (int i = 0; i < n && copy != nullptr; i++)
        copy[i] = zs_strdup(list[i]);
    return copy;
}

static struct zs_meaning meaningOf(GDALRasterBand &band)
{
    struct zs_meaning m = {};
    int has = FALSE;
    m.scale = band.GetScale(&has);
    m.has_scale = has && m.scale != 1;
    m.offset = band.GetOffset(&has);
    m.has_offset = has && m.offset != 0;
    m.has_scale = m.has_scale || m.has_offset; // one without the other confuses readers
    m.has_offset = m.has_scale;
    if (!m.has_scale)
        m.scale = 1;
    const char *unit = band.GetUnitType();
    if (unit != nullptr && unit[0] != '\0')
        m.unit = zs_strdup(unit);
    if (band.GetDescription()[0] != '\0')
        m.description = zs_strdup(band.GetDescription());
    m.categories = copyList(band.GetCategoryNames());
    m.metadata = copyList(band.GetMetadata());
    const char *colour = GDALGetColorInterpretationName(band.GetColorInterpretation());
    m.colour = zs_colour_of_name(colour);
    return m;
}

void BandMeanings::Read(GDALDataset &source, bool single, const std::string &name)
{
    const int n = single ? 1 : source.GetRasterCount();
    for (int b = 0; b < n; b++)
    {
        m_meanings.push_back(meaningOf(*source.GetRasterBand(b + 1)));
        const char *description = source.GetRasterBand(b + 1)->GetDescription();
        const bool usable = !single && description[0] != '\0' && strchr(description, '/') == nullptr &&
                            std::find(m_names.begin(), m_names.end(), description) == m_names.end();
        m_names.push_back(single ? name : usable ? description : name + "_" + std::to_string(b + 1));
    }
    for (size_t i = 0; i < m_meanings.size(); i++)
        m_sets.push_back({m_names[i].c_str(), &m_meanings[i]});
}

/* ---- What is written ---- */

/* Name for the array: of the store without its ending. */
static std::string defaultArrayName(const std::string &store)
{
    std::string name = CPLGetBasename(store.c_str());
    if (name.empty() || name.find_first_not_of('.') == std::string::npos || STARTS_WITH(name.c_str(), "__"))
        name = "data";
    return name;
}

static bool nodataOf(GDALRasterBand &band, const struct zs_dtype &dtype, unsigned char *out)
{
    int has = FALSE;
    if (dtype.type == ZS_INT64)
    {
        const int64_t v = band.GetNoDataValueAsInt64(&has);
        memcpy(out, &v, sizeof v);
        return has != FALSE;
    }
    if (dtype.type == ZS_UINT64)
    {
        const uint64_t v = band.GetNoDataValueAsUInt64(&has);
        memcpy(out, &v, sizeof v);
        return has != FALSE;
    }
    const double v = band.GetNoDataValue(&has);
    if (!has)
        return false;
    // A value that the type does not hold marks no pixel.
    int clamped = FALSE, rounded = FALSE;
    GDALAdjustValueToDataType(zsGDALType(dtype.type, dtype.size), v, &clamped, &rounded);
    if (clamped || (rounded && GDALDataTypeIsInteger(zsGDALType(dtype.type, dtype.size))))
    {
        CPLError(CE_Warning, CPLE_AppDefined, "nodata value %.17g cannot be a %s and is left out", v, dtype.name);
        return false;
    }
    GDALCopyWords64(&v, GDT_Float64, 0, out, zsGDALType(dtype.type, dtype.size), 0, 1);
    return true;
}

/* Same nodata in all bands? An array has one fill value. */
static void warnOfOtherNodata(GDALDataset &source)
{
    int has1 = FALSE, has = FALSE;
    const double first = source.GetRasterBand(1)->GetNoDataValue(&has1);
    for (int b = 2; b <= source.GetRasterCount(); b++)
    {
        const double v = source.GetRasterBand(b)->GetNoDataValue(&has);
        if (has != has1 || (has && v != first && !(std::isnan(v) && std::isnan(first))))
        {
            CPLError(CE_Warning, CPLE_AppDefined,
                     "bands differ in their nodata value, of which an array has one: that of band 1 is written (SINGLE_ARRAY=NO keeps all)");
            return;
        }
    }
}


/* ---- The place ---- */

/* Makes sure that nothing but a Zarr store is replaced: an existing directory of other things stays. */
static bool clearPlace(const std::string &store, bool append)
{
    VSIStatBufL st;
    const bool exists = VSIStatL(store.c_str(), &st) == 0;
    const bool isStore = exists && VSI_ISDIR(st.st_mode) && VSIStatL((store + "/zarr.json").c_str(), &st) == 0;
    if (append)
    {
        if (isStore)
            return true;
        CPLError(CE_Failure, CPLE_AppDefined, "%s: there is no Zarr store to append to", store.c_str());
        return false;
    }
    if (!exists)
        return true;
    if (isStore)
        return VSIRmdirRecursive(store.c_str()) == 0;
    const CPLStringList content(VSIReadDir(store.c_str()));
    bool empty = VSIStatL(store.c_str(), &st) == 0 && VSI_ISDIR(st.st_mode);
    for (int i = 0; i < content.size(); i++)
        empty = empty && (EQUAL(content[i], ".") || EQUAL(content[i], ".."));
    if (empty)
        return true;
    CPLError(CE_Failure, CPLE_AppDefined, "%s: exists and is not a Zarr store; it is not overwritten", store.c_str());
    return false;
}

/* ---- CreateCopy ---- */

static GDALDataset *createCopy(const char *name, GDALDataset *source, int strict, ZSCreateOptions optionList,
                               GDALProgressFunc progress, void *progressData)
{
    ZSCreationOptions options;
    ZSConnection connection;
    std::string reason;
    if (progress == nullptr)
        progress = GDALDummyProgress;
    if (!options.Parse(optionList))
        return nullptr;
    if (!zsParseConnection(name, connection, reason))
    {
        CPLError(CE_Failure, CPLE_AppDefined, "%s: %s", name, reason.c_str());
        return nullptr;
    }
    const int bands = source->GetRasterCount();
    if (bands == 0)
    {
        CPLError(CE_Failure, CPLE_NotSupported, "%s: a source without bands cannot be copied", name);
        return nullptr;
    }
    GDALDataType type = source->GetRasterBand(1)->GetRasterDataType();
    for (int b = 2; b <= bands; b++)
        type = GDALDataTypeUnion(type, source->GetRasterBand(b)->GetRasterDataType());
    enum zs_data_type zarrType;
    if (!zsZarrType(type, &zarrType))
    {
        CPLError(CE_Failure, CPLE_NotSupported, "%s: Zarr has no data type for %s (CFloat32 would hold it)", name, GDALGetDataTypeName(type));
        return nullptr;
    }

    struct zs_raster_spec spec = {};
    spec.width = static_cast<uint64_t>(source->GetRasterXSize());
    spec.height = static_cast<uint64_t>(source->GetRasterYSize());
    spec.has_band_dimension = bands > 1 && options.single_array;
    spec.bands = static_cast<uint64_t>(bands);
    spec.dtype = zs_dtype_of(zarrType);
    if (!options.Apply(spec))
        return nullptr;
    spec.has_nodata = nodataOf(*source->GetRasterBand(1), spec.dtype, spec.nodata);
    warnOfOtherNodata(*source);

    const std::string arrayName = !options.array_name.empty() ? options.array_name : defaultArrayName(connection.store);
    BandMeanings meanings;
    meanings.Read(*source, options.single_array, arrayName);
    spec.arrays = meanings.Sets().data();
    spec.array_count = meanings.Sets().size();

#if ZS_GDAL_AT_LEAST(12)
    GDALGeoTransform transform;
#else
    double transform[6];
#endif
    double numbers[6];
    if (source->GetGeoTransform(transform) == CE_None)
    {
        for (int i = 0; i < 6; i++)
            numbers[i] = transform[i];
        spec.transform = numbers;
    }
    const char *registration = source->GetMetadataItem(GDALMD_AREA_OR_POINT);
    spec.pixel_is_point = registration != nullptr && EQUAL(registration, GDALMD_AOP_POINT);
    std::unique_ptr<OGRSpatialReference> srs(source->GetSpatialRef() != nullptr ? source->GetSpatialRef()->Clone() : nullptr);
    spec.srs = srs != nullptr ? OGRSpatialReference::ToHandle(srs.get()) : nullptr;
    CPLStringList metadata(CSLDuplicate(source->GetMetadata()));
    metadata.SetNameValue(GDALMD_AREA_OR_POINT, nullptr);
    spec.metadata = metadata.size() > 0 ? metadata.List() : nullptr;
    spec.overview_count = 0;
    spec.resampling = nullptr;
    static_cast<void>(strict);

    if (!clearPlace(connection.store, options.append))
        return nullptr;
    struct zs_error err;
    auto store = std::make_shared<ZSStore>();
    struct zs_raster *raster = nullptr;
    const struct zs_array_options arrayOptions = {options.threads, static_cast<uint64_t>(GDALGetCacheMax64()) / 4};
    bool ok = zs_store_open_vsi(connection.store.c_str(), &store->store, &err) == ZS_OK &&
              zs_raster_create(store->store, "", &spec, &arrayOptions, &raster, &err) == ZS_OK;
    if (!ok)
        zsReport(err);
    ok = ok && zsCopyPixels(*source, *raster, spec, type, progress, progressData);
    if (ok && zs_raster_publish(raster, &err) != ZS_OK)
    {
        zsReport(err);
        ok = false;
    }
    zs_raster_free(raster);
    if (!ok)
    {
        // What a failed creation made is removed.
        CPLErrorStateBackuper backup;
        CPLErrorHandlerPusher quiet(CPLQuietErrorHandler);
        if (!options.append)
            VSIRmdirRecursive(connection.store.c_str());
        return nullptr;
    }
    GDALOpenInfo info(connection.SubdatasetName(options.single_array ? arrayName : "").c_str(), GA_ReadOnly);
    auto copy = zsOpen(&info);
    if (copy != nullptr)
        copy->SetDescription(name);
    return copy;
}

void zsAddCreation(GDALDriver &driver)
{
    driver.SetMetadataItem(GDAL_DMD_CREATIONDATATYPES, "Byte "
#if ZS_GDAL_AT_LEAST(7)
                                                       "Int8 "
#endif
                                                       "UInt16 Int16 UInt32 Int32 UInt64 Int64 "
#if ZS_GDAL_AT_LEAST(11)
                                                       "Float16 "
#endif
                                                       "Float32 Float64 CFloat32 CFloat64");
    driver.SetMetadataItem(GDAL_DMD_CREATIONOPTIONLIST, zsCreationOptionList().c_str());
    driver.pfnCreateCopy = createCopy;
}
