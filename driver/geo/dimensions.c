#include "geo/attributes.h"

#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "base/checked.h"
#include "base/memory.h"
#include "geo/cf_time.h"
#include "geo/conventions.h"
#include "geo/variables.h"
#include "zarr/name.h"

/* ---- Sizes and names ---- */

static enum zs_status sizes_and_names(const struct zs_node *node, struct zs_dimension *dims, int *count,
                                      struct zs_error *err)
{
    uint64_t own[ZS_MAX_NDIM], all;
    const uint64_t *sizes = node->array != NULL ? node->array->shape : own;
    memset(dims, 0, ZS_MAX_NDIM * sizeof *dims);
    if (node->array == NULL && !node->is_text)
        return zs_fail(err, ZS_INVALID, "%s: expected an array that can be read", node->key);
    if (node->array == NULL)
        ZS_TRY(zs_strings_shape(node, count, own, err));
    else
        *count = node->array->ndim;
    if (!zs_product_u64(sizes, *count, &all))
        return zs_fail(err, ZS_INVALID, "%s: shape: expected sizes whose product fits 64 bits", node->key);
    for (int d = 0; d < *count; d++)
        dims[d] = (struct zs_dimension){.name = zs_dimension_name(node, d), .size = sizes[d]};
    return ZS_OK;
}

/* ---- Kinds ---- */

static bool is_temporal(const struct zs_node *variable, const char *axis, const char *standard_name)
{
    struct zs_time_unit unit;
    return strcmp(axis, "T") == 0 || strcmp(standard_name, "time") == 0 ||
           (variable->array != NULL && zs_time_unit_find(&variable->array->dtype, variable->attributes, &unit));
}

/* CF 4.3: an axis is vertical if it declares so, has a direction, or has a quantity that is measured upwards. */
static bool is_vertical(const char *axis, const char *standard_name, const char *positive)
{
    static const char *const names[] = {"height", "altitude", "depth", "air_pressure", "model_level_number", NULL};
    return strcmp(axis, "Z") == 0 || positive[0] != '\0' || zs_is_one_of(standard_name, names);
}

static void find_kind(struct zs_dimension *dim)
{
    const zs_json *a = dim->variable != NULL ? dim->variable->attributes : NULL;
    const char *axis = zs_json_text(a, "axis", "");
    const char *standard_name = zs_json_text(a, "standard_name", "");
    const char *positive = zs_json_text(a, "positive", "");
    const char declared = zs_cf_axis(a, NULL), named = zs_name_axis(dim->name);
    dim->type = dim->direction = "";
    if (declared != 0) {
        dim->type = declared == 'X' ? "HORIZONTAL_X" : "HORIZONTAL_Y";
        dim->direction = declared == 'X' ? "EAST" : "NORTH";
    } else if (dim->variable != NULL && is_temporal(dim->variable, axis, standard_name)) {
        dim->type = "TEMPORAL";
        dim->direction = "FUTURE";
    } else if (dim->variable != NULL && is_vertical(axis, standard_name, positive)) {
        dim->type = "VERTICAL";
        dim->direction = strcmp(positive, "up") == 0 ? "UP" : strcmp(positive, "down") == 0 ? "DOWN" : "";
    } else if (named != 0) {
        dim->type = named == 'X' ? "HORIZONTAL_X" : "HORIZONTAL_Y";
    }
}

enum zs_status zs_dimensions_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_dimension *dims,
                                  int *count, struct zs_error *err)
{
    ZS_TRY(sizes_and_names(node, dims, count, err));
    const size_t failures = zs_hierarchy_failures(hierarchy);
    for (int d = 0; d < *count; d++) {
        dims[d].variable = zs_dimension_variable(hierarchy, node, dims[d].name, dims[d].size);
        find_kind(&dims[d]);
    }
    return zs_hierarchy_check_since(hierarchy, failures, err);
}

enum zs_status zs_dimension_describe(struct zs_hierarchy *hierarchy, const struct zs_node *variable, const char *type,
                                     struct zs_error *err)
{
    static const char *const axes[][2] = {
        {"HORIZONTAL_X", "X"}, {"HORIZONTAL_Y", "Y"}, {"VERTICAL", "Z"}, {"TEMPORAL", "T"}};
    struct zs_dimension dim = {.name = zs_path_name(variable->path), .variable = variable};
    size_t i = 0;
    zs_json *attributes;
    find_kind(&dim);
    while (i < sizeof axes / sizeof axes[0] && strcmp(type, axes[i][0]) != 0)
        i++;
    if (i == sizeof axes / sizeof axes[0] || strcmp(type, dim.type) == 0 ||
        zs_json_get(variable->attributes, "axis") != NULL)
        return ZS_OK;
    ZS_TRY(zs_hierarchy_edit(hierarchy, variable, &attributes, err));
    return zs_json_add_string(attributes, "axis", axes[i][1]) != NULL ? ZS_OK : zs_fail_memory(err);
}

/* ---- Names ---- */

/* The list with one name replaced; NULL without memory. */
static zs_json *renamed_list(const zs_json *list, const char *from, const char *to)
{
    zs_json *out = zs_json_new_array();
    for (const zs_json *item = zs_json_first(list); item != NULL && out != NULL; item = zs_json_next(item)) {
        const zs_json *added = zs_json_equals(item, from) ? zs_json_add_string(out, NULL, to)
                                                          : zs_json_add(out, NULL, zs_json_copy(item));
        if (added == NULL) {
            zs_json_free(out);
            out = NULL;
        }
    }
    return out;
}

enum zs_status zs_dimension_rename_attributes(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                              const char *from, const char *to, struct zs_error *err)
{
    static const char *const lists[] = {ZS_ARRAY_DIMENSIONS, zs_spatial_dimensions};
    zs_json *attributes;
    ZS_TRY(zs_hierarchy_edit(hierarchy, node, &attributes, err));
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const zs_json *list = zs_json_get(attributes, lists[i]);
        if (zs_json_is_array(list) && zs_json_set(attributes, lists[i], renamed_list(list, from, to)) == NULL)
            return zs_fail_memory(err);
    }
    return ZS_OK;
}

/* ---- The CRS of an array, as far as it is not that of a raster ---- */

static bool has_crs(const struct zs_node *mapping, OGRSpatialReferenceH srs)
{
    OGRSpatialReferenceH own = zs_crs_from_grid_mapping(mapping->attributes, NULL, NULL);
    const bool is_same = zs_crs_is_same(own, srs);
    if (own != NULL)
        OSRRelease(own);
    return is_same;
}

/* Whether a new array may name the grid mapping of this driver's name beside it: that has its CRS, or is not there, and
 * when it is made hides none of a group above. One that arrays have without naming it stays theirs. */
static bool is_usable(struct zs_hierarchy *hierarchy, const struct zs_node *node, OGRSpatialReferenceH srs)
{
    const struct zs_node *own = zs_sibling(hierarchy, node, ZS_GRID_MAPPING);
    if (own != NULL)
        return has_crs(own, srs) &&
               (zs_hierarchy_is_new(hierarchy) || zs_default_mapping_find(hierarchy, node) == NULL);
    return zs_array_beside(hierarchy, node, ZS_GRID_MAPPING, true) == NULL;
}

OGRSpatialReferenceH zs_array_crs_read(struct zs_hierarchy *hierarchy, const struct zs_node *node)
{
    OGRSpatialReferenceH own = zs_proj_crs(node->attributes);
    const char *named = zs_grid_mapping_name(node->attributes);
    const struct zs_node *mapping = NULL;
    struct zs_scope scope;
    if (named != NULL && own == NULL) {
        zs_scope_find(hierarchy, node, &scope);
        mapping = zs_grid_mapping_find(hierarchy, &scope);
    }
    return mapping != NULL ? zs_crs_from_grid_mapping(mapping->attributes, NULL, NULL) : own;
}

enum zs_status zs_array_crs_write(struct zs_hierarchy *hierarchy, const struct zs_node *node, OGRSpatialReferenceH srs,
                                  bool is_new, struct zs_error *err)
{
    const char *named = zs_grid_mapping_name(node->attributes);
    bool is_current = true;
    zs_json *attributes;
    if (!is_new && srs == NULL && named != NULL)
        return zs_fail(err, ZS_UNSUPPORTED, "array /%s: its CRS is that of the grid mapping %s, which stays",
                       node->path, named);
    bool is_named = is_new && srs != NULL && is_usable(hierarchy, node, srs);
    if (is_named)
        ZS_TRY(zs_grid_mapping_write(hierarchy, node, ZS_GRID_MAPPING, &(struct zs_georef_out){.srs = srs}, &is_current,
                                     err));
    is_named = is_named && is_current;
    ZS_TRY(zs_hierarchy_edit(hierarchy, node, &attributes, err));
    if (!zs_proj_write(attributes, is_named ? NULL : srs))
        return zs_fail_memory(err);
    return is_named ? zs_write_grid_mapping_name(attributes, ZS_GRID_MAPPING, ZS_MAPPING_NAMED, err) : ZS_OK;
}
