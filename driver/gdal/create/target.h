/* gdal/create/target.h: writes a new store aside, and puts it in place of the former one.
 *
 * A store is written beside its path and published when it is complete (store/staging.h): cancelled, killed or failed,
 * what was there is there. In memory and on object stores, which do not rename, it is written in place, its root's
 * zarr.json last; one that replaces another is written under a prefix beside it and then copied, object by object. A
 * mark on object stores (store/staging.h) keeps others from making a store of that name at once. */
#pragma once

#include <memory>
#include <string>

#include "gdal/compat.h"
#include "gdal/handles.h"

extern "C"
{
#include "store/staging.h"
}

class ZSTarget
{
    struct zs_staging m_staging = {nullptr, nullptr, false, -1};
    struct zs_store *m_marked = nullptr; /* the root of an object store, where this has put a mark */
    std::string m_path;
    bool m_overwrite = false;
    bool m_canAppend = true;
    bool m_fsync = true;
    bool m_replaces = false;
    bool m_isOpen = false;

    bool PutMark(const std::string &root);
    bool Move();

  public:
    ZSTarget() = default;
    ZSTarget(const ZSTarget &) = delete;
    ZSTarget &operator=(const ZSTarget &) = delete;
    ~ZSTarget(); /* removes what was not published */

    /* Refuses (CPLError emitted) what zsMayReplace() does. Then makes what is to be written to. With `fsync` the commit
     * is on the disk when it is done. A refusal speaks of APPEND_SUBDATASET where the caller has that. */
    bool Open(const std::string &root, bool overwrite, bool fsync, bool canAppend = true);

    /* Whether what is written is flushed to the disk. */
    bool IsSynced() const
    {
        return m_fsync;
    }
    /* Where to write. */
    const std::string &Path() const
    {
        return m_path;
    }
    /* The path at which it is published, symbolic links at its end followed. */
    std::string Root() const
    {
        return m_staging.root != nullptr ? m_staging.root : "";
    }
    /* Publishes what was written and removes what it replaces. False (CPLError emitted) on failure: what was there
     * is there. */
    bool Commit();
};

/* Commits, and `store`, which was opened at Path(), goes on at Root(), each change flushed by itself where the target
 * is; the target is gone then. False (CPLError emitted) on failure: the target stays unless it was committed. */
bool zsPublishTarget(std::unique_ptr<ZSTarget> &target, struct zs_store *store);

/* A new raster until it is published: a store of its own, or a new group of an existing store. The metadata wait in
 * the hierarchy, which is deferred. What was not published goes with this object: close the arrays of the store
 * before. */
class ZSNewStore
{
    bool m_isPublished = false;

  public:
    const std::shared_ptr<ZSStore> store = std::make_shared<ZSStore>();
    std::unique_ptr<ZSTarget> target = std::make_unique<ZSTarget>();
    std::string group;      /* that a raster is appended as; "": it has a store of its own */
    bool isClaimed = false; /* the group is ours */

    ZSNewStore() = default;
    ZSNewStore(const ZSNewStore &) = delete;
    ZSNewStore &operator=(const ZSNewStore &) = delete;
    ~ZSNewStore();

    /* Writes the metadata and puts a store in its place, where it goes on afterwards. False (CPLError emitted) on
     * failure. */
    bool Publish();
};
