/* gdal/raster/losses.h: what a source has that a store cannot keep. */
#ifndef ZS_GDAL_LOSSES_H
#define ZS_GDAL_LOSSES_H

#include "gdal/compat.h"

/* Names what a copy of the source would lose: in an error, and returns false, where `strict` asks for a copy that is
 * whole; else in a warning. What is lost are ground control points, geolocation arrays, attribute tables, masks of
 * single bands that are neither nodata nor alpha, and nodata values and data types that differ between bands. */
bool zsCheckLosses(const char *name, GDALDataset &source, bool strict);

#endif
