/* Files changed where they are: zs_change_*() of store.h for local directories. */
#define _GNU_SOURCE /* O_CLOEXEC, st_mtim, CLOCK_REALTIME_COARSE */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "store/local_private.h"

/* Times of files go by ticks of the kernel, of ten milliseconds at most. */
#define TICK_NANOSECONDS 10000000
/* A file that was changed less than this ago may be being changed. */
#define RECENT_SECONDS 2

struct local_file {
    struct zs_file base;
    int fd;
    char *path;
};

static int64_t nanoseconds(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* Two contents of one size must not have one version: the next change falls into a later tick than the last one. */
static void wait_for_tick(const struct stat *st)
{
    const struct timespec pause = {.tv_nsec = TICK_NANOSECONDS / 20};
    struct timespec now;
    while (clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0 && nanoseconds(&now) <= nanoseconds(&st->st_mtim) &&
           nanoseconds(&st->st_mtim) - nanoseconds(&now) < TICK_NANOSECONDS)
        (void)nanosleep(&pause, NULL);
}

static void local_file_free(struct local_file *c)
{
    if (c->fd >= 0)
        (void)close(c->fd);
    free(c->path);
    free(c);
}

static enum zs_status open_file(struct local_file *c, struct zs_error *err)
{
    struct stat st;
    c->fd = zs_open_file(c->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (c->fd < 0 && means_absent(errno))
        return zs_fail(err, ZS_NOT_FOUND, "%s: there is no such file", c->path);
    if (c->fd < 0 && zs_means_too_many_files(errno))
        return zs_fail(err, ZS_IO, "%s: cannot be opened: %s", c->path, strerror(errno));
    if (c->fd < 0 || fstat(c->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
        return zs_fail(err, ZS_UNSUPPORTED, "%s: cannot be changed where it is", c->path);
    c->base.size = (uint64_t)st.st_size;
    c->base.version = zs_local_version(&st);
    wait_for_tick(&st);
    return ZS_OK;
}

enum zs_status zs_local_file_open(struct zs_store *store, const char *key, struct zs_file **file, struct zs_error *err)
{
    struct local_store *s = store_of(store);
    struct folder *f;
    struct local_file *c = zs_calloc(1, sizeof *c);
    char *prefix = zs_key_parent(key);
    if (c == NULL || prefix == NULL || (c->path = zs_vsi_path(store, key)) == NULL) {
        free(prefix);
        free(c);
        return fail_memory(err);
    }
    c->base.store = store;
    c->fd = -1;
    (void)pthread_mutex_lock(&s->lock);
    enum zs_status status = zs_folder_enter(s, prefix, false, &f, err);
    (void)pthread_mutex_unlock(&s->lock);
    free(prefix);
    if (status == ZS_OK)
        status = open_file(c, err);
    if (status == ZS_OK)
        status = zs_local_check_root(store, err);
    if (status != ZS_OK)
        local_file_free(c);
    else
        *file = &c->base;
    return status;
}

enum zs_status zs_local_file_write(struct zs_file *file, uint64_t offset, const void *data, size_t n,
                                   struct zs_error *err)
{
    const struct local_file *c = (const struct local_file *)file;
    return zs_file_write_at(c->fd, c->path, offset, data, n, err);
}

enum zs_status zs_local_file_truncate(struct zs_file *file, uint64_t size, struct zs_error *err)
{
    const struct local_file *c = (const struct local_file *)file;
    int failed;
    do
        failed = ftruncate(c->fd, (off_t)size);
    while (failed != 0 && errno == EINTR);
    return failed == 0 ? ZS_OK
                       : zs_fail(err, ZS_IO, "%s: cannot be cut to %llu bytes: %s", c->path, (unsigned long long)size,
                                 strerror(errno));
}

enum zs_status zs_local_file_flush(struct zs_file *file, struct zs_error *err)
{
    const struct local_file *c = (const struct local_file *)file;
    if (file->store->sync == ZS_SYNC_NO || fdatasync(c->fd) == 0)
        return ZS_OK;
    return zs_fail(err, ZS_IO, "%s: cannot be written to the disk: %s", c->path, strerror(errno));
}

void zs_local_file_close(struct zs_file *file)
{
    local_file_free((struct local_file *)file);
}

bool zs_local_is_changed(const struct zs_object *object, int fd, bool or_recently)
{
    struct stat st;
    struct timespec now;
    if (fstat(fd, &st) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0)
        return false;
    return zs_local_version(&st) != object->version || (or_recently && now.tv_sec - st.st_mtim.tv_sec < RECENT_SECONDS);
}
