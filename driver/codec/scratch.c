#include "codec/scratch.h"

#include <pthread.h>
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
    struct zs_scratch *next;
};

static struct {
    pthread_mutex_t lock;
    struct zs_scratch *first;
    int count;
    size_t bytes; /* of their buffers */
} idle = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct zs_scratch *zs_scratch_acquire(void)
{
    pthread_mutex_lock(&idle.lock);
    struct zs_scratch *s = idle.first;
    if (s != NULL) {
        idle.first = s->next;
        idle.count--;
        idle.bytes -= s->bytes;
    }
    pthread_mutex_unlock(&idle.lock);
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
    pthread_mutex_lock(&idle.lock);
    const bool has_room = idle.bytes + s->bytes <= zs_budget() / KEEP_SHARE;
    const bool keep = idle.count < KEEP_IDLE && has_room;
    if (keep) {
        s->next = idle.first;
        idle.first = s;
        idle.count++;
        idle.bytes += s->bytes;
    }
    pthread_mutex_unlock(&idle.lock);
    if (!keep)
        destroy(s);
}

void zs_scratch_trim(void)
{
    pthread_mutex_lock(&idle.lock);
    struct zs_scratch *rest = idle.first;
    idle.first = NULL;
    idle.count = 0;
    idle.bytes = 0;
    pthread_mutex_unlock(&idle.lock);
    for (struct zs_scratch *s = rest, *next; s != NULL; s = next) {
        next = s->next;
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
