/* gdal/driver.h: what GDAL calls of the driver, and what the driver asks of its two faces, rasters and the
 * multidimensional API. driver.cpp registers it. */
#pragma once

#include "connection.h"

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

/* GDALDriver::pfnDelete, pfnRename, pfnCopyFiles (create/removal.cpp). */
CPLErr zsDelete(const char *name);
CPLErr zsRename(const char *newName, const char *oldName);
CPLErr zsCopyFiles(const char *newName, const char *oldName);

/* ---- The two faces ---- */

/* The dataset of a node: of an array or a group. Null, with the message in err. `name` is that of the dataset. */
std::unique_ptr<GDALDataset> zsRasterOpen(const std::shared_ptr<ZSStore> &store, const struct zs_node *node,
                                          const ZSConnection &connection, const ZSOpenOptions &options,
                                          GDALAccess access, const char *name, struct zs_error *err);
std::unique_ptr<GDALDataset> zsMdimOpen(const std::shared_ptr<ZSStore> &store, const struct zs_node *node,
                                        const ZSConnection &connection, const ZSOpenOptions &options,
                                        GDALAccess access, struct zs_error *err);

/* GDALDriver::pfnCreate and pfnCreateMultiDimensional. The caller owns the dataset; null (CPLError emitted). */
GDALDataset *zsRasterCreate(const char *name, int width, int height, int bands, GDALDataType type,
                            ZSCreateOptions options);
GDALDataset *zsMdimCreate(const char *name, CSLConstList rootOptions, CSLConstList options);

/* GDALDriver::pfnCreateCopy, of bands or of a root group; progress may be null. */
GDALDataset *zsRasterCopy(const char *name, GDALDataset *source, bool strict, CSLConstList options,
                          GDALProgressFunc progress, void *progressData);
GDALDataset *zsMdimCopy(const char *name, GDALDataset *source, bool strict, CSLConstList options,
                        GDALProgressFunc progress, void *progressData);
