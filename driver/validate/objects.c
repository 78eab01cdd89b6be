/* The objects of one array: opened some at a time, and what is in them checked side by side. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/parallel.h"
#include "validate/validate_private.h"

/* Open at once: enough to keep threads busy across the ends of shards, few beside the usual limit of 1024 files. */
#define BATCH 64
/* Requests under way at once to a remote store, as array/array.c has them. */
#define REMOTE_THREADS 32
/* Objects asked for one by one where they cannot be listed: an hour at the pace of a near server. */
#define MAX_PROBES ((uint64_t)1 << 24)

struct task {
    const struct zs_checked_object *object;
    size_t number;
};

struct batch {
    struct zs_check *c;
    const struct zs_checked_array *array;
    uint64_t first;
    struct zs_checked_object objects[BATCH];
    struct task *tasks;
    double units; /* of progress that a task is */
};

static enum zs_status open_one(void *ctx, size_t item, struct zs_error *err)
{
    struct batch *b = ctx;
    const uint64_t at = b->first + item;
    const uint64_t number = b->array->is_listed ? b->array->objects[at] : at;
    return zs_checked_object_open(b->c, b->array, number, &b->objects[item], err);
}

static enum zs_status check_one(void *ctx, size_t item, struct zs_error *err)
{
    const struct batch *b = ctx;
    ZS_TRY(zs_checked_object_check(b->tasks[item].object, b->tasks[item].number, err));
    return zs_check_advance(b->c, b->units, 0, 0, err);
}

static enum zs_status check_batch(struct batch *b, size_t count, int threads, struct zs_error *err)
{
    memset(b->objects, 0, sizeof b->objects);
    b->tasks = NULL;
    enum zs_status status = zs_parallel_for(threads, count, open_one, b, err);
    size_t tasks = 0, n = 0;
    for (size_t i = 0; i < count; i++)
        tasks += zs_checked_object_tasks(&b->objects[i]);
    if (status == ZS_OK && (b->tasks = zs_calloc(tasks, sizeof *b->tasks)) == NULL)
        status = zs_fail_memory(err);
    for (size_t i = 0; i < count && status == ZS_OK; i++)
        for (size_t t = 0; t < zs_checked_object_tasks(&b->objects[i]); t++)
            b->tasks[n++] = (struct task){&b->objects[i], t};
    b->units = tasks > 0 ? (double)count / (double)tasks : 0;
    if (status == ZS_OK)
        status = zs_parallel_for(threads, n, check_one, b, err);
    free(b->tasks);
    for (size_t i = 0; i < count; i++)
        zs_checked_object_close(&b->objects[i]);
    return status == ZS_OK && tasks == 0 ? zs_check_advance(b->c, (double)count, 0, 0, err) : status;
}

/* As many threads as have room for a group of encoded chunks and a decoded one each. */
static int threads_within(const struct zs_check *check, const struct zs_level *level)
{
    const uint64_t each = level->decoded_size + zs_level_bound(level);
    const int wanted = check->store->is_remote && check->threads < REMOTE_THREADS ? REMOTE_THREADS : check->threads;
    return (int)zs_max_u64(1, zs_min_u64((uint64_t)wanted, check->memory / each));
}

enum zs_status zs_check_objects(struct zs_check *check, const struct zs_checked_array *array, struct zs_error *err)
{
    const struct zs_level *level = &array->chain.levels[array->chain.count - 1];
    const uint64_t count = array->is_listed ? array->object_count : array->grid_count;
    if (level->decoded_size > check->memory) {
        zs_report_numbers(check, ZS_SEVERITY_UNCHECKED, array->node->path,
                          "its chunks are larger than the memory that may be used, in bytes", check->memory,
                          level->decoded_size);
        return ZS_OK;
    }
    if (!array->is_listed && count > MAX_PROBES) {
        zs_report_numbers(check, ZS_SEVERITY_UNCHECKED, array->node->path,
                          "the store cannot be listed, and there are more objects than are asked for one by one",
                          MAX_PROBES, count);
        return ZS_OK;
    }
    struct batch *b = zs_calloc(1, sizeof *b);
    ZS_TRY_MEMORY(b, err);
    b->c = check;
    b->array = array;
    const int threads = threads_within(check, level);
    enum zs_status status = ZS_OK;
    for (; b->first < count && status == ZS_OK; b->first += BATCH)
        status = check_batch(b, (size_t)zs_min_u64(BATCH, count - b->first), threads, err);
    free(b);
    return status;
}
