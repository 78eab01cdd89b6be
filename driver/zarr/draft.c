/* Stores of the draft: keys of documents, and their translation, which is put together as text. Sources: the draft's
 * text of 2022, and its two writers, GDAL 3.6 and zarr-python 2.18. */
#include "zarr/draft.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "zarr/document.h"
#include "zarr/name.h"

#define META "meta/root"
#define SHARDING "/storage_transformers/sharding/"
/* Longest piece of a translation that is put at once. */
#define MAX_PIECE 256

static const char *const kinds[] = {".array", ".group"};

static const char *text_of(const zs_json *node)
{
    const char *text;
    return zs_json_string(node, &text) ? text : "(no string)";
}

/* ZS_UNSUPPORTED for an extension that must be understood: none is known. */
static enum zs_status check_extensions(const zs_json *draft, struct zs_error *err)
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

/* ---- The entry point ---- */

bool zs_draft_is_entry(const zs_json *document)
{
    const char *format = NULL;
    return zs_json_string(zs_json_get(document, "zarr_format"), &format) && strstr(format, ZS_DRAFT_FORMAT) != NULL;
}

enum zs_status zs_draft_parse(const zs_json *entry, struct zs_draft *draft, struct zs_error *err)
{
    const zs_json *encoding = zs_json_get(entry, "metadata_encoding"),
                  *given = zs_json_get(entry, "metadata_key_suffix");
    const char *name = NULL, *suffix = ".json";
    (void)zs_json_string(encoding, &name);
    if (zs_json_typeof(encoding) != ZS_JSON_NULL && (name == NULL || strstr(name, ZS_DRAFT_FORMAT) == NULL))
        return zs_fail(err, ZS_UNSUPPORTED,
                       "metadata_encoding: expected \"https://" ZS_DRAFT_FORMAT "\", found \"%.100s\"",
                       name != NULL ? name : "(no string)");
    if (zs_json_typeof(given) != ZS_JSON_NULL && !zs_json_string(given, &suffix))
        return zs_fail_found(err, ZS_INVALID, given, "metadata_key_suffix: expected a string");
    const size_t n = strlen(suffix);
    if (n > ZS_DRAFT_MAX_SUFFIX || (n > 0 && (suffix[0] != '.' || !zs_is_inside_name(suffix))))
        return zs_fail(
            err, ZS_INVALID,
            "metadata_key_suffix: expected the ending of a name, of at most %d bytes, as \".json\", found \"%.100s\"",
            ZS_DRAFT_MAX_SUFFIX, suffix);
    ZS_TRY(check_extensions(entry, err));
    memcpy(draft->suffix, suffix, n + 1);
    return ZS_OK;
}

/* ---- Translations of arrays ---- */

struct translation {
    const zs_json *draft;
    struct zs_buffer text;
    bool no_memory;
    int ndim;
    bool is_big; /* elements are stored as big-endian, up to the filters so far */
    bool is_sharded;
    uint64_t chunk[ZS_MAX_NDIM], shard[ZS_MAX_NDIM];
};

static void put(struct translation *t, const char *format, ...) ZS_PRINTF(2, 3);
static void put(struct translation *t, const char *format, ...)
{
    char piece[MAX_PIECE];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    t->no_memory = t->no_memory || zs_buffer_append(&t->text, piece, strlen(piece), NULL) != ZS_OK;
}

/* Puts what comes before a value, and the value; nothing where there is none. */
static void put_value(struct translation *t, const char *before, const zs_json *value)
{
    if (value == NULL)
        return;
    char *text = zs_json_print(value);
    put(t, "%s", before);
    t->no_memory = t->no_memory || text == NULL || zs_buffer_append(&t->text, text, strlen(text), NULL) != ZS_OK;
    free(text);
}

static void put_sizes(struct translation *t, const uint64_t *sizes)
{
    for (int d = 0; d < t->ndim; d++)
        put(t, "%c%" PRIu64, d > 0 ? ',' : '[', sizes[d]);
    put(t, "%s", t->ndim > 0 ? "]" : "[]");
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

/* Puts the data type; false when there is none such here. Other types than numbers: "r16", bytes of no meaning;
 * "<M8[10us]", "<m8[s]", counts of a unit; "<U12", text of so many code points. */
static bool put_type(struct translation *t, const char *type)
{
    char unit[16] = "generic", end, rest;
    unsigned scale = 1;
    const char *name = number_name(type, &t->is_big);
    if (name == NULL && (strcmp(type, "bool") == 0 || (type[0] == 'r' && strspn(type + 1, "0123456789") > 0)))
        name = type;
    if (name != NULL) {
        put(t, ",\"data_type\":\"%.20s\"", name);
        return true;
    }
    if (type[0] != '<' && type[0] != '>')
        return false;
    t->is_big = type[0] == '>';
    if (type[1] == 'U' && type[2] >= '0' && type[2] <= '9' && sscanf(type + 2, "%8u%c", &scale, &rest) == 1) {
        put(t, ",\"data_type\":{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":%u}}", 4 * scale);
        return true;
    }
    if ((type[1] != 'M' && type[1] != 'm') || type[2] != '8')
        return false;
    if (type[3] != '\0' && (sscanf(type + 3, "[%15[A-Za-z]%c%c", unit, &end, &rest) != 2 || end != ']') &&
        (sscanf(type + 3, "[%9u%15[A-Za-z]%c%c", &scale, unit, &end, &rest) != 3 || end != ']'))
        return false;
    put(t, ",\"data_type\":{\"name\":\"numpy.%s64\",\"configuration\":{\"unit\":\"%s\",\"scale_factor\":%u}}",
        type[1] == 'M' ? "datetime" : "timedelta", unit, scale);
    return true;
}

/* A string, or an extension with its own type and a fallback. */
static enum zs_status translate_type(struct translation *t, struct zs_error *err)
{
    const zs_json *given = zs_json_get(t->draft, "data_type");
    if (given == NULL)
        return zs_fail(err, ZS_INVALID, "data_type is missing");
    if (put_type(t, text_of(zs_json_is_object(given) ? zs_json_get(given, "type") : given)) ||
        put_type(t, zs_json_text(given, "fallback", "")))
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
    put(t, ",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":");
    put_sizes(t, t->is_sharded ? t->shard : t->chunk);
    put(t, "}},\"chunk_key_encoding\":{\"name\":\"default\",\"configuration\":{");
    const zs_json *separator = zs_json_get(grid, "separator");
    put_value(t, "\"separator\":", separator != NULL ? separator : zs_json_get(t->draft, "dimension_separator"));
    put(t, "}}");
    return ZS_OK;
}

/* ---- Codecs ---- */

/* The memory order of chunks. */
static enum zs_status translate_layout(struct translation *t, struct zs_error *err)
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
    put(t, "{\"name\":\"transpose\",\"configuration\":{\"order\":");
    put_sizes(t, order);
    put(t, "}},");
    return ZS_OK;
}

/* Translates the types in a filter's configuration. The input has the byte order of the step before, the output its
 * own. */
static enum zs_status translate_filter_types(struct translation *t, const char *id, zs_json *configuration,
                                             struct zs_error *err)
{
    static const char *const members[] = {"dtype", "decode_dtype", "astype", "encode_dtype"};
    for (int i = 0; i < 4; i++) {
        const char *type;
        bool big = false, is_output = i >= 2;
        if (!zs_json_string(zs_json_get(configuration, members[i]), &type))
            continue;
        const char *name = number_name(type, &big);
        if (name == NULL || (!is_output && type[strlen(type) - 1] != '1' && big != t->is_big))
            return zs_fail(err, ZS_UNSUPPORTED, "filter \"%.100s\": %s: \"%.40s\" is not supported here", id,
                           members[i], type);
        t->is_big = is_output ? big : t->is_big;
        if (!zs_json_set_string(configuration, members[i], name))
            return zs_fail_memory(err);
    }
    return ZS_OK;
}

static void put_bytes(struct translation *t)
{
    put(t, "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"%s\"}}", t->is_big ? "big" : "little");
}

/* The filters that zarr-python applies before the compressor: configurations of numcodecs in the attributes. Those of
 * arrays come before "bytes", "packbits" takes its place. */
static enum zs_status translate_filters(struct translation *t, struct zs_error *err)
{
    static const char *const of_arrays[] = {"delta", "fixedscaleoffset", "quantize", "astype", "bitround", NULL};
    const zs_json *filters = zs_json_get(zs_json_get(t->draft, "attributes"), "filters");
    bool is_bytes = false;
    for (const zs_json *f = zs_json_is_array(filters) ? zs_json_first(filters) : NULL; f != NULL; f = zs_json_next(f)) {
        const char *id = text_of(zs_json_get(f, "id"));
        const bool is_of_array = zs_is_one_of(id, of_arrays);
        zs_json *configuration = zs_json_copy(f);
        ZS_TRY_MEMORY(configuration, err);
        zs_json_remove(configuration, "id");
        const enum zs_status status = is_of_array ? translate_filter_types(t, id, configuration, err) : ZS_OK;
        if (!is_of_array && strcmp(id, "packbits") != 0 && !is_bytes)
            put_bytes(t);
        put(t, "%s{\"name\":\"numcodecs.%.*s\"", is_of_array || strcmp(id, "packbits") == 0 ? "" : ",",
            (int)strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789_"), id);
        put_value(t, ",\"configuration\":", configuration);
        put(t, is_of_array ? "}," : "}");
        is_bytes = is_bytes || !is_of_array;
        zs_json_free(configuration);
        ZS_TRY(status);
    }
    if (!is_bytes)
        put_bytes(t);
    return ZS_OK;
}

/* "https://purl.org/zarr/spec/codec/gzip/1.0", or the name alone. */
static enum zs_status translate_compressor(struct translation *t, struct zs_error *err)
{
    static const char *const known[] = {"gzip", "zlib", "blosc", "bz2", "lz4", "lzma", "zstd"};
    const zs_json *compressor = zs_json_get(t->draft, "compressor");
    if (zs_json_typeof(compressor) == ZS_JSON_NULL)
        return ZS_OK;
    const char *url = text_of(zs_json_get(compressor, "codec")), *behind = strstr(url, "/codec/");
    const char *name = behind != NULL ? behind + strlen("/codec/") : url;
    const size_t n = strcspn(name, "/");
    size_t i = 0;
    while (i < sizeof known / sizeof known[0] && (strlen(known[i]) != n || strncmp(name, known[i], n) != 0))
        i++;
    if (i == sizeof known / sizeof known[0])
        return zs_fail(err, ZS_UNSUPPORTED, "compressor \"%.100s\" is not supported", url);
    put(t, ",{\"name\":\"numcodecs.%s\"", known[i]);
    put_value(t, ",\"configuration\":", zs_json_get(compressor, "configuration"));
    put(t, "}");
    return ZS_OK;
}

static enum zs_status translate_codecs(struct translation *t, struct zs_error *err)
{
    put(t, ",\"codecs\":[");
    if (t->is_sharded) {
        put(t, "{\"name\":\"sharding_indexed\",\"configuration\":{\"index_location\":\"end\",\"index_codecs\":[{"
               "\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}],\"chunk_shape\":");
        put_sizes(t, t->chunk);
        put(t, ",\"codecs\":[");
    }
    ZS_TRY(translate_layout(t, err));
    ZS_TRY(translate_filters(t, err));
    ZS_TRY(translate_compressor(t, err));
    put(t, t->is_sharded ? "]}}]" : "]");
    return ZS_OK;
}

/* ---- Documents ---- */

/* Unknown members are refused: the draft reserves them. */
static enum zs_status translate_members(struct translation *t, struct zs_error *err)
{
    static const char *const known[] = {
        "shape",      "data_type",  "chunk_grid",           "chunk_memory_layout", "compressor", "fill_value",
        "extensions", "attributes", "storage_transformers", "dimension_separator", NULL};
    ZS_TRY(zs_members_check(t->draft, known, err));
    ZS_TRY(check_extensions(t->draft, err));
    ZS_TRY(translate_grid(t, err));
    ZS_TRY(translate_type(t, err));
    ZS_TRY(translate_codecs(t, err));
    put_value(t, ",\"shape\":", zs_json_get(t->draft, "shape"));
    const zs_json *fill_value = zs_json_get(t->draft, "fill_value");
    if (zs_json_typeof(fill_value) != ZS_JSON_NULL) /* zero in the draft, as GDAL 3.6 writes it */
        put_value(t, ",\"fill_value\":", fill_value);
    return ZS_OK;
}

/* Translates a node's document. An array that cannot be translated keeps its attributes alone, with the error in
 * `reason`. */
static enum zs_status translate(const zs_json *draft, bool is_array, zs_json **out, struct zs_error *reason)
{
    struct translation t = {.draft = draft};
    const zs_json *given = zs_json_get(draft, "attributes");
    zs_json *attributes = given != NULL ? zs_json_copy(given) : NULL;
    if (!zs_json_is_object(draft))
        return zs_fail_found(reason, ZS_INVALID, draft, "expected a JSON object");
    const enum zs_status status = is_array ? translate_members(&t, reason) : ZS_OK;
    if (status != ZS_OK)
        t.text.size = 0;
    if (is_array)
        zs_json_remove(attributes, "filters");
    put(&t, ",\"zarr_format\":3,\"node_type\":\"%s\"", is_array ? "array" : "group");
    put_value(&t, ",\"attributes\":", attributes);
    put(&t, "}");
    struct zs_error ignored;
    enum zs_status parsed = ZS_NO_MEMORY;
    if (!t.no_memory && (given == NULL || attributes != NULL)) {
        t.text.data[0] = '{'; /* in the place of the first comma */
        parsed = zs_json_parse((const char *)t.text.data, t.text.size, out, status == ZS_OK ? reason : &ignored);
    }
    zs_buffer_free(&t.text);
    zs_json_free(attributes);
    return parsed == ZS_NO_MEMORY ? zs_fail_memory(reason) : status != ZS_OK ? status : parsed;
}

/* ---- Nodes ---- */

static char *key_of(const struct zs_draft *draft, const char *path, const char *kind)
{
    return zs_format(META "%s%s%s%s", path[0] != '\0' ? "/" : "", path, kind, draft->suffix);
}

static enum zs_status create(const char *path, const char *key, const zs_json *document, bool is_array,
                             struct zs_node **out, struct zs_error *err)
{
    struct zs_error reason = {0};
    zs_json *translated = NULL;
    struct zs_node *node;
    const enum zs_status status = translate(document, is_array, &translated, &reason);
    if (translated == NULL)
        return zs_fail(err, status, "%s: %s", key, reason.message);
    ZS_TRY(zs_node_create_at(path, key, translated, true, &node, err));
    if (status != ZS_OK) { /* the node's own message is of members that the translation lacks */
        (void)zs_fail_in(&reason, status, "%s", key);
        const enum zs_status refused = zs_node_refuse(node, status, reason.message, err);
        if (refused != ZS_OK) {
            zs_node_free(node);
            return refused;
        }
    }
    node->is_draft = true;
    if (node->array != NULL)
        node->array->is_draft = true;
    *out = node;
    return ZS_OK;
}

enum zs_status zs_draft_load(const struct zs_draft *draft, struct zs_store *store, const char *path,
                             struct zs_node **node, struct zs_error *err)
{
    enum zs_status status = ZS_NOT_FOUND;
    for (size_t i = 0; i < 2 && status == ZS_NOT_FOUND; i++) {
        zs_json *document = NULL;
        char *key = key_of(draft, path, kinds[i]);
        ZS_TRY_MEMORY(key, err);
        status = zs_document_get(store, key, &document, NULL, err);
        if (status == ZS_OK) {
            status = create(path, key, document, i == 0, node, err);
            if (status != ZS_OK)
                status = zs_fail_in(err, status, "%s", store->root);
        }
        zs_json_free(document);
        free(key);
    }
    return status;
}

/* Length of `name` before ".array.json" or ".group.json"; 0 where it ends in neither. */
static size_t stem_length(const struct zs_draft *draft, const char *name)
{
    const size_t n = strlen(name), suffix = strlen(draft->suffix);
    for (size_t i = 0; i < 2; i++) {
        const size_t end = strlen(kinds[i]) + suffix;
        if (n > end && strcmp(name + n - suffix, draft->suffix) == 0 &&
            strncmp(name + n - end, kinds[i], end - suffix) == 0)
            return n - end;
    }
    return 0;
}

enum zs_status zs_draft_list(const struct zs_draft *draft, struct zs_store *store, const char *path, char ***out,
                             struct zs_error *err)
{
    char **names;
    char *folder = zs_format(META "%s%s", path[0] != '\0' ? "/" : "", path);
    ZS_TRY_MEMORY(folder, err);
    const enum zs_status status = zs_store_list(store, folder, &names, err);
    free(folder);
    if (status != ZS_OK)
        return status;
    size_t count = 0;
    for (size_t i = 0; names[i] != NULL; i++) {
        char *name = names[i];
        const size_t n = stem_length(draft, name), length = strlen(name);
        if (n > 0)
            (void)snprintf(name + n, length + 1 - n, "/");
        names[i] = NULL;
        if (n > 0 || (length > 1 && name[length - 1] == '/'))
            names[count++] = name;
        else
            free(name);
    }
    zs_names_sort(names);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        char *name = names[i];
        names[i] = NULL;
        if (kept > 0 && strcmp(names[kept - 1], name) == 0)
            free(name);
        else
            names[kept++] = name;
    }
    *out = names;
    return ZS_OK;
}
