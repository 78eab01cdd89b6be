#include "creation_options.h"

#include <algorithm>
#include <cmath>

#include "gdal/handles.h"
#include "gdal/types.h"

extern "C"
{
#include "geo/variables.h"
}

/* ---- Shapes ---- */

bool zsParseNumbers(const char *text, std::vector<uint64_t> &out)
{
    const int flags = CSLT_STRIPLEADSPACES | CSLT_STRIPENDSPACES | CSLT_ALLOWEMPTYTOKENS;
    const CPLStringList parts(CSLTokenizeString2(text, ",x", flags));
    for (int i = 0; i < parts.size(); i++)
    {
        const char *part = parts[i];
        if (*part == '\0' || strlen(part) > 10 || strspn(part, "0123456789") != strlen(part) || atoll(part) == 0)
            return false;
        out.push_back(static_cast<uint64_t>(atoll(part)));
    }
    return !out.empty();
}

/* Puts the lengths of an option in the place of the last ones. Each must be a multiple of `unit`, or 1 where that is
 * null. */
static bool applyShape(const char *name, const std::vector<uint64_t> &given, const std::vector<ZSDimension> &dimensions,
                       const uint64_t *unit, std::vector<uint64_t> &lengths)
{
    const size_t dims = dimensions.size(), count = given.size();
    if (count > dims)
        return zsRefuseOption(name, "at most " + std::to_string(dims) + " numbers", std::to_string(count).c_str());
    const size_t first = dims - (count == 1 ? std::min<size_t>(2, dims) : count);
    for (size_t d = first; d < dims; d++)
    {
        const uint64_t n = count == 1 ? given[0] : given[d - first];
        const uint64_t of = unit != nullptr ? unit[d] : 1, less = n / of * of;
        lengths[d] = n;
        if (n == less)
            continue;
        const std::string near = (less > 0 ? std::to_string(less) + " or " : "") + std::to_string(less + of);
        const std::string multiple = "a multiple of the chunk's " + std::to_string(of) + " " + dimensions[d].what;
        return zsRefuseOption(name, multiple + " (" + near + " would do)", std::to_string(n).c_str());
    }
    return true;
}

/* As many chunks as make about 64 MiB: few enough objects, and few enough bytes to rewrite when one changes; no more
 * than there are; of the last two dimensions, near to a square, then of those before. */
static void growShards(const std::vector<ZSDimension> &dimensions, size_t item, std::vector<uint64_t> &shards)
{
    constexpr uint64_t SHARD_BYTES = 64 << 20;
    const std::vector<uint64_t> chunk = shards;
    std::vector<uint64_t> chunks(chunk.size(), 1);
    uint64_t bytes = item, all = 1;
    for (const uint64_t length : chunk)
        bytes *= length;
    const uint64_t most = std::max<uint64_t>(1, SHARD_BYTES / bytes);
    const auto grow = [&](size_t d)
    {
        const uint64_t more = std::min(2 * chunks[d], (dimensions[d].size + chunk[d] - 1) / chunk[d]);
        if (more <= chunks[d] || all / chunks[d] * more > most)
            return false;
        all = all / chunks[d] * more;
        chunks[d] = more;
        shards[d] = chunk[d] * more;
        return true;
    };
    const size_t x = chunk.size() - 1, y = x > 0 ? x - 1 : x;
    for (bool more = true; more;)
    {
        const size_t first = chunks[x] <= chunks[y] ? x : y;
        more = grow(first) || grow(first == x ? y : x);
    }
    for (size_t d = y; d-- > 0;)
    {
        while (grow(d))
            continue;
    }
}

bool ZSCreationOptions::LayOut(const std::vector<ZSDimension> &dimensions, size_t item,
                               const std::vector<uint64_t> &usual, uint64_t *chunkShape, uint64_t *shardShape) const
{
    // Decoded chunks of all libraries, and readers must hold some; an index of 16 MB, which each reader fetches.
    constexpr uint64_t MOST_CHUNK_BYTES = 1 << 30, MOST_CHUNKS = 1 << 20;
    std::vector<uint64_t> lengths = usual;
    uint64_t bytes = item, count = 1;
    if (!applyShape("CHUNK_SHAPE", chunk, dimensions, nullptr, lengths))
        return false;
    for (const uint64_t n : lengths)
    {
        if (n > MOST_CHUNK_BYTES || bytes * n > MOST_CHUNK_BYTES)
            return zsRefuseOption("CHUNK_SHAPE", "a chunk of at most 1 GiB", "more");
        bytes *= n;
    }
    std::copy(lengths.begin(), lengths.end(), chunkShape);
    if (shardShape == nullptr)
        return true;
    if (shard.empty())
        growShards(dimensions, item, lengths);
    else if (!applyShape("SHARD_SHAPE", shard, dimensions, chunkShape, lengths))
        return false;
    for (size_t d = 0; d < lengths.size(); d++)
    {
        count *= std::min(lengths[d] / chunkShape[d], MOST_CHUNKS + 1);
        if (count > MOST_CHUNKS)
            return zsRefuseOption("SHARD_SHAPE", "at most " + std::to_string(MOST_CHUNKS) + " chunks in a shard",
                                  "more");
    }
    std::copy(lengths.begin(), lengths.end(), shardShape);
    return true;
}

/* ---- Rasters ---- */

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
    int exponent = 0;
    const double kept = std::ldexp(std::frexp(nodata, &exponent), keep + 1); // 1 is 0.5 x 2, of no digit of a fraction
    return !std::isfinite(nodata) || kept == std::floor(kept) ||
           zsRefuse(CPLE_IllegalArg, "BITROUND: the nodata value %.17g has more digits than %d", nodata, keep);
}

std::vector<uint64_t> ZSCreationOptions::UsualChunk(const struct zs_raster_spec &spec, uint64_t width,
                                                    uint64_t height) const
{
    constexpr uint64_t MIN_BLOCK = 16, USUAL_BYTES = 16 << 20; // of fewer rows it is a strip; 512 x 512 times 64 bytes
    const bool isStrip = !profile_is_tiled && profile_width >= width && profile_height < height;
    const bool isBlock = !profile_is_striped && !isStrip && std::min(profile_width, profile_height) >= MIN_BLOCK;
    uint64_t depth = spec.dtype.size, side = USUAL_BLOCK;
    std::vector<uint64_t> chunks;
    for (int d = 0; d < spec.axis_count; d++)
    {
        chunks.push_back(pixel_interleaved ? spec.axes[d].size : 1);
        depth *= chunks.back();
    }
    // Chunks of all bands are smaller where bands are many: GDAL hands on the INTERLEAVE of a source.
    while (side > MIN_BLOCK && depth * std::min(side, height) * std::min(side, width) > USUAL_BYTES)
        side /= 2;
    chunks.push_back(std::min(isBlock ? profile_height : side, height));
    chunks.push_back(std::min(isBlock ? profile_width : side, width));
    return chunks;
}

bool ZSCreationOptions::Apply(struct zs_raster_spec &spec)
{
    const bool isCells = spec.healpix != nullptr;
    const uint64_t face = isCells ? static_cast<uint64_t>(1) << spec.healpix->order : 0;
    const uint64_t width = isCells ? face : spec.width, height = isCells ? face : spec.height;
    std::vector<ZSDimension> dimensions;
    for (int d = 0; d < spec.axis_count; d++)
        dimensions.push_back({spec.axes[d].size, "bands"});
    dimensions.push_back({height, "rows"});
    dimensions.push_back({width, "columns"});
    if (!LayOut(dimensions, spec.dtype.size, UsualChunk(spec, width, height), spec.chunk, spec.shard) ||
        (isCells && !FoldSquares(spec)) || !NameDimensions(spec))
        return false;
    spec.encoding = EncodingOf(spec.dtype);
    spec.chunk_order = chunk_order;
    spec.style = style;
    spec.is_not_consolidated = !consolidates;
    return true;
}

struct zs_encoding ZSCreationOptions::EncodingOf(const struct zs_dtype &dtype) const
{
    // What measured smallest on scenes, terrain and classes: integers by bits (a 16-bit scene is 27 % smaller than
    // with zstd alone, by bytes 23 %), floats by bytes (terrain 27 %), single bytes as they are.
    const bool isInteger = GDALDataTypeIsInteger(zsGDALType(dtype.type)) != FALSE;
    struct zs_encoding e = encoding;
    if (e.blosc_shuffle == nullptr)
        e.blosc_shuffle = dtype.size == 1 ? "noshuffle" : isInteger ? "bitshuffle" : "shuffle";
    return e;
}

bool zsIsDimension(const struct zs_raster_spec &spec, const std::string &name)
{
    for (int d = 0; d < spec.axis_count; d++)
    {
        if (name == spec.axes[d].name)
            return true;
    }
    return name == spec.dim_x || (spec.dim_y != nullptr && name == spec.dim_y) ||
           (spec.healpix != nullptr && name == ZS_CELL_COORDINATE);
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
    // No levels below the first of one pixel.
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

/* ---- HEALPix cells: one dimension instead of two ---- */

bool ZSCreationOptions::FoldSquares(struct zs_raster_spec &spec) const
{
    const int y = spec.axis_count, x = y + 1;
    const uint64_t side = static_cast<uint64_t>(1) << healpix_order;
    const std::pair<const char *, uint64_t *> shapes[] = {{"CHUNK_SHAPE", spec.chunk}, {"SHARD_SHAPE", spec.shard}};
    if (shard.empty()) // the default may be twice as wide as high
        spec.shard[y] = spec.shard[x] = std::min(spec.shard[y], spec.shard[x]);
    for (const auto &[name, shape] : shapes)
    {
        if (shape[y] != shape[x] || (shape[x] & (shape[x] - 1)) != 0)
            return zsRefuseOption(name, "for HEALPix cells a power of two, the side of a square",
                                  std::to_string(shape[x]).c_str());
        shape[y] = std::min(shape[y], side) * std::min(shape[x], side);
        shape[x] = 0;
    }
    return true;
}

bool ZSCreationOptions::NameDimensions(struct zs_raster_spec &spec)
{
    const auto dims = static_cast<size_t>(zs_raster_ndim(&spec));
    if (!dim_names.empty() && dim_names.size() != dims)
        return zsRefuseOption("DIM_NAMES", std::to_string(dims) + (dims == 1 ? " name" : " names"),
                              std::to_string(dim_names.size()).c_str());
    const bool isCells = spec.healpix != nullptr;
    spec.dim_x = !dim_names.empty() ? dim_names.back().c_str() : isCells ? "cells" : name_of_x.c_str();
    spec.dim_y = isCells ? nullptr : dim_names.empty() ? name_of_y.c_str() : dim_names[dim_names.size() - 2].c_str();
    if (spec.dim_y != nullptr && (zs_name_axis(spec.dim_x) == 'Y' || zs_name_axis(spec.dim_y) == 'X'))
        return zsRefuseOption("DIM_NAMES", "the name of Y before that of X",
                              (std::string(spec.dim_y) + "," + spec.dim_x).c_str());
    if (zsIsDimension(spec, array_name))
        return zsRefuseOption("ARRAY_NAME", "a name other than that of a dimension, for which there are DIM_NAMES",
                              array_name.c_str());
    if (isCells && std::find(dim_names.begin(), dim_names.end(), ZS_CELL_COORDINATE) != dim_names.end())
        return zsRefuseOption("DIM_NAMES", "a name other than that of the coordinate", ZS_CELL_COORDINATE);
    return true;
}
