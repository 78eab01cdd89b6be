/* A store of the multidimensional face: what its objects share, how it is made, how its nodes are removed and renamed,
 * and how pending changes are published. A new store is written beside its path, and published there at the first
 * flush. */
#include "mdim.h"

#include <algorithm>

#include "gdal/create/copy.h"
#include "gdal/driver.h"
#include "gdal/guard.h"

extern "C"
{
#include "zarr/contents.h"
#include "zarr/name.h"
}

ZSMdimStore::ZSMdimStore(const std::shared_ptr<ZSStore> &opened, const ZSOpenOptions &options,
                         const struct zs_node *shown, GDALAccess access, std::unique_ptr<ZSNewStore> target)
    : m_store(opened), m_options(options), m_shown(shown->path),
      m_root(shown->type == ZS_NODE_ARRAY ? zsParentPath(m_shown) : m_shown), m_target(std::move(target)),
      hierarchy(opened->hierarchy), store(opened->store),
      pam(store->is_remote || m_target != nullptr
              ? nullptr
              : std::make_shared<GDALPamMultiDim>(std::string(store->root) + "/zarr.json")),
      isUpdatable(access == GA_Update)
{
}

/* Publishes what was written after the dataset was closed. */
ZSMdimStore::~ZSMdimStore()
{
    static_cast<void>(zsGuard([this] { return Flush(true); }));
}

/* ---- Names ---- */

std::string ZSMdimStore::GroupName(const std::string &path) const
{
    // A group above the root group has no name in GDAL: it keeps that of the store.
    const bool isBelow = m_root.empty() || path.compare(0, m_root.size() + 1, m_root + "/") == 0;
    if (path == m_root || path.empty())
        return "/";
    return "/" + (isBelow && !m_root.empty() ? path.substr(m_root.size() + 1) : path);
}

std::string ZSMdimStore::ParentName(const std::string &path) const
{
    return GroupName(zsParentPath(path));
}

std::string ZSMdimStore::NodeName(const std::string &path) const
{
    return !path.empty() ? zs_path_name(path.c_str()) : zsRootArrayName(store->root);
}

std::string ZSMdimStore::DocumentName(const std::string &path) const
{
    return (m_target != nullptr ? m_target->Root() : store->root) + "/" + zsPathIn(path, "zarr.json");
}

/* ---- Nodes, and arrays that are open ---- */

std::shared_ptr<ZSMdimNode> ZSMdimStore::Handle(const std::string &path)
{
    const std::lock_guard<std::mutex> held(m_lock);
    const auto found = m_nodes.find(path);
    if (found != m_nodes.end())
        return found->second;
    const auto handle = std::make_shared<ZSMdimNode>(); // no entry without one, where memory ends
    handle->path = path;
    m_nodes.emplace(path, handle);
    return handle;
}

const struct zs_node *ZSMdimStore::Node(const ZSMdimNode &handle) const
{
    const struct zs_node *node = nullptr;
    struct zs_error err;
    if (!handle.isThere)
        return zsRefuse(CPLE_AppDefined, "/%s: this object has been deleted", handle.path.c_str());
    return zs_hierarchy_node(hierarchy, handle.path.c_str(), &node, &err) == ZS_OK ? node : zsReport(err);
}

std::shared_ptr<struct zs_array> ZSMdimStore::Open(ZSMdimNode &handle, struct zs_error *err)
{
    const std::lock_guard<std::mutex> held(m_lock);
    auto opened = handle.opened;
    const struct zs_node *node = nullptr;
    const struct zs_array_options options = m_options.ForArrays();
    struct zs_array *array = nullptr;
    if (opened != nullptr || zs_hierarchy_node(hierarchy, handle.path.c_str(), &node, err) != ZS_OK ||
        zs_array_open_node(hierarchy, node, &options, &array, err) != ZS_OK)
        return opened;
    opened.reset(array, zs_array_close);
    if (handle.isBlank)
        zs_array_set_new(array, handle.chunkOrder);
    else
        zs_array_set_order(array, handle.chunkOrder);
    if (node->array->ndim <= 1 || isUpdatable)
        handle.opened = opened;
    return opened;
}

/* ---- Live objects ---- */

const struct zs_node *ZSMdimObject::Node() const
{
    return m_store->Node(*m_handle);
}

void ZSMdimStore::Follow(const std::shared_ptr<ZSMdimObject> &object)
{
    const auto isGone = [](const std::weak_ptr<ZSMdimObject> &other) { return other.expired(); };
    const std::lock_guard<std::mutex> held(m_lock);
    if (!isUpdatable)
        return;
    if (m_live.size() == m_live.capacity())
        m_live.erase(std::remove_if(m_live.begin(), m_live.end(), isGone), m_live.end());
    m_live.push_back(object);
}

void ZSMdimStore::Refresh()
{
    std::unique_lock<std::mutex> held(m_lock);
    const auto live = m_live; // a refreshed object may make others
    held.unlock();
    for (const auto &known : live)
    {
        const auto object = known.lock();
        if (object != nullptr)
            object->Refresh();
    }
}

/* ---- Removing and renaming nodes ---- */

bool ZSMdimStore::FindLevels(const struct zs_node *node, decltype(zs_overviews_find) *find, struct zs_axes &axes,
                             std::vector<std::string> &levels) const
{
    struct zs_error err;
    struct zs_levels own;
    if (m_target != nullptr || node->array == nullptr || node->array->ndim < 2 ||
        zs_axes_find(hierarchy, node, nullptr, nullptr, &axes, &err) != ZS_OK || axes.y < 0)
        return true;
    if (find(hierarchy, node, axes, &own, &err) != ZS_OK)
        return zsReport(err);
    for (size_t i = 0; i < own.count; i++)
        levels.push_back(own.list[i]->path);
    return true;
}

bool ZSMdimStore::Remove(const struct zs_node *node)
{
    const bool isNew = m_target != nullptr;
    const std::string path = node->path;
    struct zs_axes axes = {};
    std::vector<std::string> levels;
    if (!FindLevels(node, zs_overviews_own, axes, levels))
        return false;
    const auto remove = [&](struct zs_hierarchy *, struct zs_error *err) {
        if (!levels.empty())
            ZS_TRY(zs_overviews_take_out(hierarchy, node, axes, err));
        // Remove its chunks from a new store now: another array that takes the path must not find them.
        if (isNew)
            ZS_TRY(zs_contents_remove_below(store, path.c_str(), false, err));
        return zs_hierarchy_remove(hierarchy, path.c_str(), err);
    };
    if (!Edit(remove))
        return false;
    for (auto i = m_nodes.begin(); i != m_nodes.end();)
    {
        const auto handle = i->second;
        struct zs_error ignored;
        handle->isThere = zs_hierarchy_node(hierarchy, handle->path.c_str(), &node, &ignored) != ZS_NOT_FOUND;
        if (!handle->isThere)
            handle->opened.reset(); // without its pending writes
        i = handle->isThere ? std::next(i) : m_nodes.erase(i);
    }
    return isNew || Flush(false);
}

bool ZSMdimStore::Rename(const ZSMdimNode &handle, const std::string &name)
{
    struct zs_error err;
    struct zs_axes axes = {};
    std::vector<std::string> levels;
    std::vector<std::shared_ptr<ZSMdimNode>> moved; // it, and all below it
    const std::string before = handle.path, after = zsPathIn(zsParentPath(before), name);
    const struct zs_node *node = CheckUpdatable() ? Node(handle) : nullptr;
    // Flush first: pending chunks have the old keys, and a new store is published before it is renamed in.
    if (node == nullptr || !Flush(false) || !FindLevels(node, zs_overviews_own, axes, levels))
        return false;
    if (!levels.empty())
        return zsRefuse(CPLE_NotSupported,
                        "array /%s: has overviews, which have its name: remove them (gdaladdo -clean), rename it, and "
                        "make them again",
                        before.c_str());
    if (zs_node_rename(hierarchy, before.c_str(), name.c_str(), &err) != ZS_OK)
        return zsReport(err);
    for (const auto &[path, own] : m_nodes)
    {
        if (zs_path_is_within(path.c_str(), before.c_str()))
            moved.push_back(own);
    }
    for (const auto &own : moved)
    {
        m_nodes.erase(own->path);
        own->path = after + own->path.substr(before.size());
        own->opened.reset();
        m_nodes[own->path] = own;
    }
    Refresh();
    return true;
}

/* ---- Writing ---- */

bool ZSMdimStore::CheckUpdatable() const
{
    if (isUpdatable && !m_isAbandoned)
        return true;
    return zsRefuse(CPLE_NoWriteAccess,
                    m_isAbandoned ? "%s: is not written any more, for closing it failed"
                                  : "%s was not opened in update mode", store->root);
}

void ZSMdimStore::Complain(const std::string &what) const
{
    CPLError(isLenient ? CE_Warning : CE_Failure, CPLE_NotSupported, "%s%s", what.c_str(),
             isLenient ? "; it is left out" : "");
}

bool ZSMdimStore::CheckName(const std::string &name) const
{
    struct zs_error err;
    const bool isName = zs_node_check_name(name.c_str(), &err) == ZS_OK;
    if (!isName)
        Complain(err.message);
    return isName;
}

bool ZSMdimStore::FlushArray(const ZSMdimNode &handle)
{
    struct zs_error err;
    if (handle.opened == nullptr || zs_array_flush(handle.opened.get(), &err) == ZS_OK)
        return true;
    isLost = true; // a shard that cannot be published may be lost
    return zsReport(err);
}

/* Publishes CRSs, dimensions and documents, and then a new store. */
bool ZSMdimStore::Publish()
{
    struct zs_error err;
    enum zs_status status = ZS_OK;
    const struct zs_node *node;
    for (const auto &[path, handle] : m_nodes)
    {
        OGRSpatialReferenceH srs = handle->srs != nullptr ? OGRSpatialReference::ToHandle(handle->srs.get()) : nullptr;
        if ((!handle->isSrsSet && handle->dimensionType.empty()) || status != ZS_OK ||
            zs_hierarchy_node(hierarchy, path.c_str(), &node, &err) != ZS_OK)
            continue;
        if (handle->isSrsSet)
            status = zs_array_crs_write(hierarchy, node, srs, true, &err);
        if (status == ZS_OK)
            status = zs_dimension_describe(hierarchy, node, handle->dimensionType.c_str(), &err);
    }
    if (status == ZS_OK && m_target != nullptr && consolidates)
        status = zs_root_consolidate(hierarchy, &err);
    if (status == ZS_OK && m_target == nullptr)
        status = zs_hierarchy_flush(hierarchy, &err);
    if (status == ZS_OK && m_target == nullptr)
        status = zs_store_sync(store, &err);
    if (status != ZS_OK)
        return zsReport(err);
    if (m_target != nullptr && !m_target->Publish())
        return false;
    m_target.reset();
    for (const auto &[path, handle] : m_nodes)
    {
        handle->isSrsSet = false;
        handle->dimensionType.clear();
    }
    return true;
}

bool ZSMdimStore::Flush(bool isLast)
{
    if (!isUpdatable || m_isAbandoned)
        return true;
    bool ok = true;
    for (const auto &[path, handle] : m_nodes)
        ok = FlushArray(*handle) && ok;
    if (m_target != nullptr && isLost)
        ok = zsRefuse(CPLE_FileIO, "%s: not all of it could be written: it is not made, and what was there stays",
                      m_target->Root().c_str());
    else
        ok = Publish() && ok;
    if (isLast && !ok)
        Abandon();
    return ok;
}

void ZSMdimStore::Abandon()
{
    m_isAbandoned = true;
    for (const auto &[path, handle] : m_nodes)
        handle->opened.reset();
    m_target.reset();
}

/* ---- The dataset of a store's root group; closing it flushes the store ---- */

namespace
{
class ZSMdimDataset final : public GDALDataset
{
    const std::shared_ptr<GDALGroup> m_root;

    CPLErr Finish(bool atClosing)
    {
        return zsGuard([&] { return store->Flush(atClosing); }) ? CE_None : CE_Failure;
    }

  public:
    const std::shared_ptr<ZSMdimStore> store;

    ZSMdimDataset(const std::shared_ptr<ZSMdimStore> &of, GDALAccess access) : m_root(of->RootGroup()), store(of)
    {
        eAccess = access;
    }
    ~ZSMdimDataset() override
    {
        static_cast<void>(Finish(true));
    }
    std::shared_ptr<GDALGroup> GetRootGroup() const override
    {
        return m_root;
    }
    ZSFlushResult FlushCache(bool atClosing = false) override
    {
        const CPLErr result = Finish(atClosing);
        ZS_FLUSH_RETURN(result);
    }
#if ZS_GDAL_AT_LEAST(7)
    CPLErr Close(ZS_CLOSE_DEFAULTS) override
    {
        const CPLErr result = Finish(true);
        return GDALDataset::Close(ZS_CLOSE_ARGUMENTS) == CE_None ? result : CE_Failure;
    }
#endif
};
} // namespace

std::unique_ptr<GDALDataset> zsMdimOpen(const std::shared_ptr<ZSStore> &store, const struct zs_node *node,
                                        const ZSConnection &connection, const ZSOpenOptions &options,
                                        GDALAccess access, struct zs_error *err)
{
    if (!connection.indices.empty())
    {
        zs_fail(err, ZS_ARGUMENT, "array /%s: indices are for rasters, not for the multidimensional API", node->path);
        return nullptr;
    }
    const auto opened = std::make_shared<ZSMdimStore>(store, options, node, access);
    // Not a dataset of nothing that can be read.
    if (node->type == ZS_NODE_ARRAY && !node->is_text && opened->Open(*opened->Handle(node->path), err) == nullptr)
        return nullptr;
    return std::make_unique<ZSMdimDataset>(opened, access);
}

/* ---- Making ---- */

/* Makes an empty store beside its target. Null (CPLError emitted) on failure. */
static std::shared_ptr<ZSMdimStore> createStore(const char *name, CSLConstList list)
{
    ZSCreationOptions options;
    ZSConnection connection;
    ZSOpenOptions open;
    CPLStringList arrays;
    for (CSLConstList o = list; o != nullptr && *o != nullptr; o++)
    {
        if (!STARTS_WITH_CI(*o, "ARRAY:"))
            arrays.AddString(*o);
    }
    if (!zsTakeAliases(arrays) || !options.Parse(arrays.List()) || !open.Parse(nullptr) ||
        !zsParseName(name, connection))
        return nullptr;
    if (connection.has_array)
        return zsRefuse(CPLE_AppDefined, "%s: expected the name of a store", zsShown(name).c_str());
    auto target = std::make_unique<ZSNewStore>();
    if (!zsIsNoRepository(connection) || !target->Open(connection.store, options.overwrite, options.fsync))
        return nullptr;
    const std::shared_ptr<ZSStore> store = target->store;
    const struct zs_node *root = nullptr;
    struct zs_error err;
    if (zs_add_document(store->hierarchy, "", zs_group_document(), &root, &err) != ZS_OK)
        return zsReport(err);
    open.threads = options.threads;
    open.fsync = options.fsync;
    auto made = std::make_shared<ZSMdimStore>(store, open, root, GA_Update, std::move(target));
    made->consolidates = options.consolidates;
    made->arrayOptions = arrays;
    return made;
}

GDALDataset *zsMdimCreate(const char *name, CSLConstList, CSLConstList options)
{
    const auto store = createStore(name, options);
    if (store == nullptr)
        return nullptr;
    auto dataset = std::make_unique<ZSMdimDataset>(store, GA_Update);
    dataset->SetDescription(name);
    return dataset.release();
}

GDALDataset *zsMdimCopy(const char *name, GDALDataset *source, bool strict, CSLConstList options,
                        GDALProgressFunc progress, void *progressData)
{
    const ZSOneWarning ofTexts;
    std::unique_ptr<GDALDataset> dataset(zsMdimCreate(name, nullptr, options));
    if (dataset == nullptr)
        return nullptr;
    const auto store = static_cast<ZSMdimDataset *>(dataset.get())->store;
    const auto *ours = dynamic_cast<ZSMdimDataset *>(source);
    const auto from = source->GetRootGroup(), to = dataset->GetRootGroup();
    const size_t failures = ours != nullptr ? zs_hierarchy_failures(ours->store->hierarchy) : 0;
    struct zs_error err;
    GUInt64 cost = 0;
    store->source = source;
    store->isLenient = !strict;
    const bool isCopied = to->CopyFrom(to, source, from, strict, cost, from->GetTotalCopyCost(),
                                       progress != nullptr ? progress : GDALDummyProgress, progressData, options);
    store->source = nullptr;
    store->isLenient = false;
    // GDAL goes on without what it could not open
    const bool isRead = ours == nullptr || zs_hierarchy_check_since(ours->store->hierarchy, failures, &err) == ZS_OK;
    if (!isRead)
        zsReport(err);
    if (isCopied && isRead && !store->isLost && store->Flush(false))
        return dataset.release();
    store->Abandon();
    if (CPLGetLastErrorType() != CE_Failure)
        CPLError(CE_Failure, CPLE_AppDefined, "%s: the copy is not complete, and is not made", zsShown(name).c_str());
    return nullptr;
}

std::shared_ptr<GDALMDArray> ZSMdimStore::SourceArray(const std::string &path) const
{
    const ZSQuiet quiet;
    const auto root = source->GetRootGroup();
    return root != nullptr ? root->OpenMDArrayFromFullname("/" + path) : nullptr;
}

std::shared_ptr<GDALMDArray> ZSMdimStore::FirstSourceArray(const std::string &path) const
{
    const ZSQuiet quiet;
    std::string file, part;
    if (!zsFirstSource(*source, path, file, part))
        return SourceArray(path);
    const std::unique_ptr<GDALDataset> first(GDALDataset::Open(file.c_str(), GDAL_OF_MULTIDIM_RASTER));
    const auto root = first != nullptr ? first->GetRootGroup() : nullptr;
    return root != nullptr ? root->OpenMDArrayFromFullname(part) : nullptr;
}
