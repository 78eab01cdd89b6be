/* base/descriptors.h: the descriptors of this process: one budget for all that read and write files (base/limits.h). */
#ifndef ZS_BASE_DESCRIPTORS_H
#define ZS_BASE_DESCRIPTORS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* open() that is not interrupted. Where the process, or the system, has no descriptor left, files that are idle are
 * closed and it is tried again. -1 with errno. */
int zs_open_file(const char *path, int flags);
/* The same, for a new file of these rights, as the process's mask has them. */
int zs_create_file(const char *path, int flags, unsigned rights);

DIR *zs_open_directory(const char *path); /* opendir(), likewise */

/* All n bytes at `offset`, or ZS_IO with a message that begins with `path`, which is for that alone. */
enum zs_status zs_file_read_at(int fd, const char *path, uint64_t offset, size_t n, void *data,
                               struct zs_error *err) ZS_MUST_CHECK;
/* The same; it may write beyond the end. */
enum zs_status zs_file_write_at(int fd, const char *path, uint64_t offset, const void *data, size_t n,
                                struct zs_error *err) ZS_MUST_CHECK;

/* Puts the entries of a directory on the disk, and those of the directory that `path` is in. ZS_OK where it cannot be
 * opened, or its file system cannot do that. */
enum zs_status zs_directory_sync(const char *path, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_entry_sync(const char *path, struct zs_error *err) ZS_MUST_CHECK;

/* Whether errno says that there are too many. */
bool zs_means_too_many_files(int code);

/* A file that is read now and then, and closed while it is idle where others need descriptors. Zero-initialise, then
 * zs_idle_file_init(). */
struct zs_idle_file {
    int fd;
    int pins; /* atomic: readers; -1: it is closed */
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
