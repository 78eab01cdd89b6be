/* The state that the objects of one store share: open nodes, and how pending changes are published. */
#include "mdim.h"

#include "gdal/guard.h"

extern "C"
{
#include "zarr/make.h"
}

ZSMdimStore::ZSMdimStore(const std::shared_ptr<ZSStore> &store, const ZSOpenOptions &options,
                         const struct zs_node *group, const struct zs_node *only, GDALAccess access)
    : m_store(store), m_options(options), m_group(group), m_only(only), m_root(group != nullptr ? group->path : ""),
      m_isUpdatable(access == GA_Update)
{
    if (!store->store->is_remote)
        m_pam = std::make_shared<GDALPamMultiDim>(std::string(store->store->root) + "/zarr.json");
}

ZSMdimStore::ZSMdimStore(const std::shared_ptr<ZSStore> &store, const ZSOpenOptions &options,
                         const struct zs_node *root, std::unique_ptr<ZSTarget> target, bool consolidates,
                         CSLConstList arrayOptions)
    : m_store(store), m_options(options), m_group(root), m_only(nullptr), m_isUpdatable(true),
      m_consolidates(consolidates), m_arrayOptions(CSLDuplicate(arrayOptions)), m_target(std::move(target))
{
}

/* Publishes what was written after the dataset was closed. */
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
    // A group above the root group has no name in GDAL: it keeps that of the store.
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
    const auto found = m_nodes.find(path);
    if (found != m_nodes.end())
        return found->second;
    const auto handle = std::make_shared<ZSMdimNode>(); // no entry without one, where memory ends
    handle->path = path;
    m_nodes.emplace(path, handle);
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

/* Under m_lock. */
std::shared_ptr<ZSMdimOpened> ZSMdimStore::OpenCore(const struct zs_node *node, struct zs_error *err)
{
    const auto opened = std::make_shared<ZSMdimOpened>();
    const auto handle = Handle(node->path);
    const struct zs_array_options options = m_options.ForArrays();
    struct zs_array *array = nullptr;
    if (zs_array_open_node(m_store->hierarchy, node, &options, &array, err) != ZS_OK)
        return nullptr;
    opened->array.reset(array);
    handle->opened = opened;
    if (node->array->ndim <= 1 || m_isUpdatable)
        handle->kept = opened;
    return opened;
}

std::shared_ptr<ZSMdimOpened> ZSMdimStore::Open(const struct zs_node *node, struct zs_error *err)
{
    const std::lock_guard<std::mutex> held(m_lock);
    const auto opened = Handle(node->path)->opened.lock();
    return opened != nullptr ? opened : OpenCore(node, err);
}

std::shared_ptr<ZSMdimOpened> ZSMdimStore::OpenNew(const struct zs_node *node, int chunkOrder, struct zs_error *err)
{
    const std::lock_guard<std::mutex> held(m_lock);
    const auto opened = OpenCore(node, err);
    if (opened == nullptr)
        return nullptr;
    zs_array_set_new(opened->Get(), chunkOrder);
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
    // `node` may be of before a change
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

/* Switches a live array to its new node; one that is not live is reopened lazily. */
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

/* ---- Writing ---- */

bool ZSMdimStore::CheckUpdatable() const
{
    if (m_isUpdatable && !m_isAbandoned)
        return true;
    return zsRefuse(CPLE_NoWriteAccess,
                    m_isAbandoned ? "%s: is not written any more, for closing it failed"
                                  : "%s was not opened in update mode", m_store->store->root);
}

const struct zs_node *ZSMdimStore::Node(const std::string &path) const
{
    const struct zs_node *node = nullptr;
    struct zs_error err;
    if (zs_hierarchy_node(Hierarchy(), path.c_str(), &node, &err) == ZS_OK)
        return node;
    return zsReport(err);
}

void ZSMdimStore::Complain(const std::string &what) const
{
    CPLError(m_isLenient ? CE_Warning : CE_Failure, CPLE_NotSupported, "%s%s", what.c_str(),
             m_isLenient ? "; it is left out" : "");
}

bool ZSMdimStore::CheckName(const std::string &name) const
{
    struct zs_error err;
    const bool isName = zs_node_check_name(name.c_str(), &err) == ZS_OK;
    if (!isName)
        Complain(err.message);
    return isName;
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

bool ZSMdimStore::FlushArrays()
{
    bool ok = true;
    for (const auto &[path, handle] : m_nodes)
    {
        struct zs_error err;
        if (handle->kept == nullptr || zs_array_flush(handle->kept->Get(), &err) == ZS_OK)
            continue;
        zsReport(err);
        m_isLost = true;
        ok = false;
    }
    return ok;
}

/* Publishes CRSs, dimensions and documents. */
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
            status = zs_array_crs_write(Hierarchy(), node, srs, true, &err);
    }
    for (const auto &[path, handle] : m_nodes)
    {
        for (const auto &d : std::vector<std::shared_ptr<GDALDimension>>(handle->made))
        {
            const auto variable = status == ZS_OK ? d->GetIndexingVariable() : nullptr;
            if (variable != nullptr &&
                zs_hierarchy_node(Hierarchy(), zsPathIn(path, d->GetName()).c_str(), &node, &err) == ZS_OK)
                status =
                    zs_dimension_describe(Hierarchy(), node, d->GetType().c_str(), d->GetDirection().c_str(), &err);
        }
    }
    if (status == ZS_OK && m_target != nullptr && m_consolidates)
        status = zs_root_consolidate(Hierarchy(), &err);
    if (status == ZS_OK)
        status = zs_hierarchy_flush(Hierarchy(), &err);
    if (status == ZS_OK)
        status = zs_store_sync(m_store->store, &err);
    if (status != ZS_OK)
        return zsReport(err);
    for (const auto &[path, handle] : m_nodes)
        handle->isSrsSet = false;
    return true;
}

bool ZSMdimStore::Flush(bool isLast)
{
    if (!m_isUpdatable || m_isAbandoned)
        return true;
    bool ok = FlushArrays();
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
        ok = ok && (m_target == nullptr || zsPublishTarget(m_target, m_store->store));
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
