/* gdal/raster/filter.h: the filter of blosc that suits the pixels of a source. */
#ifndef ZS_GDAL_RASTER_FILTER_H
#define ZS_GDAL_RASTER_FILTER_H

#include "gdal/compat.h"
#include "gdal/creation_options.h"
#include "new_arrays.h"

/* Reads samples, spread over the source, as pixels of `type`, and sets BLOSC_SHUFFLE of the options and of the spec to
 * the filter that makes them smallest (codec/filter.h). Reads a small share of the source's blocks, one at least. Does
 * nothing where the options name a filter or another compression; a source that cannot be read leaves the filter as it
 * is, for the copy reports why. */
void zsChooseFilter(GDALDataset &source, GDALDataType type, const ZSPacking &packing, ZSCreationOptions &options,
                    struct zs_raster_spec &spec);

#endif
