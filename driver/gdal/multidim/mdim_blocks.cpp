/* How the chunks of an array are encoded, and where they are, in the words of GDAL's own Zarr driver. */
#include "mdim.h"

#include <cpl_json.h>

#include <vector>

#include "gdal/guard.h"

extern "C"
{
#include "codec/description.h"
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

static bool putInline(const void *data, size_t size, GDALMDArrayRawBlockInfo &block)
{
    block.pabyInlineData = static_cast<GByte *>(VSI_MALLOC_VERBOSE(size));
    if (block.pabyInlineData == nullptr)
        return false;
    memcpy(block.pabyInlineData, data, size);
    return true;
}

/* The file that a chunk is in, and where; or, in a store that has it in no file of its own, its bytes. */
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
    const ZSOwned<struct zs_chunk_bytes> cleared(&found, zs_chunk_bytes_clear);
    if (found.key == nullptr && found.data == nullptr)
        return true; // what is missing has no file, no size, and no more to say
    CPLStringList terms = termsOf(node, array);
    if (found.data != nullptr)
    {
        if (!putInline(found.data, static_cast<size_t>(found.size), block))
            return false;
    }
    else if (!putPlace(store.Store(), found, block, &err))
    {
        zsReport(err);
        return false;
    }
    block.nSize = found.size;
    block.papszInfo = terms.StealList();
    return true;
}
#endif
