/* gdal/multidim/mdim_elements.h: elements of arrays: windows with steps and strides, read, written and copied. */
#ifndef ZS_GDAL_MDIM_ELEMENTS_H
#define ZS_GDAL_MDIM_ELEMENTS_H

#include <algorithm>
#include <string>
#include <vector>

#include "gdal/compat.h"

extern "C"
{
#include "array/array.h"
}

/* Shapes of chunks and shards; equal where the array is not sharded. */
struct ZSMdimChunks
{
    uint64_t chunk[ZS_MAX_NDIM], shard[ZS_MAX_NDIM];

    void Take(const struct zs_array_info &info)
    {
        std::copy_n(info.chunk_shape, info.ndim, chunk);
        std::copy_n(info.shard_shape, info.ndim, shard);
    }
};

/* ---- mdim_read.cpp ---- */

/* The arguments of GDALAbstractMDArray::IRead(), strides in bytes. */
struct ZSMdimRequest
{
    int ndim;
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM], step[ZS_MAX_NDIM];
    ptrdiff_t stride[ZS_MAX_NDIM];
    char *data;
};

/* The request for elements of `size` bytes of an array of that shape, steps made positive; false with the message in
 * err where it does not lie in the array. */
bool zsMdimRequest(int ndim, const uint64_t *shape, const GUInt64 *start, const size_t *count, const GInt64 *step,
                   const GPtrDiff_t *stride, size_t size, void *data, ZSMdimRequest &request, struct zs_error *err);

/* Reads elements as `type`, of which those of the array are `own` to GDAL. */
bool zsMdimRead(struct zs_array *array, const GDALExtendedDataType &own, const ZSMdimRequest &request,
                const GDALExtendedDataType &type, struct zs_error *err);

/* Whether the chunks of a window, decoded, are no more than so many bytes (null: all are); false with the message in
 * err. */
bool zsMdimFits(struct zs_array *array, const struct zs_window &window, const char *most, struct zs_error *err);

/* Copies elements that lie densely at `src` to where the request wants them: start and step are those in `src`, whose
 * shape is given. */
bool zsMdimGive(const uint64_t *shape, const void *src, const GDALExtendedDataType &own, const ZSMdimRequest &request,
                const GDALExtendedDataType &type);
/* The reverse: copies from the request to `dst`. Texts at `dst` belong to the caller; replaced ones are freed. */
bool zsMdimTake(const uint64_t *shape, void *dst, const GDALExtendedDataType &own, const ZSMdimRequest &request,
                const GDALExtendedDataType &type);

/* Like zsMdimTake(), for a list of texts. On failure the list is unchanged. */
bool zsMdimTakeTexts(std::vector<std::string> &texts, const ZSMdimRequest &request, const GDALExtendedDataType &type);

/* Calls f for each place of an N-dimensional list of `count` places. */
template <class F> bool zsForEach(int ndim, const uint64_t *count, F &&f)
{
    uint64_t at[ZS_MAX_NDIM] = {0};
    for (;;)
    {
        if (!f(at))
            return false;
        int d = ndim - 1;
        while (d >= 0 && ++at[d] == count[d])
            at[d--] = 0;
        if (d < 0)
            return true;
    }
}

/* ---- mdim_write.cpp ---- */

/* Writes elements of a numeric type. ZS_ARGUMENT and ZS_UNSUPPORTED: what was asked for cannot be. */
enum zs_status zsMdimWrite(struct zs_array *array, const ZSMdimRequest &request, GDALDataType type,
                           struct zs_error *err) ZS_MUST_CHECK;

/* Copies all elements of an array to another of its shape, in pieces that are shards where the memory that GDAL gives
 * allows, else chunks: those of the one that is copied to. Whatever fails is a failure (CPLError
 * emitted). */
bool zsMdimCopyValues(GDALMDArray &to, const GDALMDArray &from, const ZSMdimChunks &chunks, GUInt64 &cost,
                      GUInt64 totalCost, GDALProgressFunc progress, void *progressData);

#endif
