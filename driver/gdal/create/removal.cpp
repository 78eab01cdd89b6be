/* What is in the directory of a store, whether that may go, and removing it; stores deleted, renamed, copied. */
#include "target.h"

#include <algorithm>
#include <memory>

#include <sys/stat.h>

#include "gdal/connection.h"
#include "gdal/driver.h"
#include "gdal/guard.h"

extern "C"
{
#include "geo/axes.h"
#include "geo/healpix.h"
#include "raster/listing.h"
#include "store/staging.h"
}

/* ---- What is there ---- */

ZSContents::~ZSContents()
{
    zs_contents_clear(&found);
    zs_store_free(store);
}

bool ZSContents::Find(const std::string &path, bool orNoListings)
{
    struct zs_error err;
    zs_contents_clear(&found);
    zs_store_free(store);
    store = nullptr;
    enum zs_status status = zs_store_open(path.c_str(), &store, &err);
    if (status == ZS_OK)
        status = zs_contents_find(store, &found, &err);
    return status == ZS_OK || (status == ZS_UNSUPPORTED && orNoListings) || zsReport(err);
}

bool ZSContents::Remove()
{
    struct zs_error err;
    if (zs_contents_remove(store, &found, &err) != ZS_OK)
        return zsReport(err);
    const ZSQuiet quiet; // a directory that stays is no failure
    if (found.foreign_count == 0 && !store->is_remote)
        VSIRmdir(store->root);
    return true;
}

void zsForgetListing(const std::string &path)
{
    if (zs_path_is_remote(path.c_str()))
        VSICurlPartialClearCache(CPLGetPath(path.c_str()));
}

/* Whether a directory without zarr.json is a store of Zarr v2. */
static bool isV2(const std::string &path)
{
    ZSStore at;
    return zs_store_open(path.c_str(), &at.store, nullptr) == ZS_OK && zs_document_is_v2(at.store);
}

bool zsHasRoot(const std::string &path, const char *otherwise)
{
    struct zs_error err;
    ZSStore at;
    struct zs_buffer text = {};
    enum zs_status status = zs_store_open(path.c_str(), &at.store, &err);
    if (status == ZS_OK) // GDAL does not distinguish absent from unreachable
        status = zs_store_get(at.store, "zarr.json", ZS_JSON_MAX_BYTES, &text, &err);
    zs_buffer_free(&text);
    if (status == ZS_NOT_FOUND)
        return zsRefuse(CPLE_AppDefined, "%s: %s", zsShown(path).c_str(), isV2(path) ? zs_found_v2 : otherwise);
    return status == ZS_OK || zsReport(err);
}

/* ---- What may go ---- */

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
    const bool isAny = zs_rasters_find(store.hierarchy, group, &rasters, &count, nullptr, &err) == ZS_OK;
    using Nodes = std::unique_ptr<const struct zs_node *, decltype(&free)>;
    const Nodes nodesFreed(nodes, free), rastersFreed(rasters, free);
    struct zs_healpix cells = {};
    const bool areCells = isAny && zs_healpix_find(store.hierarchy, rasters[0], &cells);
    const auto isOther = [&](const struct zs_node *node)
    {
        return isStrange(node) && std::find(rasters, rasters + count, node) == rasters + count &&
               !(areCells && node == cells.coordinate);
    };
    const auto other = std::find_if(nodes, nodes + nodeCount, isOther);
    if (isAny && count == 1 && other == nodes + nodeCount)
        return true;
    const std::string found =
        isAny ? std::string("/") + rasters[0]->path + " and /" + (count > 1 ? rasters[1] : *other)->path : "none";
    return zsRefuse(CPLE_AppDefined, "%s: expected a store of one raster, found %s; %s", zsShown(root).c_str(),
                    found.c_str(), advice);
}

/* Whether the operating system lets what is in the directories of a store be removed. Else CPLError is emitted: later
 * the store would be half gone, or left over under a hidden name. */
static bool isRemovable(const ZSContents &contents)
{
    struct zs_error err;
    enum zs_status status = zs_store_check_access(contents.store, "", &err);
    for (size_t i = 0; status == ZS_OK && i < contents.found.directories.count; i++)
        status = zs_store_check_access(contents.store, contents.found.directories.list[i], &err);
    return status == ZS_OK || zsReport(err);
}

/* Whether all files are the store's own. Else CPLError is emitted. */
static bool isAllOwn(const std::string &store, const ZSContents &contents, const char *done)
{
    return contents.found.foreign_count == 0 ||
           zsRefuse(CPLE_AppDefined, "%s: is not %s: it holds files that are not of the store, the first is %s",
                    zsShown(store).c_str(), done, contents.found.foreign);
}

/* Refuses what is at a root and is no store. */
static bool refuseNoStore(const std::string &root, bool isDirectory)
{
    const char *found = isDirectory && isV2(root) ? "exists and is a store of Zarr v2; it is not overwritten"
                                                  : "exists and is not a Zarr store; it is not overwritten";
    return zsRefuse(CPLE_AppDefined, "%s: %s%s", zsShown(root).c_str(), found,
                    isDirectory ? ": what a killed program left you remove yourself (gdal.RmdirRecursive())" : "");
}

bool zsMayMark(struct zs_store *store)
{
    struct zs_error err;
    char **names = nullptr;
    const enum zs_status status = store->ops->list(store, "", &names, &err);
    const ZSOwned<char *> namesFreed(names, zs_names_free);
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND || status == ZS_UNSUPPORTED || zsReport(err);
    return names[0] == nullptr || zs_is_one_of("zarr.json", names) || zs_is_one_of(ZS_MARK_NAME, names) ||
           refuseNoStore(store->root, true);
}

/* Finds out whether anything is at `root`, which is more than an empty directory, and whether it is a directory, whose
 * contents are then in `contents`. A file of no bytes, as rasterio's MemoryFile makes one, has nothing to lose and
 * goes. False (CPLError emitted) where that cannot be found out. */
static bool lookAt(const std::string &root, ZSContents &contents, bool &isThere, bool &isDirectory)
{
    VSIStatBufL st;
    const bool isRemote = zs_path_is_remote(root.c_str());
    const auto look = [&]
    {
        const ZSQuiet quiet; // GDAL emits errors of listings that it can do without
        return VSIStatL(root.c_str(), &st) == 0;
    };
    const bool isAny = look(), isFile = isAny && !VSI_ISDIR(st.st_mode);
    // Of an object store GDAL may remember that nothing was there: listing asks, where that is possible.
    if ((isRemote || !isFile) && !contents.Find(root, isRemote && (isFile || !isAny)))
        return false;
    isDirectory = !contents.IsEmpty();
    const auto isRemoved = [&] { return VSI_ISREG(st.st_mode) && st.st_size == 0 && VSIUnlink(root.c_str()) == 0; };
    isThere = isDirectory || (isFile && !isRemoved());
    return true;
}

bool zsMayReplace(const std::string &root, bool overwrite, bool wasLeft, bool &isThere)
{
    ZSContents contents;
    bool isDirectory = false;
    if (!lookAt(root, contents, isThere, isDirectory))
        return false;
    if (isDirectory && wasLeft && !contents.HasRoot() && contents.found.foreign_count == 0)
    {
        isThere = false;
        return contents.Remove();
    }
    if (!isThere)
        return true;
    if (!isDirectory || !contents.HasRoot())
        return refuseNoStore(root, isDirectory);
    const std::string above = zsStoreAbove(root);
    if (!above.empty())
        return zsRefuse(CPLE_AppDefined, "%s: is not overwritten alone: it is in the store %s",
                        zsShown(root).c_str(), above.c_str());
    static const char ADVICE[] = "OVERWRITE=YES replaces it, APPEND_SUBDATASET=YES adds a raster to it, and an update "
                                 "by the multidimensional API adds an array";
    return isAllOwn(root, contents, "overwritten") && (overwrite || isOneRaster(root, ADVICE)) &&
           isRemovable(contents);
}

/* ---- Removing ---- */

void zsRemoveExternalOverviews(const std::string &store)
{
    const std::string file = store + ".ovr";
    if (!zs_path_is_remote(store.c_str()) && zsIsFile(file))
        VSIUnlink(file.c_str());
}

bool zsRemoveSilently(const std::string &path)
{
    const ZSQuiet quiet;
    ZSContents contents;
    return contents.Find(path) && contents.Remove();
}

void zsRemoveLeftovers(const std::string &root)
{
    const ZSOwned<char *> paths(zs_staging_leftovers(root.c_str()), zs_names_free);
    for (char **path = paths.get(); path != nullptr && *path != nullptr; path++)
        zsRemoveSilently(*path);
}

/* Removes a store, its root's metadata first, if it is one raster and holds nothing of others. Else false (CPLError
 * emitted), as on failure: programs that make room for a new raster (rasterio) delete before they pass options. */
static bool deleteStore(const std::string &store)
{
    static const char ADVICE[] = "remove its folder yourself (rm -r, gdal.RmdirRecursive())";
    ZSContents contents;
    struct zs_error err;
    bool wasLeft;
    if (!contents.Find(store))
        return false;
    const bool marks = contents.store->is_remote && zs_store_has_conditions(contents.store);
    if (!marks && contents.found.is_marked && zs_mark_check(contents.store, false, &err) != ZS_OK)
        return zsReport(err);
    if (!isAllOwn(store, contents, "deleted") || (contents.HasRoot() && !isOneRaster(store, ADVICE)) ||
        !isRemovable(contents))
        return false;
    zsRemoveLeftovers(store);
    // Without its root a store is told from a folder of others by the mark: the next deletion does the rest.
    if (marks && zs_mark_put(contents.store, false, &wasLeft, &err) != ZS_OK)
        return zsReport(err);
    if (!marks && contents.found.is_marked && zs_store_remove(contents.store, ZS_MARK_NAME, &err) != ZS_OK)
        return zsReport(err);
    // A hidden name first: no reader opens a store of which a part is removed, and no new one loses objects.
    const std::unique_ptr<char, decltype(&free)> aside(zs_staging_set_aside(store.c_str()), free);
    if (aside != nullptr && zs_store_moved(contents.store, aside.get(), &err) != ZS_OK)
        return zsReport(err);
    const bool ok = contents.Remove(); // else what is left of it keeps its overviews
    if (marks && !ok)
        zs_mark_leave();
    else if (marks && zs_mark_remove(contents.store, &err) != ZS_OK)
        return zsReport(err);
    if (!ok)
        return false;
    zsRemoveExternalOverviews(store);
    return true;
}

/* ---- Deleting ---- */

/* Whether a name stands for a store, and not for an array or a group in one. Else CPLError is emitted. */
static bool isStore(const char *name, const ZSConnection &connection)
{
    const std::string shown = zsShown(name);
    if (!connection.array.empty())
        return zsRefuse(CPLE_NotSupported, "%s: an array of a store cannot be deleted, renamed or copied alone",
                        shown.c_str());
    if (!zsIsNoRepository(connection) || !zsHasRoot(connection.store, "is not a Zarr store"))
        return false;
    const std::string above = zsStoreAbove(connection.store);
    return above.empty() ||
           zsRefuse(CPLE_NotSupported, "%s: cannot be deleted, renamed or copied alone: it is in the store %s",
                    shown.c_str(), above.c_str());
}

/* Whether no dataset of this program is open on the store. `gdal raster reproject --overwrite a.zarr a.zarr` opens its
 * source, then deletes it; a file would be readable for as long as it is open, a store is not. */
static bool isClosed(const std::string &store)
{
    return !zsIsOpen(store) ||
           zsRefuse(CPLE_AppDefined, "%s: is not deleted: this program has it open; close it first",
                    zsShown(store).c_str());
}

/* GDAL deletes what a copy is about to overwrite, before it asks the driver: all but directories that it knows. Nothing
 * may go before what replaces it is there, so stores are deleted by the names of their directories alone. Else a
 * message says why nothing is deleted, where something is there. */
static bool isDeletable(const char *name, const ZSConnection &connection)
{
    const std::string &store = connection.store, shown = zsShown(name);
    VSIStatBufL st;
    const bool isFolder = connection.prefix == ZSConnection::Prefix::NONE && !zsEndsWith(name, "zarr.json") &&
                          !zsIsArchive(store);
    if (isFolder && (!zsIsRemote(store) || (VSIStatL(store.c_str(), &st) == 0 && VSI_ISDIR(st.st_mode))))
        return true;
    zsForgetListing(store); // GDAL may have remembered that nothing is there
    if (VSIStatL(store.c_str(), &st) == 0)
        CPLError(CE_Warning, CPLE_NotSupported,
                 "%s: stays; %s", shown.c_str(),
                 zsIsArchive(store) ? "a store in an archive is deleted with that file"
                                    : "a store is deleted by the name of its folder, of which GDAL knows from now on");
    else if (isFolder)
        CPLError(CE_Failure, CPLE_OpenFailed, "%s: cannot be deleted: it is not there, or cannot be reached",
                 shown.c_str());
    return false;
}

CPLErr zsDelete(const char *name)
{
    ZSConnection connection;
    if (!zsParseName(name, connection) || !isDeletable(name, connection))
        return CE_Failure;
    const std::string &store = connection.store;
    // What a killed maker left does not open as a store.
    const auto isLeft = [&]
    {
        const ZSQuiet quiet;
        ZSContents contents;
        return zsIsRemote(store) && !zsExists(store + "/zarr.json") && contents.Find(store) &&
               contents.found.is_marked && !contents.HasRoot() && contents.found.foreign_count == 0;
    };
    if (!isLeft() && !isStore(name, connection))
        return CE_Failure;
    struct stat st;
    if (lstat(store.c_str(), &st) != 0 || !S_ISLNK(st.st_mode))
        return isClosed(store) && deleteStore(store) ? CE_None : CE_Failure;
    // A link takes nothing along.
    zsRemoveLeftovers(store);
    if (VSIUnlink(store.c_str()) != 0)
        return CE_Failure;
    zsRemoveExternalOverviews(store);
    return CE_None;
}

/* ---- Renaming and copying ---- */

/* Checks a store that is renamed or copied, and that there is nothing at its new name. Not on object stores: killed
 * between two objects, GDAL would leave two stores that lack chunks. Else CPLError is emitted. */
static bool mayMove(const char *oldName, const char *newName, ZSConnection &from, ZSConnection &to)
{
    if (!zsParseName(oldName, from) || !isStore(oldName, from) || !zsParseName(newName, to))
        return false;
    const bool isThere = zsExists(to.store);
    return (!isThere && !zsIsRemote(to.store)) ||
           zsRefuse(CPLE_NotSupported, "%s: %s", zsShown(to.store).c_str(),
                    isThere ? "exists already; it is not overwritten: delete it first"
                            : "stores are not renamed or copied to object stores; gdal_translate and "
                              "gdalmdimtranslate make a store there");
}

CPLErr zsRename(const char *newName, const char *oldName)
{
    ZSConnection from, to;
    if (!mayMove(oldName, newName, from, to))
        return CE_Failure;
    if (VSIRename(from.store.c_str(), to.store.c_str()) == 0)
        return CE_None;
    return zsRefuse(CPLE_FileIO, "%s: cannot be renamed to %s", zsShown(from.store).c_str(), zsShown(to.store).c_str());
}

CPLErr zsCopyFiles(const char *newName, const char *oldName)
{
    ZSConnection from, to;
    ZSNewStore target; // like any other new store it appears when it is complete
    if (!mayMove(oldName, newName, from, to) || !target.Begin(to.store, false, true))
        return CE_Failure;
    // A trailing slash: the content, not the directory into the other.
    if (VSISync((from.store + "/").c_str(), target.Path().c_str(), nullptr, nullptr, nullptr, nullptr))
        return target.Commit() ? CE_None : CE_Failure;
    return zsRefuse(CPLE_FileIO, "%s: cannot be copied to %s", zsShown(from.store).c_str(), zsShown(to.store).c_str());
}
