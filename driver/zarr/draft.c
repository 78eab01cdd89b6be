/* Reads nodes of stores of the draft of Zarr v3 that GDAL 3.4 to 3.7, and zarr-python 2.13 to 2.18 with
 * ZARR_V3_EXPERIMENTAL_API=1, wrote from 2021 to 2024, before there was a codec for sharding:
 *
 *   zarr.json                       zarr_format is a URL
 *   meta/root/g.group.json          a group: attributes; often left out
 *   meta/root/g/a.array.json        an array; where the root is an array, meta/root.array.json
 *   data/root/g/a/c0/3              its chunks, or its shards
 *
 * A document becomes one of the final specification, the only one in the rest of the driver: the storage transformer
 * of sharding becomes sharding_indexed, the memory layout F a transpose, the compressor a codec. Only keys of chunks
 * stay (chunk_grid.c). Arrays with filters of numcodecs cannot be opened. Sources: the draft's text of 2022, and its
 * two writers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

#define SHARDING "/storage_transformers/sharding/"

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

enum zs_status zs_draft_open(struct zs_store *store, const zs_json *entry, struct zs_error *err)
{
    const enum zs_status status = check_entry(entry, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "%s/zarr.json", store->root);
    store->read_only = "is a store of the 2022 draft of Zarr v3, which is only read";
    return ZS_OK;
}

/* ---- Members of an array ---- */

/* An array, as one that is to be created has it. */
struct translation {
    const zs_json *draft;
    struct zs_array_spec spec;
    uint64_t shard[ZS_MAX_NDIM];
    bool is_sharded;
    zs_json *data_type; /* owned */
};

/* Prints the data_type of a type of numpy: "|b1", "<i2", "<M8[10us]"; "" for one that there is not. Times are counts
 * of a unit. */
static void print_type(const char *type, char *text, size_t size)
{
    static const char *const numbers[] = {"iint", "uuint", "ffloat", "ccomplex"};
    const bool is_ordered = type[0] == '<' || type[0] == '>';
    const char *code = type + (is_ordered || type[0] == '|');
    char unit[16] = "generic", end, rest;
    unsigned n = 0;
    text[0] = '\0';
    if (strcmp(code, "b1") == 0 || strcmp(type, "bool") == 0)
        (void)snprintf(text, size, "\"bool\"");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (code[0] == numbers[i][0] && code[1] > '0' && code[1] <= '9' &&
            sscanf(code + 1, "%2u%c", &n, &rest) == 1 && (is_ordered || n == 1))
            (void)snprintf(text, size, "\"%s%u\"", numbers[i] + 1, 8 * n);
    n = 1;
    if (is_ordered && (strncmp(code, "M8", 2) == 0 || strncmp(code, "m8", 2) == 0) &&
        (code[2] == '\0' || (sscanf(code + 2, "[%15[A-Za-z]%c%c", unit, &end, &rest) == 2 && end == ']') ||
         (sscanf(code + 2, "[%9u%15[A-Za-z]%c%c", &n, unit, &end, &rest) == 3 && end == ']')))
        (void)snprintf(text, size,
                       "{\"name\":\"numpy.%s64\",\"configuration\":{\"unit\":\"%s\",\"scale_factor\":%u}}",
                       code[0] == 'M' ? "datetime" : "timedelta", unit, n);
}

/* A string, or an extension with its own type. */
static enum zs_status translate_type(struct translation *t, struct zs_error *err)
{
    const zs_json *given = zs_json_get(t->draft, "data_type");
    const char *type = zs_json_is_object(given) ? zs_json_text(given, "type", "")
                                                : zs_json_text(t->draft, "data_type", "");
    char text[128];
    if (given == NULL)
        return zs_fail(err, ZS_INVALID, "data_type is missing");
    print_type(type, text, sizeof text);
    t->spec.encoding.is_big_endian = type[0] == '>';
    if (zs_json_parse(text, strlen(text), &t->data_type, NULL) != ZS_OK ||
        zs_dtype_parse(t->data_type, &t->spec.dtype, NULL) != ZS_OK)
        return zs_fail_found(err, ZS_UNSUPPORTED, given, "data_type: expected one that is supported");
    return ZS_OK;
}

static enum zs_status read_sizes(const zs_json *list, const char *name, int n, bool may_be_zero, uint64_t *sizes,
                                 struct zs_error *err)
{
    bool is_good = zs_json_is_array(list) && zs_json_size(list) == (size_t)n;
    for (int i = 0; i < n && is_good; i++)
        is_good = zs_json_uint64(zs_json_at(list, (size_t)i), &sizes[i]) && (sizes[i] > 0 || may_be_zero);
    return is_good ? ZS_OK
                   : zs_fail_found(err, ZS_INVALID, list, "%s: expected a list of %d %ssizes", name, n,
                                   may_be_zero ? "" : "positive ");
}

/* Reads the sharding storage transformer; there is no other one. */
static enum zs_status translate_transformers(struct translation *t, struct zs_error *err)
{
    static const char *const known[] = {"chunks_per_shard", NULL};
    const zs_json *list = zs_json_get(t->draft, "storage_transformers"), *first = zs_json_first(list);
    const zs_json *configuration = zs_json_get(first, "configuration");
    const int ndim = t->spec.ndim;
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
    if (ndim > 0 || zs_json_size(per_shard) != 1) /* zarr-python writes [1] where there are no dimensions */
        ZS_TRY(read_sizes(per_shard, "storage_transformers: chunks_per_shard", ndim, false, t->shard, err));
    for (int d = 0; d < ndim; d++)
        if (!zs_mul_u64(t->shard[d], t->spec.chunk_shape[d], &t->shard[d]))
            return zs_fail(err, ZS_INVALID,
                           "storage_transformers: chunks_per_shard[%d]: the size of a shard does not fit 64 bits", d);
    return ZS_OK;
}

static enum zs_status translate_grid(struct translation *t, struct zs_error *err)
{
    static const char *const known[] = {"type", "chunk_shape", "separator", NULL};
    const zs_json *grid = zs_json_get(t->draft, "chunk_grid"), *shape = zs_json_get(t->draft, "shape");
    struct zs_array_spec *spec = &t->spec;
    if (!zs_json_is_array(shape) || zs_json_size(shape) > ZS_MAX_NDIM)
        return zs_fail_found(err, ZS_UNSUPPORTED, shape, "shape: expected an array of at most %d sizes", ZS_MAX_NDIM);
    spec->ndim = (int)zs_json_size(shape);
    ZS_TRY(read_sizes(shape, "shape", spec->ndim, true, spec->shape, err));
    if (!zs_json_equals(zs_json_get(grid, "type"), "regular"))
        return zs_fail(err, ZS_UNSUPPORTED, "chunk_grid \"%.100s\" is not supported",
                       zs_json_text(grid, "type", "(no string)"));
    const enum zs_status status = zs_members_check(grid, known, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "chunk_grid");
    return read_sizes(zs_json_get(grid, "chunk_shape"), "chunk_grid: chunk_shape", spec->ndim, false,
                      spec->chunk_shape, err);
}

/* Appends "https://purl.org/zarr/spec/codec/gzip/1.0", or the name alone, to the codecs. */
static enum zs_status translate_compressor(const zs_json *compressor, zs_json *codecs, struct zs_error *err)
{
    if (zs_json_typeof(compressor) == ZS_JSON_NULL)
        return ZS_OK;
    const char *url = zs_json_text(compressor, "codec", ""), *behind = strstr(url, "/codec/");
    const char *name = behind != NULL ? behind + strlen("/codec/") : url;
    const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (n == 0 || n > 100 || (name[n] != '\0' && name[n] != '/'))
        return zs_fail(err, ZS_UNSUPPORTED, "compressor \"%.100s\" is not supported", url);
    char codec[128];
    const zs_json *configuration = zs_json_get(compressor, "configuration");
    (void)snprintf(codec, sizeof codec, "numcodecs.%.*s", (int)n, name);
    zs_json *made = zs_json_add_object(codecs, NULL);
    if (zs_json_add_string(made, "name", codec) == NULL ||
        (configuration != NULL && zs_json_add(made, "configuration", zs_json_copy(configuration)) == NULL))
        return zs_fail_memory(err);
    return ZS_OK;
}

/* ---- Documents ---- */

/* Reads what a translation is made of. Refuses unknown members: the draft reserves them. */
static enum zs_status read_array(struct translation *t, struct zs_error *err)
{
    static const char *const known[] = {
        "shape",      "data_type",  "chunk_grid",           "chunk_memory_layout", "compressor", "fill_value",
        "extensions", "attributes", "storage_transformers", "dimension_separator", NULL};
    const zs_json *layout = zs_json_get(t->draft, "chunk_memory_layout");
    const zs_json *filters = zs_json_get(zs_json_get(t->draft, "attributes"), "filters");
    ZS_TRY(zs_members_check(t->draft, known, err));
    ZS_TRY(check_extensions(t->draft, err));
    ZS_TRY(translate_grid(t, err));
    ZS_TRY(translate_transformers(t, err));
    ZS_TRY(translate_type(t, err));
    t->spec.encoding.is_column_major = zs_json_equals(layout, "F");
    if (layout != NULL && !t->spec.encoding.is_column_major && !zs_json_equals(layout, "C"))
        return zs_fail_found(err, ZS_UNSUPPORTED, layout, "chunk_memory_layout: expected \"C\" or \"F\"");
    if (zs_json_size(filters) > 0) /* zarr-python 2 keeps them in the attributes */
        return zs_fail(err, ZS_UNSUPPORTED, "filter \"%.100s\" of numcodecs is not supported in the draft",
                       zs_json_text(zs_json_first(filters), "id", "(no string)"));
    return ZS_OK;
}

/* Copies a member that is there; false without memory. */
static bool copy_member(zs_json *made, const zs_json *draft, const char *name)
{
    const zs_json *value = zs_json_get(draft, name);
    return value == NULL || zs_json_set(made, name, zs_json_copy(value)) != NULL;
}

/* Puts the codecs of a chunk into sharding_indexed, whose index has no checksum in the draft; false without memory. */
static bool add_sharding(const struct translation *t, zs_json *made)
{
    zs_json *codecs = zs_json_new_array(), *sharding = zs_json_add_object(codecs, NULL);
    zs_json *configuration = zs_json_add_object(sharding, "configuration");
    const bool ok =
        zs_json_add_string(sharding, "name", "sharding_indexed") != NULL &&
        zs_json_add(configuration, "chunk_shape", zs_shape_list(t->spec.chunk_shape, t->spec.ndim)) != NULL &&
        zs_json_add(configuration, "codecs", zs_json_copy(zs_json_get(made, "codecs"))) != NULL &&
        zs_json_add_raw(configuration, "index_codecs",
                        "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]") != NULL;
    if (ok)
        return zs_json_set(made, "codecs", codecs) != NULL &&
               zs_json_set(made, "chunk_grid", zs_chunk_grid_document(t->shard, t->spec.ndim)) != NULL;
    zs_json_free(codecs);
    return false;
}

static enum zs_status fill_array(const struct translation *t, zs_json *made, struct zs_error *err)
{
    const zs_json *grid = zs_json_get(t->draft, "chunk_grid"), *separator = zs_json_get(grid, "separator");
    zs_json *keys = zs_json_get_mutable(made, "chunk_key_encoding");
    if (separator == NULL)
        separator = zs_json_get(t->draft, "dimension_separator");
    ZS_TRY(translate_compressor(zs_json_get(t->draft, "compressor"), zs_json_get_mutable(made, "codecs"), err));
    zs_json_remove(made, "dimension_names"); /* they are an attribute */
    zs_json_remove(made, "fill_value");
    bool ok = zs_json_set(made, "data_type", zs_json_copy(t->data_type)) != NULL &&
              copy_member(made, t->draft, "attributes");
    if (ok && separator != NULL)
        ok = zs_json_add(zs_json_add_object(keys, "configuration"), "separator", zs_json_copy(separator)) != NULL;
    /* null is zero, as GDAL 3.6 writes it */
    if (ok && zs_json_typeof(zs_json_get(t->draft, "fill_value")) != ZS_JSON_NULL)
        ok = copy_member(made, t->draft, "fill_value");
    return ok && (!t->is_sharded || add_sharding(t, made)) ? ZS_OK : zs_fail_memory(err);
}

/* Translates the document of a node. *made is freed by the caller, also on failure. */
static enum zs_status translate(const zs_json *draft, bool is_array, zs_json **made, struct zs_error *err)
{
    struct translation t = {.draft = draft};
    enum zs_status status = is_array ? read_array(&t, err) : ZS_OK;
    if (status == ZS_OK) {
        *made = is_array ? zs_array_document(&t.spec) : zs_group_document();
        if (*made == NULL || (!is_array && !copy_member(*made, draft, "attributes")))
            status = zs_fail_memory(err);
        else if (is_array)
            status = fill_array(&t, *made, err);
    }
    zs_json_free(t.data_type);
    return status;
}

/* Reads the array or the group at a path. ZS_NOT_FOUND. */
static enum zs_status read_node(struct zs_store *store, const char *path, bool is_array, struct zs_node **node,
                                struct zs_error *err)
{
    zs_json *draft = NULL, *made = NULL;
    char *key = zs_format("meta/root%s%s%s", path[0] != '\0' ? "/" : "", path, is_array ? array_kind : group_kind);
    ZS_TRY_MEMORY(key, err);
    enum zs_status status = zs_document_get(store, key, &draft, NULL, err);
    if (status == ZS_OK && (status = translate(draft, is_array, &made, err)) != ZS_OK) {
        status = zs_fail_in(err, status, "%s/%s", store->root, key);
        zs_json_free(made);
    } else if (status == ZS_OK) {
        status = zs_node_create(path, made, true, node, err);
    }
    if (status == ZS_OK && (*node)->array != NULL)
        (*node)->array->key_is_draft = true;
    zs_json_free(draft);
    free(key);
    return status;
}

enum zs_status zs_draft_get_node(struct zs_store *store, const char *path, struct zs_node **node, struct zs_error *err)
{
    enum zs_status status = read_node(store, path, true, node, err);
    if (status == ZS_NOT_FOUND)
        status = read_node(store, path, false, node, err);
    if (status != ZS_NOT_FOUND || path[0] != '\0')
        return status;
    zs_json *group = zs_group_document(); /* writers leave out the root's */
    return group != NULL ? zs_node_create(path, group, true, node, err) : zs_fail_memory(err);
}

enum zs_status zs_draft_list(struct zs_store *store, const char *path, char ***names, struct zs_error *err)
{
    const size_t kind = strlen(array_kind); /* both have one length */
    char *folder = zs_format("meta/root%s%s", path[0] != '\0' ? "/" : "", path);
    ZS_TRY_MEMORY(folder, err);
    const enum zs_status status = zs_store_list(store, folder, names, err);
    free(folder);
    ZS_TRY(status);
    for (char **name = *names; *name != NULL; name++) {
        const size_t n = strlen(*name);
        char *end = n > kind ? *name + n - kind : NULL;
        if (end != NULL && (strcmp(end, array_kind) == 0 || strcmp(end, group_kind) == 0))
            (void)memcpy(end, "/", 2);
    }
    return ZS_OK;
}
