/* The cache: budget, pins, loading once. */
#include "base/cache.h"
#include "base/limits.h"
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int alive;

static void *value_of(int v)
{
    int *p = malloc(sizeof *p);
    *p = v;
    atomic_fetch_add(&alive, 1);
    return p;
}

static void destroy(void *value)
{
    *(int *)value = -1; /* a later look is seen as wrong, even without a sanitizer */
    free(value);
    atomic_fetch_sub(&alive, 1);
}

static struct zs_cache_key key_of(uint64_t id)
{
    return (struct zs_cache_key){id % 3, id};
}

static struct zs_cache_entry *put(struct zs_cache *c, uint64_t id, uint64_t bytes)
{
    return zs_cache_put(c, key_of(id), value_of((int)id), bytes);
}

static bool holds(struct zs_cache *c, uint64_t id)
{
    struct zs_cache_entry *e = zs_cache_get(c, key_of(id));
    if (e == NULL)
        return false;
    CHECK_EQ_I64(*(int *)zs_cache_value(e), (int)id);
    zs_cache_release(e);
    return true;
}

TEST(test_budget_evicts_what_was_not_used_longest)
{
    struct zs_cache c_of = {.destroy = destroy, .budget = 100}, *c = &c_of;
    for (uint64_t i = 0; i < 10; i++)
        zs_cache_release(put(c, i, 10));
    CHECK_EQ_I64(alive, 10);
    CHECK(holds(c, 0)); /* now the newest */
    zs_cache_release(put(c, 10, 10));
    CHECK(holds(c, 0));
    CHECK(!holds(c, 1));
    zs_cache_release(put(c, 11, 35));
    CHECK(!holds(c, 2) && !holds(c, 3) && !holds(c, 4) && !holds(c, 5) && holds(c, 6));
    CHECK_EQ_U64(zs_cache_budget(c), 100);
    zs_cache_free(c);
    CHECK_EQ_I64(alive, 0);
}

TEST(test_caches_share_the_budget_of_the_process)
{
    zs_budget_set(100);
    struct zs_cache c_of = {.destroy = destroy}, *c = &c_of;
    struct zs_cache d_of = {.destroy = destroy}, *d = &d_of;
    CHECK_EQ_U64(zs_cache_budget(c), 100);
    for (uint64_t i = 0; i < 5; i++) {
        zs_cache_release(put(c, i, 10));
        zs_cache_release(put(d, 10 + i, 10));
    }
    CHECK_EQ_U64(zs_budget_used(), 100);
    CHECK(holds(c, 0)); /* now the newest of all */
    zs_cache_release(put(d, 20, 10));
    CHECK_EQ_U64(zs_budget_used(), 100);
    CHECK(holds(c, 0) && !holds(d, 10) && holds(d, 20) && holds(d, 14));
    zs_cache_free(d); /* gives back what it held */
    CHECK(zs_budget_used() <= 100 - 40);
    zs_cache_free(c);
    CHECK_EQ_U64(zs_budget_used(), 0);
    CHECK_EQ_I64(alive, 0);
}

TEST(test_memory_taken_from_the_budget_evicts_cache_entries)
{
    zs_budget_set(100);
    struct zs_cache c_of = {.destroy = destroy}, *c = &c_of;
    struct zs_cache_entry *pinned = put(c, 0, 30);
    for (uint64_t i = 1; i < 7; i++)
        zs_cache_release(put(c, i, 10));
    CHECK(zs_budget_count(50));
    CHECK(zs_budget_used() <= 100 && holds(c, 6) && !holds(c, 1));
    CHECK(!zs_budget_count(50)); /* what is pinned stays */
    CHECK_EQ_U64(zs_budget_used(), 130);
    CHECK(!holds(c, 6));
    CHECK(zs_budget_count(-100));
    zs_cache_release(pinned);
    CHECK(holds(c, 0));
    zs_budget_set(20); /* a lower budget holds at once */
    CHECK(!holds(c, 0));
    zs_cache_free(c);
    CHECK_EQ_U64(zs_budget_used(), 0);
}

TEST(test_pinned_values_outlive_the_budget)
{
    struct zs_cache c_of = {.destroy = destroy, .budget = 10}, *c = &c_of;
    struct zs_cache_entry *e[5];
    for (uint64_t i = 0; i < 5; i++)
        e[i] = put(c, i, 10);
    for (uint64_t i = 0; i < 5; i++)
        CHECK(holds(c, i));
    struct zs_cache_entry *again = zs_cache_get(c, key_of(2));
    for (uint64_t i = 0; i < 5; i++)
        zs_cache_release(e[i]);
    CHECK(!holds(c, 0) && !holds(c, 1) && holds(c, 2));
    CHECK_EQ_I64(*(int *)zs_cache_value(again), 2);
    zs_cache_release(again);
    CHECK(alive <= 1);
    zs_cache_release(put(c, 9, 11)); /* larger than all the budget: goes when it is released */
    CHECK(!holds(c, 9));
    zs_cache_free(c);
    CHECK_EQ_I64(alive, 0);
}

/* ---- Destroying ---- */

static atomic_bool is_destroying, is_freed;

static void destroy_slowly(void *value)
{
    atomic_store(&is_destroying, true);
    usleep(50000);
    CHECK(!atomic_load(&is_freed)); /* what it needs is there */
    destroy(value);
}

static void *evict_it(void *other)
{
    zs_cache_release(put(other, 1, 100));
    return NULL;
}

TEST(test_a_cache_is_freed_when_its_values_are_destroyed_by_whatever_thread)
{
    pthread_t thread;
    zs_budget_set(100);
    struct zs_cache slow = {.destroy = destroy_slowly}, quick = {.destroy = destroy}, *c = &slow, *other = &quick;
    zs_cache_release(put(c, 0, 10));
    CHECK(pthread_create(&thread, NULL, evict_it, other) == 0);
    while (!atomic_load(&is_destroying))
        usleep(100);
    zs_cache_free(c);
    atomic_store(&is_freed, true);
    (void)pthread_join(thread, NULL);
    zs_cache_free(other);
    CHECK_EQ_I64(alive, 0);
}

/* ---- Loading ---- */

struct loading {
    struct zs_cache *cache;
    atomic_int loads, found;
    int abandons; /* loads that are given up before one succeeds */
    pthread_barrier_t start;
};

static void *load_one(void *ctx)
{
    struct loading *l = ctx;
    (void)pthread_barrier_wait(&l->start);
    for (;;) {
        struct zs_cache_entry *e = zs_cache_get_or_load(l->cache, key_of(5));
        if (e != NULL) {
            CHECK_EQ_I64(*(int *)zs_cache_value(e), 5);
            atomic_fetch_add(&l->found, 1);
            zs_cache_release(e);
            return NULL;
        }
        CHECK(zs_cache_get(l->cache, key_of(5)) == NULL); /* a look does not wait */
        const int number = atomic_fetch_add(&l->loads, 1);
        usleep(20000);
        if (number < l->abandons) {
            zs_cache_remove(l->cache, key_of(5));
            continue;
        }
        zs_cache_release(put(l->cache, 5, 1));
    }
}

static void load_from_8_threads(int abandons)
{
    struct zs_cache cache = {.destroy = destroy, .budget = 100};
    struct loading l = {.cache = &cache, .abandons = abandons};
    pthread_t threads[8];
    (void)pthread_barrier_init(&l.start, NULL, 8);
    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, load_one, &l) == 0);
    for (int i = 0; i < 8; i++)
        (void)pthread_join(threads[i], NULL);
    CHECK_EQ_I64(l.loads, abandons + 1);
    CHECK_EQ_I64(l.found, 8);
    (void)pthread_barrier_destroy(&l.start);
    zs_cache_free(l.cache);
    CHECK_EQ_I64(alive, 0);
}

TEST(test_eight_threads_load_once)
{
    load_from_8_threads(0);
}

TEST(test_abandon_wakes_waiting_threads_and_one_of_them_loads)
{
    load_from_8_threads(3);
}

struct beside_forks {
    struct zs_cache *cache;
    atomic_bool ends;
};

/* Holds locks as often as it can. */
static void *use_until_the_end(void *arg)
{
    struct beside_forks *b = arg;
    for (uint64_t id = 0; !atomic_load(&b->ends); id = (id + 1) % 90) {
        if (!holds(b->cache, id))
            zs_cache_release(put(b->cache, id, 1));
        zs_budget_set(ZS_USUAL_BUDGET_BYTES + id);
        struct zs_cache another = {.destroy = destroy, .budget = 1};
        zs_cache_release(put(&another, 0, 1));
        zs_cache_free(&another);
    }
    return NULL;
}

TEST(test_a_child_forked_beside_other_threads_waits_for_none_of_them)
{
    struct zs_cache cache = {.destroy = destroy, .budget = 60};
    struct beside_forks b = {.cache = &cache};
    pthread_t threads[3];
    CHECK(zs_cache_get_or_load(b.cache, key_of(1000)) == NULL); /* as another thread's */
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, use_until_the_end, &b) == 0);
    for (int i = 0; i < 100 && check_failures == 0; i++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(30);
            CHECK(zs_cache_get_or_load(b.cache, key_of(1000)) == NULL);
            zs_cache_release(put(b.cache, 1000, 1));
            CHECK(holds(b.cache, 1000));
            zs_budget_set(ZS_USUAL_BUDGET_BYTES);
            zs_cache_free(b.cache);
            _exit(check_failures != 0);
        }
        int status = -1;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    atomic_store(&b.ends, true);
    for (int i = 0; i < 3; i++)
        (void)pthread_join(threads[i], NULL);
    zs_cache_remove(b.cache, key_of(1000));
    zs_cache_free(b.cache);
    zs_budget_set(ZS_USUAL_BUDGET_BYTES);
    CHECK_EQ_I64(alive, 0);
}
