#include "mdim.h"

#include <algorithm>
#include <cstring>

#include "gdal/guard.h"

extern "C"
{
#include "base/status.h"
}

namespace
{
/* A value, or a list of values, in memory as elements of its type. */
class ZSMdimAttribute final : public GDALAttribute, public ZSMdimObject
{
    bool m_isStored; /* else it is new, and not written yet */
    GDALExtendedDataType m_type;
    std::vector<std::shared_ptr<GDALDimension>> m_dimensions;
    size_t m_count;
    std::vector<GByte> m_values; /* of a text: a pointer to it, which is owned, or null */

    GByte *Value(size_t i) const
    {
        return const_cast<GByte *>(m_values.data()) + i * m_type.GetSize();
    }
    void Free(size_t i)
    {
        m_type.FreeDynamicMemory(Value(i));
        memset(Value(i), 0, m_type.GetSize());
    }
    bool WriteValues();
    const struct zs_node *CurrentNode() const;

  protected:
    bool IRead(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
               const GDALExtendedDataType &type, void *data) const override;
    bool IWrite(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                const GDALExtendedDataType &type, const void *data) override;

  public:
    using GDALAbstractMDArray::SetSelf;

    ZSMdimAttribute(const std::shared_ptr<ZSMdimStore> &store, const std::shared_ptr<ZSMdimNode> &handle,
                    const std::string &owner, const std::string &name, const GDALExtendedDataType &type, bool isList,
                    size_t count, bool isStored)
        : GDALAbstractMDArray(owner, name), GDALAttribute(owner, name), ZSMdimObject(store, handle),
          m_isStored(isStored), m_type(type), m_count(count), m_values(count * type.GetSize())
    {
        if (isList)
            m_dimensions.push_back(std::make_shared<GDALDimension>("", "dim0", "", "", count));
    }
    ~ZSMdimAttribute() override
    {
        for (size_t i = 0; i < m_count; i++)
            Free(i);
    }
    void Take(const void *values, const GDALExtendedDataType &type)
    {
        GDALExtendedDataType::CopyValues(values, type, 1, m_values.data(), m_type, 1, m_count);
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

/* ---- Reading ---- */

/* The smallest type that GDAL's other drivers would take for whole numbers. */
static bool areSmall(const struct zs_attribute &a)
{
    for (size_t i = 0; i < a.count; i++)
    {
        if (a.numbers[i].i < INT32_MIN || a.numbers[i].i > INT32_MAX)
            return false;
    }
    return true;
}

/* The type of numbers as they are in a struct zs_attribute. */
static GDALDataType numberType(enum zs_attribute_kind kind)
{
    return kind == ZS_ATTRIBUTE_DOUBLE ? GDT_Float64 : kind == ZS_ATTRIBUTE_UINT64 ? GDT_UInt64 : GDT_Int64;
}

static GDALExtendedDataType typeOf(const struct zs_attribute &a)
{
    if (a.texts != nullptr)
        return GDALExtendedDataType::CreateString(0, a.kind == ZS_ATTRIBUTE_JSON ? GEDTST_JSON : GEDTST_NONE);
    const bool isSmall = a.kind == ZS_ATTRIBUTE_INT64 && areSmall(a);
    return GDALExtendedDataType::Create(isSmall ? GDT_Int32 : numberType(a.kind));
}

/* An attribute is a value or a list: one run of values. */
bool ZSMdimAttribute::IRead(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                            const GDALExtendedDataType &type, void *data) const
{
    const bool isList = !m_dimensions.empty();
    return GDALExtendedDataType::CopyValues(Value(isList ? start[0] : 0), m_type, isList ? step[0] : 1, data, type,
                                            isList ? stride[0] : 1, isList ? count[0] : 1);
}

/* Prefix of the full names of a node's attributes. For groups it differs from that of arrays, as in GDAL's other
 * drivers. */
static std::string ownerName(const ZSMdimStore &store, const struct zs_node *node)
{
    return node->type == ZS_NODE_GROUP
               ? ZSMdimStore::FullName(store.GroupName(node->path), "_GLOBAL_")
               : ZSMdimStore::FullName(store.ParentName(node->path), store.NodeName(node->path));
}

void ZSMdimAttribute::Refresh()
{
    const struct zs_node *node = m_handle->isThere ? Node() : nullptr;
    if (node != nullptr)
        m_osFullName = ownerName(*m_store, node) + "/" + GetName();
}

std::vector<std::shared_ptr<GDALAttribute>> zsMdimAttributes(const std::shared_ptr<ZSMdimStore> &store,
                                                             const std::shared_ptr<ZSMdimNode> &handle,
                                                             const struct zs_band_properties *properties, bool hasSrs)
{
    struct zs_attribute *list = nullptr;
    size_t count = 0;
    struct zs_error err;
    std::vector<std::shared_ptr<GDALAttribute>> out;
    const struct zs_node *node = store->Node(*handle);
    if (node == nullptr)
        return out;
    if (zs_attributes_read(node, properties, hasSrs, &list, &count, &err) != ZS_OK)
    {
        zsReport(err);
        return out;
    }
    const auto freed = [count](struct zs_attribute *a) { zs_attributes_free(a, count); };
    const std::unique_ptr<struct zs_attribute, decltype(freed)> owned(list, freed);
    const std::string owner = ownerName(*store, node);
    for (const struct zs_attribute *from = list; from < list + count; from++)
    {
        auto a = std::make_shared<ZSMdimAttribute>(store, handle, owner, from->name, typeOf(*from), from->is_list,
                                                   from->count, true);
        if (from->texts != nullptr)
            a->Take(from->texts, a->GetDataType());
        else
            a->Take(from->numbers, GDALExtendedDataType::Create(numberType(from->kind)));
        a->SetSelf(a);
        store->Follow(a);
        out.push_back(a);
    }
    return out;
}

/* ---- Writing ---- */

std::shared_ptr<GDALAttribute> zsMdimNewAttribute(const std::shared_ptr<ZSMdimStore> &store,
                                                  const std::shared_ptr<ZSMdimNode> &handle, const std::string &given,
                                                  const std::vector<GUInt64> &dimensions,
                                                  const GDALExtendedDataType &type)
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
    else if (dimensions.size() > 1)
        reason = "expected a value or a list of values, found " + std::to_string(dimensions.size()) + " dimensions";
    else if (!dimensions.empty() && dimensions[0] > MOST_VALUES)
        reason = "expected at most " + std::to_string(MOST_VALUES) + " values";
    else if (name.empty())
        reason = "expected a name";
    else if (zs_attribute_exists(node, name.c_str()))
        reason = "there is one already";
    if (!reason.empty())
    {
        store->Complain("attribute " + name + " of /" + handle->path + ": " + reason);
        return nullptr;
    }
    const size_t count = dimensions.empty() ? 1 : static_cast<size_t>(dimensions[0]);
    auto a = std::make_shared<ZSMdimAttribute>(store, handle, ownerName(*store, node), name, type,
                                               !dimensions.empty(), count, false);
    a->SetSelf(a);
    store->Follow(a);
    return a;
}

/* Returns the current node; null (CPLError emitted) when it is not written, or it or its attribute was deleted. */
const struct zs_node *ZSMdimAttribute::CurrentNode() const
{
    const struct zs_node *node = m_store->CheckUpdatable() ? Node() : nullptr;
    if (node == nullptr || !m_isStored || zs_attribute_exists(node, GetName().c_str()))
        return node;
    return zsRefuse(CPLE_AppDefined, "attribute %s: this object has been deleted", GetFullName().c_str());
}

bool ZSMdimAttribute::WriteValues()
{
    struct zs_attribute a = {};
    a.name = GetName().c_str();
    a.is_list = !m_dimensions.empty();
    a.count = m_count;
    std::vector<union zs_number> numbers(m_count + 1);
    std::vector<std::string> texts;
    std::vector<const char *> pointers(m_count + 1);
    const GDALDataType own = m_type.GetNumericDataType();
    if (m_type.GetClass() == GEDTC_STRING)
    {
        a.kind = m_type.GetSubType() == GEDTST_JSON ? ZS_ATTRIBUTE_JSON : ZS_ATTRIBUTE_TEXT;
        for (size_t i = 0; i < m_count; i++)
        {
            const char *text = *reinterpret_cast<char *const *>(Value(i));
            texts.push_back(text != nullptr ? zsUtf8(text) : "");
        }
        std::transform(texts.begin(), texts.end(), pointers.begin(), [](const std::string &t) { return t.c_str(); });
        a.texts = pointers.data();
    }
    else
    {
        a.kind = GDALDataTypeIsFloating(own) ? ZS_ATTRIBUTE_DOUBLE
                 : own == GDT_UInt64         ? ZS_ATTRIBUTE_UINT64
                                             : ZS_ATTRIBUTE_INT64;
        a.numbers = numbers.data();
        GDALCopyWords64(m_values.data(), own, GDALGetDataTypeSizeBytes(own), numbers.data(), numberType(a.kind),
                        sizeof(union zs_number), static_cast<GPtrDiff_t>(m_count));
    }
    const struct zs_node *node = Node();
    const auto write = [&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
        return zs_attribute_write(hierarchy, node, &a, err);
    };
    const bool ok = node != nullptr && m_store->Edit(write);
    m_isStored = m_isStored || ok;
    return ok;
}

#if ZS_GDAL_AT_LEAST(8)
bool ZSMdimAttribute::Rename(const std::string &given)
{
    return zsGuard([&]() -> bool {
        const std::string name = zsUtf8(given);
        const struct zs_node *node = CurrentNode();
        const std::string before = GetName();
        if (node == nullptr)
            return false;
        if (name.empty() || zs_attribute_exists(node, name.c_str()))
            return zsRefuse(CPLE_AppDefined, "attribute %s: \"%s\": %s", GetFullName().c_str(), name.c_str(),
                            name.empty() ? "expected a name" : "there is one already");
        BaseRename(name);
        if (!m_isStored || (WriteValues() && zsMdimDeleteAttribute(*m_store, *m_handle, before)))
            return true;
        BaseRename(before);
        return false;
    });
}
#endif

bool ZSMdimAttribute::IWrite(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                             const GDALExtendedDataType &type, const void *data)
{
    return zsGuard([&] {
        const bool isList = !m_dimensions.empty();
        const size_t n = isList ? count[0] : 1;
        const GInt64 first = isList ? static_cast<GInt64>(start[0]) : 0, by = isList ? step[0] : 1;
        if (CurrentNode() == nullptr)
            return false;
        for (size_t i = 0; i < n && m_type.NeedsFreeDynamicMemory(); i++)
            Free(static_cast<size_t>(first + static_cast<GInt64>(i) * by));
        return GDALExtendedDataType::CopyValues(data, type, isList ? stride[0] : 1, Value(static_cast<size_t>(first)),
                                                m_type, by, n) &&
               WriteValues();
    });
}

bool zsMdimDeleteAttribute(ZSMdimStore &store, const ZSMdimNode &handle, const std::string &name)
{
    const struct zs_node *node = store.CheckUpdatable() ? store.Node(handle) : nullptr;
    return node != nullptr && store.Edit([&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
        return zs_attribute_exists(node, name.c_str())
                   ? zs_attribute_remove(hierarchy, node, name.c_str(), err)
                   : zs_fail(err, ZS_NOT_FOUND, "attribute %s of /%s: there is none", name.c_str(), node->path);
    });
}
