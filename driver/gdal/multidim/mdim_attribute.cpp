#include "mdim.h"

#include "gdal/guard.h"

extern "C"
{
#include "base/status.h"
}

namespace
{
/* Values that are in memory: texts as pointers to them, or numbers. */
class ZSMdimAttribute final : public GDALAttribute
{
    std::shared_ptr<ZSMdimStore> m_store;
    std::shared_ptr<ZSMdimNode> m_handle; /* of the node */
    bool m_isStored;                      /* else it is new, and not written yet */
    GDALExtendedDataType m_type;
    std::vector<std::shared_ptr<GDALDimension>> m_dimensions;
    std::vector<std::string> m_texts;
    std::vector<const char *> m_pointers; /* to m_texts */
    std::vector<GByte> m_numbers;         /* of m_type */

    size_t Count() const
    {
        return m_dimensions.empty() ? 1 : static_cast<size_t>(m_dimensions[0]->GetSize());
    }
    bool TakeTexts(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                   const GDALExtendedDataType &type, const void *data);
    bool WriteValues();
    const struct zs_node *Node() const;

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
        : GDALAbstractMDArray(owner, name), GDALAttribute(owner, name), m_store(store), m_handle(handle),
          m_isStored(isStored), m_type(type)
    {
        if (isList)
            m_dimensions.push_back(std::make_shared<GDALDimension>("", "dim0", "", "", count));
        m_numbers.resize(type.GetClass() == GEDTC_STRING ? 0 : count * type.GetSize());
    }
    void TakeTexts(std::vector<std::string> &&texts)
    {
        m_texts = std::move(texts);
        m_pointers.clear();
        for (const auto &text : m_texts)
            m_pointers.push_back(text.c_str());
    }
    void TakeNumbers(const void *values, GDALDataType type, size_t count)
    {
        const GDALDataType own = m_type.GetNumericDataType();
        GDALCopyWords64(values, type, GDALGetDataTypeSizeBytes(type), m_numbers.data(), own,
                        GDALGetDataTypeSizeBytes(own), static_cast<GPtrDiff_t>(count));
    }

    const std::vector<std::shared_ptr<GDALDimension>> &GetDimensions() const override
    {
        return m_dimensions;
    }
    const GDALExtendedDataType &GetDataType() const override
    {
        return m_type;
    }
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
    const auto *values = m_type.GetClass() == GEDTC_STRING ? reinterpret_cast<const GByte *>(m_pointers.data())
                                                           : m_numbers.data();
    return GDALExtendedDataType::CopyValues(values + (isList ? start[0] * m_type.GetSize() : 0), m_type,
                                            isList ? step[0] : 1, data, type, isList ? stride[0] : 1,
                                            isList ? count[0] : 1);
}

/* Prefix of the full names of a node's attributes. For groups it differs from that of arrays, as in GDAL's other
 * drivers. */
static std::string attributeOwner(const struct zs_node *node, const std::string &owner)
{
    return node->type == ZS_NODE_GROUP ? (owner == "/" ? "" : owner) + "/_GLOBAL_" : owner;
}

std::vector<std::shared_ptr<GDALAttribute>> zsMdimAttributes(const std::shared_ptr<ZSMdimStore> &store,
                                                             const std::shared_ptr<ZSMdimNode> &handle,
                                                             const std::string &owner,
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
    const std::string prefix = attributeOwner(node, owner);
    for (const struct zs_attribute *from = list; from < list + count; from++)
    {
        auto a = std::make_shared<ZSMdimAttribute>(store, handle, prefix, from->name, typeOf(*from), from->is_list,
                                                   from->count, true);
        if (from->texts != nullptr)
            a->TakeTexts(std::vector<std::string>(from->texts, from->texts + from->count));
        else
            a->TakeNumbers(from->numbers, numberType(from->kind), from->count);
        a->SetSelf(a);
        out.push_back(a);
    }
    return out;
}

/* ---- Writing ---- */

std::shared_ptr<GDALAttribute> zsMdimNewAttribute(const std::shared_ptr<ZSMdimStore> &store,
                                                  const std::shared_ptr<ZSMdimNode> &handle, const std::string &owner,
                                                  const std::string &given, const std::vector<GUInt64> &dimensions,
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
        store->Complain("attribute " + name + " of " + owner + ": " + reason);
        return nullptr;
    }
    const size_t count = dimensions.empty() ? 1 : static_cast<size_t>(dimensions[0]);
    auto a = std::make_shared<ZSMdimAttribute>(store, handle, attributeOwner(node, owner), name, type,
                                               !dimensions.empty(), count, false);
    if (!isNumber)
        a->TakeTexts(std::vector<std::string>(count));
    a->SetSelf(a);
    return a;
}

/* Takes over texts, as IWrite() has them; none after a failure. */
bool ZSMdimAttribute::TakeTexts(const GUInt64 *start, const size_t *count, const GInt64 *step,
                                const GPtrDiff_t *stride, const GDALExtendedDataType &type, const void *data)
{
    const bool isList = !m_dimensions.empty();
    std::vector<char *> taken(isList ? count[0] : 1);
    std::vector<std::string> texts = m_texts;
    const bool ok = GDALExtendedDataType::CopyValues(data, type, isList ? stride[0] : 1, taken.data(), m_type, 1,
                                                     taken.size());
    for (size_t i = 0; i < taken.size(); i++)
    {
        const GInt64 at = isList ? static_cast<GInt64>(start[0]) + static_cast<GInt64>(i) * step[0] : 0;
        if (ok && taken[i] != nullptr)
            texts[static_cast<size_t>(at)] = zsUtf8(taken[i]);
        CPLFree(taken[i]);
    }
    if (ok)
        TakeTexts(std::move(texts));
    return ok;
}

/* Returns the current node; null (CPLError emitted) when it is not written, or it or its attribute was deleted. */
const struct zs_node *ZSMdimAttribute::Node() const
{
    const struct zs_node *node = m_store->CheckUpdatable() ? m_store->Node(*m_handle) : nullptr;
    if (node == nullptr || !m_isStored || zs_attribute_exists(node, GetName().c_str()))
        return node;
    return zsRefuse(CPLE_AppDefined, "attribute %s: this object has been deleted", GetFullName().c_str());
}

bool ZSMdimAttribute::WriteValues()
{
    const size_t count = Count();
    struct zs_attribute a = {};
    a.name = GetName().c_str();
    a.is_list = !m_dimensions.empty();
    a.count = count;
    std::vector<union zs_number> numbers(count + 1);
    const GDALDataType own = m_type.GetNumericDataType();
    if (m_type.GetClass() == GEDTC_STRING)
    {
        a.kind = m_type.GetSubType() == GEDTST_JSON ? ZS_ATTRIBUTE_JSON : ZS_ATTRIBUTE_TEXT;
        a.texts = m_pointers.data();
    }
    else
    {
        a.kind = GDALDataTypeIsFloating(own) ? ZS_ATTRIBUTE_DOUBLE
                 : own == GDT_UInt64         ? ZS_ATTRIBUTE_UINT64
                                             : ZS_ATTRIBUTE_INT64;
        a.numbers = numbers.data();
        GDALCopyWords64(m_numbers.data(), own, GDALGetDataTypeSizeBytes(own), numbers.data(), numberType(a.kind),
                        sizeof(union zs_number), static_cast<GPtrDiff_t>(count));
    }
    const struct zs_node *node = m_store->Node(*m_handle);
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
        const struct zs_node *node = Node();
        const std::string before = GetName();
        if (node == nullptr)
            return false;
        if (name.empty() || zs_attribute_exists(node, name.c_str()))
            return zsRefuse(CPLE_AppDefined, "attribute %s: \"%s\": %s", GetFullName().c_str(), name.c_str(),
                            name.empty() ? "expected a name" : "there is one already");
        BaseRename(name);
        if (!m_isStored || (WriteValues() && zsMdimDeleteAttribute(*m_store, *m_handle, GetFullName(), before)))
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
        const bool isList = !m_dimensions.empty(), isText = m_type.GetClass() == GEDTC_STRING;
        if (Node() == nullptr)
            return false;
        const bool ok = isText ? TakeTexts(start, count, step, stride, type, data)
                               : GDALExtendedDataType::CopyValues(
                                     data, type, isList ? stride[0] : 1,
                                     m_numbers.data() + (isList ? start[0] * m_type.GetSize() : 0), m_type,
                                     isList ? step[0] : 1, isList ? count[0] : 1);
        return ok && WriteValues();
    });
}

bool zsMdimDeleteAttribute(ZSMdimStore &store, const ZSMdimNode &handle, const std::string &owner,
                           const std::string &name)
{
    const struct zs_node *node = store.CheckUpdatable() ? store.Node(handle) : nullptr;
    return node != nullptr && store.Edit([&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
        return zs_attribute_exists(node, name.c_str())
                   ? zs_attribute_remove(hierarchy, node, name.c_str(), err)
                   : zs_fail(err, ZS_NOT_FOUND, "attribute %s of %s: there is none", name.c_str(), owner.c_str());
    });
}
