#include "geo/conventions.h"

#include <string.h>

#include "base/memory.h"
#include "geo/cf.h"

#define DECLARATIONS "zarr_conventions"

/* ---- Attributes of conventions ---- */

static const char *const georef_attributes[] = {"dggs", "grid_mapping", "_CRS", "gdal:geotransform", NULL};
static const char *const other_attributes[] = {
    DECLARATIONS, "multiscales", "ome", "omero", ZS_ARRAY_DIMENSIONS,
    /* CF */
    "coordinates", "ancillary_variables", "_FillValue", "missing_value", "scale_factor", "add_offset", "units",
    "flag_values", "flag_meanings", ZS_UNSIGNED_ATTRIBUTE,
    /* GDAL */
    "gdal:categories", ZS_BANDS_ATTRIBUTE, ZS_DOMAINS_ATTRIBUTE, ZS_GCPS_ATTRIBUTE, ZS_ITEMS_ATTRIBUTE,
    "gdal:color_table", "color_interpretation", "COLOR_INTERPRETATION", ZS_NO_NODATA_ATTRIBUTE, NULL};

bool zs_is_georef_attribute(const char *name)
{
    return zs_spatial_is_member(name) || zs_proj_is_member(name) || zs_is_one_of(name, georef_attributes);
}

bool zs_is_convention_attribute(const char *name)
{
    return zs_is_georef_attribute(name) || zs_is_one_of(name, other_attributes);
}

/* ---- Registration (zarr-conventions-spec) ---- */

/* Whether an entry of zarr_conventions, named `key` where they are an object, is of the convention. */
static bool is_entry_of(const zs_json *entry, const char *key, const struct zs_convention *convention)
{
    const char *uuid = zs_json_text(entry, "uuid", key);
    return uuid != NULL && strcmp(uuid, convention->uuid) == 0;
}

bool zs_convention_declare(const struct zs_convention *convention, zs_json *attributes, bool is_wanted)
{
    const zs_json *old = zs_json_get(attributes, DECLARATIONS);
    const bool was_object = zs_json_is_object(old);
    zs_json *list = zs_json_new_array();
    bool ok = list != NULL;
    for (const zs_json *e = zs_json_first(old); e != NULL && ok; e = zs_json_next(e)) {
        const char *key = was_object ? zs_json_name(e) : NULL;
        if (is_entry_of(e, key, convention))
            continue;
        zs_json *copy = zs_json_add(list, NULL, zs_json_copy(e));
        ok = copy != NULL;
        if (ok && key != NULL && zs_json_is_object(copy) && zs_json_get(copy, "uuid") == NULL)
            ok = zs_json_add_string(copy, "uuid", key) != NULL;
    }
    if (ok && is_wanted) {
        zs_json *e = zs_json_add_object(list, NULL);
        zs_json_add_string(e, "uuid", convention->uuid);
        ok = zs_json_add_string(e, "name", convention->name) != NULL;
    }
    if (!ok || zs_json_size(list) == 0) {
        zs_json_free(list);
        zs_json_remove(attributes, DECLARATIONS);
        return ok;
    }
    return zs_json_set(attributes, DECLARATIONS, list) != NULL;
}

bool zs_set_doubles(zs_json *object, const char *name, const double *values, size_t n)
{
    zs_json *list = zs_json_set(object, name, zs_json_new_array());
    bool ok = list != NULL;
    for (size_t i = 0; i < n && ok; i++)
        ok = zs_json_add_double(list, NULL, values[i]) != NULL;
    return ok;
}

/* ---- Reading ---- */

bool zs_search_take(struct zs_search *search, const double *transform)
{
    if (!zs_transform_is_valid(transform))
        return false;
    memcpy(search->out->transform, transform, 6 * sizeof *transform);
    search->out->has_transform = true;
    return true;
}
