#include "creation_options.h"

#include <algorithm>
#include <cmath>

#include "gdal/handles.h"
#include "gdal/types.h"

extern "C"
{
#include "geo/coordinates.h"
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

bool ZSShapeOption::Parse(const char *text)
{
    return zsParseNumbers(text, m_lengths) || zsRefuseOption(m_name, "positive integers separated by commas", text);
}

bool ZSShapeOption::Apply(const std::vector<ZSDimension> &dimensions, std::vector<uint64_t> &lengths) const
{
    const size_t dims = dimensions.size(), given = m_lengths.size();
    if (given > dims)
        return zsRefuseOption(m_name, "at most " + std::to_string(dims) + " numbers", std::to_string(given).c_str());
    const size_t first = dims - (given == 1 ? std::min<size_t>(2, dims) : given);
    for (size_t d = first; d < dims; d++)
    {
        const uint64_t n = given == 1 ? m_lengths[0] : m_lengths[d - first];
        const uint64_t unit = dimensions[d].unit, less = n / unit * unit;
        lengths[d] = n;
        if (n == less)
            continue;
        const std::string near = (less > 0 ? std::to_string(less) + " or " : "") + std::to_string(less + unit);
        const std::string multiple = "a multiple of the chunk's " + std::to_string(unit) + " " + dimensions[d].what;
        return zsRefuseOption(m_name, multiple + " (" + near + " would do)", std::to_string(n).c_str());
    }
    return true;
}

/* ---- What chunks and shards may be ---- */

/* Most decoded bytes of a chunk: all libraries take it, and readers must hold some of them. */
constexpr uint64_t MAX_CHUNK_BYTES = 1 << 30;
/* An index of more entries is 16 MB, which each reader of the shard fetches. */
constexpr uint64_t MAX_CHUNKS_PER_SHARD = 1 << 20;

bool zsTakeChunks(const std::vector<uint64_t> &chunks, size_t item, std::vector<ZSDimension> &dimensions,
                  uint64_t *shape)
{
    uint64_t bytes = item;
    for (size_t d = 0; d < chunks.size(); d++)
    {
        const uint64_t n = chunks[d];
        if (n > MAX_CHUNK_BYTES || bytes * n > MAX_CHUNK_BYTES)
            return zsRefuseOption("CHUNK_SHAPE", "a chunk of at most 1 GiB", "more");
        bytes *= n;
        shape[d] = dimensions[d].unit = n;
    }
    return true;
}

void zsUsualShards(const std::vector<ZSDimension> &dimensions, size_t item, std::vector<uint64_t> &shards)
{
    const size_t dims = dimensions.size();
    std::vector<uint64_t> chunks(dims, 1);
    uint64_t bytes = item, all = 1;
    for (const auto &dimension : dimensions)
        bytes *= dimension.unit;
    const uint64_t most = std::max<uint64_t>(1, ZS_SHARD_BYTES / bytes);
    const auto grow = [&](size_t d) {
        const uint64_t needed = (dimensions[d].size + dimensions[d].unit - 1) / dimensions[d].unit;
        const uint64_t more = std::min(2 * chunks[d], needed);
        if (more <= chunks[d] || all / chunks[d] * more > most)
            return false;
        all = all / chunks[d] * more;
        chunks[d] = more;
        return true;
    };
    const size_t x = dims - 1, y = dims > 1 ? dims - 2 : x;
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
    for (size_t d = 0; d < dims; d++)
        shards[d] = dimensions[d].unit * chunks[d];
}

bool zsTakeShards(const std::vector<uint64_t> &shards, const uint64_t *chunk, uint64_t *shape)
{
    uint64_t count = 1;
    for (size_t d = 0; d < shards.size(); d++)
    {
        count *= std::min(shards[d] / chunk[d], MAX_CHUNKS_PER_SHARD + 1);
        if (count > MAX_CHUNKS_PER_SHARD)
        {
            const std::string most = std::to_string(MAX_CHUNKS_PER_SHARD);
            return zsRefuseOption("SHARD_SHAPE", "at most " + most + " chunks in a shard", "more");
        }
        shape[d] = shards[d];
    }
    return true;
}

/* ---- All options ---- */

/* What a chunk holds by default at most: 512 x 512 pixels of 64 bytes. */
constexpr uint64_t USUAL_BYTES = 16 << 20;

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
    return zsRefuse(CPLE_IllegalArg, "BITROUND: the nodata value %.17g needs BITROUND=%d or more", nodata, needed);
}

bool ZSCreationOptions::ApplyChunks(struct zs_raster_spec &spec, std::vector<ZSDimension> &dimensions)
{
    const size_t y = dimensions.size() - 2, x = y + 1;
    const bool isStrip = !profile_is_tiled && profile_width >= spec.width && profile_height < spec.height;
    const bool isBlock =
        !profile_is_striped && !isStrip && std::min(profile_width, profile_height) >= MIN_BLOCK;
    uint64_t depth = spec.dtype.size, side = USUAL_BLOCK;
    for (size_t d = 0; d < y; d++)
        depth *= chunks[d] = pixel_interleaved ? dimensions[d].size : 1;
    // Chunks of all bands are smaller where bands are many: GDAL hands on the INTERLEAVE of a source.
    while (side > MIN_BLOCK && depth * std::min(side, spec.height) * std::min(side, spec.width) > USUAL_BYTES)
        side /= 2;
    chunks[y] = std::min(isBlock ? profile_height : side, spec.height);
    chunks[x] = std::min(isBlock ? profile_width : side, spec.width);
    return chunk.Apply(dimensions, chunks) && zsTakeChunks(chunks, spec.dtype.size, dimensions, spec.chunk);
}

bool ZSCreationOptions::ApplyShards(struct zs_raster_spec &spec, const std::vector<ZSDimension> &dimensions)
{
    zsUsualShards(dimensions, spec.dtype.size, shards);
    for (size_t d = 0; d < dimensions.size() && shard.IsGiven(); d++) // dimensions that it leaves out are not grouped
        shards[d] = dimensions[d].unit;
    return shard.Apply(dimensions, shards) && zsTakeShards(shards, spec.chunk, spec.shard);
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
    chunks.assign(dims, 0);
    shards.assign(dims, 0);
    if (!ApplyChunks(squares, dimensions) || !ApplyShards(squares, dimensions) ||
        (spec.healpix != nullptr && !FoldSquares(squares)))
        return false;
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
        const bool integer = GDALDataTypeIsInteger(zsGDALType(dtype.type, dtype.size)) != FALSE;
        blosc_shuffle = dtype.size == 1 ? "noshuffle" : integer ? "bitshuffle" : "shuffle";
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

/* The side of a square of cells; 0 where it is none. */
static uint64_t sideOf(uint64_t rows, uint64_t columns)
{
    return rows == columns && (rows & (rows - 1)) == 0 ? rows : 0;
}

bool ZSCreationOptions::FoldSquares(struct zs_raster_spec &spec)
{
    const int y = spec.axis_count, x = y + 1;
    if (sideOf(spec.chunk[y], spec.chunk[x]) == 0)
        return zsRefuseOption("CHUNK_SHAPE", "for HEALPix cells a power of two, the side of a square",
                              std::to_string(spec.chunk[x]).c_str());
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
    spec.dim_x = !dim_names.empty() ? dim_names.back().c_str() : isCells ? "cells" : name_of_x.c_str();
    spec.dim_y = isCells ? nullptr : dim_names.empty() ? name_of_y.c_str() : dim_names[dim_names.size() - 2].c_str();
    if (spec.dim_y != nullptr && (zs_name_axis(spec.dim_x) == 'Y' || zs_name_axis(spec.dim_y) == 'X'))
        return zsRefuseOption("DIM_NAMES", "the name of Y before that of X",
                              (std::string(spec.dim_y) + "," + spec.dim_x).c_str());
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
