/* Arrays: of numbers, and of text. */
#include "mdim.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "gdal/guard.h"

extern "C"
{
#include "base/memory.h"
#include "codec/chain.h"
#include "geo/conventions.h"
#include "raster/update.h"
#include "zarr/name.h"
}

namespace
{
class ZSMdimArray final : public GDALPamMDArray, public ZSMdimObject
{
    const bool m_isText;
    GDALExtendedDataType m_type;
    std::vector<std::shared_ptr<GDALDimension>> m_dimensions;
    std::string m_filename;
    CPLStringList m_structure;
    std::shared_ptr<struct zs_array> m_opened; /* null of text; where it is changed it may be of before a change */
    std::string m_unit;
    const std::unique_ptr<ZSProperties> m_properties = std::make_unique<ZSProperties>();
    std::vector<GByte> m_nodata; /* as an element of m_type; empty where there is none */

    GUInt64 m_written = 0;       /* elements, since CopyFrom() began */

    mutable std::mutex m_lock; /* of the members below, which are read lazily: that may cost requests */
    mutable bool m_srsRead = false;
    mutable std::shared_ptr<OGRSpatialReference> m_srs;

    std::shared_ptr<struct zs_array> Core(struct zs_error *err) const
    {
        return m_store->IsUpdatable() ? m_store->Open(*m_handle, err) : m_opened;
    }
    ZSMdimRequest Request(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                          const GDALExtendedDataType &type, const void *data) const
    {
        return zsMdimRequest(m_dimensions.size(), start, count, step, stride, type.GetSize(), data);
    }
    enum zs_status Write(const ZSMdimRequest &request, const GDALExtendedDataType &type, struct zs_error *err);
    void TakeProperties(const struct zs_node *node);
    void TakeNodata(const struct zs_node *node);
    void TellStructure(const struct zs_node *node);
#if ZS_GDAL_AT_LEAST(13)
    std::vector<std::string> Levels() const;
#endif
    bool SetProperty(enum zs_band_property property, const ZSProperties &wanted);
    bool SetNodata(const void *value);
    bool IsImpliedInSource(const void *element, const struct zs_node *node) const;
    bool ChangeSpatialRef(OGRSpatialReference *srs);
    std::shared_ptr<OGRSpatialReference> ReadSpatialRef() const;

  protected:
    bool IRead(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
               const GDALExtendedDataType &type, void *data) const override;
    bool IWrite(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                const GDALExtendedDataType &type, const void *data) override;
    bool IAdviseRead(const GUInt64 *start, const size_t *count, CSLConstList options) const override;
    /* GDAL looks for a side-car file with a cache at the first read: of a remote store that is a request. */
    bool IsCacheable() const override
    {
        return !m_isText && !m_store->Store()->is_remote && !m_store->IsUpdatable();
    }

  public:
    ZSMdimArray(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                const GDALExtendedDataType &type, const std::shared_ptr<struct zs_array> &opened)
        : GDALAbstractMDArray(store->ParentName(node->path), store->NodeName(node->path)),
          GDALPamMDArray(store->ParentName(node->path), store->NodeName(node->path),
                         node->is_text ? nullptr : store->Pam()),
          ZSMdimObject(store, store->Handle(node->path)), m_isText(node->is_text), m_type(type),
          m_filename(store->DocumentName(node->path)), m_opened(opened)
    {
    }
    static std::shared_ptr<GDALMDArray> Create(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                               const std::vector<std::shared_ptr<GDALDimension>> &made,
                                               struct zs_error *err);

    const std::vector<std::shared_ptr<GDALDimension>> &GetDimensions() const override
    {
        return m_dimensions;
    }
    const GDALExtendedDataType &GetDataType() const override
    {
        return m_type;
    }
    const std::string &GetUnit() const override
    {
        return m_unit;
    }
    const void *GetRawNoDataValue() const override
    {
        return m_nodata.empty() ? nullptr : m_nodata.data();
    }
    bool IsWritable() const override
    {
        return m_store->IsUpdatable();
    }
    const std::string &GetFilename() const override
    {
        return m_filename;
    }
    CSLConstList GetStructuralInfo() const override
    {
        return m_structure.List();
    }
    std::shared_ptr<GDALAttribute> GetAttribute(const std::string &name) const override
    {
        return zsGuard([&] { return GetAttributeFromAttributes(name); });
    }
    double GetOffset(bool *has, GDALDataType *stored) const override;
    double GetScale(bool *has, GDALDataType *stored) const override;
    std::vector<GUInt64> GetBlockSize() const override;
    std::shared_ptr<OGRSpatialReference> GetSpatialRef() const override;
    std::vector<std::shared_ptr<GDALAttribute>> GetAttributes(CSLConstList options) const override;
    std::vector<std::shared_ptr<GDALMDArray>> GetCoordinateVariables() const override;
#if ZS_GDAL_AT_LEAST(13)
    int GetOverviewCount() const override
    {
        return zsGuard([&] { return static_cast<int>(Levels().size()); });
    }
    std::shared_ptr<GDALMDArray> GetOverview(int i) const override;
#endif

    /* ---- Changing ---- */

    void Refresh() override;
    bool CopyFrom(GDALDataset *dataset, const GDALMDArray *from, bool strict, GUInt64 &cost, const GUInt64 totalCost,
                  GDALProgressFunc progress, void *progressData) override;
    std::shared_ptr<GDALAttribute> CreateAttribute(const std::string &name, const std::vector<GUInt64> &dimensions,
                                                   const GDALExtendedDataType &type, CSLConstList) override
    {
        return zsGuard([&] { return zsMdimNewAttribute(m_store, m_handle, name, dimensions, type); });
    }
    bool SetUnit(const std::string &unit) override;
    bool SetScale(double scale, GDALDataType) override
    {
        return zsGuard([&] {
            auto wanted = *m_properties;
            wanted.SetNumber("scale", scale);
            return SetProperty(ZS_BAND_SCALE, wanted);
        });
    }
    bool SetOffset(double offset, GDALDataType) override
    {
        return zsGuard([&] {
            auto wanted = *m_properties;
            wanted.SetNumber("offset", offset);
            return SetProperty(ZS_BAND_OFFSET, wanted);
        });
    }
    bool SetRawNoDataValue(const void *value) override
    {
        return zsGuard([&] { return m_isText ? GDALMDArray::SetRawNoDataValue(value) : SetNodata(value); });
    }
    bool SetSpatialRef(const OGRSpatialReference *srs) override;
#if ZS_GDAL_AT_LEAST(7)
    bool Resize(const std::vector<GUInt64> &sizes, CSLConstList) override;
#endif
#if ZS_GDAL_AT_LEAST(8)
    bool Rename(const std::string &name) override
    {
        return zsGuard([&] { return m_store->Rename(*m_handle, zsUtf8(name)); });
    }
    bool DeleteAttribute(const std::string &name, CSLConstList) override
    {
        return zsGuard([&] { return zsMdimDeleteAttribute(*m_store, *m_handle, name); });
    }
    std::shared_ptr<GDALGroup> GetRootGroup() const override
    {
        return zsGuard([&] { return m_store->RootGroup(); });
    }
#endif
};
} // namespace

/* ---- Opening ---- */

static std::string sizesText(const uint64_t *sizes, int n)
{
    std::string text;
    for (int d = 0; d < n; d++)
        text += (d > 0 ? "," : "") + std::to_string(sizes[d]);
    return text;
}

/* How chunks are encoded, in the words of GDAL's own Zarr driver, and units of times, which GDAL has no type for. */
void ZSMdimArray::TellStructure(const struct zs_node *node)
{
    const std::unique_ptr<char, decltype(&free)> codecs(zs_codecs_text(node), free);
    if (codecs != nullptr)
        m_structure.SetNameValue("CODECS", codecs.get());
    if (m_isText)
        return;
    const struct zs_array_info info = zs_array_get_info(m_opened.get());
    const zs_json *configuration = nullptr;
    const char *name = zs_extension_name(zs_json_get(node->document, "data_type"), &configuration);
    const char *unit, *filter = zs_blosc_filter_name(node->array);
    uint64_t factor;
    if ((info.data_type == ZS_DATETIME64 || info.data_type == ZS_TIMEDELTA64) && name != nullptr)
    {
        m_structure.SetNameValue("data_type.name", name);
        if (zs_json_string(zs_json_get(configuration, "unit"), &unit))
            m_structure.SetNameValue("data_type.unit", unit);
        if (zs_json_uint64(zs_json_get(configuration, "scale_factor"), &factor))
            m_structure.SetNameValue("data_type.scale_factor", std::to_string(factor).c_str());
    }
    if (info.is_sharded && info.ndim > 0 && !info.has_edges)
        m_structure.SetNameValue("SHARD_SHAPE", sizesText(info.shard_shape, info.ndim).c_str());
    if (filter != nullptr)
        m_structure.SetNameValue("BLOSC_SHUFFLE", filter);
}

void ZSMdimArray::TakeProperties(const struct zs_node *node)
{
    const struct zs_array_meta &meta = *node->array;
    const char *timeUnits = zs_time_units(&meta.dtype, false);
    if (const char *unit = zs_band_text(m_properties.get(), "unit"))
        m_unit = unit;
    else if (timeUnits != nullptr)
        m_unit = timeUnits;
    // Of coordinates, and of one value, the fill value is a value like others, as xarray has it, unless it is declared
    // to stand for missing ones.
    const bool isVariable = m_dimensions.empty() ||
                            (m_dimensions.size() == 1 && m_dimensions[0]->GetName() == zs_path_name(node->path));
    if (isVariable && !zs_declares_nodata(node) && timeUnits == nullptr)
        m_properties->has_nodata = false;
    TakeNodata(node);
}

void ZSMdimArray::TakeNodata(const struct zs_node *node)
{
    const struct zs_dtype &dtype = node->array->dtype;
    m_nodata.clear();
    if (!m_properties->has_nodata)
        return;
    m_nodata.resize(m_type.GetSize());
    ZSConversion conversion{dtype.type, dtype.size, m_type.GetNumericDataType()};
    alignas(16) unsigned char aligned[ZS_MAX_ITEM_SIZE]; // m_properties->nodata need not be aligned
    memcpy(aligned, m_properties->nodata, dtype.size);
    zsConvert(&conversion, aligned, m_nodata.data(), static_cast<ptrdiff_t>(m_nodata.size()), 1);
}

/* The type of texts, with the bytes of the longest that the array may hold; 0: of any length. */
static GDALExtendedDataType textType(const struct zs_node *node)
{
    uint64_t units = 0;
    const bool isBytes = zs_text_type_of(zs_json_get(node->document, "data_type"), &units) == ZS_TEXT_BYTES;
    return GDALExtendedDataType::CreateString(isBytes ? static_cast<size_t>(units) : 0);
}

std::shared_ptr<GDALMDArray> ZSMdimArray::Create(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                                 const std::vector<std::shared_ptr<GDALDimension>> &made,
                                                 struct zs_error *err)
{
    const auto opened = node->is_text ? nullptr : store->Open(*store->Handle(node->path), err);
    if (opened == nullptr && !node->is_text)
        return nullptr;
    const GDALDataType type = node->is_text ? GDT_Byte : zsGDALType(node->array->dtype.type, node->array->dtype.size);
    if (type == GDT_Unknown)
    {
        zs_fail(err, ZS_UNSUPPORTED, "array /%s: elements of %zu opaque bytes have no GDAL data type", node->path,
                node->array->dtype.size);
        return nullptr;
    }
    auto array = std::make_shared<ZSMdimArray>(
        store, node, node->is_text ? textType(node) : GDALExtendedDataType::Create(type), opened);
    if (!store->Dimensions(node, array->m_dimensions, err))
        return nullptr;
    for (size_t d = 0; d < made.size(); d++)
    {
        const auto own = std::dynamic_pointer_cast<ZSMdimDimension>(made[d]);
        if (own == nullptr || !own->IsMadeIn(store->Handle(zsParentPath(node->path))))
            continue;
        own->AddArray(array->m_handle, d);
        array->m_dimensions[d] = own;
    }
    if (!node->is_text)
    {
        if (zs_band_properties_read(node, array->m_properties.get(), err) != ZS_OK)
            return nullptr;
        array->TakeProperties(node);
    }
    array->TellStructure(node);
    array->SetSelf(array);
    store->Follow(array);
    store->SetLiveArray(*array->m_handle, array);
    return array;
}

std::shared_ptr<GDALMDArray> zsMdimArray(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                         const std::vector<std::shared_ptr<GDALDimension>> &made, struct zs_error *err)
{
    return ZSMdimArray::Create(store, node, made, err);
}

void ZSMdimArray::Refresh()
{
    m_osName = m_store->NodeName(m_handle->path);
    m_osFullName = ZSMdimStore::FullName(m_store->ParentName(m_handle->path), m_osName);
    m_filename = m_store->DocumentName(m_handle->path);
    for (size_t d = 0; d < m_dimensions.size(); d++)
    {
        auto *own = dynamic_cast<ZSMdimDimension *>(m_dimensions[d].get());
        own->Refresh();
    }
}

/* ---- What is known of it ---- */

static double take(const zs_json *member, double value, bool *has, GDALDataType *stored)
{
    const bool isThere = zs_json_double(member, &value);
    if (has != nullptr)
        *has = isThere;
    if (stored != nullptr)
        *stored = isThere ? GDT_Float64 : GDT_Unknown;
    return value;
}

double ZSMdimArray::GetOffset(bool *has, GDALDataType *stored) const
{
    return take(zs_band_member(m_properties.get(), "offset"), 0, has, stored);
}

double ZSMdimArray::GetScale(bool *has, GDALDataType *stored) const
{
    return take(zs_band_member(m_properties.get(), "scale"), 1, has, stored);
}

/* Returns the shape of innermost chunks, no longer than the array; 0, GDAL's word for unknown, along dimensions
 * where lengths differ, and of text. GDAL 3.13 asks other formats for blocks of this size, and netCDF allows none
 * longer than a dimension. */
std::vector<GUInt64> ZSMdimArray::GetBlockSize() const
{
    return zsGuard([&] {
        struct zs_error ignored; // readers get the error
        const struct zs_node *node = Node();
        const auto opened = m_isText ? nullptr : Core(&ignored);
        std::vector<GUInt64> size(m_dimensions.size());
        if (node == nullptr || opened == nullptr)
            return size;
        const struct zs_array_info info = zs_array_get_info(opened.get());
        for (size_t d = 0; d < size.size(); d++)
        {
            const bool differs = info.has_edges && !info.is_sharded && node->array->edges[d] != nullptr;
            const GUInt64 most = std::min<GUInt64>(info.chunk_shape[d], m_dimensions[d]->GetSize());
            size[d] = differs ? 0 : std::max<GUInt64>(1, most);
        }
        return size;
    });
}

std::shared_ptr<OGRSpatialReference> ZSMdimArray::ReadSpatialRef() const
{
    struct zs_axes axes;
    struct zs_georef georef;
    struct zs_error err;
    const struct zs_node *node = Node();
    if (node == nullptr)
        return nullptr;
    if (m_dimensions.size() < 2) // of points
    {
        OGRSpatialReferenceH own = zs_array_crs_read(m_store->Hierarchy(), node);
        if (own == nullptr)
            return nullptr;
        const auto srs = std::make_shared<OGRSpatialReference>(*OGRSpatialReference::FromHandle(own));
        OSRRelease(own);
        return srs;
    }
    if (zs_axes_find(m_store->Hierarchy(), node, nullptr, nullptr, &axes, &err) != ZS_OK || axes.y < 0)
        return nullptr;
    // Without Y only the CRS is looked for.
    if (zs_georef_read(m_store->Hierarchy(), node, {axes.x, -1}, &georef, &err) != ZS_OK)
        return zsReport(err);
    const ZSOwned<struct zs_georef> cleared(&georef, zs_georef_clear);
    if (georef.no_crs != nullptr)
        CPLError(CE_Warning, CPLE_AppDefined, "%s", georef.no_crs);
    if (georef.srs == nullptr)
        return nullptr;
    const auto srs = std::make_shared<OGRSpatialReference>(*OGRSpatialReference::FromHandle(georef.srs));
    // In the multidimensional API the mapping names dimensions of the array, from 1.
    const int x = axes.x + 1, y = axes.y + 1;
    const auto &mapping = srs->GetDataAxisToSRSAxisMapping();
    if (mapping.size() >= 2 && mapping[0] == 2 && mapping[1] == 1) // a third axis is the height
        srs->SetDataAxisToSRSAxisMapping({y, x});
    else
        srs->SetDataAxisToSRSAxisMapping({x, y});
    return srs;
}

std::shared_ptr<OGRSpatialReference> ZSMdimArray::GetSpatialRef() const
{
    return zsGuard([&]() -> std::shared_ptr<OGRSpatialReference> {
        if (m_isText)
            return nullptr;
        const std::lock_guard<std::mutex> held(m_lock);
        // First a CRS that was set and stored in the side-car file.
        auto set = m_store->Pam() != nullptr ? GDALPamMDArray::GetSpatialRef() : nullptr;
        if (set != nullptr)
            return set;
        if (!m_srsRead)
            m_srs = ReadSpatialRef();
        m_srsRead = true;
        return m_srs;
    });
}

#if ZS_GDAL_AT_LEAST(13)
/* Paths of its overviews, which are those of the raster that it is. None (CPLError emitted) where the store cannot be
 * asked. */
std::vector<std::string> ZSMdimArray::Levels() const
{
    struct zs_axes axes;
    std::vector<std::string> levels;
    const struct zs_node *node = Node();
    if (node != nullptr)
        static_cast<void>(m_store->FindLevels(node, zs_overviews_find, axes, levels));
    return levels;
}

std::shared_ptr<GDALMDArray> ZSMdimArray::GetOverview(int i) const
{
    return zsGuard([&]() -> std::shared_ptr<GDALMDArray> {
        const auto levels = Levels();
        struct zs_error err;
        if (i < 0 || static_cast<size_t>(i) >= levels.size())
            return nullptr;
        auto array = m_store->Array(levels[static_cast<size_t>(i)], &err);
        return array != nullptr ? array : zsReport(err);
    });
}
#endif

std::vector<std::shared_ptr<GDALAttribute>> ZSMdimArray::GetAttributes(CSLConstList) const
{
    return zsGuard([&] {
        const struct zs_node *node = Node();
        // Look for a CRS only where attributes name one.
        const bool hasSrs = node != nullptr && zs_names_srs(node) && GetSpatialRef() != nullptr;
        auto list = zsMdimAttributes(m_store, m_handle, m_properties.get(), hasSrs);
        if (node != nullptr && !m_isText && node->array->dtype.type == ZS_DATETIME64 && !m_unit.empty() &&
            zs_band_text(m_properties.get(), "unit") == nullptr)
            list.push_back(std::make_shared<GDALAttributeString>(GetFullName(), "calendar", "proleptic_gregorian"));
        return list;
    });
}

/* The arrays that the attribute `coordinates` names, as far as they can be read. */
std::vector<std::shared_ptr<GDALMDArray>> ZSMdimArray::GetCoordinateVariables() const
{
    return zsGuard([&] {
        std::vector<std::shared_ptr<GDALMDArray>> found;
        const auto attribute = GetAttribute("coordinates");
        const char *words = attribute != nullptr && attribute->GetDataType().GetClass() == GEDTC_STRING
                                ? attribute->ReadAsString()
                                : nullptr;
        const CPLStringList names(CSLTokenizeString2(words != nullptr ? words : "", " ", 0));
        struct zs_scope scope;
        if (names.empty())
            return found;
        zs_scope_find(m_store->Hierarchy(), Node(), &scope);
        for (int i = 0; i < names.size(); i++)
        {
            struct zs_error err;
            if (zs_has_word(zs_json_text(scope.node->attributes, "grid_mapping", ""), names[i], true))
                continue; // which xarray lists here
            const struct zs_node *node = zs_scope_array(m_store->Hierarchy(), &scope, nullptr, names[i]);
            auto array = node != nullptr ? m_store->Array(node->path, &err) : nullptr;
            if (array != nullptr)
                found.push_back(array);
        }
        return found;
    });
}

/* ---- Elements ---- */

bool ZSMdimArray::IRead(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                        const GDALExtendedDataType &type, void *data) const
{
    return zsGuard([&] {
        struct zs_error err;
        const auto request = Request(start, count, step, stride, type, data);
        const struct zs_node *node = Node();
        if (node == nullptr)
            return false;
        const auto opened = m_isText ? nullptr : Core(&err);
        const size_t most = m_store->MaxTextChunk();
        const enum zs_status status =
            m_isText              ? zsMdimReadTexts(m_store->Hierarchy(), node, most, request, type, &err)
            : opened != nullptr ? zsMdimRead(opened.get(), m_type, request, type, &err)
                                : ZS_IO;
        if (status != ZS_OK && err.message[0] != '\0')
            zsReport(err);
        return status == ZS_OK;
    });
}

enum zs_status ZSMdimArray::Write(const ZSMdimRequest &request, const GDALExtendedDataType &type, struct zs_error *err)
{
    if (m_isText)
    {
        const struct zs_node *node = Node();
        return zsMdimWriteTexts(m_store->Hierarchy(), node, m_store->MaxTextChunk(), request, type, err);
    }
    const auto opened = Core(err);
    m_handle->isBlank = false;
    // GDAL converts no text to numbers for arrays
    return opened != nullptr ? zsMdimWrite(opened.get(), request, type.GetNumericDataType(), err) : ZS_IO;
}

/* A failure marks elements as lost, unless the request was refused before anything was written. */
bool ZSMdimArray::IWrite(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                         const GDALExtendedDataType &type, const void *data)
{
    enum zs_status status = ZS_NO_MEMORY; // when an exception passes
    const bool ok = zsGuard([&] {
        struct zs_error err;
        const bool isUpdatable = m_store->CheckUpdatable();
        if (!isUpdatable || !m_handle->isThere)
            status = ZS_UNSUPPORTED;
        if (!isUpdatable || Node() == nullptr) // which was reported
            return false;
        status = Write(Request(start, count, step, stride, type, data), type, &err);
        return status == ZS_OK || zsReport(err);
    });
    if (!ok && status != ZS_ARGUMENT && status != ZS_UNSUPPORTED)
        m_store->MarkLost();
    if (ok)
        m_written += std::accumulate(count, count + m_dimensions.size(), GUInt64{1}, std::multiplies<>());
    return ok;
}

bool ZSMdimArray::IAdviseRead(const GUInt64 *start, const size_t *count, CSLConstList) const
{
    return m_isText || zsGuard([&] {
        struct zs_window window = {};
        struct zs_error err;
        const auto opened = Core(&err);
        std::copy(start, start + m_dimensions.size(), window.start);
        std::copy(count, count + m_dimensions.size(), window.count);
        return (opened != nullptr && zs_array_prefetch(opened.get(), &window, 1, &err) == ZS_OK) || zsReport(err);
    });
}

/* As GDAL does, which passes over elements that cannot be read: these are lost. */
bool ZSMdimArray::CopyFrom(GDALDataset *dataset, const GDALMDArray *from, bool strict, GUInt64 &cost,
                           const GUInt64 totalCost, GDALProgressFunc progress, void *progressData)
{
    m_written = 0;
    const bool ok = zsGuard([&] {
        std::optional<CPLConfigOptionSetter> smaller; // GDAL counts 8 bytes for each text
        if (m_isText)
            smaller.emplace("GDAL_SWATH_SIZE", std::to_string(GDALGetCacheMax64() / 32).c_str(), true);
        return GDALMDArray::CopyFrom(dataset, from, strict, cost, totalCost, progress, progressData) &&
               m_written == GetTotalElementsCount();
    });
    if (!ok)
        m_store->MarkLost();
    return ok && zsGuard([&] { return m_store->FlushArray(*m_handle); });
}

/* ---- Setting unit, nodata, scale, offset and CRS ---- */

/* Changes a band property of the array, and of its overviews, which are shown in its place. */
bool ZSMdimArray::SetProperty(enum zs_band_property property, const ZSProperties &wanted)
{
    if (m_isText)
        return zsRefuse(CPLE_NotSupported, "array %s: texts have neither nodata, scale, offset nor unit",
                        GetFullName().c_str());
    const struct zs_node *node = m_store->CheckUpdatable() ? Node() : nullptr;
    struct zs_axes axes = {};
    std::vector<std::string> paths;
    if (node == nullptr || !m_store->FindLevels(node, zs_overviews_own, axes, paths))
        return false;
    const enum zs_data_type type = node->array->dtype.type;
    paths.push_back(m_handle->path);
    const auto write = [&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
        for (const auto &path : paths)
        {
            const struct zs_node *changed = nullptr;
            ZS_TRY(zs_hierarchy_node(hierarchy, path.c_str(), &changed, err));
            if (property != ZS_BAND_NODATA || changed->array->dtype.type == type) // else a level of another type
                ZS_TRY(zs_properties_write(hierarchy, changed, &wanted, property, err));
        }
        return ZS_OK;
    };
    if (!m_store->Edit(write))
        return false;
    *m_properties = wanted;
    return true;
}

bool ZSMdimArray::SetUnit(const std::string &unit)
{
    return zsGuard([&] {
        auto wanted = *m_properties;
        wanted.SetText("unit", unit.c_str());
        if (!SetProperty(ZS_BAND_UNIT, wanted))
            return false;
        m_unit = unit;
        return true;
    });
}

/* Whether this element is the fill value here, and in the source of a copy the fill value alone implies that it stands
 * for missing ones: xarray masks what is declared, and a copy declares no more than its source. */
bool ZSMdimArray::IsImpliedInSource(const void *element, const struct zs_node *node) const
{
    if (!m_store->IsCopying() || memcmp(element, node->array->fill_value, node->array->dtype.size) != 0)
        return false;
    const auto source = std::dynamic_pointer_cast<ZSMdimArray>(m_store->FirstSourceArray(m_handle->path));
    return source != nullptr && source->m_properties->nodata_is_implied;
}

/* Of an array that has no chunks yet it becomes the fill value, so that missing ones read as it. */
bool ZSMdimArray::SetNodata(const void *value)
{
    struct zs_error err;
    const struct zs_node *node = m_store->CheckUpdatable() ? Node() : nullptr;
    alignas(16) unsigned char element[ZS_MAX_ITEM_SIZE] = {0};
    if (node == nullptr)
        return false;
    const struct zs_dtype dtype = node->array->dtype;
    ZSConversion storing{dtype.type, dtype.size, m_type.GetNumericDataType()};
    if (value != nullptr)
        zsStore(&storing, value, element, static_cast<ptrdiff_t>(dtype.size), 1);
    if (m_handle->isBlank)
    {
        if (zs_array_update_document(m_store->Hierarchy(), node, nullptr, nullptr, element, &node, &err) != ZS_OK)
            return zsReport(err);
        m_handle->opened.reset();
    }
    auto wanted = *m_properties;
    wanted.has_nodata = value != nullptr;
    wanted.nodata_is_implied = value != nullptr && IsImpliedInSource(element, node);
    memcpy(wanted.nodata, element, dtype.size);
    if (!SetProperty(ZS_BAND_NODATA, wanted))
        return false;
    TakeNodata(node);
    return true;
}

/* Changes the CRS of an existing array, in every convention that the array uses. */
bool ZSMdimArray::ChangeSpatialRef(OGRSpatialReference *srs)
{
    const struct zs_node *node = Node();
    OGRSpatialReferenceH handle = srs != nullptr ? OGRSpatialReference::ToHandle(srs) : nullptr;
    return node != nullptr && m_store->Edit([&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
        struct zs_axes axes;
        if (m_dimensions.size() < 2)
            return zs_array_crs_write(hierarchy, node, handle, false, err);
        ZS_TRY(zs_axes_find(hierarchy, node, nullptr, nullptr, &axes, err));
        if (axes.y < 0)
            return zs_fail(err, ZS_ARGUMENT, "array /%s: a CRS is for arrays with X and Y", node->path);
        struct zs_georef now;
        bool isAside;
        ZS_TRY(zs_georef_read(hierarchy, node, axes, &now, err));
        const ZSOwned<struct zs_georef> cleared(&now, zs_georef_clear);
        struct zs_georef wanted = now;
        wanted.srs = handle;
        return zs_update_georefs(hierarchy, &node, &axes, 1, &now, &wanted, &isAside, err);
    });
}

bool ZSMdimArray::SetSpatialRef(const OGRSpatialReference *srs)
{
    return zsGuard([&] {
        if (m_isText)
            return GDALMDArray::SetSpatialRef(srs);
        if (!m_store->IsUpdatable() && m_store->Pam() != nullptr)
            return GDALPamMDArray::SetSpatialRef(srs);
        std::shared_ptr<OGRSpatialReference> own = zsStoredSrs(srs, GetFullName().c_str());
        if (!m_store->CheckUpdatable() || (!m_handle->isMade && !ChangeSpatialRef(own.get())))
            return false;
        const std::lock_guard<std::mutex> held(m_lock);
        m_srs = own;
        m_srsRead = true;
        if (m_handle->isMade)
            m_handle->srs = own;
        m_handle->isSrsSet = m_handle->isMade;
        return true;
    });
}

#if ZS_GDAL_AT_LEAST(7)
bool ZSMdimArray::Resize(const std::vector<GUInt64> &sizes, CSLConstList)
{
    const auto resize = [&](std::vector<struct zs_dimension> &dims) -> bool {
        if (sizes.size() != dims.size())
            return zsRefuse(CPLE_IllegalArg, "array /%s: expected sizes of %zu dimensions, found %zu",
                            m_handle->path.c_str(), dims.size(), sizes.size());
        for (size_t d = 0; d < sizes.size(); d++)
        {
            if (sizes[d] < dims[d].size)
                return zsRefuse(CPLE_IllegalArg,
                                "array /%s: dimension %zu has %llu elements, arrays are made longer, not %llu",
                                m_handle->path.c_str(), d, static_cast<unsigned long long>(dims[d].size),
                                static_cast<unsigned long long>(sizes[d]));
            dims[d].size = sizes[d];
        }
        return true;
    };
    return zsGuard([&] { return zsMdimChangeDimensions(*m_store, *m_handle, resize); });
}
#endif
