/* gdal/connection.h: the strings by which stores and arrays are named in GDAL. */
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "handles.h"

/* A parsed connection string. */
struct ZSConnection
{
    enum class Prefix
    {
        NONE,
        OWN, /* SHARDEDZARR: */
        ZARR,    /* ZARR:, GDAL's own driver's */
        ICECHUNK /* ICECHUNK:, GDAL's own driver's from 3.14 on */
    };
    Prefix prefix = Prefix::NONE;
    std::string store;             /* VSI path of the root */
    std::string storeText;         /* ... as the name spells it, with its quotes */
    std::string commit;            /* which of an Icechunk repository: "branch=x&as_of=y"; "" where none is asked for */
    bool has_array = false;        /* an array or group was named */
    std::string arrayText;         /* ... as the name spells it, indices and all */
    std::string array;             /* ... its path, without a leading slash */
    std::vector<uint64_t> indices; /* ... and indices into its extra dimensions */
    /* ... or dimensions by name: the name, and its value or range as written */
    std::vector<std::pair<std::string, std::string>> named;
    bool isUnlisted = false; /* an array that came after the consolidation of the store (zsNameInStoreAbove) */

    bool Chooses() const
    {
        return !indices.empty() || !named.empty();
    }

    /* SHARDEDZARR:store:/array for subdatasets; always parsed back to these two, and the commit. */
    std::string SubdatasetName(const std::string &arrayPath) const;
};

/* A name or a value in which any %XX is a byte. */
std::string zsUnescapedWord(const std::string &text);

/* Parses `name`: [PREFIX:]path, PREFIX:path:/array:i:j, PREFIX:"path":/array:i:j, and behind our own prefix
 * /array:time=2026-05-01T06:30:step=0..6, too (geo/axes.h); there any %XX in an array's name stands for its byte.
 * Where a path without quotes has ":/" in it (but for "://"), the last one ends the path of the store. A path of a
 * zarr.json, or the object `repo` of a local Icechunk repository, is that of its directory; http:// and https:// become
 * /vsicurl/. Behind the path of a repository stands which commit: ?branch=x, ?tag=x, ?snapshot=ID, ?as_of=time, with &
 * between two. False, with a reason, when it is malformed. */
bool zsParseConnection(const char *name, ZSConnection &connection, std::string &reason);
/* Likewise; emits a CPLError. */
bool zsParseName(const char *name, ZSConnection &connection);

/* Where an archive has no zarr.json, but holds one folder alone that has: the store of the connection is that. */
bool zsEnterArchive(ZSConnection &connection);

/* Where the store of a connection is only a folder of one, with a group's zarr.json above it: names what it did in the
 * topmost such group, whose document is left in `text`. A group that consolidated metadata there do not list is a store
 * of its own. Asks for one object of each folder. */
bool zsNameInStoreAbove(ZSConnection &connection, bool isArray, std::string &text);
/* Likewise for a path: reads its document, and returns "STORE: /NAME", the store above and the node's name there; ""
 * where the path is a store by itself. */
std::string zsStoreAbove(const std::string &path);

/* Name of the array that is the whole store at `root`: that of the store. */
std::string zsRootArrayName(const std::string &root);

/* Whether a text ends with another one, by its bytes. */
bool zsEndsWith(const std::string &s, const std::string &end);

/* Whether something is at a path; whether it is a file, and no pipe, for whose writer a reader would wait. */
bool zsExists(const std::string &path);
bool zsIsFile(const std::string &path);

/* Whether reading this path may mean waiting for a network: see store/store.h. */
bool zsIsRemote(const std::string &path);

/* A name as messages may show it: without passwords and without the query of a URL. */
std::string zsShown(const std::string &name);

/* ---- Icechunk repositories among the stores that are opened (icechunk/icechunk.h) ---- */

/* Whether there is a repository at a local path. Remote stores are not asked: false. */
bool zsIsRepository(const std::string &store);
/* Checks that the name is that of no commit, and of no local repository; else emits a CPLError. What is remote and no
 * store is not replaced anyway. */
bool zsIsNoRepository(const ZSConnection &connection);

/* Adds the commit that open options ask for to the connection. False, with a reason, where the name has another. */
bool zsTakeCommitOptions(CSLConstList options, ZSConnection &connection, std::string &reason);
