#include "repository.h"

extern "C"
{
#include "codec/codec.h"
#include "zarr/icechunk.h"
}

bool zsIsRepository(const std::string &store)
{
    VSIStatBufL st;
    return !zsIsRemote(store) &&
           (zsIsIcechunkFile(store + "/" ZS_ICECHUNK_REPOSITORY) ||
            VSIStatExL((store + "/" ZS_ICECHUNK_MAIN).c_str(), &st, VSI_STAT_EXISTS_FLAG) == 0);
}

static bool isCalledRepository(const std::string &store)
{
    return CPLString(store.substr(store.rfind('/') + 1)).tolower().find("icechunk") != std::string::npos;
}

bool zsIsNamedRepository(const ZSConnection &connection)
{
    return connection.prefix == ZSConnection::Prefix::ICECHUNK || !connection.commit.empty() ||
           isCalledRepository(connection.store);
}

/* Asks a remote store for the objects that a repository has: one request where it is one of version 2, else two. */
static bool isRemoteRepository(const std::string &path)
{
    ZSStore store;
    if (zs_store_open_vsi(path.c_str(), &store.store, nullptr) != ZS_OK)
        return false;
    for (const char *key : {ZS_ICECHUNK_REPOSITORY, ZS_ICECHUNK_MAIN})
    {
        struct zs_object *object = nullptr;
        char bytes[ZS_ICECHUNK_MAGIC_BYTES] = {};
        const bool isThere =
            zs_object_open_head(store.store, key, sizeof bytes, bytes, &object, nullptr) == ZS_OK;
        zs_object_close(object);
        if (isThere && (EQUAL(key, ZS_ICECHUNK_MAIN) || zs_icechunk_is_file(bytes, sizeof bytes)))
            return true;
    }
    return false;
}

/* Whether nothing may be put at a path since it is a repository. `isAbove`: the path of a folder above what is
 * written, which a remote store is only asked for where it is called so. */
static bool isProtected(const std::string &path, bool isAbove)
{
    if (!zsIsRemote(path))
        return zsIsRepository(path);
    return (!isAbove || isCalledRepository(path)) && isRemoteRepository(path);
}

bool zsIsNoRepository(const ZSConnection &connection)
{
    const std::string &store = connection.store;
    char *current = CPLGetCurrentDir();
    std::string path = store[0] == '/' || current == nullptr ? store : std::string(current) + "/" + store;
    CPLFree(current);
    const size_t whole = path.size();
    while (path.size() > 1 && connection.commit.empty() && !isProtected(path, path.size() < whole))
        path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    if (path.size() <= 1)
        return true;
    CPLError(CE_Failure, CPLE_NotSupported, "%s: %s", zsShown(path).c_str(), ZS_ICECHUNK_READ_ONLY);
    return false;
}

/* ---- Which commit ---- */

/* A value with %XX for what would end it. */
static std::string escaped(const std::string &value)
{
    std::string out;
    for (const char c : value)
        out += strchr("&?%\"", c) != nullptr ? std::string(CPLSPrintf("%%%02X", c)) : std::string(1, c);
    return out;
}

bool zsTakeCommitOptions(CSLConstList options, ZSConnection &connection, std::string &reason)
{
    const CPLStringList words(CSLTokenizeString2(connection.commit.c_str(), "&", 0));
    for (const char *name : {"branch", "tag", "snapshot", "as_of"})
    {
        const char *given = CSLFetchNameValue(options, name);
        const char *named = words.FetchNameValue(name);
        if (given == nullptr)
            continue;
        if (named != nullptr && zsUnescapedWord(named) != given)
        {
            reason = std::string(name) + ": expected " + zsUnescapedWord(named) + ", as the name says, or no option; "
                     "found " + given;
            return false;
        }
        if (named == nullptr)
            connection.commit += (connection.commit.empty() ? "" : "&") + std::string(name) + "=" + escaped(given);
    }
    return true;
}

enum zs_status zsOpenRepository(const ZSConnection &connection, ZSStore &store, struct zs_error *err)
{
    return zs_icechunk_open(&store.store, connection.commit.c_str(), zs_zstd_decode, err);
}

/* A member of a description: a text, or a list of texts with commas between. */
static void take(CPLStringList &items, const char *name, const zs_json *member)
{
    const char *text = nullptr;
    std::string all;
    for (const zs_json *m = zs_json_first(member); m != nullptr; m = zs_json_next(m))
        all += zs_json_string(m, &text) ? (all.empty() ? "" : ",") + std::string(text) : "";
    if (zs_json_string(member, &text) || zs_json_is_array(member))
        items.SetNameValue(CPLString(name).toupper().c_str(), zs_json_is_array(member) ? all.c_str() : text);
}

void zsDescribeRepository(const ZSStore &store, GDALDataset &dataset)
{
    zs_json *document = nullptr;
    CPLStringList items;
    if (zs_icechunk_describe(store.store, &document, nullptr) != ZS_OK)
        return;
    for (const char *name : {"snapshot", "time", "message", "branch", "tag", "branches", "tags"})
        take(items, name, zs_json_get(document, name));
    zs_json_free(document);
    dataset.GDALMajorObject::SetMetadata(items.List(), "ICECHUNK"); // nothing is to be stored of it
}
