#include "mdim.h"

#include "guard.h"

namespace
{
class ZSMdimDimension final : public GDALDimension
{
    std::shared_ptr<ZSMdimStore> m_store;
    const struct zs_node *m_variable; /* null: there is none */

  public:
    ZSMdimDimension(const std::shared_ptr<ZSMdimStore> &store, const std::string &parent, const std::string &name,
                    const struct zs_dimension &from)
        : GDALDimension(parent, name, from.type, from.direction, from.size), m_store(store), m_variable(from.variable)
    {
    }
    std::shared_ptr<GDALMDArray> GetIndexingVariable() const override;
};
} // namespace

/* A variable that cannot be read is no event for who asks for a dimension; who opens it is told. */
std::shared_ptr<GDALMDArray> ZSMdimDimension::GetIndexingVariable() const
{
    return zsGuard([&]() -> std::shared_ptr<GDALMDArray> {
        struct zs_error err;
        if (m_variable == nullptr)
            return nullptr;
        auto array = m_store->Array(m_variable, &err);
        if (array == nullptr)
            CPLDebug("ShardedZarr", "%s", err.message);
        return array;
    });
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
        // One without a name is this array's alone.
        const bool isNamed = from.name != nullptr && from.name[0] != '\0';
        const std::string name = isNamed ? from.name : "dim" + std::to_string(d);
        const std::string parent = !isNamed ? "" : ParentName(from.variable != nullptr ? from.variable : node);
        const std::string key = parent + "\n" + name + "\n" + std::to_string(from.size) + "\n" +
                                (from.variable != nullptr ? "v" : "");
        const std::lock_guard<std::mutex> held(m_lock);
        auto dimension = isNamed ? m_dimensions[key].lock() : nullptr;
        if (dimension == nullptr)
        {
            dimension = std::make_shared<ZSMdimDimension>(shared_from_this(), parent, name, from);
            if (isNamed)
                m_dimensions[key] = dimension;
        }
        dimensions.push_back(dimension);
    }
    return true;
}
