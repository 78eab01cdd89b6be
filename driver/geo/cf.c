#include "geo/cf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geo/coordinates.h"
#include "geo/crs.h"
#include "geo/variables.h"
#include "zarr/contents.h"
#include "zarr/name.h"

/* A coordinate of a type that rounds may be off by this part of a step. */
#define ROUNDING 0.001

const char *const zs_cf_references[] = {"coordinates", "grid_mapping", "bounds", NULL};

/* ---- CRS ---- */

/* Unit of the X coordinate variable, NULL when undeclared; *is_degrees when both X and Y are in degrees east and
 * north. */
static const char *coordinate_units(const struct zs_search *search, bool *is_degrees)
{
    const struct zs_node *x = zs_coordinate_find(search->hierarchy, search->node, search->axes.x);
    const struct zs_node *y =
        search->axes.y >= 0 ? zs_coordinate_find(search->hierarchy, search->node, search->axes.y) : NULL;
    const char *units = NULL;
    bool x_degrees = false, y_degrees = false;
    if (x != NULL) {
        zs_cf_axis(x->attributes, &x_degrees);
        units = zs_json_text(x->attributes, "units", units);
    }
    if (y != NULL)
        zs_cf_axis(y->attributes, &y_degrees);
    *is_degrees = x_degrees && y_degrees;
    return units;
}

static void find_crs(struct zs_search *search, enum zs_priority priority)
{
    bool in_own_group, is_degrees;
    if (priority != ZS_STATED && priority != ZS_IMPLIED)
        return;
    const struct zs_node *mapping = zs_grid_mapping_find(search->hierarchy, &search->scope, &in_own_group);
    /* An empty grid mapping counts as none. */
    if ((priority == ZS_STATED) != (mapping != NULL && zs_json_size(mapping->attributes) > 0))
        return;
    const char *units = coordinate_units(search, &is_degrees), *lacks = NULL;
    if (priority == ZS_IMPLIED)
        mapping = zs_default_mapping_find(search->hierarchy, search->node);
    if (mapping != NULL)
        search->out->srs = zs_crs_from_grid_mapping(mapping->attributes, units, &lacks);
    /* CF leaves the datum of plain longitudes and latitudes open. GDAL's netCDF driver takes WGS 84 then, and so does
     * every reader people compare with; only where nothing declares another, not where a grid mapping could not be
     * read. */
    else if (is_degrees)
        search->out->srs = zs_crs_from_epsg(4326);
    const char *name = mapping == NULL ? NULL : zs_json_text(mapping->attributes, "grid_mapping_name", NULL);
    if (search->out->srs == NULL && name != NULL && strcmp(name, "healpix") != 0) /* no memory: no warning */
        search->out->no_crs =
            zs_format("/%s: its %s %s %s: no coordinate reference system is read from it", mapping->path, name,
                      lacks != NULL ? "has no" : "is no", lacks != NULL ? lacks : "projection of CF");
}

/* ---- Transform ---- */

/* In units of the CRS, which was found before. */
static void scale_axis(struct zs_regular_axis *axis, OGRSpatialReferenceH srs)
{
    const double factor = zs_coordinate_factor(axis->coordinate, srs);
    axis->first *= factor;
    axis->step *= factor;
}

/* Transform from two regular axes of pixel centres. An axis of one element takes the other's step. */
static bool transform_of_axes(const struct zs_regular_axis *x, const struct zs_regular_axis *y, double *transform)
{
    if (!x->found || !y->found)
        return false;
    double dx = x->step, dy = y->step;
    if (dx == 0)
        dx = fabs(dy);
    if (dy == 0)
        dy = -fabs(dx);
    if (dx == 0)
        return false;
    transform[0] = x->first - dx / 2, transform[1] = dx, transform[2] = 0;
    transform[3] = y->first - dy / 2, transform[4] = 0, transform[5] = dy;
    return true;
}

/* Remembers a variable that was not looked at. */
static enum zs_status leave_out(struct zs_search *search, const struct zs_node *coordinate, struct zs_error *err)
{
    free(search->out->no_transform);
    search->out->no_transform = zs_format("/%s: too large for a coordinate variable; it is not used", coordinate->path);
    return search->out->no_transform != NULL ? ZS_OK : zs_fail_memory(err);
}

static enum zs_status find_on_axes(struct zs_search *search, struct zs_error *err)
{
    bool in_own_group;
    const struct zs_node *mapping = zs_grid_mapping_find(search->hierarchy, &search->scope, &in_own_group);
    struct zs_regular_axis x, y;
    double centres[6], given[6];
    ZS_TRY(zs_regular_axis_read(search->hierarchy, search->node, search->axes.x, &x, err));
    y = (struct zs_regular_axis){.found = false};
    if (x.coordinate != NULL)
        ZS_TRY(zs_regular_axis_read(search->hierarchy, search->node, search->axes.y, &y, err));
    if (x.is_too_large || y.is_too_large)
        ZS_TRY(leave_out(search, x.is_too_large ? x.coordinate : y.coordinate, err));
    if (x.coordinate != NULL && x.found)
        scale_axis(&x, search->out->srs);
    if (y.coordinate != NULL && y.found)
        scale_axis(&y, search->out->srs);
    /* A grid mapping taken from a group above speaks of that group's rasters. */
    const bool has_given = mapping != NULL && in_own_group && zs_parse_geotransform(mapping->attributes, given);
    const bool is_rotated = has_given && (given[2] != 0 || given[4] != 0);
    /* An axis of one element has no step of its own: GeoTransform has it. */
    if (has_given && x.coordinate != NULL && x.found && x.step == 0)
        x.step = given[1];
    if (has_given && y.found && y.step == 0)
        y.step = given[5];
    const bool has_centres = x.coordinate != NULL && transform_of_axes(&x, &y, centres);
    /* Where both are there and agree the text is the exact one; where they do not, someone cut the raster and only the
     * coordinates followed. Coordinates cannot express a rotation. */
    if (has_given &&
        (is_rotated || !has_centres || zs_transform_is_same(given, centres, search->width, search->height)) &&
        zs_search_take(search, given))
        return ZS_OK;
    if (has_centres)
        zs_search_take(search, centres);
    return ZS_OK;
}

/* Whether `coordinate` has the raster's rows and columns as its two dimensions. */
static bool is_on_raster(const struct zs_search *search, const struct zs_node *coordinate)
{
    if (coordinate == NULL || coordinate == search->node || coordinate->array == NULL || coordinate->array->ndim != 2 ||
        coordinate->array->shape[0] != search->height || coordinate->array->shape[1] != search->width)
        return false;
    const int dims[2] = {search->axes.y, search->axes.x};
    for (int i = 0; i < 2; i++) {
        const char *theirs = zs_dimension_name(coordinate, i), *ours = zs_dimension_name(search->node, dims[i]);
        if (theirs != NULL && ours != NULL && strcmp(theirs, ours) != 0)
            return false;
    }
    return true;
}

enum zs_status zs_cf_find_geolocation(struct zs_search *search, struct zs_error *err)
{
    const char *list;
    char word[256];
    const struct zs_node *x = NULL, *y = NULL;
    if (!zs_json_string(zs_json_get(search->node->attributes, "coordinates"), &list))
        return ZS_OK;
    while ((list = zs_next_word(list, word, sizeof word)) != NULL) {
        const struct zs_node *c = zs_scope_array(search->hierarchy, &search->scope, NULL, word, NULL);
        if (!is_on_raster(search, c))
            continue;
        char axis = zs_cf_axis(c->attributes, NULL);
        if (axis == 0)
            axis = zs_name_axis(zs_path_name(c->path));
        if (axis == 'X' && x == NULL)
            x = c;
        else if (axis == 'Y' && y == NULL)
            y = c;
    }
    if (x == NULL || y == NULL)
        return ZS_OK;
    bool x_blank, y_blank, x_too_large, y_too_large;
    ZS_TRY(zs_coordinate_rows_blank(search->hierarchy, x, &x_blank, &x_too_large, err));
    ZS_TRY(zs_coordinate_rows_blank(search->hierarchy, y, &y_blank, &y_too_large, err));
    if (x_too_large || y_too_large)
        ZS_TRY(leave_out(search, x_too_large ? x : y, err));
    if (x_blank || y_blank)
        return ZS_OK;
    search->out->geolocation_x = zs_strdup(x->path);
    search->out->geolocation_y = zs_strdup(y->path);
    if (search->out->geolocation_x == NULL || search->out->geolocation_y == NULL)
        return zs_fail_memory(err);
    return ZS_OK;
}

static enum zs_status find_transform(struct zs_search *search, enum zs_priority priority, struct zs_error *err)
{
    return priority == ZS_STATED ? find_on_axes(search, err) : ZS_OK;
}

/* ---- Writing ---- */

enum zs_status zs_write_coordinate(zs_json *attributes, const struct zs_georef_out *geo, bool is_x,
                                   struct zs_error *err)
{
    const bool is_geographic = geo->srs != NULL && OSRIsGeographic(geo->srs);
    const bool is_projected = geo->srs != NULL && OSRIsProjected(geo->srs);
    bool ok = zs_json_set_string(attributes, "axis", is_x ? "X" : "Y");
    const char *standard_name = NULL, *long_name = NULL;
    if (ok && is_geographic) {
        standard_name = long_name = is_x ? "longitude" : "latitude";
        ok = zs_json_set_string(attributes, "units", is_x ? "degrees_east" : "degrees_north");
    } else if (ok && is_projected) {
        char *unit = NULL; /* borrowed from the CRS */
        const double metres = OSRGetLinearUnits(geo->srs, &unit);
        standard_name = is_x ? "projection_x_coordinate" : "projection_y_coordinate";
        long_name = is_x ? "x coordinate of projection" : "y coordinate of projection";
        ok = zs_json_set_string(attributes, "units",
                                metres == 1      ? "m"
                                : metres == 1000 ? "km"
                                : unit != NULL   ? unit
                                                 : "m");
    }
    if (ok && standard_name != NULL && geo->brief == NULL)
        ok = zs_json_set_string(attributes, "standard_name", standard_name) &&
             zs_json_set_string(attributes, "long_name", long_name);
    return ok ? ZS_OK : zs_fail_memory(err);
}

/* Whether the coordinate variable can take the values as it is; float32 gets them in `narrow`. */
static bool can_hold(const struct zs_node *coordinate, const double *values, uint64_t n, float **narrow)
{
    *narrow = NULL;
    if (coordinate->array == NULL || zs_json_get(coordinate->attributes, "scale_factor") != NULL ||
        zs_json_get(coordinate->attributes, "add_offset") != NULL)
        return false;
    if (coordinate->array->dtype.type == ZS_FLOAT64)
        return true;
    if (coordinate->array->dtype.type != ZS_FLOAT32)
        return false;
    float *f = zs_calloc((size_t)n, sizeof *f);
    const double step = n > 1 ? fabs(values[1] - values[0]) : fabs(values[0]);
    bool fits = f != NULL;
    for (uint64_t i = 0; i < n && fits; i++) {
        f[i] = (float)values[i];
        fits = fabs((double)f[i] - values[i]) <= ROUNDING * step;
    }
    if (!fits) {
        free(f);
        return false;
    }
    *narrow = f;
    return true;
}

/* Whether chunks of the variable have keys of the form "c/0", not "c.0" or "0". */
static bool has_slashed_keys(const struct zs_node *coordinate)
{
    return !coordinate->array->key_is_v2 && coordinate->array->key_separator == '/';
}

/* The document of a float64 variable instead of one that cannot hold the values, or of none; NULL without memory.
 * Attributes are kept but for how numbers were packed. */
static zs_json *new_axis_document(const struct zs_slot *slot, const char *name, uint64_t n)
{
    static const char *const packing[] = {"scale_factor", "add_offset",  "_FillValue", "missing_value",
                                          "valid_range",  ZS_UNSIGNED_ATTRIBUTE};
    const struct zs_node *old = slot->own;
    zs_json *document =
        zs_small_array_document(name, ZS_FLOAT64, n, slot->has_checksum, old != NULL && has_slashed_keys(old));
    if (document != NULL && old != NULL && old->attributes != NULL) {
        zs_json *attributes = zs_json_set(document, "attributes", zs_json_copy(old->attributes));
        for (size_t i = 0; i < sizeof packing / sizeof packing[0]; i++)
            zs_json_remove(attributes, packing[i]);
    }
    return document;
}

/* The document of the variable itself but for the keys of its chunks; NULL without memory. */
static zs_json *rekeyed_document(const struct zs_node *own)
{
    zs_json *document = zs_json_copy(own->document), *encoding = zs_json_new_object();
    if (zs_json_add_string(encoding, "name", "default") != NULL &&
        zs_json_add_string(zs_json_add_object(encoding, "configuration"), "separator",
                           has_slashed_keys(own) ? "." : "/") != NULL &&
        zs_json_set(document, "chunk_key_encoding", encoding) != NULL)
        return document;
    zs_json_free(encoding);
    zs_json_free(document);
    return NULL;
}

/* Writes the values of a variable of this document (taken over), then gives the variable the document. New chunks have
 * other keys than the stored ones, which stay until the new document is stored. So a writer that is killed, or cannot
 * write all values, leaves coordinates that agree with the metadata. stored: the document of the variable as it was
 * read (zs_hierarchy_replace). */
static enum zs_status replace_axis(struct zs_hierarchy *hierarchy, const struct zs_slot *slot, zs_json *document,
                                   const zs_json *stored, const void *elements, const struct zs_node **out,
                                   struct zs_error *err)
{
    struct zs_node *made;
    ZS_TRY_MEMORY(document, err);
    ZS_TRY(zs_node_create(slot->path, document, true, &made, err));
    enum zs_status status = ZS_OK;
    if (slot->own == NULL && !zs_hierarchy_is_new(hierarchy))
        status = zs_contents_remove_left(zs_hierarchy_store(hierarchy), made, err);
    if (status == ZS_OK)
        status = zs_write_small_array(zs_hierarchy_store(hierarchy), made, true, elements, err);
    if (status != ZS_OK) {
        zs_node_free(made);
        return status;
    }
    ZS_TRY(zs_hierarchy_replace(hierarchy, made, stored, err));
    *out = made;
    return ZS_OK;
}

static enum zs_status write_values(struct zs_hierarchy *hierarchy, const struct zs_slot *found, const char *name,
                                   const double *values, uint64_t n, const struct zs_node **coordinate,
                                   struct zs_error *err)
{
    struct zs_slot slot = *found;
    float *narrow = NULL;
    zs_json *stored = NULL;
    enum zs_status status = ZS_UNSUPPORTED;
    const bool is_published = slot.own != NULL && !zs_hierarchy_is_unpublished(hierarchy, slot.own);
    if (is_published) /* whose keys are not those of the new chunks */
        ZS_TRY(zs_hierarchy_take_stored(hierarchy, &slot.own, &stored, err));
    if (slot.own != NULL && can_hold(slot.own, values, n, &narrow)) {
        const void *elements = narrow != NULL ? (const void *)narrow : values;
        *coordinate = slot.own;
        if (is_published)
            status = replace_axis(hierarchy, &slot, rekeyed_document(slot.own), stored, elements, coordinate, err);
        else
            status = zs_write_small_array(zs_hierarchy_store(hierarchy), slot.own, false, elements, err);
        free(narrow);
    }
    if (status != ZS_OK && status != ZS_IO && status != ZS_NO_SPACE && status != ZS_NO_MEMORY && status != ZS_CANCELLED)
        status = replace_axis(hierarchy, &slot, new_axis_document(&slot, name, n), stored, values, coordinate, err);
    zs_json_free(stored);
    return status;
}

/* Whether units are of another kind than the CRS, or, once its own, are not its own any more. */
static bool is_of_other_units(const struct zs_node *coordinate, const struct zs_georef_out *geo)
{
    bool is_degrees;
    zs_cf_axis(coordinate->attributes, &is_degrees);
    if (geo->srs == NULL)
        return is_degrees;
    if (!OSRIsDerivedGeographic(geo->srs) && OSRIsGeographic(geo->srs) != is_degrees)
        return true;
    return zs_coordinate_factor(coordinate, geo->srs) != 1 && zs_coordinate_factor(coordinate, geo->old_srs) == 1;
}

/* Units and names as the CRS has them; those that are not known any more go. */
static enum zs_status describe_axis(struct zs_hierarchy *hierarchy, const struct zs_node *coordinate,
                                    const struct zs_georef_out *geo, bool is_x, struct zs_error *err)
{
    zs_json *attributes;
    bool is_degrees;
    ZS_TRY(zs_hierarchy_edit(hierarchy, coordinate, &attributes, err));
    zs_cf_axis(attributes, &is_degrees);
    if (geo->srs != NULL || is_degrees) {
        zs_json_remove(attributes, "units");
        zs_json_remove(attributes, "standard_name");
    }
    return zs_write_coordinate(attributes, geo, is_x, err);
}

/* Whether an array is the coordinate variable of the dimension that is called as it is (CF 1.3). */
static bool is_coordinate(const struct zs_node *found, const char *name)
{
    const char *dimension = zs_dimension_name(found, 0);
    return found->array != NULL && found->array->ndim == 1 && dimension != NULL && strcmp(dimension, name) == 0;
}

/* Whether the coordinate variable `own` of dimension `dim` holds the values of the transform already. */
static enum zs_status matches_transform(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim,
                                        const struct zs_node *own, const struct zs_georef_out *geo, bool is_x,
                                        bool *is_match, struct zs_error *err)
{
    struct zs_regular_axis axis;
    *is_match = false;
    if (own == NULL || own != zs_coordinate_find(hierarchy, node, dim) || is_of_other_units(own, geo))
        return ZS_OK;
    ZS_TRY(zs_regular_axis_read(hierarchy, node, dim, &axis, err));
    const double factor = zs_coordinate_factor(own, geo->srs), step = geo->transform[is_x ? 1 : 5];
    const double first = geo->transform[is_x ? 0 : 3] + step / 2, n = (double)axis.size;
    *is_match = axis.found && fabs(axis.first * factor - first) <= ROUNDING * fabs(step) &&
                (axis.size == 1 || fabs(axis.step * factor - step) * n <= ROUNDING * fabs(step));
    return ZS_OK;
}

/* Writes the values: in the units of the variable, of which nothing else changes, or where these are
 * of another kind in the CRS's. */
static enum zs_status write_slot(struct zs_hierarchy *hierarchy, const struct zs_slot *slot, const char *name,
                                 const struct zs_georef_out *geo, bool is_x, struct zs_error *err)
{
    const struct zs_node *c = NULL;
    const uint64_t n = is_x ? geo->width : geo->height;
    const bool stays = slot->own != NULL && !is_of_other_units(slot->own, geo);
    const double factor = stays ? zs_coordinate_factor(slot->own, geo->srs) : 1;
    double *values = zs_axis_values(geo, is_x);
    ZS_TRY_MEMORY(values, err);
    for (uint64_t i = 0; i < n && factor != 1; i++)
        values[i] /= factor;
    const enum zs_status status = write_values(hierarchy, slot, name, values, n, &c, err);
    free(values);
    return status == ZS_OK && !stays ? describe_axis(hierarchy, c, geo, is_x, err) : status;
}

/* Gives a coordinate variable the units of a CRS that was set alone. Where arrays that do not follow use either, the
 * units of both stay: X in metres beside Y in degrees fits no CRS. */
static enum zs_status keep_axis(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim,
                                const struct zs_georef_out *geo, bool is_x, struct zs_error *err)
{
    const char *name = zs_dimension_name(node, dim);
    const struct zs_node *c = zs_is_inside_name(name) ? zs_sibling(hierarchy, node, name) : NULL;
    const bool is_shared = geo->is_shared[0] || geo->is_shared[1];
    if (c == NULL || geo->keeps_srs || is_shared || !is_coordinate(c, name) || !is_of_other_units(c, geo))
        return ZS_OK;
    return describe_axis(hierarchy, c, geo, is_x, err);
}

/* Whether values have to stay that differ from the transform: also where units would change that are of arrays which do
 * not follow, since units may imply their CRS. Then those of both axes stay: new ones of one beside old ones of the
 * other make no grid. */
static enum zs_status find_fixed(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                 const struct zs_georef_out *geo, bool *is_fixed, struct zs_error *err)
{
    *is_fixed = false;
    for (int i = 0; i < 2 && !*is_fixed && zs_has_axes(geo) && !geo->keeps_transform; i++) {
        const int dim = i == 0 ? axes.y : axes.x;
        const char *name = zs_dimension_name(node, dim);
        const struct zs_node *own = zs_is_inside_name(name) ? zs_sibling(hierarchy, node, name) : NULL;
        const bool has_own = own != NULL && is_coordinate(own, name);
        bool is_match = !geo->is_fixed[i] && !(geo->is_grid_shared && has_own && is_of_other_units(own, geo));
        if (!is_match && has_own)
            ZS_TRY(matches_transform(hierarchy, node, dim, own, geo, i == 1, &is_match, err));
        *is_fixed = !is_match; /* also where there is none: one that is made would hide that of a group above */
    }
    return ZS_OK;
}

/* Sets *is_current when the coordinate variable holds what it should, before or after writing. With is_fixed its values
 * stay. */
static enum zs_status write_axis(struct zs_hierarchy *hierarchy, const struct zs_node *node, int dim,
                                 const struct zs_georef_out *geo, bool is_x, bool drops, bool is_fixed,
                                 bool *is_current, struct zs_error *err)
{
    const char *name = zs_dimension_name(node, dim);
    const uint64_t n = is_x ? geo->width : geo->height;
    const bool wants = zs_has_axes(geo);
    struct zs_slot slot;
    bool is_match = false;
    *is_current = true;
    if (geo->keeps_transform)
        return keep_axis(hierarchy, node, dim, geo, is_x, err);
    if (!wants && (!zs_is_inside_name(name) || zs_sibling(hierarchy, node, name) == NULL))
        return ZS_OK;
    ZS_TRY(zs_slot_find(hierarchy, node, name, is_coordinate, &slot, err));
    if (slot.own != NULL && slot.own->array->shape[0] != n) /* of a dimension that has another length elsewhere */
        slot.is_usable = false;
    *is_current = slot.is_usable || !wants;
    enum zs_status status = ZS_OK;
    if (slot.is_usable && n > 0 && wants) {
        status = matches_transform(hierarchy, node, dim, slot.own, geo, is_x, &is_match, err);
        if (is_fixed)
            *is_current = is_match;
        else if (status == ZS_OK && !is_match)
            status = write_slot(hierarchy, &slot, name, geo, is_x, err);
    } else if (slot.is_usable && slot.own != NULL && (geo->has_transform || drops)) {
        if (!geo->is_shared[is_x])
            status = zs_hierarchy_remove(hierarchy, slot.path, err);
    } else {
        status = keep_axis(hierarchy, node, dim, geo, is_x, err);
    }
    free(slot.path);
    return status;
}

bool zs_cf_is_declared(struct zs_hierarchy *hierarchy, const struct zs_scope *scope, struct zs_axes axes,
                       const char **mapping_name)
{
    bool in_own_group;
    const struct zs_node *mapping = zs_grid_mapping_find(hierarchy, scope, &in_own_group);
    *mapping_name = mapping != NULL ? zs_path_name(mapping->path) : ZS_GRID_MAPPING;
    return mapping != NULL || (axes.y >= 0 && zs_coordinate_find(hierarchy, scope->node, axes.x) != NULL &&
                               zs_coordinate_find(hierarchy, scope->node, axes.y) != NULL);
}

enum zs_status zs_cf_write(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                           const char *mapping_name, bool drops, const struct zs_georef_out *geo, bool *has_all,
                           bool *has_mapping, struct zs_error *err)
{
    bool y_is_current, x_is_current, is_fixed;
    struct zs_georef_out of_mapping = *geo;
    ZS_TRY(find_fixed(hierarchy, node, axes, geo, &is_fixed, err));
    ZS_TRY(write_axis(hierarchy, node, axes.y, geo, false, drops, is_fixed, &y_is_current, err));
    ZS_TRY(write_axis(hierarchy, node, axes.x, geo, true, drops, is_fixed, &x_is_current, err));
    if (!zs_hierarchy_is_unpublished(hierarchy,
                                     node)) /* an upload that fails is a failure of this edit, not of the flush */
        ZS_TRY(zs_store_wait_commits(zs_hierarchy_store(hierarchy), err));
    /* rioxarray would take the size of pixels from a text, and their origin from coordinates that stay. */
    of_mapping.is_text_shared = geo->is_text_shared || is_fixed;
    ZS_TRY(zs_grid_mapping_write(hierarchy, node, mapping_name, &of_mapping, has_mapping, err));
    *has_all = y_is_current && x_is_current && *has_mapping;
    return ZS_OK;
}

/* ---- Checking ---- */

/* Coordinate variables are compared by their values, by who can read (validate/georef.c). */
static enum zs_status visit(struct zs_search *search, const struct zs_georef_visitor *visitor, struct zs_error *err)
{
    bool in_own_group;
    double given[6];
    const struct zs_node *mapping = zs_grid_mapping_find(search->hierarchy, &search->scope, &in_own_group);
    if (mapping == NULL)
        return ZS_OK;
    ZS_TRY(zs_grid_mapping_visit(mapping, visitor, err));
    if (in_own_group && zs_parse_geotransform(mapping->attributes, given))
        ZS_TRY(visitor->transform(visitor->context, mapping->path, "GeoTransform", given, err));
    return ZS_OK;
}

static const char *const owned[] = {"grid_mapping", "coordinates", "_FillValue",  "missing_value", "scale_factor",
                                    "add_offset",   "units",       "flag_values", "flag_meanings",
                                    "ancillary_variables", ZS_UNSIGNED_ATTRIBUTE, NULL};
static const char *const georef_members[] = {"grid_mapping", NULL};
static const char *const spell_checked[] = {
    "grid_mapping", "coordinates",   "_FillValue",  "missing_value", "scale_factor",
    "add_offset",   "standard_name", "long_name",   "flag_values",   "flag_meanings",
    "flag_masks",   "crs_wkt",       "spatial_ref", "GeoTransform",  NULL};

const struct zs_convention zs_cf = {
    .uuid = "77c308c7-4db2-4774-8b2d-aa37e9997db6",
    .name = "CF",
    .owned = owned,
    .georef_members = georef_members,
    .spell_checked = spell_checked,
    .find_transform = find_transform,
    .find_crs = find_crs,
    .find_healpix = zs_cf_find_healpix,
    .visit = visit,
};
