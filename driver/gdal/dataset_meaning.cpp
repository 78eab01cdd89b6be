/* Georeferencing and metadata of a dataset, read from the store's conventions and, in update mode, written back. */
#include <algorithm>

#include "choices.h"
#include "dataset.h"
#include "domains.h"
#include "files.h"
#include "guard.h"
#include "source_axes.h"

extern "C"
{
#include "codec/compression.h"
#include "raster/update.h"
}

static const char IMAGE_STRUCTURE[] = "IMAGE_STRUCTURE";

/* ---- Georeferencing ---- */

static char *copyText(const char *text)
{
    return text != nullptr ? zs_strdup(text) : nullptr;
}

void ShardedZarrDataset::ReadGeoref()
{
    if (m_georefRead)
        return;
    m_georefRead = true;
    if (m_store->hierarchy == nullptr)
        return;
    const std::lock_guard<std::mutex> guard(m_shared->lock);
    const auto &shared = m_shared->georef;
    struct zs_error err;
    if (!m_shared->georefRead && zs_georef_read(m_store->hierarchy, m_node, m_axes, &m_shared->georef, &err) != ZS_OK)
        zsReport(err);
    if (!m_shared->georefRead && shared.left_out != nullptr)
        CPLError(CE_Warning, CPLE_AppDefined, "/%s: too large for a coordinate variable; it is not used",
                 shared.left_out);
    m_shared->georefRead = true;
    // A copy for each dataset: an OGRSpatialReference is for one thread at a time, even when it is only read.
    m_georef = shared;
    m_georef.srs = shared.srs != nullptr ? OSRClone(shared.srs) : nullptr;
    m_georef.geolocation_x = copyText(shared.geolocation_x);
    m_georef.geolocation_y = copyText(shared.geolocation_y);
    m_georef.left_out = nullptr;
    if (m_georef.pixel_is_point)
        GDALMajorObject::SetMetadataItem(GDALMD_AREA_OR_POINT, GDALMD_AOP_POINT);
}

const OGRSpatialReference *ShardedZarrDataset::GetSpatialRef() const
{
    const_cast<ShardedZarrDataset *>(this)->ReadGeoref();
    if (m_georef.srs != nullptr)
        return OGRSpatialReference::FromHandle(m_georef.srs);
    return GDALPamDataset::GetSpatialRef();
}

CPLErr ShardedZarrDataset::SetSpatialRef(const OGRSpatialReference *srs)
{
    if (!IsUpdate())
        return GDALPamDataset::SetSpatialRef(srs);
    ReadGeoref();
    if (m_georef.srs != nullptr)
        OSRDestroySpatialReference(m_georef.srs);
    m_georef.srs = srs != nullptr && !srs->IsEmpty() ? OGRSpatialReference::ToHandle(srs->Clone()) : nullptr;
    m_georefChanged = true;
    return CE_None;
}

CPLErr ShardedZarrDataset::GetGeoTransform(ZS_GET_GEOTRANSFORM_ARG transform) ZS_GEOTRANSFORM_CONST
{
    const_cast<ShardedZarrDataset *>(this)->ReadGeoref();
    if (!m_georef.has_transform)
        return GDALPamDataset::GetGeoTransform(transform);
    for (int i = 0; i < 6; i++)
        transform[i] = m_georef.transform[i];
    return CE_None;
}

CPLErr ShardedZarrDataset::SetGeoTransform(ZS_SET_GEOTRANSFORM_ARG transform)
{
    if (!IsUpdate())
        return GDALPamDataset::SetGeoTransform(transform);
    ReadGeoref();
    for (int i = 0; i < 6; i++)
        m_georef.transform[i] = transform[i];
    m_georef.has_transform = true;
    m_georefChanged = true;
    return CE_None;
}

/* Two-dimensional coordinates, as GDAL's warper reads them. */
void ShardedZarrDataset::AddGeolocation()
{
    if (m_geolocationAdded)
        return;
    m_geolocationAdded = true;
    ReadGeoref();
    if (m_georef.geolocation_x == nullptr || m_georef.geolocation_y == nullptr)
        return;
    ZSConnection c;
    c.store = m_store->name;
    CPLStringList md;
    md.SetNameValue("X_DATASET", c.SubdatasetName(m_georef.geolocation_x).c_str());
    md.SetNameValue("X_BAND", "1");
    md.SetNameValue("Y_DATASET", c.SubdatasetName(m_georef.geolocation_y).c_str());
    md.SetNameValue("Y_BAND", "1");
    md.SetNameValue("PIXEL_OFFSET", "0");
    md.SetNameValue("PIXEL_STEP", "1");
    md.SetNameValue("LINE_OFFSET", "0");
    md.SetNameValue("LINE_STEP", "1");
    md.SetNameValue("GEOREFERENCING_CONVENTION", "PIXEL_CENTER");
    // The arrays hold longitudes and latitudes, whatever the projection of the raster.
    std::unique_ptr<OGRSpatialReference> geographic(
        m_georef.srs != nullptr ? OGRSpatialReference::FromHandle(m_georef.srs)->CloneGeogCS() : nullptr);
    char *wkt = nullptr;
    if (geographic != nullptr && geographic->exportToWkt(&wkt) == OGRERR_NONE)
        md.SetNameValue("SRS", wkt);
    else
        md.SetNameValue("SRS", SRS_WKT_WGS84_LAT_LONG);
    CPLFree(wkt);
    GDALMajorObject::SetMetadata(md.List(), "GEOLOCATION");
}

/* ---- Metadata ---- */

const struct zs_meaning &ShardedZarrDataset::Meaning()
{
    if (!m_meaningRead)
    {
        m_meaningRead = true;
        struct zs_error err;
        if (zs_meaning_read(m_node, &m_meaning, &err) != ZS_OK)
            zsReport(err);
    }
    return m_meaning;
}

/* "time#units" is what the netCDF driver calls the attribute `units` of the coordinate variable `time`. */
static std::string axisPrefix(const struct zs_node *node, int dim)
{
    const char *name = zs_dimension_name(node, dim);
    return name != nullptr ? std::string(name) + "#" : "";
}

/* Where a slice is in a dimension that does not become bands: what the bands of the whole say of themselves. */
void ShardedZarrDataset::AddFixedPlace(CPLStringList &md, int dim)
{
    const std::string key = "DIM_" + zsDimensionName(m_node, dim);
    const uint64_t index = Slices().first[dim];
    struct zs_labels labels = {};
    struct zs_error err;
    md.SetNameValue((key + "_INDEX").c_str(), std::to_string(index).c_str());
    if (m_store->hierarchy == nullptr)
        return;
    if (zs_labels_read(m_store->hierarchy, m_node, dim, index, 1, &labels, &err) != ZS_OK)
        zsReport(err);
    const ZSOwned<struct zs_labels> cleared(&labels, zs_labels_clear);
    if (labels.values != nullptr)
        md.SetNameValue((key + "_VALUE").c_str(), labels.values[0]);
    if (labels.values != nullptr && labels.unit != nullptr)
        md.SetNameValue((key + "_UNIT").c_str(), labels.unit);
}

static std::vector<int> fixedDimensions(const struct zs_slices &slices)
{
    std::vector<int> fixed;
    for (int d = 0; d < slices.ndim; d++)
    {
        if (d != slices.axes.x && d != slices.axes.y &&
            std::find(slices.dims, slices.dims + slices.dim_count, d) == slices.dims + slices.dim_count)
            fixed.push_back(d);
    }
    return fixed;
}

void ShardedZarrDataset::AddAxisMetadata(CPLStringList &md)
{
    for (const int d : fixedDimensions(Slices()))
        AddFixedPlace(md, d);
    std::string all;
    for (int i = 0; i < Slices().dim_count; i++)
    {
        const int d = Slices().dims[i];
        const char *name = zs_dimension_name(m_node, d);
        all += (all.empty() ? "" : ",") + std::string(name != nullptr ? name : "dim" + std::to_string(d));
    }
    if (Slices().dim_count > 1)
        md.SetNameValue(ZS_EXTRA_DIMENSIONS, ("{" + all + "}").c_str());
    for (int i = 0; i < Slices().dim_count; i++)
    {
        const int d = Slices().dims[i];
        const std::string prefix = axisPrefix(m_node, d);
        char **items = nullptr;
        struct zs_error err;
        if (m_store->hierarchy == nullptr || prefix.empty())
            continue;
        if (zs_label_attributes(m_store->hierarchy, m_node, d, &items, &err) != ZS_OK)
            zsReport(err);
        const ZSOwned<char *> itemsFreed(items, zs_metadata_free);
        for (char **item = items; item != nullptr && *item != nullptr; item++)
            md.AddString((prefix + *item).c_str());
    }
}

void ShardedZarrDataset::RemoveAxisMetadata(CPLStringList &md) const
{
    md.SetNameValue(ZS_EXTRA_DIMENSIONS, nullptr);
    for (const int d : fixedDimensions(Slices()))
    {
        for (const char *item : {"_INDEX", "_VALUE", "_UNIT"})
            md.SetNameValue(("DIM_" + zsDimensionName(m_node, d) + item).c_str(), nullptr);
    }
    for (int i = 0; i < Slices().dim_count; i++)
    {
        const int d = Slices().dims[i];
        const std::string prefix = axisPrefix(m_node, d);
        CPLStringList kept;
        for (int k = 0; k < md.size(); k++)
        {
            if (prefix.empty() || !STARTS_WITH(md[k], prefix.c_str()))
                kept.AddString(md[k]);
        }
        md = kept;
    }
}

/* Plain attributes of the array's group, then of the array, then what a side-car file says. */
void ShardedZarrDataset::ReadMetadata()
{
    if (m_metadataRead)
        return;
    m_metadataRead = true;
    ReadGeoref(); // AREA_OR_POINT
    CPLStringList md;
    struct zs_error err;
    const std::unique_ptr<char, decltype(&free)> parent(
        m_store->hierarchy != nullptr ? zs_path_parent(m_node->path) : nullptr, free);
    const struct zs_node *group = nullptr;
    char **items = nullptr;
    if (parent != nullptr && zs_hierarchy_node(m_store->hierarchy, parent.get(), &group, &err) == ZS_OK &&
        zs_group_metadata_read(group, &items, &err) == ZS_OK)
    {
        const ZSOwned<char *> itemsFreed(items, zs_metadata_free);
        for (char **item = items; item != nullptr && *item != nullptr; item++)
            md.AddString(*item);
    }
    md = CSLMerge(md.StealList(), Meaning().metadata);
    AddAxisMetadata(md);
    m_fromStore = md;
    md = CSLMerge(md.StealList(), GDALPamDataset::GetMetadata());
    GDALMajorObject::SetMetadata(md.List());
}

void ShardedZarrDataset::AddDomains(const char *domain)
{
    if (m_domainsAdded || (domain != nullptr && !zsIsStoredDomain(domain)))
        return;
    m_domainsAdded = true;
    zsAddDomains(*this, Meaning().domains);
}

void ShardedZarrDataset::ReadLabels()
{
    const std::lock_guard<std::mutex> guard(m_shared->lock);
    if (m_shared->labelsRead)
        return;
    const auto dims = static_cast<size_t>(Slices().dim_count);
    std::vector<std::vector<std::string>> values(dims);
    std::vector<std::string> units(dims);
    bool speak = false;
    for (size_t i = 0; i < dims && m_store->hierarchy != nullptr; i++)
    {
        struct zs_labels labels = {};
        const std::unique_ptr<struct zs_labels, void (*)(struct zs_labels *)> cleared(&labels, zs_labels_clear);
        struct zs_error err;
        const int d = Slices().dims[i];
        if (zs_labels_read(m_store->hierarchy, m_node, d, Slices().first[d], Slices().sizes[i], &labels, &err) != ZS_OK)
            zsReport(err);
        else if (labels.values != nullptr)
            values[i].assign(labels.values, labels.values + labels.count);
        if (labels.unit != nullptr)
            units[i] = labels.unit;
        speak = speak || (labels.values != nullptr && !labels.is_index);
    }
    m_shared->labels = std::move(values);
    m_shared->labelUnits = std::move(units);
    m_shared->labelsSpeak = speak;
    m_shared->labelsRead = true;
}

static bool isStructure(const char *domain)
{
    return domain != nullptr && EQUAL(domain, IMAGE_STRUCTURE);
}

CPLStringList &ShardedZarrDataset::Structure()
{
    if (!m_structure.empty())
        return m_structure;
    const struct zs_array_info info = zs_array_get_info(m_array);
    bool holdsBands = false;
    for (int i = 0; i < Slices().dim_count; i++)
        holdsBands = holdsBands || (info.chunk_shape[Slices().dims[i]] > 1 && Slices().sizes[i] > 1);
    const char *compression = zs_compression_name(m_node->array);
    m_structure = CSLDuplicate(GDALPamDataset::GetMetadata(IMAGE_STRUCTURE));
    m_structure.SetNameValue("INTERLEAVE", holdsBands ? "PIXEL" : "BAND");
    if (compression != nullptr)
        m_structure.SetNameValue("COMPRESSION", compression);
    return m_structure;
}

char **ShardedZarrDataset::GetMetadataDomainList()
{
    ReadMetadata();
    AddDomains(nullptr);
    AddGeolocation();
    CPLStringList list(GDALPamDataset::GetMetadataDomainList());
    if (list.FindString(IMAGE_STRUCTURE) < 0)
        list.AddString(IMAGE_STRUCTURE);
    return list.StealList();
}

ZSMetadata ShardedZarrDataset::GetMetadata(const char *domain)
{
    if (isStructure(domain))
        return Structure().List();
    if (zsIsDefaultDomain(domain))
        ReadMetadata();
    else if (EQUAL(domain, "GEOLOCATION"))
        AddGeolocation();
    else
        AddDomains(domain);
    return GDALPamDataset::GetMetadata(domain);
}

const char *ShardedZarrDataset::GetMetadataItem(const char *name, const char *domain)
{
    if (isStructure(domain))
        return Structure().FetchNameValue(name);
    if (zsIsDefaultDomain(domain))
        ReadMetadata();
    else if (EQUAL(domain, "GEOLOCATION"))
        AddGeolocation();
    else
        AddDomains(domain);
    return GDALPamDataset::GetMetadataItem(name, domain);
}

CPLErr ShardedZarrDataset::SetMetadata(ZSMetadataArg metadata, const char *domain)
{
    AddDomains(zsIsDefaultDomain(domain) ? nullptr : domain);
    m_structure.Clear();
    if (!IsUpdate() || !(zsIsDefaultDomain(domain) || zsIsStoredDomain(domain)))
        return GDALPamDataset::SetMetadata(metadata, domain);
    ReadMetadata();
    m_metadataChanged = true;
    return GDALMajorObject::SetMetadata(metadata, domain);
}

CPLErr ShardedZarrDataset::SetMetadataItem(const char *name, const char *value, const char *domain)
{
    AddDomains(zsIsDefaultDomain(domain) ? nullptr : domain);
    m_structure.Clear();
    if (!IsUpdate() || !(zsIsDefaultDomain(domain) || zsIsStoredDomain(domain)))
        return GDALPamDataset::SetMetadataItem(name, value, domain);
    ReadMetadata();
    if (zsIsDefaultDomain(domain) && EQUAL(name, GDALMD_AREA_OR_POINT))
    {
        m_georef.pixel_is_point = value != nullptr && EQUAL(value, GDALMD_AOP_POINT);
        m_georefChanged = true;
    }
    m_metadataChanged = true;
    return GDALMajorObject::SetMetadataItem(name, value, domain);
}

char **ShardedZarrDataset::GetFileList()
{
    const std::string root = m_store->store->root;
    CPLStringList files;
    files.AddString((root + "/zarr.json").c_str());
    if (strcmp(m_node->key, "zarr.json") != 0 && !zs_hierarchy_is_consolidated(m_store->hierarchy))
        files.AddString((root + "/" + m_node->key).c_str());
    if (m_store->store->is_remote)
        return files.StealList();
    // GDAL adds the store once more, under the name by which it was opened, and a side-car file.
    const CPLStringList others(GDALPamDataset::GetFileList());
    for (int i = 0; i < others.size(); i++)
    {
        if (zsEndsWith(others[i], ".aux.xml"))
            files.AddString(others[i]);
    }
    VSIStatBufL st;
    const std::string external = zsExternalOverviews(m_beside);
    if (!m_beside.empty() && VSIStatExL(external.c_str(), &st, VSI_STAT_EXISTS_FLAG) == 0)
        files.AddString(external.c_str());
    return files.StealList();
}

/* ---- Writing what changed ---- */

/* Never null: GDAL would remove the side-car file, which may be of other arrays, too. */
CPLXMLNode *ShardedZarrDataset::SerializeToXML(const char *path)
{
    const CPLStringList all(CSLDuplicate(GDALMajorObject::GetMetadata()));
    GDALMajorObject::SetMetadata(zsItemsNotIn(all.List(), m_fromStore).List());
    const ZSDomainsAside aside(*this, Meaning().domains);
    CPLXMLNode *tree = GDALPamDataset::SerializeToXML(path);
    GDALMajorObject::SetMetadata(const_cast<char **>(all.List()));
    return tree != nullptr ? tree : CPLCreateXMLNode(nullptr, CXT_Element, "PAMDataset");
}

/* Before the first pixel: what is not written shall read as the nodata value that was set, as in other drivers. */
CPLErr ShardedZarrDataset::SettleFillValue()
{
    m_isBlank = false;
    const struct zs_meaning &first = Band(1).Meaning();
    const size_t size = zs_array_get_info(m_array).item_size;
    bool same = first.has_nodata && memcmp(first.nodata, zs_array_get_info(m_array).fill_value, size) != 0;
    for (int b = 2; b <= nBands && same; b++)
    {
        const struct zs_meaning &m = Band(b).Meaning();
        same = m.has_nodata && memcmp(m.nodata, first.nodata, size) == 0;
    }
    if (!same)
        return CE_None;
    struct zs_error err;
    struct zs_array *array = nullptr;
    const struct zs_array_options options = {m_options.threads, m_options.cache_bytes, m_options.max_chunk_bytes,
                                             m_options.merge_gap, m_options.update};
    const struct zs_node *node = nullptr;
    if (zs_update_fill_value(m_store->hierarchy, m_node, first.nodata, &node, &err) != ZS_OK ||
        zs_array_open_node(m_store->hierarchy, node, &options, &array, &err) != ZS_OK)
    {
        zsReport(err);
        return CE_Failure;
    }
    zs_array_set_order(array, zs_array_chunk_order(m_array));
    m_shared = std::make_shared<ZSArray>(node, array, m_axes, true);
    m_array = m_slices.front().array = array;
    m_node = node;
    return CE_None;
}

CPLErr ShardedZarrDataset::WriteMetadata()
{
    if (m_isBlank && m_bandsChanged && SettleFillValue() != CE_None)
        return CE_Failure;
    if (!m_georefChanged && !m_metadataChanged && !m_bandsChanged)
        return CE_None;
    struct zs_hierarchy *h = m_store->hierarchy;
    struct zs_error err;
    enum zs_status status = ZS_OK;
    ZSOverlap overlap;
    if (!overlap.Begin(*m_store))
        return CE_Failure;
    if (m_georefChanged)
    {
        struct zs_georef_update update = {};
        update.has_transform = m_georef.has_transform;
        memcpy(update.transform, m_georef.transform, sizeof update.transform);
        update.pixel_is_point = m_georef.pixel_is_point;
        update.srs = m_georef.srs;
        status = zs_update_georef(h, m_node, m_axes, &update, &err);
    }
    if (status == ZS_OK && m_metadataChanged)
    {
        CPLStringList md(CSLDuplicate(GDALMajorObject::GetMetadata()));
        md.SetNameValue(GDALMD_AREA_OR_POINT, nullptr);
        RemoveAxisMetadata(md);
        status = zs_update_metadata(h, m_node, md.List(), &err);
        AddDomains(nullptr);
        zs_domains_clear(&m_meaning.domains);
        m_meaning.domains = zsDomainsOf(*this);
        if (status == ZS_OK)
            status = zs_update_domains(h, m_node, &m_meaning.domains, &err);
    }
    if (status == ZS_OK && m_bandsChanged && m_choices.empty())
    {
        std::vector<struct zs_meaning> bands;
        for (int b = 1; b <= nBands; b++)
            bands.push_back(Band(b).CurrentMeaning());
        const size_t size = zs_array_get_info(m_array).item_size;
        bool same = true;
        for (const auto &m : bands)
            same = same && m.has_nodata == bands[0].has_nodata &&
                   (!m.has_nodata || memcmp(m.nodata, bands[0].nodata, size) == 0);
        if (same)
            status = zs_update_nodata(h, m_node, m_axes, bands[0].has_nodata ? bands[0].nodata : nullptr, &err);
        if (status == ZS_OK)
            status = zs_update_bands(h, m_node, m_axes, bands.data(), bands.size(), &err);
    }
    if (status == ZS_OK)
        status = zs_update_flush(h, &err);
    if (status != ZS_OK)
    {
        zsReport(err);
        return CE_Failure;
    }
    if (!overlap.End())
        return CE_Failure;
    // What is in the store now need not be in a side-car file; statistics there must not outlive those of the store.
    if (m_metadataChanged)
        m_fromStore = CSLDuplicate(GDALMajorObject::GetMetadata());
    for (int b = 1; b <= nBands && m_bandsChanged; b++)
    {
        if (!Band(b).m_metadataAdded)
            continue;
        Band(b).m_fromStore = CSLDuplicate(Band(b).GDALMajorObject::GetMetadata());
        if (Band(b).m_sideCarHasStatistics)
            MarkPamDirty();
        Band(b).m_sideCarHasStatistics = false;
    }
    m_georefChanged = m_metadataChanged = m_bandsChanged = false;
    return CE_None;
}

/* ---- Statistics ---- */

CPLErr ShardedZarrDataset::AddStatistics(GDALProgressFunc progress, void *progressData)
{
    // With several threads GDAL 3.13 leaves pixels out where blocks are small, those of a GeoTIFF too.
    const CPLConfigOptionSetter oneThread("GDAL_NUM_THREADS", "1", false);
    for (int b = 1; b <= nBands; b++)
    {
        const ZSScaledProgress scaled(static_cast<double>(b - 1) / nBands, static_cast<double>(b) / nBands, progress,
                                      progressData);
        CPLErr result;
        std::string message;
        {
            const CPLErrorStateBackuper kept;
            const CPLErrorHandlerPusher quiet(CPLQuietErrorHandler);
            result = GetRasterBand(b)->ComputeStatistics(false, nullptr, nullptr, nullptr, nullptr, GDALScaledProgress,
                                                         scaled.Part());
            message = CPLGetLastErrorMsg();
        }
        if (result == CE_None || message.find("no valid pixels") != std::string::npos)
            continue;
        CPLError(CE_Failure, CPLE_AppDefined, "%s: statistics of band %d: %s", GetDescription(), b, message.c_str());
        return CE_Failure;
    }
    return CE_None;
}
