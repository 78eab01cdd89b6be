/* Properties of a band, read from the array's attributes and, in update mode, written back: nodata, scale, offset,
 * unit, categories, colours. Description and metadata: band.cpp. */
#include <algorithm>
#include <functional>
#include <limits>
#include <new>
#include <utility>

#include "dataset.h"
#include "gdal/guard.h"

extern "C"
{
#include "array/array.h"
#include "geo/attributes.h"
#include "raster/update.h"
}

static char *copyText(const char *text)
{
    return text != nullptr && text[0] != '\0' ? zs_strdup(zsUtf8(text).c_str()) : nullptr;
}

void zsReplaceText(char *&text, const char *by)
{
    char *copy = copyText(by);
    free(text);
    text = copy;
}

char **zsCopyList(CSLConstList list)
{
    char **copy;
    if (!zs_names_copy(zsUtf8List(list).List(), &copy))
        throw std::bad_alloc();
    return copy;
}

static void setColorTable(struct zs_band_properties &properties, const GDALColorTable *table)
{
    free(properties.colour_table);
    properties.colour_table = nullptr;
    properties.colour_count = 0;
    const bool isRGB = table != nullptr && table->GetPaletteInterpretation() == GPI_RGB; // GDAL converts no others
    const int n = isRGB ? table->GetColorEntryCount() : 0;
    if (n == 0)
        return;
    properties.colour_table =
        static_cast<struct zs_colour_entry *>(zs_calloc(static_cast<size_t>(n), sizeof(struct zs_colour_entry)));
    for (int i = 0; i < n && properties.colour_table != nullptr; i++)
    {
        GDALColorEntry c;
        table->GetColorEntryAsRGB(i, &c);
        properties.colour_table[i] = {c.c1, c.c2, c.c3, c.c4};
        properties.colour_count = static_cast<size_t>(i) + 1;
    }
}

static void setColor(struct zs_band_properties &properties, GDALColorInterp interpretation)
{
    const char *name = interpretation != GCI_Undefined ? GDALGetColorInterpretationName(interpretation) : nullptr;
    zsReplaceText(properties.colour_name, name);
}

void zsDeclareNoColor(struct zs_band_properties &properties)
{
    zsReplaceText(properties.colour_name, GDALGetColorInterpretationName(GCI_Undefined));
}

struct zs_band_properties zsPropertiesOf(GDALRasterBand &band)
{
    const ZSOwnedProperties owned(new zs_band_properties()); // until all is copied
    zs_band_properties &properties = *owned;
    int has = FALSE;
    properties.scale = band.GetScale(&has);
    properties.has_scale = has && properties.scale != 1;
    properties.offset = band.GetOffset(&has);
    properties.has_offset = has && properties.offset != 0;
    if (properties.has_scale != properties.has_offset)
    {
        // One without the other confuses readers.
        properties.scale = properties.has_scale ? properties.scale : 1;
        properties.offset = properties.has_offset ? properties.offset : 0;
        properties.has_scale = properties.has_offset = true;
    }
    properties.unit = copyText(band.GetUnitType());
    properties.description = copyText(band.GetDescription());
    properties.categories = zsCopyList(band.GetCategoryNames());
    CPLStringList items(CSLDuplicate(band.GetMetadata()));
    zsDropScaleItems(items, "", properties.has_scale);
    properties.metadata = zsCopyList(items.List());
    properties.domains = zsDomainsOf(band);
    setColor(properties, band.GetColorInterpretation());
    setColorTable(properties, band.GetColorTable());
    return std::exchange(properties, {});
}

/* ---- Reading ---- */

namespace
{
/* Properties of slices, which it releases. */
struct PropertyList : std::vector<struct zs_band_properties>
{
    using vector::vector;
    ~PropertyList()
    {
        std::for_each(begin(), end(), [](auto &properties) { zs_band_properties_clear(&properties); });
    }
    PropertyList(const PropertyList &) = delete;
    PropertyList &operator=(const PropertyList &) = delete;
};
} // namespace

struct zs_band_properties &ShardedZarrRasterBand::Properties()
{
    if (m_properties == nullptr && Dataset().m_isMask) // its elements mark valid pixels, and nothing else
        m_properties.reset(new zs_band_properties{});
    else if (m_properties == nullptr)
        ReadProperties();
    return *m_properties;
}

/* For what GDAL asks: none without memory, with CPLError emitted. */
const struct zs_band_properties &ShardedZarrRasterBand::GuardedProperties()
{
    static const struct zs_band_properties none = {};
    const auto *properties = zsGuard([this] { return &Properties(); });
    return properties != nullptr ? *properties : none;
}

/* Reads the properties of the next bands, too: to find one entry, the list is walked from its start. */
void ShardedZarrRasterBand::ReadProperties()
{
    constexpr int AT_ONCE = 256;
    const size_t source = Source();
    const int left = View().Before(source) + View().Count(source) - nBand + 1;
    struct zs_error err;
    PropertyList list(
        static_cast<size_t>(View().IsSelection() ? 1 : std::min(left, AT_ONCE))); // else slices follow each other
    if (zs_bands_read(View().Array(source).node, View().SliceOf(nBand), list.size(), View().SliceCount(source),
                           &View().Properties(source), list.data(), &err) != ZS_OK)
        zsReport(err);
    for (size_t n = 0; n < list.size(); n++)
    {
        auto &properties = Dataset().Band(nBand + static_cast<int>(n)).m_properties;
        if (properties != nullptr)
            continue;
        properties.reset(new zs_band_properties{});
        std::swap(*properties, list[n]);
    }
}

/* For an overview level that is being made: it gets the properties of the base's band. */
void ShardedZarrRasterBand::CopyProperties(ShardedZarrRasterBand &other)
{
    struct zs_error err;
    m_properties.reset(new zs_band_properties{});
    if (zs_band_properties_copy(&other.Properties(), m_properties.get(), &err) != ZS_OK)
        zsReport(err);
}

/* ---- A side-car file goes before the store, as in GTiff ---- */

namespace
{
/* A property as a side-car file has it. */
struct SideCarProperty
{
    unsigned bit; /* ZS_BAND_... */
    bool (*isThere)(const GDALRasterBandPamInfo &pam);
    void (*drop)(GDALRasterBandPamInfo &pam);
};

const SideCarProperty SIDE_CAR[] = {
    {ZS_BAND_NODATA,
     [](const GDALRasterBandPamInfo &pam)
     { return pam.bNoDataValueSet || pam.bNoDataValueSetAsInt64 || pam.bNoDataValueSetAsUInt64; },
     [](GDALRasterBandPamInfo &pam)
     { pam.bNoDataValueSet = pam.bNoDataValueSetAsInt64 = pam.bNoDataValueSetAsUInt64 = false; }},
    // The number alone counts when it is written.
    {ZS_BAND_SCALE, [](const GDALRasterBandPamInfo &pam) { return pam.bScaleSet; },
     [](GDALRasterBandPamInfo &pam) { pam.bScaleSet = false, pam.dfScale = 1; }},
    {ZS_BAND_OFFSET, [](const GDALRasterBandPamInfo &pam) { return pam.bOffsetSet; },
     [](GDALRasterBandPamInfo &pam) { pam.bOffsetSet = false, pam.dfOffset = 0; }},
    {ZS_BAND_UNIT, [](const GDALRasterBandPamInfo &pam) { return pam.pszUnitType != nullptr; },
     [](GDALRasterBandPamInfo &pam) { CPLFree(std::exchange(pam.pszUnitType, nullptr)); }},
    {ZS_BAND_CATEGORIES, [](const GDALRasterBandPamInfo &pam) { return pam.papszCategoryNames != nullptr; },
     [](GDALRasterBandPamInfo &pam) { CSLDestroy(std::exchange(pam.papszCategoryNames, nullptr)); }},
    {ZS_BAND_COLOUR, [](const GDALRasterBandPamInfo &pam) { return pam.eColorInterp != GCI_Undefined; },
     [](GDALRasterBandPamInfo &pam) { pam.eColorInterp = GCI_Undefined; }},
    {ZS_BAND_COLOUR_TABLE, [](const GDALRasterBandPamInfo &pam) { return pam.poColorTable != nullptr; },
     [](GDALRasterBandPamInfo &pam) { delete std::exchange(pam.poColorTable, nullptr); }},
};
} // namespace

bool ShardedZarrRasterBand::IsInSideCar(unsigned property) const
{
    return psPam != nullptr && std::any_of(std::begin(SIDE_CAR), std::end(SIDE_CAR), [&](const SideCarProperty &p)
                                           { return p.bit == property && p.isThere(*psPam); });
}

void ShardedZarrRasterBand::DropFromSideCar(unsigned property)
{
    for (const auto &p : SIDE_CAR)
    {
        if (psPam == nullptr || (p.bit & property) == 0 || !p.isThere(*psPam))
            continue;
        p.drop(*psPam);
        Dataset().MarkPamDirty();
    }
    if ((property & ZS_BAND_DESCRIPTION) != 0 && GDALPamRasterBand::GetDescription()[0] != '\0')
        GDALPamRasterBand::SetDescription("");
}

/* ---- Getting: from the side-car file, else from the store ---- */

/* Whether the store's value of a property, which it has or has not, is the band's; *has is set then. */
bool ShardedZarrRasterBand::IsFromStore(bool isThere, unsigned property, int *has) const
{
    const bool isFromStore = isThere && !IsInSideCar(property);
    if (isFromStore && has != nullptr)
        *has = TRUE;
    return isFromStore;
}

double ShardedZarrRasterBand::GetNoDataValue(int *has)
{
    if (!IsFromStore(GuardedProperties().has_nodata, ZS_BAND_NODATA, has))
        return GDALPamRasterBand::GetNoDataValue(has);
    const struct zs_array_info info = View().Info(Source());
    return zsElementToDouble(info.data_type, info.item_size, Properties().nodata);
}

/* For the GDAL type of T. */
template <class T> bool ShardedZarrRasterBand::GetWideNodata(GDALDataType type, int *has, T &value)
{
    const auto &properties = GuardedProperties();
    if (!IsFromStore(properties.has_nodata && eDataType == type, ZS_BAND_NODATA, has))
        return false;
    memcpy(&value, properties.nodata, sizeof value);
    return true;
}

int64_t ShardedZarrRasterBand::GetNoDataValueAsInt64(int *has)
{
    int64_t value;
    return GetWideNodata(GDT_Int64, has, value) ? value : GDALPamRasterBand::GetNoDataValueAsInt64(has);
}

uint64_t ShardedZarrRasterBand::GetNoDataValueAsUInt64(int *has)
{
    uint64_t value;
    return GetWideNodata(GDT_UInt64, has, value) ? value : GDALPamRasterBand::GetNoDataValueAsUInt64(has);
}

double ShardedZarrRasterBand::GetScale(int *has)
{
    const auto &properties = GuardedProperties();
    return IsFromStore(properties.has_scale, ZS_BAND_SCALE, has) ? properties.scale : GDALPamRasterBand::GetScale(has);
}

double ShardedZarrRasterBand::GetOffset(int *has)
{
    const auto &properties = GuardedProperties();
    return IsFromStore(properties.has_offset, ZS_BAND_OFFSET, has) ? properties.offset
                                                                   : GDALPamRasterBand::GetOffset(has);
}

const char *ShardedZarrRasterBand::GetUnitType()
{
    const auto &properties = GuardedProperties();
    return IsFromStore(properties.unit != nullptr, ZS_BAND_UNIT) ? properties.unit : GDALPamRasterBand::GetUnitType();
}

char **ShardedZarrRasterBand::GetCategoryNames()
{
    const auto &properties = GuardedProperties();
    return IsFromStore(properties.categories != nullptr, ZS_BAND_CATEGORIES) ? properties.categories
                                                                    : GDALPamRasterBand::GetCategoryNames();
}

GDALColorTable *ShardedZarrRasterBand::GetColorTable()
{
    return zsGuard([&] {
        const auto &properties = Properties();
        if (!IsFromStore(properties.colour_table != nullptr, ZS_BAND_COLOUR_TABLE))
            return GDALPamRasterBand::GetColorTable();
        if (m_colorTable == nullptr)
        {
            auto table = std::make_unique<GDALColorTable>();
            for (size_t i = 0; i < properties.colour_count; i++)
            {
                const auto &c = properties.colour_table[i];
                const GDALColorEntry entry = {c.r, c.g, c.b, c.a};
                table->SetColorEntry(static_cast<int>(i), &entry);
            }
            // As of a GeoTIFF: programs look up any byte.
            constexpr int BYTES = 256;
            const GDALColorEntry black = {0, 0, 0, 255};
            for (int i = table->GetColorEntryCount(); eDataType == GDT_Byte && i < BYTES; i++)
                table->SetColorEntry(i, &black);
            m_colorTable = std::move(table);
        }
        return m_colorTable.get();
    });
}

const char *ShardedZarrRasterBand::ColorOfNames()
{
    const char *colour = zs_colour_of_name(Properties().description);
    const size_t source = Source();
    const ZSArray &array = View().Array(source);
    if (colour == nullptr && View().Slices(source).dim_count > 0)
    {
        const ZSLabels &labels = View().Labels(source);
        const auto position = View().BandPosition(nBand);
        for (size_t i = 0; i < position.size() && colour == nullptr; i++)
        {
            const int d = View().Slices(source).dims[i];
            if (!labels.values[i].empty())
                colour = zs_colour_of_name(labels.values[i][position[i]].c_str());
            if (colour == nullptr)
                colour = zs_colour_of_name(zs_channel_colour(View().store->hierarchy, array.node, d,
                                                             View().Slices(source).first[d] + position[i]));
        }
    }
    if (colour == nullptr && View().Slices(source).count == 1)
        colour = zs_colour_of_name(zs_path_name(array.node->path));
    return colour;
}

GDALColorInterp ShardedZarrRasterBand::GetColorInterpretation()
{
    return zsGuard([&] {
        const GDALColorInterp set = GDALPamRasterBand::GetColorInterpretation();
        if (set != GCI_Undefined || Dataset().m_isMask)
            return set;
        const auto &properties = Properties();
        if (properties.colour_name == nullptr && properties.colour_table != nullptr)
            return GCI_PaletteIndex;
        const char *colour = properties.colour_name != nullptr ? properties.colour_name : ColorOfNames();
        return colour != nullptr ? GDALGetColorInterpretationByName(colour) : GCI_Undefined;
    });
}

/* ---- Setting: into m_properties, which is flushed to the array's attributes; where the store is only read, into a
 * side-car file ---- */

const struct zs_band_properties &ShardedZarrRasterBand::CurrentProperties()
{
    auto &properties = Properties();
    if ((m_read & DOMAINS) != 0)
    {
        zs_domains_clear(&properties.domains);
        properties.domains = zsDomainsOf(*this);
    }
    if ((m_read & ITEMS) != 0)
    {
        std::string words;
        CPLStringList own = zsItemsNotIn(m_shown.Get(), PositionItems(words).List());
        own = zsItemsNotIn(own.List(), Dataset().OwnItems(Source()).List());
        zs_names_free(std::exchange(properties.metadata, zsCopyList(own.List())));
    }
    return properties;
}

CPLErr ShardedZarrRasterBand::WillChange(unsigned property)
{
    auto &ds = Dataset();
    const size_t source = Source();
    if (View().SliceCount(source) > ZS_MOST_BANDS)
        return zsRefuse(CPLE_NotSupported,
                        "/%s: nothing is stored of one of its slices alone, of which there are more than %d; set it "
                        "of the array, in the multidimensional API", View().Array(source).node->path,
                        static_cast<int>(ZS_MOST_BANDS));
    m_changed |= property;
    ds.m_areBandsChanged = true;
    DropFromSideCar(property);
    return CE_None;
}

/* Sets a property: by beside() where the store is only read, else by inStore(properties), which is flushed later. */
template <class Beside, class InStore>
CPLErr ShardedZarrRasterBand::Set(unsigned property, const Beside &beside, const InStore &inStore)
{
    return zsGuard([&] {
        if (!Dataset().IsUpdate())
            return beside();
        if (WillChange(property) != CE_None)
            return CE_Failure;
        inStore(Properties());
        return CE_None;
    });
}

/* Null removes the nodata value. */
CPLErr ShardedZarrRasterBand::SetElementOfNodata(const void *element)
{
    auto &properties = Properties();
    const size_t size = View().Info(Source()).item_size;
    const bool isSame = element == nullptr
                            ? !properties.has_nodata
                            : properties.has_nodata && memcmp(properties.nodata, element, size) == 0;
    // A value that is declared already is not written again; so a missing_value beside it stays, too.
    if (isSame && (element == nullptr || zs_declares_nodata(View().Array(Source()).node)))
        return CE_None;
    if (WillChange(ZS_BAND_NODATA) != CE_None)
        return CE_Failure;
    properties.has_nodata = element != nullptr;
    properties.nodata_is_implied = false;
    if (element != nullptr)
        memcpy(properties.nodata, element, size);
    return CE_None;
}

/* Refuses a value that the array does not give back as it was stored: its type, or that of its chunks, lacks it. */
CPLErr ShardedZarrRasterBand::SetNodata(const ZSNodata &value)
{
    return zsGuard([&]() -> CPLErr {
        const struct zs_array_info info = View().Info(Source());
        const auto &ds = Dataset();
        if (!ds.m_laterFactors.empty() &&
            !zsMayResample(ds.GetDescription(), eDataType, value, ds.m_laterResampling))
            return CE_Failure;
        unsigned char element[ZS_MAX_ITEM_SIZE] = {};
        const bool isHeld = value.ToElement(info.data_type, info.item_size, element);
        const auto &properties = Properties();
        const bool isThere = properties.has_nodata && memcmp(properties.nodata, element, info.item_size) == 0;
        const struct zs_array *array = View().Array(Source()).array;
        if (isHeld && (isThere || zs_array_keeps_element(array, element)))
            return SetElementOfNodata(element);
        const std::string type = View().Array(Source()).node->array->dtype.name;
        return zsRefuse(CPLE_AppDefined, "%s: band %d: nodata value %s %s", zsShown(Dataset().GetDescription()).c_str(),
                        nBand, value.Text().c_str(),
                        isHeld ? "is stored as another one (BITROUND, or a cast)" : ("cannot be a " + type).c_str());
    });
}

CPLErr ShardedZarrRasterBand::SetNoDataValue(double value)
{
    return Dataset().IsUpdate() ? SetNodata(ZSNodata(value)) : GDALPamRasterBand::SetNoDataValue(value);
}

CPLErr ShardedZarrRasterBand::SetNoDataValueAsInt64(int64_t value)
{
    return Dataset().IsUpdate() ? SetNodata(ZSNodata(value)) : GDALPamRasterBand::SetNoDataValueAsInt64(value);
}

CPLErr ShardedZarrRasterBand::SetNoDataValueAsUInt64(uint64_t value)
{
    return Dataset().IsUpdate() ? SetNodata(ZSNodata(value)) : GDALPamRasterBand::SetNoDataValueAsUInt64(value);
}

CPLErr ShardedZarrRasterBand::DeleteNoDataValue()
{
    return zsGuard([&] {
        return Dataset().IsUpdate() ? SetElementOfNodata(nullptr) : GDALPamRasterBand::DeleteNoDataValue();
    });
}

CPLErr ShardedZarrRasterBand::SetScale(double scale)
{
    return Set(
        ZS_BAND_SCALE, [&] { return GDALPamRasterBand::SetScale(scale); },
        [&](struct zs_band_properties &properties) { properties.scale = scale, properties.has_scale = true; });
}

CPLErr ShardedZarrRasterBand::SetOffset(double offset)
{
    return Set(
        ZS_BAND_OFFSET, [&] { return GDALPamRasterBand::SetOffset(offset); },
        [&](struct zs_band_properties &properties) { properties.offset = offset, properties.has_offset = true; });
}

CPLErr ShardedZarrRasterBand::SetUnitType(const char *unit)
{
    return Set(
        ZS_BAND_UNIT, [&] { return GDALPamRasterBand::SetUnitType(unit); },
        [&](struct zs_band_properties &properties) { zsReplaceText(properties.unit, unit); });
}

CPLErr ShardedZarrRasterBand::SetCategoryNames(char **names)
{
    char **stored = Properties().categories; // CF's flags hold more: the same names change nothing
    const int count = CSLCount(names);
    bool isSame = stored != nullptr && IsFromStore(true, ZS_BAND_CATEGORIES) && CSLCount(stored) == count;
    for (int i = 0; isSame && i < count; i++)
        isSame = strcmp(stored[i], names[i]) == 0;
    if (isSame)
        return CE_None;
    const auto inStore = [&](struct zs_band_properties &properties)
    {
        zs_names_free(std::exchange(properties.categories, zsCopyList(names)));
    };
    return Set(ZS_BAND_CATEGORIES, [&] { return GDALPamRasterBand::SetCategoryNames(names); }, inStore);
}

CPLErr ShardedZarrRasterBand::SetColorInterpretation(GDALColorInterp interpretation)
{
    return Set(
        ZS_BAND_COLOUR, [&] { return GDALPamRasterBand::SetColorInterpretation(interpretation); },
        [&](struct zs_band_properties &properties)
        {
            setColor(properties, interpretation);
            if (interpretation == GCI_Undefined && ColorOfNames() != nullptr)
                zsDeclareNoColor(properties);
        });
}

CPLErr ShardedZarrRasterBand::SetColorTable(GDALColorTable *table)
{
    if (table != nullptr && table->GetPaletteInterpretation() != GPI_RGB)
        return zsRefuse(CPLE_NotSupported, "%s: expected a colour table of RGB",
                        zsShown(poDS->GetDescription()).c_str());
    const auto inStore = [&](struct zs_band_properties &properties)
    {
        const bool wasPalette = GetColorInterpretation() == GCI_PaletteIndex;
        setColorTable(properties, table);
        if (properties.colour_table != nullptr || wasPalette)
            setColor(properties, GCI_Undefined); // a band with a table is a palette
        m_colorTable.reset();
    };
    return Set(ZS_BAND_COLOUR_TABLE | ZS_BAND_COLOUR, [&] { return GDALPamRasterBand::SetColorTable(table); }, inStore);
}

/* ---- Flushing ---- */

/* Drops a scale of 1 with an offset of 0 that were set: gdalwarp sets them of every VRT, and xarray makes floats of
 * integers that have them. */
void ShardedZarrRasterBand::DropIdentity()
{
    constexpr unsigned pair = ZS_BAND_SCALE | ZS_BAND_OFFSET;
    auto &properties = Properties();
    const bool isIdentity = (!properties.has_scale || properties.scale == 1) &&
                            (!properties.has_offset || properties.offset == 0);
    if ((m_changed & pair) == 0 || !isIdentity)
        return;
    properties.has_scale = properties.has_offset = false;
    m_changed |= pair;
}

/* Items of an array of a group are the array's: new and changed ones are written to the band, and go before them. */
void ShardedZarrRasterBand::WarnOfKeptItems()
{
    if ((m_read & ITEMS) == 0 || (m_changed & ZS_BAND_METADATA) == 0)
        return;
    const CPLStringList &own = Dataset().OwnItems(Source());
    for (int i = 0; i < own.size(); i++)
    {
        const std::string name = zsItemName(own[i]);
        if (zsItemValue(m_shown.Get(), name.c_str()) == nullptr)
            CPLError(CE_Warning, CPLE_AppDefined, "%s: band %d: %s is an attribute of /%s: it stays",
                     zsShown(poDS->GetDescription()).c_str(), nBand, name.c_str(), View().Array(Source()).node->path);
    }
}

enum zs_status ShardedZarrDataset::FlushBandsOf(size_t source, struct zs_error *err)
{
    const ZSArray &array = m_view.Array(source);
    const int before = m_view.Before(source), count = m_view.Count(source);
    unsigned which = 0;
    for (int b = 1; b <= count; b++)
    {
        Band(before + b).DropIdentity();
        Band(before + b).WarnOfKeptItems();
        which |= std::exchange(Band(before + b).m_changed, 0);
    }
    if (which == 0)
        return ZS_OK;
    const uint64_t slices = m_view.SliceCount(source);
    PropertyList all(static_cast<size_t>(slices));
    ZS_TRY(zs_bands_read(array.node, 0, slices, slices, &m_view.Properties(source), all.data(), err));
    for (int b = 1; b <= count; b++)
    {
        struct zs_band_properties &to = all[m_view.SliceOf(before + b)];
        zs_band_properties_clear(&to);
        ZS_TRY(zs_band_properties_copy(&Band(before + b).CurrentProperties(), &to, err));
    }
    return zs_update_bands(m_view.store->hierarchy, array.node, array.axes, all.data(), all.size(), which, err);
}

enum zs_status ShardedZarrDataset::FlushBands(struct zs_error *err)
{
    // Of a mask its flags are the only property; no format keeps what users set on a mask.
    for (size_t i = 0; i < m_view.sources.size() && m_areBandsChanged && !m_isMask; i++)
        ZS_TRY(FlushBandsOf(i, err));
    m_areBandsChanged = false;
    return ZS_OK;
}
