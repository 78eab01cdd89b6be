#define _GNU_SOURCE /* O_CLOEXEC, O_DIRECTORY, pread(), pwrite() */
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/limits.h"
#include "base/memory.h"

static struct {
    struct zs_idle_file *newest, *oldest;
    int open;
    atomic_int taken;
} files;

/* The limit may be changed while the process runs. */
static int most_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / ZS_SHARE_OF_FILES > ZS_MOST_FILES)
        return ZS_MOST_FILES;
    return (int)(limit.rlim_cur / ZS_SHARE_OF_FILES);
}

int zs_files_at_once(int most)
{
    const int share = most_files() / 4;
    return share < 1 ? 1 : share < most ? share : most;
}

/* ---- The list, under its lock ---- */

static void list_remove(struct zs_idle_file *f)
{
    *(f->newer != NULL ? &f->newer->older : &files.newest) = f->older;
    *(f->older != NULL ? &f->older->newer : &files.oldest) = f->newer;
    f->newer = f->older = NULL;
    files.open--;
}

static void list_push(struct zs_idle_file *f)
{
    f->older = files.newest;
    f->newer = NULL;
    *(files.newest != NULL ? &files.newest->newer : &files.oldest) = f;
    files.newest = f;
    files.open++;
}

/* Closes those that were opened longest ago, and are not read, until `most` are open. */
static bool close_down_to(int most)
{
    bool has_closed = false;
    for (struct zs_idle_file *f = files.oldest, *next; f != NULL && files.open > most; f = next) {
        int nobody = 0;
        next = f->newer;
        if (!__atomic_compare_exchange_n(&f->pins, &nobody, -1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            continue;
        list_remove(f);
        (void)close(f->fd);
        f->fd = -1;
        has_closed = true;
    }
    return has_closed;
}

static bool close_idle(void)
{
    (void)pthread_mutex_lock(&zs_locks[ZS_LOCK_FILES]);
    const bool has_closed = close_down_to(0);
    (void)pthread_mutex_unlock(&zs_locks[ZS_LOCK_FILES]);
    return has_closed;
}

/* ---- Opening ---- */

bool zs_means_too_many_files(int code)
{
    return code == EMFILE || code == ENFILE;
}

int zs_create_file(const char *path, int flags, unsigned rights)
{
    int fd;
    do
        fd = open(path, flags | O_CLOEXEC, (mode_t)rights);
    while (fd < 0 && (errno == EINTR || (zs_means_too_many_files(errno) && close_idle())));
    return fd;
}

DIR *zs_open_directory(const char *path)
{
    DIR *dir;
    do
        dir = opendir(path);
    while (dir == NULL && zs_means_too_many_files(errno) && close_idle());
    return dir;
}

int zs_open_file(const char *path, int flags)
{
    return zs_create_file(path, flags, 0);
}

/* ---- Bytes ---- */

enum zs_status zs_file_read_at(int fd, const char *path, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    for (size_t done = 0; done < n;) {
        const size_t part = n - done < SSIZE_MAX ? n - done : SSIZE_MAX;
        const ssize_t got = pread(fd, (char *)data + done, part, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return zs_fail(err, ZS_IO, "%s: expected %zu bytes at offset %llu, found %zu%s%s", path, n,
                           (unsigned long long)offset, done, got < 0 ? ": " : "", got < 0 ? strerror(errno) : "");
        done += (size_t)got;
    }
    return ZS_OK;
}

enum zs_status zs_status_of_write(int code)
{
    return code == ENOSPC || code == EDQUOT || code == EFBIG ? ZS_NO_SPACE : ZS_IO;
}

enum zs_status zs_file_write_at(int fd, const char *path, uint64_t offset, const void *data, size_t n,
                                struct zs_error *err)
{
    for (size_t done = 0; done < n;) {
        const size_t part = n - done < SSIZE_MAX ? n - done : SSIZE_MAX;
        const ssize_t put = pwrite(fd, (const char *)data + done, part, (off_t)(offset + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return zs_fail(err, put < 0 ? zs_status_of_write(errno) : ZS_IO,
                           "%s: writing %zu bytes at offset %llu failed: %s", path, n, (unsigned long long)offset,
                           put < 0 ? strerror(errno) : "nothing was written");
        done += (size_t)put;
    }
    return ZS_OK;
}

/* ---- Directories on the disk ---- */

enum zs_status zs_directory_sync(const char *path, struct zs_error *err)
{
    const int fd = zs_open_file(path, O_RDONLY | O_DIRECTORY);
    enum zs_status status = ZS_OK;
    /* Some file systems cannot: their error is no failure to write. */
    if (fd >= 0 && fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
        status = zs_fail(err, ZS_IO, "%s: cannot be written to the disk: %s", path, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return status;
}

enum zs_status zs_entry_sync(const char *path, struct zs_error *err)
{
    const char *slash = strrchr(path, '/');
    char *parent = slash == NULL ? zs_strdup(".") : zs_strndup(path, slash > path ? (size_t)(slash - path) : 1);
    const enum zs_status status = parent != NULL ? zs_directory_sync(parent, err) : zs_fail_memory(err);
    free(parent);
    return status;
}

/* ---- Idle files ---- */

void zs_idle_file_init(struct zs_idle_file *f)
{
    *f = (struct zs_idle_file){.fd = -1, .pins = -1};
}

int zs_idle_file_acquire(struct zs_idle_file *f)
{
    int pins = __atomic_load_n(&f->pins, __ATOMIC_SEQ_CST);
    while (pins >= 0)
        if (__atomic_compare_exchange_n(&f->pins, &pins, pins + 1, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return f->fd;
    return -1;
}

int zs_idle_file_opened(struct zs_idle_file *f, int fd)
{
    (void)pthread_mutex_lock(&zs_locks[ZS_LOCK_FILES]);
    const int theirs = zs_idle_file_acquire(f); /* no other thread closes it under the lock */
    if (theirs >= 0) {
        (void)close(fd);
    } else {
        f->fd = fd;
        __atomic_store_n(&f->pins, 1, __ATOMIC_SEQ_CST);
        list_push(f);
        (void)close_down_to(most_files() - atomic_load(&files.taken));
    }
    (void)pthread_mutex_unlock(&zs_locks[ZS_LOCK_FILES]);
    return theirs >= 0 ? theirs : fd;
}

void zs_idle_file_release(struct zs_idle_file *f)
{
    (void)__atomic_fetch_sub(&f->pins, 1, __ATOMIC_SEQ_CST);
}

void zs_idle_file_close(struct zs_idle_file *f)
{
    (void)pthread_mutex_lock(&zs_locks[ZS_LOCK_FILES]);
    if (f->fd >= 0) {
        list_remove(f);
        (void)close(f->fd);
        f->fd = -1;
        __atomic_store_n(&f->pins, -1, __ATOMIC_SEQ_CST);
    }
    (void)pthread_mutex_unlock(&zs_locks[ZS_LOCK_FILES]);
}

/* ---- Others ---- */

void zs_files_take(int n)
{
    (void)pthread_mutex_lock(&zs_locks[ZS_LOCK_FILES]);
    const int taken = atomic_fetch_add(&files.taken, n) + n;
    (void)close_down_to(most_files() - taken);
    (void)pthread_mutex_unlock(&zs_locks[ZS_LOCK_FILES]);
}

void zs_files_give(int n)
{
    (void)atomic_fetch_sub(&files.taken, n);
}

bool zs_files_are_scarce(void)
{
    return atomic_load(&files.taken) > most_files() / 2;
}
