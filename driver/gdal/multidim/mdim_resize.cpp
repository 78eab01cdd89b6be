/* Arrays that become longer, with all that share the dimension. */
#include "mdim.h"

#include <algorithm>

extern "C"
{
#include "geo/band_list.h"
#include "raster/overviews.h"
#include "zarr/make.h"
}

/* ---- Which arrays become longer together ---- */

static std::vector<uint64_t> shapeOf(const struct zs_dimension *dims, int count)
{
    std::vector<uint64_t> shape;
    for (int d = 0; d < count; d++)
        shape.push_back(dims[d].size);
    return shape;
}


/* Adds `other` to the shapes where it shares a dimension that becomes longer. An array that cannot be read stays as it
 * is. */
void ZSMdimStore::AddSharing(const struct zs_node *node, const struct zs_dimension *dims,
                             const std::vector<uint64_t> &sizes, const struct zs_node *other, Shapes &shapes) const
{
    struct zs_dimension others[ZS_MAX_NDIM];
    int count = 0;
    if (zs_dimensions_find(Hierarchy(), other, others, &count, nullptr) != ZS_OK)
        return;
    auto shape = shapeOf(others, count);
    for (int e = 0; e < count; e++)
    {
        for (size_t d = 0; d < sizes.size(); d++)
        {
            const std::string name = zsMdimNameOf(dims[d]);
            const auto made = !name.empty() ? MadeDimension(node->path, name, dims[d].size) : nullptr;
            const bool isMade = made != nullptr && made == MadeDimension(other->path, name, dims[d].size);
            if (zsIsSameDimension(node, dims[d], other, others[e], isMade))
                shape[static_cast<size_t>(e)] = sizes[d];
        }
    }
    if (shape != shapeOf(others, count))
        shapes[other->path] = shape;
}

/* The new shapes of an array and of those that share with it the dimensions that change. */
bool ZSMdimStore::PlanResize(const struct zs_node *node, const std::vector<uint64_t> &sizes, Shapes &shapes,
                             struct zs_error *err)
{
    struct zs_dimension dims[ZS_MAX_NDIM];
    int count = 0;
    if (zs_dimensions_find(Hierarchy(), node, dims, &count, err) != ZS_OK)
        return false;
    if (sizes.size() != static_cast<size_t>(count))
    {
        zs_fail(err, ZS_ARGUMENT, "array /%s: expected sizes of %d dimensions, found %zu", node->path, count,
                sizes.size());
        return false;
    }
    for (size_t d = 0; d < sizes.size(); d++)
    {
        for (size_t e = 0; e < d; e++)
        {
            if (zsIsSameDimension(node, dims[d], node, dims[e], false) && sizes[d] != sizes[e])
            {
                zs_fail(err, ZS_ARGUMENT, "array /%s: dimension %s, which it has twice: expected one size", node->path,
                        dims[d].name);
                return false;
            }
        }
        if (sizes[d] < dims[d].size)
        {
            zs_fail(err, ZS_UNSUPPORTED, "array /%s: dimension %zu has %llu elements, arrays are made longer, not %llu",
                    node->path, d, static_cast<unsigned long long>(dims[d].size),
                    static_cast<unsigned long long>(sizes[d]));
            return false;
        }
    }
    const struct zs_node **nodes = nullptr;
    size_t listed = 0;
    if (zs_hierarchy_list(Hierarchy(), &nodes, &listed, err) != ZS_OK)
        return false;
    const std::unique_ptr<const struct zs_node *, decltype(&free)> freed(nodes, free);
    for (size_t i = 0; i < listed; i++)
    {
        if (nodes[i]->type == ZS_NODE_ARRAY && nodes[i] != node)
            AddSharing(node, dims, sizes, nodes[i], shapes);
    }
    if (shapeOf(dims, count) != sizes)
        shapes[node->path] = sizes;
    return true;
}

/* ---- The new shapes ---- */

/* Changes the shapes of all arrays, and the lists in their attributes that have an element for each slice. After a
 * failure none is changed. */
bool ZSMdimStore::Restate(const Shapes &shapes, struct zs_error *err)
{
    std::vector<const struct zs_node *> before;
    for (const auto &[path, shape] : shapes)
    {
        const struct zs_node *node = nullptr, *fresh = nullptr;
        if (zs_hierarchy_node(Hierarchy(), path.c_str(), &node, err) == ZS_OK &&
            zs_array_grow(Hierarchy(), node, shape.data(), err) == ZS_OK)
        {
            before.push_back(node);
            continue;
        }
        for (const auto *old : before)
        {
            if (zs_array_update_document(Hierarchy(), old, nullptr, nullptr, nullptr, &fresh, nullptr) != ZS_OK)
                CPLDebug("ShardedZarr", "/%s: keeps its new shape", old->path);
        }
        return false;
    }
    return true;
}

/* Adds the live dimensions of an array, with their new sizes. */
void ZSMdimStore::AddDimensions(const std::string &path, const std::vector<uint64_t> &shape, Sizes &sizes)
{
    struct zs_dimension dims[ZS_MAX_NDIM];
    int count = 0;
    const struct zs_node *node = Node(path);
    const auto array = Handle(path)->array.lock();
    if (node == nullptr || zs_dimensions_find(Hierarchy(), node, dims, &count, nullptr) != ZS_OK)
        return;
    for (int d = 0; d < count; d++)
    {
        const uint64_t size = shape[static_cast<size_t>(d)];
        const std::string key = DimensionKey(node, dims[d]);
        if (array != nullptr)
            sizes.emplace_back(array->GetDimensions()[static_cast<size_t>(d)], size);
        if (key.empty())
            continue;
        sizes.emplace_back(MadeDimension(path, dims[d].name, dims[d].size), size);
        sizes.emplace_back(m_dimensions[key].lock(), size);
    }
}

/* Warns of overviews that keep the old size: they are not found until they are made again. */
void ZSMdimStore::TellOfOverviews(const Shapes &shapes)
{
    for (const auto &[path, shape] : shapes)
    {
        struct zs_error ignored;
        struct zs_axes axes;
        const struct zs_node *node = Node(path);
        char **levels = nullptr;
        size_t count = 0;
        if (node == nullptr || zs_axes_find(Hierarchy(), node, nullptr, nullptr, &axes, &ignored) != ZS_OK ||
            axes.y < 0 || zs_overviews_find(Hierarchy(), node, axes, &levels, &count, &ignored) != ZS_OK)
            continue;
        const bool isLeft = std::any_of(levels, levels + count,
                                        [&](const char *level) { return shapes.find(level) == shapes.end(); });
        zs_paths_free(levels, count);
        if (isLeft)
            CPLError(CE_Warning, CPLE_AppDefined,
                     "array /%s: its overviews have the size that it had: they are to be made again (gdaladdo)",
                     path.c_str());
    }
}

bool ZSMdimStore::Resize(const struct zs_node *node, const std::vector<GUInt64> &newSizes)
{
    struct zs_error err;
    Shapes shapes;
    Sizes sizes;
    if (!CheckUpdatable())
        return false;
    bool ok = PlanResize(node, std::vector<uint64_t>(newSizes.begin(), newSizes.end()), shapes, &err);
    for (auto it = shapes.begin(); ok && it != shapes.end(); ++it)
    {
        if (!FlushArray(it->first)) // pending chunks are numbered by the old shape
            return false;
        AddDimensions(it->first, it->second, sizes);
    }
    if (ok)
        TellOfOverviews(shapes);
    ok = ok && Restate(shapes, &err);
    for (size_t i = 0; ok && i < sizes.size(); i++)
    {
        auto *sized = dynamic_cast<ZSMdimSized *>(sizes[i].first.get());
        if (sized != nullptr)
            sized->SetSize(sizes[i].second);
    }
    for (auto it = shapes.begin(); ok && it != shapes.end(); ++it)
    {
        const struct zs_node *fresh = nullptr;
        ok = zs_hierarchy_node(Hierarchy(), it->first.c_str(), &fresh, &err) == ZS_OK && FollowNode(fresh, &err);
    }
    if (!ok)
        zsReport(err);
    return ok;
}
