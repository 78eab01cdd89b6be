/* gdal/create/target.h: stores as directories of files: what is there, whether it may go, and removing it
 * (removal.cpp); and writing a new store aside, and putting it in place of the former one (target.cpp).
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
#include "zarr/contents.h"
#include "zarr/document.h"
}

/* ---- What is in a store's directory, and removing it (removal.cpp) ---- */

/* What is in a directory, of which nothing may be known yet. */
struct ZSContents
{
    struct zs_store *store = nullptr;
    struct zs_contents found = {};

    ZSContents() = default;
    CPL_DISALLOW_COPY_ASSIGN(ZSContents)
    ~ZSContents();

    /* False with CPLError emitted. orNoListings: a store that cannot be listed counts as empty. */
    bool Find(const std::string &path, bool orNoListings = false);
    /* Removes the store's own files, the root's zarr.json first, and its directory where nothing else is in it. False
     * with CPLError emitted. */
    bool Remove();

    /* Whether nothing is there but the mark of who makes a store. */
    bool IsEmpty() const
    {
        return found.foreign_count + found.directories.count + found.own.count == 0;
    }
    bool HasRoot() const
    {
        return found.own.count > 0 && EQUAL(found.own.list[0], "zarr.json");
    }
};

/* Whether what is at `root` may be replaced by a new store; isThere: whether there is anything. Else CPLError is
 * emitted: for anything but a store, a node of a store, a store with files that are not its own, and unless `overwrite`
 * one of more than one raster. `wasLeft`: the mark of a maker who is gone was there; what has no root is removed. */
bool zsMayReplace(const std::string &root, bool overwrite, bool wasLeft, bool &isThere);

/* Whether a maker's mark may be put into an object store: the next maker removes what has a mark and no root. Else
 * CPLError is emitted. */
bool zsMayMark(struct zs_store *store);

/* Removes the store's own files, without a message: the store was never in place. */
bool zsRemoveSilently(const std::string &store);

/* Removes what dead writers left beside a store. */
void zsRemoveLeftovers(const std::string &root);

/* Over a network GDAL remembers what was in the directory above: to be asked again, where something is there by now. */
void zsForgetListing(const std::string &path);

/* Whether a store is at a path. Else false with CPLError emitted: `otherwise`, unless that is a store of Zarr v2, or
 * could not be found out. */
bool zsHasRoot(const std::string &path, const char *otherwise);

/* Whether the store lies in an archive, which is only read. */
inline bool zsIsArchive(const std::string &store)
{
    return STARTS_WITH(store.c_str(), "/vsizip/");
}

/* Removes the overviews that GDAL keeps beside a local store, in NAME.zarr.ovr: they go with the store. */
void zsRemoveExternalOverviews(const std::string &store);

/* ---- A new store ---- */

/* A new store until it is published, or an array that is added to a store. The metadata wait in the hierarchy. What was
 * not published goes with this object, but for the pixels of an array: the next one of that name removes these. Close
 * the arrays of the store before. */
class ZSNewStore
{
    struct zs_staging m_staging = {nullptr, nullptr, false, -1}; /* without a root: an array is added */
    struct zs_store *m_marked = nullptr; /* the root of an object store, where this has put a mark */
    bool m_overwrite = false;
    bool m_fsync = true;
    bool m_isOpen = false; /* what is written is removed at the end */
    bool m_isLeft = false; /* something stays at the root: so does the mark */

    bool PutMark(const std::string &root, bool &wasLeft);
    bool Move();

  public:
    const std::shared_ptr<ZSStore> store = std::make_shared<ZSStore>(); /* where it is written: see Open() */

    ZSNewStore() = default;
    CPL_DISALLOW_COPY_ASSIGN(ZSNewStore)
    ~ZSNewStore();

    /* Refuses (CPLError emitted) what zsMayReplace() does. Then makes what is to be written to. With `fsync` the commit
     * is on the disk when it is done. */
    bool Begin(const std::string &root, bool overwrite, bool fsync);
    /* Begins, and opens `store` there, with an empty hierarchy. */
    bool Open(const std::string &root, bool overwrite, bool fsync);
    /* Opens an existing store, to which an array is added, in `store`. False with CPLError emitted. */
    bool OpenExisting(const std::string &root, bool fsync);

    /* Where to write; the store itself, where an array is added. */
    std::string Path() const
    {
        return m_staging.path != nullptr ? m_staging.path : store->name;
    }
    /* The path at which it is published, symbolic links at its end followed. */
    std::string Root() const
    {
        return m_staging.root != nullptr ? m_staging.root : store->name;
    }
    /* Puts what was written in its place, and removes what it replaces. False (CPLError emitted) on failure: what was
     * there is there. */
    bool Commit();
    /* Writes the metadata and commits. `store` goes on at Root(), each change flushed by itself. False (CPLError
     * emitted) on failure. */
    bool Publish();
};
