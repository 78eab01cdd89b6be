#include "mdim.h"

#include "guard.h"

namespace
{
class ZSMdimDimension final : public GDALDimension
{
    std::shared_ptr<ZSMdimStore> m_store;
    const struct zs_node *m_variable; /* null: there is none */
    const struct zs_node *m_array;    /* one that has the dimension, as its m_number-th */
    int m_number;

    mutable std::mutex m_lock;
    mutable bool m_placeRead = false;
    mutable std::shared_ptr<GDALMDArray> m_places; /* made of a transform; null where there is none */

    std::shared_ptr<GDALMDArray> PlacesOfTransform() const;

  public:
    ZSMdimDimension(const std::shared_ptr<ZSMdimStore> &store, const std::string &parent, const std::string &name,
                    const struct zs_dimension &from, const struct zs_node *array, int number)
        : GDALDimension(parent, name, from.type, from.direction, from.size), m_store(store), m_variable(from.variable),
          m_array(array), m_number(number)
    {
    }
    std::shared_ptr<GDALMDArray> GetIndexingVariable() const override;
};
} // namespace

/* X or Y whose places no array has, but a transform says: those of the pixels' centres, where they lie in rows and
 * columns. */
std::shared_ptr<GDALMDArray> ZSMdimDimension::PlacesOfTransform() const
{
    struct zs_axes axes;
    struct zs_georef georef;
    struct zs_error err;
    if (m_array->array == nullptr || m_array->array->ndim < 2 ||
        zs_axes_find(m_store->Hierarchy(), m_array, nullptr, nullptr, &axes, &err) != ZS_OK ||
        (axes.x != m_number && axes.y != m_number))
        return nullptr;
    if (zs_georef_read(m_store->Hierarchy(), m_array, axes, &georef, &err) != ZS_OK)
    {
        zsReport(err);
        return nullptr;
    }
    const ZSOwned<struct zs_georef> cleared(&georef, zs_georef_clear);
    const double *t = georef.transform;
    if (!georef.has_transform || t[2] != 0 || t[4] != 0)
        return nullptr;
    const bool isX = axes.x == m_number;
    // A dimension of its own: with this one each would keep the other.
    const auto own = std::make_shared<GDALDimension>("", GetName(), GetType(), GetDirection(), GetSize());
    return GDALMDArrayRegularlySpaced::Create("", GetName(), own, isX ? t[0] : t[3], isX ? t[1] : t[5], 0.5);
}

/* A variable that cannot be read is no event for who asks for a dimension; who opens it is told. */
std::shared_ptr<GDALMDArray> ZSMdimDimension::GetIndexingVariable() const
{
    return zsGuard([&]() -> std::shared_ptr<GDALMDArray> {
        struct zs_error err;
        if (m_variable == nullptr)
        {
            const std::lock_guard<std::mutex> held(m_lock);
            if (!m_placeRead)
                m_places = PlacesOfTransform();
            m_placeRead = true;
            return m_places;
        }
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
        // Without a variable two arrays may lie in two places: each has its own.
        const std::string key = parent + "\n" + name + "\n" + std::to_string(from.size) + "\n" +
                                (from.variable != nullptr ? "" : node->path);
        const std::lock_guard<std::mutex> held(m_lock);
        auto dimension = isNamed ? m_dimensions[key].lock() : nullptr;
        if (dimension == nullptr)
        {
            dimension = std::make_shared<ZSMdimDimension>(shared_from_this(), parent, name, from, node, d);
            if (isNamed)
                m_dimensions[key] = dimension;
        }
        dimensions.push_back(dimension);
    }
    return true;
}
