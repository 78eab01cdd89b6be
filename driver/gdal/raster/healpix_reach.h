/* gdal/raster/healpix_reach.h: which squares of HEALPix cells a source can reach, so that the others, nearly all for a
 * small source, are never looked at. */
#ifndef ZS_GDAL_HEALPIX_REACH_H
#define ZS_GDAL_HEALPIX_REACH_H

#include <functional>
#include <vector>

#include "gdal/compat.h"

class ZSHealpixReach
{
  public:
    /* A square of the plane: of one face, or of none (-1). */
    struct Square
    {
        int face, x, y, side;
    };

    /* transformer: from pixels of the source to those of the plane, or null. Both are used here only. */
    ZSHealpixReach(GDALDataset &source, void *transformer, int order);

    /* Gives all of the plane to `take`, as squares that do not overlap: of `least` pixels a side where the source may
     * have pixels (everywhere on faces with isAll), as large as may be where it has none. False when `take` says so. */
    using Take = std::function<bool(const Square &square, bool mayReach)>;
    bool GoThrough(int least, bool isAll, const Take &take) const;

  private:
    /* Points of the unit sphere less far than `radius` from the middle, along a straight line. */
    struct Cap
    {
        double middle[3], radius;
    };
    bool FindPlaces(GDALDataset &source, void *transformer, const std::vector<double> &columns,
                    const std::vector<double> &rows, double inwards, std::vector<double> &places,
                    double *apart) const;
    bool MayReach(const Square &square) const;
    bool Descend(const Square &square, int least, bool isAll, const Take &take) const;

    const int m_side; // of a face
    bool m_isKnown = false; // else any square may be reached
    std::vector<Cap> m_caps; // the source lies within these
};

#endif
