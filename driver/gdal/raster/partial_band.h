/* gdal/raster/partial_band.h: what bands that show some of the pixels of another have in common. */
#ifndef ZS_GDAL_PARTIAL_BAND_H
#define ZS_GDAL_PARTIAL_BAND_H

#include "gdal/compat.h"

/* Has the type, nodata value and colour of the other band, which it borrows. */
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

#endif
