#include "raster/means.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/memory.h"
#include "base/parallel.h"

/* A sum of 128 bits and its weight, which is below 2^62: sides are below 2^31. Signed values are summed as they are
 * above the smallest one. */
struct sum {
    uint64_t high, low, weight;
};

/* One direction. In units in which a pixel of the larger raster is `from_size` long and one of the smaller `to_size`,
 * all ends are whole numbers. */
struct means_axis {
    uint64_t at, size;           /* of the window */
    uint64_t from_size, to_size; /* without common factors */
    uint64_t most;               /* pixels of the larger raster */
};

struct zs_means {
    struct means_axis x, y;
    uint64_t smallest; /* bits of the smallest value */
    int threads;
    struct sum *sums;
};

static struct means_axis make_axis(uint64_t at, uint64_t size, uint64_t from, uint64_t to)
{
    uint64_t a = from, b = to;
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return (struct means_axis){at, size, to / a, from / a, from};
}

/* The pixels [first, end) of the larger raster that pixel `at` of the smaller one overlaps. */
static void span(const struct means_axis *s, uint64_t at, uint64_t *first, uint64_t *end)
{
    *first = at * s->to_size / s->from_size;
    *end = zs_min_u64(zs_ceil_div_u64((at + 1) * s->to_size, s->from_size), s->most);
}

/* How much of pixel `from` lies in pixel `at` of the smaller raster. */
static uint64_t overlap(const struct means_axis *s, uint64_t from, uint64_t at)
{
    const uint64_t first = zs_max_u64(from * s->from_size, at * s->to_size);
    const uint64_t end = zs_min_u64((from + 1) * s->from_size, (at + 1) * s->to_size);
    return end > first ? end - first : 0;
}

enum zs_status zs_means_create(const struct zs_means_grid *g, uint64_t x, uint64_t y, uint64_t width, uint64_t height,
                               bool is_signed, int threads, struct zs_means **means, struct zs_error *err)
{
    struct zs_means *m = zs_calloc(1, sizeof *m);
    uint64_t count = 0;
    if (m != NULL && zs_mul_u64(width, height, &count) && count <= SIZE_MAX / sizeof *m->sums)
        m->sums = zs_calloc((size_t)zs_max_u64(count, 1), sizeof *m->sums);
    if (m == NULL || m->sums == NULL) {
        free(m);
        return zs_fail_memory(err);
    }
    m->x = make_axis(x, width, g->from_width, g->to_width);
    m->y = make_axis(y, height, g->from_height, g->to_height);
    m->smallest = is_signed ? (uint64_t)1 << 63 : 0;
    m->threads = threads;
    *means = m;
    return ZS_OK;
}

void zs_means_free(struct zs_means *m)
{
    if (m != NULL)
        free(m->sums);
    free(m);
}

void zs_means_source(const struct zs_means *m, uint64_t *window)
{
    uint64_t ignored, right, bottom;
    span(&m->x, m->x.at, &window[0], &ignored);
    span(&m->x, m->x.at + m->x.size - 1, &ignored, &right);
    span(&m->y, m->y.at, &window[1], &ignored);
    span(&m->y, m->y.at + m->y.size - 1, &ignored, &bottom);
    window[2] = right - window[0];
    window[3] = bottom - window[1];
}

/* ---- Adding ---- */

static void add_product(struct sum *sum, uint64_t value, uint64_t weight)
{
    const uint64_t half = 0xffffffff;
    const uint64_t low = (value & half) * (weight & half), a = (value >> 32) * (weight & half),
                   b = (value & half) * (weight >> 32);
    const uint64_t middle = (low >> 32) + (a & half) + (b & half);
    const uint64_t bits = (middle << 32) | (low & half);
    sum->low += bits;
    sum->high += (value >> 32) * (weight >> 32) + (a >> 32) + (b >> 32) + (middle >> 32) + (sum->low < bits);
    sum->weight += weight;
}

/* A window of the larger raster that is added. */
struct addition {
    const struct zs_means *means;
    uint64_t x, y, width, height;
    const uint64_t *values;
    const unsigned char *valid;
};

static void add_row(const struct addition *a, uint64_t row, uint64_t weight, struct sum *sums)
{
    const struct zs_means *m = a->means;
    const uint64_t *values = a->values + row * a->width;
    const unsigned char *valid = a->valid != NULL ? a->valid + row * a->width : NULL;
    for (uint64_t i = 0; i < m->x.size; i++) {
        uint64_t first, end;
        span(&m->x, m->x.at + i, &first, &end);
        end = zs_min_u64(end, a->x + a->width);
        for (uint64_t at = zs_max_u64(first, a->x); at < end; at++)
            if (valid == NULL || valid[at - a->x] != 0)
                add_product(&sums[i], values[at - a->x] ^ m->smallest, weight * overlap(&m->x, at, m->x.at + i));
    }
}

static enum zs_status add_rows(void *ctx, size_t item, struct zs_error *err)
{
    const struct addition *a = ctx;
    const struct means_axis *y = &a->means->y;
    uint64_t first, end;
    (void)err;
    span(y, y->at + item, &first, &end);
    end = zs_min_u64(end, a->y + a->height);
    for (uint64_t at = zs_max_u64(first, a->y); at < end; at++)
        add_row(a, at - a->y, overlap(y, at, y->at + item), a->means->sums + item * a->means->x.size);
    return ZS_OK;
}

enum zs_status zs_means_add(struct zs_means *m, uint64_t x, uint64_t y, uint64_t width, uint64_t height,
                            const uint64_t *values, const unsigned char *valid, struct zs_error *err)
{
    struct addition a = {m, x, y, width, height, values, valid};
    return zs_parallel_for(m->threads, (size_t)m->y.size, add_rows, &a, err);
}

/* ---- Dividing ---- */

/* A mean is never larger than the largest value, so it fits. `zero` is the value 0, counted from the smallest value. */
static uint64_t divide(const struct sum *sum, uint64_t zero)
{
    uint64_t quotient = 0, rest = sum->high;
    for (int bit = 63; bit >= 0; bit--) {
        rest = rest << 1 | (sum->low >> bit & 1);
        quotient <<= 1;
        if (rest >= sum->weight) {
            rest -= sum->weight;
            quotient |= 1;
        }
    }
    const bool is_half = 2 * rest == sum->weight;
    return quotient + (2 * rest > sum->weight || (is_half && quotient >= zero));
}

struct mean_context {
    const struct zs_means *means;
    const uint64_t *nodata;
    uint64_t *values;
};

static uint64_t take_mean(const struct mean_context *t, const struct sum *sum)
{
    if (sum->weight == 0)
        return t->nodata != NULL ? *t->nodata : 0;
    const uint64_t smallest = t->means->smallest, mean = divide(sum, smallest);
    if (t->nodata == NULL || (mean ^ smallest) != *t->nodata)
        return mean ^ smallest;
    return (mean < UINT64_MAX ? mean + 1 : mean - 1) ^ smallest;
}

static enum zs_status take_row(void *ctx, size_t item, struct zs_error *err)
{
    const struct mean_context *t = ctx;
    const size_t width = (size_t)t->means->x.size;
    (void)err;
    for (size_t i = item * width; i < (item + 1) * width; i++)
        t->values[i] = take_mean(t, &t->means->sums[i]);
    return ZS_OK;
}

enum zs_status zs_means_take(const struct zs_means *m, const uint64_t *nodata, uint64_t *values, struct zs_error *err)
{
    struct mean_context t = {m, nodata, values};
    return zs_parallel_for(m->threads, (size_t)m->y.size, take_row, &t, err);
}
