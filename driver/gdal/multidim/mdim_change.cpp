/* Nodes that are deleted or renamed, and dimensions that are renamed or become longer. */
#include "mdim.h"

#include <algorithm>

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

/* The dimensions of all arrays. Leaves out arrays whose dimensions cannot be read: opening them reports the error. */
static bool findAll(struct zs_hierarchy *h, std::vector<ZSMdimFound> &all, struct zs_error *err)
{
    const struct zs_node **nodes = nullptr;
    size_t listed = 0;
    if (zs_hierarchy_list(h, &nodes, &listed, err) != ZS_OK)
        return false;
    const std::unique_ptr<const struct zs_node *, decltype(&free)> freed(nodes, free);
    for (size_t i = 0; i < listed; i++)
    {
        ZSMdimFound found = {};
        found.node = nodes[i];
        if (nodes[i]->type == ZS_NODE_ARRAY &&
            zs_dimensions_find(h, nodes[i], found.dims, &found.count, nullptr) == ZS_OK)
            all.push_back(found);
    }
    return true;
}

/* Whether two arrays share a dimension: it has one name and one size in both, and they are siblings, have the same
 * coordinate variable, or have it as one object that GDAL's user made. */
bool ZSMdimStore::IsShared(const struct zs_node *node, const struct zs_dimension &dim, const struct zs_node *other,
                           const struct zs_dimension &others) const
{
    const std::string name = zsMdimNameOf(dim);
    if (name.empty() || name != zsMdimNameOf(others) || dim.size != others.size)
        return false;
    const auto made = MadeDimension(node->path, name, dim.size);
    return zsParentPath(node->path) == zsParentPath(other->path) ||
           (dim.variable != nullptr && dim.variable == others.variable) ||
           (made != nullptr && made == MadeDimension(other->path, name, dim.size));
}

/* The arrays that share a dimension of an array, itself among them unless the dimension has no name. */
std::vector<ZSMdimHaving> ZSMdimStore::AllWith(const std::vector<ZSMdimFound> &all, const struct zs_node *node,
                                               const struct zs_dimension &dim) const
{
    std::vector<ZSMdimHaving> having;
    for (const auto &other : all)
    {
        ZSMdimHaving h = {other, {}};
        for (int e = 0; e < other.count; e++)
        {
            if (IsShared(node, dim, other.node, other.dims[e]))
                h.numbers.push_back(e);
        }
        if (!h.numbers.empty())
            having.push_back(h);
    }
    return having;
}

/* The live objects of a dimension: of the array where that is live, made, and of other arrays. */
std::vector<std::shared_ptr<ZSMdimSized>> ZSMdimStore::LiveDimensions(const ZSMdimFound &array, int number)
{
    const struct zs_dimension &dim = array.dims[number];
    const auto live = Handle(array.node->path)->array.lock();
    const std::string key = DimensionKey(array.node, dim);
    std::vector<std::shared_ptr<GDALDimension>> found;
    const std::lock_guard<std::mutex> held(m_lock);
    if (live != nullptr)
        found.push_back(live->GetDimensions()[static_cast<size_t>(number)]);
    if (!key.empty())
        found.insert(found.end(), {MadeDimension(array.node->path, dim.name, dim.size), m_dimensions[key].lock()});
    std::vector<std::shared_ptr<ZSMdimSized>> own;
    for (const auto &d : found)
    {
        const auto sized = std::dynamic_pointer_cast<ZSMdimSized>(d);
        if (sized != nullptr)
            own.push_back(sized);
    }
    return own;
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
    if (!OwnLevels(path, axes, levels))
        return false;
    if (!levels.empty() && zs_overviews_take_out(Hierarchy(), Node(path), axes, &err) != ZS_OK)
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

/* Renames a dimension of an array, in its document, and in the attributes of the array and of its group that list
 * dimensions. */
static enum zs_status renameIn(struct zs_hierarchy *h, const ZSMdimHaving &one, const std::string &from,
                               const std::string &to, struct zs_error *err)
{
    const char *names[ZS_MAX_NDIM] = {nullptr};
    const struct zs_node *node = nullptr, *fresh = nullptr, *group = nullptr;
    const char *path = one.array.node->path;
    for (int d = 0; d < one.array.count; d++)
        names[d] = one.array.dims[d].name;
    for (const int d : one.numbers)
        names[d] = to.c_str();
    ZS_TRY(zs_hierarchy_node(h, path, &node, err));
    ZS_TRY(zs_array_update_document(h, node, nullptr, names, nullptr, &fresh, err));
    ZS_TRY(zs_dimension_rename_attributes(h, fresh, from.c_str(), to.c_str(), err));
    if (path[0] == '\0')
        return ZS_OK;
    ZS_TRY(zs_hierarchy_node(h, zsParentPath(path).c_str(), &group, err));
    return zs_dimension_rename_attributes(h, group, from.c_str(), to.c_str(), err);
}

/* Whether there is a dimension of that name in one of the groups. */
bool ZSMdimStore::HasDimension(const std::vector<ZSMdimFound> &all, const std::set<std::string> &groups,
                               const std::string &name) const
{
    bool has = false;
    for (const auto &group : groups)
    {
        for (const auto &d : MadeDimensions(group))
            has = has || d->GetName() == name;
    }
    for (const auto &f : all)
    {
        for (int d = 0; d < f.count && groups.count(zsParentPath(f.node->path)) > 0; d++)
            has = has || zsMdimNameOf(f.dims[d]) == name;
    }
    return has;
}

bool ZSMdimStore::RenameDimension(const std::shared_ptr<ZSMdimSized> &self, const char *path, int number,
                                  const std::string &group, const std::string &given)
{
    struct zs_error err;
    const std::string name = zsUtf8(given), before = self->GetName();
    std::vector<ZSMdimFound> all;
    std::vector<ZSMdimHaving> having;
    if (!CheckUpdatable())
        return false;
    if (zs_node_check_name(name.c_str(), &err) != ZS_OK || !findAll(Hierarchy(), all, &err))
        return zsReport(err);
    for (const auto &f : all)
    {
        for (int d = 0; d < f.count && having.empty(); d++)
        {
            const bool isIt = path != nullptr ? strcmp(f.node->path, path) == 0 && d == number
                                              : MadeDimension(f.node->path, before, self->GetSize()) == self;
            if (isIt && zsMdimNameOf(f.dims[d]) == before)
                having = AllWith(all, f.node, f.dims[d]);
        }
    }
    std::set<std::string> groups{group};
    for (const auto &one : having)
        groups.insert(zsParentPath(one.array.node->path));
    if (having.empty() && path != nullptr)
        return zsRefuse(CPLE_AppDefined, "dimension %s: expected an array that has it, found none", before.c_str());
    if (HasDimension(all, groups, name))
        return zsRefuse(CPLE_AppDefined, "dimension %s: there is one called %s already", before.c_str(), name.c_str());
    std::vector<std::shared_ptr<ZSMdimSized>> live{self};
    ZSSavepoint edit(Hierarchy());
    for (const auto &one : having)
    {
        if (!FlushArray(one.array.node->path)) // it is opened again
            return false;
        if (renameIn(Hierarchy(), one, before, name, &err) != ZS_OK)
            return zsReport(err);
        for (const int d : one.numbers)
        {
            const auto more = LiveDimensions(one.array, d);
            live.insert(live.end(), more.begin(), more.end());
        }
    }
    edit.Keep();
    {
        const std::lock_guard<std::mutex> held(m_lock);
        m_dimensions.clear(); // their keys have names
    }
    for (const auto &d : live)
    {
        if (d->GetName() != name)
            d->SetName(name);
    }
    return FollowAll(having, &err) || zsReport(err);
}

#endif

/* Live arrays switch to their new nodes. */
bool ZSMdimStore::FollowAll(const std::vector<ZSMdimHaving> &arrays, struct zs_error *err)
{
    for (const auto &one : arrays)
    {
        const struct zs_node *node = nullptr;
        if (zs_hierarchy_node(Hierarchy(), one.array.node->path, &node, err) != ZS_OK || !FollowNode(node, err))
            return false;
    }
    return true;
}

/* ---- Longer dimensions ---- */

/* Whether an array may get these sizes; else the reason is in err. */
bool ZSMdimStore::CheckSizes(const ZSMdimFound &array, const std::vector<GUInt64> &sizes, struct zs_error *err) const
{
    const struct zs_node *node = array.node;
    const auto fail = [&](const std::string &reason) {
        zs_fail(err, ZS_ARGUMENT, "array /%s: %s", node->path, reason.c_str());
        return false;
    };
    if (sizes.size() != static_cast<size_t>(array.count))
        return fail("expected sizes of " + std::to_string(array.count) + " dimensions, found " +
                    std::to_string(sizes.size()));
    for (size_t d = 0; d < sizes.size(); d++)
    {
        for (size_t e = 0; e < d; e++)
        {
            if (IsShared(node, array.dims[d], node, array.dims[e]) && sizes[d] != sizes[e])
                return fail(std::string("dimension ") + array.dims[d].name + ", which it has twice: expected one size");
        }
        if (sizes[d] < array.dims[d].size)
            return fail("dimension " + std::to_string(d) + " has " + std::to_string(array.dims[d].size) +
                        " elements, arrays are made longer, not " + std::to_string(sizes[d]));
    }
    return true;
}

/* The new shapes of an array and of those that share with it the dimensions that change. */
bool ZSMdimStore::PlanResize(const struct zs_node *node, const std::vector<GUInt64> &sizes,
                             std::vector<ZSMdimHaving> &arrays, Shapes &shapes, struct zs_error *err) const
{
    ZSMdimFound own = {node, {}, 0};
    std::vector<ZSMdimFound> all;
    if (zs_dimensions_find(Hierarchy(), node, own.dims, &own.count, err) != ZS_OK || !CheckSizes(own, sizes, err) ||
        !findAll(Hierarchy(), all, err))
        return false;
    for (size_t d = 0; d < sizes.size(); d++)
    {
        if (sizes[d] == own.dims[d].size)
            continue;
        auto having = AllWith(all, node, own.dims[d]);
        if (having.empty()) // it has no name
            having.push_back({own, {static_cast<int>(d)}});
        for (const auto &one : having)
        {
            auto &shape = shapes[one.array.node->path];
            for (auto e = static_cast<int>(shape.size()); e < one.array.count; e++)
                shape.push_back(one.array.dims[e].size);
            for (const int number : one.numbers)
                shape[static_cast<size_t>(number)] = sizes[d];
            arrays.push_back(one);
        }
    }
    return true;
}

/* Leaves out the overviews of arrays, with a warning: they have the old size, and are not found until they are made
 * again. */
void ZSMdimStore::LeaveOverviews(std::vector<ZSMdimHaving> &arrays, Shapes &shapes) const
{
    std::set<std::string> all, with;
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
        all.insert(levels.list, levels.list + levels.count);
        if (levels.count > 0)
            with.insert(path);
    }
    for (const auto &level : all)
    {
        shapes.erase(level);
        with.erase(level);
    }
    const auto isLevel = [&all](const ZSMdimHaving &one) { return all.count(one.array.node->path) > 0; };
    arrays.erase(std::remove_if(arrays.begin(), arrays.end(), isLevel), arrays.end());
    for (const auto &path : with)
        CPLError(CE_Warning, CPLE_AppDefined,
                 "array /%s: its overviews have the size that it had: they are to be made again (gdaladdo)",
                 path.c_str());
}

bool ZSMdimStore::Resize(const struct zs_node *node, const std::vector<GUInt64> &sizes)
{
    struct zs_error err;
    Shapes shapes;
    std::vector<ZSMdimHaving> arrays;
    std::vector<std::pair<std::shared_ptr<ZSMdimSized>, uint64_t>> live;
    if (!CheckUpdatable())
        return false;
    if (!PlanResize(node, sizes, arrays, shapes, &err))
        return zsReport(err);
    LeaveOverviews(arrays, shapes);
    for (const auto &one : arrays)
    {
        const std::string path = one.array.node->path;
        if (!FlushArray(path)) // pending chunks are numbered by the old shape
            return false;
        for (const int d : one.numbers)
        {
            for (const auto &dimension : LiveDimensions(one.array, d))
                live.emplace_back(dimension, shapes[path][static_cast<size_t>(d)]);
        }
    }
    ZSSavepoint edit(Hierarchy());
    for (const auto &[path, shape] : shapes)
    {
        const struct zs_node *old = nullptr;
        if (zs_hierarchy_node(Hierarchy(), path.c_str(), &old, &err) != ZS_OK ||
            zs_array_grow(Hierarchy(), old, shape.data(), &err) != ZS_OK)
            return zsReport(err);
    }
    edit.Keep();
    for (const auto &[dimension, size] : live)
        dimension->SetSize(size);
    return FollowAll(arrays, &err) || zsReport(err);
}
