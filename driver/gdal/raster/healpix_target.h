/* gdal/raster/healpix_target.h: HEALPix cells of all the sphere as what is written: the grid that a raster must
 * have, and the way there for one that has not. */
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gdal/compat.h"

extern "C"
{
#include "geo/healpix.h"
}

/* ---- A source that gdalwarp shows as HEALPix cells, and what the warp leaves out (healpix_warped.cpp) ---- */

/* Which squares of cells a source can reach: the others, nearly all for a small source, are never looked at. */
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
     * have pixels (everywhere on faces with isAll), as large as may be where it has none. False when `take` returns
     * false. */
    using Take = std::function<bool(const Square &square, bool mayReach)>;
    bool GoThrough(int least, bool isAll, const Take &take) const;

  private:
    /* Points of the unit sphere less far than `radius` from the middle, along a straight line. */
    struct Cap
    {
        double middle[3], radius;
    };
    bool FindVectors(GDALDataset &source, void *transformer, const std::vector<double> &columns,
                     const std::vector<double> &rows, double inwards, std::vector<double> &vectors,
                     double *apart) const;
    bool MayReach(const Square &square) const;
    bool Descend(const Square &square, int least, bool isAll, const Take &take) const;

    const int m_side; // of a face
    bool m_isKnown = false; // else any square may be reached
    std::vector<Cap> m_caps; // the source lies within these
};

/* A GenImgProj transformer from pixels of the source to those of the plane. */
using ZSTransformer = std::unique_ptr<void, void (*)(void *)>;

/* A source as pixels that are cells. */
class ZSWarpedCells
{
  public:
    /* The source outlives the object. resampling "": the nearest pixel. */
    ZSWarpedCells(GDALDataset &source, std::unique_ptr<GDALDataset> warped, ZSTransformer transformer, int order,
                  const std::string &resampling, bool isGeographic);

    GDALDataset *Dataset() const
    {
        return m_warped.get();
    }

    /* Which squares the source may reach. */
    const ZSHealpixReach &Reach() const
    {
        return m_reach;
    }

    /* The value of pixels that get none: one pixel of each band, `item` bytes. False with CPLError emitted. */
    bool ReadNone(void *pixels, GDALDataType type, std::vector<int> &bands, GSpacing item) const;

    /* Reads like Dataset()->RasterIO(). Pixels on no face, and those that the source does not touch, are not warped. */
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
    bool FindPositions(int x, int y, int width, int height, std::vector<double> &xs, std::vector<double> &ys) const;
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
    ZSTransformer m_transformer; // null: positions are not known before the warp
    const ZSHealpixReach m_reach;
};

/* ---- The grid (healpix_target.cpp) ---- */

/* All cells of an order in their nested order, on the ellipsoid of `srs`; with nullptr on WGS 84. *isPlane: whether
 * that is the plane of HEALPix as this driver shows it. */
struct zs_healpix zsHealpixTarget(int order, const OGRSpatialReference *srs, bool *isPlane);

/* Whether a transform is that of the cells' plane, to a thousandth of a pixel. */
bool zsIsHealpixTransform(const struct zs_healpix &healpix, const double *transform);

/* Arguments of gdalwarp that make its pixels cells: "-te ... -ts ...". */
std::string zsHealpixArguments(const struct zs_healpix &healpix);

/* Runs `run`, which warps, or reads what is warped. A warp transforms points outside of the plane, and GDAL reports
 * each as a failure, CPLE_AppDefined. These failures are dropped when the run succeeds; when it fails, the last one is
 * reported. Other messages are passed on when it ends. A failure without any message is reported as `what`. */
bool zsRunWarp(const std::string &what, const std::function<bool()> &run);

/* `source` itself where it is the plane of cells, else what is warped of it, which `warped` holds. Null with CPLError
 * emitted, also where no pixel finds a cell; with isStrict where numbers are rounded. */
GDALDataset *zsToHealpix(GDALDataset &source, int order, const std::string &resampling, bool isStrict,
                         struct zs_healpix &healpix, std::unique_ptr<ZSWarpedCells> &warped);
