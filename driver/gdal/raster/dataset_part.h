/* gdal/raster/dataset_part.h: a dataset is made of parts, each with a state of its own; none knows another. */
#ifndef ZS_GDAL_DATASET_PART_H
#define ZS_GDAL_DATASET_PART_H

extern "C"
{
#include "base/status.h"
}

class ZSDatasetPart
{
  public:
    ZSDatasetPart() = default;
    ZSDatasetPart(const ZSDatasetPart &) = delete;
    ZSDatasetPart &operator=(const ZSDatasetPart &) = delete;
    virtual ~ZSDatasetPart() = default;

    /* Whether something was set that is not in the store. */
    virtual bool IsPending() const = 0;
    /* Hands it to the documents of the store, which are published together when all parts did so. */
    virtual enum zs_status Flush(struct zs_error *err) = 0;
    /* It was published. */
    virtual void SetPublished() = 0;
};

#endif
