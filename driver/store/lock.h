/* store/lock.h: what zs_store_lock() is, in file systems that have locks. */
#ifndef ZS_STORE_LOCK_H
#define ZS_STORE_LOCK_H

#include "store/store.h"

/* *lock is NULL before. A directory of the operating system is locked for all that is in it: an object that is renamed
 * into place is another file each time, and a file beside it would be left behind. Where it cannot be opened, or its
 * file system has no locks (some network ones), *lock stays NULL. */
enum zs_status zs_lock_directory(const char *path, struct zs_lock **lock, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_lock_memory(struct zs_lock **lock, struct zs_error *err) ZS_MUST_CHECK; /* of all files in /vsimem/ */
void zs_lock_release(struct zs_store *store, struct zs_lock *lock);

#endif
