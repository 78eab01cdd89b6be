/* gdal/files.h: stores as directories of files: replaced, deleted, renamed, copied. */
#ifndef ZS_GDAL_FILES_H
#define ZS_GDAL_FILES_H

#include <string>

#include "compat.h"

/* Whether the store lies in an archive, where each file can be written once, one after the other. */
bool zsIsArchive(const std::string &store);
/* Whether a copy may write an archive: nothing is there, or a zipped store that the source does not read. Else CPLError
 * is emitted. */
bool zsMayReplaceArchive(const std::string &store, GDALDataset &source);
/* Copies a finished store into an archive, its root zarr.json last, which then takes the place of an older one. False
 * (CPLError emitted) on failure: the older one is there. */
bool zsPack(const std::string &from, const std::string &archive);

/* Where GDAL keeps overviews of a local store that is not to be changed: NAME.zarr.ovr. They go with the store. */
std::string zsExternalOverviews(const std::string &store);
/* Removes them, if there are any. */
void zsRemoveExternalOverviews(const std::string &store);

#endif
