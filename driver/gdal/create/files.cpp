/* Stores as directories of files: packed, deleted, renamed, copied. */
#include "files.h"

#include <algorithm>
#include <vector>

#include "gdal/connection.h"
#include "gdal/driver.h"
#include "target.h"

void zsRemoveExternalOverviews(const std::string &store)
{
    const std::string file = store + ".ovr";
    if (!zs_path_is_remote(store.c_str()) && zsIsFile(file))
        VSIUnlink(file.c_str());
}

/* ---- Archives ---- */

bool zsIsArchive(const std::string &path)
{
    return STARTS_WITH(path.c_str(), "/vsizip/");
}

/* The file that a store lies in; `inside` is the folder there, or "". */
static std::string archiveOf(const std::string &store, std::string &inside)
{
    const std::string path = store.substr(strlen("/vsizip/"));
    const bool isBraced = path[0] == '{';
    const size_t found = isBraced ? path.rfind('}') : CPLString(path).tolower().find(".zip/");
    const size_t end = found == std::string::npos || isBraced ? found : found + strlen(".zip");
    inside = end == std::string::npos ? "" : path.substr(isBraced ? end + 1 : end);
    return path.substr(isBraced ? 1 : 0, isBraced && end != std::string::npos ? end - 1 : end);
}

bool zsMayReplaceArchive(const std::string &store)
{
    std::string inside;
    const std::string file = archiveOf(store, inside);
    VSIStatBufL st;
    struct zs_error err;
    if (!inside.empty())
        return zsRefuse(CPLE_NotSupported,
                        "%s: expected an archive, whose root becomes the store, as /vsizip/%s; found the folder %s in "
                        "it", zsShown(store).c_str(), zsShown(file).c_str(), inside.c_str());
    if (zs_staging_check_parent(file.c_str(), &err) != ZS_OK)
        return zsReport(err);
    return VSIStatL(file.c_str(), &st) != 0 || zsExists(store + "/zarr.json") ||
           zsRefuse(CPLE_AppDefined, "%s: exists and is not a zipped Zarr store; it is not overwritten", file.c_str());
}

static bool copyFile(const std::string &from, const std::string &to, std::vector<char> &buffer)
{
    VSILFILE *in = VSIFOpenL(from.c_str(), "rb");
    VSILFILE *out = in != nullptr ? VSIFOpenL(to.c_str(), "wb") : nullptr;
    bool ok = out != nullptr;
    for (size_t n = ok ? VSIFReadL(buffer.data(), 1, buffer.size(), in) : 0; ok && n > 0;)
    {
        ok = VSIFWriteL(buffer.data(), 1, n, out) == n;
        n = VSIFReadL(buffer.data(), 1, buffer.size(), in);
    }
    ok = ok && VSIFEofL(in) != 0;
    ok = (out == nullptr || VSIFCloseL(out) == 0) && ok;
    if (in != nullptr)
        VSIFCloseL(in);
    return ok;
}

/* The root's zarr.json comes last. */
static bool packInto(const std::string &from, const std::string &archive)
{
    CPLStringList files(VSIReadDirRecursive(from.c_str()));
    std::vector<char> buffer(1 << 20);
    std::vector<std::string> names;
    for (int i = 0; i < files.size(); i++)
    {
        const std::string name = files[i];
        if (name != "zarr.json" && name.back() != '/' && !zs_is_temporary_name(CPLGetFilename(name.c_str())))
            names.push_back(name);
    }
    names.push_back("zarr.json");
    for (const auto &name : names)
    {
        VSIStatBufL st;
        const std::string path = from + "/" + name;
        const bool isThere = VSIStatL(path.c_str(), &st) == 0;
        if (!isThere || (!VSI_ISDIR(st.st_mode) && !copyFile(path, archive + "/" + name, buffer)))
            return zsRefuse(CPLE_FileIO, "%s/%s: cannot be written", archive.c_str(), name.c_str());
    }
    return true;
}

bool zsPack(const std::string &from, const std::string &archive)
{
    std::string inside;
    const std::string file = archiveOf(archive, inside);
    struct zs_staging staging;
    struct zs_error err;
    zsRemoveLeftovers(file);
    if (zs_staging_begin(file.c_str(), false, &staging, &err) != ZS_OK)
    {
        zs_staging_end(&staging);
        return zsReport(err);
    }
    const std::string packed = staging.path + std::string(staging.is_beside ? "/" ZS_PACKED_NAME : "");
    // In braces: the directory has the ending of an archive as well.
    bool ok = packInto(from, "/vsizip/{" + packed + "}");
    if (ok && staging.is_beside && VSIRename(packed.c_str(), staging.root) != 0)
    {
        CPLError(CE_Failure, CPLE_FileIO, "%s: cannot be put in place", file.c_str());
        ok = false;
    }
    if (ok)
        staging.made = 0;
    else
        VSIUnlink(packed.c_str());
    if (staging.is_beside)
        VSIRmdir(staging.path);
    zs_staging_end(&staging);
    return ok;
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
        CPLError(CE_Warning, CPLE_NotSupported, "%s: stays until a copy replaces it; %s", shown.c_str(),
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
 * there. */
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
    return !zsExists(to) || zsRefuse(CPLE_AppDefined, "%s: exists already; it is not overwritten: delete it first",
                                     zsShown(to).c_str());
}

/* Like any other new store it appears when it is complete. */
static bool copyStore(const std::string &to, const std::string &from)
{
    ZSTarget target;
    if (!target.Open(to, false, true))
        return false;
    if (zs_path_is_remote(to.c_str()))
        return target.CopyFrom(from) && target.Commit();
    // A trailing slash: the content, not the directory into the other.
    if (VSISync((from + "/").c_str(), target.Path().c_str(), nullptr, nullptr, nullptr, nullptr))
        return target.Commit();
    return zsRefuse(CPLE_FileIO, "%s: cannot be copied to %s", zsShown(from).c_str(), zsShown(to).c_str());
}

CPLErr zsRename(const char *newName, const char *oldName)
{
    std::string from, to;
    if (!findPaths(newName, oldName, to, from))
        return CE_Failure;
    // GDAL would move one object after the other: killed between two, it leaves two stores that lack chunks.
    if (zs_path_is_remote(from.c_str()) && zs_path_is_remote(to.c_str()))
        return copyStore(to, from) && zsRemoveReplaced(from, false) ? CE_None : CE_Failure;
    if (VSIRename(from.c_str(), to.c_str()) == 0)
        return CE_None;
    return zsRefuse(CPLE_FileIO, "%s: cannot be renamed to %s", zsShown(from).c_str(), zsShown(to).c_str());
}

CPLErr zsCopyFiles(const char *newName, const char *oldName)
{
    std::string from, to;
    return findPaths(newName, oldName, to, from) && copyStore(to, from) ? CE_None : CE_Failure;
}
