/* Description, metadata and attribute table of a band: its own, its position in the band dimensions, and what a
 * side-car file says. */
#include <climits>
#include <memory>

#include "dataset.h"

extern "C"
{
#include "geo/band_properties.h"
#include "geo/flags.h"
}

/* ---- Getting ---- */

const char *ShardedZarrRasterBand::GetDescription() const
{
    const_cast<ShardedZarrRasterBand *>(this)->AddMetadata();
    return GDALPamRasterBand::GetDescription();
}

CPLStringList ShardedZarrRasterBand::PlaceItems(std::string &place)
{
    const size_t source = Source();
    const ZSArray &array = View().Array(source);
    CPLStringList items;
    View().ReadLabels(source);
    const auto position = View().BandPosition(nBand);
    for (size_t i = 0; i < position.size() && !array.labelsCount; i++)
    {
        const int d = View().Slices(source).dims[i];
        const char *dimension = zs_dimension_name(array.node, d);
        const std::string name = dimension != nullptr ? dimension : "dim" + std::to_string(d);
        const std::string key = "DIM_" + name;
        std::string text = std::to_string(View().Slices(source).first[d] + position[i]);
        zsSetItem(items, (key + "_INDEX").c_str(), text.c_str());
        if (!array.labels[i].empty())
        {
            text = array.labels[i][position[i]];
            zsSetItem(items, (key + "_VALUE").c_str(), text.c_str());
            if (!array.labelUnits[i].empty())
                zsSetItem(items, (key + "_UNIT").c_str(), array.labelUnits[i].c_str());
        }
        if (!array.numbers.empty())
            zsSetItem(items, ("NETCDF_" + key).c_str(), array.numbers[position[i]].c_str());
        place += (i == 0 ? "" : ", ") + name + "=" + text;
    }
    return items;
}

/* Adds the band's own metadata and the items of its position (DIM_...). An item that was set goes before one of the
 * position. */
void ShardedZarrRasterBand::AddMetadata()
{
    if (m_metadataAdded || Dataset().m_role.isMask)
        return;
    m_metadataAdded = true;
    auto &ds = Dataset();
    const auto &properties = Properties();
    const size_t source = Source();
    const ZSArray &array = View().Array(source);
    CPLStringList md = zsMergeItems(ds.items->OwnItems(source).List(), properties.metadata);
    std::string place;
    md = zsMergeItems(PlaceItems(place).List(), md.List());

    // Items of a side-car file go before the store's. Its statistics replace all of the store's.
    const CPLStringList sideCar(CSLDuplicate(GDALPamRasterBand::GetMetadata()));
    m_sideCarHasStatistics = !zsStatisticsOf(sideCar.List()).empty();
    m_fromStore = md;
    if (m_sideCarHasStatistics)
        md = zsItemsNotIn(md.List(), zsStatisticsOf(md.List()).List());
    GDALMajorObject::SetMetadata(zsMergeItems(md.List(), sideCar.List()).List());
    if (GDALPamRasterBand::GetDescription()[0] != '\0')
        return;
    const bool isOneOfMany = View().IsGroup() && View().Slices(source).count == 1; // described by its name
    std::string description = properties.description != nullptr && !isOneOfMany ? properties.description : "";
    const bool isSpoken = description.empty() && array.labelsSpeak; // else an index, which is no description
    const char *common = View().IsGroup()          ? zs_path_name(array.node->path)
                         : description.empty() ? View().Properties(source).description
                                               : nullptr;
    if (common != nullptr)
        description = common + std::string(description.empty() ? "" : ", ") + description;
    const auto position = View().BandPosition(nBand);
    const std::string label = isSpoken && position.size() == 1 ? array.labels[0][position[0]] : "";
    if (isSpoken && !View().IsGroup() && zsIsTime(label))
        description = label; // which QGIS takes for a time, in `to_datetime(@band_description)`
    else if (isSpoken && !isOneOfMany)
        description += (description.empty() ? "" : ", ") + place;
    if (!description.empty())
        GDALMajorObject::SetDescription(description.c_str());
}

void ShardedZarrRasterBand::AddDomains(const char *domain)
{
    if (m_domainsAdded || (domain != nullptr && !zsIsStoredDomain(domain)))
        return;
    m_domainsAdded = true;
    zsAddDomains(*this, Properties().domains);
}

CPLErr ShardedZarrRasterBand::XMLInit(ZSPamTree tree, const char *path)
{
    const CPLErr result = GDALPamRasterBand::XMLInit(tree, path);
    m_isDescribedBeside = CPLGetXMLValue(tree, "Description", nullptr) != nullptr;
    // GDAL 3.6 reads a missing scale as 1, a missing offset as 0, and calls both set.
    if (psPam != nullptr)
    {
        psPam->bScaleSet = CPLGetXMLValue(tree, "Scale", nullptr) != nullptr;
        psPam->bOffsetSet = CPLGetXMLValue(tree, "Offset", nullptr) != nullptr;
    }
    zsItemsFromXML(tree, *this);
    return result;
}

CPLXMLNode *ShardedZarrRasterBand::SerializeToXML(const char *path)
{
    AddMetadata(); // now: the base calls GetDescription(), which would add them after the store's were left out
    const CPLStringList all(CSLDuplicate(GDALMajorObject::GetMetadata()));
    // Changed metadata will all be written to the store.
    const bool isPending = (m_changed & ZS_BAND_METADATA) != 0;
    GDALMajorObject::SetMetadata(isPending ? nullptr : zsItemsNotIn(all.List(), m_fromStore.List()).List());
    const ZSDomainsAside aside(*this, Properties().domains);
    CPLXMLNode *tree = GDALPamRasterBand::SerializeToXML(path);
    zsItemsToXML(*this, tree);
    CPLXMLNode *description = tree != nullptr && !m_isDescribedBeside ? CPLGetXMLNode(tree, "Description") : nullptr;
    if (description != nullptr && CPLRemoveXMLChild(tree, description))
        CPLDestroyXMLNode(description);
    GDALMajorObject::SetMetadata(const_cast<char **>(all.List()));
    return tree;
}

char **ShardedZarrRasterBand::GetMetadataDomainList()
{
    AddMetadata();
    AddDomains(nullptr);
    return GDALPamRasterBand::GetMetadataDomainList();
}

ZSMetadata ShardedZarrRasterBand::GetMetadata(const char *domain)
{
    if (zsIsDefaultDomain(domain))
        AddMetadata();
    else
        AddDomains(domain);
    return GDALPamRasterBand::GetMetadata(domain);
}

/* GDAL asks for NBITS, and each overview for RESAMPLING, before it reads a pixel. Coordinates give DIM_ items alone, so
 * they are not read for other names. */
const char *ShardedZarrRasterBand::GetMetadataItem(const char *name, const char *domain)
{
    if (zsIsDefaultDomain(domain) &&
        (name == nullptr || STARTS_WITH_CI(name, "DIM_") || STARTS_WITH_CI(name, "NETCDF_DIM_") ||
         STARTS_WITH_CI(name, "STATISTICS_")))
        AddMetadata();
    if (!zsIsDefaultDomain(domain))
        AddDomains(domain);
    if (name == nullptr || (!zsIsDefaultDomain(domain) && !zsIsStoredDomain(domain)))
        return GDALPamRasterBand::GetMetadataItem(name, domain);
    const char *item = zsItemValueInAnyCase(GDALMajorObject::GetMetadata(domain), name);
    if (item == nullptr && zsIsDefaultDomain(domain) && !m_metadataAdded)
        item = zsItemValueInAnyCase(Properties().metadata, name);
    return item;
}

/* ---- Setting ---- */

void ShardedZarrRasterBand::SetDescription(const char *description)
{
    AddMetadata();
    if (!Dataset().IsUpdate())
    {
        GDALPamRasterBand::SetDescription(description);
        m_isDescribedBeside = true;
        return;
    }
    if (WillChange(ZS_BAND_DESCRIPTION) != CE_None)
        return;
    zsReplaceText(Properties().description, description);
    GDALMajorObject::SetDescription(description);
}

CPLErr ShardedZarrRasterBand::SetMetadata(ZSMetadataArg metadata, const char *domain)
{
    AddMetadata();
    AddDomains(zsIsDefaultDomain(domain) ? nullptr : domain);
    if (!Dataset().IsUpdate() || !(zsIsDefaultDomain(domain) || zsIsStoredDomain(domain)))
        return GDALPamRasterBand::SetMetadata(metadata, domain);
    if (WillChange(ZS_BAND_METADATA) != CE_None)
        return CE_Failure;
    m_statisticsSet = m_statisticsSet || zsIsDefaultDomain(domain);
    return GDALMajorObject::SetMetadata(metadata, domain);
}

CPLErr ShardedZarrRasterBand::SetMetadataItem(const char *name, const char *value, const char *domain)
{
    AddMetadata();
    AddDomains(zsIsDefaultDomain(domain) ? nullptr : domain);
    if (zsIsItemMistaken(*this, name, domain))
        return SetMetadata(zsItemsWith(*this, name, value, domain).List(), domain);
    if (!Dataset().IsUpdate() || !(zsIsDefaultDomain(domain) || zsIsStoredDomain(domain)))
        return GDALPamRasterBand::SetMetadataItem(name, value, domain);
    if (WillChange(ZS_BAND_METADATA) != CE_None)
        return CE_Failure;
    m_statisticsSet = m_statisticsSet || (zsIsDefaultDomain(domain) && zsIsStatistic(name));
    return GDALMajorObject::SetMetadataItem(name, value, domain);
}

/* ---- CF's flags (geo/flags.h) as GDAL's attribute table ---- */

/* Whole numbers as the table's, which have 32 bits, or as reals. */
static bool fits(const struct zs_flags &flags, int64_t zs_flag::*number)
{
    for (size_t i = 0; i < flags.count; i++)
    {
        if (flags.list[i].*number < INT_MIN || flags.list[i].*number > INT_MAX)
            return false;
    }
    return true;
}

static void addNumbers(GDALRasterAttributeTable &table, const char *name, GDALRATFieldUsage usage,
                       const struct zs_flags &flags, int64_t zs_flag::*number)
{
    const bool isInteger = fits(flags, number);
    const int column = table.GetColumnCount();
    table.CreateColumn(name, isInteger ? GFT_Integer : GFT_Real, usage);
    for (size_t i = 0; i < flags.count; i++)
    {
        if (isInteger)
            table.SetValue(static_cast<int>(i), column, static_cast<int>(flags.list[i].*number));
        else
            table.SetValue(static_cast<int>(i), column, static_cast<double>(flags.list[i].*number));
    }
}

static void addNames(GDALRasterAttributeTable &table, const struct zs_flags &flags)
{
    const int column = table.GetColumnCount();
    table.CreateColumn("Class_name", GFT_String, GFU_Name);
    for (size_t i = 0; i < flags.count; i++)
        table.SetValue(static_cast<int>(i), column, flags.list[i].name);
}

static void addColours(GDALRasterAttributeTable &table, const struct zs_flags &flags)
{
    const int red = table.GetColumnCount();
    table.CreateColumn("Red", GFT_Integer, GFU_Red);
    table.CreateColumn("Green", GFT_Integer, GFU_Green);
    table.CreateColumn("Blue", GFT_Integer, GFU_Blue);
    for (size_t i = 0; i < flags.count; i++)
    {
        table.SetValue(static_cast<int>(i), red, flags.list[i].r);
        table.SetValue(static_cast<int>(i), red + 1, flags.list[i].g);
        table.SetValue(static_cast<int>(i), red + 2, flags.list[i].b);
    }
}

GDALRasterAttributeTable *ShardedZarrRasterBand::GetDefaultRAT()
{
    GDALRasterAttributeTable *set = GDALPamRasterBand::GetDefaultRAT(); // in a side-car file
    if (set != nullptr || m_flagsRead)
        return set != nullptr ? set : m_flagTable.get();
    struct zs_error err;
    struct zs_flags flags = {};
    m_flagsRead = true;
    if (Dataset().m_role.isMask)
        return nullptr;
    if (zs_flags_read(View().Array(Source()).node->attributes, &flags, &err) != ZS_OK)
    {
        zsReport(err);
        return nullptr;
    }
    if (flags.count > 0)
    {
        auto table = std::make_unique<GDALDefaultRasterAttributeTable>();
        table->SetTableType(GRTT_THEMATIC);
        table->SetRowCount(static_cast<int>(flags.count));
        addNumbers(*table, "Value", GFU_MinMax, flags, &zs_flag::value);
        if (flags.has_masks)
            addNumbers(*table, "Mask", GFU_Generic, flags, &zs_flag::mask);
        addNames(*table, flags);
        if (flags.has_colours)
            addColours(*table, flags);
        m_flagTable = std::move(table);
        m_hasMaskedFlags = flags.has_masks;
    }
    zs_flags_clear(&flags);
    return m_flagTable.get();
}

bool ShardedZarrRasterBand::IsTableInCategories()
{
    return GetDefaultRAT() == m_flagTable.get() && !m_hasMaskedFlags && GetCategoryNames() != nullptr;
}
