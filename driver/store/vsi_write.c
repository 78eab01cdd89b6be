/* Writing to a store in GDAL's virtual file systems: in memory to a file beside the object, which is renamed; elsewhere
 * to a temporary file, which is uploaded whole. */
#define _GNU_SOURCE /* O_TMPFILE */
#include <cpl_conv.h>
#include <cpl_vsi.h>
#include <fcntl.h>
#include <gdal.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/descriptors.h"
#include "store/http.h"
#include "store/staging.h"
#include "store/vsi.h"

/* Uploads and copies go through a buffer of this size. */
#define COPY_BUFFER_BYTES ((size_t)1 << 20)
/* GDAL sends objects of more than 50 MB in parts, one after the other, with a request before and one after them. Up to
 * this size, it is made to hold the object in memory and to send it with one request. */
#define MAX_WHOLE_MB 128
/* ... and so is what carries a condition, since GDAL would send that with each part: up to this size, beyond which S3
 * needs parts anyway and the condition is left out. */
#define MAX_CONDITIONAL_MB 4096
/* GDAL before 3.10 sends what is larger in parts, whatever the option is. */
#define MAX_OLD_WHOLE_BYTES ((uint64_t)1000 << 20)
/* Parts are not smaller, but for the last. */
#define MIN_PART_BYTES ((uint64_t)5 << 20)
/* So much of each end of an object that was sent in parts is compared. */
#define CHECKED_BYTES ((uint64_t)16 << 10)

struct vsi_writer {
    struct zs_writer base; /* with its size */
    VSILFILE *file;
    pthread_mutex_t lock; /* protects the position in `file`, which is read back while it is sent */
    char *path;      /* where the object shall appear */
    char *name;      /* the same for messages */
    char *temp_path; /* what `file` writes, or where */
    bool is_local;   /* `file` has a descriptor, and no name */
};

/* Whether a file can be renamed into place within this file system, so that it appears whole. */
static bool has_rename(const struct zs_store *store)
{
    return zs_vsi_kind(store)->is_memory;
}

/* Opens a file of a local disk that has no name: a killed writer leaves nothing. False where the disk has no such
 * files. */
static bool open_nameless(struct vsi_writer *w, const char *directory)
{
    char path[64];
    const int fd = zs_create_file(directory, O_RDWR | O_TMPFILE, 0600);
    if (fd < 0)
        return false;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    w->file = VSIFOpenExL(path, "rb+", TRUE);
    close(fd);
    w->temp_path = w->file != NULL ? zs_strdup(directory) : NULL;
    if (w->file != NULL && w->temp_path == NULL)
        VSIFCloseL(w->file);
    return w->temp_path != NULL;
}

/* Opens a temporary file and removes its name at once. */
static enum zs_status open_unlinked(struct vsi_writer *w, const char *directory, struct zs_error *err)
{
    int fd;
    ZS_TRY(zs_temporary_create(directory, &fd, &w->temp_path, err));
    w->file = VSIFOpenExL(w->temp_path, "rb+", TRUE);
    (void)unlink(w->temp_path);
    close(fd);
    return ZS_OK;
}

/* Makes a file where GDAL makes temporary ones. */
static enum zs_status open_upload(struct vsi_writer *w, struct zs_error *err)
{
    const char *directory = CPLGetPath(CPLGenerateTempFilename("shardedzarr"));
    if (directory[0] == '\0')
        directory = ".";
    if (!zs_path_kind_of(directory).is_local) {
        w->temp_path = zs_temporary_path(directory);
        w->file = w->temp_path != NULL ? VSIFOpenExL(w->temp_path, "wb+", TRUE) : NULL;
    } else {
        if (!open_nameless(w, directory))
            ZS_TRY(open_unlinked(w, directory, err));
        w->is_local = true;
        zs_files_take(1);
    }
    return w->file != NULL ? ZS_OK : zs_fail(err, ZS_IO, "%s: cannot be created: %s", directory, zs_vsi_reason());
}

static void writer_free(struct vsi_writer *w)
{
    if (w->is_local)
        zs_files_give(1);
    pthread_mutex_destroy(&w->lock);
    free(w->path);
    free(w->name);
    free(w->temp_path);
    free(w);
}

/* Makes a file beside the object. */
static enum zs_status open_beside(struct vsi_writer *w, struct zs_error *err)
{
    ZS_TRY(zs_vsi_make_parents(w->path, NULL, err));
    char *directory = zs_strndup(w->path, (size_t)(strrchr(w->path, '/') - w->path));
    w->temp_path = directory != NULL ? zs_temporary_path(directory) : NULL;
    free(directory);
    ZS_TRY_MEMORY(w->temp_path, err);
    w->file = VSIFOpenExL(w->temp_path, "wb+", TRUE);
    return w->file != NULL ? ZS_OK : zs_fail(err, ZS_IO, "%s: cannot be created: %s", w->temp_path, zs_vsi_reason());
}

enum zs_status zs_vsi_create(struct zs_store *store, const char *key, struct zs_writer **writer, struct zs_error *err)
{
    struct vsi_writer *w = zs_calloc(1, sizeof *w);
    ZS_TRY_MEMORY(w, err);
    w->base.store = store;
    pthread_mutex_init(&w->lock, NULL);
    w->path = zs_vsi_path(store, key);
    w->name = zs_format("%s/%s", store->root, key);
    enum zs_status status = w->path != NULL && w->name != NULL
                                ? ZS_OK
                                : zs_fail_memory(err);
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

enum zs_status zs_vsi_write(struct zs_writer *writer, const void *data, size_t n, struct zs_error *err)
{
    struct vsi_writer *w = (struct vsi_writer *)writer;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, writer->store);
    enum zs_status status = ZS_OK;
    if (VSIFWriteL(data, 1, n, w->file) != n)
        status = zs_fail(err, ZS_IO, "%s: writing %zu bytes failed: %s", w->name, n, zs_vsi_reason());
    zs_vsi_quiet_end(&q);
    return status;
}

enum zs_status zs_vsi_patch(struct zs_writer *writer, uint64_t offset, const void *data, size_t n, struct zs_error *err)
{
    struct vsi_writer *w = (struct vsi_writer *)writer;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, writer->store);
    enum zs_status status = ZS_OK;
    if (VSIFSeekL(w->file, offset, SEEK_SET) != 0 || VSIFWriteL(data, 1, n, w->file) != n ||
        VSIFSeekL(w->file, writer->size, SEEK_SET) != 0)
        status = zs_fail(err, ZS_IO, "%s: writing %zu bytes at offset %llu failed: %s", w->name, n,
                         (unsigned long long)offset, zs_vsi_reason());
    zs_vsi_quiet_end(&q);
    return status;
}

enum zs_status zs_vsi_read_back(struct zs_writer *writer, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    struct vsi_writer *w = (struct vsi_writer *)writer;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, writer->store);
    enum zs_status status = ZS_OK;
    pthread_mutex_lock(&w->lock);
    if (VSIFSeekL(w->file, offset, SEEK_SET) != 0 || VSIFReadL(data, 1, n, w->file) != n ||
        VSIFSeekL(w->file, writer->size, SEEK_SET) != 0)
        status = zs_fail(err, ZS_IO, "%s: reading back %zu bytes at offset %llu failed: %s", w->temp_path, n,
                         (unsigned long long)offset, zs_vsi_reason());
    pthread_mutex_unlock(&w->lock);
    zs_vsi_quiet_end(&q);
    return status;
}

/* Copies all bytes that were written, or fails; only reads them when `out`, and with it `answer`, is NULL. */
static enum zs_status copy_to(struct vsi_writer *w, VSILFILE *out, const struct zs_vsi_answer *answer, void *buffer,
                              struct zs_error *err)
{
    const uint64_t size = w->base.size;
    for (uint64_t left = size; left > 0;) {
        const size_t part = left < COPY_BUFFER_BYTES ? (size_t)left : COPY_BUFFER_BYTES;
        pthread_mutex_lock(&w->lock);
        const size_t got = VSIFSeekL(w->file, size - left, SEEK_SET) == 0 ? VSIFReadL(buffer, 1, part, w->file) : 0;
        pthread_mutex_unlock(&w->lock);
        if (got != part)
            return zs_fail(err, ZS_IO, "%s: expected %llu bytes in %s, found %llu: %s", w->name,
                           (unsigned long long)size, w->temp_path, (unsigned long long)(size - left + got),
                           zs_vsi_reason());
        if (out != NULL && VSIFWriteL(buffer, 1, part, out) != part)
            return zs_fail(err, ZS_IO, "%s: writing failed: %s", w->name, zs_vsi_answer_reason(answer));
        left -= part;
    }
    return ZS_OK;
}

/* Settings of this thread for one upload, with what they were before. */
struct upload_settings {
    struct {
        const char *name;
        char *before; /* NULL: none */
    } set[2];
    size_t count;
    char chunk_option[32]; /* the size of parts as an option of the file; "": none */
};

/* Sets an option of GDAL's for this thread. */
static enum zs_status set_option(struct upload_settings *u, const char *name, const char *value, struct zs_error *err)
{
    const char *own = CPLGetThreadLocalConfigOption(name, NULL);
    char *before = own != NULL ? zs_strdup(own) : NULL;
    if (own != NULL && before == NULL)
        return zs_fail_memory(err);
    u->set[u->count].name = name;
    u->set[u->count++].before = before;
    CPLSetThreadLocalConfigOption(name, value);
    return ZS_OK;
}

/* Makes GDAL send the object in one request: as an option of the file too, which from GDAL 3.10 on comes before what
 * is set for the path. */
static enum zs_status begin_whole(const struct vsi_writer *w, struct upload_settings *u, struct zs_error *err)
{
    static const char *const settings[][2] = {{"/vsis3/", "VSIS3_CHUNK_SIZE"}, {"/vsigs/", "VSIGS_CHUNK_SIZE"}};
    const bool is_conditional = w->base.expected != NULL;
    const unsigned most = is_conditional ? MAX_CONDITIONAL_MB : MAX_WHOLE_MB;
    const unsigned mb = (unsigned)(zs_min_u64(w->base.size, (uint64_t)most << 20) >> 20) + 1;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (strncmp(w->path, settings[i][0], strlen(settings[i][0])) != 0 || mb > most ||
            (!is_conditional && zs_vsi_option(w->path, settings[i][1]) != NULL))
            continue;
        snprintf(u->chunk_option, sizeof u->chunk_option, "CHUNK_SIZE=%u", mb);
        return set_option(u, settings[i][1], strchr(u->chunk_option, '=') + 1, err);
    }
    return ZS_OK;
}

/* The header of a PUT that expects a version; NULL without memory. */
static char *condition_of(const struct zs_expectation *expected)
{
    const bool expects_none = expected->etag[0] == '\0';
    if (expected->store->has_generations)
        return zs_format("x-goog-if-generation-match: %s", expects_none ? "0" : expected->etag);
    return expects_none ? zs_strdup("If-None-Match: *") : zs_format("If-Match: %s", expected->etag);
}

/* Whether headers that are set for a path hide those of the thread, as they do from GDAL 3.7 on. */
static bool are_hidden(const char *path, const char *headers)
{
    const bool is_older = atoi(GDALVersionInfo("VERSION_NUM")) < GDAL_COMPUTE_VERSION(3, 7, 0);
    const char *found = is_older ? NULL : zs_vsi_option(path, "GDAL_HTTP_HEADERS");
    return found != NULL && strcmp(found, headers) != 0;
}

/* Has GDAL send a condition among the user's headers. Where those that are set for a path alone hide it, the writer is
 * warned. */
static enum zs_status begin_condition(const struct vsi_writer *w, struct upload_settings *u, struct zs_error *err)
{
    char *condition = condition_of(w->base.expected);
    char *headers = condition != NULL ? zs_http_headers_with(w->path, condition) : NULL;
    enum zs_status status = headers != NULL ? set_option(u, "GDAL_HTTP_HEADERS", headers, err) : zs_fail_memory(err);
    if (status == ZS_OK && are_hidden(w->path, headers))
        (void)zs_store_expected(w->base.expected->store, NULL);
    free(condition);
    free(headers);
    return status;
}

static enum zs_status begin_upload(const struct vsi_writer *w, struct upload_settings *u, struct zs_error *err)
{
    if (w->base.expected != NULL && w->base.size >> 20 < MAX_CONDITIONAL_MB)
        ZS_TRY(begin_condition(w, u, err));
    return begin_whole(w, u, err);
}

/* Whether GDAL may have sent the object in parts, by S3's protocol. */
static bool may_be_in_parts(const struct vsi_writer *w, const struct upload_settings *u)
{
    const uint64_t most = u->chunk_option[0] != '\0' ? MAX_OLD_WHOLE_BYTES : MIN_PART_BYTES;
    return w->base.size >= most && zs_vsi_kind(w->base.store)->sends_conditions;
}

static void end_upload(struct upload_settings *u)
{
    while (u->count > 0) {
        char *before = u->set[--u->count].before;
        CPLSetThreadLocalConfigOption(u->set[u->count].name, before);
        free(before);
    }
}

/* Whether the object at the end of an upload has these bytes, of the file and of the object, at an offset. */
static bool has_arrived(struct vsi_writer *w, VSILFILE *object, uint64_t offset, size_t n, unsigned char *buffer)
{
    pthread_mutex_lock(&w->lock);
    const bool is_read = VSIFSeekL(w->file, offset, SEEK_SET) == 0 && VSIFReadL(buffer, 1, n, w->file) == n;
    pthread_mutex_unlock(&w->lock);
    return is_read && VSIFSeekL(object, offset, SEEK_SET) == 0 && VSIFReadL(buffer + n, 1, n, object) == n &&
           memcmp(buffer, buffer + n, n) == 0;
}

/* Looks whether what was sent in parts is there: S3 may answer the request that completes it with 200 and an error,
 * which GDAL takes for success. Compares the size, and the bytes at both ends, where the index of a shard is. */
static enum zs_status check_arrived(struct vsi_writer *w, unsigned char *buffer, struct zs_error *err)
{
    const uint64_t size = w->base.size;
    const size_t n = (size_t)zs_min_u64(size, CHECKED_BYTES);
    VSICurlPartialClearCache(w->path);
    VSILFILE *object = VSIFOpenL(w->path, "rb");
    const bool is_there = object != NULL && VSIFSeekL(object, 0, SEEK_END) == 0 && VSIFTellL(object) == size &&
                          has_arrived(w, object, size - n, n, buffer) && has_arrived(w, object, 0, n, buffer);
    if (object != NULL)
        VSIFCloseL(object);
    return is_there ? ZS_OK
                    : zs_fail(err, ZS_IO, "%s: writing failed: the server took all parts, and has not made the object",
                              w->name);
}

/* Uploads the finished file, for file systems that only know whole objects. Reads it once before: an upload cannot be
 * aborted, since closing it publishes what it has. */
static enum zs_status upload(struct vsi_writer *w, struct zs_error *err)
{
    void *buffer = malloc(COPY_BUFFER_BYTES);
    ZS_TRY_MEMORY(buffer, err);
    struct upload_settings settings = {0};
    struct zs_vsi_answer answer;
    enum zs_status status = copy_to(w, NULL, NULL, buffer, err);
    zs_vsi_answer_begin(&answer);
    if (status == ZS_OK)
        status = begin_upload(w, &settings, err);
    const char *const options[] = {settings.chunk_option[0] != '\0' ? settings.chunk_option : NULL, NULL};
    VSILFILE *out = status == ZS_OK ? VSIFOpenEx2L(w->path, "wb", TRUE, (CSLConstList)options) : NULL;
    if (status == ZS_OK && out == NULL)
        status = zs_fail(err, ZS_IO, "%s: cannot be created: %s", w->name, zs_vsi_answer_reason(&answer));
    if (status == ZS_OK)
        status = copy_to(w, out, &answer, buffer, err);
    if (out != NULL && VSIFCloseL(out) != 0 && status == ZS_OK)
        status = zs_fail(err, ZS_IO, "%s: writing failed: %s", w->name, zs_vsi_answer_reason(&answer));
    if (status == ZS_OK && may_be_in_parts(w, &settings))
        status = check_arrived(w, buffer, err);
    end_upload(&settings);
    w->base.has_answer = answer.reason != NULL;
    zs_vsi_answer_end(&answer);
    free(buffer);
    return status;
}

enum zs_status zs_vsi_send(struct zs_writer *writer, struct zs_error *err)
{
    struct vsi_writer *w = (struct vsi_writer *)writer;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, writer->store);
    const enum zs_status status = upload(w, err);
    VSICurlPartialClearCache(w->path);
    zs_vsi_quiet_end(&q);
    return status;
}

enum zs_status zs_vsi_commit(struct zs_writer *writer, struct zs_error *err)
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
        status = zs_fail(err, ZS_IO, "%s: writing failed: %s", w->name, zs_vsi_reason());
    if (status == ZS_OK && rename && VSIRename(w->temp_path, w->path) != 0)
        status = zs_fail(err, ZS_IO, "%s: cannot be renamed to %s: %s", w->temp_path, w->name, zs_vsi_reason());
    if (!w->is_local && (status != ZS_OK || !rename))
        VSIUnlink(w->temp_path);
    if (writer->store->is_remote)
        VSICurlPartialClearCache(w->path);
    zs_vsi_quiet_end(&q);
    writer_free(w);
    return status;
}

void zs_vsi_abort(struct zs_writer *writer)
{
    struct vsi_writer *w = (struct vsi_writer *)writer;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, writer->store);
    VSIFCloseL(w->file);
    if (!w->is_local)
        VSIUnlink(w->temp_path);
    zs_vsi_quiet_end(&q);
    writer_free(w);
}
