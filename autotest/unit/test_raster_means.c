/* Means of integers of 64 bits, with numbers that doubles do not hold. */
#include "check.h"
#include "raster/means.h"

static void must(enum zs_status status, const struct zs_error *err)
{
    CHECK_EQ_STR(status == ZS_OK ? "" : err->message, "");
}

/* All pixels of `to` from all of `from`, which come in windows of `step` rows. */
static void take(const struct zs_means_grid *g, bool is_signed, const uint64_t *from, const unsigned char *valid,
                 const uint64_t *nodata, uint64_t step, uint64_t *to)
{
    struct zs_means *m;
    struct zs_error err;
    must(zs_means_create(g, 0, 0, g->to_width, g->to_height, is_signed, 2, &m, &err), &err);
    uint64_t window[4];
    zs_means_source(m, window);
    CHECK(window[0] == 0 && window[1] == 0 && window[2] == g->from_width && window[3] == g->from_height);
    for (uint64_t y = 0; y < g->from_height; y += step) {
        const uint64_t rows = y + step <= g->from_height ? step : g->from_height - y;
        must(zs_means_add(m, 0, y, g->from_width, rows, from + y * g->from_width,
                          valid != NULL ? valid + y * g->from_width : NULL, &err),
             &err);
    }
    must(zs_means_take(m, nodata, to, &err), &err);
    zs_means_free(m);
}

static void test_means_of_the_largest_numbers_are_exact(void)
{
    const struct zs_means_grid g = {4, 2, 2, 1};
    const uint64_t from[8] = {UINT64_MAX, UINT64_MAX, 0, 1, UINT64_MAX, UINT64_MAX - 3, 0, 0};
    uint64_t to[2];
    take(&g, false, from, NULL, NULL, 1, to);
    CHECK(to[0] == UINT64_MAX - 1); /* 3 / 4 less, rounded */
    CHECK(to[1] == 0);
    const uint64_t lowest = (uint64_t)INT64_MIN;
    const uint64_t below[8] = {lowest, lowest, (uint64_t)-1, (uint64_t)-2, lowest, lowest, (uint64_t)-1, (uint64_t)-2};
    take(&g, true, below, NULL, NULL, 2, to);
    CHECK(to[0] == lowest);
    CHECK(to[1] == (uint64_t)-2); /* halves go away from zero */
}

static void test_only_invalid_pixels_become_nodata(void)
{
    const struct zs_means_grid g = {4, 1, 2, 1};
    const uint64_t from[4] = {6, 8, 3, 3}, nodata = 7;
    const unsigned char valid[4] = {1, 1, 0, 0};
    uint64_t to[2];
    take(&g, false, from, valid, &nodata, 1, to);
    CHECK(to[0] == 8 && to[1] == 7);
    take(&g, false, from, valid, NULL, 1, to);
    CHECK(to[0] == 7 && to[1] == 0);
}

static void test_pixels_count_in_as_much_as_they_overlap(void)
{
    const struct zs_means_grid g = {3, 3, 2, 2};
    const uint64_t from[9] = {10, 40, 70, 10, 40, 70, 10, 40, 70};
    uint64_t to[4];
    take(&g, true, from, NULL, NULL, 2, to);
    CHECK(to[0] == 20 && to[1] == 60 && to[2] == 20 && to[3] == 60);
}

int main(void)
{
    RUN(test_means_of_the_largest_numbers_are_exact);
    RUN(test_only_invalid_pixels_become_nodata);
    RUN(test_pixels_count_in_as_much_as_they_overlap);
    return check_result();
}
