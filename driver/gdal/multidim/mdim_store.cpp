/* What the objects of one store share: what is open of it, and what is to be written to it. */
#include "mdim.h"

#include <algorithm>

#include "gdal/guard.h"

extern "C"
{
#include "geo/array_crs.h"
#include "geo/bands.h"
#include "raster/overviews.h"
#include "raster/references.h"
#include "zarr/contents.h"
#include "zarr/make.h"
}

ZSMdimStore::ZSMdimStore(const std::shared_ptr<ZSStore> &store, const ZSOpenOptions &options,
                         const struct zs_node *group, const struct zs_node *only, GDALAccess access)
    : m_store(store), m_options(options), m_group(group), m_only(only), m_root(group != nullptr ? group->path : ""),
      m_isUpdatable(access == GA_Update), m_fsync(options.fsync)
{
    if (!store->store->is_remote)
        m_pam = std::make_shared<GDALPamMultiDim>(std::string(store->store->root) + "/zarr.json");
}

ZSMdimStore::ZSMdimStore(const std::shared_ptr<ZSStore> &store, const ZSOpenOptions &options,
                         const struct zs_node *root, std::unique_ptr<ZSTarget> target, bool consolidates,
                         CSLConstList arrayOptions)
    : m_store(store), m_options(options), m_group(root), m_only(nullptr), m_isUpdatable(true), m_fsync(options.fsync),
      m_consolidates(consolidates), m_arrayOptions(CSLDuplicate(arrayOptions)), m_target(std::move(target))
{
}

/* What was written after the dataset was closed. */
ZSMdimStore::~ZSMdimStore()
{
    static_cast<void>(zsGuard([this] { return Flush(true); }));
    for (const auto &[path, handle] : m_nodes)
        handle->Close();
}

/* ---- Names ---- */

std::shared_ptr<GDALGroup> ZSMdimStore::RootGroup()
{
    return zsMdimGroup(shared_from_this(), m_group, m_only);
}

std::string ZSMdimStore::GroupName(const std::string &path) const
{
    // What is above the root group has no name there; it is called as in the store.
    const bool isBelow = m_root.empty() || path.compare(0, m_root.size() + 1, m_root + "/") == 0;
    if (path == m_root || path.empty())
        return "/";
    return "/" + (isBelow && !m_root.empty() ? path.substr(m_root.size() + 1) : path);
}

std::string ZSMdimStore::ParentName(const struct zs_node *node) const
{
    return GroupName(zsParentPath(node->path));
}

std::string ZSMdimStore::NodeName(const struct zs_node *node) const
{
    return node->path[0] != '\0' ? zs_path_name(node->path) : zsRootArrayName(m_store->store->root);
}

std::string ZSMdimStore::DocumentName(const struct zs_node *node) const
{
    return (m_target != nullptr ? m_target->Root() : m_store->store->root) + "/" + node->key;
}

/* ---- Nodes, and arrays that are open ---- */

std::shared_ptr<ZSMdimNode> ZSMdimStore::Handle(const std::string &path)
{
    auto &handle = m_nodes[path];
    if (handle == nullptr)
    {
        handle = std::make_shared<ZSMdimNode>();
        handle->path = path;
    }
    return handle;
}

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

std::shared_ptr<ZSMdimOpened> ZSMdimStore::Keep(const struct zs_node *node, struct zs_array *array)
{
    std::unique_ptr<struct zs_array, decltype(&zs_array_close)> owned(array, zs_array_close);
    const auto opened = std::make_shared<ZSMdimOpened>(array);
    owned.release();
    const auto handle = Handle(node->path);
    handle->opened = opened;
    if (node->array->ndim <= 1 || m_isUpdatable)
        handle->kept = opened;
    return opened;
}

std::shared_ptr<ZSMdimOpened> ZSMdimStore::Open(const struct zs_node *node, struct zs_error *err)
{
    const std::lock_guard<std::mutex> held(m_lock);
    auto opened = Handle(node->path)->opened.lock();
    if (opened != nullptr)
        return opened;
    const struct zs_array_options options = m_options.ForArrays();
    struct zs_array *array = nullptr;
    return zs_array_open_node(m_store->hierarchy, node, &options, &array, err) == ZS_OK ? Keep(node, array) : nullptr;
}

std::shared_ptr<ZSMdimOpened> ZSMdimStore::OpenNew(const struct zs_node *node, int chunkOrder, struct zs_error *err)
{
    const std::lock_guard<std::mutex> held(m_lock);
    const struct zs_array_options options = m_options.ForArrays();
    struct zs_array *array = nullptr;
    if (zs_array_open_node(m_store->hierarchy, node, &options, &array, err) != ZS_OK)
        return nullptr;
    zs_array_set_new(array, chunkOrder);
    const auto opened = Keep(node, array);
    opened->isBlank = true;
    return opened;
}

std::shared_ptr<ZSMdimOpened> ZSMdimStore::OpenAgain(const struct zs_node *node, const ZSMdimOpened &old,
                                                     struct zs_error *err)
{
    const int order = zs_array_chunk_order(old.Get());
    if (old.isBlank)
        return OpenNew(node, order, err);
    {
        const std::lock_guard<std::mutex> held(m_lock);
        Handle(node->path)->Close();
    }
    auto opened = Open(node, err);
    if (opened != nullptr)
        zs_array_set_order(opened->Get(), order);
    return opened;
}

std::shared_ptr<GDALMDArray> ZSMdimStore::Array(const struct zs_node *node, struct zs_error *err)
{
    // who asks may have it from before another took its place
    if (m_isUpdatable && zs_hierarchy_node(Hierarchy(), node->path, &node, err) != ZS_OK)
        return nullptr;
    auto known = m_isUpdatable ? Handle(node->path)->array.lock() : nullptr;
    if (known != nullptr)
        return known;
    auto array = node->is_text ? zsMdimStrings(shared_from_this(), node, {}, err)
                               : zsMdimArray(shared_from_this(), node, nullptr, {}, err);
    if (m_isUpdatable && array != nullptr)
        Handle(node->path)->array = array;
    return array;
}

/* ---- Writing ---- */

bool ZSMdimStore::CheckUpdatable() const
{
    if (m_isUpdatable && !m_isAbandoned)
        return true;
    CPLError(CE_Failure, CPLE_NoWriteAccess, m_isAbandoned ? "%s: is not written any more, for closing it failed"
                                                           : "%s was not opened in update mode",
             m_store->store->root);
    return false;
}

const struct zs_node *ZSMdimStore::Node(const std::string &path) const
{
    const struct zs_node *node = nullptr;
    struct zs_error err;
    if (zs_hierarchy_node(Hierarchy(), path.c_str(), &node, &err) == ZS_OK)
        return node;
    zsReport(err);
    return nullptr;
}

void ZSMdimStore::Complain(const std::string &what) const
{
    CPLError(m_isLenient ? CE_Warning : CE_Failure, CPLE_NotSupported, "%s%s", what.c_str(),
             m_isLenient ? "; it is left out" : "");
}

bool ZSMdimStore::FlushArray(const std::string &path)
{
    struct zs_error err;
    const auto opened = Handle(path)->opened.lock();
    if (opened == nullptr || zs_array_flush(opened->Get(), &err) == ZS_OK)
        return true;
    zsReport(err);
    m_isLost = true; // a shard that cannot be published may be lost
    return false;
}

bool ZSMdimStore::FlushArrays(bool isLast)
{
    bool ok = true;
    for (const auto &[path, handle] : m_nodes)
    {
        struct zs_error err;
        const auto flush = isLast ? zs_array_flush_last : zs_array_flush;
        if (handle->kept == nullptr || flush(handle->kept->Get(), &err) == ZS_OK)
            continue;
        zsReport(err);
        m_isLost = true;
        ok = false;
    }
    return ok;
}

/* What arrays and groups say, into the hierarchy and then into the store. */
bool ZSMdimStore::WriteDocuments()
{
    struct zs_error err;
    enum zs_status status = ZS_OK;
    const struct zs_node *node;
    for (const auto &[path, handle] : m_nodes)
    {
        OGRSpatialReferenceH srs = handle->srs != nullptr ? OGRSpatialReference::ToHandle(handle->srs.get()) : nullptr;
        if (handle->isSrsSet && status == ZS_OK &&
            zs_hierarchy_node(Hierarchy(), path.c_str(), &node, &err) == ZS_OK)
            status = zs_array_crs_write(Hierarchy(), node, srs, &err);
    }
    for (const auto &[path, handle] : m_nodes)
    {
        for (const auto &d : std::vector<std::shared_ptr<GDALDimension>>(handle->made))
        {
            const auto variable = status == ZS_OK ? d->GetIndexingVariable() : nullptr;
            const std::string own = (path.empty() ? "" : path + "/") + d->GetName();
            if (variable != nullptr && zs_hierarchy_node(Hierarchy(), own.c_str(), &node, &err) == ZS_OK)
                status = zs_dimension_tell(Hierarchy(), node, d->GetType().c_str(), d->GetDirection().c_str(), &err);
        }
    }
    if (status == ZS_OK && m_target != nullptr && m_consolidates)
        status = zs_root_consolidate(Hierarchy(), &err);
    if (status == ZS_OK)
        status = zs_hierarchy_flush(Hierarchy(), &err);
    if (status == ZS_OK)
        status = zs_store_sync(m_store->store, &err);
    if (status != ZS_OK)
    {
        zsReport(err);
        return false;
    }
    for (const auto &[path, handle] : m_nodes)
        handle->isSrsSet = false;
    return true;
}

/* A new store is whole. From now on it is changed where it is. */
bool ZSMdimStore::TakePlace()
{
    if (!zsTakePlace(m_target, m_store->store))
        return false;
    zs_store_set_sync(m_store->store, m_fsync ? ZS_SYNC_EACH : ZS_SYNC_NO);
    return true;
}

bool ZSMdimStore::Flush(bool isLast)
{
    if (!m_isUpdatable || m_isAbandoned)
        return true;
    bool ok = FlushArrays(isLast);
    if (m_target != nullptr && m_isLost)
    {
        CPLError(CE_Failure, CPLE_FileIO,
                 "%s: not all of it could be written: it is not made, and what was there stays",
                 m_target->Root().c_str());
        ok = false;
    }
    else
    {
        ok = WriteDocuments() && ok;
        ok = ok && (m_target == nullptr || TakePlace());
    }
    if (isLast && !ok)
        Abandon();
    return ok;
}

void ZSMdimStore::Abandon()
{
    m_isAbandoned = true;
    for (const auto &[path, handle] : m_nodes)
        handle->kept.reset();
    m_target.reset();
}

/* ---- What grows, is deleted or renamed ---- */

/* ---- What grows together ---- */

static std::vector<uint64_t> shapeOf(const struct zs_dimension *dims, int count)
{
    std::vector<uint64_t> shape;
    for (int d = 0; d < count; d++)
        shape.push_back(dims[d].size);
    return shape;
}

static bool isCalled(const struct zs_dimension &a, const struct zs_dimension &b)
{
    return a.name != nullptr && a.name[0] != '\0' && b.name != nullptr && strcmp(a.name, b.name) == 0;
}

/* Adds `other` where it has dimensions that become longer: those of the same name and size in the group of `node`, and
 * wherever the same array has their coordinates, or GDAL has them as one object. What cannot be read stays as it is. */
void ZSMdimStore::AddSharing(const struct zs_node *node, const struct zs_dimension *dims,
                             const std::vector<uint64_t> &sizes, const struct zs_node *other, Shapes &shapes) const
{
    struct zs_dimension others[ZS_MAX_NDIM];
    int count = 0;
    if (zs_dimensions_find(Hierarchy(), other, others, &count, nullptr) != ZS_OK)
        return;
    const bool isBeside = zsParentPath(node->path) == zsParentPath(other->path);
    auto shape = shapeOf(others, count);
    for (int e = 0; e < count; e++)
    {
        for (size_t d = 0; d < sizes.size(); d++)
        {
            const bool isSame = dims[d].variable != nullptr && dims[d].variable == others[e].variable;
            const auto made = isCalled(dims[d], others[e]) ? MadeDimension(node->path, dims[d].name, dims[d].size)
                                                           : nullptr;
            const bool isMade = made != nullptr && made == MadeDimension(other->path, dims[d].name, dims[d].size);
            if (isCalled(dims[d], others[e]) && dims[d].size == others[e].size && (isBeside || isSame || isMade))
                shape[static_cast<size_t>(e)] = sizes[d];
        }
    }
    if (shape != shapeOf(others, count))
        shapes[other->path] = shape;
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
    for (int d = 0; d < count; d++)
    {
        for (int e = 0; e < d; e++)
        {
            if (isCalled(dims[d], dims[e]) && dims[d].size == dims[e].size && sizes[d] != sizes[e])
            {
                zs_fail(err, ZS_ARGUMENT, "array /%s: dimension %s, which it has twice: expected one size", node->path,
                        dims[d].name);
                return false;
            }
        }
        if (sizes[d] < dims[d].size)
        {
            zs_fail(err, ZS_UNSUPPORTED, "array /%s: dimension %d has %llu elements, arrays are made longer, not %llu",
                    node->path, d, static_cast<unsigned long long>(dims[d].size),
                    static_cast<unsigned long long>(sizes[d]));
            return false;
        }
    }
    const struct zs_node **nodes = nullptr;
    size_t listed = 0;
    if (zs_hierarchy_list(Hierarchy(), &nodes, &listed, err) != ZS_OK)
        return false;
    const std::unique_ptr<const struct zs_node *, decltype(&free)> freed(nodes, free);
    for (size_t i = 0; i < listed; i++)
    {
        if (nodes[i]->type == ZS_NODE_ARRAY && nodes[i] != node)
            AddSharing(node, dims, sizes, nodes[i], shapes);
    }
    if (shapeOf(dims, count) != sizes)
        shapes[node->path] = sizes;
    return true;
}

/* ---- Growing ---- */

/* Gives arrays other shapes, and what their attributes list by slice as many elements, all of them or none. */
bool ZSMdimStore::Restate(const Shapes &shapes, struct zs_error *err)
{
    std::vector<const struct zs_node *> before;
    for (const auto &[path, shape] : shapes)
    {
        const struct zs_node *node = nullptr, *fresh = nullptr;
        if (zs_hierarchy_node(Hierarchy(), path.c_str(), &node, err) == ZS_OK &&
            zs_array_grow(Hierarchy(), node, shape.data(), err) == ZS_OK)
        {
            before.push_back(node);
            continue;
        }
        for (const auto *old : before)
        {
            if (zs_array_restate(Hierarchy(), old, nullptr, nullptr, nullptr, &fresh, nullptr) != ZS_OK)
                CPLDebug("ShardedZarr", "/%s: keeps its new shape", old->path);
        }
        return false;
    }
    return true;
}

/* A live array switches to its new node; one that nobody has is reopened lazily. */
bool ZSMdimStore::FollowNode(const struct zs_node *node, struct zs_error *err)
{
    const auto handle = Handle(node->path);
    const auto array = handle->array.lock();
    auto *follower = dynamic_cast<ZSMdimFollower *>(array.get());
    if (follower != nullptr)
        return follower->Follow(node, err);
    const std::lock_guard<std::mutex> held(m_lock);
    handle->Close();
    return true;
}

/* Adds what GDAL's users may have of the dimensions of an array, and the sizes that they are to have. */
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

/* Tells of overviews that are left behind: they have the old size, and nobody finds them until they are made again. */
void ZSMdimStore::TellOfOverviews(const Shapes &shapes)
{
    for (const auto &[path, shape] : shapes)
    {
        struct zs_error ignored;
        struct zs_axes axes;
        const struct zs_node *node = Node(path);
        char **levels = nullptr;
        size_t count = 0;
        if (node == nullptr || zs_axes_find(Hierarchy(), node, nullptr, nullptr, &axes, &ignored) != ZS_OK ||
            axes.y < 0 || zs_overviews_find(Hierarchy(), node, axes, &levels, &count, &ignored) != ZS_OK)
            continue;
        const bool isLeft = std::any_of(levels, levels + count,
                                        [&](const char *level) { return shapes.find(level) == shapes.end(); });
        zs_paths_free(levels, count);
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
        if (!FlushArray(it->first)) // chunks that wait are numbered by the old shape
            return false;
        AddDimensions(it->first, it->second, sizes);
    }
    if (ok)
        TellOfOverviews(shapes);
    ok = ok && Restate(shapes, &err);
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

/* ---- Deleting ---- */

/* What is open of a node and below it is not written any more. */
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

/* An array's overviews go with it. */
bool ZSMdimStore::RemoveLevels(const std::string &path)
{
    struct zs_error err;
    struct zs_axes axes = {};
    std::vector<std::string> levels;
    if (!OwnLevels(path, axes, levels))
        return false;
    for (const auto &level : levels)
        Forget(level);
    if (levels.empty() || zs_overviews_remove(Hierarchy(), Node(path), axes, nullptr, &err) == ZS_OK)
        return true;
    zsReport(err);
    return false;
}

bool ZSMdimStore::Remove(const std::string &path)
{
    struct zs_error err;
    const bool isNew = m_target != nullptr;
    if (!RemoveLevels(path))
        return false;
    // What a new store has of it goes now: whatever else takes the path must not find its chunks.
    if ((isNew && zs_contents_remove_below(m_store->store, path.c_str(), &err) != ZS_OK) ||
        zs_references_change(Hierarchy(), path.c_str(), nullptr, &err) != ZS_OK ||
        zs_hierarchy_remove(Hierarchy(), path.c_str(), &err) != ZS_OK)
    {
        zsReport(err);
        return false;
    }
    Forget(path);
    return isNew || Flush(false);
}

void ZSMdimStore::Unmake(const struct zs_node *node)
{
    struct zs_error err;
    Forget(node->path);
    if (zs_hierarchy_remove(Hierarchy(), node->path, &err) != ZS_OK)
        CPLDebug("ShardedZarr", "%s", err.message); // who made it was told of what came first
}

/* ---- Renaming ---- */

std::shared_ptr<GDALGroup> ZSMdimStore::Group(const struct zs_node *node)
{
    const std::lock_guard<std::mutex> held(m_lock);
    auto group = m_isUpdatable ? Handle(node->path)->group.lock() : nullptr;
    if (group != nullptr)
        return group;
    group = zsMdimSubgroup(shared_from_this(), node);
    if (m_isUpdatable)
        Handle(node->path)->group = group;
    return group;
}

bool ZSMdimStore::OwnLevels(const std::string &path, struct zs_axes &axes, std::vector<std::string> &levels)
{
    struct zs_error err;
    char **paths = nullptr;
    size_t count = 0;
    const struct zs_node *node = m_target == nullptr ? Node(path) : nullptr;
    if (node == nullptr || node->array == nullptr || node->array->ndim < 2 ||
        zs_axes_find(Hierarchy(), node, nullptr, nullptr, &axes, &err) != ZS_OK || axes.y < 0)
        return true;
    if (zs_overviews_own(Hierarchy(), node, axes, &paths, &count, &err) != ZS_OK)
    {
        zsReport(err);
        return false;
    }
    const auto release = [count](char **list) { zs_paths_free(list, count); };
    const std::unique_ptr<char *, decltype(release)> released(paths, release);
    levels.assign(paths, paths + count);
    return true;
}

/* Gives a node another name, in its place and in what names it; false with CPLError emitted. */
bool ZSMdimStore::MoveNode(const std::string &from, const std::string &name)
{
    struct zs_error err, ignored;
    const std::string parent = zsParentPath(from), to = (parent.empty() ? "" : parent + "/") + name;
    // What names it is flushed with the first step of the rename, which a journal finishes.
    enum zs_status status = zs_references_change(Hierarchy(), from.c_str(), to.c_str(), &err);
    if (status == ZS_OK && (status = zs_node_rename(Hierarchy(), from.c_str(), name.c_str(), &err)) != ZS_OK &&
        zs_references_change(Hierarchy(), to.c_str(), from.c_str(), &ignored) != ZS_OK)
        CPLDebug("ShardedZarr", "%s", ignored.message);
    if (status != ZS_OK)
    {
        zsReport(err);
        return false;
    }
    return FollowMove(from, to);
}

/* The object, if somebody has it, switches to the node at a path; false with CPLError emitted. */
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

/* Live objects of a node, and of those below it, switch to where it is now. */
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
    // What waits is written where its keys are; a new store has no documents yet.
    const bool isFlushed = m_target != nullptr ? FlushArrays(false) : Flush(false);
    if (!isFlushed)
        return false;
    struct zs_axes axes = {};
    std::vector<std::string> levels;
    if (!OwnLevels(path, axes, levels))
        return false;
    // All that can be refused is refused before anything changes: what names a node is changed first.
    enum zs_status status = zs_node_check_rename(Hierarchy(), path.c_str(), name.c_str(), &err);
    for (size_t i = 0; i < levels.size() && status == ZS_OK; i++)
        status = zs_node_check_rename(Hierarchy(), levels[i].c_str(), name.c_str(), &err);
    if (status == ZS_OK)
        status = zs_store_sync(m_store->store, &err);
    if (status != ZS_OK)
    {
        zsReport(err);
        return false;
    }
    bool ok = MoveNode(path, name);
    for (size_t i = 0; ok && i < levels.size(); i++)
        ok = MoveNode(levels[i], name);
    return ok;
}

void ZSMdimStore::TellNames(const std::string &path)
{
#if ZS_GDAL_AT_LEAST(8)
    const auto tell = [&](const auto &object, const std::string &own) {
        if (object != nullptr && own != path)
            object->ParentRenamed(GroupName(zsParentPath(own)));
    };
    const auto handles = HandlesWithin(path);
    for (const auto &handle : handles)
        tell(handle->array.lock(), handle->path);
    for (const auto &handle : handles)
        tell(handle->group.lock(), handle->path);
    for (const auto &handle : handles)
    {
        for (const auto &d : handle->made)
            d->ParentRenamed(GroupName(handle->path));
    }
#else
    static_cast<void>(path);
#endif
}
