/* gdal/raster/window_dataset.h: rasters and bands that show some of the pixels of another. */
#pragma once

#include "gdal/compat.h"

/* A band with some pixels of another, which it borrows: it has the type, nodata value and colour of that. */
class ZSPartialBand : public GDALRasterBand
{
  protected:
    GDALRasterBand &m_of;

    explicit ZSPartialBand(GDALRasterBand &of) : m_of(of)
    {
        eDataType = of.GetRasterDataType();
    }

  public:
    double GetNoDataValue(int *has) override
    {
        return m_of.GetNoDataValue(has);
    }
    int64_t GetNoDataValueAsInt64(int *has) override
    {
        return m_of.GetNoDataValueAsInt64(has);
    }
    uint64_t GetNoDataValueAsUInt64(int *has) override
    {
        return m_of.GetNoDataValueAsUInt64(has);
    }
    GDALColorInterp GetColorInterpretation() override
    {
        return m_of.GetColorInterpretation();
    }
};

struct ZSPixelWindow
{
    int x, y, width, height;
};

/* All bands of the window `box` of `whole`, without a copy of its pixels, except those that were read last of a band
 * with nodata. Writes outside of `inner` are dropped. */
class ZSWindowDataset final : public GDALDataset
{
  public:
    ZSWindowDataset(GDALDataset &whole, const ZSPixelWindow &box, const ZSPixelWindow &inner);
    /* One band alone, all of it. */
    ZSWindowDataset(GDALDataset &whole, int band);
};
