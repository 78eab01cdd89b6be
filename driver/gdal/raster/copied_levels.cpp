#include "copied_levels.h"

#include <algorithm>
#include <new>

extern "C"
{
#include "raster/create.h"
#include "raster/pixels.h"
}

constexpr uint64_t MOST_BYTES = 128 << 20;

bool ZSCopiedLevels::Suits(const struct zs_raster_spec &spec, const std::string &resampling,
                           const std::vector<int> &factors)
{
    const int y = spec.axis_count, x = y + 1;
    if (spec.healpix != nullptr || spec.array_count != 1 || spec.is_not_consolidated)
        return false;
    if (spec.encoding.keepbits != 0)
        return false;
    const bool isSimple = STARTS_WITH_CI(resampling.c_str(), "NEAR") || EQUAL(resampling.c_str(), "AVERAGE");
    const bool isEven = spec.width % 2 == 0 && spec.height % 2 == 0 && spec.chunk[y] % 2 == 0 && spec.chunk[x] % 2 == 0;
    return isSimple && isEven && !factors.empty() && *std::min_element(factors.begin(), factors.end()) == 2;
}

CPLErr ZSCopiedLevels::Start(ShardedZarrDataset &base, const std::string &resampling, const std::vector<int> &factors,
                             int threads)
{
    m_base = &base;
    m_threads = threads;
    if (m_base->BeginLevels(resampling.c_str(), factors) != CE_None)
        return CE_Failure;
    for (int b = 1; b <= m_base->GetRasterCount(); b++)
    {
        GDALRasterBand &band = *m_base->GetRasterBand(b);
        ZSShrinking shrinking;
        const int flags = band.GetMaskFlags();
        if ((flags != GMF_ALL_VALID && flags != GMF_NODATA) || !shrinking.Start(band, resampling.c_str()) ||
            shrinking.type != band.GetRasterDataType())
            return CE_None;
        m_bands.push_back(shrinking);
    }
    int width = m_base->GetRasterXSize(), height = m_base->GetRasterYSize(), factor = 2;
    for (const auto &begun : m_base->m_begun)
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

/* Makes the pixels of the level's rows that a window of the level before has. */
void ZSCopiedLevels::Halve(Level &level, const struct zs_band_window &w) const
{
    const auto item = static_cast<ptrdiff_t>(w.pixel_space), line = item * level.width;
    const ZSPixelWindow pixels = {static_cast<int>(w.x / 2), static_cast<int>(w.y / 2), static_cast<int>(w.width / 2),
                                  static_cast<int>(w.height / 2)};
    for (size_t b = 0; b < w.band_count; b++)
    {
        ZSShrinking shrinking = m_bands[static_cast<size_t>(w.bands[b] - 1)];
        shrinking.fromWidth = 2 * level.width;
        shrinking.fromHeight = 2 * level.height;
        shrinking.toWidth = level.width;
        shrinking.toHeight = level.height;
        const auto from = static_cast<const unsigned char *>(w.data) + w.band_space * static_cast<ptrdiff_t>(b);
        unsigned char *to = level.pixels.get() +
                            line * (static_cast<ptrdiff_t>(b) * level.rows + pixels.y - level.first) +
                            item * pixels.x;
        shrinking.Make(pixels, from, w.line_space, nullptr, to, line, m_threads);
    }
}

enum zs_status ZSCopiedLevels::TakeFor(size_t i, const struct zs_band_window &w, struct zs_error *err)
{
    if (i == m_levels.size())
        return ZS_OK;
    Level &level = m_levels[i];
    if (w.y == 0 && w.x == 0)
        level.first = 0;
    Halve(level, w);
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

void ZSCopiedLevels::Finish()
{
    if (m_base != nullptr)
        m_base->m_filled = m_levels.size();
    m_levels.clear();
}
