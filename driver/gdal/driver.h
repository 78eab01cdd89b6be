/* gdal/driver.h: what GDAL calls of the driver itself; driver.cpp registers it, and what faces.h has. */
#ifndef ZS_GDAL_DRIVER_H
#define ZS_GDAL_DRIVER_H

#include "compat.h"

#if ZS_GDAL_AT_LEAST(8)
#include <gdalsubdatasetinfo.h>
#endif

/* GDALDriver::pfnIdentifyEx and pfnOpen. Identify reads local files only. Open declines silently what is not ours. */
int zsIdentify(GDALOpenInfo *info);
GDALDataset *zsOpen(GDALOpenInfo *info);

#if ZS_GDAL_AT_LEAST(8)
/* GDALDriver::pfnGetSubdatasetInfoFunc: null where the name is none of ours, or names a store as a whole. The caller
 * owns it. */
GDALSubdatasetInfo *zsSubdatasetInfo(const char *name);
#endif

/* GDALDriver::pfnDelete, pfnRename, pfnCopyFiles (files.cpp). */
CPLErr zsDelete(const char *name);
CPLErr zsRename(const char *newName, const char *oldName);
CPLErr zsCopyFiles(const char *newName, const char *oldName);

/* Adds `gdal driver shardedzarr validate` where GDAL has commands of drivers (3.11); does nothing before. */
void zsAddCommands(GDALDriver &driver);

#endif
