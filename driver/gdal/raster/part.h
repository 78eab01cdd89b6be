/* gdal/raster/part.h: a part of a raster as a raster of its own, without a copy of its pixels. */
#ifndef ZS_GDAL_PART_H
#define ZS_GDAL_PART_H

#include "gdal/compat.h"

struct ZSBox
{
    int x, y, width, height;
};

/* All bands of the part `box` of `whole`, which must outlive it. What is written outside of `inner`, in the same pixels
 * as `box`, is dropped. */
class ZSPart : public GDALDataset
{
  public:
    ZSPart(GDALDataset &whole, const ZSBox &box, const ZSBox &inner);
};

#endif
