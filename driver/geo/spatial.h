/* geo/spatial.h: the convention `spatial:` (zarr-conventions; FORMATS 4.3): dimensions, affine transform, bounding
 * box, size. Internal to the core. */
#ifndef ZS_GEO_SPATIAL_H
#define ZS_GEO_SPATIAL_H

#include "geo/conventions.h"

extern const struct zs_convention zs_spatial;

#define ZS_SPATIAL_SHAPE "spatial:shape" /* for messages */

/* {rows, columns} of the level that members speak of; false where they do not say. */
bool zs_spatial_size(const zs_json *members, double size[2]);

/* Whether members say where a raster lies. */
bool zs_spatial_is_declared(const zs_json *members);
/* Whether members say where a raster lies, or by which CRS (geo/proj.h): the two go together. A size alone, as every
 * multiscales entry of ours has one, says nothing of a place. */
bool zs_spatial_proj_is_declared(const zs_json *members);

/* Adds to a multiscales entry its size, and the transform where there is one. False without memory. */
bool zs_spatial_write_level(zs_json *entry, const struct zs_georef_out *level);

#endif
