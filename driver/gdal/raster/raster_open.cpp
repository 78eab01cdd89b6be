/* A node of a store as a raster: an array, a group of arrays on one grid; or as a list of subdatasets. */
#include "gdal/driver.h"

#include <algorithm>
#include <set>

#include "dataset.h"
#include "gdal/guard.h"

extern "C"
{
#include "raster/listing.h"
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
    ShardedZarrContainer(const ZSStore &store, const struct zs_node *group);
    void Add(const std::string &name, const std::string &description);
    /* Shows what was added. Where the list was cut, it says so: of `all`, the others open as `how`. */
    void Show(uint64_t all, const std::string &how);
    char **GetFileList() override
    {
        return m_entry.empty() ? nullptr : CSLAddString(nullptr, m_entry.c_str());
    }
};
} // namespace

ShardedZarrContainer::ShardedZarrContainer(const ZSStore &store, const struct zs_node *group)
    : m_entry(store.store->is_snapshot ? "" : store.Entry())
{
    nRasterXSize = 512; // as GDAL's other containers have
    nRasterYSize = 512;
    char **metadata = nullptr;
    struct zs_error err;
    if (group != nullptr && zs_group_metadata_read(group, &metadata, &err) == ZS_OK)
    {
        const ZSOwned<char *> freed(metadata, zs_names_free);
        SetMetadata(metadata);
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
    SetMetadata(m_subdatasets.List(), "SUBDATASETS");
    if (all <= MOST_LISTED)
        return;
    const std::string number = all == UINT64_MAX ? "more than 1e19" : std::to_string(all);
    SetMetadataItem("SUBDATASETS_LISTED",
                    ("the first " + std::to_string(MOST_LISTED) + " of " + number + "; the others open as " + how)
                        .c_str());
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
    const GDALDataType type = zsGDALType(node->array->dtype.type, node->array->dtype.size);
    const std::string typeName = type == GDT_Unknown ? node->array->dtype.name : GDALGetDataTypeName(type);
    std::string s = shapeText(node, slices);
    struct zs_band_properties properties;
    struct zs_error err;
    if (zs_band_properties_read(node, &properties, &err) == ZS_OK)
    {
        const ZSOwned<struct zs_band_properties> cleared(&properties, zs_band_properties_clear);
        s += properties.description != nullptr ? std::string(" ") + properties.description : "";
        s += properties.unit != nullptr ? std::string(" (") + properties.unit + ")" : "";
    }
    return s + " (" + typeName + ")";
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
    for (size_t i = 0; labels.values != nullptr && i < labels.count; i++)
        texts.push_back(std::string(labels.values[i]) + (labels.unit != nullptr ? std::string(" ") + labels.unit : ""));
    return texts;
}

/* Lists subdatasets named by their indices: each slice of an array of more than two dimensions (MULTIBAND=NO), or each
 * element of its slowest dimension alone, where it has more slices than a dataset has bands. */
static std::unique_ptr<GDALDataset> listSlices(const std::shared_ptr<ZSStore> &store, const ZSConnection &connection,
                                               const struct zs_node *node, const struct zs_slices &slices, bool isEach)
{
    struct zs_slices listed = slices, rest = slices;
    std::vector<std::string> labels;
    if (!isEach)
    {
        listed.dim_count = 1;
        listed.count = slices.sizes[0];
        rest.dim_count--;
        std::copy(slices.dims + 1, slices.dims + slices.dim_count, rest.dims);
        std::copy(slices.sizes + 1, slices.sizes + slices.dim_count, rest.sizes);
        labels = labelsOf(*store, node, slices);
    }
    auto container = std::make_unique<ShardedZarrContainer>(*store, nullptr);
    std::vector<uint64_t> position(static_cast<size_t>(listed.dim_count));
    const auto description = describe(node, isEach ? nullptr : &rest);
    const auto name = connection.SubdatasetName(node->path);
    for (uint64_t n = 0; n < std::min(listed.count, MOST_LISTED); n++)
    {
        std::string slice;
        zs_slice_position(&listed, n, position.data());
        for (const uint64_t index : position)
            slice += ":" + std::to_string(index);
        const auto label = n < labels.size() && !labels[n].empty()
                               ? ", " + zsDimensionName(node, slices.dims[0]) + " " + labels[n]
                               : std::string();
        container->Add(name + slice, node->path + slice + label + " - " + description);
    }
    container->Show(listed.count, name + (isEach ? ":i:j" : ":i"));
    return container;
}

/* Fails for a selection of more slices than a dataset has bands. */
static std::unique_ptr<GDALDataset> refuseSlices(const struct zs_node *node, const struct zs_slices &slices,
                                                 struct zs_error *err)
{
    std::string names;
    for (int i = 0; i < slices.dim_count; i++)
        names += (i > 0 ? ", " : "") + zsDimensionName(node, slices.dims[i]);
    zs_fail(err, ZS_ARGUMENT, "array /%s: expected a selection of at most %llu slices, found %s; select of %s, too",
            node->path, static_cast<unsigned long long>(ZS_MOST_BANDS),
            slices.count == UINT64_MAX ? "more than 1e19" : std::to_string(slices.count).c_str(), names.c_str());
    return nullptr;
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
/* Results of zs_rasters_find() below a group. */
struct Found
{
    std::unique_ptr<const struct zs_node *, decltype(&free)> nodes{nullptr, free};
    size_t count = 0, unreadable = 0; /* rasters, and behind them those that cannot be read */
    ZSRasterGroups groups;
};
} // namespace

/* Title of a group in a list, which QGIS gives to the layer. */
static std::string titleOf(const ZSConnection &connection, const struct zs_node *group)
{
    const std::string path = group->path, store = CPLGetBasename(connection.store.c_str());
    return !path.empty() ? path : !store.empty() ? store : "/";
}

/* Adds the arrays that are masks, behind all others. */
static void addMasks(const ZSStore &store, const ZSConnection &connection, const Found &found,
                     ShardedZarrContainer &container)
{
    std::vector<const struct zs_node *> masks;
    for (size_t i = 0; i < found.count; i++)
    {
        struct zs_error err;
        struct zs_axes axes;
        struct zs_mask mask;
        const struct zs_node *node = found.nodes.get()[i];
        if (zs_axes_find(store.hierarchy, node, nullptr, nullptr, &axes, &err) != ZS_OK ||
            zs_mask_find(store.hierarchy, node, axes, &mask, &err) != ZS_OK || mask.node == nullptr ||
            std::find(masks.begin(), masks.end(), mask.node) != masks.end())
            continue;
        masks.push_back(mask.node);
        container.Add(connection.SubdatasetName(mask.node->path),
                      std::string(mask.node->path) + " - " + describe(mask.node) + ", a mask");
    }
}

/* Lists each raster once: as a band of a group of one kind (these come first) or by itself, so that copying all
 * subdatasets copies nothing twice. `broken`: a group of which arrays cannot be read, or null. */
static std::unique_ptr<ShardedZarrContainer> listAll(const std::shared_ptr<ZSStore> &store,
                                                     const ZSConnection &connection, const struct zs_node *group,
                                                     const Found &found,
                                                     const struct zs_raster_group *broken = nullptr)
{
    auto container = std::make_unique<ShardedZarrContainer>(*store, group);
    std::set<const struct zs_node *> bands;
    for (const auto &g : found.groups)
    {
        if (!g.is_one_kind || g.bands > ZS_MOST_BANDS || &g == broken)
            continue;
        bands.insert(g.arrays, g.arrays + g.count);
        container->Add(connection.SubdatasetName(g.group->path),
                       titleOf(connection, g.group) + " - " + zsDescribeGroup(g));
    }
    for (size_t i = 0; i < found.count + found.unreadable; i++)
    {
        const struct zs_node *node = found.nodes.get()[i];
        if (bands.count(node) > 0)
            continue;
        container->Add(connection.SubdatasetName(node->path),
                       std::string(node->path) + " - " +
                           (i < found.count ? describe(node) : "cannot be read: " + whyUnreadable(node)));
    }
    addMasks(*store, connection, found, *container);
    container->Show(0, "");
    return container;
}

/* ---- Rasters ---- */

static std::unique_ptr<GDALDataset> openNode(const std::shared_ptr<ZSStore> &store, ZSConnection connection,
                                             const struct zs_node *node, const ZSOpenOptions &options,
                                             GDALAccess access, const char *name, struct zs_error *err)
{
    const auto opened = ZSArray::Open(*store, node, options, err);
    std::vector<struct zs_selection> selections;
    int shown = ZS_HEALPIX_SPHERE;
    if (opened == nullptr || !zsTakeFace(*opened, connection, shown, err) ||
        !zsSelect(*store, node, opened->axes, connection, selections, err))
        return nullptr;
    struct zs_slices slices;
    // Over() reports an error.
    const bool isFound = zs_slices_find(node->array->ndim, node->array->shape, opened->axes, selections.data(),
                                        selections.size(), &slices, err) == ZS_OK;
    const bool isEach = !options.multiband && node->array->ndim > 2;
    if (isFound && selections.empty() && (isEach || slices.count > ZS_MOST_BANDS))
        return listSlices(store, connection, node, slices, isEach);
    if (isFound && slices.count > ZS_MOST_BANDS)
        return refuseSlices(node, slices, err);
    const ZSBandSources sources(1, ZSBandSource{opened, selections, shown});
    auto ds = ShardedZarrDataset::Over(store, sources, nullptr, options, access, err);
    if (ds == nullptr)
        return nullptr;
    ds->AttachPam(name);
    return ds;
}

/* Warns of arrays of the grid that cannot be read: their bands are missing, and the others have other numbers. */
static void warnOfMissing(const struct zs_raster_group &group, const Found &found,
                          const std::vector<std::string> &missing)
{
    for (const auto &message : missing)
        CPLError(CE_Warning, CPLE_AppDefined, "/%s: a band is missing: %s", group.group->path, message.c_str());
    for (size_t i = found.count; i < found.count + found.unreadable; i++)
    {
        const struct zs_node *node = found.nodes.get()[i];
        if (zs_raster_group_misses(&group, node))
            CPLError(CE_Warning, CPLE_AppDefined, "/%s: a band is missing: %s", group.group->path,
                     node->array_error->message);
    }
}

/* `isAll`: whether the dataset shows all that the store has. */
static std::unique_ptr<GDALDataset> openGroup(const std::shared_ptr<ZSStore> &store, const ZSConnection &connection,
                                              const struct zs_node *group, const ZSOpenOptions &options,
                                              GDALAccess access, const char *name, bool &isAll, struct zs_error *err)
{
    const struct zs_node **rasters = nullptr;
    Found found;
    if (zs_rasters_find(store->hierarchy, group, &rasters, &found.count, &found.unreadable, err) != ZS_OK)
        return nullptr;
    found.nodes.reset(rasters);
    if (found.count == 1)
        return openNode(store, connection, rasters[0], options, access, name, err);
    if (options.multiband && !found.groups.Find(*store, rasters, found.count, options, err))
        return nullptr;
    const auto *first = found.groups.begin();
    isAll = found.groups.end() - first == 1 && first->count == found.count && found.unreadable == 0;
    const struct zs_raster_group *wanted = isAll && first->is_one_kind ? first
                                           : connection.has_array      ? found.groups.Of(group)
                                                                       : nullptr;
    if (wanted == nullptr || (wanted->bands > ZS_MOST_BANDS && !connection.Chooses()))
        return listAll(store, connection, group, found);
    std::vector<std::string> missing;
    auto ds = zsOpenRasterGroup(store, connection, *wanted, options, access, missing, err);
    if (!missing.empty() && !connection.has_array)
        return listAll(store, connection, group, found, wanted); // a user who names the group wants all of it
    if (ds == nullptr)
        return nullptr;
    ds->AttachPam(name);
    warnOfMissing(*wanted, found, missing);
    return ds;
}

std::unique_ptr<GDALDataset> zsRasterOpen(const std::shared_ptr<ZSStore> &store, const struct zs_node *node,
                                          const ZSConnection &connection, const ZSOpenOptions &options,
                                          GDALAccess access, const char *name, struct zs_error *err)
{
    bool isAll = true;
    auto dataset = node->type == ZS_NODE_GROUP ? openGroup(store, connection, node, options, access, name, isAll, err)
                                               : openNode(store, connection, node, options, access, name, err);
    auto *raster = dynamic_cast<ShardedZarrDataset *>(dataset.get()); // else a list of several
    if (raster != nullptr && connection.array.empty() && !connection.Chooses() && isAll)
        raster->LookBeside(store->store->root);
    return dataset;
}
