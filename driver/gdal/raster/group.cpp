#include "group.h"

#include <algorithm>
#include <climits>

#include "choices.h"
#include "healpix_map.h"

/* A line that names more arrays is not read to its end. */
constexpr size_t MOST_NAMES = 12;

bool ZSRasterGroups::Find(const ZSStore &store, const struct zs_node *const *rasters, size_t count,
                          const ZSOpenOptions &options, struct zs_error *err)
{
    std::vector<const struct zs_node *> possible;
    for (size_t i = 0; i < count; i++)
    {
        const struct zs_array_meta &meta = *rasters[i]->array;
        struct zs_healpix healpix;
        const bool isHealpix = zs_healpix_find(store.hierarchy, rasters[i], &healpix);
        if (isHealpix && !options.healpix)
            continue;
        const bool isSmall = isHealpix || std::all_of(meta.shape, meta.shape + meta.ndim,
                                         [](uint64_t n) { return n <= static_cast<uint64_t>(INT_MAX); });
        if (isSmall && zsGDALType(meta.dtype.type, meta.dtype.size) != GDT_Unknown)
            possible.push_back(rasters[i]);
    }
    return zs_raster_groups_find(store.hierarchy, possible.data(), possible.size(),
                                 options.dim_x.empty() ? nullptr : options.dim_x.c_str(),
                                 options.dim_y.empty() ? nullptr : options.dim_y.c_str(), &m_groups, err) == ZS_OK;
}

const struct zs_raster_group *ZSRasterGroups::Of(const struct zs_node *group) const
{
    const auto found =
        std::find_if(begin(), end(), [group](const struct zs_raster_group &g) { return g.group == group; });
    return found != end() ? found : nullptr;
}

/* ---- What is chosen of the arrays ---- */

static bool hasDimension(const ZSArray &array, const std::string &name)
{
    for (int d = 0; d < array.node->array->ndim; d++)
    {
        if (d != array.axes.x && d != array.axes.y && zsDimensionName(array.node, d) == name)
            return true;
    }
    return false;
}

/* Whether two arrays have the same dimensions, whose coordinates they then share. */
static bool areAlike(const ZSArray &a, const ZSArray &b)
{
    const struct zs_array_meta &p = *a.node->array, &q = *b.node->array;
    bool same = p.ndim == q.ndim && a.axes.x == b.axes.x && a.axes.y == b.axes.y;
    for (int d = 0; d < p.ndim && same; d++)
        same = p.shape[d] == q.shape[d] && zsDimensionName(a.node, d) == zsDimensionName(b.node, d);
    return same;
}

/* Of each array, what is asked for of the dimensions that it has. */
static bool choose(const ZSStore &store, const ZSConnection &connection, ZSBandSources &sources, struct zs_error *err)
{
    for (const auto &wanted : connection.named)
    {
        if (std::none_of(sources.begin(), sources.end(),
                         [&](const ZSBandSource &source) { return hasDimension(*source.array, wanted.first); }))
        {
            zs_fail(err, ZS_ARGUMENT, "no array of the group has a dimension %s", wanted.first.c_str());
            return false;
        }
    }
    for (size_t i = 0; i < sources.size() && connection.Chooses(); i++)
    {
        const ZSArray &array = *sources[i].array;
        if (i > 0 && areAlike(array, *sources[i - 1].array))
        {
            sources[i].choices = sources[i - 1].choices;
            continue;
        }
        ZSConnection own = connection;
        own.named.erase(std::remove_if(own.named.begin(), own.named.end(),
                                       [&](const std::pair<std::string, std::string> &wanted)
                                       { return !hasDimension(array, wanted.first); }),
                        own.named.end());
        if (!zsChoose(store, array.node, array.axes, own, sources[i].choices, err))
            return false;
    }
    return true;
}

/* ---- Opening ---- */

std::unique_ptr<ShardedZarrDataset> zsOpenRasterGroup(const std::shared_ptr<ZSStore> &store,
                                                      const ZSConnection &connection,
                                                      const struct zs_raster_group &group,
                                                      const ZSOpenOptions &options, GDALAccess access,
                                                      std::vector<std::string> &missing, struct zs_error *err)
{
    ZSBandSources sources;
    for (size_t i = 0; i < group.count; i++)
    {
        bool isKind = false;
        const auto opened = ZSArray::Open(*store, group.arrays[i], options, err, &isKind);
        if (opened != nullptr)
            sources.push_back({opened, {}});
        else if (isKind)
            missing.push_back(err->message);
        else
            return nullptr;
    }
    ZSConnection chosen = connection;
    int shown = ZS_HEALPIX_SPHERE;
    if (!sources.empty() && !zsTakeFace(*sources[0].array, chosen, shown, err))
        return nullptr;
    for (auto &source : sources)
        source.shown = shown;
    return !sources.empty() && choose(*store, chosen, sources, err)
               ? ShardedZarrDataset::Over(store, sources, group.group, options, access, err)
               : nullptr;
}

/* ---- In a list ---- */

std::string zsDescribeGroup(const struct zs_raster_group &group)
{
    std::string names, types;
    std::vector<GDALDataType> seen;
    for (size_t i = 0; i < group.count; i++)
    {
        const struct zs_dtype &dtype = group.arrays[i]->array->dtype;
        const GDALDataType type = zsGDALType(dtype.type, dtype.size);
        if (i < MOST_NAMES)
            names += (i > 0 ? ", " : "") + std::string(zs_path_name(group.arrays[i]->path));
        if (std::find(seen.begin(), seen.end(), type) != seen.end())
            continue;
        seen.push_back(type);
        types += (types.empty() ? "" : ", ") + std::string(GDALGetDataTypeName(type));
    }
    if (group.count > MOST_NAMES)
        names += " and " + std::to_string(group.count - MOST_NAMES) + " more";
    return "[" + std::to_string(group.bands) + "x" + std::to_string(group.height) + "x" + std::to_string(group.width) +
           "] " + names + " (" + types + ")";
}
