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
/* Attributes of a node as the core has them. */
struct Attributes
{
    struct zs_attribute *list = nullptr;
    size_t count = 0;

    Attributes() = default;
    Attributes(const Attributes &) = delete;
    Attributes &operator=(const Attributes &) = delete;
    ~Attributes()
    {
        zs_attributes_free(list, count);
    }
    /* As zs_attributes_read(); false with CPLError emitted. */
    bool Read(const struct zs_node *node, const char *only, const struct zs_band_properties *properties, bool hasSrs)
    {
        struct zs_error err;
        return zs_attributes_read(node, only, properties, hasSrs, &list, &count, &err) == ZS_OK || zsReport(err);
    }
};

class ZSMdimAttribute final : public GDALAttribute, public ZSMdimObject
{
    bool m_isStored; /* else it is new, and not written yet */
    const GDALExtendedDataType m_type;
    std::vector<std::shared_ptr<GDALDimension>> m_dimensions;

    const struct zs_node *CurrentNode() const;

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

/* The type of numbers as they are in a struct zs_attribute. */
static GDALDataType numberType(enum zs_attribute_kind kind)
{
    return kind == ZS_ATTRIBUTE_DOUBLE ? GDT_Float64 : kind == ZS_ATTRIBUTE_UINT64 ? GDT_UInt64 : GDT_Int64;
}

/* Whole numbers have the smallest type that GDAL's other drivers would take. */
static GDALExtendedDataType typeOf(const struct zs_attribute &a)
{
    if (a.texts != nullptr)
        return GDALExtendedDataType::CreateString(0, a.kind == ZS_ATTRIBUTE_JSON ? GEDTST_JSON : GEDTST_NONE);
    const auto isSmall = [](const union zs_number &n) { return n.i >= INT32_MIN && n.i <= INT32_MAX; };
    const bool areSmall = a.kind == ZS_ATTRIBUTE_INT64 && std::all_of(a.numbers, a.numbers + a.count, isSmall);
    return GDALExtendedDataType::Create(areSmall ? GDT_Int32 : numberType(a.kind));
}

std::vector<std::shared_ptr<GDALAttribute>> zsMdimAttributes(const std::shared_ptr<ZSMdimStore> &store,
                                                             const std::shared_ptr<ZSMdimNode> &handle,
                                                             const struct zs_band_properties *properties, bool hasSrs)
{
    Attributes found;
    std::vector<std::shared_ptr<GDALAttribute>> out;
    const struct zs_node *node = store->Node(*handle);
    if (node == nullptr || !found.Read(node, nullptr, properties, hasSrs))
        return out;
    for (const struct zs_attribute *a = found.list; a < found.list + found.count; a++)
        out.push_back(make(store, handle, node, a->name, typeOf(*a),
                           std::vector<GUInt64>(a->is_list ? 1 : 0, a->count), true));
    return out;
}

bool ZSMdimAttribute::IRead(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                            const GDALExtendedDataType &type, void *data) const
{
    return zsGuard([&]() -> bool {
        Attributes found;
        const bool isList = !m_dimensions.empty();
        const size_t first = isList ? static_cast<size_t>(start[0]) : 0;
        const struct zs_node *node = CurrentNode();
        if (node == nullptr || !found.Read(node, GetName().c_str(), nullptr, false))
            return false;
        const struct zs_attribute *a = found.list;
        if (found.count == 0 || a->count != GetTotalElementsCount())
            return zsRefuse(CPLE_AppDefined, "attribute %s: has no value, or another number of them by now",
                            GetFullName().c_str());
        const void *values = a->texts != nullptr ? static_cast<const void *>(a->texts + first) : a->numbers + first;
        const auto from = a->texts != nullptr ? GDALExtendedDataType::CreateString()
                                              : GDALExtendedDataType::Create(numberType(a->kind));
        return GDALExtendedDataType::CopyValues(values, from, isList ? step[0] : 1, data, type, isList ? stride[0] : 1,
                                                isList ? count[0] : 1);
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

/* Writes all values, as GDAL asks for. */
bool ZSMdimAttribute::IWrite(const GUInt64 *, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                             const GDALExtendedDataType &type, const void *data)
{
    return zsGuard([&]() -> bool {
        struct zs_attribute a = {};
        const std::string name = GetName();
        const struct zs_node *node = m_store->CheckUpdatable() ? CurrentNode() : nullptr;
        a.name = name.c_str();
        a.is_list = !m_dimensions.empty();
        a.count = static_cast<size_t>(GetTotalElementsCount());
        if (node == nullptr)
            return false;
        if (a.is_list && (count[0] != a.count || step[0] != 1))
            return zsRefuse(CPLE_NotSupported, "attribute %s: expected all %zu values at once", GetFullName().c_str(),
                            a.count);
        const GPtrDiff_t by = a.is_list ? stride[0] : 1;
        std::vector<union zs_number> numbers(a.count + 1);
        std::vector<std::string> texts(a.count);
        std::vector<const char *> pointers(a.count + 1);
        if (m_type.GetClass() == GEDTC_STRING)
        {
            a.kind = m_type.GetSubType() == GEDTST_JSON ? ZS_ATTRIBUTE_JSON : ZS_ATTRIBUTE_TEXT;
            a.texts = pointers.data();
            for (size_t i = 0; i < a.count; i++)
            {
                const GPtrDiff_t at = static_cast<GPtrDiff_t>(i) * by * static_cast<GPtrDiff_t>(type.GetSize());
                if (!zsMdimTextOf(static_cast<const char *>(data) + at, type, texts[i]))
                    return false;
                pointers[i] = texts[i].c_str();
            }
        }
        else
        {
            const GDALDataType own = m_type.GetNumericDataType();
            std::vector<GByte> values((a.count + 1) * m_type.GetSize());
            a.kind = GDALDataTypeIsFloating(own) ? ZS_ATTRIBUTE_DOUBLE
                     : own == GDT_UInt64         ? ZS_ATTRIBUTE_UINT64
                                                 : ZS_ATTRIBUTE_INT64;
            a.numbers = numbers.data();
            if (!GDALExtendedDataType::CopyValues(data, type, by, values.data(), m_type, 1, a.count))
                return false;
            const auto as = GDALExtendedDataType::Create(numberType(a.kind));
            GDALExtendedDataType::CopyValues(values.data(), m_type, 1, numbers.data(), as, 1, a.count);
        }
        const auto write = [&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
            return zs_attribute_write(hierarchy, node, &a, err);
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
        Attributes found;
        const auto rename = [&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
            found.list->name = name.c_str();
            ZS_TRY(zs_attribute_write(hierarchy, node, found.list, err));
            return zs_attribute_remove(hierarchy, node, before.c_str(), err);
        };
        if (m_isStored && (!found.Read(node, before.c_str(), nullptr, false) || !m_store->Edit(rename)))
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
