#include "creation_options.h"

#include "option_aliases.h"
#include "source_axes.h"
#include "types.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

extern "C"
{
#include "base/parallel.h"
#include "shard/writer.h"
#include "zarr/name.h"
}

/* About what a chunk of all bands holds by default: 512 x 512 pixels of 64 bytes. */
constexpr uint64_t USUAL_PIXELS = 16 << 20;
/* Blocks of fewer rows or columns are strips, of which no chunks are made. */
constexpr uint64_t MIN_BLOCK = 16;

static const std::vector<const char *> COMPRESSIONS = {"NONE", "ZSTD", "BLOSC", "GZIP"}; // as enum zs_compression

/* Whether this build can write it; the message says what is missing. */
static bool hasCodec(int compression, struct zs_error *err = nullptr)
{
    static const char *const names[] = {nullptr, "zstd", "blosc", "gzip"};
    const struct zs_codec *codec;
    return compression == ZS_COMPRESS_NONE || zs_codec_find(names[compression], &codec, err) == ZS_OK;
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

std::string zsCreationOptionList()
{
    const char *zstd = hasCodec(ZS_COMPRESS_ZSTD) ? "<Value>ZSTD</Value>" : "";
    const char *blosc = hasCodec(ZS_COMPRESS_BLOSC) ? "<Value>BLOSC</Value>" : "";
    const char *standard = COMPRESSIONS[standardCompression()];
    return std::string(
               "<CreationOptionList>"
               "  <Option name='CHUNK_SHAPE' type='string' default='512' description='Shape of an inner chunk: one "
               "number for Y and X, or one per dimension separated by commas, slowest first. A list in brackets, "
               "[100,300,624],512, has the length of each chunk of a dimension, [[256,4],100] 256 four times and 100; "
               "where they differ there are no shards'/>"
               "  <Option name='SHARD_SHAPE' type='string' default='AUTO' description='Shape of a shard, multiples "
               "of CHUNK_SHAPE, or AUTO for about 64 MiB. A list in brackets has the length of each shard of a "
               "dimension'/>"
               "  <Option name='COMPRESS' type='string-select' default='") +
           standard + "' description='Compression of chunks'>" + zstd + blosc +
           "    <Value>GZIP</Value><Value>DEFLATE</Value><Value>NONE</Value>"
           "  </Option>"
           "  <Option name='LEVEL' type='int' min='-131072' max='22' description='Compression level: ZSTD -131072 to "
           "22 (default 3), BLOSC 0 to 9 (default 3), GZIP 0 to 9 (default 6)'/>"
           "  <Option name='BLOSC_CNAME' type='string-select' default='zstd' description='Compressor inside BLOSC'>"
           "    <Value>zstd</Value><Value>lz4</Value><Value>lz4hc</Value><Value>blosclz</Value><Value>zlib</Value>"
           "<Value>snappy</Value>"
           "  </Option>"
           "  <Option name='BLOSC_SHUFFLE' type='string-select' description='Reordering inside BLOSC before "
           "compression. Default: by data type'>"
           "    <Value>NONE</Value><Value>BYTE</Value><Value>BIT</Value>"
           "  </Option>"
           "  <Option name='BLOSC_BLOCKSIZE' type='int' min='0' default='0' description='Bytes of a block inside "
           "BLOSC; 0: as it chooses'/>"
           "  <Option name='ZSTD_CHECKSUM' type='boolean' default='NO' description='Whether zstd adds its checksum'/>"
           "  <Option name='CHUNK_MEMORY_LAYOUT' type='string-select' default='C' description='Order of the elements "
           "in a chunk: the last dimension fastest (C), or the first (F)'>"
           "    <Value>C</Value><Value>F</Value>"
           "  </Option>"
           "  <Option name='DIM_SEPARATOR' type='string' description='What stands between the numbers in the names of "
           "shards: / (the default) or a dot'/>"
           "  <Option name='INDEX_LOCATION' type='string-select' default='END' description='Where the index stands "
           "in a shard'>"
           "    <Value>END</Value><Value>START</Value>"
           "  </Option>"
           "  <Option name='CHUNK_ORDER' type='string-select' default='ROW_MAJOR' description='Physical order of the "
           "chunks in a shard'>"
           "    <Value>ROW_MAJOR</Value><Value>MORTON</Value><Value>HILBERT</Value>"
           "  </Option>"
           "  <Option name='CHUNK_CHECKSUM' type='boolean' default='NO' description='Whether each chunk gets a "
           "crc32c checksum'/>"
           "  <Option name='SCALE_OFFSET' type='string-select' default='NO' description='Whether pixels become "
           "values in physical units that are stored as integers, by the scale and offset of the source; or the type "
           "of these. Default for floats: UINT16'>"
           "    <Value>NO</Value><Value>YES</Value><Value>UINT8</Value><Value>INT8</Value><Value>UINT16</Value>"
           "<Value>INT16</Value>"
           "    <Value>UINT32</Value><Value>INT32</Value>"
           "  </Option>"
           "  <Option name='SCALE' type='float' description='For SCALE_OFFSET: value of a step of the integers. "
           "Default: that of the source'/>"
           "  <Option name='OFFSET' type='float' description='For SCALE_OFFSET: value of the integer 0. Default: "
           "that of the source'/>"
           "  <Option name='BITROUND' type='int' min='1' max='52' description='Binary digits of the fraction of "
           "floats that are kept; the others become zero'/>"
           "  <Option name='OVERVIEWS' type='string' default='AUTO' description='AUTO: by 2 until the smaller side "
           "is under a chunk; NONE; or factors separated by commas'/>"
           "  <Option name='RESAMPLING' type='string-select' description='Resampling of overviews. Default: AVERAGE, "
           "or NEAREST for categories and colour tables'>"
           "    <Value>NEAREST</Value><Value>AVERAGE</Value><Value>RMS</Value><Value>BILINEAR</Value>"
           "<Value>CUBIC</Value>"
           "    <Value>CUBICSPLINE</Value><Value>LANCZOS</Value><Value>GAUSS</Value><Value>MODE</Value>"
           "  </Option>"
           "  <Option name='STATISTICS' type='boolean' default='NO' description='Whether the store holds minimum, "
           "maximum, mean, standard deviation and a histogram of each band'/>"
           "  <Option name='ARRAY_NAME' type='string' description='Name of the array. Default: that of the store'/>"
           "  <Option name='SINGLE_ARRAY' type='boolean' default='YES' description='Whether all bands go to one "
           "array'/>"
           "  <Option name='INTERLEAVE' type='string-select' default='BAND' description='Whether a chunk holds one "
           "band (BAND; LINE is taken for it) or all'>"
           "    <Value>BAND</Value><Value>PIXEL</Value><Value>LINE</Value>"
           "  </Option>"
           "  <Option name='BLOCKXSIZE' type='int' description='With BLOCKYSIZE, as profiles of other formats have "
           "them: columns and rows of a chunk where there is no CHUNK_SHAPE. Strips are passed over: fewer than 16, "
           "TILED=NO, or without TILED as wide as the raster'/>"
           "  <Option name='BLOCKYSIZE' type='int' description='See BLOCKXSIZE'/>"
           "  <Option name='TILED' type='boolean' description='See BLOCKXSIZE; a store is always made of chunks'/>"
           "  <Option name='APPEND_SUBDATASET' type='boolean' default='NO' description='Whether to add an array to "
           "an existing store'/>"
           "  <Option name='OVERWRITE' type='boolean' default='NO' description='Whether to replace a store that "
           "holds other than one raster'/>"
           "  <Option name='CREATE_CONSOLIDATED_METADATA' type='boolean' default='YES' description='Whether the root "
           "of a new store has the metadata of all nodes, so that it opens in one request'/>"
           "  <Option name='GEOREFERENCING' type='string-select' default='ALL' description='Conventions that are "
           "written'>"
           "    <Value>ALL</Value><Value>SPATIAL_PROJ</Value><Value>CF</Value>"
           "  </Option>"
           "  <Option name='HEALPIX' type='int' min='0' max='" + std::to_string(ZS_MOST_HEALPIX_ORDER) +
           "' description='Order of the HEALPix cells of all the sphere that the pixels become. A copy of a raster on "
           "another grid is warped; what is created has 5 x 2^order columns and rows in +proj=healpix +rot_xy=45'/>"
           "  <Option name='WARP_RESAMPLING' type='string-select' default='NEAREST' description='Resampling of a copy "
           "with HEALPIX of a raster on another grid'><Value>NEAREST</Value><Value>BILINEAR</Value><Value>CUBIC</Value>"
           "<Value>CUBICSPLINE</Value><Value>LANCZOS</Value><Value>AVERAGE</Value><Value>RMS</Value>"
           "<Value>MODE</Value></Option>"
           "  <Option name='NUM_THREADS' type='string' description='Number of threads that encode, or ALL_CPUS. "
           "Default: GDAL_NUM_THREADS if set, else ALL_CPUS'/>"
           "  <Option name='FSYNC' type='boolean' default='YES' description='Whether what is written is put on the "
           "disk before it takes its place; with NO a power failure may take pixels away. Default: the configuration "
           "option SHARDEDZARR_FSYNC if set'/>"
           "  <Option name='UPDATE' type='string-select' default='REWRITE' description='The open option, for what is "
           "written into shards after they were flushed'>"
           "    <Value>REWRITE</Value><Value>APPEND</Value><Value>IN_PLACE</Value>"
           "  </Option>"
           "  <Option name='DIM_NAMES' type='string' description='Names of the dimensions separated by commas, "
           "slowest first. Default: those of the source, else y,x or band,y,x'/>" +
           zsAliasOptionList(ZSFace::RASTER) + "</CreationOptionList>";
}

/* ---- Parsing ---- */

/* Index of the option's value in a list of allowed ones; `fallback` when it is not given, -1 (CPLError emitted) when it
 * is none. */
static int choose(CSLConstList options, const char *name, const std::vector<const char *> &allowed, int fallback)
{
    const char *value = CSLFetchNameValue(options, name);
    if (value == nullptr)
        return fallback;
    std::string all;
    for (size_t i = 0; i < allowed.size(); i++)
    {
        if (EQUAL(value, allowed[i]))
            return static_cast<int>(i);
        all += (i == 0 ? "" : i + 1 == allowed.size() ? " or " : ", ") + std::string(allowed[i]);
    }
    zsRefuseOption(name, all, value);
    return -1;
}

static bool parseBoolean(CSLConstList options, const char *name, bool &out)
{
    const char *value = CSLFetchNameValue(options, name);
    if (value == nullptr)
        return true;
    out = CPLTestBool(value);
    for (const char *no : {"NO", "FALSE", "OFF", "0"})
    {
        if (EQUAL(value, no))
            return true;
    }
    for (const char *yes : {"YES", "TRUE", "ON", "1"})
    {
        if (EQUAL(value, yes))
            return true;
    }
    return zsRefuseOption(name, "YES or NO", value);
}

bool zsIsArrayName(const std::string &name)
{
    return zs_is_node_name(name.c_str()) && name != "spatial_ref" && !STARTS_WITH(name.c_str(), "ovr_");
}

static bool parseNumbers(const char *name, const char *text, std::vector<uint64_t> &out)
{
    return zsParseNumbers(text, out) || zsRefuseOption(name, "positive integers separated by commas", text);
}

/* What profiles of other formats, GTiff's say, call the size of a chunk. */
static bool parseBlock(CSLConstList options, uint64_t &width, uint64_t &height, bool &isTile)
{
    const char *texts[] = {CSLFetchNameValue(options, "BLOCKXSIZE"), CSLFetchNameValue(options, "BLOCKYSIZE")};
    std::vector<uint64_t> sizes;
    bool isTiled = true;
    if ((texts[0] != nullptr && !parseNumbers("BLOCKXSIZE", texts[0], sizes)) ||
        (texts[1] != nullptr && !parseNumbers("BLOCKYSIZE", texts[1], sizes)) ||
        !parseBoolean(options, "TILED", isTiled))
        return false;
    isTile = isTiled && CSLFetchNameValue(options, "TILED") != nullptr;
    if (isTiled && sizes.size() == 2 && std::min(sizes[0], sizes[1]) >= MIN_BLOCK)
    {
        width = sizes[0];
        height = sizes[1];
    }
    return true;
}

static bool parseCompression(CSLConstList options, struct zs_encoding &e, std::string &shuffle)
{
    // What GTiff calls it, and so the profile that rasterio makes of a store.
    const bool isDeflate = EQUAL(CSLFetchNameValueDef(options, "COMPRESS", ""), "DEFLATE");
    const int chosen = isDeflate ? ZS_COMPRESS_GZIP
                                 : choose(options, "COMPRESS", COMPRESSIONS, static_cast<int>(standardCompression()));
    if (chosen < 0)
        return false;
    e.compression = static_cast<enum zs_compression>(chosen);
    struct zs_error err;
    if (!hasCodec(chosen, &err))
    {
        CPLError(CE_Failure, CPLE_NotSupported, "COMPRESS: %s", err.message);
        return false;
    }

    static const int low[] = {0, -131072, 0, 0}, high[] = {0, 22, 9, 9}, usual[] = {0, 3, 3, 6};
    e.level = usual[chosen];
    const char *level = CSLFetchNameValue(options, "LEVEL");
    if (level != nullptr && chosen != ZS_COMPRESS_NONE)
    {
        char *end = nullptr;
        const long value = strtol(level, &end, 10);
        if (end == level || *end != '\0' || value < low[chosen] || value > high[chosen])
        {
            const std::string range = std::to_string(low[chosen]) + " to " + std::to_string(high[chosen]);
            const char *compression = COMPRESSIONS[static_cast<size_t>(chosen)];
            return zsRefuseOption("LEVEL", "an integer from " + range + " for " + compression, level);
        }
        e.level = static_cast<int>(value);
    }
    static const std::vector<const char *> compressors = {"zstd", "lz4", "lz4hc", "blosclz", "zlib", "snappy"};
    const int cname = choose(options, "BLOSC_CNAME", compressors, 0);
    static const std::vector<const char *> shuffles = {"NONE", "BYTE", "BIT"};
    const int order = choose(options, "BLOSC_SHUFFLE", shuffles, 3);
    if (cname < 0 || order < 0)
        return false;
    e.blosc_cname = compressors[static_cast<size_t>(cname)];
    static const char *const zarrNames[] = {"noshuffle", "shuffle", "bitshuffle", ""};
    shuffle = zarrNames[order];
    const char *block = CSLFetchNameValueDef(options, "BLOSC_BLOCKSIZE", "0");
    if (strspn(block, "0123456789") != strlen(block) || strlen(block) < 1 || strlen(block) > 9)
        return zsRefuseOption("BLOSC_BLOCKSIZE", "a number of bytes", block);
    e.blosc_blocksize = atoi(block);
    return parseBoolean(options, "ZSTD_CHECKSUM", e.zstd_checksum);
}

/* How chunks lie in memory and in the store. */
static bool parseLayout(CSLConstList options, struct zs_encoding &e)
{
    const int layout = choose(options, "CHUNK_MEMORY_LAYOUT", {"C", "F"}, 0);
    const int separator = choose(options, "DIM_SEPARATOR", {"/", "."}, 0);
    const int endian = choose(options, "@ENDIAN", {"little", "big"}, 0); // of GDAL's own tests
    e.is_column_major = layout == 1;
    e.has_dotted_keys = separator == 1;
    e.is_big_endian = endian == 1;
    return layout >= 0 && separator >= 0 && endian >= 0;
}

static bool parseNumber(CSLConstList options, const char *name, bool &has, double &out)
{
    const char *text = CSLFetchNameValue(options, name);
    char *end = nullptr;
    has = text != nullptr;
    if (!has)
        return true;
    out = CPLStrtod(text, &end);
    return (end != text && *end == '\0') || zsRefuseOption(name, "a number", text);
}

/* What elements become before they are bytes. */
bool ZSCreationOptions::ParseStored(CSLConstList options)
{
    static const enum zs_data_type types[] = {ZS_UINT8, ZS_INT8, ZS_UINT16, ZS_INT16, ZS_UINT32, ZS_INT32};
    const int packed =
        choose(options, "SCALE_OFFSET", {"NO", "YES", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32"}, 0);
    if (packed < 0 || !parseNumber(options, "SCALE", has_scale, scale) ||
        !parseNumber(options, "OFFSET", has_offset, offset))
        return false;
    scale_offset = packed > 0;
    has_packed_type = packed > 1;
    if (has_packed_type)
        packed_type = types[packed - 2];
    const char *text = CSLFetchNameValue(options, "BITROUND");
    if (text == nullptr)
        return true;
    const bool isNumber = *text != '\0' && strlen(text) < 4 && strspn(text, "0123456789") == strlen(text);
    encoding.keepbits = isNumber ? atoi(text) : 0;
    return (encoding.keepbits >= 1 && !scale_offset) ||
           zsRefuseOption("BITROUND", scale_offset ? "nothing beside SCALE_OFFSET" : "digits from 1", text);
}

static bool parseOverviews(const char *text, bool &isAuto, std::vector<int> &factors)
{
    isAuto = EQUAL(text, "AUTO") || EQUAL(text, "YES");
    if (isAuto || EQUAL(text, "NONE") || EQUAL(text, "NO"))
        return true;
    std::vector<uint64_t> numbers;
    if (!parseNumbers("OVERVIEWS", text, numbers))
        return false;
    for (const uint64_t n : numbers)
    {
        if (n < 2 || n > 1 << 20)
            return zsRefuseOption("OVERVIEWS", "AUTO, NONE, or factors from 2", text);
        factors.push_back(static_cast<int>(n));
    }
    std::sort(factors.begin(), factors.end());
    factors.erase(std::unique(factors.begin(), factors.end()), factors.end());
    return true;
}

static const std::vector<const char *> UPDATES = {"REWRITE", "APPEND", "IN_PLACE"}; // by enum zs_update

const char *zsUpdateName(enum zs_update update)
{
    return UPDATES[update];
}

bool zsParseThreads(CSLConstList options, int &threads)
{
    constexpr long MOST = 1024;
    const char *given = CSLFetchNameValue(options, "NUM_THREADS");
    const char *text = given != nullptr ? given : CPLGetConfigOption("GDAL_NUM_THREADS", "ALL_CPUS");
    const bool isAll = EQUAL(text, "ALL_CPUS");
    const bool isNumber = *text != '\0' && strspn(text, "0123456789") == strlen(text);
    const long number = isAll ? zs_cpu_count() : std::strtol(text, nullptr, 10);
    threads = static_cast<int>(std::clamp(number, 1L, MOST));
    if (given == nullptr || isAll || (isNumber && number == threads))
        return true;
    return zsRefuseOption("NUM_THREADS", "ALL_CPUS or a number from 1 to " + std::to_string(MOST), given);
}

bool zsParseUpdate(CSLConstList options, enum zs_update &update)
{
    const int way = choose(options, "UPDATE", UPDATES, ZS_UPDATE_REWRITE);
    update = static_cast<enum zs_update>(way < 0 ? ZS_UPDATE_REWRITE : way);
    return way >= 0;
}

bool ZSCreationOptions::Parse(CSLConstList given)
{
    CPLStringList known(CSLDuplicate(given));
    if (!zsTakeAliases(known))
        return false;
    const CSLConstList options = known.List();
    fsync = CPLTestBool(CPLGetConfigOption("SHARDEDZARR_FSYNC", "YES"));
    array_name = CSLFetchNameValueDef(options, "ARRAY_NAME", "");
    if (CSLFetchNameValue(options, "ARRAY_NAME") != nullptr && !zsIsArrayName(array_name))
        return zsRefuseOption("ARRAY_NAME",
                              "a name without /, not of dots alone, not beginning with __ or ovr_, not spatial_ref",
                              array_name.c_str());
    if (!parseBoolean(options, "SINGLE_ARRAY", single_array) || !parseBoolean(options, "APPEND_SUBDATASET", append) ||
        !parseBoolean(options, "OVERWRITE", overwrite) || !parseBoolean(options, "STATISTICS", statistics) ||
        !parseBoolean(options, "FSYNC", fsync) ||
        !parseBoolean(options, "CREATE_CONSOLIDATED_METADATA", consolidates) ||
        !parseBoolean(options, "CHUNK_CHECKSUM", encoding.chunk_checksum) || !zsParseUpdate(options, update))
        return false;
    const int interleave = choose(options, "INTERLEAVE", {"BAND", "PIXEL", "LINE"}, 0);
    const int chosenStyle = choose(options, "GEOREFERENCING", {"ALL", "SPATIAL_PROJ", "CF"}, 0);
    const int index = choose(options, "INDEX_LOCATION", {"END", "START"}, 0);
    chunk_order = choose(options, "CHUNK_ORDER", {"ROW_MAJOR", "MORTON", "HILBERT"}, ZS_ORDER_ROW_MAJOR);
    const int how =
        choose(options, "RESAMPLING",
               {"NEAREST", "AVERAGE", "RMS", "BILINEAR", "CUBIC", "CUBICSPLINE", "LANCZOS", "GAUSS", "MODE"}, 100);
    if (interleave < 0 || chosenStyle < 0 || index < 0 || chunk_order < 0 || how < 0)
        return false;
    pixel_interleaved = interleave == 1;
    style = static_cast<enum zs_georef_style>(chosenStyle);
    resampling = CSLFetchNameValueDef(options, "RESAMPLING", "");
    if (!parseCompression(options, encoding, blosc_shuffle) || !parseLayout(options, encoding) || !ParseStored(options))
        return false;
    encoding.index_at_start = index == 1;

    if (!zsParseThreads(options, threads))
        return false;
    const char *text = CSLFetchNameValue(options, "CHUNK_SHAPE");
    if (text != nullptr && !chunk.Parse(text))
        return false;
    if (!parseBlock(options, block_width, block_height, block_is_tile))
        return false;
    text = CSLFetchNameValue(options, "SHARD_SHAPE");
    if (text != nullptr && !EQUAL(text, "AUTO") && !shard.Parse(text))
        return false;
    text = CSLFetchNameValue(options, "DIM_NAMES");
    if (text != nullptr)
    {
        const CPLStringList names(
            CSLTokenizeString2(text, ",", CSLT_STRIPLEADSPACES | CSLT_STRIPENDSPACES | CSLT_ALLOWEMPTYTOKENS));
        for (int i = 0; i < names.size(); i++)
        {
            if (!zsIsArrayName(names[i]) || names[i] == array_name)
                return zsRefuseOption("DIM_NAMES", "names without /, other than ARRAY_NAME", text);
            if (std::find(dim_names.begin(), dim_names.end(), names[i]) != dim_names.end())
                return zsRefuseOption("DIM_NAMES", "names that differ", text);
            dim_names.push_back(names[i]);
        }
    }
    return parseOverviews(CSLFetchNameValueDef(options, "OVERVIEWS", "AUTO"), overviews_auto, overviews) &&
           ParseHealpix(options);
}

/* ---- Shapes ---- */

bool ZSCreationOptions::CheckRounding(const struct zs_raster_spec &spec) const
{
    const int keep = encoding.keepbits;
    const int digits = spec.dtype.type == ZS_FLOAT16   ? 10
                       : spec.dtype.type == ZS_FLOAT32 ? 23
                       : spec.dtype.type == ZS_FLOAT64 ? 52
                                                       : 0;
    if (keep > 0 && digits == 0)
        return zsRefuseOption("BITROUND", "floats", spec.dtype.name);
    if (keep > digits)
        return zsRefuseOption("BITROUND", "at most " + std::to_string(digits) + " digits for " + spec.dtype.name,
                              std::to_string(keep).c_str());
    const double nodata = keep > 0 && spec.has_nodata ? zs_dtype_to_double(&spec.dtype, spec.nodata) : 0;
    int exponent = 0, needed = 0;
    for (double rest = std::isfinite(nodata) ? 2 * std::frexp(nodata, &exponent) : 0; rest != std::floor(rest);
         needed++)
        rest *= 2;
    if (needed <= keep)
        return true;
    CPLError(CE_Failure, CPLE_IllegalArg, "BITROUND: the nodata value %.17g needs BITROUND=%d or more", nodata, needed);
    return false;
}

/* Bytes of a chunk; UINT64_MAX for more than 64 bits count. */
static uint64_t bytesOf(const std::vector<ZSDivision> &chunks, uint64_t bytes)
{
    for (const auto &c : chunks)
        bytes = c.all > UINT64_MAX / bytes ? UINT64_MAX : bytes * c.all;
    return bytes;
}

/* Chunks of all bands are smaller where bands are many, and of one band where they would be too large all the same:
 * GDAL hands on the INTERLEAVE of a source, whose chunks may have been of a few bands, or pixels. */
bool ZSCreationOptions::FitBands(const struct zs_raster_spec &spec, const std::vector<ZSDimension> &dimensions)
{
    const size_t dims = dimensions.size(), y = dims - 2, x = dims - 1;
    const bool isUsual = !chunk.IsGiven() && chunks[y].all <= USUAL_BLOCK && chunks[x].all <= USUAL_BLOCK;
    for (uint64_t side = USUAL_BLOCK; isUsual && side > MIN_BLOCK && bytesOf(chunks, spec.dtype.size) > USUAL_PIXELS;)
    {
        side /= 2;
        chunks[y].all = std::min(chunks[y].all, side);
        chunks[x].all = std::min(chunks[x].all, side);
    }
    if (!chunk.Apply(dimensions, chunks))
        return false;
    const uint64_t bytes = bytesOf(chunks, spec.dtype.size);
    if (bytes <= ZS_SHARD_BYTES || chunk.Count() >= dims)
        return true;
    for (size_t d = 0; d < y; d++)
        chunks[d].all = 1;
    CPLError(CE_Warning, CPLE_AppDefined,
             "INTERLEAVE=PIXEL: a chunk of all bands would have %llu MB: chunks are of one band, unless CHUNK_SHAPE "
             "has a number for each dimension",
             static_cast<unsigned long long>(bytes >> 20));
    return true;
}

bool ZSCreationOptions::ApplyChunks(struct zs_raster_spec &spec, std::vector<ZSDimension> &dimensions)
{
    const size_t y = dimensions.size() - 2, x = y + 1;
    const bool isStrip = !block_is_tile && block_width >= spec.width && block_height < spec.height;
    for (size_t d = 0; d < y; d++)
        chunks[d].all = pixel_interleaved ? dimensions[d].size : 1;
    chunks[y].all = std::min(isStrip ? USUAL_BLOCK : block_height, spec.height);
    chunks[x].all = std::min(isStrip ? USUAL_BLOCK : block_width, spec.width);
    if (!(pixel_interleaved ? FitBands(spec, dimensions) : chunk.Apply(dimensions, chunks)))
        return false;
    bool hasEdges;
    if (!zsTakeChunks(chunks, spec.dtype.size, shard, dimensions, spec.chunk, spec.edges, hasEdges))
        return false;
    spec.is_sharded = !hasEdges; // chunks of a shard are of one shape
    return true;
}

bool ZSCreationOptions::ApplyShards(struct zs_raster_spec &spec, const std::vector<ZSDimension> &dimensions)
{
    const size_t dims = dimensions.size(), y = dims - 2, x = dims - 1;
    uint64_t bytes = spec.dtype.size;
    for (size_t d = 0; d < dims; d++)
        bytes *= spec.chunk[d];

    // As many chunks as make about ZS_SHARD_BYTES, near to a square, and no more than there are.
    uint64_t perShard = std::max<uint64_t>(1, ZS_SHARD_BYTES / bytes), ky = 1, kx = 1;
    while (ky * kx * 2 <= perShard)
        (kx <= ky ? kx : ky) *= 2;
    for (size_t d = 0; d < dims; d++)
    {
        const uint64_t needed = (dimensions[d].size + spec.chunk[d] - 1) / spec.chunk[d];
        shards[d].all = spec.chunk[d] * std::min(d == y ? ky : d == x ? kx : 1, needed);
    }
    return shard.Apply(dimensions, shards) && zsTakeShards(shards, spec.chunk, spec.shard, spec.edges);
}

/* Many objects of a few bytes take hours where large ones take seconds: nobody wants them who has not misread an
 * option. */
static void warnOfSmallObjects(const struct zs_raster_spec &spec, const std::vector<ZSDimension> &dimensions)
{
    constexpr double MANY = 5000, FEW_BYTES = 256;
    double objects = 1, bytes = static_cast<double>(spec.dtype.size);
    for (size_t d = 0; d < dimensions.size() && spec.edges[d] == nullptr; d++)
    {
        const auto side = static_cast<double>(spec.is_sharded ? spec.shard[d] : spec.chunk[d]);
        objects *= std::ceil(static_cast<double>(dimensions[d].size) / side);
        bytes *= side;
    }
    if (objects > MANY && bytes < FEW_BYTES)
        CPLError(CE_Warning, CPLE_AppDefined,
                 "SHARD_SHAPE and CHUNK_SHAPE make %.0f objects of %.0f bytes; larger shards are written and read many "
                 "times as fast",
                 objects, bytes);
}

bool ZSCreationOptions::Apply(struct zs_raster_spec &spec)
{
    const auto y = static_cast<size_t>(spec.axis_count), x = y + 1, dims = x + 1;
    struct zs_raster_spec squares = spec; // of cells those of a face
    if (spec.healpix != nullptr)
        squares.width = squares.height = static_cast<uint64_t>(1) << spec.healpix->order;
    std::vector<ZSDimension> dimensions;
    for (size_t d = 0; d < dims; d++)
        dimensions.push_back({d == x ? squares.width : d == y ? squares.height : spec.axes[d].size, 1,
                              d == x ? "columns" : d == y ? "rows" : "bands"});
    chunks = std::vector<ZSDivision>(dims);
    shards = std::vector<ZSDivision>(dims);
    if (!ApplyChunks(squares, dimensions) || (squares.is_sharded && !ApplyShards(squares, dimensions)) ||
        (spec.healpix != nullptr && !FoldSquares(squares)))
        return false;
    if (spec.healpix == nullptr)
        warnOfSmallObjects(squares, dimensions);
    squares.width = spec.width;
    squares.height = spec.height;
    spec = squares;
    if (!NameDimensions(spec))
        return false;

    spec.encoding = EncodingOf(spec.dtype);
    spec.chunk_order = chunk_order;
    spec.style = style;
    spec.is_not_consolidated = !consolidates;

    return true;
}

struct zs_encoding ZSCreationOptions::EncodingOf(const struct zs_dtype &dtype)
{
    // What measured smallest at level 3 on scenes, terrain and classes: integers by bits (a 16-bit scene is 27 %
    // smaller than with zstd alone, by bytes 23 %), floats by bytes (terrain 27 %), single bytes as they are. Level 2
    // is written in three quarters of the time, but read in a third more, and a little larger.
    if (blosc_shuffle.empty())
    {
        const struct zs_dtype stored = encoding.is_packed ? zs_dtype_of(encoding.packed_type) : dtype;
        const bool integer = GDALDataTypeIsInteger(zsGDALType(stored.type, stored.size)) != FALSE;
        blosc_shuffle = stored.size == 1 ? "noshuffle" : integer ? "bitshuffle" : "shuffle";
    }
    struct zs_encoding e = encoding;
    e.blosc_shuffle = blosc_shuffle.c_str();
    return e;
}

void ZSCreationOptions::RenameDimensions(struct zs_raster_spec &spec, ZSSourceAxes &axes, const bool *taken)
{
    if (!dim_names.empty())
        return;
    const struct zs_axes at = zs_raster_axes(&spec);
    for (int d = 0; d < zs_raster_ndim(&spec); d++)
    {
        const char *name = d == at.x ? spec.dim_x : d == at.y ? spec.dim_y : spec.axes[d].name;
        dim_names.push_back(taken[d] ? std::string(name) + "_" + spec.arrays[0].name : name);
    }
    axes.Rename(dim_names);
    if (at.y >= 0)
        spec.dim_y = dim_names[static_cast<size_t>(at.y)].c_str();
    spec.dim_x = dim_names[static_cast<size_t>(at.x)].c_str();
}

std::vector<int> ZSCreationOptions::OverviewFactors(const struct zs_raster_spec &spec) const
{
    std::vector<int> factors = overviews;
    if (overviews_auto && spec.healpix == nullptr)
    {
        uint64_t side = std::min(spec.width, spec.height);
        const uint64_t down = spec.chunk[spec.axis_count], across = spec.chunk[spec.axis_count + 1];
        const bool isOneChunk = spec.height <= down && spec.width <= across;
        for (int f = 2; !isOneChunk && side >= std::min(down, across) && side > 1; f *= 2)
        {
            factors.push_back(f);
            side = (side + 1) / 2;
        }
    }
    // Beyond one pixel there is nothing to say.
    while (!factors.empty() && static_cast<uint64_t>(factors.back()) >= 2 * std::max(spec.width, spec.height))
        factors.pop_back();
    return factors;
}

std::string zsOverviewResampling(const std::string &asked, GDALDataset &raster)
{
    if (!asked.empty())
        return asked;
    GDALRasterBand *band = raster.GetRasterBand(1);
    return band->GetColorTable() != nullptr || band->GetCategoryNames() != nullptr ? "NEAREST" : "AVERAGE";
}
