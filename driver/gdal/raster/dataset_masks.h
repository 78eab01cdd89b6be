/* gdal/raster/dataset_masks.h: masks: arrays beside a raster's that say which pixels are valid, as datasets of Byte
 * whose bands are GDAL's masks. */
#ifndef ZS_GDAL_DATASET_MASKS_H
#define ZS_GDAL_DATASET_MASKS_H

#include <memory>
#include <vector>

#include "view.h"

extern "C"
{
#include "raster/masks.h"
}

class ShardedZarrDataset;

/* What says which pixels of an array's bands are valid. */
struct ZSMask
{
    bool isThere = false;
    bool isNamed = false; /* the array names it: then it goes before a nodata value */
    struct zs_mask found = {};
    /* A dataset of Byte, 0 and 255, with a band for each slice of the mask; null where it could not be opened. Shared
     * by the arrays that have one mask. */
    std::shared_ptr<ShardedZarrDataset> dataset;
};

class ZSMasks : public ZSDatasetPart
{
    ShardedZarrDataset &m_dataset;
    ZSView &m_view;
    bool m_isFound = false;
    std::vector<ZSMask> m_masks; /* of each array; read when first asked for */
    bool m_keepsLevels = false;
    bool m_isAdded = false, m_isLost = false, m_isWhole = true;

    void Find();
    void FindOf(size_t source);
    void Open(size_t source, const ZSBandSource &mask);

  public:
    ZSMasks(ShardedZarrDataset &dataset, ZSView &view) : m_dataset(dataset), m_view(view)
    {
    }

    /* The mask of an array; of an overview, that of its base. */
    const ZSMask &Of(size_t source);
    /* The band of that mask's dataset which belongs to a band of the raster. */
    int BandOf(int band);
    /* Whether all bands have the same mask. */
    bool IsOne();
    /* Each dataset of masks once. */
    std::vector<ShardedZarrDataset *> Datasets();
    /* Makes one for all bands. CE_Failure with CPLError emitted. */
    CPLErr Create();

    /* Tells that new overviews need none of the mask, which has its own. */
    void KeepLevels()
    {
        m_keepsLevels = true;
    }
    CPLErr MakeLevels(const char *resampling, const std::vector<int> &factors, CSLConstList options);

    CPLErr FlushPixels(bool atClosing);
    /* A new mask is named by its arrays only when it is whole: else nothing is published. */
    bool IsWhole() const
    {
        return m_isWhole;
    }
    void Close()
    {
        m_masks.clear();
    }

    /* Its documents are handed over when it is made. */
    bool IsPending() const override
    {
        return m_isAdded;
    }
    enum zs_status Flush(struct zs_error *) override
    {
        return ZS_OK;
    }
    void SetPublished() override
    {
        m_isAdded = false;
    }
};

#endif
