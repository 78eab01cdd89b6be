/* gdal/raster/healpix_target.h: HEALPix cells of all the sphere as what is written: the grid that a raster must
 * have, and the way there for one that has not. */
#ifndef ZS_GDAL_HEALPIX_TARGET_H
#define ZS_GDAL_HEALPIX_TARGET_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gdal/compat.h"
#include "healpix_reach.h"

extern "C"
{
#include "geo/healpix.h"
}

/* All cells of an order in their nested order, on the ellipsoid of `srs`; with nullptr on WGS 84. *isPlane: whether
 * that is the plane of HEALPix as this driver shows it. */
struct zs_healpix zsHealpixTarget(int order, const OGRSpatialReference *srs, bool *isPlane);

/* Whether a transform is that of the cells' plane, to a thousandth of a pixel. */
bool zsIsHealpixTransform(const struct zs_healpix &healpix, const double *transform);

/* What gdalwarp is to be told for its pixels to be cells: "-te ... -ts ...". */
std::string zsHealpixArguments(const struct zs_healpix &healpix);

/* Runs `run`, which warps, or reads what is warped. A warp transforms points outside of the plane, and GDAL reports
 * each as a failure, CPLE_AppDefined. These failures are dropped when the run succeeds; when it fails, the last one is
 * reported. Other messages are passed on when it ends. A failure without any message is reported as `what`. */
bool zsRunWarp(const std::string &what, const std::function<bool()> &run);

/* A source as pixels that are cells. */
class ZSWarpedCells
{
  public:
    /* The source outlives it. resampling: "": the nearest. */
    ZSWarpedCells(GDALDataset &source, std::unique_ptr<GDALDataset> warped, const struct zs_healpix &healpix,
                  const std::string &resampling);

    GDALDataset *Dataset() const
    {
        return m_warped.get();
    }

    /* Which squares the source may reach. */
    const ZSHealpixReach &Reach() const
    {
        return m_reach;
    }

    /* What pixels are that get no value: one pixel of each band, `item` bytes. False with CPLError emitted. */
    bool ReadNone(void *pixels, GDALDataType type, std::vector<int> &bands, GSpacing item) const;

    /* What Dataset()->RasterIO() reads. Pixels on no face, and those that the source does not touch, are not warped. */
    bool Read(int x, int y, int width, int height, void *pixels, GDALDataType type, std::vector<int> &bands,
              GSpacing item, GSpacing line, GSpacing plane) const;

  private:
    /* A window of one face as it is read. */
    struct Window
    {
        int x, y, width, height; /* in the plane */
        GByte *pixels;
        GDALDataType type;
        std::vector<int> &bands;
        GSpacing item, line, plane;
    };
    bool FindPlaces(int x, int y, int width, int height, std::vector<double> &xs, std::vector<double> &ys) const;
    bool Touches(int x, int y, int width, int height) const;
    bool TouchesSeam(const Window &window) const;
    bool FillGaps(const Window &window, const std::vector<GByte> &none) const;
    bool TakePixel(const Window &window, int column, int row, int sourceX, int sourceY) const;

    GDALDataset &m_source;
    const int m_order;
    const int m_columns, m_rows; // of the source
    const bool m_isOfAreas, m_isOfSquares; // resampling looks at a cell's corners; and is RMS
    bool m_isAround = false;               // the source has all longitudes
    std::unique_ptr<GDALDataset> m_warped;
    std::unique_ptr<void, void (*)(void *)> m_transformer; // null: places are not known before the warp
    const ZSHealpixReach m_reach;
};

/* `source` itself where it is the plane of cells, else what is warped of it, which `warped` holds. Null with CPLError
 * emitted, also where no pixel finds a cell; with isStrict where numbers are rounded. */
GDALDataset *zsToHealpix(GDALDataset &source, int order, const std::string &resampling, bool isStrict,
                         struct zs_healpix &healpix, std::unique_ptr<ZSWarpedCells> &warped);

#endif
