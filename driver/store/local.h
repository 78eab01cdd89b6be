/* store/local.h: a store in a directory of the operating system. */
#ifndef ZS_STORE_LOCAL_H
#define ZS_STORE_LOCAL_H

#include "store/store.h"

/* The directory need not exist. `root` is copied. */
enum zs_status zs_store_open_local(const char *root, struct zs_store **store, struct zs_error *err) ZS_MUST_CHECK;

#endif
