#include "mdim.h"

#include "guard.h"

extern "C"
{
#include "array/strings.h"
}

namespace
{
/* An array of text. It is short, or it is not read: what was read once stays. */
class ZSMdimStrings final : public GDALMDArray
{
    std::shared_ptr<ZSMdimStore> m_store;
    const struct zs_node *m_node;
    GDALExtendedDataType m_type = GDALExtendedDataType::CreateString();
    std::vector<std::shared_ptr<GDALDimension>> m_dimensions;
    std::string m_filename;
    CPLStringList m_structure;

    mutable std::mutex m_lock;
    mutable bool m_isRead = false;
    mutable std::vector<std::string> m_texts;

    bool ReadTexts(struct zs_error *err) const;

  protected:
    bool IRead(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
               const GDALExtendedDataType &type, void *data) const override;
    bool IsCacheable() const override
    {
        return false;
    }

  public:
    ZSMdimStrings(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node)
        : GDALAbstractMDArray(store->ParentName(node), store->NodeName(node)),
          GDALMDArray(store->ParentName(node), store->NodeName(node)), m_store(store), m_node(node),
          m_filename(store->DocumentName(node))
    {
    }
    static std::shared_ptr<GDALMDArray> Create(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                               struct zs_error *err);

    const std::vector<std::shared_ptr<GDALDimension>> &GetDimensions() const override
    {
        return m_dimensions;
    }
    const GDALExtendedDataType &GetDataType() const override
    {
        return m_type;
    }
    bool IsWritable() const override
    {
        return false;
    }
    const std::string &GetFilename() const override
    {
        return m_filename;
    }
    CSLConstList GetStructuralInfo() const override
    {
        return m_structure.List();
    }
    std::vector<std::shared_ptr<GDALAttribute>> GetAttributes(CSLConstList) const override
    {
        return zsGuard([&] {
            const struct zs_meaning none = {};
            return zsMdimAttributes(m_node, GetFullName(), &none, false);
        });
    }
    std::shared_ptr<GDALAttribute> GetAttribute(const std::string &name) const override
    {
        return zsGuard([&] { return GetAttributeFromAttributes(name); });
    }
#if ZS_GDAL_AT_LEAST(8)
    std::shared_ptr<GDALGroup> GetRootGroup() const override
    {
        return zsGuard([&] { return m_store->RootGroup(); });
    }
#endif
};
} // namespace

std::shared_ptr<GDALMDArray> ZSMdimStrings::Create(const std::shared_ptr<ZSMdimStore> &store,
                                                   const struct zs_node *node, struct zs_error *err)
{
    auto array = std::make_shared<ZSMdimStrings>(store, node);
    uint64_t length;
    if (!store->Dimensions(node, array->m_dimensions, err))
        return nullptr;
    if (!zs_strings_length(node, &length))
    {
        zs_fail(err, ZS_UNSUPPORTED, "array /%s: text is read in arrays of one dimension, not of %zu", node->path,
                array->m_dimensions.size());
        return nullptr;
    }
    const std::unique_ptr<char, decltype(&free)> codecs(zs_codecs_text(node), free);
    if (codecs != nullptr)
        array->m_structure.SetNameValue("CODECS", codecs.get());
    array->SetSelf(array);
    return array;
}

bool ZSMdimStrings::ReadTexts(struct zs_error *err) const
{
    const std::lock_guard<std::mutex> held(m_lock);
    char **values = nullptr;
    bool isBlank;
    const uint64_t count = m_dimensions[0]->GetSize();
    if (m_isRead)
        return true;
    if (zs_strings_read(m_store->Hierarchy(), m_node, 0, count, &values, &isBlank, err) != ZS_OK)
        return false;
    const auto freed = [count](char **v) { zs_strings_free(v, static_cast<size_t>(count)); };
    const std::unique_ptr<char *, decltype(freed)> owned(values, freed);
    std::vector<std::string> texts(values, values + count);
    m_texts = std::move(texts);
    m_isRead = true;
    return true;
}

bool ZSMdimStrings::IRead(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                          const GDALExtendedDataType &type, void *data) const
{
    return zsGuard([&] {
        const uint64_t shape[1] = {m_dimensions[0]->GetSize()};
        ZSMdimRequest request;
        struct zs_error err;
        if (!zsMdimRequest(1, shape, start, count, step, stride, type.GetSize(), data, request, &err) ||
            !ReadTexts(&err))
        {
            zsReport(err);
            return false;
        }
        std::vector<const char *> pointers;
        for (const auto &text : m_texts) // which nobody changes any more
            pointers.push_back(text.c_str());
        return zsMdimCopy(shape, pointers.data(), m_type, request, type);
    });
}

std::shared_ptr<GDALMDArray> zsMdimStrings(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                           struct zs_error *err)
{
    return ZSMdimStrings::Create(store, node, err);
}
