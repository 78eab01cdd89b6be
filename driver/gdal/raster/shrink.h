/* gdal/raster/shrink.h: pixels of a level, the nearest ones or means, out of a larger raster of the same extent: for
 * gdaladdo, the overviews of a copy and those of Create() alike. */
#pragma once

#include "gdal/compat.h"

struct ZSPixelWindow
{
    int x, y, width, height;
};

/* A level of `toWidth` x `toHeight` pixels of a raster of `fromWidth` x `fromHeight`, which need not be multiples.
 * Example of 5 columns that become 3: each is 5/3 wide. The means are those of columns 0 and 2/3 of 1, of 1/3 of 1, 2
 * and 1/3 of 3, of 2/3 of 3 and 4; the nearest are 0, 2 (0.5 + 5/3) and 3 (0.5 + 10/3). */
struct ZSShrinking
{
    bool isNearest = false; /* else means by area: integers are rounded, halves away from 0 */
    GDALDataType type = GDT_Unknown;
    /* What counts as no pixel, and is made where there is none. A mean of others that is equal becomes the next number.
     * Without it, 0 is made where there is no valid pixel. */
    bool hasNodata = false;
    unsigned char nodata[8] = {};
    int fromWidth = 0, fromHeight = 0, toWidth = 0, toHeight = 0;

    /* That of a band by NEAREST or AVERAGE. False for what GDAL makes: other ways, means of complex numbers, and of a
     * palette, which are those of its colours. */
    bool Start(GDALRasterBand &band, const char *resampling);

    /* The window of the larger raster that some pixels of the level are made of. */
    ZSPixelWindow SourceOf(const ZSPixelWindow &pixels) const;
    /* Makes these pixels of that window, of which `valid` (null: all are) marks dense pixels by what is not 0. Lines
     * are so many bytes. */
    void Make(const ZSPixelWindow &pixels, const unsigned char *from, ptrdiff_t fromLine, const unsigned char *valid,
              unsigned char *to, ptrdiff_t toLine, int threads) const;
};
