/* gdal/sources.h: what a dataset reads from. */
#ifndef ZS_GDAL_SOURCES_H
#define ZS_GDAL_SOURCES_H

#include <string>

#include "compat.h"

/* Whether `path` is, holds, or lies in a file or store that the dataset reads from, through virtual rasters,
 * subdatasets, overviews, links and other spellings of a path; `which` is its name then. */
bool zsIsSource(GDALDataset &source, const std::string &path, std::string &which);

#endif
