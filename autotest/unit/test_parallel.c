/* The loop that shares its items among threads. */
#include "base/parallel.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

struct counted {
    atomic_int *seen;
    atomic_int running, most_running;
    unsigned pause;
    size_t fail_at; /* SIZE_MAX: none */
};

static enum zs_status count_item(void *ctx, size_t item, struct zs_error *err)
{
    struct counted *c = ctx;
    const int running = atomic_fetch_add(&c->running, 1) + 1;
    int most = atomic_load(&c->most_running);
    while (running > most && !atomic_compare_exchange_weak(&c->most_running, &most, running))
        ;
    atomic_fetch_add(&c->seen[item], 1);
    if (c->pause != 0)
        usleep(c->pause);
    atomic_fetch_sub(&c->running, 1);
    return item == c->fail_at ? zs_fail(err, ZS_CORRUPT, "item %zu", item) : ZS_OK;
}

static void each_once(int threads, size_t n)
{
    struct zs_error err = {"untouched"};
    struct counted c = {.seen = calloc(n + 1, sizeof *c.seen), .fail_at = SIZE_MAX};
    CHECK(zs_parallel_for(threads, n, count_item, &c, &err) == ZS_OK);
    for (size_t i = 0; i < n; i++)
        CHECK_EQ_I64(c.seen[i], 1);
    CHECK_EQ_STR(err.message, "untouched");
    free(c.seen);
}

TEST(test_each_item_is_done_once)
{
    static const int threads[] = {-1, 0, 1, 2, 3, 8, 200};
    static const size_t sizes[] = {0, 1, 2, 3, 7, 1000, 20000};
    for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++)
        for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++)
            each_once(threads[t], sizes[n]);
    each_once(16, 5); /* more threads than items */
}

TEST(test_no_more_threads_than_asked_for)
{
    atomic_int seen[60];
    for (size_t i = 0; i < 60; i++)
        atomic_init(&seen[i], 0);
    struct counted c = {.seen = seen, .pause = 10000, .fail_at = SIZE_MAX};
    CHECK(zs_parallel_for(4, 60, count_item, &c, NULL) == ZS_OK);
    CHECK(c.most_running <= 4);
    CHECK(c.most_running >= 2); /* they sleep: even one processor runs several */
}

TEST(test_an_error_stops_the_loop_and_is_handed_out)
{
    for (int threads = 1; threads <= 8; threads *= 2) {
        struct zs_error err;
        struct counted c = {.seen = calloc(100000, sizeof *c.seen), .fail_at = 100};
        CHECK(zs_parallel_for(threads, 100000, count_item, &c, &err) == ZS_CORRUPT);
        CHECK_EQ_STR(err.message, "item 100");
        size_t done = 0;
        for (size_t i = 0; i < 100000; i++)
            done += (size_t)c.seen[i];
        CHECK(done > 100 && done < 100000);
        for (size_t i = 0; i <= 100; i++) /* items start in order */
            CHECK_EQ_I64(c.seen[i], 1);
        CHECK_EQ_I64(c.running, 0);
        CHECK(zs_parallel_for(threads, 100000, count_item, &c, NULL) == ZS_CORRUPT); /* nobody wants the words */
        free(c.seen);
    }
}

/* ---- Settings of the asking thread ---- */

static _Thread_local int setting;
static atomic_int entered, left, released;

static void *capture(void)
{
    int *copy = malloc(sizeof *copy);
    *copy = setting;
    return setting != 0 ? copy : (free(copy), NULL);
}

static void enter(void *context)
{
    setting = context != NULL ? *(int *)context : 0;
    atomic_fetch_add(context != NULL ? &entered : &left, 1);
}

static void release(void *context)
{
    atomic_fetch_add(&released, 1);
    free(context);
}

static enum zs_status look_at_setting(void *ctx, size_t item, struct zs_error *err)
{
    (void)item, (void)err;
    usleep(10000);
    CHECK_EQ_I64(setting, *(const int *)ctx);
    return ZS_OK;
}

TEST(test_pool_threads_take_over_the_callers_thread_settings)
{
    zs_thread_hooks = (struct zs_thread_context){capture, enter, release};
    for (int wanted = 0; wanted < 3; wanted++) {
        setting = wanted;
        CHECK(zs_parallel_for(4, 40, look_at_setting, &wanted, NULL) == ZS_OK);
        CHECK_EQ_I64(setting, wanted); /* ours is left alone */
    }
    CHECK(entered > 0);
    CHECK_EQ_I64(entered, left);
    CHECK_EQ_I64(released, 2); /* none for the setting that was none */
    zs_thread_hooks = (struct zs_thread_context){NULL, NULL, NULL};
}

/* ---- One piece of work beside ---- */

static enum zs_status beside(void *ctx, size_t item, struct zs_error *err)
{
    CHECK_EQ_U64(item, 0);
    usleep(1000);
    if (*(int *)ctx == 0)
        return zs_fail(err, ZS_IO, "disk full");
    CHECK_EQ_I64(setting, 5);
    *(int *)ctx += 1;
    return ZS_OK;
}

TEST(test_background_work_is_awaited_and_its_error_returned)
{
    zs_thread_hooks = (struct zs_thread_context){capture, enter, release};
    setting = 5;
    const int released_before = released;
    int good = 1, bad = 0;
    struct zs_error err = {"untouched"};
    struct zs_async *first = zs_async_start(beside, &good), *second = zs_async_start(beside, &bad);
    CHECK(zs_async_wait(first, &err) == ZS_OK);
    CHECK_EQ_I64(good, 2);
    CHECK_EQ_STR(err.message, "untouched");
    CHECK(zs_async_wait(second, &err) == ZS_IO);
    CHECK_EQ_STR(err.message, "disk full");
    CHECK(zs_async_wait(zs_async_start(beside, &bad), NULL) == ZS_IO);
    CHECK(zs_async_wait(NULL, &err) == ZS_OK);
    CHECK_EQ_I64(released - released_before, 3);
    zs_thread_hooks = (struct zs_thread_context){NULL, NULL, NULL};
}
