/* gdal/shape_option.h: the values of CHUNK_SHAPE and SHARD_SHAPE: for each dimension the length of all chunks, or in
 * brackets that of each; there [256,4] is 256 four times, as in the configuration of a rectilinear grid. */
#ifndef ZS_GDAL_SHAPE_OPTION_H
#define ZS_GDAL_SHAPE_OPTION_H

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "options.h"

extern "C"
{
#include "zarr/chunk_grid.h"
}

/* Appends positive integers that commas, or x, separate. False when there is something else, or nothing. */
bool zsParseNumbers(const char *text, std::vector<uint64_t> &out);

/* So many chunks, one after the other, of one length. */
struct ZSRun
{
    uint64_t length, count;
};

/* The lengths of one dimension: one for all chunks, or a list with that of each, which may all be equal. */
struct ZSLengths
{
    bool is_list = false;
    std::vector<ZSRun> runs;
};

/* The division of a dimension: length `all`, or where lengths differ `edges`, of which `all` is the longest. */
struct ZSDivision
{
    uint64_t all = 0;
    std::unique_ptr<struct zs_edges, decltype(&free)> edges{nullptr, free};
};

/* A dimension of the raster, and what its lengths are multiples of: 1, or an inner chunk's. */
struct ZSDimension
{
    uint64_t size, unit;
    const char *what; /* "rows" */
};

/* Near this many decoded bytes per shard: few enough objects, and still few enough bytes to rewrite when one
 * changes. */
constexpr uint64_t ZS_SHARD_BYTES = 64 << 20;

/* A shape option as it was given. */
class ZSShapeOption
{
    const char *m_name;
    std::vector<ZSLengths> m_lengths;

    bool Divide(const ZSLengths &lengths, const ZSDimension &dimension, ZSDivision &division) const;

  public:
    explicit ZSShapeOption(const char *name) : m_name(name)
    {
    }

    bool IsGiven() const
    {
        return !m_lengths.empty();
    }
    /* Number of dimensions that the option is for: one length stands for two. */
    size_t Count() const
    {
        return m_lengths.size() == 1 ? 2 : m_lengths.size();
    }

    /* False (CPLError emitted) when the text is no shape. */
    bool Parse(const char *text);

    /* Divides the last of the dimensions; one entry is for the last two, or the only one. The others stay as they are.
     * False (CPLError emitted) when there are more entries than dimensions, lengths are no multiples of the unit, or
     * those of a list do not add up to the size, rounded up to whole units. */
    bool Apply(const std::vector<ZSDimension> &dimensions, std::vector<ZSDivision> &divisions) const;
};

/* Takes chunks as the shape of an array of `item` bytes an element, and as what shards are multiples of; their edges
 * are borrowed. False (CPLError emitted) where a chunk is too large, or lengths differ and shards were asked for by
 * `shard`. */
bool zsTakeChunks(const std::vector<ZSDivision> &chunks, size_t item, const ZSShapeOption &shard,
                  std::vector<ZSDimension> &dimensions, uint64_t *shape, const struct zs_edges **edges,
                  bool &hasEdges);
/* The usual shards of such chunks: as many as make about ZS_SHARD_BYTES, and no more than there are; of the last two
 * dimensions, near to a square, then of those before. */
void zsUsualShards(const std::vector<ZSDimension> &dimensions, size_t item, std::vector<ZSDivision> &shards);
/* Like zsTakeChunks(), for shards of such chunks. False (CPLError emitted) where a shard has too many chunks. */
bool zsTakeShards(const std::vector<ZSDivision> &shards, const uint64_t *chunk, uint64_t *shape,
                  const struct zs_edges **edges);

#endif
