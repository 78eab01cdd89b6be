/* gdal/repository.h: Icechunk repositories among the stores that are opened (zarr/icechunk.h). */
#ifndef ZS_GDAL_REPOSITORY_H
#define ZS_GDAL_REPOSITORY_H

#include <string>

#include "connection.h"
#include "handles.h"

/* Whether there is a repository at a local path. Remote stores are not asked: false. */
bool zsIsRepository(const std::string &store);
/* Whether a name is that of a repository: it has `icechunk` in it, a commit behind it, or GDAL's prefix. Then the
 * history is read before a zarr.json is looked for. */
bool zsIsNamedRepository(const ZSConnection &connection);

/* Whether a name is of no repository, and of nothing in one; else CPLError says why nothing is written there. Asks a
 * remote store for two objects, and for those of each folder above that is called after Icechunk. */
bool zsIsNoRepository(const ZSConnection &connection);

/* Adds the commit that open options ask for to the connection. False, with a reason, where the name has another. */
bool zsTakeCommitOptions(CSLConstList options, ZSConnection &connection, std::string &reason);

/* Replaces the store by that of the commit. ZS_NOT_FOUND: it is no repository. */
enum zs_status zsOpenRepository(const ZSConnection &connection, ZSStore &store, struct zs_error *err);

/* Fills the metadata domain ICECHUNK: which commit it is, and which others have names. */
void zsDescribeRepository(const ZSStore &store, GDALDataset &dataset);

#endif
