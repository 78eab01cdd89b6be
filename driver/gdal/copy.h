/* gdal/copy.h: streaming the pixels of a source into the arrays of a new raster. */
#ifndef ZS_GDAL_COPY_H
#define ZS_GDAL_COPY_H

#include "packing.h"

/* Copies all bands of `source` into the raster: each row of chunks is read while the one before is encoded and written,
 * and the source is read once. A row of chunks that is more than 256 MB goes by pieces, of one chunk's columns at
 * least. They are read as `type` and unpacked. Progress goes from 0 to 1. False, with a CPLError, on failure or when
 * the user cancels. */
bool zsCopyPixels(GDALDataset &source, const struct zs_raster &raster, const struct zs_raster_spec &spec,
                  GDALDataType type, const ZSPacking &packing, GDALProgressFunc progress, void *progressData);

#endif
