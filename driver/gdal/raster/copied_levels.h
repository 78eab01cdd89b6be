/* gdal/raster/copied_levels.h: pixels of levels out of larger rasters, and overviews of a copy that are made of its
 * pixels while these are in memory, so that what was just written is not read and decoded again. */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataset.h"

/* ---- Pixels of a level, the nearest ones or means, out of a larger raster of the same extent: for gdaladdo, the
 * overviews of a copy and those of Create() alike (shrink.cpp) ---- */

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

/* ---- Overviews of a copy ---- */

/* The levels of factors 2, 4, 8 ... of one array, as long as each has whole cells of 2 x 2 pixels of the one before,
 * for NEAREST and AVERAGE; MakeLevels() makes the others, of the same pixels. */
class ZSCopiedLevels
{
    /* A level, and rows of some of its bands that wait for the rest of their chunks. */
    struct Level
    {
        struct zs_bands bands = {};
        int width = 0, height = 0;
        int rows = 0;  /* that are written together: whole chunks, but for the last */
        int first = 0; /* of those in `pixels` */
        std::unique_ptr<unsigned char[]> pixels;
    };
    ShardedZarrDataset *m_base = nullptr;
    int m_threads = 1;
    std::vector<ZSShrinking> m_bands;
    std::vector<Level> m_levels; /* that are made of windows */

    void Halve(Level &level, const struct zs_band_window &window) const;
    enum zs_status TakeFor(size_t i, const struct zs_band_window &window, struct zs_error *err);

  public:
    /* Whether levels of such a raster, without a mask, can be made this way: it is one array that reads back as it was
     * written. */
    static bool Suits(const struct zs_raster_spec &spec, const std::string &resampling,
                      const std::vector<int> &factors);

    /* Sets up all levels of the array. CE_Failure with CPLError emitted. */
    CPLErr Start(ShardedZarrDataset &base, const std::string &resampling, const std::vector<int> &factors,
                 int threads);

    /* Makes room for windows of up to so many bands and rows of chunks of `chunkRows`: they follow each other from left
     * to right and from top to bottom, for some bands after the other, in whole chunks but for the last ones. No level
     * is made from windows where that would need more than 128 MB: at most the bytes of one row of such windows. */
    void Reserve(int bands, int rows, int chunkRows);
    /* Takes pixels of the copy, which are those of its array. In any thread, one window at a time. */
    enum zs_status Take(const struct zs_band_window &window, struct zs_error *err);

    bool IsStarted() const
    {
        return m_base != nullptr;
    }
    /* What is made of the array's overviews is not made again. */
    void Finish();
};
