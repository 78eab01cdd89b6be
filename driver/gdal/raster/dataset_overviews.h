/* gdal/raster/dataset_overviews.h: overviews of a dataset: those in the store and those beside it, found, made and
 * removed. */
#ifndef ZS_GDAL_DATASET_OVERVIEWS_H
#define ZS_GDAL_DATASET_OVERVIEWS_H

#include <memory>
#include <string>
#include <vector>

#include "gdal/compat.h"
#include "view.h"

class ShardedZarrDataset;

class ZSOverviews
{
    ShardedZarrDataset &m_dataset;
    ZSView &m_view;
    bool m_isFound = false;
    std::vector<std::unique_ptr<ShardedZarrDataset>> m_levels; /* of the store */
    /* Overviews beside the store, in <m_beside>.ovr, as GDAL keeps them for files that are not to be changed. Only the
     * one raster of a local store has them: "" for all others. */
    std::string m_beside;
    GDALDefaultOverviews m_external;

    void Add(ZSArray &base, const struct zs_node *node, const ZSOpenOptions &options);
    enum zs_status Open(ZSArray &base, struct zs_error *err);
    void Find();
    void Forget();
    int ExternalCount()
    {
        return m_external.IsInitialized() ? m_external.GetOverviewCount(1) : 0; // the former looks for the file
    }

  public:
    ZSOverviews(ShardedZarrDataset &dataset, ZSView &view);
    ~ZSOverviews();
    ZSOverviews(const ZSOverviews &) = delete;
    ZSOverviews &operator=(const ZSOverviews &) = delete;

    int Count();
    GDALRasterBand *Get(int band, int i);

    /* The dataset is the one raster of the store at that path. */
    void KeepBeside(const std::string &store);
    const std::string &Beside() const
    {
        return m_beside;
    }
    CPLErr BuildBeside(const char *resampling, int count, const int *factors, int bandCount, const int *bandList,
                       GDALProgressFunc progress, void *progressData, CSLConstList options);

    /* Replaces the overviews by levels of the given factors. The arrays of a group are done one after the other: after
     * a failure, some have new levels. */
    CPLErr Make(const char *resampling, const std::vector<int> &factors, GDALProgressFunc progress, void *progressData,
                CSLConstList options);
    CPLErr MakeOfEach(const char *resampling, const std::vector<int> &factors, GDALProgressFunc progress,
                      void *progressData, CSLConstList options);
    /* Removes those in the store and those beside it. */
    CPLErr Remove();

    CPLErr FlushPixels();
    CPLErr Close();
};

/* Fills a band of a level by resampling that of `from`, which is larger: where anything is stored (dataset_levels.cpp).
 * CE_Failure with CPLError emitted. */
CPLErr zsMakeLevelBand(ShardedZarrDataset &from, ShardedZarrDataset &level, int band, const char *resampling,
                       GDALProgressFunc progress, void *progressData, CSLConstList options);

#endif
