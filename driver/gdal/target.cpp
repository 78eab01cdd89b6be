#include "target.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "connection.h"
#include "guard.h"
#include "handles.h"

extern "C"
{
#include "geo/axes.h"
#include "geo/bands.h"
#include "raster/listing.h"
#include "raster/masks.h"
#include "store/mark.h"
#include "store/vsi.h"
#include "zarr/contents.h"
}

namespace
{
/* What is in a store's directory, of which nothing may be known yet. */
struct Contents
{
    struct zs_store *store = nullptr;
    struct zs_contents found = {};

    Contents() = default;
    Contents(const Contents &) = delete;
    Contents &operator=(const Contents &) = delete;
    ~Contents()
    {
        zs_contents_clear(&found);
        zs_store_free(store);
    }
    enum zs_status Find(const std::string &path, struct zs_error *err)
    {
        zs_contents_clear(&found);
        zs_store_free(store);
        store = nullptr;
        const enum zs_status status = zs_store_open(path.c_str(), &store, err);
        return status == ZS_OK ? zs_contents_find(store, &found, err) : status;
    }
    bool Find(const std::string &path, bool orNoListings = false)
    {
        struct zs_error err;
        const enum zs_status status = Find(path, &err);
        if (status == ZS_OK || (status == ZS_UNSUPPORTED && orNoListings))
            return true;
        zsReport(err);
        return false;
    }
    bool FindSilently(const std::string &path)
    {
        struct zs_error err;
        return Find(path, &err) == ZS_OK;
    }
    bool Remove(bool andMark)
    {
        struct zs_error err;
        if ((andMark ? zs_contents_remove : zs_contents_remove_unmarked)(store, &found, &err) == ZS_OK)
            return true;
        zsReport(err);
        return false;
    }
    /* Whether a mark is at the root: that of a store that somebody makes, or made. */
    bool HasMark() const
    {
        for (size_t i = 0; i < found.own.count; i++)
        {
            if (EQUAL(found.own.list[i], ZS_MARK_NAME))
                return true;
        }
        return false;
    }
    bool IsEmpty() const
    {
        return found.foreign_count + found.directories.count == 0 && found.own.count == (HasMark() ? 1 : 0);
    }
    bool HasRoot() const
    {
        return found.own.count > 0 && EQUAL(found.own.list[0], "zarr.json");
    }
};
} // namespace

void zsForgetListing(const std::string &path)
{
    if (zs_path_is_remote(path.c_str()))
        VSICurlPartialClearCache(CPLGetPath(path.c_str()));
}

/* ---- Removing ---- */

bool zsIsLeftover(const std::string &path)
{
    Contents c;
    return c.FindSilently(path) && !c.HasRoot() && c.found.foreign_count == 0 && c.found.own.count > 0;
}

bool zsIsLink(const std::string &path)
{
    struct zs_error err;
    struct zs_store *store = nullptr;
    bool isLink = false;
    if (zs_store_open(path.c_str(), &store, &err) == ZS_OK && zs_store_is_link(store, "", &isLink, &err) != ZS_OK)
        CPLDebug("ShardedZarr", "%s", err.message);
    zs_store_free(store);
    return isLink;
}

/* Whether a directory without zarr.json is a store of Zarr v2. */
static bool isV2(const std::string &path)
{
    struct zs_store *store = nullptr;
    const bool is = zs_store_open(path.c_str(), &store, nullptr) == ZS_OK && zs_document_is_v2(store);
    zs_store_free(store);
    return is;
}

bool zsHasRoot(const std::string &path, const char *otherwise)
{
    struct zs_error err;
    struct zs_store *store = nullptr;
    struct zs_buffer text = {};
    if (zsExists(path + "/zarr.json"))
        return true;
    enum zs_status status = zs_store_open(path.c_str(), &store, &err);
    if (status == ZS_OK) // GDAL does not tell what is absent from what cannot be asked for
        status = zs_store_get(store, "zarr.json", ZS_JSON_MAX_BYTES, &text, &err);
    zs_buffer_free(&text);
    zs_store_free(store);
    if (status == ZS_NOT_FOUND)
        CPLError(CE_Failure, CPLE_AppDefined, "%s: %s", zsShown(path).c_str(), isV2(path) ? zs_found_v2 : otherwise);
    else if (status != ZS_OK)
        zsReport(err);
    return status == ZS_OK;
}

bool zsIsAllOwn(const std::string &store)
{
    Contents c;
    if (!c.Find(store))
        return false;
    if (c.found.foreign_count == 0)
        return true;
    CPLError(CE_Failure, CPLE_AppDefined, "%s: is not overwritten: %s in it is not of a Zarr store", store.c_str(),
             c.found.foreign);
    return false;
}

/* Removes what was found in a store. */
static bool removeFound(const std::string &store, Contents &c, bool andMark)
{
    std::string path = store;
    if (c.found.foreign_count == 0)
    {
        // Out of sight at once: nobody opens or reads what is half gone.
        const std::unique_ptr<char, decltype(&free)> aside(zs_staging_set_aside(store.c_str()), free);
        if (aside != nullptr)
            path = aside.get();
        struct zs_error err;
        if (path != store && zs_store_moved(c.store, path.c_str(), &err) != ZS_OK)
        {
            zsReport(err);
            return false;
        }
    }
    const bool ok = c.Remove(andMark);
    if (c.found.foreign_count > 0)
        CPLError(CE_Warning, CPLE_AppDefined, "%s: %llu files that are not of the store stay, the first is %s",
                 zsShown(store).c_str(), static_cast<unsigned long long>(c.found.foreign_count), c.found.foreign);
    else if (ok)
    {
        const CPLErrorStateBackuper backup; // a directory that stays is no failure
        const CPLErrorHandlerPusher quiet(CPLQuietErrorHandler);
        VSIRmdir(path.c_str());
    }
    return ok;
}

/* The same for what was never in place: nobody is told of it. */
static void removeSilently(const std::string &path, bool andMark)
{
    const CPLErrorStateBackuper backup;
    const CPLErrorHandlerPusher quiet(CPLQuietErrorHandler);
    Contents c;
    if (c.FindSilently(path) && c.Remove(andMark) && c.found.foreign_count == 0)
        VSIRmdir(path.c_str());
}

void zsRemoveSilently(const std::string &path)
{
    removeSilently(path, true);
}

void zsRemoveLeftovers(const std::string &root)
{
    const ZSOwned<char *> paths(zs_staging_leftovers(root.c_str()), zs_names_free);
    for (char **path = paths.get(); path != nullptr && *path != nullptr; path++)
    {
        VSIUnlink((std::string(*path) + "/" + ZS_PACKED_NAME).c_str());
        zsRemoveSilently(*path);
    }
}

/* On a store of objects, those of replacements that were killed. */
static void removeOldLeftovers(const std::string &root)
{
    const CPLErrorStateBackuper backup;
    const CPLErrorHandlerPusher quiet(CPLQuietErrorHandler);
    const ZSOwned<char *> paths(zs_staging_old_prefixes(root.c_str()), zs_names_free);
    for (char **path = paths.get(); path != nullptr && *path != nullptr; path++)
        zsRemoveSilently(*path);
}

/* ---- What may be overwritten ---- */

/* Arrays that no raster is made of, and no coordinate: somebody else put them there. */
static bool isStrange(const struct zs_node *node)
{
    if (node->type != ZS_NODE_ARRAY)
        return false;
    if (node->is_text) // but for labels
    {
        const zs_json *names = zs_json_get(node->document, "dimension_names");
        return zs_json_size(names) != 1 || !zs_json_equals(zs_json_first(names), zs_path_name(node->path));
    }
    if (node->array == nullptr || node->array->ndim != 1)
        return node->array == nullptr;
    const char *dimension = zs_dimension_name(node, 0);
    return dimension == nullptr || !EQUAL(dimension, zs_path_name(node->path));
}

/* Whether arrays are the bands of one raster: those of a group that lists all of them (SINGLE_ARRAY=NO). */
static bool areBandsOfOne(struct zs_hierarchy *hierarchy, const struct zs_node *const *rasters, size_t count)
{
    struct zs_raster_groups groups = {};
    struct zs_error ignored;
    bool areListed = zs_raster_groups_find(hierarchy, rasters, count, nullptr, nullptr, &groups, &ignored) == ZS_OK &&
                     groups.count == 1 && groups.list[0].count == count;
    for (size_t i = 0; areListed && i < count; i++)
        areListed = zs_band_list_place(groups.list[0].group->attributes, zs_path_name(rasters[i]->path)) != SIZE_MAX;
    zs_raster_groups_clear(&groups);
    return areListed;
}

/* Whether the store is one raster with what belongs to it: what a creation of this driver leaves. Else CPLError is
 * emitted, with `advice`. */
static bool isOneRaster(const std::string &root, const char *advice)
{
    ZSStore store;
    struct zs_error err;
    const struct zs_node *group = nullptr;
    const struct zs_node **rasters = nullptr, **nodes = nullptr;
    size_t count = 0, nodeCount = 0;
    if (zs_store_open(root.c_str(), &store.store, &err) != ZS_OK ||
        zs_hierarchy_open(store.store, false, &store.hierarchy, &err) != ZS_OK ||
        zs_hierarchy_node(store.hierarchy, "", &group, &err) != ZS_OK ||
        zs_hierarchy_list(store.hierarchy, &nodes, &nodeCount, &err) != ZS_OK) {
        zsReport(err);
        return false;
    }
    const enum zs_status status = zs_rasters_find(store.hierarchy, group, &rasters, &count, nullptr, &err);
    using Nodes = std::unique_ptr<const struct zs_node *, decltype(&free)>;
    const Nodes rastersFreed(rasters, free), nodesFreed(nodes, free);
    std::vector<std::string> arrays;
    const size_t separate = status == ZS_OK && areBandsOfOne(store.hierarchy, rasters, count) ? 1 : count;
    for (size_t i = 0; status == ZS_OK && i < separate && arrays.size() < 2; i++)
        arrays.push_back(std::string("/") + rasters[i]->path);
    struct zs_axes axes;
    struct zs_mask mask = {};
    if (arrays.size() == 1 && zs_axes_find(store.hierarchy, rasters[0], nullptr, nullptr, &axes, &err) == ZS_OK &&
        zs_mask_find(store.hierarchy, rasters[0], axes, &mask, &err) == ZS_OK && mask.node != nullptr &&
        !mask.validity.is_plain)
        arrays.push_back(std::string("/") + mask.node->path); // not as this driver makes them
    for (size_t i = 0; i < nodeCount && arrays.size() < 2; i++)
    {
        if (isStrange(nodes[i]) && (arrays.empty() || arrays[0] != std::string("/") + nodes[i]->path))
            arrays.push_back(std::string("/") + nodes[i]->path);
    }
    if (status == ZS_OK && arrays.size() == 1)
        return true;
    CPLError(CE_Failure, CPLE_AppDefined,
             "%s: expected a store of one raster, found %s; %s", zsShown(root).c_str(),
             arrays.empty()       ? "none"
             : arrays.size() == 1 ? arrays[0].c_str()
                                  : (arrays[0] + " and " + arrays[1]).c_str(),
             advice);
    return false;
}

/* Whether the operating system lets what is in the directories of a store be removed. Else CPLError is emitted: later
 * the store would be half gone, or left over under a hidden name. */
static bool isRemovable(const Contents &c)
{
    struct zs_error err;
    bool is = zs_store_check_access(c.store, "", &err) == ZS_OK;
    for (size_t i = 0; is && i < c.found.directories.count; i++)
        is = zs_store_check_access(c.store, c.found.directories.list[i], &err) == ZS_OK;
    if (!is)
        zsReport(err);
    return is;
}

/* Whether the store has no mark of a living maker: of one that appends an array and, with `orMakes`, of one that makes
 * the store itself. Else CPLError is emitted. */
static bool isUnmarked(const Contents &c, bool orMakes)
{
    for (size_t i = 0; i < c.found.own.count; i++)
    {
        const char *key = c.found.own.list[i];
        struct zs_error err;
        if (!zs_is_mark(key) || (!orMakes && EQUAL(key, ZS_MARK_NAME)) || zs_mark_check(c.store, key, &err) == ZS_OK)
            continue;
        zsReport(err);
        return false;
    }
    return true;
}

/* Whether GDALDriver::Delete() may remove a store, as zsDeleteStore() says. */
static bool mayDelete(const std::string &store, const Contents &c)
{
    static const char ADVICE[] = "the configuration option SHARDEDZARR_DELETE=ALL deletes what there is";
    if (EQUAL(CPLGetConfigOption("SHARDEDZARR_DELETE", ""), "ALL"))
        return true;
    if (!isUnmarked(c, true))
        return false;
    if (c.found.foreign_count == 0)
        return !c.HasRoot() || isOneRaster(store, ADVICE);
    CPLError(CE_Failure, CPLE_AppDefined,
             "%s: is not deleted: it holds files that are not of the store, the first is %s; %s of the store",
             zsShown(store).c_str(), c.found.foreign, ADVICE);
    return false;
}

/* Removes a store that is replaced, and nothing that is not its own: a warning says what stays. Our mark stays, and so
 * does all while somebody appends an array: what he puts after this listing stays too. */
static bool removeOwn(const std::string &store)
{
    Contents c;
    return c.Find(store) && isUnmarked(c, false) && removeFound(store, c, false);
}

bool zsDeleteStore(const std::string &store)
{
    Contents c;
    if (!c.Find(store) || !mayDelete(store, c) || !isRemovable(c))
        return false;
    zsRemoveLeftovers(store);
    if (!removeFound(store, c, true)) // what is left of it keeps its overviews
        return false;
    zsRemoveExternalOverviews(store);
    return true;
}

/* Whether what is at `root` may go. `isThere` tells whether there is anything. */
static bool mayReplace(const std::string &root, bool overwrite, bool canAppend, bool &isThere)
{
    VSIStatBufL st;
    Contents c;
    // Of an object store GDAL may remember that nothing was there; listing asks.
    const bool isRemote = zs_path_is_remote(root.c_str());
    if (isRemote && !c.Find(root, true))
        return false;
    bool isDirectory = isRemote && !c.IsEmpty();
    isThere = isDirectory || VSIStatL(root.c_str(), &st) == 0;
    if (!isThere)
        return true;
    if (!isDirectory)
    {
        isDirectory = VSI_ISDIR(st.st_mode) != 0;
        if (isDirectory && !c.Find(root))
            return false;
    }
    // A file of no bytes, as rasterio's MemoryFile makes one, has nothing to lose.
    if (!isDirectory && VSI_ISREG(st.st_mode) && st.st_size == 0 && VSIUnlink(root.c_str()) == 0)
        isThere = false;
    isThere = isThere && (!isDirectory || !c.IsEmpty());
    if (!isThere)
        return true;
    if (!isDirectory || (!c.HasRoot() && (c.found.foreign_count > 0 || c.found.own.count == 0)))
    {
        CPLError(CE_Failure, CPLE_AppDefined, "%s: %s", zsShown(root).c_str(),
                 isDirectory && isV2(root) ? "exists and is a store of Zarr v2; it is not overwritten"
                                             : "exists and is not a Zarr store; it is not overwritten");
        return false;
    }
    if (c.found.foreign_count > 0)
    {
        CPLError(CE_Failure, CPLE_AppDefined,
                 "%s: is not overwritten: it holds files that are not of the store, the first is %s",
                 zsShown(root).c_str(), c.found.foreign);
        return false;
    }
    if (!isUnmarked(c, false)) // this target's own mark may be at the root
        return false;
    // Without a root it is what a killed writer left.
    const bool isOver = !c.HasRoot() || overwrite;
    return (isOver ||
           isOneRaster(root, canAppend ? "OVERWRITE=YES replaces it, APPEND_SUBDATASET=YES adds to it"
                                       : "OVERWRITE=YES replaces it; who opens it for update adds to it")) &&
           isRemovable(c);
}

/* Whether a new store may be made in its folder: not among the chunks of an array (CPLError emitted). Warns of one in
 * another store, whose readers do not find it. Over a network nothing is asked. */
static bool mayLieThere(const std::string &root, bool canAppend)
{
    const size_t slash = root.rfind('/');
    std::string above = slash == std::string::npos ? "." : root.substr(0, slash);
    const bool isLocal = zs_path_kind_of(root.c_str()).is_local;
    const std::unique_ptr<char, decltype(&free)> real(isLocal ? realpath(above.c_str(), nullptr) : nullptr, free);
    if (zs_path_is_remote(root.c_str()) || (isLocal && real == nullptr)) // that it is absent is said later
        return true;
    for (above = isLocal ? real.get() : above; above.rfind('/') != std::string::npos && above.size() > 1;
         above.resize(above.rfind('/')))
    {
        ZSStore store;
        const struct zs_node *node = nullptr;
        struct zs_error ignored;
        if (zs_store_open(above.c_str(), &store.store, &ignored) != ZS_OK ||
            zs_hierarchy_open(store.store, false, &store.hierarchy, &ignored) != ZS_OK ||
            zs_hierarchy_node(store.hierarchy, "", &node, &ignored) != ZS_OK)
            continue;
        if (node->type == ZS_NODE_ARRAY)
            CPLError(CE_Failure, CPLE_AppDefined, "%s: is not made: it would lie among the chunks of the array %s",
                     zsShown(root).c_str(), zsShown(above).c_str());
        else
            CPLError(CE_Warning, CPLE_AppDefined, "%s: is a store inside of the store %s, which does not list it%s",
                     zsShown(root).c_str(), zsShown(above).c_str(),
                     canAppend ? "; APPEND_SUBDATASET=YES adds an array to that" : "");
        return node->type != ZS_NODE_ARRAY;
    }
    return true;
}

/* ---- The target ---- */

bool ZSMark::Put(const std::string &root)
{
    struct zs_error err;
    bool wasLeft = false;
    enum zs_status status = zs_store_open(root.c_str(), &m_store, &err);
    const bool isHeld = status == ZS_OK && zs_store_may_have_conditions(m_store);
    if (isHeld)
        status = zs_mark_put(m_store, ZS_MARK_NAME, nullptr, &wasLeft, &err);
    if (status != ZS_OK)
        zsReport(err);
    if (status != ZS_OK || !isHeld)
    {
        zs_store_free(m_store);
        m_store = nullptr;
    }
    return status == ZS_OK;
}

enum zs_status ZSMark::Check(struct zs_error *err) const
{
    return m_store != nullptr ? zs_mark_check_own(m_store, ZS_MARK_NAME, err) : ZS_OK;
}

bool ZSMark::Hold(struct zs_store *store) const
{
    struct zs_error err;
    if (m_store == nullptr || zs_mark_hold(store, ZS_MARK_NAME, &err) == ZS_OK)
        return true;
    zsReport(err);
    return false;
}

ZSMark::~ZSMark()
{
    struct zs_error err;
    const CPLErrorStateBackuper backup;
    const CPLErrorHandlerPusher quiet(CPLQuietErrorHandler);
    if (m_store != nullptr && zs_mark_remove(m_store, ZS_MARK_NAME, &err) != ZS_OK)
        CPLDebug("ShardedZarr", "%s", err.message); // the next maker sees that this process is gone
    zs_store_free(m_store);
    m_store = nullptr;
}

/* Puts the mark on an object store. Another maker may have finished since it was looked what is there. */
bool ZSTarget::PutMark(const std::string &root)
{
    if (!zs_path_is_remote(root.c_str()))
        return true;
    m_mark = std::make_unique<ZSMark>();
    if (!m_mark->Put(root))
        return false;
    Contents c;
    return !m_mark->IsPut() || m_replaces ||
           (c.Find(root, true) && (c.IsEmpty() || mayReplace(root, m_overwrite, m_canAppend, m_replaces)));
}

enum zs_status ZSTarget::CheckMark(struct zs_error *err) const
{
    return m_mark != nullptr ? m_mark->Check(err) : ZS_OK;
}

bool ZSTarget::Hold(struct zs_store *store) const
{
    return m_mark == nullptr || m_path != m_staging.root || m_mark->Hold(store);
}

bool ZSTarget::IsOurs()
{
    struct zs_error err;
    if (CheckMark(&err) == ZS_OK)
        return true;
    zsReport(err);
    return false;
}

bool ZSTarget::Open(const std::string &root, GDALDataset *source, bool overwrite, bool fsync, bool canAppend)
{
    m_canAppend = canAppend;
    m_overwrite = overwrite;
    m_fsync = fsync;
    std::string which;
    if (source != nullptr && zsIsSource(*source, root, which))
    {
        CPLError(CE_Failure, CPLE_AppDefined,
                 "%s: is not overwritten: %s, which is read from, is, holds, or lies in it",
                 zsShown(root).c_str(), zsShown(which).c_str());
        return false;
    }
    zsRemoveLeftovers(root);
    if (!mayReplace(root, overwrite, canAppend, m_replaces) || !PutMark(root))
        return false;
    if (!m_replaces && !mayLieThere(root, canAppend))
        return false;
    if (!m_replaces && zsEndsWith(CPLString(root).tolower(), ".zip"))
    {
        CPLError(CE_Failure, CPLE_NotSupported,
                 "%s: expected the name of a folder; a copy into NAME.zarr.zip or /vsizip/NAME.zip makes an archive",
                 zsShown(root).c_str());
        return false;
    }
    struct zs_error err;
    if (zs_staging_begin(root.c_str(), m_replaces, &m_staging, &err) != ZS_OK)
    {
        zs_staging_end(&m_staging);
        zsReport(err);
        return false;
    }
    m_path = m_staging.path;
    m_isOpen = true;
    return true;
}

/* Finds the objects of one store that another has. */
static bool findArrived(const std::string &root, const Contents &from, std::set<std::string> &arrived)
{
    Contents to;
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
    const CPLErrorStateBackuper backup;
    const CPLErrorHandlerPusher quiet(CPLQuietErrorHandler);
    CPLStringList always;
    always.SetNameValue("SYNC_STRATEGY", "OVERWRITE");
    CPLErrorReset();
    const bool ok = VSISync(from.c_str(), to.c_str(), always.List(), nullptr, nullptr, nullptr);
    reason = CPLGetLastErrorMsg();
    return ok;
}

/* Copies the objects that have not arrived, the root's zarr.json last: within one bucket the server copies. */
static bool copyMissing(const std::string &path, const std::string &root, const Contents &from,
                        const std::set<std::string> &arrived)
{
    std::string reason;
    for (size_t i = from.found.own.count; i-- > 0;)
    {
        const std::string name = std::string("/") + from.found.own.list[i];
        if (arrived.count(from.found.own.list[i]) > 0 || copyObject(path + name, root + name, reason))
            continue;
        CPLError(CE_Failure, CPLE_FileIO, "%s%s: cannot be copied to %s%s%s; what is complete is at %s",
                 zsShown(path).c_str(), name.c_str(), zsShown(root).c_str(), reason.empty() ? "" : ": ",
                 zsShown(reason).c_str(), zsShown(path).c_str());
        return false;
    }
    return true;
}

/* Copies all objects to another root, and looks whether they are there: where a listing lets GDAL take the place of one
 * for a folder, it copies into that. */
static bool copyAll(const std::string &path, const std::string &root, const Contents &from)
{
    std::set<std::string> arrived;
    for (int tries = 0; tries < 2; tries++)
    {
        if (!copyMissing(path, root, from, arrived))
            return false;
        if (!findArrived(root, from, arrived))
            break;
        if (arrived.size() == from.found.own.count)
            return true;
        for (size_t i = 0; i < from.found.own.count; i++)
        {
            const std::string name = from.found.own.list[i];
            if (arrived.count(name) == 0)
                VSIUnlink((root + "/" + name + "/" + CPLGetFilename(name.c_str())).c_str());
        }
        zsForgetListing(root);
    }
    CPLError(CE_Failure, CPLE_FileIO, "%s: not all of it is there; what is complete is at %s", zsShown(root).c_str(),
             zsShown(path).c_str());
    return false;
}

/* Copies objects to where they belong, on a store that does not rename: the root's zarr.json last. Those under the
 * hidden name go when all are there. */
bool ZSTarget::Move()
{
    Contents from;
    const std::string root = m_staging.root;
    if (!IsOurs() || !from.Find(m_path))
        return false;
    if (!removeOwn(root))
    {
        Contents older; // its root goes first: with it all is there
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
    const CPLErrorStateBackuper backup;
    const CPLErrorHandlerPusher quiet(CPLQuietErrorHandler);
    from.Remove(true); // or the next replacement does
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
        if (isMoved && !mayReplace(m_staging.root, m_overwrite, m_canAppend, isThere))
            return false;
        zsRemoveExternalOverviews(m_staging.root); // they would be taken for the new store's
        const bool ok = !isMoved || Move();
        if (ok && m_replaces)
            removeOldLeftovers(m_staging.root);
        m_isOpen = m_isOpen && !ok;
        zsForgetListing(m_staging.root);
        return ok;
    }
    // Somebody may have been quicker, or added what is not of the store.
    if (!mayReplace(m_staging.root, m_overwrite, m_canAppend, isThere))
        return false;
    zsRemoveExternalOverviews(m_staging.root);
    if (zs_staging_publish(&m_staging, m_fsync, &older, &err) != ZS_OK)
    {
        zsReport(err);
        return false;
    }
    const std::unique_ptr<char, decltype(&free)> olderFreed(older, free);
    m_isOpen = false;
    if (older != nullptr)
        zsRemoveSilently(older);
    return true;
}

bool zsTakePlace(std::unique_ptr<ZSTarget> &target, struct zs_store *store)
{
    const std::string root = target->Root();
    struct zs_error err;
    if (!target->Commit())
        return false;
    target.reset();
    if (zs_store_moved(store, root.c_str(), &err) == ZS_OK)
        return true;
    zsReport(err);
    return false;
}

ZSTarget::~ZSTarget()
{
    struct zs_error ignored;
    const bool isInPlace = m_isOpen && m_path == m_staging.root;
    if (m_isOpen && (!isInPlace || CheckMark(&ignored) == ZS_OK)) // else all that is there is another maker's
        removeSilently(m_path, false);
    zs_staging_end(&m_staging);
}
