/* gdal/raster/dataset_statistics.h: statistics of a dataset, which are computed, and dropped when pixels change. */
#ifndef ZS_GDAL_DATASET_STATISTICS_H
#define ZS_GDAL_DATASET_STATISTICS_H

#include <memory>

#include "view.h"

class ShardedZarrDataset;

class ZSStatistics : public ZSDatasetPart
{
    ShardedZarrDataset &m_dataset;
    ZSView &m_view;
    std::unique_ptr<ShardedZarrDataset> m_cells; /* see CellsOf(); until pixels or properties change */
    bool m_isPending = false;
    bool m_isMaskSought = false; /* whether others have the arrays as their mask was looked for */

  public:
    ZSStatistics(ShardedZarrDataset &dataset, ZSView &view);
    ~ZSStatistics() override;

    /* Computes the statistics of all bands, for the store; a band of nodata alone gets none. */
    CPLErr Add(GDALProgressFunc progress, void *progressData);
    /* Drops statistics in the store when pixels are written: of the whole arrays of which this shows a selection, and
     * of rasters that have the arrays as their mask. */
    void SetOutdated();
    /* The dataset whose pixels statistics are computed of. A map of the whole sphere shows face 6 twice; here each cell
     * is counted once. Null when it is the dataset itself. */
    ShardedZarrDataset *CellsOf(int band);
    void ForgetCells();

    bool IsPending() const override
    {
        return m_isPending;
    }
    enum zs_status Flush(struct zs_error *err) override;
    void SetPublished() override
    {
        m_isPending = false;
    }
};

#endif
