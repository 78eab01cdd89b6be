/* Elements of arrays, read and written with steps. */
#include "mdim.h"

#include <algorithm>
#include <vector>

#include "gdal/guard.h"

extern "C"
{
#include "base/checked.h"
#include "base/strided.h"
}

ZSMdimRequest zsMdimRequest(size_t ndim, const GUInt64 *start, const size_t *count, const GInt64 *step,
                            const GPtrDiff_t *stride, size_t size, const void *data)
{
    ZSMdimRequest request = {};
    request.ndim = static_cast<int>(ndim);
    request.data = static_cast<char *>(const_cast<void *>(data));
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

/* ---- Numbers. Neighbouring elements are one window of the core, and elements whose steps are wider than a chunk a
 * window each. With narrower steps the wanted elements are picked out of each chunk ---- */

namespace
{
struct Numbers
{
    struct zs_array *array;
    const ZSMdimRequest &request;
    size_t size; /* of an element in the array; in a buffer, where it is written */
    zs_convert_fn convert;
    void *conversion;
};
} // namespace

/* Picks the elements that are wanted: a zs_take_fn of Numbers. */
static void pick(void *ctx, void *, const uint64_t *start, const uint64_t *count, const void *src,
                 const ptrdiff_t *stride)
{
    const auto &all = *static_cast<Numbers *>(ctx);
    const ZSMdimRequest &request = all.request;
    const auto *from = static_cast<const char *>(src);
    char *to = request.data;
    uint64_t wanted[ZS_MAX_NDIM];
    ptrdiff_t picked[ZS_MAX_NDIM];
    for (int d = 0; d < request.ndim; d++)
    {
        const uint64_t step = request.step[d], first = start[d] - request.start[d];
        const uint64_t low = step == 0 ? 0 : zs_ceil_div_u64(first, step);
        const uint64_t high = step == 0 ? request.count[d] : (first + count[d] - 1) / step + 1;
        if (low >= high)
            return;
        wanted[d] = high - low;
        from += static_cast<ptrdiff_t>(low * step - first) * stride[d];
        to += static_cast<ptrdiff_t>(low) * request.stride[d];
        picked[d] = static_cast<ptrdiff_t>(step) * stride[d];
    }
    zs_copy_strided(request.ndim, wanted, from, picked, to, request.stride, all.size, all.convert, all.conversion);
}

static enum zs_status readNumbers(struct zs_array *array, const ZSMdimRequest &request, GDALDataType type,
                                  struct zs_error *err)
{
    const struct zs_array_info info = zs_array_get_info(array);
    ZSConversion conversion{info.data_type, info.item_size, type};
    Numbers numbers{array, request, info.item_size, conversion.IsReadAsIs() ? nullptr : zsConvert, &conversion};
    bool isInPlace = true, isApart[ZS_MAX_NDIM];
    for (int d = 0; d < request.ndim; d++)
    {
        isApart[d] = request.step[d] > 1 && request.step[d] >= info.chunk_shape[d];
        isInPlace = isInPlace && (isApart[d] || request.step[d] == 1);
    }
    const auto readInPlace = [](void *ctx, const struct zs_window *windows, size_t n, struct zs_error *e) {
        auto *of = static_cast<Numbers *>(ctx);
        return zs_array_read_windows(of->array, windows, n, of->convert, of->conversion, e);
    };
    const auto readAndPick = [](void *ctx, const struct zs_window *windows, size_t n, struct zs_error *e) {
        return zs_array_take_windows(static_cast<Numbers *>(ctx)->array, windows, n, pick, ctx, e);
    };
    const zs_windows_fn read = isInPlace ? static_cast<zs_windows_fn>(readInPlace) : readAndPick;
    return zs_stepped_windows(&request, isApart, read, &numbers, err);
}

/* With steps each element is a window of its own, so that elements between them are never written: other writers may
 * change them. */
static enum zs_status writeNumbers(struct zs_array *array, const ZSMdimRequest &request, GDALDataType type,
                                   struct zs_error *err)
{
    const struct zs_array_info info = zs_array_get_info(array);
    ZSConversion storing{info.data_type, info.item_size, type};
    Numbers numbers{array, request, static_cast<size_t>(GDALGetDataTypeSizeBytes(type)),
                    storing.IsStoredAsIs() ? nullptr : zsStore, &storing};
    bool isApart[ZS_MAX_NDIM];
    for (int d = 0; d < request.ndim; d++)
        isApart[d] = request.step[d] != 1;
    const auto write = [](void *ctx, const struct zs_window *windows, size_t n, struct zs_error *e) {
        auto *of = static_cast<Numbers *>(ctx);
        return zs_array_write_windows(of->array, windows, n, of->size, of->convert, of->conversion, e);
    };
    return zs_stepped_windows(&request, isApart, write, &numbers, err);
}

/* ---- Texts ---- */

bool zsMdimTextOf(const void *value, const GDALExtendedDataType &type, std::string &text)
{
    char *found = nullptr;
    const bool ok = GDALExtendedDataType::CopyValue(value, type, &found, GDALExtendedDataType::CreateString());
    text = found != nullptr ? zsUtf8(found) : "";
    CPLFree(found);
    return ok;
}

namespace
{
/* Texts of GDAL's memory, one at a time. */
struct Texts
{
    const ZSMdimRequest &request;
    const GDALExtendedDataType &type;
    const GDALExtendedDataType own = GDALExtendedDataType::CreateString();
    std::string text = {};

    char *Address(const uint64_t *number) const
    {
        char *address = request.data;
        for (int d = 0; d < request.ndim; d++)
            address += static_cast<ptrdiff_t>(number[d]) * request.stride[d];
        return address;
    }
    static enum zs_status Take(void *ctx, const uint64_t *number, const char *text, size_t n, struct zs_error *err)
    {
        auto *texts = static_cast<Texts *>(ctx);
        const auto convert = [&] {
            const std::string whole(text, n);
            const char *value = whole.c_str();
            return GDALExtendedDataType::CopyValue(&value, texts->own, texts->Address(number), texts->type);
        };
        if (zsGuard(convert))
            return ZS_OK;
        err->message[0] = '\0'; // GDAL has reported why
        return ZS_ARGUMENT;
    }
    static enum zs_status Give(void *ctx, const uint64_t *number, const char **text, struct zs_error *err)
    {
        auto *texts = static_cast<Texts *>(ctx);
        if (!zsGuard([&] { return zsMdimTextOf(texts->Address(number), texts->type, texts->text); }))
            return zs_fail(err, ZS_ARGUMENT, "an element of the source cannot be converted to text");
        *text = texts->text.c_str();
        return ZS_OK;
    }
};
} // namespace

/* ---- Either ---- */

enum zs_status zsMdimRead(const ZSMdimStore &store, const struct zs_node *node, struct zs_array *array,
                          const ZSMdimRequest &request, const GDALExtendedDataType &type, struct zs_error *err)
{
    if (array != nullptr)
        return readNumbers(array, request, type.GetNumericDataType(), err);
    Texts texts{request, type};
    err->message[0] = '\0';
    return zs_texts_read(store.hierarchy, node, store.MaxTextChunk(), &request, Texts::Take, &texts, nullptr, err);
}

enum zs_status zsMdimWrite(const ZSMdimStore &store, const struct zs_node *node, struct zs_array *array,
                           const ZSMdimRequest &request, const GDALExtendedDataType &type, struct zs_error *err)
{
    if (array != nullptr) // GDAL converts no text to numbers for arrays
        return writeNumbers(array, request, type.GetNumericDataType(), err);
    const ZSOneWarning ofTexts;
    Texts texts{request, type};
    return zs_texts_write(store.hierarchy, node, store.MaxTextChunk(), &request, Texts::Give, &texts, err);
}
