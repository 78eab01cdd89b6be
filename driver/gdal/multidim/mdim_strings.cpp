#include "mdim_node_array.h"

extern "C"
{
#include "array/strings.h"
}

namespace
{
/* Arrays of no more elements are read as a whole, and kept: they are the names of something, and asked for again. */
constexpr uint64_t MOST_KEPT = 4096;

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
    mutable std::mutex m_lock;
    mutable bool m_isRead = false;
    mutable std::vector<std::string> m_texts; /* all elements of a small array, once they were read */

    bool ReadSmall() const;
    struct zs_text_request RequestOf(const ZSMdimRequest &request) const;

  protected:
    bool Chunks(ZSMdimChunks &chunks) const override;
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
        const std::lock_guard<std::mutex> held(m_lock);
        m_isRead = false;
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
            ZSMdimChunks chunks;
            std::vector<GUInt64> size(m_dimensions.size());
            const bool isKnown = Chunks(chunks);
            for (size_t d = 0; isKnown && d < size.size(); d++)
                size[d] = std::max<GUInt64>(1, std::min<GUInt64>(chunks.chunk[d], m_dimensions[d]->GetSize()));
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

bool ZSMdimStrings::Chunks(ZSMdimChunks &chunks) const
{
    struct zs_error err;
    if (zs_strings_chunks(m_store->Hierarchy(), m_node, chunks.chunk, chunks.shard, &err) == ZS_OK)
        return true;
    CPLDebug("ShardedZarr", "%s", err.message); // readers get the error
    return false;
}

struct zs_text_request ZSMdimStrings::RequestOf(const ZSMdimRequest &request) const
{
    struct zs_text_request texts = {};
    texts.ndim = request.ndim;
    texts.max_chunk = m_store->MaxTextChunk();
    for (int d = 0; d < request.ndim; d++)
    {
        texts.start[d] = request.start[d];
        texts.count[d] = request.count[d];
        texts.step[d] = request.step[d];
    }
    return texts;
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

template <class F>
static bool readTexts(const ZSMdimStore &store, const struct zs_node *node, const struct zs_text_request &request,
                      F take, struct zs_error *err)
{
    err->message[0] = '\0';
    return zs_texts_read(store.Hierarchy(), node, &request, takeText<F>, &take, nullptr, err) == ZS_OK;
}

/* Reads all elements of a small array once. False where it is not small, or reading it as a whole failed. */
bool ZSMdimStrings::ReadSmall() const
{
    const std::lock_guard<std::mutex> held(m_lock);
    struct zs_text_request all = {};
    struct zs_error err;
    uint64_t count = 1;
    if (m_isRead)
        return true;
    for (const uint64_t size : Shape())
    {
        all.count[all.ndim] = size;
        all.step[all.ndim++] = 1;
        count = size > MOST_KEPT / count ? MOST_KEPT + 1 : count * size;
        if (count == 0 || count > MOST_KEPT)
            return false;
    }
    std::vector<std::string> texts(static_cast<size_t>(count));
    const auto take = [&](const uint64_t *number, std::string &&text) {
        uint64_t at = 0;
        for (int d = 0; d < all.ndim; d++)
            at = at * all.count[d] + number[d];
        texts[static_cast<size_t>(at)] = std::move(text);
        return true;
    };
    if (!readTexts(*m_store, m_node, all, take, &err))
        return false;
    m_texts = std::move(texts);
    m_isRead = true;
    return true;
}

bool ZSMdimStrings::ReadElements(const ZSMdimRequest &request, const GDALExtendedDataType &type,
                                 struct zs_error *err) const
{
    const auto give = [&](const char *text, char *address) {
        return GDALExtendedDataType::CopyValue(&text, m_type, address, type);
    };
    if (!ReadSmall())
        return readTexts(
            *m_store, m_node, RequestOf(request),
            [&](const uint64_t *number, const std::string &text)
            { return give(text.c_str(), addressOf(request, number)); },
            err);
    const auto shape = Shape();
    const std::lock_guard<std::mutex> held(m_lock);
    err->message[0] = '\0';
    return zsForEachElement(shape.data(), request, [&](uint64_t index, char *address) {
        return give(m_texts[static_cast<size_t>(index)].c_str(), address);
    });
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
    const struct zs_text_request texts = RequestOf(request);
    const auto own = GDALExtendedDataType::CreateString();
    Giver giver{request, type, own, {}};
    const std::lock_guard<std::mutex> held(m_lock);
    m_isRead = false;
    return zs_texts_write(m_store->Hierarchy(), m_node, &texts, Giver::Call, &giver, err);
}

std::shared_ptr<GDALMDArray> zsMdimStrings(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                           const std::vector<std::shared_ptr<GDALDimension>> &made,
                                           struct zs_error *err)
{
    return ZSMdimStrings::Create(store, node, made, err);
}
