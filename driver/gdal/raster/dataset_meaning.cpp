/* Georeferencing and metadata of a dataset, read from the store's conventions. */
#include <algorithm>

#include "choices.h"
#include "dataset.h"
#include "gdal/files.h"
#include "gdal/guard.h"
#include "healpix_map.h"
#include "source_axes.h"

extern "C"
{
#include "codec/compression.h"
#include "geo/coordinates.h"
#include "geo/place.h"
}

static const char IMAGE_STRUCTURE[] = "IMAGE_STRUCTURE", SUBDATASETS[] = "SUBDATASETS";

/* ---- Georeferencing ---- */

const OGRSpatialReference *ShardedZarrDataset::GetSpatialRef() const
{
    const struct zs_georef &georef = m_georef->Get();
    const OGRSpatialReference *beside = GDALPamDataset::GetSpatialRef();
    return beside != nullptr ? beside : OGRSpatialReference::FromHandle(georef.srs);
}

CPLErr ShardedZarrDataset::SetSpatialRef(const OGRSpatialReference *srs)
{
    if (!IsUpdate())
        return GDALPamDataset::SetSpatialRef(srs);
    if (GDALPamDataset::GetSpatialRef() != nullptr)
        GDALPamDataset::SetSpatialRef(nullptr);
    return m_georef->SetSrs(srs, m_isBlank);
}

CPLErr ShardedZarrDataset::GetGeoTransform(ZS_GET_GEOTRANSFORM_ARG transform) ZS_GEOTRANSFORM_CONST
{
    if (GDALPamDataset::GetGeoTransform(transform) == CE_None)
        return CE_None;
    const struct zs_georef &georef = m_georef->Get();
    // Times of rows and ranges of columns are regular, too, but no place: control points are.
    if (!georef.has_transform || (!m_georef->IsPending() && HasGCPs()))
        return GDALPamDataset::GetGeoTransform(transform);
    for (int i = 0; i < 6; i++)
        transform[i] = georef.transform[i];
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
    return m_georef->SetTransform(numbers);
}

bool ShardedZarrDataset::HasGCPs() const
{
    return !m_isOverview && !m_isMask && !m_georef->GCPs().empty();
}

int ShardedZarrDataset::GetGCPCount()
{
    const int beside = GDALPamDataset::GetGCPCount();
    return beside > 0 || !HasGCPs() ? beside : static_cast<int>(m_georef->GCPs().size());
}

const OGRSpatialReference *ShardedZarrDataset::GetGCPSpatialRef() const
{
    const bool isBeside = const_cast<ShardedZarrDataset *>(this)->GDALPamDataset::GetGCPCount() > 0;
    return isBeside || !HasGCPs() ? GDALPamDataset::GetGCPSpatialRef() : &m_georef->GCPSrs();
}

const GDAL_GCP *ShardedZarrDataset::GetGCPs()
{
    return GDALPamDataset::GetGCPCount() > 0 || !HasGCPs() ? GDALPamDataset::GetGCPs() : m_georef->GCPs().data();
}

void ShardedZarrDataset::AddGeolocation()
{
    const CPLStringList items = m_geolocationAdded ? CPLStringList() : m_georef->Geolocation();
    m_geolocationAdded = true;
    if (!items.empty())
        GDALMajorObject::SetMetadata(const_cast<char **>(items.List()), "GEOLOCATION");
}

/* ---- Metadata ---- */

/* "time#units" is what the netCDF driver calls the attribute `units` of the coordinate variable `time`. */
static std::string axisPrefix(const struct zs_node *node, int dim)
{
    const char *name = zs_dimension_name(node, dim);
    return name != nullptr ? std::string(name) + "#" : "";
}

/* Where a slice is in a dimension that does not become bands: what the bands of the whole say of themselves. */
void ShardedZarrDataset::AddFixedPlace(CPLStringList &md, size_t source, int dim)
{
    const struct zs_node *node = m_view.Array(source).node;
    const std::string key = "DIM_" + zsDimensionName(node, dim);
    const uint64_t index = m_view.Slices(source).first[dim];
    struct zs_labels labels = {};
    struct zs_error err;
    zsSetItem(md, (key + "_INDEX").c_str(), std::to_string(index).c_str());
    if (m_view.store->hierarchy == nullptr)
        return;
    if (zs_labels_read(m_view.store->hierarchy, node, dim, index, 1, &labels, &err) != ZS_OK)
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
    const struct zs_node *node = m_view.Array(source).node;
    const struct zs_slices &slices = m_view.Slices(source);
    for (const int d : fixedDimensions(slices))
        AddFixedPlace(md, source, d);
    std::string all;
    for (int i = 0; i < slices.dim_count; i++)
    {
        const int d = slices.dims[i];
        const char *name = zs_dimension_name(node, d);
        all += (all.empty() ? "" : ",") + std::string(name != nullptr ? name : "dim" + std::to_string(d));
    }
    if (slices.dim_count > 1 && m_view.sources.size() == 1) // else bands are not of these dimensions alone
        zsSetItem(md, ZS_EXTRA_DIMENSIONS, ("{" + all + "}").c_str());
    for (int i = 0; i < slices.dim_count; i++)
    {
        const int d = slices.dims[i];
        const std::string prefix = axisPrefix(node, d);
        char **items = nullptr;
        struct zs_error err;
        if (m_view.store->hierarchy == nullptr || prefix.empty())
            continue;
        if (zs_label_attributes(m_view.store->hierarchy, node, d, &items, &err) != ZS_OK)
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
    for (size_t source = 0; source < m_view.sources.size(); source++)
        AddAxisItems(items, source);
    return items;
}

CPLStringList ShardedZarrDataset::ItemsToWrite()
{
    CPLStringList items = zsItemsNotIn(GDALMajorObject::GetMetadata(), AxisItems().List());
    const ZSArray &array = m_view.Array(0);
    if (array.axes.y < 0 ||
        zs_place_has_registration(m_view.store->hierarchy, array.node, array.axes, m_georef->Get().has_transform))
        zsSetItem(items, GDALMD_AREA_OR_POINT, nullptr);
    return items;
}

/* The group that the array is directly in, null where there is none. */
const struct zs_node *ShardedZarrDataset::GroupAbove() const
{
    struct zs_error err;
    const std::unique_ptr<char, decltype(&free)> parent(
        m_view.store->hierarchy != nullptr ? zs_path_parent(m_view.Array(0).node->path) : nullptr, free);
    const struct zs_node *group = nullptr;
    const bool isThere =
        parent != nullptr && zs_hierarchy_node(m_view.store->hierarchy, parent.get(), &group, &err) == ZS_OK;
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
    CPLStringList md = ItemsAbove();
    if (m_view.IsGroup())
        SortItems();
    md = zsMergeItems(md.List(), m_view.IsGroup() ? m_commonItems.List() : m_view.Meaning(0).metadata);
    m_fromStore = zsMergeItems(AxisItems().List(), md.List());
    if (m_georef->Get().pixel_is_point)
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
    for (size_t i = 0; i < m_view.sources.size(); i++)
    {
        const struct zs_domains &own = m_view.Meaning(i).domains;
        for (size_t k = 0; k < own.count; k++)
        {
            const struct zs_domain *known = m_domains.list, *end = known + m_domains.count;
            if (std::none_of(known, end, [&](const struct zs_domain &d) { return EQUAL(d.name, own.list[k].name); }) &&
                !zs_domains_add(&m_domains, own.list[k].name, own.list[k].items))
                CPLError(CE_Failure, CPLE_OutOfMemory, "no memory for metadata domain %s", own.list[k].name);
        }
    }
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
    const struct zs_array_info info = m_view.Info(0);
    const struct zs_slices &slices = m_view.Slices(0);
    bool holdsBands = false;
    for (int i = 0; i < slices.dim_count && m_view.sources.size() == 1; i++)
        holdsBands = holdsBands || (info.chunk_shape[slices.dims[i]] > 1 && slices.sizes[i] > 1);
    const char *compression = zs_compression_name(m_view.Array(0).node->array);
    for (const auto &source : m_view.sources)
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
    const bool isShared = std::all_of(m_view.sources.begin(), m_view.sources.end(), [&](const ZSBandSource &source)
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
        m_georef->SetPixelIsPoint(EQUAL(registration, GDALMD_AOP_POINT));
    else if (m_georef->Get().pixel_is_point) // a list without it leaves it as it is, as in GTiff
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
        m_georef->SetPixelIsPoint(value != nullptr && EQUAL(value, GDALMD_AOP_POINT)); // without one: areas
    m_metadataChanged = true;
    m_domainsChanged = m_domainsChanged || !zsIsDefaultDomain(domain);
    return GDALMajorObject::SetMetadataItem(name, value, domain);
}

char **ShardedZarrDataset::GetFileList()
{
    const std::string root = m_view.store->store->root;
    CPLStringList files;
    files.AddString(m_view.store->Entry().c_str());
    std::vector<const struct zs_node *> nodes;
    if (m_view.IsGroup())
        nodes.push_back(m_view.group);
    for (const auto &source : m_view.sources)
        nodes.push_back(source.array->node);
    for (const auto *node : nodes)
    {
        if (strcmp(node->key, "zarr.json") != 0 && !zs_hierarchy_is_consolidated(m_view.store->hierarchy))
            files.AddString((root + "/" + node->key).c_str());
    }
    if (m_view.store->store->is_remote || m_view.store->store->is_snapshot)
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
    const CPLStringList all(CSLDuplicate(GDALMajorObject::GetMetadata()));
    GDALMajorObject::SetMetadata(zsItemsNotIn(all.List(), m_fromStore.List()).List());
    KeepDomains();
    const ZSDomainsAside aside(*this, m_domains);
    CPLXMLNode *tree = GDALPamDataset::SerializeToXML(path);
    zsItemsToXML(*this, tree);
    GDALMajorObject::SetMetadata(const_cast<char **>(all.List()));
    return tree != nullptr ? tree : CPLCreateXMLNode(nullptr, CXT_Element, "PAMDataset");
}
