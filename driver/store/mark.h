/* store/mark.h: who makes what is to be at a prefix. An object ".unfinished" is there from before the first chunk until
 * all is there. One maker puts it: on object stores with the condition that nothing is there, elsewhere under a lock.
 * It names the maker's machine and process, so that the mark of a killed one is recognised:
 *
 *   on the same machine (its boot, and its processes)  by the process
 *   elsewhere                                          by time: nothing below was written for an hour
 *
 * A mark of a process on another machine that is younger may be of either: then nothing is made. */
#pragma once

#include "store/store.h"

#define ZS_MARK_NAME ".unfinished"

/* Asked before the mark of a dead maker is replaced: unless ZS_OK, that mark stays, and this is the answer. */
struct zs_mark_question {
    enum zs_status (*may_replace)(void *ctx, struct zs_error *err); /* not ZS_CONFLICT */
    void *ctx;
};

/* Puts the mark at `key`, whose last name is ZS_MARK_NAME. ZS_CONFLICT where another maker's is there, unless that is
 * dead: then it is replaced, if the question (NULL: none) allows it, and *was_left is true. */
enum zs_status zs_mark_put(struct zs_store *store, const char *key, const struct zs_mark_question *question,
                           bool *was_left, struct zs_error *err);
/* ZS_CONFLICT where a mark is there whose maker lives, or may live. */
enum zs_status zs_mark_check(struct zs_store *store, const char *key, struct zs_error *err);
/* ZS_IO where the mark that this process put is no longer there: it did nothing for an hour, and another maker took
 * over, whom the message names. Then nothing may be published or removed. */
enum zs_status zs_mark_check_own(struct zs_store *store, const char *key, struct zs_error *err);
/* Has commits to a store, in which this process has put a mark at `key`, call zs_mark_check_own() when the last one is
 * half an hour old: what a process that slept goes on to write would lie among what another maker wrote meanwhile. Once
 * per store. */
enum zs_status zs_mark_hold(struct zs_store *store, const char *key, struct zs_error *err);
/* Removes the mark, which the caller put, unless another maker's is there by now. */
enum zs_status zs_mark_remove(struct zs_store *store, const char *key, struct zs_error *err);

/* Whether the key is that of a mark. */
bool zs_is_mark(const char *key);
/* Whether this process has put a mark at the key of a store, and has not removed it. */
bool zs_mark_is_own(const struct zs_store *store, const char *key);
