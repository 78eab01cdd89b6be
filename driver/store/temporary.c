#define _GNU_SOURCE /* O_CLOEXEC, getentropy() */
#include "store/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"

#define PREFIX ".shardedzarr-"
#define SUFFIX ".tmp"
#define RANDOM_BYTES 16
#define JOURNAL ".journal"
/* Older than this, a file that nobody can lock has no writer. */
#define DEAD_AFTER_SECONDS (24 * 60 * 60)

static bool is_unfinished(const char *name)
{
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return false;
    name += strlen(PREFIX);
    return strspn(name, "0123456789abcdef") == (size_t)2 * RANDOM_BYTES &&
           strcmp(name + (size_t)2 * RANDOM_BYTES, SUFFIX) == 0;
}

bool zs_is_temporary_name(const char *name)
{
    const size_t n = strlen(name);
    return is_unfinished(name) || (n > strlen(PREFIX JOURNAL) && strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
                                   strcmp(name + n - strlen(JOURNAL), JOURNAL) == 0);
}

char *zs_journal_key(const char *key)
{
    const char *slash = strrchr(key, '/');
    const int folder = slash != NULL ? (int)(slash + 1 - key) : 0;
    return zs_format("%.*s" PREFIX "%s" JOURNAL, folder, key, key + folder);
}

char *zs_temporary_path(const char *directory)
{
    unsigned char bytes[RANDOM_BYTES];
    char digits[2 * RANDOM_BYTES + 1] = "";
    if (getentropy(bytes, sizeof bytes) != 0)
        return NULL;
    for (size_t i = 0; i < 2 * sizeof bytes; i++)
        digits[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15];
    const size_t n = strlen(directory);
    return zs_format("%s%s" PREFIX "%s" SUFFIX, directory, n > 0 && directory[n - 1] == '/' ? "" : "/", digits);
}

/* Whether the lock is ours, or there are no locks here; false when somebody who looked for dead files took this for
 * one. */
static bool lock(int fd)
{
    struct stat st;
    while (flock(fd, LOCK_EX) != 0)
        if (errno != EINTR)
            return true;
    return fstat(fd, &st) != 0 || st.st_nlink > 0;
}

enum zs_status zs_temporary_create(const char *directory, int *fd, char **path, struct zs_error *err)
{
    for (;;) {
        *path = zs_temporary_path(directory);
        if (*path == NULL)
            return zs_fail(err, ZS_NO_MEMORY, "%s: cannot choose a name for a temporary file", directory);
        *fd = zs_create_file(*path, O_RDWR | O_CREAT | O_EXCL, 0666);
        if (*fd >= 0 && lock(*fd))
            return ZS_OK;
        const int code = errno;
        if (*fd >= 0)
            close(*fd);
        else if (code != EEXIST)
            zs_error_set(err, "%s: cannot be created: %s", *path, strerror(code));
        const bool failed = *fd < 0 && code != EEXIST;
        free(*path);
        *path = NULL;
        if (failed)
            return code == ENOENT ? ZS_NOT_FOUND : ZS_IO;
    }
}

static bool is_dead(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    return errno != EWOULDBLOCK && errno != EINTR && time(NULL) - st.st_mtime > DEAD_AFTER_SECONDS;
}

void zs_temporary_clean(const char *directory)
{
    DIR *dir = opendir(directory);
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (!is_unfinished(entry->d_name)) /* a journal is of use to the next writer */
            continue;
        const int fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            continue;
        /* Under the lock: its writer, should it live, cannot have it. Once renamed, the name is not this any more. */
        if (is_dead(fd))
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
        close(fd);
    }
    if (dir != NULL)
        closedir(dir);
}
