#include "validate/validate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array/array.h"
#include "base/parallel.h"
#include "base/utf8.h"
#include "validate/validate_private.h"
#include "zarr/document.h"
#include "icechunk/icechunk.h"

#define DEFAULT_MEMORY ((uint64_t)1 << 30)

/* ---- Reporting ---- */

void zs_report(struct zs_check *check, enum zs_severity severity, const char *where, const char *what,
               const char *expected, const char *found)
{
    const struct zs_finding finding = {severity, where, what, expected, found};
    pthread_mutex_lock(&check->lock);
    switch (severity) {
    case ZS_SEVERITY_NOTE:
        break;
    case ZS_SEVERITY_WARNING:
        check->summary->warnings++;
        break;
    case ZS_SEVERITY_UNCHECKED:
        check->summary->unchecked++;
        break;
    case ZS_SEVERITY_ERROR:
        check->summary->errors++;
        break;
    }
    if (check->options->report != NULL)
        check->options->report(check->options->ctx, &finding);
    pthread_mutex_unlock(&check->lock);
}

void zs_report_numbers(struct zs_check *check, enum zs_severity severity, const char *where, const char *what,
                       uint64_t expected, uint64_t found)
{
    char texts[2][24];
    snprintf(texts[0], sizeof texts[0], "%llu", (unsigned long long)expected);
    snprintf(texts[1], sizeof texts[1], "%llu", (unsigned long long)found);
    zs_report(check, severity, where, what, texts[0], texts[1]);
}

/* Skips "text: " at the beginning of a message. */
static const char *without(const char *message, const char *text)
{
    const size_t n = strlen(text);
    return n > 0 && strncmp(message, text, n) == 0 && strncmp(message + n, ": ", 2) == 0 ? message + n + 2 : message;
}

enum zs_status zs_report_failure(struct zs_check *check, const char *where, enum zs_status status, struct zs_error *err)
{
    if (status == ZS_OK || status == ZS_NO_MEMORY || status == ZS_CANCELLED)
        return status;
    const bool is_wrong = status == ZS_CORRUPT || status == ZS_INVALID;
    const char *message = err->message; /* begins with the path, which `where` is, too */
    const size_t root = strlen(check->store->root);
    if (strncmp(message, check->store->root, root) == 0 && message[root] == '/')
        message += root + 1;
    zs_report(check, is_wrong ? ZS_SEVERITY_ERROR : ZS_SEVERITY_UNCHECKED, where, without(message, where), NULL, NULL);
    return ZS_OK;
}

enum zs_status zs_check_advance(struct zs_check *check, double done, uint64_t chunks, uint64_t bytes,
                                struct zs_error *err)
{
    pthread_mutex_lock(&check->lock);
    check->done += check->node_count > 0 ? done / (double)check->node_count : 0;
    check->summary->chunks += chunks;
    check->summary->bytes += bytes;
    if (check->options->progress != NULL && !check->is_cancelled)
        check->is_cancelled = !check->options->progress(check->options->ctx, check->done < 1 ? check->done : 1);
    const bool is_cancelled = check->is_cancelled;
    pthread_mutex_unlock(&check->lock);
    return is_cancelled ? zs_fail(err, ZS_CANCELLED, "%s: stopped", check->store->root) : ZS_OK;
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
    check->summary->arrays++;
    if (node->array == NULL) {
        if (node->is_text)
            return check->options->metadata_only ? ZS_OK : check_text(check, node, err);
        *err = *node->array_error;
        return zs_report_failure(check, node->key, node->array_status, err);
    }
    enum zs_status status = zs_checked_array_open(check, node, &array, err);
    if (status == ZS_OK && array.chain.count > 0 && !check->options->metadata_only)
        status = zs_check_objects(check, &array, err);
    zs_checked_array_clear(&array);
    return status;
}

static enum zs_status check_node(struct zs_check *check, const struct zs_node *node, struct zs_error *err)
{
    if (node->is_implicit)
        zs_report(check, ZS_SEVERITY_WARNING, node->path, "folder with nodes below it",
                  "a zarr.json that makes it a group", "none");
    else if (!zs_hierarchy_is_draft(check->hierarchy))
        zs_check_document(check, node);
    if (node->type == ZS_NODE_ARRAY)
        return check_array(check, node, err);
    check->summary->groups += !node->is_implicit;
    if (zs_hierarchy_is_draft(check->hierarchy))
        return ZS_OK;
    ZS_TRY(zs_check_consolidated(check, node, err));
    zs_check_levels(check, node);
    return check->is_listed ? zs_walk_group(check, node, err) : ZS_OK;
}

/* A commit of an Icechunk repository, whose nodes are those of its snapshot. Where there is no repository, `err` stays
 * as it is. */
static enum zs_status open_repository(struct zs_check *check, const char *commit, struct zs_error *err)
{
    struct zs_error why;
    const enum zs_status status = zs_icechunk_open(&check->store, commit, &why);
    if (status != ZS_OK && status != ZS_NOT_FOUND)
        *err = why;
    return status == ZS_OK ? zs_hierarchy_open(check->store, true, &check->hierarchy, err) : status;
}

static enum zs_status check_all(struct zs_check *check, const char *commit, struct zs_error *err)
{
    enum zs_status status = zs_hierarchy_open(check->store, false, &check->hierarchy, err);
    const bool has_root = status != ZS_NOT_FOUND;
    if (!has_root)
        status = open_repository(check, commit, err);
    if (status == ZS_NOT_FOUND && zs_document_is_v2(check->store))
        status = zs_fail(err, ZS_INVALID, "%s", zs_found_v2);
    if (!has_root && status == ZS_CORRUPT) /* the error names a file of the repository */
        return zs_report_failure(check, "", status, err);
    if (status == ZS_NOT_FOUND)
        status = ZS_INVALID; /* that there is no store is an error, and nothing that could not be checked */
    if (status == ZS_INVALID || status == ZS_UNSUPPORTED || status == ZS_CORRUPT) /* it is no Zarr v3, or damaged */
        return zs_report_failure(check, "zarr.json", status, err);
    ZS_TRY(status);
    if (zs_hierarchy_is_draft(check->hierarchy))
        zs_report(check, ZS_SEVERITY_WARNING, "zarr.json", "zarr_format", "3",
                  "the 2022 draft, of which only arrays and their chunks are checked");
    ZS_TRY(zs_walk_store(check, err));
    for (size_t i = 0; i < check->node_count; i++) {
        check->done = (double)i / (double)check->node_count;
        ZS_TRY(check_node(check, check->nodes[i], err));
    }
    return ZS_OK;
}

enum zs_status zs_validate(const char *path, const struct zs_validate_options *options,
                           struct zs_validate_summary *summary, struct zs_error *err)
{
    *summary = (struct zs_validate_summary){0};
    struct zs_check c = {.options = options, .summary = summary};
    c.threads = options->threads > 0 ? options->threads : zs_cpu_count();
    c.memory = options->memory != 0 ? options->memory : DEFAULT_MEMORY;
    char *root, *commit;
    ZS_TRY(zs_icechunk_split(path, &root, &commit, err));
    enum zs_status status = zs_store_open(root, &c.store, err);
    if (status == ZS_OK) {
        pthread_mutex_init(&c.lock, NULL);
        status = check_all(&c, commit, err);
        free(c.nodes);
        zs_hierarchy_free(c.hierarchy);
        zs_store_free(c.store);
        pthread_mutex_destroy(&c.lock);
    }
    free(root);
    free(commit);
    return status;
}

int zs_validate_exit_code(const struct zs_validate_summary *summary)
{
    return summary->errors > 0 ? 1 : summary->unchecked > 0 ? 2 : 0;
}

/* ---- Text ---- */

/* Names come from strangers, and texts go to terminals. */
static char *printable(char *text)
{
    const bool is_utf8 = text == NULL || zs_utf8_check(text, strlen(text), NULL);
    for (char *p = text; p != NULL && *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7F || (!is_utf8 && (unsigned char)*p > 0x7F))
            *p = '?';
    return text;
}

void zs_validate_show_progress(double done, int *shown)
{
    const int percent = (int)(done * 100);
    if (percent <= *shown || !isatty(STDERR_FILENO))
        return;
    *shown = percent;
    fprintf(stderr, "\r%3d %%%s", percent, percent == 100 ? "\n" : "");
}

char *zs_finding_text(const struct zs_finding *f, const char *store)
{
    static const char *const severities[] = {"note", "warning", "unchecked", "error"};
    const char *slash = f->where[0] != '\0' ? "/" : "", *expected = "", *found = "", *texts[2] = {"", ""};
    if (f->expected != NULL) {
        expected = ": expected ";
        texts[0] = f->expected;
        found = ", found ";
        texts[1] = f->found;
    }
    return printable(zs_format("%s: %s%s%s: %s%s%s%s%s", severities[f->severity], store, slash, f->where, f->what,
                               expected, texts[0], found, texts[1]));
}

char *zs_validate_summary_text(const struct zs_validate_summary *s, const char *store)
{
    return printable(zs_format("%s: %llu errors, %llu warnings, %llu not checked; %llu groups, %llu arrays, %llu "
                               "objects, %llu chunks of %.1f MB, %llu dead bytes",
                               store, (unsigned long long)s->errors, (unsigned long long)s->warnings,
                               (unsigned long long)s->unchecked, (unsigned long long)s->groups,
                               (unsigned long long)s->arrays, (unsigned long long)s->objects,
                               (unsigned long long)s->chunks, (double)s->bytes / 1e6,
                               (unsigned long long)s->dead_bytes));
}
