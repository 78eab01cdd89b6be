/* gdal/multidim/mdim_options.h: the creation options of the multidimensional API: those of rasters that mean
 * something there. */
#ifndef ZS_GDAL_MDIM_OPTIONS_H
#define ZS_GDAL_MDIM_OPTIONS_H

#include "gdal/creation_options.h"

/* Warns of options, in this driver's words, that are of rasters alone: a copy through the multidimensional API takes
 * the same list. */
void zsWarnOfRasterOptions(CSLConstList options);

/* How a new array of any rank is laid out. */
class ZSMdimArrayOptions
{
    ZSCreationOptions m_options;
    std::vector<ZSDimension> m_dimensions;
    std::vector<ZSDivision> m_chunks, m_shards; /* what the spec's edges are borrowed from */
    std::vector<std::string> m_names;
    bool m_isCoordinate, m_hasCompression = false;

    bool ApplyChunks(struct zs_array_spec &spec);
    bool ApplyShards(struct zs_array_spec &spec);
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
        return m_options.chunk.IsGiven() || m_options.shard.IsGiven();
    }
    bool HasCompression() const
    {
        return m_hasCompression;
    }
    int ChunkOrder() const
    {
        return m_options.chunk_order;
    }
};

#endif
