/* Stores as directories of files: deleted, renamed, copied. */
#include "files.h"

#include <algorithm>

#include "gdal/connection.h"
#include "gdal/driver.h"
#include "target.h"

void zsRemoveExternalOverviews(const std::string &store)
{
    const std::string file = store + ".ovr";
    if (!zs_path_is_remote(store.c_str()) && zsIsFile(file))
        VSIUnlink(file.c_str());
}

/* ---- Deleting ---- */

/* The store that a name stands for; "" (CPLError emitted) when it is none. */
static std::string storeOf(const char *name)
{
    ZSConnection connection;
    std::string reason;
    const std::string shown = zsShown(name);
    if (!zsParseConnection(name, connection, reason))
        CPLError(CE_Failure, CPLE_AppDefined, "%s: %s", shown.c_str(), zsShown(reason).c_str());
    else if (connection.has_array && !connection.array.empty())
        CPLError(CE_Failure, CPLE_NotSupported, "%s: an array of a store cannot be deleted, renamed or copied alone",
                 shown.c_str());
    else if (zsIsNoRepository(connection) && zsHasRoot(connection.store, "is not a Zarr store"))
    {
        const std::string above = zsStoreAbove(connection.store);
        if (above.empty())
            return connection.store;
        CPLError(CE_Failure, CPLE_NotSupported, "%s: cannot be deleted, renamed or copied alone: it is in the store %s",
                 shown.c_str(), above.c_str());
    }
    return "";
}

/* GDAL deletes what a copy is about to overwrite, before it asks the driver: all but directories that it knows. Nothing
 * may go before what replaces it is there, so stores are deleted by the names of their directories alone. Else a
 * message says why nothing is deleted, where something is there. */
static bool isDeletable(const char *name, const ZSConnection &connection)
{
    const std::string &store = connection.store, shown = zsShown(name);
    VSIStatBufL st;
    const bool isThere = VSIStatL(store.c_str(), &st) == 0, isArchive = zsIsArchive(store);
    const bool isNamed = connection.prefix == ZSConnection::Prefix::NONE && !zsEndsWith(name, "zarr.json");
    const bool isKnown = !zs_path_is_remote(store.c_str()) || (isThere && VSI_ISDIR(st.st_mode));
    if (isNamed && !isArchive && isKnown)
        return true;
    if (connection.has_array && !connection.array.empty())
        CPLError(CE_Warning, CPLE_NotSupported, "%s: an array of a store is not deleted alone", shown.c_str());
    else if (isNamed && !isArchive)
    {
        zsForgetListing(store);
        if (VSIStatL(store.c_str(), &st) == 0)
            CPLError(CE_Warning, CPLE_FileIO,
                     "%s: is not deleted: GDAL did not know that it is there; it does from now on", shown.c_str());
        else
            CPLError(CE_Failure, CPLE_OpenFailed, "%s: cannot be deleted: it is not there, or cannot be reached",
                     shown.c_str());
    }
    else if (isThere)
        CPLError(CE_Warning, CPLE_NotSupported, "%s: stays; %s", shown.c_str(),
                 isArchive ? "to delete it, remove the file"
                           : ("the name by which it is deleted is " + zsShown(store)).c_str());
    return false;
}

/* Whether no dataset of this program is open on the store. `gdal raster reproject --overwrite a.zarr a.zarr` opens its
 * source, then deletes it; a file would be readable for as long as it is open, a store is not. */
static bool isClosed(const std::string &store)
{
    const auto names = zsOpenStores();
    return EQUAL(CPLGetConfigOption("SHARDEDZARR_DELETE", ""), "ALL") ||
           std::find(names.begin(), names.end(), zsRealPath(store)) == names.end() ||
           zsRefuse(CPLE_AppDefined,
                    "%s: is not deleted: this program has it open; close it first, or give the configuration option "
                    "SHARDEDZARR_DELETE=ALL", zsShown(store).c_str());
}

/* Whether a store may be changed: not a draft of 2022. True where this is unknown: a later step reports it. */
static bool isWritable(const std::string &path)
{
    ZSStore store;
    struct zs_error err;
    return zs_store_open(path.c_str(), &store.store, &err) != ZS_OK ||
           zs_hierarchy_open(store.store, false, &store.hierarchy, &err) != ZS_OK ||
           zs_hierarchy_check_writable(store.hierarchy, &err) == ZS_OK || zsReport(err);
}

/* Removes a link to a store, which takes nothing along. */
static bool deleteLink(const std::string &store)
{
    zsRemoveLeftovers(store);
    if (VSIUnlink(store.c_str()) != 0)
        return false;
    zsRemoveExternalOverviews(store);
    return true;
}

CPLErr zsDelete(const char *name)
{
    ZSConnection connection;
    std::string reason;
    if (zsParseConnection(name, connection, reason) && !isDeletable(name, connection))
        return CE_Failure;
    // The remains of a killed writer do not open as a store.
    const bool isLeft = !zsExists(connection.store + "/zarr.json") && zsIsLeftover(connection.store);
    const std::string store = isLeft ? connection.store : storeOf(name);
    if (store.empty() || !isWritable(store))
        return CE_Failure;
    const bool ok = zsIsLink(store) ? deleteLink(store) : isClosed(store) && zsDeleteStore(store);
    return ok ? CE_None : CE_Failure;
}

/* ---- Renaming and copying ---- */

/* The paths of a store that is renamed or copied, and of the new one; false (CPLError emitted) when something is
 * there, and on object stores: killed between two objects, GDAL would leave two stores that lack chunks. */
static bool findPaths(const char *newName, const char *oldName, std::string &to, std::string &from)
{
    ZSConnection connection;
    std::string reason;
    from = storeOf(oldName);
    if (from.empty())
        return false;
    if (!zsParseConnection(newName, connection, reason))
        return zsRefuse(CPLE_AppDefined, "%s: %s", zsShown(newName).c_str(), zsShown(reason).c_str());
    to = connection.store;
    if (zsExists(to))
        return zsRefuse(CPLE_AppDefined, "%s: exists already; it is not overwritten: delete it first",
                        zsShown(to).c_str());
    return !zs_path_is_remote(to.c_str()) ||
           zsRefuse(CPLE_NotSupported, "%s: stores are not renamed or copied to object stores; gdal_translate and "
                                       "gdalmdimtranslate make a store there", zsShown(to).c_str());
}

CPLErr zsRename(const char *newName, const char *oldName)
{
    std::string from, to;
    if (!findPaths(newName, oldName, to, from))
        return CE_Failure;
    if (VSIRename(from.c_str(), to.c_str()) == 0)
        return CE_None;
    return zsRefuse(CPLE_FileIO, "%s: cannot be renamed to %s", zsShown(from).c_str(), zsShown(to).c_str());
}

CPLErr zsCopyFiles(const char *newName, const char *oldName)
{
    std::string from, to;
    ZSTarget target; // like any other new store it appears when it is complete
    if (!findPaths(newName, oldName, to, from) || !target.Open(to, false, true))
        return CE_Failure;
    // A trailing slash: the content, not the directory into the other.
    if (VSISync((from + "/").c_str(), target.Path().c_str(), nullptr, nullptr, nullptr, nullptr))
        return target.Commit() ? CE_None : CE_Failure;
    return zsRefuse(CPLE_FileIO, "%s: cannot be copied to %s", zsShown(from).c_str(), zsShown(to).c_str());
}
