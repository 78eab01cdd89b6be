#include "mdim.h"

#include "guard.h"

namespace
{
/* Values that are in memory: texts as pointers to them, or numbers. */
class ZSMdimAttribute final : public GDALAttribute
{
    GDALExtendedDataType m_type;
    std::vector<std::shared_ptr<GDALDimension>> m_dimensions;
    std::vector<std::string> m_texts;
    std::vector<const char *> m_pointers; /* to m_texts */
    std::vector<double> m_doubles;
    std::vector<int64_t> m_integers;
    std::vector<int32_t> m_small;

    const void *Values() const;

  protected:
    bool IRead(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
               const GDALExtendedDataType &type, void *data) const override;

  public:
    ZSMdimAttribute(const std::string &owner, const std::string &name, const GDALExtendedDataType &type, bool isList,
                    size_t count)
        : GDALAbstractMDArray(owner, name), GDALAttribute(owner, name), m_type(type)
    {
        if (isList)
            m_dimensions.push_back(std::make_shared<GDALDimension>("", "dim0", "", "", count));
    }
    static std::shared_ptr<GDALAttribute> Create(const std::string &owner, const struct zs_attribute &from);
    static std::shared_ptr<GDALAttribute> CreateText(const std::string &owner, const std::string &name,
                                                     const std::string &value);
    void TakeTexts(std::vector<std::string> &&texts)
    {
        m_texts = std::move(texts);
        for (const auto &text : m_texts)
            m_pointers.push_back(text.c_str());
    }

    const std::vector<std::shared_ptr<GDALDimension>> &GetDimensions() const override
    {
        return m_dimensions;
    }
    const GDALExtendedDataType &GetDataType() const override
    {
        return m_type;
    }
};
} // namespace

/* The smallest type that GDAL's other drivers would take for whole numbers. */
static bool areSmall(const struct zs_attribute &a)
{
    for (size_t i = 0; i < a.count; i++)
    {
        if (a.integers[i] < INT32_MIN || a.integers[i] > INT32_MAX)
            return false;
    }
    return true;
}

static GDALExtendedDataType typeOf(const struct zs_attribute &a)
{
    switch (a.kind)
    {
        case ZS_ATTRIBUTE_TEXT:
            break;
        case ZS_ATTRIBUTE_JSON:
            return GDALExtendedDataType::CreateString(0, GEDTST_JSON);
        case ZS_ATTRIBUTE_INT64:
            return GDALExtendedDataType::Create(areSmall(a) ? GDT_Int32 : GDT_Int64);
        case ZS_ATTRIBUTE_UINT64:
            return GDALExtendedDataType::Create(GDT_UInt64);
        case ZS_ATTRIBUTE_DOUBLE:
            return GDALExtendedDataType::Create(GDT_Float64);
    }
    return GDALExtendedDataType::CreateString();
}

std::shared_ptr<GDALAttribute> ZSMdimAttribute::Create(const std::string &owner, const struct zs_attribute &from)
{
    const auto type = typeOf(from);
    auto a = std::make_shared<ZSMdimAttribute>(owner, from.name, type, from.is_list, from.count);
    if (from.texts != nullptr)
        a->TakeTexts(std::vector<std::string>(from.texts, from.texts + from.count));
    else if (from.doubles != nullptr)
        a->m_doubles.assign(from.doubles, from.doubles + from.count);
    else if (type.GetNumericDataType() == GDT_Int32)
    {
        for (size_t i = 0; i < from.count; i++)
            a->m_small.push_back(static_cast<int32_t>(from.integers[i]));
    }
    else
        a->m_integers.assign(from.integers, from.integers + from.count);
    a->SetSelf(a);
    return a;
}

std::shared_ptr<GDALAttribute> ZSMdimAttribute::CreateText(const std::string &owner, const std::string &name,
                                                           const std::string &value)
{
    auto a = std::make_shared<ZSMdimAttribute>(owner, name, GDALExtendedDataType::CreateString(), false, 1);
    a->TakeTexts({value});
    a->SetSelf(a);
    return a;
}

const void *ZSMdimAttribute::Values() const
{
    if (!m_pointers.empty())
        return m_pointers.data();
    if (!m_doubles.empty())
        return m_doubles.data();
    if (!m_small.empty())
        return m_small.data();
    return m_integers.data();
}

bool ZSMdimAttribute::IRead(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                            const GDALExtendedDataType &type, void *data) const
{
    return zsGuard([&] {
        const uint64_t shape[1] = {m_dimensions.empty() ? 1 : m_dimensions[0]->GetSize()};
        ZSMdimRequest request;
        struct zs_error err;
        if (!zsMdimRequest(static_cast<int>(m_dimensions.size()), shape, start, count, step, stride, type.GetSize(),
                           data, request, &err))
        {
            zsReport(err);
            return false;
        }
        return zsMdimCopy(shape, Values(), m_type, request, type);
    });
}

std::vector<std::shared_ptr<GDALAttribute>> zsMdimAttributes(const struct zs_node *node, const std::string &owner,
                                                             const struct zs_meaning *meaning, bool hasSrs)
{
    struct zs_attribute *list = nullptr;
    size_t count = 0;
    struct zs_error err;
    if (zs_attributes_read(node, meaning, hasSrs, &list, &count, &err) != ZS_OK)
    {
        zsReport(err);
        return {};
    }
    const auto freed = [count](struct zs_attribute *a) { zs_attributes_free(a, count); };
    const std::unique_ptr<struct zs_attribute, decltype(freed)> owned(list, freed);
    std::vector<std::shared_ptr<GDALAttribute>> out;
    for (size_t i = 0; i < count; i++)
        out.push_back(ZSMdimAttribute::Create(owner, list[i]));
    return out;
}

std::shared_ptr<GDALAttribute> zsMdimTextAttribute(const std::string &owner, const std::string &name,
                                                   const std::string &value)
{
    return ZSMdimAttribute::CreateText(owner, name, value);
}
