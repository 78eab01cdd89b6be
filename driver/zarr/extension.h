/* zarr/extension.h: how metadata name a data type, a chunk grid, a codec (core specification 3.1, "Extension
 * points"). */
#ifndef ZS_ZARR_EXTENSION_H
#define ZS_ZARR_EXTENSION_H

#include "zarr/json.h"

/* The extension point `node` (an object with "name" and "configuration", or a bare string) as its name, NULL when it is
 * neither; *configuration, unless NULL, is NULL when there is none. */
const char *zs_extension_name(const zs_json *node, const zs_json **configuration);

#endif
