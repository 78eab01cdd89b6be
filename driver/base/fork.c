#include "base/fork.h"

#define FREE PTHREAD_MUTEX_INITIALIZER

pthread_mutex_t zs_locks[ZS_LOCK_COUNT] = {FREE, FREE, FREE, FREE};

static void before(void)
{
    for (int i = 0; i < ZS_LOCK_COUNT; i++)
        (void)pthread_mutex_lock(&zs_locks[i]);
}

static void in_parent(void)
{
    for (int i = ZS_LOCK_COUNT - 1; i >= 0; i--)
        (void)pthread_mutex_unlock(&zs_locks[i]);
}

static void in_child(void)
{
    zs_pool_in_child();
    zs_caches_in_child();
    in_parent();
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before, in_parent, in_child);
}
