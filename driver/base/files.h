/* base/files.h: the descriptors of this process: one budget for all that read and write files (base/limits.h). */
#ifndef ZS_BASE_FILES_H
#define ZS_BASE_FILES_H

#include <dirent.h>
#include <stdatomic.h>
#include <stdbool.h>

/* open() that is not interrupted. Where the process, or the system, has no descriptor left, files that are idle are
 * closed and it is tried again. -1 with errno. */
int zs_open_file(const char *path, int flags);
/* The same, for a new file of these rights, as the process's mask has them. */
int zs_create_file(const char *path, int flags, unsigned rights);

DIR *zs_open_directory(const char *path); /* opendir(), likewise */

/* Whether errno says that there are too many. */
bool zs_means_too_many_files(int code);

/* A file that is read now and then, and closed while it is idle where others need descriptors. Zero-initialise, then
 * zs_idle_file_init(). */
struct zs_idle_file {
    int fd;
    atomic_int pins; /* readers; -1: it is closed */
    struct zs_idle_file *newer, *older;
};
void zs_idle_file_init(struct zs_idle_file *file);
/* Its descriptor, which stays until zs_idle_file_release(); -1 where it is closed. */
int zs_idle_file_acquire(struct zs_idle_file *file);
/* After that was -1, and the file was opened: as zs_idle_file_acquire(). Should another thread have been first, `fd` is
 * closed, and theirs is the answer. */
int zs_idle_file_opened(struct zs_idle_file *file, int fd);
void zs_idle_file_release(struct zs_idle_file *file);
void zs_idle_file_close(struct zs_idle_file *file); /* for good; nobody may read it */

/* Counts descriptors that are no idle files: of what is being written. */
void zs_files_take(int n);
void zs_files_give(int n);
/* Whether these are more than they should be: something should be finished soon. */
bool zs_files_are_scarce(void);

#endif
