#include "codec/codec.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/cache.h"

/* Buffers beyond this are not kept between uses: one huge chunk must not hold its memory for ever. */
#define KEEP_BUFFER_BYTES ((size_t)8 << 20)
/* All idle ones have at most this share of the process's budget; when no array is open, small buffers only. */
#define KEEP_SHARE 2
#define TRIM_BUFFER_BYTES ((size_t)64 << 10)
/* Scratches kept idle: about as many as a machine has processors. */
#define KEEP_IDLE 64

struct zs_scratch {
    struct zs_buffer buffers[ZS_SCRATCH_BUFFERS];
    struct {
        void *context;
        void (*destroy)(void *);
        int tag;
    } contexts[ZS_SCRATCH_CONTEXTS];
    size_t bytes; /* of its buffers, while it is idle */
};

static _Atomic(struct zs_scratch *) idle[KEEP_IDLE];
static atomic_size_t idle_bytes; /* of their buffers */

static struct zs_scratch *take(int i)
{
    struct zs_scratch *s = atomic_load_explicit(&idle[i], memory_order_relaxed);
    s = s != NULL ? atomic_exchange(&idle[i], NULL) : NULL;
    if (s != NULL)
        atomic_fetch_sub(&idle_bytes, s->bytes);
    return s;
}

struct zs_scratch *zs_scratch_acquire(void)
{
    struct zs_scratch *s = NULL;
    for (int i = 0; i < KEEP_IDLE && s == NULL; i++)
        s = take(i);
    return s != NULL ? s : zs_calloc(1, sizeof *s);
}

static void destroy(struct zs_scratch *s)
{
    for (int i = 0; i < ZS_SCRATCH_BUFFERS; i++)
        zs_buffer_free(&s->buffers[i]);
    for (int i = 0; i < ZS_SCRATCH_CONTEXTS; i++)
        if (s->contexts[i].context != NULL)
            s->contexts[i].destroy(s->contexts[i].context);
    free(s);
}

/* Frees buffers of more than `most` bytes, and adds up the others. */
static void shrink(struct zs_scratch *s, size_t most)
{
    s->bytes = 0;
    for (int i = 0; i < ZS_SCRATCH_BUFFERS; i++) {
        if (s->buffers[i].capacity > most)
            zs_buffer_free(&s->buffers[i]);
        s->bytes += s->buffers[i].capacity;
    }
}

void zs_scratch_release(struct zs_scratch *s)
{
    if (s == NULL)
        return;
    shrink(s, KEEP_BUFFER_BYTES);
    const size_t bytes = s->bytes;
    const bool has_room = atomic_fetch_add(&idle_bytes, bytes) + bytes <= zs_budget() / KEEP_SHARE;
    for (int i = 0; i < KEEP_IDLE && has_room; i++) {
        struct zs_scratch *none = NULL;
        if (atomic_compare_exchange_strong(&idle[i], &none, s))
            return;
    }
    atomic_fetch_sub(&idle_bytes, bytes);
    destroy(s);
}

void zs_scratch_trim(void)
{
    for (int i = 0; i < KEEP_IDLE; i++) {
        struct zs_scratch *s = take(i);
        if (s != NULL)
            shrink(s, TRIM_BUFFER_BYTES);
        zs_scratch_release(s);
    }
}

struct zs_buffer *zs_scratch_buffer(struct zs_scratch *s, enum zs_scratch_buffer_use use)
{
    return &s->buffers[use];
}

void *zs_scratch_context(struct zs_scratch *s, enum zs_scratch_context_use use, int tag)
{
    if (s->contexts[use].context != NULL && s->contexts[use].tag != tag) {
        s->contexts[use].destroy(s->contexts[use].context);
        s->contexts[use].context = NULL;
    }
    return s->contexts[use].context;
}

void zs_scratch_set_context(struct zs_scratch *s, enum zs_scratch_context_use use, int tag, void *context,
                            void (*destroy_context)(void *))
{
    s->contexts[use].context = context;
    s->contexts[use].destroy = destroy_context;
    s->contexts[use].tag = tag;
}
