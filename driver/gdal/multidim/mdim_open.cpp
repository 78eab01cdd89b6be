#include "mdim.h"

#include "gdal/guard.h"

extern "C"
{
#include "base/status.h"
}

/* ---- The dataset ---- */

namespace
{
class ZSMdimDataset final : public GDALDataset
{
    std::shared_ptr<ZSMdimStore> m_store;
    std::shared_ptr<GDALGroup> m_root;
    bool m_isClosed = false;

    CPLErr Finish(bool atClosing)
    {
        const bool ok = m_isClosed || zsGuard([&] { return m_store->Flush(atClosing); });
        m_isClosed = m_isClosed || atClosing;
        return ok ? CE_None : CE_Failure;
    }

  public:
    ZSMdimDataset(const std::shared_ptr<ZSMdimStore> &store, GDALAccess access)
        : m_store(store), m_root(store->RootGroup())
    {
        eAccess = access;
    }
    ~ZSMdimDataset() override;
    std::shared_ptr<GDALGroup> GetRootGroup() const override
    {
        return m_root;
    }
    ZSFlushResult FlushCache(bool atClosing = false) override;
#if ZS_GDAL_AT_LEAST(7)
    CPLErr Close(ZS_CLOSE_DEFAULTS) override;
#endif
};
} // namespace

ZSFlushResult ZSMdimDataset::FlushCache(bool atClosing)
{
    CPLErr result = Finish(atClosing);
#if ZS_GDAL_AT_LEAST(7)
    if (GDALDataset::FlushCache(atClosing) != CE_None)
        result = CE_Failure;
#else
    GDALDataset::FlushCache(atClosing);
#endif
    ZS_FLUSH_RETURN(result);
}

#if ZS_GDAL_AT_LEAST(7)
CPLErr ZSMdimDataset::Close(ZS_CLOSE_PARAMETERS)
{
    if (m_isClosed)
        return CE_None;
    CPLErr result = Finish(true);
    if (GDALDataset::Close(ZS_CLOSE_ARGUMENTS) != CE_None)
        result = CE_Failure;
    return result;
}
#endif

ZSMdimDataset::~ZSMdimDataset()
{
#if ZS_GDAL_AT_LEAST(7)
    static_cast<void>(ZSMdimDataset::Close());
#else
    static_cast<void>(Finish(true));
#endif
}

std::unique_ptr<GDALDataset> zsMdimDataset(const std::shared_ptr<ZSMdimStore> &store, GDALAccess access)
{
    return std::make_unique<ZSMdimDataset>(store, access);
}

/* ---- Opening ---- */

std::unique_ptr<GDALDataset> zsMdimOpen(const std::shared_ptr<ZSStore> &store, const struct zs_node *node,
                                        const ZSConnection &connection, const ZSOpenOptions &options,
                                        GDALAccess access, struct zs_error *err)
{
    if (!connection.indices.empty())
    {
        zs_fail(err, ZS_ARGUMENT, "array /%s: indices are for rasters, not for the multidimensional API", node->path);
        return nullptr;
    }
    const bool isArray = node->type == ZS_NODE_ARRAY;
    const struct zs_node *group = isArray ? nullptr : node;
    if (isArray && node->path[0] != '\0' &&
        zs_hierarchy_node(store->hierarchy, zsParentPath(node->path).c_str(), &group, err) != ZS_OK)
        return nullptr;
    const auto opened = std::make_shared<ZSMdimStore>(store, options, group, isArray ? node : nullptr, access);
    if (isArray && !node->is_text && opened->Open(node, err) == nullptr) // a dataset of nothing that can be read
        return nullptr;
    return zsMdimDataset(opened, access);
}
