#include "connection.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "compat.h"
#include "driver.h"
#include "guard.h"

extern "C"
{
#include "codec/codec.h"
#include "store/vsi.h"
#include "icechunk/icechunk.h"
}

bool zsIsRemote(const std::string &path)
{
    return zs_path_is_remote(path.c_str());
}

bool zsExists(const std::string &path)
{
    return zs_vsi_exists(path.c_str());
}

bool zsIsFile(const std::string &path)
{
    VSIStatBufL st;
    return VSIStatExL(path.c_str(), &st, VSI_STAT_EXISTS_FLAG | VSI_STAT_NATURE_FLAG) == 0 && VSI_ISREG(st.st_mode);
}

bool zsEndsWith(const std::string &s, const std::string &end)
{
    return s.size() >= end.size() && s.compare(s.size() - end.size(), end.size(), end) == 0;
}

/* ---- Commits of Icechunk repositories ---- */

/* Whether a file begins as those of Icechunk's metadata do. */
static bool isIcechunkFile(const std::string &path)
{
    char bytes[ZS_ICECHUNK_MAGIC_BYTES];
    if (!zsIsFile(path))
        return false;
    VSILFILE *file = VSIFOpenL(path.c_str(), "rb");
    const size_t n = file != nullptr ? VSIFReadL(bytes, 1, sizeof bytes, file) : 0;
    if (file != nullptr)
        VSIFCloseL(file);
    return zs_icechunk_is_file(bytes, n);
}

static std::string storeOfPath(std::string path)
{
    if (STARTS_WITH_CI(path.c_str(), "http://") || STARTS_WITH_CI(path.c_str(), "https://"))
        path = "/vsicurl/" + path;
    if (path == "zarr.json")
        return ".";
    const size_t query = STARTS_WITH(path.c_str(), "/vsicurl/") ? path.find('?') : std::string::npos;
    if (query != std::string::npos) // it stays behind the path
        return storeOfPath(path.substr(0, query)) + path.substr(query);
    if (zsEndsWith(path, "/zarr.json"))
        path.resize(path.size() - strlen("/zarr.json"));
    if (zsEndsWith(path, "/" ZS_ICECHUNK_REPOSITORY) && !zsIsRemote(path) && isIcechunkFile(path))
        path.resize(path.size() - strlen("/" ZS_ICECHUNK_REPOSITORY));
    while (path.size() > 1 && path.back() == '/')
        path.pop_back();
    // A zipped store is opened inside the archive.
    if (zsEndsWith(path, ".zarr.zip") && !STARTS_WITH(path.c_str(), "/vsizip/"))
        path = "/vsizip/" + path;
    if (zsEndsWith(path, ".ozx")) // OME's RFC 9
        path = "/vsizip/{" + path + "}";
    return path;
}

/* ---- Names of arrays ---- */

/* The byte that %XX at text[i] stands for; -1 where there is none. */
static int escapeAt(const std::string &text, size_t i)
{
    const auto isDigit = [&text](size_t at) { return isxdigit(static_cast<unsigned char>(text[at])) != 0; };
    const bool isByte = text[i] == '%' && i + 2 < text.size() && isDigit(i + 1) && isDigit(i + 2);
    return isByte ? static_cast<int>(std::strtol(text.substr(i + 1, 2).c_str(), nullptr, 16)) : -1;
}

/* A text with %XX for the special characters. A percent sign may stay, unless it would be taken for an escape. */
static std::string escaped(const std::string &text, const char *special)
{
    std::string out;
    for (size_t i = 0; i < text.size(); i++)
    {
        const bool isSpecial = strchr(special, text[i]) != nullptr || escapeAt(text, i) >= 0;
        out += isSpecial ? std::string(CPLSPrintf("%%%02X", static_cast<unsigned char>(text[i])))
                         : std::string(1, text[i]);
    }
    return out;
}

std::string zsUnescapedWord(const std::string &text)
{
    std::string out;
    for (size_t i = 0; i < text.size(); i++)
    {
        const int byte = escapeAt(text, i);
        out += byte >= 0 ? static_cast<char>(byte) : text[i];
        i += byte >= 0 ? 2 : 0;
    }
    return out;
}

/* Whether a colon behind `before` is one of a time, as in 2026-05-01T06:30. */
static bool isInTime(const std::string &before)
{
    const size_t n = before.size();
    return n >= 3 && strchr("Tt :", before[n - 3]) != nullptr && isdigit(static_cast<unsigned char>(before[n - 2])) &&
           isdigit(static_cast<unsigned char>(before[n - 1]));
}

/* "/array", "/array:i:j" or, behind our prefix, "/array:name=value:name=value". A value may be a time with colons of
 * its own, and names of arrays may hold colons, too: indices are taken from the back. */
static bool parseArray(const std::string &text, ZSConnection &c, std::string &reason)
{
    const bool isOwn = c.prefix == ZSConnection::Prefix::OWN;
    std::string path = text.substr(0, text.find(':'));
    for (size_t colon = text.find(':'), end; colon != std::string::npos; colon = end)
    {
        end = text.find(':', colon + 1);
        const std::string piece = text.substr(colon + 1, end != std::string::npos ? end - colon - 1 : end);
        const size_t equals = piece.find_first_of("=/");
        if (isOwn && equals != std::string::npos && equals > 0 && piece[equals] == '=')
            c.named.emplace_back(zsUnescapedWord(piece.substr(0, equals)), piece.substr(equals + 1));
        else if (c.named.empty())
            path += ":" + piece;
        else if (isInTime(c.named.back().second))
            c.named.back().second += ":" + piece;
        else
        {
            reason = "expected dimension=value behind each colon, found " + piece +
                     "; indices and named dimensions are not mixed, and a colon in a value is written %3A";
            return false;
        }
    }
    for (size_t colon = path.rfind(':'); colon != std::string::npos; colon = path.rfind(':'))
    {
        const std::string number = path.substr(colon + 1);
        if (number.empty() || number.size() > 19 || number.find_first_not_of("0123456789") != std::string::npos)
            break;
        c.indices.insert(c.indices.begin(), std::strtoull(number.c_str(), nullptr, 10));
        path.resize(colon);
    }
    const bool isFace = c.named.size() == 1 && c.named[0].first == "face"; // of a sphere
    if (!c.indices.empty() && !c.named.empty() && !isFace)
    {
        reason = "indices and named dimensions are not mixed: found " + text.substr(path.size());
        return false;
    }
    path.erase(0, path.find_first_not_of('/'));
    while (!path.empty() && path.back() == '/')
        path.pop_back();
    c.array = isOwn ? zsUnescapedWord(path) : path;
    c.arrayText = text;
    c.has_array = true;
    return true;
}

/* ---- Names of stores ---- */

/* End of the store's path in a name without quotes: its last ":/", except that of a URL; that of the name where there
 * is none. */
static size_t endUnquoted(const std::string &name)
{
    size_t at = name.rfind(":/");
    while (at != std::string::npos && at > 0 && name[at + 2] == '/')
        at = name.rfind(":/", at - 1);
    return at != std::string::npos && at > 0 ? at : name.size();
}

/* End of a quoted path. The quote that closes it is the last one that something may follow: paths may hold quotes, and
 * our names of arrays do not. 1 where there is none. */
static size_t endQuoted(const std::string &name)
{
    size_t quote = name.rfind('"');
    while (quote > 0 && quote + 1 < name.size() && name[quote + 1] != ':')
        quote = name.rfind('"', quote - 1);
    return quote + 1;
}

static const struct
{
    const char *text;
    ZSConnection::Prefix prefix;
} PREFIXES[] = {{"SHARDEDZARR:", ZSConnection::Prefix::OWN},
                {"ZARR:", ZSConnection::Prefix::ZARR},
                {"ICECHUNK:", ZSConnection::Prefix::ICECHUNK}};

std::string ZSConnection::SubdatasetName(const std::string &path) const
{
    // Quotes only where the parser needs them.
    const bool isQuoted = store[0] == '"';
    const std::string location = store + (commit.empty() ? "" : "?") + commit;
    return std::string(PREFIXES[0].text) + (isQuoted ? '"' + location + '"' : location) + ":/" + escaped(path, ":\"");
}

bool zsParseConnection(const char *name, ZSConnection &c, std::string &reason)
{
    std::string rest = name;
    for (const auto &known : PREFIXES)
    {
        if (!STARTS_WITH_CI(name, known.text))
            continue;
        c.prefix = known.prefix;
        rest = name + strlen(known.text);
    }
    const bool hasPrefix = c.prefix != ZSConnection::Prefix::NONE, isQuoted = hasPrefix && rest[0] == '"';
    const size_t end = isQuoted ? endQuoted(rest) : hasPrefix ? endUnquoted(rest) : rest.size();
    if (isQuoted && end == 1)
    {
        const size_t quote = rest.find('"', 1);
        reason = quote == std::string::npos ? "the path is not closed by a quotation mark"
                                            : "expected : behind the quoted path, found " + rest.substr(quote + 1);
        return false;
    }
    c.storeText = rest.substr(0, end);
    char *root = nullptr, *commit = nullptr;
    const std::string path = isQuoted ? rest.substr(1, end - 2) : c.storeText;
    if (zs_icechunk_split(path.c_str(), &root, &commit, nullptr) == ZS_OK)
    {
        c.commit = commit;
        c.store = storeOfPath(root);
    }
    free(root);
    free(commit);
    if (end < rest.size() && !parseArray(rest.substr(end + 1), c, reason))
        return false;
    if (c.store.empty())
    {
        reason = "there is no path";
        return false;
    }
    // GDAL 3.14's view of a repository does not distinguish absent objects from unreadable ones.
    if (STARTS_WITH(c.store.c_str(), "/vsiicechunk/"))
    {
        reason = "expected the path of the Icechunk repository itself";
        return false;
    }
    return true;
}

bool zsParseName(const char *name, ZSConnection &connection)
{
    std::string reason;
    return zsParseConnection(name, connection, reason) ||
           zsRefuse(CPLE_AppDefined, "%s: %s", zsShown(name).c_str(), zsShown(reason).c_str());
}

std::string zsRootArrayName(const std::string &root)
{
    std::string name = root.substr(root.find_last_of("/\\") + 1);
    if (zsEndsWith(name, ".zarr"))
        name.resize(name.size() - strlen(".zarr"));
    return name.empty() ? "array" : name;
}

std::string zsShown(const std::string &name)
{
    char *text = zs_text_shown(name.c_str());
    const std::string shown = text != nullptr ? text : "";
    free(text);
    return shown;
}

/* ---- Folders in archives, and above ---- */

bool zsEnterArchive(ZSConnection &connection)
{
    const ZSQuiet quiet;
    std::string folder;
    if (!STARTS_WITH(connection.store.c_str(), "/vsizip/") || zsExists(connection.store + "/zarr.json"))
        return false;
    const CPLStringList names(VSIReadDir(connection.store.c_str()));
    for (int i = 0; i < names.size(); i++)
    {
        const char *name = names[i];
        if (name[0] == '.' || EQUAL(name, "__MACOSX")) // .DS_Store too, beside what a Mac has packed
            continue;
        if (!folder.empty())
            return false;
        folder = connection.store + "/" + name;
    }
    if (folder.empty() || !zsExists(folder + "/zarr.json"))
        return false;
    connection.store = folder;
    return true;
}

/* The folder above a path, whose last name is left in `name`; "" where there is none that may be a store. */
static std::string folderAbove(std::string path, std::string &name)
{
    const bool isLocal = zs_path_kind_of(path.c_str()).is_local;
    if (isLocal && path.find_first_not_of('.', path.rfind('/') + 1) == std::string::npos) // ".", "a/.."
    {
        const std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), free);
        path = real != nullptr ? real.get() : "/";
    }
    const size_t slash = path.rfind('/');
    name = path.substr(slash + 1);
    if (slash == std::string::npos && isLocal)
        return ".";
    // Above a bucket there is only the name of GDAL's file system. A query is not of the folder.
    const bool isTop = slash == std::string::npos || slash == 0 || path.find('?') != std::string::npos;
    return isTop ? "" : path.substr(0, slash);
}

bool zsNameInStoreAbove(ZSConnection &connection, bool isArray, std::string &text)
{
    const ZSQuiet quiet;
    std::string path = connection.store, root, below, name;
    bool isListed = false, isConsolidated = false;
    for (path = folderAbove(path, name); !path.empty(); path = folderAbove(path, name))
    {
        ZSStore store;
        struct zs_buffer buffer = {};
        const struct zs_node *group = nullptr, *node = nullptr;
        enum zs_status status = zs_store_open(path.c_str(), &store.store, nullptr);
        if (status == ZS_OK)
            status = zs_store_get(store.store, "zarr.json", ZS_JSON_MAX_BYTES, &buffer, nullptr);
        const std::string read(status == ZS_OK ? reinterpret_cast<const char *>(buffer.data) : "", buffer.size);
        zs_buffer_free(&buffer);
        if (status != ZS_OK ||
            zs_hierarchy_open_text(store.store, read.data(), read.size(), true, &store.hierarchy, nullptr) != ZS_OK ||
            zs_hierarchy_node(store.hierarchy, "", &group, nullptr) != ZS_OK || group->type != ZS_NODE_GROUP ||
            zs_hierarchy_is_draft(store.hierarchy))
            break;
        below = name + (below.empty() ? "" : "/") + below;
        isConsolidated = zs_hierarchy_is_consolidated(store.hierarchy);
        isListed = isConsolidated && zs_hierarchy_node(store.hierarchy, below.c_str(), &node, nullptr) == ZS_OK;
        root = path;
        text = read;
    }
    if (root.empty() || !(isArray || isListed || !isConsolidated) || !zs_path_is_clean(below.c_str()))
        return false;
    const bool isSame = isArray && connection.array == zsRootArrayName(connection.store);
    connection.array = below + (connection.array.empty() || isSame ? "" : "/" + connection.array);
    connection.store = root;
    connection.isUnlisted = isConsolidated && !isListed;
    return true;
}

std::string zsStoreAbove(const std::string &path)
{
    const ZSQuiet quiet;
    ZSStore store;
    ZSConnection connection;
    const struct zs_node *node = nullptr;
    std::string ignored;
    connection.store = path;
    if (zs_store_open(path.c_str(), &store.store, nullptr) != ZS_OK ||
        zs_hierarchy_open(store.store, false, &store.hierarchy, nullptr) != ZS_OK ||
        zs_hierarchy_node(store.hierarchy, "", &node, nullptr) != ZS_OK ||
        !zsNameInStoreAbove(connection, node->type == ZS_NODE_ARRAY, ignored))
        return "";
    return zsShown(connection.store) + ": /" + connection.array;
}

/* ---- What gdal.GetSubdatasetInfo() returns for a name ---- */

#if ZS_GDAL_AT_LEAST(8)
namespace
{
struct Info final : public GDALSubdatasetInfo
{
    Info(const char *name, const ZSConnection &connection) : GDALSubdatasetInfo(name)
    {
        m_driverPrefixComponent = m_fileName.substr(0, m_fileName.find(':'));
        m_pathComponent = connection.storeText;
        m_isQuoted = m_pathComponent[0] == '"';
        m_subdatasetComponent = connection.arrayText;
    }

  private:
    void parseFileName() override
    {
    }
};
} // namespace

GDALSubdatasetInfo *zsSubdatasetInfo(const char *name)
{
    ZSConnection connection;
    std::string reason;
    if (!STARTS_WITH_CI(name, "SHARDEDZARR:") || !zsParseConnection(name, connection, reason) || !connection.has_array)
        return nullptr;
    return new Info(name, connection);
}
#endif

/* ---- Icechunk repositories ---- */

bool zsIsRepository(const std::string &store)
{
    return !zsIsRemote(store) &&
           (isIcechunkFile(store + "/" ZS_ICECHUNK_REPOSITORY) || zsExists(store + "/" ZS_ICECHUNK_MAIN));
}

bool zsIsNoRepository(const ZSConnection &connection)
{
    const std::string &store = connection.store;
    return (connection.commit.empty() && !zsIsRepository(store)) ||
           zsRefuse(CPLE_NotSupported, "%s: %s", zsShown(store).c_str(), ZS_ICECHUNK_READ_ONLY);
}

/* ---- Which commit ---- */

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
            reason = std::string(name) + ": expected " + zsUnescapedWord(named) +
                     ", as in the name, or no option; found " + given;
            return false;
        }
        if (named == nullptr)
            connection.commit +=
                (connection.commit.empty() ? "" : "&") + std::string(name) + "=" + escaped(given, "&?%\"");
    }
    return true;
}
