#include "creation_options.h"

#include "types.h"

#include <algorithm>
#include <cmath>

extern "C"
{
#include "shard/writer.h"
}

/* About what a chunk of all bands holds by default: 512 x 512 pixels of 64 bytes. */
constexpr uint64_t USUAL_PIXELS = 16 << 20;
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
    const bool isBlock = !profile_is_striped && std::min(profile_width, profile_height) >= MIN_BLOCK;
    const bool isStrip = !profile_is_tiled && profile_width >= spec.width && profile_height < spec.height;
    for (size_t d = 0; d < y; d++)
        chunks[d].all = pixel_interleaved ? dimensions[d].size : 1;
    chunks[y].all = std::min(isBlock && !isStrip ? profile_height : USUAL_BLOCK, spec.height);
    chunks[x].all = std::min(isBlock && !isStrip ? profile_width : USUAL_BLOCK, spec.width);
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
    zsUsualShards(dimensions, spec.dtype.size, shards);
    for (size_t d = 0; d < dimensions.size() && shard.IsGiven(); d++) // dimensions that it leaves out are not grouped
        shards[d].all = dimensions[d].unit;
    return shard.Apply(dimensions, shards) && zsTakeShards(shards, spec.chunk, spec.shard, spec.edges);
}

/* Warns of many objects of a few bytes: they take hours where large ones take seconds, and come from a misread
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
    // What measured smallest on scenes, terrain and classes: integers by bits (a 16-bit scene is 27 % smaller than
    // with zstd alone, by bytes 23 %), floats by bytes (terrain 27 %), single bytes as they are.
    guesses_shuffle = blosc_shuffle.empty();
    if (guesses_shuffle)
    {
        const struct zs_dtype stored = encoding.is_packed ? zs_dtype_of(encoding.packed_type) : dtype;
        const bool integer = GDALDataTypeIsInteger(zsGDALType(stored.type, stored.size)) != FALSE;
        blosc_shuffle = stored.size == 1 ? "noshuffle" : integer ? "bitshuffle" : "shuffle";
    }
    struct zs_encoding e = encoding;
    e.blosc_cname = blosc_cname.c_str();
    e.blosc_shuffle = blosc_shuffle.c_str();
    return e;
}

bool ZSCreationOptions::RenameDimensions(struct zs_raster_spec &spec, const bool *taken)
{
    if (!dim_names.empty())
        return false;
    const struct zs_axes at = zs_raster_axes(&spec);
    for (int d = 0; d < zs_raster_ndim(&spec); d++)
    {
        const char *name = d == at.x ? spec.dim_x : d == at.y ? spec.dim_y : spec.axes[d].name;
        dim_names.push_back(taken[d] ? std::string(name) + "_" + spec.arrays[0].name : name);
    }
    if (at.y >= 0)
        spec.dim_y = dim_names[static_cast<size_t>(at.y)].c_str();
    spec.dim_x = dim_names[static_cast<size_t>(at.x)].c_str();
    return true;
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

/* ---- HEALPix cells: one dimension in the place of two ---- */

/* The side of a square of cells; 0 where it is none. */
static uint64_t sideOf(uint64_t rows, uint64_t columns)
{
    return rows == columns && (rows & (rows - 1)) == 0 ? rows : 0;
}

bool ZSCreationOptions::FoldSquares(struct zs_raster_spec &spec)
{
    const int y = spec.axis_count, x = y + 1;
    const bool isList = spec.edges[y] != nullptr || spec.edges[x] != nullptr;
    if (isList || sideOf(spec.chunk[y], spec.chunk[x]) == 0)
        return zsRefuseOption("CHUNK_SHAPE", "for HEALPix cells a power of two, the side of a square",
                              isList ? "a list" : std::to_string(spec.chunk[x]).c_str());
    if (!shard.IsGiven()) // the default may be twice as wide as high
        spec.shard[y] = spec.shard[x] = std::min(spec.shard[y], spec.shard[x]);
    if (sideOf(spec.shard[y], spec.shard[x]) == 0)
        return zsRefuseOption("SHARD_SHAPE", "for HEALPix cells a power of two, the side of a square",
                              std::to_string(spec.shard[x]).c_str());
    const uint64_t side = static_cast<uint64_t>(1) << healpix_order;
    spec.chunk[y] = std::min(spec.chunk[y], side) * std::min(spec.chunk[x], side);
    spec.shard[y] = std::min(spec.shard[y], side) * std::min(spec.shard[x], side);
    spec.chunk[x] = spec.shard[x] = 0;
    return true;
}

bool ZSCreationOptions::NameDimensions(struct zs_raster_spec &spec)
{
    const struct zs_axes axes = zs_raster_axes(&spec);
    const auto dims = static_cast<size_t>(zs_raster_ndim(&spec));
    if (!dim_names.empty() && dim_names.size() != dims)
    {
        const std::string names = dims == 1   ? "one name"
                                  : dims == 2 ? "two names"
                                  : dims == 3 ? "three names"
                                              : std::to_string(dims) + " names";
        return zsRefuseOption("DIM_NAMES", names, std::to_string(dim_names.size()).c_str());
    }
    const bool isCells = spec.healpix != nullptr;
    spec.dim_x = !dim_names.empty() ? dim_names.back().c_str() : isCells ? "cells" : "x";
    spec.dim_y = isCells ? nullptr : dim_names.empty() ? "y" : dim_names[dim_names.size() - 2].c_str();
    for (size_t d = 0; d < dims; d++)
    {
        const int dim = static_cast<int>(d);
        const char *name = dim == axes.x ? spec.dim_x : dim == axes.y ? spec.dim_y : spec.axes[d].name;
        if (array_name == name)
            return zsRefuseOption("ARRAY_NAME", "a name other than that of a dimension, for which there are DIM_NAMES",
                                  name);
    }
    if (isCells && (array_name == ZS_CELL_COORDINATE ||
                    std::find(dim_names.begin(), dim_names.end(), ZS_CELL_COORDINATE) != dim_names.end()))
        return zsRefuseOption("ARRAY_NAME", "a name other than that of the coordinate", ZS_CELL_COORDINATE);
    return true;
}
