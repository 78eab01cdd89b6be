#include "validate/validate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zarr/document.h"

/* ---- Reporting ---- */

/* Prints a line, and frees it. Names come from strangers, and lines go to terminals: control characters, and what is
 * not UTF-8, are shown as "?". */
static void print(char *text)
{
    const bool is_utf8 = text == NULL || zs_utf8_length(text, strlen(text)) == strlen(text);
    for (char *p = text; p != NULL && *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7F || (!is_utf8 && (unsigned char)*p > 0x7F))
            *p = '?';
    puts(text != NULL ? text : "no memory for a text");
    free(text);
}

/* Counts and prints a finding: `text`, which is freed, begins behind the name of the store. */
static void report_text(struct zs_check *check, enum zs_severity severity, char *text)
{
    static const char *const severities[] = {"note", "warning", "unchecked", "error"};
    pthread_mutex_lock(&check->lock);
    check->findings[severity]++;
    if (severity != ZS_SEVERITY_NOTE || !check->options->is_quiet)
        print(text != NULL ? zs_format("%s: %s%s", severities[severity], check->name, text) : NULL);
    pthread_mutex_unlock(&check->lock);
    free(text);
}

void zs_report(struct zs_check *check, enum zs_severity severity, const char *where, const char *what,
               const char *expected, const char *found)
{
    const bool has_values = expected != NULL && found != NULL;
    report_text(check, severity,
                zs_format("%s%s: %s%s%s%s%s", where[0] != '\0' ? "/" : "", where, what,
                          has_values ? ": expected " : "", has_values ? expected : "",
                          has_values ? ", found " : "", has_values ? found : ""));
}

void zs_report_numbers(struct zs_check *check, enum zs_severity severity, const char *where, const char *what,
                       uint64_t expected, uint64_t found)
{
    char texts[2][24];
    snprintf(texts[0], sizeof texts[0], "%llu", (unsigned long long)expected);
    snprintf(texts[1], sizeof texts[1], "%llu", (unsigned long long)found);
    zs_report(check, severity, where, what, texts[0], texts[1]);
}

enum zs_status zs_report_failure(struct zs_check *check, const char *where, enum zs_status status, struct zs_error *err)
{
    if (status == ZS_OK || status == ZS_NO_MEMORY)
        return status;
    const bool is_wrong = status == ZS_CORRUPT || status == ZS_INVALID;
    const enum zs_severity severity = is_wrong ? ZS_SEVERITY_ERROR : ZS_SEVERITY_UNCHECKED;
    const char *message = err->message;
    const size_t root = strlen(check->store->root), n = strlen(where);
    if (strncmp(message, check->store->root, root) == 0 && message[root] == '/')
        message += root + 1;
    /* A message that begins with `where` says it already: "c/0: ...", "c/0, inner chunk [1]: ..." */
    const bool is_named = n > 0 && strncmp(message, where, n) == 0 && (message[n] == ':' || message[n] == ',');
    if (is_named)
        report_text(check, severity, zs_format("/%s", message));
    else
        zs_report(check, severity, where, message, NULL, NULL);
    return ZS_OK;
}

void zs_check_count(struct zs_check *check, uint64_t objects, uint64_t chunks, uint64_t bytes)
{
    pthread_mutex_lock(&check->lock);
    check->objects += objects;
    check->chunks += chunks;
    check->bytes += bytes;
    pthread_mutex_unlock(&check->lock);
}

/* ---- The run ---- */

static enum zs_status pass_over(void *ctx, const uint64_t *number, const char *text, size_t n, struct zs_error *err)
{
    (void)ctx, (void)number, (void)text, (void)n, (void)err;
    return ZS_OK;
}

/* Arrays of text are read as a whole, by the one function that can. */
static enum zs_status check_text(struct zs_check *check, const struct zs_node *node, struct zs_error *err)
{
    struct zs_stepped_window all = {.ndim = 0};
    enum zs_status status = zs_strings_shape(node, &all.ndim, all.count, err);
    for (int d = 0; d < all.ndim && status == ZS_OK; d++) {
        all.step[d] = 1;
        if (all.count[d] == 0)
            return ZS_OK;
    }
    if (status == ZS_OK)
        status = zs_texts_read(check->hierarchy, node, ZS_STRINGS_MAX_CHUNK, &all, pass_over, NULL, NULL, err);
    return zs_report_failure(check, status == ZS_INVALID ? node->key : node->path, status, err);
}

/* Checks the document of an array, and unless only metadata are wanted its objects. */
static enum zs_status check_array(struct zs_check *check, const struct zs_node *node, struct zs_error *err)
{
    struct zs_checked_array array = {0};
    check->arrays++;
    if (node->array == NULL) {
        if (node->is_text)
            return check->options->metadata_only ? ZS_OK : check_text(check, node, err);
        *err = *node->array_error;
        return zs_report_failure(check, node->key, node->array_status, err);
    }
    enum zs_status status = zs_checked_array_open(check, node, &array, err);
    if (status == ZS_OK && array.array != NULL && !check->options->metadata_only)
        status = zs_check_objects(&array, err);
    zs_checked_array_clear(&array);
    return status;
}

static enum zs_status check_node(struct zs_check *check, const struct zs_node *node, struct zs_error *err)
{
    if (node->is_implicit)
        zs_report(check, ZS_SEVERITY_WARNING, node->path, "folder with nodes below it",
                  "a zarr.json that makes it a group", "none");
    else
        zs_check_document(check, node);
    if (node->type == ZS_NODE_ARRAY)
        return check_array(check, node, err);
    check->groups += !node->is_implicit;
    ZS_TRY(zs_check_consolidated(check, node, err));
    zs_check_levels(check, node);
    return check->is_listed ? zs_walk_group(check, node, err) : ZS_OK;
}

static enum zs_status check_all(struct zs_check *check, struct zs_error *err)
{
    enum zs_status status = zs_hierarchy_open(check->store, false, &check->hierarchy, err);
    if (status == ZS_NOT_FOUND && zs_document_is_v2(check->store))
        status = zs_fail(err, ZS_INVALID, "%s", zs_found_v2);
    if (status == ZS_OK && zs_hierarchy_is_draft(check->hierarchy))
        status = zs_fail(err, ZS_UNSUPPORTED, "zarr_format: expected 3, found the 2022 draft");
    if (status == ZS_NOT_FOUND)
        status = ZS_INVALID; /* that there is no store is an error, and nothing that could not be checked */
    if (status == ZS_INVALID || status == ZS_UNSUPPORTED || status == ZS_CORRUPT) /* it is no Zarr v3, or damaged */
        return zs_report_failure(check, "zarr.json", status, err);
    ZS_TRY(status);
    ZS_TRY(zs_walk_store(check, err));
    for (size_t i = 0; i < check->node_count; i++)
        ZS_TRY(check_node(check, check->nodes[i], err));
    return ZS_OK;
}

static void print_summary(const struct zs_check *check)
{
    const uint64_t *findings = check->findings;
    print(zs_format("%s: %llu errors, %llu warnings, %llu not checked; %llu groups, %llu arrays, %llu objects, "
                    "%llu chunks of %.1f MB, %llu dead bytes",
                    check->name, (unsigned long long)findings[ZS_SEVERITY_ERROR],
                    (unsigned long long)findings[ZS_SEVERITY_WARNING],
                    (unsigned long long)findings[ZS_SEVERITY_UNCHECKED], (unsigned long long)check->groups,
                    (unsigned long long)check->arrays, (unsigned long long)check->objects,
                    (unsigned long long)check->chunks, (double)check->bytes / 1e6,
                    (unsigned long long)check->dead_bytes));
}

int zs_validate(const char *path, const struct zs_validate_options *options)
{
    struct zs_check c = {.name = path, .options = options, .memory = options->memory};
    struct zs_error err;
    pthread_mutex_init(&c.lock, NULL);
    enum zs_status status = zs_store_open(path, &c.store, &err);
    if (status == ZS_OK)
        status = check_all(&c, &err);
    if (status != ZS_OK)
        fprintf(stderr, "shardedzarr-validate: %s\n", err.message);
    if (!options->is_quiet)
        print_summary(&c);
    fflush(stdout);
    free(c.nodes);
    zs_hierarchy_free(c.hierarchy);
    zs_store_free(c.store);
    pthread_mutex_destroy(&c.lock);
    return c.findings[ZS_SEVERITY_ERROR] > 0 ? 1 : status != ZS_OK || c.findings[ZS_SEVERITY_UNCHECKED] > 0 ? 2 : 0;
}
