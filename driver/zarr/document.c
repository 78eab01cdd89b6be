#include "zarr/document.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "zarr/name.h"

zs_json *zs_shape_list(const uint64_t *shape, int ndim)
{
    zs_json *list = zs_json_new_array();
    for (int d = 0; d < ndim && list != NULL; d++)
        if (zs_json_add_uint64(list, NULL, shape[d]) == NULL) {
            zs_json_free(list);
            list = NULL;
        }
    return list;
}

zs_json *zs_name_list(const char *const *names, int ndim)
{
    zs_json *list = zs_json_new_array();
    for (int d = 0; d < ndim && list != NULL; d++)
        if ((names[d] != NULL ? zs_json_add_string(list, NULL, names[d]) : zs_json_add_null(list, NULL)) == NULL) {
            zs_json_free(list);
            list = NULL;
        }
    return list;
}

static void add_codec(zs_json *codecs, const char *name)
{
    zs_json_add_string(zs_json_add_object(codecs, NULL), "name", name);
}

static void add_bytes_codec(zs_json *codecs, size_t swap_unit, bool is_big)
{
    if (swap_unit > 1)
        zs_json_add_string(zs_extension_add(codecs, NULL, "bytes"), "endian", is_big ? "big" : "little");
    else
        add_codec(codecs, "bytes");
}

/* Bytes of a block of blosc with zstd, which would take a quarter or less. At the quick levels zstd matches four bytes
 * in sources of 128 to 256 KiB, five and more in others: numbers of four bytes that repeat need the small block.
 * Large blocks of other numbers, and of filtered ones, are smaller and take less time. */
#define SMALL_BLOCK (256 << 10)
#define LARGE_BLOCK (1 << 20)
#define LOOKS_BACK (512 << 10) /* so far zstd looks for repetition at level 1: in larger blocks it misses some */
#define MAX_QUICK_LEVEL 2
#define BITS_LEVEL 1 /* of bits that a filter has put in order level 2 makes no less, in a quarter more time */

static int zstd_block_size(const struct zs_array_spec *spec, int level)
{
    const struct zs_encoding *e = &spec->encoding;
    const bool is_quick = level <= MAX_QUICK_LEVEL, is_plain = strcmp(e->blosc_shuffle, "noshuffle") == 0;
    const size_t item = zs_dtype_stored_size(&spec->dtype);
    uint64_t chunk = item;
    int extended = 0;
    for (int d = 0; d < spec->ndim; d++) {
        extended += spec->chunk_shape[d] > 1;
        if (!zs_mul_u64(chunk, spec->chunk_shape[d], &chunk))
            chunk = UINT64_MAX;
    }
    if (extended > 2)
        return is_quick ? SMALL_BLOCK / 2 : 0;
    if (chunk <= SMALL_BLOCK || (is_plain && is_quick && item <= 4))
        return SMALL_BLOCK;
    return level == 1 ? LOOKS_BACK : LARGE_BLOCK;
}

struct zs_blosc_settings zs_blosc_settings_of(const struct zs_array_spec *spec)
{
    const struct zs_encoding *e = &spec->encoding;
    struct zs_blosc_settings s = {e->blosc_shuffle, e->level, e->blosc_blocksize};
    if (strcmp(e->blosc_cname, "zstd") != 0 || e->level < 1)
        return s;
    if (e->is_usual_level && strcmp(e->blosc_shuffle, "bitshuffle") == 0)
        s.level = BITS_LEVEL;
    if (s.block_size == 0)
        s.block_size = zstd_block_size(spec, s.level);
    return s;
}

/* Adds the codecs of a chunk: those that change elements, then bytes, a compressor, crc32c, as the encoding wants. */
static void add_chunk_codecs(zs_json *codecs, const struct zs_array_spec *spec)
{
    const struct zs_encoding *e = &spec->encoding;
    const struct zs_dtype *dtype = &spec->dtype;
    if (e->is_column_major && spec->ndim > 1) {
        zs_json *order = zs_json_add_array(zs_extension_add(codecs, NULL, "transpose"), "order");
        for (int d = spec->ndim; d-- > 0;)
            zs_json_add_int64(order, NULL, d);
    }
    if (e->keepbits > 0) /* by its older name, which zarr-python reads too */
        zs_json_add_int64(zs_extension_add(codecs, NULL, "numcodecs.bitround"), "keepbits", e->keepbits);
    if (e->is_text) /* with a configuration, as GDAL 3.13 and zarr-python write it */
        zs_extension_add(codecs, NULL, "vlen-utf8");
    else
        add_bytes_codec(codecs, dtype->is_bfloat16 ? zs_dtype_stored_size(dtype) : dtype->swap_unit, e->is_big_endian);
    const struct zs_blosc_settings blosc =
        e->compression == ZS_COMPRESS_BLOSC ? zs_blosc_settings_of(spec) : (struct zs_blosc_settings){0};
    zs_json *configuration;
    switch (e->compression) {
    case ZS_COMPRESS_NONE:
        break;
    case ZS_COMPRESS_ZSTD:
        configuration = zs_extension_add(codecs, NULL, "zstd");
        zs_json_add_int64(configuration, "level", e->level);
        zs_json_add_bool(configuration, "checksum", e->zstd_checksum);
        break;
    case ZS_COMPRESS_GZIP:
        zs_json_add_int64(zs_extension_add(codecs, NULL, "gzip"), "level", e->level);
        break;
    case ZS_COMPRESS_BLOSC:
        configuration = zs_extension_add(codecs, NULL, "blosc");
        zs_json_add_string(configuration, "cname", e->blosc_cname);
        zs_json_add_int64(configuration, "clevel", blosc.level);
        zs_json_add_string(configuration, "shuffle", blosc.shuffle);
        zs_json_add_uint64(configuration, "typesize", zs_dtype_stored_size(dtype));
        zs_json_add_int64(configuration, "blocksize", blosc.block_size);
        break;
    }
    if (e->chunk_checksum)
        add_codec(codecs, "crc32c");
}

zs_json *zs_array_document(const struct zs_array_spec *spec)
{
    zs_json *doc = zs_json_new_object();
    zs_json_add_int64(doc, "zarr_format", 3);
    zs_json_add_string(doc, "node_type", "array");
    zs_json_add(doc, "shape", zs_shape_list(spec->shape, spec->ndim));
    const bool is_text = spec->encoding.is_text;
    zs_json_add_string(doc, "data_type", is_text ? "string" : spec->dtype.name);

    const uint64_t *stored = spec->is_sharded ? spec->shard_shape : spec->chunk_shape;
    const bool has_grid = zs_chunk_grid_set(doc, stored, spec->ndim);
    zs_json *keys = zs_json_add_object(doc, "chunk_key_encoding");
    zs_json_add_string(keys, "name", "default"); /* whose separator is "/" */
    if (spec->encoding.has_dotted_keys)
        zs_json_add_string(zs_json_add_object(keys, "configuration"), "separator", ".");
    zs_json *fill = is_text ? zs_json_add_string(doc, "fill_value", "")
                            : zs_fill_value_add(doc, "fill_value", &spec->dtype, spec->fill_value);

    zs_json *codecs = zs_json_add_array(doc, "codecs");
    if (spec->is_sharded) {
        zs_json *sharding = zs_extension_add(codecs, NULL, "sharding_indexed");
        zs_json_add(sharding, "chunk_shape", zs_shape_list(spec->chunk_shape, spec->ndim));
        add_chunk_codecs(zs_json_add_array(sharding, "codecs"), spec);
        zs_json *index_codecs = zs_json_add_array(sharding, "index_codecs");
        add_bytes_codec(index_codecs, 8, false);
        add_codec(index_codecs, "crc32c");
        zs_json_add_string(sharding, "index_location", spec->encoding.index_at_start ? "start" : "end");
    } else {
        add_chunk_codecs(codecs, spec);
    }

    if (spec->ndim > 0)
        zs_json_add(doc, "dimension_names", zs_name_list(spec->dimension_names, spec->ndim));
    zs_json *attributes = zs_json_add_object(doc, "attributes");
    if (!has_grid || fill == NULL || attributes == NULL) {
        zs_json_free(doc);
        return NULL;
    }
    return doc;
}

zs_json *zs_group_document(void)
{
    zs_json *doc = zs_json_new_object();
    zs_json_add_int64(doc, "zarr_format", 3);
    zs_json_add_string(doc, "node_type", "group");
    if (zs_json_add_object(doc, "attributes") == NULL) {
        zs_json_free(doc);
        return NULL;
    }
    return doc;
}

bool zs_document_use_default_keys(zs_json *document)
{
    const char *name = zs_extension_name(zs_json_get(document, "chunk_key_encoding"), NULL);
    if (name == NULL || strcmp(name, "v2") != 0)
        return true;
    zs_json_remove(document, "chunk_key_encoding");
    zs_json *configuration = zs_extension_add(document, "chunk_key_encoding", "default");
    return zs_json_add_string(configuration, "separator", "/") != NULL;
}

char *zs_document_key(const char *path)
{
    static const char name[] = "/zarr.json";
    const size_t n = strlen(path);
    if (n == 0)
        return zs_strdup(name + 1);
    char *key = malloc(n + sizeof name); /* each node has one: four times as quick as zs_format() */
    if (key != NULL) {
        memcpy(key, path, n);
        memcpy(key + n, name, sizeof name);
    }
    return key;
}

enum zs_status zs_document_get_node(struct zs_store *store, const char *path, struct zs_node **node,
                                    struct zs_error *err)
{
    zs_json *document;
    ZS_TRY(zs_document_load(store, path, &document, NULL, err));
    if (document == NULL)
        return zs_fail(err, ZS_NOT_FOUND, "%s: there is no array or group \"%s\"", store->root, path);
    const enum zs_status status = zs_node_create(path, document, true, node, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s", store->root);
}

const char zs_found_v2[] = "expected Zarr v3, found Zarr v2, which GDAL's own driver Zarr reads; gdalmdimtranslate -of "
                           "ShardedZarr copies it to Zarr v3";

bool zs_document_is_v2(struct zs_store *store)
{
    static const char *const keys[] = {".zgroup", ".zarray", ".zmetadata"};
    bool is_there = false;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && !is_there; i++) {
        struct zs_object *object = NULL;
        is_there = zs_object_open(store, keys[i], &object, NULL) == ZS_OK;
        zs_object_close(object);
    }
    return is_there;
}

enum zs_status zs_document_get(struct zs_store *store, const char *key, zs_json **document, char **etag,
                               struct zs_error *err)
{
    struct zs_buffer text = {0};
    zs_json *parsed = NULL;
    enum zs_status status = zs_store_get_tagged(store, key, ZS_JSON_MAX_BYTES, &text, etag, err);
    if (status == ZS_OK) {
        status = text.size > 0 ? zs_json_parse((const char *)text.data, text.size, &parsed, err)
                               : zs_fail(err, ZS_CORRUPT, "is empty, expected a JSON object");
        if (status == ZS_OK && !zs_json_is_object(parsed))
            status = zs_fail_found(err, ZS_INVALID, parsed, "expected a JSON object");
        if (status != ZS_OK) /* it was cut, or a server answered with something else: damage, and no absence */
            status = zs_fail_in(err, status == ZS_INVALID ? ZS_CORRUPT : status, "%s/%s", store->root, key);
    }
    zs_buffer_free(&text);
    if (status == ZS_OK)
        *document = parsed;
    else
        zs_json_free(parsed);
    return status;
}

enum zs_status zs_document_load(struct zs_store *store, const char *path, zs_json **document, char **etag,
                                struct zs_error *err)
{
    *document = NULL;
    char *key = zs_document_key(path);
    ZS_TRY_MEMORY(key, err);
    const enum zs_status status = zs_document_get(store, key, document, etag, err);
    free(key);
    return status == ZS_NOT_FOUND ? ZS_OK : status;
}

const zs_json *zs_document_listing(const zs_json *document)
{
    const zs_json *metadata = zs_json_get(zs_json_get(document, "consolidated_metadata"), "metadata");
    return zs_json_is_object(metadata) ? metadata : NULL;
}

zs_json *zs_document_own(const zs_json *document)
{
    if (!zs_json_is_object(document))
        return zs_json_copy(document);
    zs_json *own = zs_json_new_object();
    for (const zs_json *m = zs_json_first(document); m != NULL && own != NULL; m = zs_json_next(m))
        if (strcmp(zs_json_name(m), "consolidated_metadata") != 0 &&
            zs_json_add(own, zs_json_name(m), zs_json_copy(m)) == NULL) {
            zs_json_free(own);
            own = NULL;
        }
    return own;
}

enum zs_status zs_document_print(const struct zs_store *store, const char *path, const zs_json *document, char **text,
                                 struct zs_error *err)
{
    *text = zs_json_print_pretty(document);
    ZS_TRY_MEMORY(*text, err);
    const size_t n = strlen(*text), valid = zs_utf8_length(*text, n), shown = valid < 20 ? valid : 20;
    const enum zs_status status =
        valid == n ? zs_json_parse(*text, n, NULL, err)
                   : zs_fail(err, ZS_INVALID, "expected UTF-8, found byte 0x%02x behind %.*s",
                             (unsigned char)(*text)[valid], (int)shown, *text + valid - shown);
    if (status == ZS_OK)
        return ZS_OK;
    free(*text);
    *text = NULL;
    const size_t listed = zs_json_size(zs_document_listing(document));
    if (listed > 0)
        (void)zs_fail_in(err, status, "the consolidated metadata list %zu arrays and groups, and the document would "
                         "be too large to be read (use another store, or one without consolidated metadata)", listed);
    return zs_fail_in(err, status == ZS_INVALID ? ZS_ARGUMENT : status, "%s%s%s/zarr.json is not written", store->root,
                      path[0] != '\0' ? "/" : "", path);
}

enum zs_status zs_document_put_text(struct zs_store *store, const char *path, const char *etag, const char *text,
                                    struct zs_error *err)
{
    char *key = zs_document_key(path);
    const enum zs_status status = key != NULL
                                      ? zs_store_put_over(store, key, etag, text, strlen(text), err)
                                      : zs_fail_memory(err);
    free(key);
    return status;
}

/* Whether the document is that of a 0-d array. */
static bool is_scalar(const zs_json *document)
{
    const zs_json *shape = zs_json_get(document, "shape");
    return zs_json_is_array(shape) && zs_json_size(shape) == 0;
}

static int by_group(const void *a, const void *b)
{
    const struct zs_listed *x = a, *y = b;
    const size_t m = (size_t)(zs_path_name(x->name) - x->name), n = (size_t)(zs_path_name(y->name) - y->name);
    const int parents = strncmp(x->name, y->name, m < n ? m : n);
    if (parents != 0 || m != n)
        return parents != 0 ? parents : m < n ? -1 : 1;
    const bool s = is_scalar(x->document), t = is_scalar(y->document);
    return s != t ? (s ? -1 : 1) : strcmp(x->name, y->name);
}

/* Finds the document that is put at a path, or the removal at or above it; NULL: there is neither. */
static const struct zs_listed *find_put(const struct zs_listed *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].document != NULL ? strcmp(name, list[i].name) == 0 : zs_path_is_within(name, list[i].name))
            return &list[i];
    return NULL;
}

/* Whether two documents are the same but for consolidated metadata; false without memory. */
static bool is_same(const zs_json *a, const zs_json *b)
{
    if (zs_json_is_same(a, b))
        return true;
    zs_json *x = zs_document_own(a), *y = zs_document_own(b);
    const bool is = x != NULL && y != NULL && zs_json_is_same(x, y);
    zs_json_free(x);
    zs_json_free(y);
    return is;
}

/* Adds documents (taken over) as the consolidated metadata of a group; false without memory. */
static bool add_listing(zs_json *group, zs_json *metadata)
{
    zs_json *consolidated = zs_json_add_object(group, "consolidated_metadata");
    zs_json_add_string(consolidated, "kind", "inline");
    zs_json_add_bool(consolidated, "must_understand", false);
    return zs_json_add(consolidated, "metadata", metadata) != NULL;
}

/* Sorts the documents, and lists them. Groups list nothing themselves, and say so: where they do not, zarr-python asks
 * the store for the members of an empty one. NULL without memory. */
static zs_json *list_all(struct zs_listed *all, size_t count)
{
    zs_json *metadata = zs_json_new_object();
    bool ok = metadata != NULL;
    if (count > 1)
        qsort(all, count, sizeof *all, by_group);
    for (size_t i = 0; i < count && ok; i++) {
        zs_json *document = zs_json_add(metadata, all[i].name, zs_document_own(all[i].document));
        const bool is_group = zs_json_equals(zs_json_get(document, "node_type"), "group");
        ok = document != NULL && (!is_group || add_listing(document, zs_json_new_object()));
    }
    if (ok)
        return metadata;
    zs_json_free(metadata);
    return NULL;
}

enum zs_status zs_document_consolidate(zs_json *group, const struct zs_listed *list, size_t count, bool *is_changed,
                                       struct zs_error *err)
{
    zs_json *consolidated = zs_json_get_mutable(group, "consolidated_metadata");
    const zs_json *before = zs_document_listing(group);
    struct zs_listed *all = zs_calloc(zs_json_size(before) + count + 1, sizeof *all);
    size_t n = 0, same = 0;
    bool removes = false;
    ZS_TRY_MEMORY(all, err);
    for (size_t i = 0; i < count; i++)
        if (list[i].document != NULL)
            all[n++] = list[i];
    const size_t put = n;
    for (const zs_json *m = zs_json_first(before); m != NULL; m = zs_json_next(m)) {
        const struct zs_listed *by = find_put(list, count, zs_json_name(m));
        if (by == NULL)
            all[n++] = (struct zs_listed){zs_json_name(m), m};
        else if (by->document == NULL)
            removes = true;
        else
            same += is_same(by->document, m);
    }
    const bool changes = removes || same < put;
    zs_json *listed = changes && n > 0 ? list_all(all, n) : NULL;
    free(all);
    *is_changed = *is_changed || changes;
    if (changes && n == 0)
        zs_json_remove(group, "consolidated_metadata");
    if (!changes || n == 0)
        return ZS_OK;
    const bool ok = consolidated == NULL ? add_listing(group, listed)
                                         : zs_json_set(consolidated, "metadata", listed) != NULL;
    return ok ? ZS_OK : zs_fail_memory(err);
}
