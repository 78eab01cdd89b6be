/* store/local.h: a store in a directory of the operating system. */
#pragma once

#include <errno.h>
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
    atomic_bool has_metadata; /* a zarr.json was read in it, or written */
    atomic_bool is_clean;     /* files of dead writers were looked for */
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
bool zs_local_is_replaced(const struct zs_store *store);
bool zs_local_is_changed(const struct zs_object *object, bool or_recently);

/* ---- local_write.c ---- */

extern const struct zs_writing_ops zs_local_writing;
