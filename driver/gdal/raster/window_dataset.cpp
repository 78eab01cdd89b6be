#include "window_dataset.h"

#include <algorithm>
#include <memory>
#include <new>

using Window = ZSPixelWindow;

namespace
{
bool isWithin(const Window &a, const Window &b)
{
    return a.x >= b.x && a.y >= b.y && a.x + a.width <= b.x + b.width && a.y + a.height <= b.y + b.height;
}

class WindowBand final : public ZSPartialBand
{
    const Window m_box, m_inner;
    std::unique_ptr<unsigned char[]> m_kept; /* pixels of the window that was read last, dense */
    size_t m_room = 0; /* bytes there */
    Window m_keptAt = {};

    bool Reserve(size_t size)
    {
        if (size <= m_room)
            return true;
        m_kept.reset(); // before the next is there
        m_kept.reset(new (std::nothrow) unsigned char[size]);
        m_room = m_kept != nullptr ? size : 0;
        return m_kept != nullptr;
    }
    /* GDAL makes the mask of a nodata value by reading the pixels once more, as another type: they are decoded once. */
    CPLErr ReadOnce(const Window &at, void *data, GDALDataType type, GSpacing pixelSpace, GSpacing lineSpace)
    {
        const int item = GDALGetDataTypeSizeBytes(eDataType);
        if (!isWithin(at, m_keptAt))
        {
            m_keptAt = {};
            if (!Reserve(static_cast<size_t>(item) * static_cast<size_t>(at.width) * static_cast<size_t>(at.height)))
                return m_of.RasterIO(GF_Read, at.x, at.y, at.width, at.height, data, at.width, at.height, type,
                                       pixelSpace, lineSpace, nullptr);
            if (m_of.RasterIO(GF_Read, at.x, at.y, at.width, at.height, m_kept.get(), at.width, at.height, eDataType,
                                0, 0, nullptr) != CE_None)
                return CE_Failure;
            m_keptAt = at;
        }
        const auto line = static_cast<ptrdiff_t>(item) * m_keptAt.width;
        const unsigned char *from =
            m_kept.get() + line * (at.y - m_keptAt.y) + static_cast<ptrdiff_t>(item) * (at.x - m_keptAt.x);
        for (int y = 0; y < at.height; y++)
            GDALCopyWords64(from + line * y, eDataType, item, static_cast<char *>(data) + lineSpace * y, type,
                            static_cast<int>(pixelSpace), at.width);
        return CE_None;
    }

    CPLErr Write(int x, int y, int width, int height, void *data, GDALDataType type, GSpacing pixelSpace,
                 GSpacing lineSpace)
    {
        m_keptAt = {};
        const int left = std::max(m_box.x + x, m_inner.x),
                  right = std::min(m_box.x + x + width, m_inner.x + m_inner.width);
        const int top = std::max(m_box.y + y, m_inner.y),
                  bottom = std::min(m_box.y + y + height, m_inner.y + m_inner.height);
        if (left >= right || top >= bottom)
            return CE_None;
        auto from = static_cast<char *>(data) + (left - m_box.x - x) * pixelSpace + (top - m_box.y - y) * lineSpace;
        return m_of.RasterIO(GF_Write, left, top, right - left, bottom - top, from, right - left, bottom - top, type,
                               pixelSpace, lineSpace, nullptr);
    }

  protected:
    CPLErr IReadBlock(int column, int row, void *data) override
    {
        const int x = column * nBlockXSize, y = row * nBlockYSize;
        const int width = std::min(nBlockXSize, nRasterXSize - x), height = std::min(nBlockYSize, nRasterYSize - y);
        const GSpacing item = GDALGetDataTypeSizeBytes(eDataType);
        return m_of.RasterIO(GF_Read, m_box.x + x, m_box.y + y, width, height, data, width, height, eDataType, item,
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
        if (m_of.GetMaskFlags() == GMF_NODATA)
            return ReadOnce({m_box.x + x, m_box.y + y, width, height}, data, type, pixelSpace, lineSpace);
        return m_of.RasterIO(GF_Read, m_box.x + x, m_box.y + y, width, height, data, width, height, type, pixelSpace,
                               lineSpace, nullptr);
    }

  public:
    WindowBand(GDALDataset *window, int number, GDALRasterBand &band, const Window &box, const Window &inner)
        : ZSPartialBand(band), m_box(box), m_inner(inner)
    {
        poDS = window;
        nBand = number;
        nRasterXSize = box.width;
        nRasterYSize = box.height;
        band.GetBlockSize(&nBlockXSize, &nBlockYSize);
    }
    GDALColorTable *GetColorTable() override
    {
        return m_of.GetColorTable();
    }
};
} // namespace

ZSWindowDataset::ZSWindowDataset(GDALDataset &whole, int band)
{
    nRasterXSize = whole.GetRasterXSize();
    nRasterYSize = whole.GetRasterYSize();
    const Window all = {0, 0, nRasterXSize, nRasterYSize};
    SetBand(band, new WindowBand(this, band, *whole.GetRasterBand(band), all, all));
}

ZSWindowDataset::ZSWindowDataset(GDALDataset &whole, const Window &box, const Window &inner)
{
    nRasterXSize = box.width;
    nRasterYSize = box.height;
    eAccess = GA_Update;
    for (int b = 1; b <= whole.GetRasterCount(); b++)
        SetBand(b, new WindowBand(this, b, *whole.GetRasterBand(b), box, inner));
}
