#define _GNU_SOURCE /* pread(), pwrite() */
#include "store/file_bytes.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

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

enum zs_status zs_file_write_at(int fd, const char *path, uint64_t offset, const void *data, size_t n,
                                struct zs_error *err)
{
    for (size_t done = 0; done < n;) {
        const size_t part = n - done < SSIZE_MAX ? n - done : SSIZE_MAX;
        const ssize_t put = pwrite(fd, (const char *)data + done, part, (off_t)(offset + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return zs_fail(err, ZS_IO, "%s: writing %zu bytes at offset %llu failed: %s", path, n,
                           (unsigned long long)offset, put < 0 ? strerror(errno) : "nothing was written");
        done += (size_t)put;
    }
    return ZS_OK;
}
