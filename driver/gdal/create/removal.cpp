/* What is in the directory of a store, whether that may go, and removing it. */
#include <algorithm>
#include <memory>
#include <vector>

#include "gdal/connection.h"
#include "files.h"
#include "gdal/guard.h"
#include "gdal/handles.h"

extern "C"
{
#include "geo/axes.h"
#include "geo/bands.h"
#include "raster/listing.h"
#include "store/mark.h"
#include "store/staging.h"
}

/* ---- What is there ---- */

ZSContents::~ZSContents()
{
    zs_contents_clear(&found);
    zs_store_free(store);
}

enum zs_status ZSContents::Find(const std::string &path, struct zs_error *err)
{
    zs_contents_clear(&found);
    zs_store_free(store);
    store = nullptr;
    const enum zs_status status = zs_store_open(path.c_str(), &store, err);
    return status == ZS_OK ? zs_contents_find(store, &found, err) : status;
}

bool ZSContents::Find(const std::string &path, bool orNoListings)
{
    struct zs_error err;
    const enum zs_status status = Find(path, &err);
    if (status == ZS_OK || (status == ZS_UNSUPPORTED && orNoListings))
        return true;
    return zsReport(err);
}

bool ZSContents::FindSilently(const std::string &path)
{
    struct zs_error err;
    return Find(path, &err) == ZS_OK;
}

bool ZSContents::Remove(enum zs_marks marks)
{
    struct zs_error err;
    return zs_contents_remove(store, &found, marks, &err) == ZS_OK || zsReport(err);
}

bool ZSContents::HasMark() const
{
    for (size_t i = 0; i < found.own.count; i++)
    {
        if (EQUAL(found.own.list[i], ZS_MARK_NAME))
            return true;
    }
    return false;
}

void zsForgetListing(const std::string &path)
{
    if (zs_path_is_remote(path.c_str()))
        VSICurlPartialClearCache(CPLGetPath(path.c_str()));
}

bool zsIsLeftover(const std::string &path)
{
    ZSContents contents;
    return contents.FindSilently(path) && !contents.HasRoot() && contents.found.foreign_count == 0 &&
           contents.found.own.count > 0;
}

bool zsIsLink(const std::string &path)
{
    struct zs_error err;
    struct zs_store *store = nullptr;
    enum zs_link link = ZS_LINK_NONE;
    if (zs_store_open(path.c_str(), &store, &err) == ZS_OK && zs_store_is_link(store, "", &link, &err) != ZS_OK)
        CPLDebug("ShardedZarr", "%s", err.message);
    zs_store_free(store);
    return link != ZS_LINK_NONE;
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
    if (status == ZS_OK) // GDAL does not distinguish absent from unreachable
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
    ZSContents contents;
    if (!contents.Find(store))
        return false;
    if (contents.found.foreign_count == 0)
        return true;
    return zsRefuse(CPLE_AppDefined, "%s: is not overwritten: %s in it is not of a Zarr store", zsShown(store).c_str(),
                    contents.found.foreign);
}

/* ---- Removing ---- */

/* Removes what was found in a store. */
static bool removeFound(const std::string &store, ZSContents &contents, enum zs_marks marks)
{
    std::string path = store;
    if (contents.found.foreign_count == 0)
    {
        // A hidden name first: no reader opens a store of which a part is removed.
        const std::unique_ptr<char, decltype(&free)> aside(zs_staging_set_aside(store.c_str()), free);
        if (aside != nullptr)
            path = aside.get();
        struct zs_error err;
        if (path != store && zs_store_moved(contents.store, path.c_str(), &err) != ZS_OK)
            return zsReport(err);
    }
    const bool ok = contents.Remove(marks);
    if (contents.found.foreign_count > 0)
        CPLError(CE_Warning, CPLE_AppDefined, "%s: %llu files that are not of the store stay, the first is %s",
                 zsShown(store).c_str(), static_cast<unsigned long long>(contents.found.foreign_count),
                 contents.found.foreign);
    else if (ok)
    {
        const ZSQuiet quiet; // a directory that stays is no failure
        VSIRmdir(path.c_str());
    }
    return ok;
}

void zsRemoveSilently(const std::string &path, enum zs_marks marks)
{
    const ZSQuiet quiet;
    ZSContents contents;
    if (contents.FindSilently(path) && contents.Remove(marks) && contents.found.foreign_count == 0)
        VSIRmdir(path.c_str());
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

/* ---- What may be overwritten ---- */

/* Whether it is an array that no raster is made of, and no coordinate or label: somebody else put it there. */
static bool isStrange(const struct zs_node *node)
{
    if (node->type != ZS_NODE_ARRAY)
        return false;
    const bool isList = node->is_text || (node->array != nullptr && node->array->ndim == 1);
    const char *dimension = nullptr;
    static_cast<void>(zs_json_string(zs_json_first(zs_json_get(node->document, "dimension_names")), &dimension));
    return isList ? dimension == nullptr || !EQUAL(dimension, zs_path_name(node->path)) : node->array == nullptr;
}

/* Whether arrays are the bands of one raster: those of a group that lists all of them (SINGLE_ARRAY=NO). */
static bool areBandsOfOne(struct zs_hierarchy *hierarchy, const struct zs_node *const *rasters, size_t count)
{
    struct zs_raster_groups groups = {};
    struct zs_error ignored;
    bool areListed = zs_raster_groups_find(hierarchy, rasters, count, nullptr, nullptr, &groups, &ignored) == ZS_OK &&
                     groups.count == 1 && groups.list[0].count == count;
    for (size_t i = 0; areListed && i < count; i++)
        areListed = zs_band_list_position(groups.list[0].group->attributes, zs_path_name(rasters[i]->path)) != SIZE_MAX;
    zs_raster_groups_clear(&groups);
    return areListed;
}

/* Whether the store has one raster and nothing else, as a creation of this driver leaves it. Else CPLError is emitted,
 * with `advice`. */
static bool isOneRaster(const std::string &root, const char *advice)
{
    ZSStore store;
    struct zs_error err;
    const struct zs_node *group = nullptr, **nodes = nullptr, **rasters = nullptr;
    size_t count = 0, nodeCount = 0;
    if (zs_store_open(root.c_str(), &store.store, &err) != ZS_OK ||
        zs_hierarchy_open(store.store, false, &store.hierarchy, &err) != ZS_OK ||
        zs_hierarchy_node(store.hierarchy, "", &group, &err) != ZS_OK ||
        zs_hierarchy_list(store.hierarchy, &nodes, &nodeCount, &err) != ZS_OK) // it searches a remote store, too
        return zsReport(err);
    const enum zs_status status = zs_rasters_find(store.hierarchy, group, &rasters, &count, nullptr, &err);
    using Nodes = std::unique_ptr<const struct zs_node *, decltype(&free)>;
    const Nodes nodesFreed(nodes, free), rastersFreed(rasters, free);
    const auto other = std::find_if(nodes, nodes + nodeCount,
                                    [&](const struct zs_node *node) {
                                        return isStrange(node) &&
                                               std::find(rasters, rasters + count, node) == rasters + count;
                                    });
    const bool isOne = status == ZS_OK && (count == 1 || areBandsOfOne(store.hierarchy, rasters, count));
    if (isOne && other == nodes + nodeCount)
        return true;
    return zsRefuse(CPLE_AppDefined, "%s: expected a store of one raster, found %s; %s", zsShown(root).c_str(),
                    status != ZS_OK ? "none"
                                    : CPLSPrintf("/%s and /%s", rasters[0]->path, (isOne ? *other : rasters[1])->path),
                    advice);
}

/* Whether the operating system lets what is in the directories of a store be removed. Else CPLError is emitted: later
 * the store would be half gone, or left over under a hidden name. */
static bool isRemovable(const ZSContents &contents)
{
    struct zs_error err;
    bool is = zs_store_check_access(contents.store, "", &err) == ZS_OK;
    for (size_t i = 0; is && i < contents.found.directories.count; i++)
        is = zs_store_check_access(contents.store, contents.found.directories.list[i], &err) == ZS_OK;
    if (!is)
        zsReport(err);
    return is;
}

/* Whether the store has no mark of a living maker: of one that appends an array and, with `orMakes`, of one that makes
 * the store itself. Else CPLError is emitted. With `overwrite` what may be of another machine's process is of none. */
static bool isUnmarked(const ZSContents &contents, bool orMakes, bool overwrite)
{
    for (size_t i = 0; i < contents.found.own.count; i++)
    {
        const char *key = contents.found.own.list[i];
        struct zs_error err;
        if (!zs_is_mark(key) || (!orMakes && EQUAL(key, ZS_MARK_NAME)) ||
            zs_mark_check(contents.store, key, overwrite, &err) == ZS_OK)
            continue;
        return zsReport(err);
    }
    return true;
}

/* Whether GDALDriver::Delete() may remove a store, as zsDeleteStore() says. */
static bool mayDelete(const std::string &store, const ZSContents &contents)
{
    static const char ADVICE[] = "the configuration option SHARDEDZARR_DELETE=ALL deletes what there is";
    if (EQUAL(CPLGetConfigOption("SHARDEDZARR_DELETE", ""), "ALL"))
        return true;
    if (!isUnmarked(contents, true, false))
        return false;
    if (contents.found.foreign_count == 0)
        return !contents.HasRoot() || isOneRaster(store, ADVICE);
    return zsRefuse(CPLE_AppDefined,
                    "%s: is not deleted: it holds files that are not of the store, the first is %s; %s of the store",
                    zsShown(store).c_str(), contents.found.foreign, ADVICE);
}

bool zsRemoveReplaced(const std::string &store, bool overwrite)
{
    ZSContents contents;
    return contents.Find(store) && isUnmarked(contents, false, overwrite) &&
           removeFound(store, contents, ZS_MARKS_STAY);
}

bool zsDeleteStore(const std::string &store)
{
    ZSContents contents;
    if (!contents.Find(store) || !mayDelete(store, contents) || !isRemovable(contents))
        return false;
    zsRemoveLeftovers(store);
    if (!removeFound(store, contents, ZS_MARKS_GO)) // what is left of it keeps its overviews
        return false;
    zsRemoveExternalOverviews(store);
    return true;
}

/* Finds out whether anything is at `root`, which is more than an empty directory, and whether it is a directory, whose
 * contents are then in `c`. A file of no bytes, as rasterio's MemoryFile makes one, has nothing to lose: it goes. False
 * (CPLError emitted) where that cannot be found out. */
static bool lookAt(const std::string &root, ZSContents &contents, bool &isThere, bool &isDirectory)
{
    VSIStatBufL st;
    // Of an object store GDAL may remember that nothing was there; listing asks.
    const bool isRemote = zs_path_is_remote(root.c_str());
    if (isRemote && !contents.Find(root, true))
        return false;
    isDirectory = isRemote && !contents.IsEmpty();
    isThere = isDirectory || VSIStatL(root.c_str(), &st) == 0;
    if (!isThere || isDirectory)
        return true;
    isDirectory = VSI_ISDIR(st.st_mode) != 0;
    if (isDirectory && !contents.Find(root))
        return false;
    if (!isDirectory && VSI_ISREG(st.st_mode) && st.st_size == 0 && VSIUnlink(root.c_str()) == 0)
        isThere = false;
    isThere = isThere && (!isDirectory || !contents.IsEmpty());
    return true;
}

bool zsMayReplace(const std::string &root, bool overwrite, bool canAppend, bool &isThere)
{
    ZSContents contents;
    bool isDirectory = false;
    if (!lookAt(root, contents, isThere, isDirectory))
        return false;
    if (!isThere)
        return true;
    if (!isDirectory || (!contents.HasRoot() && (contents.found.foreign_count > 0 || contents.found.own.count == 0)))
    {
        CPLError(CE_Failure, CPLE_AppDefined, "%s: %s", zsShown(root).c_str(),
                 isDirectory && isV2(root) ? "exists and is a store of Zarr v2; it is not overwritten"
                                             : "exists and is not a Zarr store; it is not overwritten");
        return false;
    }
    const std::string above = contents.HasRoot() ? zsStoreAbove(root) : "";
    if (!above.empty())
        return zsRefuse(CPLE_AppDefined, "%s: is not overwritten alone: it is in the store %s", zsShown(root).c_str(),
                        above.c_str());
    if (contents.found.foreign_count > 0)
        return zsRefuse(CPLE_AppDefined,
                        "%s: is not overwritten: it holds files that are not of the store, the first is %s",
                        zsShown(root).c_str(), contents.found.foreign);
    if (!isUnmarked(contents, false, overwrite)) // this target's own mark may be at the root
        return false;
    // Without a root it is what a killed writer left.
    const bool isOver = !contents.HasRoot() || overwrite;
    return (isOver ||
           isOneRaster(root, canAppend ? "OVERWRITE=YES replaces it, APPEND_SUBDATASET=YES adds to it"
                                       : "OVERWRITE=YES replaces it; who opens it for update adds to it")) &&
           isRemovable(contents);
}
