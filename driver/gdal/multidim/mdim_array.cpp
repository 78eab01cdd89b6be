/* Arrays: of numbers, and of text. */
#include "mdim.h"

#include <algorithm>
#include <cmath>
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

/* What GetOffset() and GetScale() tell of a member of properties, which is `value` where there is none. */
static double take(const zs_json *member, double value, bool *has, GDALDataType *stored)
{
    const bool isThere = zs_json_double(member, &value);
    if (has != nullptr)
        *has = isThere;
    if (stored != nullptr)
        *stored = isThere ? GDT_Float64 : GDT_Unknown;
    return value;
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
    ZSProperties m_properties;
    std::vector<GByte> m_nodata; /* as an element of m_type; empty where there is none */

    GUInt64 m_written = 0;       /* elements, since CopyFrom() began */

    mutable std::mutex m_lock; /* of the members below, which are read lazily: that may cost requests */
    mutable bool m_srsRead = false;
    mutable std::shared_ptr<OGRSpatialReference> m_srs;

    std::shared_ptr<struct zs_array> Core(struct zs_error *err) const
    {
        return m_store->isUpdatable ? m_store->Open(*m_handle, err) : m_opened;
    }
    enum zs_status ReadProperties(const struct zs_node *node, struct zs_error *err);
    void TellStructure(const struct zs_node *node);
#if ZS_GDAL_AT_LEAST(13)
    std::vector<std::string> Levels() const;
#endif
    bool SetProperty(enum zs_band_property property, const std::function<void(ZSProperties &)> &change);
    bool SetNumber(enum zs_band_property property, const char *name, double value)
    {
        if (!std::isfinite(value))
            return zsRefuse(CPLE_IllegalArg, "array %s: expected a finite %s, found %g", GetFullName().c_str(), name,
                            value);
        return SetProperty(property, [&](ZSProperties &wanted) { wanted.SetNumber(name, value); });
    }
    bool ChangeSpatialRef(OGRSpatialReferenceH srs);
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
        return !m_isText && !m_store->store->is_remote && !m_store->isUpdatable;
    }

  public:
    ZSMdimArray(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                const GDALExtendedDataType &type, const std::shared_ptr<struct zs_array> &opened)
        : GDALAbstractMDArray(store->ParentName(node->path), store->NodeName(node->path)),
          GDALPamMDArray(store->ParentName(node->path), store->NodeName(node->path),
                         node->is_text ? nullptr : store->pam),
          ZSMdimObject(store, store->Handle(node->path)), m_isText(node->is_text), m_type(type),
          m_filename(store->DocumentName(node->path)), m_opened(opened)
    {
    }
    using GDALAbstractMDArray::SetSelf;
    bool Begin(const struct zs_node *node, const std::vector<std::shared_ptr<GDALDimension>> &made,
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
        return m_store->isUpdatable;
    }
    const std::string &GetFilename() const override
    {
        return m_filename;
    }
    CSLConstList GetStructuralInfo() const override
    {
        return m_structure.List();
    }
    double GetOffset(bool *has, GDALDataType *stored) const override
    {
        return take(zs_band_member(&m_properties, "offset"), 0, has, stored);
    }
    double GetScale(bool *has, GDALDataType *stored) const override
    {
        return take(zs_band_member(&m_properties, "scale"), 1, has, stored);
    }
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
    bool SetUnit(const std::string &unit) override
    {
        return SetProperty(ZS_BAND_UNIT, [&](ZSProperties &wanted) { wanted.SetText("unit", unit.c_str()); });
    }
    bool SetScale(double scale, GDALDataType) override
    {
        return SetNumber(ZS_BAND_SCALE, "scale", scale);
    }
    bool SetOffset(double offset, GDALDataType) override
    {
        return SetNumber(ZS_BAND_OFFSET, "offset", offset);
    }
    bool SetRawNoDataValue(const void *value) override;
    bool SetSpatialRef(const OGRSpatialReference *srs) override;
#if ZS_GDAL_AT_LEAST(7)
    bool Resize(const std::vector<GUInt64> &sizes, CSLConstList) override
    {
        return zsGuard([&] { return zsMdimChangeDimensions(*m_store, *m_handle, sizes, -1, nullptr); });
    }
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

enum zs_status ZSMdimArray::ReadProperties(const struct zs_node *node, struct zs_error *err)
{
    const struct zs_dtype &dtype = node->array->dtype;
    const char *timeUnits = zs_time_units(&dtype, false);
    ZSProperties found;
    ZS_TRY(zs_band_properties_read(node, &found, err));
    const char *unit = zs_band_text(&found, "unit");
    m_unit = unit != nullptr ? unit : timeUnits != nullptr ? timeUnits : "";
    // Of coordinates, and of one value, the fill value is a value like others, as xarray has it, unless it is declared
    // to stand for missing ones.
    const bool isVariable = m_dimensions.empty() ||
                            (m_dimensions.size() == 1 && m_dimensions[0]->GetName() == zs_path_name(node->path));
    if (isVariable && !zs_declares_nodata(node) && timeUnits == nullptr)
        found.has_nodata = false;
    m_nodata.resize(found.has_nodata ? m_type.GetSize() : 0);
    ZSConversion conversion{dtype.type, dtype.size, m_type.GetNumericDataType()};
    alignas(16) unsigned char aligned[ZS_MAX_ITEM_SIZE]; // found.nodata need not be aligned
    memcpy(aligned, found.nodata, dtype.size);
    if (found.has_nodata)
        zsConvert(&conversion, aligned, m_nodata.data(), static_cast<ptrdiff_t>(m_nodata.size()), 1);
    m_properties = std::move(found);
    return ZS_OK;
}

/* The type of texts, with the bytes of the longest that the array may hold; 0: of any length. */
static GDALExtendedDataType textType(const struct zs_node *node)
{
    uint64_t units = 0;
    const bool isBytes = zs_text_type_of(zs_json_get(node->document, "data_type"), &units) == ZS_TEXT_BYTES;
    return GDALExtendedDataType::CreateString(isBytes ? static_cast<size_t>(units) : 0);
}

bool ZSMdimArray::Begin(const struct zs_node *node, const std::vector<std::shared_ptr<GDALDimension>> &made,
                        struct zs_error *err)
{
    if (!m_store->Dimensions(node, m_dimensions, err))
        return false;
    for (size_t d = 0; d < made.size(); d++)
    {
        const auto own = std::dynamic_pointer_cast<ZSMdimDimension>(made[d]);
        if (own == nullptr || !own->IsMadeIn(m_store->Handle(zsParentPath(node->path))))
            continue;
        own->AddArray(m_handle, static_cast<int>(d));
        m_dimensions[d] = own;
    }
    TellStructure(node);
    return m_isText || ReadProperties(node, err) == ZS_OK;
}

std::shared_ptr<GDALMDArray> ZSMdimStore::Array(const std::string &path, struct zs_error *err,
                                                const std::vector<std::shared_ptr<GDALDimension>> &made)
{
    const struct zs_node *node = nullptr;
    const auto handle = Handle(path);
    std::unique_lock<std::mutex> held(m_lock);
    auto live = handle->array.lock();
    held.unlock();
    if (live != nullptr || zs_hierarchy_node(hierarchy, path.c_str(), &node, err) != ZS_OK)
        return live;
    const auto opened = node->is_text ? nullptr : Open(*handle, err);
    if (opened == nullptr && !node->is_text)
        return nullptr;
    const auto type =
        node->is_text ? textType(node) : GDALExtendedDataType::Create(zsGDALType(node->array->dtype.type));
    auto array = std::make_shared<ZSMdimArray>(shared_from_this(), node, type, opened);
    if (!array->Begin(node, made, err))
        return nullptr;
    array->SetSelf(array);
    Follow(array);
    held.lock();
    if (isUpdatable)
        handle->array = array;
    return array;
}

void ZSMdimArray::Refresh()
{
    m_osName = m_store->NodeName(m_handle->path);
    m_osFullName = ZSMdimStore::FullName(m_store->ParentName(m_handle->path), m_osName);
    m_filename = m_store->DocumentName(m_handle->path);
}

/* ---- What is known of it ---- */

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
        OGRSpatialReferenceH own = zs_array_crs_read(m_store->hierarchy, node);
        if (own == nullptr)
            return nullptr;
        const auto srs = std::make_shared<OGRSpatialReference>(*OGRSpatialReference::FromHandle(own));
        OSRRelease(own);
        return srs;
    }
    if (zs_axes_find(m_store->hierarchy, node, nullptr, nullptr, &axes, &err) != ZS_OK || axes.y < 0)
        return nullptr;
    // Without Y only the CRS is looked for.
    if (zs_georef_read(m_store->hierarchy, node, {axes.x, -1}, &georef, &err) != ZS_OK)
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
        auto set = m_store->pam != nullptr ? GDALPamMDArray::GetSpatialRef() : nullptr;
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
        auto list = zsMdimAttributes(m_store, m_handle, &m_properties, hasSrs);
        if (node != nullptr && !m_isText && node->array->dtype.type == ZS_DATETIME64 && !m_unit.empty() &&
            zs_band_text(&m_properties, "unit") == nullptr)
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
        zs_scope_find(m_store->hierarchy, Node(), &scope);
        for (int i = 0; i < names.size(); i++)
        {
            struct zs_error err;
            if (zs_has_word(zs_json_text(scope.node->attributes, "grid_mapping", ""), names[i], true))
                continue; // which xarray lists here
            const struct zs_node *node = zs_scope_array(m_store->hierarchy, &scope, nullptr, names[i]);
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
    return zsGuard([&]() -> bool {
        struct zs_error err;
        enum zs_status status = ZS_IO;
        const auto request = zsMdimRequest(m_dimensions.size(), start, count, step, stride, type.GetSize(), data);
        const struct zs_node *node = Node();
        if (node == nullptr)
            return false;
        if (!m_isText && type.GetClass() != GEDTC_NUMERIC)
            return zsRefuse(CPLE_NotSupported, "array %s: numbers are read as numbers", GetFullName().c_str());
        const auto opened = m_isText ? nullptr : Core(&err);
        if (m_isText || opened != nullptr)
            status = zsMdimRead(*m_store, node, opened.get(), request, type, &err);
        if (status != ZS_OK && err.message[0] != '\0')
            zsReport(err);
        return status == ZS_OK;
    });
}

/* A failure marks elements as lost, unless the request was refused before anything was written. */
bool ZSMdimArray::IWrite(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                         const GDALExtendedDataType &type, const void *data)
{
    enum zs_status status = ZS_NO_MEMORY; // when an exception passes
    const bool ok = zsGuard([&]() -> bool {
        struct zs_error err;
        const bool isUpdatable = m_store->CheckUpdatable();
        if (!isUpdatable || !m_handle->isThere)
            status = ZS_UNSUPPORTED;
        const struct zs_node *node = isUpdatable ? Node() : nullptr;
        if (node == nullptr)
            return false;
        const auto request = zsMdimRequest(m_dimensions.size(), start, count, step, stride, type.GetSize(), data);
        const auto opened = m_isText ? nullptr : Core(&err);
        m_handle->isBlank = false;
        if (m_isText || opened != nullptr)
            status = zsMdimWrite(*m_store, node, opened.get(), request, type, &err);
        return status == ZS_OK || zsReport(err);
    });
    if (!ok && status != ZS_ARGUMENT && status != ZS_UNSUPPORTED)
        m_store->isLost = true;
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
        m_store->isLost = true;
    return ok && zsGuard([&] { return m_store->FlushArray(*m_handle); });
}

/* ---- Setting unit, nodata, scale, offset and CRS ---- */

/* Changes a band property of the array, and of its overviews, which are shown in its place. */
bool ZSMdimArray::SetProperty(enum zs_band_property property, const std::function<void(ZSProperties &)> &change)
{
    return zsGuard([&]() -> bool {
        if (m_isText)
            return zsRefuse(CPLE_NotSupported, "array %s: texts have neither nodata, scale, offset nor unit",
                            GetFullName().c_str());
        const struct zs_node *node = m_store->CheckUpdatable() ? Node() : nullptr;
        struct zs_axes axes = {};
        struct zs_error error;
        std::vector<std::string> paths;
        ZSProperties wanted = m_properties;
        change(wanted);
        if (node == nullptr || !m_store->FindLevels(node, zs_overviews_own, axes, paths))
            return false;
        paths.push_back(m_handle->path);
        const auto write = [&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
            for (const auto &path : paths)
            {
                const struct zs_node *level = nullptr;
                ZS_TRY(zs_hierarchy_node(hierarchy, path.c_str(), &level, err));
                // A nodata value is an element: not of a level of another type.
                if (property != ZS_BAND_NODATA || level->array->dtype.type == node->array->dtype.type)
                    ZS_TRY(zs_properties_write(hierarchy, level, &wanted, property, err));
            }
            return ZS_OK;
        };
        return m_store->Edit(write) && (ReadProperties(node, &error) == ZS_OK || zsReport(error));
    });
}

/* Of an array that has no chunks yet it becomes the fill value, so that missing ones read as it. */
bool ZSMdimArray::SetRawNoDataValue(const void *value)
{
    return zsGuard([&]() -> bool {
        struct zs_error err;
        if (m_isText)
            return GDALMDArray::SetRawNoDataValue(value);
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
            if (zs_array_update_document(m_store->hierarchy, node, nullptr, nullptr, element, &node, &err) != ZS_OK)
                return zsReport(err);
            m_handle->opened.reset();
        }
        // Where it is the fill value, and in the source of a copy the fill value alone implies that it stands for
        // missing elements: xarray masks what is declared, and a copy declares no more than its source.
        const bool isFill = value != nullptr && memcmp(element, node->array->fill_value, dtype.size) == 0;
        const auto from = isFill && m_store->source != nullptr ? m_store->FirstSourceArray(m_handle->path) : nullptr;
        const auto *ours = dynamic_cast<const ZSMdimArray *>(from.get());
        return SetProperty(ZS_BAND_NODATA, [&](ZSProperties &wanted) {
            wanted.has_nodata = value != nullptr;
            wanted.nodata_is_implied = ours != nullptr && ours->m_properties.nodata_is_implied;
            memcpy(wanted.nodata, element, dtype.size);
        });
    });
}

/* Changes the CRS of an existing array, in every convention that the array uses. */
bool ZSMdimArray::ChangeSpatialRef(OGRSpatialReferenceH srs)
{
    const struct zs_node *node = Node();
    return node != nullptr && m_store->Edit([&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
        struct zs_axes axes;
        struct zs_georef now;
        bool isAside;
        if (m_dimensions.size() < 2)
            return zs_array_crs_write(hierarchy, node, srs, false, err);
        ZS_TRY(zs_axes_find(hierarchy, node, nullptr, nullptr, &axes, err));
        if (axes.y < 0)
            return zs_fail(err, ZS_ARGUMENT, "array /%s: a CRS is for arrays with X and Y", node->path);
        ZS_TRY(zs_georef_read(hierarchy, node, axes, &now, err));
        const ZSOwned<struct zs_georef> cleared(&now, zs_georef_clear);
        struct zs_georef wanted = now;
        wanted.srs = srs;
        return zs_update_georefs(hierarchy, &node, &axes, 1, &now, &wanted, ZS_GEOREF_ALL, &isAside, err);
    });
}

bool ZSMdimArray::SetSpatialRef(const OGRSpatialReference *srs)
{
    return zsGuard([&] {
        if (m_isText)
            return GDALMDArray::SetSpatialRef(srs);
        if (!m_store->isUpdatable && m_store->pam != nullptr)
            return GDALPamMDArray::SetSpatialRef(srs);
        std::shared_ptr<OGRSpatialReference> own = zsStoredSrs(srs, GetFullName().c_str());
        OGRSpatialReferenceH handle = own != nullptr ? OGRSpatialReference::ToHandle(own.get()) : nullptr;
        if (!m_store->CheckUpdatable() || (!m_handle->isMade && !ChangeSpatialRef(handle)))
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
