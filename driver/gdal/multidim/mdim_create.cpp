/* New arrays: their options, and what of the shape, the type and the encoding these leave open. */
#include "mdim.h"

#include <algorithm>
#include <limits>

#include "gdal/create/copy.h"
#include "gdal/guard.h"

/* ---- Options, of any number of dimensions. Coordinates of a dimension are best in one piece, and read as they were
 * written. Texts are in one chunk, if they are not very many, and not compressed unless that is asked for: every reader
 * of texts supports that ---- */

/* Most elements of a chunk by default: 512 x 512, or as many of fewer dimensions. */
constexpr uint64_t USUAL_ELEMENTS = ZSCreationOptions::USUAL_BLOCK * ZSCreationOptions::USUAL_BLOCK;
/* Chunks of fewer are made longer: each costs an entry in an index, and a frame. */
constexpr uint64_t FEW_ELEMENTS = 1 << 14;
/* Coordinates are one chunk, or a few; that of a short one has room for more of them to come. */
constexpr uint64_t MIN_COORDINATES = 1 << 10, MAX_COORDINATES = 1 << 20;
constexpr uint64_t MOST_TEXTS = 1 << 16; /* of a chunk */

/* Whether an option for all arrays applies to this one. */
static bool suits(const char *name, const char *value, bool isCoordinate, const struct zs_array_spec &spec)
{
    const bool isShape = EQUAL(name, "CHUNK_SHAPE") || EQUAL(name, "SHARD_SHAPE");
    if (EQUAL(name, "BITROUND"))
        return !isCoordinate && spec.ndim > 1 && GDALDataTypeIsFloating(zsGDALType(spec.dtype.type));
    if (!isShape || EQUAL(value, "AUTO"))
        return zsIsOption(name, ZS_ARRAY);
    std::vector<uint64_t> shape;
    return !isCoordinate && spec.ndim > 1 && zsParseNumbers(value, shape) &&
           shape.size() <= static_cast<size_t>(spec.ndim);
}

/* Leaves an array's own options in `list`, and adds those of `all` arrays that suit it and that it has not. */
static bool takeOptions(CPLStringList &list, CSLConstList all, bool isCoordinate, const struct zs_array_spec &spec)
{
    if (!zsTakeAliases(list))
        return false;
    const CPLStringList own(list);
    const CSLConstList lists[] = {own.List(), all};
    for (const CSLConstList from : lists)
    {
        for (CSLConstList o = from; o != nullptr && *o != nullptr; o++)
        {
            char *found = nullptr;
            const char *value = CPLParseNameValue(*o, &found);
            const std::string name = found != nullptr ? found : *o;
            CPLFree(found);
            if (from == lists[0] && (value == nullptr || !zsIsOption(name.c_str(), ZS_ARRAY)))
                return zsRefuseOption("creation option of an array", "one that gdalinfo --format lists", name.c_str());
            if (from != lists[0] && value != nullptr && list.FetchNameValue(name.c_str()) == nullptr &&
                suits(name.c_str(), value, isCoordinate, spec))
                list.SetNameValue(name.c_str(), value);
        }
    }
    return true;
}

/* The shape of chunks by default. `isWhole`: texts without shards are in one chunk. */
static std::vector<uint64_t> usualChunk(const std::vector<ZSDimension> &dimensions, bool isCoordinate, bool isWhole)
{
    const size_t dims = dimensions.size();
    const uint64_t usual = dims == 1 ? USUAL_ELEMENTS : ZSCreationOptions::USUAL_BLOCK;
    std::vector<uint64_t> chunks(dims, 1);
    uint64_t elements = 1;
    for (size_t d = dims; isWhole && d-- > 0;)
    {
        chunks[d] = std::max<uint64_t>(1, std::min(dimensions[d].size, MOST_TEXTS / elements));
        elements *= chunks[d];
    }
    if (isWhole)
        return chunks;
    for (size_t d = dims > 2 ? dims - 2 : 0; d < dims; d++)
    {
        chunks[d] = std::min(usual, dimensions[d].size);
        elements *= chunks[d];
    }
    for (size_t d = dims; d-- > 0 && elements < FEW_ELEMENTS;)
    {
        const uint64_t n = chunks[d], more = std::min(dimensions[d].size / n, FEW_ELEMENTS / elements);
        chunks[d] = n * std::max<uint64_t>(more, 1);
        elements = elements / n * chunks[d];
    }
    if (isCoordinate)
        chunks[0] = std::max(MIN_COORDINATES, std::min(dimensions[0].size, MAX_COORDINATES));
    return chunks;
}

/* Sets chunks, shards and encoding of the spec, whose rank, shape, names and type are set; it borrows from `parsed`. */
static bool layOut(const CPLStringList &list, bool isCoordinate, bool isText, ZSCreationOptions &parsed,
                   struct zs_array_spec &spec)
{
    struct zs_raster_spec rounded = {};
    rounded.dtype = spec.dtype;
    if (!parsed.Parse(list.List()) || !parsed.CheckRounding(rounded))
        return false;
    std::vector<std::string> names;
    std::vector<ZSDimension> dimensions;
    for (int d = 0; d < spec.ndim; d++)
        names.push_back(std::string("elements of ") +
                        (spec.dimension_names[d] != nullptr ? spec.dimension_names[d] : "a dimension"));
    for (size_t d = 0; d < names.size(); d++)
        dimensions.push_back({std::max<uint64_t>(1, spec.shape[d]), names[d].c_str()});
    const auto usual = usualChunk(dimensions, isCoordinate, isText && parsed.shard.empty());
    spec.is_sharded = spec.ndim > 0 && ((!isCoordinate && !isText) || !parsed.shard.empty());
    spec.encoding = parsed.EncodingOf(spec.dtype);
    spec.encoding.is_text = isText;
    if (isText && list.FetchNameValue("COMPRESS") == nullptr)
        spec.encoding.compression = ZS_COMPRESS_NONE;
    return parsed.LayOut(dimensions, spec.dtype.size, usual, spec.chunk_shape,
                         spec.is_sharded ? spec.shard_shape : nullptr);
}

/* ---- Arrays ---- */

/* Sets the Zarr data type of an array of GDAL's, and its fill value; false (the store complains) where there is none.
 * The type of texts is bytes. The fill value of floats is NaN, as in GDAL's own driver: elements that were never
 * written must not look like a measured 0. */
static bool setType(const ZSMdimStore &store, const std::string &name, const GDALExtendedDataType &type, size_t dims,
                    struct zs_array_spec &spec)
{
    enum zs_data_type zarrType = ZS_UINT8;
    const bool isNumeric = type.GetClass() == GEDTC_NUMERIC;
    const GDALDataType number = type.GetNumericDataType();
    const bool isKnown = isNumeric ? zsZarrType(number, &zarrType) : type.GetClass() == GEDTC_STRING;
    std::string reason;
    if (dims > ZS_MAX_NDIM)
        reason = "expected at most " + std::to_string(ZS_MAX_NDIM) + " dimensions";
    else if (!isKnown)
        reason = std::string("there is no Zarr data type for ") +
                 (isNumeric ? GDALGetDataTypeName(number) : "structured types");
    if (!reason.empty())
    {
        store.Complain("array " + name + ": " + reason);
        return false;
    }
    const double nan = std::numeric_limits<double>::quiet_NaN();
    spec.dtype = zs_dtype_of(zarrType);
    ZSConversion storing{spec.dtype.type, spec.dtype.size, GDT_Float64};
    if (isNumeric && GDALDataTypeIsFloating(number) && !GDALDataTypeIsComplex(number) && dims > 0)
        zsStore(&storing, &nan, spec.fill_value, static_cast<ptrdiff_t>(spec.dtype.size), 1);
    return true;
}

/* Sets the filter of blosc that makes a sample of the source's array smallest; the guess stays without one. */
static void chooseFilter(const ZSMdimStore &store, const std::string &path, const GDALExtendedDataType &type,
                         struct zs_array_spec &spec)
{
    const auto source = store.SourceArray(path);
    if (source == nullptr || source->GetDimensionCount() != static_cast<size_t>(spec.ndim) ||
        type.GetSize() != spec.dtype.size)
        return;
    std::vector<uint64_t> shape, block;
    for (const auto &d : source->GetDimensions())
        shape.push_back(d->GetSize());
    if (!std::equal(shape.begin(), shape.end(), spec.shape) || std::count(shape.begin(), shape.end(), 0) > 0)
        return;
    for (const GUInt64 length : source->GetBlockSize())
        block.push_back(std::max<GUInt64>(1, length));
    const ZSSample sample(shape, block, spec.chunk_shape, spec.dtype.size);
    const auto read = [&](void *elements)
    {
        const std::vector<GUInt64> start(sample.start.begin(), sample.start.end());
        const std::vector<size_t> count(sample.size.begin(), sample.size.end());
        return source->Read(start.data(), count.data(), nullptr, nullptr, type, elements);
    };
    const char *filter = zsFilterOfSample(spec, path.c_str(), sample, read);
    if (filter != nullptr)
        spec.encoding.blosc_shuffle = filter;
}

/* Makes an array by its spec, whose encoding is still to be set, and opens it. */
static std::shared_ptr<GDALMDArray> makeArray(const std::shared_ptr<ZSMdimStore> &store, const std::string &group,
                                              const std::string &name,
                                              const std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                                              const GDALExtendedDataType &type, CSLConstList given,
                                              struct zs_array_spec &spec)
{
    const bool isText = type.GetClass() == GEDTC_STRING;
    const bool isCoordinate = dimensions.size() == 1 && dimensions[0]->GetName() == name; // of its dimension
    const bool hasNodata = !isText && !isCoordinate && spec.ndim > 0;
    const std::string path = zsPathIn(group, name);
    ZSCreationOptions parsed;
    std::string reason;
    CPLStringList list(CSLDuplicate(given));
    if (store->source != nullptr && list.FetchNameValue("SHARD_CHUNK_SHAPE") == nullptr)
        list.SetNameValue("BLOCKSIZE", nullptr); // GDAL 3.13 passes the source's block size to a copy
    bool isLaidOut;
    {
        const ZSQuiet quiet;
        isLaidOut = takeOptions(list, store->arrayOptions.List(), isCoordinate, spec) &&
                    layOut(list, isCoordinate, isText, parsed, spec);
        reason = CPLGetLastErrorMsg();
    }
    if (!isLaidOut)
        return zsRefuse(CPLE_IllegalArg, "array /%s: %s", path.c_str(), reason.c_str());
    if (store->source != nullptr && hasNodata && parsed.LeavesFilter())
        chooseFilter(*store, path, type, spec);
    const auto make = [&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
        const struct zs_node *node = nullptr;
        const struct zs_band_properties none = {}; // until some are set
        ZS_TRY(zs_node_make(hierarchy, group.c_str(), name.c_str(), zs_array_document(&spec), &node, err));
        return hasNodata ? zs_properties_write(hierarchy, node, &none, ZS_BAND_NODATA, err) : ZS_OK;
    };
    struct zs_error err, ignored;
    if (!store->Edit(make))
        return nullptr;
    const auto handle = store->Handle(path);
    handle->isMade = true;
    handle->isBlank = !isText;
    handle->chunkOrder = parsed.chunk_order;
    if (isCoordinate)
    {
        handle->dimensionType = dimensions[0]->GetType();
        store->Refresh(); // dimensions that had no variable
    }
    auto array = store->Array(path, &err, dimensions);
    if (array == nullptr)
        static_cast<void>(zs_hierarchy_remove(store->hierarchy, path.c_str(), &ignored));
    return array != nullptr ? array : zsReport(err);
}

std::shared_ptr<GDALMDArray> zsMdimNewArray(const std::shared_ptr<ZSMdimStore> &store, const std::string &group,
                                            const std::string &name,
                                            const std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                                            const GDALExtendedDataType &type, CSLConstList list)
{
    struct zs_array_spec spec = {};
    const struct zs_node *node = nullptr;
    if (!store->CheckName(name) || !setType(*store, name, type, dimensions.size(), spec))
        return nullptr;
    for (const auto &d : dimensions)
    {
        spec.shape[spec.ndim] = d->GetSize();
        spec.dimension_names[spec.ndim++] = d->GetName().empty() ? nullptr : d->GetName().c_str();
    }
    const bool isTaken =
        zs_hierarchy_node(store->hierarchy, zsPathIn(group, name).c_str(), &node, nullptr) == ZS_OK;
    auto array = zsGuard([&] { return makeArray(store, group, name, dimensions, type, list, spec); });
    if (array == nullptr && !isTaken) // GDAL 3.6 copies an array of Zarr v2 twice: what is there is no loss
        store->isLost = store->isLost || store->source != nullptr;
    return array;
}
