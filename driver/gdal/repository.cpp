#include "repository.h"

#include <algorithm>
#include <array>

extern "C"
{
#include "codec/zstd.h"
#include "zarr/icechunk.h"
}

bool zsIsRepository(const std::string &store)
{
    VSIStatBufL st;
    return !zsIsRemote(store) &&
           (zsIsIcechunkFile(store + "/" ZS_ICECHUNK_REPOSITORY) ||
            VSIStatExL((store + "/" ZS_ICECHUNK_MAIN).c_str(), &st, VSI_STAT_EXISTS_FLAG) == 0);
}

bool zsIsNamedRepository(const ZSConnection &connection)
{
    const std::string &store = connection.store;
    const std::string base = CPLString(store.substr(store.rfind('/') + 1)).tolower();
    return connection.prefix == ZSConnection::Prefix::ICECHUNK || !connection.commit.empty() ||
           base.find("icechunk") != std::string::npos;
}

/* ---- Which commit ---- */

static constexpr std::array<const char *, 4> NAMES = {"branch", "tag", "snapshot", "as_of"};

/* The words of a connection's commit, each name=value. */
static CPLStringList wordsOf(const ZSConnection &connection)
{
    return CPLStringList(CSLTokenizeString2(connection.commit.c_str(), "&", 0));
}

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
    CPLStringList words = wordsOf(connection);
    for (const char *name : NAMES)
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
    const CPLStringList words = wordsOf(connection);
    std::array<std::string, NAMES.size()> texts;
    std::array<const char *, NAMES.size()> values = {};
    for (size_t i = 0; i < NAMES.size(); i++)
    {
        const char *value = words.FetchNameValue(NAMES[i]);
        texts[i] = value != nullptr ? zsUnescapedWord(value) : "";
        values[i] = value != nullptr ? texts[i].c_str() : nullptr;
    }
    const struct zs_icechunk_wish wish = {values[0], values[1], values[2], values[3]};
    return zs_icechunk_open(&store.store, &wish, zs_zstd_decode, err);
}
