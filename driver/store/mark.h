/* store/mark.h: who makes what is to be at a prefix. An object ".unfinished" is there from before the first chunk until
 * all is there. One maker puts it: on object stores on the condition that nothing is there, elsewhere under a lock. It
 * names the maker's machine and process, and since when. The mark of a process that this machine sees to be gone is
 * replaced, and one that this process has left; that of another machine's is where the user says so. */
#pragma once

#include "store/store.h"

#define ZS_MARK_NAME ".unfinished"

/* Puts the mark at `key`, whose last name is ZS_MARK_NAME. ZS_CONFLICT where a mark is that zs_mark_check() finds. */
enum zs_status zs_mark_put(struct zs_store *store, const char *key, bool overwrites, struct zs_error *err);
/* ZS_CONFLICT where a mark is there whose maker lives or, unless `overwrites`, may live: the message names it. */
enum zs_status zs_mark_check(struct zs_store *store, const char *key, bool overwrites, struct zs_error *err);
/* Removes the mark, which this process put, unless another maker's is there by now. */
enum zs_status zs_mark_remove(struct zs_store *store, const char *key, struct zs_error *err);

/* Whether the key is that of a mark. */
bool zs_is_mark(const char *key);
