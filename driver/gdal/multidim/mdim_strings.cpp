#include "mdim_node_array.h"

extern "C"
{
#include "array/array.h"
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

/* An array of text. Writes go to the store at once. */
class ZSMdimStrings final : public ZSMdimNodeArray<GDALMDArray>
{
  protected:
    bool ReadElements(const ZSMdimRequest &request, const GDALExtendedDataType &type,
                      struct zs_error *err) const override;
    enum zs_status WriteElements(const ZSMdimRequest &request, const GDALExtendedDataType &type,
                                 struct zs_error *err) override;
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
                                               const std::vector<std::shared_ptr<GDALDimension>> &made,
                                               struct zs_error *err);

    bool Follow(const struct zs_node *node, struct zs_error *err) override
    {
        return TakeNode(node, err);
    }
    std::vector<std::shared_ptr<GDALAttribute>> GetAttributes(CSLConstList) const override
    {
        return zsGuard([&] {
            const struct zs_band_properties none = {};
            return zsMdimAttributes(m_store, m_node, GetFullName(), &none, false);
        });
    }
    std::vector<GUInt64> GetBlockSize() const override
    {
        return zsGuard([&] {
            uint64_t chunk[ZS_MAX_NDIM], shard[ZS_MAX_NDIM];
            struct zs_error ignored; // readers get the error
            std::vector<GUInt64> size(m_dimensions.size());
            const bool isKnown = zs_strings_chunks(m_store->Hierarchy(), m_node, chunk, shard, &ignored) == ZS_OK;
            for (size_t d = 0; isKnown && d < size.size(); d++)
                size[d] = std::max<GUInt64>(1, std::min<GUInt64>(chunk[d], m_dimensions[d]->GetSize()));
            return size;
        });
    }
};
} // namespace

std::shared_ptr<GDALMDArray> ZSMdimStrings::Create(const std::shared_ptr<ZSMdimStore> &store,
                                                   const struct zs_node *node,
                                                   const std::vector<std::shared_ptr<GDALDimension>> &made,
                                                   struct zs_error *err)
{
    auto array = std::make_shared<ZSMdimStrings>(store, node);
    if (!array->TakeDimensions(made, err))
        return nullptr;
    array->SetSelf(array);
    return array;
}

/* Address of an element in the caller's memory. */
static char *addressOf(const ZSMdimRequest &request, const uint64_t *number)
{
    char *address = request.data;
    for (int d = 0; d < request.ndim; d++)
        address += static_cast<ptrdiff_t>(number[d]) * request.stride[d];
    return address;
}

/* ---- Reading ---- */

/* Calls f, a lambda, for each element; no exception passes through the core. */
template <class F> static enum zs_status takeText(void *ctx, const uint64_t *number, const char *text, size_t n,
                                                  struct zs_error *err)
{
    if (zsGuard([&] { return (*static_cast<F *>(ctx))(number, std::string(text, n)); }))
        return ZS_OK;
    err->message[0] = '\0'; // GDAL has reported why
    return ZS_ARGUMENT;
}

bool ZSMdimStrings::ReadElements(const ZSMdimRequest &request, const GDALExtendedDataType &type,
                                 struct zs_error *err) const
{
    auto give = [&](const uint64_t *number, const std::string &text) {
        const char *value = text.c_str();
        return GDALExtendedDataType::CopyValue(&value, m_type, addressOf(request, number), type);
    };
    err->message[0] = '\0';
    return zs_texts_read(m_store->Hierarchy(), m_node, m_store->MaxTextChunk(), &request, takeText<decltype(give)>,
                         &give, nullptr, err) == ZS_OK;
}

/* ---- Writing ---- */

namespace
{
/* Texts on their way to the core, one at a time. */
struct Giver
{
    const ZSMdimRequest &request;
    const GDALExtendedDataType &type, &own;
    std::string text;

    bool Give(const uint64_t *number)
    {
        char *value = nullptr;
        const bool ok = GDALExtendedDataType::CopyValue(addressOf(request, number), type, &value, own);
        text = value != nullptr ? zsUtf8(value) : "";
        CPLFree(value);
        return ok;
    }
    static enum zs_status Call(void *ctx, const uint64_t *number, const char **text, struct zs_error *err)
    {
        auto *giver = static_cast<Giver *>(ctx);
        if (!zsGuard([&] { return giver->Give(number); }))
            return zs_fail(err, ZS_ARGUMENT, "an element of the source cannot be converted to text");
        *text = giver->text.c_str();
        return ZS_OK;
    }
};
} // namespace

enum zs_status ZSMdimStrings::WriteElements(const ZSMdimRequest &request, const GDALExtendedDataType &type,
                                            struct zs_error *err)
{
    const auto own = GDALExtendedDataType::CreateString();
    Giver giver{request, type, own, {}};
    return zs_texts_write(m_store->Hierarchy(), m_node, m_store->MaxTextChunk(), &request, Giver::Call, &giver, err);
}

std::shared_ptr<GDALMDArray> zsMdimStrings(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                           const std::vector<std::shared_ptr<GDALDimension>> &made,
                                           struct zs_error *err)
{
    return ZSMdimStrings::Create(store, node, made, err);
}
