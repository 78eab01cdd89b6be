#include "zarr/extension.h"

const char *zs_extension_name(const zs_json *node, const zs_json **configuration)
{
    const char *name = NULL;
    if (configuration != NULL)
        *configuration = NULL;
    if (zs_json_string(node, &name))
        return name;
    if (!zs_json_string(zs_json_get(node, "name"), &name))
        return NULL;
    if (configuration != NULL)
        *configuration = zs_json_get(node, "configuration");
    return name;
}
