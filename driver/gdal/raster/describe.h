/* gdal/raster/describe.h: an array in one line, for who chooses from a list. */
#ifndef ZS_GDAL_DESCRIBE_H
#define ZS_GDAL_DESCRIBE_H

#include "dataset.h"

/* Lists of more arrays tell no times, nor those of remote stores: each costs a look at a coordinate variable. */
constexpr size_t ZS_MOST_TIMES = 64;

/* "[720x600x600] 2 metre temperature (K) (Float32), time 2026-05-01..2026-05-30", as far as it is known. With `times`
 * the coordinates of the extra dimensions are looked at. In a list it follows the name and " - ": QGIS calls a layer by
 * what is before that. */
/* With `slices`, the shape is that of these: of each dimension in which they differ, and of the raster. */
std::string zsDescribe(const ZSStore &store, const struct zs_node *node, bool times,
                       const struct zs_slices *slices = nullptr);

#endif
