#include "geo/band_list.h"

#include <string.h>

#include "geo/bands.h"

size_t zs_band_list_place(const zs_json *attributes, const char *name)
{
    const zs_json *list = zs_json_get(attributes, ZS_BANDS_ATTRIBUTE);
    size_t place = 0;
    if (!zs_json_is_array(list))
        return SIZE_MAX;
    for (const zs_json *band = zs_json_first(list); band != NULL; band = zs_json_next(band), place++) {
        const char *found;
        if (zs_json_string(zs_json_is_object(band) ? zs_json_get(band, "name") : band, &found) &&
            strcmp(found, name) == 0)
            return place;
    }
    return SIZE_MAX;
}

enum zs_status zs_band_list_write(zs_json *attributes, const char *const *names, size_t n, struct zs_error *err)
{
    zs_json *list = zs_json_add_array(attributes, ZS_BANDS_ATTRIBUTE);
    for (size_t i = 0; i < n; i++)
        if (zs_json_add_string(zs_json_add_object(list, NULL), "name", names[i]) == NULL)
            return zs_fail_memory(err);
    return ZS_OK;
}
