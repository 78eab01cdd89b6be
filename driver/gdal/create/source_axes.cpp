#include "source_axes.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "gdal/raster/dataset.h"

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

void ZSSourceAxes::Clear()
{
    m_axes.clear();
    m_spent.clear();
}

/* ---- Dimensions in the metadata of bands ---- */

/* A dimension whose coordinate is that item of each band; its attributes are the dataset's. */
bool ZSSourceAxes::Take(GDALDataset &source, const std::string &name, const std::string &item)
{
    Axis axis;
    axis.source = name;
    axis.values = itemOfBands(source, item);
    const std::string prefix = name + "#";
    CSLConstList items = source.GetMetadata();
    for (int i = 0; i < CSLCount(items); i++)
    {
        if (STARTS_WITH(items[i], prefix.c_str()))
            axis.attributes.AddString(items[i] + prefix.size());
    }
    m_axes.push_back(axis);
    m_spent.push_back(item);
    return !axis.values.empty();
}

/* DIM_time_INDEX=0, DIM_time_VALUE=2024-05-01T00:00:00 */
bool ZSSourceAxes::ReadArray(GDALDataset &source)
{
    for (const auto &name : namesOfItems(source, "DIM_", "_INDEX"))
    {
        const std::string item = "DIM_" + name;
        const bool has_values = source.GetRasterBand(1)->GetMetadataItem((item + "_VALUE").c_str()) != nullptr;
        if (!Take(source, name, item + (has_values ? "_VALUE" : "_INDEX")))
            return false;
        Axis &axis = m_axes.back();
        axis.has_values = has_values;
        m_spent.insert(m_spent.end(), {item + "_INDEX", item + "_UNIT"});
        const char *unit = source.GetRasterBand(1)->GetMetadataItem((item + "_UNIT").c_str());
        if (unit != nullptr && zsItemValue(axis.attributes.List(), "units") == nullptr)
            zsSetItem(axis.attributes, "units", unit);
    }
    return !m_axes.empty();
}

/* Whether coordinates only number the bands. */
static bool isCounted(const std::string &source, const CPLStringList &attributes)
{
    return source == "band" && attributes.empty();
}

/* Reads the dimensions of an array; false when they only number the bands. */
bool ZSSourceAxes::ReadPositions(GDALDataset &source)
{
    return ReadArray(source) && !(m_axes.size() == 1 && isCounted(m_axes[0].source, m_axes[0].attributes));
}

/* Types of netCDF, by their numbers; "" is none of numbers. */
static const char *const NETCDF_TYPES[] = {"",        "int8",  "",       "int16",  "int32", "float32",
                                           "float64", "uint8", "uint16", "uint32", "int64", "uint64"};

int zsNetcdfType(enum zs_data_type type)
{
    const struct zs_dtype dtype = zs_dtype_of(type);
    for (int i = 0; i < static_cast<int>(CPL_ARRAYSIZE(NETCDF_TYPES)); i++)
    {
        if (strcmp(NETCDF_TYPES[i], dtype.name) == 0)
            return i;
    }
    return 0;
}

/* NETCDF_DIM_time=6, and of the dataset NETCDF_DIM_time_DEF={3,5}: size and type. */
bool ZSSourceAxes::ReadNetcdf(GDALDataset &source)
{
    for (const auto &name : namesOfItems(source, "NETCDF_DIM_", ""))
    {
        const std::string item = "NETCDF_DIM_" + name;
        if (!Take(source, name, item))
            return false;
        const char *definition = source.GetMetadataItem((item + "_DEF").c_str());
        const char *comma = definition != nullptr ? strchr(definition, ',') : nullptr;
        const int type = comma != nullptr ? atoi(comma + 1) : 0;
        if (type > 0 && type < static_cast<int>(CPL_ARRAYSIZE(NETCDF_TYPES)))
            zsSetItem(m_axes.back().attributes, ZS_AXIS_TYPE, NETCDF_TYPES[type]);
    }
    return !m_axes.empty();
}

/* "85000-ISBL" is 85000 of ISBL, described as `85000[Pa] ISBL="Isobaric surface"`. */
static std::string kindOfLevel(const std::string &level)
{
    const size_t dash = level.rfind('-');
    return dash != std::string::npos ? level.substr(dash + 1) : "";
}

static std::string between(const std::string &text, char open, char close)
{
    const size_t from = text.find(open), to = from != std::string::npos ? text.find(close, from + 1) : from;
    return to != std::string::npos ? text.substr(from + 1, to - from - 1) : "";
}

/* Fields of one element that differ in valid time alone, or in level alone. */
bool ZSSourceAxes::ReadGrib(GDALDataset &source)
{
    const auto times = itemOfBands(source, "GRIB_VALID_TIME"), levels = itemOfBands(source, "GRIB_SHORT_NAME");
    if (source.GetRasterCount() < 2 || times.empty() || levels.empty() || itemOfBands(source, "GRIB_ELEMENT").empty())
        return false;
    for (const char *item : {"GRIB_ELEMENT", "GRIB_UNIT", "GRIB_COMMENT", "GRIB_DISCIPLINE", "GRIB_PDS_PDTN"})
    {
        if (!isSame(itemOfBands(source, item)))
            return false;
    }
    if (isSame(levels))
    {
        Take(source, "time", "GRIB_VALID_TIME");
        Axis &axis = m_axes.back();
        for (auto &text : axis.values) // seconds, and in GDAL 3.6 " sec UTC" behind them
            text = std::to_string(std::strtoll(text.c_str(), nullptr, 10));
        for (const char *attribute :
             {"units=seconds since 1970-01-01", "calendar=proleptic_gregorian", "standard_name=time", "axis=T"})
            axis.attributes.AddString(attribute);
        return true;
    }
    std::vector<std::string> kinds;
    for (const auto &level : levels)
        kinds.push_back(kindOfLevel(level));
    if (!isSame(times) || !isSame(itemOfBands(source, "GRIB_REF_TIME")) || !isSame(kinds) || kinds[0].empty())
        return false;
    Take(source, CPLString(kinds[0]).tolower(), "GRIB_SHORT_NAME");
    Axis &axis = m_axes.back();
    for (auto &text : axis.values)
        text.resize(text.rfind('-'));
    const std::string description = source.GetRasterBand(1)->GetDescription(), unit = between(description, '[', ']'),
                      name = between(description, '"', '"');
    if (!unit.empty() && unit != "-")
        zsSetItem(axis.attributes, "units", unit.c_str());
    if (!name.empty())
        zsSetItem(axis.attributes, "long_name", name.c_str());
    return true;
}

/* ---- Whether it makes dimensions ---- */

/* The different ones, in the order in which they come. */
static std::vector<std::string> distinct(const std::vector<std::string> &texts)
{
    std::vector<std::string> found;
    std::set<std::string> seen;
    for (const auto &text : texts)
    {
        if (seen.insert(text).second)
            found.push_back(text);
    }
    return found;
}

/* From a value per band to a value per element. False when the bands are not the full product of the axes in this
 * order. */
bool ZSSourceAxes::Reduce(const std::vector<size_t> &order)
{
    const size_t bands = m_axes[0].values.size();
    size_t inner = bands;
    std::vector<Axis> reduced;
    for (const size_t i : order)
    {
        Axis axis = m_axes[i];
        axis.values = distinct(axis.values);
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

/* Puts the axes in order, slowest first: as the dataset states (`{time,level}`); else as the items come, which may have
 * been sorted; else by the band at which their values change first: one that never changes is the slowest. */
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
    auto byPosition = order, byChange = order;
    std::stable_sort(byPosition.begin(), byPosition.end(),
                     [&](size_t i, size_t k) { return position(i) < position(k); });
    std::stable_sort(byChange.begin(), byChange.end(), [&](size_t i, size_t k) { return change(i) > change(k); });
    return Reduce(byPosition) || Reduce(order) || Reduce(byChange);
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
        if (!axis.has_values || (isCounted(axis.source, axis.attributes) && axis.name != "band"))
            continue;
        std::vector<const char *> texts;
        for (auto &text : axis.values)
            texts.push_back((text = zsUtf8(text)).c_str());
        void *elements = nullptr;
        struct zs_error err;
        axis.attributes = zsUtf8List(axis.attributes.List());
        if (zs_extra_axis_parse(texts.data(), texts.size(), axis.attributes.List(), &axis.type, &elements, &err) !=
            ZS_OK) {
            CPLDebug("ShardedZarr", "%s is not a dimension: %s", axis.source.c_str(), err.message);
            return false;
        }
        axis.elements.reset(elements, free);
    }
    return true;
}

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
    // Where an array was comes first, for it has the exact types; but a copy that could not have a time has bands that
    // are counted, too.
    bool found = false;
    for (const auto read : {&ZSSourceAxes::ReadPositions, &ZSSourceAxes::ReadNetcdf, &ZSSourceAxes::ReadGrib,
                            &ZSSourceAxes::ReadArray})
    {
        if (!found)
        {
            Clear();
            found = source != nullptr && (this->*read)(*source) && MakeDimensions(*source, names);
        }
    }
    if (!found)
    {
        Clear();
        if (bands > 1)
            Count(bands, names);
    }
    for (auto &name : m_spent)
        name = zsUtf8(name);
    for (auto &axis : m_axes)
        axis.source = zsUtf8(axis.source);
    for (auto &axis : m_axes)
        m_specs.push_back(
            {axis.name.c_str(), axis.values.size(), axis.type, axis.elements.get(), axis.attributes.List()});
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
        const std::string item = items[i], name = zsItemName(items[i]);
        const auto begins = [&](const std::string &prefix) { return item.compare(0, prefix.size(), prefix) == 0; };
        if (std::none_of(prefixes.begin(), prefixes.end(), begins) &&
            std::find(names.begin(), names.end(), name) == names.end())
            kept.AddString(item.c_str());
    }
    return kept;
}

/* The description that this driver gives a band for its position: "time=2024-05-01T00:00:00, member=3". */
std::string ZSSourceAxes::PositionText(size_t band, size_t bands) const
{
    std::string position;
    size_t inner = bands;
    for (const auto &axis : m_axes)
    {
        inner /= axis.values.size();
        position += (position.empty() ? "" : ", ") + axis.source + "=" + axis.values[band / inner % axis.values.size()];
    }
    return position;
}

/* Removes the position from "temperature, time=2024-05-01T00:00:00"; a label alone is a position, too. */
static std::string withoutPosition(const char *description, const std::string &position, const char *label)
{
    std::string text = description != nullptr ? description : "";
    if ((!position.empty() && text == position) || (label != nullptr && text == label))
        return "";
    if (!position.empty() && zsEndsWith(text, (", " + position).c_str()))
        text.resize(text.size() - position.size() - 2);
    return text;
}

void ZSSourceAxes::Spend(CPLStringList &metadata, std::vector<struct zs_band_properties> &bands) const
{
    if (m_spent.empty())
        return;
    std::vector<std::string> prefixes, spent = m_spent;
    spent.insert(spent.end(), {"DIM_band_INDEX", "DIM_band_VALUE"}); // the source only numbers them
    for (const auto &axis : m_axes)
    {
        const std::string item = "DIM_" + axis.source;
        prefixes.insert(prefixes.end(), {axis.source + "#", "NETCDF_" + item + "_"});
        spent.insert(spent.end(), {item + "_INDEX", item + "_VALUE", item + "_UNIT", "NETCDF_" + item});
    }
    const std::string only = m_axes.size() == 1 ? "DIM_" + m_axes[0].source + "_VALUE" : "";
    metadata = without(metadata.List(), prefixes, {"NETCDF_DIM_EXTRA", ZS_EXTRA_DIMENSIONS});
    std::vector<std::string> descriptions;
    for (size_t b = 0; b < bands.size(); b++)
    {
        struct zs_band_properties &m = bands[b];
        const CPLStringList kept = without(m.metadata, {}, spent);
        const char *label = only.empty() ? nullptr : zsItemValue(m.metadata, only.c_str());
        descriptions.push_back(withoutPosition(m.description, PositionText(b, bands.size()), label));
        zs_names_free(m.metadata);
        m.metadata = zsCopyList(kept.List());
    }
    const bool isCommon = bands.size() > 1 && isSame(descriptions);
    if (isCommon && !descriptions[0].empty() && zsItemValue(metadata.List(), "long_name") == nullptr)
        zsSetItem(metadata, "long_name", descriptions[0].c_str());
    for (size_t b = 0; b < bands.size(); b++)
    {
        free(bands[b].description);
        bands[b].description = isCommon || descriptions[b].empty() ? nullptr : zs_strdup(descriptions[b].c_str());
    }
}
