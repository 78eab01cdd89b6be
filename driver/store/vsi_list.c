/* Listing in GDAL's virtual file systems. These give no reason when a listing fails and, on object stores, not even
 * that it did: a refusal looks like an empty directory, and a listing ends early when a later page fails. */
#define _GNU_SOURCE /* VSIStatBufL is a struct stat64 */
#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <cpl_vsi_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/http.h"
#include "store/vsi.h"

/* Servers send no shorter pages than this: fewer names came in one page, and are complete. */
#define MIN_PAGE 100
/* ... nor longer pages than this, where the length can be set. */
#define MAX_PAGE 1000
/* A directory that others add to is listed this often until two listings agree. */
#define MAX_LISTINGS 16

static enum zs_status fail_list(const struct zs_store *store, const char *prefix, enum zs_status status,
                                struct zs_error *err)
{
    return zs_fail(err, status, "%s%s%s: cannot be listed: %s", store->root, prefix[0] != '\0' ? "/" : "", prefix,
                   zs_vsi_reason());
}

/* Whether GDAL gives a reason for a failed call. After a request errno is none: it comes from inside of the client. */
static bool has_reason(void)
{
    return VSIGetLastErrorNo() != 0 || CPLGetLastErrorMsg()[0] != '\0';
}

/* Whether GDAL's reason is of a server that may answer again. Refusals, and what is absent, have numbers of their
 * own. */
static bool is_error_of_the_moment(void)
{
    return VSIGetLastErrorNo() == VSIE_HttpError || VSIGetLastErrorNo() == VSIE_AWSError;
}

/* Requests a directory as the object "path/", which has a status where a listing has none. */
static enum zs_status probe_folder(const char *path, enum zs_http_kind *kind, char *found, size_t n,
                                   struct zs_error *err)
{
    char *folder = zs_format("%s/", path);
    ZS_TRY_MEMORY(folder, err);
    *kind = zs_http_probe(folder, found, n);
    free(folder);
    return ZS_OK;
}

/* Asks the server why a directory, whose listing failed without a reason, cannot be listed: a server without that
 * bucket answers other requests so, too. Leaves `err` as it is where the server gives no reason (*has_none). */
static enum zs_status fail_as_answered(const struct zs_store *store, const char *prefix, const char *path,
                                       bool *has_none, struct zs_error *err)
{
    char found[400] = "";
    enum zs_http_kind kind;
    *has_none = false;
    ZS_TRY(probe_folder(path, &kind, found, sizeof found, err));
    if ((kind == ZS_HTTP_REFUSED || kind == ZS_HTTP_FAILED) && found[0] != '\0')
        return zs_fail(err, ZS_IO, "%s%s%s: cannot be listed: expected a list, found %s", store->root,
                       prefix[0] != '\0' ? "/" : "", prefix, found);
    *has_none = true;
    return ZS_IO;
}

/* The request for one listing. */
struct listing {
    const char *path;
    const char *begin; /* of names; NULL: all */
    unsigned page;     /* names of one page; 0: GDAL's own setting */
    size_t most;       /* so many names are enough; 0: all */
};

/* Names of storage classes that GDAL leaves out of listings. */
#define IGNORED_CLASSES "CPL_VSIL_CURL_IGNORE_STORAGE_CLASSES"

/* Sets an option of GDAL's for this thread. Returns the thread's own value until then, for set_back(). */
static char *set_here(const char *option, const char *value)
{
    const char *former = CPLGetThreadLocalConfigOption(option, NULL);
    char *kept = former != NULL ? zs_strdup(former) : NULL;
    CPLSetThreadLocalConfigOption(option, value);
    return kept;
}

static void set_back(const char *option, char *kept)
{
    CPLSetThreadLocalConfigOption(option, kept);
    free(kept);
}

/* Lists once, archived objects too: GDAL leaves those out, but they are there. */
static enum zs_status read_names(const struct zs_store *store, const char *prefix, const struct listing *l,
                                 bool *is_open, struct zs_names *found, struct zs_error *err)
{
    const char *option = l->page > 0 ? zs_vsi_kind(store)->page_option : NULL;
    char number[16];
    char *filter = l->begin != NULL ? zs_format("PREFIX=%s", l->begin) : NULL;
    const char *const options[] = {filter, NULL};
    snprintf(number, sizeof number, "%u", l->page);
    char *classes = set_here(IGNORED_CLASSES, "");
    char *length = option != NULL ? set_here(option, number) : NULL;
    enum zs_status status = ZS_OK;
    VSIDIR *dir = VSIOpenDir(l->path, 0, options);
    const VSIDIREntry *entry;
    *is_open = dir != NULL;
    while (status == ZS_OK && dir != NULL && (l->most == 0 || found->count < l->most) &&
           (entry = VSIGetNextDirEntry(dir)) != NULL) {
        size_t n = strlen(entry->pszName);
        while (n > 0 && entry->pszName[n - 1] == '/')
            n--;
        const bool is_prefix = entry->bModeKnown && VSI_ISDIR(entry->nMode);
        status = zs_names_add(found, zs_format(is_prefix ? "%.*s/" : "%.*s", (int)n, entry->pszName), err);
    }
    if (status == ZS_OK && dir != NULL && VSIGetLastErrorNo() != 0)
        status = fail_list(store, prefix, ZS_IO, err);
    if (dir != NULL)
        VSICloseDir(dir);
    if (option != NULL)
        set_back(option, length);
    set_back(IGNORED_CLASSES, classes);
    free(filter);
    return status;
}

/* The last name of a listing, "" of an empty one. */
static const char *last_of(const struct zs_names *names)
{
    return names->count > 0 ? names->list[names->count - 1] : "";
}

/* Whether the first of two sorted listings has no names but those of the second. */
static bool is_within(const struct zs_names *a, const struct zs_names *b)
{
    size_t same = 0;
    for (size_t i = 0; i < b->count && same < a->count; i++)
        same += strcmp(a->list[same], b->list[i]) == 0;
    return same == a->count;
}

/* Lists again, in pages of other lengths, until two listings agree: one that was cut at a page ends elsewhere then,
 * as listed and in order. What the newer has more, others added meanwhile. */
static enum zs_status confirm(const struct zs_store *store, const char *prefix, struct listing l,
                              struct zs_names *found, struct zs_error *err)
{
    const char *end = last_of(found);
    for (unsigned i = 1; i < MAX_LISTINGS; i++) {
        l.page = (found->count < MAX_PAGE ? (unsigned)found->count : MAX_PAGE) - i;
        struct zs_names again = {0};
        bool is_open;
        const enum zs_status status = read_names(store, prefix, &l, &is_open, &again, err);
        const char *new_end = last_of(&again);
        bool agrees = status == ZS_OK && again.count >= found->count;
        if (agrees) {
            const bool ends_alike = strcmp(end, new_end) == 0;
            zs_names_sort(found->list);
            zs_names_sort(again.list);
            agrees = is_within(found, &again) && (again.count == found->count ||
                                                  (ends_alike && strcmp(last_of(found), last_of(&again)) == 0));
        }
        zs_names_free(found->list);
        *found = again;
        end = new_end;
        if (status != ZS_OK || agrees)
            return status;
        if (again.count < MIN_PAGE)
            break;
    }
    return zs_fail(err, ZS_IO, "%s/%s: cannot be listed: its listings end at different names", store->root, prefix);
}

/* Lists all names at a path, or all that begin with `begin`. */
static enum zs_status list_path(const struct zs_store *store, const char *prefix, const char *path, const char *begin,
                                bool *is_open, struct zs_names *found, struct zs_error *err)
{
    const struct listing l = {.path = path, .begin = begin};
    ZS_TRY(read_names(store, prefix, &l, is_open, found, err));
    const bool has_pages = zs_vsi_kind(store)->page_option != NULL;
    return has_pages && found->count >= MIN_PAGE ? confirm(store, prefix, l, found, err) : ZS_OK;
}

static size_t length_without_slashes(const char *path, size_t n)
{
    while (n > 0 && path[n - 1] == '/')
        n--;
    return n;
}

/* The length of the path above the first `n` bytes of one: 0 above a bucket (or what a file system has instead), and in
 * an archive above the store. */
static size_t length_above(const struct zs_store *store, const char *path, size_t n)
{
    const char *bucket = strchr(path + 1, '/');
    size_t least = bucket != NULL ? (size_t)(bucket - path) + 2 : n;
    if (zs_vsi_kind(store)->is_archive)
        least = length_without_slashes(store->path, strlen(store->path));
    n = length_without_slashes(path, n);
    while (n > 0 && path[n - 1] != '/')
        n--;
    n = length_without_slashes(path, n);
    return n >= least ? n : 0;
}

/* Whether a listing has no names though it opened, where nothing is a directory but by what is in it. */
static bool is_doubtful(const struct zs_store *store, const char *path, bool is_open, const struct zs_names *found)
{
    const struct zs_path_kind *kind = zs_vsi_kind(store);
    return is_open && found->count == 0 && kind->speaks_http && kind->is_listable && !kind->is_archive &&
           length_above(store, path, strlen(path)) > 0;
}

/* Whether a listing has the prefix that `n` bytes name. */
static bool has_prefix(const struct zs_names *names, const char *prefix, size_t n)
{
    for (size_t i = 0; i < names->count; i++)
        if (strncmp(names->list[i], prefix, n) == 0 && strcmp(names->list[i] + n, "/") == 0)
            return true;
    return false;
}

/* Whether the listing of a parent has the prefix that `n` bytes name. In a long listing, reads only names that share
 * their first bytes with the prefix: as many bytes as some name shares. */
static enum zs_status find_prefix(const struct zs_store *store, const char *prefix, const char *parent,
                                  const char *name, size_t n, bool *is_open, bool *has, struct zs_error *err)
{
    const struct listing first = {.path = parent, .most = MAX_PAGE};
    struct zs_names names = {0};
    enum zs_status status = read_names(store, prefix, &first, is_open, &names, err);
    *is_open = *is_open && !is_doubtful(store, parent, true, &names);
    size_t length = names.count == MAX_PAGE && zs_vsi_kind(store)->picks_names ? n : 0;
    *has = has_prefix(&names, name, n);
    for (bool is_all = !*is_open || *has || names.count < MIN_PAGE; status == ZS_OK && !is_all;) {
        char *begin = zs_strndup(name, length);
        zs_names_free(names.list);
        names = (struct zs_names){0};
        status = begin != NULL ? list_path(store, prefix, parent, begin, is_open, &names, err)
                               : zs_fail_memory(err);
        *has = has_prefix(&names, name, n);
        is_all = *is_open || length-- == 0;
        free(begin);
    }
    zs_names_free(names.list);
    return status;
}

/* Looks for a path in the listing of the nearest path above it that has one. If the path is not there it is empty; else
 * its listing failed. */
static enum zs_status prove_empty(const struct zs_store *store, const char *prefix, const char *path, bool *is_empty,
                                  struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    bool is_open = false, has = true;
    for (size_t n = strlen(path), above; status == ZS_OK && !is_open; n = above) {
        above = length_above(store, path, n);
        char *parent = above > 0 ? zs_strndup(path, above) : NULL;
        if (parent == NULL && above > 0)
            status = zs_fail_memory(err);
        if (parent == NULL)
            break;
        const char *name = path + above + strspn(path + above, "/");
        VSIErrorReset();
        VSICurlPartialClearCache(parent); /* some file systems remember their listings */
        status = find_prefix(store, prefix, parent, name, strcspn(name, "/"), &is_open, &has, err);
        free(parent);
    }
    *is_empty = is_open && !has;
    return status;
}

/* Checks a listing that has no names. GDAL does not tell the listing of a folder, which is an object "name/" without
 * bytes, from a page that a proxy gave instead. */
static enum zs_status check_folder(const struct zs_store *store, const char *prefix, const char *path,
                                   struct zs_error *err)
{
    enum zs_http_kind kind;
    ZS_TRY(probe_folder(path, &kind, NULL, 0, err));
    bool is_empty = kind == ZS_HTTP_BEYOND;
    if (kind == ZS_HTTP_ABSENT)
        ZS_TRY(prove_empty(store, prefix, path, &is_empty, err));
    return is_empty ? ZS_OK
                    : zs_fail(err, ZS_IO, "%s/%s: cannot be listed: expected a list, found something else",
                              store->root, prefix);
}

/* Decides what it means that no directory opens: the prefix is absent, listing failed, or the file system has no
 * listings. *is_of_the_moment: the server gives no reason by now, or one that may have passed. */
static enum zs_status explain_nothing(const struct zs_store *store, const char *prefix, const char *path,
                                      bool *is_of_the_moment, struct zs_error *err)
{
    const struct zs_path_kind *kind = zs_vsi_kind(store);
    VSIStatBufL st;
    if (kind->is_listable) {
        const bool has_own = has_reason(), may_recover = kind->speaks_http && is_error_of_the_moment();
        const enum zs_status status = fail_list(store, prefix, ZS_IO, err);
        bool is_empty = kind->is_memory && VSIStatL(path, &st) != 0;
        if (!kind->is_memory && (VSIGetLastErrorNo() == 0 || kind->is_archive))
            ZS_TRY(prove_empty(store, prefix, path, &is_empty, err));
        if (is_empty)
            return zs_fail(err, ZS_NOT_FOUND, "%s/%s: there is nothing", store->root, prefix);
        *is_of_the_moment = may_recover;
        if (has_own || !kind->speaks_http)
            return status;
        return fail_as_answered(store, prefix, path, is_of_the_moment, err);
    }
    enum zs_http_kind answer = ZS_HTTP_ABSENT;
    if (kind->speaks_http)
        ZS_TRY(probe_folder(path, &answer, NULL, 0, err));
    return fail_list(store, prefix, answer == ZS_HTTP_FAILED ? ZS_IO : ZS_UNSUPPORTED, err);
}

static enum zs_status list_once(const struct zs_store *store, const char *prefix, const char *path,
                                bool *is_of_the_moment, struct zs_names *found, struct zs_error *err)
{
    bool is_open;
    *is_of_the_moment = false;
    const enum zs_status status = list_path(store, prefix, path, NULL, &is_open, found, err);
    if (status == ZS_OK && !is_open)
        return explain_nothing(store, prefix, path, is_of_the_moment, err);
    return status == ZS_OK && is_doubtful(store, path, is_open, found) ? check_folder(store, prefix, path, err)
                                                                       : status;
}

/* GDAL makes a request for a listing once, whatever its options are. */
enum zs_status zs_vsi_list(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    char *path = zs_vsi_path(store, prefix);
    ZS_TRY_MEMORY(path, err);
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, store);
    struct zs_names found = {0};
    struct zs_vsi_retries retries = zs_vsi_retries_of(path);
    bool is_of_the_moment;
    enum zs_status status = list_once(store, prefix, path, &is_of_the_moment, &found, err);
    while (is_of_the_moment && zs_vsi_retry(&retries)) {
        CPLErrorReset();
        VSIErrorReset();
        status = list_once(store, prefix, path, &is_of_the_moment, &found, err);
    }
    zs_vsi_quiet_end(&q);
    free(path);
    return zs_names_finish(&found, status, names, err);
}

/* ---- Of prefixes that are no store ---- */

void zs_vsi_find_names(const char *path, const char *begin, struct zs_names *names)
{
    char *filter = zs_format("PREFIX=%s", begin);
    const char *const options[] = {filter, NULL};
    VSIDIR *d = filter != NULL ? VSIOpenDir(path, 0, options) : NULL;
    enum zs_status status = ZS_OK;
    for (const VSIDIREntry *e; status == ZS_OK && d != NULL && (e = VSIGetNextDirEntry(d)) != NULL;)
        status = zs_names_add(names, zs_strndup(e->pszName, strcspn(e->pszName, "/")), NULL);
    if (d != NULL)
        VSICloseDir(d);
    free(filter);
}
