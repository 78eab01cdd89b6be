/* Stores of the draft: keys of documents, and their translation. */
#include "zarr/draft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "zarr/document.h"
#include "zarr/name.h"

#define META "meta/root"

static const char *const kinds[] = {".array", ".group"};

/* ---- The entry point ---- */

bool zs_draft_is_entry(const zs_json *document)
{
    const char *format = NULL;
    return zs_json_string(zs_json_get(document, "zarr_format"), &format) && strstr(format, ZS_DRAFT_FORMAT) != NULL;
}

enum zs_status zs_draft_parse(const zs_json *entry, struct zs_draft *draft, struct zs_error *err)
{
    const zs_json *encoding = zs_json_get(entry, "metadata_encoding"),
                  *given = zs_json_get(entry, "metadata_key_suffix");
    const char *name = NULL, *suffix = ".json";
    (void)zs_json_string(encoding, &name);
    if (zs_json_typeof(encoding) != ZS_JSON_NULL && (name == NULL || strstr(name, ZS_DRAFT_FORMAT) == NULL))
        return zs_fail(err, ZS_UNSUPPORTED,
                       "metadata_encoding: expected \"https://" ZS_DRAFT_FORMAT "\", found \"%.100s\"",
                       name != NULL ? name : "(no string)");
    if (zs_json_typeof(given) != ZS_JSON_NULL && !zs_json_string(given, &suffix))
        return zs_fail_found(err, ZS_INVALID, given, "metadata_key_suffix: expected a string");
    const size_t n = strlen(suffix);
    if (n > ZS_DRAFT_MAX_SUFFIX || (n > 0 && (suffix[0] != '.' || !zs_is_inside_name(suffix))))
        return zs_fail(
            err, ZS_INVALID,
            "metadata_key_suffix: expected the ending of a name, of at most %d bytes, as \".json\", found \"%.100s\"",
            ZS_DRAFT_MAX_SUFFIX, suffix);
    ZS_TRY(zs_draft_check_extensions(entry, err));
    memcpy(draft->suffix, suffix, n + 1);
    return ZS_OK;
}

/* ---- Nodes ---- */

static char *key_of(const struct zs_draft *draft, const char *path, const char *kind)
{
    return zs_format(META "%s%s%s%s", path[0] != '\0' ? "/" : "", path, kind, draft->suffix);
}

/* Translates a node's document to the specification. An array that cannot be translated keeps its attributes alone,
 * with the error in `reason`. */
static enum zs_status translate(const zs_json *document, bool is_array, zs_json **out, struct zs_error *reason)
{
    enum zs_status status = ZS_OK;
    if (is_array)
        status = zs_draft_array_document(document, out, reason);
    else if (!zs_json_is_object(document))
        return zs_fail_found(reason, ZS_INVALID, document, "expected a JSON object");
    if (status == ZS_NO_MEMORY || (is_array && status == ZS_OK))
        return status;
    const zs_json *attributes = zs_json_get(document, "attributes");
    zs_json *translated = zs_json_new_object();
    zs_json_add_int64(translated, "zarr_format", 3);
    bool is_whole = zs_json_add_string(translated, "node_type", is_array ? "array" : "group") != NULL;
    if (attributes != NULL)
        is_whole = zs_json_add(translated, "attributes", zs_json_copy(attributes)) != NULL && is_whole;
    if (!is_whole) {
        zs_json_free(translated);
        return zs_fail_memory(reason);
    }
    *out = translated;
    return status;
}

static enum zs_status create(const char *path, const char *key, const zs_json *document, bool is_array,
                             struct zs_node **out, struct zs_error *err)
{
    struct zs_error reason = {0};
    zs_json *translated = NULL;
    struct zs_node *node;
    const enum zs_status status = translate(document, is_array, &translated, &reason);
    if (translated == NULL)
        return zs_fail(err, status, "%s: %s", key, reason.message);
    ZS_TRY(zs_node_create_at(path, key, translated, true, &node, err));
    if (status != ZS_OK) { /* the node's own message is of members that the translation lacks */
        (void)zs_fail_in(&reason, status, "%s", key);
        const enum zs_status refused = zs_node_refuse(node, status, reason.message, err);
        if (refused != ZS_OK) {
            zs_node_free(node);
            return refused;
        }
    }
    node->is_draft = true;
    if (node->array != NULL)
        node->array->is_draft = true;
    *out = node;
    return ZS_OK;
}

enum zs_status zs_draft_load(const struct zs_draft *draft, struct zs_store *store, const char *path,
                             struct zs_node **node, struct zs_error *err)
{
    enum zs_status status = ZS_NOT_FOUND;
    for (size_t i = 0; i < 2 && status == ZS_NOT_FOUND; i++) {
        zs_json *document = NULL;
        char *key = key_of(draft, path, kinds[i]);
        ZS_TRY_MEMORY(key, err);
        status = zs_document_get(store, key, &document, err);
        if (status == ZS_OK) {
            status = create(path, key, document, i == 0, node, err);
            if (status != ZS_OK)
                status = zs_fail_in(err, status, "%s", store->root);
        }
        zs_json_free(document);
        free(key);
    }
    return status;
}

/* Length of `name` before ".array.json" or ".group.json"; 0 where it ends in neither. */
static size_t stem_length(const struct zs_draft *draft, const char *name)
{
    const size_t n = strlen(name), suffix = strlen(draft->suffix);
    for (size_t i = 0; i < 2; i++) {
        const size_t end = strlen(kinds[i]) + suffix;
        if (n > end && strcmp(name + n - suffix, draft->suffix) == 0 &&
            strncmp(name + n - end, kinds[i], end - suffix) == 0)
            return n - end;
    }
    return 0;
}

enum zs_status zs_draft_list(const struct zs_draft *draft, struct zs_store *store, const char *path, char ***out,
                             struct zs_error *err)
{
    char **names;
    char *folder = zs_format(META "%s%s", path[0] != '\0' ? "/" : "", path);
    ZS_TRY_MEMORY(folder, err);
    const enum zs_status status = zs_store_list(store, folder, &names, err);
    free(folder);
    if (status != ZS_OK)
        return status;
    size_t count = 0;
    for (size_t i = 0; names[i] != NULL; i++) {
        char *name = names[i];
        const size_t n = stem_length(draft, name), length = strlen(name);
        if (n > 0)
            (void)snprintf(name + n, length + 1 - n, "/");
        names[i] = NULL;
        if (n > 0 || (length > 1 && name[length - 1] == '/'))
            names[count++] = name;
        else
            free(name);
    }
    zs_names_sort(names);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        char *name = names[i];
        names[i] = NULL;
        if (kept > 0 && strcmp(names[kept - 1], name) == 0)
            free(name);
        else
            names[kept++] = name;
    }
    *out = names;
    return ZS_OK;
}
