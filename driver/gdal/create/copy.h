/* gdal/create/copy.h: streaming the pixels of a source into the arrays of a new raster. */
#pragma once

#include <string>

#include "gdal/compat.h"
#include "new_arrays.h"

class ZSCopiedLevels;

/* Where pixels come from: read from `dataset` as `type`. */
struct ZSPixelSource
{
    GDALDataset &dataset;
    GDALDataType type;
};

/* Copies all bands of a source into the raster: each row of chunks is read while the one before is encoded and written,
 * and each block of the source is decoded once: one whose blocks are maps, or large parts of them, of which a row of
 * chunks needs only some lines, goes map by map into a scratch file in `folder` (on a local disk, else in that of
 * temporary files), unless GDAL's cache holds what is needed again. That is as large as the pixels of the bands of a
 * chunk, and has no name. A row of chunks goes by boxes of whole chunks where it is more than the threads need at once
 * and that cache holds its blocks until the last box, and always where it is more than 256 MB. Where it has fewer
 * chunks than the threads need, several rows, or bands, are read at once. `levels` (null: none) gets all pixels, too.
 * Progress goes from 0 to 1. False, with a CPLError, on failure or when the user cancels. */
bool zsCopyPixels(const ZSPixelSource &from, const struct zs_raster &raster, const struct zs_raster_spec &spec,
                  int threads, const std::string &folder, ZSCopiedLevels *levels, GDALProgressFunc progress,
                  void *progressData);

/* Whether all bands of a source have one mask that is neither nodata nor alpha. */
bool zsHasOneMask(GDALDataset &source);

/* Copies that mask into the one of the raster, strip by strip. False, with a CPLError, on failure. */
bool zsCopyMask(GDALDataset &source, const struct zs_raster &raster, const struct zs_raster_spec &spec);

/* Whether the nodata value of the spec is that of a band of this driver whose fill value alone implies it, also below
 * virtual rasters (of several sources, the first is asked): xarray masks what is declared, and a copy declares no more
 * than its source. */
bool zsImpliesNodata(GDALRasterBand &band, const struct zs_raster_spec &spec, int depth = 0);

/* The names of a source's X and Y: of its array's dimensions, or of the variables that netCDF's items speak of
 * ("lon#standard_name=longitude"). False where it has none. */
bool zsPlaneNames(GDALDataset &source, std::string &x, std::string &y);
/* Whether dimensions of a new array can have them. */
bool zsArePlaneNames(const std::string &x, const std::string &y);

/* Names what a copy of the source would lose: in an error, and returns false, where `strict` asks for a copy that is
 * whole; else in a warning. This is the one list of it. */
bool zsCheckLosses(const char *name, GDALDataset &source, bool hasSideCar, bool strict);

/* Gives the bands of a copy the attribute tables of those of its source: they go into its side-car file. */
void zsCopyTables(GDALDataset &source, GDALDataset &copy);

/* A file without a name that holds some bands of a source as they are: each block of the source is decoded once, in one
 * pass over it, however many windows are read afterwards. It is gone with the process, however that ends. */
class ZSScratch
{
    GDALDataset &m_source;
    GDALDataType m_type;
    int m_file = -1;
    int m_band = 0; /* the first it holds, from 0 */

  public:
    ZSScratch(GDALDataset &source, GDALDataType type) : m_source(source), m_type(type)
    {
    }
    ~ZSScratch();
    ZSScratch(const ZSScratch &) = delete;
    ZSScratch &operator=(const ZSScratch &) = delete;

    bool IsOpen() const
    {
        return m_file >= 0;
    }
    /* In a directory, or that of temporary files where it is none of a local disk. False where it cannot be made. */
    bool Open(const std::string &folder);
    /* Copies a band of the source into the file, over its former content. `first` is the band of the source that the
     * file has first; both count from 0. False with CPLError emitted. */
    bool Take(int first, int band);
    /* A window of some of these bands (the first from 0), dense. False with CPLError emitted. */
    bool Read(int band, int bands, int x, int y, int columns, int rows, unsigned char *pixels) const;
};
