/* gdal/create/target.h: where a creation writes, and what becomes of what is there.
 *
 * A new store is written beside its path and published when it is complete (store/staging.h): cancelled, killed or
 * failed, what was there is there. On object stores, which do not rename, it is written in place, its root zarr.json
 * last; one that replaces another is written under a prefix beside it and then copied, object by
 * object. A mark there keeps others from making a store of that name at once. */
#pragma once

#include <memory>
#include <string>

#include "gdal/compat.h"

extern "C"
{
#include "store/staging.h"
#include "zarr/document.h"
}

/* Holds a mark (store/mark.h) at the root of a store, from before the first chunk to the end of this object: no other
 * program makes a store there meanwhile. Local stores have no such mark, nor have commits that carry no condition. */
class ZSMark
{
    struct zs_store *m_store = nullptr;

  public:
    ZSMark() = default;
    ZSMark(const ZSMark &) = delete;
    ZSMark &operator=(const ZSMark &) = delete;
    ~ZSMark();
    /* False (CPLError emitted) where somebody else makes it. */
    bool Put(const std::string &root, bool overwrite);
    bool IsPut() const
    {
        return m_store != nullptr;
    }
};

class ZSTarget
{
    std::string m_name; /* as the user gave it */
    struct zs_staging m_staging = {nullptr, nullptr, false, -1, 0};
    std::string m_path;
    bool m_overwrite = false;
    bool m_canAppend = true;
    bool m_fsync = true;
    bool m_replaces = false;
    bool m_isOpen = false;
    ZSMark m_mark;

    bool PutMark(const std::string &root);
    bool Move();

  public:
    ZSTarget() = default;
    ZSTarget(const ZSTarget &) = delete;
    ZSTarget &operator=(const ZSTarget &) = delete;
    ~ZSTarget(); /* removes what was not published */

    /* Refuses (CPLError emitted, nothing touched) what must not be overwritten: anything but a store, a node of a
     * store, a store with files that are not its own, and unless `overwrite` one of more than one raster. Then makes
     * what is to be written to. With `fsync` the commit is on the disk when it is done. A refusal speaks of
     * APPEND_SUBDATASET where the caller has that. */
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
    /* Copies a store to Path() on an object store, the root's zarr.json last. False (CPLError emitted) on failure, and
     * where something in it is not of the store. */
    bool CopyFrom(const std::string &store);
    /* Publishes what was written and removes what it replaces. False (CPLError emitted) on failure: what was there
     * is there. */
    bool Commit();
};

/* Commits, and `store`, which was opened at Path(), goes on at Root(), each change flushed by itself where the target
 * is; the target is gone then. False (CPLError emitted) on failure: the target stays unless it was committed. */
bool zsPublishTarget(std::unique_ptr<ZSTarget> &target, struct zs_store *store);

/* Renames a store where nothing does that: copies it, and removes it when all is there. At each moment one of the two
 * is whole, and the other is that, too, or has no root. False (CPLError emitted) on failure. */
bool zsMoveStore(const std::string &from, const std::string &to);
