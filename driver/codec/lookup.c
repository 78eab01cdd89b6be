#include "codec/codec.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VALUES 65536

struct zs_lookup {
    size_t stored_size, size; /* of an element */
    size_t values;
    atomic_size_t asked; /* elements, so far */
    atomic_bool is_taken;
    _Atomic(void *) table; /* as calloc() aligns it */
};

struct zs_lookup *zs_lookup_create(const struct zs_stage *stages, int count)
{
    bool is_worth = false;
    for (int i = 0; i < count; i++) {
        if (!stages[i].codec->is_elementwise)
            return NULL;
        is_worth = is_worth ||
                   (stages[i].codec->kind == ZS_ARRAY_TO_ARRAY && stages[i].codec->decode_array != NULL);
    }
    if (!is_worth || stages[count - 1].out.size > 2 || stages[0].in.size > 8)
        return NULL;
    struct zs_lookup *lookup = zs_calloc(1, sizeof *lookup);
    if (lookup == NULL)
        return NULL;
    lookup->stored_size = stages[count - 1].out.size;
    lookup->size = stages[0].in.size;
    lookup->values = lookup->stored_size == 1 ? 256 : MAX_VALUES;
    return lookup;
}

void zs_lookup_free(struct zs_lookup *lookup)
{
    if (lookup != NULL)
        free(atomic_load(&lookup->table));
    free(lookup);
}

/* Called by one thread. */
static void fill(struct zs_lookup *lookup, const struct zs_stage *stages, int count)
{
    unsigned char *stored = malloc(lookup->values * lookup->stored_size),
                  *table = zs_calloc(lookup->values, lookup->size);
    bool is_whole = stored != NULL && table != NULL;
    for (size_t i = 0; i < lookup->values && is_whole; i++) {
        const uint8_t small = (uint8_t)i;
        const uint16_t large = (uint16_t)i;
        memcpy(stored + i * lookup->stored_size, lookup->stored_size == 1 ? (const void *)&small : &large,
               lookup->stored_size);
    }
    is_whole = is_whole && zs_stages_decode_elements(stages, count, lookup->values, stored, table, NULL) == ZS_OK;
    free(stored);
    if (is_whole)
        atomic_store(&lookup->table, table);
    else
        free(table);
}

bool zs_lookup_is_ready(struct zs_lookup *lookup, const struct zs_stage *stages, int count, size_t n)
{
    if (atomic_load_explicit(&lookup->table, memory_order_acquire) != NULL)
        return true;
    const bool is_due = atomic_fetch_add_explicit(&lookup->asked, n, memory_order_relaxed) + n >= lookup->values;
    if (is_due && !atomic_exchange(&lookup->is_taken, true))
        fill(lookup, stages, count);
    return atomic_load_explicit(&lookup->table, memory_order_acquire) != NULL;
}

size_t zs_lookup_stored_size(const struct zs_lookup *lookup)
{
    return lookup->stored_size;
}

/* Four dense elements at a time: the compiler must assume that a write can change the next element to read. */
#define LOOK_UP(S, T)                                                                                                  \
    do {                                                                                                               \
        const T *t = table;                                                                                            \
        size_t i = 0;                                                                                                  \
        for (; dst_stride == (ptrdiff_t)sizeof(T) && i + 4 <= n; i += 4, dst += 4 * sizeof(T)) {                       \
            S s[4];                                                                                                    \
            memcpy(s, src + i * sizeof(S), sizeof s);                                                                  \
            const T found[4] = {t[s[0]], t[s[1]], t[s[2]], t[s[3]]};                                                   \
            memcpy(dst, found, sizeof found);                                                                          \
        }                                                                                                              \
        for (; i < n; i++, dst += dst_stride) {                                                                        \
            S s;                                                                                                       \
            memcpy(&s, src + i * sizeof(S), sizeof s);                                                                 \
            memcpy(dst, &t[s], sizeof(T));                                                                             \
        }                                                                                                              \
    } while (0)

#define LOOK_UP_ALL(S)                                                                                                 \
    switch (lookup->size) {                                                                                            \
    case 1:                                                                                                            \
        LOOK_UP(S, uint8_t);                                                                                           \
        break;                                                                                                         \
    case 2:                                                                                                            \
        LOOK_UP(S, uint16_t);                                                                                          \
        break;                                                                                                         \
    case 4:                                                                                                            \
        LOOK_UP(S, uint32_t);                                                                                          \
        break;                                                                                                         \
    default:                                                                                                           \
        LOOK_UP(S, uint64_t);                                                                                          \
    }

void zs_lookup_convert(void *ctx, const void *stored, void *elements, ptrdiff_t dst_stride, size_t n)
{
    struct zs_lookup *lookup = ctx;
    const void *table = atomic_load_explicit(&lookup->table, memory_order_acquire);
    const char *src = stored;
    char *dst = elements;
    if (lookup->stored_size == 1)
        LOOK_UP_ALL(uint8_t)
    else
        LOOK_UP_ALL(uint16_t)
}
