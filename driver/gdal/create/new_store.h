/* gdal/create/new_store.h: where a new raster is written until it is published, by Create() and CreateCopy() alike: a
 * store of its own, out of sight (target.h), or a claimed group of an existing store. */
#pragma once

#include <memory>
#include <string>

#include "gdal/handles.h"
#include "target.h"

/* The metadata wait in the hierarchy, which is deferred. What was not published goes with this object: close the arrays
 * of the store before. */
class ZSNewStore
{
  public:
    const std::shared_ptr<ZSStore> store = std::make_shared<ZSStore>();
    std::unique_ptr<ZSTarget> target = std::make_unique<ZSTarget>();
    std::string group;      /* that a raster is appended as; "": it has a store of its own */
    bool isClaimed = false; /* the group is ours */

    ZSNewStore() = default;
    ZSNewStore(const ZSNewStore &) = delete;
    ZSNewStore &operator=(const ZSNewStore &) = delete;
    ~ZSNewStore();

    bool IsAppended() const
    {
        return !group.empty();
    }
    /* Writes the metadata and puts a store in its place, where it goes on afterwards. False (CPLError emitted) on
     * failure: it can be tried again. */
    bool Publish();

  private:
    bool m_isPublished = false;
};
