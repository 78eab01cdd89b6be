#define _GNU_SOURCE /* struct stat's st_mtim */
#include <cpl_conv.h>
#include <cpl_error.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <cpl_vsi_error.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parallel.h"
#include "store/vsi_private.h"

/* Uploads and copies go through a buffer of this size. */
#define COPY_BUFFER_BYTES ((size_t)1 << 20)

struct vsi_object {
    struct zs_object base;
    char *path;
    int fd; /* of a plain file: pread() needs no lock and no second handle; -1 for every other file system */
    VSILFILE *owner;
    /* Idle handles: a VSILFILE has one position, so each concurrent reader needs its own. */
    pthread_mutex_t lock;
    VSILFILE **idle;
    size_t idle_count, idle_capacity;
};

struct vsi_writer {
    struct zs_writer base;
    VSILFILE *file;
    char *path;      /* where the object shall appear */
    char *temp_path; /* what `file` writes */
    uint64_t size;
};

/* ---- GDAL's error state and settings around our calls ---- */

/* VSI functions print what they dislike and leave it as the last error; here both would be wrong: a missing object is
 * often normal, and the caller gets a status. /vsicurl would also list the parent directory of all it opens. */
void zs_vsi_quiet_begin(struct zs_vsi_quiet *q, const struct zs_store *store)
{
    q->type = (int)CPLGetLastErrorType();
    q->number = CPLGetLastErrorNo();
    q->message = q->type != (int)CE_None ? zs_strdup(CPLGetLastErrorMsg()) : NULL;
    q->readdir_set = store->is_remote && CPLGetConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", NULL) == NULL;
    if (q->readdir_set)
        CPLSetThreadLocalConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", "EMPTY_DIR");
    CPLPushErrorHandler(CPLQuietErrorHandler);
    CPLErrorReset();
    VSIErrorReset();
    errno = 0;
}

void zs_vsi_quiet_end(struct zs_vsi_quiet *q)
{
    CPLPopErrorHandler();
    VSIErrorReset();
    if (q->readdir_set)
        CPLSetThreadLocalConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", NULL);
    CPLErrorSetState((CPLErr)q->type, q->number, q->message != NULL ? q->message : "");
    free(q->message);
}

/* Why the last call failed, as far as GDAL says it. Valid until the next call into GDAL. */
static const char *reason(void)
{
    if (VSIGetLastErrorNo() != 0 && VSIGetLastErrorMsg()[0] != '\0')
        return VSIGetLastErrorMsg();
    if (CPLGetLastErrorMsg()[0] != '\0')
        return CPLGetLastErrorMsg();
    return errno != 0 ? strerror(errno) : "no reason given";
}

static void *context_capture(void)
{
    char **options = CPLGetThreadLocalConfigOptions();
    if (options == NULL || options[0] == NULL) {
        CSLDestroy(options);
        return NULL;
    }
    return options;
}

static void context_enter(void *options)
{
    CPLSetThreadLocalConfigOptions((const char *const *)options);
}

static void context_leave(void *options)
{
    (void)options;
    CPLSetThreadLocalConfigOptions(NULL);
}

static void context_release(void *options)
{
    CSLDestroy(options);
}

static void install_thread_context(void)
{
    static const struct zs_thread_context hooks = {context_capture, context_enter, context_leave, context_release};
    zs_parallel_set_thread_context(&hooks);
}

/* ---- Reading ---- */

char *zs_vsi_path(const struct zs_store *store, const char *key)
{
    if (key[0] == '\0')
        return zs_strdup(store->root);
    const size_t n = strlen(store->root);
    return zs_format(n > 0 && store->root[n - 1] == '/' ? "%s%s" : "%s/%s", store->root, key);
}

const char *zs_vsi_option(const char *path, const char *name)
{
    return VSIGetPathSpecificOption(path, name, NULL);
}

char *zs_vsi_object_url(const char *path)
{
    static const char *const systems[][2] = {
        {"/vsis3/", "AWS_NO_SIGN_REQUEST"}, {"/vsigs/", "GS_NO_SIGN_REQUEST"}, {"/vsiaz/", "AZURE_NO_SIGN_REQUEST"}};
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        if (strncmp(path, systems[i][0], strlen(systems[i][0])) != 0)
            continue;
        const char *no_sign = zs_vsi_option(path, systems[i][1]);
        if (no_sign != NULL && CPLTestBool(no_sign)) {
            const char *url = VSIGetActualURL(path);
            return url != NULL && strncmp(url, "http", 4) == 0 ? zs_strdup(url) : NULL;
        }
        char *url = VSIGetSignedURL(path, NULL);
        char *copy = url != NULL ? zs_strdup(url) : NULL;
        CPLFree(url);
        return copy;
    }
    return NULL;
}

/* Whether a failed open means that there is no such object. Everything that is not surely so is a failure: taking a
 * refused shard for an absent one would give nodata where there are pixels. */
static bool failure_means_absent(const struct zs_store *store, const char *path)
{
    if (!store->is_remote) {
        if (errno == ENOENT || errno == ENOTDIR)
            return true;
        VSIStatBufL st;
        return errno != EACCES &&
               (VSIStatExL(path, &st, VSI_STAT_EXISTS_FLAG | VSI_STAT_NATURE_FLAG) != 0 || VSI_ISDIR(st.st_mode));
    }
    const int code = VSIGetLastErrorNo();
    if (code == VSIE_AWSObjectNotFound)
        return true;
    return code == VSIE_HttpError && strstr(VSIGetLastErrorMsg(), "404") != NULL;
}

static VSILFILE *open_file(const struct zs_store *store, const char *path)
{
    VSILFILE *file = VSIFOpenExL(path, "rb", TRUE);
    if (file == NULL && store->is_remote && VSIGetLastErrorNo() == 0) {
        /* /vsicurl remembers that it could not open this before, but not why. Ask the server again. */
        VSICurlPartialClearCache(path);
        file = VSIFOpenExL(path, "rb", TRUE);
    }
    return file;
}

static uint64_t version_of(const struct stat *st)
{
    uint64_t v = (uint64_t)st->st_size;
    v = v * 0x9E3779B97F4A7C15u + (uint64_t)st->st_ino;
    v = v * 0x9E3779B97F4A7C15u + (uint64_t)st->st_mtim.tv_sec;
    v = v * 0x9E3779B97F4A7C15u + (uint64_t)st->st_mtim.tv_nsec;
    return v;
}

static void vsi_close(struct zs_object *object)
{
    struct vsi_object *o = (struct vsi_object *)object;
    for (size_t i = 0; i < o->idle_count; i++)
        VSIFCloseL(o->idle[i]);
    if (o->owner != NULL)
        VSIFCloseL(o->owner);
    free(o->idle);
    free(o->path);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

/* Gives a handle back for the next reader, or closes it when there is no memory to remember it. */
static void handle_return(struct vsi_object *o, VSILFILE *file)
{
    pthread_mutex_lock(&o->lock);
    if (o->idle_count == o->idle_capacity) {
        const size_t capacity = o->idle_capacity == 0 ? 4 : 2 * o->idle_capacity;
        VSILFILE **grown = realloc(o->idle, capacity * sizeof *grown);
        if (grown != NULL) {
            o->idle = grown;
            o->idle_capacity = capacity;
        }
    }
    const bool kept = o->idle_count < o->idle_capacity;
    if (kept)
        o->idle[o->idle_count++] = file;
    pthread_mutex_unlock(&o->lock);
    if (!kept)
        VSIFCloseL(file);
}

static VSILFILE *handle_take(struct vsi_object *o)
{
    VSILFILE *file = NULL;
    pthread_mutex_lock(&o->lock);
    if (o->idle_count > 0)
        file = o->idle[--o->idle_count];
    pthread_mutex_unlock(&o->lock);
    return file != NULL ? file : open_file(o->base.store, o->path);
}

/* Finds size and version of a freshly opened file, and hands it to the object. */
static enum zs_status adopt_file(struct vsi_object *o, VSILFILE *file, struct zs_error *err)
{
    void *native = o->base.store->is_remote ? NULL : VSIFGetNativeFileDescriptorL(file);
    struct stat st;
    if (native != NULL && fstat((int)(intptr_t)native, &st) == 0) {
        o->owner = file;
        o->fd = (int)(intptr_t)native;
        if (S_ISDIR(st.st_mode))
            return zs_fail(err, ZS_NOT_FOUND, "%s: expected a file, found a directory", o->path);
        o->base.size = (uint64_t)st.st_size;
        o->base.version = version_of(&st);
        return ZS_OK;
    }
    enum zs_status status = ZS_OK;
    if (VSIFSeekL(file, 0, SEEK_END) != 0)
        status = zs_fail(err, ZS_IO, "%s: cannot find its size: %s", o->path, reason());
    o->base.size = status == ZS_OK ? VSIFTellL(file) : 0;
    o->base.version = o->base.size;
    handle_return(o, file);
    return status;
}

static enum zs_status vsi_open(struct zs_store *store, const char *key, struct zs_object **object, struct zs_error *err)
{
    struct vsi_object *o = zs_calloc(1, sizeof *o);
    char *path = zs_vsi_path(store, key);
    if (o == NULL || path == NULL) {
        free(o);
        free(path);
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate an object handle");
    }
    o->base.store = store;
    o->path = path;
    o->fd = -1;
    pthread_mutex_init(&o->lock, NULL);

    enum zs_status status;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, store);
    VSILFILE *file = open_file(store, path);
    if (file != NULL)
        status = adopt_file(o, file, err);
    else if (failure_means_absent(store, path))
        status = zs_fail(err, ZS_NOT_FOUND, "%s: there is no such file", path);
    else
        status = zs_fail(err, ZS_IO, "%s: cannot be opened: %s", path, reason());
    zs_vsi_quiet_end(&q);
    if (status != ZS_OK) {
        vsi_close(&o->base);
        return status;
    }
    *object = &o->base;
    return ZS_OK;
}

static enum zs_status read_plain_file(struct vsi_object *o, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    size_t done = 0;
    while (done < n) {
        const size_t part = n - done < SSIZE_MAX ? n - done : SSIZE_MAX;
        const ssize_t got = pread(o->fd, (char *)data + done, part, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return zs_fail(err, ZS_IO, "%s: expected %zu bytes at offset %llu, found %zu%s%s", o->path, n,
                           (unsigned long long)offset, done, got < 0 ? ": " : "", got < 0 ? strerror(errno) : "");
        done += (size_t)got;
    }
    return ZS_OK;
}

static enum zs_status vsi_read(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    struct vsi_object *o = (struct vsi_object *)object;
    if (o->fd >= 0)
        return read_plain_file(o, offset, n, data, err);
    enum zs_status status = ZS_OK;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, object->store);
    VSILFILE *file = handle_take(o);
    if (file == NULL) {
        status = zs_fail(err, ZS_IO, "%s: cannot be opened again: %s", o->path, reason());
    } else {
        size_t got = 0;
        if (VSIFSeekL(file, offset, SEEK_SET) == 0)
            got = VSIFReadL(data, 1, n, file);
        if (got != n)
            status = zs_fail(err, ZS_IO, "%s: expected %zu bytes at offset %llu, found %zu: %s", o->path, n,
                             (unsigned long long)offset, got, reason());
        handle_return(o, file);
    }
    zs_vsi_quiet_end(&q);
    return status;
}

/* ---- Writing ---- */

/* Whether a file can be renamed into place within this file system, so that it appears whole. */
static bool has_rename(const char *root)
{
    return strncmp(root, "/vsi", 4) != 0 || strncmp(root, "/vsimem/", 8) == 0;
}

/* A name of our own beside `path`: hidden, and not a chunk key that anyone would read. */
static char *temp_path_beside(const char *path)
{
    static atomic_uint counter;
    const char *slash = strrchr(path, '/');
    const size_t dir = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    return zs_format("%.*s.%s.%ld-%u.tmp", (int)dir, path, path + dir, (long)getpid(), atomic_fetch_add(&counter, 1));
}

/* Makes the directory that `path` is in, and those above it. (VSIMkdirRecursive() of GDAL 3.6 fails on relative paths.) */
static enum zs_status make_parent_directory(const char *path, struct zs_error *err)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path)
        return ZS_OK;
    char *dir = zs_strndup(path, (size_t)(slash - path));
    if (dir == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    VSIStatBufL st;
    enum zs_status status = ZS_OK;
    if (VSIStatL(dir, &st) != 0) {
        status = make_parent_directory(dir, err);
        /* Another writer may make it at the same moment. */
        if (status == ZS_OK && VSIMkdir(dir, 0755) != 0 && VSIStatL(dir, &st) != 0)
            status = zs_fail(err, ZS_IO, "%s: cannot be created: %s", dir, reason());
    }
    free(dir);
    return status;
}

static void writer_free(struct vsi_writer *w)
{
    free(w->path);
    free(w->temp_path);
    free(w);
}

static enum zs_status vsi_create(struct zs_store *store, const char *key, struct zs_writer **writer, struct zs_error *err)
{
    struct vsi_writer *w = zs_calloc(1, sizeof *w);
    if (w == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a writer");
    w->base.store = store;
    w->path = zs_vsi_path(store, key);
    enum zs_status status = ZS_OK;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, store);
    if (w->path != NULL && has_rename(store->root)) {
        w->temp_path = temp_path_beside(w->path);
        status = make_parent_directory(w->path, err);
    } else {
        w->temp_path = zs_strdup(CPLGenerateTempFilename("shardedzarr"));
    }
    if (status == ZS_OK && (w->path == NULL || w->temp_path == NULL))
        status = zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    if (status == ZS_OK) {
        w->file = VSIFOpenExL(w->temp_path, "wb+", TRUE);
        if (w->file == NULL)
            status = zs_fail(err, ZS_IO, "%s: cannot be created: %s", w->temp_path, reason());
    }
    zs_vsi_quiet_end(&q);
    if (status != ZS_OK) {
        writer_free(w);
        return status;
    }
    *writer = &w->base;
    return ZS_OK;
}

static enum zs_status vsi_write(struct zs_writer *writer, const void *data, size_t n, struct zs_error *err)
{
    struct vsi_writer *w = (struct vsi_writer *)writer;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, writer->store);
    enum zs_status status = ZS_OK;
    if (VSIFWriteL(data, 1, n, w->file) != n)
        status = zs_fail(err, ZS_IO, "%s: writing %zu bytes failed: %s", w->path, n, reason());
    else
        w->size += n;
    zs_vsi_quiet_end(&q);
    return status;
}

static enum zs_status vsi_patch(struct zs_writer *writer, uint64_t offset, const void *data, size_t n, struct zs_error *err)
{
    struct vsi_writer *w = (struct vsi_writer *)writer;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, writer->store);
    enum zs_status status = ZS_OK;
    if (VSIFSeekL(w->file, offset, SEEK_SET) != 0 || VSIFWriteL(data, 1, n, w->file) != n ||
        VSIFSeekL(w->file, w->size, SEEK_SET) != 0)
        status = zs_fail(err, ZS_IO, "%s: writing %zu bytes at offset %llu failed: %s", w->path, n,
                         (unsigned long long)offset, reason());
    zs_vsi_quiet_end(&q);
    return status;
}

static enum zs_status vsi_read_back(struct zs_writer *writer, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    struct vsi_writer *w = (struct vsi_writer *)writer;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, writer->store);
    enum zs_status status = ZS_OK;
    if (VSIFSeekL(w->file, offset, SEEK_SET) != 0 || VSIFReadL(data, 1, n, w->file) != n ||
        VSIFSeekL(w->file, w->size, SEEK_SET) != 0)
        status = zs_fail(err, ZS_IO, "%s: reading back %zu bytes at offset %llu failed: %s", w->temp_path, n,
                         (unsigned long long)offset, reason());
    zs_vsi_quiet_end(&q);
    return status;
}

/* One upload of the finished file, for file systems that only know whole objects. */
static enum zs_status upload(struct vsi_writer *w, struct zs_error *err)
{
    if (VSIFSeekL(w->file, 0, SEEK_SET) != 0)
        return zs_fail(err, ZS_IO, "%s: cannot be read back: %s", w->temp_path, reason());
    void *buffer = malloc(COPY_BUFFER_BYTES);
    if (buffer == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate %zu bytes", COPY_BUFFER_BYTES);
    enum zs_status status = ZS_OK;
    VSILFILE *out = VSIFOpenExL(w->path, "wb", TRUE);
    if (out == NULL)
        status = zs_fail(err, ZS_IO, "%s: cannot be created: %s", w->path, reason());
    size_t n;
    while (status == ZS_OK && (n = VSIFReadL(buffer, 1, COPY_BUFFER_BYTES, w->file)) > 0)
        if (VSIFWriteL(buffer, 1, n, out) != n)
            status = zs_fail(err, ZS_IO, "%s: writing failed: %s", w->path, reason());
    if (out != NULL && VSIFCloseL(out) != 0 && status == ZS_OK)
        status = zs_fail(err, ZS_IO, "%s: writing failed: %s", w->path, reason());
    free(buffer);
    return status;
}

static enum zs_status vsi_commit(struct zs_writer *writer, struct zs_error *err)
{
    struct vsi_writer *w = (struct vsi_writer *)writer;
    enum zs_status status = ZS_OK;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, writer->store);
    const bool rename = has_rename(writer->store->root);
    if (!rename)
        status = upload(w, err);
    /* A full disk may show as late as at close. */
    if (VSIFCloseL(w->file) != 0 && status == ZS_OK && rename)
        status = zs_fail(err, ZS_IO, "%s: writing failed: %s", w->path, reason());
    if (status == ZS_OK && rename && VSIRename(w->temp_path, w->path) != 0)
        status = zs_fail(err, ZS_IO, "%s: cannot be renamed to %s: %s", w->temp_path, w->path, reason());
    if (status != ZS_OK || !rename)
        VSIUnlink(w->temp_path);
    if (writer->store->is_remote)
        VSICurlPartialClearCache(w->path);
    zs_vsi_quiet_end(&q);
    writer_free(w);
    return status;
}

static void vsi_abort(struct zs_writer *writer)
{
    struct vsi_writer *w = (struct vsi_writer *)writer;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, writer->store);
    VSIFCloseL(w->file);
    VSIUnlink(w->temp_path);
    zs_vsi_quiet_end(&q);
    writer_free(w);
}

static enum zs_status vsi_remove(struct zs_store *store, const char *key, struct zs_error *err)
{
    char *path = zs_vsi_path(store, key);
    if (path == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, store);
    VSIStatBufL st;
    enum zs_status status = ZS_OK;
    if (VSIUnlink(path) != 0 && VSIStatL(path, &st) == 0)
        status = zs_fail(err, ZS_IO, "%s: cannot be removed: %s", path, reason());
    zs_vsi_quiet_end(&q);
    free(path);
    return status;
}

static void vsi_remove_directory(struct zs_store *store, const char *prefix)
{
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

static enum zs_status vsi_remove_link(struct zs_store *store, const char *prefix, bool *was_link, struct zs_error *err)
{
    char *path = zs_vsi_path(store, prefix);
    struct stat st;
    if (path == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    *was_link = strncmp(path, "/vsi", 4) != 0 && lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
    enum zs_status status = ZS_OK;
    if (*was_link && unlink(path) != 0)
        status = zs_fail(err, ZS_IO, "%s: cannot be removed: %s", path, strerror(errno));
    free(path);
    return status;
}

/* ---- Listing ---- */

static enum zs_status vsi_list(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    char *path = zs_vsi_path(store, prefix);
    if (path == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, store);
    VSIDIR *dir = VSIOpenDir(path, 0, NULL);
    enum zs_status status = ZS_OK;
    char **found = NULL;
    size_t count = 0, capacity = 0;
    if (dir == NULL)
        status = zs_fail(err, ZS_UNSUPPORTED, "%s: cannot be listed: %s", path, reason());
    const VSIDIREntry *entry;
    while (status == ZS_OK && dir != NULL && (entry = VSIGetNextDirEntry(dir)) != NULL) {
        if (count + 1 >= capacity) {
            capacity = capacity == 0 ? 16 : 2 * capacity;
            char **grown = realloc(found, capacity * sizeof *grown);
            if (grown == NULL) {
                status = zs_fail(err, ZS_NO_MEMORY, "%s: cannot list it", path);
                break;
            }
            found = grown;
        }
        size_t n = strlen(entry->pszName);
        while (n > 0 && entry->pszName[n - 1] == '/')
            n--;
        found[count] = zs_format(entry->bModeKnown && VSI_ISDIR(entry->nMode) ? "%.*s/" : "%.*s", (int)n, entry->pszName);
        found[count + 1] = NULL;
        if (found[count++] == NULL)
            status = zs_fail(err, ZS_NO_MEMORY, "%s: cannot list it", path);
    }
    if (dir != NULL)
        VSICloseDir(dir);
    zs_vsi_quiet_end(&q);
    free(path);
    if (status == ZS_OK && found == NULL) {
        found = zs_calloc(1, sizeof *found);
        if (found == NULL)
            status = zs_fail(err, ZS_NO_MEMORY, "cannot allocate a list");
    }
    if (status != ZS_OK) {
        zs_names_free(found);
        return status;
    }
    *names = found;
    return ZS_OK;
}

static void vsi_free(struct zs_store *store)
{
    free(store->root);
    free(store);
}

static const struct zs_store_ops vsi_ops = {
    .open = vsi_open,
    .read = vsi_read,
    .close = vsi_close,
    .create = vsi_create,
    .write = vsi_write,
    .patch = vsi_patch,
    .read_back = vsi_read_back,
    .commit = vsi_commit,
    .abort = vsi_abort,
    .remove = vsi_remove,
    .remove_directory = vsi_remove_directory,
    .remove_link = vsi_remove_link,
    .list = vsi_list,
    .free = vsi_free,
};

enum zs_status zs_store_open_vsi(const char *root, struct zs_store **store, struct zs_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, install_thread_context);
    struct zs_store *s = zs_calloc(1, sizeof *s);
    if (s == NULL || (s->root = zs_strdup(root)) == NULL) {
        free(s);
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a store");
    }
    /* A trailing slash would double in every path, which object stores take literally. */
    for (size_t n = strlen(root); n > 1 && s->root[n - 1] == '/'; n--)
        s->root[n - 1] = '\0';
    s->ops = &vsi_ops;
    s->is_remote = zs_path_is_remote(root);
    return zs_store_over_http(s, store, err);
}
