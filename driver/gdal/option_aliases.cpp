#include "option_aliases.h"

#include "shape_option.h"

namespace
{
constexpr unsigned RASTER = 1, ARRAY = 2, DATASET = 4, ALL = RASTER | ARRAY | DATASET;

struct Alias
{
    const char *name;
    unsigned faces;
    const char *meaning;
};
} // namespace

static const Alias ALIASES[] = {{"FORMAT", RASTER | DATASET, "ZARR_V3, as it always is"},
                                {"BLOCKSIZE", ALL, "CHUNK_SHAPE; beside SHARD_CHUNK_SHAPE it is SHARD_SHAPE"},
                                {"SHARD_CHUNK_SHAPE", ALL, "CHUNK_SHAPE"},
                                {"GZIP_LEVEL", ALL, "LEVEL for COMPRESS=GZIP"},
                                {"ZLIB_LEVEL", ALL, "LEVEL for COMPRESS=GZIP"},
                                {"ZSTD_LEVEL", ALL, "LEVEL for COMPRESS=ZSTD"},
                                {"BLOSC_CLEVEL", ALL, "LEVEL for COMPRESS=BLOSC"},
                                {"CREATE_ZMETADATA", RASTER | DATASET, "passed over, of Zarr v2"},
                                {"OVERVIEW_RESAMPLING", RASTER, "RESAMPLING, as COG has it"},
                                {"GEOREFERENCING_CONVENTION", RASTER, "GEOREFERENCING; GDAL is ALL"}};

const char ZS_OPEN_ALIASES[] =
    "  <Option name='USE_ZMETADATA' type='boolean' description='As other drivers of GDAL call it: "
    "USE_CONSOLIDATED_METADATA'/>"
    "  <Option name='LIST_ALL_ARRAYS' type='boolean' description='As other drivers of GDAL call it: passed over, all "
    "are listed'/>"
    "  <Option name='CACHE_TILE_PRESENCE' type='boolean' description='As other drivers of GDAL call it: passed over, "
    "the indexes of shards tell'/>";

bool zsUsesConsolidated(CSLConstList openOptions)
{
    const bool byAlias = CPLFetchBool(openOptions, "USE_ZMETADATA", true);
    return CPLFetchBool(openOptions, "USE_CONSOLIDATED_METADATA", byAlias);
}

std::string zsAliasOptionList(ZSFace face)
{
    const unsigned bit = face == ZSFace::RASTER ? RASTER : face == ZSFace::ARRAY ? ARRAY : DATASET;
    std::string list;
    for (const auto &a : ALIASES)
    {
        if ((a.faces & bit) != 0)
            list += std::string("  <Option name='") + a.name +
                    "' type='string' description='As other drivers of GDAL call it: " + a.meaning + "'/>";
    }
    return list;
}

/* Takes an option away; "" where it is not given, or empty. */
static std::string take(CPLStringList &options, const char *name)
{
    const std::string value = options.FetchNameValueDef(name, "");
    options.SetNameValue(name, nullptr);
    return value;
}

/* Gives one of this driver's a value, unless there is none to give. */
static bool give(CPLStringList &options, const char *name, const char *alias, const std::string &value)
{
    if (value.empty())
        return true;
    if (options.FetchNameValue(name) != nullptr)
        return zsRefuseOption(alias, std::string("nothing beside ") + name, value.c_str());
    options.SetNameValue(name, value.c_str());
    return true;
}

/* A shape of the other driver has a number for each dimension, where one of this driver's may be for two. */
static bool checkShape(const char *name, const std::string &shape, size_t &dims)
{
    std::vector<uint64_t> numbers;
    if (shape.empty())
        return true;
    if (!zsParseNumbers(shape.c_str(), numbers))
        return zsRefuseOption(name, "positive integers separated by commas", shape.c_str());
    if (dims != 0 && numbers.size() != dims)
        return zsRefuseOption(name, std::to_string(dims) + " numbers", shape.c_str());
    dims = numbers.size();
    return true;
}

static bool takeShapes(CPLStringList &options, size_t dims)
{
    const std::string block = take(options, "BLOCKSIZE"), inner = take(options, "SHARD_CHUNK_SHAPE");
    if (!checkShape("BLOCKSIZE", block, dims) || !checkShape("SHARD_CHUNK_SHAPE", inner, dims))
        return false;
    if (inner.empty())
        return give(options, "CHUNK_SHAPE", "BLOCKSIZE", block);
    return give(options, "CHUNK_SHAPE", "SHARD_CHUNK_SHAPE", inner) && give(options, "SHARD_SHAPE", "BLOCKSIZE", block);
}

/* The level of the compression that is chosen; those of others are passed over, as in the other driver. */
static bool takeLevels(CPLStringList &options)
{
    static const struct
    {
        const char *alias, *compression, *other;
    } levels[] = {{"GZIP_LEVEL", "GZIP", "DEFLATE"},
                  {"ZLIB_LEVEL", "GZIP", "DEFLATE"},
                  {"ZSTD_LEVEL", "ZSTD", "ZSTD"},
                  {"BLOSC_CLEVEL", "BLOSC", "BLOSC"}};
    const std::string compression = options.FetchNameValueDef("COMPRESS", "");
    for (const auto &l : levels)
    {
        const std::string value = take(options, l.alias);
        const bool isMeant = EQUAL(compression.c_str(), l.compression) || EQUAL(compression.c_str(), l.other);
        if (isMeant && !give(options, "LEVEL", l.alias, value))
            return false;
    }
    return true;
}

bool zsTakeAliases(CPLStringList &options, size_t dims)
{
    const std::string format = take(options, "FORMAT");
    if (!format.empty() && !EQUAL(format.c_str(), "ZARR_V3"))
        return zsRefuseOption("FORMAT", "ZARR_V3", format.c_str());
    take(options, "CREATE_ZMETADATA");
    const std::string convention = take(options, "GEOREFERENCING_CONVENTION");
    const bool isTheirs = EQUAL(convention.c_str(), "GDAL");
    return give(options, "RESAMPLING", "OVERVIEW_RESAMPLING", take(options, "OVERVIEW_RESAMPLING")) &&
           give(options, "GEOREFERENCING", "GEOREFERENCING_CONVENTION", isTheirs ? "ALL" : convention) &&
           takeShapes(options, dims) && takeLevels(options);
}
