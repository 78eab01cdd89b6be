#include "copy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "gdal/raster/copied_levels.h"
#include "gdal/raster/dataset.h"
#include "gdal/connection.h"
#include "files.h"
#include "gdal/guard.h"

extern "C"
{
#include "base/checked.h"
#include "base/descriptors.h"
#include "base/parallel.h"
#include "geo/georef.h"
#include "geo/scope.h"
#include "geo/cf.h"
#include "geo/coordinates.h"
#include "raster/pixels.h"
#include "store/staging.h"
}

/* Pixels held at once, in two strips: one is read while the other is written. A single strip up to this is better than
 * a source that is read more than once. */
constexpr uint64_t COPY_BYTES = 256 << 20;
/* A row of chunks of more bytes is read in boxes of about so many, and of some chunks for each thread. */
constexpr uint64_t BOX_BYTES = 8 << 20;
constexpr uint64_t CHUNKS_OF_THREAD = 8;
/* Each thread has a chunk of a step at least, so that all encode. Several, which end at different times, up to so many
 * bytes. */
constexpr uint64_t LEAST_OF_THREAD = 4;
constexpr uint64_t SEVERAL_BYTES = 32 << 20;

namespace
{
/* A step of a copy: whole chunks, except at the edges. */
struct Step
{
    int bands, rows, columns;
    int run; /* bands that follow each other in a box of the array: a step ends where they do */
};

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
    size_t item_size = 0;
    ZSCopiedLevels *levels = nullptr; /* that are made of it; null: none */
};

/* Writes one strip beside the caller's work. What it writes outlives it, however the copy ends. */
class Writing
{
  public:
    ~Writing()
    {
        static_cast<void>(Wait());
    }

    bool Wait()
    {
        struct zs_error err;
        const bool ok = zs_async_wait(m_async, &err) == ZS_OK;
        m_async = nullptr;
        if (!ok)
            zsReport(err);
        return ok;
    }

    bool Start(Strip &strip);

  private:
    struct zs_async *m_async = nullptr;
};
} // namespace

static enum zs_status writeStrip(void *ctx, size_t, struct zs_error *err)
{
    const auto &s = *static_cast<Strip *>(ctx);
    ZS_TRY(zs_pixels_write(&s.target, &s.window, s.item_size, nullptr, err));
    return s.levels != nullptr ? s.levels->Take(s.window, err) : ZS_OK;
}

bool Writing::Start(Strip &strip)
{
    m_async = zs_async_start(writeStrip, &strip);
    if (m_async == nullptr)
        CPLError(CE_Failure, CPLE_OutOfMemory, "cannot start to write");
    return m_async != nullptr;
}

static bool isPixelInterleaved(GDALDataset &source)
{
    const char *interleave = source.GetMetadataItem("INTERLEAVE", "IMAGE_STRUCTURE");
    return interleave != nullptr && EQUAL(interleave, "PIXEL");
}

/* How many bands to take: at least as many as are asked for, in whole chunks. They are all indices of the fast
 * dimensions, some of one dimension, and one of each slower dimension. */
static uint64_t bandsOfStep(const struct zs_raster_spec &spec, uint64_t asked, uint64_t bands, uint64_t &run)
{
    run = bands;
    for (int d = 0; d < spec.axis_count; d++)
    {
        const uint64_t size = spec.axes[d].size, inner = run / size, chunk = spec.chunk[d];
        if (chunk > 1 || asked > inner || d + 1 == spec.axis_count)
            return std::min((asked + chunk * inner - 1) / (chunk * inner) * chunk, size) * inner;
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

/* Bands whose pixels lie together in the source are read together, else it would be read once per band; and a chunk of
 * several bands needs them all. Rows of chunks are read whole, unless they are too much: then so many columns of them
 * as fit, one chunk at least. */
static Step stepOf(GDALDataset &source, const struct zs_raster_spec &spec, uint64_t item)
{
    const auto width = static_cast<uint64_t>(source.GetRasterXSize()),
               bands = static_cast<uint64_t>(source.GetRasterCount());
    const int y = spec.axis_count, x = y + 1;
    const uint64_t square = spec.healpix != nullptr ? squareOf(spec, item) : 0;
    const uint64_t rows = square > 0 ? square : std::min<uint64_t>(spec.chunk[y], spec.height),
                   column = square > 0 ? square : std::min<uint64_t>(spec.chunk[x], width);
    uint64_t group = isPixelInterleaved(source)
                         ? std::min(std::max<uint64_t>(1, COPY_BYTES / 2 / (item * width * rows)), bands)
                         : 1,
             run;
    group = bandsOfStep(spec, group, bands, run);
    uint64_t columns = width;
    if (item * group * rows * width > COPY_BYTES)
        columns = std::min(std::max<uint64_t>(1, COPY_BYTES / 2 / (item * group * rows * column)) * column, width);
    return {static_cast<int>(group), static_cast<int>(rows), static_cast<int>(columns), static_cast<int>(run)};
}

/* Whether GDAL's cache holds the blocks of a row of boxes until the last of these is read. */
static bool isHeld(GDALDataset &source, const Step &step, uint64_t item)
{
    int width, height;
    source.GetRasterBand(1)->GetBlockSize(&width, &height);
    const int rows = std::max(std::min(height, source.GetRasterYSize()), step.rows);
    const uint64_t held = item * static_cast<uint64_t>(source.GetRasterXSize()) * static_cast<uint64_t>(rows) *
                          static_cast<uint64_t>(step.bands);
    return held <= static_cast<uint64_t>(GDALGetCacheMax64()) / 2;
}

/* Makes the step higher, then of more bands, where it has not enough chunks for all threads: in a narrow raster, or
 * where a chunk is a whole map. */
static void enlarge(Step &step, const struct zs_raster_spec &spec, uint64_t bands, uint64_t item, int threads)
{
    const int y = spec.axis_count;
    const uint64_t most = static_cast<uint64_t>(threads), across = static_cast<uint64_t>(step.columns);
    uint64_t depth = 1, height = static_cast<uint64_t>(step.rows), group = static_cast<uint64_t>(step.bands);
    uint64_t run = static_cast<uint64_t>(step.run);
    for (int d = 0; d < y; d++)
        depth *= spec.chunk[d];
    const auto isBetter = [&](uint64_t rows, uint64_t count)
    {
        const uint64_t chunks = zs_ceil_div_u64(height, spec.chunk[y]) * zs_ceil_div_u64(across, spec.chunk[y + 1]) *
                                zs_ceil_div_u64(group, depth);
        const uint64_t bytes = item * across * rows * count;
        return chunks < most ? bytes <= COPY_BYTES / 2
                             : chunks < LEAST_OF_THREAD * most && bytes <= SEVERAL_BYTES;
    };
    for (uint64_t next; height < spec.height; height = next)
    {
        next = std::min(height + spec.chunk[y], spec.height);
        if (!isBetter(next, group))
            break;
    }
    for (uint64_t next; height == spec.height && group < bands; group = next)
    {
        next = std::min(bandsOfStep(spec, group + 1, bands, run), bands);
        if (next <= group || !isBetter(height, next))
            break;
    }
    static_cast<void>(bandsOfStep(spec, group, bands, run));
    step = {static_cast<int>(group), static_cast<int>(height), step.columns, static_cast<int>(run)};
}

/* Makes the step narrower where that costs nothing but memory that is not needed. */
static void divide(Step &step, GDALDataset &source, const struct zs_raster_spec &spec, uint64_t item, int threads)
{
    const uint64_t chunk = spec.chunk[spec.axis_count + 1], columns = static_cast<uint64_t>(step.columns);
    const uint64_t line = item * static_cast<uint64_t>(step.bands) * static_cast<uint64_t>(step.rows);
    const uint64_t most = std::max(BOX_BYTES, CHUNKS_OF_THREAD * static_cast<uint64_t>(threads) * line * chunk);
    if (line * columns <= most || !isHeld(source, step, item))
        return;
    const uint64_t boxes = (line * columns + most - 1) / most, chunks = (columns + chunk - 1) / chunk;
    step.columns = static_cast<int>(std::min(columns, (chunks + boxes - 1) / boxes * chunk));
}

/* Makes room for `size` bytes. */
static bool reserve(Strip &s, size_t size, const Box &box)
{
    if (size <= s.size)
        return true;
    s.pixels.reset();
    s.size = 0;
    s.pixels.reset(new (std::nothrow) unsigned char[size]);
    if (s.pixels == nullptr)
        return zsRefuse(CPLE_OutOfMemory,
                        "%d bands of %d x %d pixels, a chunk at least, need %llu bytes, which cannot be had", box.bands,
                        box.columns, box.rows, static_cast<unsigned long long>(size));
    s.size = size;
    return true;
}

/* Whether blocks of the source would be decoded once per box, because GDAL's cache cannot hold them between boxes:
 * blocks that are whole maps, for example. */
static bool isMapByMap(GDALDataset &source, const Step &step, uint64_t item)
{
    int width, height;
    source.GetRasterBand(1)->GetBlockSize(&width, &height);
    const int columns = std::min(width, source.GetRasterXSize()), rows = std::min(height, source.GetRasterYSize());
    const bool isShared = rows > step.rows || (rows > 1 && columns > step.columns);
    return isShared && !isPixelInterleaved(source) && !isHeld(source, step, item);
}

/* Reads pixels of the bands of a strip: from the scratch file where there is one. */
static bool readPixels(const ZSPixelSource &from, const ZSScratch &scratch, const Box &box, Strip &s)
{
    const auto item = static_cast<GSpacing>(GDALGetDataTypeSizeBytes(from.type));
    const GSpacing line = item * box.columns, plane = line * box.rows;
    if (scratch.IsOpen())
        return scratch.Read(box.band, box.bands, box.x, box.y, box.columns, box.rows, s.pixels.get());
    return from.dataset.RasterIO(GF_Read, box.x, box.y, box.columns, box.rows, s.pixels.get(), box.columns, box.rows,
                                 from.type, box.bands, s.bands.data(), item, line, plane, nullptr) == CE_None;
}

static bool readBox(const ZSPixelSource &from, const ZSScratch &scratch, const Box &box, Strip &s)
{
    const auto item = static_cast<GSpacing>(GDALGetDataTypeSizeBytes(from.type));
    const GSpacing line = item * box.columns, plane = line * box.rows;
    s.bands.resize(static_cast<size_t>(box.bands));
    std::iota(s.bands.begin(), s.bands.end(), box.band + 1);
    if (!reserve(s, static_cast<size_t>(plane) * s.bands.size(), box) || !readPixels(from, scratch, box, s))
        return false;
    s.item_size = static_cast<size_t>(item);
    s.window =
        zsBandWindow(box.x, box.y, box.columns, box.rows, s.pixels.get(), s.bands.data(), box.bands, item, line, plane);
    return true;
}

namespace
{
/* The copy of all pixels: box by box, of which one is read while the one before is encoded and written. */
class PixelCopy
{
  public:
    PixelCopy(const ZSPixelSource &from, const struct zs_raster &raster, const struct zs_raster_spec &spec, int threads,
              ZSCopiedLevels *levels, GDALProgressFunc progress, void *progressData)
        : m_from(from), m_source(from.dataset), m_raster(raster), m_spec(spec), m_levels(levels), m_progress(progress),
          m_progressData(progressData), m_scratch(from.dataset, from.type)
    {
        Plan(threads);
        if (m_levels != nullptr)
            m_levels->Reserve(m_step.bands, m_step.rows, static_cast<int>(m_spec.chunk[m_spec.axis_count]));
    }
    bool Run(const std::string &folder);

  private:
    const ZSPixelSource &m_from;
    GDALDataset &m_source;
    const struct zs_raster &m_raster;
    const struct zs_raster_spec &m_spec;
    ZSCopiedLevels *const m_levels;
    const GDALProgressFunc m_progress;
    void *const m_progressData;
    Step m_step = {};
    bool m_fitsTwice = false; /* else a strip is read when the one before is written */
    double m_done = 0, m_total = 0; /* in pixels */
    ZSScratch m_scratch;
    Strip m_strips[2];
    int m_next = 0;
    Writing m_writing; /* after the strips: gone before them */

    double MapPixels() const
    {
        return static_cast<double>(m_source.GetRasterXSize()) * m_source.GetRasterYSize();
    }
    void Plan(int threads);
    bool ReportProgress(double pixels);
    bool FillScratch(const Box &box);
    bool Take(const Box &box);
    bool TakeBoxes(Box box);
};
} // namespace

void PixelCopy::Plan(int threads)
{
    const auto item = static_cast<uint64_t>(GDALGetDataTypeSizeBytes(m_from.type));
    m_step = stepOf(m_source, m_spec, item);
    if (m_spec.healpix == nullptr)
    {
        enlarge(m_step, m_spec, static_cast<uint64_t>(m_source.GetRasterCount()), item, threads);
        divide(m_step, m_source, m_spec, item, threads);
    }
    const uint64_t most = item * static_cast<uint64_t>(m_step.bands) * static_cast<uint64_t>(m_step.rows) *
                          static_cast<uint64_t>(m_step.columns);
    m_fitsTwice = 2 * most <= COPY_BYTES;
}

bool PixelCopy::ReportProgress(double pixels)
{
    m_done += pixels;
    if (m_progress(m_done / m_total, nullptr, m_progressData))
        return true;
    return zsRefuse(CPLE_UserInterrupt, "User terminated CreateCopy()");
}

/* Takes the bands of a box into the scratch file, where there is one. */
bool PixelCopy::FillScratch(const Box &box)
{
    for (int band = box.band; m_scratch.IsOpen() && band < box.band + box.bands; band++)
    {
        if (!m_scratch.Take(box.band, band) || !ReportProgress(MapPixels()))
            return false;
    }
    return true;
}

bool PixelCopy::Take(const Box &box)
{
    const double pixels = static_cast<double>(box.rows) * box.columns * box.bands;
    Strip &s = m_strips[m_next];
    if (m_fitsTwice)
        m_next = 1 - m_next;
    else if (!m_writing.Wait())
        return false;
    s.target = zs_raster_bands(&m_raster);
    s.levels = m_levels;
    if (!readBox(m_from, m_scratch, box, s) || !m_writing.Wait())
        return false;
    return m_writing.Start(s) && ReportProgress(pixels);
}

/* Takes all pixels of the bands of `box`. */
bool PixelCopy::TakeBoxes(Box box)
{
    for (box.y = 0; box.y < m_source.GetRasterYSize(); box.y += box.rows)
    {
        box.rows = std::min(m_step.rows, m_source.GetRasterYSize() - box.y);
        for (box.x = 0; box.x < m_source.GetRasterXSize(); box.x += box.columns)
        {
            box.columns = std::min(m_step.columns, m_source.GetRasterXSize() - box.x);
            if (!Take(box))
                return false;
        }
    }
    return true;
}

bool PixelCopy::Run(const std::string &folder)
{
    const int bands = m_source.GetRasterCount();
    const auto item = static_cast<uint64_t>(GDALGetDataTypeSizeBytes(m_from.type));
    if (isMapByMap(m_source, m_step, item) && !m_scratch.Open(folder))
        CPLDebug("ShardedZarr", "no scratch file: the source is read several times");
    m_total = bands * MapPixels() * (m_scratch.IsOpen() ? 2 : 1);
    Box box = {};
    for (box.band = 0; box.band < bands; box.band += box.bands)
    {
        box.bands = std::min(m_step.bands, m_step.run - box.band % m_step.run);
        if (!FillScratch(box) || !TakeBoxes(box))
            return false;
    }
    return m_writing.Wait();
}

bool zsCopyPixels(const ZSPixelSource &from, const struct zs_raster &raster, const struct zs_raster_spec &spec,
                  int threads, const std::string &folder, ZSCopiedLevels *levels, GDALProgressFunc progress,
                  void *progressData)
{
    return PixelCopy(from, raster, spec, threads, levels, progress, progressData).Run(folder);
}

/* ---- Masks ---- */

bool zsHasOneMask(GDALDataset &source)
{
    for (int b = 1; b <= source.GetRasterCount(); b++)
    {
        const int flags = source.GetRasterBand(b)->GetMaskFlags();
        if ((flags & GMF_PER_DATASET) == 0 || (flags & (GMF_ALL_VALID | GMF_NODATA | GMF_ALPHA)) != 0)
            return false;
    }
    return source.GetRasterCount() > 0;
}

bool zsCopyMask(GDALDataset &source, const struct zs_raster &raster, const struct zs_raster_spec &spec)
{
    GDALRasterBand *mask = source.GetRasterBand(1)->GetMaskBand();
    const int width = source.GetRasterXSize(), height = source.GetRasterYSize(), one = 1;
    const auto chunk = static_cast<int>(std::min<uint64_t>(spec.chunk[spec.axis_count], spec.height));
    const struct zs_bands bands = zs_raster_mask(&raster);
    std::vector<GByte> pixels(static_cast<size_t>(width) * static_cast<size_t>(chunk));
    for (int y = 0; y < height; y += chunk)
    {
        const int rows = std::min(chunk, height - y);
        if (mask == nullptr || mask->RasterIO(GF_Read, 0, y, width, rows, pixels.data(), width, rows, GDT_Byte, 1,
                                              width, nullptr) != CE_None)
            return false;
        for (auto &pixel : pixels)
            pixel = pixel != 0 ? 255 : 0;
        const auto window = zsBandWindow(0, y, width, rows, pixels.data(), &one, 1, 1, width, 0);
        struct zs_error err;
        if (zs_pixels_write(&bands, &window, 1, nullptr, &err) != ZS_OK)
            return zsReport(err);
    }
    return true;
}

/* ---- What a copy declares ---- */

bool zsImpliesNodata(GDALRasterBand &band, const struct zs_raster_spec &spec, int depth)
{
    constexpr int MOST_DEEP = 16; // more than any made by hand
    unsigned char element[ZS_MAX_ITEM_SIZE] = {};
    std::string file, part;
    if (auto own = dynamic_cast<ShardedZarrRasterBand *>(&band))
        return own->ImpliesNodata() && ZSNodata(band).ToElement(spec.dtype.type, spec.dtype.size, element) &&
               memcmp(element, spec.nodata, spec.dtype.size) == 0;
    GDALDataset *virtualRaster = band.GetDataset();
    const ZSQuiet quiet;
    if (virtualRaster == nullptr || depth == MOST_DEEP ||
        !zsFirstSource(*virtualRaster, std::to_string(band.GetBand()), file, part))
        return false;
    const std::unique_ptr<GDALDataset> source(GDALDataset::Open(file.c_str(), GDAL_OF_RASTER));
    GDALRasterBand *below = source != nullptr ? source->GetRasterBand(atoi(part.c_str())) : nullptr;
    return below != nullptr && zsImpliesNodata(*below, spec, depth + 1);
}

/* ---- What a copy would lose ---- */

namespace
{
/* A list in words, each once. */
class Losses
{
    CPLStringList m_list;

  public:
    void Add(const std::string &what)
    {
        if (m_list.FindString(what.c_str()) < 0)
            m_list.AddString(what.c_str());
    }
    std::string Text() const
    {
        std::string text;
        for (int i = 0; i < m_list.size(); i++)
            text += std::string(i > 0 ? "; " : "") + m_list[i];
        return text;
    }
};
} // namespace

static void addDomains(GDALMajorObject &object, Losses &losses)
{
    const CPLStringList domains(object.GetMetadataDomainList());
    for (int i = 0; i < domains.size(); i++)
    {
        if (zsIsLostDomain(domains[i]) && CSLCount(object.GetMetadata(domains[i])) > 0)
            losses.Add(std::string("metadata domain ") + domains[i]);
    }
}

/* Properties that a copy loses: numbers that JSON does not have, a colour table without entries, the sign of bytes. */
static void addProperties(GDALRasterBand &band, Losses &losses)
{
    int hasScale = FALSE, hasOffset = FALSE;
    const double scale = band.GetScale(&hasScale), offset = band.GetOffset(&hasOffset);
    if ((hasScale && !std::isfinite(scale)) || (hasOffset && !std::isfinite(offset)))
        losses.Add("scale or offset that is not finite");
    if (band.GetColorTable() != nullptr && band.GetColorTable()->GetColorEntryCount() == 0)
        losses.Add("colour table without entries");
#if !ZS_GDAL_AT_LEAST(7) // which has a type of its own
    const char *sign = band.GetMetadataItem("PIXELTYPE", "IMAGE_STRUCTURE");
    if (sign != nullptr && EQUAL(sign, "SIGNEDBYTE"))
        losses.Add("PIXELTYPE=SIGNEDBYTE (bytes are written without a sign)");
#endif
}

/* The attribute table of a band that a store does not keep: its categories say all that is in the others. */
static const GDALRasterAttributeTable *tableBeside(GDALRasterBand &band)
{
    const GDALRasterAttributeTable *table = band.GetDefaultRAT();
    const auto own = dynamic_cast<ShardedZarrRasterBand *>(&band);
    const bool isKept = own != nullptr && own->IsTableInCategories();
    return table != nullptr && table->GetRowCount() > 0 && !isKept ? table : nullptr;
}

void zsCopyTables(GDALDataset &source, GDALDataset &copy)
{
    for (int b = 1; b <= std::min(source.GetRasterCount(), copy.GetRasterCount()); b++)
    {
        const auto table = tableBeside(*source.GetRasterBand(b));
        if (table != nullptr && copy.GetRasterBand(b)->SetDefaultRAT(table) != CE_None)
            CPLError(CE_Warning, CPLE_AppDefined, "%s: the attribute table of band %d is lost",
                     zsShown(copy.GetDescription()).c_str(), b);
    }
}

static void addBand(GDALRasterBand &band, GDALRasterBand &first, bool hasOneMask, bool hasSideCar, Losses &losses)
{
    addProperties(band, losses);
    if (!hasOneMask && zsHasMask(band))
        losses.Add("masks that are not one for all bands");
    addDomains(band, losses);
    if (!hasSideCar && tableBeside(band) != nullptr)
        losses.Add("raster attribute table");
    if (band.GetRasterDataType() != first.GetRasterDataType())
        losses.Add("data types that differ between bands (all become one that holds them)");
    if (ZSNodata(band).Text() != ZSNodata(first).Text())
        losses.Add("nodata values that differ between bands (that of band 1 is written)");
}

/* Whether items tell a scale that the band does not have: zsPropertiesOf() leaves them out. */
static bool hasItemsOfScale(GDALRasterBand &band)
{
    int hasScale = FALSE, hasOffset = FALSE;
    const bool isScaled = (band.GetScale(&hasScale) != 1 && hasScale) || (band.GetOffset(&hasOffset) != 0 && hasOffset);
    CSLConstList items = band.GetMetadata();
    return !isScaled &&
           (zsItemValue(items, "scale_factor") != nullptr || zsItemValue(items, "add_offset") != nullptr);
}

/* The variable with an attribute of one of these values among netCDF's items, "" where there is none. */
static std::string variableWith(GDALDataset &source, const std::vector<const char *> &attributes)
{
    CSLConstList items = source.GetMetadata();
    for (int i = 0; i < CSLCount(items); i++)
    {
        const char *hash = strchr(items[i], '#');
        if (hash != nullptr && std::any_of(attributes.begin(), attributes.end(),
                                           [&](const char *wanted) { return strcmp(hash + 1, wanted) == 0; }))
            return std::string(items[i], hash);
    }
    return "";
}

bool zsPlaneNames(GDALDataset &source, std::string &x, std::string &y)
{
    const auto own = dynamic_cast<ShardedZarrDataset *>(&source);
    if (own == nullptr)
    {
        x = variableWith(source, {"axis=X", "standard_name=longitude", "standard_name=projection_x_coordinate"});
        y = variableWith(source, {"axis=Y", "standard_name=latitude", "standard_name=projection_y_coordinate"});
    }
    else if (!own->View().IsHealpix() && own->View().Array(0).axes.y >= 0)
    {
        const ZSArray &array = own->View().Array(0);
        const char *names[] = {zs_dimension_name(array.node, array.axes.x),
                               zs_dimension_name(array.node, array.axes.y)};
        x = names[0] != nullptr ? names[0] : "";
        y = names[1] != nullptr ? names[1] : "";
    }
    return !x.empty() && !y.empty();
}

bool zsArePlaneNames(const std::string &x, const std::string &y)
{
    return x != y && zsIsArrayName(x) && zsIsArrayName(y) && zs_name_axis(x.c_str()) != 'Y' &&
           zs_name_axis(y.c_str()) != 'X';
}

/* Names of X and Y, and scalar coordinates: a raster has no place for these. */
static void addCoordinates(GDALDataset &source, Losses &losses)
{
    std::string x, y;
    if (zsPlaneNames(source, x, y) && !zsArePlaneNames(x, y))
        losses.Add("the names of X and Y, " + x + " and " + y);
    const auto own = dynamic_cast<ShardedZarrDataset *>(&source);
    if (own == nullptr)
        return;
    const struct zs_node *node = own->View().Array(0).node;
    struct zs_hierarchy *hierarchy = own->View().store->hierarchy;
    struct zs_scope scope;
    zs_scope_find(hierarchy, node, &scope);
    const char *rest = zs_json_text(node->attributes, "coordinates", nullptr);
    const char *mapping = zs_json_text(node->attributes, "grid_mapping", nullptr);
    char word[256];
    while (rest != nullptr && (rest = zs_next_word(rest, word, sizeof word)) != nullptr)
    {
        bool ignored;
        const struct zs_node *variable = zs_scope_array(hierarchy, &scope, nullptr, word, &ignored);
        if (variable != nullptr && variable->array != nullptr && variable->array->ndim == 0 &&
            strcmp(word, ZS_GRID_MAPPING) != 0 && !zs_has_word(mapping, word, true))
            losses.Add(std::string("scalar coordinate ") + word + " (gdalmdimtranslate keeps it)");
    }
}

bool zsCheckLosses(const char *name, GDALDataset &source, bool hasSideCar, bool strict)
{
    Losses losses;
    bool hasItems = false;
    if (!ZSGcps(source.GetGCPCount(), source.GetGCPs(), nullptr).IsKept())
        losses.Add("ground control points (more than 65536, or not finite)");
    const OGRSpatialReference *srs = source.GetSpatialRef();
    if (srs != nullptr && srs->GetCoordinateEpoch() > 0) // only WKT or code of a CRS is written
        losses.Add("coordinate epoch of the CRS");
    double transform[6];
    if (zsReadTransform(source, transform) && !zs_transform_is_valid(transform))
        losses.Add("geotransform that cannot be inverted");
    addDomains(source, losses);
    addCoordinates(source, losses);
    const auto own = dynamic_cast<ShardedZarrDataset *>(&source);
    if (own != nullptr && own->georef->HasIrregularAxes())
        losses.Add("coordinates of X or Y that are not regular (gdalmdimtranslate keeps them)");
    const bool hasOneMask = zsHasOneMask(source);
    for (int b = 1; b <= source.GetRasterCount(); b++)
    {
        addBand(*source.GetRasterBand(b), *source.GetRasterBand(1), hasOneMask, hasSideCar, losses);
        hasItems = hasItems || hasItemsOfScale(*source.GetRasterBand(b));
    }
    if (hasItems) // not a loss where the pixels are unscaled, which no one can tell
        CPLError(CE_Warning, CPLE_AppDefined,
                 "%s: left out are the items scale_factor and add_offset of bands without a scale: readers apply them",
                 zsShown(name).c_str());
    const std::string text = losses.Text();
    if (text.empty())
        return true;
    if (strict)
        CPLError(CE_Failure, CPLE_NotSupported, "%s: not copied, because strict, and this would be lost: %s",
                 zsShown(name).c_str(), text.c_str());
    else
        CPLError(CE_Warning, CPLE_NotSupported, "%s: lost in the copy: %s", zsShown(name).c_str(), text.c_str());
    return !strict;
}

/* ---- The scratch file ---- */

/* Pixels of a band that are read at once: whole rows of the source's blocks, one at least. */
constexpr size_t FILL_BYTES = 64 << 20;
static const char WHAT[] = "scratch file of a copy"; // which has no path

/* A file without a name; should this process end before that is gone, the next writer removes it. */
static int openIn(const char *folder)
{
    struct zs_error err;
    char *path = nullptr;
    int file = -1;
    if (zs_temporary_create(folder, &file, &path, &err) != ZS_OK)
        return -1;
    unlink(path);
    free(path);
    return file;
}

bool ZSScratch::Open(const std::string &folder)
{
    struct stat st;
    if (stat(folder.c_str(), &st) == 0 && S_ISDIR(st.st_mode))
        m_file = openIn(folder.c_str());
    if (m_file < 0)
        m_file = openIn(CPLGetConfigOption("CPL_TMPDIR", "/tmp"));
    return m_file >= 0;
}

ZSScratch::~ZSScratch()
{
    if (m_file >= 0)
        close(m_file);
}

bool ZSScratch::Take(int first, int band)
{
    m_band = first;
    const int width = m_source.GetRasterXSize(), height = m_source.GetRasterYSize();
    const auto line = static_cast<size_t>(GDALGetDataTypeSizeBytes(m_type)) * static_cast<size_t>(width);
    int blockWidth, blockHeight;
    GDALRasterBand *source = m_source.GetRasterBand(band + 1);
    source->GetBlockSize(&blockWidth, &blockHeight);
    const auto block = static_cast<size_t>(std::min(blockHeight, height));
    const size_t rows = std::max<size_t>(1, FILL_BYTES / line / block) * block;
    std::vector<unsigned char> pixels(line * std::min(rows, static_cast<size_t>(height)));
    const uint64_t at = uint64_t{line} * static_cast<size_t>(height) * static_cast<size_t>(band - first);
    for (int y = 0; y < height; y += static_cast<int>(rows))
    {
        const int count = static_cast<int>(std::min(rows, static_cast<size_t>(height - y)));
        struct zs_error err;
        if (source->RasterIO(GF_Read, 0, y, width, count, pixels.data(), width, count, m_type, 0, 0, nullptr) !=
            CE_None)
            return false;
        if (zs_file_write_at(m_file, WHAT, at + line * static_cast<size_t>(y), pixels.data(),
                             line * static_cast<size_t>(count), &err) != ZS_OK)
            return zsReport(err);
    }
    return true;
}

bool ZSScratch::Read(int band, int bands, int x, int y, int columns, int rows, unsigned char *pixels) const
{
    const auto item = static_cast<size_t>(GDALGetDataTypeSizeBytes(m_type));
    const auto width = static_cast<size_t>(m_source.GetRasterXSize()),
               height = static_cast<size_t>(m_source.GetRasterYSize());
    const bool isWhole = static_cast<size_t>(columns) == width;
    const size_t run = item * static_cast<size_t>(columns) * static_cast<size_t>(isWhole ? rows : 1);
    for (int b = 0; b < bands; b++)
    {
        for (int row = 0; row < rows; row += isWhole ? rows : 1, pixels += run)
        {
            const size_t line = static_cast<size_t>(band - m_band + b) * height + static_cast<size_t>(y + row);
            struct zs_error err;
            if (zs_file_read_at(m_file, WHAT, item * (line * width + static_cast<size_t>(x)), run, pixels, &err) !=
                ZS_OK)
                return zsReport(err);
        }
    }
    return true;
}
