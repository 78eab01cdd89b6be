/* Nodes that are deleted or renamed, and dimensions that are renamed or become longer. What is changed is the hierarchy
 * and the handles; live objects are refreshed from these. */
#include "mdim.h"

#include <algorithm>

#include "gdal/guard.h"

extern "C"
{
#include "geo/bands.h"
#include "raster/overviews.h"
#include "zarr/contents.h"
#include "zarr/make.h"
#include "zarr/name.h"
}

/* ---- Live objects ---- */

std::vector<std::shared_ptr<ZSMdimNode>> ZSMdimStore::HandlesWithin(const std::string &path) const
{
    std::vector<std::shared_ptr<ZSMdimNode>> list;
    for (const auto &[own, handle] : m_nodes)
    {
        if (zs_path_is_within(own.c_str(), path.c_str()))
            list.push_back(handle);
    }
    return list;
}

/* Live objects take over their names and sizes. */
void ZSMdimStore::Refresh()
{
    const auto refresh = [this](const auto &object) {
        if (auto *own = dynamic_cast<ZSMdimObject *>(object.get()))
            own->Refresh(*this);
    };
    for (const auto &[path, handle] : m_nodes)
    {
        refresh(handle->group.lock());
        refresh(handle->array.lock());
        std::for_each(handle->made.begin(), handle->made.end(), refresh);
    }
    std::map<std::string, std::weak_ptr<ZSMdimDimension>> dimensions;
    for (const auto &[key, known] : m_dimensions)
    {
        const auto live = known.lock();
        if (live == nullptr)
            continue;
        live->Refresh(*this);
        dimensions[live->Key(*this)] = live;
    }
    dimensions.erase("");
    m_dimensions = std::move(dimensions);
}

/* Marks live objects whose nodes are gone as deleted, and drops their pending writes. */
void ZSMdimStore::ForgetRemoved()
{
    for (const auto &handle : HandlesWithin(""))
    {
        const struct zs_node *node = nullptr;
        struct zs_error ignored;
        if (zs_hierarchy_node(Hierarchy(), handle->path.c_str(), &node, &ignored) != ZS_NOT_FOUND)
            continue;
        handle->isThere = false;
        handle->Close();
        handle->made.clear();
        m_nodes.erase(handle->path);
    }
}

/* Publishes what is pending of an array, and closes it: its chunks are numbered, and named, by its state of before. */
bool ZSMdimStore::CloseArray(const std::string &path)
{
    const auto handle = Handle(path);
    if (!FlushArray(*handle))
        return false;
    handle->Close();
    return true;
}

/* ---- Deleting and renaming nodes ---- */

bool ZSMdimStore::OwnLevels(const struct zs_node *node, struct zs_axes &axes, std::vector<std::string> &levels)
{
    struct zs_error err;
    struct zs_names own = {};
    if (m_target != nullptr || node->array == nullptr || node->array->ndim < 2 ||
        zs_axes_find(Hierarchy(), node, nullptr, nullptr, &axes, &err) != ZS_OK || axes.y < 0)
        return true;
    if (zs_overviews_own(Hierarchy(), node, axes, &own, &err) != ZS_OK)
        return zsReport(err);
    const ZSOwned<char *> freed(own.list, zs_names_free);
    levels.assign(own.list, own.list + own.count);
    return true;
}

bool ZSMdimStore::Remove(const struct zs_node *node)
{
    const bool isNew = m_target != nullptr;
    const std::string path = node->path;
    struct zs_axes axes = {};
    std::vector<std::string> levels;
    if (!OwnLevels(node, axes, levels))
        return false;
    const auto remove = [&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
        if (!levels.empty())
            ZS_TRY(zs_overviews_take_out(hierarchy, node, axes, err));
        // Remove its chunks from a new store now: another array that takes the path must not find them.
        if (isNew)
            ZS_TRY(zs_contents_remove_below(m_store->store, path.c_str(), err));
        return zs_hierarchy_remove(hierarchy, path.c_str(), err);
    };
    if (!Edit(remove))
        return false;
    ForgetRemoved();
    return isNew || Flush(false);
}

/* Renames a node; its handle, and those of all below it, have the new path. */
bool ZSMdimStore::MoveNode(const std::string &from, const std::string &name)
{
    const auto moved = HandlesWithin(from);
    struct zs_error err;
    if (zs_node_rename(Hierarchy(), from.c_str(), name.c_str(), &err) != ZS_OK)
        return zsReport(err);
    for (const auto &handle : moved)
    {
        m_nodes.erase(handle->path);
        handle->path = zsPathIn(zsParentPath(from), name) + handle->path.substr(from.size());
        handle->Close();
        m_nodes[handle->path] = handle;
    }
    return true;
}

bool ZSMdimStore::Rename(const ZSMdimNode &handle, const std::string &name)
{
    struct zs_error err;
    struct zs_axes axes = {};
    std::vector<std::string> paths;
    const struct zs_node *node = CheckUpdatable() ? Node(handle) : nullptr;
    // Pending chunks have their keys of today; a new store takes its place.
    if (node == nullptr || !Flush(false) || !OwnLevels(node, axes, paths))
        return false;
    paths.insert(paths.begin(), handle.path);
    // Refuse all before one is moved.
    enum zs_status status = zs_store_sync(m_store->store, &err);
    for (size_t i = 0; i < paths.size() && status == ZS_OK; i++)
        status = zs_node_check_rename(Hierarchy(), paths[i].c_str(), name.c_str(), &err);
    if (status != ZS_OK)
        return zsReport(err);
    const bool ok =
        std::all_of(paths.begin(), paths.end(), [&](const std::string &path) { return MoveNode(path, name); });
    Refresh();
    return ok;
}

/* ---- Dimensions ---- */

/* The dimensions of all arrays. Leaves out arrays whose dimensions cannot be read: opening them reports the error. */
bool ZSMdimStore::FindAll(std::vector<ZSMdimFound> &all, struct zs_error *err) const
{
    const struct zs_node **nodes = nullptr;
    size_t listed = 0;
    if (zs_hierarchy_list(Hierarchy(), &nodes, &listed, err) != ZS_OK)
        return false;
    const std::unique_ptr<const struct zs_node *, decltype(&free)> freed(nodes, free);
    for (size_t i = 0; i < listed; i++)
    {
        ZSMdimFound found = {};
        found.node = nodes[i];
        if (nodes[i]->type == ZS_NODE_ARRAY &&
            zs_dimensions_find(Hierarchy(), nodes[i], found.dims, &found.count, nullptr) == ZS_OK)
            all.push_back(found);
    }
    return true;
}

/* Whether two arrays share a dimension: it has one name and one size in both, and they are siblings, have the same
 * coordinate variable, or have it as one object that GDAL's user made. */
bool ZSMdimStore::IsShared(const ZSMdimFound &array, int number, const ZSMdimFound &other, int others) const
{
    const struct zs_dimension &dim = array.dims[number], &that = other.dims[others];
    const std::string name = zsMdimNameOf(dim), path = array.node->path, otherPath = other.node->path;
    if (path == otherPath && number == others)
        return true;
    if (name.empty() || name != zsMdimNameOf(that) || dim.size != that.size)
        return false;
    const auto made = MadeDimension(path, name, dim.size);
    return zsParentPath(path) == zsParentPath(otherPath) ||
           (dim.variable != nullptr && dim.variable == that.variable) ||
           (made != nullptr && made == MadeDimension(otherPath, name, dim.size));
}

#if ZS_GDAL_AT_LEAST(8)
bool ZSMdimStore::RenameDimension(const ZSMdimNode *array, int number, const std::string &group,
                                  const std::string &before, const std::string &name)
{
    struct zs_error err;
    std::vector<ZSMdimFound> all;
    std::map<std::string, std::vector<const char *>> names; /* of all dimensions, by path of an array that has it */
    std::set<std::string> groups{group};
    if (!CheckUpdatable())
        return false;
    if (zs_node_check_name(name.c_str(), &err) != ZS_OK || !FindAll(all, &err))
        return zsReport(err);
    const auto own = std::find_if(all.begin(), all.end(), [array](const ZSMdimFound &found) {
        return array != nullptr && array->path == found.node->path;
    });
    for (const auto &other : all)
    {
        for (int d = 0; own != all.end() && d < other.count; d++)
        {
            if (!IsShared(*own, number, other, d))
                continue;
            auto &list = names[other.node->path];
            for (auto e = static_cast<int>(list.size()); e < other.count; e++)
                list.push_back(other.dims[e].name);
            list[static_cast<size_t>(d)] = name.c_str();
            groups.insert(zsParentPath(other.node->path));
        }
    }
    const auto has = [&](const ZSMdimFound &other) {
        bool isNamed = false;
        for (int d = 0; d < other.count; d++)
            isNamed = isNamed || zsMdimNameOf(other.dims[d]) == name;
        return isNamed && groups.count(zsParentPath(other.node->path)) > 0;
    };
    bool isTaken = std::any_of(all.begin(), all.end(), has);
    for (const auto &of : groups)
    {
        for (const auto &d : Handle(of)->made)
            isTaken = isTaken || d->GetName() == name;
    }
    if (isTaken)
        return zsRefuse(CPLE_AppDefined, "dimension %s: there is one called %s already", before.c_str(), name.c_str());
    for (const auto &[path, list] : names)
    {
        if (!CloseArray(path))
            return false;
    }
    const auto rename = [&](struct zs_hierarchy *hierarchy, struct zs_error *e) {
        for (const auto &[path, list] : names)
        {
            const struct zs_node *node = nullptr, *fresh = nullptr;
            ZS_TRY(zs_hierarchy_node(hierarchy, path.c_str(), &node, e));
            ZS_TRY(zs_array_update_document(hierarchy, node, nullptr, list.data(), nullptr, &fresh, e));
            ZS_TRY(zs_dimension_rename_attributes(hierarchy, fresh, before.c_str(), name.c_str(), e));
        }
        return ZS_OK;
    };
    if (!Edit(rename))
        return false;
    Refresh();
    return true;
}
#endif

/* The new shapes of an array and of those that share with it the dimensions that change. */
bool ZSMdimStore::PlanResize(const struct zs_node *node, const std::vector<GUInt64> &sizes, Shapes &shapes,
                             struct zs_error *err) const
{
    std::vector<ZSMdimFound> all;
    const auto fail = [&](const std::string &reason) {
        zs_fail(err, ZS_ARGUMENT, "array /%s: %s", node->path, reason.c_str());
        return false;
    };
    if (!FindAll(all, err))
        return false;
    const auto isNode = [node](const ZSMdimFound &found) { return strcmp(found.node->path, node->path) == 0; };
    const auto own = std::find_if(all.begin(), all.end(), isNode);
    const size_t count = own != all.end() ? static_cast<size_t>(own->count) : 0;
    if (own == all.end() || sizes.size() != count)
        return fail("expected sizes of " + std::to_string(count) + " dimensions, found " +
                    std::to_string(sizes.size()));
    for (size_t d = 0; d < count; d++)
    {
        const uint64_t before = own->dims[d].size;
        if (sizes[d] < before)
            return fail("dimension " + std::to_string(d) + " has " + std::to_string(before) +
                        " elements, arrays are made longer, not " + std::to_string(sizes[d]));
        for (size_t i = 0; i < all.size() && sizes[d] != before; i++)
        {
            const ZSMdimFound &other = all[i];
            for (int e = 0; e < other.count; e++)
            {
                if (!IsShared(*own, static_cast<int>(d), other, e))
                    continue;
                if (other.node->array != nullptr && other.node->array->edges[e] != nullptr)
                    return fail(std::string("/") + other.node->path + " lists the lengths of its chunks along it");
                auto &shape = shapes[other.node->path];
                for (auto k = static_cast<int>(shape.size()); k < other.count; k++)
                    shape.push_back(other.dims[k].size);
                shape[static_cast<size_t>(e)] = sizes[d];
            }
        }
    }
    const auto planned = shapes.find(node->path);
    if (planned != shapes.end() && planned->second != std::vector<uint64_t>(sizes.begin(), sizes.end()))
        return fail("has a dimension twice: expected one size of it");
    return true;
}

/* Leaves out the overviews of arrays, with a warning: they have the old size, and are not found until they are made
 * again. */
void ZSMdimStore::LeaveOverviews(Shapes &shapes) const
{
    std::set<std::string> all, with;
    for (const auto &[path, shape] : shapes)
    {
        struct zs_error ignored;
        struct zs_axes axes;
        const struct zs_node *node = nullptr;
        struct zs_names levels = {};
        if (zs_hierarchy_node(Hierarchy(), path.c_str(), &node, &ignored) != ZS_OK ||
            zs_axes_find(Hierarchy(), node, nullptr, nullptr, &axes, &ignored) != ZS_OK || axes.y < 0 ||
            zs_overviews_find(Hierarchy(), node, axes, &levels, &ignored) != ZS_OK)
            continue;
        const ZSOwned<char *> freed(levels.list, zs_names_free);
        all.insert(levels.list, levels.list + levels.count);
        if (levels.count > 0)
            with.insert(path);
    }
    for (const auto &level : all)
    {
        shapes.erase(level);
        with.erase(level);
    }
    for (const auto &path : with)
        CPLError(CE_Warning, CPLE_AppDefined,
                 "array /%s: its overviews have the size that it had: they are to be made again (gdaladdo)",
                 path.c_str());
}

bool ZSMdimStore::Resize(const ZSMdimNode &handle, const std::vector<GUInt64> &sizes)
{
    struct zs_error err;
    Shapes shapes;
    const struct zs_node *own = CheckUpdatable() ? Node(handle) : nullptr;
    if (own == nullptr)
        return false;
    if (!PlanResize(own, sizes, shapes, &err))
        return zsReport(err);
    LeaveOverviews(shapes);
    for (const auto &[path, shape] : shapes)
    {
        if (!CloseArray(path))
            return false;
    }
    const auto grow = [&](struct zs_hierarchy *hierarchy, struct zs_error *e) {
        for (const auto &[path, shape] : shapes)
        {
            const struct zs_node *node = nullptr;
            ZS_TRY(zs_hierarchy_node(hierarchy, path.c_str(), &node, e));
            const struct zs_node *fresh;
            ZS_TRY(zs_array_update_document(hierarchy, node, shape.data(), nullptr, nullptr, &fresh, e));
        }
        return ZS_OK;
    };
    if (!Edit(grow))
        return false;
    Refresh();
    return true;
}
