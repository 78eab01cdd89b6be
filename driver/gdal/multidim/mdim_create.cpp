/* New stores through the multidimensional API: written beside their place, which they take at the first flush. */
#include "mdim.h"

#include <algorithm>
#include <limits>

#include "gdal/connection.h"
#include "gdal/creation_options.h"
#include "gdal/files.h"
#include "gdal/guard.h"
#include "gdal/options.h"
#include "gdal/target.h"
#include "gdal/types.h"

extern "C"
{
#include "array/strings.h"
#include "zarr/make.h"
}

/* ---- Stores ---- */

/* Where and how a store is made, without what is for arrays alone. */
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
    {
        CPLError(CE_Failure, CPLE_AppDefined, "%s: %s", zsShown(name).c_str(),
                 isParsed ? "expected the name of a store" : reason.c_str());
        return false;
    }
    if (!zsIsArchive(connection.store))
        return zsIsNoRepository(connection);
    CPLError(CE_Failure, CPLE_NotSupported, "%s: what is in an archive is written once; make a store and pack it",
             zsShown(name).c_str());
    return false;
}

/* A store that is empty, in a place of its own; `source` of the copy that it is to be, or null. Null (CPLError
 * emitted). */
static std::shared_ptr<ZSMdimStore> createStore(const char *name, GDALDataset *source, CSLConstList list)
{
    ZSCreationOptions options;
    ZSConnection connection;
    CPLStringList arrays;
    if (!parse(name, list, options, connection, arrays))
        return nullptr;
    if (source != nullptr)
        zsWarnOfRasterOptions(arrays.List());
    auto target = std::make_unique<ZSTarget>();
    if (!target->Open(connection.store, source, options.overwrite, options.fsync, false))
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
    {
        zsReport(err);
        return nullptr;
    }
    ZSOpenOptions open;
    if (!open.Parse(nullptr))
        return nullptr;
    open.threads = options.threads;
    open.fsync = options.fsync;
    open.update = options.update;
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
    const auto store = createStore(name, source, options);
    if (store == nullptr)
        return nullptr;
    const auto from = source->GetRootGroup(), to = store->RootGroup();
    GUInt64 cost = 0;
    const GUInt64 totalCost = from->GetTotalCopyCost();
    store->SetCopying(true, !strict);
    const bool isCopied = to->CopyFrom(to, source, from, strict, cost, totalCost,
                                       progress != nullptr ? progress : GDALDummyProgress, progressData, options);
    store->SetCopying(false, false);
    if (!isCopied || store->HasLosses())
    {
        store->Abandon();
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

/* Whether the array has the coordinates of its dimension. */
static bool isCoordinate(const std::string &name, const std::vector<std::shared_ptr<GDALDimension>> &dimensions)
{
    return dimensions.size() == 1 && dimensions[0]->GetName() == name;
}

namespace
{
/* A node that goes again, unless it is released. */
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

/* Its document and its node, in memory. */
static const struct zs_node *makeNumbers(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *group,
                                         const std::string &name, const struct zs_array_spec &spec,
                                         bool isData)
{
    const struct zs_node *node = nullptr;
    struct zs_error err;
    enum zs_status status = zs_array_make(store->Hierarchy(), group->path, name.c_str(), &spec, &node, &err);
    if (status == ZS_OK && isData)
        status = zs_nodata_write(store->Hierarchy(), node, nullptr, &err); // until one is set
    if (status == ZS_OK)
        return node;
    zsReport(err);
    return nullptr;
}

/* ---- Of text ---- */

/* Texts are in one chunk, if they are not very many; and plain, which all that read text know. */
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

static std::shared_ptr<GDALMDArray> newStrings(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *group,
                                               const std::string &name,
                                               const std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                                               struct zs_array_spec &spec, CSLConstList list)
{
    const struct zs_node *node = nullptr;
    struct zs_error err;
    ZSMdimArrayOptions options(isCoordinate(name, dimensions));
    spec.dtype = zs_dtype_of(ZS_UINT8);
    if (!options.Apply(list, store->ArrayOptions(), spec))
    {
        store->MarkRefused();
        return nullptr;
    }
    if (!options.HasShape())
        usualStrings(spec);
    if (!options.HasCompression())
        spec.encoding.compression = ZS_COMPRESS_NONE;
    zs_json *document = zs_strings_document(&spec);
    if (zs_node_make(store->Hierarchy(), group->path, name.c_str(), document, &node, &err) != ZS_OK)
    {
        zsReport(err);
        return nullptr;
    }
    ZSMadeNode made(node, {store.get()});
    auto array = zsMdimStrings(store, node, dimensions, &err);
    if (array == nullptr)
    {
        zsReport(err);
        return nullptr;
    }
    store->AddArray(node->path, array);
    made.release();
    return array;
}

/* ---- Of either ---- */

std::shared_ptr<GDALMDArray> zsMdimNewArray(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *group,
                                            const std::string &name,
                                            const std::vector<std::shared_ptr<GDALDimension>> &dimensions,
                                            const GDALExtendedDataType &type, CSLConstList list)
{
    struct zs_array_spec spec = {};
    enum zs_data_type zarrType = ZS_UINT8;
    const bool isText = type.GetClass() == GEDTC_STRING;
    if ((!isText && (type.GetClass() != GEDTC_NUMERIC || !zsZarrType(type.GetNumericDataType(), &zarrType))) ||
        dimensions.size() > ZS_MAX_NDIM)
    {
        const std::string what = type.GetClass() != GEDTC_NUMERIC
                                     ? "structured types"
                                     : GDALGetDataTypeName(type.GetNumericDataType());
        store->Complain("array " + name + ": " +
                        (dimensions.size() > ZS_MAX_NDIM
                             ? "expected at most " + std::to_string(ZS_MAX_NDIM) + " dimensions"
                             : "there is no Zarr data type for " + what));
        return nullptr;
    }
    spec.dtype = zs_dtype_of(zarrType);
    for (const auto &d : dimensions)
    {
        spec.shape[spec.ndim] = d->GetSize();
        spec.dimension_names[spec.ndim++] = d->GetName().empty() ? nullptr : d->GetName().c_str();
    }
    CPLStringList own(CSLDuplicate(list));
    if (store->IsCopying() && own.FetchNameValue("SHARD_CHUNK_SHAPE") == nullptr)
        own.SetNameValue("BLOCKSIZE", nullptr); // GDAL 3.13 gives that of the source to whoever makes a copy
    if (isText)
        return newStrings(store, group, name, dimensions, spec, own.List());
    // Of floats what is not written is NaN, as in GDAL's own driver: nobody takes it for a measured 0.
    const bool isFloat = GDALDataTypeIsFloating(type.GetNumericDataType()) != FALSE &&
                         GDALDataTypeIsComplex(type.GetNumericDataType()) == FALSE;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    ZSStoring storing{GDT_Float64, spec.dtype.type, spec.dtype.size};
    if (isFloat && spec.ndim > 0)
        zsStore(&storing, &nan, spec.fill_value, static_cast<ptrdiff_t>(spec.dtype.size), 1);
    const bool isOwn = isCoordinate(name, dimensions);
    ZSMdimArrayOptions options(isOwn);
    if (!options.Apply(own.List(), store->ArrayOptions(), spec))
    {
        store->MarkRefused();
        return nullptr;
    }
    const struct zs_node *node = makeNumbers(store, group, name, spec, spec.ndim > 0 && !isOwn);
    if (node == nullptr)
        return nullptr;
    ZSMadeNode made(node, {store.get()});
    struct zs_error err;
    const auto opened = store->OpenNew(node, options.ChunkOrder(), &err);
    auto array = opened != nullptr ? zsMdimArray(store, node, opened, dimensions, &err) : nullptr;
    if (array == nullptr)
    {
        zsReport(err);
        return nullptr;
    }
    store->AddArray(node->path, array);
    made.release();
    return array;
}

/* ---- Options ---- */

/* Most elements of a chunk by default: 512 x 512, or as many of fewer dimensions. */
constexpr uint64_t USUAL_ELEMENTS = ZSCreationOptions::USUAL_BLOCK * ZSCreationOptions::USUAL_BLOCK;
/* Chunks of fewer are made longer: each costs a place in an index, and a frame. */
constexpr uint64_t FEW_ELEMENTS = 1 << 14;
/* Coordinates are one chunk, or a few; that of a short one has room for more of them to come. */
constexpr uint64_t MIN_COORDINATES = 1 << 10, MAX_COORDINATES = 1 << 20;

void zsWarnOfRasterOptions(CSLConstList options)
{
    for (CSLConstList o = options; o != nullptr && *o != nullptr; o++)
    {
        const std::string name(*o, strcspn(*o, "="));
        if (!zsIsOption(name.c_str(), ZS_DATASET))
            CPLError(CE_Warning, CPLE_AppDefined,
                     "%s: is an option of rasters, and changes nothing in a copy of arrays", name.c_str());
    }
}

/* ---- Of one array ---- */

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

/* Whether an option for all arrays is meant for this one. */
bool ZSMdimArrayOptions::Suits(const char *name, const char *value, const struct zs_array_spec &spec) const
{
    const bool isShape = EQUAL(name, "CHUNK_SHAPE") || EQUAL(name, "SHARD_SHAPE");
    if (EQUAL(name, "BITROUND"))
        return !m_isCoordinate && spec.ndim > 1 && GDALDataTypeIsFloating(zsGDALType(spec.dtype.type, spec.dtype.size));
    if (!isShape || EQUAL(value, "AUTO"))
        return zsIsOption(name, ZS_ARRAY);
    ZSShapeOption shape(name);
    return !m_isCoordinate && spec.ndim > 1 && shape.Parse(value) && shape.Count() <= static_cast<size_t>(spec.ndim);
}

bool ZSMdimArrayOptions::ApplyChunks(struct zs_array_spec &spec)
{
    const size_t dims = m_dimensions.size();
    const uint64_t usual = dims == 1 ? USUAL_ELEMENTS : ZSCreationOptions::USUAL_BLOCK;
    uint64_t elements = 1;
    for (size_t d = 0; d < dims; d++)
    {
        m_chunks[d].all = d + 2 >= dims ? std::min(usual, m_dimensions[d].size) : 1;
        elements *= m_chunks[d].all;
    }
    for (size_t d = dims; d-- > 0 && elements < FEW_ELEMENTS;)
    {
        const uint64_t n = m_chunks[d].all, more = std::min(m_dimensions[d].size / n, FEW_ELEMENTS / elements);
        m_chunks[d].all = n * std::max<uint64_t>(more, 1);
        elements = elements / n * m_chunks[d].all;
    }
    if (m_isCoordinate)
        m_chunks[0].all = std::max(MIN_COORDINATES, std::min(m_dimensions[0].size, MAX_COORDINATES));
    if (m_options.chunk.IsGiven() && !m_options.chunk.Apply(m_dimensions, m_chunks))
        return false;
    bool hasEdges;
    if (!zsTakeChunks(m_chunks, spec.dtype.size, m_options.shard, m_dimensions, spec.chunk_shape, spec.edges, hasEdges))
        return false;
    spec.is_sharded = dims > 0 && !hasEdges && (!m_isCoordinate || m_options.shard.IsGiven());
    return true;
}

bool ZSMdimArrayOptions::ApplyShards(struct zs_array_spec &spec)
{
    zsUsualShards(m_dimensions, spec.dtype.size, m_shards);
    return (!m_options.shard.IsGiven() || m_options.shard.Apply(m_dimensions, m_shards)) &&
           zsTakeShards(m_shards, spec.chunk_shape, spec.shard_shape, spec.edges);
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
    for (int d = 0; d < spec.ndim; d++)
        m_dimensions.push_back(
            {std::max<uint64_t>(1, spec.shape[d]), 1, m_names[static_cast<size_t>(d)].c_str()});
    m_chunks = std::vector<ZSDivision>(m_dimensions.size());
    m_shards = std::vector<ZSDivision>(m_dimensions.size());
    if (!ApplyChunks(spec) || (spec.is_sharded && !ApplyShards(spec)))
        return false;
    spec.encoding = m_options.EncodingOf(spec.dtype);
    return true;
}
