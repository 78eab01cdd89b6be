/* New arrays: their options, and what of the shape, the type and the encoding these leave open. */
#include "mdim.h"

#include <algorithm>
#include <limits>

#include "gdal/create/filter.h"
#include "gdal/guard.h"

/* The Zarr data type of an array of GDAL's; false (the store complains) where there is none. That of texts is bytes. */
static bool typeOf(const ZSMdimStore &store, const std::string &name, const GDALExtendedDataType &type, size_t dims,
                   struct zs_dtype &dtype)
{
    enum zs_data_type zarrType = ZS_UINT8;
    const bool isNumeric = type.GetClass() == GEDTC_NUMERIC;
    const bool isKnown = isNumeric ? zsZarrType(type.GetNumericDataType(), &zarrType) : type.GetClass() == GEDTC_STRING;
    dtype = zs_dtype_of(zarrType);
    if (isKnown && dims <= ZS_MAX_NDIM)
        return true;
    const std::string what = isNumeric ? GDALGetDataTypeName(type.GetNumericDataType()) : "structured types";
    store.Complain("array " + name + ": " +
                   (dims > ZS_MAX_NDIM ? "expected at most " + std::to_string(ZS_MAX_NDIM) + " dimensions"
                                       : "there is no Zarr data type for " + what));
    return false;
}

/* The default fill value of floats is NaN, as in GDAL's own driver: elements that were never written must not look like
 * a measured 0. */
static void setFillValue(const GDALExtendedDataType &type, struct zs_array_spec &spec)
{
    const GDALDataType number = type.GetNumericDataType();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    ZSConversion storing{spec.dtype.type, spec.dtype.size, GDT_Float64};
    if (GDALDataTypeIsFloating(number) != FALSE && GDALDataTypeIsComplex(number) == FALSE && spec.ndim > 0)
        zsStore(&storing, &nan, spec.fill_value, static_cast<ptrdiff_t>(spec.dtype.size), 1);
}

namespace
{
/* Creation options of a new array, of any number of dimensions. Coordinates of a dimension are best in one piece, and
 * read as they were written. Texts are in one chunk, if they are not very many, and not compressed unless that is asked
 * for: every reader of texts supports that. */
struct ZSMdimArrayOptions
{
    const bool isCoordinate, isText;
    ZSCreationOptions parsed = {};
    std::vector<std::string> names = {};

    /* Sets chunks, shards and encoding of the spec, whose rank, shape, names and type are set; it borrows from this.
     * `own` are the array's, `all` those of all arrays, which count where they suit this one. False (CPLError emitted)
     * for an option that there is not, and values that are not allowed. */
    bool Apply(CSLConstList own, CSLConstList all, struct zs_array_spec &spec);
    bool Suits(const char *name, const char *value, const struct zs_array_spec &spec) const;
    std::vector<uint64_t> UsualChunk(const std::vector<ZSDimension> &dimensions) const;
};
} // namespace

/* Applies the options of an array, and names the array in their message. */
static bool applyOptions(ZSMdimArrayOptions &options, const std::string &path, CSLConstList own, CSLConstList all,
                         struct zs_array_spec &spec)
{
    std::string reason;
    {
        const ZSQuiet quiet;
        if (options.Apply(own, all, spec))
            return true;
        reason = CPLGetLastErrorMsg();
    }
    return zsRefuse(CPLE_IllegalArg, "array /%s: %s", path.c_str(), reason.c_str());
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
                                              const GDALExtendedDataType &type, CSLConstList list,
                                              struct zs_array_spec &spec)
{
    const bool isText = type.GetClass() == GEDTC_STRING;
    const bool isCoordinate = dimensions.size() == 1 && dimensions[0]->GetName() == name; // of its dimension
    const bool hasNodata = !isText && !isCoordinate && spec.ndim > 0;
    const std::string path = zsPathIn(group, name);
    CPLStringList own(CSLDuplicate(list));
    if (store->IsCopying() && own.FetchNameValue("SHARD_CHUNK_SHAPE") == nullptr)
        own.SetNameValue("BLOCKSIZE", nullptr); // GDAL 3.13 passes the source's block size to a copy
    ZSMdimArrayOptions options{isCoordinate, isText};
    if (!applyOptions(options, path, own.List(), store->ArrayOptions(), spec))
        return nullptr;
    if (store->IsCopying() && hasNodata && options.parsed.LeavesFilter())
        chooseFilter(*store, path, type, spec);
    const auto make = [&](struct zs_hierarchy *hierarchy, struct zs_error *err) {
        const struct zs_node *node = nullptr;
        const struct zs_band_properties none = {}; // until some are set
        ZS_TRY(zs_node_make(hierarchy, group.c_str(), name.c_str(), zs_array_document(&spec), &node, err));
        return hasNodata ? zs_properties_write(hierarchy, node, &none, ZS_BAND_NODATA, err) : ZS_OK;
    };
    struct zs_error err;
    const struct zs_node *node = nullptr;
    if (!store->Edit(make))
        return nullptr;
    const auto handle = store->Handle(path);
    handle->isMade = true;
    handle->isBlank = !isText;
    handle->chunkOrder = options.parsed.chunk_order;
    if (isCoordinate)
    {
        handle->dimensionType = dimensions[0]->GetType();
        store->Refresh(); // dimensions that had no variable
    }
    auto array = zs_hierarchy_node(store->Hierarchy(), path.c_str(), &node, &err) == ZS_OK
                     ? zsMdimArray(store, node, dimensions, &err)
                     : nullptr;
    struct zs_error ignored;
    if (array == nullptr)
        static_cast<void>(zs_hierarchy_remove(store->Hierarchy(), path.c_str(), &ignored));
    return array != nullptr ? array : zsReport(err);
}

std::shared_ptr<GDALMDArray> zsMdimNewArray(const std::shared_ptr<ZSMdimStore> &store, const std::string &group,
                                            const std::string &name,
                                            const std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                                            const GDALExtendedDataType &type, CSLConstList list)
{
    struct zs_array_spec spec = {};
    const struct zs_node *node = nullptr;
    const std::string path = zsPathIn(group, name);
    if (!store->CheckName(name) || !typeOf(*store, name, type, dimensions.size(), spec.dtype))
        return nullptr;
    for (const auto &d : dimensions)
    {
        spec.shape[spec.ndim] = d->GetSize();
        spec.dimension_names[spec.ndim++] = d->GetName().empty() ? nullptr : d->GetName().c_str();
    }
    if (type.GetClass() != GEDTC_STRING)
        setFillValue(type, spec);
    const bool isTaken = zs_hierarchy_node(store->Hierarchy(), path.c_str(), &node, nullptr) == ZS_OK;
    auto array = zsGuard([&] { return makeArray(store, group, name, dimensions, type, list, spec); });
    if (array == nullptr && !isTaken) // GDAL 3.6 copies an array of Zarr v2 twice: what is there is no loss
        store->MarkRefused();
    return array;
}

/* ---- Options ---- */

/* Most elements of a chunk by default: 512 x 512, or as many of fewer dimensions. */
constexpr uint64_t USUAL_ELEMENTS = ZSCreationOptions::USUAL_BLOCK * ZSCreationOptions::USUAL_BLOCK;
/* Chunks of fewer are made longer: each costs an entry in an index, and a frame. */
constexpr uint64_t FEW_ELEMENTS = 1 << 14;
/* Coordinates are one chunk, or a few; that of a short one has room for more of them to come. */
constexpr uint64_t MIN_COORDINATES = 1 << 10, MAX_COORDINATES = 1 << 20;
constexpr uint64_t MOST_TEXTS = 1 << 16; /* of a chunk */

static bool checkNames(CSLConstList options)
{
    for (CSLConstList o = options; o != nullptr && *o != nullptr; o++)
    {
        char *name = nullptr;
        const char *value = CPLParseNameValue(*o, &name);
        const std::string key = name != nullptr ? name : *o;
        CPLFree(name);
        if (value != nullptr && zsIsOption(key.c_str(), ZS_ARRAY))
            continue;
        return zsRefuseOption("creation option of an array", "one that gdalinfo --format lists", key.c_str());
    }
    return true;
}

/* Whether an option for all arrays applies to this one. */
bool ZSMdimArrayOptions::Suits(const char *name, const char *value, const struct zs_array_spec &spec) const
{
    const bool isShape = EQUAL(name, "CHUNK_SHAPE") || EQUAL(name, "SHARD_SHAPE");
    if (EQUAL(name, "BITROUND"))
        return !isCoordinate && spec.ndim > 1 && GDALDataTypeIsFloating(zsGDALType(spec.dtype.type, spec.dtype.size));
    if (!isShape || EQUAL(value, "AUTO"))
        return zsIsOption(name, ZS_ARRAY);
    std::vector<uint64_t> shape;
    return !isCoordinate && spec.ndim > 1 && zsParseNumbers(value, shape) &&
           shape.size() <= static_cast<size_t>(spec.ndim);
}

std::vector<uint64_t> ZSMdimArrayOptions::UsualChunk(const std::vector<ZSDimension> &dimensions) const
{
    const size_t dims = dimensions.size();
    const uint64_t usual = dims == 1 ? USUAL_ELEMENTS : ZSCreationOptions::USUAL_BLOCK;
    std::vector<uint64_t> chunks(dims, 1);
    uint64_t elements = 1;
    const bool isAlone = isText && parsed.shard.empty(); // texts without shards are in one chunk
    for (size_t d = dims; isAlone && d-- > 0;)
    {
        chunks[d] = std::max<uint64_t>(1, std::min(dimensions[d].size, MOST_TEXTS / elements));
        elements *= chunks[d];
    }
    if (isAlone)
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

bool ZSMdimArrayOptions::Apply(CSLConstList own, CSLConstList all, struct zs_array_spec &spec)
{
    CPLStringList list(CSLDuplicate(own));
    if (!zsTakeAliases(list) || !checkNames(list.List()))
        return false;
    for (CSLConstList o = all; o != nullptr && *o != nullptr; o++)
    {
        char *name = nullptr;
        const char *value = CPLParseNameValue(*o, &name);
        if (name != nullptr && value != nullptr && list.FetchNameValue(name) == nullptr && Suits(name, value, spec))
            list.SetNameValue(name, value);
        CPLFree(name);
    }
    if (!parsed.Parse(list.List()))
        return false;
    struct zs_raster_spec rounded = {};
    rounded.dtype = spec.dtype;
    if (!parsed.CheckRounding(rounded))
        return false;
    for (int d = 0; d < spec.ndim; d++)
        names.push_back(std::string("elements of ") +
                        (spec.dimension_names[d] != nullptr ? spec.dimension_names[d] : "a dimension"));
    std::vector<ZSDimension> dimensions;
    for (size_t d = 0; d < names.size(); d++)
        dimensions.push_back({std::max<uint64_t>(1, spec.shape[d]), names[d].c_str()});
    spec.is_sharded = spec.ndim > 0 && ((!isCoordinate && !isText) || !parsed.shard.empty());
    if (!parsed.LayOut(dimensions, spec.dtype.size, UsualChunk(dimensions), spec.chunk_shape,
                       spec.is_sharded ? spec.shard_shape : nullptr))
        return false;
    spec.encoding = parsed.EncodingOf(spec.dtype);
    spec.encoding.is_text = isText;
    if (isText && list.FetchNameValue("COMPRESS") == nullptr)
        spec.encoding.compression = ZS_COMPRESS_NONE;
    return true;
}
