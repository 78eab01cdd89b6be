/* Georeferencing and metadata of a dataset, read from the store's conventions. */
#include <algorithm>

#include "choices.h"
#include "dataset.h"
#include "domains.h"
#include "gdal/files.h"
#include "gdal/guard.h"
#include "healpix_map.h"
#include "source_axes.h"

extern "C"
{
#include "codec/description.h"
#include "geo/coordinates.h"
#include "geo/place.h"
}

static const char IMAGE_STRUCTURE[] = "IMAGE_STRUCTURE", SUBDATASETS[] = "SUBDATASETS";

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
    if (IsHealpix())
    {
        zsHealpixGeoref(Array(0).healpix, m_sources[0].shown, m_georef);
        return;
    }
    ZSArray &first = *m_sources.front().array; // the others lie where it does
    const std::lock_guard<std::mutex> guard(first.lock);
    const auto &shared = first.georef;
    struct zs_error err;
    if (!first.georefRead)
        first.georefFailed = zs_georef_read(m_store->hierarchy, first.node, first.axes, &first.georef, &err) != ZS_OK;
    if (!first.georefRead && first.georefFailed)
        zsReport(err);
    if (!first.georefRead && shared.left_out != nullptr)
        CPLError(CE_Warning, CPLE_AppDefined, "/%s: too large for a coordinate variable; it is not used",
                 shared.left_out);
    first.georefRead = true;
    // A copy for each dataset: an OGRSpatialReference is for one thread at a time, even when it is only read.
    m_georef = shared;
    m_georef.srs = shared.srs != nullptr ? OSRClone(shared.srs) : nullptr;
    m_georef.geolocation_x = copyText(shared.geolocation_x);
    m_georef.geolocation_y = copyText(shared.geolocation_y);
    m_georef.left_out = nullptr;
    if (m_georef.pixel_is_point && GDALMajorObject::GetMetadataItem(GDALMD_AREA_OR_POINT) == nullptr) // of a side-car
        GDALMajorObject::SetMetadataItem(GDALMD_AREA_OR_POINT, GDALMD_AOP_POINT);
}

bool ShardedZarrDataset::HasIrregularAxes()
{
    ReadGeoref();
    const ZSArray &array = Array(0);
    const auto has = [&](int dim)
    { return dim >= 0 && zs_coordinate_find(m_store->hierarchy, array.node, dim) != nullptr; };
    return !IsHealpix() && !m_georef.has_transform && (has(array.axes.x) || has(array.axes.y));
}

const OGRSpatialReference *ShardedZarrDataset::GetSpatialRef() const
{
    const_cast<ShardedZarrDataset *>(this)->ReadGeoref();
    const OGRSpatialReference *beside = GDALPamDataset::GetSpatialRef();
    return beside != nullptr ? beside : OGRSpatialReference::FromHandle(m_georef.srs);
}

CPLErr ShardedZarrDataset::SetSpatialRef(const OGRSpatialReference *srs)
{
    if (!IsUpdate())
        return GDALPamDataset::SetSpatialRef(srs);
    if (GDALPamDataset::GetSpatialRef() != nullptr)
        GDALPamDataset::SetSpatialRef(nullptr);
    if (IsHealpix())
        return SetCellPlane(srs);
    ReadGeoref();
    if (m_georef.srs != nullptr)
        OSRDestroySpatialReference(m_georef.srs);
    m_georef.srs = srs != nullptr && !srs->IsEmpty() ? OGRSpatialReference::ToHandle(srs->Clone()) : nullptr;
    m_georefChanged |= CRS;
    return CE_None;
}

CPLErr ShardedZarrDataset::GetGeoTransform(ZS_GET_GEOTRANSFORM_ARG transform) ZS_GEOTRANSFORM_CONST
{
    auto *self = const_cast<ShardedZarrDataset *>(this);
    if (GDALPamDataset::GetGeoTransform(transform) == CE_None)
        return CE_None;
    self->ReadGeoref();
    // Times of rows and ranges of columns are regular, too, but no place: control points are.
    if (!m_georef.has_transform || (m_georefChanged == 0 && self->HasGCPs()))
        return GDALPamDataset::GetGeoTransform(transform);
    for (int i = 0; i < 6; i++)
        transform[i] = m_georef.transform[i];
    return CE_None;
}

CPLErr ShardedZarrDataset::SetGeoTransform(ZS_SET_GEOTRANSFORM_ARG transform)
{
    if (!IsUpdate())
        return GDALPamDataset::SetGeoTransform(transform);
    if (m_hasSideCar)
        DeleteGeoTransform();
    ReadGeoref();
    double numbers[6];
    for (int i = 0; i < 6; i++)
        numbers[i] = transform[i];
    if (IsHealpix())
        return CheckCellTransform(numbers);
    std::copy(numbers, numbers + 6, m_georef.transform);
    m_georef.has_transform = true;
    m_georefChanged |= TRANSFORM;
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

const struct zs_meaning &ShardedZarrDataset::Meaning(size_t source)
{
    auto &meaning = m_meanings[source];
    if (meaning == nullptr)
    {
        meaning.reset(new zs_meaning{});
        struct zs_error err;
        if (zs_meaning_read(Array(source).node, meaning.get(), &err) != ZS_OK)
            zsReport(err);
        if (IsHealpix())
            AddNaN(*meaning, Info(source));
    }
    return *meaning;
}

/* "time#units" is what the netCDF driver calls the attribute `units` of the coordinate variable `time`. */
static std::string axisPrefix(const struct zs_node *node, int dim)
{
    const char *name = zs_dimension_name(node, dim);
    return name != nullptr ? std::string(name) + "#" : "";
}

/* Where a slice is in a dimension that does not become bands: what the bands of the whole say of themselves. */
void ShardedZarrDataset::AddFixedPlace(CPLStringList &md, size_t source, int dim)
{
    const struct zs_node *node = Array(source).node;
    const std::string key = "DIM_" + zsDimensionName(node, dim);
    const uint64_t index = Slices(source).first[dim];
    struct zs_labels labels = {};
    struct zs_error err;
    zsSetItem(md, (key + "_INDEX").c_str(), std::to_string(index).c_str());
    if (m_store->hierarchy == nullptr)
        return;
    if (zs_labels_read(m_store->hierarchy, node, dim, index, 1, &labels, &err) != ZS_OK)
        zsReport(err);
    const ZSOwned<struct zs_labels> cleared(&labels, zs_labels_clear);
    if (labels.values != nullptr)
        zsSetItem(md, (key + "_VALUE").c_str(), labels.values[0]);
    if (labels.values != nullptr && labels.unit != nullptr)
        zsSetItem(md, (key + "_UNIT").c_str(), labels.unit);
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

void ShardedZarrDataset::AddAxisItems(CPLStringList &md, size_t source)
{
    const struct zs_node *node = Array(source).node;
    const struct zs_slices &slices = Slices(source);
    for (const int d : fixedDimensions(slices))
        AddFixedPlace(md, source, d);
    std::string all;
    for (int i = 0; i < slices.dim_count; i++)
    {
        const int d = slices.dims[i];
        const char *name = zs_dimension_name(node, d);
        all += (all.empty() ? "" : ",") + std::string(name != nullptr ? name : "dim" + std::to_string(d));
    }
    if (slices.dim_count > 1 && m_sources.size() == 1) // else bands are not of these dimensions alone
        zsSetItem(md, ZS_EXTRA_DIMENSIONS, ("{" + all + "}").c_str());
    for (int i = 0; i < slices.dim_count; i++)
    {
        const int d = slices.dims[i];
        const std::string prefix = axisPrefix(node, d);
        char **items = nullptr;
        struct zs_error err;
        if (m_store->hierarchy == nullptr || prefix.empty())
            continue;
        if (zs_label_attributes(m_store->hierarchy, node, d, &items, &err) != ZS_OK)
            zsReport(err);
        const ZSOwned<char *> itemsFreed(items, zs_metadata_free);
        for (char **item = items; item != nullptr && *item != nullptr; item++)
        {
            const std::string text = prefix + *item;
            if (!zsHasItem(md.List(), text.c_str())) // another array may have that dimension, too
                md.AddString(text.c_str());
        }
    }
}

CPLStringList ShardedZarrDataset::AxisItems()
{
    CPLStringList items;
    for (size_t source = 0; source < m_sources.size(); source++)
        AddAxisItems(items, source);
    return items;
}

CPLStringList ShardedZarrDataset::ItemsToWrite()
{
    CPLStringList items = zsItemsNotIn(GDALMajorObject::GetMetadata(), AxisItems().List());
    const ZSArray &array = Array(0);
    if (array.axes.y < 0 ||
        zs_place_has_registration(m_store->hierarchy, array.node, array.axes, m_georef.has_transform))
        zsSetItem(items, GDALMD_AREA_OR_POINT, nullptr);
    return items;
}

/* The group that the array is directly in, null where there is none. */
const struct zs_node *ShardedZarrDataset::GroupAbove() const
{
    struct zs_error err;
    const std::unique_ptr<char, decltype(&free)> parent(
        m_store->hierarchy != nullptr ? zs_path_parent(Array(0).node->path) : nullptr, free);
    const struct zs_node *group = nullptr;
    const bool isThere =
        parent != nullptr && zs_hierarchy_node(m_store->hierarchy, parent.get(), &group, &err) == ZS_OK;
    return isThere ? group : nullptr;
}

/* Plain attributes of the group, then of the array, or what all arrays say alike, then what a side-car file says. */
CPLStringList ShardedZarrDataset::ItemsAbove() const
{
    CPLStringList above;
    struct zs_error err;
    const struct zs_node *group = GroupAbove();
    char **items = nullptr;
    if (group != nullptr && zs_group_metadata_read(group, &items, &err) == ZS_OK)
    {
        const ZSOwned<char *> itemsFreed(items, zs_metadata_free);
        for (char **item = items; item != nullptr && *item != nullptr; item++)
            above.AddString(*item);
    }
    return above;
}

void ShardedZarrDataset::ReadMetadata()
{
    if (m_metadataRead)
        return;
    m_metadataRead = true;
    ReadGeoref(); // AREA_OR_POINT
    CPLStringList md = ItemsAbove();
    if (IsGroup())
        SortItems();
    md = zsMergeItems(md.List(), IsGroup() ? m_commonItems.List() : Meaning(0).metadata);
    m_fromStore = zsMergeItems(AxisItems().List(), md.List());
    if (m_georef.pixel_is_point)
        zsSetItem(m_fromStore, GDALMD_AREA_OR_POINT, GDALMD_AOP_POINT);
    GDALMajorObject::SetMetadata(zsMergeItems(m_fromStore.List(), GDALPamDataset::GetMetadata()).List());
}

void ShardedZarrDataset::AddDomains(const char *domain)
{
    if (m_domainsAdded || (domain != nullptr && !zsIsStoredDomain(domain)))
        return;
    m_domainsAdded = true;
    KeepDomains();
    zsAddDomains(*this, m_domains);
}

/* Those of the first array that has one of the name. */
void ShardedZarrDataset::KeepDomains()
{
    for (size_t i = 0; i < m_sources.size(); i++)
    {
        const struct zs_domains &own = Meaning(i).domains;
        for (size_t k = 0; k < own.count; k++)
        {
            const struct zs_domain *known = m_domains.list, *end = known + m_domains.count;
            if (std::none_of(known, end, [&](const struct zs_domain &d) { return EQUAL(d.name, own.list[k].name); }) &&
                !zs_domains_add(&m_domains, own.list[k].name, own.list[k].items))
                CPLError(CE_Failure, CPLE_OutOfMemory, "no memory for metadata domain %s", own.list[k].name);
        }
    }
}

/* Whether the slices of two arrays are the same places in dimensions of the same names, whose coordinates arrays of one
 * group share. */
static bool haveSameDimensions(const ZSArray &a, const struct zs_slices &s, const ZSArray &b, const struct zs_slices &t)
{
    bool same = s.dim_count == t.dim_count;
    for (int i = 0; i < s.dim_count && same; i++)
    {
        const char *p = zs_dimension_name(a.node, s.dims[i]), *q = zs_dimension_name(b.node, t.dims[i]);
        same = p != nullptr && q != nullptr && strcmp(p, q) == 0 && s.sizes[i] == t.sizes[i] &&
               s.first[s.dims[i]] == t.first[t.dims[i]];
    }
    return same;
}

void ShardedZarrDataset::ReadLabels(size_t source)
{
    for (size_t other = 0; other < source && Slices(source).dim_count > 0; other++)
    {
        if (!haveSameDimensions(Array(other), Slices(other), Array(source), Slices(source)))
            continue;
        ReadLabels(other);
        m_sources[source].array->TakeLabels(*m_sources[other].array);
        return;
    }
    ZSArray &array = *m_sources[source].array;
    const struct zs_slices &slices = Slices(source);
    const std::lock_guard<std::mutex> guard(array.lock);
    if (array.labelsRead)
        return;
    const auto dims = static_cast<size_t>(slices.dim_count);
    std::vector<std::vector<std::string>> values(dims);
    std::vector<std::string> units(dims);
    bool speak = false;
    for (size_t i = 0; i < dims && m_store->hierarchy != nullptr; i++)
    {
        struct zs_labels labels = {};
        const std::unique_ptr<struct zs_labels, void (*)(struct zs_labels *)> cleared(&labels, zs_labels_clear);
        struct zs_error err;
        const int d = slices.dims[i];
        if (zs_labels_read(m_store->hierarchy, array.node, d, slices.first[d], slices.sizes[i], &labels, &err) != ZS_OK)
            zsReport(err);
        else if (labels.values != nullptr)
            values[i].assign(labels.values, labels.values + labels.count);
        if (labels.unit != nullptr)
            units[i] = labels.unit;
        speak = speak || (labels.values != nullptr && !labels.is_index);
    }
    array.labels = std::move(values);
    array.labelUnits = std::move(units);
    array.labelsSpeak = speak;
    array.labelsRead = true;
}

static bool isStructure(const char *domain)
{
    return domain != nullptr && EQUAL(domain, IMAGE_STRUCTURE);
}

static bool isSubdatasets(const char *domain)
{
    return domain != nullptr && EQUAL(domain, SUBDATASETS);
}

/* As the creation option SHARD_SHAPE has it; "" without shards, and where they differ. */
static std::string shardShape(const struct zs_array_info &info)
{
    std::string s;
    for (int d = 0; d < info.ndim && info.is_sharded && !info.has_edges; d++)
        s += (s.empty() ? "" : ",") + std::to_string(info.shard_shape[d]);
    return s;
}

CPLStringList &ShardedZarrDataset::Structure()
{
    if (!m_structure.empty())
        return m_structure;
    const struct zs_array_info info = Info(0);
    const struct zs_slices &slices = Slices(0);
    bool holdsBands = false;
    for (int i = 0; i < slices.dim_count && m_sources.size() == 1; i++)
        holdsBands = holdsBands || (info.chunk_shape[slices.dims[i]] > 1 && slices.sizes[i] > 1);
    const char *compression = zs_compression_name(Array(0).node->array);
    for (const auto &source : m_sources)
    {
        const char *other = zs_compression_name(source.array->node->array);
        if (compression != nullptr && (other == nullptr || strcmp(other, compression) != 0))
            compression = nullptr;
    }
    m_structure = CSLDuplicate(GDALPamDataset::GetMetadata(IMAGE_STRUCTURE));
    m_structure.SetNameValue("INTERLEAVE", holdsBands ? "PIXEL" : "BAND");
    if (compression != nullptr)
        m_structure.SetNameValue("COMPRESSION", compression);
    const std::string shard = shardShape(info);
    const bool isShared = std::all_of(m_sources.begin(), m_sources.end(), [&](const ZSBandSource &source)
                                      { return shardShape(zs_array_get_info(source.array->array)) == shard; });
    if (!shard.empty() && isShared)
        m_structure.SetNameValue("SHARD_SHAPE", shard.c_str());
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
    if (!m_subdatasets.empty())
        list.AddString(SUBDATASETS);
    return list.StealList();
}

ZSMetadata ShardedZarrDataset::GetMetadata(const char *domain)
{
    if (isStructure(domain))
        return Structure().List();
    if (isSubdatasets(domain))
        return m_subdatasets.List();
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
    if (isSubdatasets(domain))
        return m_subdatasets.FetchNameValue(name);
    if (zsIsDefaultDomain(domain))
        ReadMetadata();
    else if (EQUAL(domain, "GEOLOCATION"))
        AddGeolocation();
    else
        AddDomains(domain);
    if (name == nullptr || (!zsIsDefaultDomain(domain) && !zsIsStoredDomain(domain)))
        return GDALPamDataset::GetMetadataItem(name, domain);
    return zsItemValueInAnyCase(GDALMajorObject::GetMetadata(domain), name);
}

/* Null: areas. */
void ShardedZarrDataset::SetRegistration(const char *registration)
{
    const bool isPoint = registration != nullptr && EQUAL(registration, GDALMD_AOP_POINT);
    if (isPoint != m_georef.pixel_is_point)
        m_georefChanged |= TRANSFORM;
    m_georef.pixel_is_point = isPoint;
}

CPLErr ShardedZarrDataset::SetMetadata(ZSMetadataArg metadata, const char *domain)
{
    AddDomains(zsIsDefaultDomain(domain) ? nullptr : domain);
    m_structure.Clear();
    if (!IsUpdate() || !(zsIsDefaultDomain(domain) || zsIsStoredDomain(domain)))
        return GDALPamDataset::SetMetadata(metadata, domain);
    ReadMetadata();
    m_metadataChanged = true;
    m_domainsChanged = m_domainsChanged || !zsIsDefaultDomain(domain);
    if (!zsIsDefaultDomain(domain))
        return GDALMajorObject::SetMetadata(metadata, domain);
    CPLStringList items(CSLDuplicate(const_cast<char **>(metadata)));
    const char *registration = zsItemValueInAnyCase(items.List(), GDALMD_AREA_OR_POINT);
    if (registration != nullptr)
        SetRegistration(registration);
    else if (m_georef.pixel_is_point) // a list without it leaves it as it is, as in GTiff
        zsSetItem(items, GDALMD_AREA_OR_POINT, GDALMD_AOP_POINT);
    return GDALMajorObject::SetMetadata(items.List());
}

CPLErr ShardedZarrDataset::SetMetadataItem(const char *name, const char *value, const char *domain)
{
    AddDomains(zsIsDefaultDomain(domain) ? nullptr : domain);
    ReadMetadata();
    if (zsIsItemMistaken(*this, name, domain))
        return SetMetadata(zsItemsWith(*this, name, value, domain).List(), domain);
    m_structure.Clear();
    if (!IsUpdate() || !(zsIsDefaultDomain(domain) || zsIsStoredDomain(domain)))
        return GDALPamDataset::SetMetadataItem(name, value, domain);
    if (zsIsDefaultDomain(domain) && EQUAL(name, GDALMD_AREA_OR_POINT))
        SetRegistration(value);
    m_metadataChanged = true;
    m_domainsChanged = m_domainsChanged || !zsIsDefaultDomain(domain);
    return GDALMajorObject::SetMetadataItem(name, value, domain);
}

char **ShardedZarrDataset::GetFileList()
{
    const std::string root = m_store->store->root;
    CPLStringList files;
    files.AddString(m_store->Entry().c_str());
    std::vector<const struct zs_node *> nodes;
    if (IsGroup())
        nodes.push_back(m_group);
    for (const auto &source : m_sources)
        nodes.push_back(source.array->node);
    for (const auto *node : nodes)
    {
        if (strcmp(node->key, "zarr.json") != 0 && !zs_hierarchy_is_consolidated(m_store->hierarchy))
            files.AddString((root + "/" + node->key).c_str());
    }
    if (m_store->store->is_remote || m_store->store->is_snapshot)
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

/* ---- The side-car file ---- */

CPLErr ShardedZarrDataset::XMLInit(ZSPamTree tree, const char *path)
{
    const CPLErr result = GDALPamDataset::XMLInit(tree, path);
    m_hasSideCar = true;
    zsItemsFromXML(tree, *this);
    return result;
}

/* What was learnt of a store that is gone is not said of another in its place. */
CPLErr ShardedZarrDataset::TrySaveXML()
{
    struct zs_error err;
    struct zs_object *root = nullptr;
    enum zs_status status = ZS_OK;
    if ((nPamFlags & GPF_DIRTY) != 0 && !m_store->store->is_remote)
        status = zs_object_open(m_store->store, "zarr.json", &root, &err);
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
    const CPLStringList all(CSLDuplicate(GDALMajorObject::GetMetadata()));
    GDALMajorObject::SetMetadata(zsItemsNotIn(all.List(), m_fromStore.List()).List());
    KeepDomains();
    const ZSDomainsAside aside(*this, m_domains);
    CPLXMLNode *tree = GDALPamDataset::SerializeToXML(path);
    zsItemsToXML(*this, tree);
    GDALMajorObject::SetMetadata(const_cast<char **>(all.List()));
    return tree != nullptr ? tree : CPLCreateXMLNode(nullptr, CXT_Element, "PAMDataset");
}
