#define _GNU_SOURCE /* O_CLOEXEC */
#include <cpl_conv.h>
#include <cpl_error.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <cpl_vsi_error.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/parallel.h"
#include "store/temporary.h"
#include "store/vsi_private.h"

/* Uploads and copies go through a buffer of this size. */
#define COPY_BUFFER_BYTES ((size_t)1 << 20)
/* What is larger than 50 MB GDAL sends in parts, one after the other, with a request before and one after them. Up to this, it is told to
 * hold all of an object in memory and to send it in one. */
#define MAX_WHOLE_MB 128

/* What tells versions of a file in memory apart: so many of its first and of its last bytes, where an index is. */
#define FINGERPRINT_BYTES ((uint64_t)64 << 10)

struct vsi_store {
    struct zs_store base;
    struct zs_place place;
};

struct vsi_object {
    struct zs_object base;
    char *path;
    /* Idle handles: a VSILFILE has one position, so each concurrent reader needs its own. */
    pthread_mutex_t lock;
    VSILFILE **idle;
    size_t idle_count, idle_capacity;
};

struct vsi_writer {
    struct zs_writer base; /* with its size */
    VSILFILE *file;
    pthread_mutex_t lock; /* of the position in `file`: it is read back while it is sent */
    char *path;      /* where the object shall appear */
    char *temp_path; /* what `file` writes */
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

/* The same of what cannot be opened: GDAL says nothing of what its settings keep it from. */
static const char *reason_not_opened(void)
{
    static const char *const limits[] = {"CPL_VSIL_CURL_ALLOWED_EXTENSIONS", "CPL_VSIL_CURL_ALLOWED_FILENAME"};
    const bool is_silent = VSIGetLastErrorNo() == 0 && CPLGetLastErrorMsg()[0] == '\0';
    for (size_t i = 0; is_silent && i < sizeof limits / sizeof limits[0]; i++) {
        const char *allowed = CPLGetConfigOption(limits[i], NULL);
        if (allowed != NULL)
            return CPLSPrintf("%s allows no more than %s", limits[i], allowed);
    }
    return reason();
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

/* Whether the nearest directory above `path` that can be listed does not have what `path` lies in. */
static bool is_not_listed(const char *path)
{
    char *at = zs_strdup(path);
    bool is_missing = false;
    for (char *slash; at != NULL && (slash = strrchr(at, '/')) != NULL && slash > at + 1;) {
        *slash = '\0';
        char **names = VSIReadDir(at);
        if (names != NULL) {
            is_missing = CSLFindStringCaseSensitive(names, slash + 1) < 0;
            CSLDestroy(names);
            break;
        }
    }
    free(at);
    return is_missing;
}

/* Whether a failed open means that there is no such object. Everything that is not surely so is a failure: taking a
 * refused shard for an absent one would give nodata where there are pixels. */
static bool failure_means_absent(const struct zs_store *store, const char *path)
{
    const struct zs_place *place = &((const struct vsi_store *)store)->place;
    const int code = VSIGetLastErrorNo();
    if (place->is_archive) /* which gives no reasons, but a table of contents where it can be read */
        return is_not_listed(path);
    if (place->speaks_http)
        return code == VSIE_AWSObjectNotFound || (code == VSIE_HttpError && strstr(VSIGetLastErrorMsg(), "404") != NULL);
    if (errno == ENOENT || errno == ENOTDIR)
        return true;
    VSIStatBufL st;
    if (VSIStatExL(path, &st, VSI_STAT_EXISTS_FLAG | VSI_STAT_NATURE_FLAG) == 0)
        return VSI_ISDIR(st.st_mode);
    return place->is_memory || is_not_listed(path);
}

static VSILFILE *open_file(const struct zs_store *store, const char *path)
{
    VSILFILE *file = VSIFOpenExL(path, "rb", TRUE);
    if (file == NULL && ((const struct vsi_store *)store)->place.speaks_http && VSIGetLastErrorNo() == 0) {
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

/* Size and version of an opened file. GDAL's file systems know no versions: what stands in memory is told apart by its bytes, what lies
 * in an archive by the archive's word. Over a network asking would cost more than it tells, since answers are remembered. */
static bool measure(const struct vsi_object *o, VSILFILE *file, uint64_t *size, uint64_t *version)
{
    const struct zs_place *place = &((const struct vsi_store *)o->base.store)->place;
    if (VSIFSeekL(file, 0, SEEK_END) != 0)
        return false;
    *size = *version = VSIFTellL(file);
    VSIStatBufL st;
    if (place->is_archive && !place->is_remote && VSIStatL(o->path, &st) == 0)
        *version = (*version ^ (uint64_t)st.st_mtime) * 0x9E3779B97F4A7C15u;
    if (!place->is_memory)
        return true;
    const uint64_t n = *size < FINGERPRINT_BYTES ? *size : FINGERPRINT_BYTES;
    return mix_bytes(file, 0, n, version) && (*size == n || mix_bytes(file, *size - n, n, version));
}

/* Whether a handle still has, or has as well, what the object was when it was opened. */
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
    return file;
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
    pthread_mutex_init(&o->lock, NULL);

    enum zs_status status;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, store);
    VSILFILE *file = open_file(store, path);
    if (file != NULL) {
        status = measure(o, file, &o->base.size, &o->base.version)
                     ? ZS_OK
                     : zs_fail(err, ZS_IO, "%s: cannot find its size: %s", path, reason());
        handle_return(o, file);
    } else if (failure_means_absent(store, path))
        status = zs_fail(err, ZS_NOT_FOUND, "%s: there is no such file", path);
    else
        status = zs_fail(err, ZS_IO, "%s: cannot be opened: %s", path, reason_not_opened());
    zs_vsi_quiet_end(&q);
    if (status != ZS_OK) {
        vsi_close(&o->base);
        return status;
    }
    *object = &o->base;
    return ZS_OK;
}

static enum zs_status fail_replaced(struct vsi_object *o, struct zs_error *err)
{
    __atomic_store_n(&o->base.is_stale, true, __ATOMIC_RELAXED);
    return zs_fail(err, ZS_IO, "%s: the object was replaced while it was read", o->path);
}

static enum zs_status read_handle(struct vsi_object *o, VSILFILE *file, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    size_t got = 0;
    if (VSIFSeekL(file, offset, SEEK_SET) == 0)
        got = VSIFReadL(data, 1, n, file);
    /* Others write to files in memory in place: whether they did shows afterwards. */
    if (((const struct vsi_store *)o->base.store)->place.is_memory && !is_unchanged(o, file))
        return fail_replaced(o, err);
    if (got != n)
        return zs_fail(err, ZS_IO, "%s: expected %zu bytes at offset %llu, found %zu: %s", o->path, n, (unsigned long long)offset, got,
                       reason());
    return ZS_OK;
}

static enum zs_status vsi_read(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    struct vsi_object *o = (struct vsi_object *)object;
    enum zs_status status = ZS_OK;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, object->store);
    VSILFILE *file = handle_take(o);
    if (file == NULL) {
        file = open_file(object->store, o->path);
        if (file == NULL)
            status = failure_means_absent(object->store, o->path)
                         ? fail_replaced(o, err)
                         : zs_fail(err, ZS_IO, "%s: cannot be opened again: %s", o->path, reason());
        else if (!object->store->is_remote && !is_unchanged(o, file))
            status = fail_replaced(o, err);
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

/* ---- Writing ---- */

/* Whether a file can be renamed into place within this file system, so that it appears whole. */
static bool has_rename(const struct zs_store *store)
{
    return ((const struct vsi_store *)store)->place.is_memory;
}

/* A file where GDAL makes temporary ones. Without a name from the start on a local disk, so that a killed writer leaves nothing. */
static enum zs_status open_upload(struct vsi_writer *w, struct zs_error *err)
{
    const char *directory = CPLGetPath(CPLGenerateTempFilename("shardedzarr"));
    if (directory[0] == '\0')
        directory = ".";
    if (!zs_place_of(directory).is_local) {
        w->temp_path = zs_temporary_path(directory);
        w->file = w->temp_path != NULL ? VSIFOpenExL(w->temp_path, "wb+", TRUE) : NULL;
    } else {
        int fd;
        ZS_TRY(zs_temporary_create(directory, &fd, &w->temp_path, err));
        w->file = VSIFOpenExL(w->temp_path, "rb+", TRUE);
        (void)unlink(w->temp_path);
        close(fd);
    }
    return w->file != NULL ? ZS_OK : zs_fail(err, ZS_IO, "%s: cannot be created: %s", directory, reason());
}

/* Makes the directory that `path` is in, and those above it. */
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
    pthread_mutex_destroy(&w->lock);
    free(w->path);
    free(w->temp_path);
    free(w);
}

/* A file beside what it will be. */
static enum zs_status open_beside(struct vsi_writer *w, struct zs_error *err)
{
    ZS_TRY(make_parent_directory(w->path, err));
    char *directory = zs_strndup(w->path, (size_t)(strrchr(w->path, '/') - w->path));
    w->temp_path = directory != NULL ? zs_temporary_path(directory) : NULL;
    free(directory);
    if (w->temp_path == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    w->file = VSIFOpenExL(w->temp_path, "wb+", TRUE);
    return w->file != NULL ? ZS_OK : zs_fail(err, ZS_IO, "%s: cannot be created: %s", w->temp_path, reason());
}

static enum zs_status vsi_create(struct zs_store *store, const char *key, struct zs_writer **writer, struct zs_error *err)
{
    struct vsi_writer *w = zs_calloc(1, sizeof *w);
    if (w == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a writer");
    w->base.store = store;
    pthread_mutex_init(&w->lock, NULL);
    w->path = zs_vsi_path(store, key);
    enum zs_status status = w->path != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, store);
    if (status == ZS_OK)
        status = has_rename(store) ? open_beside(w, err) : open_upload(w, err);
    zs_vsi_quiet_end(&q);
    if (status != ZS_OK) {
        writer_free(w);
        return status == ZS_NOT_FOUND ? ZS_IO : status;
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
        VSIFSeekL(w->file, writer->size, SEEK_SET) != 0)
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
    pthread_mutex_lock(&w->lock);
    if (VSIFSeekL(w->file, offset, SEEK_SET) != 0 || VSIFReadL(data, 1, n, w->file) != n ||
        VSIFSeekL(w->file, writer->size, SEEK_SET) != 0)
        status = zs_fail(err, ZS_IO, "%s: reading back %zu bytes at offset %llu failed: %s", w->temp_path, n,
                         (unsigned long long)offset, reason());
    pthread_mutex_unlock(&w->lock);
    zs_vsi_quiet_end(&q);
    return status;
}

/* Copies all that was written, no byte less; only reads it when `out` is NULL. */
static enum zs_status copy_to(struct vsi_writer *w, VSILFILE *out, void *buffer, struct zs_error *err)
{
    const uint64_t size = w->base.size;
    for (uint64_t left = size; left > 0;) {
        const size_t part = left < COPY_BUFFER_BYTES ? (size_t)left : COPY_BUFFER_BYTES;
        pthread_mutex_lock(&w->lock);
        const size_t got = VSIFSeekL(w->file, size - left, SEEK_SET) == 0 ? VSIFReadL(buffer, 1, part, w->file) : 0;
        pthread_mutex_unlock(&w->lock);
        if (got != part)
            return zs_fail(err, ZS_IO, "%s: expected %llu bytes in %s, found %llu: %s", w->path, (unsigned long long)size, w->temp_path,
                           (unsigned long long)(size - left + got), reason());
        if (out != NULL && VSIFWriteL(buffer, 1, part, out) != part)
            return zs_fail(err, ZS_IO, "%s: writing failed: %s", w->path, reason());
        left -= part;
    }
    return ZS_OK;
}

/* Has an object sent in one request. The name of the setting that is to be taken back, or NULL. */
static const char *begin_whole(const struct vsi_writer *w)
{
    static const char *const settings[][2] = {{"/vsis3/", "VSIS3_CHUNK_SIZE"}, {"/vsigs/", "VSIGS_CHUNK_SIZE"}};
    const unsigned mb = (unsigned)(zs_min_u64(w->base.size, (uint64_t)MAX_WHOLE_MB << 20) >> 20) + 1;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        char text[16];
        if (strncmp(w->path, settings[i][0], strlen(settings[i][0])) != 0 || mb > MAX_WHOLE_MB || zs_vsi_option(w->path, settings[i][1]) != NULL)
            continue;
        snprintf(text, sizeof text, "%u", mb);
        CPLSetThreadLocalConfigOption(settings[i][1], text);
        return settings[i][1];
    }
    return NULL;
}

/* One upload of the finished file, for file systems that only know whole objects. That it can be read back is found out before it is
 * begun: an upload cannot be given up, closing it publishes what it has. */
static enum zs_status upload(struct vsi_writer *w, struct zs_error *err)
{
    void *buffer = malloc(COPY_BUFFER_BYTES);
    if (buffer == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate %zu bytes", COPY_BUFFER_BYTES);
    enum zs_status status = copy_to(w, NULL, buffer, err);
    const char *setting = begin_whole(w);
    VSILFILE *out = status == ZS_OK ? VSIFOpenExL(w->path, "wb", TRUE) : NULL;
    if (setting != NULL)
        CPLSetThreadLocalConfigOption(setting, NULL);
    if (status == ZS_OK && out == NULL)
        status = zs_fail(err, ZS_IO, "%s: cannot be created: %s", w->path, reason());
    if (status == ZS_OK)
        status = copy_to(w, out, buffer, err);
    if (out != NULL && VSIFCloseL(out) != 0 && status == ZS_OK)
        status = zs_fail(err, ZS_IO, "%s: writing failed: %s", w->path, reason());
    free(buffer);
    return status;
}

static enum zs_status vsi_send(struct zs_writer *writer, struct zs_error *err)
{
    struct vsi_writer *w = (struct vsi_writer *)writer;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, writer->store);
    const enum zs_status status = upload(w, err);
    VSICurlPartialClearCache(w->path);
    zs_vsi_quiet_end(&q);
    return status;
}

static enum zs_status vsi_commit(struct zs_writer *writer, struct zs_error *err)
{
    struct vsi_writer *w = (struct vsi_writer *)writer;
    enum zs_status status = ZS_OK;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, writer->store);
    const bool rename = has_rename(writer->store);
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
    enum zs_status status = ZS_OK;
    if (VSIUnlink(path) != 0) {
        char *why = zs_strdup(reason());
        errno = 0;
        VSIErrorReset();
        VSILFILE *file = open_file(store, path); /* not a stat, which says of nothing why it fails */
        if (file != NULL || !failure_means_absent(store, path))
            status = zs_fail(err, ZS_IO, "%s: cannot be removed: %s", path, why != NULL ? why : "");
        if (file != NULL)
            VSIFCloseL(file);
        free(why);
    }
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

/* ---- Listing ---- */

static enum zs_status vsi_list(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    char *path = zs_vsi_path(store, prefix);
    if (path == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, store);
    VSIDIR *dir = VSIOpenDir(path, 0, NULL);
    VSIStatBufL st;
    enum zs_status status = ZS_OK;
    struct zs_names found = {0};
    if (dir == NULL)
        status = zs_fail(err, ((struct vsi_store *)store)->place.is_memory && VSIStatL(path, &st) != 0 ? ZS_NOT_FOUND : ZS_UNSUPPORTED,
                         "%s: cannot be listed: %s", path, reason());
    const VSIDIREntry *entry;
    while (status == ZS_OK && (entry = VSIGetNextDirEntry(dir)) != NULL) {
        size_t n = strlen(entry->pszName);
        while (n > 0 && entry->pszName[n - 1] == '/')
            n--;
        status = zs_names_add(&found, entry->pszName, n, entry->bModeKnown && VSI_ISDIR(entry->nMode), err);
    }
    if (dir != NULL)
        VSICloseDir(dir);
    zs_vsi_quiet_end(&q);
    free(path);
    return zs_names_finish(&found, status, names, err);
}

static void vsi_free(struct zs_store *store)
{
    free(store->root);
    free(store);
}

static enum zs_status vsi_lock(struct zs_store *store, const char *key, struct zs_lock **lock, struct zs_error *err)
{
    (void)key;
    return ((const struct vsi_store *)store)->place.is_memory ? zs_lock_memory(lock, err) : ZS_OK;
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
    .send = vsi_send,
    .abort = vsi_abort,
    .remove = vsi_remove,
    .remove_directory = vsi_remove_directory,
    .list = vsi_list,
    .lock = vsi_lock,
    .unlock = zs_lock_release,
    .free = vsi_free,
};

enum zs_status zs_store_open_vsi(const char *root, struct zs_store **store, struct zs_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, install_thread_context);
    struct vsi_store *s = zs_calloc(1, sizeof *s);
    char *path = zs_strdup(root);
    if (s == NULL || path == NULL) {
        free(s);
        free(path);
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a store");
    }
    /* A trailing slash would double in every path, which object stores take literally. */
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    s->place = zs_place_of(root);
    if (s->place.is_local) {
        const enum zs_status status = zs_store_open_local(path, store, err);
        free(s);
        free(path);
        return status;
    }
    s->base = (struct zs_store){.ops = &vsi_ops, .root = path, .is_remote = s->place.is_remote};
    return zs_store_over_http(&s->base, store, err);
}
