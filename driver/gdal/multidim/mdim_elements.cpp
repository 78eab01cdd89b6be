/* Elements of arrays: read with steps, written, copied. Neighbouring elements are read as
 * one window of the core. With steps wider than a chunk each element is a window of its own; with narrower steps the
 * enclosing box is read, and the wanted elements are copied out. */
#include "mdim.h"

#include <algorithm>
#include <vector>

#include "gdal/guard.h"

extern "C"
{
#include "base/strided.h"
#include "codec/chain.h"
}

/* Larger boxes are halved: one holds as many chunks as threads need to be busy. */
constexpr uint64_t MOST_BOX_BYTES = 64 << 20;

ZSMdimRequest zsMdimRequest(size_t ndim, const GUInt64 *start, const size_t *count, const GInt64 *step,
                            const GPtrDiff_t *stride, size_t size, void *data)
{
    ZSMdimRequest request = {};
    request.ndim = static_cast<int>(ndim);
    request.data = static_cast<char *>(data);
    for (size_t d = 0; d < ndim; d++)
    {
        request.start[d] = start[d];
        request.count[d] = count[d];
        request.step[d] = count[d] > 1 ? static_cast<uint64_t>(std::abs(step[d])) : 1;
        // modulo 2^64, since GDAL's Python binding divides a negative number of bytes as one without a sign
        request.stride[d] = static_cast<ptrdiff_t>(static_cast<size_t>(stride[d]) * size);
        if (step[d] < 0 && count[d] > 1) // from the other end
        {
            request.start[d] -= (count[d] - 1) * request.step[d];
            request.data += static_cast<ptrdiff_t>(count[d] - 1) * request.stride[d];
            request.stride[d] = -request.stride[d];
        }
    }
    return request;
}

/* Sets the strides of elements that lie densely; returns how many bytes they take. */
static ptrdiff_t denseStrides(int ndim, const uint64_t *count, size_t size, ptrdiff_t *strides)
{
    auto bytes = static_cast<ptrdiff_t>(size);
    for (int d = ndim - 1; d >= 0; d--)
    {
        strides[d] = bytes;
        bytes *= static_cast<ptrdiff_t>(count[d]);
    }
    return bytes;
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
    /* Reused for all boxes: touched memory is far quicker than new. In words of the widest kind, so that each element
     * is aligned; not cleared, for all elements are read. */
    std::unique_ptr<double[]> m_box;
    size_t m_boxWords = 0;

    /* Whether each element of dimension d is a window of its own. */
    bool IsApart(const ZSMdimRequest &request, int d) const
    {
        return request.step[d] == 0 || (request.step[d] > 1 && request.step[d] >= m_info.chunk_shape[d]);
    }
    bool HasBox(const ZSMdimRequest &request, uint64_t *extent) const;
    bool ReadWindows(const ZSMdimRequest &request, char *data, const ptrdiff_t *stride);
    bool ReadBox(const ZSMdimRequest &request, const uint64_t *extent);

  public:
    Reader(struct zs_array *array, GDALDataType to, struct zs_error *err)
        : m_array(array), m_info(zs_array_get_info(array)), m_conversion{m_info.data_type, m_info.item_size, to},
          m_size(static_cast<size_t>(GDALGetDataTypeSizeBytes(to))), m_err(err)
    {
    }
    bool Read(const ZSMdimRequest &request);
};
} // namespace

/* The elements along each dimension of the box; false where the request is its own. */
bool Reader::HasBox(const ZSMdimRequest &request, uint64_t *extent) const
{
    bool hasBox = false;
    for (int d = 0; d < request.ndim; d++)
    {
        const bool isDense = IsApart(request, d) || request.step[d] == 1;
        extent[d] = isDense ? request.count[d] : (request.count[d] - 1) * request.step[d] + 1;
        hasBox = hasBox || !isDense;
    }
    return hasBox;
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
        isApart[d] = IsApart(request, d);
    }
    const auto read = [](void *ctx, const struct zs_window *windows, size_t n, struct zs_error *err) {
        auto *reader = static_cast<Reader *>(ctx);
        const zs_convert_fn convert = reader->m_conversion.IsIdentity() ? nullptr : zsConvert;
        return zs_array_read_windows(reader->m_array, windows, n, convert, &reader->m_conversion, err);
    };
    return zs_stepped_windows(&wanted, isApart, read, this, m_err) == ZS_OK;
}

bool Reader::ReadBox(const ZSMdimRequest &request, const uint64_t *extent)
{
    ptrdiff_t inBox[ZS_MAX_NDIM] = {0}, picked[ZS_MAX_NDIM] = {0};
    const ptrdiff_t bytes = denseStrides(request.ndim, extent, m_size, inBox);
    const size_t words = static_cast<size_t>(bytes) / sizeof(double) + 2;
    if (words > m_boxWords)
    {
        m_box.reset(); // not both at once
        m_box.reset(new double[words]);
        m_boxWords = words;
    }
    char *const box = reinterpret_cast<char *>(m_box.get());
    for (int d = 0; d < request.ndim; d++)
        picked[d] = inBox[d] * static_cast<ptrdiff_t>(IsApart(request, d) ? 1 : request.step[d]);
    if (!ReadWindows(request, box, inBox))
        return false;
    zs_copy_strided(request.ndim, request.count, box, picked, request.data, request.stride, m_size, nullptr, nullptr);
    return true;
}

bool Reader::Read(const ZSMdimRequest &request)
{
    uint64_t extent[ZS_MAX_NDIM];
    if (!HasBox(request, extent))
        return ReadWindows(request, request.data, request.stride);
    double bytes = static_cast<double>(m_size);
    for (int d = 0; d < request.ndim; d++)
        bytes *= static_cast<double>(extent[d]);
    int slowest = 0; // along which chunks are shortest
    while (slowest + 1 < request.ndim && request.count[slowest] == 1)
        slowest++;
    const uint64_t half = request.count[slowest] / 2;
    if (bytes <= static_cast<double>(MOST_BOX_BYTES) || half == 0)
        return ReadBox(request, extent);
    ZSMdimRequest first = request, second = request;
    first.count[slowest] = half;
    second.count[slowest] -= half;
    second.start[slowest] += half * request.step[slowest];
    second.data += static_cast<ptrdiff_t>(half) * request.stride[slowest];
    for (ZSMdimRequest *part : {&first, &second})
        part->step[slowest] = part->count[slowest] > 1 ? part->step[slowest] : 1;
    return Read(first) && Read(second);
}

namespace
{
struct AnyConversion
{
    const GDALExtendedDataType &from, &to;
};
} // namespace

/* zs_convert_fn of an AnyConversion. */
static void convertAny(void *ctx, const void *src, void *dst, ptrdiff_t dst_stride, size_t n)
{
    const auto &c = *static_cast<const AnyConversion *>(ctx);
    GDALExtendedDataType::CopyValues(src, c.from, 1, dst, c.to, dst_stride / static_cast<ptrdiff_t>(c.to.GetSize()), n);
}

bool zsMdimRead(struct zs_array *array, const GDALExtendedDataType &own, const ZSMdimRequest &request,
                const GDALExtendedDataType &type, struct zs_error *err)
{
    if (type.GetClass() == GEDTC_NUMERIC)
        return Reader(array, type.GetNumericDataType(), err).Read(request);
    ZSMdimRequest dense = request;
    const ptrdiff_t bytes = denseStrides(request.ndim, request.count, own.GetSize(), dense.stride);
    std::vector<double> elements(static_cast<size_t>(bytes) / sizeof(double) + 2); // aligned
    dense.data = reinterpret_cast<char *>(elements.data());
    if (!Reader(array, own.GetNumericDataType(), err).Read(dense))
        return false;
    AnyConversion conversion{own, type};
    zs_copy_strided(request.ndim, request.count, dense.data, dense.stride, request.data, request.stride, own.GetSize(),
                    convertAny, &conversion);
    return true;
}

/* ---- Writing: neighbouring elements are one window; with steps each element is a window of its own, so that elements
 * between them are never written: other writers may change them ---- */

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

namespace
{
struct Copying
{
    GDALMDArray &to;
    const GDALExtendedDataType type; /* of the source */
    std::vector<GByte> elements;
    GUInt64 &cost;
    GUInt64 totalCost;
    GDALProgressFunc progress;
    void *progressData;

    bool Copy(GDALAbstractMDArray &from, const GUInt64 *start, const size_t *count);
};
} // namespace

bool Copying::Copy(GDALAbstractMDArray &from, const GUInt64 *start, const size_t *count)
{
    size_t n = 1;
    for (size_t d = 0; d < from.GetDimensionCount(); d++)
        n *= count[d];
    elements.resize(n * type.GetSize());
    const bool hasTexts = type.NeedsFreeDynamicMemory();
    if (hasTexts)
        std::fill(elements.begin(), elements.end(), static_cast<GByte>(0));
    const bool ok = from.Read(start, count, nullptr, nullptr, type, elements.data()) &&
                    to.Write(start, count, nullptr, nullptr, type, elements.data());
    for (size_t at = 0; hasTexts && at < elements.size(); at += type.GetSize())
        type.FreeDynamicMemory(elements.data() + at);
    cost += n * type.GetSize();
    return ok && progress(static_cast<double>(cost) / static_cast<double>(totalCost), "", progressData) != FALSE;
}

/* GDAL's own CopyFrom() passes over elements that cannot be read, unless it is strict. */
bool zsMdimCopyValues(GDALMDArray &to, const GDALMDArray &from, GUInt64 &cost, GUInt64 totalCost,
                      GDALProgressFunc progress, void *progressData)
{
    constexpr GIntBig USUAL_TEXT = 64; // bytes, as a guess
    Copying copying{to, from.GetDataType(), {}, cost, totalCost, progress, progressData};
    const std::vector<GUInt64> start(to.GetDimensionCount());
    std::vector<GUInt64> count;
    for (const auto &d : to.GetDimensions())
        count.push_back(d->GetSize());
    if (std::find(count.begin(), count.end(), 0) != count.end())
        return true;
    const char *swath = CPLGetConfigOption("GDAL_SWATH_SIZE", nullptr);
    GIntBig most = swath != nullptr ? CPLAtoGIntBig(swath) : GDALGetCacheMax64() / 4;
    if (copying.type.NeedsFreeDynamicMemory())
        most = most / USUAL_TEXT * static_cast<GIntBig>(copying.type.GetSize());
    const auto pieces = to.GetProcessingChunkSize(static_cast<size_t>(std::max<GIntBig>(1, most)));
    const auto copy = [](GDALAbstractMDArray *of, const GUInt64 *at, const size_t *n, GUInt64, GUInt64, void *data) {
        return static_cast<Copying *>(data)->Copy(*of, at, n);
    };
    return const_cast<GDALMDArray &>(from).ProcessPerChunk(start.data(), count.data(), pieces.data(), copy, &copying);
}

/* ---- How chunks are encoded, in the words of GDAL's own Zarr driver ---- */

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
