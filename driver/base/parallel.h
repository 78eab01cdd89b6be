/* base/parallel.h: one pool of threads for the process, a loop that shares its items among them, and the locks that the
 * process has once. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Work on item `item` of 0..n-1. Called at most once per item, from any thread. */
typedef enum zs_status (*zs_parallel_fn)(void *ctx, size_t item, struct zs_error *err);

/* Runs fn for each item on up to `threads` threads, the calling thread being one of them, so that it makes progress
 * even when the pool has no thread to give (nested loops, a forked child). Items start in order. After the first
 * failure no new item starts; that failure is returned when all running items have ended. */
enum zs_status zs_parallel_for(int threads, size_t n, zs_parallel_fn fn, void *ctx, struct zs_error *err);

/* Work that runs beside the caller's: start it, then wait for it. `fn` gets item 0. */
struct zs_async;
/* Starts fn on a thread of its own, or, where none can be had, calls it. NULL without memory. */
struct zs_async *zs_async_start(zs_parallel_fn fn, void *ctx);
/* Waits until the work has ended, releases it, and returns its status and message. NULL gives ZS_OK. */
enum zs_status zs_async_wait(struct zs_async *async, struct zs_error *err);

/* Number of processors this process may use, at least 1. */
int zs_cpu_count(void);

/* Per-thread settings that other threads must take over from the thread that asked (GDAL's thread-local configuration
 * options: rasterio keeps credentials there). The room that has such settings sets the functions before any call above;
 * all are called without locks held. */
extern struct zs_thread_context {
    void *(*capture)(void); /* in the asking thread; NULL when there is nothing to hand over: then no other is called */
    void (*enter)(void *context); /* in the other thread before its first item, and with NULL after its last one */
    void (*release)(void *context);
} zs_thread_hooks;

/* The locks that a process has once. A fork takes all of them first, so that the child, in which only the forking
 * thread goes on, finds them free and what they protect whole. A thread that holds one may take those behind it, none
 * before it (deadlock). */
enum zs_process_lock {
    ZS_LOCK_IN_MEMORY, /* writing in /vsimem/ */
    ZS_LOCK_STORES,    /* the list of stores that datasets are opened on */
    ZS_LOCK_CACHES,    /* the caches, and the budget of memory */
    ZS_LOCK_POOL,      /* the pool of threads */
    ZS_LOCK_COUNT
};
extern pthread_mutex_t zs_locks[ZS_LOCK_COUNT];

/* Drops entries that other threads were loading, in a forked child (cache.c). With ZS_LOCK_CACHES held. */
void zs_caches_in_child(void);
