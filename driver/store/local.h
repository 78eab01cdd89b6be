/* store/local.h: a store in a directory of the operating system. */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "store/store.h"

/* Opens a directory, which need not exist. Copies `root`. */
enum zs_status zs_store_open_local(const char *root, struct zs_store **store, struct zs_error *err);

/* ---- Inside: what the files local*.c share ---- */

struct local_store {
    struct zs_store base;
    int root; /* the opened directory, held so that no other gets its number; -1: there was none */
    dev_t root_device;
    ino_t root_number;
    atomic_bool has_metadata; /* a zarr.json was read in it */
    pthread_mutex_t lock;     /* of all below */
    char *real_root;          /* without symbolic links; NULL until something is written or removed */
    bool is_clean;            /* files of dead writers were looked for */
};

static inline struct local_store *store_of(struct zs_store *store)
{
    return (struct local_store *)store;
}

static inline bool means_absent(int code)
{
    return code == ENOENT || code == ENOTDIR;
}

/* ---- local.c ---- */

struct stat;
uint64_t zs_local_version(const struct stat *st);
/* ZS_IO when the root is no longer the store that was opened. */
enum zs_status zs_local_check_root(const struct zs_store *store, struct zs_error *err);

/* ---- local_write.c: the operations of zs_store_ops of these names ---- */

enum zs_status zs_local_create(struct zs_store *store, const char *key, struct zs_writer **writer,
                               struct zs_error *err);
enum zs_status zs_local_write(struct zs_writer *writer, const void *data, size_t n, struct zs_error *err);
enum zs_status zs_local_patch(struct zs_writer *writer, uint64_t offset, const void *data, size_t n,
                              struct zs_error *err);
enum zs_status zs_local_read_back(struct zs_writer *writer, uint64_t offset, size_t n, void *data,
                                  struct zs_error *err);
enum zs_status zs_local_commit(struct zs_writer *writer, struct zs_error *err);
void zs_local_abort(struct zs_writer *writer);
enum zs_status zs_local_lock(struct zs_store *store, const char *key, struct zs_lock **lock, struct zs_error *err);
void zs_local_unlock(struct zs_store *store, struct zs_lock *lock);
enum zs_status zs_local_sync(struct zs_store *store, struct zs_error *err);

enum zs_status zs_local_file_open(struct zs_store *store, const char *key, struct zs_file **file, struct zs_error *err);
enum zs_status zs_local_file_write(struct zs_file *file, uint64_t offset, const void *data, size_t n,
                                   struct zs_error *err);
enum zs_status zs_local_file_truncate(struct zs_file *file, uint64_t size, struct zs_error *err);
enum zs_status zs_local_file_flush(struct zs_file *file, struct zs_error *err);
void zs_local_file_close(struct zs_file *file);
bool zs_local_is_changed(const struct zs_object *object, int fd, bool or_recently);

/* Finds or makes the folder of a key, and checks that it lies in the store. ZS_UNSUPPORTED when a symbolic link leads
 * out of it, ZS_NOT_FOUND when it is absent. */
enum zs_status zs_folder_enter_above(struct zs_store *store, const char *key, bool make, struct zs_error *err);
