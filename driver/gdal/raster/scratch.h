/* gdal/raster/scratch.h: pixels of a source that delivers them map by map, for who needs them chunk by chunk. */
#ifndef ZS_GDAL_SCRATCH_H
#define ZS_GDAL_SCRATCH_H

#include <string>

#include "gdal/compat.h"

/* A file without a name that holds some bands of a source as they are: each block of the source is decoded once, in one
 * pass over it, however many windows are read afterwards. It is gone with the process, however that ends. */
class ZSScratch
{
    GDALDataset &m_source;
    GDALDataType m_type;
    int m_file = -1;
    int m_band = 0; /* the first it holds, from 0 */

  public:
    ZSScratch(GDALDataset &source, GDALDataType type) : m_source(source), m_type(type)
    {
    }
    ~ZSScratch();
    ZSScratch(const ZSScratch &) = delete;
    ZSScratch &operator=(const ZSScratch &) = delete;

    bool IsOpen() const
    {
        return m_file >= 0;
    }
    /* In a directory, or that of temporary files where it is none of a local disk. False where it cannot be made. */
    bool Open(const std::string &folder);
    /* Takes a band (from 0) from the source, as one of those from `first` on, in the place of what was there. False
     * with CPLError emitted. */
    bool Take(int first, int band);
    /* A window of some of these bands (the first from 0), dense. False with CPLError emitted. */
    bool Read(int band, int bands, int x, int y, int columns, int rows, unsigned char *pixels) const;
};

#endif
