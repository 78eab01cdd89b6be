/* gdal/files.h: stores as directories of files: replaced, deleted, renamed, copied. */
#ifndef ZS_GDAL_FILES_H
#define ZS_GDAL_FILES_H

#include <string>

#include "compat.h"

/* Makes room for a new store: an older store is removed, anything else that is there stays and is an error (CPLError emitted). To
 * append, a store must be there. */
bool zsClearPlace(const std::string &store, bool append);
/* Removes what a failed creation left, silently. */
void zsRemoveStore(const std::string &store);

/* Whether the store lies in an archive, where each file can be written once, one after the other. */
bool zsIsArchive(const std::string &store);
/* Copies a finished store into an archive, its root zarr.json last. False (CPLError emitted) on failure. */
bool zsPack(const std::string &from, const std::string &archive);

/* GDALDriver::pfnDelete, pfnRename, pfnCopyFiles. */
CPLErr zsDelete(const char *name);
CPLErr zsRename(const char *newName, const char *oldName);
CPLErr zsCopyFiles(const char *newName, const char *oldName);

#endif
