#include "container.h"

#include <algorithm>
#include <set>

#include "selection.h"
#include "gdal/guard.h"

/* A longer list helps nobody: each entry is two texts in a list that programs search from its begin, and print. What
 * is not listed opens by its name all the same. */
constexpr uint64_t MOST_LISTED = 10000;

ShardedZarrContainer::ShardedZarrContainer(const std::shared_ptr<ZSStore> &store, const struct zs_node *group)
    : m_store(store)
{
    nRasterXSize = 512; // what GDAL's other containers say
    nRasterYSize = 512;
    char **metadata = nullptr;
    struct zs_error err;
    if (group != nullptr && zs_group_metadata_read(group, &metadata, &err) == ZS_OK)
    {
        const ZSOwned<char *> freed(metadata, zs_metadata_free);
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
    VSIStatBufL st;
    files.AddString(document.c_str());
    if (!m_store->store->is_remote && VSIStatExL(sideCar.c_str(), &st, VSI_STAT_EXISTS_FLAG) == 0)
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

/* Says how many there are where not all are listed, and how the others are opened. */
static void tellOthers(ShardedZarrContainer &container, uint64_t all, const std::string &how)
{
    if (all <= MOST_LISTED)
        return;
    const std::string number = all == UINT64_MAX ? "more than 1e19" : std::to_string(all);
    container.SetMetadataItem(
        "SUBDATASETS_LISTED",
        ("the first " + std::to_string(MOST_LISTED) + " of " + number + "; the others open as " + how).c_str());
}

/* ---- Slices ---- */

std::unique_ptr<GDALDataset> zsListSlices(const std::shared_ptr<ZSStore> &store, const ZSConnection &connection,
                                          const struct zs_node *node, const struct zs_slices &slices)
{
    auto container = std::make_unique<ShardedZarrContainer>(store, nullptr);
    std::vector<uint64_t> position(static_cast<size_t>(slices.dim_count));
    const auto description = zsDescribe(*store, node, false);
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
/* One of the dimensions that become subdatasets: which parts of it are listed, and what they are called. */
struct PartedDimension
{
    int dim;
    std::string title;           /* its name */
    std::string key;             /* ":name=" */
    uint64_t first, size, step; /* indices, and how many of them a part has */
    uint64_t parts = 0, listed = 0;
    std::vector<std::string> labels; /* of the listed parts, or of both ends of each; "" where there is none */
    bool takesIndices = false;       /* without coordinates: a value is an index */
    std::string unit;

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

/* Times of whole hours are told without their minutes. */
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
    // What is there twice does not tell one from the other.
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

/* The dimensions that are to be fixed, slowest first, and how many parts they give in all. */
static std::vector<PartedDimension> partsOf(const struct zs_node *node, const struct zs_slices &slices, uint64_t &count)
{
    const auto fixed = static_cast<size_t>(zs_slices_to_fix(&slices, ZS_MOST_BANDS));
    std::vector<PartedDimension> parted(fixed);
    uint64_t rest = 1, most = 1;
    for (size_t i = fixed; i < static_cast<size_t>(slices.dim_count); i++)
        rest *= slices.sizes[i];
    count = 1;
    for (size_t i = 0; i < fixed; i++)
    {
        auto &d = parted[i];
        d.dim = slices.dims[i];
        d.title = zsDimensionName(node, d.dim);
        d.key = zsNamedChoice(node, d.dim);
        d.first = slices.first[d.dim];
        d.size = slices.sizes[i];
        d.step = 1;
        // Round numbers, of which each range is seen to follow the one before.
        while (i + 1 == fixed && d.size > MOST_LISTED / std::min(count, MOST_LISTED) &&
               d.step * 10 <= ZS_MOST_BANDS / rest && d.step < d.size)
            d.step *= 10;
        d.parts = d.size / d.step + (d.size % d.step > 0);
        count = d.parts > UINT64_MAX / count ? UINT64_MAX : count * d.parts;
    }
    // Of slow dimensions only the first parts are listed, where all parts of the fast ones are too many.
    for (size_t i = fixed; i-- > 0;)
    {
        auto &d = parted[i];
        d.listed = std::min(d.parts, (MOST_LISTED + most - 1) / most);
        most = std::min(MOST_LISTED, most * d.listed);
    }
    return parted;
}

/* The choices that were made already, by the names of their dimensions. */
static std::string chosenText(const struct zs_node *node, const struct zs_axes &axes, const ZSConnection &connection)
{
    std::string text;
    size_t k = 0;
    for (int d = 0; d < node->array->ndim && k < connection.indices.size(); d++)
    {
        if (d == axes.x || d == axes.y)
            continue;
        const std::string index = std::to_string(connection.indices[k++]);
        text += zsNamedChoice(node, d) + index + ".." + index;
    }
    for (const auto &choice : connection.named)
        text += ":" + zsEscapedWord(choice.first) + "=" + choice.second;
    return text;
}

std::unique_ptr<GDALDataset> zsListParts(const std::shared_ptr<ZSStore> &store, const ZSConnection &connection,
                                         const struct zs_node *node, const struct zs_slices &slices)
{
    uint64_t count = 1;
    auto parted = partsOf(node, slices, count);
    struct zs_slices whole = slices, rest = slices; // of most parts, and what is left of the slices in one
    const size_t fixed = parted.size();
    auto container = std::make_unique<ShardedZarrContainer>(store, nullptr);
    const std::string base = connection.SubdatasetName(node->path) + chosenText(node, slices.axes, connection);
    for (auto &d : parted)
        d.ReadLabels(*store, node);
    auto &last = parted.back();
    const bool isRange = last.step > 1;
    const size_t gone = isRange ? fixed - 1 : fixed;
    whole.dim_count = slices.dim_count - static_cast<int>(gone);
    std::copy(slices.dims + gone, slices.dims + slices.dim_count, whole.dims);
    std::copy(slices.sizes + gone, slices.sizes + slices.dim_count, whole.sizes);
    rest = whole;
    if (isRange)
    {
        whole.sizes[0] = last.step;
        rest.sizes[0] = last.LastOf(last.parts - 1) - last.FirstOf(last.parts - 1) + 1;
    }
    const std::string description = zsDescribe(*store, node, false, &whole),
                      ofLast = zsDescribe(*store, node, false, &rest);
    const std::string path = node->path[0] != '\0' ? std::string(node->path) + ", " : "";
    std::vector<uint64_t> at(fixed);
    for (uint64_t n = 0; n < std::min(count, MOST_LISTED); n++)
    {
        uint64_t left = n;
        for (size_t i = fixed; i-- > 0; left /= parted[i].parts)
            at[i] = left % parted[i].parts;
        std::string name = base, title = path;
        for (size_t i = 0; i < fixed; i++)
        {
            name += parted[i].Name(at[i]);
            title += (i > 0 ? ", " : "") + parted[i].Title(at[i]);
        }
        const bool isLast = isRange && at.back() + 1 == last.parts;
        container->Add(name, title + " - " + (isLast ? ofLast : description));
    }
    std::string how = base;
    for (const auto &d : parted)
        how += d.key + (d.step > 1 ? "FIRST..LAST" : "VALUE");
    tellOthers(*container, count, how);
    return container;
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

std::string zsDescribe(const ZSStore &store, const struct zs_node *node, bool times, const struct zs_slices *slices)
{
    const GDALDataType type = zsGDALType(node->array->dtype.type, node->array->dtype.size);
    const std::string typeName = type == GDT_Unknown ? node->array->dtype.name : GDALGetDataTypeName(type);
    std::string s = shapeText(node, slices);
    struct zs_meaning meaning;
    struct zs_error err;
    if (zs_meaning_read(node, &meaning, &err) == ZS_OK)
    {
        const ZSOwned<struct zs_meaning> cleared(&meaning, zs_meaning_clear);
        s += meaning.description != nullptr ? std::string(" ") + meaning.description : "";
        s += meaning.unit != nullptr ? std::string(" (") + meaning.unit + ")" : "";
    }
    return s + " (" + typeName + ")" + (times && !store.store->is_remote ? timesText(store, node) : "");
}
