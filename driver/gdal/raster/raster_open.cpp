/* A node of a store as a raster: an array, or the slices of it that its name selects; a group of arrays on one grid; or
 * as a list of subdatasets. */
#include "gdal/driver.h"

#include <algorithm>
#include <climits>
#include <set>

#include "dataset.h"
#include "gdal/guard.h"

extern "C"
{
#include "raster/listing.h"
}

namespace
{
/* What is asked for. */
struct Request
{
    const std::shared_ptr<ZSStore> &store;
    const ZSConnection &connection;
    const ZSOpenOptions &options;
    const GDALAccess access;
    const char *const name; /* of the dataset */
};
} // namespace

/* ---- The selection in the name of a dataset ---- */

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

/* "850", "first", "0..24", "2026-05-01..last" */
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
    const bool isRange = dots != std::string::npos;
    const std::string from = text.substr(0, dots), to = isRange ? text.substr(dots + 2) : "last";
    const std::string begin = from == "last" ? std::to_string(size - 1) : zsUnescapedWord(from),
                      end = to == "first" ? "0" : zsUnescapedWord(to);
    return zs_select(store.hierarchy, node, dim, from == "first" ? nullptr : begin.c_str(),
                     to == "last" ? nullptr : end.c_str(), isRange, &selection, err);
}

/* Finds the selections that a connection makes of each array, in the dimensions other than X and Y that it has, in
 * their order; empty where it selects all. Reads coordinates of dimensions that are selected by value alone, once:
 * arrays of a group share them. False, with the reason in err, when there is no such selection. */
static bool selectSlices(const ZSStore &store, const ZSConnection &connection, bool isGroup, ZSBandSources &sources,
                         struct zs_error *err)
{
    for (auto &source : sources)
    {
        for (const uint64_t index : connection.indices)
            source.selections.push_back({ZS_SELECT_ONE, index, 1});
    }
    for (const auto &wanted : connection.named)
    {
        struct zs_selection found = {ZS_SELECT_ALL, 0, 0};
        uint64_t size = 0; // of the dimension that it was found in
        for (auto &source : sources)
        {
            const struct zs_node *node = source.array->node;
            int dim = 0;
            size_t position = 0;
            if (!findDimension(node, source.array->axes, wanted.first, dim, position, err))
                continue;
            if (source.selections.size() <= position)
                source.selections.resize(position + 1, {ZS_SELECT_ALL, 0, 0});
            struct zs_selection &selection = source.selections[position];
            struct zs_error reason;
            enum zs_status status = ZS_OK;
            if (selection.kind != ZS_SELECT_ALL)
                status = zs_fail(&reason, ZS_ARGUMENT, "%s is given twice", wanted.first.c_str());
            else if (found.kind == ZS_SELECT_ALL || size != node->array->shape[dim])
                status = chooseOne(store, node, dim, wanted.second, found, &reason);
            selection = found;
            size = node->array->shape[dim];
            if (status == ZS_OK)
                continue;
            zs_fail(err, ZS_ARGUMENT, "array /%s: %s", node->path, reason.message);
            return false;
        }
        if (found.kind == ZS_SELECT_ALL && isGroup)
            zs_fail(err, ZS_ARGUMENT, "no array of the group has a dimension %s", wanted.first.c_str());
        if (found.kind == ZS_SELECT_ALL)
            return false;
    }
    return true;
}

/* ---- Lists: datasets without bands ---- */

/* Longer lists are cut: programs print them, and search them from the beginning. What is not listed opens by its name
 * all the same. */
constexpr uint64_t MOST_LISTED = 10000;

namespace
{
/* Lists the arrays of a store, or slices of an array, as subdatasets. */
class ShardedZarrContainer final : public GDALDataset
{
    CPLStringList m_subdatasets;
    const std::string m_entry; /* the document of the store; "" where nothing is to be deleted by its list of files */

  public:
    /* With the metadata of `group`, if it is not null. */
    ShardedZarrContainer(const Request &request, const struct zs_node *group);
    void Add(const std::string &name, const std::string &description);
    /* Shows what was added. Where the list was cut, it says so: of `all`, the others open as `how`. */
    void Show(uint64_t all, const std::string &how);
    char **GetFileList() override
    {
        return m_entry.empty() ? nullptr : CSLAddString(nullptr, m_entry.c_str());
    }
    /* Would be lost in silence: GDAL writes no side-car file beside a list. */
    CPLErr SetMetadata(ZSMetadataArg metadata, const char *domain) override
    {
        return eAccess == GA_Update ? Refuse() : GDALDataset::SetMetadata(metadata, domain);
    }
    CPLErr SetMetadataItem(const char *name, const char *value, const char *domain) override
    {
        return eAccess == GA_Update ? Refuse() : GDALDataset::SetMetadataItem(name, value, domain);
    }

  private:
    CPLErr Refuse() const
    {
        return zsRefuse(CPLE_NotSupported, "%s: there are several rasters: set metadata of one of its subdatasets",
                        zsShown(GetDescription()).c_str());
    }
};
} // namespace

ShardedZarrContainer::ShardedZarrContainer(const Request &request, const struct zs_node *group)
    : m_entry(request.store->store->is_snapshot ? "" : request.store->Entry())
{
    eAccess = request.access;
    nRasterXSize = 512; // as GDAL's other containers have
    nRasterYSize = 512;
    char **metadata = nullptr;
    struct zs_error err;
    if (group != nullptr && zs_items_read(group, false, &metadata, &err) == ZS_OK)
    {
        const ZSOwned<char *> freed(metadata, zs_names_free);
        GDALDataset::SetMetadata(metadata);
    }
}

void ShardedZarrContainer::Add(const std::string &name, const std::string &description)
{
    const std::string key = "SUBDATASET_" + std::to_string(m_subdatasets.size() / 2 + 1);
    // SetNameValue() would look through all of them each time
    m_subdatasets.AddString((key + "_NAME=" + name).c_str());
    m_subdatasets.AddString((key + "_DESC=" + description).c_str());
}

void ShardedZarrContainer::Show(uint64_t all, const std::string &how)
{
    GDALDataset::SetMetadata(m_subdatasets.List(), "SUBDATASETS");
    if (all <= MOST_LISTED)
        return;
    const std::string number = all == UINT64_MAX ? "more than 1e19" : std::to_string(all);
    GDALDataset::SetMetadataItem(
        "SUBDATASETS_LISTED",
        ("the first " + std::to_string(MOST_LISTED) + " of " + number + "; the others open as " + how).c_str());
}

/* ---- An array in a list ---- */

static std::string shapeText(const struct zs_node *node, const struct zs_slices *slices)
{
    std::string s;
    for (int d = 0, i = 0; d < node->array->ndim; d++)
    {
        const bool isPlane = slices != nullptr && (d == slices->axes.x || d == slices->axes.y);
        const bool differs = slices != nullptr && i < slices->dim_count && d == slices->dims[i];
        if (slices == nullptr || isPlane || differs)
            s += (s.empty() ? "" : "x") + std::to_string(differs ? slices->sizes[i] : node->array->shape[d]);
        i += differs;
    }
    return "[" + s + "]";
}

/* "[720x600x600] 2 metre temperature (K) (Float32)", as far as it is known. With `slices`, the shape is that of these:
 * of each dimension in which they differ, and of the raster. In a list it follows the name and " - ": QGIS calls a
 * layer by what is before that. */
static std::string describe(const struct zs_node *node, const struct zs_slices *slices = nullptr)
{
    std::string s = shapeText(node, slices);
    ZSProperties properties;
    struct zs_error err;
    if (zs_band_properties_read(node, &properties, &err) == ZS_OK)
    {
        const char *name = zs_band_text(&properties, "description"), *unit = zs_band_text(&properties, "unit");
        s += name != nullptr ? std::string(" ") + name : "";
        s += unit != nullptr ? std::string(" (") + unit + ")" : "";
    }
    return s + " (" + GDALGetDataTypeName(zsGDALType(node->array->dtype.type)) + ")";
}

/* A message lists at most so many arrays, so that it stays readable. */
constexpr size_t MOST_NAMES = 12;

/* "[4x10980x10980] b02, b03, b04, b08 (UInt16)" */
static std::string describeGroup(const struct zs_raster_group &group)
{
    std::string names, types;
    std::vector<GDALDataType> seen;
    for (size_t i = 0; i < group.count; i++)
    {
        const GDALDataType type = zsGDALType(group.arrays[i]->array->dtype.type);
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

/* The times that the listed elements of an array's slowest further dimension are, or what else its coordinates say;
 * empty where they cannot be read. */
static std::vector<std::string> labelsOf(const ZSStore &store, const struct zs_node *node,
                                         const struct zs_slices &slices)
{
    struct zs_labels labels = {};
    struct zs_error err;
    const int dim = slices.dims[0];
    if (zs_labels_read(store.hierarchy, node, dim, slices.first[dim], std::min(slices.sizes[0], MOST_LISTED), &labels,
                       &err) != ZS_OK)
    {
        CPLDebug("ShardedZarr", "%s", err.message); // indices serve as well
        return {};
    }
    const ZSOwned<struct zs_labels> cleared(&labels, zs_labels_clear);
    std::vector<std::string> texts;
    for (char **value = labels.values; value != nullptr && *value != nullptr; value++)
        texts.push_back(*value + (labels.unit != nullptr ? std::string(" ") + labels.unit : ""));
    return texts;
}

/* Lists subdatasets named by their indices: each slice of an array of more than two dimensions (MULTIBAND=NO), or each
 * element of its slowest dimension alone, where it has more slices than a dataset has bands. */
static std::unique_ptr<GDALDataset> listSlices(const Request &request, const struct zs_node *node,
                                               const struct zs_slices &slices, bool isEach, int shown)
{
    const std::string face = shown >= 0 ? ":face=" + std::to_string(shown) : "";
    struct zs_slices listed = slices, rest = slices;
    std::vector<std::string> labels;
    if (!isEach)
    {
        listed.dim_count = 1;
        listed.count = slices.sizes[0];
        rest.dim_count--;
        std::copy(slices.dims + 1, slices.dims + slices.dim_count, rest.dims);
        std::copy(slices.sizes + 1, slices.sizes + slices.dim_count, rest.sizes);
        labels = labelsOf(*request.store, node, slices);
    }
    auto container = std::make_unique<ShardedZarrContainer>(request, nullptr);
    std::vector<uint64_t> position(static_cast<size_t>(listed.dim_count));
    const auto description = describe(node, isEach ? nullptr : &rest);
    const auto name = request.connection.SubdatasetName(node->path);
    for (uint64_t n = 0; n < std::min(listed.count, MOST_LISTED); n++)
    {
        std::string slice;
        zs_slice_position(&listed, n, position.data());
        for (const uint64_t index : position)
            slice += ":" + std::to_string(index);
        slice += face;
        const auto label = n < labels.size() && !labels[n].empty()
                               ? ", " + zsDimensionName(node, slices.dims[0]) + " " + labels[n]
                               : std::string();
        container->Add(name + slice, node->path + slice + label + " - " + description);
    }
    container->Show(listed.count, name + (isEach ? ":i:j" : ":i") + face);
    return container;
}

/* ---- All rasters of a store ---- */

/* Why an array cannot be read, without the name of the document, which the message begins with. */
static std::string whyUnreadable(const struct zs_node *node)
{
    const std::string message = node->array_error->message, document = std::string(node->key) + ": ";
    return message.compare(0, document.size(), document) == 0 ? message.substr(document.size()) : message;
}

namespace
{
/* Results of zs_rasters_find() below a group, and which of them lie on one grid. */
struct Found
{
    const struct zs_node **nodes = nullptr; /* owned */
    size_t count = 0, unreadable = 0; /* rasters, and behind them those that cannot be read */
    struct zs_raster_groups groups = {};

    Found() = default;
    ~Found()
    {
        free(nodes);
        zs_raster_groups_clear(&groups);
    }
    CPL_DISALLOW_COPY_ASSIGN(Found)
};
} // namespace

/* Finds the groups of rasters on one grid, among all that can be a dataset. */
static enum zs_status findGroups(const Request &request, Found &found, struct zs_error *err)
{
    const ZSOpenOptions &options = request.options;
    std::vector<const struct zs_node *> possible;
    for (size_t i = 0; i < found.count; i++)
    {
        const struct zs_node *node = found.nodes[i];
        const struct zs_array_meta &meta = *node->array;
        struct zs_healpix healpix;
        const bool isHealpix = zs_healpix_find(request.store->hierarchy, node, &healpix);
        if (isHealpix && !options.healpix)
            continue;
        const bool isSmall = isHealpix || std::all_of(meta.shape, meta.shape + meta.ndim,
                                                      [](uint64_t n) { return n <= static_cast<uint64_t>(INT_MAX); });
        if (isSmall)
            possible.push_back(node);
    }
    return zs_raster_groups_find(request.store->hierarchy, possible.data(), possible.size(),
                                 options.dim_x.empty() ? nullptr : options.dim_x.c_str(),
                                 options.dim_y.empty() ? nullptr : options.dim_y.c_str(), &found.groups, err);
}

/* Title of a group in a list, which QGIS gives to the layer. */
static std::string titleOf(const ZSConnection &connection, const struct zs_node *group)
{
    const std::string path = group->path, store = CPLGetBasename(connection.store.c_str());
    return !path.empty() ? path : !store.empty() ? store : "/";
}

/* Lists each raster once: as a band of a group of one kind (these come first) or by itself, so that copying all
 * subdatasets copies nothing twice. `broken`: a group of which arrays cannot be read, or null. */
static std::unique_ptr<GDALDataset> listAll(const Request &request, const struct zs_node *group, const Found &found,
                                            const struct zs_raster_group *broken = nullptr)
{
    const ZSConnection &connection = request.connection;
    auto container = std::make_unique<ShardedZarrContainer>(request, group);
    std::set<const struct zs_node *> bands;
    for (size_t i = 0; i < found.groups.count; i++)
    {
        const struct zs_raster_group &g = found.groups.list[i];
        if (!g.is_one_kind || g.bands > ZS_MOST_BANDS || &g == broken)
            continue;
        bands.insert(g.arrays, g.arrays + g.count);
        container->Add(connection.SubdatasetName(g.group->path),
                       titleOf(connection, g.group) + " - " + describeGroup(g));
    }
    for (size_t i = 0; i < found.count + found.unreadable; i++)
    {
        const struct zs_node *node = found.nodes[i];
        if (bands.count(node) > 0)
            continue;
        container->Add(connection.SubdatasetName(node->path),
                       std::string(node->path) + " - " +
                           (i < found.count ? describe(node) : "cannot be read: " + whyUnreadable(node)));
    }
    container->Show(0, "");
    return container;
}

/* ---- Opening ---- */

static std::unique_ptr<GDALDataset> openSources(const Request &request, const ZSBandSources &sources,
                                                const struct zs_node *group, struct zs_error *err)
{
    auto ds = ShardedZarrDataset::Over(request.store, sources, group, request.options, request.access, err);
    if (ds != nullptr)
        ds->AttachPam(request.name);
    return ds;
}

static std::unique_ptr<GDALDataset> openNode(const Request &request, const struct zs_node *node, struct zs_error *err)
{
    ZSConnection connection = request.connection;
    ZSBandSources sources(1, {ZSArray::Open(*request.store, node, request.options, err), {}});
    ZSBandSource &source = sources[0];
    if (source.array == nullptr || !zsTakeFace(*source.array, connection, source.shown, err) ||
        !selectSlices(*request.store, connection, false, sources, err))
        return nullptr;
    struct zs_slices slices;
    // Over() reports an error.
    const bool isFound = zs_slices_find(node->array->ndim, node->array->shape, source.array->axes,
                                        source.selections.data(), source.selections.size(), &slices, err) == ZS_OK;
    const bool isEach = !request.options.multiband && node->array->ndim > 2;
    if (isFound && source.selections.empty() && (isEach || slices.count > ZS_MOST_BANDS))
        return listSlices(request, node, slices, isEach, source.shown);
    return openSources(request, sources, nullptr, err);
}

/* Opens the arrays of a group, with a band for each slice of them, or for those that the connection selects; without
 * those of a kind that cannot be read, for each of which `missing` gets a line. */
static std::unique_ptr<GDALDataset> openArrays(const Request &request, const struct zs_raster_group &group,
                                               std::vector<std::string> &missing, struct zs_error *err)
{
    ZSBandSources sources;
    for (size_t i = 0; i < group.count; i++)
    {
        bool isKind = false;
        const auto opened = ZSArray::Open(*request.store, group.arrays[i], request.options, err, &isKind);
        if (opened != nullptr)
            sources.push_back({opened, {}});
        else if (isKind)
            missing.push_back(err->message);
        else
            return nullptr;
    }
    ZSConnection connection = request.connection;
    int shown = ZS_HEALPIX_SPHERE;
    if (sources.empty() || !zsTakeFace(*sources[0].array, connection, shown, err))
        return nullptr;
    for (auto &source : sources)
        source.shown = shown;
    if (!selectSlices(*request.store, connection, true, sources, err))
        return nullptr;
    return openSources(request, sources, group.group, err);
}

/* `isAll`: whether the dataset shows all that the store has. */
static std::unique_ptr<GDALDataset> openGroup(const Request &request, const struct zs_node *group, bool &isAll,
                                              struct zs_error *err)
{
    Found found;
    const ZSConnection &connection = request.connection;
    if (zs_rasters_find(request.store->hierarchy, group, &found.nodes, &found.count, &found.unreadable, err) != ZS_OK)
        return nullptr;
    if (found.count == 1)
        return openNode(request, found.nodes[0], err);
    if (request.options.multiband && findGroups(request, found, err) != ZS_OK)
        return nullptr;
    const struct zs_raster_group *first = found.groups.list, *wanted = nullptr;
    isAll = found.groups.count == 1 && first->count == found.count && found.unreadable == 0;
    if (isAll && first->is_one_kind)
        wanted = first;
    for (size_t i = 0; i < found.groups.count && wanted == nullptr && connection.has_array; i++)
    {
        if (first[i].group == group)
            wanted = &first[i];
    }
    if (wanted == nullptr || (wanted->bands > ZS_MOST_BANDS && !connection.Chooses()))
        return listAll(request, group, found);
    std::vector<std::string> missing;
    auto ds = openArrays(request, *wanted, missing, err);
    if (!missing.empty() && !connection.has_array)
        return listAll(request, group, found, wanted); // a user who names the group wants all of it
    for (size_t i = found.count; i < found.count + found.unreadable; i++)
    {
        if (zs_raster_group_misses(wanted, found.nodes[i]))
            missing.push_back(found.nodes[i]->array_error->message);
    }
    for (size_t i = 0; i < missing.size() && ds != nullptr; i++) // the others have other numbers
        CPLError(CE_Warning, CPLE_AppDefined, "/%s: a band is missing: %s", wanted->group->path, missing[i].c_str());
    return ds;
}

std::unique_ptr<GDALDataset> zsRasterOpen(const std::shared_ptr<ZSStore> &store, const struct zs_node *node,
                                          const ZSConnection &connection, const ZSOpenOptions &options,
                                          GDALAccess access, const char *name, struct zs_error *err)
{
    const Request request{store, connection, options, access, name};
    bool isAll = true;
    auto dataset = node->type == ZS_NODE_GROUP ? openGroup(request, node, isAll, err) : openNode(request, node, err);
    auto *raster = dynamic_cast<ShardedZarrDataset *>(dataset.get()); // else a list of several
    if (raster != nullptr && connection.array.empty() && !connection.Chooses() && isAll)
        raster->LookBeside(store->store->root);
    return dataset;
}
