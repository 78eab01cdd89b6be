/* base/descriptors.h: the file descriptors of this process: one budget for reading and writing (base/limits.h). */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* open() that is not interrupted. When the process, or the system, has no descriptor left, closes idle files and tries
 * again. -1 with errno. */
int zs_open_file(const char *path, int flags);
/* Like zs_open_file(), creating the file with these access rights (less the process's umask). */
int zs_create_file(const char *path, int flags, unsigned rights);

DIR *zs_open_directory(const char *path); /* opendir(), likewise */

/* Reads all n bytes at `offset`, or fails with ZS_IO; `path` is for the message alone. */
enum zs_status zs_file_read_at(int fd, const char *path, uint64_t offset, size_t n, void *data, struct zs_error *err);
/* Returns ZS_NO_SPACE where the code (errno) of a failed write means that, else ZS_IO. */
enum zs_status zs_status_of_write(int code);
/* Writes all n bytes at `offset`, also beyond the end, or fails with that status. */
enum zs_status zs_file_write_at(int fd, const char *path, uint64_t offset, const void *data, size_t n,
                                struct zs_error *err);

/* Flush the entries of a directory, or of the directory that `path` is in, to the disk. ZS_OK where it cannot be
 * opened, or its file system cannot do that. */
enum zs_status zs_directory_sync(const char *path, struct zs_error *err);
enum zs_status zs_entry_sync(const char *path, struct zs_error *err);

/* Whether the errno `code` means that no file can be opened because too many are open. */
bool zs_means_too_many_files(int code);

/* A file that is read now and then, and closed while idle when others need descriptors. Begin with
 * zs_idle_file_init(). */
struct zs_idle_file {
    int fd;
    int pins; /* atomic: readers; -1: it is closed */
    struct zs_idle_file *newer, *older;
};
void zs_idle_file_init(struct zs_idle_file *file);
/* Returns its descriptor, which stays open until zs_idle_file_release(); -1 where the file is closed. */
int zs_idle_file_acquire(struct zs_idle_file *file);
/* Call it when zs_idle_file_acquire() gave -1: hands over the newly opened `fd` and acquires the file. If another
 * thread was first, closes `fd` and returns the other descriptor. */
int zs_idle_file_opened(struct zs_idle_file *file, int fd);
void zs_idle_file_release(struct zs_idle_file *file);
void zs_idle_file_close(struct zs_idle_file *file); /* for good; no thread may be reading it */

/* Count descriptors that are no idle files: those of files being written. */
void zs_files_take(int n);
void zs_files_give(int n);
/* Whether too many of these are open: the caller should finish a file soon. */
bool zs_files_are_scarce(void);
/* How many files, 1 to `most`, a caller may open at the same time for a moment. */
int zs_files_at_once(int most);
