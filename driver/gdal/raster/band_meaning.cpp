/* What the pixels of a band mean, read from the array's attributes and, in update mode, written back. */
#include <algorithm>
#include <functional>
#include <utility>

#include "dataset.h"

extern "C"
{
#include "geo/attributes.h"
#include "raster/update.h"
}

static void setFlag(int *flag, bool value)
{
    if (flag != nullptr)
        *flag = value;
}

static char *copyText(const char *text)
{
    return text != nullptr && text[0] != '\0' ? zs_strdup(text) : nullptr;
}

static void replaceText(char *&text, const char *by)
{
    char *copy = copyText(by);
    free(text);
    text = copy;
}

char **zsCopyList(CSLConstList list)
{
    const int n = CSLCount(list);
    if (n == 0)
        return nullptr;
    auto copy = static_cast<char **>(zs_calloc(static_cast<size_t>(n) + 1, sizeof(char *)));
    for (int i = 0; i < n && copy != nullptr; i++)
        copy[i] = zs_strdup(list[i]);
    return copy;
}

static void setColorTable(struct zs_meaning &m, const GDALColorTable *table)
{
    free(m.colour_table);
    m.colour_table = nullptr;
    m.colour_count = 0;
    const int n = table != nullptr ? table->GetColorEntryCount() : 0;
    if (n == 0)
        return;
    m.colour_table = static_cast<struct zs_colour_entry *>(zs_calloc(static_cast<size_t>(n), sizeof *m.colour_table));
    for (int i = 0; i < n && m.colour_table != nullptr; i++)
    {
        GDALColorEntry c;
        table->GetColorEntryAsRGB(i, &c);
        m.colour_table[i] = {c.c1, c.c2, c.c3, c.c4};
        m.colour_count = static_cast<size_t>(i) + 1;
    }
}

static void setColor(struct zs_meaning &m, GDALColorInterp interpretation)
{
    const char *name = interpretation != GCI_Undefined ? GDALGetColorInterpretationName(interpretation) : nullptr;
    replaceText(m.colour_name, name);
    m.colour = zs_colour_of_name(name);
}

struct zs_meaning zsMeaningOf(GDALRasterBand &band)
{
    struct zs_meaning m = {};
    int has = FALSE;
    m.scale = band.GetScale(&has);
    m.has_scale = has && m.scale != 1;
    m.offset = band.GetOffset(&has);
    m.has_offset = has && m.offset != 0;
    if (m.has_scale != m.has_offset)
    {
        // One without the other confuses readers.
        m.scale = m.has_scale ? m.scale : 1;
        m.offset = m.has_offset ? m.offset : 0;
        m.has_scale = m.has_offset = true;
    }
    m.unit = copyText(band.GetUnitType());
    m.description = copyText(band.GetDescription());
    m.categories = zsCopyList(band.GetCategoryNames());
    m.metadata = zsCopyList(band.GetMetadata());
    m.domains = zsDomainsOf(band);
    setColor(m, band.GetColorInterpretation());
    setColorTable(m, band.GetColorTable());
    return m;
}

/* ---- Reading ---- */

struct zs_meaning &ShardedZarrRasterBand::Meaning()
{
    if (m_meaning == nullptr)
    {
        m_meaning.reset(new zs_meaning{});
        if (!Dataset().m_isMask) // what its elements mean is which pixels are valid
            ReadMeanings();
    }
    return *m_meaning;
}

/* Those of the next bands, too: an entry of a list is found by going through it. */
void ShardedZarrRasterBand::ReadMeanings()
{
    constexpr int AT_ONCE = 256;
    auto &ds = Dataset();
    const size_t source = Source();
    const uint64_t first = View().SliceOf(nBand);
    int count = 1;
    const auto isNext = [&ds, source, first, this](int n)
    {
        const auto &band = ds.Band(nBand + n);
        return band.Source() == source && View().SliceOf(nBand + n) == first + static_cast<uint64_t>(n) &&
               band.m_meaning == nullptr;
    };
    while (count < AT_ONCE && nBand + count <= ds.GetRasterCount() && isNext(count))
        count++;
    struct zs_error err;
    std::vector<struct zs_meaning> list(static_cast<size_t>(count));
    if (zs_band_meanings_read_some(View().Array(source).node, first, list.size(), View().SliceCount(source),
                                   &View().Meaning(source), list.data(), &err) != ZS_OK)
        zsReport(err);
    *m_meaning = list[0];
    for (int n = 1; n < count; n++)
        ds.Band(nBand + n).m_meaning.reset(new zs_meaning(list[static_cast<size_t>(n)]));
}

/* For levels of overviews while they are made: what they mean is what the base means. */
void ShardedZarrRasterBand::TakeMeaning(ShardedZarrRasterBand &other)
{
    struct zs_error err;
    m_meaning.reset(new zs_meaning{});
    if (zs_meaning_copy(&other.Meaning(), m_meaning.get(), &err) != ZS_OK)
        zsReport(err);
}

/* ---- What a side-car file says goes before the store, as in GTiff ---- */

bool ShardedZarrRasterBand::HasSideCarNodata()
{
    return psPam != nullptr &&
           (psPam->bNoDataValueSet || psPam->bNoDataValueSetAsInt64 || psPam->bNoDataValueSetAsUInt64);
}

void ShardedZarrRasterBand::DropFromSideCar(unsigned property)
{
    if (psPam == nullptr)
        return;
    if (property == ZS_BAND_NODATA)
        psPam->bNoDataValueSet = psPam->bNoDataValueSetAsInt64 = psPam->bNoDataValueSetAsUInt64 = false;
    else if (property == ZS_BAND_SCALE)
        psPam->bScaleSet = false, psPam->dfScale = 1; // the latter alone counts when it is written
    else if (property == ZS_BAND_OFFSET)
        psPam->bOffsetSet = false, psPam->dfOffset = 0;
    else if (property == ZS_BAND_UNIT)
        CPLFree(std::exchange(psPam->pszUnitType, nullptr));
    else if (property == ZS_BAND_CATEGORIES)
        CSLDestroy(std::exchange(psPam->papszCategoryNames, nullptr));
    else if (property == ZS_BAND_COLOUR)
        psPam->eColorInterp = GCI_Undefined;
    else if (property == ZS_BAND_COLOUR_TABLE)
        delete std::exchange(psPam->poColorTable, nullptr);
    else if (property == ZS_BAND_DESCRIPTION)
        m_isDescribedBeside = false;
}

double ShardedZarrRasterBand::GetNoDataValue(int *has)
{
    const auto &m = Meaning();
    if (!m.has_nodata || HasSideCarNodata())
        return GDALPamRasterBand::GetNoDataValue(has);
    setFlag(has, true);
    const struct zs_array_info info = View().Info(Source());
    return zsElementToDouble(info.data_type, info.item_size, m.nodata);
}

int64_t ShardedZarrRasterBand::GetNoDataValueAsInt64(int *has)
{
    const auto &m = Meaning();
    if (!m.has_nodata || eDataType != GDT_Int64 || HasSideCarNodata())
        return GDALPamRasterBand::GetNoDataValueAsInt64(has);
    setFlag(has, true);
    int64_t v;
    memcpy(&v, m.nodata, sizeof v);
    return v;
}

uint64_t ShardedZarrRasterBand::GetNoDataValueAsUInt64(int *has)
{
    const auto &m = Meaning();
    if (!m.has_nodata || eDataType != GDT_UInt64 || HasSideCarNodata())
        return GDALPamRasterBand::GetNoDataValueAsUInt64(has);
    setFlag(has, true);
    uint64_t v;
    memcpy(&v, m.nodata, sizeof v);
    return v;
}

double ShardedZarrRasterBand::GetScale(int *has)
{
    const auto &m = Meaning();
    if (!m.has_scale || (psPam != nullptr && psPam->bScaleSet))
        return GDALPamRasterBand::GetScale(has);
    setFlag(has, true);
    return m.scale;
}

double ShardedZarrRasterBand::GetOffset(int *has)
{
    const auto &m = Meaning();
    if (!m.has_offset || (psPam != nullptr && psPam->bOffsetSet))
        return GDALPamRasterBand::GetOffset(has);
    setFlag(has, true);
    return m.offset;
}

const char *ShardedZarrRasterBand::GetUnitType()
{
    const auto &m = Meaning();
    const bool isBeside = psPam != nullptr && psPam->pszUnitType != nullptr;
    return m.unit != nullptr && !isBeside ? m.unit : GDALPamRasterBand::GetUnitType();
}

char **ShardedZarrRasterBand::GetCategoryNames()
{
    const auto &m = Meaning();
    const bool isBeside = psPam != nullptr && psPam->papszCategoryNames != nullptr;
    return m.categories != nullptr && !isBeside ? m.categories : GDALPamRasterBand::GetCategoryNames();
}

GDALColorTable *ShardedZarrRasterBand::GetColorTable()
{
    const auto &m = Meaning();
    if (m.colour_table == nullptr || (psPam != nullptr && psPam->poColorTable != nullptr))
        return GDALPamRasterBand::GetColorTable();
    if (m_colorTable == nullptr)
    {
        m_colorTable = std::make_unique<GDALColorTable>();
        for (size_t i = 0; i < m.colour_count; i++)
        {
            const auto &c = m.colour_table[i];
            const GDALColorEntry entry = {c.r, c.g, c.b, c.a};
            m_colorTable->SetColorEntry(static_cast<int>(i), &entry);
        }
    }
    return m_colorTable.get();
}

static GDALColorInterp interpretationOf(enum zs_colour colour)
{
    switch (colour)
    {
        case ZS_COLOUR_GRAY:
            return GCI_GrayIndex;
        case ZS_COLOUR_RED:
            return GCI_RedBand;
        case ZS_COLOUR_GREEN:
            return GCI_GreenBand;
        case ZS_COLOUR_BLUE:
            return GCI_BlueBand;
        case ZS_COLOUR_ALPHA:
            return GCI_AlphaBand;
        case ZS_COLOUR_NONE:
            break;
    }
    return GCI_Undefined;
}

GDALColorInterp ShardedZarrRasterBand::GetColorInterpretation()
{
    const GDALColorInterp set = GDALPamRasterBand::GetColorInterpretation();
    if (set != GCI_Undefined || Dataset().m_isMask)
        return set;
    const auto &m = Meaning();
    if (m.colour_name != nullptr)
        return GDALGetColorInterpretationByName(m.colour_name);
    if (m.colour_table != nullptr)
        return GCI_PaletteIndex;
    enum zs_colour colour = m.colour != ZS_COLOUR_NONE ? m.colour : zs_colour_of_name(m.description);
    const size_t source = Source();
    const ZSArray &array = View().Array(source);
    if (colour == ZS_COLOUR_NONE && View().Slices(source).dim_count > 0)
    {
        View().ReadLabels(source);
        const auto position = View().BandPosition(nBand);
        for (size_t i = 0; i < position.size() && colour == ZS_COLOUR_NONE; i++)
        {
            if (!array.labels[i].empty())
                colour = zs_colour_of_name(array.labels[i][position[i]].c_str());
        }
    }
    if (colour == ZS_COLOUR_NONE && View().Slices(source).count == 1)
        colour = zs_colour_of_name(zs_path_name(array.node->path));
    return interpretationOf(colour);
}

/* ---- Description and metadata ---- */

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
    for (size_t i = 0; i < position.size(); i++)
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
        place += (i == 0 ? "" : ", ") + name + "=" + text;
    }
    return items;
}

/* The band's own metadata and its place; of an item that was set in the place of the latter, what was set. */
void ShardedZarrRasterBand::AddMetadata()
{
    if (m_metadataAdded || Dataset().m_isMask)
        return;
    m_metadataAdded = true;
    auto &ds = Dataset();
    const auto &meaning = Meaning();
    const size_t source = Source();
    const ZSArray &array = View().Array(source);
    CPLStringList md = zsMergeItems(ds.m_items->OwnItems(source).List(), meaning.metadata);
    std::string place;
    md = zsMergeItems(PlaceItems(place).List(), md.List());

    // What a side-car file says stays on top; statistics are true together.
    const CPLStringList sideCar(CSLDuplicate(GDALPamRasterBand::GetMetadata()));
    m_sideCarHasStatistics = !zsStatisticsOf(sideCar.List()).empty();
    m_fromStore = md;
    if (m_sideCarHasStatistics)
        md = zsItemsNotIn(md.List(), zsStatisticsOf(md.List()).List());
    GDALMajorObject::SetMetadata(zsMergeItems(md.List(), sideCar.List()).List());
    if (GDALPamRasterBand::GetDescription()[0] != '\0')
        return;
    const bool isOneOfMany = View().IsGroup() && View().Slices(source).count == 1; // the name is all
    std::string description = meaning.description != nullptr && !isOneOfMany ? meaning.description : "";
    const bool isSpoken = description.empty() && array.labelsSpeak; // else an index, which is no description
    const char *common = View().IsGroup()          ? zs_path_name(array.node->path)
                         : description.empty() ? View().Meaning(source).description
                                               : nullptr;
    if (common != nullptr)
        description = common + std::string(description.empty() ? "" : ", ") + description;
    if (isSpoken && !isOneOfMany)
        description += (description.empty() ? "" : ", ") + place;
    if (!description.empty())
        GDALMajorObject::SetDescription(description.c_str());
}

void ShardedZarrRasterBand::AddDomains(const char *domain)
{
    if (m_domainsAdded || (domain != nullptr && !zsIsStoredDomain(domain)))
        return;
    m_domainsAdded = true;
    zsAddDomains(*this, Meaning().domains);
}

CPLErr ShardedZarrRasterBand::XMLInit(ZSPamTree tree, const char *path)
{
    const CPLErr result = GDALPamRasterBand::XMLInit(tree, path);
    m_isDescribedBeside = CPLGetXMLValue(tree, "Description", nullptr) != nullptr;
    // GDAL 3.6 takes what is not there for 1 and 0.
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
    AddMetadata(); // which the base's call of GetDescription() would do, after what is the store's was left out
    const CPLStringList all(CSLDuplicate(GDALMajorObject::GetMetadata()));
    // What was changed is about to be written to the store, all of it.
    const bool isPending = (m_changed & ZS_BAND_METADATA) != 0;
    GDALMajorObject::SetMetadata(isPending ? nullptr : zsItemsNotIn(all.List(), m_fromStore.List()).List());
    const ZSDomainsAside aside(*this, Meaning().domains);
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

/* GDAL asks for NBITS, and of each overview for RESAMPLING, before it reads a pixel: no reason to read coordinates,
 * which give DIM_ items and no others. */
const char *ShardedZarrRasterBand::GetMetadataItem(const char *name, const char *domain)
{
    if (zsIsDefaultDomain(domain) &&
        (name == nullptr || STARTS_WITH_CI(name, "DIM_") || STARTS_WITH_CI(name, "STATISTICS_")))
        AddMetadata();
    if (!zsIsDefaultDomain(domain))
        AddDomains(domain);
    if (name == nullptr || (!zsIsDefaultDomain(domain) && !zsIsStoredDomain(domain)))
        return GDALPamRasterBand::GetMetadataItem(name, domain);
    const char *item = zsItemValueInAnyCase(GDALMajorObject::GetMetadata(domain), name);
    if (item == nullptr && zsIsDefaultDomain(domain) && !m_metadataAdded)
        item = zsItemValueInAnyCase(Meaning().metadata, name);
    return item;
}

/* ---- Writing: into m_meaning, and from there to the array's attributes at the next flush. Read-only: to the side-car.
 * ---- */

const struct zs_meaning &ShardedZarrRasterBand::CurrentMeaning()
{
    auto &m = Meaning();
    if (m_domainsAdded)
    {
        zs_domains_clear(&m.domains);
        m.domains = zsDomainsOf(*this);
    }
    if (m_metadataAdded)
    {
        std::string place;
        CPLStringList own = zsItemsNotIn(GDALMajorObject::GetMetadata(), PlaceItems(place).List());
        own = zsItemsNotIn(own.List(), Dataset().m_items->OwnItems(Source()).List());
        zs_metadata_free(m.metadata);
        m.metadata = zsCopyList(own.List());
    }
    return m;
}

CPLErr ShardedZarrRasterBand::WillChange(unsigned property)
{
    auto &ds = Dataset();
    const size_t source = Source();
    if (View().SliceCount(source) > ZS_MOST_BANDS)
    {
        CPLError(CE_Failure, CPLE_NotSupported,
                 "/%s: nothing is stored of one of its slices alone, of which there are more than %d; set it of the "
                 "array, in the multidimensional API",
                 View().Array(source).node->path, static_cast<int>(ZS_MOST_BANDS));
        return CE_Failure;
    }
    m_changed |= property;
    ds.m_properties.SetChanged();
    DropFromSideCar(property);
    return CE_None;
}

CPLErr ShardedZarrRasterBand::SetNodata(const void *element)
{
    auto &m = Meaning();
    const size_t size = View().Info(Source()).item_size;
    const bool isSame = element == nullptr ? !m.has_nodata : m.has_nodata && memcmp(m.nodata, element, size) == 0;
    // One that is declared stays as it is: a missing_value beside it, too.
    if (isSame && (element == nullptr || zs_declares_nodata(View().Array(Source()).node)))
        return CE_None;
    if (WillChange(ZS_BAND_NODATA) != CE_None)
        return CE_Failure;
    m.has_nodata = element != nullptr;
    if (element != nullptr)
        memcpy(m.nodata, element, size);
    Dataset().m_statistics.ForgetCells();
    return CE_None;
}

/* Refused where the type does not hold it: it would mark no pixel, or others. */
CPLErr ShardedZarrRasterBand::SetNodata(bool isHeld, const void *element, const std::string &text)
{
    if (isHeld)
        return SetNodata(element);
    CPLError(CE_Failure, CPLE_AppDefined, "%s: band %d: nodata value %s cannot be a %s",
             zsShown(Dataset().GetDescription()).c_str(),
             nBand, text.c_str(), View().Array(Source()).node->array->dtype.name);
    return CE_Failure;
}

CPLErr ShardedZarrRasterBand::SetNoDataValue(double value)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetNoDataValue(value);
    const struct zs_array_info info = View().Info(Source());
    unsigned char element[ZS_MAX_ITEM_SIZE] = {};
    return SetNodata(zsElementOfDouble(value, info.data_type, info.item_size, element), element,
                     CPLSPrintf("%.17g", value));
}

CPLErr ShardedZarrRasterBand::SetNoDataValueAsInt64(int64_t value)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetNoDataValueAsInt64(value);
    const struct zs_array_info info = View().Info(Source());
    unsigned char element[ZS_MAX_ITEM_SIZE] = {};
    return SetNodata(zsElementOfInt64(value, info.data_type, info.item_size, element), element, std::to_string(value));
}

CPLErr ShardedZarrRasterBand::SetNoDataValueAsUInt64(uint64_t value)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetNoDataValueAsUInt64(value);
    const struct zs_array_info info = View().Info(Source());
    unsigned char element[ZS_MAX_ITEM_SIZE] = {};
    return SetNodata(zsElementOfUInt64(value, info.data_type, info.item_size, element), element,
                     std::to_string(value));
}

CPLErr ShardedZarrRasterBand::DeleteNoDataValue()
{
    return Dataset().IsUpdate() ? SetNodata(nullptr) : GDALPamRasterBand::DeleteNoDataValue();
}

CPLErr ShardedZarrRasterBand::SetScale(double scale)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetScale(scale);
    if (WillChange(ZS_BAND_SCALE) != CE_None)
        return CE_Failure;
    Meaning().scale = scale;
    Meaning().has_scale = true;
    return CE_None;
}

CPLErr ShardedZarrRasterBand::SetOffset(double offset)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetOffset(offset);
    if (WillChange(ZS_BAND_OFFSET) != CE_None)
        return CE_Failure;
    Meaning().offset = offset;
    Meaning().has_offset = true;
    return CE_None;
}

CPLErr ShardedZarrRasterBand::SetUnitType(const char *unit)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetUnitType(unit);
    if (WillChange(ZS_BAND_UNIT) != CE_None)
        return CE_Failure;
    replaceText(Meaning().unit, unit);
    return CE_None;
}

CPLErr ShardedZarrRasterBand::SetCategoryNames(char **names)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetCategoryNames(names);
    if (WillChange(ZS_BAND_CATEGORIES) != CE_None)
        return CE_Failure;
    auto &m = Meaning();
    zs_metadata_free(m.categories);
    m.categories = zsCopyList(names);
    return CE_None;
}

CPLErr ShardedZarrRasterBand::SetColorInterpretation(GDALColorInterp interpretation)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetColorInterpretation(interpretation);
    if (WillChange(ZS_BAND_COLOUR) != CE_None)
        return CE_Failure;
    setColor(Meaning(), interpretation);
    return CE_None;
}

CPLErr ShardedZarrRasterBand::SetColorTable(GDALColorTable *table)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetColorTable(table);
    if (WillChange(ZS_BAND_COLOUR_TABLE) != CE_None)
        return CE_Failure;
    setColorTable(Meaning(), table);
    m_colorTable.reset();
    return CE_None;
}

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
    replaceText(Meaning().description, description);
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

/* ---- Flushing ---- */

enum zs_status ZSBandProperties::FlushOf(size_t source, struct zs_error *err)
{
    const ZSArray &array = m_view.Array(source);
    if (m_dataset.m_isMask) // its flags say which pixels are valid; what users say of a mask is kept by no format
        return ZS_OK;
    const int before = m_view.Before(source), count = m_view.Count(source);
    unsigned which = 0;
    for (int b = 1; b <= count; b++)
        which |= m_dataset.Band(before + b).m_changed;
    if (which == 0)
        return ZS_OK;
    const auto isShown = [&](const char *item)
    {
        bool is = false;
        for (int b = 1; b <= count && !is; b++)
        {
            ShardedZarrRasterBand &band = m_dataset.Band(before + b);
            is = !band.m_metadataAdded || zsHasItem(band.GDALMajorObject::GetMetadata(), item);
        }
        return is;
    };
    if ((which & ZS_BAND_METADATA) != 0)
        ZS_TRY(m_dataset.m_items->WriteOwnItems(source, isShown, err));
    struct zs_meaning *all = nullptr;
    const uint64_t slices = m_view.SliceCount(source);
    ZS_TRY(zs_band_meanings_read(array.node, slices, &m_view.Meaning(source), &all, err));
    const std::unique_ptr<struct zs_meaning, std::function<void(struct zs_meaning *)>> freed(
        all, [slices](struct zs_meaning *list) { zs_band_meanings_free(list, slices); });
    for (int b = 1; b <= count; b++)
    {
        struct zs_meaning &to = all[m_view.SliceOf(before + b)];
        zs_meaning_clear(&to);
        ZS_TRY(zs_meaning_copy(&m_dataset.Band(before + b).CurrentMeaning(), &to, err));
    }
    return zs_update_bands(m_view.store->hierarchy, array.node, array.axes, all, static_cast<size_t>(slices), which,
                           err);
}

enum zs_status ZSBandProperties::Flush(struct zs_error *err)
{
    for (size_t i = 0; i < m_view.sources.size(); i++)
        ZS_TRY(FlushOf(i, err));
    return ZS_OK;
}

/* What is in the store now need not be in a side-car file. */
void ZSBandProperties::SetPublished()
{
    m_isPending = false;
    for (int b = 1; b <= m_dataset.GetRasterCount(); b++)
    {
        ShardedZarrRasterBand &band = m_dataset.Band(b);
        band.m_changed = 0;
        if (!band.m_metadataAdded)
            continue;
        band.m_fromStore = CSLDuplicate(band.GDALMajorObject::GetMetadata());
        if (band.m_sideCarHasStatistics)
            m_dataset.MarkPamDirty();
        band.m_sideCarHasStatistics = false;
    }
}
