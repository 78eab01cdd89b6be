#include "part.h"

#include <algorithm>

namespace
{
class PartBand : public GDALRasterBand
{
    GDALRasterBand &m_band;
    const ZSBox m_box, m_inner;

    CPLErr Write(int x, int y, int width, int height, void *data, GDALDataType type, GSpacing pixelSpace,
                 GSpacing lineSpace)
    {
        const int left = std::max(m_box.x + x, m_inner.x),
                  right = std::min(m_box.x + x + width, m_inner.x + m_inner.width);
        const int top = std::max(m_box.y + y, m_inner.y),
                  bottom = std::min(m_box.y + y + height, m_inner.y + m_inner.height);
        if (left >= right || top >= bottom)
            return CE_None;
        auto from = static_cast<char *>(data) + (left - m_box.x - x) * pixelSpace + (top - m_box.y - y) * lineSpace;
        return m_band.RasterIO(GF_Write, left, top, right - left, bottom - top, from, right - left, bottom - top, type,
                               pixelSpace, lineSpace, nullptr);
    }

  protected:
    CPLErr IReadBlock(int column, int row, void *data) override
    {
        const int x = column * nBlockXSize, y = row * nBlockYSize;
        const int width = std::min(nBlockXSize, nRasterXSize - x), height = std::min(nBlockYSize, nRasterYSize - y);
        const GSpacing item = GDALGetDataTypeSizeBytes(eDataType);
        return m_band.RasterIO(GF_Read, m_box.x + x, m_box.y + y, width, height, data, width, height, eDataType, item,
                               item * nBlockXSize, nullptr);
    }
    CPLErr IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth, int bufHeight,
                     GDALDataType type, GSpacing pixelSpace, GSpacing lineSpace, GDALRasterIOExtraArg *extra) override
    {
        if (width != bufWidth || height != bufHeight)
            return GDALRasterBand::IRasterIO(flag, x, y, width, height, data, bufWidth, bufHeight, type, pixelSpace,
                                             lineSpace, extra);
        if (flag == GF_Write)
            return Write(x, y, width, height, data, type, pixelSpace, lineSpace);
        return m_band.RasterIO(GF_Read, m_box.x + x, m_box.y + y, width, height, data, width, height, type, pixelSpace,
                               lineSpace, nullptr);
    }

  public:
    PartBand(GDALDataset *part, int number, GDALRasterBand &band, const ZSBox &box, const ZSBox &inner)
        : m_band(band), m_box(box), m_inner(inner)
    {
        poDS = part;
        nBand = number;
        eDataType = band.GetRasterDataType();
        nRasterXSize = box.width;
        nRasterYSize = box.height;
        band.GetBlockSize(&nBlockXSize, &nBlockYSize);
    }
    double GetNoDataValue(int *has) override
    {
        return m_band.GetNoDataValue(has);
    }
    int64_t GetNoDataValueAsInt64(int *has) override
    {
        return m_band.GetNoDataValueAsInt64(has);
    }
    uint64_t GetNoDataValueAsUInt64(int *has) override
    {
        return m_band.GetNoDataValueAsUInt64(has);
    }
    GDALColorInterp GetColorInterpretation() override
    {
        return m_band.GetColorInterpretation();
    }
    GDALColorTable *GetColorTable() override
    {
        return m_band.GetColorTable();
    }
};
} // namespace

ZSPart::ZSPart(GDALDataset &whole, const ZSBox &box, const ZSBox &inner)
{
    nRasterXSize = box.width;
    nRasterYSize = box.height;
    eAccess = GA_Update;
    for (int b = 1; b <= whole.GetRasterCount(); b++)
        SetBand(b, new PartBand(this, b, *whole.GetRasterBand(b), box, inner));
}
