/* gdal/raster/dataset_pixels.h: pixels of a dataset: windows of its bands, read and written. Knows whether pixels of a
 * new raster were written, and makes its nodata value the fill value until then. */
#ifndef ZS_GDAL_DATASET_PIXELS_H
#define ZS_GDAL_DATASET_PIXELS_H

#include <array>

#include "gdal/compat.h"
#include "new_arrays.h"
#include "view.h"

extern "C"
{
#include "raster/pixels.h"
}

class ShardedZarrDataset;

class ZSPixels
{
    ShardedZarrDataset &m_dataset;
    ZSView &m_view;
    bool m_isBlank = false;  /* made by Create(), and not written to: a nodata value may still become the fill value */
    bool m_isPacked = false; /* made by Create(), with values stored as integers, one of which is NaN */
    std::array<unsigned char, ZS_MAX_ITEM_SIZE> m_blankFill = {}; /* the fill value that Create() gave it */
    bool m_isWritten = false;
    bool m_hasLost = false; /* pixels could not be written */

    ZSFilterOfFirst m_firstFilter;

    CPLErr ApplyFillValue();
    /* Sets the filter of blosc by the first window that is written, before it is. */
    CPLErr ChooseFilter(const struct zs_band_window &window, GDALDataType type);
    /* Takes the array of another node in the place of the one that Create() made. */
    CPLErr OpenReplaced(const struct zs_node *node);
    /* Gives a window, and how its elements are converted, to zs_pixels_write() or to a function like it. */
    using StoreFunction = decltype(&zs_pixels_write);
    CPLErr PassWindow(const struct zs_band_window &window, GDALDataType type, StoreFunction store);
    CPLErr PassBandByBand(const struct zs_band_window &window, GDALDataType type, StoreFunction store);
    /* Reads a window into a buffer of another size, taking the nearest pixels as GDAL does, as one plan rather than
     * block by block. Returns false when GDAL must read: other resamplings, windows too large to hold. */
    bool ReadNearest(const struct zs_band_window &window, int bufWidth, int bufHeight, GDALDataType type,
                     GDALRasterIOExtraArg *extra, CPLErr &result);

  public:
    ZSPixels(ShardedZarrDataset &dataset, ZSView &view) : m_dataset(dataset), m_view(view)
    {
    }

    /* Reads or writes a window of as many pixels as the buffer has. CE_Failure with CPLError emitted, as below. */
    CPLErr Read(const struct zs_band_window &window, GDALDataType type);
    CPLErr Write(const struct zs_band_window &window, GDALDataType type);
    /* Like Read() and Write(); with a progress function in pieces, until it cancels. */
    CPLErr Move(GDALRWFlag flag, const struct zs_band_window &window, GDALDataType type,
                const GDALRasterIOExtraArg *extra);

    /* Returns whether GDAL will read this window from an overview. */
    bool IsForOverview(int x, int y, int width, int height, int bufWidth, int bufHeight, GDALRasterIOExtraArg *extra);
    /* Reads from the overview that GDAL would take, all bands together. Returns false when GDAL would take none, or one
     * that is not in the store. */
    bool ReadOverview(int x, int y, int width, int height, void *data, int bufWidth, int bufHeight, GDALDataType type,
                      int bandCount, BANDMAP_TYPE bands, GSpacing pixelSpace, GSpacing lineSpace, GSpacing bandSpace,
                      GDALRasterIOExtraArg *extra, CPLErr &result);
    /* Reads a window into a buffer of another size where this driver is quicker than GDAL. Returns false when GDAL must
     * read, block by block: then the chunks of the window are in the cache, unless it is an overview's or in update
     * mode. */
    bool ReadResampled(const struct zs_band_window &window, int bufWidth, int bufHeight, GDALDataType type,
                       GDALRasterIOExtraArg *extra, CPLErr &result);
    /* Loads the chunks of a window into the cache, for reads that come block by block. */
    CPLErr Prefetch(const struct zs_band_window &window);
    /* Finds the HEALPix cells of the pixels, if the view shows cells. */
    enum zs_status PrepareCells(struct zs_error *err);

    /* Whether the view shows cells, and has an element for each. */
    bool HasAllCells();
    /* Which pixels of a band are cells: 255, else 0. */
    CPLErr ReadCellMask(int band, int x, int y, int width, int height, unsigned char *mask, int lineSpace);

    /* Notes that the raster is new, and has only fill values. */
    void SetBlank(bool isPacked);
    ZSFilterOfFirst &FirstFilter()
    {
        return m_firstFilter;
    }
    bool IsBlank() const
    {
        return m_isBlank;
    }
    bool IsNewAndPacked() const
    {
        return m_isPacked && !m_isWritten;
    }
    bool IsWritten() const
    {
        return m_isWritten;
    }
    bool HasLost() const
    {
        return m_hasLost;
    }
    /* Makes the nodata value the fill value of a blank raster whose properties are about to be published. */
    CPLErr FlushFillValue(bool arePropertiesPending);
};

#endif
