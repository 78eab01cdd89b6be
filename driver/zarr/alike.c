/* Compares members of documents by their meaning: texts differ where one writer spells out a default. */
#include <math.h>
#include <string.h>

#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

static bool are_alike(const zs_json *a, const zs_json *b, bool is_stored);

/* Whether the members of a configuration are in the other one, too. One that is absent there is taken for a default,
 * but where it decides where bytes are. */
static bool is_within(const zs_json *configuration, const zs_json *other, const char *separator, bool is_stored)
{
    for (const zs_json *m = zs_json_first(configuration); m != NULL; m = zs_json_next(m)) {
        const char *name = zs_json_name(m);
        const zs_json *o = zs_json_get(other, name);
        if (o != NULL ? !are_alike(m, o, is_stored)
                      : (strcmp(name, "separator") == 0 && !zs_json_equals(m, separator)) ||
                            (strcmp(name, "index_location") == 0 && !zs_json_equals(m, "end")))
            return false;
    }
    return true;
}

/* Whether values say the same: numbers however they are written, members in any order, extensions by name alone or with
 * a configuration. Chunks of some codecs hold the parameters of decoding. */
static bool are_alike(const zs_json *a, const zs_json *b, bool is_stored)
{
    static const char *const self_describing[] = {"blosc", "gzip", "zstd", NULL};
    int64_t i, j;
    double d, e;
    const zs_json *x = NULL, *y = NULL;
    const char *name = zs_extension_name(a, &x), *other = zs_extension_name(b, &y);
    if (zs_json_int64(a, &i) && zs_json_int64(b, &j))
        return i == j;
    if (zs_json_double(a, &d) && zs_json_double(b, &e))
        return d == e || (isnan(d) && isnan(e));
    if (name != NULL && other != NULL) {
        const char *separator = strcmp(name, "v2") == 0 ? "." : "/";
        return strcmp(name, other) == 0 &&
               ((is_stored && zs_is_one_of(name, self_describing)) ||
                (is_within(x, y, separator, is_stored) && is_within(y, x, separator, is_stored)));
    }
    if (zs_json_typeof(a) != zs_json_typeof(b) || zs_json_size(a) != zs_json_size(b) || zs_json_size(a) == 0)
        return zs_json_is_same(a, b);
    y = zs_json_first(b);
    for (x = zs_json_first(a); x != NULL; x = zs_json_next(x), y = zs_json_next(y))
        if (!are_alike(x, zs_json_is_object(b) ? zs_json_get(b, zs_json_name(x)) : y, is_stored))
            return false;
    return true;
}

/* NaN is one value: zarr-python does not keep which of them it is. */
static bool are_same_fills(const struct zs_array_meta *meta, const zs_json *a, const zs_json *b)
{
    unsigned char x[ZS_MAX_ITEM_SIZE] = {0}, y[ZS_MAX_ITEM_SIZE] = {0};
    bool is_null[2] = {false, false};
    if (meta == NULL || zs_fill_value_parse(&meta->dtype, a, x, &is_null[0], NULL) != ZS_OK ||
        zs_fill_value_parse(&meta->dtype, b, y, &is_null[1], NULL) != ZS_OK)
        return are_alike(a, b, false);
    const enum zs_data_type type = meta->dtype.type;
    const bool is_float = type == ZS_FLOAT16 || type == ZS_FLOAT32 || type == ZS_FLOAT64;
    if (is_null[0] || is_null[1])
        return is_null[0] && is_null[1];
    return memcmp(x, y, sizeof x) == 0 || (is_float && isnan(zs_dtype_to_double(&meta->dtype, x)) &&
                                           isnan(zs_dtype_to_double(&meta->dtype, y)));
}

/* Units have default factors, and microseconds several names. */
static bool are_same_types(const zs_json *a, const zs_json *b)
{
    struct zs_dtype x, y;
    return zs_dtype_parse(a, &x, NULL) == ZS_OK && zs_dtype_parse(b, &y, NULL) == ZS_OK && x.type == y.type &&
           x.size == y.size && strcmp(x.name, y.name) == 0 && strcmp(x.unit, y.unit) == 0 &&
           x.unit_scale == y.unit_scale;
}

/* Whether a member has the meaning of an absent one. */
static bool has_no_meaning(const char *name, const zs_json *value)
{
    const zs_json *c = zs_json_first(value);
    while (c != NULL && zs_json_typeof(c) == ZS_JSON_NULL)
        c = zs_json_next(c);
    const bool is_optional = strcmp(name, "attributes") == 0 || strcmp(name, "storage_transformers") == 0 ||
                             strcmp(name, "dimension_names") == 0 || strcmp(name, "fill_value") == 0;
    const enum zs_json_type type = zs_json_typeof(value);
    return is_optional && c == NULL && (type == ZS_JSON_NULL || type == ZS_JSON_ARRAY || type == ZS_JSON_OBJECT);
}

bool zs_is_alike(const struct zs_array_meta *meta, const char *member, const zs_json *a, const zs_json *b,
                 bool is_stored)
{
    if (strcmp(member, "consolidated_metadata") == 0)
        return true;
    if (has_no_meaning(member, a) || has_no_meaning(member, b))
        return has_no_meaning(member, a) && has_no_meaning(member, b);
    if (strcmp(member, "fill_value") == 0)
        return are_same_fills(meta, a, b);
    return (strcmp(member, "data_type") == 0 && are_same_types(a, b)) || are_alike(a, b, is_stored);
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
        if (!zs_is_alike(node->array, *name, is, zs_json_get(node->document, *name), true) &&
            (change == NULL || !zs_is_alike(node->array, *name, is, zs_json_get(change->before, *name), true)))
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
    ZS_TRY(zs_document_get(hierarchy->store, node->key, &document, NULL, err));
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
