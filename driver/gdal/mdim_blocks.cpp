/* How the chunks of an array are encoded, and where they are, in the words of GDAL's own Zarr driver. */
#include "mdim.h"

#include <cpl_json.h>

#include "guard.h"

extern "C"
{
#include "codec/terms.h"
#include "zarr/extension.h"
}

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
}

#if ZS_GDAL_AT_LEAST(12)
/* As GDAL's own driver spaces it. */
static std::string spacedText(const zs_json *json)
{
    const std::unique_ptr<char, decltype(&free)> text(zs_json_print(json), free);
    CPLJSONDocument document;
    if (text == nullptr || !document.LoadMemory(std::string(text.get())))
        return "";
    return document.GetRoot().Format(CPLJSONObject::PrettyFormat::Spaced);
}

/* What one needs to know to decode a block. */
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

bool zsMdimRawBlock(const ZSMdimStore &store, const struct zs_node *node, struct zs_array *array,
                    const uint64_t *coordinates, GDALMDArrayRawBlockInfo &block)
{
    struct zs_error err;
    struct zs_chunk_place found = {};
    block.clear();
    if (!store.IsInPlace())
    {
        CPLError(CE_Failure, CPLE_AppDefined, "array /%s: has no place before its store was flushed", node->path);
        return false;
    }
    if (zs_array_find_chunk(array, coordinates, &found, &err) != ZS_OK)
    {
        zsReport(err);
        return false;
    }
    const ZSOwned<struct zs_chunk_place> cleared(&found, zs_chunk_place_clear);
    if (found.key == nullptr && found.data == nullptr)
        return true; // what is missing has no file, no size, and no more to say
    CPLStringList terms = termsOf(node, array);
    if (found.data != nullptr)
    {
        block.pabyInlineData = static_cast<GByte *>(VSI_MALLOC_VERBOSE(static_cast<size_t>(found.size)));
        if (block.pabyInlineData == nullptr)
            return false;
        memcpy(block.pabyInlineData, found.data, static_cast<size_t>(found.size));
    }
    else
    {
        block.pszFilename = CPLStrdup((std::string(store.Store()->root) + "/" + found.key).c_str());
        block.nOffset = found.offset;
    }
    block.nSize = found.size;
    block.papszInfo = terms.StealList();
    return true;
}
#endif
