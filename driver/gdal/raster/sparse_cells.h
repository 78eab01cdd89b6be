/* gdal/raster/sparse_cells.h: statistics and histograms of HEALPix maps of which little is stored. Of a fine order
 * nearly all blocks are absent, and reading them all would take years. */
#ifndef ZS_GDAL_SPARSE_CELLS_H
#define ZS_GDAL_SPARSE_CELLS_H

#include <memory>
#include <vector>

#include "gdal/compat.h"

extern "C"
{
#include "raster/pixels.h"
}

class ShardedZarrRasterBand;

/* A band as its stored blocks, which are looked at, and the other cells, which are all alike and are counted. Each cell
 * counts once. */
class ZSSparseCells
{
  public:
    using Blocks = std::vector<struct zs_pixel_box>;

    /* Null where the band is to be read as it is: it has no cells, few blocks, or most of them are stored, or that is
     * not known. Borrows the band. */
    static std::unique_ptr<ZSSparseCells> Of(ShardedZarrRasterBand &band);

    /* found[4]: min, max, mean, deviation. CE_Failure with CPLError emitted, also where no cell is valid. Other
     * parameters, here and below, are those of GDALRasterBand. */
    CPLErr ComputeStatistics(bool isApproximate, double *found, GDALProgressFunc progress, void *progressData);
    CPLErr GetHistogram(double min, double max, int buckets, GUIntBig *histogram, int includeOutOfRange,
                        int isApproximate, GDALProgressFunc progress, void *progressData);

  private:
    ZSSparseCells() = default;
    bool ReadOther(GDALRasterBand &band, const struct zs_pixel_box &block);
    CPLErr CountValid(double &count) const;

    std::unique_ptr<GDALRasterBand> m_stored; // null: nothing is
    std::unique_ptr<GDALRasterBand> m_other;  // one block that is not stored
    double m_otherCount = 0, m_blockSize = 0; // cells
    double m_otherValue = 0;
    bool m_isOtherValid = false;
};

#endif
