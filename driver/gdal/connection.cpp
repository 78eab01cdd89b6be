#include "connection.h"

#include <cerrno>
#include <cstdlib>

#include "compat.h"

constexpr const char *OWN_PREFIX = "SHARDEDZARR:";
constexpr const char *ZARR_PREFIX = "ZARR:";

bool zsIsRemote(const std::string &path)
{
    for (const char *mark : {"/vsicurl", "/vsis3", "/vsigs", "/vsiaz", "/vsiadls", "/vsioss", "/vsiswift", "/vsihdfs",
                             "/vsiwebhdfs", "http://", "https://"})
    {
        if (path.find(mark) != std::string::npos)
            return true;
    }
    return false;
}

bool zsEndsWith(const std::string &s, const std::string &end)
{
    return s.size() >= end.size() && s.compare(s.size() - end.size(), end.size(), end) == 0;
}

static std::string storeOfPath(std::string path)
{
    if (STARTS_WITH_CI(path.c_str(), "http://") || STARTS_WITH_CI(path.c_str(), "https://"))
        path = "/vsicurl/" + path;
    if (path == "zarr.json")
        return ".";
    if (zsEndsWith(path, "/zarr.json"))
        path.resize(path.size() - strlen("/zarr.json"));
    while (path.size() > 1 && path.back() == '/')
        path.pop_back();
    // A zipped store is opened inside the archive.
    if (zsEndsWith(path, ".zarr.zip") && !STARTS_WITH(path.c_str(), "/vsizip/"))
        path = "/vsizip/" + path;
    return path;
}

std::string ZSConnection::SubdatasetName(const std::string &arrayPath) const
{
    return std::string(OWN_PREFIX) + "\"" + store + "\":/" + arrayPath;
}

/* "/array:i:j" behind the path. */
static bool parseArray(const std::string &text, ZSConnection &c, std::string &reason)
{
    size_t end = text.size();
    // Indices are taken from the back, since array names may hold colons.
    std::vector<uint64_t> reversed;
    for (;;)
    {
        const size_t colon = text.rfind(':', end - 1);
        if (end == 0 || colon == std::string::npos || colon + 1 >= end)
            break;
        const std::string number = text.substr(colon + 1, end - colon - 1);
        if (number.find_first_not_of("0123456789") != std::string::npos)
            break;
        errno = 0;
        reversed.push_back(std::strtoull(number.c_str(), nullptr, 10));
        if (errno == ERANGE)
        {
            reason = "index " + number + " is too large";
            return false;
        }
        end = colon;
    }
    c.indices.assign(reversed.rbegin(), reversed.rend());
    c.array = text.substr(0, end);
    while (!c.array.empty() && c.array.front() == '/')
        c.array.erase(0, 1);
    while (!c.array.empty() && c.array.back() == '/')
        c.array.pop_back();
    c.has_array = true;
    return true;
}

bool zsParseConnection(const char *name, ZSConnection &c, std::string &reason)
{
    const char *rest = name;
    if (STARTS_WITH_CI(name, OWN_PREFIX))
    {
        c.prefix = ZSConnection::Prefix::OWN;
        rest += strlen(OWN_PREFIX);
    }
    else if (STARTS_WITH_CI(name, ZARR_PREFIX))
    {
        c.prefix = ZSConnection::Prefix::ZARR;
        rest += strlen(ZARR_PREFIX);
    }
    if (c.prefix == ZSConnection::Prefix::NONE || *rest != '"')
    {
        c.store = storeOfPath(rest);
    }
    else
    {
        const char *quote = strchr(rest + 1, '"');
        if (quote == nullptr)
        {
            reason = "the path is not closed by a quotation mark";
            return false;
        }
        c.store = storeOfPath(std::string(rest + 1, quote));
        if (quote[1] == ':')
        {
            if (!parseArray(quote + 2, c, reason))
                return false;
        }
        else if (quote[1] != '\0')
        {
            reason = std::string("expected : behind the quoted path, found ") + (quote + 1);
            return false;
        }
    }
    if (c.store.empty())
    {
        reason = "there is no path";
        return false;
    }
    return true;
}
