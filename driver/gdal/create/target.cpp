#include "target.h"

#include "gdal/connection.h"
#include "gdal/guard.h"

extern "C"
{
#include "base/limits.h"
#include "store/staging.h"
#include "store/vsi.h"
}

/* ---- Opening ---- */

/* Puts the mark on an object store, unless its commits carry no condition: others could not see it in time. */
bool ZSNewStore::PutMark(const std::string &root, bool &wasLeft)
{
    struct zs_error err;
    struct zs_store *at = nullptr;
    enum zs_status status = zs_store_open(root.c_str(), &at, &err);
    const bool isMarked = status == ZS_OK && zs_store_has_conditions(at);
    if (isMarked && !zsMayMark(at))
    {
        zs_store_free(at);
        return false;
    }
    if (isMarked)
        status = zs_mark_put(at, m_overwrite, &wasLeft, &err);
    if (status == ZS_OK && isMarked)
        m_marked = at;
    else
        zs_store_free(at);
    return status == ZS_OK || zsReport(err);
}

bool ZSNewStore::Begin(const std::string &root, bool overwrite, bool fsync)
{
    struct zs_error err;
    bool replaces = false, wasLeft = false;
    m_overwrite = overwrite;
    m_fsync = fsync;
    if (zsEndsWith(CPLString(root).tolower(), ".zip") || zsIsArchive(root))
        return zsRefuse(CPLE_NotSupported,
                        "%s: expected the name of a folder; what is in an archive is written once: pack a finished "
                        "store", zsShown(root).c_str());
    zsRemoveLeftovers(root);
    // The mark comes first, so that no other writer makes a store between the look at what is there and the mark.
    if (zs_path_is_remote(root.c_str()) && !PutMark(root, wasLeft))
        return false;
    m_isLeft = wasLeft;
    if (!zsMayReplace(root, overwrite, wasLeft, replaces))
        return false;
    m_isLeft = false;
    zsForgetListing(root); // GDAL remembers that nothing is there: it would not take the name for a folder
    if (zs_staging_begin(root.c_str(), replaces, &m_staging, &err) != ZS_OK)
        return zsReport(err);
    m_isOpen = true;
    return true;
}

bool ZSNewStore::Open(const std::string &root, bool overwrite, bool fsync)
{
    struct zs_error err;
    if (!Begin(root, overwrite, fsync))
        return false;
    store->name = root;
    if (zs_store_open(m_staging.path, &store->store, &err) != ZS_OK)
        return zsReport(err);
    zs_store_set_sync(store->store, fsync ? ZS_SYNC_LATER : ZS_SYNC_NO); // later, before publishing
    return zs_hierarchy_create(store->store, &store->hierarchy, &err) == ZS_OK || zsReport(err);
}

bool ZSNewStore::OpenExisting(const std::string &root, bool fsync)
{
    struct zs_error err;
    store->name = root;
    if (!zsHasRoot(root, "there is no Zarr store to append to"))
        return false;
    enum zs_status status = zs_store_open(root.c_str(), &store->store, &err);
    if (status == ZS_OK)
        zs_store_set_sync(store->store, fsync ? ZS_SYNC_EACH : ZS_SYNC_NO);
    if (status == ZS_OK)
        status = zs_hierarchy_recover(store->store, &err);
    if (status == ZS_OK)
        status = zs_hierarchy_open(store->store, true, &store->hierarchy, &err);
    return status == ZS_OK || zsReport(err);
}

ZSNewStore::~ZSNewStore()
{
    struct zs_error err;
    const ZSQuiet quiet;
    // An upload that is under way would end after the removal.
    if (m_isOpen && store->store != nullptr && zs_store_wait_commits(store->store, &err) != ZS_OK)
        CPLDebug("ShardedZarr", "%s", err.message);
    if (m_isOpen && !zsRemoveSilently(m_staging.path) && Path() == Root())
        m_isLeft = true;
    zs_staging_end(&m_staging);
    if (m_marked != nullptr && m_isLeft)
        zs_mark_leave();
    else if (m_marked != nullptr && zs_mark_remove(m_marked, &err) != ZS_OK)
        CPLDebug("ShardedZarr", "%s", err.message); // the next maker replaces the mark
    zs_store_free(m_marked);
}

/* ---- Copying objects, where nothing renames them ---- */

/* VSISync() of one object: within one bucket the server copies. Looks whether it is there: S3 may answer 200 to a copy
 * that it has not made. Errors are not shown: GDAL emits those of listings that it can do without. */
static bool copyObject(const std::string &from, const std::string &to, std::string &reason)
{
    const ZSQuiet quiet;
    CPLStringList always;
    always.SetNameValue("SYNC_STRATEGY", "OVERWRITE");
    VSIStatBufL ours, theirs;
    int tries = 0;
    do
    {
        CPLErrorReset();
        const bool isCopied = VSIStatL(from.c_str(), &ours) == 0 &&
                              VSISync(from.c_str(), to.c_str(), always.List(), nullptr, nullptr, nullptr);
        reason = CPLGetLastErrorMsg();
        zsForgetListing(to);
        const bool isThere = VSIStatL(to.c_str(), &theirs) == 0;
        if (isCopied && isThere && !VSI_ISDIR(theirs.st_mode) && theirs.st_size == ours.st_size)
            return true;
        if (isCopied && isThere && VSI_ISDIR(theirs.st_mode)) // a wrong answer said so: the copy is in the folder
            VSIUnlink((to + "/" + CPLGetFilename(to.c_str())).c_str());
        zsForgetListing(to); // else it stays a folder, and the next copy goes into that, too
    } while (tries < ZS_MOST_REFUSALS && zs_conflict_again(&tries));
    return false;
}

/* Puts objects where they belong, on a store that does not rename, the root's zarr.json last. Those under the hidden
 * name go when all are there, or the former store is still whole; else they stay: they are all that there is. */
bool ZSNewStore::Move()
{
    ZSContents from, older;
    const std::string root = m_staging.root, path = m_staging.path;
    if (!from.Find(path) || !older.Find(root))
        return false;
    if (!from.HasRoot())
        return zsRefuse(CPLE_AppDefined, "%s: cannot be replaced: no complete store is at %s", zsShown(root).c_str(),
                        zsShown(path).c_str());
    m_isOpen = false;
    std::string reason;
    bool ok = older.Remove();
    if (!ok) // the root's zarr.json goes first: where it is there the former store is whole
    {
        const ZSQuiet quiet;
        m_isOpen = older.Find(root) && older.HasRoot();
    }
    if (m_isOpen)
        return false;
    for (size_t i = from.found.own.count; i-- > 0 && ok;)
    {
        const std::string to = root + "/" + from.found.own.list[i];
        if (!zs_path_is_remote(root.c_str())) // in memory: listings show folders that were made
            static_cast<void>(VSIMkdirRecursive(CPLGetPath(to.c_str()), 0755));
        ok = copyObject(path + "/" + from.found.own.list[i], to, reason);
    }
    if (!ok)
    {
        m_isLeft = !zsRemoveSilently(root); // what was copied, which is no store
        return zsRefuse(CPLE_FileIO, "%s: cannot be replaced%s%s; what is complete is at %s", zsShown(root).c_str(),
                        reason.empty() ? "" : ": ", zsShown(reason).c_str(), zsShown(path).c_str());
    }
    const ZSQuiet quiet;
    from.Remove(); // what stays under the hidden name is deleted by hand
    return true;
}

/* ---- Publishing ---- */

bool ZSNewStore::Commit()
{
    char *older = nullptr;
    struct zs_error err;
    bool isThere = false;
    const std::string root = Root();
    const bool isInPlace = !m_staging.is_beside && Path() == root;
    // Somebody may have been quicker, appended an array, or added what is not of the store.
    if (!isInPlace && !zsMayReplace(root, m_overwrite, false, isThere))
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

bool ZSNewStore::Publish()
{
    struct zs_error err;
    zs_hierarchy_defer(store->hierarchy, false);
    if (zs_hierarchy_flush(store->hierarchy, &err) != ZS_OK || zs_store_sync(store->store, &err) != ZS_OK)
        return zsReport(err);
    if (m_staging.root == nullptr) // an array was added
        return true;
    if (!Commit())
        return false;
    zs_store_set_sync(store->store, m_fsync ? ZS_SYNC_EACH : ZS_SYNC_NO);
    return zs_store_moved(store->store, m_staging.root, &err) == ZS_OK || zsReport(err);
}
