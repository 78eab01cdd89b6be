/* base/fork.h: the locks that a process has once. A fork takes all of them first, so that the child, in which only the
 * forking thread goes on, finds them free and what they protect whole. */
#pragma once

#include <pthread.h>

/* A thread that holds one may take those behind it, none before it (deadlock). */
enum zs_process_lock {
    ZS_LOCK_IN_MEMORY, /* writing in /vsimem/ */
    ZS_LOCK_STORES,    /* the list of stores that datasets are opened on */
    ZS_LOCK_CACHES,    /* the caches, and the budget of memory */
    ZS_LOCK_POOL,      /* the pool of threads */
    ZS_LOCK_COUNT
};
extern pthread_mutex_t zs_locks[ZS_LOCK_COUNT];

/* Drops entries that other threads were loading. With ZS_LOCK_CACHES held. */
void zs_caches_in_child(void);
/* Forgets the threads, which the child does not have. With ZS_LOCK_POOL held. */
void zs_pool_in_child(void);
