#include "array/touched.h"

#include <stdlib.h>
#include <string.h>

static uint64_t element_count(const struct zs_level *leaf)
{
    return leaf->decoded_size / leaf->item_size;
}

struct zs_touched *zs_touched_create(const struct zs_level *leaf, uint64_t inside, uint64_t content)
{
    const size_t size = (size_t)(element_count(leaf) + 7) / 8;
    struct zs_touched *t = zs_calloc(1, sizeof *t + size);
    if (t != NULL)
        *t = (struct zs_touched){.content = content, .left = inside, .size = size};
    return t;
}

struct zs_touched *zs_touched_copy(const struct zs_touched *t)
{
    struct zs_touched *copy = malloc(sizeof *t + t->size);
    if (copy != NULL)
        memcpy(copy, t, sizeof *t + t->size);
    return copy;
}

/* Elements [first, first + n) as stored. */
static void add_run(struct zs_touched *t, uint64_t first, uint64_t n)
{
    while (n > 0) {
        const unsigned bit = (unsigned)(first & 7), k = n < 8 - bit ? (unsigned)n : 8 - bit;
        const unsigned char bits = (unsigned char)(((1u << k) - 1) << bit);
        unsigned char *at = &t->mask[first >> 3];
        t->left -= (uint64_t)__builtin_popcount((unsigned)(bits & ~*at));
        *at |= bits;
        first += k;
        n -= k;
    }
}

void zs_touched_add(struct zs_touched *t, const struct zs_level *leaf, const uint64_t *start, const uint64_t *count)
{
    const int last = leaf->ndim > 0 ? leaf->axis[leaf->ndim - 1] : 0;
    const uint64_t run = leaf->ndim > 0 ? count[last] : 1;
    uint64_t at[ZS_MAX_NDIM] = {0};
    for (bool more = true; more;) {
        uint64_t first = 0;
        for (int j = 0; j < leaf->ndim; j++)
            first = first * leaf->shape[leaf->axis[j]] + start[leaf->axis[j]] + at[leaf->axis[j]];
        add_run(t, first, run);
        more = false;
        for (int j = leaf->ndim - 2; j >= 0 && !more; j--) {
            const int d = leaf->axis[j];
            more = ++at[d] < count[d];
            if (!more)
                at[d] = 0;
        }
    }
}

void zs_touched_apply(const struct zs_touched *t, const struct zs_level *leaf, const void *from, void *to)
{
    const size_t item = leaf->item_size;
    for (size_t i = 0; i < t->size; i++)
        for (unsigned bits = t->mask[i]; bits != 0; bits &= bits - 1) {
            const size_t at = (8 * i + (size_t)__builtin_ctz(bits)) * item;
            memcpy((char *)to + at, (const char *)from + at, item);
        }
}

/* Not a CRC: of bytes that end with their own CRC, as some chunks do, that is always the same. */
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
