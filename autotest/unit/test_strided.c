/* Moving boxes between layouts: held equal to a loop over single elements. */
#include "array_store.h"
#include "base/strided.h"

#define SRC_BYTES 40000
#define DST_BYTES 40000

static unsigned char src[SRC_BYTES], dst[DST_BYTES], expected[DST_BYTES];

/* Inverts each element, so that one that was copied as it is, or converted twice, shows. */
static void invert(void *ctx, const void *from, void *to, ptrdiff_t to_stride, size_t n)
{
    const size_t item = *(const size_t *)ctx;
    for (size_t i = 0; i < n; i++)
        for (size_t b = 0; b < item; b++)
            ((unsigned char *)to)[(ptrdiff_t)i * to_stride + (ptrdiff_t)b] =
                (unsigned char)~((const unsigned char *)from)[i * item + b];
}

static void naive(int ndim, const uint64_t *count, const unsigned char *from, const ptrdiff_t *from_stride,
                  unsigned char *to, const ptrdiff_t *to_stride, size_t item, bool inverted)
{
    const uint64_t n = product(count, ndim);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at[ZS_MAX_NDIM];
        ptrdiff_t a = 0, b = 0;
        position_of(i, ndim, count, at);
        for (int d = 0; d < ndim; d++) {
            a += (ptrdiff_t)at[d] * from_stride[d];
            b += (ptrdiff_t)at[d] * to_stride[d];
        }
        for (size_t k = 0; k < item; k++)
            to[b + (ptrdiff_t)k] = inverted ? (unsigned char)~from[a + (ptrdiff_t)k] : from[a + (ptrdiff_t)k];
    }
}

/* Strides for the box: its axes in any order, with gaps, some backwards, some (when wanted) repeating; returns the
 * offset of the first element, and how many bytes are used in *bytes. */
static ptrdiff_t random_strides(uint64_t *rng, int ndim, const uint64_t *count, size_t item, bool repeats,
                                ptrdiff_t *stride, size_t *bytes)
{
    bool used[ZS_MAX_NDIM] = {false};
    ptrdiff_t step = (ptrdiff_t)item, first = 0;
    if (rng_below(rng, 3) == 0)
        step += (ptrdiff_t)rng_below(rng, 5);
    for (int left = ndim; left > 0; left--) {
        int d = ndim - 1;
        uint64_t skip = rng_below(rng, 2) == 0 ? 0 : rng_below(rng, (uint64_t)left);
        while (used[d] || skip-- > 0)
            d--;
        used[d] = true;
        if (repeats && rng_below(rng, 4) == 0) {
            stride[d] = 0;
            continue;
        }
        const bool backwards = rng_below(rng, 4) == 0;
        stride[d] = backwards ? -step : step;
        if (backwards)
            first += step * (ptrdiff_t)(count[d] - 1);
        step *= (ptrdiff_t)count[d];
        if (rng_below(rng, 4) == 0)
            step += (ptrdiff_t)rng_below(rng, 9);
    }
    *bytes = (size_t)step + item;
    return first;
}

static void one_copy(uint64_t *rng)
{
    static const size_t items[] = {1, 2, 4, 8, 16, 3, 12};
    const size_t item = items[rng_below(rng, 7)];
    uint64_t count[7] = {0};
    ptrdiff_t from[7] = {0}, to[7] = {0};
    size_t from_bytes, to_bytes;
    const int ndim = (int)rng_below(rng, 7);
    for (int d = 0; d < ndim; d++)
        count[d] = rng_below(rng, 3) == 0 ? 1 : 1 + rng_below(rng, ndim < 3 ? 40 : 5);
    const bool converts = rng_below(rng, 2) == 0;
    const ptrdiff_t first_from = random_strides(rng, ndim, count, item, true, from, &from_bytes);
    const ptrdiff_t first_to = random_strides(rng, ndim, count, item, false, to, &to_bytes);
    if (from_bytes > SRC_BYTES || to_bytes > DST_BYTES)
        return;
    /* At the very ends of the buffers, so that the sanitizer sees a step outside. */
    unsigned char *s = src + SRC_BYTES - from_bytes + first_from, *t = dst + DST_BYTES - to_bytes + first_to;
    memset(dst, 0xAA, sizeof dst);
    memset(expected, 0xAA, sizeof expected);
    naive(ndim, count, s, from, expected + (t - dst), to, item, converts);
    size_t size = item;
    zs_copy_strided(ndim, count, s, from, t, to, item, converts ? invert : NULL, &size);
    CHECK_EQ_MEM(dst, expected, sizeof dst);
}

TEST(test_random_layouts_equal_a_naive_loop)
{
    uint64_t rng = 5;
    for (size_t i = 0; i < sizeof src; i++)
        src[i] = (unsigned char)rng_next(&rng);
    for (int round = 0; round < 4000; round++)
        one_copy(&rng);
}

TEST(test_a_long_scattered_row_is_converted_in_parts)
{
    enum { N = 3000 };
    static uint64_t wide[2 * N], out[N];
    const uint64_t count = N;
    const ptrdiff_t from = 16, to = 8;
    size_t item = 8;
    for (size_t i = 0; i < N; i++)
        wide[2 * i] = i;
    zs_copy_strided(1, &count, wide, &from, out, &to, 8, invert, &item);
    for (uint64_t i = 0; i < N; i++)
        CHECK_EQ_U64(out[i], ~i);
}

TEST(test_no_dimensions_is_one_element_and_an_empty_box_is_nothing)
{
    uint32_t from = 7, to = 0;
    zs_copy_strided(0, NULL, &from, NULL, &to, NULL, 4, NULL, NULL);
    CHECK_EQ_U64(to, 7);
    const uint64_t empty[2] = {5, 0};
    const ptrdiff_t stride[2] = {4, 4};
    from = 8;
    zs_copy_strided(2, empty, &from, stride, &to, stride, 4, NULL, NULL);
    CHECK_EQ_U64(to, 7);
}

TEST(test_as_many_dimensions_as_there_can_be)
{
    uint64_t count[ZS_MAX_NDIM];
    ptrdiff_t from[ZS_MAX_NDIM], to[ZS_MAX_NDIM];
    for (int d = 0; d < ZS_MAX_NDIM; d++) {
        count[d] = d % 4 == 0 ? 2 : 1;
        from[d] = d % 4 == 0 ? (ptrdiff_t)1 << d / 4 : 1000;
        to[d] = d % 4 == 0 ? (ptrdiff_t)1 << (7 - d / 4) : -1000;
    }
    unsigned char in[256], out[256];
    for (unsigned i = 0; i < 256; i++)
        in[i] = (unsigned char)i;
    zs_copy_strided(ZS_MAX_NDIM, count, in, from, out, to, 1, NULL, NULL);
    for (unsigned i = 0; i < 256; i++) {
        unsigned mirrored = 0;
        for (int b = 0; b < 8; b++)
            mirrored |= (i >> b & 1) << (7 - b);
        CHECK_EQ_U64(out[mirrored], i);
    }
}
