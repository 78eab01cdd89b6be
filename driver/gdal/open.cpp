#include "driver.h"

#include <algorithm>
#include <string_view>

#include "guard.h"
#include "gdal/create/creation_options.h"

extern "C"
{
#include "icechunk/icechunk.h"
#include "raster/listing.h"
#include "zarr/document.h"
}

/* ---- Identify: a store of v3 is ours, one of its draft and an Icechunk repository likewise; v2 is GDAL's own ---- */

/* Whether a document is a zarr.json of v3 or of its draft, by its beginning. The groups that are longer begin with
 * members that tell, too. */
static int identifyDocument(const std::string &path)
{
    constexpr size_t ENOUGH = 65536;
    static constexpr std::string_view WORD = "\"zarr_format\"", DRAFT = "\"https://" ZS_DRAFT_FORMAT;
    const std::unique_ptr<char[]> text(new char[ENOUGH]); // not cleared: most files are short
    VSILFILE *file = zsIsFile(path) ? VSIFOpenL(path.c_str(), "rb") : nullptr;
    if (file == nullptr)
        return FALSE;
    const std::string_view read(text.get(), VSIFReadL(text.get(), 1, ENOUGH, file));
    VSIFCloseL(file);
    for (size_t at = read.find(WORD); at != read.npos; at = read.find(WORD, at))
    {
        at = std::min(read.find_first_not_of(" \t\r\n:", at + WORD.size()), read.size());
        if (read.compare(at, 1, "3") == 0 || read.compare(at, DRAFT.size(), DRAFT) == 0)
            return TRUE;
    }
    return read.size() == ENOUGH ? GDAL_IDENTIFY_UNKNOWN : FALSE;
}

/* Whether to ask a remote path for its zarr.json: if its name ends in .zarr or .icechunk, or has no ending. Files of
 * other drivers are not asked. */
static bool mayBeRemoteStore(const char *name)
{
    if (!STARTS_WITH(name, "/vsi"))
        return false;
    std::string path(name);
    while (!path.empty() && path.back() == '/')
        path.pop_back();
    const std::string base = CPLString(path.substr(path.rfind('/') + 1)).tolower();
    return zsEndsWith(base, ".zarr") || zsEndsWith(base, ".icechunk") ||
           (!base.empty() && base.find_first_of(".?&=") == std::string::npos);
}

/* Whether GDAL asks this driver alone (`gdalinfo -if`, rasterio's `driver`): then any name may be that of a store. */
static bool isOnlyOne(const GDALOpenInfo &info)
{
    return CSLCount(info.papszAllowedDrivers) == 1; // which is ours, or we were not asked
}

/* Whether no other driver is meant: then errors are reported. Otherwise others come next, or it was only a try. */
static bool isMeant(const GDALOpenInfo &info, const ZSConnection &connection)
{
    return connection.prefix == ZSConnection::Prefix::OWN || connection.prefix == ZSConnection::Prefix::ICECHUNK ||
           !connection.commit.empty() || (isOnlyOne(info) && (info.nOpenFlags & GDAL_OF_VERBOSE_ERROR) != 0);
}

/* Whether GDALIdentifyDriver() asks, by which GDAL chooses who deletes: for all kinds of datasets, in silence. */
static bool isToChoose(const GDALOpenInfo &info)
{
    const int kinds = info.nOpenFlags & GDAL_OF_KIND_MASK; // 0 in GDAL 3.6
    return (kinds == 0 || (kinds & GDAL_OF_VECTOR) != 0) && (info.nOpenFlags & GDAL_OF_VERBOSE_ERROR) == 0;
}

/* Whether a name can be that of a store, by what GDAL has found out of it. */
static bool mayBeStore(const GDALOpenInfo &info)
{
    const char *name = info.pszFilename;
    return STARTS_WITH_CI(name, "ZARR:") || STARTS_WITH_CI(name, "ICECHUNK:") || strchr(name, '?') != nullptr ||
           zsEndsWith(name, "/zarr.json") || EQUAL(name, "zarr.json") || zsEndsWith(name, ".zarr.zip") ||
           zsEndsWith(name, ".ozx") || info.bIsDirectory ||
           zs_icechunk_is_file(info.pabyHeader, static_cast<size_t>(info.nHeaderBytes)) ||
           (zsIsRemote(name) && mayBeRemoteStore(name));
}

static int identify(const GDALOpenInfo *info)
{
    if (STARTS_WITH_CI(info->pszFilename, "SHARDEDZARR:"))
        return TRUE;
    ZSConnection connection;
    std::string reason;
    if (!mayBeStore(*info) || !zsParseConnection(info->pszFilename, connection, reason))
        return FALSE;
    if (zsIsRemote(connection.store) && !isToChoose(*info))
        return GDAL_IDENTIFY_UNKNOWN; // only a request would show it
    const ZSQuiet quiet;
    const int found = identifyDocument(connection.store + "/zarr.json");
    if (found != FALSE)
        return found;
    if (zsIsRepository(connection.store))
        return TRUE;
    return isMeant(*info, connection) || zsEnterArchive(connection) ? GDAL_IDENTIFY_UNKNOWN : FALSE;
}

int zsIdentify(GDALOpenInfo *info)
{
    const int found = identify(info);
    // Asked alone, this driver finds out by opening. TRUE would be a promise: by it GDAL chooses which driver deletes.
    return found == FALSE && isOnlyOne(*info) ? GDAL_IDENTIFY_UNKNOWN : found;
}

/* ---- Open ---- */

/* Adds to the message that a node does not exist how one that came after the consolidation is opened, or the first
 * raster of the store. */
static void tellWhatThereIs(const ZSStore &store, const ZSConnection &connection, struct zs_error *err)
{
    const struct zs_node *root = nullptr, **rasters = nullptr;
    size_t count = 0;
    struct zs_error ignored;
    const std::string message = err->message;
    if (zs_hierarchy_is_consolidated(store.hierarchy) &&
        zs_hierarchy_occupant(store.hierarchy, connection.array.c_str(), &root, &ignored) == ZS_OK && root != nullptr)
        static_cast<void>(zs_fail(err, ZS_NOT_FOUND, "%s; it is there, and the open option "
                                  "USE_CONSOLIDATED_METADATA=NO finds it", message.c_str()));
    else if (zs_hierarchy_node(store.hierarchy, "", &root, &ignored) == ZS_OK &&
             zs_rasters_find(store.hierarchy, root, &rasters, &count, nullptr, &ignored) == ZS_OK)
        static_cast<void>(zs_fail(err, ZS_NOT_FOUND, "%s; there is /%s%s", message.c_str(), rasters[0]->path,
                                  count > 1 ? " and others" : ""));
    free(rasters);
}

/* Whether the name is that of the store's root, which is an array. */
static bool isRootArray(const ZSStore &store, const ZSConnection &connection, const struct zs_node *&node)
{
    struct zs_error ignored;
    return connection.array == zsRootArrayName(store.store->root) &&
           zs_hierarchy_node(store.hierarchy, "", &node, &ignored) == ZS_OK && node->type == ZS_NODE_ARRAY;
}

/* The node that a connection names. */
static enum zs_status findNamed(const ZSStore &store, ZSConnection &connection, const struct zs_node *&node,
                                struct zs_error *err)
{
    const enum zs_status status = zs_hierarchy_node(store.hierarchy, connection.array.c_str(), &node, err);
    if (status == ZS_NOT_FOUND && isRootArray(store, connection, node))
    {
        connection.array.clear();
        return ZS_OK;
    }
    if (status == ZS_NOT_FOUND)
        tellWhatThereIs(store, connection, err);
    return status;
}

namespace
{
struct Attempt
{
    std::unique_ptr<GDALDataset> dataset;
    bool isOurs = false;     // report `err`
    bool isReplaced = false; // the store was exchanged for another on the way: what was found out is of both
};
} // namespace

/* The root's metadata, where GDAL read all of a remote zarr.json before it asked this driver; else "". They may be old,
 * since /vsicurl/ caches: not for opening in update mode. */
static std::string readAlready(GDALOpenInfo &info, const ZSConnection &connection)
{
    constexpr vsi_l_offset AT_ONCE = 16384; // what /vsicurl/ asks for
    if (info.fpL == nullptr || info.eAccess != GA_ReadOnly || !zsIsRemote(connection.store) ||
        !zsEndsWith(info.pszFilename, "/zarr.json") || VSIFSeekL(info.fpL, 0, SEEK_END) != 0)
        return "";
    const vsi_l_offset size = VSIFTellL(info.fpL);
    if (size > AT_ONCE || !info.TryToIngest(static_cast<int>(AT_ONCE)) ||
        static_cast<vsi_l_offset>(info.nHeaderBytes) != size)
        return "";
    return std::string(reinterpret_cast<const char *>(info.pabyHeader), static_cast<size_t>(size));
}

/* Where there is no zarr.json: adds to the message what there is that a user may have taken for a store of v3. */
static void tellWhatElse(const ZSStore &store, const std::string &path, struct zs_error *err)
{
    VSIStatBufL st;
    const bool isFile = !zsIsRemote(path) && VSIStatL(path.c_str(), &st) == 0 && VSI_ISREG(st.st_mode);
    const bool isZip = isFile && zsEndsWith(CPLString(path).tolower(), ".zip");
    if (isFile)
        static_cast<void>(zs_fail(err, ZS_NOT_FOUND, "%s: is a file, expected the folder of a store%s%s",
                                  store.store->root, isZip ? "; in an archive it is /vsizip/" : "",
                                  isZip ? store.store->root : ""));
    else if (zs_document_is_v2(store.store))
        static_cast<void>(zs_fail(err, ZS_UNSUPPORTED, "%s: %s", store.store->root, zs_found_v2));
}

/* Opens the hierarchy of a store. Without a zarr.json at the root it may be a repository. */
static bool openHierarchy(ZSStore &store, const ZSConnection &connection, const std::string &text, bool consolidated,
                          bool mayBeOther, bool &isRepository, struct zs_error *err)
{
    struct zs_hierarchy **h = &store.hierarchy;
    struct zs_error why;
    isRepository = false;
    if (!text.empty() &&
        zs_hierarchy_open_text(store.store, text.data(), text.size(), consolidated, h, err) == ZS_OK)
        return true;
    // Then the history is read before a zarr.json is looked for: a request less.
    const CPLString name = CPLString(connection.store.substr(connection.store.rfind('/') + 1)).tolower();
    const bool isAsked = connection.prefix == ZSConnection::Prefix::ICECHUNK || !connection.commit.empty(),
               isFirst = isAsked || name.find("icechunk") != std::string::npos;
    const auto openRepository = [&] { return zs_icechunk_open(&store.store, connection.commit.c_str(), &why); };
    enum zs_status status = ZS_NOT_FOUND, other = isFirst ? openRepository() : ZS_NOT_FOUND;
    if (other == ZS_NOT_FOUND && isAsked)
    {
        static_cast<void>(zs_fail(err, ZS_ARGUMENT, "%s: expected an Icechunk repository%s%s; found none",
                                  store.store->root, connection.commit.empty() ? "" : ", for ?",
                                  connection.commit.c_str()));
        return false;
    }
    if (other == ZS_NOT_FOUND)
        status = zs_hierarchy_open(store.store, consolidated, h, err);
    if (status == ZS_NOT_FOUND && other == ZS_NOT_FOUND && mayBeOther && !isFirst)
        other = openRepository();
    isRepository = other != ZS_NOT_FOUND;
    if (other == ZS_OK)
        return zs_hierarchy_open(store.store, true, h, err) == ZS_OK;
    if (isRepository)
        *err = why;
    else if (status == ZS_NOT_FOUND && mayBeOther)
        tellWhatElse(store, connection.store, err);
    return status == ZS_OK;
}

/* zsNameInStoreAbove() for a store that was opened. A remote one is asked about only where its root is an array, and is
 * not called a store. */
static bool isOfStoreAbove(const ZSStore &store, ZSConnection &connection, std::string &text)
{
    const struct zs_node *root = nullptr;
    struct zs_error ignored;
    if (zs_hierarchy_is_draft(store.hierarchy) || zs_hierarchy_node(store.hierarchy, "", &root, &ignored) != ZS_OK)
        return false;
    const bool isArray = root->type == ZS_NODE_ARRAY;
    return (!zsIsRemote(connection.store) || (isArray && !zsEndsWith(connection.store, ".zarr"))) &&
           zsNameInStoreAbove(connection, isArray, text);
}

/* Whether a session may write to a store and to the node that was opened. Without asking, the first error would come
 * when the dataset is closed, and programs do not look at errors of closing. */
static bool mayWrite(const ZSStore &store, const struct zs_node *node, struct zs_error *err)
{
    return zs_hierarchy_check_writable(store.hierarchy, err) == ZS_OK &&
           zs_store_check_access(store.store, "", err) == ZS_OK &&
           (node->path[0] == '\0' || zs_store_check_access(store.store, node->path, err) == ZS_OK);
}

/* Opens the store once. `text`: the root's metadata, or "". */
static Attempt attempt(const GDALOpenInfo &info, ZSConnection connection, const std::string &text, struct zs_error *err)
{
    Attempt a;
    ZSOpenOptions options;
    a.isOurs = isMeant(info, connection);
    const struct zs_node *node = nullptr;
    const auto store = std::make_shared<ZSStore>();
    store->name = connection.store;
    if (zs_store_open(connection.store.c_str(), &store->store, err) != ZS_OK)
        return a;
    const bool consolidated = zsUsesConsolidated(info.papszOpenOptions) && !connection.isUnlisted;
    const bool mayBeOther = a.isOurs || !zsIsRemote(connection.store);
    bool isRepository;
    if (info.eAccess == GA_Update && zs_hierarchy_recover(store->store, err) != ZS_OK)
        return a;
    const bool isOpen = openHierarchy(*store, connection, text, consolidated, mayBeOther, isRepository, err);
    if (!isOpen && zsEnterArchive(connection))
        return attempt(info, connection, "", err);
    std::string above;
    if (isOpen && !isRepository && isOfStoreAbove(*store, connection, above)) // before an update it is read again
        return attempt(info, connection, info.eAccess == GA_ReadOnly ? above : "", err);
    a.isOurs = a.isOurs || isOpen || isRepository;
    if (isOpen && findNamed(*store, connection, node, err) == ZS_OK)
    {
        a.isOurs = options.Parse(info.papszOpenOptions); // else it has reported why
        if (!a.isOurs)
            return a;
        if (info.eAccess == GA_Update && !mayWrite(*store, node, err))
            return a;
        if (!options.fsync)
            zs_store_set_sync(store->store, ZS_SYNC_NO);
        if (options.conditions)
            store->store->sends_conditions = *options.conditions;
        const bool isMultidim = (info.nOpenFlags & GDAL_OF_MULTIDIM_RASTER) != 0;
        a.dataset = isMultidim ? zsMdimOpen(store, node, connection, options, info.eAccess, err)
                               : zsRasterOpen(store, node, connection, options, info.eAccess, info.pszFilename, err);
    }
    if (a.dataset != nullptr)
        store->NoteOpen();
    if (a.dataset != nullptr && isRepository)
    {
        // which commit it is, and which others have names: nothing is to be stored of it
        a.dataset->GDALMajorObject::SetMetadata(zs_icechunk_items(store->store), "ICECHUNK");
    }
    a.isReplaced = a.dataset == nullptr && zs_store_is_replaced(store->store);
    return a;
}

GDALDataset *zsOpen(GDALOpenInfo *info)
{
    constexpr int ATTEMPTS = 16; // a store that is replaced oftener while it is being opened does not open
    if (zsIdentify(info) == FALSE)
        return nullptr;
    ZSConnection connection;
    std::string reason;
    const char *name = info->pszFilename;
    if (!zsParseConnection(name, connection, reason) ||
        !zsTakeCommitOptions(info->papszOpenOptions, connection, reason))
    {
        if (isMeant(*info, connection))
            CPLError(CE_Failure, CPLE_OpenFailed, "%s: %s", zsShown(name).c_str(), zsShown(reason).c_str());
        return nullptr;
    }
    struct zs_error err;
    Attempt a = attempt(*info, connection, readAlready(*info, connection), &err);
    for (int i = 1; i < ATTEMPTS && a.isReplaced; i++)
        a = attempt(*info, connection, "", &err);
    if (a.dataset != nullptr)
        a.dataset->SetDescription(name);
    else if (a.isOurs)
    {
        const std::string message = err.message;
        if (connection.store.find(".zarr:") != std::string::npos) // which of the two is not looked up in a remote store
            static_cast<void>(zs_fail(&err, ZS_NOT_FOUND, "%s; an array is named by STORE:/ARRAY", message.c_str()));
        zsReport(err);
    }
    return a.dataset.release();
}
