#include "array/written.h"

#include <stdlib.h>
#include <string.h>

static uint64_t element_count(const struct zs_level *level)
{
    return level->decoded_size / level->item_size;
}

struct zs_written *zs_written_create(const struct zs_level *level, uint64_t inside, uint64_t content)
{
    const size_t size = (size_t)(element_count(level) + 7) / 8;
    struct zs_written *written = zs_calloc(1, sizeof *written + size);
    if (written != NULL)
        *written = (struct zs_written){.content = content, .left = inside, .size = size};
    return written;
}

struct zs_written *zs_written_copy(const struct zs_written *written)
{
    struct zs_written *copy = malloc(sizeof *written + written->size);
    if (copy != NULL)
        memcpy(copy, written, sizeof *written + written->size);
    return copy;
}

/* Elements [first, first + n) as stored. */
static void add_run(struct zs_written *written, uint64_t first, uint64_t n)
{
    while (n > 0) {
        const unsigned bit = (unsigned)(first & 7), k = n < 8 - bit ? (unsigned)n : 8 - bit;
        const unsigned char bits = (unsigned char)(((1u << k) - 1) << bit);
        unsigned char *at = &written->mask[first >> 3];
        written->left -= (uint64_t)__builtin_popcount((unsigned)(bits & ~*at));
        *at |= bits;
        first += k;
        n -= k;
    }
}

void zs_written_add(struct zs_written *written, const struct zs_level *level, const uint64_t *start,
                    const uint64_t *count)
{
    const int last = level->ndim > 0 ? level->axis[level->ndim - 1] : 0;
    const uint64_t run = level->ndim > 0 ? count[last] : 1;
    uint64_t at[ZS_MAX_NDIM] = {0};
    for (bool more = true; more;) {
        uint64_t first = 0;
        for (int j = 0; j < level->ndim; j++)
            first = first * level->shape[level->axis[j]] + start[level->axis[j]] + at[level->axis[j]];
        add_run(written, first, run);
        more = false;
        for (int j = level->ndim - 2; j >= 0 && !more; j--) {
            const int d = level->axis[j];
            more = ++at[d] < count[d];
            if (!more)
                at[d] = 0;
        }
    }
}

void zs_written_apply(const struct zs_written *written, const struct zs_level *level, const void *from, void *to)
{
    const size_t item = level->item_size;
    for (size_t i = 0; i < written->size; i++)
        for (unsigned bits = written->mask[i]; bits != 0; bits &= bits - 1) {
            const size_t at = (8 * i + (size_t)__builtin_ctz(bits)) * item;
            memcpy((char *)to + at, (const char *)from + at, item);
        }
}

/* Not a CRC: that is the same for all bytes that end with their own CRC, as some chunks do. */
uint64_t zs_content_of(const void *encoded, size_t n)
{
    const unsigned char *p = encoded;
    uint64_t h = n;
    if (encoded == NULL)
        return UINT64_MAX;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t v = 0;
        memcpy(&v, p + i, n - i < 8 ? n - i : 8);
        h = (h ^ v) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    return h;
}
