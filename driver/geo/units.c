#include "geo/coordinates.h"

#include <string.h>

#include "geo/crs.h"
#include "geo/scope.h"
#include "zarr/json.h"

struct unit {
    const char *name;
    double size;
};

/* Spellings of udunits; also in the plural. The symbols are compared with case, as it does. */
static bool find_unit(const struct unit *units, const char *name, double *size)
{
    for (; units->name != NULL; units++) {
        const size_t n = strlen(units->name);
        char singular[32];
        if (strlen(name) >= sizeof singular)
            return false;
        strcpy(singular, name);
        if (n > 4 && strlen(name) == n + 1 && name[n] == 's')
            singular[n] = '\0';
        if (strcmp(singular, units->name) == 0 || (n > 4 && zs_equals_ignoring_case(singular, units->name))) {
            *size = units->size;
            return true;
        }
    }
    return false;
}

static bool find_length(const char *name, double *metres)
{
    static const struct unit units[] = {{"m", 1},     {"metre", 1},        {"meter", 1},
                                        {"km", 1000}, {"kilometre", 1000}, {"kilometer", 1000},
                                        {NULL, 0}};
    return find_unit(units, name, metres);
}

static bool find_angle(const char *name, double *radians)
{
    static const struct unit units[] = {
        {"rad", 1}, {"radian", 1}, {"urad", 1e-6}, {"microrad", 1e-6}, {"microradian", 1e-6}, {NULL, 0}};
    return find_unit(units, name, radians);
}

/* Height of the satellite in metres, where the CRS is its view. */
static bool find_height(OGRSpatialReferenceH srs, double *height)
{
    OGRErr result = OGRERR_NONE;
    const char *projection = OSRGetAttrValue(srs, "PROJECTION", 0);
    if (projection == NULL || strcmp(projection, "Geostationary_Satellite") != 0)
        return false;
    *height = OSRGetNormProjParm(srs, "satellite_height", 0, &result);
    return result == OGRERR_NONE && *height > 0;
}

/* CF 1.9: such coordinates are angles, in radians by default. */
static bool is_angular(const zs_json *attributes)
{
    const zs_json *name = zs_json_get(attributes, "standard_name");
    return zs_json_equals(name, "projection_x_angular_coordinate") ||
           zs_json_equals(name, "projection_y_angular_coordinate");
}

double zs_coordinate_factor(const struct zs_node *coordinate, OGRSpatialReferenceH srs)
{
    double size = 1, height, metres = 1, factor = 1;
    const char *units = zs_json_text(coordinate->attributes, "units", NULL);
    if (srs == NULL || (units == NULL && !is_angular(coordinate->attributes)))
        return 1;
    struct zs_quiet quiet;
    zs_quiet_begin(&quiet);
    if (OSRIsProjected(srs))
        metres = OSRGetLinearUnits(srs, NULL);
    if (OSRIsProjected(srs) && (units == NULL || find_angle(units, &size)) && find_height(srs, &height))
        factor = size * height / metres;
    else if (OSRIsProjected(srs) && units != NULL && find_length(units, &size) && (metres == 1 || metres == 1000))
        factor = size / metres;
    zs_quiet_end(&quiet);
    return factor;
}
