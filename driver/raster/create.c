#include "raster/create.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "geo/bands.h"
#include "geo/cf.h"
#include "geo/conventions.h"
#include "geo/georef.h"
#include "geo/variables.h"
#include "raster/masks.h"
#include "zarr/contents.h"

struct zs_raster {
    struct zs_hierarchy *hierarchy; /* borrowed, like the next */
    const struct zs_raster_spec *spec;
    char *group;
    struct zs_band_array *arrays; /* each of as many bands */
    const struct zs_node **nodes; /* of these, and of the mask */
    struct zs_band_array mask;    /* array is NULL where there is none */
    struct zs_healpix_map map;    /* of HEALPix cells */
};

/* Adds the node of a document (taken over) to the group; "" is the group itself. */
static enum zs_status add_document(struct zs_raster *r, const char *name, zs_json *json, const struct zs_node **node,
                                   struct zs_error *err)
{
    char *path = zs_path_join(r->group, name);
    if (path == NULL) {
        zs_json_free(json);
        return zs_fail_memory(err);
    }
    const enum zs_status status = zs_add_document(r->hierarchy, path, json, node, err);
    free(path);
    return status;
}

static enum zs_status open_array(struct zs_raster *r, const struct zs_node *node,
                                 const struct zs_array_options *options, int chunk_order, struct zs_array **array,
                                 struct zs_error *err)
{
    struct zs_store *store = zs_hierarchy_store(r->hierarchy);
    ZS_TRY(zs_array_open_in(store, node, options, array, err));
    zs_array_set_new(*array, chunk_order);
    return ZS_OK;
}

/* ---- Georeferencing ---- */

/* Where a raster lies. Borrows from the spec. */
static struct zs_georef_out georef_of(const struct zs_raster_spec *spec)
{
    struct zs_georef_out geo = {.has_transform = spec->transform != NULL,
                                .pixel_is_point = spec->pixel_is_point,
                                .srs = spec->srs,
                                .width = spec->width,
                                .height = spec->height,
                                .dim_x = spec->dim_x,
                                .dim_y = spec->dim_y};
    if (spec->transform != NULL)
        memcpy(geo.transform, spec->transform, sizeof geo.transform);
    return geo;
}

/* The coordinate variables of the extra dimensions. */
static enum zs_status add_coordinates(struct zs_raster *r, struct zs_error *err)
{
    for (int i = 0; i < r->spec->axis_count; i++) {
        const struct zs_extra_axis *axis = &r->spec->axes[i];
        const struct zs_node *node;
        zs_json *attributes;
        if (axis->elements == NULL)
            continue;
        zs_json *document =
            zs_small_array_document(axis->name, axis->type, axis->size, r->spec->encoding.chunk_checksum, false);
        ZS_TRY(add_document(r, axis->name, document, &node, err));
        ZS_TRY(zs_write_small_array(zs_hierarchy_store(r->hierarchy), node, true, axis->elements, err));
        ZS_TRY(zs_hierarchy_edit(r->hierarchy, node, &attributes, err));
        ZS_TRY(zs_write_extra_axis(attributes, axis, err));
    }
    return ZS_OK;
}

/* Georeferences the arrays of pixels and the mask; with the first one, what is beside them. */
static enum zs_status write_georef(struct zs_raster *r, struct zs_error *err)
{
    const struct zs_raster_spec *spec = r->spec;
    const struct zs_georef_out geo = georef_of(spec);
    const struct zs_georef_conventions conventions = {.spatial_proj = spec->style != ZS_GEOREF_CF,
                                                      .cf = spec->style != ZS_GEOREF_SPATIAL_PROJ,
                                                      .mapping_name = ZS_GRID_MAPPING};
    struct zs_georef_shared shared = {.is_written = false};
    const size_t count = spec->array_count + (spec->mask != NULL ? 1 : 0);
    for (size_t i = 0; i < count && (geo.has_transform || geo.srs != NULL); i++) {
        const bool is_mask = i == spec->array_count;
        const struct zs_axes axes = is_mask ? (struct zs_axes){.x = 1, .y = 0} : zs_raster_axes(spec);
        ZS_TRY(zs_georef_write(r->hierarchy, r->nodes[i], axes, &conventions, &geo, &shared, err));
    }
    return ZS_OK;
}

/* ---- Arrays of pixels ---- */

static enum zs_status write_array_attributes(zs_json *attributes, const struct zs_raster_spec *spec,
                                             const struct zs_raster_array_spec *array, struct zs_error *err)
{
    if (spec->mask != NULL && !zs_mask_name(attributes, spec->mask))
        return zs_fail_memory(err);
    ZS_TRY(zs_write_nodata(attributes, &spec->dtype, spec->has_nodata ? spec->nodata : NULL, spec->nodata_is_implied,
                           err));
    /* Properties of bands go before items of the whole. */
    ZS_TRY(zs_bands_write(attributes, &spec->dtype, NULL, array->bands, array->band_count, ZS_BAND_ALL, err));
    ZS_TRY(zs_write_band_properties(attributes, &spec->whole, ZS_BAND_METADATA, err));
    return zs_gcps_write(attributes, &spec->gcps, err);
}

/* Everything of the raster's arrays but their attributes. */
static struct zs_array_spec array_spec(const struct zs_raster_spec *spec)
{
    const struct zs_axes axes = zs_raster_axes(spec);
    struct zs_array_spec a = {.ndim = zs_raster_ndim(spec),
                              .is_sharded = true,
                              .dtype = spec->dtype,
                              .encoding = spec->encoding};
    memcpy(a.chunk_shape, spec->chunk, sizeof a.chunk_shape);
    memcpy(a.shard_shape, spec->shard, sizeof a.shard_shape);
    memcpy(a.fill_value, spec->nodata, sizeof a.fill_value);
    for (int d = 0; d < spec->axis_count; d++) {
        a.shape[d] = spec->axes[d].size;
        a.dimension_names[d] = spec->axes[d].name;
    }
    a.shape[axes.x] = spec->healpix != NULL ? zs_healpix_cells_of(spec->healpix->order) : spec->width;
    a.dimension_names[axes.x] = spec->dim_x;
    if (axes.y >= 0) {
        a.shape[axes.y] = spec->height;
        a.dimension_names[axes.y] = spec->dim_y;
    }
    return a;
}

static enum zs_status add_pixels(struct zs_raster *r, const struct zs_array_options *options, struct zs_error *err)
{
    const struct zs_raster_spec *spec = r->spec;
    const struct zs_array_spec a = array_spec(spec);
    zs_json *attributes;
    for (size_t k = 0; k < spec->array_count; k++) {
        struct zs_band_array *array = &r->arrays[k];
        ZS_TRY(add_document(r, spec->arrays[k].name, zs_array_document(&a), &r->nodes[k], err));
        ZS_TRY(zs_hierarchy_edit(r->hierarchy, r->nodes[k], &attributes, err));
        ZS_TRY(write_array_attributes(attributes, spec, &spec->arrays[k], err));
        ZS_TRY(zs_slices_find(a.ndim, a.shape, zs_raster_axes(spec), NULL, 0, &array->slices, err));
        array->first = k * array->slices.count;
        array->cells = spec->healpix != NULL ? &r->map : NULL;
        ZS_TRY(open_array(r, r->nodes[k], options, spec->chunk_order, &array->array, err));
    }
    return ZS_OK;
}

static enum zs_status add_mask(struct zs_raster *r, const struct zs_array_options *options, struct zs_error *err)
{
    const struct zs_raster_spec *spec = r->spec;
    const uint64_t shape[2] = {spec->height, spec->width};
    const struct zs_array_spec like = array_spec(spec);
    const struct zs_node **node = &r->nodes[spec->array_count];
    zs_json *json = NULL;
    ZS_TRY(zs_mask_document(&like, zs_raster_axes(spec), r->nodes[0]->attributes, &json, err));
    ZS_TRY(add_document(r, spec->mask, json, node, err));
    ZS_TRY(zs_slices_find(2, shape, (struct zs_axes){.x = 1, .y = 0}, NULL, 0, &r->mask.slices, err));
    return open_array(r, *node, options, spec->chunk_order, &r->mask.array, err);
}

/* ---- HEALPix cells ---- */

#define NUMBERS_AT_ONCE ((uint64_t)1 << 16)

static enum zs_status write_numbers(struct zs_array *array, uint64_t count, struct zs_error *err)
{
    uint64_t *numbers = zs_calloc(NUMBERS_AT_ONCE, sizeof *numbers);
    enum zs_status status = numbers != NULL ? ZS_OK : zs_fail_memory(err);
    for (uint64_t first = 0; first < count && status == ZS_OK; first += NUMBERS_AT_ONCE) {
        struct zs_window w = {.start = {first}, .data = numbers, .stride = {sizeof *numbers}};
        w.count[0] = zs_min_u64(NUMBERS_AT_ONCE, count - first);
        for (uint64_t i = 0; i < w.count[0]; i++)
            numbers[i] = first + i;
        status = zs_array_write_windows(array, &w, 1, sizeof *numbers, NULL, NULL, err);
    }
    free(numbers);
    return status == ZS_OK ? zs_array_flush(array, err) : status;
}

/* The coordinate of cells, which coarse orders have. */
static enum zs_status add_cell_coordinate(struct zs_raster *r, struct zs_error *err)
{
    const struct zs_raster_spec *spec = r->spec;
    const uint64_t count = zs_healpix_cells_of(spec->healpix->order);
    struct zs_array_spec a = {.ndim = 1,
                              .shape = {count},
                              .chunk_shape = {zs_min_u64(NUMBERS_AT_ONCE, count)},
                              .dtype = zs_dtype_of(ZS_UINT64),
                              .encoding = spec->encoding,
                              .dimension_names = {spec->dim_x}};
    const struct zs_node *node;
    struct zs_array *array = NULL;
    const struct zs_array_options options = {.threads = 1};
    const uint64_t none = UINT64_MAX; /* 0 is a cell */
    memcpy(a.fill_value, &none, sizeof none);
    a.encoding.keepbits = 0;
    a.encoding.blosc_shuffle = "bitshuffle";
    ZS_TRY(add_document(r, ZS_CELL_COORDINATE, zs_array_document(&a), &node, err));
    ZS_TRY(open_array(r, node, &options, 0, &array, err));
    const enum zs_status status = write_numbers(array, count, err);
    zs_array_close(array);
    return status;
}

static bool has_cell_coordinate(const struct zs_raster_spec *spec)
{
    return spec->healpix != NULL && zs_healpix_cells_of(spec->healpix->order) <= ZS_CELL_COORDINATE_MOST;
}

/* ---- The whole ---- */

/* Lists the arrays in the order of their bands: the group opens as the raster that it was (raster/listing.h). */
static enum zs_status list_bands(zs_json *attributes, const struct zs_raster_spec *spec, struct zs_error *err)
{
    zs_json *list = spec->array_count > 1 ? zs_json_add_array(attributes, ZS_BANDS_ATTRIBUTE) : NULL;
    for (size_t k = 0; k < spec->array_count && spec->array_count > 1; k++)
        if (zs_json_add_string(zs_json_add_object(list, NULL), "name", spec->arrays[k].name) == NULL)
            return zs_fail_memory(err);
    return ZS_OK;
}

static enum zs_status add_group(struct zs_raster *r, struct zs_error *err)
{
    const struct zs_raster_spec *spec = r->spec;
    const struct zs_georef_out geo = georef_of(spec);
    const struct zs_node *group;
    zs_json *attributes;
    ZS_TRY(add_document(r, "", zs_group_document(), &group, err));
    ZS_TRY(zs_hierarchy_edit(r->hierarchy, group, &attributes, err));
    if (spec->healpix != NULL)
        ZS_TRY(zs_write_dggs(attributes, spec->healpix, spec->dim_x,
                             has_cell_coordinate(spec) ? ZS_CELL_COORDINATE : NULL, err));
    ZS_TRY(list_bands(attributes, spec, err));
    if (spec->style == ZS_GEOREF_CF || (!geo.has_transform && geo.srs == NULL))
        return ZS_OK;
    return zs_write_spatial_proj(attributes, &geo, err);
}

static enum zs_status set_up(struct zs_raster *r, const struct zs_array_options *options, struct zs_error *err)
{
    r->arrays = zs_calloc(r->spec->array_count, sizeof *r->arrays);
    r->nodes = zs_calloc(r->spec->array_count + 1, sizeof(struct zs_node *));
    if (r->arrays == NULL || r->nodes == NULL || r->group == NULL)
        return zs_fail_memory(err);
    if (r->spec->healpix != NULL)
        r->map = (struct zs_healpix_map){.order = r->spec->healpix->order, .shown = ZS_HEALPIX_SPHERE};
    ZS_TRY(add_group(r, err)); /* first: nothing can be added below what is not there */
    ZS_TRY(add_pixels(r, options, err));
    return r->spec->mask != NULL ? add_mask(r, options, err) : ZS_OK;
}

/* ---- Room in a store that is there ---- */

/* In the store, whatever consolidated metadata list. */
static enum zs_status check_absent(struct zs_hierarchy *hierarchy, const char *group, struct zs_error *err)
{
    const struct zs_node *node;
    ZS_TRY(zs_hierarchy_occupant(hierarchy, group, &node, err));
    if (node == NULL)
        return ZS_OK;
    return zs_fail(err, ZS_ARGUMENT, "%s: there is a /%s already; choose another ARRAY_NAME",
                   zs_hierarchy_store(hierarchy)->root, group);
}

/* A group below an array is no node of Zarr: other readers do not find it, and its name may be that of chunks. */
static enum zs_status check_root_is_group(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    const struct zs_node *root;
    ZS_TRY(zs_hierarchy_node(hierarchy, "", &root, err));
    if (root->type == ZS_NODE_ARRAY)
        return zs_fail(err, ZS_ARGUMENT,
                       "%s: expected a group as the root of a store that gets another array, found an array",
                       zs_hierarchy_store(hierarchy)->root);
    return ZS_OK;
}

enum zs_status zs_raster_make_room(struct zs_hierarchy *hierarchy, const char *group, struct zs_error *err)
{
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    ZS_TRY(check_root_is_group(hierarchy, err));
    ZS_TRY(check_absent(hierarchy, group, err));
    /* what a killed process left would show through; or nothing lists arrays there */
    return zs_contents_remove_left(zs_hierarchy_store(hierarchy), group, err);
}

enum zs_status zs_raster_create(struct zs_hierarchy *hierarchy, const char *group, const struct zs_raster_spec *spec,
                                const struct zs_array_options *options, struct zs_raster **raster, struct zs_error *err)
{
    struct zs_raster *r = zs_calloc(1, sizeof *r);
    ZS_TRY_MEMORY(r, err);
    r->hierarchy = hierarchy;
    r->spec = spec;
    r->group = zs_strdup(group);
    const enum zs_status status = set_up(r, options, err);
    if (status != ZS_OK) {
        zs_raster_free(r);
        return status;
    }
    *raster = r;
    return ZS_OK;
}

struct zs_bands zs_raster_bands(const struct zs_raster *r)
{
    return (struct zs_bands){r->arrays, r->spec->array_count};
}

struct zs_bands zs_raster_mask(const struct zs_raster *r)
{
    return (struct zs_bands){&r->mask, 1};
}

enum zs_status zs_raster_flush(struct zs_raster *r, struct zs_error *err)
{
    if (r->mask.array != NULL)
        ZS_TRY(zs_array_flush(r->mask.array, err));
    for (size_t k = 0; k < r->spec->array_count; k++)
        ZS_TRY(zs_array_flush(r->arrays[k].array, err));
    return ZS_OK;
}

enum zs_status zs_raster_publish(struct zs_raster *r, struct zs_error *err)
{
    ZS_TRY(zs_raster_flush(r, err));
    ZS_TRY(add_coordinates(r, err));
    if (has_cell_coordinate(r->spec))
        ZS_TRY(add_cell_coordinate(r, err));
    ZS_TRY(write_georef(r, err));
    if (r->group[0] == '\0' && !r->spec->is_not_consolidated)
        ZS_TRY(zs_root_consolidate(r->hierarchy, err));
    return zs_hierarchy_flush(r->hierarchy, err);
}

void zs_raster_free(struct zs_raster *r)
{
    if (r == NULL)
        return;
    for (size_t k = 0; k < r->spec->array_count && r->arrays != NULL; k++)
        zs_array_close(r->arrays[k].array);
    zs_array_close(r->mask.array);
    free(r->arrays);
    free(r->nodes);
    free(r->group);
    free(r);
}
