/* Dimensions: those that arrays of the store have, and those that GDAL's users made. */
#include "mdim.h"

#include <algorithm>

#include "gdal/guard.h"

namespace
{
class ZSMdimDimension final : public ZSMdimSized, public std::enable_shared_from_this<ZSMdimDimension>
{
    std::shared_ptr<ZSMdimStore> m_store;
    const struct zs_node *m_variable; /* null: there is none */
    const struct zs_node *m_array;    /* one that has the dimension, as its m_number-th */
    int m_number;
    std::shared_ptr<ZSMdimNode> m_variableHandle, m_arrayHandle; /* of the two; null where nothing is changed */

    mutable std::mutex m_lock;
    mutable bool m_coordinatesRead = false;
    mutable std::shared_ptr<GDALMDArray> m_coordinates; /* made of a transform; null where there is none */

    std::shared_ptr<GDALMDArray> CoordinatesOfTransform() const;

  public:
    ZSMdimDimension(const std::shared_ptr<ZSMdimStore> &store, const std::string &parent, const std::string &name,
                    const struct zs_dimension &from, const struct zs_node *array, int number)
        : ZSMdimSized(parent, name, from.type, from.direction, from.size), m_store(store), m_variable(from.variable),
          m_array(array), m_number(number),
          m_variableHandle(from.variable != nullptr ? store->Changeable(from.variable->path) : nullptr),
          m_arrayHandle(store->Changeable(array->path))
    {
    }
    std::shared_ptr<GDALMDArray> GetIndexingVariable() const override;
    void SetSize(GUInt64 size) override
    {
        const std::lock_guard<std::mutex> held(m_lock);
        ZSMdimSized::SetSize(size);
        m_coordinates = nullptr;
        m_coordinatesRead = false;
    }
#if ZS_GDAL_AT_LEAST(8)
    void SetName(const std::string &name) override;
    bool Rename(const std::string &name) override
    {
        return zsGuard([&] {
            if (!m_store->CheckUpdatable() || !m_arrayHandle->CheckThere())
                return false;
            const std::string path = m_arrayHandle->path;
            return m_store->RenameDimension(shared_from_this(), path.c_str(), m_number, zsParentPath(path), name);
        });
    }
#endif
};

/* A dimension that GDAL's user made. The store keeps it, so it does not keep the store. */
class ZSMdimMadeDimension final : public ZSMdimSized, public std::enable_shared_from_this<ZSMdimMadeDimension>
{
    std::weak_ptr<ZSMdimStore> m_store;
    std::string m_path; /* of the array that would have its coordinates */

  public:
    ZSMdimMadeDimension(const std::shared_ptr<ZSMdimStore> &store, const std::string &parent, const std::string &path,
                        const std::string &name, const std::string &type, const std::string &direction, GUInt64 size)
        : ZSMdimSized(parent, name, type, direction, size), m_store(store), m_path(path)
    {
    }
    std::shared_ptr<GDALMDArray> GetIndexingVariable() const override;
    void SetGroup(const std::string &path) override
    {
        m_path = zsPathIn(path, GetName());
    }
#if ZS_GDAL_AT_LEAST(8)
    void SetName(const std::string &name) override
    {
        BaseRename(name);
        m_path = zsPathIn(zsParentPath(m_path), name);
    }
    bool Rename(const std::string &name) override
    {
        return zsGuard([&] {
            const auto store = m_store.lock();
            return store != nullptr &&
                   store->RenameDimension(shared_from_this(), nullptr, -1, zsParentPath(m_path), name);
        });
    }
#endif
    bool SetIndexingVariable(std::shared_ptr<GDALMDArray> variable) override;
};
} // namespace

#if ZS_GDAL_AT_LEAST(8)
/* Its variable becomes the array of the new name, or none. */
void ZSMdimDimension::SetName(const std::string &name)
{
    struct zs_dimension found[ZS_MAX_NDIM];
    int count = 0;
    const struct zs_node *node = nullptr;
    const std::lock_guard<std::mutex> held(m_lock);
    BaseRename(name);
    m_coordinates = nullptr;
    m_coordinatesRead = false;
    m_variable = nullptr;
    m_variableHandle = nullptr;
    if (zs_hierarchy_node(m_store->Hierarchy(), m_arrayHandle->path.c_str(), &node, nullptr) != ZS_OK ||
        zs_dimensions_find(m_store->Hierarchy(), node, found, &count, nullptr) != ZS_OK || m_number >= count)
        return;
    m_array = node;
    m_variable = found[m_number].variable;
    if (m_variable != nullptr)
        m_variableHandle = m_store->Changeable(m_variable->path);
}
#endif

/* Coordinates of X or Y, without a variable, from the transform: those of the pixels' centres. Null where the raster is
 * rotated. */
std::shared_ptr<GDALMDArray> ZSMdimDimension::CoordinatesOfTransform() const
{
    struct zs_axes axes;
    struct zs_georef georef;
    struct zs_error err;
    if (m_array->array == nullptr || m_array->array->ndim < 2 ||
        zs_axes_find(m_store->Hierarchy(), m_array, nullptr, nullptr, &axes, &err) != ZS_OK ||
        (axes.x != m_number && axes.y != m_number))
        return nullptr;
    if (zs_georef_read(m_store->Hierarchy(), m_array, axes, &georef, &err) != ZS_OK)
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
        if (m_variable == nullptr)
        {
            const std::lock_guard<std::mutex> held(m_lock);
            if (!m_coordinatesRead)
                m_coordinates = CoordinatesOfTransform();
            m_coordinatesRead = true;
            return m_coordinates;
        }
        const struct zs_node *variable = m_variable;
        if (m_variableHandle != nullptr &&
            (!m_variableHandle->isThere ||
             zs_hierarchy_node(m_store->Hierarchy(), m_variableHandle->path.c_str(), &variable, &err) != ZS_OK))
            return nullptr;
        auto array = m_store->Array(variable, &err);
        if (array == nullptr)
            CPLDebug("ShardedZarr", "%s", err.message);
        return array;
    });
}

/* "" for a dimension without a name, which belongs to one array alone. Without a variable two arrays may have other
 * coordinates: each has its own dimension. */
std::string ZSMdimStore::DimensionKey(const struct zs_node *node, const struct zs_dimension &from)
{
    if (from.name == nullptr || from.name[0] == '\0')
        return "";
    return std::string(from.variable != nullptr ? "variable " : "array ") +
           (from.variable != nullptr ? from.variable->path : node->path) + "\n" + from.name;
}

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
        const std::string key = DimensionKey(node, from);
        const std::string name = !key.empty() ? from.name : "dim" + std::to_string(d);
        const std::string parent = key.empty() ? "" : ParentName(from.variable != nullptr ? from.variable : node);
        const std::lock_guard<std::mutex> held(m_lock);
        auto dimension = !key.empty() ? MadeDimension(node->path, name, from.size) : nullptr;
        if (dimension == nullptr && !key.empty())
            dimension = m_dimensions[key].lock();
        if (dimension == nullptr || dimension->GetSize() != from.size)
        {
            dimension = std::make_shared<ZSMdimDimension>(shared_from_this(), parent, name, from, node, d);
            if (!key.empty())
                m_dimensions[key] = dimension;
        }
        dimensions.push_back(dimension);
    }
    return true;
}

/* ---- Dimensions that are made ---- */

std::shared_ptr<GDALMDArray> ZSMdimMadeDimension::GetIndexingVariable() const
{
    return zsGuard([&]() -> std::shared_ptr<GDALMDArray> {
        const auto store = m_store.lock();
        const struct zs_node *node = nullptr;
        struct zs_error err;
        if (store == nullptr || zs_hierarchy_node(store->Hierarchy(), m_path.c_str(), &node, &err) != ZS_OK ||
            node->type != ZS_NODE_ARRAY)
            return nullptr;
        auto array = store->Array(node, &err);
        const bool isOwn = array != nullptr && array->GetDimensionCount() == 1 &&
                           array->GetDimensions()[0]->GetSize() == GetSize();
        return isOwn ? array : nullptr;
    });
}

/* Zarr identifies a dimension's variable by its name alone: the array must be named as the dimension. */
bool ZSMdimMadeDimension::SetIndexingVariable(std::shared_ptr<GDALMDArray> variable)
{
    if (variable == nullptr || (variable->GetName() == GetName() && GetIndexingVariable() == variable))
        return true;
    CPLError(CE_Warning, CPLE_NotSupported,
             "%s: the variable of a dimension is the array of its name, beside it, of that dimension alone; %s is not",
             GetFullName().c_str(), variable->GetFullName().c_str());
    return false;
}

std::shared_ptr<GDALDimension> ZSMdimStore::MakeDimension(const std::string &path, const std::string &name,
                                                          const std::string &type, const std::string &direction,
                                                          GUInt64 size)
{
    auto &made = Handle(path)->made;
    const auto isNamed = [&name](const std::shared_ptr<GDALDimension> &d) { return d->GetName() == name; };
    if (name.empty() || std::any_of(made.begin(), made.end(), isNamed))
        return zsRefuse(CPLE_IllegalArg, "dimension \"%s\" of %s: %s", name.c_str(), GroupName(path).c_str(),
                        name.empty() ? "expected a name" : "there is one already");
    made.push_back(std::make_shared<ZSMdimMadeDimension>(shared_from_this(), GroupName(path), zsPathIn(path, name),
                                                         name, type, direction, size));
    return made.back();
}

/* The dimension of that name and size that was made in the group of an array, or in one above. */
std::shared_ptr<GDALDimension> ZSMdimStore::MadeDimension(const std::string &path, const std::string &name,
                                                          GUInt64 size) const
{
    for (std::string group = path; m_isUpdatable && !group.empty();)
    {
        group = zsParentPath(group);
        for (const auto &d : MadeDimensions(group))
        {
            if (d->GetName() == name && d->GetSize() == size)
                return d;
        }
    }
    return nullptr;
}
