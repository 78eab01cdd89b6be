/* Groups: what is in them, and making and deleting it. */
#include "mdim.h"

#include <algorithm>
#include <set>

#include "gdal/guard.h"

extern "C"
{
#include "base/status.h"
#include "zarr/name.h"
}

namespace
{
class ZSMdimGroup final : public GDALGroup, public ZSMdimObject
{
    std::vector<std::shared_ptr<ZSMdimDimension>> m_made; /* dimensions */

    std::vector<const struct zs_node *> Children(bool *isKnown = nullptr) const;
    std::vector<std::string> ChildNames(enum zs_node_type type) const;
    bool CheckGroup() const;
#if ZS_GDAL_AT_LEAST(8)
    bool Delete(const std::string &name, enum zs_node_type type, const char *what);
#endif
    const struct zs_node *Child(const std::string &name, enum zs_node_type type) const;

  public:
#if ZS_GDAL_AT_LEAST(8)
    using GDALGroup::SetSelf;
#endif
    ZSMdimGroup(const std::shared_ptr<ZSMdimStore> &store, const std::string &parent, const std::string &name,
                const std::shared_ptr<ZSMdimNode> &handle)
        : GDALGroup(parent, name), ZSMdimObject(store, handle)
    {
    }
    void Refresh() override
    {
        m_osName = m_store->NodeName(m_handle->path);
        m_osFullName = m_store->GroupName(m_handle->path);
    }
    std::vector<std::string> GetMDArrayNames(CSLConstList options) const override;
    std::shared_ptr<GDALMDArray> OpenMDArray(const std::string &name, CSLConstList options) const override;
    std::vector<std::string> GetGroupNames(CSLConstList) const override
    {
        return zsGuard([&] { return ChildNames(ZS_NODE_GROUP); });
    }
    std::shared_ptr<GDALGroup> OpenGroup(const std::string &name, CSLConstList) const override
    {
        return zsGuard([&] {
            const struct zs_node *node = Child(name, ZS_NODE_GROUP);
            return node != nullptr ? m_store->Group(node->path) : nullptr;
        });
    }
    std::vector<std::shared_ptr<GDALDimension>> GetDimensions(CSLConstList options) const override;
    std::vector<std::shared_ptr<GDALAttribute>> GetAttributes(CSLConstList options) const override;
    std::shared_ptr<GDALGroup> CreateGroup(const std::string &name, CSLConstList options) override;
    std::shared_ptr<GDALDimension> CreateDimension(const std::string &name, const std::string &type,
                                                   const std::string &direction, GUInt64 size,
                                                   CSLConstList options) override;
    std::shared_ptr<GDALMDArray> CreateMDArray(const std::string &name,
                                               const std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                                               const GDALExtendedDataType &type, CSLConstList options) override
    {
        return zsGuard([&] {
            return CheckGroup() ? zsMdimNewArray(m_store, m_handle->path, zsUtf8(name), dimensions, type, options)
                                : nullptr;
        });
    }
    std::shared_ptr<GDALAttribute> CreateAttribute(const std::string &name, const std::vector<GUInt64> &dimensions,
                                                   const GDALExtendedDataType &type, CSLConstList) override
    {
        return zsGuard(
            [&] { return CheckGroup() ? zsMdimNewAttribute(m_store, m_handle, name, dimensions, type) : nullptr; });
    }
#if ZS_GDAL_AT_LEAST(8)
    bool Rename(const std::string &given) override
    {
        return zsGuard([&] { return CheckGroup() && m_store->Rename(*m_handle, zsUtf8(given)); });
    }
    bool DeleteGroup(const std::string &name, CSLConstList) override
    {
        return zsGuard([&] { return Delete(name, ZS_NODE_GROUP, "group"); });
    }
    bool DeleteMDArray(const std::string &name, CSLConstList) override
    {
        return zsGuard([&] { return Delete(name, ZS_NODE_ARRAY, "array"); });
    }
    bool DeleteAttribute(const std::string &name, CSLConstList) override
    {
        return zsGuard([&] { return CheckGroup() && zsMdimDeleteAttribute(*m_store, *m_handle, name); });
    }
#endif
};
} // namespace

/* Nodes directly in the group; *isKnown is false, with a CPLError, where they could not be found out. */
std::vector<const struct zs_node *> ZSMdimGroup::Children(bool *isKnown) const
{
    const struct zs_node **nodes = nullptr, *own = Node();
    size_t count = 0;
    struct zs_error err;
    if (own == nullptr || own->type == ZS_NODE_ARRAY)
        return own != nullptr ? std::vector<const struct zs_node *>{own} : std::vector<const struct zs_node *>{};
    const bool isListed = zs_hierarchy_list(m_store->hierarchy, &nodes, &count, &err) == ZS_OK;
    if (isKnown != nullptr)
        *isKnown = isListed && (own->path[0] != '\0' || zs_hierarchy_left_out(m_store->hierarchy) == nullptr);
    if (!isListed)
    {
        zsReport(err);
        return {};
    }
    const std::unique_ptr<const struct zs_node *, decltype(&free)> freed(nodes, free);
    std::vector<const struct zs_node *> found;
    size_t at = 0;
    while (const struct zs_node *child = zs_nodes_child(nodes, count, own->path, &at))
        found.push_back(child);
    return found;
}

/* A list of names has no way to fail, and tools would copy a group without arrays: they fail at a name that does not
 * open. */
static const char UNKNOWN[] = "?";

std::vector<std::string> ZSMdimGroup::ChildNames(enum zs_node_type type) const
{
    std::vector<std::string> names;
    bool isKnown = true;
    for (const auto *child : Children(&isKnown))
    {
        if (child->type == type)
            names.push_back(m_store->NodeName(child->path));
    }
    if (!isKnown && type == ZS_NODE_ARRAY)
        names.push_back(UNKNOWN);
    return names;
}

/* Returns null without an error for an absent child: GDAL tries a name in several groups. */
const struct zs_node *ZSMdimGroup::Child(const std::string &name, enum zs_node_type type) const
{
    const struct zs_node *own = Node(), *found = nullptr;
    struct zs_error err;
    if (own != nullptr && own->type == ZS_NODE_ARRAY)
        return type == own->type && name == m_store->NodeName(own->path) ? own : nullptr;
    if (own == nullptr || !zs_is_inside_name(name.c_str()))
        return nullptr;
    const enum zs_status status =
        zs_hierarchy_node_at(m_store->hierarchy, m_handle->path.c_str(), name.c_str(), &found, &err);
    if (status != ZS_OK && status != ZS_NOT_FOUND)
        zsReport(err);
    return status == ZS_OK && found->type == type ? found : nullptr;
}

std::vector<std::string> ZSMdimGroup::GetMDArrayNames(CSLConstList) const
{
    return zsGuard([&] {
        auto names = ChildNames(ZS_NODE_ARRAY);
        // GDAL's netCDF driver takes the first array of a dimension that it is given for its coordinates.
        std::stable_partition(names.begin(), names.end(), [this](const std::string &name) {
            const struct zs_node *node = Child(name, ZS_NODE_ARRAY);
            const char *dimension = node != nullptr && node->array != nullptr && node->array->ndim == 1
                                        ? zs_dimension_name(node, 0)
                                        : nullptr;
            return dimension != nullptr && name == dimension;
        });
        return names;
    });
}

std::shared_ptr<GDALMDArray> ZSMdimGroup::OpenMDArray(const std::string &name, CSLConstList) const
{
    return zsGuard([&]() -> std::shared_ptr<GDALMDArray> {
        struct zs_error err;
        const struct zs_node *node = Child(name, ZS_NODE_ARRAY);
        if (node == nullptr && name == UNKNOWN) // says why not all is known
        {
            Children();
            const char *leftOut = zs_hierarchy_left_out(m_store->hierarchy);
            if (leftOut != nullptr)
                zsRefuse(CPLE_AppDefined, "%s: left out is \"%.200s\": it may lead out of a store, or is too long",
                         m_store->store->root, leftOut);
        }
        auto array = node != nullptr ? m_store->Array(node->path, &err) : nullptr;
        if (node != nullptr && array == nullptr)
            zsReport(err);
        return array;
    });
}

std::vector<std::shared_ptr<GDALDimension>> ZSMdimGroup::GetDimensions(CSLConstList) const
{
    return zsGuard([&] {
        // GDAL's tools confuse dimensions of one name and different sizes: only the first is shown; arrays have their
        // own.
        std::set<std::string> names;
        std::vector<std::shared_ptr<GDALDimension>> out(m_made.begin(), m_made.end());
        for (const auto &d : out)
            names.insert(d->GetName());
        for (const auto *child : Children())
        {
            std::vector<std::shared_ptr<GDALDimension>> dimensions;
            struct zs_error err;
            if (child->type != ZS_NODE_ARRAY || !m_store->Dimensions(child, dimensions, &err))
                continue; // opening it reports the reason
            for (const auto &d : dimensions)
            {
                if (d->GetFullName() == ZSMdimStore::FullName(GetFullName(), d->GetName()) &&
                    names.insert(d->GetName()).second)
                    out.push_back(d);
            }
        }
        return out;
    });
}

std::vector<std::shared_ptr<GDALAttribute>> ZSMdimGroup::GetAttributes(CSLConstList) const
{
    return zsGuard([&] {
        const struct zs_node *node = Node();
        // An array alone has the attributes of its group.
        const bool isArray = node != nullptr && node->type == ZS_NODE_ARRAY;
        const auto handle = isArray ? m_store->Handle(zsParentPath(node->path)) : m_handle;
        if (isArray)
            node = m_store->Node(*handle);
        return node != nullptr && node->type == ZS_NODE_GROUP ? zsMdimAttributes(m_store, handle, nullptr, false)
                                                              : std::vector<std::shared_ptr<GDALAttribute>>{};
    });
}

/* ---- Making ---- */

bool ZSMdimGroup::CheckGroup() const
{
    const struct zs_node *node = m_store->CheckUpdatable() ? Node() : nullptr;
    if (node == nullptr || node->type == ZS_NODE_GROUP)
        return node != nullptr;
    return zsRefuse(CPLE_NotSupported, "%s: one array was opened, not its group", m_store->store->root);
}

std::shared_ptr<GDALGroup> ZSMdimGroup::CreateGroup(const std::string &name, CSLConstList)
{
    return zsGuard([&]() -> std::shared_ptr<GDALGroup> {
        const struct zs_node *node = nullptr;
        struct zs_error err;
        const std::string own = zsUtf8(name);
        if (!CheckGroup() || !m_store->CheckName(own))
            return nullptr;
        const enum zs_status status =
            zs_node_make(m_store->hierarchy, m_handle->path.c_str(), own.c_str(), zs_group_document(), &node, &err);
        if (status == ZS_OK)
            return m_store->Group(node->path);
        if (status != ZS_ARGUMENT) // an array has the name: GDAL 3.6 lists arrays of Zarr v2 as groups, too
            m_store->isLost = m_store->isLost || m_store->source != nullptr;
        return zsReport(err);
    });
}

std::shared_ptr<GDALDimension> ZSMdimGroup::CreateDimension(const std::string &name, const std::string &type,
                                                            const std::string &direction, GUInt64 size, CSLConstList)
{
    return zsGuard([&]() -> std::shared_ptr<GDALDimension> {
        const std::string own = zsUtf8(name);
        const auto isNamed = [&](const std::shared_ptr<ZSMdimDimension> &d) { return d->GetName() == own; };
        if (!CheckGroup())
            return nullptr;
        if (own.empty() || std::any_of(m_made.begin(), m_made.end(), isNamed))
            return zsRefuse(CPLE_IllegalArg, "dimension \"%s\" of %s: %s", own.c_str(), GetFullName().c_str(),
                            own.empty() ? "expected a name" : "there is one already");
        auto made =
            std::make_shared<ZSMdimDimension>(m_store, GetFullName(), own, type, direction, size, m_handle);
        m_store->Follow(made);
        m_made.push_back(made);
        return made;
    });
}

#if ZS_GDAL_AT_LEAST(8)
bool ZSMdimGroup::Delete(const std::string &name, enum zs_node_type type, const char *what)
{
    if (!CheckGroup())
        return false;
    const struct zs_node *node = Child(name, type);
    if (node == nullptr)
        return zsRefuse(CPLE_AppDefined, "group %s: there is no %s \"%s\"", GetFullName().c_str(), what,
                        name.c_str());
    return m_store->Remove(node);
}
#endif

std::shared_ptr<GDALGroup> ZSMdimStore::RootGroup()
{
    auto group = std::make_shared<ZSMdimGroup>(shared_from_this(), "", "/", Handle(m_shown));
#if ZS_GDAL_AT_LEAST(8)
    group->SetSelf(group);
#endif
    return group;
}

std::shared_ptr<GDALGroup> ZSMdimStore::Group(const std::string &path)
{
    auto group =
        std::make_shared<ZSMdimGroup>(shared_from_this(), ParentName(path), NodeName(path), Handle(path));
    Follow(group);
#if ZS_GDAL_AT_LEAST(8)
    group->SetSelf(group);
#endif
    return group;
}
