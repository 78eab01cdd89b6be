/* Attributes: a value, or a list of values, which the node has: each is read from there, and written to it, when asked
 * for. */
#include "mdim.h"

#include "gdal/guard.h"

extern "C"
{
#include "base/status.h"
}

namespace
{
class ZSMdimAttribute final : public GDALAttribute, public ZSMdimObject
{
    bool m_isStored; /* else it is new, and not written yet */
    const GDALExtendedDataType m_type;
    std::vector<std::shared_ptr<GDALDimension>> m_dimensions;

    const struct zs_node *CurrentNode() const;
    bool ReadValue(const zs_json *value, void *to, const GDALExtendedDataType &type) const;
    bool AddValue(zs_json *list, const void *from, const GDALExtendedDataType &type) const;

  protected:
    bool IRead(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
               const GDALExtendedDataType &type, void *data) const override;
    bool IWrite(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                const GDALExtendedDataType &type, const void *data) override;

  public:
    using GDALAbstractMDArray::SetSelf;

    ZSMdimAttribute(const std::shared_ptr<ZSMdimStore> &store, const std::shared_ptr<ZSMdimNode> &handle,
                    const std::string &owner, const std::string &name, const GDALExtendedDataType &type,
                    const std::vector<GUInt64> &shape, bool isStored)
        : GDALAbstractMDArray(owner, name), GDALAttribute(owner, name), ZSMdimObject(store, handle),
          m_isStored(isStored), m_type(type)
    {
        for (const GUInt64 count : shape)
            m_dimensions.push_back(std::make_shared<GDALDimension>("", "dim0", "", "", count));
    }
    const std::vector<std::shared_ptr<GDALDimension>> &GetDimensions() const override
    {
        return m_dimensions;
    }
    const GDALExtendedDataType &GetDataType() const override
    {
        return m_type;
    }
    void Refresh() override;
#if ZS_GDAL_AT_LEAST(8)
    bool Rename(const std::string &name) override;
#endif
};
} // namespace

/* Prefix of the full names of a node's attributes. For groups it differs from that of arrays, as in GDAL's other
 * drivers. */
static std::string ownerName(const ZSMdimStore &store, const struct zs_node *node)
{
    return node->type == ZS_NODE_GROUP
               ? ZSMdimStore::FullName(store.GroupName(node->path), "_GLOBAL_")
               : ZSMdimStore::FullName(store.ParentName(node->path), store.NodeName(node->path));
}

static std::shared_ptr<GDALAttribute> make(const std::shared_ptr<ZSMdimStore> &store,
                                           const std::shared_ptr<ZSMdimNode> &handle, const struct zs_node *node,
                                           const std::string &name, const GDALExtendedDataType &type,
                                           const std::vector<GUInt64> &shape, bool isStored)
{
    auto a = std::make_shared<ZSMdimAttribute>(store, handle, ownerName(*store, node), name, type, shape, isStored);
    a->SetSelf(a);
    store->Follow(a);
    return a;
}

void ZSMdimAttribute::Refresh()
{
    const struct zs_node *node = m_handle->isThere ? Node() : nullptr;
    if (node != nullptr)
        m_osFullName = ownerName(*m_store, node) + "/" + GetName();
}

/* The current node; null (CPLError emitted) where it, or the attribute, was deleted. */
const struct zs_node *ZSMdimAttribute::CurrentNode() const
{
    const struct zs_node *node = Node();
    if (node == nullptr || !m_isStored || zs_attribute_exists(node, GetName().c_str()))
        return node;
    return zsRefuse(CPLE_AppDefined, "attribute %s: this object has been deleted", GetFullName().c_str());
}

/* ---- Reading ---- */

static GDALExtendedDataType typeOf(enum zs_attribute_kind kind)
{
    switch (kind)
    {
    case ZS_ATTRIBUTE_TEXT:
        return GDALExtendedDataType::CreateString();
    case ZS_ATTRIBUTE_INT32:
        return GDALExtendedDataType::Create(GDT_Int32);
    case ZS_ATTRIBUTE_INT64:
        return GDALExtendedDataType::Create(GDT_Int64);
    case ZS_ATTRIBUTE_UINT64:
        return GDALExtendedDataType::Create(GDT_UInt64);
    case ZS_ATTRIBUTE_DOUBLE:
        return GDALExtendedDataType::Create(GDT_Float64);
    case ZS_ATTRIBUTE_JSON:
        break;
    }
    return GDALExtendedDataType::CreateString(0, GEDTST_JSON);
}

std::vector<std::shared_ptr<GDALAttribute>> zsMdimAttributes(const std::shared_ptr<ZSMdimStore> &store,
                                                             const std::shared_ptr<ZSMdimNode> &handle,
                                                             const struct zs_band_properties *properties, bool hasSrs)
{
    std::vector<std::shared_ptr<GDALAttribute>> out;
    const struct zs_node *node = store->Node(*handle);
    const zs_json *a = node != nullptr ? zs_json_first(node->attributes) : nullptr;
    for (; a != nullptr; a = zs_json_next(a))
    {
        bool isList;
        const enum zs_attribute_kind kind = zs_attribute_kind_of(a, &isList);
        if (properties == nullptr || !zs_attribute_is_elsewhere(node, zs_json_name(a), properties, hasSrs))
            out.push_back(make(store, handle, node, zs_json_name(a), typeOf(kind),
                               std::vector<GUInt64>(isList ? 1 : 0, zs_json_size(a)), true));
    }
    return out;
}

/* Reads one value as the type of the attribute holds it; of no value 0, or a text that is null. */
bool ZSMdimAttribute::ReadValue(const zs_json *value, void *to, const GDALExtendedDataType &type) const
{
    const auto copy = [&](const void *from, const GDALExtendedDataType &own)
    { return GDALExtendedDataType::CopyValue(from, own, to, type); };
    const bool isReal = GDALDataTypeIsFloating(m_type.GetNumericDataType());
    double real;
    uint64_t natural;
    int64_t whole;
    if (m_type.GetClass() == GEDTC_STRING || value == nullptr)
    {
        const char *text = nullptr;
        const bool isText = m_type.GetSubType() != GEDTST_JSON && zs_json_string(value, &text);
        const ZSOwned<char> printed(isText || value == nullptr ? nullptr : zs_json_print(value),
                                    [](char *p) { free(p); });
        text = isText ? text : printed.get();
        return copy(&text, GDALExtendedDataType::CreateString());
    }
    if (!isReal && zs_json_int64(value, &whole))
        return copy(&whole, GDALExtendedDataType::Create(GDT_Int64));
    if (!isReal && zs_json_uint64(value, &natural))
        return copy(&natural, GDALExtendedDataType::Create(GDT_UInt64));
    return zs_attribute_double(value, &real) && copy(&real, GDALExtendedDataType::Create(GDT_Float64));
}

bool ZSMdimAttribute::IRead(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                            const GDALExtendedDataType &type, void *data) const
{
    return zsGuard([&]() -> bool {
        const struct zs_node *node = Node();
        const zs_json *attribute = node != nullptr ? zs_json_get(node->attributes, GetName().c_str()) : nullptr;
        if (node == nullptr)
            return false;
        if (attribute == nullptr && m_isStored)
            return zsRefuse(CPLE_AppDefined, "attribute %s: this object has been deleted", GetFullName().c_str());
        const bool isMany = !m_dimensions.empty();
        std::vector<const zs_json *> values(isMany && attribute == nullptr ? m_dimensions[0]->GetSize() : 0);
        const zs_json *e = isMany && zs_json_is_array(attribute) ? zs_json_first(attribute) : nullptr;
        for (; e != nullptr; e = zs_json_next(e))
            values.push_back(e);
        bool ok = !isMany || values.size() == m_dimensions[0]->GetSize();
        const GPtrDiff_t by = (isMany ? stride[0] : 1) * static_cast<GPtrDiff_t>(type.GetSize());
        auto *to = static_cast<GByte *>(data);
        for (size_t i = 0; i < (isMany ? count[0] : 1) && ok; i++)
        {
            const GInt64 at = isMany ? static_cast<GInt64>(start[0]) + static_cast<GInt64>(i) * step[0] : 0;
            ok = ReadValue(isMany ? values[static_cast<size_t>(at)] : attribute, to + static_cast<GPtrDiff_t>(i) * by,
                           type);
        }
        return ok || zsRefuse(CPLE_AppDefined, "attribute %s: has values of another type or number by now",
                              GetFullName().c_str());
    });
}

/* ---- Writing ---- */

std::shared_ptr<GDALAttribute> zsMdimNewAttribute(const std::shared_ptr<ZSMdimStore> &store,
                                                  const std::shared_ptr<ZSMdimNode> &handle, const std::string &given,
                                                  const std::vector<GUInt64> &shape, const GDALExtendedDataType &type)
{
    constexpr GUInt64 MOST_VALUES = 1 << 20; // of a list; a longer one belongs into an array
    const bool isNumber = type.GetClass() == GEDTC_NUMERIC && !GDALDataTypeIsComplex(type.GetNumericDataType());
    const std::string name = zsUtf8(given);
    const struct zs_node *node = store->CheckUpdatable() ? store->Node(*handle) : nullptr;
    if (node == nullptr)
        return nullptr;
    std::string reason;
    if (type.GetClass() != GEDTC_STRING && !isNumber)
        reason = "expected texts or real numbers";
    else if (shape.size() > 1)
        reason = "expected a value or a list of values, found " + std::to_string(shape.size()) + " dimensions";
    else if (!shape.empty() && shape[0] > MOST_VALUES)
        reason = "expected at most " + std::to_string(MOST_VALUES) + " values";
    else if (name.empty())
        reason = "expected a name";
    else if (zs_attribute_exists(node, name.c_str()))
        reason = "there is one already";
    if (reason.empty())
        return make(store, handle, node, name, type, shape, false);
    store->Complain("attribute " + name + " of /" + handle->path + ": " + reason);
    return nullptr;
}

/* Adds a value to a list, as the type of the attribute holds it. False with CPLError emitted. */
bool ZSMdimAttribute::AddValue(zs_json *list, const void *from, const GDALExtendedDataType &type) const
{
    zs_json *added;
    const GDALDataType own = m_type.GetNumericDataType();
    const auto number = [&](GDALDataType wide, void *to)
    {
        GByte value[sizeof(double)];
        return GDALExtendedDataType::CopyValue(from, type, value, m_type) &&
               GDALExtendedDataType::CopyValue(value, m_type, to, GDALExtendedDataType::Create(wide));
    };
    if (m_type.GetClass() == GEDTC_STRING)
    {
        std::string text;
        const bool isJson = m_type.GetSubType() == GEDTST_JSON;
        if (!zsMdimTextOf(from, type, text))
            return false;
        added = isJson ? zs_json_add_raw(list, nullptr, text.c_str()) : zs_json_add_string(list, nullptr, text.c_str());
        if (added == nullptr && isJson)
            return zsRefuse(CPLE_AppDefined, "attribute %s: expected JSON, found %.200s", GetName().c_str(),
                            text.c_str());
    }
    else if (GDALDataTypeIsFloating(own))
    {
        double value;
        if (!number(GDT_Float64, &value))
            return false;
        added = zs_json_add_double(list, nullptr, value);
    }
    else if (own == GDT_UInt64)
    {
        uint64_t value;
        if (!number(GDT_UInt64, &value))
            return false;
        added = zs_json_add_uint64(list, nullptr, value);
    }
    else
    {
        int64_t value;
        if (!number(GDT_Int64, &value))
            return false;
        added = zs_json_add_int64(list, nullptr, value);
    }
    if (added == nullptr)
        throw std::bad_alloc();
    return true;
}

/* Writes all values, as GDAL asks for. */
bool ZSMdimAttribute::IWrite(const GUInt64 *, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                             const GDALExtendedDataType &type, const void *data)
{
    return zsGuard([&]() -> bool {
        const ZSOneWarning ofTexts;
        const std::string name = GetName();
        const struct zs_node *node = m_store->CheckUpdatable() ? CurrentNode() : nullptr;
        const bool isList = !m_dimensions.empty();
        const auto total = static_cast<size_t>(GetTotalElementsCount());
        if (node == nullptr)
            return false;
        if (isList && (count[0] != total || step[0] != 1))
            return zsRefuse(CPLE_NotSupported, "attribute %s: expected all %zu values at once", GetFullName().c_str(),
                            total);
        const GPtrDiff_t by = (isList ? stride[0] : 1) * static_cast<GPtrDiff_t>(type.GetSize());
        const auto *from = static_cast<const GByte *>(data);
        const ZSOwned<zs_json> list(zs_json_new_array(), zs_json_free);
        for (size_t i = 0; i < total; i++)
        {
            if (!AddValue(list.get(), from + static_cast<GPtrDiff_t>(i) * by, type))
                return false;
        }
        const auto write = [&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
            return zs_attribute_write(hierarchy, node, name.c_str(), isList ? list.get() : zs_json_first(list.get()),
                                      err);
        };
        const bool ok = m_store->Edit(write);
        m_isStored = m_isStored || ok;
        return ok;
    });
}

#if ZS_GDAL_AT_LEAST(8)
bool ZSMdimAttribute::Rename(const std::string &given)
{
    return zsGuard([&]() -> bool {
        const std::string name = zsUtf8(given), before = GetName();
        const struct zs_node *node = m_store->CheckUpdatable() ? CurrentNode() : nullptr;
        if (node == nullptr)
            return false;
        if (name.empty() || zs_attribute_exists(node, name.c_str()))
            return zsRefuse(CPLE_AppDefined, "attribute %s: \"%s\": %s", GetFullName().c_str(), name.c_str(),
                            name.empty() ? "expected a name" : "there is one already");
        const zs_json *value = zs_json_get(node->attributes, before.c_str());
        const auto rename = [&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
            ZS_TRY(zs_attribute_write(hierarchy, node, name.c_str(), value, err));
            return zs_attribute_remove(hierarchy, node, before.c_str(), err);
        };
        if (m_isStored && !m_store->Edit(rename))
            return false;
        BaseRename(name);
        return true;
    });
}
#endif

bool zsMdimDeleteAttribute(ZSMdimStore &store, const ZSMdimNode &handle, const std::string &name)
{
    const struct zs_node *node = store.CheckUpdatable() ? store.Node(handle) : nullptr;
    if (node != nullptr && !zs_attribute_exists(node, name.c_str()))
        return zsRefuse(CPLE_AppDefined, "attribute %s of /%s: there is none", name.c_str(), node->path);
    return node != nullptr && store.Edit([&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
        return zs_attribute_remove(hierarchy, node, name.c_str(), err);
    });
}
