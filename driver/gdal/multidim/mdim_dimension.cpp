/* Dimensions: those that arrays of the store have, and those that GDAL's users made; which arrays share one, and how it
 * becomes longer or gets another name. */
#include "mdim.h"

#include <algorithm>
#include <set>

#include "gdal/guard.h"

extern "C"
{
#include "geo/bands.h"
#include "raster/overviews.h"
}

/* Name of a dimension of an array, "" where it has none. */
static std::string nameOf(const struct zs_dimension &dim)
{
    return dim.name != nullptr ? dim.name : "";
}

/* Path of the group that a dimension of an array belongs to: the one of its coordinate variable, else of the array. */
static std::string groupOf(const struct zs_node *node, const struct zs_dimension &dim)
{
    return zsParentPath(dim.variable != nullptr ? dim.variable->path : node->path);
}

/* ---- GDAL's object ---- */

const ZSMdimDimension::Use *ZSMdimDimension::Owner() const
{
    const auto isThere = [](const Use &use) { return use.first->isThere; };
    const auto found = std::find_if(m_arrays.rbegin(), m_arrays.rend(), isThere);
    return found != m_arrays.rend() ? &*found : nullptr;
}

bool ZSMdimDimension::Find(ZSMdimStore &store, const struct zs_node *&node, struct zs_dimension &own) const
{
    struct zs_dimension found[ZS_MAX_NDIM];
    int count = 0;
    const Use *use = Owner();
    if (use == nullptr || zs_hierarchy_node(store.hierarchy, use->first->path.c_str(), &node, nullptr) != ZS_OK ||
        zs_dimensions_find(store.hierarchy, node, found, &count, nullptr) != ZS_OK || use->second >= count)
        return false;
    own = found[use->second];
    return true;
}

void ZSMdimDimension::Refresh()
{
    const struct zs_node *node = nullptr;
    struct zs_dimension own = {};
    const auto store = m_owner.lock();
    if (store == nullptr)
        return;
    const bool isFound = Find(*store, node, own), isNamed = isFound && own.name != nullptr;
    if (isFound)
        m_nSize = own.size;
    if (isNamed)
        m_osName = own.name;
    if (m_group != nullptr || isNamed)
        m_osFullName = ZSMdimStore::FullName(
            store->GroupName(m_group != nullptr ? m_group->path : groupOf(node, own)), m_osName);
}

/* Coordinates of X or Y, without a variable, from the transform: those of the pixels' centres. Null where the raster is
 * rotated. */
std::shared_ptr<GDALMDArray> ZSMdimDimension::CoordinatesOfTransform(ZSMdimStore &store, const struct zs_node *node,
                                                                     int number) const
{
    struct zs_axes axes;
    struct zs_georef georef;
    struct zs_error err;
    if (node->array == nullptr || node->array->ndim < 2 ||
        zs_axes_find(store.hierarchy, node, nullptr, nullptr, &axes, &err) != ZS_OK ||
        (axes.x != number && axes.y != number))
        return nullptr;
    if (zs_georef_read(store.hierarchy, node, axes, &georef, &err) != ZS_OK)
        return zsReport(err);
    const ZSOwned<struct zs_georef> cleared(&georef, zs_georef_clear);
    const double *t = georef.transform;
    if (!georef.has_transform || t[2] != 0 || t[4] != 0)
        return nullptr;
    const bool isX = axes.x == number;
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
        const auto store = m_owner.lock();
        if (store == nullptr || !Find(*store, node, own))
            return nullptr;
        if (own.variable == nullptr)
            return CoordinatesOfTransform(*store, node, Owner()->second);
        auto array = store->Array(own.variable->path, &err);
        if (array == nullptr)
            CPLDebug("ShardedZarr", "%s", err.message);
        return array;
    });
}

/* Zarr identifies a dimension's variable by its name alone: the array must be named as the dimension. */
bool ZSMdimDimension::SetIndexingVariable(std::shared_ptr<GDALMDArray> variable)
{
    const auto own = variable != nullptr && variable->GetName() == GetName() ? GetIndexingVariable() : nullptr;
    if (variable == nullptr || (own != nullptr && own->GetFullName() == variable->GetFullName()))
        return true;
    CPLError(CE_Warning, CPLE_NotSupported,
             "%s: the variable of a dimension is the array of its name, beside it, of that dimension alone; %s is not",
             GetFullName().c_str(), variable->GetFullName().c_str());
    return false;
}

#if ZS_GDAL_AT_LEAST(8)
bool ZSMdimDimension::Rename(const std::string &given)
{
    return zsGuard([&]() -> bool {
        struct zs_error err;
        const Use *use = Owner();
        const std::string name = zsUtf8(given);
        const auto store = m_owner.lock();
        if (store == nullptr)
            return zsRefuse(CPLE_AppDefined, "dimension %s: its store is closed", GetName().c_str());
        if (!store->CheckUpdatable())
            return false;
        if (zs_node_check_name(name.c_str(), &err) != ZS_OK)
            return zsReport(err);
        if (use != nullptr && !zsMdimChangeDimensions(*store, *use->first, {}, use->second, name.c_str()))
            return false;
        m_osName = name; // where no array has it
        Refresh();
        return true;
    });
}
#endif

bool ZSMdimStore::Dimensions(const struct zs_node *node, std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                             struct zs_error *err)
{
    struct zs_dimension found[ZS_MAX_NDIM];
    int count = 0;
    if (zs_dimensions_find(hierarchy, node, found, &count, err) != ZS_OK)
        return false;
    for (int d = 0; d < count; d++)
    {
        const struct zs_dimension &from = found[d];
        const bool isNamed = !nameOf(from).empty();
        const auto dimension = std::make_shared<ZSMdimDimension>(
            shared_from_this(), isNamed ? GroupName(groupOf(node, from)) : "",
            isNamed ? from.name : "dim" + std::to_string(d), from.type, from.direction, from.size, nullptr);
        dimension->AddArray(Handle(node->path), d);
        Follow(dimension);
        dimensions.push_back(dimension);
    }
    return true;
}

/* ---- Changing names and sizes ---- */

namespace
{
/* An array: its dimensions as they are, and sizes and names as they shall be. */
struct Changed
{
    const struct zs_node *node;
    std::vector<struct zs_dimension> dims;
    std::vector<uint64_t> shape;
    std::vector<const char *> names;
    bool isLonger = false, isRenamed = false, hasOverviews = false;
};
} // namespace

/* Whether dimensions of two arrays are one: they have one name and one size, and belong to one group. */
static bool areOne(const struct zs_node *node, const struct zs_dimension &dim, const struct zs_node *other,
                   const struct zs_dimension &that)
{
    return !nameOf(dim).empty() && nameOf(dim) == nameOf(that) && dim.size == that.size &&
           groupOf(node, dim) == groupOf(other, that);
}

/* Finds the arrays of a store whose dimensions can be read: opening others reports the error. */
static enum zs_status findArrays(struct zs_hierarchy *hierarchy, std::vector<Changed> &all, struct zs_error *err)
{
    const struct zs_node **nodes = nullptr;
    size_t listed = 0;
    ZS_TRY(zs_hierarchy_list(hierarchy, &nodes, &listed, err));
    const std::unique_ptr<const struct zs_node *, decltype(&free)> freed(nodes, free);
    for (size_t i = 0; i < listed; i++)
    {
        struct zs_dimension found[ZS_MAX_NDIM];
        int count = 0;
        if (nodes[i]->type != ZS_NODE_ARRAY ||
            zs_dimensions_find(hierarchy, nodes[i], found, &count, nullptr) != ZS_OK)
            continue;
        Changed array = {nodes[i], {found, found + count}, {}, {}};
        for (const auto &dim : array.dims)
        {
            array.shape.push_back(dim.size);
            array.names.push_back(dim.name);
        }
        all.push_back(array);
    }
    return ZS_OK;
}

/* Whether an array may change so; else emits CPLError. `taken`: names of dimensions, by the group of their array. */
static bool check(ZSMdimStore &store, const Changed &array, const std::set<std::pair<std::string, std::string>> &taken)
{
    struct zs_error err;
    const struct zs_array_meta *meta = array.node->array;
    for (size_t d = 0; d < array.dims.size(); d++)
    {
        const struct zs_dimension &before = array.dims[d];
        if (array.names[d] != before.name && taken.count({zsParentPath(array.node->path), array.names[d]}) > 0)
            return zsRefuse(CPLE_AppDefined, "dimension %s: there is one called %s already", nameOf(before).c_str(),
                            array.names[d]);
        if (array.shape[d] < before.size)
            return zsRefuse(CPLE_IllegalArg,
                            "array /%s: dimension %zu has %llu elements, arrays are made longer, not %llu",
                            array.node->path, d, static_cast<unsigned long long>(before.size),
                            static_cast<unsigned long long>(array.shape[d]));
        if (array.shape[d] != before.size && meta != nullptr && meta->edges[d] != nullptr)
            return zsRefuse(CPLE_NotSupported, "array /%s lists the lengths of its chunks along dimension %s",
                            array.node->path, nameOf(before).c_str());
    }
    return !array.isLonger || meta == nullptr ||
           zs_bands_check_shape(store.hierarchy, array.node, array.shape.data(), &err) == ZS_OK || zsReport(err);
}

/* Gives an array the names and sizes; what stays is not written. */
static enum zs_status writeDimensions(struct zs_hierarchy *hierarchy, const Changed &array, struct zs_error *err)
{
    const struct zs_node *node = array.node;
    ZS_TRY(zs_array_update_document(hierarchy, node, array.isLonger ? array.shape.data() : nullptr,
                                    array.isRenamed ? array.names.data() : nullptr, nullptr, &node, err));
    for (size_t d = 0; d < array.dims.size(); d++)
    {
        const char *before = array.dims[d].name;
        if (before != nullptr && array.names[d] != before)
            ZS_TRY(zs_dimension_rename_attributes(hierarchy, node, before, array.names[d], err));
    }
    return ZS_OK;
}

bool zsMdimChangeDimensions(ZSMdimStore &store, const ZSMdimNode &handle, const std::vector<GUInt64> &sizes,
                            int renamed, const char *name)
{
    struct zs_error err;
    std::vector<Changed> all;
    std::set<std::pair<std::string, std::string>> taken;
    std::set<std::string> levels;
    if (!store.CheckUpdatable() || store.Node(handle) == nullptr)
        return false;
    if (findArrays(store.hierarchy, all, &err) != ZS_OK)
        return zsReport(err);
    const auto own =
        std::find_if(all.begin(), all.end(), [&](const Changed &a) { return handle.path == a.node->path; });
    if (own == all.end() || (!sizes.empty() && sizes.size() != own->dims.size()))
        return zsRefuse(CPLE_IllegalArg, "array /%s: expected %zu sizes of dimensions that can be read",
                        handle.path.c_str(), own == all.end() ? 0 : own->dims.size());
    for (Changed &other : all)
    {
        for (size_t d = 0; d < other.dims.size(); d++)
        {
            taken.emplace(zsParentPath(other.node->path), nameOf(other.dims[d]));
            for (size_t i = 0; i < own->dims.size(); i++)
            {
                const auto &dim = own->dims[i];
                if ((&other != &*own || i != d) && !areOne(own->node, dim, other.node, other.dims[d]))
                    continue;
                if (!sizes.empty())
                    other.shape[d] = sizes[i];
                if (static_cast<int>(i) == renamed)
                    other.names[d] = name;
                other.isLonger = other.isLonger || other.shape[d] != dim.size;
                other.isRenamed = other.isRenamed || static_cast<int>(i) == renamed;
            }
        }
    }
    if (!sizes.empty() && own->shape != std::vector<uint64_t>(sizes.begin(), sizes.end()))
        return zsRefuse(CPLE_IllegalArg, "array /%s: has a dimension twice: expected one size of it",
                        handle.path.c_str());
    if (!check(store, *own, taken)) // before overviews are looked for, which takes requests
        return false;
    // Overviews keep the size that they have, and are not found until they are made again.
    for (Changed &array : all)
    {
        struct zs_axes axes;
        std::vector<std::string> found;
        if (array.isLonger && !store.FindLevels(array.node, zs_overviews_find, axes, found))
            return false;
        array.hasOverviews = !found.empty();
        levels.insert(found.begin(), found.end());
    }
    const auto stays = [&](const Changed &array) {
        return (!array.isLonger && !array.isRenamed) || levels.count(array.node->path) > 0;
    };
    all.erase(std::remove_if(all.begin(), all.end(), stays), all.end());
    for (const Changed &array : all)
    {
        if (!check(store, array, taken))
            return false;
    }
    for (const Changed &array : all)
    {
        const auto other = store.Handle(array.node->path);
        if (!store.FlushArray(*other)) // whose chunks are numbered by the shape of before
            return false;
        other->opened.reset();
        if (array.hasOverviews)
            CPLError(CE_Warning, CPLE_AppDefined,
                     "array /%s: its overviews have the size that it had: they are to be made again (gdaladdo)",
                     array.node->path);
    }
    const auto write = [&](struct zs_hierarchy *hierarchy, struct zs_error *error) {
        for (const Changed &array : all)
            ZS_TRY(writeDimensions(hierarchy, array, error));
        return ZS_OK;
    };
    if (!store.Edit(write))
        return false;
    store.Refresh();
    return true;
}
