/* zarr.json documents, as far as readers are more patient than the specification is: reading a node has reported what
 * makes it unreadable. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "geo/conventions.h"
#include "validate/validate.h"
#include "zarr/document.h"

/* How much of a value is shown. */
#define SHOWN 120

static void report(struct zs_check *check, const struct zs_node *node, enum zs_severity severity, const char *what,
                   const char *expected, const char *found)
{
    zs_report(check, severity, node->key, what, expected, found);
}

/* ---- Members ---- */

static void check_json(struct zs_check *check, const struct zs_node *node, const zs_json *value)
{
    const char *token;
    if (zs_json_number(value, &token) && (strstr(token, "NaN") != NULL || strstr(token, "Inf") != NULL))
        report(check, node, ZS_SEVERITY_WARNING, zs_json_name(value) != NULL ? zs_json_name(value) : "a list",
               "a number of JSON, or a string", token);
    for (const zs_json *c = zs_json_first(value); c != NULL; c = zs_json_next(c))
        check_json(check, node, c); /* as deep as ZS_JSON_MAX_DEPTH at most */
}

static void check_codecs(struct zs_check *check, const struct zs_node *node, const zs_json *codecs, size_t item_size)
{
    for (const zs_json *codec = zs_json_first(codecs); codec != NULL; codec = zs_json_next(codec)) {
        const zs_json *configuration = NULL;
        const char *given = zs_extension_name(codec, &configuration), *name = given != NULL ? given : "";
        struct zs_dtype cast;
        const bool is_old = strcmp(name, "endian") == 0;
        if (is_old)
            report(check, node, ZS_SEVERITY_WARNING, "codecs", "\"bytes\", as the codec is called since 2023",
                   "\"endian\"");
        if ((is_old || strcmp(name, "bytes") == 0) && item_size > 1 && zs_json_get(configuration, "endian") == NULL)
            report(check, node, ZS_SEVERITY_ERROR, "codec \"bytes\"", "endian, for elements of more than one byte",
                   "no such member");
        if (strcmp(name, "cast_value") == 0 &&
            zs_dtype_parse(zs_json_get(configuration, "data_type"), &cast, NULL) == ZS_OK)
            item_size = cast.swap_unit; /* of what comes to the next codec */
        if (strcmp(name, "sharding_indexed") != 0)
            continue;
        check_codecs(check, node, zs_json_get(configuration, "codecs"), item_size);
        check_codecs(check, node, zs_json_get(configuration, "index_codecs"), 8);
        if (zs_json_get(configuration, "index_codecs") == NULL)
            report(check, node, ZS_SEVERITY_ERROR, "codec \"sharding_indexed\"", "index_codecs", "no such member");
    }
}

void zs_check_document(struct zs_check *check, const struct zs_node *node)
{
    const zs_json *fill = zs_json_get(node->document, "fill_value"), *codecs = zs_json_get(node->document, "codecs");
    check_json(check, node, node->document);
    if (node->type != ZS_NODE_ARRAY)
        return;
    if (zs_json_typeof(fill) == ZS_JSON_NULL)
        report(check, node, ZS_SEVERITY_ERROR, "fill_value", "a value of the data type",
               fill == NULL ? "no such member" : "null");
    if (codecs == NULL)
        report(check, node, ZS_SEVERITY_ERROR, "codecs", "an array of at least one codec", "no such member");
    check_codecs(check, node, codecs, node->array != NULL ? node->array->dtype.swap_unit : 1);
}

/* ---- Consolidated metadata ---- */

/* The first member in which two documents, or attributes of two (meta is NULL), differ; writers may spell defaults out,
 * and numbers differently. */
static const char *different_member(const struct zs_array_meta *meta, const zs_json *a, const zs_json *b)
{
    for (const zs_json *m = zs_json_first(a); m != NULL; m = zs_json_next(m))
        if (strcmp(zs_json_name(m), "consolidated_metadata") != 0 &&
            !zs_is_same_member(meta, zs_json_name(m), m, zs_json_get(b, zs_json_name(m))))
            return zs_json_name(m);
    for (const zs_json *m = zs_json_first(b); m != NULL; m = zs_json_next(m))
        if (strcmp(zs_json_name(m), "consolidated_metadata") != 0 && zs_json_get(a, zs_json_name(m)) == NULL &&
            !zs_is_same_member(meta, zs_json_name(m), NULL, m))
            return zs_json_name(m);
    return NULL;
}

/* The value as text, cut; for messages. */
static void show(const zs_json *value, char text[SHOWN + 4])
{
    char *printed = value != NULL ? zs_json_print(value) : zs_strdup("no such member");
    snprintf(text, SHOWN + 4, "%.*s%s", SHOWN, printed != NULL ? printed : "?",
             printed != NULL && strlen(printed) > SHOWN ? "..." : "");
    free(printed);
}

static void compare(struct zs_check *check, const struct zs_node *group, const zs_json *listed,
                    const struct zs_node *node)
{
    const zs_json *a = node->document, *b = listed;
    const char *member = different_member(node->array, a, b);
    if (member != NULL && strcmp(member, "attributes") == 0) { /* of these, the one */
        a = zs_json_get(a, member);
        b = zs_json_get(b, member);
        member = different_member(NULL, a, b);
    }
    if (member == NULL)
        return;
    char what[512], expected[SHOWN + 4], found[SHOWN + 4];
    show(zs_json_get(a, member), expected);
    show(zs_json_get(b, member), found);
    snprintf(what, sizeof what, "consolidated metadata of \"%.100s\": %s%.80s", zs_json_name(listed),
             a != node->document ? "attributes." : "", member);
    report(check, group, ZS_SEVERITY_ERROR, what, expected, found);
}

static enum zs_status check_entry(struct zs_check *check, const struct zs_node *group, const zs_json *listed,
                                  struct zs_error *err)
{
    const struct zs_node *node = NULL;
    char what[256];
    snprintf(what, sizeof what, "consolidated metadata of \"%.100s\"", zs_json_name(listed));
    enum zs_status status = ZS_INVALID;
    if (zs_path_is_clean(zs_json_name(listed))) {
        status = zs_hierarchy_node_at(check->hierarchy, group->path, zs_json_name(listed), &node, err);
        if (status == ZS_OK && !node->is_implicit)
            compare(check, group, listed, node);
        else if (status == ZS_OK || status == ZS_NOT_FOUND)
            report(check, group, ZS_SEVERITY_ERROR, what, "a node that is there", "no zarr.json");
        return status == ZS_NO_MEMORY ? status : ZS_OK; /* a broken document is reported by itself */
    }
    report(check, group, ZS_SEVERITY_ERROR, what, "a path of names separated by \"/\"", "another key");
    return ZS_OK;
}

enum zs_status zs_check_consolidated(struct zs_check *check, const struct zs_node *group, struct zs_error *err)
{
    const zs_json *consolidated = zs_json_get(group->document, "consolidated_metadata"),
                  *metadata = zs_json_get(consolidated, "metadata");
    bool must_understand = true;
    if (zs_json_typeof(consolidated) == ZS_JSON_NULL)
        return ZS_OK;
    if (!zs_json_equals(zs_json_get(consolidated, "kind"), "inline"))
        report(check, group, ZS_SEVERITY_ERROR, "consolidated_metadata: kind", "\"inline\"", "something else");
    if (!zs_json_bool(zs_json_get(consolidated, "must_understand"), &must_understand) || must_understand)
        report(check, group, ZS_SEVERITY_ERROR, "consolidated_metadata: must_understand", "false", "something else");
    if (!zs_json_is_object(metadata))
        report(check, group, ZS_SEVERITY_ERROR, "consolidated_metadata: metadata", "an object", "something else");
    for (const zs_json *m = zs_json_first(metadata); m != NULL; m = zs_json_next(m))
        ZS_TRY(check_entry(check, group, m, err));
    for (size_t i = 0; i < check->node_count && check->is_listed && zs_json_first(metadata) != NULL; i++) {
        const char *name = zs_path_below(group->path, check->nodes[i]->path);
        char what[256];
        if (name == NULL || name[0] == '\0' || check->nodes[i]->is_implicit || zs_json_get(metadata, name) != NULL)
            continue;
        snprintf(what, sizeof what, "consolidated metadata: \"%.100s\" is not listed", name);
        report(check, group, ZS_SEVERITY_ERROR, what, "all nodes below the group", "one that is not listed");
    }
    return ZS_OK;
}

/* ---- Levels that are listed ---- */

void zs_check_levels(struct zs_check *check, const struct zs_node *group)
{
    struct zs_layout layout;
    for (bool is_there = zs_layout_first(group->attributes, &layout); is_there; is_there = zs_layout_next(&layout))
        for (int i = 0; i < layout.count; i++) {
            const struct zs_node *node;
            const char *asset = layout.level[i].asset;
            char what[256];
            if (asset[0] == '\0' ||
                (zs_hierarchy_node_at(check->hierarchy, group->path, asset, &node, NULL) == ZS_OK &&
                 !node->is_implicit))
                continue;
            snprintf(what, sizeof what, "multiscales: level \"%.80s\"", asset);
            report(check, group, ZS_SEVERITY_ERROR, what, "a node that is there", "none");
        }
}
