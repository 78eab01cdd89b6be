/* Pixels of a source, step by step into the arrays of a new raster. */
#include "copy.h"

#include <algorithm>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "gdal/raster/copied_levels.h"
#include "gdal/raster/dataset.h"

extern "C"
{
#include "base/checked.h"
#include "base/descriptors.h"
#include "base/parallel.h"
#include "raster/pixels.h"
#include "store/staging.h"
}

/* ---- What is copied at once ---- */

namespace
{
/* How the pixels of a source come. */
struct CopySource
{
    uint64_t width, height, bands;
    uint64_t item;           /* bytes of a pixel in memory */
    bool isPixelInterleaved; /* reading one band costs as much as reading all */
    uint64_t blockColumns, blockRows;
    uint64_t cacheBytes;     /* that GDAL keeps of its blocks */
};

/* What is copied at once: whole chunks, except at the edges. */
struct CopyStep
{
    uint64_t bands, rows, columns;
    uint64_t run; /* bands that follow each other in a box of the array: a step ends where they do */
};
} // namespace

/* Most bytes of two steps: one is read while the other is written. A single step up to this is better than a source
 * that is read more than once. */
constexpr uint64_t COPY_BYTES = 256 << 20;
/* Chunks of a step for each thread, because they end at different times; of smaller chunks more. */
constexpr uint64_t SEVERAL = 8, LEAST_BYTES = 8 << 20, SEVERAL_BYTES = 32 << 20;

/* How many bands to take: at least as many as are asked for, in whole chunks. They are all indices of the fast
 * dimensions, some of one dimension, and one of each slower dimension. */
static uint64_t bandsOfStep(const struct zs_raster_spec &spec, uint64_t asked, uint64_t bands, uint64_t &run)
{
    run = bands;
    for (int d = 0; d < spec.axis_count; d++)
    {
        const uint64_t size = spec.axes[d].size, inner = run / size, chunk = spec.chunk[d];
        if (chunk > 1 || asked > inner || d + 1 == spec.axis_count)
            return std::min(zs_ceil_div_u64(asked, chunk * inner) * chunk, size) * inner;
        run = inner;
    }
    return asked;
}

/* The side of the square of pixels in a shard of HEALPix cells; in a chunk, when a shard is too large. */
static uint64_t squareOf(const struct zs_raster_spec &spec, uint64_t item)
{
    const uint64_t chunk = spec.chunk[spec.axis_count], shard = spec.shard[spec.axis_count];
    uint64_t side = 1;
    while (4 * side * side <= (shard <= COPY_BYTES / 4 / item ? shard : chunk))
        side *= 2;
    return side;
}

/* The pixels of whole chunks that hold a block of the source, of `size` pixels in all: no more than `most`, and one
 * chunk at least. */
static uint64_t coverBlock(uint64_t block, uint64_t chunk, uint64_t size, uint64_t most)
{
    const uint64_t chunks = std::min(zs_ceil_div_u64(block, chunk), most / chunk);
    return std::min(std::max<uint64_t>(1, chunks) * chunk, size);
}

/* Pixels in a chunk of the raster; of HEALPix cells, in the square of a shard. */
static CopyStep chunkOf(const CopySource &source, const struct zs_raster_spec &spec)
{
    const int y = spec.axis_count;
    const uint64_t square = spec.healpix != nullptr ? squareOf(spec, source.item) : 0;
    CopyStep chunk = {1, square > 0 ? square : spec.chunk[y], square > 0 ? square : spec.chunk[y + 1], 0};
    chunk.rows = std::min(chunk.rows, source.height);
    chunk.columns = std::min(chunk.columns, source.width);
    for (int d = 0; d < y; d++)
        chunk.bands *= spec.chunk[d];
    return chunk;
}

static uint64_t bytesOf(const CopySource &source, const CopyStep &step)
{
    return source.item * step.bands * step.rows * step.columns;
}

/* Whether the blocks that a row of steps reads have left GDAL's cache before the next row needs them again. */
static bool isEvicted(const CopySource &source, const CopyStep &step)
{
    const uint64_t rows = std::min(std::max(source.blockRows, step.rows), source.height);
    return source.item * step.bands * rows * source.width > source.cacheBytes / 2;
}

/* The least that is copied at once: a chunk, of all bands that lie together in the source or in a chunk; or as many as
 * hold a block of the source, which is decoded once then.
 *
 * Example: of chunks of 512 x 512 and one band it is {1 band, 512 rows, 512 columns}. Of chunks of 64 x 64 pixels and
 * 240 bands, from a source with blocks of 512 x 512 that GDAL's cache does not hold: {240, 512, 512}. */
static CopyStep leastStep(const CopySource &source, const CopyStep &chunk, const struct zs_raster_spec &spec)
{
    CopyStep step = {1, chunk.rows, chunk.columns, 0};
    const uint64_t together = std::max<uint64_t>(1, COPY_BYTES / 2 / (source.item * chunk.rows * chunk.columns));
    step.bands = bandsOfStep(spec, source.isPixelInterleaved ? std::min(together, source.bands) : 1, source.bands,
                             step.run);
    if (!isEvicted(source, step))
        return step;
    const uint64_t item = source.item * step.bands;
    step.columns = coverBlock(source.blockColumns, chunk.columns, source.width, COPY_BYTES / (item * chunk.rows));
    step.rows = coverBlock(source.blockRows, chunk.rows, source.height, COPY_BYTES / (item * step.columns));
    return step;
}

/* Whether a step that would have more pixels is better, and has not too many. */
static bool isBetter(const CopySource &source, const CopyStep &chunk, const CopyStep &step, uint64_t threads,
                     const CopyStep &more)
{
    const uint64_t chunks = zs_ceil_div_u64(step.rows, chunk.rows) * zs_ceil_div_u64(step.columns, chunk.columns) *
                            zs_ceil_div_u64(step.bands, chunk.bands);
    const uint64_t most = chunks < threads             ? COPY_BYTES / 2
                          : chunks < SEVERAL * threads ? SEVERAL_BYTES
                                                       : LEAST_BYTES;
    return bytesOf(source, more) > bytesOf(source, step) && bytesOf(source, more) <= most;
}

/* What is copied at once: the least, and then more columns, rows and bands until all threads have something to do.
 *
 * Example: 4 bands of 2000 x 3000 pixels of two bytes, in chunks of 512 x 512 and one band, with 2 threads. A row of
 * chunks is 4 chunks, 2 MB; the threads shall have 16, so the step becomes {1 band, 2048 rows, 2000 columns}. Of 60000
 * columns 16 chunks are 8 MB, {1 band, 512 rows, 8192 columns}. */
static CopyStep growStep(const CopySource &source, const CopyStep &chunk, const struct zs_raster_spec &spec,
                         uint64_t threads)
{
    const CopyStep least = leastStep(source, chunk, spec);
    CopyStep step = least;
    while (step.bands < source.bands || step.rows < source.height || step.columns < source.width)
    {
        CopyStep more = step;
        if (step.columns < source.width)
            more.columns = std::min(step.columns + least.columns, source.width);
        else if (step.rows < source.height)
            more.rows = std::min(step.rows + least.rows, source.height);
        else
            more.bands = std::min(bandsOfStep(spec, step.bands + 1, source.bands, more.run), source.bands);
        if (!isBetter(source, chunk, step, threads, more))
            break;
        step = more;
    }
    return step;
}

/* Whether a block of the source lies in several steps, and GDAL's cache does not hold it until the last. */
static bool isDivided(const CopySource &source, const CopyStep &step)
{
    const bool isCut = source.blockRows > step.rows || (source.blockRows > 1 && source.blockColumns > step.columns);
    return isCut && !source.isPixelInterleaved && isEvicted(source, step);
}

/* ---- The copy ---- */

namespace
{
struct Box
{
    int band, y, x;
    int bands, rows, columns;
};

/* A box of the source that was read and is not written yet. */
struct Strip
{
    std::unique_ptr<unsigned char[]> pixels; /* not a vector, which would fill them with zeros first */
    size_t size = 0;
    struct zs_bands target = {};
    std::vector<int> bands;
    struct zs_band_window window = {};
    ZSCopiedLevels *levels = nullptr; /* that are made of it; null: none */
};

class PixelCopy
{
  public:
    PixelCopy(GDALDataset &source, GDALDataType type, const struct zs_bands &target, ZSCopiedLevels *levels,
              GDALProgressFunc progress, void *progressData)
        : m_source(source), m_type(type), m_target(target), m_levels(levels), m_progress(progress),
          m_progressData(progressData)
    {
    }
    ~PixelCopy()
    {
        static_cast<void>(Wait()); // what is being written borrows from this
        if (m_scratch >= 0)
            close(m_scratch);
    }
    bool Run(const struct zs_raster_spec &spec, int threads, const std::string &folder);

  private:
    GDALDataset &m_source;
    const GDALDataType m_type;
    const struct zs_bands m_target;
    ZSCopiedLevels *const m_levels;
    const GDALProgressFunc m_progress;
    void *const m_progressData;
    double m_done = 0, m_total = 0; /* in pixels */
    /* Bands of a step as they are, in a file without a name, which is gone with the process; -1: the source is read. */
    int m_scratch = -1;
    bool m_fitsTwice = false; /* else a box is read when the one before is written */
    Strip m_strips[2];
    int m_next = 0;
    struct zs_async *m_writing = nullptr; /* one strip, beside the caller's work */

    bool Wait();
    bool ReportProgress(double pixels);
    void OpenScratch(const std::string &folder);
    bool Fill(const Box &box);
    bool ReadScratch(const Box &box, unsigned char *pixels) const;
    bool Read(const Box &box, Strip &s);
    bool Take(const Box &box);
};
} // namespace

static enum zs_status writeStrip(void *ctx, size_t, struct zs_error *err)
{
    const auto &s = *static_cast<Strip *>(ctx);
    ZS_TRY(zs_pixels_write(&s.target, &s.window, static_cast<size_t>(s.window.pixel_space), nullptr, err));
    return s.levels != nullptr ? s.levels->Take(s.window, err) : ZS_OK;
}

bool PixelCopy::Wait()
{
    struct zs_error err;
    const enum zs_status status = zs_async_wait(m_writing, &err);
    m_writing = nullptr;
    return status == ZS_OK || zsReport(err);
}

bool PixelCopy::ReportProgress(double pixels)
{
    m_done += pixels;
    if (m_progress(m_done / m_total, nullptr, m_progressData))
        return true;
    return zsRefuse(CPLE_UserInterrupt, "User terminated CreateCopy()");
}

/* ---- The scratch file ---- */

static const char WHAT[] = "scratch file of a copy"; // which has no path

/* Opens it in a directory, or that of temporary files where it is none of a local disk; not where neither works. */
void PixelCopy::OpenScratch(const std::string &folder)
{
    struct stat st;
    const bool isLocal = stat(folder.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
    const std::string at = isLocal ? folder : CPLGetConfigOption("CPL_TMPDIR", "/tmp");
    struct zs_error err;
    char *path = nullptr;
    if (zs_temporary_create(at.c_str(), &m_scratch, &path, &err) == ZS_OK)
        unlink(path);
    else
        CPLDebug("ShardedZarr", "no scratch file: the source is read several times: %s", err.message);
    free(path);
}

/* Reads the bands of a box into the scratch file, whole. */
bool PixelCopy::Fill(const Box &box)
{
    constexpr size_t FILL_BYTES = 64 << 20; // that are read at once: whole rows of blocks, one at least
    const int width = m_source.GetRasterXSize(), height = m_source.GetRasterYSize();
    const size_t line = static_cast<size_t>(GDALGetDataTypeSizeBytes(m_type)) * static_cast<size_t>(width);
    int blockWidth, blockHeight;
    m_source.GetRasterBand(1)->GetBlockSize(&blockWidth, &blockHeight);
    const auto block = static_cast<size_t>(std::min(blockHeight, height));
    const auto rows = static_cast<int>(
        std::min(std::max<size_t>(1, FILL_BYTES / line / block) * block, static_cast<size_t>(height)));
    std::vector<unsigned char> pixels(line * static_cast<size_t>(rows));
    struct zs_error err;
    uint64_t at = 0;
    for (int band = box.band + 1; band <= box.band + box.bands; band++)
    {
        for (int y = 0, count; y < height; y += count)
        {
            count = std::min(rows, height - y);
            const size_t n = line * static_cast<size_t>(count);
            if (m_source.GetRasterBand(band)->RasterIO(GF_Read, 0, y, width, count, pixels.data(), width, count, m_type,
                                                       0, 0, nullptr) != CE_None)
                return false;
            if (zs_file_write_at(m_scratch, WHAT, at, pixels.data(), n, &err) != ZS_OK)
                return zsReport(err);
            at += n;
        }
        if (!ReportProgress(static_cast<double>(width) * height))
            return false;
    }
    return true;
}

/* Reads a box of the bands that are in the scratch file, dense. */
bool PixelCopy::ReadScratch(const Box &box, unsigned char *pixels) const
{
    const auto item = static_cast<uint64_t>(GDALGetDataTypeSizeBytes(m_type));
    const auto width = static_cast<uint64_t>(m_source.GetRasterXSize()),
               height = static_cast<uint64_t>(m_source.GetRasterYSize());
    const int together = box.columns == m_source.GetRasterXSize() ? box.rows : 1; // rows that lie together
    const size_t n = item * static_cast<size_t>(box.columns) * static_cast<size_t>(together);
    struct zs_error err;
    for (int b = 0; b < box.bands; b++)
    {
        for (int row = 0; row < box.rows; row += together, pixels += n)
        {
            const uint64_t line = static_cast<uint64_t>(b) * height + static_cast<uint64_t>(box.y + row);
            const uint64_t at = item * (line * width + static_cast<uint64_t>(box.x));
            if (zs_file_read_at(m_scratch, WHAT, at, n, pixels, &err) != ZS_OK)
                return zsReport(err);
        }
    }
    return true;
}

/* ---- Boxes ---- */

/* Reads a box, of the scratch file where there is one. */
bool PixelCopy::Read(const Box &box, Strip &s)
{
    const auto item = static_cast<GSpacing>(GDALGetDataTypeSizeBytes(m_type));
    const GSpacing line = item * box.columns, plane = line * box.rows;
    const size_t size = static_cast<size_t>(plane) * static_cast<size_t>(box.bands);
    if (size > s.size)
    {
        s.pixels.reset();
        s.pixels.reset(new (std::nothrow) unsigned char[size]);
        s.size = s.pixels != nullptr ? size : 0;
        if (s.pixels == nullptr)
            return zsRefuse(CPLE_OutOfMemory,
                            "%d bands of %d x %d pixels, a chunk at least, need %llu bytes, which cannot be had",
                            box.bands, box.columns, box.rows, static_cast<unsigned long long>(size));
    }
    s.bands.resize(static_cast<size_t>(box.bands));
    std::iota(s.bands.begin(), s.bands.end(), box.band + 1);
    s.window =
        zsBandWindow(box.x, box.y, box.columns, box.rows, s.pixels.get(), s.bands.data(), box.bands, item, line, plane);
    if (m_scratch >= 0)
        return ReadScratch(box, s.pixels.get());
    return m_source.RasterIO(GF_Read, box.x, box.y, box.columns, box.rows, s.pixels.get(), box.columns, box.rows,
                             m_type, box.bands, s.bands.data(), item, line, plane, nullptr) == CE_None;
}

/* Reads a box, and begins to write it when the one before is written. */
bool PixelCopy::Take(const Box &box)
{
    Strip &s = m_strips[m_next];
    if (m_fitsTwice)
        m_next = 1 - m_next;
    else if (!Wait())
        return false;
    s.target = m_target;
    s.levels = m_levels;
    if (!Read(box, s) || !Wait())
        return false;
    m_writing = zs_async_start(writeStrip, &s);
    if (m_writing == nullptr)
        return zsRefuse(CPLE_OutOfMemory, "cannot start to write");
    return ReportProgress(static_cast<double>(box.rows) * box.columns * box.bands);
}

bool PixelCopy::Run(const struct zs_raster_spec &spec, int threads, const std::string &folder)
{
    const int width = m_source.GetRasterXSize(), height = m_source.GetRasterYSize(), bands = m_source.GetRasterCount();
    const auto item = static_cast<uint64_t>(GDALGetDataTypeSizeBytes(m_type));
    const char *interleave = m_source.GetMetadataItem("INTERLEAVE", "IMAGE_STRUCTURE");
    int blockWidth, blockHeight;
    m_source.GetRasterBand(1)->GetBlockSize(&blockWidth, &blockHeight);
    const CopySource source = {static_cast<uint64_t>(width),
                               static_cast<uint64_t>(height),
                               static_cast<uint64_t>(bands),
                               item,
                               interleave != nullptr && EQUAL(interleave, "PIXEL"),
                               static_cast<uint64_t>(std::min(blockWidth, width)),
                               static_cast<uint64_t>(std::min(blockHeight, height)),
                               static_cast<uint64_t>(GDALGetCacheMax64())};
    const CopyStep step = growStep(source, chunkOf(source, spec), spec, static_cast<uint64_t>(threads));
    const auto rows = static_cast<int>(step.rows), columns = static_cast<int>(step.columns);
    m_fitsTwice = 2 * item * step.bands * step.rows * step.columns <= COPY_BYTES;
    if (m_levels != nullptr)
        m_levels->Reserve(static_cast<int>(step.bands), rows, static_cast<int>(spec.chunk[spec.axis_count]));
    if (isDivided(source, step))
        OpenScratch(folder);
    m_total = static_cast<double>(width) * height * bands * (m_scratch >= 0 ? 2 : 1);
    Box box = {};
    for (box.band = 0; box.band < bands; box.band += box.bands)
    {
        box.bands = static_cast<int>(std::min(step.bands, step.run - static_cast<uint64_t>(box.band) % step.run));
        if (m_scratch >= 0 && !Fill(box))
            return false;
        for (box.y = 0; box.y < height; box.y += rows)
        {
            box.rows = std::min(rows, height - box.y);
            for (box.x = 0; box.x < width; box.x += columns)
            {
                box.columns = std::min(columns, width - box.x);
                if (!Take(box))
                    return false;
            }
        }
    }
    return Wait();
}

bool zsCopyPixels(GDALDataset &source, GDALDataType type, const struct zs_bands &target,
                  const struct zs_raster_spec &spec, int threads, const std::string &folder, ZSCopiedLevels *levels,
                  GDALProgressFunc progress, void *progressData)
{
    return PixelCopy(source, type, target, levels, progress, progressData).Run(spec, threads, folder);
}

/* ---- Masks ---- */

bool zsHasOneMask(GDALDataset &source)
{
    for (int b = 1; b <= source.GetRasterCount(); b++)
    {
        GDALRasterBand &band = *source.GetRasterBand(b);
        if ((band.GetMaskFlags() & GMF_PER_DATASET) == 0 || !zsHasMask(band))
            return false;
    }
    return source.GetRasterCount() > 0;
}
