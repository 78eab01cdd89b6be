#define _GNU_SOURCE /* O_CLOEXEC, O_DIRECTORY, pread(), pwrite() */
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/memory.h"

static atomic_int taken;

/* ---- Opening ---- */

bool zs_means_too_many_files(int code)
{
    return code == EMFILE || code == ENFILE;
}

int zs_open_file(const char *path, int flags)
{
    int fd;
    do
        fd = open(path, flags | O_CLOEXEC, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* ---- Bytes ---- */

enum zs_status zs_file_read_at(int fd, const char *path, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(fd, (char *)data + done, n - done, (off_t)(offset + done));
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
        const ssize_t put = pwrite(fd, (const char *)data + done, n - done, (off_t)(offset + done));
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

/* ---- The budget ---- */

/* The limit may be changed while the process runs. */
int zs_half_of_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / ZS_SHARE_OF_FILES > ZS_MOST_FILES)
        return ZS_MOST_FILES / 2;
    return (int)(limit.rlim_cur / ZS_SHARE_OF_FILES) / 2;
}

void zs_files_count(int more)
{
    (void)atomic_fetch_add(&taken, more);
}

bool zs_files_are_scarce(void)
{
    return atomic_load(&taken) > zs_half_of_files();
}
