/* store/file_bytes.h: bytes of an open file of the operating system, all of them or an error (ZS_IO) that says where.
 * `path` is for that alone. */
#ifndef ZS_STORE_FILE_BYTES_H
#define ZS_STORE_FILE_BYTES_H

#include <stdint.h>

#include "base/status.h"

enum zs_status zs_file_read_at(int fd, const char *path, uint64_t offset, size_t n, void *data,
                               struct zs_error *err) ZS_MUST_CHECK;
/* Wherever the file's end is. */
enum zs_status zs_file_write_at(int fd, const char *path, uint64_t offset, const void *data, size_t n,
                                struct zs_error *err) ZS_MUST_CHECK;

#endif
