#include "raster/create.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "geo/bands.h"
#include "geo/conventions.h"
#include "geo/georef.h"
#include "geo/variables.h"

struct new_raster {
    struct zs_hierarchy *hierarchy;
    const struct zs_raster_spec *spec;
    const char *group;
    const struct zs_node **nodes; /* of the arrays of pixels */
};

/* ---- Georeferencing ---- */

/* The coordinate variables of the extra dimensions. */
static enum zs_status add_coordinates(const struct new_raster *r, struct zs_error *err)
{
    for (int i = 0; i < r->spec->axis_count; i++) {
        const struct zs_extra_axis *axis = &r->spec->axes[i];
        const struct zs_node *node;
        zs_json *attributes;
        if (axis->elements == NULL)
            continue;
        zs_json *document =
            zs_small_array_document(axis->name, axis->type, axis->size, r->spec->encoding.chunk_checksum, false);
        ZS_TRY(zs_node_make(r->hierarchy, r->group, axis->name, document, &node, err));
        ZS_TRY(zs_write_small_array(zs_hierarchy_store(r->hierarchy), node, true, axis->elements, err));
        ZS_TRY(zs_hierarchy_edit(r->hierarchy, node, &attributes, err));
        ZS_TRY(zs_write_extra_axis(attributes, axis, err));
    }
    return ZS_OK;
}

/* Georeferences the group and the arrays of pixels; with the first one, what is beside them. */
static enum zs_status write_georef(const struct new_raster *r, const struct zs_node *group, struct zs_error *err)
{
    const struct zs_raster_spec *spec = r->spec;
    const struct zs_axes axes = zs_raster_axes(spec);
    const struct zs_georef_conventions conventions = zs_georef_conventions_of(spec->style);
    struct zs_georef_shared shared = {.is_written = false};
    zs_json *attributes;
    if (!spec->georef.has_transform && spec->georef.srs == NULL)
        return ZS_OK;
    const struct zs_georef_out geo = zs_georef_out_make(r->nodes[0], axes, &spec->georef);
    if (conventions.spatial_proj) {
        ZS_TRY(zs_hierarchy_edit(r->hierarchy, group, &attributes, err));
        ZS_TRY(zs_write_spatial_proj(attributes, &geo, err));
    }
    for (size_t i = 0; i < spec->array_count; i++)
        ZS_TRY(zs_georef_write(r->hierarchy, r->nodes[i], axes, &conventions, &geo, &shared, err));
    return ZS_OK;
}

/* ---- Arrays of pixels ---- */

static enum zs_status write_array_attributes(zs_json *attributes, const struct zs_array_meta *meta,
                                             const struct zs_raster_spec *spec,
                                             const struct zs_raster_array_spec *array, struct zs_error *err)
{
    ZS_TRY(zs_write_nodata(attributes, &spec->dtype, spec->has_nodata ? spec->nodata : NULL, spec->nodata_is_implied,
                           err));
    /* Properties of bands go before items of the whole. */
    ZS_TRY(zs_bands_write(attributes, meta, array->bands, array->band_count, ZS_BAND_ALL & ~(unsigned)ZS_BAND_NODATA,
                          err));
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

static enum zs_status add_pixels(const struct new_raster *r, struct zs_error *err)
{
    const struct zs_raster_spec *spec = r->spec;
    const struct zs_array_spec a = array_spec(spec);
    zs_json *attributes;
    for (size_t k = 0; k < spec->array_count; k++) {
        ZS_TRY(zs_node_make(r->hierarchy, r->group, spec->arrays[k].name, zs_array_document(&a), &r->nodes[k], err));
        ZS_TRY(zs_hierarchy_edit(r->hierarchy, r->nodes[k], &attributes, err));
        ZS_TRY(write_array_attributes(attributes, r->nodes[k]->array, spec, &spec->arrays[k], err));
    }
    return ZS_OK;
}

/* ---- HEALPix cells ---- */

#define NUMBERS_IN_CHUNK ((uint64_t)1 << 16)

/* The coordinate of cells, which coarse orders have. */
static enum zs_status add_cell_coordinate(const struct new_raster *r, struct zs_error *err)
{
    const struct zs_raster_spec *spec = r->spec;
    const uint64_t count = zs_healpix_cells_of(spec->healpix->order);
    struct zs_array_spec a = {.ndim = 1,
                              .shape = {count},
                              .chunk_shape = {zs_min_u64(NUMBERS_IN_CHUNK, count)},
                              .dtype = zs_dtype_of(ZS_UINT64),
                              .encoding = spec->encoding,
                              .dimension_names = {spec->dim_x}};
    const struct zs_node *node;
    const uint64_t none = UINT64_MAX; /* 0 is a cell */
    memcpy(a.fill_value, &none, sizeof none);
    a.encoding.keepbits = 0;
    a.encoding.blosc_shuffle = "bitshuffle";
    ZS_TRY(zs_node_make(r->hierarchy, r->group, ZS_CELL_COORDINATE, zs_array_document(&a), &node, err));
    uint64_t *numbers = zs_calloc(count, sizeof *numbers);
    ZS_TRY_MEMORY(numbers, err);
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = i;
    const enum zs_status status = zs_write_small_array(zs_hierarchy_store(r->hierarchy), node, true, numbers, err);
    free(numbers);
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

/* Makes the root of a new store, or a group in that of one that is there. */
static enum zs_status make_group(const struct new_raster *r, const struct zs_node **group, struct zs_error *err)
{
    const struct zs_node *root;
    if (r->group[0] == '\0')
        return zs_add_document(r->hierarchy, "", zs_group_document(), group, err);
    ZS_TRY(zs_hierarchy_node(r->hierarchy, "", &root, err));
    if (root->type == ZS_NODE_ARRAY) /* below it is no node of Zarr, and the name may be that of chunks */
        return zs_fail(err, ZS_ARGUMENT,
                       "%s: expected a group as the root of a store that gets another array, found an array",
                       zs_hierarchy_store(r->hierarchy)->root);
    return zs_node_make(r->hierarchy, "", r->group, zs_group_document(), group, err);
}

static enum zs_status add_group(const struct new_raster *r, const struct zs_node **group, struct zs_error *err)
{
    const struct zs_raster_spec *spec = r->spec;
    zs_json *attributes;
    ZS_TRY(make_group(r, group, err));
    ZS_TRY(zs_hierarchy_edit(r->hierarchy, *group, &attributes, err));
    if (spec->healpix != NULL)
        ZS_TRY(zs_write_dggs(attributes, spec->healpix, spec->dim_x,
                             has_cell_coordinate(spec) ? ZS_CELL_COORDINATE : NULL, err));
    return list_bands(attributes, spec, err);
}

static enum zs_status add_all(const struct new_raster *r, struct zs_error *err)
{
    const struct zs_node *group;
    ZS_TRY(add_group(r, &group, err)); /* first: nothing can be added below what is not there */
    ZS_TRY(add_pixels(r, err));
    ZS_TRY(add_coordinates(r, err));
    if (has_cell_coordinate(r->spec))
        ZS_TRY(add_cell_coordinate(r, err));
    ZS_TRY(write_georef(r, group, err));
    return r->group[0] == '\0' && !r->spec->is_not_consolidated ? zs_root_consolidate(r->hierarchy, err) : ZS_OK;
}

enum zs_status zs_raster_create(struct zs_hierarchy *hierarchy, const char *group, const struct zs_raster_spec *spec,
                                struct zs_error *err)
{
    const struct zs_node **nodes = zs_calloc(spec->array_count, sizeof(struct zs_node *));
    ZS_TRY_MEMORY(nodes, err);
    const struct new_raster raster = {.hierarchy = hierarchy, .spec = spec, .group = group, .nodes = nodes};
    const enum zs_status status = add_all(&raster, err);
    free(nodes);
    return status;
}
