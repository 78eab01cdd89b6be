/* Dimensions that get another name, through the multidimensional API: in all arrays that have them, or in none. */
#include "mdim.h"

#include <functional>

#include "gdal/guard.h"

extern "C"
{
#include "zarr/make.h"
#include "zarr/name.h"
}

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
    for (const auto &[group, dimensions] : m_made)
    {
        for (const auto &d : dimensions)
        {
            if (groups.count(group) > 0 && d->GetName() == name)
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
    const auto array = m_arrays[node->path].lock();
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
