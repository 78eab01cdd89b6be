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
#include "zarr/make.h"
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
        if (m_handle != nullptr && m_handle->isThere &&
            !zsMdimRenameDimension(*store, *m_handle, static_cast<size_t>(m_number), name))
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
};

/* Dimensions of one array that change, with all arrays that share them. */
struct Change
{
    std::vector<Found> all; /* arrays of the store whose dimensions can be read: opening others reports the error */
    size_t own = 0;         /* number of the array */
    std::map<std::string, Found> arrays = {}; /* that change, by path */

    enum zs_status Find(struct zs_hierarchy *hierarchy, const std::string &path, struct zs_error *err);
    template <class F> void ForEach(size_t number, F &&f);
    void LeaveOverviews(struct zs_hierarchy *hierarchy);
};
} // namespace

enum zs_status Change::Find(struct zs_hierarchy *hierarchy, const std::string &path, struct zs_error *err)
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
        if (path == nodes[i]->path)
            own = all.size();
        const std::vector<struct zs_dimension> dims(found, found + count);
        all.push_back({nodes[i], dims, dims});
    }
    if (own < all.size() && path == all[own].node->path)
        return ZS_OK;
    return zs_fail(err, ZS_INVALID, "array /%s: expected dimensions that can be read", path.c_str());
}

/* Calls f(array, number of its dimension) for each array that shares a dimension of the own one, which is itself one of
 * them: it has one name and one size in both, and belongs to one group. */
template <class F> void Change::ForEach(size_t number, F &&f)
{
    const Found &array = all[own];
    const struct zs_dimension &dim = array.dims[number];
    for (const Found &other : all)
    {
        for (size_t d = 0; d < other.dims.size(); d++)
        {
            const struct zs_dimension &that = other.dims[d];
            const bool isOne = &other == &array && d == number;
            if (isOne || (!nameOf(dim).empty() && nameOf(dim) == nameOf(that) && dim.size == that.size &&
                          groupOf(array.node, dim) == groupOf(other.node, that)))
                f(arrays.emplace(other.node->path, other).first->second, d);
        }
    }
}

/* Leaves out the overviews of arrays that become longer, with a warning: they have the old size, and are not found
 * until they are made again. */
void Change::LeaveOverviews(struct zs_hierarchy *hierarchy)
{
    std::set<std::string> found, with;
    for (const auto &[path, array] : arrays)
    {
        struct zs_error ignored;
        struct zs_axes axes;
        struct zs_names levels = {};
        if (zs_axes_find(hierarchy, array.node, nullptr, nullptr, &axes, &ignored) != ZS_OK || axes.y < 0 ||
            zs_overviews_find(hierarchy, array.node, axes, &levels, &ignored) != ZS_OK)
            continue;
        const ZSOwned<char *> freed(levels.list, zs_names_free);
        found.insert(levels.list, levels.list + levels.count);
        if (levels.count > 0)
            with.insert(path);
    }
    for (const auto &level : found)
    {
        arrays.erase(level);
        with.erase(level);
    }
    for (const auto &path : with)
        CPLError(CE_Warning, CPLE_AppDefined,
                 "array /%s: its overviews have the size that it had: they are to be made again (gdaladdo)",
                 path.c_str());
}

/* Gives an array the wanted names and sizes of its dimensions. */
static enum zs_status writeDimensions(struct zs_hierarchy *hierarchy, const Found &array, struct zs_error *err)
{
    std::vector<uint64_t> shape;
    std::vector<const char *> names;
    const struct zs_node *node = array.node;
    bool isLonger = false, isRenamed = false; // what stays is not written
    for (size_t d = 0; d < array.dims.size(); d++)
    {
        shape.push_back(array.wanted[d].size);
        names.push_back(array.wanted[d].name);
        isLonger = isLonger || shape[d] != array.dims[d].size;
        isRenamed = isRenamed || names[d] != array.dims[d].name;
    }
    ZS_TRY(zs_array_update_document(hierarchy, node, isLonger ? shape.data() : nullptr,
                                    isRenamed ? names.data() : nullptr, nullptr, &node, err));
    for (size_t d = 0; d < names.size(); d++)
    {
        const char *before = array.dims[d].name;
        if (before != nullptr && names[d] != before)
            ZS_TRY(zs_dimension_rename_attributes(hierarchy, node, before, names[d], err));
    }
    return ZS_OK;
}

/* Changes all of the arrays, or none. */
static bool changeAll(ZSMdimStore &store, const Change &change)
{
    for (const auto &[path, array] : change.arrays)
    {
        // Chunks are numbered by the shape of before.
        const auto handle = store.Handle(path);
        if (!store.FlushArray(*handle))
            return false;
        handle->Close();
    }
    const auto write = [&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
        for (const auto &[path, array] : change.arrays)
            ZS_TRY(writeDimensions(hierarchy, array, err));
        return ZS_OK;
    };
    if (!store.Edit(write))
        return false;
    store.Refresh();
    return true;
}

bool zsMdimResize(ZSMdimStore &store, const ZSMdimNode &handle, const std::vector<GUInt64> &sizes)
{
    struct zs_error err;
    Change change;
    const std::string what = "array /" + handle.path + ": ";
    if (!store.CheckUpdatable() || store.Node(handle) == nullptr)
        return false;
    if (change.Find(store.Hierarchy(), handle.path, &err) != ZS_OK)
        return zsReport(err);
    const auto dims = change.all[change.own].dims;
    if (sizes.size() != dims.size())
        return zsRefuse(CPLE_IllegalArg, "%sexpected sizes of %zu dimensions, found %zu", what.c_str(), dims.size(),
                        sizes.size());
    std::string listed; /* an array that cannot become longer */
    for (size_t d = 0; d < sizes.size(); d++)
    {
        if (sizes[d] < dims[d].size)
            return zsRefuse(CPLE_IllegalArg, "%sdimension %zu has %llu elements, arrays are made longer, not %llu",
                            what.c_str(), d, static_cast<unsigned long long>(dims[d].size),
                            static_cast<unsigned long long>(sizes[d]));
        const auto resize = [&](Found &array, size_t number) {
            array.wanted[number].size = sizes[d];
            if (array.node->array != nullptr && array.node->array->edges[number] != nullptr)
                listed = array.node->path;
        };
        if (sizes[d] != dims[d].size)
            change.ForEach(d, resize);
    }
    if (!listed.empty())
        return zsRefuse(CPLE_NotSupported, "%s/%s lists the lengths of its chunks along it", what.c_str(),
                        listed.c_str());
    const auto own = change.arrays.find(handle.path);
    for (size_t d = 0; own != change.arrays.end() && d < sizes.size(); d++)
    {
        if (own->second.wanted[d].size != sizes[d])
            return zsRefuse(CPLE_IllegalArg, "%shas a dimension twice: expected one size of it", what.c_str());
    }
    for (const auto &changed : change.arrays)
    {
        std::vector<uint64_t> shape;
        for (const auto &dim : changed.second.wanted)
            shape.push_back(dim.size);
        if (changed.second.node->array != nullptr &&
            zs_bands_check_shape(store.Hierarchy(), changed.second.node, shape.data(), &err) != ZS_OK)
            return zsReport(err);
    }
    change.LeaveOverviews(store.Hierarchy());
    return changeAll(store, change);
}

#if ZS_GDAL_AT_LEAST(8)
bool zsMdimRenameDimension(ZSMdimStore &store, const ZSMdimNode &handle, size_t number, const std::string &name)
{
    struct zs_error err;
    Change change;
    std::set<std::string> groups; /* of arrays that change */
    if (store.Node(handle) == nullptr)
        return false;
    if (change.Find(store.Hierarchy(), handle.path, &err) != ZS_OK)
        return zsReport(err);
    const std::string before = nameOf(change.all[change.own].dims[number]);
    change.ForEach(number, [&](Found &array, size_t d) {
        array.wanted[d].name = name.c_str();
        groups.insert(zsParentPath(array.node->path));
    });
    for (const auto &other : change.all)
    {
        for (const auto &dim : other.dims)
        {
            if (nameOf(dim) == name && groups.count(zsParentPath(other.node->path)) > 0)
                return zsRefuse(CPLE_AppDefined, "dimension %s: there is one called %s already", before.c_str(),
                                name.c_str());
        }
    }
    return changeAll(store, change);
}
#endif
