/* gdal/side_car.h: the file in which GDAL keeps what it is told of a store that is not open for update: of each dataset
 * by the name of its array, group or selection. */
#ifndef ZS_GDAL_SIDE_CAR_H
#define ZS_GDAL_SIDE_CAR_H

#include <string>

/* Elements of the array at `path` were written: takes away statistics and histograms of all datasets that have it in
 * the side-car of `document`, the root's zarr.json. That there is no such file is fine. */
void zsDropSideCarStatistics(const std::string &document, const std::string &path);

#endif
