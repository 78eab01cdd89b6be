/* Writing through the multidimensional API. Neighbouring elements are one window; with steps each element is a window
 * of its own, so that elements between them are never written: other writers may change them. */
#include "mdim.h"

#include <algorithm>

#include "gdal/guard.h"

/* Windows of one call of the core, 800 bytes each. */
constexpr size_t MOST_WINDOWS = 8192;
/* Bytes that a text takes in memory, as a guess. */
constexpr size_t USUAL_TEXT = 64;

/* ---- Elements ---- */

bool zsMdimTake(const uint64_t *shape, void *dst, const GDALExtendedDataType &own, const ZSMdimRequest &r,
                const GDALExtendedDataType &type)
{
    return zsForEach(r.ndim, r.count, [&](const uint64_t *at) {
        uint64_t to = 0;
        const char *from = r.data;
        for (int d = 0; d < r.ndim; d++)
        {
            to = to * shape[d] + r.start[d] + at[d] * r.step[d];
            from += static_cast<ptrdiff_t>(at[d]) * r.stride[d];
        }
        char *element = static_cast<char *>(dst) + to * own.GetSize();
        if (own.NeedsFreeDynamicMemory())
        {
            own.FreeDynamicMemory(element);
            memset(element, 0, own.GetSize());
        }
        return GDALExtendedDataType::CopyValue(from, type, element, own);
    });
}

bool zsMdimTakeTexts(std::vector<std::string> &texts, const ZSMdimRequest &r, const GDALExtendedDataType &type)
{
    const uint64_t shape[1] = {texts.size()};
    std::vector<char *> taken(texts.size());
    const bool ok = zsMdimTake(shape, taken.data(), GDALExtendedDataType::CreateString(), r, type);
    for (size_t i = 0; i < taken.size(); i++)
    {
        if (ok && taken[i] != nullptr)
            texts[i] = taken[i];
        CPLFree(taken[i]);
    }
    return ok;
}

enum zs_status zsMdimWrite(struct zs_array *array, const ZSMdimRequest &r, GDALDataType type, struct zs_error *err)
{
    const struct zs_array_info info = zs_array_get_info(array);
    ZSStoring storing{type, info.data_type, info.item_size};
    const auto size = static_cast<size_t>(GDALGetDataTypeSizeBytes(type));
    std::vector<struct zs_window> windows;
    enum zs_status status = ZS_OK;
    const zs_convert_fn convert = storing.IsIdentity() ? nullptr : zsStore;
    ZS_TRY(zs_array_check_storable(array, r.ndim, r.count, r.data, r.stride, size, convert, &storing, err));
    const auto write = [&] {
        status = zs_array_write_windows(array, windows.data(), windows.size(), size, convert, &storing, err);
        windows.clear();
        return status == ZS_OK;
    };
    uint64_t each[ZS_MAX_NDIM], all = 1;
    for (int d = 0; d < r.ndim; d++)
    {
        each[d] = r.step[d] == 1 ? 1 : r.count[d];
        all = all > MOST_WINDOWS / each[d] ? MOST_WINDOWS : all * each[d];
    }
    windows.reserve(static_cast<size_t>(all));
    const bool ok = zsForEach(r.ndim, each, [&](const uint64_t *at) {
        windows.emplace_back();
        struct zs_window &w = windows.back();
        char *from = r.data;
        for (int d = 0; d < r.ndim; d++)
        {
            w.start[d] = r.start[d] + at[d] * r.step[d];
            w.count[d] = r.step[d] == 1 ? r.count[d] : 1;
            w.stride[d] = r.stride[d];
            from += static_cast<ptrdiff_t>(at[d]) * r.stride[d];
        }
        w.data = from;
        return windows.size() < MOST_WINDOWS || write();
    });
    if (ok && !windows.empty())
        static_cast<void>(write());
    return status;
}

/* ---- Copying ---- */

/* Bytes that a copy may hold of an array, as GDAL has it. */
static uint64_t mostBytes()
{
    const char *swath = CPLGetConfigOption("GDAL_SWATH_SIZE", nullptr);
    const GIntBig most = swath != nullptr ? CPLAtoGIntBig(swath) : GDALGetCacheMax64() / 4;
    return static_cast<uint64_t>(std::max<GIntBig>(1, most));
}

/* Shape of a piece: a whole shard if that is not too much, else a chunk; and as many of them, the last dimension first,
 * as are not too much, so that what the source has in one chunk is read once. */
static std::vector<size_t> pieceOf(const ZSMdimChunks &chunks, const std::vector<uint64_t> &shape, size_t size)
{
    const size_t dims = shape.size();
    const uint64_t most = mostBytes();
    std::vector<uint64_t> unit(shape), piece(dims);
    uint64_t bytes = 0;
    for (const uint64_t *stored : {chunks.shard, chunks.chunk})
    {
        bytes = size;
        for (size_t d = 0; d < dims; d++)
        {
            unit[d] = piece[d] = std::min(stored[d], shape[d]);
            bytes = bytes > UINT64_MAX / unit[d] ? UINT64_MAX : bytes * unit[d];
        }
        if (bytes <= most)
            break;
    }
    for (size_t d = dims; d-- > 0 && bytes <= most;)
    {
        const uint64_t times = most / bytes;
        piece[d] = unit[d] > shape[d] / times ? shape[d] : std::min(shape[d], unit[d] * times);
        bytes = bytes / unit[d] * piece[d];
        if (piece[d] < shape[d])
            break; // slower dimensions would only make the piece larger
    }
    return std::vector<size_t>(piece.begin(), piece.end());
}

namespace
{
/* Elements of any type on their way. */
class Elements
{
    const GDALExtendedDataType m_type;
    std::vector<GByte> m_bytes;

  public:
    explicit Elements(const GDALExtendedDataType &type) : m_type(type)
    {
    }
    Elements(const Elements &) = delete;
    Elements &operator=(const Elements &) = delete;
    ~Elements()
    {
        Free();
    }
    void Free()
    {
        for (size_t at = 0; m_type.NeedsFreeDynamicMemory() && at < m_bytes.size(); at += m_type.GetSize())
            m_type.FreeDynamicMemory(m_bytes.data() + at);
        if (m_type.NeedsFreeDynamicMemory())
            std::fill(m_bytes.begin(), m_bytes.end(), static_cast<GByte>(0));
    }
    GByte *Of(size_t count)
    {
        Free();
        m_bytes.resize(count * m_type.GetSize());
        return m_bytes.data();
    }
};
} // namespace

bool zsMdimCopyValues(GDALMDArray &to, const GDALMDArray &from, const ZSMdimChunks &chunks, GUInt64 &cost,
                      GUInt64 totalCost, GDALProgressFunc progress, void *progressData)
{
    const auto &type = from.GetDataType();
    std::vector<uint64_t> shape;
    uint64_t all = 1;
    for (const auto &d : to.GetDimensions())
    {
        shape.push_back(d->GetSize());
        all *= d->GetSize();
    }
    const auto dims = static_cast<int>(shape.size());
    const size_t size = type.GetClass() == GEDTC_STRING ? USUAL_TEXT : type.GetSize();
    const std::vector<size_t> piece = all == 0 ? std::vector<size_t>(shape.begin(), shape.end())
                                               : pieceOf(chunks, shape, size);
    Elements elements(type);
    std::vector<uint64_t> pieces;
    std::vector<GUInt64> start(shape.size());
    std::vector<size_t> count(shape.size());
    for (size_t d = 0; d < shape.size(); d++)
        pieces.push_back(piece[d] == 0 ? 0 : (shape[d] + piece[d] - 1) / piece[d]);
    uint64_t done = 0;
    const bool ok = all == 0 || zsForEach(dims, pieces.data(), [&](const uint64_t *at) {
        size_t n = 1;
        for (size_t d = 0; d < shape.size(); d++)
        {
            start[d] = at[d] * piece[d];
            count[d] = static_cast<size_t>(std::min<uint64_t>(piece[d], shape[d] - start[d]));
            n *= count[d];
        }
        GByte *bytes = elements.Of(n);
        done += n;
        return from.Read(start.data(), count.data(), nullptr, nullptr, type, bytes) &&
               to.Write(start.data(), count.data(), nullptr, nullptr, type, bytes) &&
               progress(static_cast<double>(cost + done * type.GetSize()) / static_cast<double>(totalCost), "",
                        progressData) != FALSE;
    });
    cost += all * type.GetSize();
    return ok;
}
