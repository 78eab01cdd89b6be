/* Nodes that are deleted or renamed, and dimensions that are renamed or become longer. */
#include "mdim.h"

#include <algorithm>
#include <functional>

#include "gdal/guard.h"

extern "C"
{
#include "geo/bands.h"
#include "raster/overviews.h"
#include "raster/update.h"
#include "zarr/contents.h"
#include "zarr/make.h"
#include "zarr/name.h"
}

/* Whether two arrays share a dimension: it has one name and one size in both, and they are siblings, have the same
 * coordinate variable, or have it as one object that GDAL's user made. */
static bool isSameDimension(const struct zs_node *node, const struct zs_dimension &dim, const struct zs_node *other,
                            const struct zs_dimension &others, bool isMadeAsOne)
{
    const bool isCalled = zsMdimNameOf(dim) == zsMdimNameOf(others) && !zsMdimNameOf(dim).empty();
    const bool isSibling = zsParentPath(node->path) == zsParentPath(other->path);
    const bool hasSameVariable = dim.variable != nullptr && dim.variable == others.variable;
    return isCalled && dim.size == others.size && (isSibling || hasSameVariable || isMadeAsOne);
}

namespace
{
/* The dimensions of an array. */
struct Found
{
    const struct zs_node *node;
    struct zs_dimension dims[ZS_MAX_NDIM];
    int count = 0;
};
} // namespace

/* The dimensions of all arrays. Leaves out arrays whose dimensions cannot be read: opening them reports the error. */
static bool findAll(struct zs_hierarchy *h, std::vector<Found> &all, struct zs_error *err)
{
    const struct zs_node **nodes = nullptr;
    size_t listed = 0;
    if (zs_hierarchy_list(h, &nodes, &listed, err) != ZS_OK)
        return false;
    const std::unique_ptr<const struct zs_node *, decltype(&free)> freed(nodes, free);
    for (size_t i = 0; i < listed; i++)
    {
        Found found = {};
        found.node = nodes[i];
        if (nodes[i]->type == ZS_NODE_ARRAY &&
            zs_dimensions_find(h, nodes[i], found.dims, &found.count, nullptr) == ZS_OK)
            all.push_back(found);
    }
    return true;
}

namespace
{
/* An array that shares a dimension, and the numbers that it has there. */
struct Having
{
    Found array;
    std::vector<int> numbers;
};
} // namespace

/* The arrays that share a dimension of an array, itself among them unless the dimension has no name. `isMade`: whether
 * an array has it as GDAL's user made it. */
static std::vector<Having> allWith(const std::vector<Found> &all, const struct zs_node *node,
                                   const struct zs_dimension &dim, const std::function<bool(const Found &)> &isMade)
{
    std::vector<Having> having;
    for (const auto &other : all)
    {
        Having h = {other, {}};
        for (int e = 0; e < other.count; e++)
        {
            if (isSameDimension(node, dim, other.node, other.dims[e], isMade(other)))
                h.numbers.push_back(e);
        }
        if (!h.numbers.empty())
            having.push_back(h);
    }
    return having;
}

/* ---- Deleting ---- */

/* Drops pending writes of a node and of all below it, and marks their live objects as deleted. */
void ZSMdimStore::Forget(const std::string &path)
{
    for (const auto &handle : HandlesWithin(path))
    {
#if ZS_GDAL_AT_LEAST(8)
        const auto array = handle->array.lock();
        const auto group = handle->group.lock();
        if (array != nullptr)
            array->Deleted();
        if (group != nullptr)
            group->Deleted();
#endif
        handle->isThere = false;
        const std::lock_guard<std::mutex> held(m_lock);
        handle->Close();
        handle->made.clear();
        m_nodes.erase(handle->path);
    }
}

/* Removes the overviews of an array at the next flush, with which the array goes. */
bool ZSMdimStore::RemoveLevels(const std::string &path)
{
    struct zs_error err;
    struct zs_axes axes = {};
    std::vector<std::string> levels;
    size_t count = 0;
    if (!OwnLevels(path, axes, levels))
        return false;
    if (!levels.empty() && zs_overviews_take_out(Hierarchy(), Node(path), axes, &count, &err) != ZS_OK)
        return zsReport(err);
    for (const auto &level : levels)
        Forget(level);
    return true;
}

bool ZSMdimStore::Remove(const std::string &path)
{
    struct zs_error err;
    const bool isNew = m_target != nullptr;
    if (!RemoveLevels(path))
        return false;
    // Remove its chunks from a new store now: another array that takes the path must not find them.
    if ((isNew && zs_contents_remove_below(m_store->store, path.c_str(), ZS_MARKS_GO, &err) != ZS_OK) ||
        zs_hierarchy_remove(Hierarchy(), path.c_str(), &err) != ZS_OK)
        return zsReport(err);
    Forget(path);
    return isNew || Flush(false);
}

void ZSMdimStore::Unmake(const struct zs_node *node)
{
    struct zs_error err;
    Forget(node->path);
    if (zs_hierarchy_remove(Hierarchy(), node->path, &err) != ZS_OK)
        CPLDebug("ShardedZarr", "%s", err.message); // the first error was reported already
}

/* ---- Renaming nodes ---- */

bool ZSMdimStore::OwnLevels(const std::string &path, struct zs_axes &axes, std::vector<std::string> &levels)
{
    struct zs_error err;
    struct zs_names own = {};
    const struct zs_node *node = m_target == nullptr ? Node(path) : nullptr;
    if (node == nullptr || node->array == nullptr || node->array->ndim < 2 ||
        zs_axes_find(Hierarchy(), node, nullptr, nullptr, &axes, &err) != ZS_OK || axes.y < 0)
        return true;
    if (zs_overviews_own(Hierarchy(), node, axes, &own, &err) != ZS_OK)
        return zsReport(err);
    const ZSOwned<char *> freed(own.list, zs_names_free);
    levels.assign(own.list, own.list + own.count);
    return true;
}

/* Renames a node; false with CPLError emitted. */
bool ZSMdimStore::MoveNode(const std::string &from, const std::string &name)
{
    struct zs_error err;
    const std::string to = zsPathIn(zsParentPath(from), name);
    if (zs_node_rename(Hierarchy(), from.c_str(), name.c_str(), &err) != ZS_OK)
        return zsReport(err);
    return FollowMove(from, to);
}

/* Switches a live object (null: there is none) to the node at a path; false with CPLError emitted. */
template <class Object> bool ZSMdimStore::Follow(const std::shared_ptr<Object> &object, const std::string &path)
{
    struct zs_error err;
    auto *follower = dynamic_cast<ZSMdimFollower *>(object.get());
    const struct zs_node *node = follower != nullptr ? Node(path) : nullptr;
    if (follower == nullptr || node == nullptr)
        return follower == nullptr;
    const bool follows = follower->Follow(node, &err);
    if (!follows)
        zsReport(err);
    return follows;
}

/* Switches live objects of a node, and of those below it, to its new path. */
bool ZSMdimStore::FollowMove(const std::string &from, const std::string &to)
{
    const auto moved = HandlesWithin(from);
    {
        const std::lock_guard<std::mutex> held(m_lock);
        m_dimensions.clear();
        for (const auto &handle : moved)
        {
            m_nodes.erase(handle->path);
            handle->path = to + handle->path.substr(from.size());
            handle->Close();
        }
        for (const auto &handle : moved)
            m_nodes[handle->path] = handle;
    }
    for (const auto &handle : moved)
    {
        for (const auto &d : handle->made)
        {
            auto *sized = dynamic_cast<ZSMdimSized *>(d.get());
            if (sized != nullptr)
                sized->SetGroup(handle->path);
        }
    }
    bool ok = true;
    for (const auto &handle : moved)
        ok = Follow(handle->array.lock(), handle->path) && ok;
    for (const auto &handle : moved)
        ok = Follow(handle->group.lock(), handle->path) && ok;
    return ok;
}

bool ZSMdimStore::Rename(const std::string &path, const std::string &name)
{
    struct zs_error err;
    if (!CheckUpdatable())
        return false;
    // Publish pending chunks under their keys of today; a new store has no documents yet.
    const bool isFlushed = m_target != nullptr ? FlushArrays() : Flush(false);
    if (!isFlushed)
        return false;
    struct zs_axes axes = {};
    std::vector<std::string> levels;
    if (!OwnLevels(path, axes, levels))
        return false;
    // Refuse all before one is moved.
    enum zs_status status = zs_node_check_rename(Hierarchy(), path.c_str(), name.c_str(), &err);
    for (size_t i = 0; i < levels.size() && status == ZS_OK; i++)
        status = zs_node_check_rename(Hierarchy(), levels[i].c_str(), name.c_str(), &err);
    if (status == ZS_OK)
        status = zs_store_sync(m_store->store, &err);
    if (status != ZS_OK)
        return zsReport(err);
    bool ok = MoveNode(path, name);
    for (size_t i = 0; ok && i < levels.size(); i++)
        ok = MoveNode(levels[i], name);
    return ok;
}

void ZSMdimStore::AnnounceNames(const std::string &path)
{
#if ZS_GDAL_AT_LEAST(8)
    const auto announce = [&](const auto &object, const std::string &own) {
        if (object != nullptr && own != path)
            object->ParentRenamed(GroupName(zsParentPath(own)));
    };
    const auto handles = HandlesWithin(path);
    for (const auto &handle : handles)
        announce(handle->array.lock(), handle->path);
    for (const auto &handle : handles)
        announce(handle->group.lock(), handle->path);
    for (const auto &handle : handles)
    {
        for (const auto &d : handle->made)
            d->ParentRenamed(GroupName(handle->path));
    }
#else
    static_cast<void>(path);
#endif
}

/* ---- Renaming dimensions: in all arrays that share one, or in none ---- */

#if ZS_GDAL_AT_LEAST(8)

/* Whether GDAL's user made a dimension of that name in one of the groups. */
bool ZSMdimStore::HasMadeDimension(const std::set<std::string> &groups, const std::string &name) const
{
    for (const auto &group : groups)
    {
        for (const auto &d : MadeDimensions(group))
        {
            if (d->GetName() == name)
                return true;
        }
    }
    return false;
}

/* Whether an array in one of the groups has a dimension of that name. */
static bool hasDimension(const std::vector<Found> &all, const std::set<std::string> &groups, const std::string &name)
{
    for (const auto &f : all)
    {
        for (int d = 0; d < f.count && groups.count(zsParentPath(f.node->path)) > 0; d++)
        {
            if (zsMdimNameOf(f.dims[d]) == name)
                return true;
        }
    }
    return false;
}

/* Renames a dimension in all of the arrays. */
static bool renameInArrays(struct zs_hierarchy *h, const std::vector<Having> &having, const std::string &name,
                           struct zs_error *err)
{
    for (const auto &one : having)
    {
        const char *names[ZS_MAX_NDIM] = {nullptr};
        const struct zs_node *fresh = nullptr, *now = nullptr;
        for (int d = 0; d < one.array.count; d++)
            names[d] = one.array.dims[d].name;
        for (const int d : one.numbers)
            names[d] = name.c_str();
        if (zs_hierarchy_node(h, one.array.node->path, &now, err) != ZS_OK ||
            zs_array_update_document(h, now, nullptr, names, nullptr, &fresh, err) != ZS_OK)
            return false;
    }
    return true;
}

/* Renames a dimension in the attributes of its arrays and of their groups. */
static bool renameInAttributes(struct zs_hierarchy *h, const std::vector<Having> &having, const std::string &from,
                               const std::string &to, struct zs_error *err)
{
    std::set<std::string> paths;
    for (const auto &one : having)
    {
        paths.insert(one.array.node->path);
        if (one.array.node->path[0] != '\0')
            paths.insert(zsParentPath(one.array.node->path));
    }
    for (const auto &path : paths)
    {
        const struct zs_node *node = nullptr;
        if (zs_hierarchy_node(h, path.c_str(), &node, err) != ZS_OK ||
            zs_dimension_rename_attributes(h, node, from.c_str(), to.c_str(), err) != ZS_OK)
            return false;
    }
    return true;
}

/* The live object of a dimension, looked up by the name that it has until now; null where there is none. */
std::shared_ptr<GDALDimension> ZSMdimStore::HeldDimension(const struct zs_node *node, int number,
                                                          const struct zs_dimension &dim)
{
    const auto array = Handle(node->path)->array.lock();
    const std::lock_guard<std::mutex> held(m_lock);
    auto dimension = array != nullptr ? array->GetDimensions()[static_cast<size_t>(number)] : nullptr;
    if (dimension == nullptr)
        dimension = MadeDimension(node->path, zsMdimNameOf(dim), dim.size);
    return dimension != nullptr ? dimension : m_dimensions[DimensionKey(node, dim)].lock();
}

/* Live dimensions take the new name, and live arrays switch to their new nodes. */
bool ZSMdimStore::RenameLive(const std::vector<DimensionUse> &uses, const std::string &name, struct zs_error *err)
{
    {
        const std::lock_guard<std::mutex> held(m_lock);
        m_dimensions.clear(); // their keys have names
    }
    for (const auto &use : uses)
    {
        auto *sized = dynamic_cast<ZSMdimSized *>(use.dimension.get());
        if (sized != nullptr && sized->GetName() != name)
            sized->SetName(name);
    }
    for (const auto &use : uses)
    {
        struct zs_dimension dims[ZS_MAX_NDIM];
        int count = 0;
        const struct zs_node *node = use.path.empty() && use.number < 0 ? nullptr : Node(use.path);
        if (node == nullptr)
            continue;
        if (zs_dimensions_find(Hierarchy(), node, dims, &count, err) != ZS_OK || !FollowNode(node, err))
            return false;
        const std::lock_guard<std::mutex> held(m_lock);
        if (use.dimension != nullptr && MadeDimension(node->path, name, dims[use.number].size) == nullptr)
            m_dimensions[DimensionKey(node, dims[use.number])] = use.dimension;
    }
    return true;
}

/* The arrays that share a dimension: the one that an array at `path` has as its number-th, or one that was made. */
static std::vector<Having> allThatHave(const std::vector<Found> &all, const std::string &name, const char *path,
                                       int number, const std::function<bool(const Found &)> &isMade)
{
    for (const auto &f : all)
    {
        for (int d = 0; d < f.count; d++)
        {
            const bool isIt = path != nullptr ? strcmp(f.node->path, path) == 0 && d == number : isMade(f);
            if (isIt && zsMdimNameOf(f.dims[d]) == name)
                return allWith(all, f.node, f.dims[d], isMade);
        }
    }
    return {};
}

bool ZSMdimStore::RenameDimension(const std::shared_ptr<GDALDimension> &self, const char *path, int number,
                                  const std::string &group, const std::string &given)
{
    struct zs_error err;
    const std::string name = zsUtf8(given);
    std::vector<Found> all;
    const std::string before = self->GetName();
    if (!CheckUpdatable())
        return false;
    if (zs_node_check_name(name.c_str(), &err) != ZS_OK)
        return zsReport(err);
    if (!findAll(Hierarchy(), all, &err))
        return zsReport(err);
    const auto having = allThatHave(all, before, path, number, [&](const Found &f) {
        return MadeDimension(f.node->path, before, self->GetSize()) == self;
    });
    std::set<std::string> groups{group};
    std::vector<DimensionUse> uses{{"", -1, self}};
    for (const auto &one : having)
    {
        groups.insert(zsParentPath(one.array.node->path));
        for (const int d : one.numbers)
            uses.push_back({one.array.node->path, d, HeldDimension(one.array.node, d, one.array.dims[d])});
    }
    if ((having.empty() && path != nullptr) || HasMadeDimension(groups, name) ||
        hasDimension(all, groups, name))
    {
        CPLError(CE_Failure, CPLE_AppDefined,
                 having.empty() && path != nullptr
                     ? "dimension %s: expected an array that has it, found none; it is not renamed to %s"
                     : "dimension %s: there is one called %s already",
                 before.c_str(), name.c_str());
        return false;
    }
    for (const auto &one : having)
    {
        if (!FlushArray(one.array.node->path)) // it is opened again
            return false;
    }
    ZSSavepoint edit(Hierarchy());
    if (!renameInArrays(Hierarchy(), having, name, &err) ||
        !renameInAttributes(Hierarchy(), having, before, name, &err))
        return zsReport(err);
    edit.Keep();
    return RenameLive(uses, name, &err) || zsReport(err);
}

#endif

/* ---- Longer dimensions: which arrays become longer together ---- */

static std::vector<uint64_t> shapeOf(const Found &array)
{
    std::vector<uint64_t> shape;
    for (int d = 0; d < array.count; d++)
        shape.push_back(array.dims[d].size);
    return shape;
}

/* The new shapes of an array and of those that share with it the dimensions that change. */
bool ZSMdimStore::PlanResize(const struct zs_node *node, const std::vector<uint64_t> &sizes, Shapes &shapes,
                             struct zs_error *err)
{
    struct zs_dimension dims[ZS_MAX_NDIM];
    int count = 0;
    if (zs_dimensions_find(Hierarchy(), node, dims, &count, err) != ZS_OK)
        return false;
    if (sizes.size() != static_cast<size_t>(count))
    {
        zs_fail(err, ZS_ARGUMENT, "array /%s: expected sizes of %d dimensions, found %zu", node->path, count,
                sizes.size());
        return false;
    }
    for (size_t d = 0; d < sizes.size(); d++)
    {
        for (size_t e = 0; e < d; e++)
        {
            if (isSameDimension(node, dims[d], node, dims[e], false) && sizes[d] != sizes[e])
            {
                zs_fail(err, ZS_ARGUMENT, "array /%s: dimension %s, which it has twice: expected one size", node->path,
                        dims[d].name);
                return false;
            }
        }
        if (sizes[d] < dims[d].size)
        {
            zs_fail(err, ZS_UNSUPPORTED, "array /%s: dimension %zu has %llu elements, arrays are made longer, not %llu",
                    node->path, d, static_cast<unsigned long long>(dims[d].size),
                    static_cast<unsigned long long>(sizes[d]));
            return false;
        }
    }
    std::vector<Found> all;
    if (!findAll(Hierarchy(), all, err))
        return false;
    for (size_t d = 0; d < sizes.size(); d++)
    {
        if (sizes[d] == dims[d].size)
            continue;
        shapes[node->path] = sizes;
        const std::string name = zsMdimNameOf(dims[d]);
        const auto made = MadeDimension(node->path, name, dims[d].size);
        const auto isMade = [&](const Found &other) {
            return made != nullptr && made == MadeDimension(other.node->path, name, dims[d].size);
        };
        for (const auto &one : allWith(all, node, dims[d], isMade))
        {
            auto &shape = shapes.emplace(one.array.node->path, shapeOf(one.array)).first->second;
            for (const int number : one.numbers)
                shape[static_cast<size_t>(number)] = sizes[d];
        }
    }
    return true;
}

/* ---- Longer dimensions: the new shapes ---- */

/* Changes the shapes of all arrays, and the lists in their attributes that have an element for each slice. After a
 * failure none is changed. */
bool ZSMdimStore::SetShapes(const Shapes &shapes, struct zs_error *err)
{
    ZSSavepoint edit(Hierarchy());
    for (const auto &[path, shape] : shapes)
    {
        const struct zs_node *node = nullptr;
        if (zs_hierarchy_node(Hierarchy(), path.c_str(), &node, err) != ZS_OK ||
            zs_array_grow(Hierarchy(), node, shape.data(), err) != ZS_OK)
            return false;
    }
    edit.Keep();
    return true;
}

/* Adds the live dimensions of an array, with their new sizes. */
void ZSMdimStore::AddDimensions(const std::string &path, const std::vector<uint64_t> &shape, Sizes &sizes)
{
    struct zs_dimension dims[ZS_MAX_NDIM];
    int count = 0;
    const struct zs_node *node = Node(path);
    const auto array = Handle(path)->array.lock();
    if (node == nullptr || zs_dimensions_find(Hierarchy(), node, dims, &count, nullptr) != ZS_OK)
        return;
    for (int d = 0; d < count; d++)
    {
        const uint64_t size = shape[static_cast<size_t>(d)];
        const std::string key = DimensionKey(node, dims[d]);
        if (array != nullptr)
            sizes.emplace_back(array->GetDimensions()[static_cast<size_t>(d)], size);
        if (key.empty())
            continue;
        sizes.emplace_back(MadeDimension(path, dims[d].name, dims[d].size), size);
        sizes.emplace_back(m_dimensions[key].lock(), size);
    }
}

/* Warns of overviews that keep the old size: they are not found until they are made again. */
void ZSMdimStore::TellOfOverviews(const Shapes &shapes)
{
    for (const auto &[path, shape] : shapes)
    {
        struct zs_error ignored;
        struct zs_axes axes;
        const struct zs_node *node = Node(path);
        struct zs_names levels = {};
        if (node == nullptr || zs_axes_find(Hierarchy(), node, nullptr, nullptr, &axes, &ignored) != ZS_OK ||
            axes.y < 0 || zs_overviews_find(Hierarchy(), node, axes, &levels, &ignored) != ZS_OK)
            continue;
        const ZSOwned<char *> freed(levels.list, zs_names_free);
        const bool isLeft = std::any_of(levels.list, levels.list + levels.count,
                                        [&](const char *level) { return shapes.find(level) == shapes.end(); });
        if (isLeft)
            CPLError(CE_Warning, CPLE_AppDefined,
                     "array /%s: its overviews have the size that it had: they are to be made again (gdaladdo)",
                     path.c_str());
    }
}

bool ZSMdimStore::Resize(const struct zs_node *node, const std::vector<GUInt64> &newSizes)
{
    struct zs_error err;
    Shapes shapes;
    Sizes sizes;
    if (!CheckUpdatable())
        return false;
    bool ok = PlanResize(node, std::vector<uint64_t>(newSizes.begin(), newSizes.end()), shapes, &err);
    for (auto it = shapes.begin(); ok && it != shapes.end(); ++it)
    {
        if (!FlushArray(it->first)) // pending chunks are numbered by the old shape
            return false;
        AddDimensions(it->first, it->second, sizes);
    }
    if (ok)
        TellOfOverviews(shapes);
    ok = ok && SetShapes(shapes, &err);
    for (size_t i = 0; ok && i < sizes.size(); i++)
    {
        auto *sized = dynamic_cast<ZSMdimSized *>(sizes[i].first.get());
        if (sized != nullptr)
            sized->SetSize(sizes[i].second);
    }
    for (auto it = shapes.begin(); ok && it != shapes.end(); ++it)
    {
        const struct zs_node *fresh = nullptr;
        ok = zs_hierarchy_node(Hierarchy(), it->first.c_str(), &fresh, &err) == ZS_OK && FollowNode(fresh, &err);
    }
    if (!ok)
        zsReport(err);
    return ok;
}
