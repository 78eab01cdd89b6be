/* A band as GDAL sees it: pixels, where there are any, metadata, attribute table. Properties: band_properties.cpp. */
#include <algorithm>
#include <climits>
#include <memory>
#include <vector>

#include "dataset.h"
#include "gdal/guard.h"

extern "C"
{
#include "geo/bands.h"
#include "geo/flags.h"
#include "raster/pixels.h"
}

ShardedZarrRasterBand::ShardedZarrRasterBand(ShardedZarrDataset *dataset, int band, GDALDataType type, int blockWidth,
                                             int blockHeight)
{
    poDS = dataset;
    nBand = band;
    eAccess = dataset->GetAccess();
    eDataType = type;
    nBlockXSize = blockWidth;
    nBlockYSize = blockHeight;
}

ShardedZarrDataset &ShardedZarrRasterBand::Dataset() const
{
    return *static_cast<ShardedZarrDataset *>(poDS);
}

ZSView &ShardedZarrRasterBand::View() const
{
    return Dataset().m_view;
}

/* ---- Pixels ---- */

struct zs_band_window ShardedZarrRasterBand::BlockWindow(int column, int row, void *data) const
{
    const int x = column * nBlockXSize, y = row * nBlockYSize, size = GDALGetDataTypeSizeBytes(eDataType);
    return zsBandWindow(x, y, std::min(nBlockXSize, nRasterXSize - x), std::min(nBlockYSize, nRasterYSize - y), data,
                        &nBand, 1, size, static_cast<GSpacing>(size) * nBlockXSize, 0);
}

CPLErr ShardedZarrRasterBand::IReadBlock(int column, int row, void *data)
{
    return zsGuard([&] { return Dataset().ReadWindow(BlockWindow(column, row, data), eDataType); });
}

CPLErr ShardedZarrRasterBand::IWriteBlock(int column, int row, void *data)
{
    return zsGuard([&] { return Dataset().WriteWindow(BlockWindow(column, row, data), eDataType); });
}

CPLErr ShardedZarrRasterBand::EmptyBlockCache()
{
    return eAccess == GA_Update ? GDALRasterBand::FlushCache(false) : CE_None;
}

CPLErr ShardedZarrRasterBand::IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth,
                                        int bufHeight, GDALDataType type, GSpacing pixelSpace, GSpacing lineSpace,
                                        GDALRasterIOExtraArg *extra)
{
    const auto window = zsBandWindow(x, y, width, height, data, &nBand, 1, pixelSpace, lineSpace, 0);
    return zsGuard(
        [&]
        {
            CPLErr result = CE_None;
            int isOfLevel = FALSE;
            if (flag == GF_Read && (bufWidth < width || bufHeight < height))
                result = TryOverviewRasterIO(flag, x, y, width, height, data, bufWidth, bufHeight, type, pixelSpace,
                                             lineSpace, extra, &isOfLevel);
            if (isOfLevel || Dataset().MoveWindow(flag, window, bufWidth, bufHeight, type, extra, result))
                return result;
            return GDALPamRasterBand::IRasterIO(flag, x, y, width, height, data, bufWidth, bufHeight, type, pixelSpace,
                                                lineSpace, extra);
        });
}

/* ---- Overviews ---- */

int ShardedZarrRasterBand::GetOverviewCount()
{
    return zsGuard([&] {
        auto &ds = Dataset();
        const int count = ds.AreOverviewsEnabled() ? ds.CountLevels() : 0; // OVERVIEW_LEVEL=NONE
        return count > 0 ? count : GDALPamRasterBand::GetOverviewCount();
    });
}

GDALRasterBand *ShardedZarrRasterBand::GetOverview(int i)
{
    return zsGuard([&] {
        auto &ds = Dataset();
        return ds.CountLevels() > 0 ? ds.GetLevel(nBand, i) : GDALPamRasterBand::GetOverview(i);
    });
}

/* ---- Where there are pixels: gdalwarp, VRTs and copies leave out what is empty ---- */

bool ShardedZarrRasterBand::HasNodataBeside()
{
    int has = FALSE;
    GDALPamRasterBand::GetNoDataValue(&has);
    return has != FALSE;
}

bool ShardedZarrRasterBand::FillIsEmpty()
{
    const struct zs_array_info info = View().Info(Source());
    if (Dataset().m_isMask)
        return !zs_validity_of(&Dataset().m_validity,
                               zsElementToDouble(info.data_type, info.item_size, info.fill_value));
    const auto &m = Properties();
    const std::vector<unsigned char> zero(info.item_size);
    const void *empty = m.has_nodata ? static_cast<const void *>(m.nodata) : zero.data();
    return (m.has_nodata || !HasNodataBeside()) && memcmp(info.fill_value, empty, info.item_size) == 0;
}

/* Looks up boxes of one block, or of as many blocks as makes them not too many: each costs microseconds once the
 * indexes are cached. */
int ShardedZarrRasterBand::IGetDataCoverageStatus(int x, int y, int width, int height, int, double *percent)
{
    constexpr int unknown = GDAL_DATA_COVERAGE_STATUS_UNIMPLEMENTED | GDAL_DATA_COVERAGE_STATUS_DATA;
    const int found = zsGuard([&] {
        constexpr uint64_t MOST_BOXES = 4096;
        if (percent != nullptr)
            *percent = 100;
        struct zs_error reason;
        if (!FillIsEmpty() || EmptyBlockCache() != CE_None || Dataset().PrepareCells(&reason) != ZS_OK)
            return unknown; // reading reports the error
        const auto left = static_cast<uint64_t>(x), top = static_cast<uint64_t>(y);
        const uint64_t right = left + static_cast<uint64_t>(width), bottom = top + static_cast<uint64_t>(height);
        auto columns = static_cast<uint64_t>(nBlockXSize), rows = static_cast<uint64_t>(nBlockYSize);
        while (((right - left) / columns + 2) * ((bottom - top) / rows + 2) > MOST_BOXES)
        {
            columns *= 2;
            rows *= 2;
        }
        std::vector<struct zs_pixel_box> boxes;
        for (uint64_t from = top, to; from < bottom; from = to)
        {
            to = std::min((from / rows + 1) * rows, bottom);
            for (uint64_t begin = left, end; begin < right; begin = end)
            {
                end = std::min((begin / columns + 1) * columns, right);
                boxes.push_back({begin, from, end - begin, to - from});
            }
        }
        const struct zs_bands bands = View().Bands();
        const std::unique_ptr<bool[]> isStored(new bool[boxes.size()]);
        if (zs_pixels_find_stored(&bands, nBand, boxes.data(), boxes.size(), isStored.get(), &reason) != ZS_OK)
            return unknown; // reading reports the error
        int status = 0;
        double pixels = 0;
        for (size_t i = 0; i < boxes.size(); i++)
        {
            status |= isStored[i] ? GDAL_DATA_COVERAGE_STATUS_DATA : GDAL_DATA_COVERAGE_STATUS_EMPTY;
            pixels += isStored[i] ? static_cast<double>(boxes[i].width) * static_cast<double>(boxes[i].height) : 0;
        }
        if (percent != nullptr)
            *percent = 100 * pixels / (static_cast<double>(width) * height);
        return status;
    });
    return found != 0 ? found : unknown;
}

/* ---- Description and metadata: the band's own, its position in the band dimensions, and what a side-car file
 * says ---- */

const char *ShardedZarrRasterBand::GetDescription() const
{
    auto &band = *const_cast<ShardedZarrRasterBand *>(this);
    const char *beside = GDALPamRasterBand::GetDescription();
    if (!Dataset().m_isMask)
        zsGuard([&] { band.Once(DESCRIPTION, [&] { band.ReadDescription(); }); });
    return beside[0] != '\0' ? beside : m_description.c_str();
}

CPLStringList ShardedZarrRasterBand::PositionItems(std::string &words)
{
    const size_t source = Source();
    const ZSArray &array = View().Array(source);
    CPLStringList items;
    const auto position = View().BandPosition(nBand);
    for (size_t i = 0; i < position.size() && !View().AreCounted(source); i++)
    {
        const int d = View().Slices(source).dims[i];
        const uint64_t index = View().Slices(source).first[d] + position[i];
        const std::string name = zsDimensionName(array.node, d);
        const auto &labels = *View().Labels(source)[i];
        const char *label = labels.values != nullptr ? labels.values[position[i]] : nullptr;
        zsAddPosition(items, View(), source, d, index, label, labels.unit);
        if (labels.numbers != nullptr && position.size() == 1)
            zsSetItem(items, ("NETCDF_DIM_" + name).c_str(), labels.numbers[position[i]]);
        words += (i == 0 ? "" : ", ") + name + "=" + (label == nullptr ? std::to_string(index) : label);
    }
    return items;
}

/* From its own, the array's or its name, and its position. */
void ShardedZarrRasterBand::ReadDescription()
{
    const char *own = zs_band_text(&Properties(), "description");
    const size_t source = Source();
    const ZSArray &array = View().Array(source);
    const bool isOneOfMany = View().IsGroup() && View().Slices(source).count == 1; // described by its name
    std::string description = own != nullptr && !isOneOfMany ? own : "";
    const ZSLabels &labels = View().Labels(source);
    const bool speak = std::any_of(labels.begin(), labels.end(), [](const auto &l)
                                   { return l->values != nullptr && !l->is_index; });
    const bool isSpoken = description.empty() && speak; // else an index, which is no description
    const char *common = View().IsGroup()      ? zs_path_name(array.node->path)
                         : description.empty() ? zs_band_text(&View().Properties(source), "description")
                                               : nullptr;
    if (common != nullptr)
        description = common + std::string(description.empty() ? "" : ", ") + description;
    const auto position = View().BandPosition(nBand);
    const std::string label = isSpoken && position.size() == 1 ? labels[0]->values[position[0]] : "";
    int year, month, day;
    const bool isTime = sscanf(label.c_str(), "%d-%2d-%2d", &year, &month, &day) == 3; // 2026-05-01T06:00:00
    if (isSpoken && !View().IsGroup() && (isTime || (position.size() == 1 && labels[0]->are_names)))
        description = label; // a time as QGIS takes it, in `to_datetime(@band_description)`
    else if (isSpoken && !isOneOfMany)
    {
        std::string words;
        PositionItems(words);
        description += (description.empty() ? "" : ", ") + words;
    }
    m_description = description;
}

CPLErr ShardedZarrRasterBand::XMLInit(ZSPamTree tree, const char *path)
{
    const CPLErr result = GDALPamRasterBand::XMLInit(tree, path);
    // GDAL 3.6 reads a missing scale as 1, a missing offset as 0, and calls both set.
    if (psPam != nullptr)
    {
        psPam->bScaleSet = CPLGetXMLValue(tree, "Scale", nullptr) != nullptr;
        psPam->bOffsetSet = CPLGetXMLValue(tree, "Offset", nullptr) != nullptr;
    }
    return result;
}

/* Leaves out the store's description, which GetDescription() gives GDAL. */
CPLXMLNode *ShardedZarrRasterBand::SerializeToXML(const char *path)
{
    CPLXMLNode *tree = GDALPamRasterBand::SerializeToXML(path);
    CPLXMLNode *description = tree != nullptr ? CPLGetXMLNode(tree, "Description") : nullptr;
    if (description != nullptr && GDALPamRasterBand::GetDescription()[0] == '\0' &&
        CPLRemoveXMLChild(tree, description))
        CPLDestroyXMLNode(description);
    if (tree == nullptr || tree->psChild->psNext != nullptr)
        return tree;
    CPLDestroyXMLNode(tree); // only the band's number is left
    return nullptr;
}

/* Its own items, and where it is (DIM_...), before which those that were set go. Coordinates are read for items of that
 * name alone: GDAL asks for NBITS, and each overview for RESAMPLING, before it reads a pixel. */
bool ShardedZarrRasterBand::ReadDomain(const char *domain, const char *name)
{
    if (Dataset().m_isMask || !(zsIsDefaultDomain(domain) || zsIsStoredDomain(domain)))
        return false;
    if (!zsIsDefaultDomain(domain))
    {
        Once(DOMAINS, [&] { m_shown.Show(Properties(), *this); });
        return true;
    }
    Once(ITEMS, [&] {
        const CPLStringList md = zsMergeItems(Dataset().OwnItems(Source()).List(), Properties().metadata);
        m_shown.Show("", md.List(), GDALMajorObject::GetMetadata());
    });
    std::string words;
    if (name == nullptr || STARTS_WITH_CI(name, "DIM_") || STARTS_WITH_CI(name, "NETCDF_DIM_"))
        Once(POSITION, [&] { m_shown.Show("", PositionItems(words).List(), m_shown.GetMetadata()); });
    return true;
}

CPLErr ShardedZarrRasterBand::WillSetDomain(const char *domain, const char *, CPLStringList &, bool &isStored)
{
    isStored = Dataset().IsUpdate() && ReadDomain(domain, ZS_OWN_ITEMS);
    return isStored ? WillChange(ZS_BAND_METADATA) : CE_None;
}

void ShardedZarrRasterBand::SetDescription(const char *description)
{
    zsGuard([&] {
        if (!Dataset().IsUpdate())
            return GDALPamRasterBand::SetDescription(description);
        if (description != nullptr && strcmp(description, GetDescription()) == 0)
            return; // it may be that of a coordinate, which is not stored a second time
        if (WillChange(ZS_BAND_DESCRIPTION) != CE_None)
            return;
        Properties().SetText("description", description);
        m_description = description != nullptr ? description : "";
    });
}

/* ---- CF's flags (geo/flags.h) as GDAL's attribute table ---- */

/* Adds a column of numbers, which the function gives of each flag: the table's integers have 32 bits, others are
 * reals. */
template <class F>
static void addNumbers(GDALRasterAttributeTable &table, const char *name, GDALRATFieldUsage usage,
                       const struct zs_flags &flags, const F &number)
{
    const auto fits = [&number](const struct zs_flag &flag)
    { return number(flag) >= INT_MIN && number(flag) <= INT_MAX; };
    const bool areIntegers = std::all_of(flags.list, flags.list + flags.count, fits);
    const int column = table.GetColumnCount();
    table.CreateColumn(name, areIntegers ? GFT_Integer : GFT_Real, usage);
    for (size_t i = 0; i < flags.count; i++)
        table.SetValue(static_cast<int>(i), column, static_cast<double>(number(flags.list[i])));
}

static std::unique_ptr<GDALRasterAttributeTable> tableOf(const struct zs_flags &flags)
{
    auto table = std::make_unique<GDALDefaultRasterAttributeTable>();
    table->SetTableType(GRTT_THEMATIC);
    table->SetRowCount(static_cast<int>(flags.count));
    addNumbers(*table, "Value", GFU_MinMax, flags, [](const struct zs_flag &flag) { return flag.value; });
    if (flags.has_masks)
        addNumbers(*table, "Mask", GFU_Generic, flags, [](const struct zs_flag &flag) { return flag.mask; });
    const int names = table->GetColumnCount();
    table->CreateColumn("Class_name", GFT_String, GFU_Name);
    for (size_t i = 0; i < flags.count; i++)
        table->SetValue(static_cast<int>(i), names, flags.list[i].name);
    if (flags.has_colours)
    {
        addNumbers(*table, "Red", GFU_Red, flags, [](const struct zs_flag &flag) { return int64_t{flag.r}; });
        addNumbers(*table, "Green", GFU_Green, flags, [](const struct zs_flag &flag) { return int64_t{flag.g}; });
        addNumbers(*table, "Blue", GFU_Blue, flags, [](const struct zs_flag &flag) { return int64_t{flag.b}; });
    }
    return table;
}

GDALRasterAttributeTable *ShardedZarrRasterBand::GetDefaultRAT()
{
    return zsGuard([&]() -> GDALRasterAttributeTable * {
        GDALRasterAttributeTable *set = GDALPamRasterBand::GetDefaultRAT(); // in a side-car file
        if (set != nullptr || m_flagsRead)
            return set != nullptr ? set : m_flagTable.get();
        struct zs_error err;
        struct zs_flags flags = {};
        if (!Dataset().m_isMask &&
            zs_flags_read(View().Array(Source()).node->attributes, &flags, &err) != ZS_OK)
            zsReport(err);
        const ZSOwned<struct zs_flags> cleared(&flags, zs_flags_clear);
        if (flags.count > 0)
            m_flagTable = tableOf(flags);
        m_hasMaskedFlags = flags.has_masks;
        m_flagsRead = true;
        return m_flagTable.get();
    });
}

bool ShardedZarrRasterBand::IsTableInCategories()
{
    return GetDefaultRAT() == m_flagTable.get() && !m_hasMaskedFlags && GetCategoryNames() != nullptr;
}
