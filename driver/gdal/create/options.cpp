#include "creation_options.h"

#include <algorithm>
#include <cstdlib>

#include "gdal/connection.h"

extern "C"
{
#include "base/parallel.h"
#include "codec/codec.h"
#include "zarr/hierarchy.h"
}

namespace
{
using Creation = ZSCreationOptions;
using Opening = ZSOpenOptions;

constexpr long MOST_THREADS = 1024;

/* Type of an option, in GDAL's terms, with the values of a choice or the range of a number. */
struct Kind
{
    const char *type;
    std::string values; /* of a choice, with spaces between */
    const char *standard; /* null: none, or described by the help */
    double low, high;
    const char *unit; /* of a number; null: an integer */
};

/* A value that its kind allows. */
struct Value
{
    const char *name, *text;
    bool isGiven; /* else it is the default, or of the configuration */
    bool isYes;
    int choice; /* index of the value */
    double number;
    bool isRefused;

    void Refuse(const std::string &expected)
    {
        isRefused = !zsRefuseOption(name, expected, text);
    }
};

template <class Options> struct Row
{
    unsigned uses; /* ZSOptionUse */
    const char *name;
    Kind kind;
    const char *help;
    void (*set)(Options &, Value &); /* null: read elsewhere */
    const char *configuration = nullptr; /* option of the configuration that holds where it is not given */
};
} // namespace

static Kind flag(const char *standard)
{
    return {"boolean", "", standard, 0, 0, nullptr};
}

static Kind choice(const std::string &values, const char *standard)
{
    return {"string-select", values, standard, 0, 0, nullptr};
}

static Kind integer(double low, double high, const char *standard = nullptr)
{
    return {"int", "", standard, low, high, nullptr};
}

static Kind number(double low, double high, const char *unit)
{
    return {"float", "", nullptr, low, high, unit};
}

static Kind anyText(const char *standard = nullptr)
{
    return {"string", "", standard, 0, 0, nullptr};
}

/* ---- Codecs ---- */

static const struct
{
    const char *name, *codec;
    int low, high, usual; /* levels */
} COMPRESSIONS[] = { // by enum zs_compression
    {"NONE", nullptr, 0, 0, 0},
    {"ZSTD", "zstd", -131072, 22, 3},
    {"BLOSC", "blosc", 0, 9, 2},
    {"GZIP", "gzip", 0, 9, 6},
};
constexpr int DEFLATE = 4; // what GTiff, and so the profile that rasterio makes of a store, calls GZIP

/* Whether this build can write it; the message names what is missing. */
static bool hasCodec(int compression, struct zs_error *err = nullptr)
{
    const struct zs_codec *codec;
    return compression == ZS_COMPRESS_NONE || zs_codec_find(COMPRESSIONS[compression].codec, &codec, err) == ZS_OK;
}

/* Blosc with zstd inside is smaller and decodes faster than zstd alone on what rasters hold. */
static zs_compression standardCompression()
{
    if (hasCodec(ZS_COMPRESS_BLOSC))
        return ZS_COMPRESS_BLOSC;
    return hasCodec(ZS_COMPRESS_ZSTD) ? ZS_COMPRESS_ZSTD : ZS_COMPRESS_GZIP;
}

std::string zsCompressors()
{
    return std::string(hasCodec(ZS_COMPRESS_BLOSC) ? "blosc," : "") + (hasCodec(ZS_COMPRESS_ZSTD) ? "zstd," : "") +
           "gzip";
}

/* ---- The table ---- */

constexpr unsigned CREATING = ZS_RASTER | ZS_ARRAY | ZS_DATASET, STORED = ZS_RASTER | ZS_DATASET;

static void setThreads(int &threads, Value &v)
{
    const bool isAll = EQUAL(v.text, "ALL_CPUS");
    const bool isNumber = *v.text != '\0' && strspn(v.text, "0123456789") == strlen(v.text);
    const long asked = isAll ? zs_cpu_count() : std::strtol(v.text, nullptr, 10);
    threads = static_cast<int>(std::clamp(asked, 1L, MOST_THREADS));
    // GDAL_NUM_THREADS is for all of GDAL: it is clamped, as other drivers do.
    if (v.isGiven && !isAll && (!isNumber || asked != threads))
        v.Refuse("ALL_CPUS or a number from 1 to " + std::to_string(MOST_THREADS));
}

/* Those of the table are decided where the array is known. */
static void setShape(std::vector<uint64_t> &shape, Value &v)
{
    if (v.isGiven && !EQUAL(v.text, "AUTO") && !zsParseNumbers(v.text, shape))
        v.Refuse("positive integers separated by commas");
}

static void setOverviews(Creation &o, Value &v)
{
    o.overviews_auto = EQUAL(v.text, "AUTO") || EQUAL(v.text, "YES");
    std::vector<uint64_t> numbers;
    if (o.overviews_auto || EQUAL(v.text, "NONE") || EQUAL(v.text, "NO"))
        return;
    const bool areNumbers = zsParseNumbers(v.text, numbers);
    if (!areNumbers || std::any_of(numbers.begin(), numbers.end(), [](uint64_t n) { return n < 2 || n > 1 << 20; }))
        return v.Refuse("AUTO, NONE, or factors from 2");
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    o.overviews.assign(numbers.begin(), numbers.end());
}

static void setDimensions(Creation &o, Value &v)
{
    const int flags = CSLT_STRIPLEADSPACES | CSLT_STRIPENDSPACES | CSLT_ALLOWEMPTYTOKENS;
    const CPLStringList names(CSLTokenizeString2(v.text, ",", flags));
    for (int i = 0; i < names.size() && !v.isRefused; i++)
    {
        if (!zsIsArrayName(names[i]) || names[i] == o.array_name)
            v.Refuse("names without /, not .z..., other than ARRAY_NAME");
        else if (std::find(o.dim_names.begin(), o.dim_names.end(), names[i]) != o.dim_names.end())
            v.Refuse("names that differ");
        o.dim_names.push_back(names[i]);
    }
}

/* Bytes of a number in larger units, of which 0 is one byte: the core takes none for its default. */
static uint64_t bytesOf(const Value &v, double unit)
{
    return std::max<uint64_t>(1, static_cast<uint64_t>(v.number * unit));
}

/* Creating. In the order of the lists that GDAL shows; a row may rely on those before. */
static const std::vector<Row<Creation>> &creationRows()
{
    static const std::vector<Row<Creation>> rows = {
        // Chunks and shards
        {CREATING, "CHUNK_SHAPE", anyText("512"),
         "Shape of an inner chunk: one number for Y and X, or one per dimension separated by commas, slowest first",
         [](Creation &o, Value &v) { setShape(o.chunk, v); }},
        {CREATING, "SHARD_SHAPE", anyText("AUTO"),
         "Shape of a shard, multiples of CHUNK_SHAPE, or AUTO for about 64 MiB",
         [](Creation &o, Value &v) { setShape(o.shard, v); }},
        {CREATING, "INDEX_LOCATION", choice("END START", "END"), "Where the index stands in a shard",
         [](Creation &o, Value &v) { o.encoding.index_at_start = v.choice == 1; }},
        {CREATING, "CHUNK_ORDER", choice("ROW_MAJOR MORTON HILBERT", "ROW_MAJOR"),
         "Physical order of the chunks in a shard", [](Creation &o, Value &v) { o.chunk_order = v.choice; }},
        {CREATING, "CHUNK_MEMORY_LAYOUT", choice("C F", "C"),
         "Order of the elements in a chunk: the last dimension fastest (C), or the first (F)",
         [](Creation &o, Value &v) { o.encoding.is_column_major = v.choice == 1; }},
        {CREATING, "DIM_SEPARATOR", choice("/ .", "/"), "What stands between the numbers in the names of shards",
         [](Creation &o, Value &v) { o.encoding.has_dotted_keys = v.choice == 1; }},
        {ZS_RASTER, "INTERLEAVE", choice("BAND PIXEL LINE", "BAND"),
         "Whether a chunk holds one band (BAND; LINE is taken for it) or all",
         [](Creation &o, Value &v) { o.pixel_interleaved = v.choice == 1; }},
        {ZS_RASTER, "BLOCKXSIZE", integer(1, INT_MAX),
         "With BLOCKYSIZE, as profiles of other formats have them: columns and rows of a chunk where there is no "
         "CHUNK_SHAPE. Strips are passed over: fewer than 16, TILED=NO, or without TILED as wide as the raster",
         [](Creation &o, Value &v) { o.profile_width = static_cast<uint64_t>(v.number); }},
        {ZS_RASTER, "BLOCKYSIZE", integer(1, INT_MAX), "See BLOCKXSIZE",
         [](Creation &o, Value &v) { o.profile_height = static_cast<uint64_t>(v.number); }},
        {ZS_RASTER, "TILED", flag(nullptr), "See BLOCKXSIZE; a store is always made of chunks",
         [](Creation &o, Value &v) { (v.isYes ? o.profile_is_tiled : o.profile_is_striped) = true; }},

        // Compression
        {CREATING, "COMPRESS", choice("NONE ZSTD BLOSC GZIP DEFLATE", COMPRESSIONS[standardCompression()].name),
         "Compression of chunks",
         [](Creation &o, Value &v) {
             o.encoding.compression = static_cast<enum zs_compression>(v.choice == DEFLATE ? ZS_COMPRESS_GZIP
                                                                                            : v.choice);
         }},
        {CREATING, "LEVEL", integer(-131072, 22),
         "Compression level: ZSTD -131072 to 22 (default 3), BLOSC 0 to 9 (default 2, with BLOSC_SHUFFLE=BIT 1, of "
         "other than zstd 3), GZIP 0 to 9 (default 6)",
         [](Creation &o, Value &v) {
             o.encoding.level = static_cast<int>(v.number);
             o.has_level = true;
         }},
        {CREATING, "BLOSC_CNAME", choice("zstd lz4 lz4hc blosclz zlib snappy", "zstd"), "Compressor inside BLOSC",
         [](Creation &o, Value &v) {
             static const char *const names[] = {"zstd", "lz4", "lz4hc", "blosclz", "zlib", "snappy"};
             o.encoding.blosc_cname = names[v.choice];
         }},
        {CREATING, "BLOSC_SHUFFLE", choice("AUTO NONE BYTE BIT", "AUTO"),
         "Reordering inside BLOSC before compression. AUTO: a copy takes what makes a sample of its source "
         "smallest; else by data type",
         [](Creation &o, Value &v) {
             static const char *const names[] = {nullptr, "noshuffle", "shuffle", "bitshuffle"};
             o.encoding.blosc_shuffle = names[v.choice];
         }},
        {CREATING, "BLOSC_BLOCKSIZE", integer(0, 999999999, "0"),
         "Bytes of a block inside BLOSC; 0: for zstd 1048576, at LEVEL 1 524288, without a filter at LEVEL 1 and 2 "
         "262144 for elements of up to four bytes; in chunks that extend in more than two dimensions 131072 at LEVEL 1 "
         "and 2; else as BLOSC chooses",
         [](Creation &o, Value &v) { o.encoding.blosc_blocksize = static_cast<int>(v.number); }},
        {CREATING, "ZSTD_CHECKSUM", flag("NO"), "Whether zstd adds its checksum",
         [](Creation &o, Value &v) { o.encoding.zstd_checksum = v.isYes; }},
        {CREATING, "CHUNK_CHECKSUM", flag("NO"), "Whether each chunk gets a crc32c checksum",
         [](Creation &o, Value &v) { o.encoding.chunk_checksum = v.isYes; }},

        // What is stored of a value
        {CREATING, "BITROUND", integer(1, 52),
         "Binary digits of the fraction of floats that are kept; the others become zero",
         [](Creation &o, Value &v) { o.encoding.keepbits = static_cast<int>(v.number); }},

        // Overviews and statistics
        {ZS_RASTER, "OVERVIEWS", anyText("AUTO"),
         "AUTO: by 2 until the smaller side is under a chunk; NONE; or factors separated by commas", setOverviews},
        {ZS_RASTER, "RESAMPLING",
         choice("NEAREST AVERAGE RMS BILINEAR CUBIC CUBICSPLINE LANCZOS GAUSS MODE", nullptr),
         "Resampling of overviews. Default: AVERAGE, or NEAREST for categories and colour tables",
         [](Creation &o, Value &v) { o.resampling = v.text; }},
        {ZS_RASTER, "STATISTICS", flag("NO"),
         "Whether the store holds minimum, maximum, mean and standard deviation of each band",
         [](Creation &o, Value &v) { o.statistics = v.isYes; }},

        // The array, the store
        {ZS_RASTER, "ARRAY_NAME", anyText(),
         "Name of the array. Default: that of the store, or of the source that is appended",
         [](Creation &o, Value &v) {
             o.array_name = v.text;
             if (!zsIsArrayName(o.array_name))
                 v.Refuse("a name without / and \\, not of dots alone, not beginning with .z or ovr_, not spatial_ref");
         }},
        {ZS_RASTER, "DIM_NAMES", anyText(),
         "Names of the dimensions separated by commas, slowest first. Default: those of the source, else band,y,x",
         setDimensions},
        {ZS_RASTER, "SINGLE_ARRAY", flag("YES"), "Whether all bands go to one array",
         [](Creation &o, Value &v) { o.single_array = v.isYes; }},
        {ZS_RASTER, "APPEND_SUBDATASET", flag("NO"), "Whether to add an array to an existing store",
         [](Creation &o, Value &v) { o.append = v.isYes; }},
        {STORED, "OVERWRITE", flag("NO"), "Whether a store is replaced, too, that holds other than one raster",
         [](Creation &o, Value &v) { o.overwrite = v.isYes; }},
        {STORED, "CREATE_CONSOLIDATED_METADATA", flag("YES"),
         "Whether the root of a new store has the metadata of all nodes, so that it opens in one request",
         [](Creation &o, Value &v) { o.consolidates = v.isYes; }},
        {STORED, "FSYNC", flag("YES"),
         "Whether what is written is on the disk before it replaces what was there. With NO a power failure may take "
         "pixels away. Default: SHARDEDZARR_FSYNC if set",
         [](Creation &o, Value &v) { o.fsync = v.isYes; }, "SHARDEDZARR_FSYNC"},
        {STORED, "NUM_THREADS", anyText("ALL_CPUS"),
         "Number of threads that encode, or ALL_CPUS. Default: GDAL_NUM_THREADS if set",
         [](Creation &o, Value &v) { setThreads(o.threads, v); }, "GDAL_NUM_THREADS"},

        // Where pixels lie
        {ZS_RASTER, "GEOREFERENCING", choice("ALL SPATIAL_PROJ CF", "ALL"), "Conventions that are written",
         [](Creation &o, Value &v) { o.style = static_cast<enum zs_georef_style>(v.choice); }},
        {ZS_RASTER, "HEALPIX", integer(0, ZS_MOST_HEALPIX_ORDER),
         "Order of the HEALPix cells of all the sphere that the pixels are. What is copied or created has 5 x 2^order "
         "columns and rows in +proj=healpix +rot_xy=45",
         [](Creation &o, Value &v) {
             o.healpix_order = static_cast<int>(v.number);
             if (!o.overviews.empty())
                 v.isRefused = !zsRefuseOption("OVERVIEWS",
                                               "NONE beside HEALPIX: coarser orders are stores of their own",
                                               std::to_string(o.overviews.front()).c_str());
         }},

        // Of GDAL's own tests
        {CREATING, "@ENDIAN", choice("little big", "little"), "",
         [](Creation &o, Value &v) { o.encoding.is_big_endian = v.choice == 1; }},
    };
    return rows;
}

static const std::vector<Row<Opening>> &openingRows()
{
    static const std::vector<Row<Opening>> rows = {
        {ZS_OPENING, "USE_CONSOLIDATED_METADATA", flag("YES"),
         "Whether the metadata of all nodes that the root may hold (consolidated metadata) are used", nullptr},
        {ZS_OPENING, "MULTIBAND", flag("YES"),
         "Whether arrays of three and more dimensions are opened as bands; NO lists their slices as subdatasets",
         [](Opening &o, Value &v) { o.multiband = v.isYes; }},
        {ZS_OPENING, "HEALPIX", flag("YES"),
         "Whether HEALPix cells are opened as a map; NO opens them as one row",
         [](Opening &o, Value &v) { o.healpix = v.isYes; }},
        {ZS_OPENING, "DIM_X", anyText(), "Name or index of the X dimension",
         [](Opening &o, Value &v) { o.dim_x = v.text; }},
        {ZS_OPENING, "DIM_Y", anyText(), "Name or index of the Y dimension",
         [](Opening &o, Value &v) { o.dim_y = v.text; }},
        {ZS_OPENING, "NUM_THREADS", anyText("ALL_CPUS"),
         "Number of threads that decode, or ALL_CPUS. Default: GDAL_NUM_THREADS if set",
         [](Opening &o, Value &v) { setThreads(o.threads, v); }, "GDAL_NUM_THREADS"},
        {ZS_OPENING, "CACHE_SIZE", number(0, 1e9, "megabytes"),
         "Most decoded chunks that are kept, in megabytes. Default: what all datasets share, a quarter of "
         "GDAL_CACHEMAX",
         [](Opening &o, Value &v) { o.cache_bytes = bytesOf(v, 1 << 20); }},
        {ZS_OPENING, "MAX_CHUNK_SIZE", number(0, 1e9, "megabytes"),
         "Largest chunk that is decoded, in megabytes; larger ones are refused. Default: 512, or GDAL_CACHEMAX where "
         "that is more",
         [](Opening &o, Value &v) { o.max_chunk_bytes = bytesOf(v, 1 << 20); }},
        {ZS_OPENING, "FSYNC", flag("YES"),
         "Whether changes are on the disk before they replace what was there. Default: SHARDEDZARR_FSYNC if set",
         [](Opening &o, Value &v) { o.fsync = v.isYes; }, "SHARDEDZARR_FSYNC"},
        {ZS_OPENING, "UPDATE", choice("REWRITE APPEND IN_PLACE", "REWRITE"),
         "How an existing shard is changed: REWRITE replaces it, APPEND writes new chunks behind the old ones, "
         "IN_PLACE overwrites chunks that are not compressed. Other than on a local disk it is always REWRITE",
         [](Opening &o, Value &v) { o.update = static_cast<enum zs_update>(v.choice); }},
        {ZS_OPENING, "CONDITIONAL_PUT", flag("YES"),
         "Whether an upload to /vsis3/ or /vsigs/ carries the version that it replaces. Default: "
         "SHARDEDZARR_CONDITIONAL_PUT if set",
         [](Opening &o, Value &v) {
             if (v.isGiven) // else the configuration counts, which may differ from path to path
                 o.conditions = v.isYes;
         }},
        {ZS_OPENING, "BRANCH", anyText(),
         "Of an Icechunk repository: the branch whose newest commit is opened. Default: main", nullptr},
        {ZS_OPENING, "TAG", anyText(), "Of an Icechunk repository: the tag whose commit is opened", nullptr},
        {ZS_OPENING, "SNAPSHOT", anyText(), "Of an Icechunk repository: the id of the snapshot that is opened",
         nullptr},
        {ZS_OPENING, "AS_OF", anyText(),
         "Of an Icechunk repository: a time, 2026-09-01T00:00:00Z; the last commit of the branch at or before it is "
         "opened", nullptr},
        {ZS_OPENING, "MERGE_GAP", number(0, 1e9, "kilobytes"),
         "Chunks of a shard with fewer kilobytes between them are one request. Default: 128 over a network, else 4",
         [](Opening &o, Value &v) { o.merge_gap = bytesOf(v, 1 << 10); }},
    };
    return rows;
}

/* Names of options in other drivers (GDAL's own Zarr driver, GTiff, COG), which zsTakeAliases() replaces. */
static const struct Alias
{
    unsigned uses;
    const char *name, *type, *meaning;
    const char *option; /* that it stands for; null: passed over, or read elsewhere */
    int compression;    /* whose level it is; NONE: no level */
} ALIASES[] = {
    {STORED, "FORMAT", "string", "ZARR_V3, as it always is", nullptr, 0},
    {CREATING, "BLOCKSIZE", "string", "CHUNK_SHAPE; beside SHARD_CHUNK_SHAPE it is SHARD_SHAPE", "CHUNK_SHAPE", 0},
    {CREATING, "SHARD_CHUNK_SHAPE", "string", "CHUNK_SHAPE", "CHUNK_SHAPE", 0},
    {CREATING, "GZIP_LEVEL", "string", "LEVEL for COMPRESS=GZIP", "LEVEL", ZS_COMPRESS_GZIP},
    {CREATING, "ZLIB_LEVEL", "string", "LEVEL for COMPRESS=GZIP", "LEVEL", ZS_COMPRESS_GZIP},
    {CREATING, "ZSTD_LEVEL", "string", "LEVEL for COMPRESS=ZSTD", "LEVEL", ZS_COMPRESS_ZSTD},
    {CREATING, "BLOSC_CLEVEL", "string", "LEVEL for COMPRESS=BLOSC", "LEVEL", ZS_COMPRESS_BLOSC},
    {ZS_RASTER, "ZLEVEL", "string", "LEVEL for COMPRESS=DEFLATE, as GTiff has it", "LEVEL", ZS_COMPRESS_GZIP},
    {ZS_RASTER, "SPARSE_OK", "boolean", "passed over, chunks without pixels are never stored", nullptr, 0},
    {STORED, "CREATE_ZMETADATA", "string", "passed over, of Zarr v2", nullptr, 0},
    {ZS_RASTER, "OVERVIEW_RESAMPLING", "string", "RESAMPLING, as COG has it", "RESAMPLING", 0},
    {ZS_RASTER, "GEOREFERENCING_CONVENTION", "string", "GEOREFERENCING; GDAL is ALL", "GEOREFERENCING", 0},
    {ZS_OPENING, "USE_ZMETADATA", "boolean", "USE_CONSOLIDATED_METADATA", nullptr, 0},
    {ZS_OPENING, "LIST_ALL_ARRAYS", "boolean", "passed over, all are listed", nullptr, 0},
    {ZS_OPENING, "CACHE_TILE_PRESENCE", "boolean", "passed over, the indexes of shards tell", nullptr, 0},
};

/* ---- Lists ---- */

/* Options of an array are allowed for a dataset of arrays, too, for all of them. */
static bool isFor(unsigned uses, ZSOptionUse use)
{
    return (uses & (use == ZS_DATASET ? ZS_DATASET | ZS_ARRAY : use)) != 0;
}

template <class Options> static std::string listOf(const std::vector<Row<Options>> &rows, ZSOptionUse use)
{
    std::string list;
    for (const auto &row : rows)
    {
        const Kind &kind = row.kind;
        if (!isFor(row.uses, use) || *row.name == '@') // hidden
            continue;
        list += std::string("<Option name='") + row.name + "' type='" + kind.type + "'";
        if (kind.low < kind.high)
            list += CPLSPrintf(kind.unit == nullptr ? " min='%.0f' max='%.0f'" : " min='%.0f'", kind.low, kind.high);
        if (kind.standard != nullptr)
            list += std::string(" default='") + kind.standard + "'";
        list += std::string(" description='") + row.help + "'>";
        const CPLStringList values(CSLTokenizeString2(kind.values.c_str(), " ", 0));
        for (int i = 0; i < values.size(); i++)
            list += "<Value>" + std::string(values[i]) + "</Value>";
        list += "</Option>";
    }
    return list;
}

std::string zsOptionList(ZSOptionUse use)
{
    const std::string root = use == ZS_OPENING ? "OpenOptionList" : "CreationOptionList";
    std::string list = use == ZS_OPENING ? listOf(openingRows(), use) : listOf(creationRows(), use);
    for (const auto &alias : ALIASES)
    {
        if (isFor(alias.uses, use))
            list += std::string("<Option name='") + alias.name + "' type='" + alias.type +
                    "' description='As other drivers of GDAL call it: " + alias.meaning + "'/>";
    }
    return "<" + root + ">" + list + "</" + root + ">";
}

bool zsIsOption(const char *name, ZSOptionUse use)
{
    const auto &rows = creationRows();
    return std::any_of(rows.begin(), rows.end(),
                       [&](const Row<Creation> &row) { return EQUAL(row.name, name) && isFor(row.uses, use); });
}

/* ---- Reading ---- */

bool zsRefuseOption(const char *name, const std::string &expected, const char *found)
{
    return zsRefuse(CPLE_IllegalArg, "%s: expected %s, found %s", name, expected.c_str(), found);
}

/* Reads a value; refuses what its kind does not allow. */
static void readValue(const Kind &kind, Value &v)
{
    const bool isInteger = EQUAL(kind.type, "int");
    if (EQUAL(kind.type, "boolean"))
    {
        // Configuration options are read as GDAL reads them.
        static const CPLStringList known(CSLTokenizeString("YES TRUE ON 1 NO FALSE OFF 0"));
        v.isYes = CPLTestBool(v.text);
        if (v.isGiven && known.FindString(v.text) < 0)
            v.Refuse("YES or NO");
    }
    else if (EQUAL(kind.type, "string-select"))
    {
        v.choice = CPLStringList(CSLTokenizeString2(kind.values.c_str(), " ", 0)).FindString(v.text);
        if (v.choice < 0)
            v.Refuse("one of " + kind.values);
    }
    else if (isInteger || EQUAL(kind.type, "float"))
    {
        const std::string what = isInteger ? "an integer" : std::string("a number of ") + kind.unit;
        char *end = nullptr;
        v.number = isInteger ? static_cast<double>(strtoll(v.text, &end, 10)) : CPLStrtod(v.text, &end);
        if (end == v.text || *end != '\0' || !(v.number >= kind.low && v.number <= kind.high)) // NaN is neither
            v.Refuse(CPLSPrintf("%s from %.0f to %.0f", what.c_str(), kind.low, kind.high));
    }
}

template <class Options>
static bool readRows(const std::vector<Row<Options>> &rows, CSLConstList list, Options &options)
{
    for (const auto &row : rows)
    {
        const char *given = CSLFetchNameValue(list, row.name);
        const char *usual = row.kind.standard;
        const char *text = given != nullptr               ? given
                           : row.configuration != nullptr ? CPLGetConfigOption(row.configuration, usual)
                                                          : usual;
        if (text == nullptr || row.set == nullptr)
            continue;
        Value v = {row.name, text, given != nullptr, false, 0, 0, false};
        readValue(row.kind, v);
        if (!v.isRefused)
            row.set(options, v);
        if (v.isRefused)
            return false;
    }
    return true;
}

bool ZSOpenOptions::Parse(CSLConstList list)
{
    return readRows(openingRows(), list, *this);
}

/* The level suits the codec, which this build has. */
static bool checkCompression(Creation &options)
{
    struct zs_encoding &e = options.encoding;
    const auto &compression = COMPRESSIONS[e.compression];
    const bool isOtherBlosc = e.compression == ZS_COMPRESS_BLOSC && !EQUAL(e.blosc_cname, "zstd");
    struct zs_error err;
    if (!hasCodec(e.compression, &err))
        return zsRefuse(CPLE_NotSupported, "COMPRESS: %s", err.message);
    e.is_usual_level = !options.has_level || e.compression == ZS_COMPRESS_NONE;
    if (e.is_usual_level)
        e.level = isOtherBlosc ? 3 : compression.usual; // level 2 of blosc is level 3 of zstd
    if (e.level >= compression.low && e.level <= compression.high)
        return true;
    return zsRefuseOption("LEVEL", CPLSPrintf("an integer from %d to %d for %s", compression.low, compression.high,
                                              compression.name), std::to_string(e.level).c_str());
}

bool ZSCreationOptions::Parse(CSLConstList given)
{
    CPLStringList list = zsUtf8List(given);
    return zsTakeAliases(list) && readRows(creationRows(), list.List(), *this) && checkCompression(*this);
}

bool zsIsArrayName(const std::string &name)
{
    return zs_node_check_name(name.c_str(), nullptr) == ZS_OK && name != "spatial_ref" &&
           !STARTS_WITH(name.c_str(), "ovr_");
}

/* ---- Aliases ---- */

bool zsUsesConsolidated(CSLConstList openOptions)
{
    const bool byAlias = CPLFetchBool(openOptions, "USE_ZMETADATA", true);
    return CPLFetchBool(openOptions, "USE_CONSOLIDATED_METADATA", byAlias);
}

/* Levels of other compressions than the one that is chosen are passed over, as in the other driver, but with a warning
 * where none was named: the standard one may not be meant. */
static bool isOtherLevel(const Alias &alias, const CPLStringList &options)
{
    const char *named = options.FetchNameValueDef("COMPRESS", COMPRESSIONS[standardCompression()].name);
    const char *chosen = EQUAL(named, "DEFLATE") ? "GZIP" : named;
    const bool isOther = alias.compression != ZS_COMPRESS_NONE && !EQUAL(chosen, COMPRESSIONS[alias.compression].name);
    if (isOther && options.FetchNameValue("COMPRESS") == nullptr)
        CPLError(CE_Warning, CPLE_AppDefined, "%s is the level of COMPRESS=%s, which is not set: it has no effect",
                 alias.name, COMPRESSIONS[alias.compression].name);
    return isOther;
}

bool zsTakeAliases(CPLStringList &options)
{
    const bool hasInner = *options.FetchNameValueDef("SHARD_CHUNK_SHAPE", "") != '\0';
    for (const Alias &alias : ALIASES)
    {
        const std::string value = options.FetchNameValueDef(alias.name, "");
        if ((alias.uses & ZS_OPENING) != 0)
            continue;
        options.SetNameValue(alias.name, nullptr);
        if (value.empty() || isOtherLevel(alias, options))
            continue;
        if (EQUAL(alias.name, "FORMAT") && !EQUAL(value.c_str(), "ZARR_V3"))
            return zsRefuseOption("FORMAT", "ZARR_V3", value.c_str());
        std::vector<uint64_t> numbers;
        if ((zsEndsWith(alias.name, "BLOCKSIZE") || zsEndsWith(alias.name, "SHAPE")) &&
            !zsParseNumbers(value.c_str(), numbers))
            return zsRefuseOption(alias.name, "positive integers separated by commas", value.c_str());
        const char *option = hasInner && EQUAL(alias.name, "BLOCKSIZE") ? "SHARD_SHAPE" : alias.option;
        if (option == nullptr)
            continue;
        if (options.FetchNameValue(option) != nullptr)
            return zsRefuseOption(alias.name, std::string("nothing beside ") + option, value.c_str());
        const bool isTheirs = EQUAL(alias.name, "GEOREFERENCING_CONVENTION") && EQUAL(value.c_str(), "GDAL");
        options.SetNameValue(option, isTheirs ? "ALL" : value.c_str());
    }
    return true;
}
