/* gdal/create/files.h: stores as directories of files, and what lies beside them: what is there, whether it may go, and
 * removing it. */
#pragma once

#include <string>

#include "gdal/compat.h"

extern "C"
{
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
    ZSContents(const ZSContents &) = delete;
    ZSContents &operator=(const ZSContents &) = delete;
    ~ZSContents();

    /* The first emits CPLError and may count a store that cannot be listed as empty; the second emits nothing. */
    bool Find(const std::string &path, bool orNoListings = false);
    bool FindSilently(const std::string &path);
    /* False with CPLError emitted. */
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
 * one of more than one raster. */
bool zsMayReplace(const std::string &root, bool overwrite, bool canAppend, bool &isThere);

/* Removes a store that is replaced, and nothing that is not its own: a warning says what stays. */
bool zsRemoveReplaced(const std::string &store);

/* Removes the store's own files, without a message: the store was never in place. */
void zsRemoveSilently(const std::string &store);

/* Removes what dead writers left beside a store. */
void zsRemoveLeftovers(const std::string &root);

/* Over a network GDAL remembers what was in the directory above: to be asked again, where something is there by now. */
void zsForgetListing(const std::string &path);

/* Whether a store is at a path. Else false with CPLError emitted: `otherwise`, unless that is a store of Zarr v2, or
 * could not be found out. */
bool zsHasRoot(const std::string &path, const char *otherwise);

/* ---- Beside a store ---- */

/* Whether the store lies in an archive, which is only read. */
inline bool zsIsArchive(const std::string &store)
{
    return STARTS_WITH(store.c_str(), "/vsizip/");
}

/* Removes the overviews that GDAL keeps beside a local store, in NAME.zarr.ovr: they go with the store. */
void zsRemoveExternalOverviews(const std::string &store);
