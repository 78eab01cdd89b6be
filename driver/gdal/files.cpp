#include "files.h"

#include "connection.h"

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

/* Archives cannot lose files: what is written into them is new. */
static bool isArchive(const std::string &path)
{
    return STARTS_WITH(path.c_str(), "/vsizip/") || STARTS_WITH(path.c_str(), "/vsitar/") || STARTS_WITH(path.c_str(), "/vsi7z/");
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
    VSIStatBufL st;
    if (isArchive(store) || VSIStatL(store.c_str(), &st) != 0 || isEmptyDirectory(store))
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
