#define _GNU_SOURCE /* sched_getaffinity: containers give a process fewer processors than the machine has */
#include "base/parallel.h"

#include <sched.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/limits.h"

struct job {
    zs_parallel_fn fn;
    void *ctx;
    size_t n;
    atomic_size_t next_item;
    atomic_bool stop;
    int max_helpers;
    int helpers; /* that joined so far */
    int active;  /* helpers that have not left; under ZS_LOCK_POOL like all below */
    enum zs_status status;
    struct zs_error *err;
    void *context;
    pthread_cond_t left;
    struct job *next;
};

static struct {
    pthread_cond_t work;
    struct job *jobs; /* that still take helpers */
    int threads;
    int idle;
} pool = {.work = PTHREAD_COND_INITIALIZER};

struct zs_thread_context zs_thread_hooks;

int zs_cpu_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

static void job_run(struct job *job)
{
    struct zs_error err;
    for (;;) {
        if (atomic_load_explicit(&job->stop, memory_order_relaxed))
            return;
        size_t item = atomic_fetch_add_explicit(&job->next_item, 1, memory_order_relaxed);
        if (item >= job->n)
            return;
        err.message[0] = '\0';
        enum zs_status status = job->fn(job->ctx, item, &err);
        if (status != ZS_OK && !atomic_exchange(&job->stop, true)) {
            /* Only the first to stop the job gets here; the asking thread reads these after every helper has left. */
            job->status = status;
            if (job->err != NULL)
                *job->err = err;
        }
    }
}

/* Helps in another thread than the one that asked. */
static void job_help(struct job *job)
{
    if (job->context != NULL)
        zs_thread_hooks.enter(job->context);
    job_run(job);
    if (job->context != NULL)
        zs_thread_hooks.enter(NULL);
}

/* What other threads take over from this one. */
static void *capture(void)
{
    return zs_thread_hooks.capture != NULL ? zs_thread_hooks.capture() : NULL;
}

static void job_unlink(struct job *job)
{
    struct job **p = &pool.jobs;
    while (*p != NULL && *p != job)
        p = &(*p)->next;
    if (*p != NULL)
        *p = job->next;
}

static void *pool_thread(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&zs_locks[ZS_LOCK_POOL]);
    for (;;) {
        while (pool.jobs == NULL) {
            pool.idle++;
            pthread_cond_wait(&pool.work, &zs_locks[ZS_LOCK_POOL]);
            pool.idle--;
        }
        struct job *job = pool.jobs;
        job->active++;
        if (++job->helpers == job->max_helpers)
            job_unlink(job);
        pthread_mutex_unlock(&zs_locks[ZS_LOCK_POOL]);
        job_help(job);
        pthread_mutex_lock(&zs_locks[ZS_LOCK_POOL]);
        if (--job->active == 0)
            pthread_cond_signal(&job->left);
    }
    return NULL;
}

/* With ZS_LOCK_POOL held: starts threads until `wanted` are idle. Loops that run at the same time share what there is:
 * beyond what one of them asks for, more threads than a few per processor only take turns. */
static void pool_grow(int wanted)
{
    if (wanted <= pool.idle)
        return;
    const int shared = 4 * zs_cpu_count();
    const int most = wanted > shared ? wanted : shared;
    for (int missing = wanted - pool.idle; missing > 0 && pool.threads < most && pool.threads < ZS_MOST_POOL_THREADS;
         missing--) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, pool_thread, NULL) != 0)
            return; /* the caller still does the work itself */
        (void)pthread_detach(thread);
        pool.threads++;
    }
}

/* ---- Forks ---- */

#define FREE PTHREAD_MUTEX_INITIALIZER

pthread_mutex_t zs_locks[ZS_LOCK_COUNT] = {FREE, FREE, FREE, FREE};

static void before_fork(void)
{
    for (int i = 0; i < ZS_LOCK_COUNT; i++)
        (void)pthread_mutex_lock(&zs_locks[i]);
}

static void in_parent(void)
{
    for (int i = ZS_LOCK_COUNT - 1; i >= 0; i--)
        (void)pthread_mutex_unlock(&zs_locks[i]);
}

/* Forgets the threads, which the child does not have. */
static void in_child(void)
{
    pthread_cond_init(&pool.work, NULL);
    pool.jobs = NULL;
    pool.threads = 0;
    pool.idle = 0;
    zs_caches_in_child();
    in_parent();
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, in_parent, in_child);
}

/* ---- Loops, and work beside the caller's ---- */

enum zs_status zs_parallel_for(int threads, size_t n, zs_parallel_fn fn, void *ctx, struct zs_error *err)
{
    if (threads <= 1 || n <= 1) {
        for (size_t i = 0; i < n; i++)
            ZS_TRY(fn(ctx, i, err));
        return ZS_OK;
    }
    struct job job = {.fn = fn, .ctx = ctx, .n = n, .err = err, .context = capture()};
    job.max_helpers = (size_t)threads < n ? threads - 1 : (int)(n - 1);
    pthread_cond_init(&job.left, NULL);

    pthread_mutex_lock(&zs_locks[ZS_LOCK_POOL]);
    pool_grow(job.max_helpers);
    job.next = pool.jobs;
    pool.jobs = &job;
    for (int i = 0; i < job.max_helpers; i++)
        pthread_cond_signal(&pool.work); /* no more than can help */
    pthread_mutex_unlock(&zs_locks[ZS_LOCK_POOL]);

    job_run(&job);

    pthread_mutex_lock(&zs_locks[ZS_LOCK_POOL]);
    job_unlink(&job); /* no thread joins from here on */
    while (job.active > 0)
        pthread_cond_wait(&job.left, &zs_locks[ZS_LOCK_POOL]);
    pthread_mutex_unlock(&zs_locks[ZS_LOCK_POOL]);
    pthread_cond_destroy(&job.left);
    if (job.context != NULL)
        zs_thread_hooks.release(job.context);
    return job.status;
}

struct zs_async {
    struct job job; /* of one item */
    struct zs_error err;
    pthread_t thread;
    bool has_thread;
};

static void *async_run(void *arg)
{
    job_help(&((struct zs_async *)arg)->job);
    return NULL;
}

struct zs_async *zs_async_start(zs_parallel_fn fn, void *ctx)
{
    struct zs_async *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    a->job = (struct job){.fn = fn, .ctx = ctx, .n = 1, .err = &a->err, .context = capture()};
    a->has_thread = pthread_create(&a->thread, NULL, async_run, a) == 0;
    if (!a->has_thread)
        job_run(&a->job);
    return a;
}

enum zs_status zs_async_wait(struct zs_async *a, struct zs_error *err)
{
    if (a == NULL)
        return ZS_OK;
    if (a->has_thread)
        (void)pthread_join(a->thread, NULL);
    const enum zs_status status = a->job.status;
    if (a->job.context != NULL)
        zs_thread_hooks.release(a->job.context);
    if (status != ZS_OK && err != NULL)
        *err = a->err;
    free(a);
    return status;
}
