#include "target.h"

#include <set>
#include <vector>

#include "gdal/connection.h"
#include "files.h"
#include "gdal/guard.h"
#include "gdal/handles.h"

extern "C"
{
#include "base/limits.h"
#include "store/mark.h"
#include "store/vsi.h"
}

/* On a store of objects, whose mark is ours, those of replacements that were killed. */
static void removeOtherPrefixes(const std::string &root)
{
    const ZSQuiet quiet;
    const ZSOwned<char *> paths(zs_staging_prefixes(root.c_str()), zs_names_free);
    for (char **path = paths.get(); path != nullptr && *path != nullptr; path++)
        zsRemoveSilently(*path);
}

/* ---- The target ---- */

bool ZSMark::Put(const std::string &root, bool overwrite)
{
    struct zs_error err;
    enum zs_status status = zs_store_open(root.c_str(), &m_store, &err);
    const bool isHeld = status == ZS_OK && zs_store_has_conditions(m_store);
    if (isHeld)
        status = zs_mark_put(m_store, ZS_MARK_NAME, overwrite, &err);
    if (status != ZS_OK)
        zsReport(err);
    if (status != ZS_OK || !isHeld)
    {
        zs_store_free(m_store);
        m_store = nullptr;
    }
    return status == ZS_OK;
}

ZSMark::~ZSMark()
{
    struct zs_error err;
    const ZSQuiet quiet;
    if (m_store != nullptr && zs_mark_remove(m_store, ZS_MARK_NAME, &err) != ZS_OK)
        CPLDebug("ShardedZarr", "%s", err.message); // the next maker sees when this process is gone
    zs_store_free(m_store);
}

/* Puts the mark on an object store. Another maker may have finished since it was looked what is there. */
bool ZSTarget::PutMark(const std::string &root)
{
    ZSContents c;
    if (!zs_path_is_remote(root.c_str()))
        return true;
    return m_mark.Put(root, m_overwrite) &&
           (!m_mark.IsPut() || m_replaces ||
            (c.Find(root, true) && (c.IsEmpty() || zsMayReplace(root, m_overwrite, m_canAppend, m_replaces))));
}

bool ZSTarget::Open(const std::string &root, bool overwrite, bool fsync, bool canAppend)
{
    m_canAppend = canAppend;
    m_overwrite = overwrite;
    m_fsync = fsync;
    zsRemoveLeftovers(root);
    if (!zsMayReplace(root, overwrite, canAppend, m_replaces) || !PutMark(root))
        return false;
    if (!m_replaces && zsEndsWith(CPLString(root).tolower(), ".zip"))
        return zsRefuse(CPLE_NotSupported,
                        "%s: expected the name of a folder; a copy into NAME.zarr.zip or /vsizip/NAME.zip makes an "
                        "archive", zsShown(root).c_str());
    struct zs_error err;
    if (zs_staging_begin(root.c_str(), m_replaces, &m_staging, &err) != ZS_OK)
    {
        zs_staging_end(&m_staging);
        return zsReport(err);
    }
    m_path = m_staging.path;
    m_isOpen = true;
    return true;
}

/* Finds the objects of one store that another has. */
static bool findArrived(const std::string &root, const ZSContents &from, std::set<std::string> &arrived)
{
    ZSContents to;
    if (!to.FindSilently(root) && !to.Find(root))
        return false;
    const std::set<std::string> there(to.found.own.list, to.found.own.list + to.found.own.count);
    arrived.clear();
    for (size_t i = 0; i < from.found.own.count; i++)
    {
        if (there.count(from.found.own.list[i]) > 0)
            arrived.insert(from.found.own.list[i]);
    }
    return true;
}

/* VSISync() of one object; `reason` is why it failed. GDAL emits errors of listings that it can do without. */
static bool copyObject(const std::string &from, const std::string &to, std::string &reason)
{
    const ZSQuiet quiet;
    CPLStringList always;
    always.SetNameValue("SYNC_STRATEGY", "OVERWRITE");
    CPLErrorReset();
    const bool ok = VSISync(from.c_str(), to.c_str(), always.List(), nullptr, nullptr, nullptr);
    reason = CPLGetLastErrorMsg();
    return ok;
}

/* copyObject(), and again where the object is not there after a failure: the answer may be lost, or of the moment. */
static bool copyAgain(const std::string &from, const std::string &to, std::string &reason)
{
    VSIStatBufL st;
    int tries = 0;
    do
    {
        if (copyObject(from, to, reason))
            return true;
        zsForgetListing(to);
        const ZSQuiet quiet;
        if (VSIStatL(to.c_str(), &st) == 0 && !VSI_ISDIR(st.st_mode))
            return true;
    } while (tries < ZS_MOST_REFUSALS && zs_conflict_again(&tries));
    return false;
}

/* Copies the objects that have not arrived, from the last one to the `first`: within one bucket the server copies. */
static bool copyMissing(const std::string &path, const std::string &root, const ZSContents &from, size_t first,
                        const std::set<std::string> &arrived)
{
    std::string reason;
    for (size_t i = from.found.own.count; i-- > first;)
    {
        const std::string name = std::string("/") + from.found.own.list[i];
        if (arrived.count(from.found.own.list[i]) > 0 || copyAgain(path + name, root + name, reason))
            continue;
        return zsRefuse(CPLE_FileIO, "%s%s: cannot be copied to %s%s%s; what is complete is at %s",
                        zsShown(path).c_str(), name.c_str(), zsShown(root).c_str(), reason.empty() ? "" : ": ",
                        zsShown(reason).c_str(), zsShown(path).c_str());
    }
    return true;
}

/* Copies the objects from the `first` on to another root, and looks whether they are there: where a listing lets GDAL
 * replace one for a folder, it copies into that, and S3 may answer 200 to a copy that it has not made. */
static bool copyFrom(const std::string &path, const std::string &root, const ZSContents &from, size_t first,
                     std::set<std::string> &arrived)
{
    for (int tries = 0; tries < 2; tries++)
    {
        if (!copyMissing(path, root, from, first, arrived))
            return false;
        if (!findArrived(root, from, arrived))
            break;
        bool isComplete = true;
        for (size_t i = first; i < from.found.own.count; i++)
        {
            const std::string name = from.found.own.list[i];
            if (arrived.count(name) > 0)
                continue;
            isComplete = false;
            VSIUnlink((root + "/" + name + "/" + CPLGetFilename(name.c_str())).c_str());
        }
        if (isComplete)
            return true;
        zsForgetListing(root);
    }
    return zsRefuse(CPLE_FileIO, "%s: not all of it is there; what is complete is at %s", zsShown(root).c_str(),
                    zsShown(path).c_str());
}

/* Copies all objects to another root, the root's zarr.json, which is the first, when all others are there. */
static bool copyAll(const std::string &path, const std::string &root, const ZSContents &from)
{
    std::set<std::string> arrived;
    return (!from.HasRoot() || copyFrom(path, root, from, 1, arrived)) && copyFrom(path, root, from, 0, arrived);
}

bool ZSTarget::CopyFrom(const std::string &store)
{
    ZSContents from;
    if (!from.Find(store))
        return false;
    const char *other = from.found.foreign_count > 0 ? from.found.foreign : nullptr;
    for (size_t i = 0; other == nullptr && i < from.found.own.count; i++)
    {
        if (zs_is_mark(from.found.own.list[i]))
            other = from.found.own.list[i];
    }
    if (other == nullptr)
        return copyAll(store, m_path, from);
    return zsRefuse(CPLE_AppDefined,
                    "%s: is neither copied nor renamed: %s in it is not of the store, or is of a writer that is at "
                    "work or was killed", zsShown(store).c_str(), other);
}

bool zsMoveStore(const std::string &from, const std::string &to)
{
    ZSTarget target;
    return target.Open(to, false, true) && target.CopyFrom(from) && target.Commit() &&
           zsRemoveReplaced(from, false);
}

/* Copies objects to where they belong, on a store that does not rename: the root's zarr.json last. Those under the
 * hidden name go when all are there. */
bool ZSTarget::Move()
{
    ZSContents from;
    const std::string root = m_staging.root;
    if (!from.Find(m_path))
        return false;
    if (!zsRemoveReplaced(root, m_overwrite))
    {
        ZSContents older; // its root goes first: with it all is there
        m_isOpen = older.FindSilently(root) && older.HasRoot();
        if (!m_isOpen)
            CPLError(CE_Failure, CPLE_FileIO, "%s: cannot be replaced; what is complete is at %s",
                     zsShown(root).c_str(), zsShown(m_path).c_str());
        return false;
    }
    zsForgetListing(root); // GDAL remembers directories where objects are to be now
    m_isOpen = copyAll(m_path, root, from); // else it stays: it is all that there is
    if (!m_isOpen)
        return false;
    const ZSQuiet quiet;
    from.Remove(ZS_MARKS_GO); // or the next replacement does
    return true;
}

bool ZSTarget::Commit()
{
    char *older = nullptr;
    struct zs_error err;
    bool isThere = false;
    if (!m_staging.is_beside)
    {
        // Somebody may have appended an array, or added what is not of the store.
        const bool isMoved = m_path != m_staging.root;
        if (isMoved && !zsMayReplace(m_staging.root, m_overwrite, m_canAppend, isThere))
            return false;
        zsRemoveExternalOverviews(m_staging.root); // they would be taken for the new store's
        const bool ok = !isMoved || Move();
        if (ok && m_replaces && m_mark.IsPut())
            removeOtherPrefixes(m_staging.root);
        m_isOpen = m_isOpen && !ok;
        zsForgetListing(m_staging.root);
        return ok;
    }
    // Somebody may have been quicker, or added what is not of the store.
    if (!zsMayReplace(m_staging.root, m_overwrite, m_canAppend, isThere))
        return false;
    zsRemoveExternalOverviews(m_staging.root);
    if (zs_staging_publish(&m_staging, m_fsync, &older, &err) != ZS_OK)
        return zsReport(err);
    const std::unique_ptr<char, decltype(&free)> olderFreed(older, free);
    m_isOpen = false;
    if (older != nullptr)
        zsRemoveSilently(older);
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

ZSTarget::~ZSTarget()
{
    if (m_isOpen)
        zsRemoveSilently(m_path, ZS_MARKS_STAY);
    zs_staging_end(&m_staging);
}
