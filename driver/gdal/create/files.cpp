/* Stores as directories of files: deleted, renamed, copied, packed. */
#include "files.h"

#include <algorithm>
#include <vector>

#include "gdal/connection.h"
#include "gdal/handles.h"
#include "target.h"

extern "C"
{
#include "store/store.h"
}

static bool copyFile(const std::string &from, const std::string &to, vsi_l_offset size, std::vector<char> &buffer)
{
    VSILFILE *in = VSIFOpenL(from.c_str(), "rb");
    VSILFILE *out = in != nullptr ? VSIFOpenL(to.c_str(), "wb") : nullptr;
    bool ok = out != nullptr;
    for (vsi_l_offset left = ok ? size : 0; ok && left > 0;)
    {
        const size_t n = static_cast<size_t>(std::min<vsi_l_offset>(left, buffer.size()));
        ok = VSIFReadL(buffer.data(), 1, n, in) == n && VSIFWriteL(buffer.data(), 1, n, out) == n;
        left -= n;
    }
    ok = (out == nullptr || VSIFCloseL(out) == 0) && ok;
    if (in != nullptr)
        VSIFCloseL(in);
    return ok;
}

std::string zsExternalOverviews(const std::string &store)
{
    return store + ".ovr";
}

void zsRemoveExternalOverviews(const std::string &store)
{
    const std::string file = zsExternalOverviews(store);
    if (!zs_path_is_remote(store.c_str()) && zsIsFile(file))
        VSIUnlink(file.c_str());
}

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
    if (VSIStatL(file.c_str(), &st) != 0)
        return true;
    return zsExists(store + "/zarr.json") ||
           zsRefuse(CPLE_AppDefined, "%s: exists and is not a zipped Zarr store; it is not overwritten", file.c_str());
}

static bool packInto(const std::string &from, const std::string &archive)
{
    CPLStringList files(VSIReadDirRecursive(from.c_str()));
    const int root = files.FindString("zarr.json");
    std::vector<char> buffer(1 << 20);
    for (int i = 0; i <= files.size(); i++)
    {
        const char *name = i == files.size() ? "zarr.json" : files[i];
        VSIStatBufL st;
        const std::string path = from + "/" + name;
        const bool found = i != root && VSIStatL(path.c_str(), &st) == 0;
        if (i == root || zs_is_temporary_name(CPLGetFilename(name)) || (found && VSI_ISDIR(st.st_mode)))
            continue;
        if (!found || !copyFile(path, archive + "/" + name, static_cast<vsi_l_offset>(st.st_size), buffer))
            return zsRefuse(CPLE_FileIO, "%s/%s: cannot be written", archive.c_str(), name);
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
    bool ok = zs_staging_begin(file.c_str(), false, &staging, &err) == ZS_OK;
    if (!ok)
        zsReport(err);
    const std::string packed =
        ok ? staging.is_beside ? std::string(staging.path) + "/" + ZS_PACKED_NAME : staging.path : "";
    // In braces: the directory has the ending of an archive as well.
    ok = ok && packInto(from, "/vsizip/{" + packed + "}");
    if (ok && staging.is_beside && VSIRename(packed.c_str(), staging.root) != 0)
    {
        CPLError(CE_Failure, CPLE_FileIO, "%s: cannot be put in place", file.c_str());
        ok = false;
    }
    if (ok)
        staging.made = 0;
    else if (!packed.empty())
        VSIUnlink(packed.c_str());
    if (staging.path != nullptr && staging.is_beside)
        VSIRmdir(staging.path);
    zs_staging_end(&staging);
    return ok;
}

/* The store that a name stands for; "" (CPLError emitted) when it is none. */
static std::string storeOf(const char *name)
{
    ZSConnection connection;
    std::string reason;
    if (!zsParseConnection(name, connection, reason))
        CPLError(CE_Failure, CPLE_AppDefined, "%s: %s", zsShown(name).c_str(), zsShown(reason).c_str());
    else if (connection.has_array && !connection.array.empty())
        CPLError(CE_Failure, CPLE_NotSupported, "%s: an array of a store cannot be deleted, renamed or copied alone",
                 zsShown(name).c_str());
    else if (zsIsNoRepository(connection) && zsHasRoot(connection.store, "is not a Zarr store"))
    {
        const std::string above = zsStoreAbove(connection.store);
        if (above.empty())
            return connection.store;
        CPLError(CE_Failure, CPLE_NotSupported, "%s: cannot be deleted, renamed or copied alone: it is in the store %s",
                 zsShown(name).c_str(), above.c_str());
    }
    return "";
}

/* Whether a store may be changed; else the reason is in `err`. True where this is unknown: a later step reports it. */
static bool isWritable(const std::string &path, struct zs_error *err)
{
    ZSStore store;
    return zs_store_open(path.c_str(), &store.store, err) != ZS_OK ||
           zs_hierarchy_open(store.store, false, &store.hierarchy, err) != ZS_OK ||
           zs_hierarchy_check_writable(store.hierarchy, err) == ZS_OK;
}

/* GDAL deletes what a copy is about to overwrite, before it asks the driver: all but directories. Nothing may go before
 * what replaces it is there, so stores are deleted by the names of their directories alone. */
static bool isDeletable(const char *name, const ZSConnection &connection)
{
    return connection.prefix == ZSConnection::Prefix::NONE && !zsEndsWith(name, "zarr.json") &&
           !zsIsArchive(connection.store);
}

/* Whether no dataset of this program is open on the store. `gdal raster reproject --overwrite a.zarr a.zarr` opens its
 * source, then deletes it; a file would be readable for as long as it is open, a store is not. */
static bool mayGo(const std::string &store)
{
    const auto names = zsOpenStores();
    if (EQUAL(CPLGetConfigOption("SHARDEDZARR_DELETE", ""), "ALL") ||
        std::find(names.begin(), names.end(), zsRealPath(store)) == names.end())
        return true;
    return zsRefuse(CPLE_AppDefined,
                    "%s: is not deleted: this program has it open; close it first, or give the configuration option "
                    "SHARDEDZARR_DELETE=ALL", zsShown(store).c_str());
}

/* Says why nothing is deleted by a name that isDeletable() refuses, where something is there. */
static void warnOfName(const char *name, const ZSConnection &connection)
{
    VSIStatBufL st;
    if (connection.has_array && !connection.array.empty())
        CPLError(CE_Warning, CPLE_NotSupported, "%s: an array of a store is not deleted alone", zsShown(name).c_str());
    else if (VSIStatL(connection.store.c_str(), &st) == 0)
        CPLError(CE_Warning, CPLE_NotSupported, "%s: stays until a copy replaces it; %s", zsShown(name).c_str(),
                 zsIsArchive(connection.store)
                     ? "to delete it, remove the file"
                     : ("the name by which it is deleted is " + zsShown(connection.store)).c_str());
}

/* Whether GDAL knows that a store on a network is a directory: else it may be asked to make room for a copy, as above.
 * A message says so otherwise. */
static bool isKnown(const char *name, const std::string &store)
{
    VSIStatBufL st;
    if (!zs_path_is_remote(store.c_str()) || (VSIStatL(store.c_str(), &st) == 0 && VSI_ISDIR(st.st_mode)))
        return true;
    zsForgetListing(store);
    if (VSIStatL(store.c_str(), &st) == 0)
        CPLError(CE_Warning, CPLE_FileIO,
                 "%s: is not deleted: GDAL did not know that it is there; it does from now on", zsShown(name).c_str());
    else
        CPLError(CE_Failure, CPLE_OpenFailed, "%s: cannot be deleted: it is not there, or cannot be reached",
                 zsShown(name).c_str());
    return false;
}

/* Removes a link to a store, which takes nothing along. */
static CPLErr deleteLink(const std::string &store)
{
    zsRemoveLeftovers(store);
    if (VSIUnlink(store.c_str()) != 0)
        return CE_Failure;
    zsRemoveExternalOverviews(store);
    return CE_None;
}

CPLErr zsDelete(const char *name)
{
    ZSConnection connection;
    std::string reason;
    VSIStatBufL st;
    if (zsParseConnection(name, connection, reason) && !isDeletable(name, connection))
    {
        warnOfName(name, connection);
        return CE_Failure;
    }
    if (!isKnown(name, connection.store))
        return CE_Failure;
    // The remains of a killed writer do not open as a store.
    const std::string store =
        VSIStatL((connection.store + "/zarr.json").c_str(), &st) != 0 && zsIsLeftover(connection.store)
            ? connection.store
            : storeOf(name);
    if (store.empty())
        return CE_Failure;
    struct zs_error err;
    if (!isWritable(store, &err))
        return zsReport(err);
    if (zsIsLink(store))
        return deleteLink(store);
    return mayGo(store) && zsDeleteStore(store) ? CE_None : CE_Failure;
}

/* The path for a store that is renamed or copied; "" (CPLError emitted) when something is there. */
static std::string newStorePath(const char *name)
{
    ZSConnection connection;
    std::string reason;
    VSIStatBufL st;
    if (!zsParseConnection(name, connection, reason))
        CPLError(CE_Failure, CPLE_AppDefined, "%s: %s", zsShown(name).c_str(), zsShown(reason).c_str());
    else if (VSIStatL(connection.store.c_str(), &st) == 0)
        CPLError(CE_Failure, CPLE_AppDefined, "%s: exists already; it is not overwritten: delete it first",
                 zsShown(connection.store).c_str());
    else
        return connection.store;
    return "";
}

CPLErr zsRename(const char *newName, const char *oldName)
{
    const std::string from = storeOf(oldName), to = from.empty() ? "" : newStorePath(newName);
    if (to.empty())
        return CE_Failure;
    // GDAL would move one object after the other: killed between two, it leaves two stores that lack chunks.
    if (zs_path_is_remote(from.c_str()) && zs_path_is_remote(to.c_str()))
        return zsMoveStore(from, to) ? CE_None : CE_Failure;
    if (VSIRename(from.c_str(), to.c_str()) == 0)
        return CE_None;
    return zsRefuse(CPLE_FileIO, "%s: cannot be renamed to %s", zsShown(from).c_str(), zsShown(to).c_str());
}

CPLErr zsCopyFiles(const char *newName, const char *oldName)
{
    const std::string from = storeOf(oldName), to = from.empty() ? "" : newStorePath(newName);
    if (to.empty())
        return CE_Failure;
    // Like any other new store it appears when it is complete.
    ZSTarget target;
    if (!target.Open(to, false, true))
        return CE_Failure;
    if (zs_path_is_remote(to.c_str()))
        return target.CopyFrom(from) && target.Commit() ? CE_None : CE_Failure;
    // A trailing slash: the content, not the directory into the other.
    if (VSISync((from + "/").c_str(), target.Path().c_str(), nullptr, nullptr, nullptr, nullptr))
        return target.Commit() ? CE_None : CE_Failure;
    return zsRefuse(CPLE_FileIO, "%s: cannot be copied to %s", zsShown(from).c_str(), zsShown(to).c_str());
}
