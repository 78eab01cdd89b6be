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
    std::shared_ptr<ZSStore> m_store;

  public:
    /* With the metadata of `group`, if it is not null. */
    ShardedZarrContainer(const std::shared_ptr<ZSStore> &store, const struct zs_node *group);
    void Add(const std::string &name, const std::string &description);
    char **GetFileList() override;
    char **GetMetadataDomainList() override;
    ZSMetadata GetMetadata(const char *domain = "") override;

  protected:
    CPLErr IBuildOverviews(const char *, int, const int *, int, const int *, GDALProgressFunc, void *,
                           CSLConstList) override;
};
} // namespace

ShardedZarrContainer::ShardedZarrContainer(const std::shared_ptr<ZSStore> &store, const struct zs_node *group)
    : m_store(store)
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

char **ShardedZarrContainer::GetFileList()
{
    if (m_store->store->is_snapshot)
        return nullptr; // as of a ShardedZarrDataset
    const std::string document = m_store->Entry(), sideCar = document + ".aux.xml";
    CPLStringList files;
    files.AddString(document.c_str());
    if (!m_store->store->is_remote && zsExists(sideCar))
        files.AddString(sideCar.c_str());
    return files.StealList();
}

char **ShardedZarrContainer::GetMetadataDomainList()
{
    return BuildMetadataDomainList(GDALDataset::GetMetadataDomainList(), TRUE, "SUBDATASETS", nullptr);
}

ZSMetadata ShardedZarrContainer::GetMetadata(const char *domain)
{
    if (domain != nullptr && EQUAL(domain, "SUBDATASETS"))
        return m_subdatasets.List();
    return GDALDataset::GetMetadata(domain);
}

CPLErr ShardedZarrContainer::IBuildOverviews(const char *, int, const int *, int, const int *, GDALProgressFunc, void *,
                                             CSLConstList)
{
    constexpr int MOST = 10;
    std::string names;
    for (int i = 0; i < m_subdatasets.size() && i < 2 * MOST; i += 2)
        names += (i > 0 ? ", " : "") + std::string(CPLParseNameValue(m_subdatasets[i], nullptr));
    return zsRefuse(CPLE_NotSupported, "%s: expected one raster, found several: %s%s",
                    zsShown(GetDescription()).c_str(), names.c_str(), m_subdatasets.size() > 2 * MOST ? " ..." : "");
}

/* Where a list is cut, adds how many entries there are and how the others are opened. */
static void tellOthers(ShardedZarrContainer &container, uint64_t all, const std::string &how)
{
    if (all <= MOST_LISTED)
        return;
    const std::string number = all == UINT64_MAX ? "more than 1e19" : std::to_string(all);
    container.SetMetadataItem(
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

/* The label of one element of a dimension that is a time, a whole day without the hour; "" for what is none, or cannot
 * be read. */
static std::string timeAt(const ZSStore &store, const struct zs_node *node, int dim, uint64_t at)
{
    static const char MIDNIGHT[] = "T00:00:00";
    struct zs_labels labels = {};
    struct zs_error ignored;
    if (zs_labels_read(store.hierarchy, node, dim, at, 1, &labels, &ignored) != ZS_OK)
        return "";
    const ZSOwned<struct zs_labels> cleared(&labels, zs_labels_clear);
    std::string text = labels.values != nullptr ? labels.values[0] : "";
    if (!zsIsTime(text))
        return "";
    if (zsEndsWith(text, MIDNIGHT))
        text.resize(text.size() - strlen(MIDNIGHT));
    return text;
}

/* ", time 2026-05-01..2026-05-30" of each dimension that is a time. */
static std::string timesText(const ZSStore &store, const struct zs_node *node)
{
    std::string s;
    struct zs_axes axes;
    struct zs_error ignored;
    if (zs_axes_find(store.hierarchy, node, nullptr, nullptr, &axes, &ignored) != ZS_OK)
        return s;
    for (int d = 0; d < node->array->ndim; d++)
    {
        const uint64_t n = node->array->shape[d];
        const char *name = zs_dimension_name(node, d);
        const std::string first =
            d != axes.x && d != axes.y && n > 0 && name != nullptr ? timeAt(store, node, d, 0) : "";
        const std::string last = !first.empty() && n > 1 ? timeAt(store, node, d, n - 1) : "";
        if (!first.empty())
            s += std::string(", ") + name + " " + first + (last.empty() ? "" : ".." + last);
    }
    return s;
}

/* "[720x600x600] 2 metre temperature (K) (Float32), time 2026-05-01..2026-05-30", as far as it is known. With `times`
 * the coordinates of the extra dimensions are looked at. With `slices`, the shape is that of these: of each dimension
 * in which they differ, and of the raster. In a list it follows the name and " - ": QGIS calls a layer by what is
 * before that. */
static std::string describe(const ZSStore &store, const struct zs_node *node, bool times,
                            const struct zs_slices *slices = nullptr)
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
    return s + " (" + typeName + ")" + (times && !store.store->is_remote ? timesText(store, node) : "");
}

/* ---- Slices ---- */

/* MULTIBAND=NO: each slice of an array of more than two dimensions is a subdataset, named by its indices. */
static std::unique_ptr<GDALDataset> listSlices(const std::shared_ptr<ZSStore> &store, const ZSConnection &connection,
                                               const struct zs_node *node, const struct zs_slices &slices)
{
    auto container = std::make_unique<ShardedZarrContainer>(store, nullptr);
    std::vector<uint64_t> position(static_cast<size_t>(slices.dim_count));
    const auto description = describe(*store, node, false);
    const auto name = connection.SubdatasetName(node->path);
    std::string slice;
    for (uint64_t n = 0; n < std::min(slices.count, MOST_LISTED); n++)
    {
        slice.clear();
        zs_slice_position(&slices, n, position.data());
        for (const uint64_t index : position)
            slice += ":" + std::to_string(index);
        container->Add(name + slice, node->path + slice + " - " + description);
    }
    tellOthers(*container, slices.count, name + ":i:j");
    return container;
}

/* ---- Parts ---- */

namespace
{
/* A dimension that becomes subdatasets: which indices or ranges of it they are, and their names. */
struct PartedDimension
{
    int dim;
    std::string title;          /* its name */
    std::string key;            /* ":name=" */
    uint64_t first, size, step; /* indices, and how many of them a part has */
    uint64_t parts = 0, listed = 0;
    std::vector<std::string> labels; /* of the listed parts, or of both ends of each; "" where there is none */
    bool takesIndices = false;       /* without coordinates: a value is an index */
    std::string unit;

    PartedDimension(const struct zs_node *node, const struct zs_slices &slices);
    uint64_t FirstOf(uint64_t part) const
    {
        return first + part * step;
    }
    uint64_t LastOf(uint64_t part) const
    {
        return first + std::min((part + 1) * step, size) - 1;
    }
    void ReadLabels(const ZSStore &store, const struct zs_node *node);
    std::string Name(uint64_t part) const;
    std::string Title(uint64_t part) const;
};
} // namespace

/* The slowest dimension. Of many indices that leave few slices each, ranges of round lengths are listed. */
PartedDimension::PartedDimension(const struct zs_node *node, const struct zs_slices &slices)
    : dim(slices.dims[0]), title(zsDimensionName(node, dim)), key(zsNamedSelection(node, dim)),
      first(slices.first[dim]), size(slices.sizes[0]), step(1)
{
    uint64_t rest = 1;
    for (int i = 1; i < slices.dim_count; i++)
        rest = slices.sizes[i] > UINT64_MAX / rest ? UINT64_MAX : rest * slices.sizes[i];
    while (size > MOST_LISTED && step * 10 <= ZS_MOST_BANDS / rest && step < size)
        step *= 10;
    parts = size / step + (size % step > 0);
    listed = std::min(parts, MOST_LISTED);
}

/* Prints times of whole hours without minutes. */
static void shorten(std::vector<std::string> &labels)
{
    static const char MINUTES[] = ":00:00";
    const auto isWhole = [](const std::string &label)
    { return label.empty() || (label.find('T') != std::string::npos && zsEndsWith(label, MINUTES)); };
    if (!std::all_of(labels.begin(), labels.end(), isWhole))
        return;
    for (auto &label : labels)
        label.resize(label.size() - (label.empty() ? 0 : strlen(MINUTES)));
}

void PartedDimension::ReadLabels(const ZSStore &store, const struct zs_node *node)
{
    std::vector<uint64_t> at;
    for (uint64_t part = 0; part < listed; part++)
    {
        at.push_back(FirstOf(part));
        if (step > 1 && LastOf(part) != at.back())
            at.push_back(LastOf(part));
    }
    struct zs_labels read = {};
    struct zs_error err;
    if (zs_labels_pick(store.hierarchy, node, dim, at.data(), at.size(), &read, &err) != ZS_OK)
    {
        CPLDebug("ShardedZarr", "%s", err.message); // indices serve as well
        return;
    }
    const ZSOwned<struct zs_labels> cleared(&read, zs_labels_clear);
    takesIndices = !read.is_unreadable && read.values == nullptr;
    if (read.values == nullptr)
        return;
    labels.assign(read.values, read.values + read.count);
    unit = read.unit != nullptr ? std::string(" ") + read.unit : "";
    shorten(labels);
    // An end for each, though the last range may be of one element.
    if (step > 1 && labels.size() < 2 * listed)
        labels.push_back(labels.back());
    // Values that occur twice do not identify an index.
    if (step == 1 && std::set<std::string>(labels.begin(), labels.end()).size() < labels.size())
        labels.clear();
}

std::string PartedDimension::Name(uint64_t part) const
{
    const std::string from = std::to_string(FirstOf(part)), to = std::to_string(LastOf(part));
    if (step == 1 && !labels.empty() && !labels[part].empty())
        return key + zsEscapedWord(labels[part]);
    return key + (step == 1 && takesIndices ? from : from + ".." + to);
}

std::string PartedDimension::Title(uint64_t part) const
{
    const auto text = [this](size_t i, uint64_t index)
    { return i < labels.size() && !labels[i].empty() ? labels[i] : std::to_string(index); };
    if (step == 1)
        return title + " " + text(part, FirstOf(part)) + unit;
    return title + " " + text(2 * part, FirstOf(part)) + ".." + text(2 * part + 1, LastOf(part)) + unit;
}

/* The selections that were made already, by the names of their dimensions. */
static std::string chosenText(const struct zs_node *node, const struct zs_axes &axes, const ZSConnection &connection)
{
    std::string text;
    size_t k = 0;
    for (int d = 0; d < node->array->ndim && k < connection.indices.size(); d++)
    {
        if (d == axes.x || d == axes.y)
            continue;
        const std::string index = std::to_string(connection.indices[k++]);
        text += zsNamedSelection(node, d) + index + ".." + index;
    }
    for (const auto &selection : connection.named)
        text += ":" + zsEscapedWord(selection.first) + "=" + selection.second;
    return text;
}

/* For an array of more slices than a dataset has bands: its slowest dimension becomes subdatasets. Each of these opens
 * as such a list again where the rest is too many. */
static std::unique_ptr<GDALDataset> listParts(const std::shared_ptr<ZSStore> &store, const ZSConnection &connection,
                                              const struct zs_node *node, const struct zs_slices &slices)
{
    PartedDimension parted(node, slices);
    const int gone = parted.step > 1 ? 0 : 1;
    struct zs_slices part = slices;
    part.dim_count -= gone;
    std::copy(slices.dims + gone, slices.dims + slices.dim_count, part.dims);
    std::copy(slices.sizes + gone, slices.sizes + slices.dim_count, part.sizes);
    auto container = std::make_unique<ShardedZarrContainer>(store, nullptr);
    const std::string base = connection.SubdatasetName(node->path) + chosenText(node, slices.axes, connection);
    const std::string path = node->path[0] != '\0' ? std::string(node->path) + ", " : "";
    std::string description;
    parted.ReadLabels(*store, node);
    for (uint64_t n = 0; n < parted.listed; n++)
    {
        if (parted.step > 1)
            part.sizes[0] = parted.LastOf(n) - parted.FirstOf(n) + 1;
        if (n == 0 || n + 1 == parted.parts) // the last one may be shorter
            description = describe(*store, node, false, &part);
        container->Add(base + parted.Name(n), path + parted.Title(n) + " - " + description);
    }
    tellOthers(*container, parted.parts, base + parted.key + (parted.step > 1 ? "FIRST..LAST" : "VALUE"));
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
/* Results of zs_rasters_find() below a group. */
struct Found
{
    std::unique_ptr<const struct zs_node *, decltype(&free)> nodes{nullptr, free};
    size_t count = 0, unreadable = 0; /* rasters, and behind them those that cannot be read */
    ZSRasterGroups groups;
};
} // namespace

/* Lists of more arrays show no times: each costs a request for a coordinate variable. */
constexpr size_t MOST_TIMES = 64;

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
                      std::string(mask.node->path) + " - " + describe(store, mask.node, false) + ", a mask");
    }
}

/* Lists each raster once: as a band of a group of one kind (these come first) or by itself, so that copying all
 * subdatasets copies nothing twice. `broken`: a group of which arrays cannot be read, or null. */
static std::unique_ptr<ShardedZarrContainer> listAll(const std::shared_ptr<ZSStore> &store,
                                                     const ZSConnection &connection, const struct zs_node *group,
                                                     const Found &found,
                                                     const struct zs_raster_group *broken = nullptr)
{
    auto container = std::make_unique<ShardedZarrContainer>(store, group);
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
                           (i < found.count ? describe(*store, node, found.count <= MOST_TIMES)
                                            : "cannot be read: " + whyUnreadable(node)));
    }
    addMasks(*store, connection, found, *container);
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
    if (isFound && !options.multiband && selections.empty() && node->array->ndim > 2)
        return listSlices(store, connection, node, slices);
    if (isFound && slices.count > ZS_MOST_BANDS)
        return listParts(store, connection, node, slices);
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
