#include "dataset.h"

#include <algorithm>
#include <climits>

/* A message lists at most so many arrays, so that it stays readable. */
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

/* ---- The selected slices of the arrays ---- */

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

/* The selection for each array, in the dimensions that it has. */
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
            sources[i].selections = sources[i - 1].selections;
            continue;
        }
        ZSConnection own = connection;
        own.named.erase(std::remove_if(own.named.begin(), own.named.end(),
                                       [&](const std::pair<std::string, std::string> &wanted)
                                       { return !hasDimension(array, wanted.first); }),
                        own.named.end());
        if (!zsSelect(store, array.node, array.axes, own, sources[i].selections, err))
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

/* ---- Slices ---- */

std::string zsDimensionName(const struct zs_node *node, int dim)
{
    const char *name = zs_dimension_name(node, dim);
    bool isOnly = name != nullptr && name[0] != '\0';
    for (int d = 0; d < node->array->ndim && isOnly; d++)
    {
        const char *other = d != dim ? zs_dimension_name(node, d) : nullptr;
        isOnly = other == nullptr || strcmp(other, name) != 0;
    }
    return isOnly ? name : "dim" + std::to_string(dim);
}

/* Which of the dimensions but X and Y, counted from the slowest, has that name. */
static bool findDimension(const struct zs_node *node, const struct zs_axes &axes, const std::string &name, int &dim,
                          size_t &position, struct zs_error *err)
{
    std::string names;
    position = 0;
    for (dim = 0; dim < node->array->ndim; dim++)
    {
        const std::string own = zsDimensionName(node, dim);
        const bool isPlane = dim == axes.x || dim == axes.y;
        if (own == name && !isPlane)
            return true;
        if (own == name)
        {
            zs_fail(err, ZS_ARGUMENT, "array /%s: %s is its %s, of which a window is read", node->path, name.c_str(),
                    dim == axes.x ? "X" : "Y");
            return false;
        }
        position += isPlane ? 0 : 1;
        names += isPlane ? "" : (names.empty() ? "" : ", ") + own;
    }
    zs_fail(err, ZS_ARGUMENT, "array /%s: it has no dimension %s%s%s", node->path, name.c_str(),
            names.empty() ? "" : "; beside X and Y there are: ", names.c_str());
    return false;
}

/* "0..24", "2026-05-01..last" */
static enum zs_status chooseRange(const ZSStore &store, const struct zs_node *node, int dim, const std::string &text,
                                  size_t dots, struct zs_selection &selection, struct zs_error *err)
{
    const std::string from = text.substr(0, dots), to = text.substr(dots + 2);
    const std::string last = std::to_string(node->array->shape[dim] - 1);
    const std::string begin = from == "last" ? last : zsUnescapedWord(from),
                      end = to == "first" ? "0" : zsUnescapedWord(to);
    return zs_select_range(store.hierarchy, node, dim, from == "first" ? nullptr : begin.c_str(),
                           to == "last" ? nullptr : end.c_str(), &selection, err);
}

static enum zs_status chooseOne(const ZSStore &store, const struct zs_node *node, int dim, const std::string &text,
                                struct zs_selection &selection, struct zs_error *err)
{
    const uint64_t size = node->array->shape[dim];
    const size_t dots = text.find("..");
    if (size == 0)
        return zs_fail(err, ZS_ARGUMENT, "a dimension of no elements gives no band");
    if (text == "first" || text == "last")
    {
        selection = {ZS_SELECT_ONE, text == "first" ? 0 : size - 1, 1};
        return ZS_OK;
    }
    if (dots == std::string::npos)
        return zs_select_value(store.hierarchy, node, dim, zsUnescapedWord(text).c_str(), &selection, err);
    return chooseRange(store, node, dim, text, dots, selection, err);
}

bool zsSelect(const ZSStore &store, const struct zs_node *node, const struct zs_axes &axes,
              const ZSConnection &connection, std::vector<struct zs_selection> &selections, struct zs_error *err)
{
    selections.clear();
    for (const uint64_t index : connection.indices)
        selections.push_back({ZS_SELECT_ONE, index, 1});
    for (const auto &wanted : connection.named)
    {
        int dim = 0;
        size_t position = 0;
        if (!findDimension(node, axes, wanted.first, dim, position, err))
            return false;
        if (selections.size() <= position)
            selections.resize(position + 1, {ZS_SELECT_ALL, 0, 0});
        struct zs_error reason;
        if (selections[position].kind != ZS_SELECT_ALL)
            zs_fail(&reason, ZS_ARGUMENT, "%s is given twice", wanted.first.c_str());
        else if (chooseOne(store, node, dim, wanted.second, selections[position], &reason) == ZS_OK)
            continue;
        zs_fail(err, ZS_ARGUMENT, "array /%s: %s", node->path, reason.message);
        return false;
    }
    return true;
}

std::string zsSelectionText(const std::vector<struct zs_selection> &selections)
{
    std::string text;
    for (const auto &c : selections)
    {
        text += c.kind == ZS_SELECT_ALL ? ":*" : ":" + std::to_string(c.first);
        text += c.kind == ZS_SELECT_RANGE ? ".." + std::to_string(c.first + c.count - 1) : "";
    }
    return text;
}
