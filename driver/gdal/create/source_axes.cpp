#include "copy.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "gdal/raster/dataset.h"

/* ---- Dimensions in the metadata of bands ---- */

/* Finds items of band 1 whose name begins and ends so; returns the names between. */
static std::vector<std::string> namesOfItems(GDALDataset &source, const std::string &prefix, const std::string &suffix)
{
    std::vector<std::string> names;
    CSLConstList items = source.GetRasterBand(1)->GetMetadata();
    for (int i = 0; i < CSLCount(items); i++)
    {
        const std::string key = zsItemName(items[i]);
        if (key.size() > prefix.size() + suffix.size() && key.compare(0, prefix.size(), prefix) == 0 &&
            zsEndsWith(key, suffix.c_str()))
            names.push_back(key.substr(prefix.size(), key.size() - prefix.size() - suffix.size()));
    }
    return names;
}

/* Texts of an item, one per band; none unless all bands have it. */
static std::vector<std::string> itemOfBands(GDALDataset &source, const std::string &name)
{
    std::vector<std::string> texts;
    for (int b = 1; b <= source.GetRasterCount(); b++)
    {
        const char *text = source.GetRasterBand(b)->GetMetadataItem(name.c_str());
        if (text == nullptr)
            return {};
        texts.push_back(text);
    }
    return texts;
}

static bool isSame(const std::vector<std::string> &texts)
{
    return std::adjacent_find(texts.begin(), texts.end(), std::not_equal_to<>()) == texts.end();
}

/* Types of netCDF, by their numbers; "" is none of numbers. */
static const std::vector<std::string> NETCDF_TYPES = {"",        "int8",  "",       "int16",  "int32", "float32",
                                                      "float64", "uint8", "uint16", "uint32", "int64", "uint64"};

int zsNetcdfType(enum zs_data_type type)
{
    const auto found = std::find(NETCDF_TYPES.begin(), NETCDF_TYPES.end(), zs_dtype_of(type).name);
    return found != NETCDF_TYPES.end() ? static_cast<int>(found - NETCDF_TYPES.begin()) : 0;
}

/* Adds a dimension for each item DIM_time_INDEX=0, with DIM_time_VALUE=2024-05-01T00:00:00 and DIM_time_UNIT; of netCDF
 * for each NETCDF_DIM_time=6, with NETCDF_DIM_time_DEF={3,5} of the dataset: size and type. Attributes are the
 * dataset's. False where not all bands have them, or there are none. */
bool ZSSourceAxes::Read(GDALDataset &source, bool isNetcdf)
{
    GDALRasterBand &first = *source.GetRasterBand(1);
    const std::string prefix = isNetcdf ? "NETCDF_DIM_" : "DIM_", suffix = isNetcdf ? "" : "_INDEX";
    for (const auto &name : namesOfItems(source, prefix, suffix))
    {
        Axis axis;
        const std::string item = prefix + name, value = item + (isNetcdf ? "" : "_VALUE"), variable = name + "#";
        axis.source = name;
        axis.has_values = first.GetMetadataItem(value.c_str()) != nullptr;
        axis.values = itemOfBands(source, axis.has_values ? value : item + suffix);
        if (axis.values.empty())
            return false;
        CSLConstList items = source.GetMetadata();
        for (int i = 0; i < CSLCount(items); i++)
        {
            if (STARTS_WITH(items[i], variable.c_str()))
                axis.attributes.AddString(items[i] + variable.size());
        }
        const char *unit = first.GetMetadataItem((item + "_UNIT").c_str());
        if (unit != nullptr && zsItemValue(axis.attributes.List(), "units") == nullptr)
            zsSetItem(axis.attributes, "units", unit);
        const char *definition = source.GetMetadataItem((item + "_DEF").c_str());
        const char *comma = definition != nullptr ? strchr(definition, ',') : nullptr;
        const size_t type = comma != nullptr ? static_cast<size_t>(std::max(0, atoi(comma + 1))) : 0;
        if (type > 0 && type < NETCDF_TYPES.size())
            zsSetItem(axis.attributes, ZS_AXIS_TYPE, NETCDF_TYPES[type].c_str());
        m_axes.push_back(axis);
    }
    return !m_axes.empty();
}

/* ---- Whether it makes dimensions ---- */

/* From a value per band to a value per element. False when the bands are not the full product of the axes in this
 * order: slowest first, as {time: a a b b, level: 1 2 1 2}. */
bool ZSSourceAxes::Reduce(const std::vector<size_t> &order)
{
    const size_t bands = m_axes[0].values.size();
    size_t inner = bands;
    std::vector<Axis> reduced;
    for (const size_t i : order)
    {
        Axis axis = m_axes[i];
        axis.values.clear();
        std::set<std::string> seen;
        for (const auto &text : m_axes[i].values)
        {
            if (seen.insert(text).second)
                axis.values.push_back(text);
        }
        const size_t size = axis.values.size();
        if (inner % size != 0)
            return false;
        inner /= size;
        for (size_t b = 0; b < bands; b++)
        {
            if (m_axes[i].values[b] != axis.values[b / inner % size])
                return false;
        }
        reduced.push_back(std::move(axis));
    }
    if (inner == 1)
        m_axes = std::move(reduced);
    return inner == 1;
}

/* Puts the axes in order, slowest first: as the dataset states (`{time,level}`), or the items come; else by the band at
 * which their values change first: one that never changes is the slowest. */
bool ZSSourceAxes::Arrange(GDALDataset &source)
{
    std::vector<size_t> order(m_axes.size());
    std::iota(order.begin(), order.end(), 0);
    const char *stated = source.GetMetadataItem("NETCDF_DIM_EXTRA");
    stated = stated != nullptr ? stated : source.GetMetadataItem(ZS_EXTRA_DIMENSIONS);
    const CPLStringList names(CSLTokenizeString2(stated != nullptr ? stated : "", "{},", 0));
    const auto position = [&](size_t i) { return names.FindString(m_axes[i].source.c_str()); };
    const auto change = [&](size_t i)
    {
        const auto &v = m_axes[i].values;
        return std::find_if(v.begin(), v.end(), [&](const std::string &text) { return text != v[0]; }) - v.begin();
    };
    auto byChange = order;
    std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t k) { return position(i) < position(k); });
    std::stable_sort(byChange.begin(), byChange.end(), [&](size_t i, size_t k) { return change(i) > change(k); });
    return Reduce(order) || Reduce(byChange);
}

/* Names the dimensions and makes their coordinates. False when that is not possible. */
bool ZSSourceAxes::MakeDimensions(GDALDataset &source, const std::vector<std::string> &names)
{
    std::set<std::string> used = {"x", "y"};
    const bool isRenamed = names.size() == m_axes.size() + 2;
    if (m_axes.size() > ZS_MAX_NDIM - 2 || !Arrange(source))
        return false;
    for (size_t i = 0; i < m_axes.size(); i++)
    {
        Axis &axis = m_axes[i];
        axis.name = isRenamed ? names[i] : zsUtf8(axis.source);
        if (!isRenamed && (!zsIsArrayName(axis.name) || !used.insert(axis.name).second))
            return false;
        const bool isCounted = axis.source == "band" && axis.attributes.empty(); // coordinates only number the bands
        if (!axis.has_values || (isCounted && axis.name != "band"))
            continue;
        std::vector<const char *> texts;
        for (auto &text : axis.values)
            texts.push_back((text = zsUtf8(text)).c_str());
        void *elements = nullptr;
        struct zs_error err;
        axis.attributes = zsUtf8List(axis.attributes.List());
        if (zs_extra_axis_parse(texts.data(), texts.size(), axis.attributes.List(), &axis.type, &elements, &err) !=
            ZS_OK)
        {
            CPLDebug("ShardedZarr", "%s is not a dimension: %s", axis.source.c_str(), err.message);
            return false;
        }
        axis.elements.reset(elements, free);
    }
    return true;
}

/* Counts the bands. */
void ZSSourceAxes::Count(int bands, const std::vector<std::string> &names)
{
    Axis axis;
    axis.name = names.size() == 3 ? names[0] : "band";
    axis.values.resize(static_cast<size_t>(bands));
    if (axis.name == "band")
    {
        const auto numbers = std::make_shared<std::vector<int64_t>>(static_cast<size_t>(bands));
        std::iota(numbers->begin(), numbers->end(), 1);
        axis.elements = std::shared_ptr<void>(numbers, numbers->data());
    }
    m_axes.push_back(axis);
}

void ZSSourceAxes::Find(GDALDataset *source, int bands, const std::vector<std::string> &names)
{
    // Where an array was comes first, for it has the exact types.
    for (const bool isNetcdf : {false, true})
    {
        if (source != nullptr && m_axes.empty() && !(Read(*source, isNetcdf) && MakeDimensions(*source, names)))
            m_axes.clear();
    }
    if (m_axes.empty() && bands > 1)
        Count(bands, names);
    for (auto &axis : m_axes)
    {
        axis.source = zsUtf8(axis.source);
        m_specs.push_back(
            {axis.name.c_str(), axis.values.size(), axis.type, axis.elements.get(), axis.attributes.List()});
    }
}

void ZSSourceAxes::Apply(struct zs_raster_spec &spec) const
{
    spec.axes = m_specs.data();
    spec.axis_count = static_cast<int>(m_specs.size());
}

bool ZSSourceAxes::HasName(const std::string &name) const
{
    return std::any_of(m_axes.begin(), m_axes.end(), [&](const Axis &axis) { return axis.name == name; });
}

void ZSSourceAxes::Rename(const std::vector<std::string> &names)
{
    for (size_t i = 0; i < m_axes.size(); i++)
    {
        m_axes[i].name = names[i];
        m_specs[i].name = m_axes[i].name.c_str();
    }
}

/* ---- Removing items that dimensions hold ---- */

/* The items whose names do not begin with one of these, or are not one of them. */
static CPLStringList without(CSLConstList items, const std::vector<std::string> &prefixes,
                             const std::vector<std::string> &names)
{
    CPLStringList kept;
    for (int i = 0; i < CSLCount(items); i++)
    {
        const auto begins = [&](const std::string &prefix) { return STARTS_WITH(items[i], prefix.c_str()); };
        if (std::none_of(prefixes.begin(), prefixes.end(), begins) &&
            std::find(names.begin(), names.end(), zsItemName(items[i])) == names.end())
            kept.AddString(items[i]);
    }
    return kept;
}

/* What a band's description, "temperature, time=2024-05-01T00:00:00, member=3", says beside the position that this
 * driver gave it; a label alone is a position, too. */
std::string ZSSourceAxes::WithoutPosition(const char *description, size_t band, size_t bands, const char *label) const
{
    std::string position, text = description != nullptr ? description : "";
    size_t inner = bands;
    for (const auto &axis : m_axes)
    {
        inner /= axis.values.size();
        position += (position.empty() ? "" : ", ") + axis.source + "=" + axis.values[band / inner % axis.values.size()];
    }
    if (text == position || (label != nullptr && text == label))
        return "";
    if (zsEndsWith(text, ", " + position))
        text.resize(text.size() - position.size() - 2);
    return text;
}

void ZSSourceAxes::Spend(CPLStringList &metadata, std::vector<ZSProperties> &bands) const
{
    if (m_axes.empty() || m_axes[0].source.empty()) // they are counted
        return;
    // A source's `band` only numbers them.
    std::vector<std::string> prefixes, descriptions, spent = {"DIM_band_INDEX", "DIM_band_VALUE"};
    for (const auto &axis : m_axes)
    {
        const std::string item = "DIM_" + axis.source;
        prefixes.insert(prefixes.end(), {axis.source + "#", "NETCDF_" + item + "_"});
        spent.insert(spent.end(), {item + "_INDEX", item + "_VALUE", item + "_UNIT", "NETCDF_" + item});
    }
    metadata = without(metadata.List(), prefixes, {"NETCDF_DIM_EXTRA", ZS_EXTRA_DIMENSIONS});
    const std::string only = m_axes.size() == 1 ? "DIM_" + m_axes[0].source + "_VALUE" : "";
    for (size_t b = 0; b < bands.size(); b++)
    {
        ZSProperties &m = bands[b];
        const CPLStringList kept = without(m.metadata, {}, spent);
        const char *label = only.empty() ? nullptr : zsItemValue(m.metadata, only.c_str());
        descriptions.push_back(WithoutPosition(zs_band_text(&m, "description"), b, bands.size(), label));
        m.SetItems(kept.List());
    }
    const bool isCommon = bands.size() > 1 && isSame(descriptions);
    if (isCommon && !descriptions[0].empty() && zsItemValue(metadata.List(), "long_name") == nullptr)
        zsSetItem(metadata, "long_name", descriptions[0].c_str());
    for (size_t b = 0; b < bands.size(); b++)
        bands[b].SetText("description", isCommon ? nullptr : descriptions[b].c_str());
}
