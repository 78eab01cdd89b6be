/* Properties of a band, read from the array's attributes and, in update mode, written back: nodata, scale, offset,
 * unit, categories, colours. Description and metadata: band.cpp. */
#include <algorithm>
#include <cmath>
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

static void setColorTable(ZSProperties &properties, const GDALColorTable *table)
{
    const bool isRGB = table != nullptr && table->GetPaletteInterpretation() == GPI_RGB; // GDAL converts no others
    const int n = isRGB ? table->GetColorEntryCount() : 0;
    properties.Unset("color_table");
    zs_json *list = n > 0 ? zs_json_set(properties.members, "color_table", zs_json_new_array()) : nullptr;
    bool ok = n == 0 || list != nullptr;
    for (int i = 0; i < n && ok; i++)
    {
        GDALColorEntry c;
        table->GetColorEntryAsRGB(i, &c);
        zs_json *entry = zs_json_add_array(list, nullptr);
        for (const short part : {c.c1, c.c2, c.c3, c.c4})
            ok = zs_json_add_int64(entry, nullptr, part) != nullptr;
    }
    if (!ok)
        throw std::bad_alloc();
}

static void setColor(ZSProperties &properties, GDALColorInterp interpretation)
{
    const char *name = interpretation != GCI_Undefined ? GDALGetColorInterpretationName(interpretation) : nullptr;
    properties.SetText("color_interpretation", name);
}

ZSProperties zsPropertiesOf(GDALRasterBand &band)
{
    ZSProperties properties;
    int hasScale = FALSE, hasOffset = FALSE;
    const double scale = band.GetScale(&hasScale), offset = band.GetOffset(&hasOffset);
    const bool isScaled = (hasScale && scale != 1) || (hasOffset && offset != 0);
    if (isScaled) // one without the other confuses readers
    {
        properties.SetNumber("scale", hasScale ? scale : 1);
        properties.SetNumber("offset", hasOffset ? offset : 0);
    }
    properties.SetText("unit", band.GetUnitType());
    properties.SetText("description", band.GetDescription());
    properties.SetNames("categories", band.GetCategoryNames());
    CPLStringList items(CSLDuplicate(band.GetMetadata()));
    zsDropScaleItems(items, "", isScaled);
    properties.SetItems(items.List());
    zsTakeDomains(properties, band);
    setColor(properties, band.GetColorInterpretation());
    setColorTable(properties, band.GetColorTable());
    return properties;
}

/* ---- Reading ---- */

/* Those of all slices of its array are read at once, as they are written. No list is of more slices than GDAL has
 * bands. */
ZSProperties &ShardedZarrRasterBand::Properties()
{
    if (m_properties != nullptr)
        return *m_properties;
    const size_t source = Source();
    const uint64_t slices = View().SliceCount(source), before = static_cast<uint64_t>(View().Before(source));
    const bool isAll = slices <= ZS_MOST_BANDS;
    auto &all = Dataset().m_bandProperties[source];
    if (all.empty())
    {
        std::vector<ZSProperties> list(static_cast<size_t>(isAll ? slices : View().Slices(source).count));
        struct zs_error err;
        if (!Dataset().m_isMask && // its elements mark valid pixels, and nothing else
            zs_bands_read(View().Array(source).node, list.size(), isAll ? slices : 0, &View().Properties(source),
                          list.data(), &err) != ZS_OK)
            zsReport(err);
        all = std::move(list);
    }
    const uint64_t index = isAll ? View().SliceOf(nBand) : static_cast<uint64_t>(nBand) - 1 - before;
    m_properties = &all[static_cast<size_t>(index)];
    return *m_properties;
}

/* For what GDAL asks: none without memory, with CPLError emitted. */
const struct zs_band_properties &ShardedZarrRasterBand::GuardedProperties()
{
    static const struct zs_band_properties none = {};
    const auto *properties = zsGuard([this] { return &Properties(); });
    return properties != nullptr ? *properties : none;
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
    double scale = 1;
    const bool isThere = zs_json_double(zs_band_member(&GuardedProperties(), "scale"), &scale);
    return IsFromStore(isThere, ZS_BAND_SCALE, has) ? scale : GDALPamRasterBand::GetScale(has);
}

double ShardedZarrRasterBand::GetOffset(int *has)
{
    double offset = 0;
    const bool isThere = zs_json_double(zs_band_member(&GuardedProperties(), "offset"), &offset);
    return IsFromStore(isThere, ZS_BAND_OFFSET, has) ? offset : GDALPamRasterBand::GetOffset(has);
}

const char *ShardedZarrRasterBand::GetUnitType()
{
    const char *unit = zs_band_text(&GuardedProperties(), "unit");
    return IsFromStore(unit != nullptr, ZS_BAND_UNIT) ? unit : GDALPamRasterBand::GetUnitType();
}

char **ShardedZarrRasterBand::GetCategoryNames()
{
    return zsGuard([&] {
        const zs_json *names = zs_band_member(&Properties(), "categories");
        if (!IsFromStore(names != nullptr, ZS_BAND_CATEGORIES))
            return GDALPamRasterBand::GetCategoryNames();
        const zs_json *e = m_categories.empty() ? zs_json_first(names) : nullptr;
        for (; e != nullptr; e = zs_json_next(e))
        {
            const char *name = "";
            zs_json_string(e, &name);
            m_categories.AddString(name);
        }
        return m_categories.List();
    });
}

GDALColorTable *ShardedZarrRasterBand::GetColorTable()
{
    return zsGuard([&] {
        const zs_json *colours = zs_band_member(&Properties(), "color_table");
        if (!IsFromStore(colours != nullptr, ZS_BAND_COLOUR_TABLE))
            return GDALPamRasterBand::GetColorTable();
        if (m_colorTable == nullptr)
        {
            auto table = std::make_unique<GDALColorTable>();
            for (const zs_json *e = zs_json_first(colours); e != nullptr; e = zs_json_next(e))
            {
                short c[4];
                zs_colour_read(e, c);
                const GDALColorEntry entry = {c[0], c[1], c[2], c[3]};
                table->SetColorEntry(table->GetColorEntryCount(), &entry);
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
    const char *colour = zs_colour_of_name(zs_band_text(&Properties(), "description"));
    const size_t source = Source();
    const ZSArray &array = View().Array(source);
    if (colour == nullptr && View().Slices(source).dim_count > 0)
    {
        const ZSLabels &labels = View().Labels(source);
        const auto position = View().BandPosition(nBand);
        for (size_t i = 0; i < position.size() && colour == nullptr; i++)
        {
            const int d = View().Slices(source).dims[i];
            if (labels[i]->values != nullptr)
                colour = zs_colour_of_name(labels[i]->values[position[i]]);
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
        const char *colour = zs_band_text(&Properties(), "color_interpretation");
        if (colour == nullptr && zs_band_member(&Properties(), "color_table") != nullptr)
            return GCI_PaletteIndex;
        colour = colour != nullptr ? colour : ColorOfNames();
        return colour != nullptr ? GDALGetColorInterpretationByName(colour) : GCI_Undefined;
    });
}

/* ---- Setting: into m_properties, which is flushed to the array's attributes; where the store is only read, into a
 * side-car file ---- */

/* Items of an array of a group are the array's: new and changed ones are the band's, and go before them. */
void ShardedZarrRasterBand::TakeMetadata()
{
    auto &properties = Properties();
    const CPLStringList &ofArray = Dataset().OwnItems(Source());
    std::string words;
    if ((m_read & DOMAINS) != 0)
        zsTakeDomains(properties, *this);
    if ((m_read & ITEMS) == 0)
        return;
    const CPLStringList own = zsItemsNotIn(m_shown.GetMetadata(), PositionItems(words).List());
    properties.SetItems(zsItemsNotIn(own.List(), ofArray.List()).List());
    for (int i = 0; i < ofArray.size(); i++)
    {
        const std::string name = zsItemName(ofArray[i]);
        if (zsItemValue(m_shown.GetMetadata(), name.c_str()) == nullptr)
            CPLError(CE_Warning, CPLE_AppDefined, "%s: band %d: %s is an attribute of /%s: it stays",
                     zsShown(poDS->GetDescription()).c_str(), nBand, name.c_str(), View().Array(Source()).node->path);
    }
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

/* Sets a scale or an offset, which in a store is finite: JSON has no other numbers. */
template <class Beside>
CPLErr ShardedZarrRasterBand::SetNumber(unsigned property, const char *name, double value, const Beside &beside)
{
    if (Dataset().IsUpdate() && !std::isfinite(value))
        return zsRefuse(CPLE_IllegalArg, "%s: band %d: expected a finite %s, found %g",
                        zsShown(poDS->GetDescription()).c_str(), nBand, name, value);
    return Set(property, beside, [&](ZSProperties &properties) { properties.SetNumber(name, value); });
}

CPLErr ShardedZarrRasterBand::SetScale(double scale)
{
    return SetNumber(ZS_BAND_SCALE, "scale", scale, [&] { return GDALPamRasterBand::SetScale(scale); });
}

CPLErr ShardedZarrRasterBand::SetOffset(double offset)
{
    return SetNumber(ZS_BAND_OFFSET, "offset", offset, [&] { return GDALPamRasterBand::SetOffset(offset); });
}

CPLErr ShardedZarrRasterBand::SetUnitType(const char *unit)
{
    return Set(
        ZS_BAND_UNIT, [&] { return GDALPamRasterBand::SetUnitType(unit); },
        [&](ZSProperties &properties) { properties.SetText("unit", unit); });
}

CPLErr ShardedZarrRasterBand::SetCategoryNames(char **names)
{
    ZSProperties wanted;
    wanted.SetNames("categories", names);
    const zs_json *now = zs_band_member(&Properties(), "categories");
    if (IsFromStore(now != nullptr, ZS_BAND_CATEGORIES) && zs_json_is_same(now, zs_band_member(&wanted, "categories")))
        return CE_None; // CF's flags hold more
    const auto inStore = [&](ZSProperties &properties)
    {
        properties.SetNames("categories", names);
        m_categories.Clear();
    };
    return Set(ZS_BAND_CATEGORIES, [&] { return GDALPamRasterBand::SetCategoryNames(names); }, inStore);
}

CPLErr ShardedZarrRasterBand::SetColorInterpretation(GDALColorInterp interpretation)
{
    return Set(
        ZS_BAND_COLOUR, [&] { return GDALPamRasterBand::SetColorInterpretation(interpretation); },
        [&](ZSProperties &properties)
        {
            setColor(properties, interpretation);
            if (interpretation == GCI_Undefined && ColorOfNames() != nullptr)
                properties.SetText("color_interpretation", "Undefined"); // else the name would tell one
        });
}

CPLErr ShardedZarrRasterBand::SetColorTable(GDALColorTable *table)
{
    if (table != nullptr && table->GetPaletteInterpretation() != GPI_RGB)
        return zsRefuse(CPLE_NotSupported, "%s: expected a colour table of RGB",
                        zsShown(poDS->GetDescription()).c_str());
    const auto inStore = [&](ZSProperties &properties)
    {
        const bool wasPalette = GetColorInterpretation() == GCI_PaletteIndex;
        setColorTable(properties, table);
        if (table != nullptr || wasPalette)
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
    double scale = 1, offset = 0;
    zs_json_double(zs_band_member(&properties, "scale"), &scale);
    zs_json_double(zs_band_member(&properties, "offset"), &offset);
    if ((m_changed & pair) == 0 || scale != 1 || offset != 0)
        return;
    properties.Unset("scale");
    properties.Unset("offset");
    m_changed |= pair;
}

enum zs_status ShardedZarrDataset::FlushBandsOf(size_t source, struct zs_error *err)
{
    const ZSArray &array = m_view.Array(source);
    const int before = m_view.Before(source), count = m_view.Count(source);
    unsigned which = 0;
    for (int b = 1; b <= count; b++)
    {
        Band(before + b).DropIdentity();
        if ((Band(before + b).m_changed & ZS_BAND_METADATA) != 0)
            Band(before + b).TakeMetadata();
        which |= std::exchange(Band(before + b).m_changed, 0);
    }
    if (which == 0)
        return ZS_OK;
    const auto &all = m_bandProperties[source];
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
