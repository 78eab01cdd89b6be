#include "zarr/alike.h"

#include <math.h>
#include <string.h>

#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* The document that is spelled, and which members count. Functions that return bool give false without memory only. */
struct spelling {
    const struct zs_array_meta *meta; /* NULL: not known */
    bool is_stored;                   /* only what stores and decodes chunks counts, not how they are encoded */
    bool is_typed;                    /* values that the codecs here get are of the array's data type */
};

/* Members that a configuration may leave out. A codec's own file reads them with the same defaults, or ignores those
 * that only an encoder needs; for these zarr-python's count, since it spells them out. */
static const struct {
    const char *extension, *member, *value;
} defaults[] = {
    {"default", "separator", "\"/\""},
    {"v2", "separator", "\".\""},
    {"bytes", "endian", "\"little\""},
    {"sharding_indexed", "index_location", "\"end\""},
    {"sharding_indexed", "index_codecs", "[\"bytes\", \"crc32c\"]"},
    {"zstd", "level", "0"},
    {"zstd", "checksum", "false"},
    {"gzip", "level", "5"},
    {"blosc", "cname", "\"zstd\""},
    {"blosc", "clevel", "5"},
    {"blosc", "blocksize", "0"},
    {"packbits", "padding_encoding", "\"none\""},
    {"scale_offset", "scale", "1"},
    {"scale_offset", "offset", "0"},
    {"cast_value", "rounding", "\"nearest-even\""},
};

/* ---- Values ---- */

/* Copies a value with its numbers printed in one way. */
static bool add_value(zs_json *parent, const char *name, const zs_json *value)
{
    int64_t i;
    uint64_t u;
    double d;
    if (zs_json_int64(value, &i))
        return zs_json_add_int64(parent, name, i) != NULL;
    if (zs_json_uint64(value, &u))
        return zs_json_add_uint64(parent, name, u) != NULL;
    if (zs_json_double(value, &d) && isfinite(d))
        return zs_json_add_double(parent, name, d) != NULL;
    if (!zs_json_is_object(value) && !zs_json_is_array(value))
        return zs_json_add(parent, name, zs_json_copy(value)) != NULL;
    zs_json *copy = zs_json_is_object(value) ? zs_json_add_object(parent, name) : zs_json_add_array(parent, name);
    bool ok = copy != NULL;
    for (const zs_json *c = zs_json_first(value); ok && c != NULL; c = zs_json_next(c))
        ok = add_value(copy, zs_json_name(c), c);
    return ok;
}

/* NaN is one value: zarr-python does not keep which of them it is. */
static bool is_nan(const struct zs_dtype *dtype, const void *value)
{
    const bool is_float = dtype->type == ZS_FLOAT16 || dtype->type == ZS_FLOAT32 || dtype->type == ZS_FLOAT64;
    return is_float && isnan(zs_dtype_to_double(dtype, value));
}

static bool add_fill_value(const struct spelling *s, zs_json *parent, const char *name, const zs_json *value)
{
    unsigned char bits[ZS_MAX_ITEM_SIZE] = {0};
    bool is_null = false;
    if (s->meta == NULL || zs_fill_value_parse(&s->meta->dtype, value, bits, &is_null, NULL) != ZS_OK)
        return add_value(parent, name, value);
    if (is_null) /* as if it were absent */
        return true;
    if (is_nan(&s->meta->dtype, bits))
        return zs_json_add_string(parent, name, "NaN") != NULL;
    return zs_fill_value_add(parent, name, &s->meta->dtype, bits) != NULL;
}

/* ---- Extensions ---- */

static bool add_extension(const struct spelling *s, zs_json *parent, const char *name, const zs_json *value);

static bool add_codecs(const struct spelling *s, zs_json *parent, const char *name, const zs_json *codecs)
{
    struct spelling inner = *s;
    zs_json *copy = zs_json_add_array(parent, name);
    bool ok = copy != NULL;
    for (const zs_json *c = zs_json_first(codecs); ok && c != NULL; c = zs_json_next(c)) {
        const char *codec = zs_extension_name(c, NULL);
        ok = add_extension(&inner, copy, NULL, c);
        /* the data type is another one behind it */
        inner.is_typed = inner.is_typed && codec != NULL && strcmp(codec, "cast_value") != 0;
    }
    return ok;
}

/* Codecs within a codec. An index is of other values than the array. */
static bool add_member(const struct spelling *s, zs_json *configuration, const char *name, const zs_json *value)
{
    struct spelling inner = *s;
    inner.is_typed = s->is_typed && strcmp(name, "index_codecs") != 0;
    const bool are_codecs = strcmp(name, "codecs") == 0 || strcmp(name, "index_codecs") == 0;
    return are_codecs && zs_json_is_array(value) ? add_codecs(&inner, configuration, name, value)
                                                 : add_value(configuration, name, value);
}

static bool add_default(const struct spelling *s, zs_json *configuration, const char *member, const char *text)
{
    zs_json *holder = zs_json_new_object();
    const zs_json *value = zs_json_add_raw(holder, member, text);
    const bool ok = value != NULL && add_member(s, configuration, member, value);
    zs_json_free(holder);
    return ok;
}

/* blosc: by the size of elements, as zarr-python chooses. */
static bool add_blosc_defaults(const struct spelling *s, zs_json *configuration)
{
    const int64_t size = s->meta != NULL && s->is_typed ? (int64_t)zs_dtype_stored_size(&s->meta->dtype) : 1;
    return (zs_json_get(configuration, "typesize") != NULL ||
            zs_json_add_int64(configuration, "typesize", size) != NULL) &&
           (zs_json_get(configuration, "shuffle") != NULL ||
            zs_json_add_string(configuration, "shuffle", size == 1 ? "bitshuffle" : "shuffle") != NULL);
}

/* Elements of one byte each. */
static bool has_no_order(const struct spelling *s)
{
    return s->meta != NULL && s->is_typed &&
           (s->meta->dtype.swap_unit == 1 || zs_dtype_stored_size(&s->meta->dtype) == 1);
}

static bool add_defaults(const struct spelling *s, zs_json *configuration, const char *extension)
{
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++)
        if (strcmp(defaults[i].extension, extension) == 0 &&
            zs_json_get(configuration, defaults[i].member) == NULL &&
            !add_default(s, configuration, defaults[i].member, defaults[i].value))
            return false;
    if (strcmp(extension, "bytes") == 0 && has_no_order(s))
        zs_json_remove(configuration, "endian");
    return strcmp(extension, "blosc") != 0 || add_blosc_defaults(s, configuration);
}

/* Codecs whose chunks hold the parameters of decoding. */
static bool is_self_describing(const char *codec)
{
    return strcmp(codec, "blosc") == 0 || strcmp(codec, "gzip") == 0 || strcmp(codec, "zstd") == 0;
}

static bool add_configuration(const struct spelling *s, zs_json *parent, const char *extension,
                              const zs_json *configuration)
{
    zs_json *copy = zs_json_add_object(parent, "configuration");
    bool ok = copy != NULL;
    if (s->is_stored && is_self_describing(extension))
        return ok;
    for (const zs_json *m = zs_json_first(configuration); ok && m != NULL; m = zs_json_next(m))
        ok = zs_json_typeof(m) == ZS_JSON_NULL || add_member(s, copy, zs_json_name(m), m);
    return ok && add_defaults(s, copy, extension);
}

/* Adds an extension, which may be a name alone. */
static bool add_extension(const struct spelling *s, zs_json *parent, const char *name, const zs_json *value)
{
    const zs_json *configuration = NULL;
    const char *extension = zs_extension_name(value, &configuration);
    if (extension == NULL || (configuration != NULL && !zs_json_is_object(configuration)))
        return add_value(parent, name, value);
    zs_json *copy = zs_json_add_object(parent, name);
    bool ok =
        zs_json_add_string(copy, "name", extension) != NULL && add_configuration(s, copy, extension, configuration);
    for (const zs_json *m = zs_json_first(value); ok && m != NULL; m = zs_json_next(m)) {
        bool is_understood = false;
        const bool is_default = strcmp(zs_json_name(m), "must_understand") == 0 && zs_json_bool(m, &is_understood) &&
                                is_understood;
        if (!is_default && strcmp(zs_json_name(m), "name") != 0 && strcmp(zs_json_name(m), "configuration") != 0)
            ok = add_value(copy, zs_json_name(m), m);
    }
    return ok;
}

/* Units and their factors have defaults, and microseconds several names. */
static bool add_data_type(const struct spelling *s, zs_json *parent, const char *name, const zs_json *value)
{
    struct zs_dtype dtype;
    if (zs_dtype_parse(value, &dtype, NULL) != ZS_OK || dtype.unit[0] == '\0')
        return add_extension(s, parent, name, value);
    zs_json *copy = zs_json_add_object(parent, name);
    zs_json *configuration = zs_json_add_object(copy, "configuration");
    return zs_json_add_string(copy, "name", dtype.name) != NULL &&
           zs_json_add_string(configuration, "unit", dtype.unit) != NULL &&
           zs_json_add_int64(configuration, "scale_factor", dtype.unit_scale) != NULL;
}

/* ---- Members of a document ---- */

/* Whether a value is null, or holds nothing but that. */
static bool is_empty(const zs_json *value)
{
    const enum zs_json_type type = zs_json_typeof(value);
    const zs_json *c = zs_json_first(value);
    while (c != NULL && zs_json_typeof(c) == ZS_JSON_NULL)
        c = zs_json_next(c);
    return c == NULL && (type == ZS_JSON_NULL || type == ZS_JSON_ARRAY || type == ZS_JSON_OBJECT);
}

/* Whether a member has the meaning of an absent one. */
static bool has_no_meaning(const char *name, const zs_json *value)
{
    if (strcmp(name, "attributes") == 0)
        return zs_json_first(value) == NULL && is_empty(value);
    return strcmp(name, "consolidated_metadata") == 0 ||
           ((strcmp(name, "storage_transformers") == 0 || strcmp(name, "dimension_names") == 0) && is_empty(value));
}

static bool add_document_member(const struct spelling *s, zs_json *copy, const char *name, const zs_json *value)
{
    if (has_no_meaning(name, value))
        return true;
    if (strcmp(name, "fill_value") == 0)
        return add_fill_value(s, copy, name, value);
    if (strcmp(name, "data_type") == 0)
        return add_data_type(s, copy, name, value);
    if (strcmp(name, "chunk_grid") == 0 || strcmp(name, "chunk_key_encoding") == 0)
        return add_extension(s, copy, name, value);
    return strcmp(name, "codecs") == 0 && zs_json_is_array(value) ? add_codecs(s, copy, name, value)
                                                                  : add_value(copy, name, value);
}

zs_json *zs_spelled(const struct zs_array_meta *meta, const zs_json *document)
{
    const struct spelling s = {.meta = meta, .is_typed = true};
    zs_json *copy = zs_json_new_object();
    bool ok = copy != NULL;
    for (const zs_json *m = zs_json_first(document); ok && m != NULL; m = zs_json_next(m))
        ok = add_document_member(&s, copy, zs_json_name(m), m);
    if (ok)
        return copy;
    zs_json_free(copy);
    return NULL;
}

bool zs_is_alike(const struct zs_array_meta *meta, const char *member, const zs_json *a, const zs_json *b)
{
    if (zs_json_is_same(a, b))
        return true;
    const struct spelling s = {.meta = meta, .is_stored = true, .is_typed = true};
    zs_json *x = zs_json_new_object(), *y = zs_json_new_object();
    const bool ok = x != NULL && y != NULL && (a == NULL || add_document_member(&s, x, member, a)) &&
                    (b == NULL || add_document_member(&s, y, member, b));
    const bool alike = ok && zs_json_is_same(x, y);
    zs_json_free(x);
    zs_json_free(y);
    return alike;
}

/* ---- Checking, before chunks are written, that an array is still the one that was opened ---- */

static enum zs_status check_members(const struct zs_node *node, const struct zs_change *change,
                                    const zs_json *document, struct zs_error *err)
{
    /* which determine where chunks are stored and how they are decoded */
    static const char *const members[] = {"node_type", "data_type",          "fill_value", "chunk_grid",
                                          "codecs",    "chunk_key_encoding", "shape",      "storage_transformers",
                                          NULL};
    for (const char *const *name = members; *name != NULL; name++) {
        const zs_json *is = zs_json_get(document, *name);
        if (!zs_is_alike(node->array, *name, is, zs_json_get(node->document, *name)) &&
            (change == NULL || !zs_is_alike(node->array, *name, is, zs_json_get(change->before, *name))))
            return zs_fail(err, ZS_INVALID,
                           "\"%s\" changed since this array was opened, by another writer: no pixels are written",
                           *name);
    }
    return ZS_OK;
}

static enum zs_status check_document(const struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                     const struct zs_change *change, uint64_t *version, struct zs_error *err)
{
    struct zs_object *object = NULL;
    uint64_t found = 0;
    if (!hierarchy->store->is_remote) { /* opening is cheaper than reading here */
        ZS_TRY(zs_object_open(hierarchy->store, node->key, &object, err));
        found = object->is_versioned ? object->version : 0;
        zs_object_close(object);
    }
    if (found != 0 && found == *version)
        return ZS_OK;
    zs_json *document = NULL;
    zs_store_forget(hierarchy->store, node->key);
    ZS_TRY(zs_document_get(hierarchy->store, node->key, &document, err));
    enum zs_status status = check_members(node, change, document, err);
    zs_json_free(document);
    *version = status == ZS_OK ? found : 0;
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s/%s", hierarchy->store->root, node->key);
}

/* Fails where another writer made an array, or a group, at the path of a new one: the chunks there are not ours. */
static enum zs_status check_is_absent(const struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                      struct zs_error *err)
{
    struct zs_object *object = NULL;
    struct zs_error ignored;
    zs_store_forget(hierarchy->store, node->key);
    const enum zs_status status = zs_object_open(hierarchy->store, node->key, &object, &ignored);
    zs_object_close(object);
    if (status == ZS_NOT_FOUND)
        return ZS_OK;
    return status != ZS_OK ? zs_fail(err, status, "%s", ignored.message)
                           : zs_fail(err, ZS_INVALID,
                                     "/%s: another writer made it meanwhile: it stays as it is, and no pixels are "
                                     "written",
                                     node->path);
}

/* Whether the document of a new array is certainly not stored, unless another writer made one. A remote store is not
 * asked for each shard. */
static bool must_be_absent(const struct zs_hierarchy *hierarchy, const struct zs_change *change)
{
    return change != NULL && change->kind == ZS_CHANGE_NEW && !change->was_removed && !change->is_sent &&
           !hierarchy->is_new && !hierarchy->store->is_remote;
}

enum zs_status zs_hierarchy_check_array(const struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                        uint64_t *version, struct zs_error *err)
{
    const struct zs_change *change = zs_change_at(hierarchy, node->path);
    if (must_be_absent(hierarchy, change))
        return check_is_absent(hierarchy, node, err);
    if (change != NULL && (change->kind != ZS_CHANGE_EDIT || change->may_be_gone))
        return ZS_OK;
    const enum zs_status status = check_document(hierarchy, node, change, version, err);
    if (status == ZS_NOT_FOUND)
        return zs_fail(err, ZS_INVALID, "%s/%s: this array was removed after it was opened: no pixels are written",
                       hierarchy->store->root, node->key);
    return status;
}
