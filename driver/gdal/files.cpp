#include "files.h"

#include <algorithm>
#include <vector>

#include "connection.h"

extern "C"
{
#include "store/store.h"
}

static bool isStore(const std::string &path)
{
    VSIStatBufL st;
    return VSIStatExL((path + "/zarr.json").c_str(), &st, VSI_STAT_EXISTS_FLAG) == 0;
}

static bool isEmptyDirectory(const std::string &path)
{
    VSIStatBufL st;
    if (VSIStatL(path.c_str(), &st) != 0 || !VSI_ISDIR(st.st_mode))
        return false;
    const CPLStringList content(VSIReadDir(path.c_str()));
    for (int i = 0; i < content.size(); i++)
    {
        if (!EQUAL(content[i], ".") && !EQUAL(content[i], ".."))
            return false;
    }
    return true;
}

bool zsIsArchive(const std::string &path)
{
    return STARTS_WITH(path.c_str(), "/vsizip/");
}

/* An archive that is a store, or does not exist yet, makes room by going away; any other stays. */
static bool clearArchive(const std::string &store)
{
    const std::string file = store.substr(strlen("/vsizip/"));
    VSIStatBufL st;
    if (VSIStatL(file.c_str(), &st) != 0 || (isStore(store) && VSIUnlink(file.c_str()) == 0))
        return true;
    CPLError(CE_Failure, CPLE_AppDefined, "%s: exists and is not a zipped Zarr store; it is not overwritten", file.c_str());
    return false;
}

bool zsPack(const std::string &from, const std::string &archive)
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
        VSILFILE *in = VSIFOpenL(path.c_str(), "rb");
        VSILFILE *out = in != nullptr ? VSIFOpenL((archive + "/" + name).c_str(), "wb") : nullptr;
        bool ok = found && out != nullptr;
        for (vsi_l_offset left = ok ? static_cast<vsi_l_offset>(st.st_size) : 0; ok && left > 0;)
        {
            const size_t n = static_cast<size_t>(std::min<vsi_l_offset>(left, buffer.size()));
            ok = VSIFReadL(buffer.data(), 1, n, in) == n && VSIFWriteL(buffer.data(), 1, n, out) == n;
            left -= n;
        }
        ok = (out == nullptr || VSIFCloseL(out) == 0) && ok;
        if (in != nullptr)
            VSIFCloseL(in);
        if (!ok)
        {
            CPLError(CE_Failure, CPLE_FileIO, "%s/%s: cannot be written", archive.c_str(), name);
            return false;
        }
    }
    return true;
}

bool zsClearPlace(const std::string &store, bool append)
{
    if (append)
    {
        if (isStore(store))
            return true;
        CPLError(CE_Failure, CPLE_AppDefined, "%s: there is no Zarr store to append to", store.c_str());
        return false;
    }
    if (zsIsArchive(store))
        return clearArchive(store);
    VSIStatBufL st;
    if (VSIStatL(store.c_str(), &st) != 0 || isEmptyDirectory(store))
        return true;
    if (!isStore(store))
    {
        CPLError(CE_Failure, CPLE_AppDefined, "%s: exists and is not a Zarr store; it is not overwritten", store.c_str());
        return false;
    }
    if (VSIRmdirRecursive(store.c_str()) == 0)
        return true;
    CPLError(CE_Failure, CPLE_FileIO, "%s: the store that is there cannot be removed", store.c_str());
    return false;
}

void zsRemoveStore(const std::string &store)
{
    CPLErrorStateBackuper backup;
    CPLErrorHandlerPusher quiet(CPLQuietErrorHandler);
    VSIRmdirRecursive(store.c_str());
}

/* The store that a name stands for; "" (CPLError emitted) when it is none. */
static std::string storeOf(const char *name)
{
    ZSConnection connection;
    std::string reason;
    if (!zsParseConnection(name, connection, reason))
        CPLError(CE_Failure, CPLE_AppDefined, "%s: %s", name, reason.c_str());
    else if (connection.has_array && !connection.array.empty())
        CPLError(CE_Failure, CPLE_NotSupported, "%s: an array of a store cannot be deleted, renamed or copied alone", name);
    else if (!isStore(connection.store))
        CPLError(CE_Failure, CPLE_AppDefined, "%s: is not a Zarr store", connection.store.c_str());
    else
        return connection.store;
    return "";
}

CPLErr zsDelete(const char *name)
{
    const std::string store = storeOf(name);
    if (store.empty())
        return CE_Failure;
    if (VSIRmdirRecursive(store.c_str()) == 0)
        return CE_None;
    CPLError(CE_Failure, CPLE_FileIO, "%s: cannot be removed", store.c_str());
    return CE_Failure;
}

/* The place for a store that is renamed or copied; "" (CPLError emitted) when something is there. */
static std::string newPlace(const char *name)
{
    ZSConnection connection;
    std::string reason;
    VSIStatBufL st;
    if (!zsParseConnection(name, connection, reason))
        CPLError(CE_Failure, CPLE_AppDefined, "%s: %s", name, reason.c_str());
    else if (VSIStatL(connection.store.c_str(), &st) == 0)
        CPLError(CE_Failure, CPLE_AppDefined, "%s: exists already", connection.store.c_str());
    else
        return connection.store;
    return "";
}

CPLErr zsRename(const char *newName, const char *oldName)
{
    const std::string from = storeOf(oldName), to = from.empty() ? "" : newPlace(newName);
    if (to.empty())
        return CE_Failure;
    if (VSIRename(from.c_str(), to.c_str()) == 0)
        return CE_None;
    CPLError(CE_Failure, CPLE_FileIO, "%s: cannot be renamed to %s", from.c_str(), to.c_str());
    return CE_Failure;
}

CPLErr zsCopyFiles(const char *newName, const char *oldName)
{
    const std::string from = storeOf(oldName), to = from.empty() ? "" : newPlace(newName);
    if (to.empty())
        return CE_Failure;
    // A trailing slash: the content, not the directory into the other.
    if (VSISync((from + "/").c_str(), to.c_str(), nullptr, nullptr, nullptr, nullptr))
        return CE_None;
    zsRemoveStore(to);
    CPLError(CE_Failure, CPLE_FileIO, "%s: cannot be copied to %s", from.c_str(), to.c_str());
    return CE_Failure;
}
