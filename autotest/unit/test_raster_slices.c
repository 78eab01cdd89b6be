/* Bands as slices of arrays: each pixel of a window of bands is asked for once, where it is. */
#include "array_store.h"
#include "raster/slices.h"

#define MOST_ARRAYS 3
#define MOST_BANDS 40

/* Selections of one index each; nothing holds them for longer than a statement. */
static const struct zs_selection *ones(const uint64_t *indices, size_t n)
{
    static struct zs_selection selections[ZS_MAX_NDIM];
    for (size_t i = 0; i < n; i++)
        selections[i] = (struct zs_selection){ZS_SELECT_ONE, indices[i], 1};
    return selections;
}

static struct zs_slices slices_of(int ndim, const uint64_t *shape, struct zs_axes axes,
                                  const struct zs_selection *selections, size_t n)
{
    struct zs_error err;
    struct zs_slices s;
    must(zs_slices_find(ndim, shape, axes, selections, n, &s, &err), &err);
    return s;
}

/* ---- Slices ---- */

static void test_dimensions_but_x_and_y_are_counted_in_c_order(void)
{
    const struct zs_slices s = slices_of(4, (uint64_t[]){3, 10, 5, 20}, (struct zs_axes){3, 1}, NULL, 0);
    uint64_t position[2];
    CHECK_EQ_U64(s.count, 15);
    CHECK_EQ_I64(s.dim_count, 2);
    CHECK_EQ_I64(s.dims[0], 0);
    CHECK_EQ_I64(s.dims[1], 2);
    zs_slice_position(&s, 13, position);
    CHECK_EQ_U64(position[0], 2);
    CHECK_EQ_U64(position[1], 3);
}

static void test_indices_fix_the_first_dimensions(void)
{
    const struct zs_slices s = slices_of(4, (uint64_t[]){3, 10, 5, 20}, (struct zs_axes){3, 1},
                                         ones((uint64_t[]){2}, 1), 1);
    CHECK_EQ_U64(s.count, 5);
    CHECK_EQ_I64(s.dim_count, 1);
    CHECK_EQ_U64(s.first[0], 2);
    CHECK_EQ_I64(s.dims[0], 2);
    CHECK_EQ_U64(slices_of(2, (uint64_t[]){7, 8}, (struct zs_axes){1, 0}, NULL, 0).count, 1);
    CHECK_EQ_U64(slices_of(1, (uint64_t[]){7}, (struct zs_axes){0, -1}, NULL, 0).count, 1);
}

static void test_indices_outside_a_dimension_are_refused(void)
{
    struct zs_error err;
    struct zs_slices s;
    const uint64_t shape[3] = {3, 10, 20}, empty[3] = {0, 10, 20};
    const struct zs_axes axes = {2, 1};
    CHECK(zs_slices_find(3, shape, axes, ones((uint64_t[]){3}, 1), 1, &s, &err) == ZS_ARGUMENT);
    CHECK_CONTAINS(err.message, "index 3 is out of range: dimension 0 has 3 elements");
    CHECK(zs_slices_find(3, shape, axes, ones((uint64_t[]){0, 0}, 2), 2, &s, &err) == ZS_ARGUMENT);
    CHECK_CONTAINS(err.message, "expected at most 1 indices, found 2");
    CHECK(zs_slices_find(3, empty, axes, NULL, 0, &s, &err) == ZS_ARGUMENT);
    CHECK_CONTAINS(err.message, "no elements");
}

static void test_ranges_are_counted_from_their_first_index(void)
{
    const uint64_t shape[4] = {3, 10, 5, 20};
    const struct zs_selection selections[2] = {{ZS_SELECT_ALL, 0, 0}, {ZS_SELECT_RANGE, 4, 6}};
    const struct zs_slices s = slices_of(4, shape, (struct zs_axes){3, 2}, selections, 2);
    uint64_t position[2];
    struct zs_error err;
    struct zs_slices other;
    CHECK_EQ_U64(s.count, 18);
    CHECK_EQ_U64(s.first[1], 4);
    zs_slice_position(&s, 7, position);
    CHECK_EQ_U64(position[0], 1);
    CHECK_EQ_U64(position[1], 1);
    const struct zs_selection beyond = {ZS_SELECT_RANGE, 1, 3}, empty = {ZS_SELECT_RANGE, 1, 0};
    CHECK(zs_slices_find(4, shape, (struct zs_axes){3, 2}, &beyond, 1, &other, &err) == ZS_ARGUMENT);
    CHECK_CONTAINS(err.message, "index 3 is out of range: dimension 0 has 3 elements");
    CHECK(zs_slices_find(4, shape, (struct zs_axes){3, 2}, &empty, 1, &other, &err) == ZS_ARGUMENT);
}

static void test_slowest_dimensions_are_fixed_until_the_rest_fits(void)
{
    const struct zs_slices s = slices_of(5, (uint64_t[]){180, 51, 85, 4, 4}, (struct zs_axes){4, 3}, NULL, 0);
    CHECK_EQ_I64(zs_slices_to_fix(&s, 180 * 51 * 85), 0);
    CHECK_EQ_I64(zs_slices_to_fix(&s, 65536), 1);
    CHECK_EQ_I64(zs_slices_to_fix(&s, 4334), 2);
    CHECK_EQ_I64(zs_slices_to_fix(&s, 84), 3);
}

static void test_more_slices_than_64_bits_count_are_the_most(void)
{
    const uint64_t big = (uint64_t)1 << 40;
    CHECK_EQ_U64(slices_of(5, (uint64_t[]){big, big, 1, 4, 4}, (struct zs_axes){4, 3}, NULL, 0).count, UINT64_MAX);
    CHECK_EQ_U64(slices_of(5, (uint64_t[]){big, big, 3, 4, 4}, (struct zs_axes){4, 3}, NULL, 0).count, UINT64_MAX);
}

/* ---- Windows ---- */

/* Windows of a plan over bands 1 to n of one array of (3, 4, y, x). */
static struct zs_band_plan plan_of(const int *list, size_t n)
{
    struct zs_error err;
    struct zs_band_plan plan;
    struct zs_band_array array = {.slices = slices_of(4, (uint64_t[]){3, 4, 10, 10}, (struct zs_axes){3, 2}, NULL, 0)};
    const struct zs_bands bands = {&array, 1};
    const struct zs_band_window w = {.width = 10, .height = 10, .bands = list, .band_count = n};
    must(zs_band_plan_make(&bands, &w, &plan, &err), &err);
    return plan;
}

static void test_bands_that_follow_each_other_are_one_window(void)
{
    const int all[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, backwards[3] = {3, 2, 1};
    const struct {
        const int *list;
        size_t n, windows;
        uint64_t slow, fast; /* of the first window */
    } cases[] = {{all, 12, 1, 3, 4},    {all, 3, 1, 1, 3},      {all, 8, 1, 2, 4}, {all, 10, 2, 2, 4},
                 {all + 1, 11, 2, 1, 3}, {all + 4, 8, 1, 2, 4}, {backwards, 3, 3, 1, 1}, {all + 11, 1, 1, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct zs_band_plan plan = plan_of(cases[i].list, cases[i].n);
        CHECK_EQ_U64(plan.count, 1);
        CHECK_EQ_U64(plan.parts[0].count, cases[i].windows);
        CHECK_EQ_U64(plan.windows[0].count[0], cases[i].slow);
        CHECK_EQ_U64(plan.windows[0].count[1], cases[i].fast);
        CHECK(plan.windows[0].data == NULL);
        zs_band_plan_clear(&plan);
    }
}

static void test_bands_outside_the_raster_are_refused(void)
{
    struct zs_error err;
    struct zs_band_plan plan;
    struct zs_band_array array = {.slices = slices_of(3, (uint64_t[]){3, 4, 5}, (struct zs_axes){2, 1}, NULL, 0)};
    const struct zs_bands bands = {&array, 1};
    const int lists[3][2] = {{3, 4}, {1, 0}, {1, -1}};
    for (int i = 0; i < 3; i++) {
        const struct zs_band_window w = {.width = 1, .height = 1, .bands = lists[i], .band_count = 2};
        CHECK(zs_band_plan_make(&bands, &w, &plan, &err) == ZS_ARGUMENT);
        CHECK_CONTAINS(err.message, "there is no band");
    }
}

/* ---- Any bands of any arrays ---- */

struct raster {
    uint64_t width, height, bands;
    struct zs_band_array arrays[MOST_ARRAYS];
    uint64_t shape[MOST_ARRAYS][ZS_MAX_NDIM];
    size_t count;
};

static struct zs_selection random_selection(uint64_t *rng, uint64_t size)
{
    static const enum zs_selection_kind kinds[] = {ZS_SELECT_ALL, ZS_SELECT_ONE, ZS_SELECT_RANGE};
    const uint64_t first = rng_below(rng, size);
    return (struct zs_selection){kinds[rng_below(rng, 3)], first, 1 + rng_below(rng, size - first)};
}

static void random_raster(struct raster *r, uint64_t *rng)
{
    *r = (struct raster){.width = 1 + rng_below(rng, 6),
                         .height = 1 + rng_below(rng, 5),
                         .count = 1 + (size_t)rng_below(rng, MOST_ARRAYS)};
    const bool is_line = rng_below(rng, 6) == 0;
    if (is_line)
        r->height = 1;
    for (size_t k = 0; k < r->count; k++) {
        const int ndim = (is_line ? 1 : 2) + (int)rng_below(rng, 4);
        uint64_t *shape = r->shape[k];
        struct zs_selection selections[ZS_MAX_NDIM];
        struct zs_axes axes = {(int)rng_below(rng, (uint64_t)ndim), -1};
        while (!is_line && (axes.y < 0 || axes.y == axes.x))
            axes.y = (int)rng_below(rng, (uint64_t)ndim);
        for (int d = 0; d < ndim; d++)
            shape[d] = d == axes.x ? r->width : d == axes.y ? r->height : 1 + rng_below(rng, 4);
        size_t chosen = 0;
        for (int d = 0; d < ndim; d++)
            if (d != axes.x && d != axes.y)
                selections[chosen++] = random_selection(rng, shape[d]);
        r->arrays[k] = (struct zs_band_array){
            .slices = slices_of(ndim, shape, axes, selections, (size_t)rng_below(rng, chosen + 1)), .first = r->bands};
        r->bands += r->arrays[k].slices.count;
    }
}

/* Bands in runs, forwards and backwards, some twice. */
static size_t random_bands(const struct raster *r, uint64_t *rng, int *list)
{
    size_t n = 0;
    const size_t wanted = 1 + (size_t)rng_below(rng, MOST_BANDS);
    while (n < wanted) {
        uint64_t band = rng_below(rng, r->bands);
        for (uint64_t run = 1 + rng_below(rng, 20); run > 0 && band < r->bands && n < wanted; run--)
            list[n++] = (int)band++ + 1;
    }
    return n;
}

/* Which element of which array a pixel is, as one number. */
static uint64_t element_of_pixel(const struct raster *r, int band, uint64_t y, uint64_t x)
{
    size_t k = 0;
    uint64_t slice = (uint64_t)band - 1, at[ZS_MAX_NDIM] = {0}, position[ZS_MAX_NDIM];
    while (slice >= r->arrays[k].slices.count)
        slice -= r->arrays[k++].slices.count;
    const struct zs_slices *s = &r->arrays[k].slices;
    zs_slice_position(s, slice, position);
    memcpy(at, s->first, sizeof at);
    for (int i = 0; i < s->dim_count; i++)
        at[s->dims[i]] += position[i];
    at[s->axes.x] = x;
    if (s->axes.y >= 0)
        at[s->axes.y] = y;
    return index_of(s->ndim, r->shape[k], at) * MOST_ARRAYS + k;
}

static void check_window(const struct raster *r, uint64_t *rng)
{
    struct zs_error err;
    struct zs_band_plan plan;
    int list[MOST_BANDS];
    const size_t n = random_bands(r, rng, list);
    const uint64_t x = rng_below(rng, r->width), y = rng_below(rng, r->height);
    const uint64_t width = 1 + rng_below(rng, r->width - x), height = 1 + rng_below(rng, r->height - y),
                   pixels = n * width * height;
    struct zs_window layout = {.count = {n, height, width}};
    uint64_t *memory = malloc((size_t)pixels * sizeof *memory);
    memset(memory, 0xFF, (size_t)pixels * sizeof *memory);
    random_layout(rng, 3, &layout, memory, sizeof *memory);
    const struct zs_band_window w = {.x = x,
                                     .y = y,
                                     .width = width,
                                     .height = height,
                                     .bands = list,
                                     .band_count = n,
                                     .data = layout.data,
                                     .band_space = layout.stride[0],
                                     .line_space = layout.stride[1],
                                     .pixel_space = layout.stride[2]};
    const struct zs_bands bands = {r->arrays, r->count};
    must(zs_band_plan_make(&bands, &w, &plan, &err), &err);
    uint64_t asked = 0;
    for (size_t p = 0; p < plan.count; p++) {
        const struct zs_band_plan_part *part = &plan.parts[p];
        const int ndim = r->arrays[part->array].slices.ndim;
        CHECK(p == 0 || part->array > part[-1].array);
        for (size_t i = 0; i < part->count; i++) {
            const struct zs_window *one = &part->windows[i];
            const uint64_t size = product(one->count, ndim);
            asked += size;
            for (uint64_t e = 0; e < size; e++)
                *(uint64_t *)(void *)in_window(one, ndim, e) =
                    element_of(e, ndim, r->shape[part->array], one->start, one->count) * MOST_ARRAYS + part->array;
        }
    }
    CHECK_EQ_U64(asked, pixels); /* with what follows: each once */
    for (uint64_t e = 0; e < pixels; e++) {
        uint64_t at[3];
        position_of(e, 3, layout.count, at);
        if (!CHECK_EQ_U64(*(uint64_t *)(void *)in_window(&layout, 3, e),
                          element_of_pixel(r, list[at[0]], y + at[1], x + at[2])))
            break;
    }
    zs_band_plan_clear(&plan);
    free(memory);
}

static void test_each_pixel_of_any_bands_is_asked_for_once_where_it_is(void)
{
    uint64_t rng = 12;
    for (int i = 0; i < 400; i++) {
        struct raster r;
        random_raster(&r, &rng);
        for (int k = 0; k < 10; k++)
            check_window(&r, &rng);
    }
}

int main(void)
{
    RUN(test_dimensions_but_x_and_y_are_counted_in_c_order);
    RUN(test_indices_fix_the_first_dimensions);
    RUN(test_indices_outside_a_dimension_are_refused);
    RUN(test_ranges_are_counted_from_their_first_index);
    RUN(test_slowest_dimensions_are_fixed_until_the_rest_fits);
    RUN(test_more_slices_than_64_bits_count_are_the_most);
    RUN(test_bands_that_follow_each_other_are_one_window);
    RUN(test_bands_outside_the_raster_are_refused);
    RUN(test_each_pixel_of_any_bands_is_asked_for_once_where_it_is);
    return check_result();
}
