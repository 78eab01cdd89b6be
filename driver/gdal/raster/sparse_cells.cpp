#include "sparse_cells.h"

#include <algorithm>
#include <cmath>

#include "dataset.h"
#include "window_dataset.h"

extern "C"
{
#include "raster/healpix.h"
}

namespace
{
/* Blocks of a band below each other, with its nodata and its mask: GDAL computes of it what is of these blocks. */
class BlocksBand final : public ZSPartialBand
{
    const std::shared_ptr<const ZSSparseCells::Blocks> m_blocks; // all as large
    std::unique_ptr<GDALRasterBand> m_mask;

  public:
    BlocksBand(GDALRasterBand &of, const std::shared_ptr<const ZSSparseCells::Blocks> &blocks)
        : ZSPartialBand(of), m_blocks(blocks)
    {
        const struct zs_pixel_box &first = blocks->front();
        nRasterXSize = nBlockXSize = static_cast<int>(first.width);
        nBlockYSize = static_cast<int>(first.height);
        nRasterYSize = nBlockYSize * static_cast<int>(blocks->size());
    }
    int GetMaskFlags() override
    {
        return m_of.GetMaskFlags();
    }
    GDALRasterBand *GetMaskBand() override
    {
        if (m_mask == nullptr)
            m_mask = std::make_unique<BlocksBand>(*m_of.GetMaskBand(), m_blocks);
        return m_mask.get();
    }

  protected:
    CPLErr IReadBlock(int, int row, void *data) override
    {
        const struct zs_pixel_box &block = (*m_blocks)[static_cast<size_t>(row)];
        return m_of.RasterIO(GF_Read, static_cast<int>(block.x), static_cast<int>(block.y), nBlockXSize, nBlockYSize,
                             data, nBlockXSize, nBlockYSize, eDataType, 0, 0, nullptr);
    }
};
} // namespace

/* A band of fewer blocks is read as it is. */
constexpr uint64_t LEAST_BLOCKS = 1024;
/* So many are held at most. */
constexpr size_t MOST_BLOCKS = 1 << 21;

/* Whether a block shows cells that no other block shows: squares without a face do not, and face 6 is shown twice. */
static bool isCounted(const ZSView &view, uint64_t x, uint64_t y)
{
    const uint64_t side = static_cast<uint64_t>(1) << view.Array(0).healpix.order;
    const int face = zs_healpix_face_at(view.sources[0].shown, static_cast<int>(x / side), static_cast<int>(y / side));
    return face >= 0 && !(view.IsWholeSphere() && face == ZS_HEALPIX_SPLIT_FACE && x < side);
}

static bool isBefore(const struct zs_pixel_box &a, const struct zs_pixel_box &b)
{
    return a.y != b.y ? a.y < b.y : a.x < b.x;
}

/* The first block that is not among the stored ones, which are in the order of rows. There is one. */
static struct zs_pixel_box findOther(const ZSView &view, const ZSSparseCells::Blocks &stored,
                                     struct zs_pixel_box block)
{
    while (!isCounted(view, block.x, block.y) || std::binary_search(stored.begin(), stored.end(), block, isBefore))
    {
        block.x += block.width;
        if (block.x >= static_cast<uint64_t>(view.width))
        {
            block.x = 0;
            block.y += block.height;
        }
    }
    return block;
}

bool ZSSparseCells::ReadOther(GDALRasterBand &band, const struct zs_pixel_box &block)
{
    const int x = static_cast<int>(block.x), y = static_cast<int>(block.y);
    unsigned char mask = 0;
    if (band.RasterIO(GF_Read, x, y, 1, 1, &m_otherValue, 1, 1, GDT_Float64, 0, 0, nullptr) != CE_None ||
        band.GetMaskBand()->RasterIO(GF_Read, x, y, 1, 1, &mask, 1, 1, GDT_Byte, 0, 0, nullptr) != CE_None)
        return false;
    m_isOtherValid = mask != 0 && !std::isnan(m_otherValue);
    return true;
}

std::unique_ptr<ZSSparseCells> ZSSparseCells::Of(ShardedZarrRasterBand &band)
{
    auto &ds = *static_cast<ShardedZarrDataset *>(band.GetDataset());
    const ZSView &view = ds.View();
    if (!view.IsHealpix() || (band.GetMaskFlags() & GMF_ALPHA) != 0 || GDALDataTypeIsComplex(band.GetRasterDataType()))
        return nullptr;
    int width, height;
    band.GetBlockSize(&width, &height);
    const int side = 1 << std::min(view.Array(0).healpix.order, ZS_HEALPIX_MAX_ORDER);
    if (side % width != 0 || side % height != 0)
        return nullptr;
    const double faces = view.sources[0].shown >= 0 ? 1 : ZS_HEALPIX_FACES;
    const double all = faces * (side / width) * (side / height);
    auto blocks = std::make_shared<Blocks>();
    if (all < LEAST_BLOCKS || !band.FindStoredBlocks(MOST_BLOCKS, *blocks))
        return nullptr;
    blocks->erase(std::remove_if(blocks->begin(), blocks->end(),
                                 [&](const struct zs_pixel_box &b) { return !isCounted(view, b.x, b.y); }),
                  blocks->end());
    const double stored = static_cast<double>(blocks->size());
    if (2 * stored > all || stored * height > INT_MAX)
        return nullptr;
    std::sort(blocks->begin(), blocks->end(), isBefore);
    std::unique_ptr<ZSSparseCells> sparse(new ZSSparseCells);
    sparse->m_blockSize = static_cast<double>(width) * height;
    sparse->m_otherCount = (all - stored) * sparse->m_blockSize;
    const auto other = std::make_shared<Blocks>(
        1, findOther(view, *blocks, {0, 0, static_cast<uint64_t>(width), static_cast<uint64_t>(height)}));
    sparse->m_other = std::make_unique<BlocksBand>(band, other);
    if (!blocks->empty())
        sparse->m_stored = std::make_unique<BlocksBand>(band, blocks);
    return sparse->ReadOther(band, other->front()) ? std::move(sparse) : nullptr;
}

/* Of the stored cells. */
CPLErr ZSSparseCells::CountValid(double &count) const
{
    GUIntBig all = 0;
    count = 0;
    const CPLErr result =
        m_stored != nullptr ? m_stored->GetHistogram(0, 1, 1, &all, TRUE, FALSE, GDALDummyProgress, nullptr) : CE_None;
    count = static_cast<double>(all);
    return result;
}

CPLErr ZSSparseCells::ComputeStatistics(bool isApproximate, double *found, GDALProgressFunc progress,
                                        void *progressData)
{
    const double others = m_isOtherValid ? m_otherCount : 0;
    double valid = 0;
    if (CountValid(valid) != CE_None)
        return CE_Failure;
    if (valid + others == 0)
    {
        CPLError(CE_Failure, CPLE_AppDefined, "Failed to compute statistics, no valid pixels found.");
        return CE_Failure;
    }
    std::fill_n(found, 3, m_otherValue);
    found[3] = 0;
    if (valid == 0)
        return CE_None;
    double own[4];
    const CPLErr result = m_stored->ComputeStatistics(isApproximate, &own[0], &own[1], &own[2], &own[3], progress,
                                                      progressData ZS_NO_STATISTICS_OPTIONS);
    if (result != CE_None || others == 0)
    {
        std::copy_n(own, 4, found);
        return result;
    }
    const double share = valid / (valid + others), apart = own[2] - m_otherValue;
    found[0] = std::min(own[0], m_otherValue);
    found[1] = std::max(own[1], m_otherValue);
    found[2] = m_otherValue + share * apart;
    found[3] = std::sqrt(share * (own[3] * own[3] + (1 - share) * apart * apart));
    return CE_None;
}

CPLErr ZSSparseCells::GetHistogram(double min, double max, int buckets, GUIntBig *histogram, int includeOutOfRange,
                                   int isApproximate, GDALProgressFunc progress, void *progressData)
{
    std::fill_n(histogram, buckets, 0);
    if (m_stored != nullptr && m_stored->GetHistogram(min, max, buckets, histogram, includeOutOfRange, isApproximate,
                                                      progress, progressData) != CE_None)
        return CE_Failure;
    std::vector<GUIntBig> other(static_cast<size_t>(buckets));
    if (m_other->GetHistogram(min, max, buckets, other.data(), includeOutOfRange, FALSE, GDALDummyProgress, nullptr) !=
        CE_None)
        return CE_Failure;
    const auto blocks = static_cast<GUIntBig>(m_otherCount / m_blockSize);
    for (int i = 0; i < buckets; i++)
        histogram[i] += blocks * other[static_cast<size_t>(i)];
    return CE_None;
}
