#include "mdim_node_array.h"

extern "C"
{
#include "array/strings.h"
}

namespace
{
/* Bytes of the longest text that an array may hold; 0: of any length. */
size_t longestText(const struct zs_node *node)
{
    uint64_t units = 0;
    const bool isBytes = zs_text_type_of(zs_json_get(node->document, "data_type"), &units) == ZS_TEXT_BYTES;
    return isBytes ? static_cast<size_t>(units) : 0;
}

/* An array of text. It is short, or it is not read: what was read once stays. */
class ZSMdimStrings final : public ZSMdimNodeArray<GDALMDArray>
{
    mutable std::mutex m_lock;
    mutable bool m_isRead = false;
    bool m_isMade = false; /* in this session; those of others are in chunks and codecs of all kinds, and only read */
    mutable std::vector<std::string> m_texts;
    mutable std::vector<const char *> m_pointers; /* to them, which is how GDAL has texts in memory */

    bool ReadTexts(struct zs_error *err) const;
    bool WriteTexts(struct zs_error *err);
    void TakeTexts(std::vector<std::string> &&texts) const;

  protected:
    bool IRead(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
               const GDALExtendedDataType &type, void *data) const override;
    bool IWrite(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                const GDALExtendedDataType &type, const void *data) override;
    bool IsCacheable() const override
    {
        return false;
    }

  public:
    ZSMdimStrings(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node)
        : GDALAbstractMDArray(store->ParentName(node), store->NodeName(node)),
          ZSMdimNodeArray(store, node, GDALExtendedDataType::CreateString(longestText(node)))
    {
    }
    static std::shared_ptr<GDALMDArray> Create(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                               struct zs_error *err);
    static std::shared_ptr<GDALMDArray> CreateNew(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                                  const std::vector<std::shared_ptr<GDALDimension>> &dimensions);

    bool Follow(const struct zs_node *node, struct zs_error *err) override
    {
        return TakeNode(node, err);
    }
    bool CopyFrom(GDALDataset *, const GDALMDArray *from, bool strict, GUInt64 &cost, const GUInt64 totalCost,
                  GDALProgressFunc progress, void *progressData) override
    {
        return zsGuard([&] { return CopyAll(from, strict, cost, totalCost, progress, progressData); });
    }
    std::vector<std::shared_ptr<GDALAttribute>> GetAttributes(CSLConstList) const override
    {
        return zsGuard([&] {
            const struct zs_meaning none = {};
            return zsMdimAttributes(m_store, m_node, GetFullName(), &none, false);
        });
    }
};
} // namespace

std::shared_ptr<GDALMDArray> ZSMdimStrings::Create(const std::shared_ptr<ZSMdimStore> &store,
                                                   const struct zs_node *node, struct zs_error *err)
{
    auto array = std::make_shared<ZSMdimStrings>(store, node);
    uint64_t length;
    if (!array->TakeDimensions({}, err))
        return nullptr;
    if (!zs_strings_length(node, &length))
    {
        zs_fail(err, ZS_UNSUPPORTED, "array /%s: text is read in arrays of one dimension, not of %zu", node->path,
                array->m_dimensions.size());
        return nullptr;
    }
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
    TakeTexts(std::vector<std::string>(values, values + count));
    return true;
}

void ZSMdimStrings::TakeTexts(std::vector<std::string> &&texts) const
{
    std::vector<const char *> pointers;
    for (const auto &text : texts)
        pointers.push_back(text.c_str());
    m_texts = std::move(texts);
    m_pointers = std::move(pointers);
    m_isRead = true;
}

bool ZSMdimStrings::IRead(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                          const GDALExtendedDataType &type, void *data) const
{
    return zsGuard([&] {
        const uint64_t shape[1] = {m_dimensions[0]->GetSize()};
        ZSMdimRequest request;
        struct zs_error err;
        if (!CheckThere())
            return false;
        if (!zsMdimRequest(1, shape, start, count, step, stride, type.GetSize(), data, request, &err) ||
            !ReadTexts(&err))
        {
            zsReport(err);
            return false;
        }
        return zsMdimGive(shape, m_pointers.data(), m_type, request, type); // which nobody changes any more
    });
}

/* ---- Writing ---- */

std::shared_ptr<GDALMDArray> ZSMdimStrings::CreateNew(const std::shared_ptr<ZSMdimStore> &store,
                                                      const struct zs_node *node,
                                                      const std::vector<std::shared_ptr<GDALDimension>> &dimensions)
{
    auto array = std::make_shared<ZSMdimStrings>(store, node);
    array->m_dimensions = dimensions;
    array->m_isMade = true;
    array->TakeTexts(std::vector<std::string>(static_cast<size_t>(dimensions[0]->GetSize())));
    array->SetSelf(array);
    return array;
}

/* All of them, in the one chunk that there is. */
bool ZSMdimStrings::WriteTexts(struct zs_error *err)
{
    return zs_strings_write(m_store->Store(), m_node, m_pointers.data(), m_pointers.size(), err) == ZS_OK;
}

bool ZSMdimStrings::IWrite(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                           const GDALExtendedDataType &type, const void *data)
{
    return zsGuard([&] {
        const uint64_t shape[1] = {m_dimensions[0]->GetSize()};
        ZSMdimRequest request;
        struct zs_error err;
        if (!CheckThere() || !m_store->CheckUpdatable())
            return false;
        if (!m_isMade)
        {
            CPLError(CE_Failure, CPLE_NotSupported, "array %s: text is written in arrays that are made, not changed",
                     GetFullName().c_str());
            return false;
        }
        if (!zsMdimRequest(1, shape, start, count, step, stride, type.GetSize(), const_cast<void *>(data), request,
                           &err))
        {
            zsReport(err);
            return false;
        }
        std::vector<std::string> texts = m_texts;
        if (!zsMdimTakeTexts(texts, request, type))
            return false; // GDAL has said why
        TakeTexts(std::move(texts));
        if (WriteTexts(&err))
            return true;
        zsReport(err);
        m_store->MarkLost();
        return false;
    });
}

std::shared_ptr<GDALMDArray> zsMdimStrings(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                           const std::vector<std::shared_ptr<GDALDimension>> &dimensions)
{
    return ZSMdimStrings::CreateNew(store, node, dimensions);
}

std::shared_ptr<GDALMDArray> zsMdimStrings(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                           struct zs_error *err)
{
    return ZSMdimStrings::Create(store, node, err);
}
