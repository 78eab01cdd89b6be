/* What the pixels of a band mean, read from the array's attributes and, in update mode, written back. */
#include <algorithm>

#include "dataset.h"
#include "domains.h"

extern "C"
{
#include "geo/bands.h"
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

CPLStringList zsItemsNotIn(CSLConstList list, const CPLStringList &other)
{
    CPLStringList items;
    for (int i = 0; i < CSLCount(list); i++)
    {
        if (other.FindString(list[i]) < 0)
            items.AddString(list[i]);
    }
    return items;
}

/* Statistics are GDAL's: STATISTICS_MINIMUM and so on. They are true together. */
static bool isStatistic(const char *item)
{
    return STARTS_WITH_CI(item, "STATISTICS_");
}

static CPLStringList statisticsOf(CSLConstList list)
{
    CPLStringList items;
    for (int i = 0; i < CSLCount(list); i++)
    {
        if (isStatistic(list[i]))
            items.AddString(list[i]);
    }
    return items;
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
        auto &ds = Dataset();
        if (ds.m_isMask) // what its elements mean is which pixels are valid
            return *m_meaning;
        struct zs_error err;
        // Bands of a slice are not numbered as those of the array are.
        const size_t source = Source();
        const auto &slices = ds.m_slices[source];
        const bool whole = ds.m_sources[source].choices.empty();
        const enum zs_status status =
            whole ? zs_band_meaning_read(ds.Array(source).node, static_cast<uint64_t>(nBand - 1) - slices.first,
                                         slices.slices.count, &ds.Meaning(source), m_meaning.get(), &err)
                  : zs_meaning_copy(&ds.Meaning(source), m_meaning.get(), &err);
        if (status != ZS_OK)
            zsReport(err);
    }
    return *m_meaning;
}

/* For levels of overviews while they are made: what they mean is what the base means. */
void ShardedZarrRasterBand::TakeMeaning(ShardedZarrRasterBand &other)
{
    struct zs_error err;
    m_meaning.reset(new zs_meaning{});
    if (zs_meaning_copy(&other.Meaning(), m_meaning.get(), &err) != ZS_OK)
        zsReport(err);
}

double ShardedZarrRasterBand::GetNoDataValue(int *has)
{
    const auto &m = Meaning();
    if (!m.has_nodata)
        return GDALPamRasterBand::GetNoDataValue(has);
    setFlag(has, true);
    const struct zs_array_info info = Dataset().Info(Source());
    return zsElementToDouble(info.data_type, info.item_size, m.nodata);
}

int64_t ShardedZarrRasterBand::GetNoDataValueAsInt64(int *has)
{
    const auto &m = Meaning();
    if (!m.has_nodata || eDataType != GDT_Int64)
        return GDALPamRasterBand::GetNoDataValueAsInt64(has);
    setFlag(has, true);
    int64_t v;
    memcpy(&v, m.nodata, sizeof v);
    return v;
}

uint64_t ShardedZarrRasterBand::GetNoDataValueAsUInt64(int *has)
{
    const auto &m = Meaning();
    if (!m.has_nodata || eDataType != GDT_UInt64)
        return GDALPamRasterBand::GetNoDataValueAsUInt64(has);
    setFlag(has, true);
    uint64_t v;
    memcpy(&v, m.nodata, sizeof v);
    return v;
}

double ShardedZarrRasterBand::GetScale(int *has)
{
    const auto &m = Meaning();
    if (!m.has_scale)
        return GDALPamRasterBand::GetScale(has);
    setFlag(has, true);
    return m.scale;
}

double ShardedZarrRasterBand::GetOffset(int *has)
{
    const auto &m = Meaning();
    if (!m.has_offset)
        return GDALPamRasterBand::GetOffset(has);
    setFlag(has, true);
    return m.offset;
}

const char *ShardedZarrRasterBand::GetUnitType()
{
    const auto &m = Meaning();
    return m.unit != nullptr ? m.unit : GDALPamRasterBand::GetUnitType();
}

char **ShardedZarrRasterBand::GetCategoryNames()
{
    const auto &m = Meaning();
    return m.categories != nullptr ? m.categories : GDALPamRasterBand::GetCategoryNames();
}

GDALColorTable *ShardedZarrRasterBand::GetColorTable()
{
    const auto &m = Meaning();
    if (m.colour_table == nullptr)
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
    auto &ds = Dataset();
    enum zs_colour colour = m.colour != ZS_COLOUR_NONE ? m.colour : zs_colour_of_name(m.description);
    const size_t source = Source();
    const ZSArray &array = ds.Array(source);
    if (colour == ZS_COLOUR_NONE && ds.Slices(source).dim_count > 0)
    {
        ds.ReadLabels(source);
        const auto position = ds.BandPosition(nBand);
        for (size_t i = 0; i < position.size() && colour == ZS_COLOUR_NONE; i++)
        {
            if (!array.labels[i].empty())
                colour = zs_colour_of_name(array.labels[i][position[i]].c_str());
        }
    }
    if (colour == ZS_COLOUR_NONE && ds.Slices(source).count == 1)
        colour = zs_colour_of_name(zs_path_name(array.node->path));
    return interpretationOf(colour);
}

/* ---- Description and metadata ---- */

const char *ShardedZarrRasterBand::GetDescription() const
{
    const_cast<ShardedZarrRasterBand *>(this)->AddMetadata();
    return GDALPamRasterBand::GetDescription();
}

/* The band's own metadata, and its place in the extra dimensions: DIM_time_INDEX=0,
 * DIM_time_VALUE=2024-05-01T00:00:00. */
void ShardedZarrRasterBand::AddMetadata()
{
    if (m_metadataAdded || Dataset().m_isMask)
        return;
    m_metadataAdded = true;
    auto &ds = Dataset();
    const auto &meaning = Meaning();
    const size_t source = Source();
    const ZSArray &array = ds.Array(source);
    CPLStringList md;
    if (ds.IsGroup()) // of a part, the band's items are those of the array
        md = CSLMerge(CSLDuplicate(ds.OwnItems(source).List()), ds.HasChoices() ? nullptr : meaning.metadata);
    for (char **item = meaning.metadata; !ds.IsGroup() && item != nullptr && *item != nullptr; item++)
        md.AddString(*item);

    std::string place;
    ds.ReadLabels(source);
    const auto position = ds.BandPosition(nBand);
    for (size_t i = 0; i < position.size(); i++)
    {
        const int d = ds.Slices(source).dims[i];
        const char *dimension = zs_dimension_name(array.node, d);
        const std::string name = dimension != nullptr ? dimension : "dim" + std::to_string(d);
        const std::string key = "DIM_" + name;
        std::string text = std::to_string(ds.Slices(source).first[d] + position[i]);
        md.SetNameValue((key + "_INDEX").c_str(), text.c_str());
        if (!array.labels[i].empty())
        {
            text = array.labels[i][position[i]];
            md.SetNameValue((key + "_VALUE").c_str(), text.c_str());
            if (!array.labelUnits[i].empty())
                md.SetNameValue((key + "_UNIT").c_str(), array.labelUnits[i].c_str());
        }
        place += (i == 0 ? "" : ", ") + name + "=" + text;
    }

    // What a side-car file says stays on top, but for statistics: those of the store are set, and the file's may be
    // older.
    CPLStringList sideCar(CSLDuplicate(GDALPamRasterBand::GetMetadata()));
    const CPLStringList old = statisticsOf(sideCar.List());
    m_sideCarHasStatistics = !old.empty();
    if (!statisticsOf(md.List()).empty())
        sideCar = zsItemsNotIn(sideCar.List(), old);
    m_fromStore = md;
    CPLStringList merged(CSLMerge(md.StealList(), sideCar.List()));
    GDALMajorObject::SetMetadata(merged.List());
    if (GDALPamRasterBand::GetDescription()[0] != '\0')
        return;
    const bool isOneOfMany = ds.IsGroup() && ds.Slices(source).count == 1; // the name is all
    std::string description = meaning.description != nullptr && !isOneOfMany ? meaning.description : "";
    const bool isSpoken = description.empty() && array.labelsSpeak; // else an index, which is no description
    const char *common = ds.IsGroup()          ? zs_path_name(array.node->path)
                         : description.empty() ? ds.Meaning(source).description
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

CPLXMLNode *ShardedZarrRasterBand::SerializeToXML(const char *path)
{
    const CPLStringList all(CSLDuplicate(GDALMajorObject::GetMetadata()));
    // What was changed is about to be written to the store, all of it.
    GDALMajorObject::SetMetadata(Dataset().m_bandsChanged ? nullptr : zsItemsNotIn(all.List(), m_fromStore).List());
    const ZSDomainsAside aside(*this, Meaning().domains);
    CPLXMLNode *tree = GDALPamRasterBand::SerializeToXML(path);
    GDALMajorObject::SetMetadata(const_cast<char **>(all.List()));
    return tree;
}

void ShardedZarrRasterBand::DropStatistics(bool isBlock)
{
    auto &ds = Dataset();
    for (int b = 1; ds.m_maskOf != nullptr && b <= ds.m_maskOf->nBands; b++)
        ds.m_maskOf->Band(b).DropStatistics(isBlock);
    ds.m_column.reset(); // it has blocks and histograms of its own
    if (ds.m_isOverview || ds.m_isMask || (isBlock && m_statisticsSet))
        return;
    ds.m_partWritten = ds.HasChoices();
    if (psPam != nullptr && psPam->psSavedHistograms != nullptr)
    {
        CPLDestroyXMLNode(psPam->psSavedHistograms);
        psPam->psSavedHistograms = nullptr;
        ds.MarkPamDirty();
    }
    // Mostly there are none, which is seen without reading coordinates.
    const bool ofArray = ds.IsGroup() && !statisticsOf(ds.OwnItems(Source()).List()).empty();
    const bool known = m_metadataAdded ? false : ofArray || !statisticsOf(Meaning().metadata).empty();
    if (!known && statisticsOf(GDALMajorObject::GetMetadata()).empty() && !m_sideCarHasStatistics)
        return;
    AddMetadata();
    CPLStringList all(CSLDuplicate(GDALMajorObject::GetMetadata()));
    GDALMajorObject::SetMetadata(zsItemsNotIn(all.List(), statisticsOf(all.List())).List());
    ds.m_bandsChanged = true;
    if (m_sideCarHasStatistics)
        ds.MarkPamDirty();
    m_sideCarHasStatistics = false;
    m_statisticsSet = false;
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
    const char *item = GDALPamRasterBand::GetMetadataItem(name, domain);
    if (item == nullptr && zsIsDefaultDomain(domain) && !m_metadataAdded)
        item = CSLFetchNameValue(Meaning().metadata, name);
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
        CPLStringList own(CSLDuplicate(GDALMajorObject::GetMetadata()));
        for (int i = own.size() - 1; i >= 0; i--)
        {
            if (STARTS_WITH(own[i], "DIM_"))
            {
                char *name = nullptr;
                CPLParseNameValue(own[i], &name);
                if (name != nullptr)
                    own.SetNameValue(name, nullptr);
                CPLFree(name);
            }
        }
        if (Dataset().IsGroup())
            own = zsItemsNotIn(own.List(), Dataset().OwnItems(Source()));
        zs_metadata_free(m.metadata);
        m.metadata = zsCopyList(own.List());
    }
    return m;
}

CPLErr ShardedZarrRasterBand::SetNodata(const void *element)
{
    auto &m = Meaning();
    m.has_nodata = element != nullptr;
    if (element != nullptr)
        memcpy(m.nodata, element, Dataset().Info(Source()).item_size);
    Dataset().m_bandsChanged = true;
    Dataset().m_column.reset();
    return CE_None;
}

CPLErr ShardedZarrRasterBand::SetNoDataValue(double value)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetNoDataValue(value);
    const struct zs_array_info info = Dataset().Info(Source());
    unsigned char element[ZS_MAX_ITEM_SIZE] = {};
    ZSStoring storing{GDT_Float64, info.data_type, info.item_size};
    zsStore(&storing, &value, element, static_cast<ptrdiff_t>(info.item_size), 1);
    return SetNodata(element);
}

CPLErr ShardedZarrRasterBand::SetNoDataValueAsInt64(int64_t value)
{
    if (!Dataset().IsUpdate() || eDataType != GDT_Int64)
        return GDALPamRasterBand::SetNoDataValueAsInt64(value);
    return SetNodata(&value);
}

CPLErr ShardedZarrRasterBand::SetNoDataValueAsUInt64(uint64_t value)
{
    if (!Dataset().IsUpdate() || eDataType != GDT_UInt64)
        return GDALPamRasterBand::SetNoDataValueAsUInt64(value);
    return SetNodata(&value);
}

CPLErr ShardedZarrRasterBand::DeleteNoDataValue()
{
    return Dataset().IsUpdate() ? SetNodata(nullptr) : GDALPamRasterBand::DeleteNoDataValue();
}

CPLErr ShardedZarrRasterBand::SetScale(double scale)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetScale(scale);
    Meaning().scale = scale;
    Meaning().has_scale = true;
    Dataset().m_bandsChanged = true;
    return CE_None;
}

CPLErr ShardedZarrRasterBand::SetOffset(double offset)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetOffset(offset);
    Meaning().offset = offset;
    Meaning().has_offset = true;
    Dataset().m_bandsChanged = true;
    return CE_None;
}

CPLErr ShardedZarrRasterBand::SetUnitType(const char *unit)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetUnitType(unit);
    replaceText(Meaning().unit, unit);
    Dataset().m_bandsChanged = true;
    return CE_None;
}

CPLErr ShardedZarrRasterBand::SetCategoryNames(char **names)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetCategoryNames(names);
    auto &m = Meaning();
    zs_metadata_free(m.categories);
    m.categories = zsCopyList(names);
    Dataset().m_bandsChanged = true;
    return CE_None;
}

CPLErr ShardedZarrRasterBand::SetColorInterpretation(GDALColorInterp interpretation)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetColorInterpretation(interpretation);
    setColor(Meaning(), interpretation);
    Dataset().m_bandsChanged = true;
    return CE_None;
}

CPLErr ShardedZarrRasterBand::SetColorTable(GDALColorTable *table)
{
    if (!Dataset().IsUpdate())
        return GDALPamRasterBand::SetColorTable(table);
    setColorTable(Meaning(), table);
    m_colorTable.reset();
    Dataset().m_bandsChanged = true;
    return CE_None;
}

void ShardedZarrRasterBand::SetDescription(const char *description)
{
    AddMetadata();
    if (!Dataset().IsUpdate())
    {
        GDALPamRasterBand::SetDescription(description);
        return;
    }
    replaceText(Meaning().description, description);
    GDALMajorObject::SetDescription(description);
    Dataset().m_bandsChanged = true;
}

CPLErr ShardedZarrRasterBand::SetMetadata(ZSMetadataArg metadata, const char *domain)
{
    AddMetadata();
    AddDomains(zsIsDefaultDomain(domain) ? nullptr : domain);
    if (!Dataset().IsUpdate() || !(zsIsDefaultDomain(domain) || zsIsStoredDomain(domain)))
        return GDALPamRasterBand::SetMetadata(metadata, domain);
    Dataset().m_bandsChanged = true;
    m_statisticsSet = m_statisticsSet || zsIsDefaultDomain(domain);
    return GDALMajorObject::SetMetadata(metadata, domain);
}

CPLErr ShardedZarrRasterBand::SetMetadataItem(const char *name, const char *value, const char *domain)
{
    AddMetadata();
    AddDomains(zsIsDefaultDomain(domain) ? nullptr : domain);
    if (!Dataset().IsUpdate() || !(zsIsDefaultDomain(domain) || zsIsStoredDomain(domain)))
        return GDALPamRasterBand::SetMetadataItem(name, value, domain);
    Dataset().m_bandsChanged = true;
    m_statisticsSet = m_statisticsSet || (zsIsDefaultDomain(domain) && isStatistic(name));
    return GDALMajorObject::SetMetadataItem(name, value, domain);
}
