/* Translates the document of an array of the draft. Sources: the draft's text of 2022, and its two writers, GDAL 3.6
 * and zarr-python 2.18. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "zarr/document.h"
#include "zarr/draft.h"

#define SHARDING "/storage_transformers/sharding/"

/* A translation. */
struct translation {
    const zs_json *draft;
    zs_json *document;
    int ndim;
    bool is_big; /* elements are stored as big-endian, up to the filters so far */
    bool is_sharded;
    uint64_t chunk[ZS_MAX_NDIM], shard[ZS_MAX_NDIM];
};

static const char *text_of(const zs_json *node)
{
    const char *text;
    return zs_json_string(node, &text) ? text : "(no string)";
}

/* Adds what a text with its values is as JSON. */
static zs_json *add(zs_json *parent, const char *name, const char *format, ...) ZS_PRINTF(3, 4);
static zs_json *add(zs_json *parent, const char *name, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return zs_json_add_raw(parent, name, text);
}

static enum zs_status add_copy(zs_json *parent, const char *name, const zs_json *node, struct zs_error *err)
{
    return node == NULL || zs_json_add(parent, name, zs_json_copy(node)) != NULL ? ZS_OK : zs_fail_memory(err);
}

enum zs_status zs_draft_check_extensions(const zs_json *draft, struct zs_error *err)
{
    const zs_json *list = zs_json_get(draft, "extensions");
    if (zs_json_typeof(list) != ZS_JSON_NULL && !zs_json_is_array(list))
        return zs_fail_found(err, ZS_INVALID, list, "extensions: expected an array");
    for (const zs_json *e = zs_json_first(list); e != NULL; e = zs_json_next(e)) {
        bool must_understand = true;
        (void)zs_json_bool(zs_json_get(e, "must_understand"), &must_understand);
        if (must_understand)
            return zs_fail(err, ZS_UNSUPPORTED, "extension \"%.100s\" must be understood and is not known",
                           text_of(zs_json_get(e, "extension")));
    }
    return ZS_OK;
}

/* ---- Data types: numpy's, "<i2" ---- */

/* The specification's name of a type of numbers, NULL for other types, and the byte order of those that have one. */
static const char *number_name(const char *type, bool *is_big)
{
    static const char *const numbers[][2] = {
        {"b1", "bool"},    {"i1", "int8"},    {"u1", "uint8"},   {"i2", "int16"},     {"u2", "uint16"},
        {"i4", "int32"},   {"u4", "uint32"},  {"i8", "int64"},   {"u8", "uint64"},    {"f2", "float16"},
        {"f4", "float32"}, {"f8", "float64"}, {"c8", "complex64"}, {"c16", "complex128"}};
    const bool is_ordered = type[0] == '<' || type[0] == '>';
    const char *code = type + (is_ordered || type[0] == '|');
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(code, numbers[i][0]) == 0 && (is_ordered || strcmp(code + 1, "1") == 0)) {
            *is_big = type[0] == '>';
            return numbers[i][1];
        }
    return NULL;
}

/* Adds the data type; false when there is none such here, or without memory. Other types than numbers: "r16", bytes of
 * no meaning; "<M8[10us]", "<m8[s]", counts of a unit; "<U12", text of so many code points. */
static bool add_type(struct translation *t, const char *type)
{
    zs_json *d = t->document;
    char unit[16] = "generic", end, rest;
    unsigned scale = 1;
    const char *name = number_name(type, &t->is_big);
    if (name == NULL && (strcmp(type, "bool") == 0 || type[0] == 'r'))
        name = type;
    if (name != NULL)
        return zs_json_add_string(d, "data_type", name) != NULL;
    if (type[0] != '<' && type[0] != '>')
        return false;
    t->is_big = type[0] == '>';
    if (type[1] == 'U' && type[2] >= '0' && type[2] <= '9' && sscanf(type + 2, "%8u%c", &scale, &rest) == 1)
        return add(d, "data_type", "{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":%u}}",
                   4 * scale) != NULL;
    const char *code = type + 1;
    if ((code[0] != 'M' && code[0] != 'm') || code[1] != '8')
        return false;
    if (code[2] != '\0' && (sscanf(code + 2, "[%15[^]0-9]%c%c", unit, &end, &rest) != 2 || end != ']') &&
        (sscanf(code + 2, "[%9u%15[^]0-9]%c%c", &scale, unit, &end, &rest) != 3 || end != ']'))
        return false;
    return add(d, "data_type", "{\"name\":\"numpy.%s64\",\"configuration\":{\"unit\":\"%s\",\"scale_factor\":%u}}",
               code[0] == 'M' ? "datetime" : "timedelta", unit, scale) != NULL;
}

/* A string, or an extension with its own type and a fallback. */
static enum zs_status translate_type(struct translation *t, struct zs_error *err)
{
    const zs_json *given = zs_json_get(t->draft, "data_type");
    if (given == NULL)
        return zs_fail(err, ZS_INVALID, "data_type is missing");
    if (add_type(t, text_of(zs_json_is_object(given) ? zs_json_get(given, "type") : given)) ||
        add_type(t, zs_json_text(given, "fallback", "")))
        return ZS_OK;
    char *text = zs_json_print(given);
    (void)zs_fail(err, ZS_UNSUPPORTED, "data_type %.200s is not supported", text != NULL ? text : "?");
    free(text);
    return ZS_UNSUPPORTED;
}

/* ---- Chunks and shards ---- */

static enum zs_status read_sizes(const zs_json *list, const char *name, int n, uint64_t *sizes, struct zs_error *err)
{
    bool is_good = zs_json_is_array(list) && zs_json_size(list) == (size_t)n;
    for (int i = 0; i < n && is_good; i++)
        is_good = zs_json_uint64(zs_json_at(list, (size_t)i), &sizes[i]) && sizes[i] > 0;
    return is_good ? ZS_OK : zs_fail_found(err, ZS_INVALID, list, "%s: expected a list of %d positive sizes", name, n);
}

/* Reads the sharding storage transformer; there is no other one. */
static enum zs_status read_transformers(struct translation *t, struct zs_error *err)
{
    static const char *const known[] = {"chunks_per_shard", NULL};
    const zs_json *list = zs_json_get(t->draft, "storage_transformers"), *first = zs_json_first(list);
    const zs_json *configuration = zs_json_get(first, "configuration");
    if (zs_json_typeof(list) != ZS_JSON_NULL && !zs_json_is_array(list))
        return zs_fail_found(err, ZS_INVALID, list, "storage_transformers: expected an array");
    if (first == NULL)
        return ZS_OK;
    const char *name = text_of(zs_json_get(first, "extension"));
    if (strstr(name, SHARDING) == NULL || !zs_json_equals(zs_json_get(first, "type"), "indexed"))
        return zs_fail(err, ZS_UNSUPPORTED, "storage transformer \"%.100s\" of type \"%.40s\" is not supported", name,
                       text_of(zs_json_get(first, "type")));
    if (zs_json_size(list) > 1)
        return zs_fail(err, ZS_UNSUPPORTED, "storage_transformers: expected one, found %zu", zs_json_size(list));
    const enum zs_status status = zs_members_check(configuration, known, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "storage transformer \"%.100s\"", name);
    const zs_json *per_shard = zs_json_get(configuration, "chunks_per_shard");
    t->is_sharded = true;
    if (t->ndim > 0 || zs_json_size(per_shard) != 1) /* zarr-python writes [1] where there are no dimensions */
        ZS_TRY(read_sizes(per_shard, "storage_transformers: chunks_per_shard", t->ndim, t->shard, err));
    for (int d = 0; d < t->ndim; d++)
        if (!zs_mul_u64(t->shard[d], t->chunk[d], &t->shard[d]))
            return zs_fail(err, ZS_INVALID,
                           "storage_transformers: chunks_per_shard[%d]: the size of a shard does not fit 64 bits", d);
    return ZS_OK;
}

static enum zs_status translate_grid(struct translation *t, struct zs_error *err)
{
    static const char *const known[] = {"type", "chunk_shape", "separator", NULL};
    const zs_json *grid = zs_json_get(t->draft, "chunk_grid"), *shape = zs_json_get(t->draft, "shape");
    if (!zs_json_is_array(shape))
        return zs_fail_found(err, ZS_INVALID, shape, "shape: expected an array of sizes");
    if (zs_json_size(shape) > ZS_MAX_NDIM)
        return zs_fail(err, ZS_UNSUPPORTED, "shape: expected at most %d dimensions, found %zu", ZS_MAX_NDIM,
                       zs_json_size(shape));
    t->ndim = (int)zs_json_size(shape);
    if (!zs_json_is_object(grid))
        return zs_fail_found(err, ZS_INVALID, grid, "chunk_grid: expected an object");
    if (!zs_json_equals(zs_json_get(grid, "type"), "regular"))
        return zs_fail(err, ZS_UNSUPPORTED, "chunk_grid \"%.100s\" is not supported",
                       text_of(zs_json_get(grid, "type")));
    const enum zs_status status = zs_members_check(grid, known, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "chunk_grid");
    ZS_TRY(read_sizes(zs_json_get(grid, "chunk_shape"), "chunk_grid: chunk_shape", t->ndim, t->chunk, err));
    ZS_TRY(read_transformers(t, err));
    const zs_json *separator = zs_json_get(grid, "separator");
    zs_json *to = zs_json_get_mutable(add(t->document, "chunk_grid", "{\"name\":\"regular\",\"configuration\":{}}"),
                                      "configuration");
    zs_json *keys = add(t->document, "chunk_key_encoding", "{\"name\":\"default\",\"configuration\":{}}");
    if (zs_json_add(to, "chunk_shape", zs_shape_list(t->is_sharded ? t->shard : t->chunk, t->ndim)) == NULL ||
        keys == NULL)
        return zs_fail_memory(err);
    return add_copy(zs_json_get_mutable(keys, "configuration"), "separator",
                    separator != NULL ? separator : zs_json_get(t->draft, "dimension_separator"), err);
}

/* ---- Codecs ---- */

static bool add_bytes(zs_json *codecs, bool is_big)
{
    const char *order = is_big ? "big" : "little";
    return add(codecs, NULL, "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"%s\"}}", order) != NULL;
}

/* The memory order of chunks. */
static enum zs_status translate_layout(const struct translation *t, zs_json *codecs, struct zs_error *err)
{
    const zs_json *layout = zs_json_get(t->draft, "chunk_memory_layout");
    if (layout == NULL || zs_json_equals(layout, "C"))
        return ZS_OK;
    if (!zs_json_equals(layout, "F"))
        return zs_fail(err, ZS_UNSUPPORTED, "chunk_memory_layout: expected \"C\" or \"F\", found \"%.100s\"",
                       text_of(layout));
    uint64_t order[ZS_MAX_NDIM];
    for (int d = 0; d < t->ndim; d++)
        order[d] = (uint64_t)(t->ndim - 1 - d);
    zs_json *transpose = t->ndim > 1 ? add(codecs, NULL, "{\"name\":\"transpose\",\"configuration\":{}}") : NULL;
    if (t->ndim > 1 && zs_json_add(zs_json_get_mutable(transpose, "configuration"), "order",
                                   zs_shape_list(order, t->ndim)) == NULL)
        return zs_fail_memory(err);
    return ZS_OK;
}

/* A type in a filter's configuration. The input has the byte order of the step before, the output its own. */
static enum zs_status translate_filter_type(zs_json *configuration, const char *id, const char *member, bool is_output,
                                            bool *is_big, struct zs_error *err)
{
    const char *type;
    bool big = false;
    if (!zs_json_string(zs_json_get(configuration, member), &type))
        return ZS_OK;
    const char *name = number_name(type, &big);
    if (name == NULL || (!is_output && type[strlen(type) - 1] != '1' && big != *is_big))
        return zs_fail(err, ZS_UNSUPPORTED, "filter \"%.100s\": %s: \"%.40s\" is not supported here", id, member, type);
    if (is_output)
        *is_big = big;
    return zs_json_set_string(configuration, member, name) ? ZS_OK : zs_fail_memory(err);
}

/* A configuration of numcodecs as a codec. */
static enum zs_status add_numcodecs(zs_json *codecs, const char *id, size_t n, const zs_json *configuration,
                                    zs_json **added, struct zs_error *err)
{
    zs_json *codec = zs_json_add_object(codecs, NULL);
    char name[128];
    (void)snprintf(name, sizeof name, "numcodecs.%.*s", n < 100 ? (int)n : 100, id);
    const bool is_named = zs_json_add_string(codec, "name", name) != NULL;
    *added = zs_json_is_object(configuration) ? zs_json_add(codec, "configuration", zs_json_copy(configuration))
                                              : zs_json_add_object(codec, "configuration");
    return is_named && *added != NULL ? ZS_OK : zs_fail_memory(err);
}

/* The filters that zarr-python applies before the compressor: configurations of numcodecs in the attributes. */
static enum zs_status translate_filters(struct translation *t, zs_json *codecs, struct zs_error *err)
{
    static const char *const of_arrays[] = {"delta", "fixedscaleoffset", "quantize", "astype", "bitround", NULL};
    static const char *const types[] = {"dtype", "decode_dtype", "astype", "encode_dtype"};
    const zs_json *filters = zs_json_get(zs_json_get(t->draft, "attributes"), "filters");
    bool is_bytes = false;
    for (const zs_json *f = zs_json_is_array(filters) ? zs_json_first(filters) : NULL; f != NULL; f = zs_json_next(f)) {
        const char *id = text_of(zs_json_get(f, "id"));
        const bool is_of_array = zs_is_one_of(id, of_arrays);
        if (!is_of_array && strcmp(id, "packbits") != 0 && !is_bytes && !add_bytes(codecs, t->is_big))
            return zs_fail_memory(err);
        is_bytes = is_bytes || !is_of_array;
        zs_json *configuration;
        ZS_TRY(add_numcodecs(codecs, id, strlen(id), f, &configuration, err));
        zs_json_remove(configuration, "id");
        for (int i = 0; i < 4 && is_of_array; i++)
            ZS_TRY(translate_filter_type(configuration, id, types[i], i >= 2, &t->is_big, err));
    }
    return is_bytes || add_bytes(codecs, t->is_big) ? ZS_OK : zs_fail_memory(err);
}

/* "https://purl.org/zarr/spec/codec/gzip/1.0", or the name alone. */
static enum zs_status translate_compressor(const struct translation *t, zs_json *codecs, struct zs_error *err)
{
    static const char *const known[] = {"gzip", "zlib", "blosc", "bz2", "lz4", "lzma", "zstd"};
    const zs_json *compressor = zs_json_get(t->draft, "compressor");
    zs_json *added;
    if (zs_json_typeof(compressor) == ZS_JSON_NULL)
        return ZS_OK;
    const char *url = text_of(zs_json_get(compressor, "codec")), *behind = strstr(url, "/codec/");
    const char *name = behind != NULL ? behind + strlen("/codec/") : url;
    const size_t n = strcspn(name, "/");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strlen(known[i]) == n && strncmp(name, known[i], n) == 0)
            return add_numcodecs(codecs, name, n, zs_json_get(compressor, "configuration"), &added, err);
    return zs_fail(err, ZS_UNSUPPORTED, "compressor \"%.100s\" is not supported", url);
}

static enum zs_status translate_codecs(struct translation *t, struct zs_error *err)
{
    zs_json *codecs = zs_json_add_array(t->document, "codecs");
    if (t->is_sharded) {
        zs_json *sharding = zs_json_get_mutable(
            add(codecs, NULL, "{\"name\":\"sharding_indexed\",\"configuration\":{}}"), "configuration");
        (void)zs_json_add(sharding, "chunk_shape", zs_shape_list(t->chunk, t->ndim));
        codecs = zs_json_add_array(sharding, "codecs");
        if (!add_bytes(zs_json_add_array(sharding, "index_codecs"), false) ||
            zs_json_add_string(sharding, "index_location", "end") == NULL)
            return zs_fail_memory(err);
    }
    ZS_TRY_MEMORY(codecs, err);
    ZS_TRY(translate_layout(t, codecs, err));
    ZS_TRY(translate_filters(t, codecs, err));
    return translate_compressor(t, codecs, err);
}

/* ---- The document ---- */

/* Unknown members are refused: the draft reserves them. */
static enum zs_status translate(struct translation *t, struct zs_error *err)
{
    static const char *const known[] = {
        "shape",      "data_type",  "chunk_grid",           "chunk_memory_layout", "compressor", "fill_value",
        "extensions", "attributes", "storage_transformers", "dimension_separator", NULL};
    ZS_TRY(zs_members_check(t->draft, known, err));
    ZS_TRY(zs_draft_check_extensions(t->draft, err));
    if (zs_json_add_int64(t->document, "zarr_format", 3) == NULL ||
        zs_json_add_string(t->document, "node_type", "array") == NULL)
        return zs_fail_memory(err);
    ZS_TRY(add_copy(t->document, "shape", zs_json_get(t->draft, "shape"), err));
    const zs_json *fill_value = zs_json_get(t->draft, "fill_value");
    if (zs_json_typeof(fill_value) != ZS_JSON_NULL) /* zero in the draft, as GDAL 3.6 writes it */
        ZS_TRY(add_copy(t->document, "fill_value", fill_value, err));
    ZS_TRY(add_copy(t->document, "attributes", zs_json_get(t->draft, "attributes"), err));
    zs_json_remove(zs_json_get_mutable(t->document, "attributes"), "filters");
    ZS_TRY(translate_grid(t, err));
    ZS_TRY(translate_type(t, err));
    return translate_codecs(t, err);
}

enum zs_status zs_draft_array_document(const zs_json *draft, zs_json **out, struct zs_error *err)
{
    struct translation t = {.draft = draft, .document = zs_json_new_object()};
    enum zs_status status = t.document != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK && !zs_json_is_object(draft))
        status = zs_fail_found(err, ZS_INVALID, draft, "expected a JSON object");
    if (status == ZS_OK)
        status = translate(&t, err);
    if (status == ZS_OK)
        *out = t.document;
    else
        zs_json_free(t.document);
    return status;
}
