/* base/fork.h: the locks that a process has once. A fork takes all of them first, so that the child, in which only the
 * forking thread goes on, finds them free and what they protect whole. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* A thread that holds one may take those behind it, none before it (deadlock). */
enum zs_process_lock {
    ZS_LOCK_IN_MEMORY, /* writing in /vsimem/ */
    ZS_LOCK_STORES,    /* the list of stores that datasets are opened on */
    ZS_LOCK_FILES,     /* the list of open files, and opening and closing them */
    ZS_LOCK_CACHES,    /* the list of caches and the budgets asked for; before the lock of a cache */
    ZS_LOCK_POOL,      /* the pool of threads */
    ZS_LOCK_MARKS,     /* the list of marks that are held */
    ZS_LOCK_COUNT
};
extern pthread_mutex_t zs_locks[ZS_LOCK_COUNT];

/* Lock and unlock all caches, with ZS_LOCK_CACHES held. In the child, entries that other threads were loading are
 * dropped. */
void zs_caches_before_fork(void);
void zs_caches_after_fork(bool is_child);
/* Forgets the threads, which the child does not have. With ZS_LOCK_POOL held. */
void zs_pool_in_child(void);
