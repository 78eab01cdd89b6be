#include "geo/conventions.h"

#include <string.h>

#include "geo/georef.h"
#include "geo/healpix.h"

#define DGGS "dggs"

/* The object that speaks of the array: its own, or that of the group which holds it. */
static const zs_json *object_of(const struct zs_scope *scope)
{
    const zs_json *own = zs_json_get(scope->node->attributes, DGGS);
    if (own != NULL || scope->groups == 0)
        return zs_json_is_object(own) ? own : NULL;
    const struct zs_node *group = scope->group[0];
    const char *below = zs_path_below(group->path, scope->node->path);
    const zs_json *attribute = zs_json_get(group->attributes, DGGS);
    return below != NULL && strchr(below, '/') == NULL && zs_json_is_object(attribute) ? attribute : NULL;
}

static bool set_ellipsoid(const zs_json *ellipsoid, struct zs_healpix *found)
{
    const char *name = NULL;
    if (ellipsoid == NULL || zs_json_typeof(ellipsoid) == ZS_JSON_NULL)
        return true; /* the sphere that was set */
    if (!zs_json_string(ellipsoid, &name))
        zs_json_string(zs_json_get(ellipsoid, "name"), &name);
    return zs_healpix_take_ellipsoid(found, ellipsoid, name);
}

/* The variable of cell numbers, beside the array or in the group with the dggs members. False: it is not there. */
static bool find_coordinate(struct zs_hierarchy *hierarchy, const struct zs_scope *scope, const zs_json *dggs,
                            struct zs_healpix *found)
{
    const char *name = NULL;
    if (!zs_json_string(zs_json_get(dggs, "coordinate"), &name))
        return true;
    found->coordinate = zs_scope_array(hierarchy, scope, NULL, name);
    return found->coordinate != NULL;
}

/* zagg keeps words of all cells of the sphere, each at the number of its cell. A cell that was not written has 0. */
static bool take_morton(const struct zs_node *node, const zs_json *dggs, struct zs_healpix *found)
{
    /* Without this word latitudes of the ellipsoid were taken for those of a sphere. */
    const char *latitude = NULL;
    if (!zs_json_string(zs_json_get(dggs, "latitude"), &latitude) || strncmp(latitude, "authalic", 8) != 0)
        zs_healpix_set_default_sphere(found);
    found->words = ZS_HEALPIX_MORTON;
    if (found->order >= 0 && found->order <= ZS_HEALPIX_MAX_ORDER &&
        node->array->shape[found->dim] == zs_healpix_cells_of(found->order))
        found->coordinate = NULL;
    return true;
}

static bool take_healpix(const zs_json *dggs, struct zs_healpix *found)
{
    const zs_json *scheme = zs_json_get(dggs, "indexing_scheme"), *compression = zs_json_get(dggs, "compression");
    if (scheme != NULL && !zs_json_equals(scheme, "nested") && !zs_json_equals(scheme, "ring"))
        return false;
    found->is_ring = zs_json_equals(scheme, "ring");
    if (compression == NULL || zs_json_equals(compression, "none"))
        return true;
    const bool is_compacted = zs_json_equals(compression, "compacted");
    found->words = is_compacted ? ZS_HEALPIX_COMPACTED : ZS_HEALPIX_RANGES;
    return found->coordinate != NULL &&
           (is_compacted ? !found->is_ring : zs_json_equals(compression, "ranges"));
}

bool zs_dggs_find_healpix(struct zs_hierarchy *hierarchy, const struct zs_node *node, const struct zs_scope *scope,
                          struct zs_healpix *found)
{
    const zs_json *dggs = object_of(scope);
    const char *dimension;
    uint64_t level;
    const bool is_morton = zs_json_equals(zs_json_get(dggs, "name"), "morton");
    if (!is_morton && !zs_json_equals(zs_json_get(dggs, "name"), "healpix"))
        return false;
    if (!zs_json_uint64(zs_json_get(dggs, "refinement_level"), &level) || level > ZS_HEALPIX_MAX_ORDER ||
        !zs_json_string(zs_json_get(dggs, "spatial_dimension"), &dimension))
        return false;
    found->order = (int)level;
    found->dim = zs_dimension_find(node, dimension);
    if (found->dim < 0 || !set_ellipsoid(zs_json_get(dggs, "ellipsoid"), found) ||
        !find_coordinate(hierarchy, scope, dggs, found) || found->coordinate == node)
        return false;
    return is_morton ? take_morton(node, dggs, found) : take_healpix(dggs, found);
}

/* ---- Writing ---- */

static const struct zs_convention convention = {"7b255807-140c-42ca-97f6-7a1cfecdbc38", "dggs"};

static bool write_ellipsoid(zs_json *dggs, const struct zs_healpix *healpix)
{
    zs_json *e = zs_json_add_object(dggs, "ellipsoid");
    const bool is_sphere = healpix->inverse_flattening == 0;
    bool ok = e != NULL;
    if (ok && (healpix->is_wgs84 || is_sphere))
        ok = zs_json_add_string(e, "name", is_sphere ? "sphere" : "WGS84") != NULL;
    ok = ok && zs_json_add_double(e, "semimajor_axis", healpix->semi_major) != NULL;
    return ok && (is_sphere ? zs_json_add_double(e, "semiminor_axis", healpix->semi_major)
                            : zs_json_add_double(e, "inverse_flattening", healpix->inverse_flattening)) != NULL;
}

enum zs_status zs_write_dggs(zs_json *attributes, const struct zs_healpix *healpix, const char *dimension,
                             const char *coordinate, struct zs_error *err)
{
    zs_json_remove(attributes, DGGS);
    zs_json *dggs = zs_json_add_object(attributes, DGGS);
    bool ok = dggs != NULL && zs_json_add_string(dggs, "name", "healpix") != NULL &&
         zs_json_add_int64(dggs, "refinement_level", healpix->order) != NULL &&
         zs_json_add_string(dggs, "indexing_scheme", healpix->is_ring ? "ring" : "nested") != NULL &&
         zs_json_add_string(dggs, "spatial_dimension", dimension) != NULL && write_ellipsoid(dggs, healpix);
    if (ok && coordinate != NULL)
        ok = zs_json_add_string(dggs, "coordinate", coordinate) != NULL &&
             zs_json_add_string(dggs, "compression", "none") != NULL;
    return ok && zs_convention_declare(&convention, attributes, true) ? ZS_OK : zs_fail_memory(err);
}
