#include "shard/ahead.h"

#include <stdlib.h>

#include "base/cache.h"
#include "base/checked.h"
#include "base/parallel.h"

/* A shard of AUTO's size, 64 MiB, comes in one request: each is paid for, and more at once gain little. */
#define ROOM_BYTES ((uint64_t)64 << 20)
#define REQUEST_BYTES ((uint64_t)72 << 20)
#define MAX_GAP_BYTES ((uint64_t)128 << 10)
/* That share more bytes rather than another request: one changed chunk among many does not cut its shard in two. */
#define GAP_SHARE 8

uint64_t zs_ahead_room(void)
{
    return zs_min_u64(ROOM_BYTES, zs_budget() / 2);
}

void zs_ahead_clear(struct zs_ahead *a)
{
    for (size_t i = 0; i < a->count; i++)
        free(a->bytes[i]);
    free(a->bytes);
    free(a->groups);
    *a = (struct zs_ahead){0};
}

struct fetch {
    struct zs_ahead *ahead;
    struct zs_object *object;
};

static enum zs_status fetch_group(void *ctx, size_t i, struct zs_error *err)
{
    const struct fetch *f = ctx;
    const struct zs_range_group *g = &f->ahead->groups[i];
    unsigned char *bytes = g->size <= SIZE_MAX ? malloc((size_t)g->size) : NULL;
    if (bytes == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate %llu bytes", (unsigned long long)g->size);
    f->ahead->bytes[i] = bytes;
    return zs_object_read(f->object, g->offset, (size_t)g->size, bytes, err);
}

enum zs_status zs_ahead_fetch(struct zs_ahead *a, struct zs_object *object, struct zs_range *ranges, size_t n,
                              struct zs_error *err)
{
    zs_ahead_clear(a);
    uint64_t wanted = 0;
    for (size_t i = 0; i < n; i++)
        wanted += ranges[i].size;
    a->groups = zs_calloc(n, sizeof *a->groups);
    a->bytes = zs_calloc(n, sizeof *a->bytes);
    if (a->groups == NULL || a->bytes == NULL) {
        zs_ahead_clear(a);
        return zs_fail(err, ZS_NO_MEMORY, "cannot plan for %zu chunks", n);
    }
    const struct zs_range_policy policy = {.max_gap = zs_max_u64(MAX_GAP_BYTES, wanted / GAP_SHARE),
                                           .max_size = REQUEST_BYTES};
    a->count = zs_range_plan(ranges, n, policy, a->groups);
    struct fetch f = {a, object};
    const enum zs_status status = zs_parallel_for((int)zs_min_u64(a->count, 32), a->count, fetch_group, &f, err);
    if (status != ZS_OK)
        zs_ahead_clear(a);
    return status;
}

const unsigned char *zs_ahead_find(const struct zs_ahead *a, uint64_t offset, uint64_t size)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct zs_range_group *g = &a->groups[i];
        if (offset >= g->offset && offset - g->offset <= g->size && size <= g->size - (offset - g->offset))
            return a->bytes[i] + (offset - g->offset);
    }
    return NULL;
}
