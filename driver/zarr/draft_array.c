/* Translates the document of an array of the draft. Sources: the draft's text of 2022, and its two writers, GDAL 3.6
 * and zarr-python 2.18. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "zarr/draft.h"

#define SHARDING "/storage_transformers/sharding/"

/* Properties of an array that the translation of its codecs needs. */
struct array_layout {
    int ndim;
    bool is_big; /* elements are stored as big-endian */
    bool is_sharded;
    uint64_t chunk[ZS_MAX_NDIM], per_shard[ZS_MAX_NDIM];
};

static const char *text_of(const zs_json *node)
{
    const char *text;
    return zs_json_string(node, &text) ? text : "(no string)";
}

/* ---- Extensions ---- */

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

/* Refuses unknown members: the draft reserves them. */
static enum zs_status check_members(const zs_json *draft, struct zs_error *err)
{
    static const char *const known[] = {
        "shape",      "data_type",  "chunk_grid",           "chunk_memory_layout", "compressor", "fill_value",
        "extensions", "attributes", "storage_transformers", "dimension_separator", NULL};
    return zs_members_check(draft, known, err);
}

/* ---- Data types: numpy's, "<i2" ---- */

/* Returns the byte order that a type begins with: '<', '>' or '|' for none. *rest is the type behind it. */
static char order_of(const char *type, const char **rest)
{
    const bool is_given = type[0] != '\0' && strchr("<>|", type[0]) != NULL;
    *rest = type + is_given;
    return is_given ? type[0] : '|';
}

/* Returns the specification's name of a type of numbers, NULL for other types. Sets the byte order of numbers that have
 * more than one byte. */
static const char *number_name(const char *type, bool *is_big)
{
    static const struct {
        const char *code, *name;
        bool is_byte;
    } numbers[] = {{"b1", "bool", true},       {"i1", "int8", true},        {"u1", "uint8", true},
                   {"i2", "int16", false},     {"u2", "uint16", false},     {"i4", "int32", false},
                   {"u4", "uint32", false},    {"i8", "int64", false},      {"u8", "uint64", false},
                   {"f2", "float16", false},   {"f4", "float32", false},    {"f8", "float64", false},
                   {"c8", "complex64", false}, {"c16", "complex128", false}};
    const char *code;
    const char order = order_of(type, &code);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(code, numbers[i].code) == 0 && (numbers[i].is_byte || order != '|')) {
            *is_big = order == '>';
            return numbers[i].name;
        }
    return NULL;
}

/* "M8[10us]", "m8[s]": counts of a unit, which is copied; "M8" has none. */
static enum zs_status add_time(zs_json *document, const char *code)
{
    char unit[16] = "generic";
    int scale = 1, end = 0;
    const char *given = code[2] == '[' ? code + 3 : code + 2;
    if (code[2] == '[' && given[0] >= '0' && given[0] <= '9' && sscanf(given, "%9d%n", &scale, &end) == 1)
        given += end;
    end = 0;
    if (code[2] == '[' && sscanf(given, "%15[^]]]%n", unit, &end) == 1)
        given += end;
    if (given[0] != '\0' || (code[2] == '[' && end == 0))
        return ZS_UNSUPPORTED;
    zs_json *type = zs_json_add_object(document, "data_type"), *configuration;
    zs_json_add_string(type, "name", code[0] == 'M' ? "numpy.datetime64" : "numpy.timedelta64");
    configuration = zs_json_add_object(type, "configuration");
    zs_json_add_string(configuration, "unit", unit);
    return zs_json_add_int64(configuration, "scale_factor", scale) != NULL ? ZS_OK : ZS_NO_MEMORY;
}

/* "U12": text of a number of code points. */
static enum zs_status add_text(zs_json *document, const char *code)
{
    char *end;
    const unsigned long units = strtoul(code + 1, &end, 10);
    if (code[1] < '0' || code[1] > '9' || *end != '\0' || units > UINT32_MAX)
        return ZS_UNSUPPORTED;
    zs_json *type = zs_json_add_object(document, "data_type");
    zs_json_add_string(type, "name", "fixed_length_utf32");
    zs_json *length =
        zs_json_add_uint64(zs_json_add_object(type, "configuration"), "length_bytes", 4 * (uint64_t)units);
    return length != NULL ? ZS_OK : ZS_NO_MEMORY;
}

/* Adds the data type. ZS_UNSUPPORTED when this core has no such type. */
static enum zs_status add_type(zs_json *document, const char *type, bool *is_big)
{
    const char *code, *name = strcmp(type, "bool") == 0 ? "bool" : number_name(type, is_big);
    const char order = order_of(type, &code);
    if (name == NULL && code == type && code[0] == 'r') /* r8, r16: bytes of no meaning, in both */
        name = code;
    if (name != NULL)
        return zs_json_add_string(document, "data_type", name) != NULL ? ZS_OK : ZS_NO_MEMORY;
    *is_big = order == '>';
    if (order != '|' && (strncmp(code, "M8", 2) == 0 || strncmp(code, "m8", 2) == 0))
        return add_time(document, code);
    return order != '|' && code[0] == 'U' ? add_text(document, code) : ZS_UNSUPPORTED;
}

/* Translates the data type: a string, or an extension with its own type and a fallback. */
static enum zs_status translate_type(const zs_json *draft, zs_json *document, bool *is_big, struct zs_error *err)
{
    const zs_json *given = zs_json_get(draft, "data_type");
    const char *type = NULL;
    if (given == NULL)
        return zs_fail(err, ZS_INVALID, "data_type is missing");
    (void)zs_json_string(zs_json_is_object(given) ? zs_json_get(given, "type") : given, &type);
    const char *fallback = zs_json_text(given, "fallback", NULL);
    *is_big = false;
    enum zs_status status = type != NULL ? add_type(document, type, is_big) : ZS_UNSUPPORTED;
    if (status == ZS_UNSUPPORTED && fallback != NULL)
        status = add_type(document, fallback, is_big);
    if (status != ZS_UNSUPPORTED)
        return status == ZS_OK ? ZS_OK : zs_fail_memory(err);
    char *text = zs_json_print(given);
    (void)zs_fail(err, ZS_UNSUPPORTED, "data_type %.200s is not supported", text != NULL ? text : "?");
    free(text);
    return ZS_UNSUPPORTED;
}

/* ---- Chunks and shards ---- */

static enum zs_status read_sizes(const zs_json *list, const char *name, int n, uint64_t *sizes, struct zs_error *err)
{
    int i = 0;
    bool is_good = zs_json_is_array(list) && zs_json_size(list) == (size_t)n;
    for (const zs_json *size = is_good ? zs_json_first(list) : NULL; size != NULL && is_good;
         size = zs_json_next(size), i++)
        is_good = zs_json_uint64(size, &sizes[i]) && sizes[i] > 0;
    if (is_good)
        return ZS_OK;
    char *text = list != NULL ? zs_json_print(list) : NULL;
    (void)zs_fail(err, ZS_INVALID, "%s: expected a list of %d positive sizes, found %.100s", name, n,
                  text != NULL ? text : "no such member");
    free(text);
    return ZS_INVALID;
}

/* Reads the sharding storage transformer; there is no other one. */
static enum zs_status read_transformers(const zs_json *draft, struct array_layout *array, struct zs_error *err)
{
    const zs_json *list = zs_json_get(draft, "storage_transformers"), *first = zs_json_first(list);
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
    static const char *const known[] = {"chunks_per_shard", NULL};
    const enum zs_status status = zs_members_check(zs_json_get(first, "configuration"), known, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "storage transformer \"%.100s\"", name);
    const zs_json *per_shard = zs_json_get(zs_json_get(first, "configuration"), "chunks_per_shard");
    uint64_t one;
    array->is_sharded = true;
    if (array->ndim == 0 && zs_json_size(per_shard) == 1 && zs_json_uint64(zs_json_first(per_shard), &one) && one == 1)
        return ZS_OK; /* as zarr-python writes it */
    return read_sizes(per_shard, "storage_transformers: chunks_per_shard", array->ndim, array->per_shard, err);
}

static enum zs_status read_grid(const zs_json *draft, struct array_layout *array, struct zs_error *err)
{
    const zs_json *grid = zs_json_get(draft, "chunk_grid"), *shape = zs_json_get(draft, "shape");
    if (!zs_json_is_array(shape))
        return zs_fail_found(err, ZS_INVALID, shape, "shape: expected an array of sizes");
    if (zs_json_size(shape) > ZS_MAX_NDIM)
        return zs_fail(err, ZS_UNSUPPORTED, "shape: expected at most %d dimensions, found %zu", ZS_MAX_NDIM,
                       zs_json_size(shape));
    array->ndim = (int)zs_json_size(shape);
    if (!zs_json_is_object(grid))
        return zs_fail_found(err, ZS_INVALID, grid, "chunk_grid: expected an object");
    if (!zs_json_equals(zs_json_get(grid, "type"), "regular"))
        return zs_fail(err, ZS_UNSUPPORTED, "chunk_grid \"%.100s\" is not supported",
                       text_of(zs_json_get(grid, "type")));
    static const char *const known[] = {"type", "chunk_shape", "separator", NULL};
    const enum zs_status status = zs_members_check(grid, known, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "chunk_grid");
    ZS_TRY(read_sizes(zs_json_get(grid, "chunk_shape"), "chunk_grid: chunk_shape", array->ndim, array->chunk, err));
    return read_transformers(draft, array, err);
}

/* Adds a shape: `factor` (may be NULL) times `sizes`. */
static enum zs_status add_shape(zs_json *parent, int ndim, const uint64_t *sizes, const uint64_t *factor,
                                struct zs_error *err)
{
    zs_json *list = zs_json_add_array(parent, "chunk_shape");
    bool is_whole = list != NULL;
    for (int d = 0; d < ndim; d++) {
        uint64_t size = sizes[d];
        if (factor != NULL && !zs_mul_u64(size, factor[d], &size))
            return zs_fail(err, ZS_INVALID,
                           "storage_transformers: chunks_per_shard[%d]: the size of a shard does not fit 64 bits", d);
        is_whole = is_whole && zs_json_add_uint64(list, NULL, size) != NULL;
    }
    return is_whole ? ZS_OK : zs_fail_memory(err);
}

static enum zs_status translate_grid(const zs_json *draft, const struct array_layout *array, zs_json *document,
                                     struct zs_error *err)
{
    const zs_json *separator = zs_json_get(zs_json_get(draft, "chunk_grid"), "separator");
    if (separator == NULL)
        separator = zs_json_get(draft, "dimension_separator");
    zs_json *grid = zs_json_add_object(document, "chunk_grid");
    zs_json_add_string(grid, "name", "regular");
    ZS_TRY(add_shape(zs_json_add_object(grid, "configuration"), array->ndim, array->chunk,
                     array->is_sharded ? array->per_shard : NULL, err));
    zs_json *keys = zs_json_add_object(document, "chunk_key_encoding");
    zs_json_add_string(keys, "name", "default");
    zs_json *configuration = zs_json_add_object(keys, "configuration");
    if (configuration == NULL ||
        (separator != NULL && zs_json_add(configuration, "separator", zs_json_copy(separator)) == NULL))
        return zs_fail_memory(err);
    return ZS_OK;
}

/* ---- Codecs ---- */

/* Adds a codec; the result is its configuration, a copy of `configuration` (may be NULL). NULL without memory. */
static zs_json *add_codec(zs_json *codecs, const char *name, const zs_json *configuration)
{
    zs_json *codec = zs_json_add_object(codecs, NULL);
    zs_json_add_string(codec, "name", name);
    return zs_json_is_object(configuration) ? zs_json_add(codec, "configuration", zs_json_copy(configuration))
                                            : zs_json_add_object(codec, "configuration");
}

static bool add_bytes(zs_json *codecs, bool is_big)
{
    return zs_json_add_string(add_codec(codecs, "bytes", NULL), "endian", is_big ? "big" : "little") != NULL;
}

/* Translates the memory order of chunks. */
static enum zs_status translate_layout(const zs_json *draft, const struct array_layout *array, zs_json *codecs,
                                       struct zs_error *err)
{
    const zs_json *layout = zs_json_get(draft, "chunk_memory_layout");
    if (layout == NULL || zs_json_equals(layout, "C"))
        return ZS_OK;
    if (!zs_json_equals(layout, "F"))
        return zs_fail(err, ZS_UNSUPPORTED, "chunk_memory_layout: expected \"C\" or \"F\", found \"%.100s\"",
                       text_of(layout));
    if (array->ndim < 2)
        return ZS_OK;
    zs_json *order = zs_json_add_array(add_codec(codecs, "transpose", NULL), "order");
    bool is_whole = order != NULL;
    for (int d = array->ndim - 1; d >= 0; d--)
        is_whole = is_whole && zs_json_add_int64(order, NULL, d) != NULL;
    return is_whole ? ZS_OK : zs_fail_memory(err);
}

/* Translates a type in a filter's configuration. The input has the byte order of the step before, the output its
 * own. */
static enum zs_status translate_filter_type(zs_json *configuration, const char *id, const char *member, bool is_output,
                                            bool *is_big, struct zs_error *err)
{
    const char *type;
    bool big = false;
    if (!zs_json_string(zs_json_get(configuration, member), &type))
        return ZS_OK;
    const char *name = number_name(type, &big);
    const bool is_byte =
        name != NULL && (strcmp(name, "int8") == 0 || strcmp(name, "uint8") == 0 || strcmp(name, "bool") == 0);
    if (name == NULL || (!is_output && !is_byte && big != *is_big))
        return zs_fail(err, ZS_UNSUPPORTED, "filter \"%.100s\": %s: \"%.40s\" is not supported here", id, member, type);
    if (is_output)
        *is_big = big;
    zs_json *holder = zs_json_new_object();
    zs_json *text = zs_json_add_string(holder, "t", name) != NULL ? zs_json_copy(zs_json_get(holder, "t")) : NULL;
    zs_json_free(holder);
    return text != NULL && zs_json_set(configuration, member, text) != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Translates the filters that zarr-python applies before the compressor: configurations of numcodecs in the
 * attributes. */
static enum zs_status translate_filters(const zs_json *draft, bool is_big, zs_json *codecs, struct zs_error *err)
{
    static const char *const of_arrays[] = {"delta", "fixedscaleoffset", "quantize", "astype", "bitround"};
    const zs_json *filters = zs_json_get(zs_json_get(draft, "attributes"), "filters");
    bool is_bytes = false;
    for (const zs_json *f = zs_json_is_array(filters) ? zs_json_first(filters) : NULL; f != NULL; f = zs_json_next(f)) {
        const char *id = text_of(zs_json_get(f, "id"));
        size_t i = 0;
        while (i < sizeof of_arrays / sizeof of_arrays[0] && strcmp(id, of_arrays[i]) != 0)
            i++;
        const bool is_of_array = i < sizeof of_arrays / sizeof of_arrays[0], is_packbits = strcmp(id, "packbits") == 0;
        if (!is_of_array && !is_packbits && !is_bytes && !add_bytes(codecs, is_big))
            return zs_fail_memory(err);
        is_bytes = is_bytes || !is_of_array;
        char *name = zs_format("numcodecs.%.100s", id);
        zs_json *configuration = name != NULL ? add_codec(codecs, name, f) : NULL;
        free(name);
        ZS_TRY_MEMORY(configuration, err);
        zs_json_remove(configuration, "id");
        if (!is_of_array)
            continue;
        ZS_TRY(translate_filter_type(configuration, id, "dtype", false, &is_big, err));
        ZS_TRY(translate_filter_type(configuration, id, "decode_dtype", false, &is_big, err));
        ZS_TRY(translate_filter_type(configuration, id, "astype", true, &is_big, err));
        ZS_TRY(translate_filter_type(configuration, id, "encode_dtype", true, &is_big, err));
    }
    return is_bytes || add_bytes(codecs, is_big) ? ZS_OK : zs_fail_memory(err);
}

/* Translates the compressor: "https://purl.org/zarr/spec/codec/gzip/1.0", or the name alone. */
static enum zs_status translate_compressor(const zs_json *draft, zs_json *codecs, struct zs_error *err)
{
    static const char *const known[] = {"gzip", "zlib", "blosc", "bz2", "lz4", "lzma", "zstd"};
    const zs_json *compressor = zs_json_get(draft, "compressor");
    if (zs_json_typeof(compressor) == ZS_JSON_NULL)
        return ZS_OK;
    const char *url = text_of(zs_json_get(compressor, "codec")), *behind = strstr(url, "/codec/");
    const char *name = behind != NULL ? behind + strlen("/codec/") : url;
    const size_t n = strcspn(name, "/");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i]) != n || strncmp(name, known[i], n) != 0)
            continue;
        char codec[32];
        (void)snprintf(codec, sizeof codec, "numcodecs.%s", known[i]);
        return add_codec(codecs, codec, zs_json_get(compressor, "configuration")) != NULL ? ZS_OK : zs_fail_memory(err);
    }
    return zs_fail(err, ZS_UNSUPPORTED, "compressor \"%.100s\" is not supported", url);
}

static enum zs_status translate_codecs(const zs_json *draft, const struct array_layout *array, zs_json *document,
                                       struct zs_error *err)
{
    zs_json *codecs = zs_json_add_array(document, "codecs");
    if (array->is_sharded) {
        zs_json *sharding = add_codec(codecs, "sharding_indexed", NULL);
        ZS_TRY(add_shape(sharding, array->ndim, array->chunk, NULL, err));
        codecs = zs_json_add_array(sharding, "codecs");
        if (!add_bytes(zs_json_add_array(sharding, "index_codecs"), false) ||
            zs_json_add_string(sharding, "index_location", "end") == NULL)
            return zs_fail_memory(err);
    }
    ZS_TRY_MEMORY(codecs, err);
    ZS_TRY(translate_layout(draft, array, codecs, err));
    ZS_TRY(translate_filters(draft, array->is_big, codecs, err));
    return translate_compressor(draft, codecs, err);
}

/* ---- The document ---- */

/* Copies a member that both formats share, if present. */
static bool copy_member(const zs_json *draft, const char *name, zs_json *document)
{
    const zs_json *member = zs_json_get(draft, name);
    return member == NULL || zs_json_add(document, name, zs_json_copy(member)) != NULL;
}

static enum zs_status translate(const zs_json *draft, zs_json *document, struct zs_error *err)
{
    struct array_layout array = {0};
    ZS_TRY(check_members(draft, err));
    ZS_TRY(zs_draft_check_extensions(draft, err));
    ZS_TRY(read_grid(draft, &array, err));
    zs_json_add_int64(document, "zarr_format", 3);
    if (zs_json_add_string(document, "node_type", "array") == NULL || !copy_member(draft, "shape", document) ||
        !copy_member(draft, "fill_value", document) || !copy_member(draft, "attributes", document))
        return zs_fail_memory(err);
    zs_json *attributes = zs_json_get_mutable(document, "attributes");
    if (zs_json_is_object(attributes))
        zs_json_remove(attributes, "filters");
    ZS_TRY(translate_type(draft, document, &array.is_big, err));
    ZS_TRY(translate_grid(draft, &array, document, err));
    return translate_codecs(draft, &array, document, err);
}

enum zs_status zs_draft_array_document(const zs_json *draft, zs_json **out, struct zs_error *err)
{
    if (!zs_json_is_object(draft))
        return zs_fail_found(err, ZS_INVALID, draft, "expected a JSON object");
    zs_json *document = zs_json_new_object();
    const enum zs_status status = document != NULL ? translate(draft, document, err) : zs_fail_memory(err);
    if (status != ZS_OK) {
        zs_json_free(document);
        return status;
    }
    *out = document;
    return ZS_OK;
}

bool zs_draft_is_sharded(const zs_json *draft)
{
    const zs_json *list = zs_json_get(draft, "storage_transformers");
    for (const zs_json *t = zs_json_is_array(list) ? zs_json_first(list) : NULL; t != NULL; t = zs_json_next(t))
        if (strstr(text_of(zs_json_get(t, "extension")), SHARDING) != NULL)
            return true;
    return false;
}
