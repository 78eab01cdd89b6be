/* Consolidated metadata against the nodes' own documents (zarr-specs #373): a cache, which must equal them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "validate/validate_private.h"
#include "zarr/alike.h"

/* How much of a value is shown. */
#define SHOWN 120

struct consolidated {
    struct zs_check *c;
    const struct zs_node *group;
    char *key;          /* of the document that has them */
    const char **names; /* listed, sorted */
    size_t count;
};

/* ---- Comparing ---- */

/* Appends ".name" or "[i]" to the path of a difference. */
static void append_step(char *path, size_t capacity, const zs_json *child, size_t i)
{
    const size_t n = strlen(path);
    if (zs_json_name(child) != NULL)
        snprintf(path + n, capacity - n, "%s%.80s", n > 0 ? "." : "", zs_json_name(child));
    else
        snprintf(path + n, capacity - n, "[%zu]", i);
}

/* Finds the first member in which two values differ: its path is appended, *a and *b are what is there (NULL: nothing).
 * Members may come in any order. */
static bool find_difference(const zs_json **a, const zs_json **b, char *path, size_t capacity)
{
    const zs_json *x = *a, *y = *b;
    const bool is_object = zs_json_is_object(x);
    if (zs_json_typeof(x) != zs_json_typeof(y) || (!is_object && !zs_json_is_array(x)))
        return !zs_json_is_same(x, y);
    size_t i = 0;
    const zs_json *other = zs_json_first(y);
    for (const zs_json *c = zs_json_first(x); c != NULL;
         c = zs_json_next(c), i++, other = is_object ? other : zs_json_next(other)) {
        *a = c;
        *b = is_object ? zs_json_get(y, zs_json_name(c)) : other;
        const size_t n = strlen(path);
        append_step(path, capacity, c, i);
        if (*b == NULL || find_difference(a, b, path, capacity))
            return true;
        path[n] = '\0';
    }
    for (const zs_json *c = is_object ? zs_json_first(y) : other; c != NULL; c = zs_json_next(c), i++)
        if (!is_object || zs_json_get(x, zs_json_name(c)) == NULL) {
            append_step(path, capacity, c, i);
            *a = NULL;
            *b = c;
            return true;
        }
    return false;
}

/* The value as text, cut; for messages. */
static void show(const zs_json *value, char text[SHOWN + 4])
{
    char *printed = value != NULL ? zs_json_print(value) : zs_strdup("no such member");
    snprintf(text, SHOWN + 4, "%.*s%s", SHOWN, printed != NULL ? printed : "?",
             printed != NULL && strlen(printed) > SHOWN ? "..." : "");
    free(printed);
}

/* ---- One entry ---- */

/* Both in one spelling. */
static void compare_spelled(const struct consolidated *copy, const char *name, const zs_json *listed,
                            const zs_json *own)
{
    char what[512], expected[SHOWN + 4], found[SHOWN + 4];
    snprintf(what, sizeof what, "consolidated metadata of \"%.100s\": ", name);
    const size_t n = strlen(what);
    char *path = what + n;
    if (!find_difference(&own, &listed, path, sizeof what - n))
        return;
    show(own, expected);
    show(listed, found);
    zs_report(copy->c, ZS_SEVERITY_ERROR, copy->key, what, expected, found);
}

static enum zs_status compare(const struct consolidated *copy, const char *name, const zs_json *listed,
                              const struct zs_node *node, struct zs_error *err)
{
    if (zs_json_is_same(listed, node->document))
        return ZS_OK;
    zs_json *there = zs_spelled(node->array, listed), *own = zs_spelled(node->array, node->document);
    if (there != NULL && own != NULL)
        compare_spelled(copy, name, there, own);
    const bool has_memory = there != NULL && own != NULL;
    zs_json_free(there);
    zs_json_free(own);
    return has_memory ? ZS_OK : zs_fail_memory(err);
}

static enum zs_status check_entry(const struct consolidated *copy, const zs_json *listed, struct zs_error *err)
{
    const char *name = zs_json_name(listed);
    char what[256];
    snprintf(what, sizeof what, "consolidated metadata of \"%.100s\"", name);
    char *path = zs_path_join(copy->group->path, name);
    ZS_TRY_MEMORY(path, err);
    const struct zs_node *node = NULL;
    const enum zs_status status = zs_hierarchy_node(copy->c->hierarchy, path, &node, err);
    const bool is_path =
        name[0] != '\0' && name[0] != '/' && name[strlen(name) - 1] != '/' && (status != ZS_INVALID || node != NULL);
    free(path);
    if (status == ZS_OK && is_path && !node->is_implicit)
        return compare(copy, name, listed, node, err);
    if (status == ZS_NOT_FOUND || (status == ZS_OK && is_path))
        zs_report(copy->c, ZS_SEVERITY_ERROR, copy->key, what, "a node that is there", "no zarr.json");
    else if (status == ZS_OK)
        zs_report(copy->c, ZS_SEVERITY_ERROR, copy->key, what, "a path of names separated by \"/\"", "another key");
    else
        return zs_report_failure(copy->c, copy->key, status,
                                 err); /* its own document is broken, or the key is no path */
    return ZS_OK;
}

/* ---- All of a group ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Nodes below the group that its consolidated metadata do not list. */
static void check_unlisted(const struct consolidated *copy)
{
    const size_t n = strlen(copy->group->path);
    for (size_t i = 0; i < copy->c->node_count; i++) {
        const char *path = copy->c->nodes[i]->path;
        if (strncmp(path, copy->group->path, n) != 0 || path[n] == '\0' || (n > 0 && path[n] != '/'))
            continue;
        const char *name = path + n + (n > 0);
        if (bsearch(&name, copy->names, copy->count, sizeof *copy->names, by_name) != NULL)
            continue;
        char what[256];
        snprintf(what, sizeof what, "consolidated metadata: \"%.100s\" is not listed", name);
        zs_report(copy->c, ZS_SEVERITY_ERROR, copy->key, what, "all nodes below the group", "one that is not listed");
    }
}

static void check_form(const struct consolidated *copy, const zs_json *consolidated)
{
    bool must_understand = true;
    if (!zs_json_equals(zs_json_get(consolidated, "kind"), "inline"))
        zs_report(copy->c, ZS_SEVERITY_ERROR, copy->key, "consolidated_metadata: kind", "\"inline\"", "something else");
    if (!zs_json_bool(zs_json_get(consolidated, "must_understand"), &must_understand) || must_understand)
        zs_report(copy->c, ZS_SEVERITY_ERROR, copy->key, "consolidated_metadata: must_understand", "false",
                  "something else");
    if (!zs_json_is_object(zs_json_get(consolidated, "metadata")))
        zs_report(copy->c, ZS_SEVERITY_ERROR, copy->key, "consolidated_metadata: metadata", "an object",
                  "something else");
}

static enum zs_status check_listed(struct consolidated *copy, const zs_json *metadata, struct zs_error *err)
{
    copy->names = zs_calloc(zs_json_size(metadata), sizeof *copy->names);
    ZS_TRY_MEMORY(copy->names, err);
    for (const zs_json *m = zs_json_first(metadata); m != NULL; m = zs_json_next(m)) {
        copy->names[copy->count++] = zs_json_name(m);
        ZS_TRY(check_entry(copy, m, err));
    }
    qsort(copy->names, copy->count, sizeof *copy->names, by_name);
    if (copy->c->is_listed && copy->count > 0)
        check_unlisted(copy);
    return ZS_OK;
}

enum zs_status zs_check_consolidated(struct zs_check *check, const struct zs_node *group, struct zs_error *err)
{
    const zs_json *consolidated = zs_json_get(group->document, "consolidated_metadata");
    if (zs_json_typeof(consolidated) == ZS_JSON_NULL)
        return ZS_OK;
    struct consolidated s = {.c = check, .group = group, .key = zs_strdup(group->key)};
    ZS_TRY_MEMORY(s.key, err);
    check_form(&s, consolidated);
    const enum zs_status status = check_listed(&s, zs_json_get(consolidated, "metadata"), err);
    free(s.names);
    free(s.key);
    return status;
}
