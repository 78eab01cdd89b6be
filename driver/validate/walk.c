/* The walk through a store: every document, and every object that some array should account for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/strings.h"
#include "base/checked.h"
#include "validate/validate_private.h"

/* Directories looked into. Links may make circles, which the depth alone would not end in time. */
#define MAX_DIRECTORIES ((size_t)1 << 20)

struct walk {
    struct zs_check *c;
    size_t directories;
};

/* ---- Names ---- */

/* `path`/`name` without the slash that marks a directory; NULL without memory. */
static char *below(const char *path, const char *name)
{
    const int n = (int)(zs_prefix_length(name) > 0 ? zs_prefix_length(name) : strlen(name));
    return path[0] != '\0' ? zs_format("%s/%.*s", path, n, name) : zs_format("%.*s", n, name);
}

static bool is_sidecar(const char *name)
{
    const size_t n = strlen(name);
    return n > 8 && strcmp(name + n - 8, ".aux.xml") == 0;
}

static void report_left_over(struct walk *w, const char *key)
{
    zs_report(w->c, ZS_SEVERITY_WARNING, key, "temporary file of a writer, which was killed unless it is at work now",
              NULL, NULL);
}

/* Lists a directory; what cannot be listed is reported and has no names. */
static enum zs_status list(struct walk *w, const char *path, char ***names, struct zs_error *err)
{
    *names = NULL;
    ZS_TRY(zs_check_advance(w->c, 0, 0, 0, err));
    if (++w->directories > MAX_DIRECTORIES) {
        if (w->directories == MAX_DIRECTORIES + 1)
            zs_report(w->c, ZS_SEVERITY_UNCHECKED, path,
                      "too many directories: what is in this one and in those after it is not looked at", NULL, NULL);
        return ZS_OK;
    }
    const enum zs_status status = zs_store_list_all(w->c->store, path, names, err);
    return status == ZS_NOT_FOUND ? ZS_OK : zs_report_failure(w->c, path, status, err);
}

/* ---- The objects of an array ---- */

static enum zs_status add_object(struct zs_checked_array *array, uint64_t number, struct zs_error *err)
{
    ZS_TRY_GROW(array->objects, array->object_count, &array->object_capacity, err);
    array->objects[array->object_count++] = number;
    return ZS_OK;
}

/* An object below an array, by its key in the store, which is that of a chunk behind `skip` bytes: a chunk of the grid,
 * or stray. */
static enum zs_status take_object(struct walk *w, struct zs_checked_array *array, const char *key, size_t skip,
                                  const char *name, struct zs_error *err)
{
    const struct zs_array_meta *meta = array->node->array;
    uint64_t index[ZS_MAX_NDIM];
    if (!zs_chunk_key_parse(meta, key + skip, index)) {
        if (zs_is_temporary_name(name))
            report_left_over(w, key);
        else if (!is_sidecar(name))
            zs_report(w->c, ZS_SEVERITY_WARNING, key, "object below an array that is none of its chunks", NULL, NULL);
        return ZS_OK;
    }
    for (int d = 0; d < meta->ndim; d++) {
        if (index[d] >= zs_chunk_count(meta, d)) {
            char what[64];
            snprintf(what, sizeof what, "chunk outside of the grid, in dimension %d", d);
            char expected[32], found[32];
            snprintf(expected, sizeof expected, "less than %llu", (unsigned long long)zs_chunk_count(meta, d));
            snprintf(found, sizeof found, "%llu", (unsigned long long)index[d]);
            zs_report(w->c, ZS_SEVERITY_WARNING, key, what, expected, found);
            return ZS_OK;
        }
    }
    for (int d = 0; d < meta->ndim; d++)
        if (index[d] >= array->grid.count[0][d])
            return ZS_OK; /* of the grid, but beyond the array: never read */
    return add_object(array, zs_grid_number(&array->grid, 0, index), err);
}

/* Whether chunks may lie below the directory `name`, itself `depth` directories below an array. */
static bool may_hold_chunks(const struct zs_array_meta *meta, const char *name, int depth)
{
    const bool is_c = depth == 0 && !meta->key_is_v2 && !meta->is_draft, has_c = depth == 0 && meta->is_draft;
    const char *number = name + (has_c && name[0] == 'c');
    const size_t digits = strspn(number, "0123456789");
    return meta->key_separator == '/' && depth < meta->ndim &&
           (is_c ? strcmp(name, "c/") == 0 : digits > 0 && digits + 1 == strlen(number) && has_c == (name[0] == 'c'));
}

static enum zs_status list_objects(struct walk *w, struct zs_checked_array *array, const char *path, size_t skip,
                                   int depth, struct zs_error *err)
{
    char **names;
    enum zs_status status = list(w, path, &names, err);
    for (char **name = names; name != NULL && *name != NULL && status == ZS_OK; name++) {
        if (depth == 0 && strcmp(*name, "zarr.json") == 0)
            continue;
        char *key = below(path, *name);
        if (key == NULL)
            status = zs_fail_memory(err);
        else if (zs_prefix_length(*name) == 0)
            status = take_object(w, array, key, skip, *name, err);
        else if (may_hold_chunks(array->node->array, *name, depth))
            status = list_objects(w, array, key, skip, depth + 1, err);
        else
            zs_report(w->c, ZS_SEVERITY_WARNING, key, "folder below an array in which no chunk of it can be", NULL,
                      NULL);
        free(key);
    }
    zs_names_free(names);
    return status;
}

static enum zs_status pass_over(void *ctx, const uint64_t *number, const char *text, size_t n, struct zs_error *err)
{
    (void)ctx, (void)number, (void)text, (void)n, (void)err;
    return ZS_OK;
}

/* Arrays of text are read as a whole, by the one function that can. */
static enum zs_status check_text(struct zs_check *check, const struct zs_node *node, const char *key,
                                 struct zs_error *err)
{
    struct zs_text_request all = {.max_chunk = ZS_STRINGS_MAX_CHUNK};
    enum zs_status status = zs_strings_shape(node, &all.ndim, all.count, err);
    for (int d = 0; d < all.ndim && status == ZS_OK; d++) {
        all.step[d] = 1;
        if (all.count[d] == 0)
            return ZS_OK;
    }
    if (status == ZS_OK)
        status = zs_texts_read(check->hierarchy, node, &all, pass_over, NULL, NULL, err);
    return status == ZS_OK ? ZS_OK : zs_report_failure(check, status == ZS_INVALID ? key : node->path, status, err);
}

/* Compiles the array's codecs, and finds its objects. has_errors: the reason why it may not be readable was
 * reported. */
static enum zs_status take_array(struct walk *w, const struct zs_node *node, const char *key, bool has_errors,
                                 struct zs_error *err)
{
    struct zs_check *c = w->c;
    if (node->array == NULL) {
        *err = *node->array_error;
        if (node->is_text)
            return check_text(c, node, key, err);
        return has_errors && node->array_status == ZS_UNSUPPORTED ? ZS_OK
                                                                  : zs_report_failure(c, key, node->array_status, err);
    }
    ZS_TRY_GROW(c->arrays, c->array_count, &c->array_capacity, err);
    struct zs_checked_array *array = zs_calloc(1, sizeof *array);
    ZS_TRY_MEMORY(array, err);
    *array = (struct zs_checked_array){.node = node, .is_listed = c->is_listed};
    enum zs_status status = zs_chain_compile(node->array, &array->chain, err);
    if (status == ZS_OK)
        status = zs_grid_init(&array->grid, node->array, &array->chain, err);
    if (status != ZS_OK) {
        zs_chain_clear(&array->chain);
        free(array);
        return zs_report_failure(c, key, status, err);
    }
    (void)zs_product_u64(array->grid.count[0], node->array->ndim, &array->grid_count); /* it fits: zs_grid_init() */
    c->arrays[c->array_count++] = array;
    if (!c->is_listed || c->options->metadata_only)
        return ZS_OK;
    char *folder = zs_chunk_folder(node->array, node->path);
    const size_t n = folder != NULL ? strlen(folder) : 0;
    status = folder != NULL ? list_objects(w, array, folder, n + (n > 0), 0, err) : zs_fail_memory(err);
    free(folder);
    zs_checked_array_sort(array);
    return status == ZS_OK ? zs_check_coordinate_chunks(c, array, err) : status;
}

/* ---- Nodes ---- */

static enum zs_status add_node(struct zs_check *check, const struct zs_node *node, struct zs_error *err)
{
    ZS_TRY_GROW(check->nodes, check->node_count, &check->node_capacity, err);
    check->nodes[check->node_count++] = node;
    return ZS_OK;
}

/* The node whose zarr.json is at `path`; *node is NULL where that is none, which is reported. */
static enum zs_status take_node(struct walk *w, const char *path, const struct zs_node **node, struct zs_error *err)
{
    struct zs_check *c = w->c;
    *node = NULL;
    char *key = zs_document_key(path);
    ZS_TRY_MEMORY(key, err);
    enum zs_status status = zs_hierarchy_node(c->hierarchy, path, node, err);
    if (status != ZS_OK) {
        *node = NULL;
        status = zs_report_failure(c, key, status, err);
    } else {
        if (strncmp(zs_path_name(path), "__", 2) == 0)
            zs_report(c, ZS_SEVERITY_WARNING, path, "name of a node", "one that does not begin with \"__\"",
                      zs_path_name(path));
        bool has_errors = false;
        status = add_node(c, *node, err);
        if (status == ZS_OK)
            status = zs_check_document(c, *node, key, &has_errors, err);
        if (status == ZS_OK && (*node)->type == ZS_NODE_GROUP)
            c->summary->groups++;
        if (status == ZS_OK && (*node)->type == ZS_NODE_ARRAY) {
            c->summary->arrays++;
            status = take_array(w, *node, key, has_errors, err);
        }
    }
    free(key);
    return status;
}

static enum zs_status walk(struct walk *w, const char *path, int depth, bool *has_objects, struct zs_error *err);

/* The content of a directory that is no array. */
static enum zs_status walk_names(struct walk *w, const char *path, int depth, bool is_group, char **names,
                                 bool *has_objects, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    for (char **name = names; *name != NULL && status == ZS_OK; name++) {
        if (strcmp(*name, "zarr.json") == 0)
            continue;
        char *key = below(path, *name);
        ZS_TRY_MEMORY(key, err);
        if (zs_prefix_length(*name) > 0) {
            bool below_has = false;
            status = walk(w, key, depth + 1, &below_has, err);
            /* Reported once, for the topmost folder in which there is no node. */
            if (below_has && is_group)
                zs_report(w->c, ZS_SEVERITY_WARNING, key, "folder with objects that belong to no node", NULL, NULL);
            *has_objects |= below_has;
        } else if (zs_is_temporary_name(*name)) {
            report_left_over(w, key);
        } else {
            *has_objects = true;
        }
        free(key);
    }
    return status;
}

/* *has_objects: there are objects in it, and no node has anything to do with them. */
static enum zs_status walk(struct walk *w, const char *path, int depth, bool *has_objects, struct zs_error *err)
{
    char **names;
    if (depth > ZS_HIERARCHY_MAX_DEPTH) {
        zs_report(w->c, ZS_SEVERITY_UNCHECKED, path, "deeper than nodes are looked for", NULL, NULL);
        return ZS_OK;
    }
    const size_t nodes_before = w->c->node_count;
    enum zs_status status = list(w, path, &names, err);
    if (status != ZS_OK || names == NULL)
        return status;
    bool has_document = false;
    for (char **name = names; *name != NULL; name++)
        has_document = has_document || strcmp(*name, "zarr.json") == 0;
    const struct zs_node *node = NULL;
    if (has_document)
        status = take_node(w, path, &node, err);
    if (status == ZS_OK && (node == NULL || node->type == ZS_NODE_GROUP)) {
        bool objects = false;
        status = walk_names(w, path, depth, node != NULL, names, &objects, err);
        *has_objects = objects && !has_document;
        if (status == ZS_OK && !has_document && w->c->node_count > nodes_before) {
            zs_report(w->c, ZS_SEVERITY_WARNING, path, "folder with nodes below it",
                      "a zarr.json that makes it a group", "none");
            *has_objects = false;
        }
    }
    zs_names_free(names);
    return status;
}

/* A store that cannot be listed: what its root has consolidated is what is known. */
static enum zs_status walk_consolidated(struct walk *w, struct zs_error *err)
{
    const struct zs_node *node;
    ZS_TRY(take_node(w, "", &node, err));
    const zs_json *metadata =
        zs_json_get(zs_json_get(node != NULL ? node->document : NULL, "consolidated_metadata"), "metadata");
    if (node != NULL && node->type == ZS_NODE_GROUP && zs_json_first(metadata) == NULL)
        zs_report(w->c, ZS_SEVERITY_UNCHECKED, "",
                  "the store cannot be listed and has no consolidated metadata: its nodes are not known", NULL, NULL);
    for (const zs_json *m = zs_json_first(metadata); m != NULL; m = zs_json_next(m)) {
        ZS_TRY(zs_check_advance(w->c, 0, 0, 0, err));
        const struct zs_node *found;
        const enum zs_status status = zs_hierarchy_node(w->c->hierarchy, zs_json_name(m), &found, err);
        if (status == ZS_NO_MEMORY)
            return status;
        if (status != ZS_NOT_FOUND && status != ZS_INVALID) /* those are reported with the consolidated metadata */
            ZS_TRY(take_node(w, zs_json_name(m), &found, err));
    }
    return ZS_OK;
}

/* A store of the draft: its documents are none of the specification, and what belongs to none of them is not looked
 * for. */
static enum zs_status walk_draft(struct walk *w, struct zs_error *err)
{
    const struct zs_node **nodes;
    size_t count;
    zs_report(w->c, ZS_SEVERITY_WARNING, "zarr.json", "zarr_format", "3",
              "the 2022 draft, of which only arrays and their chunks are checked");
    enum zs_status status = zs_hierarchy_list(w->c->hierarchy, &nodes, &count, err);
    if (status != ZS_OK)
        return zs_report_failure(w->c, "zarr.json", status, err);
    for (size_t i = 0; i < count && status == ZS_OK; i++) {
        if (nodes[i]->is_implicit)
            continue;
        const bool is_array = nodes[i]->type == ZS_NODE_ARRAY;
        w->c->summary->groups += !is_array;
        w->c->summary->arrays += is_array;
        status = add_node(w->c, nodes[i], err);
        if (status == ZS_OK && is_array)
            status = take_array(w, nodes[i], nodes[i]->key, false, err);
    }
    free(nodes);
    return status;
}

enum zs_status zs_walk_store(struct zs_check *check, struct zs_error *err)
{
    struct walk w = {.c = check};
    char **names;
    const enum zs_status status = zs_store_list(check->store, "", &names, err);
    check->is_listed = status == ZS_OK;
    if (zs_hierarchy_is_draft(check->hierarchy)) {
        zs_names_free(check->is_listed ? names : NULL);
        return walk_draft(&w, err);
    }
    if (status == ZS_UNSUPPORTED || status == ZS_NOT_FOUND)
        return walk_consolidated(&w, err);
    ZS_TRY(status);
    zs_names_free(names);
    bool has_objects;
    return walk(&w, "", 0, &has_objects, err);
}
