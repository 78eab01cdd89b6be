/* A store in GDAL's virtual file systems: reading, listing, removing, directories. */
#define _GNU_SOURCE /* VSIStatBufL is a struct stat64 */
#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <cpl_vsi_error.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "store/vsi.h"

/* Versions of a file in memory are compared by this many of their first and last bytes, where indexes are. */
#define FINGERPRINT_BYTES ((uint64_t)64 << 10)

static bool gives_no_reason(void)
{
    return VSIGetLastErrorNo() == 0 && CPLGetLastErrorMsg()[0] == '\0';
}

/* GDAL gives no reason there. */
static const char bad_archive[] = "the archive is not there, cannot be opened, or is cut or damaged";

/* Why a file cannot be opened: GDAL gives no reason when one of its settings forbids it. */
static const char *reason_not_opened(const struct zs_store *store)
{
    static const char *const limits[] = {"CPL_VSIL_CURL_ALLOWED_EXTENSIONS", "CPL_VSIL_CURL_ALLOWED_FILENAME"};
    const bool is_silent = gives_no_reason();
    if (is_silent && zs_vsi_kind(store)->is_archive)
        return bad_archive;
    for (size_t i = 0; is_silent && i < sizeof limits / sizeof limits[0]; i++) {
        const char *allowed = CPLGetConfigOption(limits[i], NULL);
        if (allowed != NULL)
            return CPLSPrintf("%s allows no more than %s", limits[i], allowed);
    }
    return zs_vsi_reason();
}

/* ---- Reading ---- */

/* Whether the listing of the nearest directory above `path` that can be listed lacks it, or a directory above it. */
static bool is_not_listed(const char *path)
{
    char *at = zs_strdup(path), **names = NULL;
    bool is_absent = false;
    for (char *slash; at != NULL && names == NULL && (slash = strrchr(at, '/')) != NULL && slash > at + 1;) {
        *slash = '\0';
        names = VSIReadDir(at);
        is_absent = names != NULL && CSLFindStringCaseSensitive(names, slash + 1) < 0;
    }
    CSLDestroy(names);
    free(at);
    return is_absent;
}

/* Whether opening the file again fails with status 400 or 404. GDAL's files do not give the status, but unless they are
 * asked for an error they warn of every other one. */
static bool is_silently_missing(const char *path)
{
    VSICurlPartialClearCache(path);
    VSIErrorReset();
    CPLErrorReset();
    VSILFILE *file = VSIFOpenL(path, "rb");
    if (file != NULL)
        VSIFCloseL(file);
    return file == NULL && CPLGetLastErrorType() == CE_None && VSIGetLastErrorNo() == 0;
}

/* Whether a failed open means that there is no such object. In doubt it is a failure: taking a refused shard for an
 * absent one would give nodata where there are pixels. */
static bool failure_means_absent(const struct zs_store *store, const char *path)
{
    const struct zs_path_kind *kind = zs_vsi_kind(store);
    if (kind->is_archive) /* which gives no reasons, but a table of contents where it can be read */
        return is_not_listed(path);
    if (kind->speaks_http) {
        const int code = VSIGetLastErrorNo();
        return code == VSIE_AWSObjectNotFound ||
               (code == VSIE_HttpError && is_silently_missing(path) &&
                (zs_http_probe(path, NULL, 0) == ZS_HTTP_ABSENT || (kind->is_listable && is_not_listed(path))));
    }
    if (errno == ENOENT || errno == ENOTDIR)
        return true;
    VSIStatBufL st;
    if (VSIStatExL(path, &st, VSI_STAT_EXISTS_FLAG | VSI_STAT_NATURE_FLAG) == 0)
        return VSI_ISDIR(st.st_mode);
    return kind->is_memory || is_not_listed(path);
}

/* Says why a file could not be opened. Takes the reason first: finding out whether the file is absent asks again. */
static enum zs_status fail_open(const struct zs_store *store, const char *path, const char *name, const char *what,
                                struct zs_error *err)
{
    const enum zs_status status = zs_fail(err, ZS_IO, "%s: %s: %s", name, what, reason_not_opened(store));
    return failure_means_absent(store, path) ? zs_fail(err, ZS_NOT_FOUND, "%s: there is no such file", name) : status;
}

static VSILFILE *open_file(const struct zs_store *store, const char *path)
{
    VSILFILE *file = VSIFOpenExL(path, "rb", TRUE);
    if (file == NULL && zs_vsi_kind(store)->speaks_http && VSIGetLastErrorNo() == 0) {
        /* /vsicurl remembers that it could not open this before, but not why. Ask the server again. */
        VSICurlPartialClearCache(path);
        file = VSIFOpenExL(path, "rb", TRUE);
    }
    return file;
}

/* Mixes [offset, offset + n) of a file into *version. */
static bool mix_bytes(VSILFILE *file, uint64_t offset, uint64_t n, uint64_t *version)
{
    uint64_t words[512], v = *version;
    if (VSIFSeekL(file, offset, SEEK_SET) != 0)
        return false;
    for (size_t part; n > 0; n -= part) {
        part = n < sizeof words ? (size_t)n : sizeof words;
        words[(part - 1) / 8] = 0;
        if (VSIFReadL(words, 1, part, file) != part)
            return false;
        for (size_t i = 0; i < (part + 7) / 8; i++)
            v = (v ^ words[i]) * 0x9E3779B97F4A7C15u ^ v >> 29;
    }
    *version = v;
    return true;
}

/* Finds the size and the version of an opened file. GDAL's file systems have no versions: for files in memory a hash of
 * bytes serves, in archives the time that the archive gives. Over a network GDAL would answer from its memory, so it is
 * not asked. */
static bool measure(const struct vsi_object *o, VSILFILE *file, uint64_t *size, uint64_t *version)
{
    const struct zs_path_kind *kind = zs_vsi_kind(o->base.store);
    if (VSIFSeekL(file, 0, SEEK_END) != 0)
        return false;
    *size = *version = VSIFTellL(file);
    VSIStatBufL st;
    if (kind->is_archive && !kind->is_remote && VSIStatL(o->path, &st) == 0)
        *version = (*version ^ (uint64_t)st.st_mtime) * 0x9E3779B97F4A7C15u;
    if (!kind->is_memory)
        return true;
    const uint64_t n = *size < FINGERPRINT_BYTES ? *size : FINGERPRINT_BYTES;
    return mix_bytes(file, 0, n, version) && (*size == n || mix_bytes(file, *size - n, n, version));
}

/* Whether a handle has the size and the version with which the object was opened. */
static bool is_unchanged(const struct vsi_object *o, VSILFILE *file)
{
    uint64_t size, version;
    return measure(o, file, &size, &version) && size == o->base.size && version == o->base.version;
}

static void vsi_close(struct zs_object *object)
{
    struct vsi_object *o = (struct vsi_object *)object;
    for (size_t i = 0; i < o->idle_count; i++)
        VSIFCloseL(o->idle[i]);
    free(o->path);
    free(o->name);
    free(o->tag);
    free(o->generation);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

/* Gives a handle back for the next reader. */
static void handle_return(struct vsi_object *o, VSILFILE *file)
{
    pthread_mutex_lock(&o->lock);
    const bool is_kept = o->idle_count < ZS_MOST_FETCHES;
    if (is_kept)
        o->idle[o->idle_count++] = file;
    pthread_mutex_unlock(&o->lock);
    if (!is_kept)
        VSIFCloseL(file);
}

static VSILFILE *handle_take(struct vsi_object *o)
{
    VSILFILE *file = NULL;
    pthread_mutex_lock(&o->lock);
    if (o->idle_count > 0)
        file = o->idle[--o->idle_count];
    pthread_mutex_unlock(&o->lock);
    return file;
}

enum zs_status zs_vsi_open_file(struct vsi_object *o, struct zs_error *err)
{
    enum zs_status status;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, o->base.store);
    VSILFILE *file = open_file(o->base.store, o->path);
    if (file != NULL) {
        status = measure(o, file, &o->base.size, &o->base.version)
                     ? ZS_OK
                     : zs_fail(err, ZS_IO, "%s: cannot find its size: %s", o->name, zs_vsi_reason());
        handle_return(o, file);
    } else {
        status = fail_open(o->base.store, o->path, o->name, "cannot be opened", err);
    }
    zs_vsi_quiet_end(&q);
    return status;
}

static enum zs_status vsi_open(struct zs_store *store, const char *key, struct zs_first_read *first,
                               struct zs_object **object, struct zs_error *err)
{
    const bool is_plain = ((const struct vsi_store *)store)->http != NULL;
    struct vsi_object *o = zs_calloc(1, sizeof *o);
    char *path = zs_vsi_path(store, key), *name = zs_format("%s/%s", store->root, key);
    if (o == NULL || path == NULL || name == NULL) {
        free(o);
        free(path);
        free(name);
        return zs_fail_memory(err);
    }
    o->base.store = store;
    o->path = path;
    o->name = name;
    pthread_mutex_init(&o->lock, NULL);
    const enum zs_status status = is_plain ? zs_http_open(o, key, first, err) : zs_vsi_open_file(o, err);
    if (status != ZS_OK) {
        vsi_close(&o->base);
        return status;
    }
    *object = &o->base;
    return ZS_OK;
}

enum zs_status zs_vsi_fail_replaced(struct vsi_object *o, struct zs_error *err)
{
    __atomic_store_n(&o->base.is_stale, true, __ATOMIC_RELAXED);
    return zs_fail(err, ZS_IO, "%s: the object was replaced while it was read", o->name);
}

static enum zs_status read_handle(struct vsi_object *o, VSILFILE *file, uint64_t offset, size_t n, void *data,
                                  struct zs_error *err)
{
    size_t got = 0;
    if (VSIFSeekL(file, offset, SEEK_SET) == 0)
        got = VSIFReadL(data, 1, n, file);
    if (got != n) {
        const bool is_damaged = zs_vsi_kind(o->base.store)->is_archive && gives_no_reason();
        return zs_fail(err, ZS_IO, "%s: expected %zu bytes at offset %llu, found %zu: %s", o->name, n,
                       (unsigned long long)offset, got, is_damaged ? bad_archive : zs_vsi_reason());
    }
    return ZS_OK;
}

static enum zs_status vsi_read(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    struct vsi_object *o = (struct vsi_object *)object;
    enum zs_status status = ZS_OK;
    struct zs_vsi_quiet q;
    if (o->is_plain)
        return zs_http_read(o, offset, n, data, err);
    zs_vsi_quiet_begin(&q, object->store);
    VSILFILE *file = handle_take(o);
    if (file == NULL) {
        file = open_file(object->store, o->path);
        if (file == NULL) {
            status = fail_open(object->store, o->path, o->name, "cannot be opened again", err);
            status = status == ZS_NOT_FOUND ? zs_vsi_fail_replaced(o, err) : status;
        } else if (!object->store->is_remote && !is_unchanged(o, file))
            status = zs_vsi_fail_replaced(o, err);
    }
    if (status == ZS_OK)
        status = read_handle(o, file, offset, n, data, err);
    if (file != NULL && zs_object_is_stale(object))
        VSIFCloseL(file);
    else if (file != NULL)
        handle_return(o, file);
    zs_vsi_quiet_end(&q);
    return status;
}

/* ---- Listing ---- */

/* Names of storage classes that GDAL leaves out of listings, though the objects are there. */
#define IGNORED_CLASSES "CPL_VSIL_CURL_IGNORE_STORAGE_CLASSES"

struct listing {
    const char *path;
    bool is_open;
    bool has_failed; /* it, or a page of it */
    bool is_bad;     /* the last answer was */
    bool prints;     /* the user asked for debug messages, too */
    struct zs_names names;
    char reason[400]; /* of a failure */
};

/* Notes that an object store gave an answer that GDAL could not use: of that it says nothing but under CPL_DEBUG. */
static void CPL_STDCALL note_bad_answer(CPLErr type, CPLErrorNum number, const char *message)
{
    struct listing *l = CPLGetErrorHandlerUserData();
    if (type == CE_Debug && l->prints)
        CPLDefaultErrorHandler(type, number, message);
    l->is_bad = l->is_bad || type == CE_Debug;
}

/* Lists once. GDAL takes the pages before one that failed for all: the answer that it could not use shows that. */
static enum zs_status read_names(const struct zs_store *store, struct listing *l, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    struct zs_vsi_quiet q;
    l->prints = CPLGetConfigOption("CPL_DEBUG", NULL) != NULL;
    zs_vsi_quiet_begin(&q, store);
    zs_vsi_quiet_set(&q, "CPL_DEBUG", "S3,GS,AZURE,ADLS,OSS,SWIFT"); /* and nothing else */
    zs_vsi_quiet_set(&q, IGNORED_CLASSES, "");
    CPLPushErrorHandlerEx(note_bad_answer, l);
    VSIDIR *dir = VSIOpenDir(l->path, 0, NULL);
    l->is_open = dir != NULL;
    while (status == ZS_OK && dir != NULL) {
        l->is_bad = false; /* until here GDAL asked again, as in another region */
        const VSIDIREntry *entry = VSIGetNextDirEntry(dir);
        if (entry == NULL)
            break;
        size_t n = strlen(entry->pszName);
        while (n > 0 && entry->pszName[n - 1] == '/')
            n--;
        const bool is_prefix = entry->bModeKnown && VSI_ISDIR(entry->nMode);
        status = zs_names_add(&l->names, zs_format(is_prefix ? "%.*s/" : "%.*s", (int)n, entry->pszName), err);
    }
    l->has_failed = l->is_bad || !gives_no_reason();
    (void)snprintf(l->reason, sizeof l->reason, "%s", zs_vsi_reason());
    if (dir != NULL)
        VSICloseDir(dir);
    CPLPopErrorHandler();
    zs_vsi_quiet_end(&q);
    return status;
}

/* Decides what it means that a listing of an object store or a web server has no names or failed, by its answer for the
 * object "path/", which has a status: GDAL does not tell the folder that is such an object from a page that is no
 * listing. */
static enum zs_status ask_server(struct listing *l, bool is_listable, struct zs_error *err)
{
    char *folder = zs_format("%s/", l->path), found[sizeof l->reason];
    ZS_TRY_MEMORY(folder, err);
    folder[strrchr(l->path, '/') - l->path] = '\0';
    VSICurlPartialClearCache(folder); /* GDAL would remember that nothing is there */
    folder[strrchr(l->path, '/') - l->path] = '/';
    const enum zs_http_kind kind = zs_http_probe(folder, found, sizeof found);
    free(folder);
    if (!is_listable)
        return kind == ZS_HTTP_FAILED ? ZS_IO : ZS_UNSUPPORTED;
    if (!l->has_failed && (kind == ZS_HTTP_BEYOND || (kind == ZS_HTTP_ABSENT && !l->is_open)))
        return l->is_open ? ZS_OK : ZS_NOT_FOUND;
    if (kind == ZS_HTTP_REFUSED || kind == ZS_HTTP_FAILED)
        (void)snprintf(l->reason, sizeof l->reason, "%s", found);
    return ZS_IO;
}

/* Whether a path names a bucket, or what a file system has instead: it may be empty. */
static bool is_bucket(const char *path)
{
    const char *name = strchr(path + 1, '/');
    return name == NULL || strchr(name + 1, '/') == NULL;
}

/* ZS_OK also for an empty directory, ZS_NOT_FOUND where nothing is there, ZS_UNSUPPORTED where the file system has no
 * listings, else ZS_IO. */
static enum zs_status list_once(const struct zs_store *store, struct listing *l, struct zs_error *err)
{
    const struct zs_path_kind *kind = zs_vsi_kind(store);
    VSIStatBufL st;
    const enum zs_status status = read_names(store, l, err);
    const bool is_empty = l->names.count == 0, is_object_store = kind->speaks_http && !kind->is_archive;
    if (status != ZS_OK || (l->is_open && !l->has_failed && (!is_empty || !is_object_store || is_bucket(l->path))))
        return status;
    if (is_object_store)
        return ask_server(l, kind->is_listable, err);
    if (l->is_open || l->has_failed)
        return ZS_IO;
    return (kind->is_archive ? is_not_listed(l->path) : VSIStatL(l->path, &st) != 0) ? ZS_NOT_FOUND : ZS_IO;
}

static enum zs_status vsi_list(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    char *path = zs_vsi_path(store, prefix);
    ZS_TRY_MEMORY(path, err);
    struct listing l = {.path = path};
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, store);
    const enum zs_status status = list_once(store, &l, err);
    zs_vsi_quiet_end(&q);
    free(path);
    if (status == ZS_NOT_FOUND)
        zs_error_set(err, "%s/%s: there is nothing", store->root, prefix);
    else if (status == ZS_IO || status == ZS_UNSUPPORTED)
        zs_error_set(err, "%s%s%s: cannot be listed: %s", store->root, prefix[0] != '\0' ? "/" : "", prefix, l.reason);
    *names = l.names.list;
    return status;
}

/* ---- Removing ---- */

static enum zs_status vsi_remove(struct zs_store *store, const char *key, struct zs_error *err)
{
    char *path = zs_vsi_path(store, key);
    ZS_TRY_MEMORY(path, err);
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, store);
    enum zs_status status = ZS_OK;
    if (VSIUnlink(path) != 0) {
        status = zs_fail(err, ZS_IO, "%s/%s: cannot be removed: %s", store->root, key, zs_vsi_reason());
        errno = 0;
        VSIErrorReset();
        VSILFILE *file = open_file(store, path); /* not a stat, which gives no reason when it fails */
        if (file == NULL && failure_means_absent(store, path))
            status = ZS_OK;
        if (file != NULL)
            VSIFCloseL(file);
    }
    zs_vsi_quiet_end(&q);
    free(path);
    return status;
}

static void vsi_remove_directory(struct zs_store *store, const char *prefix)
{
    if (store->is_remote) /* directories of object stores cost requests, and nothing needs them */
        return;
    char *path = zs_vsi_path(store, prefix);
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, store);
    /* /vsimem/ removes a directory that is not empty, and no longer lists what is in it. */
    char **names = path != NULL && strncmp(path, "/vsi", 4) == 0 ? VSIReadDirEx(path, 3) : NULL;
    bool is_empty = path != NULL;
    for (int i = 0; names != NULL && names[i] != NULL; i++)
        is_empty = is_empty && (strcmp(names[i], ".") == 0 || strcmp(names[i], "..") == 0);
    if (is_empty)
        (void)VSIRmdir(path);
    CSLDestroy(names);
    zs_vsi_quiet_end(&q);
    free(path);
}

/* Renames in memory alone: servers would copy and delete one object after the other. */
static enum zs_status vsi_rename(struct zs_store *store, const char *from, const char *to, struct zs_error *err)
{
    if (!zs_vsi_kind(store)->is_memory)
        return zs_fail(err, ZS_UNSUPPORTED, "%s/%s: has no directories that could be renamed", store->root, from);
    VSIStatBufL st;
    enum zs_status status = ZS_OK;
    char *before = zs_vsi_path(store, from), *after = zs_vsi_path(store, to);
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, store);
    if (before == NULL || after == NULL)
        status = zs_fail_memory(err);
    else if (VSIStatL(after, &st) == 0)
        status = zs_fail(err, ZS_ARGUMENT, "%s/%s: there is something already", store->root, to);
    else if (VSIStatL(before, &st) == 0 && VSIRename(before, after) != 0)
        status = zs_fail(err, ZS_IO, "%s/%s: cannot be renamed to %s: %s", store->root, from, to, zs_vsi_reason());
    zs_vsi_quiet_end(&q);
    free(before);
    free(after);
    return status;
}

static void vsi_forget(struct zs_store *store, const char *key)
{
    const struct vsi_store *s = (const struct vsi_store *)store;
    if (s->http != NULL)
        zs_http_forget(s->http, store->path, key);
}

static void vsi_free(struct zs_store *store)
{
    struct vsi_store *s = (struct vsi_store *)store;
    zs_http_free(s->http);
    free(store->root);
    free(store->path);
    free(s);
}

/* Files in /vsimem/ are this process's own: one lock for all of them. */
static enum zs_status vsi_lock(struct zs_store *store, const char *key, struct zs_lock **lock, struct zs_error *err)
{
    (void)key;
    (void)err;
    if (zs_vsi_kind(store)->is_memory) {
        (void)pthread_mutex_lock(&zs_locks[ZS_LOCK_IN_MEMORY]);
        *lock = (struct zs_lock *)&zs_locks[ZS_LOCK_IN_MEMORY];
    }
    return ZS_OK;
}

static void vsi_unlock(struct zs_store *store, struct zs_lock *lock)
{
    (void)store;
    (void)pthread_mutex_unlock((pthread_mutex_t *)lock);
}

static enum zs_status vsi_check(struct zs_store *store, const char *prefix, struct zs_error *err)
{
    const struct zs_path_kind *kind = zs_vsi_kind(store);
    (void)prefix;
    if (kind->is_archive)
        return zs_fail(err, ZS_UNSUPPORTED, "%s: what is in an archive is written once: pack a finished store",
                       store->root);
    return kind->speaks_http && !kind->is_listable /* /vsicurl */
               ? zs_fail(err, ZS_UNSUPPORTED, "%s: is only read: what is behind an URL is not written", store->root)
               : ZS_OK;
}

static const struct zs_writing_ops writing = {.create = zs_vsi_create,
                                              .write = zs_vsi_write,
                                              .read_back = zs_vsi_read_back,
                                              .commit = zs_vsi_commit,
                                              .commits_again = true,
                                              .abort = zs_vsi_abort,
                                              .remove = vsi_remove,
                                              .check = vsi_check,
                                              .lock = vsi_lock,
                                              .unlock = vsi_unlock,
                                              .remove_directory = vsi_remove_directory,
                                              .rename = vsi_rename};
static const struct zs_store_ops vsi_ops = {.open = vsi_open,
                                            .read = vsi_read,
                                            .close = vsi_close,
                                            .list = vsi_list,
                                            .free = vsi_free,
                                            .writing = &writing,
                                            .forget = vsi_forget};

enum zs_status zs_store_open_vsi(const char *root, const struct zs_path_kind *kind, struct zs_store **store,
                                 struct zs_error *err)
{
    struct vsi_store *s = zs_calloc(1, sizeof *s);
    char *path = zs_strdup(root), *shown = zs_path_shown(root);
    const enum zs_status status = s != NULL && path != NULL && shown != NULL ? zs_http_create(path, &s->http, err)
                                                                            : zs_fail_memory(err);
    if (status != ZS_OK) {
        free(s);
        free(path);
        free(shown);
        return status;
    }
    s->kind = *kind;
    s->base = (struct zs_store){.ops = &vsi_ops, .root = shown, .path = path, .is_remote = kind->is_remote};
    const char *setting = zs_vsi_option(path, "SHARDEDZARR_CONDITIONAL_PUT");
    s->base.sends_conditions = setting == NULL || CPLTestBool(setting);
    s->base.can_expect = s->http != NULL && kind->sends_conditions;
    *store = &s->base;
    return ZS_OK;
}
