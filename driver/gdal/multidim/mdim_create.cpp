/* New stores through the multidimensional API: written beside their path, and published there at the first flush. */
#include "mdim.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "gdal/connection.h"
#include "gdal/create/filter.h"
#include "gdal/driver.h"
#include "gdal/guard.h"
#include "gdal/create/copy.h"
#include "gdal/create/target.h"
#include "gdal/types.h"

extern "C"
{
#include "array/array.h"
#include "zarr/make.h"
}

/* ---- Stores ---- */

/* Parses where and how a store is made. The options for its arrays are left in `arrays`. */
static bool parse(const char *name, CSLConstList list, ZSCreationOptions &options, ZSConnection &connection,
                  CPLStringList &arrays)
{
    std::string reason;
    for (CSLConstList o = list; o != nullptr && *o != nullptr; o++)
    {
        if (!STARTS_WITH_CI(*o, "ARRAY:"))
            arrays.AddString(*o);
    }
    if (!zsTakeAliases(arrays) || !options.Parse(arrays.List()))
        return false;
    const bool isParsed = zsParseConnection(name, connection, reason);
    if (!isParsed || connection.has_array)
        return zsRefuse(CPLE_AppDefined, "%s: %s", zsShown(name).c_str(),
                        isParsed ? "expected the name of a store" : reason.c_str());
    return zsIsNoRepository(connection);
}

/* Warns of options, in this driver's words, that are of rasters alone: a copy through the multidimensional API takes
 * the same list. GDAL has warned of those that are of neither. */
static void warnOfRasterOptions(CSLConstList options)
{
    for (CSLConstList o = options; o != nullptr && *o != nullptr; o++)
    {
        const std::string name(*o, strcspn(*o, "="));
        if (!zsIsOption(name.c_str(), ZS_DATASET) && zsIsOption(name.c_str(), ZS_RASTER))
            CPLError(CE_Warning, CPLE_AppDefined,
                     "%s: is an option of rasters, and changes nothing in a copy of arrays", name.c_str());
    }
}

/* Makes an empty store beside its target. `source`: the dataset that will be copied into it, or null. Null (CPLError
 * emitted) on failure. */
static std::shared_ptr<ZSMdimStore> createStore(const char *name, GDALDataset *source, CSLConstList list)
{
    ZSCreationOptions options;
    ZSConnection connection;
    CPLStringList arrays;
    if (!parse(name, list, options, connection, arrays))
        return nullptr;
    if (source != nullptr)
        warnOfRasterOptions(arrays.List());
    auto target = std::make_unique<ZSTarget>();
    if (!target->Open(connection.store, options.overwrite, options.fsync, false))
        return nullptr;
    const auto store = std::make_shared<ZSStore>();
    const struct zs_node *root = nullptr;
    struct zs_error err;
    store->name = target->Path();
    enum zs_status status = zs_store_open(target->Path().c_str(), &store->store, &err);
    if (status == ZS_OK)
    {
        zs_store_set_sync(store->store, options.fsync ? ZS_SYNC_LATER : ZS_SYNC_NO);
        status = zs_hierarchy_create(store->store, &store->hierarchy, &err);
    }
    if (status == ZS_OK)
        status = zs_root_make(store->hierarchy, &root, &err);
    if (status != ZS_OK)
        return zsReport(err);
    ZSOpenOptions open;
    if (!open.Parse(nullptr))
        return nullptr;
    open.threads = options.threads;
    open.fsync = options.fsync;
    return std::make_shared<ZSMdimStore>(store, open, root, std::move(target), options.consolidates,
                                         arrays.List());
}

GDALDataset *zsMdimCreate(const char *name, CSLConstList, CSLConstList options)
{
    const auto store = createStore(name, nullptr, options);
    if (store == nullptr)
        return nullptr;
    auto dataset = zsMdimDataset(store, GA_Update);
    dataset->SetDescription(name);
    return dataset.release();
}

GDALDataset *zsMdimCopy(const char *name, GDALDataset *source, bool strict, CSLConstList options,
                        GDALProgressFunc progress, void *progressData)
{
    const ZSOneWarning ofTexts;
    const auto store = createStore(name, source, options);
    if (store == nullptr)
        return nullptr;
    const auto from = source->GetRootGroup(), to = store->RootGroup();
    struct zs_hierarchy *ours = zsMdimHierarchy(source);
    const size_t failures = ours != nullptr ? zs_hierarchy_failures(ours) : 0;
    struct zs_error err;
    GUInt64 cost = 0;
    const GUInt64 totalCost = from->GetTotalCopyCost();
    store->StartCopy(source, !strict);
    const bool isCopied = to->CopyFrom(to, source, from, strict, cost, totalCost,
                                       progress != nullptr ? progress : GDALDummyProgress, progressData, options);
    store->EndCopy();
    const bool isRead = ours == nullptr || zs_hierarchy_check_since(ours, failures, &err) == ZS_OK;
    if (!isCopied || !isRead || store->HasLosses())
    {
        store->Abandon();
        if (!isRead) // GDAL goes on without what it could not open
            zsReport(err);
        if (CPLGetLastErrorType() != CE_Failure)
            CPLError(CE_Failure, CPLE_AppDefined, "%s: the copy is not complete, and is not made",
                     zsShown(name).c_str());
        return nullptr;
    }
    if (!store->Flush(false))
    {
        store->Abandon();
        return nullptr;
    }
    auto dataset = zsMdimDataset(store, GA_Update);
    dataset->SetDescription(name);
    return dataset.release();
}

/* ---- Arrays ---- */

/* Whether an array of that name is the coordinate variable of its dimension. */
static bool isCoordinate(const std::string &name, const std::vector<std::shared_ptr<GDALDimension>> &dimensions)
{
    return dimensions.size() == 1 && dimensions[0]->GetName() == name;
}

namespace
{
/* The errors that CPLError() got. */
using ZSMessages = std::vector<std::tuple<CPLErr, CPLErrorNum, std::string>>;

/* A new node, removed again unless it is released. */
struct ZSUnmake
{
    ZSMdimStore *store;
    void operator()(const struct zs_node *node) const
    {
        store->Unmake(node);
    }
};
using ZSMadeNode = std::unique_ptr<const struct zs_node, ZSUnmake>;
} // namespace

/* Lays texts out in one chunk, if they are not very many, and not compressed: every reader of texts supports that. */
static void usualStrings(struct zs_array_spec &spec)
{
    constexpr uint64_t MOST_TEXTS = 1 << 16;
    uint64_t all = 1;
    spec.is_sharded = false;
    for (int d = spec.ndim; d-- > 0;)
    {
        spec.chunk_shape[d] = std::max<uint64_t>(1, std::min(spec.shape[d], MOST_TEXTS / all));
        all *= spec.chunk_shape[d];
    }
}

/* Adds the node of an array to the store, in memory. Null with the message in err. */
static const struct zs_node *makeNode(ZSMdimStore &store, const struct zs_node *group, const std::string &name,
                                      const struct zs_array_spec &spec, bool isCoordinate, struct zs_error *err)
{
    const struct zs_node *node = nullptr;
    enum zs_status status = zs_array_make(store.Hierarchy(), group->path, name.c_str(), &spec, &node, err);
    const struct zs_band_properties none = {}; // until some are set
    if (status == ZS_OK && !spec.encoding.is_text && !isCoordinate && spec.ndim > 0)
        status = zs_properties_write(store.Hierarchy(), node, &none, ZS_BAND_NODATA, err);
    return status == ZS_OK ? node : nullptr;
}

/* The array of a new node, registered with the store; or the node goes again. Null with the message in err. */
static std::shared_ptr<GDALMDArray> addArray(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                                             const std::vector<std::shared_ptr<GDALDimension>> &dimensions, bool isText,
                                             int chunkOrder, struct zs_error *err)
{
    ZSMadeNode made(node, {store.get()});
    const auto opened = isText ? nullptr : store->OpenNew(node, chunkOrder, err);
    if (!isText && opened == nullptr)
        return nullptr;
    auto array = isText ? zsMdimStrings(store, node, dimensions, err)
                        : zsMdimArray(store, node, opened, dimensions, err);
    if (array == nullptr)
        return nullptr;
    store->AddArray(node->path, array);
    made.release();
    return array;
}

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
    ZSStoring storing{GDT_Float64, spec.dtype.type, spec.dtype.size};
    if (GDALDataTypeIsFloating(number) != FALSE && GDALDataTypeIsComplex(number) == FALSE && spec.ndim > 0)
        zsStore(&storing, &nan, spec.fill_value, static_cast<ptrdiff_t>(spec.dtype.size), 1);
}

static void CPL_STDCALL collect(CPLErr type, CPLErrorNum number, const char *message)
{
    static_cast<ZSMessages *>(CPLGetErrorHandlerUserData())->push_back({type, number, message});
}

namespace
{
/* Creation options of a new array, of any number of dimensions. */
class ZSMdimArrayOptions
{
    ZSCreationOptions m_options;
    std::vector<std::string> m_names;
    bool m_isCoordinate, m_hasCompression = false;

    std::vector<uint64_t> UsualChunk(const std::vector<ZSDimension> &dimensions) const;
    bool Suits(const char *name, const char *value, const struct zs_array_spec &spec) const;

  public:
    /* isCoordinate: of the coordinates of a dimension, which are best in one piece, and read as they were written. */
    explicit ZSMdimArrayOptions(bool isCoordinate) : m_isCoordinate(isCoordinate)
    {
    }
    /* Sets chunks, shards and encoding of the spec, whose rank, shape, names and type are set; it borrows from this.
     * `own` are the array's, `all` those of all arrays, which count where they suit this one. False (CPLError emitted)
     * for an option that there is not, and values that are not allowed. */
    bool Apply(CSLConstList own, CSLConstList all, struct zs_array_spec &spec);

    /* Whether shapes, or how to compress, were asked for. */
    bool HasShape() const
    {
        return !m_options.chunk.empty() || !m_options.shard.empty();
    }
    bool HasCompression() const
    {
        return m_hasCompression;
    }
    int ChunkOrder() const
    {
        return m_options.chunk_order;
    }
    /* Whether the filter of blosc is a guess by the data type. */
    bool GuessesFilter() const
    {
        return m_options.guesses_shuffle && m_options.encoding.compression == ZS_COMPRESS_BLOSC;
    }
};
} // namespace

/* Applies the options of an array, and names the array in their messages. */
static bool applyOptions(ZSMdimArrayOptions &options, const std::string &path, CSLConstList own, CSLConstList all,
                         struct zs_array_spec &spec)
{
    ZSMessages messages;
    bool ok;
    {
        const CPLErrorStateBackuper backup;
        const CPLErrorHandlerPusher collecting(collect, &messages);
        ok = options.Apply(own, all, spec);
    }
    for (const auto &[type, number, message] : messages)
        CPLError(type, number, "array /%s: %s", path.c_str(), message.c_str());
    return ok;
}

std::shared_ptr<GDALMDArray> ZSMdimStore::SourceArray(const std::string &path) const
{
    const ZSQuiet quiet;
    auto group = m_source->GetRootGroup();
    size_t from = 0;
    for (size_t slash; group != nullptr && (slash = path.find('/', from)) != std::string::npos; from = slash + 1)
        group = group->OpenGroup(path.substr(from, slash - from));
    return group != nullptr ? group->OpenMDArray(path.substr(from)) : nullptr;
}

std::shared_ptr<GDALMDArray> ZSMdimStore::FirstSourceArray(const std::string &path) const
{
    const ZSQuiet quiet;
    std::string file, part;
    if (!zsFirstSource(*m_source, path, file, part))
        return SourceArray(path);
    const std::unique_ptr<GDALDataset> source(GDALDataset::Open(file.c_str(), GDAL_OF_MULTIDIM_RASTER));
    const auto root = source != nullptr ? source->GetRootGroup() : nullptr;
    return root != nullptr ? root->OpenMDArrayFromFullname(part) : nullptr;
}

/* Sets the filter of blosc that makes samples of the source's array smallest; the guess stays without samples. */
static void chooseFilter(const ZSMdimStore &store, const std::string &path, const GDALExtendedDataType &type,
                         struct zs_array_spec &spec)
{
    const auto source = store.SourceArray(path);
    if (source == nullptr || source->GetDimensionCount() != static_cast<size_t>(spec.ndim) ||
        type.GetSize() != spec.dtype.size)
        return;
    ZSSampling sampling;
    for (const auto &d : source->GetDimensions())
        sampling.shape.push_back(d->GetSize());
    if (!std::equal(sampling.shape.begin(), sampling.shape.end(), spec.shape))
        return;
    for (const GUInt64 length : source->GetBlockSize())
        sampling.block.push_back(std::max<GUInt64>(1, length));
    sampling.SetWindow(spec.chunk_shape, spec.dtype.size);
    const std::vector<size_t> count(sampling.window.begin(), sampling.window.end());
    const auto read = [&](const uint64_t *start, void *elements)
    {
        const std::vector<GUInt64> at(start, start + spec.ndim);
        return source->Read(at.data(), count.data(), nullptr, nullptr, type, elements);
    };
    const char *filter = zsFilterOfSamples(spec, path.c_str(), sampling, read);
    if (filter != nullptr)
        spec.encoding.blosc_shuffle = filter;
}

std::shared_ptr<GDALMDArray> zsMdimNewArray(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *group,
                                            const std::string &name,
                                            const std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                                            const GDALExtendedDataType &type, CSLConstList list)
{
    struct zs_array_spec spec = {};
    const bool isText = type.GetClass() == GEDTC_STRING, isOwn = isCoordinate(name, dimensions);
    if (!store->CheckName(name) || !typeOf(*store, name, type, dimensions.size(), spec.dtype))
        return nullptr;
    for (const auto &d : dimensions)
    {
        spec.shape[spec.ndim] = d->GetSize();
        spec.dimension_names[spec.ndim++] = d->GetName().empty() ? nullptr : d->GetName().c_str();
    }
    CPLStringList own(CSLDuplicate(list));
    if (store->IsCopying() && own.FetchNameValue("SHARD_CHUNK_SHAPE") == nullptr)
        own.SetNameValue("BLOCKSIZE", nullptr); // GDAL 3.13 passes the source's block size to a copy
    if (!isText)
        setFillValue(type, spec);
    ZSMdimArrayOptions options(isOwn);
    const std::string path = zsPathIn(group->path, name);
    if (!applyOptions(options, path, own.List(), store->ArrayOptions(), spec))
    {
        store->MarkRefused();
        return nullptr;
    }
    spec.encoding.is_text = isText;
    if (isText && !options.HasShape())
        usualStrings(spec);
    if (isText && !options.HasCompression())
        spec.encoding.compression = ZS_COMPRESS_NONE;
    if (store->IsCopying() && !isText && !isOwn && spec.ndim > 0 && options.GuessesFilter())
        chooseFilter(*store, path, type, spec);
    struct zs_error err;
    const struct zs_node *node = makeNode(*store, group, name, spec, isOwn, &err);
    auto array = node != nullptr ? addArray(store, node, dimensions, isText, options.ChunkOrder(), &err) : nullptr;
    struct zs_error ignored;
    // GDAL 3.6 copies an array of Zarr v2 twice: what is there is no loss.
    if (array == nullptr && zs_hierarchy_node(store->Hierarchy(), path.c_str(), &node, &ignored) != ZS_OK)
        store->MarkRefused();
    return array != nullptr ? array : zsReport(err);
}

/* ---- Options ---- */

/* Most elements of a chunk by default: 512 x 512, or as many of fewer dimensions. */
constexpr uint64_t USUAL_ELEMENTS = ZSCreationOptions::USUAL_BLOCK * ZSCreationOptions::USUAL_BLOCK;
/* Chunks of fewer are made longer: each costs an entry in an index, and a frame. */
constexpr uint64_t FEW_ELEMENTS = 1 << 14;
/* Coordinates are one chunk, or a few; that of a short one has room for more of them to come. */
constexpr uint64_t MIN_COORDINATES = 1 << 10, MAX_COORDINATES = 1 << 20;

/* ---- Options of one array ---- */

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
        return zsRefuseOption("creation option of an array", "one of " + zsOptionNames(ZS_ARRAY), key.c_str());
    }
    return true;
}

/* Whether an option for all arrays applies to this one. */
bool ZSMdimArrayOptions::Suits(const char *name, const char *value, const struct zs_array_spec &spec) const
{
    const bool isShape = EQUAL(name, "CHUNK_SHAPE") || EQUAL(name, "SHARD_SHAPE");
    if (EQUAL(name, "BITROUND"))
        return !m_isCoordinate && spec.ndim > 1 && GDALDataTypeIsFloating(zsGDALType(spec.dtype.type, spec.dtype.size));
    if (!isShape || EQUAL(value, "AUTO"))
        return zsIsOption(name, ZS_ARRAY);
    std::vector<uint64_t> shape;
    return !m_isCoordinate && spec.ndim > 1 && zsParseNumbers(value, shape) &&
           shape.size() <= static_cast<size_t>(spec.ndim);
}

std::vector<uint64_t> ZSMdimArrayOptions::UsualChunk(const std::vector<ZSDimension> &dimensions) const
{
    const size_t dims = dimensions.size();
    const uint64_t usual = dims == 1 ? USUAL_ELEMENTS : ZSCreationOptions::USUAL_BLOCK;
    std::vector<uint64_t> chunks(dims, 1);
    uint64_t elements = 1;
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
    if (m_isCoordinate)
        chunks[0] = std::max(MIN_COORDINATES, std::min(dimensions[0].size, MAX_COORDINATES));
    return chunks;
}

bool ZSMdimArrayOptions::Apply(CSLConstList own, CSLConstList all, struct zs_array_spec &spec)
{
    CPLStringList list(CSLDuplicate(own));
    if (!zsTakeAliases(list, static_cast<size_t>(spec.ndim)) || !checkNames(list.List()))
        return false;
    for (CSLConstList o = all; o != nullptr && *o != nullptr; o++)
    {
        char *name = nullptr;
        const char *value = CPLParseNameValue(*o, &name);
        if (name != nullptr && value != nullptr && list.FetchNameValue(name) == nullptr && Suits(name, value, spec))
            list.SetNameValue(name, value);
        CPLFree(name);
    }
    m_hasCompression = list.FetchNameValue("COMPRESS") != nullptr;
    if (!m_options.Parse(list.List()))
        return false;
    struct zs_raster_spec rounded = {};
    rounded.dtype = spec.dtype;
    if (!m_options.CheckRounding(rounded))
        return false;
    for (int d = 0; d < spec.ndim; d++)
        m_names.push_back(std::string("elements of ") +
                          (spec.dimension_names[d] != nullptr ? spec.dimension_names[d] : "a dimension"));
    std::vector<ZSDimension> dimensions;
    for (size_t d = 0; d < m_names.size(); d++)
        dimensions.push_back({std::max<uint64_t>(1, spec.shape[d]), m_names[d].c_str()});
    spec.is_sharded = spec.ndim > 0 && (!m_isCoordinate || !m_options.shard.empty());
    if (!m_options.LayOut(dimensions, spec.dtype.size, UsualChunk(dimensions), spec.chunk_shape,
                          spec.is_sharded ? spec.shard_shape : nullptr))
        return false;
    spec.encoding = m_options.EncodingOf(spec.dtype);
    return true;
}
