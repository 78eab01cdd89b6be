#include "copied_levels.h"

#include <algorithm>
#include <limits>
#include <new>

#include "gdal/guard.h"

extern "C"
{
#include "base/parallel.h"
#include "raster/pixels.h"
}

constexpr uint64_t MOST_BYTES = 128 << 20;
/* Pixels that GDAL is given at once: its buffers stay in the processor's cache, and the heap keeps their memory. */
constexpr int64_t PIECE_BYTES = 1 << 20;

bool ZSCopiedLevels::Suits(const struct zs_raster_spec &spec, const ZSPacking &packing, const std::string &resampling,
                           const std::vector<int> &factors)
{
    const int y = spec.axis_count, x = y + 1;
    if (spec.healpix != nullptr || spec.array_count != 1 || spec.mask != nullptr || spec.is_not_consolidated)
        return false;
    if (packing.IsUsed() || spec.encoding.keepbits != 0 || spec.edges[y] != nullptr || spec.edges[x] != nullptr)
        return false;
    const bool isSimple = STARTS_WITH_CI(resampling.c_str(), "NEAR") || EQUAL(resampling.c_str(), "AVERAGE");
    const bool isEven = spec.width % 2 == 0 && spec.height % 2 == 0 && spec.chunk[y] % 2 == 0 && spec.chunk[x] % 2 == 0;
    return isSimple && isEven && !factors.empty() && *std::min_element(factors.begin(), factors.end()) == 2;
}

CPLErr ZSCopiedLevels::Start(std::unique_ptr<ShardedZarrDataset> base, const std::string &resampling,
                             const std::vector<int> &factors, int threads)
{
    m_base = std::move(base);
    m_resampling = resampling;
    m_threads = threads;
    if (m_base->overviews.Begin(resampling.c_str(), factors) != CE_None)
        return CE_Failure;
    for (int b = 1; b <= m_base->GetRasterCount(); b++)
    {
        GDALRasterBand &band = *m_base->GetRasterBand(b);
        if (!zsIsHalvedByCells(band, resampling.c_str()))
            return CE_None;
        int hasNodata = FALSE;
        const double nodata = band.GetNoDataValue(&hasNodata);
        m_bands.push_back({band.GetRasterDataType(), hasNodata != FALSE, nodata});
    }
    int width = m_base->GetRasterXSize(), height = m_base->GetRasterYSize(), factor = 2;
    for (const auto &begun : m_base->overviews.Begun())
    {
        if (begun.factor != factor || width % 2 != 0 || height % 2 != 0)
            break;
        width /= 2;
        height /= 2;
        factor *= 2;
        Level level;
        level.bands = begun.dataset->View().Bands();
        level.width = width;
        level.height = height;
        m_levels.push_back(std::move(level));
    }
    return CE_None;
}

void ZSCopiedLevels::Reserve(int bands, int rows, int chunkRows)
{
    const auto item = static_cast<uint64_t>(m_levels.empty() ? 0 : m_base->View().Info(0).item_size);
    uint64_t all = 0;
    for (Level &level : m_levels)
    {
        const int half = rows / 2;
        level.rows = std::min(half % chunkRows == 0 ? half : rows, level.height);
        rows = level.rows;
        const uint64_t size = item * static_cast<uint64_t>(bands) * static_cast<uint64_t>(level.rows) *
                              static_cast<uint64_t>(level.width);
        all += size;
        if (all <= MOST_BYTES)
            level.pixels.reset(new (std::nothrow) unsigned char[static_cast<size_t>(size)]);
        if (level.pixels == nullptr)
            return m_levels.clear();
    }
}

/* ---- Pixels ---- */

namespace
{
/* A band of pixels in memory, with the nodata value of another. Bands of GDAL's MEM driver have blocks of one row, by
 * which GDAL would compute means: that takes twice the processor time. */
class MemoryBand final : public GDALRasterBand
{
    unsigned char *const m_data;
    const ptrdiff_t m_line;
    const bool m_hasNodata;
    const double m_nodata;

  protected:
    CPLErr IReadBlock(int, int, void *data) override // the only one
    {
        const GSpacing item = GDALGetDataTypeSizeBytes(eDataType);
        return IRasterIO(GF_Read, 0, 0, nRasterXSize, nRasterYSize, data, nRasterXSize, nRasterYSize, eDataType, item,
                         item * nRasterXSize, nullptr);
    }
    CPLErr IRasterIO(GDALRWFlag flag, int x, int y, int width, int height, void *data, int bufWidth, int bufHeight,
                     GDALDataType type, GSpacing pixelSpace, GSpacing lineSpace, GDALRasterIOExtraArg *) override
    {
        const int item = GDALGetDataTypeSizeBytes(eDataType);
        if (width != bufWidth || height != bufHeight)
            return CE_Failure;
        for (int row = 0; row < height; row++)
        {
            unsigned char *own = m_data + m_line * (y + row) + static_cast<ptrdiff_t>(item) * x;
            auto *theirs = static_cast<unsigned char *>(data) + lineSpace * row;
            if (flag == GF_Read)
                GDALCopyWords64(own, eDataType, item, theirs, type, static_cast<int>(pixelSpace), width);
            else
                GDALCopyWords64(theirs, type, static_cast<int>(pixelSpace), own, eDataType, item, width);
        }
        return CE_None;
    }

  public:
    MemoryBand(GDALDataset *dataset, GDALDataType type, int width, int height, unsigned char *data, ptrdiff_t line,
               bool hasNodata, double nodata)
        : m_data(data), m_line(line), m_hasNodata(hasNodata), m_nodata(nodata)
    {
        poDS = dataset;
        nBand = 1;
        eDataType = type;
        nRasterXSize = nBlockXSize = width;
        nRasterYSize = nBlockYSize = height;
    }
    double GetNoDataValue(int *has) override
    {
        if (has != nullptr)
            *has = m_hasNodata;
        return m_nodata;
    }
};

class MemoryDataset final : public GDALDataset
{
  public:
    MemoryDataset(GDALDataType type, int width, int height, unsigned char *data, ptrdiff_t line, bool hasNodata,
                  double nodata)
    {
        nRasterXSize = width;
        nRasterYSize = height;
        eAccess = GA_Update;
        SetBand(1, new MemoryBand(this, type, width, height, data, line, hasNodata, nodata));
    }
};

/* Pixels of a band, `width` x `height`, to be made of twice as many columns and rows. */
struct Halving
{
    const char *resampling;
    GDALDataType type;
    bool hasNodata;
    double nodata;
    unsigned char *from, *to;
    ptrdiff_t fromLine, toLine;
    int width, height;
    int rows; /* that are made at once */
};
} // namespace

/* The nearest pixels of some rows: the first ones of their cells, as they are. */
static void takeFirst(const Halving &h, int row, int rows)
{
    const int item = GDALGetDataTypeSizeBytes(h.type);
    for (int y = row; y < row + rows; y++)
        GDALCopyWords64(h.from + 2 * y * h.fromLine, h.type, 2 * item, h.to + y * h.toLine, h.type, item, h.width);
}

/* ---- Means of integers of 8 and 16 bits ---- */

/* Pixels of a level that are made together: those that are made of nodata are found by a look at all. */
constexpr int SEGMENT = 128;

template <class T> static bool hasValue(const T *values, int count, T value)
{
    T found = 0; /* of this type, so that compilers compare many values at once */
    for (int i = 0; i < count; i++)
        found = static_cast<T>(found | (values[i] == value ? 1 : 0));
    return found != 0;
}

/* The sum of some values by their number, halves away from zero. */
constexpr int roundedMean(int sum, int count)
{
    return (sum < 0 ? sum - count / 2 : sum + count / 2) / count;
}

template <class T> static void takeMeans(const T *a, const T *b, T *to, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = static_cast<T>(roundedMean(a[2 * i] + a[2 * i + 1] + b[2 * i] + b[2 * i + 1], 4));
}

/* Leaves nodata out. A mean that would be nodata becomes the next value. */
template <class T> static void takeMeansOfValid(const T *a, const T *b, T *to, int count, T nodata)
{
    const int next = nodata < std::numeric_limits<T>::max() ? nodata + 1 : nodata - 1;
    for (int i = 0; i < count; i++)
    {
        int sum = 0, valid = 0;
        for (const T value : {a[2 * i], a[2 * i + 1], b[2 * i], b[2 * i + 1]})
        {
            sum += value != nodata ? value : 0;
            valid += value != nodata ? 1 : 0;
        }
        const int mean = valid > 0 ? roundedMean(sum, valid) : nodata;
        to[i] = static_cast<T>(valid > 0 && mean == nodata ? next : mean);
    }
}

/* Rows as GDAL makes them, which copies the pixels first, and with nodata takes ten times as long. False where the
 * nodata value is none of the type. */
template <class T> static bool halveIntegers(const Halving &h, int row, int rows)
{
    const bool isOfType = h.nodata >= std::numeric_limits<T>::min() && h.nodata <= std::numeric_limits<T>::max();
    const auto nodata = static_cast<T>(h.hasNodata && isOfType ? h.nodata : 0);
    if (h.hasNodata && nodata != h.nodata)
        return false;
    for (int y = row; y < row + rows; y++)
    {
        for (int x = 0; x < h.width; x += std::min(SEGMENT, h.width - x))
        {
            const int count = std::min(SEGMENT, h.width - x);
            const auto a = reinterpret_cast<const T *>(h.from + 2 * y * h.fromLine) + 2 * x,
                       b = reinterpret_cast<const T *>(h.from + (2 * y + 1) * h.fromLine) + 2 * x;
            const auto to = reinterpret_cast<T *>(h.to + y * h.toLine) + x;
            takeMeans(a, b, to, count);
            if (h.hasNodata &&
                (hasValue(a, 2 * count, nodata) || hasValue(b, 2 * count, nodata) || hasValue(to, count, nodata)))
                takeMeansOfValid(a, b, to, count, nodata);
        }
    }
    return true;
}

static bool isHalvedHere(const Halving &h, int row, int rows)
{
    if (!EQUAL(h.resampling, "AVERAGE"))
        return false;
    switch (h.type)
    {
    case GDT_Byte:
        return halveIntegers<uint8_t>(h, row, rows);
    case GDT_UInt16:
        return halveIntegers<uint16_t>(h, row, rows);
    case GDT_Int16:
        return halveIntegers<int16_t>(h, row, rows);
    default:
        return false;
    }
}

/* ---- Windows ---- */

/* Some rows, in any thread. */
static enum zs_status halve(void *ctx, size_t item, struct zs_error *err)
{
    const auto &h = *static_cast<const Halving *>(ctx);
    const int row = static_cast<int>(item) * h.rows, rows = std::min(h.rows, h.height - row);
    if (STARTS_WITH_CI(h.resampling, "NEAR"))
    {
        takeFirst(h, row, rows);
        return ZS_OK;
    }
    if (isHalvedHere(h, row, rows))
        return ZS_OK;
    const CPLErrorHandlerPusher quiet(CPLQuietErrorHandler); // those of the caller's thread do not hear of this one's
    const CPLConfigOptionSetter threads("GDAL_NUM_THREADS", "1", false);
    CPLErrorReset();
    const auto make = [&]
    {
        MemoryDataset from(h.type, 2 * h.width, 2 * rows, h.from + 2 * row * h.fromLine, h.fromLine, h.hasNodata,
                           h.nodata),
            to(h.type, h.width, rows, h.to + row * h.toLine, h.toLine, h.hasNodata, h.nodata);
        GDALRasterBand *source = from.GetRasterBand(1), *target = to.GetRasterBand(1), **targets = &target;
        return GDALRegenerateOverviewsMultiBand(1, &source, 1, &targets, h.resampling, GDALDummyProgress, nullptr,
                                                nullptr);
    };
    if (zsGuard(make) == CE_None)
        return ZS_OK;
    return zs_fail(err, ZS_NO_MEMORY, "overviews: %s", CPLGetLastErrorMsg());
}

/* Makes the pixels of the level's rows that a window of the level before has. */
enum zs_status ZSCopiedLevels::Halve(Level &level, const struct zs_band_window &w, struct zs_error *err) const
{
    const auto item = static_cast<ptrdiff_t>(w.pixel_space), line = item * level.width;
    Halving h = {};
    h.resampling = m_resampling.c_str();
    h.width = static_cast<int>(w.width / 2);
    h.height = static_cast<int>(w.height / 2);
    h.fromLine = w.line_space;
    h.toLine = line;
    h.rows = static_cast<int>(std::max<int64_t>(1, PIECE_BYTES / (int64_t{4} * item * std::max(1, h.width))));
    for (size_t b = 0; b < w.band_count; b++)
    {
        const Band &band = m_bands[static_cast<size_t>(w.bands[b] - 1)];
        h.type = band.type;
        h.hasNodata = band.hasNodata;
        h.nodata = band.nodata;
        h.from = static_cast<unsigned char *>(w.data) + w.band_space * static_cast<ptrdiff_t>(b);
        h.to = level.pixels.get() + line * (static_cast<ptrdiff_t>(b) * level.rows + static_cast<ptrdiff_t>(w.y / 2) -
                                            level.first) +
               item * static_cast<ptrdiff_t>(w.x / 2);
        const auto pieces = static_cast<size_t>((h.height + h.rows - 1) / h.rows);
        ZS_TRY(zs_parallel_for(m_threads, pieces, halve, &h, err));
    }
    return ZS_OK;
}

enum zs_status ZSCopiedLevels::TakeFor(size_t i, const struct zs_band_window &w, struct zs_error *err)
{
    if (i == m_levels.size())
        return ZS_OK;
    Level &level = m_levels[i];
    if (w.y == 0 && w.x == 0)
        level.first = 0;
    ZS_TRY(Halve(level, w, err));
    const int end = static_cast<int>((w.y + w.height) / 2);
    if (static_cast<int>((w.x + w.width) / 2) < level.width ||
        (end < level.height && end < level.first + level.rows))
        return ZS_OK;
    const ptrdiff_t line = static_cast<ptrdiff_t>(w.pixel_space) * level.width;
    struct zs_band_window whole = w;
    whole.x = 0;
    whole.y = static_cast<uint64_t>(level.first);
    whole.width = static_cast<uint64_t>(level.width);
    whole.height = static_cast<uint64_t>(end - level.first);
    whole.data = level.pixels.get();
    whole.line_space = line;
    whole.band_space = line * level.rows;
    level.first = end;
    ZS_TRY(zs_pixels_write(&level.bands, &whole, static_cast<size_t>(w.pixel_space), nullptr, err));
    return TakeFor(i + 1, whole, err);
}

enum zs_status ZSCopiedLevels::Take(const struct zs_band_window &window, struct zs_error *err)
{
    return TakeFor(0, window, err);
}

std::unique_ptr<ShardedZarrDataset> ZSCopiedLevels::Finish()
{
    if (m_base != nullptr)
        m_base->overviews.SetFilled(m_levels.size());
    m_levels.clear();
    return std::move(m_base);
}
