#include "zarr/node.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "zarr/document.h"
#include "zarr/name.h"

static enum zs_status check_format(const zs_json *document, struct zs_error *err)
{
    if (!zs_json_is_object(document))
        return zs_fail_found(err, ZS_INVALID, document, "expected a JSON object");
    const zs_json *format = zs_json_get(document, "zarr_format");
    const char *text;
    int64_t number;
    if (zs_json_string(format, &text))
        return zs_fail(err, ZS_UNSUPPORTED, "zarr_format: expected 3, found \"%.100s\"", text);
    if (!zs_json_int64(format, &number))
        return zs_fail_found(err, ZS_INVALID, format, "zarr_format: expected 3");
    if (number != 3)
        return zs_fail(err, ZS_UNSUPPORTED, "zarr_format: expected 3, found %lld", (long long)number);
    return ZS_OK;
}

/* The empty message that all readable nodes share: a message has a kilobyte. */
static const struct zs_error no_error;

static struct zs_node *new_node(const char *path, const char *key, enum zs_node_type type)
{
    struct zs_node *node = zs_calloc(1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->type = type;
    node->array_error = &no_error;
    node->path = zs_strdup(path);
    node->key = zs_strdup(key);
    if (node->path == NULL || node->key == NULL) {
        zs_node_free(node);
        return NULL;
    }
    return node;
}

/* Sets array_status and array_error. Fails with ZS_NO_MEMORY only. */
static enum zs_status refuse(struct zs_node *node, enum zs_status status, const struct zs_error *reason,
                             struct zs_error *err)
{
    struct zs_error *kept = zs_calloc(1, sizeof *kept);
    ZS_TRY_MEMORY(kept, err);
    *kept = *reason;
    node->array_status = status;
    node->array_error = kept;
    return ZS_OK;
}

static enum zs_status create(const char *path, const char *key, zs_json *document, bool owns_document,
                             struct zs_node **out, struct zs_error *err)
{
    struct zs_node *node = NULL;
    enum zs_status status = check_format(document, err);
    const zs_json *type = zs_json_get(document, "node_type");
    const bool is_array = zs_json_equals(type, "array");
    if (status == ZS_OK && !is_array && !zs_json_equals(type, "group"))
        status = zs_fail_found(err, ZS_INVALID, type, "node_type: expected \"array\" or \"group\"");
    if (status == ZS_OK && (node = new_node(path, key, is_array ? ZS_NODE_ARRAY : ZS_NODE_GROUP)) == NULL)
        status = zs_fail_memory(err);
    if (status == ZS_OK && is_array) {
        node->is_text = zs_text_type_of(zs_json_get(document, "data_type"), NULL) != ZS_TEXT_NONE;
        struct zs_error reason = {0};
        const enum zs_status parsed = zs_array_meta_parse(document, ZS_META_ARRAY, &node->array, &reason);
        if (parsed == ZS_NO_MEMORY) { /* temporary, so the node does not keep it */
            status = zs_fail_memory(err);
        } else if (parsed != ZS_OK) {
            (void)zs_fail_in(&reason, parsed, "%s", key);
            status = refuse(node, parsed, &reason, err);
        }
    }
    if (status != ZS_OK) {
        zs_node_free(node); /* does not have the document yet */
        if (owns_document)
            zs_json_free(document);
        return zs_fail_in(err, status, "%s", key);
    }
    const zs_json *attributes = zs_json_get(document, "attributes");
    node->attributes = zs_json_is_object(attributes) ? attributes : NULL;
    node->document = document;
    node->owns_document = owns_document;
    *out = node;
    return ZS_OK;
}

enum zs_status zs_node_create(const char *path, zs_json *document, bool owns_document, struct zs_node **out,
                              struct zs_error *err)
{
    char *key = zs_document_key(path);
    if (key == NULL) {
        if (owns_document)
            zs_json_free(document);
        return zs_fail_memory(err);
    }
    const enum zs_status status = create(path, key, document, owns_document, out, err);
    free(key);
    return status;
}

enum zs_status zs_node_create_implicit(const char *path, struct zs_node **out, struct zs_error *err)
{
    char *key = zs_document_key(path);
    struct zs_node *node = key != NULL ? new_node(path, key, ZS_NODE_GROUP) : NULL;
    free(key);
    ZS_TRY_MEMORY(node, err);
    node->is_implicit = true;
    *out = node;
    return ZS_OK;
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
