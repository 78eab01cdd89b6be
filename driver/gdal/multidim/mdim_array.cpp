#include "mdim_node_array.h"

#include <algorithm>

extern "C"
{
#include "base/memory.h"
#include "geo/bands.h"
#include "geo/conventions.h"
#include "raster/overviews.h"
#include "raster/update.h"
#include "zarr/make.h"
#include "zarr/name.h"
}

namespace
{
class ZSMdimArray final : public ZSMdimNodeArray<GDALPamMDArray>
{
    std::shared_ptr<ZSMdimOpened> m_opened;
    std::string m_unit;
    ZSOwnedProperties m_properties;
    bool m_isMade = false;    /* in this session */
    std::vector<GByte> m_nodata; /* as an element of m_type; empty where there is none */

    mutable std::mutex m_lock; /* of the members below, which are read lazily: that may cost requests */
    mutable bool m_srsRead = false;
    mutable std::shared_ptr<OGRSpatialReference> m_srs;
#if ZS_GDAL_AT_LEAST(13)
    mutable bool m_levelsFound = false;
    mutable std::vector<std::string> m_levels; /* paths of smaller versions, from large to small */

    bool FindLevels() const; // false (CPLError emitted): the store could not be asked
    std::vector<std::string> Levels() const;
#endif

    void CopyProperties();
    void TakeNodata();
    bool SetProperty(enum zs_band_property property, const struct zs_band_properties &wanted);
    bool Refill(const void *value);
    bool IsImpliedInSource(const void *element) const;
    bool ChangeSpatialRef(OGRSpatialReference *srs);
    std::shared_ptr<OGRSpatialReference> ReadSpatialRef() const;

  protected:
    bool ReadElements(const ZSMdimRequest &request, const GDALExtendedDataType &type,
                      struct zs_error *err) const override
    {
        return zsMdimRead(m_opened->Get(), m_type, request, type, err);
    }
    enum zs_status WriteElements(const ZSMdimRequest &request, const GDALExtendedDataType &type,
                                 struct zs_error *err) override
    {
        m_opened->isBlank = false;
        // GDAL converts no text to numbers for arrays
        return zsMdimWrite(m_opened->Get(), request, type.GetNumericDataType(), err);
    }
    bool IAdviseRead(const GUInt64 *start, const size_t *count, CSLConstList options) const override;
    /* GDAL looks for a side-car file with a cache at the first read: of a remote store that is a request. */
    bool IsCacheable() const override
    {
        return !m_store->Store()->is_remote && !m_store->IsUpdatable();
    }

  public:
    ZSMdimArray(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                const std::shared_ptr<ZSMdimOpened> &opened, GDALDataType type)
        : GDALAbstractMDArray(store->ParentName(node), store->NodeName(node)),
          ZSMdimNodeArray(store, node, GDALExtendedDataType::Create(type), store->Pam()), m_opened(opened),
          m_properties(new struct zs_band_properties())
    {
    }
    static std::shared_ptr<GDALMDArray> Create(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                               const std::shared_ptr<ZSMdimOpened> &made,
                                               const std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                                               struct zs_error *err);

    const std::string &GetUnit() const override
    {
        return m_unit;
    }
    const void *GetRawNoDataValue() const override
    {
        return m_nodata.empty() ? nullptr : m_nodata.data();
    }
    double GetOffset(bool *has, GDALDataType *stored) const override;
    double GetScale(bool *has, GDALDataType *stored) const override;
    std::vector<GUInt64> GetBlockSize() const override;
    std::shared_ptr<OGRSpatialReference> GetSpatialRef() const override;
    std::vector<std::shared_ptr<GDALAttribute>> GetAttributes(CSLConstList options) const override;
    std::vector<std::shared_ptr<GDALMDArray>> GetCoordinateVariables() const override;

    bool Follow(const struct zs_node *node, struct zs_error *err) override;

    bool SetUnit(const std::string &unit) override;
    bool SetScale(double scale, GDALDataType) override
    {
        return zsGuard([&] {
            auto wanted = *m_properties;
            wanted.has_scale = true;
            wanted.scale = scale;
            return SetProperty(ZS_BAND_SCALE, wanted);
        });
    }
    bool SetOffset(double offset, GDALDataType) override
    {
        return zsGuard([&] {
            auto wanted = *m_properties;
            wanted.has_offset = true;
            wanted.offset = offset;
            return SetProperty(ZS_BAND_OFFSET, wanted);
        });
    }
#if ZS_GDAL_AT_LEAST(13)
    int GetOverviewCount() const override;
    std::shared_ptr<GDALMDArray> GetOverview(int i) const override;
#endif
    bool SetRawNoDataValue(const void *value) override;
    bool SetSpatialRef(const OGRSpatialReference *srs) override;
};
} // namespace

/* ---- Type, dimensions and attributes ---- */

/* Whether the array has the coordinates of a dimension, or is one value: there the fill value is a value like others,
 * as xarray has it, unless it is declared to stand for missing ones. */
static bool isVariable(const struct zs_node *node, const std::vector<std::shared_ptr<GDALDimension>> &dimensions)
{
    return dimensions.empty() || (dimensions.size() == 1 && dimensions[0]->GetName() == zs_path_name(node->path));
}

void ZSMdimArray::CopyProperties()
{
    const struct zs_array_meta &meta = *m_node->array;
    const char *timeUnits = zs_time_units(&meta.dtype);
    if (m_properties->unit != nullptr)
        m_unit = m_properties->unit;
    else if (timeUnits != nullptr)
        m_unit = timeUnits;
    if (isVariable(m_node, m_dimensions) && !zs_declares_nodata(m_node) && meta.dtype.type != ZS_DATETIME64 &&
        meta.dtype.type != ZS_TIMEDELTA64)
        m_properties->has_nodata = false;
    TakeNodata();
}

void ZSMdimArray::TakeNodata()
{
    const struct zs_array_meta &meta = *m_node->array;
    m_nodata.clear();
    if (!m_properties->has_nodata)
        return;
    m_nodata.resize(m_type.GetSize());
    ZSConversion conversion{meta.dtype.type, meta.dtype.size, m_type.GetNumericDataType()};
    alignas(16) unsigned char aligned[ZS_MAX_ITEM_SIZE]; // m_properties->nodata need not be aligned
    memcpy(aligned, m_properties->nodata, meta.dtype.size);
    zsConvert(&conversion, aligned, m_nodata.data(), static_cast<ptrdiff_t>(m_nodata.size()), 1);
}

std::shared_ptr<GDALMDArray> ZSMdimArray::Create(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                                 const std::shared_ptr<ZSMdimOpened> &made,
                                                 const std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                                                 struct zs_error *err)
{
    const auto opened = made != nullptr ? made : store->Open(node, err);
    if (opened == nullptr)
        return nullptr;
    const struct zs_array_info info = zs_array_get_info(opened->Get());
    const GDALDataType type = zsGDALType(info.data_type, info.item_size);
    if (type == GDT_Unknown)
    {
        zs_fail(err, ZS_UNSUPPORTED, "array /%s: elements of %zu opaque bytes have no GDAL data type", node->path,
                info.item_size);
        return nullptr;
    }
    auto array = std::make_shared<ZSMdimArray>(store, node, opened, type);
    if (!array->TakeDimensions(dimensions, err) ||
        zs_band_properties_read(node, array->m_properties.get(), err) != ZS_OK)
        return nullptr;
    array->m_isMade = made != nullptr;
    array->CopyProperties();
    zsMdimTellStructure(node, info, array->m_structure);
    array->SetSelf(array);
    return array;
}

std::shared_ptr<GDALMDArray> zsMdimArray(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                         const std::shared_ptr<ZSMdimOpened> &opened,
                                         const std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                                         struct zs_error *err)
{
    return ZSMdimArray::Create(store, node, opened, dimensions, err);
}

double ZSMdimArray::GetOffset(bool *has, GDALDataType *stored) const
{
    if (has != nullptr)
        *has = m_properties->has_offset;
    if (stored != nullptr)
        *stored = m_properties->has_offset ? GDT_Float64 : GDT_Unknown;
    return m_properties->has_offset ? m_properties->offset : 0.0;
}

double ZSMdimArray::GetScale(bool *has, GDALDataType *stored) const
{
    if (has != nullptr)
        *has = m_properties->has_scale;
    if (stored != nullptr)
        *stored = m_properties->has_scale ? GDT_Float64 : GDT_Unknown;
    return m_properties->has_scale ? m_properties->scale : 1.0;
}

/* Returns the shape of innermost chunks, no longer than the array; 0, GDAL's word for unknown, along dimensions
 * where lengths differ. GDAL 3.13 asks other formats for blocks of this size, and netCDF allows none longer than a
 * dimension. */
std::vector<GUInt64> ZSMdimArray::GetBlockSize() const
{
    return zsGuard([&] {
        const struct zs_array_info info = zs_array_get_info(m_opened->Get());
        std::vector<GUInt64> size;
        for (int d = 0; d < info.ndim; d++)
            size.push_back(info.has_edges && !info.is_sharded && m_node->array->edges[d] != nullptr
                               ? 0
                               : std::max<GUInt64>(1, std::min(info.chunk_shape[d], info.shape[d])));
        return size;
    });
}

/* ---- Its CRS ---- */

std::shared_ptr<OGRSpatialReference> ZSMdimArray::ReadSpatialRef() const
{
    struct zs_axes axes;
    struct zs_georef georef;
    struct zs_error err;
    if (m_dimensions.size() < 2) // of points
    {
        OGRSpatialReferenceH own = zs_array_crs_read(m_store->Hierarchy(), m_node);
        if (own == nullptr)
            return nullptr;
        const auto srs = std::make_shared<OGRSpatialReference>(*OGRSpatialReference::FromHandle(own));
        OSRRelease(own);
        return srs;
    }
    if (zs_axes_find(m_store->Hierarchy(), m_node, nullptr, nullptr, &axes, &err) != ZS_OK || axes.y < 0)
        return nullptr;
    // Without Y only the CRS is looked for.
    if (zs_georef_read(m_store->Hierarchy(), m_node, {axes.x, -1}, &georef, &err) != ZS_OK)
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

/* ---- Its overviews: those of the raster that it is ---- */

#if ZS_GDAL_AT_LEAST(13)
bool ZSMdimArray::FindLevels() const
{
    struct zs_axes axes;
    struct zs_error err;
    struct zs_names levels = {};
    if (m_dimensions.size() < 2 ||
        zs_axes_find(m_store->Hierarchy(), m_node, nullptr, nullptr, &axes, &err) != ZS_OK || axes.y < 0)
        return true;
    if (zs_overviews_find(m_store->Hierarchy(), m_node, axes, &levels, &err) != ZS_OK)
        return zsReport(err);
    const ZSOwned<char *> freed(levels.list, zs_names_free);
    m_levels.assign(levels.list, levels.list + levels.count);
    return true;
}

std::vector<std::string> ZSMdimArray::Levels() const
{
    const std::lock_guard<std::mutex> held(m_lock);
    if (!m_levelsFound)
        m_levelsFound = FindLevels();
    return m_levels;
}

int ZSMdimArray::GetOverviewCount() const
{
    return zsGuard([&] { return static_cast<int>(Levels().size()); });
}

std::shared_ptr<GDALMDArray> ZSMdimArray::GetOverview(int i) const
{
    return zsGuard([&]() -> std::shared_ptr<GDALMDArray> {
        const auto levels = Levels();
        const struct zs_node *node = nullptr;
        struct zs_error err;
        if (i < 0 || static_cast<size_t>(i) >= levels.size())
            return nullptr;
        const std::string &path = levels[static_cast<size_t>(i)];
        auto array = zs_hierarchy_node(m_store->Hierarchy(), path.c_str(), &node, &err) == ZS_OK
                         ? m_store->Array(node, &err)
                         : nullptr;
        if (array == nullptr)
            zsReport(err);
        return array;
    });
}
#endif

/* ---- Attributes ---- */

std::vector<std::shared_ptr<GDALAttribute>> ZSMdimArray::GetAttributes(CSLConstList) const
{
    return zsGuard([&] {
        // Look for a CRS only where attributes name one.
        const bool names = zs_names_srs(m_node);
        const bool hasSrs = names && GetSpatialRef() != nullptr;
        auto list = zsMdimAttributes(m_store, m_node, GetFullName(), m_properties.get(), hasSrs);
        if (m_node->array->dtype.type == ZS_DATETIME64 && m_properties->unit == nullptr && !m_unit.empty())
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
        zs_scope_find(m_store->Hierarchy(), m_node, &scope);
        for (int i = 0; i < names.size(); i++)
        {
            struct zs_error err;
            const struct zs_node *node = zs_scope_array(m_store->Hierarchy(), &scope, nullptr, names[i], nullptr);
            auto array = node != nullptr ? m_store->Array(node, &err) : nullptr;
            if (array != nullptr)
                found.push_back(array);
        }
        return found;
    });
}

/* ---- Elements ---- */

bool ZSMdimArray::IAdviseRead(const GUInt64 *start, const size_t *count, CSLConstList) const
{
    return zsGuard([&] {
        struct zs_window window = {};
        struct zs_error err;
        for (size_t d = 0; d < m_dimensions.size(); d++)
        {
            window.start[d] = start[d];
            window.count[d] = count[d];
        }
        return zs_array_prefetch(m_opened->Get(), &window, 1, &err) == ZS_OK || zsReport(err);
    });
}

bool ZSMdimArray::Follow(const struct zs_node *node, struct zs_error *err)
{
    const auto opened = m_store->OpenAgain(node, *m_opened, err);
    if (opened == nullptr)
        return false;
    m_opened = opened;
    return TakeNode(node, err);
}

/* ---- Setting unit, nodata, scale, offset and CRS ---- */

/* Changes a band property of the array, and of its overviews, which are shown in its place. What `wanted` points to is
 * the array's then. */
bool ZSMdimArray::SetProperty(enum zs_band_property property, const struct zs_band_properties &wanted)
{
    struct zs_axes axes = {};
    std::vector<std::string> levels;
    const enum zs_data_type type = m_node->array->dtype.type;
    const auto write = [&](struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_error *err) {
        const bool isHeld = property != ZS_BAND_NODATA || node->array->dtype.type == type; // by a level of another type
        return isHeld ? zs_properties_write(hierarchy, node, &wanted, property, err) : ZS_OK;
    };
    ZSSavepoint edit(m_store->Hierarchy());
    if (!Change(write) || !m_store->OwnLevels(m_node->path, axes, levels) ||
        !std::all_of(levels.begin(), levels.end(),
                     [&](const std::string &level) { return m_store->Change(level, write); }))
        return false;
    edit.Keep();
    *m_properties = wanted;
    return true;
}

bool ZSMdimArray::SetUnit(const std::string &unit)
{
    return zsGuard([&] {
        std::unique_ptr<char, decltype(&free)> text(unit.empty() ? nullptr : zs_strdup(zsUtf8(unit).c_str()), free);
        char *before = m_properties->unit;
        auto wanted = *m_properties;
        wanted.unit = text.get();
        if (!SetProperty(ZS_BAND_UNIT, wanted))
            return false;
        text.release();
        free(before);
        m_unit = unit;
        return true;
    });
}

/* Changes the fill value of an array that has no chunks yet, so that missing ones read as the new value. */
bool ZSMdimArray::Refill(const void *value)
{
    const struct zs_node *fresh = nullptr;
    struct zs_error err;
    const int order = zs_array_chunk_order(m_opened->Get());
    std::shared_ptr<ZSMdimOpened> opened;
    if (zs_array_set_fill_value(m_store->Hierarchy(), m_node, value, &fresh, &err) == ZS_OK)
        opened = m_store->OpenNew(fresh, order, &err);
    if (opened == nullptr)
        return zsReport(err);
    m_node = fresh;
    m_opened = opened;
    return true;
}

/* Whether this element is the fill value here, and in the source of a copy the fill value alone implies that it stands
 * for missing ones: xarray masks what is declared, and a copy declares no more than its source. */
bool ZSMdimArray::IsImpliedInSource(const void *element) const
{
    if (!m_store->IsCopying() || memcmp(element, m_node->array->fill_value, m_node->array->dtype.size) != 0)
        return false;
    const auto source = std::dynamic_pointer_cast<ZSMdimArray>(m_store->FirstSourceArray(m_node->path));
    return source != nullptr && source->m_properties->nodata_is_implied;
}

bool ZSMdimArray::SetRawNoDataValue(const void *value)
{
    return zsGuard([&] {
        const struct zs_dtype dtype = m_node->array->dtype;
        alignas(16) unsigned char element[ZS_MAX_ITEM_SIZE] = {0};
        ZSStoring storing{m_type.GetNumericDataType(), dtype.type, dtype.size};
        if (value != nullptr)
            zsStore(&storing, value, element, static_cast<ptrdiff_t>(dtype.size), 1);
        if (!m_store->CheckUpdatable() || (m_opened->isBlank && !Refill(element)))
            return false;
        auto wanted = *m_properties;
        wanted.has_nodata = value != nullptr;
        wanted.nodata_is_implied = value != nullptr && IsImpliedInSource(element);
        memcpy(wanted.nodata, element, dtype.size);
        if (!SetProperty(ZS_BAND_NODATA, wanted))
            return false;
        TakeNodata();
        return true;
    });
}

/* Changes the CRS of an existing array, in every convention that the array uses. */
bool ZSMdimArray::ChangeSpatialRef(OGRSpatialReference *srs)
{
    return Change([srs](struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_error *err) {
        struct zs_axes axes;
        OGRSpatialReferenceH handle = srs != nullptr ? OGRSpatialReference::ToHandle(srs) : nullptr;
        if (node->array->ndim < 2)
            return zs_array_crs_write(hierarchy, node, handle, false, err);
        enum zs_status status = zs_axes_find(hierarchy, node, nullptr, nullptr, &axes, err);
        if (status == ZS_OK && axes.y < 0)
            return zs_fail(err, ZS_ARGUMENT, "array /%s: a CRS is for arrays with X and Y", node->path);
        struct zs_georef_update update = {};
        bool isAside;
        update.keeps_transform = update.keeps_registration = true;
        update.srs = handle;
        return status == ZS_OK ? zs_update_georefs(hierarchy, &node, &axes, 1, &update, &isAside, err) : status;
    });
}

bool ZSMdimArray::SetSpatialRef(const OGRSpatialReference *srs)
{
    return zsGuard([&] {
        if (!m_store->IsUpdatable() && m_store->Pam() != nullptr)
            return GDALPamMDArray::SetSpatialRef(srs);
        std::shared_ptr<OGRSpatialReference> own = zsStoredSrs(srs, GetFullName().c_str());
        if (!m_store->CheckUpdatable() || (!m_isMade && !ChangeSpatialRef(own.get())))
            return false;
        const std::lock_guard<std::mutex> held(m_lock);
        m_srs = own;
        m_srsRead = true;
        if (m_isMade)
            m_store->SetSpatialRef(m_node->path, m_srs);
        return true;
    });
}
