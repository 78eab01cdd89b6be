/* gdal/open.h: from a connection string to a dataset. */
#ifndef ZS_GDAL_OPEN_H
#define ZS_GDAL_OPEN_H

#include "compat.h"

/* GDALDriver::pfnIdentifyEx and pfnOpen. Identify reads local files only. Open declines silently what is not ours. */
int zsIdentify(GDALOpenInfo *info);
GDALDataset *zsOpen(GDALOpenInfo *info);

#endif
