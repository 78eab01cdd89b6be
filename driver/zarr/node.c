/* The nodes that documents are, and the metadata of an array: a row for each member of its zarr.json. */
#include "zarr/node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "zarr/document.h"
#include "zarr/name.h"

/* ---- Metadata of an array ---- */

/* What is parsed. */
struct parsing {
    const zs_json *document;
    struct zs_array_meta *meta;
    enum zs_meta_kind kind;
    const char *name; /* of the extension that the member is, */
    const zs_json *configuration;
};

/* Whether the product of sizes fits 64 bits. Sizes of zero are left out, so that no part of the product (a stride, a
 * number of rows) overflows either. */
static bool product_fits(const uint64_t *sizes, int n, uint64_t unit)
{
    uint64_t product = unit;
    for (int i = 0; i < n; i++)
        if (sizes[i] != 0 && !zs_mul_u64(product, sizes[i], &product))
            return false;
    return true;
}

static enum zs_status parse_shape(const zs_json *shape, struct parsing *p, struct zs_error *err)
{
    struct zs_array_meta *meta = p->meta;
    if (zs_json_size(shape) > ZS_MAX_NDIM)
        return zs_fail(err, ZS_UNSUPPORTED, "shape: expected at most %d dimensions, found %zu", ZS_MAX_NDIM,
                       zs_json_size(shape));
    for (const zs_json *size = zs_json_first(shape); size != NULL; size = zs_json_next(size), meta->ndim++)
        if (!zs_json_uint64(size, &meta->shape[meta->ndim]))
            return zs_fail_found(err, ZS_INVALID, size,
                                 "shape[%d]: expected an integer of 0 to 18446744073709551615", meta->ndim);
    return product_fits(meta->shape, meta->ndim, 1)
               ? ZS_OK
               : zs_fail_found(err, ZS_INVALID, shape, "shape: expected fewer than 2^64 elements");
}

static enum zs_status parse_type(const zs_json *type, struct parsing *p, struct zs_error *err)
{
    struct zs_array_meta *meta = p->meta;
    if (p->kind == ZS_META_TEXT)
        return zs_text_dtype_parse(type, &meta->dtype, err);
    ZS_TRY(zs_dtype_parse(type, &meta->dtype, err));
    ZS_TRY(zs_fill_value_parse(&meta->dtype, zs_json_get(p->document, "fill_value"), meta->fill_value,
                               &meta->fill_value_is_null, err));
    zs_dtype_apply_unsigned(&meta->dtype, zs_json_get(p->document, "attributes"));
    return ZS_OK;
}

static enum zs_status parse_chunk_grid(const zs_json *grid, struct parsing *p, struct zs_error *err)
{
    struct zs_array_meta *meta = p->meta;
    (void)grid;
    ZS_TRY(zs_chunk_grid_parse(p->name, p->configuration, meta, err));
    /* The number of chunks fits because the number of elements does: no chunk is smaller than an element. */
    return product_fits(meta->chunk_shape, meta->ndim, meta->dtype.size)
               ? ZS_OK
               : zs_fail_found(err, ZS_INVALID, p->configuration,
                               "chunk_grid: expected chunks of fewer than 2^64 bytes");
}

static enum zs_status parse_chunk_key_encoding(const zs_json *encoding, struct parsing *p, struct zs_error *err)
{
    static const char *const known[] = {"separator", NULL};
    struct zs_array_meta *meta = p->meta;
    const zs_json *separator = zs_json_get(p->configuration, "separator");
    (void)encoding;
    meta->key_is_v2 = strcmp(p->name, "v2") == 0;
    if (!meta->key_is_v2 && strcmp(p->name, "default") != 0)
        return zs_fail(err, ZS_UNSUPPORTED, "chunk_key_encoding \"%.100s\" is not supported", p->name);
    const enum zs_status status = zs_members_check(p->configuration, known, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "chunk_key_encoding \"%s\"", p->name);
    if (separator != NULL && !zs_json_equals(separator, "/") && !zs_json_equals(separator, "."))
        return zs_fail_found(err, ZS_INVALID, separator,
                             "chunk_key_encoding \"%s\": expected \"/\" or \".\" as separator", p->name);
    meta->key_separator = zs_json_text(p->configuration, "separator", meta->key_is_v2 ? "." : "/")[0];
    return ZS_OK;
}

static enum zs_status parse_codecs(const zs_json *codecs, struct parsing *p, struct zs_error *err)
{
    struct zs_array_meta *meta = p->meta;
    if (codecs == NULL) {
        codecs = meta->missing_codecs = zs_json_new_array();
        if (zs_json_add_string(meta->missing_codecs, NULL, "bytes") == NULL)
            return zs_fail_memory(err);
    }
    meta->codecs = codecs;
    if (!zs_json_is_array(codecs) || zs_json_first(codecs) == NULL)
        return zs_fail_found(err, ZS_INVALID, codecs, "codecs: expected an array of at least one codec");
    size_t i = 0;
    for (const zs_json *codec = zs_json_first(codecs); codec != NULL; codec = zs_json_next(codec), i++) {
        const char *name = zs_extension_name(codec, NULL);
        if (name == NULL)
            return zs_fail_found(err, ZS_INVALID, codec, "codecs[%zu]: expected a string or an object with a \"name\"",
                                 i);
        meta->is_sharded = meta->is_sharded || strcmp(name, "sharding_indexed") == 0;
    }
    return ZS_OK;
}

static enum zs_status check_storage_transformers(const zs_json *list, struct parsing *p, struct zs_error *err)
{
    (void)p;
    if (zs_json_first(list) == NULL)
        return ZS_OK;
    const char *name = zs_extension_name(zs_json_first(list), NULL);
    return zs_fail(err, ZS_UNSUPPORTED, "storage transformer \"%.100s\" is not supported", name != NULL ? name : "?");
}

static enum zs_status parse_dimension_names(const zs_json *names, struct parsing *p, struct zs_error *err)
{
    struct zs_array_meta *meta = p->meta;
    const bool is_own = names != NULL;
    int d = 0;
    if (is_own && zs_json_size(names) != (size_t)meta->ndim)
        return zs_fail(err, ZS_INVALID, "dimension_names: expected an array of %d names, found %zu entries", meta->ndim,
                       zs_json_size(names));
    if (!is_own) /* xarray's attribute in Zarr v2, which converted stores still have: an odd one is no error */
        names = zs_json_get(zs_json_get(p->document, "attributes"), "_ARRAY_DIMENSIONS");
    if (!zs_json_is_array(names) || zs_json_size(names) != (size_t)meta->ndim)
        return ZS_OK;
    for (const zs_json *c = zs_json_first(names); c != NULL; c = zs_json_next(c), d++) {
        const char *name = "";
        if (!zs_json_string(c, &name) && is_own && zs_json_typeof(c) != ZS_JSON_NULL)
            return zs_fail_found(err, ZS_INVALID, c, "dimension_names: expected strings or null");
        if (name[0] == '\0')
            continue;
        meta->dimension_names[d] = zs_strdup(name);
        ZS_TRY_MEMORY(meta->dimension_names[d], err);
    }
    return ZS_OK;
}

/* ---- The members, each after those that it needs ---- */

static const struct member {
    const char *name;
    enum { ANY, LIST, OBJECT, EXTENSION } form; /* null is like an absent one, but for an extension */
    bool is_needed;
    enum zs_status (*parse)(const zs_json *value, struct parsing *p, struct zs_error *err);
    bool is_for_keys;
} members[] = {{"storage_transformers", LIST, false, check_storage_transformers, false},
               {"attributes", OBJECT, false, NULL, false},
               {"shape", LIST, true, parse_shape, true},
               {"data_type", ANY, true, parse_type, false},
               {"chunk_grid", EXTENSION, true, parse_chunk_grid, false},
               {"chunk_key_encoding", EXTENSION, true, parse_chunk_key_encoding, true},
               {"codecs", ANY, false, parse_codecs, false},
               {"dimension_names", LIST, false, parse_dimension_names, false}};
#define MEMBER_COUNT (sizeof members / sizeof members[0])

static enum zs_status parse_member(const struct member *m, struct parsing *p, struct zs_error *err)
{
    const zs_json *value = zs_json_get(p->document, m->name);
    if (value == NULL && m->is_needed)
        return zs_fail(err, ZS_INVALID, "%s is missing", m->name);
    if (m->form == EXTENSION) {
        p->name = zs_extension_name(value, &p->configuration);
        if (p->name == NULL)
            return zs_fail_found(err, ZS_INVALID, value, "%s: expected a string or an object with a \"name\"", m->name);
        if (p->configuration != NULL && !zs_json_is_object(p->configuration))
            return zs_fail_found(err, ZS_INVALID, p->configuration,
                                 "%s \"%.100s\": expected an object as configuration", m->name, p->name);
    } else if (m->form != ANY) {
        const bool is_absent = zs_json_typeof(value) == ZS_JSON_NULL && !m->is_needed;
        if (!is_absent && !(m->form == LIST ? zs_json_is_array(value) : zs_json_is_object(value)))
            return zs_fail_found(err, ZS_INVALID, value, "%s: expected an %s", m->name,
                                 m->form == LIST ? "array" : "object");
        value = is_absent ? NULL : value;
    }
    return m->parse != NULL ? m->parse(value, p, err) : ZS_OK;
}

static enum zs_status parse(struct parsing *p, struct zs_error *err)
{
    const char *known[MEMBER_COUNT + 5] = {"zarr_format", "node_type", "fill_value", "consolidated_metadata"};
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        known[4 + i] = members[i].name;
    if (p->kind != ZS_META_KEYS)
        ZS_TRY(zs_members_check(p->document, known, err));
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        if (p->kind != ZS_META_KEYS || members[i].is_for_keys)
            ZS_TRY(parse_member(&members[i], p, err));
    return ZS_OK;
}

enum zs_status zs_array_meta_parse(const zs_json *document, enum zs_meta_kind kind, struct zs_array_meta **out,
                                   struct zs_error *err)
{
    struct parsing p = {.document = document, .meta = zs_calloc(1, sizeof **out), .kind = kind};
    ZS_TRY_MEMORY(p.meta, err);
    const enum zs_status status = parse(&p, err);
    if (status == ZS_OK)
        *out = p.meta;
    else
        zs_array_meta_free(p.meta);
    return status;
}

void zs_array_meta_free(struct zs_array_meta *meta)
{
    if (meta == NULL)
        return;
    for (int i = 0; i < ZS_MAX_NDIM; i++) {
        free(meta->dimension_names[i]);
        free(meta->edges[i]);
    }
    zs_json_free(meta->missing_codecs);
    free(meta);
}

/* ---- Nodes ---- */

static enum zs_status check_format(const zs_json *document, struct zs_error *err)
{
    const zs_json *format = zs_json_get(document, "zarr_format");
    const char *text;
    int64_t number = 0;
    if (!zs_json_is_object(document))
        return zs_fail_found(err, ZS_INVALID, document, "expected a JSON object");
    if (zs_json_int64(format, &number) && number == 3)
        return ZS_OK;
    const bool is_other = number != 0 || zs_json_string(format, &text);
    return zs_fail_found(err, is_other ? ZS_UNSUPPORTED : ZS_INVALID, format, "zarr_format: expected 3");
}

/* The empty message that all readable nodes share: a message has a kilobyte. */
static const struct zs_error no_error;

static struct zs_node *new_node(const char *path, enum zs_node_type type)
{
    struct zs_node *node = zs_calloc(1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->type = type;
    node->array_error = &no_error;
    node->path = zs_strdup(path);
    node->key = zs_document_key(path);
    if (node->path == NULL || node->key == NULL) {
        zs_node_free(node);
        return NULL;
    }
    return node;
}

/* Parses the metadata of an array; one that cannot be read keeps the reason. Fails with ZS_NO_MEMORY only. */
static enum zs_status parse_array(struct zs_node *node, struct zs_error *err)
{
    struct zs_error reason = {0};
    node->is_text = zs_text_type_of(zs_json_get(node->document, "data_type"), NULL) != ZS_TEXT_NONE;
    const enum zs_status status = zs_array_meta_parse(node->document, ZS_META_ARRAY, &node->array, &reason);
    if (status == ZS_OK)
        return ZS_OK;
    struct zs_error *kept = status != ZS_NO_MEMORY ? zs_calloc(1, sizeof *kept) : NULL;
    ZS_TRY_MEMORY(kept, err);
    (void)zs_fail_in(&reason, status, "%s", node->key);
    *kept = reason;
    node->array_status = status;
    node->array_error = kept;
    return ZS_OK;
}

enum zs_status zs_node_create(const char *path, zs_json *document, bool owns_document, struct zs_node **out,
                              struct zs_error *err)
{
    const zs_json *type = zs_json_get(document, "node_type"), *attributes = zs_json_get(document, "attributes");
    const bool is_array = zs_json_equals(type, "array");
    struct zs_node *node = new_node(path, is_array ? ZS_NODE_ARRAY : ZS_NODE_GROUP);
    if (node == NULL) {
        if (owns_document)
            zs_json_free(document);
        return zs_fail_memory(err);
    }
    node->attributes = zs_json_is_object(attributes) ? attributes : NULL;
    node->document = document;
    node->owns_document = owns_document;
    enum zs_status status = check_format(document, err);
    if (status == ZS_OK && !is_array && !zs_json_equals(type, "group"))
        status = zs_fail_found(err, ZS_INVALID, type, "node_type: expected \"array\" or \"group\"");
    if (status == ZS_OK && is_array)
        status = parse_array(node, err);
    if (status == ZS_OK) {
        *out = node;
        return ZS_OK;
    }
    (void)zs_fail_in(err, status, "%s", node->key);
    zs_node_free(node);
    return status;
}

enum zs_status zs_node_create_implicit(const char *path, struct zs_node **out, struct zs_error *err)
{
    zs_json *document = zs_group_document();
    ZS_TRY_MEMORY(document, err);
    ZS_TRY(zs_node_create(path, document, true, out, err));
    (*out)->is_implicit = true;
    return ZS_OK;
}

/* ---- Values that say the same ---- */

static bool say_same(const zs_json *a, const zs_json *b);

/* Whether the members of a configuration agree with those of another one; of those in both only with are_compared. One
 * that is absent there is taken for a default, but where it decides where bytes are. */
static bool agrees(const zs_json *configuration, const zs_json *other, const char *separator, bool are_compared)
{
    for (const zs_json *m = zs_json_first(configuration); m != NULL; m = zs_json_next(m)) {
        const char *name = zs_json_name(m);
        const zs_json *o = zs_json_get(other, name);
        if (o != NULL ? are_compared && !say_same(m, o)
                      : (strcmp(name, "separator") == 0 && !zs_json_equals(m, separator)) ||
                            (strcmp(name, "index_location") == 0 && !zs_json_equals(m, "end")))
            return false;
    }
    return true;
}

/* Whether two values, but for their data type, say the same. */
static bool say_same(const zs_json *a, const zs_json *b)
{
    int64_t i, j;
    double d, e;
    const zs_json *x = NULL, *y = NULL;
    const char *name = zs_extension_name(a, &x), *other = zs_extension_name(b, &y);
    if (name != NULL && other != NULL) {
        const char *separator = strcmp(name, "v2") == 0 ? "." : "/";
        return strcmp(name, other) == 0 && agrees(x, y, separator, true) && agrees(y, x, separator, false);
    }
    if (zs_json_is_same(a, b))
        return true;
    if (zs_json_int64(a, &i) && zs_json_int64(b, &j))
        return i == j;
    if (zs_json_double(a, &d) && zs_json_double(b, &e))
        return d == e;
    if (zs_json_typeof(a) != zs_json_typeof(b) || zs_json_size(a) != zs_json_size(b) || zs_json_size(a) == 0)
        return false;
    y = zs_json_first(b);
    for (x = zs_json_first(a); x != NULL; x = zs_json_next(x), y = zs_json_next(y))
        if (!say_same(x, zs_json_is_object(b) ? zs_json_get(b, zs_json_name(x)) : y))
            return false;
    return true;
}

/* Compares elements of the type, bit by bit, where both are some. NaN is one value, also as a part of a complex number:
 * zarr-python does not keep which of them it is. */
static bool are_same_fills(const struct zs_dtype *dtype, const zs_json *a, const zs_json *b)
{
    unsigned char x[ZS_MAX_ITEM_SIZE] = {0}, y[ZS_MAX_ITEM_SIZE] = {0};
    bool are_same = true;
    if (zs_fill_value_parse(dtype, a, x, NULL, NULL) != ZS_OK || zs_fill_value_parse(dtype, b, y, NULL, NULL) != ZS_OK)
        return say_same(a, b);
    for (size_t i = 0; i < dtype->size && are_same; i += dtype->swap_unit)
        are_same = memcmp(x + i, y + i, dtype->swap_unit) == 0 ||
                   (isnan(zs_dtype_to_double(dtype, x + i)) && isnan(zs_dtype_to_double(dtype, y + i)));
    return are_same;
}

/* Units have default factors, and microseconds several names. */
static bool are_same_types(const zs_json *a, const zs_json *b)
{
    struct zs_dtype x, y;
    if (zs_dtype_parse(a, &x, NULL) != ZS_OK || zs_dtype_parse(b, &y, NULL) != ZS_OK)
        return say_same(a, b);
    return strcmp(x.name, y.name) == 0 && strcmp(x.unit, y.unit) == 0 && x.unit_scale == y.unit_scale;
}

/* Whether a member has the meaning of an absent one. */
static bool has_no_meaning(const char *name, const zs_json *value)
{
    static const char *const optional[] = {"attributes", "storage_transformers", "dimension_names", "fill_value", NULL};
    const enum zs_json_type type = zs_json_typeof(value);
    const zs_json *c = zs_json_first(value);
    while (c != NULL && zs_json_typeof(c) == ZS_JSON_NULL)
        c = zs_json_next(c);
    return zs_is_one_of(name, optional) && c == NULL &&
           (type == ZS_JSON_NULL || type == ZS_JSON_ARRAY || type == ZS_JSON_OBJECT);
}

bool zs_is_same_member(const struct zs_array_meta *meta, const char *name, const zs_json *a, const zs_json *b)
{
    if (has_no_meaning(name, a) || has_no_meaning(name, b))
        return has_no_meaning(name, a) && has_no_meaning(name, b);
    if (meta != NULL && strcmp(name, "fill_value") == 0)
        return are_same_fills(&meta->dtype, a, b);
    return meta != NULL && strcmp(name, "data_type") == 0 ? are_same_types(a, b) : say_same(a, b);
}

/* ---- Names of dimensions that a group has ---- */

/* Until OME-NGFF 0.6 axes are a member of the image. Since then they are those of a coordinate system: the one that the
 * transformation of a level leads to, else the first. */
static const zs_json *axes_of(const zs_json *image, const zs_json *level)
{
    const zs_json *systems = zs_json_get(image, "coordinateSystems"), *found = zs_json_first(systems);
    const zs_json *output = zs_json_get(zs_json_first(zs_json_get(level, "coordinateTransformations")), "output");
    const char *name;
    if (!zs_json_string(output, &name))
        name = zs_json_text(output, "name", NULL);
    for (const zs_json *s = found; s != NULL && name != NULL; s = zs_json_next(s))
        if (zs_json_equals(zs_json_get(s, "name"), name))
            found = s;
    return systems != NULL ? zs_json_get(found, "axes") : zs_json_get(image, "axes");
}

const zs_json *zs_image_axes(const zs_json *attributes, const char *path, int ndim)
{
    const zs_json *images = zs_json_get(zs_json_get(attributes, "ome"), "multiscales");
    if (images == NULL)
        images = zs_json_get(attributes, "multiscales"); /* before 0.5 */
    for (const zs_json *i = zs_json_is_array(images) ? zs_json_first(images) : NULL; i != NULL; i = zs_json_next(i))
        for (const zs_json *l = zs_json_first(zs_json_get(i, "datasets")); l != NULL; l = zs_json_next(l)) {
            const zs_json *axes = axes_of(i, l);
            if (zs_json_equals(zs_json_get(l, "path"), path) && zs_json_is_array(axes) &&
                zs_json_size(axes) == (size_t)ndim)
                return axes;
        }
    return NULL;
}

bool zs_node_lacks_names(const struct zs_node *node)
{
    bool lacks = node->array != NULL && node->array->ndim > 1;
    for (int d = 0; lacks && d < node->array->ndim; d++)
        lacks = node->array->dimension_names[d] == NULL;
    return lacks;
}

bool zs_node_take_names(struct zs_node *node, const struct zs_node *group)
{
    const char *below = zs_path_below(group->path, node->path), *name, *other;
    const zs_json *axes = below != NULL ? zs_image_axes(group->attributes, below, node->array->ndim) : NULL;
    for (const zs_json *a = zs_json_first(axes); a != NULL; a = zs_json_next(a)) {
        bool is_name = zs_json_string(zs_json_get(a, "name"), &name) && name[0] != '\0';
        for (const zs_json *b = zs_json_first(axes); is_name && b != a; b = zs_json_next(b))
            is_name = !zs_json_string(zs_json_get(b, "name"), &other) || strcmp(name, other) != 0;
        if (!is_name)
            return true; /* such axes name nothing */
    }
    node->array->names_are_implied = axes != NULL;
    int d = 0;
    bool ok = true;
    for (const zs_json *a = zs_json_first(axes); a != NULL && ok; a = zs_json_next(a), d++) {
        node->array->dimension_names[d] = zs_strdup(zs_json_text(a, "name", ""));
        ok = node->array->dimension_names[d] != NULL;
    }
    return ok;
}

void zs_node_free(struct zs_node *node)
{
    if (node == NULL)
        return;
    if (node->array_error != &no_error)
        free((void *)(uintptr_t)node->array_error);
    zs_array_meta_free(node->array);
    if (node->owns_document)
        zs_json_free(node->document);
    free(node->path);
    free(node->key);
    free(node);
}
