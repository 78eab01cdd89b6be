/* Reading with steps. Neighbouring elements are read as one window of the core. With steps wider than a chunk each
 * element is a window of its own; with narrower steps the enclosing box is read, and the wanted elements are copied
 * out. A read that needs too much memory is halved, along shards and chunks where possible, and each part is one
 * plan. */
#include "mdim.h"

#include <algorithm>
#include <cpl_json.h>
#include <vector>

#include "gdal/guard.h"

extern "C"
{
#include "base/strided.h"
#include "codec/description.h"
}

/* Boxes larger than this are cut: it holds as many chunks as threads need to be busy. */
constexpr uint64_t MOST_BOX_BYTES = 64 << 20;
/* Elements that become texts, or the like, at once. */
constexpr uint64_t MOST_COPIED = 1 << 16;
/* Bytes that a text takes in memory, as a guess. */
constexpr size_t USUAL_TEXT = 64;

/* ---- Requests ---- */

bool zsMdimRequest(int ndim, const uint64_t *shape, const GUInt64 *start, const size_t *count, const GInt64 *step,
                   const GPtrDiff_t *stride, size_t size, void *data, ZSMdimRequest &request, struct zs_error *err)
{
    request.ndim = ndim;
    request.data = static_cast<char *>(data);
    for (int d = 0; d < ndim; d++)
    {
        const uint64_t n = count[d];
        const GInt64 by = step[d];
        const uint64_t width = by < 0 ? 0 - static_cast<uint64_t>(by) : static_cast<uint64_t>(by);
        const uint64_t room = start[d] >= shape[d] ? 0 : by < 0 ? start[d] : shape[d] - 1 - start[d];
        if (n == 0 || start[d] >= shape[d] || (n > 1 && width > 0 && n - 1 > room / width))
        {
            zs_fail(err, ZS_ARGUMENT, "dimension %d: expected elements below %llu, found %llu from %llu by %lld", d,
                    static_cast<unsigned long long>(shape[d]), static_cast<unsigned long long>(n),
                    static_cast<unsigned long long>(start[d]), static_cast<long long>(by));
            return false;
        }
        request.start[d] = start[d];
        request.count[d] = n;
        request.step[d] = n > 1 ? width : 1;
        // modulo 2^64, since GDAL's Python binding divides a negative number of bytes as one without a sign
        request.stride[d] = static_cast<ptrdiff_t>(static_cast<size_t>(stride[d]) * size);
        if (by < 0 && n > 1) // from the other end
        {
            request.start[d] -= (n - 1) * width;
            request.data += static_cast<ptrdiff_t>(n - 1) * request.stride[d];
            request.stride[d] = -request.stride[d];
        }
    }
    return true;
}

static uint64_t timesOrMost(uint64_t a, uint64_t b)
{
    return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

/* The part of a request that begins at element `first` of dimension d, `n` elements long. */
static ZSMdimRequest partOf(const ZSMdimRequest &request, int d, uint64_t first, uint64_t n)
{
    ZSMdimRequest part = request;
    part.start[d] += first * request.step[d];
    part.count[d] = n;
    part.data += static_cast<ptrdiff_t>(first) * request.stride[d];
    if (n == 1)
        part.step[d] = 1;
    return part;
}

bool zsMdimGive(const uint64_t *shape, const void *src, const GDALExtendedDataType &own, const ZSMdimRequest &request,
                const GDALExtendedDataType &type)
{
    return zsForEachElement(shape, request, [&](uint64_t from, char *to) {
        return GDALExtendedDataType::CopyValue(static_cast<const char *>(src) + from * own.GetSize(), own, to, type);
    });
}

/* ---- Reading ---- */

namespace
{
class Reader
{
    struct zs_array *m_array;
    struct zs_array_info m_info;
    ZSConversion m_conversion;
    size_t m_size; /* of an element in the buffer */
    struct zs_error *m_err;
    /* Reused for all boxes: touched memory is far quicker than new. */
    std::unique_ptr<double[]> m_box;
    size_t m_boxWords = 0;

    enum class Way
    {
        TOGETHER, /* neighbours */
        APART,    /* a window for each */
        BOX
    };
    Way WayOf(const ZSMdimRequest &request, int d) const
    {
        if (request.step[d] == 1 || request.count[d] == 1)
            return Way::TOGETHER;
        return request.step[d] == 0 || request.step[d] >= m_info.chunk_shape[d] ? Way::APART : Way::BOX;
    }
    /* Elements of dimension d in the box. */
    uint64_t Extent(const ZSMdimRequest &request, int d) const
    {
        return WayOf(request, d) == Way::BOX ? (request.count[d] - 1) * request.step[d] + 1 : request.count[d];
    }
    uint64_t Windows(const ZSMdimRequest &request) const;
    /* Bytes of the box; 0 where there is none. */
    uint64_t BoxBytes(const ZSMdimRequest &request) const;
    /* Finds where to cut a read: dimension and element. */
    bool Cut(const ZSMdimRequest &request, bool onlyApart, int &dim, uint64_t &at) const;
    bool ReadWindows(const ZSMdimRequest &request, char *data, const ptrdiff_t *stride);
    bool ReadBox(const ZSMdimRequest &request);

  public:
    Reader(struct zs_array *array, GDALDataType to, struct zs_error *err)
        : m_array(array), m_info(zs_array_get_info(array)), m_conversion{m_info.data_type, m_info.item_size, to},
          m_size(static_cast<size_t>(GDALGetDataTypeSizeBytes(to))), m_err(err)
    {
    }
    bool Read(const ZSMdimRequest &request);
    /* Reads through a buffer of the array's own type, for types that are not numeric. */
    bool ReadAndCopy(const ZSMdimRequest &request, const GDALExtendedDataType &own, const GDALExtendedDataType &type);
};
} // namespace

uint64_t Reader::Windows(const ZSMdimRequest &request) const
{
    uint64_t n = 1;
    for (int d = 0; d < request.ndim; d++)
        n = timesOrMost(n, WayOf(request, d) == Way::APART ? request.count[d] : 1);
    return n;
}

uint64_t Reader::BoxBytes(const ZSMdimRequest &request) const
{
    uint64_t bytes = m_size;
    bool hasBox = false;
    for (int d = 0; d < request.ndim; d++)
    {
        hasBox = hasBox || WayOf(request, d) == Way::BOX;
        bytes = timesOrMost(bytes, Extent(request, d));
    }
    return hasBox ? bytes : 0;
}

bool Reader::Cut(const ZSMdimRequest &request, bool onlyApart, int &dim, uint64_t &at) const
{
    // Between shards, else between chunks; what lies in one of them is halved.
    for (const uint64_t *shape : {m_info.shard_shape, m_info.chunk_shape})
    {
        for (dim = 0; dim < request.ndim; dim++)
        {
            const uint64_t n = request.count[dim], step = request.step[dim];
            if (n == 1 || step == 0 || (onlyApart && WayOf(request, dim) != Way::APART))
                continue;
            const uint64_t middle = request.start[dim] + n / 2 * step;
            const uint64_t border = middle - middle % shape[dim];
            if (border <= request.start[dim])
                continue;
            at = (border - request.start[dim] + step - 1) / step; // at most n / 2
            return true;
        }
    }
    for (dim = 0; dim < request.ndim; dim++)
    {
        at = request.count[dim] / 2;
        if (at > 0 && (!onlyApart || WayOf(request, dim) == Way::APART))
            return true;
    }
    return false;
}

/* Reads the request's elements to `data`, where elements of dimension d are stride[d] bytes apart; of a box all
 * elements. */
bool Reader::ReadWindows(const ZSMdimRequest &request, char *data, const ptrdiff_t *stride)
{
    ZSMdimRequest wanted = request;
    bool isApart[ZS_MAX_NDIM];
    wanted.data = data;
    for (int d = 0; d < request.ndim; d++)
    {
        wanted.stride[d] = stride[d];
        isApart[d] = WayOf(request, d) == Way::APART;
    }
    const auto read = [](void *ctx, const struct zs_window *windows, size_t n, struct zs_error *err) {
        auto *reader = static_cast<Reader *>(ctx);
        const zs_convert_fn convert = reader->m_conversion.IsIdentity() ? nullptr : zsConvert;
        return zs_array_read_windows(reader->m_array, windows, n, convert, &reader->m_conversion, err);
    };
    return zs_stepped_windows(&wanted, isApart, read, this, m_err) == ZS_OK;
}

bool Reader::ReadBox(const ZSMdimRequest &request)
{
    // Elements are counted in words of the widest kind, so that each is aligned. All of them are read.
    const auto words = static_cast<size_t>(BoxBytes(request) / sizeof(double) + 2);
    if (words > m_boxWords)
    {
        m_box.reset(); // not both at once
        m_boxWords = 0;
        m_box.reset(new double[words]);
        m_boxWords = words;
    }
    char *const box = reinterpret_cast<char *>(m_box.get());
    ptrdiff_t inBox[ZS_MAX_NDIM] = {0}, picked[ZS_MAX_NDIM] = {0};
    auto size = static_cast<ptrdiff_t>(m_size);
    for (int d = request.ndim - 1; d >= 0; d--)
    {
        inBox[d] = size;
        picked[d] = size * static_cast<ptrdiff_t>(WayOf(request, d) == Way::BOX ? request.step[d] : 1);
        size *= static_cast<ptrdiff_t>(Extent(request, d));
    }
    if (!ReadWindows(request, box, inBox))
        return false;
    zs_copy_strided(request.ndim, request.count, box, picked, request.data, request.stride, m_size, nullptr, nullptr);
    return true;
}

bool Reader::Read(const ZSMdimRequest &request)
{
    const uint64_t bytes = BoxBytes(request);
    const bool hasMany = Windows(request) > ZS_MOST_WINDOWS;
    int dim;
    uint64_t at;
    if ((hasMany || bytes > MOST_BOX_BYTES) && Cut(request, hasMany, dim, at))
        return Read(partOf(request, dim, 0, at)) && Read(partOf(request, dim, at, request.count[dim] - at));
    return bytes != 0 ? ReadBox(request) : ReadWindows(request, request.data, request.stride);
}

bool Reader::ReadAndCopy(const ZSMdimRequest &request, const GDALExtendedDataType &own,
                         const GDALExtendedDataType &type)
{
    uint64_t elements = 1;
    for (int d = 0; d < request.ndim; d++)
        elements = timesOrMost(elements, request.count[d]);
    int dim;
    uint64_t at;
    if (elements > MOST_COPIED && Cut(request, false, dim, at))
        return ReadAndCopy(partOf(request, dim, 0, at), own, type) &&
               ReadAndCopy(partOf(request, dim, at, request.count[dim] - at), own, type);
    std::vector<double> dense(static_cast<size_t>(elements * own.GetSize() / sizeof(double) + 2));
    ZSMdimRequest all = request, whole = request;
    all.data = reinterpret_cast<char *>(dense.data());
    auto size = static_cast<ptrdiff_t>(own.GetSize());
    for (int d = request.ndim - 1; d >= 0; d--)
    {
        all.stride[d] = size;
        size *= static_cast<ptrdiff_t>(request.count[d]);
        whole.start[d] = 0;
        whole.step[d] = 1;
    }
    return Read(all) && zsMdimGive(request.count, dense.data(), own, whole, type);
}

bool zsMdimRead(struct zs_array *array, const GDALExtendedDataType &own, const ZSMdimRequest &request,
                const GDALExtendedDataType &type, struct zs_error *err)
{
    err->message[0] = '\0'; // stays empty where only GDAL's conversion fails: that is no error of the core
    const bool isNumber = type.GetClass() == GEDTC_NUMERIC;
    Reader reader(array, (isNumber ? type : own).GetNumericDataType(), err);
    return isNumber ? reader.Read(request) : reader.ReadAndCopy(request, own, type);
}

/* ---- Writing: neighbouring elements are one window; with steps each element is a window of its own, so that elements
 * between them are never written: other writers may change them ---- */

bool zsMdimTake(const uint64_t *shape, void *dst, const GDALExtendedDataType &own, const ZSMdimRequest &request,
                const GDALExtendedDataType &type)
{
    return zsForEachElement(shape, request, [&](uint64_t to, const char *from) {
        char *element = static_cast<char *>(dst) + to * own.GetSize();
        if (own.NeedsFreeDynamicMemory())
        {
            own.FreeDynamicMemory(element);
            memset(element, 0, own.GetSize());
        }
        return GDALExtendedDataType::CopyValue(from, type, element, own);
    });
}

bool zsMdimTakeTexts(std::vector<std::string> &texts, const ZSMdimRequest &request, const GDALExtendedDataType &type)
{
    const uint64_t shape[1] = {texts.size()};
    std::vector<char *> taken(texts.size());
    const bool ok = zsMdimTake(shape, taken.data(), GDALExtendedDataType::CreateString(), request, type);
    for (size_t i = 0; i < taken.size(); i++)
    {
        if (ok && taken[i] != nullptr)
            texts[i] = taken[i];
        CPLFree(taken[i]);
    }
    return ok;
}

namespace
{
/* Where elements are written to, and how. */
struct Target
{
    struct zs_array *array;
    size_t size; /* of an element in the buffer */
    ZSStoring storing;
    zs_convert_fn convert;
};
} // namespace

enum zs_status zsMdimWrite(struct zs_array *array, const ZSMdimRequest &request, GDALDataType type,
                           struct zs_error *err)
{
    const struct zs_array_info info = zs_array_get_info(array);
    const auto size = static_cast<size_t>(GDALGetDataTypeSizeBytes(type));
    Target target{array, size, {type, info.data_type, info.item_size}, zsStore};
    if (target.storing.IsIdentity())
        target.convert = nullptr;
    ZS_TRY(zs_array_check_storable(array, request.ndim, request.count, request.data, request.stride, size,
                                   target.convert, &target.storing, err));
    bool isApart[ZS_MAX_NDIM];
    for (int d = 0; d < request.ndim; d++)
        isApart[d] = request.step[d] != 1;
    const auto write = [](void *ctx, const struct zs_window *windows, size_t n, struct zs_error *e) {
        auto *to = static_cast<Target *>(ctx);
        return zs_array_write_windows(to->array, windows, n, to->size, to->convert, &to->storing, e);
    };
    return zs_stepped_windows(&request, isApart, write, &target, err);
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

/* ---- How chunks are encoded, and where they are, in the words of GDAL's own Zarr driver ---- */

static std::string sizesText(const uint64_t *sizes, int n)
{
    std::string text;
    for (int d = 0; d < n; d++)
        text += (d > 0 ? "," : "") + std::to_string(sizes[d]);
    return text;
}

/* Units of times, which GDAL has no data type for. */
static void tellDataType(const struct zs_node *node, CPLStringList &list)
{
    const zs_json *configuration = nullptr;
    const char *name = zs_extension_name(zs_json_get(node->document, "data_type"), &configuration);
    const char *unit;
    uint64_t factor;
    const bool isTime = node->array->dtype.type == ZS_DATETIME64 || node->array->dtype.type == ZS_TIMEDELTA64;
    if (!isTime || name == nullptr)
        return;
    list.SetNameValue("data_type.name", name);
    if (zs_json_string(zs_json_get(configuration, "unit"), &unit))
        list.SetNameValue("data_type.unit", unit);
    if (zs_json_uint64(zs_json_get(configuration, "scale_factor"), &factor))
        list.SetNameValue("data_type.scale_factor", std::to_string(factor).c_str());
}

void zsMdimTellStructure(const struct zs_node *node, const struct zs_array_info &info, CPLStringList &list)
{
    tellDataType(node, list);
    if (info.is_sharded && info.ndim > 0 && !info.has_edges)
        list.SetNameValue("SHARD_SHAPE", sizesText(info.shard_shape, info.ndim).c_str());
    const char *filter = zs_blosc_filter_name(node->array);
    if (filter != nullptr)
        list.SetNameValue("BLOSC_SHUFFLE", filter);
}

#if ZS_GDAL_AT_LEAST(12)
/* With the spaces that GDAL's own driver prints. */
static std::string spacedText(const zs_json *json)
{
    const std::unique_ptr<char, decltype(&free)> text(zs_json_print(json), free);
    CPLJSONDocument document;
    if (text == nullptr || !document.LoadMemory(std::string(text.get())))
        return "";
    return document.GetRoot().Format(CPLJSONObject::PrettyFormat::Spaced);
}

/* Lists what a program needs to decode a block by itself. */
static CPLStringList termsOf(const struct zs_node *node, const struct zs_array *array)
{
    CPLStringList list;
    struct zs_terms terms;
    int axis[ZS_MAX_NDIM];
    uint64_t order[ZS_MAX_NDIM];
    const struct zs_array_info info = zs_array_get_info(array);
    bool isInOrder = true;
    zs_terms_find(node->array, &terms);
    zs_array_stored_order(array, axis);
    for (int d = 0; d < info.ndim; d++)
    {
        order[d] = static_cast<uint64_t>(axis[d]);
        isInOrder = isInOrder && axis[d] == d;
    }
    tellDataType(node, list);
    if (terms.compressor != nullptr)
        list.SetNameValue("COMPRESSOR", spacedText(terms.compressor).c_str());
    if (terms.has_endian)
        list.SetNameValue("ENDIANNESS", terms.is_big_endian ? "BIG" : "LITTLE");
    if (!isInOrder)
        list.SetNameValue("TRANSPOSE_ORDER", ("[" + sizesText(order, info.ndim) + "]").c_str());
    if (!terms.is_all)
        list.SetNameValue("CODECS", spacedText(node->array->codecs).c_str());
    if (info.is_sharded)
        list.SetNameValue("CHUNK_TYPE", "INNER");
    return list;
}

static bool putInline(const void *data, size_t size, GDALMDArrayRawBlockInfo &block)
{
    block.pabyInlineData = static_cast<GByte *>(VSI_MALLOC_VERBOSE(size));
    if (block.pabyInlineData == nullptr)
        return false;
    memcpy(block.pabyInlineData, data, size);
    return true;
}

/* Sets the file and the offset of a chunk; in a store that has no such file, the bytes themselves. */
static bool putPlace(struct zs_store *store, const struct zs_chunk_bytes &found, GDALMDArrayRawBlockInfo &block,
                     struct zs_error *err)
{
    struct zs_store *where = nullptr;
    char *key = nullptr;
    uint64_t offset = 0;
    if (zs_store_locate(store, found.key, &where, &key, &offset, err) != ZS_OK)
        return false;
    if (key != nullptr)
    {
        block.pszFilename = CPLStrdup((std::string(where->root) + "/" + key).c_str());
        block.nOffset = offset + found.offset;
        free(key);
        return true;
    }
    struct zs_object *object = nullptr;
    std::vector<GByte> bytes(static_cast<size_t>(found.size));
    enum zs_status status = zs_object_open(store, found.key, &object, err);
    if (status == ZS_OK)
        status = zs_object_read(object, found.offset, bytes.size(), bytes.data(), err);
    zs_object_close(object);
    return status == ZS_OK && putInline(bytes.data(), bytes.size(), block);
}

bool zsMdimRawBlock(const ZSMdimStore &store, const struct zs_node *node, struct zs_array *array,
                    const uint64_t *coordinates, GDALMDArrayRawBlockInfo &block)
{
    struct zs_error err;
    struct zs_chunk_bytes found = {};
    block.clear();
    if (!store.IsPublished())
        return zsRefuse(CPLE_AppDefined, "array /%s: flush it first: a new array is in no file yet", node->path);
    if (zs_array_find_chunk(array, coordinates, &found, &err) != ZS_OK)
        return zsReport(err);
    const ZSOwned<struct zs_chunk_bytes> cleared(&found, zs_chunk_bytes_clear);
    if (found.key == nullptr && found.data == nullptr)
        return true; // a missing chunk has neither file nor size
    CPLStringList terms = termsOf(node, array);
    if (found.data != nullptr)
    {
        if (!putInline(found.data, static_cast<size_t>(found.size), block))
            return false;
    }
    else if (!putPlace(store.Store(), found, block, &err))
        return zsReport(err);
    block.nSize = found.size;
    block.papszInfo = terms.StealList();
    return true;
}
#endif
