/* Dimensions: those that arrays of the store have, and those that GDAL's users made; which arrays share one, and how it
 * becomes longer or gets another name. */
#include "mdim.h"

#include <algorithm>
#include <set>
#include <tuple>

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

void ZSMdimDimension::Choose()
{
    for (auto array = m_arrays.rbegin(); array != m_arrays.rend(); ++array)
    {
        if (array->first->isThere)
            std::tie(m_handle, m_number) = *array;
    }
}

/* Finds the array that has it, and what that says of it; false where there is none. */
bool ZSMdimDimension::Find(ZSMdimStore &store, const struct zs_node *&node, struct zs_dimension &own) const
{
    struct zs_dimension found[ZS_MAX_NDIM];
    int count = 0;
    if (m_handle == nullptr || !m_handle->isThere ||
        zs_hierarchy_node(store.Hierarchy(), m_handle->path.c_str(), &node, nullptr) != ZS_OK ||
        zs_dimensions_find(store.Hierarchy(), node, found, &count, nullptr) != ZS_OK || m_number >= count)
        return false;
    own = found[m_number];
    return true;
}

void ZSMdimDimension::Refresh()
{
    const struct zs_node *node = nullptr;
    struct zs_dimension own = {};
    const auto store = m_owner.lock();
    if (store == nullptr)
        return;
    Choose();
    const bool isFound = Find(*store, node, own);
    if (isFound)
        m_nSize = own.size;
    if (isFound && own.name != nullptr)
        m_osName = own.name;
    if (m_group != nullptr)
        m_osFullName = ZSMdimStore::FullName(store->GroupName(m_group->path), m_osName);
    else if (isFound && own.name != nullptr)
        m_osFullName = ZSMdimStore::FullName(store->GroupName(groupOf(node, own)), m_osName);
}

/* Coordinates of X or Y, without a variable, from the transform: those of the pixels' centres. Null where the raster is
 * rotated. */
std::shared_ptr<GDALMDArray> ZSMdimDimension::CoordinatesOfTransform(ZSMdimStore &store,
                                                                     const struct zs_node *node) const
{
    struct zs_axes axes;
    struct zs_georef georef;
    struct zs_error err;
    if (node->array == nullptr || node->array->ndim < 2 ||
        zs_axes_find(store.Hierarchy(), node, nullptr, nullptr, &axes, &err) != ZS_OK ||
        (axes.x != m_number && axes.y != m_number))
        return nullptr;
    if (zs_georef_read(store.Hierarchy(), node, axes, &georef, &err) != ZS_OK)
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
        const auto store = m_owner.lock();
        if (store == nullptr || !Find(*store, node, own))
            return nullptr;
        if (own.variable == nullptr)
            return CoordinatesOfTransform(*store, node);
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
    return zsGuard([&] {
        struct zs_error err;
        const std::string name = zsUtf8(given);
        const auto store = m_owner.lock();
        if (store == nullptr)
            return static_cast<bool>(zsRefuse(CPLE_AppDefined, "dimension %s: its store is closed", GetName().c_str()));
        if (!store->CheckUpdatable())
            return false;
        if (zs_node_check_name(name.c_str(), &err) != ZS_OK)
            return static_cast<bool>(zsReport(err));
        Choose();
        const auto rename = [&](std::vector<struct zs_dimension> &dims) {
            dims[static_cast<size_t>(m_number)].name = name.c_str();
            return true;
        };
        if (m_handle != nullptr && m_handle->isThere && !zsMdimChangeDimensions(*store, *m_handle, rename))
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
    if (zs_dimensions_find(Hierarchy(), node, found, &count, err) != ZS_OK)
        return false;
    for (int d = 0; d < count; d++)
    {
        const struct zs_dimension &from = found[d];
        const bool isNamed = !nameOf(from).empty();
        const auto dimension = std::make_shared<ZSMdimDimension>(
            shared_from_this(), isNamed ? GroupName(groupOf(node, from)) : "",
            isNamed ? from.name : "dim" + std::to_string(d), from.type, from.direction, from.size, nullptr);
        dimension->AddArray(Handle(node->path), static_cast<size_t>(d));
        Follow(dimension);
        dimensions.push_back(dimension);
    }
    return true;
}

/* ---- Changing names and sizes ---- */

namespace
{
/* An array, and its dimensions as they are and as they shall be. */
struct Found
{
    const struct zs_node *node;
    std::vector<struct zs_dimension> dims, wanted;
    bool isLonger = false, isRenamed = false;

    /* Whether a dimension is one of another array too: it has one name and one size in both, and belongs to one
     * group. */
    bool Shares(size_t number, const Found &other, size_t others) const
    {
        const struct zs_dimension &dim = dims[number], &that = other.dims[others];
        return (&other == this && others == number) ||
               (!nameOf(dim).empty() && nameOf(dim) == nameOf(that) && dim.size == that.size &&
                groupOf(node, dim) == groupOf(other.node, that));
    }
    /* Changes a dimension as that of another array was. */
    void Change(size_t number, const struct zs_dimension &before, const struct zs_dimension &after)
    {
        if (after.size != before.size)
            wanted[number].size = after.size;
        if (after.name != before.name)
            wanted[number].name = after.name;
        isLonger = isLonger || after.size != before.size;
        isRenamed = isRenamed || after.name != before.name;
    }
    std::vector<uint64_t> Shape() const
    {
        std::vector<uint64_t> shape;
        for (const auto &dim : wanted)
            shape.push_back(dim.size);
        return shape;
    }
};
} // namespace

/* Finds the arrays of a store whose dimensions can be read: opening others reports the error. */
static enum zs_status findArrays(struct zs_hierarchy *hierarchy, std::vector<Found> &all, struct zs_error *err)
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
        const std::vector<struct zs_dimension> dims(found, found + count);
        all.push_back({nodes[i], dims, dims});
    }
    return ZS_OK;
}

/* Whether the arrays may change so; else emits CPLError. */
static bool checkChanges(ZSMdimStore &store, const std::vector<Found> &all)
{
    std::set<std::pair<std::string, std::string>> taken; /* names of dimensions, by the group of their array */
    for (const Found &array : all)
    {
        for (const auto &dim : array.dims)
            taken.emplace(zsParentPath(array.node->path), nameOf(dim));
    }
    for (const Found &array : all)
    {
        struct zs_error err;
        for (size_t d = 0; d < array.dims.size(); d++)
        {
            const struct zs_dimension &before = array.dims[d], &wanted = array.wanted[d];
            if (wanted.name != before.name && taken.count({zsParentPath(array.node->path), nameOf(wanted)}) > 0)
                return zsRefuse(CPLE_AppDefined, "dimension %s: there is one called %s already",
                                nameOf(before).c_str(), wanted.name);
            if (wanted.size != before.size && array.node->array != nullptr && array.node->array->edges[d] != nullptr)
                return zsRefuse(CPLE_NotSupported, "array /%s lists the lengths of its chunks along dimension %s",
                                array.node->path, nameOf(before).c_str());
        }
        if (array.isLonger && array.node->array != nullptr &&
            zs_bands_check_shape(store.Hierarchy(), array.node, array.Shape().data(), &err) != ZS_OK)
            return zsReport(err);
    }
    return true;
}

/* Leaves out the overviews of arrays that become longer, with a warning: they have the old size, and are not found
 * until they are made again. */
static bool leaveOverviews(ZSMdimStore &store, std::vector<Found> &all)
{
    std::set<std::string> levels, with;
    for (const Found &array : all)
    {
        struct zs_axes axes;
        std::vector<std::string> own;
        if (array.isLonger && !store.FindLevels(array.node, zs_overviews_find, axes, own))
            return false;
        levels.insert(own.begin(), own.end());
        if (!own.empty())
            with.insert(array.node->path);
    }
    for (Found &array : all)
    {
        if (levels.count(array.node->path) > 0)
            array.isLonger = array.isRenamed = false;
        else if (with.count(array.node->path) > 0)
            CPLError(CE_Warning, CPLE_AppDefined,
                     "array /%s: its overviews have the size that it had: they are to be made again (gdaladdo)",
                     array.node->path);
    }
    return true;
}

/* Gives an array the wanted names and sizes of its dimensions; what stays is not written. */
static enum zs_status writeDimensions(struct zs_hierarchy *hierarchy, const Found &array, struct zs_error *err)
{
    const struct zs_node *node = array.node;
    std::vector<const char *> names;
    for (const auto &dim : array.wanted)
        names.push_back(dim.name);
    ZS_TRY(zs_array_update_document(hierarchy, node, array.isLonger ? array.Shape().data() : nullptr,
                                    array.isRenamed ? names.data() : nullptr, nullptr, &node, err));
    for (size_t d = 0; d < names.size(); d++)
    {
        const char *before = array.dims[d].name;
        if (before != nullptr && names[d] != before)
            ZS_TRY(zs_dimension_rename_attributes(hierarchy, node, before, names[d], err));
    }
    return ZS_OK;
}

bool zsMdimChangeDimensions(ZSMdimStore &store, const ZSMdimNode &handle, const ZSChangeDimensions &change)
{
    struct zs_error err;
    std::vector<Found> all;
    if (!store.CheckUpdatable() || store.Node(handle) == nullptr)
        return false;
    if (findArrays(store.Hierarchy(), all, &err) != ZS_OK)
        return zsReport(err);
    const auto own =
        std::find_if(all.begin(), all.end(), [&](const Found &array) { return handle.path == array.node->path; });
    if (own == all.end())
        return zsRefuse(CPLE_AppDefined, "array /%s: expected dimensions that can be read", handle.path.c_str());
    const auto &dims = own->dims;
    auto wanted = dims;
    if (!change(wanted))
        return false;
    for (size_t number = 0; number < dims.size(); number++)
    {
        for (Found &other : all)
        {
            for (size_t d = 0; d < other.dims.size(); d++)
            {
                if (own->Shares(number, other, d))
                    other.Change(d, dims[number], wanted[number]);
            }
        }
    }
    for (size_t number = 0; number < dims.size(); number++)
    {
        if (own->wanted[number].size != wanted[number].size)
            return zsRefuse(CPLE_IllegalArg, "array /%s: has a dimension twice: expected one size of it",
                            handle.path.c_str());
    }
    if (!checkChanges(store, all) || !leaveOverviews(store, all))
        return false;
    const auto stays = [](const Found &array) { return !array.isLonger && !array.isRenamed; };
    all.erase(std::remove_if(all.begin(), all.end(), stays), all.end());
    for (const Found &array : all)
    {
        // Chunks are numbered by the shape of before.
        const auto other = store.Handle(array.node->path);
        if (!store.FlushArray(*other))
            return false;
        other->opened.reset();
    }
    const auto write = [&](struct zs_hierarchy *hierarchy, struct zs_error *error) {
        for (const Found &array : all)
            ZS_TRY(writeDimensions(hierarchy, array, error));
        return ZS_OK;
    };
    if (!store.Edit(write))
        return false;
    store.Refresh();
    return true;
}
