/* gdal/target.h: where a creation writes, and what becomes of what is there.
 *
 * A new store is written beside its place and put there when it is complete (store/staging.h): cancelled, killed or
 * failed, what was there is there. On object stores, which do not rename, it is written in place, its root zarr.json
 * last; one that replaces another is written under a prefix beside it and then copied, object by
 * object. A mark there keeps others from making a store of that name at once. */
#ifndef ZS_GDAL_TARGET_H
#define ZS_GDAL_TARGET_H

#include <memory>
#include <string>

#include "compat.h"

extern "C"
{
#include "store/staging.h"
#include "zarr/document.h"
}

/* Holds a mark (store/mark.h) at the root of a store, from before the first chunk to the end of this object: no other
 * program makes a store there meanwhile. Local stores have no such mark, nor have servers that take no condition. */
class ZSMark
{
    struct zs_store *m_store = nullptr;

  public:
    ZSMark() = default;
    ZSMark(const ZSMark &) = delete;
    ZSMark &operator=(const ZSMark &) = delete;
    ~ZSMark();
    /* False (CPLError emitted) where somebody else makes it. */
    bool Put(const std::string &root);
    bool IsPut() const
    {
        return m_store != nullptr;
    }
    /* ZS_OK unless another program took over meanwhile, also where no mark was put. */
    enum zs_status Check(struct zs_error *err) const;
    /* Has commits to the store at the same root look likewise, after a long pause. False (CPLError emitted) without
     * memory. */
    bool Hold(struct zs_store *store) const;
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
    std::unique_ptr<ZSMark> m_mark;

    bool PutMark(const std::string &root);
    enum zs_status CheckMark(struct zs_error *err) const;
    bool Move();

  public:
    ZSTarget() = default;
    ZSTarget(const ZSTarget &) = delete;
    ZSTarget &operator=(const ZSTarget &) = delete;
    ~ZSTarget(); /* removes what was not put in place */

    /* Refuses (CPLError emitted, nothing touched) a place that is, holds or lies in a source of the copy (may be null),
     * and what must not be overwritten: anything but a store, a store with files that are not its own, and unless
     * `overwrite` one that was not written as one raster. Then makes what is to be written to. With `fsync` the commit
     * is on the disk when it is done. A refusal speaks of APPEND_SUBDATASET where the caller has that. */
    bool Open(const std::string &root, GDALDataset *source, bool overwrite, bool fsync, bool canAppend = true);

    /* Where to write. */
    const std::string &Path() const
    {
        return m_path;
    }
    /* The place, symbolic links at its end followed. */
    std::string Root() const
    {
        return m_staging.root != nullptr ? m_staging.root : "";
    }
    /* Whether something is there now that the commit replaces. */
    bool Replaces() const
    {
        return m_replaces;
    }
    /* Before the root's metadata are written: false (CPLError emitted) where this program did nothing for so long that
     * another one took over. What is there stays then: it is the other's. */
    bool IsOurs();
    /* Puts what was written in place and removes what it replaces. False (CPLError emitted) on failure: what was there
     * is there. */
    bool Commit();
    /* Has commits to the store that was opened at Path() look, after a long pause, whether it is still ours. False
     * (CPLError emitted) without memory. */
    bool Hold(struct zs_store *store) const;
    /* Hands the mark over to a dataset that goes on to write; without this call the target's end removes it. */
    std::unique_ptr<ZSMark> TakeMark()
    {
        return std::move(m_mark);
    }
};

/* Commits, and `store`, which was opened at Path(), goes on at its place; the target is gone then. False (CPLError
 * emitted) on failure: the target stays unless it was committed. */
bool zsTakePlace(std::unique_ptr<ZSTarget> &target, struct zs_store *store);

/* For Delete(): removes a store, its root's metadata first, if it is one raster and holds nothing of others. Else false
 * (CPLError emitted), as on failure: who makes room for a new raster (rasterio) deletes before he tells with what
 * options. With ALL in the configuration any store goes; what is not its own stays, and a warning says so. */
bool zsDeleteStore(const std::string &store);

/* Removes the store's own files, without a message: the store was never in place. */
void zsRemoveSilently(const std::string &store);

/* Over a network GDAL remembers what was in the directory above: to be asked again, where something is there by now. */
void zsForgetListing(const std::string &path);

/* Whether a directory that is no store holds what a killed writer left of one, and nothing else. */
bool zsIsLeftover(const std::string &path);
bool zsIsLink(const std::string &path);

/* Whether a store is at a path. Else false with CPLError emitted: `otherwise`, unless that is a store of Zarr v2, or
 * could not be found out. */
bool zsHasRoot(const std::string &path, const char *otherwise);

/* Name of an archive while it is being packed, in a directory beside its place. */
#define ZS_PACKED_NAME "packed.zarr.zip"

/* Removes what writers that are gone left beside a place. */
void zsRemoveLeftovers(const std::string &root);

/* Whether all that is in the directory of a store, or of what is left of one, is its own. Else CPLError is emitted. */
bool zsIsAllOwn(const std::string &store);

/* ---- What a source is read from (sources.cpp) ---- */

/* Whether `path` is, holds, or lies in a file or store that the dataset reads from, through virtual rasters,
 * subdatasets, overviews, links and other spellings of a path; `which` is its name then. */
bool zsIsSource(GDALDataset &source, const std::string &path, std::string &which);

/* Whether this program has a dataset open on the store, which would lose its pixels with it; by any spelling. */
bool zsIsOpenHere(const std::string &store);

/* ---- Stores as directories of files (files.cpp) ---- */

/* Whether the store lies in an archive, where each file can be written once, one after the other. */
bool zsIsArchive(const std::string &store);
/* Whether a copy may write an archive: nothing is there, or a zipped store that the source does not read. Else CPLError
 * is emitted. */
bool zsMayReplaceArchive(const std::string &store, GDALDataset &source);
/* Copies a finished store into an archive, its root zarr.json last, which then takes the place of an older one. False
 * (CPLError emitted) on failure: the older one is there. */
bool zsPack(const std::string &from, const std::string &archive);

/* Where GDAL keeps overviews of a local store that is not to be changed: NAME.zarr.ovr. They go with the store. */
std::string zsExternalOverviews(const std::string &store);
/* Removes them, if there are any. */
void zsRemoveExternalOverviews(const std::string &store);

#endif
