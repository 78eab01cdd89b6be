#define _GNU_SOURCE /* O_DIRECTORY, O_CLOEXEC */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/files.h"

struct zs_lock {
    int fd; /* of a directory; -1: `in_memory` is held */
};

/* Files in /vsimem/ are this process's own. */
static pthread_mutex_t in_memory = PTHREAD_MUTEX_INITIALIZER;

enum zs_status zs_lock_memory(struct zs_lock **lock, struct zs_error *err)
{
    *lock = zs_calloc(1, sizeof **lock);
    if (*lock == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a lock");
    (*lock)->fd = -1;
    (void)pthread_mutex_lock(&in_memory);
    return ZS_OK;
}

enum zs_status zs_lock_directory(const char *path, struct zs_lock **lock, struct zs_error *err)
{
    const int fd = zs_open_file(path, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return !zs_means_too_many_files(errno)
                   ? ZS_OK
                   : zs_fail(err, ZS_IO, "%s: cannot be locked: %s", path, strerror(errno));
    int failed;
    do
        failed = flock(fd, LOCK_EX);
    while (failed != 0 && errno == EINTR);
    if (failed == 0)
        *lock = zs_calloc(1, sizeof **lock);
    if (*lock == NULL)
        (void)close(fd);
    else
        (*lock)->fd = fd;
    return failed != 0 || *lock != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a lock");
}

void zs_lock_release(struct zs_store *store, struct zs_lock *lock)
{
    (void)store;
    if (lock->fd >= 0)
        (void)close(lock->fd);
    else
        (void)pthread_mutex_unlock(&in_memory);
    free(lock);
}
