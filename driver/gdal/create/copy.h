/* gdal/create/copy.h: what CreateCopy() takes from its source: the pixels (copy.cpp), and what of the rest is kept
 * (losses.cpp). */
#pragma once

#include <string>

#include "gdal/compat.h"

extern "C"
{
#include "raster/create.h"
}

class ZSCopiedLevels;

/* ---- Pixels ---- */

/* How the pixels of a source come. */
struct ZSCopySource
{
    uint64_t width, height, bands;
    uint64_t item;           /* bytes of a pixel in memory */
    bool isPixelInterleaved; /* reading one band costs as much as reading all */
    uint64_t blockColumns, blockRows;
    uint64_t cacheBytes;     /* that GDAL keeps of its blocks */
};

/* What is copied at once: whole chunks, except at the edges. */
struct ZSCopyStep
{
    uint64_t bands, rows, columns;
    uint64_t run; /* bands that follow each other in a box of the array: a step ends where they do */
    bool isDivided; /* a block of the source lies in several steps, and GDAL's cache does not hold it until the last */
};

/* Chooses it: a chunk, of all bands that lie together in the source or in a chunk; or as many as hold a block of the
 * source, which is decoded once then. From there it grows, until all threads have something to do.
 *
 * Example: 4 bands of 2000 x 3000 pixels of two bytes, in chunks of 512 x 512 and one band, with 2 threads. A row of
 * chunks is 4 chunks, 2 MB; the threads shall have 16, so the step becomes {1 band, 2048 rows, 2000 columns}. Of 60000
 * columns 16 chunks are 8 MB, {1 band, 512 rows, 8192 columns}. Where a chunk is 64 x 64 pixels of 240 bands, and the
 * source has blocks of 512 x 512 which GDAL's cache does not hold, it is {240 bands, 512 rows, 512 columns}. */
ZSCopyStep zsCopyStep(const ZSCopySource &source, const struct zs_raster_spec &spec, int threads);

/* Copies all bands of a source, read as `type`, into the raster: one step is read while the one before is encoded and
 * written. Where blocks of the source are divided among steps, bands go whole into a scratch file in `folder` (on a
 * local disk, else in that of temporary files). It is as large as the bands of a step, and has no name. `levels` (null:
 * none) gets all pixels, too. Progress goes from 0 to 1. False, with a CPLError, on failure or when the user
 * cancels. */
bool zsCopyPixels(GDALDataset &source, GDALDataType type, const struct zs_raster &raster,
                  const struct zs_raster_spec &spec, int threads, const std::string &folder, ZSCopiedLevels *levels,
                  GDALProgressFunc progress, void *progressData);

/* Whether all bands of a source have one mask that is neither nodata nor alpha. */
bool zsHasOneMask(GDALDataset &source);

/* Copies that mask into the one of the raster, strip by strip. False, with a CPLError, on failure. */
bool zsCopyMask(GDALDataset &source, const struct zs_raster &raster, const struct zs_raster_spec &spec);

/* ---- What is kept ---- */

/* The first source of a band ("1") or of an array ("group/array") of a virtual dataset: the name of its file, and of
 * its array or band there. False where there is none. */
bool zsFirstSource(GDALDataset &virtualDataset, const std::string &path, std::string &file, std::string &part);

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
