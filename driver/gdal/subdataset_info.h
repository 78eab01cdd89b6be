/* gdal/subdataset_info.h: what a name of a subdataset consists of, for programs that move stores. */
#ifndef ZS_GDAL_SUBDATASET_INFO_H
#define ZS_GDAL_SUBDATASET_INFO_H

#include "compat.h"

#if ZS_GDAL_AT_LEAST(8)
#include <gdalsubdatasetinfo.h>

/* GDALDriver::pfnGetSubdatasetInfoFunc: null where the name is none of ours, or names a store as a whole. Owned by the
 * caller. */
GDALSubdatasetInfo *zsSubdatasetInfo(const char *name);
#endif

#endif
