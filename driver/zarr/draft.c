/* Stores of the draft, shown by a store of their own, which reads theirs: its documents are translations, put together
 * as text, and its keys of chunks are those of the final specification. Sources: the draft's text of 2022, and its two
 * writers, GDAL 3.6 and zarr-python 2.18. */
#include "zarr/draft.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "zarr/document.h"

#define META "meta/root"
#define DATA "data/root"
#define SHARDING "/storage_transformers/sharding/"
/* Longest piece of a translation that is put at once. */
#define MAX_PIECE 256

static const char array_kind[] = ".array.json", group_kind[] = ".group.json";

/* ZS_UNSUPPORTED for an extension that must be understood: none is known. */
static enum zs_status check_extensions(const zs_json *draft, struct zs_error *err)
{
    for (const zs_json *e = zs_json_first(zs_json_get(draft, "extensions")); e != NULL; e = zs_json_next(e)) {
        bool must_understand = true;
        (void)zs_json_bool(zs_json_get(e, "must_understand"), &must_understand);
        if (must_understand)
            return zs_fail(err, ZS_UNSUPPORTED, "extension \"%.100s\" must be understood and is not known",
                           zs_json_text(e, "extension", "(no string)"));
    }
    return ZS_OK;
}

bool zs_draft_is_entry(const zs_json *document)
{
    return strstr(zs_json_text(document, "zarr_format", ""), ZS_DRAFT_FORMAT) != NULL;
}

static enum zs_status check_entry(const zs_json *entry, struct zs_error *err)
{
    const char *encoding = zs_json_text(entry, "metadata_encoding", ZS_DRAFT_FORMAT),
               *suffix = zs_json_text(entry, "metadata_key_suffix", ".json");
    if (strstr(encoding, ZS_DRAFT_FORMAT) == NULL)
        return zs_fail(err, ZS_UNSUPPORTED,
                       "metadata_encoding: expected \"https://" ZS_DRAFT_FORMAT "\", found \"%.100s\"", encoding);
    if (strcmp(suffix, ".json") != 0)
        return zs_fail(err, ZS_UNSUPPORTED, "metadata_key_suffix: expected \".json\", found \"%.100s\"", suffix);
    return check_extensions(entry, err);
}

/* ---- Translations of arrays ---- */

struct translation {
    const zs_json *draft;
    struct zs_buffer text;
    bool no_memory;
    int ndim;
    bool is_big; /* elements are stored as big-endian */
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
    const char *name = zs_json_is_object(given) ? zs_json_text(given, "type", "")
                                                : zs_json_text(t->draft, "data_type", "");
    if (put_type(t, name) || put_type(t, zs_json_text(given, "fallback", "")))
        return ZS_OK;
    return zs_fail_found(err, ZS_UNSUPPORTED, given, "data_type: expected one that is supported");
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
    if (first == NULL)
        return ZS_OK;
    const char *name = zs_json_text(first, "extension", "(no string)"), *type = zs_json_text(first, "type", "");
    if (strstr(name, SHARDING) == NULL || strcmp(type, "indexed") != 0 || zs_json_next(first) != NULL)
        return zs_fail(err, ZS_UNSUPPORTED,
                       "storage_transformers: expected one, of sharding and the type \"indexed\", found %zu, the first "
                       "\"%.100s\" of type \"%.40s\"",
                       zs_json_size(list), name, type);
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
    if (!zs_json_equals(zs_json_get(grid, "type"), "regular"))
        return zs_fail(err, ZS_UNSUPPORTED, "chunk_grid \"%.100s\" is not supported",
                       zs_json_text(grid, "type", "(no string)"));
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
        return zs_fail_found(err, ZS_UNSUPPORTED, layout, "chunk_memory_layout: expected \"C\" or \"F\"");
    uint64_t order[ZS_MAX_NDIM];
    for (int d = 0; d < t->ndim; d++)
        order[d] = (uint64_t)(t->ndim - 1 - d);
    put(t, "{\"name\":\"transpose\",\"configuration\":{\"order\":");
    put_sizes(t, order);
    put(t, "}},");
    return ZS_OK;
}

/* The byte order of elements. zarr-python 2 keeps numcodecs' filters in the attributes: they are not read. */
static enum zs_status translate_bytes(struct translation *t, struct zs_error *err)
{
    const zs_json *filters = zs_json_get(zs_json_get(t->draft, "attributes"), "filters");
    if (zs_json_size(filters) > 0)
        return zs_fail(err, ZS_UNSUPPORTED, "filter \"%.100s\" of numcodecs is not supported in the draft",
                       zs_json_text(zs_json_first(filters), "id", "(no string)"));
    put(t, "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"%s\"}}", t->is_big ? "big" : "little");
    return ZS_OK;
}

/* "https://purl.org/zarr/spec/codec/gzip/1.0", or the name alone. */
static enum zs_status translate_compressor(struct translation *t, struct zs_error *err)
{
    const zs_json *compressor = zs_json_get(t->draft, "compressor");
    if (zs_json_typeof(compressor) == ZS_JSON_NULL)
        return ZS_OK;
    const char *url = zs_json_text(compressor, "codec", ""), *behind = strstr(url, "/codec/");
    const char *name = behind != NULL ? behind + strlen("/codec/") : url;
    const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (n == 0 || n > MAX_PIECE / 2 || (name[n] != '\0' && name[n] != '/'))
        return zs_fail(err, ZS_UNSUPPORTED, "compressor \"%.100s\" is not supported", url);
    put(t, ",{\"name\":\"numcodecs.%.*s\"", (int)n, name);
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
    ZS_TRY(translate_bytes(t, err));
    ZS_TRY(translate_compressor(t, err));
    put(t, t->is_sharded ? "]}}]" : "]");
    return ZS_OK;
}

/* ---- Documents ---- */

/* Unknown members are refused: the draft reserves them. */
static enum zs_status translate_array(struct translation *t, struct zs_error *err)
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

/* Translates the document of a node. */
static enum zs_status translate(const zs_json *draft, bool is_array, struct zs_buffer *text, struct zs_error *err)
{
    struct translation t = {.draft = draft};
    put(&t, "{\"zarr_format\":3,\"node_type\":\"%s\"", is_array ? "array" : "group");
    const enum zs_status status = is_array ? translate_array(&t, err) : ZS_OK;
    put_value(&t, ",\"attributes\":", zs_json_get(draft, "attributes"));
    put(&t, "}");
    *text = t.text;
    return status == ZS_OK && t.no_memory ? zs_fail_memory(err) : status;
}

/* ---- The store ---- */

struct document {
    struct zs_object base;
    struct zs_buffer text;
};

static char *meta_key(const char *path, size_t n, const char *kind)
{
    return zs_format(META "%s%.*s%s", n > 0 ? "/" : "", (int)n, path, kind);
}

/* Reads the document of a node whose path has n characters, and translates it. ZS_NOT_FOUND. */
static enum zs_status read_node(struct zs_store *draft, const char *path, size_t n, bool is_array,
                                struct zs_buffer *text, struct zs_error *err)
{
    zs_json *document = NULL;
    char *key = meta_key(path, n, is_array ? array_kind : group_kind);
    ZS_TRY_MEMORY(key, err);
    enum zs_status status = zs_document_get(draft, key, &document, NULL, err);
    if (status == ZS_OK && (status = translate(document, is_array, text, err)) != ZS_OK)
        status = zs_fail_in(err, status, "%s/%s", draft->root, key);
    zs_json_free(document);
    free(key);
    return status;
}

static enum zs_status open_document(struct zs_store *store, const char *key, struct zs_object **object,
                                    struct zs_error *err)
{
    const char *name = strrchr(key, '/');
    const size_t n = name != NULL ? (size_t)(name - key) : 0;
    struct document *d = zs_calloc(1, sizeof *d);
    ZS_TRY_MEMORY(d, err);
    enum zs_status status = read_node(store->inner, key, n, true, &d->text, err);
    if (status == ZS_NOT_FOUND)
        status = read_node(store->inner, key, n, false, &d->text, err);
    if (status == ZS_NOT_FOUND && n == 0) { /* writers leave out the root's */
        static const char root[] = "{\"zarr_format\":3,\"node_type\":\"group\"}";
        status = zs_buffer_append(&d->text, root, strlen(root), err);
    }
    if (status != ZS_OK) {
        zs_buffer_free(&d->text);
        free(d);
        return status;
    }
    d->base.store = store;
    d->base.size = d->text.size;
    *object = &d->base;
    return ZS_OK;
}

/* The draft's key of a chunk: "a/c/0/3" and "a/c.0.3" are there "data/root/a/c0/3" and "data/root/a/c0.3". NULL without
 * memory. */
static char *chunk_key(const char *key)
{
    const char *end = key + strlen(key), *p = end;
    while (p > key && strchr("0123456789/.", p[-1]) != NULL)
        p--;
    const bool has_index = p > key && p[-1] == 'c' && p < end;
    return zs_format(DATA "/%.*s%s", (int)(p - key), key, has_index ? p + 1 : p);
}

static enum zs_status open_object(struct zs_store *store, const char *key, struct zs_first_read *first,
                                  struct zs_object **object, struct zs_error *err)
{
    if (zs_is_document(key))
        return open_document(store, key, object, err);
    char *mapped = chunk_key(key);
    ZS_TRY_MEMORY(mapped, err);
    enum zs_status status = zs_object_open_first(store->inner, mapped, first, object, err);
    const size_t n = strlen(mapped);
    if (status == ZS_NOT_FOUND && mapped[n - 1] == 'c') { /* of a shard without dimensions */
        char *scalar = zs_format("%s0", mapped);
        status = scalar != NULL ? zs_object_open_first(store->inner, scalar, first, object, err) : zs_fail_memory(err);
        free(scalar);
    }
    free(mapped);
    return status;
}

static enum zs_status read_document(struct zs_object *object, uint64_t offset, size_t n, void *data,
                                    struct zs_error *err)
{
    memcpy(data, ((struct document *)object)->text.data + offset, n);
    return ZS_OK;
}

static void close_document(struct zs_object *object)
{
    zs_buffer_free(&((struct document *)object)->text);
    free(object);
}

/* Lists possible nodes: a group may have a document and a folder, and is listed twice then. Chunks are not listed: what
 * has no folder of documents is an array, or an empty group. */
static enum zs_status list(struct zs_store *store, const char *prefix, char ***out, struct zs_error *err)
{
    char **found = NULL, *folder = meta_key(prefix, strlen(prefix), "");
    struct zs_names names = {0};
    ZS_TRY_MEMORY(folder, err);
    enum zs_status status = zs_store_list(store->inner, folder, &found, err);
    free(folder);
    if (status == ZS_NOT_FOUND || (status == ZS_OK && found[0] == NULL)) {
        zs_names_free(found);
        if (prefix[0] == '\0')
            return zs_names_finish(&names, ZS_OK, out, err);
        return zs_fail(err, ZS_UNSUPPORTED, "%s/%s: chunks of the draft are not listed", store->root, prefix);
    }
    ZS_TRY(status);
    for (size_t i = 0; found[i] != NULL && status == ZS_OK; i++) {
        const size_t n = strlen(found[i]), kind = strlen(array_kind); /* both have one length */
        const bool is_node = n > kind && (strcmp(found[i] + n - kind, array_kind) == 0 ||
                                          strcmp(found[i] + n - kind, group_kind) == 0);
        const size_t length = is_node ? n - kind : zs_prefix_length(found[i]);
        if (length > 0)
            status = zs_names_add(&names, zs_format("%.*s/", (int)length, found[i]), err);
    }
    zs_names_free(found);
    return zs_names_finish(&names, status, out, err);
}

static void free_store(struct zs_store *store)
{
    free(store->root);
    free(store);
}

static const struct zs_store_ops ops = {.open = open_object,
                                        .read = read_document,
                                        .close = close_document,
                                        .list = list,
                                        .free = free_store};

enum zs_status zs_draft_open(struct zs_store *draft, const zs_json *entry, struct zs_store **store,
                             struct zs_error *err)
{
    const enum zs_status status = check_entry(entry, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "%s/zarr.json", draft->root);
    struct zs_store *s = zs_calloc(1, sizeof *s);
    char *root = zs_strdup(draft->root);
    if (s == NULL || root == NULL) {
        free(s);
        free(root);
        return zs_fail_memory(err);
    }
    *s = (struct zs_store){.ops = &ops, .inner = draft, .root = root, .path = draft->path};
    s->is_remote = draft->is_remote;
    s->read_only = "is a store of the 2022 draft of Zarr v3, which is only read";
    *store = s;
    return ZS_OK;
}
