/* gdal/repository.h: Icechunk repositories among the stores that are opened (zarr/icechunk.h). */
#ifndef ZS_GDAL_REPOSITORY_H
#define ZS_GDAL_REPOSITORY_H

#include <string>

#include "connection.h"
#include "handles.h"

/* Whether it is a repository, as far as a look at the disk tells; of no remote one. */
bool zsIsRepository(const std::string &store);
/* Whether it is one by its name, or because one of its commits is asked for: then its history is asked first. */
bool zsIsNamedRepository(const ZSConnection &connection);

/* Whether a name is of no repository, and of nothing in one; else CPLError says why nothing is written there. Asks a
 * remote store for two objects, and for those of each folder above that is called after Icechunk. */
bool zsIsNoRepository(const ZSConnection &connection);

/* Adds what open options ask for to the connection. False, with a reason, where the name says otherwise. */
bool zsTakeCommitOptions(CSLConstList options, ZSConnection &connection, std::string &reason);

/* Puts the store of the commit in the place of the store. ZS_NOT_FOUND: it is no repository. */
enum zs_status zsOpenRepository(const ZSConnection &connection, ZSStore &store, struct zs_error *err);

/* Fills the metadata domain ICECHUNK: which commit it is, and which others have names. */
void zsDescribeRepository(const ZSStore &store, GDALDataset &dataset);

#endif
