#include "mdim.h"

#include <algorithm>
#include <functional>

#include "gdal/guard.h"

extern "C"
{
#include "zarr/make.h"
#include "zarr/name.h"
}

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

/* One that was made. The store keeps it, so it does not keep the store. */
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
        m_path = path + "/" + GetName();
    }
#if ZS_GDAL_AT_LEAST(8)
    void SetName(const std::string &name) override
    {
        const std::string group = zsParentPath(m_path);
        BaseRename(name);
        m_path = (group.empty() ? "" : group + "/") + name;
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
/* Its variable is the array of that name, or none. */
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

/* X or Y whose places no array has, but a transform says: those of the pixels' centres, where they lie in rows and
 * columns. */
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

/* One without a name is this array's alone, and has no key. Without a variable two arrays may lie in two places: each
 * has its own. */
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

/* ---- Those that are made ---- */

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

/* In a store the variable of a dimension is the array of its name, and nothing else says so. */
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
    {
        CPLError(CE_Failure, CPLE_IllegalArg, "dimension \"%s\" of %s: %s", name.c_str(), GroupName(path).c_str(),
                 name.empty() ? "expected a name" : "there is one already");
        return nullptr;
    }
    const std::string variable = (path.empty() ? "" : path + "/") + name;
    made.push_back(std::make_shared<ZSMdimMadeDimension>(shared_from_this(), GroupName(path), variable, name, type,
                                                         direction, size));
    return made.back();
}

/* The one of that name and size that was made in the group of an array, or in one above. */
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

/* ---- Other names: in all arrays that have a dimension, or in none ---- */

#if ZS_GDAL_AT_LEAST(8)

namespace
{
/* The dimensions of an array. */
struct Found
{
    const struct zs_node *node;
    struct zs_dimension dims[ZS_MAX_NDIM];
    int count = 0;
};

/* Arrays that have a dimension, and as which of theirs. */
struct Having
{
    Found array;
    std::vector<int> numbers;
};
} // namespace

static std::string nameOf(const struct zs_dimension &d)
{
    return d.name != nullptr ? d.name : "";
}

/* Those of all arrays that say some; who opens the others is told why not. */
static bool findAll(struct zs_hierarchy *h, std::vector<Found> &all, struct zs_error *err)
{
    const struct zs_node **nodes = nullptr;
    size_t listed = 0;
    if (zs_hierarchy_list(h, &nodes, &listed, err) != ZS_OK)
        return false;
    const std::unique_ptr<const struct zs_node *, decltype(&free)> freed(nodes, free);
    for (size_t i = 0; i < listed; i++)
    {
        Found found = {};
        found.node = nodes[i];
        if (nodes[i]->type == ZS_NODE_ARRAY &&
            zs_dimensions_find(h, nodes[i], found.dims, &found.count, nullptr) == ZS_OK)
            all.push_back(found);
    }
    return true;
}

/* The arrays that have a dimension as one of theirs does: it is called so and as long, and they are beside it, have the
 * same coordinates, or it was made as one object. */
static std::vector<Having> allWith(const std::vector<Found> &all, const Found &array, const struct zs_dimension &dim,
                                   const std::function<bool(const Found &)> &isMade)
{
    std::vector<Having> having;
    for (const auto &other : all)
    {
        Having h = {other, {}};
        for (int e = 0; e < other.count; e++)
        {
            const bool isBeside = zsParentPath(other.node->path) == zsParentPath(array.node->path);
            const bool isSame = dim.variable != nullptr && dim.variable == other.dims[e].variable;
            if (nameOf(dim) == nameOf(other.dims[e]) && dim.size == other.dims[e].size &&
                (isBeside || isSame || isMade(other)))
                h.numbers.push_back(e);
        }
        if (!h.numbers.empty())
            having.push_back(h);
    }
    return having;
}

/* Whether one was made in the groups. */
bool ZSMdimStore::HasMadeDimension(const std::set<std::string> &groups, const std::string &name) const
{
    for (const auto &group : groups)
    {
        for (const auto &d : MadeDimensions(group))
        {
            if (d->GetName() == name)
                return true;
        }
    }
    return false;
}

/* Whether an array in the groups has one. */
static bool hasDimension(const std::vector<Found> &all, const std::set<std::string> &groups, const std::string &name)
{
    for (const auto &f : all)
    {
        for (int d = 0; d < f.count && groups.count(zsParentPath(f.node->path)) > 0; d++)
        {
            if (nameOf(f.dims[d]) == name)
                return true;
        }
    }
    return false;
}

/* Gives arrays other names of a dimension, all of them or none. */
static bool restate(struct zs_hierarchy *h, const std::vector<Having> &having, const std::string &name,
                    struct zs_error *err)
{
    size_t done = 0;
    const auto change = [h](const Having &one, const char *given, struct zs_error *e) {
        const char *names[ZS_MAX_NDIM] = {nullptr};
        const struct zs_node *fresh = nullptr, *now = nullptr;
        for (int d = 0; d < one.array.count; d++)
            names[d] = one.array.dims[d].name;
        for (const int d : one.numbers)
            names[d] = given != nullptr ? given : names[d];
        return zs_hierarchy_node(h, one.array.node->path, &now, e) == ZS_OK &&
               zs_array_restate(h, now, nullptr, names, nullptr, &fresh, e) == ZS_OK;
    };
    while (done < having.size() && change(having[done], name.c_str(), err))
        done++;
    if (done == having.size())
        return true;
    while (done-- > 0)
        change(having[done], nullptr, nullptr);
    return false;
}

/* What attributes of the arrays, and of their groups, call by the dimension's name. */
static bool renameInAttributes(struct zs_hierarchy *h, const std::vector<Having> &having, const std::string &from,
                               const std::string &to, struct zs_error *err)
{
    std::set<std::string> paths;
    for (const auto &one : having)
    {
        paths.insert(one.array.node->path);
        if (one.array.node->path[0] != '\0')
            paths.insert(zsParentPath(one.array.node->path));
    }
    for (const auto &path : paths)
    {
        const struct zs_node *node = nullptr;
        if (zs_hierarchy_node(h, path.c_str(), &node, err) != ZS_OK ||
            zs_dimension_rename_attributes(h, node, from.c_str(), to.c_str(), err) != ZS_OK)
            return false;
    }
    return true;
}

/* What GDAL's users have of the dimension, by what it is called until now. */
std::shared_ptr<GDALDimension> ZSMdimStore::HeldDimension(const struct zs_node *node, int number,
                                                          const struct zs_dimension &dim)
{
    const auto array = Handle(node->path)->array.lock();
    const std::lock_guard<std::mutex> held(m_lock);
    auto dimension = array != nullptr ? array->GetDimensions()[static_cast<size_t>(number)] : nullptr;
    if (dimension == nullptr)
        dimension = MadeDimension(node->path, nameOf(dim), dim.size);
    return dimension != nullptr ? dimension : m_dimensions[DimensionKey(node, dim)].lock();
}

/* Whoever has the dimension, or an array of it, is told. */
bool ZSMdimStore::TellRenamed(const std::vector<HeldPlace> &places, const std::string &name, struct zs_error *err)
{
    {
        const std::lock_guard<std::mutex> held(m_lock);
        m_dimensions.clear(); // their keys have names
    }
    for (const auto &place : places)
    {
        auto *sized = dynamic_cast<ZSMdimSized *>(place.dimension.get());
        if (sized != nullptr && sized->GetName() != name)
            sized->SetName(name);
    }
    for (const auto &place : places)
    {
        struct zs_dimension dims[ZS_MAX_NDIM];
        int count = 0;
        const struct zs_node *node = place.path.empty() && place.number < 0 ? nullptr : Node(place.path);
        if (node == nullptr)
            continue;
        if (zs_dimensions_find(Hierarchy(), node, dims, &count, err) != ZS_OK || !FollowNode(node, err))
            return false;
        const std::lock_guard<std::mutex> held(m_lock);
        if (place.dimension != nullptr && MadeDimension(node->path, name, dims[place.number].size) == nullptr)
            m_dimensions[DimensionKey(node, dims[place.number])] = place.dimension;
    }
    return true;
}

/* The arrays that have a dimension: that of an array, or one that was made. */
static std::vector<Having> allThatHave(const std::vector<Found> &all, const std::string &name, const char *path,
                                       int number, const std::function<bool(const Found &)> &isMade)
{
    for (const auto &f : all)
    {
        for (int d = 0; d < f.count; d++)
        {
            const bool isIt = path != nullptr ? strcmp(f.node->path, path) == 0 && d == number : isMade(f);
            if (isIt && nameOf(f.dims[d]) == name)
                return allWith(all, f, f.dims[d], isMade);
        }
    }
    return {};
}

bool ZSMdimStore::RenameDimension(const std::shared_ptr<GDALDimension> &self, const char *path, int number,
                                  const std::string &group, const std::string &name)
{
    struct zs_error err;
    std::vector<Found> all;
    const std::string before = self->GetName();
    if (!CheckUpdatable())
        return false;
    if (!zs_is_node_name(name.c_str()) || name.find_first_of(":\\") != std::string::npos)
    {
        CPLError(CE_Failure, CPLE_IllegalArg, "dimension %s: \"%s\": expected a name without / \\ and :, not of dots",
                 before.c_str(), name.c_str());
        return false;
    }
    if (!findAll(Hierarchy(), all, &err))
    {
        zsReport(err);
        return false;
    }
    const auto having = allThatHave(all, before, path, number, [&](const Found &f) {
        return MadeDimension(f.node->path, before, self->GetSize()) == self;
    });
    std::set<std::string> groups{group};
    std::vector<HeldPlace> places{{"", -1, self}};
    for (const auto &one : having)
    {
        groups.insert(zsParentPath(one.array.node->path));
        for (const int d : one.numbers)
            places.push_back({one.array.node->path, d, HeldDimension(one.array.node, d, one.array.dims[d])});
    }
    if ((having.empty() && path != nullptr) || HasMadeDimension(groups, name) ||
        hasDimension(all, groups, name))
    {
        CPLError(CE_Failure, CPLE_AppDefined,
                 having.empty() && path != nullptr ? "dimension %s: no array calls one so, to be called %s"
                                                   : "dimension %s: there is one called %s already",
                 before.c_str(), name.c_str());
        return false;
    }
    for (const auto &one : having)
    {
        if (!FlushArray(one.array.node->path)) // it is opened again
            return false;
    }
    if (restate(Hierarchy(), having, name, &err) && renameInAttributes(Hierarchy(), having, before, name, &err) &&
        TellRenamed(places, name, &err))
        return true;
    zsReport(err);
    return false;
}

#endif
