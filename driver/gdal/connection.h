/* gdal/connection.h: the strings by which stores and arrays are named in GDAL. */
#ifndef ZS_GDAL_CONNECTION_H
#define ZS_GDAL_CONNECTION_H

#include <cstdint>
#include <string>
#include <vector>

/* What a connection string asks for. */
struct ZSConnection
{
    enum class Prefix
    {
        NONE,
        OWN, /* SHARDEDZARR: */
        ZARR /* ZARR:, GDAL's own driver's */
    };
    Prefix prefix = Prefix::NONE;
    std::string store;             /* VSI path of the root */
    bool has_array = false;        /* an array or group was named */
    std::string array;             /* ... its path, without a leading slash */
    std::vector<uint64_t> indices; /* ... and indices into its extra dimensions */

    /* SHARDEDZARR:"store":/array for subdatasets. */
    std::string SubdatasetName(const std::string &arrayPath) const;
};

/* Parses `name`: [PREFIX:]path, PREFIX:"path", PREFIX:"path":/array, PREFIX:"path":/array:i:j. A path of a zarr.json is
 * that of its directory; http:// and https:// become /vsicurl/. False, with a reason, when it is malformed. */
bool zsParseConnection(const char *name, ZSConnection &connection, std::string &reason);

bool zsEndsWith(const std::string &s, const std::string &end);

/* Whether reading this path may mean waiting for a network. */
bool zsIsRemote(const std::string &path);

#endif
