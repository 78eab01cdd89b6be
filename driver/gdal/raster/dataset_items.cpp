#include "dataset.h"

#include <algorithm>
#include <utility>

#include "gdal/connection.h"
#include "gdal/create/copy.h"
#include "gdal/guard.h"

extern "C"
{
#include "codec/chain.h"
#include "geo/georef.h"
#include "raster/listing.h"
}

/* ---- Items of the coordinate variables of band dimensions, which the array does not have ---- */

void zsAddPosition(CPLStringList &items, const ZSView &view, size_t source, int dim, uint64_t index, const char *label,
                   const char *unit)
{
    const struct zs_node *node = view.Array(source).node;
    const std::string key = "DIM_" + zsDimensionName(node, dim);
    zsSetItem(items, (key + "_INDEX").c_str(), std::to_string(index).c_str());
    if (label != nullptr)
        zsSetItem(items, (key + "_VALUE").c_str(), label);
    if (label != nullptr && unit != nullptr && unit[0] != '\0')
        zsSetItem(items, (key + "_UNIT").c_str(), unit);
    if (const char *colour = zs_channel_colour(view.store->hierarchy, node, dim, index))
        zsSetItem(items, (key + "_COLOR").c_str(), colour);
}

/* Items for the position of a slice in a dimension that does not become bands: the bands of the whole array have the
 * same items. */
static void addFixedPosition(CPLStringList &md, const ZSView &view, size_t source, int dim)
{
    const uint64_t index = view.Slices(source).first[dim];
    struct zs_labels labels = {};
    struct zs_error err;
    if (zs_labels_read(view.store->hierarchy, view.Array(source).node, dim, index, 1, &labels, &err) != ZS_OK)
        zsReport(err);
    const ZSOwned<struct zs_labels> cleared(&labels, zs_labels_clear);
    zsAddPosition(md, view, source, dim, index, labels.values != nullptr ? labels.values[0] : nullptr, labels.unit);
}

static void addAxisItems(CPLStringList &md, const ZSView &view, size_t source)
{
    const struct zs_node *node = view.Array(source).node;
    const struct zs_slices &slices = view.Slices(source);
    const int *const end = slices.dims + slices.dim_count;
    for (int d = 0; d < slices.ndim; d++)
    {
        if (d != slices.axes.x && d != slices.axes.y && std::find(slices.dims, end, d) == end)
            addFixedPosition(md, view, source, d);
    }
    std::string all;
    for (int i = 0; i < slices.dim_count; i++)
        all += (all.empty() ? "" : ",") + zsDimensionName(node, slices.dims[i]);
    if (slices.dim_count > 1 && view.sources.size() == 1) // else bands are not of these dimensions alone
        zsSetItem(md, ZS_EXTRA_DIMENSIONS, ("{" + all + "}").c_str());
    for (int i = 0; i < slices.dim_count; i++)
    {
        const int d = slices.dims[i];
        const char *name = zs_dimension_name(node, d);
        char **items = nullptr;
        struct zs_error err;
        if (name == nullptr)
            continue;
        if (zs_label_attributes(view.store->hierarchy, node, d, &items, &err) != ZS_OK)
            zsReport(err);
        const ZSOwned<char *> itemsFreed(items, zs_names_free);
        for (char **item = items; item != nullptr && *item != nullptr; item++)
        {
            // "time#units" is what the netCDF driver calls the attribute `units` of the coordinate variable `time`.
            const std::string text = std::string(name) + "#" + *item;
            if (CSLFindStringCaseSensitive(md.List(), text.c_str()) < 0) // another array may have that dimension, too
                md.AddString(text.c_str());
        }
    }
}

static CPLStringList axisItems(const ZSView &view)
{
    CPLStringList items;
    for (size_t source = 0; source < view.sources.size(); source++)
        addAxisItems(items, view, source);
    return items;
}

CPLStringList ShardedZarrDataset::NetcdfItems()
{
    CPLStringList items;
    // Of a raster without a transform the netCDF driver of GDAL 3.6 makes no copy that has another dimension.
    if (m_view.sources.size() != 1 || m_view.Slices(0).dim_count != 1 || !Georef().has_transform)
        return items;
    const ZSArray &array = m_view.Array(0);
    const auto &labels = *m_view.Labels(0)[0];
    if (labels.numbers == nullptr || labels.is_count)
        return items;
    const std::string name = zsDimensionName(array.node, m_view.Slices(0).dims[0]), key = "NETCDF_DIM_" + name;
    std::string values;
    for (char **number = labels.numbers; *number != nullptr; number++)
        values += (values.empty() ? "" : ",") + std::string(*number);
    zsSetItem(items, "NETCDF_DIM_EXTRA", ("{" + name + "}").c_str());
    const std::string count = std::to_string(m_view.Slices(0).count);
    const std::string type = std::to_string(zsNetcdfType(labels.numbers_type));
    zsSetItem(items, (key + "_DEF").c_str(), ("{" + count + "," + type + "}").c_str());
    zsSetItem(items, (key + "_VALUES").c_str(), ("{" + values + "}").c_str());
    return items;
}

/* ---- Reading ---- */

/* Plain attributes of the group that the array is directly in; those of the array go before them, and those of a
 * side-car file before these. */
static CPLStringList itemsAbove(const ZSView &view)
{
    struct zs_error err;
    const std::unique_ptr<char, decltype(&free)> parent(zs_path_parent(view.Array(0).node->path), free);
    const struct zs_node *group = nullptr;
    char **items = nullptr;
    if (parent == nullptr || zs_hierarchy_node(view.store->hierarchy, parent.get(), &group, &err) != ZS_OK ||
        zs_items_read(group, false, &items, &err) != ZS_OK)
        return CPLStringList();
    const ZSOwned<char *> itemsFreed(items, zs_names_free);
    return CPLStringList(CSLDuplicate(items));
}

/* Items of arrays: those that all have alike are the dataset's, the others their bands'. Of one array all are the
 * dataset's. */
void ShardedZarrDataset::SortItems()
{
    if (!m_ownItems.empty())
        return;
    std::vector<CPLStringList> all, own;
    CPLStringList common;
    for (size_t i = 0; i < m_view.sources.size(); i++)
        all.push_back(CPLStringList(CSLDuplicate(m_view.Properties(i).metadata))); // owned before there is room
    for (int k = 0; k < all[0].size(); k++)
    {
        const auto has = [item = all[0][k]](const CPLStringList &list)
        { return CSLFindStringCaseSensitive(list.List(), item) >= 0; };
        if (std::all_of(all.begin(), all.end(), has))
            common.AddString(all[0][k]);
    }
    for (const auto &list : all)
        own.push_back(zsItemsNotIn(list.List(), common.List()));
    m_commonItems = common;
    m_ownItems = std::move(own);
}

const CPLStringList &ShardedZarrDataset::OwnItems(size_t source)
{
    SortItems();
    return m_ownItems[source];
}

/* The value of AREA_OR_POINT; null where none is to be shown. */
static const char *registrationOf(const struct zs_georef &georef)
{
    return georef.pixel_is_point ? GDALMD_AOP_POINT : georef.is_area_declared ? GDALMD_AOP_AREA : nullptr;
}

/* The default domain but NETCDF_DIM_ items, which take reading coordinates. */
void ShardedZarrDataset::ReadDefaultDomain()
{
    SortItems();
    CPLStringList md = zsMergeItems(itemsAbove(m_view).List(), m_commonItems.List());
    md = zsMergeItems(axisItems(m_view).List(), md.List());
    const char *registration = registrationOf(Georef());
    if (registration != nullptr)
        zsSetItem(md, GDALMD_AREA_OR_POINT, registration);
    m_shown.Show("", md.List(), GDALMajorObject::GetMetadata());
}

/* The arrays' domains: of those of one name, the first array's. */
void ShardedZarrDataset::ReadStoredDomains()
{
    for (size_t i = 0; i < m_view.sources.size(); i++)
        m_shown.Show(m_view.Properties(i), *this);
}

bool ShardedZarrDataset::ReadDomain(const char *domain, const char *name)
{
    if (zsIsDefaultDomain(domain))
    {
        Once(ITEMS, [&] { ReadDefaultDomain(); });
        if (name == nullptr || STARTS_WITH_CI(name, "NETCDF_DIM_"))
            Once(NETCDF_ITEMS, [&] { m_shown.Show("", NetcdfItems().List(), m_shown.GetMetadata()); });
    }
    else if (EQUAL(domain, "IMAGE_STRUCTURE"))
        Once(STRUCTURE, [&] { ReadStructure(); });
    else if (EQUAL(domain, "GEOLOCATION"))
        Once(GEOLOCATION, [&] {
            m_shown.Show(domain, Geolocation().List(), GDALMajorObject::GetMetadata(domain));
        });
    else if (zsIsStoredDomain(domain))
        Once(DOMAINS, [&] { ReadStoredDomains(); });
    else
        return false;
    return true;
}

/* The value of the creation option SHARD_SHAPE; "" without shards. */
static std::string shardShape(const struct zs_array_info &info)
{
    std::string s;
    for (int d = 0; d < info.ndim && info.is_sharded && !info.has_edges; d++)
        s += (s.empty() ? "" : ",") + std::to_string(info.shard_shape[d]);
    return s;
}

/* IMAGE_STRUCTURE: whether the bands of a pixel lie in a chunk together, how chunks are compressed, what shape shards
 * have. Of the array as it is. */
void ShardedZarrDataset::ReadStructure()
{
    CPLStringList md;
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
    md.SetNameValue("INTERLEAVE", holdsBands ? "PIXEL" : "BAND");
    if (compression != nullptr)
        md.SetNameValue("COMPRESSION", compression);
    const char *filter = zs_blosc_filter_name(m_view.Array(0).node->array);
    if (filter != nullptr && m_view.sources.size() == 1)
        md.SetNameValue("BLOSC_SHUFFLE", filter);
    const std::string shard = m_view.sources.size() == 1 ? shardShape(info) : "";
    if (!shard.empty())
        md.SetNameValue("SHARD_SHAPE", shard.c_str());
    m_shown.Show("IMAGE_STRUCTURE", md.List(), GDALMajorObject::GetMetadata("IMAGE_STRUCTURE"));
}

/* AREA_OR_POINT, in any case: without a value an item makes pixels areas, and a list leaves them, as in GTiff. */
CPLErr ShardedZarrDataset::TakeRegistration(const char *name, CPLStringList &list)
{
    const bool isItem = name != nullptr && EQUAL(name, GDALMD_AREA_OR_POINT);
    const char *given =
        isItem ? zsItemValue(list.List(), name) : zsItemValueInAnyCase(list.List(), GDALMD_AREA_OR_POINT);
    const std::string value = given != nullptr ? given : GDALMD_AOP_AREA;
    const char *now = m_shown.Item(GDALMD_AREA_OR_POINT);
    // What a side-car file has is not the store's, which is to have it.
    const bool isNew = given != nullptr && (now == nullptr || value != now ||
                                            GDALMajorObject::GetMetadataItem(GDALMD_AREA_OR_POINT) != nullptr);
    if (IsUpdate() && (isItem || isNew) && SetRegistration(value.c_str()) != CE_None)
        return CE_Failure;
    if (isItem)
        zsSetItem(list, name, nullptr);
    zsSetItem(list, GDALMD_AREA_OR_POINT, given != nullptr ? value.c_str() : registrationOf(Georef()));
    return CE_None;
}

CPLErr ShardedZarrDataset::WillSetDomain(const char *domain, const char *name, CPLStringList &list, bool &isStored)
{
    const bool isDefault = zsIsDefaultDomain(domain);
    if (isDefault && TakeRegistration(name, list) != CE_None)
        return CE_Failure;
    isStored = IsUpdate() && (isDefault || zsIsStoredDomain(domain));
    m_areItemsChanged = m_areItemsChanged || isStored;
    m_areDomainsChanged = m_areDomainsChanged || (isStored && !isDefault);
    return CE_None;
}

/* ---- Writing ---- */

/* Replaces the items of an array or group; attributes of conventions stay. */
static enum zs_status writeItems(const ZSView &view, const struct zs_node *node, const CPLStringList &items,
                                 struct zs_error *err)
{
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(view.store->hierarchy, node, &attributes, err));
    return zs_items_write(attributes, const_cast<CPLStringList &>(items).List(), true) ? ZS_OK : zs_fail_memory(err);
}

/* AREA_OR_POINT in the array's own attributes; null where there is none, or where spatial: declares the other value. */
const char *ShardedZarrDataset::StoredRegistration()
{
    const zs_json *stored = zs_json_get(m_view.Array(0).node->attributes, ZS_REGISTRATION_ATTRIBUTE);
    const char *other = Georef().pixel_is_point ? GDALMD_AOP_AREA : GDALMD_AOP_POINT;
    return zs_json_equals(stored, other) ? nullptr : zsItemValue(m_view.Properties(0).metadata, GDALMD_AREA_OR_POINT);
}

CPLStringList ShardedZarrDataset::ItemsToWrite()
{
    const CPLStringList ofAxes = zsMergeItems(axisItems(m_view).List(), NetcdfItems().List());
    CPLStringList items = zsUtf8List(zsItemsNotIn(m_shown.GetMetadata(), ofAxes.List()).List());
    const ZSArray &array = m_view.Array(0);
    const struct zs_georef &georef = Georef();
    if (array.axes.y < 0 || georef.is_area_declared ||
        zs_georef_has_registration(m_view.store->hierarchy, array.node, array.axes, m_style, georef.has_transform))
        zsSetItem(items, GDALMD_AREA_OR_POINT, StoredRegistration());
    return items;
}

/* Items of the group above an array stay the group's: what is changed goes to the array. */
enum zs_status ShardedZarrDataset::WriteItemsOfArray(struct zs_error *err)
{
    const CPLStringList above = itemsAbove(m_view), items = ItemsToWrite();
    const CPLStringList own = zsItemsNotIn(items.List(), zsItemsNotIn(above.List(), m_commonItems.List()).List());
    ZS_TRY(writeItems(m_view, m_view.Array(0).node, own, err));
    for (int i = 0; i < above.size(); i++)
    {
        const std::string name = zsItemName(above[i]);
        if (zsItemValue(m_shown.GetMetadata(), name.c_str()) == nullptr &&
            zsItemValue(m_commonItems.List(), name.c_str()) == nullptr)
            CPLError(CE_Warning, CPLE_AppDefined,
                     "%s: %s is an attribute of the group of /%s, and of all in it: it stays",
                     zsShown(m_view.store->name).c_str(), name.c_str(), m_view.Array(0).node->path);
    }
    return ZS_OK;
}

/* Items that the arrays have already stay theirs; new and changed items go to the group. */
enum zs_status ShardedZarrDataset::WriteItemsOfGroup(struct zs_error *err)
{
    const CPLStringList items = ItemsToWrite(), before = m_commonItems;
    char **list = nullptr;
    ZS_TRY(zs_items_read(m_view.group, false, &list, err));
    const ZSOwned<char *> freed(list, zs_names_free);
    CPLStringList ofGroup = zsItemsNotIn(items.List(), before.List());
    for (int i = 0; list != nullptr && list[i] != nullptr; i++)
    {
        // An item of the group that an array's item hid was not shown, so it stays.
        const std::string name = zsItemName(list[i]);
        if (zsItemValue(before.List(), name.c_str()) != nullptr &&
            zsItemValue(ofGroup.List(), name.c_str()) == nullptr)
            ofGroup.AddString(list[i]);
    }
    ZS_TRY(writeItems(m_view, m_view.group, ofGroup, err));
    const CPLStringList gone = zsItemsNotIn(before.List(), items.List());
    m_commonItems = zsItemsNotIn(before.List(), gone.List());
    for (size_t i = 0; i < m_view.sources.size() && !gone.empty(); i++)
    {
        const CPLStringList kept = zsMergeItems(m_commonItems.List(), m_ownItems[i].List());
        ZS_TRY(writeItems(m_view, m_view.Array(i).node, kept, err));
    }
    return ZS_OK;
}

enum zs_status ShardedZarrDataset::FlushItems(struct zs_error *err)
{
    const bool areDomains = std::exchange(m_areDomainsChanged, false);
    if (!std::exchange(m_areItemsChanged, false))
        return ZS_OK;
    static_cast<void>(ReadDomain("", ZS_OWN_ITEMS));
    ZS_TRY(m_view.IsGroup() ? WriteItemsOfGroup(err) : WriteItemsOfArray(err));
    if (m_view.IsGroup() && !areDomains)
        return ZS_OK;
    ZSProperties properties;
    zsTakeDomains(properties, *this);
    for (const auto &source : m_view.sources)
    {
        zs_json *attributes;
        ZS_TRY(zs_hierarchy_edit(m_view.store->hierarchy, source.array->node, &attributes, err));
        ZS_TRY(zs_write_band_properties(attributes, &properties, ZS_BAND_METADATA, err));
    }
    return ZS_OK;
}
