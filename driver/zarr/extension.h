/* zarr/extension.h: how metadata name a data type, a chunk grid, a codec (core specification 3.1, "Extension
 * points"). */
#ifndef ZS_ZARR_EXTENSION_H
#define ZS_ZARR_EXTENSION_H

#include "zarr/json.h"

/* The extension point `node` (an object with "name" and "configuration", or a bare string) as its name, NULL when it is
 * neither; *configuration, unless NULL, is NULL when there is none. */
const char *zs_extension_name(const zs_json *node, const zs_json **configuration);

/* The specification's rule for members that a reader does not know: ZS_UNSUPPORTED, with the name of the first member
 * of `object` (NULL has none) that is not in the NULL-terminated list and does not say "must_understand": false.
 * ZS_INVALID where it is there and no object. */
enum zs_status zs_members_check(const zs_json *object, const char *const *known, struct zs_error *err) ZS_MUST_CHECK;

#endif
