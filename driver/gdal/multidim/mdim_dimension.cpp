/* Dimensions: those that arrays of the store have, and those that GDAL's users made. */
#include "mdim.h"

#include <algorithm>

#include "gdal/guard.h"

/* Finds the array that has it, and what that says of it; false where there is none. */
bool ZSMdimDimension::Find(const ZSMdimStore &store, const struct zs_node *&node, struct zs_dimension &own) const
{
    struct zs_dimension found[ZS_MAX_NDIM];
    int count = 0;
    if (m_array == nullptr || !m_array->isThere ||
        zs_hierarchy_node(store.Hierarchy(), m_array->path.c_str(), &node, nullptr) != ZS_OK ||
        zs_dimensions_find(store.Hierarchy(), node, found, &count, nullptr) != ZS_OK || m_number >= count)
        return false;
    own = found[m_number];
    return true;
}

std::string ZSMdimDimension::Key(const ZSMdimStore &store) const
{
    const struct zs_node *node = nullptr;
    struct zs_dimension own;
    return Find(store, node, own) ? ZSMdimStore::DimensionKey(node, own) : "";
}

void ZSMdimDimension::Refresh(const ZSMdimStore &store)
{
    const struct zs_node *node = nullptr;
    struct zs_dimension own = {};
    const bool isFound = Find(store, node, own);
    if (isFound)
        m_nSize = own.size;
    if (isFound && own.name != nullptr)
        m_osName = own.name;
    if (const auto group = m_group.lock())
        m_osFullName = ZSMdimStore::FullName(store.GroupName(group->path), m_osName);
    else if (isFound && own.name != nullptr)
        m_osFullName = ZSMdimStore::FullName(
            store.ParentName(own.variable != nullptr ? own.variable->path : node->path), m_osName);
}

/* The array of the name of a dimension that was made, beside it, of that dimension alone; null: there is none. */
std::shared_ptr<GDALMDArray> ZSMdimDimension::MadeVariable(ZSMdimStore &store) const
{
    const struct zs_node *node = nullptr;
    struct zs_error err;
    const auto group = m_group.lock();
    const std::string path = group != nullptr ? zsPathIn(group->path, GetName()) : "";
    if (group == nullptr || zs_hierarchy_node(store.Hierarchy(), path.c_str(), &node, &err) != ZS_OK ||
        node->type != ZS_NODE_ARRAY)
        return nullptr;
    auto array = store.Array(path, &err);
    const bool isOwn =
        array != nullptr && array->GetDimensionCount() == 1 && array->GetDimensions()[0]->GetSize() == GetSize();
    return isOwn ? array : nullptr;
}

/* Coordinates of X or Y, without a variable, from the transform: those of the pixels' centres. Null where the raster is
 * rotated. */
std::shared_ptr<GDALMDArray> ZSMdimDimension::CoordinatesOfTransform(struct zs_hierarchy *hierarchy,
                                                                     const struct zs_node *node) const
{
    struct zs_axes axes;
    struct zs_georef georef;
    struct zs_error err;
    if (node->array == nullptr || node->array->ndim < 2 ||
        zs_axes_find(hierarchy, node, nullptr, nullptr, &axes, &err) != ZS_OK ||
        (axes.x != m_number && axes.y != m_number))
        return nullptr;
    if (zs_georef_read(hierarchy, node, axes, &georef, &err) != ZS_OK)
        return zsReport(err);
    const ZSOwned<struct zs_georef> cleared(&georef, zs_georef_clear);
    const double *t = georef.transform;
    if (!georef.has_transform || t[2] != 0 || t[4] != 0)
        return nullptr;
    const bool isX = axes.x == m_number;
    // A new object: this dimension and its array would keep each other alive.
    const auto own = std::make_shared<GDALDimension>("", GetName(), GetType(), GetDirection(), GetSize());
    return GDALMDArrayRegularlySpaced::Create("", GetName(), own, isX ? t[0] : t[3], isX ? t[1] : t[5], 0.5);
}

/* Null, without an error, for a variable that cannot be read: opening it reports the error. */
std::shared_ptr<GDALMDArray> ZSMdimDimension::GetIndexingVariable() const
{
    return zsGuard([&]() -> std::shared_ptr<GDALMDArray> {
        struct zs_error err;
        const struct zs_node *node = nullptr;
        struct zs_dimension own;
        const auto store = m_store.lock();
        auto made = store != nullptr ? MadeVariable(*store) : nullptr;
        if (store == nullptr || made != nullptr || !Find(*store, node, own))
            return made;
        if (own.variable == nullptr)
            return CoordinatesOfTransform(store->Hierarchy(), node);
        auto array = store->Array(own.variable->path, &err);
        if (array == nullptr)
            CPLDebug("ShardedZarr", "%s", err.message);
        return array;
    });
}

/* Zarr identifies a dimension's variable by its name alone: the array must be named as the dimension. */
bool ZSMdimDimension::SetIndexingVariable(std::shared_ptr<GDALMDArray> variable)
{
    if (m_group.expired())
        return GDALDimension::SetIndexingVariable(variable);
    if (variable == nullptr || (variable->GetName() == GetName() && GetIndexingVariable() == variable))
        return true;
    CPLError(CE_Warning, CPLE_NotSupported,
             "%s: the variable of a dimension is the array of its name, beside it, of that dimension alone; %s is not",
             GetFullName().c_str(), variable->GetFullName().c_str());
    return false;
}

#if ZS_GDAL_AT_LEAST(8)
bool ZSMdimDimension::Rename(const std::string &given)
{
    return zsGuard([&] {
        const std::string name = zsUtf8(given);
        const bool isInArray = m_array != nullptr && m_array->isThere;
        const auto made = m_group.lock();
        const std::string group = made != nullptr ? made->path : isInArray ? zsParentPath(m_array->path) : "";
        const auto store = m_store.lock();
        const ZSMdimNode *array = isInArray ? m_array.get() : nullptr;
        if (store == nullptr || !store->RenameDimension(array, m_number, group, GetName(), name))
            return false;
        m_osName = name; // where no array has it
        Refresh(*store);
        return true;
    });
}
#endif

/* ---- Of a store ---- */

/* Without a variable two arrays may have other coordinates: each has its own dimension. */
std::string ZSMdimStore::DimensionKey(const struct zs_node *node, const struct zs_dimension &from)
{
    if (from.name == nullptr || from.name[0] == '\0')
        return "";
    return std::string(from.variable != nullptr ? "variable " : "array ") +
           (from.variable != nullptr ? from.variable->path : node->path) + "\n" + from.name;
}

bool ZSMdimStore::Dimensions(const struct zs_node *node, std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                             struct zs_error *err)
{
    struct zs_dimension found[ZS_MAX_NDIM];
    int count = 0;
    const auto handle = Handle(node->path);
    if (zs_dimensions_find(Hierarchy(), node, found, &count, err) != ZS_OK)
        return false;
    for (int d = 0; d < count; d++)
    {
        const struct zs_dimension &from = found[d];
        const std::string key = DimensionKey(node, from);
        const std::string name = !key.empty() ? from.name : "dim" + std::to_string(d);
        const std::string parent =
            key.empty() ? "" : ParentName(from.variable != nullptr ? from.variable->path : node->path);
        const std::lock_guard<std::mutex> held(m_lock);
        auto dimension = !key.empty() ? MadeDimension(node->path, name, from.size) : nullptr;
        if (dimension == nullptr && !key.empty())
            dimension = m_dimensions[key].lock();
        if (dimension == nullptr || dimension->GetSize() != from.size)
        {
            dimension = std::make_shared<ZSMdimDimension>(shared_from_this(), parent, name, from.type, from.direction,
                                                          from.size, nullptr);
            if (!key.empty())
                m_dimensions[key] = dimension;
        }
        dimension->SetArray(handle, d);
        dimensions.push_back(dimension);
    }
    return true;
}

std::shared_ptr<GDALDimension> ZSMdimStore::MakeDimension(const std::shared_ptr<ZSMdimNode> &group,
                                                          const std::string &name, const std::string &type,
                                                          const std::string &direction, GUInt64 size)
{
    auto &made = group->made;
    const auto isNamed = [&name](const std::shared_ptr<ZSMdimDimension> &d) { return d->GetName() == name; };
    if (name.empty() || std::any_of(made.begin(), made.end(), isNamed))
        return zsRefuse(CPLE_IllegalArg, "dimension \"%s\" of %s: %s", name.c_str(), GroupName(group->path).c_str(),
                        name.empty() ? "expected a name" : "there is one already");
    made.push_back(std::make_shared<ZSMdimDimension>(shared_from_this(), GroupName(group->path), name, type, direction,
                                                     size, group));
    return made.back();
}

/* The dimension of that name and size that was made in the group of an array, or in one above. */
std::shared_ptr<ZSMdimDimension> ZSMdimStore::MadeDimension(const std::string &path, const std::string &name,
                                                            GUInt64 size) const
{
    for (std::string group = path; m_isUpdatable && !group.empty();)
    {
        group = zsParentPath(group);
        const auto found = m_nodes.find(group);
        if (found == m_nodes.end())
            continue;
        for (const auto &d : found->second->made)
        {
            if (d->GetName() == name && d->GetSize() == size)
                return d;
        }
    }
    return nullptr;
}
