/* zarr.json documents against the specification, where readers are more patient than it is: zs_node_create() has
 * reported before what makes an array unreadable (core specification 3.1, "Array metadata", "Group metadata",
 * "Extension points"; the codecs' own pages). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "validate/validate_private.h"

/* Members of the configurations that are known here. */
static const struct extension {
    const char *name;
    const char *members[5]; /* NULL-terminated */
} extensions[] = {
    {"regular", {"chunk_shape"}},
    {"rectilinear", {"kind", "chunk_shapes"}},
    {"rectangular", {"chunk_shape"}},
    {"default", {"separator"}},
    {"v2", {"separator"}},
    {"bytes", {"endian"}},
    {"endian", {"endian"}},
    {"transpose", {"order"}},
    {"gzip", {"level"}},
    {"zstd", {"level", "checksum"}},
    {"crc32c", {NULL}},
    {"vlen-utf8", {NULL}},
    {"numpy.datetime64", {"unit", "scale_factor"}},
    {"numpy.timedelta64", {"unit", "scale_factor"}},
    {"fixed_length_utf32", {"length_bytes"}},
};
static const char *const blosc_members[] = {"cname", "clevel", "shuffle", "typesize", "blocksize", NULL};
static const char *const sharding_members[] = {"chunk_shape", "codecs", "index_codecs", "index_location", NULL};
static const char *const extension_members[] = {"name", "configuration", "must_understand", NULL};
static const char *const array_members[] = {"zarr_format",     "node_type",       "shape",      "data_type",
                                            "chunk_grid",      "chunk_key_encoding", "fill_value", "codecs",
                                            "attributes",      "dimension_names", "storage_transformers", NULL};
static const char *const group_members[] = {"zarr_format", "node_type", "attributes", "consolidated_metadata", NULL};

struct document {
    struct zs_check *c;
    const char *key;
    const struct zs_node *node;
    bool has_errors;
};

static void report(struct document *d, enum zs_severity severity, const char *what, const char *expected,
                   const char *found)
{
    d->has_errors = d->has_errors || severity == ZS_SEVERITY_ERROR;
    zs_report(d->c, severity, d->key, what, expected, found);
}

/* ---- JSON ---- */

static void check_text(struct document *d, const char *text)
{
    if (text != NULL && !zs_utf8_check(text, strlen(text), NULL))
        report(d, ZS_SEVERITY_ERROR, text, "UTF-8, as JSON is", "other bytes");
}

static void check_json(struct document *d, const zs_json *value)
{
    const char *token, *text = NULL;
    (void)zs_json_string(value, &text);
    check_text(d, text);
    check_text(d, zs_json_name(value));
    if (zs_json_number(value, &token) && (strstr(token, "NaN") != NULL || strstr(token, "Inf") != NULL))
        report(d, ZS_SEVERITY_WARNING, zs_json_name(value) != NULL ? zs_json_name(value) : "a list",
               "a number of JSON, or a string", token);
    for (const zs_json *c = zs_json_first(value); c != NULL; c = zs_json_next(c))
        check_json(d, c); /* as deep as ZS_JSON_MAX_DEPTH at most */
}

/* Checks the text that is stored: the node may be of consolidated metadata. */
static enum zs_status check_stored(struct document *d, struct zs_error *err)
{
    struct zs_buffer text = {0};
    zs_json *stored = NULL;
    enum zs_status status = zs_store_get(d->c->store, d->node->key, ZS_JSON_MAX_BYTES, &text, err);
    if (status == ZS_OK)
        status = zs_json_parse((const char *)text.data, text.size, &stored, err);
    if (status == ZS_OK)
        check_json(d, stored);
    zs_json_free(stored);
    zs_buffer_free(&text);
    return status == ZS_OK ? ZS_OK : zs_report_failure(d->c, d->key, status, err);
}

/* ---- Members ---- */

/* Members that are not in `known`: a reader that does not know them must not read the node, unless they have
 * "must_understand": false. */
static void check_members(struct document *d, const char *of, const zs_json *object, const char *const *known)
{
    for (const zs_json *m = zs_json_first(object); m != NULL; m = zs_json_next(m)) {
        bool must_understand = true;
        (void)zs_json_bool(zs_json_get(m, "must_understand"), &must_understand);
        if (!must_understand || zs_is_one_of(zs_json_name(m), known))
            continue;
        char what[128], found[128];
        snprintf(what, sizeof what, "%s", of);
        snprintf(found, sizeof found, "\"%.100s\"", zs_json_name(m));
        report(d, ZS_SEVERITY_ERROR, what, "members that the specification knows, or with \"must_understand\": false",
               found);
    }
}

static void check_codecs(struct document *d, const zs_json *codecs, size_t item_size);

/* An extension point: a name, or an object with a name and a configuration. */
static void check_extension(struct document *d, const zs_json *extension, size_t item_size)
{
    const zs_json *configuration;
    const char *name = zs_extension_name(extension, &configuration);
    if (name == NULL)
        return; /* reported by zs_node_create() */
    if (zs_json_is_object(extension))
        check_members(d, name, extension, extension_members);
    if (strcmp(name, "blosc") == 0)
        check_members(d, name, configuration, blosc_members);
    for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++)
        if (strcmp(name, extensions[i].name) == 0)
            check_members(d, name, configuration, extensions[i].members);
    if (strcmp(name, "endian") == 0)
        report(d, ZS_SEVERITY_WARNING, "codecs", "\"bytes\", as the codec is called since 2023", "\"endian\"");
    const bool is_bytes = strcmp(name, "bytes") == 0 || strcmp(name, "endian") == 0;
    if (is_bytes && item_size > 1 && zs_json_get(configuration, "endian") == NULL)
        report(d, ZS_SEVERITY_ERROR, "codec \"bytes\"", "endian, for elements of more than one byte", "no such member");
    if (strcmp(name, "sharding_indexed") == 0) {
        check_members(d, name, configuration, sharding_members);
        check_codecs(d, zs_json_get(configuration, "codecs"), item_size);
        check_codecs(d, zs_json_get(configuration, "index_codecs"), 8);
        if (zs_json_get(configuration, "index_codecs") == NULL)
            report(d, ZS_SEVERITY_ERROR, "codec \"sharding_indexed\"", "index_codecs", "no such member");
    }
}

static void check_codecs(struct document *d, const zs_json *codecs, size_t item_size)
{
    for (const zs_json *codec = zs_json_first(codecs); codec != NULL; codec = zs_json_next(codec)) {
        const zs_json *configuration = NULL;
        const char *name = zs_extension_name(codec, &configuration);
        struct zs_dtype cast;
        check_extension(d, codec, item_size);
        if (name != NULL && strcmp(name, "cast_value") == 0 &&
            zs_dtype_parse(zs_json_get(configuration, "data_type"), &cast, NULL) == ZS_OK)
            item_size = cast.swap_unit; /* of what comes to the next codec */
    }
}

static void check_array(struct document *d)
{
    const zs_json *doc = d->node->document;
    check_members(d, "array", doc, array_members);
    const zs_json *fill = zs_json_get(doc, "fill_value");
    if (fill == NULL)
        report(d, ZS_SEVERITY_ERROR, "fill_value", "a value of the data type", "no such member");
    else if (zs_json_typeof(fill) == ZS_JSON_NULL)
        report(d, ZS_SEVERITY_ERROR, "fill_value", "a value of the data type", "null");
    check_extension(d, zs_json_get(doc, "data_type"), 1);
    check_extension(d, zs_json_get(doc, "chunk_grid"), 1);
    check_extension(d, zs_json_get(doc, "chunk_key_encoding"), 1);
    if (zs_json_get(doc, "codecs") == NULL)
        report(d, ZS_SEVERITY_ERROR, "codecs", "an array of at least one codec", "no such member");
    check_codecs(d, zs_json_get(doc, "codecs"), d->node->array != NULL ? d->node->array->dtype.swap_unit : 1);
}

static void check_group(struct document *d)
{
    const zs_json *doc = d->node->document, *attributes = zs_json_get(doc, "attributes");
    check_members(d, "group", doc, group_members);
    if (zs_json_typeof(attributes) != ZS_JSON_NULL && !zs_json_is_object(attributes))
        report(d, ZS_SEVERITY_ERROR, "attributes", "an object", "something else");
}

enum zs_status zs_check_document(struct zs_check *check, const struct zs_node *node, const char *key, bool *has_errors,
                                 struct zs_error *err)
{
    struct document d = {check, key, node, false};
    const enum zs_status status = node->is_implicit ? ZS_OK : check_stored(&d, err);
    if (status == ZS_OK && node->type == ZS_NODE_ARRAY)
        check_array(&d);
    else if (status == ZS_OK)
        check_group(&d);
    *has_errors = d.has_errors;
    return status;
}
