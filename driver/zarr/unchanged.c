/* Checks, before chunks are written, that an array is still the one that was opened. */
#include <math.h>
#include <string.h>

#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

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

/* NaN is one value: zarr-python does not keep which of them it is. */
static bool are_same_fills(const struct zs_dtype *dtype, const zs_json *a, const zs_json *b)
{
    unsigned char x[ZS_MAX_ITEM_SIZE] = {0}, y[ZS_MAX_ITEM_SIZE] = {0};
    if (zs_fill_value_parse(dtype, a, x, NULL, NULL) != ZS_OK || zs_fill_value_parse(dtype, b, y, NULL, NULL) != ZS_OK)
        return false;
    return memcmp(x, y, sizeof x) == 0 ||
           (isnan(zs_dtype_to_double(dtype, x)) && isnan(zs_dtype_to_double(dtype, y)));
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
    return say_same(a, b) || (meta != NULL && strcmp(name, "fill_value") == 0 && are_same_fills(&meta->dtype, a, b));
}

/* ---- The check ---- */

static enum zs_status check_members(const struct zs_hierarchy_entry *entry, const struct zs_node *node,
                                    const zs_json *document, struct zs_error *err)
{
    /* which determine where chunks are stored and how they are decoded */
    static const char *const members[] = {"node_type", "data_type",          "fill_value", "chunk_grid",
                                          "codecs",    "chunk_key_encoding", "shape",      "storage_transformers",
                                          NULL};
    for (const char *const *name = members; *name != NULL; name++) {
        const zs_json *is = zs_json_get(document, *name);
        if (!zs_is_same_member(node->array, *name, is, zs_json_get(node->document, *name)) &&
            (entry == NULL || entry->before == NULL ||
             !zs_is_same_member(node->array, *name, is, zs_json_get(entry->before, *name))))
            return zs_fail(err, ZS_INVALID,
                           "\"%s\" changed since this array was opened, by another writer: no pixels are written",
                           *name);
    }
    return ZS_OK;
}

/* Checks that no other writer made a node at the path of a new one: the chunks there are not ours. A remote store is
 * not asked for each shard. */
static enum zs_status check_new(const struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_error *err)
{
    zs_json *document = NULL;
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err)); /* else its document will not be written */
    if (!hierarchy->is_new && !hierarchy->store->is_remote)
        ZS_TRY(zs_document_load(hierarchy->store, node->path, &document, NULL, err));
    if (document == NULL)
        return ZS_OK;
    zs_json_free(document);
    return zs_fail(err, ZS_INVALID,
                   "/%s: another writer made it meanwhile: it stays as it is, and no pixels are written", node->path);
}

/* Checks the stored document, unless it is of the version that was last found unchanged: on a disk opening is cheaper
 * than reading. */
static enum zs_status check_stored(struct zs_store *store, const struct zs_hierarchy_entry *entry,
                                   const struct zs_node *node, uint64_t *version, struct zs_error *err)
{
    uint64_t found = 0;
    zs_json *document = NULL;
    struct zs_object *object = NULL;
    if (!store->is_remote) {
        ZS_TRY(zs_object_open(store, node->key, &object, err));
        found = object->is_versioned ? object->version : 0;
        zs_object_close(object);
    }
    if (found != 0 && found == *version)
        return ZS_OK;
    zs_store_forget(store, node->key);
    ZS_TRY(zs_document_get(store, node->key, &document, NULL, err));
    const enum zs_status status = check_members(entry, node, document, err);
    zs_json_free(document);
    *version = status == ZS_OK ? found : 0;
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s/%s", store->root, node->key);
}

enum zs_status zs_hierarchy_check_array(const struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                        uint64_t *version, struct zs_error *err)
{
    const struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, node->path);
    if (entry != NULL && entry->change == ZS_CHANGE_NEW)
        return check_new(hierarchy, node, err);
    if (entry != NULL && entry->change == ZS_CHANGE_REMOVED)
        return ZS_OK;
    const enum zs_status status = check_stored(hierarchy->store, entry, node, version, err);
    return status != ZS_NOT_FOUND
        ? status
        : zs_fail(err, ZS_INVALID, "%s/%s: this array was removed after it was opened: no pixels are written",
                  hierarchy->store->root, node->key);
}
