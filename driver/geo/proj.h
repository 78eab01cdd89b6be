/* geo/proj.h: the convention `proj:` (zarr-conventions; FORMATS 4.2): the CRS. Internal to the core. */
#ifndef ZS_GEO_PROJ_H
#define ZS_GEO_PROJ_H

#include "geo/conventions.h"

extern const struct zs_convention zs_proj;

/* Replaces all members of the convention and its drafts by those of a CRS (NULL: none), and declares it where it has
 * any. False without memory. */
bool zs_proj_write(zs_json *attributes, OGRSpatialReferenceH srs, bool is_group);

#endif
