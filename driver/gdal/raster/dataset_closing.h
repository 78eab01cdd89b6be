/* gdal/raster/dataset_closing.h: what waits for the end of a new dataset: putting its store in place (gdal/target.h),
 * overviews and statistics; and whom their progress is reported to. */
#ifndef ZS_GDAL_DATASET_CLOSING_H
#define ZS_GDAL_DATASET_CLOSING_H

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gdal/compat.h"
#include "gdal/target.h"
#include "view.h"

class ZSClosing
{
    ZSView &m_view;
    bool m_isDone = false;
    GDALProgressFunc m_progress = GDALDummyProgress;
    void *m_progressData = nullptr;
    std::vector<int> m_factors; /* of overviews to be made */
    std::string m_resampling;
    bool m_hasStatistics = false;
    std::unique_ptr<ZSMark> m_mark;     /* of a new one on an object store: others make none there until it is closed */
    std::unique_ptr<ZSTarget> m_target; /* what it replaces at the first flush; until then it is written beside that */

  public:
    explicit ZSClosing(ZSView &view) : m_view(view)
    {
    }

    /* Overviews to be made at the end; none without factors. Resampling "": as the bands say then. */
    void SetOverviews(const std::vector<int> &factors, const std::string &resampling)
    {
        m_factors = factors;
        m_resampling = resampling;
    }
    bool HasOverviews() const
    {
        return !m_factors.empty();
    }
    /* Returns their factors and forgets them: overviews are made once, even after a failure. */
    std::vector<int> TakeOverviews(std::string &resampling)
    {
        resampling = m_resampling;
        return std::exchange(m_factors, {});
    }
    void SetStatistics()
    {
        m_hasStatistics = true;
    }
    bool HasStatistics() const
    {
        return m_hasStatistics;
    }

    void SetProgress(GDALProgressFunc progress, void *progressData)
    {
        m_progress = progress != nullptr ? progress : GDALDummyProgress;
        m_progressData = progressData;
    }
    GDALProgressFunc Progress() const
    {
        return m_progress;
    }
    void *ProgressData() const
    {
        return m_progressData;
    }

    /* The dataset was written beside what it replaces: TakePlace(), at the first flush, puts it in place. */
    void SetTarget(std::unique_ptr<ZSTarget> target)
    {
        m_target = std::move(target);
    }
    /* Others make no store there until the dataset is closed. */
    void HoldMark(std::unique_ptr<ZSMark> mark)
    {
        m_mark = std::move(mark);
    }
    /* Does nothing without a target. Replaces no store by one that has lost pixels. Sets `entry` to the zarr.json of a
     * local store that was put in place. CE_Failure with CPLError emitted. */
    CPLErr TakePlace(bool hasLost, std::string &entry);

    /* The dataset was closed: nothing is flushed any more. */
    void SetDone()
    {
        m_isDone = true;
    }
    bool IsDone() const
    {
        return m_isDone;
    }
};

#endif
