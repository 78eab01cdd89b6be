#include "target.h"

#include "files.h"
#include "gdal/connection.h"
#include "gdal/guard.h"

extern "C"
{
#include "base/limits.h"
#include "raster/create.h"
#include "store/staging.h"
#include "store/vsi.h"
}

/* ---- Opening ---- */

/* Puts the mark on an object store, unless its commits carry no condition: others could not see it in time. */
bool ZSTarget::PutMark(const std::string &root)
{
    struct zs_error err;
    struct zs_store *store = nullptr;
    enum zs_status status = zs_store_open(root.c_str(), &store, &err);
    const bool isMarked = status == ZS_OK && zs_store_has_conditions(store);
    if (isMarked)
        status = zs_mark_put(store, m_overwrite, &err);
    if (status == ZS_OK && isMarked)
        m_marked = store;
    else
        zs_store_free(store);
    return status == ZS_OK || zsReport(err);
}

bool ZSTarget::Open(const std::string &root, bool overwrite, bool fsync, bool canAppend)
{
    m_canAppend = canAppend;
    m_overwrite = overwrite;
    m_fsync = fsync;
    if (zsEndsWith(CPLString(root).tolower(), ".zip") || zsIsArchive(root))
        return zsRefuse(CPLE_NotSupported,
                        "%s: expected the name of a folder; what is in an archive is written once: pack a finished "
                        "store", zsShown(root).c_str());
    zsRemoveLeftovers(root);
    if (!zsMayReplace(root, overwrite, canAppend, m_replaces) || (zs_path_is_remote(root.c_str()) && !PutMark(root)))
        return false;
    // Another maker may have finished since it was looked what is there.
    ZSContents made;
    if (m_marked != nullptr && !m_replaces &&
        !(made.Find(root, true) && (made.IsEmpty() || zsMayReplace(root, overwrite, canAppend, m_replaces))))
        return false;
    struct zs_error err;
    if (zs_staging_begin(root.c_str(), m_replaces, &m_staging, &err) != ZS_OK)
        return zsReport(err);
    m_path = m_staging.path;
    m_isOpen = true;
    return true;
}

ZSTarget::~ZSTarget()
{
    if (m_isOpen)
        zsRemoveSilently(m_path);
    zs_staging_end(&m_staging);
    struct zs_error err;
    const ZSQuiet quiet;
    if (m_marked != nullptr && zs_mark_remove(m_marked, &err) != ZS_OK)
        CPLDebug("ShardedZarr", "%s", err.message); // the next maker replaces the mark
    zs_store_free(m_marked);
}

/* ---- Copying objects, where nothing renames them ---- */

/* VSISync() of one object: within one bucket the server copies. Looks whether it is there: S3 may answer 200 to a copy
 * that it has not made, and GDAL, where it remembers a folder of that name, copies into that. Errors are not shown:
 * GDAL emits those of listings that it can do without. */
static bool copyObject(const std::string &from, const std::string &to, vsi_l_offset size, std::string &reason)
{
    const ZSQuiet quiet;
    CPLStringList always;
    always.SetNameValue("SYNC_STRATEGY", "OVERWRITE");
    int tries = 0;
    do
    {
        VSIStatBufL st;
        CPLErrorReset();
        const bool isCopied = VSISync(from.c_str(), to.c_str(), always.List(), nullptr, nullptr, nullptr);
        reason = CPLGetLastErrorMsg();
        zsForgetListing(to);
        const bool isThere = VSIStatL(to.c_str(), &st) == 0;
        if (isThere && !VSI_ISDIR(st.st_mode) && static_cast<vsi_l_offset>(st.st_size) == size)
            return true;
        if (isCopied && isThere && VSI_ISDIR(st.st_mode))
            VSIUnlink((to + "/" + CPLGetFilename(to.c_str())).c_str());
        zsForgetListing(to); // else it stays a folder, and the next copy goes into that, too
    } while (tries < ZS_MOST_REFUSALS && zs_conflict_again(&tries));
    return false;
}

/* Copies all objects to another root, the root's zarr.json, which is the first, when all others are there. */
static bool copyAll(const std::string &path, const std::string &root, const ZSContents &from)
{
    zsForgetListing(root); // GDAL remembers directories where objects are to be now
    for (size_t i = from.found.own.count; i-- > 0;)
    {
        const std::string name = std::string("/") + from.found.own.list[i];
        std::string reason;
        VSIStatBufL st;
        if (VSIStatL((path + name).c_str(), &st) != 0 ||
            !copyObject(path + name, root + name, static_cast<vsi_l_offset>(st.st_size), reason))
            return zsRefuse(CPLE_FileIO, "%s%s: cannot be copied to %s%s%s; what is complete is at %s",
                            zsShown(path).c_str(), name.c_str(), zsShown(root).c_str(), reason.empty() ? "" : ": ",
                            zsShown(reason).c_str(), zsShown(path).c_str());
    }
    return true;
}

/* Copies objects to where they belong, on a store that does not rename. Those under the hidden name go when all are
 * there; else they stay: they are all that there is. */
bool ZSTarget::Move()
{
    ZSContents from;
    const std::string root = m_staging.root;
    if (!from.Find(m_path))
        return false;
    if (!zsRemoveReplaced(root))
    {
        ZSContents older; // its root goes first: with it all is there
        m_isOpen = older.FindSilently(root) && older.HasRoot();
        if (!m_isOpen)
            CPLError(CE_Failure, CPLE_FileIO, "%s: cannot be replaced; what is complete is at %s",
                     zsShown(root).c_str(), zsShown(m_path).c_str());
        return false;
    }
    m_isOpen = false;
    if (!copyAll(m_path, root, from))
        return false;
    const ZSQuiet quiet;
    from.Remove(); // what stays under the hidden name is deleted by hand
    if (!zs_path_is_remote(m_path.c_str()))
        VSIRmdir(m_path.c_str());
    return true;
}

/* ---- Publishing ---- */

bool ZSTarget::Commit()
{
    char *older = nullptr;
    struct zs_error err;
    bool isThere = false;
    const std::string root = m_staging.root;
    const bool isInPlace = !m_staging.is_beside && m_path == root;
    // Somebody may have been quicker, appended an array, or added what is not of the store.
    if (!isInPlace && !zsMayReplace(root, m_overwrite, m_canAppend, isThere))
        return false;
    zsRemoveExternalOverviews(root); // they would be taken for the new store's
    if (!m_staging.is_beside)
    {
        const bool ok = isInPlace || Move();
        m_isOpen = m_isOpen && !ok;
        zsForgetListing(root);
        return ok;
    }
    if (zs_staging_publish(&m_staging, m_fsync, &older, &err) != ZS_OK)
        return zsReport(err);
    m_isOpen = false;
    if (older != nullptr)
        zsRemoveSilently(older);
    free(older);
    return true;
}

bool zsPublishTarget(std::unique_ptr<ZSTarget> &target, struct zs_store *store)
{
    const std::string root = target->Root();
    const enum zs_sync sync = target->IsSynced() ? ZS_SYNC_EACH : ZS_SYNC_NO;
    struct zs_error err;
    if (!target->Commit())
        return false;
    target.reset();
    zs_store_set_sync(store, sync);
    return zs_store_moved(store, root.c_str(), &err) == ZS_OK || zsReport(err);
}

/* ---- New rasters ---- */

bool ZSNewStore::Publish()
{
    struct zs_error err;
    zs_hierarchy_defer(store->hierarchy, false);
    if (zs_hierarchy_flush(store->hierarchy, &err) != ZS_OK || zs_store_sync(store->store, &err) != ZS_OK)
        return zsReport(err);
    m_isPublished = !group.empty() || zsPublishTarget(target, store->store);
    return m_isPublished;
}

/* Removes what was appended, and nothing that somebody else put into the group meanwhile. The store is opened anew: the
 * uploads of the other one have failed. */
static void removeAppended(const ZSStore &made, const std::string &group)
{
    ZSStore again;
    struct zs_error err;
    if (zs_store_open(made.store->root, &again.store, &err) != ZS_OK ||
        zs_raster_take_back(made.hierarchy, again.store, group.c_str(), &err) != ZS_OK)
        CPLDebug("ShardedZarr", "/%s is not removed: %s", group.c_str(), err.message);
}

ZSNewStore::~ZSNewStore()
{
    struct zs_error err;
    if (m_isPublished || store->store == nullptr)
        return;
    // An upload that is under way would end after the removal.
    if (zs_store_wait_commits(store->store, &err) != ZS_OK)
        CPLDebug("ShardedZarr", "%s", err.message);
    if (isClaimed && store->hierarchy != nullptr)
        removeAppended(*store, group);
}
