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
#define BYTES(endian) "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"" endian "\"}}"

static const char array_kind[] = ".array.json", group_kind[] = ".group.json";

bool zs_draft_is_entry(const zs_json *document)
{
    return strstr(zs_json_text(document, "zarr_format", ""), ZS_DRAFT_FORMAT) != NULL;
}

/* ZS_UNSUPPORTED for extensions: all that zarr-python and GDAL write is an empty list. */
static enum zs_status check_extensions(const zs_json *draft, struct zs_error *err)
{
    const zs_json *extensions = zs_json_get(draft, "extensions");
    return zs_json_size(extensions) == 0 ? ZS_OK
                                         : zs_fail_found(err, ZS_UNSUPPORTED, extensions, "extensions: expected none");
}

enum zs_status zs_draft_check_entry(const zs_json *entry, struct zs_error *err)
{
    const zs_json *encoding = zs_json_get(entry, "metadata_encoding");
    const zs_json *suffix = zs_json_get(entry, "metadata_key_suffix");
    if (encoding != NULL && strstr(zs_json_text(entry, "metadata_encoding", ""), ZS_DRAFT_FORMAT) == NULL)
        return zs_fail_found(err, ZS_UNSUPPORTED, encoding, "metadata_encoding: expected \"" ZS_DRAFT_FORMAT "\"");
    if (suffix != NULL && !zs_json_equals(suffix, ".json"))
        return zs_fail_found(err, ZS_UNSUPPORTED, suffix, "metadata_key_suffix: expected \".json\"");
    return check_extensions(entry, err);
}

/* ---- Members of an array ---- */

/* Prints the data type that a type of numpy is: "|b1", "<i2"; "" for one that is not read. */
static void print_type(const char *type, char *text, size_t size)
{
    static const char *const numbers[] = {"iint", "uuint", "ffloat", "ccomplex"};
    const bool is_ordered = type[0] == '<' || type[0] == '>';
    const char *code = type + (is_ordered || type[0] == '|');
    unsigned n = 0;
    char rest;
    text[0] = '\0';
    if (strcmp(code, "b1") == 0 || strcmp(type, "bool") == 0)
        (void)snprintf(text, size, "bool");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (code[0] == numbers[i][0] && code[1] > '0' && code[1] <= '9' &&
            sscanf(code + 1, "%2u%c", &n, &rest) == 1 && (is_ordered || n == 1))
            (void)snprintf(text, size, "%s%u", numbers[i] + 1, 8 * n);
}

/* Copies what is there; false without memory. */
static bool add_copy(zs_json *made, const char *name, const zs_json *value)
{
    return value == NULL || zs_json_add(made, name, zs_json_copy(value)) != NULL;
}

/* Adds the data type: a string in the draft, or an extension with its own type. */
static enum zs_status add_type(zs_json *made, const zs_json *draft, bool *is_big, struct zs_error *err)
{
    const zs_json *given = zs_json_get(draft, "data_type");
    const bool is_extension = zs_json_is_object(given);
    const char *type = zs_json_text(is_extension ? given : draft, is_extension ? "type" : "data_type", "");
    char text[24];
    struct zs_dtype dtype;
    if (given == NULL)
        return zs_fail(err, ZS_INVALID, "data_type is missing");
    print_type(type, text, sizeof text);
    *is_big = type[0] == '>';
    if (zs_dtype_parse(zs_json_add_string(made, "data_type", text), &dtype, NULL) != ZS_OK)
        return zs_fail_found(err, ZS_UNSUPPORTED, given, "data_type: expected one that is supported");
    return ZS_OK;
}

/* Finds the list of how many chunks a shard has; NULL without the storage transformer of sharding. There is no other
 * one. */
static enum zs_status find_sharding(const zs_json *draft, const zs_json **per_shard, struct zs_error *err)
{
    static const char *const known[] = {"chunks_per_shard", NULL};
    const zs_json *list = zs_json_get(draft, "storage_transformers"), *first = zs_json_first(list);
    const zs_json *configuration = zs_json_get(first, "configuration");
    *per_shard = zs_json_get(configuration, "chunks_per_shard");
    if (first == NULL)
        return ZS_OK;
    if (strstr(zs_json_text(first, "extension", ""), SHARDING) == NULL || zs_json_next(first) != NULL ||
        !zs_json_equals(zs_json_get(first, "type"), "indexed"))
        return zs_fail_found(err, ZS_UNSUPPORTED, list,
                             "storage_transformers: expected one, of sharding and the type \"indexed\"");
    const enum zs_status status = zs_members_check(configuration, known, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "storage_transformers");
    return *per_shard != NULL ? ZS_OK : zs_fail(err, ZS_INVALID, "storage_transformers: chunks_per_shard is missing");
}

/* Adds the sizes of a shard, of which the draft has the numbers of chunks. */
static enum zs_status add_shard_shape(zs_json *list, const zs_json *chunk_shape, const zs_json *per_shard,
                                      struct zs_error *err)
{
    const zs_json *n = zs_json_first(per_shard);
    const size_t ndim = zs_json_size(chunk_shape);
    bool is_good = zs_json_size(per_shard) == (ndim > 0 ? ndim : 1); /* zarr-python writes [1] where there are none */
    int d = 0;
    for (const zs_json *c = zs_json_first(chunk_shape); c != NULL && is_good; c = zs_json_next(c), d++) {
        uint64_t size = 0, chunks = 0; /* what is no size is refused with the grid, as 0 is */
        (void)zs_json_uint64(c, &size);
        is_good = zs_json_uint64(n, &chunks) && chunks > 0;
        n = zs_json_next(n);
        if (!zs_mul_u64(size, chunks, &size))
            return zs_fail(err, ZS_INVALID,
                           "storage_transformers: chunks_per_shard[%d]: the size of a shard does not fit 64 bits", d);
        ZS_TRY_MEMORY(zs_json_add_uint64(list, NULL, size), err);
    }
    return is_good ? ZS_OK
                   : zs_fail_found(err, ZS_INVALID, per_shard,
                                   "storage_transformers: chunks_per_shard: expected a list of %zu positive sizes",
                                   ndim);
}

/* Adds the grid, which is that of the shards if there are some. *codecs is the list for those of a chunk: that of
 * sharding_indexed then, whose index has no checksum in the draft. */
static enum zs_status add_grid(zs_json *made, const zs_json *draft, zs_json **codecs, struct zs_error *err)
{
    static const char *const known[] = {"type", "chunk_shape", "separator", NULL};
    const zs_json *grid = zs_json_get(draft, "chunk_grid"), *chunk_shape = zs_json_get(grid, "chunk_shape"), *per_shard;
    if (!zs_json_equals(zs_json_get(grid, "type"), "regular"))
        return zs_fail(err, ZS_UNSUPPORTED, "chunk_grid \"%.100s\" is not supported",
                       zs_json_text(grid, "type", "(no string)"));
    const enum zs_status status = zs_members_check(grid, known, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "chunk_grid");
    ZS_TRY(find_sharding(draft, &per_shard, err));
    zs_json *configuration = zs_extension_add(made, "chunk_grid", "regular");
    *codecs = zs_json_add_array(made, "codecs");
    if (per_shard != NULL) {
        ZS_TRY(add_shard_shape(zs_json_add_array(configuration, "chunk_shape"), chunk_shape, per_shard, err));
        configuration = zs_extension_add(*codecs, NULL, "sharding_indexed");
        ZS_TRY_MEMORY(zs_json_add_raw(configuration, "index_codecs", "[" BYTES("little") "]"), err);
        *codecs = zs_json_add_array(configuration, "codecs");
    }
    return *codecs != NULL && add_copy(configuration, "chunk_shape", chunk_shape) ? ZS_OK : zs_fail_memory(err);
}

/* Adds the codecs of a chunk: the memory layout F is one, and so is the compressor, by its name alone or as
 * "https://purl.org/zarr/spec/codec/gzip/1.0". */
static enum zs_status add_codecs(zs_json *codecs, const zs_json *draft, bool is_big, struct zs_error *err)
{
    const zs_json *layout = zs_json_get(draft, "chunk_memory_layout"), *compressor = zs_json_get(draft, "compressor");
    const zs_json *filters = zs_json_get(zs_json_get(draft, "attributes"), "filters");
    const size_t ndim = zs_json_size(zs_json_get(draft, "shape"));
    if (zs_json_size(filters) > 0) /* zarr-python 2 keeps them in the attributes */
        return zs_fail(err, ZS_UNSUPPORTED, "filter \"%.100s\" of numcodecs is not supported in the draft",
                       zs_json_text(zs_json_first(filters), "id", "(no string)"));
    if (layout != NULL && !zs_json_equals(layout, "F") && !zs_json_equals(layout, "C"))
        return zs_fail_found(err, ZS_UNSUPPORTED, layout, "chunk_memory_layout: expected \"C\" or \"F\"");
    if (zs_json_equals(layout, "F") && ndim > 1) {
        zs_json *order = zs_json_add_array(zs_extension_add(codecs, NULL, "transpose"), "order");
        for (size_t d = ndim; d-- > 0;)
            ZS_TRY_MEMORY(zs_json_add_uint64(order, NULL, d), err);
    }
    ZS_TRY_MEMORY(zs_json_add_raw(codecs, NULL, is_big ? BYTES("big") : BYTES("little")), err);
    if (zs_json_typeof(compressor) == ZS_JSON_NULL)
        return ZS_OK;
    const char *url = zs_json_text(compressor, "codec", ""), *behind = strstr(url, "/codec/");
    const char *name = behind != NULL ? behind + strlen("/codec/") : url;
    if (name[0] == '\0')
        return zs_fail(err, ZS_UNSUPPORTED, "compressor \"%.100s\" is not supported", url);
    char codec[128];
    (void)snprintf(codec, sizeof codec, "numcodecs.%.*s", (int)strcspn(name, "/"), name);
    zs_json *made = zs_json_add_object(codecs, NULL);
    return zs_json_add_string(made, "name", codec) != NULL &&
                   add_copy(made, "configuration", zs_json_get(compressor, "configuration"))
               ? ZS_OK
               : zs_fail_memory(err);
}

/* ---- Documents ---- */

/* Fills in the document of an array; what is copied is checked there. */
static enum zs_status translate_array(zs_json *made, const zs_json *draft, struct zs_error *err)
{
    static const char *const known[] = {
        "shape",      "data_type",  "chunk_grid",           "chunk_memory_layout", "compressor", "fill_value",
        "extensions", "attributes", "storage_transformers", "dimension_separator", NULL};
    const zs_json *fill_value = zs_json_get(draft, "fill_value");
    const zs_json *separator = zs_json_get(zs_json_get(draft, "chunk_grid"), "separator");
    zs_json *codecs;
    bool is_big;
    ZS_TRY(zs_members_check(draft, known, err)); /* the draft reserves others */
    ZS_TRY(check_extensions(draft, err));
    ZS_TRY(add_type(made, draft, &is_big, err));
    ZS_TRY(add_grid(made, draft, &codecs, err));
    ZS_TRY(add_codecs(codecs, draft, is_big, err));
    if (zs_json_typeof(fill_value) == ZS_JSON_NULL) /* zero, as GDAL 3.6 writes it */
        fill_value = NULL;
    if (separator == NULL)
        separator = zs_json_get(draft, "dimension_separator");
    zs_json *keys = zs_extension_add(made, "chunk_key_encoding", "default");
    return keys != NULL && add_copy(keys, "separator", separator) && add_copy(made, "fill_value", fill_value) &&
                   add_copy(made, "shape", zs_json_get(draft, "shape"))
               ? ZS_OK
               : zs_fail_memory(err);
}

/* Translates the document of a node. *made is freed by the caller, also on failure. */
static enum zs_status translate(const zs_json *draft, bool is_array, zs_json **made, struct zs_error *err)
{
    *made = zs_json_new_object();
    zs_json_add_int64(*made, "zarr_format", 3);
    if (zs_json_add_string(*made, "node_type", is_array ? "array" : "group") == NULL ||
        !add_copy(*made, "attributes", zs_json_get(draft, "attributes")))
        return zs_fail_memory(err);
    return is_array ? translate_array(*made, draft, err) : ZS_OK;
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
