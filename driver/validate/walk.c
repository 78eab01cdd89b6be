/* Which nodes there are, by the driver's own walk; which objects their arrays have, and what belongs to nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/array_private.h"
#include "validate/validate.h"
#include "zarr/document.h"

static bool is_sidecar(const char *name)
{
    const size_t n = strlen(name);
    return n > 8 && strcmp(name + n - 8, ".aux.xml") == 0;
}

static void report_left_over(struct zs_check *check, const char *key)
{
    zs_report(check, ZS_SEVERITY_WARNING, key, "temporary file of a writer, which was killed unless it is at work now",
              NULL, NULL);
}

/* Lists a folder; what cannot be listed is reported and has no names. */
static enum zs_status list(struct zs_check *check, const char *path, char ***names, struct zs_error *err)
{
    *names = NULL;
    const enum zs_status status = zs_store_list_all(check->store, path, names, err);
    return status == ZS_NOT_FOUND ? ZS_OK : zs_report_failure(check, path, status, err);
}

/* ---- Nodes ---- */

enum zs_status zs_walk_store(struct zs_check *check, struct zs_error *err)
{
    char **names = NULL;
    const struct zs_node *node;
    enum zs_status status = zs_store_list(check->store, "", &names, err);
    if (status != ZS_OK && status != ZS_UNSUPPORTED && status != ZS_NOT_FOUND)
        return status;
    check->is_listed = status == ZS_OK;
    zs_names_free(names);
    ZS_TRY(zs_hierarchy_node(check->hierarchy, "", &node, err)); /* is known */
    const zs_json *metadata = zs_json_get(zs_json_get(node->document, "consolidated_metadata"), "metadata");
    if (!check->is_listed && node->type == ZS_NODE_GROUP && zs_json_first(metadata) == NULL)
        zs_report(check, ZS_SEVERITY_UNCHECKED, "",
                  "the store cannot be listed and has no consolidated metadata: its nodes are not known", NULL, NULL);
    for (const zs_json *m = zs_json_first(metadata); m != NULL && !check->is_listed; m = zs_json_next(m)) {
        status = zs_hierarchy_node(check->hierarchy, zs_json_name(m), &node, err);
        if (status != ZS_NOT_FOUND && status != ZS_INVALID) /* those are reported with the consolidated metadata */
            ZS_TRY(zs_report_failure(check, zs_json_name(m), status, err));
    }
    status = zs_hierarchy_list(check->hierarchy, &check->nodes, &check->node_count, err);
    return zs_report_failure(check, "zarr.json", status, err);
}

/* A folder in a group that is none of the nodes. */
static enum zs_status check_folder(struct zs_check *check, const char *path, struct zs_error *err)
{
    const struct zs_node *node = NULL;
    char **names;
    const enum zs_status status = zs_hierarchy_node(check->hierarchy, path, &node, err);
    if (status != ZS_OK && status != ZS_NOT_FOUND) {
        char *key = zs_document_key(path);
        const enum zs_status reported = key != NULL ? zs_report_failure(check, key, status, err) : zs_fail_memory(err);
        free(key);
        return reported;
    }
    ZS_TRY(list(check, path, &names, err));
    if (names != NULL && names[0] != NULL)
        zs_report(check, ZS_SEVERITY_WARNING, path, "folder with objects that belong to no node", NULL, NULL);
    zs_names_free(names);
    return ZS_OK;
}

enum zs_status zs_walk_group(struct zs_check *check, const struct zs_node *group, struct zs_error *err)
{
    char **names;
    enum zs_status status = list(check, group->path, &names, err);
    for (char **name = names; name != NULL && *name != NULL && status == ZS_OK; name++) {
        char *key = zs_path_join(group->path, *name);
        size_t at = 0;
        if (key == NULL)
            status = zs_fail_memory(err);
        else if (zs_is_temporary_name(*name))
            report_left_over(check, key);
        else if (zs_prefix_length(*name) > 0 &&
                 (status = zs_nodes_find(check->nodes, check->node_count, "", key, &at, err)) == ZS_OK &&
                 at == check->node_count)
            status = check_folder(check, key, err);
        free(key);
    }
    zs_names_free(names);
    return status;
}

/* ---- Objects of an array ---- */

/* An object below an array, by its key in the store, which is that of a chunk behind `skip` bytes: a chunk of the grid,
 * or stray. */
static enum zs_status take_object(struct zs_check *check, struct zs_checked_array *array, const char *key, size_t skip,
                                  const char *name, struct zs_error *err)
{
    const struct zs_array_meta *meta = array->node->array;
    uint64_t index[ZS_MAX_NDIM];
    if (!zs_chunk_key_parse(meta, key + skip, index)) {
        if (zs_is_temporary_name(name))
            report_left_over(check, key);
        else if (!is_sidecar(name))
            zs_report(check, ZS_SEVERITY_WARNING, key, "object below an array that is none of its chunks", NULL, NULL);
        return ZS_OK;
    }
    for (int d = 0; d < meta->ndim; d++) {
        if (index[d] < zs_chunk_count(meta, d))
            continue;
        char what[64];
        snprintf(what, sizeof what, "chunk outside of the grid: number in dimension %d", d);
        zs_report_numbers(check, ZS_SEVERITY_WARNING, key, what, zs_chunk_count(meta, d) - 1, index[d]);
        return ZS_OK;
    }
    for (int d = 0; d < meta->ndim; d++)
        if (index[d] >= array->array->grid.count[0][d])
            return ZS_OK; /* of the grid, but beyond the array: never read */
    ZS_TRY_GROW(array->objects, array->object_count, &array->object_capacity, err);
    array->objects[array->object_count++] = zs_grid_number(&array->array->grid, 0, index);
    return ZS_OK;
}

/* Whether chunks may lie below the folder `name`, itself `depth` folders below an array. */
static bool may_hold_chunks(const struct zs_array_meta *meta, const char *name, int depth)
{
    const size_t digits = strspn(name, "0123456789");
    return meta->key_separator == '/' && depth < meta->ndim &&
           (depth == 0 && !meta->key_is_v2 ? strcmp(name, "c/") == 0 : digits > 0 && digits + 1 == strlen(name));
}

static enum zs_status list_objects(struct zs_check *check, struct zs_checked_array *array, const char *path,
                                   size_t skip, int depth, struct zs_error *err)
{
    char **names;
    enum zs_status status = list(check, path, &names, err);
    for (char **name = names; name != NULL && *name != NULL && status == ZS_OK; name++) {
        if (depth == 0 && strcmp(*name, "zarr.json") == 0)
            continue;
        char *key = zs_path_join(path, *name);
        if (key == NULL)
            status = zs_fail_memory(err);
        else if (zs_prefix_length(*name) == 0)
            status = take_object(check, array, key, skip, *name, err);
        else if (may_hold_chunks(array->node->array, *name, depth))
            status = list_objects(check, array, key, skip, depth + 1, err);
        else
            zs_report(check, ZS_SEVERITY_WARNING, key, "folder below an array in which no chunk of it can be", NULL,
                      NULL);
        free(key);
    }
    zs_names_free(names);
    return status;
}

enum zs_status zs_checked_array_open(struct zs_check *check, const struct zs_node *node,
                                     struct zs_checked_array *array, struct zs_error *err)
{
    *array = (struct zs_checked_array){.check = check, .node = node, .is_listed = check->is_listed};
    const struct zs_array_options options = {.max_chunk_bytes = check->memory};
    const enum zs_status status = zs_array_open_node(check->hierarchy, node, &options, &array->array, err);
    if (status != ZS_OK)
        return zs_report_failure(check, node->key, status, err);
    const uint64_t *grid = array->array->grid.count[0];
    (void)zs_product_u64(grid, node->array->ndim, &array->grid_count); /* it fits: zs_grid_init() */
    if (!check->is_listed || check->options->metadata_only)
        return ZS_OK;
    const size_t n = strlen(node->path);
    return list_objects(check, array, node->path, n + (n > 0), 0, err);
}

void zs_checked_array_clear(struct zs_checked_array *array)
{
    zs_array_close(array->array);
    free(array->objects);
}
