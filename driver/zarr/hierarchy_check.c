/* Whether an array is still the one that was opened. */
#include <stdlib.h>

#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* Members that say where chunks are and what they mean. */
static const char *const members[] = {"node_type", "data_type",          "fill_value", "chunk_grid",
                                      "codecs",    "chunk_key_encoding", "shape",      "storage_transformers"};

static enum zs_status compare(const struct zs_node *node, const struct zs_change *change, const zs_json *document,
                              struct zs_error *err)
{
    /* our own new shape is not written yet */
    const zs_json *before = change == NULL ? NULL : change->own != NULL ? change->own : change->before;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        const zs_json *now = zs_json_get(document, members[i]);
        if (!zs_json_is_same(now, zs_json_get(node->document, members[i])) &&
            (before == NULL || !zs_json_is_same(now, zs_json_get(before, members[i]))))
            return zs_fail(err, ZS_INVALID,
                           "\"%s\" is not what it was when this array was opened, somebody else changed it: no pixels "
                           "are written",
                           members[i]);
    }
    return ZS_OK;
}

static enum zs_status check(const struct zs_hierarchy *h, const struct zs_node *node, const struct zs_change *change,
                            uint64_t *version, struct zs_error *err)
{
    struct zs_object *object = NULL;
    uint64_t found = 0;
    if (!h->store->is_remote) { /* where opening costs less than reading */
        ZS_TRY(zs_object_open(h->store, node->key, &object, err));
        found = object->is_versioned ? object->version : 0;
        zs_object_close(object);
    }
    if (found != 0 && found == *version)
        return ZS_OK;
    zs_json *document = NULL;
    zs_store_forget(h->store, node->key);
    ZS_TRY(zs_document_get(h->store, node->key, &document, err));
    enum zs_status status = compare(node, change, document, err);
    zs_json_free(document);
    *version = status == ZS_OK ? found : 0;
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s/%s", h->store->root, node->key);
}

enum zs_status zs_hierarchy_check_array(const struct zs_hierarchy *h, const struct zs_node *node, uint64_t *version,
                                        struct zs_error *err)
{
    const struct zs_change *change = zs_changes_find(&h->pending, node->path);
    if (change != NULL && (change->kind != ZS_CHANGE_EDIT || change->may_be_gone))
        return ZS_OK;
    const enum zs_status status = check(h, node, change, version, err);
    if (status == ZS_NOT_FOUND)
        return zs_fail(err, ZS_INVALID, "%s/%s: this array was removed after it was opened: no pixels are written",
                       h->store->root, node->key);
    return status;
}
