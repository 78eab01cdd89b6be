/* gdal/faces.h: what the driver asks of its two faces, rasters and the multidimensional API. */
#ifndef ZS_GDAL_FACES_H
#define ZS_GDAL_FACES_H

#include "connection.h"

/* The dataset of a node: of an array or a group. Null, with the message in err. `name` is that of the dataset. */
std::unique_ptr<GDALDataset> zsRasterOpen(const std::shared_ptr<ZSStore> &store, const struct zs_node *node,
                                          const ZSConnection &connection, const ZSOpenOptions &options,
                                          GDALAccess access, const char *name, struct zs_error *err);
std::unique_ptr<GDALDataset> zsMdimOpen(const std::shared_ptr<ZSStore> &store, const struct zs_node *node,
                                        const ZSConnection &connection, const ZSOpenOptions &options,
                                        GDALAccess access, struct zs_error *err);

/* GDALDriver::pfnCreate and pfnCreateMultiDimensional. The caller owns the dataset; null (CPLError emitted). */
GDALDataset *zsRasterCreate(const char *name, int width, int height, int bands, GDALDataType type,
                            CSLConstList options);
GDALDataset *zsMdimCreate(const char *name, CSLConstList rootOptions, CSLConstList options);

/* GDALDriver::pfnCreateCopy, of bands or of a root group; progress may be null. */
GDALDataset *zsRasterCopy(const char *name, GDALDataset *source, bool strict, CSLConstList options,
                          GDALProgressFunc progress, void *progressData);
GDALDataset *zsMdimCopy(const char *name, GDALDataset *source, bool strict, CSLConstList options,
                        GDALProgressFunc progress, void *progressData);

#endif
