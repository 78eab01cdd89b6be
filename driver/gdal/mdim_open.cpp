#include "mdim.h"

#include "guard.h"

extern "C"
{
#include "base/status.h"
}

namespace
{
class ZSMdimDataset final : public GDALDataset
{
    std::shared_ptr<GDALGroup> m_root;

  public:
    explicit ZSMdimDataset(const std::shared_ptr<GDALGroup> &root) : m_root(root)
    {
    }
    std::shared_ptr<GDALGroup> GetRootGroup() const override
    {
        return m_root;
    }
};
} // namespace

static std::string parentPath(const std::string &path)
{
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::unique_ptr<GDALDataset> zsMdimOpen(const std::shared_ptr<ZSStore> &store, const struct zs_node *node,
                                        const ZSConnection &connection, const ZSOpenOptions &options,
                                        GDALAccess access, struct zs_error *err)
{
    if (access == GA_Update)
    {
        zs_fail(err, ZS_UNSUPPORTED, "the multidimensional API is for reading only");
        return nullptr;
    }
    if (!connection.indices.empty())
    {
        zs_fail(err, ZS_ARGUMENT, "array /%s: indices are for rasters, not for the multidimensional API", node->path);
        return nullptr;
    }
    const bool isArray = node->type == ZS_NODE_ARRAY;
    const struct zs_node *group = isArray ? nullptr : node;
    if (isArray && node->path[0] != '\0' &&
        zs_hierarchy_node(store->hierarchy, parentPath(node->path).c_str(), &group, err) != ZS_OK)
        return nullptr;
    const auto shared = std::make_shared<ZSMdimStore>(store, options, group, isArray ? node : nullptr);
    return std::make_unique<ZSMdimDataset>(shared->RootGroup());
}

/* ---- What all share ---- */

ZSMdimStore::ZSMdimStore(const std::shared_ptr<ZSStore> &store, const ZSOpenOptions &options,
                         const struct zs_node *group, const struct zs_node *only)
    : m_store(store), m_options(options), m_group(group), m_only(only), m_root(group != nullptr ? group->path : "")
{
    if (!store->store->is_remote)
        m_pam = std::make_shared<GDALPamMultiDim>(std::string(store->store->root) + "/zarr.json");
}

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
    return GroupName(parentPath(node->path));
}

std::string ZSMdimStore::NodeName(const struct zs_node *node) const
{
    if (node->path[0] != '\0')
        return zs_path_name(node->path);
    // An array that is the whole store is called as that.
    std::string name = m_store->store->root;
    name = name.substr(name.find_last_of("/\\") + 1);
    if (zsEndsWith(name, ".zarr"))
        name.resize(name.size() - strlen(".zarr"));
    return name.empty() ? "array" : name;
}

std::string ZSMdimStore::DocumentName(const struct zs_node *node) const
{
    return std::string(m_store->store->root) + "/" + node->key;
}

std::shared_ptr<ZSMdimOpened> ZSMdimStore::Open(const struct zs_node *node, struct zs_error *err)
{
    const std::lock_guard<std::mutex> held(m_lock);
    auto &known = m_opened[node->path];
    auto opened = known.lock();
    if (opened != nullptr)
        return opened;
    struct zs_array_options arrayOptions = zsArrayOptions(m_options.threads);
    arrayOptions.cache_bytes = m_options.cache_bytes;
    arrayOptions.max_chunk_bytes = m_options.max_chunk_bytes;
    arrayOptions.merge_gap = m_options.merge_gap;
    struct zs_array *array = nullptr;
    if (zs_array_open_node(m_store->hierarchy, node, &arrayOptions, &array, err) != ZS_OK)
        return nullptr;
    std::unique_ptr<struct zs_array, decltype(&zs_array_close)> owned(array, zs_array_close);
    opened = std::make_shared<ZSMdimOpened>(array);
    owned.release();
    known = opened;
    if (node->array->ndim <= 1)
        m_kept.push_back(opened);
    return opened;
}
