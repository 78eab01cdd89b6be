#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "zarr/node.h"

static const char *const known_members[] = {"zarr_format",          "node_type",
                                            "shape",                "data_type",
                                            "chunk_grid",           "chunk_key_encoding",
                                            "fill_value",           "codecs",
                                            "attributes",           "dimension_names",
                                            "storage_transformers", "consolidated_metadata",
                                            NULL};

static enum zs_status parse_sizes(const zs_json *list, uint64_t *sizes, struct zs_error *err)
{
    size_t i = 0;
    for (const zs_json *size = zs_json_first(list); size != NULL; size = zs_json_next(size), i++) {
        if (zs_json_uint64(size, &sizes[i]))
            continue;
        char *text = zs_json_print(size);
        (void)zs_fail(err, ZS_INVALID, "shape[%zu]: expected an integer of 0 to 18446744073709551615, found %.60s", i,
                      text != NULL ? text : "?");
        free(text);
        return ZS_INVALID;
    }
    return ZS_OK;
}

/* Zero sizes left out, so that no part of the product (a stride, a number of rows) overflows either. */
static bool product_fits(const uint64_t *sizes, int n, uint64_t unit)
{
    uint64_t product = unit;
    for (int i = 0; i < n; i++)
        if (sizes[i] != 0 && !zs_mul_u64(product, sizes[i], &product))
            return false;
    return true;
}

static enum zs_status parse_shape(const zs_json *shape, struct zs_array_meta *meta, struct zs_error *err)
{
    if (!zs_json_is_array(shape))
        return zs_fail_found(err, ZS_INVALID, shape, "shape: expected an array of sizes");
    const size_t ndim = zs_json_size(shape);
    if (ndim > ZS_MAX_NDIM)
        return zs_fail(err, ZS_UNSUPPORTED, "shape: expected at most %d dimensions, found %zu", ZS_MAX_NDIM, ndim);
    meta->ndim = (int)ndim;
    ZS_TRY(parse_sizes(shape, meta->shape, err));
    if (!product_fits(meta->shape, meta->ndim, 1)) {
        char *text = zs_json_print(shape);
        (void)zs_fail(err, ZS_INVALID, "shape: expected fewer than 2^64 elements, found %.200s",
                      text != NULL ? text : "more");
        free(text);
        return ZS_INVALID;
    }
    return ZS_OK;
}

/* The name of an extension point that has to be there, and its configuration when that is an object. */
static enum zs_status require_extension(const zs_json *document, const char *member, const char **name,
                                        const zs_json **configuration, struct zs_error *err)
{
    const zs_json *point = zs_json_get(document, member);
    if (point == NULL)
        return zs_fail(err, ZS_INVALID, "%s is missing", member);
    *name = zs_extension_name(point, configuration);
    if (*name == NULL)
        return zs_fail_found(err, ZS_INVALID, point, "%s: expected a string or an object with a \"name\"", member);
    if (*configuration != NULL && !zs_json_is_object(*configuration))
        return zs_fail_found(err, ZS_INVALID, *configuration, "%s \"%.100s\": expected an object as configuration",
                             member, *name);
    return ZS_OK;
}

/* After shape and data_type. */
static enum zs_status parse_chunk_grid(const zs_json *document, struct zs_array_meta *meta, struct zs_error *err)
{
    const char *name;
    const zs_json *configuration;
    ZS_TRY(require_extension(document, "chunk_grid", &name, &configuration, err));
    ZS_TRY(zs_chunk_grid_parse(name, configuration, meta, err));
    /* The number of chunks fits because the number of elements does: no chunk is smaller than an element. */
    if (!product_fits(meta->chunk_shape, meta->ndim, meta->dtype.size)) {
        char *text = zs_json_print(configuration);
        (void)zs_fail(err, ZS_INVALID, "chunk_grid: expected chunks of fewer than 2^64 bytes, found %.200s of %s",
                      text != NULL ? text : "more", meta->dtype.name);
        free(text);
        return ZS_INVALID;
    }
    return ZS_OK;
}

static enum zs_status parse_chunk_key_encoding(const zs_json *document, struct zs_array_meta *meta,
                                               struct zs_error *err)
{
    const char *name;
    const zs_json *configuration;
    ZS_TRY(require_extension(document, "chunk_key_encoding", &name, &configuration, err));
    meta->key_is_v2 = strcmp(name, "v2") == 0;
    if (!meta->key_is_v2 && strcmp(name, "default") != 0)
        return zs_fail(err, ZS_UNSUPPORTED, "chunk_key_encoding \"%.100s\" is not supported", name);
    static const char *const known[] = {"separator", NULL};
    const enum zs_status status = zs_members_check(configuration, known, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "chunk_key_encoding \"%s\"", name);
    meta->key_separator = meta->key_is_v2 ? '.' : '/';
    const zs_json *separator = zs_json_get(configuration, "separator");
    if (separator == NULL)
        return ZS_OK;
    if (zs_json_equals(separator, "/"))
        meta->key_separator = '/';
    else if (zs_json_equals(separator, "."))
        meta->key_separator = '.';
    else
        return zs_fail_found(err, ZS_INVALID, separator,
                             "chunk_key_encoding \"%s\": expected \"/\" or \".\" as separator", name);
    return ZS_OK;
}

static enum zs_status parse_codecs(const zs_json *document, struct zs_array_meta *meta, struct zs_error *err)
{
    meta->codecs = zs_json_get(document, "codecs");
    if (meta->codecs == NULL) {
        meta->missing_codecs = zs_json_new_array();
        if (zs_json_add_string(meta->missing_codecs, NULL, "bytes") == NULL)
            return zs_fail_memory(err);
        meta->codecs = meta->missing_codecs;
    }
    if (!zs_json_is_array(meta->codecs) || zs_json_first(meta->codecs) == NULL)
        return zs_fail_found(err, ZS_INVALID, meta->codecs, "codecs: expected an array of at least one codec");
    size_t i = 0;
    for (const zs_json *codec = zs_json_first(meta->codecs); codec != NULL; codec = zs_json_next(codec), i++) {
        const char *name = zs_extension_name(codec, NULL);
        if (name == NULL)
            return zs_fail_found(err, ZS_INVALID, codec, "codecs[%zu]: expected a string or an object with a \"name\"",
                                 i);
        if (strcmp(name, "sharding_indexed") == 0)
            meta->is_sharded = true;
    }
    return ZS_OK;
}

static enum zs_status check_storage_transformers(const zs_json *document, struct zs_error *err)
{
    const zs_json *list = zs_json_get(document, "storage_transformers");
    if (zs_json_typeof(list) == ZS_JSON_NULL)
        return ZS_OK;
    if (!zs_json_is_array(list))
        return zs_fail_found(err, ZS_INVALID, list, "storage_transformers: expected an array");
    if (zs_json_first(list) == NULL)
        return ZS_OK;
    const char *name = zs_extension_name(zs_json_first(list), NULL);
    return zs_fail(err, ZS_UNSUPPORTED, "storage transformer \"%.100s\" is not supported", name != NULL ? name : "?");
}

/* Copies the names in `list`, which has one entry per dimension. False without memory. */
static bool copy_names(const zs_json *list, struct zs_array_meta *meta)
{
    int i = 0;
    for (const zs_json *entry = zs_json_first(list); entry != NULL; entry = zs_json_next(entry), i++) {
        const char *name;
        if (!zs_json_string(entry, &name) || name[0] == '\0')
            continue;
        meta->dimension_names[i] = zs_strdup(name);
        if (meta->dimension_names[i] == NULL)
            return false;
    }
    return true;
}

static enum zs_status parse_dimension_names(const zs_json *document, struct zs_array_meta *meta, struct zs_error *err)
{
    const zs_json *names = zs_json_get(document, "dimension_names");
    if (zs_json_typeof(names) == ZS_JSON_NULL) {
        /* xarray's attribute in Zarr v2, which converted stores still have. An attribute is not metadata, so an odd one
         * is no error. */
        names = zs_json_get(zs_json_get(document, "attributes"), "_ARRAY_DIMENSIONS");
        if (!zs_json_is_array(names) || zs_json_size(names) != (size_t)meta->ndim)
            return ZS_OK;
    } else {
        if (!zs_json_is_array(names) || zs_json_size(names) != (size_t)meta->ndim)
            return zs_fail(err, ZS_INVALID, "dimension_names: expected an array of %d names, found %zu entries",
                           meta->ndim, zs_json_size(names));
        for (const zs_json *c = zs_json_first(names); c != NULL; c = zs_json_next(c))
            if (zs_json_typeof(c) != ZS_JSON_STRING && zs_json_typeof(c) != ZS_JSON_NULL)
                return zs_fail_found(err, ZS_INVALID, c, "dimension_names: expected strings or null");
    }
    if (!copy_names(names, meta))
        return zs_fail_memory(err);
    return ZS_OK;
}

static enum zs_status check_attributes(const zs_json *document, struct zs_error *err)
{
    const zs_json *attributes = zs_json_get(document, "attributes");
    if (zs_json_typeof(attributes) != ZS_JSON_NULL && !zs_json_is_object(attributes))
        return zs_fail_found(err, ZS_INVALID, attributes, "attributes: expected an object");
    return ZS_OK;
}

typedef enum zs_status (*parse_fn)(const zs_json *document, struct zs_array_meta *meta, struct zs_error *err);

static enum zs_status parse_type(const zs_json *document, struct zs_array_meta *meta, struct zs_error *err)
{
    ZS_TRY(zs_dtype_parse(zs_json_get(document, "data_type"), &meta->dtype, err));
    ZS_TRY(zs_fill_value_parse(&meta->dtype, zs_json_get(document, "fill_value"), meta->fill_value,
                               &meta->fill_value_is_null, err));
    zs_dtype_apply_unsigned(&meta->dtype, zs_json_get(document, "attributes"));
    return ZS_OK;
}

static enum zs_status parse_text_type(const zs_json *document, struct zs_array_meta *meta, struct zs_error *err)
{
    return zs_text_dtype_parse(zs_json_get(document, "data_type"), &meta->dtype, err);
}

static enum zs_status parse_with(const zs_json *document, parse_fn type, struct zs_array_meta *meta,
                                 struct zs_error *err)
{
    ZS_TRY(zs_members_check(document, known_members, err));
    ZS_TRY(check_storage_transformers(document, err));
    ZS_TRY(check_attributes(document, err));
    ZS_TRY(parse_shape(zs_json_get(document, "shape"), meta, err));
    ZS_TRY(type(document, meta, err));
    ZS_TRY(parse_chunk_grid(document, meta, err));
    ZS_TRY(parse_chunk_key_encoding(document, meta, err));
    ZS_TRY(parse_codecs(document, meta, err));
    return parse_dimension_names(document, meta, err);
}

static enum zs_status parse(const zs_json *document, struct zs_array_meta *meta, struct zs_error *err)
{
    return parse_with(document, parse_type, meta, err);
}

static enum zs_status parse_text(const zs_json *document, struct zs_array_meta *meta, struct zs_error *err)
{
    return parse_with(document, parse_text_type, meta, err);
}

static enum zs_status parse_keys(const zs_json *document, struct zs_array_meta *meta, struct zs_error *err)
{
    ZS_TRY(parse_shape(zs_json_get(document, "shape"), meta, err));
    return parse_chunk_key_encoding(document, meta, err);
}

static enum zs_status create_meta(const zs_json *document, parse_fn fill, struct zs_array_meta **out,
                                  struct zs_error *err)
{
    struct zs_array_meta *meta = zs_calloc(1, sizeof *meta);
    ZS_TRY_MEMORY(meta, err);
    const enum zs_status status = fill(document, meta, err);
    if (status != ZS_OK) {
        zs_array_meta_free(meta);
        return status;
    }
    *out = meta;
    return ZS_OK;
}

enum zs_status zs_array_meta_parse(const zs_json *document, struct zs_array_meta **out, struct zs_error *err)
{
    return create_meta(document, parse, out, err);
}

enum zs_status zs_text_meta_parse(const zs_json *document, struct zs_array_meta **out, struct zs_error *err)
{
    return create_meta(document, parse_text, out, err);
}

enum zs_status zs_array_keys_parse(const zs_json *document, struct zs_array_meta **out, struct zs_error *err)
{
    return create_meta(document, parse_keys, out, err);
}

void zs_array_meta_free(struct zs_array_meta *meta)
{
    if (meta == NULL)
        return;
    for (int i = 0; i < ZS_MAX_NDIM; i++)
        free(meta->dimension_names[i]);
    zs_json_free(meta->missing_codecs);
    for (int i = 0; i < ZS_MAX_NDIM; i++)
        free(meta->edges[i]);
    free(meta);
}
