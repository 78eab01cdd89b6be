/* gdal/raster/packing.h: the option SCALE_OFFSET: pixels in physical units that are stored as the integers which a
 * scale and an offset name, by the codecs scale_offset and cast_value. */
#ifndef ZS_GDAL_PACKING_H
#define ZS_GDAL_PACKING_H

#include "gdal/creation_options.h"

class ZSPacking
{
    bool m_isUsed = false;
    /* Of the source's pixels, where they are integers: element / factor + offset is the physical value. */
    bool m_unpacks = false;
    float m_factor = 1, m_offset = 0;
    double m_factor64 = 1, m_offset64 = 0;
    bool m_hasNodata = false;
    double m_nodata = 0;

    bool Choose(const ZSCreationOptions &options, GDALDataType source, struct zs_encoding &e, GDALDataType &type);

  public:
    bool IsUsed() const
    {
        return m_isUsed;
    }

    /* Decides how pixels of `type`, which becomes that of the new raster, are stored: into the encoding of the options.
     * `source` may be null (Create). False (CPLError emitted) where it cannot be. Does nothing without the option. */
    bool Start(ZSCreationOptions &options, GDALDataset *source, GDALDataType &type);

    /* The fill value, NaN or the offset, and what bands mean no longer: scale, offset, statistics. */
    void Finish(struct zs_raster_spec &spec, std::vector<struct zs_meaning> &bands) const;

    /* n pixels of the new raster's type that are the source's numbers: makes them physical values, NaN where there is
     * none. */
    void Unpack(void *pixels, GDALDataType type, size_t n) const;
};

#endif
