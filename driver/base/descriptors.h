/* base/descriptors.h: the file descriptors of this process: one budget for reading and writing (base/limits.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* open() that is not interrupted; a file that it makes has the usual rights. -1 with errno. */
int zs_open_file(const char *path, int flags);

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

/* Half of the budget: so many files are kept open for reading, and so many may be open for writing. */
int zs_half_of_files(void);
/* Counts `more` descriptors of files being written, or, below 0, fewer. */
void zs_files_count(int more);
/* Whether these take their half: the caller should finish a file soon. */
bool zs_files_are_scarce(void);
