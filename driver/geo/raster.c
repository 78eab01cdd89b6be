#include "geo/raster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

/* A document to be published at `path`. */
struct document {
    char *path;
    zs_json *json;
    struct zs_node *node; /* of arrays */
};

struct level {
    char *group; /* relative to the raster's: "", "ovr_2x" */
    uint64_t width, height;
    double transform[6];
    struct zs_array **arrays;
};

struct zs_raster {
    struct zs_store *store;
    char *group;
    const struct zs_raster_spec *spec; /* borrowed until the raster is freed */
    zs_json *root;                     /* the group's own document */
    struct document *documents;        /* all but root, paths relative to the group */
    size_t count;
    struct level *levels;
    size_t level_count;
    size_t array_count;
};

/* ---- Documents ---- */

/* "a/b", or just one of them when the other is empty. NULL without memory. */
static char *join(const char *a, const char *b)
{
    return zs_format("%s%s%s", a, a[0] != '\0' && b[0] != '\0' ? "/" : "", b);
}

/* Keeps a document (taken over) for publication. */
static enum zs_status add_document(struct zs_raster *r, const char *group, const char *name, zs_json *json,
                                   struct document **out, struct zs_error *err)
{
    struct document *grown = realloc(r->documents, (r->count + 1) * sizeof *grown);
    char *path = join(group, name);
    if (grown != NULL)
        r->documents = grown;
    if (grown == NULL || path == NULL || json == NULL) {
        free(path);
        zs_json_free(json);
        return zs_fail(err, ZS_NO_MEMORY, "cannot build the metadata of %s", name);
    }
    r->documents[r->count] = (struct document){.path = path, .json = json};
    if (out != NULL)
        *out = &r->documents[r->count];
    r->count++;
    return ZS_OK;
}

static enum zs_status open_array(struct zs_raster *r, struct document *d, const struct zs_array_options *options,
                                 int chunk_order, struct zs_array **array, struct zs_error *err)
{
    char *full = join(r->group, d->path);
    if (full == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    enum zs_status status = zs_node_create(full, d->json, false, &d->node, err);
    free(full);
    if (status == ZS_OK)
        status = zs_array_open_in(r->store, d->node, options, array, err);
    if (status == ZS_OK)
        zs_array_set_new(*array, chunk_order);
    return status;
}

/* A small array whose values are at hand: a coordinate variable. `count` 0 makes it 0-d, holding its fill value. */
static enum zs_status add_small_array(struct zs_raster *r, const char *group, const char *name, enum zs_data_type type,
                                      const void *values, uint64_t count, zs_json **attributes, struct zs_error *err)
{
    struct zs_array_spec spec = {.ndim = count > 0 ? 1 : 0, .shape = {count}, .chunk_shape = {count}, .dtype = zs_dtype_of(type)};
    spec.dimension_names[0] = name;
    if (type == ZS_FLOAT64) {
        const double nan_value = NAN; /* a coordinate of 0 is a value like any other */
        memcpy(spec.fill_value, &nan_value, sizeof nan_value);
    }
    struct document *d = NULL;
    ZS_TRY(add_document(r, group, name, zs_array_document(&spec), &d, err));
    *attributes = zs_document_attributes(d->json);
    if (count == 0)
        return ZS_OK;
    struct zs_array *array = NULL;
    enum zs_status status = open_array(r, d, NULL, 0, &array, err);
    if (status == ZS_OK) {
        struct zs_window w = {.count = {count}, .data = (void *)(uintptr_t)values, .stride = {(ptrdiff_t)spec.dtype.size}};
        status = zs_array_write_windows(array, &w, 1, spec.dtype.size, NULL, NULL, err);
    }
    if (status == ZS_OK)
        status = zs_array_flush(array, err);
    zs_array_close(array);
    return status;
}

/* ---- Georeferencing ---- */

static struct zs_georef_out georef_of(const struct zs_raster_spec *spec, const struct level *level)
{
    struct zs_georef_out geo = {.has_transform = spec->transform != NULL,
                                .pixel_is_point = spec->pixel_is_point,
                                .srs = spec->srs,
                                .width = level->width,
                                .height = level->height,
                                .dim_x = spec->dim_x,
                                .dim_y = spec->dim_y};
    memcpy(geo.transform, level->transform, sizeof geo.transform);
    return geo;
}

static bool has_axes(const struct zs_georef_out *geo)
{
    return geo->has_transform && geo->transform[2] == 0 && geo->transform[4] == 0;
}

static enum zs_status add_axis(struct zs_raster *r, const char *group, const struct zs_georef_out *geo, bool is_x,
                               struct zs_error *err)
{
    const uint64_t n = is_x ? geo->width : geo->height;
    const double origin = geo->transform[is_x ? 0 : 3], step = geo->transform[is_x ? 1 : 5];
    double *values = zs_calloc((size_t)n, sizeof *values);
    if (values == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate %llu coordinates", (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++)
        values[i] = origin + ((double)i + 0.5) * step;
    zs_json *attributes = NULL;
    enum zs_status status =
        add_small_array(r, group, is_x ? geo->dim_x : geo->dim_y, ZS_FLOAT64, values, n, &attributes, err);
    free(values);
    return status == ZS_OK ? zs_write_coordinate(attributes, geo, is_x, err) : status;
}

/* x, y, band and spatial_ref of one level. */
static enum zs_status add_coordinates(struct zs_raster *r, const struct zs_raster_spec *spec, const struct level *level,
                                      struct zs_error *err)
{
    const struct zs_georef_out geo = georef_of(spec, level);
    if (spec->style != ZS_GEOREF_SPATIAL_PROJ) {
        if (has_axes(&geo)) {
            ZS_TRY(add_axis(r, level->group, &geo, false, err));
            ZS_TRY(add_axis(r, level->group, &geo, true, err));
        }
        if (geo.srs != NULL || geo.has_transform) {
            zs_json *attributes = NULL;
            ZS_TRY(add_small_array(r, level->group, "spatial_ref", ZS_INT64, NULL, 0, &attributes, err));
            ZS_TRY(zs_write_grid_mapping(attributes, &geo, err));
        }
    }
    if (spec->has_band_dimension) {
        int64_t *numbers = zs_calloc((size_t)spec->bands, sizeof *numbers);
        if (numbers == NULL)
            return zs_fail(err, ZS_NO_MEMORY, "cannot allocate band numbers");
        for (uint64_t b = 0; b < spec->bands; b++)
            numbers[b] = (int64_t)b + 1;
        zs_json *attributes;
        const enum zs_status status =
            add_small_array(r, level->group, spec->dim_band, ZS_INT64, numbers, spec->bands, &attributes, err);
        free(numbers);
        ZS_TRY(status);
    }
    return ZS_OK;
}

/* ---- Arrays of pixels ---- */

static enum zs_status write_array_attributes(zs_json *attributes, const struct zs_raster_spec *spec,
                                             const struct zs_raster_band_set *set, const struct zs_georef_out *geo,
                                             struct zs_error *err)
{
    if (spec->style != ZS_GEOREF_CF && (geo->has_transform || geo->srs != NULL))
        ZS_TRY(zs_write_spatial_proj(attributes, geo, err));
    if (spec->style != ZS_GEOREF_SPATIAL_PROJ && (geo->has_transform || geo->srs != NULL))
        zs_json_add_string(attributes, "grid_mapping", "spatial_ref");
    ZS_TRY(zs_write_nodata(attributes, &spec->dtype, spec->has_nodata ? spec->nodata : NULL, err));
    return set->meaning != NULL ? zs_write_meaning(attributes, set->meaning, err) : ZS_OK;
}

/* A chunk or shard larger than a small overview is cut to what is needed of it: whole chunks. */
static uint64_t fitting(uint64_t shard, uint64_t chunk, uint64_t size)
{
    const uint64_t needed = zs_ceil_div_u64(size, chunk) * chunk;
    return shard < needed ? shard : needed;
}

static enum zs_status add_pixels(struct zs_raster *r, const struct zs_raster_spec *spec, struct level *level,
                                 const struct zs_array_options *options, struct zs_error *err)
{
    const struct zs_georef_out geo = georef_of(spec, level);
    const uint64_t shape[3] = {spec->bands, level->height, level->width};
    const char *names[3] = {spec->dim_band, spec->dim_y, spec->dim_x};
    const int first = spec->has_band_dimension ? 0 : 1;
    struct zs_array_spec a = {.ndim = 3 - first, .is_sharded = spec->is_sharded, .dtype = spec->dtype, .encoding = spec->encoding};
    for (int d = first; d < 3; d++) {
        a.shape[d - first] = shape[d];
        a.chunk_shape[d - first] = spec->chunk[d];
        a.shard_shape[d - first] = fitting(spec->shard[d], spec->chunk[d], shape[d]);
        a.dimension_names[d - first] = names[d];
    }
    if (spec->has_nodata)
        memcpy(a.fill_value, spec->nodata, sizeof a.fill_value);
    for (size_t k = 0; k < spec->array_count; k++) {
        struct document *d = NULL;
        ZS_TRY(add_document(r, level->group, spec->arrays[k].name, zs_array_document(&a), &d, err));
        ZS_TRY(write_array_attributes(zs_document_attributes(d->json), spec, &spec->arrays[k], &geo, err));
        ZS_TRY(open_array(r, d, options, spec->chunk_order, &level->arrays[k], err));
    }
    return ZS_OK;
}

/* ---- The whole ---- */

static enum zs_status set_up_level(struct zs_raster *r, const struct zs_raster_spec *spec, size_t i, struct zs_error *err)
{
    struct level *level = &r->levels[i];
    const uint64_t factor = i == 0 ? 1 : (uint64_t)spec->overview_factors[i - 1];
    level->group = i == 0 ? zs_strdup("") : zs_format("ovr_%llux", (unsigned long long)factor);
    level->arrays = zs_calloc(spec->array_count, sizeof(struct zs_array *));
    if (level->group == NULL || level->arrays == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a level");
    level->width = zs_ceil_div_u64(spec->width, factor);
    level->height = zs_ceil_div_u64(spec->height, factor);
    if (spec->transform != NULL) {
        const double sx = (double)spec->width / (double)level->width, sy = (double)spec->height / (double)level->height;
        const double scale[6] = {1, sx, sy, 1, sx, sy};
        for (int k = 0; k < 6; k++)
            level->transform[k] = spec->transform[k] * scale[k];
    }
    return ZS_OK;
}

/* The group's own attributes: metadata of the whole, and where the overviews are. */
static enum zs_status write_root(struct zs_raster *r, const struct zs_raster_spec *spec, struct zs_error *err)
{
    r->root = zs_group_document();
    if (r->root == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot build the metadata of a group");
    zs_json *attributes = zs_document_attributes(r->root);
    struct zs_meaning of_whole = {.metadata = (char **)(uintptr_t)spec->metadata};
    if (spec->metadata != NULL)
        ZS_TRY(zs_write_meaning(attributes, &of_whole, err));
    const struct zs_georef_out geo = georef_of(spec, &r->levels[0]);
    if (spec->style != ZS_GEOREF_CF && (geo.has_transform || geo.srs != NULL))
        ZS_TRY(zs_write_spatial_proj(attributes, &geo, err));
    if (r->level_count < 2)
        return ZS_OK;
    const char **paths = zs_calloc(r->level_count, sizeof(char *));
    uint64_t *widths = zs_calloc(r->level_count, sizeof *widths), *heights = zs_calloc(r->level_count, sizeof *heights);
    enum zs_status status = ZS_OK;
    if (paths == NULL || widths == NULL || heights == NULL)
        status = zs_fail(err, ZS_NO_MEMORY, "cannot build the metadata of overviews");
    for (size_t i = 0; i < r->level_count && status == ZS_OK; i++) {
        /* With several arrays the base is the group itself. */
        paths[i] = i > 0 ? r->levels[i].group : spec->array_count == 1 ? spec->arrays[0].name : ".";
        widths[i] = r->levels[i].width;
        heights[i] = r->levels[i].height;
    }
    if (status == ZS_OK)
        status = zs_write_multiscales(attributes, &geo, r->level_count, paths, widths, heights, spec->resampling, err);
    free(paths);
    free(widths);
    free(heights);
    return status;
}

static enum zs_status set_up(struct zs_raster *r, const struct zs_raster_spec *spec, const struct zs_array_options *options,
                             struct zs_error *err)
{
    r->level_count = 1 + spec->overview_count;
    r->array_count = spec->array_count;
    r->levels = zs_calloc(r->level_count, sizeof *r->levels);
    if (r->levels == NULL || r->group == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a raster");
    for (size_t i = 0; i < r->level_count; i++) {
        ZS_TRY(set_up_level(r, spec, i, err));
        if (i > 0)
            ZS_TRY(add_document(r, r->levels[i].group, "", zs_group_document(), NULL, err));
        ZS_TRY(add_pixels(r, spec, &r->levels[i], options, err));
    }
    return write_root(r, spec, err);
}

enum zs_status zs_raster_create(struct zs_store *store, const char *group, const struct zs_raster_spec *spec,
                                const struct zs_array_options *options, struct zs_raster **raster, struct zs_error *err)
{
    struct zs_raster *r = zs_calloc(1, sizeof *r);
    if (r == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a raster");
    r->store = store;
    r->group = zs_strdup(group);
    const enum zs_status status = set_up(r, spec, options, err);
    if (status != ZS_OK) {
        zs_raster_free(r);
        return status;
    }
    r->spec = spec;
    *raster = r;
    return ZS_OK;
}

struct zs_array *zs_raster_array(const struct zs_raster *r, size_t level, size_t k)
{
    return r->levels[level].arrays[k];
}

void zs_raster_level_size(const struct zs_raster *r, size_t level, uint64_t *width, uint64_t *height)
{
    *width = r->levels[level].width;
    *height = r->levels[level].height;
}

static enum zs_status put_document(struct zs_raster *r, const char *path, const zs_json *json, struct zs_error *err)
{
    char *full = join(r->group, path);
    char *key = full != NULL ? join(full, "zarr.json") : NULL;
    char *text = zs_json_print_pretty(json);
    enum zs_status status = key != NULL && text != NULL ? zs_store_put(r->store, key, text, strlen(text), err)
                                                        : zs_fail(err, ZS_NO_MEMORY, "cannot write the metadata of %s", path);
    free(full);
    free(key);
    free(text);
    return status;
}

enum zs_status zs_raster_publish(struct zs_raster *r, struct zs_error *err)
{
    for (size_t i = 0; i < r->level_count; i++)
        for (size_t k = 0; k < r->array_count; k++)
            ZS_TRY(zs_array_flush(r->levels[i].arrays[k], err));
    for (size_t i = 0; i < r->level_count; i++)
        ZS_TRY(add_coordinates(r, r->spec, &r->levels[i], err));
    const char **paths = zs_calloc(r->count, sizeof(char *));
    zs_json **documents = zs_calloc(r->count, sizeof(zs_json *));
    enum zs_status status = paths != NULL && documents != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot list metadata");
    for (size_t i = 0; i < r->count && status == ZS_OK; i++) {
        paths[i] = r->documents[i].path;
        documents[i] = r->documents[i].json;
        status = put_document(r, paths[i], documents[i], err);
    }
    if (status == ZS_OK)
        status = zs_document_consolidate(r->root, paths, documents, r->count, err);
    free(paths);
    free(documents);
    return status == ZS_OK ? put_document(r, "", r->root, err) : status;
}

void zs_raster_free(struct zs_raster *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->level_count && r->levels != NULL; i++) {
        for (size_t k = 0; k < r->array_count && r->levels[i].arrays != NULL; k++)
            zs_array_close(r->levels[i].arrays[k]);
        free(r->levels[i].arrays);
        free(r->levels[i].group);
    }
    for (size_t i = 0; i < r->count; i++) {
        zs_node_free(r->documents[i].node);
        zs_json_free(r->documents[i].json);
        free(r->documents[i].path);
    }
    zs_json_free(r->root);
    free(r->levels);
    free(r->documents);
    free(r->group);
    free(r);
}
